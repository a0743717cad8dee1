//! System calls of the program: what they say about its memory, and programs that it starts.
//!
//! Takes each call before it is made and when it is done. Mappings begin and end, the heap's end moves down, and the
//! library that is loaded into the program says where its messages come from. Random numbers are fixed on request. The
//! first call with an effect that lasts is told.

use std::{
    process,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use dmdprof_abi::{FORKS_UNKNOWN, Paging, emulated, lasting::lasts};
use dmdprof_hooks::emulator::{self, Call, EventKind};

use crate::{code, execute, numbers::Numbers, processor::chosen, thread::Thread};

/// Of `getrandom`: do not wait until there are enough random numbers.
const NO_WAIT: u64 = 1;

/// Of `clone`: a thread of the same process.
const CLONE_THREAD: u64 = 0x10000;

/// Address of the instruction by which the loaded library tells something; 0 = there is none.
pub static TELLS: AtomicU64 = AtomicU64::new(0);

/// The heap's end.
static HEAP_END: AtomicU64 = AtomicU64::new(0);

/// A call is about to be made.
pub fn begins(thread: &mut Thread, numbers: &Numbers, number: i64, operands: [u64; 6]) {
    thread.write_all();
    thread.system_call = operands;
    if number == numbers.execve {
        emulator::lasting(number as u32);
        let [path, arguments, environment, ..] = operands;
        execute::instead([execute::HERE, path, arguments, environment, 0, 0]);
    } else if number == numbers.execveat {
        emulator::lasting(number as u32);
        execute::instead(operands);
    } else if number == numbers.clone3 || number == numbers.clone && operands[0] & CLONE_THREAD != 0 {
        emulator::forks(FORKS_UNKNOWN);
    } else if number == numbers.clone || numbers.forks.contains(&number) {
        emulator::forks(1);
    } else if number == emulated::SYSTEM_CALL {
        let [tells, ..] = operands;
        TELLS.store(tells, Relaxed);
    }
}

/// A call is done.
pub fn done(thread: &mut Thread, numbers: &Numbers, number: i64, result: u64) {
    thread.system_called();
    let [a, b, c, d, e, _] = thread.system_call;
    let has_succeeded = result < -4095i64 as u64;
    let is_address = result != 0 && has_succeeded;
    if chosen().is_x86() && has_succeeded && lasts(number, thread.system_call, || process::id().into()) {
        emulator::lasting(number as u32);
    }
    if has_succeeded {
        paged(thread, numbers, number, result);
    }
    // What the allocator gets from the system is no block of the program's.
    let is_program = !thread.frames.is_own() && !thread.calls.is_inside();
    if number == numbers.mmap && is_address {
        code::with_code(|code| code.modules.forget(result, result.saturating_add(pages(b))));
        if is_program {
            emulator::call(0, Call::Map, [result, b, e, d]);
        }
    } else if number == numbers.munmap && result == 0 {
        code::with_code(|code| code.modules.forget(a, a.saturating_add(pages(b))));
        emulator::call(0, Call::Unmap, [result, a, b, 0]);
    } else if number == numbers.mremap && is_address && is_program {
        emulator::call(0, Call::Remap, [a, b, result, c]);
    } else if number == numbers.getrandom && is_address {
        // The C library's allocator asks for a word like that at its start; no access depends on it.
        let is_key = b == 8 && c == NO_WAIT;
        // SAFETY: the system has just written as many bytes there.
        unsafe { emulator::random(a as *mut u8, result as usize, !is_key) };
    } else if number == numbers.brk {
        let before = HEAP_END.swap(result, Relaxed);
        if before != 0 && result > before {
            page(Paging::Anonymous, [before, result - before]);
        }
        if result < before {
            emulator::event(0, EventKind::Free, [result, before - result]);
        }
    }
}

/// What the program asked the system about its pages, whoever of it did.
fn paged(thread: &Thread, numbers: &Numbers, number: i64, result: u64) {
    let [a, b, c, d, ..] = thread.system_call;
    if number == numbers.mmap {
        page(mapped(c, d), [result, pages(b)]);
    } else if number == numbers.mremap {
        emulator::event(0, EventKind::Paged, [result, pages(c), Paging::Moved as u64, a, pages(b)]);
    } else if number == numbers.madvise
        && let Some(what) = advised(c)
    {
        page(what, [a, pages(b)]);
    }
}

fn page(what: Paging, [address, bytes]: [u64; 2]) {
    emulator::event(0, EventKind::Paged, [address, bytes, what as u64, 0, 0]);
}

fn pages(bytes: u64) -> u64 {
    bytes.saturating_add(4095) & !4095
}

/// The kind of a mapping, by its protection and flags.
fn mapped(protection: u64, flags: u64) -> Paging {
    const ANONYMOUS: u64 = 0x20;
    const HUGE: u64 = 0x40000;
    match flags & (ANONYMOUS | HUGE) {
        0 => Paging::Other,
        ANONYMOUS if protection == 0 => Paging::Other,
        ANONYMOUS => Paging::Anonymous,
        _ => Paging::Huge,
    }
}

/// What advice (`MADV_...`) says of pages.
fn advised(advice: u64) -> Option<Paging> {
    match advice {
        4 => Some(Paging::Dropped),
        14 => Some(Paging::Wanted),
        15 => Some(Paging::Unwanted),
        _ => None,
    }
}

/// What the loaded library tells: its address, which call it is about, and the operands of that.
///
/// # Safety
/// The address must be that of a message of the library, which is in the program's memory.
pub unsafe fn take_message(thread: &mut Thread, address: u64) {
    // SAFETY: as demanded from the caller.
    let [_, call, a, b, c]: [u64; 5] = unsafe { (address as *const [u64; 5]).read() };
    let Some(call) = Call::from_number(call) else { return };
    thread.write_down();
    emulator::call(thread.frames.caller(), call, [a, b, c, 0]);
}
