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
    objects::{layout::LayoutSnapshot, slices::LearnedObjects as KnownObjects},
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
            laid: analyzer.core.charging.objects.as_ref().map(|objects| objects.layout.snapshot()),
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
            objects.layout.restore(laid);
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
        objects.iter_mut().for_each(|objects| objects.layout.restore(LayoutSnapshot::default()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::{ItemKind, segment_flag},
        tests::{
            program::{Function, Image, Program, Segment, item},
            run::Modules,
        },
    };

    /// `main`, which begins with a store, stores again, and returns; and `work`, which it calls.
    fn program() -> Program {
        let store = || Segment::block(1, vec![item(ItemKind::Store, 1, 0, 8)]);
        let function = |name: &str| Function {
            name: name.into(),
            segments: vec![store().with(segment_flag::ENTER), store(), store().with(segment_flag::EXIT)],
        };
        Program { images: vec![Image { functions: vec![function("main"), function("work")], variables: Vec::new() }] }
    }

    fn words(segments: &[u32]) -> Vec<u64> {
        segments.iter().flat_map(|segment| [program().address((0, *segment)), 800]).collect()
    }

    #[test]
    fn a_part_goes_on_in_the_functions_that_run_when_it_begins() {
        let options = Options { hints: true, objects: true, ..Options::default() };
        let mut modules = Modules::new(&program());
        let (mut analyzer, mut known) = (Analyzer::new(options.clone()), LearnedTables::default());
        analyzer.replay(&words(&[0, 1, 3]), &mut modules);
        known.learn(&analyzer);
        let start = Start::from_analyzer(&analyzer);
        analyzer.replay(&words(&[4, 5, 1, 3]), &mut modules);
        known.learn(&analyzer);
        known.learn(&analyzer);
        assert_eq!(
            (known.contexts.len(), known.modules.len()),
            (3, 1),
            "each once: the root, `main`, and `work` in it"
        );
        assert_eq!(start.modules, 1);
        let mut part = SliceReplayer::new(4, &options);
        part.prepare(start, &known);
        part.go_on(&words(&[4, 5, 1]));
        let executed =
            |block: &crate::decode::block::BlockCounters| (block.node.index(), block.segment.index(), block.executions);
        let executed: Vec<_> = part.analyzer.core.charging.counters.table.blocks.iter().map(executed).collect();
        assert_eq!(executed, [(2, 4, 1), (2, 5, 1), (1, 1, 1)], "`work` below `main`, then `main` again");
        assert_eq!((part.cells(), part.number, part.analyzer.accesses()), (3, 4, 3));
        assert_eq!(part.end().bytes.asks.len(), 1, "of one place");
        // The next slice of the part begins where nothing runs.
        part.prepare(Start { modules: 1, ..Start::default() }, &known);
        part.go_on(&words(&[0]));
        let last = part.analyzer.core.charging.counters.table.blocks.last().expect("a block");
        assert_eq!((last.node.index(), last.segment.index()), (1, 0));
    }
}
