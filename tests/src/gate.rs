//! One repository under the gate: a scratch directory in which `dmdprof check` keeps its baselines.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::tool::{describe, dmdprof, output, scratch};

/// A directory with baselines.
pub struct Repository {
    directory: TempDir,
}

impl Default for Repository {
    fn default() -> Self {
        Self::new()
    }
}

impl Repository {
    #[must_use]
    pub fn new() -> Self {
        Self { directory: scratch() }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file and gives its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    #[must_use]
    pub fn read(&self, name: &str) -> String {
        let path = self.path().join(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// `dmdprof check`, in the directory, as outside of any CI.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = dmdprof();
        command.arg("check").args(arguments).current_dir(self.path());
        command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY").env_remove("GITHUB_WORKSPACE");
        command
    }

    /// Runs and gives what it printed; fails unless it exits with `code`.
    pub fn check<S: AsRef<OsStr>>(&self, code: i32, arguments: impl IntoIterator<Item = S>) -> String {
        let found = output(&mut self.command(arguments));
        assert_eq!(found.status.code(), Some(code), "{}", describe(&found));
        text(&found)
    }

    /// Makes the baseline of a command.
    pub fn save<S: AsRef<OsStr>>(
        &self,
        name: &str,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = S>,
    ) {
        let mut command = self.command(["--save-baseline", name, "--"]);
        let found = output(command.arg(program).args(arguments));
        assert!(found.status.success(), "{}", describe(&found));
    }

    /// Compares a command with a baseline: the only case of the JSON.
    pub fn compare<S: AsRef<OsStr>>(
        &self,
        name: &str,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Compared {
        let mut command = self.command(["--baseline", name, "--format", "json", "--"]);
        let found = output(command.arg(program).args(arguments));
        let json: Value = serde_json::from_slice(&found.stdout).unwrap_or_else(|e| panic!("{e}: {}", describe(&found)));
        Compared { code: found.status.code().expect("an exit code"), case: json["cases"][0].clone() }
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What the gate says about one case.
#[derive(Debug)]
pub struct Compared {
    pub code: i32,
    pub case: Value,
}

impl Compared {
    /// The function that is named first, and the kind of its first cause.
    #[must_use]
    pub fn first(&self) -> (&str, &str) {
        let findings = self.case["findings"].as_array().expect("findings");
        let finding = findings.iter().find(|f| f["function"].is_string());
        let finding = finding.unwrap_or_else(|| panic!("no function is named: {:#}", self.case));
        (finding["function"].as_str().expect("a name"), finding["why"][0]["kind"].as_str().unwrap_or("no cause"))
    }

    /// A regression that is pinned on a function and a cause.
    pub fn assert_caught(&self, function: &str, cause: &str) {
        assert_eq!(self.code, 3, "{:#}", self.case);
        assert_eq!(self.first(), (function, cause), "{:#}", self.case);
    }

    pub fn assert_passes(&self) {
        assert_eq!((self.code, self.case["result"].as_str()), (0, Some("ok")), "{:#}", self.case);
    }
}

/// A source with one thing changed, which must be there exactly once.
#[must_use]
pub fn changed(source: &str, old: &str, new: &str) -> String {
    assert_eq!(source.matches(old).count(), 1, "{old:?} is not there once");
    source.replace(old, new)
}
