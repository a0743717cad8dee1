//! Programs in which what dies leaves its place: the traffic at a size beside what is read deeper than it, as derived
//! by hand in the head of each program.

use dmdprof_tests::profiled::{Function, Profiled, Run};
use dmdprof_tests::programs::{Compiler, Program};
use dmdprof_tests::tool::{describe, dmdprof, in_tests, output, scratch, succeed};

const BLOCK: u64 = 4096;
const GRID: u64 = 64 << 10;

fn measure(directory: &std::path::Path, source: &str, defines: &[&str], options: &[&str]) -> Profiled {
    let program = Program::from_source(in_tests("traffic").join(source)).defines(defines.iter().copied());
    let run = Run::new(program.build(&Compiler::dmdprof()), directory).options(options.iter().copied());
    let profiled = run.go();
    assert!(profiled.output.status.success(), "{source} {defines:?}: {}", describe(&profiled.output));
    profiled.report.assert_consistent();
    profiled
}

fn beyond(buckets: Vec<(u64, u64, u64)>, size: u64) -> u64 {
    buckets.into_iter().filter(|(low, ..)| *low > size).map(|(.., bytes)| bytes).sum()
}

/// Traffic at a size, and what is read deeper.
fn at(function: Function<'_>, size: u64) -> [u64; 2] {
    [beyond(function.by_capacity(), size), beyond(function.histogram(), size)]
}

/// Memories of some blocks; each an end of a bucket.
const SIZES: [u64; 7] = [1, 2, 4, 8, 16, 32, 48];

#[test]
fn a_stack_of_arrays() {
    for options in [&[][..], &["--liveness", "exact"]] {
        for rounds in [1, 3] {
            let directory = scratch();
            let defines = ["N=64", &format!("ROUNDS={rounds}")];
            let profiled = measure(directory.path(), "stack.c", &defines, options);
            let drain = profiled.report.function("drain");
            for blocks in SIZES {
                let expected = [rounds * (64 - blocks) * BLOCK, 0];
                assert_eq!(at(drain, blocks * BLOCK), expected, "{blocks} blocks, {rounds} rounds, {options:?}");
            }
            assert_eq!(at(drain, 64 * BLOCK), [0, 0]);
        }
    }
}

#[test]
fn recursion() {
    for options in [&[][..], &["--liveness", "exact"]] {
        let directory = scratch();
        let profiled = measure(directory.path(), "recursion.c", &["N=64"], options);
        let down = profiled.report.function("down");
        for blocks in SIZES {
            assert_eq!(at(down, blocks * BLOCK), [(64 - blocks) * BLOCK, 0], "{blocks} blocks, {options:?}");
        }
    }
}

#[test]
fn a_work_queue() {
    let directory = scratch();
    let profiled = measure(directory.path(), "queue.c", &["STEPS=10"], &[]);
    let (work, finish) = (profiled.report.function("work"), profiled.report.function("finish"));
    for blocks in [1, 2, 3, 4] {
        assert_eq!(at(work, blocks * BLOCK), [10 * BLOCK; 2], "{blocks} blocks");
    }
    assert_eq!(at(work, 5 * BLOCK), [0; 2]);
    let expected = [[4, 3], [3, 2], [2, 1], [1, 0], [0, 0]];
    for (blocks, expected) in (1..).zip(expected) {
        assert_eq!(at(finish, blocks * BLOCK), expected.map(|n| n * BLOCK), "{blocks} blocks");
    }
}

#[test]
fn a_stencil_with_dead_grids() {
    let directory = scratch();
    let profiled = measure(directory.path(), "grids.c", &["STEPS=5"], &[]);
    let [smooth, apply] = ["smooth", "apply"].map(|name| profiled.report.function(name));
    assert_eq!(at(smooth, GRID), [0, 0]);
    assert_eq!(at(apply, GRID), [5 * GRID, 0]);
    assert_eq!(at(apply, 2 * GRID), [0, 0]);
}

#[test]
fn without_deaths_both_are_the_same() {
    let directory = scratch();
    for liveness in ["none", "hints"] {
        let profiled = measure(directory.path(), "scan.c", &[], &["--liveness", liveness]);
        let scan = profiled.report.function("scan");
        assert_eq!(scan.by_capacity(), scan.histogram());
        assert!(at(scan, GRID)[0] > 0);
    }
    let profiled = measure(directory.path(), "stack.c", &["N=64"], &["--liveness", "none"]);
    let drain = profiled.report.function("drain");
    assert_eq!(drain.by_capacity(), drain.histogram(), "nothing dies with liveness none");
}

/// Lines do not die: what is freed lies where the free places of bytes are. Blocks are whole lines.
#[test]
fn lines_of_blocks_agree_with_bytes() {
    let directory = scratch();
    let profiled = measure(directory.path(), "stack.c", &["N=512"], &["--line-size", "64"]);
    let drain = profiled.report.function("drain");
    for size in [32 << 10, 1 << 20] {
        let [fetched, _] = drain.moved(size).expect("it is listed");
        assert_eq!(fetched, at(drain, size)[0], "{size} bytes");
    }
    // And the other commands go by it.
    let text = |arguments: &[&str]| {
        let output = succeed(dmdprof().args(arguments).arg(&profiled.profile));
        String::from_utf8(output.stdout).expect("text")
    };
    let report = text(&["report", "--depths"]);
    let line = report.lines().find(|line| line.trim_start().starts_with("64.0 KiB")).expect("a line");
    assert!(line.contains("0 B") && line.contains("1.94 MiB"), "{line}");
    let curve = text(&["curve", "--format", "csv"]);
    let heads: Vec<&str> = curve.lines().next().expect("a head").split(',').collect();
    let column = |name| heads.iter().position(|head| *head == name).unwrap_or_else(|| panic!("{name} in {heads:?}"));
    let (capacity, traffic, deeper) = (column("capacity"), column("traffic"), column("deeper"));
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let row = curve.lines().map(cells).find(|cells| cells[capacity] == "65536").expect("a row at 64 KiB");
    assert_eq!([&row[traffic], &row[deeper]], [&((512 - 16) * BLOCK).to_string(), "0"]);
}

#[test]
fn the_gate_compares_traffic_and_not_what_baselines_of_before_called_so() {
    let directory = scratch();
    let profiled = measure(directory.path(), "stack.c", &["N=64"], &[]);
    let check = |limit: &str| {
        let mut command = dmdprof();
        command.args(["check", "--profile"]).arg(&profiled.profile).args(["--baseline", "b.toml", "--limit", limit]);
        output(command.current_dir(directory.path()))
    };
    let mut save = dmdprof();
    save.args(["check", "--profile"]).arg(&profiled.profile).args(["--save-baseline", "b.toml"]);
    succeed(save.current_dir(directory.path()));
    assert!(check("Q(64KiB)=0%").status.success());
    let path = directory.path().join("b.toml");
    let saved = std::fs::read_to_string(&path).expect("a baseline");
    assert!(saved.contains("capacities = {"), "{saved}");
    let old: Vec<String> =
        saved.lines().filter(|line| !line.starts_with("capacities")).map(without_capacities).collect();
    std::fs::write(&path, old.join("\n").replace("version = 3", "version = 1") + "\n").expect("a file");
    assert!(check("cost=0%").status.success(), "all else is compared");
    assert!(check("deeper(64KiB)=0%").status.success());
    let sorted = |metric: &str| {
        let mut diff = dmdprof();
        diff.args(["diff", "--sort", metric, "b.toml"]).arg(&profiled.profile);
        output(diff.current_dir(directory.path()))
    };
    assert!(sorted("deeper(64KiB)").status.success());
    let unknown = sorted("Q(64KiB)");
    assert!(!unknown.status.success() && describe(&unknown).contains("is not known of both"), "{}", describe(&unknown));
    let refused = check("Q(64KiB)=0%");
    let said = String::from_utf8_lossy(&refused.stdout).into_owned() + &String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("make the baseline again with --accept"), "{said}");
}

/// The line of a function, as baselines had it before they knew traffic.
fn without_capacities(line: &str) -> String {
    match line.split_once(", capacities = {") {
        None => line.to_owned(),
        Some((before, after)) => before.to_owned() + after.split_once('}').expect("a table").1,
    }
}
