//! Where what the engine found is filed.

use super::cell_table::{CellTable, NO_CELLS};
use crate::{
    counts::{
        cell::CellCounters,
        depths::DepthCounts,
        many::{Many, takes},
    },
    decode::block::CellNumber,
    engine::{DepthRun, Reports},
};

/// Where results are filed.
pub struct Files<'a> {
    pub cells: &'a mut [CellCounters],
    /// Depths of first touches, for the whole thread.
    pub cold: &'a mut DepthCounts,
    /// Whose the cells are, for flows.
    pub sites: &'a CellTable,
}

impl<'a> Files<'a> {
    /// Of cells whose sites nobody asks for.
    pub(crate) fn new(cells: &'a mut [CellCounters], cold: &'a mut DepthCounts) -> Self {
        Self { cells, cold, sites: NO_CELLS }
    }

    /// Files everything in a list by the cells of its labels; what has no cell is not counted.
    pub(crate) fn file(&mut self, reports: &Reports, many: &mut Many<CellNumber>) {
        reports.each(|label, found| self.hold(label.cell(), found, many));
        self.file_many(many);
    }

    /// Files what was found by a cell, in the end by `file_many`.
    #[inline(always)]
    pub(crate) fn hold(&mut self, cell: CellNumber, found: DepthRun, many: &mut Many<CellNumber>) {
        match found {
            DepthRun::Warm { above, len } if takes(above, len) => {
                if self.counts_reads(cell) && !many.push(cell, above, len) {
                    self.file_many(many);
                }
            }
            _ => self.count_found(cell, found),
        }
    }

    pub(crate) fn file_many(&mut self, many: &mut Many<CellNumber>) {
        many.each(|cell, read| self.cells[cell.index()].read_priced(read));
    }

    /// Whether reads of a cell count.
    pub(crate) fn counts_reads(&self, cell: CellNumber) -> bool {
        cell.index() < self.cells.len()
    }

    #[inline(always)]
    pub(crate) fn count_found(&mut self, cell: CellNumber, found: DepthRun) {
        let Some(cell) = self.cells.get_mut(cell.index()) else { return };
        match found {
            DepthRun::Warm { above, len } => cell.read(above, len),
            DepthRun::Cold { above, len } => {
                cell.cold += len;
                self.cold.add_run(above, len, 1);
                cell.read(above, len);
            }
            DepthRun::Row(row) => cell.read_row(row),
            DepthRun::Holes(runs, holes) => cell.below_holes(runs, holes),
        }
    }
}
