//! From an address to what the stack knows about that byte: cells, by pages and regions of the address space.
//!
//! Takes addresses, gives cell numbers; refuses nothing (any 64-bit address works). A region is 64 MiB of address space
//! in which something was touched. Its cells lie side by side, so that words at a constant distance have cells at a
//! constant distance; those of untouched pages take no memory, and pages of 16 KiB in which something was touched are
//! marked as present. The cells of region 0 are shared and stay zero, so that looking up an absent address needs no
//! test: it reads "never touched".
//!
//! Once there are many pages, others begin as lists of their touched cells (`sparse_page`), as a program that touches a
//! byte in each of a million pages would take as many of these (`few`). Such pages are not present: whoever finds a
//! cell "never touched" in a page that is not has to go by `gather` and `assign`, which know the lists.

use super::{
    cells::{Cells, NewPositions},
    layout::{PAGE, PAGE_BITS, PAGE_CELLS, REGION_CELLS, REGION_PAGES, Span},
    regions::Regions,
    words::Spaced,
};
use crate::engine::{
    cell::{BYTES, Cell, is_position, pooled},
    marks::Marks,
    reserve::Reserve,
    sparse_page::SparsePages,
};

/// Words in a row that are at least so far apart may end in lists.
const FEW_APART: u64 = PAGE / 32;

pub struct Shadow<C> {
    pub cells: Cells<C>,
    pub regions: Regions,
    /// Pages in which something was touched, as their cells lie.
    pub(super) present: Marks,
    /// Pages that are not present, but of which some cells were touched.
    pub(super) sparse: SparsePages<C>,
    /// So many pages are present from the first touch on.
    pub(super) full_pages: usize,
    /// Pages that were present in an earlier part, and have memory. Draining leaves them without a touched byte, so
    /// that a page becomes present again as it is.
    pub(super) kept: Marks,
}

impl<C: Cell> Shadow<C> {
    /// Nothing was touched.
    pub fn new(full_pages: usize) -> Self {
        let (mut present, mut sparse) = (Marks::default(), SparsePages::new());
        present.grow(REGION_PAGES);
        sparse.grow(REGION_PAGES);
        let (cells, regions) = (Cells::new(REGION_CELLS), Regions::new());
        Shadow { cells, regions, present, sparse, full_pages, kept: Marks::default() }
    }

    /// Puts the contents into cells of another width.
    pub fn converted<D: Cell>(self) -> Shadow<D> {
        let convert = |cell: C| {
            let value = cell.get();
            D::pack(pooled::<C>(value).map_or(value, |entry| entry as u64 | D::POOLED))
        };
        let mut values = Reserve::new(self.cells.values.len());
        for pages in self.present.runs() {
            let part = pages.start * PAGE_CELLS..pages.end * PAGE_CELLS;
            let old = &self.cells.values[part.clone()];
            values[part].iter_mut().zip(old).for_each(|(new, &old)| *new = convert(old));
        }
        Shadow {
            cells: Cells { values, pool: self.cells.pool.converted(convert) },
            regions: self.regions,
            present: self.present,
            sparse: self.sparse.converted(convert),
            full_pages: self.full_pages,
            kept: self.kept,
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        let bytes = self.present.count() * PAGE_CELLS * size_of::<C>()
            + self.present.heap_bytes()
            + self.sparse.heap_bytes()
            + self.regions.heap_bytes()
            + self.cells.pool.heap_bytes();
        bytes as u64
    }

    /// Number of cells a walk over everything visits.
    pub fn cell_count(&self) -> u64 {
        (self.present.count() * PAGE_CELLS + self.sparse.cell_count()) as u64
    }

    /// Whether something was touched in the page of the cell, so that it may be written.
    #[inline(always)]
    pub fn is_present(&self, cell: usize) -> bool {
        self.present.get(cell / PAGE_CELLS)
    }

    /// Up to 64 bytes from an address on, if they were last used together: a part of a cell, or whole cells. Gives them
    /// with their first value.
    #[inline(always)]
    pub fn short_run(&self, cell: usize, addr: u64, len: u64) -> Option<(Span, u64)> {
        let span = Span::short(cell, addr, len).filter(|_| self.is_present(cell))?;
        Some((span, self.cells.run_of(span)?))
    }

    /// Whether some cells were touched in the page of the cell, which is not present.
    #[inline(always)]
    pub fn is_few(&self, cell: usize) -> bool {
        self.sparse.has(cell / PAGE_CELLS)
    }

    /// Cell of an address, in a page that is present.
    #[inline(always)]
    pub fn make(&mut self, addr: u64) -> usize {
        let cell = self.regions.find(addr);
        if self.is_present(cell) { cell } else { self.make_page(addr) }
    }

    #[cold]
    pub(super) fn make_page(&mut self, addr: u64) -> usize {
        let cell = self.make_region(addr);
        let page = cell / PAGE_CELLS;
        // A page without neighbours may be all that is ever touched around here, and of it a byte. Memory that is read
        // before it is written would be mapped twice, and the second time interrupt the processors that do other parts.
        let has_neighbours = self.present.get(page - 1) || self.present.get(page + 1);
        self.cells.values.populate(if has_neighbours {
            page * PAGE_CELLS..(page + 1) * PAGE_CELLS
        } else {
            cell..cell + 1
        });
        self.present.set(page);
        if self.sparse.has(page) {
            for (at, value) in self.sparse.take(page) {
                self.cells.values[page * PAGE_CELLS + at] = value;
            }
        }
        cell
    }

    /// Cell of an address in a region that there is.
    pub(super) fn make_region(&mut self, addr: u64) -> usize {
        if self.regions.add(addr) {
            let regions = self.regions.count();
            // And some that are never marked, behind the last page.
            let pages = regions * REGION_PAGES + 64;
            self.present.grow(pages);
            self.sparse.grow(pages);
            self.cells.values.grow(regions * REGION_CELLS);
        }
        self.regions.find(addr)
    }

    /// Whether words that are to be written in a row fill so much of their pages that these are worth their memory.
    #[inline(always)]
    pub fn is_worth_pages(&mut self, addr: u64, stride: i64, count: usize) -> bool {
        self.present.count() < self.full_pages
            || stride.unsigned_abs() < FEW_APART
            || (0..count as i64).all(|word| {
                let cell = self.regions.find(addr.wrapping_add_signed(stride.wrapping_mul(word)));
                self.is_present(cell)
            })
    }

    /// The row of words of `width` cells that are to be written, `stride` bytes apart; they must be in one region.
    #[inline(always)]
    pub fn make_spaced(&mut self, addr: u64, stride: i64, width: usize, count: usize) -> Spaced {
        let (far, len) = (stride.wrapping_mul(count as i64 - 1), width as u64 * BYTES);
        let (low, high) = (addr.wrapping_add_signed(far.min(0)), addr.wrapping_add_signed(far.max(0)) + (len - 1));
        if stride.unsigned_abs() <= PAGE {
            (low >> PAGE_BITS..=high >> PAGE_BITS).for_each(|page| _ = self.make(page << PAGE_BITS));
        } else {
            (0..count as i64).for_each(|word| _ = self.make(addr.wrapping_add_signed(stride.wrapping_mul(word))));
        }
        self.regions.spaced(addr, stride, width, count).0
    }

    /// Replaces every position, in cells and entries alike.
    #[inline(always)]
    pub fn renumber(&mut self, to: &impl NewPositions) {
        for pages in self.present.runs() {
            self.cells.renumber(pages.start * PAGE_CELLS..pages.end * PAGE_CELLS, to);
        }
        let bytes = self.cells.pool.entries.iter_mut().flatten();
        for cell in bytes.chain(self.sparse.values_mut()) {
            if is_position::<C>(cell.get()) {
                *cell = C::pack(to.new_position(cell.get()));
            }
        }
    }
}
