//! Programs that can be sampled: which lines a thread looks at now, and when that changes.
//!
//! The code of such a program counts the executions of its segments, takes their loads and stores off
//! `RingHeader::left`, and looks up each address in `RingSample::marks`; only what it finds there has a record. All of
//! that lies behind the ring, at fixed distances from the thread's ring pointer. Where `left` becomes negative the code
//! comes here: [`ready`] sees to it that there is such a ring, the record of the segment is written whatever the marks
//! say, and [`tick`] draws what has changed. The analysis draws the same (`abi::sample`), so that it knows what a
//! program that passes a time looks at.
//!
//! A run may have several analyses at first (`ChannelHeader::stages`): what any of them looks at is written down. Where
//! one ends, the ring says its time. A ring of which everything is written down, for an exact analysis or because there
//! is no stage, has a `left` that is always negative. Where nobody reads, all threads have the same ring, which marks
//! nothing.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use crate::abi::drawing::{Drawing, Phase};
use crate::abi::sample::{Design, STAGES};
use crate::abi::{
    COUNTERS, ChannelHeader, EventKind, FIRST_COUNTER, RING_BYTES, RING_STRIDE, RingHeader, RingSample, UNIT_SLOTS,
    UNITS_OFFSET, UnitEntry, loss,
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
#[expect(clippy::large_enum_variant, reason = "nothing here allocates")]
pub enum Sample {
    /// The ring is of another sort.
    None,
    /// Everything is written down.
    All,
    Drawn(Drawn),
}

/// What a ring's stages need.
#[derive(Clone)]
pub struct Drawn {
    /// Everything is written down until then.
    all_until: u64,
    samples: [Option<OneSample>; STAGES],
}

/// One of them.
#[derive(Clone)]
struct OneSample {
    until: u64,
    drawing: Drawing,
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
    let header = unsafe { &mut *ring };
    header.contexts = channel.contexts.into();
    header.left.store(ALWAYS, Relaxed);
    let part = part_behind(ring);
    let mut drawn = Drawn { all_until: 0, samples: [const { None }; STAGES] };
    let mut has_stages = false;
    for ((stage, slot), plan) in channel.stages.iter().zip(&mut drawn.samples).zip(&mut part.plans) {
        match stage.one_in {
            0 => continue,
            1 => drawn.all_until = stage.until,
            _ => {
                let design = Design::new(stage.one_in, channel.sample_seed);
                *slot = Some(OneSample { until: stage.until, drawing: Drawing::new(design, plan) });
            }
        }
        has_stages = true;
    }
    if !has_stages {
        return Sample::All;
    }
    if drawn.all_until > 0 {
        // `left` is negative at all times before that.
        header.next.store(ALWAYS as u64, Relaxed);
    } else {
        let next = drawn.tick(0, part);
        header.next.store(next, Relaxed);
        header.left.store(next as i64, Relaxed);
    }
    Sample::Drawn(drawn)
}

impl Drawn {
    /// Whether a stage has ended that had not before.
    fn has_ended(&self, now: u64) -> bool {
        (1..=now).contains(&self.all_until) || self.samples.iter().flatten().any(|sample| sample.until <= now)
    }

    /// Draws all that has changed up to a time, when not everything is written down any more, and gives the time of the
    /// next change.
    fn tick(&mut self, now: u64, part: &mut RingSample) -> u64 {
        self.all_until = 0;
        part.marks.fill(0);
        let mut next = NEVER as u64;
        for (slot, plan) in self.samples.iter_mut().zip(&mut part.plans) {
            let Some(sample) = slot else { continue };
            if sample.until <= now {
                *slot = None;
                continue;
            }
            let Phase { is_burst, until } = sample.drawing.tick(now, plan);
            for (mark, plan) in part.marks.iter_mut().zip(plan.iter()) {
                *mark |= u8::from(is_burst || plan.is_drawn());
            }
            next = next.min(until).min(sample.until);
        }
        next
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
    let left = header.left.load(Relaxed);
    let time = header.next.load(Relaxed).wrapping_sub(left as u64);
    let last = time.saturating_sub(1);
    // SAFETY: as above.
    let has_ended = match unsafe { &ring::private(now).sample } {
        Sample::None => return,
        Sample::All => return header.left.store(ALWAYS, Relaxed),
        Sample::Drawn(drawn) if left >= 0 || last < drawn.all_until => return,
        Sample::Drawn(drawn) => drawn.has_ended(last),
    };
    if has_ended {
        // Before anything is left out that an analysis needs which goes on.
        say(time);
        if ring::current() != now {
            return;
        }
    }
    // A handler that leaves by longjmp would leave this half done.
    let mask = sys::block_signals();
    // SAFETY: as above.
    if let Sample::Drawn(drawn) = unsafe { &mut ring::private(now).sample } {
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
