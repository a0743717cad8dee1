//! Counters of one (context, site) pair: bytes read by depth, and their price.
//!
//! A site usually finds the same few depths again and again, so a counter remembers the last ones and how often they
//! came; only what it forgets is priced and filed in the histogram.

use super::{
    caches::{self, ByLevel},
    depths::DepthCounts,
    lines::{self, BySize},
};
use crate::{
    histogram::{bounds, bucket_of},
    pricing::{root, run_cost},
};

/// A run of depths that a site has found a number of times and that is not yet filed.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// `above << 8 | len`, for `len` in 1..=255; 0 = nothing.
    key: u64,
    times: u64,
}

/// Runs that a counter remembers: enough for the few depths that most sites alternate between, and one cache line.
const REMEMBERED: usize = 4;

/// Reads of a row that are worth pricing together.
const LEAST_ALIKE: u64 = 4;

/// What one site did in one context.
#[derive(Clone, Debug, Default)]
pub struct CellCounters {
    pending: [Pending; REMEMBERED],
    pub executions: u64,
    pub written: u64,
    pub cold: u64,
    /// Executions on one longest chain of dependent instructions (values model).
    pub span: u64,
    pub cost: u128,
    pub depths: DepthCounts,
    /// With exact liveness; `cost` and `depths` are then those without dead bytes.
    pub dead: Option<Box<Dead>>,
    /// With stacks of lines.
    pub lines: Option<BySize>,
    /// With caches of sets and ways.
    pub caches: Option<ByLevel>,
}

/// Bytes that a cell left behind although nobody read them again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// It wrote them, and nobody ever read them.
    pub unread: u64,
    /// It was the last to read them.
    pub last_read: u64,
}

/// What dead bytes are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dead {
    /// The cost with dead bytes on the stack until the program gives them up.
    pub hints_cost: u128,
    pub left: Left,
}

impl CellCounters {
    /// Counts a read of `len` bytes right below `above` live ones.
    #[inline]
    pub fn read(&mut self, above: u64, len: u64) {
        self.read_times(above, len, 1);
    }

    /// Counts a number of reads of `len` bytes right below `above` live ones.
    #[inline]
    pub fn read_times(&mut self, above: u64, len: u64, times: u64) {
        let key = above << 8 | len;
        // Neighbouring depths go to different places.
        let slot = &mut self.pending[((above >> 2 ^ above >> 12) % REMEMBERED as u64) as usize];
        // Longer runs would run into the key's other field; they are rare.
        if slot.key == key && len <= 255 {
            slot.times += times;
        } else {
            self.read_another(above, len, times);
        }
    }

    /// Counts a number of reads of `len` bytes each, the first right below `above` live ones and each `step` deeper than the one before.
    pub fn read_row(&mut self, above: u64, step: i64, len: u64, times: u64) {
        let mut done = 0;
        while done < times {
            let above = above.wrapping_add_signed(step * done as i64);
            let Some(alike) = alike(above, step, len, times - done) else {
                self.read(above, len);
                done += 1;
                continue;
            };
            let bytes = len * alike.times;
            self.cost += u128::from(alike.price) * u128::from(bytes);
            self.depths.add(alike.bucket, bytes);
            done += alike.times;
        }
    }

    #[inline(never)]
    fn read_another(&mut self, above: u64, len: u64, times: u64) {
        if len > 255 || above >> 56 != 0 {
            self.file(above, len, times);
            return;
        }
        let slot = ((above >> 2 ^ above >> 12) % REMEMBERED as u64) as usize;
        let new = Pending { key: above << 8 | len, times };
        let old = std::mem::replace(&mut self.pending[slot], new);
        self.file_pending(old);
    }

    fn file_pending(&mut self, run: Pending) {
        if run.times > 0 {
            self.file(run.key >> 8, run.key & 0xff, run.times);
        }
    }

    /// Adds a run of depths that was found a number of times.
    fn file(&mut self, above: u64, len: u64, times: u64) {
        // Neither factor exceeds 64 bits for runs that a site can find.
        let cost = run_cost(above, len);
        self.cost += match u64::try_from(cost) {
            Ok(cost) => u128::from(cost) * u128::from(times),
            Err(_) => cost * u128::from(times),
        };
        self.depths.add_run(above, len, times);
    }

    /// Files what is pending; call before reading `cost` or `depths`.
    pub fn flush(&mut self) {
        for run in std::mem::take(&mut self.pending) {
            self.file_pending(run);
        }
    }

    /// Puts the results without dead bytes in the place of those with them. Both must be flushed.
    pub fn replace(&mut self, exact: Self, left: Left) {
        debug_assert!(exact.cold == self.cold && exact.cost <= self.cost, "the same reads, no deeper");
        self.dead = Some(Box::new(Dead { hints_cost: self.cost, left }));
        self.cost = exact.cost;
        self.depths = exact.depths;
    }

    /// The cost with dead bytes on the stack until the program gives them up.
    #[must_use]
    pub fn hints_cost(&self) -> u128 {
        self.dead.as_ref().map_or(self.cost, |dead| dead.hints_cost)
    }

    pub fn merge(&mut self, other: &mut Self) {
        self.flush();
        other.flush();
        if self.dead.is_some() || other.dead.is_some() {
            let left = |cell: &Self| cell.dead.as_ref().map_or(Left::default(), |dead| dead.left);
            let (mine, more) = (left(self), left(other));
            let left = Left { unread: mine.unread + more.unread, last_read: mine.last_read + more.last_read };
            self.dead = Some(Box::new(Dead { hints_cost: self.hints_cost() + other.hints_cost(), left }));
        }
        self.executions += other.executions;
        self.written += other.written;
        self.cold += other.cold;
        self.span += other.span;
        self.cost += other.cost;
        self.depths.merge(&other.depths);
        if let Some(moved) = &other.lines {
            lines::merge(&mut self.lines, moved);
        }
        if let Some(moved) = &other.caches {
            caches::merge(&mut self.caches, moved);
        }
    }
}

/// Reads whose bytes all have one price and one bucket.
struct Alike {
    times: u64,
    price: u64,
    bucket: u16,
}

/// The reads of a row, from its first on and up to a number, that are alike; nothing if they are too few.
#[inline]
fn alike(above: u64, step: i64, len: u64, most: u64) -> Option<Alike> {
    let (low, high, wide) = (above + 1, above + len, step.unsigned_abs().max(1));
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
    let room = if step < 0 { low - first } else { last - high };
    let times = most.min(1 + room / wide);
    (times >= LEAST_ALIKE).then_some(Alike { times, price, bucket })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_runs_price_exactly_like_the_formula() {
        let mut cell = CellCounters::default();
        let mut expected = 0u128;
        let mut seed = 7u64;
        for _ in 0..200_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let above = (seed >> 33) % (1 << (1 + (seed >> 20) % 24));
            let len = 1 + (seed >> 7) % 300;
            cell.read(above, len);
            expected += run_cost(above, len);
        }
        cell.flush();
        assert_eq!(cell.cost, expected);
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
            row.read_row(above, step, len, times);
            for number in 0..times as i64 {
                single.read(above.wrapping_add_signed(step * number), len);
            }
            row.flush();
            single.flush();
            assert_eq!(row.cost, single.cost, "{above} + {step} n, {len}, {times} times");
            assert_eq!(row.depths.iter().collect::<Vec<_>>(), single.depths.iter().collect::<Vec<_>>());
        }
        let mut deep = CellCounters::default();
        deep.read_row((1 << 50) - 20, 8, 8, 10);
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
}
