//! Lines that come from far, by who had brought them in before and who brings them in now.
//!
//! Takes such a line with both cells and the bucket of its depth. Who *brings a line in* is who touches it first, or
//! finds it deeper than the last [`PLACES`] lines: touches in between do not count, so that loops need not tell of
//! them. Gives the counts by pair. Refuses nothing.

use std::collections::HashMap;

use super::front::PLACES;
use crate::{
    counts::pairs::{CellPairs, PairCounts},
    decode::block::CellNumber,
    hash::FastHash,
    histogram::bucket_of,
};

/// Bytes of lines beyond which a line is far; at least [`PLACES`] lines. Few where tests want lines to be far.
pub const NEAR: u64 = if cfg!(test) { 1 << 10 } else { 32 << 10 };
/// Bytes of lines beyond which a line is very far.
pub const FAR: u64 = if cfg!(test) { 2 << 10 } else { 1 << 20 };
/// Pairs that were counted last.
const RECENT: usize = 256;

/// By the two numbers of a pair.
type Key = u64;

pub struct Pairs {
    /// The first buckets that are far, and very far.
    near: u16,
    far: u16,
    /// By the last bits of a mixed key. Numbers that there never are stand for no pair.
    recent: Box<[(Key, PairCounts); RECENT]>,
    all: HashMap<Key, PairCounts, FastHash>,
}

/// The first bucket beyond so many bytes of lines.
fn beyond(bytes: u64, shift: u32) -> u16 {
    bucket_of((bytes >> shift).max(PLACES as u64) + 1)
}

impl Pairs {
    /// Of lines of `1 << shift` bytes.
    pub fn new(shift: u32) -> Self {
        Self {
            near: beyond(NEAR, shift),
            far: beyond(FAR, shift),
            recent: Box::new([(Key::MAX, PairCounts::default()); RECENT]),
            all: HashMap::default(),
        }
    }

    /// A cell brings lines in that another one had brought in, from a depth of this bucket.
    #[inline(always)]
    pub fn add(&mut self, before: CellNumber, cell: CellNumber, bucket: u16, lines: u64) {
        if bucket < self.near {
            return;
        }
        let key = (before.index() as u64) << 32 | cell.index() as u64;
        let at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        if self.recent[at].0 != key {
            self.replace(at, key);
        }
        let counts = &mut self.recent[at].1;
        counts.lines += lines;
        counts.far += if bucket < self.far { 0 } else { lines };
    }

    #[inline(never)]
    fn replace(&mut self, at: usize, key: Key) {
        let (old, counts) = std::mem::replace(&mut self.recent[at], (key, PairCounts::default()));
        if old != Key::MAX {
            self.all.entry(old).or_default().merge(&counts);
        }
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        (self.all.capacity() * size_of::<(Key, PairCounts)>()) as u64
    }

    #[must_use]
    pub fn finish(mut self) -> CellPairs {
        (0..RECENT).for_each(|at| self.replace(at, Key::MAX));
        let cells = |key: Key| (CellNumber::new((key >> 32) as usize), CellNumber::new(key as u32 as usize));
        CellPairs(self.all.into_iter().map(|(key, counts)| (cells(key), counts)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    #[test]
    fn pairs_tell_what_they_hold() {
        let make = || {
            let mut pairs = Pairs::new(6);
            (0..20_000).for_each(|cell| pairs.add(CellNumber::new(1), CellNumber::new(cell), u16::MAX, 1));
            pairs
        };
        tells_what_it_holds(make, Pairs::heap_bytes);
    }

    #[test]
    fn what_is_far_begins_beyond_the_last_lines_that_are_never_far() {
        assert_eq!([beyond(1 << 20, 6), beyond(64, 6)], [(1 << 14) + 1, PLACES as u64 + 1].map(bucket_of));
    }
}
