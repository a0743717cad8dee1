//! Hazards of a program whose functions each have a known number of them: by hooks and under the emulator, in parts, in
//! recordings and in the gate.

use std::path::{Path, PathBuf};

use dmdprof_tests::gate::Repository;
use dmdprof_tests::profiled::{Report, Run, record, replay};
use dmdprof_tests::programs::Compiler;
use dmdprof_tests::tool::{describe, dmdprof, in_tests, scratch, succeed};
use dmdprof_tests::unhooked::{build, emulator};
use serde_json::Value;

const SOURCE: &str = "hazards.c";
const FUNCTIONS: [(&str, &str); 3] =
    [("whole", ""), ("two_lines", "split_lines"), ("two_pages", "split_lines split_pages")];

fn assert_counted(how: &str, profile: &Path) {
    let report = Report::read(profile);
    for (name, kinds) in FUNCTIONS {
        let function = report.functions().iter().find(|row| row["name"] == name).expect("a function");
        let hazards = function["exclusive"]["hazards"].as_array().expect("they were counted");
        for hazard in hazards {
            let kind = hazard["kind"].as_str().expect("a name");
            let times = if kinds.split(' ').any(|other| other == kind) { 1000 } else { 0 };
            assert_eq!(hazard["accesses"], Value::from(times), "{how}: {kind} in {name}");
        }
        assert!(hazards.len() >= 2, "{how}: {hazards:?}");
    }
}

fn source() -> PathBuf {
    in_tests("binary").join(SOURCE)
}

#[test]
fn each_function_has_its_own() {
    let directory = scratch();
    let hooked = Run::new(source(), directory.path()).options(["--hazards", "--objects"]).go();
    assert!(hooked.output.status.success(), "{}", describe(&hooked.output));
    assert_counted("hooks", &hooked.profile);
    let text = succeed(dmdprof().arg("report").arg(&hooked.profile)).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("hazards, of all accesses: split lines 2,000"), "{text}");
    let csv = succeed(dmdprof().arg("report").arg(&hooked.profile).args(["--format", "csv"])).stdout;
    assert!(String::from_utf8_lossy(&csv).contains("hazards_split_lines_accesses"), "columns of CSV");

    emulator();
    let plain = build(SOURCE, &Compiler::native());
    let emulated = Run::new(&plain, directory.path()).options(["--binary", "--hazards", "--lines-only"]).go();
    assert!(emulated.output.status.success(), "{}", describe(&emulated.output));
    assert_counted("emulator", &emulated.profile);
}

#[test]
fn parts_of_a_recording_have_what_the_whole_has() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let program = at("splits");
    succeed(dmdprof().args(["cc", "-O1"]).arg(source()).arg("-o").arg(&program));
    record(&program, directory.path());
    let whole = replay(directory.path(), &["--hazards"]);
    assert!(whole.status.success(), "{}", describe(&whole));
    assert_counted("replayed", &at("dmdprof.data"));
    for part in ["1/2", "2/2"] {
        let mut slice = dmdprof();
        slice.args(["slice", "--no-lines", "--hazards", "--part", part]).arg(at("dmdprof.trace"));
        succeed(slice.arg("-o").arg(at(&part[..1])));
    }
    succeed(dmdprof().arg("merge").args([at("1"), at("2")]).arg("-o").arg(at("merged")));
    let [whole, merged] = ["dmdprof.data", "merged"].map(|name| std::fs::read(at(name)).expect("a profile"));
    assert_eq!(whole, merged, "to the byte");
}

#[test]
fn the_gate_limits_them() {
    let directory = Repository::new();
    let text = std::fs::read_to_string(source()).expect("a source");
    let program = directory.write("splits.c", &text);
    let program = program.to_str().expect("a name");
    directory.check(0, ["--save-baseline", "splits", "--hazards", "--", program]);
    directory.check(0, ["--baseline", "splits", "--hazards", "--limit", "split_lines=0", "--", program]);
    directory.write("splits.c", &text.replace("TIMES = 1000", "TIMES = 1001"));
    let limits = ["--limit", "split_lines=1", "--limit", "cost=off", "--limit", "accesses=off"];
    let failed = directory.check(3, [&["--baseline", "splits", "--hazards"], &limits[..], &["--", program]].concat());
    assert!(failed.contains("split lines"), "{failed}");
    let lacking = directory.check(3, ["--baseline", "splits", "--limit", "split_lines=1", "--", program]);
    assert!(lacking.contains("measure it with --hazards"), "{lacking}");
}
