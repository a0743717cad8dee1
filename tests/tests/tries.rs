//! What a plain run says to try: on kernels in variants of which one is known to be better, and on those of the
//! examples.
//!
//! Takes variants and what is to be tried there; refuses another word, or one where nothing is known to be better.

use std::{ffi::OsStr, fs, path::Path, process::Command};

use dmdprof_tests::{
    pairs::{Set, kernels},
    tool::{cases, describe, dmdprof, in_tests, scratch, succeed},
};
use serde_json::Value;

fn json(command: &mut Command) -> Value {
    let output = succeed(command.args(["--format", "json"]));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{}", describe(&output)))
}

/// What is to be tried where most lines come from, and what `why` says there first.
fn tried(set: Set, kernel: &str, variant: &str, options: &[&str]) -> [String; 2] {
    let directory = scratch();
    let all = kernels(set);
    let found = all.iter().find(|other| other.name == kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
    tried_of(found.source_of(variant, directory.path()), directory.path(), options)
}

fn tried_of(source: impl AsRef<OsStr>, directory: &Path, options: &[&str]) -> [String; 2] {
    let mut run = dmdprof();
    succeed(run.args(["run", "-q"]).args(options).arg(source).current_dir(directory));
    let pairs = json(dmdprof().arg("why").current_dir(directory));
    let cures = pairs["sheets"][0]["rows"][0]["cures"].as_str().expect("a pair with cures").to_owned();
    let report = json(dmdprof().args(["report", "--sort", "moved"]).current_dir(directory));
    let row = &report["functions"][0];
    [row["try"].as_str().unwrap_or("-").to_owned(), cures]
}

/// Of each, the other variant is faster on the clock, by what the word says.
#[test]
fn slower_variants_are_told_what_the_faster_ones_do() {
    let slower = [
        (Set::Base, "walk", "column", "interchange"),
        (Set::Base, "stencil3d", "xyz", "interchange"),
        (Set::Polybench, "gemm", "ijk", "interchange"),
        (Set::Base, "field", "array_of_structures", "pack"),
        (Set::Base, "vectors", "unfused", "fuse"),
        (Set::Base, "matvec", "column", "interchange"),
        (Set::Base, "mvt", "column", "interchange"),
        (Set::Base, "floyd", "kji", "interchange"),
        (Set::Base, "blur", "down_columns", "interchange"),
        (Set::Base, "moments", "passes", "fuse"),
    ];
    for (set, kernel, variant, expected) in cases(slower, 3) {
        let [word, cures] = tried(set, kernel, variant, &[]);
        assert_eq!(word, expected, "{kernel} {variant}: {cures}");
        assert!(cures.starts_with(expected), "{kernel} {variant}: {cures}");
    }
}

/// These are the faster variants, or no order of what they do is known to be better.
#[test]
fn faster_variants_are_left_alone() {
    let faster = [
        (Set::Base, "gather", "random"),
        // What decides where these go is data: no other order of loops is at hand, and no blocks are.
        (Set::Base, "graph", "lists"),
        // Lines of a whole column stay in the second level until they are used: blocks are no faster.
        (Set::Base, "transpose", "plain"),
        (Set::Base, "field", "structure_of_arrays"),
        (Set::Polybench, "gemm", "tiled"),
        (Set::Base, "walk", "row"),
        (Set::Base, "matvec", "row"),
        (Set::Base, "floyd", "kij"),
        (Set::Base, "graph", "compressed"),
        (Set::Base, "transpose", "blocked"),
        (Set::Base, "stencil3d", "zyx"),
        (Set::Polybench, "gemm", "ikj"),
    ];
    for (set, kernel, variant) in cases(faster, 3) {
        let [word, cures] = tried(set, kernel, variant, &[]);
        assert_eq!([word.as_str(), cures.as_str()], ["-", "-"], "{kernel} {variant}");
    }
}

/// The lines of a column do not stay in a second level of 1 MiB. In blocks of 16 by 16 it is faster.
#[test]
fn a_transposition_is_told_blocks_where_columns_do_not_stay() {
    const SOURCE: &str = "
#include <stdio.h>
enum { ROWS = 160, COLUMNS = 24000 };
static float a[ROWS][COLUMNS], b[COLUMNS][ROWS];
int main(int argc, char **argv) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) a[i][j] = argc;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) b[j][i] = a[i][j];
    printf(\"%f\\n\", b[COLUMNS / 2][ROWS / 2]);
}
";
    // In blocks, whose rows are a line long, another order gains nothing.
    const BLOCKS: &str =
        "for (int k = 0; k < ROWS * COLUMNS / 256; k++) for (int i = k / 1500 * 16; i < k / 1500 * 16 + 16; i++)
        for (int j = k % 1500 * 16; j < k % 1500 * 16 + 16; j++) b[j][i]";
    let directory = scratch();
    let source = directory.path().join("wide.c");
    let loops = "for (int i = 0; i < ROWS; i++)\n        for (int j = 0; j < COLUMNS; j++) b[j][i]";
    fs::write(&source, SOURCE.replace(loops, BLOCKS)).expect("a source");
    let [word, cures] = tried_of(&source, directory.path(), &[]);
    assert!(!["interchange", "tile"].contains(&word.as_str()), "{word}: {cures}");
    fs::write(&source, SOURCE).expect("a source");
    assert_eq!(tried_of(&source, directory.path(), &[]), ["tile", "tile"]);
    assert_eq!(tried_of(&source, directory.path(), &["--lines-only"]), ["tile", "tile"]);
}

/// Sums of columns, whose load and addition are statements of two lines: the first has the lines, the second the cycles.
#[test]
fn lines_that_only_compute_count_for_the_accesses_of_their_loop() {
    const SOURCE: &str = "
#include <stdio.h>
enum { ROWS = 2000, COLUMNS = 200 };
static float image[ROWS * COLUMNS];
int main(int argc, char **argv) {
    for (int i = 0; i < ROWS * COLUMNS; i++) image[i] = argc;
    double all = 0;
    for (int column = 0; column < COLUMNS; column++) {
        double sum = 0;
        for (int row = 0; row < ROWS; row++) {
            float value = image[row * COLUMNS + column];
            sum += value;
        }
        all += sum;
    }
    printf(\"%f\\n\", all);
}
";
    let directory = scratch();
    let source = directory.path().join("sums.c");
    fs::write(&source, SOURCE).expect("a source");
    assert_eq!(tried_of(&source, directory.path(), &[]), ["interchange", "interchange"]);
}

#[test]
fn lines_alone_are_enough_and_without_them_nothing_is_said() {
    assert_eq!(tried(Set::Base, "walk", "column", &["--lines-only"]), ["interchange", "interchange"]);
    let directory = scratch();
    fs::copy(in_tests("../examples/matmul.c"), directory.path().join("matmul.c")).expect("an example");
    succeed(dmdprof().args(["run", "-q", "--no-lines", "matmul.c", "32"]).current_dir(directory.path()));
    let refused = dmdprof().arg("why").current_dir(directory.path()).output().expect("dmdprof starts");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("without --no-lines"), "{}", describe(&refused));
}
