//! What memories of lines fetch and write back: sums over cells, asked at a capacity.
//!
//! Takes sums of [`LineCounts`](dmdprof_runtime::counts::lines::LineCounts); gives lines, as histograms do: exact at
//! capacities of `s * 2^k` lines with `32 <= s < 64`, else up to 1/32. Capacities below [`SMALLEST`] lines are taken
//! for that many.

use std::sync::LazyLock;

use dmdprof_runtime::{counts::lines::LineCounts, observe::lines::FRONT};

use super::depths::Depths;
use crate::profile::Profile;

/// Lines of the smallest memory that is told from others.
pub const SMALLEST: u64 = FRONT as u64;

/// Capacities, in bytes, that tables and JSON show: like a first, a second and a third level of caches.
pub const SHOWN: [u64; 3] = [32 << 10, 1 << 20, 32 << 20];

/// Bytes that the memory with this number in [`SHOWN`] moves; nothing if lines were not measured.
#[must_use]
pub fn shown(profile: &Profile, sums: &LineSums, memory: usize) -> u64 {
    profile.line_size().map_or(0, |size| Moved::from_sums(sums, size, SHOWN[memory]).all())
}

/// Numbers of lines that add.
pub type LineSums = LineCounts<Depths>;

/// Those of the size that is shown; nothing if lines were not measured.
#[must_use]
pub fn first(sizes: Option<&[LineSums]>) -> &LineSums {
    static NONE: LazyLock<LineSums> = LazyLock::new(LineSums::default);
    sizes.and_then(<[LineSums]>::first).unwrap_or(&NONE)
}

/// What memories of lines move.
#[derive(Clone, Copy)]
pub struct AtCapacity<'s>(pub &'s LineSums);

impl AtCapacity<'_> {
    /// Lines that loads bring into an empty memory of so many lines.
    #[must_use]
    pub fn loaded(&self, capacity: u64) -> u64 {
        self.0.loads.beyond(capacity.max(SMALLEST)) + self.0.first_loads
    }

    /// Of `loaded`, lines in streams of neighbours, and in streams of another constant step.
    #[must_use]
    pub fn streamed(&self, capacity: u64) -> [u64; 2] {
        let beyond = |depths: &Depths| depths.beyond(capacity.max(SMALLEST));
        [beyond(&self.0.in_order) + self.0.first_in_order, beyond(&self.0.at_step) + self.0.first_at_step]
    }

    /// Of `fetched`, lines that nothing had touched before.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.0.first_loads + self.0.first_stores
    }

    /// Lines that loads and stores bring in.
    #[must_use]
    pub fn fetched(&self, capacity: u64) -> u64 {
        self.loaded(capacity) + self.0.stores.beyond(capacity.max(SMALLEST)) + self.0.first_stores
    }

    /// Bytes of lines of `size` that loads fetch, that stores fetch and that are written back, each by the smallest
    /// power of two of bytes that spares the move; `u64::MAX` if none does. No zeros.
    #[must_use]
    pub fn octaves(&self, size: u32) -> [Vec<(u64, u128)>; 3] {
        let moved = [
            (&self.0.loads, self.0.first_loads),
            (&self.0.stores, self.0.first_stores),
            (&self.0.write_backs, self.0.last_write_backs),
        ];
        moved.map(|(depths, always)| {
            let octaves = depths.octaves().into_iter().map(|o| (o.capacity.saturating_mul(size.into()), o.reads));
            let all = octaves.chain([(u64::MAX, always)]).filter(|(_, lines)| *lines > 0);
            all.map(|(capacity, lines)| (capacity, u128::from(lines) * u128::from(size))).collect()
        })
    }

    /// Lines that it writes back, those that are dirty at the end included.
    #[must_use]
    pub fn written_back(&self, capacity: u64) -> u64 {
        self.0.write_backs.beyond(capacity.max(SMALLEST)) + self.0.last_write_backs
    }
}

/// Bytes that a memory of lines moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes.
    pub capacity: u64,
    pub fetched: u64,
    pub written_back: u64,
    /// Of what was fetched, what loads brought in.
    pub loaded: u64,
    /// Of what was fetched, what nothing had touched before.
    pub first: u64,
    /// Of what loads brought in, what came in streams of neighbours, and in streams of another constant step.
    pub in_order: u64,
    pub at_step: u64,
}

impl Moved {
    /// By lines of `size` bytes, at a capacity in bytes.
    #[must_use]
    pub fn from_sums(sums: &LineSums, size: u32, capacity: u64) -> Self {
        let size = u64::from(size);
        let lines = capacity / size;
        let sums = AtCapacity(sums);
        let [in_order, at_step] = sums.streamed(lines);
        Self {
            capacity,
            fetched: sums.fetched(lines) * size,
            written_back: sums.written_back(lines) * size,
            loaded: sums.loaded(lines) * size,
            first: sums.first() * size,
            in_order: in_order * size,
            at_step: at_step * size,
        }
    }

    /// Of what loads fetch, the most that can have been read, given what is read from beyond the memory and what is
    /// read first, some of which is in both; nothing if no more than fits is fetched.
    #[must_use]
    pub fn used(&self, read_beyond: u64, read_first: u64) -> Option<f64> {
        let read = read_beyond.saturating_add(read_first).min(self.loaded);
        (self.loaded > self.capacity).then(|| read as f64 / self.loaded as f64)
    }

    #[must_use]
    pub fn all(&self) -> u64 {
        self.fetched + self.written_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::model::{self, Histogram, Merge};

    #[test]
    fn lines_are_counted_beyond_a_capacity_and_first_touches_always() {
        let histogram = |depth: u64, lines: u64| {
            Histogram::from_depths(vec![(dmdprof_runtime::histogram::bucket_of(depth), lines)])
        };
        let cell = model::LineCounts {
            loads: histogram(513, 10),
            stores: histogram(100, 5),
            write_backs: histogram(600, 4),
            first_loads: 3,
            first_stores: 2,
            last_write_backs: 1,
            ..model::LineCounts::default()
        };
        let mut sums = LineSums::default();
        sums.merge(&cell);
        sums.merge(&sums.clone());
        let moved = |capacity| Moved::from_sums(&sums, 64, capacity);
        assert_eq!((moved(0).fetched, moved(0).written_back), (40 * 64, 10 * 64));
        assert_eq!((moved(32 << 10).fetched, moved(32 << 10).loaded), (30 * 64, 26 * 64));
        assert_eq!((moved(1 << 20).all(), moved(1 << 20).capacity), (12 * 64, 1 << 20));
    }
}
