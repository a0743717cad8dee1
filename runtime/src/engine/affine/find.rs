//! Finds the words of a block of iterations, and where they were before it.
//!
//! Takes the streams of a run with their dependences; gives rows of cells and old positions that advance by constants,
//! or nothing and what may help: unrolling, or wide accesses in pieces.

use super::{
    block::{Block, LEAST},
    dependence::Plan,
    positions::Positions,
    scratch::Change,
};
use crate::engine::{
    access::{Kind, Stream},
    cell::{Cell, DEAD},
    shadow::position_of,
    stack::Stack,
};

impl<C: Cell> Stack<C> {
    /// Finds the words of a block and their old positions, and how many iterations can be done together; false if none.
    /// Stores and loads of words that are not on the stack become fresh ones; those that a part of a run asks for leave
    /// nothing.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        streams: &mut [Stream],
        is_asked: bool,
        plan: &Plan,
        first: u64,
        block: &mut Block,
        change: &mut Option<Change>,
    ) -> bool {
        // Positions of words that this run used before the block; others must lie below.
        let mut floor = u64::MAX;
        for (number, stream) in streams.iter_mut().enumerate() {
            let (len, width, carried) = (plan.len(number), plan.width(number), plan.carried(number));
            let start = stream.address_at(first);
            let (row, words) = self.shadow.regions.spaced(start, stream.stride, width, block.size);
            (block.rows[number], block.size) = (row, words);
            let may_be_fresh = matches!(stream.kind, Kind::Store | Kind::Load) && carried.is_none() && len <= 8;
            if may_be_fresh && self.shadow.cells.cell(row.cell) <= DEAD {
                stream.kind = Kind::Fresh;
            }
            if is_asked && self.shadow.cells.cell(row.cell) <= DEAD {
                stream.kind = Kind::Remove;
            }
            if matches!(stream.kind, Kind::Fresh | Kind::Remove) {
                if !self.find_fresh(stream, number, start, plan, block) {
                    if may_be_fresh {
                        *change = self.change(start, stream.stride, width);
                    }
                    return false;
                }
                continue;
            }
            let Some(carried) = carried else {
                block.far |= 1 << number;
                match row.arithmetic(&self.shadow.cells.values, block.size) {
                    Some((size, first, step)) if size >= LEAST => {
                        block.size = size;
                        block.positions[number] = Positions { first, step };
                    }
                    _ => {
                        *change = self.change(start, stream.stride, width);
                        return false;
                    }
                }
                continue;
            };
            for word in 0..usize::from(carried.distance).min(block.size) {
                let Some(position) = row.position_of(&self.shadow.cells.values, word) else { return false };
                floor = floor.min(position);
            }
        }
        block.floor = floor;
        (0..streams.len()).filter(|&n| block.is_far(n)).all(|n| block.ends(n, plan.len(n)).1 <= floor)
    }

    /// Finds the words of a stream that are not on the stack.
    #[inline(always)]
    fn find_fresh(&mut self, stream: &Stream, number: usize, start: u64, plan: &Plan, block: &mut Block) -> bool {
        if !self.shadow.is_worth_pages(start, stream.stride, block.size) {
            return false;
        }
        let row = self.shadow.make_spaced(start, stream.stride, plan.width(number), block.size);
        block.rows[number] = row;
        if let Some(reborn) = plan.reborn(number) {
            let dead = reborn.min(block.size);
            return row.dead_words(&self.shadow.cells.values, dead) == dead;
        }
        block.size = row.dead_words(&self.shadow.cells.values, block.size);
        block.size >= LEAST
    }

    /// What may help where a stream's words are not at arithmetic positions: every second or fourth of them is, as far
    /// as a few of them tell, or they are not whole.
    #[inline(always)]
    fn change(&mut self, addr: u64, stride: i64, width: usize) -> Option<Change> {
        let mut positions = [None; 12];
        for (position, number) in positions.iter_mut().zip(0..) {
            let cell = self.shadow.regions.find(addr.wrapping_add_signed(stride.wrapping_mul(number)));
            *position = position_of(&self.shadow.cells.values[cell..][..width]);
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
