//! Threads together: one LRU stack for all threads of a process, or for some.
//!
//! Takes what the rings of a run carried, once all have ended; gives what an analysis of each ring gives. `deferred.rs`
//! has the words of a ring, `items.rs` what they decode to, `order` says whose turn it is (with `tickets`), `cluster`
//! has a `stack`, `own` that of a thread alone beside it, `process` brings them together. Signal handlers keep stacks
//! of their own, as they come at any time. The model, and what is undefined in it: `docs/threads.md`.

mod cluster;
mod names;
mod object_attribution;
mod order;
mod own;
mod process;
mod stack;
#[cfg(test)]
mod tests;
mod tickets;

use std::{collections::BTreeMap, io};

use super::{
    analyzer::Analyzer,
    deferred::DeferredRing,
    merge::Merger,
    modules::{ModuleTable, Source},
    options::Options,
    replayer::Replayer,
    result::{MemoryResult, RingResult},
    shared::{Shared, Together},
};
use process::Process;

/// Analyses the rings that were kept, and adds them up.
pub(super) fn analyse(all: &mut Merger, options: &Options, modules: &ModuleTable) {
    let Some(together) = &options.together else { return };
    let mut processes: BTreeMap<Option<u32>, Vec<Kept>> = BTreeMap::new();
    for (part, first) in std::mem::take(&mut all.kept) {
        if part.start.is_some() {
            processes.entry(part.processes.first().copied()).or_default().push((part, first));
        } else {
            alone(part, all, together, options, modules);
        }
    }
    let mut shared = Shared::default();
    for parts in processes.into_values() {
        let parts = match only(parts) {
            Err(parts) => parts,
            Ok(result) => {
                shared.most_threads = shared.most_threads.max(1);
                add_alone(RingResult::Memory(result), all, together, modules);
                continue;
            }
        };
        let mut process = match Process::new(together, options, modules, parts) {
            Ok(process) => process,
            Err(error) => {
                all.measurement.cut_short.get_or_insert(error.to_string());
                continue;
            }
        };
        if let Err(refused) = process.attempt() {
            all.measurement.cut_short.get_or_insert(refused);
        }
        spool_failed(process.error(), all);
        let (results, objects, of_process) = process.finish();
        shared.add(of_process);
        all.add_process(results, objects, |table, segment| modules.items(table, segment));
    }
    all.measurement.shared = Some(shared);
}

/// What a ring carried, and what its thread did if it made no other.
type Kept = (DeferredRing, Option<Box<MemoryResult>>);

/// What the only thread of a process did; the words of all threads if there are more, or if it is not known.
fn only(mut parts: Vec<Kept>) -> Result<Box<MemoryResult>, Vec<DeferredRing>> {
    if let [(part, first)] = &mut parts[..]
        && part.error.is_none()
        && let Some(result) = first.take()
    {
        return Ok(result);
    }
    Err(parts.into_iter().map(|(part, _)| part).collect())
}

/// Says what the temporary file refused.
fn spool_failed(error: Option<io::Error>, all: &mut Merger) {
    if let Some(error) = error {
        let why = format!("the temporary file of --threads failed: {error}");
        all.measurement.cut_short.get_or_insert(why);
    }
}

/// Analyses a ring that shares nothing, as far as the system lets it.
fn alone(mut part: DeferredRing, all: &mut Merger, together: &Together, options: &Options, modules: &ModuleTable) {
    let analyzer = Analyzer::new(Options { together: None, ..options.clone() });
    let mut replayer = Some(Replayer::Memory(Box::new(analyzer)));
    while let Some(words) = part.next_words() {
        let mut source = Source { processes: &part.processes, table: modules };
        if let Err(cut_short) = Replayer::attempt(&mut replayer, |replayer| replayer.replay(&words, &mut source)) {
            all.measurement.cut_short.get_or_insert(cut_short.why);
            all.add(cut_short.result, |table, segment| modules.items(table, segment));
            return;
        }
    }
    spool_failed(part.error, all);
    if let Some(replayer) = replayer {
        add_alone(replayer.finish(), all, together, modules);
    }
}

/// Adds what a thread did that shares its stack with nobody: the stack is its own too.
fn add_alone(mut result: RingResult, all: &mut Merger, together: &Together, modules: &ModuleTable) {
    if let RingResult::Memory(result) = &mut result
        && together.alone
    {
        result.is_alone();
    }
    all.add(result, |table, segment| modules.items(table, segment));
}
