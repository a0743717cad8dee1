//! The engine and who follows beside it in the hands of others: parts of a run, and slices of a ring.

use super::{EngineSlot, Pipeline, backend::Backend};
use crate::{
    analysis::boundaries::Boundaries,
    observe::{
        attribution::Files,
        beside::Observers,
        flows::{Flows, Touched},
    },
};

/// What somebody else goes on with.
pub struct Detached {
    pub engine_slot: EngineSlot,
    pub beside: Observers,
    pub flows: Option<Box<Flows>>,
}

impl Pipeline {
    /// From now on, does parts of a run (nothing was queued yet).
    pub fn start_slices(&mut self) {
        self.backend.engine_here().into_iter().for_each(|engine_slot| engine_slot.engine_mut().start_slice());
        self.beside.start_parts();
        self.sinks.flows.iter_mut().for_each(|flows| flows.start_second_pass());
    }

    /// From now on, does the first of two passes over parts of a run, for flows alone (nothing was queued yet).
    pub fn start_first_pass(&mut self) {
        self.backend = Backend::Nowhere;
        self.sinks.flows.iter_mut().for_each(|flows| flows.start_first_pass());
    }

    /// Ends a part of a run in the first pass; the next one begins.
    pub fn end_first_pass(&mut self, files: &mut Files<'_>) -> Option<Touched> {
        self.flush(files);
        self.sinks.flows.as_mut().map(|flows| flows.end_first_pass())
    }

    /// Ends a part of a run; the next one begins.
    pub fn end_slice(&mut self, files: &mut Files<'_>) -> Boundaries {
        self.flush(files);
        let engine_slot = self.backend.engine_here().expect("parts of a run are done on one thread each");
        let bytes = engine_slot.engine_mut().end_slice();
        let flows = self.sinks.flows.as_mut().map(|flows| flows.end_slice());
        Boundaries { bytes, beside: self.beside.cut(), flows }
    }

    /// The engine and who follows beside it, for somebody else to go on with; the engine and flows stay away until they
    /// are given back, the others for ever.
    pub fn lend(&mut self, files: &mut Files<'_>) -> Detached {
        self.flush(files);
        let (beside, flows) = (std::mem::take(&mut self.beside), self.sinks.flows.take());
        let engine_slot = self.backend.engine_here().expect("only an engine that is here is lent");
        Detached { engine_slot: std::mem::take(engine_slot), beside, flows }
    }

    pub fn give_back(&mut self, engine_slot: EngineSlot, flows: Option<Box<Flows>>) {
        (self.backend, self.sinks.flows) = (Backend::Here(engine_slot), flows);
    }
}
