//! The one place that opens source files.
//!
//! Takes paths, which come from debug information and may name anything; gives the file's bytes. Refuses what is no
//! regular file (a pipe or terminal would wait for ever, a device may have no end) and what is larger than any source,
//! before anything is read.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use sha2::{Digest, Sha256};

/// More than any source file has; generated ones of some 10 MB exist.
pub const MOST: u64 = 64 << 20;

/// The bytes of a source file.
///
/// # Errors
/// Those of the system, and [`io::ErrorKind::InvalidInput`] for what cannot be a source file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (file, len) = open(path)?;
    let mut bytes = Vec::with_capacity(len as usize);
    // The file may grow meanwhile.
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST { Err(too_large()) } else { Ok(bytes) }
}

/// SHA-256 of a source file.
///
/// # Errors
/// As [`read`].
pub fn sha256(path: &Path) -> io::Result<[u8; 32]> {
    read(path).map(|bytes| Sha256::digest(bytes).into())
}

/// Lines as text; none if there is no such file.
#[must_use]
pub fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// Opening a pipe would wait for its other end, a terminal might become ours.
fn open(path: &Path) -> io::Result<(File, u64)> {
    // Some drivers do something when their device is opened: the name is looked at first, what was opened decides.
    let is_file = std::fs::metadata(path)?.is_file();
    if !is_file {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if metadata.len() > MOST { Err(too_large()) } else { Ok((file, metadata.len())) }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("larger than {} MiB, so no source file", MOST >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_sensible_size_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.c"), "int x;\nint y;").expect("written");
        let bytes = read(&at("a.c")).expect("a source file");
        assert_eq!(lines(&bytes), ["int x;", "int y;"]);
        assert_eq!(sha256(&at("a.c")).expect("a source file"), <[u8; 32]>::from(Sha256::digest(b"int x;\nint y;")));

        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        File::create(at("sparse")).and_then(|f| f.set_len(1 << 40)).expect("a sparse file");
        std::os::unix::fs::symlink("/dev/zero", at("zero")).expect("a link");
        // Files that say they are empty and have no end to speak of.
        for refused in ["pipe", "sparse", "zero", "."].map(at) {
            let error = read(&refused).expect_err("refused");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{}", refused.display());
        }
        assert_eq!(read(&at("none")).expect_err("missing").kind(), io::ErrorKind::NotFound);
    }
}
