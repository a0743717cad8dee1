//! The least that memories could fetch, of a program of which it is known, and what cannot be measured with it.

use std::path::Path;

use dmdprof_tests::profiled::{Profiled, Run};
use dmdprof_tests::programs::{Compiler, Program};
use dmdprof_tests::tool::{describe, dmdprof, in_tests, output, scratch, succeed};

/// Words of the array and passes over it, as in `scan.c`.
const N: u64 = 8192;
const ROUNDS: u64 = 64;
const SMALL: u64 = 32 << 10;
const LARGE: u64 = 1 << 20;

fn measure(directory: &Path, options: &[&str]) -> Profiled {
    let program = Program::from_source(in_tests("optimum").join("scan.c")).build(&Compiler::dmdprof());
    let profiled = Run::new(program, directory).options(options).go();
    assert!(profiled.output.status.success(), "{}", describe(&profiled.output));
    profiled.report.assert_consistent();
    profiled
}

/// Passes in one direction miss n - Z times in n - 1 reads, where LRU misses always; passes to and fro find in an LRU
/// memory what the best memory would have kept.
#[test]
fn scans_fetch_what_the_textbook_says() {
    let directory = scratch();
    let profiled = measure(directory.path(), &["--optimum=32KiB,1MiB", "--roi", "main"]);
    let (rounds, to_and_fro) = (profiled.report.function("rounds"), profiled.report.function("to_and_fro"));
    let read = 8 * N * ROUNDS;
    let [least, lru, first] = rounds.optimum(SMALL).expect("a memory of that size");
    assert_eq!((lru, first), (read, 0), "each read is of what was used longest ago");
    let expected = read * (N - SMALL / 8) / (N - 1);
    assert!(least.abs_diff(expected) <= SMALL, "{least}, and {expected} but for the first pass");
    let [least, lru, _] = to_and_fro.optimum(SMALL).expect("a memory of that size");
    let expected = ROUNDS * (8 * N - SMALL);
    assert!(least <= lru && lru.abs_diff(expected) <= 2 * SMALL, "{lru}, and {expected} but for the first pass");
    assert!(lru - least <= 2 * SMALL, "{least} of {lru}");
    assert_eq!(rounds.optimum(LARGE), Some([0, 0, 0]), "all fits");

    let text = succeed(dmdprof().arg("report").current_dir(directory.path()));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("x the least possible at 32.0 KiB"), "{text}");
    assert!(text.contains("of what is too much is in rounds"), "{text}");
}

/// A recording gives the same as the run, in one piece whatever was asked for, and beside exact liveness the least is
/// what it is.
#[test]
fn a_recording_has_the_same_optimum() {
    let directory = scratch();
    let run = measure(directory.path(), &["--optimum=32KiB"]);
    let program = Program::from_source(in_tests("optimum").join("scan.c")).build(&Compiler::dmdprof());
    succeed(dmdprof().args(["record", "-o", "scan.trace"]).arg(program).current_dir(directory.path()));
    for options in [&["--workers", "4"][..], &["--liveness", "exact"], &["--objects"]] {
        let replay = dmdprof()
            .args(["replay", "--no-lines", "-q", "-o", "replayed.data", "--optimum=32KiB", "scan.trace"])
            .args(options)
            .current_dir(directory.path())
            .output()
            .expect("it starts");
        assert!(replay.status.success(), "{options:?}: {}", describe(&replay));
        let replayed = dmdprof_tests::profiled::Report::read(&directory.path().join("replayed.data"));
        for function in ["rounds", "to_and_fro", "fill"] {
            let [run, replayed] = [&run.report, &replayed]
                .map(|report| report.function(function).optimum(SMALL).expect("a memory of that size")[0]);
            assert_eq!(run, replayed, "{function} with {options:?}");
        }
    }
}

#[test]
fn what_knows_no_future_is_refused() {
    let program = Program::from_source(in_tests("optimum").join("scan.c")).build(&Compiler::dmdprof());
    let refused = |options: &[&str], part: &str| {
        let directory = scratch();
        let run = Run::new(&program, directory.path()).options(options);
        let output = output(&mut run.command());
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", describe(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{options:?}: {}", describe(&output));
    };
    refused(&["--optimum", "--lines-only"], "--optimum cannot be combined with --lines-only");
    refused(&["--optimum", "--liveness", "none"], "--optimum cannot be combined with --liveness none");
    refused(&["--optimum", "--flows"], "--flows cannot be combined with --optimum");
    refused(&["--optimum", "--window", "10"], "--window cannot be combined with --optimum");
    refused(&["--optimum", "--threads", "shared"], "--optimum cannot be combined with threads that share a stack");
    refused(&["--optimum", "--sample"], "--optimum cannot be combined with --sample");
    refused(&["--optimum", "--model", "values"], "--optimum is about the memory model");
    refused(&["--optimum=33000"], "32.0 KiB is");
}
