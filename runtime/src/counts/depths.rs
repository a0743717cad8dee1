//! Bytes by depth: a histogram with few buckets at first.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Merge;
use crate::{
    engine::Progression,
    histogram::{BUCKETS, bounds, bucket_of},
};

/// Bytes by depth bucket.
#[derive(Clone, Debug, Default)]
pub struct DepthCounts {
    /// While there are few buckets. Boxed, because many sites file nothing for long.
    sparse: Option<Box<SparseBuckets>>,
    /// Indexed by bucket, once there are many.
    dense: Vec<u64>,
}

/// Buckets kept in a list. Above this many, a table is faster and not much larger.
const MOST_SPARSE: usize = 24;

/// A sorted list whose place for a bucket is found by comparing with all keys at once: no branch depends on the depths.
#[derive(Clone, Debug)]
struct SparseBuckets {
    /// Free places hold the largest key.
    keys: [u16; MOST_SPARSE],
    counts: [u64; MOST_SPARSE],
    len: usize,
}

impl Default for SparseBuckets {
    fn default() -> Self {
        Self { keys: [u16::MAX; MOST_SPARSE], counts: [0; MOST_SPARSE], len: 0 }
    }
}

impl SparseBuckets {
    /// False if there is no room for a new bucket.
    #[inline]
    fn add(&mut self, bucket: u16, bytes: u64) -> bool {
        let at = usize::from(self.keys.iter().map(|key| u16::from(*key < bucket)).sum::<u16>());
        if at < MOST_SPARSE && self.keys[at] == bucket {
            self.counts[at] += bytes;
            return true;
        }
        if self.len == MOST_SPARSE {
            return false;
        }
        self.keys.copy_within(at..self.len, at + 1);
        self.counts.copy_within(at..self.len, at + 1);
        self.keys[at] = bucket;
        self.counts[at] = bytes;
        self.len += 1;
        true
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
        match self.dense.get_mut(usize::from(bucket)) {
            Some(count) => *count += bytes,
            None => self.add_elsewhere(bucket, bytes),
        }
    }

    #[inline(never)]
    fn add_elsewhere(&mut self, bucket: u16, bytes: u64) {
        if self.dense.is_empty() {
            if self.sparse.get_or_insert_default().add(bucket, bytes) {
                return;
            }
            let sparse = self.sparse.take().unwrap_or_default();
            for (bucket, bytes) in sparse.keys.into_iter().zip(sparse.counts) {
                self.add_dense(bucket, bytes);
            }
        }
        self.add_dense(bucket, bytes);
    }

    fn add_dense(&mut self, bucket: u16, bytes: u64) {
        let at = usize::from(bucket);
        if self.dense.len() <= at {
            self.dense.resize((at + 1).next_multiple_of(64), 0);
        }
        self.dense[at] += bytes;
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
        let dense = self.dense.iter().enumerate().map(|(b, n)| (b as u16, *n));
        let sparse = self.sparse.iter().flat_map(|sparse| sparse.keys.into_iter().zip(sparse.counts).take(sparse.len));
        sparse.chain(dense).filter(|(_, n)| *n > 0)
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
