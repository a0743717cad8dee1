//! Kernels whose traffic in lines is known from first principles, measured beside bytes and compared to the last byte.

use std::fs;
use std::path::Path;

use dmdprof_tests::profiled::{Profiled, Report, Run};
use dmdprof_tests::programs::{Compiler, Program, case};
use dmdprof_tests::tool::{describe, dmdprof, in_tests, is_long, scratch, succeed};
use serde_json::Value;

const LINE: u64 = 64;
/// Memories: one that no array fits into, and one that holds a few columns of a matrix but no array.
const SMALL: u64 = 32 << 10;
const LARGE: u64 = 1 << 20;
/// Elements of an array, of a row of a matrix, and numbers of structures and passes, as in `kernels.c`.
const N: u64 = 1 << 20;
const COUNT: u64 = 4096;
const PASSES: u64 = 3;

fn measure(source: &str, defines: &[String], options: &[&str]) -> Profiled {
    measure_in(scratch().path(), source, defines, options)
}

/// As `measure`; the profile stays as long as the directory.
fn measure_in(directory: &Path, source: &str, defines: &[String], options: &[&str]) -> Profiled {
    let program = Program::from_source(in_tests("lines").join(source)).defines(defines.iter().cloned());
    let run = Run::new(program.build(&Compiler::dmdprof()), directory).options(options.iter().copied());
    let profiled = run.go();
    assert!(profiled.output.status.success(), "{source} {defines:?}: {}", describe(&profiled.output));
    profiled.report.assert_consistent();
    profiled
}

/// Compares what one pass of a kernel fetches and writes back, in bytes, in the small memory and, if that is told too,
/// in the large one.
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

/// A column of a matrix has more lines than the small memory: each store of the transpose fetches and writes back a
/// line.
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

/// Rows are 8 KiB apart: a column lies in one set of the first level and in eight sets of 16 lines of the second, which
/// its 1,024 lines overflow.
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

/// The transpose of `a` to `b` is one loop, the update of `c` another; each object and each loop has its own traffic.
#[test]
fn objects_and_loops() {
    let directory = scratch();
    let defines = ["KERNEL=TWO_LOOPS".to_string()];
    let profiled = measure_in(directory.path(), "kernels.c", &defines, &["--line-size", "64", "--objects"]);
    let said = succeed(dmdprof().args(["report", "--objects", "--format", "json"]).arg(&profiled.profile));
    let document: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let rows = |sheet: &str| {
        let sheets = document["sheets"].as_array().expect("sheets");
        let sheet = sheets.iter().find(|s| s["name"] == sheet).unwrap_or_else(|| panic!("no sheet {sheet}"));
        let of_kernel = |row: &&Value| row["function"] == "kernel";
        sheet["rows"].as_array().expect("rows").iter().filter(of_kernel).cloned().collect::<Vec<_>>()
    };
    let moved = |row: &Value| {
        let each = |field: &str| row[field].as_u64().unwrap_or_else(|| panic!("no {field} in {row}")) / PASSES;
        ["fetched_32kib", "written_back_32kib", "fetched_1mib", "written_back_1mib"].map(each)
    };
    let of = |sheet: &str, field: &str, name: &str| {
        let rows = rows(sheet);
        let mut found = rows.iter().filter(|row| row[field].as_str().is_some_and(|text| text.ends_with(name)));
        let one = found.next().unwrap_or_else(|| panic!("no {name} in {rows:?}"));
        assert!(found.next().is_none(), "several {name} in {rows:?}");
        moved(one)
    };
    let array = 8 * N;
    assert_eq!(of("uses", "object", "a"), [array, 0, array, 0]);
    assert_eq!(of("uses", "object", "b"), [LINE * N, LINE * N, array, array]);
    assert_eq!(of("uses", "object", "c"), [array; 4]);
    let source = fs::read_to_string(in_tests("lines").join("kernels.c")).expect("readable");
    let line_of = |text: &str| 1 + source.lines().position(|line| line.contains(text)).expect("it is there");
    let (transpose, update) = (line_of("KERNEL == TWO_LOOPS") + 2, line_of("c[i] += s") - 1);
    assert_eq!(of("loops", "loop", &format!("kernels.c:{transpose}")), [array + LINE * N, LINE * N, 2 * array, array]);
    assert_eq!(of("loops", "loop", &format!("kernels.c:{update}")), [array; 4]);
    // Of what the transpose loads each byte is used; its stores read nothing.
    let uses = rows("uses");
    let share = |name: &str| uses.iter().find(|row| row["object"] == name).map(|row| row["line_use_32kib"].as_f64());
    assert_eq!((share("a"), share("b")), (Some(Some(1.0)), Some(None)));
}

/// Each size has a stack of its own, and what it moves is what it moves alone.
#[test]
fn several_sizes_at_once() {
    let defines = ["KERNEL=COLUMN_WALK".to_string()];
    let directory = scratch();
    let both = measure_in(directory.path(), "kernels.c", &defines, &["--line-size", "64,128", "--objects"]);
    let said = |options: &[&str]| {
        let mut command = dmdprof();
        succeed(command.arg("report").args(["--format", "json", "--no-inline"]).args(options).arg(&both.profile)).stdout
    };
    let moved = |report: &[u8]| serde_json::from_slice::<Value>(report).expect("JSON")["totals"]["moved"].clone();
    let (first, second) = (moved(&said(&[])), moved(&said(&["--line-size", "128"])));
    assert_eq!(first, moved(&said(&["--line-size", "64"])));
    assert_ne!(first, second);
    for (size, expected) in [("64", first), ("128", second)] {
        let alone = measure("kernels.c", &defines, &["--line-size", size]);
        assert_eq!(alone.report.0["totals"]["moved"], expected, "{size}");
    }
    let objects = |size: &str| {
        let output = succeed(
            dmdprof().args(["report", "--objects", "--format", "json", "--line-size", size]).arg(&both.profile),
        );
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = document["sheets"][0]["rows"].as_array().expect("rows").clone();
        rows.iter().find(|row| row["object"] == "a").expect("the matrix")["fetched_32kib"].as_u64().expect("a number")
    };
    // A column of 1,024 elements is in as many lines of either size; `main` fills three arrays in order before and
    // reads an element after.
    let (filled, walked) = (8 * N, |line: u64| line * N * PASSES);
    assert_eq!([64, 128].map(|line| objects(&line.to_string()) - walked(line)), [filled + 64, filled + 128]);
    let refused = dmdprof().args(["report", "--line-size", "32"]).arg(&both.profile).output().expect("it runs");
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("lines of 32 B were not measured, but of 64,128"), "{message}");
}

/// Nobody has to ask for lines: a run has those of 64 bytes, a recording too, and neither changes what is known of
/// bytes.
#[test]
fn lines_of_64_bytes_are_measured_unless_they_are_left_out() {
    let directory = scratch();
    let at = directory.path();
    let program = case("layout").build(&Compiler::dmdprof());
    succeed(dmdprof().arg("record").arg(&program).current_dir(at));
    let profile = |words: &[&str], program: Option<&Path>| {
        let mut command = dmdprof();
        command.args(words).args(["--quiet", "-o", "x.data"]).args(program).current_dir(at);
        succeed(&mut command);
        (fs::read(at.join("x.data")).expect("a profile"), Report::read(&at.join("x.data")))
    };
    let (usual, report) = profile(&["run"], Some(&program));
    assert_eq!(usual, profile(&["run", "--line-size", "64"], Some(&program)).0);
    assert_eq!(usual, profile(&["replay"], None).0);
    assert!(report.0["totals"]["moved"].is_array(), "{}", report.0["totals"]);
    let (_, without) = profile(&["run", "--no-lines"], Some(&program));
    assert!(without.0["totals"].get("moved").is_none(), "{}", without.0["totals"]);
    for what in ["cost", "read", "written", "cold", "accesses", "peak_live", "footprint"] {
        assert_eq!(report.total(what), without.total(what), "{what}");
    }
}

/// HayStack's numbers for 1024 x 1024 floats are these forms: compulsory misses, and capacity misses at 32 KiB and 512
/// KiB.
fn gemm(n: u64) -> (u64, u64) {
    (3 * n * n / 16, (n - 1) * n * n / 16)
}

#[test]
fn gemm_as_published() {
    assert_eq!(gemm(1024), (196_608, 67_043_328));
    let side = if is_long() { 1024 } else { 512 };
    let (first, again) = gemm(side);
    let profiled = measure("gemm.c", &[format!("N={side}")], &["--line-size", "64"]);
    let moved = profiled.report.function("gemm").moved(SMALL).expect("a memory of 32 KiB");
    // Each row of C is written back once.
    assert_eq!(moved, [(first + again) * LINE, side * side / 16 * LINE]);
}

/// The same without a stack of bytes, at a size that takes a fraction of the time.
#[test]
fn gemm_of_lines_alone() {
    const SIDE: u64 = 512;
    let (first, again) = gemm(SIDE);
    let directory = scratch();
    let profiled = measure_in(directory.path(), "gemm.c", &[format!("N={SIDE}")], &["--lines-only"]);
    let moved = profiled.report.function("gemm").moved(SMALL).expect("a memory of 32 KiB");
    assert_eq!(moved, [(first + again) * LINE, SIDE * SIDE / 16 * LINE]);
    assert_eq!((profiled.report.total("cost"), profiled.report.total("read")), (0, 0));
    let report = succeed(dmdprof().args(["report", "-v"]).arg(&profiled.profile));
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.contains("lines only: no ByteDMD") && !report.contains("depth <="), "{report}");
    // What goes by depths of bytes says so.
    let page = dmdprof().args(["run", "--lines-only", "--html", "x.html", "gemm.c"]).output().expect("dmdprof starts");
    let said = String::from_utf8_lossy(&page.stderr);
    assert!(page.status.code() == Some(2) && said.contains("--html cannot be combined with --lines-only"), "{said}");
    for command in ["roofline", "annotate", "view"] {
        let refused = dmdprof().args([command, "-p"]).arg(&profiled.profile).output().expect("dmdprof starts");
        assert!(
            !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("has lines only"),
            "{command}: {}",
            describe(&refused)
        );
    }
}
