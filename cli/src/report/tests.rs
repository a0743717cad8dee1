//! What the report looks like. Accept intended changes with `INSTA_UPDATE=always cargo test -p dmdprof`.

use std::io::Read;

use dmdprof_runtime::cycles::Cause;
use proptest::prelude::*;

use super::*;
use crate::profile::model::{
    AccessKind, CellCounts, ContextId, CycleCore, CycleCounts, CyclePlace, DataObject, DataObjects, FunctionId,
    MeasuredCycles, ObjectId, ObjectKind, ObjectUse, Outcome, SiteId, StringId, Totals,
};
use crate::profile::sample::{self, Builder};
use crate::shared::terminal::Terminal;

pub fn text(profile: &Profile, options: &ReportOptions) -> String {
    let mut out = Vec::new();
    render(profile, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub fn plain() -> ReportOptions {
    ReportOptions::default()
}

fn verbose() -> ReportOptions {
    ReportArgs { verbose: true, ..ReportArgs::default() }.options(SubjectArgs::default(), Terminal::default())
}

pub fn formatted(format: Format) -> ReportOptions {
    ReportArgs { format, ..ReportArgs::default() }.options(SubjectArgs::default(), Terminal::default())
}

#[test]
fn table() {
    insta::assert_snapshot!(text(&sample::small(), &plain()));
}

#[test]
fn everything() {
    insta::assert_snapshot!(text(&sample::small(), &verbose()));
    for (options, what) in [
        (ReportOptions { depths: true, ..plain() }, "Reads by depth"),
        (ReportOptions { coverage: true, ..plain() }, "Coverage"),
    ] {
        let report = text(&sample::small(), &options);
        assert!(report.starts_with("./solve") && report.contains(what) && !report.contains("total"), "{report}");
    }
}

/// A program whose functions move more the later they are; a line of each moves more than another.
fn many_functions(count: u32) -> Profile {
    let mut builder = Builder::new(&["./large"]);
    for number in 1..=count {
        let name = format!("_ZN5large9module{number:03}5solveE");
        let function = builder.function(&name, Some("src/large.cpp"), 10 * number);
        let context = builder.context(Builder::ROOT, function, 1);
        for (line, reads) in [(1, 5), (2, 50), (3, 20)] {
            let position = builder.position(function, 10 * number + line, None);
            let site = builder.site(function, Some(position), AccessKind::Load, 8);
            builder.cell(context, site, &[(1 << 20, reads * u64::from(number))], &[], 0);
        }
    }
    builder.finish(|profile| {
        profile.coverage.functions_skipped = 7;
        profile.coverage.unknown_frees = 1;
    })
}

#[test]
fn the_first_screen_fits_24_lines_of_80_columns() {
    let at_80 = ReportOptions { width: Some(80), ..plain() };
    for count in [1, 7, 300] {
        let report = text(&many_functions(count), &at_80);
        let lines: Vec<&str> = report.lines().collect();
        // And the prompt of the shell.
        assert!(lines.len() < 24, "{report}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{report}");
        let first = lines.iter().find(|line| line.contains('%')).expect("a row");
        assert!(first.ends_with(&format!(":{count}2")), "the line that moves most is named: {first}");
        assert!(report.contains("not seen: 7 functions skipped, 1 free of unknown blocks (--coverage)"), "{report}");
    }
    let large = text(&many_functions(300), &at_80);
    assert!(large.contains(" more)\n"), "{large}");
    let all = text(&many_functions(300), &ReportOptions { threshold: 0.0, one_screen: false, ..at_80 });
    assert_eq!(all.matches("large::module").count(), 300);
}

#[test]
fn commands_that_work_here_are_named_at_the_end() {
    let last = |options: &ReportOptions, profile: &Profile| {
        let report = text(profile, options);
        let (report, next) = report.trim_end().rsplit_once("next: ").unwrap();
        let (next, words) = next.rsplit_once('\n').unwrap();
        assert!(words == "words: docs/glossary.md" && !report.contains("next: "), "{report}");
        next.to_owned()
    };
    let usual = "dmdprof report --lines (or --depths, -v); dmdprof view --open";
    assert_eq!(last(&plain(), &sample::small()), usual);
    let by_line = ReportOptions { grouping: Grouping::Lines(Inlined::Own), ..plain() };
    assert_eq!(last(&by_line, &sample::small()), "dmdprof report --depths (or -v); dmdprof view --open");
    let elsewhere = ReportOptions { profile: "it's.data".into(), ..plain() };
    let named = r"dmdprof report 'it'\''s.data' --lines (or --depths, -v); dmdprof view 'it'\''s.data' --open";
    assert_eq!(last(&elsewhere, &sample::small()), named);
    let mut both = sample::flows();
    both.objects.get_or_insert_default();
    assert!(last(&plain(), &both).starts_with("dmdprof why; dmdprof report"), "{}", last(&plain(), &both));
}

#[test]
fn the_variable_of_a_hot_line_is_named_if_it_has_a_name() {
    let with = |kind: ObjectKind| {
        let mut profile = many_functions(1);
        let name = Some(StringId(profile.strings.len() as u32));
        profile.strings.push("matrix".into());
        // The second line reads a little of one and much of the other; the first line reads nothing of that.
        let used = |object: u32, site: usize, read: u64| {
            let counts = CellCounts { cost: read.into(), ..CellCounts::default() };
            ObjectUse { object: ObjectId(object), site: profile.cells[site].site, read, counts }
        };
        let uses = vec![used(0, 0, 5), used(0, 1, 1), used(1, 1, 49)];
        let list = vec![sample::object(ObjectKind::Heap), DataObject { name, ..sample::object(kind) }];
        profile.objects = Some(DataObjects { list, uses, ..DataObjects::default() });
        let report = text(&profile, &ReportOptions { width: Some(80), ..plain() });
        report.lines().find(|line| line.contains('%')).unwrap().to_owned()
    };
    for kind in [ObjectKind::Static, ObjectKind::Stack] {
        assert!(with(kind).ends_with(":12  matrix"), "{}", with(kind));
    }
    assert!(with(ObjectKind::Heap).ends_with(":12"), "{}", with(ObjectKind::Heap));
}

#[test]
fn columns_are_those_that_are_named() {
    let of = |columns: &[&str], width| {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        rows_of(&text(&sample::small(), &ReportOptions { columns, width: Some(width), ..plain() }))
    };
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let heads = |report: &str| report.lines().take(2).map(words).collect::<Vec<_>>();
    let asked = of(&["int-ops", "hot-line", "depth-p50", "bytedmd-share"], 80);
    assert_eq!(heads(&asked), ["int depth ByteDMD", "ops hot line p50 share function"]);
    assert!(!asked.contains("no room"), "{asked}");
    let unknown = of(&["bytedmd-share", "speed"], 160);
    assert!(
        unknown.contains("(no column speed; there are bytedmd-share, bytedmd, bytedmd-per-byte, read,"),
        "{unknown}"
    );
}

#[test]
fn rows_of_lines_come_first_by_what_is_moved() {
    let profile = sample::with_lines();
    let first = |sort| {
        let report = text(&profile, &ReportOptions { sort, top: Some(1), ..plain() });
        report.lines().find(|line| line.contains('%')).unwrap().to_owned()
    };
    assert_eq!(first(None), first(Some(Sort::Moved)));
    let json = |sort| text(&profile, &ReportOptions { sort, ..formatted(Format::Json) });
    assert_eq!(json(None), json(Some(Sort::Cost)), "programs get the order that they got");
}

#[test]
fn what_died_leaves_its_place() {
    let profile = sample::deaths();
    insta::assert_snapshot!(text(&profile, &ReportOptions { depths: true, ..plain() }));
    let json = text(&profile, &ReportOptions { hist: true, ..formatted(Format::Json) });
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
}

#[test]
fn lines_beside_bytes() {
    let profile = sample::with_lines();
    insta::assert_snapshot!([plain(), verbose()].map(|options| text(&profile, &options)).join("\n"));
    let json = text(&profile, &formatted(Format::Json));
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let fetched = |of: &serde_json::Value| of["moved"][0]["fetched"].as_u64().unwrap();
    let rows = report["functions"].as_array().unwrap().iter().map(|row| fetched(&row["exclusive"])).sum::<u64>();
    assert_eq!(rows, fetched(&report["totals"]), "rows add up to the total");
}

/// What the sites of a profile take on a core, and code without accesses.
/// Each of the first functions waits for another cause.
pub fn with_cycles() -> Profile {
    let mut profile = sample::with_lines();
    let mut places: Vec<CyclePlace> = profile.sites[..4]
        .iter()
        .zip([Cause::L2, Cause::Memory, Cause::Branch, Cause::Base])
        .enumerate()
        .map(|(number, (site, cause))| {
            let mut counts = CycleCounts { instructions: 500, mispredicted: 3, ..CycleCounts::default() };
            counts.cycles[cause as usize] = 1000 << number;
            counts.cycles[Cause::Dependence as usize] = 100;
            CyclePlace { function: site.function, position: site.position, counts }
        })
        .collect();
    places.sort_by_key(|place| (place.function, place.position));
    let core = CycleCore { name: "wide".into(), frequency: 3000, cycles: 15_400, ..CycleCore::default() };
    let other = CycleCore { name: "narrow".into(), is_estimated: true, cycles: 30_000, ..core.clone() };
    let unknown = vec![("0f0b".to_owned(), 7)];
    profile.cycles = Some(MeasuredCycles { cores: vec![core, other], places, unknown, is_twin: true });
    profile
}

#[test]
fn cycles_come_first() {
    let profile = with_cycles();
    crate::profile::validate::validate(&profile).expect("valid");
    let causes = ReportOptions { causes: true, ..plain() };
    insta::assert_snapshot!([plain(), causes].map(|options| text(&profile, &options)).join("\n"));
    let json = text(&profile, &formatted(Format::Json));
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let all = |of: &serde_json::Value| of["cycles"]["all"].as_u64().unwrap();
    let rows = report["functions"].as_array().unwrap().iter().map(|row| all(&row["exclusive"])).sum::<u64>();
    assert_eq!((rows, all(&report["totals"])), (15_400, 15_400), "rows add up to the total");
}

#[test]
fn caches_beside_lines() {
    let profile = sample::with_caches();
    insta::assert_snapshot!(text(&profile, &plain()));
    let json = text(&profile, &formatted(Format::Json));
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let moved = |of: &serde_json::Value, field: &str| of["caches"][0][field].as_u64().unwrap();
    let rows = report["functions"].as_array().unwrap();
    for field in ["fetched", "loaded", "written_back"] {
        let sum: u64 = rows.iter().map(|row| moved(&row["exclusive"], field)).sum();
        assert_eq!(sum, moved(&report["totals"], field), "{field} of rows add up to the total");
    }
}

#[test]
fn hazards_of_any_name() {
    let profile = sample::with_hazards();
    crate::profile::validate::validate(&profile).expect("a sound profile");
    let table = text(&profile, &plain());
    assert!(table.contains("hazards, of all accesses: split lines "), "{table}");
    let json = text(&profile, &formatted(Format::Json));
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let counted = |of: &serde_json::Value, kind: usize| of["hazards"][kind]["accesses"].as_u64().unwrap();
    let rows = report["functions"].as_array().unwrap();
    for kind in 0..2 {
        let sum: u64 = rows.iter().map(|row| counted(&row["exclusive"], kind)).sum();
        assert_eq!(sum, counted(&report["totals"], kind), "rows add up to the total");
        assert!(sum > 0);
    }
}

#[test]
fn the_optimum_beside_lru() {
    let profile = sample::with_optimum();
    insta::assert_snapshot!(text(&profile, &plain()));
    let json = text(&profile, &formatted(Format::Json));
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let fetched = |of: &serde_json::Value, field: &str| of["optimum"][0][field].as_u64().unwrap();
    for field in ["least", "lru", "first_touch"] {
        let rows = report["functions"].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| fetched(&row["exclusive"], field)).sum();
        assert_eq!(sum, fetched(&report["totals"], field), "{field} of rows add up to the total");
    }
}

#[test]
fn first_touches_that_cost_much_are_named() {
    let first_touches = |bytes: u64, threads: u64| {
        let mut builder = Builder::new(&["./app"]);
        let function = builder.function("copy", Some("copy.c"), 3);
        let site = builder.site(function, None, AccessKind::Load, 8);
        let context = builder.context(ContextId(0), function, 1);
        let reads = [(1, 80_000), (1_000_000, bytes)];
        builder.cell(context, site, &reads, &reads[1..], 0);
        text(&builder.finish(|profile| profile.coverage.threads = threads), &verbose())
    };
    // 80,000 + 1000 * 20, as depths are known up to 1/32, and 80,000 + 1000 * 4.
    let alone = first_touches(20, 1);
    assert!(alone.contains("first touches cost about 20.1% of that: inputs, and bytes that have no value"), "{alone}");
    assert!(!first_touches(4, 1).contains("first touches cost"));
    let with_others = first_touches(20, 2);
    assert!(with_others.contains("of that: inputs, what other threads wrote, and bytes"), "{with_others}");
}

#[test]
fn narrow_tables_keep_what_matters() {
    let at = |width| text(&sample::small(), &ReportOptions { width: Some(width), threshold: 0.0, ..plain() });
    let tables = [200, 120, 80].map(|width| rows_of(&at(width)));
    for (table, width) in tables.iter().zip([200, 120, 80]) {
        for line in table.lines() {
            assert!(line.chars().count() <= width || line.starts_with("(no room"), "{width}: {line}");
        }
    }
    insta::assert_snapshot!(tables.join("\n\n"));
}

/// The table of rows alone.
fn rows_of(report: &str) -> String {
    report.split("\n\n").find(|part| part.contains("share  ")).unwrap().into()
}

#[test]
fn inclusive() {
    insta::assert_snapshot!(rows_of(&text(&sample::small(), &ReportOptions { inclusive: true, ..plain() })));
}

#[test]
fn exact() {
    let profile = sample::exact();
    let wide = text(&profile, &plain());
    let options = ReportOptions { width: Some(100), threshold: 0.0, ..plain() };
    let narrow = rows_of(&text(&profile, &options));
    assert!(narrow.lines().all(|line| line.chars().count() <= 100 || line.starts_with("(no room")), "{narrow}");
    let csv = text(&profile, &formatted(Format::Csv));
    insta::assert_snapshot!(format!("{wide}\n{narrow}\n{csv}"));
    let json = text(&profile, &formatted(Format::Json));
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let dead = &json["totals"]["dead"];
    assert_eq!(dead["cost"].as_u64().unwrap() + json["totals"]["cost"].as_u64().unwrap(), dead["hints_cost"]);
}

#[test]
fn regions_of_the_values_model() {
    let profile = sample::values();
    let json = text(&profile, &formatted(Format::Json));
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
    insta::assert_snapshot!(text(&profile, &ReportOptions { width: Some(100), ..plain() }));
}

#[test]
fn a_row_for_each_thread() {
    let mut profile = sample::small();
    profile.coverage.threads = 3;
    let share = |divisor: u64| Totals { cost: profile.totals.cost / u128::from(divisor), ..profile.totals.clone() };
    profile.threads = vec![share(2), share(4), share(4)];
    profile.thread_starts = vec![Some(FunctionId(0)), Some(FunctionId(3)), Some(FunctionId(3))];
    let options = ReportOptions { by_thread: true, ..plain() };
    let (table, csv) = (text(&profile, &options), text(&profile, &ReportOptions { format: Format::Csv, ..options }));
    let part = |text: &str, of: &str| text.lines().filter(|line| line.contains(of)).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(format!(
        "{}\n\n{}\n\n{}",
        part(&table, "3 threads"),
        part(&table, "%"),
        part(&csv, "thread,")
    ));
}

#[test]
fn a_profile_of_a_part_of_the_run_says_so() {
    let mut profile = sample::small();
    profile.meta.outcome = Outcome::Unknown;
    profile.meta.incomplete = Some("the recording is cut off".into());
    let report = text(&profile, &plain());
    assert!(report.contains("how it ended was not recorded)\nINCOMPLETE: the recording is cut off\n"), "{report}");
    let json = text(&profile, &formatted(Format::Json));
    assert_eq!(complaints(&schema(), &json), Vec::<String>::new());
    assert!(json.contains("\"complete\": false"));
}

#[test]
fn lines() {
    let options = ReportOptions { grouping: Grouping::Lines(Inlined::All), threshold: 0.0, ..plain() };
    let wide = rows_of(&text(&sample::small(), &options));
    let narrow = rows_of(&text(&sample::small(), &ReportOptions { width: Some(80), ..options }));
    insta::assert_snapshot!(format!("{wide}\n\n{narrow}"));
}

#[test]
fn linked_symbols_and_full_names() {
    let options = ReportOptions { grouping: Grouping::Symbols, width: None, threshold: 0.0, ..plain() };
    insta::assert_snapshot!(rows_of(&text(&sample::small(), &options)));
}

#[test]
fn histogram_of_each_function() {
    let options = ReportOptions { hist: true, top: Some(2), threshold: 0.0, ..plain() };
    let report = text(&sample::small(), &options);
    insta::assert_snapshot!(report);
}

#[test]
fn lines_alone_have_neither_cost_nor_depths() {
    let mut profile = sample::lines_only();
    profile.meta.outcome = Outcome::Signaled(11);
    profile.meta.roi = Some("solve".into());
    profile.coverage.lost_events = 12;
    let report = text(&profile, &ReportOptions { verbose: true, ..plain() });
    assert!(!report.replace("no ByteDMD", "").contains("ByteDMD") && !report.contains("depth <="), "{report}");
    insta::assert_snapshot!(report);
}

#[test]
fn an_empty_profile_is_no_error() {
    let profile = Builder::new(&["./empty"]).finish(|p| p.meta.outcome = Outcome::Exited(3));
    insta::assert_snapshot!(text(&profile, &plain()));
    for format in [Format::Json, Format::Csv] {
        assert!(!text(&profile, &formatted(format)).is_empty());
    }
}

#[test]
fn colours_only_when_asked_for() {
    let colored = text(&sample::small(), &ReportOptions { color: true, ..plain() });
    assert!(colored.contains("\x1b["));
    let plain = text(&sample::small(), &plain());
    assert!(!plain.contains('\x1b'));
    let mut stripped = String::new();
    for (i, part) in colored.split('\x1b').enumerate() {
        stripped.push_str(if i == 0 { part } else { &part[part.find('m').unwrap() + 1..] });
    }
    let squeeze = |s: &str| s.lines().map(|l| l.trim_end().to_string()).collect::<Vec<_>>();
    assert_eq!(squeeze(&stripped), squeeze(&plain));
}

#[test]
fn json() {
    let options = ReportOptions { inclusive: true, hist: true, top: Some(2), ..formatted(Format::Json) };
    insta::assert_snapshot!(text(&sample::small(), &options));
}

#[test]
fn csv() {
    let options = ReportOptions { inclusive: true, top: Some(4), ..formatted(Format::Csv) };
    insta::assert_snapshot!(text(&sample::small(), &options));
}

/// Everything after 2^53 is where other tools start to round.
#[test]
fn large_integers_are_exact_literals() {
    let cost = (1u128 << 64) + 1;
    let profile = sample::small();
    let mut b = Builder::new(&["p"]);
    let f = b.function("f", None, 0);
    let site = b.site(f, None, AccessKind::Load, 8);
    let context = b.context(Builder::ROOT, f, u64::MAX);
    let again = b.context(context, f, u64::MAX);
    b.cell(context, site, &[(1 << 40, (1 << 53) + 1)], &[], 0);
    let block = b.block(f, &[(None, [0, 0, u32::MAX, 0, 0, 0, 0])]);
    b.block_count(again, block, u64::MAX);
    let mut large = b.finish(|p| {
        p.cells[0].cost = cost;
        p.totals.cost = cost;
    });
    large.threads = profile.threads;
    let flops = 2 * u128::from(u32::MAX) * u128::from(u64::MAX);
    let calls = 2 * u128::from(u64::MAX);
    for format in [Format::Json, Format::Csv] {
        let report = text(&large, &formatted(format));
        for n in [cost, flops, calls, (1 << 53) + 1] {
            let found = report.split(|c: char| !c.is_ascii_digit()).any(|token| token == n.to_string());
            assert!(found, "{n} is missing in {report}");
        }
    }
    assert!(text(&large, &formatted(Format::Json)).contains("\"cost\": 18446744073709551617,"));
}

pub fn schema() -> jsonschema::Validator {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/report-schema.json");
    let mut text = String::new();
    std::fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

pub fn complaints(schema: &jsonschema::Validator, report: &str) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(report).unwrap();
    schema.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

#[test]
fn json_follows_its_schema() {
    let schema = schema();
    for grouping in [Grouping::Functions, Grouping::Symbols, Grouping::Lines(Inlined::All)] {
        for (inclusive, hist, top) in [(false, false, None), (true, true, Some(1))] {
            let options = ReportOptions { grouping, inclusive, hist, top, ..formatted(Format::Json) };
            let report = text(&sample::small(), &options);
            assert_eq!(complaints(&schema, &report), Vec::<String>::new());
        }
    }
}

#[test]
fn flows_and_sequences_are_told_with_names() {
    let report = text(&sample::flows(), &ReportOptions { hist: true, ..formatted(Format::Json) });
    assert_eq!(complaints(&schema(), &report), Vec::<String>::new());
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let flow = &report["flows"][3];
    assert_eq!(flow["writer"]["function"], "fill");
    assert_eq!(flow["toucher"]["line"], 7);
    assert_eq!(flow["reader"]["kind"], "load");
    assert_eq!(flow["histogram"].as_array().unwrap().len(), 1);
    assert!(report["flows"][0]["writer"].is_null());
    let calls = serde_json::json!([
        { "function": "fill", "times": 1 }, { "function": "scale", "times": 2 }, { "function": "total", "times": 1 }
    ]);
    assert_eq!(report["sequences"][0]["calls"], calls);
    assert!(text(&sample::small(), &formatted(Format::Json)).lines().all(|line| !line.contains("\"flows\"")));
}

/// The schema names every field: one that is added, renamed or left out does not pass.
#[test]
fn the_schema_refuses_other_json() {
    let schema = schema();
    let report = text(&sample::small(), &ReportOptions { top: Some(1), ..formatted(Format::Json) });
    for (from, to) in [
        ("\"version\": 2,", "\"version\": 3,"),
        ("\"cost\": ", "\"price\": "),
        ("\"liveness\": \"hints\"", "\"liveness\": \"maybe\""),
        ("\"lost_events\": 0", "\"lost_events\": -1"),
        ("\"read\": ", "\"read\": \"\", \"_\": "),
    ] {
        assert!(report.contains(from), "{from}");
        assert!(!complaints(&schema, &report.replace(from, to)).is_empty(), "{to}");
    }
}

#[test]
fn a_closed_pipe_is_recognised_in_every_format() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    for format in [Format::Table, Format::Json, Format::Csv] {
        let error = render(&sample::small(), &formatted(format), &mut Closed).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{format:?}");
    }
}

#[test]
fn threads_are_listed() {
    let mut profile = sample::small();
    profile.threads.push(Totals { accesses: 7, ..Totals::default() });
    let report: serde_json::Value = serde_json::from_str(&text(&profile, &formatted(Format::Json))).unwrap();
    assert_eq!(report["threads"][1]["accesses"], 7);
}

proptest! {
    #[test]
    fn json_and_csv_rows_add_up_to_the_totals(
        profile in sample::any_profile(), by_line: bool, top in prop::option::of(1usize..3), inclusive: bool
    ) {
        let grouping = if by_line { Grouping::Lines(Inlined::All) } else { Grouping::Functions };
        let schema = schema();
        let options = ReportOptions { grouping, top, inclusive, ..formatted(Format::Json) };
        let report = text(&profile, &options);
        prop_assert_eq!(complaints(&schema, &report), Vec::<String>::new());
        let csv = text(&profile, &ReportOptions { format: Format::Csv, ..options });
        let mut reader = ::csv::Reader::from_reader(csv.as_bytes());
        let cost_at = reader.headers().unwrap().iter().position(|h| h == "cost").unwrap();
        let cost: u128 = reader.records().map(|r| r.unwrap()[cost_at].parse::<u128>().unwrap()).sum();
        prop_assert_eq!(cost, profile.totals.cost);
        let value: serde_json::Value = serde_json::from_str(&report).unwrap();
        let rows = value[if by_line { "lines" } else { "functions" }].as_array().unwrap();
        let written = |v: &serde_json::Value| v["exclusive"]["written"].as_u64();
        let sum: u64 = rows.iter().filter_map(written).sum::<u64>() + written(&value["folded"]).unwrap_or(0);
        prop_assert_eq!(sum, profile.totals.written);
    }

    #[test]
    fn the_table_fits_its_width(profile in sample::any_profile(), width in 60usize..200, by_line: bool) {
        let grouping = if by_line { Grouping::Lines(Inlined::All) } else { Grouping::Functions };
        let report = text(&profile, &ReportOptions { width: Some(width), threshold: 0.0, grouping, ..plain() });
        for line in rows_of(&report).lines().filter(|l| !l.starts_with("(no room")) {
            prop_assert!(line.chars().count() <= width, "{}", line);
        }
    }
}

#[test]
fn what_to_try_stands_beside_the_hot_line_where_something_is_known() {
    let profile = sample::with_pairs();
    let rows = Analysis::new(&profile, Grouping::Functions).rows;
    let of = |name: &str| rows.iter().find(|row| row.name().contains(name)).expect("a function").sites[0];
    let all = [(of("at"), vec![("interchange", 100)]), (of("quicksort"), vec![("", 300)])];
    let at_80 = ReportOptions { tries: by_lines(all), width: Some(80), ..plain() };
    let table = text(&profile, &at_80);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("  try\n") && table.contains("  interchange\n"), "{table}");
    assert!(table.contains("next: dmdprof why;"), "{table}");
    let nothing = ReportOptions { tries: by_lines([(of("at"), vec![("", 1)])]), ..plain() };
    assert!(!text(&profile, &nothing).contains("  try\n"));
}

fn by_lines<const N: usize>(words: [(SiteId, Vec<(&'static str, u128)>); N]) -> Tries {
    Tries { words: words.into(), by_cycles: false }
}
