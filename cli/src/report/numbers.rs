//! What a report says of sums in numbers: the one list that JSON, CSV and the gate's metrics are made of.
//!
//! Takes sums over cells and what they are part of; gives names and values in the order of JSON. What was not measured
//! is not in it, and what has no value is [`Value::Empty`]. A number that is added here is in all of them: the function
//! that makes it says what a comparison makes of it.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{
    analysis::{OP_NAMES, Sums},
    caches::{self, LevelMoved},
    hazards::HazardCount,
    lines::{Moved, SHOWN},
    optimum::Fetched,
};
use dmdprof_runtime::{cycles::Cause, observe::hazards};

use crate::{
    document::Value,
    profile::{
        Profile,
        model::{CacheLevel, CycleCounts, Liveness, ValuesMeta},
    },
};

/// What a number is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    Bytes,
    /// A part of a whole, compared in hundredths of a percent.
    Share,
    /// So much of one per another, compared in millionths.
    Ratio,
}

/// What a comparison makes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub unit: Unit,
    /// Those of functions add up to the program's.
    pub adds: bool,
    pub more_is_better: bool,
}

impl Unit {
    /// That of one.
    #[must_use]
    pub fn scale(self) -> u128 {
        match self {
            Unit::Count | Unit::Bytes => 1,
            Unit::Share => 10_000,
            Unit::Ratio => 1_000_000,
        }
    }

    /// What one looks like.
    #[must_use]
    pub fn example(self) -> &'static str {
        match self {
            Unit::Count => "1000",
            Unit::Bytes => "4KiB",
            Unit::Share => "50%",
            Unit::Ratio => "1.5",
        }
    }

    /// Whether it is a whole number, which is nothing where nothing was counted.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(self, Unit::Count | Unit::Bytes)
    }

    #[must_use]
    pub const fn kind(self) -> Kind {
        Kind { unit: self, adds: self.is_whole(), more_is_better: false }
    }
}

const MORE_IS_BETTER: Kind = Kind { more_is_better: true, ..Unit::Ratio.kind() };

/// A number.
pub struct Number {
    pub value: Value,
    /// `None`: it is not compared, as it is a part of the program's or goes by a clock.
    pub kind: Option<Kind>,
    /// What is compared: whole, in the unit's [scale](Unit::scale).
    pub exact: Option<u128>,
}

/// What stands under a name.
pub enum Tree {
    One(Number),
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

/// How often.
fn count(n: impl Into<u128>) -> Tree {
    whole(Unit::Count, n.into())
}

fn bytes(n: impl Into<u128>) -> Tree {
    whole(Unit::Bytes, n.into())
}

fn whole(unit: Unit, n: u128) -> Tree {
    Tree::One(Number { value: Value::Count(n), kind: Some(unit.kind()), exact: Some(n) })
}

fn given(n: impl Into<u128>) -> Tree {
    Tree::Given(Value::Count(n.into()))
}

/// A part of the same sums, of which less is better.
fn share(of: u128, whole: u128) -> Tree {
    per(Unit::Share.kind(), of, whole, Value::Share)
}

/// Nothing of none.
fn per(kind: Kind, of: u128, each: u128, value: fn(f64) -> Value) -> Tree {
    let value = Value::or_empty((each > 0).then(|| of as f64 / each as f64), value);
    Tree::One(Number { value, kind: Some(kind), exact: of.saturating_mul(kind.unit.scale()).checked_div(each) })
}

/// What says something of one run only.
fn told(value: Value) -> Tree {
    Tree::One(Number { value, kind: None, exact: None })
}

fn part(of: u128, whole: u128) -> Tree {
    told(Value::part(of as f64, whole as f64))
}

/// What those of functions do not add up to.
fn apart(mut tree: Tree) -> Tree {
    if let Tree::One(Number { kind: Some(kind), .. }) = &mut tree {
        kind.adds = false;
    }
    tree
}

/// Every number that may be compared, with capacities of the optimum that may be any.
#[must_use]
pub fn declared(capacities: &[u64]) -> BTreeMap<String, Kind> {
    let level = CacheLevel { bytes: 1, ways: 1, line: 64, plru: false };
    let mut profile = Profile {
        line_sizes: vec![level.line],
        caches: vec![level; caches::NAMES.len()],
        hazards: hazards::NAMES.map(str::to_owned).into(),
        optimum: capacities.to_vec(),
        cycles: Some(Default::default()),
        ..Profile::default()
    };
    // The one model tells dead bytes, the other the span.
    profile.meta.liveness = Liveness::Exact;
    let total = Sums::default();
    let of = |profile: &Profile| Numbers::from_sums(&total, SumsContext { profile, total: &total }).flat();
    let mut all = of(&profile);
    profile.meta.values = Some(ValuesMeta { bytes_per_element: None, fma_is_one: false });
    all.extend(of(&profile));
    all.into_iter().filter_map(|(path, number)| Some((path, number.kind?))).collect()
}

impl Numbers {
    #[must_use]
    pub fn from_sums(sums: &Sums, SumsContext { profile, total }: SumsContext) -> Self {
        let mut all = vec![
            ("accesses", count(sums.accesses())),
            ("read", bytes(sums.read)),
            ("written", bytes(sums.written)),
            ("cold", bytes(sums.cold)),
            ("cost", count(sums.cost)),
            ("share", part(sums.cost, total.cost)),
            ("mean_cost", per(Unit::Ratio.kind(), sums.cost, sums.read.into(), Value::Ratio)),
            ("flops", count(sums.flops())),
            ("flops_per_read", per(MORE_IS_BETTER, sums.flops(), sums.read.into(), Value::Ratio)),
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
    pub fn flat(self) -> Vec<(String, Number)> {
        let mut flat = Vec::new();
        self.add_to(&mut flat, "");
        flat
    }

    fn add_to(self, flat: &mut Vec<(String, Number)>, before: &str) {
        for (name, tree) in self.0 {
            let path = format!("{before}{name}");
            match tree {
                Tree::One(number) => flat.push((path, number)),
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
        self.flat().into_iter().map(|(path, number)| (path, number.value)).collect()
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
        ("share", share(sums.dead_cost(), sums.hints_cost())),
        ("unread", bytes(left.unread)),
        ("last_read", bytes(left.last_read)),
    ]))
}

/// Hazards of a kind, and what part of the same accesses they are.
fn hazard(HazardCount { name, accesses }: HazardCount, all: u128) -> (String, Numbers) {
    let numbers = vec![
        ("kind", Tree::Given(Value::Text(name.into()))),
        ("accesses", count(accesses)),
        ("share", share(accesses.into(), all)),
    ];
    (name.to_owned(), Numbers(numbers))
}

/// Cycles on the first core, by cause.
fn cycles(counts: &CycleCounts, all: u64) -> Tree {
    let causes = Cause::ALL.into_iter().zip(counts.cycles).map(|(cause, cycles)| (cause.word(), count(cycles)));
    Tree::Group(Numbers(vec![
        ("all", count(counts.total())),
        ("share", part(counts.total().into(), all.into())),
        ("error", apart(count(counts.error()))),
        ("instructions", count(counts.instructions)),
        ("mispredicted", count(counts.mispredicted)),
        ("by_cause", Tree::Group(Numbers(causes.collect()))),
    ]))
}

/// Samples, and between what their share lies.
fn clock(samples: u64, all: u64) -> Tree {
    let [low, high] = super::clock::interval(samples, all).map_or([None; 2], |ends| ends.map(Some));
    let end = |end| told(Value::or_empty(end, Value::Ratio));
    Tree::Group(Numbers(vec![
        ("samples", told(Value::Count(samples.into()))),
        ("share", part(samples.into(), all.into())),
        ("low", end(low)),
        ("high", end(high)),
    ]))
}

/// What a memory of lines moves, in bytes.
fn moved(moved: &Moved, line: u32) -> Numbers {
    Numbers(vec![
        ("capacity_bytes", given(moved.capacity)),
        ("line_bytes", given(line)),
        ("fetched", bytes(moved.fetched)),
        ("written_back", bytes(moved.written_back)),
        ("loaded", bytes(moved.loaded)),
        ("first_touch", bytes(moved.first)),
        ("in_order", bytes(moved.in_order)),
        ("at_step", bytes(moved.at_step)),
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
        ("fetched", bytes(found.fetched)),
        ("written_back", bytes(found.written_back)),
        ("loaded", bytes(found.loaded)),
        ("ideal", Tree::Group(moved(&found.ideal, found.level.line))),
        ("conflicts", apart(bytes(found.conflicts()))),
    ];
    (name.to_lowercase(), Numbers(numbers))
}

/// What memories of a capacity fetch, in bytes without first touches.
fn fetched(at: &Fetched) -> (String, Numbers) {
    let numbers = vec![
        ("capacity_bytes", given(at.capacity)),
        ("least", bytes(at.least)),
        ("lru", apart(bytes(at.lru))),
        ("first_touch", bytes(at.first)),
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
            Tree::One(Number { value, .. }) | Tree::Given(value) => value.serialize(serializer),
            Tree::Group(numbers) => numbers.serialize(serializer),
            Tree::List(list) => serializer.collect_seq(list.iter().map(|(_, numbers)| numbers)),
        }
    }
}
