//! Whole Rust programs through `dmdprof cargo`: the same output as from `cargo`, the same profile each time, and hooks
//! in everything that rustc made.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use dmdprof_tests::cargo::{hooked, plain, prepare, shared, unhooked};
use dmdprof_tests::profiled::{Report, Run};
use dmdprof_tests::programs;
use dmdprof_tests::tool::{MOST, assert_same, describe, dmdprof, dmdprof_path, output, scratch, succeed, within};

/// Cargo takes the lock of a target directory, so tests would wait for each other anyway; this way their time is their
/// own. Tests with a target directory of their own need no turn.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs a project both ways; gives the profile.
fn check(options: &[&str], words: &[&str]) -> Vec<u8> {
    let native = output(&mut plain(words));
    assert!(!native.stdout.is_empty(), "{}", describe(&native));
    let (found, profile) = run(options, words);
    assert_same("stdout", &native.stdout, &found.stdout);
    assert_eq!(native.status, found.status, "{}", describe(&found));
    profile
}

fn run(options: &[&str], words: &[&str]) -> (Output, Vec<u8>) {
    let directory = scratch();
    let found = output(&mut hooked(directory.path(), &[&["-q"], options].concat(), words));
    let path = directory.path().join("dmdprof.data");
    let profile = fs::read(&path).unwrap_or_else(|e| panic!("no profile: {e}\n{}", describe(&found)));
    (found, profile)
}

fn report(profile: &[u8]) -> Report {
    let directory = scratch();
    let path = directory.path().join("dmdprof.data");
    fs::write(&path, profile).expect("a file");
    let report = Report::read(&path);
    report.assert_consistent();
    assert!(report.complete());
    report
}

fn without_hooks(report: &Report) -> Vec<String> {
    let listed = report.0["coverage"]["without_hooks"].as_array().expect("an array");
    listed.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// Functions as people see them: in which the code was written.
fn names(profile: &[u8]) -> Vec<String> {
    let directory = scratch();
    let path = directory.path().join("dmdprof.data");
    fs::write(&path, profile).expect("a file");
    let json = succeed(dmdprof().arg("report").arg(path).args(["--format", "json"])).stdout;
    let report: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let rows = report["functions"].as_array().expect("an array");
    rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
}

fn has(names: &[String], part: &str) -> bool {
    names.iter().any(|name| name.contains(part))
}

#[test]
fn a_bit_of_everything() {
    let _turn = ONE_AT_A_TIME.lock();
    let words = ["run", "--release", "--quiet", "--bin", "mix"];
    let first = check(&[], &words);
    let report = report(&first);
    let names = names(&first);
    // Own, inlined, dependencies, std.
    for part in ["mix::sum_of_squares", "serde_json::", "regex_lite::", "std::thread::", "core::fmt::"] {
        assert!(has(&names, part), "{part} is not in {names:#?}");
    }
    assert!(!names.iter().any(|name| name.contains("17h")), "hashes in {names:#?}");
    assert_eq!(without_hooks(&report), [""; 0]);
    assert_same("second run", &first, &run(&[], &words).1);

    let (_, without_std) = run(&["--no-std"], &words);
    let report = self::report(&without_std);
    assert!(has(&without_hooks(&report), "libstd-") && has(&without_hooks(&report), "libcore-"));
    let instrumented = |profile: &[u8]| self::report(profile).0["coverage"]["functions_instrumented"].as_u64();
    assert!(instrumented(&without_std) < instrumented(&first));
}

#[test]
fn binaries_examples_features_arguments_and_exit_codes() {
    let _turn = ONE_AT_A_TIME.lock();
    check(&[], &["run", "--release", "--quiet", "--bin", "other", "--", "b", "--roi", "a"]);
    check(&[], &["run", "--release", "--quiet", "--example", "shown"]);
    let directory = scratch();
    let loud =
        output(&mut hooked(directory.path(), &["-q"], &["run", "--release", "-q", "--features", "loud", "--", "x"]));
    assert!(String::from_utf8_lossy(&loud.stdout).ends_with("LOUD\n"), "{}", describe(&loud));
    assert_eq!(loud.status.code(), Some(3));
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn whole_program_optimisation_and_no_unwinding() {
    let _turn = ONE_AT_A_TIME.lock();
    // `lto = "thin"`, and seeds that are fixed.
    let profile = check(&["--deterministic"], &["run", "--quiet", "--package", "seeds", "--profile", "whole"]);
    assert!(has(&names(&profile), "seeds::"));
    let profile = check(&[], &["run", "--quiet", "--package", "bare", "--profile", "bare"]);
    let names = names(&profile);
    assert!(has(&names, "bare::squares") && has(&names, "alloc::collections::btree"), "{names:#?}");
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn a_rust_program_draws_a_sample_or_is_exact_if_it_is_short() {
    let _turn = ONE_AT_A_TIME.lock();
    let words = ["run", "--quiet", "--package", "seeds", "--release"];
    let options = ["--deterministic", "--no-std"];
    let (_, exact) = run(&options, &words);
    let (found, short) = run(&[&options[..], &["--sample"]].concat(), &words);
    assert!(String::from_utf8_lossy(&found.stderr).contains("too few for a sample"), "{}", describe(&found));
    let sums = |profile: &[u8]| ["cost", "read", "written"].map(|what| report(profile).total(what));
    assert_eq!(sums(&short), sums(&exact));
    let directory = scratch();
    let options = [&["-q", "--sample=1/2"], &options[..]].concat();
    succeed(&mut hooked(directory.path(), &options, &words));
    assert!(directory.path().join("dmdprof.estimate").exists() && !directory.path().join("dmdprof.data").exists());
}

#[test]
fn hash_seeds_make_runs_differ_unless_they_are_fixed() {
    let _turn = ONE_AT_A_TIME.lock();
    let words = ["run", "--release", "--quiet", "--package", "seeds"];
    let random = check(&[], &words);
    let differ = (0..5).any(|_| run(&[], &words).1 != random);
    assert!(differ, "seeds do not matter, so this test could not fail");
    let random = report(&random);
    assert!(random.0["coverage"]["random_requests"].as_u64() > Some(0));
    assert_eq!(random.0["coverage"]["random_fixed"], false);

    let fixed = check(&["--deterministic"], &words);
    assert_same("second run", &fixed, &run(&["--deterministic"], &words).1);
    assert_eq!(report(&fixed).0["coverage"]["random_fixed"], true);
    let directory = scratch();
    let text = succeed(&mut hooked(directory.path(), &[], &words)).stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(text.contains("so that runs may differ (hash seeds of HashMap?); --deterministic fixes them"), "{text}");
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn tasks_of_tokio() {
    let _turn = ONE_AT_A_TIME.lock();
    let words = ["run", "--release", "--quiet", "--package", "gentle"];
    let first = check(&["--deterministic"], &words);
    assert!(has(&names(&first), "tokio::"));
    assert_same("second run", &first, &run(&["--deterministic"], &words).1);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn c_inside_crates_and_another_allocator() {
    let _turn = ONE_AT_A_TIME.lock();
    let words = ["run", "--release", "--quiet", "--package", "packed"];
    let first = check(&["--deterministic"], &words);
    let report = report(&first);
    let names = names(&first);
    for name in ["deflate_slow", "longest_match", "packed::compressed"] {
        assert!(has(&names, name), "{name} is not in {names:#?}");
    }
    assert!(names.iter().any(|name| name.starts_with("mi_")), "{names:#?}");
    assert_eq!(without_hooks(&report), [""; 0]);
    assert_eq!(report.0["coverage"]["unknown_frees"], 0);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn fifty_tests_and_a_bench() {
    let _turn = ONE_AT_A_TIME.lock();
    let words = ["test", "--release", "--quiet", "--package", "fifty", "--lib"];
    let bodies = ["--roi", "*::tests::t*"];
    let (found, first) = run(&bodies, &words);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.status.success() && text.contains("50 passed"), "{}", describe(&found));
    assert!(has(&names(&first), "fifty::sorted"));
    // The harness, which is not counted, prints times and hands out tests as threads end: other bytes for other
    // addresses.
    let counted = |profile: &[u8]| {
        let Report(mut report) = report(profile);
        let report = report.as_object_mut().expect("an object");
        assert!(report.remove("threads").is_some());
        for name in ["footprint", "peak_live"] {
            assert!(report["totals"].as_object_mut().expect("an object").remove(name).is_some());
        }
        serde_json::to_vec_pretty(&report).expect("JSON")
    };
    assert_same("second run", &counted(&first), &counted(&run(&bodies, &words).1));
    let one = ["test", "--release", "--quiet", "--package", "fifty", "--lib", "t33"];
    let (found, profile) = run(&["--roi", "*t33*"], &one);
    assert!(String::from_utf8_lossy(&found.stdout).contains("1 passed; 0 failed"), "{}", describe(&found));
    let read = |profile: &[u8]| report(profile).total("read");
    assert!(read(&profile) > 0 && read(&profile) < read(&first) / 10);

    let bench = ["bench", "--quiet", "--package", "fifty", "--bench", "fib"];
    let roi = ["--roi", "fifty::sorted*"];
    let (found, first) = run(&roi, &bench);
    assert!(String::from_utf8_lossy(&found.stderr).contains("each bench of divan runs once"), "{}", describe(&found));
    assert!(has(&names(&first), "fifty::sorted"));
}

#[test]
fn a_rebuild_instruments_what_changed() {
    let project = scratch();
    let cache = scratch();
    let write = |path: &str, text: &str| write_in(project.path(), path, text);
    write("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"3\"\n");
    write("a/Cargo.toml", "[package]\nname = \"a\"\nedition = \"2024\"\n[dependencies]\nb = { path = \"../b\" }\n");
    write("b/Cargo.toml", "[package]\nname = \"b\"\nedition = \"2024\"\n");
    write("b/src/lib.rs", "#[inline(never)]\npub fn twice(x: u32) -> u32 {\n    x * 2\n}\n");
    let main = |text: &str| {
        write("a/src/main.rs", &format!("fn main() {{\n    println!(\"{text} {{}}\", b::twice(4));\n}}\n"))
    };
    let build = || {
        let mut command = dmdprof();
        command.args(["cargo", "--no-std", "build", "--release"]);
        prepare(&mut command, "unused");
        command.current_dir(project.path());
        command.env("CARGO_TARGET_DIR", project.path().join("target")).env("DMDPROF_CACHE_DIR", cache.path());
        let built = succeed(&mut command);
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        let program = said.lines().find_map(|line| line.strip_prefix("dmdprof: with hooks: ")).expect("a program");
        let files = walk(&cache.path().join("objects"));
        (output(&mut Command::new(program)).stdout, files)
    };
    main("one");
    let (said, first) = build();
    assert_eq!(said, b"one 8\n");
    main("two");
    let (said, second) = build();
    assert_eq!(said, b"two 8\n");
    assert_eq!(second.len(), first.len() + 1, "only main was made anew");

    let mut clean = dmdprof();
    clean.args(["cache", "clean"]).env("DMDPROF_CACHE_DIR", cache.path());
    let said = String::from_utf8_lossy(&succeed(&mut clean).stdout).into_owned();
    assert!(said.contains(&format!("removed {} objects", second.len())), "{said}");
    assert!(walk(&cache.path().join("objects")).is_empty());
}

fn write_in(place: &Path, path: &str, text: &str) {
    let path = place.join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, text).expect("a file");
}

/// A project with C that its build script compiles into a static library.
fn project_with_c(place: &Path) {
    let write = |path: &str, text: &str| write_in(place, path, text);
    write("Cargo.toml", "[package]\nname = \"old\"\nedition = \"2024\"\n[workspace]\n");
    write("src/main.rs", MAIN_WITH_C);
    write("build.rs", BUILD_WITH_C);
    write("total.c", "long total(const long *p, long n) { long s = 0; while (n--) s += p[n]; return s; }\n");
}

const MAIN_WITH_C: &str = r#"
unsafe extern "C" {
    fn total(p: *const i64, n: i64) -> i64;
}

fn main() {
    let numbers: Vec<i64> = (0..100).collect();
    println!("{}", unsafe { total(numbers.as_ptr(), 100) });
}
"#;

const BUILD_WITH_C: &str = r#"
use std::{env, process::Command};

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let compiler = env::var("CC_x86_64_unknown_linux_gnu").unwrap();
    let run = |program: &str, words: &[&str]| {
        assert!(Command::new(program).args(words).current_dir(&out).status().unwrap().success());
    };
    let source = format!("{}/total.c", env::var("CARGO_MANIFEST_DIR").unwrap());
    run(&compiler, &["-c", "-O1", "-g", &source, "-o", "total.o"]);
    run("ar", &["crs", "libtotal.a", "total.o"]);
    println!("cargo::rerun-if-changed=total.c");
    println!("cargo::rustc-link-search={out}");
    println!("cargo::rustc-link-lib=static=total");
}
"#;

/// Builds a helper with C in it, as build scripts do for another processor or a code generator, and gives what it says.
const BUILD_WITH_CARGO: &str = r#"
use std::{env, path::Path, process::Command};

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let directory = format!("{out}/helpers");
    let mut cargo = Command::new(env::var("CARGO").unwrap());
    cargo.args(["build", "--release", "--quiet", "--target", &env::var("TARGET").unwrap(), "--target-dir", &directory]);
    assert!(cargo.current_dir("old").status().unwrap().success());
    let helper = Path::new(&directory).join(env::var("TARGET").unwrap()).join("release/old");
    let said = Command::new(&helper).output().unwrap();
    println!("cargo::rustc-env=SAID={}", String::from_utf8(said.stdout).unwrap().trim());
    println!("cargo::rustc-env=HELPER={}", helper.display());
}
"#;

const TEST_WITH_CARGO: &str = r#"
use std::{env, fs, process::Command};

#[test]
fn cargo_in_a_test() {
    assert_eq!(env!("SAID"), "4950");
    let names = env::vars().map(|(name, _)| name);
    let left: Vec<String> = names.filter(|name| name.starts_with("DMDPROF_CARGO") || name.starts_with("CC_")).collect();
    assert_eq!(left, [""; 0]);
    let mut cargo = Command::new(env::var("CARGO").unwrap());
    assert!(cargo.args(["build", "--quiet"]).current_dir("inner").status().unwrap().success());
    for program in [env!("HELPER"), "inner/target/debug/inner"] {
        let content = fs::read(program).unwrap();
        assert!(!content.windows(9).any(|part| part == b"__dmdprof"), "{program} has hooks");
    }
}
"#;

/// Their Cargo waits for nobody, takes the wrapper of rustc that it would find without us, and builds without hooks.
#[test]
fn cargo_in_build_scripts_and_in_tests() {
    let project = scratch();
    let write = |path: &str, text: &str| write_in(project.path(), path, text);
    write("Cargo.toml", "[package]\nname = \"outer\"\nedition = \"2024\"\n[workspace]\n");
    write("src/lib.rs", "");
    write("build.rs", BUILD_WITH_CARGO);
    write("tests/inner.rs", TEST_WITH_CARGO);
    project_with_c(&project.path().join("old"));
    write("inner/Cargo.toml", "[package]\nname = \"inner\"\nedition = \"2024\"\n[workspace]\n");
    write("inner/src/main.rs", "fn main() {}\n");
    let log = project.path().join("log");
    let wrapper = project.path().join("wrapper");
    fs::write(&wrapper, format!("#!/bin/sh\necho \"$*\" >> {}\nexec \"$@\"\n", log.display())).expect("a file");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("permissions");

    let mut command = dmdprof();
    command.args(["cargo", "--no-std", "-q", "-o"]).arg(project.path().join("p.data"));
    command.args(["test", "--release", "--test", "inner"]);
    prepare(&mut command, "unused");
    command.current_dir(project.path()).env_remove("CARGO_TARGET_DIR").env("RUSTC_WRAPPER", &wrapper);
    let found = within(3 * MOST, &mut command);
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(found.status.success() && said.contains("1 passed"), "{}", describe(&found));
    let wrapped = fs::read_to_string(&log).expect("the wrapper's log");
    for name in ["old", "inner"] {
        assert!(wrapped.contains(&format!("--crate-name {name} ")), "{wrapped}");
    }
    assert!(!wrapped.contains("--crate-name outer "), "{wrapped}");
}

#[test]
fn programs_have_twins_with_their_c() {
    let project = scratch();
    project_with_c(project.path());
    let main = MAIN_WITH_C.replace("100).collect", "10_000).collect").replace(
        "unsafe { total(numbers.as_ptr(), 100) }",
        "(0..1000).map(|n| unsafe { total(numbers.as_ptr(), 9000 + n) }).sum::<i64>()",
    );
    fs::write(project.path().join("src/main.rs"), main).expect("a file");
    let run = |options: &[&str]| {
        let mut command = dmdprof();
        command.arg("cargo").args(options).args(["--no-std", "-q", "run", "--release"]);
        prepare(&mut command, "unused");
        command.current_dir(project.path()).env("CARGO_TARGET_DIR", project.path().join("target"));
        succeed(command.env_remove("DMDPROF_TWIN"));
        let mut report = dmdprof();
        let printed = succeed(report.args(["report", "--format", "json"]).current_dir(project.path()));
        serde_json::from_slice::<serde_json::Value>(&printed.stdout).expect("JSON")
    };
    let report = run(&[]);
    let rows = report["functions"].as_array().expect("rows");
    let total = &rows.iter().find(|row| row["name"] == "total").expect("the C")["exclusive"];
    assert!(total["clock"]["share"].as_f64() > Some(0.5) && total["cycles"]["share"].as_f64() > Some(0.5), "{total}");
    assert_eq!(report["clock"]["of_program_without_hooks"], true);
    assert!(run(&["--no-twin"])["clock"].is_null());
}

#[test]
fn what_another_dmdprof_left_is_not_linked() {
    let project = scratch();
    project_with_c(project.path());
    let own = project.path().join("target/dmdprof");
    let build = || {
        let mut command = dmdprof();
        command.args(["cargo", "--no-std", "build", "--release"]);
        prepare(&mut command, "unused");
        command.current_dir(project.path()).env("CARGO_TARGET_DIR", project.path().join("target"));
        let built = output(&mut command);
        (built.status.success(), String::from_utf8_lossy(&built.stderr).into_owned())
    };
    let (done, said) = build();
    assert!(done && !said.contains("starts it afresh"), "{said}");

    // As if this dmdprof's hooks had other names than those of the one that compiled the C.
    let archive = find(&own, "libtotal.a");
    let old: Vec<u8> = fs::read(&archive).expect("the library");
    let at: Vec<usize> = (0..old.len()).filter(|&at| old[at..].starts_with(b"__dmdprof_v")).collect();
    assert!(!at.is_empty(), "no hooks in the C");
    let mut changed = old;
    at.into_iter().for_each(|at| changed[at + b"__dmdprof_v".len()] = b'0');
    fs::write(&archive, changed).expect("the library");
    fs::write(project.path().join("src/main.rs"), MAIN_WITH_C.replace("100).collect", "90).collect")).expect("a file");
    let (done, said) = build();
    assert!(!done && said.contains("__dmdprof_v0"), "links all the same: {said}");

    fs::write(own.join(".dmdprof"), "dmdprof 0.0.1, hooks 0").expect("a file");
    let (done, said) = build();
    assert!(done && said.contains("was filled by dmdprof 0.0.1, hooks 0; this is dmdprof "), "{said}");
    assert!(!build().1.contains("afresh"));
}

fn find(directory: &Path, name: &str) -> PathBuf {
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).expect("a directory").map(|entry| entry.expect("an entry").path()) {
            if entry.file_name().is_some_and(|found| found == name) {
                return entry;
            }
            if entry.is_dir() && !entry.is_symlink() {
                waiting.push(entry);
            }
        }
    }
    panic!("no {name} in {}", directory.display());
}

const LIBRARY_FOR_C: &str = r#"
#[unsafe(no_mangle)]
pub extern "C" fn sorted_sum(n: u64) -> u64 {
    let mut numbers: Vec<u64> = (0..n).map(|x| x * 7919 % 1009).collect();
    numbers.sort();
    let text: Vec<String> = numbers.iter().map(u64::to_string).collect();
    text.join("").bytes().map(u64::from).sum()
}
"#;

const PROGRAM_IN_C: &str = "#include <stdio.h>\nunsigned long sorted_sum(unsigned long);\nint main(void) { printf(\"%lu\\n\", \
                            sorted_sum(200)); return 0; }\n";

#[test]
fn libraries_for_programs_in_c() {
    let project = scratch();
    let place = |path: &str| project.path().join(path);
    let library = "[package]\nname = \"forc\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"staticlib\", \"cdylib\"]\n[workspace]\n";
    fs::create_dir(place("src")).expect("a directory");
    fs::write(place("Cargo.toml"), library).expect("a file");
    fs::write(place("src/lib.rs"), LIBRARY_FOR_C).expect("a file");
    fs::write(place("main.c"), PROGRAM_IN_C).expect("a file");
    let mut build = dmdprof();
    build.args(["cargo", "build", "--release"]);
    prepare(&mut build, "hooked");
    let built = succeed(build.current_dir(project.path()).env("CARGO_TARGET_DIR", place("target")));
    let said = String::from_utf8_lossy(&built.stderr).into_owned();
    let made = |ending: &str| {
        let lines = said.lines().filter_map(|line| line.strip_prefix("dmdprof: with hooks: "));
        lines
            .into_iter()
            .find(|line| line.ends_with(ending))
            .unwrap_or_else(|| panic!("no {ending}: {said}"))
            .to_owned()
    };
    let mut profiles = Vec::new();
    for (library, hooked) in [(made("libforc.a"), true), (made("libforc.a"), false), (made("libforc.so"), true)] {
        // The linker of a program in C need not know dmdprof.
        let mut compiler = if hooked { dmdprof() } else { Command::new("cc") };
        compiler.args(hooked.then_some("cc")).args(["-O1", "-g"]).arg(place("main.c")).arg(&library);
        succeed(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(place("main")));
        let profile = place("dmdprof.data");
        let mut run = dmdprof();
        run.args(["run", "-q", "-o"]).arg(&profile).arg(place("main"));
        run.env("LD_LIBRARY_PATH", Path::new(&library).parent().expect("a directory"));
        assert_eq!(String::from_utf8_lossy(&succeed(&mut run).stdout), "30574\n");
        let profile = fs::read(profile).expect("a profile");
        let names = names(&profile);
        assert!(has(&names, "sorted_sum") && has(&names, "core::slice::sort"), "{library}: {names:#?}");
        profiles.push(report(&profile).total("read"));
    }
    assert!(profiles.iter().all(|read| *read > 10_000), "{profiles:?}");
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let list = |d: &Path| fs::read_dir(d).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    list(directory).iter().flat_map(|shelf| list(shelf)).collect()
}

#[test]
fn what_cannot_be_done_is_said() {
    let directory = scratch();
    let say = |words: &[&str]| {
        let found = output(dmdprof().arg("cargo").args(words).current_dir(directory.path()));
        assert!(!found.status.success(), "{}", describe(&found));
        String::from_utf8_lossy(&found.stderr).into_owned()
    };
    assert!(say(&["run"]).contains("could not find `Cargo.toml`"));
    assert!(say(&["run", "--roi", "x"]).contains("--roi is an option of dmdprof and comes before Cargo's command"));
    assert!(
        say(&["--sample", "--liveness", "exact", "run"]).contains("--liveness exact cannot be combined with --sample")
    );
    assert!(say(&["build", "--target", "aarch64-unknown-linux-gnu"]).contains("only x86-64 Linux can carry hooks"));
    fs::create_dir(directory.path().join("src")).expect("a directory");
    fs::write(directory.path().join("src/main.rs"), "fn main() {}").expect("a file");
    fs::write(directory.path().join("Cargo.toml"), "[package]\nname = \"x\"\nedition = \"2024\"\n[workspace]\n")
        .expect("a file");
    assert!(
        say(&["fmt"]).contains("dmdprof cargo does not know the command fmt: it is for run, test, bench and build")
    );
    assert!(say(&["run", "--bin", "nothing"]).contains("no bin target named `nothing`"));
}

#[test]
fn cargo_finds_the_subcommand() {
    let beside = dmdprof_path().with_file_name("cargo-dmdprof");
    let said = succeed(Command::new(beside).args(["dmdprof", "--help"])).stdout;
    assert!(String::from_utf8_lossy(&said).contains("Profile what Cargo runs"));
}

/// A real program with about 30 dependencies, whose sources come with its crate.
#[test]
#[ignore = "builds ripgrep twice, which takes two minutes: CONTRIBUTING.md has the command"]
fn ripgrep() {
    let _turn = ONE_AT_A_TIME.lock();
    let place = scratch();
    let copied = succeed(Command::new("cp").arg("-r").arg(unpacked("ripgrep-14.1.1")).arg(place.path().join("rg")));
    assert!(copied.status.success());
    let manifest = place.path().join("rg/Cargo.toml");
    let tree = place.path().join("tree");
    for n in 0..40 {
        let directory = tree.join(format!("d{}", n % 7));
        fs::create_dir_all(&directory).expect("a directory");
        let text: String = (0..200).map(|line| format!("line {line} of {n}: {}\n", line * n % 83)).collect();
        fs::write(directory.join(format!("f{n}.txt")), text).expect("a file");
    }
    let build = |mut command: Command, target: &str| {
        command.args(["build", "--release", "--quiet", "--locked", "--manifest-path"]).arg(&manifest);
        // The optimiser's highest level takes twice as long.
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", if target == "plain" { "0" } else { "1" });
        prepare(&mut command, target);
        succeed(&mut command)
    };
    build(unhooked(), "plain");
    let mut cargo = dmdprof();
    cargo.arg("cargo");
    let said = build(cargo, "hooked");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let hooked = said.lines().find_map(|line| line.strip_prefix("dmdprof: with hooks: ")).expect("a program");

    let words = ["--threads", "1", "--sort", "path", "--no-config", r"line \d+ of (7|21): (1|4)\d$"];
    let native = output(Command::new(shared("plain").join("release/rg")).args(words).arg(&tree));
    assert!(native.status.success() && native.stdout.len() > 500, "{}", describe(&native));
    let search = || {
        let directory = scratch();
        let found = Run::new(hooked, directory.path()).options(["--deterministic"]).args(words).args([&tree]).go();
        assert_same("stdout", &native.stdout, &found.output.stdout);
        (fs::read(&found.profile).expect("a profile"), found.report)
    };
    let ((first, report), (second, _)) = (search(), search());
    report.assert_consistent();
    assert_eq!(without_hooks(&report), [""; 0]);
    for part in ["rg::", "grep_searcher::", "regex_automata::", "ignore::"] {
        assert!(has(&names(&first), part), "{part} is not in {:#?}", names(&first));
    }
    assert_same("second run", &first, &second);
}

/// The sources of a crate that is a program, which no package can depend on: from the registry's own directory.
fn unpacked(crate_: &str) -> PathBuf {
    let fetched = programs::bundled("libz-sys");
    let directory = fetched.parent().expect("the registry's sources").join(crate_);
    if !directory.is_dir() {
        let project = scratch();
        let (name, version) = crate_.rsplit_once('-').expect("name and version");
        let manifest = format!(
            "[package]\nname = \"x\"\nedition = \"2024\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
        );
        fs::create_dir(project.path().join("src")).expect("a directory");
        fs::write(project.path().join("src/lib.rs"), "").expect("a file");
        fs::write(project.path().join("Cargo.toml"), manifest).expect("a file");
        succeed(Command::new(env!("CARGO")).arg("fetch").current_dir(project.path()));
    }
    directory
}
