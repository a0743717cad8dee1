//! Where bytes die, as the backward sweep writes it down and the forward pass reads it: per block of operations.
//!
//! Refuses bytes that are no marks. All numbers but masks are those of `oplog::varint`:
//!
//! ```text
//!   | fates | masks | segments | range counts | ranges |     how many of each
//!   | a fate, 1 byte ... | a mask, 8 bytes ... |
//!   | iterations, dead, mixed ... |                          of each segment
//!   | a count ... | distance from the end of the range before, zigzag; bytes ... |
//! ```
//!
//! A block of one access of 8 bytes, of which the first four are read again:
//!
//! ```text
//!   01 01 00 00 00            1 fate, 1 mask
//!   02                        Fate::Mixed
//!   0f 00 00 00 00 00 00 00   the four low bits: the first four bytes
//! ```

use crate::oplog::{
    spool::damaged,
    varint::{put, take, unzigzag, zigzag},
};

/// What becomes of the bytes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// All are read again.
    Kept = 0,
    /// None is read again.
    Dead = 1,
    /// Some are: masks follow.
    Mixed = 2,
}

impl Fate {
    #[inline]
    #[must_use]
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Kept,
            1 => Self::Dead,
            _ => Self::Mixed,
        }
    }

    #[inline]
    pub fn of_live(live: u64, all: u64) -> Self {
        if live == all {
            Self::Kept
        } else if live == 0 {
            Self::Dead
        } else {
            Self::Mixed
        }
    }
}

/// Iterations of an affine run in which each stream's bytes fare alike. Streams are bits, the first lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    pub iterations: u64,
    pub dead: u64,
    /// Masks follow; such segments have one iteration.
    pub mixed: u64,
}

/// The fates of one block's bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// A [`Fate`] per access.
    pub fates: Vec<u8>,
    /// Per 64 bytes of a mixed access, in order: a bit for each byte that is read again.
    pub masks: Vec<u64>,
    pub segments: Vec<Segment>,
    /// Per declared input or output, in order: how many ranges of it are needed after.
    pub range_counts: Vec<u64>,
    pub ranges: Vec<(u64, u64)>,
}

impl Marks {
    pub fn clear(&mut self) {
        self.fates.clear();
        self.masks.clear();
        self.segments.clear();
        self.range_counts.clear();
        self.ranges.clear();
    }

    /// Adds earlier iterations of the run whose segments begin at `first`.
    pub fn add(&mut self, first: usize, segment: Segment) {
        match self.segments[first..].last_mut() {
            Some(last) if last.dead == segment.dead && last.mixed | segment.mixed == 0 => {
                last.iterations += segment.iterations;
            }
            _ => self.segments.push(segment),
        }
    }

    /// From the order of the sweep to that of the program.
    pub fn turn_around(&mut self) {
        self.fates.reverse();
        self.masks.reverse();
        self.segments.reverse();
        self.range_counts.reverse();
        self.ranges.reverse();
    }

    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.fates.len() + self.masks.len() * 8 + self.segments.len() * 4 + 64);
        for len in [self.fates.len(), self.masks.len(), self.segments.len(), self.range_counts.len(), self.ranges.len()]
        {
            put(&mut bytes, len as u64);
        }
        bytes.extend_from_slice(&self.fates);
        for mask in &self.masks {
            bytes.extend_from_slice(&mask.to_le_bytes());
        }
        for segment in &self.segments {
            put(&mut bytes, segment.iterations);
            put(&mut bytes, segment.dead);
            put(&mut bytes, segment.mixed);
        }
        self.range_counts.iter().for_each(|&count| put(&mut bytes, count));
        let mut end = 0;
        for &(start, len) in &self.ranges {
            put(&mut bytes, zigzag(start.wrapping_sub(end)));
            put(&mut bytes, len);
            end = start.wrapping_add(len);
        }
        bytes
    }

    /// Reads what `to_bytes` made.
    ///
    /// # Errors
    /// When it is something else.
    pub fn decode_from(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.clear();
        self.decode(bytes).ok_or_else(damaged)
    }

    pub fn decode(&mut self, mut bytes: &[u8]) -> Option<()> {
        let mut lens = [0; 5];
        for len in &mut lens {
            *len = take(&mut bytes)? as usize;
        }
        let (fates, rest) = bytes.split_at_checked(lens[0])?;
        let (masks, rest) = rest.split_at_checked(lens[1].checked_mul(8)?)?;
        self.fates.extend_from_slice(fates);
        self.masks.extend(masks.chunks_exact(8).map(|c| c.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b))));
        bytes = rest;
        for _ in 0..lens[2] {
            let (iterations, dead, mixed) = (take(&mut bytes)?, take(&mut bytes)?, take(&mut bytes)?);
            self.segments.push(Segment { iterations, dead, mixed });
        }
        for _ in 0..lens[3] {
            self.range_counts.push(take(&mut bytes)?);
        }
        let mut end = 0u64;
        for _ in 0..lens[4] {
            let (start, len) = (end.wrapping_add(unzigzag(take(&mut bytes)?)), take(&mut bytes)?);
            self.ranges.push((start, len));
            end = start.wrapping_add(len);
        }
        Some(())
    }
}
