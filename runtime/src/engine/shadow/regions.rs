//! Regions of the address space in which something was touched, and where their cells begin.
//!
//! Takes addresses, gives numbers of cells. An address whose region is not known has a cell among those of region 0,
//! which are shared. Refuses nothing.

use super::{
    layout::{PAGE_BITS, PAGE_CELLS, REGION, REGION_BITS, REGION_CELLS, REGION_PAGES},
    words::Spaced,
};
use crate::engine::{cell::BYTES, marks::Marks};

/// Recently used regions, direct mapped.
const RECENT: usize = 32;
const NO_REGION: u64 = u64::MAX;

/// What is left of a range of bytes, once some of it was found.
pub struct Rest {
    pub addr: u64,
    pub len: u64,
}

pub struct Regions {
    /// (region number, its first cell), sorted by region.
    known: Vec<(u64, usize)>,
    recent: [(u64, usize); RECENT],
}

impl Regions {
    pub fn new() -> Self {
        Regions { known: Vec::new(), recent: [(NO_REGION, 0); RECENT] }
    }

    /// How many there are, with the shared one.
    pub fn count(&self) -> usize {
        self.known.len() + 1
    }

    pub fn heap_bytes(&self) -> usize {
        self.known.capacity() * size_of::<(u64, usize)>()
    }

    /// Cell of an address; among the shared empty ones if nothing was stored in its region.
    #[inline(always)]
    pub fn find(&mut self, addr: u64) -> usize {
        let region = addr >> REGION_BITS;
        let (tag, mut first) = self.recent[slot(region)];
        if tag != region {
            first = self.find_region(region);
        }
        first + (addr % REGION / BYTES) as usize
    }

    #[cold]
    #[inline(never)]
    fn find_region(&mut self, region: u64) -> usize {
        match self.known.binary_search_by_key(&region, |entry| entry.0) {
            Ok(at) => {
                self.recent[slot(region)] = self.known[at];
                self.known[at].1
            }
            Err(_) => 0,
        }
    }

    /// Makes the region of an address known; says whether it is a new one.
    pub fn add(&mut self, addr: u64) -> bool {
        let region = addr >> REGION_BITS;
        let found = self.known.binary_search_by_key(&region, |entry| entry.0);
        if let Err(at) = found {
            self.known.insert(at, (region, self.count() * REGION_CELLS));
        }
        found.is_err()
    }

    /// The row of words of `width` cells, `stride` bytes apart, a multiple of the bytes of a cell, from an aligned
    /// address on; and how many of `count` are in its region.
    #[inline(always)]
    pub fn spaced(&mut self, addr: u64, stride: i64, width: usize, count: usize) -> (Spaced, usize) {
        let row = Spaced { cell: self.find(addr), pitch: (stride / BYTES as i64) as isize, width };
        let last = addr.wrapping_add_signed(stride.wrapping_mul(count as i64 - 1));
        if addr >> REGION_BITS == last >> REGION_BITS {
            return (row, count);
        }
        let room = if stride < 0 { addr % REGION } else { REGION - 1 - addr % REGION };
        (row, (room / stride.unsigned_abs()) as usize + 1)
    }

    /// The first addresses of what is left that lie in marked pages of one region, as the first of them and their
    /// number; what is behind them is left then.
    pub fn next_marked(&self, marks: &Marks, rest: &mut Rest) -> Option<(u64, u64)> {
        let mut addr = rest.addr;
        let last = addr + rest.len.checked_sub(1)?;
        let from = self.known.partition_point(|entry| entry.0 < addr >> REGION_BITS);
        for &(region, first) in &self.known[from..] {
            let start = region << REGION_BITS;
            if start > last {
                return None;
            }
            addr = addr.max(start);
            let page = first / PAGE_CELLS;
            let number = |addr: u64| page + ((addr - start) >> PAGE_BITS) as usize;
            let end = number(last).min(page + REGION_PAGES - 1) + 1;
            if let Some(run) = marks.next_run(number(addr)..end) {
                addr = addr.max(start + ((run.start - page) << PAGE_BITS) as u64);
                let room = start + (((run.end - page) << PAGE_BITS) as u64 - 1) - addr;
                let len = room.min(last - addr) + 1;
                *rest = Rest { addr: addr.wrapping_add(len), len: last - addr + 1 - len };
                return Some((addr, len));
            }
        }
        None
    }

    /// First addresses of pages, by their numbers.
    pub fn starts(&self) -> impl Fn(usize) -> u64 + use<> {
        let mut by_first = vec![0; self.count()];
        self.known.iter().for_each(|&(region, first)| by_first[first / REGION_CELLS] = region);
        move |page| (by_first[page / REGION_PAGES] << REGION_BITS) + ((page % REGION_PAGES) << PAGE_BITS) as u64
    }
}

#[inline(always)]
fn slot(region: u64) -> usize {
    (region ^ (region >> 7)) as usize % RECENT
}
