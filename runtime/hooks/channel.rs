//! The process's side of the shared channel: found in the environment or asked for ([`broker`]), mapped once, and left
//! again for good when the consumer is gone.
//!
//! ```text
//!             path opens, magic and version fit
//!   UNTRIED ------------------------------------> ATTACHED
//!      |                                             | consumer died
//!      | anything else                               v
//!      +-----------------------------------------> INERT
//! ```
//!
//! No lock: threads that come at the same time all map the channel, one wins, the others unmap theirs. So a signal
//! handler that interrupts an attach finds nothing half done, and a fork in the middle leaves nothing locked.
//!
//! No descriptor stays open. Rings are mapped later by duplicating the header's mapping with `mremap` (old size 0) and
//! cutting off what lies before the ring: that needs no descriptor, no path and no permission, so it works after
//! `closefrom`, `chroot`, `setuid` and with a full descriptor table, and cannot steal a descriptor number from another
//! thread. Mapping all rings ahead would take 1.1 TB of addresses, too much under `RLIMIT_AS`. Where duplicating fails
//! (a limit on addresses, or a kernel without it), the remembered path is opened again.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32};

use crate::abi::{
    ABI_VERSION, CHANNEL_BYTES, CHANNEL_ENV, CHANNEL_MAGIC, ChannelHeader, NOBODY, PAGE, RING_STRIDE, RINGS_OFFSET,
};
use crate::{broker, process, sandbox, sys};

pub const UNTRIED: u32 = 0;
pub const ATTACHED: u32 = 1;
pub const INERT: u32 = 2;

static STATE: AtomicU32 = AtomicU32::new(UNTRIED);
static CHANNEL: AtomicPtr<ChannelHeader> = AtomicPtr::new(null_mut());

const PATH_BYTES: usize = 256;
/// Written by every thread that attaches, with the same bytes.
static PATH: [AtomicU8; PATH_BYTES] = [const { AtomicU8::new(0) }; PATH_BYTES];

#[inline(always)]
pub fn is_inert() -> bool {
    STATE.load(Relaxed) == INERT
}

/// Profiling ends for this process; every ring is left at its next slow path.
pub fn give_up() {
    STATE.store(INERT, Relaxed);
}

/// Counts a loss, one of [`abi::loss`].
pub fn lost(channel: &ChannelHeader, kind: usize) {
    if let Some(count) = channel.losses.get(kind) {
        count.fetch_add(1, Relaxed);
    }
}

/// Somebody reads the rings.
pub fn consumer_lives(channel: &ChannelHeader) -> bool {
    let consumer = channel.consumer_pid.load(Relaxed);
    if consumer == NOBODY {
        false
    } else {
        sandbox::consumer_beats(channel).unwrap_or_else(|| sys::process_lives(consumer))
    }
}

/// The channel, attached if it was not yet; `None` = inert.
pub fn get() -> Option<&'static ChannelHeader> {
    match STATE.load(Acquire) {
        INERT => return None,
        UNTRIED => attach(),
        _ => {}
    }
    if is_inert() {
        return None;
    }
    attached()
}

/// The channel, if this process has it.
pub fn attached() -> Option<&'static ChannelHeader> {
    // SAFETY: null or a mapping that is never unmapped.
    unsafe { CHANNEL.load(Acquire).as_ref() }
}

fn attach() {
    let Some(channel) = open_and_map() else {
        // Another thread may have succeeded where this one found no free descriptor.
        let _ = STATE.compare_exchange(UNTRIED, INERT, Relaxed, Relaxed);
        return;
    };
    if CHANNEL.compare_exchange(null_mut(), channel, Release, Relaxed).is_ok() {
        // SAFETY: mapped by this call, and never unmapped.
        process::attached(unsafe { &*channel });
        STATE.store(ATTACHED, Release);
    } else {
        // SAFETY: mapped by this call and given to nobody.
        unsafe { sys::unmap(channel as usize, RINGS_OFFSET) };
    }
}

fn open_and_map() -> Option<*mut ChannelHeader> {
    if sys::elevated() {
        broker::report();
        return None;
    }
    let mut path = [0u8; PATH_BYTES];
    let named = path_from_kernel(&mut path) || path_from_libc(&mut path);
    let by_name = if named { sys::open(path.as_ptr(), sys::RDWR) } else { None };
    // The environment was cleared, or the process belongs to another user or lives under another root.
    let fd = match by_name {
        Some(fd) => fd,
        None => broker::ask(if named { broker::process_in(&path) } else { 0 })?,
    };
    let fits = sys::file_size(fd) >= CHANNEL_BYTES;
    let mapped = if fits { sys::map_shared(fd, 0, RINGS_OFFSET) } else { None };
    sys::close(fd);
    let channel = mapped? as *mut ChannelHeader;
    // SAFETY: the file is long enough for the mapping; the fields never change.
    let ours = unsafe { (*channel).magic == CHANNEL_MAGIC && (*channel).abi == u32::from(ABI_VERSION) };
    if !ours {
        // SAFETY: mapped by this call and given to nobody.
        unsafe { sys::unmap(channel as usize, RINGS_OFFSET) };
        return None;
    }
    for (to, from) in PATH.iter().zip(path) {
        to.store(from, Relaxed);
    }
    Some(channel)
}

/// Recognises `NAME=` and takes what follows.
struct Finder<'a> {
    path: &'a mut [u8; PATH_BYTES],
    /// Bytes of `NAME=` matched; `usize::MAX` = this is another variable.
    matched: usize,
    taken: usize,
}

impl Finder<'_> {
    /// True when the variable is complete.
    fn feed(&mut self, byte: u8) -> bool {
        let name = CHANNEL_ENV.as_bytes();
        if byte == 0 {
            let found = self.matched == name.len() + 1 && self.taken > 0 && self.taken < PATH_BYTES;
            if !found {
                self.matched = 0;
                self.taken = 0;
            }
            return found;
        }
        if self.matched == name.len() + 1 {
            if let Some(slot) = self.path.get_mut(self.taken) {
                *slot = byte;
                self.taken += 1;
            }
        } else if let Some(&expected) = name.get(self.matched) {
            self.matched = if byte == expected { self.matched + 1 } else { usize::MAX };
        } else if self.matched == name.len() && byte == b'=' {
            self.matched += 1;
        } else {
            self.matched = usize::MAX;
        }
        false
    }

    fn end(&mut self) {
        if let Some(slot) = self.path.get_mut(self.taken) {
            *slot = 0;
        }
    }
}

/// The environment as the program was started with: `clearenv` and a `setenv` of another thread do not touch it.
fn path_from_kernel(path: &mut [u8; PATH_BYTES]) -> bool {
    let Some(fd) = sys::open(c"/proc/self/environ".as_ptr().cast(), sys::RDONLY) else { return false };
    let mut finder = Finder { path, matched: 0, taken: 0 };
    let mut buffer = [0u8; 1024];
    let mut found = false;
    'all: loop {
        let n = sys::read(fd, &mut buffer);
        if n == 0 {
            break;
        }
        for &byte in buffer.iter().take(n) {
            if finder.feed(byte) {
                found = true;
                break 'all;
            }
        }
    }
    sys::close(fd);
    finder.end();
    found
}

/// The C library's `environ`: for programs that overwrote the memory in which they got their environment.
fn path_from_libc(path: &mut [u8; PATH_BYTES]) -> bool {
    let variable = weak_address!("environ") as *const *const *const u8;
    if variable.is_null() {
        return false;
    }
    let mut finder = Finder { path, matched: 0, taken: 0 };
    // SAFETY: `environ` is null or an array of strings that ends with null.
    unsafe {
        let mut entry = *variable;
        while !entry.is_null() && !(*entry).is_null() {
            let mut at = *entry;
            loop {
                let byte = *at;
                if finder.feed(byte) {
                    finder.end();
                    return true;
                }
                if byte == 0 {
                    break;
                }
                at = at.add(1);
            }
            entry = entry.add(1);
        }
    }
    finder.end();
    false
}

/// Maps the first bytes of one ring. `None` = no room for it.
pub fn map_ring(channel: &ChannelHeader, index: usize, bytes: usize) -> Option<usize> {
    let offset = RINGS_OFFSET + index * RING_STRIDE;
    // SAFETY: the header is the start of a shared mapping of the file's start.
    if let Some(start) = unsafe { sys::map_again(channel as *const ChannelHeader as usize, offset + bytes) } {
        // SAFETY: the part before the ring was mapped just now and is used by nobody.
        unsafe { sys::unmap(start, offset) };
        return Some(start + offset);
    }
    let mut path = [0u8; PATH_BYTES];
    for (to, from) in path.iter_mut().zip(&PATH) {
        *to = from.load(Relaxed);
    }
    let by_name = if path.first() == Some(&0) { None } else { sys::open(path.as_ptr(), sys::RDWR) };
    let fd = by_name.or_else(|| broker::ask(broker::process_in(&path)))?;
    // The same path may be another file by now.
    let fits = sys::file_size(fd) >= CHANNEL_BYTES;
    let mapped = if fits { sys::map_shared(fd, offset, bytes) } else { None };
    sys::close(fd);
    mapped
}

const _: () = assert!(RINGS_OFFSET.is_multiple_of(PAGE) && RING_STRIDE.is_multiple_of(PAGE));
