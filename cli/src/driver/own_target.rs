//! The target directory that `dmdprof cargo` has to itself, and which dmdprof filled it.
//!
//! Takes the directory, gives an [`OwnTarget`], which is held as long as builds go on in it. What build scripts
//! compiled there are objects with hooks, which Cargo does not make again when dmdprof changes, and which do not link
//! if the names of the hooks have changed. So the directory carries a stamp, and what another dmdprof left is removed,
//! with a note. Refuses to remove what dmdprof did not make.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
};

use anyhow::Context;
use dmdprof_runtime::abi::{ABI_VERSION, symbol};

use super::rustc_wrap;

/// Says who filled the directory. Locked in shared mode by those who build in it.
const STAMP: &str = ".dmdprof";
/// Links to dmdprof, by which directories from before there were stamps are known.
pub const TOOLS: &str = "tools";

/// A directory that holds nothing of another dmdprof, and that nobody empties while this lives.
#[derive(Debug)]
pub struct OwnTarget {
    _lock: File,
}

/// What must be the same for old objects to be of use.
fn identity() -> String {
    format!("dmdprof {}, hooks {ABI_VERSION} ({})", env!("CARGO_PKG_VERSION"), symbol::RING)
}

impl OwnTarget {
    /// # Errors
    /// When the directory cannot be made, read, locked or emptied.
    pub fn enter(directory: &Path) -> anyhow::Result<Self> {
        Self::enter_as(directory, &identity()).with_context(|| format!("cannot prepare {}", directory.display()))
    }

    fn enter_as(directory: &Path, identity: &str) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let path = directory.join(STAMP);
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
        file.lock_shared()?;
        if read(&mut file)? == identity {
            return Ok(Self { _lock: file });
        }
        file.unlock()?;
        lock(&file, directory)?;
        // Somebody else may have done it meanwhile.
        let found = read(&mut file)?;
        if found != identity {
            empty(directory, &found, identity)?;
            file.rewind()?;
            file.set_len(0)?;
            file.write_all(identity.as_bytes())?;
        }
        file.unlock()?;
        file.lock_shared()?;
        Ok(Self { _lock: file })
    }
}

fn read(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn lock(file: &File, directory: &Path) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            eprintln!("dmdprof: waiting for another dmdprof, which builds in {}", directory.display());
            file.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes what another dmdprof built; `found` is its stamp, empty if there is none.
fn empty(directory: &Path, found: &str, identity: &str) -> io::Result<()> {
    let link = directory.join(TOOLS).join(rustc_wrap::NAME);
    if found.is_empty() && !link.is_symlink() {
        return Ok(());
    }
    let found = if found.is_empty() { "an older dmdprof" } else { found };
    eprintln!(
        "dmdprof: note: {} was filled by {found}; this is {identity}, which starts it afresh",
        directory.display()
    );
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() == STAMP {
            continue;
        }
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) }?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_another_dmdprof_left_goes_and_what_this_one_left_stays() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path();
        drop(OwnTarget::enter_as(target, "one").unwrap());
        fs::create_dir_all(target.join("release/deps")).unwrap();
        fs::write(target.join("CACHEDIR.TAG"), "").unwrap();
        let first = OwnTarget::enter_as(target, "one").unwrap();
        drop((OwnTarget::enter_as(target, "one").unwrap(), first));
        assert_eq!(names(target), [STAMP, "CACHEDIR.TAG", "release"]);
        drop(OwnTarget::enter_as(target, "two and longer").unwrap());
        assert_eq!(names(target), [STAMP]);
        drop(OwnTarget::enter_as(target, "three").unwrap());
        assert_eq!(fs::read_to_string(target.join(STAMP)).unwrap(), "three");
    }

    #[test]
    fn a_directory_without_a_stamp_is_emptied_only_if_it_is_ours() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path();
        fs::write(target.join("main.rs"), "fn main() {}").unwrap();
        drop(OwnTarget::enter_as(target, "one").unwrap());
        assert_eq!(names(target), [STAMP, "main.rs"]);
        fs::remove_file(target.join(STAMP)).unwrap();
        fs::create_dir(target.join(TOOLS)).unwrap();
        std::os::unix::fs::symlink("/nowhere", target.join(TOOLS).join(rustc_wrap::NAME)).unwrap();
        drop(OwnTarget::enter_as(target, "one").unwrap());
        assert_eq!(names(target), [STAMP]);
    }

    #[test]
    fn whoever_empties_waits_for_whoever_builds() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path();
        let building = OwnTarget::enter_as(target, "one").unwrap();
        fs::write(target.join("object"), "").unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| drop(OwnTarget::enter_as(target, "two").unwrap()));
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(target.join("object").exists() && !other.is_finished());
            drop(building);
            other.join().unwrap();
        });
        assert_eq!(names(target), [STAMP]);
    }
}
