//! Turns a measurement into a profile: names instead of numbers, and an order that depends on nothing but the content,
//! so that two equal runs give equal bytes.

mod blocks;
pub mod coverage;
mod cycles;
mod measured;
mod objects;
mod read;
mod sampled;
mod sharing;
mod site_metadata;
mod stacks;
pub mod twin;
pub mod window;

use std::{
    borrow::Borrow,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use dmdprof_runtime::{
    analysis::{FunctionKey as RunFunction, Measurement, MergedBlock, SiteKey as RunSite, ThreadTotals},
    counts::{cell::CellCounters, miss_curve::MissCurve, sampled::SampleCounts},
    decode::sequences::Calls,
    observe::{
        caches::{Geometry, Policy},
        hazards,
    },
    values::RegionTotals,
};

pub use self::measured::place;
use self::measured::{Chain, FunctionKey, Measured, Named, RunLoop, chain, linked_key};
use self::read::{access_kind, histogram, item_of, text};
use crate::cores::NamedCore;
use crate::profile::model::{
    CacheLevel, Cell, CellCounts, Context, ContextId, Function, FunctionId, LineCounts, LinePair, Merge, Meta,
    ObjectId, PairCounts, Position, PositionId, Profile, Region, Sequence, Site, SiteId, SourceFile, StringId, Totals,
    Unit, counts_of,
};
use crate::shared::source_file;

/// What a sample has, by site, and by object and site if objects were measured.
pub struct SampleCells {
    pub sites: BTreeMap<SiteId, SampleCounts>,
    pub objects: BTreeMap<(ObjectId, SiteId), SampleCounts>,
    /// By calling context and site, if it is known which function called which.
    pub contexts: BTreeMap<(ContextId, SiteId), SampleCounts>,
    /// Of the whole run, by depth.
    pub miss_curve: MissCurve,
}

/// What was measured beside the stack of bytes.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Sizes of lines.
    pub line_sizes: &'a [u32],
    /// Levels of caches.
    pub levels: &'a [Geometry],
    /// Capacities of memories that know the future.
    pub optimum: &'a [u64],
    /// Hazards were counted.
    pub hazards: bool,
    /// Cores that followed.
    pub cores: &'a [NamedCore],
}

/// Builds the profile of a finished run, whose blocks are taken: the counts of large programs have no room twice.
#[must_use]
pub fn to_profile(measurement: &mut Measurement, meta: Meta, beside: Beside) -> Profile {
    let (profile, _, known) = without_cells(measurement, meta, beside);
    with_cells(profile, std::mem::take(&mut measurement.blocks), &known)
}

/// Builds the profile of a finished run, and what a sample has, if one was drawn: costs and bytes read of the profile
/// are then of the reads only that need none.
#[must_use]
pub fn with_sample(measurement: &Measurement, meta: Meta, beside: Beside) -> (Profile, SampleCells) {
    let (profile, sample, known) = without_cells(measurement, meta, beside);
    (with_cells(profile, measurement.blocks.iter(), &known), sample)
}

/// What cells are of: profile contexts of measured ones, and sites.
struct CellKeys {
    contexts: Vec<ContextId>,
    sites: HashMap<RunSite, SiteId>,
}

fn without_cells(measurement: &Measurement, meta: Meta, beside: Beside) -> (Profile, SampleCells, CellKeys) {
    let measured = Measured { run: measurement };
    let mut builder = Builder::new(measured);
    let contexts = builder.contexts();
    let sites = builder.sites();
    let blocks = builder.blocks(&contexts);
    let named = builder.objects(&sites, &contexts);
    let (objects, miss_curve) = (named.sampled.clone(), measurement.miss_curve.clone());
    let in_contexts = measured.sampled_in_contexts(&sites, &contexts);
    let sample = SampleCells { sites: measured.sampled(&sites), objects, contexts: in_contexts, miss_curve };
    let flows = measurement.flows.as_ref().map(|measured| builder.flows(measured, &named, &sites, &contexts));
    let objects = measurement.objects.is_some().then_some(named.objects);
    let (known, irregular) = builder.known_of_sites(&sites);
    let pairs = pairs(measurement, &sites);
    let sequences = builder.sequences();
    let totals = sum(&measurement.threads);
    let (thread_starts, threads) = builder.threads();
    let flops_by_type = measured.flops_by_type();
    let (sharing, sharing_details) = measured.sharing().unzip();
    let stacks = builder.stacks();
    let cycles = builder.cycles(beside.cores);
    let has_capacities = meta.values.is_none();
    let needs_lives = meta.unit != Unit::Lines || objects.is_some();
    let profile = Profile {
        meta,
        coverage: coverage::coverage(measurement, needs_lives),
        totals,
        threads,
        sources: builder.sources(),
        strings: builder.strings.list,
        functions: builder.functions,
        positions: builder.position_list,
        sites: sites.list,
        blocks: blocks.list,
        contexts: contexts.list,
        cells: Vec::new(),
        block_counts: blocks.counts,
        regions: measurement.regions.values().map(region).collect(),
        flows,
        objects,
        known,
        irregular,
        pairs,
        sequences,
        thread_starts,
        flops_by_type,
        line_sizes: beside.line_sizes.to_vec(),
        caches: beside.levels.iter().map(level).collect(),
        hazards: if beside.hazards { hazards::NAMES.iter().map(ToString::to_string).collect() } else { Vec::new() },
        optimum: beside.optimum.to_vec(),
        cold_histogram: histogram(&measurement.cold),
        sharing,
        sharing_details: sharing_details.flatten(),
        stacks,
        cycles,
        clock: None,
        has_capacities,
        compilers: coverage::compilers(measurement),
        unknown: Vec::new(),
    };
    (profile, sample, CellKeys { contexts: contexts.id_of, sites: sites.ids })
}

fn with_cells<B: Borrow<MergedBlock>>(
    profile: Profile,
    blocks: impl IntoIterator<Item = B>,
    known: &CellKeys,
) -> Profile {
    let mut profile = Profile { cells: cells(blocks, known), ..profile };
    let has_alone = profile.alone().is_some();
    profile.all_counts_mut().for_each(|counts| tidy(counts, has_alone));
    profile
}

/// Adds the hashes of source files that can be read now. They may be on any file system, so the profile should be safe
/// before this begins.
pub fn hash_sources(profile: &mut Profile) {
    for source in &mut profile.sources {
        source.sha256 = source_file::sha256(Path::new(&profile.strings[source.path.index()])).ok();
    }
}

/// Lines from far, by sites of the profile; several sites of the measurement may be one.
fn pairs(measurement: &Measurement, sites: &Sites) -> Vec<LinePair> {
    let mut all: BTreeMap<(Option<SiteId>, SiteId), PairCounts> = BTreeMap::new();
    for ((before, site), counts) in &measurement.pairs {
        all.entry((before.map(|site| sites.ids[&site]), sites.ids[site])).or_default().merge(counts);
    }
    all.into_iter().map(|((before, site), counts)| LinePair { before, site, counts }).collect()
}

fn level(geometry: &Geometry) -> CacheLevel {
    let Geometry { bytes, ways, line, policy } = *geometry;
    CacheLevel { bytes, ways, line, plru: policy == Policy::TreePlru }
}

/// Forgets what is nothing, and stacks of threads alone where not all of them are known.
fn tidy(counts: &mut CellCounts, has_alone: bool) {
    fn is_something(lines: &[LineCounts]) -> bool {
        lines.iter().any(|of_size| *of_size != LineCounts::default())
    }
    counts.lines.take_if(|lines| !is_something(lines));
    counts.alone.iter_mut().for_each(|alone| _ = alone.lines.take_if(|lines| !is_something(lines)));
    counts.alone.take_if(|alone| !has_alone || (alone.cost == 0 && alone.lines.is_none()));
}

fn region(totals: &RegionTotals) -> Region {
    let mut region = Region::default();
    region.merge(totals);
    region
}

fn one_thread(thread: &ThreadTotals) -> Totals {
    Totals {
        accesses: thread.ring.accesses,
        read: thread.read,
        written: thread.written,
        cold: thread.cold,
        cost: thread.cost,
        peak_live: thread.ring.peak_live,
        footprint: thread.ring.footprint,
    }
}

fn sum(threads: &[ThreadTotals]) -> Totals {
    all_of(threads.iter().map(one_thread))
}

fn all_of(threads: impl Iterator<Item = Totals>) -> Totals {
    threads.fold(Totals::default(), |mut all, t| {
        all.accesses += t.accesses;
        all.read += t.read;
        all.written += t.written;
        all.cold += t.cold;
        all.cost += t.cost;
        all.peak_live = all.peak_live.max(t.peak_live);
        all.footprint += t.footprint;
        all
    })
}

/// Order of sites: function, position, kind, size; then table, segment and item, which tell equal ones apart.
struct Builder<'a> {
    measured: Measured<'a>,
    named: Named,
    strings: Strings<'a>,
    functions: Vec<Function>,
    function_ids: BTreeMap<FunctionKey<'a>, FunctionId>,
    position_list: Vec<Position>,
    /// Position of a table's frame.
    position_of: HashMap<(u32, u32), PositionId>,
}

/// Strings of the profile, each once.
#[derive(Default)]
struct Strings<'a> {
    list: Vec<String>,
    ids: HashMap<&'a str, StringId>,
}

impl<'a> Strings<'a> {
    fn id(&mut self, text: &'a str) -> StringId {
        *self.ids.entry(text).or_insert_with(|| {
            self.list.push(text.to_owned());
            StringId(self.list.len() as u32 - 1)
        })
    }
}

impl<'a> Builder<'a> {
    fn new(measured: Measured<'a>) -> Self {
        let mut builder = Self {
            measured,
            named: measured.named(),
            strings: Strings::default(),
            functions: Vec::new(),
            function_ids: BTreeMap::new(),
            position_list: Vec::new(),
            position_of: HashMap::new(),
        };
        let frames = measured.used_frames(&builder.named);
        for key in measured.used_functions(&builder.named, &frames) {
            let (symbol, file, line) = key;
            let function =
                Function { symbol: builder.strings.id(symbol), file: file.map(|f| builder.strings.id(f)), line };
            builder.function_ids.insert(key, FunctionId(builder.functions.len() as u32));
            builder.functions.push(function);
        }
        builder.add_positions(&frames);
        builder
    }

    /// Positions in the order of their chains, read from the linked function inwards, so that parents come first.
    fn add_positions(&mut self, used: &BTreeSet<(u32, u32)>) {
        let mut chains: BTreeMap<Chain<'a>, Option<PositionId>> = BTreeMap::new();
        for &(table, frame) in used {
            let mut outermost_first = chain(self.measured.table(table), frame);
            outermost_first.reverse();
            for len in 1..=outermost_first.len() {
                chains.insert(outermost_first[..len].to_vec(), None);
            }
        }
        let keys: Vec<Chain<'a>> = chains.keys().cloned().collect();
        for key in keys {
            let (innermost, outer) = key.split_last().expect("chains have at least one position");
            let inlined_at = chains.get(outer).copied().flatten();
            let (function, file, line, column) = *innermost;
            let position = Position {
                function: self.function_ids[&function],
                file: file.map(|f| self.strings.id(f)),
                line,
                column,
                inlined_at,
            };
            chains.insert(key, Some(PositionId(self.position_list.len() as u32)));
            self.position_list.push(position);
        }
        for &(table, frame) in used {
            let mut key = chain(self.measured.table(table), frame);
            key.reverse();
            if let Some(id) = chains.get(&key).copied().flatten() {
                self.position_of.insert((table, frame), id);
            }
        }
    }

    /// Contexts in depth-first order with children by function; contexts that turn out to have the same functions are
    /// one.
    fn contexts(&self) -> Contexts {
        let mut children: Vec<BTreeMap<FunctionId, Vec<u32>>> =
            vec![BTreeMap::new(); self.measured.run.contexts.len().max(1)];
        for (index, context) in self.measured.run.contexts.iter().enumerate() {
            if let Some((table, function)) = context.function {
                let id = self.function_ids[&linked_key(self.measured.table(table), function)];
                children[context.parent.index()].entry(id).or_default().push(index as u32);
            }
        }
        let mut out = Contexts { list: Vec::new(), id_of: vec![ContextId(0); self.measured.run.contexts.len()] };
        let mut stack: Vec<(Option<ContextId>, Option<FunctionId>, Vec<u32>)> = vec![(None, None, vec![0])];
        while let Some((parent, function, same)) = stack.pop() {
            let id = ContextId(out.list.len() as u32);
            let known = || same.iter().filter_map(|n| self.measured.run.contexts.get(*n as usize));
            out.list.push(Context { parent, function, calls: known().map(|c| c.calls).sum() });
            let mut below: BTreeMap<FunctionId, Vec<u32>> = BTreeMap::new();
            for &node in &same {
                if let Some(slot) = out.id_of.get_mut(node as usize) {
                    *slot = id;
                }
                for (function, nodes) in &children[node as usize] {
                    below.entry(*function).or_default().extend(nodes);
                }
            }
            stack.extend(below.into_iter().rev().map(|(function, nodes)| (Some(id), Some(function), nodes)));
        }
        out
    }

    fn position(&self, table: u32, frame: u32) -> Option<PositionId> {
        self.position_of.get(&(table, frame)).copied()
    }

    /// Sites that did something, by (function, position, kind, size, place in the object).
    fn sites(&self) -> Sites {
        let mut found: HashMap<RunSite, Site> = HashMap::new();
        for block in &self.measured.run.blocks {
            let table = self.measured.table(block.table);
            let segment = &table.segments[block.segment as usize];
            let function = self.function_ids[&linked_key(table, segment.function)];
            let items = &table.items[segment.items.start as usize..segment.items.end as usize];
            for (index, (item, cell)) in items.iter().zip(&block.cells).enumerate() {
                let Some(kind) = access_kind(item, segment.kind) else { continue };
                if !did_something(block, cell) {
                    continue;
                }
                let site = (block.table, block.segment, index as u32);
                let position = || self.position(block.table, item.frame);
                found.entry(site).or_insert_with(|| Site { function, position: position(), kind, size: item.size });
            }
        }
        for &(id, segment, index) in &self.named.sites {
            let table = self.measured.table(id);
            let item = item_of(table, segment, index);
            let segment_kind = table.segments[segment as usize].kind;
            let kind = access_kind(item, segment_kind).expect("only accesses move bytes");
            let function = self.function_ids[&linked_key(table, table.segments[segment as usize].function)];
            let position = self.position(id, item.frame);
            found.entry((id, segment, index)).or_insert(Site { function, position, kind, size: item.size });
        }
        let mut found: Vec<(RunSite, Site)> = found.into_iter().collect();
        found.sort_by_cached_key(|(run, site)| {
            (site.function, site.position, site.kind as u8, site.size, self.measured.offset(*run), *run)
        });
        let ids = found.iter().enumerate().map(|(number, (run, _))| (*run, SiteId(number as u32))).collect();
        Sites { list: found.into_iter().map(|(_, site)| site).collect(), ids }
    }

    /// Threads and the functions they began with, the most costly first.
    fn threads(&self) -> (Vec<Option<FunctionId>>, Vec<Totals>) {
        self.threads_by(one_thread)
    }

    /// Threads and the functions they began with, the most costly first by totals of any stack.
    fn threads_by(&self, totals: fn(&ThreadTotals) -> Totals) -> (Vec<Option<FunctionId>>, Vec<Totals>) {
        let start = |t: &ThreadTotals| {
            t.start.and_then(|(table, number)| {
                self.function_ids.get(&linked_key(self.measured.table(table), number)).copied()
            })
        };
        let mut threads: Vec<(Option<FunctionId>, Totals)> =
            self.measured.run.threads.iter().map(|t| (start(t), totals(t))).collect();
        let amounts = |t: &Totals| (t.cost, t.read, t.written, t.accesses, t.peak_live, t.footprint);
        threads.sort_by_key(|(start, t)| (Reverse(amounts(t)), *start));
        threads.into_iter().unzip()
    }

    fn sequences(&self) -> Vec<Sequence> {
        let id = |(table, function): RunFunction| self.function_ids[&linked_key(self.measured.table(table), function)];
        let sequence = |(function, measured): &(RunFunction, Calls<RunFunction>)| {
            // Functions of several modules may turn out to be one.
            let mut calls = Calls::default();
            measured.calls.iter().for_each(|(callee, times)| calls.add(id(*callee), *times));
            Sequence { function: id(*function), calls: calls.calls, omitted: calls.omitted + measured.omitted }
        };
        let mut sequences: Vec<Sequence> = self.measured.run.sequences.iter().map(sequence).collect();
        sequences.sort_by(|a, b| (a.function, &a.calls, a.omitted).cmp(&(b.function, &b.calls, b.omitted)));
        sequences
    }

    /// Source files that positions name, without looking at them.
    fn sources(&self) -> Vec<SourceFile> {
        let used: BTreeSet<StringId> = self
            .position_list
            .iter()
            .filter_map(|p| p.file)
            .chain(self.functions.iter().filter_map(|f| f.file))
            .collect();
        let mut used: Vec<StringId> = used.into_iter().collect();
        used.sort_by_key(|id| &self.strings.list[id.index()]);
        used.into_iter().map(|path| SourceFile { path, sha256: None }).collect()
    }
}

struct Contexts {
    list: Vec<Context>,
    /// Profile context of each measured one.
    id_of: Vec<ContextId>,
}

struct Sites {
    list: Vec<Site>,
    ids: HashMap<RunSite, SiteId>,
}

fn did_something(block: &MergedBlock, cell: &CellCounters) -> bool {
    cell.executions + block.executions > 0 || cell.sampled.is_some()
}

/// Counts by context and site, in their order: several of a run may be of one context. Each block is given up once it
/// is done.
fn cells<B: Borrow<MergedBlock>>(blocks: impl IntoIterator<Item = B>, known: &CellKeys) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for block in blocks {
        let block = block.borrow();
        let context = known.contexts[block.context.index()];
        for (index, cell) in (0..).zip(&block.cells).filter(|(_, cell)| did_something(block, cell)) {
            let Some(site) = known.sites.get(&(block.table, block.segment, index)) else { continue };
            let counts = CellCounts { executions: cell.executions + block.executions, ..counts_of(cell) };
            cells.push(Cell { context, site: *site, read: counts.depths.total(), counts });
        }
    }
    cells.sort_unstable_by_key(|cell| (cell.context, cell.site));
    cells.dedup_by(|cell, first| {
        let is_one = (cell.context, cell.site) == (first.context, first.site);
        if is_one {
            first.read += cell.read;
            first.counts.merge(&cell.counts);
        }
        is_one
    });
    cells
}

#[cfg(test)]
mod tests;
