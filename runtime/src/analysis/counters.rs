//! The counters of one ring: by (context, segment), by (context, site), and by object where objects are measured.
//!
//! Takes segments in the contexts that execute them; gives the numbers of their blocks and cells. In the end takes what
//! was counted without a look at each access, and what further passes found. Refuses nothing.

use super::{exact::Exact, lengths::each, optimum::Least, segment_template::Moves};
use crate::{
    abi::{Item, ItemKind},
    counts::{
        cell::CellCounters,
        depths::DepthCounts,
        pairs::{CellPairs, RingPairs},
    },
    decode::{
        block::{BlockCounters, BlockNumbers, CellNumber},
        context::ContextNumber,
        locator::{Locator, Module, SegmentNumber},
        ring::RingTotals,
    },
    objects::ObjectNumber,
    observe::{attribution::Files, cell_table::CellTable},
};

/// The counters of one ring.
#[derive(Default)]
pub(super) struct Counters {
    /// Whose the cells are.
    pub(super) table: CellTable,
    numbers: BlockNumbers,
    pub(super) cells: Vec<CellCounters>,
    /// Depths of first touches, of the whole ring.
    pub(super) cold: DepthCounts,
    pub(super) pairs: CellPairs,
}

impl Counters {
    /// Nothing was counted.
    pub(super) fn new(has_objects: bool) -> Self {
        Self { table: CellTable { parts: has_objects.then(Box::default), ..CellTable::default() }, ..Self::default() }
    }

    /// Takes note of a module.
    pub(super) fn add(&mut self, module: &Module) {
        self.numbers.add(module);
    }

    /// Where the engine files results.
    #[inline(always)]
    pub(super) fn files(&mut self) -> Files<'_> {
        Files { cells: &mut self.cells, cold: &mut self.cold, sites: &self.table }
    }

    /// Block of a segment in a context of its function, made with its cells on first use.
    #[inline]
    pub(super) fn block(&mut self, node: ContextNumber, segment: SegmentNumber, items: usize) -> &mut BlockCounters {
        let next = self.table.blocks.len() as u32;
        let block = self.numbers.find(node, segment, next);
        if block == next {
            self.add_block(node, segment, items);
        }
        &mut self.table.blocks[block as usize]
    }

    #[cold]
    pub(super) fn add_block(
        &mut self,
        node: ContextNumber,
        segment: SegmentNumber,
        items: usize,
    ) -> &mut BlockCounters {
        let first_cell = CellNumber::new(self.cells.len());
        self.cells.resize_with(self.cells.len() + items, CellCounters::default);
        self.table.parts.iter_mut().for_each(|parts| parts.add_cells(self.cells.len()));
        self.table.blocks.push_mut(BlockCounters { node, segment, executions: 0, first_cell, moved: 0 })
    }

    /// The cell of a site's accesses to an object, if objects are measured; made if there is none yet.
    #[inline]
    pub(super) fn cell_of(&mut self, cell: CellNumber, object: ObjectNumber) -> CellNumber {
        self.table.parts.as_mut().map_or(cell, |parts| parts.cell_for(cell, object, &mut self.cells))
    }

    /// What is of pairs of cells, by their sites.
    pub(super) fn take_pairs(&mut self) -> RingPairs {
        let mut all = RingPairs::new();
        for ((before, cell), counts) in std::mem::take(&mut self.pairs).0 {
            let Some(cell) = self.table.site(cell) else { continue };
            all.entry((self.table.site(before), cell)).or_default().merge(&counts);
        }
        all
    }

    /// Counts what need not be looked at each time that a segment is executed: what it writes, and reads on the top of
    /// the stack, of which it tells.
    pub(super) fn count_unmoved(
        &mut self,
        moves: &Moves,
        locator: &Locator,
        mut tell: impl FnMut(CellNumber, u64, u64),
    ) {
        for block in self.table.blocks.iter().filter(|block| block.moved > 0) {
            let items = locator.items(block.segment);
            for (item, cell) in items.iter().zip(block.first_cell.index()..) {
                if item.kind == ItemKind::Store as u8 {
                    self.cells[cell].written += u64::from(item.size) * block.moved;
                } else if moves.leaves_out(item) {
                    self.cells[cell].read_times(0, u64::from(item.size), block.moved);
                    tell(CellNumber::new(cell), u64::from(item.size), block.moved);
                }
            }
        }
    }

    /// Takes back what was counted of reads.
    pub(super) fn forget_reads(&mut self) {
        self.cells.iter_mut().for_each(CellCounters::forget_reads);
    }

    /// Puts what was found without dead bytes in the place of what was found with them.
    pub(super) fn exact(&mut self, exact: Exact, totals: &mut RingTotals) {
        for ((cell, exact), left) in self.cells.iter_mut().zip(exact.cells).zip(exact.left) {
            cell.replace(exact, left);
        }
        self.cold = exact.cold;
        totals.peak_live = exact.peak_live;
        totals.sweep_bytes = exact.sweep_bytes;
    }

    /// Files what memories fetch at least, by cell.
    pub(super) fn least(&mut self, least: Least, totals: &mut RingTotals) {
        for (cell, least) in self.cells.iter_mut().zip(least.cells) {
            cell.least = least;
        }
        totals.sweep_bytes = totals.sweep_bytes.max(least.heap_bytes);
    }

    /// Of cells whose bytes are not known exactly, for they are only one object's part of a site: what the sample says.
    pub(super) fn estimate_reads(&mut self, locator: &Locator) {
        for cell in 0..self.cells.len() {
            let Some((segment, number)) = self.table.site(CellNumber::new(cell)) else { continue };
            let is_fixed = locator.items(segment).get(number as usize).is_some_and(|item| each(item).is_some());
            if let Some(counts) = self.cells[cell].sampled.as_mut().filter(|_| is_fixed) {
                counts.read = counts.bytes().round() as u64;
            }
        }
    }

    /// Takes from the cells what only records told of accesses that are counted by executions; estimates of what was
    /// read may stay.
    pub(super) fn leave_out_executed(&mut self, locator: &Locator, keeps_estimates: bool) {
        for block in &self.table.blocks {
            for (item, cell) in locator.items(block.segment).iter().zip(block.first_cell.index()..) {
                if each(item).is_none() {
                    continue;
                }
                let cell = &mut self.cells[cell];
                cell.written = 0;
                if let Some(counts) = cell.sampled.as_mut().filter(|_| !keeps_estimates) {
                    counts.read = 0;
                }
            }
        }
    }

    /// Puts what so many executions of items, the first of which has this cell, read and wrote in the place of what
    /// records told.
    pub(super) fn set_executed(&mut self, items: &[Item], first_cell: CellNumber, times: u64) {
        for (item, cell) in items.iter().zip(first_cell.index()..) {
            let Some((read, written, _)) = each(item) else { continue };
            let cell = &mut self.cells[cell];
            cell.written = written * times;
            if read > 0 {
                cell.sampled.get_or_insert_default().read = read * times;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        counts::pairs::PairCounts,
        observe::{objects::ObjectCells, writer::UNKNOWN},
        tests::program::executed,
    };

    #[test]
    fn pairs_of_cells_of_one_site_are_one_pair() {
        let (cell, pair) = (CellNumber::new, |lines, far| PairCounts { lines, far });
        // Cells 0 and 3 are of the same site in two contexts, and cell 5 is the part of cell 1 for an object.
        let part_of = (0..6).map(|number| (cell(if number == 5 { 1 } else { number }), None)).collect();
        let blocks = vec![executed(2, 0), executed(0, 2), executed(1, 2), executed(2, 3)];
        let table = CellTable { blocks, parts: Some(Box::new(ObjectCells::from_parts(part_of))) };
        let pairs = [
            ((cell(0), cell(2)), pair(4, 1)),
            ((cell(3), cell(2)), pair(2, 2)),
            ((UNKNOWN, cell(1)), pair(1, 0)),
            ((UNKNOWN, cell(5)), pair(7, 7)),
        ];
        let mut counters = Counters { table, pairs: CellPairs(pairs.into()), ..Counters::default() };
        let site = |segment, item| (SegmentNumber::new(segment), item);
        let expected = [((None, site(2, 1)), pair(8, 7)), ((Some(site(2, 0)), site(1, 0)), pair(6, 3))];
        assert_eq!(counters.take_pairs(), RingPairs::from(expected));
        assert!(counters.take_pairs().is_empty(), "they are given up");
    }
}
