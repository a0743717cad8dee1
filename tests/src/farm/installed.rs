//! Programs that the distribution has installed, without hooks and as they are: run alone, emulated under `dmdprof`,
//! and under Cachegrind. Takes `tests/farm/installed.toml`; gives what each moved, how long it took, and whether it did
//! the same and its profile was the same twice. Refuses to call good what differs without a reason in the list.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::outcome::{CAPACITY, LINE, cachegrind, today};
use super::ran::{Ran, Spent, copy, limited};
use crate::profiled::Report;
use crate::tool::{describe, dmdprof_path, in_tests, valgrind};

/// Seconds for one run in whatever way.
const LIMIT: u32 = 900;
/// Functions that are named.
const NAMED: usize = 3;

/// A program and what to do with it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Installed {
    pub name: String,
    /// In which it is written.
    pub language: String,
    /// The package that has it, and whose version is told.
    pub package: String,
    /// For `bash -e`: what there is to be before the runs, besides the inputs of all (`inputs` of the list).
    pub prepare: Option<String>,
    pub command: Vec<String>,
    /// Why the output differs in a way that is not the emulator's doing.
    pub differs: Option<String>,
    /// Why two profiles of it are not the same bytes.
    pub repeats: Option<String>,
    /// Why it has other lines than Cachegrind counts.
    pub lines: Option<String>,
}

#[derive(Debug, Deserialize)]
struct List {
    program: Vec<Installed>,
}

/// The list.
///
/// # Panics
/// If it is not what this file describes.
#[must_use]
pub fn installed() -> Vec<Installed> {
    let path = in_tests("farm/installed.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let list: List = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    list.program
}

/// What came out for one of them.
#[derive(Debug, Deserialize, Serialize)]
pub struct Seen {
    pub name: String,
    pub language: String,
    pub version: String,
    pub date: String,
    /// What is wrong, or was not explained by the list.
    pub faults: Vec<String>,
    pub numbers: Option<Numbers>,
    pub explained: Vec<String>,
}

/// The numbers of a program that could be run in every way.
#[derive(Debug, Deserialize, Serialize)]
pub struct Numbers {
    pub accesses: u64,
    /// Processor time alone.
    pub alone: Duration,
    /// What it took in each of [`WAYS`]: medians, of processor time and of the time that passed.
    pub spent: [Spent; 3],
    /// Two profiles were the same bytes.
    pub is_repeated: bool,
    /// Misses of reads and writes of 32 KiB, fully associative: ours, and Cachegrind's if it could count them.
    pub ours: u64,
    pub theirs: Option<u64>,
    /// Functions with the most of them, and their shares in thousandths.
    pub functions: Vec<(String, u64)>,
}

/// In which ways times are measured.
pub const WAYS: [&str; 3] = ["lines only", "bytes and lines", "Cachegrind"];

/// Runs a program in every way, in so many rounds.
#[must_use]
pub fn see(program: &Installed, rounds: usize, cache: &Path) -> Seen {
    let (mut faults, mut explained) = (Vec::new(), Vec::new());
    let place = Place { program, rounds, folder: cache.join("installed").join(&program.name) };
    let numbers = place.numbers(&mut faults, &mut explained).map_err(|fault| faults.push(fault)).ok();
    let Installed { name, language, .. } = program;
    let (name, language, version) = (name.clone(), language.clone(), version(&program.package));
    Seen { name, language, version, date: today(), faults, numbers, explained }
}

fn version(package: &str) -> String {
    let output = Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// What several programs work on, the same on every machine.
fn inputs(folder: &Path) -> std::io::Result<()> {
    fs::copy(in_tests("farm/workloads/list.c"), folder.join("list.c"))?;
    let word = |number: u32| ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"][(number % 6) as usize];
    let mixed = |number: u32| number.wrapping_mul(1_103_515_245).wrapping_add(12345) >> 16;
    let lines = |line: &dyn Fn(u32) -> String, count: u32| (0..count).map(line).collect::<String>();
    let text = lines(&|n| format!("{} {} {}\n", word(mixed(n)), word(mixed(n + 7)), mixed(n) % 1000), 4000);
    fs::write(folder.join("in"), text)?;
    fs::write(folder.join("numbers"), lines(&|n| format!("{} alpha {n}\n", n * 7919 % 12007), 12000))?;
    let object = |n: u32| format!("{{\"a\": {}, \"b\": \"n{n}\"}}\n", n * 7919 % 401);
    fs::write(folder.join("objects"), lines(&object, 400))
}

/// A program in its folder.
struct Place<'p> {
    program: &'p Installed,
    rounds: usize,
    folder: PathBuf,
}

impl Place<'_> {
    fn numbers(&self, faults: &mut Vec<String>, explained: &mut Vec<String>) -> Result<Numbers, String> {
        self.prepare()?;
        let mut judge = |what: String, why: Option<&String>| match why {
            Some(why) => explained.push(why.clone()),
            None => faults.push(what),
        };
        let alone = self.run(&[])?;
        let again = self.run(&[])?;
        let differs = self.program.differs.as_ref();
        if let Some(what) = again.difference(&alone) {
            judge(format!("the program itself does not repeat: {what}"), differs);
        }
        let rounds: Vec<Round> = (0..self.rounds).map(|_| self.round()).collect::<Result<_, _>>()?;
        let Some(Round { emulated, .. }) = rounds.first() else { return Err("no round was asked for".to_owned()) };
        if let Some(what) = emulated.difference(&alone) {
            judge(format!("the output differs: {what}"), differs);
        }
        let report = Report::read(&self.profile());
        let is_repeated = rounds.iter().all(|round| round.profile == rounds[0].profile);
        if !is_repeated {
            judge("two profiles differ".to_owned(), self.program.repeats.as_ref());
        }
        if !report.complete() || report.lost_events() > 0 {
            judge("the profile is incomplete".to_owned(), None);
        }
        let counts = cachegrind(&self.folder.join("cachegrind"), |below| self.run(below), |_| true);
        let theirs = counts.map(|counts| counts.misses.iter().sum());
        let theirs = theirs.map_err(|fault| judge(format!("Cachegrind: {fault}"), self.program.lines.as_ref())).ok();
        let ours = self.lines_as_under_valgrind()?;
        if theirs.is_some_and(|theirs: u64| ours.abs_diff(theirs) * 500 > theirs) {
            explained.extend(self.program.lines.clone());
        }
        let accesses = report.total("accesses");
        let alone = alone.took.processor.min(again.took.processor);
        let spent = std::array::from_fn(|way| median(rounds.iter().map(|round| round.spent[way])));
        Ok(Numbers { accesses, alone, spent, is_repeated, ours, theirs, functions: functions(&report) })
    }

    /// Lines brought in with the library loaded that Valgrind loads into each program: the dynamic linker looks for
    /// each symbol in it too.
    fn lines_as_under_valgrind(&self) -> Result<u64, String> {
        let folders = ["/usr/libexec/valgrind", "/usr/lib/x86_64-linux-gnu/valgrind", "/usr/lib/valgrind"];
        let library = folders.map(|folder| Path::new(folder).join("vgpreload_core-amd64-linux.so"));
        let library =
            library.iter().find(|path| path.is_file()).ok_or("Valgrind's library is not where it usually is")?;
        let (dmdprof, profile) = (dmdprof_path().display().to_string(), self.folder.join("compared"));
        let to = profile.display().to_string();
        let below = [&dmdprof, "run", "--binary", "--deterministic", "--quiet", "--lines-only", "-o", &to];
        self.run_with(&below, |command| _ = command.env("LD_PRELOAD", library))?;
        let [_, moved] = Report::read(&profile).moved(CAPACITY).ok_or("the report lists no memory of 32 KiB")?;
        Ok(moved / LINE)
    }

    fn profile(&self) -> PathBuf {
        self.folder.join("profile")
    }

    /// Each of [`WAYS`] once. The profile that is left is that of lines.
    fn round(&self) -> Result<Round, String> {
        let (dmdprof, valgrind) = (dmdprof_path().display().to_string(), valgrind().display().to_string());
        let to = self.profile().display().to_string();
        let ours = [&dmdprof, "run", "--binary", "--deterministic", "--quiet", "-o", &to];
        let bytes = self.run(&ours)?;
        drop(fs::remove_file(&to));
        let emulated = self.run(&[&ours[..], &["--lines-only"]].concat())?;
        let Ok(profile) = fs::read(&to) else { return Err(format!("no profile: {}", describe(&emulated.output))) };
        let no_file = ["--quiet", "--tool=cachegrind", "--cachegrind-out-file=/dev/null", "--cache-sim=yes"];
        let theirs = self.run(&[&[valgrind.as_str()], &no_file[..], &["--trace-children=yes"]].concat())?;
        Ok(Round { spent: [emulated.took, bytes.took, theirs.took], emulated, profile })
    }

    fn prepare(&self) -> Result<(), String> {
        let inputs_folder = self.folder.join("inputs");
        drop(fs::remove_dir_all(&self.folder));
        fs::create_dir_all(&inputs_folder).and_then(|()| inputs(&inputs_folder)).map_err(|e| e.to_string())?;
        let Some(script) = &self.program.prepare else { return Ok(()) };
        let mut command = limited(LIMIT, &["bash", "-e", "-c", script]);
        command.env("HOME", &self.folder);
        let ran = Ran::run_limited(&mut command, &self.folder, &inputs_folder)?;
        if ran.output.status.success() { Ok(()) } else { Err(format!("cannot prepare it: {}", describe(&ran.output))) }
    }

    /// Runs the program below a command, on a copy of its inputs.
    fn run(&self, below: &[&str]) -> Result<Ran, String> {
        self.run_with(below, |_| {})
    }

    /// The same, in a way of its own.
    fn run_with(&self, below: &[&str], changed: impl FnOnce(&mut Command)) -> Result<Ran, String> {
        let place = self.folder.join("run");
        drop(fs::remove_dir_all(&place));
        copy(&self.folder.join("inputs"), &place)?;
        let mut command = limited(LIMIT, below);
        command.args(&self.program.command).env("HOME", &place).env("LC_ALL", "C").env("TZ", "UTC");
        // Their tables of names are in random order otherwise.
        command.env("PERL_HASH_SEED", "0").env("PYTHONHASHSEED", "0");
        changed(&mut command);
        let ran = Ran::run_limited(&mut command, &self.folder, &place)?;
        match ran.output.status.code() {
            Some(126 | 127) => Err(format!("it is not installed: apt-get install {}", self.program.package)),
            _ => Ok(ran),
        }
    }
}

/// One run in each way.
struct Round {
    /// With lines only.
    emulated: Ran,
    profile: Vec<u8>,
    spent: [Spent; 3],
}

/// Of processor times, and of times that passed; the lower of two.
fn median(all: impl Iterator<Item = Spent>) -> Spent {
    let (mut processor, mut wall): (Vec<_>, Vec<_>) = all.map(|one| (one.processor, one.wall)).unzip();
    let middle = |times: &mut Vec<Duration>| {
        times.sort();
        times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    };
    Spent { processor: middle(&mut processor), wall: middle(&mut wall), ..Spent::default() }
}

/// The functions that move most lines, and what part of all, in thousandths.
fn functions(report: &Report) -> Vec<(String, u64)> {
    let moved = |row: &serde_json::Value| {
        let all = row.pointer("/exclusive/moved").and_then(|moved| moved.as_array())?;
        all.iter().find(|moved| moved["capacity_bytes"] == CAPACITY)?["fetched"].as_u64()
    };
    let row = |row: &serde_json::Value| Some((row["name"].as_str()?.to_owned(), moved(row)?));
    let mut rows: Vec<(String, u64)> = report.functions().iter().filter_map(row).collect();
    let all: u64 = rows.iter().map(|(_, moved)| moved).sum();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    rows.truncate(NAMED);
    rows.into_iter().map(|(name, moved)| (name, moved * 1000 / all.max(1))).collect()
}
