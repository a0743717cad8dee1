//! Runs that are recorded, replayed, cut off and damaged, and the exact liveness that needs them.

use std::path::Path;
use std::process::{Command, Output};

use dmdprof_tests::profiled::{Report, Run, record, replay};
use dmdprof_tests::programs::{case, cpp, truth};
use dmdprof_tests::tool::{assert_same, describe, dmdprof, scratch};

fn replayed(directory: &Path, options: &[&str]) -> Vec<u8> {
    let output = replay(directory, options);
    assert!(output.status.success(), "{}", describe(&output));
    std::fs::read(directory.join("dmdprof.data")).expect("a profile")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_replay_gives_the_profile_of_a_direct_run() {
    for program in [
        truth("strings.c").hooked(),
        truth("growth.c").hooked(),
        cpp("threads").hooked(),
        case("private_threads").hooked(),
    ] {
        for options in [vec![], vec!["--liveness", "none"], vec!["--lines-only"], vec!["--liveness", "exact"]] {
            let directory = scratch();
            // Threads may do something else in another run, so the trace is of this one.
            let run = Run::new(&program, directory.path()).options(&options).options(["--keep-trace", "dmdprof.trace"]);
            let expected = std::fs::read(&run.go().profile).expect("a profile");
            let what = format!("{} {options:?}", program.display());
            assert_same(&what, &expected, &replayed(directory.path(), &options));
        }
    }
}

#[test]
fn a_recording_is_as_good_as_a_run() {
    let directory = scratch();
    let program = truth("copy.c").hooked();
    let direct = Run::new(&program, directory.path()).options(["--liveness", "exact"]).go();
    let expected = std::fs::read(&direct.profile).expect("a profile");
    record(&program, directory.path());
    assert_same("the recording", &expected, &replayed(directory.path(), &["--liveness", "exact"]));
    let left: Vec<_> =
        std::fs::read_dir(directory.path()).expect("the directory").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 3, "profile, old profile and trace: {left:?}");
}

#[test]
fn endings_are_recorded() {
    let directory = scratch();
    let program = case("endings").hooked();
    let mut run = Run::new(&program, directory.path());
    run = run.args(["abort"]);
    let direct = run.go();
    let expected = std::fs::read(&direct.profile).expect("a profile");
    let output = dmdprof().arg("record").arg(&program).arg("abort").current_dir(directory.path()).output();
    let output = output.expect("dmdprof starts");
    assert_eq!(output.status.code(), direct.output.status.code(), "{}", describe(&output));
    assert_same("a run that was killed", &expected, &replayed(directory.path(), &[]));
}

#[test]
fn a_trace_that_is_cut_off_is_analysed_up_to_there() {
    let directory = scratch();
    record(&truth("widths.c").hooked(), directory.path());
    let trace = directory.path().join("dmdprof.trace");
    let whole = std::fs::read(&trace).expect("a trace");
    std::fs::write(&trace, &whole[..whole.len() - 20]).expect("a shorter trace");
    for liveness in ["hints", "exact"] {
        let output = replay(directory.path(), &["--liveness", liveness]);
        assert!(output.status.success(), "{}", describe(&output));
        assert!(errors(&output).contains("was cut off at byte"), "{}", describe(&output));
        let report = Report::read(&directory.path().join("dmdprof.data"));
        report.assert_consistent();
        assert!(!report.complete());
        assert!(report.0["incomplete"].as_str().expect("a reason").contains("cut off"));
        assert_eq!(report.0["outcome"]["kind"], "unknown");
        assert!(report.total("read") > 0);
    }
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let directory = scratch();
    let (here, trace) = (directory.path(), directory.path().join("dmdprof.trace"));
    let refused = |part: &str| {
        let output = replay(here, &[]);
        assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
        assert!(errors(&output).contains(part), "{part}: {}", describe(&output));
        assert!(!here.join("dmdprof.data").exists(), "a refused trace leaves no profile");
    };
    refused("make one with `dmdprof record PROGRAM`");

    std::fs::write(&trace, "text").expect("a file");
    refused("not a dmdprof trace");

    let program = here.join("program");
    std::fs::copy(truth("copy.c").hooked(), &program).expect("a copy of the program");
    record(&program, here);
    let whole = std::fs::read(&trace).expect("a trace");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 4;
    std::fs::write(&trace, damaged).expect("a damaged trace");
    refused("damaged at byte");

    let mut newer = whole.clone();
    newer[8] += 1;
    std::fs::write(&trace, newer).expect("a damaged trace");
    refused("damaged at byte 0");

    std::fs::write(&trace, whole).expect("the trace again");
    std::fs::remove_file(&program).expect("the program can go");
    refused("cannot be read now");
    std::fs::copy(truth("cold.c").hooked(), &program).expect("another program");
    refused("another build of");
}

#[test]
fn lines_have_no_exact_liveness() {
    for command in ["run", "replay"] {
        let output =
            dmdprof().args([command, "--liveness", "exact", "--lines-only", "x"]).output().expect("dmdprof starts");
        assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
        assert!(errors(&output).contains("cannot be combined with --lines-only"), "{}", describe(&output));
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_exit_code_says_so() {
    let directory = scratch();
    let mut command = dmdprof();
    command.args(["record", "-o", "/dev/full"]).arg(truth("copy.c").hooked()).current_dir(directory.path());
    let output = command.output().expect("dmdprof starts");
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    assert!(errors(&output).contains("could not be written to its end"), "{}", describe(&output));
    assert!(!output.stdout.is_empty(), "the program ran to its end");
}

/// No file may grow beyond a few blocks: the temporary file fails, the profile with hints survives.
#[test]
fn the_profile_with_hints_survives_a_full_disk() {
    let directory = scratch();
    let program = truth("chase.c").defines(["N=65536", "LAPS=3"]);
    record(&program.hooked(), directory.path());
    let hints = replayed(directory.path(), &["--liveness", "hints"]);
    // In KiB: enough for the profile, not for the operations.
    let limit = hints.len().div_ceil(1024) + 1;
    for slices in ["", " --workers 2 --slice 10000"] {
        let mut shell = Command::new("bash");
        let dmdprof = dmdprof().get_program().to_owned();
        shell.arg("-c").arg(format!("ulimit -f {limit}; exec \"$0\" replay -q --no-lines --liveness exact{slices}"));
        let output = shell.arg(dmdprof).current_dir(directory.path()).output().expect("bash starts");
        assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
        assert!(errors(&output).contains("TMPDIR"), "{}", describe(&output));
        let report = Report::read(&directory.path().join("dmdprof.data"));
        report.assert_consistent();
        assert!(!report.complete());
        assert_eq!(report.0["liveness"], "hints");
    }
}

/// What exact liveness says about bytes that nobody reads.
#[test]
fn unread_bytes_are_counted_where_they_are_written() {
    let directory = scratch();
    let program = truth("planted.c").defines(["K=1000"]);
    let profiled = Run::new(program.hooked(), directory.path()).options(["--liveness", "exact"]).go();
    profiled.report.assert_consistent();
    let kernel = profiled.report.function("kernel");
    assert_eq!((kernel.dead("unread"), kernel.dead("last_read")), (1000, 8));
    assert_eq!(u128::from(kernel.dead("hints_cost")), dmdprof_tests::truth::planted_closed(1000).cost);
}
