//! Builds and runs one program in every way and compares. Gives an [`Outcome`]; what is wrong with it are its faults.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::manifest::Program;
use super::ran::Ran;
use super::sources::fetch;
use super::stage::{Stage, Tree};
use crate::cachegrind::{field, total};
use crate::profiled::{Report, bytes_only};
use crate::tool::{describe, valgrind};

/// The cache that Cachegrind and `--lines-only` compute, fully associative with lines of 64 bytes.
pub const CAPACITY: u64 = 32 << 10;
pub const LINE: u64 = 64;

/// A program of which hooks see less than this part is not the one that was built.
const FEWEST: u64 = 10;

/// What came out for one program.
#[derive(Debug, Deserialize, Serialize)]
pub struct Outcome {
    pub name: String,
    pub language: String,
    pub about: String,
    /// Year, month and day.
    pub date: String,
    /// What is wrong and not explained by the list.
    pub faults: Vec<String>,
    pub measured: Option<Measured>,
}

/// The numbers of a program that could be built and run in every way.
#[derive(Debug, Deserialize, Serialize)]
pub struct Measured {
    /// Processor time, of all processes and of the analysis.
    pub build: [Duration; 2],
    pub native: Duration,
    pub profiled: Duration,
    pub same_output: bool,
    pub same_profile: bool,
    pub complete: bool,
    /// Loads and stores with hooks, and all that the native program executes.
    pub accesses: u64,
    pub references: u64,
    /// Read misses, by `dmdprof run --lines-only` and by Cachegrind.
    pub misses: [u64; 2],
    pub explained: Vec<String>,
}

/// Fetches, builds, runs and compares a program. Takes minutes.
#[must_use]
pub fn examine(program: &Program, cache: &Path) -> Outcome {
    let mut faults = Vec::new();
    let measured = measure(program, cache, &mut faults).map_err(|fault| faults.push(fault)).ok();
    let Program { name, language, about, .. } = program;
    Outcome { name: name.clone(), language: language.clone(), about: about.clone(), date: today(), faults, measured }
}

pub fn today() -> String {
    let output = crate::tool::succeed(Command::new("date").args(["-u", "+%F"]));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn measure(program: &Program, cache: &Path, faults: &mut Vec<String>) -> Result<Measured, String> {
    let sources = fetch(&program.source, cache)?;
    let stage = Stage::new(program, sources, cache).map_err(|e| e.to_string())?;
    let mut build = [Duration::ZERO; 2];
    for (tree, took) in [Tree::Native, Tree::Hooked].into_iter().zip(&mut build) {
        *took = stage.build(tree).map_err(|e| format!("the build ({tree:?}) failed: {e}"))?;
    }

    let first = native(&stage)?;
    let again = native(&stage)?;
    let mut judge = Judge { faults, explained: Vec::new() };
    let repeats = again.difference(&first);
    if let Some(what) = &repeats {
        judge.explain(format!("the program itself does not repeat: {what}"), program.differs.as_ref());
    }

    let (one, two) = (stage.file("one.data"), stage.file("two.data"));
    let hooked = profile(&stage, &one, &[])?;
    profile(&stage, &two, &[])?;
    let changed = hooked.difference(&first);
    if let (Some(what), None) = (&changed, &repeats) {
        judge.explain(format!("the output differs: {what}"), program.differs.as_ref());
    }
    let same_profile = std::fs::read(&one).ok() == std::fs::read(&two).ok();
    if !same_profile {
        judge.explain("two profiles differ".to_owned(), program.varies.as_ref());
    }
    let report = Report::read(&one);
    if !report.complete() {
        judge.explain(format!("the profile is incomplete: {}", said(&hooked)), program.incomplete.as_ref());
    }

    let lines = stage.file("lines.data");
    profile(&stage, &lines, &["--lines-only"])?;
    let counts = cachegrind_of(&stage)?;
    let accesses = report.total("accesses");
    if accesses < counts.references / FEWEST {
        let what =
            format!("hooks see {accesses} of {} accesses: does it run a library of the system?", counts.references);
        judge.explain(what, program.unseen.as_ref());
    }
    let explained = judge.explained;
    let loaded = Report::read(&lines).moved(CAPACITY).ok_or("the report lists no memory of 32 KiB")?;
    Ok(Measured {
        build,
        native: first.took.processor.min(again.took.processor),
        profiled: hooked.took.processor,
        same_output: changed.is_none(),
        same_profile,
        complete: report.complete(),
        accesses,
        references: counts.references,
        misses: [loaded[0] / LINE, counts.misses[0]],
        explained,
    })
}

/// Sorts what is noticed into faults and what the list explains.
struct Judge<'f> {
    faults: &'f mut Vec<String>,
    explained: Vec<String>,
}

impl Judge<'_> {
    fn explain(&mut self, what: String, why: Option<&String>) {
        match why {
            Some(why) => self.explained.push(why.clone()),
            None => self.faults.push(what),
        }
    }
}

fn native(stage: &Stage) -> Result<Ran, String> {
    let ran = stage.work(Tree::Native, &[])?;
    if ran.output.status.success() {
        Ok(ran)
    } else {
        Err(format!("the native program fails: {}", describe(&ran.output)))
    }
}

fn profile(stage: &Stage, to: &PathBuf, options: &[&str]) -> Result<Ran, String> {
    drop(std::fs::remove_file(to));
    let dmdprof = crate::tool::dmdprof_path().display().to_string();
    let to_name = to.display().to_string();
    let lines = bytes_only(options);
    let below = [&[dmdprof.as_str(), "run", "--quiet", "-o", &to_name], lines.as_slice(), options].concat();
    let ran = stage.work(Tree::Hooked, &below)?;
    if to.is_file() { Ok(ran) } else { Err(format!("no profile: {}", describe(&ran.output))) }
}

/// What `dmdprof` itself printed.
fn said(ran: &Ran) -> String {
    let text = String::from_utf8_lossy(&ran.output.stderr).into_owned();
    text.lines().filter(|line| line.starts_with("dmdprof: ")).collect::<Vec<_>>().join("; ")
}

/// What Cachegrind counts.
#[derive(Default)]
pub struct Counts {
    pub references: u64,
    /// Misses of reads, and of writes.
    pub misses: [u64; 2],
}

/// Data references and misses of the processes that a run below Cachegrind starts and whose command is counted.
///
/// # Errors
/// That the run fails, or counts nothing.
pub fn cachegrind(
    folder: &Path,
    run: impl FnOnce(&[&str]) -> Result<Ran, String>,
    is_counted: impl Fn(&str) -> bool,
) -> Result<Counts, String> {
    drop(std::fs::remove_dir_all(folder));
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let valgrind = valgrind().display().to_string();
    let out = format!("--cachegrind-out-file={}/%p", folder.display());
    let cache = format!("--D1={CAPACITY},{},{LINE}", CAPACITY / LINE);
    let fixed = ["--quiet", "--tool=cachegrind", "--trace-children=yes", "--cache-sim=yes", "--I1=32768,8,64"];
    run(&[&[valgrind.as_str()], &fixed[..], &["--LL=8388608,16,64", &cache, &out]].concat())?;
    let mut counts = Counts::default();
    for file in std::fs::read_dir(folder).map_err(|e| e.to_string())?.flatten() {
        let text = std::fs::read_to_string(file.path()).map_err(|e| e.to_string())?;
        if !is_counted(field(&text, "cmd:")) {
            continue;
        }
        let known = |event: &str| total(&text, event).ok_or_else(|| format!("Cachegrind's file lacks {event}"));
        counts.references += known("Dr")? + known("Dw")?;
        counts.misses = [counts.misses[0] + known("D1mr")?, counts.misses[1] + known("D1mw")?];
    }
    if counts.references == 0 { Err("Cachegrind counts nothing".to_owned()) } else { Ok(counts) }
}

/// That of the native program, without the shell around it.
fn cachegrind_of(stage: &Stage) -> Result<Counts, String> {
    let run = |below: &[&str]| {
        let ran = stage.work(Tree::Native, below)?;
        if ran.output.status.success() { Ok(ran) } else { Err(format!("Cachegrind fails: {}", describe(&ran.output))) }
    };
    let built = stage.built().display().to_string();
    cachegrind(&stage.file("cachegrind"), run, |command| command.starts_with(&built))
        .map_err(|e| format!("{e} (does the workload start a program of the built tree, $B?)"))
}
