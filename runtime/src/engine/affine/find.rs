//! Finds the words of a block of iterations, and where they were before it.
//!
//! Takes the streams of a run with their dependences; gives rows of cells and old positions that advance by constants,
//! or nothing and what may help: unrolling, or wide accesses in pieces.

use super::{block::LEAST, positions::Positions, scratch::Change, together::BlockRun};
use crate::engine::{
    access::Kind,
    cell::{Cell, DEAD},
    shadow::position_of,
};

impl<C: Cell> BlockRun<'_, C> {
    /// Finds the words of the block and their old positions, and how many iterations can be done together; false if
    /// none. Stores and loads of words that are not on the stack become fresh ones; those that a part of a run asks for
    /// leave nothing.
    #[inline(always)]
    pub(super) fn find(&mut self) -> bool {
        let (plan, is_asked) = (self.plan, self.normalised.is_asked());
        // Positions of words that this run used before the block; others must lie below.
        let mut floor = u64::MAX;
        for number in 0..self.streams.len() {
            let (stream, width, carried) = (&mut self.streams[number], plan.width(number), plan.carried(number));
            let start = stream.address_at(self.first);
            let (row, words) = self.stack.shadow.regions.spaced(start, stream.stride, width, self.block.size);
            (self.block.rows[number], self.block.size) = (row, words);
            let is_short = carried.is_none() && plan.len(number) <= 8;
            let may_be_fresh = is_short && matches!(stream.kind, Kind::Store | Kind::Load);
            if (may_be_fresh || is_asked) && self.stack.shadow.cells.cell(row.cell) <= DEAD {
                stream.kind = if is_asked { Kind::Remove } else { Kind::Fresh };
            }
            let stream = *stream;
            if matches!(stream.kind, Kind::Fresh | Kind::Remove) {
                if !self.find_fresh(number, start, stream.stride) {
                    if may_be_fresh {
                        self.room.change = self.change(start, stream.stride, width);
                    }
                    return false;
                }
                continue;
            }
            let cells = &self.stack.shadow.cells.values;
            let Some(carried) = carried else {
                self.block.far |= 1 << number;
                match row.arithmetic(cells, self.block.size) {
                    Some((size, first, step)) if size >= LEAST => {
                        self.block.size = size;
                        self.block.positions[number] = Positions { first, step };
                    }
                    _ => {
                        self.room.change = self.change(start, stream.stride, width);
                        return false;
                    }
                }
                continue;
            };
            for word in 0..usize::from(carried.distance).min(self.block.size) {
                let Some(position) = position_of(row.word(cells, word)) else { return false };
                floor = floor.min(position);
            }
        }
        let block = &mut self.block;
        block.floor = floor;
        (0..self.streams.len()).filter(|&n| block.is_far(n)).all(|n| block.ends(n, plan.len(n)).1 <= floor)
    }

    /// Finds the words of a stream that are not on the stack.
    #[inline(always)]
    fn find_fresh(&mut self, number: usize, start: u64, stride: i64) -> bool {
        let (block, shadow) = (&mut self.block, &mut self.stack.shadow);
        if !shadow.is_worth_pages(start, stride, block.size) {
            return false;
        }
        let row = shadow.make_spaced(start, stride, self.plan.width(number), block.size);
        block.rows[number] = row;
        if let Some(reborn) = self.plan.reborn(number) {
            let dead = reborn.min(block.size);
            return row.dead_words(&shadow.cells.values, dead) == dead;
        }
        block.size = row.dead_words(&shadow.cells.values, block.size);
        block.size >= LEAST
    }

    /// What may help where a stream's words are not at arithmetic positions: every second or fourth of them is, as far
    /// as a few of them tell, or they are not whole.
    #[inline(always)]
    fn change(&mut self, addr: u64, stride: i64, width: usize) -> Option<Change> {
        let (shadow, mut positions) = (&mut self.stack.shadow, [None; 12]);
        for (position, number) in positions.iter_mut().zip(0..) {
            let cell = shadow.regions.find(addr.wrapping_add_signed(stride.wrapping_mul(number)));
            *position = position_of(&shadow.cells.values[cell..][..width]);
        }
        let step = |from: usize, to: usize| Some(positions[to]?.wrapping_sub(positions[from]?));
        let is_even = |times: &usize| {
            let first = step(0, *times);
            first.is_some() && (0..2 * times).all(|number| step(number, number + times) == first)
        };
        match [2, 4].into_iter().find(is_even) {
            Some(times) => Some(Change::Unroll(times)),
            None => positions.iter().any(Option::is_none).then_some(Change::Split),
        }
    }
}
