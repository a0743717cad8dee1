//! A queue on its way to the engine, or the results on their way back.
//!
//! Tells who follows flows of what is in it, and files what was found with its cells.

use super::super::{fast_paths::DepthHash, queue::Queue};
use crate::{
    counts::many::Many,
    decode::block::CellNumber,
    engine::{Frontier, Reports},
    observe::{
        files::Files,
        flows::{FlowCounters, Flows, Numbered, Parts},
    },
};

/// A queue on its way to the engine, or the results on their way back.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) queue: Queue,
    pub(super) found: Reports,
    /// If flows are followed, whose the reports are; their labels are numbers of accesses and streams then.
    pub(super) parts: Box<Parts>,
}

impl Batch {
    /// Follows everything in the queue.
    pub(super) fn follow(&mut self, flows: &mut Flows) {
        let Self { queue, parts, .. } = self;
        parts.clear();
        queue.each(
            &mut (flows, &mut **parts),
            |(flows, parts), accesses, labels| flows.follow(accesses, labels, parts),
            |(flows, parts), streams, labels, iterations| {
                flows.follow_run(streams, labels, iterations, parts);
            },
        );
        parts.complete(&mut queue.labels, &mut queue.stream_labels);
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
