//! Programs whose cost is known from first principles, measured, and compared to the last integer and histogram bucket.

use std::path::Path;
use std::process::Command;

use dmdprof_tests::profiled::{Profiled, Run};
use dmdprof_tests::programs::{Compiler, Program, case, truth};
use dmdprof_tests::tool::{in_tests, scratch};
use dmdprof_tests::truth::{Liveness, Tally, Truth, cyclic_closed};

fn measure(source: &str, defines: &[String], liveness: Liveness, directory: &Path) -> Profiled {
    let run = if source.ends_with(".rs") {
        Run::new(in_tests("truth").join(source), directory)
    } else {
        Run::new(truth(source).defines(defines.iter().cloned()).hooked(), directory)
    };
    let profiled = run.options(["--liveness", liveness.name()]).go();
    assert!(profiled.output.status.success(), "{source}: {}", dmdprof_tests::tool::describe(&profiled.output));
    profiled.report.assert_consistent();
    profiled
}

/// Measures every truth of one source and lists all disagreements.
fn check(source: &str) {
    let truths: Vec<&Truth> = Truth::all().iter().filter(|t| t.source == source).collect();
    assert!(!truths.is_empty(), "no truth about {source}");
    let directory = scratch();
    let mut failures = String::new();
    for truth in truths {
        let defines: Vec<String> = truth.defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let profiled = measure(source, &defines, truth.liveness, directory.path());
        for (function, expected) in &truth.functions {
            if let Err(differences) = profiled.report.function(function).check(expected) {
                failures.push_str(&format!("{}, {function}:\n{differences}\n", truth.name()));
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

macro_rules! truths {
    ($($test:ident: $source:literal,)*) => {
        $(#[test]
        fn $test() {
            check($source);
        })*

        #[test]
        fn every_truth_is_checked() {
            let checked = [$($source),*];
            for truth in Truth::all() {
                assert!(checked.contains(&truth.source), "no test measures {}", truth.source);
            }
            for entry in std::fs::read_dir(in_tests("truth")).expect("tests/truth") {
                let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
                assert!(name.ends_with(".h") || checked.contains(&name.as_str()), "no test measures {name}");
            }
        }
    };
}

truths! {
    cyclic_scan: "cyclic.c",
    cyclic_scan_in_rust: "cyclic.rs",
    zigzag_scan: "zigzag.c",
    pointer_chase: "chase.c",
    copy: "copy.c",
    overlapping_move: "overlap.c",
    planted_reuse: "planted.c",
    free_and_allocate_again: "reborn.c",
    lifetimes_of_stack_slots: "slots.c",
    growth_by_realloc: "growth.c",
    growth_by_realloc_in_rust: "growth.rs",
    cold_reads: "cold.c",
    mixed_widths: "widths.c",
    atomic_updates: "update.c",
    library_calls_by_meaning: "strings.c",
}

/// The check can fail: one read out of place in the program, or one byte in the wrong place in the expectation.
#[test]
fn a_wrong_program_and_a_wrong_expectation_are_noticed() {
    let directory = scratch();
    let right = measure("cyclic.c", &[], Liveness::Hints, directory.path());
    let expected = cyclic_closed(256, 4);
    right.report.function("kernel").check(&expected).expect("the unchanged program is right");

    let mutated = measure("cyclic.c", &["MUTATE".into()], Liveness::Hints, directory.path());
    let differences = mutated.report.function("kernel").check(&expected).expect_err("one more read");
    assert!(differences.contains("cost: expected") && differences.contains("bytes read: expected"), "{differences}");

    let mut moved: Tally = expected;
    *moved.depths.get_mut(&2048).expect("the deepest byte") -= 1;
    *moved.depths.entry(64).or_default() += 1;
    let differences = right.report.function("kernel").check(&moved).expect_err("one byte at another depth");
    assert!(differences.contains("bytes at depths"), "{differences}");
}

#[test]
fn what_the_library_writes_is_on_the_stack() {
    let directory = scratch();
    let found = Run::new(case("library").build(&Compiler::dmdprof()), directory.path()).go();
    assert!(found.output.status.success(), "{}", dmdprof_tests::tool::describe(&found.output));
    let kernel = found.report.function("kernel");
    assert_eq!((kernel.exclusive("read"), kernel.exclusive("cold")), (14 + 4 + 10, 0));
    let unseen = found.report.0["coverage"]["unseen_calls"].to_string();
    assert!(unseen.contains("\"tmpfile\""), "{unseen}");
    for seen in ["\"snprintf\"", "\"sprintf\"", "getline"] {
        assert!(!unseen.contains(seen), "{seen}: {unseen}");
    }
}

/// The hooks do not change what the program computes, with and without `dmdprof`.
#[test]
fn outputs_are_those_of_the_native_program() {
    for source in ["widths.c", "growth.c", "copy.c", "chase.c"] {
        let program = Program::from_source(in_tests("truth").join(source));
        let output = |path: &Path| dmdprof_tests::tool::succeed(&mut Command::new(path)).stdout;
        let native = output(&program.build(&Compiler::native()));
        assert_eq!(native, output(&program.build(&Compiler::dmdprof())), "{source}: hooks without dmdprof");
        let directory = scratch();
        let profiled = Run::new(program.build(&Compiler::dmdprof()), directory.path()).go();
        assert_eq!(native, profiled.output.stdout, "{source}: under dmdprof");
    }
}
