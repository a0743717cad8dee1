//! The scenarios in `examples/plan`, from the measurement of their profiles to the answers.

use std::{fs, process::Command};

use dmdprof_tests::tool::{dmdprof, dmdprof_path, repository, scratch, succeed};
use serde_json::Value;

/// One measurement serves all three scenarios.
#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn scenarios_are_answered_from_measured_profiles() {
    let place = scratch();
    for entry in fs::read_dir(repository().join("examples/plan")).expect("examples/plan") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, place.path().join(path.file_name().expect("a name"))).expect("a copy");
    }
    let missing = dmdprof().current_dir(place.path()).args(["plan", "batch.toml"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(!missing.status.success() && said.contains("batch.data") && said.contains("profiles.sh"), "{said}");

    succeed(Command::new("sh").arg(place.path().join("profiles.sh")).env("DMDPROF", dmdprof_path()));
    let answer = |scenario: &str| -> Value {
        let output = succeed(dmdprof().current_dir(place.path()).args(["plan", scenario, "--format", "json"]));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    for (scenario, questions) in [
        ("stencil.toml", ["scaling", "checkpoint"]),
        ("lm.toml", ["serving", "serving"]),
        ("batch.toml", ["cost", "cost"]),
    ] {
        let text = answer(scenario).to_string();
        for question in questions {
            assert!(text.contains(&format!("\"{question}")), "{scenario} asks for {question}");
        }
    }

    // Of one device nothing is exchanged: the profile's own estimate.
    let json = |arguments: &[&str]| -> Value {
        let mut command = dmdprof();
        command.current_dir(place.path()).args(arguments).args(["--machine", "skx-6148-core", "--format", "json"]);
        serde_json::from_slice(&succeed(&mut command).stdout).expect("JSON")
    };
    let estimate = number(&json(&["roofline", "stencil.data"]), "seconds", |row| row["name"] == "(program)");
    let halo = ["--message", "4 x object halo_north", "--link", "12.5 GB/s", "--devices", "1"];
    let alone = json(&[&["plan", "scaling", "--profile", "stencil.data"][..], &halo].concat());
    assert_eq!(number(&alone, "value", |row| row["figure"] == "time"), estimate, "{alone}");
    // Which machine meets a time: of each the roofline's own estimate of the profile.
    let within = json(&["plan", "machines", "--within", "1 s", "--profile", "stencil.data"]);
    let sheet = |row: &Value| row["machine"] == "skx-6148-core" && row["meets"] == "yes";
    assert_eq!(number(&within, "seconds", sheet), estimate, "{within}");
    // Four times an array of the program of 512 doubles.
    assert_eq!(number(&alone, "value", |row| row["figure"] == "message_each"), 4.0 * 512.0 * 8.0, "{alone}");
}

/// Each new equation with its numbers, as it is typed.
#[test]
fn explanations_name_the_formula_and_its_source() {
    let cases: [(&[&str], &str); 4] = [
        (
            &[
                "training",
                "--parameters",
                "70.6e9",
                "--layers",
                "80",
                "--hidden",
                "8192",
                "--tokens",
                "4096",
                "--tensor",
                "8",
                "--link",
                "450 GB/s",
            ],
            "exchange = r * layers * m * all_reduce",
        ),
        (
            &[
                "network",
                "--devices",
                "64",
                "--parameters",
                "8e9",
                "--tokens",
                "4096",
                "--rate",
                "400 Top/s",
                "--link",
                "50 GB/s",
                "--ratio",
                "4",
            ],
            "exchange_compressed = 2 * (N - 1) * (M / (ratio * N * BW) + L)",
        ),
        (
            &["machines", "--within", "50 ms", "--work", "16e9 op", "--traffic", "16 GB"],
            "peak_needed = W / (eta * (within - tax))",
        ),
        (
            &[
                "serving",
                "--machine",
                "h100-sxm",
                "--parameters",
                "8e9",
                "--model",
                "16 GB",
                "--layers",
                "32",
                "--hidden",
                "1024",
                "--tokens",
                "896",
                "--page",
                "16",
                "--longest",
                "8192",
            ],
            "batch_paged = floor((memory - model) / (per_token * page * pages))",
        ),
    ];
    for (words, formula) in cases {
        let output = succeed(dmdprof().arg("plan").args(words).arg("--explain"));
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains(formula) && text.contains("mlsysim"), "{words:?}\n{text}");
    }
}

/// A column of the first row that is looked for, in whichever list of rows it stands.
fn number(document: &Value, column: &str, wanted: impl Fn(&Value) -> bool + Copy) -> f64 {
    fn search(value: &Value, column: &str, wanted: &dyn Fn(&Value) -> bool) -> Option<f64> {
        match value {
            Value::Object(map) if map.contains_key(column) && wanted(value) => map[column].as_f64(),
            Value::Object(map) => map.values().find_map(|value| search(value, column, wanted)),
            Value::Array(list) => list.iter().find_map(|value| search(value, column, wanted)),
            _ => None,
        }
    }
    search(document, column, &wanted).unwrap_or_else(|| panic!("no {column} in {document}"))
}
