//! What the engine is measured against. Both know only aligned 8-byte words, which the engine must not assume; both
//! report the number of bytes above a word, so that all can be compared depth by depth.

pub mod fenwick;
pub mod olken;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Sum of what loads found; equal sums mean equal depths.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Checksum {
    pub warm: u64,
    pub cold: u64,
}

impl Checksum {
    /// A word with `above` bytes above it: the sum of the depths of its bytes.
    #[inline(always)]
    pub fn warm(&mut self, above: u64, len: u64) {
        self.warm = self.warm.wrapping_add(above * len + len * (len + 1) / 2);
    }
    #[inline(always)]
    pub fn cold(&mut self, above: u64, len: u64) {
        self.cold = self.cold.wrapping_add(above * len + len * (len + 1) / 2);
    }
}

/// A stack of words.
pub trait Words {
    fn load(&mut self, word: u64, sum: &mut Checksum);
    fn store(&mut self, word: u64);
}

/// Where a yardstick keeps the last place of a word.
pub trait Map: Default {
    fn get(&self, word: u64) -> Option<u32>;
    fn set(&mut self, word: u64, place: u32);
    /// Replaces every place.
    fn update(&mut self, to: impl FnMut(u32) -> u32);
}

/// One multiplication per key: the standard library's default hash would make the yardsticks look slower than they are.
#[derive(Default)]
pub struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are words")
    }
    #[inline(always)]
    fn write_u64(&mut self, key: u64) {
        self.0 = key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

#[derive(Default)]
pub struct Hashed(HashMap<u64, u32, BuildHasherDefault<Multiply>>);

impl Map for Hashed {
    #[inline(always)]
    fn get(&self, word: u64) -> Option<u32> {
        self.0.get(&word).copied()
    }
    #[inline(always)]
    fn set(&mut self, word: u64, place: u32) {
        self.0.insert(word, place);
    }
    fn update(&mut self, mut to: impl FnMut(u32) -> u32) {
        self.0.values_mut().for_each(|place| *place = to(*place));
    }
}

const PAGE: u64 = 4096;

/// Pages of places behind one vector: as cheap as a shadow can be when addresses are small.
#[derive(Default)]
pub struct Paged(Vec<Option<Box<[u32; PAGE as usize]>>>);

impl Map for Paged {
    #[inline(always)]
    fn get(&self, word: u64) -> Option<u32> {
        let page = self.0.get((word / PAGE) as usize)?.as_ref()?;
        page[(word % PAGE) as usize].checked_sub(1)
    }
    #[inline(always)]
    fn set(&mut self, word: u64, place: u32) {
        let at = (word / PAGE) as usize;
        if at >= self.0.len() {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at].get_or_insert_with(|| Box::new([0; PAGE as usize]))[(word % PAGE) as usize] = place + 1;
    }
    fn update(&mut self, mut to: impl FnMut(u32) -> u32) {
        for place in self.0.iter_mut().flatten().flat_map(|page| page.iter_mut()).filter(|place| **place > 0) {
            *place = to(*place - 1) + 1;
        }
    }
}
