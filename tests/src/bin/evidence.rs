//! `evidence [polybench] [KERNEL...]`: for variants of kernels, ByteDMD, lines moved at three capacities, Cachegrind's
//! misses, measured time, and energy where the machine tells it; prints the tables of `docs/evidence.md`. Takes kernels
//! of `tests/pairs` in C, or those of `tests/polybench`; refuses others.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use dmdprof_tests::cachegrind::total;
use dmdprof_tests::energy::{COUNTERS, Meter};
use dmdprof_tests::pairs::{APART, Kernel, Set, kernels, polybench};
use dmdprof_tests::tool::{clang, dmdprof, scratch, succeed, valgrind};
use serde_json::Value;

/// Loop nests over arrays with fixed steps, as PolyBench/C's kernels are.
const REGULAR: [&str; 16] = [
    "atax",
    "blur",
    "convolve",
    "floyd",
    "jacobi",
    "knapsack",
    "lcs",
    "matmul",
    "matvec",
    "moments",
    "mvt",
    "stencil3d",
    "strided",
    "transpose",
    "trisolve",
    "walk",
];
const ROUNDS: usize = 2000;
/// Energy is the least of so many turns; each is of so many runs, as counters move about once in a millisecond.
const ENERGY: (usize, usize) = (5, 10);
const METRICS: [&str; 7] =
    ["ByteDMD", "fills 32 KiB", "fills 1 MiB", "fills 32 MiB", "all fills", "Cachegrind D1", "Cachegrind 1 MiB"];

/// The tables of docs/evidence.md: variants of kernels by what was counted, against the clock.
#[derive(Parser)]
struct Options {
    /// `polybench` for the kernels of tests/polybench instead of those of tests/pairs in C; then names of kernels, all
    /// of them if there are none
    #[arg(value_name = "polybench|KERNEL")]
    words: Vec<String>,
}

struct Measured {
    kernel: String,
    variant: String,
    seconds: f64,
    joules: Option<f64>,
    metrics: [f64; 7],
}

/// Two variants of a kernel: the logarithms of the ratios of what was measured (time or energy) and of their metrics.
struct Pair {
    kernel: String,
    variants: [String; 2],
    measured: f64,
    metrics: [f64; 7],
}

fn main() {
    let words = Options::parse().words;
    let thirty = words.first().is_some_and(|word| word == "polybench");
    let kernels = if thirty { chosen(polybench(), &words[1..]) } else { chosen(kernels(Set::Base), &words) };
    let folder = scratch();
    let meter = Meter::below(Path::new(COUNTERS));
    let energy = if meter.is_ok() { " energy, mJ |" } else { "" };
    println!("| kernel | variant | time, ms |{energy} {} |", METRICS.join(" | "));
    println!("|---|---|--:|{}", "--:|".repeat(METRICS.len() + usize::from(meter.is_ok())));
    let mut all = Vec::new();
    for kernel in &kernels {
        let measured = measure(kernel, meter.as_ref().ok(), folder.path());
        for m in &measured {
            let numbers = m.metrics.map(|x| format!("{:.3}", x / 1e6)).join(" | ");
            let energy = m.joules.map_or_else(String::new, |joules| format!(" {:.0} |", joules * 1e3));
            println!("| {} | {} | {:.1} |{energy} {numbers} |", m.kernel, m.variant, m.seconds * 1e3);
        }
        all.push(measured);
    }
    groups(thirty, "times", &all, |m| m.seconds);
    match meter {
        Ok(_) => groups(thirty, "energies", &all, |m| m.joules.expect("it was measured")),
        Err(why) => println!("\nEnergy was not measured: {why}."),
    }
}

/// The tables of each group of kernels, against one of the things that were measured.
fn groups(thirty: bool, of: &str, all: &[Vec<Measured>], measured: fn(&Measured) -> f64) {
    let pairs = all.iter().flat_map(|of_kernel| pairs(of_kernel, measured));
    if thirty {
        return correlate("PolyBench's kernels", of, &pairs.collect::<Vec<_>>());
    }
    let (regular, other): (Vec<Pair>, Vec<Pair>) = pairs.partition(|pair| REGULAR.contains(&pair.kernel.as_str()));
    correlate("Loop nests over arrays, as in PolyBench", of, &regular);
    correlate("Other kernels", of, &other);
}

fn correlate(title: &str, of: &str, pairs: &[Pair]) {
    if pairs.is_empty() {
        return;
    }
    let kernels = kernels_of(pairs).len();
    let apart = pairs.iter().filter(|p| is_apart(p)).count();
    println!(
        "\n{title}: {kernels} kernels, {} pairs of variants, {apart} with {of} at least 15 % apart.\n",
        pairs.len()
    );
    println!("| metric | pairs in the right order | tau | 95 % | rho | 95 % |\n|---|--:|--:|---|--:|---|");
    for (at, name) in METRICS.iter().enumerate() {
        let right = pairs.iter().filter(|p| is_apart(p) && p.metrics[at] * p.measured > 0.0).count();
        let [tau, rho] = [tau, rho].map(|of| (of(&pairs.iter().collect::<Vec<_>>(), at), interval(pairs, at, of)));
        println!(
            "| {name} | {right} of {apart} | {:.2} | {:.2} to {:.2} | {:.2} | {:.2} to {:.2} |",
            tau.0, tau.1.0, tau.1.1, rho.0, rho.1.0, rho.1.1
        );
    }
    println!();
    for (at, name) in METRICS.iter().enumerate() {
        let wrong = |p: &&Pair| is_apart(p) && p.metrics[at] * p.measured <= 0.0;
        let words = |p: &Pair| format!("{} {}/{}", p.kernel, p.variants[0], p.variants[1]);
        let wrong: Vec<String> = pairs.iter().filter(wrong).map(words).collect();
        println!("* Wrong or tied by {name}: {}", if wrong.is_empty() { "none".to_owned() } else { wrong.join(", ") });
    }
}

fn kernels_of(pairs: &[Pair]) -> Vec<&str> {
    let mut kernels: Vec<&str> = pairs.iter().map(|pair| pair.kernel.as_str()).collect();
    kernels.dedup();
    kernels
}

fn is_apart(pair: &Pair) -> bool {
    pair.measured.abs() >= APART.ln()
}

/// The kernels in C of these names, in their order; all if there are none.
fn chosen(mut all: Vec<Kernel>, named: &[String]) -> Vec<Kernel> {
    all.retain(|kernel| kernel.source.extension().is_some_and(|e| e == "c"));
    if named.is_empty() {
        return all;
    }
    let known = |name: &String| all.iter().find(|kernel| kernel.name == *name).cloned();
    let all_names = || all.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(" ");
    let of_name = |name| known(name).unwrap_or_else(|| panic!("{name} is none of the kernels in C: {}", all_names()));
    named.iter().map(of_name).collect()
}

/// All variants of a kernel.
fn measure(kernel: &Kernel, meter: Option<&Meter>, folder: &Path) -> Vec<Measured> {
    let files: Vec<String> = kernel.variants.iter().map(|variant| kernel.source_of(variant, folder)).collect();
    let json = json(dmdprof().args(["time", "-n", "9", "--format", "json"]).args(&files).current_dir(folder));
    let times =
        json["sheets"].as_array().expect("tables").iter().find(|sheet| sheet["name"] == "times").expect("times");
    let rows = times["rows"].as_array().expect("rows");
    let one = |(file, variant): (&String, &String)| {
        let row = rows.iter().find(|row| row["name"] == file.as_str()).expect("its row");
        let seconds = row["cpu_min"].as_f64().expect("a time");
        succeed(Command::new(clang(false)).args(["-O2", file, "-lm", "-o", "plain"]).current_dir(folder));
        let joules = meter.map(|meter| energy(meter, &folder.join("plain")));
        let metrics = metrics(file, folder);
        Measured { kernel: kernel.name.clone(), variant: variant.clone(), seconds, joules, metrics }
    };
    files.iter().zip(&kernel.variants).map(one).collect()
}

/// Joules of one run: all that the machine takes meanwhile.
fn energy(meter: &Meter, program: &Path) -> f64 {
    let (turns, runs) = ENERGY;
    let run = || (0..runs).for_each(|_| drop(succeed(&mut Command::new(program))));
    let turn = |_| meter.joules(run).unwrap_or_else(|e| panic!("{e}")) / runs as f64;
    (0..turns).map(turn).fold(f64::INFINITY, f64::min)
}

/// The metrics of a source, which `plain` was built from.
fn metrics(file: &str, folder: &Path) -> [f64; 7] {
    succeed(dmdprof().args(["run", "--line-size", "64", "-o", "profile", file]).current_dir(folder));
    let report = json(dmdprof().args(["report", "--format", "json", "profile"]).current_dir(folder));
    let totals = &report["totals"];
    let cost = totals["cost"].as_f64().expect("a cost");
    let moved = totals["moved"].as_array().expect("lines moved");
    let fills = [32_u64 << 10, 1 << 20, 32 << 20].map(|capacity| {
        let of = moved.iter().find(|m| m["capacity_bytes"] == capacity).expect("the capacity");
        of["fetched"].as_f64().expect("bytes") / 64.0
    });
    let [d1, ll] = misses(folder);
    [cost, fills[0], fills[1], fills[2], fills.iter().sum(), d1, ll]
}

/// Cachegrind's data misses of `plain`: 32 KiB in 8 ways and 1 MiB in 16.
fn misses(folder: &Path) -> [f64; 2] {
    let options = ["--tool=cachegrind", "--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64"];
    let mut command = Command::new(valgrind());
    succeed(command.args(options).args(["--cachegrind-out-file=misses", "./plain"]).current_dir(folder));
    let text = fs::read_to_string(folder.join("misses")).expect("Cachegrind's output file");
    [["D1mr", "D1mw"], ["DLmr", "DLmw"]]
        .map(|events| events.map(|event| total(&text, event).expect("Cachegrind counts it")).iter().sum::<u64>() as f64)
}

fn json(command: &mut Command) -> Value {
    serde_json::from_slice(&succeed(command).stdout).expect("JSON")
}

fn pairs(variants: &[Measured], measured: fn(&Measured) -> f64) -> Vec<Pair> {
    let mut found = Vec::new();
    for (i, a) in variants.iter().enumerate() {
        for b in &variants[i + 1..] {
            let mut metrics = [0.0; 7];
            for (at, metric) in metrics.iter_mut().enumerate() {
                *metric = (b.metrics[at] / a.metrics[at]).ln();
            }
            let variants = [a, b].map(|m| m.variant.clone());
            found.push(Pair {
                kernel: a.kernel.clone(),
                variants,
                measured: (measured(b) / measured(a)).ln(),
                metrics,
            });
        }
    }
    found
}

/// Kendall's tau within kernels: right minus wrong orders, of pairs that were measured apart; ties count as neither.
fn tau(pairs: &[&Pair], at: usize) -> f64 {
    let apart: Vec<_> = pairs.iter().filter(|pair| is_apart(pair)).collect();
    let score = |pair: &&&Pair| match pair.metrics[at] * pair.measured {
        x if x > 0.0 => 1.0,
        x if x < 0.0 => -1.0,
        _ => 0.0,
    };
    apart.iter().map(score).sum::<f64>() / apart.len().max(1) as f64
}

/// Spearman's rho of ratios of metrics and of what was measured. Each pair counts in both directions, as its order
/// means nothing.
fn rho(pairs: &[&Pair], at: usize) -> f64 {
    let both = |of: &dyn Fn(&Pair) -> f64| pairs.iter().flat_map(|pair| [of(pair), -of(pair)]).collect::<Vec<f64>>();
    let (x, y) = (ranks(&both(&|pair| pair.metrics[at])), ranks(&both(&|pair| pair.measured)));
    let mean = (x.len() as f64 + 1.0) / 2.0;
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    sum(&x, &y) / (sum(&x, &x) * sum(&y, &y)).sqrt()
}

/// Ranks from 1; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let less = values.iter().filter(|other| *other < value).count();
        let same = values.iter().filter(|other| *other == value).count();
        less as f64 + (same as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// The middle 95 % of what samples of whole kernels give: pairs of one kernel are not independent.
fn interval(pairs: &[Pair], at: usize, of: fn(&[&Pair], usize) -> f64) -> (f64, f64) {
    let kernels = kernels_of(pairs);
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % kernels.len()
    };
    let mut found: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let chosen: Vec<&str> = kernels.iter().map(|_| kernels[next()]).collect();
            let sample: Vec<&Pair> =
                chosen.iter().flat_map(|kernel| pairs.iter().filter(move |pair| pair.kernel == *kernel)).collect();
            of(&sample, at)
        })
        .filter(|value| value.is_finite())
        .collect();
    found.sort_by(f64::total_cmp);
    let part = |share: f64| found.get((share * found.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    (part(0.025), part(0.975))
}
