//! The stack itself: a vector of bits over positions, newest at the end. A bit is 1 while the byte that was put there is
//! still there, so the depth of a byte is one more than the number of ones after it.
//!
//! Takes positions it handed out, gives counts of ones; refuses nothing but expects the caller to make room first.
//!
//! | level | one node | lane `i` holds the ones before child `i`, within the node |
//! |---|---|---|
//! | leaf | 64 bits | |
//! | 1 | 32 leaves, 2^11 positions | u16 |
//! | 2 | 32 nodes, 2^16 positions | u16 (at most 31 * 2048) |
//! | 3, 4, 5 | 32 nodes each, 2^21, 2^26, 2^31 positions | u32 |
//! | 6 | everything | one u64 per 2^31 positions |
//!
//! A count reads one lane per level. Taking ones away subtracts a constant from the lanes behind. Putting ones at the end
//! costs nothing until a leaf is full. Nodes are only ever written whole: a narrow store followed by a wide load of
//! the same line cannot be forwarded from the store buffer, and that stall is what makes the obvious layouts slow.

use super::cell::FIRST;
use super::hint::prefetch;

const LEAF: usize = 64;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Node<T>([T; 32]);

/// What a lane must offer: arithmetic that wraps, as lanes behind the open leaf hold rubbish until they are opened.
trait Lane: Copy + Default {
    fn less(self, n: u32) -> Self;
    fn set(n: u32) -> Self;
    fn get(self) -> u32;
}

impl Lane for u16 {
    #[inline(always)]
    fn less(self, n: u32) -> Self {
        self.wrapping_sub(n as u16)
    }
    #[inline(always)]
    fn set(n: u32) -> Self {
        n as u16
    }
    #[inline(always)]
    fn get(self) -> u32 {
        u32::from(self)
    }
}

impl Lane for u32 {
    #[inline(always)]
    fn less(self, n: u32) -> Self {
        self.wrapping_sub(n)
    }
    #[inline(always)]
    fn set(n: u32) -> Self {
        n
    }
    #[inline(always)]
    fn get(self) -> u32 {
        self
    }
}

impl<T: Lane> Node<T> {
    /// Ones before the child: `n` fewer in every lane behind `child`.
    #[inline(always)]
    fn take(&mut self, child: usize, n: u32) {
        let mut lanes = self.0;
        for (lane, value) in lanes.iter_mut().enumerate() {
            *value = value.less(if lane > child { n } else { 0 });
        }
        self.0 = lanes;
    }

    /// Opens `child`, which has `n` ones before it.
    #[inline(always)]
    fn open(&mut self, child: usize, n: u32) {
        let mut lanes = self.0;
        for (lane, value) in lanes.iter_mut().enumerate() {
            *value = if lane >= child { T::set(n) } else { *value };
        }
        self.0 = lanes;
    }
}

pub struct Timeline {
    leaves: Vec<u64>,
    n1: Vec<Node<u16>>,
    n2: Vec<Node<u16>>,
    n3: Vec<Node<u32>>,
    n4: Vec<Node<u32>>,
    n5: Vec<Node<u32>>,
    n6: Vec<u64>,
    /// Levels that can hold anything but zero: 2 to 6.
    height: u32,
    /// Next position to hand out, and where the open leaf ends.
    next: usize,
    leaf_end: usize,
    /// Positions to hand out before the next renumbering.
    limit: usize,
}

impl Timeline {
    /// A timeline with positions up to `limit`, of which `FIRST + gap ..` will be handed out.
    pub fn new(limit: u64) -> Self {
        let mut new = Timeline {
            leaves: Vec::new(),
            n1: Vec::new(),
            n2: Vec::new(),
            n3: Vec::new(),
            n4: Vec::new(),
            n5: Vec::new(),
            n6: Vec::new(),
            height: 0,
            next: 0,
            leaf_end: 0,
            limit: 0,
        };
        new.reset(limit, 0, 0);
        new
    }

    pub fn heap_bytes(&self) -> u64 {
        let bytes = (self.leaves.capacity() + self.n6.capacity()) * size_of::<u64>()
            + (self.n1.capacity() + self.n2.capacity()) * size_of::<Node<u16>>()
            + (self.n3.capacity() + self.n4.capacity() + self.n5.capacity()) * size_of::<Node<u32>>();
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
            if vec.len() < len {
                // Nothing in here is worth copying: all of it is written before it is read.
                *vec = Vec::new();
                *vec = vec![value; len];
            }
        }
        at_least(&mut self.leaves, limit / LEAF + 1, 0);
        at_least(&mut self.n1, (limit >> 11) + 1, Node([0; 32]));
        at_least(&mut self.n2, (limit >> 16) + 1, Node([0; 32]));
        at_least(&mut self.n3, (limit >> 21) + 1, Node([0; 32]));
        at_least(&mut self.n4, (limit >> 26) + 1, Node([0; 32]));
        at_least(&mut self.n5, (limit >> 31) + 1, Node([0; 32]));
        at_least(&mut self.n6, (limit >> 31) + 1, 0);
        self.leaves[0] = 0;
        self.n1[0] = Node([0; 32]);
        self.n2[0] = Node([0; 32]);
        self.n3[0] = Node([0; 32]);
        self.n4[0] = Node([0; 32]);
        self.n5[0] = Node([0; 32]);
        self.n6[0] = 0;
        self.next = LEAF;
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

    /// Whether a block of up to 8 bytes fits into the open leaf.
    #[inline(always)]
    pub fn leaf_has(&self, len: u64) -> bool {
        self.next + len as usize <= self.leaf_end
    }

    /// Ones at and below the position.
    #[inline(always)]
    pub fn rank(&self, position: u64) -> u64 {
        let p = position as usize;
        let ones = (self.leaves[p / LEAF] & (u64::MAX >> (63 - p % LEAF))).count_ones();
        let mut rank = ones + self.n1[p >> 11].0[(p >> 6) % 32].get() + self.n2[p >> 16].0[(p >> 11) % 32].get();
        if self.height > 2 {
            rank += self.n3[p >> 21].0[(p >> 16) % 32];
            if self.height > 3 {
                rank += self.n4[p >> 26].0[(p >> 21) % 32];
                if self.height > 4 {
                    return u64::from(rank) + u64::from(self.n5[p >> 31].0[(p >> 26) % 32]) + self.n6[p >> 31];
                }
            }
        }
        u64::from(rank)
    }

    /// Asks the processor to fetch what `rank` will read.
    #[inline(always)]
    pub fn prefetch(&self, position: u64) {
        let p = position as usize;
        prefetch(&self.leaves[p / LEAF]);
        prefetch(&self.n1[p >> 11]);
    }

    /// Clears ones that lie in one leaf.
    #[inline(always)]
    pub fn clear_in_leaf(&mut self, position: u64, len: u64) {
        let p = position as usize;
        self.leaves[p / LEAF] &= !(low_ones(len) << (p % LEAF));
        self.take(p, len as u32);
    }

    /// Clears ones.
    #[inline(always)]
    pub fn clear(&mut self, position: u64, len: u64) {
        let (mut p, mut left) = (position, len);
        while left > 0 {
            let part = left.min(LEAF as u64 - p % LEAF as u64);
            self.clear_in_leaf(p, part);
            p += part;
            left -= part;
        }
    }

    /// Sets bits at positions that were passed over before.
    pub fn fill(&mut self, position: u64, len: u64) {
        let (mut p, mut left) = (position as usize, len);
        while left > 0 {
            let part = left.min((LEAF - p % LEAF) as u64);
            self.leaves[p / LEAF] |= low_ones(part) << (p % LEAF);
            self.take(p, (part as u32).wrapping_neg());
            p += part as usize;
            left -= part;
        }
    }

    /// `n` (possibly negative) fewer ones in the leaf of `p`: corrects all lanes behind it.
    #[inline(always)]
    fn take(&mut self, p: usize, n: u32) {
        self.n1[p >> 11].take((p >> 6) % 32, n);
        self.n2[p >> 16].take((p >> 11) % 32, n);
        if self.height > 2 {
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
    }

    /// Hands out the next positions to bytes put on the top, and gives the first. There must be room.
    #[inline(always)]
    pub fn append(&mut self, len: u64) -> u64 {
        if len <= 8 {
            // Short blocks do not straddle leaves, so that taking them away is one update.
            if !self.leaf_has(len) {
                self.open_leaf();
            }
            return self.append_in_leaf(len);
        }
        self.append_dense(len)
    }

    /// As `append`, never skipping a position.
    #[inline(always)]
    fn append_dense(&mut self, len: u64) -> u64 {
        let first = self.next as u64;
        let mut left = len;
        while left > 0 {
            if self.next == self.leaf_end {
                self.open_leaf();
            }
            let part = left.min((self.leaf_end - self.next) as u64);
            self.append_in_leaf(part);
            left -= part;
        }
        first
    }

    #[inline(always)]
    pub fn append_in_leaf(&mut self, len: u64) -> u64 {
        let first = self.next;
        self.leaves[first / LEAF] |= low_ones(len) << (first % LEAF);
        self.next += len as usize;
        first as u64
    }

    /// Closes the leaf at the end, which fixes what its successor has before it, and goes on there.
    #[inline(always)]
    pub fn open_leaf(&mut self) {
        let new = self.leaf_end / LEAF;
        let old = new - 1;
        let mut ones = self.leaves[old].count_ones();
        self.leaves[new] = 0;
        self.next = self.leaf_end;
        self.leaf_end += LEAF;
        ones += self.n1[old >> 5].0[old % 32].get();
        if !new.is_multiple_of(32) {
            self.n1[new >> 5].open(new % 32, ones);
        } else {
            self.open_node(new, ones);
        }
    }

    /// `open_leaf` where a level-1 node (at least) is full as well; `ones` is what that node holds.
    #[cold]
    fn open_node(&mut self, leaf: usize, mut ones: u32) {
        self.n1[leaf >> 5] = Node([0; 32]);
        let new = leaf >> 5;
        ones += self.n2[(new - 1) >> 5].0[(new - 1) % 32].get();
        if !new.is_multiple_of(32) {
            return self.n2[new >> 5].open(new % 32, ones);
        }
        self.n2[new >> 5] = Node([0; 32]);
        let mut new = new >> 5;
        for level in [&mut self.n3, &mut self.n4, &mut self.n5] {
            ones += level[(new - 1) >> 5].0[(new - 1) % 32];
            if !new.is_multiple_of(32) {
                return level[new >> 5].open(new % 32, ones);
            }
            level[new >> 5] = Node([0; 32]);
            new >>= 5;
        }
        self.n6[new] = self.n6[new - 1] + u64::from(ones);
    }
}

/// `len` ones from bit 0 on, `1 <= len <= 64`.
#[inline(always)]
fn low_ones(len: u64) -> u64 {
    u64::MAX >> (64 - len)
}
