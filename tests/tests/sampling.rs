//! Estimates from samples of recorded programs, against exact analyses of the same recordings; and samples that
//! programs draw while they run, against those of their recordings.
//!
//! `DMDPROF_SAMPLE_SEEDS=100` tries so many seeds instead of a few.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dmdprof_tests::profiled::Report;
use dmdprof_tests::programs::{Compiler, bench, case, truth};
use dmdprof_tests::tool::{cases, describe, dmdprof, in_tests, output, scratch, succeed};
use serde_json::Value;

/// Seeds of a program's samples.
fn seeds() -> u64 {
    std::env::var("DMDPROF_SAMPLE_SEEDS").map_or(8, |seeds| seeds.parse().expect("a number of seeds"))
}

/// A Rust program, built below a directory.
fn in_rust(name: &str, directory: &Path) -> PathBuf {
    let program = directory.join(name);
    let source = in_tests("truth").join(format!("{name}.rs"));
    succeed(dmdprof().arg("build").arg(source).arg("-o").arg(&program));
    program
}

/// Records a program, and gives its exact report.
fn recorded(program: &Path, arguments: &[&str], directory: &Path) -> Report {
    succeed(dmdprof().arg("record").arg(program).args(arguments).current_dir(directory));
    succeed(dmdprof().args(["replay", "--no-lines", "--quiet"]).current_dir(directory));
    Report::read(&directory.join("dmdprof.data"))
}

fn replay(directory: &Path, options: &[&str]) -> Command {
    let mut command = dmdprof();
    command.arg("replay").args(options).current_dir(directory);
    command
}

/// The tables of a sample.
fn sample(directory: &Path, options: &[&str]) -> Value {
    let output = output(replay(directory, options).args(["--format", "json"]));
    assert!(output.status.success(), "{}", describe(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The same of one that the program draws while it runs.
fn drawn(program: &Path, arguments: &[&str], directory: &Path, options: &[&str]) -> Value {
    let mut command = dmdprof();
    command.arg("run").args(options).args(["--format", "json"]).arg(program).args(arguments).current_dir(directory);
    let output = output(&mut command);
    assert!(output.status.success(), "{}", describe(&output));
    // Behind what the program prints.
    let text = String::from_utf8_lossy(&output.stdout);
    let json = text.find("{\n").map_or("", |start| &text[start..]);
    serde_json::from_str(json).unwrap_or_else(|error| panic!("no JSON ({error}) in {}", describe(&output)))
}

fn rows(document: &Value, sheet: usize) -> &[Value] {
    document["sheets"][sheet]["rows"].as_array().expect("rows")
}

/// Rows in the order of their names: those of equal numbers are in no order.
fn by_name(document: &Value) -> Vec<&Value> {
    let mut rows: Vec<&Value> = rows(document, 0).iter().collect();
    rows.sort_by_key(|row| (row["function"].to_string(), row["place"].to_string()));
    rows
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn estimates_of_programs_have_the_exact_mean_and_honest_intervals() {
    for (name, arguments, rate) in
        [("hash", vec!["500000"], "--sample=1/8"), ("stencil", vec!["300", "6"], "--sample=1/8")]
    {
        let directory = scratch();
        let exact = recorded(&bench(name).hooked(), &arguments, directory.path());
        let cost = exact.total("cost") as f64;
        let (mut off, mut right) = (Vec::new(), 0);
        for seed in 1..=seeds() {
            let document = sample(directory.path(), &[rate, "--seed", &seed.to_string()]);
            let total = rows(&document, 0).last().expect("a total");
            assert_eq!(total["read"], exact.total("read"), "{name}: bytes read are exact");
            assert_eq!(total["written"], exact.total("written"), "{name}: bytes written are exact");
            let estimate = total["bytedmd"].as_f64().expect("enough samples");
            let within = total["within"].as_f64().expect("an interval");
            assert!(within < 0.2, "{name}: {total}");
            off.push(estimate / cost - 1.0);
            right += u64::from((estimate - cost).abs() <= estimate * within);
        }
        let n = off.len() as f64;
        let mean = off.iter().sum::<f64>() / n;
        let error = (off.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        assert!(mean.abs() <= 3.0 * error, "{name}: off by {mean} on average, standard error {error}: {off:?}");
        assert!(right * 10 >= seeds() * 8, "{name}: {right} of {} intervals are right: {off:?}", seeds());
    }
}

#[test]
fn what_is_not_estimated_is_exact_for_every_function_line_and_object() {
    let rust = scratch();
    let programs = [
        truth("growth.c").hooked(),
        truth("strings.c").hooked(),
        case("objects").hooked(),
        case("private_threads").hooked(),
        in_rust("cyclic", rust.path()),
    ];
    for program in programs {
        let directory = scratch();
        let exact = recorded(&program, &[], directory.path());
        let document = sample(directory.path(), &["--sample=1/2", "--objects", "--no-inline"]);
        for row in exact.functions().iter().filter(|row| row["exclusive"]["read"] != 0) {
            // Functions of one name, as main of several files, are told apart by their places only.
            let name = &row["name"];
            let sum = |rows: &[Value], key: &str, of: &dyn Fn(&Value) -> u64| -> u64 {
                rows.iter().filter(|row| row[key] == *name).map(of).sum()
            };
            let expected = sum(exact.functions(), "name", &|row| row["exclusive"]["read"].as_u64().unwrap_or(0));
            let told = sum(rows(&document, 0), "function", &|row| row["read"].as_u64().expect("bytes"));
            assert_eq!(told, expected, "{}: {name}", program.display());
        }
        let by_object = rows(&document, 1);
        let (total, objects) = by_object.split_last().expect("a total");
        let sum: u64 = objects.iter().map(|row| row["read"].as_u64().expect("bytes")).sum();
        assert_eq!(total["read"], sum, "{}: objects", program.display());
        assert_eq!(sum, exact.total("read"), "{}: objects", program.display());
        let document = sample(directory.path(), &["--sample=1/2", "--lines"]);
        assert_eq!(rows(&document, 0).last().expect("a total")["read"], sum, "{}: lines", program.display());
    }
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn a_seed_gives_one_sample_and_leaves_the_profile_alone() {
    let directory = scratch();
    let exact = recorded(&bench("hash").hooked(), &["1000000"], directory.path());
    let print = |options: &[&str]| {
        let output = output(&mut replay(directory.path(), options));
        assert!(output.status.success() && output.stderr.is_empty(), "{}", describe(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let one = print(&["--sample=1/8", "--seed", "7"]);
    assert_eq!(one, print(&["--sample=1/8", "--seed", "7", "--workers", "1"]));
    assert_ne!(one, print(&["--sample=1/8", "--seed", "8"]));
    assert!(one.contains("in 19 of 20 samples, estimated from 1 in 8, seed 7"), "{one}");
    // Of a run that is too short there are no numbers, and what to do instead.
    let stencil = bench("stencil").hooked();
    succeed(dmdprof().arg("record").arg(stencil).args(["20", "2"]).current_dir(directory.path()));
    let short = print(&["--sample"]);
    assert!(short.contains("ByteDMD: too few samples, estimated from 1 in 64, seed 1"), "{short}");
    assert!(short.contains("leave --sample out"), "{short}");
    assert_eq!(Report::read(&directory.path().join("dmdprof.data")).total("cost"), exact.total("cost"));
    assert!(!directory.path().join("dmdprof.data.old").exists(), "no profile was written");
}

#[test]
fn what_a_sample_cannot_tell_is_refused() {
    let directory = scratch();
    recorded(&truth("cyclic.c").hooked(), &[], directory.path());
    let refused = |options: &[&str], said: &str| {
        let output = output(&mut replay(directory.path(), options));
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", describe(&output));
        assert!(errors(&output).contains(said), "{options:?}: {}", errors(&output));
    };
    for rate in ["0", "1/0", "1.5", "2", "1/1000", "-1", ""] {
        refused(&[&format!("--sample={rate}")], "1/2 to 1/256");
    }
    refused(&["--sample=1/1"], "leave --sample out");
    refused(&["--seed", "3"], "--sample");
    refused(&["--sample", "--seed", "x"], "--seed");
    for other in ["--flows", "--hist", "--by-thread", "--lines-only"] {
        refused(&["--sample", other], "cannot be combined with --sample");
    }
    for (other, value) in [("--html", "x.html"), ("--line-size", "64"), ("--window", "9")] {
        refused(&["--sample", other, value], "cannot be combined with --sample");
    }
    refused(&["--sample", "--liveness", "exact"], "known only of whole runs");
    refused(&["--sample", "--threads", "shared"], "use --threads private");
    refused(&["--sample", "--model", "values"], "memory model");
}

#[test]
fn a_program_draws_the_sample_that_its_recording_gives() {
    let compiler = Compiler::dmdprof_sample();
    let programs = [
        (bench("hash"), vec!["300000"], "--sample=1/8"),
        (bench("stencil"), vec!["200", "20"], "--sample=1/16"),
        (truth("growth.c"), vec![], "--sample=1/2"),
        (truth("strings.c"), vec![], "--sample=1/2"),
        (truth("widths.c"), vec![], "--sample=1/2"),
        (case("objects"), vec![], "--sample=1/2"),
        (case("private_threads"), vec![], "--sample=1/4"),
    ];
    for (program, arguments, rate) in programs {
        let (directory, name) = (scratch(), program.name.clone());
        let program = program.build(&compiler);
        succeed(dmdprof().arg("record").arg(&program).args(&arguments).current_dir(directory.path()));
        for seed in cases(["1", "2", "3"], 1) {
            let options = [rate, "--seed", seed, "--threshold", "0%"];
            let recorded = sample(directory.path(), &options);
            let drawn = drawn(&program, &arguments, directory.path(), &options);
            assert!(rows(&drawn, 0).len() > 1, "{name}: {drawn}");
            assert_eq!(by_name(&drawn), by_name(&recorded), "{name}, seed {seed}");
        }
        assert!(!directory.path().join("dmdprof.data").exists(), "no profile was written");
    }
}

#[test]
fn who_called_whom_and_regions_of_interest_are_those_of_the_recording() {
    let directory = scratch();
    let program = case("calls").build(&Compiler::dmdprof_sample());
    succeed(dmdprof().arg("record").arg(&program).current_dir(directory.path()));
    let both = |options: &[&str]| {
        let options = [&["--sample=1/8", "--threshold", "0%"], options].concat();
        [sample(directory.path(), &options), drawn(&program, &[], directory.path(), &options)]
    };
    let estimates = |document: &Value, sheet: usize| {
        let mut rows: Vec<[Value; 3]> = rows(document, sheet)
            .iter()
            .map(|row| ["function", "bytedmd", "within"].map(|key| row[key].clone()))
            .filter(|[_, cost, _]| !cost.is_null())
            .collect();
        rows.sort_by_key(|[function, ..]| function.to_string());
        rows
    };
    // The program tells more: it does not know of how many bytes the sample says nothing.
    let are_told = |recorded: &[[Value; 3]], drawn: &[[Value; 3]]| {
        assert!(recorded.len() > 1 && recorded.iter().all(|row| drawn.contains(row)), "{recorded:?}, {drawn:?}");
    };
    for seed in ["1", "2"] {
        let [recorded, drawn] = both(&["--inclusive", "--seed", seed]);
        assert_eq!(by_name(&drawn), by_name(&recorded), "seed {seed}: exact counts too");
        are_told(&estimates(&recorded, 1), &estimates(&drawn, 1));
        let told: Vec<String> = estimates(&drawn, 1).iter().map(|[function, ..]| function.to_string()).collect();
        assert!(["far", "halves"].iter().all(|name| told.contains(&format!("\"{name}\""))), "{told:?}");
        let reads_itself = |name: &str| rows(&drawn, 0).iter().any(|row| row["function"] == name);
        assert!(reads_itself("sum") && !reads_itself("far"), "sum reads for all of them: {drawn}");
        let [recorded, drawn] = both(&["--roi", "far", "--seed", seed]);
        are_told(&estimates(&recorded, 0), &estimates(&drawn, 0));
        let read = |document: &Value| rows(document, 0).last().expect("a total")["read"].as_f64().expect("bytes");
        let off = read(&drawn) / read(&recorded) - 1.0;
        assert!(off.abs() < 0.5, "seed {seed}: bytes read in a region are estimates: {off}");
        let written = rows(&drawn, 0).last().expect("a total")["written"].clone();
        assert!(written.is_null(), "nobody counted what the region wrote: {written}");
    }
    let report = output(dmdprof().args(["report", "--inclusive", "dmdprof.estimate"]).current_dir(directory.path()));
    assert!(report.status.success(), "contexts are known with --roi: {}", describe(&report));
}

#[test]
fn a_program_that_can_draw_a_sample_is_measured_exactly_too() {
    let compiler = Compiler::dmdprof_sample();
    for program in [truth("growth.c"), truth("strings.c"), case("private_threads")] {
        let measured = |program: &Path| {
            let directory = scratch();
            succeed(dmdprof().args(["run", "--quiet"]).arg(program).current_dir(directory.path()));
            let report = Report::read(&directory.path().join("dmdprof.data"));
            ["cost", "read", "written", "accesses"].map(|what| report.total(what))
        };
        assert_eq!(measured(&program.build(&compiler)), measured(&program.hooked()), "{}", program.name);
        // Nothing but what it prints changes when nobody measures it.
        let alone = Command::new(program.build(&compiler)).output().expect("it runs");
        let plain = Command::new(program.build(&Compiler::unoptimised())).output().expect("it runs");
        assert_eq!(alone.stdout, plain.stdout, "{}", program.name);
    }
}

#[test]
fn counts_of_a_sample_outlive_a_program_that_is_killed_or_forks() {
    let directory = scratch();
    let source = directory.path().join("ends.c");
    std::fs::write(
        &source,
        r#"#include <signal.h>
           #include <sys/wait.h>
           #include <unistd.h>
           static long words[512];
           __attribute__((noinline)) static void touch(int times) {
               for (int i = 0; i < times; i++) { long *p = &words[i * 37 & 511]; *(volatile long *)p += 1; }
           }
           int main(void) {
               if (fork() == 0) { touch(1000); kill(getpid(), SIGKILL); }
               wait(0);
               touch(2000);
               raise(SIGKILL);
           }"#,
    )
    .expect("a source");
    let mut command = dmdprof();
    command.args(["run", "--sample=1/2", "--format", "json"]).arg(&source).current_dir(directory.path());
    let output = output(&mut command);
    assert_eq!(output.status.code(), Some(128 + 9), "{}", describe(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let touch = rows(&document, 0).iter().find(|row| row["function"] == "touch").expect("it ran");
    assert_eq!((&touch["read"], &touch["written"]), (&Value::from(24_000), &Value::from(24_000)));
}

#[test]
fn programs_that_cannot_draw_a_sample_are_refused_with_how_to_build_them() {
    let exact = truth("cyclic.c").hooked();
    let refused = |options: &[&str], program: &Path, said: &str| {
        let directory = scratch();
        let output = output(dmdprof().arg("run").args(options).arg(program).current_dir(directory.path()));
        assert!(!output.status.success() && errors(&output).contains(said), "{}", describe(&output));
    };
    refused(&["--sample"], &exact, "dmdprof cc --dmdprof-sample");
    refused(&["--sample", "--keep-trace", "x"], &exact, "cannot be used with");
    refused(&["--sample=1/1"], &exact, "leave --sample out");
    refused(&["--budget", "1.5x"], &exact, "from 2x on");
    refused(&["--budget", "30x"], &exact, "leave --sample and --budget out");
    refused(&["--budget", "0"], &exact, "as in 3x");
    refused(&["--sample=1/64", "--budget", "3x"], &exact, "two ways to say how much");
    let output = output(dmdprof().args(["cc", "--dmdprof-sample", "--dmdprof-loops", "-c", "x.c"]));
    assert!(errors(&output).contains("motion needs all records"), "{}", describe(&output));
}

#[test]
fn a_run_that_is_too_short_for_a_sample_is_exact() {
    let (compiler, directory) = (Compiler::dmdprof_sample(), scratch());
    for program in [bench("hash"), case("private_threads")] {
        let built = program.build(&compiler);
        let profile = |options: &[&str]| {
            let mut command = dmdprof();
            command.args(["run", "--quiet", "--no-lines", "-o", "one.data"]).args(options).arg(&built);
            let output = output(command.arg("1000").current_dir(directory.path()));
            assert!(output.status.success(), "{}", describe(&output));
            (std::fs::read(directory.path().join("one.data")).expect("a profile"), errors(&output))
        };
        for region in [&[][..], &["--roi", "main"]] {
            let (exact, _) = profile(region);
            let (short, said) = profile(&[&["--sample"], region].concat());
            assert!(exact == short, "{} {region:?}: other numbers", program.name);
            assert!(said.contains("too few for a sample: it was measured exactly"), "{said}");
        }
        assert!(!directory.path().join("one.estimate").exists(), "nothing was estimated");
    }
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn a_run_that_outlives_its_exact_part_has_the_sample_of_its_recording() {
    let (compiler, directory) = (Compiler::dmdprof_sample(), scratch());
    // 35 million accesses: too many for an exact analysis, and too few for the sample of a long run.
    let (program, arguments) = (bench("hash").build(&compiler), ["6000000"]);
    succeed(dmdprof().arg("record").arg(&program).args(arguments).current_dir(directory.path()));
    let drawn = drawn(&program, &arguments, directory.path(), &["--budget", "2x", "--seed", "5"]);
    let source = drawn["source"]["sample"].as_str().expect("how it was drawn");
    let rate = source.strip_suffix(", seed 5").expect("the seed");
    assert_ne!(rate, "1/256", "the sample of a long run");
    let recorded = sample(directory.path(), &[&format!("--sample={rate}"), "--seed", "5"]);
    assert_eq!(by_name(&drawn), by_name(&recorded), "{rate}");
}

#[test]
fn estimates_are_never_taken_for_exact_numbers() {
    let directory = scratch();
    recorded(&bench("hash").hooked(), &["300000"], directory.path());
    let printed = sample(directory.path(), &["--sample=1/4"]);
    let run = |words: &[&str]| output(dmdprof().args(words).current_dir(directory.path()));
    let json = |words: &[&str]| -> Value {
        let output = run(words);
        assert!(output.status.success(), "{}", describe(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    assert_eq!(json(&["report", "dmdprof.estimate", "--format", "json"]), printed);
    for command in ["why --profile", "annotate --profile", "waste", "view", "roofline", "curve", "export --to csv"] {
        let words: Vec<&str> = command.split(' ').chain(["dmdprof.estimate"]).collect();
        let output = run(&words);
        assert!(!output.status.success() && errors(&output).contains("has the estimates of a sample"), "{command}");
    }
    for option in ["--hist", "--by-thread", "--objects"] {
        let output = run(&["report", option, "dmdprof.estimate"]);
        assert!(!output.status.success() && errors(&output).contains("estimates"), "{}", describe(&output));
    }
    let diff = json(&["diff", "dmdprof.data", "dmdprof.estimate", "--format", "json"]);
    let total = rows(&diff, 0).last().expect("a total");
    assert_eq!((&total["seen"], &total["read_change"]), (&"no change seen".into(), &0.0.into()), "{total}");
    let check = |words: &[&str], code: i32, said: &str| {
        let output = run(&[&["check"], words].concat());
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", describe(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains(said), "{words:?}: {}", describe(&output));
    };
    check(&["--save-baseline", "hash", "--profile", "dmdprof.data"], 0, "saved");
    let estimates = ["--baseline", "hash", "--profile", "dmdprof.estimate"];
    check(&[&estimates[..], &["--limit", "cost=40%"]].concat(), 0, "costs are estimated from 1 in 4");
    check(&estimates, 1, "is narrower than what the estimate may be off by");
    check(&[&estimates[..], &["--limit", "Q(32KiB)=5%"]].concat(), 1, "a sample does not tell it");
    check(&["--save-baseline", "other", "--profile", "dmdprof.estimate"], 1, "a baseline has exact numbers");
}
