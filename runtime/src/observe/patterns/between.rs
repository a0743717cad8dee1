//! What was touched between a byte's last touch and its read: of each flow all bytes, and the static accesses that
//! touched most of them.
//!
//! Takes sums over the accesses, for one read at a time. Keeps the 128 largest of each read, and at least as many of a
//! flow: a program has thousands of accesses that each touch a little, and as many flows.

use std::cmp::Reverse;

use crate::sums::{Sums, sum_up};

/// Accesses of one read that are kept.
const KEPT: usize = 128;
/// When a flow has more entries than this, some for the same access, twice `KEPT` of them stay.
const MOST: usize = 4 * KEPT;

/// What lay between the touches of a flow's bytes, for some of its reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Between<S> {
    /// Bytes in all; touches, not distinct ones.
    pub all: u64,
    /// Of these, bytes by access. Once they are `named`, sorted by access, each once.
    pub largest: Vec<(S, u64)>,
}

impl<S> Default for Between<S> {
    fn default() -> Self {
        Self { all: 0, largest: Vec::new() }
    }
}

impl Between<u32> {
    /// One more read. Empties the sums.
    pub fn add(&mut self, sums: &mut Sums) {
        let mut of_read = sums.take();
        self.all += of_read.iter().map(|(_, bytes)| bytes).sum::<u64>();
        keep_largest(&mut of_read, KEPT);
        self.largest.append(&mut of_read);
        if self.largest.len() > MOST {
            sum_up(&mut self.largest);
            keep_largest(&mut self.largest, 2 * KEPT);
        }
    }
}

impl<S> Between<S> {
    /// Gives the accesses other names.
    #[must_use]
    pub fn named<T: Ord + Copy>(self, name: impl Fn(S) -> T) -> Between<T> {
        let mut largest = self.largest.into_iter().map(|(access, bytes)| (name(access), bytes)).collect();
        sum_up(&mut largest);
        Between { all: self.all, largest }
    }
}

impl<S: Ord + Copy> Between<S> {
    /// Adds what lay between for other reads, both named.
    pub fn merge(&mut self, mut other: Self) {
        self.all += other.all;
        if self.largest.is_empty() {
            self.largest = other.largest;
        } else if !other.largest.is_empty() {
            self.largest.append(&mut other.largest);
            sum_up(&mut self.largest);
        }
    }
}

/// Of entries with as many bytes, those of the lowest numbers stay. Changes the order.
fn keep_largest(list: &mut Vec<(u32, u64)>, most: usize) {
    if list.len() > most {
        list.select_nth_unstable_by_key(most, |(access, bytes)| (Reverse(*bytes), *access));
        list.truncate(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_that_touch_most_are_kept_however_many_there_are() {
        let (mut between, mut sums, mut all) = (Between::default(), Sums::default(), 0);
        for read in 0..300u32 {
            // A few accesses that touch much, among many that touch little and are others each time.
            for access in 0..5000 {
                let bytes = if access < 9 { 1000 * u64::from(access + 1) } else { 8 };
                sums.add(if access < 9 { access } else { access + read * 7 }, bytes);
                all += bytes;
            }
            between.add(&mut sums);
        }
        assert_eq!(between.all, all);
        let largest = between.named(|access| access).largest;
        assert!(largest.len() <= MOST, "{} are kept", largest.len());
        let expected: Vec<_> = (0..9).map(|access| (access, 300_000 * u64::from(access + 1))).collect();
        assert_eq!(largest[..9], expected);
    }

    #[test]
    fn few_accesses_are_all_kept() {
        let (mut between, mut sums) = (Between::default(), Sums::default());
        for _ in 0..100 {
            (0..100).for_each(|access| sums.add(access, 8));
            between.add(&mut sums);
        }
        assert_eq!(between.named(|access| access).largest, (0..100).map(|access| (access, 800)).collect::<Vec<_>>());
    }
}
