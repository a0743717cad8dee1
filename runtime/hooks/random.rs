//! Random numbers from the system: `getrandom` and `getentropy` in place of the C library's.
//!
//! Counts the requests, so that a report can name them as the reason why runs differ. In a deterministic run the
//! numbers are fixed: the same sequence in every thread, so that they do not depend on which thread asks first.
//! Otherwise the kernel answers, with `errno` as the C library sets it.

use core::sync::atomic::Ordering::Relaxed;

use crate::{arch, attach, sys};

/// Of `getentropy`.
const LARGEST: usize = 256;
const EIO: i32 = 5;

/// What the kernel answers.
pub fn getrandom(buffer: *mut u8, bytes: usize, flags: u32) -> isize {
    // SAFETY: the program's own arguments.
    let result = unsafe { arch::system_call(sys::GETRANDOM, [buffer as usize, bytes, flags as usize, 0, 0, 0]) };
    if result < 0 {
        sys::set_errno(-result as i32);
        return -1;
    }
    result
}

/// What the kernel answers, unless the other one has filled the buffer.
pub fn getentropy(buffer: *mut u8, bytes: usize, fixed: impl FnOnce(*mut u8, usize) -> bool) -> i32 {
    if bytes > LARGEST {
        sys::set_errno(EIO);
        return -1;
    }
    if fixed(buffer, bytes) {
        return 0;
    }
    let mut done = 0;
    while done < bytes {
        // SAFETY: within the program's own buffer.
        let result = unsafe { arch::system_call(sys::GETRANDOM, [buffer as usize + done, bytes - done, 0, 0, 0, 0]) };
        match result {
            sys::EINTR => {}
            n if n < 0 => {
                sys::set_errno(-n as i32);
                return -1;
            }
            n => done += n as usize,
        }
    }
    0
}

/// Counts the request; fills the buffer if this is a deterministic run.
pub extern "C" fn fixed(buffer: *mut u8, bytes: usize) -> bool {
    fix(buffer, bytes, true)
}

/// Counts the request if it `counts`; fills the buffer if this is a deterministic run.
pub fn fix(buffer: *mut u8, bytes: usize, counts: bool) -> bool {
    let Some(channel) = attach::get() else { return false };
    channel.random_requests.fetch_add(u32::from(counts), Relaxed);
    if channel.fixed_random == 0 {
        return false;
    }
    for at in 0..bytes {
        let word = if at % 8 == 0 { next() } else { word_of(last()) };
        // SAFETY: within the program's own buffer.
        unsafe { buffer.add(at).write((word >> (at % 8 * 8)) as u8) };
    }
    true
}

/// The thread's next word.
fn next() -> u64 {
    let count = arch::random_count();
    // SAFETY: the thread's own variable.
    unsafe {
        count.write(count.read() + 1);
    }
    word_of(last())
}

/// Words that the thread has had.
fn last() -> u64 {
    // SAFETY: the thread's own variable.
    unsafe { arch::random_count().read() }
}

/// Splitmix64: the word after so many others.
fn word_of(count: u64) -> u64 {
    let mut z = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
