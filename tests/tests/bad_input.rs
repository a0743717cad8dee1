//! What can go wrong, and what the user then sees: a clear message, the right exit code, and never a wrong number.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dmdprof_tests::profiled::{Profiled, Run};
use dmdprof_tests::programs::{Compiler, case};
use dmdprof_tests::tool::{clang, describe, dmdprof, dmdprof_path, output, require, scratch, succeed, under};
use dmdprof_tests::truth::cyclic_closed;

fn endings() -> PathBuf {
    case("endings").build(&Compiler::dmdprof())
}

/// The command failed with this code and its message names all of these; it did not panic.
fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}", describe(output));
    assert!(!stderr.contains("panicked"), "{}", describe(output));
    for word in words {
        assert!(stderr.contains(word), "the message does not say {word:?}\n{}", describe(output));
    }
}

/// Runs `endings` in one of its ways; its kernel's numbers must be exact whatever happens afterwards.
fn end_by(how: &[&str]) -> Profiled {
    let directory = scratch();
    let profiled = Run::new(endings(), directory.path()).args(how).go();
    profiled.report.assert_consistent();
    let kernel = profiled.report.function("kernel").check(&cyclic_closed(256, 4));
    kernel.unwrap_or_else(|differences| panic!("{how:?}: {differences}"));
    profiled
}

fn assert_outcome(profiled: &Profiled, code: i32, signal: Option<i32>) {
    assert_eq!(profiled.output.status.code(), Some(code), "{}", describe(&profiled.output));
    let outcome = &profiled.report.0["outcome"];
    match signal {
        None => assert_eq!((&outcome["kind"], &outcome["code"]), (&"exited".into(), &code.into())),
        Some(signal) => assert_eq!((&outcome["kind"], &outcome["signal"]), (&"signaled".into(), &signal.into())),
    }
    assert_eq!(profiled.report.complete(), signal.is_none());
}

#[test]
fn exit_codes_are_the_programs() {
    for (how, code) in [("return", 0), ("exit3", 3), ("_exit5", 5)] {
        let profiled = end_by(&[how]);
        assert_outcome(&profiled, code, None);
        assert_eq!(profiled.output.stdout, b"130560\n");
        assert!(profiled.output.stderr.is_empty(), "{}", describe(&profiled.output));
    }
}

#[test]
fn death_by_signal_is_128_plus_its_number_and_marked_incomplete() {
    for (how, signal) in [("kill", 9), ("abort", 6), ("segfault", 11)] {
        assert_outcome(&end_by(&[how]), 128 + signal, Some(signal));
    }
    let directory = scratch();
    let run = Run::new(endings(), directory.path()).args(["kill"]);
    assert_eq!(run.go().output.status.code(), Some(137));
    let table = succeed(dmdprof().arg("report").arg(directory.path().join("dmdprof.data")));
    let table = String::from_utf8_lossy(&table.stdout).to_lowercase();
    assert!(
        table.contains("incomplete") || table.contains("killed"),
        "the table does not say that the run was cut short:\n{table}"
    );
}

#[test]
fn programs_that_close_everything() {
    let profiled = end_by(&["closed"]);
    assert_outcome(&profiled, 0, None);
    assert_eq!(profiled.output.stdout, b"closing\n");
}

#[test]
fn programs_that_change_directory_or_clear_the_environment() {
    assert_outcome(&end_by(&["chdir"]), 0, None);
    assert_outcome(&end_by(&["clearenv"]), 0, None);
}

/// With a relative `-o`, the profile is where `dmdprof` was started, not where the program went.
#[test]
fn the_profile_stays_where_dmdprof_was_started() {
    let directory = scratch();
    let mut command = dmdprof();
    command.args(["run", "--quiet"]).arg(endings()).arg("chdir").current_dir(directory.path());
    succeed(&mut command);
    assert!(directory.path().join("dmdprof.data").is_file());
    succeed(&mut command);
    assert!(directory.path().join("dmdprof.data.old").is_file(), "the previous profile is kept");
}

#[test]
fn arguments_belong_to_the_program() {
    let arguments = ["arguments", "-o", "--format", "--", "", "a b", "--liveness=never"];
    let profiled = end_by(&arguments);
    assert_eq!(String::from_utf8_lossy(&profiled.output.stdout), "130560\n-o\n--format\n--\n\na b\n--liveness=never\n");
}

#[test]
fn standard_streams_belong_to_the_program() {
    assert_eq!(end_by(&["stderr"]).output.stderr, b"to stderr\n");
    let directory = scratch();
    fs::write(directory.path().join("input"), "one\ntwo").expect("written");
    let mut command = Run::new(endings(), directory.path()).args(["cat"]).command();
    command.stdin(fs::File::open(directory.path().join("input")).expect("readable"));
    let output = command.output().expect("started");
    assert_eq!(output.stdout, b"130560\none\ntwo", "{}", describe(&output));
}

/// Without `--quiet` the report follows the program's own output on stdout.
#[test]
fn the_report_follows_the_programs_output() {
    let directory = scratch();
    let mut command = dmdprof();
    command.args(["run", "--format", "json"]).arg(endings()).current_dir(directory.path());
    let output = succeed(&mut command);
    let text = String::from_utf8(output.stdout).expect("text");
    let json = text.strip_prefix("130560\n").unwrap_or_else(|| panic!("the program's line comes first:\n{text}"));
    let value: serde_json::Value = serde_json::from_str(json).expect("the rest is the report");
    assert_eq!(value["complete"], true);
}

#[test]
fn missing_program_is_127() {
    let directory = scratch();
    let run = |name: &str| output(&mut Run::new(name, directory.path()).command());
    assert_refused(&run("./no-such-program"), 127, &["no-such-program"]);
    assert_refused(&run("no-such-program-anywhere"), 127, &["no-such-program-anywhere"]);
    assert!(!directory.path().join("dmdprof.data").exists());
}

#[test]
fn what_cannot_be_executed_is_126() {
    let directory = scratch();
    fs::write(directory.path().join("notes.txt"), "not a program").expect("written");
    assert_refused(&output(&mut Run::new("./notes.txt", directory.path()).command()), 126, &["notes.txt"]);
    assert_refused(&output(&mut Run::new("./", directory.path()).command()), 126, &["directory"]);
    fs::write(directory.path().join("garbage"), [0x7f, b'E', b'L', b'F', 9, 9, 9]).expect("written");
    fs::set_permissions(directory.path().join("garbage"), fs::Permissions::from_mode(0o755)).expect("permitted");
    assert_refused(&output(&mut Run::new("./garbage", directory.path()).command()), 126, &["garbage"]);
}

/// Nothing was measured: an error that says how to get hooks in, and no profile.
#[test]
fn programs_without_hooks() {
    let directory = scratch();
    let native = case("endings").build(&Compiler::native());
    // They need an emulator, and there is none where nothing is.
    let refused = output(Run::new(native, directory.path()).command().env("PATH", directory.path()));
    assert_refused(&refused, 1, &["qemu-x86_64 is not installed", "hooks", "dmdprof cc"]);

    let script = directory.path().join("script.sh");
    fs::write(&script, "#!/bin/sh\necho from the script\n").expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("permitted");
    let refused = output(&mut Run::new(&script, directory.path()).command());
    assert_refused(&refused, 1, &["script", "hooks", "dmdprof cc", "dmdprof run --binary script.sh"]);
    assert_eq!(refused.stdout, b"from the script\n");
    assert!(!directory.path().join("dmdprof.data").exists());
}

/// It was built by another version of dmdprof.
#[test]
fn programs_with_other_hooks() {
    const MAGIC: &[u8] = b"DMDS";
    let directory = scratch();
    let mut program = fs::read(endings()).expect("a program");
    let starts: Vec<usize> = (0..program.len()).filter(|at| program[*at..].starts_with(MAGIC)).collect();
    // The version is behind the magic.
    starts.iter().for_each(|at| program[at + MAGIC.len()] ^= 1);
    let other = directory.path().join("other");
    fs::write(&other, program).expect("written");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("permitted");
    let refused = output(&mut Run::new(&other, directory.path()).command());
    assert_refused(&refused, 1, &["other", "another version of dmdprof", "rebuild it"]);
    assert!(!directory.path().join("dmdprof.data").exists());
}

/// Of other scripts than those of a shell, the interpreter is what moves data.
#[test]
fn scripts_name_their_interpreter() {
    let directory = scratch();
    let build = ["a script for python3", "CC='dmdprof cc' ./configure"];
    let texts = [
        ("named.py", "print(1)\n", 0o644, 127, 126),
        ("begun", "#!/usr/bin/env -S A=1 python3 -u\nprint(1)\n", 0o644, 127, 126),
        ("ready", "#! /usr/bin/python3\nprint(1)\n", 0o755, 127, 1),
    ];
    // Without an emulator; with one, the interpreter is emulated.
    let nothing = directory.path().join("nothing");
    for (name, text, mode, bare, with_path) in texts {
        let path = directory.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permitted");
        let run = |name: &str| output(Run::new(name, directory.path()).command().env("PATH", &nothing));
        assert_refused(&run(name), bare, &build);
        assert_refused(&run(&format!("./{name}")), with_path, &build);
    }
    fs::write(directory.path().join("shell"), "#!/bin/bash\ntrue\n").expect("written");
    let refused = output(&mut Run::new("shell", directory.path()).command());
    assert_refused(&refused, 127, &["for the file here say ./shell"]);
    assert!(!String::from_utf8_lossy(&refused.stderr).contains("CC="), "{}", describe(&refused));
}

/// Sizes are written alike in all options, and wrong ones are told.
#[test]
fn sizes_with_and_without_units() {
    let directory = scratch();
    let run = |options: &[&str]| Run::new(endings(), directory.path()).options(options).args(["return"]).command();
    for options in [["--cache", "1024,2,64"], ["--cache", "1K,2,64B"], ["--line-size", "64B"], ["--line-size", "64 B"]]
    {
        succeed(&mut run(&options));
    }
    succeed(run(&["--line-size", "64B,128"]).env("DMDPROF_CACHE_SIZE", "500M"));
    let mut report = dmdprof();
    succeed(report.args(["report", "--line-size", "128B"]).current_dir(directory.path()));
    for (options, word) in [
        (["--cache", "1Kb,2,64"], "unknown unit"),
        (["--cache", "1024,2,64X"], "unknown unit"),
        (["--line-size", "63B"], "power of two"),
    ] {
        assert_refused(&output(&mut run(&options)), 2, &[word]);
    }
}

/// What a script starts is profiled.
#[test]
fn scripts_that_start_a_program_with_hooks() {
    let directory = scratch();
    let script = directory.path().join("script.sh");
    fs::write(&script, format!("#!/bin/sh\n\"{}\" exit3\nexit 4\n", endings().display())).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("permitted");
    let profiled = Run::new(&script, directory.path()).go();
    assert_eq!(profiled.output.status.code(), Some(4), "{}", describe(&profiled.output));
    profiled.report.function("kernel").check(&cyclic_closed(256, 4)).expect("exact");
}

#[test]
fn region_of_interest() {
    let directory = scratch();
    let run = |glob: &str| Run::new(endings(), directory.path()).options(["--roi", glob]);
    assert_refused(&output(&mut run("no_such_function*").command()), 1, &["no_such_function*", "kernel"]);
    assert!(!directory.path().join("dmdprof.data").exists(), "a profile of nothing was written");
    assert_refused(&output(&mut run("[").command()), 1, &["--roi"]);

    let profiled = run("ker*").go();
    profiled.report.assert_consistent();
    let expected = cyclic_closed(256, 4);
    profiled.report.function("kernel").check(&expected).expect("the same numbers as without --roi");
    assert_eq!(profiled.report.total("read"), expected.read, "nothing else is counted");
}

fn a_profile(directory: &Path) -> Vec<u8> {
    let profiled = Run::new(endings(), directory).go();
    fs::read(profiled.profile).expect("a profile")
}

#[test]
fn profiles_that_are_not() {
    let directory = scratch();
    let good = a_profile(directory.path());
    let report = |bytes: &[u8]| {
        let path = directory.path().join("bad.data");
        fs::write(&path, bytes).expect("written");
        output(dmdprof().arg("report").arg(path))
    };
    assert!(report(&good).status.success(), "the unchanged file is good");
    assert_refused(&report(&[]), 1, &["bad.data", "not a dmdprof profile"]);
    assert_refused(
        &report(b"perf.data of another tool, or anything at all"),
        1,
        &["bad.data", "not a dmdprof profile"],
    );
    for length in [1, 7, 8, 20, 31, 32, good.len() / 2, good.len() - 1] {
        assert_refused(&report(&good[..length]), 1, &["bad.data"]);
    }
    let mut longer = good.clone();
    longer.push(0);
    assert_refused(&report(&longer), 1, &["bad.data"]);
    for at in [16, 24, 32, good.len() / 2, good.len() - 1] {
        let mut damaged = good.clone();
        damaged[at] ^= 1;
        assert_refused(&report(&damaged), 1, &["bad.data"]);
    }
    // Bytes 8..12 are the format's version (docs/profile-format.md).
    let mut newer = good.clone();
    newer[8..12].copy_from_slice(&9999u32.to_le_bytes());
    assert_refused(&report(&newer), 1, &["bad.data", "newer", "9999"]);
    let missing = output(dmdprof().arg("report").arg(directory.path().join("nowhere.data")));
    assert_refused(&missing, 1, &["nowhere.data", "dmdprof run"]);
    assert_refused(&output(dmdprof().arg("report").arg(directory.path())), 1, &["directory"]);
}

/// Found out before the program runs, not after.
#[test]
fn output_that_cannot_be_written() {
    let directory = scratch();
    let refuse = |path: PathBuf, word: &str| {
        let refused = output(&mut Run::new(endings(), directory.path()).profile(path).command());
        assert_refused(&refused, 1, &[word]);
        assert!(refused.stdout.is_empty(), "the program ran all the same\n{}", describe(&refused));
    };
    refuse(directory.path().join("no/such/directory/dmdprof.data"), "no/such/directory");
    refuse(directory.path().to_path_buf(), "directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    refuse(file.join("below-a-file"), "below-a-file");
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("readable");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().into_string().expect("a plain name")).collect();
    names.sort();
    names
}

/// How many of the messages on standard error are dmdprof's.
fn messages(output: &Output) -> usize {
    String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.starts_with("dmdprof: ")).count()
}

#[test]
fn full_disk() {
    let directory = scratch();
    let before = a_profile(directory.path());
    let refused = output(&mut Run::new(endings(), directory.path()).profile("/dev/full".into()).command());
    assert_refused(&refused, 1, &["cannot write", "/dev/full", "No space left", "--output"]);
    assert_eq!(messages(&refused), 1, "{}", describe(&refused));
    assert_eq!(refused.stdout, b"130560\n");
    assert!(!Path::new("/dev/full.old").exists());
    assert_eq!(names(directory.path()), ["dmdprof.data"]);
    assert!(fs::read(directory.path().join("dmdprof.data")).expect("the old profile") == before);
}

/// Writing that fails in the middle: no file may grow beyond 64 bytes once the program runs. The profile of the run
/// before stays as it is, and nothing half written stays beside it.
#[test]
fn writing_that_fails_midway() {
    let prlimit = require("prlimit".as_ref(), "install util-linux");
    let directory = scratch();
    let before = a_profile(directory.path());
    assert!(before.len() > 64);

    // Without its signal, growing beyond the limit is an error; a shell passes that on to what it becomes.
    let run = Run::new(endings(), directory.path()).args(["cat"]).command();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
    let mut command = under(shell, &run);
    command.current_dir(directory.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let mut line = [0; 7];
    let started = child.stdout.as_mut().expect("a pipe").read_exact(&mut line);
    started.unwrap_or_else(|e| panic!("the program prints its sum first: {e}"));
    succeed(Command::new(prlimit).args(["--fsize=64", "--pid"]).arg(child.id().to_string()));
    child.stdin.take().expect("a pipe").write_all(b"text").expect("the program reads");
    let refused = child.wait_with_output().expect("waited for");

    assert_eq!((&line, &refused.stdout[..]), (b"130560\n", &b"text"[..]));
    assert_refused(&refused, 1, &["cannot write", "too large", "--output", "previous profile, if any, is unchanged"]);
    assert_eq!(messages(&refused), 1, "{}", describe(&refused));
    assert_eq!(names(directory.path()), ["dmdprof.data"]);
    assert!(fs::read(directory.path().join("dmdprof.data")).expect("the old profile") == before);
}

fn a_source(directory: &Path) {
    fs::write(directory.join("x.c"), "int main(void) { return 0; }\n").expect("written");
}

/// Both ways to a program from a source file, with something amiss in the environment: neither succeeds nor leaves
/// anything, and both say the same.
fn assert_not_built(directory: &Path, variable: &str, value: &Path, words: &[&str]) {
    a_source(directory);
    let before = names(directory);
    for arguments in [&["cc", "-c", "x.c"][..], &["run", "x.c"]] {
        let refused = output(dmdprof().args(arguments).current_dir(directory).env(variable, value));
        assert_refused(&refused, 1, words);
        assert!(refused.stdout.is_empty(), "{arguments:?}: {}", describe(&refused));
        // `run` may add that the build failed, in a line of its own.
        assert!(messages(&refused) <= 2, "{arguments:?}: {}", describe(&refused));
        assert_eq!(names(directory), before, "{arguments:?}");
    }
}

#[test]
fn no_llvm() {
    let directory = scratch();
    let nowhere = directory.path().join("nowhere");
    assert_not_built(
        directory.path(),
        "DMDPROF_LLVM",
        &nowhere,
        &["libLLVM", "nowhere", "rustup", "set DMDPROF_LLVM to"],
    );
}

#[test]
fn a_clang_that_is_too_new_or_none() {
    let directory = scratch();
    let program = directory.path().join("future-clang");
    let says = |text: &str| {
        fs::write(&program, format!("#!/bin/sh\necho '{text}'\n")).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permitted");
    };
    says("clang version 99.0.1");
    let words = ["future-clang", "version 99", "cannot read", "libllvm99", "DMDPROF_CLANG chooses one"];
    assert_not_built(directory.path(), "DMDPROF_CLANG", &program, &words);
    says("gcc (GCC) 13.2.0");
    assert_not_built(directory.path(), "DMDPROF_CLANG", &program, &["future-clang", "set DMDPROF_CLANG to a clang"]);
    let nowhere = directory.path().join("nowhere");
    assert_not_built(directory.path(), "DMDPROF_CLANG", &nowhere, &["nowhere", "no such program", "set it to"]);
}

/// Sets the epoch in a bitcode file's identification block to 1: what LLVM will do when it breaks with its past. The
/// file is a magic number and blocks; the first block is the identification, whose body (its length in words is in
/// bytes 8..12) ends with the record `epoch`: 5 bits of abbreviation number, 5, and 6 bits of value, 0. The rest is
/// zeros, so the last bit set is the upper one of the 5, and the value begins 3 bits after it.
fn with_another_epoch(bitcode: &[u8]) -> Vec<u8> {
    assert!(bitcode.starts_with(b"BC\xc0\xde"), "not bitcode");
    let words = u32::from_le_bytes(bitcode[8..12].try_into().expect("4 bytes")) as usize;
    let body = 12 * 8..(12 + 4 * words) * 8;
    let last = body.rev().find(|bit| bitcode[bit / 8] >> (bit % 8) & 1 == 1).expect("an identification");
    let mut forged = bitcode.to_vec();
    forged[(last + 3) / 8] |= 1 << ((last + 3) % 8);
    forged
}

#[test]
fn bitcode_that_llvm_cannot_read() {
    let directory = scratch();
    a_source(directory.path());
    let bitcode = directory.path().join("x.bc");
    succeed(Command::new(clang(false)).args(["-emit-llvm", "-c", "x.c", "-o", "x.bc"]).current_dir(directory.path()));
    let good = fs::read(&bitcode).expect("bitcode");
    let instrument = |bytes: &[u8]| {
        fs::write(&bitcode, bytes).expect("written");
        output(dmdprof().args(["instrument", "x.bc", "-o", "x.o"]).current_dir(directory.path()))
    };
    for (what, bytes) in [
        ("another epoch", with_another_epoch(&good)),
        ("cut short", good[..good.len() / 2].to_vec()),
        ("garbage", b"BC\xc0\xdegarbage, and more garbage".to_vec()),
        ("magic only", b"BC\xc0\xde".to_vec()),
    ] {
        let refused = instrument(&bytes);
        assert_refused(&refused, 1, &["x.bc", "not bitcode that LLVM", "newer clang", "DMDPROF_CLANG"]);
        assert_eq!(messages(&refused), 1, "{what}: {}", describe(&refused));
        assert!(!directory.path().join("x.o").exists(), "{what}: an object was written all the same");
    }
    assert!(String::from_utf8_lossy(&instrument(&with_another_epoch(&good)).stderr).contains("epoch"));
    // An empty file is a module of textual IR that names no target.
    assert_refused(&instrument(&[]), 1, &["target", "only x86_64 Linux"]);
    let taken = instrument(&good);
    assert!(taken.status.success(), "the unchanged file is good\n{}", describe(&taken));
    assert!(directory.path().join("x.o").is_file());
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [
        &["run"][..],
        &["run", "--liveness", "sometimes", "true"],
        &["run", "--line-size", "48", "true"],
        &["run", "--line-size", "0", "true"],
        &["run", "--format", "xml", "true"],
        &["report", "--no-such-option"],
        &["no-such-command"],
        &[],
    ] {
        assert_refused(&output(dmdprof().args(arguments)), 2, &["help"]);
    }
}

/// A reader that stops early (`dmdprof report | head -1`) is not an error.
#[test]
fn broken_pipe_is_success() {
    let directory = scratch();
    a_profile(directory.path());
    let mut command = dmdprof();
    command.args(["report", "--format", "json", "--hist"]).arg(directory.path().join("dmdprof.data"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("waited for");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", describe(&output));
}

/// Where there are too few addresses for the analysis, it says so and leaves what it has, and the program goes on to
/// its end instead of waiting for somebody to read its records.
#[test]
fn too_few_addresses_end_the_analysis_but_not_the_program() {
    let program = case("scattered").build(&Compiler::dmdprof());
    let directory = scratch();
    let run = |limit: &str| {
        let mut limited = Command::new("bash");
        limited.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", limit]).arg(dmdprof_path());
        limited.args(["run", "-o"]).arg(directory.path().join("scattered.data")).arg(&program);
        output(&mut limited)
    };
    let (enough, few) = (run("unlimited"), run("2000000"));
    assert!(enough.status.success(), "{}", describe(&enough));
    let sum = enough.stdout.split_inclusive(|&byte| byte == b'\n').next().expect("the program printed its sum");
    assert_eq!(few.status.code(), Some(1), "{}", describe(&few));
    assert!(few.stdout.starts_with(sum), "{}", describe(&few));
    let message = String::from_utf8_lossy(&few.stderr);
    assert!(message.contains("cannot reserve") && message.contains("ulimit -v"), "{}", describe(&few));
    assert!(!message.contains("panicked"), "{}", describe(&few));
    let report = succeed(dmdprof().arg("report").arg(directory.path().join("scattered.data")));
    let report = String::from_utf8_lossy(&report.stdout);
    assert!(report.contains("INCOMPLETE: the analysis was cut short"), "{report}");
}

/// What nobody reads is no reason to end: the program is measured to its end, and its exit code is the command's.
#[test]
fn messages_that_nobody_takes() {
    let directory = scratch();
    let at = directory.path();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
    let run = |words: &[&str]| Run::new(endings(), at).args(words).command();
    let profile = at.join("dmdprof.data");

    // `dmdprof run ./prog 2>&1 | head -1`: the reader goes while messages are still to come.
    let mut piped = Command::new("sh");
    piped.args(["-c", "{ \"$@\"; echo $? > code; } 2>&1 | head -1", "sh"]).arg(dmdprof_path()).current_dir(at);
    piped.args(["run", "--stats", "sh", "-c", "echo first; sleep 0.3; exec \"$0\" >/dev/null"]).arg(endings());
    assert_eq!(String::from_utf8_lossy(&succeed(&mut piped).stdout), "first\n");
    assert_eq!(fs::read_to_string(at.join("code")).expect("written"), "0\n");
    fs::remove_file(&profile).expect("the profile is written all the same");

    // A full disk behind standard error, or nothing at all.
    let code = run(&[]).stdout(Stdio::null()).stderr(full()).status().expect("started").code();
    assert_eq!(code, Some(0));
    fs::remove_file(&profile).expect("the profile is written all the same");
    // Behind standard output it is an error, as the report is what was asked for.
    a_profile(at);
    for words in
        [&["report", "dmdprof.data"][..], &["curve", "dmdprof.data"], &["machine", "list"], &["cache"], &["doctor"]]
    {
        let mut command = dmdprof();
        let found = output(command.args(words).current_dir(at).stdout(full()).stderr(Stdio::piped()));
        assert!(matches!(found.status.code(), Some(1)), "{words:?}: {}", describe(&found));
        let said = String::from_utf8_lossy(&found.stderr);
        assert!(said.contains("No space left") && !said.contains("panicked"), "{words:?}: {said}");
        let both = dmdprof().args(words).current_dir(at).stdout(full()).stderr(full()).status().expect("started");
        assert_eq!(both.code(), Some(1), "{words:?}");
    }
}

/// No file may grow (`ulimit -f 0`): an error with its reason, not the end by a signal.
#[test]
fn a_limit_on_files_is_an_error() {
    let directory = scratch();
    a_profile(directory.path());
    let limited = |words: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 0; exec \"$@\"", "sh"]).arg(dmdprof_path()).args(words);
        output(command.current_dir(directory.path()))
    };
    assert_refused(&limited(&["run", "true"]), 1, &["ulimit -f"]);
    assert_refused(&limited(&["report", "dmdprof.data", "-o", "report.txt"]), 1, &["File too large"]);
    assert_refused(&limited(&["export", "--to", "csv", "-o", "x.csv", "dmdprof.data"]), 1, &["File too large"]);
    assert!(limited(&["report", "dmdprof.data"]).status.success());
}
