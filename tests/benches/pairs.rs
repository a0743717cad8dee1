//! Advice against the clock: does `dmdprof rank` prefer the variant that is faster on this machine?
//!
//! `cargo bench -p dmdprof-tests --bench pairs [-- --set SET] [--runs N] [KERNEL...]` prints a table for
//! `docs/rank.md`.
//!
//! A *pair* is two variants of one kernel of a set: `tests/pairs/` (`base`), or its folder `first` or `held_out`. Its
//! times are the least CPU time of several runs without hooks, in turn (`dmdprof time`); pairs that differ by 15 % and
//! less say nothing and are left out. `rank` is asked once per kernel, without a machine; a pair is right where the
//! faster variant has the lower cost. The numbers of the rule were fixed when the kernels of `base` up to `mvt` in the
//! alphabet had been measured; those after it were held out.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Parser;
use dmdprof_tests::pairs::{APART, Kernel, Set, kernels};
use dmdprof_tests::tool;
use serde_json::Value;

/// Columns of `rank` that order variants.
const CRITERIA: [(&str, &str); 3] = [("cycles", "usual core"), ("moved", "lines moved"), ("cost", "ByteDMD")];

/// Variants of kernels by what `rank` says of them, against the clock.
#[derive(Parser)]
struct Options {
    /// Which kernels
    #[arg(long, value_enum, default_value = "base")]
    set: Set,
    /// How often each variant runs
    #[arg(long, default_value_t = 15)]
    runs: u32,
    /// Names of kernels; all of the set if there are none
    kernels: Vec<String>,
    /// Cargo says so to every benchmark
    #[arg(long = "bench", hide = true)]
    _bench: bool,
}

/// A variant's least CPU time, and its costs by each of the criteria.
struct Measured {
    seconds: f64,
    costs: [f64; 3],
}

/// Two variants, the faster one first.
struct Pair {
    kernel: String,
    names: [String; 2],
    seconds: [f64; 2],
    right: [bool; 3],
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
    let (mut close, mut order) = (0, [(0u64, 0u64); 3]);
    println!("| kernel | faster | slower | times | {} |", CRITERIA.map(|(_, title)| title).join(" | "));
    println!("|---|---|---|--:|---|---|---|");
    for kernel in chosen {
        let measured = measure(&kernel, scratch.path(), &runs);
        let (found, same) = pairs_of(&kernel, &measured);
        close += same;
        for pair in &found {
            let words = pair.right.map(|right| if right { "right" } else { "**wrong**" });
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
    println!("| by | right | of these | tau-b |\n|---|--:|--:|--:|");
    for (i, (_, title)) in CRITERIA.iter().enumerate() {
        let right = pairs.iter().filter(|pair| pair.right[i]).count();
        order[i] = (right as u64, (pairs.len() - right) as u64);
        let (concordant, discordant) = order[i];
        let share = 100.0 * right as f64 / pairs.len().max(1) as f64;
        // Times are apart; costs that are tied count as wrong.
        let tau = (concordant as f64 - discordant as f64) / pairs.len().max(1) as f64;
        println!("| {title} | {right} | {share:.0} % | {tau:.2} |");
    }
}

fn measure(kernel: &Kernel, directory: &Path, runs: &str) -> BTreeMap<String, Measured> {
    let names: Vec<String> = kernel.variants.iter().map(|variant| kernel.source_of(variant, directory)).collect();
    let times = sheet(&["time", "-n", runs, "--format", "json"], &names, directory, "times");
    let costs = sheet(&["rank", "--no-cache", "--format", "json"], &names, directory, "variants");
    let of = |name: &String| {
        let row = |rows: &[Value]| rows.iter().find(|row| row["name"] == name.as_str()).expect("its row").clone();
        let (time, cost) = (row(&times), row(&costs));
        let standing = cost["standing"].as_str().unwrap_or_default();
        assert_eq!(standing, "eligible", "{name} does something else than the first variant");
        let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{name} has no {key}: {row}"));
        Measured { seconds: number(&time, "cpu_min"), costs: CRITERIA.map(|(key, _)| number(&cost, key)) }
    };
    kernel.variants.iter().cloned().zip(names.iter().map(of)).collect()
}

/// The rows of one table that a command prints.
fn sheet(words: &[&str], names: &[String], directory: &Path, key: &str) -> Vec<Value> {
    let found = tool::succeed(tool::dmdprof().args(words).args(names).current_dir(directory));
    let json: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let sheets = json["sheets"].as_array().expect("tables");
    let sheet = sheets.iter().find(|sheet| sheet["name"] == key).expect("the table");
    sheet["rows"].as_array().expect("rows").clone()
}

/// Pairs whose times are apart, and how many are not.
fn pairs_of(kernel: &Kernel, measured: &BTreeMap<String, Measured>) -> (Vec<Pair>, usize) {
    let (mut pairs, mut close) = (Vec::new(), 0);
    for (i, one) in kernel.variants.iter().enumerate() {
        for other in &kernel.variants[i + 1..] {
            let (a, b) = (&measured[one], &measured[other]);
            let (fast, slow, names) = if a.seconds <= b.seconds { (a, b, [one, other]) } else { (b, a, [other, one]) };
            if slow.seconds < APART * fast.seconds {
                close += 1;
                continue;
            }
            let right = [0, 1, 2].map(|c| fast.costs[c] < slow.costs[c]);
            let seconds = [fast.seconds, slow.seconds];
            pairs.push(Pair { kernel: kernel.name.clone(), names: names.map(String::clone), seconds, right });
        }
    }
    (pairs, close)
}
