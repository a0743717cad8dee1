//! Which site, calling context and object each cell of a ring is of.
//!
//! Takes the blocks of a ring and, if objects are measured, what its cells are parts of; both grow while the ring is
//! replayed. Gives no answer for cells that there never are, as those of accesses that do not count.

use super::objects::PartOf;
use crate::{
    decode::{
        block::{BlockCounters, CellNumber},
        ring::RingSite,
    },
    objects::ObjectNumber,
};

/// The cells of a ring as far as it was replayed.
#[derive(Clone, Copy, Default)]
pub struct CellSites<'a> {
    /// In the order of their cells.
    pub blocks: &'a [BlockCounters],
    /// By cell; empty if objects are not measured.
    pub part_of: &'a [PartOf],
}

impl CellSites<'_> {
    /// The cell that a cell is a part of; itself if it is none.
    #[must_use]
    pub fn whole(&self, cell: CellNumber) -> CellNumber {
        self.part_of.get(cell.index()).map_or(cell, |(whole, _)| *whole)
    }

    /// The object whose accesses a cell counts, if that is known.
    #[must_use]
    pub fn object(&self, cell: CellNumber) -> Option<ObjectNumber> {
        self.part_of.get(cell.index())?.1
    }

    /// The block of a cell and, among the items of that, the cell's own.
    #[must_use]
    pub fn block(&self, cell: CellNumber) -> Option<(&BlockCounters, u32)> {
        let whole = self.whole(cell);
        // Of blocks without items, the next one has the same first cell.
        let at = self.blocks.partition_point(|block| block.first_cell <= whole);
        let block = self.blocks[..at].last()?;
        Some((block, (whole.index() - block.first_cell.index()) as u32))
    }

    /// The site of a cell.
    #[must_use]
    pub fn site(&self, cell: CellNumber) -> Option<RingSite> {
        self.block(cell).map(|(block, item)| (block.segment, item))
    }

    /// The site of a cell as one number.
    #[must_use]
    pub fn site_name(&self, cell: CellNumber) -> u64 {
        self.site(cell).map_or(0, |(segment, item)| (segment.index() as u64) << 32 | u64::from(item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::program::executed;

    #[test]
    fn a_cell_is_of_the_last_block_that_begins_at_it_or_before_and_a_part_of_that_of_its_whole() {
        // Segment 2 has two cells, segment 0 none, segment 1 one; cell 3 is the part of cell 1 for an object.
        let (cell, object) = (CellNumber::new, Some(ObjectNumber::new(7)));
        let part_of = [(cell(0), None), (cell(1), None), (cell(2), None), (cell(1), object)];
        let sites = CellSites { blocks: &[executed(2, 0), executed(0, 2), executed(1, 2)], part_of: &part_of };
        let site = |number| sites.site(cell(number)).map(|(segment, item)| (segment.index(), item));
        assert_eq!([0, 1, 2, 3].map(site), [(2, 0), (2, 1), (1, 0), (2, 1)].map(Some));
        assert_eq!([0, 3].map(|number| sites.object(cell(number))), [None, object]);
        assert_eq!((sites.site_name(cell(3)), CellSites::default().site_name(cell(3))), (2 << 32 | 1, 0));
    }
}
