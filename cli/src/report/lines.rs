//! What memories of lines fetch and write back: sums over cells, asked at a capacity.
//!
//! Takes the cells of [`LineTraffic`](crate::profile::model::LineTraffic); gives lines, as histograms do: exact at
//! capacities of `s * 2^k` lines with `32 <= s < 64`, else up to 1/32. Capacities below [`SMALLEST`] lines are taken
//! for that many.

use dmdprof_runtime::observe::lines::FRONT;

use super::depths::Depths;
use crate::profile::Profile;
use crate::profile::model::{Cell, LineMoves, LineStreams};

/// Lines of the smallest memory that is told from others.
pub const SMALLEST: u64 = FRONT as u64;

/// Capacities, in bytes, that tables and JSON show: like a first, a second and a third level of caches.
pub const SHOWN: [u64; 3] = [32 << 10, 1 << 20, 32 << 20];

/// Numbers of lines that add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSums {
    loads: Depths,
    stores: Depths,
    write_backs: Depths,
    first_loads: u64,
    first_stores: u64,
    last: u64,
    in_order: Depths,
    at_step: Depths,
    first_in_order: u64,
    first_at_step: u64,
}

impl LineSums {
    pub fn add(&mut self, moved: &LineMoves) {
        self.loads.add(&moved.loads);
        self.stores.add(&moved.stores);
        self.write_backs.add(&moved.write_backs);
        self.first_loads += moved.first_loads;
        self.first_stores += moved.first_stores;
        self.last += moved.last_write_backs;
    }

    /// Adds the part that came in streams.
    pub fn add_streams(&mut self, streams: &LineStreams) {
        self.in_order.add(&streams.in_order);
        self.at_step.add(&streams.at_step);
        self.first_in_order += streams.first_in_order;
        self.first_at_step += streams.first_at_step;
    }

    pub fn merge(&mut self, other: &Self) {
        self.loads.merge(&other.loads);
        self.stores.merge(&other.stores);
        self.write_backs.merge(&other.write_backs);
        self.first_loads += other.first_loads;
        self.first_stores += other.first_stores;
        self.last += other.last;
        self.in_order.merge(&other.in_order);
        self.at_step.merge(&other.at_step);
        self.first_in_order += other.first_in_order;
        self.first_at_step += other.first_at_step;
    }

    /// Lines that loads bring into an empty memory of so many lines.
    #[must_use]
    pub fn loaded(&self, capacity: u64) -> u64 {
        self.loads.beyond(capacity.max(SMALLEST)) + self.first_loads
    }

    /// Of `loaded`, lines in streams of neighbours, and in streams of another constant step.
    #[must_use]
    pub fn streamed(&self, capacity: u64) -> [u64; 2] {
        let beyond = |depths: &Depths| depths.beyond(capacity.max(SMALLEST));
        [beyond(&self.in_order) + self.first_in_order, beyond(&self.at_step) + self.first_at_step]
    }

    /// Of `fetched`, lines that nothing had touched before.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first_loads + self.first_stores
    }

    /// Lines that loads and stores bring in.
    #[must_use]
    pub fn fetched(&self, capacity: u64) -> u64 {
        self.loaded(capacity) + self.stores.beyond(capacity.max(SMALLEST)) + self.first_stores
    }

    /// Bytes of lines of `size` that loads fetch, that stores fetch and that are written back, each by the smallest
    /// power of two of bytes that spares the move; `u64::MAX` if none does. No zeros.
    #[must_use]
    pub fn octaves(&self, size: u32) -> [Vec<(u64, u128)>; 3] {
        let moved =
            [(&self.loads, self.first_loads), (&self.stores, self.first_stores), (&self.write_backs, self.last)];
        moved.map(|(depths, always)| {
            let octaves = depths.octaves().into_iter().map(|o| (o.capacity.saturating_mul(size.into()), o.reads));
            let all = octaves.chain([(u64::MAX, always)]).filter(|(_, lines)| *lines > 0);
            all.map(|(capacity, lines)| (capacity, u128::from(lines) * u128::from(size))).collect()
        })
    }

    /// Lines that it writes back, those that are dirty at the end included.
    #[must_use]
    pub fn written_back(&self, capacity: u64) -> u64 {
        self.write_backs.beyond(capacity.max(SMALLEST)) + self.last
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
    pub fn of(sums: &LineSums, size: u32, capacity: u64) -> Self {
        let size = u64::from(size);
        let lines = capacity / size;
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

    /// Of what loads fetch, the part that is read, given what is read from beyond the memory; nothing if no more than
    /// fits is fetched.
    #[must_use]
    pub fn used(&self, read_beyond: u64) -> Option<f64> {
        (self.loaded > self.capacity).then(|| read_beyond.min(self.loaded) as f64 / self.loaded as f64)
    }

    #[must_use]
    pub fn all(&self) -> u64 {
        self.fetched + self.written_back
    }
}

/// Loads bring in at least twice what is read from beyond the memory, and it is more than a few lines.
#[must_use]
pub fn is_wasteful(moved: &Moved, read_beyond: u64) -> bool {
    read_beyond > moved.capacity && moved.loaded >= read_beyond.saturating_mul(2)
}

/// What a cell did to lines, if that was measured and it did anything.
#[must_use]
pub fn of_cell<'p>(profile: &'p Profile, cell: &Cell) -> Option<&'p LineMoves> {
    let cells = &profile.lines.as_ref()?.cells;
    let at = cells.binary_search_by_key(&(cell.context, cell.site), |lines| (lines.context, lines.site)).ok()?;
    Some(&cells[at].moved)
}

/// What a cell brought in streams, if that was measured and there was any.
#[must_use]
pub fn streams_of_cell<'p>(profile: &'p Profile, cell: &Cell) -> Option<&'p LineStreams> {
    let cells = profile.line_details.streams.as_ref()?;
    let at = cells.binary_search_by_key(&(cell.context, cell.site), |of| (of.context, of.site)).ok()?;
    Some(&cells[at].streams)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::model::Histogram;

    #[test]
    fn lines_are_counted_beyond_a_capacity_and_first_touches_always() {
        let histogram =
            |depth: u64, lines: u64| Histogram::of(vec![(dmdprof_runtime::histogram::bucket_of(depth), lines)]);
        let cell = LineMoves {
            loads: histogram(513, 10),
            stores: histogram(100, 5),
            write_backs: histogram(600, 4),
            first_loads: 3,
            first_stores: 2,
            last_write_backs: 1,
        };
        let mut sums = LineSums::default();
        sums.add(&cell);
        sums.merge(&sums.clone());
        let moved = |capacity| Moved::of(&sums, 64, capacity);
        assert_eq!((moved(0).fetched, moved(0).written_back), (40 * 64, 10 * 64));
        assert_eq!((moved(32 << 10).fetched, moved(32 << 10).loaded), (30 * 64, 26 * 64));
        assert_eq!((moved(1 << 20).all(), moved(1 << 20).capacity), (12 * 64, 1 << 20));
    }
}
