//! Ranges of bytes of any length: what is known of them, and what changes.
//!
//! Takes addresses and lengths, gives runs of bytes in one state. Knows the pages that are lists (`few`) as well as
//! those that are present.

use super::{
    cells::{Run, push},
    layout::{PAGE_CELLS, Span, page_room},
    pages::Shadow,
    regions::Rest,
};
use crate::engine::cell::{BYTES, Cell, DEAD, FIRST, NEVER};

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
                self.sparse.gather(span, &mut self.cells, runs);
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
            let (cell, room) = (self.regions.find(at), left.min(page_room(at)));
            if !self.is_present(cell) && self.are_few(room) {
                self.assign_few(at, room, position);
                at = at.wrapping_add(room);
                left -= room;
                position += room;
                continue;
            }
            let part = left.min(BYTES - at % BYTES);
            let cell = self.make(at);
            if part < BYTES {
                self.cells.set_run(cell, at % BYTES, part, position);
                at = at.wrapping_add(part);
                left -= part;
                position += part;
                continue;
            }
            let whole = left.min(page_room(at)) & !(BYTES - 1);
            for (cell, base) in (cell..).zip((position..position + whole).step_by(BYTES as usize)) {
                self.cells.put(cell, base);
            }
            at = at.wrapping_add(whole);
            left -= whole;
            position += whole;
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
    fn assign_few(&mut self, addr: u64, len: u64, position: u64) {
        let cell = self.make_region(addr);
        self.sparse.assign(Span { cell, skip: addr % BYTES, len }, &mut self.cells, position);
        if self.sparse.is_full(cell / PAGE_CELLS) {
            self.make_page(addr);
        }
    }

    /// Marks the touched bytes of a part of pages that are all present, or of all of which little was touched, dead;
    /// they must be in one region.
    pub fn kill(&mut self, addr: u64, len: u64) {
        self.end(addr, len, |value| value.min(DEAD));
    }

    /// Has the touched bytes of a range never have been touched, as they go on living elsewhere.
    pub fn forget(&mut self, addr: u64, len: u64) {
        self.end_each(addr, len, |value| if value >= FIRST { NEVER } else { value });
    }

    /// Has the dead bytes of a range never have been touched.
    pub fn forget_dead(&mut self, addr: u64, len: u64) {
        self.end_each(addr, len, |value| if value == DEAD { NEVER } else { value });
    }

    fn end_each(&mut self, addr: u64, len: u64, after: fn(u64) -> u64) {
        let (mut present, mut few) = (Rest { addr, len }, Rest { addr, len });
        while let Some((addr, len)) = self.next_present(&mut present) {
            self.end(addr, len, after);
        }
        while let Some((addr, len)) = self.next_few(&mut few) {
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
            self.sparse.end(span, &mut self.cells, after);
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
