//! Free places on the stack: where bytes died, and nothing has come in their place yet.
//!
//! A memory of `Z` bytes holds the topmost `Z` places of the stack. What dies frees its place, and nothing below rises:
//! a hole is left. What comes next takes the newest hole. A byte that is accessed takes the newest hole above it and
//! leaves one where it was; if there is none above it, its place goes. A new byte takes the newest hole there is. So
//! what is live keeps its order, and the bytes and holes above a byte are the places that a memory must have to still
//! hold it.
//!
//! Holes are bits over the positions of the timeline, where no live byte is; they are counted as its ones are. Takes
//! positions, gives counts of holes above them. Refuses nothing, but expects the positions to be below the limit.
//!
//! All lanes hold counts, and zeros where there are no holes: memory is touched only near holes.

use super::{
    node::{BLOCK, Block, LEAF, Node, leaf_of, low_ones},
    upper::Upper,
};
use crate::engine::reserve::Reserve;

#[derive(Default)]
pub struct Holes {
    levels: Option<Box<Levels>>,
    count: u64,
    /// Position of the newest one, 0 if there is none.
    newest: u64,
}

struct Levels {
    blocks: Reserve<Block>,
    n2: Reserve<Node<u16>>,
    upper: Upper,
    /// The node of the second level in which the newest hole is, and its holes: the levels above do not know of these,
    /// as most holes come and go there.
    recent: usize,
    recent_count: u64,
}

impl Levels {
    fn new(limit: u64) -> Self {
        let nodes = (limit >> 16) as usize + 1;
        let mut upper = Upper::default();
        upper.reset(limit as usize);
        // Whole nodes of blocks.
        Self { blocks: Reserve::new(32 * nodes), n2: Reserve::new(nodes), upper, recent: 0, recent_count: 0 }
    }

    /// Holes at and below a position.
    #[inline(always)]
    fn rank(&self, p: usize) -> u64 {
        let within = self.blocks[p >> 11].rank(p) + self.n2[p >> 16].lane((p >> 11) % 32);
        u64::from(within) + self.upper.before(p)
    }

    /// There are `n` (possibly negative) fewer holes in a leaf.
    #[inline(always)]
    fn took(&mut self, p: usize, n: u32) {
        self.blocks[p >> 11].before.take(leaf_of(p), n);
        self.n2[p >> 16].take((p >> 11) % 32, n);
        self.took_above(p, n);
    }

    /// There are `n` fewer in a node of the second level.
    #[inline(always)]
    fn took_above(&mut self, p: usize, n: u32) {
        if p >> 16 == self.recent {
            self.recent_count = self.recent_count.wrapping_sub(n as i32 as u64);
        } else {
            self.upper.take(p, n);
        }
    }

    /// The newest hole will be in another node.
    #[inline(always)]
    fn turn_to(&mut self, p: usize) {
        if p >> 16 != self.recent {
            self.turn_to_other(p);
        }
    }

    #[cold]
    fn turn_to_other(&mut self, p: usize) {
        self.upper.take(self.recent << 16, (self.recent_count as u32).wrapping_neg());
        self.recent = p >> 16;
        let block = &self.blocks[(self.recent << 5) + 31];
        let count = self.n2[self.recent].lane(31) + block.before.lane(31) + block.leaves[31].count_ones();
        self.recent_count = u64::from(count);
        self.upper.take(p, count);
    }

    /// `n` holes of a leaf go down to another: the levels at which both are in the same child stay as they are.
    #[inline(always)]
    fn moved(&mut self, from: usize, to: usize, n: u32) {
        let more = n.wrapping_neg();
        if from / LEAF == to / LEAF {
            return;
        }
        self.blocks[to >> 11].before.take(leaf_of(to), more);
        self.blocks[from >> 11].before.take(leaf_of(from), n);
        if from >> 11 == to >> 11 {
            return;
        }
        self.n2[to >> 16].take((to >> 11) % 32, more);
        self.n2[from >> 16].take((from >> 11) % 32, n);
        if from >> 16 != to >> 16 {
            self.took_above(to, more);
            self.took_above(from, n);
        }
    }

    /// Position of the newest of `count` holes.
    #[inline(always)]
    fn newest(&mut self, count: u64) -> u64 {
        if self.recent_count == 0 {
            let node = self.upper.node_with(count);
            self.turn_to(node << 16);
        }
        let (block, before) = self.n2[self.recent].last_below(self.recent_count as u32);
        let (node, left) = (self.recent * 32 + block, self.recent_count as u32 - before);
        let (leaf, _) = self.blocks[node].before.last_below(left);
        let bits = self.blocks[node].leaves[leaf];
        (node as u64 * BLOCK) + (leaf * LEAF) as u64 + u64::from(bits.ilog2())
    }
}

/// The highest `count` ones.
#[inline(always)]
fn highest(bits: u64, count: u32) -> u64 {
    // Mostly they are side by side.
    let run = low_ones(count.into()) << (bits.ilog2() + 1).saturating_sub(count);
    if bits & run == run {
        return run;
    }
    let mut rest = bits;
    for _ in 0..count {
        rest &= !(1 << rest.ilog2());
    }
    bits & !rest
}

impl Holes {
    /// Holes in all.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there is a hole above a position.
    #[inline(always)]
    pub fn is_above(&self, position: u64) -> bool {
        position < self.newest
    }

    /// Holes above a position.
    #[inline(always)]
    pub fn above(&self, position: u64) -> u64 {
        if self.is_above(position) { self.count - self.rank(position) } else { 0 }
    }

    /// Holes at and below a position.
    #[inline(always)]
    pub fn rank(&self, position: u64) -> u64 {
        if position >= self.newest {
            return self.count;
        }
        self.levels.as_ref().map_or(0, |levels| levels.rank(position as usize))
    }

    /// Leaves holes where there are none; `limit` is that of the timeline.
    #[inline(always)]
    pub fn leave(&mut self, position: u64, len: u64, limit: u64) {
        if len == 0 {
            return;
        }
        let levels = self.levels.get_or_insert_with(|| Box::new(Levels::new(limit)));
        let (mut p, mut left) = (position as usize, len);
        while left > 0 {
            let part = left.min((LEAF - p % LEAF) as u64);
            if p as u64 > self.newest {
                levels.turn_to(p);
            }
            levels.blocks[p >> 11].leaves[leaf_of(p)] |= low_ones(part) << (p % LEAF);
            levels.took(p, (part as u32).wrapping_neg());
            p += part as usize;
            left -= part;
        }
        self.count += len;
        self.newest = self.newest.max(position + len - 1);
    }

    /// Fills as many of the newest holes, which there are.
    #[inline(always)]
    pub fn fill(&mut self, mut count: u64) {
        let Some(levels) = &mut self.levels else { return };
        self.count -= count;
        while count > 0 {
            let p = self.newest as usize;
            let leaf = &mut levels.blocks[p >> 11].leaves[leaf_of(p)];
            let ones = u64::from(leaf.count_ones());
            let taken = ones.min(count);
            *leaf &= if taken == ones { 0 } else { !highest(*leaf, taken as u32) };
            let rest = *leaf;
            levels.took(p, taken as u32);
            count -= taken;
            self.newest = if rest != 0 {
                (p & !(LEAF - 1)) as u64 + u64::from(rest.ilog2())
            } else if self.count + count > 0 {
                levels.newest(self.count + count)
            } else {
                0
            };
        }
    }

    /// Bytes at consecutive positions go to the top, the topmost first. Of the holes that they fill, `external` are
    /// above all of these and not among them. Gives the number of holes that they leave.
    #[inline(always)]
    pub fn sink(&mut self, position: u64, len: u64, external: u64, limit: u64) -> u64 {
        if external == 0 && self.sink_in_leaf(position, len) {
            return len;
        }
        let filled = len.min(external.saturating_add(self.above(position)));
        self.fill(filled - filled.min(external));
        self.leave(position, filled, limit);
        filled
    }

    /// `sink` where the leaf of the newest hole has as many as it takes, all above the bytes, which are in one leaf
    /// too; false if that is not so, and nothing has happened.
    #[inline(always)]
    fn sink_in_leaf(&mut self, position: u64, len: u64) -> bool {
        let (from, to) = (self.newest as usize, position as usize);
        let Some(levels) = &mut self.levels else { return false };
        let leaf = levels.blocks[from >> 11].leaves[leaf_of(from)];
        if from / LEAF <= to / LEAF || u64::from(leaf.count_ones()) < len || to % LEAF + len as usize > LEAF {
            return false;
        }
        let rest = leaf & !highest(leaf, len as u32);
        levels.blocks[from >> 11].leaves[leaf_of(from)] = rest;
        levels.blocks[to >> 11].leaves[leaf_of(to)] |= low_ones(len) << (to % LEAF);
        levels.moved(from, to, len as u32);
        self.newest =
            if rest != 0 { (from & !(LEAF - 1)) as u64 + u64::from(rest.ilog2()) } else { levels.newest(self.count) };
        true
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        // Pages that were touched go back to the system, and with them whatever was on them.
        *self = Self::default();
    }

    /// The runs of holes, as leaves: the number of each leaf that has any, and its bits.
    pub fn leaves(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let blocks = self.levels.iter().flat_map(|levels| levels.blocks.iter().enumerate());
        let end = (self.newest as usize >> 11) + usize::from(self.count > 0);
        blocks
            .take(end)
            .flat_map(|(block, at)| at.leaves.iter().enumerate().map(move |(leaf, &bits)| (block * 32 + leaf, bits)))
    }

    pub fn heap_bytes(&self) -> u64 {
        // As far as it was touched, at most.
        self.levels.as_ref().map_or(0, |_| self.newest / 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Words of eight positions over many nodes of all levels, most of them near the top, as in programs.
    #[test]
    fn holes_are_those_of_a_plain_set() {
        const LIMIT: u64 = 1 << 28;
        let mut seed = 5u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..20 {
            let (mut holes, mut set, mut top) = (Holes::default(), BTreeSet::<u64>::new(), 1000u64);
            for _ in 0..4000 {
                let (ahead, behind) = (1 << (1 + random(19)), 1 << (1 + random(20)));
                top = (top + 8 * random(ahead)).min(LIMIT - 128);
                let back = 8 * random(behind);
                let word = 64 + top.saturating_sub(back) / 8 * 8;
                let above = |set: &BTreeSet<u64>, word: u64| 8 * set.range(word + 1..).count() as u64;
                assert_eq!(holes.above(word + 7), above(&set, word), "above {word}");
                match random(4) {
                    0 | 1 if !set.contains(&word) => {
                        holes.leave(word, 8, LIMIT);
                        set.insert(word);
                    }
                    2 if !set.contains(&word) => {
                        let newest = set.last().copied().filter(|&newest| newest > word);
                        assert_eq!(holes.sink(word, 8, 0, LIMIT), if newest.is_some() { 8 } else { 0 });
                        if let Some(newest) = newest {
                            set.remove(&newest);
                            set.insert(word);
                        }
                    }
                    3 => {
                        let words = random(4).min(set.len() as u64);
                        holes.fill(8 * words);
                        (0..words).for_each(|_| _ = set.pop_last());
                    }
                    _ => {}
                }
                assert_eq!((holes.count(), holes.is_above(word + 7)), (8 * set.len() as u64, above(&set, word) > 0));
            }
            assert_eq!(holes.leaves().map(|leaf| u64::from(leaf.1.count_ones())).sum::<u64>(), holes.count());
        }
    }
}
