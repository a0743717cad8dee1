//! The values model on what languages do with values: moving them is free, whatever moves them, and what looks at them
//! is counted. Also what it says when a program or a command line is wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dmdprof_tests::tool::{describe, dmdprof, in_tests, scratch, succeed};
use serde_json::Value;

fn source(name: &str) -> PathBuf {
    in_tests("values").join(name)
}

fn run(source: &Path, options: &[&str], profile: &Path) -> Command {
    let mut command = dmdprof();
    command.args(["run", "--quiet", "--model", "values", "-o"]).arg(profile).args(options).arg(source);
    command
}

fn report(profile: &Path) -> Value {
    let output = succeed(dmdprof().arg("report").arg(profile).args(["--format", "json"]));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn measured(source: &Path, options: &[&str]) -> Value {
    let directory = scratch();
    let profile = directory.path().join("profile");
    succeed(&mut run(source, options, &profile));
    report(&profile)
}

fn regions(report: &Value) -> BTreeMap<String, &Value> {
    let regions = report["regions"].as_array().expect("regions");
    regions.iter().map(|r| (r["name"].as_str().expect("a name").to_owned(), r)).collect()
}

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("no number {field} in {value}"))
}

/// The dot product of four elements in the golden file.
fn golden_dot() -> Value {
    let text = std::fs::read_to_string(in_tests("kernels/bytedmd_golden.json")).expect("the golden numbers");
    let goldens: Value = serde_json::from_str(&text).expect("JSON");
    goldens["cases"].as_array().expect("cases").iter().find(|c| c["id"] == "dot/n=4").expect("the case").clone()
}

#[test]
fn moves_are_free_whatever_moves() {
    let golden = golden_dot();
    for (file, count) in [("moves.c", 12), ("moves.cpp", 6), ("moves.rs", 6)] {
        let report = measured(&source(file), &["--bytes-per-element", "8"]);
        let regions = regions(&report);
        assert_eq!(regions.len(), count, "{file}");
        for (name, region) in regions {
            assert_eq!(region["cost"], golden["cost"]["8"], "{file}: {name}: cost");
            assert_eq!(region["reads"], golden["reads"], "{file}: {name}: reads");
            assert_eq!(region["instructions"], golden["instructions"], "{file}: {name}: instructions");
            assert_eq!(number(region, "peak_live"), 8 * number(&golden, "peak_live"), "{file}: {name}: peak");
        }
        let unseen = &report["coverage"]["unseen_calls"];
        assert_eq!(unseen.as_array().map(Vec::len), Some(0), "{file}: {unseen}");
    }
}

#[test]
fn what_looks_at_a_value_is_a_read() {
    let cost = |options: &[&str]| {
        let report = measured(&source("semantics.c"), options);
        let costs: Vec<(String, u64)> =
            regions(&report).into_iter().map(|(name, region)| (name, number(region, "cost"))).collect();
        costs
    };
    let expected = |fma| {
        [("condition", 2), ("constant", 0), ("fma", fma), ("index", 3), ("library", 5), ("twice", 2)]
            .map(|(name, cost)| (name.to_owned(), cost))
    };
    assert_eq!(cost(&["--bytes-per-element", "1"]), expected(7));
    assert_eq!(cost(&["--bytes-per-element", "1", "--fma", "one"]), expected(5));
}

#[test]
fn code_that_follows_no_values_is_counted_by_name() {
    let report = measured(&source("unfollowed.c"), &[]);
    let unseen = report["coverage"]["unseen_calls"].as_array().expect("a list");
    let found: Vec<(&str, u64)> =
        unseen.iter().map(|c| (c["name"].as_str().expect("a name"), number(c, "count"))).collect();
    assert_eq!(found, [("srand48", 3), ("inline assembly", 1), ("sum (variable arguments)", 1)]);
}

/// By region, in order of names: cost and reads.
fn costs(report: &Value) -> BTreeMap<String, (u64, u64)> {
    regions(report).into_iter().map(|(name, r)| (name, (number(r, "cost"), number(r, "reads")))).collect()
}

fn unseen(report: &Value) -> Vec<(&str, u64)> {
    let calls = report["coverage"]["unseen_calls"].as_array().expect("a list");
    calls.iter().map(|c| (c["name"].as_str().expect("a name"), number(c, "count"))).collect()
}

#[test]
fn collections_that_grow_keep_the_values_in_them() {
    let report = measured(&source("collections.rs"), &["--bytes-per-element", "1"]);
    let costs = costs(&report);
    assert_eq!(costs.len(), 24);
    for (name, found) in &costs {
        // Nine products of the inputs, 1 + .. + ceil(sqrt(9)) each time the first of nine, then the sum; the same for
        // 40 bytes.
        let like = if name.starts_with("String") { "String, to_owned" } else { "with_capacity" };
        assert_eq!(found, &costs[like], "{name}");
    }
    assert_eq!(costs["with_capacity"].1, 9 + 2 * 8);
    assert_eq!(costs["String, to_owned"].1, 2 * 39);
    assert_eq!(unseen(&report), []);
}

#[test]
fn library_functions_that_move_values_or_call_back_are_followed() {
    let report = measured(&source("library.c"), &["--bytes-per-element", "1"]);
    let costs = costs(&report);
    let (cost, reads) = costs["by hand"];
    assert_eq!((costs.len(), reads), (7, 12 + 2 * 11));
    for (name, found) in &costs {
        // What is printed is looked at once, where it lies on top.
        let printed = u64::from(name == "snprintf");
        assert_eq!(found, &(cost + printed, reads + printed), "{name}");
    }
    assert_eq!(unseen(&report), []);
}

#[test]
fn characters_keep_their_identities_in_strings() {
    let report = measured(&source("strings.cpp"), &["--bytes-per-element", "1"]);
    let costs = costs(&report);
    assert_eq!(costs.len(), 8);
    for (name, found) in &costs {
        assert_eq!(found, &costs["constructed"], "{name}");
    }
    assert_eq!(costs["constructed"].1, 2 * 39);
    assert_eq!(unseen(&report), []);
}

#[test]
fn code_without_hooks_that_is_shown_values_is_counted() {
    let report = measured(&source("overwritten.c"), &[]);
    let mut found = unseen(&report);
    found.sort_unstable();
    assert_eq!(found, [("__isoc99_sscanf", 1), ("erand48", 1), ("setvbuf", 1)]);
}

#[test]
fn what_was_not_meant_is_said() {
    let directory = scratch();
    let profile = directory.path().join("profile");
    succeed(&mut run(&source("misuse.c"), &["--bytes-per-element", "1"], &profile));
    let text = String::from_utf8(succeed(dmdprof().arg("report").arg(&profile)).stdout).expect("text");
    let report = report(&profile);
    let regions = regions(&report);
    let field = |name: &str, field| number(regions[name], field);
    assert_eq!((field("loaded early", "early_reads"), field("loaded early", "reads")), (1, 1));
    assert_eq!((field("never read", "unread_inputs"), field("never read", "unread_bytes")), (1, 32));
    assert_eq!((field("constants", "cost"), field("constants", "unread_inputs")), (0, 0));
    // Two values of 10 bytes, and nothing between them.
    assert_eq!((field("padding", "input_bytes"), field("padding", "cost")), (2, 3));
    for note in [
        "loaded early: 1 read of what had been loaded from an input before dmdprof_begin",
        "never read: 1 declared input of 32 B in all never read",
        "constants: nothing was read: all that it computes derives from constants",
    ] {
        assert!(text.contains(note), "no {note:?} in\n{text}");
    }
    assert_eq!(text.matches("never read").count(), 3, "{text}");
}

/// Exclusive shares of the longest chain, by function, add up to it.
#[test]
fn shares_of_the_span_add_up() {
    let microgpt = in_tests("kernels/c/microgpt.c");
    let directory = scratch();
    let (program, profile) = (directory.path().join("microgpt"), directory.path().join("profile"));
    succeed(dmdprof().args(["build", "--model", "values", "-o"]).arg(&program).arg(&microgpt));
    succeed(run(&program, &["--bytes-per-element", "1"], &profile).args(["E=4", "heads=2"]));
    let report = report(&profile);
    let spans: Vec<u64> =
        report["functions"].as_array().expect("functions").iter().map(|f| number(&f["exclusive"], "span")).collect();
    assert_eq!(spans.iter().sum::<u64>(), 66, "the golden span of microgpt with E = 4");
    assert!(spans.iter().filter(|s| **s > 0).count() >= 4, "{spans:?}");
}

#[test]
fn without_declared_inputs_the_first_use_decides_and_the_report_says_so() {
    let directory = scratch();
    let profile = directory.path().join("profile");
    let report = |directory: &Path| {
        let mut command = dmdprof();
        command.args(["run", "--model", "values", "--bytes-per-element", "1", "-o"]).arg(directory.join("profile"));
        succeed(command.arg(source("undeclared.c")))
    };
    let text = String::from_utf8(report(directory.path()).stdout).expect("text");
    assert!(text.contains("no inputs were declared"), "{text}");
    let report = self::report(&profile);
    let regions = regions(&report);
    let region = regions["whole run"];
    // Cold operands lie one and two below the bottom: 1 + 2, then 2 + 2 below the sum. Sums read 1, then 2 + 1; the
    // product with a constant 1, the comparison 1.
    assert_eq!(number(region, "cost"), (1 + 2) + 1 + 2 * ((2 + 2) + (2 + 1)) + 1 + 1, "{region}");
    assert_eq!(region["inputs"], "first use");
}

/// A run that must fail with one of these messages.
fn refused(source: &Path, options: &[&str], code: i32, messages: &[&str]) {
    let directory = scratch();
    let output = run(source, options, &directory.path().join("profile")).output().expect("dmdprof starts");
    check_refusal(&output, code, messages);
}

fn check_refusal(output: &Output, code: i32, messages: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", describe(output));
    let stderr = String::from_utf8_lossy(&output.stderr);
    for message in messages {
        assert!(stderr.contains(message), "no {message:?} in\n{stderr}");
    }
}

#[test]
fn wrong_declarations_are_refused() {
    let wrong = |case: &str, messages: &[&str]| {
        let directory = scratch();
        let program = directory.path().join("wrong");
        succeed(dmdprof().args(["build", "--model", "values", "-o"]).arg(&program).arg(source("wrong.c")));
        let mut command = run(&program, &[], &directory.path().join("profile"));
        check_refusal(&command.arg(case).output().expect("dmdprof starts"), 1, messages);
    };
    wrong("overlap", &["overlaps an input declared before"]);
    wrong("never", &["no region began"]);
    wrong("crossed", &["regions must nest"]);
    wrong("lonely end", &["ended but had not begun"]);
    wrong("late output", &["dmdprof_output outside any region"]);
}

#[test]
fn a_region_that_never_ends_is_priced_up_to_the_end_and_says_so() {
    let directory = scratch();
    let profile = directory.path().join("profile");
    let program = directory.path().join("wrong");
    succeed(dmdprof().args(["build", "--model", "values", "-o"]).arg(&program).arg(source("wrong.c")));
    succeed(run(&program, &["--bytes-per-element", "1"], &profile).arg("open"));
    let report = report(&profile);
    let region = regions(&report)["open"].clone();
    assert_eq!((number(&region, "unfinished"), number(&region, "cost")), (1, 3));
    let text = String::from_utf8(succeed(dmdprof().arg("report").arg(&profile)).stdout).expect("text");
    assert!(text.contains("open: did not end before the program did"), "{text}");
}

#[test]
fn the_other_model_is_refused_with_advice() {
    let directory = scratch();
    let dot = source("undeclared.c");
    let build = |model: &str| {
        let program = directory.path().join(model);
        succeed(dmdprof().args(["build", "--model", model, "-o"]).arg(&program).arg(&dot));
        program
    };
    let (memory, values) = (build("memory"), build("values"));
    refused(&memory, &[], 1, &["compiled for the memory model", "--dmdprof-model=values"]);
    let mut command = dmdprof();
    command.args(["run", "-q", "-o"]).arg(directory.path().join("profile")).arg(&values);
    check_refusal(&command.output().expect("dmdprof starts"), 1, &["compiled for the values model", "--model values"]);

    let conflicts: [&[&str]; 4] = [&["--lines-only"], &["--roi", "x"], &["--liveness", "hints"], &["-O", "3"]];
    for options in conflicts {
        let code = if options[0] == "-O" { 1 } else { 2 };
        refused(&dot, options, code, &[options[0], "memory model"]);
    }
    refused(&dot, &["--bytes-per-element", "3"], 2, &["must be 1, 2, 4 or 8"]);
    let mut command = dmdprof();
    command.args(["run", "--bytes-per-element", "1"]).arg(&dot);
    check_refusal(&command.output().expect("dmdprof starts"), 2, &["add --model values"]);
}

/// Every event, and the stack after it.
#[test]
fn a_listing_can_show_the_stack() {
    let output = succeed(dmdprof().args(["ir", "--stack", "--bytes-per-element", "1"]).arg(source("semantics.c")));
    let text = String::from_utf8(output.stdout).expect("text");
    let fma: Vec<&str> =
        text.lines().skip_while(|l| *l != "region fma").take_while(|l| *l != "region condition").collect();
    insta::assert_snapshot!(fma.join("\n"), @r#"
    region fma
    push v1
      stack, top first: v1
    push v2
      stack, top first: v2 v1
    push v3
      stack, top first: v3 v2 v1
    read v1 depth 3 cost 2
    read v2 depth 2 cost 2
    instr mul reads v1@3 v2@2 cost 4
      stack, top first: v3
    push v4
      stack, top first: v4 v3
    read v4 depth 1 cost 1
    read v3 depth 2 cost 2
    instr add reads v4@1 v3@2 cost 3
      stack, top first: (empty)
    push v5
      stack, top first: v5
    total 7 (4 reads)
    "#);
}
