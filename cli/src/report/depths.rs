//! A histogram that can be added to and asked: reads deeper than a capacity, traffic at it, percentiles, powers of two,
//! bounds of the cost.
//!
//! Buckets are those of [`dmdprof_runtime::histogram`]: exact up to depth 32 and at every capacity `s * 2^k` with
//! `32 <= s < 64`; elsewhere a value is known up to 1/32.

use std::iter;

use dmdprof_runtime::histogram::{self, bounds};

use crate::profile::model::{Counts, Histogram, Merge};

/// Bytes (or lines) read, by depth and by capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    depths: Vec<u64>,
    /// `None`: the same as `depths`.
    capacities: Option<Vec<u64>>,
}

/// Reads with depth in `(capacity / 2, capacity]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Octave {
    pub capacity: u64,
    pub reads: u64,
}

/// Depths that half, nine tenths, ... of all reads do not exceed. Each is the upper end of the bucket that holds the
/// true value: exact up to 32, at most 1/32 too large above; and never more than was live at once. All zero without
/// reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
}

impl Depths {
    #[must_use]
    pub fn new(histogram: &Histogram) -> Self {
        let mut depths = Depths::default();
        depths.add(histogram);
        depths
    }

    /// The bucket, from its smallest to its largest depth, that half of the bytes do not lie beyond.
    #[must_use]
    pub fn middle(&self) -> (u64, u64) {
        self.middle_beyond(0).unwrap_or((0, 0))
    }

    /// The bucket, from its smallest to its largest depth, that half of the bytes beyond a depth do not lie beyond.
    #[must_use]
    pub fn middle_beyond(&self, beyond: u64) -> Option<(u64, u64)> {
        let far = || self.buckets().filter(|(low, ..)| *low > beyond);
        let half = far().map(|(.., bytes)| bytes).sum::<u64>() / 2;
        let mut passed = 0;
        let reached = |(low, high, bytes): (u64, u64, u64)| {
            passed += bytes;
            (passed > half).then_some((low, high))
        };
        far().find_map(reached)
    }

    pub fn add(&mut self, histogram: &Histogram) {
        let of = |counts: &Counts| counts.iter().map(|(bucket, reads)| (usize::from(*bucket), *reads)).collect();
        self.add_counts(of(&histogram.depths), histogram.capacities.as_ref().map(of));
    }

    pub fn merge(&mut self, other: &Depths) {
        let of = |counts: &Vec<u64>| counts.iter().copied().enumerate().collect();
        self.add_counts(of(&other.depths), other.capacities.as_ref().map(of));
    }

    fn add_counts(&mut self, depths: Vec<(usize, u64)>, capacities: Option<Vec<(usize, u64)>>) {
        if capacities.is_some() && self.capacities.is_none() {
            self.capacities = Some(self.depths.clone());
        }
        if let Some(mine) = &mut self.capacities {
            add_all(mine, capacities.as_ref().unwrap_or(&depths));
        }
        add_all(&mut self.depths, &depths);
    }

    /// Whether anything died above bytes that were read, and left its place.
    #[must_use]
    pub fn has_holes(&self) -> bool {
        self.capacities.as_ref().is_some_and(|capacities| *capacities != self.depths)
    }

    /// These reads, by capacity in place of depth.
    #[must_use]
    pub fn by_capacity(&self) -> Depths {
        Depths { depths: self.capacities.as_ref().unwrap_or(&self.depths).clone(), capacities: None }
    }

    /// (smallest depth, largest depth, reads) of each bucket that is not empty.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> + '_ {
        buckets(&self.depths)
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.depths.iter().sum()
    }

    /// Reads deeper than Z: at depth > `capacity`. A bucket that spans the capacity counts as not exceeding it.
    #[must_use]
    pub fn beyond(&self, capacity: u64) -> u64 {
        beyond(&self.depths, capacity)
    }

    /// Traffic at Z: reads of what a memory of `capacity` bytes with LRU replacement does not hold any more, in which
    /// a death frees its place and nothing rises. The same as [`Self::beyond`] where capacities are not known.
    #[must_use]
    pub fn traffic(&self, capacity: u64) -> u64 {
        beyond(self.capacities.as_ref().unwrap_or(&self.depths), capacity)
    }

    /// Sum of ceil(sqrt(depth)) over all reads, as far as the buckets tell: least and most.
    ///
    /// By ByteDMD = sum over k >= 0 of the reads deeper than k^2 the true cost lies between.
    #[must_use]
    pub fn cost_bounds(&self) -> (u128, u128) {
        let price = |depth: u64| u128::from((depth - 1).isqrt() + 1);
        self.buckets().fold((0, 0), |(least, most), (low, high, reads)| {
            let reads = u128::from(reads);
            (least + price(low) * reads, most + price(high) * reads)
        })
    }

    /// Every power of two from the first to the last that holds reads.
    #[must_use]
    pub fn octaves(&self) -> Vec<Octave> {
        let mut octaves: Vec<Octave> = Vec::new();
        for (_, high, reads) in self.buckets() {
            let capacity = high.checked_next_power_of_two().unwrap_or(u64::MAX);
            if let Some(first) = octaves.last().map(|o| o.capacity) {
                let empty = iter::successors(first.checked_mul(2), |c| c.checked_mul(2)).take_while(|c| *c <= capacity);
                octaves.extend(empty.map(|capacity| Octave { capacity, reads: 0 }));
            }
            match octaves.last_mut() {
                Some(last) if last.capacity == capacity => last.reads += reads,
                _ => octaves.push(Octave { capacity, reads }),
            }
        }
        octaves
    }
}

impl Merge for Depths {
    fn merge(&mut self, other: &Self) {
        Self::merge(self, other);
    }
}

impl Merge<Histogram> for Depths {
    fn merge(&mut self, other: &Histogram) {
        self.add(other);
    }
}

fn add_all(mine: &mut Vec<u64>, more: &[(usize, u64)]) {
    for (bucket, reads) in more.iter().filter(|(_, reads)| *reads > 0) {
        if *bucket >= mine.len() {
            mine.resize(bucket + 1, 0);
        }
        mine[*bucket] += reads;
    }
}

fn buckets(counts: &[u64]) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> + '_ {
    counts.iter().enumerate().filter(|(_, reads)| **reads > 0).map(|(bucket, reads)| {
        let (low, high) = bounds(bucket as u16);
        (low, high, *reads)
    })
}

fn beyond(counts: &[u64], capacity: u64) -> u64 {
    buckets(counts).rev().take_while(|(low, ..)| *low > capacity).map(|(.., reads)| reads).sum()
}

/// Computes [`Quantiles`].
pub struct QuantileReader {
    /// Kept for its memory: each [`Self::read`] empties and fills it, and nobody else reads it.
    histogram: hdrhistogram::Histogram<u64>,
    /// No depth is larger.
    peak_live: u64,
}

/// Largest depth that the quantile histogram tells apart; far beyond any address space.
const LARGEST: u64 = 1 << 62;

impl QuantileReader {
    /// For depths of a run in which so many bytes (or lines) were live at most.
    #[must_use]
    pub fn new(peak_live: u64) -> Self {
        // Two digits: steps of 1/128, finer than the buckets.
        let histogram = hdrhistogram::Histogram::new_with_max(LARGEST, 2).expect("the bounds are valid");
        QuantileReader { histogram, peak_live }
    }

    pub fn read(&mut self, depths: &Depths) -> Quantiles {
        self.histogram.reset();
        let mut max = 0;
        for (low, high, reads) in depths.buckets() {
            self.histogram.saturating_record_n(low.min(LARGEST), reads);
            max = high.min(self.peak_live.max(low));
        }
        if max == 0 {
            return Quantiles::default();
        }
        let at = |quantile| bounds(histogram::bucket_of(self.histogram.value_at_quantile(quantile).max(1))).1.min(max);
        Quantiles { p50: at(0.5), p90: at(0.9), p99: at(0.99), max }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn depths(reads: &[(u64, u64)]) -> Depths {
        let mut map = BTreeMap::new();
        for (depth, n) in reads {
            *map.entry(histogram::bucket_of(*depth)).or_insert(0) += n;
        }
        let mut depths = Depths::default();
        depths.add(&Histogram::from_depths(map.into_iter().collect()));
        depths
    }

    #[test]
    fn one_read_at_a_known_depth_is_found_there() {
        let d = depths(&[(20_000, 1)]);
        assert_eq!(d.beyond(16 << 10), 1);
        assert_eq!(d.beyond(20 << 10), 0);
        assert_eq!(d.octaves(), [Octave { capacity: 32 << 10, reads: 1 }]);
        let q = QuantileReader::new(u64::MAX).read(&d);
        assert!(q.p50 >= 20_000 && q.p50 <= 20_000 + 20_000 / 32, "{q:?}");
        assert_eq!((q.p50, q.p50), (q.p99, q.max));
    }

    #[test]
    fn no_reads() {
        let d = Depths::default();
        assert_eq!(QuantileReader::new(u64::MAX).read(&d), Quantiles::default());
        assert!(d.octaves().is_empty());
        assert_eq!((d.total(), d.beyond(0), d.cost_bounds()), (0, 0, (0, 0)));
    }

    #[test]
    fn the_largest_depths_do_not_overflow() {
        let d = depths(&[(u64::MAX, 1), (1, 1)]);
        let q = QuantileReader::new(u64::MAX).read(&d);
        assert_eq!((q.p50, q.max), (1, u64::MAX));
        assert_eq!(d.octaves().last().unwrap().reads, 1);
        assert_eq!(d.octaves().iter().map(|o| o.reads).sum::<u64>(), 2);
    }

    proptest! {
        #[test]
        fn agrees_with_counting(reads in prop::collection::vec((1u64..1 << 40, 1u64..1000), 1..40)) {
            let d = depths(&reads);
            let total: u64 = reads.iter().map(|r| r.1).sum();
            prop_assert_eq!(d.total(), total);

            let octaves = d.octaves();
            prop_assert_eq!(octaves.iter().map(|o| o.reads).sum::<u64>(), total);
            for o in &octaves {
                let inside = reads.iter().filter(|r| r.0 > o.capacity / 2 && r.0 <= o.capacity).map(|r| r.1).sum::<u64>();
                prop_assert_eq!(o.reads, inside);
                let beyond = reads.iter().filter(|r| r.0 > o.capacity).map(|r| r.1).sum::<u64>();
                prop_assert_eq!(d.beyond(o.capacity), beyond);
            }

            let cost: u128 = reads.iter().map(|(depth, n)| u128::from((depth - 1).isqrt() + 1) * u128::from(*n)).sum();
            let (least, most) = d.cost_bounds();
            prop_assert!(least <= cost && cost <= most);

            let mut sorted = reads.clone();
            sorted.sort_unstable();
            let exact = |q: f64| {
                let rank = (q * total as f64).ceil() as u64;
                let mut seen = 0;
                sorted.iter().find(|r| { seen += r.1; seen >= rank }).unwrap().0
            };
            let q = QuantileReader::new(u64::MAX).read(&d);
            for (shown, truth) in [(q.p50, exact(0.5)), (q.p90, exact(0.9)), (q.p99, exact(0.99)), (q.max, exact(1.0))] {
                prop_assert!(shown >= truth && shown - truth <= truth / 32, "{} for {}", shown, truth);
            }
        }
    }
}
