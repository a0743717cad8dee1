//! Data motion through loops: nests whose numbers are known from the definition, in C and in Rust.

use std::{path::Path, process::Command};

use dmdprof_tests::tool::{dmdprof, in_tests, scratch, succeed};
use serde_json::Value;

const LANGUAGES: [&str; 2] = ["c", "rs"];

/// What a golden row says of an array at a level: accesses, fills, refills, peak, footprint.
type Row = (&'static str, [u64; 5]);

struct Golden {
    /// Kernel with its sizes.
    words: &'static str,
    /// Loops from the outside in, one of them: its number from 0 on, tiles, capacity in elements.
    depth: usize,
    policy: &'static str,
    tiles: u64,
    rows: &'static [Row],
    capacity: u64,
}

const fn golden(words: &'static str, depth: usize, tiles: u64, rows: &'static [Row], capacity: u64) -> Golden {
    Golden { words, depth, policy: "wrap", tiles, rows, capacity }
}

const GOLDENS: &[Golden] = &[
    golden(
        "conv_os 5 3",
        1,
        15,
        &[("Weight", [15, 15, 12, 1, 3]), ("Input", [15, 15, 8, 1, 7]), ("Output", [15, 5, 0, 1, 5])],
        3,
    ),
    golden(
        "conv_os 5 3",
        0,
        5,
        &[("Weight", [15, 3, 0, 3, 3]), ("Input", [15, 7, 0, 3, 7]), ("Output", [15, 5, 0, 1, 5])],
        7,
    ),
    golden(
        "conv_ws 5 3",
        1,
        15,
        &[("Weight", [15, 3, 0, 1, 3]), ("Input", [15, 15, 8, 1, 7]), ("Output", [15, 15, 10, 1, 5])],
        3,
    ),
    golden(
        "conv_ws 5 3",
        0,
        3,
        &[("Weight", [15, 3, 0, 1, 3]), ("Input", [15, 7, 0, 5, 7]), ("Output", [15, 5, 0, 5, 5])],
        11,
    ),
    golden(
        "conv_os 6 3",
        1,
        18,
        &[("Weight", [18, 18, 15, 1, 3]), ("Input", [18, 18, 10, 1, 8]), ("Output", [18, 6, 0, 1, 6])],
        3,
    ),
    golden(
        "conv_os 6 3",
        0,
        6,
        &[("Weight", [18, 3, 0, 3, 3]), ("Input", [18, 8, 0, 3, 8]), ("Output", [18, 6, 0, 1, 6])],
        7,
    ),
    golden(
        "conv_ws 6 3",
        1,
        18,
        &[("Weight", [18, 3, 0, 1, 3]), ("Input", [18, 18, 10, 1, 8]), ("Output", [18, 18, 12, 1, 6])],
        3,
    ),
    golden(
        "conv_ws 6 3",
        0,
        3,
        &[("Weight", [18, 3, 0, 1, 3]), ("Input", [18, 8, 0, 6, 8]), ("Output", [18, 6, 0, 6, 6])],
        13,
    ),
    golden(
        "conv_tiled 8 3 4",
        2,
        24,
        &[("Input", [24, 24, 14, 1, 10]), ("Weight", [24, 6, 3, 1, 3]), ("Output", [24, 24, 16, 1, 8])],
        3,
    ),
    golden(
        "conv_tiled 8 3 4",
        1,
        6,
        &[("Input", [24, 10, 0, 4, 10]), ("Weight", [24, 6, 3, 1, 3]), ("Output", [24, 8, 0, 4, 8])],
        9,
    ),
    Golden {
        policy: "reset",
        ..golden(
            "conv_tiled 8 3 4",
            1,
            6,
            &[("Input", [24, 12, 2, 4, 10]), ("Weight", [24, 6, 3, 1, 3]), ("Output", [24, 8, 0, 4, 8])],
            9,
        )
    },
    golden(
        "conv_tiled 8 3 4",
        0,
        2,
        &[("Input", [24, 10, 0, 6, 10]), ("Weight", [24, 3, 0, 3, 3]), ("Output", [24, 8, 0, 4, 8])],
        13,
    ),
    golden(
        "matmul_ijk 4",
        2,
        64,
        &[("A", [64, 64, 48, 1, 16]), ("B", [64, 64, 48, 1, 16]), ("C", [64, 16, 0, 1, 16])],
        3,
    ),
    golden(
        "matmul_ijk 4",
        1,
        16,
        &[("A", [64, 16, 0, 4, 16]), ("B", [64, 64, 48, 4, 16]), ("C", [64, 16, 0, 1, 16])],
        9,
    ),
    golden(
        "matmul_ijk 4",
        0,
        4,
        &[("A", [64, 16, 0, 4, 16]), ("B", [64, 16, 0, 16, 16]), ("C", [64, 16, 0, 4, 16])],
        24,
    ),
    golden(
        "matmul_ikj 4",
        2,
        64,
        &[("A", [64, 16, 0, 1, 16]), ("B", [64, 64, 48, 1, 16]), ("C", [64, 64, 48, 1, 16])],
        3,
    ),
    golden(
        "matmul_ikj 4",
        1,
        16,
        &[("A", [64, 16, 0, 1, 16]), ("B", [64, 64, 48, 4, 16]), ("C", [64, 16, 0, 4, 16])],
        9,
    ),
    golden(
        "matmul_ikj 4",
        0,
        4,
        &[("A", [64, 16, 0, 4, 16]), ("B", [64, 16, 0, 16, 16]), ("C", [64, 16, 0, 4, 16])],
        24,
    ),
    golden(
        "matmul_kij 4",
        2,
        64,
        &[("A", [64, 16, 0, 1, 16]), ("B", [64, 64, 48, 1, 16]), ("C", [64, 64, 48, 1, 16])],
        3,
    ),
    golden(
        "matmul_kij 4",
        1,
        16,
        &[("A", [64, 16, 0, 1, 16]), ("B", [64, 16, 0, 4, 16]), ("C", [64, 64, 48, 4, 16])],
        9,
    ),
    golden(
        "matmul_kij 4",
        0,
        4,
        &[("A", [64, 16, 0, 4, 16]), ("B", [64, 16, 0, 4, 16]), ("C", [64, 16, 0, 16, 16])],
        24,
    ),
    golden(
        "matmul_tiled 4 2",
        5,
        64,
        &[("A", [64, 64, 48, 1, 16]), ("B", [64, 64, 48, 1, 16]), ("C", [64, 32, 16, 1, 16])],
        3,
    ),
    golden(
        "matmul_tiled 4 2",
        4,
        32,
        &[("A", [64, 32, 16, 2, 16]), ("B", [64, 64, 48, 2, 16]), ("C", [64, 32, 16, 1, 16])],
        5,
    ),
    golden(
        "matmul_tiled 4 2",
        3,
        16,
        &[("A", [64, 32, 16, 2, 16]), ("B", [64, 32, 16, 4, 16]), ("C", [64, 32, 16, 2, 16])],
        8,
    ),
    golden(
        "matmul_tiled 4 2",
        2,
        8,
        &[("A", [64, 32, 16, 4, 16]), ("B", [64, 32, 16, 4, 16]), ("C", [64, 16, 0, 4, 16])],
        12,
    ),
    golden(
        "matmul_tiled 4 2",
        1,
        4,
        &[("A", [64, 16, 0, 8, 16]), ("B", [64, 32, 16, 8, 16]), ("C", [64, 16, 0, 4, 16])],
        20,
    ),
    golden(
        "matmul_tiled 4 2",
        0,
        2,
        &[("A", [64, 16, 0, 8, 16]), ("B", [64, 16, 0, 16, 16]), ("C", [64, 16, 0, 8, 16])],
        32,
    ),
    golden(
        "matmul_tiled 8 4",
        2,
        8,
        &[("A", [512, 128, 64, 16, 64]), ("B", [512, 128, 64, 16, 64]), ("C", [512, 64, 0, 16, 64])],
        48,
    ),
    golden(
        "matmul_tiled 8 4",
        1,
        4,
        &[("A", [512, 64, 0, 32, 64]), ("B", [512, 128, 64, 32, 64]), ("C", [512, 64, 0, 16, 64])],
        80,
    ),
    golden(
        "matmul_tiled 8 4",
        0,
        2,
        &[("A", [512, 64, 0, 32, 64]), ("B", [512, 64, 0, 64, 64]), ("C", [512, 64, 0, 32, 64])],
        128,
    ),
    golden("jacobi1d 8 2", 1, 12, &[("U", [24, 14, 6, 3, 8]), ("V", [24, 14, 6, 3, 8])], 4),
    golden("jacobi1d 8 2", 0, 2, &[("U", [24, 8, 0, 8, 8]), ("V", [24, 8, 0, 8, 8])], 14),
];

/// A kernel, compiled once per language.
fn build(language: &str, directory: &Path) -> String {
    let program = directory.join(format!("kernels_{language}"));
    let source = in_tests(&format!("motion/kernels.{language}"));
    let mut command = dmdprof();
    command.args(["build", "--loops", "-O1", "-o"]).arg(&program).arg(source);
    if language == "rs" {
        // clang unrolls nothing at this level.
        command.args(["--", "-Cllvm-args=-unroll-runtime=false"]);
    }
    succeed(&mut command);
    program.to_str().expect("UTF-8").to_owned()
}

fn motion<'a>(directory: &Path, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = dmdprof();
    command.arg("motion").args(words).current_dir(directory);
    command
}

fn json(command: &mut Command) -> Value {
    serde_json::from_slice(&succeed(command).stdout).expect("JSON")
}

fn rows<'a>(document: &'a Value, sheet: &str) -> Vec<&'a Value> {
    let sheets = document["sheets"].as_array().expect("sheets");
    let sheet = sheets.iter().find(|s| s["name"] == sheet).unwrap_or_else(|| panic!("no sheet {sheet}"));
    sheet["rows"].as_array().expect("rows").iter().collect()
}

/// The rows of the loops of a function, from the outside in.
fn nest<'a>(document: &'a Value, function: &str) -> Vec<&'a Value> {
    let of =
        |row: &&Value| row["function"].as_str().is_some_and(|f| f == function || f.ends_with(&format!("::{function}")));
    rows(document, "loops").into_iter().filter(of).collect()
}

/// What is wrong with a golden.
fn check(golden: &Golden, document: &Value) -> Result<(), String> {
    let function = golden.words.split(' ').next().expect("a name");
    let nest = nest(document, function);
    let level = nest.get(golden.depth).ok_or_else(|| format!("only {} loops", nest.len()))?;
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} of {row}"));
    let found = (number(level, "iterations"), number(level, "capacity_bytes"));
    if found != (golden.tiles, 8 * golden.capacity) {
        return Err(format!("tiles and capacity: {found:?}"));
    }
    let prefix = format!("#{} ", level["number"]);
    let arrays: Vec<&Value> = rows(document, "arrays")
        .into_iter()
        .filter(|row| row["loop"].as_str().is_some_and(|l| l.starts_with(&prefix)))
        .collect();
    if arrays.len() != golden.rows.len() {
        return Err(format!("other arrays: {arrays:?}"));
    }
    for (name, expected) in golden.rows {
        let row = arrays.iter().find(|row| row["array"] == *name).ok_or_else(|| format!("no array {name}"))?;
        let found = ["accesses", "fills", "refills", "peak", "footprint"].map(|key| number(row, key));
        if found != *expected || row["fills"] != row["drains"] || row["element_bytes"] != 8 {
            return Err(format!("{name}: {found:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

#[test]
fn nests_move_what_the_definition_says() {
    let directory = scratch();
    let mut wrong = Vec::new();
    for language in LANGUAGES {
        let program = build(language, directory.path());
        for golden in GOLDENS {
            let words = golden.words.split(' ');
            let options = ["--format", "json", "--policy", golden.policy, program.as_str()];
            let document = json(&mut motion(directory.path(), options.into_iter().chain(words)));
            if let Err(what) = check(golden, &document) {
                wrong.push(format!("{language}: {} loop {} ({}): {what}", golden.words, golden.depth, golden.policy));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines `delta array: iteration: elements; ...` of one loop.
fn lists(document: &Value, number: u64, key: &str, array: &str) -> String {
    let prefix = format!("#{number} ");
    let rows = rows(document, "elements").into_iter().filter(|row| {
        row["array"] == array && row["loop"].as_str().is_some_and(|l| l.starts_with(&prefix)) && row[key] != ""
    });
    let text = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
    rows.map(|row| format!("{}: {}", text(row, "iteration"), text(row, key))).collect::<Vec<_>>().join("; ")
}

#[test]
fn element_lists_of_the_convolution() {
    let all = |words: &[(u64, u64)]| {
        words.iter().map(|(at, element)| format!("{at}: {element}")).collect::<Vec<_>>().join("; ")
    };
    let own: Vec<(u64, u64)> = (0..5).map(|q| (q, q)).collect();
    let each = |element: &dyn Fn(u64, u64) -> u64, outer: u64, inner: u64| {
        let points = (0..outer).flat_map(|t1| (0..inner).map(move |t0| (t1, t0)));
        points.map(|(t1, t0)| format!("{t1},{t0}: {}", element(t1, t0))).collect::<Vec<_>>().join("; ")
    };
    let ends =
        |inner: u64, outer: u64| (0..outer).map(|t1| format!("{t1},{inner}: {t1}")).collect::<Vec<_>>().join("; ");
    // Kernel, loop (0: tile, 1: point), array, delta, shrink.
    let expected: Vec<(&str, usize, &str, String, String)> = vec![
        ("conv_os", 0, "Weight", "0: 0,1,2".into(), "4: 0,1,2".into()),
        ("conv_os", 0, "Input", "0: 0,1,2; 1: 3; 2: 4; 3: 5; 4: 6".into(), "0: 0; 1: 1; 2: 2; 3: 3; 4: 4,5,6".into()),
        ("conv_os", 0, "Output", all(&own), all(&own)),
        ("conv_ws", 0, "Weight", all(&own[..3]), all(&own[..3])),
        ("conv_ws", 0, "Input", "0: 0,1,2,3,4; 1: 5; 2: 6".into(), "0: 0; 1: 1; 2: 2,3,4,5,6".into()),
        ("conv_ws", 0, "Output", "0: 0,1,2,3,4".into(), "2: 0,1,2,3,4".into()),
        ("conv_os", 1, "Weight", each(&|_, s| s, 5, 3), each(&|_, s| s, 5, 3)),
        ("conv_os", 1, "Input", each(&|q, s| q + s, 5, 3), each(&|q, s| q + s, 5, 3)),
        ("conv_os", 1, "Output", ends(0, 5), ends(2, 5)),
        ("conv_ws", 1, "Weight", ends(0, 3), ends(4, 3)),
        ("conv_ws", 1, "Input", each(&|s, q| q + s, 3, 5), each(&|s, q| q + s, 3, 5)),
        ("conv_ws", 1, "Output", each(&|_, q| q, 3, 5), each(&|_, q| q, 3, 5)),
    ];
    let directory = scratch();
    for language in LANGUAGES {
        let program = build(language, directory.path());
        for kernel in ["conv_os", "conv_ws"] {
            let words = ["--format", "json", "--elements", program.as_str(), kernel, "5", "3"];
            let document = json(&mut motion(directory.path(), words));
            let nest = nest(&document, kernel);
            for (_, depth, array, delta, shrink) in expected.iter().filter(|e| e.0 == kernel) {
                let number = nest[*depth]["number"].as_u64().expect("a number");
                let what = format!("{language} {kernel} loop {depth} {array}");
                assert_eq!(&lists(&document, number, "delta", array), delta, "delta of {what}");
                assert_eq!(&lists(&document, number, "shrink", array), shrink, "shrink of {what}");
            }
        }
    }
}

/// One array of one loop of the last run.
fn row<'a>(document: &'a Value, array: &str, place: &str) -> &'a Value {
    let found = rows(document, "arrays");
    let is_it = |row: &&&Value| row["array"] == array && row["loop"].as_str().is_some_and(|l| l.ends_with(place));
    found.iter().find(is_it).unwrap_or_else(|| panic!("no {array} at {place} in {found:?}"))
}

const CALLS: &str = "\
#include <stdlib.h>
static volatile int shared[8];
__attribute__((noinline)) static void all(int n) {
    for (int k = 0; k < n; k++)
        shared[k]++;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    for (int i = 0; i < n; i++) {
        volatile int local[4];
        for (int j = 0; j < 4; j++)
            local[j] = j;
        all(n);
        volatile int *block = malloc(4 * sizeof(int));
        block[0] = local[1];
        free((void *)block);
    }
    all(n);
    return 3;
}
";

#[test]
fn loops_go_through_calls_and_blocks_end_when_they_are_freed() {
    let directory = scratch();
    std::fs::write(directory.path().join("calls.c"), CALLS).expect("writable");
    let words = ["--format", "json", "-O", "1", "calls.c", "4"];
    let output = motion(directory.path(), words).output().expect("started");
    assert_eq!(output.status.code(), Some(3), "the program's own: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let nests: Vec<(&str, &Value, u64)> = rows(&document, "loops")
        .into_iter()
        .map(|row| (row["loop"].as_str().expect("text"), &row["parent"], row["iterations"].as_u64().expect("a number")))
        .collect();
    let called = nests.iter().filter(|(name, ..)| name.contains("k at calls.c:4")).collect::<Vec<_>>();
    assert_eq!(called.len(), 2, "one level below i, one of its own: {nests:?}");
    assert_eq!(called.iter().map(|(_, _, n)| n).sum::<u64>(), 4 * 4 + 4);
    let shared = row(&document, "shared", "i at calls.c:9");
    assert_eq!((&shared["fills"], &shared["refills"], &shared["peak"]), (&4.into(), &0.into(), &4.into()));
    let local = row(&document, "local", "i at calls.c:9");
    assert_eq!((&local["fills"], &local["footprint"], &local["kind"]), (&4.into(), &4.into(), &"stack".into()));
    let block = row(&document, "block", "i at calls.c:9");
    assert_eq!((&block["fills"], &block["footprint"], &block["kind"]), (&4.into(), &4.into(), &"heap".into()));

    // The file is printed again, under the other policy and by the loop's name.
    let again = json(&mut motion(directory.path(), ["--format", "json", "-l", "k", "--policy", "reset"]));
    let names: Vec<&str> = rows(&again, "loops").iter().filter_map(|row| row["line"].as_u64().map(|_| "k")).collect();
    assert_eq!(names.len(), 2);
    let shared: u64 = rows(&again, "arrays").iter().map(|row| row["fills"].as_u64().expect("a number")).sum();
    assert_eq!(shared, 4 * 4 + 4, "each entry into k starts with nothing");
    let table = succeed(&mut motion(directory.path(), ["--top", "1", "dmdprof.motion"]));
    assert!(String::from_utf8_lossy(&table.stdout).contains("more; see --top"), "{table:?}");
}

#[test]
fn a_recorded_run_gives_what_the_run_gives() {
    let directory = scratch();
    let program = build("c", directory.path());
    let words = ["matmul_tiled", "4", "2"];
    let run = json(&mut motion(directory.path(), ["--format", "json", &program].into_iter().chain(words)));
    succeed(dmdprof().args(["record", "-o", "loops.trace", &program]).args(words).current_dir(directory.path()));
    let recorded = json(&mut motion(directory.path(), ["--format", "json", "loops.trace"]));
    assert_eq!(run["sheets"], recorded["sheets"]);

    std::fs::write(directory.path().join("calls.c"), CALLS).expect("writable");
    succeed(dmdprof().args(["build", "calls.c"]).current_dir(directory.path()));
    let record = dmdprof().args(["record", "./calls", "4"]).current_dir(directory.path()).status();
    assert_eq!(record.expect("started").code(), Some(3), "the program's own");
    let unmarked = motion(directory.path(), ["dmdprof.trace"]).output().expect("started");
    assert!(!unmarked.status.success());
    assert!(String::from_utf8_lossy(&unmarked.stderr).contains("compiled without marks"), "{unmarked:?}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let directory = scratch();
    std::fs::write(directory.path().join("calls.c"), CALLS).expect("writable");
    let say = |command: &mut Command| {
        let output = command.output().expect("started");
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(say(&mut motion(directory.path(), [])).contains("make it with `dmdprof motion PROGRAM`"));
    succeed(dmdprof().args(["build", "calls.c"]).current_dir(directory.path()));
    assert!(say(&mut motion(directory.path(), ["./calls", "4"])).contains("dmdprof cc --dmdprof-loops"));
    // With marks, every other command works as without.
    let report = |words: &[&str]| {
        succeed(dmdprof().args(["build", "calls.c"]).args(words).current_dir(directory.path()));
        let run = dmdprof().args(["run", "-q", "./calls", "4"]).current_dir(directory.path()).status();
        assert_eq!(run.expect("started").code(), Some(3));
        succeed(dmdprof().args(["report", "--format", "csv"]).current_dir(directory.path())).stdout
    };
    assert_eq!(report(&[]), report(&["--loops"]));
    assert_eq!(motion(directory.path(), ["./calls", "4"]).output().expect("started").status.code(), Some(3));
    assert!(say(&mut motion(directory.path(), ["-l", "nothing"])).contains("no loop is called nothing"));
    std::fs::write(directory.path().join("dmdprof.motion"), "nonsense").expect("writable");
    assert!(say(&mut motion(directory.path(), [])).contains("not a file that `dmdprof motion` wrote"));
}

/// A loop that is unrolled and an array that nobody reads are named; without optimisation, and of a program that has
/// both, nothing is.
#[test]
fn what_the_optimiser_took_away_is_named() {
    const SOURCE: &str = "\
#include <stdio.h>
enum { N = 64 };
static double a[N], b[N], gone[N];
int main(void) {
    for (int i = 0; i < N; i++) a[i] = i;
    for (int i = 0; i < N; i++) gone[i] = 2 * a[i];
    for (int i = 0; i < 4; i++) b[i] = a[i];
    double s = 0;
    for (int i = 0; i < N; i++) s += a[i] * b[i % 4];
    printf(\"%g\\n\", s);
    return 0;
}
";
    let directory = scratch();
    std::fs::write(directory.path().join("removed.c"), SOURCE).expect("writable");
    let said = |options: &[&str]| {
        let mut motion = dmdprof();
        motion.arg("motion").args(options).arg("removed.c").current_dir(directory.path());
        String::from_utf8(succeed(&mut motion).stdout).expect("text")
    };
    let optimised = said(&[]);
    let words: String = optimised.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the loops at removed.c:6, removed.c:7 and the variables gone."), "{optimised}");
    assert!(!said(&["-O", "0"]).contains("Gone in the optimised program"));
}
