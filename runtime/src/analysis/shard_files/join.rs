//! Puts the parts of a trace together.
//!
//! Takes [`Summary`]s in the order of the trace; gives what a replay of the whole trace would have. Refuses summaries
//! that do not fit the one before, and programs that are not there any more or were built again.

use std::{collections::BTreeMap, ops::Range};

use super::{
    super::{
        analyzer::Analyzer,
        charge::Charging,
        merge::Merger,
        modules::ModuleTable,
        options::Options,
        pipeline::detached::Detached,
        replay::{ReplayError, Replayed},
        result::RingResult,
        shards::whole::{PrefixHits, Whole},
    },
    summary::{NO_FIT, RingPart, Summary, SummaryError},
};
use crate::{
    decode::{block::BlockCounters, context::ContextNode},
    trace::End,
};

/// Why a part cannot be put behind those before it.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The recorded programs are not there any more, or others.
    #[error(transparent)]
    Program(#[from] ReplayError),
    /// Cycles are of a core with other numbers.
    #[error(
        "its cycles are of a core whose machine file says something else here; name a shipped core (--cycles=zen4-9654-core), or use one file on all machines"
    )]
    OtherCore,
    /// The part itself is not as it should be.
    #[error(transparent)]
    Slice(#[from] SummaryError),
}

/// A trace of which some parts are there.
pub struct Joined {
    options: Options,
    table: ModuleTable,
    modules: usize,
    rings: BTreeMap<u32, JoinedRing>,
    merger: Merger,
    end: Option<End>,
    cut_at: Option<u64>,
    engine_peak: u64,
}

struct JoinedRing {
    analyzer: Box<Analyzer>,
    whole: Box<Whole>,
    process: u32,
    used: bool,
}

impl Joined {
    /// Nothing yet, of an analysis with these options.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            table: ModuleTable::default(),
            modules: 0,
            rings: BTreeMap::new(),
            merger: Merger::default(),
            end: None,
            cut_at: None,
            engine_peak: 0,
        }
    }

    /// Goes on behind the next part.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn add(&mut self, summary: Summary) -> Result<(), JoinError> {
        if summary.modules_before as usize != self.modules {
            return Err(NO_FIT.into());
        }
        summary.modules.iter().try_for_each(|module| module.register(&self.table))?;
        self.modules += summary.modules.len();
        for ring in summary.rings {
            let (number, is_ended) = (ring.number, ring.is_ended);
            self.ring(ring)?;
            if is_ended {
                self.ring_end(number);
            }
        }
        let held: u64 = self.rings.values().map(|ring| ring.whole.heap_bytes()).sum();
        self.engine_peak = self.engine_peak.max(held);
        self.end = self.end.take().or(summary.end);
        self.cut_at = self.cut_at.or(summary.cut_at);
        Ok(())
    }

    fn ring(&mut self, mut part: RingPart) -> Result<(), JoinError> {
        let options = &self.options;
        let ring = self.rings.entry(part.number).or_insert_with(|| {
            let mut analyzer = Box::new(Analyzer::new(options.clone()));
            let Charging { engine, counters, .. } = &mut analyzer.core.charging;
            let Detached { engine_slot, beside, .. } = engine.lend(&mut counters.files());
            let whole = Box::new(Whole::new(engine_slot, beside, false));
            JoinedRing { analyzer, whole, process: part.ring.process, used: false }
        });
        let placed: Option<Vec<_>> = part.placed.iter().map(|&(id, low)| self.table.placed(id, low)).collect();
        let placed = placed.ok_or(NO_FIT)?;
        let knows_all = match (&mut ring.analyzer.core.charging.objects, &part.objects) {
            (Some(objects), Some(news)) => objects.learn_news(news),
            (objects, news) => objects.is_some() == news.is_some(),
        };
        if !knows_all || !ring.analyzer.go_on_knowing(&placed, 0) {
            return Err(NO_FIT.into());
        }
        let mut contexts = ring.analyzer.core.calls.contexts.nodes.clone();
        if contexts.len() != part.contexts_before as usize {
            return Err(NO_FIT.into());
        }
        contexts.extend(part.contexts.iter().map(|&(parent, function)| ContextNode {
            parent,
            function: Some(function),
            calls: 0,
        }));
        let modules = &ring.analyzer.locator.modules;
        let functions = modules.iter().map(|m| m.placed.table.functions.len()).sum();
        let segments = modules.iter().map(|m| m.placed.table.segments.len()).sum();
        let is_of = part.objects.as_ref().is_none_or(|objects| objects.is_of(modules));
        if !part.is_sound(functions, segments) || !is_of || !ring.whole.beside.fit(&part.boundaries.beside) {
            return Err(NO_FIT.into());
        }
        let (is_active, counted) = (part.counts.active, part.counts.counted());
        let has_items = |(block, cells): &(BlockCounters, Range<usize>)| {
            cells.len() == ring.analyzer.locator.items(block.segment).len()
        };
        if !counted.blocks().iter().all(has_items) {
            return Err(NO_FIT.into());
        }
        let table =
            |id| self.table.placed(id, 0).map(|placed| (placed.table.segments.len(), placed.table.frames.len()));
        match (part.cycles, &self.options.cycles) {
            (None, None) => {}
            (Some(part), Some(own)) if part.cores != own.hashes() => return Err(JoinError::OtherCore),
            (Some(part), Some(_)) if part.cycles.is_of(table) => {
                self.merger.measurement.add_cycles(part.cycles);
            }
            _ => return Err(NO_FIT.into()),
        }
        ring.analyzer.core.calls.contexts.learn(&contexts);
        ring.whole.resolve(&mut part.boundaries, 0, counted.cells.len());
        let PrefixHits { cells, .. } = std::mem::take(&mut ring.whole.found[0]);
        ring.analyzer.core.charging.totals.active |= is_active;
        let numbers = ring.analyzer.absorb(counted, cells, None);
        ring.whole.beside.resolve(&part.boundaries.beside, |cell| numbers[cell.index()]);
        ring.used |= part.used;
        Ok(())
    }

    fn ring_end(&mut self, number: u32) {
        let Some(ring) = self.rings.remove(&number) else { return };
        let JoinedRing { mut analyzer, mut whole, process, used } = ring;
        self.merger.measurement.processes.insert(process);
        let Charging { engine, counters, .. } = &mut analyzer.core.charging;
        counters.cold.merge(&whole.cold);
        engine.give_back(whole.engine_slot, None);
        let pairs = whole.beside.finish(&mut counters.cells);
        counters.pairs.add(pairs, |cell| cell);
        if used {
            let result = RingResult::Memory(Box::new(analyzer.finish()));
            self.merger.add(result, |table, segment| self.table.items(table, segment));
        }
    }

    /// All parts are there.
    #[must_use]
    pub fn finish(mut self) -> Replayed {
        // Of a trace that was cut off, most are still open.
        let open: Vec<u32> = self.rings.keys().copied().collect();
        open.into_iter().for_each(|number| self.ring_end(number));
        Replayed::new(self.merger, self.table, self.end, self.cut_at, self.engine_peak)
    }
}
