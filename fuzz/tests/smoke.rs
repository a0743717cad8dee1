//! All targets for a few seconds each: what damaged input does to the readers of this very build.

use std::process::Command;

#[test]
fn damaged_input_brings_no_reader_down() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_dmdprof-fuzz"));
    program.args(["run", "--seconds", "15"]).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    if let Some(dmdprof) = std::env::var_os("DMDPROF_TEST_BINARY") {
        program.arg("--dmdprof").arg(dmdprof);
    }
    let output = program.output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.lines().filter(|line| line.ends_with(" 0")).count() > 10, "few targets:\n{said}");
}
