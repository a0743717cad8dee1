//! `evidence [KERNEL...]`: for variants of kernels, ByteDMD, lines moved at three capacities, Cachegrind's misses and
//! measured time; prints the tables of `docs/evidence.md`. Takes kernels of `tests/pairs` in C; refuses others.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

use dmdprof_tests::cachegrind::total;
use dmdprof_tests::pairs::{APART, Kernel, kernels};
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
const METRICS: [&str; 7] =
    ["ByteDMD", "fills 32 KiB", "fills 1 MiB", "fills 32 MiB", "all fills", "Cachegrind D1", "Cachegrind 1 MiB"];

struct Measured {
    kernel: String,
    variant: String,
    seconds: f64,
    metrics: [f64; 7],
}

/// Two variants of a kernel: the logarithms of the ratios of their times and metrics.
struct Pair {
    kernel: String,
    time: f64,
    metrics: [f64; 7],
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let kernels = chosen(&named);
    let folder = scratch();
    println!("| kernel | variant | time, ms | {} |", METRICS.join(" | "));
    println!("|---|---|--:|{}", "--:|".repeat(METRICS.len()));
    let mut all = Vec::new();
    for kernel in &kernels {
        let measured = measure(kernel, folder.path());
        for m in &measured {
            let numbers = m.metrics.map(|x| format!("{:.3}", x / 1e6)).join(" | ");
            println!("| {} | {} | {:.1} | {numbers} |", m.kernel, m.variant, m.seconds * 1e3);
        }
        all.push(measured);
    }
    let pairs: Vec<Pair> = all.iter().flat_map(|of_kernel| pairs(of_kernel)).collect();
    let (regular, other): (Vec<Pair>, Vec<Pair>) =
        pairs.into_iter().partition(|pair| REGULAR.contains(&pair.kernel.as_str()));
    correlate("Loop nests over arrays, as in PolyBench", &regular);
    correlate("Other kernels", &other);
}

fn correlate(title: &str, pairs: &[Pair]) {
    if pairs.is_empty() {
        return;
    }
    let kernels = kernels_of(pairs).len();
    let apart = pairs.iter().filter(|p| is_apart(p)).count();
    println!(
        "\n{title}: {kernels} kernels, {} pairs of variants, {apart} with times at least 15 % apart.\n",
        pairs.len()
    );
    println!("| metric | pairs in the right order | tau | 95 % | rho | 95 % |\n|---|--:|--:|---|--:|---|");
    for (at, name) in METRICS.iter().enumerate() {
        let right = pairs.iter().filter(|p| is_apart(p) && p.metrics[at] * p.time > 0.0).count();
        let [tau, rho] = [tau, rho].map(|of| (of(&pairs.iter().collect::<Vec<_>>(), at), interval(pairs, at, of)));
        println!(
            "| {name} | {right} of {apart} | {:.2} | {:.2} to {:.2} | {:.2} | {:.2} to {:.2} |",
            tau.0, tau.1.0, tau.1.1, rho.0, rho.1.0, rho.1.1
        );
    }
}

fn kernels_of(pairs: &[Pair]) -> Vec<&str> {
    let mut kernels: Vec<&str> = pairs.iter().map(|pair| pair.kernel.as_str()).collect();
    kernels.dedup();
    kernels
}

fn is_apart(pair: &Pair) -> bool {
    pair.time.abs() >= APART.ln()
}

/// The kernels in C of these names, in their order; all if there are none.
fn chosen(named: &[String]) -> Vec<Kernel> {
    let in_c = |kernel: &Kernel| kernel.source.extension().is_some_and(|e| e == "c");
    let all: Vec<Kernel> = kernels().into_iter().filter(in_c).collect();
    if named.is_empty() {
        return all;
    }
    let known = |name: &String| all.iter().find(|kernel| kernel.name == *name).cloned();
    named.iter().map(|name| known(name).unwrap_or_else(|| panic!("{name} is no kernel of tests/pairs in C"))).collect()
}

/// All variants of a kernel.
fn measure(kernel: &Kernel, folder: &Path) -> Vec<Measured> {
    let files: Vec<String> = kernel.variants.iter().map(|variant| kernel.source_of(variant, folder)).collect();
    let json = json(dmdprof().args(["time", "-n", "9", "--format", "json"]).args(&files).current_dir(folder));
    let times =
        json["sheets"].as_array().expect("tables").iter().find(|sheet| sheet["name"] == "times").expect("times");
    let rows = times["rows"].as_array().expect("rows");
    let one = |(file, variant): (&String, &String)| {
        let row = rows.iter().find(|row| row["name"] == file.as_str()).expect("its row");
        let seconds = row["cpu_min"].as_f64().expect("a time");
        let metrics = metrics(file, folder);
        Measured { kernel: kernel.name.clone(), variant: variant.clone(), seconds, metrics }
    };
    files.iter().zip(&kernel.variants).map(one).collect()
}

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
    let [d1, ll] = misses(file, folder);
    [cost, fills[0], fills[1], fills[2], fills.iter().sum(), d1, ll]
}

/// Cachegrind's data misses of 32 KiB in 8 ways and of 1 MiB in 16.
fn misses(file: &str, folder: &Path) -> [f64; 2] {
    succeed(Command::new(clang(false)).args(["-O2", file, "-lm", "-o", "plain"]).current_dir(folder));
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

fn pairs(measured: &[Measured]) -> Vec<Pair> {
    let mut found = Vec::new();
    for (i, a) in measured.iter().enumerate() {
        for b in &measured[i + 1..] {
            let mut metrics = [0.0; 7];
            for (at, metric) in metrics.iter_mut().enumerate() {
                *metric = (b.metrics[at] / a.metrics[at]).ln();
            }
            found.push(Pair { kernel: a.kernel.clone(), time: (b.seconds / a.seconds).ln(), metrics });
        }
    }
    found
}

/// Kendall's tau within kernels: right minus wrong orders, of pairs whose times are apart; ties count as neither.
fn tau(pairs: &[&Pair], at: usize) -> f64 {
    let apart: Vec<_> = pairs.iter().filter(|pair| is_apart(pair)).collect();
    let score = |pair: &&&Pair| match pair.metrics[at] * pair.time {
        x if x > 0.0 => 1.0,
        x if x < 0.0 => -1.0,
        _ => 0.0,
    };
    apart.iter().map(score).sum::<f64>() / apart.len().max(1) as f64
}

/// Spearman's rho of ratios of metrics and of times. Each pair counts in both directions, as its order means nothing.
fn rho(pairs: &[&Pair], at: usize) -> f64 {
    let both = |of: &dyn Fn(&Pair) -> f64| pairs.iter().flat_map(|pair| [of(pair), -of(pair)]).collect::<Vec<f64>>();
    let (x, y) = (ranks(&both(&|pair| pair.metrics[at])), ranks(&both(&|pair| pair.time)));
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
