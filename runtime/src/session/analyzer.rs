//! Replays the records of one ring: every access goes through the engine, every result to the cell of its context and site.
//!
//! Takes words in the layout of [`crate::abi`], gives counters per (context, segment) and (context, site). A word that is
//! neither a known descriptor nor an event cannot be skipped safely; the rest of its chunk is counted as lost.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    Options, RegionOfInterest,
    context::{Contexts, Node},
    counters::{CellCounters, DepthCounts},
    flows::{Followed, RingSite, UNCOUNTED},
    hash::FastHash,
    lines::LineCounts,
    locator::{Locator, Module},
    merge::SiteKey,
    moves::{Move, Moves, Skips},
    objects::{ObjectCells, Part, RingObjects},
    pipeline::{Files, Pipeline},
    plain::Quick,
    records::{self, Event},
    rows::{self, Rhythm, Row, Turn},
    sequences::{Calls, Sequences},
    window::{Recorder, Window},
};
use crate::exact::{self, OpLog};
use crate::{
    abi::{COPY_BLOCK, EventKind, Item, ItemKind, SegmentKind, item_flag, segment_flag},
    engine::{Access, Kind, Stream},
    motion::result::RingMotion,
    objects::{ObjectNumber, Origin},
    sites::{Segment, SiteTable},
    values::RegionTotals,
};

/// A table at its place in one process.
#[derive(Clone)]
pub struct Placed {
    /// Run-time address of the descriptors.
    pub low: u64,
    pub table: Arc<SiteTable>,
    /// Number of the table in the session.
    pub id: u32,
}

/// Executions of one segment in one context, and where its cells start.
#[derive(Clone, Copy, Debug)]
pub struct BlockCounters {
    pub node: Node,
    /// Analyzer-wide segment number.
    pub segment: u32,
    pub executions: u64,
    pub(crate) first_cell: u32,
    /// Executions of which only the moves were looked at; see [`Moves`].
    pub(crate) moved: u64,
}

/// Totals of one ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingTotals {
    pub accesses: u64,
    pub unknown_frees: u64,
    /// Chunks' rests that could not be decoded, in words.
    pub lost_words: u64,
    /// Segments that match the region of interest were seen.
    pub roi_seen: bool,
    pub peak_live: u64,
    pub footprint: u64,
    /// Any record at all was replayed.
    pub active: bool,
    /// Most memory that the search for dead bytes took.
    pub sweep_bytes: u64,
    /// Accesses that the engine did in blocks of iterations.
    pub in_blocks: u64,
    /// See [`DepthHash`](super::fast_paths::DepthHash), if it was asked for.
    pub depth_hash: Option<u64>,
}

impl RingTotals {
    /// Counts a chunk of which so many words could not be decoded.
    pub fn replayed(&mut self, words: &[u64], lost: u64) {
        self.lost_words += lost;
        self.active |= lost == 0 && !words.is_empty();
    }
}

/// Gives modules to an analyzer that meets an unknown descriptor.
pub trait ModuleSource {
    /// Modules of this ring's process, as far as known by now.
    fn modules(&mut self) -> Vec<Placed>;
}

pub struct Analyzer {
    pub(super) locator: Locator,
    pub(super) tables: Tables,
    /// The records at hand that may be the first of a run.
    row: Row,
    /// Where the chunk at hand ends, and where a run that was too short to matter does, in words of the ring.
    end: u64,
    pub(super) singly_until: u64,
    /// Nobody but the counters needs to know of plain segments.
    may_hurry: bool,
    pub(super) core: Core,
}

/// What is known per module, by numbers that are unique in the ring.
pub(super) struct Tables {
    roi: Option<Arc<dyn RegionOfInterest>>,
    may_repeat: bool,
    /// By segment: the context it last ran in, and its block there.
    last_block: Vec<(Node, u32)>,
    /// By segment: when its records come, as rows of them can be a regular run.
    pub(super) rhythms: Vec<Rhythm>,
    /// By segment, if there are moves.
    pub(super) quick: Vec<Quick>,
    pub(super) moves: Option<Moves>,
    /// By function: whether the region of interest matches it.
    is_roi: Vec<bool>,
}

impl Tables {
    fn add(&mut self, module: &Module) {
        let table = &module.placed.table;
        let names = table.functions.iter().map(|f| table.strings.get(f.name as usize).map_or("", String::as_str));
        match &self.roi {
            Some(roi) => self.is_roi.extend(names.map(|n| roi.matches_symbol(n))),
            None => self.is_roi.resize(self.is_roi.len() + table.functions.len(), false),
        }
        self.last_block.resize(self.last_block.len() + table.segments.len(), (0, NO_BLOCK));
        let repeats = |segment| self.may_repeat && rows::repeats(segment, table);
        self.rhythms.extend(table.segments.iter().map(|segment| Rhythm::new(repeats(segment))));
        if let Some(moves) = &mut self.moves {
            moves.add(table);
            for (segment, number) in table.segments.iter().zip(module.first_segment..) {
                let repeats = self.rhythms[number as usize].repeats();
                self.quick.push(Quick::new(segment, number, module.first_function, moves, repeats));
            }
        }
    }
}

/// Everything that changes with each record; apart from the modules, so that both can be borrowed at once.
pub(super) struct Core {
    pub(super) engine: Pipeline,
    line_shift: Option<u32>,
    /// Regular runs are done by the engine as such.
    may_run: bool,
    /// Accesses of which nobody but the counters needs to know.
    skips: Skips,
    pub(super) contexts: Contexts,
    pub(super) blocks: Vec<BlockCounters>,
    block_of: HashMap<(Node, u32), u32, FastHash>,
    pub(super) cells: Vec<CellCounters>,
    pub(super) cold: DepthCounts,
    pub(super) totals: RingTotals,
    has_roi: bool,
    /// Declared regions that match the region of interest and are open.
    open_regions: u64,
    hints: bool,
    sequences: Option<Box<Sequences>>,
    objects: Option<Box<ObjectCells>>,
    /// What stands in the place of the cell of a record's first item while nothing is counted.
    hidden: u32,
    /// The regular run at hand.
    streams: Vec<Stream>,
    stream_cells: Vec<u32>,
    /// A window of accesses is to be recorded when the region of interest begins.
    window_waits: bool,
}

pub(super) const NO_BLOCK: u32 = u32::MAX;
/// Accesses of an iteration of a regular run, at most.
pub(super) const MOST_STREAMS: usize = 32;
/// Iterations of a regular run, at least.
const LEAST_RUN: usize = 12;

/// Where the engine files results: two fields of [`Core`], apart from the engine itself.
macro_rules! files {
    ($core:expr) => {
        &mut Files { cells: &mut $core.cells, cold: &mut $core.cold }
    };
}

impl Analyzer {
    #[must_use]
    pub fn new(options: Options) -> Self {
        let ways = options.ways;
        // Lines of a run are not at constant distances.
        let may_run = options.line.is_none();
        // Flows are about these accesses too.
        let may_skip = may_run && ways.skips && options.exact.is_none() && !options.flows && options.window.is_none();
        let skips = Skips { loads: may_skip, stores: may_skip };
        let mut core = Core {
            engine: Pipeline::new(&ways),
            line_shift: options.line.map(u32::trailing_zeros),
            may_run: may_run && ways.runs,
            skips,
            contexts: Contexts::default(),
            blocks: Vec::new(),
            block_of: HashMap::default(),
            cells: Vec::new(),
            cold: DepthCounts::default(),
            totals: RingTotals::default(),
            has_roi: options.roi.is_some(),
            open_regions: 0,
            streams: Vec::new(),
            stream_cells: Vec::new(),
            // Cache lines have no liveness of their own.
            hints: options.hints && options.line.is_none(),
            sequences: options.sequence.map(|chosen| Box::new(Sequences::new(chosen))),
            objects: options.objects.then(Box::default),
            hidden: UNCOUNTED,
            window_waits: false,
        };
        if let Some(limit) = options.window {
            core.engine.set_window(Recorder::new(limit));
            core.window_waits = true;
        }
        if options.flows {
            core.engine.start_flows(options.objects, options.flow_contexts);
        }
        if let Some(bytes) = options.line_size {
            core.engine.start_lines(bytes);
        }
        if let Some(spool) = options.exact {
            core.engine.start_log(OpLog::new(spool));
        }
        if !core.has_roi {
            core.open_window();
        }
        let may_hurry = !core.has_roi && options.window.is_none() && core.objects.is_none() && core.sequences.is_none();
        let tables = Tables {
            roi: options.roi,
            may_repeat: may_run && ways.runs,
            last_block: Vec::new(),
            rhythms: Vec::new(),
            quick: Vec::new(),
            moves: (may_run && ways.moves && !options.objects).then(|| Moves::new(core.skips)),
            is_roi: Vec::new(),
        };
        Self { locator: Locator::default(), tables, row: Row::default(), end: 0, singly_until: 0, may_hurry, core }
    }

    /// Replays a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        self.end += words.len() as u64;
        let lost = records::each(words, |rest| {
            let plain = if self.may_hurry { self.plain_records(rest, self.place(rest)) } else { 0 };
            if plain == rest.len() { Some(plain) } else { Some(plain + self.record(&rest[plain..], source)?) }
        });
        self.core.totals.replayed(words, lost);
    }

    /// Where the rest of the chunk begins, in words of the ring.
    #[inline(always)]
    fn place(&self, rest: &[u64]) -> u64 {
        self.end - rest.len() as u64
    }

    /// Replays the first record of `rest` and returns its length; `None` if it cannot be decoded.
    #[inline]
    fn record(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let (head, start) = (rest[0], self.place(rest));
        if head >> 48 != 0 {
            return self.event(rest, source);
        }
        let (module, number) = self.locator.locate(head, source, |m| self.core.add(m, &mut self.tables))?;
        let placed = &self.locator.modules[module];
        let segment = &placed.placed.table.segments[number as usize];
        let len = usize::from(segment.words);
        if len > rest.len() || len == 0 {
            return None;
        }
        let items = segment.items.start as usize..segment.items.end as usize;
        if records::is_endless(segment.kind, &placed.placed.table.items[items], rest) {
            return None;
        }
        let function = placed.first_function + segment.function;
        let roi = self.core.has_roi && self.tables.is_roi[function as usize];
        let dense = placed.first_segment + number;
        if let Some(objects) = &mut self.core.objects {
            objects.objects.slots_start(placed, segment, &rest[..len]);
        }
        let place = Dense { segment: dense, function, roi };
        if self.tables.rhythms[dense as usize].repeats()
            && start >= self.singly_until
            && let Some(words) = self.run(module, dense, rest, len)
        {
            return Some(words);
        }
        let placed = &self.locator.modules[module];
        let segment = &placed.placed.table.segments[number as usize];
        let items = &placed.placed.table.items[segment.items.start as usize..segment.items.end as usize];
        let last = &mut self.tables.last_block[dense as usize];
        let moves = self.tables.moves.as_ref().and_then(|moves| moves.of(dense));
        self.core.segment(segment, items, moves, &rest[..len], place, last);
        Some(len)
    }

    /// Replays the run that begins with a record of a segment, and returns its length; `None` if there is none.
    fn run(&mut self, module: usize, segment: u32, rest: &[u64], len: usize) -> Option<usize> {
        let (start, module) = (self.place(rest), &self.locator.modules[module]);
        let len = self.tables.rhythms[segment as usize].beat(start, rest, len)?;
        let Some(iterations) = self.row.iterations(rest, len, module, &self.tables.rhythms) else {
            self.tables.rhythms[segment as usize].refuse(len);
            return None;
        };
        if iterations < LEAST_RUN {
            // The last of them may be the first of another run; two are always alike.
            if iterations > 2 {
                self.singly_until = start + ((iterations - 1) * len) as u64;
            }
            return None;
        }
        self.tables.rhythms[segment as usize].ran(len);
        self.core.run(module, &self.row.turns, rest, len, iterations, &mut self.tables.last_block);
        Some(len * iterations)
    }

    fn event(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let event = Event::of(rest)?;
        let mut place = None;
        if event.site != 0 {
            let (module, number) = self.locator.locate(event.site, source, |m| self.core.add(m, &mut self.tables))?;
            let placed = &self.locator.modules[module];
            let function = placed.first_function + placed.placed.table.segments[number as usize].function;
            place = Some(Dense { segment: placed.first_segment + number, function, roi: false });
        }
        let operand = |i| event.operand(i);
        let core = &mut self.core;
        match event.kind {
            k if k == EventKind::Read as u8 => core.event_read(place, operand(1)?, operand(2)?),
            k if k == EventKind::Write as u8 => core.event_write(place, operand(1)?, operand(2)?),
            k if k == EventKind::Copy as u8 => core.event_copy(place, operand(1)?, operand(2)?, operand(3)?),
            k if k == EventKind::Alloc as u8 => core.allocated(place, operand(1)?, operand(2)?),
            k if k == EventKind::Free as u8 => core.kill(operand(1)?, operand(2)?),
            k if k == EventKind::Mapped as u8 => core.mapped(place, operand(1)?, operand(2)?, &event.name(3)?),
            k if k == EventKind::FreeUnknown as u8 => core.totals.unknown_frees += 1,
            k if k == EventKind::Relocate as u8 => {
                core.relocate(place, operand(1)?, operand(2)?, operand(3)?, operand(4)?)
            }
            k if k == EventKind::Input as u8 => core.input(operand(1)?, operand(2)?),
            k if k == EventKind::Output as u8 => core.output(operand(1)?, operand(2)?),
            k if k == EventKind::Restart as u8 => core.contexts.restart(),
            k if k == EventKind::RegionBegin as u8 || k == EventKind::RegionEnd as u8 => {
                let name = event.name(1)?;
                if self.tables.roi.as_ref().is_some_and(|roi| roi.matches_region(&name)) {
                    core.region(k == EventKind::RegionBegin as u8);
                }
            }
            _ => return None,
        }
        Some(event.len())
    }

    /// Ends the replay and gives up the counters, those without dead bytes if operations were written down.
    #[must_use]
    pub fn finish(mut self) -> RingResult {
        self.core.count_unmoved(&self.tables, &self.locator);
        let mut pipeline = self.core.engine.take();
        pipeline.flush(files!(self.core));
        let log = pipeline.take_log();
        self.core.file_lines(pipeline.take_lines());
        let window = pipeline.take_window();
        let (stack, hash, flows) = pipeline.finish(files!(self.core));
        let followed = flows.map(|flows| flows.finish());
        let part_of = self.core.parts(window.as_ref());
        self.core.totals.depth_hash = hash.map(|hash| hash.finish(|cell| self.core.site_name(cell)));
        self.core.cells.iter_mut().for_each(CellCounters::flush);
        self.core.totals.peak_live = stack.engine().peak_live();
        self.core.totals.footprint = stack.engine().footprint();
        self.core.totals.in_blocks = stack.engine().in_blocks();
        let exact_error = log.and_then(|log| self.core.exact(log).err());
        let objects = self.core.objects.take().map(|objects| objects.finish(&self.core.blocks, &mut self.core.cells));
        RingResult {
            modules: self.locator.modules,
            contexts: self.core.contexts,
            blocks: self.core.blocks,
            cells: self.core.cells,
            cold: self.core.cold,
            totals: self.core.totals,
            exact_error,
            motion: None,
            regions: Vec::new(),
            unfollowed: BTreeMap::new(),
            problems: Vec::new(),
            followed,
            objects,
            window: window.map(|window| (window, part_of)),
            sequences: self.core.sequences.map_or_else(BTreeMap::new, |sequences| sequences.finish()),
        }
    }

    /// Ends a replay in whose middle the system refused something, and gives up what was counted until then. What the engine knows is lost:
    /// most live bytes, the footprint, flows, and depths that it had not told yet.
    #[must_use]
    pub fn salvage(mut self) -> RingResult {
        self.core.count_unmoved(&self.tables, &self.locator);
        self.core.cells.iter_mut().for_each(CellCounters::flush);
        let objects = self.core.objects.take().map(|objects| objects.finish(&self.core.blocks, &mut self.core.cells));
        let lines = self.core.engine.take_lines();
        // What others may need now.
        drop(self.core.engine.take());
        self.core.file_lines(lines);
        RingResult {
            modules: self.locator.modules,
            contexts: self.core.contexts,
            blocks: self.core.blocks,
            cells: self.core.cells,
            cold: self.core.cold,
            totals: self.core.totals,
            exact_error: None,
            motion: None,
            regions: Vec::new(),
            unfollowed: BTreeMap::new(),
            problems: Vec::new(),
            followed: None,
            objects,
            window: None,
            sequences: self.core.sequences.map_or_else(BTreeMap::new, |sequences| sequences.finish()),
        }
    }

    /// Gives the engine a thread of its own.
    pub fn start_thread(&mut self) {
        self.core.engine.start_thread(files!(self.core));
    }

    #[must_use]
    pub fn is_threaded(&self) -> bool {
        self.core.engine.is_threaded()
    }

    /// Whether single accesses are, or may be, asked for.
    #[must_use]
    pub fn has_window(&self) -> bool {
        self.core.engine.has_window()
    }

    /// Memory that the engine of this ring holds, in bytes.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        self.core.engine.engine_bytes() + self.core.objects.as_ref().map_or(0, |objects| objects.heap_bytes())
    }

    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.core.totals.accesses
    }
}

/// Counters of a finished ring, still in its own numbering.
pub struct RingResult {
    pub(crate) modules: Vec<Module>,
    pub contexts: Contexts,
    pub blocks: Vec<BlockCounters>,
    pub(crate) cells: Vec<CellCounters>,
    pub cold: DepthCounts,
    pub totals: RingTotals,
    /// Of the values model.
    pub regions: Vec<RegionTotals>,
    /// Calls with tracked values of code that does not follow them, by name; of the values model.
    pub unfollowed: BTreeMap<String, u64>,
    /// What is wrong with the program's declarations; the numbers are not what they should be.
    pub problems: Vec<String>,
    /// From which access to which bytes went, if that was measured.
    pub(crate) followed: Option<Followed>,
    /// What was done to which object, if that was measured.
    pub(crate) objects: Option<RingObjects>,
    /// Accesses to look at, with the whole cell and the object of each part, if that was asked for.
    pub(crate) window: Option<(Recorder, Vec<(u32, ObjectNumber)>)>,
    /// Calls made by chosen functions, by number of the function.
    pub(crate) sequences: BTreeMap<u32, Calls<u32>>,
    /// What loops moved, if that was to be measured instead.
    pub motion: Option<RingMotion>,
    /// Why there are no numbers without dead bytes although they were asked for.
    pub exact_error: Option<std::io::Error>,
}

impl RingResult {
    /// Table number and number within the table of an analyzer-wide segment number.
    #[must_use]
    pub fn segment(&self, dense: u32) -> (u32, u32) {
        let module = self.modules.iter().rfind(|m| m.first_segment <= dense).expect("numbers come from a module");
        (module.placed.id, dense - module.first_segment)
    }

    /// The same for functions; `None` for the root's.
    #[must_use]
    pub fn function(&self, dense: u32) -> Option<(u32, u32)> {
        if dense == u32::MAX {
            return None;
        }
        let module = self.modules.iter().rfind(|m| m.first_function <= dense)?;
        Some((module.placed.id, dense - module.first_function))
    }

    /// Table, number of the segment in it, and number of the item in that.
    #[must_use]
    pub fn site(&self, (segment, item): RingSite) -> SiteKey {
        let (table, segment) = self.segment(segment);
        (table, segment, item)
    }

    /// The recorded window with names of the measurement, of which `nodes` are the ring's contexts.
    pub(crate) fn take_window(&mut self, nodes: &[Node]) -> Option<Window> {
        let (recorder, parts) = self.window.take()?;
        // In the order of their cells; of blocks without items, the next one has the same first cell.
        let blocks: Vec<(u32, u32)> = self.blocks.iter().map(|block| (block.first_cell, block.segment)).collect();
        recorder.finish(|cell| {
            let part = parts.get(cell as usize).copied();
            let whole = part.map_or(cell, |(whole, _)| whole);
            let (first, segment) = blocks[blocks.partition_point(|(first, _)| *first <= whole).max(1) - 1];
            let object = part.and_then(|(_, object)| self.objects.as_ref()?.list.get(object as usize).copied());
            let files = self.objects.as_ref().map_or(&[][..], |objects| &objects.files);
            let object = object.map(|object| self.object_key(object, files, nodes));
            (self.site((segment, whole - first)), object)
        })
    }

    /// The outermost context below which most was executed; the first of several.
    #[must_use]
    pub fn start(&self) -> Option<u32> {
        let nodes = &self.contexts.nodes;
        let mut executions = vec![0u64; nodes.len()];
        for block in &self.blocks {
            executions[block.node as usize] += block.executions;
        }
        // Parents come before children, so each has all that is below it when its turn comes.
        for node in (1..nodes.len()).rev() {
            let parent = nodes[node].parent as usize;
            executions[parent] += if parent == 0 { 0 } else { executions[node] };
        }
        let outermost = (1..nodes.len()).filter(|node| nodes[*node].parent == 0);
        outermost.rev().max_by_key(|node| executions[*node]).map(|node| node as u32)
    }

    /// Takes the cells of a block, one per item of its segment.
    pub fn take_cells(&mut self, block: &BlockCounters, items: usize) -> Vec<CellCounters> {
        let first = block.first_cell as usize;
        self.cells[first..first + items].iter_mut().map(std::mem::take).collect()
    }
}

/// Runs of neighbouring active lanes, each one access: (first lane, lanes).
pub(crate) fn lane_runs(mask: u64, lanes: u16) -> impl Iterator<Item = (u64, u64)> {
    let mut rest = if lanes >= 64 { mask } else { mask & ((1 << lanes) - 1) };
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let first = rest.trailing_zeros();
        let count = (rest >> first).trailing_ones();
        rest &= (u64::MAX.checked_shl(first + count)).unwrap_or(0);
        Some((u64::from(first), u64::from(count)))
    })
}

/// Analyzer-wide numbers of a segment.
#[derive(Clone, Copy)]
pub(super) struct Dense {
    pub segment: u32,
    pub function: u32,
    pub roi: bool,
}

impl Core {
    /// Takes note of a module.
    fn add(&mut self, module: &Module, tables: &mut Tables) {
        tables.add(module);
        if let Some(sequences) = &mut self.sequences {
            sequences.add_module(module);
        }
        if let Some(objects) = &mut self.objects {
            objects.objects.add_module(module);
        }
    }

    #[inline]
    fn counting(&self) -> bool {
        !self.has_roi || self.contexts.roi_depth + self.open_regions > 0
    }

    fn segment(
        &mut self,
        segment: &Segment,
        items: &[Item],
        moves: Option<&[Move]>,
        record: &[u64],
        dense: Dense,
        last: &mut (Node, u32),
    ) {
        self.enter(segment.flags, record, dense);
        let is_loop = segment.kind == SegmentKind::Loop as u8;
        let iterations = if is_loop { record[1] } else { 1 };
        if self.counting() {
            let block = self.block(dense.segment, items.len(), last);
            let block = &mut self.blocks[block as usize];
            block.executions += iterations;
            let first = block.first_cell as usize;
            if let Some(moves) = moves {
                block.moved += 1;
                self.totals.accesses += items.len() as u64;
                self.engine.push_moves(moves, record, first as u32, files!(self));
            } else if is_loop {
                self.iterations::<true>(items, record, first);
            } else {
                self.items::<true>(items, record, first);
            }
        } else {
            self.hidden = self.engine.hidden(dense.segment, self.contexts.current(), items.len());
            if is_loop {
                self.iterations::<false>(items, record, 0);
            } else {
                self.items::<false>(items, record, 0);
            }
        }
        if segment.flags & segment_flag::EXIT != 0 {
            self.contexts.exit(dense.function);
        }
    }

    /// Brings the context to where a record with these flags is.
    #[inline]
    pub(super) fn enter(&mut self, flags: u8, record: &[u64], dense: Dense) {
        let cookie = || record[record.len() - 1];
        if flags & segment_flag::ENTER != 0 {
            let cookie = if flags & segment_flag::COOKIE != 0 { cookie() } else { 0 };
            let node = self.contexts.enter(dense.function, cookie, dense.roi);
            self.totals.roi_seen |= dense.roi;
            if dense.roi {
                self.open_window();
            }
            if self.counting() {
                self.contexts.nodes[node as usize].calls += 1;
            }
            if self.sequences.is_some() {
                self.note_call(dense.function);
            }
        } else if flags & segment_flag::LANDING != 0 {
            self.contexts.land(dense.function, cookie());
        } else if self.contexts.function() != dense.function {
            self.contexts.resume(dense.function);
        }
    }

    /// Begins the window of accesses, if one is wanted and has not begun.
    fn open_window(&mut self) {
        if std::mem::take(&mut self.window_waits) {
            self.engine.open_window(files!(self));
        }
    }

    /// Of each cell, if a window names some: the cell that it is a part of, and its object.
    fn parts(&self, window: Option<&Recorder>) -> Vec<(u32, ObjectNumber)> {
        let parts = window.and(self.objects.as_ref()).map(|objects| objects.parts().to_vec());
        parts.unwrap_or_default()
    }

    #[cold]
    fn note_call(&mut self, function: u32) {
        let counts = self.counting();
        if let Some(sequences) = &mut self.sequences {
            sequences.entered(self.contexts.caller(), function, counts);
        }
    }

    /// Iterations of `len` words, of which some records are the turns, whose words advance by constants.
    fn run(
        &mut self,
        module: &Module,
        turns: &[Turn],
        rest: &[u64],
        len: usize,
        iterations: usize,
        last: &mut [(Node, u32)],
    ) {
        let table = &module.placed.table;
        let Some(function) = turns.first().map(|turn| table.segments[turn.segment as usize].function) else { return };
        if self.contexts.function() != module.first_function + function {
            self.contexts.resume(module.first_function + function);
        }
        let counting = self.counting();
        self.streams.clear();
        self.stream_cells.clear();
        for turn in turns {
            let (segment, items) = (module.first_segment + turn.segment, &table.items[turn.items.clone()]);
            let mut first_cell = 0;
            if counting {
                let block = self.block(segment, items.len(), &mut last[segment as usize]);
                self.blocks[block as usize].executions += iterations as u64;
                first_cell = self.blocks[block as usize].first_cell;
            } else {
                self.hidden = self.engine.hidden(segment, self.contexts.current(), items.len());
            }
            for (item, cell) in items.iter().zip(first_cell..) {
                self.streams.push(records::stream(item, &rest[turn.words.start..], len));
                self.stream_cells.push(if counting { cell } else { self.hidden_cell(cell as usize) });
            }
        }
        if counting {
            if !self.streams_have_objects(iterations as u64) {
                return self.run_singly(module, turns, &rest[..len * iterations], len, last);
            }
            self.totals.accesses += (self.streams.len() * iterations) as u64;
            self.count_written(iterations as u64);
        }
        if !self.streams.is_empty() {
            self.engine.push_run(&self.streams, &self.stream_cells, iterations as u64, files!(self));
        }
    }

    /// The same access by access, where some go from one object to another.
    fn run_singly(&mut self, module: &Module, turns: &[Turn], words: &[u64], len: usize, last: &mut [(Node, u32)]) {
        for iteration in words.chunks(len) {
            for turn in turns {
                let (segment, items) =
                    (module.first_segment + turn.segment, &module.placed.table.items[turn.items.clone()]);
                let block = self.block(segment, items.len(), &mut last[segment as usize]);
                let first_cell = self.blocks[block as usize].first_cell as usize;
                self.items::<true>(items, &iteration[turn.words.clone()], first_cell);
            }
        }
    }

    /// Puts the cells of the objects in the place of the streams' cells, if each stream stays within one object.
    fn streams_have_objects(&mut self, records: u64) -> bool {
        for index in 0..self.streams.len() {
            let (stream, cell) = (self.streams[index], self.stream_cells[index]);
            let Some(objects) = &mut self.objects else { return true };
            let Some(part) = objects.stream_cell(cell, &stream, records) else { return false };
            self.stream_cells[index] = self.part(cell, part);
        }
        if let Some(objects) = &mut self.objects {
            objects.read_rows(&self.streams, records);
        }
        true
    }

    /// The cell of an access of a site, which reads so many bytes: that of the object that it goes to, if objects are measured.
    #[inline]
    fn object_cell(&mut self, cell: usize, address: u64, read: u64) -> usize {
        let Some(objects) = &mut self.objects else { return cell };
        match objects.cell(cell as u32, address, read) {
            Part::Known(part) => part as usize,
            part => self.part(cell as u32, part) as usize,
        }
    }

    /// The cell of a part, made if there is none yet.
    fn part(&mut self, cell: u32, part: Part) -> u32 {
        match part {
            Part::Known(part) => part,
            Part::First(cell, object) => {
                self.engine.set_object(cell, object);
                cell
            }
            Part::New(object) => {
                self.cells.push(CellCounters::default());
                self.engine.add_part(cell, object);
                self.objects.as_mut().map_or(cell, |objects| objects.add_part(cell, object))
            }
        }
    }

    /// Block of a segment in the current context, made with its cells on first use.
    #[inline]
    fn block(&mut self, segment: u32, items: usize, last: &mut (Node, u32)) -> u32 {
        let node = self.contexts.current();
        if last.0 == node && last.1 != NO_BLOCK {
            return last.1;
        }
        let block = self.find_block(node, segment, items);
        *last = (node, block);
        block
    }

    pub(super) fn find_block(&mut self, node: Node, segment: u32, items: usize) -> u32 {
        let next = self.blocks.len() as u32;
        let block = *self.block_of.entry((node, segment)).or_insert(next);
        if block == next {
            self.blocks.push(BlockCounters {
                node,
                segment,
                executions: 0,
                first_cell: self.cells.len() as u32,
                moved: 0,
            });
            self.cells.resize_with(self.cells.len() + items, CellCounters::default);
            self.engine.add_cells(segment, node, items);
            if let Some(objects) = &mut self.objects {
                objects.add_cells(self.cells.len());
            }
        }
        block
    }

    #[inline]
    fn items<const COUNT: bool>(&mut self, items: &[Item], record: &[u64], first_cell: usize) {
        for (item, cell) in items.iter().zip(first_cell..) {
            let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
            self.item::<COUNT>(item, record, address, cell);
        }
    }

    #[inline]
    fn item<const COUNT: bool>(&mut self, item: &Item, record: &[u64], address: u64, cell: usize) {
        if self.skips.over(item) {
            if !COUNT && item.kind == ItemKind::Store as u8 {
                self.engine.store_again(UNCOUNTED);
            }
            if COUNT {
                let is_load = item.kind == ItemKind::Load as u8;
                let cell = self.object_cell(cell, address, if is_load { item.size.into() } else { 0 });
                self.again(item, cell);
            }
        } else if item.kind == ItemKind::Load as u8 {
            self.load::<COUNT>(address, u64::from(item.size), cell);
        } else if item.kind == ItemKind::Store as u8 {
            self.store::<COUNT>(address, u64::from(item.size), cell);
        } else {
            self.rare::<COUNT>(item, record, address, cell);
        }
    }

    /// The site of a cell, as one number.
    fn site_name(&self, cell: u32) -> u64 {
        let at = self.blocks.partition_point(|block| block.first_cell <= cell);
        let Some(block) = self.blocks[..at].last() else { return 0 };
        u64::from(block.segment) << 32 | u64::from(cell - block.first_cell)
    }

    /// Counts what need not be looked at each time that a segment is executed: what it writes, and reads on the top of the stack.
    fn count_unmoved(&mut self, tables: &Tables, locator: &Locator) {
        let Some(moves) = &tables.moves else { return };
        for block in self.blocks.iter().filter(|block| block.moved > 0) {
            let items = locator.items(block.segment);
            for (item, cell) in items.iter().zip(block.first_cell as usize..) {
                if item.kind == ItemKind::Store as u8 {
                    self.cells[cell].written += u64::from(item.size) * block.moved;
                } else if moves.leaves_out(item) {
                    self.cells[cell].read_times(0, u64::from(item.size), block.moved);
                    self.engine.hash_top(cell as u32, u64::from(item.size), block.moved);
                }
            }
        }
    }

    /// What lines moved goes to its cells.
    fn file_lines(&mut self, lines: Vec<Option<Box<LineCounts>>>) {
        for (cell, lines) in self.cells.iter_mut().zip(lines) {
            cell.lines = lines;
        }
    }

    /// An access to bytes that are on the top of the stack: the engine need not know.
    #[inline]
    fn again(&mut self, item: &Item, cell: usize) {
        self.totals.accesses += 1;
        if item.kind == ItemKind::Load as u8 {
            self.cells[cell].read(0, u64::from(item.size));
            self.engine.hash_top(cell as u32, u64::from(item.size), 1);
        } else {
            self.cells[cell].written += u64::from(item.size);
            self.engine.store_again(cell as u32);
        }
    }

    /// The same, access by access.
    fn one_by_one<const COUNT: bool>(&mut self, items: &[Item], record: &[u64], first_cell: usize) {
        for iteration in 0..record[1] {
            for (item, cell) in items.iter().zip(first_cell..) {
                self.item::<COUNT>(item, record, records::place(item, record, iteration), cell);
            }
        }
    }

    /// Counts what the streams of a run write.
    fn count_written(&mut self, iterations: u64) {
        for (stream, cell) in self.streams.iter().zip(&self.stream_cells) {
            if stream.kind == Kind::Store {
                self.cells[*cell as usize].written += u64::from(stream.len) * iterations;
            }
        }
    }

    /// All iterations of a loop that has one record.
    fn iterations<const COUNT: bool>(&mut self, items: &[Item], record: &[u64], first_cell: usize) {
        let iterations = record[1];
        let streams = items.iter().map(|item| 1 + usize::from(item.kind == ItemKind::Update as u8)).sum::<usize>();
        if !self.may_run || streams > MOST_STREAMS {
            return self.one_by_one::<COUNT>(items, record, first_cell);
        }
        self.streams.clear();
        self.stream_cells.clear();
        for (item, cell) in items.iter().zip(first_cell..) {
            let name = if COUNT { cell as u32 } else { self.hidden_cell(cell) };
            let (addr, stride) = (records::place(item, record, 0), records::stride(item, record));
            let stream = |kind| Stream { addr, stride, len: item.size, kind };
            if item.kind != ItemKind::Store as u8 {
                self.streams.push(stream(Kind::Load));
                self.stream_cells.push(name);
            }
            if item.kind != ItemKind::Load as u8 {
                self.streams.push(stream(Kind::Store));
                self.stream_cells.push(name);
            }
        }
        if COUNT {
            if !self.streams_have_objects(iterations) {
                return self.one_by_one::<COUNT>(items, record, first_cell);
            }
            self.totals.accesses += self.streams.len() as u64 * iterations;
            self.count_written(iterations);
        }
        if !self.streams.is_empty() {
            self.engine.push_long_run(&mut self.streams, &self.stream_cells, iterations, files!(self));
        }
    }

    /// Address and length in the engine's unit.
    #[inline]
    fn units(&self, address: u64, len: u64) -> (u64, u64) {
        match self.line_shift {
            None => (address, len),
            Some(_) if len == 0 => (address, 0),
            Some(shift) => {
                let first = address >> shift;
                (first, (address.saturating_add(len - 1) >> shift) - first + 1)
            }
        }
    }

    #[inline]
    fn load<const COUNT: bool>(&mut self, address: u64, len: u64, cell: usize) {
        let cell = if COUNT { self.object_cell(cell, address, len) } else { cell };
        let (address, len) = self.units(address, len);
        self.totals.accesses += u64::from(COUNT);
        self.enqueue(address, len, Kind::Load, if COUNT { cell as u32 } else { self.hidden_cell(cell) });
    }

    #[inline]
    fn store<const COUNT: bool>(&mut self, address: u64, len: u64, cell: usize) {
        let cell = if COUNT { self.object_cell(cell, address, 0) } else { cell };
        let (address, len) = self.units(address, len);
        if COUNT {
            self.totals.accesses += 1;
            self.cells[cell].written += len;
        }
        self.enqueue(address, len, Kind::Store, if COUNT { cell as u32 } else { self.hidden_cell(cell) });
    }

    /// What stands for the item in the place of a cell while nothing is counted.
    #[inline]
    fn hidden_cell(&self, item: usize) -> u32 {
        if self.hidden == UNCOUNTED { UNCOUNTED } else { self.hidden + item as u32 }
    }

    #[inline]
    fn enqueue(&mut self, addr: u64, len: u64, kind: Kind, cell: u32) {
        let Ok(len) = u32::try_from(len) else { return self.enqueue_pieces(addr, len, kind, cell) };
        self.engine.push(Access { addr, len, kind }, cell, files!(self));
    }

    /// Ranges of 4 GiB and more: only deaths of mappings get here, accesses are cut into blocks before.
    #[cold]
    fn enqueue_pieces(&mut self, addr: u64, len: u64, kind: Kind, cell: u32) {
        const PIECE: u64 = 1 << 31;
        for start in (0..len).step_by(PIECE as usize) {
            self.enqueue(addr.saturating_add(start), (len - start).min(PIECE), kind, cell);
        }
    }

    fn rare<const COUNT: bool>(&mut self, item: &Item, record: &[u64], address: u64, cell: usize) {
        let size = u64::from(item.size);
        let word = |i: u16| record[usize::from(i)];
        let dynamic = item.flags & item_flag::DYNAMIC != 0;
        let length = || if dynamic { word(item.word2) } else { size };
        let lanes = || (0..item.lanes.min(64)).filter(|l| word(item.word2) >> l & 1 == 1).map(u64::from);
        match item.kind {
            k if k == ItemKind::Update as u8 => {
                self.load::<COUNT>(address, size, cell);
                self.store::<COUNT>(address, size, cell);
            }
            k if k == ItemKind::MaskedLoad as u8 => {
                for (first, count) in lane_runs(word(item.word2), item.lanes) {
                    self.load::<COUNT>(address + first * size, count * size, cell);
                }
            }
            k if k == ItemKind::MaskedStore as u8 => {
                for (first, count) in lane_runs(word(item.word2), item.lanes) {
                    self.store::<COUNT>(address + first * size, count * size, cell);
                }
            }
            k if k == ItemKind::Gather as u8 => {
                for lane in lanes() {
                    self.load::<COUNT>(word(item.word + lane as u16), size, cell);
                }
            }
            k if k == ItemKind::Scatter as u8 => {
                for lane in lanes() {
                    self.store::<COUNT>(word(item.word + lane as u16), size, cell);
                }
            }
            k if k == ItemKind::ExpandLoad as u8 => self.load::<COUNT>(address, size * lanes().count() as u64, cell),
            k if k == ItemKind::CompressStore as u8 => {
                self.store::<COUNT>(address, size * lanes().count() as u64, cell)
            }
            k if k == ItemKind::Copy as u8 => {
                let length = if dynamic { word(item.lanes) } else { size };
                self.copy::<COUNT>(address, word(item.word2), length, cell);
            }
            k if k == ItemKind::Fill as u8 => self.fill::<COUNT>(address, length(), cell),
            k if k == ItemKind::Kill as u8 => self.kill(address, length()),
            // Loops matter to the analysis of data motion only.
            k if k == ItemKind::Loop as u8 => {}
            _ => self.totals.lost_words += 1,
        }
    }

    fn copy<const COUNT: bool>(&mut self, to: u64, from: u64, len: u64, cell: usize) {
        for start in (0..len).step_by(COPY_BLOCK as usize) {
            let block = (len - start).min(COPY_BLOCK);
            self.load::<COUNT>(from.wrapping_add(start), block, cell);
            self.store::<COUNT>(to.wrapping_add(start), block, cell);
        }
    }

    fn fill<const COUNT: bool>(&mut self, to: u64, len: u64, cell: usize) {
        for start in (0..len).step_by(COPY_BLOCK as usize) {
            self.store::<COUNT>(to.wrapping_add(start), (len - start).min(COPY_BLOCK), cell);
        }
    }

    /// Where an allocation is called.
    fn origin(&mut self, place: Option<Dense>) -> Origin {
        let Some(place) = place else { return Origin { context: 0, segment: u32::MAX } };
        if self.contexts.function() != place.function {
            self.contexts.resume(place.function);
        }
        Origin { context: self.contexts.current(), segment: place.segment }
    }

    fn allocated(&mut self, place: Option<Dense>, address: u64, len: u64) {
        self.kill(address, len);
        if self.objects.is_some() {
            let origin = self.origin(place);
            self.objects.as_mut().into_iter().for_each(|o| o.objects.allocated(address, len, origin));
        }
    }

    fn mapped(&mut self, place: Option<Dense>, address: u64, len: u64, file: &str) {
        if self.objects.is_some() {
            let origin = self.origin(place);
            self.objects.as_mut().into_iter().for_each(|o| o.objects.mapped(address, len, file, origin));
        }
    }

    fn kill(&mut self, address: u64, len: u64) {
        if let Some(objects) = &mut self.objects {
            objects.objects.ended(address, len);
        }
        self.forget(address, len);
    }

    /// The bytes leave the stack.
    fn forget(&mut self, address: u64, len: u64) {
        if self.hints && len > 0 {
            self.enqueue(address, len, Kind::Remove, UNCOUNTED);
        }
    }

    fn relocate(&mut self, place: Option<Dense>, from: u64, from_len: u64, to: u64, to_len: u64) {
        if self.objects.is_some() {
            let origin = self.origin(place);
            self.objects.as_mut().into_iter().for_each(|o| o.objects.relocated(from, from_len, to, to_len, origin));
        }
        // Lines cannot travel: neighbours share them.
        if self.line_shift.is_some() {
            return;
        }
        let kept = from_len.min(to_len);
        if from != to {
            self.forget(to, to_len);
            self.engine.relocate(from, to, kept, files!(self));
        }
        let rest = from.saturating_add(kept);
        self.forget(rest, if from == to { from_len - kept } else { 0 });
        if from != to {
            // The old block's bytes beyond the new length die with it.
            self.kill_outside(rest, from_len - kept, to, to_len);
        }
    }

    /// Removes a range except where it overlaps another.
    fn kill_outside(&mut self, start: u64, len: u64, keep: u64, keep_len: u64) {
        let (end, keep_end) = (start.saturating_add(len), keep.saturating_add(keep_len));
        let before = start..end.min(keep.max(start));
        let after = keep_end.clamp(start, end)..end;
        for range in [before, after] {
            if range.start < range.end {
                self.forget(range.start, range.end - range.start);
            }
        }
    }

    fn input(&mut self, address: u64, len: u64) {
        let (address, len) = self.units(address, len);
        self.engine.input(address, len, files!(self));
    }

    fn output(&mut self, address: u64, len: u64) {
        self.engine.output(address, len, files!(self));
    }

    /// Analyses what was written down, and puts the results in the place of those with dead bytes.
    fn exact(&mut self, log: OpLog) -> std::io::Result<()> {
        let exact = exact::analyse(&log.finish()?, self.cells.len())?;
        for ((cell, exact), left) in self.cells.iter_mut().zip(exact.cells).zip(exact.left) {
            cell.replace(exact, left);
        }
        self.cold = exact.cold;
        self.totals.peak_live = exact.peak_live;
        self.totals.sweep_bytes = exact.sweep_bytes;
        Ok(())
    }

    fn region(&mut self, begins: bool) {
        self.totals.roi_seen = true;
        self.open_regions = if begins { self.open_regions + 1 } else { self.open_regions.saturating_sub(1) };
        if begins {
            self.open_window();
        }
    }

    /// Cell of a call site in the current context, counted as executed once; `None` outside the region of interest.
    fn event_cell(&mut self, place: Option<Dense>) -> Option<usize> {
        self.hidden = UNCOUNTED;
        let place = place?;
        if self.contexts.function() != place.function {
            self.contexts.resume(place.function);
        }
        if !self.counting() {
            self.hidden = self.engine.hidden(place.segment, self.contexts.current(), 1);
            return None;
        }
        let block = self.find_block(self.contexts.current(), place.segment, 1);
        let cell = self.blocks[block as usize].first_cell as usize;
        self.cells[cell].executions += 1;
        Some(cell)
    }

    fn event_read(&mut self, place: Option<Dense>, address: u64, len: u64) {
        let cell = self.event_cell(place);
        for start in (0..len).step_by(COPY_BLOCK as usize) {
            let block = (len - start).min(COPY_BLOCK);
            match cell {
                Some(cell) => self.load::<true>(address.wrapping_add(start), block, cell),
                None => self.load::<false>(address.wrapping_add(start), block, 0),
            }
        }
    }

    fn event_write(&mut self, place: Option<Dense>, address: u64, len: u64) {
        match self.event_cell(place) {
            Some(cell) => self.fill::<true>(address, len, cell),
            None => self.fill::<false>(address, len, 0),
        }
    }

    fn event_copy(&mut self, place: Option<Dense>, to: u64, from: u64, len: u64) {
        match self.event_cell(place) {
            Some(cell) => self.copy::<true>(to, from, len, cell),
            None => self.copy::<false>(to, from, len, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_lanes_are_one_access() {
        assert_eq!(lane_runs(0b1101_1000, 8).collect::<Vec<_>>(), [(3, 2), (6, 2)]);
        assert_eq!(lane_runs(u64::MAX, 64).collect::<Vec<_>>(), [(0, 64)]);
        assert_eq!(lane_runs(0b1111, 2).collect::<Vec<_>>(), [(0, 2)]);
        assert_eq!(lane_runs(0, 16).count(), 0);
    }
}
