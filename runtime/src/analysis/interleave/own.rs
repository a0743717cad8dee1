//! The stack of a thread alone, beside the one that it shares.
//!
//! Takes what its ring decodes to, before the common stack gets it; files what reads find with the ring's cells, and
//! sets that aside at the end, so that the same cells take what the common stack finds.

use super::stack::Stack;
use crate::{
    analysis::{charge::Charging, counters::Counters, items::Items, options::Options, result::OwnStack},
    counts::cell::CellCounters,
};

/// The stack of one ring.
pub struct RingStack(Stack);

impl RingStack {
    /// An empty one.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self(Stack::new(&options.ways, &options.line_sizes))
    }

    /// Does everything that waits.
    pub fn follow(&mut self, charging: &mut Charging) {
        let Charging { engine, counters, .. } = charging;
        let mut files = counters.files();
        engine
            .backend
            .deferred_items()
            .into_iter()
            .for_each(|items: &mut Items| items.tell(|op| self.0.op(op, &mut files)));
        self.0.flush(&mut files);
    }

    /// Memory of the engine.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.0.engine.engine_bytes()
    }

    /// Ends it: what its reads found is set aside in the cells.
    #[must_use]
    pub fn finish(self, counters: &mut Counters) -> OwnStack {
        let (engine_slot, ..) = self.0.engine.finish(&mut counters.files());
        counters.cells.iter_mut().for_each(CellCounters::set_aside);
        let (cold, engine) = (std::mem::take(&mut counters.cold), engine_slot.engine());
        OwnStack { peak_live: engine.peak_live(), footprint: engine.footprint(), cold }
    }
}
