//! How much the words of a block's streams sink while the block is done, as a linear function of the iteration.
//!
//! Takes streams, their plan and where their words were before the block; gives for each load how the bytes above its
//! words change. Refuses streams whose words cross in a way that is not linear.

use std::ops::Range;

use super::{block::Block, dependence::Plan, positions::Positions};
use crate::engine::{
    access::{Kind, Stream},
    progression::Progression,
};

/// Bytes that a block's accesses have put above a stream's words and not taken from there: `start + step * iteration`,
/// and from each breakpoint on, so many more per iteration.
#[derive(Clone, Copy)]
pub struct DepthOffset<'a> {
    start: i64,
    step: i64,
    /// Iterations and bytes, in order.
    breakpoints: &'a [(u16, i32)],
}

impl DepthOffset<'_> {
    /// Bytes above a word in its iteration, of which there were `above` when the block began.
    #[inline(always)]
    pub fn depth_at(&self, above: u64, iteration: i64) -> u64 {
        let after = |breakpoint: u16| (iteration - i64::from(breakpoint) + 1).max(0);
        let bent: i64 = self.breakpoints.iter().map(|&(breakpoint, bytes)| after(breakpoint) * i64::from(bytes)).sum();
        above.wrapping_add_signed(self.start + self.step * iteration + bent)
    }

    /// Reports depths of some iterations, where the bytes above the words were `above + step * iteration` when the
    /// block began.
    #[inline(always)]
    pub fn rows(
        &self,
        above: u64,
        step: i64,
        len: u64,
        iterations: Range<usize>,
        mut report: impl FnMut(usize, Progression),
    ) {
        let (mut from, mut grows) = (iterations.start, step + self.step);
        for &(breakpoint, bytes) in self.breakpoints.iter().chain([&(iterations.end as u16, 0)]) {
            let until = usize::from(breakpoint).min(iterations.end);
            if until > from {
                let before = above.wrapping_add_signed(step * from as i64);
                let (first, count) = (self.depth_at(before, from as i64), (until - from) as u64);
                report(from, Progression { first, step: grows, count, width: len });
                from = until;
            }
            grows += i64::from(bytes);
        }
    }
}

/// How much each far load's words sink; of the others nothing is known. Looking for crossed streams fills it, and the
/// reports of the block read it: valid for the size that the last look gave.
#[derive(Default)]
pub struct DepthOffsets {
    /// Start, step, and where the breakpoints begin and end.
    lines: Vec<(i64, i64, Range<usize>)>,
    breakpoints: Vec<(u16, i32)>,
    /// Streams that change what is above others.
    others: Vec<Other>,
}

/// What a stream does to others.
struct Other {
    stream: usize,
    /// Bytes of its words, and how many of them it puts on the top each time.
    len: i64,
    puts: i64,
    /// From where to where its words were; above all others if they come from near the top, below all if from nowhere.
    low: u64,
    high: u64,
    positions: Positions,
}

impl Other {
    /// Nothing of a stream whose words come from near the top and go there.
    #[inline(always)]
    fn new(stream: usize, Stream { kind, .. }: &Stream, plan: &Plan, block: &Block) -> Option<Other> {
        let len = plan.len(stream);
        let (low, high) = match kind {
            _ if block.is_far(stream) => block.ends(stream, len),
            Kind::Last => (u64::MAX, u64::MAX),
            Kind::Fresh => (0, 0),
            Kind::Load | Kind::Store | Kind::Remove => return None,
        };
        let puts = if *kind == Kind::Last { 0 } else { len as i64 };
        Some(Other { stream, len: len as i64, puts, low, high, positions: block.positions[stream] })
    }
}

impl DepthOffsets {
    pub fn get(&self, stream: usize) -> DepthOffset<'_> {
        let (start, step, breakpoints) = &self.lines[stream];
        DepthOffset { start: *start, step: *step, breakpoints: &self.breakpoints[breakpoints.clone()] }
    }

    /// Gives the number of iterations of the block before streams cross in a way that is not linear; if that is not all
    /// of them, nothing is known yet.
    #[inline(always)]
    pub fn find(&mut self, streams: &[Stream], plan: &Plan, block: &Block) -> usize {
        self.others.clear();
        self.others
            .extend(streams.iter().enumerate().filter_map(|(number, stream)| Other::new(number, stream, plan, block)));
        self.lines.clear();
        self.breakpoints.clear();
        for (number, stream) in streams.iter().enumerate() {
            let first_breakpoint = self.breakpoints.len();
            let is_load = matches!(stream.kind, Kind::Load | Kind::Last);
            if !block.is_far(number) || !is_load {
                self.lines.push((0, 0, 0..0));
                continue;
            }
            let (mine, len) = (block.positions[number], plan.len(number));
            let (low, high) = block.ends(number, len);
            let mut step = len as i64 * (i64::from(stream.kind != Kind::Last) - i64::from(mine.step < 0));
            let mut start = 0;
            for other in self.others.iter().filter(|other| other.stream != number) {
                let mut change = other.puts;
                if other.low >= high {
                    change -= other.len;
                } else if other.high > low {
                    let theirs = other.positions;
                    if mine.step != theirs.step {
                        return block.apart(number, other.stream, plan);
                    }
                    let (above, ahead) = (theirs.first > mine.first, theirs.first.abs_diff(mine.first));
                    let wide = mine.step.unsigned_abs();
                    let ahead = if ahead <= wide { 1 } else { ahead.div_ceil(wide) as u16 };
                    // Going up, mine passes those that were above it; going down, it leaves above it what the other has
                    // taken long enough ago.
                    match (above, mine.step > 0) {
                        (true, true) => self.breakpoints.push((ahead, other.len as i32)),
                        (false, false) => self.breakpoints.push((ahead, -other.len as i32)),
                        _ => {}
                    }
                    change -= other.len * i64::from(above);
                }
                step += change;
                start += change * i64::from(plan.is_before(other.stream, number));
            }
            self.merge_breakpoints(first_breakpoint);
            self.lines.push((start, step, first_breakpoint..self.breakpoints.len()));
        }
        block.size
    }

    /// Puts the breakpoints from one on in order, those of one iteration together.
    #[inline(always)]
    fn merge_breakpoints(&mut self, first: usize) {
        let breakpoints = &mut self.breakpoints[first..];
        breakpoints.sort_unstable();
        let mut merged = 0;
        for next in 1..breakpoints.len() {
            if breakpoints[next].0 == breakpoints[merged].0 {
                breakpoints[merged].1 += breakpoints[next].1;
            } else {
                merged += 1;
                breakpoints[merged] = breakpoints[next];
            }
        }
        self.breakpoints.truncate(first + merged + 1);
    }
}
