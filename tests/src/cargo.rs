//! Cargo projects of the tests, built with `cargo` and with `dmdprof cargo`. All share one target directory and one
//! cache of objects, so that each crate is compiled once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tool::{dmdprof, in_tests, target_dir};

/// The workspace of the projects.
#[must_use]
pub fn projects() -> PathBuf {
    in_tests("programs/rust")
}

/// A directory that stays between tests.
#[must_use]
pub fn shared(what: &str) -> PathBuf {
    target_dir().join("tmp").join(format!("dmdprof-cargo-{what}"))
}

/// `dmdprof cargo`, to be completed; profiles go to `directory`.
#[must_use]
pub fn hooked(directory: &Path, options: &[&str], words: &[&str]) -> Command {
    let mut command = dmdprof();
    command.args(["cargo", "--no-lines", "-o"]).arg(directory.join("dmdprof.data")).args(options).args(words);
    // The optimiser's highest level takes twice as long.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    prepare(&mut command, "hooked");
    command
}

/// `cargo`, to be completed.
#[must_use]
pub fn plain(words: &[&str]) -> Command {
    let mut command = unhooked();
    command.args(words);
    prepare(&mut command, "plain");
    command
}

/// Cargo without hooks. What a program prints does not depend on the optimiser, which would take half of the test's
/// time.
#[must_use]
pub fn unhooked() -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    command
}

/// Has a command work on the projects, and find what `target` was built before.
pub fn prepare(command: &mut Command, target: &str) {
    command.current_dir(projects()).stdin(Stdio::null());
    command.env("CARGO_TARGET_DIR", shared(target));
    // What the surrounding `cargo test` says is about another project.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_INCREMENTAL", "RUSTC_WRAPPER"] {
        command.env_remove(name);
    }
}
