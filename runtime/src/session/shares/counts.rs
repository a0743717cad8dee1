//! What a part of a ring has counted, as files of slices have it.
//!
//! Takes and gives what `super::super::absorb` adds up; joins what two neighbouring parts have counted. Refuses to join
//! what cannot be of one program.

use std::{collections::HashMap, ops::Range};

use serde::{Deserialize, Serialize};

use super::super::absorb::Counted;
use crate::{
    counts::{cell::CellCounters, depths::DepthCounts},
    decode::{
        block::{BlockCounters, CellNumber},
        context::ContextNumber,
        locator::SegmentNumber,
        ring::RingTotals,
    },
    hash::FastHash,
};

/// What was counted, in the ring's numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Context, segment, executions and first cell.
    blocks: Vec<(ContextNumber, SegmentNumber, u64, CellNumber)>,
    cells: Vec<CellCounts>,
    /// Of contexts that were called.
    calls: Vec<(u32, u64)>,
    accesses: u64,
    unknown_frees: u64,
    lost_words: u64,
    pub active: bool,
    roi_seen: bool,
    in_blocks: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct CellCounts {
    executions: u64,
    written: u64,
    cost: u128,
    depths: Vec<(u16, u64)>,
}

impl Counts {
    pub fn new(counted: Counted, active: bool) -> Self {
        let Counted { blocks, cells, calls, totals, .. } = counted;
        let cell = |mut cell: CellCounters| {
            cell.flush();
            let depths = cell.depths.iter().collect();
            CellCounts { executions: cell.executions, written: cell.written, cost: cell.cost, depths }
        };
        Self {
            blocks: blocks.iter().map(|b| (b.node, b.segment, b.executions, b.first_cell)).collect(),
            cells: cells.into_iter().map(cell).collect(),
            calls: (0..).zip(calls).filter(|(_, calls)| *calls > 0).collect(),
            accesses: totals.accesses,
            unknown_frees: totals.unknown_frees,
            lost_words: totals.lost_words,
            active,
            roi_seen: totals.roi_seen,
            in_blocks: totals.in_blocks,
        }
    }

    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    pub fn lose(&mut self, words: u64) {
        self.lost_words += words;
    }

    pub fn counted(self) -> Counted {
        let cell = |cell: CellCounts| {
            let mut depths = DepthCounts::default();
            cell.depths.iter().for_each(|&(bucket, bytes)| depths.add(bucket, bytes));
            let CellCounts { executions, written, cost, .. } = cell;
            let mut counters = CellCounters::default();
            (counters.executions, counters.written) = (executions, written);
            (counters.cost, counters.depths) = (cost, depths);
            counters
        };
        let mut calls = Vec::new();
        for (node, more) in self.calls {
            calls.resize(calls.len().max(node as usize + 1), 0);
            calls[node as usize] = more;
        }
        let block =
            |(node, segment, executions, first_cell)| BlockCounters { node, segment, executions, first_cell, moved: 0 };
        Counted {
            blocks: self.blocks.into_iter().map(block).collect(),
            cells: self.cells.into_iter().map(cell).collect(),
            calls,
            totals: RingTotals {
                accesses: self.accesses,
                unknown_frees: self.unknown_frees,
                lost_words: self.lost_words,
                roi_seen: self.roi_seen,
                in_blocks: self.in_blocks,
                ..RingTotals::default()
            },
            hash: None,
            objects: None,
        }
    }

    /// Adds what the part behind has counted, and what that found in this one; gives the numbers that its cells have
    /// here. Nothing if the two count different items for a segment.
    pub fn join(self, behind: Self, found: Vec<CellCounters>) -> Option<(Self, Vec<CellNumber>)> {
        let active = self.active | behind.active;
        let (mut all, mut behind) = (self.counted(), behind.counted());
        let name = |block: &BlockCounters| (block.node, block.segment);
        let places = (0..).zip(all.blocks()).map(|(number, (block, cells))| (name(&block), (number, cells)));
        let places: HashMap<_, (usize, Range<usize>), FastHash> = places.collect();
        let mut found = found.into_iter();
        let mut numbers = Vec::with_capacity(behind.cells.len());
        for (block, cells) in behind.blocks() {
            let first = match places.get(&name(&block)) {
                Some((number, there)) if there.len() == cells.len() => {
                    all.blocks[*number].executions += block.executions;
                    there.start
                }
                Some(_) => return None,
                None => {
                    let first = all.cells.len();
                    all.blocks.push(BlockCounters { first_cell: CellNumber::new(first), ..block });
                    all.cells.resize_with(first + cells.len(), CellCounters::default);
                    first
                }
            };
            for (cell, to) in behind.cells[cells].iter_mut().zip(first..) {
                numbers.push(CellNumber::new(to));
                all.cells[to].merge(cell);
                if let Some(mut found) = found.next() {
                    all.cells[to].merge(&mut found);
                }
            }
        }
        all.calls.resize(all.calls.len().max(behind.calls.len()), 0);
        all.calls.iter_mut().zip(behind.calls).for_each(|(calls, more)| *calls += more);
        all.totals.add_part(&behind.totals);
        Some((Self::new(all, active), numbers))
    }

    /// Whether all numbers are of something: those of blocks of cells, and all below these limits.
    pub fn is_sound(&self, contexts: usize, segments: usize) -> bool {
        let firsts = self.blocks.iter().map(|block| block.3.index());
        firsts.clone().is_sorted()
            && firsts.chain([self.cells.len()]).all(|first| first <= self.cells.len())
            && self.blocks.first().is_none_or(|block| block.3.index() == 0)
            && self.blocks.iter().all(|block| block.0.index() < contexts && block.1.index() < segments)
            && self.calls.iter().all(|call| (call.0 as usize) < contexts)
    }
}
