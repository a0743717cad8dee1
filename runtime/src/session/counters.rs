//! Counters of one (context, site) pair: bytes read by depth, and their price.
//!
//! A site usually finds the same depth again and again, so a counter remembers the last interval of depths that share both a
//! price and a histogram bucket; a read inside it only adds to one number.

use crate::{
    engine::DepthSink,
    histogram::{bounds, bucket_of},
    pricing::{root, run_cost},
};

/// Bytes by depth bucket.
#[derive(Clone, Debug, Default)]
pub struct DepthCounts {
    /// Sorted by bucket while small.
    sparse: Vec<(u16, u64)>,
    /// Indexed by bucket, once there are many.
    dense: Vec<u64>,
}

/// Above this many buckets a table is faster and not much larger.
const SPARSE_MAX: usize = 24;

impl DepthCounts {
    pub fn add(&mut self, bucket: u16, bytes: u64) {
        if !self.dense.is_empty() {
            self.add_dense(bucket, bytes);
            return;
        }
        match self.sparse.binary_search_by_key(&bucket, |e| e.0) {
            Ok(at) => self.sparse[at].1 += bytes,
            Err(at) if self.sparse.len() < SPARSE_MAX => self.sparse.insert(at, (bucket, bytes)),
            Err(_) => {
                for (b, n) in std::mem::take(&mut self.sparse) {
                    self.add_dense(b, n);
                }
                self.add_dense(bucket, bytes);
            }
        }
    }

    fn add_dense(&mut self, bucket: u16, bytes: u64) {
        let at = usize::from(bucket);
        if self.dense.len() <= at {
            self.dense.resize((at + 1).next_multiple_of(64), 0);
        }
        self.dense[at] += bytes;
    }

    /// Adds the bytes at depths `above + 1 ..= above + len`, each to its bucket.
    fn add_run(&mut self, above: u64, len: u64) {
        let mut next = above + 1;
        let end = above + len;
        while next <= end {
            let bucket = bucket_of(next);
            let last = bounds(bucket).1.min(end);
            self.add(bucket, last - next + 1);
            next = last + 1;
        }
    }

    /// (bucket, bytes) in order, without zeros.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let dense = self.dense.iter().enumerate().map(|(b, n)| (b as u16, *n));
        self.sparse.iter().copied().chain(dense).filter(|(_, n)| *n > 0)
    }

    pub fn merge(&mut self, other: &Self) {
        for (bucket, bytes) in other.iter() {
            self.add(bucket, bytes);
        }
    }
}

/// What one site did in one context.
#[derive(Clone, Debug, Default)]
pub struct CellCounters {
    /// Depths `low + 1 ..= high` cost `price` and lie in `bucket`; `pending` bytes were found there and not yet filed.
    low: u64,
    high: u64,
    price: u64,
    pending: u64,
    bucket: u16,
    pub executions: u64,
    pub written: u64,
    pub cold: u64,
    pub cost: u128,
    pub depths: DepthCounts,
}

impl CellCounters {
    #[inline]
    fn read(&mut self, above: u64, len: u64) {
        if above >= self.low && above + len <= self.high {
            self.pending += len;
        } else {
            self.read_elsewhere(above, len);
        }
    }

    #[inline(never)]
    fn read_elsewhere(&mut self, above: u64, len: u64) {
        self.flush();
        let depth = above + 1;
        let price = root(depth);
        let bucket = bucket_of(depth);
        let (first, last) = bounds(bucket);
        self.low = ((price - 1) * (price - 1)).max(first - 1);
        self.high = price.saturating_mul(price).min(last);
        self.price = price;
        self.bucket = bucket;
        if above + len <= self.high {
            self.pending = len;
        } else {
            self.cost += run_cost(above, len);
            self.depths.add_run(above, len);
        }
    }

    /// Files what is pending; call before reading `cost` or `depths`.
    pub fn flush(&mut self) {
        if self.pending > 0 {
            self.cost += u128::from(self.pending) * u128::from(self.price);
            self.depths.add(self.bucket, self.pending);
            self.pending = 0;
        }
    }

    pub fn merge(&mut self, other: &mut Self) {
        self.flush();
        other.flush();
        self.executions += other.executions;
        self.written += other.written;
        self.cold += other.cold;
        self.cost += other.cost;
        self.depths.merge(&other.depths);
    }

    /// Whether nothing was counted since the start.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.executions == 0 && self.written == 0 && self.cost == 0 && self.pending == 0
    }
}

/// Files what a load found under one cell.
pub struct CellSink<'a> {
    pub cell: &'a mut CellCounters,
    /// Depths of first touches, for the whole thread.
    pub cold: &'a mut DepthCounts,
}

impl DepthSink for CellSink<'_> {
    #[inline]
    fn warm(&mut self, above: u64, len: u64) {
        self.cell.read(above, len);
    }

    fn cold(&mut self, above: u64, len: u64) {
        self.cell.cold += len;
        self.cold.add_run(above, len);
        self.cell.read(above, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_intervals_price_exactly_like_the_formula() {
        let mut cell = CellCounters::default();
        let mut expected = 0u128;
        let mut seed = 7u64;
        for _ in 0..200_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let above = (seed >> 33) % (1 << (1 + (seed >> 20) % 24));
            let len = 1 + (seed >> 7) % 64;
            cell.read(above, len);
            expected += run_cost(above, len);
        }
        cell.flush();
        assert_eq!(cell.cost, expected);
    }

    #[test]
    fn every_byte_is_in_the_bucket_of_its_depth() {
        let mut cell = CellCounters::default();
        let mut expected = std::collections::BTreeMap::new();
        for step in 0..3000u64 {
            let (above, len) = (step * step % 9973, 1 + step % 70);
            cell.read(above, len);
            for depth in above + 1..=above + len {
                *expected.entry(bucket_of(depth)).or_insert(0u64) += 1;
            }
        }
        cell.flush();
        assert_eq!(cell.depths.iter().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
    }
}
