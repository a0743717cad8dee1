//! Where what the engine found is filed.

use crate::{
    counts::{cell::CellCounters, depths::DepthCounts, many::Many},
    decode::block::CellNumber,
    engine::{Found, Reports},
};

/// Where results are filed.
pub struct Files<'a> {
    pub cells: &'a mut [CellCounters],
    /// Depths of first touches, for the whole thread.
    pub cold: &'a mut DepthCounts,
}

impl Files<'_> {
    /// Files everything in a list by the cells of its labels; what has no cell is not counted.
    pub(crate) fn file(&mut self, reports: &Reports, many: &mut Many) {
        reports.each(|label, found| match found {
            Found::Warm { above, len } if Many::takes(above, len) => {
                let cell = label.cell();
                if self.has(cell) && !many.push(cell, above, len) {
                    self.file_many(many);
                }
            }
            _ => self.found(label.cell(), found),
        });
        self.file_many(many);
    }

    fn file_many(&mut self, many: &mut Many) {
        many.each(|cell, read| self.cells[cell.index()].read_priced(read));
    }

    /// Whether reads of a cell count.
    pub(crate) fn has(&self, cell: CellNumber) -> bool {
        cell.index() < self.cells.len()
    }

    #[inline(always)]
    pub(crate) fn found(&mut self, cell: CellNumber, found: Found) {
        let Some(cell) = self.cells.get_mut(cell.index()) else { return };
        match found {
            Found::Warm { above, len } => cell.read(above, len),
            Found::Cold { above, len } => {
                cell.cold += len;
                self.cold.add_run(above, len, 1);
                cell.read(above, len);
            }
            Found::Row(row) => cell.read_row(row),
        }
    }
}
