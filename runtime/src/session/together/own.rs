//! The stack of a thread alone, beside the one that it shares.
//!
//! Takes what its ring decodes to, before the common stack gets it; files what reads find with the ring's cells, and
//! sets that aside at the end, so that the same cells take what the common stack finds.

use super::stack::Stack;
use crate::{
    counts::cell::{CellCounters, file_lines},
    observe::{files::Files, observer::Observer},
    oplog::Op,
    session::{
        core::{Core, files},
        items::Items,
        options::Options,
        result::OwnStack,
    },
};

/// The stack of one ring.
pub struct Own(Stack);

impl Own {
    /// An empty one.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self(Stack::new(&options.ways, &options.line_sizes))
    }

    /// Does everything that waits.
    pub fn follow(&mut self, core: &mut Core) {
        let Core { engine, cells, cold, .. } = core;
        let mut files = Files { cells, cold };
        let mut worker = Filed { stack: &mut self.0, files: &mut files };
        engine.kept().into_iter().for_each(|items: &mut Items| items.tell(&mut worker));
        self.0.flush(&mut files);
    }

    /// Memory of the engine.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.0.engine.engine_bytes()
    }

    /// Ends it: what its reads found is set aside in the cells.
    #[must_use]
    pub fn finish(mut self, core: &mut Core) -> OwnStack {
        self.0.engine.flush(files!(core));
        file_lines(&mut core.cells, self.0.engine.take_lines());
        let (ranked, ..) = self.0.engine.finish(files!(core));
        core.cells.iter_mut().for_each(CellCounters::set_aside);
        let (cold, engine) = (std::mem::take(&mut core.cold), ranked.engine());
        OwnStack { peak_live: engine.peak_live(), footprint: engine.footprint(), cold }
    }
}

/// A stack with the cells of its ring.
struct Filed<'a, 'c> {
    stack: &'a mut Stack,
    files: &'a mut Files<'c>,
}

impl Observer for Filed<'_, '_> {
    fn op(&mut self, op: Op<'_>) {
        self.stack.op(op, self.files);
    }
}
