//! Why a function's cost changed, the strongest cause first.
//!
//! A function's cost is calls x bytes read per call x cost per byte. Each factor that changed is a cause, ordered by
//! how much it multiplied the cost; then come the depths between which reads moved, copies, and calls of other
//! functions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::cycles as core;

use super::compare::{Change, difference};
use super::limits::{USUAL_CYCLES, USUAL_LIMIT};
use super::metric::Metric;
use super::output::words;
use super::summary::Numbers;
use crate::shared::human;

/// Changes of a factor below this are only rounding of the factor itself.
const NOTICEABLE: f64 = 1e-12;
const CALLEES_SHOWN: usize = 3;
const CAUSES_SHOWN: usize = 2;
/// Memories whose lines are looked at.
const LINE_CAPACITIES: [u64; 3] = crate::report::lines::SHOWN;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Called more or less often.
    Calls,
    /// More or less is read per call.
    Volume,
    /// More or less is copied: memcpy, struct copies and the like.
    Copies,
    /// The same bytes are read from deeper, or from less deep.
    Depth,
    /// More or fewer lines are moved.
    Lines,
    /// It takes more or fewer cycles.
    Cycles,
    /// Other functions are called, or as many times more or less.
    Callees,
    /// It is new, or gone.
    Existence,
}

/// One cause, in words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cause {
    pub kind: Kind,
    pub text: String,
}

/// Causes of a change, strongest first; none if nothing that they would explain changed.
#[must_use]
pub fn causes(change: &Change) -> Vec<Cause> {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => {
            let mut causes = factors(&before.numbers, &after.numbers);
            // What bytes do not explain comes first.
            let [was, is] = [before, after].map(|function| function.numbers.of(Metric::COST));
            let at = if is > was { causes.len() } else { 0 };
            causes.splice(at..at, lines(&before.numbers, &after.numbers));
            causes.splice(at..at, cycles(&before.numbers, &after.numbers));
            causes.extend(callees(&before.callees, &after.callees));
            causes
        }
        (None, Some(after)) => vec![existence("new", &after.numbers)],
        (Some(before), None) => vec![existence("gone", &before.numbers)],
        (None, None) => Vec::new(),
    }
}

fn existence(what: &str, numbers: &Numbers) -> Cause {
    let calls = Metric::CALLS.value_in(numbers).map_or_else(|| "inlined".into(), times);
    let reads = match numbers.of(Metric::READ) {
        0 => "reads nothing".into(),
        bytes => format!("reads {}{}", human::bytes(bytes), per_byte(numbers)),
    };
    let text = format!("{what}: {calls}, {reads}");
    Cause { kind: Kind::Existence, text }
}

fn per_byte(numbers: &Numbers) -> String {
    mean(numbers).map_or_else(String::new, |mean| format!(" at {} per byte", human::ratio(mean)))
}

fn times(n: u128) -> String {
    match n {
        1 => "called once".into(),
        n => format!("called {} times", human::grouped(n)),
    }
}

fn mean(numbers: &Numbers) -> Option<f64> {
    let read = numbers.of(Metric::READ);
    (read > 0).then(|| numbers.of(Metric::COST) as f64 / read as f64)
}

/// How much the second is of the first, as a logarithm; from or to nothing is more than anything.
fn growth(before: f64, after: f64) -> f64 {
    match (before == after, before > 0.0 && after > 0.0) {
        (true, _) => 0.0,
        (_, true) => (after / before).ln(),
        (_, false) => f64::INFINITY,
    }
}

fn factors(before: &Numbers, after: &Numbers) -> Vec<Cause> {
    let mut weighed: Vec<(f64, Cause)> = Vec::new();
    let mut add = |weight: f64, kind: Kind, text: String| {
        if weight.abs() > NOTICEABLE {
            weighed.push((weight.abs(), Cause { kind, text }));
        }
    };
    let calls = |n: &Numbers| Metric::CALLS.value_in(n).filter(|calls| *calls > 0);
    let read = |n: &Numbers| n.of(Metric::READ) as f64;
    let per_call = match (calls(before), calls(after)) {
        (Some(was), Some(is)) => {
            let text = format!("{} instead of {}", times(is), human::grouped(was));
            add(growth(was as f64, is as f64), Kind::Calls, text);
            (read(before) / was as f64, read(after) / is as f64)
        }
        _ => (read(before), read(after)),
    };
    let (kind, text) = volume(before, after);
    add(growth(per_call.0, per_call.1), kind, text);
    if let (Some(was), Some(is)) = (mean(before), mean(after)) {
        add(growth(was, is), Kind::Depth, depth(before, after, was, is));
    }
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
    weighed.into_iter().map(|(_, cause)| cause).collect()
}

/// Where lines are moved that were not, and how much of what is fetched is read.
fn lines(before: &Numbers, after: &Numbers) -> Option<Cause> {
    let moved = |capacity: u64| {
        let metric = Metric::LineTraffic(capacity);
        Some((capacity, metric.value_in(before)?, metric.value_in(after)?))
    };
    let most = LINE_CAPACITIES
        .into_iter()
        .filter_map(moved)
        .max_by_key(|(z, was, is)| (difference(*was, *is).unsigned_abs(), Reverse(*z)));
    let (capacity, was, is) = most.filter(|(_, was, is)| !USUAL_LIMIT.allows(*was, *is))?;
    let (was, is) = words::amounts(Metric::LineTraffic(capacity), was, is);
    let used = match [before, after].map(|numbers| numbers.utilisation(capacity)) {
        [Some(was), Some(is)] if was != is => {
            let [was, is] = [was, is].map(|n| words::amount(Metric::Utilisation(capacity), n));
            format!("; of what loads fetch {is} is read instead of {was}")
        }
        _ => String::new(),
    };
    let text = format!("a memory of {} moves {is} of lines instead of {was}{used}", human::bytes(capacity.into()));
    Some(Cause { kind: Kind::Lines, text })
}

/// What takes more or fewer cycles, the causes that changed most.
fn cycles(before: &Numbers, after: &Numbers) -> Option<Cause> {
    let (was, is) = (Metric::CYCLES.value_in(before)?, Metric::CYCLES.value_in(after)?);
    if USUAL_CYCLES.allows(was, is) {
        return None;
    }
    let mut changed: Vec<(u128, String)> = Vec::new();
    for cause in core::Cause::ALL {
        let path = format!("cycles_by_cause_{}", cause.word());
        let [Some(was), Some(is)] = [before, after].map(|numbers| numbers.by_path.get(&path).copied()) else {
            continue;
        };
        let text = format!("{} {}", words::change(Metric::CYCLES, was, is), cause.word());
        changed.push((was.abs_diff(is), text));
    }
    changed.retain(|(by, _)| *by > 0);
    changed.sort_by_key(|(by, _)| Reverse(*by));
    let parts: Vec<String> = changed.into_iter().take(CAUSES_SHOWN).map(|(_, text)| text).collect();
    let (was, is) = words::amounts(Metric::CYCLES, was, is);
    let text = format!("takes {is} cycles instead of {was}: {}", parts.join(", "));
    Some(Cause { kind: Kind::Cycles, text })
}

/// Copies, if they are most of what is read more or less.
fn volume(before: &Numbers, after: &Numbers) -> (Kind, String) {
    let by = |metric| difference(before.of(metric), after.of(metric));
    let (read, copied) = (by(Metric::READ), by(Metric::COPIED));
    let amounts = |metric| {
        let (was, is) = words::amounts(metric, before.of(metric), after.of(metric));
        format!("{is} instead of {was}")
    };
    if copied.signum() == read.signum() && copied.unsigned_abs() * 2 > read.unsigned_abs() {
        (Kind::Copies, format!("copies {} (memcpy, struct copies, string functions)", amounts(Metric::COPIED)))
    } else {
        (Kind::Volume, format!("reads {}", amounts(Metric::READ)))
    }
}

fn depth(before: &Numbers, after: &Numbers, was: f64, is: f64) -> String {
    let exact = human::ratio(is) == human::ratio(was);
    let text = |mean: f64| if exact { format!("{mean:.6}") } else { human::ratio(mean) };
    let mean = format!("{} per byte instead of {}", text(is), text(was));
    match movement(&before.depths, &after.depths) {
        Some(movement) => format!("{movement} ({mean})"),
        None => mean,
    }
}

/// Bytes read that left some depths and came to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    pub bytes: u128,
    /// Depths above the first, up to the second, that lost most of what was lost.
    pub from: (u64, u64),
    pub to: (u64, u64),
    /// The depths are those of the middle only, because what was lost and what was gained overlap.
    pub mostly: bool,
}

/// What moved between two histograms; `None` if one only grew or shrank.
#[must_use]
pub fn movement(before: &BTreeMap<u64, u128>, after: &BTreeMap<u64, u128>) -> Option<Movement> {
    let depths: BTreeSet<u64> = before.keys().chain(after.keys()).copied().collect();
    let (mut lost, mut gained) = (Vec::new(), Vec::new());
    for depth in depths {
        let at = |histogram: &BTreeMap<u64, u128>| histogram.get(&depth).copied().unwrap_or(0);
        match difference(at(before), at(after)) {
            0 => {}
            change if change < 0 => lost.push((depth, change.unsigned_abs())),
            change => gained.push((depth, change.unsigned_abs())),
        }
    }
    let sum = |part: &[(u64, u128)]| part.iter().map(|(_, bytes)| bytes).sum::<u128>();
    let bytes = sum(&lost).min(sum(&gained));
    if bytes == 0 {
        return None;
    }
    // The middle seven tenths; if they overlap, the octaves of the medians, which cannot.
    let (from, to) = (between(&lost, 3, 17), between(&gained, 3, 17));
    if from.1 <= to.0 || to.1 <= from.0 {
        return Some(Movement { bytes, from, to, mostly: false });
    }
    Some(Movement { bytes, from: between(&lost, 10, 10), to: between(&gained, 10, 10), mostly: true })
}

/// The depths between two quantiles, in twentieths.
fn between(part: &[(u64, u128)], low: u128, high: u128) -> (u64, u64) {
    let total: u128 = part.iter().map(|(_, bytes)| bytes).sum();
    let at = |twentieths: u128| {
        let mut seen = 0;
        let reached = part.iter().find(|(_, bytes)| {
            seen += bytes;
            seen * 20 > total * twentieths
        });
        reached.or(part.last()).map_or(1, |(depth, _)| *depth)
    };
    (at(low) / 2, at(high))
}

impl std::fmt::Display for Movement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = |n: u64| human::bytes(n.into());
        let moved = human::bytes(self.bytes);
        let mostly = if self.mostly { ", mostly" } else { "" };
        let (from, to) = (self.from, self.to);
        let (from, to) = if from.1 <= to.0 {
            (format!("below {}", size(from.1)), format!("above {}", size(to.0)))
        } else {
            (format!("above {}", size(from.0)), format!("below {}", size(to.1)))
        };
        write!(f, "{moved} of reads moved{mostly} from {from} to {to}")
    }
}

fn callees(before: &BTreeMap<String, u128>, after: &BTreeMap<String, u128>) -> Vec<Cause> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let count = |map: &BTreeMap<String, u128>, name: &String| map.get(name).copied().unwrap_or(0);
    let mut changed: Vec<(&String, u128, u128)> = names
        .into_iter()
        .map(|name| (name, count(before, name), count(after, name)))
        .filter(|(_, was, is)| was != is)
        .collect();
    changed.sort_by_key(|(_, was, is)| std::cmp::Reverse(difference(*was, *is).unsigned_abs()));
    let text = |(name, was, is): &(&String, u128, u128)| match (was, is) {
        (0, is) => format!("now calls {name}, {} times", human::grouped(*is)),
        (was, 0) => format!("no longer calls {name} (was {} times)", human::grouped(*was)),
        (was, is) => format!("calls {name} {} times instead of {}", human::grouped(*is), human::grouped(*was)),
    };
    changed.iter().take(CALLEES_SHOWN).map(|c| Cause { kind: Kind::Callees, text: text(c) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::compare::Fate;
    use crate::gate::key::Key;
    use crate::gate::summary::Function;

    fn numbers(calls: u128, depths: &[(u64, u128)]) -> Numbers {
        let cost = depths.iter().map(|(depth, bytes)| u128::from(depth.isqrt()) * bytes).sum();
        let read = depths.iter().map(|(_, bytes)| bytes).sum();
        let numbers = [(Metric::COST, cost), (Metric::READ, read), (Metric::CALLS, calls)];
        Numbers { depths: depths.iter().copied().collect(), ..Numbers::from(numbers) }
    }

    fn why(before: Numbers, after: Numbers) -> Vec<Cause> {
        let function = |numbers| Some(Function { numbers, ..Function::default() });
        causes(&Change {
            key: Key::default(),
            old_key: Key::default(),
            fate: Fate::Kept,
            before: function(before),
            after: function(after),
        })
    }

    #[test]
    fn each_cause_is_named() {
        let base = || numbers(10, &[(64, 1000), (4096, 1000)]);
        assert_eq!(why(base(), base()), []);

        let deeper = why(base(), numbers(10, &[(64, 1000), (1 << 20, 1000)]));
        assert_eq!(deeper.len(), 1);
        assert_eq!(deeper[0].kind, Kind::Depth);
        assert_eq!(
            deeper[0].text,
            "1000 B of reads moved from below 4.00 KiB to above 512 KiB (516 per byte instead of 36.0)"
        );

        let more = why(base(), numbers(20, &[(64, 2000), (4096, 2000)]));
        assert_eq!(more.iter().map(|c| c.kind).collect::<Vec<_>>(), [Kind::Calls]);
        assert_eq!(more[0].text, "called 20 times instead of 10");

        let volume = why(base(), numbers(10, &[(64, 2000), (4096, 2000)]));
        assert_eq!(volume[0].text, "reads 3.91 KiB instead of 1.95 KiB");
        let mut copied = numbers(10, &[(64, 2000), (4096, 2000)]);
        *copied.entry(Metric::COPIED) = 1900;
        assert_eq!(why(base(), copied)[0].kind, Kind::Copies);
    }

    #[test]
    fn the_stronger_factor_comes_first() {
        let before = numbers(10, &[(64, 1000)]);
        let after = numbers(11, &[(1 << 20, 1100)]);
        assert_eq!(why(before, after).iter().map(|c| c.kind).collect::<Vec<_>>(), [Kind::Depth, Kind::Calls]);
    }

    #[test]
    fn movements_both_ways_and_overlapping() {
        let map = |m: &[(u64, u128)]| m.iter().copied().collect::<BTreeMap<_, _>>();
        let say = |a: &[(u64, u128)], b: &[(u64, u128)]| movement(&map(a), &map(b)).map(|m| m.to_string());
        let (near, far) = ([(64, 100)], [(1 << 20, 100)]);
        assert_eq!(say(&near, &far).unwrap(), "100 B of reads moved from below 64 B to above 512 KiB");
        assert_eq!(say(&far, &near).unwrap(), "100 B of reads moved from above 512 KiB to below 64 B");
        let overlapping = say(&[(64, 50), (4096, 50)], &[(1024, 100)]).unwrap();
        assert_eq!(overlapping, "100 B of reads moved, mostly from above 2.00 KiB to below 1.00 KiB");
        assert_eq!(say(&near, &[(64, 200)]), None);
    }

    #[test]
    fn callees_by_how_much_changed() {
        let map = |m: &[(&str, u128)]| m.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect::<BTreeMap<_, _>>();
        let texts =
            callees(&map(&[("gone", 5), ("same", 1), ("more", 1)]), &map(&[("new", 9), ("same", 1), ("more", 3)]));
        let texts: Vec<&str> = texts.iter().map(|c| c.text.as_str()).collect();
        assert_eq!(
            texts,
            ["now calls new, 9 times", "no longer calls gone (was 5 times)", "calls more 3 times instead of 1"]
        );
    }
}
