//! Stacks of threads alone beside the one that they share, in one run: each is what a run of its own gives, and a
//! matrix product has the traffic that follows from its loops.

use std::path::Path;

use dmdprof::profile::{
    self, Profile,
    model::{AccessKind, Alone, CellCounts, Histogram, bounds},
};
use dmdprof_tests::profiled::Run;
use dmdprof_tests::programs::{Compiler, case};
use dmdprof_tests::tool::{describe, dmdprof, scratch, succeed};

const SHARED: [&str; 2] = ["--threads", "shared"];

fn profiled(program: &Path, options: &[&str]) -> Profile {
    let directory = scratch();
    let run = Run::new(program, directory.path()).options(options).go();
    assert!(run.output.status.success(), "{}", describe(&run.output));
    profile::read(&run.profile).expect("a profile")
}

#[test]
fn both_halves_are_those_of_runs_of_their_own() {
    let program = case("turns").build(&Compiler::dmdprof());
    let sizes = ["--line-size", "64,128"];
    let private = profiled(&program, &sizes);
    for mode in [&SHARED[..], &["--threads", "clusters:2", "--turn", "7"]] {
        let shared = profiled(&program, &[mode, &sizes].concat());
        let mut both = profiled(&program, &[mode, &sizes, &["--levels"]].concat());
        let alone = both.stacks.as_mut().and_then(|stacks| stacks.alone.take()).expect("it was asked for");
        let found: Vec<_> = both.cells.iter_mut().map(|c| (c.context, c.site, c.counts.alone.take())).collect();
        assert_eq!(both, shared, "{mode:?}: nothing else may differ");

        assert_eq!(alone.totals, private.totals, "{mode:?}");
        assert_eq!(alone.threads, private.threads, "{mode:?}");
        assert_eq!(alone.cold_histogram, private.cold_histogram, "{mode:?}");
        let of_private = private.cells.iter().map(|c| {
            let CellCounts { cold, cost, depths, lines, .. } = c.counts.clone();
            let did = cost > 0 || lines.is_some();
            (c.context, c.site, did.then(|| Box::new(Alone { cold, cost, depths, lines })))
        });
        assert_eq!(found, of_private.collect::<Vec<_>>(), "{mode:?}");
        assert!(found.iter().any(|(.., alone)| alone.as_ref().is_some_and(|alone| alone.lines.is_some())), "{mode:?}");
        assert_ne!(alone.totals.cost, shared.totals.cost, "else the test shows nothing");
    }
}

/// Reads of B are deeper than half of B, or nearer:
///
/// B has 8 N^2 bytes, and a thread goes through it once for each of its N/4 rows. On its own stack, all of B lies
/// between two reads of one byte, so that each pass but the first has all of its bytes deeper than half of B; how deep
/// a first touch is depends on what came before.
///
/// On the common stack, each byte of B is read four times per pass, by threads at the same place of the same loop. They
/// begin less than a turn of 64 accesses apart, as `main` does only a few between making one and the next, and so are
/// never more than two turns apart. From the first to the last of the four, each thread does three turns at most, and
/// an access has at most 32 bytes: 4 * 3 * 64 * 32 B = 24 KiB are touched, less than half of B, which is 36 KiB. So
/// three of four reads are nearer than half of B. Since the pass before (or `main`), all of B was touched before the
/// first of the four, but for two turns at most: that one is deeper. So a quarter of all reads, exactly.
#[test]
fn the_rows_of_a_matrix_product_share_what_they_read() {
    const N: u64 = 96;
    const LINE_OF_B: u32 = 17;
    let program = case("row_blocks").build(&Compiler::dmdprof());
    let both = profiled(&program, &[&SHARED[..], &["--levels"]].concat());
    let is_of_b = |site: profile::model::SiteId| {
        let site = &both.sites[site.index()];
        let line = site.position.map(|position| both.positions[position.index()].line);
        site.kind == AccessKind::Load && line == Some(LINE_OF_B)
    };
    let half = 8 * N * N / 2;
    let deep = |histogram: &Histogram| -> u64 {
        let buckets = histogram.depths.iter().filter(|(bucket, _)| bounds(*bucket).0 > half);
        buckets.map(|(_, bytes)| bytes).sum()
    };
    let (b, passes) = (8 * N * N, N / 4);
    let cells = both.cells.iter().filter(|cell| is_of_b(cell.site));
    let (all, shared) = cells.fold((0, 0), |(all, beyond), c| (all + c.read, beyond + deep(&c.depths)));
    assert_eq!(all, 4 * passes * b, "each thread reads B once per row");
    assert_eq!(shared, passes * b, "once per row for all threads together");
    let cells = both.cells.iter().filter(|cell| is_of_b(cell.site));
    let own: u64 = cells.map(|cell| deep(&cell.alone.as_ref().expect("measured").depths)).sum();
    assert!((4 * (passes - 1) * b..=4 * passes * b).contains(&own), "{own}");
}

#[test]
fn a_roofline_takes_each_level_from_its_stack() {
    let program = case("row_blocks").build(&Compiler::dmdprof());
    let directory = scratch();
    let of = |name: &str, options: &[&str]| {
        let path = directory.path().join(name);
        let run = Run::new(&program, directory.path()).options(options).profile(path.clone()).go();
        assert!(run.output.status.success(), "{}", describe(&run.output));
        path
    };
    let roofline = |path: &Path| -> serde_json::Value {
        let machine = ["roofline", "--machine", "skx-6148", "--format", "json"];
        serde_json::from_slice(&succeed(dmdprof().args(machine).arg(path)).stdout).expect("JSON")
    };
    let program_row = |document: &serde_json::Value| document["sheets"][0]["rows"][0].clone();
    let has_note = |document: &serde_json::Value, text: &str| {
        document["notes"].as_array().expect("notes").iter().any(|note| note.as_str().is_some_and(|n| n.contains(text)))
    };
    let private = roofline(&of("private.data", &[]));
    let shared = roofline(&of("shared.data", &SHARED));
    let both = roofline(&of("both.data", &[&SHARED[..], &["--levels"]].concat()));
    let traffic = |document, level: &str| program_row(document)[format!("traffic.{level}")].clone();
    for (level, like, stack) in [("L1", &private, "own"), ("L2", &private, "own"), ("L3", &shared, "shared")] {
        assert_eq!(traffic(&both, level), traffic(like, level), "{level}");
        let rows = both["sheets"][1]["rows"].as_array().expect("the table of levels");
        let row = rows.iter().find(|row| row["level"] == level).expect("a row of the level");
        assert_eq!((row["stack"].as_str(), &row["traffic"]), (Some(stack), &traffic(&both, level)));
    }
    assert_ne!(traffic(&private, "L1"), traffic(&shared, "L1"), "else the test shows nothing");
    assert!(has_note(&private, "dmdprof run --threads shared --levels measures both"), "{private}");
    assert!(has_note(&shared, "dmdprof run --levels, with the same --threads, measures both"), "{shared}");
    assert!(!has_note(&both, "measures both"), "{both}");
}

#[test]
fn levels_need_a_stack_that_threads_share() {
    let output = dmdprof().args(["run", "--levels", "./a"]).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("--threads shared"), "{said}");
}
