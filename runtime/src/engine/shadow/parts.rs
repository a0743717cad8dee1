//! What parts of a run need of a shadow: all that is on the stack, and bytes that another stack has taken.
//!
//! Takes a range, or everything. Refuses nothing.

use super::{
    cells::{MOST_FEW, PAGE_BITS, PAGE_CELLS, REGION_BITS, REGION_PAGES, Shadow, page_room},
    ranges::NewPositions,
};
use crate::engine::{
    boundary::{Boundary, Row},
    cell::{BYTES, Cell, DEAD, FIRST, pooled},
    progression::Progression,
};

/// Pages whose memory is kept for the next part, about: 48 MiB of the program.
const MOST_KEPT: usize = 3 << 10;

/// Fewest words of a row, and cells that are passed over before rows are looked for again where there was none.
const LEAST_ROW: usize = 16;
const LEAST_PASSED: usize = 64;

impl<C: Cell> Shadow<C> {
    /// Marks bytes dead, whether they were touched before or not.
    #[inline(always)]
    pub fn bury(&mut self, addr: u64, len: u64) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let part = left.min(page_room(at));
            let cell = self.find(at);
            let is_few = self.is_few(cell) || self.present.count() >= self.full_pages && part <= MOST_FEW;
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

    /// Tells all that is on the stack, with the bytes below it, and forgets everything.
    #[inline(always)]
    pub fn drain(&mut self, below: &impl NewPositions, to: &mut Boundary) {
        let mut by_first = vec![0; self.regions.len() + 1];
        self.regions.iter().for_each(|&(region, first)| by_first[first / (REGION_PAGES * PAGE_CELLS)] = region);
        let start =
            |page: usize| (by_first[page / REGION_PAGES] << REGION_BITS) + ((page % REGION_PAGES) << PAGE_BITS) as u64;
        self.kept.grow((self.regions.len() + 1) * REGION_PAGES + 64);
        let pages: Vec<_> = self.present.runs().collect();
        for page in pages.into_iter().flatten() {
            if !self.kept.get(page) {
                self.kept.set(page);
            }
            self.drain_page(page, start(page), below, to);
        }
        let mut run = Neighbours::default();
        for (page, at, cell) in self.sparse.drain() {
            run.cell(&self.pool, cell, start(page) + BYTES * at as u64, below, to);
        }
        run.end(below, to);
        self.pool.clear();
        self.unused.clear();
        // Their memory stays for the next part, unless it has become too much.
        if self.kept.count() > MOST_KEPT {
            *self = Shadow::new(self.full_pages);
        } else {
            self.present.clear_all();
        }
    }
}

impl<C: Cell> Shadow<C> {
    /// Tells what is on the stack of a page that is present.
    #[inline(always)]
    fn drain_page(&mut self, page: usize, addr: u64, below: &impl NewPositions, to: &mut Boundary) {
        let (first, end) = (page * PAGE_CELLS, (page + 1) * PAGE_CELLS);
        let (mut cell, mut next_row, mut passed) = (first, first, LEAST_PASSED);
        let mut run = Neighbours::default();
        while cell < end {
            if self.cells[cell].get() <= DEAD {
                cell += 1;
                continue;
            }
            let at = addr + BYTES * (cell - first) as u64;
            if cell >= next_row {
                if let Some((cells, row)) = self.even_row(cell, at, end, below) {
                    run.end(below, to);
                    to.row(row);
                    (cell, passed) = (cell + cells, LEAST_PASSED);
                    next_row = cell;
                    continue;
                }
                (next_row, passed) = (cell + passed, (2 * passed).min(PAGE_CELLS));
            }
            run.cell(&self.pool, self.cells[cell], at, below, to);
            cell += 1;
        }
        run.end(below, to);
        self.cells[first..end].fill(C::default());
    }

    /// The words from a cell on that are at even distances on the stack, if they are many, and their cells.
    #[inline(always)]
    fn even_row(&self, cell: usize, addr: u64, end: usize, below: &impl NewPositions) -> Option<(usize, Row)> {
        // Words are as wide as what lies side by side on the stack too; of an array that does, as is usual.
        let fits = |width: usize| cell + width < end && self.word(cell, width).is_some();
        let width = match [16, 8, 4, 2].into_iter().find(|&width| fits(width)) {
            Some(16) => 2,
            Some(width) => width,
            None => 1,
        };
        let (words, first, step) = self.arithmetic_groups(cell, width, (end - cell) / width)?;
        if words < LEAST_ROW {
            return None;
        }
        let bytes = width as u64 * BYTES;
        let (rank, step) = below.of_words(first, step, words, bytes)?;
        let below = Progression { first: rank, step, count: words as u64, width: bytes };
        Some((words * width, Row { addr, below }))
    }
}

/// Bytes on the stack, side by side in memory and there, that may go on.
#[derive(Default)]
struct Neighbours {
    position: u64,
    addr: u64,
    len: u64,
}

impl Neighbours {
    /// Adds what is on the stack of a cell's bytes.
    #[inline(always)]
    fn cell<C: Cell>(&mut self, pool: &[[C; 4]], cell: C, addr: u64, below: &impl NewPositions, to: &mut Boundary) {
        let value = cell.get();
        if value <= DEAD {
            return;
        }
        let Some(entry) = pooled::<C>(value) else { return self.push(value, addr, BYTES, below, to) };
        for (byte, at) in pool[entry].iter().zip(addr..) {
            if byte.get() >= FIRST {
                self.push(byte.get(), at, 1, below, to);
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, position: u64, addr: u64, len: u64, below: &impl NewPositions, to: &mut Boundary) {
        if self.position + self.len == position && self.addr + self.len == addr {
            self.len += len;
            return;
        }
        self.end(below, to);
        *self = Self { position, addr, len };
    }

    #[inline(always)]
    fn end(&mut self, below: &impl NewPositions, to: &mut Boundary) {
        let Self { position, addr, len } = std::mem::take(self);
        if len > 0 {
            to.piece(addr, below.new_position(position), len);
        }
    }
}
