//! What the emulator sees of a program without hooks, against what the program's source says.
//!
//! Takes programs whose instructions are written by hand, whose frames end in every way there is, and `gzip`. Compares
//! accesses, contexts and lines with what is known of them without dmdprof, and drives the commands that take such a
//! program as they take any other.

use std::fs;
use std::path::Path;

use dmdprof_tests::browser::Browser;
use dmdprof_tests::gate::Repository;
use dmdprof_tests::profiled::{Profiled, Report, Run};
use dmdprof_tests::programs::Compiler;
use dmdprof_tests::tool::{dmdprof, in_tests, output, scratch, succeed};
use dmdprof_tests::unhooked::{build, build_for, emulator, emulator_of, write_text};
use serde_json::Value;

/// A function, and what it is to do: accesses, bytes read, bytes written.
type Does = (&'static str, [u64; 3]);

/// What a program does in functions of its own; `more` is what each does besides.
fn check_accesses(program: &Path, more: [u64; 3], expected: &[Does]) {
    let directory = scratch();
    let profiled = Run::new(program, directory.path()).go();
    profiled.report.assert_consistent();
    for (name, does) in expected {
        let function = profiled.report.function(name);
        let found = ["accesses", "read", "written"].map(|field| function.exclusive(field));
        let expected = [0, 1, 2].map(|at| does[at] + more[at]);
        assert_eq!(found, expected, "accesses, bytes read and bytes written by {name}");
    }
}

#[test]
fn accesses_are_those_of_instructions() {
    emulator();
    let program = build("accesses.c", &Compiler::native());
    let return_address = [1, 8, 0];
    let strings: [Does; 12] = [
        // 16 bytes at a time.
        ("copy_bytes", [512, 4096, 4096]),
        ("copy_bytes_within_a_block", [512, 4096, 4096]),
        ("copy_words", [512, 4096, 4096]),
        ("copy_unaligned", [512, 4096, 4096]),
        ("copy_downwards", [128, 64, 64]),
        ("copy_nothing", [0, 0, 0]),
        ("copy_one_byte", [2, 1, 1]),
        ("fill_bytes", [256, 0, 4096]),
        ("fill_words", [256, 0, 4096]),
        // One at a time.
        ("scan_bytes", [4096, 4096, 0]),
        ("compare_bytes", [8192, 8192, 0]),
        ("load_bytes", [4096, 4096, 0]),
    ];
    let loads_and_stores: [Does; 13] = [
        ("load_across_lines", [1, 8, 0]),
        ("load_across_pages", [1, 8, 0]),
        ("load_and_store_10", [2, 10, 10]),
        ("load_16", [1, 16, 0]),
        ("load_16_across_lines", [1, 16, 0]),
        ("load_16_across_pages", [1, 16, 0]),
        ("load_16_to_add", [1, 16, 0]),
        ("load_two_halves", [2, 16, 0]),
        ("store_16", [1, 0, 16]),
        ("store_16_past_caches", [1, 0, 16]),
        ("load_32", [1, 32, 0]),
        ("load_32_across_lines", [1, 32, 0]),
        ("store_32", [1, 0, 32]),
    ];
    let both: [Does; 9] = [
        ("add", [2, 8, 8]),
        ("set_bit", [2, 4, 4]),
        ("atomic_add", [2, 8, 8]),
        ("atomic_add_4", [2, 4, 4]),
        ("atomic_increment", [2, 4, 4]),
        ("atomic_exchange", [2, 8, 8]),
        ("atomic_exchange_if_same", [2, 8, 8]),
        ("atomic_exchange_if_other", [2, 8, 8]),
        ("atomic_exchange_16", [2, 16, 16]),
    ];
    let of_the_stack: [Does; 6] = [
        ("push_and_pop", [2, 8, 8]),
        ("push_what_is_loaded", [3, 16, 8]),
        ("call_and_return", [2, 8, 8]),
        // The address of the function is stored, then loaded.
        ("call_what_is_loaded", [4, 16, 16]),
        ("no_access", [0, 0, 0]),
        ("system_call", [0, 0, 0]),
    ];
    check_accesses(&program, return_address, &[&strings[..], &loads_and_stores, &both, &of_the_stack].concat());
}

/// Parts of a pair, or of several vectors, are one access, as they are one instruction.
#[test]
fn accesses_are_those_of_instructions_of_aarch64() {
    let _ = emulator_of("aarch64");
    let directory = scratch();
    let program = build_for("aarch64", "accesses_aarch64.c", directory.path());
    let expected: [Does; 18] = [
        ("load", [1, 8, 0]),
        ("load_two", [2, 16, 0]),
        ("load_pair", [1, 16, 0]),
        ("load_pair_of_4", [1, 8, 0]),
        ("load_pair_of_16", [1, 32, 0]),
        ("load_pair_across_lines", [1, 16, 0]),
        ("store_pair", [1, 0, 16]),
        ("store_pairs", [2, 0, 32]),
        ("store_pair_of_16", [1, 0, 32]),
        ("load_16", [1, 16, 0]),
        ("load_16_across_lines", [1, 16, 0]),
        ("store_16", [1, 0, 16]),
        ("load_64", [1, 64, 0]),
        ("store_64", [1, 0, 64]),
        ("load_lane", [1, 4, 0]),
        ("atomic_add", [2, 8, 8]),
        ("atomic_exchange", [2, 8, 8]),
        ("atomic_exchange_pair", [2, 16, 16]),
    ];
    check_accesses(&program, [0; 3], &expected);
}

/// Contexts in which `leaf` has written, by functions of a source alone, each with the bytes, in order of the bytes.
fn contexts_of_leaf(profile: &Path, source: &str) -> Vec<(u64, String)> {
    let mut export = dmdprof();
    export.args(["export", "--to", "folded", "--metric", "written", "--no-inline", "-o", "-"]).arg(profile);
    let folded = String::from_utf8(succeed(&mut export).stdout).expect("UTF-8");
    let is_ours = |name: &&str| *name == "main" || source.contains(&format!("FUNCTION void {name}("));
    let row = |line: &str| {
        let (frames, bytes) = line.rsplit_once(' ').expect("frames and bytes");
        let frames: Vec<&str> = frames.split(';').collect();
        let ours: Vec<&str> = frames.iter().copied().filter(is_ours).collect();
        (frames.last() == Some(&"leaf")).then(|| (bytes.parse().expect("bytes"), ours.join(" ")))
    };
    let mut contexts: Vec<(u64, String)> = folded.lines().filter_map(row).collect();
    contexts.sort();
    contexts
}

/// Whatever a frame ended by, functions that are called afterwards have the callers that the source says.
#[test]
fn contexts_follow_frames_that_do_not_return() {
    emulator();
    let directory = scratch();
    let source = fs::read_to_string(in_tests("binary/contexts.cpp")).expect("the source");
    let profiled = Run::new(build("contexts.cpp", &Compiler::native()), directory.path()).go();
    profiled.report.assert_consistent();
    let expected = [
        (1, "main calls_what_jumps jumped_to leaf"),
        (2, "main calls_what_jumps leaf"),
        (3, "main is_jumped_to goes_down goes_down goes_down leaf"),
        (4, "main is_jumped_to comes_after leaf"),
        (5, "main is_jumped_to leaf"),
        (6, "main is_interrupted handler in_handler leaf"),
        (7, "main is_interrupted handler leaf"),
        (8, "main is_interrupted leaf"),
        (8, "main is_interrupted_for_good comes_after leaf"),
        (9, "main catches calls_what_is_left is_left cleans leaf"),
        (10, "main catches calls_what_is_left is_left throws leaf"),
        (11, "main catches has_caught leaf"),
        (12, "main catches leaf"),
        // From a handler on a stack of its own, then on the program's; above, what was called afterwards.
        (26, "main is_interrupted_for_good jumps_out leaf"),
        (28, "main is_interrupted_for_good leaf"),
        // After each of the five.
        (500, "main goes_on leaf"),
    ];
    let found = contexts_of_leaf(&profiled.profile, &source);
    assert_eq!(found, expected.map(|(bytes, frames)| (bytes, frames.to_owned())));
    for (name, times) in [("leaf", 23), ("goes_on", 5), ("goes_down", 3), ("handler", 1), ("throws", 1)] {
        assert_eq!(calls(&profiled, name), times, "calls of {name}");
    }
}

/// The same where a call leaves its return address in a register.
#[test]
fn contexts_follow_return_addresses_in_registers() {
    let directory = scratch();
    let source = fs::read_to_string(in_tests("binary/calls.c")).expect("the source");
    let expected = [
        (3, "main repeats leaf"),
        (3, "main repeats repeats leaf"),
        (3, "main repeats repeats repeats leaf"),
        (4, "main through_a_pointer leaf"),
        (7, "main is_jumped_to leaf"),
        (8, "main is_interrupted handler leaf"),
        (9, "main is_interrupted leaf"),
        (10, "main jumped_to leaf"),
        (15, "main is_jumped_to goes_down goes_down leaf"),
        (18, "main is_jumped_to comes_after leaf"),
        (100, "main leaf"),
    ];
    for processor in ["aarch64", "riscv64"] {
        let _ = emulator_of(processor);
        let profiled = Run::new(build_for(processor, "calls.c", directory.path()), directory.path()).go();
        profiled.report.assert_consistent();
        let found = contexts_of_leaf(&profiled.profile, &source);
        assert_eq!(found, expected.map(|(bytes, frames)| (bytes, frames.to_owned())), "{processor}");
        for (name, times) in [("repeats", 3), ("goes_down", 6), ("comes_after", 3), ("handler", 1), ("main", 1)] {
            assert_eq!(calls(&profiled, name), times, "calls of {name}, {processor}");
        }
    }
}

fn calls(profiled: &Profiled, name: &str) -> u64 {
    let row = profiled.report.functions().iter().find(|row| row["name"] == name);
    row.and_then(|row| row["calls"].as_u64()).unwrap_or_else(|| panic!("no calls of {name}"))
}

/// Bytes of lines that loads bring in, that all accesses do, and that are written back.
type Traffic = [u64; 3];

/// A memory of so many lines: a list, that of the last access last, each with whether it was written since it came.
struct Memory {
    capacity: usize,
    lines: Vec<(u64, bool)>,
    traffic: Traffic,
}

impl Memory {
    fn access(&mut self, line: u64, is_store: bool) {
        let was_written = match self.lines.iter().rposition(|(number, _)| *number == line) {
            Some(at) => self.lines.remove(at).1,
            None => {
                self.traffic[0] += u64::from(!is_store);
                self.traffic[1] += 1;
                false
            }
        };
        self.lines.push((line, was_written || is_store));
        if self.lines.len() > self.capacity {
            self.traffic[2] += u64::from(self.lines.remove(0).1);
        }
    }

    /// What it has moved in all, in bytes: what is still there is written back.
    fn finish(self, bytes_of_line: u64) -> Traffic {
        let [loaded, fetched, written_back] = self.traffic;
        let written = self.lines.iter().filter(|(_, was_written)| *was_written).count() as u64;
        [loaded, fetched, written_back + written].map(|lines| lines * bytes_of_line)
    }
}

/// An access: its address, its bytes, whether it is a store.
type Access = (u64, u64, bool);

/// Accesses as they are exported, of each thread.
fn parsed(text: &str) -> Vec<Vec<Access>> {
    let mut threads: Vec<Vec<Access>> = Vec::new();
    for line in text.lines() {
        let &[kind, address, bytes, _, thread] = &line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("an address");
        let thread: usize = thread.parse().expect("a thread");
        threads.resize(threads.len().max(thread + 1), Vec::new());
        threads[thread].push((address, bytes.parse().expect("bytes"), kind == "W"));
    }
    threads
}

/// What a memory moves for a thread.
fn simulated(accesses: &[Access], capacity: u64, bytes_of_line: u64) -> Traffic {
    let mut memory = Memory { capacity: (capacity / bytes_of_line) as usize, lines: Vec::new(), traffic: [0; 3] };
    for &(address, bytes, is_store) in accesses {
        for line in address / bytes_of_line..=(address + bytes - 1) / bytes_of_line {
            memory.access(line, is_store);
        }
    }
    memory.finish(bytes_of_line)
}

/// What a profile says of each memory that it has, by capacity.
fn memories(directory: &Path, bytes_of_line: u64) -> Vec<(u64, Traffic)> {
    let mut report = dmdprof();
    report.args(["report", "--format", "json", "--line-size", &bytes_of_line.to_string()]).current_dir(directory);
    let report: Value = serde_json::from_slice(&succeed(&mut report).stdout).expect("JSON");
    let number = |row: &Value, field: &str| row[field].as_u64().unwrap_or_else(|| panic!("no {field} in {row}"));
    let memory = |row: &Value| {
        assert_eq!(number(row, "line_bytes"), bytes_of_line);
        let traffic = ["loaded", "fetched", "written_back"].map(|field| number(row, field));
        (number(row, "capacity_bytes"), traffic)
    };
    report["totals"]["moved"].as_array().expect("memories").iter().map(memory).collect()
}

/// Each thread, and the child, has memories of its own.
#[test]
fn lines_are_those_of_a_list() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    write_text(at, 1000);
    let crowd = build("crowd.c", &Compiler::native());
    for (words, threads) in [(&["gzip", "-k", "-c", "text"][..], 1), (&[crowd.to_str().expect("UTF-8")], 5)] {
        succeed(dmdprof().args(["record", "-o", "trace"]).args(words).current_dir(at));
        let export = ["export", "--to", "accesses", "-o", "-", "trace"];
        let text = String::from_utf8(succeed(dmdprof().args(export).current_dir(at)).stdout).expect("UTF-8");
        let accesses = parsed(&text);
        assert_eq!(accesses.len(), threads, "{words:?}");
        let replay = ["replay", "-q", "--lines-only", "--line-size", "64,256", "trace"];
        succeed(dmdprof().args(replay).current_dir(at));
        for bytes_of_line in [64, 256] {
            let found = memories(at, bytes_of_line);
            assert_eq!(found.iter().map(|(capacity, _)| *capacity).min(), Some(32 << 10), "{found:?}");
            for (capacity, traffic) in found {
                let each = accesses.iter().map(|thread| simulated(thread, capacity, bytes_of_line));
                let expected = each.fold([0; 3], |sum: Traffic, one| [0, 1, 2].map(|at| sum[at] + one[at]));
                assert_eq!(traffic, expected, "{words:?}: lines of {bytes_of_line} bytes in {capacity} bytes");
            }
        }
    }
}

#[test]
fn a_program_without_hooks_is_compared_with_its_baseline() {
    emulator();
    let repository = Repository::new();
    write_text(repository.path(), 1000);
    let arguments = ["-k", "-c", "text"];
    repository.save("gzip", "gzip", arguments);
    let baseline = repository.read("dmdprof/gzip.toml");
    repository.compare("gzip", "gzip", arguments).assert_passes();
    // Two more runs, one of them at other addresses.
    succeed(repository.command(["--twice", "--save-baseline", "gzip", "--"]).arg("gzip").args(arguments));
    assert_eq!(repository.read("dmdprof/gzip.toml"), baseline, "made twice");
}

/// What was printed, and the report of a program that perl becomes or starts.
fn started(code: &str) -> (String, Value) {
    let directory = scratch();
    let mut run = dmdprof();
    run.args(["run", "-q", "--binary", "--lines-only", "--no-twin", "-o"]).arg(directory.path().join("profile"));
    let printed = succeed(run.args(["perl", "-e", code]));
    let mut report = dmdprof();
    let shown = succeed(report.args(["report", "--format", "json"]).arg(directory.path().join("profile")));
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    (printed, serde_json::from_slice(&shown.stdout).expect("JSON"))
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn programs_that_are_started_are_emulated_or_named() {
    emulator();
    let (printed, report) = started(r#"exec("/proc/self/exe", "-e", "print 42")"#);
    assert_eq!((printed.as_str(), &report["complete"]), ("42", &Value::Bool(true)));
    let (_, report) = started(r#"system("su", "--version")"#);
    let gaps = report["incomplete"].to_string();
    assert!(gaps.contains("more rights than their user") && gaps.contains("su (1 times)"), "{gaps}");
}

/// What a shell and so many processes that it starts of a program did, written down and replayed; bytes of the profile.
fn started_so_often(program: &Path, times: u64) -> (Report, u64) {
    let directory = scratch();
    let at = directory.path();
    let code = format!("for i in $(seq {times}); do {}; done", program.display());
    succeed(dmdprof().args(["record", "--binary", "sh", "-c", &code]).current_dir(at));
    succeed(dmdprof().args(["replay", "-q", "dmdprof.trace"]).current_dir(at));
    let profile = at.join("dmdprof.data");
    (Report::read(&profile), fs::metadata(&profile).expect("a profile").len())
}

#[test]
#[ignore = "takes long: `.ci/test --long` runs it"]
fn code_of_several_processes_is_counted_once() {
    emulator();
    let program = build("accesses.c", &Compiler::native());
    let [(two, small), (six, large)] = [2, 6].map(|times| started_so_often(&program, times));
    for report in [&two, &six] {
        assert!(report.complete() && report.lost_events() == 0, "{}", report.0["incomplete"]);
    }
    for function in ["copy_words", "scan_bytes"] {
        let accesses = |report: &Report| report.function(function).exclusive("accesses");
        assert_eq!(accesses(&six), 3 * accesses(&two), "{function}");
    }
    let code = |report: &Report| report.0["coverage"]["accesses_instrumented"].clone();
    assert_eq!(code(&six), code(&two), "the same code");
    assert!(large < small + small / 10, "{large} bytes of profile for six processes, {small} for two");
}

#[test]
fn a_program_of_another_processor_without_its_libraries_is_refused_with_the_package() {
    emulator_of("aarch64");
    let directory = scratch();
    let program = directory.path().join("kernel");
    let mut compiler = std::process::Command::new("aarch64-linux-gnu-gcc");
    compiler.arg(in_tests("binary/accesses_aarch64.c")).arg("-o").arg(&program);
    succeed(compiler.arg("-Wl,--dynamic-linker=/lib/nowhere.so"));
    let refused = output(dmdprof().arg("run").arg(&program).current_dir(directory.path()));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("/lib/nowhere.so of aarch64"), "{said}");
    assert!(said.contains("apt install libc6-arm64-cross"), "{said}");
}

#[test]
fn a_program_without_hooks_has_a_page() {
    emulator();
    let directory = scratch();
    let at = directory.path();
    write_text(at, 1000);
    let words = ["gzip", "-k", "-c", "text"];
    succeed(dmdprof().args(["run", "-q"]).args(words).current_dir(at));
    succeed(dmdprof().args(["view", "-o", "page.html"]).current_dir(at));
    let mut browser = Browser::start(1280, 900);
    browser.open(&at.join("page.html"), "");
    let report = Report::read(&at.join("dmdprof.data"));
    for (name, field) in [("ByteDMD", "cost"), ("read", "read"), ("written", "written")] {
        let shown = format!("document.querySelector('main [data-fact=\"{name}\"]').dataset.value");
        assert_eq!(browser.text(&shown), report.total(field).to_string(), "{name}");
    }
    assert_eq!(browser.errors, [""; 0]);
    assert_eq!(browser.requests, [""; 0]);
}
