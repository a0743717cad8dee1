//! Nodes of the timeline: 32 lanes of counts, and blocks of 32 leaves with theirs.

use crate::engine::reserve::Zeros;

/// Positions of a leaf.
pub const LEAF: usize = 64;
/// Positions of a block.
pub const BLOCK: u64 = 32 * LEAF as u64;

#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Node<T>(pub [T; 32]);

/// A lane of a node. Arithmetic wraps, as lanes behind the open leaf hold rubbish until they are opened.
pub trait Lane: Copy + Default + 'static {
    /// 32 lanes of zeros, then 32 lanes of ones. Lane masks are windows of it: compilers turn a loop over a window into
    /// one or two vector instructions, which they do not do for a comparison with the lane's number.
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
    pub fn lane(&self, child: usize) -> u32 {
        self.0[child].get()
    }

    /// `n` ones fewer in `child`: corrects the lanes behind it.
    #[inline(always)]
    pub fn take(&mut self, child: usize, n: u32) {
        let masks = &T::WINDOW[31 - child..][..32];
        for (value, &mask) in self.0.iter_mut().zip(masks) {
            *value = value.less(n, mask);
        }
    }

    /// Opens `child`, which has `n` ones before it.
    #[inline(always)]
    pub fn open(&mut self, child: usize, n: u32) {
        let masks = &T::WINDOW[32 - child..][..32];
        for (value, &mask) in self.0.iter_mut().zip(masks) {
            *value = value.replaced(n, mask);
        }
    }

    /// The last child with fewer than `count` ones before it, and that number.
    #[inline(always)]
    pub fn last_below(&self, count: u32) -> (usize, u32) {
        let child = self.0.iter().map(|lane| usize::from(lane.get() < count)).sum::<usize>() - 1;
        (child, self.lane(child))
    }
}

/// A level-1 node and its leaves: one bounds check and two neighbouring cache lines for both.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Block {
    pub before: Node<u16>,
    pub leaves: [u64; 32],
}

impl Block {
    /// Ones of the block at and below a position in it.
    #[inline(always)]
    pub fn rank(&self, p: usize) -> u32 {
        let leaf = self.leaves[leaf_of(p)] & (u64::MAX >> (63 - p % LEAF));
        leaf.count_ones() + self.before.lane(leaf_of(p))
    }
}

// SAFETY: numbers.
unsafe impl Zeros for Block {}
// SAFETY: numbers.
unsafe impl Zeros for Node<u16> {}

pub const EMPTY: Block = Block { before: Node([0; 32]), leaves: [0; 32] };
pub const FULL: Block = {
    let mut before = [0; 32];
    let mut leaf = 0;
    while leaf < 32 {
        before[leaf] = (leaf * LEAF) as u16;
        leaf += 1;
    }
    Block { before: Node(before), leaves: [u64::MAX; 32] }
};

/// Number of the leaf in its block.
#[inline(always)]
pub fn leaf_of(p: usize) -> usize {
    (p >> 6) % 32
}

/// `len` ones from bit 0 on, `1 <= len <= 64`.
#[inline(always)]
pub fn low_ones(len: u64) -> u64 {
    u64::MAX >> (64 - len)
}
