//! One set of lines for the whole run: what is read again after long, and for the first time. It also tells the others
//! from how deep bytes come that left the stack not long ago: from below everything.

use super::{
    above::Above,
    ledger::Ledger,
    stack::{Piece, Stack},
};
use crate::{
    abi::sample::{BUCKETS, Design, Pace},
    counts::sampled::{Class, GROUPS, Seen},
    decode::block::CellNumber,
};

/// A read of bytes that are on no stack, as others have seen it: with its weight, for a group.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub class: Class,
    pub group: usize,
    pub len: u32,
    pub weight: f64,
    pub cell: CellNumber,
}

/// The lane of a bucket that was not drawn.
const NONE: u16 = u16::MAX;

pub struct Fixed {
    stack: Stack,
    /// By bucket.
    lane_of: Box<[u16; BUCKETS]>,
    buckets: usize,
    /// What was touched at most so many accesses ago is left to others.
    after: u64,
    sums: Vec<u64>,
}

impl Fixed {
    pub fn new(design: Design) -> Self {
        let buckets = design.fixed_buckets();
        let mut lane_of = Box::new([NONE; BUCKETS]);
        let mut lane = 0;
        design.draw_fixed(|bucket| {
            let is_new = lane_of[bucket] == NONE;
            if is_new {
                lane_of[bucket] = lane;
                lane += 1;
            }
            is_new
        });
        Fixed {
            stack: Stack::new(buckets),
            lane_of,
            buckets,
            after: design.seen_by(Pace::Slow),
            sums: vec![0; buckets],
        }
    }

    /// Whether the lines of a bucket are looked at.
    pub fn has_bucket(&self, bucket: usize) -> bool {
        self.lane_of[bucket] != NONE
    }

    /// A piece of a line in a bucket of the set is read, which is there.
    pub fn read(
        &mut self,
        entry: Option<usize>,
        (piece, bucket): (Piece, usize),
        now: u64,
        (cell, ledger): (CellNumber, &mut Ledger),
    ) {
        let own = usize::from(self.lane_of[bucket]);
        let Self { stack, sums, after, buckets, .. } = self;
        stack.parts(entry, piece, |part| {
            match part.slot {
                Some(slot) if now - stack.time(slot) <= *after => return,
                Some(slot) => stack.above(slot, sums),
                None if part.left.is_some_and(|left| left.within(*after, now)) => return,
                // For the first time: from below everything.
                None => sums.copy_from_slice(&stack.total),
            }
            let weight = BUCKETS as f64 / *buckets as f64;
            let scale = (BUCKETS - 1) as f64 / (*buckets - 1) as f64;
            let mut above = Above::exactly(sums[own] + u64::from(part.beside));
            let others = || sums.iter().enumerate().filter(|(lane, _)| *lane != own);
            others().for_each(|(_, bytes)| above.bucket(*bytes));
            let price = above.price(part.len, scale, stack.mean_line());
            let (group, bytes) = (own % GROUPS, f64::from(part.len) * weight);
            ledger.add(cell, Seen { class: Class::Long, group, cost: price.cost * weight, bytes });
            let mut by_group = [0; GROUPS];
            others().for_each(|(lane, bytes)| by_group[lane % GROUPS] += bytes);
            for (group, bytes) in by_group.into_iter().enumerate() {
                ledger.lean(cell, Class::Long, group, weight * price.slope * scale * bytes as f64);
            }
        });
    }

    /// Bytes that are on no stack are read, as others have seen it.
    pub fn read_first(&self, first: First, ledger: &mut Ledger) {
        let First { class, group, len, weight, cell } = first;
        let scale = BUCKETS as f64 / self.buckets as f64;
        let mut above = Above::default();
        self.stack.total.iter().for_each(|bytes| above.bucket(*bytes));
        let price = above.price(len, scale, self.stack.mean_line());
        ledger.add(cell, Seen { class, group, cost: price.cost * weight, bytes: f64::from(len) * weight });
        for (lane, bytes) in self.stack.total.iter().enumerate() {
            ledger.lean(cell, class, lane % GROUPS, weight * price.slope * scale * *bytes as f64);
        }
    }

    pub fn touch(&mut self, entry: Option<usize>, (piece, bucket): (Piece, usize), now: u64) {
        self.stack.touch(entry, piece, self.lane_of[bucket], now);
    }

    pub fn find(&mut self, line: u64) -> Option<usize> {
        self.stack.find(line)
    }

    pub fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    pub fn relocate(&mut self, from: u64, to: u64, len: u64, bucket: impl Fn(u64) -> usize) {
        let Self { stack, lane_of, .. } = self;
        stack.relocate(from, to, len, false, |line| lane_of[bucket(line)] != NONE);
    }

    pub fn heap_bytes(&self) -> u64 {
        self.stack.heap_bytes()
    }
}
