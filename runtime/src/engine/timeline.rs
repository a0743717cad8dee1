//! The stack itself: a vector of bits over positions, newest at the end. A bit is 1 while the byte that was put there is
//! still there, so the depth of a byte is one more than the number of ones after it.
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
//! A count reads one lane per level; in the newest level-2 node, whose ones are counted, it need not look further up. Taking
//! ones away subtracts a constant from the lanes behind. Putting ones at the end
//! costs nothing until a leaf is full. Nodes are only ever written whole: a narrow store followed by a wide load of
//! the same line cannot be forwarded from the store buffer, and that stall is what makes the obvious layouts slow.

use super::cell::FIRST;
use super::hint::prefetch;
use super::reserve::{Reserve, Zeros};
use super::sequences::{Sequence, WIDE_STEP, are_close};

const LEAF: usize = 64;
/// Positions of a block.
const BLOCK: u64 = 32 * LEAF as u64;
/// Blocks up to this size do not straddle leaves; longer ones waste no positions.
pub const SHORT: u64 = 16;
/// Loops begin and end with what is done one by one: places are to repeat but for so many steps.
const FEW: u64 = 4;
/// Blocks that are far from each other are fetched so many ahead.
const AHEAD: u64 = 8;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Node<T>([T; 32]);

/// A lane of a node. Arithmetic wraps, as lanes behind the open leaf hold rubbish until they are opened.
trait Lane: Copy + Default + 'static {
    /// 32 lanes of zeros, then 32 lanes of ones. Lane masks are windows of it: compilers turn a loop over a window into one
    /// or two vector instructions, which they do not do for a comparison with the lane's number.
    const WINDOW: &'static [Self; 64];
    /// `self - (n & mask)`.
    fn less(self, n: u32, mask: Self) -> Self;
    /// `n` where the mask is set.
    fn replaced(self, n: u32, mask: Self) -> Self;
    fn get(self) -> u32;
}

macro_rules! lane {
    ($type:ty) => {
        impl Lane for $type {
            const WINDOW: &'static [Self; 64] = &{
                let mut window = [0; 64];
                let mut lane = 32;
                while lane < 64 {
                    window[lane] = <$type>::MAX;
                    lane += 1;
                }
                window
            };
            #[inline(always)]
            fn less(self, n: u32, mask: Self) -> Self {
                self.wrapping_sub(n as $type & mask)
            }
            #[inline(always)]
            fn replaced(self, n: u32, mask: Self) -> Self {
                self & !mask | n as $type & mask
            }
            #[inline(always)]
            fn get(self) -> u32 {
                u32::from(self)
            }
        }
    };
}

lane!(u16);
lane!(u32);

impl<T: Lane> Node<T> {
    #[inline(always)]
    fn lane(&self, child: usize) -> u32 {
        self.0[child].get()
    }

    /// `n` ones fewer in `child`: corrects the lanes behind it.
    #[inline(always)]
    fn take(&mut self, child: usize, n: u32) {
        let masks = &T::WINDOW[31 - child..][..32];
        for (value, &mask) in self.0.iter_mut().zip(masks) {
            *value = value.less(n, mask);
        }
    }

    /// Opens `child`, which has `n` ones before it.
    #[inline(always)]
    fn open(&mut self, child: usize, n: u32) {
        let masks = &T::WINDOW[32 - child..][..32];
        for (value, &mask) in self.0.iter_mut().zip(masks) {
            *value = value.replaced(n, mask);
        }
    }
}

/// How blocks of ones lie that repeat.
#[derive(Clone, Copy)]
pub struct Repeat {
    /// The first block from which they do, counted from the lowest, and the first from which they do no longer.
    pub even: (usize, usize),
    /// Ones from one of these to the next.
    pub gap: u64,
}

/// A level-1 node and its leaves: one bounds check and two neighbouring cache lines for both.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block {
    before: Node<u16>,
    leaves: [u64; 32],
}

impl Block {
    /// Ones of the block at and below a position in it.
    #[inline(always)]
    fn rank(&self, p: usize) -> u32 {
        let leaf = self.leaves[leaf_of(p)] & (u64::MAX >> (63 - p % LEAF));
        leaf.count_ones() + self.before.lane(leaf_of(p))
    }
}

// SAFETY: numbers.
unsafe impl Zeros for Block {}

const EMPTY: Block = Block { before: Node([0; 32]), leaves: [0; 32] };
const FULL: Block = {
    let mut before = [0; 32];
    let mut leaf = 0;
    while leaf < 32 {
        before[leaf] = (leaf * LEAF) as u16;
        leaf += 1;
    }
    Block { before: Node(before), leaves: [u64::MAX; 32] }
};

pub struct Timeline {
    blocks: Reserve<Block>,
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
    /// Ones in all, and of these in the open level-2 node.
    ones: u64,
    recent: u32,
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
    fn before(&self, p: usize) -> u64 {
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

    /// Clears `count` blocks of ones, the first at a position and each `step` from the one before. `masks` is room to work in.
    #[inline(always)]
    pub fn clear_many(&mut self, position: u64, step: i64, count: usize, len: u64, masks: &mut Vec<u64>) {
        let low = lowest(position, step, count);
        self.clear_sequences(&[Sequence { step: step.unsigned_abs(), low, len, stream: 0 }], count, masks);
    }

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

    /// `clear_many` for blocks that are far from each other, upwards: the levels above are told once per level-2 node.
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

    /// Clears ones in neighbouring leaves; `p` is the start of the first. The levels above are told once per level-2 node.
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

    /// The ones above the first of `count` positions `step` apart, each the last of a block of `len` ones, and how their number
    /// changes from one to the next; nothing if that cannot be told without counting each.
    #[inline(always)]
    pub fn evenly_above(&self, position: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)> {
        let (rank, change) = self.even_ranks(self, position, step, count, len)?;
        Some((self.ones - rank, -change))
    }

    /// The rank of the first of such positions, and how it changes.
    #[inline(always)]
    fn even_ranks(&self, ranks: &impl Rank, position: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)> {
        let (first, last) = (ranks.rank(position), ranks.rank(position.wrapping_add_signed(step * (count as i64 - 1))));
        let (total, gaps, wide) = (first.abs_diff(last), count as u64 - 1, step.unsigned_abs());
        let change = total / gaps;
        let is_even = total == change * gaps
            // Between two there are at least the ones of a block, and at most ones all over.
            && (change == len || change == wide || self.is_even(ranks, position, step, count, change));
        is_even.then_some((first, if step > 0 { change as i64 } else { -(change as i64) }))
    }

    /// Whether the number of ones between neighbours of some positions is `change` throughout, by seeing that it is near both ends
    /// and that the leaves between them repeat as the positions do.
    #[inline(always)]
    fn is_even(&self, ranks: &impl Rank, position: u64, step: i64, count: usize, change: u64) -> bool {
        let wide = step.unsigned_abs();
        let low = lowest(position, step, count);
        let high = low + wide * (count as u64 - 1);
        let period = period(wide) as usize;
        // Of the leaves from the second to the last but one, each is as the one a period before. So all gaps within them are
        // as those within the first of their periods.
        let near_start = ((period + 3) * LEAF) as u64 / wide + 2;
        let near_end = 2 * LEAF as u64 / wide + 2;
        if period > 16 || near_start + near_end >= count as u64 {
            return false;
        }
        changes(ranks, low, wide, near_start, change)
            && changes(ranks, high - near_end * wide, wide, near_end, change)
            && self.repeat_by(low as usize / LEAF + 1, (high as usize / LEAF).saturating_sub(period), period, 0)
    }

    /// How rows of `count` blocks repeat, `step` from one block of a row to the next. Their first blocks begin within a step from `start` on, where the
    /// lowest does, and the highest of the last ends at `end`. Nothing if they hardly repeat.
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
        if !self.repeat_by(even as usize, late as usize, whole as usize, part as u32) {
            return None;
        }
        let begin = (low..even).rev().find(|&at| differ_within(at) != 0).map_or(0, |at| {
            let place = at * LEAF as u64 + u64::from(differ_within(at).ilog2());
            (place - start) / step + 1
        });
        // What lies between two blocks ends less than two steps behind the start of the step in which the first of them is.
        let until = (late..=high).find(|&at| differ_within(at) != 0).map_or(count as u64, |at| {
            let place = at * LEAF as u64 + u64::from(differ_within(at).trailing_zeros());
            (place - start) / step
        });
        if begin > FEW || until < begin + FEW {
            return None;
        }
        let first = start + begin * step;
        let gap = self.rank(first + step - 1) - self.rank(first - 1);
        Some(Repeat { even: (begin as usize, until as usize), gap })
    }

    /// Whether the leaves of a range are what lies `whole` leaves and `part` positions behind each.
    #[inline(always)]
    fn repeat_by(&self, start: usize, end: usize, whole: usize, part: u32) -> bool {
        let leaf = |at: usize| self.blocks.get(at >> 5).map_or(0, |block| block.leaves[at % 32]);
        let moved = |low: u64, high: u64| low >> part | high.checked_shl(64 - part).unwrap_or(0);
        let mut at = start;
        while at < end {
            let (leaves, first) = (&self.blocks[at >> 5].leaves, at % 32);
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
                above = self.ones - self.before(p) - u64::from(self.n2[p >> 16].lane(number % 32));
            }
            *count = above - u64::from(self.blocks[number].rank(p));
            p = p.wrapping_add_signed(step as isize);
        }
    }

    /// The next position, after passing over some if it is not a multiple of `len`, a power of two.
    #[inline(always)]
    pub fn aligned_end(&mut self, len: u64) -> u64 {
        self.next = self.next.next_multiple_of(len as usize);
        self.next as u64
    }

    /// Hands out the next `len` positions, of which those with a one in `leaves` are used; `leaves` starts with the leaf
    /// of the next position. There must be room.
    #[inline(always)]
    pub fn append_leaves(&mut self, mut leaves: &[u64], len: u64) {
        let end = self.next + len as usize;
        if self.next == self.leaf_end {
            self.open_leaf();
        }
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
        self.next = end;
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
    fn took(&mut self, p: usize, n: u32) {
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

    /// As `append`, never skipping a position.
    #[inline(always)]
    fn append_dense(&mut self, len: u64) -> u64 {
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

    /// As `append` for a short block for which the open leaf has room. Words lie at multiples of their size, so that those of a loop lie
    /// at even steps whatever else is between them.
    #[inline(always)]
    pub fn append_short(&mut self, len: u64) -> u64 {
        if len == 8 || len == 16 {
            self.next = self.next.next_multiple_of(len as usize);
        }
        self.append_in_leaf(len)
    }

    /// As `append` where the open leaf has room.
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

/// Ranks in a timeline that stands still: what is above the blocks is summed up beforehand.
pub struct Ranks<'a> {
    time: &'a Timeline,
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

impl Ranks<'_> {
    /// The ranks of the first bytes of `count` blocks of `len` ones, `step` apart, as the first and the step between them; nothing if that
    /// cannot be told without asking for each.
    #[inline(always)]
    pub fn even(&self, position: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)> {
        self.time.even_ranks(self, position, step, count, len)
    }
}

/// Leaves after which blocks `step` apart lie in the same places again.
#[inline(always)]
fn period(step: u64) -> u64 {
    step >> step.trailing_zeros().min(LEAF.trailing_zeros())
}

/// Makes masks of leaves with rows of `count` blocks of ones, `step` apart. For each row, places from the start of the first leaf to its first block,
/// and ones per block; the first blocks lie within one step, the lowest in the first leaf.
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

/// The lowest of `count` positions that are `step` apart.
#[inline(always)]
fn lowest(position: u64, step: i64, count: usize) -> u64 {
    if step < 0 { position.wrapping_add_signed(step * (count as i64 - 1)) } else { position }
}

/// Number of the leaf in its block.
#[inline(always)]
fn leaf_of(p: usize) -> usize {
    (p >> 6) % 32
}

/// `len` ones from bit 0 on, `1 <= len <= 64`.
#[inline(always)]
fn low_ones(len: u64) -> u64 {
    u64::MAX >> (64 - len)
}
