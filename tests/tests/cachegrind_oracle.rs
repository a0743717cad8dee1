//! The outside oracle: misses of a fully associative LRU cache of 64-byte lines, from `dmdprof --lines-only` (reads
//! and writes) and from Cachegrind simulating such a cache over the native program; and of a cache with few ways, from `dmdprof --cache` and from Cachegrind. They see the same accesses except for register
//! spills and the C library's own, which an empty program shows and the workloads drown.

use std::path::Path;
use std::process::Command;

use dmdprof_tests::cachegrind::total;
use dmdprof_tests::profiled::Run;
use dmdprof_tests::programs::{Compiler, bench};
use dmdprof_tests::tool::{scratch, succeed, valgrind};

const LINE: u64 = 64;
const CAPACITIES: [u64; 2] = [32 << 10, 128 << 10];

/// `D1mr`, `D1mw` and all data references of Cachegrind with so many ways.
fn cachegrind(executable: &Path, args: &[&str], capacity: u64, ways: u64) -> [u64; 3] {
    let directory = scratch();
    let out = directory.path().join("cachegrind.out");
    let mut command = Command::new(valgrind());
    command
        .args(["--tool=cachegrind", "--cache-sim=yes", "--I1=32768,8,64", "--LL=8388608,16,64"])
        .arg(format!("--D1={capacity},{ways},{LINE}"))
        .arg(format!("--cachegrind-out-file={}", out.display()))
        .arg(executable)
        .args(args);
    succeed(&mut command);
    let text = std::fs::read_to_string(&out).expect("cachegrind writes its output file");
    let count = |event: &str| total(&text, event).unwrap_or_else(|| panic!("no {event:?} in {text}"));
    [count("D1mr"), count("D1mw"), count("Dr") + count("Dw")]
}

/// What Cachegrind counts of a program, without what an empty program does too: read misses, write misses, references.
fn alone(name: &str, args: &[&str], capacity: u64, ways: u64) -> [u64; 3] {
    let all = cachegrind(&bench(name).build(&Compiler::native()), args, capacity, ways);
    let start = cachegrind(&bench("empty").build(&Compiler::native()), &[], capacity, ways);
    [0, 1, 2].map(|event| all[event] - start[event])
}

/// The part of Cachegrind's references that have no hooks: spilled registers, calls and returns, the C library. An
/// update is two accesses with hooks.
fn show_unseen(name: &str, seen: u64, references: u64) {
    let unseen = references.saturating_sub(seen);
    println!(
        "{name}: {seen} accesses with hooks, {references} references, {:.1} % unseen",
        100.0 * unseen as f64 / references as f64
    );
}

fn agree(what: &str, ours: u64, theirs: u64, least: u64) {
    let difference = ours.abs_diff(theirs) as f64 / theirs as f64;
    println!("{what}: dmdprof {ours}, cachegrind {theirs}, {:.3} %", 100.0 * difference);
    assert!(theirs > least, "{what}: only {theirs} misses, too few to compare");
    assert!(difference < 0.01, "{what}: dmdprof {ours}, cachegrind {theirs}");
}

fn compare(name: &str, args: &[&str], least: u64) {
    let program = bench(name);
    let directory = scratch();
    let run = Run::new(program.build(&Compiler::dmdprof()), directory.path()).args(args);
    let report = run.options(["--lines-only"]).go().report;
    for capacity in CAPACITIES {
        let [theirs, written, references] = alone(name, args, capacity, capacity / LINE);
        show_unseen(name, report.total("accesses"), references);
        if let Some([loaded, fetched]) = report.moved(capacity) {
            agree(&format!("{name}: reads at {capacity} bytes"), loaded / LINE, theirs, least);
            agree(&format!("{name}: all at {capacity} bytes"), fetched / LINE, theirs + written, least);
        }
    }
}

/// Eight ways of 4 KiB each: reads, and reads and writes.
fn compare_sets(name: &str, args: &[&str], least: u64) {
    const CAPACITY: u64 = CAPACITIES[0];
    let program = bench(name);
    let directory = scratch();
    let run = Run::new(program.build(&Compiler::dmdprof()), directory.path()).args(args);
    let profiled = run.options(["--cache", "32KiB,8,64,8MiB,16,64"]).go();
    let [read, written, _] = alone(name, args, CAPACITY, 8);
    let [loaded, fetched] = profiled.report.cached(1);
    agree(&format!("{name}: reads of 8 ways"), loaded / LINE, read, least);
    agree(&format!("{name}: all of 8 ways"), fetched / LINE, read + written, least);
}

#[test]
fn sets_of_eight_ways() {
    compare_sets("matmul", &["128"], 50_000);
    compare_sets("stencil", &["600", "2"], 50_000);
}

#[test]
fn matmul() {
    compare("matmul", &["160"], 50_000);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn stencil() {
    compare("stencil", &["1500", "2"], 50_000);
}

#[test]
fn hash() {
    compare("hash", &["500000"], 50_000);
}
