//! Reuse pairs: flows put together by source lines and objects, with how the reader used the object.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::session::habits::{FAST, LINE};

use super::Places;
use crate::{
    profile::model::{AccessKind, ContextId, Flow, LoopId, ObjectHabit, SiteId},
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
    pub fn add(&mut self, habit: &ObjectHabit) {
        if habit.strided > self.strided {
            self.stride = habit.stride;
        }
        self.reads += habit.reads;
        self.strided += habit.strided;
        self.lines += habit.lines;
        self.used += habit.used;
        self.renewed += habit.renewed;
    }

    /// Part of the lines fetched that was used; `None` if none was fetched.
    pub fn utilisation(&self) -> Option<f64> {
        (self.lines > 0).then(|| self.used as f64 / (self.lines * LINE) as f64)
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
    /// Calling contexts of the toucher and the reader in which the pair costs most, and the cost in them; if they were measured.
    pub contexts: Option<(Option<ContextId>, ContextId, u128)>,
    /// Sites that read.
    pub readers: BTreeSet<SiteId>,
}

impl Pair {
    /// Part of the bytes that lies deeper than fast memory.
    pub fn deep(&self) -> f64 {
        if self.bytes == 0 { 0.0 } else { self.depths.beyond(FAST) as f64 / self.bytes as f64 }
    }
}

/// Costs of a pair's flows.
#[derive(Default)]
struct Tally {
    sites: BTreeMap<(Option<SiteId>, SiteId), u128>,
    loops: BTreeMap<Option<LoopId>, u128>,
    contexts: BTreeMap<(Option<ContextId>, ContextId), u128>,
}

/// The key with the largest cost, of equal ones the first.
fn most<K: Copy>(costs: &BTreeMap<K, u128>) -> Option<(K, u128)> {
    costs.iter().rev().max_by_key(|(_, cost)| **cost).map(|(key, cost)| (*key, *cost))
}

/// What lines and functions did to objects.
#[derive(Default)]
struct Sums {
    read: BTreeMap<(usize, usize), u64>,
    lines: BTreeMap<(usize, usize), LineUse>,
    /// The same by function.
    around: BTreeMap<(usize, usize), LineUse>,
    written: BTreeMap<SiteId, u64>,
}

impl Sums {
    /// How the lines were used that a source line fetched; of the whole function, if that fetched nearly all of them for it.
    fn lines(&self, line: usize, function: usize, object: usize) -> LineUse {
        let around = self.around.get(&(function, object)).copied().unwrap_or_default();
        self.lines.get(&(line, object)).copied().filter(|own| own.lines * 8 >= around.lines).unwrap_or(around)
    }
}

/// Most expensive first.
pub fn of(places: &Places, flows: &[&Flow]) -> Vec<Pair> {
    let sums = sums(places);
    let mut pairs: BTreeMap<Key, Pair> = BTreeMap::new();
    let mut copiers: BTreeMap<Key, BTreeSet<SiteId>> = BTreeMap::new();
    let mut widths: BTreeMap<Key, BTreeSet<u32>> = BTreeMap::new();
    let mut tallies: BTreeMap<Key, Tally> = BTreeMap::new();
    for flow in flows {
        let touch = match flow.toucher {
            None => Touch::Never,
            Some(site) => {
                let (line, function) = (places.line(site), places.function(site));
                let wrote = flow.writer == flow.toucher && writes(places.profile.sites[site.index()].kind);
                if wrote { Touch::Written { line, function } } else { Touch::Read { line, function } }
            }
        };
        let (line, function) = (places.line(flow.reader), places.function(flow.reader));
        let key = Key { touch, line, function, object: places.object(flow) };
        let pair = pairs.entry(key).or_insert_with(|| Pair {
            key,
            bytes: 0,
            cost: 0,
            depths: Depths::default(),
            between_all: 0,
            between: BTreeMap::new(),
            lines: key.object.map(|object| sums.lines(line, function, object)).unwrap_or_default(),
            read: key.object.and_then(|o| sums.read.get(&(line, o)).copied()).unwrap_or(0),
            object_bytes: key.object.map_or(0, |object| places.groups.list[object].peak),
            copied: None,
            width: None,
            around: None,
            reader_loops: Vec::new(),
            toucher_loops: Vec::new(),
            contexts: None,
            readers: BTreeSet::new(),
        });
        pair.readers.insert(flow.reader);
        let of_pair = tallies.entry(key).or_default();
        *of_pair.sites.entry((flow.toucher, flow.reader)).or_default() += flow.cost;
        *of_pair.loops.entry(places.loops.enclosing(flow)).or_default() += flow.cost;
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
    for habit in &places.objects.habits {
        let key = (places.line(habit.site), places.groups.of_object(habit.object));
        sums.lines.entry(key).or_default().add(habit);
        sums.around.entry((places.function(habit.site), key.1)).or_default().add(habit);
    }
    sums
}

fn writes(kind: AccessKind) -> bool {
    !matches!(kind, AccessKind::Load)
}

/// Library calls count as copies where they write bytes that they read elsewhere; most do not write.
fn copies(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Copy)
}
