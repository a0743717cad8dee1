//! What a thread of a program that can be sampled looks at, and when that changes (`abi::sample`).
//!
//! A run may have several analyses at first (`ChannelHeader::stages`): what any of them looks at is written down. A
//! ring of which everything is written down, for an exact analysis or because there is no stage, has a `left` that is
//! always negative.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::drawing::{Drawing, Phase};
use crate::abi::sample::{Design, STAGES};
use crate::abi::{ChannelHeader, RING_BYTES, RingHeader, RingSample};

/// What `left` is where everything is written down.
pub const ALWAYS: i64 = i64::MIN / 2;
/// What it is where nothing is.
pub const NEVER: i64 = i64::MAX / 2;

/// 1 once the process has code that can be sampled.
static WANTED: AtomicU32 = AtomicU32::new(0);

pub fn want() {
    WANTED.store(1, Relaxed);
}

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
    pub all_until: u64,
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

pub fn part_behind<'a>(ring: *mut RingHeader) -> &'a mut RingSample {
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
    pub fn has_ended(&self, now: u64) -> bool {
        (1..=now).contains(&self.all_until) || self.samples.iter().flatten().any(|sample| sample.until <= now)
    }

    /// Draws all that has changed up to a time, when not everything is written down any more, and gives the time of the
    /// next change.
    pub fn tick(&mut self, now: u64, part: &mut RingSample) -> u64 {
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
