//! The engine, and how it is given a queue of accesses.

use super::{fast_paths::FastPaths, queue::Queue};
use crate::engine::{Access, Engine, Label, Reports};

/// The engine; none once it was taken away.
#[derive(Default)]
pub struct Ranked {
    engine: Option<Box<Engine>>,
    /// Accesses that the engine does at a time.
    together: usize,
}

const GONE: &str = "nobody asks an engine that was taken away";

impl Ranked {
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

    /// Does everything in a queue.
    pub(super) fn replay(&mut self, queue: &Queue, out: &mut Reports) {
        let together = self.together;
        let singles = |(engine, out): &mut (&mut Engine, &mut Reports), accesses: &[Access], labels: &[Label]| {
            for (accesses, labels) in accesses.chunks(together).zip(labels.chunks(together)) {
                engine.batch_to(accesses, labels, out);
            }
        };
        queue.each(&mut (self.engine_mut(), out), singles, |(engine, out), streams, labels, iterations| {
            engine.affine_to(streams, labels, iterations, out);
        });
    }

    /// As `replay` for a queue without runs, and tells of each access, with its number in the queue, what was found for
    /// it.
    pub(super) fn replay_singly(
        &mut self,
        queue: &Queue,
        out: &mut Reports,
        mut tell: impl FnMut(Access, usize, &Reports),
    ) {
        debug_assert!(queue.runs.is_empty(), "a window was opened before they were queued");
        let engine = self.engine_mut();
        let mut found = Reports::default();
        for (number, (&access, &label)) in queue.accesses.iter().zip(&queue.labels).enumerate() {
            engine.batch_to(&[access], &[label], &mut found);
            tell(access, number, &found);
            out.append(&mut found);
        }
    }
}
