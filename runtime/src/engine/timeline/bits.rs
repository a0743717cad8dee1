//! The stack itself: a vector of bits over positions, newest at the end. A bit is 1 while the byte that was put there
//! is still there, so the depth of a byte is one more than the number of ones after it.
//!
//! Takes positions it handed out, gives counts of ones; refuses nothing but expects the caller to make room first.
//!
//! | level | one node | lane `i` holds the ones before child `i`, within the node |
//! |---|---|---|
//! | leaf | 64 bits | |
//! | 1 | 32 leaves, 2^11 positions; stored next to them, as a block | u16 |
//! | 2 | 32 nodes, 2^16 positions | u16 (at most 31 * 2048) |
//! | 3, 4, 5 | 32 nodes each, 2^21, 2^26, 2^31 positions | u32 |
//! | 6 | everything | one u64 per 2^31 positions |
//!
//! Position 5000 is bit 8 of leaf 78, which is child 14 of level-1 node 2, which is child 2 of level-2 node 0.
//!
//! A count reads one lane per level; in the newest level-2 node, whose ones are counted, it need not look further up.
//! Taking ones away subtracts a constant from the lanes behind. Putting ones at the end costs nothing until a leaf is
//! full. Nodes are only ever written whole: a narrow store followed by a wide load of the same line cannot be forwarded
//! from the store buffer, and that stall is what makes the obvious layouts slow.

use super::node::{BLOCK, Block, EMPTY, FULL, LEAF, Node, leaf_of, low_ones};
use crate::engine::{cell::FIRST, hint::prefetch, reserve::Reserve};

/// Blocks up to this size do not straddle leaves; longer ones waste no positions.
pub const SHORT: u64 = 16;

pub struct Timeline {
    pub(super) blocks: Reserve<Block>,
    pub(super) n2: Vec<Node<u16>>,
    pub(super) n3: Vec<Node<u32>>,
    pub(super) n4: Vec<Node<u32>>,
    pub(super) n5: Vec<Node<u32>>,
    pub(super) n6: Vec<u64>,
    /// Levels that can hold anything but zero: 2 to 6.
    pub(super) height: u32,
    /// Next position to hand out, and where the open leaf ends.
    pub(super) next: usize,
    pub(super) leaf_end: usize,
    /// Positions to hand out before the next renumbering.
    pub(super) limit: usize,
    /// Ones in all, and of these in the open level-2 node.
    pub(super) ones: u64,
    pub(super) recent: u32,
}

impl Timeline {
    /// A timeline with positions up to `limit`.
    pub fn new(limit: u64) -> Self {
        let mut new = Timeline {
            blocks: Reserve::new(1),
            n2: Vec::new(),
            n3: Vec::new(),
            n4: Vec::new(),
            n5: Vec::new(),
            n6: Vec::new(),
            height: 0,
            next: 0,
            leaf_end: 0,
            limit: 0,
            ones: 0,
            recent: 0,
        };
        new.reset(limit, 0, 0);
        new
    }

    /// Ones in all.
    #[inline(always)]
    pub fn ones(&self) -> u64 {
        self.ones
    }

    /// Positions to hand out before the next renumbering.
    pub fn limit(&self) -> u64 {
        self.limit as u64
    }

    pub fn heap_bytes(&self) -> u64 {
        let bytes = self.blocks.len() * size_of::<Block>()
            + self.n2.capacity() * size_of::<Node<u16>>()
            + (self.n3.capacity() + self.n4.capacity() + self.n5.capacity()) * size_of::<Node<u32>>()
            + self.n6.capacity() * size_of::<u64>();
        bytes as u64
    }

    /// Forgets everything: `gap` free positions at the bottom, then `ones` ones, then room up to `limit`.
    pub fn reset(&mut self, limit: u64, gap: u64, ones: u64) {
        let limit = limit as usize;
        self.limit = limit;
        self.height = match limit {
            0..=0x1_0000 => 2,
            0x1_0001..=0x20_0000 => 3,
            0x20_0001..=0x400_0000 => 4,
            0x400_0001..=0x8000_0000 => 5,
            _ => 6,
        };
        fn at_least<T: Clone>(vec: &mut Vec<T>, len: usize, value: T) {
            vec.resize(len.max(vec.len()), value);
        }
        self.blocks.grow((limit >> 11) + 1);
        at_least(&mut self.n2, (limit >> 16) + 1, Node([0; 32]));
        at_least(&mut self.n3, (limit >> 21) + 1, Node([0; 32]));
        at_least(&mut self.n4, (limit >> 26) + 1, Node([0; 32]));
        at_least(&mut self.n5, (limit >> 31) + 1, Node([0; 32]));
        at_least(&mut self.n6, (limit >> 31) + 1, 0);
        self.blocks[0] = EMPTY;
        self.n2[0] = Node([0; 32]);
        self.n3[0] = Node([0; 32]);
        self.n4[0] = Node([0; 32]);
        self.n5[0] = Node([0; 32]);
        self.n6[0] = 0;
        (self.ones, self.recent) = (0, 0);
        self.leaf_end = LEAF;
        let start = FIRST as usize + gap as usize;
        while self.leaf_end <= start {
            self.open_leaf();
        }
        self.next = start;
        self.append_dense(ones);
    }

    /// Whether `len` more bytes fit.
    #[inline(always)]
    pub fn has_room(&self, len: u64) -> bool {
        // A short block may skip the rest of a leaf.
        (self.limit - self.next) as u64 >= len.saturating_add(2 * LEAF as u64)
    }

    /// Whether a short block fits into the open leaf.
    #[inline(always)]
    pub fn leaf_has(&self, len: u64) -> bool {
        self.next + len as usize <= self.leaf_end
    }

    /// A way to ask for the ranks of many positions.
    pub fn ranks(&self) -> Ranks<'_> {
        let blocks = 0..=(self.leaf_end - 1) >> 11;
        let bases = blocks.map(|block| u64::from(self.n2[block >> 5].lane(block % 32)) + self.before(block << 11));
        Ranks { time: self, bases: bases.collect() }
    }

    /// Ones before the level-2 node of the position.
    #[inline(always)]
    pub(super) fn before(&self, p: usize) -> u64 {
        if self.height <= 2 {
            return 0;
        }
        let mut ones = self.n3[p >> 21].lane((p >> 16) % 32);
        if self.height > 3 {
            ones += self.n4[p >> 26].lane((p >> 21) % 32);
            if self.height > 4 {
                return u64::from(ones) + u64::from(self.n5[p >> 31].lane((p >> 26) % 32)) + self.n6[p >> 31];
            }
        }
        u64::from(ones)
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
        let above = ones - u64::from(within) - self.before(p);
        self.take_before(p, len as u32);
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
            self.ones += part;
            if self.is_recent(p) {
                self.recent += part as u32;
            } else {
                self.take_before(p, less);
            }
            p += part as usize;
            left -= part;
        }
    }

    /// Counts ones that were cleared in the level-2 node of `p`, above that.
    #[inline(always)]
    pub(super) fn took(&mut self, p: usize, n: u32) {
        self.ones -= u64::from(n);
        if self.is_recent(p) {
            self.recent -= n;
        } else {
            self.take_before(p, n);
        }
    }

    /// Whether the position lies in the open level-2 node.
    #[inline(always)]
    fn is_recent(&self, p: usize) -> bool {
        p >> 16 == (self.leaf_end - 1) >> 16
    }

    /// `n` (possibly negative) fewer ones in the level-2 node of `p`: corrects the lanes behind it.
    #[inline(always)]
    fn take_before(&mut self, p: usize, n: u32) {
        self.n3[p >> 21].take((p >> 16) % 32, n);
        if self.height > 3 {
            self.n4[p >> 26].take((p >> 21) % 32, n);
            if self.height > 4 {
                self.n5[p >> 31].take((p >> 26) % 32, n);
                for ones in &mut self.n6[(p >> 31) + 1..] {
                    *ones = ones.wrapping_sub(n as i32 as u64);
                }
            }
        }
    }

    /// Hands out the next positions to bytes put on the top, and gives the first. There must be room.
    #[inline(always)]
    pub fn append(&mut self, len: u64) -> u64 {
        if len <= SHORT {
            // Short blocks do not straddle leaves, so that taking them away is one update.
            if !self.leaf_has(len) {
                self.open_leaf();
            }
            return self.append_short(len);
        }
        self.append_dense(len)
    }

    /// Hands out the next positions to bytes put on the top, without skipping one, and gives the first.
    #[inline(always)]
    pub fn append_dense(&mut self, len: u64) -> u64 {
        let first = self.next as u64;
        let mut left = len;
        while left > 0 {
            if self.next == self.leaf_end {
                let rest = (self.next as u64).next_multiple_of(BLOCK) - self.next as u64;
                if left >= BLOCK && rest > 0 {
                    self.append_leaves(&FULL.leaves[..rest as usize / LEAF], rest);
                    left -= rest;
                    continue;
                }
                self.open_leaf();
                if left >= BLOCK {
                    self.fill_block();
                    left -= BLOCK;
                    continue;
                }
            }
            let part = left.min((self.leaf_end - self.next) as u64);
            self.append_in_leaf(part);
            left -= part;
        }
        first
    }

    /// Fills the block whose first leaf was just opened.
    #[inline(always)]
    fn fill_block(&mut self) {
        self.blocks[self.next >> 11] = FULL;
        self.next += BLOCK as usize;
        self.leaf_end = self.next;
        self.ones += BLOCK;
        self.recent += BLOCK as u32;
    }

    /// Hands out positions to a short block for which the open leaf has room. Words lie at multiples of their size, so
    /// that those of a loop lie at even steps whatever else is between them.
    #[inline(always)]
    pub fn append_short(&mut self, len: u64) -> u64 {
        if len == 8 || len == 16 {
            self.next = self.next.next_multiple_of(len as usize);
        }
        self.append_in_leaf(len)
    }

    /// Hands out positions that nothing is put at. There must be room.
    #[inline(always)]
    pub fn pass_over(&mut self, len: u64) -> u64 {
        let first = self.next;
        let end = first + len as usize;
        while self.leaf_end < end {
            self.open_leaf();
        }
        self.next = end;
        first as u64
    }

    /// Hands out the next positions of the open leaf, which must have room.
    #[inline(always)]
    fn append_in_leaf(&mut self, len: u64) -> u64 {
        let first = self.next;
        self.blocks[first >> 11].leaves[leaf_of(first)] |= low_ones(len) << (first % LEAF);
        self.next += len as usize;
        self.ones += len;
        self.recent += len as u32;
        first as u64
    }

    /// Closes the leaf at the end, which fixes what its successor has before it, and goes on there.
    #[inline(always)]
    pub fn open_leaf(&mut self) {
        let new = self.leaf_end / LEAF;
        let old = new - 1;
        let block = &mut self.blocks[old >> 5];
        let ones = block.leaves[old % 32].count_ones() + block.before.lane(old % 32);
        self.next = self.leaf_end;
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
        let mut new = new >> 5;
        for level in [&mut self.n3, &mut self.n4, &mut self.n5] {
            ones += level[(new - 1) >> 5].lane((new - 1) % 32);
            if !new.is_multiple_of(32) {
                return level[new >> 5].open(new % 32, ones);
            }
            level[new >> 5] = Node([0; 32]);
            new >>= 5;
        }
        self.n6[new] = self.n6[new - 1] + u64::from(ones);
    }
}

/// Something that knows the ones at and below a position.
pub trait Rank {
    fn rank(&self, position: u64) -> u64;
}

impl Rank for Timeline {
    #[inline(always)]
    fn rank(&self, position: u64) -> u64 {
        let p = position as usize;
        let within = self.blocks[p >> 11].rank(p) + self.n2[p >> 16].lane((p >> 11) % 32);
        u64::from(within) + self.before(p)
    }
}

/// Ranks in a timeline that stands still: what is above the blocks is summed up beforehand.
pub struct Ranks<'a> {
    pub(super) time: &'a Timeline,
    /// Ones before each block.
    bases: Vec<u64>,
}

impl Rank for Ranks<'_> {
    #[inline(always)]
    fn rank(&self, position: u64) -> u64 {
        let p = position as usize;
        self.bases[p >> 11] + u64::from(self.time.blocks[p >> 11].rank(p))
    }
}
