//! Exported profiles are read by the viewers' own readers, and say what the report says.

use std::path::Path;

use dmdprof_tests::profiled::{Report, Run};
use dmdprof_tests::programs::{Compiler, bench};
use dmdprof_tests::tool::{dmdprof, require, scratch, succeed};
use std::process::Command;

fn export(directory: &Path, arguments: &[&str]) -> String {
    let output = succeed(dmdprof().current_dir(directory).arg("export").args(arguments));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Numbers of a line without their separators.
fn numbers(line: &str) -> Vec<u64> {
    line.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect()
}

fn profiled(directory: &Path) -> Report {
    let program = bench("hash").build(&Compiler::dmdprof());
    Run::new(program, directory).args(["20000"]).go().report
}

#[test]
fn other_viewers_read_exports_and_see_the_reports_numbers() {
    let directory = scratch();
    let at = directory.path();
    let report = profiled(at);
    let (cost, read) = (report.total("cost"), report.total("read"));
    callgrind_annotate_adds_up_to(at, cost, read);
    pprof_adds_up_to(at, cost);
    let folded = export(at, &["--to", "folded", "--metric", "read", "-o", "-"]);
    assert_eq!(folded.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>(), read);
    assert!(folded.lines().any(|line| line.starts_with("main;operate")), "{folded}");
}

fn callgrind_annotate_adds_up_to(at: &Path, cost: u64, read: u64) {
    export(at, &["--to", "callgrind", "--metric", "cost,read"]);
    let annotate = require("callgrind_annotate".as_ref(), "install the package valgrind");
    let output =
        succeed(Command::new(annotate).current_dir(at).args(["--threshold=100", "--auto=no", "callgrind.out.dmdprof"]));
    let text = String::from_utf8_lossy(&output.stdout);
    let totals = text.lines().find(|line| line.contains("PROGRAM TOTALS")).expect("a line of totals");
    assert_eq!(numbers(totals), [cost, read], "{totals}");
    // Functions are the lines with `file:function`; `--threshold=100` shows all of them.
    let functions = text.lines().filter(|line| line.contains("hash.c:"));
    let sum = functions.map(|line| numbers(line)[0]).sum::<u64>();
    assert_eq!(sum, cost, "{text}");
}

fn pprof_adds_up_to(at: &Path, cost: u64) {
    export(at, &["--to", "pprof"]);
    let go = require("go".as_ref(), "install the package golang-go");
    let top = |sample: &str| {
        let mut pprof = Command::new(&go);
        pprof.current_dir(at).args(["tool", "pprof", "-top", sample, "dmdprof.pb.gz"]);
        String::from_utf8_lossy(&succeed(pprof.env("HOME", at)).stdout).into_owned()
    };
    let text = top("-sample_index=cost");
    assert!(text.contains(&format!("of {cost} total")), "{text}");
    assert!(text.contains("operate"), "{text}");
    assert!(top("-sample_index=Q(32KiB)").contains("Type: Q(32KiB)"));
}

#[test]
fn what_cannot_be_exported_is_refused_with_advice() {
    let directory = scratch();
    let refused = |arguments: &[&str]| {
        let output = dmdprof().current_dir(directory.path()).arg("export").args(arguments).output().expect("it runs");
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&["--to", "folded", "--metric", "cost,read"]).contains("holds one metric"));
    assert!(refused(&["--to", "pprof", "--metric", "footprint"]).contains("not a number of single call stacks"));
    assert!(refused(&["--to", "pprof", "--metric", "Q(33KiB)"]).contains("power of two"));
    assert!(refused(&["--to", "pprof", "none.data"]).contains("none.data"));
    assert!(refused(&["--to", "svg"]).contains("possible values"));
    std::fs::write(directory.path().join("dmdprof.data"), "no profile").expect("it can be written");
    assert!(refused(&["--to", "pprof"]).contains("dmdprof.data"));
}
