//! A temporary directory that is gone when the command is, also when the command is interrupted.
//!
//! Interrupting a build sends the signal to the compiler as well as to us, so clean-up by destructor is not enough: the
//! first [`Scratch`] starts a thread that waits for SIGINT, SIGTERM and SIGHUP, removes what is registered and then
//! lets the signal do what it does by default. A command that goes on to something else with its own view of signals
//! ends that with [`stop_watching`].

use std::{
    collections::BTreeSet,
    fs, io, mem,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::Context;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::{Handle, Signals},
};
use tempfile::TempDir;

use crate::shared::signals;

static DOOMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static WATCH: Mutex<Watch> = Mutex::new(Watch::NotYet);

/// Whose signals are.
enum Watch {
    /// Nothing was registered so far.
    NotYet,
    /// A thread's, which this ends.
    Watching(Handle),
    /// Somebody else's by now.
    Ended,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn doomed() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    lock(&DOOMED)
}

/// Why nothing can be built to be run at once.
pub const NO_PROGRAMS: &str = "programs may not run from any directory for temporary files (they are mounted noexec); set TMPDIR to one \
                               where they may";

/// A directory for temporary files from which programs may run: `$TMPDIR` or `/tmp`, and where that is mounted noexec,
/// another one. `None` = there is none.
#[must_use]
pub fn directory_for_programs() -> Option<PathBuf> {
    let others = ["/var/tmp", "/dev/shm", "."].map(PathBuf::from);
    [std::env::temp_dir()].into_iter().chain(others).find(|directory| {
        let mount = rustix::fs::statvfs(directory);
        mount.is_ok_and(|mount| !mount.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
            && rustix::fs::access(directory, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
    })
}

/// A temporary directory. Who made it puts files into it and reads them; they are there until it is dropped or a signal
/// ends the process.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// # Errors
    /// When the directory for temporary files (`$TMPDIR`) cannot be used.
    pub fn new() -> anyhow::Result<Self> {
        Self::inside(&std::env::temp_dir())
    }

    /// In a place where programs may run.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn for_programs() -> anyhow::Result<Self> {
        Self::inside(&directory_for_programs().with_context(|| NO_PROGRAMS)?)
    }

    fn inside(directory: &Path) -> anyhow::Result<Self> {
        watch();
        let dir = tempfile::Builder::new()
            .prefix("dmdprof-")
            .tempdir_in(directory)
            .with_context(|| format!("cannot create a temporary directory in {} (set TMPDIR)", directory.display()))?;
        doomed().insert(dir.path().to_path_buf());
        Ok(Self(dir))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        doomed().remove(self.path());
    }
}

/// A file that must not survive a failure: removed on drop and on interruption unless [`Provisional::keep`] is called.
#[derive(Debug)]
pub struct Provisional {
    path: PathBuf,
    kept: bool,
}

impl Provisional {
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        doomed().insert(path.clone());
        Self { path, kept: false }
    }

    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Provisional {
    fn drop(&mut self) {
        doomed().remove(&self.path);
        if !self.kept {
            remove(&self.path).ok();
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn watch() {
    let mut watch = lock(&WATCH);
    // Without the handler a signal only leaves files behind, so failing to install it is no reason to stop.
    let (Watch::NotYet, Ok(mut signals)) = (&*watch, Signals::new([SIGINT, SIGTERM, SIGHUP])) else { return };
    *watch = Watch::Watching(signals.handle());
    signals::is_cleaned_up(true);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            for path in doomed().iter() {
                remove(path).ok();
            }
            signal_hook::low_level::emulate_default_handler(signal).ok();
        }
    });
}

/// From here on signals are somebody else's, for whatever is registered later too: what is registered then goes away by
/// its destructor only.
pub fn stop_watching() {
    if let Watch::Watching(handle) = mem::replace(&mut *lock(&WATCH), Watch::Ended) {
        signals::is_cleaned_up(false);
        handle.close();
    }
}
