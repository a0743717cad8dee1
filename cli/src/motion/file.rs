//! The file `dmdprof.motion`: magic, version, then one zstd frame with a checksum of its content; in it the [`Motion`]
//! in postcard.
//!
//! Refuses files of another kind or version and damaged ones. Layout: `docs/profile-format.md`.
//!
//! ```text
//!   89 44 4d 44 4d 0d 0a 0a | 01 00 00 00 | 28 b5 2f fd ...     version 1; zstd begins
//! ```
//!
//! Decoded, the one of `tiny.c` begins `05 30 2e 31 2e 30 | 01 | 06 74 69 6e 79 2e 63`: version "0.1.0", a command of
//! one word, "tiny.c".

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, bail};

use super::model::Motion;
use crate::profile::{self, WriteError};

/// Where `dmdprof motion` writes, and what it prints again.
pub const DEFAULT_FILE: &str = "dmdprof.motion";

pub const MAGIC: [u8; 8] = *b"\x89DMDM\r\n\n";
/// Bumped whenever [`Motion`] changes.
const VERSION: u32 = 1;
const HEADER: usize = MAGIC.len() + size_of::<u32>();
const COMPRESSION_LEVEL: i32 = 6;

/// Whether a file begins as one of these does.
#[must_use]
pub fn is_motion(path: &Path) -> bool {
    let mut head = [0; MAGIC.len()];
    fs::File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut head)).is_ok() && head == MAGIC
}

fn to_bytes(motion: &Motion) -> io::Result<Vec<u8>> {
    wrap(&postcard::to_stdvec(motion).map_err(io::Error::other)?)
}

/// A file with this content.
///
/// # Errors
/// Those of the compression.
pub fn wrap(decoded: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    let mut encoder = zstd::Encoder::new(bytes, COMPRESSION_LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.write_all(decoded)?;
    encoder.finish()
}

/// # Errors
/// [`WriteError`].
pub fn write(path: &Path, motion: &Motion) -> Result<(), WriteError> {
    let bytes = to_bytes(motion).map_err(|error| WriteError::Io { step: "encode", path: path.into(), error })?;
    profile::file::replace(path, &bytes)
}

/// # Errors
/// What is wrong with the file, and what to do.
pub fn read(path: &Path) -> anyhow::Result<Motion> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| {
        format!(
            "cannot open {name}\n  make it with `dmdprof motion PROGRAM` or `dmdprof motion FILE.c`, or name the file"
        )
    })?;
    from_bytes(&bytes).with_context(|| name.to_string())
}

/// # Errors
/// What is wrong with the bytes, and what to do.
pub fn from_bytes(bytes: &[u8]) -> anyhow::Result<Motion> {
    const AGAIN: &str = "make it again with `dmdprof motion PROGRAM`";
    if !bytes.starts_with(&MAGIC) {
        bail!("not a file that `dmdprof motion` wrote; profiles of `dmdprof run` know nothing of loops");
    }
    let version = bytes.get(MAGIC.len()..HEADER).and_then(|v| v.try_into().ok()).map(u32::from_le_bytes);
    match version {
        None => bail!("cut short; {AGAIN}"),
        Some(VERSION) => {}
        Some(other) => bail!("format {other}, but this dmdprof reads format {VERSION}; {AGAIN}"),
    }
    let damaged = || format!("cut short or damaged; {AGAIN}");
    let decoded = zstd::decode_all(&bytes[HEADER..]).with_context(damaged)?;
    let motion: Motion = postcard::from_bytes(&decoded).with_context(damaged)?;
    let fits = |row: &super::model::Row| {
        (row.level as usize) < motion.levels.len() && (row.array as usize) < motion.arrays.len()
    };
    let nests = motion.levels.iter().enumerate().all(|(n, l)| l.parent.is_none_or(|p| (p as usize) < n));
    let tiles = || motion.tiles.iter().flatten();
    let known = |tile: &super::model::Tile| {
        (tile.level as usize) < motion.levels.len()
            && tile.arrays.iter().all(|(array, _)| (*array as usize) < motion.arrays.len())
    };
    anyhow::ensure!(nests && motion.rows.iter().all(fits) && tiles().all(known), "contradicts itself; {AGAIN}");
    Ok(motion)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::sheet::tests::matmul;

    #[test]
    fn what_is_written_is_read() {
        let motion = matmul();
        assert_eq!(from_bytes(&to_bytes(&motion).unwrap()).unwrap(), motion);
    }

    #[test]
    fn damage_is_noticed() {
        let motion = matmul();
        let bytes = to_bytes(&motion).unwrap();
        for at in 0..bytes.len() {
            assert!(from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        }
        for at in HEADER + 20..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            // A bit that the compressor does not use may change nothing.
            assert!(!from_bytes(&damaged).is_ok_and(|read| read != motion), "byte {at}");
        }
        let mut newer = bytes;
        newer[8] = 9;
        assert!(format!("{:#}", from_bytes(&newer).unwrap_err()).contains("format 9"));
    }
}
