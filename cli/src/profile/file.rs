//! The profile file `dmdprof.data`: one self-contained, versioned, checksummed file. Layout: `docs/profile-format.md`.
//!
//! Takes a [`Profile`], gives bytes, and back. The bytes depend on the profile and on nothing else (no time, host or
//! process number). Refuses, with what it expected, what it found and what to do: foreign, cut, damaged, older and
//! newer files, and files whose content contradicts itself. Never panics on any input.
//!
//! Writing never loses the previous profile: the new file is complete on disk before the old one is renamed to `*.old`.
//!
//! ```text
//!   0 | magic                   | version     | checksum    |
//!  16 | payload length          | decoded length            |
//!  32 | payload: one zstd frame                             |
//! ```
//!
//! Numbers are little-endian; the checksum is the CRC-32 of everything from byte 16 on. The profile of a program that
//! does nothing begins:
//!
//! ```text
//!   89 44 4d 44 50 0d 0a 0a | 10 00 00 00 | f6 97 42 6a           version 16, sum 0x6a4297f6
//!   c7 00 00 00 00 00 00 00 | d1 00 00 00 00 00 00 00             199 bytes follow, 209 when decoded
//!   28 b5 2f fd ...                                               as zstd begins
//! ```

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::model::{Profile, Unit};
use super::sections::{self, OtherVersion, Unreadable};
use super::validate::{Invalid, validate};
use crate::shared::output_file;

/// Where `run` writes and every other command reads unless told otherwise.
pub const DEFAULT_FILE: &str = "dmdprof.data";

/// First bytes of a profile file. The first is not ASCII and the line ends would not survive a text-mode copy.
pub const MAGIC: [u8; 8] = *b"\x89DMDP\r\n\n";

/// Bumped whenever the layout around the sections changes; those have versions of their own.
pub const FORMAT_VERSION: u32 = 16;

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The first bytes.
    pub magic: [u8; 8],
    /// The version that is written and read.
    pub version: u32,
}

const PROFILE: Kind = Kind { magic: MAGIC, version: FORMAT_VERSION };

/// First bytes of a file of estimates, which is no profile: see `docs/sampling.md`.
pub const ESTIMATES_MAGIC: [u8; 8] = *b"\x89DMDE\r\n\n";

/// Magic, version, checksum, payload length, decoded length.
pub const HEADER_LEN: usize = 32;
const CHECKED_FROM: usize = 16;
/// A tenth of the time of the level at which files are a tenth smaller.
const COMPRESSION_LEVEL: i32 = 1;

/// Why a profile cannot be read. Each message is whole: there is no further source to print.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It has no depths of bytes, which all but the report go by.
    #[error(
        "{} has lines only (--lines-only), and this goes by depths of bytes\n  measure again without --lines-only; \
         `dmdprof report` shows what it has",
        path.display()
    )]
    LinesOnly {
        /// The file.
        path: PathBuf,
    },
    /// The system does not open or read it.
    #[error("cannot open profile {}: {error}\n  {advice}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
        /// What to do about it.
        advice: String,
    },
    /// It does not begin as a profile does.
    #[error(
        "{} is not a dmdprof profile\n  expected: a file written by `dmdprof run`\n  found: {found}\n  \
         make one with `dmdprof run <program>`, or name another file",
        path.display()
    )]
    NotAProfile {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
    /// Its header promises more than there is.
    #[error(
        "{} is cut short\n  expected: {expected} bytes\n  found: {found} bytes\n  copy the file again, or make a new \
         profile with `dmdprof run` (the previous one may be in {})",
        path.display(), old_path(path).display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes that its header promises.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// There is more than its header promises.
    #[error(
        "{} has something after its end\n  expected: {expected} bytes\n  found: {found} bytes\n  copy the file again, \
         or make a new profile with `dmdprof run`",
        path.display()
    )]
    Overlong {
        /// The file.
        path: PathBuf,
        /// Bytes that its header promises.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// Its bytes are not those that were written.
    #[error(
        "{} is damaged\n  expected: checksum {expected:08x}\n  found: {found:08x}\n  copy the file again, or make a new \
         profile with `dmdprof run` (the previous one may be in {})",
        path.display(), old_path(path).display()
    )]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The checksum in its header.
        expected: u32,
        /// The checksum of its bytes.
        found: u32,
    },
    /// This dmdprof does not know its format yet.
    #[error(
        "{} was written by a newer dmdprof\n  expected: format {expected}\n  found: format {found}\n  update this \
         dmdprof ({}), or make the profile again with it",
        path.display(), env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The newest format that this dmdprof reads.
        expected: u32,
        /// Its format.
        found: u32,
    },
    /// This dmdprof does not read its format any more.
    #[error(
        "{} was written by an older dmdprof\n  expected: format {expected}\n  found: format {found}\n  make the profile \
         again with this dmdprof ({}), or read it with a dmdprof of format {found}",
        path.display(), env!("CARGO_PKG_VERSION")
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// The format that this dmdprof reads.
        expected: u32,
        /// Its format.
        found: u32,
    },
    /// A part of it is of a version that this dmdprof does not read.
    #[error(
        "{} was written by another dmdprof\n  expected: section {} of version {}\n  found: version {}\n  make the profile again \
         with this dmdprof ({}), or read it with the one that wrote it",
        path.display(), other.name, other.expected, other.found, env!("CARGO_PKG_VERSION")
    )]
    Section {
        /// The file.
        path: PathBuf,
        /// Which part.
        other: OtherVersion,
    },
    /// It is no profile, but has the estimates of a sample.
    #[error(
        "{} has the estimates of a sample, and this needs the exact numbers of all reads\n  `dmdprof report`, `dmdprof diff` \
         and `dmdprof check --profile` take estimates\n  for everything else measure exactly: `dmdprof run` without \
         --sample",
        path.display()
    )]
    Estimates {
        /// The file.
        path: PathBuf,
    },
    /// Its bytes are whole, but [`validate`] refuses what they say.
    #[error(
        "{} contradicts itself\n  expected: a profile whose numbers agree with each other\n  found: {found}\n  this is a \
         bug in the dmdprof that wrote it; please report it, and make a new profile with `dmdprof run`",
        path.display()
    )]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// What contradicts what.
        found: String,
    },
}

/// Why a profile cannot be written. The previous profile, if there was one, is still in its place.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The system refused a step.
    #[error("cannot {step} {}: {error}\n  {}; the previous profile, if any, is unchanged", path.display(), write_advice(error))]
    Io {
        /// What was being done, as in `create`.
        step: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// There is a directory in its place.
    #[error("cannot write a profile to {}: it is a directory\n  name a file instead, as in {}", path.display(), path.join(DEFAULT_FILE).display())]
    Directory {
        /// The file.
        path: PathBuf,
    },
    /// [`validate`] refuses what was to be written.
    #[error(
        "the profile contradicts itself and was not written: {invalid}\n  this is a bug in dmdprof; please report it"
    )]
    Invalid {
        /// What contradicts what.
        invalid: Invalid,
    },
}

fn write_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there, or choose another place with --output"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make the directory writable, or choose another place with --output"
        }
        io::ErrorKind::NotFound => "create the directory first, or choose another place with --output",
        _ => "choose another place with --output",
    }
}

/// The name that the previous profile gets when a new one takes its place: `<name>.old`.
#[must_use]
pub fn old_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".old");
    path.with_file_name(name)
}

/// The file's bytes. Equal profiles give equal bytes.
#[must_use]
pub fn to_bytes(profile: &Profile) -> Vec<u8> {
    wrap(&sections::content(profile))
}

/// A profile's file with this content.
#[must_use]
pub fn wrap(decoded: &[u8]) -> Vec<u8> {
    wrapped(PROFILE, decoded)
}

/// A file of a kind with this content.
#[must_use]
pub fn wrapped(kind: Kind, decoded: &[u8]) -> Vec<u8> {
    let payload = zstd::bulk::compress(decoded, COMPRESSION_LEVEL).expect("compression to memory");
    let mut bytes = Vec::with_capacity(HEADER_LEN + payload.len());
    bytes.extend_from_slice(&kind.magic);
    bytes.extend_from_slice(&kind.version.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(decoded.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&payload);
    let sum = crc32fast::hash(&bytes[CHECKED_FROM..]);
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The content of a file of a kind; `path` is for messages only.
///
/// # Errors
/// What is wrong with the file.
pub fn unwrapped(kind: Kind, path: &Path, bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let path = || path.to_path_buf();
    let found = bytes.len() as u64;
    if bytes.len() < kind.magic.len() && !bytes.is_empty() && kind.magic.starts_with(bytes) {
        return Err(ReadError::Truncated { path: path(), expected: HEADER_LEN as u64, found });
    }
    if !bytes.starts_with(&kind.magic) {
        return Err(ReadError::NotAProfile { path: path(), found: describe(bytes) });
    }
    let short = || ReadError::Truncated { path: path(), expected: HEADER_LEN as u64, found };
    let version = u32_at(bytes, 8).ok_or_else(short)?;
    if version > kind.version {
        return Err(ReadError::Newer { path: path(), expected: kind.version, found: version });
    }
    if version < kind.version {
        return Err(ReadError::Older { path: path(), expected: kind.version, found: version });
    }
    let sum = u32_at(bytes, 12).ok_or_else(short)?;
    let payload_len = u64_at(bytes, 16).ok_or_else(short)?;
    let decoded_len = u64_at(bytes, 24).ok_or_else(short)?;
    let expected = payload_len.saturating_add(HEADER_LEN as u64);
    if found < expected {
        return Err(ReadError::Truncated { path: path(), expected, found });
    }
    if found > expected {
        return Err(ReadError::Overlong { path: path(), expected, found });
    }
    let actual = crc32fast::hash(&bytes[CHECKED_FROM..]);
    if actual != sum {
        return Err(ReadError::Checksum { path: path(), expected: sum, found: actual });
    }
    let decoded = decompress(&bytes[HEADER_LEN..], decoded_len);
    decoded.map_err(|found| ReadError::Inconsistent { path: path(), found })
}

/// Reads a profile from a file's bytes; `path` is for messages only.
pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Profile, ReadError> {
    if bytes.starts_with(&ESTIMATES_MAGIC) {
        return Err(ReadError::Estimates { path: path.into() });
    }
    let profile = profile_of(path, sections::profile(&unwrapped(PROFILE, path, bytes)?))?;
    validate(&profile).map_err(|e| ReadError::Inconsistent { path: path.into(), found: e.to_string() })?;
    Ok(profile)
}

/// A profile from sections; `path` is for messages only.
pub(crate) fn profile_of(path: &Path, read: Result<Profile, Unreadable>) -> Result<Profile, ReadError> {
    read.map_err(|unreadable| match unreadable {
        Unreadable::Version(other) => ReadError::Section { path: path.into(), other },
        Unreadable::Damaged(found) => ReadError::Inconsistent { path: path.into(), found },
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn decompress(payload: &[u8], expected: u64) -> Result<Vec<u8>, String> {
    let mut decoded = Vec::new();
    let decoder = zstd::Decoder::with_buffer(payload).map_err(|e| e.to_string())?;
    decoder
        .take(expected.saturating_add(1))
        .read_to_end(&mut decoded)
        .map_err(|e| format!("content that does not decompress ({e})"))?;
    if decoded.len() as u64 != expected {
        return Err(format!("content of another length than the {expected} bytes announced"));
    }
    Ok(decoded)
}

fn describe(bytes: &[u8]) -> String {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"PERFILE2", "a data file of Linux perf"),
        (b"\x7fELF", "a program or object file (ELF)"),
        (b"# callgrind format", "a callgrind profile"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive; unpack it first"),
        (b"\x1f\x8b", "a gzip archive; unpack it first"),
        (b"{", "what looks like JSON (perhaps a report made with --format json)"),
        (b"\x89DMDP\n", "a dmdprof profile whose line ends were changed; copy it in binary mode"),
    ];
    if bytes.is_empty() {
        return "an empty file".into();
    }
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return (*what).into();
    }
    let start: String = bytes.iter().take(8).flat_map(|b| std::ascii::escape_default(*b)).map(char::from).collect();
    format!("a file that starts with \"{start}\"")
}

/// Reads and checks a profile.
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("app.data");
/// std::fs::write(&path, "functions: 3")?;
/// let error = dmdprof::profile::read(&path).unwrap_err();
/// assert!(error.to_string().contains("app.data"), "{error}");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// A file that cannot be read, is no profile, is damaged, of a newer format or of lines only; each says what to do.
pub fn read(path: &Path) -> Result<Profile, ReadError> {
    let profile = from_bytes(path, &bytes_of(path)?)?;
    match profile.meta.unit {
        Unit::Byte => Ok(profile),
        Unit::Lines => Err(ReadError::LinesOnly { path: path.into() }),
    }
}

/// The bytes of a profile's file, or one of estimates.
///
/// # Errors
/// A file that cannot be read, with what to do.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>, ReadError> {
    fs::read(path).map_err(|error| {
        let old = old_path(path);
        let advice = if error.kind() != io::ErrorKind::NotFound {
            "name a readable profile file".into()
        } else if old.exists() {
            format!("the previous profile is in {}; make a new one with `dmdprof run <program>`", old.display())
        } else {
            "make one with `dmdprof run <program>`, or name the file".to_string()
        };
        ReadError::Open { path: path.into(), error, advice }
    })
}

/// Where a profile goes that is written to a path.
struct Target {
    /// The path, with links of the system followed.
    path: PathBuf,
    directory: PathBuf,
    previous: Previous,
}

#[derive(PartialEq)]
enum Previous {
    Nothing,
    File,
    /// A device or pipe: written to in place, never renamed.
    Device,
}

impl Target {
    fn for_path(path: &Path) -> Result<Target, WriteError> {
        output_file::check(path).map_err(io_error("write to", path))?;
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let previous = match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => return Err(WriteError::Directory { path: path.into() }),
            Ok(metadata) if metadata.is_file() => Previous::File,
            Ok(_) => Previous::Device,
            Err(_) => Previous::Nothing,
        };
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        Ok(Target { path: target, directory, previous })
    }
}

fn io_error(step: &'static str, at: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = at.to_path_buf();
    move |error| WriteError::Io { step, path, error }
}

/// Whether [`write()`] could start to write here; leaves nothing behind. For before a long run.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    let target = Target::for_path(path)?;
    match target.previous {
        Previous::Device => {
            fs::OpenOptions::new().write(true).open(&target.path).map(drop).map_err(io_error("write to", path))
        }
        _ => new_file_in(&target.directory).map(drop).map_err(io_error("create a file in", &target.directory)),
    }
}

/// Writes a profile so that at every moment a whole profile is on disk, whatever happens: temporary file in the same
/// directory, flushed to the device; previous profile renamed to [`old_path`]; temporary file renamed to `path`.
///
/// A symbolic link is refused; a device or pipe is written to in place.
pub fn write(path: &Path, profile: &Profile) -> Result<(), WriteError> {
    validate(profile).map_err(|invalid| WriteError::Invalid { invalid })?;
    replace(path, &to_bytes(profile))
}

/// Writes a profile as [`write()`] does, then what `complete` adds to it: as long as that takes, the profile without it
/// is there. What is no regular file is written once, at the end.
pub fn complete(path: &Path, profile: &mut Profile, complete: impl FnOnce(&mut Profile)) -> Result<(), WriteError> {
    if Target::for_path(path)?.previous == Previous::Device {
        complete(profile);
        return write(path, profile);
    }
    validate(profile).map_err(|invalid| WriteError::Invalid { invalid })?;
    let before = to_bytes(profile);
    replace(path, &before)?;
    complete(profile);
    let bytes = to_bytes(profile);
    if bytes == before { Ok(()) } else { put(&Target::for_path(path)?, &bytes) }
}

/// [`write()`] for any content.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let target = Target::for_path(path)?;
    if target.previous == Previous::Device {
        return fs::write(&target.path, bytes).map_err(io_error("write the profile to", path));
    }
    let temporary = written_beside(&target, bytes)?;
    let old = old_path(&target.path);
    if target.previous == Previous::File {
        fs::rename(&target.path, &old).map_err(io_error("rename the previous profile to", &old))?;
    }
    if let Err(failure) = temporary.persist(&target.path) {
        if target.previous == Previous::File {
            // The error to report is the first one; if this fails too, the previous profile is still at `old`.
            let _ = fs::rename(&old, &target.path);
        }
        return Err(io_error("rename the new profile to", &target.path)(failure.error));
    }
    // The content is safe by now. Whatever part of the renames outlives a power failure, the previous profile or this
    // one is whole under one of the two names.
    Ok(())
}

/// Puts a profile in the place of another that is not worth keeping.
fn put(target: &Target, bytes: &[u8]) -> Result<(), WriteError> {
    let temporary = written_beside(target, bytes)?;
    let renamed = temporary.persist(&target.path);
    renamed.map(drop).map_err(|failure| io_error("rename the new profile to", &target.path)(failure.error))
}

/// A file on disk that needs but its name.
fn written_beside(target: &Target, bytes: &[u8]) -> Result<tempfile::NamedTempFile, WriteError> {
    let directory = &target.directory;
    let mut temporary = new_file_in(directory).map_err(io_error("create a file in", directory))?;
    temporary.write_all(bytes).map_err(io_error("write a file in", directory))?;
    temporary.as_file().sync_all().map_err(io_error("write a file in", directory))?;
    Ok(temporary)
}

fn new_file_in(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dmdprof-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The user's umask applies, as for any other output file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

#[cfg(test)]
mod tests;
