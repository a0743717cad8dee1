//! Whether a program does anything that outlives it, so that running it again does it again.
//!
//! Takes system calls of x86-64 that succeeded; says which may have an effect that lasts: on files, on other processes,
//! on other machines; and what kind of effect that is. What fails changes nothing. A call that is not listed here
//! counts as one that lasts.

/// Calls that change nothing but the process, whatever their operands are.
#[rustfmt::skip]
const OWN: [i64; 124] = [
    // Reading, and what is known of files.
    0, 3, 4, 5, 6, 7, 8, 17, 19, 21, 23, 32, 33, 72, 78, 79, 80, 81, 89, 95, 137, 138, 191, 192, 193, 194, 195, 196, 217,
    221, 262, 267, 269, 270, 271, 292, 295, 327, 332, 439,
    // Memory, but maps of files, which can be written to if the file was opened for it.
    9, 10, 11, 12, 25, 27, 28, 149, 150, 319, 324, 325,
    // Signals to itself, and time.
    13, 14, 15, 34, 35, 36, 37, 38, 96, 100, 127, 128, 130, 131, 201, 222, 223, 226, 228, 229, 230, 283, 286, 287,
    // Threads, and what they wait for.
    24, 60, 186, 202, 203, 204, 213, 218, 231, 232, 233, 273, 274, 281, 284, 290, 291, 309, 334,
    // Who it is, what it may use.
    39, 63, 97, 98, 99, 102, 104, 107, 108, 110, 111, 115, 118, 120, 121, 124, 125, 135, 140, 143, 145, 157, 158, 160,
    318,
    // Pipes and sockets that lead nowhere yet.
    22, 41, 53, 293,
];

const OPEN: i64 = 2;
const IOCTL: i64 = 16;
const CLONE: i64 = 56;
const TGKILL: i64 = 234;
const OPENAT: i64 = 257;
const PRLIMIT: i64 = 302;

/// What a call does that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Opens a file to write to it.
    OpensToWrite,
    /// Writes to what was open before.
    Writes,
    /// Starts a process that is not a thread.
    StartsProcesses,
    /// Has another program run.
    StartsPrograms,
    /// Sends something, or waits for somebody who does.
    Talks,
}

impl Effect {
    /// Of a call by its number, if it is a common one.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            OPEN | 85 | OPENAT | 437 => Some(Self::OpensToWrite),
            1 | 18 | 20 | 40 | 296 | 328 => Some(Self::Writes),
            CLONE | 57 | 58 | 435 => Some(Self::StartsProcesses),
            59 | 322 => Some(Self::StartsPrograms),
            42..=47 | 49 | 288 => Some(Self::Talks),
            _ => None,
        }
    }
}

/// What `open` is asked for: `O_ACCMODE`, `O_CREAT`, `O_TRUNC`, and of `O_TMPFILE` what `O_DIRECTORY` does not have.
const TO_WRITE: u64 = 0o3 | 0o100 | 0o1000 | 0o20_000_000;
/// Of `clone`: a thread.
const THREAD: u64 = 0x10000;
/// `TCGETS`, `TIOCGPGRP`, `TIOCGWINSZ`, `FIONREAD`: what a terminal is like, and how much can be read.
const QUESTIONS: [u64; 4] = [0x5401, 0x540f, 0x5413, 0x541b];
/// The last of the descriptors that every program has.
const STANDARD_ERROR: u64 = 2;

/// Whether a call with these operands has an effect that lasts; the process that made it has this number.
#[must_use]
pub fn lasts(number: i64, [a, b, c, ..]: [u64; 6], process: impl Fn() -> u64) -> bool {
    let is_own = match number {
        OPEN => b & TO_WRITE == 0,
        OPENAT => c & TO_WRITE == 0,
        IOCTL => QUESTIONS.contains(&b),
        CLONE => a & THREAD != 0,
        TGKILL => a == process(),
        PRLIMIT => a == 0 || a == process(),
        // Of what it opened itself nothing can be written to but pipes.
        _ if Effect::from_number(number) == Some(Effect::Writes) => a <= STANDARD_ERROR,
        _ => OWN.contains(&number),
    };
    !is_own
}
