//! System calls that the hooks may not make any more, because the program has forbidden them to itself
//! ([`crate::sandbox`]).

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::arch::number;

/// Calls of the hooks, and arguments by which filters tell them from others.
pub const CALLS: [(usize, [u64; 6]); 20] = [
    (number::READ, [3, 0, 128, 0, 0, 0]),
    (number::OPEN, [0, 0o2004400, 0, 0, 0, 0]),
    (number::CLOSE, [3, 0, 0, 0, 0, 0]),
    (number::FSTAT, [3, 0, 0, 0, 0, 0]),
    (number::MMAP, [0, 4096, 3, 0x4022, u64::MAX, 0]),
    (number::MUNMAP, [4096, 4096, 0, 0, 0, 0]),
    (number::RT_SIGACTION, [1, 0, 0, 8, 0, 0]),
    (number::RT_SIGPROCMASK, [2, 0, 0, 8, 0, 0]),
    (number::PWRITE, [3, 0, 1, 0, 0, 0]),
    (number::SCHED_YIELD, [0; 6]),
    (number::MREMAP, [4096, 0, 4096, 1, 0, 0]),
    (number::MINCORE, [4096, 4096, 0, 0, 0, 0]),
    (number::NANOSLEEP, [0; 6]),
    (number::GETPID, [0; 6]),
    (number::KILL, [1, 0, 0, 0, 0, 0]),
    (number::FLOCK, [3, 6, 0, 0, 0, 0]),
    (number::READLINK, [0, 0, 128, 0, 0, 0]),
    (number::GETTID, [0; 6]),
    (number::FUTEX, [4096, 0, 0, 4096, 0, 0]),
    (number::TGKILL, [1, 1, 0, 0, 0, 0]),
];

/// Any call that is not in the list.
pub const OTHERS: u64 = 1 << 63;
/// One bit per call of the list.
pub const ALL: u64 = OTHERS | ((1 << CALLS.len()) - 1);

/// Calls that are forbidden, by their place in the list.
pub static FORBIDDEN: AtomicU64 = AtomicU64::new(0);

pub fn bit(number: usize) -> u64 {
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
