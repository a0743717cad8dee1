//! Raw system calls: none of them touches `errno` or any other state of the C library.

use crate::abi::PAGE;
pub use crate::arch::number::*;
use crate::{arch, forbidden};

pub const EPERM: isize = -1;
pub const EINTR: isize = -4;
pub const EAGAIN: isize = -11;
pub const ESRCH: isize = -3;
pub const ETIMEDOUT: isize = -110;

pub const PROT_READ_WRITE: usize = 3;
pub const MAP_SHARED: usize = 1;
/// `MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE`.
pub const MAP_PRIVATE_LAZY: usize = 0x02 | 0x20 | 0x4000;

/// One system call of the hooks; the kernel's raw answer (negative = error number). `EPERM` if the program has
/// forbidden itself the call: then it is not made.
///
/// # Safety
/// As the call itself: the arguments must be what the kernel's interface asks for.
#[inline(always)]
pub unsafe fn call(number: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    if forbidden::forbids(number) {
        return EPERM;
    }
    // SAFETY: as demanded from the caller.
    unsafe { arch::system_call(number, [a, b, c, d, e, f]) }
}

fn plain(number: usize) -> u32 {
    // SAFETY: only used for calls that take no argument and cannot fail.
    unsafe { call(number, 0, 0, 0, 0, 0, 0) as u32 }
}

pub fn pid() -> u32 {
    plain(GETPID)
}

pub fn tid() -> u32 {
    plain(GETTID)
}

/// Seconds of a clock that always goes on; `None` = not told.
pub fn seconds() -> Option<u32> {
    const MONOTONIC: usize = 1;
    let mut time = [0i64; 2];
    // SAFETY: room for `struct timespec`.
    let told = unsafe { call(CLOCK_GETTIME, MONOTONIC, time.as_mut_ptr() as usize, 0, 0, 0, 0) };
    let [seconds, _] = time;
    (told == 0).then_some(seconds as u32)
}

pub fn yield_now() {
    plain(SCHED_YIELD);
}

pub fn user() -> u32 {
    plain(GETUID)
}

/// The process runs with more rights than its user: its environment must not be trusted.
pub fn elevated() -> bool {
    user() != plain(GETEUID) || plain(GETGID) != plain(GETEGID)
}

/// `None` = failed.
fn address(result: isize) -> Option<usize> {
    if (-4095..=0).contains(&result) { None } else { Some(result as usize) }
}

pub fn map_private(bytes: usize) -> Option<usize> {
    // SAFETY: a new anonymous mapping where the kernel likes.
    address(unsafe { call(MMAP, 0, bytes, PROT_READ_WRITE, MAP_PRIVATE_LAZY, usize::MAX, 0) })
}

pub fn map_shared(fd: usize, offset: usize, bytes: usize) -> Option<usize> {
    // SAFETY: a new shared mapping where the kernel likes.
    address(unsafe { call(MMAP, 0, bytes, PROT_READ_WRITE, MAP_SHARED, fd, offset) })
}

/// A second mapping of the shared file behind `of`, from `of`'s place in the file, `bytes` long.
///
/// # Safety
/// `of` must be the start of a shared mapping.
pub unsafe fn map_again(of: usize, bytes: usize) -> Option<usize> {
    const MAYMOVE: usize = 1;
    // SAFETY: an old size of 0 duplicates and leaves the old mapping alone.
    address(unsafe { call(MREMAP, of, 0, bytes, MAYMOVE, 0, 0) })
}

/// # Safety
/// Nobody may use the range any more.
pub unsafe fn unmap(start: usize, bytes: usize) {
    // SAFETY: as demanded from the caller.
    unsafe { call(MUNMAP, start, bytes, 0, 0, 0, 0) };
}

/// Keeps everybody from mapping something at a free range: nothing can be read or written there.
pub fn reserve(start: usize, bytes: usize) {
    // `MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE`.
    const FREE_RANGE: usize = 0x02 | 0x20 | 0x4000 | 0x10_0000;
    // SAFETY: a new mapping where none is.
    unsafe { call(MMAP, start, bytes, 0, FREE_RANGE, usize::MAX, 0) };
}

pub fn is_mapped(address: u64) -> bool {
    let mut resident = [0u8; 1];
    let page = address as usize & !(PAGE - 1);
    // SAFETY: one byte for one page.
    unsafe { call(MINCORE, page, PAGE, resident.as_mut_ptr() as usize, 0, 0, 0) == 0 }
}

/// Opens a path that ends in a zero byte.
pub fn open(path: *const u8, flags: usize) -> Option<usize> {
    const CLOEXEC_NOCTTY_NONBLOCK: usize = 0o2000000 | 0o400 | 0o4000;
    // SAFETY: the kernel checks the pointer.
    let fd = unsafe { call(OPEN, path as usize, flags | CLOEXEC_NOCTTY_NONBLOCK, 0, 0, 0, 0) };
    if fd < 0 { None } else { Some(fd as usize) }
}

pub const RDONLY: usize = 0;
pub const WRONLY: usize = 1;
pub const RDWR: usize = 2;

/// Where a symbolic link leads: bytes of it that fit. 0 if that cannot be told.
pub fn read_link(path: *const u8, buffer: &mut [u8]) -> usize {
    // SAFETY: the path is a C string, and the kernel writes into the buffer only.
    let read = unsafe { call(READLINK, path as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0) };
    usize::try_from(read).unwrap_or(0)
}

pub fn close(fd: usize) {
    // SAFETY: only called with descriptors of our own.
    unsafe { call(CLOSE, fd, 0, 0, 0, 0, 0) };
}

/// Bytes read; 0 at the end and on errors.
pub fn read(fd: usize, buffer: &mut [u8]) -> usize {
    loop {
        // SAFETY: the buffer is writable for its length.
        let n = unsafe { call(READ, fd, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0) };
        if n != EINTR {
            return if n < 0 { 0 } else { n as usize };
        }
    }
}

/// Bytes written to a place in a file, which may be fewer than asked for; 0 on errors, such as memory that cannot be
/// read.
pub fn write_at(fd: usize, address: usize, bytes: usize, at: usize) -> usize {
    loop {
        // SAFETY: the kernel checks the range.
        let n = unsafe { call(PWRITE, fd, address, bytes, at, 0, 0) };
        if n != EINTR {
            return if n < 0 { 0 } else { n as usize };
        }
    }
}

/// Writes a message to standard error, if it is open.
pub fn write_error(message: &[u8]) {
    const STANDARD_ERROR: usize = 2;
    // SAFETY: the kernel reads the message only.
    unsafe { call(WRITE, STANDARD_ERROR, message.as_ptr() as usize, message.len(), 0, 0, 0) };
}

/// Waits for the lock of a file, for a minute at most. False = not had.
pub fn lock_file(fd: usize) -> bool {
    const EXCLUSIVE_NOW: usize = 2 | 4;
    const MILLISECOND: [i64; 2] = [0, 1_000_000];
    for _ in 0..60_000 {
        // SAFETY: no memory is involved.
        let result = unsafe { call(FLOCK, fd, EXCLUSIVE_NOW, 0, 0, 0, 0) };
        if result == 0 {
            return true;
        }
        if result != EAGAIN && result != EINTR {
            return false;
        }
        // SAFETY: the kernel reads the time and is given no place for the rest.
        unsafe { call(NANOSLEEP, MILLISECOND.as_ptr() as usize, 0, 0, 0, 0, 0) };
    }
    false
}

pub fn unlock_file(fd: usize) {
    const UNLOCK: usize = 8;
    // SAFETY: no memory is involved.
    unsafe { call(FLOCK, fd, UNLOCK, 0, 0, 0, 0) };
}

pub fn file_size(fd: usize) -> u64 {
    let mut stat = [0u64; arch::STAT_WORDS];
    // SAFETY: room for `struct stat`.
    let done = unsafe { call(FSTAT, fd, stat.as_mut_ptr() as usize, 0, 0, 0, 0) };
    if done == 0 { stat[arch::STAT_SIZE] } else { 0 }
}

/// Waits on a futex shared between processes for at most 50 ms.
pub fn futex_wait(word: *const u32, expected: u32) -> isize {
    const WAIT: usize = 0;
    let timeout = [0i64, 50_000_000];
    // SAFETY: the kernel checks the pointer.
    let result = unsafe { call(FUTEX, word as usize, WAIT, expected as usize, timeout.as_ptr() as usize, 0, 0) };
    if result == EPERM {
        forbidden::pause();
    }
    result
}

pub fn futex_wake(word: *const u32) {
    const WAKE: usize = 1;
    // SAFETY: the kernel checks the pointer.
    unsafe { call(FUTEX, word as usize, WAKE, i32::MAX as usize, 0, 0, 0) };
}

pub fn thread_lives(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { call(TGKILL, pid as usize, tid as usize, 0, 0, 0, 0) != ESRCH }
}

/// False when the process is gone or a zombie.
pub fn process_lives(pid: u32) -> bool {
    // SAFETY: signal 0 only asks.
    if unsafe { call(KILL, pid as usize, 0, 0, 0, 0, 0) } == ESRCH {
        return false;
    }
    status(pid).is_none_or(|(state, _)| state != b'Z' && state != b'X')
}

/// State and parent of a process; `None` if they cannot be told.
pub fn status(pid: u32) -> Option<(u8, u32)> {
    // "/proc/<pid>/stat": `pid (name) state parent ...`
    let mut path = [0u8; 32];
    let mut text = Text { to: &mut path, len: 0 };
    text.put(b"/proc/");
    text.number(pid);
    text.put(b"/stat");
    let fd = open(path.as_ptr(), RDONLY)?;
    let mut text = [0u8; 128];
    let n = read(fd, &mut text);
    close(fd);
    let text = text.get(..n)?;
    // The name may hold anything.
    let name_end = text.iter().rposition(|&byte| byte == b')')?;
    let state = *text.get(name_end + 2)?;
    let digits = text.get(name_end + 4..)?.iter().take_while(|byte| byte.is_ascii_digit());
    Some((state, digits.fold(0u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))))
}

/// Text put together without an allocator; what does not fit is cut.
pub struct Text<'a> {
    pub to: &'a mut [u8],
    pub len: usize,
}

impl Text<'_> {
    pub fn put(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if let Some(slot) = self.to.get_mut(self.len) {
                *slot = byte;
                self.len += 1;
            }
        }
    }

    pub fn number(&mut self, number: u32) {
        let mut divisor = 1_000_000_000;
        let mut started = false;
        while divisor > 0 {
            let digit = (number / divisor) % 10;
            started |= digit != 0 || divisor == 1;
            if started {
                self.put(&[b'0' + digit as u8]);
            }
            divisor /= 10;
        }
    }
}

/// Blocks all signals; the former mask.
pub fn block_signals() -> u64 {
    let all = u64::MAX;
    let mut old = 0u64;
    // SAFETY: both masks have the kernel's 8 bytes.
    unsafe { call(RT_SIGPROCMASK, 0, &raw const all as usize, &raw mut old as usize, 8, 0, 0) };
    old
}

pub fn restore_signals(mask: u64) {
    const SETMASK: usize = 2;
    // SAFETY: the mask has the kernel's 8 bytes.
    unsafe { call(RT_SIGPROCMASK, SETMASK, &raw const mask as usize, 0, 8, 0, 0) };
}

/// What the C library gives for a failed system call.
pub extern "C" fn failed(result: isize) -> isize {
    set_errno(-result as i32);
    -1
}

/// Sets the C library's `errno`, if there is one.
pub fn set_errno(error: i32) {
    let location = weak_address!("__errno_location");
    if location != 0 {
        // SAFETY: the C library's function of that name and type.
        unsafe {
            let location: extern "C" fn() -> *mut i32 = core::mem::transmute(location);
            *location() = error;
        }
    }
}
