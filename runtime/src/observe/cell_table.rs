//! Which site, calling context and object each cell of a ring is of.
//!
//! Takes blocks in the order of their cells and, if objects are measured, the cells of objects; both grow while the
//! ring is replayed. Gives no answer for cells that there never are, as those of accesses that do not count.

use super::{
    objects::{ObjectCells, PartOf},
    writer::UNKNOWN,
};
use crate::{
    decode::{
        block::{BlockCounters, CellNumber},
        ring::RingSite,
    },
    objects::ObjectNumber,
};

/// The cells of a ring as far as it was replayed.
#[derive(Default)]
pub struct CellTable {
    pub blocks: Vec<BlockCounters>,
    /// Cells by object, if objects are measured.
    pub parts: Option<Box<ObjectCells>>,
}

/// Of no cells.
pub const NO_CELLS: &CellTable = &CellTable { blocks: Vec::new(), parts: None };

impl CellTable {
    /// The cell that a cell is a part of; itself if it is none.
    #[must_use]
    pub fn whole(&self, cell: CellNumber) -> CellNumber {
        self.part(cell).map_or(cell, |(whole, _)| whole)
    }

    /// The object whose accesses a cell counts, if that is known.
    #[must_use]
    pub fn object(&self, cell: CellNumber) -> Option<ObjectNumber> {
        self.part(cell)?.1
    }

    fn part(&self, cell: CellNumber) -> Option<PartOf> {
        self.parts.as_ref()?.parts().get(cell.index()).copied()
    }

    /// The block of a cell and, among the items of that, the cell's own.
    #[must_use]
    pub fn block(&self, cell: CellNumber) -> Option<(&BlockCounters, u32)> {
        let whole = self.whole(cell);
        if whole >= UNKNOWN {
            return None;
        }
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
    use crate::{engine::AccessTag, tests::program::executed};

    #[test]
    fn a_cell_is_of_the_last_block_that_begins_at_it_or_before_and_a_part_of_that_of_its_whole() {
        // Segment 2 has two cells, segment 0 none, segment 1 one; cell 3 is the part of cell 1 for an object.
        let (cell, object) = (CellNumber::new, Some(ObjectNumber::new(7)));
        let part_of = [(cell(0), None), (cell(1), None), (cell(2), None), (cell(1), object)];
        let sites = CellTable {
            blocks: vec![executed(2, 0), executed(0, 2), executed(1, 2)],
            parts: Some(Box::new(ObjectCells::from_parts(part_of.to_vec()))),
        };
        let site = |number| sites.site(cell(number)).map(|(segment, item)| (segment.index(), item));
        assert_eq!([0, 1, 2, 3].map(site), [(2, 0), (2, 1), (1, 0), (2, 1)].map(Some));
        assert_eq!([0, 3].map(|number| sites.object(cell(number))), [None, object]);
        assert_eq!([UNKNOWN, AccessTag::UNCOUNTED.cell()].map(|cell| sites.site(cell)), [None; 2]);
        assert_eq!((sites.site_name(cell(3)), NO_CELLS.site_name(cell(3))), (2 << 32 | 1, 0));
    }
}
