//! Replays slices of a ring, one after the other, on a stack of its own; counters go on from slice to slice.
//!
//! Takes the words of a slice and what runs when it begins; gives what it asks of the stack before it, with cells of
//! this part as labels. Refuses nothing; what cannot be decoded was found out before.

use std::io;

use super::super::{
    analyzer::Analyzer, boundaries::Boundaries, charge::Charging, core::Core, exact::SliceLog, options::Options,
};
use crate::{
    decode::{
        context::{ContextNode, Running},
        locator::{ModuleSource, Placed},
    },
    engine::Boundary,
    objects::slices::{LayoutSnapshot, LearnedObjects as KnownObjects},
    observe::flows::{States, Touched},
};

/// What a replay in the middle of a ring starts with.
#[derive(Clone, Default)]
pub struct Start {
    pub running: Running,
    pub open_regions: u64,
    /// Modules that are known, with those that records of this part name first, and the one that the last record before
    /// it named.
    pub modules: usize,
    pub place: usize,
    /// What lies where, if objects are measured.
    pub laid: Option<LayoutSnapshot>,
}

impl Start {
    pub fn from_analyzer(analyzer: &Analyzer) -> Self {
        Self {
            running: analyzer.core.calls.contexts.running(),
            open_regions: analyzer.core.calls.open_regions,
            modules: analyzer.locator.modules.len(),
            place: analyzer.locator.last_module(),
            laid: analyzer.core.charging.objects.as_ref().map(|objects| objects.laid()),
        }
    }
}

/// What grows while a ring is gone over, and is common to all its parts.
#[derive(Clone, Default)]
pub struct LearnedTables {
    pub contexts: Vec<ContextNode>,
    pub modules: Vec<Placed>,
    pub objects: KnownObjects,
}

impl LearnedTables {
    /// Learns what an analyzer knows more.
    pub fn learn(&mut self, analyzer: &Analyzer) {
        self.contexts.extend(&analyzer.core.calls.contexts.nodes[self.contexts.len()..]);
        self.modules.extend(analyzer.locator.modules[self.modules.len()..].iter().map(|module| module.placed.clone()));
        if let Some(objects) = &analyzer.core.charging.objects {
            self.objects.learn(objects);
        }
    }
}

/// Replays slices.
pub struct SliceReplayer {
    /// Among the parts of its ring.
    pub number: usize,
    pub analyzer: Analyzer,
}

/// All modules are known already.
struct NoMore;

impl ModuleSource for NoMore {
    fn modules(&mut self, _: u64) -> Vec<Placed> {
        Vec::new()
    }
}

impl SliceReplayer {
    pub fn new(number: usize, options: &Options) -> Self {
        // What is called in which order, whoever goes over the whole ring notes.
        let mut analyzer = Analyzer::new(Options { sequence: None, ..options.clone() });
        analyzer.core.charging.engine.start_slices();
        Self { number, analyzer }
    }

    /// Does the first of two passes, for flows alone.
    pub fn for_first_pass(number: usize, options: &Options) -> Self {
        let mut analyzer = Analyzer::new(Options { sequence: None, line_sizes: Vec::new(), ..options.clone() });
        analyzer.core.charging.engine.start_first_pass();
        Self { number, analyzer }
    }

    /// Learns what is new. Contexts and objects may be those of later slices too: they have the same numbers.
    pub fn prepare(&mut self, start: Start, known: &LearnedTables) {
        if let Some(objects) = &mut self.analyzer.core.charging.objects {
            objects.learn(&known.objects);
        }
        self.analyzer.go_on(&known.modules[..start.modules], start.place);
        let Core { calls, charging, .. } = &mut self.analyzer.core;
        calls.contexts.learn(&known.contexts);
        calls.contexts.go_on(&start.running);
        calls.open_regions = start.open_regions;
        if let (Some(objects), Some(laid)) = (&mut charging.objects, start.laid) {
            objects.go_on(laid);
        }
    }

    /// Replays words of the slice at hand, all of whose contexts are known.
    pub fn go_on(&mut self, words: &[u64]) {
        self.analyzer.replay(words, &mut NoMore);
    }

    /// Begins the second pass over a slice, whose bytes are in these states.
    pub fn begin_second_pass(&mut self, states: &States) {
        let flows = &mut self.analyzer.core.charging.engine.sinks.flows;
        flows.iter_mut().for_each(|flows| flows.begin_slice(states));
    }

    /// Ends the first pass over the slice at hand.
    pub fn end_first_pass(&mut self) -> Option<Touched> {
        let Charging { engine, counters, .. } = &mut self.analyzer.core.charging;
        engine.end_first_pass(&mut counters.files())
    }

    /// Ends the slice at hand.
    pub fn end(&mut self) -> Boundaries {
        let Charging { engine, counters, objects, .. } = &mut self.analyzer.core.charging;
        // Others may go on with the memory.
        objects.iter_mut().for_each(|objects| objects.go_on(LayoutSnapshot::default()));
        engine.end_slice(&mut counters.files())
    }

    /// What the slice that ended last did and asked, if that is written down.
    pub fn log(&mut self, asked: &Boundary) -> Option<io::Result<SliceLog>> {
        let Charging { engine, counters, .. } = &mut self.analyzer.core.charging;
        let log = engine.cut_log(&mut counters.files())?;
        Some(log.and_then(|ops| SliceLog::new(ops, asked, self.number)))
    }

    pub fn cells(&self) -> usize {
        self.analyzer.core.charging.counters.cells.len()
    }
}
