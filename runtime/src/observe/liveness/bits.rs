//! Which bytes will be read again: one bit per byte of the program, in pages of 4 KiB that exist where something was
//! set.
//!
//! Takes address ranges; any 64-bit address works, ranges that would run past the last address are cut there. Memory is
//! 512 bytes per page touched plus 24 for finding it, and a constant.

use std::collections::HashMap;

use crate::{engine::clamped, hash::FastHash};

const PAGE_BITS: u32 = 12;
const PAGE: u64 = 1 << PAGE_BITS;
const WORDS: usize = (PAGE / 64) as usize;
/// Pages found lately, direct mapped.
const RECENT: usize = 512;
const NO_PAGE: u64 = u64::MAX;

pub struct Bits {
    /// Page 0 is shared by all absent ones and stays zero.
    pages: Vec<[u64; WORDS]>,
    index: HashMap<u64, u32, FastHash>,
    recent: Box<[(u64, u32); RECENT]>,
}

impl Default for Bits {
    fn default() -> Self {
        Self { pages: vec![[0; WORDS]], index: HashMap::default(), recent: Box::new([(NO_PAGE, 0); RECENT]) }
    }
}

impl Bits {
    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        (self.pages.capacity() * size_of::<[u64; WORDS]>() + self.index.capacity() * 16) as u64
    }

    /// Sets (`LIVE`) or clears the bits of up to 64 bytes and gives what they were, the first byte's lowest.
    #[inline]
    pub fn exchange<const LIVE: bool>(&mut self, addr: u64, len: u64) -> u64 {
        debug_assert!((1..=64).contains(&len));
        let shift = addr % 64;
        let mask = low_ones(len);
        if shift + len <= 64 {
            return self.exchange_in_word::<LIVE>(addr, mask);
        }
        let low = 64 - shift;
        let first = self.exchange_in_word::<LIVE>(addr, low_ones(low));
        first | self.exchange_in_word::<LIVE>(addr.wrapping_add(low), low_ones(len - low)) << low
    }

    /// Sets (`LIVE`) or clears the bits of bytes within one aligned block of 64 and gives what they were, the lowest
    /// first.
    #[inline]
    pub fn exchange_in_word<const LIVE: bool>(&mut self, addr: u64, mask: u64) -> u64 {
        let page = self.page::<LIVE>(addr >> PAGE_BITS);
        let word = &mut self.pages[page as usize][(addr % PAGE / 64) as usize];
        let shift = addr % 64;
        let old = *word >> shift & mask;
        if LIVE {
            *word |= mask << shift;
        } else {
            *word &= !(mask << shift);
        }
        old
    }

    /// Index of a page, made if `MAKE`; 0 for an absent one.
    #[inline]
    fn page<const MAKE: bool>(&mut self, number: u64) -> u32 {
        let (tag, page) = self.recent[number as usize % RECENT];
        if tag == number && (page != 0 || !MAKE) { page } else { self.find_page::<MAKE>(number) }
    }

    #[inline(never)]
    fn find_page<const MAKE: bool>(&mut self, number: u64) -> u32 {
        let mut page = self.index.get(&number).copied().unwrap_or(0);
        if page == 0 && MAKE {
            page = self.pages.len() as u32;
            if self.pages.len() == self.pages.capacity() {
                // Grow by an eighth: large arrays are remapped, not copied, and memory stays close to what is used.
                self.pages.reserve_exact((self.pages.len() / 8).max(64));
            }
            self.pages.push([0; WORDS]);
            self.index.insert(number, page);
        }
        self.recent[number as usize % RECENT] = (number, page);
        page
    }

    pub fn set(&mut self, addr: u64, len: u64) {
        for (addr, len) in pieces(addr, len) {
            self.exchange::<true>(addr, len);
        }
    }

    pub fn clear(&mut self, addr: u64, len: u64) {
        let len = clamped(addr, len);
        // Mappings can be far larger than what was touched of them.
        for (start, part) in self.present(addr, len) {
            for (addr, len) in pieces(start, part) {
                self.exchange::<false>(addr, len);
            }
        }
    }

    /// The set ones of a range, as (start, length).
    pub fn runs(&mut self, addr: u64, len: u64) -> Vec<(u64, u64)> {
        let len = clamped(addr, len);
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (start, part) in self.present(addr, len) {
            for (at, len) in pieces(start, part) {
                add_runs(at, self.get(at, len), &mut runs);
            }
        }
        runs
    }

    /// The bits of up to 64 bytes of one aligned block.
    #[inline]
    pub fn get(&mut self, addr: u64, len: u64) -> u64 {
        let page = self.page::<false>(addr >> PAGE_BITS);
        self.pages[page as usize][(addr % PAGE / 64) as usize] >> (addr % 64) & low_ones(len)
    }

    /// The parts of a range that lie in pages that exist, in order.
    fn present(&self, addr: u64, len: u64) -> Vec<(u64, u64)> {
        if len == 0 {
            return Vec::new();
        }
        let last = addr + (len - 1);
        let (first_page, last_page) = (addr >> PAGE_BITS, last >> PAGE_BITS);
        let part = |page: u64| {
            let start = addr.max(page << PAGE_BITS);
            (start, last.min((page << PAGE_BITS) | (PAGE - 1)) - start + 1)
        };
        if last_page - first_page < self.index.len() as u64 {
            return (first_page..=last_page).filter(|page| self.index.contains_key(page)).map(part).collect();
        }
        let mut pages: Vec<u64> = self.index.keys().copied().filter(|p| (first_page..=last_page).contains(p)).collect();
        pages.sort_unstable();
        pages.into_iter().map(part).collect()
    }

    /// What is known of `to` becomes known of `from`, as before a move; nothing of the target's other bytes is needed.
    pub fn unmove(&mut self, from: u64, to: u64, len: u64) {
        let len = clamped(from, len).min(clamped(to, len));
        if from == to || len == 0 {
            return;
        }
        let runs = self.runs(to, len);
        self.clear(to, len);
        self.clear(from, len);
        for (start, len) in runs {
            self.set(start - to + from, len);
        }
    }
}

/// Cuts a range at multiples of 64.
pub fn pieces(addr: u64, len: u64) -> impl Iterator<Item = (u64, u64)> {
    let (mut at, mut left) = (addr, clamped(addr, len));
    std::iter::from_fn(move || {
        let part = left.min(64 - at % 64);
        let piece = (part > 0).then_some((at, part));
        at = at.wrapping_add(part);
        left -= part;
        piece
    })
}

/// Adds the runs of ones of a mask; the first may continue the last that is there.
pub fn add_runs(addr: u64, mut mask: u64, runs: &mut Vec<(u64, u64)>) {
    let mut at = addr;
    while mask != 0 {
        let skip = mask.trailing_zeros();
        mask >>= skip;
        at += u64::from(skip);
        let ones = mask.trailing_ones();
        match runs.last_mut() {
            Some((start, len)) if *start + *len == at => *len += u64::from(ones),
            _ => runs.push((at, u64::from(ones))),
        }
        mask = mask.checked_shr(ones).unwrap_or(0);
        at = at.wrapping_add(u64::from(ones));
    }
}

/// `len` ones from bit 0 on, `1 <= len <= 64`.
#[inline]
pub fn low_ones(len: u64) -> u64 {
    u64::MAX >> (64 - len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    #[test]
    fn ranges_are_set_cleared_and_listed_across_pages() {
        let mut bits = Bits::default();
        bits.set(4000, 200);
        bits.set(1 << 40, 3);
        assert_eq!(bits.runs(0, u64::MAX), [(4000, 200), (1 << 40, 3)]);
        bits.clear(4090, 20);
        assert_eq!(bits.runs(3999, 300), [(4000, 90), (4110, 90)]);
        assert_eq!(bits.exchange::<true>(4088, 8), 0b11);
        assert_eq!(bits.exchange::<false>(4060, 64), 0x3fff << 50 | ((1 << 36) - 1));
        bits.clear(0, u64::MAX);
        assert!(bits.runs(0, u64::MAX).is_empty());
        let pages = bits.pages.len();
        bits.clear(1 << 50, 1 << 45);
        assert_eq!(bits.pages.len(), pages, "clearing makes no pages");
        bits.set(u64::MAX - 3, 100);
        assert_eq!(bits.runs(0, u64::MAX), [(u64::MAX - 3, 3)], "the last address is never reached");
    }

    #[test]
    fn moves_go_backwards_even_if_the_ranges_overlap() {
        let mut bits = Bits::default();
        bits.set(1010, 5);
        bits.unmove(1000, 1008, 16);
        assert_eq!(bits.runs(0, 5000), [(1002, 5)]);
    }

    #[test]
    fn bits_tell_what_they_hold() {
        let set = || {
            let mut bits = Bits::default();
            (0..1000).for_each(|page| bits.set(page << 30, 5));
            bits
        };
        tells_what_it_holds(set, Bits::heap_bytes);
    }
}
