//! How much is drawn, and the draws: the same for the same seed.

use std::ops::RangeInclusive;

/// Buckets of lines: those of one bucket are drawn together.
pub const BUCKETS: usize = 4096;
/// Sets of lines that take turns.
pub const SETS: usize = 8;
/// What one in how many may be drawn.
pub const RATES: RangeInclusive<u32> = 2..=256;

/// What to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// One in so many: of the time by bursts, of the lines by sets in turn, and of the lines by the set for the whole
    /// run. One of [`RATES`].
    pub one_in: u32,
    /// Which sample.
    pub seed: u64,
    /// Accesses of a burst.
    pub burst: u64,
    /// Accesses until a set of lines is drawn anew.
    pub epoch: u64,
}

impl Design {
    /// The usual times.
    #[must_use]
    pub fn new(one_in: u32, seed: u64) -> Self {
        Design { one_in, seed, burst: 1 << 14, epoch: 1 << 20 }
    }

    /// Reads of bytes that were touched at most so many accesses ago are left to bursts.
    pub(super) fn short(self) -> u64 {
        self.burst / 2
    }

    /// Reads of bytes that were touched at most so many accesses ago, and that are not short, are left to sets in turn.
    pub(super) fn middle(self) -> u64 {
        self.epoch / 2
    }

    /// Buckets of each set that takes turns.
    pub(super) fn turn_buckets(self) -> usize {
        (BUCKETS / SETS / self.one_in as usize).max(2)
    }

    /// Buckets of the set for the whole run.
    pub(super) fn fixed_buckets(self) -> usize {
        BUCKETS / self.one_in as usize
    }

    /// Accesses in which one burst begins.
    pub(super) fn period(self) -> u64 {
        self.burst * u64::from(self.one_in)
    }

    /// Numbers for one use.
    pub(super) fn draws(self, use_: u64) -> Draws {
        Draws::new(self.seed ^ mixed(use_))
    }
}

/// The bucket of a line.
#[inline(always)]
pub fn bucket(line: u64) -> usize {
    (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
}

/// Numbers that look random (SplitMix64; Steele, Lea and Flood, 2014).
pub struct Draws(u64);

impl Draws {
    /// The same for the same seed.
    pub fn new(seed: u64) -> Self {
        Draws(mixed(seed))
    }

    /// One below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // The product's upper half: off by at most `limit` of 2^64.
        ((u128::from(mixed(self.0)) * u128::from(limit)) >> 64) as u64
    }

    /// So many different buckets of those that are free.
    pub fn buckets(&mut self, count: usize, is_free: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            let bucket = self.below(BUCKETS as u64) as usize;
            if is_free(bucket) && !drawn.contains(&bucket) {
                drawn.push(bucket);
            }
        }
        drawn
    }
}

fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
