//! Whole runs side by side: every way of measuring a program, the program alone, and Cachegrind with its cache
//! simulation.
//!
//! `cargo bench -p dmdprof-tests --bench whole_runs [-- --rounds N] [--ways WAY,...] [PROGRAM...]` prints the tables of
//! docs/performance.md: wall time, processor time and memory of ten programs, and what of the goals they meet. All ways
//! of a program take turns within each round, so that a machine whose speed drifts harms all of them alike; shown are
//! medians. The same sources, flags and inputs are used throughout; the clang is the one that `dmdprof cc` uses. With
//! `--polybench DIR` the programs are the kernels of a PolyBench/C directory.
//!
//! With `--depths` it compares a hash over the depths of all bytes read, with every fast way of the analysis and
//! without each of them; that takes many minutes. With `--values` it times the values model on matrix products.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use dmdprof_tests::{
    farm::timed,
    profiled::{Run, depth_hash},
    programs::{self, Compiler, Program, WAYS as FAST_WAYS},
    tool,
};

/// A way of running or measuring a program.
struct Way {
    name: &'static str,
    /// What is called; the program comes behind it.
    words: &'static [&'static str],
    of: Build,
}

/// The program that is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    Native,
    /// Native, under Valgrind.
    Valgrind,
    Hooks,
    /// With hooks, as a trace that was recorded before.
    Trace,
    /// Whose loops are marked.
    Loops,
}

const fn way(name: &'static str, of: Build, words: &'static [&'static str]) -> Way {
    Way { name, words, of }
}

const CACHE_SIMULATION: [&str; 3] = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"];
const WAYS: [Way; 15] = [
    way("native", Build::Native, &[]),
    way("Cachegrind", Build::Valgrind, &CACHE_SIMULATION),
    way("hooks only", Build::Hooks, &["run", "--discard"]),
    way("record", Build::Hooks, &["record", "-o", "bench.trace"]),
    way("bytes", Build::Hooks, &["run", "--quiet", "--no-lines", "--stats"]),
    way("one worker", Build::Hooks, &["run", "--quiet", "--no-lines", "--workers", "1"]),
    way("bytes and lines", Build::Hooks, &["run", "--quiet"]),
    way("lines only", Build::Hooks, &["run", "--quiet", "--lines-only"]),
    way("objects", Build::Hooks, &["run", "--quiet", "--no-lines", "--objects"]),
    way("flows", Build::Hooks, &["run", "--quiet", "--no-lines", "--flows"]),
    way("exact liveness", Build::Hooks, &["run", "--quiet", "--no-lines", "--liveness", "exact"]),
    way("shared stack", Build::Hooks, &["run", "--quiet", "--no-lines", "--threads", "shared"]),
    way("motion", Build::Loops, &["motion", "--top=1"]),
    way("replay", Build::Trace, &["replay", "--quiet", "--no-lines", "--workers", "1", "bench.trace"]),
    way(
        "slices",
        Build::Trace,
        &["replay", "--quiet", "--no-lines", "--workers", "2", "--slice", "4194304", "bench.trace"],
    ),
];

/// What is measured of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Wall,
    Cpu,
    Memory,
}

/// A way beside another: at most so many times its time, in the mean and at worst.
struct Goal {
    way: &'static str,
    beside: &'static str,
    unit: Unit,
    mean: f64,
    worst: Option<f64>,
}

const fn goal(way: &'static str, beside: &'static str, unit: Unit, mean: f64, worst: Option<f64>) -> Goal {
    Goal { way, beside, unit, mean, worst }
}

const GOALS: [Goal; 13] = [
    goal("hooks only", "native", Unit::Wall, 1.8, None),
    goal("record", "hooks only", Unit::Wall, 1.3, None),
    goal("bytes", "Cachegrind", Unit::Wall, 0.25, Some(0.6)),
    goal("bytes", "one worker", Unit::Wall, 0.59, None),
    goal("bytes and lines", "Cachegrind", Unit::Wall, 0.8, Some(1.3)),
    goal("bytes and lines", "bytes", Unit::Cpu, 1.25, Some(1.4)),
    goal("lines only", "Cachegrind", Unit::Wall, 0.45, Some(0.8)),
    goal("lines only", "Cachegrind", Unit::Cpu, 0.6, Some(1.0)),
    goal("objects", "bytes", Unit::Wall, 1.3, None),
    goal("exact liveness", "bytes", Unit::Wall, 1.6, None),
    goal("shared stack", "bytes", Unit::Cpu, 1.0, None),
    goal("motion", "bytes", Unit::Wall, 2.5, None),
    goal("slices", "replay", Unit::Cpu, 1.2, None),
];

/// Memory of a run with bytes and lines: so many times what the program touches, and so many bytes more.
const MEMORY_GOAL: (f64, f64) = (2.5, 64e6);

fn main() {
    let mut rounds = 3;
    let (mut wanted, mut ways) = (Vec::new(), Vec::new());
    let mut programs = programs::ten();
    let mut words = std::env::args().skip(1).filter(|w| w != "--bench");
    println!("{}\n", machine());
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("{word} takes a value"));
        match word.as_str() {
            "--rounds" => rounds = value().parse().ok().filter(|n| *n > 0).expect("--rounds takes a number above 0"),
            "--ways" => ways = value().split(',').map(str::to_owned).collect(),
            "--polybench" => programs = programs::polybench(&PathBuf::from(value())),
            "--values" => return time_values(rounds),
            "--depths" => return compare_depths(&programs),
            option if option.starts_with("--") => panic!("no such option: {option}"),
            _ => wanted.push(word),
        }
    }
    let unknown = ways.iter().find(|name| WAYS.iter().all(|way| way.name != name.as_str()));
    assert!(unknown.is_none(), "no such way: {unknown:?}");
    let ways: Vec<&Way> =
        WAYS.iter().filter(|way| ways.is_empty() || ways.iter().any(|name| name == way.name)).collect();
    let chosen = programs.iter().filter(|p| wanted.is_empty() || wanted.contains(&p.name));
    let measured: Vec<_> = chosen.map(|program| (program.name.as_str(), measure(program, &ways, rounds))).collect();
    println!("medians of {rounds} interleaved rounds\n");
    print_table("Wall seconds", &ways, &measured, Unit::Wall);
    print_table("Processor seconds", &ways, &measured, Unit::Cpu);
    print_table("Memory in MB", &ways, &measured, Unit::Memory);
    print_engine(&ways, &measured);
    print_goals(&ways, &measured);
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

/// Medians of one program.
struct Measured {
    /// By way: wall seconds, processor seconds, megabytes.
    of: Vec<[f64; 3]>,
    stats: Stats,
}

impl Measured {
    fn get(&self, ways: &[&Way], name: &str, unit: Unit) -> Option<f64> {
        Some(self.of[ways.iter().position(|way| way.name == name)?][unit as usize])
    }
}

fn measure(program: &Program, ways: &[&Way], rounds: usize) -> Measured {
    let native = program.build(&Compiler::native());
    let hooked = program.build(&Compiler::dmdprof());
    let loops = ways.iter().any(|way| way.of == Build::Loops).then(|| program.build(&Compiler::dmdprof_loops()));
    let directory = tool::scratch();
    let mut all = vec![[const { Vec::new() }; 3]; ways.len()];
    let mut stats = Stats::default();
    for _ in 0..rounds {
        for (way, found) in ways.iter().zip(&mut all) {
            let mut command = match way.of {
                Build::Native => Command::new(&native),
                Build::Valgrind => Command::new(tool::valgrind()),
                Build::Hooks | Build::Loops | Build::Trace => tool::dmdprof(),
            };
            command.args(way.words);
            match way.of {
                Build::Native | Build::Trace => {}
                Build::Valgrind => _ = command.arg(&native),
                Build::Hooks => _ = command.arg(&hooked),
                Build::Loops => _ = command.args(&loops),
            }
            if way.of != Build::Trace {
                command.args(&program.args);
            }
            let (numbers, errors) = time(&mut command, directory.path());
            found.iter_mut().zip(numbers).for_each(|(list, number): (&mut Vec<f64>, f64)| list.push(number));
            if way.name == "bytes" {
                stats = parse(&errors);
            }
        }
    }
    Measured { of: all.into_iter().map(|of| of.map(median)).collect(), stats }
}

/// A row per program, a column per way.
fn print_table(title: &str, ways: &[&Way], measured: &[(&str, Measured)], unit: Unit) {
    println!("{title}\n");
    println!("| program |{}", ways.iter().map(|way| format!(" {} |", way.name)).collect::<String>());
    println!("|---|{}", "--:|".repeat(ways.len()));
    let cell = |number: f64| match unit {
        Unit::Memory => format!(" {number:.0} |"),
        Unit::Wall | Unit::Cpu if number < 1.0 => format!(" {number:.3} |"),
        Unit::Wall | Unit::Cpu => format!(" {number:.2} |"),
    };
    for (name, program) in measured {
        let cells = program.of.iter().map(|of| cell(of[unit as usize]));
        println!("| {name} |{}", cells.collect::<String>());
    }
    println!();
}

/// What the stack of bytes has done, by program.
fn print_engine(ways: &[&Way], measured: &[(&str, Measured)]) {
    println!("| program | accesses | ns per access | touched, MB | engine, MB |");
    println!("|---|--:|--:|--:|--:|");
    for (name, of) in measured {
        let Some(seconds) = of.get(ways, "bytes", Unit::Wall) else { continue };
        println!(
            "| {name} | {:.1} M | {:.1} | {:.1} | {:.1} |",
            of.stats.accesses / 1e6,
            seconds * 1e9 / of.stats.accesses.max(1.0),
            of.stats.footprint_bytes / 1e6,
            of.stats.engine_peak_bytes / 1e6,
        );
    }
    println!();
}

/// Goals beside what was measured.
fn print_goals(ways: &[&Way], measured: &[(&str, Measured)]) {
    println!("| what | goal, mean | measured | goal, worst | measured | met |");
    println!("|---|--:|--:|--:|--:|---|");
    for Goal { way, beside, unit, mean, worst } in &GOALS {
        let ratio = |(name, of): &(&str, Measured)| {
            Some((of.get(ways, way, *unit)? / of.get(ways, beside, *unit)?, (*name).to_owned()))
        };
        let ratios: Vec<(f64, String)> = measured.iter().filter_map(ratio).collect();
        let Some((most, name)) = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let found = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let is_met = found <= *mean && worst.is_none_or(|worst| *most <= worst);
        println!(
            "| {way} / {beside}, {} | {mean} | {found:.2} | {} | {most:.2} ({name}) | {} |",
            if *unit == Unit::Wall { "wall" } else { "processor time" },
            worst.map_or(String::new(), |worst| worst.to_string()),
            if is_met { "yes" } else { "no" },
        );
    }
    let (times, more) = MEMORY_GOAL;
    let above: Vec<String> = measured
        .iter()
        .filter_map(|(name, of)| {
            let most = (times * of.stats.footprint_bytes + more) / 1e6;
            let held = of.get(ways, "bytes and lines", Unit::Memory)?;
            (held > most).then(|| format!("{name} {held:.0} MB of {most:.0}"))
        })
        .collect();
    println!("\nmore memory than {times} times what is touched and {:.0} MB: {}", more / 1e6, above.join(", "));
}

/// The values model, end to end, on `tests/kernels/c/matmul_ijk.c`.
fn time_values(rounds: usize) {
    let directory = tool::scratch();
    let program = directory.path().join("matmul_ijk");
    let mut build = tool::dmdprof();
    build.args(["build", "--model", "values", "-o"]).arg(&program).arg(tool::in_tests("kernels/c/matmul_ijk.c"));
    tool::succeed(&mut build);
    println!("medians of {rounds} interleaved rounds\n");
    println!("| n | reads | seconds | ns per read | MB |");
    println!("|---|---|---|---|---|");
    let sizes = [2u64, 32, 64, 128, 256];
    let mut found = [const { [const { Vec::new() }; 3] }; 5];
    for _ in 0..rounds {
        for (size, found) in sizes.iter().zip(&mut found) {
            let mut command = tool::dmdprof();
            command.args(["run", "--quiet", "--model", "values", "--bytes-per-element", "8"]).arg(&program);
            let (numbers, _) = time(command.arg(format!("n={size}")), directory.path());
            found.iter_mut().zip(numbers).for_each(|(list, number)| list.push(number));
        }
    }
    for (n, found) in sizes.into_iter().zip(found) {
        let (reads, [seconds, _, memory]) = (4 * n.pow(3) - 2 * n.pow(2), found.map(median));
        println!("| {n} | {reads} | {seconds:.4} | {:.0} | {memory:.0} |", seconds * 1e9 / reads as f64);
    }
}

/// The hash of depths of whole runs, with all fast ways and without each. Fails if one differs.
fn compare_depths(programs: &[Program]) {
    println!("| program | hash over (site, depth) | the same without |");
    println!("|---|---|---|");
    for program in programs {
        let directory = tool::scratch();
        let hooked = program.build(&Compiler::dmdprof());
        let hash =
            |way| depth_hash(&Run::new(&hooked, directory.path()).options(["--without", way]).args(&program.args));
        let expected = hash("nothing");
        for way in FAST_WAYS {
            assert_eq!(hash(way), expected, "{} without {way}", program.name);
        }
        println!("| {} | {expected} | {} |", program.name, FAST_WAYS.join(", "));
    }
}

/// What `dmdprof run --stats` says of a run.
#[derive(Default)]
struct Stats {
    accesses: f64,
    engine_peak_bytes: f64,
    footprint_bytes: f64,
}

/// Wall seconds, processor seconds of all processes, and megabytes of the largest; and what it said.
fn time(command: &mut Command, directory: &Path) -> ([f64; 3], String) {
    let (output, spent) = timed(command.current_dir(directory).stdin(Stdio::null()), directory).expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    ([spent.wall.as_secs_f64(), spent.processor.as_secs_f64(), spent.memory as f64 / 1e6], errors)
}

fn parse(errors: &str) -> Stats {
    let number = |key: &str| {
        errors.split_whitespace().find_map(|w| w.strip_prefix(key)?.strip_prefix('=')?.parse().ok()).unwrap_or(0.0)
    };
    Stats {
        accesses: number("accesses"),
        engine_peak_bytes: number("engine_peak_bytes"),
        footprint_bytes: number("footprint_bytes"),
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
