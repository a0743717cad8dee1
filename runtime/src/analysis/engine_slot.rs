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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Access, AccessTag, DepthRun, Kind, Stream};

    /// What is found, by label.
    fn found(slot: &mut EngineSlot, op: Op<'_>) -> Vec<(AccessTag, DepthRun)> {
        let (mut reports, mut all) = (Reports::default(), Vec::new());
        slot.op(op, &mut reports);
        reports.each(|label, found| all.push((label, found)));
        all
    }

    #[test]
    fn each_operation_does_to_the_stack_what_it_says() {
        for batches in [true, false] {
            let mut slot = EngineSlot::new(&FastPaths { batches, ..FastPaths::default() });
            let access = |addr, kind| Access { addr, len: 8, kind };
            let label = AccessTag::new;
            let stores = [access(0, Kind::Store), access(8, Kind::Store), access(0, Kind::Load)];
            let labels = [label(4), label(5), label(6)];
            let warm = |above| DepthRun::Warm { above, len: 8 };
            assert_eq!(found(&mut slot, Op::accesses(&stores, &labels)), [(label(6), warm(8))]);
            assert_eq!(found(&mut slot, Op::Move { from: 8, to: 100, len: 8 }), []);
            assert_eq!(found(&mut slot, Op::Output { addr: 100, len: 8 }), []);
            let load = |addr| [access(addr, Kind::Load)];
            assert_eq!(found(&mut slot, Op::accesses(&load(100), &[label(1)])), [(label(1), warm(8))], "it has moved");
            found(&mut slot, Op::Input { addr: 40, len: 8 });
            assert_eq!(found(&mut slot, Op::accesses(&load(40), &[label(2)])), [(label(2), warm(16))], "at the bottom");
            let stream = Stream { addr: 40, stride: 60, len: 8, kind: Kind::Load };
            assert_eq!(
                found(&mut slot, Op::run(&[stream], &[label(3)], 2)),
                [(label(3), warm(0)), (label(3), warm(8))]
            );
        }
    }
}
