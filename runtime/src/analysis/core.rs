//! The counters of one ring, and what changes with each record: calling context, blocks of counters, the engine.
//!
//! Takes segments, events and modules as the decoder finds them; `charge`, `loops` and `library` say what each of them
//! does to it.

use super::{
    exact::Exact,
    lengths::Lengths,
    optimum::Least,
    options::Options,
    pipeline::Pipeline,
    segment_template::{Moves, Skips},
};
use crate::{
    abi::{ItemKind, segment_flag},
    counts::{cell::CellCounters, depths::DepthCounts, pairs::CellPairs},
    decode::{
        block::{BlockCounters, BlockNumbers, CellNumber},
        context::{ContextNumber, Contexts, Left},
        locator::{FunctionNumber, Locator, Module, SegmentNumber},
        ring::{RingSite, RingTotals},
        sequences::Sequences,
    },
    engine::{AccessTag, Stream},
    objects::ObjectNumber,
    observe::{
        caches::Caches,
        flows::Flows,
        hazards::Hazards,
        lines::Lines,
        objects::{CellForObject, ObjectCells, OwnObjects, PartOf},
        window::Recorder,
    },
    oplog::OpLog,
};

/// Everything that changes with each record; apart from the modules, so that both can be borrowed at once.
pub(super) struct Core {
    pub(super) engine: Pipeline,
    /// Affine runs are done by the engine as such.
    pub(super) may_run: bool,
    /// Exact liveness, once the ring has ended.
    pub(super) is_exact: bool,
    /// Capacities whose least possible fetches are found then.
    pub(super) optimum: Vec<u64>,
    /// Nobody looks for depths of bytes.
    lines_only: bool,
    /// Accesses of which nobody but the counters needs to know.
    pub(super) skips: Skips,
    pub(super) contexts: Contexts,
    pub(super) blocks: Vec<BlockCounters>,
    numbers: BlockNumbers,
    pub(super) cells: Vec<CellCounters>,
    pub(super) cold: DepthCounts,
    pub(super) pairs: CellPairs,
    pub(super) totals: RingTotals,
    pub(super) has_roi: bool,
    /// The program draws a sample: there are records of what it looked at only.
    pub(super) filtered: bool,
    /// It also tells where functions begin and end.
    pub(super) follows: bool,
    /// The time that it has told last.
    pub(super) told_time: u64,
    /// How many accesses records of it stand for.
    pub(super) lengths: Lengths,
    /// Declared regions that match the region of interest and are open.
    pub(super) open_regions: u64,
    pub(super) hints: bool,
    pub(super) sequences: Option<Box<Sequences>>,
    /// Objects as this ring alone knows them.
    pub(super) objects: Option<Box<OwnObjects>>,
    /// Cells by object, where another than this ring knows the objects.
    pub(super) parted: Option<Box<ObjectCells>>,
    /// The label of a record's first item while nothing is counted.
    pub(super) hidden: AccessTag,
    /// The affine run at hand, kept for its memory. Who replays a run empties it, fills it and hands it on; nobody
    /// reads it later.
    pub(super) streams: Vec<Stream>,
    pub(super) stream_labels: Vec<AccessTag>,
    /// A window of accesses is to be recorded when the region of interest begins.
    pub(super) window_waits: bool,
}

/// Where the engine files results: two fields of [`Core`], apart from the engine itself.
macro_rules! files {
    ($core:expr) => {
        &mut $crate::observe::attribution::Files { cells: &mut $core.cells, cold: &mut $core.cold }
    };
}
pub(super) use files;

/// Analyzer-wide numbers of a segment.
#[derive(Clone, Copy)]
pub(super) struct Dense {
    pub segment: SegmentNumber,
    pub function: FunctionNumber,
    pub roi: bool,
}

/// How often a segment was executed, of a program that draws a sample.
#[derive(Clone, Copy)]
pub(super) struct Executed {
    /// Analyzer-wide numbers.
    pub place: Dense,
    pub items: usize,
    /// A function begins with it.
    pub enters: bool,
    pub times: u64,
    /// Where that is counted, once it is.
    pub block: Option<u32>,
}

impl Core {
    /// Nothing has been counted.
    pub fn new(options: Options) -> Self {
        let ways = options.ways;
        // Flows, hazards and windows are about these accesses too.
        let may_skip = ways.skips
            && options.together.is_none()
            && options.log.is_none()
            // Time is the number of accesses.
            && options.sample.is_none()
            && !options.flows
            && !options.hazards
            && options.window.is_none();
        let mut core = Core {
            engine: match &options.together {
                Some(together) => Pipeline::deferring(together.sharing.is_some() || options.objects),
                None => Pipeline::new(&ways),
            },
            may_run: ways.runs,
            is_exact: options.exact,
            optimum: options.optimum,
            skips: Skips { loads: may_skip, stores: may_skip },
            contexts: Contexts::default(),
            blocks: Vec::new(),
            numbers: BlockNumbers::default(),
            cells: Vec::new(),
            cold: DepthCounts::default(),
            pairs: CellPairs::default(),
            totals: RingTotals::default(),
            has_roi: options.roi.is_some(),
            filtered: options.filtered,
            follows: options.contexts,
            told_time: 0,
            lengths: Lengths::default(),
            open_regions: 0,
            streams: Vec::new(),
            stream_labels: Vec::new(),
            // Cache lines have no liveness of their own.
            hints: options.hints && !options.lines_only,
            lines_only: options.lines_only,
            sequences: options.sequence.map(|chosen| Box::new(Sequences::new(chosen))),
            objects: (options.objects && options.together.is_none()).then(Box::default),
            parted: (options.objects && options.together.is_some()).then(Box::default),
            hidden: AccessTag::UNCOUNTED,
            window_waits: options.window.is_some(),
        };
        let Core { engine, .. } = &mut core;
        if let Some(limit) = options.window {
            engine.sinks.window = Some(Box::new(Recorder::new(limit)));
        }
        if options.lines_only {
            engine.leave_out_bytes();
        }
        if let Some(design) = options.sample {
            engine.start_sample(design);
        }
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
        if let Some(spool) = options.log {
            core.engine.start_log(OpLog::new(spool));
        }
        if !core.has_roi {
            core.open_window();
        }
        core
    }

    /// Takes note of a module.
    pub(super) fn add(&mut self, module: &Module) {
        self.numbers.add(module);
        if let Some(sequences) = &mut self.sequences {
            sequences.add_module(module);
        }
        if let Some(objects) = &mut self.objects {
            objects.objects.add_module(module);
        }
    }

    #[inline]
    pub(super) fn counting(&self) -> bool {
        !self.has_roi || self.contexts.roi_depth + self.open_regions > 0
    }

    /// Brings the context to where a record with these flags is.
    #[inline]
    pub(super) fn enter(&mut self, flags: u8, record: &[u64], dense: Dense) {
        if let Some(node) = self.follow::<true>(flags, record, dense) {
            self.totals.roi_seen |= dense.roi;
            if dense.roi {
                self.open_window();
            }
            if self.counting() {
                self.contexts.nodes[node.index()].calls += 1;
            }
            if self.sequences.is_some() {
                self.note_call(dense.function);
            }
        }
    }

    /// Brings the context to where a record with these flags is, and counts no call; gives the new context if a
    /// function starts. Whoever does not replay is told of lives alone.
    #[inline]
    pub(super) fn follow<const REPLAY: bool>(
        &mut self,
        flags: u8,
        record: &[u64],
        dense: Dense,
    ) -> Option<ContextNumber> {
        let cookie = || record[record.len() - 1];
        if flags & segment_flag::ENTER != 0 {
            let cookie = if flags & segment_flag::COOKIE != 0 { cookie() } else { 0 };
            return Some(self.contexts.enter(dense.function, cookie, dense.roi));
        }
        if flags & segment_flag::LANDING != 0 {
            let left = self.contexts.land(dense.function, cookie());
            self.leave::<REPLAY>(left);
        } else if self.contexts.function() != Some(dense.function) {
            self.resume::<REPLAY>(dense.function);
        }
        None
    }

    /// A record of a function that is not on top.
    pub(super) fn resume<const REPLAY: bool>(&mut self, function: FunctionNumber) {
        let unseen = self.contexts.resume(function);
        self.totals.unseen_frames += if REPLAY { unseen } else { 0 };
    }

    /// The running function ends.
    #[inline]
    pub(super) fn exit<const REPLAY: bool>(&mut self, function: FunctionNumber) {
        let unseen = self.contexts.exit(function);
        self.totals.unseen_frames += if REPLAY { unseen } else { 0 };
    }

    /// All functions were left.
    pub(super) fn restart<const REPLAY: bool>(&mut self) {
        let left = self.contexts.restart();
        self.leave::<REPLAY>(left);
    }

    /// Frames were left without a return: their variables end.
    fn leave<const REPLAY: bool>(&mut self, left: Left) {
        for (address, len) in left.slots {
            self.life_ends(address, len);
            if REPLAY {
                self.forget(address, len);
            }
        }
        self.totals.unseen_frames += if REPLAY { left.unseen } else { 0 };
    }

    /// Begins the window of accesses, if one is wanted and has not begun.
    fn open_window(&mut self) {
        if std::mem::take(&mut self.window_waits) {
            self.engine.flush(files!(self));
            self.engine.sinks.window.iter_mut().for_each(|window| window.open());
        }
    }

    /// Of each cell, if a window names some: the cell that it is a part of, and its object.
    pub(super) fn parts(&self, window: Option<&Recorder>) -> Vec<PartOf> {
        let parts = window.and(self.objects.as_ref()).map(|objects| objects.cells.parts().to_vec());
        parts.unwrap_or_default()
    }

    /// What is of pairs of cells, with the cells that these are parts of in their places.
    pub(super) fn whole_pairs(&mut self) -> CellPairs {
        let parts = self.objects.as_ref().map(|own| own.cells.parts());
        let parts = parts.or(self.parted.as_ref().map(|cells| cells.parts())).unwrap_or_default();
        std::mem::take(&mut self.pairs).renumbered(|cell| parts.get(cell.index()).map_or(cell, |part| part.0))
    }

    #[cold]
    pub(super) fn note_call(&mut self, function: FunctionNumber) {
        let counts = self.counting();
        if let Some(sequences) = &mut self.sequences {
            sequences.entered(self.contexts.caller(), function, counts);
        }
    }

    /// The cell of an access of a site, which reads so many bytes: that of the object that it goes to, if objects are
    /// measured.
    #[inline]
    pub(super) fn object_cell(&mut self, cell: usize, address: u64, read: u64) -> usize {
        let Some(objects) = &mut self.objects else { return cell };
        let cell = CellNumber::new(cell);
        match objects.cell(cell, address, read) {
            CellForObject::Known(part) => part.index(),
            part => self.cell_for(cell, part).index(),
        }
    }

    /// The cell of an access of a site by the object that it goes to, if objects are measured.
    pub(super) fn cell_of(&mut self, cell: CellNumber, object: ObjectNumber) -> CellNumber {
        match &mut self.objects {
            Some(objects) => {
                let part = objects.cells.cell(cell, object);
                self.cell_for(cell, part)
            }
            None => cell,
        }
    }

    /// The cell of a part, made if there is none yet.
    pub(super) fn cell_for(&mut self, cell: CellNumber, part: CellForObject) -> CellNumber {
        match part {
            CellForObject::Known(part) => part,
            CellForObject::First(cell, object) => {
                self.engine.sinks.flows.iter_mut().for_each(|flows| flows.set_object(cell, object));
                cell
            }
            CellForObject::New(object) => {
                self.cells.push(CellCounters::default());
                self.engine.sinks.flows.iter_mut().for_each(|flows| flows.add_part(cell, object));
                self.objects.as_mut().map_or(cell, |objects| objects.cells.add_part(cell, object))
            }
        }
    }

    /// Block of a segment in the current context, made with its cells on first use.
    #[inline]
    pub(super) fn block(&mut self, segment: SegmentNumber, items: usize) -> u32 {
        self.block_of(self.contexts.current(), segment, items)
    }

    /// Block of a segment in any context of its function, made with its cells on first use.
    #[inline]
    pub(super) fn block_of(&mut self, node: ContextNumber, segment: SegmentNumber, items: usize) -> u32 {
        let next = self.blocks.len() as u32;
        let block = self.numbers.find(node, segment, next);
        if block == next {
            self.add_block(node, segment, items);
        }
        block
    }

    #[cold]
    pub(super) fn add_block(&mut self, node: ContextNumber, segment: SegmentNumber, items: usize) {
        let first_cell = CellNumber::new(self.cells.len());
        self.blocks.push(BlockCounters { node, segment, executions: 0, first_cell, moved: 0 });
        self.cells.resize_with(self.cells.len() + items, CellCounters::default);
        self.engine.sinks.flows.iter_mut().for_each(|flows| flows.add_cells(segment, node, items));
        let cells = self.objects.as_mut().map(|objects| &mut objects.cells).or(self.parted.as_deref_mut());
        if let Some(cells) = cells {
            cells.add_cells(self.cells.len());
        }
    }

    /// The label of a cell or, while nothing is counted, of an item of the record.
    #[inline]
    pub(super) fn label<const COUNT: bool>(&self, number: usize) -> AccessTag {
        if COUNT {
            AccessTag::for_cell(CellNumber::new(number))
        } else if self.hidden == AccessTag::UNCOUNTED {
            AccessTag::UNCOUNTED
        } else {
            self.hidden.after(number)
        }
    }

    /// The site of a cell that is no part of another.
    pub(super) fn site(&self, cell: CellNumber) -> Option<RingSite> {
        // Of blocks without items, the next one has the same first cell.
        let at = self.blocks.partition_point(|block| block.first_cell <= cell);
        let block = self.blocks[..at].last()?;
        Some((block.segment, (cell.index() - block.first_cell.index()) as u32))
    }

    /// The site of any cell as one number.
    pub(super) fn site_name(&self, cell: CellNumber) -> u64 {
        self.site(self.whole_cell(cell)).map_or(0, |(segment, item)| (segment.index() as u64) << 32 | u64::from(item))
    }

    /// The cell that a cell is a part of; itself if it is none.
    pub(super) fn whole_cell(&self, cell: CellNumber) -> CellNumber {
        let parts = self.objects.as_ref().map_or(&[][..], |objects| objects.cells.parts());
        parts.get(cell.index()).map_or(cell, |(whole, _)| *whole)
    }

    /// Counts what need not be looked at each time that a segment is executed: what it writes, and reads on the top of
    /// the stack.
    pub(super) fn count_unmoved(&mut self, moves: &Moves, locator: &Locator) {
        for block in self.blocks.iter().filter(|block| block.moved > 0) {
            let items = locator.items(block.segment);
            for (item, cell) in items.iter().zip(block.first_cell.index()..) {
                if item.kind == ItemKind::Store as u8 {
                    self.cells[cell].written += u64::from(item.size) * block.moved;
                } else if moves.leaves_out(item) {
                    self.cells[cell].read_times(0, u64::from(item.size), block.moved);
                    self.engine.sinks.hash_top(CellNumber::new(cell), u64::from(item.size), block.moved);
                }
            }
        }
    }

    /// Without a stack of bytes, takes back what was counted of reads on its top, which nobody had to look up.
    pub(super) fn forget_unasked(&mut self) {
        if self.lines_only {
            self.cells.iter_mut().for_each(CellCounters::forget_reads);
        }
    }

    /// Puts what was found without dead bytes in the place of what was found with them.
    pub(super) fn exact(&mut self, exact: Exact) {
        for ((cell, exact), left) in self.cells.iter_mut().zip(exact.cells).zip(exact.left) {
            cell.replace(exact, left);
        }
        self.cold = exact.cold;
        self.totals.peak_live = exact.peak_live;
        self.totals.sweep_bytes = exact.sweep_bytes;
    }

    /// Files what memories fetch at least, by cell.
    pub(super) fn least(&mut self, least: Least) {
        for (cell, least) in self.cells.iter_mut().zip(least.cells) {
            cell.least = least;
        }
        self.totals.sweep_bytes = self.totals.sweep_bytes.max(least.heap_bytes);
    }

    pub(super) fn region(&mut self, begins: bool) {
        self.totals.roi_seen = true;
        self.open_regions = if begins { self.open_regions + 1 } else { self.open_regions.saturating_sub(1) };
        if begins {
            self.open_window();
        }
    }
}
