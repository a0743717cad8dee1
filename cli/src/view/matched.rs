//! Which function is which in a run and an earlier one, or in a run and a baseline, for the page.
//!
//! Takes the comparison of the gate and the functions that the page has; gives every function of either side once, and
//! of each of the page's functions which one it is, so that the page pairs what `dmdprof diff` pairs. Of a baseline,
//! which has no calling contexts and no lines, it also gives the numbers.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::gate::compare::{Change, Comparison, Fate};
use crate::gate::key::{Key, PathMap};
use crate::gate::metric::Metric;
use crate::gate::output::words;
use crate::gate::summary::Function;
use crate::profile::Profile;
use crate::profile::model::FunctionId;
use crate::shared::printable;

/// A comparison of a profile with another or a baseline, and how names of files become those of its keys.
#[derive(Clone, Copy)]
pub struct Against<'a> {
    pub comparison: &'a Comparison,
    pub paths: &'a PathMap,
}

#[derive(Serialize)]
pub struct Described {
    entries: Vec<Entry>,
    /// By the page's function: which entry it is part of.
    entry_of: Vec<Option<usize>>,
    /// By the earlier run's function: which entry it is part of; nothing if that is a baseline.
    entry_of_before: Option<Vec<Option<usize>>>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    place: String,
    /// Its name or file before, if that was another, in the words of `dmdprof diff`.
    was: Option<String>,
    /// Of a baseline; `None`: it knows nothing of it.
    before: Option<Before>,
}

/// Numbers of the baseline; sums that may be large as decimals.
#[derive(Serialize)]
struct Before {
    cost: String,
    read: String,
    written: String,
    flops: String,
    /// Bytes read at depths above half of a power of two, up to it.
    depths: Vec<(u64, String)>,
    /// Bytes read at capacities above half of a power of two, up to it; `None` if the baseline does not know.
    capacities: Option<Vec<(u64, String)>>,
}

/// A profile and the functions of it that the page has, by their numbers in the profile as it was measured.
pub type Side<'a> = (&'a Profile, &'a [FunctionId]);

/// `earlier`: the run before; a baseline if there is none.
pub fn describe((profile, functions): Side<'_>, earlier: Option<Side<'_>>, against: Against<'_>) -> Described {
    let changes = &against.comparison.functions;
    let entries = changes.iter().map(|change| Entry {
        name: printable::name(&change.key.name).into_owned(),
        place: place(&change.key, change.after.as_ref()),
        was: matches!(change.fate, Fate::Renamed { .. })
            .then(|| printable::name(&words::fate(&change.key, &change.fate)).into_owned()),
        before: change.before.as_ref().filter(|_| earlier.is_none()).map(before),
    });
    let entries = entries.collect();
    // What was removed may have the name of something new.
    let is = |(number, change): (usize, &'_ Change)| change.after.is_some().then(|| (change.key.clone(), number));
    let was = |(number, change): (usize, &'_ Change)| change.before.is_some().then(|| (change.old_key.clone(), number));
    let find = |(profile, functions): Side<'_>, by_key: &HashMap<Key, usize>| {
        functions.iter().map(|id| by_key.get(&Key::for_function(profile, *id, against.paths)).copied()).collect()
    };
    let entry_of = find((profile, functions), &changes.iter().enumerate().filter_map(is).collect());
    let before_by_key = changes.iter().enumerate().filter_map(was).collect();
    let entry_of_before = earlier.map(|side| find(side, &before_by_key));
    Described { entries, entry_of, entry_of_before }
}

fn place(key: &Key, function: Option<&Function>) -> String {
    let file = printable::name(key.base_name()).into_owned();
    match function.and_then(|f| f.place).map(|place| place.line).filter(|line| *line > 0) {
        Some(line) if !file.is_empty() => format!("{file}:{line}"),
        _ => file,
    }
}

fn before(function: &Function) -> Before {
    let numbers = &function.numbers;
    let by_size =
        |counts: &BTreeMap<u64, u128>| counts.iter().map(|(size, bytes)| (*size, bytes.to_string())).collect();
    Before {
        cost: numbers.of(Metric::COST).to_string(),
        read: numbers.of(Metric::READ).to_string(),
        written: numbers.of(Metric::WRITTEN).to_string(),
        flops: numbers.of(Metric::FLOPS).to_string(),
        depths: by_size(&numbers.depths),
        capacities: numbers.capacities.as_ref().map(by_size),
    }
}
