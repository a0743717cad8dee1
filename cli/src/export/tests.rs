use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use prost::Message;
use serde_json::Value;

use super::{
    columns::{LARGEST, Scale},
    *,
};
use crate::profile::model::AccessKind;
use crate::profile::sample::{self, Builder, any_profile};
use crate::profile::validate::validate;
use crate::{
    gate::{metric::Metric, summary::Numbers},
    report::{Analysis, Grouping, Inlined, numbers::SumsContext},
};

fn options(target: Target, metrics: &[Metric]) -> Options {
    Options { target, metrics: metrics.to_vec(), inlined: Inlined::All, top: 50, root: None }
}

fn export(profile: &Profile, target: Target, metrics: &[Metric]) -> Vec<u8> {
    let mut out = Vec::new();
    write(profile, &options(target, metrics), &mut out).expect("memory can be written");
    out
}

fn text(profile: &Profile, target: Target, metrics: &[Metric]) -> String {
    String::from_utf8(export(profile, target, metrics)).expect("text")
}

fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).expect("gzip");
    out
}

/// `main` calls `work`, which calls itself; `work` has code of its own and code of `square`, inlined at line 12.
fn recursive() -> Profile {
    let mut b = Builder::new(&["./prog", "1"]);
    let main = b.function("main", Some("/src/a.c"), 1);
    let work = b.function("work", Some("/src/a.c"), 10);
    let square = b.function("square", Some("/src/b.h"), 3);
    let own = b.position(work, 11, None);
    let call = b.position(work, 12, None);
    let inlined = b.position(square, 4, Some(call));
    let plain = b.site(work, Some(own), AccessKind::Load, 8);
    let nested = b.site(work, Some(inlined), AccessKind::Load, 8);
    let outer = b.context(Builder::ROOT, main, 1);
    let first = b.context(outer, work, 2);
    let second = b.context(first, work, 6);
    b.cell(first, plain, &[(100, 80)], &[], 0);
    b.cell(first, nested, &[(10_000, 16)], &[], 0);
    b.cell(second, plain, &[(40_000, 8)], &[], 24);
    let profile = b.finish(|_| {});
    validate(&profile).expect("a good profile");
    profile
}

/// Sums of what `callgrind_annotate` adds up: lines that are not below `calls=`.
fn own_costs(callgrind: &str) -> BTreeMap<String, Vec<u128>> {
    let mut sums: BTreeMap<String, Vec<u128>> = BTreeMap::new();
    let (mut function, mut called) = (String::new(), false);
    for line in callgrind.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = name.into();
        } else if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit()) && !std::mem::take(&mut called) {
            let values: Vec<u128> = line.split(' ').skip(1).map(|n| n.parse().expect("a number")).collect();
            let sum = sums.entry(function.clone()).or_insert_with(|| vec![0; values.len()]);
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    sums
}

#[test]
fn callgrind_has_lines_calls_and_recursion_counted_once() {
    insta::assert_snapshot!(text(&recursive(), Target::Callgrind, &[Metric::READ, Metric::Traffic(32 << 10)]));
}

#[test]
fn folded_stacks_are_read_by_inferno() {
    let mut profile = recursive();
    let symbol = profile.functions[2].symbol;
    profile.strings[symbol.index()] = "odd;name\nwith\u{1b}[31m all".into();
    let folded = text(&profile, Target::Folded, &[Metric::READ]);
    assert_eq!(folded, "main;work 80\nmain;work;odd:name\\nwith\\x1b[31m all 16\nmain;work;work 8\n");
    let mut svg = Vec::new();
    let mut look = inferno::flamegraph::Options::default();
    inferno::flamegraph::from_lines(&mut look, folded.lines(), &mut svg).expect("inferno reads it");
    let svg = String::from_utf8(svg).expect("text");
    assert!(svg.contains("all (104 samples, 100%)"), "{svg}");
}

#[test]
fn pprof_says_what_the_profile_says() {
    let profile = recursive();
    let metrics = [Metric::COST, Metric::READ];
    let message = pprof::Profile::decode(unzip(&export(&profile, Target::Pprof, &metrics)).as_slice()).expect("pprof");
    let string = |id: i64| message.string_table[id as usize].as_str();
    let types: Vec<(&str, &str)> = message.sample_type.iter().map(|t| (string(t.r#type), string(t.unit))).collect();
    assert_eq!(types, [("cost", "count"), ("read", "bytes")]);
    assert_eq!(string(message.default_sample_type), "cost");
    let frame = |location: &u64| {
        let line = message.location[*location as usize - 1].line[0];
        let function = message.function[line.function_id as usize - 1];
        format!("{} {}:{}", string(function.name), string(function.filename), line.line)
    };
    let nested = message.sample.iter().find(|s| s.location_id.len() == 3 && s.value[1] == 16).expect("the inlined one");
    let frames: Vec<String> = nested.location_id.iter().map(frame).collect();
    assert_eq!(frames, ["square /src/b.h:4", "work /src/a.c:12", "main /src/a.c:1"]);
    assert_eq!(nested.value, [16 * 100, 16]);
}

#[test]
fn the_firefox_profile_has_a_track_per_metric_with_exact_weights() {
    let profile = recursive();
    let metrics = [Metric::COST, Metric::WRITTEN];
    let json: Value = serde_json::from_slice(&unzip(&export(&profile, Target::Firefox, &metrics))).expect("JSON");
    let tracks = json["threads"].as_array().expect("threads");
    assert_eq!(tracks.len(), 2);
    assert_eq!(tracks[0]["samples"]["weight"], serde_json::json!([16 * 100, 80 * 10, 8 * 200]));
    assert_eq!(
        (&tracks[1]["samples"]["weight"], &tracks[1]["samples"]["weightType"]),
        (&serde_json::json!([24]), &"bytes".into())
    );
    for track in tracks {
        let length = track["samples"]["length"].as_u64().expect("a length") as usize;
        for column in ["stack", "weight"] {
            assert_eq!(track["samples"][column].as_array().expect(column).len(), length);
        }
    }
}

/// Self time by node, as a reader finds it that adds the delta at `ahead` of a sample to its node.
fn self_times(profile: &Value, ahead: isize) -> Vec<u64> {
    let list = |name: &str| -> Vec<u64> {
        profile[name].as_array().expect(name).iter().map(|n| n.as_u64().expect("an integer")).collect()
    };
    let (samples, deltas) = (list("samples"), list("timeDeltas"));
    let mut times = vec![0; profile["nodes"].as_array().expect("nodes").len()];
    for (at, node) in samples.iter().enumerate() {
        let delta = at.checked_add_signed(ahead).and_then(|at| deltas.get(at));
        times[*node as usize - 1] += delta.unwrap_or(&0);
    }
    times
}

#[test]
fn a_cpu_profile_gives_both_kinds_of_readers_the_same_times_at_the_lines() {
    let profile: Value = serde_json::from_str(&text(&recursive(), Target::Cpuprofile, &[Metric::READ])).expect("JSON");
    let nodes = profile["nodes"].as_array().expect("nodes");
    let place = |node: &Value| {
        let frame = &node["callFrame"];
        format!("{} {}:{}", frame["functionName"].as_str().expect("a name"), frame["url"], frame["lineNumber"])
    };
    let places: Vec<String> = nodes.iter().map(place).collect();
    assert_eq!(
        places,
        [
            "(root) \"\":-1",
            "main \"file:///src/a.c\":0",
            "work \"file:///src/a.c\":9",
            "work \"file:///src/a.c\":10",
            "work \"file:///src/a.c\":10",
            "work \"file:///src/a.c\":11",
            "square \"file:///src/b.h\":3",
        ]
    );
    // Chrome takes a sample to last until the next one, VS Code the other way round.
    let expected = vec![0, 0, 0, 8, 80, 0, 16];
    assert_eq!((self_times(&profile, 1), self_times(&profile, -1)), (expected.clone(), expected));
    assert_eq!(profile["endTime"], 104);
    let ids: Vec<u64> = nodes.iter().map(|node| node["id"].as_u64().expect("a number")).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7], "VS Code finds a node by its place in the list");
}

#[test]
fn sarif_is_read_by_types_made_from_its_schema() {
    let text = text(&recursive(), Target::Sarif, &[Metric::COST]);
    let sarif: serde_sarif::sarif::Sarif = serde_json::from_str(&text).expect("SARIF 2.1.0");
    let results = sarif.runs[0].results.as_ref().expect("results");
    let lines: Vec<(Option<i64>, Option<String>)> = results
        .iter()
        .map(|result| {
            let place = result.locations.as_ref().expect("a place")[0].physical_location.clone().expect("a file");
            (place.region.expect("a region").start_line, place.artifact_location.expect("a file").uri)
        })
        .collect();
    let at = |line, file: &str| (Some(line), Some(format!("file:///src/{file}")));
    assert_eq!(lines, [at(11, "a.c"), at(4, "b.h")]);
    assert_eq!(results[0].message.text.as_deref(), Some("ByteDMD 2400, 60.0% of the program, in work"));
}

#[test]
fn sarif_names_files_below_the_repository_relative_to_it() {
    let mut out = Vec::new();
    let options = Options { root: Some("/src".into()), top: 1, ..options(Target::Sarif, &[Metric::COST]) };
    write(&recursive(), &options, &mut out).expect("memory can be written");
    let json: Value = serde_json::from_slice(&out).expect("JSON");
    let results = json["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a.c");
}

#[test]
fn library_code_counts_for_the_frame_of_the_users() {
    let mut profile = recursive();
    let header = profile.positions.iter().filter_map(|p| p.file).find(|f| profile.strings[f.index()] == "/src/b.h");
    profile.strings[header.expect("a header").index()] = "/usr/include/b.h".into();
    let folded = |inlined| {
        let mut out = Vec::new();
        write(&profile, &Options { inlined, ..options(Target::Folded, &[Metric::READ]) }, &mut out).expect("memory");
        String::from_utf8(out).expect("text")
    };
    assert_eq!(folded(Inlined::Own), "main;work 96\nmain;work;work 8\n");
    assert_eq!(folded(Inlined::All), "main;work 80\nmain;work;square 16\nmain;work;work 8\n");
}

#[test]
fn totals_beyond_64_bits_are_scaled_and_named_so() {
    let huge = 5 * LARGEST;
    let scale = Scale::for_total(huge);
    assert_eq!((scale, scale.name("cost")), (Scale { divisor: 1000, power: 3 }, "cost_in_1e3".into()));
    assert_eq!((scale.apply(1499), scale.apply(1500), scale.apply(0)), (1, 2, 0));
    assert_eq!(
        (Scale::for_total(LARGEST).apply(LARGEST), Scale::for_total(0).name("read")),
        (i64::MAX as u64, "read".into())
    );
}

#[test]
fn one_metric_formats_and_defaults_are_consistent() {
    assert!(DEFAULT_METRICS.iter().all(|metric| is_of_code(*metric)));
    for metric in [Metric::CALLS, Metric::COPIED, Metric::FOOTPRINT, Metric::PEAK_LIVE, Metric::CYCLES] {
        assert!(!is_of_code(metric));
    }
}

#[test]
fn numbers_of_the_report_add_up_over_stacks() {
    let profile = sample::with_caches();
    let names = ["caches_l1_loaded", "moved_32kib_loaded", "fills(32KiB)", "int_ops", "flops", "Q(1MiB)"];
    let metrics = names.map(|name| name.parse::<Metric>().expect(name));
    assert!(metrics.iter().all(|metric| is_of_code(*metric)));
    let analysis = Analysis::new(&profile, Grouping::Functions);
    let total = Numbers::from_sums(&analysis.total, SumsContext { profile: &profile, total: &analysis.total });
    let stacks = Stacks::from_profile(&profile, &metrics, Inlined::Own);
    assert_eq!(stacks.totals, metrics.map(|metric| total.of(metric)));
    assert!(stacks.totals[..3].iter().all(|n| *n > 0), "{:?}", stacks.totals);
}

proptest! {
    /// Whatever the profile: every format that adds up adds up to the profile's totals.
    #[test]
    fn nothing_is_lost_on_the_way(profile in any_profile()) {
        let metrics = [Metric::COST, Metric::READ, Metric::WRITTEN];
        let totals = [profile.totals.cost, profile.totals.read.into(), profile.totals.written.into()];
        let sums = |values: &mut dyn Iterator<Item = Vec<u128>>| {
            values.fold(vec![0u128; 3], |sum, value| sum.iter().zip(value).map(|(a, b)| a + b).collect())
        };
        let callgrind = text(&profile, Target::Callgrind, &metrics);
        prop_assert_eq!(sums(&mut own_costs(&callgrind).into_values()), totals);

        let message = pprof::Profile::decode(unzip(&export(&profile, Target::Pprof, &metrics)).as_slice()).expect("pprof");
        let values = message.sample.iter().map(|s| s.value.iter().map(|v| *v as u128).collect());
        prop_assert_eq!(sums(&mut values.into_iter()), totals);

        let speedscope: Value = serde_json::from_slice(&export(&profile, Target::Speedscope, &metrics)).expect("JSON");
        for (at, total) in totals.iter().enumerate() {
            let weights = speedscope["profiles"][at]["weights"].as_array().expect("weights");
            prop_assert_eq!(weights.iter().map(|w| u128::from(w.as_u64().expect("an integer"))).sum::<u128>(), *total);
        }

        let csv = export(&profile, Target::Csv, &metrics);
        let mut reader = ::csv::Reader::from_reader(csv.as_slice());
        let rows: Vec<Vec<u128>> = reader
            .records()
            .map(|row| row.expect("a row").iter().skip(5).map(|n| n.parse().expect("a number")).collect())
            .collect();
        prop_assert_eq!(sums(&mut rows.into_iter()), totals);

        let cpu: Value = serde_json::from_slice(&export(&profile, Target::Cpuprofile, &[Metric::READ])).expect("JSON");
        prop_assert_eq!(u128::from(self_times(&cpu, 1).iter().sum::<u64>()), totals[1]);

        let folded = text(&profile, Target::Folded, &[Metric::COST]);
        let values = folded.lines().map(|line| line.rsplit(' ').next().and_then(|n| n.parse::<u128>().ok()).expect("a number"));
        prop_assert_eq!(values.sum::<u128>(), totals[0]);
    }
}
