//! Small loops whose cycles and causes are known.

use super::*;
use crate::figures::tests::round;
use crate::x86::decode;

fn cycles(code: &[u8], times: usize) -> u64 {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    let instruction = decode(0x1000, code).expect("it is one");
    (0..times).map(|_| pipeline.instruction(&instruction, &[], &mut memory).0).sum()
}

#[test]
fn a_chain_takes_its_latencies_and_free_operations_the_width() {
    // imul rax, rax against lea rbx, [rcx+1]
    let chain = cycles(&[0x48, 0x0f, 0xaf, 0xc0], 1000);
    let free = cycles(&[0x48, 0x8d, 0x59, 0x01], 1000);
    assert!((2990..3020).contains(&chain) && (245..270).contains(&free), "{chain} {free}");
}

#[test]
fn a_busy_unit_is_waited_for() {
    // div rcx, which needs what it gives.
    let chain = cycles(&[0x48, 0xf7, 0xf1], 100);
    assert!((2000..2030).contains(&chain), "{chain}");
}

#[test]
fn a_load_of_what_was_stored_waits_for_the_store() {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    // mov [rbx], rax; mov rax, [rbx]
    let store = decode(0x1000, &[0x48, 0x89, 0x03]).expect("it is one");
    let load = decode(0x1003, &[0x48, 0x8b, 0x03]).expect("it is one");
    let access = |is_store| [Access { instruction: 0, is_store, bytes: 8, address: 0x5000 }];
    let mut total = 0;
    for _ in 0..1000 {
        total += pipeline.instruction(&store, &access(true), &mut memory).0;
        total += pipeline.instruction(&load, &access(false), &mut memory).0;
    }
    assert!((4900..5500).contains(&total), "{total}");
}

#[test]
fn a_load_of_two_stores_waits_until_they_are_written() {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    // mov [rbx], eax; mov [rbx+4], eax; mov rax, [rbx]
    let code: [&[u8]; 3] = [&[0x89, 0x03], &[0x89, 0x43, 0x04], &[0x48, 0x8b, 0x03]];
    let code = code.map(|bytes| decode(0x1000, bytes).expect("it is one"));
    let access = |is_store, bytes, address| [Access { instruction: 0, is_store, bytes, address }];
    let mut total = 0;
    for _ in 0..1000 {
        total += pipeline.instruction(&code[0], &access(true, 4, 0x5000), &mut memory).0;
        total += pipeline.instruction(&code[1], &access(true, 4, 0x5004), &mut memory).0;
        total += pipeline.instruction(&code[2], &access(false, 8, 0x5000), &mut memory).0;
    }
    assert!((14_000..20_000).contains(&total), "{total}");
}

/// Stores and loads of neighbours, by turns.
fn neighbours(bytes: u32) -> u64 {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    // mov [rbx], al; mov al, [rbx]
    let code = [[0x88, 0x03], [0x8a, 0x03]].map(|bytes| decode(0x1000, &bytes).expect("it is one"));
    let at = |place: u64| 0x5000 + place % 64 * u64::from(bytes);
    let mut total = 0;
    for place in 1..=1000 {
        let access = |is_store, place| [Access { instruction: 0, is_store, bytes, address: at(place) }];
        total += pipeline.instruction(&code[1], &access(false, place), &mut memory).0;
        total += pipeline.instruction(&code[0], &access(true, place), &mut memory).0;
    }
    total
}

#[test]
fn a_load_does_not_wait_for_the_store_of_its_neighbour() {
    let (bytes, words) = (neighbours(1), neighbours(8));
    assert!(bytes <= words, "{bytes} {words}");
}

#[test]
fn stores_that_are_written_one_per_cycle_do_not_wait_for_a_level() {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    // mov [rbx], rax
    let store = decode(0x1000, &[0x48, 0x89, 0x03]).expect("it is one");
    let mut by_cause = [0; crate::cause::CAUSES];
    for place in 0..20_000 {
        let access = [Access { instruction: 0, is_store: true, bytes: 8, address: 0x5000 + place % 1000 * 8 }];
        let (passed, cause) = pipeline.instruction(&store, &access, &mut memory);
        by_cause[cause as usize] += passed;
    }
    let all: u64 = by_cause.iter().sum();
    assert!(by_cause[Cause::Base as usize] > all * 3 / 4, "{by_cause:?} of {all}");
}

#[test]
fn what_is_dispatched_late_for_stores_waits_for_what_these_wait_for() {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    // mov rax, [rbx]; mov [rcx], rax: the loads are near, and each store needs a line from the memory.
    let [load, store] =
        [[0x48, 0x8b, 0x03], [0x48, 0x89, 0x01]].map(|bytes| decode(0x1000, &bytes).expect("it is one"));
    let mut by_cause = [0; crate::cause::CAUSES];
    for place in 0..20_000u64 {
        let access = |is_store, address| [Access { instruction: 0, is_store, bytes: 8, address }];
        let near = access(false, 0x5000 + place % 64 * 8);
        let far = access(true, 0x100_0000 + place % 8 * 4096 + place / 8 * 17 * 64);
        for (what, accesses) in [(&load, near), (&store, far)] {
            let (passed, cause) = pipeline.instruction(what, &accesses, &mut memory);
            by_cause[cause as usize] += passed;
        }
    }
    let all: u64 = by_cause.iter().sum();
    assert!(by_cause[Cause::L1 as usize] < all / 10, "{by_cause:?} of {all}");
}

#[test]
fn a_chain_does_not_wait_for_ever_for_the_load_that_it_began_with() {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    // mov rax, [rbx]; imul rax, rax
    let code: [&[u8]; 2] = [&[0x48, 0x8b, 0x03], &[0x48, 0x0f, 0xaf, 0xc0]];
    let [load, multiply] = code.map(|bytes| decode(0x1000, bytes).expect("it is one"));
    let access = [Access { instruction: 0, is_store: false, bytes: 8, address: 0x5000 }];
    pipeline.instruction(&load, &access, &mut memory);
    let mut by_cause = [0; crate::cause::CAUSES];
    for _ in 0..1000 {
        let (passed, cause) = pipeline.instruction(&multiply, &[], &mut memory);
        by_cause[cause as usize] += passed;
    }
    assert!(by_cause[Cause::Dependence as usize] > 2900, "{by_cause:?}");
}

#[test]
fn latencies_that_other_instructions_hide_are_not_waited_for() {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    // mov rax, [rbx]; imul rax, rdx; mov [rcx], rax: nothing of it depends on what was done before.
    let code: [&[u8]; 3] = [&[0x48, 0x8b, 0x03], &[0x48, 0x0f, 0xaf, 0xc2], &[0x48, 0x89, 0x01]];
    let [load, multiply, store] = code.map(|bytes| decode(0x1000, bytes).expect("it is one"));
    let mut by_cause = [0; crate::cause::CAUSES];
    for place in 0..20_000u64 {
        let access = |is_store, from| [Access { instruction: 0, is_store, bytes: 8, address: from + place % 64 * 8 }];
        let all: [(&Instruction, &[Access]); 3] =
            [(&load, &access(false, 0x5000)), (&multiply, &[]), (&store, &access(true, 0x7000))];
        for (what, accesses) in all {
            let (passed, cause) = pipeline.instruction(what, accesses, &mut memory);
            by_cause[cause as usize] += passed;
        }
    }
    let all: u64 = by_cause.iter().sum();
    assert!(by_cause[Cause::Base as usize] > all * 9 / 10, "{by_cause:?} of {all}");
}

/// Cycles by cause of 2000 times two loads of lines of their own that are multiplied: the second level's.
fn of_second_level(is_serial: bool) -> [u64; crate::cause::CAUSES] {
    let (mut pipeline, mut memory) = (Pipeline::new(&round()), Memory::new(&round()));
    // mov rax, [rbx + ..] or [rax + ..]; imul rax, rdx; imul rax, rdx
    let load = if is_serial { [0x48, 0x8b, 0x00] } else { [0x48, 0x8b, 0x03] };
    let code: [&[u8]; 3] = [&load, &[0x48, 0x0f, 0xaf, 0xc2], &[0x48, 0x0f, 0xaf, 0xc2]];
    let code = code.map(|bytes| decode(0x1000, bytes).expect("it is one"));
    let mut by_cause = [0; crate::cause::CAUSES];
    for round in 0..12_000u64 {
        // 2048 lines in no order, so that nothing fetches them before; they are in the second level after a round.
        let address = 0x10_0000 + (round * 1283 % 2048) * 64;
        let access = [Access { instruction: 0, is_store: false, bytes: 8, address }];
        for what in &code {
            let accesses: &[Access] = if std::ptr::eq(what, &code[0]) { &access } else { &[] };
            let (passed, cause) = pipeline.instruction(what, accesses, &mut memory);
            if round >= 10_000 {
                by_cause[cause as usize] += passed;
            }
        }
    }
    by_cause
}

#[test]
fn operations_behind_loads_wait_for_the_loads_unless_they_keep_the_next_ones() {
    let serial = of_second_level(true);
    let [chain, far] = [Cause::Dependence, Cause::L2].map(|cause| serial[cause as usize]);
    assert!(chain > 0 && far > chain && far < 4 * chain, "{serial:?}");
    let free = of_second_level(false);
    assert!(free[Cause::Dependence as usize] * 5 < free.iter().sum(), "{free:?}");
}
