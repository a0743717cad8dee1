//! The scenarios in `examples/plan`, from the measurement of their profiles to the answers.

use std::{fs, process::Command};

use dmdprof_tests::tool::{dmdprof, dmdprof_path, repository, scratch, succeed};
use serde_json::Value;

/// One measurement serves all three scenarios.
#[test]
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
    // Four times an array of the program of 512 doubles.
    assert_eq!(number(&alone, "value", |row| row["figure"] == "message_each"), 4.0 * 512.0 * 8.0, "{alone}");
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
