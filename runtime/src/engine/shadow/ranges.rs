//! Ranges of bytes of any length: what is known of them, what changes, and where all positions go when they are
//! renumbered.
//!
//! Takes addresses and lengths, gives runs of bytes in one state. Knows the pages that are lists (`sparse_page`) as
//! well as those that are present.

use super::{
    cells::{MOST_FEW, PAGE_BITS, PAGE_CELLS, REGION_BITS, REGION_PAGES, Shadow, page_room},
    words::PIECE,
};
use crate::engine::{
    cell::{BYTES, Cell, DEAD, FIRST, NEVER, is_position},
    marks::Marks,
};

/// Most words renumbered at a time, and fewest for which their positions are worth being told together.
const ROW: usize = 256;
const LEAST_ROW: usize = 64;

/// Consecutive bytes in one state: at the positions `value ..`, or `NEVER`, or `DEAD`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    pub value: u64,
    pub len: u64,
}

/// A part of a page, in cells: `skip` bytes of the first cell do not belong to it.
#[derive(Clone, Copy)]
struct Span {
    cell: usize,
    skip: u64,
    len: u64,
}

/// Where positions go when all of them change.
pub trait NewPositions {
    /// Must keep consecutive live positions consecutive.
    fn new_position(&self, position: u64) -> u64;
    /// Where `count` live words of `len` bytes go, `step` apart, as the first position and the step between them;
    /// nothing if they do not go to such positions or that is not easily told.
    fn of_words(&self, first: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)>;
}

impl<C: Cell> Shadow<C> {
    /// Does something with the cell of a page of which little was touched, as if it were an own cell.
    #[inline(always)]
    fn with_few<R>(&mut self, cell: usize, act: impl FnOnce(&mut Self, usize) -> R) -> R {
        let (page, at) = (cell / PAGE_CELLS, cell % PAGE_CELLS);
        let before = self.sparse.get(page, at);
        // The first of the shared empty cells lends itself: it is empty again before anybody looks.
        self.cells[0] = before;
        let result = act(self, 0);
        let after = std::mem::take(&mut self.cells[0]);
        if after != before {
            self.sparse.set(page, at, after);
        }
        result
    }

    /// Puts bytes of one page that is not present at `position ..`, if not more than a list is good for; the page is
    /// present afterwards if they are too many with what is there.
    #[cold]
    fn assign_few(&mut self, addr: u64, len: u64, mut position: u64) -> bool {
        if self.present.count() < self.full_pages || len > MOST_FEW {
            return false;
        }
        let mut cell = self.make_region(addr);
        let (mut skip, mut left) = (addr % BYTES, len);
        while left > 0 {
            let part = left.min(BYTES - skip);
            self.with_few(cell, |shadow, own| {
                if part < BYTES {
                    shadow.set_run(own, skip, part, position);
                } else {
                    shadow.release(own);
                    shadow.cells[own] = C::pack(position);
                }
            });
            (cell, skip, left, position) = (cell + 1, 0, left - part, position + part);
        }
        if self.sparse.is_full((cell - 1) / PAGE_CELLS) {
            self.make_page(addr);
        }
        true
    }

    /// The first addresses of `addr .. addr + len` that lie in pages that are present, as the first of them and their
    /// number.
    pub fn next_present(&self, addr: u64, len: u64) -> Option<(u64, u64)> {
        self.next_marked(&self.present, addr, len)
    }

    /// The first addresses of `addr .. addr + len` that lie in pages that are not present, but in which some cells were
    /// touched, as the first of them and their number.
    pub fn next_few(&self, addr: u64, len: u64) -> Option<(u64, u64)> {
        if self.sparse.marks().count() == 0 {
            return None;
        }
        self.next_marked(self.sparse.marks(), addr, len)
    }

    fn next_marked(&self, marks: &Marks, mut addr: u64, len: u64) -> Option<(u64, u64)> {
        let last = addr + (len - 1);
        let from = self.regions.partition_point(|entry| entry.0 < addr >> REGION_BITS);
        for &(region, first) in &self.regions[from..] {
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
                return Some((addr, room.min(last - addr) + 1));
            }
        }
        None
    }

    /// Appends the states of the bytes to `runs`, neighbours that belong together as one.
    #[inline(always)]
    pub fn gather(&mut self, addr: u64, len: u64, runs: &mut Vec<Run>) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let part = left.min(page_room(at));
            let cell = self.find(at);
            if self.is_present(cell) {
                self.gather_span(Span { cell, skip: at % BYTES, len: part }, runs);
            } else if self.is_few(cell) {
                self.gather_few(Span { cell, skip: at % BYTES, len: part }, runs);
            } else {
                push(runs, NEVER, part);
            }
            at = at.wrapping_add(part);
            left -= part;
        }
    }

    #[inline(always)]
    fn gather_span(&self, span: Span, runs: &mut Vec<Run>) {
        let Span { mut cell, mut skip, mut len } = span;
        while len > 0 {
            let part = len.min(BYTES - skip);
            let value = self.cells[cell].get();
            if value & C::POOLED != 0 {
                for byte in &self.bytes(cell)[skip as usize..(skip + part) as usize] {
                    push(runs, byte.get(), 1);
                }
            } else {
                push(runs, if value < FIRST { value } else { value + skip }, part);
            }
            cell += 1;
            skip = 0;
            len -= part;
        }
    }

    /// Gathers the runs of a span of a page of which little was touched.
    #[cold]
    fn gather_few(&mut self, span: Span, runs: &mut Vec<Run>) {
        let Span { mut cell, mut skip, mut len } = span;
        while len > 0 {
            let part = len.min(BYTES - skip);
            self.with_few(cell, |shadow, own| shadow.gather_span(Span { cell: own, skip, len: part }, runs));
            (cell, skip, len) = (cell + 1, 0, len - part);
        }
    }

    /// Puts the bytes at `position ..`, in address order.
    #[inline(always)]
    pub fn assign(&mut self, addr: u64, len: u64, mut position: u64) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let (cell, room) = (self.find(at), left.min(page_room(at)));
            if !self.is_present(cell) && self.assign_few(at, room, position) {
                at = at.wrapping_add(room);
                left -= room;
                position += room;
                continue;
            }
            let part = left.min(BYTES - at % BYTES);
            let cell = self.make(at);
            if part < BYTES {
                self.set_run(cell, at % BYTES, part, position);
                at = at.wrapping_add(part);
                left -= part;
                position += part;
                continue;
            }
            let whole = left.min(page_room(at)) & !(BYTES - 1);
            for (cell, base) in (cell..).zip((position..position + whole).step_by(BYTES as usize)) {
                self.release(cell);
                self.cells[cell] = C::pack(base);
            }
            at = at.wrapping_add(whole);
            left -= whole;
            position += whole;
        }
    }

    /// Marks the touched bytes of a part of pages that are present, or of one page of which little was touched, dead;
    /// they must be in one region.
    pub fn kill(&mut self, addr: u64, len: u64) {
        self.end(addr, len, |value| value.min(DEAD));
    }

    /// Has the touched bytes of a part of pages that are present, or of one page of which little was touched, never
    /// have been touched, as they go on living elsewhere; they must be in one region.
    pub fn forget(&mut self, addr: u64, len: u64) {
        self.end(addr, len, |value| if value >= FIRST { NEVER } else { value });
    }

    #[inline(always)]
    pub fn end(&mut self, addr: u64, len: u64, after: impl Fn(u64) -> u64) {
        let mut cell = self.find(addr);
        let is_few = !self.is_present(cell);
        let (mut skip, mut left) = (addr % BYTES, len);
        while left > 0 {
            let part = left.min(BYTES - skip);
            if is_few {
                self.with_few(cell, |shadow, own| shadow.end_part(own, skip, part, &after));
            } else {
                let value = self.cells[cell].get();
                if part == BYTES && value & C::POOLED == 0 {
                    self.cells[cell] = C::pack(after(value));
                } else {
                    self.end_part(cell, skip, part, &after);
                }
            }
            cell += 1;
            skip = 0;
            left -= part;
        }
    }

    /// Replaces every position, in cells and entries alike.
    #[inline(always)]
    pub fn renumber(&mut self, to: &impl NewPositions) {
        let runs: Vec<_> = self.present.runs().collect();
        for pages in runs {
            let (mut cell, end) = (pages.start * PAGE_CELLS, pages.end * PAGE_CELLS);
            while cell < end {
                let words = ((end - cell) / 2).min(ROW);
                let row = self.arithmetic_groups(cell, 2, words).filter(|&(words, ..)| words >= LEAST_ROW);
                let words = row.map_or(words.min(PIECE), |(words, ..)| words);
                match row.and_then(|(words, first, step)| to.of_words(first, step, words, 2 * BYTES)) {
                    Some((first, step)) => self.set_arithmetic(cell, 2, words, first, step as u64),
                    None => self.renumber_words(cell, words, to),
                }
                cell += 2 * words;
            }
        }
        for byte in self.pool.iter_mut().flatten() {
            if byte.get() >= FIRST {
                *byte = C::pack(to.new_position(byte.get()));
            }
        }
        for cell in self.sparse.values_mut() {
            if is_position::<C>(cell.get()) {
                *cell = C::pack(to.new_position(cell.get()));
            }
        }
    }

    /// Replaces the positions in some cells.
    #[inline(always)]
    fn renumber_words(&mut self, cell: usize, words: usize, to: &impl NewPositions) {
        for pair in self.cells[cell..cell + 2 * words].chunks_exact_mut(2) {
            let (a, b) = (pair[0].get(), pair[1].get());
            if is_position::<C>(a) {
                let new = to.new_position(a);
                pair[0] = C::pack(new);
                if b == a + BYTES {
                    pair[1] = C::pack(new + BYTES);
                    continue;
                }
            }
            if is_position::<C>(b) {
                pair[1] = C::pack(to.new_position(b));
            }
        }
    }
}

/// Adds bytes to the last run if they continue it.
#[inline(always)]
fn push(runs: &mut Vec<Run>, value: u64, len: u64) {
    if let Some(last) = runs.last_mut() {
        let next = if last.value < FIRST { last.value } else { last.value + last.len };
        if next == value {
            last.len += len;
            return;
        }
    }
    runs.push(Run { value, len });
}
