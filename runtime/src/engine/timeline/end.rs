//! The stack itself: bits over positions, and the end at which positions are handed out to bytes put on the top.
//!
//! Takes lengths, gives first positions; refuses nothing but expects the caller to make room first. What was handed out
//! is counted and cleared by the bits.

use std::ops::{Deref, DerefMut};

use super::{
    bits::Bits,
    node::{BLOCK, FULL, LEAF},
};
use crate::engine::cell::FIRST;

/// Blocks up to this size do not straddle leaves; longer ones waste no positions.
pub const SHORT: u64 = 16;

/// A timeline is its bits and can be asked as they can, but only it adds any.
pub struct Timeline {
    bits: Bits,
    /// Next position to hand out.
    next: usize,
    /// Positions to hand out before the next renumbering.
    limit: usize,
}

impl Deref for Timeline {
    type Target = Bits;

    #[inline(always)]
    fn deref(&self) -> &Bits {
        &self.bits
    }
}

impl DerefMut for Timeline {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Bits {
        &mut self.bits
    }
}

impl Timeline {
    /// A timeline with positions up to `limit`.
    pub fn new(limit: u64) -> Self {
        let mut new = Timeline { bits: Bits::new(), next: 0, limit: 0 };
        new.reset(limit, 0, 0);
        new
    }

    /// Positions to hand out before the next renumbering.
    pub fn limit(&self) -> u64 {
        self.limit as u64
    }

    /// Forgets everything: `gap` free positions at the bottom, then `ones` ones, then room up to `limit`.
    pub fn reset(&mut self, limit: u64, gap: u64, ones: u64) {
        self.limit = limit as usize;
        self.bits.reset(self.limit);
        let start = (FIRST + gap) as usize;
        while self.bits.leaf_end <= start {
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
        self.next + len as usize <= self.bits.leaf_end
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
            if self.next == self.bits.leaf_end {
                let rest = (self.next as u64).next_multiple_of(BLOCK) - self.next as u64;
                if left >= BLOCK && rest > 0 {
                    self.append_leaves(&FULL.leaves[..rest as usize / LEAF], rest);
                    left -= rest;
                    continue;
                }
                self.open_leaf();
                if left >= BLOCK {
                    self.bits.fill_block();
                    self.next = self.bits.leaf_end;
                    left -= BLOCK;
                    continue;
                }
            }
            let part = left.min((self.bits.leaf_end - self.next) as u64);
            self.append_in_leaf(part);
            left -= part;
        }
        first
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
        while self.bits.leaf_end < end {
            self.open_leaf();
        }
        self.next = end;
        first as u64
    }

    /// Hands out the next positions of the open leaf, which must have room.
    #[inline(always)]
    fn append_in_leaf(&mut self, len: u64) -> u64 {
        let first = self.next;
        self.bits.put(first, len);
        self.next += len as usize;
        first as u64
    }

    /// Goes on in the next leaf.
    #[inline(always)]
    pub fn open_leaf(&mut self) {
        self.next = self.bits.leaf_end;
        self.bits.open_leaf();
    }

    /// The next position that is a multiple of `len`, a power of two.
    #[inline(always)]
    pub fn next_aligned(&self, len: u64) -> u64 {
        self.next.next_multiple_of(len as usize) as u64
    }

    /// The next position, after passing over some if it is not a multiple of `len`, a power of two.
    #[inline(always)]
    pub fn aligned_end(&mut self, len: u64) -> u64 {
        self.next = self.next_aligned(len) as usize;
        self.next as u64
    }

    /// Hands out the next `len` positions, of which those with a one in `leaves` are used; `leaves` starts with the
    /// leaf of the next position. There must be room.
    #[inline(always)]
    pub fn append_leaves(&mut self, leaves: &[u64], len: u64) {
        let end = self.next + len as usize;
        if self.next == self.bits.leaf_end {
            self.open_leaf();
        }
        self.bits.put_leaves(leaves);
        self.next = end;
    }
}
