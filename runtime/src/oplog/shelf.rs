//! Words that are needed later, in memory while there are few, then in a temporary file.
//!
//! Takes words, gives them back once, from any thread. Refuses what the file system refuses.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use zerocopy::{FromBytes, IntoBytes};

use super::spool::{BlockLocation, Spool};

/// Bytes in memory, at most.
const MOST: u64 = 64 << 20;

/// Where words are kept.
#[derive(Debug)]
pub struct Shelf {
    spool: Arc<Spool>,
    most: u64,
    in_memory: AtomicU64,
}

/// Words that are kept.
#[derive(Debug)]
pub(crate) enum Shelved {
    /// In memory.
    Here(Vec<u64>),
    /// In the file.
    There(BlockLocation),
}

impl Shelf {
    /// With a file for what is too much.
    #[must_use]
    pub fn new(spool: Arc<Spool>) -> Self {
        Self { spool, most: MOST, in_memory: AtomicU64::new(0) }
    }

    /// Keeps words.
    ///
    /// # Errors
    /// When they cannot be written, for instance because the disk is full.
    pub(crate) fn keep_words(&self, words: Vec<u64>) -> io::Result<Shelved> {
        let bytes = words.len() as u64 * 8;
        if self.in_memory.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.most {
            return Ok(Shelved::Here(words));
        }
        self.in_memory.fetch_sub(bytes, Ordering::Relaxed);
        self.spool.append(words.as_bytes()).map(Shelved::There)
    }

    /// Gives words back.
    ///
    /// # Errors
    /// When they cannot be read, or are not what was written.
    pub(crate) fn take_words(&self, kept: Shelved) -> io::Result<Vec<u64>> {
        match kept {
            Shelved::Here(words) => {
                self.in_memory.fetch_sub(words.len() as u64 * 8, Ordering::Relaxed);
                Ok(words)
            }
            Shelved::There(place) => {
                let bytes = self.spool.read(place)?;
                Ok(bytes.chunks_exact(8).filter_map(|word| u64::read_from_bytes(word).ok()).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_for_memory_comes_back_from_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = Arc::new(Spool::create(folder.path()).expect("a file"));
        let shelf = Shelf { most: 100, ..Shelf::new(spool) };
        let words = |from: u64| (from..from + 10).collect::<Vec<u64>>();
        let kept: Vec<Shelved> = (0..3).map(|from| shelf.keep_words(words(from)).expect("written")).collect();
        assert!(matches!(kept[..], [Shelved::Here(_), Shelved::There(_), Shelved::There(_)]));
        for (from, kept) in (0..).zip(kept) {
            assert_eq!(shelf.take_words(kept).expect("read"), words(from));
        }
        assert!(matches!(shelf.keep_words(words(7)), Ok(Shelved::Here(_))), "there is room again");
    }
}
