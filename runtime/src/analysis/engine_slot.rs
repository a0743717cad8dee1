//! The engine, and how it is told what to do.

use super::fast_paths::FastPaths;
use crate::{
    engine::{Engine, Reports},
    oplog::Op,
};

/// The engine; none once it was taken away.
#[derive(Default)]
pub struct EngineSlot {
    engine: Option<Box<Engine>>,
    /// Accesses that the engine does at a time.
    together: usize,
}

const GONE: &str = "nobody asks an engine that was taken away";

impl EngineSlot {
    /// An engine that goes the chosen ways.
    #[must_use]
    pub fn new(ways: &FastPaths) -> Self {
        let together = if ways.batches { usize::MAX } else { 1 };
        Self { engine: Some(Box::new(Engine::with_options(ways.engine()))), together }
    }

    /// The engine; for what is asked once per batch or less.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().expect(GONE)
    }

    pub(super) fn engine_mut(&mut self) -> &mut Engine {
        self.engine.as_mut().expect(GONE)
    }

    /// Has the engine do what it is asked to do.
    #[inline]
    pub(super) fn op(&mut self, op: Op<'_>, out: &mut Reports) {
        let together = self.together;
        let engine = self.engine_mut();
        match op {
            Op::Accesses { accesses, labels } => {
                for (accesses, labels) in accesses.chunks(together).zip(labels.chunks(together)) {
                    engine.batch_to(accesses, labels, out);
                }
            }
            Op::Run { streams, labels, iterations } => engine.affine_to(streams, labels, iterations, out),
            Op::Move { from, to, len } => engine.relocate(from, to, len),
            Op::Input { addr, len } => engine.insert_bottom(addr, len),
            Op::Output { addr, len } => engine.output(addr, len),
            Op::Life(_) | Op::Sync(_) => {}
        }
    }
}
