//! Goes over a trace without analysing it, and knows at each place what runs in which ring.
//!
//! Takes the blocks of a trace in order, from its start or from a [`Point`] on; gives points. Refuses points that do
//! not fit the programs that are there, and programs that are not those that were recorded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::{
    analyzer::Analyzer,
    modules::{ModuleTable, Source},
    options::Options,
    replay::{ReplayError, register},
    scan::{Scanned, Stop},
};
use crate::{
    cycles::Follower,
    decode::{
        context::{ContextNode, ContextNumber, Running},
        locator::FunctionNumber,
        regions::Regions,
    },
    objects::Objects,
    sites::{Batch, GeneratedCode},
    trace::{Block, Midway, Ring, TraceModule},
};

/// What a table of descriptors is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Descriptors {
    /// A file has them.
    File(TraceModule),
    /// The trace has them.
    Emulated(Batch),
    /// The trace has names for what they are of.
    Generated(GeneratedCode),
}

impl Descriptors {
    /// Takes note of them. Tables have the same numbers wherever all of a trace are taken in their order.
    pub fn register(&self, table: &ModuleTable) -> Result<(), ReplayError> {
        match self {
            Self::File(module) => register(table, module),
            Self::Emulated(batch) => {
                table.add_batch(batch);
                Ok(())
            }
            Self::Generated(code) => {
                table.name_generated(code);
                Ok(())
            }
        }
    }
}

/// A trace up to a place.
pub struct Walk<'a> {
    options: &'a Options,
    table: ModuleTable,
    /// All descriptors so far, in the order of the trace.
    pub modules: Vec<Descriptors>,
    /// Those that have not ended.
    pub rings: BTreeMap<u32, Walked>,
}

/// A ring up to a place.
pub struct Walked {
    pub ring: Ring,
    /// Its process, then those that it was forked from.
    processes: Vec<u32>,
    pub scanner: Analyzer,
    /// Cores that follow, if the ring was gone over from its start.
    pub cycles: Option<Box<Follower>>,
}

/// All that a walk knows at a place, whatever the analysis: another one can go on with that.
pub struct Point {
    pub(super) midway: Midway,
    pub(super) modules: Vec<Descriptors>,
    pub(super) rings: Vec<RingPoint>,
}

/// All that a walk knows of a ring at a place.
pub(super) struct RingPoint {
    pub number: u32,
    pub ring: Ring,
    /// Modules in the ring's order: number of the table, and address.
    pub placed: Vec<(u32, u64)>,
    /// Parent and function of each context.
    pub contexts: Vec<(ContextNumber, FunctionNumber)>,
    /// Objects and what lies where, if that was asked for.
    pub objects: Option<Objects>,
    pub now: Now,
}

/// Of that, what does not only grow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Now {
    /// The module that the last record named.
    pub place: usize,
    /// Every function counts as one of interest.
    pub running: Running,
    pub regions: Regions,
}

impl<'a> Walk<'a> {
    pub fn new(options: &'a Options) -> Self {
        Self { options, table: ModuleTable::default(), modules: Vec::new(), rings: BTreeMap::new() }
    }

    /// Goes on from a point; nothing if it does not fit the programs.
    pub fn from(point: Point, options: &'a Options) -> Result<Option<Self>, ReplayError> {
        let mut walk = Self::new(options);
        for module in point.modules {
            walk.module(module)?;
        }
        for ring in point.rings {
            let number = ring.number;
            let Some(ring) = Walked::from(ring, options, &walk.table) else { return Ok(None) };
            walk.rings.insert(number, ring);
        }
        Ok(point.midway.is_sound().then_some(walk))
    }

    fn module(&mut self, module: Descriptors) -> Result<(), ReplayError> {
        module.register(&self.table)?;
        self.modules.push(module);
        Ok(())
    }

    /// Goes on behind a block.
    pub fn block(&mut self, block: Block) -> Result<(), ReplayError> {
        match block {
            Block::Module(module) => self.module(Descriptors::File(module))?,
            Block::Sites(batch) => self.module(Descriptors::Emulated(batch))?,
            Block::Generated(code) => self.module(Descriptors::Generated(code))?,
            Block::Ring(number, ring) => _ = self.rings.insert(number, Walked::new(ring, self.options)),
            Block::Words(number, words) => _ = self.words(number, &words, |_, _, _| ()),
            Block::RingEnd(number, _) => _ = self.rings.remove(&number),
            Block::End(_) => {}
        }
        Ok(())
    }

    /// Goes on behind words of a ring, and says how many could not be decoded. Has `each` take what was gone over at a
    /// time, with what is known behind it.
    pub fn words(&mut self, ring: u32, words: &[u64], mut each: impl FnMut(&Analyzer, &[u64], &Scanned)) -> u64 {
        let Some(Walked { processes, scanner, cycles, .. }) = self.rings.get_mut(&ring) else { return 0 };
        let mut source = Source { processes, table: &self.table };
        if let Some(follower) = cycles {
            follower.replay(words, &mut source);
        }
        let mut rest = words;
        while !rest.is_empty() {
            let found = scanner.scan(rest, u64::MAX, &mut source);
            let (scanned, others) = rest.split_at(found.words);
            rest = others;
            each(scanner, scanned, &found);
            if found.stop == Stop::Lost {
                return rest.len() as u64;
            }
        }
        0
    }
}

impl Walked {
    fn new(ring: Ring, options: &Options) -> Self {
        let cycles = Follower::from_options(options.cycles.as_deref());
        Self { processes: ring.processes(), ring, scanner: Analyzer::new(options.clone()), cycles }
    }

    fn from(point: RingPoint, options: &Options, table: &ModuleTable) -> Option<Self> {
        let RingPoint { ring, placed, contexts, objects, now, .. } = point;
        let mut ring = Self::new(ring, options);
        let scanner = &mut ring.scanner;
        let placed: Option<Vec<_>> = placed.iter().map(|&(id, low)| table.placed(id, low)).collect();
        if let Some(known) = &mut scanner.core.charging.objects {
            **known = objects?;
        }
        if !scanner.go_on_knowing(&placed?, now.place) {
            return None;
        }
        let functions = scanner.tables.is_roi.len();
        let is_known = |(number, &(parent, function)): (usize, &(ContextNumber, FunctionNumber))| {
            number == 0 || parent.index() < number && function.index() < functions
        };
        if !contexts.iter().enumerate().all(is_known) || !now.running.is_sound(contexts.len(), functions) {
            return None;
        }
        let node = |&(parent, function): &(ContextNumber, FunctionNumber)| ContextNode {
            parent,
            function: Some(function),
            calls: 0,
        };
        let nodes: Vec<_> = contexts.iter().map(node).collect();
        let is_roi = |function: FunctionNumber| options.roi.is_some() && scanner.tables.is_roi[function.index()];
        let running = now.running.of_interest(is_roi);
        scanner.core.calls.open_regions = now.regions.open(|name| scanner.tables.is_region(name))?;
        scanner.core.calls.contexts.learn(&nodes);
        scanner.core.calls.contexts.go_on(&running);
        scanner.regions = now.regions;
        Some(ring)
    }

    /// What does not only grow.
    pub fn now(&self) -> Now {
        let Analyzer { locator, core, regions, .. } = &self.scanner;
        Now { place: locator.last_module(), running: core.calls.contexts.running(), regions: regions.clone() }
    }
}
