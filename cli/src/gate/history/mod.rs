//! What checks have measured, commit by commit.
//!
//! An [`Entry`] is one case at one commit: a line of JSON in a history ([`place`]), or a baseline of git's past
//! ([`past`]). A [`Series`] is one number of one case over all commits, with the steps at which it moved: numbers are
//! exact, so a step is a difference and nothing else. Refuses lines that are none, with their number.

pub mod past;
pub mod store;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::compare::difference;
use super::metric::Metric;
use super::summary::Summary;
use crate::git::{Commit, short};

/// Of a line.
const VERSION: u32 = 1;
/// Functions whose costs a line has: the dearest.
const FUNCTIONS: usize = 30;

/// One case at one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub version: u32,
    /// Empty outside of repositories.
    pub commit: String,
    /// Files differ from those of the commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    pub date: String,
    #[serde(default)]
    pub subject: String,
    pub case: String,
    /// How the numbers were made; others are not comparable.
    pub made: String,
    /// Of the program, by metric.
    pub numbers: BTreeMap<String, u128>,
    /// Costs of functions.
    #[serde(default)]
    pub functions: BTreeMap<String, u128>,
}

impl Entry {
    #[must_use]
    pub fn from_summary(case: &str, commit: &Commit, dirty: bool, summary: &Summary, functions: usize) -> Self {
        let metrics = summary.total.metrics().chain(Metric::at_capacities());
        let numbers = metrics.filter_map(|metric| Some((metric.to_string(), summary.get(metric)?))).collect();
        let mut costs: BTreeMap<String, u128> = BTreeMap::new();
        for (key, function) in &summary.functions {
            *costs.entry(key.name.clone()).or_default() += function.numbers.of(Metric::COST);
        }
        let mut dearest: Vec<(String, u128)> = costs.into_iter().collect();
        dearest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        dearest.truncate(functions);
        let made = &summary.provenance;
        let lines = made.line_size.map_or_else(String::new, |size| format!(", lines of {size}"));
        Entry {
            version: VERSION,
            commit: commit.id.clone(),
            dirty,
            date: commit.date.clone(),
            subject: commit.subject.clone(),
            case: case.into(),
            made: format!("{}, {}, {}{lines}; {}", made.model, made.unit, made.liveness, made.compilers.join(", ")),
            numbers,
            functions: dearest.into_iter().collect(),
        }
    }

    /// A line of a history.
    ///
    /// # Errors
    /// None that a writer to memory has.
    pub fn line(case: &str, commit: &Commit, dirty: bool, summary: &Summary) -> anyhow::Result<String> {
        Ok(serde_json::to_string(&Entry::from_summary(case, commit, dirty, summary, FUNCTIONS))? + "\n")
    }

    /// The commit for people; `+` stands for files that differ from it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}{}", short(&self.commit), if self.dirty { "+" } else { "" })
    }
}

/// Lines of a history; of one case at one commit the last counts.
///
/// # Errors
/// At the first line that is none.
pub fn from_text(name: &str, text: &[u8]) -> anyhow::Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let at =
            || format!("{name}:{}: no line of a history; remove it, or take the file from an older commit", number + 1);
        let entry: Entry = serde_json::from_slice(line).with_context(at)?;
        if entry.version > VERSION {
            bail!("{name}:{}: written by a newer dmdprof; update this one", number + 1);
        }
        let is_same = |other: &Entry| {
            other.case == entry.case
                && other.commit == entry.commit
                && other.dirty == entry.dirty
                && !entry.commit.is_empty()
        };
        entries.retain(|other| !is_same(other));
        entries.push(entry);
    }
    Ok(entries)
}

/// One number of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series<'e> {
    pub case: &'e str,
    pub metric: Metric,
    pub points: Vec<(&'e Entry, u128)>,
}

/// Where a number moved: between a point and the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<'e> {
    pub at: usize,
    pub entry: &'e Entry,
    pub before: u128,
    pub after: u128,
    /// The function whose cost moved most, with its costs.
    pub function: Option<(&'e str, u128, u128)>,
    /// The numbers were made in another way, which may be the only cause.
    pub made_otherwise: bool,
}

/// Every number of some entries, by name.
#[must_use]
pub fn metrics(entries: &[Entry]) -> Vec<Metric> {
    let names: BTreeSet<&String> = entries.iter().flat_map(|entry| entry.numbers.keys()).collect();
    names.into_iter().filter_map(|name| name.parse().ok()).collect()
}

/// All series of some metrics, by case in the order in which cases came.
#[must_use]
pub fn series<'e>(entries: &'e [Entry], metrics: &[Metric]) -> Vec<Series<'e>> {
    let mut cases: Vec<&str> = Vec::new();
    for entry in entries {
        if !cases.contains(&entry.case.as_str()) {
            cases.push(&entry.case);
        }
    }
    let of = |case: &'e str, metric: Metric| {
        let name = metric.to_string();
        let own = entries.iter().filter(|entry| entry.case == case);
        let points = own.filter_map(|entry| Some((entry, *entry.numbers.get(&name)?))).collect();
        Series { case, metric, points }
    };
    let all = cases.into_iter().flat_map(|case| metrics.iter().map(move |metric| of(case, *metric)));
    all.filter(|series| !series.points.is_empty()).collect()
}

impl<'e> Series<'e> {
    #[must_use]
    pub fn steps(&self) -> Vec<Step<'e>> {
        let pairs = self.points.windows(2).enumerate();
        let steps = pairs.filter(|(_, pair)| pair[0].1 != pair[1].1).map(|(at, pair)| {
            let ((old, before), (entry, after)) = (pair[0], pair[1]);
            let function = moved_most(&old.functions, &entry.functions);
            Step { at: at + 1, entry, before, after, function, made_otherwise: old.made != entry.made }
        });
        steps.collect()
    }
}

type Costs = BTreeMap<String, u128>;

fn moved_most<'e>(before: &'e Costs, after: &'e Costs) -> Option<(&'e str, u128, u128)> {
    let names = before.keys().chain(after.keys());
    let of = |costs: &Costs, name: &String| costs.get(name).copied().unwrap_or_default();
    let moved = names.map(|name| (name.as_str(), of(before, name), of(after, name))).filter(|(_, was, is)| was != is);
    moved.max_by_key(|(name, was, is)| (difference(*was, *is).unsigned_abs(), std::cmp::Reverse(*name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(commit: &str, cost: u128, functions: &[(&str, u128)]) -> Entry {
        Entry {
            version: 1,
            commit: commit.into(),
            date: "2026-01-01".into(),
            case: "small".into(),
            numbers: [("cost".into(), cost)].into(),
            functions: functions.iter().map(|(name, cost)| ((*name).into(), *cost)).collect(),
            ..Entry::default()
        }
    }

    #[test]
    fn a_step_is_a_difference_and_names_the_function() {
        let entries = [
            entry("a", 5, &[("f", 3), ("g", 2)]),
            entry("b", 5, &[("f", 3), ("g", 2)]),
            entry("c", 9, &[("f", 2), ("h", 7)]),
        ];
        let all = series(&entries, &[Metric::COST, Metric::READ]);
        assert_eq!(all.len(), 1, "nothing was read");
        let steps = all[0].steps();
        assert_eq!((steps.len(), steps[0].at, steps[0].before, steps[0].after), (1, 2, 5, 9));
        assert_eq!(steps[0].function, Some(("h", 0, 7)));
    }

    #[test]
    fn lines_are_read_as_they_are_written_and_the_last_counts() {
        let lines: Vec<String> = [entry("a", 5, &[]), entry("b", 6, &[]), entry("a", 7, &[])]
            .iter()
            .map(|e| serde_json::to_string(e).unwrap())
            .collect();
        let read = from_text("h", lines.join("\n\n").as_bytes()).unwrap();
        assert_eq!(read, [entry("b", 6, &[]), entry("a", 7, &[])]);
        assert!(format!("{:#}", from_text("h", b"{}\n").unwrap_err()).starts_with("h:1: no line of a history"));
        let newer = lines[0].replace("\"version\":1", "\"version\":2");
        assert!(from_text("h", newer.as_bytes()).unwrap_err().to_string().contains("newer dmdprof"));
    }

    #[test]
    fn a_summary_has_all_numbers_of_programs() {
        let summary = Summary::from_profile(&crate::profile::sample::small(), &super::super::key::PathMap::default());
        let entry = Entry::from_summary("small", &Commit::default(), false, &summary, 2);
        assert_eq!((entry.numbers["cost"], entry.functions.len()), (summary.total.of(Metric::COST), 2));
        assert!(entry.numbers.contains_key("peak_live") && entry.numbers.contains_key("Q(32KiB)"));
    }
}
