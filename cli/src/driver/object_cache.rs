//! Instrumented objects, kept by the content of everything that they are made from.
//!
//! Takes a [`Key`], gives the path of the object that was made from the same; makes it if there is none. Entries are
//! files named by the key, written whole or not at all. Safe under concurrent builds: whoever uses entries holds the
//! directory's lock in shared mode, so that nobody removes them meanwhile, and one object is made by one process while
//! the others wait for it. Bounded: the objects that were not used for longest go when there are too many bytes.
//!
//! The directory is `$DMDPROF_CACHE_DIR`, else `dmdprof` in `$XDG_CACHE_HOME` or `~/.cache`; its size is
//! `$DMDPROF_CACHE_SIZE` (`500M`, `4G`), else 4 GiB. A directory that cannot be written is no error: objects then are
//! made anew each time, in a temporary place.

use std::{
    env,
    ffi::OsStr,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, anyhow};
use sha2::{Digest, Sha256};

use crate::shared::{hash::hexadecimal, quantity::parse_size};

/// Bumped when entries or keys get another form.
const FORM: &str = "dmdprof object 1";
const DEFAULT_BYTES: u64 = 4 << 30;
/// What is left when the oldest had to go, so that this does not happen at each build: parts of 8.
const LEFT_OF_8: u64 = 6;
const DIRECTORY: &str = "DMDPROF_CACHE_DIR";
const SIZE: &str = "DMDPROF_CACHE_SIZE";
const SUBDIRECTORY: &str = "objects";

/// SHA-256 over everything that an object depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// `settings`: the tool's own identity and all options that change the object.
    #[must_use]
    pub fn new(settings: &[&str], bitcode: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        for part in [FORM].iter().chain(settings) {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.update(bitcode);
        Self(hexadecimal(&hasher.finalize()))
    }
}

/// The directory and its limit.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    limit: u64,
}

/// The right to use entries: while it lives none is removed.
#[derive(Debug)]
pub struct InUse {
    directory: PathBuf,
    _lock: File,
}

/// What `dmdprof cache` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    pub objects: u64,
    pub bytes: u64,
}

impl Cache {
    /// The user's; `None` if there is no home for it.
    ///
    /// # Errors
    /// A size that is none.
    pub fn of_user() -> anyhow::Result<Option<Self>> {
        let limit = match env::var(SIZE) {
            Ok(text) => parse_size(&text).map_err(|why| anyhow!("{SIZE}={text}: {why}"))?,
            Err(_) => DEFAULT_BYTES,
        };
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let standard = || absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        let root = absolute(DIRECTORY).or_else(|| standard().map(|home| home.join("dmdprof")));
        Ok(root.map(|root| Self { root, limit }))
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.root.join(SUBDIRECTORY)
    }

    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    fn lock_file(&self) -> io::Result<File> {
        fs::create_dir_all(self.directory())?;
        File::options().create(true).truncate(false).write(true).open(self.root.join("objects.lock"))
    }

    /// # Errors
    /// When the directory cannot be made or locked.
    pub fn in_use(&self) -> io::Result<InUse> {
        let lock = self.lock_file()?;
        lock.lock_shared()?;
        Ok(InUse { directory: self.directory(), _lock: lock })
    }

    /// # Errors
    /// When the directory cannot be read.
    pub fn contents(&self) -> io::Result<Contents> {
        let entries = self.entries()?;
        Ok(Contents { objects: entries.len() as u64, bytes: entries.iter().map(|entry| entry.bytes).sum() })
    }

    /// Removes all objects, once nobody uses them.
    ///
    /// # Errors
    /// When the directory cannot be locked or an entry cannot be removed.
    pub fn clean(&self, waiting: impl FnOnce()) -> io::Result<Contents> {
        if !self.directory().is_dir() {
            return Ok(Contents { objects: 0, bytes: 0 });
        }
        let lock = self.lock_file()?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                lock.lock()?;
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let contents = self.contents()?;
        fs::remove_dir_all(self.directory())?;
        Ok(contents)
    }

    /// Removes the objects that were not used for longest, if there are too many bytes and nobody uses any.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn drop_the_oldest(&self) -> io::Result<()> {
        if self.contents()?.bytes <= self.limit {
            return Ok(());
        }
        // Builds that run now hold the lock; the last of them comes by here too.
        if self.lock_file()?.try_lock().is_err() {
            return Ok(());
        }
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        let mut kept = 0;
        for entry in entries {
            kept += entry.bytes;
            if kept > self.limit / 8 * LEFT_OF_8 {
                fs::remove_file(entry.path).ok();
            }
        }
        Ok(())
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let shelves = match fs::read_dir(self.directory()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entries),
            shelves => shelves?,
        };
        for shelf in shelves {
            for file in fs::read_dir(shelf?.path()).into_iter().flatten().flatten() {
                // Another process may have removed it.
                if let Ok(data) = file.metadata()
                    && file.path().extension() == Some(OsStr::new("o"))
                {
                    entries.push(Entry { path: file.path(), bytes: data.len(), used: data.modified()? });
                }
            }
        }
        Ok(entries)
    }
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl InUse {
    /// The object of this key, if it was made.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<PathBuf> {
        Some(self.path(key)).filter(|object| is_whole(object))
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.directory.join(&key.0[..2]).join(format!("{}.o", &key.0[2..]))
    }

    /// The object of this key; `make` writes it to the path that it is given if nobody has made it yet.
    ///
    /// # Errors
    /// Those of `make`, and what the system says about the directory.
    pub fn get(&self, key: &Key, make: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<PathBuf> {
        let object = self.path(key);
        let shelf = object.parent().unwrap_or(&self.directory);
        if is_whole(&object) {
            return Ok(object);
        }
        let unwritable = || format!("cannot write to the cache {} (set {DIRECTORY} to another place)", shelf.display());
        fs::create_dir_all(shelf).with_context(unwritable)?;
        let turn_file = object.with_extension("lock");
        let turn =
            File::options().create(true).truncate(false).write(true).open(&turn_file).with_context(unwritable)?;
        turn.lock().with_context(unwritable)?;
        // Somebody else may have made it while we waited for our turn.
        if !is_whole(&object) {
            let temporary = tempfile::Builder::new().prefix(".new-").tempfile_in(shelf).with_context(unwritable)?;
            make(temporary.path())?;
            temporary.persist(&object).with_context(unwritable)?;
        }
        fs::remove_file(turn_file).ok();
        Ok(object)
    }
}

/// Whether the entry is there; marks it as used.
fn is_whole(object: &Path) -> bool {
    let Ok(file) = File::options().append(true).open(object) else { return false };
    file.set_modified(SystemTime::now()).ok();
    file.metadata().is_ok_and(|data| data.len() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn cache(limit: u64) -> (tempfile::TempDir, Cache) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache { root: directory.path().to_path_buf(), limit };
        (directory, cache)
    }

    fn put(cache: &Cache, name: &str, bytes: usize) -> PathBuf {
        let key = Key::new(&["tool"], name.as_bytes());
        let made = cache.in_use().unwrap().get(&key, |path| Ok(fs::write(path, vec![b'x'; bytes])?));
        made.expect("an object")
    }

    #[test]
    fn a_key_changes_with_every_part() {
        let key = Key::new(&["tool", "-O3"], b"code");
        assert_eq!(key, Key::new(&["tool", "-O3"], b"code"));
        for other in
            [Key::new(&["tool", "-O2"], b"code"), Key::new(&["tool-O3"], b"code"), Key::new(&["tool", "-O3"], b"c")]
        {
            assert_ne!(key, other);
        }
    }

    #[test]
    fn an_object_is_made_once_even_by_many_at_a_time() {
        let (_directory, cache) = cache(1 << 20);
        let made = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let key = Key::new(&["tool"], b"same");
                    let in_use = cache.in_use().unwrap();
                    let object = in_use.get(&key, |path| {
                        made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(20));
                        Ok(fs::write(path, "object")?)
                    });
                    assert_eq!(fs::read(object.unwrap()).unwrap(), b"object");
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
        let failed = cache.in_use().unwrap().get(&Key::new(&[], b"bad"), |_| anyhow::bail!("no"));
        assert!(failed.is_err());
        assert_eq!(cache.contents().unwrap(), Contents { objects: 1, bytes: 6 });
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_bytes_and_nobody_uses_them() {
        let (_directory, cache) = cache(4000);
        let objects: Vec<PathBuf> = ["a", "b", "c"].iter().map(|name| put(&cache, name, 1000)).collect();
        for (age, object) in [300, 200, 100].into_iter().zip(&objects) {
            let then = SystemTime::now() - Duration::from_secs(age);
            File::options().append(true).open(object).unwrap().set_modified(then).unwrap();
        }
        put(&cache, "a", 1000);
        put(&cache, "d", 2000);
        let in_use = cache.in_use().unwrap();
        cache.drop_the_oldest().unwrap();
        assert_eq!(cache.contents().unwrap().objects, 4, "in use");
        drop(in_use);
        cache.drop_the_oldest().unwrap();
        assert_eq!(objects.iter().map(|object| object.exists()).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(cache.clean(|| ()).unwrap(), Contents { objects: 2, bytes: 3000 });
        assert_eq!(cache.contents().unwrap(), Contents { objects: 0, bytes: 0 });
        assert_eq!(cache.clean(|| ()).unwrap().objects, 0);
    }
}
