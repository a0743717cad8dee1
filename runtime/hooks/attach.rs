//! How a process gets its channel: mapped once, when the first of its code comes to the hooks.
//!
//! ```text
//!             path opens, magic and version fit
//!   UNTRIED ------------------------------------> ATTACHED
//!    |    |                                          | consumer died
//!    |    | anything else                            v
//!    |    +--------------------------------------> INERT
//!    | another copy of the hooks is attached
//!    +-------------------------------------------> JOINED (see `copies`)
//! ```
//!
//! No lock: threads that come at the same time all map the channel, one wins, the others unmap theirs. So a signal
//! handler that interrupts an attach finds nothing half done, and a fork in the middle leaves nothing locked.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::abi::{ABI_VERSION, CHANNEL_ENV, CHANNEL_MAGIC, ChannelHeader, RINGS_OFFSET};
use crate::channel::{
    ATTACHED, CHANNEL, INERT, JOINED, PATH, PATH_BYTES, STATE, UNTRIED, attached, is_inert, with_descriptor,
};
use crate::{broker, copies, process, sys};

/// The channel, attached if it was not yet; `None` = inert.
pub fn get() -> Option<&'static ChannelHeader> {
    match STATE.load(Acquire) {
        INERT | JOINED => return None,
        UNTRIED => attach(),
        _ => {}
    }
    if is_inert() {
        return None;
    }
    attached()
}

fn attach() {
    if copies::join_elder() {
        return STATE.store(JOINED, Release);
    }
    let Some(channel) = open_and_map() else {
        // Another thread may have succeeded where this one found no free descriptor.
        let _ = STATE.compare_exchange(UNTRIED, INERT, Relaxed, Relaxed);
        return;
    };
    if CHANNEL.compare_exchange(null_mut(), channel, Release, Relaxed).is_ok() {
        // SAFETY: mapped by this call, and never unmapped.
        process::attached(unsafe { &*channel });
        copies::become_elder();
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
    if !path_from_kernel(&mut path) {
        path_from_libc(&mut path);
    }
    let Some(channel) = with_descriptor(&path, header_of) else {
        tell_unreachable(&path);
        return None;
    };
    for (to, from) in PATH.iter().zip(path) {
        to.store(from, Relaxed);
    }
    Some(channel)
}

/// Says on standard error that this process belongs to a run that it cannot reach: the run cannot know of it. Not where
/// the run is over, which what it has started may outlive.
fn tell_unreachable(path: &[u8]) {
    const LINE: &[u8] =
        b"dmdprof: INCOMPLETE: a process with hooks is not measured: it cannot reach the run that it belongs \
        to (closed descriptors, and namespaces of its own), was built by another version of dmdprof, or has no room \
        for its records\n";
    let run = broker::process_in(path);
    // The first process of a namespace does not see the run.
    if run != 0 && (sys::pid() == 1 || sys::process_lives(run)) {
        sys::write_error(LINE);
    }
}

/// Maps the header of the channel that a descriptor leads to.
fn header_of(fd: usize) -> Option<*mut ChannelHeader> {
    let channel = sys::map_shared(fd, 0, RINGS_OFFSET)? as *mut ChannelHeader;
    // SAFETY: the file is long enough for the mapping; the fields never change.
    let ours = unsafe { (*channel).magic == CHANNEL_MAGIC && (*channel).abi == u32::from(ABI_VERSION) };
    if !ours {
        // SAFETY: mapped by this call and given to nobody.
        unsafe { sys::unmap(channel as usize, RINGS_OFFSET) };
        return None;
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
