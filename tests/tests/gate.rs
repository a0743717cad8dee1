//! The gate: seeded regressions are caught and pinned on the right function and cause, harmless changes are not, and
//! whatever it cannot judge it refuses.

use std::fs;
use std::path::{Path, PathBuf};

use dmdprof_tests::gate::{Repository, changed};
use dmdprof_tests::programs::{self, Compiler, Program};
use dmdprof_tests::tool::{assert_same, cache_dir, cases, describe, in_tests, output, repository, require};
use serde_json::Value;

fn example(name: &str) -> String {
    let path = repository().join("examples").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The example, then the example with a change, in one place of one repository.
fn after(file: &str, size: &str, change: impl FnOnce(&str) -> String) -> dmdprof_tests::gate::Compared {
    let gate = Repository::new();
    let source = example(file);
    let path = gate.write(file, &source);
    gate.save("base", &path, [size]);
    gate.compare("base", &path, [size]).assert_passes();
    gate.write(file, &change(&source));
    gate.compare("base", &path, [size])
}

/// Everything between two marks replaced.
fn between(source: &str, from: &str, to: &str, new: &str) -> String {
    let start = source.find(from).expect("the first mark");
    let end = start + source[start..].find(to).expect("the second mark");
    format!("{}{new}{}", &source[..start], &source[end..])
}

#[test]
fn a_tiled_product_that_becomes_naive() {
    let naive = "for (size_t i = 0; i < n; i++)\n        for (size_t k = 0; k < n; k++)\n            \
                 for (size_t j = 0; j < n; j++)\n                c[i * n + j] += a[i * n + k] * b[k * n + j];\n}\n\n";
    let found = after("matmul.c", "96", |s| between(s, "for (size_t i0 = 0", "static double checksum", naive));
    found.assert_caught("matmul_tiled", "depth");
}

#[test]
fn a_tiled_product_in_rust() {
    let found = after("matmul.rs", "96", |s| changed(s, "const TILE: usize = 16;", "const TILE: usize = 1024;"));
    found.assert_caught("matmul::matmul_tiled", "depth");
}

#[test]
fn a_struct_grown_by_a_field() {
    let found = after("list_vs_array.c", "4096", |s| {
        let s = changed(s, "    struct node *next;\n", "    struct node *next;\n    uint64_t weight;\n");
        changed(&s, "        node->number =", "        node->weight = i;\n        node->number =")
    });
    assert_eq!(found.code, 3);
    let (function, cause) = found.first();
    assert!(["sum_list_in_order", "sum_list_scattered"].contains(&function), "{:#}", found.case);
    assert_eq!(cause, "depth", "{:#}", found.case);
}

#[test]
fn an_extra_copy() {
    let found = after("matmul.c", "96", |s| {
        let s = changed(s, "#include <stdlib.h>", "#include <stdlib.h>\n#include <string.h>");
        let copy = "double sum = 0, *copy = malloc(count * sizeof *c);\n    memcpy(copy, c, count * sizeof *c);\n    c = copy;\n";
        changed(
            &s,
            "double sum = 0;\n    for (size_t i = 0; i < count; i++)",
            &format!("{copy}    for (size_t i = 0; i < count; i++)"),
        )
    });
    found.assert_caught("checksum", "copies");
}

#[test]
fn a_hash_table_that_is_too_full() {
    let found = after("hash_table.c", "16384", |s| s.replace("& (slots - 1)", "& (slots / 2 - 1)"));
    found.assert_caught("open_lookup_uniform", "volume");
}

/// By bytes alone sweeping down the columns is as good as along the rows, or better; lines tell them apart.
#[test]
fn a_stencil_with_its_loops_interchanged() {
    let found = after("stencil.c", "400", |s| {
        let columns = "for (size_t j = 1; j < n - 1; j++)\n        for (size_t i = 1; i < n - 1; i++)\n            \
                       to[i * n + j] = POINT(n, from + i * n + j);\n}\n\n";
        let (before, rest) = s.split_once("double *restrict to) {\n    ").expect("the sweep by rows");
        let end = rest.find("__attribute__").expect("the next sweep");
        format!("{before}double *restrict to) {{\n    {columns}{}", &rest[end..])
    });
    found.assert_caught("sweep_rows", "lines");
}

/// Goes one way or the other by coins that are all alike, or not.
const COINS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) unsigned walk(const unsigned char *coins, int n) {
    unsigned x = 1;
    for (int i = 0; i < n; i++) {
        if (coins[i]) { x += i; __asm__ volatile("" : "+r"(x)); } else { x ^= i; __asm__ volatile("" : "+r"(x)); }
    }
    return x;
}
int main(void) {
    int n = 200000;
    unsigned char *coins = malloc(n);
    unsigned state = 1;
    for (int i = 0; i < n; i++) { state = state * 1664525u + 1013904223u; coins[i] = state >> 31 & 0; }
    printf("%u\n", walk(coins, n));
}
"#;

/// Cycles are the twin's: the same in another run, worse by what branches miss, and compared only if asked for.
#[test]
fn branches_that_are_no_longer_foretold() {
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let gate = Repository::new();
    let check = |code: i32| -> Value {
        let found = output(&mut gate.command(["--trust", "--format", "json"]));
        assert_eq!(found.status.code(), Some(code), "{}", describe(&found));
        serde_json::from_slice(&found.stdout).expect("JSON")
    };
    gate.write("coins.c", COINS);
    gate.write("dmdprof.toml", "[[case]]\nname = \"coins\"\ncommand = [\"coins.c\"]\ncycles = true\n");
    gate.check(0, ["--accept", "--trust"]);
    assert!(gate.read("dmdprof/coins.toml").contains("core = \"zen4-9654-core "));
    let same = check(0);
    assert_eq!(same["cases"][0]["findings"].as_array().map(Vec::len), Some(0), "{same:#}");
    let plain = gate.check(0, ["--baseline", "coins", "--", "coins.c"]);
    assert!(plain.contains("cycles are not compared: the baseline has them"), "{plain}");
    gate.write("coins.c", &changed(COINS, "state >> 31 & 0", "state >> 31"));
    let worse = check(3);
    let findings = worse["cases"][0]["findings"].as_array().expect("findings");
    let walk = findings.iter().find(|f| f["metric"] == "cycles" && f["function"] == "walk").expect("its cycles");
    assert_eq!(walk["status"], "worse");
    let why = walk["why"].as_array().expect("causes").iter().find(|cause| cause["kind"] == "cycles");
    assert!(why.and_then(|cause| cause["text"].as_str()).is_some_and(|text| text.contains(" branch")), "{walk:#}");
}

/// Goes down a column, of which lines share sets of a cache if rows are as far apart as the sets repeat.
const COLUMN: &str = r#"
#include <stdlib.h>
enum { ROWS = 64, WIDTH = 520 };
__attribute__((noinline)) double column(const double *table) {
    double sum = 0;
    for (int turn = 0; turn < 100; turn++)
        for (int row = 0; row < ROWS; row++) sum += table[row * WIDTH];
    return sum;
}
int main(void) {
    double *table = calloc(ROWS * WIDTH, sizeof *table);
    for (int row = 0; row < ROWS; row++) table[row * WIDTH] = row;
    return column(table) > 1e9;
}
"#;

/// Bytes and ideal memories do not see it: a number of the report that the gate has no name of its own for.
#[test]
fn lines_that_share_sets_of_a_cache() {
    let gate = Repository::new();
    gate.write("column.c", COLUMN);
    let check = |code: i32, words: &str| gate.check(code, words.split(' ').chain(["--", "column.c"]));
    check(0, "--save-baseline column --cache 32KiB,8,64 --limit caches_l1_conflicts=1KiB --limit mean_cost=1%");
    let baseline = gate.read("dmdprof/column.toml");
    assert!(baseline.contains("caches = \"32768,8,64\"") && baseline.contains("numbers = { caches_l1_conflicts = "));
    check(0, "--baseline column --cache 32KiB,8,64 --limit caches_l1_conflicts=1KiB --limit mean_cost=1%");
    let refused = check(2, "--baseline column --limit caches_l1_misses=1%");
    assert!(refused.contains("the nearest are caches_l1_"), "{refused}");
    let lacking = check(3, "--baseline column --limit caches_l1_conflicts=1KiB");
    assert!(lacking.contains("the run did not measure it; measure it with --cache"), "{lacking}");
    let other = check(1, "--baseline column --cache 16KiB,8,64");
    assert!(other.contains("give both runs the same --cache"), "{other}");
    gate.write("column.c", &changed(COLUMN, "WIDTH = 520", "WIDTH = 512"));
    let worse = check(3, "--baseline column --cache 32KiB,8,64 --limit caches_l1_conflicts=1KiB");
    assert!(worse.contains("caches l1 conflicts") && worse.contains("column.c:"), "{worse}");
    check(0, "--baseline column --cache 32KiB,8,64");
}

/// Copies of a program's sources with one of them changed, where a second test run finds them unchanged.
fn copy_of(program: &Program, name: &str, change: impl Fn(&Path, String) -> String) -> Program {
    let directory = cache_dir().join(format!("sources-{name}"));
    fs::create_dir_all(&directory).expect("created");
    let put = |path: &Path, text: &[u8]| {
        if fs::read(path).is_ok_and(|old| old == text) {
            return;
        }
        fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    };
    let mut copy = Program { name: name.into(), sources: Vec::new(), ..program.clone() };
    for source in &program.sources {
        let text = String::from_utf8_lossy(&fs::read(source).expect("readable")).into_owned();
        let path = directory.join(source.file_name().expect("a name"));
        put(&path, change(source, text).as_bytes());
        copy.sources.push(path);
    }
    copy.include = vec![directory.clone()];
    for include in &program.include {
        for entry in fs::read_dir(include).expect("readable") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "h") {
                put(&directory.join(path.file_name().expect("a name")), &fs::read(&path).expect("readable"));
            }
        }
    }
    copy
}

fn is(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|n| n == name)
}

/// A baseline of the program, and how its copies compare with it. The gate must not mind that they lie elsewhere.
struct Real {
    gate: Repository,
    args: Vec<String>,
    program: Program,
}

impl Real {
    fn new(program: Program) -> Self {
        let real = Self { gate: Repository::new(), args: program.args.clone(), program };
        real.gate.save("base", real.place(&real.program), &real.args);
        real
    }

    /// The program under the same name, whatever it is a copy of.
    fn place(&self, program: &Program) -> PathBuf {
        let path = self.gate.path().join("program");
        fs::copy(program.build(&Compiler::dmdprof()), &path).expect("copied");
        path
    }

    fn after(&self, name: &str, change: impl Fn(&Path, String) -> String) -> dmdprof_tests::gate::Compared {
        self.compare(&copy_of(&self.program, name, change))
    }

    fn compare(&self, copy: &Program) -> dmdprof_tests::gate::Compared {
        self.gate.compare("base", self.place(copy), &self.args)
    }
}

/// Longer lines, other lines.
fn with_comments(text: &str) -> String {
    format!("/* A comment\n * of three\n * lines. */\n{}", text.replace("\n}\n", "\n}\n\n/* The next\n * one. */\n"))
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn zlib() {
    let real = Real::new(programs::zlib().args(["60000"]));

    let copied = real.after("zlib-copied", |path, text| match is(path, "deflate.c") {
        true => {
            let copy = "zmemcpy(buf, strm->next_in, len);";
            let text = changed(&text, "local unsigned read_buf(", "Bytef spare[1 << 16];\n\nlocal unsigned read_buf(");
            changed(&text, copy, &format!("zmemcpy(spare, strm->next_in, len & 0xffff);\n    {copy}"))
        }
        false => text,
    });
    copied.assert_caught("read_buf", "copies");

    let full = real.after("zlib-full", |path, text| match is(path, "deflate.c") {
        true => changed(&text, "s->hash_bits = (uInt)memLevel + 7;", "s->hash_bits = (uInt)memLevel;"),
        false => text,
    });
    assert_eq!(full.code, 3);
    assert_eq!(full.first().0, "longest_match", "{:#}", full.case);

    let mut harmless = copy_of(&real.program, "zlib-harmless", |path, text| {
        let text = with_comments(&text);
        match is(path, "zlib.c") {
            // Another layout of the heap, other names.
            true => changed(
                &text,
                "    int failed = 0;\n    if (!text",
                "    int failed = 0;\n    void *early = malloc(12345);\n    __asm__ volatile(\"\" : : \"r\"(early));\n    if (!text",
            )
            .replace("failed", "has_failed"),
            false => text.replace("best_len", "longest_so_far").replace("hop", "step_by"),
        }
    });
    harmless.sources.reverse();
    real.compare(&harmless).assert_passes();
}

/// A growth among many changes that must not matter.
#[test]
#[ignore = "builds SQLite once more, which takes a minute: CONTRIBUTING.md has the command"]
fn sqlite() {
    let real = Real::new(programs::sqlite().args(["600"]));
    let mut grown = copy_of(&real.program, "sqlite-grown", |path, text| match is(path, "sqlite.c") {
        true => {
            let early = "void *early = malloc(12345);\n    __asm__ volatile(\"\" : : \"r\"(early));\n    int failed";
            changed(&text, "    int failed", &format!("    {early}")).replace("verbose", "wordy")
        }
        false if is(path, "sqlite3.c") => {
            let mark = "  /* ShallowCopy only needs to copy the information above */\n";
            let text = changed(&text, mark, &format!("  i64 aOrigin[8];     /* Grown */\n{mark}"));
            with_comments(&text).replace("pTabList", "pListOfTables")
        }
        false => with_comments(&text),
    });
    grown.sources.reverse();
    real.compare(&grown).assert_caught("sqlite3VdbeMemShallowCopy", "copies");
}

#[test]
fn harmless_changes_of_an_example() {
    let source = example("matmul.c");
    let (here, there) = (Repository::new(), Repository::new());
    let baseline = |gate: &Repository, source: &str| {
        let path = gate.write("src/matmul.c", source);
        gate.save("base", path, ["64"]);
        gate.read("dmdprof/base.toml")
    };
    let expected = baseline(&here, &source);

    // Comments, names, the order of functions, and another checkout.
    let renamed = with_comments(&source).replace("i1", "i_end").replace("argc", "argument_count");
    let place = renamed.find("__attribute__").expect("a function");
    let start = renamed.find("static double checksum").expect("a function");
    let end = start + renamed[start..].find("\n}\n").expect("its end") + 3;
    let checksum = &renamed[start..end];
    let order = format!("{}{checksum}\n{}{}", &renamed[..place], &renamed[place..start], &renamed[end..]);
    assert!(expected.contains("clang version") && expected.contains(" -O2\"]"), "{expected}");
    assert_same("the baseline", expected.as_bytes(), baseline(&there, &order).as_bytes());

    // Another layout of the heap.
    let early = changed(
        &source,
        "    double *a = malloc",
        "    void *early = malloc(54321);\n    __asm__ volatile(\"\" : : \"r\"(early));\n    double *a = malloc",
    );
    let path = here.write("src/matmul.c", &early);
    here.compare("base", path, ["64"]).assert_passes();
}

/// `DMDPROF_TEST_RUNS=20` for the long test.
#[test]
fn baselines_repeat_to_the_byte() {
    let runs = std::env::var("DMDPROF_TEST_RUNS").map_or(2, |n| n.parse().expect("a number"));
    let example = |name: &str, size: &'static str| (repository().join("examples").join(name), vec![size.to_owned()]);
    let mut all: Vec<(PathBuf, Vec<String>)> =
        vec![example("matmul.c", "48"), example("hash_table.rs", "1024"), example("list_vs_array.c", "1024")];
    for program in cases([programs::zlib().args(["20000"]), programs::sqlite().args(["300"])], 1) {
        all.push((program.build(&Compiler::dmdprof()), program.args.clone()));
    }
    for (program, arguments) in all {
        let gate = Repository::new();
        let measure = || {
            gate.save("base", &program, &arguments);
            gate.read("dmdprof/base.toml")
        };
        let expected = measure();
        for run in 1..runs {
            assert_same(&format!("{} run {run}", program.display()), expected.as_bytes(), measure().as_bytes());
        }
    }
}

const SMALL: &str = "#include <stdlib.h>\nvolatile char table[4096];\n\
    __attribute__((noinline)) int first(int n) { int s = 0; for (int i = 0; i < n; i++) s += table[i]; return s; }\n\
    __attribute__((noinline)) int second(int n) { int s = 0; for (int i = 0; i < n; i++) s += table[i * 2]; return s; }\n\
    int main(int c, char **v) { return (first(100) + second(c > 1 ? atoi(v[1]) : 50)) & 0; }\n";

#[test]
fn diff_of_the_last_two_runs() {
    let gate = Repository::new();
    let source = gate.write("small.c", SMALL);
    let dmdprof = |words: &[&str]| output(dmdprof_tests::tool::dmdprof().args(words).current_dir(gate.path()));
    let say = |words: &[&str]| {
        let found = dmdprof(words);
        assert!(found.status.success(), "{}", describe(&found));
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    let run = |more: &[&str]| say(&[&["run", "-q"], more, &["small.c"]].concat());
    run(&[]);
    assert!(String::from_utf8_lossy(&dmdprof(&["diff"]).stderr).contains("dmdprof.data.old"));
    run(&[]);
    assert!(say(&["diff"]).contains("no difference"));
    fs::write(&source, SMALL.replace("first(100)", "first(200)").replace("second", "other")).expect("written");
    run(&[]);
    let table = say(&["diff"]);
    assert!(table.contains("reads 200 B instead of 100 B") && table.contains("other (was second)"), "{table}");
    assert_eq!(table, say(&["diff", "dmdprof.data"]));
    let back = say(&["diff", "dmdprof.data", "dmdprof.data.old", "--format", "csv"]);
    assert!(back.contains("reads 100 B instead of 200 B") && back.contains("renamed,second,small.c"), "{back}");
    gate.save("base", &source, [""; 0]);
    assert!(say(&["diff", "dmdprof/base.toml", "dmdprof.data"]).contains("no difference"));
    run(&["--liveness", "none"]);
    let refused = dmdprof(&["diff"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("different liveness"), "{}", describe(&refused));
}

/// The command line's behaviour, on one small program that is built once.
#[test]
fn exit_codes_and_what_they_need() {
    let gate = Repository::new();
    let source = gate.write("small.c", SMALL);
    let built = output(
        dmdprof_tests::tool::dmdprof().args(["cc", "-O2", "-g"]).arg(&source).arg("-o").arg(gate.path().join("small")),
    );
    assert!(built.status.success(), "{}", describe(&built));
    let args = |words: &'static str| words.split_whitespace();

    // No baseline yet.
    let missing = gate.check(1, args("--baseline small -- ./small"));
    assert!(missing.contains("there is no baseline dmdprof/small.toml") && missing.contains("--accept"), "{missing}");
    gate.check(0, args("--save-baseline small -- ./small"));
    gate.check(0, args("--baseline small -- ./small"));
    gate.check(0, args("--strict -- ./small"));
    let baseline = gate.read("dmdprof/small.toml");
    assert!(baseline.contains("clang version") && baseline.contains(" -O2\"]"), "{baseline}");

    // Another program under the same name: worse, accepted, better, strict.
    gate.write("small.c", &SMALL.replace("first(100)", "first(200)"));
    let again = output(
        dmdprof_tests::tool::dmdprof().args(["cc", "-O2", "-g"]).arg(&source).arg("-o").arg(gate.path().join("small")),
    );
    assert!(again.status.success(), "{}", describe(&again));
    let worse = gate.check(3, args("--baseline small -- ./small"));
    assert!(
        worse.contains("first") && worse.contains("reads 200 B instead of 100 B") && worse.contains("--accept"),
        "{worse}"
    );
    gate.check(0, args("--limit cost=1000% --baseline small -- ./small"));
    gate.check(0, args("--baseline small --accept -- ./small"));
    gate.check(0, args("--baseline small -- ./small"));
    let accepted = gate.read("dmdprof/small.toml");
    assert_ne!(baseline, accepted);
    gate.write("small.c", SMALL);
    let back = output(
        dmdprof_tests::tool::dmdprof().args(["cc", "-O2", "-g"]).arg(&source).arg("-o").arg(gate.path().join("small")),
    );
    assert!(back.status.success(), "{}", describe(&back));
    let better = gate.check(0, args("--baseline small -- ./small"));
    assert!(better.contains("better") && better.contains("To bring the baseline up to date"), "{better}");
    gate.check(3, args("--baseline small --strict -- ./small"));
    gate.check(0, args("--baseline small --accept -- ./small"));
    assert_eq!(gate.read("dmdprof/small.toml"), baseline);

    // From a profile.
    let run = output(dmdprof_tests::tool::dmdprof().args(["run", "-q", "./small"]).current_dir(gate.path()));
    assert!(run.status.success(), "{}", describe(&run));
    gate.check(0, args("--baseline small --profile dmdprof.data"));

    // Other conditions are refused, with advice.
    for (words, name) in [
        ("--baseline small -- ./small 50", "command"),
        ("--baseline small --run-option=--liveness=none -- ./small", "liveness"),
        ("--baseline small --run-option=--roi=first -- ./small", "region of interest"),
    ] {
        let refused = gate.check(1, args(words));
        assert!(refused.contains(&format!("{name}: ")) && refused.contains("not compared"), "{words}: {refused}");
    }
    let refused = gate.check(1, args("--baseline small --run-option=--lines-only -- ./small"));
    assert!(refused.contains("lines only"), "{refused}");
    gate.write("dmdprof/small.toml", &baseline.replace("clang version", "clang version 3"));
    let refused = gate.check(1, args("--baseline small -- ./small"));
    assert!(refused.contains("compilers: ") && refused.contains("build with the same one"), "{refused}");

    // Bad baselines.
    for (text, word) in [
        (baseline[..baseline.len() / 2].to_owned(), "small.toml:"),
        (baseline.replace("[total]", "<<<<<<< ours\n[total]"), "small.toml:14: a merge conflict"),
        (baseline.replace("[total]", "[total]\ncolour = 1"), "small.toml:15: unknown key \"colour\""),
        (baseline.replace("version = 3", "version = 99"), "small.toml:2: version 99 was written by a newer dmdprof"),
        (format!("{baseline}main = {{ cost = 0 }}\nmain = {{ cost = 0 }}\n"), "duplicate key"),
    ] {
        gate.write("dmdprof/small.toml", &text);
        let refused = gate.check(1, args("--baseline small -- ./small"));
        assert!(refused.contains(word) && refused.contains("--accept"), "{word}: {refused}");
    }

    // Usage.
    for words in [
        "",
        "--baseline x",
        "--jobs 0 -- ./small",
        "--limit costs=1% -- ./small",
        "--limit cost -- ./small",
        "--accept --save-baseline x -- ./small",
    ] {
        gate.check(2, args(words));
    }
    gate.check(1, args("--baseline small -- ./no-such-program"));
}

#[test]
fn cases_of_a_configuration() {
    let gate = Repository::new();
    gate.write("small.c", SMALL);
    let crash = gate.write("crash.c", "#include <stdlib.h>\nint main(void) { abort(); }\n");
    let config = "[limits]\ncost = \"0%\"\n\n[[case]]\nname = \"fifty\"\ncommand = [\"small.c\", \"50\"]\n\n[[case]]\n\
                  name = \"sixty\"\ncommand = \"small.c 60\"\nlimits = { functions.\"second\" = { read = 10 } }\n";
    gate.write("dmdprof.toml", config);
    let missing = gate.check(1, ["--jobs", "2"]);
    assert!(missing.contains("dmdprof/fifty.toml") && missing.contains("dmdprof/sixty.toml"), "{missing}");
    gate.check(0, ["--accept", "--jobs", "2"]);
    let good = gate.check(0, ["--jobs", "2", "--strict"]);
    assert!(good.contains("fifty: ok") && good.contains("sixty: ok"), "{good}");
    // From a directory below.
    fs::create_dir(gate.path().join("below")).expect("created");
    let below = output(gate.command(["--case", "fif*"]).current_dir(gate.path().join("below")));
    assert!(below.status.success(), "{}", describe(&below));

    // A limit whose function is not there fails; so does a program that crashes.
    gate.write("dmdprof.toml", &config.replace("\"second\"", "\"third\""));
    let gone = gate.check(3, ["--case", "sixty"]);
    assert!(gone.contains("\"third\" has a limit, and there is no such function"), "{gone}");
    gate.write("dmdprof.toml", &format!("[[case]]\nname = \"crash\"\ncommand = [{:?}]\n", crash.display().to_string()));
    let incomplete = gate.check(1, ["--accept"]);
    assert!(incomplete.contains("the run is incomplete: killed by signal 6"), "{incomplete}");

    // Mistakes in the file are usage errors with their lines.
    gate.write("dmdprof.toml", &config.replace("cost = \"0%\"", "cost = \"none\""));
    let wrong = gate.check(2, [""; 0]);
    assert!(wrong.contains("dmdprof.toml:2: ") && wrong.contains("use a percentage"), "{wrong}");
    gate.write("dmdprof.toml", config);
    gate.check(2, ["--case", "seventy"]);
    gate.check(2, ["--baseline", "x"]);
}

#[test]
fn inputs_belong_to_the_baseline() {
    let gate = Repository::new();
    let reader = "#include <stdio.h>\nint main(int c, char **v) { char b[64]; FILE *f = fopen(v[1], \"r\"); \
                  FILE *o = fopen(v[2], \"w\"); int s = 0; for (int n = (int)fread(b, 1, 64, f); n > 0; n--) s += b[n - 1]; \
                  fprintf(o, \"%d\", s); return c != 3; }\n";
    let source = gate.write("reader.c", reader);
    gate.write("input.txt", "something");
    gate.save("base", &source, ["input.txt", "output.txt"]);
    let baseline = gate.read("dmdprof/base.toml");
    assert!(baseline.contains("input.txt") && !baseline.contains("output.txt = "), "{baseline}");
    // The output is there now, and is written again.
    gate.compare("base", &source, ["input.txt", "output.txt"]).assert_passes();
    gate.write("input.txt", "another thing");
    let refused = gate.compare("base", &source, ["input.txt", "output.txt"]);
    assert_eq!(refused.code, 1);
    assert!(refused.case["error"].as_str().expect("an error").contains("inputs: input.txt"), "{:#}", refused.case);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn the_certificate() {
    let gate = Repository::new();
    let of = |file: &str| in_tests("programs/cases").join(file);
    let twice = |code, path: &Path| gate.check(code, ["--twice".as_ref(), "--".as_ref(), path.as_os_str()]);
    assert!(twice(0, &gate.write("small.c", SMALL)).contains("runs agree to the bit"));
    for (file, words) in [
        ("by_address.c", ["by_address (", "by_address.c:10)", "depend on addresses", "hashed, sorted or printed"]),
        ("by_time.c", ["by_time (", "by_time.c:", "clock_gettime", "loops of a count"]),
        ("by_thread.cpp", ["take_items", "by_thread.cpp:", "threads", "one thread"]),
        ("by_seed.rs", ["executions", "seed of a hash", "RandomState", "fix the seed"]),
    ] {
        let mut said = twice(3, &of(file));
        // Threads may by chance share their work alike in two runs, so that something else differs, or only the run at
        // random addresses.
        let chances = if file == "by_thread.cpp" { 10 } else { 0 };
        for _ in 0..chances {
            if words.iter().all(|word| said.contains(word)) {
                break;
            }
            said = twice(3, &of(file));
        }
        for word in words {
            assert!(said.contains(word), "{file}: no {word:?} in\n{said}");
        }
    }
}

#[test]
fn output_for_ci() {
    let gate = Repository::new();
    let source = gate.write("src/small.c", SMALL);
    gate.save("base", &source, ["50"; 0]);
    gate.write("src/small.c", &SMALL.replace("first(100)", "first(200)"));
    let summary = gate.write("summary.md", "before\n");
    let files =
        ["--junit=junit.xml", "--benchmark-json=bench.json", "--bencher-json=bencher.json", "--markdown=out.md"];
    let mut command = gate.command(["--baseline", "base"].iter().chain(&files).chain(&["--"]));
    command
        .arg(&source)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .env("GITHUB_WORKSPACE", gate.path());
    let found = output(&mut command);
    assert_eq!(found.status.code(), Some(3), "{}", describe(&found));
    let said = String::from_utf8_lossy(&found.stderr);
    let annotation =
        said.lines().find(|l| l.contains("title=dmdprof%3A base%3A first")).unwrap_or_else(|| panic!("{said}"));
    assert!(annotation.starts_with("::error file=src/small.c,line=3,"), "{annotation}");
    assert!(annotation.contains("+") && annotation.contains("%0Areads 200 B instead of 100 B"), "{annotation}");

    let markdown = gate.read("summary.md");
    assert!(
        markdown.starts_with("before\n### Data movement") && markdown.contains("| worse | ByteDMD |"),
        "{markdown}"
    );
    assert_eq!(gate.read("out.md"), markdown["before\n".len()..]);
    let junit = gate.read("junit.xml");
    assert!(
        junit.contains("failures=\"3\"") && junit.contains("<testcase name=\"first: cost\" classname=\"src/small.c\">"),
        "{junit}"
    );
    let benchmark: serde_json::Value = serde_json::from_str(&gate.read("bench.json")).expect("JSON");
    assert_eq!((benchmark[0]["name"].as_str(), benchmark[0]["unit"].as_str()), (Some("base"), Some("ByteDMD")));
    let bencher: serde_json::Value = serde_json::from_str(&gate.read("bencher.json")).expect("JSON");
    assert_eq!(bencher["base"]["bytedmd"]["value"], benchmark[0]["value"]);
}
