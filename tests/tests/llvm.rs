//! The distribution's libLLVMs: the same program gives the same numbers with each of them as with the newest that is
//! there.
//!
//! `apt install clang` brings a libLLVM of clang's version, and nothing more is needed for C and C++. Every libLLVM of
//! this machine that reads clang's bitcode is tried, however many there are; that of clang must be among them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use dmdprof_tests::tool::{cases, clang, dmdprof, in_tests, repository, scratch, succeed};
use serde_json::Value;

/// What Debian calls them; a link by another name is the same library.
fn libraries() -> Vec<(u32, PathBuf)> {
    let directory = Path::new("/usr/lib/x86_64-linux-gnu");
    let files = std::fs::read_dir(directory).expect("Debian's and Ubuntu's libraries lie there").flatten();
    let major = |name: &str| {
        let rest = name.strip_prefix("libLLVM-").or_else(|| name.strip_prefix("libLLVM.so."))?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
    };
    let mut found: Vec<(u32, PathBuf)> =
        files.filter_map(|file| Some((major(file.file_name().to_str()?)?, file.path()))).collect();
    found.sort();
    found.dedup_by_key(|(major, _)| *major);
    found
}

fn clang_major() -> u32 {
    let mut ask = Command::new(clang(false));
    let macros = succeed(ask.args(["-dM", "-E", "-x", "c", "/dev/null"]));
    let macros = String::from_utf8(macros.stdout).expect("macros are text");
    let line = macros.lines().find_map(|line| line.strip_prefix("#define __clang_major__ "));
    line.and_then(|number| number.trim().parse().ok()).expect("clang tells its version")
}

/// Takes the footprint out: which stack slots share a place is the code generator's choice, and each has its own.
fn without_footprint(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("footprint");
            fields.values_mut().for_each(without_footprint);
        }
        Value::Array(items) => items.iter_mut().for_each(without_footprint),
        _ => {}
    }
}

/// What a program costs, by function and line, and by variable and field; without what names the tools.
fn numbers(source: &Path, model: &str, llvm: Option<&Path>) -> [Value; 2] {
    let scratch = scratch();
    let profile = scratch.path().join("profile.data");
    let mut run = dmdprof();
    if let Some(llvm) = llvm {
        run.env("DMDPROF_LLVM", llvm);
    }
    // In which lines variables lie is the code generator's choice, too.
    run.args(["run", "--quiet", "--no-lines", "--model", model]);
    if model == "memory" {
        run.arg("--objects");
    }
    succeed(run.arg("-o").arg(&profile).arg(source));
    let report = |more: &[&str]| {
        let out = succeed(dmdprof().args(["report", "--format", "json"]).args(more).arg(&profile));
        let mut report: Value = serde_json::from_slice(&out.stdout).expect("a report is JSON");
        for key in ["tool", "run", "coverage", "profile"] {
            report.as_object_mut().expect("a report is an object").remove(key);
        }
        without_footprint(&mut report);
        report
    };
    [report(&["--lines"]), if model == "memory" { report(&["--objects", "--fields"]) } else { Value::Null }]
}

#[test]
fn every_llvm_of_the_distribution_gives_the_same_numbers() {
    let needed = clang_major();
    let usable: Vec<_> = libraries().into_iter().filter(|(major, _)| (needed..=22).contains(major)).collect();
    assert!(usable.iter().any(|(major, _)| *major == needed), "clang {needed} comes with its libLLVM: {usable:?}");
    let programs = [
        ("memory", in_tests("programs/drivers/exceptions.cpp")),
        ("values", repository().join("examples/bytedmd.c")),
        ("memory", repository().join("examples/transpose.c")),
        ("memory", repository().join("examples/stencil.c")),
        ("memory", in_tests("programs/flaws/one_field.c")),
    ];
    for (model, source) in cases(programs, 3) {
        let newest = numbers(&source, model, None);
        for (major, library) in &usable {
            let here = numbers(&source, model, Some(library));
            assert!(here == newest, "{} differs with LLVM {major}:\n{here:#?}\n{newest:#?}", source.display());
        }
    }
}

#[test]
fn doctor_names_the_library_in_use_and_refuses_what_is_none() {
    let (major, library) = libraries().into_iter().next().expect("clang comes with its libLLVM");
    let out = succeed(dmdprof().env("DMDPROF_LLVM", &library).args(["doctor", "--format", "json"]));
    let diagnosis: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let checks = diagnosis["checks"].as_array().expect("checks");
    let found = checks.iter().find(|check| check["name"] == "LLVM library").expect("it is checked");
    let found = found["found"].as_str().expect("text");
    assert!(found.starts_with(&major.to_string()) && found.ends_with(library.to_str().expect("UTF-8")), "{found}");

    let out = dmdprof().env("DMDPROF_LLVM", "/nowhere").arg("doctor").output().expect("doctor runs");
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains("/nowhere") && said.contains("apt install clang"), "{said}");
}
