//! Which executables and libraries the program's processes have loaded, and their descriptors.

use std::{
    collections::HashMap,
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    decode::locator::{ModuleSource, Placed},
    ring::Module,
    sites::SiteTable,
};

/// Descriptors read so far, shared by all workers.
#[derive(Default)]
pub struct ModuleTable {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    tables: Vec<(PathBuf, Arc<SiteTable>)>,
    by_file: HashMap<FileKey, Option<u32>>,
    /// Load bias and table, of each module of a process.
    by_process: HashMap<u32, Vec<(u64, u32)>>,
    unreadable: Vec<String>,
}

/// What tells a file, and one state of it, from others.
#[derive(PartialEq, Eq, Hash)]
struct FileKey {
    path: PathBuf,
    device: u64,
    inode: u64,
    bytes: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileKey {
    /// Of a file with a name; which file it is now, if it can be looked at.
    fn new(path: &Path, found: Option<&Metadata>) -> Self {
        let of = |f: fn(&Metadata) -> u64| found.map_or(0, f);
        let time = |f: fn(&Metadata) -> (i64, i64)| found.map_or((0, 0), f);
        Self {
            path: path.to_path_buf(),
            device: of(Metadata::dev),
            inode: of(Metadata::ino),
            bytes: of(Metadata::len),
            written: time(|m| (m.mtime(), m.mtime_nsec())),
            changed: time(|m| (m.ctime(), m.ctime_nsec())),
        }
    }
}

impl ModuleTable {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A worker that panicked while holding the lock has already failed the run.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process has loaded a module, whose file is at `file` now. Reads the descriptors unless they are known.
    pub fn register(&self, module: &Module, file: &Path) {
        let found = std::fs::metadata(file).ok();
        let key = FileKey::new(&module.path, found.as_ref());
        let mut inner = self.lock();
        let inner = &mut *inner;
        let id = *inner.by_file.entry(key).or_insert_with(|| match SiteTable::read(file) {
            Ok(table) => {
                inner.tables.push((module.path.clone(), Arc::new(table)));
                Some(inner.tables.len() as u32 - 1)
            }
            Err(error) => {
                inner.unreadable.push(error.to_string());
                None
            }
        });
        if let Some(id) = id {
            inner.by_process.entry(module.process).or_default().push((module.bias, id));
        }
    }

    /// A module's file cannot be found any more.
    pub fn vanished(&self, module: &Module) {
        let path = module.path.display();
        self.lock().unreadable.push(format!("{path}: the file that a process has loaded is not there any more"));
    }

    /// Number of items of a segment.
    pub fn items(&self, table: u32, segment: u32) -> usize {
        let inner = self.lock();
        inner.tables[table as usize].1.segments[segment as usize].items.len()
    }

    /// A table at an address, if there is that table.
    pub fn placed(&self, id: u32, low: u64) -> Option<Placed> {
        let table = self.lock().tables.get(id as usize)?.1.clone();
        Some(Placed { low, table, id })
    }

    /// All tables, those of modules included that no record named, so that coverage counts them.
    pub fn into_parts(self) -> (Vec<(PathBuf, Arc<SiteTable>)>, Vec<String>) {
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        (inner.tables, inner.unreadable)
    }
}

/// The modules that one ring's records can name.
pub struct Source<'a> {
    /// The ring's process, then those that it was forked from, whose modules it has too.
    pub processes: &'a [u32],
    pub table: &'a ModuleTable,
}

impl ModuleSource for Source<'_> {
    fn modules(&mut self) -> Vec<Placed> {
        let inner = self.table.lock();
        let of_process = |process: &u32| inner.by_process.get(process).into_iter().flatten();
        let place = |&(bias, id): &(u64, u32)| {
            let table = inner.tables[id as usize].1.clone();
            Placed { low: bias.wrapping_add(table.section_address), table, id }
        };
        // Ancestors first, as they loaded theirs before.
        self.processes.iter().rev().flat_map(of_process).map(place).collect()
    }

    fn processes(&self) -> &[u32] {
        self.processes
    }
}
