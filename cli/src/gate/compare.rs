//! Two summaries, function by function: what changed, what came, went and was renamed.
//!
//! Pure. Comparing a summary with itself finds nothing; exchanging the two negates every change; the changes of all
//! functions add up to the change of the total. A function that is only in one of the two is paired with one that is
//! only in the other, if (in this order)
//!
//! 1. name and file name agree: the directory is another, which is no change at all;
//! 2. the name agrees and the body too: moved to another file;
//! 3. the body and the work done agree, or file and line do: renamed;
//! 4. the name agrees: moved to another file, and changed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::key::Key;
use super::metric::Metric;
use super::summary::{Function, Numbers, Summary};

/// What happened to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Kept,
    New,
    Removed,
    /// The same function under another name or in another file.
    Renamed {
        from: Key,
    },
}

/// A function in both, or in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// In the second summary; of removed ones in the first.
    pub key: Key,
    /// In the first summary; of new ones as `key`.
    pub old_key: Key,
    pub fate: Fate,
    pub before: Option<Function>,
    pub after: Option<Function>,
}

impl Change {
    fn of_one(key: &Key, fate: Fate, before: Option<Function>, after: Option<Function>) -> Self {
        Change { key: key.clone(), old_key: key.clone(), fate, before, after }
    }

    /// A metric before and after; `None` if neither has it.
    #[must_use]
    pub fn values(&self, metric: Metric) -> Option<(u128, u128)> {
        let of = |f: &Option<Function>| f.as_ref().and_then(|f| metric.value_in(&f.numbers));
        match (of(&self.before), of(&self.after)) {
            (None, None) => None,
            (None, _) | (_, None) if !metric.kind().unit.is_whole() => None,
            (before, after) => Some((before.unwrap_or(0), after.unwrap_or(0))),
        }
    }

    /// What the difference of a metric may be off by, as of the program.
    #[must_use]
    pub fn error(&self, metric: Metric) -> u128 {
        error(metric, [self.numbers(&self.before), self.numbers(&self.after)])
    }

    /// Whether any number differs, or whether it is there at all.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.fate != Fate::Kept || self.numbers(&self.before) != self.numbers(&self.after)
    }

    fn numbers<'a>(&self, function: &'a Option<Function>) -> Option<&'a Numbers> {
        function.as_ref().map(|f| &f.numbers)
    }

    /// How much this adds to the change of the program's metric.
    #[must_use]
    pub fn contribution(&self, metric: Metric) -> i128 {
        self.values(metric).map_or(0, |(before, after)| difference(before, after))
    }
}

/// Everything that two summaries have to say about each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Of the program, and in functions: what both have.
    pub before: Numbers,
    pub after: Numbers,
    /// Every function of either, largest change of cost first.
    pub functions: Vec<Change>,
    /// The two, with what only one of them has.
    pub whole: [Summary; 2],
}

impl Comparison {
    #[must_use]
    pub fn between(before: &Summary, after: &Summary) -> Self {
        let whole = [before, after].map(Summary::clone);
        let [before, after] = &[before, after].map(|summary| summary.in_common([&before.total, &after.total]));
        let pairs = pairs(before, after);
        let new_names: BTreeSet<&Key> = pairs.iter().map(|(_, new)| *new).collect();
        let mut functions: Vec<Change> = pairs.iter().map(|(old, new)| paired(before, after, old, new)).collect();
        let old_names: BTreeSet<&Key> = pairs.iter().map(|(old, _)| *old).collect();
        for (key, function) in before.functions.iter().filter(|(key, _)| !old_names.contains(key)) {
            let before = Some(function.clone());
            functions.push(Change::of_one(key, Fate::Removed, before, None));
        }
        for (key, function) in after.functions.iter().filter(|(key, _)| !new_names.contains(key)) {
            let after = Some(function.clone());
            functions.push(Change::of_one(key, Fate::New, None, after));
        }
        let (before, after) = (before.total.clone(), after.total.clone());
        let mut comparison = Comparison { before, after, functions, whole };
        comparison.sort(Metric::COST);
        comparison
    }

    /// Largest change first, up or down; ties by other metrics, then by name, never by the order of the summaries.
    pub fn sort(&mut self, first: Metric) {
        let order = [first, Metric::COST, Metric::READ, Metric::WRITTEN, Metric::FLOPS];
        self.functions.sort_by_cached_key(|change| {
            let changes = order.map(|metric| Reverse(change.contribution(metric).unsigned_abs()));
            (changes, change.key.name.clone(), change.key.file.clone())
        });
    }

    /// Functions of which anything changed.
    pub fn changed(&self) -> impl Iterator<Item = &Change> {
        self.functions.iter().filter(|change| change.is_change())
    }

    /// Whether nothing changed at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.before == self.after && self.changed().next().is_none()
    }

    /// What a function costs before and after.
    #[must_use]
    pub fn of_function(&self, key: &Key) -> Option<(u128, u128)> {
        self.functions.iter().find(|change| change.key == *key)?.values(Metric::COST)
    }

    /// In which of the two a number was measured.
    #[must_use]
    pub fn has(&self, metric: Metric) -> [bool; 2] {
        self.whole.each_ref().map(|summary| metric.is_measured(&summary.total))
    }

    /// What the difference of the program's metric may be off by: the standard error of both. 0 of what is exact.
    #[must_use]
    pub fn error(&self, metric: Metric) -> u128 {
        error(metric, [Some(&self.before), Some(&self.after)])
    }

    /// Of the program.
    #[must_use]
    pub fn total(&self, metric: Metric) -> Option<(u128, u128)> {
        Some((metric.value_in(&self.before)?, metric.value_in(&self.after)?))
    }
}

fn error(metric: Metric, both: [Option<&Numbers>; 2]) -> u128 {
    let [before, after] = both.map(|numbers| numbers.map_or(0, |numbers| numbers.of(Metric::CYCLES_ERROR)));
    if metric == Metric::CYCLES { (before as f64).hypot(after as f64).ceil() as u128 } else { 0 }
}

/// `after - before`. Numbers of profiles and baselines are far below the limit.
#[must_use]
pub fn difference(before: u128, after: u128) -> i128 {
    let signed = |n: u128| i128::try_from(n).unwrap_or(i128::MAX);
    signed(after).saturating_sub(signed(before))
}

fn paired(before: &Summary, after: &Summary, old: &Key, new: &Key) -> Change {
    let same_place = old.name == new.name && old.base_name() == new.base_name();
    let fate = if same_place { Fate::Kept } else { Fate::Renamed { from: old.clone() } };
    let (before, after) = (before.functions[old].clone(), after.functions[new].clone());
    Change { key: new.clone(), old_key: old.clone(), fate, before: Some(before), after: Some(after) }
}

type Pair<'a> = (&'a Key, &'a Key);

fn pairs<'a>(before: &'a Summary, after: &'a Summary) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    let mut old: BTreeMap<&Key, &Function> = before.functions.iter().collect();
    let mut new: BTreeMap<&Key, &Function> = after.functions.iter().collect();
    for key in before.functions.keys() {
        if let Some((key_after, _)) = after.functions.get_key_value(key) {
            old.remove(key);
            new.remove(key);
            pairs.push((key, key_after));
        }
    }
    let mut candidates = Vec::new();
    for (&old_key, &old_function) in &old {
        for (&new_key, &new_function) in &new {
            if let Some(likeness) = likeness(old_key, old_function, new_key, new_function) {
                // Symmetric, so that exchanging the summaries pairs the same functions.
                let order = (old_key.min(new_key), old_key.max(new_key));
                candidates.push((Reverse(likeness), order, old_key, new_key));
            }
        }
    }
    candidates.sort();
    for (_, _, old_key, new_key) in candidates {
        if old.contains_key(old_key) && new.contains_key(new_key) {
            old.remove(old_key);
            new.remove(new_key);
            pairs.push((old_key, new_key));
        }
    }
    pairs
}

/// The reason for a pair, the best one largest; then how much of the paths and of the names agrees.
type Likeness = (u8, usize, u32);

fn likeness(old_key: &Key, old: &Function, new_key: &Key, new: &Function) -> Option<Likeness> {
    let same_name = old_key.name == new_key.name;
    let same_file = old_key.file == new_key.file;
    let same_body = old.body == new.body;
    let has_body = same_body && old.body != 0;
    let work = |f: &Function| {
        [Metric::ACCESSES, Metric::READ, Metric::WRITTEN, Metric::CALLS].map(|metric| metric.value_in(&f.numbers))
    };
    let line = |f: &Function| f.place.map(|p| p.line).filter(|line| *line > 0);
    let same_line = same_file && !old_key.file.is_empty() && line(old).is_some() && line(old) == line(new);
    let reason = if same_name && old_key.base_name() == new_key.base_name() {
        4
    } else if same_name && same_body {
        3
    } else if has_body && work(old) == work(new) {
        2
    } else if same_line {
        1
    } else if same_name {
        0
    } else {
        return None;
    };
    let tail = old_key.file.bytes().rev().zip(new_key.file.bytes().rev()).take_while(|(a, b)| a == b).count();
    let alike = strsim::normalized_levenshtein(&old_key.name, &new_key.name);
    Some((reason, tail, (alike * 1e6) as u32))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gate::key::PathMap;
    use crate::profile::sample;

    const METRICS: [Metric; 8] = [
        Metric::COST,
        Metric::READ,
        Metric::WRITTEN,
        Metric::COLD,
        Metric::COPIED,
        Metric::ACCESSES,
        Metric::FLOPS,
        Metric::Traffic(1024),
    ];

    fn summary() -> impl Strategy<Value = Summary> {
        sample::any_profile().prop_map(|profile| Summary::from_profile(&profile, &PathMap::default()))
    }

    proptest! {
        #[test]
        fn nothing_differs_from_itself(a in summary()) {
            prop_assert!(Comparison::between(&a, &a).is_empty());
        }

        #[test]
        fn exchanging_negates(a in summary(), b in summary()) {
            let (there, back) = (Comparison::between(&a, &b), Comparison::between(&b, &a));
            let seen = |c: &Comparison, sign: i128| {
                let mut all: Vec<_> = c
                    .functions
                    .iter()
                    .map(|f| METRICS.map(|m| sign * f.contribution(m)))
                    .collect();
                all.sort_unstable();
                all
            };
            prop_assert_eq!(seen(&there, 1), seen(&back, -1));
            let fates = |c: &Comparison, wanted: fn(&Fate) -> bool| c.functions.iter().filter(|f| wanted(&f.fate)).count();
            prop_assert_eq!(fates(&there, |f| *f == Fate::New), fates(&back, |f| *f == Fate::Removed));
            prop_assert_eq!(
                fates(&there, |f| matches!(f, Fate::Renamed { .. })),
                fates(&back, |f| matches!(f, Fate::Renamed { .. }))
            );
        }

        #[test]
        fn parts_add_up(a in summary(), b in summary()) {
            let comparison = Comparison::between(&a, &b);
            for metric in METRICS {
                let parts: i128 = comparison.functions.iter().map(|f| f.contribution(metric)).sum();
                let (before, after) = comparison.total(metric).unwrap();
                prop_assert_eq!(parts, difference(before, after), "{}", metric);
            }
        }
    }

    fn function(cost: u128, body: u64) -> Function {
        let numbers = [(Metric::COST, cost), (Metric::READ, cost), (Metric::ACCESSES, cost), (Metric::CALLS, 1)];
        let numbers = Numbers::from(numbers);
        Function { numbers, body, ..Function::default() }
    }

    fn summary_of(functions: &[(&str, &str, Function)]) -> Summary {
        let key = |file: &str, name: &str| Key { file: file.into(), name: name.into() };
        let functions = functions.iter().map(|(file, name, f)| (key(file, name), f.clone())).collect();
        Summary { functions, ..Summary::default() }
    }

    fn fates(before: &[(&str, &str, Function)], after: &[(&str, &str, Function)]) -> Vec<(String, Fate)> {
        let comparison = Comparison::between(&summary_of(before), &summary_of(after));
        let mut all: Vec<_> = comparison.functions.into_iter().map(|c| (c.key.name, c.fate)).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    #[test]
    fn another_directory_is_no_change() {
        let before = [("/a/src/x.c", "init", function(5, 1)), ("/a/lib/x.c", "init", function(7, 2))];
        let after = [("/b/src/x.c", "init", function(5, 1)), ("/b/lib/x.c", "init", function(7, 2))];
        assert!(
            Comparison::between(&summary_of(&before), &summary_of(&after)).functions.iter().all(|c| !c.is_change())
        );
    }

    #[test]
    fn renames_moves_and_neither() {
        let renamed = fates(&[("x.c", "old", function(5, 1))], &[("x.c", "new", function(5, 1))]);
        assert!(matches!(&renamed[..], [(name, Fate::Renamed { from })] if name == "new" && from.name == "old"));
        let moved = fates(&[("x.c", "f", function(5, 1))], &[("y.c", "f", function(6, 1))]);
        assert!(matches!(&moved[..], [(_, Fate::Renamed { from })] if from.file == "x.c"));
        let variant = fates(&[("x.c", "f", function(5, 1))], &[("x_tiled.c", "f", function(6, 2))]);
        assert!(matches!(&variant[..], [(_, Fate::Renamed { from })] if from.file == "x.c"));
        let other = fates(&[("x.c", "f", function(5, 1))], &[("x.c", "g", function(6, 2))]);
        assert_eq!(other, [("f".into(), Fate::Removed), ("g".into(), Fate::New)]);
        // The better name wins when bodies and work agree.
        let two = [("x.c", "parse_one", function(5, 1)), ("x.c", "print_one", function(5, 1))];
        let renamed = fates(&two, &[("x.c", "parse_1", function(5, 1)), ("x.c", "print_1", function(5, 1))]);
        assert!(
            renamed.iter().all(|(name, fate)| matches!(fate, Fate::Renamed { from } if from.name[..4] == name[..4]))
        );
    }
}
