//! How many bytes were above the words of a block before it: together for words whose positions repeat, in rows for
//! words at even depths, and one by one for others.
//!
//! Takes a block whose words are found; gives rows of depths. Refuses nothing.

use std::ops::Range;

use super::{block::Block, dependence::Plan, offsets::DepthOffset};
use crate::engine::{
    order::Order,
    progression::Progression,
    sequences::{Sequence, are_close},
    timeline::{Repeat, Timeline},
};

impl Block {
    /// Finds which far streams' words lay among each other, and whether their positions repeat.
    #[inline(always)]
    pub fn find_sequences(&mut self, plan: &Plan, time: &Timeline) {
        let mut sequences = std::mem::take(&mut self.sequences);
        let size = self.size as u64;
        sequences.find((0..self.positions.len()).filter(|&stream| self.is_far(stream)).map(|stream| {
            let (len, step) = (plan.len(stream), self.positions[stream].step.unsigned_abs());
            Sequence { step, low: self.ends(stream, len).0, len, stream }
        }));
        for group in sequences.groups().filter(|group| group.len() > 1 && are_close(group)) {
            let step = group[0].step;
            let end = group.iter().map(|sequence| sequence.low + sequence.len).max().unwrap_or(0) + step * (size - 1);
            let gap = time.repeating(group[0].low, end, step, self.size);
            group.iter().for_each(|sequence| self.gaps[sequence.stream] = gap);
        }
        self.sequences = sequences;
    }

    /// Reports a stream's depths, as rows from numbers of iterations of the block on.
    #[inline(always)]
    pub fn report(
        &self,
        order: &Order,
        offset: DepthOffset<'_>,
        stream: usize,
        len: u64,
        above: &mut [u64],
        mut report: impl FnMut(usize, Progression),
    ) {
        let (positions, size) = (self.positions[stream], above.len());
        let last = positions.first + len - 1;
        if let Some(Repeat { even: (from, until), gap }) = self.gaps[stream] {
            let even = if positions.step > 0 { from..until } else { size - until..size - from };
            let above = |iteration: usize| order.above(positions.position_at(iteration) + len - 1);
            let one_by_one = |iterations: Range<usize>, report: &mut dyn FnMut(usize, Progression)| {
                for iteration in iterations {
                    let above = offset.depth_at(above(iteration), iteration as i64);
                    report(iteration, Progression::one(above, len));
                }
            };
            let step = -positions.step.signum() * gap as i64;
            let most = above(even.start).wrapping_add_signed(-step * even.start as i64);
            one_by_one(0..even.start, &mut report);
            offset.rows(most, step, len, even.clone(), &mut report);
            one_by_one(even.end..size, &mut report);
            return;
        }
        if let Some((most, step)) = order.time.evenly_above(last, positions.step, size, len) {
            return offset.rows(most, step, len, 0..size, report);
        }
        order.time.above(last, positions.step, above);
        for (above, iteration) in above.iter_mut().zip(0..) {
            *above = offset.depth_at(*above, iteration);
        }
        let mut from = 0;
        for same in above.chunk_by(|a, b| a == b) {
            report(from, Progression { count: same.len() as u64, ..Progression::one(same[0], len) });
            from += same.len();
        }
    }
}
