//! SIMD and assembly by hand: each function's bytes are those of the equal scalar loop, in C and in Rust, in both
//! models.
//!
//! AVX2 must be there. What needs AVX-512 is run where the processor has it; what the instrumentation makes of it is
//! tested in `instrument/tests` on every machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use dmdprof_tests::profiled::{Profiled, Report, Run};
use dmdprof_tests::programs::{Compiler, Program};
use dmdprof_tests::tool::{describe, dmdprof, in_tests, output, scratch, succeed};
use serde_json::Value;

const N: u64 = 1024;

fn source(name: &str) -> PathBuf {
    in_tests("simd").join(name)
}

/// The argument with which programs use AVX-512, if they can.
fn wide() -> Option<&'static str> {
    assert!(std::arch::is_x86_feature_detected!("avx2"), "this machine has no AVX2, which these tests need");
    let has = ["avx512f", "avx512bw", "avx512vl"].map(|feature| match feature {
        "avx512f" => std::arch::is_x86_feature_detected!("avx512f"),
        "avx512bw" => std::arch::is_x86_feature_detected!("avx512bw"),
        _ => std::arch::is_x86_feature_detected!("avx512vl"),
    });
    let has = has.into_iter().all(|one| one);
    if !has {
        eprintln!("THIS MACHINE HAS NO AVX-512: its accesses are not run, their descriptors alone are tested");
    }
    has.then_some("wide")
}

fn moves(report: &Report, function: &str) -> (u64, u64) {
    let found = report.function(function);
    (found.exclusive("read"), found.exclusive("written"))
}

fn check_bytes(report: &Report, expected: &[(&str, u64, u64)], compiler: &str) {
    for &(function, read, written) in expected {
        assert_eq!(moves(report, function), (read, written), "{compiler}: {function}: read and written");
    }
}

fn unseen(report: &Report) -> Vec<(String, u64)> {
    let calls = report.0["coverage"]["unseen_calls"].as_array().expect("a list");
    let one = |call: &Value| Some((call["name"].as_str()?.to_owned(), call["count"].as_u64()?));
    calls.iter().map(|call| one(call).expect("a name and a count")).collect()
}

fn is_instruction(name: &str) -> bool {
    name.starts_with("llvm.") || name.starts_with("inline assembly")
}

fn assert_all_is_counted(profiled: &Profiled) {
    let missed: Vec<_> = unseen(&profiled.report).into_iter().filter(|(name, _)| is_instruction(name)).collect();
    assert_eq!(missed, [], "all accesses are understood");
}

/// Compilers of this machine besides the one that is tested anyway.
fn clangs() -> Vec<Option<&'static str>> {
    let there = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let others = ["clang-14", "clang-16", "clang-19"];
    std::iter::once(None).chain(others.iter().filter(there).map(|name| Some(*name))).collect()
}

fn built(source: &Path, clang: Option<&str>, directory: &Path) -> PathBuf {
    let program = directory.join("program");
    let mut command = dmdprof();
    if let Some(clang) = clang {
        command.env("DMDPROF_CLANG", clang);
    }
    succeed(command.args(["cc", "-O2", "-g", "-w", "-fno-inline"]).arg(source).arg("-o").arg(&program));
    program
}

#[test]
fn bytes_of_c_are_those_of_scalar_loops_with_every_clang() {
    let wide = wide();
    let narrow = [
        ("gather", 8 * N, 32),
        ("gather_half", 12 * N, 4 * N),
        ("masked", 6 * N, 2 * N),
        ("unaligned", 4 * N, 16),
        ("streamed", 4 * N, 16),
        ("moved", 8 * N, 2 * N),
    ];
    let avx512 = [
        ("scattered", 10 * N, 2 * N),
        ("scattered_wide", 16 * N, 8 * N),
        ("compressed", 8 * N, 2 * N),
        ("expanded", 6 * N, 4 * N),
        ("narrowed", 8 * N, N / 2),
    ];
    let native = Program::from_source(source("simd.c")).build(&Compiler::native());
    let native = succeed(Command::new(native).args(wide));
    for clang in clangs() {
        let directory = scratch();
        let program = built(&source("simd.c"), clang, directory.path());
        let name = clang.unwrap_or("clang");
        let alone = succeed(Command::new(&program).args(wide));
        assert_eq!(alone.stdout, native.stdout, "{name}: hooks without dmdprof");
        let profiled = Run::new(&program, directory.path()).args(wide).go();
        assert_eq!(profiled.output.stdout, native.stdout, "{name}: {}", describe(&profiled.output));
        profiled.report.assert_consistent();
        check_bytes(&profiled.report, &narrow, name);
        if wide.is_some() {
            check_bytes(&profiled.report, &avx512, name);
        }
        assert_all_is_counted(&profiled);
        let [lanes, by_hand] = ["picked", "picked_by_hand"].map(|name| profiled.report.function(name));
        assert_eq!(lanes.exclusive("read"), 32, "{name}");
        assert_eq!(lanes.exclusive("cost"), by_hand.exclusive("cost"), "{name}");
        assert_eq!(lanes.histogram(), by_hand.histogram(), "{name}: the same bytes at the same depths");
    }
}

#[test]
fn bytes_of_rust_are_those_of_scalar_loops() {
    let wide = wide();
    let directory = scratch();
    let profiled = Run::new(source("simd.rs"), directory.path()).args(wide).go();
    assert!(profiled.output.status.success(), "{}", describe(&profiled.output));
    let plain = directory.path().join("plain");
    succeed(Command::new("rustc").args(["-O", "--edition=2024"]).arg(source("simd.rs")).arg("-o").arg(&plain));
    assert_eq!(profiled.output.stdout, succeed(Command::new(plain).args(wide)).stdout);
    let expected = [("gather", 8 * N, 32), ("masked", 6 * N, 2 * N), ("unaligned", 4 * N, 16), ("moved", 8 * N, 2 * N)];
    check_bytes(&profiled.report, &expected, "rustc");
    if wide.is_some() {
        check_bytes(&profiled.report, &[("scattered", 10 * N, 2 * N), ("compressed", 8 * N, 2 * N)], "rustc");
    }
    let own: Vec<_> = unseen(&profiled.report).into_iter().filter(|(name, _)| name.starts_with("llvm.")).collect();
    assert_eq!(own, [], "all accesses are understood");
}

#[test]
fn values_in_lanes_keep_their_identities() {
    let wide = wide();
    let directory = scratch();
    let run = Run::new(source("values.c"), directory.path()).options(["--model", "values"]).args(wide);
    let profiled = run.go();
    assert!(profiled.output.status.success(), "{}", describe(&profiled.output));
    let regions = profiled.report.0["regions"].as_array().expect("regions");
    let of = |name: &str| {
        let region = regions.iter().find(|r| r["name"] == name).unwrap_or_else(|| panic!("no region {name}"));
        ["cost", "reads", "escapes", "instructions", "input_bytes"].map(|field| region[field].as_u64())
    };
    let names: &[&str] = if wide.is_some() { &["gather", "masked", "spread", "packed"] } else { &["gather", "masked"] };
    for name in names {
        assert_eq!(of(name), of(&format!("{name} by hand")), "{name}: cost, reads, escapes, instructions, input bytes");
    }
    assert_eq!(of("gather")[1], Some(3 * 16), "an index and two operands each");
    assert_all_is_counted(&profiled);
}

#[test]
fn assembly_is_counted_by_its_operands_or_named() {
    let directory = scratch();
    let profiled = Run::new(Program::from_source(source("assembly.c")).hooked(), directory.path()).go();
    assert!(profiled.output.status.success(), "{}", describe(&profiled.output));
    let n = 100;
    let expected = [
        ("loads", 8 * n, 0),
        ("stores", 0, 4 * n),
        ("updates", 4 * n, 4 * n),
        ("declared", 24 * n, 0),
        ("barriers", 8 * n, 0),
        ("hidden", 0, 0),
    ];
    check_bytes(&profiled.report, &expected, "clang");
    let named = [("inline assembly in hidden".to_owned(), n), ("inline assembly in hidden_number".to_owned(), 1)];
    assert_eq!(unseen(&profiled.report), named);
    let warning = "warning: hidden: accesses of inline assembly are not counted (100 executions)";
    let stderr = String::from_utf8_lossy(&profiled.output.stderr).into_owned();
    assert!(stderr.contains(warning), "also with --quiet: {stderr}");
    let table = succeed(dmdprof().args(["report", "--coverage"]).arg(&profiled.profile));
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("hidden: accesses of inline assembly are not counted (100 executions)"), "{table}");
    assert!(table.contains("inline assembly in hidden 100"), "{table}");
}

/// A gate and a comparison of variants that rest on numbers without some accesses say so.
#[test]
fn check_and_rank_warn_of_what_is_not_counted() {
    let directory = scratch();
    let program = built(&source("assembly.c"), None, directory.path());
    let baseline = ["check", "--save-baseline", "case", "--"];
    let check = output(dmdprof().current_dir(directory.path()).args(baseline).arg(&program));
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(said.contains("warning: case: hidden: accesses of inline assembly are not counted"), "{said}");
    let other = directory.path().join("other");
    std::fs::copy(&program, &other).expect("a copy");
    let rank = output(dmdprof().current_dir(directory.path()).args(["rank", "--no-cache"]).args([&program, &other]));
    let (out, said) = (String::from_utf8_lossy(&rank.stdout), String::from_utf8_lossy(&rank.stderr));
    assert!(said.contains("hidden: accesses of inline assembly are not counted"), "{said}");
    assert!(out.contains("hidden: accesses of inline assembly are not counted"), "{out}");
}
