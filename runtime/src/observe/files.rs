//! Where what the engine found is filed.

use crate::{
    counts::{cell::CellCounters, depths::DepthCounts, many::Many},
    engine::{Found, Reports},
};

/// Where results are filed.
pub struct Files<'a> {
    pub cells: &'a mut [CellCounters],
    /// Depths of first touches, for the whole thread.
    pub cold: &'a mut DepthCounts,
}

impl Files<'_> {
    /// Files everything in a list whose labels are cells; what has no cell is not counted.
    pub(crate) fn file(&mut self, reports: &Reports, many: &mut Many) {
        reports.each(|cell, found| match found {
            Found::Warm { above, len } if Many::takes(above, len) => {
                if self.has(cell) && !many.push(cell, above, len) {
                    self.file_many(many);
                }
            }
            _ => self.found(cell, found),
        });
        self.file_many(many);
    }

    fn file_many(&mut self, many: &mut Many) {
        many.each(|cell, read| self.cells[cell as usize].read_priced(read));
    }

    /// Whether reads of a cell count.
    pub(crate) fn has(&self, cell: u32) -> bool {
        (cell as usize) < self.cells.len()
    }

    #[inline(always)]
    pub(crate) fn found(&mut self, cell: u32, found: Found) {
        let Some(cell) = self.cells.get_mut(cell as usize) else { return };
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
