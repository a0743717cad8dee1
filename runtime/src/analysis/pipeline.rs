//! The engine of one ring and those who observe beside it, on this thread or on threads of their own.
//!
//! Decoding records and filing what loads found takes about as long as the engine itself, and so do lines; they can run
//! side by side (`there`). Order is kept, so that not one number depends on where anybody runs.

pub(super) mod backend;
pub(crate) mod detached;
pub(super) mod sinks;
#[cfg(test)]
mod tests;
mod there;

use std::io;

use self::{
    backend::Backend,
    sinks::{Batch, ReportSinks},
    there::There,
};
use super::{engine_slot::EngineSlot, fast_paths::FastPaths, segment_template::Move};
use crate::{
    counts::{miss_curve::MissCurve, pairs::CellPairs},
    decode::block::CellNumber,
    engine::{Access, AccessTag, Stream, dependence},
    observe::{attribution::Files, beside::Observers, flows::Flows},
    oplog::{Op, OpLog, Recorded, op::Again},
};

/// Accesses that the engine is given at once: few while it shares this thread's caches, many when each hand-over costs.
const BATCH_HERE: usize = 256;
const BATCH_THERE: usize = 16384;
/// Accesses of a run that are handed over at once, so that results in memory are bounded.
const LONGEST_RUN: u64 = 1 << 15;
/// Iterations of a part of a run whose streams do not meet, that are worth being a run.
const LEAST_PIECE: u64 = 12;

/// The engine behind a queue of accesses.
pub struct Pipeline {
    pub(super) backend: Backend,
    open: Batch,
    limit: usize,
    /// Empty batches whose memory is used again: one comes back here when its results are filed, and is taken when the
    /// open one goes.
    spare: Vec<Batch>,
    /// Everything that the engine was asked to do, for a second analysis.
    pub(super) log: Option<Box<OpLog>>,
    /// The engine is told of nothing.
    pub(super) is_without_bytes: bool,
    /// Who observes beside the engine.
    pub beside: Observers,
    /// Who is told what it found.
    pub sinks: ReportSinks,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self::new(&FastPaths::default())
    }
}

impl Pipeline {
    /// The engine is here, on this thread.
    #[must_use]
    pub fn new(ways: &FastPaths) -> Self {
        let sinks = ReportSinks { hash: ways.hash.then(Box::default), ..ReportSinks::default() };
        Self { sinks, ..Self::with_backend(Backend::Here(EngineSlot::new(ways))) }
    }

    /// What is here, which is not used here any more.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::with_backend(Backend::Nowhere))
    }

    /// Whoever does what the engine is asked to do.
    #[must_use]
    pub fn with_backend(backend: Backend) -> Self {
        Self {
            limit: if matches!(backend, Backend::Deferred(_)) { BATCH_THERE } else { BATCH_HERE },
            backend,
            open: Batch::default(),
            spare: Vec::new(),
            log: None,
            is_without_bytes: false,
            beside: Observers::default(),
            sinks: ReportSinks::default(),
        }
    }

    /// Says how many accesses there were so far, to a sample that the program draws: it does not see all of them.
    pub fn set_time(&mut self, time: u64, files: &mut Files<'_>) {
        if self.open.ops.has_more_than_accesses() {
            self.flush(files);
        }
        let Backend::Sampled(sampler) = &mut self.backend else { return };
        // Nothing but the sampler listens, and each record has a time: the way without questions.
        let ops = &mut self.open.ops;
        if ops.size > 0 {
            sampler.set_known(files.cells.len());
            sampler.op(Op::accesses(&ops.accesses, &ops.labels));
            ops.clear();
        }
        sampler.set_time(time);
    }

    /// The time of a sample, if nothing waits for it, and so many accesses from now on it only looks at marked lines.
    pub fn quiet_for(&self, accesses: u64) -> Option<u64> {
        let Backend::Sampled(sampler) = &self.backend else { return None };
        (self.open.ops.size == 0).then(|| sampler.quiet_for(accesses)).flatten()
    }

    /// Moves the engine, or the sample in its place, to a thread of its own, and those beside it to another if there
    /// are processors for both, or no bytes; as far as the system gives threads.
    pub fn start_thread(&mut self, has_more: bool, files: &mut Files<'_>) {
        self.flush(files);
        let engine_slot = match &mut self.backend {
            Backend::Here(engine_slot) => engine_slot,
            Backend::Sampled(sampler) => return sampler.start_threads(),
            Backend::There(_) | Backend::Deferred(_) | Backend::Nowhere => return,
        };
        // Flows put numbers of their own in the place of labels.
        let may_move = (has_more || self.is_without_bytes) && self.sinks.flows.is_none();
        let beside = Some(&mut self.beside).filter(|beside| may_move && !beside.is_empty());
        let engine = Some(engine_slot).filter(|_| !self.is_without_bytes);
        if let Some(there) = There::start(engine, beside) {
            self.backend = Backend::There(there);
            self.limit = BATCH_THERE;
        }
    }

    /// Queues an access; may hand over the queue and file results of earlier ones.
    #[inline]
    pub fn push(&mut self, access: Access, label: AccessTag, files: &mut Files<'_>) {
        if self.open.ops.size >= self.limit {
            self.flush(files);
        }
        self.open.ops.push(access, label);
    }

    /// Queues any operation that somebody wants to know of; may do what `push` may.
    pub fn op(&mut self, op: Op<'_>, files: &mut Files<'_>) {
        let is_wanted = match op {
            Op::Output { .. } => self.log.is_some(),
            Op::Life(_) => self.backend.wants_lives(),
            Op::Sync(_) => matches!(self.backend, Backend::Deferred(_)),
            Op::Accesses { .. } | Op::Run { .. } | Op::Move { .. } | Op::Input { .. } => true,
        };
        if !is_wanted {
            return;
        }
        if self.open.ops.size >= self.limit {
            self.flush(files);
        }
        self.open.ops.add(op);
    }

    /// Queues the accesses of a record; may do what `push` may.
    #[inline]
    pub fn push_moves(&mut self, moves: &[Move], record: &[u64], first_cell: CellNumber, files: &mut Files<'_>) {
        if self.open.ops.size >= self.limit {
            self.flush(files);
        }
        let needs_stores = self.needs_stores();
        let ops = &mut self.open.ops;
        ops.accesses.extend(moves.iter().map(|access| access.access(record)));
        ops.labels.extend(moves.iter().map(|access| access.label(first_cell)));
        ops.size += moves.len();
        if needs_stores {
            let first = ops.accesses.len() - moves.len();
            let again = moves.iter().enumerate().filter_map(|(number, access)| {
                Some(Again { access: first + number, label: access.stored_again(first_cell)? })
            });
            ops.again.extend(again);
        }
    }

    /// The access that was queued last was followed by a store to the same bytes: of no effect on bytes, but lines
    /// become dirty.
    #[inline]
    pub fn store_again(&mut self, label: AccessTag) {
        let needs_stores = self.needs_stores();
        let ops = &mut self.open.ops;
        if needs_stores && let Some(access) = ops.accesses.len().checked_sub(1) {
            ops.again.push(Again { access, label });
        }
    }

    /// Queues an affine run; may do what `push` may. Where streams that advance differently meet (`a[j]` passes
    /// `a[k]`), the run is cut, as what follows runs in blocks needs them apart.
    pub fn push_run(&mut self, streams: &[Stream], labels: &[AccessTag], iterations: u64, files: &mut Files<'_>) {
        if self.sinks.is_window_open() {
            return Op::run(streams, labels, iterations).each_access(|access, label| self.push(access, label, files));
        }
        let apart = dependence::apart(streams, iterations);
        if apart == iterations {
            return self.op(Op::run(streams, labels, iterations), files);
        }
        let mut streams = streams.to_vec();
        let (mut left, mut apart, mut pause) = (iterations, apart, 1);
        while left > 0 {
            let is_worth = apart >= LEAST_PIECE.min(left);
            let piece = if is_worth { apart } else { apart.max(pause).min(left) };
            // Where they have met, it is not known for how long.
            pause = if is_worth { 1 } else { pause * 2 };
            if piece < LEAST_PIECE {
                Op::run(&streams, labels, piece).each_access(|access, label| self.push(access, label, files));
            } else {
                self.op(Op::run(&streams, labels, piece), files);
            }
            streams.iter_mut().for_each(|stream| stream.addr = stream.address_at(piece));
            left -= piece;
            apart = dependence::apart(&streams, left);
        }
    }

    /// Queues an affine run of any number of iterations, a piece at a time. The streams advance.
    pub fn push_long_run(
        &mut self,
        streams: &mut [Stream],
        labels: &[AccessTag],
        iterations: u64,
        files: &mut Files<'_>,
    ) {
        let most = (LONGEST_RUN / streams.len() as u64).max(1);
        let mut left = iterations;
        while left > 0 {
            let piece = left.min(most);
            self.push_run(streams, labels, piece, files);
            for stream in &mut *streams {
                stream.addr = stream.address_at(piece);
            }
            left -= piece;
        }
    }

    /// Whether something needs to know of stores that the engine need not know of.
    #[inline(always)]
    fn needs_stores(&self) -> bool {
        !self.beside.is_empty() || self.backend.has_beside()
    }

    /// Follows where bytes come from and go to, from now on (nothing was queued yet).
    pub fn start_flows(&mut self, flows: Flows) {
        // Whose the reads of a run are is told in their order.
        self.backend.engine_here().into_iter().for_each(|engine_slot| engine_slot.engine_mut().keep_order());
        self.sinks.flows = Some(Box::new(flows));
    }

    /// Hands the queue to the engine.
    pub fn flush(&mut self, files: &mut Files<'_>) {
        if let Some(log) = &mut self.log {
            self.open.ops.each().for_each(|op| log.op(op));
        }
        self.beside.follow(&self.open.ops, files.cells.len());
        self.sinks.follow(&mut self.open, files);
        match &mut self.backend {
            Backend::Here(_) if self.is_without_bytes => self.open.ops.clear(),
            Backend::Here(engine_slot) => {
                self.sinks.run_batch(engine_slot, &mut self.open, files);
                self.sinks.file(&mut self.open, files);
            }
            Backend::Sampled(sampler) => {
                sampler.set_known(files.cells.len());
                self.open.ops.each().for_each(|op| sampler.op(op));
                self.open.ops.clear();
            }
            Backend::There(there) => {
                if let Some(mut batch) = there.come_back() {
                    self.sinks.file(&mut batch, files);
                    self.spare.push(batch);
                }
                let mut batch = std::mem::replace(&mut self.open, self.spare.pop().unwrap_or_default());
                batch.cells = files.cells.len();
                there.hand_over(batch);
            }
            Backend::Deferred(items) => {
                if self.open.ops.size > 0 {
                    items.push(std::mem::take(&mut self.open.ops));
                }
            }
            Backend::Nowhere => self.open.ops.clear(),
        }
    }

    /// What was written down of a part of a run, if anything was to be; the next one begins.
    pub fn cut_log(&mut self, files: &mut Files<'_>) -> Option<io::Result<Recorded>> {
        self.flush(files);
        self.log.as_mut().map(|log| log.cut())
    }

    /// Memory that the engine holds, as last heard.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        let flows = self.sinks.flows.as_ref().map_or(0, |flows| flows.heap_bytes());
        self.backend.heap_bytes() + self.beside.heap_bytes() + flows
    }

    /// Files everything and gives back the engine, how far a sample has seen, who was told what was found, and what is
    /// of pairs of cells.
    pub fn finish(mut self, files: &mut Files<'_>) -> (EngineSlot, MissCurve, ReportSinks, CellPairs) {
        self.flush(files);
        let Self { backend, mut beside, mut sinks, .. } = self;
        let mut miss_curve = MissCurve::default();
        let engine_slot = match backend {
            Backend::Here(engine_slot) => engine_slot,
            Backend::Sampled(sampler) => {
                let sampled = sampler.finish();
                files.cells.iter_mut().zip(sampled.cells).for_each(|(cell, counts)| cell.sampled = counts);
                miss_curve = sampled.miss_curve;
                // An engine that has done nothing.
                EngineSlot::new(&FastPaths::default())
            }
            Backend::Deferred(_) | Backend::Nowhere => EngineSlot::default(),
            Backend::There(there) => {
                let (engine_slot, followed) = there.finish(|mut batch| sinks.file(&mut batch, files));
                beside = followed.unwrap_or(beside);
                engine_slot.unwrap_or_else(|| EngineSlot::new(&FastPaths::default()))
            }
        };
        let pairs = beside.finish(files.cells);
        (engine_slot, miss_curve, sinks, pairs)
    }

    /// Those who observe beside the engine, as far as they came, where somebody has failed.
    #[must_use]
    pub fn observers(self) -> Observers {
        match self.backend {
            Backend::There(there) if there.has_beside() => there.abandon().unwrap_or_default(),
            _ => self.beside,
        }
    }
}
