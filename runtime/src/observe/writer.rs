//! Who wrote a line last, for those who follow lines.

use crate::{decode::block::CellNumber, numbers::niche_number};

niche_number! {
    /// Number of the cell that wrote a line last.
    WriterNumber
}

/// A cell that there never is: of stores that do not count.
pub const UNKNOWN: CellNumber = CellNumber::new(u32::MAX as usize - 1);

impl WriterNumber {
    /// A cell, or [`UNKNOWN`].
    #[inline(always)]
    pub const fn from_cell(cell: CellNumber) -> Self {
        Self::new(cell.index())
    }

    /// The cell.
    #[inline(always)]
    pub const fn cell(self) -> CellNumber {
        CellNumber::new(self.index())
    }
}
