//! Ranges of bytes of any length: what is known of them, and what changes.
//!
//! Takes addresses and lengths, gives runs of bytes in one state. Knows the pages that are lists (`few`) as well as
//! those that are present.

use super::{
    cells::{Run, push},
    layout::{PAGE_CELLS, Span, page_room},
    pages::Shadow,
    regions::Rest,
    words::set_row_at,
};
use crate::engine::{
    cell::{BYTES, Cell, DEAD, NEVER},
    progression::Progression,
};

/// Bytes that are put into a list at a time, at most.
const MOST_FEW: u64 = 256;

impl<C: Cell> Shadow<C> {
    /// The next part of a range that is in pages that are present.
    pub fn next_present(&self, rest: &mut Rest) -> Option<(u64, u64)> {
        self.regions.next_marked(&self.present, rest)
    }

    /// The next part of a range that is in pages of which little was touched.
    pub fn next_few(&self, rest: &mut Rest) -> Option<(u64, u64)> {
        let marks = Some(self.sparse.marks()).filter(|marks| marks.count() > 0)?;
        self.regions.next_marked(marks, rest)
    }

    /// Appends the states of the bytes to `runs`, neighbours that belong together as one.
    #[inline(always)]
    pub fn gather(&mut self, addr: u64, len: u64, runs: &mut Vec<Run>) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let part = left.min(page_room(at));
            let span = Span { cell: self.regions.find(at), skip: at % BYTES, len: part };
            if self.is_present(span.cell) {
                self.cells.gather(span, runs);
            } else if self.is_few(span.cell) {
                self.sparse.each_part(span, &mut self.cells, |cells, part| cells.gather(part, runs));
            } else {
                push(runs, NEVER, part);
            }
            at = at.wrapping_add(part);
            left -= part;
        }
    }

    /// Puts the bytes at `position ..`, in address order.
    #[inline(always)]
    pub fn assign(&mut self, addr: u64, len: u64, mut position: u64) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let (cell, part) = (self.regions.find(at), left.min(page_room(at)));
            if !self.is_present(cell) && self.are_few(part) {
                self.assign_few(at, part, position);
            } else {
                let cell = self.make(at);
                self.cells.assign(Span { cell, skip: at % BYTES, len: part }, position);
            }
            at = at.wrapping_add(part);
            left -= part;
            position += part;
        }
    }

    /// Puts words that lie side by side at some positions.
    #[inline(always)]
    pub fn assign_row(&mut self, addr: u64, mut to: Progression) {
        let mut left = Progression { first: addr, step: to.width as i64, ..to };
        while left.count > 0 {
            let words = (page_room(left.first) / to.width).min(left.count);
            let cell = self.make(left.first);
            if words == 0 || !set_row_at(&mut self.cells.values, cell, to.take(words)) {
                for (addr, position) in left.take(words.max(1)).each().zip(to.each()) {
                    self.assign(addr, to.width, position);
                }
            }
            (left, to) = (left.skip(words.max(1)), to.skip(words.max(1)));
        }
    }

    /// Whether so many bytes of a page that is not present are not more than a list is good for.
    #[inline(always)]
    fn are_few(&self, len: u64) -> bool {
        self.present.count() >= self.full_pages && len <= MOST_FEW
    }

    /// Puts few bytes of a page that is not present at `position ..`; the page is present afterwards if they are too
    /// many with what is there.
    #[cold]
    fn assign_few(&mut self, addr: u64, len: u64, mut position: u64) {
        let cell = self.make_region(addr);
        self.sparse.each_part(Span { cell, skip: addr % BYTES, len }, &mut self.cells, |cells, part| {
            cells.assign(part, position);
            position += part.len;
        });
        if self.sparse.is_full(cell / PAGE_CELLS) {
            self.make_page(addr);
        }
    }

    /// Has the bytes of a range whose values say so never have been touched.
    pub fn forget(&mut self, addr: u64, len: u64, is_forgotten: fn(u64) -> bool) {
        let after = |value| if is_forgotten(value) { NEVER } else { value };
        let (mut present, mut few) = (Rest { addr, len }, Rest { addr, len });
        while let Some((addr, len)) = self.next_present(&mut present).or_else(|| self.next_few(&mut few)) {
            self.end(addr, len, after);
        }
    }

    /// Gives the bytes of a part of pages that are all present, or of all of which little was touched, the values that
    /// `after` gives for theirs, none of which is a new position; they must be in one region.
    #[inline(always)]
    pub fn end(&mut self, addr: u64, len: u64, after: impl Fn(u64) -> u64) {
        let span = Span { cell: self.regions.find(addr), skip: addr % BYTES, len };
        if self.is_present(span.cell) {
            self.cells.end(span, after);
        } else {
            self.sparse.each_part(span, &mut self.cells, |cells, part| cells.end(part, &after));
        }
    }

    /// Marks bytes dead, whether they were touched before or not.
    #[inline(always)]
    pub fn bury(&mut self, addr: u64, len: u64) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let part = left.min(page_room(at));
            let cell = self.regions.find(at);
            let is_few = self.is_few(cell) || self.are_few(part);
            if self.is_present(cell) || !is_few {
                self.make(at);
                self.end(at, part, |_| DEAD);
            } else {
                let page = self.make_region(at) / PAGE_CELLS;
                self.end(at, part, |_| DEAD);
                if self.sparse.is_full(page) {
                    self.make_page(at);
                }
            }
            (at, left) = (at.wrapping_add(part), left - part);
        }
    }
}
