//! Threads that share a stack: one engine, and the counters of all their accesses.
//!
//! Takes accesses with the cells of their rings, in the order of the model; gives the rings what was found for them.

use super::stack::Stack;
use crate::{
    analysis::fast_paths::FastPaths,
    counts::{cell::CellCounters, depths::DepthCounts},
    decode::{block::CellNumber, ring::RingTotals},
    engine::{Access, AccessTag},
    observe::attribution::Files,
    oplog::Op,
};

/// One stack.
pub struct Cluster {
    stack: Stack,
    cells: Vec<CellCounters>,
    cold: DepthCounts,
    /// By cell: the ring and its cell that it is for.
    owners: Vec<(u32, CellNumber)>,
    stream_labels: Vec<AccessTag>,
}

macro_rules! files {
    ($cluster:expr) => {
        &mut Files::new(&mut $cluster.cells, &mut $cluster.cold)
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
            stream_labels: Vec::new(),
        };
        if with_thread {
            cluster.stack.engine.start_thread(false, files!(cluster));
        }
        cluster
    }

    /// A ring's accesses come in here, with the ring's cells as far as they have cells of the cluster.
    pub fn worker<'a>(&'a mut self, ring: u32, known: &'a mut Vec<AccessTag>) -> RingWorker<'a> {
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
    pub fn finish(mut self, mut file: impl FnMut(u32, CellNumber, &mut CellCounters)) -> (RingTotals, DepthCounts) {
        let (engine_slot, ..) = self.stack.engine.finish(files!(self));
        for (cell, (ring, of_ring)) in self.cells.iter_mut().zip(self.owners) {
            cell.flush();
            file(ring, of_ring, cell);
        }
        let engine = engine_slot.engine();
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
    known: &'a mut Vec<AccessTag>,
}

impl RingWorker<'_> {
    /// An access, with the ring's label.
    #[inline]
    pub fn access(&mut self, access: Access, label: AccessTag) {
        let label = self.label(label);
        self.cluster.stack.access(access, label, files!(self.cluster));
    }

    #[inline]
    fn label(&mut self, label: AccessTag) -> AccessTag {
        match self.known.get(label.cell().index()) {
            Some(&known) if known != AccessTag::UNCOUNTED => known,
            _ => self.new_label(label),
        }
    }

    #[cold]
    fn new_label(&mut self, label: AccessTag) -> AccessTag {
        if label == AccessTag::UNCOUNTED {
            return label;
        }
        let cell = label.cell();
        if self.known.len() <= cell.index() {
            self.known.resize(cell.index() + 1, AccessTag::UNCOUNTED);
        }
        let new = AccessTag::for_cell(CellNumber::new(self.cluster.cells.len()));
        self.known[cell.index()] = new;
        self.cluster.cells.push(CellCounters::default());
        self.cluster.owners.push((self.ring, cell));
        new
    }
}

impl RingWorker<'_> {
    /// What happens next.
    pub fn op(&mut self, op: Op<'_>) {
        match op {
            Op::Accesses { accesses, labels } => {
                accesses.iter().zip(labels).for_each(|(access, label)| self.access(*access, *label));
            }
            Op::Run { streams, labels, iterations } => {
                let mut named = std::mem::take(&mut self.cluster.stream_labels);
                named.clear();
                named.extend(labels.iter().map(|label| self.label(*label)));
                self.cluster.stack.op(Op::run(streams, &named, iterations), files!(self.cluster));
                self.cluster.stream_labels = named;
            }
            _ => self.cluster.stack.op(op, files!(self.cluster)),
        }
    }
}
