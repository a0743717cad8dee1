//! Lives of blocks by calls, with made-up registers: nested calls, jumps, calls that were left, stacks and threads.
//! Which bytes are a call.

#[path = "../../emulator/allocators.rs"]
mod allocators;
#[path = "../../emulator/returns.rs"]
mod returns;

use std::collections::BTreeMap;

use proptest::prelude::*;

use allocators::{CallFrame, Calls, Function, Life};

fn place(returns_to: u64, pointer: u64) -> CallFrame {
    CallFrame { returns_to, pointer, stack: 0x10000 }
}

fn function(name: &str) -> Function {
    *Function::from_name(name.as_bytes()).expect("a function that gives or takes blocks")
}

/// A call without others in it: what it tells when it begins, and when it has returned.
fn one(name: &str, arguments: [u64; 3], given: u64) -> (Option<Life>, Option<Life>) {
    let (mut calls, at) = (Calls::default(), place(0x100, 0x8000));
    let begun = calls.enters(function(name), arguments, at);
    let done = calls.returns(at, given);
    assert!(!calls.is_inside());
    (begun, done)
}

#[test]
fn each_function_tells_what_it_does() {
    let begins = |address, bytes| (None, Some(Life::Begins { address, bytes }));
    assert_eq!(one("malloc", [24, 7, 7], 0x500), begins(0x500, 24));
    assert_eq!(one("malloc", [24, 7, 7], 0), (None, None), "there was no memory");
    assert_eq!(one("calloc", [3, 8, 7], 0x500), begins(0x500, 24));
    assert_eq!(one("calloc", [1 << 60, 1 << 60, 0], 0), (None, None), "more than there is");
    assert_eq!(one("aligned_alloc", [64, 640, 7], 0x500), begins(0x500, 640));
    assert_eq!(one("_ZnamSt11align_val_t", [640, 64, 7], 0x500), begins(0x500, 640));
    let out = Some(Life::BeginsAt { pointer: 0x9000, bytes: 640 });
    assert_eq!(one("posix_memalign", [0x9000, 64, 640], 0), (None, out));
    assert_eq!(one("posix_memalign", [0x9000, 64, 640], 0xdead_beef_0000_0000), (None, out), "32 bits are the number");
    assert_eq!(one("posix_memalign", [0x9000, 64, 640], 12), (None, None));
    let moves = |to, bytes| (None, Some(Life::Moves { from: 0x500, to, bytes }));
    assert_eq!(one("realloc", [0x500, 48, 7], 0x700), moves(0x700, 48));
    assert_eq!(one("reallocarray", [0x500, 6, 8], 0x700), moves(0x700, 48));
    assert_eq!(one("reallocarray", [0x500, 1 << 60, 1 << 60], 0), (None, None), "nothing has moved");
    assert_eq!(one("realloc", [0x500, 0, 7], 0), moves(0, 0));
    let ends = (Some(Life::Ends { address: 0x500 }), None);
    assert_eq!(one("free", [0x500, 7, 7], 9), ends, "before it runs");
    assert_eq!(one("_ZdlPvm", [0x500, 24, 7], 9), ends);
    assert_eq!(one("free", [0, 7, 7], 9), (None, None));
    assert_eq!(Function::from_name(b"malloc_usable_size"), None);
    assert_eq!(Function::from_name(b"_int_malloc"), None);
}

#[test]
fn only_the_outermost_call_counts() {
    let mut calls = Calls::default();
    let (new, inner) = (place(0x100, 0x8000), place(0x200, 0x7f00));
    assert_eq!(calls.enters(function("_Znwm"), [24, 0, 0], new), None);
    assert_eq!(calls.enters(function("malloc"), [24, 0, 0], inner), None);
    assert_eq!(calls.enters(function("free"), [0x900, 0, 0], place(0x300, 0x7e00)), None, "the allocator's own");
    assert_eq!(calls.returns(place(0x300, 0x7e00), 0), None);
    assert_eq!(calls.returns(inner, 0x500), None);
    assert!(calls.is_inside());
    assert_eq!(calls.returns(new, 0x500), Some(Life::Begins { address: 0x500, bytes: 24 }));
    assert!(!calls.is_inside());
    let ends = place(0x100, 0x8000);
    assert_eq!(calls.enters(function("__malloc_arena_thread_freeres"), [0x500, 0, 0], ends), None);
    assert_eq!(calls.enters(function("free"), [0x500, 0, 0], inner), None, "what lay in the thread's cache");
    assert_eq!(calls.returns(inner, 0), None);
    assert_eq!(calls.returns(ends, 0x500), None);
    assert!(!calls.is_inside());
}

#[test]
fn recursion_returns_to_one_place_and_differs_by_the_stack() {
    let mut calls = Calls::default();
    calls.enters(function("malloc"), [24, 0, 0], place(0x100, 0x8000));
    calls.enters(function("malloc"), [1, 0, 0], place(0x100, 0x7000));
    assert_eq!(calls.returns(place(0x100, 0x7000), 0x500), None, "the inner one");
    let done = calls.returns(place(0x100, 0x8000), 0x600);
    assert_eq!(done, Some(Life::Begins { address: 0x600, bytes: 24 }));
}

#[test]
fn a_jump_to_another_function_takes_the_place_of_the_first() {
    let mut calls = Calls::default();
    let at = place(0x100, 0x8000);
    assert_eq!(calls.enters(function("reallocarray"), [0x500, 6, 8], at), None);
    assert_eq!(calls.enters(function("realloc"), [0x500, 48, 0], at), None);
    assert_eq!(calls.returns(at, 0x700), Some(Life::Moves { from: 0x500, to: 0x700, bytes: 48 }));
    // A block that `operator delete` has ended is not ended by `free` too.
    assert_eq!(calls.enters(function("_ZdlPv"), [0x500, 0, 0], at), Some(Life::Ends { address: 0x500 }));
    assert_eq!(calls.enters(function("free"), [0x500, 0, 0], at), None);
    assert_eq!(calls.returns(at, 0), None);
    assert!(!calls.is_inside());
    // `realloc` to nothing.
    assert_eq!(calls.enters(function("realloc"), [0x500, 0, 0], at), None);
    assert_eq!(calls.enters(function("free"), [0x500, 0, 0], at), Some(Life::Ends { address: 0x500 }));
    assert_eq!(calls.returns(at, 0), None);
}

#[test]
fn a_call_that_was_left_is_forgotten() {
    let mut calls = Calls::default();
    let (left, out) = (place(0x100, 0x7000), place(0x200, 0x8000));
    // At the return of `setjmp`, which is further out.
    calls.enters(function("malloc"), [24, 0, 0], left);
    assert_eq!(calls.returns(out, 1), None);
    assert!(!calls.is_inside());
    // At a call further out.
    calls.enters(function("malloc"), [24, 0, 0], left);
    assert_eq!(calls.enters(function("free"), [0x900, 0, 0], out), Some(Life::Ends { address: 0x900 }));
    assert_eq!(calls.returns(left, 0x500), None, "long gone");
    assert_eq!(calls.returns(out, 0), None);
    // Again from the same place: the new call counts.
    calls.enters(function("_Znwm"), [24, 0, 0], left);
    calls.enters(function("_Znwm"), [8, 0, 0], left);
    assert_eq!(calls.returns(left, 0x500), Some(Life::Begins { address: 0x500, bytes: 8 }));
}

#[test]
fn a_signal_on_a_stack_of_its_own_leaves_nothing() {
    let mut calls = Calls::default();
    let outer = place(0x100, 0x8000);
    let other = |returns_to, pointer| CallFrame { returns_to, pointer, stack: 0x90000 };
    calls.enters(function("malloc"), [24, 0, 0], outer);
    assert_eq!(calls.enters(function("free"), [0x900, 0, 0], other(0x300, 0x8f000)), None, "in the other");
    assert_eq!(calls.returns(other(0x300, 0x8f000), 0), None);
    assert_eq!(calls.returns(other(0x100, 0x8000), 0x700), None, "the same place on another stack");
    assert_eq!(calls.returns(outer, 0x500), Some(Life::Begins { address: 0x500, bytes: 24 }));
}

/// A step of one of three threads.
#[derive(Clone, Copy, Debug)]
enum Step {
    Malloc,
    Free(usize),
    /// `new`, with `malloc` in it.
    New,
    Leaves,
}

proptest! {
    /// Threads whose calls overlap in any way: each block that was given and not taken lives, and no other.
    #[test]
    fn threads_have_calls_of_their_own(
        steps in prop::collection::vec((0usize..3, prop_oneof![
            Just(Step::Malloc), (0usize..8).prop_map(Step::Free), Just(Step::New), Just(Step::Leaves),
        ]), 0..60),
    ) {
        let mut threads: [(Calls, Vec<(CallFrame, u64)>); 3] = Default::default();
        let (mut live, mut expected) = (BTreeMap::new(), BTreeMap::new());
        let tell = |live: &mut BTreeMap<u64, u64>, life: Option<Life>| match life {
            Some(Life::Begins { address, bytes }) => drop(live.insert(address, bytes)),
            Some(Life::Ends { address }) => drop(live.remove(&address)),
            Some(other) => panic!("{other:?}"),
            None => {}
        };
        for (number, (thread, step)) in (1u64..).zip(steps) {
            let stack = 0x10000 * (thread as u64 + 1);
            let at = CallFrame { returns_to: 0x100 + number % 3, pointer: stack - 0x1000, stack };
            let (calls, open) = &mut threads[thread];
            // What the thread's last step began ends first.
            if let Some((place, given)) = open.pop() {
                tell(&mut live, calls.returns(place, given));
                if given != 0 {
                    expected.insert(given, given + 1);
                }
            }
            let (address, inner) = (number * 16, CallFrame { pointer: at.pointer - 64, ..at });
            match step {
                Step::Malloc | Step::New => {
                    let name = if matches!(step, Step::New) { "_Znwm" } else { "malloc" };
                    tell(&mut live, calls.enters(function(name), [address + 1, 0, 0], at));
                    if matches!(step, Step::New) {
                        tell(&mut live, calls.enters(function("malloc"), [address + 1, 0, 0], inner));
                        tell(&mut live, calls.returns(inner, address));
                    }
                    open.push((at, address));
                }
                Step::Free(which) => {
                    if let Some(&address) = expected.keys().nth(which) {
                        expected.remove(&address);
                        tell(&mut live, calls.enters(function("free"), [address, 0, 0], at));
                        open.push((at, 0));
                    }
                }
                // An exception: it is caught further out.
                Step::Leaves => {
                    tell(&mut live, calls.enters(function("_Znwm"), [8, 0, 0], inner));
                    tell(&mut live, calls.returns(at, 0));
                }
            }
            prop_assert_eq!(calls.is_inside(), !open.is_empty());
        }
        for (calls, open) in &mut threads {
            if let Some((place, given)) = open.pop() {
                tell(&mut live, calls.returns(place, given));
                if given != 0 {
                    expected.insert(given, given + 1);
                }
            }
        }
        prop_assert_eq!(live, expected);
    }
}

#[test]
fn calls_are_known_by_their_bytes() {
    let before = |call: &[u8]| {
        let mut bytes = [0x90; returns::BYTES];
        bytes[returns::BYTES - call.len()..].copy_from_slice(call);
        bytes
    };
    // Near; of a register, memory, an address from the next instruction, with an index, with distances.
    let calls: [&[u8]; 8] = [
        &[0xe8, 0x10, 0, 0, 0],
        &[0xff, 0xd0],
        &[0xff, 0x10],
        &[0xff, 0x15, 1, 2, 3, 4],
        &[0xff, 0x14, 0xc3],
        &[0xff, 0x14, 0xc5, 1, 2, 3, 4],
        &[0xff, 0x50, 0x18],
        &[0xff, 0x94, 0x24, 1, 2, 3, 4],
    ];
    for call in calls {
        assert_eq!(returns::x86(&before(call)), Some(call.len()), "{call:x?}");
    }
    for other in [&[0xff, 0xe0][..], &[0xff, 0x25, 1, 2, 3, 4], &[0xe9, 1, 2, 3, 4], &[0xc3]] {
        assert_eq!(returns::x86(&before(other)), None, "{other:x?}");
    }
    let word = |word: u32| before(&word.to_le_bytes());
    for call in [0x9400_0010, 0x97ff_ffff, 0xd63f_0060, 0xd73f_0825] {
        assert_eq!(returns::aarch64(&word(call)), Some(4), "{call:x}");
    }
    for other in [0x1400_0010, 0xd61f_0060, 0xd65f_03c0] {
        assert_eq!(returns::aarch64(&word(other)), None, "{other:x}");
    }
    for call in [0x0080_00ef, 0x0007_80e7] {
        assert_eq!(returns::riscv64(&word(call)), Some(4), "{call:x}");
    }
    assert_eq!(returns::riscv64(&before(&[0x82, 0x97])), Some(2), "c.jalr a5");
    for other in [&[0x02, 0x90][..], &[0x82, 0x87], &[0x82, 0x80], &[0x67, 0x80, 0, 0], &[0x6f, 0, 0x80, 0]] {
        assert_eq!(returns::riscv64(&before(other)), None, "{other:x?}");
    }
}

#[test]
fn returns_to_registers_are_known_by_their_bytes() {
    let aarch64 = |word: u32| returns::is_return_aarch64(&word.to_le_bytes());
    assert!(
        [0xd65f_03c0, 0xd65f_0200, 0xd65f_0bff, 0xd65f_0fff].into_iter().all(aarch64),
        "ret, ret x16, retaa, retab"
    );
    assert!(![0xd61f_03c0, 0xd63f_0200, 0x9400_0001].into_iter().any(aarch64), "br x30, blr x16, bl");
    let returns: [&[u8]; 2] = [&[0x67, 0x80, 0, 0], &[0x82, 0x80]];
    assert!(returns.into_iter().all(returns::is_return_riscv64), "ret, of four bytes and of two");
    let others: [&[u8]; 3] = [&[0x82, 0x87], &[0x67, 0x80, 0x07, 0], &[0x82, 0x97]];
    assert!(!others.into_iter().any(returns::is_return_riscv64), "c.jr a5, jr a5, c.jalr a5");
}
