//! The order of what is on the stack: which positions are live, and which of the others are holes.
//!
//! Takes positions that it handed out, and bytes that come, go to the top or die there; gives how many live bytes and
//! holes are above a byte. Refuses nothing, but expects the caller to make room first. It does not know whose byte is
//! where.

use super::{
    cell::FIRST,
    isa::Present,
    report::Reports,
    sequences::{Sequence, lowest},
    shadow::{NewPositions, Run},
    timeline::{Holes, Pattern, Rank, Ranks, Timeline},
};

/// Positions when the live bytes and the holes among them are packed together. Not a closure, because closures are not
/// reliably inlined, and then are compiled without the instruction set of their callers.
pub struct Packed<'a> {
    ranks: Ranks<'a>,
    holes: &'a Holes,
    /// Where the lowest goes.
    start: u64,
}

impl NewPositions for Packed<'_> {
    #[inline(always)]
    fn new_position(&self, position: u64) -> u64 {
        self.start + self.ranks.rank(position) + self.holes.rank(position) - 1
    }

    #[inline(always)]
    fn of_words(&self, first: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)> {
        let last = first.wrapping_add_signed(step * (count as i64 - 1));
        let holes = self.holes.rank(first);
        if holes != self.holes.rank(last) {
            return None;
        }
        let (rank, step) = self.ranks.even(first, step, count, len)?;
        Some((self.start + rank + holes - 1, step))
    }
}

pub struct Order {
    pub time: Timeline,
    pub holes: Holes,
    /// Free positions below everything, for declared inputs.
    pub gap: u64,
    pub(super) isa: Present,
    /// Room for clearing a row of positions, which fills it; nobody reads it later.
    masks: Vec<u64>,
}

impl Order {
    /// Nothing is live, and there is room up to position `limit`.
    pub fn new(limit: u64, isa: Present) -> Self {
        Order { time: Timeline::new(limit), holes: Holes::default(), gap: 0, isa, masks: Vec::new() }
    }

    #[inline(always)]
    pub fn live(&self) -> u64 {
        self.time.ones()
    }

    pub fn heap_bytes(&self) -> u64 {
        self.time.heap_bytes() + self.holes.heap_bytes()
    }

    /// Live bytes above a position.
    #[inline(always)]
    pub fn above(&self, position: u64) -> u64 {
        self.live() - self.time.rank(position)
    }

    /// Takes bytes from their positions; gives the number of bytes above them.
    #[inline(always)]
    pub fn take(&mut self, first: u64, len: u64) -> u64 {
        let last = first + len - 1;
        if first / 64 == last / 64 {
            return self.time.lift(first, len);
        }
        let above = self.above(last);
        self.time.clear(first, len);
        above
    }

    /// Moves a block that lies within one leaf to the top; the open leaf must have room.
    #[inline(always)]
    pub fn renew<const LOAD: bool>(&mut self, old: u64, len: u64, out: &mut Reports) -> u64 {
        let above = self.time.lift(old, len);
        if LOAD {
            out.warm(above, len);
        }
        self.sink::<LOAD>(old, len, out);
        self.time.append_short(len)
    }

    /// Bytes were accessed at consecutive positions: holes above them change places, and a load is told of them.
    #[inline(always)]
    pub fn sink<const LOAD: bool>(&mut self, position: u64, len: u64, out: &mut Reports) {
        if self.holes.is_above(position) {
            self.sink_far::<LOAD>(position, len, out);
        }
    }

    /// `sink` where there are holes above.
    #[inline(always)]
    pub fn sink_far_here<const LOAD: bool>(&mut self, position: u64, len: u64, out: &mut Reports) {
        if LOAD {
            out.below_holes(self.holes.above(position), len);
        }
        self.holes.sink(position, len, 0, self.time.limit());
    }

    /// Bytes of one access were at some positions, and `new` more were on no stack: holes change places, the topmost
    /// byte first. Of the holes, `external` are above all.
    pub fn sink_runs(&mut self, runs: &mut Vec<Run>, new: u64, mut external: u64) {
        if self.holes.count() + external > 0 {
            runs.sort_unstable_by_key(|run| std::cmp::Reverse(run.value));
            for run in runs.iter() {
                let limit = self.time.limit();
                self.holes.sink(run.value, run.len, external, limit);
                external -= external.min(run.len);
            }
            self.enter_holes(new - new.min(external));
        }
        runs.clear();
    }

    /// Bytes that were on no stack have come.
    #[inline(always)]
    pub fn enter_holes(&mut self, len: u64) {
        if self.holes.count() > 0 {
            self.fill_holes(len);
        }
    }

    /// `enter_holes` where there are some.
    #[inline(always)]
    pub fn fill_holes_here(&mut self, len: u64) {
        self.holes.fill(len.min(self.holes.count()));
    }

    /// Bytes died at consecutive positions.
    #[inline(always)]
    pub fn leave_hole_here(&mut self, position: u64, len: u64) {
        self.holes.leave(position, len, self.time.limit());
    }

    /// Bytes that were loaded from consecutive positions die where they are then, on the top. There must be room.
    #[inline(always)]
    pub fn die_on_top(&mut self, position: u64, len: u64, out: &mut Reports) {
        self.sink::<true>(position, len, out);
        let top = self.time.pass_over(len);
        self.leave_hole(top, len);
    }

    /// Bytes die where they are.
    #[inline(always)]
    pub fn end(&mut self, run: Run) {
        self.time.clear(run.value, run.len);
        self.leave_hole(run.value, run.len);
    }

    /// Words of 8 bytes die, the first at a position and each `step` from the one before.
    #[inline(always)]
    pub fn end_words(&mut self, first: u64, step: i64, words: usize) {
        let row = Sequence { step: step.unsigned_abs(), low: lowest(first, step, words), len: 8, stream: 0 };
        self.time.clear_sequences(&[row], words, &mut self.masks);
        if step == 8 {
            self.leave_hole(first, 8 * words as u64);
        } else {
            (0..words as i64).for_each(|word| self.leave_hole(first.wrapping_add_signed(step * word), 8));
        }
    }

    /// Puts places on the top, of which some runs are holes (see [`Boundary::holes`](super::Boundary::holes)); gives
    /// the first position. There must be room.
    #[inline(always)]
    pub fn append(&mut self, places: u64, holes: &[(u64, u64)]) -> u64 {
        // Words that lay at multiples of their size do so again.
        let bottom = self.time.aligned_end(64);
        if holes.is_empty() {
            return self.time.append_dense(places);
        }
        Pattern::with_holes(holes, places, bottom).put_on(&mut self.time, &mut self.holes);
        bottom
    }

    /// Tells the holes among all places, and forgets everything.
    #[inline(always)]
    pub fn drain(&mut self, holes: &mut Vec<(u64, u64)>) {
        if self.holes.count() > 0 {
            holes.extend(Pattern::of_live(&self.time, &self.holes, 0).holes());
            self.holes.clear();
        }
        // What comes next is most likely as much as this was, and has the same memory.
        self.time.reset(self.time.limit(), 0, 0);
    }

    /// Where all positions go if the lowest goes to `start`.
    #[inline(always)]
    pub fn packed(&self, start: u64) -> Packed<'_> {
        Packed { ranks: self.time.ranks(), holes: &self.holes, start }
    }

    /// Packs the live bytes and the holes among them together, above `gap` free positions.
    #[inline(always)]
    pub fn pack(&mut self, limit: u64, gap: u64) {
        if self.holes.count() == 0 {
            self.time.reset(limit, gap, self.live());
            self.holes.clear();
        } else {
            let pattern = Pattern::of_live(&self.time, &self.holes, FIRST + gap);
            self.time.reset(limit, gap, 0);
            self.holes.clear();
            pattern.put_on(&mut self.time, &mut self.holes);
        }
        self.gap = gap;
    }
}
