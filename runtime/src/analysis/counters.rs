//! The counters of one ring: by (context, segment), by (context, site), and by object where objects are measured.
//!
//! Takes segments in the contexts that execute them; gives the numbers of their blocks and cells. In the end takes what
//! was counted without a look at each access, and what further passes found. Refuses nothing.

use super::{exact::Exact, lengths::each, optimum::Least, segment_template::Moves};
use crate::{
    abi::{Item, ItemKind},
    counts::{cell::CellCounters, depths::DepthCounts, pairs::CellPairs},
    decode::{
        block::{BlockCounters, BlockNumbers, CellNumber},
        context::ContextNumber,
        locator::{Locator, Module, SegmentNumber},
        ring::RingTotals,
    },
    objects::ObjectNumber,
    observe::{attribution::Files, cell_sites::CellSites, objects::ObjectCells},
};

/// The counters of one ring.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) blocks: Vec<BlockCounters>,
    numbers: BlockNumbers,
    pub(super) cells: Vec<CellCounters>,
    /// Depths of first touches, of the whole ring.
    pub(super) cold: DepthCounts,
    pub(super) pairs: CellPairs,
    /// Cells by object, if objects are measured.
    pub(super) parts: Option<Box<ObjectCells>>,
}

/// Whose the cells of blocks are.
#[inline(always)]
fn sites<'a>(blocks: &'a [BlockCounters], parts: &'a Option<Box<ObjectCells>>) -> CellSites<'a> {
    CellSites { blocks, part_of: parts.as_ref().map_or(&[], |parts| parts.parts()) }
}

impl Counters {
    /// Nothing was counted.
    pub(super) fn new(has_objects: bool) -> Self {
        Self { parts: has_objects.then(Box::default), ..Self::default() }
    }

    /// Takes note of a module.
    pub(super) fn add(&mut self, module: &Module) {
        self.numbers.add(module);
    }

    /// Where the engine files results.
    #[inline(always)]
    pub(super) fn files(&mut self) -> Files<'_> {
        Files { cells: &mut self.cells, cold: &mut self.cold, sites: sites(&self.blocks, &self.parts) }
    }

    /// Block of a segment in a context of its function, made with its cells on first use.
    #[inline]
    pub(super) fn block(&mut self, node: ContextNumber, segment: SegmentNumber, items: usize) -> &mut BlockCounters {
        let next = self.blocks.len() as u32;
        let block = self.numbers.find(node, segment, next);
        if block == next {
            self.add_block(node, segment, items);
        }
        &mut self.blocks[block as usize]
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
        self.parts.iter_mut().for_each(|parts| parts.add_cells(self.cells.len()));
        self.blocks.push_mut(BlockCounters { node, segment, executions: 0, first_cell, moved: 0 })
    }

    /// The cell of a site's accesses to an object, if objects are measured; made if there is none yet.
    #[inline]
    pub(super) fn cell_of(&mut self, cell: CellNumber, object: ObjectNumber) -> CellNumber {
        self.parts.as_mut().map_or(cell, |parts| parts.cell_for(cell, object, &mut self.cells))
    }

    /// Whose the cells are.
    pub(super) fn sites(&self) -> CellSites<'_> {
        sites(&self.blocks, &self.parts)
    }

    /// What is of pairs of cells, with the cells that these are parts of in their places.
    pub(super) fn take_pairs(&mut self) -> CellPairs {
        std::mem::take(&mut self.pairs).renumbered(|cell| self.sites().whole(cell))
    }

    /// Counts what need not be looked at each time that a segment is executed: what it writes, and reads on the top of
    /// the stack, of which it tells.
    pub(super) fn count_unmoved(
        &mut self,
        moves: &Moves,
        locator: &Locator,
        mut tell: impl FnMut(CellNumber, u64, u64),
    ) {
        for block in self.blocks.iter().filter(|block| block.moved > 0) {
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
            let Some((segment, number)) = self.sites().site(CellNumber::new(cell)) else { continue };
            let is_fixed = locator.items(segment).get(number as usize).is_some_and(|item| each(item).is_some());
            if let Some(counts) = self.cells[cell].sampled.as_mut().filter(|_| is_fixed) {
                counts.read = counts.bytes().round() as u64;
            }
        }
    }

    /// Takes from the cells what only records told of accesses that are counted by executions; estimates of what was
    /// read may stay.
    pub(super) fn leave_out_executed(&mut self, locator: &Locator, keeps_estimates: bool) {
        for block in &self.blocks {
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
