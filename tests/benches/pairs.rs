//! Advice against the clock: does `dmdprof rank` prefer the variant that is faster on this machine?
//!
//! `cargo bench -p dmdprof-tests --bench pairs [-- --set SET] [--runs N] [KERNEL...]` prints a table for
//! `docs/rank.md`.
//!
//! A *pair* is two variants of one kernel of a set: `tests/pairs/` (`base`), or its folder `first` or `held_out`. Its
//! times are the least CPU time of several runs without hooks, in turn (`dmdprof time`); pairs that differ by 15 % and
//! less say nothing and are left out. `rank` is asked once per kernel; a pair is right where the faster variant has the
//! lower cost, and by cycles not told where `rank` says that it cannot tell. `--cores` names the cores, the one of the
//! machine at hand first.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Parser;
use dmdprof_tests::pairs::{APART, Kernel, Set, kernels};
use dmdprof_tests::tool;
use serde_json::Value;

/// Columns of `rank` that order variants.
const CRITERIA: [(&str, &str); 3] = [("cycles", "cycles"), ("moved", "lines moved"), ("cost", "ByteDMD")];

/// Variants of kernels by what `rank` says of them, against the clock.
#[derive(Parser)]
struct Options {
    /// Which kernels
    #[arg(long, value_enum, default_value = "base")]
    set: Set,
    /// How often each variant runs
    #[arg(long, default_value_t = 15)]
    runs: u32,
    /// Cores that `rank` is asked for
    #[arg(long)]
    cores: Option<String>,
    /// Names of kernels; all of the set if there are none
    kernels: Vec<String>,
    /// Cargo says so to every benchmark
    #[arg(long = "bench", hide = true)]
    _bench: bool,
}

/// A variant's least CPU time, and its costs by each of the criteria.
struct Measured {
    name: String,
    seconds: f64,
    costs: [f64; 3],
}

/// What a criterion says of a pair.
#[derive(Clone, Copy, PartialEq)]
enum Said {
    Right,
    Wrong,
    CannotTell,
}

impl Said {
    fn of(is_right: bool) -> Self {
        if is_right { Self::Right } else { Self::Wrong }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "**wrong**",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// Variants of a kernel, and pairs of names of which it cannot be told which is faster.
struct Found {
    variants: BTreeMap<String, Measured>,
    untold: Vec<[String; 2]>,
}

/// Two variants, the faster one first.
struct Pair {
    kernel: String,
    names: [String; 2],
    seconds: [f64; 2],
    said: [Said; 3],
}

fn main() {
    let options = Options::parse();
    let (runs, wanted) = (options.runs.to_string(), &options.kernels);
    let all = kernels(options.set);
    if let Some(name) = wanted.iter().find(|name| all.iter().all(|kernel| kernel.name != **name)) {
        let names: Vec<&str> = all.iter().map(|kernel| kernel.name.as_str()).collect();
        panic!("{name} is none of the kernels of this set: {}", names.join(" "));
    }
    let chosen = all.into_iter().filter(|k| wanted.is_empty() || wanted.contains(&k.name));
    let scratch = tool::scratch();
    let mut pairs = Vec::new();
    let mut close = 0;
    println!("| kernel | faster | slower | times | {} |", CRITERIA.map(|(_, title)| title).join(" | "));
    println!("|---|---|---|--:|---|---|---|");
    for kernel in chosen {
        let measured = measure(&kernel, scratch.path(), &runs, options.cores.as_deref());
        let (found, same) = pairs_of(&kernel, &measured);
        close += same;
        for pair in &found {
            let words = pair.said.map(Said::word);
            let ratio = pair.seconds[1] / pair.seconds[0];
            println!(
                "| {} | {} ({:.1} ms) | {} ({:.1} ms) | {ratio:.2} | {} |",
                pair.kernel,
                pair.names[0],
                pair.seconds[0] * 1e3,
                pair.names[1],
                pair.seconds[1] * 1e3,
                words.join(" | ")
            );
        }
        pairs.extend(found);
    }
    println!("\n{} pairs whose times differ by more than 15 %; {close} nearer ones are left out.\n", pairs.len());
    println!("| by | right | wrong | cannot tell | right of those told | tau-b |\n|---|--:|--:|--:|--:|--:|");
    for (i, (_, title)) in CRITERIA.iter().enumerate() {
        let count = |said: Said| pairs.iter().filter(|pair| pair.said[i] == said).count();
        let (right, wrong, untold) = (count(Said::Right), count(Said::Wrong), count(Said::CannotTell));
        let share = 100.0 * right as f64 / (right + wrong).max(1) as f64;
        // Times are apart; costs that are tied count as wrong.
        let tau = (right as f64 - wrong as f64) / pairs.len().max(1) as f64;
        println!("| {title} | {right} | {wrong} | {untold} | {share:.0} % | {tau:.2} |");
    }
}

fn measure(kernel: &Kernel, directory: &Path, runs: &str, cores: Option<&str>) -> Found {
    let names: Vec<String> = kernel.variants.iter().map(|variant| kernel.source_of(variant, directory)).collect();
    let timed = tables(&["time", "-n", runs, "--format", "json"], &names, directory);
    let cores = cores.map(|cores| format!("--cycles={cores}"));
    let words = ["rank", "--no-cache", "--format", "json"].into_iter().chain(cores.as_deref());
    let ranked = tables(&words.collect::<Vec<_>>(), &names, directory);
    let (times, costs, told) = (rows(&timed, "times"), rows(&ranked, "variants"), rows(&ranked, "told"));
    let of = |name: &String| {
        let row = |rows: &[Value]| rows.iter().find(|row| row["name"] == name.as_str()).expect("its row").clone();
        let (time, cost) = (row(&times), row(&costs));
        let standing = cost["standing"].as_str().unwrap_or_default();
        assert_eq!(standing, "eligible", "{name} does something else than the first variant");
        let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{name} has no {key}: {row}"));
        let costs = CRITERIA.map(|(key, _)| number(&cost, key));
        Measured { name: name.clone(), seconds: number(&time, "cpu_min"), costs }
    };
    let variants = kernel.variants.iter().cloned().zip(names.iter().map(of)).collect();
    let text = |row: &Value, key: &str| row[key].as_str().expect("a text").to_owned();
    let untold = told.iter().filter(|row| row["doubt"] != "");
    Found { variants, untold: untold.map(|row| [text(row, "faster"), text(row, "slower")]).collect() }
}

/// What a command prints.
fn tables(words: &[&str], names: &[String], directory: &Path) -> Value {
    let found = tool::succeed(tool::dmdprof().args(words).args(names).current_dir(directory));
    serde_json::from_slice(&found.stdout).expect("JSON")
}

/// The rows of one of its tables.
fn rows(json: &Value, key: &str) -> Vec<Value> {
    let sheets = json["sheets"].as_array().expect("tables");
    let sheet = sheets.iter().find(|sheet| sheet["name"] == key).expect("the table");
    sheet["rows"].as_array().expect("rows").clone()
}

/// Pairs whose times are apart, and how many are not.
fn pairs_of(kernel: &Kernel, Found { variants, untold }: &Found) -> (Vec<Pair>, usize) {
    let (mut pairs, mut close) = (Vec::new(), 0);
    for (i, one) in kernel.variants.iter().enumerate() {
        for other in &kernel.variants[i + 1..] {
            let (a, b) = (&variants[one], &variants[other]);
            let (fast, slow, names) = if a.seconds <= b.seconds { (a, b, [one, other]) } else { (b, a, [other, one]) };
            if slow.seconds < APART * fast.seconds {
                close += 1;
                continue;
            }
            let mut said = [0, 1, 2].map(|c| Said::of(fast.costs[c] < slow.costs[c]));
            if untold.iter().any(|pair| pair.contains(&fast.name) && pair.contains(&slow.name)) {
                said[0] = Said::CannotTell;
            }
            let seconds = [fast.seconds, slow.seconds];
            pairs.push(Pair { kernel: kernel.name.clone(), names: names.map(String::clone), seconds, said });
        }
    }
    (pairs, close)
}
