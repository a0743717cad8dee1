//! What exact liveness found, by cell.
//!
//! Takes what parts of a ring found, in any order; gives their sums. Refuses nothing.

use crate::counts::{
    cell::{CellCounters, Left},
    depths::DepthCounts,
};

/// What a ring's accesses found without dead bytes on the stack.
#[derive(Default)]
pub struct Exact {
    /// Depths and costs by cell, in the numbering of the operations.
    pub cells: Vec<CellCounters>,
    /// By cell as well.
    pub left: Vec<Left>,
    /// Depths of first touches.
    pub cold: DepthCounts,
    /// Most bytes that were on the stack at a time.
    pub peak_live: u64,
    /// Most memory that the sweep held for its bits.
    pub sweep_bytes: u64,
}

impl Exact {
    /// Nothing was found by so many cells.
    pub fn new(cells: usize) -> Self {
        Self { cells: vec![CellCounters::default(); cells], left: vec![Left::default(); cells], ..Self::default() }
    }

    /// Adds what a part found, whose cells have the same numbers.
    pub fn absorb(&mut self, mut part: Self) {
        for (cell, found) in self.cells.iter_mut().zip(&mut part.cells) {
            cell.merge(found);
        }
        for (left, more) in self.left.iter_mut().zip(part.left) {
            left.merge(&more);
        }
        self.cold.merge(&part.cold);
        self.peak_live = self.peak_live.max(part.peak_live);
        self.sweep_bytes = self.sweep_bytes.max(part.sweep_bytes);
    }
}
