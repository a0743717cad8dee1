//! Counters of one (context, site) pair: bytes read by depth, and their price.
//!
//! The first reads are priced and filed one by one in a short list. A cell that goes on gets a row of entries, to which
//! reads are added without a branch; [`Many`](super::many::Many) prices them.

use std::ops::{Deref, DerefMut};

use super::{
    Merge,
    caches::ByLevel,
    depths::DepthCounts,
    least::ByCapacity,
    lines::LineCounts,
    many::Priced,
    row::{MOST, Row},
    sampled::SampleCounts,
};
use crate::{
    engine::Progression,
    histogram::{bounds, bucket_of},
    pricing::{root, run_cost},
};

/// Short reads that a cell files before it gets a row, which takes 4 KiB.
const FEW: u32 = 256;

/// Reads of a row that are worth pricing together.
const LEAST_ALIKE: u64 = 4;

super::counted! {
    /// What one site did in one context: every metric that is known by site. What not every run measures is not in its
    /// serialised form: profiles have a column of each, as `cli/src/profile/sections.rs` says.
    pub struct CellCounts<Held = DepthCounts> {
        /// Executions.
        pub executions: u64,
        /// Bytes written.
        pub written: u64,
        /// Bytes read that were not on the stack.
        pub cold: u64,
        /// Executions on one longest chain of dependent instructions (values model).
        pub span: u64,
        /// Sum of ceil(sqrt(depth)) over the bytes that it read.
        pub cost: u128,
        /// Bytes read, by depth.
        pub depths: Held,
        /// With exact liveness; `cost` and `depths` are then those without dead bytes.
        #[serde(skip)]
        pub dead: Option<Box<Dead>>,
        /// With stacks of lines, by size of lines.
        #[serde(skip)]
        pub lines: Option<Box<[LineCounts<Held>]>>,
        /// With caches of sets and ways, by level.
        #[serde(skip)]
        pub caches: Option<ByLevel>,
        /// Accesses that were hazards, by kind; none of cells without them.
        #[serde(skip)]
        pub hazards: Option<Box<[u64]>>,
        /// With memories that fetch the least possible, by capacity.
        #[serde(skip)]
        pub least: Option<ByCapacity>,
        /// Beside a stack that threads share, if that was asked for.
        #[serde(skip)]
        pub alone: Option<Box<Alone<Held>>>,
    }
}

/// A cell while it is counted.
#[derive(Clone, Debug, Default)]
pub struct CellCounters {
    /// Short reads since the last time that `depths` held them all.
    short: u32,
    row: Option<Row>,
    counts: CellCounts,
    /// Those of the bytes read that were below free places.
    pub below_holes: Option<Box<BelowHoles>>,
    /// Those of the bytes read that were below free places on the stack of the thread alone.
    pub below_alone: Option<Box<BelowHoles>>,
    /// With a sample; `cost` and `depths` are then of the reads only that need none.
    pub sampled: Option<Box<SampleCounts>>,
}

impl Deref for CellCounters {
    type Target = CellCounts;

    #[inline(always)]
    fn deref(&self) -> &CellCounts {
        &self.counts
    }
}

impl DerefMut for CellCounters {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut CellCounts {
        &mut self.counts
    }
}

super::counted! {
    /// What a site found on the stack of its own thread, beside one that threads share.
    pub struct Alone<Held = DepthCounts> {
        /// Bytes read that were not on that stack.
        pub cold: u64,
        /// Sum of ceil(sqrt(depth)) over the bytes that it read.
        pub cost: u128,
        /// Bytes read, by depth.
        pub depths: Held,
        /// With stacks of lines, by size of lines.
        pub lines: Option<Box<[LineCounts<Held>]>>,
    }
}

super::counted! {
    /// Bytes read that were below free places: bytes had died there, and nothing had come in their place.
    pub struct BelowHoles {
        /// By depth, which counts live bytes only.
        pub depths: DepthCounts,
        /// By capacity: live bytes and free places above them, and themselves.
        pub capacities: DepthCounts,
    }
}

/// Bytes read by the fewest bytes that a memory with LRU replacement must have to still hold them, where they are known
/// by depth.
#[must_use]
pub fn capacities(depths: &DepthCounts, below_holes: Option<&BelowHoles>) -> DepthCounts {
    let Some(below) = below_holes else { return depths.clone() };
    let (mut all, mut less) = (below.capacities.clone(), below.depths.iter().peekable());
    for (bucket, bytes) in depths.iter() {
        let below = less.next_if(|(other, _)| *other == bucket).map_or(0, |(_, bytes)| bytes);
        all.add(bucket, bytes - below);
    }
    all
}

/// Lines of one of several sizes that were followed beside the engine go to their cells; `of` has the number of the
/// size, and how many there are.
pub(crate) fn file_lines(cells: &mut [CellCounters], lines: Vec<Option<Box<LineCounts>>>, of: (usize, usize)) {
    let (number, sizes) = of;
    for (cell, counts) in cells.iter_mut().zip(lines) {
        let Some(counts) = counts else { continue };
        let all = cell.lines.get_or_insert_with(|| vec![LineCounts::default(); sizes].into());
        if all[number] == LineCounts::default() {
            all[number] = *counts;
        } else {
            all[number].merge(&counts);
        }
    }
}

super::counted! {
    /// Bytes that a cell left behind although nobody read them again.
    #[derive(Copy)]
    pub struct Left {
        /// It wrote them, and nobody ever read them.
        pub unread: u64,
        /// It was the last to read them.
        pub last_read: u64,
    }
}

super::counted! {
    /// What dead bytes are about.
    #[derive(Copy)]
    pub struct Dead {
        /// What reads cost more with dead bytes on the stack until the program gives them up.
        pub cost: u128,
        /// What the site left behind.
        pub left: Left,
    }
}

impl<Held> CellCounts<Held> {
    /// The cost with dead bytes on the stack until the program gives them up.
    #[must_use]
    pub fn hints_cost(&self) -> u128 {
        self.cost + self.dead.as_ref().map_or(0, |dead| dead.cost)
    }
}

impl CellCounters {
    /// Counts a read of `len` bytes right below `above` live ones.
    #[inline]
    pub fn read(&mut self, above: u64, len: u64) {
        self.read_times(above, len, 1);
    }

    /// Counts a number of reads of `len` bytes right below `above` live ones.
    pub fn read_times(&mut self, above: u64, len: u64, times: u64) {
        // Neither factor exceeds 64 bits for runs that a site can find.
        let cost = run_cost(above, len);
        self.counts.cost += match u64::try_from(cost) {
            Ok(cost) => u128::from(cost) * u128::from(times),
            Err(_) => cost * u128::from(times),
        };
        self.depths.add_run(above, len, times);
    }

    /// Reads that are counted elsewhere, by the bytes above each, were below so many free places as well.
    #[inline(never)]
    pub fn below_holes(&mut self, row: Progression, holes: u64) {
        let below = self.below_holes.get_or_insert_default();
        below.depths.add_row(row);
        below.capacities.add_row(Progression { first: row.first + holes, ..row });
    }

    /// Bytes read, by the fewest bytes that a memory must have to still hold them.
    #[must_use]
    pub fn capacities(&self) -> DepthCounts {
        capacities(&self.depths, self.below_holes.as_deref())
    }

    /// Counts a short read.
    #[inline(always)]
    pub fn read_priced(&mut self, read: Priced) {
        self.cost += u128::from(read.price);
        self.short += 1;
        match &mut self.row {
            Some(row) if self.short < MOST => row.add(read.add),
            _ => self.read_seldom(read),
        }
    }

    #[inline(never)]
    fn read_seldom(&mut self, read: Priced) {
        self.depths.add_run(read.above, read.bytes, 1);
        if self.short > FEW {
            self.row.get_or_insert_default().drain(&mut self.counts.depths);
            self.short = 0;
        }
    }

    /// Counts reads, given by the bytes above each.
    #[inline]
    pub fn read_row(&mut self, row: Progression) {
        if row.step == 0 {
            return self.read_times(row.first, row.width, row.count);
        }
        let mut left = row;
        while left.count > 0 {
            let Some(alike) = alike(left) else {
                self.read(left.first, left.width);
                left = left.skip(1);
                continue;
            };
            let bytes = left.width * alike.times;
            self.cost += u128::from(alike.price) * u128::from(bytes);
            self.depths.add(alike.bucket, bytes);
            left = left.skip(alike.times);
        }
    }

    /// Files everything; call before reading `depths`.
    pub fn flush(&mut self) {
        if let Some(mut row) = self.row.take() {
            row.drain(&mut self.counts.depths);
        }
        self.short = 0;
    }

    /// Puts the results without dead bytes in the place of those with them. Both must be flushed.
    pub fn replace(&mut self, exact: Self, left: Left) {
        debug_assert!(exact.cold == self.cold && exact.cost <= self.cost, "the same reads, no deeper");
        self.dead = Some(Box::new(Dead { cost: self.cost - exact.cost, left }));
        self.cost = exact.cost;
        (self.counts.depths, self.below_holes) = (exact.counts.depths, exact.below_holes);
    }

    /// Forgets what was found of reads.
    pub fn forget_reads(&mut self) {
        (self.short, self.row, self.below_holes) = (0, None, None);
        let counts = &mut self.counts;
        (counts.cold, counts.cost, counts.depths) = (0, 0, DepthCounts::default());
    }

    /// What was found so far is that of the thread's own stack; another one's comes in its place.
    pub fn set_aside(&mut self) {
        self.flush();
        let counts = &mut self.counts;
        let (cold, cost) = (std::mem::take(&mut counts.cold), std::mem::take(&mut counts.cost));
        let (depths, lines) = (std::mem::take(&mut counts.depths), counts.lines.take());
        let below_holes = self.below_holes.take();
        if cost > 0 || lines.is_some() {
            counts.alone = Some(Box::new(Alone { cold, cost, depths, lines }));
            self.below_alone = below_holes;
        }
    }

    /// The thread's own stack is the one that was counted.
    pub fn is_alone(&mut self) {
        self.flush();
        let CellCounts { cold, cost, depths, lines, .. } = &self.counts;
        if *cost > 0 || lines.is_some() {
            let (depths, lines) = (depths.clone(), lines.clone());
            self.counts.alone = Some(Box::new(Alone { cold: *cold, cost: *cost, depths, lines }));
            self.below_alone.clone_from(&self.below_holes);
        }
    }

    /// Adds the counts of `other`, whose pending reads are added up first.
    pub fn merge(&mut self, other: &mut Self) {
        self.flush();
        other.flush();
        self.counts.merge(&other.counts);
        self.below_holes.merge(&other.below_holes);
        self.below_alone.merge(&other.below_alone);
        self.sampled.merge(&other.sampled);
    }
}

/// Reads whose bytes all have one price and one bucket.
struct Alike {
    times: u64,
    price: u64,
    bucket: u16,
}

/// The reads of a row, from its first on, that are alike; nothing if they are too few.
#[inline]
fn alike(row: Progression) -> Option<Alike> {
    let (low, high, wide) = (row.first + 1, row.first + row.width, row.step.unsigned_abs().max(1));
    if high > 1 << 50 {
        return None;
    }
    let price = root(high);
    // So many depths have this price.
    if 2 * price < LEAST_ALIKE * wide {
        return None;
    }
    let bucket = bucket_of(high);
    let (first, last) = bounds(bucket);
    let (first, last) = (first.max((price - 1) * (price - 1) + 1), last.min(price * price));
    if low < first {
        return None;
    }
    let room = if row.step < 0 { low - first } else { last - high };
    let times = row.count.min(1 + room / wide);
    (times >= LEAST_ALIKE).then_some(Alike { times, price, bucket })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{abi::sample::Draws, counts::many::Many};

    #[test]
    fn short_reads_are_counted_alike_in_lists_and_rows() {
        let (mut cell, mut expected) = (CellCounters::default(), CellCounters::default());
        let mut many = Many::default();
        let mut seed = 7u64;
        for step in 0..200_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (above, len) = ((seed >> 33) % (1 << (1 + (seed >> 20) % 30)), 1 + (seed >> 7) % 8);
            expected.read(above, len);
            if !many.push(0, above, len) {
                many.each(|_, read| cell.read_priced(read));
            }
            // As if there had been as many reads as fit, twice.
            if step % 70_000 == 69_999 {
                cell.short = MOST - 300;
            }
        }
        many.each(|_, read| cell.read_priced(read));
        assert!(cell.row.is_some() && cell.short < 100_000);
        cell.flush();
        assert_eq!(cell.cost, expected.cost);
        assert!(cell.depths.iter().eq(expected.depths.iter()));
    }

    #[test]
    fn rows_are_their_reads() {
        let mut seed = 11u64;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (above, len, times) =
                ((seed >> 33) % (1 << (1 + (seed >> 20) % 30)), 1 << ((seed >> 9) % 7), seed >> 40 & 511);
            let down = (above / times.max(1)).min(100) as i64;
            let step = ((seed >> 50) % 200) as i64 - down;
            let step = step.max(-down);
            let (mut row, mut single) = (CellCounters::default(), CellCounters::default());
            let reads = Progression { first: above, step, count: times, width: len };
            row.read_row(reads);
            reads.each().for_each(|above| single.read(above, len));
            row.flush();
            single.flush();
            assert_eq!(row.cost, single.cost, "{above} + {step} n, {len}, {times} times");
            assert_eq!(row.depths.iter().collect::<Vec<_>>(), single.depths.iter().collect::<Vec<_>>());
        }
        let mut deep = CellCounters::default();
        deep.read_row(Progression { first: (1 << 50) - 20, step: 8, count: 10, width: 8 });
        deep.flush();
        assert_eq!(deep.cost, (0..10).map(|n| run_cost((1 << 50) - 20 + 8 * n, 8)).sum());
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

    #[test]
    fn what_a_threads_own_stack_finds_stays_when_another_one_comes_or_is_that_of_the_cell() {
        let reads = |cell: &mut CellCounters| {
            cell.cold = 2;
            cell.read(100, 8);
            cell.below_holes(Progression::one(100, 8), 50);
        };
        let mut expected = CellCounters::default();
        reads(&mut expected);
        expected.flush();
        let CellCounts { cold, cost, depths, .. } = expected.counts.clone();
        let alone = Alone { cold, cost, depths, lines: None };
        for other_comes in [false, true] {
            let mut cell = CellCounters::default();
            reads(&mut cell);
            if other_comes {
                cell.set_aside()
            } else {
                cell.is_alone()
            }
            assert_eq!(cell.alone.as_deref(), Some(&alone));
            assert_eq!(cell.below_alone, expected.below_holes);
            let left = if other_comes { CellCounters::default() } else { expected.clone() };
            assert_eq!((cell.cold, cell.cost, &cell.depths), (left.cold, left.cost, &left.depths));
            assert_eq!(cell.below_holes, left.below_holes);
            // Lines alone are enough, and nothing at all is no stack.
            let lines = CellCounts { lines: Some(vec![LineCounts::default()].into()), ..CellCounts::default() };
            let mut of_lines = CellCounters { counts: lines, ..CellCounters::default() };
            let mut none = CellCounters::default();
            for cell in [&mut of_lines, &mut none] {
                if other_comes { cell.set_aside() } else { cell.is_alone() }
            }
            assert!(of_lines.counts.alone.is_some_and(|alone| alone.lines.is_some()) && none.counts.alone.is_none());
        }
    }

    #[test]
    fn reads_of_huge_ranges_cost_what_each_does_times_their_number() {
        let (above, len) = (1 << 61, 1 << 35);
        let cost = run_cost(above, len);
        assert!(cost > u64::MAX.into());
        let mut cell = CellCounters::default();
        cell.read_times(above, len, 3);
        assert_eq!((cell.cost, cell.depths.iter().map(|(_, bytes)| bytes).sum()), (3 * cost, 3 * len));
    }

    #[test]
    fn reads_of_a_row_are_alike_as_far_as_their_prices_and_buckets_are() {
        let mut draws = Draws::new(5);
        for _ in 0..20_000 {
            let width = 1 + draws.below(16);
            let magnitude = 1 + draws.below(51);
            let first = (1 << 14) + draws.below(1 << magnitude);
            let step = (1 + draws.below(40)) as i64 * if draws.below(2) == 0 { 1 } else { -1 };
            let row = Progression { first, width, step, count: 1 + draws.below(200) };
            let of = |depth: u64| (root(depth), bucket_of(depth));
            let all = of(first + width);
            let is_alike = |above: &u64| of(above + 1) == all && of(above + width) == all;
            let times = row.each().take_while(is_alike).count() as u64;
            match alike(row) {
                Some(alike) => assert_eq!((alike.times, (alike.price, alike.bucket)), (times, all), "{row:?}"),
                None => assert!(times <= LEAST_ALIKE || first + width > 1 << 50, "{row:?}: {times}"),
            }
        }
        let deepest = Progression { first: (1 << 50) - 8, width: 8, step: -1, count: 100 };
        assert_eq!(alike(deepest).map(|alike| (alike.times, alike.price)), Some((100, 1 << 25)));
        assert!(alike(Progression { first: deepest.first + 1, ..deepest }).is_none());
    }

    #[test]
    fn reads_below_free_places_fit_in_memories_that_have_room_for_those_too() {
        let mut cell = CellCounters::default();
        cell.read(100, 8);
        cell.below_holes(Progression::one(100, 8), 1 << 20);
        let bytes: Vec<_> = cell.capacities().iter().collect();
        let mut expected = DepthCounts::default();
        expected.add_run(100 + (1 << 20), 8, 1);
        assert_eq!(bytes, expected.iter().collect::<Vec<_>>());
    }
}
