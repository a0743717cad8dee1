//! Every format, on a run and a changed one.

use std::path::PathBuf;

use super::check::Results;
use super::diff::Diff;
use super::machine::annotations;
use crate::gate::check::{Checked, Compared, Ending};
use crate::gate::compare::Comparison;
use crate::gate::key::{Key, PathMap};
use crate::gate::limits::{Limit, Limits};
use crate::gate::metric::Metric;
use crate::gate::provenance::{Difference, What};
use crate::gate::summary::{FunctionLines, Numbers, Summary};
use crate::gate::verdict::Verdict;
use crate::profile::sample;

fn before() -> Summary {
    Summary::from_profile(&sample::small(), &PathMap::default())
}

/// One function reads from deeper, one is called more often, one is renamed, one is new.
fn after() -> Summary {
    let mut summary = before();
    let key = |name: &str, file: &str| Key { name: name.into(), file: file.into() };
    for (key, function) in &mut summary.functions {
        let numbers = &mut function.numbers;
        if key.name.starts_with("linalg::Matrix::at") {
            *numbers.entry(Metric::COST) += 50_000_000_000;
            numbers.depths.remove(&4096);
            *numbers.depths.entry(1 << 20).or_default() += 60_000_000;
        }
        if key.name.starts_with("util::quicksort") {
            [Metric::CALLS, Metric::COST, Metric::READ].into_iter().for_each(|metric| *numbers.entry(metric) *= 2);
            numbers.depths.values_mut().for_each(|bytes| *bytes *= 2);
        }
    }
    let mean = summary.functions.remove(&key("stats::mean", "stats/src/lib.rs")).expect("in the sample");
    summary.functions.insert(key("stats::average", "stats/src/lib.rs"), mean.clone());
    let mut fresh = mean;
    fresh.body = 1;
    *fresh.numbers.entry(Metric::ACCESSES) += 1;
    fresh.place = Some(FunctionLines { line: 30, hottest: 33 });
    summary.functions.insert(key("stats::median<T>|x", "stats/src/lib.rs"), fresh);
    summary.total.by_path.retain(|path, _| ["footprint", "peak_live"].contains(&path.as_str()));
    summary.total = Numbers { by_path: summary.total.by_path, ..Numbers::default() };
    summary.functions.values().for_each(|f| summary.total.merge(&f.numbers));
    summary
}

fn compared() -> Checked {
    let comparison = Comparison::between(&before(), &after());
    let verdict = Verdict::judge(&comparison, &Limits::default());
    let compared = Compared { comparison, verdict, accepted: false, acceptable: true };
    checked("solve", Ending::Compared(Box::new(compared)))
}

fn checked(name: &str, ending: Ending) -> Checked {
    Checked {
        name: name.into(),
        baseline: Some(PathBuf::from(format!("dmdprof/{name}.toml"))),
        certified: false,
        unseen: Vec::new(),
        profile: None,
        ending,
    }
}

fn cases() -> Vec<Checked> {
    let same = Comparison::between(&before(), &before());
    let verdict = Verdict::judge(&same, &Limits::default());
    let same = Compared { comparison: same, verdict, accepted: false, acceptable: true };
    vec![
        checked("same", Ending::Compared(Box::new(same))),
        compared(),
        checked("new", Ending::Saved(Box::new(before()))),
        checked("broken", Ending::Error(anyhow::anyhow!("there is no profile\n  | x: not found"))),
    ]
}

fn text(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

fn with_diff<T>(test: impl Fn(&Diff<'_>) -> T) -> T {
    let comparison = Comparison::between(&before(), &after());
    let differences = [Difference { what: What::Command, before: "solve 1".into(), after: "solve 2".into() }];
    test(&Diff {
        names: ["a.data".into(), "b.data".into()],
        comparison: &comparison,
        differences: &differences,
        sort: Metric::COST,
        top: None,
        width: Some(120),
        color: false,
    })
}

fn schema(name: &str) -> jsonschema::Validator {
    let path = format!("{}/../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn complaints(schema: &str, json: &str) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    schema_errors(&self::schema(schema), &value)
}

fn schema_errors(schema: &jsonschema::Validator, value: &serde_json::Value) -> Vec<String> {
    schema.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

#[test]
fn diffs() {
    insta::assert_snapshot!("diff_table", with_diff(|d| text(|out| d.table(out))));
    insta::assert_snapshot!("diff_markdown", with_diff(|d| text(|out| d.markdown(out))));
    insta::assert_snapshot!("diff_csv", with_diff(|d| text(|out| d.csv(out))));
}

#[test]
fn tables_fit_80_columns() {
    let cases = cases();
    let results = Results { checked: &cases, strict: false, width: Some(80), color: false };
    let tables = [
        with_diff(|d| text(|out| Diff { width: Some(80), names: d.names.clone(), ..*d }.table(out))),
        text(|out| results.text(out)),
    ];
    for table in &tables {
        // Sentences may be longer; rows have columns.
        let rows = table.lines().filter(|line| line.trim_start().contains("  "));
        let wide: Vec<&str> = rows.filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{table}\n{}", wide.join("\n"));
    }
    assert!(tables[0].contains("(no room for flops"), "{}", tables[0]);
}

#[test]
fn checks() {
    let cases = cases();
    let results = Results { checked: &cases, strict: false, width: Some(120), color: false };
    assert_eq!(results.exit_code(), 1);
    insta::assert_snapshot!("check_text", text(|out| results.text(out)));
    insta::assert_snapshot!("check_markdown", results.markdown());
    insta::assert_snapshot!("check_junit", text(|out| results.junit(out)));
    insta::assert_snapshot!("check_annotations", text(|out| annotations(&results, "sub/", out)));
    insta::assert_snapshot!("check_bencher", text(|out| results.bencher(out)));
}

#[test]
fn json_follows_its_schemas() {
    let diff = with_diff(|d| text(|out| d.json(out)));
    assert_eq!(complaints("diff-schema.json", &diff), Vec::<String>::new());
    let cases = cases();
    let results = Results { checked: &cases, strict: false, width: None, color: false };
    let check = text(|out| results.json(out));
    assert_eq!(complaints("check-schema.json", &check), Vec::<String>::new());
    for (schema, json, from, to) in [
        ("diff-schema.json", &diff, "\"version\": 1", "\"version\": 2"),
        ("diff-schema.json", &diff, "\"fate\": \"new\"", "\"fate\": \"other\""),
        ("check-schema.json", &check, "\"defects\":", "\"faults\":"),
        ("check-schema.json", &check, "\"result\": \"ok\"", "\"result\": \"fine\""),
    ] {
        assert!(json.contains(from), "{from}");
        assert!(!complaints(schema, &json.replace(from, to)).is_empty(), "{to}");
    }
}

/// What the two services document of their formats.
#[test]
fn services_take_their_formats() {
    let same = Comparison::between(&before(), &before());
    let one = (Metric::PEAK_LIVE, Limit::EXACT);
    let limits = Limits { total: [one].into(), ..Limits::default() };
    let verdict = Verdict::judge(&same, &limits);
    let same = Compared { comparison: same, verdict, accepted: false, acceptable: true };
    let cases = [checked("solve", Ending::Compared(Box::new(same)))];
    let results = Results { checked: &cases, strict: false, width: None, color: false };
    let bencher = serde_json::json!({
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": { "pattern": "^[a-z0-9]+(-+[a-z0-9]+)*$" },
            "additionalProperties": {
                "type": "object",
                "required": ["value"],
                "additionalProperties": false,
                "properties": {
                    "value": { "type": "number" },
                    "lower_value": { "type": "number" },
                    "upper_value": { "type": "number" }
                }
            }
        }
    });
    let benchmark = serde_json::json!({
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["name", "unit", "value"],
            "additionalProperties": false,
            "properties": {
                "name": { "type": "string" },
                "unit": { "type": "string" },
                "value": { "type": "number" },
                "range": { "type": "string" },
                "extra": { "type": "string" }
            }
        }
    });
    let of_bencher = text(|out| results.bencher(out));
    let of_benchmark = text(|out| results.smaller_is_better(out));
    for (schema, json, from, to) in [
        (bencher, of_bencher, "\"peak-live\"", "\"peak live\""),
        (benchmark, of_benchmark, "\"unit\": \"bytes\"", "\"units\": 1"),
    ] {
        let schema = jsonschema::draft202012::new(&schema).unwrap();
        let complaints = |json: &str| schema_errors(&schema, &serde_json::from_str(json).unwrap());
        assert_eq!(complaints(&json), Vec::<String>::new(), "{json}");
        assert!(json.contains(from) && !complaints(&json.replace(from, to)).is_empty(), "{json}");
    }
}

/// However much changed, GitHub takes the summary.
#[test]
fn markdown_is_never_too_long() {
    let cases: Vec<Checked> = (0..1000).map(|_| compared()).collect();
    let one = Results { checked: &cases[..1], strict: false, width: None, color: false }.markdown().len();
    assert!(one * 1000 > 1 << 20, "the test needs more cases");
    let markdown = Results { checked: &cases, strict: false, width: None, color: false }.markdown();
    assert!(markdown.len() < 1 << 20 && markdown.contains("did not fit"), "{}", markdown.len());
}
