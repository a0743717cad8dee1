//! Real programs, compiled with `dmdprof cc` in place of clang: same output, same exit code, and a profile that holds
//! together.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use dmdprof_tests::profiled::Run;
use dmdprof_tests::programs::{self, Compiler, Program};
use dmdprof_tests::tool::{assert_same, describe, scratch};

fn run_plain(executable: &Path, args: &[String]) -> Output {
    let directory = scratch();
    let mut command = Command::new(executable);
    command.args(args).current_dir(directory.path()).stdin(Stdio::null());
    command.output().unwrap_or_else(|e| panic!("cannot start {}: {e}", executable.display()))
}

fn assert_same_run(what: &str, expected: &Output, found: &Output) {
    assert_same(&format!("{what}: stdout"), &expected.stdout, &found.stdout);
    assert_same(&format!("{what}: stderr"), &expected.stderr, &found.stderr);
    assert_eq!(expected.status, found.status, "{what}");
}

fn check(program: &Program) {
    let name = &program.name;
    let native = run_plain(&program.build(&Compiler::native()), &program.args);
    assert!(native.status.success() && !native.stdout.is_empty(), "native {name}: {}", describe(&native));

    let hooked = program.build(&Compiler::dmdprof());
    assert_same_run(&format!("{name} with hooks, without dmdprof"), &native, &run_plain(&hooked, &program.args));

    let directory = scratch();
    let profiled = Run::new(&hooked, directory.path()).args(&program.args).go();
    assert_same_run(&format!("{name} under dmdprof"), &native, &profiled.output);

    let report = &profiled.report;
    report.assert_consistent();
    assert!(report.complete());
    for function in &program.functions {
        assert!(report.function(function).exclusive("read") > 0, "{name}: {function} read nothing");
    }
    assert!(report.total("cost") > report.total("read"), "{name}: a byte costs at least 1, some cost more");
}

#[test]
fn sqlite() {
    check(&programs::sqlite());
}

#[test]
fn zlib() {
    check(&programs::zlib());
}

#[test]
fn bzip2() {
    check(&programs::bzip2());
}

#[test]
fn lua_with_longjmp() {
    check(&programs::lua());
}

#[test]
fn cpp_exceptions() {
    check(&programs::cpp("exceptions"));
}

#[test]
fn cpp_threads() {
    check(&programs::cpp("threads"));
}

#[test]
fn cpp_containers_and_regex() {
    check(&programs::cpp("containers"));
}

#[test]
fn cpp_virtual_calls() {
    check(&programs::cpp("virtual"));
}

/// Every example, in C and in Rust: same output as built natively, and one row per variant.
mod examples {
    use super::*;
    use dmdprof_tests::tool::{repository, require, succeed};

    fn check_c(name: &str, variants: &[&str]) {
        let mut program = Program::of(repository().join("examples").join(format!("{name}.c")));
        program.name = format!("example-{name}");
        let native = run_plain(&program.build(&Compiler::native()), &[]);
        let directory = scratch();
        let profiled = Run::new(program.build(&Compiler::dmdprof()), directory.path()).go();
        assert_same_run(name, &native, &profiled.output);
        profiled.report.assert_consistent();
        for variant in variants {
            assert!(profiled.report.function(variant).exclusive("cost") > 0, "{name}: {variant}");
        }
    }

    fn check_rust(name: &str, variants: &[&str]) {
        let source = repository().join("examples").join(format!("{name}.rs"));
        let directory = scratch();
        let native = directory.path().join("native");
        let rustc = require("rustc".as_ref(), "install Rust (rustup.rs)");
        succeed(Command::new(rustc).args(["-O", "--edition", "2024"]).arg(&source).arg("-o").arg(&native));
        let native = run_plain(&native, &[]);
        let profiled = Run::new(&source, directory.path()).go();
        assert_same_run(name, &native, &profiled.output);
        profiled.report.assert_consistent();
        for variant in variants {
            let suffix = format!("::{variant}");
            let found = profiled.report.functions().iter().any(|f| {
                f["name"].as_str().is_some_and(|n| n == *variant || n.ends_with(&suffix))
                    && f["exclusive"]["cost"].as_u64().is_some_and(|cost| cost > 0)
            });
            assert!(found, "{name}: no {variant} among {:?}", profiled.report.names());
        }
    }

    macro_rules! examples {
        ($($name:ident $source:literal [$($variant:literal),*];)*) => {
            $(mod $name {
                #[test]
                fn c() {
                    super::check_c($source, &[$($variant),*]);
                }

                #[test]
                fn rust() {
                    super::check_rust($source, &[$($variant),*]);
                }
            })*
        };
    }

    examples! {
        matmul "matmul" ["matmul_ijk", "matmul_ikj", "matmul_tiled"];
        stencil "stencil" ["sweep_rows", "sweep_columns", "sweep_blocks"];
        transpose "transpose" ["transpose_naive", "transpose_blocked"];
        hash_table "hash_table" ["open_lookup_uniform", "open_lookup_skewed", "chain_lookup_uniform"];
        list_vs_array "list_vs_array" ["sum_array", "sum_list_in_order", "sum_list_scattered"];
    }
}
