//! Accesses that other tools have written down, and those of traces as such a text.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use dmdprof_tests::programs::{case, cpp, truth};
use dmdprof_tests::tool::{clang, describe, dmdprof, output, require, scratch, succeed, valgrind};
use serde_json::Value;

fn import(directory: &Path, arguments: &[&str], text: &[u8]) -> Output {
    let mut command = dmdprof();
    command.arg("import").args(arguments).current_dir(directory);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    // It may refuse the text before all of it is read.
    let _ = child.stdin.take().expect("a pipe").write_all(text);
    child.wait_with_output().expect("its output")
}

fn replayed(directory: &Path, options: &[&str]) -> Value {
    succeed(dmdprof().args(["replay", "--quiet"]).args(options).current_dir(directory));
    let report = succeed(dmdprof().args(["report", "--format", "json"]).current_dir(directory));
    serde_json::from_slice(&report.stdout).expect("JSON")
}

fn analysed(text: &str) -> Value {
    let directory = scratch();
    let found = import(directory.path(), &[], text.as_bytes());
    assert!(found.status.success(), "{}", describe(&found));
    replayed(directory.path(), &[])
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("{name} in {of}"))
}

/// By hand: a, b and c are written; a is read at depth 3 (cost 2), again at 1, c at 2 (cost 2), then c at 1 and, in the
/// same access, d, which nothing has touched: below the three others, at 4 (cost 2).
#[test]
fn depths_are_those_of_the_text() {
    let text = "W 0x10 1 # a\nW 17 1\nW 18 1\nR 16 1\nR 0x10 1 - 0\nR 18 1\nR 18 2\n";
    let report = analysed(text);
    let totals = &report["totals"];
    assert_eq!((number(totals, "accesses"), number(totals, "read"), number(totals, "written")), (7, 5, 3));
    assert_eq!(number(totals, "cost"), 2 + 1 + 2 + 1 + 2);
    assert_eq!(number(totals, "cold"), 1);
    let both = analysed(&text.replace("R 16 1", "M 16 1"));
    assert_eq!((number(&both["totals"], "cost"), number(&both["totals"], "written")), (8, 4));
}

/// Cost of eight bytes that were touched last: at depths 8 to 1.
const EIGHT: u64 = 3 + 3 + 3 + 3 + 2 + 2 + 2 + 1;

#[test]
fn threads_have_stacks_of_their_own_and_instructions_rows() {
    let report = analysed("W 16 8 0x400 1\nW 32 8 0x404 2\nR 16 8 0x408 1\nR 32 8 0x40c 2\nR 32 8 0x40c 2\n");
    assert_eq!(number(&report["totals"], "cost"), 3 * EIGHT);
    let names: Vec<&str> =
        report["functions"].as_array().expect("rows").iter().filter_map(|f| f["name"].as_str()).collect();
    for name in ["0x408", "0x40c"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn packed_texts_are_unpacked() {
    let directory = scratch();
    let text = "W 16 8\nR 16 8\n".repeat(1000);
    let place = directory.path();
    fs::write(place.join("a.txt"), &text).expect("written");
    succeed(Command::new("gzip").arg("--keep").arg(place.join("a.txt")));
    let mut found = Vec::new();
    for file in ["a.txt", "a.txt.gz"] {
        let imported = import(place, &[file, "-o", "dmdprof.trace"], b"");
        assert!(imported.status.success(), "{}", describe(&imported));
        assert!(String::from_utf8_lossy(&imported.stderr).contains("2,000 accesses of 1 thread"));
        found.push(number(&replayed(place, &[])["totals"], "cost"));
    }
    assert_eq!(found, [EIGHT * 1000, EIGHT * 1000]);
}

#[test]
fn what_is_no_access_is_named_by_its_line_and_leaves_no_trace() {
    for (text, expected) in [
        ("R 16 8\nR 16 0\n", "standard input:2: an access of 0 bytes; from 1 to 4096 can be taken"),
        ("\nR 16 8\nR 16 4097\n", "standard input:3: an access of 4097 bytes"),
        ("R 0x1000000000000 8\n", "standard input:1: the access of 8 bytes at 0x1000000000000 ends above 2^48"),
        ("R 16 8 0x1 one\n", "standard input:1: the thread is no number: \"one\""),
        ("hello world\n", "standard input:1: expected R, W or M"),
        ("# nothing\n", "standard input: there is no access in it"),
        (&format!("R 16 8 # {}\n", "x".repeat(5000)), "standard input:1: a line of 4096 bytes or more"),
    ] {
        let directory = scratch();
        let found = import(directory.path(), &[], text.as_bytes());
        assert_eq!(found.status.code(), Some(1), "{text}: {}", describe(&found));
        assert!(String::from_utf8_lossy(&found.stderr).contains(expected), "{text}: {}", describe(&found));
        assert!(!directory.path().join("dmdprof.trace").exists(), "{text}");
    }
    let directory = scratch();
    for (arguments, expected) in [
        (&["missing.txt"][..], "cannot read missing.txt"),
        (&["--program", "missing"], "missing: there is no such file"),
        (&["--program", "/bin/sh@12"], "after @ comes a hexadecimal address"),
    ] {
        let found = import(directory.path(), arguments, b"");
        assert!(
            !found.status.success() && String::from_utf8_lossy(&found.stderr).contains(expected),
            "{}",
            describe(&found)
        );
    }
}

const KERNEL: &str = r#"static volatile long data[1000], sum;
__attribute__((noinline)) void kernel(void) {
    for (int i = 0; i < 1000; i++)
        sum += data[i];
}
int main(void) {
    for (int i = 0; i < 1000; i++)
        data[i] = i;
    kernel();
    return 0;
}
"#;

/// A kernel's accesses are those that hooks see, and the read of its return address.
#[test]
fn lackey_sees_what_hooks_see() {
    let directory = scratch();
    let place = directory.path();
    fs::write(place.join("kernel.c"), KERNEL).expect("written");
    succeed(Command::new(clang(false)).args(["-O1", "-g", "-no-pie", "kernel.c", "-o", "plain"]).current_dir(place));
    let mut lackey = Command::new(valgrind());
    let traced = output(lackey.args(["--tool=lackey", "--trace-mem=yes", "./plain"]).current_dir(place));
    let imported = import(place, &["--program", &place.join("plain").display().to_string()], &traced.stderr);
    assert!(imported.status.success(), "{}", describe(&imported));
    let kernel = |report: &Value| {
        let rows = report["functions"].as_array().expect("rows");
        rows.iter().find(|row| row["name"] == "kernel").unwrap_or_else(|| panic!("{report}")).clone()
    };
    let of_lackey = kernel(&replayed(place, &[]));
    succeed(dmdprof().args(["run", "-q", "-O1", "kernel.c"]).current_dir(place));
    let report = succeed(dmdprof().args(["report", "--format", "json"]).current_dir(place));
    let of_hooks = kernel(&serde_json::from_slice(&report.stdout).expect("JSON"));
    let numbers = |row: &Value| ["accesses", "read", "written"].map(|name| number(&row["exclusive"], name));
    let [accesses, read, written] = numbers(&of_hooks);
    assert_eq!(numbers(&of_lackey), [accesses + 1, read + 8, written]);
    assert!(of_lackey["file"].as_str().is_some_and(|file| file.ends_with("kernel.c")), "{of_lackey}");
}

/// What `dmdprof export --to accesses` prints of a trace, and what it says.
fn exported(directory: &Path, options: &[&str]) -> (String, String) {
    let mut command = dmdprof();
    command.args(["export", "--to", "accesses", "-o", "-"]).args(options).current_dir(directory);
    let done = succeed(&mut command);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(done.stdout), text(done.stderr))
}

#[test]
fn what_was_imported_is_exported() {
    let directory = scratch();
    let place = directory.path();
    let text = "W 0x10 8 0x401136 0\nM 0x10 4 - 1\nR 0xfffffffff000 4096 0x401136 0\nR 0x10 1 - 1\n";
    assert!(import(place, &[], text.as_bytes()).status.success());
    let (whole, said) = exported(place, &[]);
    // Of each thread in order, one thread after the other; what reads and writes is both.
    let lines: Vec<&str> = text.lines().collect();
    let by_thread = [lines[0], lines[2], "R 0x10 4 - 1", "W 0x10 4 - 1", lines[3]];
    assert_eq!(whole.lines().collect::<Vec<_>>(), by_thread);
    assert_eq!(said, "", "nothing is left out");
    for (window, range) in [("2..3", 1..3), ("5..", 4..5), ("..1", 0..1), ("3..99", 2..5)] {
        let (part, _) = exported(place, &["--window", window]);
        assert_eq!(part.lines().collect::<Vec<_>>(), by_thread[range], "{window}");
    }
    for file in ["a.txt", "a.txt.gz", "a.txt.zst"] {
        let done = succeed(dmdprof().args(["export", "--to", "accesses", "-o", file]).current_dir(place));
        assert_eq!(String::from_utf8_lossy(&done.stderr), format!("dmdprof: wrote 5 accesses to {file}\n"));
        let found = import(place, &[file, "-o", "again.trace"], b"");
        assert!(found.status.success(), "{file}: {}", describe(&found));
        assert_eq!(exported(place, &["again.trace"]).0, whole, "{file}");
    }
    let packed = fs::read(place.join("a.txt.gz")).expect("a file");
    assert!(packed.starts_with(&[0x1f, 0x8b]), "packed");
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let directory = scratch();
    let place = directory.path();
    assert!(import(place, &[], b"R 16 8\n").status.success());
    replayed(place, &[]);
    for (arguments, expected) in [
        (&["--to", "accesses", "dmdprof.data"][..], "dmdprof.data is no trace; --to accesses takes one"),
        (&["--to", "accesses", "missing"], "cannot open trace missing; make one with `dmdprof record"),
        (&["--to", "accesses", "--window", "2.."], "dmdprof.trace: it has 1 access only"),
        (&["--to", "accesses", "--window", "2..1"], "must be FIRST..LAST"),
        (&["--to", "accesses", "--metric", "read"], "--metric, --library and --no-inline are about profiles"),
        (&["--to", "csv", "--window", "1..2"], "--window is about the accesses of a trace"),
    ] {
        let found = output(dmdprof().arg("export").args(arguments).current_dir(place));
        let said = String::from_utf8_lossy(&found.stderr);
        assert!(!found.status.success() && said.contains(expected), "{arguments:?}: {}", describe(&found));
        assert!(!place.join("dmdprof.accesses.zst").exists(), "{arguments:?} leaves no file");
    }
}

/// Numbers of the program, and of each thread: all that no life of memory, no call and no operation is in.
fn numbers(directory: &Path, trace: &str) -> (Value, Value, Vec<String>) {
    let options = ["replay", "--quiet", "--liveness", "none", "--line-size", "64", trace];
    succeed(dmdprof().args(options).current_dir(directory));
    let report = succeed(dmdprof().args(["report", "--format", "json", "--by-thread"]).current_dir(directory));
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let mut totals = report["totals"].clone();
    // A copy by a library is one access here, and one per block in the numbers of threads.
    for field in ["accesses", "flops", "flops_per_read", "ops"] {
        totals.as_object_mut().expect("an object").remove(field);
    }
    for moved in totals["moved"].as_array_mut().expect("sizes of memories") {
        // How a piece of code goes through lines: by calling context, which a text does not tell.
        moved.as_object_mut().expect("an object").retain(|name, _| !["in_order", "at_step"].contains(&name.as_str()));
    }
    let thread = |thread: &Value| {
        let mut numbers = thread.clone();
        numbers.as_object_mut().expect("an object").remove("function");
        numbers.to_string()
    };
    let mut threads: Vec<String> = report["threads"].as_array().expect("threads").iter().map(thread).collect();
    threads.sort();
    (totals, report["depth"].clone(), threads)
}

/// Hooks, an emulator; loops of one record, copies, lanes of vectors, several threads.
#[test]
fn what_is_exported_and_imported_has_the_same_numbers() {
    let directory = scratch();
    let place = directory.path();
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    fs::write(place.join("text"), "to be or not to be ".repeat(50)).expect("written");
    let mut programs: Vec<Vec<String>> = [truth("strings.c"), case("loops"), cpp("threads")]
        .map(|program| vec![program.hooked().display().to_string()])
        .into();
    programs.push(["gzip", "-k", "-c", "text"].map(str::to_owned).into());
    for words in programs {
        succeed(dmdprof().args(["record", "-o", "a.trace"]).args(&words).current_dir(place));
        let (text, _) = exported(place, &["a.trace"]);
        let has_instructions = text.lines().all(|line| line.split(' ').nth(3) != Some("-"));
        assert_eq!(has_instructions, words.len() > 1, "{words:?}: of an emulated program they are known");
        let found = import(place, &["-o", "b.trace"], text.as_bytes());
        assert!(found.status.success(), "{words:?}: {}", describe(&found));
        let (ours, theirs) = (numbers(place, "a.trace"), numbers(place, "b.trace"));
        assert!(ours == theirs, "{words:?}: {} and {}; {:?} and {:?}", ours.0, theirs.0, ours.2, theirs.2);
    }
    let (_, said) = exported(place, &["a.trace"]);
    assert!(said.contains("left out, as lines are of accesses only: ") && said.contains("ends of memory"), "{said}");
}
