//! The forward pass: the usual engine, told where bytes die.
//!
//! Takes blocks of operations with their marks, in order. A load prices all its bytes; then those that die leave the
//! stack instead of moving to the top. A store puts only those bytes on the stack that will be read. So whatever is on
//! the stack is read again, and a death that the program declares finds nothing.

use super::{
    super::{boundaries::Boundaries, engine_slot::EngineSlot, pipeline::Pipeline},
    result::Exact,
};
use crate::{
    counts::cell::CellCounters,
    decode::block::CellNumber,
    engine::{Access, AccessTag, Kind, Stream, clamped},
    observe::{
        attribution::Files,
        liveness::{
            bits::{add_runs, low_ones},
            marks::{Fate, Marks, Segment},
        },
    },
    oplog::{Op, Ops},
};

/// Iterations of an affine run that are worth telling the engine about as one.
const LEAST_RUN: u64 = 8;

#[derive(Default)]
pub struct Forward {
    engine: Pipeline,
    found: Exact,
    /// What is left of the run at hand, in iterations that fare alike. Filled and handed on in one step.
    streams: Vec<Stream>,
    stream_labels: Vec<AccessTag>,
    /// The ranges of the access at hand. Filled and handed on in one step.
    ranges: Vec<(u64, u64)>,
}

/// Where the engine files results: a field of [`Forward`], apart from the engine itself.
macro_rules! files {
    ($forward:expr) => {
        &mut Files::new(&mut $forward.found.cells, &mut $forward.found.cold)
    };
}

/// What is left to use of a block's marks.
struct Rest<'a> {
    fates: &'a [u8],
    masks: &'a [u64],
    segments: &'a [Segment],
    range_counts: &'a [u64],
    ranges: &'a [(u64, u64)],
}

/// The first `count` of a list, which then are gone from it; fewer if there are not so many.
fn split<'a, T>(list: &mut &'a [T], count: usize) -> &'a [T] {
    let (first, rest) = list.split_at(count.min(list.len()));
    *list = rest;
    first
}

impl Forward {
    /// A pass over a ring with so many cells, from its beginning on.
    #[must_use]
    pub fn new(cells: usize) -> Self {
        Self { found: Exact::new(cells), ..Self::default() }
    }

    /// A pass over slices of a ring with so many cells.
    #[must_use]
    pub fn over_slices(cells: usize) -> Self {
        let mut forward = Self::new(cells);
        forward.engine.start_slices();
        forward
    }

    /// Gives the engine a thread of its own.
    pub fn start_thread(&mut self) {
        self.engine.start_thread(false, files!(self));
    }

    /// Ends a slice; gives what it asks of the stack before it.
    pub fn end_slice(&mut self) -> Boundaries {
        self.engine.end_slice(files!(self))
    }

    /// The stack, for somebody else to go on with; it must be given back.
    pub fn lend(&mut self) -> EngineSlot {
        self.engine.lend(files!(self)).engine_slot
    }

    pub fn give_back(&mut self, stack: EngineSlot) {
        self.engine.give_back(stack, None);
    }

    /// Ends the pass; gives what it found.
    #[must_use]
    pub fn finish(mut self) -> Exact {
        let (stack, ..) = self.engine.take().finish(files!(self));
        self.found.cells.iter_mut().for_each(CellCounters::flush);
        Exact { peak_live: stack.engine().peak_live(), ..self.found }
    }

    /// Does a block.
    pub fn block(&mut self, ops: &Ops, marks: &Marks) {
        let mut rest = Rest {
            fates: &marks.fates,
            masks: &marks.masks,
            segments: &marks.segments,
            range_counts: &marks.range_counts,
            ranges: &marks.ranges,
        };
        for op in ops.each() {
            match op {
                Op::Accesses { accesses, labels } => {
                    let fates = split(&mut rest.fates, accesses.len());
                    for ((&access, &label), &fate) in accesses.iter().zip(labels).zip(fates) {
                        self.access(access, label, Fate::from_code(fate), &mut rest);
                    }
                }
                Op::Run { streams, labels, iterations } => self.run(streams, labels, iterations, &mut rest),
                Op::Input { .. } => {
                    // Each goes below what is there, so the lowest is last.
                    for &(addr, len) in rest.needed().iter().rev() {
                        self.engine.op(Op::Input { addr, len }, files!(self));
                    }
                }
                Op::Output { addr, len } => self.output(addr, len, rest.needed()),
                Op::Move { .. } | Op::Life(_) | Op::Sync(_) => self.engine.op(op, files!(self)),
            }
        }
    }

    #[inline]
    fn access(&mut self, access: Access, label: AccessTag, fate: Fate, rest: &mut Rest<'_>) {
        match (access.kind, fate) {
            (Kind::Remove, _) => {}
            (_, Fate::Kept) => self.push(access, label),
            (Kind::Load | Kind::Last, Fate::Dead) => {
                self.count_last_read(label.cell(), u64::from(access.len));
                self.push(Access { kind: Kind::Last, ..access }, label);
            }
            (Kind::Store | Kind::Fresh, Fate::Dead) => self.count_unread(label.cell(), u64::from(access.len)),
            (_, Fate::Mixed) => self.mixed(access, label, rest),
        }
    }

    #[inline]
    fn push(&mut self, access: Access, label: AccessTag) {
        self.engine.push(access, label, files!(self));
    }

    #[inline]
    fn count_last_read(&mut self, cell: CellNumber, bytes: u64) {
        if let Some(left) = self.found.left.get_mut(cell.index()) {
            left.last_read += bytes;
        }
    }

    #[inline]
    fn count_unread(&mut self, cell: CellNumber, bytes: u64) {
        if let Some(left) = self.found.left.get_mut(cell.index()) {
            left.unread += bytes;
        }
    }

    #[cold]
    fn mixed(&mut self, access: Access, label: AccessTag, rest: &mut Rest<'_>) {
        let len = clamped(access.addr, u64::from(access.len));
        let masks = split(&mut rest.masks, len.div_ceil(64) as usize);
        let is_load = matches!(access.kind, Kind::Load | Kind::Last);
        let (mut ranges, mut dead) = (std::mem::take(&mut self.ranges), 0);
        ranges.clear();
        for (start, live) in (0..len).step_by(64).zip(masks) {
            let all = low_ones((len - start).min(64));
            dead += u64::from((!live & all).count_ones());
            // Of a load what dies, of a store what lives.
            add_runs(access.addr + start, if is_load { !live & all } else { live & all }, &mut ranges);
        }
        if is_load {
            self.count_last_read(label.cell(), dead);
            self.push(access, label);
        } else {
            self.count_unread(label.cell(), dead);
        }
        let kind = if is_load { Kind::Remove } else { access.kind };
        for &(addr, len) in &ranges {
            self.push(Access { addr, len: len as u32, kind }, AccessTag::UNCOUNTED);
        }
        self.ranges = ranges;
    }

    fn run(&mut self, streams: &[Stream], labels: &[AccessTag], iterations: u64, rest: &mut Rest<'_>) {
        let mut done = 0;
        while done < iterations {
            let Some((&segment, others)) = rest.segments.split_first() else { return };
            rest.segments = others;
            if segment.mixed == 0 && segment.iterations >= LEAST_RUN {
                self.alike(streams, labels, done, segment);
            } else {
                self.do_each(streams, labels, done, segment, rest);
            }
            done += segment.iterations.max(1);
        }
    }

    /// Iterations in which each stream's bytes fare alike.
    fn alike(&mut self, streams: &[Stream], labels: &[AccessTag], done: u64, segment: Segment) {
        self.streams.clear();
        self.stream_labels.clear();
        for (number, (stream, &label)) in streams.iter().zip(labels).enumerate() {
            let is_load = stream.kind == Kind::Load;
            let is_dead = segment.dead >> number & 1 == 1;
            let bytes = u64::from(stream.len) * segment.iterations;
            let kind = match (is_load, is_dead) {
                (true, false) => Kind::Load,
                (true, true) => {
                    self.count_last_read(label.cell(), bytes);
                    Kind::Last
                }
                (false, false) => Kind::Fresh,
                (false, true) => {
                    self.count_unread(label.cell(), bytes);
                    continue;
                }
            };
            let addr = stream.address_at(done);
            self.streams.push(Stream { addr, kind, ..*stream });
            self.stream_labels.push(label);
        }
        if !self.streams.is_empty() {
            self.engine.push_run(&self.streams, &self.stream_labels, segment.iterations, files!(self));
        }
    }

    fn do_each(&mut self, streams: &[Stream], labels: &[AccessTag], done: u64, segment: Segment, rest: &mut Rest<'_>) {
        for iteration in done..done + segment.iterations {
            for (number, (stream, &label)) in streams.iter().zip(labels).enumerate() {
                let addr = stream.address_at(iteration);
                let fate = match (segment.dead >> number & 1, segment.mixed >> number & 1) {
                    (_, 1) => Fate::Mixed,
                    (1, _) => Fate::Dead,
                    _ => Fate::Kept,
                };
                self.access(Access { addr, len: stream.len, kind: stream.kind }, label, fate, rest);
            }
        }
    }

    /// What was needed up to here only, leaves.
    fn output(&mut self, addr: u64, len: u64, kept: &[(u64, u64)]) {
        let end = addr + clamped(addr, len);
        let mut at = addr;
        for (start, len) in kept.iter().copied().chain([(end, 0)]) {
            let mut left = start - at;
            while left > 0 {
                let part = left.min(1 << 31);
                self.push(Access { addr: start - left, len: part as u32, kind: Kind::Remove }, AccessTag::UNCOUNTED);
                left -= part;
            }
            at = start + len;
        }
    }
}

impl<'a> Rest<'a> {
    /// The ranges that are needed of the next declared input or output.
    fn needed(&mut self) -> &'a [(u64, u64)] {
        let count = split(&mut self.range_counts, 1).first().copied().unwrap_or(0);
        split(&mut self.ranges, count as usize)
    }
}
