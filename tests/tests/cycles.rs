//! Cycles: the same in every run, with the causes that a program was written to have, of programs without hooks and of
//! the twins of those with hooks. The clock beside them: where the time goes, however it is sampled.

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
    waits(directory.path(), &program);
}

/// Cores follow programs of other processors too.
#[test]
fn code_of_other_processors_waits_for_the_same() {
    let directory = scratch();
    let source = written(directory.path());
    for processor in ["aarch64", "riscv64"] {
        let compiler = format!("{processor}-linux-gnu-gcc");
        let compiler = require(compiler.as_ref(), &format!("install gcc-{processor}-linux-gnu and its C library"));
        let program = source.with_extension(processor);
        succeed(std::process::Command::new(compiler).args(["-O2", "-g"]).arg(&source).arg("-o").arg(&program));
        waits(directory.path(), &program);
    }
}

/// What the functions of a program wait for.
fn waits(at: &Path, program: &Path) {
    let [one, two] = ["one", "two"].map(|name| at.join(name));
    for (profile, workers) in [(&one, "1"), (&two, "3")] {
        let words = ["run", "-q", "--lines-only", CORE, "--workers", workers, "-o"];
        succeed(dmdprof().args(words).arg(profile).arg("--").arg(program));
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

/// Each function touches 8 MiB for the first time, with pages as its name says.
const PAGES: &str = r#"
#define _GNU_SOURCE
#include <sys/mman.h>
enum { BYTES = 8 << 20, HUGE = 2 << 20 };
static char *map(void) {
    return mmap(0, BYTES + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static char *first_huge(char *block) { return (char *)(((unsigned long)block + HUGE - 1) & -(unsigned long)HUGE); }
#define TOUCH(block) for (int i = 0; i < BYTES; i += 4096) ((volatile char *)(block))[i] = 1
__attribute__((noinline)) void usual(void) { char *block = map(); TOUCH(block); }
__attribute__((noinline)) void huge(void) {
    char *block = first_huge(map());
    madvise(block, BYTES, MADV_HUGEPAGE);
    TOUCH(block);
}
__attribute__((noinline)) void again(void) {
    for (int i = 0; i < 2; i++) { char *block = map(); TOUCH(block); munmap(block, BYTES + HUGE); }
}
__attribute__((noinline)) void dropped(void) {
    char *block = map();
    TOUCH(block);
    madvise(block, BYTES / 2, MADV_DONTNEED);
    TOUCH(block);
}
__attribute__((noinline)) void moved(void) {
    char *block = map();
    TOUCH(block);
    block = mremap(block, BYTES + HUGE, 2 * BYTES, MREMAP_MAYMOVE);
    TOUCH(block);
}
int main(void) { usual(); huge(); again(); dropped(); moved(); }
"#;

#[test]
fn first_touches_go_by_the_pages_that_the_system_gives() {
    let directory = scratch();
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let (source, profile) = (directory.path().join("pages.c"), directory.path().join("profile"));
    std::fs::write(&source, PAGES).expect("a source");
    let program = native(&source);
    let words = ["run", "-q", "--lines-only", CORE, "-o"];
    succeed(dmdprof().args(words).arg(&profile).arg("--").arg(program));
    let found = report(&profile);
    let faults = |name: &str| {
        let row = found["functions"].as_array().expect("rows").iter().find(|row| row["name"] == name);
        row.and_then(|row| row["exclusive"]["cycles"]["by_cause"]["fault"].as_u64()).unwrap_or_default()
    };
    // 2,048 pages of 4 KiB at 1,000 cycles; four of 2 MiB, whose 32,768 lines take ten each to write.
    let (usual, huge) = (2048 * 1000, 4 * (1000 + 32_768 * 10));
    // Beside them: pages of the stack and of the program itself.
    for (name, expected) in
        [("usual", usual), ("huge", huge), ("again", 2 * usual), ("dropped", usual * 3 / 2), ("moved", usual)]
    {
        assert!((expected..expected + 4_000).contains(&faults(name)), "{name}: {} for {expected}", faults(name));
    }
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

    // In parts, which are joined in one order and in another, with an index and without.
    let part = |number: u32| directory.path().join(format!("{number}.slice"));
    for number in 1..=3 {
        let share = format!("--part={number}/3");
        succeed(dmdprof().arg("slice").arg(&trace).args([&share, "--lines-only", CORE, "-o"]).arg(part(number)));
        succeed(dmdprof().args(["slice", "--index"]).arg(&trace));
    }
    let both = directory.path().join("both.slice");
    succeed(dmdprof().arg("merge").args([part(2), part(3)]).arg("-o").arg(&both));
    for parts in [vec![part(1), part(2), part(3)], vec![both, part(1)]] {
        succeed(dmdprof().args(["merge", "-q"]).args(parts).arg("-o").arg(&again));
        assert!(bytes(&profile) == bytes(&again));
    }
}

const THREADS: &str = r#"
#include <pthread.h>
#include <stdint.h>
static volatile uint64_t sink;
__attribute__((noinline)) uint64_t dependence(uint64_t x) {
    for (int i = 0; i < 3000000; i++) x = (x ^ x >> 29) * 6364136223846793005u;
    return x;
}
static void *work(void *number) { sink = dependence((uintptr_t)number); return 0; }
int main(int count, char **words) {
    pthread_t threads[8];
    for (uintptr_t i = 1; i < count; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 1; i < count; i++) pthread_join(threads[i], 0);
}
"#;

/// Each thread has a core of its own, whose windows are counted in its own instructions.
#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn threads_have_cores_of_their_own() {
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let directory = scratch();
    let source = directory.path().join("threads.c");
    std::fs::write(&source, THREADS).expect("a source");
    let program = native(&source);
    let profile = directory.path().join("profile");
    let cycles = |options: &[&str], threads: &[&str]| {
        let run = ["run", "-q", CORE, "-o"];
        succeed(dmdprof().args(run).arg(&profile).args(options).arg("--").arg(&program).args(threads));
        let report = report(&profile);
        let rows = report["functions"].as_array().expect("rows").clone();
        let row = rows.iter().find(|row| row["name"] == "dependence").expect("it ran");
        let causes = row["exclusive"]["cycles"]["by_cause"].as_object().expect("causes");
        causes.values().filter_map(Value::as_u64).sum::<u64>()
    };
    let one = cycles(&["--lines-only"], &["1"]);
    assert!((14_000_000..16_000_000).contains(&one), "five cycles a step: {one}");
    for options in [["--lines-only", "--workers=1"], ["--lines-only", "--workers=3"], ["--threads=shared", "--no-twin"]]
    {
        let three = cycles(&options, &["1", "2", "3"]);
        assert!(three.abs_diff(3 * one) <= 3 * one / 1000, "{three} and {one}, {options:?}");
    }
}

/// A sample is drawn of depths; a core follows all the same, whoever draws it.
#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn a_sample_has_the_cycles_of_the_whole_run() {
    let directory = scratch();
    let source = written(directory.path());
    let (program, trace) = (native(&source), directory.path().join("trace"));
    let whole = |words: &[&str], program: &Path| {
        let profile = directory.path().join("whole");
        let run = ["run", "-q", "--no-lines", CORE, "-o"];
        succeed(dmdprof().args(run).arg(&profile).args(words).arg(program));
        let total = &report(&profile)["totals"]["cycles"]["by_cause"];
        total.as_object().expect("causes").values().filter_map(Value::as_u64).sum::<u64>()
    };
    let sampled = |words: &[&str], program: &Path| {
        let run = ["--sample=1/8", CORE, "--format", "json", "-o"];
        let to = directory.path().join("sampled");
        let found = succeed(dmdprof().args(words).args(run).arg(to).arg(program));
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        let tables: Value = serde_json::from_str(&text[text.find("{\n").expect("tables")..]).expect("JSON");
        let rows = tables["sheets"][0]["rows"].as_array().expect("rows").clone();
        let of = |name: &str| rows.iter().find(|row| row["function"] == name).expect("a row").clone();
        assert!(of("branch")["bound"].as_str().is_some_and(|bound| bound.starts_with("branch ")), "{text}");
        of("total")["cycles"].as_u64()
    };
    assert_eq!(sampled(&["run"], &source), Some(whole(&[], &source)), "the twin's");
    let emulated = whole(&["--keep-trace", &trace.display().to_string()], &program);
    assert_eq!(sampled(&["run"], &program), Some(emulated), "the program's own");
    assert_eq!(sampled(&["replay"], &trace), Some(emulated), "of the recording");
    let refused = output(dmdprof().args(["run", "--budget", "4x"]).arg(&program));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("--sample=1/N"),
        "an emulated program looks at everything"
    );
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
    let why = said(&["why", "branch", "--full-names"]);
    assert!(why.contains("waits for mispredicted branches") && why.contains("moving less: bound by branches"), "{why}");
    let far = said(&["why", "far", "--full-names"]);
    assert!(far.contains("waits for lines from the last level") && !far.contains("nothing to gain"), "{far}");
    let json: Value = serde_json::from_str(&said(&["why", "--format", "json"])).expect("JSON");
    let sheets = json["sheets"].as_array().expect("sheets");
    let bounds = sheets.iter().find(|sheet| sheet["name"] == "bounds").expect("what bounds lines");
    let rows = bounds["rows"].as_array().expect("rows");
    let cycles: Vec<u64> = rows.iter().map(|row| row["cycles"].as_u64().expect("a number")).collect();
    assert!(cycles.is_sorted_by(|a, b| a >= b) && cycles.len() > 4, "the most first: {cycles:?}");

    let other = said(&["roofline", "-m", "skx-6148-core", "--work", "ops"]);
    assert!(!other.contains("does not make it faster"), "{other}");
}

/// One function takes the time and moves nothing, another moves and takes hardly any. It ends otherwise from the second
/// run on.
const BURNER: &str = r#"
#include <stdio.h>
#include <string.h>
enum { N = 1 << 20 };
static char from[N], to[N];
__attribute__((noinline)) unsigned long burn(unsigned long x) {
    for (int i = 0; i < 40000000; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}
__attribute__((noinline)) unsigned long move(unsigned long x) {
    for (int i = 0; i < N; i++) to[i] = from[i] + (char)x;
    return x + (unsigned long)to[N / 2];
}
int main(int count, char **words) {
    printf("%lu\n", burn(move(1)));
    FILE *again = count > 1 ? fopen(words[1], "r") : NULL;
    if (count > 1 && !again) fclose(fopen(words[1], "w"));
    return again ? 3 : 0;
}
"#;

fn burner(directory: &Path) -> PathBuf {
    let source = directory.join("burner.c");
    std::fs::write(&source, BURNER).expect("a source");
    source
}

/// The function with most samples, and its part of all.
fn first(report: &Value) -> (&str, f64) {
    let rows = report["functions"].as_array().expect("rows").iter();
    let share = |row: &Value| row["exclusive"]["clock"]["share"].as_f64().expect("a share");
    let row = rows.max_by(|a, b| share(a).total_cmp(&share(b))).expect("a row");
    (row["name"].as_str().expect("a name"), share(row))
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn the_clock_says_where_time_goes_and_changes_no_profile() {
    let directory = scratch();
    let source = burner(directory.path());
    let [plain, usual, timer] = ["plain", "usual", "timer"].map(|name| directory.path().join(name));
    succeed(dmdprof().args(["run", "-q", "-o"]).arg(&plain).arg("--").arg(&source));
    succeed(dmdprof().args(["run", "-q", "--clock", "-o"]).arg(&usual).arg("--").arg(&source));
    let mut run = dmdprof();
    run.env("DMDPROF_CLOCK_BY", "timer").args(["run", "-q", "--clock", "-o"]).arg(&timer).arg("--").arg(&source);
    succeed(&mut run);
    let bytes = |path: &Path| std::fs::read(path).expect("a profile");
    assert!(bytes(&plain) == bytes(&usual) && bytes(&plain) == bytes(&timer));
    for (profile, by) in [(&usual, None), (&timer, Some("timer"))] {
        let found = report(profile);
        let (name, share) = first(&found);
        assert!(name == "burn" && share > 0.5, "{name} {share}");
        let clock = &found["clock"];
        assert!(by.is_none_or(|by| clock["sampled_by"] == by), "{clock}");
        assert!(clock["runs"].as_u64() > Some(0) && clock["of_program_without_hooks"] == true, "{clock}");
        let all: u64 = samples(&found).iter().sum();
        assert_eq!(clock["samples"].as_u64(), Some(all), "none is outside of all rows");
    }
    let shown = succeed(dmdprof().arg("report").arg(&usual).args(["--width", "80"]));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("Lines and clock disagree about") && shown.lines().count() < 24, "{shown}");

    // Beside another profile it does not count; what replaces a profile takes no clock from it.
    std::fs::copy(&usual, &plain).expect("copied");
    assert_eq!(report(&plain)["clock"], Value::Null, "no file beside it");
    succeed(dmdprof().args(["run", "-q", "--no-lines", "-o"]).arg(&plain).arg("--").arg(&source));
    std::fs::copy(usual.with_extension("clock"), plain.with_extension("clock")).expect("copied");
    assert_eq!(report(&plain)["clock"], Value::Null, "another profile's");
    succeed(dmdprof().args(["run", "-q", "-o"]).arg(&usual).arg("--").arg(&source));
    assert_eq!(report(&usual)["clock"], Value::Null);
    assert_eq!(first(&report(&usual.with_extension("old"))).0, "burn", "it goes where the profile goes");
}

fn samples(report: &Value) -> Vec<u64> {
    let rows = report["functions"].as_array().expect("rows").iter();
    rows.map(|row| row["exclusive"]["clock"]["samples"].as_u64().expect("a number")).collect()
}

#[test]
fn a_program_without_hooks_is_its_own_twin_and_one_with_hooks_needs_one() {
    let directory = scratch();
    let at = directory.path();
    let source = burner(at);
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let (program, profile) = (native(&source), at.join("own"));
    let mut run = dmdprof();
    run.args(["run", "-q", "--lines-only", "--clock", "-o"]).arg(&profile).arg("--").arg(&program).arg(at.join("ran"));
    succeed(&mut run);
    let found = report(&profile);
    assert_eq!((first(&found).0, &found["clock"]["of_program_without_hooks"]), ("burn", &Value::Bool(false)));
    let table = succeed(dmdprof().arg("report").arg(&profile));
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("it exited with 3, the counted run exited with 0"), "{table}");

    let hooked = at.join("hooked");
    succeed(dmdprof().args(["cc", "-O2", "-g"]).arg(&source).arg("-o").arg(&hooked));
    for (words, why) in [
        (&["--clock"][..], "--native PROGRAM"),
        (&["--clock", "--sample"], "cannot be used with"),
        (&["--clock", "--roi", "burn"], "leave --roi out"),
        (&["--clock", "--model", "values"], "values model"),
        (&["--native", "x"], "--native names the program"),
    ] {
        let refused = output(dmdprof().arg("run").args(words).arg("--").arg(&hooked).current_dir(at));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(why), "{words:?}: {said}");
    }
    let named = at.join("named");
    let mut run = dmdprof();
    run.args(["run", "-q", "--clock", "--native"]).arg(&program).arg("-o").arg(&named).arg("--").arg(&hooked);
    succeed(&mut run);
    assert_eq!(first(&report(&named)).0, "burn");
}
