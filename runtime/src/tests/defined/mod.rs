//! What is to be measured of a history, by definition.
//!
//! Takes what the steps of threads do; gives numbers by name. Each is a list or a map that follows the happenings one
//! byte after the other: the depth of a byte is its place in a list of all live bytes.

mod caches;
mod dead;
mod flows;
mod hazards;
mod least;
mod lines;
mod objects;
mod window;

use std::collections::BTreeMap;

pub use caches::caches;
pub use dead::{Dead, dead};
pub use flows::{Flow, flows};
pub use hazards::{Hazards, hazards};
pub use least::{Tie, least, places};
pub use lines::{Traffic, lines, pairs};
pub use objects::{Life, Map, Objects, objects};
pub use window::{Looked, window};

use super::{
    history::{Happening, Path, Site},
    program::{FunctionName, SegmentName},
};
use crate::{
    engine::oracle::{self, Oracle},
    histogram::bucket_of,
    pricing::root,
};

/// What reads found.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ReadTotals {
    /// Bytes that were not on the stack.
    pub cold: u64,
    pub cost: u128,
    /// Bytes by bucket of their depths.
    pub depths: BTreeMap<u16, u64>,
    /// The same with free places counted.
    pub capacities: BTreeMap<u16, u64>,
}

impl std::fmt::Debug for ReadTotals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cold, cost, depths, capacities } = self;
        write!(f, "{cold} cold, cost {cost}, depths {depths:?}, capacities {capacities:?}")
    }
}

impl ReadTotals {
    pub fn byte(&mut self, found: oracle::ByteDepth) {
        self.cold += u64::from(found.cold);
        self.cost += u128::from(root(found.depth));
        *self.depths.entry(bucket_of(found.depth)).or_default() += 1;
        *self.capacities.entry(bucket_of(found.capacity)).or_default() += 1;
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.depths.values().sum()
    }

    pub fn add(&mut self, other: &Self) {
        self.cold += other.cold;
        self.cost += other.cost;
        other.depths.iter().for_each(|(bucket, bytes)| *self.depths.entry(*bucket).or_default() += bytes);
        other.capacities.iter().for_each(|(bucket, bytes)| *self.capacities.entry(*bucket).or_default() += bytes);
    }
}

/// What a static access did in a calling context.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Of a library function's call.
    pub executions: u64,
    /// Bytes.
    pub written: u64,
    pub found: ReadTotals,
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} executions, {} written, {:?}", self.executions, self.written, self.found)
    }
}

impl Cell {
    pub fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.written += other.written;
        self.found.add(&other.found);
    }
}

/// What is counted whatever is measured beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By calling context; none without calls.
    pub calls: BTreeMap<Path, u64>,
    /// Executions of segments.
    pub executions: BTreeMap<(Path, SegmentName), u64>,
    pub cells: BTreeMap<Site, Cell>,
    /// First reads of bytes, by the bucket of their depths.
    pub cold: BTreeMap<u16, u64>,
    /// One per thread, in any order.
    pub threads: Vec<Totals>,
}

/// Totals of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Totals {
    pub accesses: u64,
    pub read: u64,
    pub written: u64,
    pub cold: u64,
    pub cost: u128,
    pub peak_live: u64,
    pub footprint: u64,
    pub unknown_frees: u64,
    pub is_interesting: bool,
    /// The outermost function in which most was executed; the first of several.
    pub start: Option<FunctionName>,
}

impl Counts {
    /// Together with those of other threads.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        other.calls.into_iter().for_each(|(context, calls)| *self.calls.entry(context).or_default() += calls);
        other.executions.into_iter().for_each(|(segment, times)| *self.executions.entry(segment).or_default() += times);
        other.cells.into_iter().for_each(|(site, cell)| self.cells.entry(site).or_default().add(&cell));
        other.cold.into_iter().for_each(|(bucket, bytes)| *self.cold.entry(bucket).or_default() += bytes);
        self.threads.extend(other.threads);
        self.threads.sort_unstable();
        self
    }
}

/// What a stack of all live bytes finds.
#[derive(Default)]
pub struct Stack {
    list: Oracle,
    /// Bytes leave when the program says so.
    pub hints: bool,
}

impl Stack {
    #[must_use]
    pub fn new(hints: bool) -> Self {
        Self { hints, ..Self::default() }
    }

    /// What the bytes of a load find, in the order of addresses; nothing for anything else.
    pub fn follow(&mut self, happening: &Happening) -> Vec<oracle::ByteDepth> {
        match *happening {
            Happening::Load(ref load) => return self.list.load(load.address, load.len),
            Happening::Store(ref store) => self.list.store(store.address, store.len),
            Happening::Dies { address, len } if self.hints => self.list.remove(address, len),
            Happening::Moves { from, to, len } => self.list.relocate(from, to, len),
            Happening::Input { address, len } => self.list.insert_bottom(address, len),
            _ => {}
        }
        Vec::new()
    }
}

/// The counts of one thread.
#[must_use]
pub fn counts(history: &[Happening], hints: bool) -> Counts {
    let (mut counts, mut totals, mut stack) = (Counts::default(), Totals::default(), Stack::new(hints));
    for happening in history {
        let found = stack.follow(happening);
        count(happening, &found, &mut counts, &mut totals);
    }
    (totals.peak_live, totals.footprint) = (stack.list.peak_live(), stack.list.footprint());
    totals.start = start(history);
    counts.cells.retain(|_, cell| *cell != Cell::default());
    counts.executions.retain(|_, times| *times > 0);
    for cell in counts.cells.values() {
        totals.read += cell.found.bytes();
        totals.written += cell.written;
        totals.cold += cell.found.cold;
        totals.cost += cell.found.cost;
    }
    counts.threads = vec![totals];
    counts
}

fn count(happening: &Happening, found: &[oracle::ByteDepth], counts: &mut Counts, totals: &mut Totals) {
    match happening {
        Happening::Called { context, counts: true } => *counts.calls.entry(context.clone()).or_default() += 1,
        Happening::Executed { context, segment, times } => {
            *counts.executions.entry((context.clone(), *segment)).or_default() += times;
        }
        Happening::CalledLibrary(site) => counts.cells.entry(site.clone()).or_default().executions += 1,
        Happening::Load(access) => {
            let Some(site) = access.charged() else { return };
            totals.accesses += 1;
            let cell = counts.cells.entry(site.clone()).or_default();
            for byte in found {
                cell.found.byte(*byte);
                if byte.cold {
                    *counts.cold.entry(bucket_of(byte.depth)).or_default() += 1;
                }
            }
        }
        Happening::Store(access) => {
            let Some(site) = access.charged() else { return };
            totals.accesses += 1;
            counts.cells.entry(site.clone()).or_default().written += access.len;
        }
        Happening::FreesUnknown => totals.unknown_frees += 1,
        Happening::Interesting => totals.is_interesting = true,
        _ => {}
    }
}

/// The outermost function with most executions of segments below it.
fn start(history: &[Happening]) -> Option<FunctionName> {
    let mut executed: Vec<(FunctionName, u64)> = Vec::new();
    let outermost = |context: &Path| context.first().copied();
    for happening in history {
        let (function, times) = match happening {
            Happening::Called { context, .. } => (outermost(context), 0),
            Happening::Executed { context, times, .. } => (outermost(context), *times),
            Happening::Load(access) | Happening::Store(access) => {
                (access.site.as_ref().and_then(|site| outermost(&site.context)), 0)
            }
            _ => (None, 0),
        };
        let Some(function) = function else { continue };
        match executed.iter_mut().find(|(known, _)| *known == function) {
            Some((_, all)) => *all += times,
            None => executed.push((function, times)),
        }
    }
    executed.iter().rev().max_by_key(|(_, times)| *times).map(|(function, _)| *function)
}

/// Calls that activations of these functions made, in order: who called whom, how often in a row.
#[must_use]
pub fn sequences(history: &[Happening], chosen: &[FunctionName]) -> Vec<(FunctionName, Vec<(FunctionName, u64)>)> {
    let mut all: BTreeMap<FunctionName, Vec<(FunctionName, u64)>> = BTreeMap::new();
    for happening in history {
        let Happening::Called { context, counts } = happening else { continue };
        let [.., called] = context[..] else { continue };
        if chosen.contains(&called) {
            all.entry(called).or_default();
        }
        let [.., caller, _] = context[..] else { continue };
        if *counts && chosen.contains(&caller) {
            let calls = all.entry(caller).or_default();
            match calls.last_mut() {
                Some((last, times)) if *last == called => *times += 1,
                _ => calls.push((called, 1)),
            }
        }
    }
    all.into_iter().collect()
}
