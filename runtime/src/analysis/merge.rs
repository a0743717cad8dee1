//! Adds up the results of rings: same calling context, same site, one sum. The order in which rings arrive does not
//! matter.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

use super::{
    deferred::DeferredRing,
    merged_objects::MergedObjects,
    result::{Failures, MemoryResult, OwnStack, RingResult},
    shared::Shared,
};
use crate::{
    counts::{
        cell::CellCounters,
        depths::DepthCounts,
        keys::{FlowKey, FunctionKey, SiteKey, moved_contexts},
        miss_curve::MissCurve,
        pairs::{PairCounts, SitePairs},
    },
    cycles::MergedCycles,
    decode::{
        block::BlockCounters,
        context::ContextNumber,
        locator::FunctionNumber,
        ring::{DecodedRing, RingTotals},
        sequences::{Calls, RingSequences},
    },
    motion::{merge::MergedMotion, result::MotionResult},
    objects::{ObjectNumber, common::Ended},
    observe::{
        flows::Followed,
        objects::{ObjectUse, RingObjects},
        patterns::between::Between,
        sample::Design,
        window::Window,
    },
    ring::Loss,
    sites::SiteTable,
    values::{RegionTotals, ValuesResult},
};

/// So many cells' memory may be held without any.
const SPARE_CELLS: usize = 1 << 16;

/// What was found of a flow.
#[derive(Clone, Debug, Default)]
pub struct MergedFlow {
    /// What the reads found.
    pub found: CellCounters,
    /// What was touched between two reads.
    pub between: Between<SiteKey>,
}

impl MergedFlow {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, mut other: Self) {
        self.found.merge(&mut other.found);
        self.between.merge(other.between);
    }
}

impl Measurement {
    /// Adds what cores that followed a thread have counted.
    pub(super) fn add_cycles(&mut self, cycles: MergedCycles) {
        self.cycles.get_or_insert_default().add(cycles);
    }
}

/// A calling context of the whole run.
#[derive(Clone, Debug)]
pub struct MergedContext {
    /// The context of the caller.
    pub parent: ContextNumber,
    /// `None` for the root, which is number 0.
    pub function: Option<FunctionKey>,
    /// How often it was entered while counting.
    pub calls: u64,
}

/// A segment in a calling context.
#[derive(Debug)]
pub struct MergedBlock {
    /// The calling context.
    pub context: ContextNumber,
    /// Number of the table.
    pub table: u32,
    /// Number in the table.
    pub segment: u32,
    /// How often it was executed while counting.
    pub executions: u64,
    /// One per item of the segment.
    pub cells: Vec<CellCounters>,
}

/// Totals of one thread, signal context or forked process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTotals {
    /// Its counts.
    pub ring: RingTotals,
    /// Bytes that it read.
    pub read: u64,
    /// Bytes that it wrote.
    pub written: u64,
    /// Bytes read that were not on the stack.
    pub cold: u64,
    /// Sum of ceil(sqrt(depth)) over the bytes that it read.
    pub cost: u128,
    /// The cost with dead bytes on the stack until the program gives them up; equal to `cost` unless liveness is exact.
    pub hints_cost: u128,
    /// On its own stack, beside one that it shares; zeros if that was not asked for.
    pub alone: AloneTotals,
    /// The outermost function in which the thread did most accesses: `main`, or what it was started with.
    pub start: Option<FunctionKey>,
}

/// What a thread found on the stack of its own, beside one that it shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AloneTotals {
    /// Bytes read that were not on that stack.
    pub cold: u64,
    /// Sum of ceil(sqrt(depth)) over the bytes that it read.
    pub cost: u128,
    /// Most bytes on that stack at once.
    pub peak_live: u64,
    /// Distinct bytes that it touched.
    pub footprint: u64,
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub struct Measurement {
    /// Path and descriptors of every module.
    pub tables: Vec<(PathBuf, Arc<SiteTable>)>,
    /// Calling contexts; parents come first.
    pub contexts: Vec<MergedContext>,
    /// Segments in their contexts.
    pub blocks: Vec<MergedBlock>,
    /// Bytes read first, by the bytes above them.
    pub cold: DepthCounts,
    /// Bytes read first, by the bytes above them on the stack of each thread alone, if it has one beside the one that
    /// it shares.
    pub cold_alone: Option<DepthCounts>,
    /// The threads, in the order of their rings.
    pub threads: Vec<ThreadTotals>,
    /// How much could not be recorded, and what.
    pub refused: u64,
    /// What has no records.
    pub losses: Vec<Loss>,
    /// Processes that wrote records, by their numbers in the run.
    pub processes: BTreeSet<u32>,
    /// Modules and rings that could not be read, with the reason: losses.
    pub unreadable: Vec<String>,
    /// Things worth telling that harm no number.
    pub notes: Vec<String>,
    /// What went from where to where, if that was to be measured.
    pub flows: Option<BTreeMap<FlowKey, MergedFlow>>,
    /// Lines from far by who brought them in, of the first size of lines; not of threads that share a stack.
    pub pairs: SitePairs,
    /// Data objects, if they were to be measured.
    pub objects: Option<MergedObjects>,
    /// Accesses to look at, of one thread.
    pub window: Option<Window>,
    /// Calls in order of each thread's chosen functions.
    pub sequences: Vec<(FunctionKey, Calls<FunctionKey>)>,
    /// Of the values model, by name.
    pub regions: BTreeMap<String, RegionTotals>,
    /// Calls with tracked values of code that does not follow them, by name; of the values model.
    pub unfollowed: BTreeMap<String, u64>,
    /// What is wrong with the program's declarations.
    pub problems: Vec<String>,
    /// What loops moved, if that was measured.
    pub motion: Option<MergedMotion>,
    /// What code took on cores, if any followed.
    pub cycles: Option<MergedCycles>,
    /// What threads that share stacks did to each other, if they do.
    pub shared: Option<Shared>,
    /// What further passes could not find.
    pub failures: Failures,
    /// What the system refused to the analysis, which ended there.
    pub cut_short: Option<String>,
    /// The sample that costs are estimated from; nothing: they are exact.
    pub sample: Option<Design>,
    /// Bytes read by depth, of a sample.
    pub miss_curve: MissCurve,
}

/// A [`Measurement`] in the making.
#[derive(Default)]
pub struct Merger {
    children: HashMap<(ContextNumber, FunctionKey), ContextNumber>,
    block_of: HashMap<(ContextNumber, u32, u32), usize>,
    /// What was added so far.
    pub measurement: Measurement,
    /// Rings that are analysed together, once all have ended.
    pub(super) kept: Vec<(DeferredRing, Option<Box<MemoryResult>>)>,
}

impl Merger {
    /// Adds what the rings of a process gave that were analysed together, with the objects that they share.
    pub(super) fn add_process(
        &mut self,
        results: Vec<MemoryResult>,
        objects: Option<Ended>,
        items_of: impl Fn(u32, u32) -> usize,
    ) {
        self.start();
        let mut rings = Vec::with_capacity(results.len());
        for mut result in results {
            let uses = result.objects.take().map_or_else(Vec::new, |objects| objects.uses);
            let (ring, nodes) = self.add_memory(result, &items_of);
            rings.push((ring, nodes, uses));
        }
        if let Some(objects) = objects {
            self.add_common_objects(&objects, rings);
        }
    }

    fn add_common_objects(&mut self, objects: &Ended, rings: Vec<(DecodedRing, Vec<ContextNumber>, Vec<ObjectUse>)>) {
        let all = self.measurement.objects.get_or_insert_default();
        let key = |number: ObjectNumber| {
            let (owner, object) = objects.list[number.index()];
            let (ring, nodes, _) = &rings[owner as usize];
            ring.object_key(object, &objects.files, nodes)
        };
        let mut used: BTreeSet<ObjectNumber> = BTreeSet::new();
        for (ring, _, uses) in &rings {
            for found in uses {
                used.insert(found.object);
                let mut counts = found.found.clone();
                all.uses.entry((key(found.object), ring.site(found.site))).or_default().merge(&mut counts);
            }
        }
        for number in used {
            all.add(key(number), objects.lives[number.index()], objects.parts.get(number.index()));
        }
    }

    /// Adds what a ring's replay gave; `items_of` gives the number of items of a table's segment.
    pub fn add(&mut self, ring: RingResult, items_of: impl Fn(u32, u32) -> usize) {
        self.start();
        match ring {
            RingResult::Memory(result) => _ = self.add_memory(*result, items_of),
            RingResult::Values(result) => self.add_values_of(*result, items_of),
            RingResult::Motion(result) => self.add_motion(*result),
            RingResult::Kept(part, alone) => self.kept.push((*part, alone)),
        }
    }

    /// Gives the ring, and its contexts as the measurement numbers them.
    fn add_memory(
        &mut self,
        result: MemoryResult,
        items_of: impl Fn(u32, u32) -> usize,
    ) -> (DecodedRing, Vec<ContextNumber>) {
        let MemoryResult {
            ring,
            blocks,
            cells,
            cold,
            pairs,
            own,
            followed,
            objects,
            window,
            sequences,
            failures,
            miss_curve,
        } = result;
        self.measurement.failures.merge(failures);
        let nodes = self.add_contexts(&ring);
        self.add_sequences(&ring, sequences);
        let window = window.map(|window| {
            let object = |object| Some(ring.key_of(object, objects.as_ref()?, &nodes));
            window.named(|site| ring.site(site), object)
        });
        self.measurement.window = Window::better(self.measurement.window.take(), window);
        if let Some(followed) = followed {
            self.add_flows(&ring, followed, objects.as_ref(), &nodes);
        }
        if let Some(objects) = objects {
            self.add_objects(&ring, objects, &nodes);
        }
        let site = |site| ring.site(site);
        self.add_pairs(pairs.into_iter().map(|((before, own), counts)| ((before.map(site), site(own)), counts)));
        self.add_counts(&ring, &nodes, &blocks, cells, items_of);
        self.measurement.cold.merge(&cold);
        self.measurement.miss_curve.merge(&miss_curve);
        if let Some(own) = own {
            self.add_own(own);
        }
        (ring, nodes)
    }

    fn add_pairs(&mut self, pairs: impl IntoIterator<Item = ((Option<SiteKey>, SiteKey), PairCounts)>) {
        let all = &mut self.measurement.pairs;
        pairs.into_iter().for_each(|(pair, counts)| all.entry(pair).or_default().merge(&counts));
    }

    /// The stack of the thread alone that was added last.
    fn add_own(&mut self, own: OwnStack) {
        self.measurement.cold_alone.get_or_insert_default().merge(&own.cold);
        if let Some(totals) = self.measurement.threads.last_mut() {
            (totals.alone.peak_live, totals.alone.footprint) = (own.peak_live, own.footprint);
        }
    }

    fn add_values_of(&mut self, result: ValuesResult, items_of: impl Fn(u32, u32) -> usize) {
        let ValuesResult { ring, blocks, cells, regions, unfollowed, problems, sequences } = result;
        let nodes = self.add_contexts(&ring);
        self.add_sequences(&ring, sequences);
        self.add_counts(&ring, &nodes, &blocks, cells, items_of);
        self.add_values(regions.into_iter(), unfollowed, problems);
    }

    fn add_motion(&mut self, result: MotionResult) {
        let MotionResult { ring, motion } = result;
        let nodes = self.add_contexts(&ring);
        let keys = motion.arrays.iter().map(|array| ring.object_key(array.object, &motion.files, &nodes)).collect();
        self.measurement.motion.get_or_insert_default().add(motion, keys);
        let start = ring.start(&[]);
        self.measurement.threads.push(ThreadTotals { ring: ring.totals, start, ..ThreadTotals::default() });
    }

    /// Adds the cells of a ring by block, and the thread's totals. Goes from the last block to the first, and gives up
    /// the memory of cells that have gone: the cells of large programs have no room twice.
    fn add_counts(
        &mut self,
        ring: &DecodedRing,
        nodes: &[ContextNumber],
        blocks: &[BlockCounters],
        mut cells: Vec<CellCounters>,
        items_of: impl Fn(u32, u32) -> usize,
    ) {
        let mut totals = ThreadTotals { ring: ring.totals, start: ring.start(blocks), ..ThreadTotals::default() };
        let mut order: Vec<&BlockCounters> = blocks.iter().collect();
        order.sort_unstable_by_key(|block| Reverse(block.first_cell));
        for block in order {
            let (table, segment) = ring.segment(block.segment);
            let items = items_of(table, segment);
            // One without items begins where another one does.
            let mut of_block = if items == 0 { Vec::new() } else { cells.split_off(block.first_cell.index()) };
            of_block.truncate(items);
            of_block.shrink_to_fit();
            if cells.capacity() - cells.len() > SPARE_CELLS {
                cells.shrink_to_fit();
            }
            for cell in &mut of_block {
                cell.flush();
                totals.read += cell.depths.iter().map(|(_, n)| n).sum::<u64>();
                totals.written += cell.written;
                totals.cold += cell.cold;
                totals.cost += cell.cost;
                totals.hints_cost += cell.hints_cost();
                if let Some(alone) = &cell.alone {
                    totals.alone.cold += alone.cold;
                    totals.alone.cost += alone.cost;
                }
            }
            self.add_block(MergedBlock {
                context: nodes[block.node.index()],
                table,
                segment,
                executions: block.executions,
                cells: of_block,
            });
        }
        self.measurement.threads.push(totals);
    }

    /// Adds what another worker has merged.
    pub fn absorb(&mut self, mut other: Self) {
        self.kept.append(&mut other.kept);
        self.measurement.unreadable.append(&mut other.measurement.unreadable);
        self.measurement.notes.append(&mut other.measurement.notes);
        self.measurement.processes.append(&mut other.measurement.processes);
        self.measurement.failures.merge(std::mem::take(&mut other.measurement.failures));
        self.measurement.cut_short = self.measurement.cut_short.take().or(other.measurement.cut_short.take());
        other.measurement.cycles.take().into_iter().for_each(|cycles| self.measurement.add_cycles(cycles));
        self.start();
        let mut nodes: Vec<ContextNumber> = Vec::with_capacity(other.measurement.contexts.len());
        for context in &other.measurement.contexts {
            let merged = context.function.map_or(ContextNumber::ROOT, |f| self.child(nodes[context.parent.index()], f));
            self.measurement.contexts[merged.index()].calls += context.calls;
            nodes.push(merged);
        }
        for mut block in std::mem::take(&mut other.measurement.blocks) {
            block.context = nodes[block.context.index()];
            self.add_block(block);
        }
        self.add_values(
            other.measurement.regions.into_values(),
            other.measurement.unfollowed,
            other.measurement.problems,
        );
        let window = other
            .measurement
            .window
            .take()
            .map(|window| window.named(|site| site, |object| Some(object.with_contexts(&nodes))));
        self.measurement.window = Window::better(self.measurement.window.take(), window);
        if let Some(flows) = other.measurement.flows.take() {
            let all = self.measurement.flows.get_or_insert_default();
            for (key, found) in flows {
                all.entry(key.with_contexts(&nodes)).or_default().merge(found);
            }
        }
        self.add_pairs(std::mem::take(&mut other.measurement.pairs));
        if let Some(objects) = other.measurement.objects.take() {
            let all = self.measurement.objects.get_or_insert_default();
            for (key, life) in objects.lives {
                all.add_life(key.with_contexts(&nodes), life);
            }
            for (key, parts) in objects.parts {
                all.add_parts(key.with_contexts(&nodes), &parts);
            }
            for ((key, site), mut found) in objects.uses {
                all.uses.entry((key.with_contexts(&nodes), site)).or_default().merge(&mut found);
            }
            for ((key, site), pattern) in objects.patterns {
                all.patterns.entry((key.with_contexts(&nodes), site)).or_default().merge(&pattern);
            }
        }
        if let Some(motion) = other.measurement.motion.take() {
            self.measurement.motion.get_or_insert_default().absorb(motion, &nodes);
        }
        self.measurement.sequences.append(&mut other.measurement.sequences);
        self.measurement.cold.merge(&other.measurement.cold);
        self.measurement.miss_curve.merge(&other.measurement.miss_curve);
        if let Some(cold) = &other.measurement.cold_alone {
            self.measurement.cold_alone.get_or_insert_default().merge(cold);
        }
        self.measurement.threads.append(&mut other.measurement.threads);
    }

    fn add_flows(
        &mut self,
        ring: &DecodedRing,
        followed: Followed,
        objects: Option<&RingObjects>,
        nodes: &[ContextNumber],
    ) {
        let all = self.measurement.flows.get_or_insert_default();
        let object = |object| Some(ring.key_of(object, objects?, nodes));
        for flow in followed.flows {
            let site = |site| ring.site(site);
            let (writer, toucher) = (flow.writer.map(site), flow.toucher.map(site));
            let contexts = moved_contexts(flow.contexts, nodes);
            let object = flow.object.and_then(object);
            let key = FlowKey { writer, toucher, reader: site(flow.reader), contexts, object };
            all.entry(key).or_default().merge(MergedFlow { found: flow.found, between: flow.between.named(site) });
        }
        let patterns = followed
            .uses
            .into_iter()
            .filter_map(|used| Some(((object(used.object)?, ring.site(used.site)), used.pattern)));
        let patterns: Vec<_> = patterns.collect();
        if !patterns.is_empty() {
            let objects = self.measurement.objects.get_or_insert_default();
            patterns.into_iter().for_each(|(key, pattern)| objects.patterns.entry(key).or_default().merge(&pattern));
        }
    }

    fn add_objects(&mut self, ring: &DecodedRing, mut objects: RingObjects, nodes: &[ContextNumber]) {
        let uses = std::mem::take(&mut objects.uses);
        let all = self.measurement.objects.get_or_insert_default();
        let key = |number| ring.key_of(number, &objects, nodes);
        let mut used: BTreeSet<ObjectNumber> = BTreeSet::new();
        for mut found in uses {
            used.insert(found.object);
            all.uses.entry((key(found.object), ring.site(found.site))).or_default().merge(&mut found.found);
        }
        for number in used {
            all.add(key(number), objects.lives[number.index()], objects.parts.get(number.index()));
        }
    }

    fn add_sequences(&mut self, ring: &DecodedRing, sequences: RingSequences) {
        for (function, calls) in sequences {
            self.add_sequence(ring, function, &calls);
        }
    }

    fn add_sequence(&mut self, ring: &DecodedRing, function: FunctionNumber, calls: &Calls<FunctionNumber>) {
        let key = |function| ring.function(function).expect("functions that were called have a table");
        let calls = Calls { calls: calls.calls.iter().map(|(f, n)| (key(*f), *n)).collect(), omitted: calls.omitted };
        self.measurement.sequences.push((key(function), calls));
    }

    fn add_values(
        &mut self,
        regions: impl Iterator<Item = RegionTotals>,
        unfollowed: BTreeMap<String, u64>,
        problems: Vec<String>,
    ) {
        for region in regions {
            match self.measurement.regions.get_mut(&region.name) {
                Some(known) => known.merge(&region),
                None => {
                    self.measurement.regions.insert(region.name.clone(), region);
                }
            }
        }
        for (name, calls) in unfollowed {
            *self.measurement.unfollowed.entry(name).or_default() += calls;
        }
        self.measurement.problems.extend(problems);
    }

    /// The root, which every tree has.
    fn start(&mut self) {
        if self.measurement.contexts.is_empty() {
            self.measurement.contexts.push(MergedContext { parent: ContextNumber::ROOT, function: None, calls: 0 });
        }
    }

    fn add_contexts(&mut self, ring: &DecodedRing) -> Vec<ContextNumber> {
        let mut nodes: Vec<ContextNumber> = Vec::with_capacity(ring.contexts.nodes.len());
        for (index, node) in ring.contexts.nodes.iter().enumerate() {
            let merged = match node.function.and_then(|function| ring.function(function)) {
                None => ContextNumber::ROOT,
                Some(function) => self.child(nodes[node.parent.index()], function),
            };
            debug_assert!(index == 0 || merged != ContextNumber::ROOT);
            self.measurement.contexts[merged.index()].calls += node.calls;
            nodes.push(merged);
        }
        nodes
    }

    fn child(&mut self, parent: ContextNumber, function: FunctionKey) -> ContextNumber {
        let contexts = &mut self.measurement.contexts;
        *self.children.entry((parent, function)).or_insert_with(|| {
            contexts.push(MergedContext { parent, function: Some(function), calls: 0 });
            ContextNumber::new(contexts.len() - 1)
        })
    }

    fn add_block(&mut self, mut block: MergedBlock) {
        let key = (block.context, block.table, block.segment);
        let blocks = &mut self.measurement.blocks;
        match self.block_of.get(&key) {
            None => {
                self.block_of.insert(key, blocks.len());
                blocks.push(block);
            }
            Some(&at) => {
                let known = &mut blocks[at];
                known.executions += block.executions;
                for (sum, cell) in known.cells.iter_mut().zip(&mut block.cells) {
                    sum.merge(cell);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
