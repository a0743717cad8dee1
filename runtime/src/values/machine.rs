//! Replays the records of one ring for the values model: follows identities through registers, memory, calls and
//! returns.
//!
//! Takes words in the layout of [`crate::abi`] with the steps of [`crate::steps`], gives a [`ValuesResult`]. Nothing is
//! tracked while no region is open. A program without region markers is one region as a whole.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    core::{Block, Core},
    options::ValueOptions,
    result::ValuesResult,
    tables::Tables,
};
use crate::{
    counts::cell::CellCounters,
    decode::{
        event::EventRecord,
        locator::{CallSite, Located, Locator, Module, ModuleSource},
        records,
        ring::DecodedRing,
        roi::RegionOfInterest,
    },
};

/// Replays steps: a register file per activation, a label per byte of memory.
pub struct Machine {
    locator: Locator,
    tables: Tables,
    core: Core,
}

impl Machine {
    /// Nothing was replayed.
    #[must_use]
    pub fn new(options: ValueOptions, sequence: Option<Arc<dyn RegionOfInterest>>) -> Self {
        let core = Core::new(options, sequence);
        Self { locator: Locator::default(), tables: Tables::default(), core }
    }

    /// Replays a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        let lost = records::each(words, |rest| self.record(rest, source));
        self.core.totals.replayed(words, lost);
    }

    fn record(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let head = rest[0];
        if head >> 48 != 0 {
            return self.event(rest, source);
        }
        let added = |module: &Module| self.core.add(module, &mut self.tables);
        let Located { module, segment: number, words: len } = self.locator.record(rest, source, added)?;
        if !self.core.totals.active {
            self.core.start(&self.tables);
        }
        let module = &self.locator.modules[module];
        let segment = module.segment(number);
        // Code that was instrumented for the memory model follows no values.
        let follows = module.placed.table.functions[segment.function as usize].values;
        let items = if follows { module.items(segment) } else { &[] };
        let place = Block {
            segment: module.segment_number(number),
            function: module.function_number(segment.function),
            items: items.len(),
        };
        self.core.segment(segment, items, &rest[..len], place, &self.tables);
        Some(len)
    }

    fn event(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let EventRecord { site, words, event } = EventRecord::from_words(rest)?;
        let site = self.locator.call_site(site, source, |m| self.core.add(m, &mut self.tables))?;
        let place = site.map(|CallSite { segment, function }| Block { segment, function, items: 1 });
        let core = &mut self.core;
        if core.open.is_some() {
            core.event_inside(event, place, &self.tables)?;
        } else {
            core.event_outside(event, &self.tables);
        }
        Some(words)
    }

    /// Accesses so far.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.core.totals.accesses + self.core.recorder.instructions + self.core.recorder.escapes
    }

    /// Ends the replay and gives up the counters.
    #[must_use]
    pub fn finish(mut self) -> ValuesResult {
        self.core.finish();
        self.core.cells.iter_mut().for_each(CellCounters::flush);
        let core = self.core;
        ValuesResult {
            ring: DecodedRing { modules: self.locator.modules, contexts: core.contexts, totals: core.totals },
            blocks: core.blocks,
            cells: core.cells,
            regions: core.regions.into_values().collect(),
            unfollowed: core.handover.unfollowed,
            problems: core.problems.0,
            sequences: core.sequences.map_or_else(BTreeMap::new, |sequences| sequences.finish()),
        }
    }
}
