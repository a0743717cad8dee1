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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_the_first_cell_and_stores_that_do_not_count_are_told_apart() {
        let all = [None, Some(CellNumber::new(0)), Some(UNKNOWN)];
        let numbers = all.map(|cell| cell.map(WriterNumber::from_cell));
        assert_eq!(numbers.map(|number| number.map(WriterNumber::cell)), all);
        assert!(numbers.is_sorted_by(|one, next| one < next));
    }
}
