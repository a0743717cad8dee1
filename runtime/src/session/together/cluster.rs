//! Threads that share a stack: one engine, and the counters of all their accesses.
//!
//! Takes accesses with the cells of their rings, in the order of the model; gives the rings what was found for them.

use super::stack::Stack;
use crate::{
    counts::{
        cell::{CellCounters, file_lines},
        depths::DepthCounts,
    },
    decode::{block::UNCOUNTED, ring::RingTotals},
    engine::{Access, Stream},
    observe::files::Files,
    session::{fast_paths::FastPaths, items::Worker, lives::Life},
};

/// No cell of the cluster yet.
const NONE: u32 = u32::MAX;

/// One stack.
pub struct Cluster {
    stack: Stack,
    cells: Vec<CellCounters>,
    cold: DepthCounts,
    /// By cell: the ring and its cell that it is for.
    owners: Vec<(u32, u32)>,
    stream_cells: Vec<u32>,
}

macro_rules! files {
    ($cluster:expr) => {
        &mut Files { cells: &mut $cluster.cells, cold: &mut $cluster.cold }
    };
}

impl Cluster {
    /// An empty stack, and one of lines of each of these sizes.
    #[must_use]
    pub fn new(ways: &FastPaths, line_sizes: &[u32], with_thread: bool) -> Self {
        let mut cluster = Self {
            stack: Stack::new(ways, line_sizes),
            cells: Vec::new(),
            cold: DepthCounts::default(),
            owners: Vec::new(),
            stream_cells: Vec::new(),
        };
        if with_thread {
            cluster.stack.engine.start_thread(files!(cluster));
        }
        cluster
    }

    /// A ring's accesses come in here, with the ring's cells as far as they have cells of the cluster.
    pub fn worker<'a>(&'a mut self, ring: u32, known: &'a mut Vec<u32>) -> RingWorker<'a> {
        RingWorker { cluster: self, ring, known }
    }

    /// Memory of the engine.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.stack.engine.engine_bytes()
    }

    /// Ends it: hands what was found for each ring's cell to `file`, and gives the totals of the stack, and its first
    /// touches.
    #[must_use]
    pub fn finish(mut self, mut file: impl FnMut(u32, u32, &mut CellCounters)) -> (RingTotals, DepthCounts) {
        self.stack.engine.flush(files!(self));
        file_lines(&mut self.cells, self.stack.engine.take_lines());
        let (ranked, ..) = self.stack.engine.finish(files!(self));
        for (cell, (ring, of_ring)) in self.cells.iter_mut().zip(self.owners) {
            cell.flush();
            file(ring, of_ring, cell);
        }
        let engine = ranked.engine();
        let totals = RingTotals {
            peak_live: engine.peak_live(),
            footprint: engine.footprint(),
            in_blocks: engine.in_blocks(),
            ..RingTotals::default()
        };
        (totals, self.cold)
    }
}

/// Accesses of one ring.
pub struct RingWorker<'a> {
    cluster: &'a mut Cluster,
    ring: u32,
    known: &'a mut Vec<u32>,
}

impl RingWorker<'_> {
    /// An access, with the ring's cell.
    #[inline]
    pub fn access(&mut self, access: Access, cell: u32) {
        let cell = self.cell(cell);
        self.cluster.stack.access(access, cell, files!(self.cluster));
    }

    #[inline]
    fn cell(&mut self, cell: u32) -> u32 {
        match self.known.get(cell as usize) {
            Some(&known) if known != NONE => known,
            _ => self.new_cell(cell),
        }
    }

    #[cold]
    fn new_cell(&mut self, cell: u32) -> u32 {
        if cell == UNCOUNTED {
            return UNCOUNTED;
        }
        if self.known.len() <= cell as usize {
            self.known.resize(cell as usize + 1, NONE);
        }
        let new = self.cluster.cells.len() as u32;
        self.known[cell as usize] = new;
        self.cluster.cells.push(CellCounters::default());
        self.cluster.owners.push((self.ring, cell));
        new
    }
}

impl Worker for RingWorker<'_> {
    fn accesses(&mut self, accesses: &[Access], cells: &[u32]) {
        for (access, cell) in accesses.iter().zip(cells) {
            self.access(*access, *cell);
        }
    }

    fn run(&mut self, streams: &[Stream], cells: &[u32], iterations: u64) {
        let mut named = std::mem::take(&mut self.cluster.stream_cells);
        named.clear();
        named.extend(cells.iter().map(|cell| self.cell(*cell)));
        self.cluster.stack.run(streams, &named, iterations, files!(self.cluster));
        self.cluster.stream_cells = named;
    }

    fn relocate(&mut self, from: u64, to: u64, len: u64) {
        self.cluster.stack.relocate(from, to, len, files!(self.cluster));
    }

    fn input(&mut self, address: u64, len: u64) {
        self.cluster.stack.input(address, len, files!(self.cluster));
    }

    /// Of no meaning for a stack.
    fn life(&mut self, _: &Life) {}
}
