//! Whether what changed is allowed.
//!
//! Pure: a [`Comparison`] and [`Limits`] in, a [`Verdict`] out. It fails closed: a comparison of nothing is a failure,
//! and so is a limit whose function is gone.

use super::ceilings::{Ceiling, Passed};
use super::compare::{Change, Comparison, Fate};
use super::key::Key;
use super::limits::{Limit, Limits};
use super::metric::{CAPACITIES, Metric};
use super::summary::Summary;
use super::why::{self, Cause};
use crate::shared::human;

/// What a number did against its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Beyond its hard ceiling.
    Above,
    Worse,
    Better,
    /// Beyond its soft ceiling.
    Warned,
    /// Changed, within the limit.
    Allowed,
    Same,
}

/// One number against its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `None`: the program.
    pub function: Option<Key>,
    pub metric: Metric,
    pub before: u128,
    pub after: u128,
    pub limit: Limit,
    pub status: Status,
}

/// A function that came, went or was renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appearance {
    pub key: Key,
    pub fate: Fate,
}

/// The judgement of one comparison.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Everything that has a limit: the program first, then functions as the comparison orders them.
    pub findings: Vec<Finding>,
    pub appearances: Vec<Appearance>,
    /// What makes the comparison itself worthless, in words.
    pub defects: Vec<String>,
    /// Causes for each function with a finding that is worse or better.
    pub causes: Vec<(Key, Vec<Cause>)>,
    /// What else to know of the comparison, in words.
    pub notes: Vec<String>,
}

/// What a gate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing changed beyond its limit.
    Pass,
    /// Better, or other functions than before: the baseline is out of date.
    Stale,
    /// Worse, or worthless.
    Fail,
}

impl Verdict {
    /// Judges a comparison.
    #[must_use]
    pub fn judge(comparison: &Comparison, limits: &Limits) -> Self {
        let mut findings = Vec::new();
        for (metric, limit) in limits.of_program() {
            if let Some(values) = comparison.total(metric) {
                findings.push(finding(None, metric, values, limit, comparison.error(metric)));
            }
        }
        let of_functions = limits.for_functions(|metric| Some(comparison.total(metric)?.0));
        for change in &comparison.functions {
            for (metric, limit) in of_functions.for_key(&change.key) {
                if let Some(values) = change.values(metric) {
                    findings.push(finding(Some(&change.key), metric, values, limit, change.error(metric)));
                }
            }
        }
        findings.extend(held(comparison, limits));
        let appearances = comparison.functions.iter().filter(|c| c.fate != Fate::Kept);
        let appearances = appearances.map(|c| Appearance { key: c.key.clone(), fate: c.fate.clone() }).collect();
        let defects = defects(comparison, limits, &findings);
        let notes = [lacking(comparison, limits), within_error(&findings), nearer_to_time(comparison, &findings)];
        let notes = notes.into_iter().flatten().collect();
        let mut verdict = Verdict { findings, appearances, defects, causes: Vec::new(), notes };
        verdict.causes = comparison.functions.iter().filter_map(|c| verdict.explain(c)).collect();
        verdict
    }

    fn explain(&self, change: &Change) -> Option<(Key, Vec<Cause>)> {
        let noticed = |f: &Finding| f.function.as_ref() == Some(&change.key) && f.status < Status::Allowed;
        self.findings.iter().any(noticed).then(|| (change.key.clone(), why::causes(change)))
    }

    pub fn with(&self, status: Status) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.status == status)
    }

    #[must_use]
    pub fn causes_of(&self, key: &Key) -> &[Cause] {
        self.causes.iter().find(|(k, _)| k == key).map_or(&[], |(_, causes)| causes)
    }

    /// Whether a number is beyond a hard ceiling, which no baseline makes right.
    #[must_use]
    pub fn is_above(&self) -> bool {
        self.with(Status::Above).next().is_some()
    }

    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if !self.defects.is_empty() || self.is_above() || self.with(Status::Worse).next().is_some() {
            Outcome::Fail
        } else if !self.appearances.is_empty() || self.with(Status::Better).next().is_some() {
            Outcome::Stale
        } else {
            Outcome::Pass
        }
    }
}

/// A number that changed by no more than it may be off by is not known to have changed.
fn finding(
    function: Option<&Key>,
    metric: Metric,
    (before, after): (u128, u128),
    limit: Limit,
    error: u128,
) -> Finding {
    let is_allowed = limit.allows(before, after) || before.abs_diff(after) <= error;
    let status = match (before == after, is_allowed) {
        (true, _) => Status::Same,
        (false, true) => Status::Allowed,
        (false, false) if (after > before) != metric.more_is_better() => Status::Worse,
        (false, false) => Status::Better,
    };
    Finding { function: function.cloned(), metric, before, after, limit, status }
}

/// What only the standard error excuses.
fn within_error(findings: &[Finding]) -> Option<String> {
    let excused = findings.iter().filter(|f| f.metric == Metric::CYCLES && f.status == Status::Allowed);
    let (mut of_program, mut functions) = (false, 0);
    for finding in excused.filter(|f| !f.limit.allows(f.before, f.after)) {
        of_program |= finding.function.is_none();
        functions += u64::from(finding.function.is_some());
    }
    let whose = match (of_program, functions) {
        (false, 0) => return None,
        (true, 0) => "the program".to_owned(),
        (true, n) => format!("the program and {}", human::plural(n, "function")),
        (false, n) => human::plural(n, "function"),
    };
    Some(format!(
        "cycles of {whose} changed by more than the limit and by less than their standard errors: no change is seen"
    ))
}

/// What is told of a program where something else is worse: numbers that follow time more than others.
const NEARER_TO_TIME: [Metric; 3] =
    [Metric::CYCLES, Metric::LineTraffic(CAPACITIES[0]), Metric::LineTraffic(CAPACITIES[1])];
/// Part of such a number by which it must be less to be told.
const MUCH: f64 = 0.1;

/// Numbers of the program that are much better where others are worse, if none of these is.
fn nearer_to_time(comparison: &Comparison, findings: &[Finding]) -> Option<String> {
    let worse = |finding: &Finding| finding.status == Status::Worse;
    let changes: Vec<(Metric, (u128, u128))> =
        NEARER_TO_TIME.into_iter().filter_map(|metric| Some((metric, comparison.total(metric)?))).collect();
    if !findings.iter().any(worse) || changes.iter().any(|(_, (before, after))| after > before) {
        return None;
    }
    let less = |(metric, (before, after)): &(Metric, (u128, u128))| {
        let part = 1.0 - *after as f64 / (*before).max(1) as f64;
        (*before > 0 && part >= MUCH).then(|| format!("{} -{}", metric.title(), human::share(part)))
    };
    let better: Vec<String> = changes.iter().filter_map(less).collect();
    (!better.is_empty()).then(|| {
        let numbers = better.join(", ");
        format!("numbers of the program that follow time more closely are better: {numbers}; --accept takes the trade")
    })
}

/// Cycles that only one of the two has, unless a limit on them says so anyway.
fn lacking(comparison: &Comparison, limits: &Limits) -> Option<String> {
    if !limits.limited(|metric| metric == Metric::CYCLES).is_empty() || !limits.defaults.contains_key(&Metric::CYCLES) {
        return None;
    }
    match comparison.has(Metric::CYCLES) {
        [false, true] => {
            Some("cycles are not compared: the baseline was made without them; --accept puts them into it".into())
        }
        [true, false] => {
            Some("cycles are not compared: the baseline has them, and the run was without --cycles".into())
        }
        _ => None,
    }
}

/// Numbers with ceilings: the program's, then those of functions that are there.
fn held(comparison: &Comparison, limits: &Limits) -> Vec<Finding> {
    let mut findings = Vec::new();
    let [was, is] = &comparison.whole;
    for (metric, ceiling) in &limits.ceilings.total {
        if let Some(after) = is.get(*metric) {
            let before = was.get(*metric).unwrap_or(after);
            findings.push(under(None, *metric, (before, after), *ceiling));
        }
    }
    for (pattern, ceilings) in &limits.ceilings.rules {
        let here = comparison.functions.iter().filter(|c| c.after.is_some() && pattern.matches(&c.key));
        for (change, (metric, ceiling)) in here.flat_map(|change| ceilings.iter().map(move |c| (change, c))) {
            let of = |whole: &Summary, key: &Key| metric.value_in(&whole.functions.get(key)?.numbers);
            if let Some(after) = of(is, &change.key) {
                let before = of(was, &change.old_key).unwrap_or(if change.before.is_some() { after } else { 0 });
                findings.push(under(Some(&change.key), *metric, (before, after), *ceiling));
            }
        }
    }
    findings
}

fn under(function: Option<&Key>, metric: Metric, (before, after): (u128, u128), ceiling: Ceiling) -> Finding {
    let (status, bound) = match ceiling.passed(metric, after) {
        Some(Passed::Hard(bound)) => (Status::Above, bound),
        Some(Passed::Soft(bound)) => (Status::Warned, bound),
        None => (Status::Same, ceiling.first()),
    };
    Finding { function: function.cloned(), metric, before, after, limit: Limit::Ceiling(bound), status }
}

/// A ceiling that holds nothing: of what was not measured, or of a function that is not there.
fn idle_ceilings(comparison: &Comparison, limits: &Limits) -> Vec<String> {
    let mut defects = Vec::new();
    let here = |pattern: &super::pattern::Pattern| {
        comparison.functions.iter().any(|c| c.after.is_some() && pattern.matches(&c.key))
    };
    for (pattern, _) in limits.ceilings.rules.iter().filter(|(pattern, _)| !here(pattern)) {
        defects.push(format!(
            "\"{pattern}\" has a ceiling, and there is no such function; remove the ceiling, or correct the pattern"
        ));
    }
    let rules = limits.ceilings.rules.iter().map(|(_, ceilings)| ceilings);
    let metrics: std::collections::BTreeSet<Metric> =
        std::iter::once(&limits.ceilings.total).chain(rules).flat_map(|all| all.keys().copied()).collect();
    for metric in metrics.into_iter().filter(|metric| !comparison.has(*metric)[1]) {
        let why = format!("and the run did not measure it; {}, or remove the ceiling", metric.advice());
        defects.push(format!("{metric} has a ceiling, {why}"));
    }
    defects
}

fn defects(comparison: &Comparison, limits: &Limits, findings: &[Finding]) -> Vec<String> {
    let mut defects = Vec::new();
    if comparison.after.of(Metric::ACCESSES) == 0 {
        defects.push("the run accessed no memory, so nothing was compared; check the command and --roi".into());
    } else if findings.is_empty() {
        defects.push("no number has a limit, so nothing was compared; set one under [limits]".into());
    }
    defects.extend(unmeasured(comparison, limits));
    defects.extend(idle_ceilings(comparison, limits));
    for rule in &limits.rules {
        if rule.limits.values().all(|limit| *limit == Limit::Off) {
            continue;
        }
        let matches = |wanted: fn(&Change) -> bool| {
            comparison.functions.iter().any(|c| wanted(c) && rule.pattern.matches(&c.key))
        };
        if matches(|c| c.fate != Fate::Removed) {
            continue;
        }
        let pattern = &rule.pattern;
        defects.push(if matches(|c| c.fate == Fate::Removed) {
            format!(
                "\"{pattern}\" has a limit, and its function disappeared; remove the limit, or name what took its place"
            )
        } else {
            format!(
                "\"{pattern}\" has a limit, and there is no such function; remove the limit, or correct the pattern"
            )
        });
    }
    defects
}

/// Limits on what was not measured, which hold nothing.
fn unmeasured(comparison: &Comparison, limits: &Limits) -> impl Iterator<Item = String> {
    let old_traffic = comparison.whole[0].total.capacities.is_none();
    let lacking = limits.limited(|metric| comparison.has(metric) != [true, true]).into_iter();
    lacking.map(move |metric| match (metric, comparison.has(metric)[1]) {
        (_, false) => format!("{metric} has a limit, and the run did not measure it; {}, or remove the limit", metric.advice()),
        (Metric::Traffic(_) | Metric::Utilisation(_), true) if old_traffic => format!(
            "{metric} has a limit, and what the baseline has under that name is what was read from deeper, which an older dmdprof wrote; it is \
             not compared: make the baseline again with --accept"
        ),
        (_, true) => format!("{metric} has a limit, and the baseline was made without it; make it again with --accept"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::gate::limits::{ByMetric, Rule};
    use crate::gate::pattern::Pattern;
    use crate::gate::summary::{Function, Numbers, Summary};

    fn summary(functions: &[(&str, u128)]) -> Summary {
        let mut summary = Summary::default();
        for (name, cost) in functions {
            let numbers = Numbers::from([(Metric::COST, *cost), (Metric::ACCESSES, 1)]);
            summary.total.merge(&numbers);
            let key = Key { file: "x.c".into(), name: (*name).into() };
            summary.functions.insert(key, Function { numbers, body: *cost as u64, ..Function::default() });
        }
        summary
    }

    fn judge(before: &[(&str, u128)], after: &[(&str, u128)], rules: &[(&str, &str)]) -> Verdict {
        let rule = |(pattern, limit): &(&str, &str)| Rule {
            pattern: Pattern::new(pattern).unwrap(),
            limits: ByMetric::from([(Metric::COST, Limit::from_text(Metric::COST, limit).unwrap())]),
        };
        let limits = Limits { rules: rules.iter().map(rule).collect(), ..Limits::default() };
        Verdict::judge(&Comparison::between(&summary(before), &summary(after)), &limits)
    }

    #[test]
    fn up_down_and_within() {
        assert_eq!(judge(&[("f", 10)], &[("f", 10)], &[]).outcome(), Outcome::Pass);
        assert_eq!(judge(&[("f", 10)], &[("f", 11)], &[]).outcome(), Outcome::Fail);
        assert_eq!(judge(&[("f", 10)], &[("f", 9)], &[]).outcome(), Outcome::Stale);
        // The program as a whole may not cost more either.
        let within = judge(&[("f", 100)], &[("f", 101)], &[("f", "1%")]);
        let worse: Vec<_> = within.with(Status::Worse).map(|f| f.function.clone()).collect();
        assert_eq!(worse, [None]);
    }

    #[test]
    fn one_worse_is_not_made_good_by_another() {
        let verdict = judge(&[("f", 10), ("g", 10)], &[("f", 11), ("g", 9)], &[]);
        assert_eq!((verdict.outcome(), verdict.with(Status::Better).count()), (Outcome::Fail, 1));
        assert_eq!(verdict.causes.len(), 2);
    }

    #[test]
    fn new_and_removed_functions_are_seen() {
        assert_eq!(judge(&[("f", 10)], &[("f", 10), ("g", 3)], &[]).outcome(), Outcome::Fail);
        let removed = judge(&[("f", 10), ("g", 3)], &[("f", 10)], &[]);
        assert_eq!((removed.outcome(), removed.appearances.len()), (Outcome::Stale, 1));
        assert_eq!(judge(&[("f", 10)], &[("f", 10), ("g", 0)], &[]).outcome(), Outcome::Stale);
    }

    #[test]
    fn traffic_is_not_compared_with_what_is_read_deeper() {
        use crate::gate::key::PathMap;
        use crate::profile::sample;
        let new = Summary::from_profile(&sample::deaths(), &PathMap::default());
        let mut old = new.clone();
        old.total.capacities = None;
        let on = |metric| Limits { total: ByMetric::from([(metric, Limit::EXACT)]), ..Limits::default() };
        let judge = |before, after, metric| Verdict::judge(&Comparison::between(before, after), &on(metric));
        let q = Metric::Traffic(1024);
        assert_eq!(judge(&new, &new, q).outcome(), Outcome::Pass);
        let verdict = judge(&old, &new, q);
        assert!(verdict.defects[0].starts_with("Q(1KiB) has a limit, and what the baseline has under that name"));
        assert!(verdict.findings.iter().all(|finding| finding.metric != q), "it is not compared");
        assert!(judge(&new, &old, q).defects[0].contains("take deeper(32KiB)"));
        assert_eq!(judge(&old, &new, Metric::Deeper(1024)).outcome(), Outcome::Pass);
    }

    /// Of one function, with a standard error.
    fn taking(cycles: u128, error: u128) -> Summary {
        let mut summary = summary(&[("f", 10)]);
        let all = summary.functions.values_mut().map(|f| &mut f.numbers).chain([&mut summary.total]);
        all.for_each(|numbers| {
            numbers.by_path.extend(Numbers::from([(Metric::CYCLES, cycles), (Metric::CYCLES_ERROR, error)]).by_path);
        });
        summary
    }

    #[test]
    fn cycles_are_worse_beyond_their_limit_and_their_error() {
        let judge = |before, after| Verdict::judge(&Comparison::between(&before, &after), &Limits::default());
        let of = |after: u128, error| judge(taking(10_000_000, error), taking(after, error));
        assert_eq!(of(10_100_000, 0).outcome(), Outcome::Pass);
        let worse = of(10_100_001, 0);
        assert_eq!((worse.outcome(), worse.with(Status::Worse).count(), worse.notes.len()), (Outcome::Fail, 2, 0));
        assert_eq!(of(9_000_000, 0).outcome(), Outcome::Stale);
        // The errors of both runs: 300,000 and 400,000 are 500,000 together.
        let within = judge(taking(10_000_000, 300_000), taking(10_500_000, 400_000));
        assert_eq!(within.outcome(), Outcome::Pass);
        assert_eq!(
            within.notes,
            ["cycles of the program and 1 function changed by more than the limit and by less than their standard \
              errors: no change is seen"]
        );
        assert_eq!(judge(taking(10_000_000, 300_000), taking(10_500_001, 400_000)).outcome(), Outcome::Fail);
        // What the program's error hides is seen where the function's own is small.
        let mut after = taking(10_400_000, 400_000);
        after.functions.values_mut().for_each(|f| *f.numbers.entry(Metric::CYCLES_ERROR) = 0);
        let of_function = judge(taking(10_000_000, 300_000), after.clone());
        assert_eq!((of_function.outcome(), of_function.with(Status::Worse).count()), (Outcome::Fail, 1));
    }

    #[test]
    fn what_follows_time_is_told_where_something_else_is_worse() {
        let with = |cost: u128, lines: u128| {
            let mut summary = summary(&[("f", cost)]);
            let all = summary.functions.values_mut().map(|f| &mut f.numbers).chain([&mut summary.total]);
            all.for_each(|numbers| numbers.lines.get_or_insert_default().loads = BTreeMap::from([(1 << 16, lines)]));
            summary
        };
        let notes =
            |after: &Summary| Verdict::judge(&Comparison::between(&with(1000, 640), after), &Limits::default()).notes;
        let told = "numbers of the program that follow time more closely are better: traffic(32KiB) -80.0%; --accept \
                    takes the trade";
        assert_eq!(notes(&with(1001, 128)), [told]);
        assert!(notes(&with(1000, 128)).is_empty(), "nothing is worse");
        assert!(notes(&with(1001, 600)).is_empty(), "it is not much");
    }

    #[test]
    fn cycles_of_one_side_are_not_compared_and_that_is_said() {
        let (with, without) = (taking(10, 0), summary(&[("f", 10)]));
        let judge = |before, after, limits: &Limits| Verdict::judge(&Comparison::between(before, after), limits);
        let defaults = Limits::default();
        let [older, unasked] =
            [(&without, &with), (&with, &without)].map(|(before, after)| judge(before, after, &defaults));
        assert_eq!((older.outcome(), unasked.outcome()), (Outcome::Pass, Outcome::Pass));
        assert!(older.notes[0].contains("--accept puts them into it") && unasked.notes[0].contains("without --cycles"));
        let asked = Limits { total: ByMetric::from([(Metric::CYCLES, Limit::EXACT)]), ..Limits::default() };
        assert!(judge(&without, &with, &asked).defects[0].contains("made without it"));
        assert!(judge(&with, &without, &asked).defects[0].contains("measure it with --cycles"));
    }

    #[test]
    fn a_ceiling_holds_what_the_baseline_does_not_have() {
        use crate::gate::{ceilings::Ceiling, key::PathMap};
        let after = Summary::from_profile(&crate::profile::sample::with_caches(), &PathMap::default());
        let before = after.with_numbers(&[]);
        let of = |metric: &str, hard| {
            let mut limits = Limits::none();
            let ceiling = Ceiling { soft: None, hard: Some(hard) };
            limits.ceilings.total.insert(metric.parse().expect("a metric"), ceiling);
            Verdict::judge(&Comparison::between(&before, &after), &limits)
        };
        let told = |verdict: &Verdict| verdict.defects.join("\n");
        assert_eq!(of("caches_l1_loaded", u128::MAX).outcome(), Outcome::Pass);
        assert!(of("caches_l1_loaded", 0).is_above());
        assert!(told(&of("span", 0)).contains("span has a ceiling, and the run did not measure it"));
        let limits = |metric: Metric| Limits { total: ByMetric::from([(metric, Limit::EXACT)]), ..Limits::none() };
        let loaded = Metric::Number("caches_l1_loaded");
        let judge = |before, after| Verdict::judge(&Comparison::between(before, after), &limits(loaded));
        assert!(told(&judge(&before, &after)).contains("the baseline was made without it"));
        assert!(told(&judge(&after, &before)).contains("measure it with --cache"));
        assert_eq!(judge(&after.with_numbers(&[loaded]), &after).outcome(), Outcome::Pass);
    }

    #[test]
    fn it_fails_closed() {
        let gone = judge(&[("f", 10), ("g", 3)], &[("f", 10)], &[("g", "1%")]);
        assert_eq!(gone.outcome(), Outcome::Fail);
        assert!(gone.defects[0].contains("disappeared"));
        let never = judge(&[("f", 10)], &[("f", 10)], &[("g*", "1%")]);
        assert!(never.defects[0].contains("no such function"));
        assert!(judge(&[], &[], &[]).defects[0].contains("nothing was compared"));
        let limits = Limits::none();
        let verdict = Verdict::judge(&Comparison::between(&summary(&[("f", 1)]), &summary(&[("f", 1)])), &limits);
        assert!(verdict.defects[0].contains("no number has a limit"));
    }
}
