//! Estimates for machines, from compiled programs: `roofline`, `curve`, `balance`, `fuse`, `place`, and what they
//! refuse.
//!
//! The rooflines of the reference kernels are in `goldens.rs`, which has the kernels.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use dmdprof_tests::profiled::Run;
use dmdprof_tests::programs::{Compiler, case};
use dmdprof_tests::tool::{describe, dmdprof, output, scratch, succeed};
use serde_json::Value;
use tempfile::TempDir;

/// A profile of `pipeline.c` with flows and the calls of `main`.
fn profile() -> &'static Path {
    static PROFILE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = PROFILE.get_or_init(|| {
        let directory = scratch();
        let path = directory.path().join("pipeline.data");
        let run = Run::new(case("pipeline").build(&Compiler::dmdprof()), directory.path());
        succeed(&mut run.profile(path.clone()).options(["--flows", "--sequence", "main"]).command());
        (directory, path)
    });
    path
}

fn json(command: &str, words: &[&str]) -> Value {
    let output = succeed(dmdprof().arg(command).arg(profile()).args(words).args(["--format", "json"]));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{command}: {e}\n{}", describe(&output)))
}

fn rows<'a>(document: &'a Value, sheet: &str) -> &'a [Value] {
    let sheets = document["sheets"].as_array().expect("sheets");
    let found = sheets.iter().find(|s| s["name"] == sheet).unwrap_or_else(|| panic!("no sheet {sheet}"));
    found["rows"].as_array().expect("rows")
}

fn row<'a>(rows: &'a [Value], name: &str) -> &'a Value {
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no row {name}"))
}

const ARRAY: u64 = 20_000 * 8;

#[test]
fn rooflines_have_the_work_and_traffic_of_the_loops() {
    let document = json("roofline", &["--machine", "skx-6148-core,toy3"]);
    let of = |sheet: &str, name: &str| row(rows(&document, sheet), name).clone();
    for machine in ["skx-6148-core", "toy3"] {
        let scale = of(machine, "scale");
        assert_eq!((scale["work"].as_u64(), scale["calls"].as_u64()), (Some(3 * 40_000), Some(3)));
        assert_eq!(of(machine, "(program)")["work"].as_u64(), Some(20_000 + 3 * (40_000 + 20_000 + 40_000 + 2)));
    }
    // Each array has gone through a level of 2 KiB, and most of it through an L1 of 32 KiB, before it is read again.
    let total = of("toy3", "total");
    assert_eq!(total["traffic.level2"].as_u64(), Some(3 * ARRAY));
    let seconds = 3.0 * ARRAY as f64 / 2e9;
    assert!((total["seconds"].as_f64().unwrap() / seconds - 1.0).abs() < 1e-9, "{total}");
    assert_eq!(total["bound"], "mem->level2");
    assert!(total["guesses"].as_array().unwrap().contains(&"seconds".into()), "{total}");
    assert!(of("skx-6148-core", "total")["guesses"].as_array().unwrap().is_empty());
}

#[test]
fn curves_agree_with_the_cost() {
    let output =
        succeed(dmdprof().arg("curve").arg(profile()).args(["--machine", "toy3", "-f", "total", "-f", "norm"]));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.matches(": agrees.").count(), 2, "{text}");
    assert!(text.contains("level2 of toy3"), "{text}");
}

#[test]
fn pairs_are_what_the_stages_pass_on() {
    let document = json("fuse", &["--machine", "toy3"]);
    let pairs: Vec<_> = rows(&document, "pairs")
        .iter()
        .map(|p| (text(p, "producer"), text(p, "consumer"), p["bytes"].as_u64()))
        .collect();
    let expected = [("scale", "total", Some(3 * ARRAY)), ("produce", "scale", Some(ARRAY))];
    assert_eq!(pairs, expected);
    let shared: Vec<_> =
        rows(&document, "shared").iter().map(|p| (text(p, "first"), text(p, "second"), p["bytes"].as_u64())).collect();
    assert_eq!(shared, [("total", "norm", Some(3 * ARRAY))]);
    // Bytes on the slowest link (2 GB/s), each array three times: scale reads a and writes b, total reads b. As one, b
    // is still written, because norm reads it later.
    let saving = |p: &Value| p["toy3.saving"].as_f64().unwrap();
    let first = saving(&rows(&document, "pairs")[0]);
    assert!((first / (3.0 * ARRAY as f64 / 2e9) - 1.0).abs() < 1e-9, "{first}");
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("no {field} in {row}"))
}

#[test]
fn calls_are_placed_in_order() {
    let machines = ["--machine", "place-engine,place-gpu,place-cpu", "--assume-capacity", "4 KiB"];
    let document = json("place", &machines);
    let stretches = rows(&document, "stretches");
    assert_eq!(stretches.len(), 1, "{stretches:?}");
    assert_eq!((stretches[0]["calls"].as_u64(), text(&stretches[0], "target")), (Some(10), "place-engine"));
    assert_eq!(text(&stretches[0], "functions"), "produce, scale, total, norm");
    // Everything on the engine: bytes of nine calls at 50 GB/s, work of the first at 800 Gop/s, one launch.
    let best = row_by(rows(&document, "forced"), "target", "(best)")["seconds"].as_f64().unwrap();
    let expected = 9.0 * ARRAY as f64 / 50e9 + 20_000.0 / 800e9 + 0.05e-3;
    assert!((best / expected - 1.0).abs() < 1e-9, "{best} {expected}");

    let elsewhere = json("place", &[&machines[..], &["--allow", "norm=place-gpu,place-cpu"]].concat());
    let gpu = row(rows(&elsewhere, "functions"), "norm");
    assert!(text(gpu, "target").starts_with("place-gpu"), "{gpu}");
}

fn row_by<'a>(rows: &'a [Value], field: &str, value: &str) -> &'a Value {
    rows.iter().find(|row| row[field] == value).unwrap_or_else(|| panic!("no {field} {value}"))
}

#[test]
fn balance_states_what_it_does_not_know() {
    let document = json("balance", &["--machine", "fermi-c2050", "--assume-capacity", "1 KiB"]);
    let total = row(rows(&document, "fermi-c2050"), "total");
    assert_eq!(
        (text(total, "little"), text(total, "amdahl"), text(total, "obstacle")),
        ("unknown", "unknown", "traffic")
    );
    assert_eq!(total["balanced"], false);
    assert!((total["intensity"].as_f64().unwrap() - 60_000.0 / (3.0 * ARRAY as f64)).abs() < 1e-12);
}

#[test]
fn pictures_are_the_same_every_time() {
    let directory = scratch();
    let picture = |name: &str| {
        let path = directory.path().join(name);
        succeed(dmdprof().args(["roofline", "--machine", "skx-6148-core", "--svg"]).arg(&path).arg(profile()));
        std::fs::read_to_string(path).expect("a picture")
    };
    let first = picture("a.svg");
    assert!(first.contains("<svg") && first.contains("scale"), "{first}");
    assert_eq!(first, picture("b.svg"));
}

/// With the option as without it; both at once are refused, and a profile in the place of something else is told.
#[test]
fn every_command_takes_the_profile_alike() {
    let directory = scratch();
    let path = profile();
    let commands: [&[&str]; 9] = [
        &["report"],
        &["curve"],
        &["roofline", "--machine", "toy3"],
        &["balance", "--machine", "toy3"],
        &["fuse"],
        &["export", "--to", "folded", "-o", "-"],
        &["view", "-o", "page.html"],
        &["annotate"],
        &["plan", "shelf-life"],
    ];
    for words in commands {
        for option in ["-p", "--profile"] {
            let output = output(dmdprof().args(words).arg(option).arg(path).current_dir(directory.path()));
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.code() != Some(2) && !stderr.contains("dmdprof.data"),
                "{words:?}\n{}",
                describe(&output)
            );
        }
    }
    for words in &commands[..7] {
        let there = succeed(dmdprof().args(*words).arg(path).current_dir(directory.path()));
        let named = succeed(dmdprof().args(*words).arg("-p").arg(path).current_dir(directory.path()));
        assert_eq!(there.stdout, named.stdout, "{words:?}");
        let both = output(dmdprof().args(*words).arg(path).arg("-p").arg(path));
        assert_eq!(both.status.code(), Some(2), "{}", describe(&both));
    }
    for words in ["why", "annotate"] {
        let refused = output(dmdprof().arg(words).arg(path));
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(stderr.contains("is a profile; this command reads one with -p"), "{}", describe(&refused));
    }
}

/// What is odd in a machine file is told once, with what to do; what a calibration measured is not told again.
#[test]
fn a_level_that_is_filled_faster_is_told_once() {
    let directory = scratch();
    let folder = directory.path().join("dmdprof/machines");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut shown = succeed(dmdprof().args(["machine", "show", "toy3", "--toml"])).stdout;
    let text = String::from_utf8(std::mem::take(&mut shown)).expect("text").replace("\"toy3\"", "\"mine\"");
    // The first level's link is made the slowest.
    let at = text.find("bandwidth").expect("a level has one");
    let end = at + text[at..].find('\n').expect("a line ends");
    for (confidence, times) in [("datasheet", 1), ("measured", 0)] {
        let slow = format!("bandwidth = {{ value = \"1 B/s\", confidence = \"{confidence}\", source = \"a test\" }}");
        let text =
            format!("{}{slow}{}", &text[..at], &text[end..]).replace("\"convention\"", &format!("\"{confidence}\""));
        std::fs::write(folder.join("mine.toml"), text).expect("written");
        let mut command = dmdprof();
        command.args(["balance", "--machine", "mine", "--growth", "mine"]).arg(profile());
        let output = output(command.env("XDG_CONFIG_HOME", directory.path()));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr.matches("is filled faster than").count(), times, "{stderr}");
        assert_eq!(stderr.matches("dmdprof machine calibrate").count(), times, "{stderr}");
    }
}

#[test]
fn what_cannot_be_estimated_is_refused_with_a_way_out() {
    let directory = scratch();
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).expect("the directory can be written");
        path.to_str().expect("a plain path").to_owned()
    };
    let times = file("times.csv", "name,seconds\ntotl,1\n");
    let machine = file(
        "mine.toml",
        "schema = 1\nname = \"mine\"\ntitle = \"t\"\nconfidence = \"measured\"\nsource = \"s\"\n[peak]\nfp64 = \"32 KiB\"\n",
    );
    let cases: [(&[&str], &[&str]); 8] = [
        (&["roofline", "--machine", "skx-6147-core"], &["no machine is called", "skx-6148-core"]),
        (&["roofline", "--machine", &machine], &["mine.toml:7", "peak.fp64", "op/s"]),
        (&["roofline", "--machine", "toy3", "-f", "totl"], &["no function or region is called totl", "total"]),
        (&["roofline", "--machine", "toy3", "--times", &times], &["a time for totl", "did you mean total?"]),
        (&["roofline", "--machine", "ane-h13"], &["states no level", "--assume-capacity"]),
        (&["balance", "--machine", "ane-h13"], &["the balance model needs", "ane-h13"]),
        (&["place", "--machine", "toy3"], &["placement.launch", "dmdprof machine show toy3 --toml"]),
        (&["roofline", "--machine", "toy3", "--type", "fp65"], &["fp64, fp32"]),
    ];
    for (words, said) in cases {
        let output = output(dmdprof().args(words).arg(profile()));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && !stderr.contains("panicked"), "{words:?}\n{}", describe(&output));
        for word in said {
            assert!(stderr.contains(word), "{words:?} does not say {word:?}\n{stderr}");
        }
    }
}
