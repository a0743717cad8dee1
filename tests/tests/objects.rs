//! Data objects: which data the bytes belong to, on programs whose answers follow from their sources and on real ones;
//! why reads are expensive, on kernels with a known flaw; sources with costs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dmdprof_tests::profiled::{Profiled, Run};
use dmdprof_tests::programs::{Compiler, Program, case, short_lua, sqlite, zlib};
use dmdprof_tests::tool::{cases, describe, dmdprof, in_tests, repository, scratch, succeed};
use serde_json::Value;

fn measured(program: &Path, directory: &Path, args: &[String], options: &[&str]) -> Profiled {
    let profiled = Run::new(program, directory).options(options).args(args).go();
    assert!(profiled.output.status.success(), "{}", describe(&profiled.output));
    profiled.report.assert_consistent();
    profiled
}

/// What a command says about a profile, as JSON.
fn said(words: &[&str], profile: &Path) -> Value {
    let mut command = dmdprof();
    command.args(words).args(["--format", "json"]);
    let mut command = with_profile(command, words[0], profile);
    let output = succeed(&mut command);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("not JSON: {e}\n{}", describe(&output)))
}

fn with_profile(mut command: std::process::Command, name: &str, profile: &Path) -> std::process::Command {
    if matches!(name, "why" | "annotate") {
        command.arg("--profile");
    }
    command.arg(profile);
    command
}

fn rows<'a>(document: &'a Value, sheet: &str) -> &'a [Value] {
    let sheets = document["sheets"].as_array().expect("sheets");
    let sheet = sheets.iter().find(|s| s["name"] == sheet).unwrap_or_else(|| panic!("no sheet {sheet}"));
    sheet["rows"].as_array().expect("rows")
}

fn number(row: &Value, field: &str) -> u64 {
    row[field].as_u64().unwrap_or_else(|| panic!("no {field} in {row}"))
}

/// Bytes read of each object, by kind and the first word of its name.
fn reads(document: &Value) -> BTreeMap<(String, String), u64> {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let name = |row: &Value| text(row, "object").split(' ').next().unwrap_or_default().to_owned();
    let objects = rows(document, "objects").iter().filter(|row| row["object"] != "total");
    objects.map(|row| ((text(row, "kind"), name(row)), number(row, "read"))).collect()
}

#[test]
fn every_byte_is_of_its_block_variable_or_file() {
    let program = case("objects").build(&Compiler::dmdprof());
    let directory = scratch();
    let file = directory.path().join("numbers");
    fs::write(&file, [1; 4096]).expect("writable");
    let args = [file.to_str().expect("text").to_owned()];
    let run = measured(&program, directory.path(), &args, &["--objects"]);
    assert!(run.output.stdout.starts_with(b"again"), "the allocator reused the address, else the test shows nothing");
    let found = reads(&said(&["report", "--objects"], &run.profile));
    let of = |kind: &str, name: &str| found.get(&(kind.into(), name.into())).copied();
    assert_eq!(of("heap", "first"), Some(1600), "{found:?}");
    assert_eq!(of("heap", "second"), Some(1600), "the same address, another block: {found:?}");
    assert_eq!(of("heap", "grown"), Some(40_000), "realloc keeps it: {found:?}");
    assert_eq!(of("static", "global"), Some(800), "{found:?}");
    assert_eq!(of("stack", "local"), Some(240), "{found:?}");
    assert_eq!(of("mapped", &args[0]), Some(4096), "{found:?}");
    assert_eq!(of("mapped", "main"), Some(8192), "{found:?}");
}

#[test]
fn objects_add_up_function_by_function_and_change_no_number() {
    let rust = rust_program();
    let recipes = cases([zlib().args(["4000"]), short_lua(), sqlite().args(["1000"])], 1);
    let programs = recipes.into_iter().map(|recipe| (recipe.build(&Compiler::dmdprof()), recipe.args));
    for (program, args) in programs.chain([(rust.1, Vec::new())]) {
        let directory = scratch();
        let plain = measured(&program, directory.path(), &args, &[]);
        let directory = scratch();
        let run = measured(&program, directory.path(), &args, &["--objects"]);
        assert_eq!(run.report.0["functions"], plain.report.0["functions"], "{}", program.display());
        let document = said(&["report", "--objects", "--no-inline"], &run.profile);
        let mut by_function: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for row in rows(&document, "uses").iter().filter(|row| row["function"] != "total") {
            let sums = by_function.entry(row["function"].as_str().expect("a name")).or_default();
            *sums = (sums.0 + number(row, "cost"), sums.1 + number(row, "read"), sums.2 + number(row, "written"));
        }
        let mut expected: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for function in plain.report.functions() {
            let value = |field: &str| function["exclusive"][field].as_u64().expect("a number");
            let sums = expected.entry(function["name"].as_str().expect("a name")).or_default();
            *sums = (sums.0 + value("cost"), sums.1 + value("read"), sums.2 + value("written"));
        }
        expected.retain(|_, sums| *sums != (0, 0, 0));
        assert_eq!(by_function, expected, "{}", program.display());
        let objects = rows(&document, "objects");
        let sum: u64 = objects.iter().filter(|r| r["object"] != "total").map(|r| number(r, "cost")).sum();
        assert_eq!(sum, plain.report.total("cost"));
        let unknown = objects.iter().find(|row| row["kind"] == "unknown").map_or(0, |row| number(row, "read"));
        assert!(unknown * 50 < plain.report.total("read"), "{unknown} bytes of {} have no object", program.display());
    }
}

/// `examples/matmul.rs`, built; it lives as long as the directory.
fn rust_program() -> (tempfile::TempDir, PathBuf) {
    let directory = scratch();
    let program = directory.path().join("matmul");
    succeed(dmdprof().args(["build", "-o"]).arg(&program).arg(repository().join("examples/matmul.rs")));
    (directory, program)
}

/// The line of an annotated source that has a cost.
fn hot_line(text: &str) -> &str {
    text.lines().find(|line| line.contains(" | ")).expect("a line")
}

/// Lines of a source with `// flaw: CURE`.
fn flaws(source: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(source).expect("a source");
    let name = source.file_name().and_then(|name| name.to_str()).expect("a name");
    let cure = |(number, line): (usize, &str)| {
        let cure = line.split_once("// flaw: ")?.1;
        Some((format!("{name}:{}", number + 1), cure.to_owned()))
    };
    text.lines().enumerate().filter_map(cure).collect()
}

/// The line of a source that ends in these words, if there is one.
fn line_with(source: &Path, end: &str) -> Option<String> {
    let text = fs::read_to_string(source).expect("a source");
    let name = source.file_name().and_then(|name| name.to_str()).expect("a name");
    let number = text.lines().position(|line| line.ends_with(end))?;
    Some(format!("{name}:{}", number + 1))
}

#[test]
fn why_names_the_flaw_and_the_right_cure_first() {
    let mut wrong = Vec::new();
    for kernel in ["column_walk", "one_field", "unfused", "matmul", "copy", "list"] {
        let source = in_tests("programs/flaws").join(format!("{kernel}.c"));
        let flaws = flaws(&source);
        let enclosing = line_with(&source, "// loop");
        let mut recipe = Program::from_source(source);
        recipe.flags = vec!["-fno-vectorize".into(), "-fno-slp-vectorize".into()];
        let directory = scratch();
        let program = recipe.build(&Compiler::dmdprof());
        let run = measured(&program, directory.path(), &[], &["--flows", "--objects"]);
        let document = said(&["why"], &run.profile);
        let first = &rows(&document, "pairs")[0];
        let line = first["line"].as_str().expect("a line").rsplit('/').next().expect("a name").to_owned();
        let cure = first["cures"].as_str().expect("cures").split(", ").next().expect("a cure").to_owned();
        if flaws.get(&line) != Some(&cure) {
            wrong.push(format!("{kernel}: {flaws:?}, but why says {cure} at {line}: {first}"));
        }
        let around = first["loop"].as_str().map(|place| place.rsplit('/').next().expect("a name").to_owned());
        if around != enclosing {
            wrong.push(format!("{kernel}: {enclosing:?}, but why says both ends are in {around:?}: {first}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_was_moved_for_nothing() {
    let directory = scratch();
    let source = in_tests("programs/flaws/copy.c");
    let program = Program::from_source(source).build(&Compiler::dmdprof());
    let run = measured(&program, directory.path(), &[], &["--flows", "--objects"]);
    let document = said(&["waste"], &run.profile);
    let copies = rows(&document, "copies");
    assert_eq!(number(&copies[0], "copied"), 3 * 800_000);
    assert_eq!(number(&copies[0], "source_dead"), 800_000, "the last of three copies is the last reader");

    let directory = scratch();
    let program = Program::from_source(in_tests("programs/bench/stencil.c")).build(&Compiler::dmdprof());
    let args = ["64".to_owned(), "3".to_owned()];
    let exact = measured(&program, directory.path(), &args, &["--liveness", "exact"]);
    let unread: u64 =
        exact.report.functions().iter().map(|f| f["exclusive"]["dead"]["unread"].as_u64().unwrap_or(0)).sum();
    let run = measured(&program, directory.path(), &args, &["--flows", "--objects"]);
    let total = rows(&said(&["waste"], &run.profile), "objects").last().cloned().expect("a total");
    assert_eq!(number(&total, "never_read"), unread, "the same as the sweep back says");
}

#[test]
fn sources_stand_beside_their_costs() {
    let directory = scratch();
    let source = directory.path().join("kernel.c");
    fs::copy(in_tests("programs/flaws/unfused.c"), &source).expect("copied");
    let program = Program::from_source(source.clone()).build(&Compiler::dmdprof());
    let run = measured(&program, directory.path(), &[], &[]);
    let annotate = |more: &[&str]| {
        let mut command = dmdprof();
        command.arg("annotate").args(more).arg("--profile").arg(&run.profile).current_dir(directory.path());
        String::from_utf8(succeed(&mut command).stdout).expect("text")
    };
    let text = annotate(&["kernel.c", "--context", "0"]);
    let hot: Vec<&str> = text.lines().filter(|line| line.contains(" | ")).collect();
    assert_eq!(hot.len(), 1, "{text}");
    assert!(hot[0].contains("1.53 MiB") && hot[0].contains("flaw: fuse"), "{text}");
    let same = text;
    fs::write(&source, "// changed\n").expect("writable");
    let changed = annotate(&[]);
    assert!(changed.contains("kernel.c") && changed.contains("CHANGED since the profile was made"), "{changed}");
    fs::remove_file(&source).expect("there");
    let missing = annotate(&[]);
    assert!(missing.contains("Sources that are not here") && missing.contains("kernel.c"), "{missing}");
    // On another machine: the profile alone, then with the source in another place.
    let elsewhere = scratch();
    let profile = elsewhere.path().join("carried.data");
    fs::rename(&run.profile, &profile).expect("same file system");
    let there = || {
        let mut command = dmdprof();
        command.args(["annotate", "kernel.c", "--context", "0", "--source-dir", "src", "--profile"]).arg(&profile);
        String::from_utf8(succeed(command.current_dir(elsewhere.path())).stdout).expect("text")
    };
    assert!(there().contains("Sources that are not here"), "{}", there());
    fs::create_dir(elsewhere.path().join("src")).expect("writable");
    fs::copy(in_tests("programs/flaws/unfused.c"), elsewhere.path().join("src/kernel.c")).expect("copied");
    assert!(there().contains(hot_line(&same)) && !there().contains("CHANGED"), "{}", there());
}

/// Bytes read of each field of heap blocks, by type and field.
fn fields(document: &Value) -> BTreeMap<(String, String), u64> {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in rows(document, "fields").iter().filter(|row| row["kind"] == "heap") {
        *found.entry((text(row, "type"), text(row, "field"))).or_default() += number(row, "read");
    }
    found
}

#[test]
fn fields_of_structures_are_told_apart_and_add_up() {
    const N: u64 = 20_000;
    for (file, name) in [("one_field.c", "particle"), ("one_field.rs", "Particle")] {
        let directory = scratch();
        let program = directory.path().join("one_field");
        let source = in_tests("programs/flaws").join(file);
        succeed(dmdprof().args(["build", "-O2", "-o"]).arg(&program).arg(source));
        let run = measured(&program, directory.path(), &[], &["--flows", "--objects"]);
        let document = said(&["report", "--objects", "--fields"], &run.profile);
        let found = fields(&document);
        let of = |field: &str| found.get(&(name.to_owned(), field.to_owned())).copied().unwrap_or_default();
        assert_eq!(of("mass") / 100, 10 * N * 8 / 100, "{file}: {found:?}");
        assert_eq!(of("charge"), if file.ends_with(".c") { N * 8 } else { 8 }, "{file}: {found:?}");
        let sum = |sheet: &str| -> BTreeMap<String, (u64, u64, u64)> {
            let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
            for row in rows(&document, sheet).iter().filter(|row| row["object"].is_string()) {
                let object = row["object"].as_str().expect("a name");
                if object == "total" {
                    continue;
                }
                let of_object = sums.entry(format!("{} {object}", row["kind"])).or_default();
                let more = (number(row, "cost"), number(row, "read"), number(row, "written"));
                *of_object = (of_object.0 + more.0, of_object.1 + more.1, of_object.2 + more.2);
            }
            sums
        };
        assert_eq!(sum("fields"), sum("objects"), "{file}");
        let first = rows(&said(&["why"], &run.profile), "pairs")[0].clone();
        assert!(first["cures"].as_str().is_some_and(|cures| cures.starts_with("pack")), "{file}: {first}");
        let mut why = dmdprof();
        why.args(["why", "--full-names", "--top", "1", "--profile"]).arg(&run.profile);
        let text = String::from_utf8(succeed(&mut why).stdout).expect("text");
        assert!(text.contains(&format!("of {name} (64 bytes) it reads mass, but not ")), "{file}: {text}");
    }
}

/// A column that fits is walked all the same; what is read back to front is not fused; two blocks of one line are two
/// objects.
#[test]
fn cures_are_of_the_source_and_possible() {
    let directory = scratch();
    let source = directory.path().join("cures.c");
    fs::write(&source, CURES).expect("writable");
    let program = Program::from_source(source).build(&Compiler::dmdprof());
    let run = measured(&program, directory.path(), &[], &["--flows", "--objects"]);
    let document = said(&["why"], &run.profile);
    let pairs = rows(&document, "pairs");
    let cures = |object: &str| -> Vec<&str> {
        let of = |row: &&Value| row["object"].as_str().is_some_and(|name| name.ends_with(object));
        let row = pairs.iter().find(of).unwrap_or_else(|| panic!("no pair of {object}: {document:#}"));
        row["cures"].as_str().expect("cures").split(", ").collect()
    };
    let product = cures("static b");
    assert_eq!(product, ["interchange"], "one cure: the order of the loops");
    let reversed = cures("static back");
    assert!(!reversed.contains(&"fuse"), "{reversed:?}");
    let blocks: Vec<&str> = pairs.iter().filter_map(|row| row["object"].as_str()).collect();
    let of_line = |column: &str| blocks.iter().any(|name| name.ends_with(&format!("cures.c:19:{column}")));
    assert!(of_line("17") && of_line("40"), "{blocks:?}");
    let mut why = dmdprof();
    why.args(["why", "--full-names", "--top", "1", "--profile"]).arg(&run.profile);
    let text = String::from_utf8(succeed(&mut why).stdout).expect("text");
    assert!(text.contains("the inner loop steps 1,024 bytes"), "the step as it is written: {text}");
    let mut why = dmdprof();
    why.args(["why", "--full-names", "--top", "50", "--profile"]).arg(&run.profile).current_dir(directory.path());
    let text = String::from_utf8(succeed(&mut why).stdout).expect("text");
    for name in ["p (heap main at cures.c:19:17)", "q (heap main at cures.c:19:40)"] {
        assert!(text.contains(name), "blocks are named by the variables they go to: {text}");
    }
}

/// Line 19 allocates twice.
const CURES: &str = "\
#include <stdio.h>
#include <stdlib.h>
enum { N = 128, M = 1 << 14 };
static double a[N][N], b[N][N], c[N][N];
static int back[M], out[M];
__attribute__((noinline)) static void multiply(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < N; k++)
                s += a[i][k] *
                    b[k][j];
            c[i][j] = s;
        }
}
__attribute__((noinline)) static void fill(void) { for (int i = 0; i < M; i++) back[i] = i * 3; }
__attribute__((noinline)) static void turn(void) { for (int i = 0; i < M; i++) out[i] = back[M - 1 - i] + 1; }
int main(void) {
    double *p = malloc(sizeof c), *q = malloc(sizeof c);
    for (int i = 0; i < N * N; i++) a[0][i] = i % 3, b[0][i] = i % 5, p[i] = i, q[i] = 2 * i;
    fill(), turn(), multiply();
    double s = out[5];
    for (int i = 0; i < N * N; i++) s += p[i] * c[0][i];
    for (int i = 0; i < N * N; i++) s -= q[i];
    printf(\"%.0f\\n\", s);
    return 0;
}
";

/// Each kind of flaw of `tests/programs/flaws/advice.c` has the cure that its comment names; paragraphs are short.
#[test]
fn cures_are_ranked_by_what_they_save() {
    let source = in_tests("programs/flaws/advice.c");
    let flaws = flaws(&source);
    let enclosing = line_with(&source, "// loop").expect("a loop");
    let directory = scratch();
    let program = Program::from_source(source.clone()).build(&Compiler::dmdprof());
    let run = measured(&program, directory.path(), &[], &["--flows", "--objects", "--line-size", "64"]);
    let document = said(&["why"], &run.profile);
    let pairs = rows(&document, "pairs");
    let name = |place: &Value| place.as_str().map(|place| place.rsplit('/').next().expect("a name").to_owned());
    let cures = |line: &str| -> Vec<&str> {
        let row = pairs.iter().find(|row| name(&row["line"]).as_deref() == Some(line));
        let row = row.unwrap_or_else(|| panic!("no pair at {line}: {document:#}"));
        row["cures"].as_str().expect("cures").split(", ").collect()
    };
    for (line, cure) in &flaws {
        let found = cures(line);
        match cure.strip_prefix("not ") {
            Some(cure) => assert!(!found.contains(&cure), "{line}: {found:?}"),
            None => assert_eq!(found.first(), Some(&cure.as_str()), "{line}: {found:?}"),
        }
    }
    // A sweep that is called in a loop meets its bytes again in that loop.
    let sweep = pairs.iter().find(|row| row["function"] == "step" && row["touch"] == "write").expect("a sweep");
    assert_eq!(name(&sweep["loop"]), Some(enclosing));

    let mut why = dmdprof();
    why.args(["why", "--top", "50", "--profile"]).arg(&run.profile).current_dir(source.parent().expect("a directory"));
    let text = String::from_utf8(succeed(&mut why).stdout).expect("text");
    let (table, paragraphs) = text.split_once("\n1. ").expect("paragraphs");
    assert!(
        !text.contains(source.to_str().expect("a path")) && table.contains(" advice.c:"),
        "paths are relative: {text}"
    );
    for line in paragraphs.lines() {
        assert!(
            line.matches("advice.c").count() <= 2,
            "a file once per sentence, and once in an object's name: {line}"
        );
    }
    let is_first = |line: &str| {
        line.split_once(". ")
            .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
    };
    let shown = 1 + paragraphs.lines().filter(|line| is_first(line)).count();
    let worth = pairs.iter().filter(|row| row["share"].as_f64() >= Some(0.01)).count();
    assert_eq!(shown, worth, "a paragraph for a hundredth and more: {text}");
}

/// Code without a line, as optimisers make it from several, counts for the loop that it is in.
#[test]
fn loads_without_a_line_are_of_their_loop() {
    const SOURCE: &str = "\
#include <stdio.h>
enum { N = 1 << 14 };
static int a[N];
__attribute__((noinline)) static void fill(void) { for (int i = 0; i < N; i++) a[i] = i; }
__attribute__((noinline)) static int add(void) {
    int sum = 0;
    for (int i = 0; i < N; i++)
        sum ^=
            a[i];
    return sum;
}
int main(void) {
    fill();
    printf(\"%d\\n\", add());
    return 0;
}
";
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("zero.c"), SOURCE).expect("writable");
    let mut clang = std::process::Command::new("clang");
    clang.args(["-S", "-emit-llvm", "-g", "-O1", "-o"]).args([path("zero.ll"), path("zero.c")]);
    succeed(&mut clang);
    let text = fs::read_to_string(path("zero.ll")).expect("readable");
    assert!(text.contains("!DILocation(line: 9,"), "the load is at line 9");
    fs::write(path("zero.ll"), text.replace("!DILocation(line: 9,", "!DILocation(line: 0,")).expect("writable");
    let mut run = dmdprof();
    run.args(["run", "--quiet", "--flows", "--objects", "zero.ll"]).current_dir(directory.path());
    succeed(&mut run);
    let document = said(&["why"], &path("dmdprof.data"));
    let first = &rows(&document, "pairs")[0];
    assert!(first["line"].as_str().is_some_and(|line| line.ends_with("zero.c:7")), "{first}");
}

/// Stores past the caches: where lines are written whole, and read only after they have left a last level.
#[test]
fn stores_that_fetch_in_vain_are_to_be_streamed() {
    let source = in_tests("programs/flaws/stream.c");
    let flaws = flaws(&source);
    let directory = scratch();
    let program = Program::from_source(source).build(&Compiler::dmdprof());
    let cures = |options: &[&str]| {
        let run = measured(&program, directory.path(), &[], options);
        let first = rows(&said(&["why"], &run.profile), "pairs")[0].clone();
        let line = first["line"].as_str().expect("a line").rsplit('/').next().expect("a name").to_owned();
        (line, first["cures"].as_str().expect("cures").to_owned())
    };
    let (line, with_lines) = cures(&["--flows", "--objects", "--line-size", "64"]);
    assert!(flaws.contains_key(&line) && with_lines.contains(&flaws[&line]), "{line}: {with_lines}");
    let (_, without) = cures(&["--flows", "--objects"]);
    assert!(!without.contains("stream"), "stores were not measured: {without}");
}

#[test]
fn both_ends_of_a_reuse_have_their_contexts() {
    let directory = scratch();
    let source = directory.path().join("ends.c");
    fs::write(&source, ENDS).expect("writable");
    let program = Program::from_source(source).build(&Compiler::dmdprof());
    let run = measured(&program, directory.path(), &[], &["--flows", "--objects", "--flow-contexts"]);
    let document = said(&["why", "get"], &run.profile);
    let ends = |row: &Value| [&row["context"], &row["touch_context"]].map(|end| end.as_str().unwrap_or("?").to_owned());
    let found: Vec<[String; 2]> = rows(&document, "pairs").iter().map(ends).collect();
    assert!(found.contains(&["main > second > get".into(), "main > first > get".into()]), "{found:?}");
    let plain = scratch();
    let without = measured(&program, plain.path(), &[], &["--flows", "--objects"]);
    assert_eq!(run.report.0["functions"], without.report.0["functions"], "contexts change no number");
}

/// `first` reads an array through `get`, then `second` does.
const ENDS: &str = "\
#include <stdlib.h>
static int *data;
__attribute__((noinline)) static int get(int i) { return data[i]; }
__attribute__((noinline)) static int first(void) { int s = 0; for (int i = 0; i < 500; i++) s += get(i); return s + 1; }
__attribute__((noinline)) static int second(void) { int s = 0; for (int i = 0; i < 500; i++) s ^= get(i); return s + 2; }
int main(void) {
    data = malloc(500 * sizeof *data);
    for (int i = 0; i < 500; i++)
        data[i] = i;
    volatile int s = first();
    s = s + second();
    return 0;
}
";

/// A static array whose first quarter is read three times, and a block of the heap whose second half is read in steps.
#[test]
fn offsets_show_which_part_of_an_array_is_read() {
    let directory = scratch();
    let program = case("offsets").build(&Compiler::dmdprof());
    let run = measured(&program, directory.path(), &[], &["--objects"]);
    let document = said(&["report", "--objects", "--fields"], &run.profile);
    let found: BTreeMap<&str, (u64, f64, f64, &str)> = rows(&document, "offsets")
        .iter()
        .map(|row| {
            let share = |field: &str| row[field].as_f64().expect("a share");
            let text = |field: &str| row[field].as_str().expect("a text");
            (text("kind"), (number(row, "read"), share("touched"), share("hot"), text("where")))
        })
        .collect();
    let quarter = format!("{:32}", "█".repeat(8));
    assert_eq!(found["static"], (3 * 4096, 0.25, 0.234375, quarter.as_str()));
    let half = format!("{}{}", " ".repeat(16), "█".repeat(16));
    assert_eq!(found["heap"], (2048 * 4, 0.5, 0.453125, half.as_str()));
}

/// One program with each loop on a line of its own, all loops on one line, and all loops of a macro.
#[test]
fn line_breaks_change_no_advice() {
    let directory = scratch();
    let loops = "for (int i = 0; i < BIG; i++) t[i] = i ^ k;@ for (int i = 0; i < BIG; i++) s += t[i];@ \
                 for (int i = 0; i < N; i++) s += hot[i] ^ k;";
    let advice = |name: &str, before: &str, body: &str| {
        let source = directory.path().join(format!("{name}.c"));
        let text = format!(
            "#include <stdlib.h>\nenum {{ N = 3000, BIG = 40000, ROUNDS = 40 }};\n{before}\nint main(void) {{\n\
             unsigned long s = 0; unsigned *hot = malloc(4 * N), *kept[ROUNDS];\n\
             for (int i = 0; i < N; i++) hot[i] = i;\n\
             for (int k = 0; k < ROUNDS; k++) {{ unsigned *t = malloc(4 * BIG);\n{body}\nkept[k] = t; }}\n\
             for (int k = 0; k < ROUNDS; k++) free(kept[k]);\nreturn s == 1; }}\n"
        );
        fs::write(&source, text).expect("writable");
        let program = Program::from_source(source).build(&Compiler::dmdprof());
        let run = measured(&program, directory.path(), &[], &["--flows", "--objects"]);
        let document = said(&["why"], &run.profile);
        let pairs = rows(&document, "pairs").iter().filter(|row| number(row, "cost") > 1_000_000);
        let mut said: Vec<(u64, String)> =
            pairs.map(|row| (number(row, "cost"), row["cures"].as_str().unwrap_or_default().to_owned())).collect();
        said.sort();
        (said, document)
    };
    let (apart, _) = advice("apart", "", &loops.replace('@', "\n"));
    assert_eq!(apart.len(), 3, "{apart:?}");
    assert!(apart.iter().any(|(_, cures)| cures.contains("free earlier")), "{apart:?}");
    let (dense, document) = advice("dense", "", &loops.replace('@', ""));
    assert_eq!(dense, apart, "all loops on one line");
    let lines: Vec<&str> = rows(&document, "pairs").iter().filter_map(|row| row["line"].as_str()).collect();
    assert!(
        lines.iter().any(|line| line.ends_with("dense.c:8:45")),
        "a place on a shared line has its column: {lines:?}"
    );
    let (macros, _) = advice("macros", &format!("#define WORK {}", loops.replace('@', "")), "WORK");
    assert_eq!(macros, apart, "all loops of one macro");
}
