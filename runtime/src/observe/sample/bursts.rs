//! Everything for a short time, now and then: what is read again soon.
//!
//! One burst begins in each period, at a random moment of it. A burst knows what was touched since it began, so its
//! second half sees every read of what was touched within half its length, at its exact depth. Two bursts may overlap;
//! then reads count for both.

use std::collections::VecDeque;

use super::{
    fixed::First,
    ledger::Ledger,
    stack::{Piece, Stack},
};
use crate::{
    abi::sample::{BurstTimes, Design},
    counts::sampled::{Class, GROUPS, Seen},
    decode::block::CellNumber,
    pricing::run_cost,
};

/// A running burst.
struct Burst {
    /// The first ones may have begun before the run.
    start: i64,
    group: usize,
}

pub struct Bursts {
    stack: Stack,
    running: VecDeque<Burst>,
    times: BurstTimes,
    design: Design,
    weight: f64,
}

impl Bursts {
    pub fn new(design: Design) -> Self {
        let weight = design.period() as f64 / (design.burst - design.short()) as f64;
        let stack = Stack::with_slots(1, 2 * design.burst as usize);
        Bursts { stack, running: VecDeque::new(), times: BurstTimes::new(design), design, weight }
    }

    /// Whether everything is looked at.
    pub fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Brings bursts to a time, and gives the next time at which something changes.
    pub fn tick(&mut self, now: u64) -> u64 {
        let (now, length) = (now as i64, self.design.burst as i64);
        while self.running.front().is_some_and(|burst| burst.start + length <= now) {
            self.running.pop_front();
        }
        if self.running.is_empty() {
            self.stack.clear();
        }
        while self.times.next <= now {
            let BurstTimes { next: start, number, .. } = self.times;
            if start + length > now {
                self.running.push_back(Burst { start, group: number.rem_euclid(GROUPS as i64) as usize });
            }
            self.times.draw();
        }
        let end = self.running.front().map_or(i64::MAX, |burst| burst.start + length);
        self.times.next.min(end) as u64
    }

    /// A piece is read, whose line is there.
    pub fn read(
        &mut self,
        entry: Option<usize>,
        piece: Piece,
        now: u64,
        firsts: &mut Vec<First>,
        (cell, ledger): (CellNumber, &mut Ledger),
    ) {
        let short = self.design.short();
        let ready = |burst: &&Burst| now as i64 - burst.start >= short as i64;
        if self.running.front().filter(ready).is_none() {
            return;
        }
        self.stack.parts(entry, piece, |part| {
            if part.left.is_some_and(|left| left.within(short, now)) {
                for burst in self.running.iter().filter(ready) {
                    let (class, group, len) = (Class::Short, burst.group, part.len);
                    firsts.push(First { class, group, len, weight: self.weight, cell });
                }
                return;
            }
            let Some(slot) = part.slot.filter(|slot| now - self.stack.time(*slot) <= short) else { return };
            let mut above = [0];
            self.stack.above(slot, &mut above);
            let cost = run_cost(above[0] + u64::from(part.beside), part.len.into()) as f64 * self.weight;
            for burst in self.running.iter().filter(ready) {
                let bytes = f64::from(part.len) * self.weight;
                ledger.add(cell, Seen { class: Class::Short, group: burst.group, cost, bytes });
            }
        });
    }

    pub fn touch(&mut self, entry: Option<usize>, piece: Piece, now: u64) {
        self.stack.touch(entry, piece, 0, now);
    }

    pub fn find(&mut self, line: u64) -> Option<usize> {
        self.stack.find(line)
    }

    pub fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    pub fn heap_bytes(&self) -> u64 {
        self.stack.heap_bytes()
    }
}
