//! The process's side of the shared channel: found by a path, an inherited descriptor or a question ([`broker`]),
//! mapped once, and left again for good when the consumer is gone.
//!
//! The environment names the channel as a file of the process that reads it, `/proc/<process>/fd/<number>`. Programs
//! inherit an open file of the same number: it leads to the channel where the path does not, because the process is of
//! another user or namespace, has another root, or there is no `/proc`. Launchers may close it; the socket is left.
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
//!
//! The hooks leave no descriptor open, and never close the inherited one: programs that this one starts may need it.
//! Rings are mapped later by duplicating the header's mapping with `mremap` (old size 0) and
//! cutting off what lies before the ring: that needs no descriptor, no path and no permission, so it works after
//! `closefrom`, `chroot`, `setuid` and with a full descriptor table, and cannot steal a descriptor number from another
//! thread. Mapping all rings ahead would take 1.1 TB of addresses, too much under `RLIMIT_AS`. Where duplicating fails
//! (a limit on addresses, or a kernel without it), the remembered path is opened again.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32};

use crate::abi::{
    ABI_VERSION, CHANNEL_BYTES, CHANNEL_ENV, CHANNEL_MAGIC, ChannelHeader, INHERITED_FROM, NOBODY, PAGE, RING_STRIDE,
    RINGS_OFFSET,
};
use crate::{broker, copies, process, sandbox, sys};

pub const UNTRIED: u32 = 0;
pub const ATTACHED: u32 = 1;
pub const INERT: u32 = 2;
pub const JOINED: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(UNTRIED);
static OUT_OF_SIGHT: AtomicBool = AtomicBool::new(false);
static CHANNEL: AtomicPtr<ChannelHeader> = AtomicPtr::new(null_mut());

const PATH_BYTES: usize = 256;
/// Written by every thread that attaches, with the same bytes.
static PATH: [AtomicU8; PATH_BYTES] = [const { AtomicU8::new(0) }; PATH_BYTES];

#[inline(always)]
pub fn is_inert() -> bool {
    STATE.load(Relaxed) == INERT
}

/// Nobody has looked for the channel yet.
#[inline(always)]
pub fn is_untried() -> bool {
    STATE.load(Relaxed) == UNTRIED
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
    } else if OUT_OF_SIGHT.load(Relaxed) || !sandbox::may_look() {
        sandbox::consumer_beats(channel)
    } else {
        sys::process_lives(consumer)
    }
}

/// Finds out whether the consumer can be seen from here; from another process namespace it is known by its beat.
pub fn look_for_consumer(channel: &ChannelHeader) {
    OUT_OF_SIGHT.store(!sys::process_lives(channel.consumer_pid.load(Relaxed)), Relaxed);
}

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

/// The channel, if this process has it.
pub fn attached() -> Option<&'static ChannelHeader> {
    // SAFETY: null or a mapping that is never unmapped.
    unsafe { CHANNEL.load(Acquire).as_ref() }
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
        to (closed descriptors, and namespaces of its own), or has no room for its records\n";
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

/// Makes something of a descriptor of the channel, however it can be had: by the path, inherited, or asked for.
fn with_descriptor<T>(path: &[u8; PATH_BYTES], make: impl Fn(usize) -> Option<T>) -> Option<T> {
    // The same path or number may be another file.
    let try_it = |fd: usize| if sys::file_size(fd) >= CHANNEL_BYTES { make(fd) } else { None };
    let closing = |fd: usize| {
        let made = try_it(fd);
        sys::close(fd);
        made
    };
    let named = path.first() != Some(&0);
    let by_name = if named { sys::open(path.as_ptr(), sys::RDWR).and_then(closing) } else { None };
    // Without the variable, a few numbers that it may have.
    let inherited = || {
        let (first, count) = if named { (broker::descriptor_in(path), 1) } else { (INHERITED_FROM as usize, NUMBERS) };
        (first..first + count).find_map(try_it)
    };
    by_name.or_else(inherited).or_else(|| broker::ask(broker::process_in(path)).and_then(closing))
}

/// Numbers that are tried: a run within a run has the next one.
const NUMBERS: usize = 8;

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
    map_part(channel, RINGS_OFFSET + index * RING_STRIDE, bytes)
}

/// Maps bytes of the channel from an offset on.
pub fn map_part(channel: &ChannelHeader, offset: usize, bytes: usize) -> Option<usize> {
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
    with_descriptor(&path, |fd| sys::map_shared(fd, offset, bytes))
}

const _: () = assert!(RINGS_OFFSET.is_multiple_of(PAGE) && RING_STRIDE.is_multiple_of(PAGE));
