//! Numbers of system calls that are looked at, by processor.

/// Numbers of system calls that are looked at, of one processor.
pub struct Numbers {
    pub mmap: i64,
    pub munmap: i64,
    pub mremap: i64,
    pub brk: i64,
    pub madvise: i64,
    pub execve: i64,
    pub execveat: i64,
    pub getrandom: i64,
    pub clone: i64,
    pub clone3: i64,
    /// `fork` and `vfork`, where there are such calls.
    pub forks: [i64; 2],
}

/// Those of x86-64.
pub static X86_64: Numbers = Numbers {
    mmap: 9,
    munmap: 11,
    mremap: 25,
    brk: 12,
    madvise: 28,
    execve: 59,
    execveat: 322,
    getrandom: 318,
    clone: 56,
    clone3: 435,
    forks: [57, 58],
};
/// Those of processors that came to Linux later.
pub static GENERIC: Numbers = Numbers {
    mmap: 222,
    munmap: 215,
    mremap: 216,
    brk: 214,
    madvise: 233,
    execve: 221,
    execveat: 281,
    getrandom: 278,
    clone: 220,
    clone3: 435,
    forks: [-1, -1],
};
