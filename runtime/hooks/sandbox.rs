//! Programs that forbid themselves system calls (seccomp): `prctl`, `syscall` in place of the C library's, which see it
//! coming.
//!
//! From then on the hooks make none of the calls that the kernel would punish ([`crate::forbidden`]): they answer
//! themselves with `EPERM`, which every caller takes for a failure. Waiting becomes spinning, and whether the consumer
//! lives is told by a number that it changes all the time. What needs memory from the system afterwards (a new thread's
//! ring) is lost, and counted. A ring for the thread's signal handlers is made beforehand.
//!
//! Not seen: a program that makes the call itself, without the C library.

use core::sync::atomic::Ordering::Relaxed;

use crate::forbidden::{ALL, CALLS, FORBIDDEN, OTHERS, bit};
use crate::{arch, attach, filter, ring, signal, sys, thread};

const PR_SET_SECCOMP: usize = 22;
const MODE_STRICT: usize = 1;
const MODE_FILTER: usize = 2;
const SET_MODE_STRICT: usize = 0;
const SET_MODE_FILTER: usize = 1;

/// `prctl` of a sanitizer, if this is none of the calls that forbid others.
pub fn others_prctl(option: i32, [a, b, c, d]: [usize; 4]) -> Option<i32> {
    let real = weak_address!("__interceptor_prctl");
    if real == 0 || option as usize == PR_SET_SECCOMP {
        return None;
    }
    // SAFETY: a sanitizer's `prctl`.
    let real: extern "C" fn(i32, usize, usize, usize, usize) -> i32 = unsafe { core::mem::transmute(real) };
    Some(real(option, a, b, c, d))
}

/// A system call of the program, with `errno` set as the C library does.
///
/// # Safety
/// As the call itself.
pub unsafe extern "C" fn system_call(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    let forbidden = match (number, a, b) {
        (sys::PRCTL, PR_SET_SECCOMP, MODE_STRICT) | (sys::SECCOMP, SET_MODE_STRICT, _) => ALL & !bit(sys::READ),
        // SAFETY: the program's own filter, which the kernel reads too.
        (sys::PRCTL, PR_SET_SECCOMP, MODE_FILTER) | (sys::SECCOMP, SET_MODE_FILTER, _) => unsafe { forbidden_by(c) },
        _ => 0,
    };
    let before = FORBIDDEN.load(Relaxed);
    if forbidden != 0 {
        prepare(forbidden);
    }
    // SAFETY: as demanded from the caller.
    let result = unsafe { arch::system_call(number, [a, b, c, d, e, f]) };
    if (-4095..0).contains(&result) {
        FORBIDDEN.store(before, Relaxed);
        sys::set_errno(-result as i32);
        return -1;
    }
    result
}

/// # Safety
/// `program` must be null or a `struct sock_fprog`.
unsafe fn forbidden_by(program: usize) -> u64 {
    // SAFETY: as demanded from the caller.
    let Some(rules) = (unsafe { filter::Rules::from_address(program) }) else { return 0 };
    let kills = |&(_, &(number, arguments)): &(usize, &(usize, [u64; 6]))| !rules.allow(number, arguments);
    let listed = CALLS.iter().enumerate().filter(kills).fold(0, |all, (place, _)| all | 1 << place);
    if listed == 0 { 0 } else { listed | OTHERS }
}

/// Makes what cannot be made later, and then forbids calls.
fn prepare(forbidden: u64) {
    if let Some(channel) = attach::get() {
        // SAFETY: the thread's pointer always names a header.
        if !unsafe { thread::is_active(thread::current()) } {
            ring::first_ring();
        }
        signal::prepare(channel);
        if forbidden & bit(sys::FUTEX) != 0 {
            channel.silent_producers.fetch_add(1, Relaxed);
        }
    }
    FORBIDDEN.fetch_or(forbidden, Relaxed);
}
