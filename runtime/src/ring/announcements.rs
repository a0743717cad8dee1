//! The modules that processes announce as they load them.
//!
//! Takes the memory file's entries of modules; gives each with the file that it was loaded from. A process waits until
//! its module was taken. What a process writes is not trusted.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

use dmdprof_abi::protocol::{self, Word};
use memmap2::MmapRaw;

use super::{
    futex::Futex,
    header::{Ticket, header},
};
use crate::abi::{MODULE_ENTRY, MODULE_SLOTS, MODULES_OFFSET, ModuleEntry, PRINT_BYTES, entry_state, print_of};

/// An instrumented program or library in a process's memory.
///
/// A forked process has its ancestors' modules too: look for the ring's [`process`](super::RingReader::process) first,
/// then for its [`ancestors`](super::RingReader::ancestors) in their order. No two modules of one process ever overlap,
/// also when one was unloaded before the other came: the hooks see to that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// The process's number in the run.
    pub process: u32,
    /// Run-time address minus link-time address.
    pub bias: u64,
    /// Mapped range.
    pub low: u64,
    /// Behind its last address.
    pub high: u64,
    /// As the process sees it.
    pub path: PathBuf,
}

/// What processes announce.
pub struct Announcements<'a> {
    pub(super) map: &'a MmapRaw,
}

impl<'a> Announcements<'a> {
    /// Modules that processes have announced and that nobody has taken yet. Only one thread may ask.
    #[must_use]
    pub fn pending(&self) -> Vec<Announced<'a>> {
        let used = header(self.map).modules_used.load(Acquire) as usize;
        (0..used.min(MODULE_SLOTS)).filter_map(|slot| self.entry(slot)).collect()
    }

    fn entry(&self, slot: usize) -> Option<Announced<'a>> {
        // SAFETY: within the mapping, aligned to a page.
        let entry = unsafe { self.map.as_ptr().add(MODULES_OFFSET + slot * MODULE_ENTRY) }.cast::<ModuleEntry>();
        // SAFETY: as above; once written (acquire), the rest does not change until it is freed.
        unsafe {
            let state = &(*entry).state;
            if state.load(Acquire) != entry_state::WRITTEN {
                return None;
            }
            let path = &(*entry).path;
            let length = ((*entry).path_len as usize).min(path.len());
            let module = Module {
                process: (*entry).process,
                bias: (*entry).bias,
                low: (*entry).low,
                high: (*entry).high,
                path: OsString::from_vec(path[..length].to_vec()).into(),
            };
            Some(Announced { module, pid: (*entry).pid, print: (*entry).print, state })
        }
    }

    /// Module announcements so far. Take it before looking for them, and give it to [`Self::wait`].
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        Ticket(header(self.map).modules_written.load_acquire())
    }

    /// Sleeps until a module is announced after `ticket`, or the time is over.
    pub fn wait(&self, ticket: Ticket, timeout: Duration) {
        protocol::System::wait(&Futex { timeout }, &header(self.map).modules_written, ticket.0);
    }
}

/// A module that a process has just loaded. The process waits until this is dropped, so that the module's file is still
/// what it was, whatever happens to it afterwards.
#[derive(Debug)]
pub struct Announced<'a> {
    /// The module.
    pub module: Module,
    /// The system's number of the process.
    pub pid: u32,
    /// [`print_of`] the file's first bytes.
    pub print: u64,
    state: &'a AtomicU32,
}

impl Announced<'_> {
    /// A path by which this process can open the module's file: by its name, through the other process's root, or as
    /// that process has it mapped. `None` if the file cannot be had any more.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        let Module { low, path, .. } = &self.module;
        let of_process = |pid: u32| {
            let proc = PathBuf::from(format!("/proc/{pid}"));
            let inside = path.strip_prefix("/").map(|path| proc.join("root").join(path)).ok();
            [inside, Some(proc.join("exe")), mapped_file(&proc, *low)].into_iter().flatten()
        };
        let fits = |path: &PathBuf| print(path).is_some_and(|print| print == self.print);
        // In another process namespace it has another number there than here.
        let others = || called(self.pid).flat_map(of_process).find(fits);
        std::iter::once(path.clone()).chain(of_process(self.pid)).find(fits).or_else(others)
    }
}

/// The numbers here of processes that have this number in a process namespace of their own.
fn called(pid: u32) -> impl Iterator<Item = u32> {
    let is_called = move |process: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let mut numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or("").split_whitespace();
        // The first is the number here.
        numbers.next().is_some() && numbers.next_back().is_some_and(|own| own.parse() == Ok(pid))
    };
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(is_called)
}

/// The kernel's link to the file that is mapped at an address.
fn mapped_file(proc: &Path, low: u64) -> Option<PathBuf> {
    let directory = proc.join("map_files");
    let start = format!("{low:x}-");
    let found = std::fs::read_dir(&directory)
        .ok()?
        .flatten()
        .find(|link| link.file_name().to_str().is_some_and(|name| name.starts_with(&start)))?;
    Some(found.path())
}

fn print(path: &Path) -> Option<u64> {
    let mut bytes = [0u8; PRINT_BYTES];
    let mut file = File::open(path).ok()?;
    let mut read = 0;
    while let Some(room) = bytes.get_mut(read..).filter(|room| !room.is_empty()) {
        match file.read(room).ok()? {
            0 => break,
            n => read += n,
        }
    }
    Some(print_of(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word))))
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.state.store_release(entry_state::FREE);
        protocol::System::wake(&Futex { timeout: Duration::ZERO }, self.state);
    }
}
