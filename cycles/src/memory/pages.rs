//! Pages: which were touched before, which are huge, and what the system takes to give them.
//!
//! Takes what the system was asked for ([`Paging`]) and addresses, gives the numbers by which translations are found,
//! and what a first touch takes. A huge page is as large as [`HUGE`] others. It is given where the first touch is, if
//! all of it lies in memory that has huge pages and none of it was touched before, as Linux does it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::cache::LINE;
use crate::figures::Figures;

/// Pages that a huge one is as large as, as a power of two.
const HUGE: u32 = 9;
/// Set in the number of a huge page.
const IS_HUGE: u64 = 1 << 63;

/// What a program asks of the system about its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// New memory without a file.
    Anonymous,
    /// New memory that huge pages are set aside for (`MAP_HUGETLB`).
    Huge,
    /// New memory of another kind: of a file, or reserved only.
    Other,
    /// Huge pages are wanted (`MADV_HUGEPAGE`).
    Wanted,
    /// They are not (`MADV_NOHUGEPAGE`).
    Unwanted,
    /// What is there is given back: pages are new again (`MADV_DONTNEED`).
    Dropped,
    /// So many bytes from here are at the address from now on, with what the system has given; the rest is new.
    Moved {
        /// First byte of the old place.
        from: u64,
        /// Its bytes.
        bytes: u64,
    },
}

/// Pages of a thread.
pub struct Pages {
    shift: u32,
    touched: Touched,
    /// Memory that has huge pages: end by start.
    ranges: BTreeMap<u64, u64>,
    /// Huge pages that were given.
    huge: HashSet<u64>,
    /// Which mappings have huge pages: see [`Figures::huge_pages`].
    policy: u64,
    fault: u64,
    huge_fault: u64,
}

impl Pages {
    pub fn new(figures: &Figures) -> Self {
        let page = figures.page.max(4096);
        Self {
            shift: page.ilog2(),
            touched: Touched::default(),
            ranges: BTreeMap::new(),
            huge: HashSet::new(),
            policy: figures.huge_pages,
            fault: figures.page_fault,
            // All its lines are written.
            huge_fault: figures.page_fault + (page << HUGE >> LINE) * figures.memory_gap,
        }
    }

    /// Whether both addresses are in one page of the usual size; prefetchers know no other.
    pub fn is_same(&self, one: u64, other: u64) -> bool {
        one >> self.shift == other >> self.shift
    }

    /// The number of an address's page; those of huge pages are others.
    #[inline(always)]
    pub fn number(&self, address: u64) -> u64 {
        self.huge_at(address).map_or(address >> self.shift, |(huge, _)| huge)
    }

    /// Number of the huge page that an address is in, and its lines, as a power of two.
    #[inline(always)]
    pub fn huge_at(&self, address: u64) -> Option<(u64, u32)> {
        if self.huge.is_empty() {
            return None;
        }
        let shift = self.shift + HUGE;
        let huge = address >> shift;
        self.huge.contains(&huge).then_some((huge | IS_HUGE, shift - LINE))
    }

    /// Cycles that the system takes to give an address's page, if this is its first use.
    pub fn touch(&mut self, address: u64) -> u64 {
        let huge = address >> (self.shift + HUGE);
        if self.is_to_be_huge(huge) {
            self.huge.insert(huge);
            return self.huge_fault;
        }
        let is_first = self.huge_at(address).is_none() && self.touched.touch(address >> self.shift);
        if is_first { self.fault } else { 0 }
    }

    fn is_to_be_huge(&self, huge: u64) -> bool {
        if self.ranges.is_empty() || self.huge.contains(&huge) {
            return false;
        }
        let (start, end) = (huge << (self.shift + HUGE), (huge + 1) << (self.shift + HUGE));
        let around = self.ranges.range(..=start).next_back();
        around.is_some_and(|(_, last)| *last >= end) && self.touched.is_untouched(huge)
    }

    /// The program asked something of the system. Gives the numbers of pages whose translation is gone.
    pub fn apply_paging(&mut self, paging: Paging, address: u64, bytes: u64) -> Gone {
        let end = address.saturating_add(bytes);
        match paging {
            Paging::Anonymous => self.set(address, end, self.policy >= 2),
            Paging::Huge => self.set(address, end, true),
            Paging::Other | Paging::Unwanted => self.set(address, end, false),
            Paging::Wanted => self.set(address, end, self.policy >= 1),
            Paging::Dropped => {}
            Paging::Moved { from, bytes: old } => return self.move_to(address, end, from, old),
        }
        match paging {
            Paging::Wanted | Paging::Unwanted => Gone(0..0, 0..0),
            _ => self.forget(address, end),
        }
    }

    /// Bytes have huge pages from now on, or not.
    fn set(&mut self, start: u64, end: u64, is_huge: bool) {
        for at in [start, end] {
            if let Some((_, last)) = self.ranges.range_mut(..at).next_back().filter(|(_, last)| **last > at) {
                let behind = std::mem::replace(last, at);
                self.ranges.insert(at, behind);
            }
        }
        self.ranges.retain(|from, _| *from < start || *from >= end);
        if !is_huge || start >= end {
            return;
        }
        let before = self.ranges.range(..start).next_back().filter(|(_, last)| **last == start).map(|(from, _)| *from);
        let last = self.ranges.remove(&end).unwrap_or(end);
        self.ranges.insert(before.unwrap_or(start), last);
    }

    /// Pages of these bytes are new.
    fn forget(&mut self, start: u64, end: u64) -> Gone {
        let numbers = |shift: u32| start >> shift..end.div_ceil(1 << shift);
        let (pages, huge) = (numbers(self.shift), numbers(self.shift + HUGE));
        self.touched.forget(pages.start, pages.end);
        let cut: Vec<u64> = self.huge.extract_if(|number| huge.contains(number)).collect();
        // What is left of a huge page is usual ones.
        for page in cut.into_iter().flat_map(|number| number << HUGE..(number + 1) << HUGE) {
            if !pages.contains(&page) {
                self.touched.touch(page);
            }
        }
        Gone(pages, huge.start | IS_HUGE..huge.end | IS_HUGE)
    }

    /// What was given for the old place is at the new one, as usual pages; what is behind it is new.
    fn move_to(&mut self, to: u64, end: u64, from: u64, old: u64) -> Gone {
        let has_huge = self.ranges.range(..=from).next_back().is_some_and(|(_, last)| *last > from);
        let from_end = from.saturating_add(old);
        if to == from {
            let start = end.min(from_end);
            self.set(start, end.max(from_end), has_huge && end > from_end);
            return self.forget(start, end.max(from_end));
        }
        let given = self.given(from, from.saturating_add(old.min(end - to)));
        self.set(from, from_end, false);
        let gone = self.forget(from, from_end);
        self.set(to, end, has_huge);
        self.forget(to, end);
        let (first, new) = (from >> self.shift, to >> self.shift);
        given.into_iter().for_each(|page| _ = self.touched.touch(page - first + new));
        gone
    }

    /// Numbers of the usual pages of these bytes that the system has given, those of huge pages among them.
    fn given(&self, start: u64, end: u64) -> Vec<u64> {
        let pages = start >> self.shift..end >> self.shift;
        let huge = self.huge.iter().flat_map(|number| number << HUGE..(number + 1) << HUGE);
        let mut given = self.touched.within(pages.start, pages.end);
        given.extend(huge.filter(|page| pages.contains(page)));
        given
    }
}

/// Numbers of pages, and of huge ones, whose translation is gone.
pub struct Gone(std::ops::Range<u64>, std::ops::Range<u64>);

impl Gone {
    /// Whether a number is among them.
    pub fn contains(&self, number: u64) -> bool {
        self.0.contains(&number) || self.1.contains(&number)
    }
}

/// Usual pages that were touched, as bits: of as many as a huge one has, by its number.
#[derive(Default)]
struct Touched {
    pages: HashMap<u64, [u64; 8]>,
}

impl Touched {
    /// The word of a page among those of its huge one, and its bit.
    fn bit(page: u64) -> (usize, u64) {
        (((page >> 6) & 7) as usize, 1 << (page & 63))
    }

    /// Whether a page is touched for the first time.
    fn touch(&mut self, page: u64) -> bool {
        let (word, bit) = Self::bit(page);
        let bits = &mut self.pages.entry(page >> HUGE).or_default()[word];
        let is_first = *bits & bit == 0;
        *bits |= bit;
        is_first
    }

    fn is_untouched(&self, huge: u64) -> bool {
        self.pages.get(&huge).is_none_or(|bits| bits.iter().all(|word| *word == 0))
    }

    /// Those that were touched from `first` up to before `end`.
    fn within(&self, first: u64, end: u64) -> Vec<u64> {
        let numbers = first >> HUGE..end.div_ceil(1 << HUGE);
        // Of a range that is larger than all pages, only those that there are are looked at.
        let all: Vec<u64> = if numbers.end - numbers.start > self.pages.len() as u64 {
            self.pages.keys().copied().filter(|huge| numbers.contains(huge)).collect()
        } else {
            numbers.collect()
        };
        let touched = |huge: u64| {
            let bits = self.pages.get(&huge).copied().unwrap_or_default();
            let pages = first.max(huge << HUGE)..end.min((huge + 1) << HUGE);
            pages.filter(move |page| bits[Self::bit(*page).0] & Self::bit(*page).1 != 0)
        };
        all.into_iter().flat_map(touched).collect()
    }

    /// Pages from `first` up to before `end` are as if they had not been touched.
    fn forget(&mut self, first: u64, end: u64) {
        for page in self.within(first, end) {
            let (word, bit) = Self::bit(page);
            self.pages.entry(page >> HUGE).or_default()[word] &= !bit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::round;

    const MIB: u64 = 1 << 20;

    /// Huge pages for those who ask (1), or for all (2).
    fn pages(policy: u64) -> Pages {
        Pages::new(&Figures { huge_pages: policy, ..round() })
    }

    /// What first touches of each 4 KiB take: usual ones take 2,000, huge ones all their lines' 10 more.
    fn touch(pages: &mut Pages, first: u64, bytes: u64) -> (usize, usize) {
        let all: Vec<u64> = (first..first + bytes).step_by(4096).map(|address| pages.touch(address)).collect();
        let of = |cost: u64| all.iter().filter(|one| **one == cost).count();
        (of(2_000), of(2_000 + 32_768 * 10))
    }

    #[test]
    fn pages_are_touched_once() {
        let mut pages = pages(2);
        assert_eq!([700 << 12, 700 << 12, 701 << 12].map(|address| pages.touch(address)), [2_000, 0, 2_000]);
        let gone = pages.apply_paging(Paging::Dropped, 700 << 12, 4096);
        assert!(gone.contains(700) && !gone.contains(701));
        assert_eq!([700 << 12, 701 << 12].map(|address| pages.touch(address)), [2_000, 0]);
    }

    #[test]
    fn memory_that_asks_for_them_has_huge_pages_where_they_fit() {
        let mut pages = pages(1);
        pages.apply_paging(Paging::Anonymous, 5 * MIB, 8 * MIB);
        assert_eq!(touch(&mut pages, 5 * MIB, MIB), (256, 0), "nobody asked");
        pages.apply_paging(Paging::Wanted, 5 * MIB, 8 * MIB);
        // From 5 to 6 there were pages; from 12 to 13 there is no room for a whole one.
        assert_eq!(touch(&mut pages, 5 * MIB, 8 * MIB), (256, 3));
        assert_eq!(pages.number(6 * MIB), pages.number(8 * MIB - 1));
        assert_ne!(pages.number(12 * MIB), pages.number(12 * MIB + 4096));
        pages.apply_paging(Paging::Unwanted, 6 * MIB, 2 * MIB);
        assert_eq!(touch(&mut pages, 6 * MIB, 2 * MIB), (0, 0), "what was given stays");
        pages.apply_paging(Paging::Dropped, 6 * MIB, 4 * MIB);
        assert_eq!(touch(&mut pages, 6 * MIB, 4 * MIB), (512, 1));
        pages.apply_paging(Paging::Dropped, 8 * MIB, MIB);
        assert_eq!(touch(&mut pages, 8 * MIB, 2 * MIB), (256, 0), "the other half is still there");
    }

    #[test]
    fn huge_pages_for_all_go_to_new_memory_in_one_piece() {
        let mut pages = pages(2);
        // The heap's end moves up: together these are in one piece.
        for part in 0..4 {
            pages.apply_paging(Paging::Anonymous, 16 * MIB + part * MIB, MIB);
        }
        assert_eq!(touch(&mut pages, 16 * MIB, 4 * MIB), (0, 2));
        pages.apply_paging(Paging::Other, 32 * MIB, 4 * MIB);
        assert_eq!(touch(&mut pages, 32 * MIB, 4 * MIB), (1024, 0), "of a file");
        pages.apply_paging(Paging::Anonymous, 16 * MIB, 4 * MIB);
        assert_eq!(touch(&mut pages, 16 * MIB, 4 * MIB), (0, 2), "mapped anew");
    }

    #[test]
    fn what_moves_was_given() {
        let mut pages = pages(1);
        pages.apply_paging(Paging::Huge, 2 * MIB, 4 * MIB);
        assert_eq!(touch(&mut pages, 2 * MIB, 2 * MIB), (0, 1));
        pages.apply_paging(Paging::Moved { from: 2 * MIB, bytes: 4 * MIB }, 64 * MIB, 8 * MIB);
        assert_eq!(touch(&mut pages, 64 * MIB, 8 * MIB), (0, 3), "two were given, as usual ones");
        assert_eq!(touch(&mut pages, 2 * MIB, 4 * MIB), (1024, 0), "nothing is there any more");
        pages.apply_paging(Paging::Moved { from: 64 * MIB, bytes: 8 * MIB }, 64 * MIB, 10 * MIB);
        assert_eq!(touch(&mut pages, 64 * MIB, 10 * MIB), (0, 1), "it has grown");
    }

    #[test]
    fn what_is_larger_than_all_pages_is_forgotten_at_once() {
        let mut pages = pages(1);
        pages.touch(3 * MIB);
        pages.apply_paging(Paging::Other, 0, 1 << 46);
        assert_eq!(pages.touch(3 * MIB), 2_000);
    }
}
