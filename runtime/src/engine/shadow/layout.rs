//! How addresses are cut up: cells of 4 bytes, pages of 16 KiB, regions of 64 MiB.
//!
//! Takes addresses and numbers of cells; refuses nothing.

use crate::engine::cell::BYTES;

pub const PAGE_BITS: u32 = 14;
pub const REGION_BITS: u32 = 26;
/// Bytes of address space per page.
pub const PAGE: u64 = 1 << PAGE_BITS;
pub const PAGE_CELLS: usize = (PAGE / BYTES) as usize;
pub const REGION: u64 = 1 << REGION_BITS;
pub const REGION_CELLS: usize = (REGION / BYTES) as usize;
pub const REGION_PAGES: usize = 1 << (REGION_BITS - PAGE_BITS);

/// A part of a page, in cells: `skip` bytes of the first cell do not belong to it.
#[derive(Clone, Copy)]
pub struct Span {
    pub cell: usize,
    pub skip: u64,
    pub len: u64,
}

impl Span {
    /// Up to 64 bytes from an address on, whose cell is known, if they are a part of a cell or whole cells of a page.
    #[inline(always)]
    pub fn short(cell: usize, addr: u64, len: u64) -> Option<Span> {
        let span = Span { cell, skip: addr % BYTES, len };
        let are_whole = span.skip == 0 && len.is_multiple_of(BYTES) && len <= page_room(addr) && len <= 64;
        (len > 0 && (span.is_in_cell() || are_whole)).then_some(span)
    }

    /// Whether it is a cell or a part of one.
    #[inline(always)]
    pub fn is_in_cell(self) -> bool {
        self.skip + self.len <= BYTES
    }

    /// Its cells.
    #[inline(always)]
    pub fn cells(self) -> std::ops::Range<usize> {
        self.cell..self.cell + (self.len / BYTES) as usize
    }

    /// Its parts, cell by cell.
    #[inline(always)]
    pub fn parts(self) -> impl Iterator<Item = Span> {
        let (mut cell, mut skip, mut left) = (self.cell, self.skip, self.len);
        std::iter::from_fn(move || {
            let part = Span { cell, skip, len: left.min(BYTES - skip) };
            (cell, skip, left) = (cell + 1, 0, left - part.len);
            (part.len > 0).then_some(part)
        })
    }
}

/// Bytes from here to the end of the page.
#[inline(always)]
pub fn page_room(addr: u64) -> u64 {
    PAGE - addr % PAGE
}
