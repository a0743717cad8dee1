//! The process's side of the shared channel, once it is attached ([`super::attach`]): reached by a path, an inherited
//! descriptor or a question ([`broker`]), and left for good when the consumer is gone.
//!
//! The environment names the channel as a file of the process that reads it, `/proc/<process>/fd/<number>`. Programs
//! inherit an open file of the same number: it leads to the channel where the path does not, because the process is of
//! another user or namespace, has another root, or there is no `/proc`. Launchers may close it; the socket is left.
//!
//! The hooks leave no descriptor open, and never close the inherited one: programs that this one starts may need it.
//! Rings are mapped later by duplicating the header's mapping with `mremap` (old size 0) and
//! cutting off what lies before the ring: that needs no descriptor, no path and no permission, so it works after
//! `closefrom`, `chroot`, `setuid` and with a full descriptor table, and cannot steal a descriptor number from another
//! thread. Mapping all rings ahead would take 1.1 TB of addresses, too much under `RLIMIT_AS`. Where duplicating fails
//! (a limit on addresses, or a kernel without it), the remembered path is opened again.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32};

use crate::abi::{CHANNEL_BYTES, ChannelHeader, INHERITED_FROM, NOBODY, PAGE, RING_STRIDE, RINGS_OFFSET};
use crate::{broker, forbidden, sys};

pub const UNTRIED: u32 = 0;
pub const ATTACHED: u32 = 1;
pub const INERT: u32 = 2;
pub const JOINED: u32 = 3;

pub static STATE: AtomicU32 = AtomicU32::new(UNTRIED);
static OUT_OF_SIGHT: AtomicBool = AtomicBool::new(false);
pub static CHANNEL: AtomicPtr<ChannelHeader> = AtomicPtr::new(null_mut());

pub const PATH_BYTES: usize = 256;
/// Written by every thread that attaches, with the same bytes.
pub static PATH: [AtomicU8; PATH_BYTES] = [const { AtomicU8::new(0) }; PATH_BYTES];

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

/// Whether the hooks may ask the system for a process.
fn may_look() -> bool {
    !forbidden::forbids(sys::KILL) && !forbidden::forbids(sys::OPEN)
}

/// Whether the consumer lives, by its beat.
fn consumer_beats(channel: &ChannelHeader) -> bool {
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

/// Somebody reads the rings.
pub fn consumer_lives(channel: &ChannelHeader) -> bool {
    let consumer = channel.consumer_pid.load(Relaxed);
    if consumer == NOBODY {
        false
    } else if OUT_OF_SIGHT.load(Relaxed) || !may_look() {
        consumer_beats(channel)
    } else {
        sys::process_lives(consumer)
    }
}

/// Finds out whether the consumer can be seen from here; from another process namespace it is known by its beat.
pub fn look_for_consumer(channel: &ChannelHeader) {
    OUT_OF_SIGHT.store(!sys::process_lives(channel.consumer_pid.load(Relaxed)), Relaxed);
}

/// The channel, if this process has it.
pub fn attached() -> Option<&'static ChannelHeader> {
    // SAFETY: null or a mapping that is never unmapped.
    unsafe { CHANNEL.load(Acquire).as_ref() }
}

/// Makes something of a descriptor of the channel, however it can be had: by the path, inherited, or asked for.
pub fn with_descriptor<T>(path: &[u8; PATH_BYTES], make: impl Fn(usize) -> Option<T>) -> Option<T> {
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
    by_name.or_else(inherited).or_else(|| broker::open_channel(broker::process_in(path)).and_then(closing))
}

/// Numbers that are tried: a run within a run has the next one.
const NUMBERS: usize = 8;

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
