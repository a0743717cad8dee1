//! What a report says of sums in numbers: the one list that JSON and CSV are made of.
//!
//! Takes sums over cells and what they are part of; gives names and values in the order of JSON. What was not measured
//! is not in it, and what has no value is [`Value::Empty`]. A number that is added here is in both.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{
    analysis::{OP_NAMES, Sums},
    caches::{self, LevelMoved},
    hazards::HazardCount,
    lines::{Moved, SHOWN},
    optimum::Fetched,
};
use dmdprof_runtime::cycles::Cause;

use crate::{
    document::Value,
    profile::{Profile, model::CycleCounts},
};

/// What stands under a name.
pub enum Tree {
    /// A number.
    One(Value),
    /// What other numbers are of: JSON says it, and names of columns do.
    Given(Value),
    Group(Numbers),
    /// One for each size, level or capacity, with its name in CSV.
    List(Vec<(String, Numbers)>),
}

/// Names, and what stands under them.
pub struct Numbers(Vec<(&'static str, Tree)>);

/// What sums are part of.
#[derive(Clone, Copy)]
pub struct SumsContext<'a> {
    pub profile: &'a Profile,
    pub total: &'a Sums,
}

fn count(n: impl Into<u128>) -> Tree {
    Tree::One(Value::Count(n.into()))
}

fn given(n: impl Into<u128>) -> Tree {
    Tree::Given(Value::Count(n.into()))
}

fn part(of: u128, whole: u128) -> Tree {
    Tree::One(Value::part(of as f64, whole as f64))
}

fn ratio(ratio: Option<f64>) -> Tree {
    Tree::One(Value::or_empty(ratio.filter(|x| x.is_finite()), Value::Ratio))
}

impl Numbers {
    #[must_use]
    pub fn from_sums(sums: &Sums, SumsContext { profile, total }: SumsContext) -> Self {
        let mut all = vec![
            ("accesses", count(sums.accesses())),
            ("read", count(sums.read)),
            ("written", count(sums.written)),
            ("cold", count(sums.cold)),
            ("cost", count(sums.cost)),
            ("share", part(sums.cost, total.cost)),
            ("mean_cost", ratio(sums.mean_cost())),
            ("flops", count(sums.flops())),
            ("flops_per_read", ratio(sums.intensity())),
            ("ops", Tree::Group(Self(OP_NAMES.into_iter().zip(sums.ops.map(count)).collect()))),
        ];
        if profile.meta.tells_dead_bytes() {
            all.push(("dead", dead(sums)));
        }
        if profile.meta.values.is_some() {
            all.push(("span", count(sums.span)));
        }
        if let Some(size) = profile.line_size() {
            let at = |capacity| (word(capacity), moved(&Moved::from_sums(sums.lines(), size, capacity), size));
            all.push(("moved", Tree::List(SHOWN.map(at).into())));
        }
        if !profile.caches.is_empty() {
            let levels = (1u32..).zip(caches::NAMES).zip(LevelMoved::all(profile, sums));
            all.push(("caches", Tree::List(levels.map(level).collect())));
        }
        if !profile.hazards.is_empty() {
            let counted = HazardCount::all(profile, sums);
            all.push(("hazards", Tree::List(counted.into_iter().map(|of| hazard(of, sums.accesses())).collect())));
        }
        if profile.cycles.is_some() {
            all.push(("cycles", cycles(&sums.cycles, total.cycles.total())));
        }
        if profile.clock.is_some() {
            all.push(("clock", clock(sums.clock, total.clock)));
        }
        if !profile.optimum.is_empty() {
            all.push(("optimum", Tree::List(Fetched::all(profile, sums).iter().map(fetched).collect())));
        }
        Self(all)
    }

    /// Every number by its path, as in `moved_32kib_fetched`, in order.
    #[must_use]
    pub fn flat(self) -> Vec<(String, Value)> {
        let mut flat = Vec::new();
        self.add_to(&mut flat, "");
        flat
    }

    fn add_to(self, flat: &mut Vec<(String, Value)>, before: &str) {
        for (name, tree) in self.0 {
            let path = format!("{before}{name}");
            match tree {
                Tree::One(value) => flat.push((path, value)),
                Tree::Given(_) => {}
                Tree::Group(numbers) => numbers.add_to(flat, &format!("{path}_")),
                Tree::List(list) => {
                    list.into_iter().for_each(|(of, numbers)| numbers.add_to(flat, &format!("{path}_{of}_")));
                }
            }
        }
    }

    /// Every number by its path, to look up.
    #[must_use]
    pub fn by_path(self) -> BTreeMap<String, Value> {
        self.flat().into_iter().collect()
    }
}

/// A capacity in the name of a column: `32kib`.
fn word(capacity: u64) -> String {
    const UNITS: [&str; 4] = ["b", "kib", "mib", "gib"];
    let power = (capacity.trailing_zeros() as usize / 10).min(UNITS.len() - 1);
    format!("{}{}", capacity >> (10 * power), UNITS[power])
}

fn dead(sums: &Sums) -> Tree {
    let left = sums.left();
    Tree::Group(Numbers(vec![
        ("hints_cost", count(sums.hints_cost())),
        ("cost", count(sums.dead_cost())),
        ("share", part(sums.dead_cost(), sums.hints_cost())),
        ("unread", count(left.unread)),
        ("last_read", count(left.last_read)),
    ]))
}

/// Hazards of a kind, and what part of the same accesses they are.
fn hazard(HazardCount { name, accesses }: HazardCount, all: u128) -> (String, Numbers) {
    let numbers = vec![
        ("kind", Tree::Given(Value::Text(name.into()))),
        ("accesses", count(accesses)),
        ("share", part(accesses.into(), all)),
    ];
    (name.to_owned(), Numbers(numbers))
}

/// Cycles on the first core, by cause.
fn cycles(counts: &CycleCounts, all: u64) -> Tree {
    let causes = Cause::ALL.into_iter().zip(counts.cycles).map(|(cause, cycles)| (cause.word(), count(cycles)));
    Tree::Group(Numbers(vec![
        ("all", count(counts.total())),
        ("share", part(counts.total().into(), all.into())),
        ("error", count(counts.error())),
        ("instructions", count(counts.instructions)),
        ("mispredicted", count(counts.mispredicted)),
        ("by_cause", Tree::Group(Numbers(causes.collect()))),
    ]))
}

/// Samples, and between what their share lies.
fn clock(samples: u64, all: u64) -> Tree {
    let [low, high] = super::clock::interval(samples, all).map_or([None; 2], |ends| ends.map(Some));
    Tree::Group(Numbers(vec![
        ("samples", count(samples)),
        ("share", part(samples.into(), all.into())),
        ("low", ratio(low)),
        ("high", ratio(high)),
    ]))
}

/// What a memory of lines moves, in bytes.
fn moved(moved: &Moved, line: u32) -> Numbers {
    Numbers(vec![
        ("capacity_bytes", given(moved.capacity)),
        ("line_bytes", given(line)),
        ("fetched", count(moved.fetched)),
        ("written_back", count(moved.written_back)),
        ("loaded", count(moved.loaded)),
        ("first_touch", count(moved.first)),
        ("in_order", count(moved.in_order)),
        ("at_step", count(moved.at_step)),
    ])
}

/// What a level of caches moves, in bytes.
fn level(((number, name), found): ((u32, &str), LevelMoved)) -> (String, Numbers) {
    let policy = if found.level.plru { "plru" } else { "lru" };
    let numbers = vec![
        ("level", given(number)),
        ("capacity_bytes", given(found.level.bytes)),
        ("ways", given(found.level.ways)),
        ("line_bytes", given(found.level.line)),
        ("policy", Tree::Given(Value::Text(policy.into()))),
        ("fetched", count(found.fetched)),
        ("written_back", count(found.written_back)),
        ("loaded", count(found.loaded)),
        ("ideal", Tree::Group(moved(&found.ideal, found.level.line))),
        ("conflicts", count(found.conflicts())),
    ];
    (name.to_lowercase(), Numbers(numbers))
}

/// What memories of a capacity fetch, in bytes without first touches.
fn fetched(at: &Fetched) -> (String, Numbers) {
    let numbers = vec![
        ("capacity_bytes", given(at.capacity)),
        ("least", count(at.least)),
        ("lru", count(at.lru)),
        ("first_touch", count(at.first)),
    ];
    (word(at.capacity), Numbers(numbers))
}

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, tree)| (name, tree)))
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Tree::One(value) | Tree::Given(value) => value.serialize(serializer),
            Tree::Group(numbers) => numbers.serialize(serializer),
            Tree::List(list) => serializer.collect_seq(list.iter().map(|(_, numbers)| numbers)),
        }
    }
}
