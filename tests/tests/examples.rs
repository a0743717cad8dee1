//! Every example does what its header says: the output of the native program, and exactly the costs in its `cost`
//! lines.
//!
//! A header has one such line per kernel, `cost FUNCTION BYTEDMD formula DISTANCE %`: the exclusive ByteDMD that
//! `dmdprof run FILE` reports for the function at the default size, and how far the header's formula is from it, which
//! is computed here from the formula. `DMDPROF_CLANG=clang-19 cargo test --test examples` checks another clang.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dmdprof_tests::profiled::Run;
use dmdprof_tests::programs::{Compiler, Program};
use dmdprof_tests::tool::{assert_same, describe, dmdprof, repository, require, scratch, succeed};

/// The functions of an example that have a cost line, with the formula of the header at the default size.
type Formulas = &'static [(&'static str, Formula)];
type Formula = fn() -> f64;

fn root(x: f64) -> f64 {
    x.sqrt()
}

fn matmul_plain() -> f64 {
    let n = 128.0;
    8.0 * n * n * n * (root(8.0) * n + 4.0 * root(n))
}

fn matmul_tiled() -> f64 {
    let (n, t) = (128.0, 16.0);
    8.0 * n * n * n * (root(8.0) * (t + n / t) + 4.0 * (root(t) + root(n / t)) + 5.0)
}

/// Both sweeps; `first` is the factor of the first term, `line` how many points the neighbour one line away is away.
fn sweeps(first: f64, line: f64) -> f64 {
    let n = 512.0;
    8.0 * n * n * (first * n + 4.0 * root(32.0 * line))
}

fn transpose() -> f64 {
    let n = 512.0;
    8.0 * n * n * 1.09 * root(8.0) * n
}

/// All look-ups of `bytes` bytes each in a structure of `spread` bytes per key.
fn lookups(bytes: f64, spread: f64) -> f64 {
    let slots = 65536.0;
    4.0 * slots * bytes * 2.0 / 3.0 * root(spread * slots / 2.0)
}

/// All passes over a structure of `bytes` bytes per number.
fn passes(bytes: f64) -> f64 {
    let size = bytes * 32768.0;
    8.0 * size * root(size)
}

const MATMUL: Formulas = &[("matmul_ijk", matmul_plain), ("matmul_ikj", matmul_plain), ("matmul_tiled", matmul_tiled)];
const STENCIL: Formulas = &[
    ("sweep_rows", || sweeps(7.45, 512.0)),
    ("sweep_columns", || sweeps(7.08, 512.0)),
    ("sweep_blocks", || sweeps(7.45, 32.0)),
];
const TRANSPOSE: Formulas = &[("transpose_naive", transpose), ("transpose_blocked", transpose)];
const HASH_TABLE: Formulas = &[
    ("open_lookup_uniform", || lookups(16.6, 16.0)),
    ("open_lookup_skewed", || 0.18 * lookups(16.6, 16.0)),
    ("chain_lookup_uniform", || lookups(25.1, 24.0)),
];
const LIST_VS_ARRAY: Formulas =
    &[("sum_array", || passes(8.0)), ("sum_list_in_order", || passes(16.0)), ("sum_list_scattered", || passes(16.0))];

/// What a cost line says.
#[derive(Debug, PartialEq, Eq)]
struct Stated {
    cost: u64,
    /// As `-2.7`.
    distance: String,
}

/// The cost lines of the comment that opens a source.
fn stated(source: &str) -> Result<BTreeMap<String, Stated>, String> {
    let rust = source.starts_with("//!");
    let header = source.lines().take_while(|line| if rust { line.starts_with("//!") } else { !line.contains("*/") });
    let mut all = BTreeMap::new();
    for line in header {
        let words: Vec<&str> = line.trim_start_matches(['/', '!', '*', ' ']).split_whitespace().collect();
        if words.first() != Some(&"cost") {
            continue;
        }
        let (name, stated) = match words[..] {
            ["cost", name, cost, "formula", distance, "%"] => {
                let cost = cost.parse().map_err(|e| format!("{line:?}: {cost} is no cost: {e}"))?;
                (name, Stated { cost, distance: distance.to_owned() })
            }
            _ => return Err(format!("{line:?} is not `cost FUNCTION BYTEDMD formula DISTANCE %`")),
        };
        if all.insert(name.to_owned(), stated).is_some() {
            return Err(format!("two cost lines for {name}"));
        }
    }
    if all.is_empty() { Err("no cost line in the header".into()) } else { Ok(all) }
}

/// The exclusive cost of every function in the report that `dmdprof run` would have printed, by its name in the source.
fn measured(profile: &Path) -> BTreeMap<String, u64> {
    let output = succeed(dmdprof().arg("report").arg(profile).args(["--format", "json"]));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut all = BTreeMap::new();
    for row in report["functions"].as_array().expect("`functions` is a list") {
        let name = row["name"].as_str().expect("a name");
        let name = name.split_once("::").map_or(name, |(_crate, rest)| rest);
        let cost = row["exclusive"]["cost"].as_u64().expect("a cost");
        *all.entry(name.to_owned()).or_default() += cost;
    }
    all
}

/// Differences between a header and what was measured, one per line.
fn differences(stated: &BTreeMap<String, Stated>, measured: &BTreeMap<String, u64>, formulas: Formulas) -> String {
    let mut found = String::new();
    for name in stated.keys().filter(|name| formulas.iter().all(|(known, _)| known != name)) {
        found.push_str(&format!("{name}: the test has no formula for it\n"));
    }
    for (name, formula) in formulas {
        let Some(&cost) = measured.get(*name) else {
            found.push_str(&format!("{name}: not in the report, which has {:?}\n", measured.keys()));
            continue;
        };
        let right = Stated { cost, distance: format!("{:+.1}", 100.0 * (formula() / cost as f64 - 1.0)) };
        if stated.get(*name) != Some(&right) {
            found.push_str(&format!("{name}: measured `cost {name} {cost} formula {} %`\n", right.distance));
        }
    }
    found
}

fn run_native(executable: &Path) -> Output {
    let mut command = Command::new(executable);
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|e| panic!("cannot start {}: {e}", executable.display()));
    assert!(output.status.success() && !output.stdout.is_empty(), "{}", describe(&output));
    output
}

fn native(source: &Path, directory: &Path) -> PathBuf {
    if source.extension().is_some_and(|e| e == "c") {
        let mut program = Program::from_source(source.to_path_buf());
        program.name = format!("example-{}", program.name);
        return program.build(&Compiler::native());
    }
    let executable = directory.join("native");
    let rustc = require("rustc".as_ref(), "install Rust (rustup.rs)");
    succeed(Command::new(rustc).args(["-O", "--edition", "2024"]).arg(source).arg("-o").arg(&executable));
    executable
}

fn check(file: &str, formulas: Formulas) {
    let source = repository().join("examples").join(file);
    let text = std::fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
    let stated = stated(&text).unwrap_or_else(|problem| panic!("{file}: {problem}"));

    let directory = scratch();
    let expected = run_native(&native(&source, directory.path()));
    let profiled = Run::new(&source, directory.path()).go();
    assert_same(&format!("{file}: stdout"), &expected.stdout, &profiled.output.stdout);
    assert_same(&format!("{file}: stderr"), &expected.stderr, &profiled.output.stderr);
    assert_eq!(expected.status, profiled.output.status, "{file}");
    profiled.report.assert_consistent();

    let found = differences(&stated, &measured(&profiled.profile), formulas);
    assert!(found.is_empty(), "{file}: the header is not what was measured\n{found}");
}

macro_rules! examples {
    ($($test:ident $formulas:ident $c:literal $rust:literal;)*) => {
        $(mod $test {
            #[test]
            fn c() {
                super::check($c, super::$formulas);
            }

            #[test]
            fn rust() {
                super::check($rust, super::$formulas);
            }
        })*

        #[test]
        fn every_example_is_checked() {
            // The costs of bytedmd.c are those of another machine; the test `goldens` checks them. The tests `plan`,
            // `pages` and `cluster` go through the folders.
            let checked = [$($c, $rust,)* "bytedmd.c", "plan", "tutorial", "optimiser", "cluster"];
            for entry in std::fs::read_dir(repository().join("examples")).expect("examples/") {
                let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
                assert!(checked.contains(&name.as_str()), "no test runs examples/{name}");
            }
        }
    };
}

examples! {
    matmul MATMUL "matmul.c" "matmul.rs";
    stencil STENCIL "stencil.c" "stencil.rs";
    transpose TRANSPOSE "transpose.c" "transpose.rs";
    hash_table HASH_TABLE "hash_table.c" "hash_table.rs";
    list_vs_array LIST_VS_ARRAY "list_vs_array.c" "list_vs_array.rs";
}

#[test]
fn headers_without_good_cost_lines_are_refused() {
    let good = "//! Text\n//!\n//!     cost f 123 formula -2.7 %\n\nfn f() {}\n";
    let line = Stated { cost: 123, distance: "-2.7".into() };
    assert_eq!(stated(good), Ok(BTreeMap::from([("f".to_owned(), line)])));
    assert_eq!(stated(&good.replace("//!     cost", " * cost").replacen("//!", "/*", 1)), stated(good));
    for (bad, problem) in [
        ("//! Text\n\nfn f() {} // cost f 123 formula -2.7 %\n", "no cost line"),
        ("/* Text */\n/* cost f 123 formula -2.7 % */\n", "no cost line"),
        ("/* Text\n * cost f about 123\n */\n", "is not `cost"),
        ("/* Text\n * cost f 1.5 formula -2.7 %\n */\n", "no cost:"),
        ("/* Text\n * cost f 1 formula -2.7 %\n * cost f 2 formula -2.7 %\n */\n", "two cost lines"),
    ] {
        let found = stated(bad).expect_err(bad);
        assert!(found.contains(problem), "{bad}: {found}");
    }
}

/// The comparison can fail: a cost off by one, another distance, a line too many, a line too few.
#[test]
fn wrong_headers_are_noticed() {
    let header = |text: &str| stated(&format!("/*\n{text}\n */\n")).expect("good lines");
    let formulas: Formulas = &[("f", || 1010.0)];
    let measured = BTreeMap::from([("f".to_owned(), 1000)]);
    assert_eq!(differences(&header("cost f 1000 formula +1.0 %"), &measured, formulas), "");
    for (wrong, word) in [
        ("cost f 1001 formula +1.0 %", "measured `cost f 1000 formula +1.0 %`"),
        ("cost f 1000 formula +0.9 %", "measured `cost f 1000 formula +1.0 %`"),
        ("cost f 1000 formula +1.0 %\ncost g 7 formula +1.0 %", "no formula"),
        ("cost g 7 formula +1.0 %", "measured `cost f"),
    ] {
        let found = differences(&header(wrong), &measured, formulas);
        assert!(found.contains(word), "{wrong}: {found}");
    }
    assert!(differences(&header("cost f 1 formula +1.0 %"), &BTreeMap::new(), formulas).contains("not in the report"));
}
