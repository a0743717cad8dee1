//! The hooks inside real programs: C programs with a hand-written fast path write numbered records, and every record
//! must arrive, in order, exactly once, whatever the program does.

#[path = "hooks/support.rs"]
mod support;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use dmdprof_runtime::abi::{CHANNEL_ENV, EventKind, channel_mode, ring_kind};
use dmdprof_runtime::hooks_object::{HOOKS_OBJECT, HOOKS_SHARED};
use dmdprof_runtime::ring::Channel;
use object::{Object, ObjectSection, ObjectSymbol};
use support::{Run, command, compile, directory, run, static_writer, writer};

#[test]
fn object_needs_nothing_but_weak_symbols() {
    let file = object::File::parse(HOOKS_OBJECT).unwrap();
    let mut defined = BTreeSet::new();
    for symbol in file.symbols() {
        let name = symbol.name().unwrap();
        if symbol.is_undefined() && !name.is_empty() {
            let allowed = [
                "environ",
                "getauxval",
                "dl_iterate_phdr",
                "dladdr",
                "dlopen",
                "signal",
                "sigaction",
                "dlsym",
                "__errno_location",
                "__register_atfork",
                "__dso_handle",
                "__interceptor_clone",
                "__interceptor_dlclose",
                "__interceptor_prctl",
                "omp_get_thread_num",
                "omp_get_num_threads",
            ];
            assert!(allowed.contains(&name), "undefined: {name}");
            assert!(symbol.is_weak(), "{name} must be weak");
        } else if symbol.is_global() && !symbol.is_undefined() {
            assert!(symbol.is_weak(), "{name} must be weak, or linking two copies fails");
            if symbol.scope() == object::SymbolScope::Dynamic {
                defined.insert(name.to_owned());
            }
        }
    }
    let expected = [
        "__dmdprof_v5_call__link_with_dmdprof_cc",
        "__dmdprof_v5_landed__link_with_dmdprof_cc",
        "__dmdprof_v5_module__link_with_dmdprof_cc",
        "__dmdprof_v5_reserve__link_with_dmdprof_cc",
        "__dmdprof_v5_ring__link_with_dmdprof_cc",
        "__dmdprof_v5_sample_ready__link_with_dmdprof_cc",
        "__dmdprof_v5_sample_tick__link_with_dmdprof_cc",
        "__dmdprof_v5_sample_unit__link_with_dmdprof_cc",
        "__dmdprof_v5_sigaction__link_with_dmdprof_cc",
        "__dmdprof_v5_signal__link_with_dmdprof_cc",
        "clone",
        "dlclose",
        "dmdprof_begin",
        "dmdprof_end",
        "dmdprof_input",
        "dmdprof_output",
        "getentropy",
        "getrandom",
        "prctl",
        "syscall",
    ];
    assert_eq!(defined, expected.map(str::to_owned).into());
    assert!(file.section_by_name(".note.GNU-stack").is_some(), "the stack would become executable");
    assert!(file.section_by_name(".eh_frame").is_some());
    for constructor in [".init_array", ".ctors"] {
        assert!(file.section_by_name(constructor).is_none_or(|section| section.size() == 0));
    }
    let shared = object::File::parse(HOOKS_SHARED).unwrap();
    let exported: BTreeSet<String> =
        shared.dynamic_symbols().filter(|s| !s.is_undefined()).map(|s| s.name().unwrap().to_owned()).collect();
    assert!(defined.is_subset(&exported), "{exported:?}");
    let mut imported = shared.dynamic_symbols().filter(|s| s.is_undefined() && !s.name().unwrap().is_empty());
    assert!(imported.all(|symbol| symbol.is_weak()));
}

#[test]
fn one_thread() {
    let outcome = run(writer(), &["one", "3000000"]);
    let ring = outcome.expect_success().expect_stream(1, 3_000_000);
    assert_eq!((ring.pid, ring.tid, ring.kind, ring.parent), (outcome.pid, outcome.pid, ring_kind::THREAD, None));
    let module = &outcome.modules[0];
    assert_eq!(outcome.modules.len(), 1);
    assert_eq!(module.path, writer().canonicalize().unwrap());
    assert_eq!((module.process, ring.process), (1, 1));
    assert!(module.bias != 0 && module.low == module.bias && module.high > module.low);
}

#[test]
fn registers_are_preserved() {
    run(writer(), &["registers", "200000"]).expect_success().expect_stream(1, 200_000);
}

#[test]
fn eight_threads() {
    let outcome = run(writer(), &["threads", "8", "8", "300000"]);
    for name in 0..8 {
        outcome.expect_success().expect_stream(name, 300_000);
    }
    let tids: BTreeSet<u32> = outcome.rings.iter().map(|ring| ring.tid).collect();
    assert_eq!(tids.len(), outcome.rings.len());
}

#[test]
fn two_thousand_short_threads() {
    let outcome = run(writer(), &["short", "2000", "8", "50"]);
    outcome.expect_success();
    let streams = outcome.streams();
    assert_eq!(streams.len(), 2000);
    for parts in streams.values() {
        support::assert_numbers(&parts[0].1, 50);
    }
    let mappings: i32 = outcome.output.trim().parse().unwrap();
    assert!(mappings < 200, "{mappings} mappings are left of dead threads");
}

#[test]
fn memory_of_dead_threads_is_given_back() {
    let outcome = run(writer(), &["short", "500", "4", "5000"]);
    assert_eq!(outcome.expect_success().rings.len(), 500);
    // 500 times 120 kB were written.
    assert!(outcome.resident < 1 << 20, "{} bytes", outcome.resident);
}

/// Rings far back in the file cannot be mapped by duplicating the header's mapping then; the path is opened instead.
#[test]
#[ignore = "depends on timing: when the limit refuses a ring after it was claimed, this consumer waits for it for ever"]
fn addresses_may_be_limited() {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -v 200000; exec \"$0\" short 500 4 1000"]).arg(writer());
    let outcome = Run::start(shell).finish();
    assert_eq!(outcome.expect_success().rings.len(), 500);
    let streams = outcome.streams();
    assert_eq!(streams.len(), 500);
    for parts in streams.values() {
        support::assert_numbers(&parts[0].1, 1000);
    }
}

#[test]
fn fork_gives_the_child_its_own_ring() {
    for program in [writer(), static_writer()] {
        let outcome = run(program, &["fork", "200000"]);
        outcome.expect_success();
        let parent = outcome.expect_stream(1, 400_000);
        let child = outcome.expect_stream(2, 400_000);
        let grandchild = outcome.expect_stream(3, 200_000);
        assert_eq!((parent.kind, child.kind, grandchild.kind), (ring_kind::THREAD, ring_kind::FORK, ring_kind::FORK));
        assert_eq!((child.parent, grandchild.parent), (Some(0), Some(1)));
        assert!(parent.pid != child.pid && child.pid != grandchild.pid);
        assert_eq!(child.ancestors, [parent.process]);
        assert_eq!(grandchild.ancestors, [parent.process]);
        assert_eq!(outcome.modules.len(), 1);
    }
}

#[test]
fn fork_past_the_library_is_noticed() {
    let outcome = run(writer(), &["rawfork", "10", "100000"]);
    assert!(outcome.status.success());
    assert_eq!(outcome.refused, 1);
    // The child's first chunk goes to the parent's ring, the rest to its own.
    assert_eq!(outcome.rings.len(), 2);
    assert_eq!(outcome.rings[1].kind, ring_kind::FORK);
}

#[test]
fn vfork_shares_the_ring() {
    run(writer(), &["vfork", "100000"]).expect_success().expect_stream(1, 300_000);
}

#[test]
fn killed_program_loses_no_record() {
    let mut run = Run::start(command(writer(), &["threads", "2", "2", "4000000000"]));
    let pid = rustix::process::Pid::from_raw(run.child.id().cast_signed()).unwrap();
    run.delay = Duration::from_micros(100);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150));
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
    let outcome = run.finish();
    killer.join().unwrap();
    assert_eq!(outcome.status.signal(), Some(9));
    let streams = outcome.streams();
    assert_eq!(streams.len(), 2);
    for parts in streams.values() {
        assert!(parts[0].1.len() > 1000);
        support::assert_numbers(&parts[0].1, parts[0].1.len() as u64);
    }
}

#[test]
fn abort_and_exit_lose_no_record() {
    let outcome = run(writer(), &["abort", "123457"]);
    assert_eq!(outcome.status.signal(), Some(6));
    outcome.expect_stream(1, 123_457);
    let outcome = run(writer(), &["_exit", "123457"]);
    assert_eq!(outcome.status.code(), Some(3));
    outcome.expect_stream(1, 123_457);
}

#[test]
fn descriptors_directory_and_environment_may_vanish() {
    for situation in ["hostile", "late-hostile"] {
        let outcome = run(writer(), &[situation, "100000"]);
        outcome.expect_success().expect_stream(1, 200_000);
        outcome.expect_stream(2, 100_000);
    }
}

#[test]
fn slow_consumer_makes_the_program_wait() {
    let mut run = Run::start(command(writer(), &["one", "300000"]));
    run.delay = Duration::from_millis(5);
    let outcome = run.finish();
    outcome.expect_success().expect_stream(1, 300_000);
    // The ring was full: 16 chunks, less those that the reader has read and not yet given back.
    assert!(outcome.backlog >= 8, "{}", outcome.backlog);
}

/// Not a test: the consumer that [`dead_consumer_does_not_hang_the_program`] kills.
#[test]
#[ignore = "run by another test"]
fn consumer_that_dies() {
    let channel = Channel::create(channel_mode::ANALYSE).unwrap();
    let (name, value) = channel.env();
    let Some(program) = std::env::var_os("DMDPROF_TEST_WRITER") else { return };
    #[expect(clippy::zombie_processes, reason = "this process is killed while the child runs; that is the test")]
    let _child = command(program.as_ref(), &["done", "3000000"]).env(name, value).spawn().unwrap();
    while channel.rings_claimed() == 0 {
        drop(channel.announcements().pending());
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    let mut reader = channel.ring(0).unwrap().unwrap();
    for _ in 0..3 {
        reader.next_chunk();
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
}

#[test]
fn dead_consumer_does_not_hang_the_program() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "consumer_that_dies", "--ignored", "--nocapture"])
        .env("DMDPROF_TEST_WRITER", writer())
        .output()
        .unwrap();
    // Until the program's end, the killed consumer is a zombie: nobody has waited for it yet.
    assert_eq!(output.status.signal(), Some(9));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("done"), "{output:?}");
}

#[test]
fn signal_storm_leaves_records_whole() {
    for program in [writer(), static_writer()] {
        let outcome = run(program, &["storm", "3000000"]);
        let counts: Vec<u64> = outcome.output.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let main = outcome.expect_success().expect_stream(1, counts[0]);
        assert_eq!(main.kind, ring_kind::THREAD);
        let streams = outcome.streams();
        for (name, count) in [(100, counts[1]), (101, counts[2])] {
            let mut numbers = Vec::new();
            for (ring, part) in &streams[&name] {
                assert_eq!(outcome.rings[*ring].kind, ring_kind::SIGNAL);
                assert!(outcome.rings[*ring].parent.is_some());
                assert!(part.is_sorted());
                numbers.extend(part);
            }
            numbers.sort_unstable();
            support::assert_numbers(&numbers, count);
        }
    }
}

#[test]
fn jumping_out_of_a_handler_leaves_its_ring() {
    for situation in ["jumps", "alternate-jumps"] {
        let outcome = run(writer(), &[situation, "6000000"]);
        outcome.expect_success();
        let jumps: u64 = outcome.output.trim().parse().unwrap();
        assert!(jumps > 10, "{jumps} jumps");
        let streams = outcome.streams();
        let [(ring, numbers)] = &streams[&1][..] else { panic!("the program's stream is in several rings") };
        assert_eq!(outcome.rings[*ring].kind, ring_kind::THREAD);
        // An interrupted number is written again unless its record was whole and counted.
        assert_eq!((numbers[0], numbers[numbers.len() - 1]), (0, 5_999_999));
        assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] <= 1));
        // More than one level: `siglongjmp` unblocks the signal before it leaves the handler's stack.
        let mut from_handlers = Vec::new();
        for (ring, part) in &streams[&100] {
            assert_eq!(outcome.rings[*ring].kind, ring_kind::SIGNAL);
            from_handlers.extend(part);
        }
        from_handlers.sort_unstable();
        support::assert_numbers(&from_handlers, jumps);
    }
}

#[test]
fn fork_in_a_handler() {
    let outcome = run(writer(), &["handler-forks"]);
    outcome.expect_success().expect_stream(1, 20);
    outcome.expect_stream(100, 1);
    let child = outcome.expect_stream(200, 10);
    assert_eq!(child.kind, ring_kind::FORK);
}

#[test]
fn static_program() {
    let outcome = run(static_writer(), &["threads", "4", "4", "100000"]);
    for name in 0..4 {
        outcome.expect_success().expect_stream(name, 100_000);
    }
    assert_eq!(outcome.modules.len(), 1);
    assert_eq!(outcome.modules[0].bias, 0);
    for situation in ["hostile", "late-hostile"] {
        run(static_writer(), &[situation, "1000"]).expect_success().expect_stream(1, 2000);
    }
}

#[test]
fn libraries_share_the_program_s_hooks() {
    let with = compile("plugin-with.so", "plugin.c", &["-shared", "-fPIC", "hooks.o"]);
    let with2 = compile("plugin-with-2.so", "plugin.c", &["-shared", "-fPIC", "hooks.o"]);
    let without = compile("plugin-without.so", "plugin.c", &["-shared", "-fPIC"]);
    let host = compile("host", "host.c", &["-ldl"]);
    let hooked = compile("host-hooks", "host.c", &["-DHOOKS", "hooks.o", support::EXPORT, "-ldl"]);
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (with, with2, without) = (path(&with), path(&with2), path(&without));
    let preload = path(&directory().join("libdmdprof_hooks.so"));

    // One ring per thread wherever the program has the hooks, or they are preloaded.
    let outcome = run(&hooked, &[&with, &with2, &without]);
    outcome.expect_success();
    assert_eq!(outcome.rings.len(), 2);
    outcome.expect_stream(1, 4000);
    for name in [11, 12, 13, 50] {
        outcome.expect_stream(name, 10_000);
    }
    assert_eq!(outcome.modules.len(), 4);

    let mut preloaded = command(&host, &[&with, &without]);
    preloaded.env("LD_PRELOAD", &preload);
    let outcome = Run::start(preloaded).finish();
    outcome.expect_success();
    assert_eq!(outcome.rings.len(), 2);
    for name in [11, 12, 50] {
        outcome.expect_stream(name, 10_000);
    }
    let paths: Vec<String> = outcome.modules.iter().map(|module| path(&module.path)).collect();
    assert_eq!(paths, [with.clone(), without.clone()]);

    // Preloaded into a program that has hooks: the program's win.
    let mut both = command(&hooked, &[&without]);
    both.env("LD_PRELOAD", &preload);
    let outcome = Run::start(both).finish();
    outcome.expect_success();
    assert_eq!(outcome.rings.len(), 2);

    // A library that brings its own hooks into a program without any.
    let outcome = run(&host, &[&with]);
    outcome.expect_success().expect_stream(11, 10_000);
    outcome.expect_stream(50, 10_000);
}

#[test]
fn inert_without_a_channel() {
    let cases: [Option<&str>; 5] = [None, Some(""), Some("/nowhere/at/all"), Some("/dev/null"), Some("/proc/self/exe")];
    for channel in cases {
        for situation in [["one", "2000000", "0", "0"], ["threads", "8", "8", "200000"], ["storm", "3000000", "0", "0"]]
        {
            let mut command = command(writer(), &situation);
            match channel {
                Some(value) => command.env(CHANNEL_ENV, value),
                None => command.env_remove(CHANNEL_ENV),
            };
            let output = command.output().unwrap();
            assert!(output.status.success(), "{channel:?} {situation:?}: {:?}", output.status);
        }
    }
}

#[test]
fn discarding_channel_publishes_nothing() {
    let channel = Channel::create(channel_mode::DISCARD).unwrap();
    let (name, value) = channel.env();
    let status = command(writer(), &["threads", "2", "2", "1000000"]).env(name, value).status().unwrap();
    assert!(status.success());
    assert!(channel.rings_claimed() >= 2);
    for index in 0..channel.rings_claimed() {
        let mut reader = channel.ring(index).unwrap().unwrap();
        assert_eq!(reader.backlog(), 0);
        assert!(reader.next_chunk().is_none());
        assert!(!reader.is_producer_alive());
        assert!(channel.ring(index).is_err(), "a second reader");
    }
}

/// Event records as the C program prints them.
fn events(words: &[u64], site: u64) -> Vec<String> {
    let mut events = Vec::new();
    let mut rest = words;
    while let [head, ..] = *rest {
        let (kind, length) = (head >> 56, (head >> 48 & 0xff) as usize);
        assert_eq!(head & 0xffff_ffff_ffff, site);
        let operands = &rest[1..length];
        events.push(if kind == EventKind::RegionBegin as u64 || kind == EventKind::RegionEnd as u64 {
            let bytes: Vec<u8> = operands[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
            let (name, padding) = bytes.split_at(operands[0] as usize);
            assert!(padding.len() < 8 && padding.iter().all(|&byte| byte == 0));
            format!("{kind} {} {}", operands[0], String::from_utf8_lossy(name))
        } else {
            operands.iter().fold(kind.to_string(), |line, operand| format!("{line} {operand}"))
        });
        rest = &rest[length..];
    }
    events
}

#[test]
fn library_calls_have_their_meaning() {
    let program = compile("calls", "calls.c", &["-fno-builtin", "-w", "hooks.o", support::EXPORT]);
    let outcome = run(&program, &[]);
    outcome.expect_success();
    let mut expected = outcome.output.lines();
    let site: u64 = expected.next().unwrap().parse().unwrap();
    let events = events(&outcome.rings[0].words, site);
    for (number, (event, expected)) in events.iter().zip(expected.clone()).enumerate() {
        assert_eq!(event, expected, "event {number}");
    }
    assert_eq!(events.len(), expected.count());
}
