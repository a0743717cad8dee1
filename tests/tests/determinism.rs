//! The number does not depend on the machine's state: the profile is the same file, byte for byte.

use std::path::Path;
use std::process::Command;

use dmdprof_tests::profiled::{Report, Run, depth_hash, statistic};
use dmdprof_tests::programs::{self, Compiler, Program, WAYS, case, cpp};
use dmdprof_tests::tool::{assert_same, cases, describe, is_long, require, scratch};

fn profile(program: &Program, change: impl FnOnce(&mut Command)) -> Vec<u8> {
    let directory = scratch();
    let path = directory.path().join("dmdprof.data");
    let mut command = Run::new(program.build(&Compiler::dmdprof()), directory.path()).args(&program.args).command();
    change(&mut command);
    let output = command.output().expect("dmdprof starts");
    assert!(output.status.success(), "{}", describe(&output));
    std::fs::read(path).expect("a profile")
}

fn unchanged(_: &mut Command) {}

#[test]
fn two_runs() {
    let program = case("layout");
    assert_same("second run", &profile(&program, unchanged), &profile(&program, unchanged));
}

#[test]
fn another_working_directory() {
    let program = case("layout");
    let elsewhere = scratch();
    let found = profile(&program, |c| {
        c.current_dir(elsewhere.path());
    });
    assert_same("other directory", &profile(&program, unchanged), &found);
}

#[test]
fn another_environment() {
    let program = case("layout");
    let expected = profile(&program, unchanged);
    for size in [1, 777, 50_000] {
        let found = profile(&program, |c| {
            c.env("DMDPROF_TEST_PADDING", "x".repeat(size));
        });
        assert_same(&format!("{size} more bytes of environment"), &expected, &found);
    }
}

/// The same program with another placement of every block: all from mmap, or with padding.
#[test]
fn another_heap_layout() {
    let program = case("layout");
    let expected = profile(&program, unchanged);
    for (variable, value) in [
        ("MALLOC_MMAP_THRESHOLD_", "64"),
        ("MALLOC_TOP_PAD_", "1000000"),
        ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"),
    ] {
        let found = profile(&program, |c| {
            c.env(variable, value);
        });
        assert_same(&format!("{variable}={value}"), &expected, &found);
    }
}

#[test]
fn any_number_of_workers() {
    for program in [case("private_threads"), case("layout")] {
        let expected = profile(&program, unchanged);
        for workers in ["1", "2", "5"] {
            let directory = scratch();
            let run = Run::new(program.build(&Compiler::dmdprof()), directory.path()).options(["--workers", workers]);
            let found = std::fs::read(run.go().profile).expect("a profile");
            assert_same(&format!("{}: --workers {workers}", program.name), &expected, &found);
        }
    }
}

#[test]
fn threads_that_share_nothing() {
    let program = case("private_threads");
    let expected = profile(&program, unchanged);
    for i in 0..4 {
        assert_same(&format!("run {i}"), &expected, &profile(&program, unchanged));
    }
}

#[test]
fn a_cpp_program() {
    let program = cpp("containers").args(["5000"]);
    assert_same("second run", &profile(&program, unchanged), &profile(&program, unchanged));
}

/// `setarch -R` switches address randomisation off and `setarch x86_64` switches it on again below `dmdprof`. The
/// command line is part of the profile, so the reports are compared, without it.
#[test]
fn address_randomisation() {
    let setarch = require("setarch".as_ref(), "install util-linux");
    let program = case("layout").build(&Compiler::dmdprof());
    let measure = |switch: &[&str]| {
        let directory = scratch();
        let profiled = Run::new(&setarch, directory.path()).args(switch).args([&program]).go();
        assert!(profiled.output.status.success(), "{}", describe(&profiled.output));
        let Report(mut report) = profiled.report;
        report.as_object_mut().expect("an object").remove("command").expect("the command is in the report");
        (report, profiled.output.stderr)
    };
    let (off, _) = measure(&["-R"]);
    let ((on, somewhere), (_, elsewhere)) = (measure(&["x86_64"]), measure(&["x86_64"]));
    assert_ne!(somewhere, elsewhere, "the system does not randomise addresses, so this test could not fail");
    let text = |report| serde_json::to_vec_pretty(report).expect("JSON");
    assert_same("addresses randomised", &text(&off), &text(&on));
}

/// The comparison can fail: another size is another profile.
#[test]
fn a_different_run_is_a_different_profile() {
    let small = cpp("containers").args(["2000"]);
    let large = cpp("containers").args(["2100"]);
    assert_ne!(profile(&small, unchanged), profile(&large, unchanged));
    assert!(Path::new(&small.build(&Compiler::dmdprof())).is_file());
}

/// A hash over (site, depth) of all bytes read is the same however the analysis is made fast.
#[test]
fn no_fast_way_changes_a_depth() {
    let directory = scratch();
    let matmul = programs::bench("matmul").args([if is_long() { "120" } else { "60" }]);
    for recipe in cases([programs::zlib().args(["4000"]), matmul, programs::short_lua()], 2) {
        let program = recipe.build(&Compiler::dmdprof());
        let run = || Run::new(&program, directory.path()).args(&recipe.args);
        let hash = |options: &[&str]| depth_hash(&run().options(options));
        let expected = hash(&["--without", "nothing"]);
        for way in WAYS {
            assert_eq!(hash(&["--without", way]), expected, "without {way}");
        }
        assert_eq!(hash(&["--without", "nothing", "--workers", "1"]), expected, "one thread");
        if recipe.name != "matmul" {
            assert_ne!(hash(&["--without", "nothing", "--liveness", "none"]), expected, "other depths");
        }
    }
}

/// Loops with overlapping vectors, several sizes, structures and branches are done in blocks of iterations, and no
/// analysis can tell.
#[test]
fn regular_loops_are_what_their_accesses_are() {
    let directory = scratch();
    let program = case("loops").build(&Compiler::dmdprof());
    let run = |options: &[&str]| Run::new(&program, directory.path()).options(options);
    let all = [&[][..], &["--liveness", "exact"], &["--objects", "--flows"], &["--objects"], &["--flows"]];
    for options in cases(all, 2) {
        let report = |without: &str| {
            let Report(mut report) = run(&[options, &["--without", without]].concat()).go().report;
            report.as_object_mut().expect("an object").remove("command").expect("the command is in the report");
            serde_json::to_vec_pretty(&report).expect("JSON")
        };
        let expected = report("runs,blocks");
        for without in ["nothing", "runs", "blocks", "vectors"] {
            assert_same(&format!("{options:?} without {without}"), &expected, &report(without));
        }
    }
    let count = |name: &str| statistic(&run(&[]), name).parse::<u64>().expect("a number");
    let (in_blocks, all) = (count("in_blocks"), count("accesses"));
    assert!(in_blocks * 2 > all, "only {in_blocks} of {all} accesses were done in blocks");
}
