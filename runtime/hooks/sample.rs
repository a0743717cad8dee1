//! Programs that can be sampled: which lines a thread looks at now, and when that changes.
//!
//! The code of such a program counts the executions of its segments, takes their loads and stores off
//! `RingHeader::left`, and looks up each address in `RingSample::marks`; only what it finds there has a record. All of
//! that lies behind the ring, at fixed distances from the thread's ring pointer. Where `left` becomes negative the code
//! comes here: [`ready`] sees to it that there is such a ring, the record of the segment is written whatever the marks
//! say, and [`tick`] draws what has changed. The analysis draws the same (`abi::sample`), so that it knows what a
//! program that passes a time looks at.
//!
//! A ring whose records are not drawn (`sample_one_in` = 0) has a `left` that is always negative: everything is
//! written down. Where nobody reads, all threads have the same ring, which marks nothing.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use crate::abi::sample::{BurstTimes, Design, TurnTimes};
use crate::abi::{
    COUNTERS, ChannelHeader, EventKind, FIRST_COUNTER, PLAN_FIXED, RING_BYTES, RING_STRIDE, RingHeader, RingSample,
    UNIT_SLOTS, UNITS_OFFSET, UnitEntry, loss,
};
use crate::{channel, process, ring, sys};

/// What `left` is where everything is written down.
pub const ALWAYS: i64 = i64::MIN / 2;
/// What it is where nothing is.
const NEVER: i64 = i64::MAX / 2;

/// 1 once the process has code that can be sampled.
static WANTED: AtomicU32 = AtomicU32::new(0);
/// The ring of threads whose records nobody reads.
static VOID: AtomicPtr<RingHeader> = AtomicPtr::new(null_mut());
/// Counters of this process's objects so far.
static NEXT_COUNTER: AtomicU64 = AtomicU64::new(FIRST_COUNTER as u64);

/// What a ring of this sort needs to know beside the marks.
#[derive(Clone)]
pub enum Sample {
    /// The ring is of another sort.
    None,
    /// Everything is written down.
    All,
    Drawn(Drawn),
}

/// A sample being drawn.
#[derive(Clone)]
pub struct Drawn {
    design: Design,
    bursts: BurstTimes,
    turns: TurnTimes,
    /// End of the last burst that has begun.
    burst_ends: i64,
}

pub fn is_wanted() -> bool {
    WANTED.load(Relaxed) != 0
}

fn part_behind<'a>(ring: *mut RingHeader) -> &'a mut RingSample {
    // SAFETY: only called with rings that were mapped with it; only the thread that owns the ring comes here.
    unsafe { &mut *ring.cast::<u8>().add(RING_BYTES).cast::<RingSample>() }
}

/// Prepares a ring that nobody has yet and that was mapped with its part for samples.
///
/// # Safety
/// As it says.
pub unsafe fn begin(channel: &ChannelHeader, ring: *mut RingHeader) -> Sample {
    // SAFETY: as demanded from the caller.
    let header = unsafe { &*ring };
    if channel.sample_one_in == 0 {
        header.left.store(ALWAYS, Relaxed);
        return Sample::All;
    }
    let design = Design::new(channel.sample_one_in, channel.sample_seed);
    let mut drawn =
        Drawn { design, bursts: BurstTimes::new(design), turns: TurnTimes::new(design), burst_ends: i64::MIN };
    let part = part_behind(ring);
    design.draw_fixed(|bucket| {
        let Some(plan) = part.plan.get_mut(bucket) else { return true };
        let is_new = *plan & PLAN_FIXED == 0;
        *plan |= PLAN_FIXED;
        is_new
    });
    for _ in 0..crate::abi::sample::SETS {
        drawn.turn(part);
    }
    let next = drawn.tick(0, part);
    header.next.store(next, Relaxed);
    header.left.store(next as i64, Relaxed);
    Sample::Drawn(drawn)
}

impl Drawn {
    /// Draws the set whose turn it is.
    fn turn(&mut self, part: &mut RingSample) {
        let own = self.turns.set() as u8 + 1;
        for plan in part.plan.iter_mut().filter(|plan| **plan & !PLAN_FIXED == own) {
            *plan &= PLAN_FIXED;
        }
        self.turns.draw(|bucket| {
            let Some(plan) = part.plan.get_mut(bucket) else { return true };
            let is_free = *plan & !PLAN_FIXED == 0;
            if is_free {
                *plan |= own;
            }
            is_free
        });
    }

    /// Draws all that has changed up to a time, and gives the time of the next change.
    fn tick(&mut self, now: u64, part: &mut RingSample) -> u64 {
        while self.turns.next <= now {
            self.turn(part);
            self.turns.advance();
        }
        let (time, length) = (now as i64, self.design.burst as i64);
        while self.bursts.next <= time {
            self.burst_ends = self.bursts.next.wrapping_add(length);
            self.bursts.draw();
        }
        let is_burst = self.burst_ends > time;
        for (mark, plan) in part.marks.iter_mut().zip(&part.plan) {
            *mark = if is_burst { 1 } else { *plan };
        }
        let burst = if is_burst { self.burst_ends.min(self.bursts.next) } else { self.bursts.next };
        self.turns.next.min(burst as u64)
    }
}

/// The thread's ring, if code that can be sampled may use it as it is.
fn is_ready(ring: *mut RingHeader) -> bool {
    // SAFETY: the thread's pointer always names a header; an active one is the thread's own.
    let has_part = || unsafe { ring::is_active(ring) && !matches!(ring::private(ring).sample, Sample::None) };
    (ring == VOID.load(Relaxed) && !ring.is_null()) || has_part()
}

/// The ring of the thread, with a part for samples, on which so many accesses have passed; null if the system refuses
/// the memory.
pub extern "C" fn ready(accesses: u64) -> *mut RingHeader {
    let before = ring::current();
    if is_ready(before) {
        return before;
    }
    WANTED.store(1, Relaxed);
    let mut now = ring::first_sampled_ring();
    if !is_ready(now) {
        now = void();
        if !now.is_null() {
            ring::set_current(now);
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
        ring::make_scratch(ring);
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
    let now = ring::current();
    if !is_ready(now) {
        return;
    }
    // SAFETY: as `is_ready` has found out.
    let header = unsafe { &*now };
    if now == VOID.load(Relaxed) {
        header.left.store(NEVER, Relaxed);
        return;
    }
    // SAFETY: as above.
    match unsafe { &mut ring::private(now).sample } {
        Sample::None => {}
        Sample::All => header.left.store(ALWAYS, Relaxed),
        Sample::Drawn(drawn) => {
            let left = header.left.load(Relaxed);
            if left >= 0 {
                return;
            }
            // A handler that leaves by longjmp would leave this half done.
            let mask = sys::block_signals();
            let time = header.next.load(Relaxed).wrapping_sub(left as u64);
            let next = drawn.tick(time.wrapping_sub(1), part_behind(now));
            header.next.store(next, Relaxed);
            header.left.store(next.wrapping_sub(time) as i64, Relaxed);
            sys::restore_signals(mask);
        }
    }
}

/// Says the time before a library call that is so many accesses. Call [`passed`] behind its record.
pub fn clock(accesses: u64) {
    if !is_wanted() {
        return;
    }
    const WORDS: usize = 2;
    // The thread may have no ring yet.
    ring::reserve(WORDS * 8);
    let now = ring::current();
    // SAFETY: the thread's pointer always names a header; an active one is the thread's own.
    let is_drawn = unsafe { ring::is_active(now) && matches!(ring::private(now).sample, Sample::Drawn(_)) };
    if !is_drawn {
        return;
    }
    // SAFETY: as above.
    let header = unsafe { &*now };
    let left = header.left.load(Relaxed);
    let time = header.next.load(Relaxed).wrapping_sub(left as u64);
    ring::write([(EventKind::Clock as u64) << 56 | (WORDS as u64) << 48, time]);
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
    WANTED.store(1, Relaxed);
    let Some(channel) = channel::get() else { return };
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
