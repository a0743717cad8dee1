//! The clock and the cycles that nobody asks for: where a program has a twin for nothing, what they change, and that they
//! never fail.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use dmdprof_tests::tool::{clang, dmdprof, in_time, output, require, scratch, succeed};
use serde_json::Value;

/// Most of the time is in `burn`, and most of what moves in `walk`.
const PARTS: &str = r#"
#include <stdint.h>
#include <stdlib.h>
__attribute__((noinline)) uint64_t burn(uint64_t x, int n) {
    for (int i = 0; i < n; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}
__attribute__((noinline)) uint64_t walk(const uint64_t *from, int n) {
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) sum += from[i];
    return sum;
}
"#;
const MAIN: &str = r#"
#include <stdint.h>
#include <stdlib.h>
uint64_t burn(uint64_t x, int n);
uint64_t walk(const uint64_t *from, int n);
int main(void) {
    uint64_t *table = calloc(1 << 13, 8), sum = 0;
    for (int i = 0; i < 100; i++) sum += walk(table, 1 << 13);
    sum = burn(sum, 20000000);
    free(table);
    return sum == 1;
}
"#;

/// Its second run finds what the first one left, and never ends.
const WAITS: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(void) {
    if (access("ran", F_OK) == 0) for (;;) pause();
    fclose(fopen("ran", "w"));
    return 0;
}
"#;

/// Leaves a line in a file with each run.
const LEAVES: &str = r#"
#include <stdio.h>
int main(void) {
    FILE *file = fopen("lines", "a");
    fputs("a line\n", file);
    return fclose(file);
}
"#;
const FORKS: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    if (fork() == 0) _exit(0);
    return wait(0) < 0;
}
"#;

const THREADS: &str = r#"
#include <pthread.h>
static void *add(void *number) { ++*(int *)number; return 0; }
int main(void) {
    pthread_t thread;
    int numbers[2] = {0};
    pthread_create(&thread, 0, add, numbers);
    add(numbers + 1);
    return pthread_join(thread, 0);
}
"#;

fn written(at: &Path, name: &str, text: &str) -> PathBuf {
    let path = at.join(name);
    fs::write(&path, text).expect("a source");
    path
}

/// `dmdprof` as a user has it.
fn with_clocks(words: &[&str], at: &Path) -> Command {
    let mut command = dmdprof();
    command.env_remove("DMDPROF_TWIN").args(words).current_dir(at).stdin(Stdio::null());
    command
}

fn json(words: &[&str], at: &Path) -> Value {
    let printed = succeed(dmdprof().args(words).args(["--format", "json"]).current_dir(at));
    serde_json::from_slice(&printed.stdout).expect("JSON")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The part of the time that a function takes.
fn share(report: &Value, function: &str) -> f64 {
    let row = report["functions"].as_array().expect("rows").iter().find(|row| row["name"] == function);
    row.expect("a row")["exclusive"]["clock"]["share"].as_f64().expect("a share")
}

#[test]
fn source_files_have_a_clock_and_cycles_and_else_the_same_profile() {
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let directory = scratch();
    let at = directory.path();
    written(at, "whole.c", &format!("{PARTS}{MAIN}"));
    let run = |output: &str, words: &[&str]| {
        let words = [&["run", "-q", "--flows", "--objects", "-o", output], words, &["whole.c"]].concat();
        succeed(&mut with_clocks(&words, at))
    };
    assert_eq!(said(&run("usual", &[])), "");
    run("cycles", &["--no-twin", "--cycles=zen4-9654-core"]);
    run("without", &["--no-twin"]);
    let mut unasked = with_clocks(&["run", "-q", "--flows", "--objects", "-o", "unasked", "whole.c"], at);
    succeed(unasked.env("DMDPROF_TWIN", "none"));
    for (one, other) in [("usual", "cycles"), ("without", "unasked")] {
        assert!(fs::read(at.join(one)).unwrap() == fs::read(at.join(other)).unwrap(), "{one}, {other}");
        assert!(!at.join(other).with_extension("clock").exists(), "{other}");
    }
    let report = json(&["report", "usual"], at);
    assert!(share(&report, "burn") > 0.5, "{report}");
    assert_eq!([&report["clock"], &report["cycles"]].map(|of| &of["of_program_without_hooks"] == true), [true, true]);

    // What else says where the time goes.
    let lines = json(&["annotate", "-p", "usual"], at)["sheets"][0]["rows"].as_array().expect("rows").clone();
    let shares = lines.iter().map(|row| row["clock"].as_f64().expect("a share"));
    let all: f64 = shares.clone().sum();
    assert!(all <= 1.001 && shares.fold(0.0, f64::max) > 0.4, "{lines:?}");
    let why = |profile: &str| json(&["why", "-p", profile], at)["sheets"][0]["rows"][0].clone();
    assert!(why("usual")["clock"].is_f64() && why("without").get("clock").is_none(), "{}", why("usual"));
    let told = succeed(dmdprof().args(["why", "-p", "usual"]).current_dir(at));
    assert!(String::from_utf8_lossy(&told.stdout).contains("% of the time"));
}

#[test]
fn a_program_without_hooks_has_a_clock_if_it_does_nothing_that_lasts() {
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let directory = scratch();
    let at = directory.path();
    let run = |name: &str, text: &str| {
        let source = written(at, &format!("{name}.c"), text);
        succeed(Command::new(clang(false)).args(["-O1", "-o", name]).arg(source).current_dir(at));
        said(&succeed(&mut with_clocks(&["run", "-q", "-o", &format!("{name}.dmdprof"), &format!("./{name}")], at)))
    };
    assert_eq!(run("whole", &format!("{PARTS}{MAIN}")), "");
    assert!(share(&json(&["report", "whole.dmdprof"], at), "burn") > 0.5);
    for (name, text, effect) in
        [("leaves", LEAVES, "opens files to write to them"), ("forks", FORKS, "starts processes")]
    {
        let note = run(name, text);
        assert!(note.contains("no clock: ") && note.contains(effect) && note.lines().count() == 1, "{note}");
        assert!(!at.join(format!("{name}.dmdprof.clock")).exists());
    }
    assert_eq!(fs::read_to_string(at.join("lines")).unwrap(), "a line\n");
    succeed(&mut with_clocks(&["run", "-q", "--no-twin", "-o", "alone", "./whole"], at));
    assert!(!at.join("alone.clock").exists());
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn a_clock_that_nobody_asks_for_is_a_note_where_it_fails() {
    let directory = scratch();
    let at = directory.path();
    written(at, "whole.c", &format!("{PARTS}{MAIN}"));
    let mut piped = with_clocks(&["run", "-q", "-o", "piped", "whole.c"], at);
    let noted = in_time(piped.stdin(Stdio::piped()));
    assert!(noted.status.success() && said(&noted).contains("standard input is a pipe"), "{}", said(&noted));

    written(at, "threads.c", THREADS);
    let threads = in_time(&mut with_clocks(&["run", "-q", "-o", "threads", "threads.c"], at));
    assert!(threads.status.success() && said(&threads).contains("no cycles: the program has 2 threads"));
    written(at, "qemu-x86_64", "#!/bin/sh\necho qemu-x86_64 version 3.1.0\n");
    fs::set_permissions(at.join("qemu-x86_64"), Permissions::from_mode(0o755)).expect("a program");
    let path = format!("{}:{}", at.display(), std::env::var("PATH").expect("it is set"));
    let old = in_time(with_clocks(&["run", "-q", "-o", "old", "whole.c"], at).env("PATH", path));
    assert!(old.status.success() && said(&old).contains("no cycles: ") && said(&old).contains("QEMU 3.1.0"));
    assert!(at.join("old.clock").exists());

    written(at, "waits.c", WAITS);
    let waits = in_time(&mut with_clocks(&["run", "-q", "-o", "waits", "waits.c"], at));
    assert!(waits.status.success() && said(&waits).contains("takes longer than with them"), "{}", said(&waits));
    assert!(said(&waits).lines().count() == 1 && at.join("waits").exists() && !at.join("waits.clock").exists());
    for options in [&["--roi", "walk"][..], &["--model", "values", "-o", "values"], &["--sample"], &["--discard"]] {
        let ran = in_time(&mut with_clocks(&[&["run", "-q"], options, &["whole.c"]].concat(), at));
        let is_silent = !["clock", "cycles"].iter().any(|word| said(&ran).contains(word));
        assert!(ran.status.success() && is_silent, "{options:?}: {}", said(&ran));
    }
}

#[test]
fn a_program_is_built_with_its_twin_and_knows_it() {
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let directory = scratch();
    let at = directory.path();
    written(at, "parts.c", PARTS);
    written(at, "main.c", MAIN);
    let cc = |words: &str| {
        let words: Vec<&str> = ["cc", "-O2", "-g"].into_iter().chain(words.split_whitespace()).collect();
        succeed(&mut with_clocks(&words, at))
    };
    cc("--dmdprof-twin -c parts.c -o parts.o");
    succeed(Command::new("ar").args(["rcs", "libparts.a", "parts.o"]).current_dir(at));
    assert_eq!(said(&cc("--dmdprof-twin main.c -L. -lparts -o app")), "");
    assert!(at.join("app.twin").exists());
    let twin = fs::read(at.join("app.twin")).unwrap();
    assert!(!twin.windows(9).any(|bytes| bytes == b"_reserve_"), "it has hooks");

    succeed(&mut with_clocks(&["run", "-q", "-o", "clocked", "./app"], at));
    assert!(share(&json(&["report", "clocked"], at), "burn") > 0.5);
    succeed(&mut with_clocks(&["run", "-q", "--lines-only", "--cycles", "--no-twin", "-o", "followed", "./app"], at));
    assert!(json(&["report", "followed"], at)["cycles"]["of_program_without_hooks"] == true);

    // Of another build.
    fs::write(at.join("app.twin"), [&twin[..], b"\n"].concat()).unwrap();
    let run = |option: &str| output(&mut with_clocks(&["run", "-q", option, "-o", "stale", "./app"], at));
    let refused = run("--clock");
    assert!(!refused.status.success() && said(&refused).contains("is of another build"), "{}", said(&refused));
    let noted = run("--lines-only");
    assert!(noted.status.success() && said(&noted).contains("no clock") && !at.join("stale.clock").exists());

    // What has hooks has no twin: the program is made, and a note says what is missing.
    cc("-c parts.c -o parts.o");
    let without = cc("--dmdprof-twin main.c parts.o -o app");
    assert!(said(&without).contains("app.twin is not made") && !at.join("app.twin").exists(), "{}", said(&without));
    succeed(&mut with_clocks(&["run", "-q", "-o", "alone", "./app"], at));
    assert!(!at.join("alone.clock").exists());
}
