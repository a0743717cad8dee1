//! Cycles: the same in every run, with the causes that a program was written to have, of programs without hooks and of
//! the twins of those with hooks.

use std::path::{Path, PathBuf};

use dmdprof_tests::tool::{dmdprof, output, require, scratch, succeed};
use serde_json::Value;

const CORE: &str = "--cycles=zen4-9654-core";

/// Each function waits for what its name says.
const CAUSES: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 16, TIMES = 300000 };
static uint32_t next[N * 16];
static uint8_t coins[TIMES];
__attribute__((noinline)) uint64_t dependence(uint64_t x) {
    for (int i = 0; i < TIMES; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}
__attribute__((noinline)) uint64_t branch(uint64_t x) {
    for (int i = 0; i < TIMES; i++) {
        if (coins[i]) { x += i; __asm__ volatile("" : "+r"(x)); } else { x ^= i; __asm__ volatile("" : "+r"(x)); }
    }
    return x;
}
__attribute__((noinline)) uint64_t far(uint64_t x) {
    for (int i = 0; i < N; i++) x = next[x * 16];
    return x;
}
__attribute__((noinline)) uint64_t fault(uint64_t x) {
    char *fresh = malloc(4096 * 2000);
    for (int i = 0; i < 2000; i++) fresh[i * 4096] = (char)i;
    x += fresh[4096];
    free(fresh);
    return x;
}
int main(void) {
    uint32_t state = 1;
    for (int i = 0; i < TIMES; i++) { state = state * 1664525u + 1013904223u; coins[i] = state >> 31; }
    // One cycle through all lines, in no order: a full period of a congruential generator.
    for (uint32_t i = 0; i < N; i++) next[i * 16] = (i * 1664525u + 1013904223u) % N;
    printf("%llu\n", (unsigned long long)(dependence(1) + branch(2) + far(3) + fault(4)));
}
"#;

fn written(directory: &Path) -> PathBuf {
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let source = directory.join("causes.c");
    std::fs::write(&source, CAUSES).expect("a source");
    source
}

fn native(source: &Path) -> PathBuf {
    let program = source.with_extension("native");
    succeed(std::process::Command::new("clang").args(["-O2", "-g"]).arg(source).arg("-o").arg(&program));
    program
}

fn report(profile: &Path) -> Value {
    let found = succeed(dmdprof().arg("report").arg(profile).args(["--format", "json"]));
    serde_json::from_slice(&found.stdout).expect("JSON")
}

/// What a function waits for most.
fn most(report: &Value, name: &str) -> String {
    let rows = report["functions"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    let causes = row["exclusive"]["cycles"]["by_cause"].as_object().expect("causes");
    causes.iter().max_by_key(|(_, cycles)| cycles.as_u64()).expect("a cause").0.clone()
}

#[test]
fn functions_wait_for_what_they_were_written_to_wait_for() {
    let directory = scratch();
    let program = native(&written(directory.path()));
    let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
    for (profile, workers) in [(&one, "1"), (&two, "3")] {
        let words = ["run", "-q", "--lines-only", CORE, "--workers", workers, "-o"];
        succeed(dmdprof().args(words).arg(profile).arg("--").arg(&program));
    }
    let bytes = |path: &Path| std::fs::read(path).expect("a profile");
    assert!(bytes(&one) == bytes(&two), "the number of workers changes nothing");
    let found = report(&one);
    for name in ["dependence", "branch", "fault"] {
        assert_eq!(most(&found, name), name);
    }
    assert_eq!(most(&found, "far"), "l3", "4 MiB are in the last level of this core");
    let branches = &found["functions"].as_array().expect("rows").iter().find(|row| row["name"] == "branch");
    let missed = branches.expect("a row")["exclusive"]["cycles"]["mispredicted"].as_u64().expect("a number");
    assert!((100_000..200_000).contains(&missed), "half of 300,000 coins are not foretold: {missed}");
    assert_eq!(found["cycles"]["unknown_instructions"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_program_with_hooks_has_the_cycles_of_its_twin() {
    let directory = scratch();
    let source = written(directory.path());
    let twin = directory.path().join("twin");
    succeed(dmdprof().args(["run", "-q", CORE, "-o"]).arg(&twin).arg("--").arg(&source));
    let found = report(&twin);
    assert_eq!(found["cycles"]["of_program_without_hooks"], true);
    // Cycles and depths are in the same rows.
    let rows = found["functions"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == "far").expect("a row");
    assert!(row["exclusive"]["read"].as_u64() > Some(0) && row["exclusive"]["cycles"]["all"].as_u64() > Some(0));
    assert_eq!(rows.iter().filter(|row| row["name"] == "far").count(), 1);
    let hooked = directory.path().join("hooked");
    succeed(dmdprof().args(["cc", "-O2", "-g"]).arg(&source).arg("-o").arg(&hooked));
    let refused = output(dmdprof().args(["run", "-q", CORE]).arg(&hooked).current_dir(directory.path()));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("--native PROGRAM"), "{said}");
    let named = directory.path().join("named");
    let mut run = dmdprof();
    run.args(["run", "-q", CORE, "--native"]).arg(native(&source)).arg("-o").arg(&named).arg("--").arg(&hooked);
    succeed(&mut run);
    assert_eq!(most(&report(&named), "branch"), "branch");
}

#[test]
fn a_recorded_run_has_the_cycles_of_the_run() {
    let directory = scratch();
    let program = native(&written(directory.path()));
    let [trace, profile, again] = ["trace", "profile", "again"].map(|name| directory.path().join(name));
    let mut run = dmdprof();
    run.args(["run", "-q", "--lines-only", CORE, "--keep-trace"]).arg(&trace).arg("-o").arg(&profile).arg(&program);
    succeed(&mut run);
    succeed(dmdprof().args(["replay", "-q", "--lines-only", CORE, "-o"]).arg(&again).arg(&trace));
    let bytes = |path: &Path| std::fs::read(path).expect("a profile");
    assert!(bytes(&profile) == bytes(&again));
}

/// `why` says of each function what it waits for, and the roofline nothing that it does not know.
#[test]
fn what_bounds_code_is_said() {
    let directory = scratch();
    let at = directory.path();
    let source = written(at);
    let profile = at.join("dmdprof.data");
    succeed(dmdprof().args(["run", "-q", CORE, "-o"]).arg(&profile).arg("--").arg(&source));
    let said = |words: &[&str]| {
        let found = succeed(dmdprof().args(words).arg("-p").arg(&profile).current_dir(at));
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    let why = said(&["why", "branch"]);
    assert!(why.contains("waits for mispredicted branches") && why.contains("moving less: bound by branches"), "{why}");
    let far = said(&["why", "far"]);
    assert!(far.contains("waits for lines from the last level") && !far.contains("nothing to gain"), "{far}");
    let json: Value = serde_json::from_str(&said(&["why", "--format", "json"])).expect("JSON");
    let rows = json["sheets"][0]["rows"].as_array().expect("rows");
    let cycles: Vec<u64> = rows.iter().map(|row| row["cycles"].as_u64().expect("a number")).collect();
    assert!(cycles.is_sorted_by(|a, b| a >= b) && cycles.len() > 4, "the most first: {cycles:?}");

    let other = said(&["roofline", "-m", "skx-6148-core", "--work", "ops"]);
    assert!(!other.contains("does not make it faster"), "{other}");
}
