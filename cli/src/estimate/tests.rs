//! What people and programs see of the estimates, and that no model moves a number unnoticed.

use std::fmt::Write;

use dmdprof_models::stages;

use super::roofline::{self, Options};
use super::times::Times;
use super::view::{Choice, View};
use super::workload::{Work, Workloads};
use super::{balance, curve, fidelity::Calibration};
use crate::document::{Document, Format, Look, schema};
use crate::machine::{Machine, OpType, zoo};
use crate::profile::{Profile, sample};
use crate::report::{Analysis, Grouping};

fn machines(names: &[&str]) -> Vec<Machine> {
    names.iter().map(|name| zoo::machine(name).expect("a shipped machine")).collect()
}

fn workloads(profile: &Profile) -> Workloads {
    Workloads::from_profile(profile, Grouping::Functions, false)
}

fn text(document: &Document, format: Format, width: Option<usize>) -> String {
    let mut out = Vec::new();
    document.write(Look { format, width, color: false }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn roofline_of(profile: &Profile, names: &[&str], options: &Options) -> anyhow::Result<Document> {
    roofline::document(profile, &workloads(profile), &machines(names), options).map(|(document, _)| document)
}

fn refusal(result: anyhow::Result<Document>) -> String {
    format!("{:#}", result.expect_err("refused"))
}

/// Four published convolutions in half precision: name, operations, bytes.
const CONVOLUTIONS: [(&str, f64, f64); 4] = [
    ("3x3 256>256 28", 924_844_032.0, 1_982_464.0),
    ("1x1 512>512 32", 536_870_912.0, 2_621_440.0),
    ("1x1 1024>1024 16", 536_870_912.0, 3_145_728.0),
    ("1x1 2048>2048 8", 536_870_912.0, 8_912_896.0),
];

/// One line per shipped machine: latency of each convolution as one dispatch, at the machine's own type of operation.
#[test]
fn latencies_across_machines() {
    let mut table = String::from("microseconds (bound) of: ");
    table += &CONVOLUTIONS.map(|(name, ..)| name).join("; ");
    table.push('\n');
    for name in zoo::names() {
        let machine = zoo::machine(name).unwrap();
        // The bytes of these operators are given, so any capacity will do.
        let choice = Choice { capacity: machine.levels.is_empty().then_some(1 << 20), ..Choice::default() };
        write!(table, "{name} ({}): ", machine.default_type).unwrap();
        let view = match View::new(&machine, choice) {
            Ok(view) => view,
            Err(error) => {
                writeln!(table, "refused: {error}").unwrap();
                continue;
            }
        };
        let device = stages::Device {
            rate: view.rate(),
            bandwidth: view.last().link.bandwidth,
            floor: view.floor.0,
            setup: 0.0,
        };
        let cell = |(_, work, bytes): (&str, f64, f64)| {
            let dispatch = stages::Dispatch { work, sparsity: 0.0, bytes, inputs: 0 };
            let latency = stages::estimate(&device, &dispatch).unwrap();
            format!("{:.3} ({:?})", latency.total * 1e6, latency.bound)
        };
        writeln!(table, "{}", CONVOLUTIONS.map(cell).join("; ")).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn rooflines_across_machines() {
    let profile = sample::small();
    let with_levels: Vec<&str> =
        zoo::names().filter(|name| View::new(&zoo::machine(name).unwrap(), Choice::default()).is_ok()).collect();
    assert!(with_levels.len() > 15, "{with_levels:?}");
    let document = roofline_of(&profile, &with_levels, &Options::default()).unwrap();
    let across = Document { sheets: document.sheets[..1].to_vec(), ..Document::default() };
    insta::assert_snapshot!(text(&across, Format::Csv, None));
}

#[test]
fn a_roofline_for_people() {
    let profile = sample::small();
    let times =
        Times::parse("name,seconds\n(program),0.09\nlinalg::multiply,0.03\nlinalg::Matrix::at,0.041\n").unwrap();
    let options = Options { times: Some(times), calibration: Some(Calibration::Isotonic), ..Options::default() };
    let document = roofline_of(&profile, &["skx-6148-core", "h100-sxm"], &options).unwrap();
    insta::assert_snapshot!(text(&document, Format::Table, Some(160)));
    let narrow = text(&document, Format::Table, Some(80));
    let too_wide: Vec<&str> = narrow.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(too_wide.is_empty(), "{}", too_wide.join("\n"));
    assert!(narrow.contains("(no room for "), "{narrow}");
}

#[test]
fn the_curve_and_the_balance_for_people() {
    let profile = sample::small();
    let named = machines(&["skx-6148-core", "fermi-c2050"]);
    let (curve, _) = curve::document(&profile, &workloads(&profile), false, &named);
    let options = balance::Options { matmuls: vec!["linalg::multiply=64:8".parse().unwrap()], ..Default::default() };
    let balance = balance::document(&profile, &workloads(&profile), &named[1..], &options).unwrap();
    insta::assert_snapshot!(text(&curve, Format::Table, Some(120)) + "\n" + &text(&balance, Format::Table, Some(160)));
}

#[test]
fn what_died_is_in_the_traffic_and_not_in_the_depths() {
    let profile = sample::deaths();
    let (curve, chart) = curve::document(&profile, &workloads(&profile), false, &[]);
    assert_eq!(chart.lines.len(), 2, "traffic, and deeper than Z");
    insta::assert_snapshot!(text(&curve, Format::Table, Some(120)));
    let program = workloads(&profile).program;
    let of = |profile: &Profile| workloads(profile).program.traffic(4 << 10);
    assert_eq!(program.sums.depths, Analysis::new(&profile, Grouping::Functions).total.depths);
    assert!(of(&profile) > of(&sample::small()), "estimates go by what a memory fetches");
}

#[test]
fn levels_that_cores_share_go_by_the_common_stack_and_others_by_own_ones() {
    let profile = sample::levels();
    let names = ["zen1-7451", "skx-6148"];
    let document = roofline_of(&profile, &names, &Options { top: Some(2), ..Options::default() }).unwrap();
    let (curve, chart) = curve::document(&profile, &workloads(&profile), false, &machines(&names[..1]));
    assert_eq!(chart.lines.len(), 2, "shared and own");
    let balance = balance::document(&profile, &workloads(&profile), &machines(&["fermi-c2050"]), &Default::default());
    let balance = text(&balance.unwrap(), Format::Table, Some(160));
    let (roofline, curve) = (text(&document, Format::Table, Some(160)), text(&curve, Format::Table, Some(120)));
    insta::assert_snapshot!([roofline, curve, balance].join("\n"));
    assert_eq!(schema::errors(&document), Vec::<String>::new());
}

#[test]
fn a_dot_per_function_and_level() {
    let profile = sample::small();
    let all = workloads(&profile);
    let (_, charts) = roofline::document(&profile, &all, &machines(&["skx-6148-core"]), &Options::default()).unwrap();
    let of_multiply: Vec<_> = charts[0].dots.iter().filter(|d| d.name == "linalg::multiply").collect();
    assert_eq!(of_multiply.iter().map(|d| d.group).collect::<Vec<_>>(), [0, 1, 2]);
    // Bound by compute: on the ceiling.
    assert!((of_multiply[0].y / 76.8e9 - 1.0).abs() < 1e-9);
    assert_eq!(charts[0].svg(), charts[0].svg());
    let (_, chart) = curve::document(&profile, &all, false, &machines(&["skx-6148-core"]));
    assert_eq!((chart.marks.len(), chart.lines.len()), (3, 1));
}

#[test]
fn the_rate_is_that_of_the_type_the_program_computes_in() {
    let mut profile = sample::small();
    let kind = |profile: &Profile, name: &str, kind: Option<OpType>| {
        let machine = zoo::machine(name).unwrap();
        let choice = Choice { kind, capacity: Some(1 << 20), ..Choice::default() }.of_program(profile);
        let view = View::new(&machine, choice).unwrap();
        (view.kind, view.guesses.sentence(name).unwrap_or_default().contains("the program computes in"))
    };
    assert_eq!(kind(&profile, "a100-80", None), (OpType::Fp16, false), "not known: the machine's own");
    profile.flops_by_type = [0, 0, 10, 90];
    assert_eq!(kind(&profile, "a100-80", None), (OpType::Fp64, false));
    assert_eq!(kind(&profile, "a100-80", Some(OpType::Fp32)), (OpType::Fp32, false));
    assert_eq!(kind(&profile, "ane-h13", None), (OpType::Fp16, true), "it has no other rate, so that is a guess");
}

#[test]
fn a_machine_that_cannot_be_used_does_not_keep_the_others_from_it() {
    let profile = sample::small();
    let named = machines(&["skx-6148-core", "ane-h13"]);
    let options = Options::default();
    let (document, charts) = roofline::document(&profile, &workloads(&profile), &named, &options).unwrap();
    assert_eq!(charts.len(), 1);
    assert!(document.notes.iter().any(|note| note.starts_with("ane-h13 is left out: ")), "{:?}", document.notes);
    assert!(roofline::document(&profile, &workloads(&profile), &named[1..], &options).is_err(), "alone it is an error");
}

#[test]
fn an_efficiency_from_the_command_line_is_a_guess() {
    let profile = sample::small();
    let of = |efficiency| {
        let options = Options { choice: Choice { efficiency, ..Choice::default() }, ..Options::default() };
        let document = roofline_of(&profile, &["skx-6148-core"], &options).unwrap();
        serde_json::from_str::<serde_json::Value>(&text(&document, Format::Json, None)).unwrap()
    };
    let seconds = |json: &serde_json::Value| json["sheets"][0]["rows"][0]["seconds.compute"].as_f64().unwrap();
    let (peak, scalar) = (of(None), of(Some(0.125)));
    assert!((seconds(&scalar) / seconds(&peak) - 8.0).abs() < 1e-9);
    assert!(scalar["notes"].to_string().contains("efficiency 0.125 (assumed on the command line)"));
}

#[test]
fn json_follows_its_schema() {
    let profile = sample::small();
    let named = machines(&["toy3", "fermi-c2050"]);
    let all = [
        roofline_of(&profile, &["toy3", "h100-sxm"], &Options::default()).unwrap(),
        curve::document(&profile, &workloads(&profile), false, &named).0,
        balance::document(&profile, &workloads(&profile), &named[1..], &balance::Options::default()).unwrap(),
    ];
    for document in &all {
        assert_eq!(schema::errors(document), [""; 0], "{}", document.kind);
    }
    // The guess of a toy machine is told.
    let json: serde_json::Value = serde_json::from_str(&text(&all[0], Format::Json, None)).unwrap();
    assert!(json["sheets"][1]["rows"][0]["guesses"].as_array().unwrap().iter().any(|g| g == "seconds"));
}

#[test]
fn refusals_say_what_to_do() {
    let profile = sample::small();
    let with = |names: &[&str], options: &Options| refusal(roofline_of(&profile, names, options));
    let plain = Options::default();
    assert!(with(&["ane-h13"], &plain).contains("states no level with a capacity"));
    let fp16 = Options { choice: Choice { kind: Some(OpType::Fp16), ..Choice::default() }, ..plain.clone() };
    assert_eq!(with(&["skx-6148-core"], &fp16), "machine skx-6148-core has no rate for fp16; --type can be fp64");
    let times = Options { times: Some(Times::parse("name,seconds\nlinalg::multipy,1\n").unwrap()), ..plain.clone() };
    let error = with(&["skx-6148-core"], &times);
    assert!(
        error.starts_with(
            "there is a time for linalg::multipy, which is not in the profile; did you mean linalg::multiply"
        ),
        "{error}"
    );
    let balance = |name: &str| {
        refusal(balance::document(&profile, &workloads(&profile), &machines(&[name]), &balance::Options::default()))
    };
    assert!(balance("ane-h13").contains("the balance model needs fast_memory, which machine ane-h13 does not state"));
    let mut integers = profile.clone();
    for block in &mut integers.blocks {
        block.ops.iter_mut().for_each(|(_, ops)| ops[..5].fill(0));
    }
    let flops = Options { work: Some(Work::Flops), ..plain.clone() };
    let error = refusal(roofline_of(&integers, &["skx-6148-core"], &flops));
    assert!(error.contains("counts no flops") && error.contains("--work ops"), "{error}");
    let ops = Options { work: Some(Work::Ops), ..plain.clone() };
    let asked = roofline_of(&integers, &["skx-6148-core"], &ops).expect("integer operations are work");
    assert_eq!(roofline_of(&integers, &["skx-6148-core"], &plain).expect("without asking too"), asked);
}

#[test]
fn a_profile_without_flows_or_sequence_says_how_to_measure_them() {
    let profile = sample::small();
    let fuse = super::fuse::document(&profile, Grouping::Functions, &[], &super::fuse::Options::default());
    assert!(refusal(fuse).contains("dmdprof run --flows"));
    let place = super::place::document(&profile, &machines(&["place-cpu"]), &super::place::Options::default());
    assert!(refusal(place).contains("dmdprof run --sequence FUNCTION"));
}

/// The levels of `toy3`, with what a file says of lines and stores in the first.
fn toy(said: &str) -> Machine {
    let toy = zoo::machine("toy3").expect("a shipped machine");
    let text = crate::machine::text::to_toml(&toy);
    let text = text.replacen("[[level]]\n", &format!("[[level]]\n{said}\n"), 1);
    crate::machine::file::from_text(std::path::Path::new("toy3.toml"), &text, crate::machine::Origin::Shipped)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .machine
}

#[test]
fn lines_of_another_size_are_marked_and_stores_go_through() {
    let profile = sample::with_lines();
    let options = Options { work: Some(Work::Ops), ..Options::default() };
    let of = |said: &str| {
        let machines = [toy(said)];
        let (document, _) = roofline::document(&profile, &workloads(&profile), &machines, &options).expect("estimates");
        document
    };
    let notes = |said: &str| of(said).notes.join("\n");
    let first = &toy("").levels[0];
    let (name, capacity) = (first.name.clone(), first.capacity.value as u64);
    assert!(notes("").contains(&format!("lines of 64 B in {name}")), "{}", notes(""));
    let stated = "line = { value = \"64 B\", confidence = \"datasheet\", source = \"vendor\" }";
    assert!(!notes(stated).contains(&format!("lines of 64 B in {name}")), "{}", notes(stated));
    let other = stated.replace("64 B", "128 B");
    assert!(notes(&other).contains("measured by --line-size 128"), "{}", notes(&other));

    let all = workloads(&profile);
    let moved = all.program.moved(capacity).expect("lines were measured");
    let machine = toy("write = \"through\"");
    let view = View::new(&machine, Choice::default().of_program(&profile)).expect("usable");
    let line = roofline::line(&view, &all.program, Work::Ops).expect("estimates");
    assert_eq!(line.traffic[0], (moved.loaded + all.program.sums.written) as f64);
    assert_eq!(line.traffic[1], all.program.traffic(view.links[1].link.capacity) as f64);
}

/// On the machine whose core followed, times are the core's and nothing is said of traffic; on others a function whose
/// cycles pass for branches is not said to be bound by a link or by compute.
#[test]
fn a_core_stands_in_place_of_the_roof() {
    let profile = crate::report::tests::with_cycles();
    let wide = Machine { name: "wide".into(), ..zoo::machine("toy3").expect("a shipped machine") };
    let narrow = Machine { name: "narrow".into(), ..wide.clone() };
    let machines = [wide, narrow];
    let options = Options { work: Some(Work::Ops), ..Options::default() };
    let (document, _) = roofline::document(&profile, &workloads(&profile), &machines, &options).expect("estimates");
    let json: serde_json::Value = serde_json::from_str(&text(&document, Format::Json, None)).expect("JSON");
    let sheet = |name: &str| json["sheets"].as_array().unwrap().iter().find(|sheet| sheet["name"] == name).unwrap();
    let of = |name: &str, field: &str| sheet(name)["rows"][0][field].clone();
    assert_eq!(of("wide", "seconds"), serde_json::Value::from(15_400.0 / 3e9));
    let bounds =
        sheet("wide")["rows"].as_array().unwrap().iter().map(|row| row["bound"].as_str().unwrap_or("").to_owned());
    assert!(of("narrow", "seconds").as_f64() > Some(0.1), "of the second core causes are not known: its roof");
    let bounds: Vec<String> = bounds.collect();
    assert!(bounds.iter().any(|bound| bound.starts_with("memory ")), "{bounds:?}");
    let all = text(&document, Format::Table, None);
    assert!(all.contains(" waits for ") && !all.contains("as far as a roof knows"), "{all}");
    assert!(!all.contains("if loads wait for memory"), "a core knows: {all}");
    let with_callees = Workloads::from_profile(&profile, Grouping::Functions, true);
    assert!(with_callees.program.on_core("wide").is_none(), "what callees take is not known by caller");
}

#[test]
fn a_fit_of_functions_is_not_applied_to_the_program() {
    let profile = sample::small();
    let times = Times::parse("name,seconds\n(program),0.5\nlinalg::multiply,0.03\nlinalg::Matrix::at,0.041\n").unwrap();
    let options = Options { times: Some(times), calibration: Some(Calibration::Isotonic), ..Options::default() };
    let document = roofline_of(&profile, &["skx-6148-core"], &options).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text(&document, Format::Json, None)).expect("JSON");
    let rows = json["sheets"][0]["rows"].as_array().expect("rows");
    for row in rows {
        match row["kind"].as_str() {
            Some("program") => assert!(row["calibrated"].is_null(), "{row}"),
            // No function takes longer than those that were measured: the program's time is not in the fit.
            _ => assert!(row["calibrated"].as_f64().is_some_and(|time| time <= 0.041), "{row}"),
        }
    }
}

#[test]
fn what_fits_is_not_called_free() {
    let profile = sample::small();
    let notes = |profile: &Profile, cold: bool| {
        let all = workloads(profile);
        let all = if cold { all.cold(profile) } else { all };
        let options = Options { cold, ..Options::default() };
        let (document, _) =
            roofline::document(profile, &all, &machines(&["skx-6148-core"]), &options).expect("estimates");
        document.notes
    };
    let warm = notes(&profile, false);
    assert!(warm[1].contains("taken as resident, inputs too") && warm[1].contains("--cold"), "{warm:?}");
    let cold = notes(&profile, true);
    assert!(cold[1].contains("nobody touched before") && cold[1].contains("dmdprof run --flows"), "{cold:?}");
    let with_flows = Profile { flows: sample::flows().flows.map(|_| Vec::new()), ..profile };
    assert!(notes(&with_flows, true)[1].starts_with("Inputs are not resident"));
}

/// A machine that states too little is named, and keeps no other from an answer; cores matter to the longest chain
/// alone.
#[test]
fn one_unusable_machine_does_not_discard_the_others() {
    let profile = sample::small();
    let all = workloads(&profile);
    let mut nothing = toy("");
    nothing.memory.bandwidth = None;
    let known = zoo::machine("skx-6148-core").unwrap();
    let both = [nothing.clone(), known];
    let document = balance::document(&profile, &all, &both, &balance::Options::default()).expect("one is usable");
    assert_eq!(document.sheets.len(), 1);
    assert!(document.notes.iter().any(|note| note.starts_with("toy3 is left out: ")), "{:?}", document.notes);
    let alone = balance::document(&profile, &all, &[nothing], &balance::Options::default());
    assert!(refusal(alone).contains("memory.bandwidth"));

    let without_cores = zoo::machine("toy3").unwrap();
    assert!(without_cores.cores.is_none());
    let document =
        balance::document(&profile, &all, std::slice::from_ref(&without_cores), &balance::Options::default())
            .expect("no chain is known");
    assert!(text(&document, Format::Table, None).contains("unknown"));
    let values = Profile { meta: sample::values().meta, ..profile };
    let refused = balance::document(&values, &workloads(&values), &[without_cores], &balance::Options::default());
    assert!(refusal(refused).contains("cores"));
}
