//! Operations on their way to the engine, or the results on their way back.
//!
//! Tells who follows flows of what is in it, and files what was found with its cells.

use std::slice::from_ref;

use super::super::{fast_paths::DepthHash, ranked::Ranked};
use crate::{
    counts::many::Many,
    decode::block::CellNumber,
    engine::{Frontier, Label, Reports},
    observe::{
        files::Files,
        flows::{FlowCounters, Flows, Numbered, Parts},
        window::Recorder,
    },
    oplog::{Op, Ops},
};

/// Operations on their way to the engine, or the results on their way back.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) ops: Ops,
    pub(super) found: Reports,
    /// If flows are followed, whose the reports are; their labels are numbers of accesses and streams then.
    pub(super) parts: Box<Parts>,
}

impl Batch {
    /// Follows everything in it.
    pub(super) fn follow(&mut self, flows: &mut Flows) {
        let Self { ops, parts, .. } = self;
        parts.clear();
        ops.each().for_each(|op| flows.op(op, parts));
        parts.complete(&mut ops.labels, &mut ops.stream_labels);
    }

    /// Files what was found, and hashes it if that was asked for.
    pub(super) fn file(
        &mut self,
        hash: &mut Option<Box<DepthHash>>,
        flows: &mut Option<Box<Flows>>,
        many: &mut Many<CellNumber>,
        files: &mut Files<'_>,
    ) {
        let Self { found, parts, .. } = self;
        match flows {
            None => {
                if let Some(hash) = hash {
                    found.each(|label, found| hash.found(label, found));
                }
                files.file(found, many);
            }
            Some(flows) => file_flows(found, &mut **parts, flows.counters(), hash.as_deref_mut(), many, files),
        }
        found.clear();
    }

    /// Notes the flows of what was asked of the stack before a slice.
    pub(super) fn note_asked(&mut self, flows: &mut Flows, frontier: &mut Frontier) {
        flows.note_asked(frontier, &mut self.parts);
    }
}

/// Files what was found for accesses that have numbers, by cell and by flow, and hashes it if that was asked for.
pub fn file_flows(
    found: &Reports,
    parts: &mut impl Numbered,
    flows: &mut FlowCounters,
    mut hash: Option<&mut DepthHash>,
    many: &mut Many<CellNumber>,
    files: &mut Files<'_>,
) {
    found.each(|number, found| {
        let label = parts.label(number);
        let cell = label.cell();
        if let Some(hash) = &mut hash
            && files.has(cell)
        {
            hash.found(label, found);
        }
        files.hold(cell, found, many);
        parts.found(flows, number, found);
    });
    files.file_many(many);
}

/// Has the engine do operations one access at a time, and tells a window what was found for each; `labels` are those
/// of the accesses, whoever has put numbers in their place.
pub fn record(
    window: &mut Recorder,
    ops: &Ops,
    labels: &[Label],
    ranked: &mut Ranked,
    out: &mut Reports,
    files: &Files<'_>,
) {
    let (mut found, mut labels) = (Reports::default(), labels.iter());
    for op in ops.each() {
        let Op::Accesses { accesses, labels: numbers } = op else {
            if let Op::Move { from, to, len } = op {
                window.moves(from, to, len);
            }
            ranked.op(op, out);
            continue;
        };
        for ((access, number), label) in accesses.iter().zip(numbers).zip(labels.by_ref()) {
            ranked.op(Op::accesses(from_ref(access), from_ref(number)), &mut found);
            window.access(*access, label.cell(), files.has(label.cell()), &found);
            out.append(&mut found);
        }
    }
}
