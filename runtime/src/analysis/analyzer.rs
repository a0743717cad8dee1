//! Replays the records of one ring: every access goes through the engine, every result to the cell of its context and
//! site.
//!
//! Takes words in the layout of [`crate::abi`], gives counters per (context, segment) and (context, site). A word that
//! is neither a known descriptor nor an event cannot be skipped safely; the rest of its chunk is counted as lost.

use std::{collections::BTreeMap, io, sync::Arc};

use super::{
    calls::{Calls, RingSegment},
    charge::Charging,
    core::{Core, Executed},
    counters::Counters,
    exact::{self, Exact},
    fast_segment::FastSegment,
    library::{hold_slots, start_slots},
    loops::RecordRows,
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
    oplog::Op,
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
    /// Exact liveness is found once the ring has ended.
    is_exact: bool,
    /// Capacities whose least possible fetches are found then.
    optimum: Vec<u64>,
    /// Nobody looks for depths of bytes.
    lines_only: bool,
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
        let core = Core::new(&options);
        let (calls, sinks) = (&core.calls, &core.charging.engine.sinks);
        let is_plain = !options.objects && calls.sequences.is_none() && !sinks.has_window();
        let may_hurry = !calls.has_roi && is_plain && !options.filtered;
        let tables = Tables {
            roi,
            may_repeat: ways.runs && !options.filtered,
            detectors: Vec::new(),
            fast_segments: Vec::new(),
            moves: (ways.moves && !options.objects).then(|| Moves::new(core.charging.skips)),
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
            is_exact: options.exact,
            optimum: options.optimum,
            lines_only: options.lines_only,
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
        self.core.charging.totals.replayed(words, lost);
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
        if self.core.sampled.filtered {
            return Some(self.filtered_record(&located, rest));
        }
        let Located { module: at, segment: number, words: len } = located;
        let module = &self.locator.modules[at];
        let segment = module.segment(number);
        let function = module.function_number(segment.function);
        let roi = self.core.calls.has_roi && self.tables.is_roi[function.index()];
        let dense = module.segment_number(number);
        if !segment.slots.is_empty() {
            start_slots(&mut self.core.charging, module, segment, &rest[..len]);
        }
        if self.tables.detectors[dense.index()].repeats()
            && start >= self.singly_until
            && let Some(words) = self.run(at, dense, rest, len)
        {
            return Some(words);
        }
        let module = &self.locator.modules[at];
        let segment = module.segment(number);
        let moves = self.tables.moves.as_ref().and_then(|moves| moves.moves_of(dense));
        let place = RingSegment { segment: dense, function, roi };
        self.core.segment(segment, module.items(segment), moves, &rest[..len], place);
        if !segment.slots.is_empty() {
            hold_slots(&mut self.core.calls.contexts, module, segment, &rest[..len]);
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
        let function = module.function_number(module.segment(self.row.turns.first()?.segment).function);
        let words = &rest[..len * iterations];
        self.core.rows(&RecordRows { module, turns: &self.row.turns, words, len }, function);
        Some(words.len())
    }

    fn event(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let EventRecord { site, words, event } = EventRecord::from_words(rest)?;
        let site = self.locator.call_site(site, source, added(&mut self.tables, &mut self.core))?;
        let site = site.map(|CallSite { segment, function }| RingSegment { segment, function, roi: false });
        let is_roi = |name: &str| self.tables.is_region(name);
        let core = &mut self.core;
        match event {
            Event::Read { address, len } => core.event_read(site, address, len),
            Event::Write { address, len } => core.event_write(site, address, len),
            Event::Copy { to, from, len } => core.event_copy(site, to, from, len),
            Event::Alloc { address, len } => core.allocated(site, address, len),
            Event::Mapped { address, len, file } => core.mapped(site, address, len, &file),
            Event::Free { address, len } => core.charging.end(address, len),
            Event::FreeUnknown => core.charging.totals.unknown_frees += 1,
            Event::Relocate { from, from_len, to, to_len } => core.relocate(site, from, from_len, to, to_len),
            Event::Input { address, len } => core.charging.op(Op::Input { addr: address, len }),
            Event::Output { address: addr, len } => core.charging.op(Op::Output { addr, len }),
            Event::RegionBegin { name } if is_roi(&name) => core.region(true),
            Event::RegionEnd { name } if is_roi(&name) => core.region(false),
            Event::RegionBegin { .. } | Event::RegionEnd { .. } => {}
            Event::Restart => core.restart(),
            Event::Synchronise(event) => core.charging.op(Op::Sync(event)),
            Event::Clock { time } => core.sampled.set_time(time, &mut core.charging),
            // Who follows code counts them.
            Event::Executed { .. } | Event::Paged { .. } => {}
        }
        Some(words)
    }

    /// Ends the replay and gives up the counters, those without dead bytes if operations were written down.
    #[must_use]
    pub fn finish(mut self) -> MemoryResult {
        self.core.charging.flush();
        let log = self.core.charging.engine.log.take().map(|log| log.finish());
        let (is_exact, capacities) = (self.is_exact, std::mem::take(&mut self.optimum));
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
        let Charging { engine, counters, totals, objects, .. } = &mut self.core.charging;
        let (stack, miss_curve, sinks, pairs) = engine.take().finish(&mut counters.files());
        let ReportSinks { flows, window, hash, .. } = sinks;
        if self.core.sampled.filtered {
            counters.estimate_reads(&self.locator);
        }
        counters.pairs.add(pairs, |cell| cell);
        let followed = flows.map(|flows| flows.finish());
        let window = window.and_then(|window| {
            // Of objects, only those that the ring itself knows have names.
            let object = |cell| counters.table.object(cell).filter(|_| objects.is_some());
            window.finish(|cell| (counters.table.site(cell), object(cell)))
        });
        totals.depth_hash = hash.map(|hash| hash.finish(|cell| counters.table.site_name(cell)));
        counters.cells.iter_mut().for_each(CellCounters::flush);
        totals.peak_live = stack.engine().peak_live();
        totals.footprint = stack.engine().footprint();
        totals.in_blocks += stack.engine().in_blocks();
        // What further passes need the memory of.
        drop(stack);
        let cells = counters.cells.len();
        let exact = exact.map(|exact| exact::attempt(|| exact(cells))).transpose();
        let exact = exact.map(|exact| exact.into_iter().for_each(|exact| counters.exact(exact, totals))).err();
        let least = least.map(|least| exact::attempt(|| least(cells))).transpose();
        let optimum = least.map(|least| least.into_iter().for_each(|least| counters.least(least, totals))).err();
        let failures = Failures { exact, optimum };
        MemoryResult { followed, failures, window, miss_curve, ..self.counted() }
    }

    /// Ends a replay in whose middle the system refused something, and gives up what was counted until then. What the
    /// engine knows is lost: most live bytes, the footprint, flows, and depths that it had not told yet.
    #[must_use]
    pub fn salvage(mut self) -> MemoryResult {
        self.count_unmoved();
        let Charging { engine, counters, .. } = &mut self.core.charging;
        counters.cells.iter_mut().for_each(CellCounters::flush);
        // What others may need now.
        let mut beside = engine.take().observers();
        let pairs = beside.finish(&mut counters.cells);
        counters.pairs.add(pairs, |cell| cell);
        self.counted()
    }

    pub(super) fn count_unmoved(&mut self) {
        if let Some(moves) = &self.tables.moves {
            let Charging { counters, engine, .. } = &mut self.core.charging;
            counters.count_unmoved(moves, &self.locator, |cell, len, times| engine.sinks.hash_top(cell, len, times));
        }
    }

    pub(super) fn counted(self) -> MemoryResult {
        let Self { locator, mut core, executed, lines_only, .. } = self;
        let Charging { counters, objects, .. } = &mut core.charging;
        let pairs = counters.take_pairs();
        let uses = counters.table.parts.take();
        let uses = uses.map(|parts| parts.finish(&counters.table.blocks, &mut counters.cells));
        let objects = uses.map(|uses| RingObjects::new(objects.take(), uses));
        core.count_executed(&executed, &locator);
        let Core { calls: Calls { contexts, sequences, .. }, charging: Charging { mut counters, totals, .. }, .. } =
            core;
        if lines_only {
            // Of reads on the top of the stack, which nobody had to look up.
            counters.forget_reads();
        }
        let Counters { table, cells, cold, .. } = counters;
        MemoryResult {
            ring: DecodedRing { modules: locator.modules, contexts, totals },
            blocks: table.blocks,
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
        let Charging { engine, counters, .. } = &mut self.core.charging;
        engine.start_thread(has_more, &mut counters.files());
    }

    /// Memory that the engine of this ring holds, in bytes.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        self.core.charging.engine.engine_bytes() + self.object_bytes()
    }

    /// Of that, what objects take.
    #[must_use]
    pub fn object_bytes(&self) -> u64 {
        self.core.charging.objects.as_ref().map_or(0, |objects| objects.layout.heap_bytes())
    }

    /// Accesses so far.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.core.charging.totals.accesses
    }
}
