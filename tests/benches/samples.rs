//! Samples that programs draw while they run, against the clock and against exact analyses.
//!
//! `cargo bench -p dmdprof-tests --bench samples [-- OPTIONS] [PROGRAM...]` prints two tables for `docs/sampling.md`:
//! wall time of native runs, of programs whose records nobody reads ("gates alone"), and of `dmdprof run` with a
//! sample, in turn; and what the estimates of so many seeds are off by. Options: `--sample OPTION` (`--sample=1/256`
//! by default, or `--sample`, `--budget=6x`), `--seeds N` (20 by default), `--long` for runs of 2e9 accesses and more
//! instead of the usual inputs, `--times` for no exact runs and so no errors. The same build is run exactly once, for
//! what is compared with. Memory is that of the program itself, and of `dmdprof` alone where it runs one.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use dmdprof_tests::{
    profiled::Report,
    programs::{self, Compiler, Program},
    tool,
};
use serde_json::Value;
use wait4::Wait4;

/// Functions with at least this part of the cost are compared.
const LARGE: f64 = 0.05;
/// What totals and those functions may be off by in 19 of 20 samples of a long run.
const TOTAL_WITHIN: f64 = 0.02;
const FUNCTION_WITHIN: f64 = 0.05;

struct Wanted {
    sample: String,
    seeds: u64,
    long: bool,
    /// No exact runs, so no errors.
    times: bool,
    names: Vec<String>,
}

fn wanted() -> Wanted {
    let mut wanted =
        Wanted { sample: "--sample=1/256".into(), seeds: 20, long: false, times: false, names: Vec::new() };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        match word.as_str() {
            "--sample" => wanted.sample = words.next().expect("--sample takes an option of `dmdprof run`"),
            "--seeds" => wanted.seeds = words.next().and_then(|n| n.parse().ok()).expect("--seeds takes a number"),
            "--long" => wanted.long = true,
            "--times" => wanted.times = true,
            _ => wanted.names.push(word),
        }
    }
    wanted
}

/// The seven programs of all benchmarks, two that stand for simulations and language models, and one in Rust.
fn all(long: bool) -> Vec<Program> {
    let decode = Program { libraries: vec!["-lm".into()], ..programs::bench("decode") };
    let mut rust = Program::from_source(tool::repository().join("examples/hash_table.rs"));
    rust.name = "rust".into();
    let arguments: [&[&str]; 10] = if long {
        [
            &["1000"],
            &["1500", "150"],
            &["350000000"],
            &["160000"],
            &["6000000"],
            &["2200000"],
            &["11"],
            &["6000000"],
            &["90"],
            &["8388608"],
        ]
    } else {
        [&["500"], &[], &[], &[], &[], &[], &[], &["500000"], &["8"], &["262144"]]
    };
    let programs = programs::seven().into_iter().chain([programs::bench("lookups"), decode, rust]);
    programs.zip(arguments).map(|(program, arguments)| program.args(arguments.iter().copied())).collect()
}

/// What a command took.
#[derive(Clone, Copy, Default)]
struct Taken {
    seconds: f64,
    megabytes: f64,
}

fn taken(command: &mut Command, directory: &Path) -> Taken {
    command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    let start = Instant::now();
    let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let status = format!("/proc/{}/status", child.id());
    let has_ended = AtomicBool::new(false);
    let (ended, kilobytes) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| most_memory(Path::new(&status), &has_ended));
        let ended = child.wait4().expect("the command ends");
        has_ended.store(true, Relaxed);
        (ended, watching.join().expect("a number"))
    });
    assert!(ended.status.success(), "{command:?}: {}", ended.status);
    Taken { seconds: start.elapsed().as_secs_f64(), megabytes: kilobytes * 1024.0 / 1e6 }
}

/// The most memory that a process has had, without its children, as last seen before it ended; in units of 1,024 bytes.
fn most_memory(status: &Path, has_ended: &AtomicBool) -> f64 {
    let mut most = 0.0;
    while !has_ended.load(Relaxed) {
        let text = std::fs::read_to_string(status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = peak.unwrap_or(most);
        std::thread::sleep(Duration::from_millis(10));
    }
    most
}

/// The native program, and the one that draws samples.
fn builds(program: &Program, directory: &Path) -> [std::path::PathBuf; 2] {
    if program.name != "rust" {
        return [Compiler::native(), Compiler::dmdprof_sample()].map(|compiler| program.build(&compiler));
    }
    let [native, drawing] = ["native", "drawing"].map(|name| directory.join(name));
    tool::succeed(Command::new("rustc").args(["-O", "-g", "-o"]).arg(&native).arg(&program.sources[0]));
    tool::succeed(tool::dmdprof().args(["build", "--sample", "-o"]).arg(&drawing).arg(&program.sources[0]));
    [native, drawing]
}

/// Cost of each function that has a name of its own, and of all.
struct Exact {
    accesses: f64,
    total: f64,
    functions: BTreeMap<String, f64>,
    taken: Taken,
}

fn exact(build: &Path, program: &Program, directory: &Path) -> Exact {
    let profile = directory.join("exact.data");
    let mut command = tool::dmdprof();
    command.args(["run", "--no-lines", "--quiet", "-o"]).arg(&profile).arg(build).args(&program.args);
    let taken = taken(&mut command, directory);
    let report = Report::read(&profile);
    let mut functions: BTreeMap<String, Option<f64>> = BTreeMap::new();
    for row in report.functions() {
        let (name, cost) = (row["name"].as_str().expect("a name"), row["exclusive"]["cost"].as_f64());
        functions.entry(name.to_owned()).and_modify(|known| *known = None).or_insert(cost);
    }
    let functions = functions.into_iter().filter_map(|(name, cost)| Some((name, cost?))).collect();
    Exact { accesses: report.total("accesses") as f64, total: report.total("cost") as f64, functions, taken }
}

/// Relative errors of estimates, and how many of their intervals are right.
#[derive(Default)]
struct Errors {
    total: Vec<f64>,
    functions: Vec<f64>,
    right: usize,
    told: usize,
    untold: usize,
}

impl Errors {
    fn add(&mut self, document: &Value, exact: &Exact) {
        let sheet = &document["sheets"][0]["rows"];
        let (total, rows) = sheet.as_array().and_then(|rows| rows.split_last()).expect("rows");
        if let Some(error) = self.one(total, exact.total) {
            self.total.push(error);
        }
        for (name, cost) in exact.functions.iter().filter(|(_, cost)| **cost >= LARGE * exact.total) {
            let found = rows.iter().find(|row| row["function"] == **name);
            if let Some(error) = found.and_then(|row| self.one(row, *cost)) {
                self.functions.push(error);
            }
        }
    }

    fn one(&mut self, row: &Value, exact: f64) -> Option<f64> {
        let (Some(cost), Some(within)) = (row["bytedmd"].as_f64(), row["within"].as_f64()) else {
            self.untold += 1;
            return None;
        };
        self.told += 1;
        self.right += usize::from((cost - exact).abs() <= cost * within);
        Some(cost / exact - 1.0)
    }

    fn line(&self, name: &str, accesses: f64) -> String {
        let n = self.total.len() as f64;
        let mean = self.total.iter().sum::<f64>() / n;
        let deviation = (self.total.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let rms = |all: &[f64]| (all.iter().map(|one| one * one).sum::<f64>() / all.len() as f64).sqrt();
        let within = |all: &[f64], limit: f64| all.iter().filter(|one| one.abs() <= limit).count();
        format!(
            "| {name} | {:.0} | {:+.2} % ({:.2} %) | {:.1} % | {} of {} | {:.1} % | {} of {} | {} of {} | {} |",
            accesses / 1e6,
            100.0 * mean,
            100.0 * deviation / n.sqrt(),
            100.0 * deviation,
            within(&self.total, TOTAL_WITHIN),
            self.total.len(),
            100.0 * rms(&self.functions),
            within(&self.functions, FUNCTION_WITHIN),
            self.functions.len(),
            self.right,
            self.told,
            self.untold,
        )
    }
}

/// The tables of a run, behind what the program prints.
fn estimates(directory: &Path) -> Value {
    let mut report = tool::dmdprof();
    report.args(["report", "--format", "json", "--no-inline", "--threshold", "0%"]).arg(directory.join("x.estimate"));
    let output = tool::succeed(&mut report);
    serde_json::from_slice(&output.stdout).expect("`dmdprof report --format json` is JSON")
}

fn main() {
    let Wanted { sample, seeds, long, times: only_times, names } = wanted();
    let (mut times, mut errors) = (Vec::new(), Vec::new());
    let (mut ratios, mut gates) = (Vec::new(), Vec::new());
    for program in all(long).iter().filter(|program| names.is_empty() || names.contains(&program.name)) {
        let scratch = tool::scratch();
        let directory = scratch.path();
        let [native, drawing] = builds(program, directory);
        let exact = (!only_times).then(|| exact(&drawing, program, directory));
        let mut all: [Vec<Taken>; 3] = Default::default();
        let mut found = Errors::default();
        for seed in 1..=seeds {
            let mut sampled = tool::dmdprof();
            sampled.args(["run", "--quiet", "-o", "x.data", &sample, "--seed", &seed.to_string()]).arg(&drawing);
            let commands = [Command::new(&native), Command::new(&drawing), sampled];
            for (all, mut command) in all.iter_mut().zip(commands) {
                all.push(taken(command.args(&program.args), directory));
            }
            if let Some(exact) = &exact {
                found.add(&estimates(directory), exact);
            }
        }
        let [native, gated, sampled] = all.map(median);
        ratios.push(sampled.seconds / native.seconds);
        gates.push(gated.seconds / native.seconds);
        let unknown = || "-".to_owned();
        times.push(format!(
            "| {} | {:.2} | {:.2}x | {:.2}x | {} | {:.0} | {:.0} | {} |",
            program.name,
            native.seconds,
            gated.seconds / native.seconds,
            sampled.seconds / native.seconds,
            exact.as_ref().map_or_else(unknown, |exact| format!("{:.0}x", exact.taken.seconds / native.seconds)),
            native.megabytes,
            sampled.megabytes,
            exact.as_ref().map_or_else(unknown, |exact| format!("{:.0}", exact.taken.megabytes)),
        ));
        errors.extend(exact.map(|exact| found.line(&program.name, exact.accesses)));
        eprintln!("{}", times[times.len() - 1]);
        errors.last().iter().for_each(|line| eprintln!("{line}"));
    }
    println!("`{sample}`, medians of {seeds} runs in turn; memory in MB\n");
    println!("| program | native, seconds | gates alone | sampled | exact | native | sampled | exact |");
    println!("|---|---|---|---|---|---|---|---|\n{}", times.join("\n"));
    let mean = |all: &[f64]| (all.iter().map(|one| one.ln()).sum::<f64>() / all.len() as f64).exp();
    println!("\ngeometric means: gates alone {:.2}x, sampled {:.2}x\n", mean(&gates), mean(&ratios));
    if only_times {
        return;
    }
    println!(
        "| program | million accesses | mean of totals (its standard error) | spread | within 2 % | functions, rms | \
         within 5 % | intervals that are right | too few samples |"
    );
    println!("|---|---|---|---|---|---|---|---|---|\n{}", errors.join("\n"));
}

fn median(all: Vec<Taken>) -> Taken {
    let of = |value: fn(&Taken) -> f64| {
        let mut values: Vec<f64> = all.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Taken { seconds: of(|taken| taken.seconds), megabytes: of(|taken| taken.megabytes) }
}
