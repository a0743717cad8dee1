//! Which functions and calls have hooks, and which compilers made them.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_instrument::{SkipReason, calls::touches_no_memory};
use dmdprof_runtime::{
    abi::emulated::area_of,
    analysis::Measurement,
    emulator_objects::ALLOCATIONS_PREFIX,
    sites::{EMULATED, IMPORTED, SiteTable},
};

use super::read::text;
use crate::profile::model::{Coverage, ModuleCoverage};
use crate::profile::unseen::{is_instruction, name_in};
use crate::shared::human;

/// Programs that are emulated where neither a library nor registers tell what they allocate.
const UNTOLD_BLOCKS: &str = "heap blocks, of a program that is static or for another processor (they never end: QEMU 9.1 \
     or newer knows their lives, if the program has symbols)";

/// Control left functions without a return, by ways that do not tell whether their variables still live.
const UNSEEN_FRAMES: &str = "end of a frame that was left unseen";

/// What was and was not seen, of which lives of blocks matter or do not.
pub fn coverage(measurement: &Measurement, needs_lives: bool) -> Coverage {
    let mut out = Coverage::default();
    let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
    let mut defined: BTreeSet<&str> = BTreeSet::new();
    let of_no_file = emulated(measurement, needs_lives, &mut skipped);
    for (path, table) in &measurement.tables {
        defined.extend(table.functions.iter().filter(|f| !f.skipped).filter_map(|f| text(table, f.name)));
        if table.functions.is_empty() || table.emulated.is_some() {
            continue;
        }
        let with_hooks = table.functions.iter().filter(|f| !f.skipped).count() as u64;
        out.functions_instrumented += with_hooks;
        out.functions_skipped += table.functions.len() as u64 - with_hooks;
        let accesses = table.functions.iter().map(|f| f.accesses).sum();
        out.accesses_instrumented += accesses;
        for (reason, count) in &table.skips {
            *skipped.entry(text(table, *reason).unwrap_or("unknown").to_owned()).or_default() += count;
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        out.modules.push(ModuleCoverage { name, functions: table.functions.len() as u64, accesses });
    }
    out.functions_instrumented += of_no_file.iter().map(|module| module.functions).sum::<u64>();
    out.accesses_instrumented += of_no_file.iter().map(|module| module.accesses).sum::<u64>();
    out.modules.extend(of_no_file);
    let unseen = measurement.threads.iter().map(|t| t.ring.unseen_frames).sum::<u64>();
    if unseen > 0 {
        *skipped.entry(UNSEEN_FRAMES.to_owned()).or_default() += unseen;
    }
    out.modules.sort_by(|a, b| (&a.name, a.functions, a.accesses).cmp(&(&b.name, b.functions, b.accesses)));
    let without_hooks = measurement.tables.iter().flat_map(|(_, table)| &table.without_hooks);
    out.without_hooks = without_hooks.collect::<BTreeSet<_>>().into_iter().cloned().collect();
    out.skipped = skipped.into_iter().collect();
    out.unseen_calls = unseen_calls(measurement, &defined);
    out.unknown_frees = measurement.threads.iter().map(|t| t.ring.unknown_frees).sum();
    out.lost_events = measurement.threads.iter().map(|t| t.ring.lost_words).sum::<u64>() + measurement.refused;
    out.processes = measurement.processes.len() as u64;
    out.threads = measurement.threads.len() as u64;
    out
}

/// What was emulated, as one module: functions that ran, and accesses that they made. Adds programs that could not be
/// asked what they allocate to what was skipped, if that matters.
fn emulated(
    measurement: &Measurement,
    needs_lives: bool,
    skipped: &mut BTreeMap<String, u64>,
) -> Option<ModuleCoverage> {
    let tables = || measurement.tables.iter().filter_map(|(_, table)| Some((table, table.emulated.as_ref()?)));
    tables().next()?;
    let area = |table: &SiteTable| area_of(table.section_address).map(|(area, _)| area);
    let is_library = |file: &String| file.starts_with(ALLOCATIONS_PREFIX);
    let begun = tables().filter(|(_, about)| about.begins).filter_map(|(table, _)| area(table));
    let telling = tables().filter(|(_, about)| about.files.iter().any(is_library)).filter_map(|(table, _)| area(table));
    let silent = begun.collect::<BTreeSet<_>>().difference(&telling.collect()).count() as u64;
    if silent > 0 && needs_lives {
        skipped.insert(UNTOLD_BLOCKS.to_owned(), silent);
    }
    for (file, units) in tables().flat_map(|(_, about)| &about.missing) {
        // Of a file that several processes have, each run of it tells the same.
        skipped.insert(format!("split debug information of {file} (its .dwo files are not there)"), *units);
    }
    let functions: BTreeSet<_> = tables().flat_map(|(table, _)| &table.same).flat_map(|same| &same.functions).collect();
    let accesses = tables().flat_map(|(table, _)| &table.functions).map(|function| function.accesses).sum();
    let is_imported = tables().any(|(_, about)| about.files.iter().any(|file| file == IMPORTED));
    let name = if is_imported { IMPORTED } else { EMULATED };
    Some(ModuleCoverage { name: name.into(), functions: functions.len() as u64, accesses })
}

/// What is known to be missing because it ran before any hook could; `None` = nothing.
pub fn before_constructors(measurement: &Measurement) -> Option<String> {
    let reason = SkipReason::AccessInResolver.name();
    let skips = measurement.tables.iter().flat_map(|(_, table)| table.skips.iter().map(move |skip| (table, skip)));
    let count: u64 = skips.filter(|(table, (name, _))| text(table, *name) == Some(reason)).map(|(_, (_, n))| *n).sum();
    let accesses = human::plural(count, "access");
    (count > 0).then(|| {
        format!(
            "{accesses} in ifunc resolvers: these functions run while the program is being linked, where no hook can"
        )
    })
}

pub fn compilers(measurement: &Measurement) -> Vec<String> {
    let modules = measurement.tables.iter().filter(|(_, table)| !table.functions.is_empty());
    modules.flat_map(|(_, table)| table.compilers.iter().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn unseen_calls(measurement: &Measurement, defined: &BTreeSet<&str>) -> Vec<(String, u64)> {
    let mut calls: BTreeMap<String, u64> = measurement.unfollowed.iter().map(|(name, n)| (name.clone(), *n)).collect();
    for block in &measurement.blocks {
        let table = &measurement.tables[block.table as usize].1;
        let segment = &table.segments[block.segment as usize];
        let Some(name) = text(table, segment.callee).filter(|n| !defined.contains(n) && !touches_no_memory(n)) else {
            continue;
        };
        let function = || text(table, table.functions[segment.function as usize].name).unwrap_or("unknown");
        let name = if is_instruction(name) { name_in(name, function()) } else { name.to_owned() };
        *calls.entry(name).or_default() += block.executions;
    }
    let mut calls: Vec<(String, u64)> = calls.into_iter().filter(|(_, n)| *n > 0).collect();
    calls.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    calls
}
