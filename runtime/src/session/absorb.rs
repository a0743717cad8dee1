//! Adds up what parts of one ring counted.
//!
//! Takes analyzers that number modules and contexts alike; gives their sums to one of them.

use std::ops::Range;

use super::{analyzer::Analyzer, fast_paths::DepthHash};
use crate::{
    counts::cell::CellCounters,
    decode::{
        block::{BlockCounters, CellNumber},
        locator::Placed,
        ring::RingTotals,
    },
};

/// What a part of a ring has counted.
pub(super) struct Counted {
    pub blocks: Vec<BlockCounters>,
    pub cells: Vec<CellCounters>,
    /// By context.
    pub calls: Vec<u64>,
    /// Of these only what is counted: the rest is the whole ring's.
    pub totals: RingTotals,
    pub hash: Option<Box<DepthHash>>,
}

impl Counted {
    /// All blocks, each with the numbers of its cells.
    pub fn blocks(&self) -> Vec<(BlockCounters, Range<usize>)> {
        let ends = self.blocks.iter().skip(1).map(|block| block.first_cell.index()).chain([self.cells.len()]);
        self.blocks.iter().zip(ends).map(|(block, end)| (*block, block.first_cell.index()..end)).collect()
    }
}

impl Analyzer {
    /// Knows modules that another analyzer of the ring has met, and goes on where that was.
    pub(super) fn go_on(&mut self, modules: &[Placed], place: usize) {
        let Self { locator, tables, core, .. } = self;
        locator.go_on(modules, place, super::analyzer::added(tables, core));
    }

    /// Ends the replay of slices.
    pub(super) fn into_counted(mut self) -> Counted {
        self.count_unmoved();
        let mut totals = self.core.totals;
        totals.in_blocks += self.core.engine.in_blocks();
        Counted {
            calls: self.core.contexts.nodes.iter().map(|node| node.calls).collect(),
            hash: self.core.engine.hash_mut().take(),
            blocks: self.core.blocks,
            cells: self.core.cells,
            totals,
        }
    }

    /// Adds what a part of the ring has counted, which has met no context or module that is not known here. `below` is
    /// what else its cells found, with its hash.
    pub(super) fn absorb(&mut self, mut part: Counted, below: Vec<CellCounters>, hash: Option<&DepthHash>) {
        let mut below = below.into_iter();
        let mut numbers = Vec::with_capacity(part.cells.len());
        for (block, cells) in part.blocks() {
            let own = self.core.block_of(block.node, block.segment, cells.len());
            let own = &mut self.core.blocks[own as usize];
            own.executions += block.executions;
            let to = own.first_cell.index();
            for (cell, to) in part.cells[cells].iter_mut().zip(to..) {
                numbers.push(CellNumber::new(to));
                self.core.cells[to].merge(cell);
                if let Some(mut found) = below.next() {
                    self.core.cells[to].merge(&mut found);
                }
            }
        }
        for (node, more) in self.core.contexts.nodes.iter_mut().zip(&part.calls) {
            node.calls += more;
        }
        if let Some(all) = self.core.engine.hash_mut() {
            for hash in part.hash.as_deref().into_iter().chain(hash) {
                all.absorb(hash, |cell| numbers[cell.index()]);
            }
        }
        self.core.totals.add_part(&part.totals);
    }
}
