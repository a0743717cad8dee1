//! Operations on their way to the engine, and who is told what the engine found.
//!
//! Takes operations, before the engine does them and with what it found; files that with its cells, and with the flows
//! that it is of. Of single accesses in a window, takes down what was found for each.

use std::slice::from_ref;

use super::super::{engine_slot::EngineSlot, fast_paths::DepthHash};
use crate::{
    counts::many::Many,
    decode::{block::CellNumber, context::ContextNumber, locator::SegmentNumber},
    engine::{AccessTag, Reports},
    observe::{
        attribution::Files,
        flows::{FlowCounters, Flows, Numbered, Parts},
        window::Recorder,
    },
    oplog::{Op, Ops},
};

/// Operations on their way to the engine, or the results on their way back.
#[derive(Default)]
pub struct Batch {
    pub(super) ops: Ops,
    pub(super) found: Reports,
    /// How many cells there were.
    pub(super) cells: usize,
    /// Memory that those hold who are done with it, in bytes.
    pub(super) held: u64,
    /// If flows are followed, whose the reports are; their labels are numbers of accesses and streams then.
    parts: Box<Parts>,
    /// Labels of the accesses of a window, as they were before flows put numbers of their own in their place. Following
    /// a batch fills it if a window is open, and the window reads it; of other batches it is an older one's.
    labels: Vec<AccessTag>,
}

/// Who is told what the engine found.
#[derive(Default)]
pub struct ReportSinks {
    /// Where bytes come from and go to.
    pub flows: Option<Box<Flows>>,
    /// Single accesses, to look at.
    pub window: Option<Box<Recorder>>,
    /// A hash of all depths.
    pub hash: Option<Box<DepthHash>>,
    /// Reads that are being filed.
    pub(super) many: Box<Many<CellNumber>>,
}

impl ReportSinks {
    /// The label of a segment's first item while nothing is counted; [`AccessTag::UNCOUNTED`] for all items if nobody
    /// needs to know them.
    pub fn hidden(&mut self, segment: SegmentNumber, node: ContextNumber, items: usize) -> AccessTag {
        self.flows.as_mut().map_or(AccessTag::UNCOUNTED, |flows| flows.sites.hidden(segment, node, items))
    }

    /// Counts reads on the top of the stack, which the engine was not asked about, into the hash of depths.
    pub fn hash_top(&mut self, cell: CellNumber, len: u64, times: u64) {
        if let Some(hash) = &mut self.hash {
            hash.reads(cell, 0, len, times);
        }
    }

    /// Whether they are, or may be.
    #[must_use]
    pub fn has_window(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.is_awake())
    }

    /// Whether single accesses are taken down now.
    pub fn is_window_open(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.is_open())
    }

    /// Is told of what the engine is going to do.
    pub(super) fn follow(&mut self, batch: &mut Batch, files: &Files<'_>) {
        let Batch { ops, parts, labels, .. } = batch;
        if self.is_window_open() {
            labels.clone_from(&ops.labels);
        }
        if let Some(flows) = &mut self.flows {
            parts.clear();
            ops.labels.iter().chain(&ops.stream_labels).for_each(|label| flows.sites.learn(*label, files.sites));
            ops.each().for_each(|op| flows.op(op, parts));
            // Numbers of their own are in the place of labels.
            parts.complete(&mut ops.labels, &mut ops.stream_labels);
        }
    }

    /// Has an engine do a batch.
    pub(super) fn run_batch(&mut self, engine_slot: &mut EngineSlot, batch: &mut Batch, files: &Files<'_>) {
        let window = self.window.as_mut().filter(|window| window.is_open());
        match window {
            Some(window) => batch.record(window, engine_slot, files),
            None => batch.run_on(engine_slot),
        }
        if let Some(flows) = &mut self.flows
            && let Some(boundary) = engine_slot.engine_mut().boundary()
        {
            flows.note_asked(boundary, &mut batch.parts);
        }
    }

    /// Files what was found, and hashes it if that was asked for.
    pub(super) fn file(&mut self, batch: &mut Batch, files: &mut Files<'_>) {
        let Self { flows, hash, many, .. } = self;
        let Batch { found, parts, .. } = batch;
        let flows = flows.as_mut().map(|flows| (&mut **parts, flows.counters()));
        file_found(found, flows, hash.as_deref_mut(), many, files);
        found.clear();
        (batch.cells, batch.held) = (0, 0);
        batch.ops.clear();
    }
}

impl Batch {
    /// Has an engine do everything.
    pub(super) fn run_on(&mut self, engine_slot: &mut EngineSlot) {
        let Self { ops, found, .. } = self;
        ops.each().for_each(|op| engine_slot.op(op, found));
        ops.clear();
    }

    /// Has an engine do everything, one access at a time, and tells a window what was found for each.
    fn record(&mut self, window: &mut Recorder, engine_slot: &mut EngineSlot, files: &Files<'_>) {
        let (mut found, mut labels) = (Reports::default(), self.labels.iter());
        for op in self.ops.each() {
            let Op::Accesses { accesses, labels: numbers } = op else {
                if let Op::Move { from, to, len } = op {
                    window.moves(from, to, len);
                }
                engine_slot.op(op, &mut self.found);
                continue;
            };
            for ((access, number), label) in accesses.iter().zip(numbers).zip(labels.by_ref()) {
                engine_slot.op(Op::accesses(from_ref(access), from_ref(number)), &mut found);
                window.access(*access, label.cell(), files.counts_reads(label.cell()), &found);
                self.found.append(&mut found);
            }
        }
        self.ops.clear();
    }
}

/// Files what was found by cell, and hashes it if that was asked for. If flows are followed, labels are numbers, and it
/// is filed by flow, too.
pub fn file_found(
    found: &Reports,
    flows: Option<(&mut impl Numbered, &mut FlowCounters)>,
    mut hash: Option<&mut DepthHash>,
    many: &mut Many<CellNumber>,
    files: &mut Files<'_>,
) {
    let Some((parts, flows)) = flows else {
        if let Some(hash) = hash {
            found.each(|label, found| hash.hash_found(label, found));
        }
        return files.file(found, many);
    };
    found.each(|number, found| {
        let label = parts.label(number);
        let cell = label.cell();
        if let Some(hash) = &mut hash
            && files.counts_reads(cell)
        {
            hash.hash_found(label, found);
        }
        files.hold(cell, found, many);
        parts.file_found(flows, number, found);
    });
    files.file_many(many);
}
