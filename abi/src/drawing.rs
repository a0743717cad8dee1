//! A sample as it is drawn: what is looked at now, and when that changes.
//!
//! Takes a design and the time; gives the buckets of lines that are in a set, and whether a burst runs. Programs draw
//! with it while they run, and analyses decide with it what to look at, so that they cannot differ. All of it can be
//! compiled into the hooks, which are linked with no other crate.

use crate::sample::{BUCKETS, BurstTimes, Design, Pace, SETS, TurnTimes};

/// The sets that a bucket is in: 3 bytes, `quick`, `slow`, `fixed`. `03 00 01`: in the third of the quick sets that
/// take turns, in no slow one, and in the set for the whole run.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Of the quick sets that take turns, the number of its set plus one; 0 if it is in none.
    pub quick: u8,
    /// Of the slow sets that take turns, the number of its set plus one; 0 if it is in none.
    pub slow: u8,
    /// 1 if it is in the set for the whole run.
    pub fixed: u8,
}

impl Plan {
    /// Whether it is in a set.
    #[must_use]
    #[inline]
    pub const fn is_drawn(self) -> bool {
        self.quick | self.slow | self.fixed != 0
    }

    /// What it says of sets of a pace.
    #[inline]
    const fn turn(&mut self, pace: Pace) -> &mut u8 {
        match pace {
            Pace::Quick => &mut self.quick,
            Pace::Slow => &mut self.slow,
        }
    }
}

/// What is looked at from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Everything is; else what lies in buckets of a set.
    pub is_burst: bool,
    /// When it ends.
    pub until: u64,
}

/// A sample being drawn.
#[derive(Clone)]
pub struct Drawing {
    design: Design,
    bursts: BurstTimes,
    /// Quick and slow ones.
    turns: [TurnTimes; 2],
    /// End of the last burst that has begun.
    burst_ends: i64,
}

impl Drawing {
    /// Of a run that begins; no bucket is in a set of `plans` yet.
    #[inline]
    pub fn new(design: Design, plans: &mut [Plan; BUCKETS]) -> Self {
        let turns = Pace::ALL.map(|pace| TurnTimes::new(design, pace));
        let mut drawing = Drawing { design, bursts: BurstTimes::new(design), turns, burst_ends: i64::MIN };
        design.draw_fixed(|bucket| {
            let Some(plan) = plans.get_mut(bucket) else { return true };
            let is_new = plan.fixed == 0;
            plan.fixed = 1;
            is_new
        });
        for times in &mut drawing.turns {
            (0..SETS).for_each(|_| turn(times, plans));
        }
        drawing
    }

    /// Draws all that has changed up to a time.
    #[inline]
    pub fn tick(&mut self, now: u64, plans: &mut [Plan; BUCKETS]) -> Phase {
        let mut next = u64::MAX;
        for times in &mut self.turns {
            while times.next <= now {
                turn(times, plans);
                times.advance();
            }
            next = next.min(times.next);
        }
        let (time, length) = (now as i64, self.design.burst as i64);
        while self.bursts.next <= time {
            self.burst_ends = self.bursts.next.wrapping_add(length);
            self.bursts.draw();
        }
        let is_burst = self.burst_ends > time;
        let burst = if is_burst { self.burst_ends.min(self.bursts.next) } else { self.bursts.next };
        Phase { is_burst, until: next.min(burst as u64) }
    }
}

/// Draws the set whose turn it is, of one pace.
#[inline]
fn turn(times: &mut TurnTimes, plans: &mut [Plan; BUCKETS]) {
    let (pace, own) = (times.pace, times.set() as u8 + 1);
    for set in plans.iter_mut().map(|plan| plan.turn(pace)).filter(|set| **set == own) {
        *set = 0;
    }
    times.draw(|bucket| {
        let Some(plan) = plans.get_mut(bucket) else { return true };
        let set = plan.turn(pace);
        let is_free = *set == 0;
        if is_free {
            *set = own;
        }
        is_free
    });
}
