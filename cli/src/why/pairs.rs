//! Reuse pairs: flows put together by source lines and objects, with how the reader used the object.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::{
    cycles::Cause,
    observe::patterns::{FAST, LINE},
};

use super::{deeds::Walk, places::Places};
use crate::{
    profile::model::{AccessKind, ContextId, Flow, LoopId, ObjectPattern, PositionId, SiteId},
    report::depths::Depths,
};

/// Where and how bytes were touched last before the reads of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Nobody touched them: inputs.
    Never,
    Written {
        line: usize,
        function: usize,
    },
    Read {
        line: usize,
        function: usize,
    },
}

/// What makes a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub touch: Touch,
    pub line: usize,
    pub function: usize,
    pub object: Option<usize>,
}

/// How the lines of fast memory were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineUse {
    pub reads: u64,
    pub strided: u64,
    pub stride: i64,
    pub lines: u64,
    pub used: u64,
    pub renewed: u64,
}

impl LineUse {
    pub fn add(&mut self, pattern: &ObjectPattern) {
        self.reads += pattern.reads;
        self.strided += pattern.strided;
        self.lines += pattern.lines;
        self.used += pattern.used;
        self.renewed += pattern.renewed;
    }

    /// Part of the lines fetched that was used; `None` if none was fetched.
    pub fn utilisation(&self) -> Option<f64> {
        (self.lines > 0).then(|| self.used as f64 / (self.lines * LINE) as f64)
    }
}

/// What counts of lines say of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Lines from beyond 32 KiB, and of these, from beyond 1 MiB.
    pub lines: u64,
    pub far: u64,
    /// Part that was read of what its loop brings in, if it reads.
    pub used: Option<f64>,
    pub walk: Walk,
    /// An exchange of the loops would have another access go from line to line.
    pub is_opposed: bool,
    /// It would have the inner loop add up what it stores.
    pub becomes_a_sum: bool,
    /// Times that a line comes while the loops that both ends are in go on, if one of these comes back to it.
    pub passes: Option<f64>,
    /// A processor waits for the lines that come from beyond 32 KiB.
    pub is_awaited: bool,
    /// Loops of both ends that could be one: the toucher's and the reader's.
    pub two_loops: Option<[LoopId; 2]>,
    /// Cycles that wait for lines at the reader, as far as it waits for these.
    pub waits: u64,
    /// Cycles of operations that wait for one another at the reader, where its inner loop makes one value of what it
    /// goes across: with another loop inside, such operations do not wait. Nothing where they are few.
    pub chain: u64,
    /// Cycles that square blocks would save where one access goes across, whichever loop is inside: 0 where no core
    /// followed. Nothing where that is little: lines stay near until they are used, and what comes from afar has to
    /// come, whatever the order.
    pub blocks: Option<u64>,
    /// What bounds the reader, if moving less there gains nothing.
    pub bound: Option<Cause>,
    /// The reader is a function of a library, of which the line is a call.
    pub is_library: bool,
}

impl Counted {
    /// Cycles that a cure may save.
    pub fn gain(&self) -> u64 {
        self.blocks.unwrap_or(self.waits) + self.chain
    }
}

#[derive(Debug)]
pub struct Pair {
    pub key: Key,
    pub bytes: u64,
    pub cost: u128,
    pub depths: Depths,
    /// Bytes touched between, for some of the reads, and of these, those of the lines that touched most.
    pub between_all: u128,
    pub between: BTreeMap<usize, u64>,
    /// Of the reader.
    pub lines: LineUse,
    /// All bytes that the reader's line reads of the object.
    pub read: u64,
    /// Bytes of the object at once.
    pub object_bytes: u128,
    /// The bytes were put there by copying, and all bytes that were.
    pub copied: Option<u64>,
    /// Bytes of one read, if all are alike.
    pub width: Option<u32>,
    /// The loop around both ends, of the flows that cost most.
    pub around: Option<LoopId>,
    /// Loops around the reader and the toucher, the innermost first, of the flows that cost most.
    pub reader_loops: Vec<LoopId>,
    pub toucher_loops: Vec<LoopId>,
    /// Calling contexts of the toucher and the reader in which the pair costs most, and the cost in them; if they were
    /// measured.
    pub contexts: Option<(Option<ContextId>, ContextId, u128)>,
    /// Sites that read, or bring lines in.
    pub readers: BTreeSet<SiteId>,
    /// Of a pair of lines, whose bytes are those of the lines. It has no cost and no object.
    pub counted: Option<Counted>,
}

impl Pair {
    /// One of which nothing is known yet.
    pub fn new(key: Key) -> Self {
        Self {
            key,
            bytes: 0,
            cost: 0,
            depths: Depths::default(),
            between_all: 0,
            between: BTreeMap::new(),
            lines: LineUse::default(),
            read: 0,
            object_bytes: 0,
            copied: None,
            width: None,
            around: None,
            reader_loops: Vec::new(),
            toucher_loops: Vec::new(),
            contexts: None,
            readers: BTreeSet::new(),
            counted: None,
        }
    }

    /// The reader goes over the object in even steps, as far as that was watched.
    pub fn is_regular(&self) -> bool {
        self.lines.strided * 2 >= self.lines.reads
    }

    /// The innermost loop around the reader, and the one around that.
    pub fn inner_loops(&self) -> [Option<LoopId>; 2] {
        [0, 1].map(|at| self.reader_loops.get(at).copied())
    }

    /// Part of the bytes that fast memory does not hold any more.
    pub fn deep(&self) -> f64 {
        if self.bytes == 0 { 0.0 } else { self.depths.traffic(FAST) as f64 / self.bytes as f64 }
    }
}

/// Part of the bytes whose depth is near the median: bytes that are met again in the order in which they were touched
/// lie alike deep.
pub fn alike(depths: &Depths) -> f64 {
    let total = depths.total();
    let (middle, _) = depths.middle();
    let near = |low: u64| low.abs_diff(middle) <= middle / 4;
    let bytes: u64 = depths.buckets().filter(|(low, ..)| near(*low)).map(|(.., bytes)| bytes).sum();
    if total == 0 { 0.0 } else { bytes as f64 / total as f64 }
}

/// Costs of a pair's flows.
#[derive(Default)]
struct Tally {
    sites: BTreeMap<(Option<SiteId>, SiteId), u128>,
    loops: BTreeMap<Option<LoopId>, u128>,
    contexts: BTreeMap<(Option<ContextId>, ContextId), u128>,
}

fn of_flow(flow: &Flow) -> Depths {
    let mut depths = Depths::default();
    depths.add(&flow.histogram);
    depths
}

/// Where bytes were touched last, and whether to be written.
pub fn touch(places: &Places, toucher: Option<SiteId>, wrote: bool) -> Touch {
    let Some(site) = toucher else { return Touch::Never };
    let (line, function) = (places.line(site), places.function(site));
    if wrote { Touch::Written { line, function } } else { Touch::Read { line, function } }
}

/// The key with the largest cost, of equal ones the first.
pub fn most<K: Copy>(costs: &BTreeMap<K, u128>) -> Option<(K, u128)> {
    costs.iter().rev().max_by_key(|(_, cost)| **cost).map(|(key, cost)| (*key, *cost))
}

/// What lines and functions did to objects.
#[derive(Default)]
struct Sums {
    read: BTreeMap<(usize, usize), u64>,
    lines: BTreeMap<(usize, usize), LineUse>,
    /// Lines by function.
    around: BTreeMap<(usize, usize), LineUse>,
    written: BTreeMap<SiteId, u64>,
}

impl Sums {
    /// How the lines were used that a source line fetched; of the whole function, if that fetched nearly all of them
    /// for it.
    fn lines(&self, line: usize, function: usize, object: usize) -> LineUse {
        let around = self.around.get(&(function, object)).copied().unwrap_or_default();
        self.lines.get(&(line, object)).copied().filter(|own| own.lines * 8 >= around.lines).unwrap_or(around)
    }
}

/// Most expensive first.
pub fn flow_pairs(places: &Places, flows: &[&Flow]) -> Vec<Pair> {
    let sums = sums(places);
    let mut pairs: BTreeMap<Key, Pair> = BTreeMap::new();
    let mut copiers: BTreeMap<Key, BTreeSet<SiteId>> = BTreeMap::new();
    let mut widths: BTreeMap<Key, BTreeSet<u32>> = BTreeMap::new();
    let mut tallies: BTreeMap<Key, Tally> = BTreeMap::new();
    for flow in flows {
        let wrote = flow.writer == flow.toucher && flow.writer.is_some_and(|site| places.writes(site));
        let touch = touch(places, flow.toucher, wrote);
        let (line, function) = (places.line(flow.reader), places.function(flow.reader));
        let key = Key { touch, line, function, object: places.object(flow) };
        let pair = pairs.entry(key).or_insert_with(|| Pair {
            lines: key.object.map(|object| sums.lines(line, function, object)).unwrap_or_default(),
            read: key.object.and_then(|o| sums.read.get(&(line, o)).copied()).unwrap_or(0),
            object_bytes: key.object.map_or(0, |object| places.groups.list[object].peak),
            ..Pair::new(key)
        });
        pair.readers.insert(flow.reader);
        let of_pair = tallies.entry(key).or_default();
        *of_pair.sites.entry((flow.toucher, flow.reader)).or_default() += flow.cost;
        let object = key.object.map_or(0, |object| places.groups.list[object].peak);
        let whole = object > 0 && u128::from(of_flow(flow).middle().1) >= object;
        *of_pair.loops.entry(places.loops.enclosing(flow, whole)).or_default() += flow.cost;
        if let Some(reader) = flow.reader_context {
            *of_pair.contexts.entry((flow.toucher_context, reader)).or_default() += flow.cost;
        }
        pair.bytes += flow.bytes;
        pair.cost += flow.cost;
        pair.depths.add(&flow.histogram);
        pair.between_all += u128::from(flow.between_all);
        for (site, bytes) in &flow.between {
            *pair.between.entry(places.line(*site)).or_default() += bytes;
        }
        widths.entry(key).or_default().insert(places.profile.sites[flow.reader.index()].size);
        let copier = flow.writer.filter(|site| copies(places.profile.sites[site.index()].kind));
        copiers.entry(key).or_default().extend(copier);
    }
    for (key, sites) in copiers.into_iter().filter(|(_, sites)| !sites.is_empty()) {
        let written = sites.iter().map(|site| sums.written.get(site).copied().unwrap_or(0)).sum();
        pairs.entry(key).and_modify(|pair| pair.copied = Some(written));
    }
    for (key, widths) in widths {
        let one = widths.first().copied().filter(|width| widths.len() == 1 && *width > 0);
        pairs.entry(key).and_modify(|pair| pair.width = one);
    }
    for (key, tally) in tallies {
        let pair = pairs.get_mut(&key).expect("tallied with it");
        pair.around = most(&tally.loops).and_then(|(at, _)| at);
        pair.contexts = most(&tally.contexts).map(|((toucher, reader), cost)| (toucher, reader, cost));
        if let Some(((toucher, reader), _)) = most(&tally.sites) {
            pair.reader_loops = places.loops.around(reader);
            pair.toucher_loops = toucher.map(|site| places.loops.around(site)).unwrap_or_default();
        }
    }
    let mut pairs: Vec<Pair> = pairs.into_values().collect();
    pairs.sort_by(|a, b| b.cost.cmp(&a.cost).then(a.key.cmp(&b.key)));
    pairs
}

fn sums(places: &Places) -> Sums {
    let mut sums = Sums::default();
    for used in &places.objects.uses {
        let key = (places.line(used.site), places.groups.of_object(used.object));
        *sums.read.entry(key).or_default() += used.read;
        *sums.written.entry(used.site).or_default() += used.written;
    }
    let mut steps: BTreeMap<(usize, usize), Steps> = BTreeMap::new();
    let mut steps_around: BTreeMap<(usize, usize), Steps> = BTreeMap::new();
    for pattern in &places.objects.patterns {
        let key = (places.line(pattern.site), places.groups.of_object(pattern.object));
        let around = (places.function(pattern.site), key.1);
        sums.lines.entry(key).or_default().add(pattern);
        sums.around.entry(around).or_default().add(pattern);
        let site = &places.profile.sites[pattern.site.index()];
        for steps in [steps.entry(key).or_default(), steps_around.entry(around).or_default()] {
            steps.add(pattern, site.position, site.size);
        }
    }
    for (all, steps) in [(&mut sums.lines, steps), (&mut sums.around, steps_around)] {
        for (key, steps) in steps {
            all.entry(key).or_default().stride = steps.of_source();
        }
    }
    sums
}

/// Steps from one read to the next, by place in the source: a loop that was unrolled has several sites at one place.
#[derive(Default)]
struct Steps(BTreeMap<(Option<PositionId>, i64), Step>);

#[derive(Default)]
struct Step {
    strided: u64,
    sites: BTreeSet<SiteId>,
    size: u32,
}

impl Steps {
    fn add(&mut self, pattern: &ObjectPattern, position: Option<PositionId>, size: u32) {
        if pattern.strided * 2 < pattern.reads || pattern.strided == 0 {
            return;
        }
        let step = self.0.entry((position, pattern.stride)).or_default();
        step.strided += pattern.strided;
        step.sites.insert(pattern.site);
        step.size = step.size.max(size);
    }

    /// The step of the loop as it is written, of that which most reads make.
    fn of_source(&self) -> i64 {
        let most = self.0.iter().rev().max_by_key(|(_, step)| step.strided);
        let Some(((position, stride), step)) = most else { return 0 };
        let copies = step.sites.len() as i64;
        let own = stride / copies;
        let is_whole = stride % copies == 0 && own.unsigned_abs() >= u64::from(step.size);
        if position.is_some() && is_whole { own } else { *stride }
    }
}

/// Library calls count as copies where they write bytes that they read elsewhere; most do not write.
fn copies(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Copy)
}
