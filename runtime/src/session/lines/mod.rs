//! What a memory of lines would fetch and write back, at every capacity at once.
//!
//! Takes the accesses of a ring in program order, with the cells that they belong to; gives, for each cell, the depths at which its loads and its
//! stores found their lines in one LRU stack of lines (a store brings its line in, as a load does), and of the lines that it wrote the
//! greatest depth at which they were found before they were written again. A memory of `Z` lines fetches what lies deeper than `Z`, and writes a
//! line back if that greatest depth is more than `Z` (Thompson and Smith, "Efficient (Stack) Algorithms for Analysis of Write-Back and
//! Sector Memories", 1989). What is still dirty at the end of the program is written back then.
//!
//! Lines have no liveness: hardware does not know that a block was freed. Depths up to [`FRONT`] are not told apart.

mod front;

#[cfg(test)]
mod tests;

use front::{Front, State};

use super::counters::DepthCounts;
use crate::{
    engine::{Access, Engine, EngineOptions, Found, Kind, Reports, Stream},
    histogram::bucket_of,
    pages::Pages,
};

pub use front::FRONT;

/// Lines whose states lie together.
const PAGE: u64 = 512;
/// The engine has cells of four bytes, so that a line has a cell of its own.
const UNIT: u64 = 4;

/// What one site did to lines in one context. Depths are in lines.
#[derive(Clone, Debug, Default)]
pub struct LineCounts {
    pub loads: DepthCounts,
    pub stores: DepthCounts,
    /// By the greatest depth since the store; without those below.
    pub write_backs: DepthCounts,
    /// Lines that nothing had touched before.
    pub first_loads: u64,
    pub first_stores: u64,
    /// Lines that were dirty when the program ended. A memory of whatever size writes each of them back once.
    pub last_write_backs: u64,
}

impl LineCounts {
    pub fn merge(&mut self, other: &Self) {
        self.loads.merge(&other.loads);
        self.stores.merge(&other.stores);
        self.write_backs.merge(&other.write_backs);
        self.first_loads += other.first_loads;
        self.first_stores += other.first_stores;
        self.last_write_backs += other.last_write_backs;
    }
}

/// The lines of one ring.
pub struct Lines {
    shift: u32,
    front: Front,
    /// Lines that are not in front.
    engine: Engine,
    found: Reports,
    /// Of lines that are not in front.
    states: Pages<[State; PAGE as usize]>,
    cells: Vec<Option<Box<LineCounts>>>,
    /// Used again by each run.
    stays: Vec<u64>,
    /// Cells from here on are not counted.
    known: u32,
}

impl Lines {
    /// Lines of `bytes` bytes, a power of two.
    #[must_use]
    pub fn new(bytes: u32) -> Self {
        Self {
            shift: bytes.trailing_zeros(),
            front: Front::default(),
            engine: Engine::with_options(EngineOptions { ahead: Some(false), ..EngineOptions::default() }),
            found: Reports::default(),
            states: Pages::default(),
            cells: Vec::new(),
            stays: Vec::new(),
            known: 0,
        }
    }

    /// There are so many cells now; what follows for others is not counted.
    pub fn set_known(&mut self, cells: usize) {
        self.known = cells as u32;
    }

    pub fn follow(&mut self, accesses: &[Access], cells: &[u32]) {
        for (access, &cell) in accesses.iter().zip(cells) {
            self.access(access.addr, access.len, access.kind, cell);
        }
    }

    /// Follows a regular run. Iterations that touch the lines of the one before them, all of them in front, change nothing.
    pub fn follow_run(&mut self, streams: &[Stream], cells: &[u32], iterations: u64) {
        // Of each stream, for how many iterations it stays in its line.
        let mut stays = std::mem::take(&mut self.stays);
        stays.clear();
        stays.resize(streams.len(), 0);
        let mut next = 0;
        while next < iterations {
            let mut alike = u64::MAX;
            for ((stream, &cell), stay) in streams.iter().zip(cells).zip(&mut stays) {
                let address = stream.at(next);
                self.access(address, stream.len, stream.kind, cell);
                *stay = stay.checked_sub(1).unwrap_or_else(|| self.alike(stream, address));
                alike = alike.min(*stay);
            }
            if alike > 0 && (streams.len() <= FRONT || self.are_in_front(streams, next)) {
                next = next.saturating_add(alike);
                stays.iter_mut().for_each(|stay| *stay -= alike);
            }
            next = next.saturating_add(1);
        }
        self.stays = stays;
    }

    /// Iterations in which a stream that is at an address stays in its line.
    #[inline]
    fn alike(&self, stream: &Stream, address: u64) -> u64 {
        let mask = (1u64 << self.shift) - 1;
        let (offset, end) = (address & mask, (address & mask) + u64::from(stream.len));
        match stream.stride {
            0 if end <= mask + 1 => u64::MAX,
            _ if end > mask + 1 => 0,
            stride if stride > 0 => (mask + 1 - end) / stride as u64,
            stride => offset / stride.unsigned_abs(),
        }
    }

    fn are_in_front(&self, streams: &[Stream], iteration: u64) -> bool {
        let line = |stream: &Stream| stream.at(iteration) >> self.shift;
        streams.iter().all(|stream| stream.kind == Kind::Remove || self.front.find(line(stream)).is_some())
    }

    #[inline]
    fn access(&mut self, address: u64, len: u32, kind: Kind, cell: u32) {
        if kind == Kind::Remove || len == 0 {
            return;
        }
        let is_store = matches!(kind, Kind::Store | Kind::Fresh);
        let last = address.saturating_add(u64::from(len) - 1) >> self.shift;
        let mut line = address >> self.shift;
        self.touch(line, is_store, cell);
        while line < last {
            line += 1;
            self.touch(line, is_store, cell);
        }
    }

    #[inline(always)]
    fn touch(&mut self, line: u64, is_store: bool, cell: u32) {
        match self.front.find(line) {
            Some(at) => self.front.raise(at),
            None => self.enter(line, is_store, cell),
        }
        if is_store {
            let written = self.front.write(cell);
            self.written_back(written);
        }
    }

    /// A line comes in front; another one may leave.
    #[inline(never)]
    fn enter(&mut self, line: u64, is_store: bool, cell: u32) {
        let above = self.above(line);
        let (page, at) = (line / PAGE, (line % PAGE) as usize);
        let mut state = State::default();
        if let Some(above) = above {
            let bucket = bucket_of(FRONT as u64 + above + 1);
            state = self.states.find(page).map_or(state, |page| page[at]);
            state.deepest(bucket);
            if let Some(counts) = self.counts(cell) {
                if is_store {
                    counts.stores.add(bucket, 1)
                } else {
                    counts.loads.add(bucket, 1)
                };
            }
        } else if let Some(counts) = self.counts(cell) {
            *(if is_store { &mut counts.first_stores } else { &mut counts.first_loads }) += 1;
        }
        if let Some((left, state)) = self.front.push(line, state) {
            let page = self.states.made(left / PAGE, || Box::new([State::default(); PAGE as usize]));
            page[(left % PAGE) as usize] = state;
            self.engine.store(left.wrapping_mul(UNIT), UNIT);
        }
    }

    /// Lines above this one among those that are not in front, from which it is taken; nothing if it was never touched.
    fn above(&mut self, line: u64) -> Option<u64> {
        let access = Access { addr: line.wrapping_mul(UNIT), len: UNIT as u32, kind: Kind::Last };
        self.engine.batch_to(&[access], &[0], &mut self.found);
        let mut above = None;
        self.found.each(|_, found| {
            if let Found::Warm { above: bytes, .. } = found {
                above = Some(bytes / UNIT);
            }
        });
        self.found.clear();
        above
    }

    fn written_back(&mut self, state: State) {
        if let Some((cell, bucket)) = state.write_back()
            && let Some(counts) = self.counts(cell)
        {
            counts.write_backs.add(bucket, 1);
        }
    }

    #[inline]
    fn counts(&mut self, cell: u32) -> Option<&mut LineCounts> {
        if cell >= self.known {
            return None;
        }
        let at = cell as usize;
        if at >= self.cells.len() {
            self.cells.resize_with(self.known as usize, || None);
        }
        Some(self.cells[at].get_or_insert_default())
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let states = self.states.len() * size_of::<[State; PAGE as usize]>();
        self.engine.heap_bytes() + states as u64
    }

    /// The counts by cell.
    #[must_use]
    pub fn finish(mut self) -> Vec<Option<Box<LineCounts>>> {
        let front: Vec<_> = self.front.all().collect();
        for (line, state) in front {
            let page = self.states.made(line / PAGE, || Box::new([State::default(); PAGE as usize]));
            page[(line % PAGE) as usize] = state;
        }
        let states = std::mem::take(&mut self.states);
        for (_, page) in states.iter() {
            for cell in page.iter().filter_map(State::owner) {
                if let Some(counts) = self.counts(cell) {
                    counts.last_write_backs += 1;
                }
            }
        }
        self.cells
    }
}
