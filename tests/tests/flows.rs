//! From which access to which bytes go, what functions call in order, and the bytes of declared outputs: on programs
//! whose answers follow from their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

use dmdprof_tests::profiled::{Profiled, Run};
use dmdprof_tests::programs::{case, cpp, short_lua, zlib};
use dmdprof_tests::tool::{assert_same, cases, describe, dmdprof, in_tests, scratch, succeed};
use serde_json::{Value, json};

fn measured(program: &Path, directory: &Path, options: &[&str]) -> Profiled {
    let profiled = Run::new(program, directory).options(options).go();
    assert!(profiled.output.status.success(), "{}", describe(&profiled.output));
    profiled.report.assert_consistent();
    profiled
}

/// Bytes by the functions of writer, toucher and reader.
fn by_function(report: &Value) -> BTreeMap<[String; 3], u64> {
    let function = |site: &Value| site["function"].as_str().unwrap_or("-").to_owned();
    let mut flows = BTreeMap::new();
    for flow in report["flows"].as_array().expect("flows") {
        let key = ["writer", "toucher", "reader"].map(|role| function(&flow[role]));
        *flows.entry(key).or_default() += flow["bytes"].as_u64().expect("bytes");
    }
    flows
}

/// (bytes, cost) of all flows.
fn sums(report: &Value) -> (u64, u64) {
    let flows = report["flows"].as_array().expect("flows");
    let sum = |field: &str| flows.iter().map(|f| f[field].as_u64().expect("a number")).sum();
    (sum("bytes"), sum("cost"))
}

fn expected(flows: &[(&str, u64)]) -> BTreeMap<[String; 3], u64> {
    let key = |path: &str| {
        let names: Vec<String> = path.split(' ').map(str::to_owned).collect();
        names.try_into().expect("three names")
    };
    flows.iter().map(|(path, bytes)| (key(path), *bytes)).collect()
}

#[test]
fn bytes_go_from_stage_to_stage() {
    let (program, directory) = (case("stages").hooked(), scratch());
    let last = [
        ("fill fill total", 8000),
        ("scale scale total", 8000),
        // The second time both were touched by the first: the one moved with its block, the other was copied.
        ("fill total total", 8000),
        ("main main total", 8000),
    ];
    let report = measured(&program, directory.path(), &["--flows"]).report;
    let mut all = by_function(&report.0);
    all.retain(|key, _| key[2] != "main" || key[0] == "scale");
    let before = [("fill fill scale", 8000), ("fill scale scale", 8000), ("scale total main", 8000)];
    assert_eq!(all, expected(&[&before[..], &last].concat()));
    assert_eq!(sums(&report.0), (report.total("read"), report.total("cost")));

    let roi = measured(&program, directory.path(), &["--flows", "--roi", "total"]).report;
    assert_eq!(by_function(&roi.0), expected(&last), "written outside, read inside");
    assert_eq!(sums(&roi.0), (32_000, roi.total("cost")));
}

#[test]
fn flows_change_no_other_number() {
    for recipe in cases([zlib().args(["4000"]), cpp("threads"), case("private_threads"), short_lua()], 3) {
        let program = recipe.hooked();
        let directory = scratch();
        let trace = directory.path().join("dmdprof.trace");
        let mut record = dmdprof();
        record.args(["record", "-o"]).arg(&trace).arg(&program).args(&recipe.args);
        succeed(record.current_dir(directory.path()));
        let mut reports = [&[][..], &["--flows"]].map(|options| {
            let profile = directory.path().join("data");
            succeed(dmdprof().args(["replay", "--no-lines", "-q", "-o"]).arg(&profile).args(options).arg(&trace));
            let report = dmdprof_tests::profiled::Report::read(&profile);
            report.assert_consistent();
            report
        });
        let (read, cost) = sums(&reports[1].0);
        assert_eq!((read, cost), (reports[1].total("read"), reports[1].total("cost")));
        reports[1].0.as_object_mut().expect("an object").remove("flows");
        assert_eq!(reports[0].0, reports[1].0, "{}", program.display());
    }
}

#[test]
fn a_replay_gives_the_flows_of_a_direct_run() {
    let directory = scratch();
    let options = ["--flows", "--sequence", "a?l"];
    let run = Run::new(case("stages").hooked(), directory.path());
    let direct = std::fs::read(run.options(options).options(["--keep-trace", "t"]).go().profile).expect("a profile");
    let replayed = directory.path().join("replayed");
    let mut replay = dmdprof();
    replay.args(["replay", "--no-lines", "-q", "-o"]).arg(&replayed).args(options).arg("t");
    succeed(replay.current_dir(directory.path()));
    assert_same("flows and calls", &direct, &std::fs::read(replayed).expect("a profile"));
}

#[test]
fn calls_are_written_down_in_order() {
    let (program, directory) = (case("stages").hooked(), scratch());
    let report = measured(&program, directory.path(), &["--sequence", "all"]).report;
    let call = |function: &str, times: u64| json!({ "function": function, "times": times });
    let calls = [call("fill", 2), call("scale", 2), call("fill", 1), call("total", 1)];
    assert_eq!(report.0["sequences"], json!([{ "function": "all", "calls": calls, "omitted": 0 }]));

    let source = in_tests("programs/cases/stages.c");
    let values = measured(&source, directory.path(), &["--model", "values", "--sequence", "all"]).report;
    assert_eq!(values.0["sequences"], report.0["sequences"]);

    let inside = measured(&program, directory.path(), &["--sequence", "main", "--roi", "scale"]).report;
    assert_eq!(inside.0["sequences"], json!([{ "function": "main", "calls": [], "omitted": 0 }]));
}

fn refused(options: &[&str], code: i32, part: &str) {
    let directory = scratch();
    let output = Run::new(case("stages").hooked(), directory.path()).options(options).command().output();
    let output = output.expect("dmdprof starts");
    assert_eq!(output.status.code(), Some(code), "{}", describe(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{}", describe(&output));
    assert!(!directory.path().join("dmdprof.data").exists(), "{options:?} leaves no profile");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    refused(&["--flows", "--lines-only"], 2, "--flows cannot be combined with --lines-only");
    refused(&["--flows", "--liveness", "exact"], 2, "--flows cannot be combined with --liveness exact");
    refused(&["--flows", "--model", "values"], 2, "--flows is about the memory model");
    refused(&["--sequence", "nobody"], 1, "--sequence nobody matched no function that ran");
    refused(&["--save-outputs", "/no/such/directory/file"], 1, "cannot save outputs");
}

/// What a program saved, as `--save-outputs` describes the file.
fn outputs(program: &Path, arguments: &[&str], options: &[&str]) -> (Output, Vec<Vec<u8>>) {
    let directory = scratch();
    let run =
        Run::new(program, directory.path()).options(["--save-outputs", "outputs"]).options(options).args(arguments);
    let output = run.command().output().expect("dmdprof starts");
    let bytes = std::fs::read(directory.path().join("outputs")).expect("the outputs");
    let (mut rest, mut outputs) = (&bytes[..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk() {
        let (one, after) = after.split_at(u64::from_le_bytes(*length) as usize);
        outputs.push(one.to_vec());
        rest = after;
    }
    assert!(rest.is_empty(), "half a record");
    (output, outputs)
}

fn bytes_of(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn c_outputs() -> Vec<Vec<u8>> {
    let large = (0..5u64 << 20).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    vec![bytes_of(&[1.0, 2.0, 3.0]), bytes_of(&[7.0]), Vec::new(), large]
}

#[test]
fn outputs_are_saved_as_they_are_when_they_are_declared() {
    let source = |name: &str| in_tests("programs/cases").join(name);
    let words = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let rust = vec![words(&[0, 1, 2, 3, 4]), words(&[4, 3, 2, 1, 0]), Vec::new(), b"end".to_vec()];
    let cpp = vec![words(&[3, 1, 2]), vec![7, 0, 8, 0]];
    for (name, expected) in [("outputs.c", c_outputs()), ("outputs.rs", rust), ("outputs.cpp", cpp)] {
        for model in ["memory", "values"] {
            let (output, found) = outputs(&source(name), &[], &["--model", model]);
            assert!(output.status.success(), "{name}, {model}: {}", describe(&output));
            assert!(found == expected, "{name}, {model}: {:?}", found.iter().map(Vec::len).collect::<Vec<_>>());
        }
    }
}

#[test]
fn outputs_of_threads_and_processes_stay_whole() {
    let (output, found) = outputs(&case("outputs").hooked(), &["threads"], &[]);
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(found.len(), 14 * 200);
    let mut by_writer: BTreeMap<u8, usize> = BTreeMap::new();
    for one in found {
        let distinct: BTreeSet<u8> = one.iter().copied().collect();
        assert_eq!((one.len(), distinct.len()), (3000, 1), "a record of one writer");
        *by_writer.entry(one[0]).or_default() += 1;
    }
    assert_eq!(by_writer, (b'a'..=b'n').map(|name| (name, 200)).collect());
}

#[test]
fn a_process_that_dies_in_an_output_harms_no_other() {
    let (output, found) = outputs(&case("outputs").hooked(), &["killed"], &[]);
    assert!(output.status.success(), "{}", describe(&output));
    let (last, before) = found.split_last().expect("outputs");
    assert_eq!(last, b"end");
    assert!(!before.is_empty() && before.iter().all(|one| one.len() == 5 << 20 && one.iter().all(|byte| *byte == 0)));
}

#[test]
fn an_output_that_cannot_be_saved_is_an_error_and_leaves_no_half_record() {
    let (output, found) = outputs(&case("outputs").hooked(), &["lost"], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("1 of the declared outputs could not be saved"), "{errors}");
    assert!(found == c_outputs());
    assert_eq!(output.stdout, b"done\n", "the program is not disturbed");
}
