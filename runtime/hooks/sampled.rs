//! Programs that can be sampled: what comes of it at run time.
//!
//! The code of such a program counts the executions of its segments, takes their loads and stores off
//! `RingHeader::left`, and looks up each address in `RingSample::marks`; only what it finds there has a record. All of
//! that lies behind the ring, at fixed distances from the thread's ring pointer. Where `left` becomes negative the code
//! comes here: [`ready`] sees to it that there is such a ring, the record of the segment is written whatever the marks
//! say, and [`tick`] draws what has changed. The analysis draws the same (`abi::sample`), so that it knows what a
//! program that passes a time looks at.
//!
//! Where an analysis of several ends, the ring says its time. Where nobody reads, all threads have the same ring, which
//! marks nothing.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64};

use crate::abi::{
    COUNTERS, ChannelHeader, EventKind, FIRST_COUNTER, RING_STRIDE, RingHeader, UNIT_SLOTS, UNITS_OFFSET, UnitEntry,
    loss,
};
use crate::sample::{self, ALWAYS, NEVER, Sample, is_wanted, part_behind};
use crate::{attach, channel, process, ring, sys, thread};

/// The ring of threads whose records nobody reads.
static VOID: AtomicPtr<RingHeader> = AtomicPtr::new(null_mut());
/// Counters of this process's objects so far.
static NEXT_COUNTER: AtomicU64 = AtomicU64::new(FIRST_COUNTER as u64);

/// The thread's ring, if code that can be sampled may use it as it is.
fn is_ready(ring: *mut RingHeader) -> bool {
    // SAFETY: the thread's pointer always names a header; an active one is the thread's own.
    let has_part = || unsafe { thread::is_active(ring) && !matches!(thread::private(ring).sample, Sample::None) };
    (ring == VOID.load(Relaxed) && !ring.is_null()) || has_part()
}

/// The ring of the thread, with a part for samples, on which so many accesses have passed; null if the system refuses
/// the memory.
pub extern "C" fn ready(accesses: u64) -> *mut RingHeader {
    let before = thread::current();
    if is_ready(before) {
        return before;
    }
    sample::want();
    let mut now = ring::first_sampled_ring();
    if !is_ready(now) {
        now = void();
        if !now.is_null() {
            thread::set_current(now);
        }
    }
    // SAFETY: null, or a header that this thread may change.
    if let Some(header) = unsafe { now.as_ref() } {
        header.left.store(header.left.load(Relaxed).wrapping_sub(accesses as i64), Relaxed);
    }
    now
}

/// The ring of which nobody reads anything.
fn void() -> *mut RingHeader {
    let known = VOID.load(Acquire);
    if !known.is_null() {
        return known;
    }
    let Some(start) = sys::map_private(RING_STRIDE) else { return null_mut() };
    let ring = start as *mut RingHeader;
    // SAFETY: mapped just now, by this call.
    unsafe {
        (*ring).left.store(NEVER, Relaxed);
        thread::make_scratch(ring);
    }
    match VOID.compare_exchange(null_mut(), ring, AcqRel, Acquire) {
        Ok(_) => ring,
        Err(other) => {
            // SAFETY: mapped by this call and given to nobody.
            unsafe { sys::unmap(start, RING_STRIDE) };
            other
        }
    }
}

/// The time of a change has passed.
pub extern "C" fn tick() {
    let now = thread::current();
    if !is_ready(now) {
        return;
    }
    // SAFETY: as `is_ready` has found out.
    let header = unsafe { &*now };
    if now == VOID.load(Relaxed) {
        header.left.store(NEVER, Relaxed);
        return;
    }
    let left = header.left.load(Relaxed);
    let time = header.next.load(Relaxed).wrapping_sub(left as u64);
    let last = time.saturating_sub(1);
    // SAFETY: as above.
    let has_ended = match unsafe { &thread::private(now).sample } {
        Sample::None => return,
        Sample::All => return header.left.store(ALWAYS, Relaxed),
        Sample::Drawn(drawn) if left >= 0 || last < drawn.all_until => return,
        Sample::Drawn(drawn) => drawn.has_ended(last),
    };
    if has_ended {
        // Before anything is left out that an analysis needs which goes on.
        say(time);
        if thread::current() != now {
            return;
        }
    }
    // A handler that leaves by longjmp would leave this half done.
    let mask = sys::block_signals();
    // SAFETY: as above.
    if let Sample::Drawn(drawn) = unsafe { &mut thread::private(now).sample } {
        let next = drawn.tick(last, part_behind(now));
        header.next.store(next, Relaxed);
        header.left.store(next.wrapping_sub(time) as i64, Relaxed);
    }
    sys::restore_signals(mask);
}

/// Writes down how many accesses there were so far.
fn say(time: u64) {
    const WORDS: usize = 2;
    ring::write([(EventKind::Clock as u64) << 56 | (WORDS as u64) << 48, time]);
}

/// Says the time before a library call that is so many accesses. Call [`passed`] behind its record.
pub fn clock(accesses: u64) {
    if !is_wanted() {
        return;
    }
    const WORDS: usize = 2;
    // The thread may have no ring yet.
    ring::reserve(WORDS * 8, 0);
    let now = thread::current();
    // SAFETY: the thread's pointer always names a header; an active one is the thread's own.
    let is_drawn = unsafe { thread::is_active(now) && matches!(thread::private(now).sample, Sample::Drawn(_)) };
    if !is_drawn {
        return;
    }
    // SAFETY: as above.
    let header = unsafe { &*now };
    let left = header.left.load(Relaxed);
    let time = header.next.load(Relaxed).wrapping_sub(left as u64);
    say(time);
    header.left.store(left.wrapping_sub(accesses as i64), Relaxed);
}

/// A library call has its record.
pub fn passed() {
    if is_wanted() {
        tick();
    }
}

/// An object that can be sampled begins: it has so many counters, and learns where.
///
/// # Safety
/// `first` is the object's own word.
pub unsafe extern "C" fn unit(unit: u64, count: u64, first: *mut u64) {
    sample::want();
    let Some(channel) = attach::get() else { return };
    let at = NEXT_COUNTER.fetch_add(count, Relaxed);
    let slot = channel.units_used.fetch_add(1, Relaxed) as usize;
    if at.saturating_add(count) > COUNTERS as u64 || slot >= UNIT_SLOTS {
        channel::lost(channel, loss::COUNTERS);
        return;
    }
    let base = channel as *const ChannelHeader as usize + UNITS_OFFSET;
    let entry = (base + slot * size_of::<UnitEntry>()) as *mut UnitEntry;
    // SAFETY: inside the mapped channel, and taken by this call; the word is the object's, and nothing of it runs yet.
    unsafe {
        (*entry).unit = unit;
        (*entry).first = at * 8;
        (*entry).count = count;
        // Release: whoever sees the process sees the rest.
        (*entry).process.store(process::number(), Release);
        first.write(at * 8);
    }
}
