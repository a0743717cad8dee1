//! Where what the engine found is filed.

use crate::{
    counts::{
        cell::CellCounters,
        depths::DepthCounts,
        many::{Many, takes},
    },
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
    pub(crate) fn file(&mut self, reports: &Reports, many: &mut Many<CellNumber>) {
        reports.each(|label, found| self.hold(label.cell(), found, many));
        self.file_many(many);
    }

    /// Files what was found by a cell, in the end by `file_many`.
    #[inline(always)]
    pub(crate) fn hold(&mut self, cell: CellNumber, found: Found, many: &mut Many<CellNumber>) {
        match found {
            Found::Warm { above, len } if takes(above, len) => {
                if self.has(cell) && !many.push(cell, above, len) {
                    self.file_many(many);
                }
            }
            _ => self.found(cell, found),
        }
    }

    pub(crate) fn file_many(&mut self, many: &mut Many<CellNumber>) {
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
            Found::Holes(runs, holes) => cell.below_holes(runs, holes),
        }
    }
}
