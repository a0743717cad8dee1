//! The outside oracle: read misses of a fully associative LRU cache of 64-byte lines, from `dmdprof --line 64` and from
//! Cachegrind simulating such a cache over the native program. They see the same accesses except for register spills and
//! the C library's own, which an empty program shows and the workloads drown.

use std::path::Path;
use std::process::Command;

use dmdprof_tests::profiled::Run;
use dmdprof_tests::programs::{Compiler, bench};
use dmdprof_tests::tool::{scratch, succeed, valgrind};

const LINE: u64 = 64;
const CAPACITIES: [u64; 2] = [32 << 10, 128 << 10];

/// `D1mr` of Cachegrind with one set of `capacity / LINE` ways.
fn cachegrind(executable: &Path, args: &[&str], capacity: u64) -> u64 {
    let directory = scratch();
    let out = directory.path().join("cachegrind.out");
    let mut command = Command::new(valgrind());
    command
        .args(["--tool=cachegrind", "--cache-sim=yes", "--I1=32768,8,64", "--LL=8388608,16,64"])
        .arg(format!("--D1={capacity},{},{LINE}", capacity / LINE))
        .arg(format!("--cachegrind-out-file={}", out.display()))
        .arg(executable)
        .args(args);
    succeed(&mut command);
    let text = std::fs::read_to_string(&out).expect("cachegrind writes its output file");
    let words = |key: &str| -> Vec<String> {
        let line = text.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_else(|| panic!("no {key:?} in {text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    let (events, summary) = (words("events:"), words("summary:"));
    let column = events.iter().position(|e| e == "D1mr").expect("cachegrind counts D1mr");
    summary[column].parse().expect("a count")
}

fn compare(name: &str, args: &[&str], least: u64) {
    let (program, empty) = (bench(name), bench("empty"));
    let native = program.build(&Compiler::native());
    let empty = empty.build(&Compiler::native());
    let directory = scratch();
    let run = Run::new(program.build(&Compiler::dmdprof()), directory.path());
    let profiled = run.options(["--line", "64", "--liveness", "none"]).args(args).go();
    for capacity in CAPACITIES {
        let ours = profiled.report.misses(capacity);
        let theirs = cachegrind(&native, args, capacity) - cachegrind(&empty, &[], capacity);
        let difference = ours.abs_diff(theirs) as f64 / theirs as f64;
        println!("{name} {capacity}: dmdprof {ours}, cachegrind {theirs}, {:.3} %", 100.0 * difference);
        assert!(theirs > least, "{name} {capacity}: only {theirs} misses, too few to compare");
        assert!(difference < 0.01, "{name} at {capacity} bytes: dmdprof {ours}, cachegrind {theirs}");
    }
}

#[test]
fn matmul() {
    compare("matmul", &["160"], 50_000);
}

#[test]
fn stencil() {
    compare("stencil", &["1500", "2"], 50_000);
}

#[test]
fn hash() {
    compare("hash", &["500000"], 50_000);
}
