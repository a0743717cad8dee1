//! A run against its baseline, for the page: what the baseline holds of each function.
//!
//! Takes the comparison of the gate and the functions that the page has; gives, of every function of either, its
//! numbers in the baseline, and of each of the page's functions which one it is. A baseline has no calling contexts and
//! no lines, so the page compares by function.

use std::collections::HashMap;

use serde::Serialize;

use crate::gate::compare::{Comparison, Fate};
use crate::gate::key::{Key, PathMap};
use crate::gate::summary::Function;
use crate::profile::Profile;
use crate::profile::model::FunctionId;
use crate::shared::printable;

/// A comparison of a profile with a baseline, and how names of files become those of the baseline.
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
}

#[derive(Serialize)]
struct Entry {
    name: String,
    place: String,
    /// The name in the baseline, if it is another.
    was: Option<String>,
    /// `None`: the baseline knows nothing of it.
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
}

/// `functions`: those of the page, by their numbers in the profile as it was measured.
pub fn of(profile: &Profile, functions: &[FunctionId], against: Against<'_>) -> Described {
    let changes = &against.comparison.functions;
    let entries = changes.iter().map(|change| Entry {
        name: printable::name(&change.key.name).into_owned(),
        place: place(&change.key, change.after.as_ref()),
        was: match &change.fate {
            Fate::Renamed { from } => Some(printable::name(&from.name).into_owned()),
            _ => None,
        },
        before: change.before.as_ref().map(before),
    });
    let entries = entries.collect();
    // What was removed may have the name of something new.
    let there = changes.iter().enumerate().filter(|(_, change)| change.after.is_some());
    let by_key: HashMap<&Key, usize> = there.map(|(number, change)| (&change.key, number)).collect();
    let entry_of = functions.iter().map(|id| by_key.get(&Key::of(profile, *id, against.paths)).copied()).collect();
    Described { entries, entry_of }
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
    Before {
        cost: numbers.cost.to_string(),
        read: numbers.read.to_string(),
        written: numbers.written.to_string(),
        flops: numbers.flops.to_string(),
        depths: numbers.depths.iter().map(|(depth, bytes)| (*depth, bytes.to_string())).collect(),
    }
}
