//! What affine loops ask of the timeline: counts and changes at many positions that advance by a constant.
//!
//! Takes the first position, the step and how many there are. Gives counts as a row where they grow evenly; refuses
//! (`None`) where that is not easily told.

use super::{
    bits::{Bits, Rank, Ranks},
    node::{Block, LEAF, leaf_of, low_ones},
};
use crate::engine::sequences::{Sequence, WIDE_STEP, are_close, lowest};

/// Loops begin and end with what is done one by one: positions are to repeat but for so many steps.
const FEW: u64 = 4;
/// Blocks that are far from each other are fetched so many ahead.
const AHEAD: u64 = 8;

/// How blocks of ones lie that repeat.
#[derive(Clone, Copy)]
pub struct Repeat {
    /// The first block from which they do, counted from the lowest, and the first from which they do no longer.
    pub even: (usize, usize),
    /// Ones from one of these to the next.
    pub gap: u64,
}

impl Bits {
    /// Clears `count` blocks of ones on each of a group of sequences. `masks` is room to work in.
    #[inline(always)]
    pub fn clear_sequences(&mut self, sequences: &[Sequence], count: usize, masks: &mut Vec<u64>) {
        let Some(&Sequence { step, low, .. }) = sequences.first() else { return };
        if !are_close(sequences) {
            for sequence in sequences {
                self.clear_far(sequence.low, step, count, sequence.len);
            }
            return;
        }
        let start = low & !63;
        strided(sequences.iter().map(|sequence| (sequence.low - start, sequence.len)), step, count, masks);
        self.clear_leaves(start as usize, masks);
    }

    /// `clear_sequences` for a sequence of blocks that are far from each other: the levels above are told once per
    /// level-2 node.
    #[inline(always)]
    fn clear_far(&mut self, mut position: u64, step: u64, mut count: usize, len: u64) {
        let in_leaf = |position: u64| position % LEAF as u64 + len <= LEAF as u64;
        while count > 0 {
            if !in_leaf(position) {
                self.clear(position, len);
                position += step;
                count -= 1;
                continue;
            }
            let start = position as usize;
            let mut node = self.n2[start >> 16];
            let mut n = 0;
            while count > 0 && position as usize >> 16 == start >> 16 && in_leaf(position) {
                let p = position as usize;
                self.prefetch(position + AHEAD * step);
                let block = &mut self.blocks[p >> 11];
                block.leaves[leaf_of(p)] &= !(low_ones(len) << (p % LEAF));
                block.before.take(leaf_of(p), len as u32);
                node.take((p >> 11) % 32, len as u32);
                n += len as u32;
                position += step;
                count -= 1;
            }
            self.n2[start >> 16] = node;
            self.took(start, n);
        }
    }

    /// Clears ones in neighbouring leaves; `p` is the start of the first. The levels above are told once per level-2
    /// node.
    #[inline(always)]
    fn clear_leaves(&mut self, mut p: usize, mut masks: &[u64]) {
        while !masks.is_empty() {
            let start = p;
            let mut node = self.n2[start >> 16];
            let mut cleared = 0;
            while !masks.is_empty() && p >> 16 == start >> 16 {
                let (here, rest) = masks.split_at(masks.len().min(32 - leaf_of(p)));
                let block = &mut self.blocks[p >> 11];
                let first = leaf_of(p);
                let last = first + here.len() - 1;
                let mut n = 0;
                let lanes = block.before.0[first..=last].iter_mut();
                for ((lane, leaf), mask) in lanes.zip(&mut block.leaves[first..=last]).zip(here) {
                    *lane = lane.wrapping_sub(n as u16);
                    *leaf &= !mask;
                    n += mask.count_ones();
                }
                block.before.take(last, n);
                node.take((p >> 11) % 32, n);
                cleared += n;
                p += here.len() * LEAF;
                masks = rest;
            }
            self.n2[start >> 16] = node;
            self.took(start, cleared);
        }
    }

    /// The ones above the first of `count` positions `step` apart, each the last of a block of `len` ones, and how
    /// their number changes from one to the next; nothing if that cannot be told without counting each.
    #[inline(always)]
    pub fn evenly_above(&self, position: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)> {
        let (rank, change) = even_ranks(self, &self.blocks, position, step, count, len)?;
        Some((self.ones() - rank, -change))
    }

    /// How rows of `count` blocks repeat, `step` from one block of a row to the next. Their first blocks begin within a
    /// step from `start` on, where the lowest does, and the highest of the last ends at `end`. Nothing if they hardly
    /// repeat.
    #[inline(always)]
    pub fn repeating(&self, start: u64, end: u64, step: u64, count: usize) -> Option<Repeat> {
        if self.rank(end - 1) - self.rank(start) + 1 == end - start {
            return Some(Repeat { even: (0, count), gap: step });
        }
        let leaf = |at: u64| self.blocks.get((at >> 5) as usize).map_or(0, |block| block.leaves[at as usize % 32]);
        let (whole, part) = (step / LEAF as u64, step % LEAF as u64);
        // The last of the positions that are compared with those one step further.
        let last = end - step - 1;
        let (low, high) = (start / LEAF as u64, last / LEAF as u64);
        let differ = |at: u64| {
            let more = if part > 0 { leaf(at + whole + 1) << (LEAF as u64 - part) } else { 0 };
            leaf(at) ^ (leaf(at + whole) >> part | more)
        };
        let differ_within = |at: u64| {
            let from = if at == low { start % LEAF as u64 } else { 0 };
            let until = if at == high { last % LEAF as u64 + 1 } else { LEAF as u64 };
            differ(at) & low_ones(until) & u64::MAX << from
        };
        // Leaves between these must not differ.
        let even = ((start + FEW * step) / LEAF as u64 + 1).min(high);
        let late = (last.saturating_sub(FEW * step) / LEAF as u64).max(even);
        if !repeat_by(&self.blocks, even as usize, late as usize, whole as usize, part as u32) {
            return None;
        }
        let begin = (low..even).rev().find(|&at| differ_within(at) != 0).map_or(0, |at| {
            let position = at * LEAF as u64 + u64::from(differ_within(at).ilog2());
            (position - start) / step + 1
        });
        // What lies between two blocks ends less than two steps behind the start of the step in which the first of them
        // is.
        let until = (late..=high).find(|&at| differ_within(at) != 0).map_or(count as u64, |at| {
            let position = at * LEAF as u64 + u64::from(differ_within(at).trailing_zeros());
            (position - start) / step
        });
        if begin > FEW || until < begin + FEW {
            return None;
        }
        let first = start + begin * step;
        let gap = self.rank(first + step - 1) - self.rank(first - 1);
        Some(Repeat { even: (begin as usize, until as usize), gap })
    }

    /// Counts the ones above each of some positions `step` apart.
    #[inline(always)]
    pub fn above(&self, position: u64, step: i64, counts: &mut [u64]) {
        let mut p = position as usize;
        let (mut number, mut above) = (usize::MAX, 0);
        let ahead = if step.unsigned_abs() > WIDE_STEP { step.wrapping_mul(AHEAD as i64) } else { 0 };
        for count in counts {
            if p >> 11 != number {
                self.prefetch((p as u64).wrapping_add_signed(ahead));
                number = p >> 11;
                above = self.ones() - self.upper.before(p) - u64::from(self.n2[p >> 16].lane(number % 32));
            }
            *count = above - u64::from(self.blocks[number].rank(p));
            p = p.wrapping_add_signed(step as isize);
        }
    }
}

impl Ranks<'_> {
    /// The ranks of the first bytes of `count` blocks of `len` ones, `step` apart, as the first and the step between
    /// them; nothing if that cannot be told without asking for each.
    #[inline(always)]
    pub fn even(&self, position: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)> {
        even_ranks(self, &self.bits.blocks, position, step, count, len)
    }
}

/// The rank of the first of `count` positions `step` apart, each in a block of `len` ones, and how it changes from one
/// to the next; nothing if that cannot be told without asking for each.
#[inline(always)]
fn even_ranks(
    ranks: &impl Rank,
    blocks: &[Block],
    position: u64,
    step: i64,
    count: usize,
    len: u64,
) -> Option<(u64, i64)> {
    let (first, last) = (ranks.rank(position), ranks.rank(position.wrapping_add_signed(step * (count as i64 - 1))));
    let (total, gaps, wide) = (first.abs_diff(last), count as u64 - 1, step.unsigned_abs());
    let change = total / gaps;
    let is_even = total == change * gaps
        // Between two there are at least the ones of a block, and at most ones all over.
        && (change == len || change == wide || is_even(ranks, blocks, position, step, count, change));
    is_even.then_some((first, if step > 0 { change as i64 } else { -(change as i64) }))
}

/// Whether the number of ones between neighbours of some positions is `change` throughout, by seeing that it is
/// near both ends and that the leaves between them repeat as the positions do.
#[inline(always)]
fn is_even(ranks: &impl Rank, blocks: &[Block], position: u64, step: i64, count: usize, change: u64) -> bool {
    let wide = step.unsigned_abs();
    let low = lowest(position, step, count);
    let high = low + wide * (count as u64 - 1);
    let period = period(wide) as usize;
    // Of the leaves from the second to the last but one, each is as the one a period before. So all gaps within
    // them are as those within the first of their periods.
    let near_start = ((period + 3) * LEAF) as u64 / wide + 2;
    let near_end = 2 * LEAF as u64 / wide + 2;
    if period > 16 || near_start + near_end >= count as u64 {
        return false;
    }
    changes(ranks, low, wide, near_start, change)
        && changes(ranks, high - near_end * wide, wide, near_end, change)
        && repeat_by(blocks, low as usize / LEAF + 1, (high as usize / LEAF).saturating_sub(period), period, 0)
}

/// Whether the leaves of a range are what lies `whole` leaves and `part` positions behind each.
#[inline(always)]
fn repeat_by(blocks: &[Block], start: usize, end: usize, whole: usize, part: u32) -> bool {
    let leaf = |at: usize| blocks.get(at >> 5).map_or(0, |block| block.leaves[at % 32]);
    let moved = |low: u64, high: u64| low >> part | high.checked_shl(64 - part).unwrap_or(0);
    let mut at = start;
    while at < end {
        let (leaves, first) = (&blocks[at >> 5].leaves, at % 32);
        let here = (end - at).min(32 - first);
        // Those whose counterparts are in the same block, without a branch for each.
        let within = here.min(31usize.saturating_sub(first + whole));
        let (low, high) = (&leaves[(first + whole).min(32)..], &leaves[(first + whole + 1).min(32)..]);
        let pairs = leaves[first..first + within].iter().zip(low.iter().zip(high));
        let differ = pairs.fold(0, |differ, (leaf, (&low, &high))| differ | (leaf ^ moved(low, high)));
        let others = (at + within..at + here).all(|at| leaf(at) == moved(leaf(at + whole), leaf(at + whole + 1)));
        if differ != 0 || !others {
            return false;
        }
        at += here;
    }
    true
}

/// Whether the rank grows by `change` with each of a number of steps from a position.
#[inline(always)]
fn changes(ranks: &impl Rank, mut position: u64, step: u64, steps: u64, change: u64) -> bool {
    let mut before = ranks.rank(position);
    for _ in 0..steps {
        position += step;
        let rank = ranks.rank(position);
        if rank - before != change {
            return false;
        }
        before = rank;
    }
    true
}

/// Leaves after which blocks `step` apart lie in the same positions again.
#[inline(always)]
fn period(step: u64) -> u64 {
    step >> step.trailing_zeros().min(LEAF.trailing_zeros())
}

/// Makes masks of leaves with rows of `count` blocks of ones, `step` apart. For each row, positions from the start of
/// the first leaf to its first block, and ones per block; the first blocks lie within one step, the lowest in the first
/// leaf.
#[inline(always)]
pub fn strided(rows: impl Iterator<Item = (u64, u64)> + Clone, step: u64, count: usize, masks: &mut Vec<u64>) {
    let (skip, end) = rows.clone().fold((0, 0), |(most, end), (skip, len)| (most.max(skip), end.max(skip + len)));
    let bits = end + step * (count as u64 - 1);
    let leaves = bits.div_ceil(LEAF as u64) as usize;
    let period = period(step) as usize;
    // The first leaves may have only a part of the pattern; those of the period after them have all of it.
    let whole = skip as usize / LEAF + 1;
    let explicit = whole + period;
    masks.clear();
    masks.resize(leaves.min(explicit) + 1, 0);
    for (mut at, len) in rows {
        let ones = low_ones(len);
        for _ in 0..count {
            if at >= (explicit * LEAF) as u64 {
                break;
            }
            let (leaf, within) = ((at / LEAF as u64) as usize, at % LEAF as u64);
            masks[leaf] |= ones << within;
            if within + len > LEAF as u64 {
                masks[leaf + 1] |= ones >> (LEAF as u64 - within);
            }
            at += step;
        }
    }
    masks.truncate(leaves.min(explicit));
    if leaves > explicit {
        // What has run over from the pattern is copied too.
        if period == 1 {
            masks.resize(leaves, masks[whole]);
        }
        while masks.len() < leaves {
            let part = (masks.len() - whole).min(leaves - masks.len());
            masks.extend_from_within(whole..whole + part);
        }
        if !bits.is_multiple_of(LEAF as u64) {
            masks[leaves - 1] &= low_ones(bits % LEAF as u64);
        }
    }
}
