//! Runs that are analysed in slices: the same profile, byte for byte, wherever they are cut and whoever analyses the
//! slices.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dmdprof_tests::profiled::{Report, Run, bytes_only, record, replay, statistic_in};
use dmdprof_tests::programs::{Compiler, Program, case, cpp, truth};
use dmdprof_tests::tool::{
    assert_same, cases, describe, dmdprof, dmdprof_path, in_tests, in_time, require, scratch, succeed,
};

/// The profile, and the hash of depths.
fn replayed(directory: &Path, options: &[&str]) -> (Vec<u8>, String) {
    let output = replay(directory, &[options, &["--without", "nothing", "--stats"]].concat());
    assert!(output.status.success(), "{}", describe(&output));
    let hash = statistic_in(&output, "depths");
    (std::fs::read(directory.join("dmdprof.data")).expect("a profile"), hash)
}

/// Compares with one piece what slices of some size by so many workers give.
fn assert_slices_agree<'a>(program: &Path, options: &[&str], cuts: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let directory = scratch();
    record(program, directory.path());
    let (expected, hash) = replayed(directory.path(), &[options, &["--workers", "1"]].concat());
    for (slice, workers) in cuts {
        let (profile, other) =
            replayed(directory.path(), &[options, &["--slice", slice, "--workers", workers]].concat());
        let what = format!("{} {options:?} in slices of {slice} by {workers}", program.display());
        assert_same(&what, &expected, &profile);
        assert_eq!(hash, other, "{what}");
    }
}

#[test]
fn numbers_do_not_depend_on_slices_or_workers() {
    for program in [truth("strings.c").hooked(), case("layout").hooked()] {
        let cuts = [("1000", "3"), ("65536", "2"), ("800000", "3"), ("65536", "1"), ("65536", "8"), ("65536", "16")];
        assert_slices_agree(&program, &[], cases(cuts, 3));
    }
}

#[test]
fn frees_moves_and_declared_inputs_are_cut_anywhere() {
    for program in [
        truth("growth.c").hooked(),
        truth("reborn.c").hooked(),
        truth("copy.c").hooked(),
        case("outputs").hooked(),
        truth("slots.c").hooked(),
    ] {
        assert_slices_agree(&program, &[], [("1", "3"), ("300", "3")]);
    }
}

#[test]
fn loops_threads_forks_and_exceptions_are_cut_anywhere() {
    for program in
        [case("loops").hooked(), cpp("threads").hooked(), case("private_threads").hooked(), case("stages").hooked()]
    {
        assert_slices_agree(&program, &[], [("5000", "3")]);
    }
}

#[test]
fn other_stacks_and_regions_of_interest_are_cut_too() {
    let program = case("layout").hooked();
    assert_slices_agree(&program, &["--liveness", "none"], [("10000", "2")]);
    assert_slices_agree(&program, &["--lines-only"], [("10000", "2")]);
    assert_slices_agree(&program, &["--roi", "m*"], [("3000", "2")]);
    assert_slices_agree(&truth("strings.c").hooked(), &["--roi", "*e*"], [("300", "3")]);
}

#[test]
fn objects_are_the_same_wherever_their_lives_are_cut() {
    for program in [
        truth("growth.c").hooked(),
        truth("slots.c").hooked(),
        case("private_threads").hooked(),
        case("outputs").hooked(),
    ] {
        assert_slices_agree(
            &program,
            &["--objects"],
            cases([("1000", "8"), ("65536", "1"), ("1000", "1"), ("65536", "8")], 2),
        );
    }
    assert_slices_agree(&truth("strings.c").hooked(), &["--objects", "--roi", "*e*"], [("300", "2")]);
}

#[test]
fn lines_are_the_same_wherever_a_run_is_cut() {
    let all = [
        (case("private_threads").hooked(), vec!["--line-size", "64", "--objects"]),
        (truth("strings.c").hooked(), vec!["--line-size", "16,4096", "--roi", "*e*"]),
        (case("layout").hooked(), vec!["--line-size", "32,128", "--roi", "m*"]),
        (case("loops").hooked(), vec!["--line-size", "64"]),
        (cpp("threads").hooked(), vec!["--line-size", "64"]),
    ];
    for (program, options) in cases(all, 2) {
        assert_slices_agree(&program, &options, [("300", "3"), ("65536", "1")]);
    }
}

#[test]
fn dead_bytes_are_the_same_wherever_a_run_is_cut() {
    let all = [
        (case("outputs").hooked(), vec![]),
        (truth("reborn.c").hooked(), vec!["--objects"]),
        (case("loops").hooked(), vec!["--line-size", "64"]),
        (case("layout").hooked(), vec!["--roi", "m*"]),
        (truth("growth.c").hooked(), vec![]),
        (case("private_threads").hooked(), vec!["--objects"]),
    ];
    for (program, options) in cases(all, 2) {
        let options = [&["--liveness", "exact"], &options[..]].concat();
        assert_slices_agree(&program, &options, [("300", "3"), ("65536", "1")]);
    }
}

#[test]
fn flows_are_the_same_wherever_a_run_is_cut() {
    let all = [
        (truth("copy.c").hooked(), vec!["--flow-contexts"]),
        (case("outputs").hooked(), vec!["--line-size", "64"]),
        (case("loops").hooked(), vec![]),
        (truth("strings.c").hooked(), vec!["--roi", "*e*"]),
        (truth("growth.c").hooked(), vec![]),
        (case("private_threads").hooked(), vec![]),
    ];
    for (program, options) in cases(all, 2) {
        let options = [&["--flows"], &options[..]].concat();
        assert_slices_agree(&program, &options, [("300", "3"), ("65536", "1")]);
    }
}

#[test]
fn calls_are_in_order_wherever_they_are_cut() {
    let program = case("private_threads").hooked();
    assert_slices_agree(
        &program,
        &["--sequence", "main"],
        cases([("100", "3"), ("65536", "1"), ("100", "1"), ("65536", "3")], 2),
    );
    assert_slices_agree(&case("loops").hooked(), &["--sequence", "*", "--objects"], [("1000", "2")]);
    assert_slices_agree(&truth("strings.c").hooked(), &["--sequence", "*", "--roi", "*e*"], [("300", "2")]);
}

#[test]
fn a_running_program_is_cut_as_a_recorded_one() {
    let directory = scratch();
    let program = case("layout").hooked();
    let whole = Run::new(&program, directory.path()).options(["--workers", "1"]).go();
    let expected = std::fs::read(&whole.profile).expect("a profile");
    for (slice, workers) in [("1000", "1"), ("1000", "3"), ("65536", "2")] {
        let run = Run::new(&program, directory.path()).options(["--slice", slice, "--workers", workers]);
        let sliced = std::fs::read(&run.go().profile).expect("a profile");
        assert_same(&format!("slices of {slice} by {workers}"), &expected, &sliced);
    }
}

#[test]
fn what_needs_all_accesses_in_order_is_not_cut_and_says_so() {
    let directory = scratch();
    record(&truth("strings.c").hooked(), directory.path());
    for options in [vec!["--flows", "--objects"], vec!["--cache", "4KiB,2,64"]] {
        let run = |more: &[&str]| {
            let output = replay(directory.path(), &[&options[..], more].concat());
            assert!(output.status.success(), "{}", describe(&output));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (std::fs::read(directory.path().join("dmdprof.data")).expect("a profile"), said)
        };
        let (expected, quiet) = run(&["--workers", "1"]);
        let (profile, said) = run(&["--workers", "2", "--slice", "1000"]);
        assert_same(&format!("{options:?}"), &expected, &profile);
        assert!(!quiet.contains("in one piece"), "{quiet}");
        assert!(said.contains(&options.join(" ").replace(" 4KiB,2,64", "")) && said.contains("in one piece"), "{said}");
    }
}

#[test]
fn a_trace_that_was_cut_off_is_analysed_in_slices_up_to_there() {
    let directory = scratch();
    record(&truth("widths.c").hooked(), directory.path());
    let trace = directory.path().join("dmdprof.trace");
    let whole = std::fs::read(&trace).expect("a trace");
    std::fs::write(&trace, &whole[..whole.len() - 20]).expect("a shorter trace");
    let (expected, _) = replayed(directory.path(), &["--workers", "1"]);
    let (sliced, _) = replayed(directory.path(), &["--workers", "3", "--slice", "100"]);
    assert_same("what there was", &expected, &sliced);
}

#[test]
fn a_worker_without_memory_leaves_an_incomplete_profile() {
    let directory = scratch();
    record(&case("scattered").hooked(), directory.path());
    for options in [&[][..], &["--flows"]] {
        let mut limited = Command::new("bash");
        limited.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", "2000000"]).arg(dmdprof_path());
        limited.args(["replay", "--quiet", "--workers", "2", "--slice", "1000"]).args(options);
        let output = in_time(limited.current_dir(directory.path()));
        let said = String::from_utf8_lossy(&output.stderr);
        // Of many pages of flows and one large stack, either may be refused.
        let refused = said.contains("cannot reserve") || !options.is_empty() && said.contains("cannot allocate");
        assert!(refused && said.contains("ulimit -v"), "{}", describe(&output));
        assert!(!said.contains("panicked"), "{}", describe(&output));
        let report = Report::read(&directory.path().join("dmdprof.data"));
        assert!(!report.complete());
        assert!(report.0["incomplete"].as_str().expect("a reason").contains("cut short"), "{}", describe(&output));
    }
}

/// The parts of the trace in a directory, in files named by their numbers.
fn sliced(directory: &Path, parts: u32, options: &[&str]) -> Vec<PathBuf> {
    let part = |number: u32| {
        let path = directory.join(format!("{number}.slice"));
        let mut command = dmdprof();
        command.args(["slice", "dmdprof.trace", "--part", &format!("{number}/{parts}"), "-o"]).arg(&path);
        succeed(command.args(bytes_only(options)).args(options).current_dir(directory));
        path
    };
    (1..=parts).map(part).collect()
}

fn merge(directory: &Path, slices: &[PathBuf]) -> Output {
    dmdprof().args(["merge", "--quiet"]).args(slices).current_dir(directory).output().expect("dmdprof starts")
}

/// Merges slices of the trace in a directory, and compares the profile with that of a replay.
fn assert_merges(directory: &Path, parts: &[u32], options: &[&str]) {
    let output = replay(directory, options);
    assert!(output.status.success(), "{}", describe(&output));
    let expected = std::fs::read(directory.join("dmdprof.data")).expect("a profile");
    for parts in parts {
        let mut slices = sliced(directory, *parts, options);
        slices.reverse();
        let output = merge(directory, &slices);
        assert!(output.status.success(), "{}", describe(&output));
        let merged = std::fs::read(directory.join("dmdprof.data")).expect("a profile");
        assert_same(&format!("{} {options:?} of {parts} slices", directory.display()), &expected, &merged);
    }
}

#[test]
fn merged_slices_are_a_replay() {
    let all = [
        (truth("strings.c").hooked(), vec![]),
        (case("layout").hooked(), vec!["--objects", "--roi", "m*"]),
        (cpp("threads").hooked(), vec![]),
        (case("private_threads").hooked(), vec!["--liveness", "none"]),
        (case("outputs").hooked(), vec!["--lines-only"]),
        (case("loops").hooked(), vec!["--line-size", "64"]),
        (truth("strings.c").hooked(), vec!["--objects", "--line-size", "32,128", "--roi", "*e*"]),
        (truth("growth.c").hooked(), vec![]),
        (case("layout").hooked(), vec!["--roi", "m*"]),
        (truth("growth.c").hooked(), vec!["--objects"]),
        (truth("slots.c").hooked(), vec!["--objects", "--lines-only"]),
        (case("outputs").hooked(), vec!["--objects", "--liveness", "none"]),
    ];
    for (program, options) in cases(all, 4) {
        let directory = scratch();
        record(&program, directory.path());
        // One slice that is the whole trace is a case of its own, whatever the options.
        assert_merges(directory.path(), if options.is_empty() { &[1, 4] } else { &[4] }, &options);
    }
}

#[test]
fn objects_of_forked_processes_are_merged_too() {
    let directory = scratch();
    succeed(dmdprof().arg("record").arg(case("many_threads").hooked()).arg("forked").current_dir(directory.path()));
    assert_merges(directory.path(), &[3], &["--objects"]);
}

/// Neighbours become one slice, as the numbers choose, until these are used up.
fn joined_as(directory: &Path, mut slices: Vec<PathBuf>, tree: &[usize]) -> Vec<PathBuf> {
    for (number, at) in tree.iter().enumerate() {
        let at = at % (slices.len() - 1);
        let both = directory.join(format!("joined-{number}.slice"));
        let mut command = dmdprof();
        // In any order, as for a profile.
        command.arg("merge").args([&slices[at + 1], &slices[at]]).arg("-o").arg(&both).current_dir(directory);
        assert!(succeed(&mut command).stdout.is_empty());
        slices.splice(at..at + 2, [both]);
    }
    slices
}

#[test]
fn any_tree_of_merges_is_a_replay() {
    let all = [
        (case("layout").hooked(), vec![]),
        (case("private_threads").hooked(), vec!["--objects"]),
        (case("layout").hooked(), vec!["--line-size", "64,256"]),
        (case("private_threads").hooked(), vec![]),
        (truth("growth.c").hooked(), vec![]),
    ];
    for (program, options) in cases(all, 2) {
        let directory = scratch();
        let here = directory.path();
        record(&program, here);
        assert!(replay(here, &options).status.success());
        let expected = std::fs::read(here.join("dmdprof.data")).expect("a profile");
        let slices = sliced(here, 8, &options);
        let trees = [&[0, 1, 2, 3, 0, 1, 0][..], &[5, 3, 61, 17, 2], &[0, 0, 0, 0, 0, 0, 0], &[6, 29, 4, 3, 2, 1, 0]];
        for tree in cases(trees, 2) {
            let output = merge(here, &joined_as(here, slices.clone(), tree));
            assert!(output.status.success(), "{tree:?}: {}", describe(&output));
            let merged = std::fs::read(here.join("dmdprof.data")).expect("a profile");
            assert_same(&format!("{} {options:?} merged as {tree:?}", program.display()), &expected, &merged);
        }
    }
}

#[test]
fn slices_of_a_trace_that_was_cut_off_are_what_there_was() {
    let directory = scratch();
    record(&cpp("threads").hooked(), directory.path());
    let trace = directory.path().join("dmdprof.trace");
    let whole = std::fs::read(&trace).expect("a trace");
    std::fs::write(&trace, &whole[..whole.len() * 2 / 3]).expect("a shorter trace");
    for options in [&[][..], &["--objects", "--line-size", "64"]] {
        assert!(replay(directory.path(), options).status.success());
        let expected = std::fs::read(directory.path().join("dmdprof.data")).expect("a profile");
        let output = merge(directory.path(), &sliced(directory.path(), 3, options));
        assert!(output.status.success(), "{}", describe(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains("was cut off at byte"), "{}", describe(&output));
        let merged = std::fs::read(directory.path().join("dmdprof.data")).expect("a profile");
        assert_same(&format!("what there was, {options:?}"), &expected, &merged);
    }
}

#[test]
fn slices_that_are_missing_damaged_or_of_something_else_are_refused() {
    let directory = scratch();
    let here = directory.path();
    record(&truth("strings.c").hooked(), here);
    let slices = sliced(here, 3, &[]);
    let refused = |slices: &[PathBuf], part: &str| {
        let output = merge(here, slices);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
        assert!(said.contains(part), "{part}: {}", describe(&output));
        assert!(!here.join("dmdprof.data").exists(), "what is refused leaves no profile");
    };
    refused(&[slices[0].clone(), slices[2].clone()], "slice 2/3 is missing");
    refused(&slices[1..2], "2 slices are missing (1/3, 3/3)");
    refused(&[&slices[..], &slices[..1]].concat(), "are the same slice");
    refused(&[here.join("dmdprof.trace")], "not a slice of a trace");
    let both = joined_as(here, slices[..2].to_vec(), &[0]).remove(0);
    refused(std::slice::from_ref(&both), "slice 3/3 is missing");
    refused(&[both, slices[1].clone(), slices[2].clone()], "both have part 2/3");
    let apart = [&slices[0], &slices[2]];
    let output = dmdprof().arg("merge").args(apart).args(["-o", "x.slice"]).current_dir(here).output();
    let output = output.expect("dmdprof starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("slice 2/3 is missing"), "{}", describe(&output));
    assert!(!here.join("x.slice").exists());

    let whole = std::fs::read(&slices[1]).expect("a slice");
    for at in [9, 14, 40, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 16;
        std::fs::write(&slices[1], damaged).expect("a damaged slice");
        refused(&slices, &slices[1].display().to_string());
    }
    std::fs::write(&slices[1], &whole[..whole.len() - 3]).expect("a shorter slice");
    refused(&slices, "it ends too early");
    std::fs::write(&slices[1], [&whole[..], b"more"].concat()).expect("a longer slice");
    refused(&slices, "something after the end");

    let other = scratch();
    record(&truth("copy.c").hooked(), other.path());
    let others = sliced(other.path(), 3, &[]);
    refused(&[slices[0].clone(), others[1].clone(), slices[2].clone()], "slices of different traces");
    let unlike = sliced(here, 3, &["--liveness", "none"]);
    std::fs::write(&unlike[1], &whole).expect("the slice again");
    refused(&unlike, "make all alike");
    let with_objects = sliced(here, 3, &["--objects"]);
    std::fs::write(&with_objects[1], whole).expect("the slice without");
    refused(&with_objects, "make all alike");
}

/// The parts of a trace, as their files have them.
fn contents(slices: &[PathBuf]) -> Vec<Vec<u8>> {
    slices.iter().map(|slice| std::fs::read(slice).expect("a slice")).collect()
}

fn index(directory: &Path) {
    succeed(dmdprof().args(["slice", "dmdprof.trace", "--index"]).current_dir(directory));
}

#[test]
fn parts_that_begin_at_points_of_an_index_are_the_same() {
    for (program, options) in [
        (case("layout").hooked(), vec![]),
        (case("layout").hooked(), vec!["--roi", "m*"]),
        (case("layout").hooked(), vec!["--roi", "m*", "--objects"]),
        (case("private_threads").hooked(), vec![]),
        (case("private_threads").hooked(), vec!["--objects"]),
    ] {
        let directory = scratch();
        record(&program, directory.path());
        let expected = contents(&sliced(directory.path(), 5, &options));
        index(directory.path());
        let from_points = contents(&sliced(directory.path(), 5, &options));
        for (part, (expected, found)) in expected.iter().zip(&from_points).enumerate() {
            assert_same(&format!("{} {options:?}, part {}", program.display(), part + 1), expected, found);
        }
    }
}

#[test]
fn a_part_that_begins_at_a_point_reads_nothing_before_it() {
    let directory = scratch();
    let here = directory.path();
    record(&case("layout").hooked(), here);
    index(here);
    let trace = here.join("dmdprof.trace");
    let mut damaged = std::fs::read(&trace).expect("a trace");
    damaged[200_000] ^= 1;
    std::fs::write(&trace, damaged).expect("a damaged trace");
    let last = || {
        let mut command = dmdprof();
        command.args(["slice", "dmdprof.trace", "--part", "5/5", "-o", "5.slice"]).current_dir(here);
        command.output().expect("dmdprof starts")
    };
    let output = last();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", describe(&output));
    std::fs::remove_file(here.join("dmdprof.trace.index")).expect("the index can go");
    let output = last();
    assert!(String::from_utf8_lossy(&output.stderr).contains("damaged at byte"), "{}", describe(&output));
}

#[test]
fn an_index_that_is_damaged_or_of_another_trace_is_named_and_not_used() {
    let directory = scratch();
    let here = directory.path();
    record(&case("layout").hooked(), here);
    let path = here.join("dmdprof.trace.index");
    index(here);
    let whole = std::fs::read(&path).expect("an index");
    let last = |why: &str| {
        let mut command = dmdprof();
        command.args(["slice", "dmdprof.trace", "--part", "40/40", "-o", "40.slice"]).current_dir(here);
        let output = command.output().expect("dmdprof starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}", describe(&output));
        assert!(said.contains("dmdprof.trace.index is not used") && said.contains(why), "{why}: {}", describe(&output));
        std::fs::read(here.join("40.slice")).expect("a slice")
    };
    let mut parts = Vec::new();
    for (at, why) in
        [(3, "not an index"), (9, "made by another dmdprof"), (40, "damaged"), (whole.len() - 9, "damaged")]
    {
        let mut damaged = whole.clone();
        damaged[at] ^= 16;
        std::fs::write(&path, damaged).expect("a damaged index");
        parts.push(last(why));
    }
    std::fs::write(&path, &whole[..whole.len() - 1]).expect("a shorter index");
    parts.push(last("ends too early"));
    let other = scratch();
    record(&truth("copy.c").hooked(), other.path());
    index(other.path());
    std::fs::copy(other.path().join("dmdprof.trace.index"), &path).expect("a copy");
    parts.push(last("another trace"));

    std::fs::remove_file(&path).expect("the index can go");
    succeed(dmdprof().args(["slice", "dmdprof.trace", "--part", "40/40", "-o", "40.slice"]).current_dir(here));
    let without = std::fs::read(here.join("40.slice")).expect("a slice");
    assert!(parts.iter().all(|part| *part == without));
}

/// Threads, a fork, signal handlers, jumps, libraries that come later: all sites are in the trace, and come with it.
#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn emulated_programs_are_cut_as_others() {
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let directory = scratch();
    let here = directory.path();
    let mut lives = Program::from_source(in_tests("binary/lives.c")).defines(["STEP=128"]);
    lives.libraries.push("-lpthread".into());
    let recorded = dmdprof().arg("record").arg(lives.build(&Compiler::native())).current_dir(here).output();
    assert!(here.join("dmdprof.trace").exists(), "{}", describe(&recorded.expect("dmdprof starts")));
    for options in [&["--line-size", "64"][..], &["--objects", "--roi", "blocks"]] {
        let (expected, hash) = replayed(here, &[options, &["--workers", "1"]].concat());
        let (profile, other) = replayed(here, &[options, &["--slice", "20000", "--workers", "3"]].concat());
        assert_same(&format!("{options:?} in slices"), &expected, &profile);
        assert_eq!(hash, other, "{options:?} in slices");
        assert_merges(here, &[4], options);
    }
    let options = ["--objects"];
    let expected = contents(&sliced(here, 5, &options));
    index(here);
    let slices = sliced(here, 5, &options);
    for (part, (expected, found)) in expected.iter().zip(&contents(&slices)).enumerate() {
        assert_same(&format!("part {} from a point", part + 1), expected, found);
    }
    assert!(replay(here, &options).status.success());
    let expected = std::fs::read(here.join("dmdprof.data")).expect("a profile");
    let output = merge(here, &joined_as(here, slices, &[0, 2, 1]));
    assert!(output.status.success(), "{}", describe(&output));
    let merged = std::fs::read(here.join("dmdprof.data")).expect("a profile");
    assert_same("a tree of merges", &expected, &merged);
}

#[test]
fn imported_accesses_and_names_of_generated_code_are_cut_too() {
    let _ = require("qemu-x86_64".as_ref(), "install the package qemu-user");
    let directory = scratch();
    let here = directory.path();
    let line = |number: u64| {
        let kind = ["R", "W", "M"][number as usize % 3];
        format!("{kind} {} 8 {} {}\n", number * number % 9973 * 8, 0x1000 + number % 200, number % 3)
    };
    std::fs::write(here.join("text"), (0..60_000).map(line).collect::<String>()).expect("written");
    succeed(dmdprof().args(["import", "text"]).current_dir(here));
    assert_merges(here, &[1, 4], &["--line-size", "64"]);
    let (expected, _) = replayed(here, &["--workers", "1"]);
    let (profile, _) = replayed(here, &["--slice", "1000", "--workers", "3"]);
    assert_same("slices of imported accesses", &expected, &profile);
    let generated = Program::from_source(in_tests("binary/generated.c")).build(&Compiler::native());
    let recorded = succeed(dmdprof().arg("record").arg(generated).current_dir(here));
    let process = String::from_utf8_lossy(&recorded.stdout).trim().to_owned();
    std::fs::remove_file(format!("/tmp/perf-{process}.map")).expect("the program has written it");
    assert_merges(here, &[3], &[]);
    assert!(String::from_utf8_lossy(&succeed(dmdprof().arg("report").current_dir(here)).stdout).contains("JS:*reader"));
}
