//! Bytes by depth: a histogram with few buckets at first.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Merge;
use crate::{
    engine::Progression,
    histogram::{BUCKETS, bounds, bucket_of},
};

/// Bytes by depth bucket.
#[derive(Clone, Debug, Default)]
pub struct DepthCounts(Buckets);

/// Most sites file in few buckets, others in hundreds, and many in none: each has as much memory as it needs.
#[derive(Clone, Debug, Default)]
enum Buckets {
    #[default]
    None,
    Few(Box<Sparse<3>>),
    Some(Box<Sparse<10>>),
    Many(Box<Sparse<24>>),
    /// Indexed by bucket: faster than a longer list, and not much larger.
    Table(Box<[u64]>),
}

/// A sorted list whose place for a bucket is found by comparing with all keys at once: no branch depends on the depths.
#[derive(Clone, Debug)]
struct Sparse<const MOST: usize> {
    counts: [u64; MOST],
    /// Free places hold the largest key.
    keys: [u16; MOST],
    len: u16,
}

impl<const MOST: usize> Default for Sparse<MOST> {
    fn default() -> Self {
        Self { counts: [0; MOST], keys: [u16::MAX; MOST], len: 0 }
    }
}

impl<const MOST: usize> Sparse<MOST> {
    /// False if there is no room for a new bucket.
    #[inline]
    fn add(&mut self, bucket: u16, bytes: u64) -> bool {
        let at = usize::from(self.keys.iter().map(|key| u16::from(*key < bucket)).sum::<u16>());
        if at < MOST && self.keys[at] == bucket {
            self.counts[at] += bytes;
            return true;
        }
        let len = usize::from(self.len);
        if len == MOST {
            return false;
        }
        self.keys.copy_within(at..len, at + 1);
        self.counts.copy_within(at..len, at + 1);
        self.keys[at] = bucket;
        self.counts[at] = bytes;
        self.len += 1;
        true
    }

    fn list(&self) -> (&[u16], &[u64]) {
        let len = usize::from(self.len);
        (&self.keys[..len], &self.counts[..len])
    }
}

impl PartialEq for DepthCounts {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for DepthCounts {}

impl DepthCounts {
    /// Adds bytes to a bucket.
    #[inline(always)]
    pub fn add(&mut self, bucket: u16, bytes: u64) {
        match &mut self.0 {
            Buckets::Table(table) if usize::from(bucket) < table.len() => table[usize::from(bucket)] += bytes,
            _ => self.add_to_list(bucket, bytes),
        }
    }

    #[inline(never)]
    fn add_to_list(&mut self, bucket: u16, bytes: u64) {
        let had_room = match &mut self.0 {
            Buckets::None | Buckets::Table(_) => false,
            Buckets::Few(list) => list.add(bucket, bytes),
            Buckets::Some(list) => list.add(bucket, bytes),
            Buckets::Many(list) => list.add(bucket, bytes),
        };
        if !had_room {
            self.grow(bucket);
            self.add(bucket, bytes);
        }
    }

    /// Makes room for a bucket.
    fn grow(&mut self, bucket: u16) {
        let larger = match &self.0 {
            Buckets::None => Buckets::Few(Box::default()),
            Buckets::Few(_) => Buckets::Some(Box::default()),
            Buckets::Some(_) => Buckets::Many(Box::default()),
            Buckets::Many(_) | Buckets::Table(_) => {
                let last = self.iter().last().map_or(0, |(bucket, _)| bucket).max(bucket);
                Buckets::Table(vec![0; (usize::from(last) + 1).next_multiple_of(64)].into())
            }
        };
        let old = std::mem::replace(&mut self.0, larger);
        Self(old).iter().for_each(|(bucket, bytes)| self.add(bucket, bytes));
    }

    /// Adds the bytes at depths `above + 1 ..= above + len`, each to its bucket, a number of times.
    pub fn add_run(&mut self, above: u64, len: u64, times: u64) {
        let mut next = above + 1;
        let end = above + len;
        if len > 0 && bucket_of(next) == bucket_of(end) {
            return self.add(bucket_of(end), len * times);
        }
        while next <= end {
            let bucket = bucket_of(next);
            let last = bounds(bucket).1.min(end);
            self.add(bucket, (last - next + 1) * times);
            next = last + 1;
        }
    }

    /// Adds runs of bytes, by the bytes above each.
    pub fn add_row(&mut self, row: Progression) {
        let mut left = row;
        while left.count > 0 {
            let bucket = bucket_of(left.first + left.width);
            let (low, high) = bounds(bucket);
            if left.first + 1 < low {
                self.add_run(left.first, left.width, 1);
                left = left.skip(1);
                continue;
            }
            let room = if left.step < 0 { left.first + 1 - low } else { high - (left.first + left.width) };
            let alike = room.checked_div(left.step.unsigned_abs()).map_or(left.count, |more| left.count.min(more + 1));
            self.add(bucket, left.width * alike);
            left = left.skip(alike);
        }
    }

    /// (bucket, bytes) in order, without zeros.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let ((keys, counts), table): ((&[u16], &[u64]), &[u64]) = match &self.0 {
            Buckets::None => Default::default(),
            Buckets::Few(list) => (list.list(), &[]),
            Buckets::Some(list) => (list.list(), &[]),
            Buckets::Many(list) => (list.list(), &[]),
            Buckets::Table(table) => (Default::default(), table),
        };
        let table = table.iter().enumerate().map(|(bucket, bytes)| (bucket as u16, *bytes));
        keys.iter().copied().zip(counts.iter().copied()).chain(table).filter(|(_, bytes)| *bytes > 0)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(bucket, bytes)| self.add(bucket, bytes));
    }
}

impl Merge for DepthCounts {
    fn merge(&mut self, other: &Self) {
        Self::merge(self, other);
    }
}

/// As a list of (bucket, bytes).
impl Serialize for DepthCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.iter().collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'d> Deserialize<'d> for DepthCounts {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<(u16, u64)>::deserialize(deserializer)?;
        if !list.is_sorted_by(|a, b| a.0 < b.0) || list.last().is_some_and(|last| usize::from(last.0) >= BUCKETS) {
            return Err(D::Error::custom("buckets that are none, or out of order"));
        }
        let mut counts = Self::default();
        list.into_iter().for_each(|(bucket, bytes)| counts.add(bucket, bytes));
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However many buckets there are, and in whichever order they come.
        #[test]
        fn buckets_have_what_was_added(
            added in prop::collection::vec((prop_oneof![0..12u16, 0..40u16, 0..BUCKETS as u16], 1..1000u64), 0..200),
        ) {
            let (mut counts, mut expected) = (DepthCounts::default(), BTreeMap::<u16, u64>::new());
            for (bucket, bytes) in added {
                counts.add(bucket, bytes);
                *expected.entry(bucket).or_default() += bytes;
                prop_assert!(counts.iter().eq(expected.iter().map(|(bucket, bytes)| (*bucket, *bytes))));
            }
            let mut merged = counts.clone();
            merged.merge(&counts);
            prop_assert!(merged.iter().eq(expected.iter().map(|(bucket, bytes)| (*bucket, 2 * bytes))));
        }
    }

    #[test]
    fn few_buckets_take_little_memory() {
        assert_eq!([size_of::<DepthCounts>(), size_of::<Sparse<3>>(), size_of::<Sparse<24>>()], [24, 32, 248]);
    }

    proptest! {
        /// However long they are, whichever way they go, and wherever buckets begin and end.
        #[test]
        fn rows_are_their_runs(
            lowest in prop_oneof![0..300u64, 0..1u64 << 40],
            step in prop_oneof![-3..3i64, -300..300i64],
            count in 0..80u64,
            width in prop_oneof![1..10u64, 1..2000u64],
        ) {
            let first = lowest + if step < 0 { count * step.unsigned_abs() } else { 0 };
            let row = Progression { first, step, count, width };
            let (mut counts, mut expected) = (DepthCounts::default(), DepthCounts::default());
            counts.add_row(row);
            row.each().for_each(|above| expected.add_run(above, width, 1));
            prop_assert!(counts == expected);
        }
    }

    #[test]
    fn runs_have_each_byte_in_the_bucket_of_its_depth() {
        for (above, len) in [(0, 0), (0, 1), (0, 1000), (7, 9), (1000, 1), (123_456, 70_000)] {
            let (mut counts, mut expected) = (DepthCounts::default(), DepthCounts::default());
            counts.add_run(above, len, 3);
            (above + 1..=above + len).for_each(|depth| expected.add(bucket_of(depth), 3));
            assert_eq!(counts, expected, "{len} below {above}");
        }
    }

    #[test]
    fn counts_that_are_read_are_those_that_were_written_and_no_others() {
        let mut counts = DepthCounts::default();
        [(3, 5), (0, 1), (BUCKETS as u16 - 1, 7)].iter().for_each(|(bucket, bytes)| counts.add(*bucket, *bytes));
        let written = postcard::to_stdvec(&counts).expect("a few counts");
        assert_eq!(postcard::from_bytes::<DepthCounts>(&written), Ok(counts));
        let refused = |list: &[(u16, u64)]| {
            let list = postcard::to_stdvec(list).expect("a short list");
            postcard::from_bytes::<DepthCounts>(&list).is_err()
        };
        assert!(!refused(&[]) && !refused(&[(1, 1), (2, 1)]));
        assert!(refused(&[(2, 1), (1, 1)]) && refused(&[(1, 1), (1, 1)]), "out of order");
        assert!(refused(&[(BUCKETS as u16, 1)]), "there is no such bucket");
    }
}
