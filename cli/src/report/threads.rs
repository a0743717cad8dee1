//! What each thread did: one row per thread, signal context and forked process.
//!
//! Takes a profile, gives names and totals in its canonical order, the most costly first. Threads that began with the
//! same function are numbered in that order.

use std::collections::BTreeMap;

use crate::profile::Profile;
use crate::profile::model::{ThreadMode, Totals, UndefinedOrder};
use crate::shared::{human, names};

/// Name of the function that each thread began with, and what the thread did.
pub fn named_totals(profile: &Profile) -> impl Iterator<Item = (Option<String>, &Totals)> {
    let name = |i: usize| profile.thread_starts.get(i).copied().flatten().map(|id| names::demangle(profile.symbol(id)));
    profile.threads.iter().enumerate().map(move |(i, totals)| (name(i), totals))
}

/// Names that tell threads apart: `work #2` for the second that began with `work`.
pub fn named(profile: &Profile) -> Vec<(String, &Totals)> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let all: Vec<(String, &Totals)> =
        named_totals(profile).map(|(name, totals)| (name.unwrap_or_else(|| names::UNKNOWN.into()), totals)).collect();
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
    // Processes share nothing by themselves.
    if threads <= processes {
        return None;
    }
    let own = "each thread has a stack of its own: what others write is a first touch once, then not seen";
    let Some(sharing) = &profile.sharing else {
        return Some(format!("{threads} threads; {own}; see --by-thread"));
    };
    if profile.meta.thread_mode == ThreadMode::Private {
        let handed: u64 = profile.sharing_details.iter().flat_map(|details| &details.handed).sum();
        let (cold, handed) = (human::bytes(u128::from(profile.totals.cold)), human::bytes(u128::from(handed)));
        return Some(format!(
            "{threads} threads; {own}; of {cold} of first touches, others had written {handed} before, in the order of \
             the model; see --by-thread, --sharing"
        ));
    }
    let parts = undefined(&sharing.undefined);
    let contended = sharing.undefined.contended;
    let order = if !parts.is_empty() {
        format!("another run may have another order: {}", parts.join("; "))
    } else if contended > 0 {
        let times = human::grouped(u128::from(contended));
        format!(
            "their order is the model's; locks went {times} times to another thread, and another run may find other \
                 things behind them"
        )
    } else {
        "their order is the model's alone".to_owned()
    };
    Some(format!("{threads} threads take turns on shared stacks; {order}"))
}

/// What of the order of threads another run may have otherwise.
fn undefined(order: &UndefinedOrder) -> Vec<String> {
    let counted = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", human::grouped(u128::from(n))));
    [
        counted(order.by_run, "acquires came after what other threads released, as in this run"),
        counted(order.unmet, "waits could not be followed"),
        counted(order.unseen_starts, "threads were made where there are no hooks, and begin at time 0"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
