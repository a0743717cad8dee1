//! What each thread did: one row per thread, signal context and forked process.
//!
//! Takes a profile, gives names and totals in its canonical order, the most costly first. Threads that began with the same
//! function are numbered in that order.

use std::collections::BTreeMap;

use crate::profile::Profile;
use crate::profile::model::Totals;
use crate::shared::names;

/// Name of the function that each thread began with, and what the thread did.
pub fn of(profile: &Profile) -> impl Iterator<Item = (Option<String>, &Totals)> {
    let name = |i: usize| profile.thread_starts.get(i).copied().flatten().map(|id| names::demangle(profile.symbol(id)));
    profile.threads.iter().enumerate().map(move |(i, totals)| (name(i), totals))
}

/// Names that tell threads apart: `work #2` for the second that began with `work`.
pub fn named(profile: &Profile) -> Vec<(String, &Totals)> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let all: Vec<(String, &Totals)> =
        of(profile).map(|(name, totals)| (name.unwrap_or_else(|| names::UNKNOWN.into()), totals)).collect();
    let several = |name: &str| all.iter().filter(|(other, _)| other == name).count() > 1;
    let numbered = all.iter().map(|(name, totals)| {
        let number = seen.entry(name.clone()).or_insert(0);
        *number += 1;
        (if several(name) { format!("{name} #{number}") } else { name.clone() }, *totals)
    });
    numbered.collect()
}

/// What a report of several threads has to say before its numbers.
pub fn warning(profile: &Profile) -> Option<String> {
    let (threads, processes) = (profile.coverage.threads, profile.coverage.processes);
    let line =
        "each thread has a stack of its own: what others write is a first touch once, then not seen; see --by-thread";
    // Processes share nothing by themselves.
    (threads > processes).then(|| format!("{threads} threads; {line}"))
}
