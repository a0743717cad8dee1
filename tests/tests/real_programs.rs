//! Real programs, compiled with `dmdprof cc` in place of clang: same output, same exit code, and a profile that holds
//! together. Inputs are smaller than in the benchmark of whole runs, but reach the same code.

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
    let (native, hooked) = std::thread::scope(|scope| {
        let hooked = scope.spawn(|| program.build(&Compiler::dmdprof()));
        (program.build(&Compiler::unoptimised()), hooked.join().expect("the build with hooks"))
    });
    let native = run_plain(&native, &program.args);
    assert!(native.status.success() && !native.stdout.is_empty(), "native {name}: {}", describe(&native));

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
#[ignore = "takes long: `.ci/test --long` runs it"]
fn sqlite() {
    check(&programs::sqlite().args(["1000"]));
}

#[test]
fn zlib() {
    check(&programs::zlib().args(["80000"]));
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn bzip2() {
    check(&programs::bzip2().args(["60000"]));
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
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
#[ignore = "takes long: `.ci/test --long` runs it"]
fn cpp_containers_and_regex() {
    check(&programs::cpp("containers").args(["20000"]));
}

#[test]
fn cpp_virtual_calls() {
    check(&programs::cpp("virtual").args(["300"]));
}
