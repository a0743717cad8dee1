//! Whole runs side by side: native, hooks only, full, and Cachegrind with its cache simulation.
//!
//! `cargo bench -p dmdprof-tests --bench whole_runs [-- --rounds N] [PROGRAM...]` prints one table. The four ways of a
//! program take turns within each round, so that a machine whose speed drifts harms all of them alike; shown are
//! medians of wall time and their ratios. With `--exact` the table compares `--liveness exact` with `hints` instead, by
//! wall time and by CPU time (of all threads and of the program), and shows what a trace takes. With `--motion` it
//! compares `dmdprof motion` with a plain run, with `--objects` `run --objects`, `run --flows`, and both. With
//! `--depths` it compares a hash over the depths of all bytes read, with every fast way of the analysis and without
//! each of them; that takes many minutes. With `--record` it compares recording with hooks alone; with `--threads` the
//! engine on a thread of its own with one thread for everything. With `--lines` it compares runs without lines, with them
//! and of lines alone with Cachegrind, for three programs more. With `--values` it times the values model on matrix
//! products. With `--polybench DIR` the programs are the kernels of a PolyBench/C directory, with any of these. The
//! same sources, flags and inputs are used throughout; the clang is the one that `dmdprof cc` uses.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use dmdprof_tests::{
    profiled::{Run, depth_hash},
    programs::{self, Compiler, Program, WAYS},
    tool,
};

fn main() {
    let mut rounds = 5;
    let mut wanted: Vec<String> = Vec::new();
    let mut mode = String::new();
    let mut polybench = None;
    let mut words = std::env::args().skip(1).filter(|w| w != "--bench");
    while let Some(word) = words.next() {
        if word == "--rounds" {
            rounds =
                words.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0).expect("--rounds takes a number above 0");
        } else if word == "--polybench" {
            polybench = Some(PathBuf::from(words.next().expect("--polybench takes a directory")));
        } else if word.starts_with("--") {
            mode = word;
        } else {
            wanted.push(word);
        }
    }
    let usual = if mode == "--lines" { programs::ten() } else { programs::seven().into() };
    let all = polybench.map_or(usual, |directory| programs::polybench(&directory));
    let chosen = || all.iter().filter(|p| wanted.is_empty() || wanted.contains(&p.name));
    println!("{}\n", machine());
    match mode.as_str() {
        "" => {}
        "--exact" => return compare_exact(chosen(), rounds),
        "--values" => return time_values(rounds),
        "--depths" => return compare_depths(chosen()),
        "--motion" => return compare_ways(chosen(), rounds, &PLAIN, MOTION),
        "--objects" => return compare_ways(chosen(), rounds, &PLAIN, OBJECTS),
        "--record" => return compare_ways(chosen(), rounds, &DISCARD, RECORD),
        "--lines" => return compare_ways(chosen(), rounds, &CACHEGRIND, LINES),
        "--threads" => return compare_ways(chosen(), rounds, &ONE_THREAD, THREADS),
        other => panic!("no such option: {other}"),
    }
    println!("median wall seconds of {rounds} interleaved rounds; in brackets: times native\n");
    println!(
        "| program | native | hooks only | full | Cachegrind | full / Cachegrind | accesses | ns per access | engine / touched |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut hooks, mut full, mut native) = (Vec::new(), Vec::new(), Vec::new());
    for program in chosen() {
        let row = measure(program, rounds);
        hooks.push(row.hooks / row.native);
        full.push(row.full / row.cachegrind);
        native.push(row.full / row.native);
        println!("{}", row.line(&program.name));
    }
    println!(
        "\ngeometric means: hooks only / native {:.2}, full / Cachegrind {:.2}, full / native {:.1}",
        mean(&hooks),
        mean(&full),
        mean(&native)
    );
}

/// What the numbers are of: the processor, how many of them, and the compiler.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let clang = tool::succeed(Command::new(tool::clang(false)).arg("--version"));
    let clang = String::from_utf8_lossy(&clang.stdout);
    let model = model.map_or("unknown processor", |(_, name)| name);
    format!("{model}, {processors} processors; {}", clang.lines().next().unwrap_or("unknown compiler"))
}

/// The values model, end to end, on `tests/kernels/c/matmul_ijk.c`.
fn time_values(rounds: usize) {
    let directory = tool::scratch();
    let program = directory.path().join("matmul_ijk");
    let mut build = tool::dmdprof();
    build.args(["build", "--model", "values", "-o"]).arg(&program).arg(tool::in_tests("kernels/c/matmul_ijk.c"));
    tool::succeed(&mut build);
    println!("median wall seconds of {rounds} interleaved rounds\n");
    println!("| n | reads | seconds | ns per read |");
    println!("|---|---|---|---|");
    let sizes = [2u64, 32, 64, 128, 256];
    let mut times: [Vec<f64>; 5] = Default::default();
    for round in 0..=rounds {
        for (size, times) in sizes.iter().zip(&mut times) {
            let mut command = tool::dmdprof();
            command.args(["run", "--quiet", "--model", "values", "--bytes-per-element", "8"]).arg(&program);
            let (seconds, _) = time(command.arg(format!("n={size}")), directory.path());
            if round > 0 {
                times.push(seconds);
            }
        }
    }
    for (n, times) in sizes.into_iter().zip(times) {
        let (reads, seconds) = (4 * n.pow(3) - 2 * n.pow(2), median(times));
        println!("| {n} | {reads} | {seconds:.4} | {:.0} |", seconds * 1e9 / reads as f64);
    }
}

fn compare_exact<'a>(programs: impl Iterator<Item = &'a Program>, rounds: usize) {
    println!("median seconds of {rounds} interleaved rounds\n");
    println!("| program | accesses | hints | exact | wall | CPU | trace bytes per access | sweep bytes / touched |");
    println!("|---|---|---|---|---|---|---|---|");
    for program in programs {
        let hooked = program.build(&Compiler::dmdprof());
        let directory = tool::scratch();
        let (mut wall, mut cpu): ([Vec<f64>; 2], [Vec<f64>; 2]) = Default::default();
        let mut stats = Stats::default();
        for round in 0..=rounds {
            for (way, liveness) in ["hints", "exact"].into_iter().enumerate() {
                let mut command = tool::dmdprof();
                command
                    .args(["run", "--no-lines", "--quiet", "--stats", "--liveness", liveness])
                    .arg(&hooked)
                    .args(&program.args);
                let before = children_cpu();
                let (seconds, errors) = time(&mut command, directory.path());
                if round > 0 {
                    wall[way].push(seconds);
                    cpu[way].push(children_cpu() - before);
                }
                stats = parse(&errors);
            }
        }
        let mut record = tool::dmdprof();
        record.args(["record", "--stats"]).arg(&hooked).args(&program.args);
        let (_, errors) = time(&mut record, directory.path());
        let ([hints, exact], [hints_cpu, exact_cpu]) = (wall.map(median), cpu.map(median));
        println!(
            "| {} | {:.1} M | {hints:.2} | {exact:.2} | {:.2}x | {:.2}x | {:.3} | {:.3} |",
            program.name,
            stats.accesses / 1e6,
            exact / hints,
            exact_cpu / hints_cpu,
            parse(&errors).trace_bytes / stats.accesses.max(1.0),
            stats.sweep_bytes / stats.footprint_bytes.max(1.0),
        );
    }
}

/// A way of measuring beside a plain run.
struct Way {
    name: &'static str,
    words: &'static [&'static str],
    of: Build,
}

/// The program that is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    /// Under Cachegrind.
    Native,
    Hooks,
    /// Whose loops are marked.
    Loops,
}

const MOTION: &[Way] = &[Way { name: "motion", words: &["motion", "--top=1"], of: Build::Loops }];

const OBJECTS: &[Way] = &[
    Way { name: "objects", words: &["run", "--no-lines", "--quiet", "--objects"], of: Build::Hooks },
    Way { name: "flows", words: &["run", "--no-lines", "--quiet", "--flows"], of: Build::Hooks },
    Way {
        name: "flows and objects",
        words: &["run", "--no-lines", "--quiet", "--flows", "--objects"],
        of: Build::Hooks,
    },
];

const PLAIN: Way = Way { name: "plain", words: &["run", "--no-lines", "--quiet"], of: Build::Hooks };
const DISCARD: Way = Way { name: "hooks only", words: &["run", "--discard"], of: Build::Hooks };
const RECORD: &[Way] = &[Way { name: "record", words: &["record"], of: Build::Hooks }];
const ONE_THREAD: Way =
    Way { name: "one thread", words: &["run", "--no-lines", "--quiet", "--workers", "1"], of: Build::Hooks };
const THREADS: &[Way] =
    &[Way { name: "two threads", words: &["run", "--no-lines", "--quiet", "--workers", "2"], of: Build::Hooks }];

const CACHEGRIND: Way = Way { name: "Cachegrind", words: &CACHE_SIMULATION, of: Build::Native };
const CACHE_SIMULATION: [&str; 3] = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"];
const LINES: &[Way] = &[
    Way { name: "no lines", words: &["run", "--no-lines", "--quiet"], of: Build::Hooks },
    Way { name: "bytes and lines", words: &["run", "--quiet"], of: Build::Hooks },
    Way { name: "lines only", words: &["run", "--lines-only", "--quiet"], of: Build::Hooks },
];

/// Ways beside another, each of a program compiled for it.
fn compare_ways<'a>(programs: impl Iterator<Item = &'a Program>, rounds: usize, base: &Way, ways: &[Way]) {
    println!("medians of {rounds} interleaved rounds: wall seconds, and times that by wall and by CPU time\n");
    let names: Vec<&str> = ways.iter().map(|way| way.name).collect();
    println!(
        "| program | {} |{}",
        base.name,
        names.iter().map(|name| format!(" {name} | by CPU |")).collect::<String>()
    );
    println!("|---|---|{}", "---|---|".repeat(ways.len()));
    let mut means = vec![[Vec::new(), Vec::new()]; ways.len()];
    for program in programs {
        let compiled = |way: &Way| {
            program.build(&match way.of {
                Build::Native => Compiler::native(),
                Build::Hooks => Compiler::dmdprof(),
                Build::Loops => Compiler::dmdprof_loops(),
            })
        };
        let builds: Vec<PathBuf> = std::iter::once(base).chain(ways).map(compiled).collect();
        let directory = tool::scratch();
        let mut wall: Vec<Vec<f64>> = vec![Vec::new(); ways.len() + 1];
        let mut cpu = wall.clone();
        for round in 0..=rounds {
            for (number, way) in std::iter::once(base).chain(ways).enumerate() {
                let mut command =
                    if way.of == Build::Native { Command::new(tool::valgrind()) } else { tool::dmdprof() };
                command.args(way.words).arg(&builds[number]).args(&program.args);
                let before = children_cpu();
                let (seconds, _) = time(&mut command, directory.path());
                if round > 0 {
                    wall[number].push(seconds);
                    cpu[number].push(children_cpu() - before);
                }
            }
        }
        let wall: Vec<f64> = wall.into_iter().map(median).collect();
        let cpu: Vec<f64> = cpu.into_iter().map(median).collect();
        let cells = (1..=ways.len()).map(|way| format!(" {:.2}x | {:.2}x |", wall[way] / wall[0], cpu[way] / cpu[0]));
        println!("| {} | {:.2} |{}", program.name, wall[0], cells.collect::<String>());
        for (way, means) in means.iter_mut().enumerate() {
            means[0].push(wall[way + 1] / wall[0]);
            means[1].push(cpu[way + 1] / cpu[0]);
        }
    }
    let means = means.iter().map(|[wall, cpu]| format!(" {:.2}x | {:.2}x |", mean(wall), mean(cpu)));
    println!("| geometric mean | |{}", means.collect::<String>());
}

/// The hash of depths of whole runs, with all fast ways and without each. Fails if one differs.
fn compare_depths<'a>(programs: impl Iterator<Item = &'a Program>) {
    println!("| program | hash over (site, depth) | the same without |");
    println!("|---|---|---|");
    for program in programs {
        let directory = tool::scratch();
        let hooked = program.build(&Compiler::dmdprof());
        let hash =
            |way| depth_hash(&Run::new(&hooked, directory.path()).options(["--without", way]).args(&program.args));
        let expected = hash("nothing");
        for way in WAYS {
            assert_eq!(hash(way), expected, "{} without {way}", program.name);
        }
        println!("| {} | {expected} | {} |", program.name, WAYS.join(", "));
    }
}

/// CPU seconds of all children that have ended.
fn children_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    // Ticks of 10 ms; the fields are the 16th and 17th of the line.
    fields[13..15].iter().map(|ticks| ticks.parse::<f64>().expect("a number") / 100.0).sum()
}

fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp()
}

struct Row {
    native: f64,
    hooks: f64,
    full: f64,
    cachegrind: f64,
    stats: Stats,
}

/// What `dmdprof run --stats` says of a run.
#[derive(Default)]
struct Stats {
    accesses: f64,
    engine_peak_bytes: f64,
    footprint_bytes: f64,
    sweep_bytes: f64,
    trace_bytes: f64,
}

impl Row {
    fn line(&self, name: &str) -> String {
        let cell = |t: f64| format!("{t:.3} ({:.1}x)", t / self.native);
        format!(
            "| {name} | {:.3} | {} | {} | {} | {:.2} | {:.1} M | {:.1} | {:.1} MB / {:.1} MB = {:.2} |",
            self.native,
            cell(self.hooks),
            cell(self.full),
            cell(self.cachegrind),
            self.full / self.cachegrind,
            self.stats.accesses / 1e6,
            self.full * 1e9 / self.stats.accesses.max(1.0),
            self.stats.engine_peak_bytes / 1e6,
            self.stats.footprint_bytes / 1e6,
            self.stats.engine_peak_bytes / self.stats.footprint_bytes.max(1.0),
        )
    }
}

fn measure(program: &Program, rounds: usize) -> Row {
    let native = program.build(&Compiler::native());
    let hooked = program.build(&Compiler::dmdprof());
    let directory = tool::scratch();
    let profile = directory.path().join("bench.data");
    let mut times: [Vec<f64>; 4] = Default::default();
    let mut stats = Stats::default();
    // One round more than asked for: the first warms caches and is not counted.
    for round in 0..=rounds {
        let mut full = tool::dmdprof();
        full.args(["run", "--no-lines", "--quiet", "--stats", "-o"]).arg(&profile).arg(&hooked);
        let mut hooks = tool::dmdprof();
        hooks.args(["run", "--discard"]).arg(&hooked);
        let mut cachegrind = Command::new(tool::valgrind());
        cachegrind.args(CACHE_SIMULATION).arg(&native);
        let commands = [Command::new(&native), hooks, full, cachegrind];
        for (way, mut command) in commands.into_iter().enumerate() {
            let (seconds, errors) = time(command.args(&program.args), directory.path());
            if round > 0 {
                times[way].push(seconds);
            }
            if way == 2 {
                stats = parse(&errors);
            }
        }
    }
    let [native, hooks, full, cachegrind] = times.map(median);
    Row { native, hooks, full, cachegrind, stats }
}

fn time(command: &mut Command, directory: &Path) -> (f64, String) {
    let errors: PathBuf = directory.join("stderr");
    command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(std::fs::File::create(&errors).expect("a scratch file"));
    let start = Instant::now();
    let status = command.status().expect("the command starts");
    let seconds = start.elapsed().as_secs_f64();
    let errors = std::fs::read_to_string(&errors).unwrap_or_default();
    assert!(status.success(), "{command:?}: {status}\n{errors}");
    (seconds, errors)
}

fn parse(errors: &str) -> Stats {
    let number = |key: &str| {
        errors.split_whitespace().find_map(|w| w.strip_prefix(key)?.strip_prefix('=')?.parse().ok()).unwrap_or(0.0)
    };
    Stats {
        accesses: number("accesses"),
        engine_peak_bytes: number("engine_peak_bytes"),
        footprint_bytes: number("footprint_bytes"),
        sweep_bytes: number("sweep_bytes"),
        trace_bytes: number("trace_bytes"),
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
