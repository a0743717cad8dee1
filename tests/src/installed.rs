//! Functions of programs as they are, by cycles and lines, against the clock of a run without the emulator.
//!
//! Takes names of the programs in the list, which must be on the `PATH`, and a core; gives a table of a row for each,
//! and how far parts of cycles are from parts of the time over all functions that take at least a fiftieth of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tool::{dmdprof, repository, scratch, succeed};

/// Programs, each as a line for a shell; `text` is 0.4 MB of source text.
const PROGRAMS: [(&str, &str); 10] = [
    ("gzip", "gzip -9 -k -c text"),
    ("xz", "xz -6 -k -c text"),
    ("bzip2", "bzip2 -k -c text"),
    ("zstd", "zstd -q -12 -c text"),
    ("sort", "sort text"),
    ("gawk", "gawk '{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) print n[w], w }' text"),
    ("perl", "perl -ne '$n{$_}++ for split; END { print \"$n{$_} $_\\n\" for sort keys %n }' text"),
    ("python3", "/usr/bin/python3 -c 'import re; print(len(set(re.findall(r\"\\w+\", open(\"text\").read() * 4))))'"),
    (
        "sqlite3",
        "sqlite3 :memory: 'create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select \
         i + 1 from n where i < 60000) insert into t select i, \"row \" || (i * 7919 % 60000) from n; create index u on t(b); \
         select count(*) from t where b like \"row 1%\"; select b, count(*) from t group by substr(b, 1, 6) limit 5'",
    ),
    ("jq", "jq -n '[range(60000) | { a: ., b: (. * 7 % 1000 | tostring) }] | group_by(.b) | length'"),
];

/// A part of the time from which on a function counts.
const COUNTS: f64 = 0.02;

/// A function's parts of the time, of the cycles, and of the lines beyond 32 KiB.
struct Function {
    name: String,
    clock: f64,
    cycles: f64,
    lines: f64,
}

/// Prints the table of all programs, or of those that are named.
pub fn print(named: &[String], core: Option<&str>) {
    let folder = scratch();
    write_text(folder.path());
    println!(
        "| program | samples | first by the clock | by cycles | by lines | functions | off by | rho of cycles | of lines |"
    );
    println!("|---|--:|---|---|---|--:|--:|--:|--:|");
    let mut all = Vec::new();
    for (name, line) in PROGRAMS.iter().filter(|(name, _)| named.is_empty() || named.iter().any(|n| n == name)) {
        eprintln!("{name}");
        let (samples, functions) = measure(line, core, folder.path());
        let told: Vec<&Function> = functions.iter().filter(|function| function.clock >= COUNTS).collect();
        let off: Vec<f64> = told.iter().map(|function| (function.cycles / function.clock - 1.0).abs()).collect();
        let first = |of: fn(&Function) -> f64| {
            let found = functions.iter().max_by(|a, b| of(a).total_cmp(&of(b))).expect("a function");
            format!("{} {:.0} %", found.name, 100.0 * of(found))
        };
        println!(
            "| {name} | {samples} | {} | {} | {} | {} | {:.0} % | {:.2} | {:.2} |",
            first(|f| f.clock),
            first(|f| f.cycles),
            first(|f| f.lines),
            told.len(),
            100.0 * median(off.clone()),
            rho(&told, |f| f.cycles),
            rho(&told, |f| f.lines),
        );
        all.extend(off);
    }
    println!("\n{} functions; cycles are off by {:.0} % in the median.", all.len(), 100.0 * median(all.clone()));
}

fn write_text(folder: &Path) {
    let mut files: Vec<_> = fs::read_dir(repository().join("docs")).expect("documents").flatten().collect();
    files.sort_by_key(fs::DirEntry::path);
    let mut text = String::new();
    for file in files.iter().filter(|file| file.path().extension().is_some_and(|e| e == "md")) {
        text.push_str(&fs::read_to_string(file.path()).expect("a text"));
    }
    text.truncate(text.floor_char_boundary(400 << 10));
    fs::write(folder.join("text"), text).expect("a file");
}

/// Samples, and all functions.
fn measure(line: &str, core: Option<&str>, folder: &Path) -> (u64, Vec<Function>) {
    let cycles = core.map_or_else(|| "--cycles".to_owned(), |core| format!("--cycles={core}"));
    let script = format!("exec \"$0\" run -q --lines-only {cycles} --clock -o profile {line} > output");
    let program = dmdprof().get_program().to_owned();
    succeed(Command::new("sh").arg("-c").arg(script).arg(program).current_dir(folder));
    let report = succeed(dmdprof().args(["report", "--format", "json", "profile"]).current_dir(folder)).stdout;
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let lines = |numbers: &Value| {
        let moved = numbers["moved"].as_array().expect("lines");
        let at = moved.iter().find(|moved| moved["capacity_bytes"] == 32 << 10).expect("a capacity");
        ["fetched", "written_back"].map(|key| at[key].as_f64().unwrap_or(0.0)).iter().sum::<f64>()
    };
    let all = lines(&report["totals"]);
    let mut found: Vec<Function> = Vec::new();
    for row in report["functions"].as_array().expect("functions") {
        let own = &row["exclusive"];
        let part = |key: &str| own[key]["share"].as_f64().unwrap_or(0.0);
        let name = without_variant(row["name"].as_str().expect("a name"));
        let (clock, cycles, lines) = (part("clock"), part("cycles"), lines(own) / all);
        match found.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                (known.clock, known.cycles, known.lines) =
                    (known.clock + clock, known.cycles + cycles, known.lines + lines);
            }
            None => found.push(Function { name: name.to_owned(), clock, cycles, lines }),
        }
    }
    (report["clock"]["samples"].as_u64().expect("samples"), found)
}

/// The C library chooses other functions of one name on the emulated processor: `__strcmp_evex` is `__strcmp_avx2`.
fn without_variant(name: &str) -> &str {
    let variants = ["_evex", "_avx", "_sse"];
    variants.iter().find_map(|variant| name.find(variant).map(|at| &name[..at])).unwrap_or(name)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Spearman's, of a number and of the time.
fn rho(functions: &[&Function], of: fn(&Function) -> f64) -> f64 {
    let rank = |by: fn(&Function) -> f64, function: &Function| {
        functions.iter().filter(|other| by(other) > by(function)).count() as f64
    };
    let n = functions.len() as f64;
    let squares: f64 = functions.iter().map(|f| (rank(of, f) - rank(|f| f.clock, f)).powi(2)).sum();
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}
