//! Programs that forbid themselves system calls (seccomp): `prctl`, `syscall` in place of the C library's, which see it
//! coming.
//!
//! From then on the hooks make none of the calls that the kernel would punish ([`forbids`]): they answer themselves
//! with `EPERM`, which every caller takes for a failure. Waiting becomes spinning, and whether the consumer lives is
//! told by a number that it changes all the time. What needs memory from the system afterwards (a new thread's ring) is
//! lost, and counted. A ring for the thread's signal handlers is made beforehand.
//!
//! Not seen: a program that makes the call itself, without the C library.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::abi::ChannelHeader;
use crate::{channel, copies, filter, ring, set_errno, signal, sys};

/// Calls of the hooks, and arguments by which filters tell them from others.
const CALLS: [(usize, [u64; 6]); 20] = [
    (sys::READ, [3, 0, 128, 0, 0, 0]),
    (sys::OPEN, [0, 0o2004400, 0, 0, 0, 0]),
    (sys::CLOSE, [3, 0, 0, 0, 0, 0]),
    (sys::FSTAT, [3, 0, 0, 0, 0, 0]),
    (sys::MMAP, [0, 4096, 3, 0x4022, u64::MAX, 0]),
    (sys::MUNMAP, [4096, 4096, 0, 0, 0, 0]),
    (sys::RT_SIGACTION, [1, 0, 0, 8, 0, 0]),
    (sys::RT_SIGPROCMASK, [2, 0, 0, 8, 0, 0]),
    (sys::PWRITE, [3, 0, 1, 0, 0, 0]),
    (sys::SCHED_YIELD, [0; 6]),
    (sys::MREMAP, [4096, 0, 4096, 1, 0, 0]),
    (sys::MINCORE, [4096, 4096, 0, 0, 0, 0]),
    (sys::NANOSLEEP, [0; 6]),
    (sys::GETPID, [0; 6]),
    (sys::KILL, [1, 0, 0, 0, 0, 0]),
    (sys::FLOCK, [3, 6, 0, 0, 0, 0]),
    (sys::READLINK, [0, 0, 128, 0, 0, 0]),
    (sys::GETTID, [0; 6]),
    (sys::FUTEX, [4096, 0, 0, 4096, 0, 0]),
    (sys::TGKILL, [1, 1, 0, 0, 0, 0]),
];

/// Any call that is not in the list.
const OTHERS: u64 = 1 << 63;
/// One bit per call of the list.
const ALL: u64 = OTHERS | ((1 << CALLS.len()) - 1);

/// Calls that are forbidden, by their place in the list.
static FORBIDDEN: AtomicU64 = AtomicU64::new(0);

fn bit(number: usize) -> u64 {
    CALLS.iter().position(|&(call, _)| call == number).map_or(OTHERS, |place| 1 << place)
}

/// The hooks may not make this system call.
#[inline(always)]
pub fn forbids(number: usize) -> bool {
    let forbidden = FORBIDDEN.load(Relaxed);
    forbidden != 0 && forbidden & bit(number) != 0
}

/// A moment in a wait without the system's help.
pub fn pause() {
    for _ in 0..64 {
        core::hint::spin_loop();
    }
}

/// Whether the hooks may ask the system for a process.
pub fn may_look() -> bool {
    !forbids(sys::KILL) && !forbids(sys::OPEN)
}

/// Whether the consumer lives, by its beat.
pub fn consumer_beats(channel: &ChannelHeader) -> bool {
    /// Seconds without a change.
    const PATIENCE: u32 = 10;
    /// Looks without one, each after some microseconds, where there is no clock: well over ten seconds.
    const LOOKS: u32 = 200_000;
    static BEAT: AtomicU32 = AtomicU32::new(0);
    static SINCE: AtomicU32 = AtomicU32::new(0);
    static LOOKED: AtomicU32 = AtomicU32::new(1);
    let (now, patience) = match sys::seconds() {
        Some(seconds) => (seconds, PATIENCE),
        None => (LOOKED.fetch_add(1, Relaxed), LOOKS),
    };
    let beat = channel.consumer_beat.load(Relaxed);
    if BEAT.swap(beat, Relaxed) != beat || SINCE.load(Relaxed) == 0 {
        SINCE.store(now, Relaxed);
    }
    now.wrapping_sub(SINCE.load(Relaxed)) < patience
}

const PR_SET_SECCOMP: usize = 22;
const MODE_STRICT: usize = 1;
const MODE_FILTER: usize = 2;
const SET_MODE_STRICT: usize = 0;
const SET_MODE_FILTER: usize = 1;

pub extern "C" fn prctl(option: i32, a: usize, b: usize, c: usize, d: usize) -> i32 {
    let real = weak_address!("__interceptor_prctl");
    if real != 0 && option as usize != PR_SET_SECCOMP {
        // SAFETY: a sanitizer's `prctl`.
        let real: extern "C" fn(i32, usize, usize, usize, usize) -> i32 = unsafe { core::mem::transmute(real) };
        return real(option, a, b, c, d);
    }
    // SAFETY: the program's own call.
    unsafe { copies::system_call(sys::PRCTL, option as usize, a, b, c, d, 0) as i32 }
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
    let result = unsafe { sys::call_for_program(number, a, b, c, d, e, f) };
    if (-4095..0).contains(&result) {
        FORBIDDEN.store(before, Relaxed);
        set_errno(-result as i32);
        return -1;
    }
    result
}

/// # Safety
/// `program` must be null or a `struct sock_fprog`.
unsafe fn forbidden_by(program: usize) -> u64 {
    // SAFETY: as demanded from the caller.
    let Some(rules) = (unsafe { filter::Rules::at(program) }) else { return 0 };
    let kills = |&(_, &(number, arguments)): &(usize, &(usize, [u64; 6]))| !rules.allow(number, arguments);
    let listed = CALLS.iter().enumerate().filter(kills).fold(0, |all, (place, _)| all | 1 << place);
    if listed == 0 { 0 } else { listed | OTHERS }
}

/// Makes what cannot be made later, and then forbids calls.
fn prepare(forbidden: u64) {
    if let Some(channel) = channel::get() {
        // SAFETY: the thread's pointer always names a header.
        if !unsafe { ring::is_active(ring::current()) } {
            ring::first_ring();
        }
        signal::prepare(channel);
        if forbidden & bit(sys::FUTEX) != 0 {
            channel.silent_producers.fetch_add(1, Relaxed);
        }
    }
    FORBIDDEN.fetch_or(forbidden, Relaxed);
}
