//! The engine of one ring, on this thread or on one of its own.
//!
//! Decoding records and filing what loads found takes about as long as the engine itself; on two processors they can
//! run side by side. Order is kept: batches go through one queue, results come back through another, and results are
//! filed in the order of their batches, so that not one number depends on where the engine runs.

pub(super) mod batch;
mod kept;
pub(crate) mod lent;
mod logged;
#[cfg(test)]
mod tests;

use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded};

use self::batch::Batch;
use super::{
    fast_paths::{DepthHash, FastPaths},
    items::Items,
    moves::Move,
    ranked::Ranked,
};
use crate::{
    counts::{caches::ByLevel, lines::OfCells, many::Many},
    decode::{block::CellNumber, context::ContextNumber, locator::SegmentNumber},
    engine::{Access, Label, Stream, dependence},
    objects::ObjectNumber,
    observe::{
        caches::{Caches, Geometry},
        files::Files,
        flows::Flows,
        lines::Lines,
        observer::Observer,
        sample::{Design, Sampled, Sampler},
        window::Recorder,
    },
    oplog::{Op, OpLog, op::Again},
};

/// Accesses that the engine is given at once: few while it shares this thread's caches, many when each hand-over costs.
const BATCH_HERE: usize = 256;
const BATCH_THERE: usize = 16384;
/// Accesses of a run that are handed over at once, so that results in memory are bounded.
const LONGEST_RUN: u64 = 1 << 15;
/// Batches on their way to the engine or back.
const IN_FLIGHT: usize = 8;
/// Iterations of a part of a run whose streams do not meet, that are worth being a run.
const LEAST_PIECE: u64 = 12;
/// A batch that the engine is done with, and the memory that it holds.
struct Done {
    batch: Batch,
    engine_bytes: u64,
}

enum Place {
    Here(Ranked),
    /// No engine: costs are estimated from a sample.
    Sampled(Box<Sampler>),
    There {
        work: Sender<Batch>,
        done: Receiver<Done>,
        thread: JoinHandle<Ranked>,
        in_flight: usize,
        engine_bytes: u64,
    },
    /// Whoever takes the items has an engine for several rings.
    Kept(Items),
    /// No engine: nobody but those who follow beside it is told.
    Nowhere,
}

/// The engine behind a queue of accesses.
pub struct Pipeline {
    place: Place,
    open: Batch,
    limit: usize,
    /// Empty batches whose memory is used again.
    spare: Vec<Batch>,
    /// Everything that the engine was asked to do, for a second analysis.
    log: Option<Box<OpLog>>,
    /// Where bytes come from and go to.
    flows: Option<Box<Flows>>,
    /// What memories of lines would move.
    lines: Vec<Lines>,
    /// What caches of sets and ways would move.
    caches: Option<Box<Caches>>,
    hash: Option<Box<DepthHash>>,
    /// Reads that are being filed.
    many: Box<Many<CellNumber>>,
    /// Single accesses, to look at.
    window: Option<Box<Recorder>>,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self::new(&FastPaths::default())
    }
}

impl Pipeline {
    #[must_use]
    pub fn new(ways: &FastPaths) -> Self {
        let hash = ways.hash.then(Box::default);
        Self { hash, ..Self::of(Ranked::new(ways)) }
    }

    /// What is here, which is not used here any more.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::of(Ranked::default()))
    }

    fn of(ranked: Ranked) -> Self {
        Self {
            place: Place::Here(ranked),
            open: Batch::default(),
            limit: BATCH_HERE,
            spare: Vec::new(),
            log: None,
            flows: None,
            lines: Vec::new(),
            caches: None,
            hash: None,
            many: Box::default(),
            window: None,
        }
    }

    /// Counts reads on the top of the stack, which the engine was not asked about, into the hash of depths.
    pub fn hash_top(&mut self, cell: CellNumber, len: u64, times: u64) {
        if let Some(hash) = &mut self.hash {
            hash.reads(cell, 0, len, times);
        }
    }

    /// Draws a sample in the place of the engine, from now on (nothing was queued yet).
    pub fn start_sample(&mut self, design: Design) {
        self.place = Place::Sampled(Box::new(Sampler::new(design)));
    }

    /// Says how many accesses there were so far, to a sample that the program draws: it does not see all of them.
    pub fn set_time(&mut self, time: u64, files: &mut Files<'_>) {
        if self.open.ops.has_more_than_accesses() {
            self.flush(files);
        }
        let Place::Sampled(sampler) = &mut self.place else { return };
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
        let Place::Sampled(sampler) = &self.place else { return None };
        (self.open.ops.size == 0).then(|| sampler.quiet_for(accesses)).flatten()
    }

    /// Whether a sample looks at bytes, as long as it is quiet.
    #[inline]
    pub fn marks(&self, address: u64, len: u64) -> bool {
        matches!(&self.place, Place::Sampled(sampler) if sampler.marks(address, len))
    }

    /// Whether a sample is drawn in the place of the engine.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        matches!(self.place, Place::Sampled(_))
    }

    /// What the sample has; nothing if there is none. Call after `flush`.
    pub fn take_sample(&mut self) -> Sampled {
        if !self.is_sampled() {
            return Sampled::default();
        }
        match std::mem::replace(&mut self.place, Place::Here(Ranked::new(&FastPaths::default()))) {
            Place::Sampled(sampler) => sampler.finish(),
            Place::Here(_) | Place::There { .. } | Place::Kept(_) | Place::Nowhere => Sampled::default(),
        }
    }

    /// Whether the engine, or what is in its place, has a thread of its own.
    #[must_use]
    pub fn is_threaded(&self) -> bool {
        match &self.place {
            Place::Sampled(sampler) => sampler.is_on_threads(),
            place => matches!(place, Place::There { .. }),
        }
    }

    /// Will record a window of accesses, from when it is opened.
    pub fn set_window(&mut self, window: Recorder) {
        self.window = Some(Box::new(window));
    }

    /// The window begins.
    pub fn open_window(&mut self, files: &mut Files<'_>) {
        self.flush(files);
        if let Some(window) = &mut self.window {
            window.open();
        }
    }

    /// Whether a window is open, or may be.
    #[must_use]
    pub fn has_window(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.is_awake())
    }

    /// What was recorded; call after `flush`.
    pub fn take_window(&mut self) -> Option<Recorder> {
        self.window.take().map(|window| *window)
    }

    /// Moves the engine, or the sample in its place, to a thread of its own, if it has none and the system gives one.
    pub fn start_thread(&mut self, files: &mut Files<'_>) {
        self.flush(files);
        let ranked = match &mut self.place {
            Place::Here(ranked) => ranked,
            Place::Sampled(sampler) => return sampler.start_threads(),
            Place::There { .. } | Place::Kept(_) | Place::Nowhere => return,
        };
        let (work, work_end) = bounded(IN_FLIGHT);
        let (done_end, done) = bounded(IN_FLIGHT + 1);
        let engine_bytes = ranked.engine().heap_bytes();
        // The engine follows when the thread is there; if the system gives none, it stays here.
        let (hand_over, handed) = bounded(1);
        let spawned = std::thread::Builder::new().spawn(move || {
            let ranked: Ranked = handed.recv().expect("it is sent as soon as the thread is there");
            serve(ranked, &work_end, &done_end)
        });
        let Ok(thread) = spawned else { return };
        assert!(hand_over.send(std::mem::take(ranked)).is_ok(), "there is room for one");
        self.place = Place::There { work, done, thread, in_flight: 0, engine_bytes };
        self.limit = BATCH_THERE;
    }

    /// Queues an access; may hand over the queue and file results of earlier ones.
    #[inline]
    pub fn push(&mut self, access: Access, label: Label, files: &mut Files<'_>) {
        if self.open.ops.size >= self.limit {
            self.flush(files);
        }
        self.open.ops.push(access, label);
    }

    /// Queues any operation that somebody wants to know of; may do what `push` may.
    pub fn op(&mut self, op: Op<'_>, files: &mut Files<'_>) {
        let is_wanted = match op {
            Op::Output { .. } => self.log.is_some(),
            Op::Life(_) => self.wants_lives(),
            Op::Sync(_) => matches!(self.place, Place::Kept(_)),
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
    pub fn store_again(&mut self, label: Label) {
        let needs_stores = self.needs_stores();
        let ops = &mut self.open.ops;
        if needs_stores && let Some(access) = ops.accesses.len().checked_sub(1) {
            ops.again.push(Again { access, label });
        }
    }

    /// Queues an affine run; may do what `push` may. Where streams that advance differently meet (`a[j]` passes
    /// `a[k]`), the run is cut, as what follows runs in blocks needs them apart.
    pub fn push_run(&mut self, streams: &[Stream], labels: &[Label], iterations: u64, files: &mut Files<'_>) {
        if self.window.as_ref().is_some_and(|window| window.is_open()) {
            return self.push_singly(streams, labels, iterations, files);
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
                self.push_singly(&streams, labels, piece, files);
            } else {
                self.op(Op::run(&streams, labels, piece), files);
            }
            streams.iter_mut().for_each(|stream| stream.addr = stream.at(piece));
            left -= piece;
            apart = dependence::apart(&streams, left);
        }
    }

    /// Queues the accesses of a run.
    fn push_singly(&mut self, streams: &[Stream], labels: &[Label], iterations: u64, files: &mut Files<'_>) {
        for iteration in 0..iterations {
            for (stream, &label) in streams.iter().zip(labels) {
                self.push(stream.access(iteration), label, files);
            }
        }
    }

    /// As `push_run` for any number of iterations, a piece at a time. The streams advance.
    pub fn push_long_run(&mut self, streams: &mut [Stream], labels: &[Label], iterations: u64, files: &mut Files<'_>) {
        let most = (LONGEST_RUN / streams.len() as u64).max(1);
        let mut left = iterations;
        while left > 0 {
            let piece = left.min(most);
            self.push_run(streams, labels, piece, files);
            for stream in &mut *streams {
                stream.addr = stream.at(piece);
            }
            left -= piece;
        }
    }

    /// The hash of depths, if it is computed.
    pub fn hash_mut(&mut self) -> &mut Option<Box<DepthHash>> {
        &mut self.hash
    }

    /// Keeps another stack of lines, of `bytes` bytes, from now on (nothing was queued yet).
    pub fn start_lines(&mut self, bytes: u32) {
        self.lines.push(Lines::new(bytes));
    }

    /// Keeps caches of such levels, from now on (nothing was queued yet).
    pub fn start_caches(&mut self, levels: &[Geometry]) {
        self.caches = Some(Box::new(Caches::new(levels)));
    }

    /// What caches moved, by cell; call after `flush`.
    pub fn take_caches(&mut self) -> Vec<Option<ByLevel>> {
        self.caches.take().map_or_else(Vec::new, |caches| caches.finish())
    }

    /// Whether something needs to know of stores that the engine need not know of.
    #[inline(always)]
    fn needs_stores(&self) -> bool {
        !self.lines.is_empty() || self.caches.is_some()
    }

    /// What lines moved, by size and cell; call after `flush`.
    pub fn take_lines(&mut self) -> OfCells {
        std::mem::take(&mut self.lines).into_iter().map(Lines::finish).collect()
    }

    /// Follows where bytes come from and go to, from now on (nothing was queued yet), with `patterns` how sites use
    /// data, and with `contexts` in which calling contexts.
    pub fn start_flows(&mut self, patterns: bool, contexts: bool) {
        // Whose the reads of a run are is told in their order.
        if let Place::Here(ranked) = &mut self.place {
            ranked.engine_mut().keep_order();
        }
        let flows = self.flows.insert(Box::default());
        if contexts {
            flows.start_contexts();
        }
        if patterns {
            flows.start_patterns();
        }
    }

    /// The next cells are those of a segment's items.
    pub fn add_cells(&mut self, segment: SegmentNumber, node: ContextNumber, items: usize) {
        if let Some(flows) = &mut self.flows {
            flows.add_cells(segment, node, items);
        }
    }

    /// The next cell is for one object of the site of another cell.
    pub fn add_part(&mut self, of: CellNumber, object: ObjectNumber) {
        if let Some(flows) = &mut self.flows {
            flows.add_part(of, object);
        }
    }

    /// A cell is for one object only; nothing was queued for it yet.
    pub fn set_object(&mut self, cell: CellNumber, object: ObjectNumber) {
        if let Some(flows) = &mut self.flows {
            flows.set_object(cell, object);
        }
    }

    /// The label of a segment's first item while nothing is counted; [`Label::UNCOUNTED`] for all items if nobody needs
    /// to know them.
    pub fn hidden(&mut self, segment: SegmentNumber, node: ContextNumber, items: usize) -> Label {
        self.flows.as_mut().map_or(Label::UNCOUNTED, |flows| flows.hidden(segment, node, items))
    }

    /// Hands the queue to the engine.
    pub fn flush(&mut self, files: &mut Files<'_>) {
        if let Some(log) = &mut self.log {
            self.open.ops.each().for_each(|op| log.op(op));
        }
        for lines in &mut self.lines {
            lines.set_known(files.cells.len());
            self.open.ops.each_store(|op| lines.op(op));
        }
        if let Some(caches) = &mut self.caches {
            caches.set_known(files.cells.len());
            self.open.ops.each_store(|op| caches.op(op));
        }
        let window = self.window.as_mut().filter(|window| window.is_open());
        // Whoever follows flows puts numbers of their own in the place of labels.
        let labels = window.is_some().then(|| self.open.ops.labels.clone());
        if let Some(flows) = &mut self.flows {
            self.open.follow(flows);
        }
        match &mut self.place {
            Place::Here(ranked) => {
                let Batch { ops, found, .. } = &mut self.open;
                match (window, labels) {
                    (Some(window), Some(labels)) => batch::record(window, ops, &labels, ranked, found, files),
                    _ => ops.each().for_each(|op| ranked.op(op, found)),
                }
                ops.clear();
                if let Some(flows) = &mut self.flows
                    && let Some(frontier) = ranked.engine_mut().frontier()
                {
                    self.open.note_asked(flows, frontier);
                }
                self.open.file(&mut self.hash, &mut self.flows, &mut self.many, files);
            }
            Place::Sampled(sampler) => {
                sampler.set_known(files.cells.len());
                self.open.ops.each().for_each(|op| sampler.op(op));
                self.open.ops.clear();
            }
            Place::There { work, done, in_flight, engine_bytes, .. } => {
                if *in_flight >= IN_FLIGHT
                    && let Ok(finished) = done.recv()
                {
                    *in_flight -= 1;
                    *engine_bytes = finished.engine_bytes;
                    let mut batch = finished.batch;
                    batch.file(&mut self.hash, &mut self.flows, &mut self.many, files);
                    self.spare.push(batch);
                }
                let batch = std::mem::replace(&mut self.open, self.spare.pop().unwrap_or_default());
                *in_flight += 1;
                // The engine's thread ends early only by a panic, which `finish` passes on when it joins.
                let _ = work.send(batch);
            }
            Place::Kept(items) => {
                if self.open.ops.size > 0 {
                    items.push(std::mem::take(&mut self.open.ops));
                }
            }
            Place::Nowhere => self.open.ops.clear(),
        }
    }

    /// Memory that the engine holds, as last heard.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        let engine = match &self.place {
            Place::Here(ranked) => ranked.engine().heap_bytes(),
            Place::Sampled(sampler) => sampler.heap_bytes(),
            Place::There { engine_bytes, .. } => *engine_bytes,
            Place::Kept(items) => items.heap_bytes(),
            Place::Nowhere => 0,
        };
        let lines = self.lines.iter().map(Lines::heap_bytes).sum::<u64>();
        let caches = self.caches.as_ref().map_or(0, |caches| caches.heap_bytes());
        engine + lines + caches + self.flows.as_ref().map_or(0, |flows| flows.heap_bytes())
    }

    /// Files everything and gives back the engine, with the hash of depths and the flows if these were asked for.
    pub fn finish(mut self, files: &mut Files<'_>) -> (Ranked, Option<Box<DepthHash>>, Option<Box<Flows>>) {
        self.flush(files);
        let ranked = match self.place {
            Place::Here(ranked) => ranked,
            // An engine that has done nothing.
            Place::Sampled(_) => Ranked::new(&FastPaths::default()),
            Place::Kept(_) | Place::Nowhere => Ranked::default(),
            Place::There { work, done, thread, .. } => {
                drop(work);
                for mut finished in done {
                    finished.batch.file(&mut self.hash, &mut self.flows, &mut self.many, files);
                }
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        (ranked, self.hash, self.flows)
    }
}

/// The engine's thread.
fn serve(mut ranked: Ranked, work: &Receiver<Batch>, done: &Sender<Done>) -> Ranked {
    for mut batch in work {
        batch.ops.each().for_each(|op| ranked.op(op, &mut batch.found));
        batch.ops.clear();
        // The other side waits for all results before it lets go of its end.
        let _ = done.send(Done { batch, engine_bytes: ranked.engine().heap_bytes() });
    }
    ranked
}
