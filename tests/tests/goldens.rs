//! The reference machine, number by number: every kernel of `tests/kernels` under `--model values`, in C and in Rust,
//! against `tests/kernels/bytedmd_golden.json`.
//!
//! That file has the rules of the machine, the meaning of every kernel (a *family*; its program is `c/FAMILY.c` and
//! `rust/FAMILY.rs`, its parameters are words `NAME=NUMBER` of the command line) and 188 cases with the cost at 1, 2, 4
//! and 8 bytes per element, reads, instructions, spans, peak, curve and hash of depths, in order. Cases
//! whose names begin with `mixed_` have elements of several sizes and are run at the sizes of the program.
//!
//! A test lists all that differs, one line per number. What is read from the product's output is read in [`Region`],
//! [`Listing`] and [`build`], and nowhere else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use dmdprof_tests::profiled::Run;
use dmdprof_tests::programs::{Compiler, Program};
use dmdprof_tests::tool::{
    cache_dir, describe, dmdprof, dmdprof_path, in_tests, is_long, repository, require, scratch, succeed,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The first case of each family is run at all of these, the others at one each in turn.
const BYTES_PER_ELEMENT: [u64; 4] = [1, 2, 4, 8];
/// Of these, those that kernels in Rust are run with: what a width means is the analysis's, and not the language's.
const BYTES_IN_RUST: [u64; 1] = [8];
const WORKERS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    C,
    Rust,
}

impl Language {
    const ALL: [Self; 2] = [Self::C, Self::Rust];

    fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Rust => "Rust",
        }
    }

    fn folder(self) -> PathBuf {
        in_tests(match self {
            Self::C => "kernels/c",
            Self::Rust => "kernels/rust",
        })
    }

    fn source(self, family: &str) -> PathBuf {
        let extension = if self == Self::C { "c" } else { "rs" };
        self.folder().join(family).with_extension(extension)
    }

    /// The families that have a program.
    fn families(self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.folder()).expect("a folder of kernels");
        let stem = |path: PathBuf| path.file_stem().expect("a file").to_str().expect("a plain name").to_owned();
        let all = entries.map(|entry| stem(entry.expect("an entry").path()));
        all.filter(|name| name != "kernel").collect()
    }
}

/// What `dmdprof run` and `dmdprof ir` are given for a kernel: an executable that has been built once.
fn build(language: Language, family: &str) -> PathBuf {
    let source = language.source(family);
    match language {
        Language::C => build_c(source, "kernel", &["--dmdprof-model=values"], &[]),
        Language::Rust => build_rust(&source, family),
    }
}

fn build_c(source: PathBuf, prefix: &str, tool: &[&str], flags: &[&str]) -> PathBuf {
    let mut compiler = Compiler::dmdprof();
    compiler.cc = vec![dmdprof_path().into(), "cc".into()];
    compiler.cc.extend(tool.iter().map(Into::into));
    let mut program = Program::from_source(source);
    program.name = format!("{prefix}-{}", program.name);
    program.flags = flags.iter().map(|&flag| flag.to_owned()).collect();
    program.libraries = vec!["-lm".into()];
    program.build(&compiler)
}

fn build_rust(source: &Path, family: &str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let program = built.entry(family.to_owned()).or_insert_with(|| {
        let program = cache_dir().join(format!("kernel-rust-{family}"));
        std::fs::create_dir_all(cache_dir()).expect("the directory of built programs");
        let mut command = dmdprof();
        succeed(command.args(["build", "--model", "values", "-o"]).arg(&program).arg(source));
        program
    });
    program.clone()
}

/// The file of numbers.
fn goldens() -> &'static Value {
    static GOLDENS: OnceLock<Value> = OnceLock::new();
    GOLDENS.get_or_init(|| {
        let text = std::fs::read_to_string(in_tests("kernels/bytedmd_golden.json")).expect("the golden numbers");
        serde_json::from_str(&text).expect("the golden numbers are JSON")
    })
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("no {field} in {value}"))
}

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("no {field} in {value}"))
}

/// A map from numbers to numbers.
fn curve(value: &Value, field: &str) -> BTreeMap<u64, u64> {
    let entries = value[field].as_object().unwrap_or_else(|| panic!("no {field} in {value}"));
    let number = |v: &Value| v.as_u64().expect("a number");
    entries.iter().map(|(k, v)| (k.parse().expect("a number"), number(v))).collect()
}

/// One case of the file: a family with parameters.
#[derive(Clone, Debug)]
struct Case {
    id: &'static str,
    family: &'static str,
    args: Vec<String>,
    golden: &'static Value,
    /// Number of the case in its family.
    number: usize,
}

impl Case {
    /// The cases at one element size.
    fn all() -> Vec<Self> {
        let cases = goldens()["cases"].as_array().expect("cases");
        let mut met: BTreeMap<&str, usize> = BTreeMap::new();
        let case = |golden: &'static Value| {
            let params = golden["params"].as_object().expect("params");
            let args = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let family = text(golden, "family");
            let next = met.entry(family).or_default();
            let number = *next;
            *next += 1;
            Self { id: text(golden, "id"), family, args, golden, number }
        };
        cases.iter().map(case).collect()
    }

    /// The cases with elements of several sizes; `FAMILY/NAME=NUMBER` is all that names them.
    fn mixed() -> Vec<Self> {
        let cases = goldens()["mixed_width_extension"]["cases"].as_array().expect("mixed cases");
        let case = |golden: &'static Value| {
            let id = text(golden, "id");
            let (family, params) = id.split_once('/').unwrap_or((id, ""));
            let args = params.split(',').filter(|p| !p.is_empty()).map(str::to_owned).collect();
            Self { id, family, args, golden, number: 0 }
        };
        cases.iter().map(case).collect()
    }
}

/// What was wrong, one line per number.
#[derive(Debug, Default)]
struct Mismatches {
    context: String,
    lines: Vec<String>,
}

impl Mismatches {
    fn for_case(case: &str, language: Language) -> Self {
        Self { context: format!("{case}, {}", language.name()), lines: Vec::new() }
    }

    fn note(&mut self, what: impl Display) {
        self.lines.push(format!("{}, {what}", self.context));
    }

    fn compare<T: PartialEq + Display>(&mut self, quantity: impl Display, expected: T, found: Result<T, String>) {
        match found {
            Ok(found) if found == expected => {}
            Ok(found) => self.note(format!("{quantity}: expected {expected}, found {found}")),
            Err(problem) => self.note(format!("{quantity}: expected {expected}, but {problem}")),
        }
    }
}

/// A row of the report's region table.
#[derive(Clone, Copy, Debug)]
struct Region<'a>(&'a Value);

impl<'a> Region<'a> {
    fn from_report(report: &'a Value, name: &str) -> Result<Self, String> {
        let regions = report["regions"].as_array().ok_or("the report has no `regions`")?;
        let mut found = regions.iter().filter(|region| region["name"] == name);
        let one = found.next().ok_or_else(|| format!("no region {name}"))?;
        if found.next().is_some() { Err(format!("several regions {name}")) } else { Ok(Self(one)) }
    }

    fn number(self, field: &str) -> Result<u64, String> {
        self.0[field].as_u64().ok_or_else(|| format!("the region has no number `{field}`"))
    }

    /// Bytes read at depths greater than `capacity`. An error when a bucket of the histogram spans the
    /// capacity.
    fn deeper_than(self, capacity: u64) -> Result<u64, String> {
        let rows = self.0["histogram"].as_array().ok_or("the region has no `histogram`")?;
        let mut deeper = 0;
        for row in rows {
            let [low, high, bytes] =
                [0, 1, 2].map(|i| row[i].as_u64().unwrap_or_else(|| panic!("not a bucket: {row}")));
            if low <= capacity && capacity < high {
                return Err(format!("depths {low} to {high} are not told apart"));
            }
            deeper += if low > capacity { bytes } else { 0 };
        }
        Ok(deeper)
    }

    /// The same at the capacities that the report lists itself.
    fn listed(self) -> BTreeMap<u64, u64> {
        let rows = self.0["deeper"].as_array().into_iter().flatten();
        let pair = |row: &Value| Some((row["capacity"].as_u64()?, row["bytes"].as_u64()?));
        rows.filter_map(pair).collect()
    }
}

/// The output of `dmdprof ir`: what the machine did, line by line, and the total.
#[derive(Debug)]
struct Listing {
    lines: Vec<String>,
    total: Option<u64>,
}

impl Listing {
    /// One region's: `region NAME`, the events, `total COST (READS reads)`.
    fn parse(output: &str) -> Self {
        let events = output.lines().filter(|line| !line.starts_with("region ") && !line.starts_with("total "));
        let total = output.lines().last().and_then(|last| last.strip_prefix("total ")?.split(' ').next()?.parse().ok());
        Self { lines: events.map(|line| line.trim().to_owned()).collect(), total }
    }

    /// SHA-256 of the depths of all reads in decimal, joined by commas.
    fn hash_of_depths(&self) -> String {
        // `read VALUE depth DEPTH cost COST`
        let reads = self.lines.iter().filter(|line| line.starts_with("read "));
        let depths: Vec<&str> = reads.map(|line| line.split_whitespace().nth(3).unwrap_or("?")).collect();
        Sha256::digest(depths.join(",")).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn run_quietly(mut command: Command) -> Result<Vec<u8>, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("cannot start {command:?}: {e}"))?;
    if output.status.success() { Ok(output.stdout) } else { Err(format!("{command:?}: {}", describe(&output))) }
}

/// One run with `options`: the JSON report, which comes behind what the program itself prints.
fn report(program: &Path, args: &[String], options: &[String]) -> Result<Value, String> {
    let directory = scratch();
    let mut command = dmdprof();
    command.current_dir(directory.path()).args(["run", "--format", "json"]).args(options).arg(program).args(args);
    let printed = String::from_utf8(run_quietly(command)?).map_err(|e| format!("not text: {e}"))?;
    let report = printed.find("{\n").map_or("", |at| &printed[at..]);
    serde_json::from_str(report).map_err(|e| format!("the report is not JSON: {e}"))
}

/// Options of `dmdprof run`: the machine of values, with elements of one size or of the program's sizes.
fn values(bytes_per_element: Option<u64>) -> Vec<String> {
    let mut options = vec!["--model".to_owned(), "values".to_owned()];
    if let Some(bytes) = bytes_per_element {
        options.extend(["--bytes-per-element".to_owned(), bytes.to_string()]);
    }
    options
}

fn listing(program: &Path, args: &[String]) -> Result<Listing, String> {
    let directory = scratch();
    let mut command = dmdprof();
    command.args(["ir", "--bytes-per-element", "1"]).arg(program).args(args).current_dir(directory.path());
    Ok(Listing::parse(&String::from_utf8_lossy(&run_quietly(command)?)))
}

fn check_at(case: &Case, program: &Path, bytes: u64, cost: u64, wrong: &mut Mismatches) {
    let report = match report(program, &case.args, &values(Some(bytes))) {
        Ok(report) => report,
        Err(problem) => return wrong.note(format!("at {bytes} bytes: {problem}")),
    };
    let region = match Region::from_report(&report, case.family) {
        Ok(region) => region,
        Err(problem) => return wrong.note(format!("at {bytes} bytes: {problem}")),
    };
    let golden = |field| number(case.golden, field);
    for (field, expected) in [
        ("cost", cost),
        ("times", 1),
        ("reads", golden("reads")),
        ("bytes_read", golden("reads") * bytes),
        ("instructions", golden("instructions")),
        ("escapes", golden("escapes")),
        ("span", golden("span_all")),
        ("span_outputs", golden("span_outputs")),
        ("peak_live", golden("peak_live") * bytes),
    ] {
        wrong.compare(format!("{field} at {bytes} bytes"), expected, region.number(field));
    }
    for (capacity, reads) in curve(case.golden, "q_reads_deeper_than") {
        let what = format!("deeper than {capacity} elements, at {bytes} bytes");
        wrong.compare(&what, reads * bytes, region.deeper_than(capacity * bytes));
        if let Some(listed) = region.listed().get(&(capacity * bytes)) {
            wrong.compare(what, reads * bytes, Ok(*listed));
        }
    }
}

fn check(case: &Case, language: Language) -> Mismatches {
    let mut wrong = Mismatches::for_case(case.id, language);
    let program = build(language, case.family);
    let costs = curve(case.golden, "cost");
    let widths = match (language, case.number) {
        (Language::C, 0) => &BYTES_PER_ELEMENT[..],
        (Language::C, number) => &BYTES_PER_ELEMENT[number % BYTES_PER_ELEMENT.len()..][..1],
        (Language::Rust, _) => &BYTES_IN_RUST,
    };
    for &bytes in widths {
        check_at(case, &program, bytes, costs[&bytes], &mut wrong);
    }
    let hash = listing(&program, &case.args).map(|listing| listing.hash_of_depths());
    wrong.compare("hash of all depths", text(case.golden, "trace_sha256").to_owned(), hash);
    wrong
}

fn check_mixed(case: &Case, language: Language) -> Mismatches {
    let mut wrong = Mismatches::for_case(case.id, language);
    let report = match report(&build(language, case.family), &case.args, &values(None)) {
        Ok(report) => report,
        Err(problem) => {
            wrong.note(problem);
            return wrong;
        }
    };
    match Region::from_report(&report, case.family) {
        Ok(region) => {
            wrong.compare("cost", number(case.golden, "cost_bytes"), region.number("cost"));
            wrong.compare("reads", number(case.golden, "reads"), region.number("reads"));
            for (capacity, bytes) in curve(case.golden, "q_bytes_deeper_than") {
                wrong.compare(format!("deeper than {capacity} bytes"), bytes, region.deeper_than(capacity));
            }
        }
        Err(problem) => wrong.note(problem),
    }
    wrong
}

fn check_listing(case: &Case, expected: &Value, language: Language) -> Mismatches {
    let mut wrong = Mismatches::for_case(case.id, language);
    let found = match listing(&build(language, case.family), &case.args) {
        Ok(found) => found,
        Err(problem) => {
            wrong.note(problem);
            return wrong;
        }
    };
    let expected: Vec<&str> = expected.as_array().expect("lines").iter().filter_map(Value::as_str).collect();
    for at in 0..expected.len().max(found.lines.len()) {
        let line = found.lines.get(at).cloned().ok_or_else(|| "the listing ends before".to_owned());
        match expected.get(at) {
            Some(&right) => wrong.compare(format!("line {}", at + 1), right.to_owned(), line),
            None => wrong.note(format!("line {}: one too many, {}", at + 1, line.unwrap_or_default())),
        }
    }
    let cost = curve(case.golden, "cost")[&1];
    wrong.compare("the last line", cost, found.total.ok_or_else(|| "there is no total".to_owned()));
    wrong
}

/// One test at a time keeps the machine busy: each has its own workers.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks all jobs and fails with everything that differs.
fn check_all<J: Sync>(jobs: &[J], check: impl Fn(&J) -> Mismatches + Sync) {
    let _turn = turn();
    assert!(!jobs.is_empty(), "nothing to check");
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { return };
                    let lines = check(job).lines;
                    found.lock().expect("no worker panics here").insert(at, lines);
                }
            });
        }
    });
    let found = found.into_inner().expect("no worker panicked");
    let wrong = found.values().filter(|lines| !lines.is_empty()).count();
    let lines: Vec<String> = found.into_values().flatten().collect();
    assert!(
        lines.is_empty(),
        "{} numbers differ in {wrong} of {} cases:\n{}",
        lines.len(),
        jobs.len(),
        lines.join("\n")
    );
}

#[test]
fn every_family_has_a_kernel_in_both_languages() {
    let families = goldens()["families"].as_object().expect("families").keys().cloned();
    let expected: BTreeSet<String> = families.chain(Case::mixed().iter().map(|case| case.family.to_owned())).collect();
    for case in Case::all() {
        assert!(expected.contains(case.family), "{} is of no family", case.id);
    }
    for language in Language::ALL {
        let found = language.families();
        let missing: Vec<_> = expected.difference(&found).collect();
        let unknown: Vec<_> = found.difference(&expected).collect();
        assert!(missing.is_empty(), "no kernel in {} for {missing:?}", language.name());
        assert!(unknown.is_empty(), "kernels in {} of no family: {unknown:?}", language.name());
    }
}

#[test]
fn reference_costs_in_c() {
    check_all(&Case::all(), |case| check(case, Language::C));
}

#[test]
fn reference_costs_in_rust() {
    let mut cases = Case::all();
    // A family's program is the same for all.
    cases.retain(|case| is_long() || case.number == 0);
    check_all(&cases, |case| check(case, Language::Rust));
}

fn in_both(cases: Vec<Case>) -> Vec<(Case, Language)> {
    cases.into_iter().flat_map(|case| Language::ALL.map(|language| (case.clone(), language))).collect()
}

/// Rooflines of compiled kernels on the toy machine (`dmdprof machine show toy3`): family, parameters, work, traffic
/// beyond its three levels, seconds, what binds, picojoules. Computed from the definitions by a script; elements of 8
/// bytes.
type Roofline = (&'static str, &'static str, u64, [u64; 3], f64, &'static str, f64);
const ROOFLINES: [Roofline; 9] = [
    ("matmul_ijk", "n=16", 7936, [65488, 34560, 33016], 1.6508e-05, "mem->level2", 5335292.8),
    ("matmul_tiled", "n=16 t=4", 7936, [69152, 17976, 9288], 4.644e-06, "mem->level2", 1594414.4),
    ("strassen", "n=16 leaf=4", 8656, [95432, 46520, 15552], 7.776e-06, "mem->level2", 2705034.4),
    ("attn_naive", "N=16 d=2", 3520, [18624, 4832, 2456], 1.76e-06, "compute", 425716.8),
    ("attn_flash", "N=16 d=2 Bk=8", 3216, [17608, 7976, 0], 1.608e-06, "compute", 55908.0),
    ("matvec", "n=16", 496, [4048, 1904, 264], 2.53e-07, "level1->level0", 53468.8),
    ("jacobi1d", "n=32 T=4", 360, [1024, 0, 0], 1.8e-07, "compute", 1761.6),
    ("fft", "n=32", 800, [2560, 296, 0], 4e-07, "compute", 5312.0),
    ("horner", "n=64", 128, [8, 8, 0], 6.4e-08, "compute", 372.0),
];

fn check_roofline(golden: &Roofline, language: Language) -> Mismatches {
    let (family, args, work, traffic, seconds, bound, picojoules) = golden;
    let mut wrong = Mismatches::for_case(&format!("roofline of {family} {args}"), language);
    let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
    let document = match estimate("roofline", &build(language, family), &args, &["--machine", "toy3"]) {
        Ok(document) => document,
        Err(problem) => {
            wrong.note(problem);
            return wrong;
        }
    };
    let row = |sheet: &str, field: &str, value: &str| {
        let sheets = document["sheets"].as_array().into_iter().flatten();
        let mut rows = sheets.filter(|s| s["name"] == sheet).flat_map(|s| s["rows"].as_array().into_iter().flatten());
        rows.find(|row| row["name"] == *family && (field.is_empty() || row[field] == value)).cloned()
    };
    let (Some(row), Some(energy)) = (row("toy3", "kind", "region"), row("toy3.energy", "", "")) else {
        wrong.note("there is no row of the region");
        return wrong;
    };
    let integer = |field: &str| row[field].as_u64().ok_or_else(|| format!("no number {field} in {row}"));
    wrong.compare("work", *work, integer("work"));
    for (level, expected) in traffic.iter().enumerate() {
        wrong.compare(format!("traffic beyond level {level}"), *expected, integer(&format!("traffic.level{level}")));
    }
    wrong.compare("bound", (*bound).to_owned(), Ok(row["bound"].as_str().unwrap_or("none").to_owned()));
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    let found = row["seconds"].as_f64().unwrap_or(f64::NAN);
    if !close(found, *seconds) {
        wrong.note(format!("seconds: expected {seconds}, found {found}"));
    }
    // An operation takes 1 pJ on the machine, and only shares are printed.
    let found = *work as f64 / energy["operations"].as_f64().unwrap_or(f64::NAN);
    if !close(found, *picojoules) {
        wrong.note(format!("picojoules: expected {picojoules}, found {found}"));
    }
    wrong
}

/// One run with elements of 8 bytes, and what `command` estimates from it.
fn estimate(command: &str, program: &Path, args: &[String], options: &[&str]) -> Result<Value, String> {
    let directory = scratch();
    let profile = directory.path().join("profile");
    let run = Run::new(program, directory.path()).profile(profile.clone()).options(values(Some(8))).args(args);
    run_quietly(run.command())?;
    let mut dmdprof = dmdprof();
    dmdprof.arg(command).arg(&profile).args(options).args(["--format", "json"]);
    serde_json::from_slice(&run_quietly(dmdprof)?).map_err(|e| format!("the estimates are not JSON: {e}"))
}

#[test]
fn rooflines_of_compiled_kernels() {
    let jobs: Vec<_> = Language::ALL.into_iter().flat_map(|l| ROOFLINES.iter().map(move |r| (r, l))).collect();
    check_all(&jobs, |(golden, language)| check_roofline(golden, *language));
}

/// Traffic of two products of 16 x 16 matrices at 64 elements of fast memory, as multiples of the least that any order
/// needs (2 n^3 / sqrt(64) elements): 4320 / 1024 and 2247 / 1024.
#[test]
fn products_beside_their_lower_bound() {
    let jobs = [("matmul_ijk", "n=16", 4320.0 / 1024.0), ("matmul_tiled", "n=16 t=4", 2247.0 / 1024.0)];
    check_all(&jobs, |(family, args, expected)| {
        let mut wrong = Mismatches::for_case(&format!("{family} {args}"), Language::C);
        let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
        let tag = format!("{family}=16:8");
        let options = ["--machine", "fermi-c2050", "--assume-capacity", "512 B", "--matmul", &tag];
        match estimate("balance", &build(Language::C, family), &args, &options) {
            Ok(document) => {
                let sheets = document["sheets"].as_array().into_iter().flatten();
                let mut rows = sheets.filter(|s| s["name"] == "fermi-c2050.matmul").flat_map(|s| s["rows"].as_array());
                let times = rows.next().and_then(|rows| rows[0]["times_optimum"].as_f64());
                if times.is_none_or(|times| (times / expected - 1.0).abs() > 1e-12) {
                    wrong.note(format!("expected {expected} times the optimum, found {times:?}"));
                }
            }
            Err(problem) => wrong.note(problem),
        }
        wrong
    });
}

#[test]
fn mixed_widths() {
    check_all(&in_both(Case::mixed()), |(case, language)| check_mixed(case, *language));
}

#[test]
fn listings() {
    let listings = goldens()["event_listings"].as_object().expect("listings");
    let cases: Vec<Case> = Case::all().into_iter().filter(|case| listings.contains_key(case.id)).collect();
    assert_eq!(cases.len(), listings.len(), "a listing is of no case");
    check_all(&in_both(cases), |(case, language)| check_listing(case, &listings[case.id], *language));
}

/// Exclusive reads, and cost at 1 and at 4 bytes per element, of the functions of microgpt with E = 4 and two heads.
const MICROGPT: [(&str, u64, u64, u64); 6] = [
    ("embed", 8, 20, 151),
    ("rmsnorm", 75, 159, 1100),
    ("linear", 792, 2847, 21147),
    ("scores", 16, 36, 257),
    ("residual", 16, 40, 302),
    ("relu", 48, 112, 816),
];

fn check_functions(language: Language) -> Mismatches {
    let mut wrong = Mismatches::for_case("microgpt/E=4,heads=2", language);
    let program = build(language, "microgpt");
    let args = ["E=4".to_owned(), "heads=2".to_owned()];
    for (bytes, cost) in [(1, 2), (4, 3)] {
        let report = match report(&program, &args, &values(Some(bytes))) {
            Ok(report) => report,
            Err(problem) => {
                wrong.note(problem);
                continue;
            }
        };
        for row in MICROGPT {
            let (function, reads) = (row.0, row.1);
            let expected = if cost == 2 { row.2 } else { row.3 };
            let is = |name: &str| name == function || name.strip_prefix("microgpt::") == Some(function);
            let rows = report["functions"].as_array().into_iter().flatten();
            let found = rows.filter(|row| row["name"].as_str().is_some_and(is)).collect::<Vec<_>>();
            let [found] = found[..] else {
                wrong.note(format!("{} functions {function} in the report", found.len()));
                continue;
            };
            let exclusive =
                |field: &str| found["exclusive"][field].as_u64().ok_or_else(|| format!("no exclusive `{field}`"));
            wrong.compare(format!("cost of {function} at {bytes} bytes"), expected, exclusive("cost"));
            wrong.compare(format!("bytes read by {function} at {bytes} bytes"), reads * bytes, exclusive("read"));
        }
    }
    wrong
}

#[test]
fn costs_of_functions() {
    let case = Case::all().into_iter().find(|case| case.id == "microgpt/E=4,heads=2").expect("the case");
    let sum = |column: fn(&(&str, u64, u64, u64)) -> u64| MICROGPT.iter().map(column).sum::<u64>();
    assert_eq!(sum(|row| row.1), number(case.golden, "reads"));
    assert_eq!(sum(|row| row.2), curve(case.golden, "cost")[&1]);
    assert_eq!(sum(|row| row.3), curve(case.golden, "cost")[&4]);
    check_all(&Language::ALL, |language| check_functions(*language));
}

/// The second form of the published machine, by an independent program of its rules: inputs lie at depths of their own
/// until their first read, and outputs are read once at the end. (family, n, bytes per value, cost)
const FIXED_INPUTS: [(&str, u64, u64, u64); 28] = [
    ("matvec", 2, 1, 26),
    ("matvec", 3, 1, 71),
    ("matvec", 4, 1, 147),
    ("matvec", 5, 1, 253),
    ("matvec", 6, 1, 394),
    ("matvec", 7, 1, 574),
    ("matvec", 8, 1, 839),
    ("matvec", 8, 2, 2_305),
    ("matvec", 8, 4, 6_234),
    ("matvec", 8, 8, 17_035),
    ("vecmat", 2, 1, 26),
    ("vecmat", 8, 1, 839),
    ("vecmat", 8, 8, 17_035),
    ("matmul_ijk", 2, 1, 60),
    ("matmul_ijk", 4, 1, 721),
    ("matmul_ijk", 4, 2, 2_027),
    ("matmul_ijk", 4, 4, 5_440),
    ("matmul_ijk", 4, 8, 15_148),
    ("matmul_ijk", 8, 1, 8_794),
    ("matmul_ijk", 8, 8, 189_572),
    ("matmul_ijk", 16, 1, 109_218),
    ("matmul_ijk", 16, 8, 2_468_762),
    ("matmul_ikj", 4, 1, 732),
    ("matmul_ikj", 4, 8, 14_958),
    ("matmul_ikj", 8, 1, 8_845),
    ("matmul_ikj", 8, 8, 187_274),
    ("matmul_ikj", 16, 1, 109_346),
    ("matmul_ikj", 16, 8, 2_447_526),
];

#[test]
fn inputs_at_places_of_their_own() {
    let families: BTreeSet<&str> = FIXED_INPUTS.iter().map(|(family, ..)| *family).collect();
    let fixed = |bytes| [values(Some(bytes)), ["--inputs", "fixed"].map(str::to_owned).to_vec()].concat();
    let work: Vec<_> =
        families.into_iter().flat_map(|family| Language::ALL.map(|language| (language, family))).collect();
    check_all(&work, |&(language, family)| {
        let mut wrong = Mismatches::for_case(family, language);
        let program = build(language, family);
        for (_, n, bytes, expected) in FIXED_INPUTS.iter().filter(|(of, ..)| *of == family) {
            let report = report(&program, &[format!("n={n}")], &fixed(*bytes));
            let cost = report.and_then(|report| {
                assert_eq!(report["model"]["name"], "values with fixed inputs");
                Region::from_report(&report, family)?.number("cost")
            });
            wrong.compare(format!("cost at n = {n}, {bytes} bytes"), *expected, cost);
        }
        wrong
    });
    let products = build_c(in_tests("values/products.c"), "kernel", &["--dmdprof-model=values"], &[]);
    for (bytes, expected) in [(1, 15), (8, 277)] {
        let report = report(&products, &[], &fixed(bytes)).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(Region::from_report(&report, "products").and_then(|region| region.number("cost")), Ok(expected));
    }
}

/// The lines ` * cost NAME: NUMBER` or ` * cost NAME NUMBER` of the comment that opens a source.
fn stated(source: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
    let header = text.lines().take_while(|line| !line.starts_with('#'));
    let lines = header.filter_map(|line| line.trim_start_matches([' ', '*']).strip_prefix("cost "));
    let costs: Vec<(String, u64)> = lines
        .map(|line| {
            let (name, cost) = line.rsplit_once(' ').expect("a name and a cost");
            (name.trim_end_matches(':').to_owned(), cost.parse().expect("a cost"))
        })
        .collect();
    assert!(!costs.is_empty(), "no cost in the header of {}", source.display());
    costs
}

/// The example with the published kernels.
fn example() -> PathBuf {
    repository().join("examples/bytedmd.c")
}

#[test]
fn the_example_states_the_published_costs() {
    let published = &goldens()["published_values"];
    for (name, cost) in stated(&example()) {
        let expected = match name.split_once(" n=") {
            Some((kernel @ ("matvec" | "vecmat"), n)) => &published[kernel][n],
            Some(("matmul", n)) => &published["matmul_ijk"][n],
            Some((kernel, n)) => &published[format!("{kernel}_n{n}")],
            None => &published[name.split(' ').next().expect("a word")],
        };
        assert_eq!(expected.as_u64(), Some(cost), "{name}");
    }
}

/// The region table of the example shows the costs of its header, and nothing else.
#[test]
fn the_example_shows_what_it_states() {
    let _turn = turn();
    let report = report(&example(), &[], &values(Some(1))).unwrap_or_else(|problem| panic!("{problem}"));
    let regions = report["regions"].as_array().expect("a table of regions");
    let row = |region: &Value| (text(region, "name").to_owned(), number(region, "cost"));
    let found: BTreeSet<(String, u64)> = regions.iter().map(row).collect();
    assert_eq!(found, stated(&example()).into_iter().collect());
    assert_eq!(found.len(), regions.len(), "a region appears twice");
}

/// Where the machine of values and the machine of memory must agree, they do, and where they must differ, by as much.
#[test]
fn agreement_with_the_memory_machine() {
    let sources = std::fs::read_dir(in_tests("kernels/agree")).expect("a folder of kernels");
    let mut sources: Vec<PathBuf> = sources.map(|entry| entry.expect("an entry").path()).collect();
    sources.retain(|path| path.extension().is_some_and(|e| e == "c"));
    sources.sort();
    check_all(&sources, |source| {
        let name = source.file_stem().expect("a file").to_str().expect("a plain name");
        let mut wrong = Mismatches::for_case(name, Language::C);
        let stated: BTreeMap<String, u64> = stated(source).into_iter().collect();
        let program = build_c(source.clone(), "agree-values", &["--dmdprof-model=values"], &[]);
        let cost =
            report(&program, &[], &values(None)).and_then(|report| Region::from_report(&report, name)?.number("cost"));
        wrong.compare("cost in the machine of values", stated["values"], cost);

        let flags = ["-O1", "-fno-vectorize", "-fno-slp-vectorize"];
        let program = build_c(source.clone(), "agree-memory", &[], &flags);
        let exact = ["--liveness", "exact", "--roi", name].map(str::to_owned);
        let cost = report(&program, &[], &exact)
            .and_then(|report| report["totals"]["cost"].as_u64().ok_or_else(|| "no total cost".to_owned()));
        wrong.compare("cost in the machine of memory", stated["memory"], cost);
        wrong
    });
}

/// The programs of a family compute the same, bit by bit.
#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn both_languages_compute_the_same() {
    let markers = scratch();
    let rustc = require("rustc".as_ref(), "install Rust (rustup.rs)");
    let rust = || {
        let mut command = Command::new(&rustc);
        command.args(["--edition", "2024", "-Ccodegen-units=1", "--out-dir"]).arg(markers.path());
        command
    };
    let library = repository().join("runtime/markers/src/lib.rs");
    let cfg = "--check-cfg=cfg(dmdprof)";
    succeed(rust().args(["--crate-type=rlib", "--crate-name=dmdprof_markers", cfg]).arg(library));
    let families: BTreeSet<&str> = Case::all().iter().chain(&Case::mixed()).map(|case| case.family).collect();
    check_all(&families.into_iter().collect::<Vec<_>>(), |&family| {
        let mut wrong = Mismatches::for_case(family, Language::Rust);
        let mut compile = rust();
        compile.args(["--extern", "dmdprof_markers", "-L"]).arg(markers.path()).arg(Language::Rust.source(family));
        if let Err(problem) = run_quietly(compile) {
            wrong.note(problem);
            return wrong;
        }
        let mut program = Program::from_source(Language::C.source(family));
        program.name = format!("kernel-{family}");
        program.flags = vec!["-ffp-contract=off".into()];
        program.libraries = vec!["-lm".into()];
        let programs = [program.build(&Compiler::native()), markers.path().join(family)];
        for case in Case::all().iter().chain(&Case::mixed()).filter(|case| case.family == family) {
            let results = programs.each_ref().map(|program| {
                let mut command = Command::new(program);
                command.args(&case.args).arg("print");
                run_quietly(command).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            });
            match results {
                [Ok(c), rust] if !c.is_empty() => wrong.compare(format!("results of {}", case.id), c, rust),
                [c, _] => wrong.note(format!("{}: C printed {c:?}", case.id)),
            }
        }
        wrong
    });
}

/// The comparison can fail: other numbers, other regions, and a report that lacks something.
#[test]
fn wrong_reports_are_noticed() {
    let report = serde_json::json!({ "regions": [
        { "name": "a", "cost": 5, "histogram": [[1, 1, 2], [2, 2, 3], [9, 12, 4]] },
        { "name": "b" }, { "name": "b" },
    ] });
    let region = Region::from_report(&report, "a").expect("the region");
    assert_eq!(region.number("cost"), Ok(5));
    assert!(region.number("reads").is_err());
    let curve: Vec<_> = [0, 1, 2, 3, 8, 12, 20].iter().map(|&z| region.deeper_than(z)).collect();
    assert_eq!(curve, [9, 7, 4, 4, 4, 0, 0].map(Ok));
    assert!(region.deeper_than(9).is_err(), "a bucket that spans the capacity tells nothing");
    for (name, problem) in [("b", "several"), ("c", "no region")] {
        assert!(Region::from_report(&report, name).expect_err(name).contains(problem));
    }
    assert!(Region::from_report(&Value::Null, "a").is_err());

    let mut wrong = Mismatches::for_case("case", Language::C);
    wrong.compare("cost", 5, region.number("cost"));
    assert!(wrong.lines.is_empty());
    wrong.compare("cost", 6, region.number("cost"));
    wrong.compare("reads", 6, region.number("reads"));
    let right =
        ["case, C, cost: expected 6, found 5", "case, C, reads: expected 6, but the region has no number `reads`"];
    assert_eq!(wrong.lines, right);
}

/// The published listing of my_add hashes to the published hash.
#[test]
fn hashes_of_listings() {
    for case in Case::all() {
        let Some(lines) = goldens()["event_listings"][case.id].as_array() else { continue };
        let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
        let listing = Listing::parse(&format!("{}\ntotal 6\n", lines.join("\n")));
        assert_eq!(listing.total, Some(6));
        assert_eq!(listing.lines, lines);
        assert_eq!(listing.hash_of_depths(), text(case.golden, "trace_sha256"), "{}", case.id);
    }
}
