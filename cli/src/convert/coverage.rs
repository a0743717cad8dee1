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

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, sync::Arc};

    use dmdprof_runtime::analysis::ThreadTotals;

    use super::{
        super::tests::{block, function, measurement, table},
        *,
    };

    /// Strings of the table that only these tests use.
    const STRINGS: [&str; 4] = ["sin", "llvm.ctpop", "reason", "access in an ifunc resolver"];
    const FIRST: u32 = 9;

    /// The program's table, with another callee of its call.
    fn calling(callee: u32) -> Measurement {
        let mut program = table();
        program.strings.extend(STRINGS.map(str::to_owned));
        program.segments[1].callee = callee;
        let mut measurement = measurement();
        measurement.tables[0].1 = Arc::new(program);
        measurement.blocks = vec![block(1, 0, 1, 3, &[0]), block(3, 0, 1, 4, &[0]), block(1, 0, 0, 9, &[1, 1])];
        measurement
    }

    fn calls(measurement: &Measurement) -> Vec<(String, u64)> {
        coverage(measurement, true).unseen_calls
    }

    #[test]
    fn calls_of_what_has_no_hooks_are_counted_by_name() {
        let mut memcpy = calling(5);
        assert_eq!(calls(&memcpy), [("memcpy".into(), 7)]);
        memcpy.unfollowed =
            [("memcpy".into(), 2), ("alpha".into(), 9), ("puts".into(), 10), ("never".into(), 0)].into();
        let expected = [("puts", 10), ("alpha", 9), ("memcpy", 9)].map(|(name, calls)| (name.to_owned(), calls));
        assert_eq!(calls(&memcpy), expected, "most first, then by name");
        assert_eq!(calls(&calling(1)), [], "`work` has hooks");
        assert_eq!(calls(&calling(FIRST)), [], "it touches no memory");
        assert_eq!(calls(&calling(FIRST + 1)), [("llvm.ctpop in main".into(), 7)], "in a function");
        let mut skipped = calling(1);
        let mut program = SiteTable::clone(&skipped.tables[0].1);
        program.functions[1].skipped = true;
        let library = program.clone();
        skipped.tables[0].1 = Arc::new(program);
        skipped.tables[1].1 = Arc::new(library);
        assert_eq!(calls(&skipped), [("work".into(), 7)], "it was left without");
    }

    #[test]
    fn hooks_and_what_was_skipped_are_added_up_over_modules() {
        let mut program = table();
        program.strings.extend(STRINGS.map(str::to_owned));
        program.functions.push(function(1, 3, 30));
        program.functions[2].skipped = true;
        program.skips = vec![(FIRST + 2, 5), (99, 1)];
        program.without_hooks = vec!["b.o".into(), "a.o".into()];
        let mut library = program.clone();
        library.without_hooks = vec!["a.o".into()];
        let empty = SiteTable::default();
        let mut thread = ThreadTotals::default();
        (thread.ring.unknown_frees, thread.ring.lost_words, thread.ring.unseen_frames) = (1, 2, 3);
        let found = coverage(
            &Measurement {
                tables: vec![
                    (PathBuf::from("/bin/program"), Arc::new(program)),
                    (PathBuf::from("/lib/library.so"), Arc::new(library)),
                    (PathBuf::from("/lib/nothing.so"), Arc::new(empty)),
                ],
                threads: vec![thread.clone(), thread],
                processes: [4, 7].into(),
                refused: 10,
                ..Measurement::default()
            },
            true,
        );
        assert_eq!((found.functions_instrumented, found.functions_skipped, found.accesses_instrumented), (4, 2, 18));
        let modules: Vec<_> =
            found.modules.iter().map(|module| (&*module.name, module.functions, module.accesses)).collect();
        assert_eq!(modules, [("library.so", 3, 9), ("program", 3, 9)], "without what has nothing");
        let skipped = [(UNSEEN_FRAMES, 6), ("reason", 10), ("unknown", 2)].map(|(reason, n)| (reason.to_owned(), n));
        assert_eq!(found.skipped, skipped);
        assert_eq!(found.without_hooks, ["a.o", "b.o"]);
        assert_eq!((found.unknown_frees, found.lost_events, found.processes, found.threads), (2, 14, 2, 2));
    }

    #[test]
    fn accesses_before_any_hook_could_run_are_told() {
        assert_eq!(before_constructors(&measurement()), None);
        let with = |count| {
            let mut program = table();
            program.strings.extend(STRINGS.map(str::to_owned));
            program.skips = vec![(FIRST + 2, 9), (FIRST + 3, count)];
            let tables = vec![(PathBuf::from("program"), Arc::new(program))];
            before_constructors(&Measurement { tables, ..Measurement::default() })
        };
        assert!(with(1).is_some_and(|text| text.starts_with("1 access in ifunc")), "{:?}", with(1));
        assert_eq!(with(0), None);
    }

    #[test]
    fn compilers_are_those_of_code_with_hooks_each_once() {
        let with = |compiler: &str, has_functions| {
            let mut table = if has_functions { table() } else { SiteTable::default() };
            table.compilers = vec![compiler.into()];
            (PathBuf::from("program"), Arc::new(table))
        };
        let tables = vec![with("rustc", true), with("clang", true), with("rustc", true), with("gcc", false)];
        assert_eq!(compilers(&Measurement { tables, ..Measurement::default() }), ["clang", "rustc"]);
    }
}
