//! Accesses that other tools have written down.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use dmdprof_tests::tool::{clang, describe, dmdprof, output, scratch, succeed, valgrind};
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
