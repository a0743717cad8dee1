//! Adds up what parts of one ring counted.
//!
//! Takes analyzers that number modules and contexts alike; gives their sums to one of them.

use std::ops::Range;

use super::{analyzer::Analyzer, charge::Charging, counters::Counters, fast_paths::DepthHash};
use crate::{
    counts::{cell::CellCounters, pairs::CellPairs},
    decode::{
        block::{BlockCounters, CellNumber},
        locator::Placed,
        ring::RingTotals,
    },
    objects::{ObjectNumber, Parts},
    observe::objects::PartOf,
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
    pub pairs: CellPairs,
    /// By cell, if objects are measured: the cell that it is a part of.
    pub part_of: Vec<PartOf>,
    /// What was read of parts of large blocks.
    pub reads: Vec<(ObjectNumber, Parts)>,
}

impl Counted {
    /// All blocks, each with the numbers of its cells, but for cells that are parts of these.
    pub fn blocks(&self) -> Vec<(BlockCounters, Range<usize>)> {
        let ends = self.blocks.iter().skip(1).map(|block| block.first_cell.index()).chain([self.cells.len()]);
        let own = |first: usize, end: usize| {
            let is_part = |cell: &PartOf, number: usize| cell.0 != CellNumber::new(number);
            let parts = self.part_of.get(first..end).unwrap_or_default();
            first..parts.iter().zip(first..).find(|(cell, number)| is_part(cell, *number)).map_or(end, |(_, part)| part)
        };
        self.blocks.iter().zip(ends).map(|(block, end)| (*block, own(block.first_cell.index(), end))).collect()
    }

    /// Numbers the cells of objects, in a list that has the numbers of all other cells.
    pub fn number_parts(
        &self,
        numbers: &mut [CellNumber],
        mut part: impl FnMut(CellNumber, ObjectNumber) -> CellNumber,
    ) {
        // A cell is that of an object as soon as it met one: cells of blocks become those of the same object here.
        let wholes = numbers.to_vec();
        for (number, (whole, object)) in numbers.iter_mut().zip(&self.part_of) {
            if let Some(object) = object {
                *number = part(wholes[whole.index()], *object);
            }
        }
    }

    /// Adds the cells to those that have these numbers, with what they found below.
    pub fn add_to(&mut self, cells: &mut [CellCounters], numbers: &[CellNumber], below: Vec<CellCounters>) {
        let mut below = below.into_iter();
        for (cell, to) in self.cells.iter_mut().zip(numbers) {
            let own = &mut cells[to.index()];
            own.merge(cell);
            if let Some(mut found) = below.next() {
                own.merge(&mut found);
            }
        }
    }
}

/// What has these numbers elsewhere, but for cells that there never are.
pub(super) fn renumbered(numbers: &[CellNumber]) -> impl FnMut(CellNumber) -> CellNumber + '_ {
    |cell| numbers.get(cell.index()).copied().unwrap_or(cell)
}

impl Analyzer {
    /// Knows modules that another analyzer of the ring has met, and goes on where that was.
    pub(super) fn go_on(&mut self, modules: &[Placed], place: usize) {
        let Self { locator, tables, core, .. } = self;
        locator.go_on(modules, place, super::analyzer::added(tables, core));
    }

    /// Knows modules whose variables are known already, and goes on where another analyzer of the ring was; `false` if
    /// they are not.
    pub(super) fn go_on_knowing(&mut self, modules: &[Placed], place: usize) -> bool {
        let known = self.locator.modules.len();
        // Their lives have begun too.
        let objects = self.core.charging.objects.take();
        self.go_on(modules, place);
        self.core.charging.objects = objects;
        let more = &self.locator.modules[known..];
        self.core.charging.objects.as_ref().is_none_or(|objects| more.iter().all(|module| objects.knows(module)))
    }

    /// Ends the replay of slices.
    pub(super) fn into_counted(mut self) -> Counted {
        self.count_unmoved();
        let Charging { mut engine, mut counters, mut totals, objects, .. } = self.core.charging;
        let pairs = engine.beside.finish(&mut counters.cells);
        totals.in_blocks += engine.backend.in_blocks();
        Counted {
            calls: self.core.calls.contexts.nodes.iter().map(|node| node.calls).collect(),
            hash: engine.sinks.hash.take(),
            pairs,
            blocks: counters.table.blocks,
            cells: counters.cells,
            part_of: counters.table.parts.map(|parts| parts.into_parts()).unwrap_or_default(),
            reads: objects.map(|objects| objects.layout.into_reads()).unwrap_or_default(),
            totals,
        }
    }

    /// Adds what a part of the ring has counted, which has met no context or module that is not known here. `below` is
    /// what else its cells found, with its hash. Gives the numbers that these have here.
    pub(super) fn absorb(
        &mut self,
        mut part: Counted,
        below: Vec<CellCounters>,
        hash: Option<&DepthHash>,
    ) -> Vec<CellNumber> {
        let Charging { engine, counters, totals, objects, .. } = &mut self.core.charging;
        let numbers = counters.numbers_of(&part);
        part.add_to(&mut counters.cells, &numbers, below);
        counters.pairs.add(part.pairs, renumbered(&numbers));
        objects.iter_mut().for_each(|objects| objects.layout.add_reads(&part.reads));
        for (node, more) in self.core.calls.contexts.nodes.iter_mut().zip(&part.calls) {
            node.calls += more;
        }
        if let Some(all) = &mut engine.sinks.hash {
            for hash in part.hash.as_deref().into_iter().chain(hash) {
                all.absorb(hash, |cell| numbers[cell.index()]);
            }
        }
        totals.add_part(&part.totals);
        numbers
    }
}

impl Counters {
    /// The numbers that the cells of a part have here. Counts how often its blocks were executed.
    fn numbers_of(&mut self, part: &Counted) -> Vec<CellNumber> {
        let mut numbers = vec![CellNumber::default(); part.cells.len()];
        for (block, cells) in part.blocks() {
            let own = self.block(block.node, block.segment, cells.len());
            own.executions += block.executions;
            let first = own.first_cell;
            numbers[cells].iter_mut().zip(0..).for_each(|(number, item)| *number = first.after(item));
        }
        part.number_parts(&mut numbers, |cell, object| self.cell_of(cell, object));
        numbers
    }
}
