//! Which executables and libraries the program's processes have loaded, and their descriptors.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::analyzer::{ModuleSource, Placed};
use crate::{ring::Module, sites::SiteTable};

/// Descriptors read so far, shared by all workers.
#[derive(Default)]
pub struct ModuleTable {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    tables: Vec<(PathBuf, Arc<SiteTable>)>,
    by_path: HashMap<PathBuf, Option<u32>>,
    unreadable: Vec<String>,
}

impl ModuleTable {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A worker that panicked while holding the lock has already failed the run.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Table of a file, read on first use; `None` if it cannot be read.
    fn table(&self, path: &PathBuf) -> Option<(u32, Arc<SiteTable>)> {
        let mut inner = self.lock();
        if let Some(known) = inner.by_path.get(path) {
            return known.map(|id| (id, inner.tables[id as usize].1.clone()));
        }
        let id = match SiteTable::read(path) {
            Ok(table) => {
                inner.tables.push((path.clone(), Arc::new(table)));
                Some(inner.tables.len() as u32 - 1)
            }
            Err(error) => {
                inner.unreadable.push(error.to_string());
                None
            }
        };
        inner.by_path.insert(path.clone(), id);
        id.map(|id| (id, inner.tables[id as usize].1.clone()))
    }

    /// Number of items of a segment.
    pub fn items(&self, table: u32, segment: u32) -> usize {
        let inner = self.lock();
        inner.tables[table as usize].1.segments[segment as usize].items.len()
    }

    /// All tables, those of modules included that no record named, so that coverage counts them.
    pub fn into_parts(self, registered: &[Module]) -> (Vec<(PathBuf, Arc<SiteTable>)>, Vec<String>) {
        for module in registered {
            self.table(&module.path);
        }
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        (inner.tables, inner.unreadable)
    }
}

/// The modules that one ring's records can name.
pub struct Source<'a> {
    /// The ring's process, then those that it was forked from, whose modules it has too.
    pub pids: &'a [u32],
    pub table: &'a ModuleTable,
    /// Modules of all processes, as far as known by now.
    pub registered: &'a dyn Fn() -> Vec<Module>,
}

impl ModuleSource for Source<'_> {
    fn modules(&mut self) -> Vec<Placed> {
        let of_process = |m: &Module| self.pids.contains(&m.pid);
        let place = |m: Module| {
            let (id, table) = self.table.table(&m.path)?;
            Some(Placed { low: m.bias.wrapping_add(table.section_address), table, id })
        };
        (self.registered)().into_iter().filter(of_process).filter_map(place).collect()
    }
}
