//! Bytes of pages of which little was touched, as if they had cells of their own.
//!
//! Takes spans by the numbers that their cells would have, and the cells of everything else, of which one lends itself.
//! Refuses nothing; whoever puts bytes there sees to it that they are few.

use super::{
    cells::Cells,
    layout::{PAGE_CELLS, Span},
};
use crate::engine::{cell::Cell, sparse_page::SparsePages};

impl<C: Cell> SparsePages<C> {
    /// Does something with the parts of a span, one after another, as if each was in the cell that it gets.
    #[cold]
    pub fn each_part(&mut self, span: Span, cells: &mut Cells<C>, mut act: impl FnMut(&mut Cells<C>, Span)) {
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
}
