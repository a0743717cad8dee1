//! All that is on a part's stack in the end, which its shadow then forgets.
//!
//! Takes the places below positions; gives pieces and rows of a boundary. Refuses nothing.

use super::{
    cells::NewPositions,
    layout::{PAGE_CELLS, REGION_PAGES},
    pages::Shadow,
    words::{arithmetic_groups, position_of},
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
    /// Tells all that is on the stack, with the bytes below it, and forgets everything.
    #[inline(always)]
    pub fn drain(&mut self, below: &impl NewPositions, to: &mut Boundary) {
        let start = self.regions.starts();
        self.kept.grow(self.regions.count() * REGION_PAGES + 64);
        for page in self.present.runs().flatten() {
            if !self.kept.get(page) {
                self.kept.set(page);
            }
            let cells = &mut self.cells.values[page * PAGE_CELLS..(page + 1) * PAGE_CELLS];
            drain_page(cells, &self.cells.pool.entries, start(page), below, to);
        }
        let mut run = Neighbours::default();
        for (page, at, cell) in self.sparse.drain() {
            run.cell(&self.cells.pool.entries, cell, start(page) + BYTES * at as u64, below, to);
        }
        run.end(below, to);
        self.cells.pool.clear();
        // Their memory stays for the next part, unless it has become too much.
        if self.kept.count() > MOST_KEPT {
            *self = Shadow::new(self.full_pages);
        } else {
            self.present.clear_all();
        }
    }
}

/// Tells what is on the stack of a page that is present, and forgets it.
#[inline(always)]
fn drain_page<C: Cell>(cells: &mut [C], pool: &[[C; 4]], addr: u64, below: &impl NewPositions, to: &mut Boundary) {
    let (mut cell, mut next_row, mut passed) = (0, 0, LEAST_PASSED);
    let mut run = Neighbours::default();
    while cell < cells.len() {
        if cells[cell].get() <= DEAD {
            cell += 1;
            continue;
        }
        let at = addr + BYTES * cell as u64;
        if cell >= next_row {
            if let Some((words, row)) = even_row(&cells[cell..], at, below) {
                run.end(below, to);
                to.row(row);
                (cell, passed) = (cell + words, LEAST_PASSED);
                next_row = cell;
                continue;
            }
            (next_row, passed) = (cell + passed, (2 * passed).min(PAGE_CELLS));
        }
        run.cell(pool, cells[cell], at, below, to);
        cell += 1;
    }
    run.end(below, to);
    cells.fill(C::default());
}

/// The first words of some cells that are at even distances on the stack, if they are many, and their cells.
#[inline(always)]
fn even_row<C: Cell>(cells: &[C], addr: u64, below: &impl NewPositions) -> Option<(usize, Row)> {
    // Words are as wide as what lies side by side on the stack too; of an array that does, as is usual.
    let fits = |width: usize| width < cells.len() && position_of(&cells[..width]).is_some();
    let width = match [16, 8, 4, 2].into_iter().find(|&width| fits(width)) {
        Some(16) => 2,
        Some(width) => width,
        None => 1,
    };
    let (words, first, step) = arithmetic_groups(&cells[..cells.len() / width * width], width)?;
    if words < LEAST_ROW {
        return None;
    }
    let bytes = width as u64 * BYTES;
    let (rank, step) = below.of_words(first, step, words, bytes)?;
    let below = Progression { first: rank, step, count: words as u64, width: bytes };
    Some((words * width, Row { addr, below }))
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
