//! A temporary file without a name, in which rings keep what they need a second time.
//!
//! Takes blocks of bytes, gives each a [`BlockLocation`] and the block back, in any order and from any thread. Blocks
//! are compressed and carry a checksum. Refuses what the file system refuses; the file vanishes with its last user,
//! however that ends.
//!
//! ```text
//!   0 | zstd of a block | zstd of a block | ...     without anything between them
//! ```
//!
//! What a block is read back by is not in the file: a first block of 70,000 bytes that takes 900 has the place (offset
//! 0, stored 900, len 70,000, CRC-32 of the 900), and the second has offset 900.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

/// A fast one: a block is read back twice, and then gone.
const LEVEL: i32 = 1;

/// Blocks of operations, in memory and then in a temporary file.
#[derive(Debug)]
pub struct Spool {
    file: File,
    end: AtomicU64,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug)]
pub struct BlockLocation {
    offset: u64,
    stored: u32,
    len: u32,
    checksum: u32,
}

impl Spool {
    /// # Errors
    /// When no file can be made in the directory.
    pub fn create(directory: &Path) -> io::Result<Self> {
        tempfile::tempfile_in(directory).map(Self::over)
    }

    /// Keeps blocks in a file that is there.
    #[must_use]
    pub fn over(file: File) -> Self {
        Self { file, end: AtomicU64::new(0) }
    }

    /// # Errors
    /// When the block cannot be written, for instance because the disk is full.
    pub fn append(&self, block: &[u8]) -> io::Result<BlockLocation> {
        let stored = zstd::bulk::compress(block, LEVEL)?;
        let offset = self.end.fetch_add(stored.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(&stored, offset)?;
        let len = u32::try_from(block.len()).map_err(io::Error::other)?;
        Ok(BlockLocation { offset, stored: stored.len() as u32, len, checksum: crc32fast::hash(&stored) })
    }

    /// # Errors
    /// When the block cannot be read or is not what was written.
    pub fn read(&self, place: BlockLocation) -> io::Result<Vec<u8>> {
        let mut stored = vec![0; place.stored as usize];
        self.file.read_exact_at(&mut stored, place.offset)?;
        if crc32fast::hash(&stored) != place.checksum {
            return Err(damaged());
        }
        zstd::bulk::decompress(&stored, place.len as usize)
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What is read back is not what was written.
pub fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the temporary file does not hold what was written to it")
}
