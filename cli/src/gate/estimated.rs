//! Runs whose costs are estimates, in comparisons: how far off each may be, and which limits that leaves.
//!
//! Takes [`Estimates`], gives a [`Summary`] of what is exact and of the estimated costs, with their intervals beside it
//! ([`Doubt`]). A limit holds only where the interval is narrower: a check against another one says nothing, whatever
//! it finds.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use dmdprof_runtime::counts::sampled::{Estimate, SampleCounts};

use super::{
    compare::{Change, Comparison, Fate},
    key::{Key, PathMap},
    limits::{ByMetric, Limit, Limits, Rule},
    metric::Metric,
    output::words,
    summary::{Numbers, Summary},
};
use crate::{
    document::{Cell, Column, Document, Sheet, Value},
    report::{Analysis, Grouping},
    sample::Estimates,
    shared::human,
};

/// What a cost may be off by in 19 of 20 samples; `None`: not known, as too few groups saw it.
type Within = Option<u128>;

/// How far off the costs of a summary may be. What is not in it is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubt {
    total: Within,
    functions: BTreeMap<Key, Within>,
    /// One in so many was looked at.
    one_in: u32,
}

/// Whether an estimated summary has a number. The others need all reads.
fn is_there(metric: Metric) -> bool {
    let (path, groups) = (metric.path(), ["ops_", "cycles_"]);
    ["cost", "read", "written", "accesses", "calls", "flops"].contains(&path)
        || groups.iter().any(|group| path.starts_with(group))
}

/// Puts what was sampled into numbers; gives what the cost may be off by.
fn estimate(sampled: &SampleCounts, numbers: &mut Numbers) -> Within {
    let Estimate { cost, within } = sampled.estimate(numbers.of(Metric::COST));
    *numbers.entry(Metric::COST) = cost.round() as u128;
    *numbers.entry(Metric::READ) += u128::from(sampled.read);
    within.map(|within| within.ceil() as u128)
}

impl Doubt {
    /// The summary of a run that was sampled.
    #[must_use]
    pub fn from_estimates(estimates: &Estimates, paths: &PathMap) -> (Summary, Self) {
        let Estimates { profile, cells, design, .. } = estimates;
        let mut summary = Summary::from_profile(profile, paths);
        let mut sampled: BTreeMap<Key, SampleCounts> = BTreeMap::new();
        let mut all = SampleCounts::default();
        for row in &Analysis::new(profile, Grouping::Functions).rows {
            let counts = sampled.entry(Key::of_row(row, paths)).or_default();
            row.sites.iter().filter_map(|site| cells.sites.get(site)).for_each(|more| {
                counts.merge(more);
                all.merge(more);
            });
        }
        let mut doubt = Doubt { one_in: design.one_in, ..Self::default() };
        for (key, counts) in sampled {
            let Some(function) = summary.functions.get_mut(&key) else { continue };
            let within = estimate(&counts, &mut function.numbers);
            doubt.functions.insert(key, within);
        }
        doubt.total = estimate(&all, &mut summary.total);
        (summary, doubt)
    }

    fn of_function(&self, key: &Key) -> Within {
        self.functions.get(key).copied().unwrap_or(Some(0))
    }
}

/// A side of a comparison: `None` if it is exact.
type Side = Option<Doubt>;

/// What a difference may be off by.
fn together([before, after]: [Within; 2]) -> Within {
    Some((before? as f64).hypot(after? as f64).ceil() as u128)
}

/// What the cost of a function may be off by on either side.
fn of_change(change: &Change, [before, after]: &[Side; 2]) -> [Within; 2] {
    let old = match &change.fate {
        Fate::Renamed { from } => from,
        _ => &change.key,
    };
    let of = |side: &Side, is_there: bool, key: &Key| {
        side.as_ref().filter(|_| is_there).map_or(Some(0), |doubt| doubt.of_function(key))
    };
    [of(before, change.before.is_some(), old), of(after, change.after.is_some(), &change.key)]
}

/// What is said of a change.
fn word((before, after): (u128, u128), within: Within) -> &'static str {
    match within {
        None => "too few samples",
        Some(within) if before.abs_diff(after) <= within => "no change seen",
        Some(_) if after > before => "more",
        Some(_) => "less",
    }
}

/// The table of a comparison of which a side at least was estimated.
#[must_use]
pub fn difference(names: &[String; 2], comparison: &Comparison, sides: &[Side; 2], top: Option<usize>) -> Document {
    let columns = [
        ("change", ["", "ByteDMD"], 0),
        ("within", ["19 of 20", "within +-"], 0),
        ("seen", ["", "seen"], 0),
        ("before", ["", "before"], 1),
        ("after", ["", "after"], 1),
        ("read_change", ["bytes", "read"], 2),
        ("function", ["", "function"], 0),
        ("place", ["", "where"], 3),
    ];
    let columns = columns.map(|(key, header, goes)| Column::new(key, header, goes));
    let mut sheet = Sheet::new("functions", "By function", columns.into());
    let mut changes: Vec<&Change> = comparison.functions.iter().filter(|change| change.is_change()).collect();
    // Those that are seen come first; the sort keeps the order of the comparison.
    let is_seen = |change: &&Change| {
        let values = change.values(Metric::COST).unwrap_or_default();
        matches!(word(values, together(of_change(change, sides))), "more" | "less")
    };
    changes.sort_by_key(|change| !is_seen(change));
    for change in sheet.first(&changes, top) {
        let values = change.values(Metric::COST).unwrap_or_default();
        let read = change.values(Metric::READ).unwrap_or_default();
        let fate = words::fate(&change.key, &change.fate);
        let name = change.key.name.clone() + &if fate.is_empty() { fate } else { format!(" ({fate})") };
        sheet.row(cells(values, of_change(change, sides), read, name, words::place(change)));
    }
    let total = |metric| comparison.total(metric).unwrap_or_default();
    let of = |side: &Side| side.as_ref().map_or(Some(0), |doubt| doubt.total);
    let withins = [of(&sides[0]), of(&sides[1])];
    sheet.row(cells(total(Metric::COST), withins, total(Metric::READ), "total".into(), String::new()));
    sheet.total = true;
    let how = |name: &String, side: &Side| match side {
        None => format!("{name}: exact"),
        Some(doubt) => format!("{name}: estimated from 1 in {}", doubt.one_in),
    };
    Document {
        kind: "sample-diff",
        source: vec![("before", names[0].clone()), ("after", names[1].clone())],
        heading: names.iter().zip(sides).map(|(name, side)| how(name, side)).collect(),
        sheets: vec![sheet],
        notes: vec![
            "A change is seen (more, less) where it is larger than what both estimates may be off by together. Bytes \
             read are exact."
                .to_owned(),
        ],
        ..Document::default()
    }
}

/// A row. Nothing is told of what too few groups saw.
fn cells(costs: (u128, u128), withins: [Within; 2], read: (u128, u128), name: String, place: String) -> [Cell; 8] {
    let shown = |n: u128| Value::Shown(n as f64, human::count(n));
    let signed = |metric, (before, after): (u128, u128)| {
        Value::Shown(after as f64 - before as f64, words::change(metric, before, after))
    };
    let within = together(withins);
    let [before, after] = withins;
    [
        Value::or_empty(within, |_| signed(Metric::COST, costs)).into(),
        Value::or_empty(within, shown).into(),
        Value::Text(word(costs, within).into()).into(),
        Value::or_empty(before, |_| shown(costs.0)).into(),
        Value::or_empty(after, |_| shown(costs.1)).into(),
        signed(Metric::READ, read).into(),
        Value::Name(name).into(),
        if place.is_empty() { Value::Empty } else { Value::Name(place) }.into(),
    ]
}

/// How much a limit allows.
fn allowed(limit: Limit, before: u128) -> u128 {
    let part = |millionths: u64| before.saturating_mul(millionths.into()) / 100_000_000;
    match limit {
        Limit::Off | Limit::Ceiling(_) => u128::MAX,
        Limit::Relative(millionths) => part(millionths),
        Limit::Absolute(most) => most,
        Limit::Either(millionths, most) => most.max(part(millionths)),
    }
}

/// Limits that an estimated run can be held to, with what is to be said.
#[derive(Debug)]
pub struct Held {
    pub limits: Limits,
    pub notes: Vec<String>,
}

/// Of the limits of a check those that are wider than what is estimated may be off by.
///
/// # Errors
/// The limit of the program, or of a function that has one of its own, is narrower, or is on a number that a sample
/// does not have.
pub fn held(comparison: &Comparison, doubt: &Doubt, limits: &Limits) -> anyhow::Result<Held> {
    let rules = limits.rules.iter().map(|rule| &rule.limits);
    let is_missing = |(metric, limit): &(&Metric, &Limit)| **limit != Limit::Off && !is_there(**metric);
    if let Some((metric, _)) = [&limits.total, &limits.each].into_iter().chain(rules).flatten().find(is_missing) {
        bail!("{metric} has a limit, and a sample does not tell it: check an exact run, or remove the limit");
    }
    if !limits.ceilings.is_empty() {
        bail!("ceilings need exact numbers, and these are the estimates of a sample: check an exact run");
    }
    let mut held = Limits { defaults: ByMetric::new(), ..limits.clone() };
    let (before, after) = comparison.total(Metric::COST).unwrap_or_default();
    if let Some(limit) = held.of_program().get(&Metric::COST) {
        narrower("the program", *limit, before, after, doubt.total).map_or(Ok(()), |why| bail!("{why}"))?;
    }
    let mut open = BTreeSet::new();
    for change in comparison.functions.iter().filter(|change| change.after.is_some()) {
        let Some(limit) = held.for_key(&change.key).get(&Metric::COST).copied() else { continue };
        let (before, after) = change.values(Metric::COST).unwrap_or_default();
        let name = &change.key.name;
        let Some(why) = narrower(name, limit, before, after, doubt.of_function(&change.key)) else { continue };
        let is_own = |rule: &Rule| rule.limits.contains_key(&Metric::COST) && rule.pattern.matches(&change.key);
        if limits.rules.iter().any(is_own) {
            bail!("{why}");
        }
        open.insert(change.key.clone());
    }
    let part: u128 = open.iter().filter_map(|key| comparison.of_function(key)).map(|(_, after)| after).sum();
    let mut notes = vec![format!(
        "costs are estimated from 1 in {}: the program's within {} of the exact one in 19 of 20 samples",
        doubt.one_in,
        human::percent(doubt.total.unwrap_or_default(), after)
    )];
    if !open.is_empty() {
        notes.push(format!(
            "not held to their limits, which are narrower than what the sample can tell: {} with {} of the cost",
            human::plural(open.len() as u64, "function"),
            human::percent(part, after)
        ));
    }
    held.without_cost = open;
    Ok(Held { limits: held, notes })
}

/// Why a limit is no limit for an estimate, if it is none.
fn narrower(name: &str, limit: Limit, before: u128, after: u128, within: Within) -> Option<String> {
    let Some(within) = within else {
        return Some(format!("{name}: too few samples for a limit; check an exact run, or sample more of it"));
    };
    (allowed(limit, before) < within).then(|| {
        format!(
            "{name}: the limit {limit} is narrower than what the estimate may be off by, {}: widen it (--limit \
             cost=...), sample more of the run, or check an exact run",
            human::percent(within, after)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap as Map;

    use dmdprof_runtime::{
        counts::{
            miss_curve::MissCurve,
            sampled::{Class, GROUPS, Seen},
        },
        observe::sample::Design,
    };

    use super::*;
    use crate::{convert::SampleCells, document::schema, profile::sample, sample::Drawn};

    /// A run of which a site was seen by so many groups, with costs that differ by a part of them.
    fn estimated(groups: usize, part: f64) -> (Summary, Doubt) {
        let profile = sample::small();
        let site = profile.cells.iter().max_by_key(|cell| cell.cost).expect("cells").site;
        let mut counts = SampleCounts::default();
        counts.read = 64 * groups as u64;
        for group in 0..groups {
            let cost = 1e9 * (1.0 + part * if group % 2 == 0 { 1.0 } else { -1.0 });
            counts.add(Seen { class: Class::Long, group, cost, bytes: 64.0 });
        }
        let (sites, miss_curve) = ([(site, counts)].into(), MissCurve::default());
        let cells = SampleCells { sites, objects: Map::new(), contexts: Map::new(), miss_curve };
        let estimates = Estimates { profile, cells, design: Design::new(64, 1), drawn: Drawn::ByProgram };
        Doubt::from_estimates(&estimates, &PathMap::default())
    }

    fn limits(cost: &str) -> Limits {
        let each = ByMetric::from([(Metric::COST, Limit::from_text(Metric::COST, cost).expect("a limit"))]);
        Limits { total: each.clone(), each, ..Limits::none() }
    }

    #[test]
    fn a_change_is_seen_if_it_is_larger_than_both_intervals() {
        let exact = Summary::from_profile(&sample::small(), &PathMap::default());
        let (sampled, doubt) = estimated(GROUPS, 0.1);
        let seen = |before: &Summary, after: &Summary, sides: [Side; 2]| {
            let document = difference(&["a".into(), "b".into()], &Comparison::between(before, after), &sides, Some(10));
            assert_eq!(schema::errors(&document), [""; 0]);
            document.sheets[0].rows.last().expect("a total")[2].value.clone()
        };
        assert_eq!(seen(&exact, &sampled, [None, Some(doubt.clone())]), Value::Text("more".into()));
        assert_eq!(seen(&sampled, &exact, [Some(doubt.clone()), None]), Value::Text("less".into()));
        let same = seen(&sampled, &sampled, [Some(doubt.clone()), Some(doubt)]);
        assert_eq!(same, Value::Text("no change seen".into()));
        let (few, doubt) = estimated(11, 0.1);
        assert_eq!(seen(&exact, &few, [None, Some(doubt)]), Value::Text("too few samples".into()));
    }

    #[test]
    fn only_limits_that_are_wider_than_the_interval_hold() {
        let (sampled, doubt) = estimated(GROUPS, 0.1);
        let comparison = Comparison::between(&sampled, &sampled);
        let why = |limits: &Limits| held(&comparison, &doubt, limits).expect_err("it is refused").to_string();
        assert!(why(&limits("1%")).contains("the program: the limit 1% is narrower"), "{}", why(&limits("1%")));
        assert!(why(&Limits::default()).contains("narrower"));
        let wide = held(&comparison, &doubt, &limits("20%")).expect("it is wide");
        assert!(wide.limits.without_cost.is_empty() && wide.notes.len() == 1, "{wide:?}");
        // The program's is wide, that of all functions is not.
        let mixed = Limits { total: limits("20%").total, ..limits("1%") };
        let mixed = held(&comparison, &doubt, &mixed).expect("the program's is wide");
        assert_eq!(mixed.limits.without_cost.len(), 1);
        assert!(mixed.notes[1].contains("not held to their limits"), "{:?}", mixed.notes);
        let other = ByMetric::from([(Metric::COLD, Limit::from_text(Metric::COLD, "9%").expect("a limit"))]);
        let why = why(&Limits { each: other, ..limits("20%") });
        assert!(why.contains("a sample does not tell it"), "{why}");
        let (few, doubt) = estimated(11, 0.1);
        let why = held(&Comparison::between(&few, &few), &doubt, &limits("90%")).expect_err("too few").to_string();
        assert!(why.contains("too few samples for a limit"), "{why}");
    }
}
