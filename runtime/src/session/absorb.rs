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
    observe::objects::{OwnObjects, PartOf},
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
    /// If objects are measured: of which cells the cells are parts, and what was read of large blocks.
    pub objects: Option<Box<OwnObjects>>,
}

impl Counted {
    /// All blocks, each with the numbers of its cells, but for cells that are parts of these.
    pub fn blocks(&self) -> Vec<(BlockCounters, Range<usize>)> {
        let ends = self.blocks.iter().skip(1).map(|block| block.first_cell.index()).chain([self.cells.len()]);
        let own = |first: usize, end: usize| {
            let is_part = |cell: &PartOf, number: usize| cell.0 != CellNumber::new(number);
            let parts = self.part_of().get(first..end).unwrap_or_default();
            first..parts.iter().zip(first..).find(|(cell, number)| is_part(cell, *number)).map_or(end, |(_, part)| part)
        };
        self.blocks.iter().zip(ends).map(|(block, end)| (*block, own(block.first_cell.index(), end))).collect()
    }

    /// By cell, if objects are measured: the cell that it is a part of.
    fn part_of(&self) -> &[PartOf] {
        self.objects.as_ref().map_or(&[], |own| own.cells.parts())
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
            objects: self.core.objects,
            totals,
        }
    }

    /// Adds what a part of the ring has counted, which has met no context or module that is not known here. `below` is
    /// what else its cells found, with its hash.
    pub(super) fn absorb(&mut self, mut part: Counted, below: Vec<CellCounters>, hash: Option<&DepthHash>) {
        let numbers = self.numbers(&part);
        let mut below = below.into_iter();
        for (cell, to) in part.cells.iter_mut().zip(&numbers) {
            let own = &mut self.core.cells[to.index()];
            own.merge(cell);
            if let Some(mut found) = below.next() {
                own.merge(&mut found);
            }
        }
        if let (Some(own), Some(part)) = (&mut self.core.objects, &part.objects) {
            own.objects.add_reads(&part.objects);
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

    /// The numbers that the cells of a part have here. Counts how often its blocks were executed.
    fn numbers(&mut self, part: &Counted) -> Vec<CellNumber> {
        let core = &mut self.core;
        let mut numbers = vec![CellNumber::default(); part.cells.len()];
        for (block, cells) in part.blocks() {
            let own = core.block_of(block.node, block.segment, cells.len());
            let own = &mut core.blocks[own as usize];
            own.executions += block.executions;
            let first = own.first_cell;
            numbers[cells].iter_mut().zip(0..).for_each(|(number, item)| *number = first.after(item));
        }
        // A cell is that of an object as soon as it met one: cells of blocks become those of the same object here.
        let wholes = numbers.clone();
        for (number, (whole, object)) in numbers.iter_mut().zip(part.part_of()) {
            if let Some(object) = object {
                *number = core.cell_of(wholes[whole.index()], *object);
            }
        }
        numbers
    }
}
