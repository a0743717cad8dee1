//! How a sample is drawn: what a program looks at while it runs, and what its analysis knows of that.
//!
//! Takes how much is wanted and a seed; gives the moments at which something changes and the buckets of lines that are
//! drawn. The hooks draw with this while the program runs, and the analysis draws the same once more, so that no word
//! of it need travel. Time is the number of loads and stores of a thread. Nothing here allocates or panics, and all of
//! it can be compiled into the hooks, which are linked with no other crate.

use core::ops::RangeInclusive;

/// Bytes of a line.
pub const LINE: u64 = 64;
/// Buckets of lines: those of one bucket are drawn together.
pub const BUCKETS: usize = 4096;
/// Sets of lines of one pace that take turns.
pub const SETS: usize = 8;
/// What one in how many may be drawn.
pub const RATES: RangeInclusive<u32> = 2..=256;

/// Analyses of one run for which a program writes enough down at once.
pub const STAGES: usize = 4;

/// One of the analyses of a run: the first ones are for short runs, and the last one is for all.
///
/// ```text
///   0 | one_in | _pad | until    |
/// ```
///
/// `01 00 00 00 | 00 00 00 00 | 40 42 0f 00 00 00 00 00`: an exact analysis of threads of up to 1,000,000 accesses.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// One in so many, as [`Design::one_in`]; 1: an exact analysis, which needs everything; 0: there is no such stage.
    pub one_in: u32,
    /// Unused.
    pub _pad: u32,
    /// Loads and stores of a thread with which it ends.
    pub until: u64,
}

/// What to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// One in so many: of the time by bursts, of the lines by quick sets in turn, by slow ones, and by the set for the
    /// whole run. One of [`RATES`].
    pub one_in: u32,
    /// Which sample.
    pub seed: u64,
    /// Accesses of a burst.
    pub burst: u64,
    /// Accesses until a quick set of lines is drawn anew.
    pub epoch: u64,
    /// Accesses until a slow one is.
    pub slow_epoch: u64,
}

/// Sets of lines that take turns are of two sorts, which know nothing of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// They see what comes again after a while.
    Quick,
    /// They see what comes again later.
    Slow,
}

impl Pace {
    /// Quicker ones first.
    pub const ALL: [Pace; 2] = [Pace::Quick, Pace::Slow];
}

impl Design {
    /// The usual times.
    #[must_use]
    #[inline]
    pub const fn new(one_in: u32, seed: u64) -> Self {
        Design { one_in, seed, burst: 1 << 14, epoch: 1 << 20, slow_epoch: 1 << 24 }
    }

    /// Reads of bytes that were touched at most so many accesses ago are left to bursts.
    #[must_use]
    #[inline]
    pub const fn short(self) -> u64 {
        self.burst / 2
    }

    /// Accesses until a set of a pace is drawn anew.
    #[must_use]
    #[inline]
    pub const fn epoch(self, pace: Pace) -> u64 {
        match pace {
            Pace::Quick => self.epoch,
            Pace::Slow => self.slow_epoch,
        }
    }

    /// Reads of bytes that were touched at most so many accesses ago, and that neither bursts nor quicker sets see, are
    /// left to sets of a pace.
    #[must_use]
    #[inline]
    pub const fn seen_by(self, pace: Pace) -> u64 {
        self.epoch(pace) / 2
    }

    /// Of a number, one in how many was asked for.
    #[inline]
    const fn part(self, of: usize) -> usize {
        match of.checked_div(self.one_in as usize) {
            Some(part) => part,
            None => of,
        }
    }

    /// Buckets of each set that takes turns.
    #[must_use]
    #[inline]
    pub fn turn_buckets(self) -> usize {
        self.part(BUCKETS / SETS).max(2)
    }

    /// Buckets of the set for the whole run.
    #[must_use]
    #[inline]
    pub fn fixed_buckets(self) -> usize {
        self.part(BUCKETS).max(2)
    }

    /// Accesses in which one burst begins.
    #[must_use]
    #[inline]
    pub fn period(self) -> u64 {
        self.burst.wrapping_mul(self.one_in as u64)
    }

    #[inline]
    fn draws(self, use_: u64) -> Draws {
        Draws::new(self.seed ^ mixed(use_))
    }

    /// Draws the set for the whole run: gives buckets to `take`, which says whether it did not have that one.
    #[inline]
    pub fn draw_fixed(self, take: impl FnMut(usize) -> bool) {
        self.draws(3).buckets(self.fixed_buckets(), take);
    }
}

/// The bucket of a line: the highest 12 bits of its product with [`HASH`]. Line 1 is in bucket 0x9e3.
#[must_use]
#[inline]
pub const fn bucket(line: u64) -> usize {
    (line.wrapping_mul(HASH) >> BUCKET_SHIFT) as usize
}

/// What a line is multiplied by to find its bucket.
pub const HASH: u64 = 0x9e37_79b9_7f4a_7c15;
/// The bits of the product that are left out.
pub const BUCKET_SHIFT: u32 = 52;

/// Numbers that look random (SplitMix64; Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Draws that a seed alone decides.
    #[must_use]
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Draws(mixed(seed))
    }

    /// One below `limit`.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(HASH);
        // The product's upper half: off by at most `limit` of 2^64.
        ((u128::from(mixed(self.0)) * u128::from(limit)) >> 64) as u64
    }

    /// Gives buckets to `take` until that has taken so many; it does not take those that are not free.
    #[inline]
    fn buckets(&mut self, count: usize, mut take: impl FnMut(usize) -> bool) {
        let mut taken = 0;
        while taken < count {
            taken += usize::from(take(self.below(BUCKETS as u64) as usize));
        }
    }
}

#[inline]
const fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// When bursts begin: one in each period, at a random moment of it.
#[derive(Clone, Debug)]
pub struct BurstTimes {
    draws: Draws,
    period: u64,
    /// When the next burst begins. The first ones may have begun before the run.
    pub next: i64,
    /// Its number.
    pub number: i64,
}

impl BurstTimes {
    /// Of a run that begins.
    #[must_use]
    #[inline]
    pub fn new(design: Design) -> Self {
        let mut times = BurstTimes { draws: design.draws(1), period: design.period(), next: 0, number: -2 };
        times.draw();
        times
    }

    /// Goes on to the next burst.
    #[inline]
    pub fn draw(&mut self) {
        self.number = self.number.wrapping_add(1);
        let within = self.draws.below(self.period);
        self.next = self.number.wrapping_mul(self.period as i64).wrapping_add(within as i64);
    }
}

/// When sets of lines are drawn anew, one after the other.
#[derive(Clone, Debug)]
pub struct TurnTimes {
    draws: Draws,
    buckets: usize,
    step: u64,
    /// That of its sets.
    pub pace: Pace,
    /// When the next set is drawn.
    pub next: u64,
    /// The number of the draw.
    pub number: usize,
}

impl TurnTimes {
    /// Of a run that begins; the first draws, one per set, come at once.
    #[must_use]
    #[inline]
    pub fn new(design: Design, pace: Pace) -> Self {
        let step = (design.epoch(pace) / SETS as u64).max(1);
        let use_ = match pace {
            Pace::Quick => 2,
            Pace::Slow => 4,
        };
        TurnTimes { draws: design.draws(use_), buckets: design.turn_buckets(), step, pace, next: step, number: 0 }
    }

    /// The set whose turn it is.
    #[must_use]
    #[inline]
    pub fn set(&self) -> usize {
        self.number % SETS
    }

    /// Draws the set whose turn it is, whose old buckets are free already: gives buckets to `take`, which says whether
    /// that one was free.
    #[inline]
    pub fn draw(&mut self, take: impl FnMut(usize) -> bool) {
        self.draws.buckets(self.buckets, take);
        self.number = self.number.wrapping_add(1);
    }

    /// Has the next set be drawn a step later.
    #[inline]
    pub fn advance(&mut self) {
        self.next = self.next.wrapping_add(self.step);
    }
}

/// Of what is always looked at whole: accesses that a range of so many bytes is.
#[must_use]
#[inline]
pub const fn blocks(bytes: u64) -> u64 {
    bytes.div_ceil(crate::record::COPY_BLOCK)
}
