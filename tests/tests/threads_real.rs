//! Real programs with threads that share a stack: the output of the native build, nothing lost, and two runs that are
//! the same, or a report that says why they may not be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dmdprof_tests::cargo::{hooked, plain};
use dmdprof_tests::profiled::{Report, Run};
use dmdprof_tests::programs::{self, Compiler, Program};
use dmdprof_tests::tool::{assert_same, describe, dmdprof, output, scratch, succeed};

const SHARED: [&str; 3] = ["--threads", "shared", "--sharing"];

/// What two runs have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// Every bit: work is assigned statically.
    Same,
    /// Who takes which work is the machine's choice.
    Differ,
}

/// Numbers of a report that say why two runs may differ.
fn reasons(report: &Report) -> [u64; 4] {
    ["contended", "by_run", "unmet", "unseen_starts"].map(|name| {
        report.0["sharing"]["undefined"][name].as_u64().unwrap_or_else(|| panic!("{name} is not in the report"))
    })
}

fn check_profile(path: &Path, runs: Runs) -> Report {
    let report = Report::read(path);
    report.assert_consistent();
    assert!(report.complete());
    let [_, by_run, unmet, unseen] = reasons(&report);
    assert_eq!([unmet, unseen], [0, 0], "the model follows all of it");
    let table = succeed(dmdprof().arg("report").arg(path));
    let said = String::from_utf8_lossy(&table.stdout).into_owned();
    match runs {
        Runs::Same => {
            assert_eq!(by_run, 0);
            assert!(said.contains("their order is the model's alone"), "{said}");
        }
        Runs::Differ => assert!(said.contains("another run may"), "{said}"),
    }
    let tables = succeed(dmdprof().args(["report", "--sharing"]).arg(path));
    assert!(!tables.stdout.is_empty());
    report
}

/// Two runs of a program in C with these arguments; gives the report of the last.
fn check(program: &Program, args: &[&str], runs: Runs) -> Report {
    let directory = scratch();
    let native = output(Command::new(program.build(&Compiler::unoptimised())).args(args).current_dir(directory.path()));
    assert!(native.status.success() && !native.stdout.is_empty(), "{}", describe(&native));
    let built = program.hooked();
    let profile = |name: &str| {
        let path = directory.path().join(name);
        let run = Run::new(&built, directory.path()).options(SHARED).args(args).profile(path.clone()).go();
        assert_same("stdout", &native.stdout, &run.output.stdout);
        assert_eq!(native.status, run.output.status, "{}", describe(&run.output));
        path
    };
    compared(&profile("first.data"), &profile("second.data"), runs)
}

/// The same of a program of the Cargo projects.
fn check_cargo(binary: &str) -> Report {
    let words = ["run", "--release", "--quiet", "--package", "parallel", "--bin", binary];
    let native = output(&mut plain(&words));
    assert!(native.status.success() && !native.stdout.is_empty(), "{}", describe(&native));
    let directory = scratch();
    let profile = |name: &str| -> PathBuf {
        let run = output(&mut hooked(directory.path(), &[&["-q"], &SHARED[..]].concat(), &words));
        assert_same("stdout", &native.stdout, &run.stdout);
        assert_eq!(native.status, run.status, "{}", describe(&run));
        let path = directory.path().join(name);
        fs::rename(directory.path().join("dmdprof.data"), &path).expect("a profile");
        path
    };
    compared(&profile("first.data"), &profile("second.data"), Runs::Differ)
}

/// Both profiles hold together, and `dmdprof diff` compares them.
fn compared(first: &Path, second: &Path, runs: Runs) -> Report {
    check_profile(first, runs);
    let report = check_profile(second, runs);
    if runs == Runs::Same {
        let bytes = |path: &Path| fs::read(path).expect("a profile");
        assert_same("second run", &bytes(first), &bytes(second));
    }
    succeed(dmdprof().arg("diff").args([first, second]));
    report
}

#[test]
fn openmp_stencil() {
    let report = check(&programs::openmp("omp_stencil"), &[], Runs::Same);
    assert_eq!(report.0["sharing"]["met"]["threads"].as_array().map(Vec::len), Some(4));
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn rayon_sort() {
    assert!(reasons(&check_cargo("sort"))[1] > 0);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn tasks_of_tokio_on_several_threads() {
    assert!(reasons(&check_cargo("tasks"))[1] > 0);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn zlib_on_threads() {
    let zlib = programs::zlib();
    check(&zlib, &["150000", "static"], Runs::Same);
    let report = check(&zlib, &["150000", "queue"], Runs::Differ);
    let [contended, by_run, ..] = reasons(&report);
    assert!(contended + by_run > 0);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn sqlite_with_several_connections() {
    let report = check(&programs::sqlite(), &["sqlite.db", "800", "threads"], Runs::Differ);
    assert!(reasons(&report)[0] > 0, "the allocator has a lock");
}
