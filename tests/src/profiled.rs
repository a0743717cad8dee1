//! One run under `dmdprof`: `dmdprof run -o FILE --quiet`, so that the program's output is its own, then
//! `dmdprof report FILE --format json`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::tool::{describe, dmdprof, succeed};
use crate::truth::Tally;

/// How to run something under `dmdprof`.
#[derive(Clone, Debug)]
pub struct Run {
    options: Vec<OsString>,
    program: OsString,
    args: Vec<OsString>,
    directory: PathBuf,
    profile: PathBuf,
}

impl Run {
    /// The program runs in `directory`; the profile is `dmdprof.data` there.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>, directory: &Path) -> Self {
        Self {
            options: Vec::new(),
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            directory: directory.to_path_buf(),
            profile: directory.join("dmdprof.data"),
        }
    }

    /// Options of `dmdprof run`.
    #[must_use]
    pub fn options<S: AsRef<OsStr>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(|o| o.as_ref().to_owned()));
        self
    }

    /// Arguments of the program.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Where the profile goes.
    #[must_use]
    pub fn profile(mut self, path: PathBuf) -> Self {
        self.profile = path;
        self
    }

    /// The command line, for tests that change it further.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = dmdprof();
        command.arg("run").arg("-o").arg(&self.profile).arg("--quiet").args(bytes_only(&self.options));
        command.args(&self.options);
        command.arg(&self.program).args(&self.args).current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Runs and reads the profile, whatever the program's end.
    #[must_use]
    pub fn go(&self) -> Profiled {
        let mut command = self.command();
        let output = command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        assert!(self.profile.is_file(), "{command:?} left no profile\n{}", describe(&output));
        Profiled { output, report: Report::read(&self.profile), profile: self.profile.clone() }
    }
}

/// Leaves lines out unless options are about them: most tests are about bytes, and take less time so.
pub fn bytes_only<S: AsRef<OsStr>>(options: &[S]) -> Option<&'static str> {
    let of_lines = ["--line-size", "--lines-only", "--cache", "--no-lines"];
    let is_of_lines = |option: &S| of_lines.iter().any(|start| option.as_ref().to_string_lossy().starts_with(start));
    (!options.iter().any(is_of_lines)).then_some("--no-lines")
}

/// What a run left behind.
#[derive(Debug)]
pub struct Profiled {
    /// What `dmdprof run` printed, which is what the program printed.
    pub output: Output,
    pub profile: PathBuf,
    pub report: Report,
}

/// A JSON report by linked symbols, with depth histograms.
#[derive(Clone, Debug)]
pub struct Report(pub Value);

/// Reads the number at a JSON pointer; the message shows what is missing.
fn number(value: &Value, pointer: &str) -> u64 {
    value
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no integer at {pointer} of {}", serde_json::to_string(value).unwrap_or_default()))
}

impl Report {
    #[must_use]
    pub fn read(profile: &Path) -> Self {
        let output = succeed(dmdprof().arg("report").arg(profile).args(["--format", "json", "--hist", "--no-inline"]));
        let value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("`dmdprof report --format json` is not JSON: {e}\n{}", describe(&output)));
        Self(value)
    }

    /// A number of the whole program: `cost`, `read`, `written`, `cold`, `accesses`, `peak_live`, `footprint`.
    #[must_use]
    pub fn total(&self, field: &str) -> u64 {
        number(&self.0, &format!("/totals/{field}"))
    }

    #[must_use]
    pub fn lost_events(&self) -> u64 {
        number(&self.0, "/coverage/lost_events")
    }

    #[must_use]
    pub fn complete(&self) -> bool {
        self.0["complete"].as_bool().expect("`complete` is true or false")
    }

    #[must_use]
    pub fn functions(&self) -> &[Value] {
        self.0["functions"].as_array().expect("`functions` is a list")
    }

    /// Names of all functions, for messages.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.functions().iter().filter_map(|f| f["name"].as_str()).collect()
    }

    /// The one function with this symbol.
    #[must_use]
    pub fn function(&self, symbol: &str) -> Function<'_> {
        let has = |f: &&Value| f["symbols"].as_array().is_some_and(|all| all.iter().any(|s| s == symbol));
        let mut found = self.functions().iter().filter(has);
        let one = found.next().unwrap_or_else(|| panic!("no function {symbol} among {:?}", self.names()));
        assert!(found.next().is_none(), "several functions {symbol}");
        Function(one)
    }

    /// Bytes of lines that loads, and that all accesses, bring into a memory of `bytes` bytes (needs lines);
    /// `None` if the report does not list it.
    #[must_use]
    pub fn moved(&self, bytes: u64) -> Option<[u64; 2]> {
        let all = self.0.pointer("/totals/moved").and_then(Value::as_array).expect("a list of memories");
        let one = all.iter().find(|moved| number(moved, "/capacity_bytes") == bytes)?;
        Some(["/loaded", "/fetched"].map(|field| number(one, field)))
    }

    /// Bytes of lines that loads, and that all accesses, bring into a level of caches, from 1 on (needs `--cache`).
    #[must_use]
    pub fn cached(&self, level: usize) -> [u64; 2] {
        ["loaded", "fetched"].map(|field| number(&self.0, &format!("/totals/caches/{}/{field}", level - 1)))
    }

    /// What holds for every profile: nothing lost, ByteDMD identity, exclusive numbers add up to the totals.
    pub fn assert_consistent(&self) {
        assert_eq!(self.lost_events(), 0, "events were lost");
        assert_eq!(self.0.pointer("/identity/holds"), Some(&Value::Bool(true)), "cost and histogram disagree");
        for field in ["cost", "read", "written", "cold", "accesses"] {
            let rows: u64 = self.functions().iter().map(|f| number(f, &format!("/exclusive/{field}"))).sum();
            assert_eq!(rows, self.total(field), "exclusive {field} of all functions against the total");
        }
    }
}

/// One row of a report.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a>(&'a Value);

impl Function<'_> {
    /// Bytes of lines that it fetches into a memory of `bytes` bytes, and that are written back because of it (needs
    /// `--line-size`); `None` if the report does not list that memory.
    #[must_use]
    pub fn moved(&self, bytes: u64) -> Option<[u64; 2]> {
        let all = self.0.pointer("/exclusive/moved").and_then(Value::as_array).expect("a list of memories");
        let one = all.iter().find(|moved| number(moved, "/capacity_bytes") == bytes)?;
        Some(["/fetched", "/written_back"].map(|field| number(one, field)))
    }

    /// Bytes of lines that it fetches into a level of caches, from 1 on, that are written back because of it, and that
    /// are fetched because of conflicts (needs `--cache`).
    #[must_use]
    pub fn cached(&self, level: usize) -> [u64; 3] {
        ["fetched", "written_back", "conflicts"]
            .map(|field| number(self.0, &format!("/exclusive/caches/{}/{field}", level - 1)))
    }

    /// Bytes that a memory of `bytes` bytes fetches at least, and with LRU, and first touches beyond it (needs
    /// `--optimum`); `None` if the report does not list that memory.
    #[must_use]
    pub fn optimum(&self, bytes: u64) -> Option<[u64; 3]> {
        let all = self.0.pointer("/exclusive/optimum").and_then(Value::as_array).expect("a list of memories");
        let one = all.iter().find(|fetched| number(fetched, "/capacity_bytes") == bytes)?;
        Some(["/least", "/lru", "/first_touch"].map(|field| number(one, field)))
    }

    /// `cost`, `read`, `written`, `cold` or `accesses`, without callees.
    #[must_use]
    pub fn exclusive(&self, field: &str) -> u64 {
        number(self.0, &format!("/exclusive/{field}"))
    }

    /// `hints_cost`, `cost`, `unread` or `last_read` of a run with exact liveness.
    #[must_use]
    pub fn dead(&self, field: &str) -> u64 {
        number(self.0, &format!("/exclusive/dead/{field}"))
    }

    /// (smallest depth, largest depth, bytes read), no empty ones.
    #[must_use]
    pub fn histogram(&self) -> Vec<(u64, u64, u64)> {
        self.buckets("/depth/histogram")
    }

    /// The same by the fewest bytes that a memory must have to still hold what is read.
    #[must_use]
    pub fn by_capacity(&self) -> Vec<(u64, u64, u64)> {
        self.buckets("/depth/by_capacity")
    }

    fn buckets(&self, pointer: &str) -> Vec<(u64, u64, u64)> {
        let buckets = self.0.pointer(pointer).and_then(Value::as_array).expect("a histogram");
        let all = buckets.iter().map(|b| (number(b, "/0"), number(b, "/1"), number(b, "/2")));
        all.filter(|&(_, _, bytes)| bytes > 0).collect()
    }

    /// Compares with an exact expectation; the differences, one per line.
    pub fn check(&self, expected: &Tally) -> Result<(), String> {
        let mut differences = Vec::new();
        let mut compare = |what: String, expected: u128, found: u128| {
            if expected != found {
                differences.push(format!("{what}: expected {expected}, found {found}"));
            }
        };
        compare("cost".into(), expected.cost, self.exclusive("cost").into());
        compare("bytes read".into(), expected.read.into(), self.exclusive("read").into());
        compare("bytes written".into(), expected.written.into(), self.exclusive("written").into());
        compare("cold bytes".into(), expected.cold.into(), self.exclusive("cold").into());
        let mut seen = 0;
        for (low, high, bytes) in self.histogram() {
            compare(format!("bytes at depths {low}..={high}"), expected.between(low, high).into(), bytes.into());
            seen += bytes;
        }
        compare("bytes in the histogram".into(), expected.read.into(), seen.into());
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    }
}

/// The hash over (site, depth) that a run with `--without` computes.
#[must_use]
pub fn depth_hash(run: &Run) -> String {
    statistic(run, "depths")
}

/// What a run says of itself with `--stats`.
#[must_use]
pub fn statistic(run: &Run, name: &str) -> String {
    statistic_in(&succeed(&mut run.clone().options(["--stats"]).command()), name)
}

/// The same of what a run or a replay with `--stats` has said.
#[must_use]
pub fn statistic_in(output: &Output, name: &str) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let value = said.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {said}")).to_owned()
}

/// Records a program that takes no arguments, in a directory.
pub fn record(program: &Path, directory: &Path) {
    succeed(dmdprof().arg("record").arg(program).current_dir(directory));
}

/// Replays the trace that is in a directory.
#[must_use]
pub fn replay(directory: &Path, options: &[&str]) -> Output {
    let mut command = dmdprof();
    command.args(["replay", "--quiet"]).args(bytes_only(options)).args(options);
    command.current_dir(directory).output().expect("dmdprof starts")
}
