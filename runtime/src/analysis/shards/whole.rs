//! The stack of all slices that were resolved, those who observe beside it, and what slices found on it.
//!
//! Takes boundaries of slices in the order of the run; gives, by part and cell, what was found below them.

use super::super::{
    boundaries::Boundaries,
    engine_slot::EngineSlot,
    fast_paths::{DepthHash, FastPaths},
    pipeline::sinks::file_found,
};
use crate::{
    counts::{cell::CellCounters, depths::DepthCounts, many::Many},
    decode::block::CellNumber,
    engine::Reports,
    observe::{attribution::Files, beside::Observers, flows::FlowCounters},
};

pub struct Whole {
    pub engine_slot: EngineSlot,
    /// They go on behind a slice by themselves, as its cells have other numbers for them.
    pub beside: Observers,
    /// By number of the part.
    pub found: Vec<PrefixHits>,
    /// Depths of first touches.
    pub cold: DepthCounts,
    has_hash: bool,
    reports: Reports,
    many: Many<CellNumber>,
}

/// What one part's slices found below them, by cell of the part.
#[derive(Default)]
pub struct PrefixHits {
    pub cells: Vec<CellCounters>,
    /// By flow of the part, if these are followed.
    pub flows: FlowCounters,
    pub hash: Option<DepthHash>,
}

impl Whole {
    #[must_use]
    pub fn new(engine_slot: EngineSlot, beside: Observers, has_hash: bool) -> Self {
        let (reports, many) = (Reports::default(), Many::default());
        Self { engine_slot, beside, found: Vec::new(), cold: DepthCounts::default(), has_hash, reports, many }
    }

    /// Behind a slice that was not resolved: what this leaves, and asks, is of both.
    #[must_use]
    pub fn continuing(slice: Boundaries) -> Self {
        let mut engine_slot = EngineSlot::new(&FastPaths::default());
        engine_slot.engine_mut().go_on_with_slice(slice.bytes);
        Self::new(engine_slot, Observers::continuing(&slice.beside), false)
    }

    /// Ends that slice.
    pub fn cut(&mut self) -> Boundaries {
        Boundaries { bytes: self.engine_slot.engine_mut().end_slice(), beside: self.beside.cut(), flows: None }
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.engine_slot.engine().heap_bytes() + self.beside.heap_bytes()
    }

    /// Goes on behind a slice of a part that has so many cells by now; its flows, if they are followed, are taken.
    pub fn resolve(&mut self, slice: &mut Boundaries, part: usize, cells: usize) {
        let mut flows = slice.flows.take();
        if self.found.len() <= part {
            self.found.resize_with(part + 1, PrefixHits::default);
        }
        let below = &mut self.found[part];
        below.cells.resize_with(cells, CellCounters::default);
        if let Some(asked) = &flows {
            below.flows.grow(asked.flows);
        }
        if self.has_hash {
            below.hash.get_or_insert_default();
        }
        let (cold, many) = (&mut self.cold, &mut self.many);
        self.engine_slot.engine_mut().resolve(&slice.bytes, &mut self.reports, |reports| {
            let mut files = Files { cells: &mut below.cells, cold };
            let flows = flows.as_mut().map(|asked| (asked, &mut below.flows));
            file_found(reports, flows, below.hash.as_mut(), many, &mut files);
            reports.clear();
        });
    }
}
