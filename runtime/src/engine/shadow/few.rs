//! Bytes of pages of which little was touched, as if they had cells of their own.
//!
//! Takes spans by the numbers that their cells would have, and the cells of everything else, of which one lends itself.
//! Refuses nothing; whoever puts bytes there sees to it that they are few.

use super::{
    cells::{Cells, Run},
    layout::{PAGE_CELLS, Span},
};
use crate::engine::{
    cell::{BYTES, Cell},
    sparse_page::SparsePages,
};

impl<C: Cell> SparsePages<C> {
    /// Does something with the parts of a span, each in a cell of the same number in the end.
    #[inline(always)]
    fn each_part(&mut self, span: Span, cells: &mut Cells<C>, mut act: impl FnMut(&mut Cells<C>, Span)) {
        for part in span.parts() {
            let (page, at) = (part.cell / PAGE_CELLS, part.cell % PAGE_CELLS);
            let before = self.get(page, at);
            // The first of the shared empty cells lends itself: it is empty again before anybody looks.
            cells.values[0] = before;
            act(cells, Span { cell: 0, ..part });
            let after = std::mem::take(&mut cells.values[0]);
            if after != before {
                self.set(page, at, after);
            }
        }
    }

    /// Appends the states of a span's bytes to `runs`.
    #[cold]
    pub fn gather(&mut self, span: Span, cells: &mut Cells<C>, runs: &mut Vec<Run>) {
        self.each_part(span, cells, |cells, part| cells.gather(part, runs));
    }

    /// Puts a span's bytes at `position ..`.
    #[cold]
    pub fn assign(&mut self, span: Span, cells: &mut Cells<C>, mut position: u64) {
        self.each_part(span, cells, |cells, Span { cell, skip, len }| {
            if len < BYTES {
                cells.set_run(cell, skip, len, position);
            } else {
                cells.put(cell, position);
            }
            position += len;
        });
    }

    /// Gives a span's bytes the values that `after` gives for theirs.
    #[inline(always)]
    pub fn end(&mut self, span: Span, cells: &mut Cells<C>, after: impl Fn(u64) -> u64) {
        self.each_part(span, cells, |cells, Span { cell, skip, len }| cells.end_part(cell, skip, len, &after));
    }
}
