//! Threads that share a stack: numbers that are known beforehand, the same profile each time, and what is refused.

use std::path::{Path, PathBuf};
use std::process::Output;

use dmdprof_tests::browser::Browser;
use dmdprof_tests::profiled::{Profiled, Report, Run};
use dmdprof_tests::programs::{Compiler, case, cpp};
use dmdprof_tests::tool::{assert_same, describe, dmdprof, output, scratch, succeed};
use serde_json::Value;

const SHARED: [&str; 2] = ["--threads", "shared"];

fn built(name: &str) -> PathBuf {
    case(name).build(&Compiler::dmdprof())
}

fn profiled(program: &Path, options: &[&str], args: &[&str]) -> (Profiled, Vec<u8>) {
    let directory = scratch();
    let run = Run::new(program, directory.path()).options(options).args(args).go();
    assert!(run.output.status.success(), "{}", describe(&run.output));
    let bytes = std::fs::read(&run.profile).expect("a profile");
    assert_eq!(run.report.lost_events(), 0);
    run.report.assert_consistent();
    (run, bytes)
}

fn undefined(report: &Report) -> [u64; 4] {
    ["contended", "by_run", "unmet", "unseen_starts"].map(|name| {
        report.0["sharing"]["undefined"][name].as_u64().unwrap_or_else(|| panic!("{name} is not in the report"))
    })
}

#[test]
fn static_work_gives_the_same_profile_each_time_whatever_the_scheduler_does() {
    let program = built("turns");
    for mode in [&SHARED[..], &["--threads", "clusters:2"], &["--threads", "shared", "--turn", "1"]] {
        let (run, expected) = profiled(&program, mode, &[]);
        assert_eq!(run.output.stdout, b"301981696\n");
        let [_, by_run, unmet, unseen] = undefined(&run.report);
        assert_eq!([by_run, unmet, unseen], [0, 0, 0]);
        for workers in ["1", "3"] {
            let again = profiled(&program, &[mode, &["--workers", workers]].concat(), &[]).1;
            assert_same(&format!("{mode:?}, {workers} workers"), &expected, &again);
        }
    }
}

#[test]
fn what_is_shared_is_on_one_stack() {
    let program = built("turns");
    let (private, _) = profiled(&program, &[], &[]);
    let (shared, _) = profiled(&program, &SHARED, &[]);
    let rows = 4 * 4096 * 8;
    // Each thread touches its own rows and those that it reads; together they touch all of them once.
    let of = |run: &Profiled, field| run.report.total(field);
    assert!((2 * rows..2 * rows + 4096).contains(&of(&private, "footprint")));
    assert!((rows..rows + 4096).contains(&of(&shared, "footprint")));
    assert_eq!(of(&private, "read"), of(&shared, "read"));
    assert_eq!(of(&private, "accesses"), of(&shared, "accesses"));
    // Initial values of the rows are first touches once; what another thread wrote is none.
    let cold = |run: &Profiled| run.report.0["totals"]["cold"].as_u64().expect("a number");
    assert!((rows..rows + 256).contains(&cold(&shared)), "{}", cold(&shared));
    assert!((2 * rows..2 * rows + 256).contains(&cold(&private)), "{}", cold(&private));
}

#[test]
fn what_a_producer_wrote_is_no_first_touch_of_the_consumer() {
    let program = built("ring");
    let cold = |run: &Profiled, function: &str| {
        let mut rows = run.report.0["functions"].as_array().expect("rows").iter();
        let row = rows.find(|row| row["symbols"][0] == function).expect("the function ran");
        row["exclusive"]["cold"].as_u64().expect("a number")
    };
    let (private, _) = profiled(&program, &[], &[]);
    assert_eq!(cold(&private, "consume"), 64 * 8, "each slot of the ring once");
    let (shared, expected) = profiled(&program, &SHARED, &[]);
    assert_eq!(cold(&shared, "consume"), 0);
    assert_same("another run", &expected, &profiled(&program, &SHARED, &[]).1);
}

#[test]
fn a_recorded_run_is_the_same() {
    let program = built("turns");
    let directory = scratch();
    let trace = directory.path().join("turns.trace");
    succeed(dmdprof().arg("record").arg("-o").arg(&trace).arg(&program));
    let replayed = directory.path().join("replayed.data");
    succeed(dmdprof().args(["replay", "--no-lines", "-q", "-o"]).arg(&replayed).args(SHARED).arg(&trace));
    assert_same("replay", &profiled(&program, &SHARED, &[]).1, &std::fs::read(replayed).expect("a profile"));
}

#[test]
fn one_thread_costs_what_it_costs_alone() {
    let program = case("layout");
    let built = program.build(&Compiler::dmdprof());
    let of = |options: &[&str]| {
        let Report(mut report) = profiled(&built, options, &[]).0.report;
        let report = report.as_object_mut().expect("an object");
        ["sharing", "thread_mode"].iter().for_each(|key| _ = report.remove(*key));
        report.clone()
    };
    assert_eq!(of(&[]), of(&SHARED));
}

#[test]
fn a_program_with_everything_that_threads_wait_by() {
    let program = cpp("threads").args(["3000"]);
    let native = output(std::process::Command::new(program.build(&Compiler::native())).args(["3000"]));
    let (run, _) = profiled(&program.build(&Compiler::dmdprof()), &SHARED, &["3000"]);
    assert_eq!(run.output.stdout, native.stdout);
    let [contended, _, unmet, unseen] = undefined(&run.report);
    assert!(contended > 0);
    assert_eq!([unmet, unseen], [0, 0]);
}

fn refused(options: &[&str], program: &Path, args: &[&str]) -> (Output, String) {
    let directory = scratch();
    let output = Run::new(program, directory.path()).options(options).args(args).command().output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{said}");
    (output, said)
}

#[test]
fn threads_that_cannot_share_are_refused() {
    let program = built("turns");
    for option in [&["--flows"][..], &["--liveness", "exact"], &["--window", "10"], &["--cache", "32KiB,8,64"]] {
        let (output, said) = refused(&[&SHARED, option].concat(), &program, &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains(option[0]) && said.contains("--threads private"), "{said}");
    }
    let (output, said) = refused(&["--threads", "clusters:main,nobody*"], &program, &[]);
    assert!(!output.status.success() && said.contains("cluster nobody* names no thread"), "{said}");
    let (_, said) = refused(&["--threads", "clusters:7,0"], &program, &[]);
    assert!(said.contains("cluster 7 names no thread of the run, which had 5"), "{said}");
}

#[test]
fn profiles_of_different_modes_are_not_compared() {
    let program = built("turns");
    let directory = scratch();
    let of = |name: &str, options: &[&str]| {
        let path = directory.path().join(name);
        assert!(
            Run::new(&program, directory.path()).options(options).profile(path.clone()).go().output.status.success()
        );
        path
    };
    let (before, after) = (of("private.data", &[]), of("shared.data", &SHARED));
    let output = output(dmdprof().arg("diff").arg(before).arg(after));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("threads") && said.contains("private"), "{}", describe(&output));
}

#[test]
fn many_threads_forks_and_threads_that_never_end() {
    let program = built("many_threads");
    let (run, _) = profiled(&program, &SHARED, &["many", "300"]);
    assert_eq!(run.output.stdout, b"44850\n");
    let (output, said) = refused(&SHARED, &program, &["many", "4100"]);
    assert!(!output.status.success() && said.contains("4101 threads") && said.contains("4096"), "{said}");
    let (run, _) = profiled(&program, &SHARED, &["endless"]);
    assert_eq!(run.output.stdout, b"1\n");
    let (run, _) = profiled(&program, &SHARED, &["forked"]);
    assert_eq!(run.output.stdout, b"child 6\n1\n");
    assert_eq!(run.report.0["coverage"]["processes"], 2);
}

const SHARING: [&str; 5] = ["--threads", "shared", "--sharing", "--turn", "1"];

/// Of all lines that several threads write: the object, changes of hands, those for nothing, copies taken and fetched.
fn lines(report: &Report) -> Vec<(String, [u64; 4])> {
    let lines = report.0["sharing"]["met"]["lines"].as_array().expect("lines").iter();
    let count = |line: &Value, name: &str| line[name].as_u64().expect("a count");
    let counts = |line| ["changes", "false_changes", "invalidations", "transfers"].map(|name| count(line, name));
    lines.map(|line| (line["object"].as_str().expect("a name").to_owned(), counts(line))).collect()
}

#[test]
fn counters_in_one_line_change_hands_with_each_store() {
    let program = built("counters");
    // Four threads, 1024 stores each, in turns of one access: each but the first takes the line from another.
    let (shared, _) = profiled(&program, &SHARING, &["shared"]);
    let [(object, [changes, false_changes, ..])] = &lines(&shared.report)[..] else { panic!("one line") };
    assert_eq!((&object[..], *changes, *false_changes), ("shared", 4095, 4095));
    let directory = scratch();
    let path = directory.path().join("shared.data");
    let run = Run::new(&program, directory.path()).options(SHARING).args(["shared"]).profile(path.clone()).go();
    assert!(run.output.status.success());
    let table = succeed(dmdprof().args(["report", "--sharing"]).arg(&path));
    assert!(String::from_utf8_lossy(&table.stdout).contains("pad: "), "{}", describe(&table));
    // Each thread has the word of its number.
    let words = written(&shared.report).into_iter().map(|part| (part.object, part.ranges, part.thread));
    let expected = (1..5u64).map(|thread| ("shared".to_owned(), vec![(8 * (thread - 1), 8 * thread)], thread));
    assert_eq!(Vec::from_iter(words), Vec::from_iter(expected));
    let (padded, _) = profiled(&program, &SHARING, &["padded"]);
    assert_eq!(lines(&padded.report), []);
    // One word under a lock goes from hand to hand, and a byte with it: no cure. The first thread reads it when nobody
    // has it; `main` reads it at the end.
    let (one, _) = profiled(&program, &SHARING, &["one"]);
    assert_eq!(lines(&one.report), [("one".to_owned(), [4095, 0, 4095, 4096])]);
}

#[test]
fn what_goes_through_a_ring_is_what_was_put_in() {
    let (run, expected) = profiled(&built("ring"), &SHARING, &[]);
    let met = &run.report.0["sharing"]["met"];
    let moved = met["moved"].as_array().expect("what went from thread to thread").iter();
    let through = moved.filter(|moved| moved["object"] == "ring").map(|moved| {
        assert_eq!((moved["writer"].as_u64(), moved["reader"].as_u64()), (Some(0), Some(1)));
        moved["bytes"].as_u64().expect("bytes")
    });
    assert_eq!(through.sum::<u64>(), 1024 * 8);
    assert_eq!(met["threads"], serde_json::json!(["main", "consume"]));
    assert_same("another run", &expected, &profiled(&built("ring"), &SHARING, &[]).1);
}

/// What a thread wrote of lines that change hands.
struct Written {
    object: String,
    ranges: Vec<(u64, u64)>,
    field: String,
    thread: u64,
}

/// That of the lines that changed hands most.
fn written(report: &Report) -> Vec<Written> {
    let parts = report.0["sharing_details"]["written"][0].as_array().expect("what was written").iter();
    let text = |part: &Value, name: &str| part[name].as_str().expect("a name").to_owned();
    let written = parts.map(|part| Written {
        object: text(part, "object"),
        ranges: serde_json::from_value(part["ranges"].clone()).expect("ranges"),
        field: text(part, "field"),
        thread: part["thread"].as_u64().expect("a thread"),
    });
    written.collect()
}

#[test]
fn a_histogram_with_shared_lines_and_with_private_ones() {
    let program = built("histogram");
    // After the barrier all four are at the same value, in turns of one access: of 4 x 1024 stores each but the first
    // to each of 16 lines takes it from another thread.
    let (shared, _) = profiled(&program, &SHARING, &["shared"]);
    let [(object, [changes, false_changes, invalidations, _])] = &lines(&shared.report)[..] else { panic!("bins") };
    assert_eq!((&object[..], *changes, *false_changes), ("bins", 4 * 1024 - 16, 4 * 1024 - 16));
    // Reading a word takes a copy again, so that each store but the first of a thread finds one elsewhere; the first
    // thread's first does too, where others have read before it stores.
    assert!((4 * 1024 - 16..=4 * 1024).contains(invalidations), "{invalidations}");
    // Each of two lines of sums goes once through all four threads, and all of it is used.
    let (private, _) = profiled(&program, &SHARING, &["private"]);
    let [(object, [changes, false_changes, ..])] = &lines(&private.report)[..] else { panic!("total") };
    assert_eq!((&object[..], *changes, *false_changes), ("total", 2 * 3, 0));
}

#[test]
fn a_line_between_two_threads() {
    let (run, expected) = profiled(&built("ping_pong"), &SHARING, &[]);
    // 500 times each; the first store takes it from nobody, and `main` reads it once more at the end.
    assert_eq!(lines(&run.report), [("ball".to_owned(), [999, 0, 999, 1000])]);
    let mut moved = [0; 2];
    for row in run.report.0["sharing"]["met"]["moved"].as_array().expect("rows") {
        assert_eq!(row["object"], "ball");
        moved[row["reader"].as_u64().expect("a thread") as usize] += row["bytes"].as_u64().expect("bytes");
    }
    assert_eq!(moved, [500 * 8, 500 * 8]);
    assert_same("another run", &expected, &profiled(&built("ping_pong"), &SHARING, &[]).1);
}

#[test]
fn fences_order_what_comes_before_and_after() {
    let (run, _) = profiled(&built("fences"), &["--threads", "shared", "--sharing"], &[]);
    assert_eq!(run.output.stdout, b"10464\n");
    let moved = |name: &str| -> u64 {
        let rows = run.report.0["sharing"]["met"]["moved"].as_array().expect("rows").iter();
        rows.filter(|row| row["object"] == name).map(|row| row["bytes"].as_u64().expect("bytes")).sum()
    };
    // The last of four reads what three others wrote; in the order of clocks alone it would be the first.
    assert_eq!([moved("words"), moved("given")], [3 * 64 * 8, 64 * 8]);
}

#[test]
fn what_one_thread_allocated_has_its_name_for_all() {
    let program = built("given");
    let directory = scratch();
    let path = directory.path().join("objects.data");
    let run = Run::new(&program, directory.path()).options(SHARED).options(["--objects"]).profile(path.clone());
    let run = run.go();
    assert!(run.output.status.success(), "{}", describe(&run.output));
    run.report.assert_consistent();
    let json = succeed(dmdprof().args(["report", "--objects", "--format", "json"]).arg(&path)).stdout;
    let document: Value = serde_json::from_slice(&json).expect("JSON");
    let uses = document["sheets"].as_array().expect("sheets").iter().find(|sheet| sheet["name"] == "uses");
    let rows = uses.expect("functions and objects")["rows"].as_array().expect("rows");
    let read = |function: &str, object: &str| -> u64 {
        let of = rows.iter().filter(|row| row["function"] == function && row["object"] == object);
        of.map(|row| row["read"].as_u64().expect("bytes")).sum()
    };
    assert_eq!([read("add", "main"), read("even", "main"), read("odd", "main")], [512 * 8, 8000, 8000]);
    assert!(read("add", "work of main") >= 8);
    assert!(rows.iter().all(|row| row["kind"] != "unknown"), "{rows:#?}");
    // The same numbers as without objects.
    let plain = profiled(&program, &SHARED, &[]).0.report;
    for field in ["cost", "read", "written", "cold", "accesses", "footprint", "peak_live"] {
        assert_eq!(run.report.total(field), plain.total(field), "{field}");
    }

    let (run, _) = profiled(&program, &SHARING, &[]);
    let lines = lines(&run.report);
    assert!(lines[0].0.starts_with("block of ") && lines[0].0.contains("given.c:"), "{lines:?}");
    let fields = written(&run.report).into_iter().map(|part| (part.thread, part.field, part.ranges));
    let [even, odd] = ["counts.even", "counts.odd"].map(str::to_owned);
    let expected = [(0, even.clone(), (0, 8)), (2, even, (0, 8)), (0, odd.clone(), (8, 16)), (3, odd, (8, 16))];
    assert_eq!(Vec::from_iter(fields), expected.map(|(thread, field, range)| (thread, field, vec![range])));
    assert_eq!(run.report.0["sharing"]["met"]["lines"][0]["apart"], true, "setting up is no sharing");
}

#[test]
fn private_stacks_are_the_same_when_first_touches_are_split() {
    for (name, args, handed) in [("ring", &[][..], [8, 64 * 8].to_vec()), ("layout", &[], vec![0])] {
        let program = built(name);
        let of = |options: &[&str]| {
            let Report(mut report) = profiled(&program, options, args).0.report;
            let report = report.as_object_mut().expect("an object");
            let sharing = report.remove("sharing");
            let found = report.remove("sharing_details").map(|details| details["handed"].clone());
            (Value::Object(report.clone()), sharing.is_some(), found)
        };
        let (plain, is_shared, _) = of(&[]);
        assert!(!is_shared);
        let (split, is_shared, found) = of(&["--sharing"]);
        assert!(is_shared);
        assert_eq!(plain, split, "{name}");
        assert_eq!(found, Some(serde_json::json!(handed)), "{name}");
    }
    // Of each row that a thread reads, the other thread's words that it had not read before.
    let (run, _) = profiled(&built("turns"), &["--sharing"], &[]);
    let handed = run.report.0["sharing_details"]["handed"].as_array().expect("threads").iter();
    let handed: u64 = handed.map(|bytes| bytes.as_u64().expect("bytes")).sum();
    assert!((4 * 4096 * 8..4 * 4096 * 8 + 256).contains(&handed), "{handed}");
    let cold = run.report.total("cold");
    assert!(handed < cold, "{handed} of {cold}");
}

#[test]
fn sharing_needs_bytes_and_a_profile_that_has_it() {
    let program = built("ring");
    for option in ["--flows", "--lines-only"] {
        let (output, said) = refused(&["--sharing", option], &program, &[]);
        assert!(output.status.code() == Some(2) && said.contains("leave out --sharing"), "{said}");
    }
    let directory = scratch();
    let path = directory.path().join("plain.data");
    assert!(Run::new(&program, directory.path()).profile(path.clone()).go().output.status.success());
    let output = dmdprof_tests::tool::output(dmdprof().args(["report", "--sharing"]).arg(path));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--threads shared --sharing"), "{}", describe(&output));
}

/// The page has the numbers of the tables, and the bytes of the line that is picked.
#[test]
fn the_page_has_what_threads_pass_on_and_lines_that_change_hands() {
    let directory = scratch();
    let at = directory.path();
    let run = |name: &str, page: &str| -> Value {
        let program = case(name).hooked();
        let run = ["run", "-q", "--threads", "shared", "--sharing", "--turn", "1", "--html", page];
        succeed(dmdprof().args(run).arg(program).current_dir(at));
        let tables =
            dmdprof().args(["report", "--sharing", "--top", "300", "--format", "json"]).current_dir(at).output();
        serde_json::from_slice(&tables.expect("started").stdout).expect("JSON")
    };
    let sheet = |tables: &Value, name: &str| -> Vec<Value> {
        let sheets = tables["sheets"].as_array().expect("sheets").iter();
        sheets.clone().find(|sheet| sheet["name"] == name).expect("a sheet")["rows"].as_array().expect("rows").clone()
    };
    let tables = run("given", "given.html");
    let mut browser = Browser::start(1280, 900);
    browser.open(&at.join("given.html"), "panel=threads");
    for row in sheet(&tables, "threads") {
        let title = format!("{} read {} bytes that", row["reader"].as_str().expect("a name"), grouped(&row["bytes"]));
        let found = browser.value(&format!(
            "[...document.querySelectorAll('.square td')].filter((td) => td.title.startsWith('{title}') && \
             td.title.includes('{} wrote')).length",
            row["writer"].as_str().expect("a name")
        ));
        assert_eq!(found, 1, "{title}");
    }
    let rows = "[...document.querySelectorAll('.threads [aria-label=\"Lines that change hands\"] .row')]";
    let lines = sheet(&tables, "lines");
    assert_eq!(browser.value(&format!("{rows}.length")).as_u64(), Some(lines.len() as u64));
    // The first is picked; a click picks another.
    let parts = "[...document.querySelectorAll('.shared-parts tbody tr')].map((tr) => tr.textContent).join('\\n')";
    let of_line = |number: u64| {
        let of = |row: &&Value| row["line"].as_u64() == Some(number);
        sheet(&tables, "written").iter().filter(of).count()
    };
    let shown = browser.text(parts);
    assert_eq!(shown.lines().count(), of_line(1), "{shown}");
    assert!(shown.contains("+0..8") && shown.contains("counts.even") && shown.contains("2 even"), "{shown}");
    browser.value(&format!("{rows}[1].click()"));
    browser.settle();
    let shown = browser.text(parts);
    assert_eq!(shown.lines().count(), of_line(2), "{shown}");
    assert!(shown.contains("work of main") && shown.contains("work.sum"), "{shown}");
    // A jump to the source line.
    browser.value("document.querySelector('.shared-parts .jump').click()");
    browser.settle();
    assert_eq!(browser.value("document.querySelectorAll('.source .row.picked').length"), 1);
    assert_eq!(browser.errors, [""; 0]);
    assert_eq!(browser.requests, [""; 0]);
}

/// A count as the page writes all of its digits.
fn grouped(count: &Value) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    Vec::from_iter(groups).join(",")
}
