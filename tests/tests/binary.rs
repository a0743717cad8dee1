//! Programs without hooks: what is measured of them under the emulator is what hooks measure, what Cachegrind counts and
//! what the program itself says.

use std::path::Path;
use std::process::Command;

use dmdprof_tests::cachegrind::total;
use dmdprof_tests::profiled::{Report, Run};
use dmdprof_tests::programs::Compiler;
use dmdprof_tests::tool::{cases, clang, describe, dmdprof, in_tests, output, require, scratch, succeed, valgrind};
use dmdprof_tests::unhooked::{build, build_for, emulator, emulator_of, write_text};
use serde_json::Value;

/// Rows by source line of a file: the line, and all that a report says of it but its share of the whole.
fn lines_of(profile: &Path, file: &str, options: &[&str]) -> Vec<(u64, String)> {
    let mut report = dmdprof();
    report.arg("report").arg(profile).args(["--lines", "--threshold", "0%", "--format", "json"]).args(options);
    let text = succeed(&mut report).stdout;
    let report: Value = serde_json::from_slice(&text).expect("a report in JSON");
    let rows = report["functions"].as_array().or(report["lines"].as_array()).expect("rows");
    let row = |row: &Value| {
        let line = row["line"].as_u64().filter(|_| row["file"].as_str().is_some_and(|name| name.ends_with(file)))?;
        let mut own = row["exclusive"].clone();
        for field in ["share", "ops", "flops", "flops_per_read"] {
            own.as_object_mut().expect("an object").remove(field);
        }
        Some((line, format!("{own} {}", row["depth"])))
    };
    rows.iter().filter_map(row).collect()
}

#[test]
fn kernels_are_measured_as_by_hooks() {
    emulator();
    let directory = scratch();
    let source = std::fs::read_to_string(in_tests("binary/kernels.c")).expect("the source");
    // Statements of kernels; calls, returns and saved registers are on other lines.
    let marked =
        ["a[i][j] =", "b[i][j] =", "c[i][j] =", "c[i][j] +=", "next[i] =", "at = next[at]", "text[i] =", "counts["];
    let is_kernel = |line: u64| {
        let text = source.lines().nth(line as usize - 1).unwrap_or("").trim();
        marked.iter().any(|mark| text.starts_with(mark))
    };
    for options in [&["--liveness", "hints"][..], &["--liveness", "none"]] {
        let rows = |compiler: &Compiler, name: &str| {
            let run = Run::new(build("kernels.c", compiler), directory.path());
            let done = run.options(options).profile(directory.path().join(name)).go();
            let rows = lines_of(&done.profile, "kernels.c", &[]);
            rows.into_iter().filter(|(line, _)| is_kernel(*line)).collect::<Vec<_>>()
        };
        let (mut hooked, mut emulated) = (rows(&Compiler::dmdprof(), "hooked"), rows(&Compiler::native(), "emulated"));
        hooked.sort();
        emulated.sort();
        assert!(hooked.len() >= marked.len() - 1, "{hooked:?}");
        assert_eq!(hooked, emulated, "{options:?}");
    }
}

/// Reads and writes that miss in a cache of 512 lines with full associativity.
fn cachegrind(directory: &Path, words: &[&str]) -> u64 {
    let out = directory.join("cachegrind.out");
    let mut command = Command::new(valgrind());
    command.args(["--tool=cachegrind", "--cache-sim=yes", "--D1=32768,512,64"]).current_dir(directory);
    command.arg(format!("--cachegrind-out-file={}", out.display())).args(words);
    succeed(&mut command);
    let text = std::fs::read_to_string(&out).expect("cachegrind writes its output file");
    ["D1mr", "D1mw"].map(|event| total(&text, event).unwrap_or_else(|| panic!("no {event:?} in {text}"))).iter().sum()
}

fn emulated(directory: &Path, options: &[&str], words: &[&str]) -> Report {
    let mut command = dmdprof();
    command.current_dir(directory).args(["run", "-q", "-o", "profile"]).args(options).args(words);
    succeed(&mut command);
    Report::read(&directory.join("profile"))
}

fn calls(report: &Report, function: &str) -> u64 {
    let row = report.functions().iter().find(|row| row["name"] == function);
    row.and_then(|row| row["calls"].as_u64()).unwrap_or_else(|| panic!("no {function} in {:?}", report.names()))
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn lines_are_those_that_cachegrind_counts() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    write_text(at, 20_000);
    let kernels = build("kernels.c", &Compiler::native());
    let kernels = kernels.to_str().expect("UTF-8");
    for words in cases([&[kernels][..], &["gzip", "-9", "-k", "-c", "text"], &["sort", "text"]], 2) {
        let report = emulated(at, &["--lines-only"], words);
        let [_, fetched] = report.moved(32 << 10).expect("traffic of lines");
        let (ours, theirs) = (fetched / 64, cachegrind(at, words));
        let difference = ours.abs_diff(theirs) as f64 / theirs as f64;
        println!("{words:?}: {ours} lines, cachegrind {theirs}, {:.3} %", 100.0 * difference);
        // Valgrind loads a library of its own, and its processor saves fewer registers in the dynamic linker.
        assert!(ours.abs_diff(theirs) < 200 + theirs / 500, "{words:?}: dmdprof {ours}, cachegrind {theirs}");
    }
}

#[test]
fn what_begins_and_ends_is_known() {
    emulator();
    let directory = scratch();
    let lives = build("lives.c", &Compiler::native());
    let native = output(&mut Command::new(&lives));
    let run = Run::new(&lives, directory.path()).options(["--objects"]);
    let done = output(&mut run.command());
    assert_eq!((done.status.code(), done.stdout), (native.status.code(), native.stdout));
    let report = Report::read(&directory.path().join("dmdprof.data"));
    report.assert_consistent();
    assert_eq!(report.lost_events(), 0);
    assert!(report.complete());
    assert_eq!(report.0["coverage"]["processes"], 2);
    assert_eq!(report.0["coverage"]["threads"], 6);
    let peak = report.total("peak_live");
    assert!((800_000..1_200_000).contains(&peak), "of twice as much, half is alive at a time: {peak}");
    let frees = &report.0["coverage"]["unknown_frees"];
    assert!(frees.as_u64().is_none_or(|frees| frees < 5), "{frees}");
    assert_eq!(calls(&report, "blocks"), 2);
    assert_eq!(calls(&report, "deep"), 210);
    assert_eq!(calls(&report, "work"), 4);
    assert_eq!(calls(&report, "handler"), 10);
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn programs_that_are_started_and_killed_are_measured() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    let lives = build("lives.c", &Compiler::native());
    let run = |word: &str| output(Run::new(&lives, at).args([word]).command().current_dir(at));
    let executed = run("execute");
    assert_eq!(
        (executed.status.code(), &executed.stdout[..]),
        (Some(5), &b"executed\n"[..]),
        "{}",
        describe(&executed)
    );
    let report = Report::read(&at.join("dmdprof.data"));
    assert_eq!(report.0["coverage"]["processes"], 3, "the shell is one");
    assert!(report.complete());
    let killed = run("killed");
    assert_eq!(killed.status.code(), Some(137), "{}", describe(&killed));
    assert_eq!(calls(&Report::read(&at.join("dmdprof.data")), "blocks"), 2);
    // A shell, on request.
    let report = emulated(at, &["--binary"], &["sh", "-c", "ls / | wc -l; true"]);
    assert_eq!(report.0["coverage"]["processes"], 5, "a fork and what it executes are two");
    assert!(report.complete());
}

#[test]
fn runs_are_the_same_and_can_be_recorded() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    write_text(at, 20_000);
    let read = |name: &str| std::fs::read(at.join(name)).expect("a profile");
    let words = ["gzip", "-k", "-c", "text"];
    for name in ["one", "two"] {
        succeed(dmdprof().current_dir(at).args(["run", "-q", "-o", name]).args(words));
    }
    assert!(read("one") == read("two"), "two runs of one program");
    succeed(dmdprof().current_dir(at).args(["record", "-o", "trace"]).args(words));
    succeed(dmdprof().current_dir(at).args(["replay", "trace", "-q", "-o", "three"]));
    assert!(read("one") == read("three"), "recorded and replayed");
}

#[test]
fn random_numbers_are_counted_and_fixed_on_request() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    let program = build("random.c", &Compiler::native());
    let run = |name: &str, options: &[&str]| {
        let mut command = dmdprof();
        command.current_dir(at).args(["run", "-q", "-o", name]).args(options).arg(&program);
        String::from_utf8(succeed(&mut command).stdout).expect("UTF-8")
    };
    let read = |name: &str| std::fs::read(at.join(name)).expect("a profile");
    assert_ne!(run("one", &[]), run("two", &[]));
    let report = describe(&output(dmdprof().current_dir(at).args(["report", "--coverage", "one"])));
    assert!(report.contains("random numbers from the system: 1 request,"), "{report}");
    assert_eq!(run("three", &["--deterministic"]), run("four", &["--deterministic"]));
    assert!(read("three") == read("four"), "two runs with the same numbers");
}

#[test]
fn no_library_is_loaded_where_only_lines_are_counted() {
    emulator();
    let directory = scratch();
    let program = build("random.c", &Compiler::native());
    let run = |options: &[&str]| {
        let mut command = Run::new(&program, directory.path()).options(options).command();
        String::from_utf8(succeed(command.env_remove("LD_PRELOAD")).stdout).expect("UTF-8")
    };
    assert!(run(&["--lines-only"]).ends_with(" nothing\n"));
    for options in [&[][..], &["--lines-only", "--objects"]] {
        assert!(run(options).contains("dmdprof-allocations-"), "{options:?}");
    }
    let report = Report::read(&directory.path().join("dmdprof.data"));
    assert!(report.complete());
}

#[test]
fn what_is_missing_is_said() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    let program = build("kernels.c", &Compiler::native());
    let said = |command: &mut Command| describe(&output(command.current_dir(at)));
    let run = |words: &[&str]| {
        let mut command = dmdprof();
        command.arg("run").args(words);
        command
    };
    let path = |contents: &str| {
        let bin = at.join("bin");
        std::fs::create_dir_all(&bin).expect("a directory");
        let emulator = bin.join("qemu-x86_64");
        std::fs::write(&emulator, format!("#!/bin/sh\n{contents}\n")).expect("it can be written");
        succeed(Command::new("chmod").arg("+x").arg(&emulator));
        bin
    };
    let program = program.to_str().expect("UTF-8");
    let missing = said(run(&["--binary", program]).env("PATH", at));
    assert!(missing.contains("qemu-x86_64 is not installed") && missing.contains("apt install qemu-user"), "{missing}");
    let old = path("echo 'qemu-x86_64 version 3.1.0'");
    let old = said(run(&["--binary", program]).env("PATH", old));
    assert!(old.contains("is QEMU 3.1.0") && old.contains("4.2 or newer"), "{old}");
    let plain = path("echo 'qemu-x86_64 version 7.2.0'");
    let plain = said(run(&["--binary", program]).env("PATH", plain));
    assert!(plain.contains("cannot load plugins") && plain.contains("--enable-plugins"), "{plain}");
    let future = path("exit 1").join("qemu-x86_64");
    let mut compiler = Command::new(clang(false));
    succeed(compiler.args(["-rdynamic", "-o"]).arg(&future).arg(in_tests("binary/future.c")).arg("-ldl"));
    let future = said(run(&["--binary", program]).env("PATH", at.join("bin")));
    assert!(future.contains("interface has version 99, and dmdprof knows 1 to 5"), "{future}");
    assert!(!future.contains("the program runs") && future.contains("ended before any instruction"), "{future}");
    let values = said(&mut run(&["--binary", "--model", "values", program]));
    assert!(values.contains("--binary is for the memory model"), "{values}");
}

/// Programs of the distribution, on the text: what they print and end with is what they do without us.
#[test]
fn programs_that_are_already_there_run_as_they_are() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    let short: String = (0..400).map(|number| format!("{} alpha {}\n", number * 7919 % 401, number)).collect();
    std::fs::write(at.join("text"), short).expect("it can be written");
    let programs: [&[&str]; 10] = [
        &["grep", "nothing of this", "text"],
        &["sort", "-n", "text"],
        &["awk", "{ n += $1 } END { print n }", "text"],
        &["sh", "-c", "gzip -k -c text | wc -c"],
        &["gzip", "-k", "-c", "text"],
        &["bzip2", "-k", "-c", "text"],
        &["xz", "-0", "-k", "-c", "text"],
        &["grep", "-c", "alpha 1", "text"],
        &["sed", "-n", "s/alpha/beta/p", "text"],
        &["perl", "-ne", "$n += $_; END { print \"$n\\n\" }", "text"],
    ];
    for words in cases(programs, 4) {
        let native = output(Command::new(words[0]).args(&words[1..]).current_dir(at));
        let mut command = dmdprof();
        command.current_dir(at).args(["run", "--binary", "-q", "-o", "profile"]).args(words);
        let done = output(&mut command);
        assert_eq!(done.status.code(), native.status.code(), "{words:?}: {}", describe(&done));
        assert_eq!(done.stdout, native.stdout, "{words:?}");
        assert_eq!(done.stderr, native.stderr, "{words:?}");
        let report = Report::read(&at.join("profile"));
        report.assert_consistent();
        assert!(report.complete() && report.lost_events() == 0, "{words:?}");
        assert!(report.functions().len() > 20, "{words:?}: {:?}", report.names());
    }
}

/// The same kernels by the compilers of other processors: each line moves the same bytes.
#[test]
fn programs_of_other_processors_are_measured() {
    let directory = scratch();
    let moved = |program: &Path, name: &str| {
        let done = Run::new(program, directory.path()).profile(directory.path().join(name)).go();
        let rows = lines_of(&done.profile, "kernels.c", &[]);
        let mut moved: Vec<(u64, u64, u64)> = rows
            .into_iter()
            .map(|(line, row)| {
                let end = row.find('}').expect("an object") + 1;
                let row: Value = serde_json::from_str(&row[..end]).expect("an object");
                (line, row["read"].as_u64().expect("bytes"), row["written"].as_u64().expect("bytes"))
            })
            .filter(|(_, read, written)| read + written >= 8192)
            .collect();
        moved.sort_unstable();
        moved
    };
    let here = moved(&build("kernels.c", &Compiler::native()), "here");
    assert!(here.len() >= 8, "{here:?}");
    for processor in ["aarch64", "riscv64"] {
        let _ = emulator_of(processor);
        let program = build_for(processor, "kernels.c", directory.path());
        assert_eq!(moved(&program, "there"), here, "{processor}");
    }
}

/// Whether an emulator lets a plugin read registers: from 9.1 on.
fn reads_registers(processor: &str) -> bool {
    let said = succeed(Command::new(emulator_of(processor)).arg("--version")).stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let version = said.split_whitespace().nth(2).unwrap_or_else(|| panic!("no version in {said}"));
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().expect("a number"));
    (numbers.next(), numbers.next()) >= (Some(9), Some(1))
}

/// Blocks of the heap by the function that asked for them: how many, most bytes of them at a time, bytes written.
type Blocks = Vec<(String, u64, u64, u64)>;

/// Those of `blocks.c`, and what the report says of the program's coverage.
fn blocks(program: &Path, directory: &Path) -> (Blocks, String) {
    let done = Run::new(program, directory).options(["--objects"]).go();
    done.report.assert_consistent();
    let mut report = dmdprof();
    report.arg("report").arg(&done.profile).args(["--objects", "--threshold", "0%", "--format", "json"]);
    let report: Value = serde_json::from_slice(&succeed(&mut report).stdout).expect("a report in JSON");
    let sheets = report["sheets"].as_array().expect("sheets");
    let sheet = sheets.iter().find(|sheet| sheet["name"] == "objects").expect("objects");
    let row = |row: &Value| {
        let name = row["object"].as_str()?.split([' ', '(']).next()?;
        let number = |field: &str| row[field].as_u64().expect("a number");
        let is_ours = row["kind"] == "heap" && name.starts_with("of_");
        is_ours.then(|| (name.to_owned(), number("times"), number("peak"), number("written")))
    };
    let mut blocks: Blocks = sheet["rows"].as_array().expect("rows").iter().filter_map(row).collect();
    blocks.sort();
    let coverage = succeed(dmdprof().arg("report").arg(&done.profile).arg("--coverage")).stdout;
    (blocks, String::from_utf8_lossy(&coverage).into_owned())
}

/// Lives are told by a library where that can be loaded, by registers where they can be read, and else not at all.
#[test]
fn blocks_live_as_long_in_any_program() {
    let directory = scratch();
    let at = directory.path();
    let build = |compiler: &str, source: &str, options: &[&str], name: &str| {
        let compiler = require(compiler.as_ref(), "install g++, gcc-*-linux-gnu and libc6-dev-*-cross");
        let mut compiler = Command::new(compiler);
        compiler.args(["-O2", "-g"]).args(options).arg("-o").arg(at.join(name));
        succeed(compiler.arg(in_tests("binary").join(source)).arg("-lpthread"));
        at.join(name)
    };
    // As the source says.
    let expected = |name: &str, times: u64, bytes: u64| (name.to_owned(), times, bytes, times * bytes);
    let thrown = [expected("of_aligned", 100, 640), expected("of_many", 50, 900), expected("of_one", 100, 3000)];
    let expected = [
        expected("of_a_choice", 90, 16_000),
        expected("of_a_jump", 100, 2400),
        expected("of_a_wrapper", 100, 4000),
        expected("of_aligned_alloc", 100, 6400),
        expected("of_calloc", 100, 16_000),
        expected("of_malloc", 100, 8000),
        expected("of_memalign", 100, 3200),
        expected("of_posix_memalign", 100, 12_800),
        expected("of_realloc", 100, 16_000),
        // Each of two threads has its own.
        ("of_threads".into(), 200, 3200, 200 * 1600),
    ];
    let untold = "heap blocks, of a program that";
    let check = |program: &Path, expected: &[(String, u64, u64, u64)], has_lives: bool| {
        let (mut found, coverage) = blocks(program, at);
        // One clears what it gives, unless the system has; the other may move it.
        for (name, _, _, written) in &mut found {
            if let ("of_calloc" | "of_realloc", 1_600_000..=3_200_000) = (name.as_str(), *written) {
                *written = 1_600_000;
            }
        }
        let expected = if has_lives { expected } else { &[] };
        assert_eq!(found, expected, "{}", program.display());
        assert_eq!(!coverage.contains(untold), has_lives, "{}: {coverage}", program.display());
    };
    let here = reads_registers("x86_64");
    check(&build("gcc", "blocks.c", &[], "dynamic"), &expected, true);
    check(&build("gcc", "blocks.c", &["-static"], "static"), &expected, here);
    // Nothing says where its functions are.
    check(&build("gcc", "blocks.c", &["-static", "-s"], "stripped"), &expected, false);
    check(&build("g++", "thrown.cpp", &[], "thrown"), &thrown, true);
    check(&build("g++", "thrown.cpp", &["-static"], "static-thrown"), &thrown, here);
    for processor in cases(["aarch64", "riscv64"], 1) {
        let (compiler, has_lives) = (format!("{processor}-linux-gnu-gcc"), reads_registers(processor));
        check(&build(&compiler, "blocks.c", &[], processor), &expected, has_lives);
        check(&build(&compiler, "blocks.c", &["-static"], &format!("static-{processor}")), &expected, has_lives);
    }
}

/// The number of a row of a report, by the function's name.
fn row(profile: &Path, name: &str) -> Option<Value> {
    let mut report = dmdprof();
    let text = succeed(report.arg("report").arg(profile).args(["--threshold", "0%", "--format", "json"])).stdout;
    let report: Value = serde_json::from_slice(&text).expect("a report in JSON");
    report["functions"].as_array().expect("rows").iter().find(|row| row["name"] == name).cloned()
}

fn moved(profile: &Path, name: &str) -> Option<[u64; 2]> {
    let row = row(profile, name)?;
    Some(["read", "written"].map(|field| row["exclusive"][field].as_u64().expect("a number")))
}

/// Each function also reads its return address.
#[test]
fn generated_code_has_the_names_that_the_program_writes_for_perf() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    let program = build("generated.c", &Compiler::native());
    let profile = at.join("dmdprof.data");
    let check = |output: &[u8], what: &str| {
        let names = format!("/tmp/perf-{}.map", String::from_utf8_lossy(output).trim());
        let _ = std::fs::remove_file(&names);
        assert_eq!(moved(&profile, "JS:*reader /app/main.js:1:1"), Some([8008, 0]), "{what}");
        // What was there before has the same addresses: the last name counts.
        assert_eq!(moved(&profile, "py::writer:/app/main.py"), Some([2000 + 16, 4000]), "{what}");
        assert_eq!(moved(&profile, "former"), None, "{what}");
        assert_eq!(moved(&profile, "(generated code)"), Some([808, 0]), "{what}");
    };
    let run = output(&mut Run::new(&program, at).command());
    assert!(run.status.success(), "{}", describe(&run));
    check(&run.stdout, "run");
    let recorded = succeed(dmdprof().args(["record", "-o", "trace"]).arg(&program).current_dir(at));
    let names = format!("/tmp/perf-{}.map", String::from_utf8_lossy(&recorded.stdout).trim());
    std::fs::remove_file(names).expect("the program has written it");
    let replay = ["replay", "-q", "--no-lines", "trace"];
    succeed(dmdprof().args(replay).current_dir(at));
    check(b"0", "the trace has the names");
}

/// Debug information in files of its own, as compilers and distributions put it.
#[test]
fn places_come_from_split_debug_information_and_what_is_missing_is_said() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    std::fs::copy(in_tests("binary/inlined.c"), at.join("inlined.c")).expect("a copy");
    let gcc = ["-O2", "-gdwarf-5", "-gsplit-dwarf", "inlined.c", "-o", "split"];
    succeed(Command::new("gcc").args(gcc).current_dir(at));
    let profiled = |name: &str| {
        let done = Run::new(at.join("split"), at).profile(at.join(name)).go();
        let report = succeed(dmdprof().arg("report").arg(&done.profile).arg("--coverage"));
        (done.profile, String::from_utf8_lossy(&report.stdout).into_owned())
    };
    let (profile, said) = profiled("whole");
    let found = row(&profile, "inner").expect("an inlined function");
    assert!(found["file"].as_str().is_some_and(|file| file.ends_with("inlined.c")), "{found}");
    assert_eq!((found["line"].as_u64(), found["exclusive"]["read"].as_u64()), (Some(6), Some(8000)), "{found}");
    assert_eq!(row(&profile, "outer").expect("its caller")["line"], 10);
    assert!(!said.contains("split debug information"), "{said}");
    for file in std::fs::read_dir(at).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        if file.extension().is_some_and(|extension| extension == "dwo") {
            std::fs::remove_file(file).expect("it can go");
        }
    }
    let (profile, said) = profiled("parts");
    assert!(row(&profile, "inner").is_none(), "inlined functions are in the other file");
    let outer = row(&profile, "outer").expect("a function");
    assert!(outer["file"].as_str().is_some_and(|file| file.ends_with("inlined.c")), "{outer}");
    assert!(outer["exclusive"]["read"].as_u64().is_some_and(|read| read >= 8000), "{outer}");
    assert!(said.contains("split debug information of split"), "{said}");
}
