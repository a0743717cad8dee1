//! A vector of bits over positions, newest at the end, with the counts of its ones. A bit is 1 while the byte that was
//! put there is still there, so the depth of a byte is one more than the number of ones after it.
//!
//! Takes positions that were handed out (`end`), gives counts of ones; refuses nothing.
//!
//! | level | one node | lane `i` holds the ones before child `i`, within the node |
//! |---|---|---|
//! | leaf | 64 bits | |
//! | 1 | 32 leaves, 2^11 positions; stored next to them, as a block | u16 |
//! | 2 | 32 nodes, 2^16 positions | u16 (at most 31 * 2048) |
//! | 3, 4, 5 | 32 nodes each, 2^21, 2^26, 2^31 positions; `upper` has these and what is above | u32 |
//! | 6 | everything | one u64 per 2^31 positions |
//!
//! Position 5000 is bit 8 of leaf 78, which is child 14 of level-1 node 2, which is child 2 of level-2 node 0.
//!
//! A count reads one lane per level; in the newest level-2 node, whose ones are counted, it need not look further up.
//! Taking ones away subtracts a constant from the lanes behind. Putting ones at the end costs nothing until a leaf is
//! full. Nodes are only ever written whole: a narrow store followed by a wide load of the same line cannot be forwarded
//! from the store buffer, and that stall is what makes the obvious layouts slow.

use super::{
    node::{BLOCK, Block, EMPTY, FULL, LEAF, Node, leaf_of, low_ones},
    upper::Upper,
};
use crate::engine::{hint::prefetch, reserve::Reserve};

pub struct Bits {
    pub(super) blocks: Reserve<Block>,
    pub(super) n2: Vec<Node<u16>>,
    pub(super) upper: Upper,
    /// Where the open leaf ends, which is the last one.
    pub(super) leaf_end: usize,
    /// Ones in all, and of these in the open level-2 node.
    ones: u64,
    recent: u32,
}

impl Bits {
    /// No bits, and room for none.
    pub(super) fn new() -> Self {
        let (n2, upper) = (Vec::new(), Upper::default());
        Bits { blocks: Reserve::new(1), n2, upper, leaf_end: 0, ones: 0, recent: 0 }
    }

    /// Ones in all.
    #[inline(always)]
    pub fn ones(&self) -> u64 {
        self.ones
    }

    pub fn heap_bytes(&self) -> u64 {
        let bytes = self.blocks.len() * size_of::<Block>() + self.n2.capacity() * size_of::<Node<u16>>();
        bytes as u64 + self.upper.heap_bytes()
    }

    /// Forgets everything: the first leaf is open, and there is room up to `limit`.
    pub(super) fn reset(&mut self, limit: usize) {
        self.blocks.grow((limit >> 11) + 1);
        self.n2.resize(self.n2.len().max((limit >> 16) + 1), Node([0; 32]));
        self.blocks[0] = EMPTY;
        self.n2[0] = Node([0; 32]);
        self.upper.reset(limit);
        (self.leaf_end, self.ones, self.recent) = (LEAF, 0, 0);
    }

    /// A way to ask for the ranks of many positions.
    pub fn ranks(&self) -> Ranks<'_> {
        let blocks = 0..=(self.leaf_end - 1) >> 11;
        let bases =
            blocks.map(|block| u64::from(self.n2[block >> 5].lane(block % 32)) + self.upper.before(block << 11));
        Ranks { bits: self, bases: bases.collect() }
    }

    /// Asks the processor to fetch what `rank` will read. Anything that is not a position is no harm.
    #[inline(always)]
    pub fn prefetch(&self, position: u64) {
        let p = position as usize;
        if let Some(block) = self.blocks.get(p >> 11) {
            prefetch(&block.before);
            prefetch(&block.leaves[leaf_of(p)]);
        }
    }

    /// Clears ones that lie in one leaf, and gives the number of ones above them.
    #[inline(always)]
    pub fn lift(&mut self, position: u64, len: u64) -> u64 {
        let p = position as usize;
        let mask = low_ones(len) << (p % LEAF);
        let block = &mut self.blocks[p >> 11];
        let leaf = &mut block.leaves[leaf_of(p)];
        // All ones of the block counted lie below the last of them, so the rest of the mask may be anything.
        let below = (*leaf & (mask | (mask - 1))).count_ones();
        *leaf &= !mask;
        let node = &mut self.n2[p >> 16];
        let within = below + block.before.lane(leaf_of(p)) + node.lane((p >> 11) % 32);
        block.before.take(leaf_of(p), len as u32);
        node.take((p >> 11) % 32, len as u32);
        let ones = self.ones;
        self.ones -= len;
        if self.is_recent(p) {
            let above = self.recent - within;
            self.recent -= len as u32;
            return u64::from(above);
        }
        let above = ones - u64::from(within) - self.upper.before(p);
        self.upper.take(p, len as u32);
        above
    }

    /// Clears ones.
    #[inline(always)]
    pub fn clear(&mut self, position: u64, len: u64) {
        let (mut p, mut left) = (position, len);
        while left > 0 {
            let part = left.min(LEAF as u64 - p % LEAF as u64);
            self.lift(p, part);
            p += part;
            left -= part;
        }
    }

    /// Clears what ones there are from one position to another.
    #[inline(always)]
    pub fn clear_between(&mut self, first: u64, last: u64) {
        let (first, last) = (first as usize, last as usize);
        for p in (first & !(LEAF - 1)..=last).step_by(LEAF) {
            let from = u64::MAX << first.saturating_sub(p);
            let to = u64::MAX >> (LEAF - 1).saturating_sub(last - p);
            let block = &mut self.blocks[p >> 11];
            let leaf = &mut block.leaves[leaf_of(p)];
            let ones = (*leaf & from & to).count_ones();
            *leaf &= !(from & to);
            block.before.take(leaf_of(p), ones);
            self.n2[p >> 16].take((p >> 11) % 32, ones);
            self.took(p, ones);
        }
    }

    /// Whether a position comes soon after another one, and there are no ones between them.
    #[inline(always)]
    pub fn follows(&self, position: u64, other: u64) -> bool {
        let between = position.wrapping_sub(other).wrapping_sub(1);
        if between >= LEAF as u64 {
            return false;
        }
        let leaf = |p: usize| self.blocks[p >> 11].leaves[leaf_of(p)];
        let first = other as usize + 1;
        let low = leaf(first) >> (first % LEAF);
        let ones = if first / LEAF == position as usize / LEAF {
            low
        } else {
            low | leaf(position as usize) << 1 << (LEAF - 1 - first % LEAF)
        };
        ones & ((1 << between) - 1) == 0
    }

    /// Sets bits at positions that were passed over before.
    pub fn fill(&mut self, position: u64, len: u64) {
        let (mut p, mut left) = (position as usize, len);
        while left > 0 {
            let part = left.min((LEAF - p % LEAF) as u64);
            let less = (part as u32).wrapping_neg();
            let block = &mut self.blocks[p >> 11];
            block.leaves[leaf_of(p)] |= low_ones(part) << (p % LEAF);
            block.before.take(leaf_of(p), less);
            self.n2[p >> 16].take((p >> 11) % 32, less);
            self.took(p, less);
            p += part as usize;
            left -= part;
        }
    }

    /// Counts `n` (possibly negative) ones that were cleared in the level-2 node of `p`, above that.
    #[inline(always)]
    pub(super) fn took(&mut self, p: usize, n: u32) {
        self.ones = self.ones.wrapping_sub(n as i32 as u64);
        if self.is_recent(p) {
            self.recent = self.recent.wrapping_sub(n);
        } else {
            self.upper.take(p, n);
        }
    }

    /// Whether the position lies in the open level-2 node.
    #[inline(always)]
    fn is_recent(&self, p: usize) -> bool {
        p >> 16 == (self.leaf_end - 1) >> 16
    }

    /// Sets bits of the open leaf.
    #[inline(always)]
    pub(super) fn put(&mut self, first: usize, len: u64) {
        self.blocks[first >> 11].leaves[leaf_of(first)] |= low_ones(len) << (first % LEAF);
        self.ones += len;
        self.recent += len as u32;
    }

    /// Sets the bits of the block whose first leaf was just opened.
    #[inline(always)]
    pub(super) fn fill_block(&mut self) {
        self.blocks[(self.leaf_end - 1) >> 11] = FULL;
        self.leaf_end += BLOCK as usize - LEAF;
        self.ones += BLOCK;
        self.recent += BLOCK as u32;
    }

    /// Sets bits of leaves, of which the first is the open one.
    #[inline(always)]
    pub(super) fn put_leaves(&mut self, mut leaves: &[u64]) {
        while !leaves.is_empty() {
            let first = leaf_of(self.leaf_end - 1);
            let (here, rest) = leaves.split_at(leaves.len().min(32 - first));
            let block = &mut self.blocks[(self.leaf_end - 1) >> 11];
            let mut before = block.before;
            let (old, mut ones) = (block.leaves[first], u32::from(before.0[first]));
            // The open leaf has some of its ones, those after it are as good as zero.
            block.leaves[first + 1..first + here.len()].fill(0);
            let lanes = before.0[first..].iter_mut();
            for ((lane, leaf), new) in lanes.zip(&mut block.leaves[first..]).zip(here) {
                *lane = ones as u16;
                *leaf |= new;
                ones += leaf.count_ones();
            }
            block.before = before;
            let new = ones - u32::from(before.0[first]) - old.count_ones();
            self.ones += u64::from(new);
            self.recent += new;
            self.leaf_end += LEAF * (here.len() - 1);
            leaves = rest;
            if !leaves.is_empty() {
                self.open_leaf();
            }
        }
    }

    /// Closes the leaf at the end, which fixes what its successor has before it, and opens that.
    #[inline(always)]
    pub(super) fn open_leaf(&mut self) {
        let new = self.leaf_end / LEAF;
        let old = new - 1;
        let block = &mut self.blocks[old >> 5];
        let ones = block.leaves[old % 32].count_ones() + block.before.lane(old % 32);
        self.leaf_end += LEAF;
        if new.is_multiple_of(32) {
            self.open_block(new >> 5, ones);
        } else {
            block.leaves[new % 32] = 0;
            block.before.open(new % 32, ones);
        }
    }

    /// `open_leaf` where the block is full as well; `ones` is what it holds.
    #[cold]
    fn open_block(&mut self, new: usize, mut ones: u32) {
        self.blocks[new] = EMPTY;
        ones += self.n2[(new - 1) >> 5].lane((new - 1) % 32);
        if !new.is_multiple_of(32) {
            return self.n2[new >> 5].open(new % 32, ones);
        }
        self.n2[new >> 5] = Node([0; 32]);
        self.recent = 0;
        self.upper.open(new >> 5, ones);
    }
}

/// Something that knows the ones at and below a position.
pub trait Rank {
    fn rank(&self, position: u64) -> u64;
}

impl Rank for Bits {
    #[inline(always)]
    fn rank(&self, position: u64) -> u64 {
        let p = position as usize;
        let within = self.blocks[p >> 11].rank(p) + self.n2[p >> 16].lane((p >> 11) % 32);
        u64::from(within) + self.upper.before(p)
    }
}

/// Ranks among bits that stand still: what is above the blocks is summed up beforehand.
pub struct Ranks<'a> {
    pub(super) bits: &'a Bits,
    /// Ones before each block.
    bases: Vec<u64>,
}

impl Rank for Ranks<'_> {
    #[inline(always)]
    fn rank(&self, position: u64) -> u64 {
        let p = position as usize;
        self.bases[p >> 11] + u64::from(self.bits.blocks[p >> 11].rank(p))
    }
}
