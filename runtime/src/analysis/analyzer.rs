//! Replays the records of one ring: every access goes through the engine, every result to the cell of its context and
//! site.
//!
//! Takes words in the layout of [`crate::abi`], gives counters per (context, segment) and (context, site). A word that
//! is neither a known descriptor nor an event cannot be skipped safely; the rest of its chunk is counted as lost.

use std::{collections::BTreeMap, io, sync::Arc};

use super::{
    core::{Core, Dense, Executed, files},
    exact::{self, Exact},
    fast_segment::FastSegment,
    optimum::{self, Least},
    options::Options,
    pipeline::sinks::ReportSinks,
    result::{Failures, MemoryResult},
    rows::{self, PeriodDetector, Row},
    segment_template::Moves,
};
use crate::{
    counts::{cell::CellCounters, miss_curve::MissCurve},
    decode::{
        event::{Event, EventRecord},
        locator::{CallSite, Located, Locator, Module, ModuleSource, SegmentNumber},
        records,
        regions::Regions,
        ring::DecodedRing,
        roi::RegionOfInterest,
    },
    observe::objects::RingObjects,
    oplog::{Op, OpLog},
};

/// Iterations of an affine run, at least.
const LEAST_RUN: usize = 12;

/// The memory analysis of one ring.
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
    /// Of a scan: the declared regions that it has met.
    pub(super) regions: Regions,
    pub(super) core: Core,
    /// How often segments were executed, of a program that draws a sample.
    pub(super) executed: Vec<Executed>,
}

/// What is known per module, by numbers that are unique in the ring.
pub(super) struct Tables {
    roi: Option<Arc<dyn RegionOfInterest>>,
    may_repeat: bool,
    /// By segment: when its records come, as rows of them can be an affine run.
    pub(super) detectors: Vec<PeriodDetector>,
    /// By segment, if there are moves.
    pub(super) fast_segments: Vec<FastSegment>,
    pub(super) moves: Option<Moves>,
    /// By function: whether the region of interest matches it.
    pub(super) is_roi: Vec<bool>,
}

impl Tables {
    /// Whether a declared region is of interest.
    pub(super) fn is_region(&self, name: &str) -> bool {
        self.roi.as_ref().is_some_and(|roi| roi.matches_region(name))
    }

    fn add(&mut self, module: &Module) {
        let table = &module.placed.table;
        let names = table.functions.iter().map(|f| table.strings.get(f.name as usize).map_or("", String::as_str));
        match &self.roi {
            Some(roi) => self.is_roi.extend(names.map(|n| roi.matches_symbol(n))),
            None => self.is_roi.resize(self.is_roi.len() + table.functions.len(), false),
        }
        let repeats = |segment| self.may_repeat && rows::repeats(segment, table);
        self.detectors.extend(table.segments.iter().map(|segment| PeriodDetector::new(repeats(segment))));
        if let Some(moves) = &mut self.moves {
            moves.add(table);
            for (segment, number) in table.segments.iter().zip(0..) {
                let number = module.segment_number(number);
                let repeats = self.detectors[number.index()].repeats();
                self.fast_segments.push(FastSegment::new(
                    segment,
                    number,
                    module.function_number(segment.function),
                    moves,
                    repeats,
                ));
            }
        }
    }
}

/// Takes note of modules that a ring has not met.
pub(super) fn added<'a>(tables: &'a mut Tables, core: &'a mut Core) -> impl FnMut(&Module) + 'a {
    |module| {
        tables.add(module);
        core.add(module);
    }
}

impl Analyzer {
    /// Nothing was replayed.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let (roi, ways) = (options.roi.clone(), options.ways);
        let core = Core::new(options);
        let has_objects = core.objects.is_some() || core.parted.is_some();
        let may_move = ways.moves && !has_objects;
        let is_plain = !has_objects && core.sequences.is_none() && !core.engine.sinks.has_window();
        let may_hurry = !core.has_roi && is_plain && !core.filtered;
        let tables = Tables {
            roi,
            may_repeat: core.may_run && !core.filtered,
            detectors: Vec::new(),
            fast_segments: Vec::new(),
            moves: may_move.then(|| Moves::new(core.skips)),
            is_roi: Vec::new(),
        };
        Self {
            locator: Locator::default(),
            tables,
            row: Row::default(),
            end: 0,
            singly_until: 0,
            may_hurry,
            regions: Regions::default(),
            core,
            executed: Vec::new(),
        }
    }

    /// Replays a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        self.end += words.len() as u64;
        let lost = records::each(words, |rest| {
            let plain = if self.may_hurry { self.plain_records(rest, self.words_before(rest)) } else { 0 };
            if plain == rest.len() {
                return Some(plain);
            }
            // Records before one that cannot be decoded are not lost.
            let record = self.record(&rest[plain..], source).map(|words| plain + words);
            record.or((plain > 0).then_some(plain))
        });
        self.core.totals.replayed(words, lost);
    }

    /// Where the rest of the chunk begins, in words of the ring.
    #[inline(always)]
    fn words_before(&self, rest: &[u64]) -> u64 {
        self.end - rest.len() as u64
    }

    /// Replays the first record of `rest` and returns its length; `None` if it cannot be decoded.
    #[inline]
    fn record(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let (head, start) = (rest[0], self.words_before(rest));
        if head >> 48 != 0 {
            return self.event(rest, source);
        }
        let added = added(&mut self.tables, &mut self.core);
        let located = self.locator.record(rest, source, added)?;
        if self.core.filtered {
            return Some(self.filtered_record(&located, rest));
        }
        let Located { module: at, segment: number, words: len } = located;
        let module = &self.locator.modules[at];
        let segment = module.segment(number);
        let function = module.function_number(segment.function);
        let roi = self.core.has_roi && self.tables.is_roi[function.index()];
        let dense = module.segment_number(number);
        if !segment.slots.is_empty() {
            self.core.slots_start(module, segment, &rest[..len]);
        }
        let place = Dense { segment: dense, function, roi };
        if self.tables.detectors[dense.index()].repeats()
            && start >= self.singly_until
            && let Some(words) = self.run(at, dense, rest, len)
        {
            return Some(words);
        }
        let module = &self.locator.modules[at];
        let segment = module.segment(number);
        let moves = self.tables.moves.as_ref().and_then(|moves| moves.moves_of(dense));
        self.core.segment(segment, module.items(segment), moves, &rest[..len], place);
        if !segment.slots.is_empty() {
            self.core.slots_held(module, segment, &rest[..len]);
        }
        Some(len)
    }

    /// Replays the run that begins with a record of a segment, and returns its length; `None` if there is none.
    fn run(&mut self, module: usize, segment: SegmentNumber, rest: &[u64], len: usize) -> Option<usize> {
        let (start, module) = (self.words_before(rest), &self.locator.modules[module]);
        let len = self.tables.detectors[segment.index()].period(start, rest, len)?;
        let Some(iterations) = self.row.iterations(rest, len, module, &self.tables.detectors) else {
            self.tables.detectors[segment.index()].refuse(len);
            return None;
        };
        if iterations < LEAST_RUN {
            // The last of them may be the first of another run; two are always alike.
            if iterations > 2 {
                self.singly_until = start + ((iterations - 1) * len) as u64;
            }
            return None;
        }
        self.tables.detectors[segment.index()].ran(len);
        self.core.run(module, &self.row.turns, rest, len, iterations);
        Some(len * iterations)
    }

    fn event(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let EventRecord { site, words, event } = EventRecord::from_words(rest)?;
        let site = self.locator.call_site(site, source, added(&mut self.tables, &mut self.core))?;
        let place = site.map(|CallSite { segment, function }| Dense { segment, function, roi: false });
        let is_roi = |name: &str| self.tables.is_region(name);
        let core = &mut self.core;
        match event {
            Event::Read { address, len } => core.event_read(place, address, len),
            Event::Write { address, len } => core.event_write(place, address, len),
            Event::Copy { to, from, len } => core.event_copy(place, to, from, len),
            Event::Alloc { address, len } => core.allocated(place, address, len),
            Event::Mapped { address, len, file } => core.mapped(place, address, len, &file),
            Event::Free { address, len } => core.end(address, len),
            Event::FreeUnknown => core.totals.unknown_frees += 1,
            Event::Relocate { from, from_len, to, to_len } => core.relocate(place, from, from_len, to, to_len),
            Event::Input { address, len } => core.input(address, len),
            Event::Output { address: addr, len } => core.engine.op(Op::Output { addr, len }, files!(core)),
            Event::RegionBegin { name } if is_roi(&name) => core.region(true),
            Event::RegionEnd { name } if is_roi(&name) => core.region(false),
            Event::RegionBegin { .. } | Event::RegionEnd { .. } => {}
            Event::Restart => core.restart::<true>(),
            Event::Synchronise(event) => core.engine.op(Op::Sync(event), files!(core)),
            Event::Clock { time } => core.set_time(time),
            // Who follows code counts them.
            Event::Executed { .. } | Event::Paged { .. } => {}
        }
        Some(words)
    }

    /// Ends the replay and gives up the counters, those without dead bytes if operations were written down.
    #[must_use]
    pub fn finish(mut self) -> MemoryResult {
        let log = self.core.engine.take_log(files!(self.core)).map(OpLog::finish);
        let (is_exact, capacities) = (self.core.is_exact, std::mem::take(&mut self.core.optimum));
        let recorded = || match &log {
            Some(Ok(recorded)) => Ok(recorded),
            // Both passes may be told.
            Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Err(io::Error::other("nothing was written down")),
        };
        let exact = |cells| exact::analyse(recorded()?, cells);
        let least = |cells| optimum::least(recorded()?, cells, &capacities, is_exact);
        self.finish_with(is_exact.then_some(exact), (!capacities.is_empty()).then_some(least))
    }

    /// Ends the replay and gives up the counters; `exact` finds depths without dead bytes for a number of cells, if
    /// they are wanted.
    pub(super) fn finish_with_exact(self, exact: Option<impl FnOnce(usize) -> io::Result<Exact>>) -> MemoryResult {
        self.finish_with(exact, None::<fn(usize) -> io::Result<Least>>)
    }

    fn finish_with(
        mut self,
        exact: Option<impl FnOnce(usize) -> io::Result<Exact>>,
        least: Option<impl FnOnce(usize) -> io::Result<Least>>,
    ) -> MemoryResult {
        self.count_unmoved();
        let pipeline = self.core.engine.take();
        let (stack, miss_curve, ReportSinks { flows, window, hash, .. }, pairs) = pipeline.finish(files!(self.core));
        if self.core.filtered {
            self.core.estimate_reads(&self.locator);
        }
        self.core.pairs.add(pairs, |cell| cell);
        let followed = flows.map(|flows| flows.finish());
        let part_of = self.core.parts(window.as_deref());
        let window = window.map(|window| (*window, part_of));
        self.core.totals.depth_hash = hash.map(|hash| hash.finish(|cell| self.core.site_name(cell)));
        self.core.cells.iter_mut().for_each(CellCounters::flush);
        self.core.totals.peak_live = stack.engine().peak_live();
        self.core.totals.footprint = stack.engine().footprint();
        self.core.totals.in_blocks += stack.engine().in_blocks();
        // What further passes need the memory of.
        drop(stack);
        let cells = self.core.cells.len();
        let exact = exact.map(|exact| exact::attempt(|| exact(cells))).transpose();
        let exact = exact.map(|exact| exact.into_iter().for_each(|exact| self.core.exact(exact))).err();
        let least = least.map(|least| exact::attempt(|| least(cells))).transpose();
        let optimum = least.map(|least| least.into_iter().for_each(|least| self.core.least(least))).err();
        let failures = Failures { exact, optimum };
        MemoryResult { followed, failures, window, miss_curve, ..self.counted() }
    }

    /// Ends a replay in whose middle the system refused something, and gives up what was counted until then. What the
    /// engine knows is lost: most live bytes, the footprint, flows, and depths that it had not told yet.
    #[must_use]
    pub fn salvage(mut self) -> MemoryResult {
        self.count_unmoved();
        self.core.cells.iter_mut().for_each(CellCounters::flush);
        // What others may need now.
        let mut beside = self.core.engine.take().observers();
        let pairs = beside.finish(&mut self.core.cells);
        self.core.pairs.add(pairs, |cell| cell);
        self.counted()
    }

    pub(super) fn count_unmoved(&mut self) {
        if let Some(moves) = &self.tables.moves {
            self.core.count_unmoved(moves, &self.locator);
        }
    }

    pub(super) fn counted(self) -> MemoryResult {
        let Self { locator, mut core, executed, .. } = self;
        let pairs = core.whole_pairs();
        let objects = match (core.objects.take(), core.parted.take()) {
            (Some(own), _) => Some(own.finish(&core.blocks, &mut core.cells)),
            (None, parted) => parted.map(|parted| {
                let uses = parted.finish(&core.blocks, &mut core.cells);
                RingObjects { uses, ..RingObjects::default() }
            }),
        };
        core.count_executed(&executed, &locator);
        core.forget_unasked();
        let Core { contexts, blocks, cells, cold, totals, sequences, .. } = core;
        MemoryResult {
            ring: DecodedRing { modules: locator.modules, contexts, totals },
            blocks,
            cells,
            cold,
            pairs,
            own: None,
            objects,
            sequences: sequences.map_or_else(BTreeMap::new, |sequences| sequences.finish()),
            followed: None,
            window: None,
            failures: Failures::default(),
            miss_curve: MissCurve::default(),
        }
    }

    /// Gives the engine a thread of its own, and those beside it another if there are processors for both.
    pub fn start_thread(&mut self, has_more: bool) {
        self.core.engine.start_thread(has_more, files!(self.core));
    }

    /// Whether the engine has a thread of its own.
    #[must_use]
    pub fn is_threaded(&self) -> bool {
        self.core.engine.is_threaded()
    }

    /// Whether single accesses are, or may be, asked for.
    #[must_use]
    pub fn has_window(&self) -> bool {
        self.core.engine.sinks.has_window()
    }

    /// Memory that the engine of this ring holds, in bytes.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        self.core.engine.engine_bytes() + self.object_bytes()
    }

    /// Of that, what objects take.
    #[must_use]
    pub fn object_bytes(&self) -> u64 {
        self.core.objects.as_ref().map_or(0, |objects| objects.heap_bytes())
    }

    /// The time that a program which draws a sample has told last.
    #[must_use]
    pub fn told_time(&self) -> u64 {
        self.core.told_time
    }

    /// Accesses so far.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.core.totals.accesses
    }
}
