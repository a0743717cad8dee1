//! `evidence [--set SET] [KERNEL...]`: what `dmdprof rank` and other tools say of variants of kernels, against the
//! clock; prints the tables of `docs/evidence.md`. Takes the kernels of `tests/pairs`, of its folders, and of
//! `tests/polybench`; refuses others, and variants that do not do the same.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use dmdprof_tests::cachegrind::total;
use dmdprof_tests::emulated::compare;
use dmdprof_tests::energy::{COUNTERS, Meter};
use dmdprof_tests::installed;
use dmdprof_tests::pairs::{APART, Kernel, Set, kernels};
use dmdprof_tests::tool::{clang, dmdprof, scratch, succeed, valgrind};
use serde_json::Value;

/// Samples of kernels for the intervals.
const ROUNDS: usize = 2000;
/// Energy is the least of so many turns; each is of so many runs, as counters move about once in a millisecond.
const ENERGY: (usize, usize) = (5, 10);
/// What variants are ordered by. The first may say that it cannot tell.
const METRICS: [&str; 7] = [
    "cycles",
    "lines moved",
    "ByteDMD",
    "Cachegrind D1",
    "Cachegrind Ir + 10 D1 + 100 LL",
    "gungraun's estimate",
    "instructions",
];
/// Columns of `rank` that are the first of them.
const RANKED: [&str; 3] = ["cycles", "moved", "cost"];

/// Parts of a core, and the numbers that are as if there was none of it.
const PARTS: [(&str, &[(&str, u64)]); 9] = [
    ("mispredicted branches", &[("refill", 1)]),
    ("latencies of levels", &[("l2", 4), ("l3", 4), ("memory", 4)]),
    ("bandwidths", &[("l2_gap", 1), ("l3_gap", 1), ("memory_gap", 1)]),
    ("translations", &[("tlb2", 1), ("walk", 1), ("walk_gap", 1)]),
    ("first touches", &[("page_fault", 1)]),
    ("forwarding", &[("forward", 1), ("forward_vector", 1), ("forward_known", 1), ("forward_failed", 1)]),
    ("prefetching", &[("prefetch_depth", 1)]),
    ("a limit of the window", &[("window", 4000), ("scheduler", 4000), ("load_queue", 4000), ("store_queue", 4000)]),
    ("a limit of misses under way", &[("misses", 256)]),
];

/// Variants of kernels by what was counted, against the clock.
#[derive(Parser)]
struct Options {
    /// Which kernels [default: all sets]
    #[arg(long, value_enum, value_delimiter = ',')]
    set: Vec<Set>,
    /// How often each variant runs
    #[arg(long, default_value_t = 15)]
    runs: u32,
    /// Cores that `rank` is asked for, the one of this machine first [default: those of `rank`]
    #[arg(long)]
    cores: Option<String>,
    /// Also by this core without each of its parts
    #[arg(long, value_name = "MACHINE")]
    parts: Option<String>,
    /// Print what was measured of each variant too
    #[arg(long)]
    all: bool,
    /// Instead, what hooks and the emulator measure of PolyBench's kernels: the table of docs/binary.md
    #[arg(long)]
    emulated: bool,
    /// Instead, functions of programs as they are, against the clock; then names of programs
    #[arg(long)]
    programs: bool,
    /// Names of kernels; all of the sets if there are none
    kernels: Vec<String>,
}

struct Measured {
    name: String,
    seconds: f64,
    joules: Option<f64>,
    metrics: [f64; METRICS.len()],
    /// Cycles of the whole core, and without each of its parts.
    parts: Vec<f64>,
}

/// Two variants of a kernel that are apart, the one of less time or energy first.
struct Pair<'a> {
    kernel: &'a str,
    variants: [&'a Measured; 2],
    /// Cycles cannot tell.
    is_untold: bool,
}

/// Variants of a kernel, and pairs of names of which `rank` cannot tell.
struct Found {
    kernel: String,
    variants: Vec<Measured>,
    untold: Vec<[String; 2]>,
}

/// What the measurements need.
struct Bench<'a> {
    options: &'a Options,
    meter: Option<Meter>,
    folder: &'a Path,
    /// Names of the machines of `parts`.
    machines: Vec<String>,
}

fn main() {
    let options = Options::parse();
    if options.emulated {
        return compare(&chosen(Set::Polybench, &options.kernels));
    }
    if options.programs {
        return installed::print(&options.kernels, options.cores.as_deref());
    }
    let folder = scratch();
    let meter = Meter::below(Path::new(COUNTERS));
    let why = meter.as_ref().err().map(ToString::to_string);
    let machines = options.parts.iter().flat_map(|core| machines_of_parts(core, folder.path())).collect();
    let bench = Bench { options: &options, meter: meter.ok(), folder: folder.path(), machines };
    let sets = if options.set.is_empty() { Set::ALL.to_vec() } else { options.set.clone() };
    for set in sets {
        let found: Vec<Found> = chosen(set, &options.kernels).iter().map(|kernel| bench.measure(kernel)).collect();
        if found.is_empty() {
            continue;
        }
        println!("\n## {}\n", set.folder());
        if options.all {
            print_all(&found);
        }
        correlate("time", &found, |m| Some(m.seconds));
        correlate("energy", &found, |m| m.joules);
        print_errors(&found, &bench.machines);
    }
    if let Some(why) = why {
        println!("\nEnergy was not measured: {why}.");
    }
}

/// The kernels of these names, in their order; all if there are none.
fn chosen(set: Set, named: &[String]) -> Vec<Kernel> {
    let all = kernels(set);
    all.into_iter().filter(|kernel| named.is_empty() || named.contains(&kernel.name)).collect()
}

/// Machine files of a core without each of its parts, that of the whole core first; their paths.
fn machines_of_parts(core: &str, folder: &Path) -> Vec<String> {
    let shown = succeed(dmdprof().args(["machine", "show", core, "--toml"])).stdout;
    let whole: toml::Table = toml::from_str(&String::from_utf8_lossy(&shown)).expect("a machine file");
    let write = |number: usize, figures: &[(&str, u64)]| {
        let mut machine = whole.clone();
        let core = machine.get_mut("core").and_then(toml::Value::as_table_mut).expect("a core");
        for (name, value) in figures {
            core.insert((*name).to_owned(), toml::Value::Integer(*value as i64));
        }
        let name = format!("part{number}");
        let path = folder.join(format!("{name}.toml"));
        machine.insert("name".to_owned(), toml::Value::String(name));
        fs::write(&path, machine.to_string()).expect("a machine file");
        path.to_string_lossy().into_owned()
    };
    let parts = PARTS.iter().enumerate().map(|(number, (_, figures))| write(number + 1, figures));
    std::iter::once(write(0, &[])).chain(parts.collect::<Vec<_>>()).collect()
}

impl Bench<'_> {
    /// All variants of a kernel.
    fn measure(&self, kernel: &Kernel) -> Found {
        eprintln!("{}", kernel.name);
        let files: Vec<String> = kernel.variants.iter().map(|variant| kernel.source_of(variant, self.folder)).collect();
        let times = self.json(&["time", "-n", &self.options.runs.to_string(), "--format", "json"], &files);
        let cores = self.options.cores.as_ref().map(|cores| format!("--cycles={cores}"));
        let words = ["rank", "--no-cache", "--format", "json"].into_iter().chain(cores.as_deref());
        let ranked = self.json(&words.collect::<Vec<_>>(), &files);
        let one = |(file, variant): (&String, &String)| {
            let row = |json: &Value, table: &str| {
                rows(json, table).into_iter().find(|row| row["name"] == file.as_str()).expect("its row")
            };
            let of_rank = row(&ranked, "variants");
            assert_eq!(of_rank["standing"], "eligible", "{file} does something else than the first variant");
            self.build(file);
            let [cycles, moved, cost] = RANKED.map(|key| of_rank[key].as_f64().unwrap_or_else(|| panic!("no {key}")));
            let [d1, cachegrind, gungraun, instructions] = self.cachegrind();
            Measured {
                name: variant.clone(),
                seconds: row(&times, "times")["cpu_min"].as_f64().expect("a time"),
                joules: self.meter.as_ref().map(|meter| energy(meter, &self.folder.join("plain"))),
                metrics: [cycles, moved, cost, d1, cachegrind, gungraun, instructions],
                parts: self.parts(),
            }
        };
        let variants = files.iter().zip(&kernel.variants).map(one).collect();
        let variant = |row: &Value, key: &str| {
            let file = files.iter().position(|file| row[key] == file.as_str()).expect("a variant");
            kernel.variants[file].clone()
        };
        let untold = rows(&ranked, "told").into_iter().filter(|row| row["doubt"] != "");
        let untold = untold.map(|row| ["faster", "slower"].map(|key| variant(&row, key))).collect();
        Found { kernel: kernel.name.clone(), variants, untold }
    }

    fn json(&self, words: &[&str], files: &[String]) -> Value {
        json(dmdprof().args(words).args(files).current_dir(self.folder))
    }

    /// `plain` from a source, without hooks.
    fn build(&self, file: &str) {
        let mut command = match file.rsplit_once('.') {
            Some((_, "rs")) => Command::new("rustc"),
            Some((_, extension)) => Command::new(clang(extension == "cc")),
            None => panic!("{file} is no source"),
        };
        let flags: &[&str] = if file.ends_with(".rs") { &["-O", "--edition=2021"] } else { &["-O2", "-lm"] };
        succeed(command.arg(file).args(flags).args(["-o", "plain"]).current_dir(self.folder));
    }

    /// Of `plain`: data misses of 32 KiB in 8 ways, instructions and misses with Cachegrind's usual weights (1 MiB in
    /// 16 ways), the estimate of gungraun (an access of the first level, of the last and of the memory is 1, 5 and 35),
    /// and instructions.
    fn cachegrind(&self) -> [f64; 4] {
        let options = ["--tool=cachegrind", "--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64"];
        let mut command = Command::new(valgrind());
        let file = "--cachegrind-out-file=misses";
        succeed(command.args(options).args([file, "./plain"]).current_dir(self.folder));
        let text = fs::read_to_string(self.folder.join("misses")).expect("Cachegrind's output file");
        let of = |event: &str| total(&text, event).expect("Cachegrind counts it") as f64;
        let (instructions, d1) = (of("Ir"), of("D1mr") + of("D1mw"));
        let last = of("DLmr") + of("DLmw") + of("ILmr");
        let first = of("I1mr") + d1;
        let all = instructions + of("Dr") + of("Dw");
        let gungraun = (all - first) + 5.0 * (first - last) + 35.0 * last;
        [d1, instructions + 10.0 * d1 + 100.0 * last, gungraun, instructions]
    }

    /// Cycles of `plain` on each of the machines.
    fn parts(&self) -> Vec<f64> {
        if self.machines.is_empty() {
            return Vec::new();
        }
        let cores = format!("--cycles={}", self.machines.join(","));
        let run = ["run", "-q", &cores, "--lines-only", "--binary", "-o", "profile", "./plain"];
        succeed(dmdprof().args(run).current_dir(self.folder));
        let report = json(dmdprof().args(["report", "--format", "json", "profile"]).current_dir(self.folder));
        let cores = report["cycles"]["cores"].as_array().expect("cores");
        cores.iter().map(|core| core["cycles"].as_f64().expect("cycles")).collect()
    }
}

/// Joules of one run: all that the machine takes meanwhile.
fn energy(meter: &Meter, program: &Path) -> f64 {
    let (turns, runs) = ENERGY;
    let run = || (0..runs).for_each(|_| drop(succeed(&mut Command::new(program))));
    let turn = |_| meter.joules(run).unwrap_or_else(|e| panic!("{e}")) / runs as f64;
    (0..turns).map(turn).fold(f64::INFINITY, f64::min)
}

fn json(command: &mut Command) -> Value {
    serde_json::from_slice(&succeed(command).stdout).expect("JSON")
}

/// The rows of one of the tables of a command.
fn rows(json: &Value, key: &str) -> Vec<Value> {
    let sheets = json["sheets"].as_array().expect("tables");
    let sheet = sheets.iter().find(|sheet| sheet["name"] == key).expect("the table");
    sheet["rows"].as_array().expect("rows").clone()
}

fn print_all(found: &[Found]) {
    println!("| kernel | variant | time, ms | {} |", METRICS.join(", M | "));
    println!("|---|---|--:|{}", "--:|".repeat(METRICS.len()));
    for of_kernel in found {
        for m in &of_kernel.variants {
            let numbers = m.metrics.map(|x| format!("{:.3}", x / 1e6)).join(" | ");
            println!("| {} | {} | {:.1} | {numbers} |", of_kernel.kernel, m.name, m.seconds * 1e3);
        }
    }
    println!();
}

/// The pairs that are at least 15 % apart by what was measured, and how many are not.
fn pairs(found: &[Found], measured: fn(&Measured) -> Option<f64>) -> (Vec<Pair<'_>>, usize) {
    let (mut pairs, mut near) = (Vec::new(), 0);
    for of_kernel in found {
        for (i, a) in of_kernel.variants.iter().enumerate() {
            for b in &of_kernel.variants[i + 1..] {
                let (Some(of_a), Some(of_b)) = (measured(a), measured(b)) else { continue };
                let (less, more, variants) = if of_a <= of_b { (of_a, of_b, [a, b]) } else { (of_b, of_a, [b, a]) };
                if more < APART * less {
                    near += 1;
                    continue;
                }
                let is_one = |names: &[String; 2]| names.contains(&a.name) && names.contains(&b.name);
                let is_untold = of_kernel.untold.iter().any(is_one);
                pairs.push(Pair { kernel: &of_kernel.kernel, variants, is_untold });
            }
        }
    }
    (pairs, near)
}

impl Pair<'_> {
    /// 1 if a metric orders it as the clock does, -1 if it does not or takes both for equal, 0 if it cannot tell.
    fn score(&self, metric: usize) -> i32 {
        let [less, more] = self.variants.map(|variant| variant.metrics[metric]);
        match (metric == 0 && self.is_untold, less < more) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => -1,
        }
    }

    fn words(&self) -> String {
        format!("{} {}/{}", self.kernel, self.variants[0].name, self.variants[1].name)
    }
}

fn correlate(of: &str, found: &[Found], measured: fn(&Measured) -> Option<f64>) {
    let (pairs, near) = pairs(found, measured);
    if pairs.is_empty() {
        return;
    }
    println!("{} pairs with {of}s at least 15 % apart; {near} nearer ones are left out.\n", pairs.len());
    println!("| by | right | wrong | cannot tell | tau | 95 % |\n|---|--:|--:|--:|--:|---|");
    for (metric, name) in METRICS.iter().enumerate() {
        let count = |score| pairs.iter().filter(|pair| pair.score(metric) == score).count();
        let (tau, (low, high)) = (tau(&pairs.iter().collect::<Vec<_>>(), metric), interval(&pairs, metric));
        println!("| {name} | {} | {} | {} | {tau:.2} | {low:.2} to {high:.2} |", count(1), count(-1), count(0));
    }
    let those = |score| {
        let words: Vec<String> = pairs.iter().filter(|pair| pair.score(0) == score).map(Pair::words).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    };
    println!("\nWrong by cycles (the faster one first): {}. Cannot tell: {}.", those(-1), those(0));
}

/// Kendall's tau within kernels: right minus wrong, of all pairs; what cannot be told counts as half right.
fn tau(pairs: &[&Pair<'_>], metric: usize) -> f64 {
    f64::from(pairs.iter().map(|pair| pair.score(metric)).sum::<i32>()) / pairs.len().max(1) as f64
}

/// The middle 95 % of what samples of whole kernels give: pairs of one kernel are not independent.
fn interval(pairs: &[Pair<'_>], metric: usize) -> (f64, f64) {
    let mut kernels: Vec<&str> = pairs.iter().map(|pair| pair.kernel).collect();
    kernels.dedup();
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % kernels.len()
    };
    let mut sample = || {
        let chosen: Vec<&str> = kernels.iter().map(|_| kernels[next()]).collect();
        let of = |kernel: &&str| pairs.iter().filter(move |pair| pair.kernel == *kernel).collect::<Vec<_>>();
        tau(&chosen.iter().flat_map(of).collect::<Vec<_>>(), metric)
    };
    let mut found: Vec<f64> = (0..ROUNDS).map(|_| sample()).collect();
    found.sort_by(f64::total_cmp);
    let part = |share: f64| found[(share * found.len() as f64) as usize];
    (part(0.025), part(0.975))
}

/// How far cycles are from times, by one factor for all variants, of the core that `rank` goes by; and of a core
/// without each of its parts, with the pairs that it orders rightly.
fn print_errors(found: &[Found], machines: &[String]) {
    let of_rank = errors(found, |m| m.metrics[0]);
    println!("\nCycles are off by {} in the median, by {} at the 90th percentile.", of_rank.0, of_rank.1);
    if machines.is_empty() {
        return;
    }
    let (pairs, _) = pairs(found, |m| Some(m.seconds));
    println!("\n| a core without | right | error of time | p90 |\n|---|--:|--:|--:|");
    for (part, name) in std::iter::once("(whole)").chain(PARTS.iter().map(|(name, _)| *name)).enumerate() {
        let is_right = |pair: &&Pair<'_>| pair.variants[0].parts[part] < pair.variants[1].parts[part];
        let (median, p90) = errors(found, |m| m.parts[part]);
        println!("| {name} | {} | {median} | {p90} |", pairs.iter().filter(is_right).count());
    }
}

fn errors(found: &[Found], cycles: impl Fn(&Measured) -> f64) -> (String, String) {
    let mut ratios: Vec<f64> =
        found.iter().flat_map(|f| &f.variants).map(|variant| cycles(variant) / variant.seconds).collect();
    ratios.sort_by(f64::total_cmp);
    let factor = ratios[ratios.len() / 2];
    let mut off: Vec<f64> = ratios.iter().map(|ratio| (ratio / factor - 1.0).abs()).collect();
    off.sort_by(f64::total_cmp);
    let at = |share: f64| format!("{:.0} %", 100.0 * off[(share * off.len() as f64) as usize]);
    (at(0.5), at(0.9))
}
