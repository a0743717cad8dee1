//! Kernels whose traffic in lines is known from first principles, measured beside bytes and compared to the last byte.

use dmdprof_tests::profiled::{Profiled, Run};
use dmdprof_tests::programs::{Compiler, Program};
use dmdprof_tests::tool::{describe, in_tests, scratch};

const LINE: u64 = 64;
/// Memories: one that no array fits into, and one that holds a few columns of a matrix but no array.
const SMALL: u64 = 32 << 10;
const LARGE: u64 = 1 << 20;
/// Elements of an array, of a row of a matrix, and numbers of structures and passes, as in `kernels.c`.
const N: u64 = 1 << 20;
const COUNT: u64 = 4096;
const PASSES: u64 = 3;

fn measure(source: &str, defines: &[String], options: &[&str]) -> Profiled {
    let program = Program::of(in_tests("lines").join(source)).defines(defines.iter().cloned());
    let directory = scratch();
    let run = Run::new(program.build(&Compiler::dmdprof()), directory.path()).options(options.iter().copied());
    let profiled = run.go();
    assert!(profiled.output.status.success(), "{source} {defines:?}: {}", describe(&profiled.output));
    profiled.report.assert_consistent();
    profiled
}

/// Compares what one pass of a kernel fetches and writes back, in bytes, in the small memory and, if that is told too, in the large one.
fn check(defines: &[&str], expected: &[[u64; 2]]) {
    let defines: Vec<String> = defines.iter().map(|define| (*define).to_string()).collect();
    let profiled = measure("kernels.c", &defines, &["--line-size", "64"]);
    let kernel = profiled.report.function("kernel");
    for (capacity, expected) in [SMALL, LARGE].into_iter().zip(expected.iter().copied()) {
        let moved = kernel.moved(capacity).unwrap_or_else(|| panic!("no memory of {capacity} bytes"));
        assert_eq!(moved, expected.map(|bytes| bytes * PASSES), "{defines:?} at {capacity} bytes");
    }
}

/// A store brings its line in, so that copy and scale move 24 bytes per iteration, add and triad 32.
#[test]
fn stream() {
    for (kernel, reads) in [("COPY", 1), ("SCALE", 1), ("ADD", 2), ("TRIAD", 2)] {
        let moved = [(reads + 1) * 8 * N, 8 * N];
        check(&[&format!("KERNEL={kernel}")], &[moved, moved]);
    }
}

/// A column of a matrix has more lines than the small memory: each store of the transpose fetches and writes back a line.
#[test]
fn transposes() {
    let once = [2 * 8 * N, 8 * N];
    check(&["KERNEL=TRANSPOSE"], &[[8 * N + LINE * N, LINE * N], once]);
    check(&["KERNEL=BLOCKED_TRANSPOSE"], &[once, once]);
}

#[test]
fn walks() {
    check(&["KERNEL=ROW_WALK"], &[[8 * N, 0]; 2]);
    check(&["KERNEL=COLUMN_WALK"], &[[LINE * N, 0], [8 * N, 0]]);
}

/// Rows are 8 KiB apart: a column lies in one set of the first level and in eight sets of 16 lines of the second, which its 1,024 lines overflow.
#[test]
fn a_column_walk_conflicts() {
    let defines = ["KERNEL=COLUMN_WALK".to_string()];
    for policy in ["lru", "plru"] {
        let levels = format!("32KiB,8,64,{policy},1MiB,16,64,{policy}");
        let profiled = measure("kernels.c", &defines, &["--cache", &levels]);
        let kernel = profiled.report.function("kernel");
        let each = LINE * N * PASSES;
        assert_eq!(kernel.cached(1), [each, 0, 0], "{policy}: an ideal memory of 32 KiB does no better");
        assert_eq!(kernel.cached(2), [each, 0, each - 8 * N * PASSES], "{policy}: one of 1 MiB fetches each line once");
    }
}

/// Structures of 48 bytes share lines; 4,000 bytes apart every second one lies in two lines.
#[test]
fn padded_structures() {
    let packed = COUNT * 48;
    check(&["KERNEL=STRUCTURES", "SIZE=48"], &[[packed, 0]]);
    let padded = COUNT * 3 / 2 * LINE;
    check(&["KERNEL=STRUCTURES", "SIZE=4000"], &[[padded, 0]]);
}

/// A record as long as a line that begins in the middle of one costs two.
#[test]
fn false_alignment() {
    check(&["KERNEL=RECORDS"], &[[COUNT * LINE, 0]]);
    check(&["KERNEL=RECORDS", "OFFSET=32"], &[[2 * COUNT * LINE, 0]]);
}

/// HayStack's numbers for 1024 x 1024 floats are these forms: compulsory misses, and capacity misses at 32 KiB and 512 KiB.
fn gemm(n: u64) -> (u64, u64) {
    (3 * n * n / 16, (n - 1) * n * n / 16)
}

#[test]
fn gemm_as_published() {
    const SIDE: u64 = 1024;
    assert_eq!(gemm(SIDE), (196_608, 67_043_328));
    let (first, again) = gemm(SIDE);
    let profiled = measure("gemm.c", &[], &["--line-size", "64"]);
    let moved = profiled.report.function("gemm").moved(SMALL).expect("a memory of 32 KiB");
    // Each row of C is written back once.
    assert_eq!(moved, [(first + again) * LINE, SIDE * SIDE / 16 * LINE]);
}

/// The same of a stack of lines alone, at a size that takes a fraction of the time.
#[test]
fn gemm_of_lines_alone() {
    const SIDE: u64 = 512;
    let (first, again) = gemm(SIDE);
    let profiled = measure("gemm.c", &[format!("N={SIDE}")], &["--line", "64", "--liveness", "none"]);
    assert_eq!(profiled.report.misses(SMALL), first + again);
}
