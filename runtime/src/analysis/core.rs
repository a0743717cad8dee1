//! What changes with each record of a ring: the running functions, and what their accesses are charged to.
//!
//! Takes segments, events and modules as the decoder finds them; `library` says what events do, and `filtered` what
//! records of a sample do.

use super::{
    calls::{Calls, RingSegment, Step},
    charge::Charging,
    loops::RecordRows,
    options::Options,
    pipeline::{Pipeline, backend::Backend},
    sampled::SampledRecords,
    segment_template::Move,
};
use crate::{
    abi::{Item, SegmentKind, segment_flag},
    decode::{
        block::CellNumber,
        context::Left,
        locator::{FunctionNumber, Module, SegmentNumber},
    },
    observe::{caches::Caches, flows::Flows, hazards::Hazards, lines::Lines, window::Recorder},
    oplog::OpLog,
    sites::Segment,
};

/// Everything that changes with each record; apart from the modules, so that both can be borrowed at once.
pub(super) struct Core {
    pub(super) calls: Calls,
    pub(super) charging: Charging,
    pub(super) sampled: SampledRecords,
    /// A window of accesses is to be recorded when the region of interest begins.
    window_waits: bool,
}

/// How often a segment was executed, of a program that draws a sample.
#[derive(Clone, Copy)]
pub(super) struct Executed {
    pub at: RingSegment,
    pub items: usize,
    /// A function begins with it.
    pub enters: bool,
    pub times: u64,
    /// The cell of its first item, once there is one.
    pub first_cell: Option<CellNumber>,
}

/// The engine of a ring, and those who observe beside it.
fn pipeline(options: &Options) -> Pipeline {
    let mut engine = match (&options.together, options.sample) {
        (Some(together), _) => {
            Pipeline::with_backend(Backend::deferring(together.sharing.is_some() || options.objects))
        }
        (None, Some(design)) => Pipeline::with_backend(Backend::sampling(design)),
        (None, None) => Pipeline::new(&options.ways),
    };
    engine.sinks.window = options.window.map(|limit| Box::new(Recorder::new(limit)));
    engine.is_without_bytes = options.lines_only;
    if options.flows {
        engine.start_flows(Flows::new(options.objects, options.flow_contexts));
    }
    if options.together.is_none() {
        engine.beside.lines.extend(options.line_sizes.iter().map(|bytes| Lines::new(*bytes)));
    }
    if !options.caches.is_empty() {
        engine.beside.caches.push(Caches::new(&options.caches));
    }
    engine.beside.hazards.extend(options.hazards.then(Hazards::default));
    engine.log = options.log.clone().map(|spool| Box::new(OpLog::new(spool)));
    engine
}

impl Core {
    /// Nothing has been counted.
    pub fn new(options: &Options) -> Self {
        let mut core = Core {
            calls: Calls::new(options),
            charging: Charging::new(options, pipeline(options)),
            sampled: SampledRecords::new(options.filtered, options.contexts),
            window_waits: options.window.is_some(),
        };
        if !core.calls.has_roi {
            core.open_window();
        }
        core
    }

    /// Takes note of a module.
    pub(super) fn add(&mut self, module: &Module) {
        self.calls.add(module);
        self.charging.counters.add(module);
        self.charging.objects.iter_mut().for_each(|objects| objects.add_module(module));
    }

    /// A record of a segment, by its moves if it has nothing else.
    pub(super) fn segment(
        &mut self,
        segment: &Segment,
        items: &[Item],
        moves: Option<&[Move]>,
        record: &[u64],
        at: RingSegment,
    ) {
        self.enter(segment.flags, record, at);
        let is_loop = segment.kind == SegmentKind::Loop as u8;
        if self.calls.counting() {
            let charging = &mut self.charging;
            let block = charging.block(self.calls.contexts.current(), at.segment, items.len());
            block.executions += if is_loop { record[1] } else { 1 };
            let first = block.first_cell;
            if let Some(moves) = moves {
                block.moved += 1;
                charging.totals.accesses += items.len() as u64;
                charging.engine.push_moves(moves, record, first, &mut charging.counters.files());
            } else if is_loop {
                charging.iterations::<true>(items, record, first.index());
            } else {
                charging.items::<true>(items, record, first.index());
            }
        } else {
            self.uncounted(items, record, at.segment, is_loop);
        }
        if segment.flags & segment_flag::EXIT != 0 {
            self.exit(at.function);
        }
    }

    /// Accesses of a record outside the region of interest.
    #[inline]
    pub(super) fn uncounted(&mut self, items: &[Item], record: &[u64], segment: SegmentNumber, is_loop: bool) {
        self.charging.hide(self.calls.contexts.current(), segment, items.len());
        if is_loop {
            self.charging.iterations::<false>(items, record, 0);
        } else {
            self.charging.items::<false>(items, record, 0);
        }
    }

    /// Rows of records that advance evenly.
    pub(super) fn rows(&mut self, rows: &RecordRows<'_>, function: FunctionNumber) {
        self.be_in(function);
        self.charging.rows(rows, self.calls.contexts.current(), self.calls.counting());
    }

    /// Brings the context to where a record with these flags is.
    #[inline]
    pub(super) fn enter(&mut self, flags: u8, record: &[u64], at: RingSegment) {
        match self.calls.step(flags, record, at) {
            Step::Stays => {}
            Step::Resumes(unseen) => self.charging.totals.unseen_frames += unseen,
            Step::Lands(left) => self.leave(left),
            Step::Enters(node) => {
                self.charging.totals.roi_seen |= at.roi;
                if at.roi {
                    self.open_window();
                }
                if self.calls.counting() {
                    self.calls.contexts.nodes[node.index()].calls += 1;
                }
                self.calls.note_call(at.function);
            }
        }
    }

    /// A record of a function is at hand.
    #[inline]
    pub(super) fn be_in(&mut self, function: FunctionNumber) {
        if self.calls.contexts.function() != Some(function) {
            if self.sampled.filtered && !self.sampled.follows {
                self.restart();
            }
            self.charging.totals.unseen_frames += self.calls.contexts.resume(function);
        }
    }

    /// The running function ends.
    #[inline]
    pub(super) fn exit(&mut self, function: FunctionNumber) {
        self.charging.totals.unseen_frames += self.calls.contexts.exit(function);
    }

    /// All functions were left.
    pub(super) fn restart(&mut self) {
        let left = self.calls.contexts.restart();
        self.leave(left);
    }

    /// Frames were left without a return: their variables end.
    fn leave(&mut self, left: Left) {
        left.slots.into_iter().for_each(|(address, len)| self.charging.end(address, len));
        self.charging.totals.unseen_frames += left.unseen;
    }

    /// A region of interest begins or ends.
    pub(super) fn region(&mut self, begins: bool) {
        self.charging.totals.roi_seen = true;
        self.calls.region(begins);
        if begins {
            self.open_window();
        }
    }

    /// Begins the window of accesses, if one is wanted and has not begun.
    fn open_window(&mut self) {
        if std::mem::take(&mut self.window_waits) {
            self.charging.flush();
            self.charging.engine.sinks.window.iter_mut().for_each(|window| window.open());
        }
    }
}
