//! Sets of lines, drawn anew in turn: what is read again after a while, or after it left the stack a while ago.
//!
//! No bucket is in two sets at once. A set that is old enough has seen the last touch of everything in its lines that
//! is read again within the time that is left to sets; at each moment half of the sets are that old. Drawing them one
//! after the other lets many lines take part, so that no few hot ones decide.

use super::{
    above::Above,
    fixed::First,
    ledger::Ledger,
    stack::{Piece, Stack, TouchedRange},
};
use crate::{
    abi::sample::{BUCKETS, Design, Pace, SETS, TurnTimes},
    counts::sampled::{Class, GROUPS, Seen},
    decode::block::CellNumber,
};

/// A bucket of no set.
const NONE: u8 = u8::MAX;

struct Set {
    stack: Stack,
    start: u64,
    /// The group of its first bucket; those of the others follow.
    first_group: usize,
}

impl Set {
    /// The group of a bucket.
    fn group(&self, lane: usize) -> usize {
        (self.first_group + lane) % GROUPS
    }

    /// Whether it would have seen the last touch of everything that is left to sets.
    fn is_old_enough(&self, now: u64, until: u64) -> bool {
        self.start == 0 || now - self.start > until
    }
}

/// What sets are there for: reads of bytes that were touched, or left the stack, so many accesses ago.
#[derive(Clone, Copy)]
struct Sees {
    class: Class,
    after: u64,
    until: u64,
}

/// Sets of one pace.
pub struct Turns {
    sets: Vec<Set>,
    /// By bucket: its set, and its lane there.
    set_of: Box<[u8; BUCKETS]>,
    lane_of: Box<[u16; BUCKETS]>,
    times: TurnTimes,
    buckets: usize,
    sees: Sees,
    sums: Vec<u64>,
}

impl Turns {
    pub fn new(design: Design, pace: Pace) -> Self {
        let buckets = design.turn_buckets();
        let (class, after) = match pace {
            Pace::Quick => (Class::Middle, design.short()),
            Pace::Slow => (Class::Far, design.seen_by(Pace::Quick)),
        };
        let set = |_| Set { stack: Stack::new(buckets), start: 0, first_group: 0 };
        let mut turns = Turns {
            sets: (0..SETS).map(set).collect(),
            set_of: Box::new([NONE; BUCKETS]),
            lane_of: Box::new([0; BUCKETS]),
            times: TurnTimes::new(design, pace),
            buckets,
            sees: Sees { class, after, until: design.seen_by(pace) },
            sums: vec![0; buckets],
        };
        (0..SETS).for_each(|_| turns.draw(0));
        turns
    }

    fn draw(&mut self, now: u64) {
        let number = self.times.set();
        self.set_of.iter_mut().filter(|set| usize::from(**set) == number).for_each(|set| *set = NONE);
        let set = &mut self.sets[number];
        set.stack.clear();
        set.start = now;
        set.first_group = self.times.number * self.buckets % GROUPS;
        let Self { times, set_of, lane_of, .. } = self;
        let mut lane = 0;
        times.draw(|bucket| {
            let is_free = set_of[bucket] == NONE;
            if is_free {
                set_of[bucket] = number as u8;
                lane_of[bucket] = lane;
                lane += 1;
            }
            is_free
        });
    }

    /// Whether the lines of a bucket are looked at.
    pub fn has_bucket(&self, bucket: usize) -> bool {
        self.set_of[bucket] != NONE
    }

    /// Brings sets to a time, and gives the next time at which one changes.
    pub fn tick(&mut self, now: u64) -> u64 {
        while self.times.next <= now {
            self.draw(self.times.next);
            self.times.advance();
        }
        self.times.next
    }

    /// A piece of a line in a bucket of a set is read, which is there.
    pub fn read(
        &mut self,
        entry: Option<usize>,
        (piece, bucket): (Piece, usize),
        now: u64,
        firsts: &mut Vec<First>,
        (cell, ledger): (CellNumber, &mut Ledger),
    ) {
        let own = usize::from(self.set_of[bucket]);
        let Sees { class, after, until } = self.sees;
        if !self.sets[own].is_old_enough(now, until) {
            return;
        }
        let lane = usize::from(self.lane_of[bucket]);
        let Self { sets, sums, buckets, .. } = self;
        let stack = &sets[own].stack;
        let weight = || {
            let old = sets.iter().filter(|set| set.is_old_enough(now, until)).count();
            BUCKETS as f64 / (*buckets * old) as f64
        };
        stack.parts(entry, piece, |part| {
            if let Some(slot) = part.slot {
                let ago = now - stack.time(slot);
                if ago > after && ago <= until {
                    part_read(sets, sums, (*buckets, class), (own, lane), (part, slot), weight(), (cell, ledger));
                }
            } else if part.left.is_some_and(|left| left.within(until, now) && !left.within(after, now)) {
                let (group, len) = (sets[own].group(lane), part.len);
                firsts.push(First { class, group, len, weight: weight(), cell });
            }
        });
    }

    pub fn touch(&mut self, entry: Option<usize>, (piece, bucket): (Piece, usize), now: u64) {
        let set = &mut self.sets[usize::from(self.set_of[bucket])];
        set.stack.touch(entry, piece, self.lane_of[bucket], now);
    }

    pub fn find(&mut self, line: u64, bucket: usize) -> Option<usize> {
        self.sets[usize::from(self.set_of[bucket])].stack.find(line)
    }

    /// The stack that lines of a bucket are on.
    pub fn stack(&mut self, bucket: usize) -> &mut Stack {
        &mut self.sets[usize::from(self.set_of[bucket])].stack
    }

    pub fn forget_range(&mut self, address: u64, len: u64) {
        self.sets.iter_mut().for_each(|set| set.stack.forget_range(address, len));
    }

    pub fn relocate(&mut self, from: u64, to: u64, len: u64, bucket: impl Fn(u64) -> usize) {
        for (number, set) in self.sets.iter_mut().enumerate() {
            let is_in = |line| usize::from(self.set_of[bucket(line)]) == number;
            set.stack.relocate(from, to, len, false, is_in);
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        self.sets.iter().map(|set| set.stack.heap_bytes()).sum()
    }
}

/// A part of a piece in a lane of a set is read, and all sets that saw its last touch tell what is above.
fn part_read(
    sets: &[Set],
    sums: &mut [u64],
    (buckets, class): (usize, Class),
    (own, lane): (usize, usize),
    (part, slot): (TouchedRange, u32),
    weight: f64,
    (cell, ledger): (CellNumber, &mut Ledger),
) {
    let time = sets[own].stack.time(slot);
    sets[own].stack.above(slot, sums);
    let mut above = Above::exactly(sums[lane] + u64::from(part.beside));
    let mut by_group = [0; GROUPS];
    let others = sums.iter().enumerate().filter(|(other, _)| *other != lane);
    others.for_each(|(other, bytes)| {
        above.bucket(*bytes);
        by_group[sets[own].group(other)] += bytes;
    });
    let (mut seeing, mut mean_line) = (1, sets[own].stack.mean_line());
    for (number, set) in sets.iter().enumerate() {
        if number != own && set.start <= time {
            set.stack.since(time, sums);
            for (other, bytes) in sums.iter().enumerate() {
                above.bucket(*bytes);
                by_group[set.group(other)] += bytes;
            }
            seeing += 1;
            mean_line += set.stack.mean_line();
        }
    }
    // All other buckets, by those of them that were drawn.
    let scale = (BUCKETS - 1) as f64 / (buckets * seeing - 1) as f64;
    mean_line /= seeing as f64;
    let price = above.price(part.len, scale, mean_line);
    let (group, bytes) = (sets[own].group(lane), f64::from(part.len) * weight);
    ledger.add(cell, Seen { class, group, cost: price.cost * weight, bytes });
    for (group, bytes) in by_group.into_iter().enumerate().filter(|(_, bytes)| *bytes > 0) {
        ledger.lean(cell, class, group, weight * price.slope * scale * bytes as f64);
    }
}
