//! The one place that opens files to write results.
//!
//! Takes paths, gives files. Refuses symbolic links: whoever can put one where results go, as a checked-out project
//! can, would choose the file that is overwritten. Links of the system (`/dev/stdout`, `/proc/self/fd/3`) are followed,
//! and so are links among the directories above.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// An empty file of that name, which may have been there.
///
/// # Errors
/// Those of the system, and [`io::ErrorKind::InvalidInput`] for a symbolic link.
pub fn create(path: &Path) -> io::Result<File> {
    if is_of_system(path) {
        return File::create(path);
    }
    check(path)?;
    // Should a link be put there just now, this fails.
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Writes a whole file.
///
/// # Errors
/// As [`create`].
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    create(path)?.write_all(bytes.as_ref())
}

/// Writes a file that is there as a whole or not at all, with the permissions that other files get.
///
/// # Errors
/// Those of the system and of `content`.
pub fn write_whole(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(directory)?;
    let mut to = BufWriter::new(file.as_file_mut());
    content(&mut to)?;
    to.flush()?;
    drop(to);
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Whether something may be written there as far as links are concerned.
///
/// # Errors
/// For a symbolic link, which says where it leads to.
pub fn check(path: &Path) -> io::Result<()> {
    let Ok(to) = fs::read_link(path) else { return Ok(()) };
    if is_of_system(path) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "it is a symbolic link to {}, which dmdprof does not overwrite; name that file, or remove the link",
            to.display()
        ),
    ))
}

/// Whether the system itself has made the directory entry.
fn is_of_system(path: &Path) -> bool {
    let directory = path.parent().and_then(|parent| parent.canonicalize().ok());
    directory.is_some_and(|directory| {
        directory.starts_with("/dev") && !directory.starts_with("/dev/shm") || directory.starts_with("/proc")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed_and_the_target_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("precious"), "mine").expect("written");
        std::os::unix::fs::symlink("precious", at("link")).expect("a link");
        std::os::unix::fs::symlink("nothing", at("dangling")).expect("a link");
        for link in ["link", "dangling"] {
            let error = write(&at(link), "theirs").expect_err("refused");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().starts_with("it is a symbolic link to "), "{error}");
        }
        assert_eq!(fs::read_to_string(at("precious")).expect("there"), "mine");
        assert!(!at("nothing").exists());
        write(&at("precious"), "new").expect("a file may be overwritten");
        assert_eq!(fs::read_to_string(at("precious")).expect("there"), "new");
    }

    #[test]
    fn links_of_the_system_and_directories_that_are_links_are_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = File::create(folder.path().join("a")).expect("a file");
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        write(Path::new(&format!("/proc/self/fd/{number}")), "x").expect("written");
        assert_eq!(fs::read_to_string(folder.path().join("a")).expect("there"), "x");
        write(Path::new("/dev/null"), "x").expect("written");
        std::os::unix::fs::symlink(folder.path(), folder.path().join("also")).expect("a link");
        write(&folder.path().join("also/b"), "x").expect("written");
    }
}
