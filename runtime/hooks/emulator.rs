//! What the emulator's plugin needs of the hooks: it is linked with them and writes its records into the same rings.
//!
//! Takes records and library calls, gives room for the sites that records name. Only compiled with the feature
//! `emulator`: the hooks inside of programs do not have it.

use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::abi::{PAGE, RING_BYTES, RING_STRIDE, RINGS_OFFSET, RingHeader, emulated::AREA_BYTES};
use crate::{blocks, broker, calls, channel, entries, process, random, ring, sys, thread};

pub use crate::abi::{Call, EventKind, loss, unmeasured};

const _: () = assert!(RING_BYTES.is_multiple_of(PAGE));

/// Whether the process has found its channel; the calling thread has a ring then.
#[must_use]
pub fn attach() -> bool {
    entries::channel().is_some() && own_ring().is_some()
}

/// The thread's ring, if it is one of the channel: its number and its header.
fn own_ring() -> Option<(u32, *mut RingHeader)> {
    let mut now = thread::current();
    // SAFETY: the thread's pointer always names a header.
    if !unsafe { thread::is_active(now) } {
        now = ring::first_ring();
    }
    // SAFETY: as above; an active ring has a private part.
    unsafe { thread::is_active(now).then(|| (thread::private(now).index, now)) }
}

/// Where the sites of the process go: number of the ring that has the area, and the area's first byte. To be asked once
/// in a process.
#[must_use]
pub fn area() -> Option<(u32, *mut u8)> {
    let channel = channel::attached()?;
    let (number, header) = own_ring()?;
    let start = channel::map_part(channel, RINGS_OFFSET + number as usize * RING_STRIDE + RING_BYTES, AREA_BYTES)?;
    // SAFETY: a ring of this thread.
    unsafe { (*header).has_sites.store(1, Relaxed) };
    AREA_RING.store(header, Relaxed);
    Some((number, start as *mut u8))
}

/// The ring that has the process's site area. Of a forked process without one: its parent's, which has one fork more
/// then than rings that tell of it, so that its sites are kept.
static AREA_RING: AtomicPtr<RingHeader> = AtomicPtr::new(core::ptr::null_mut());

/// The process is about to fork so often.
pub fn forks(times: u32) {
    // SAFETY: rings stay mapped; the field is only ever changed as an atomic.
    if let Some(ring) = unsafe { AREA_RING.load(Relaxed).as_ref() } {
        ring.forks.fetch_add(times, Relaxed);
    }
}

/// Writes a record of `words` words with `fill`, which gets where it goes.
#[inline(always)]
pub fn write_with(words: usize, fill: impl FnOnce(*mut u64)) {
    ring::write_with(words, fill);
}

/// An event of a call site, by its kind and operands.
pub fn event<const OPERANDS: usize>(site: u64, kind: EventKind, operands: [u64; OPERANDS]) {
    let words = 1 + OPERANDS;
    write_with(words, |at| {
        // SAFETY: room for the words was made.
        unsafe {
            at.write((kind as u64) << 56 | (words as u64) << 48 | site);
            at.add(1).cast::<[u64; OPERANDS]>().write(operands);
        }
    });
}

/// A library call by its meaning.
pub fn call(site: u64, call: Call, operands: [u64; 4]) {
    let [a, b, c, d] = operands;
    calls::call(site as usize, call as u64, a, b, c, d);
}

/// A block of the heap ends. The C library may free it again by itself, as it does with what a thread's cache holds
/// when the thread ends: then that is no news.
pub fn block_ends(site: u64, address: u64) {
    match blocks::size(address) {
        Some(bytes) => call(site, Call::FreeSized, [address, bytes, 0, 0]),
        None => call(site, Call::Free, [address, 0, 0, 0]),
    }
}

/// Counts a loss, one of [`loss`].
pub fn lost(kind: usize) {
    if let Some(channel) = channel::attached() {
        channel::lost(channel, kind);
    }
}

/// The system has given so many random bytes: counts the request if it `counts`, and in a deterministic run puts fixed
/// ones in their place.
///
/// # Safety
/// The bytes must be the program's own.
pub unsafe fn random(buffer: *mut u8, bytes: usize, counts: bool) {
    random::fix(buffer, bytes, counts);
}

/// Names a program that is started and not measured, with the reason: one of [`unmeasured`]. It is only counted if the
/// run cannot be told.
pub fn not_emulated(why: u8, name: &[u8]) {
    if !broker::report_started(why, name)
        && let Some(channel) = channel::attached()
    {
        channel.not_emulated.fetch_add(1, Relaxed);
    }
}

/// A system call of this number had an effect that lasts; the first one is kept.
pub fn lasting(number: u32) {
    if let Some(channel) = channel::attached() {
        _ = channel.lasting.compare_exchange(0, number + 1, Relaxed, Relaxed);
    }
}

/// Changes with each fork, in the child.
#[must_use]
pub fn generation() -> u32 {
    process::generation()
}

/// Writes a message to standard error, if it is open.
pub fn say(message: &[u8]) {
    sys::write_error(message);
}
