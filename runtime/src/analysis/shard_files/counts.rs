//! What a part of a ring has counted, as files of slices have it.
//!
//! Takes and gives what `super::super::absorb` adds up; joins what two neighbouring parts have counted. Refuses to join
//! what cannot be of one program.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use serde::{Deserialize, Serialize};

use super::super::absorb::{Counted, renumbered};
use crate::{
    counts::{
        cell::{BelowHoles, CellCounters},
        depths::DepthCounts,
        lines::LineCounts,
        pairs::{CellPairs, PairCounts},
    },
    decode::{
        block::{BlockCounters, CellNumber},
        context::ContextNumber,
        locator::SegmentNumber,
        ring::RingTotals,
    },
    hash::FastHash,
    histogram::bucket_of,
    objects::{ObjectNumber, PARTS},
    observe::{
        hazards,
        objects::{ObjectCells, PartOf},
        writer::UNKNOWN,
    },
};

/// Bytes and lines that are no more can be added up.
const MOST: u64 = 1 << 56;
/// No depth of a program has this bucket, nor a higher one.
const MOST_BUCKET: u16 = bucket_of(1 << 48);

/// What was counted, in the ring's numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Context, segment, executions and first cell.
    blocks: Vec<(ContextNumber, SegmentNumber, u64, CellNumber)>,
    cells: Vec<CellCounts>,
    /// Lines from far by who brought them in.
    pairs: CellPairs,
    /// By cell, if objects are measured: the cell that it is a part of, and its object.
    part_of: Vec<PartOf>,
    /// By object: bytes read of each part of its large blocks.
    reads: BTreeMap<ObjectNumber, Vec<u64>>,
    /// Of contexts that were called.
    calls: Vec<(u32, u64)>,
    accesses: u64,
    unknown_frees: u64,
    unseen_frames: u64,
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
    depths: DepthCounts,
    below_holes: Option<Box<BelowHoles>>,
    /// By size of lines; nothing of cells that touched none.
    lines: Vec<LineCounts>,
    /// By kind; nothing of cells without them.
    hazards: Vec<u64>,
}

impl CellCounts {
    fn is_sound(&self) -> bool {
        let are_possible = |depths: &DepthCounts| depths.iter().all(|(bucket, n)| bucket < MOST_BUCKET && n < MOST);
        let are_lines = |lines: &LineCounts| {
            let LineCounts { loads, stores, write_backs, in_order, at_step, .. } = lines;
            let LineCounts { first_loads, first_stores, last_write_backs, first_in_order, first_at_step, .. } = *lines;
            let firsts = [first_loads, first_stores, last_write_backs, first_in_order, first_at_step];
            [loads, stores, write_backs, in_order, at_step].into_iter().all(are_possible)
                && firsts.iter().all(|lines| *lines < MOST)
        };
        let below_holes = self.below_holes.iter().flat_map(|below| [&below.depths, &below.capacities]);
        below_holes.chain([&self.depths]).all(are_possible)
            && self.lines.iter().all(are_lines)
            && (self.hazards.is_empty() || self.hazards.len() == hazards::NAMES.len())
            && self.hazards.iter().all(|count| *count < MOST)
    }
}

impl Counts {
    pub fn new(counted: Counted, active: bool) -> Self {
        let Counted { blocks, cells, pairs, part_of, reads: parts, calls, totals, .. } = counted;
        let mut reads: BTreeMap<ObjectNumber, Vec<u64>> = BTreeMap::new();
        for (object, more) in parts {
            let all = reads.entry(object).or_insert_with(|| vec![0; PARTS]);
            all.iter_mut().zip(more.iter()).for_each(|(all, more)| *all += more);
        }
        let cell = |mut cell: CellCounters| {
            cell.flush();
            let (executions, written, cost) = (cell.executions, cell.written, cell.cost);
            let (depths, lines) = (std::mem::take(&mut cell.depths), cell.lines.take().unwrap_or_default().into());
            let hazards = cell.hazards.take().unwrap_or_default().into();
            CellCounts { executions, written, cost, depths, below_holes: cell.below_holes, lines, hazards }
        };
        Self {
            blocks: blocks.iter().map(|b| (b.node, b.segment, b.executions, b.first_cell)).collect(),
            cells: cells.into_iter().map(cell).collect(),
            pairs,
            part_of,
            reads,
            calls: (0..).zip(calls).filter(|(_, calls)| *calls > 0).collect(),
            accesses: totals.accesses,
            unknown_frees: totals.unknown_frees,
            unseen_frames: totals.unseen_frames,
            lost_words: totals.lost_words,
            active,
            roi_seen: totals.roi_seen,
            in_blocks: totals.in_blocks,
        }
    }

    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Whether whatever cells counted of lines is of so many sizes.
    pub fn has_sizes_of_lines(&self, sizes: usize) -> bool {
        self.cells.iter().all(|cell| cell.lines.is_empty() || cell.lines.len() == sizes)
    }

    pub fn lose(&mut self, words: u64) {
        self.lost_words += words;
    }

    pub fn counted(self) -> Counted {
        let cell = |cell: CellCounts| {
            let CellCounts { executions, written, cost, depths, below_holes, lines, hazards } = cell;
            let mut counters = CellCounters::default();
            counters.below_holes = below_holes;
            (counters.executions, counters.written, counters.cost) = (executions, written, cost);
            counters.depths = depths;
            counters.lines = (!lines.is_empty()).then(|| lines.into());
            counters.hazards = (!hazards.is_empty()).then(|| hazards.into());
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
                unseen_frames: self.unseen_frames,
                lost_words: self.lost_words,
                roi_seen: self.roi_seen,
                in_blocks: self.in_blocks,
                ..RingTotals::default()
            },
            hash: None,
            pairs: self.pairs,
            part_of: self.part_of,
            reads: self
                .reads
                .into_iter()
                .filter_map(|(object, reads)| Some((object, reads.try_into().ok()?)))
                .collect(),
        }
    }

    /// What this part and the one behind have counted, and what that found in this one; with the numbers that its cells
    /// have here. Nothing if the two count different items for a segment.
    pub fn join(self, behind: Self, found: Vec<CellCounters>) -> Option<(Counted, Vec<CellNumber>)> {
        let (mut all, mut behind) = (self.counted(), behind.counted());
        let name = |block: &BlockCounters| (block.node, block.segment);
        let places = (0..).zip(all.blocks()).map(|(number, (block, cells))| (name(&block), (number, cells)));
        let places: HashMap<_, (usize, Range<usize>), FastHash> = places.collect();
        let has_objects = !all.part_of.is_empty() || !behind.part_of.is_empty();
        let mut parts = ObjectCells::from_parts(std::mem::take(&mut all.part_of));
        let mut numbers = vec![CellNumber::default(); behind.cells.len()];
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
            numbers[cells].iter_mut().zip(first..).for_each(|(number, to)| *number = CellNumber::new(to));
        }
        if has_objects {
            parts.add_cells(all.cells.len());
            behind.number_parts(&mut numbers, |cell, object| parts.cell_for(cell, object, &mut all.cells));
            all.part_of = parts.into_parts();
        }
        behind.add_to(&mut all.cells, &numbers, found);
        all.pairs.add(behind.pairs, renumbered(&numbers));
        all.reads.extend(behind.reads);
        all.calls.resize(all.calls.len().max(behind.calls.len()), 0);
        all.calls.iter_mut().zip(behind.calls).for_each(|(calls, more)| *calls += more);
        all.totals.add_part(&behind.totals);
        Some((all, numbers))
    }

    /// Whether all numbers are of something: those of blocks of cells, and all below these limits; that of objects is
    /// there if these are measured.
    pub fn is_sound(&self, contexts: usize, segments: usize, objects: Option<usize>) -> bool {
        let firsts = self.blocks.iter().map(|block| block.3.index());
        firsts.clone().is_sorted()
            && firsts.chain([self.cells.len()]).all(|first| first <= self.cells.len())
            && self.blocks.first().is_none_or(|block| block.3.index() == 0)
            && self.blocks.iter().all(|block| block.0.index() < contexts && block.1.index() < segments)
            && self.calls.iter().all(|call| (call.0 as usize) < contexts)
            && (self.cells.is_empty() || !self.blocks.is_empty())
            && self.cells.iter().all(CellCounts::is_sound)
            && self.pairs.0.iter().all(|pair| self.is_sound_pair(pair))
            && self.part_of.len() == objects.map_or(0, |_| self.cells.len())
            && self.has_sound_parts(objects.unwrap_or_default())
    }

    fn is_sound_pair(&self, (&(before, cell), counts): (&(CellNumber, CellNumber), &PairCounts)) -> bool {
        let is_cell = |cell: CellNumber| cell.index() < self.cells.len();
        (is_cell(before) || before == UNKNOWN) && is_cell(cell) && counts.far <= counts.lines && counts.lines < MOST
    }

    /// Whether all parts are of a cell and an object that there are. Behind its own cells, a block has only such as are
    /// parts of these or of those before it.
    fn has_sound_parts(&self, objects: usize) -> bool {
        let is_own = |cell: usize| self.part_of[cell].0.index() == cell;
        let begins = |cell: usize| self.blocks.binary_search_by_key(&cell, |block| block.3.index()).is_ok();
        let is_sound = |(cell, &(whole, object)): (usize, &PartOf)| {
            object.is_none_or(|object| object.index() < objects)
                && match whole.index() {
                    whole if whole == cell => cell == 0 || is_own(cell - 1) || begins(cell),
                    whole => whole < cell && is_own(whole) && object.is_some(),
                }
        };
        let is_read = |(object, reads): (&ObjectNumber, &Vec<u64>)| {
            object.index() < objects && reads.len() == PARTS && reads.iter().all(|read| *read < MOST)
        };
        self.part_of.iter().enumerate().all(is_sound) && self.reads.iter().all(is_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cells: usize, blocks: &[usize], part_of: &[(usize, Option<usize>)]) -> Counts {
        let block = |(segment, first): (usize, &usize)| {
            (ContextNumber::ROOT, SegmentNumber::new(segment), 1, CellNumber::new(*first))
        };
        let part = |&(whole, object): &(usize, Option<usize>)| (CellNumber::new(whole), object.map(ObjectNumber::new));
        Counts {
            blocks: blocks.iter().enumerate().map(block).collect(),
            cells: (0..cells).map(|_| CellCounts { executions: 1, ..CellCounts::default() }).collect(),
            part_of: part_of.iter().map(part).collect(),
            ..Counts::default()
        }
    }

    /// Two blocks, each with a part of the first one's cells behind it.
    const OF_OBJECTS: [(usize, Option<usize>); 5] = [(0, Some(1)), (1, None), (0, Some(2)), (3, Some(1)), (0, Some(3))];

    #[test]
    fn cells_of_objects_are_those_of_the_same_objects_behind_each_other() {
        let before = counts(5, &[0, 3], &OF_OBJECTS);
        let behind = counts(4, &[0, 2], &[(0, Some(2)), (1, Some(7)), (2, None), (0, Some(4))]);
        assert!(before.is_sound(1, 2, Some(4)) && behind.is_sound(1, 2, Some(8)));
        let (both, numbers) = before.join(behind, Vec::new()).expect("of one program");
        let both = Counts::new(both, true);
        assert_eq!(numbers, [2, 1, 3, 5].map(CellNumber::new));
        let executions: Vec<u64> = both.cells.iter().map(|cell| cell.executions).collect();
        assert_eq!(executions, [1, 2, 2, 2, 1, 1]);
        assert_eq!(both.part_of[1], (CellNumber::new(1), Some(ObjectNumber::new(7))));
        assert!(both.is_sound(1, 2, Some(8)));
    }

    #[test]
    fn cells_that_are_parts_of_nothing_are_not_sound() {
        assert!(!counts(5, &[0, 3], &OF_OBJECTS).is_sound(1, 2, None), "objects that are not measured");
        assert!(!counts(5, &[0, 3], &[]).is_sound(1, 2, Some(9)), "no objects");
        assert!(!counts(5, &[], &[]).is_sound(1, 2, None), "cells of no block");
        assert!(!counts(5, &[0], &OF_OBJECTS).is_sound(1, 2, Some(4)), "a cell of a block behind parts");
        for (cell, part) in [(0, (1, Some(1))), (1, (1, Some(4))), (2, (0, None)), (2, (5, Some(1))), (4, (2, Some(3)))]
        {
            let mut parts = OF_OBJECTS;
            parts[cell] = part;
            assert!(!counts(5, &[0, 3], &parts).is_sound(1, 2, Some(4)), "{cell} {part:?}");
        }
        let mut read = counts(5, &[0, 3], &OF_OBJECTS);
        read.reads.insert(ObjectNumber::new(1), vec![1; 63]);
        assert!(!read.is_sound(1, 2, Some(4)), "too few parts of a block");
    }

    #[test]
    fn neighbours_add_up_whatever_numbers_their_cells_have() {
        let cell = CellNumber::new;
        let mut before = counts(3, &[0, 2], &[]);
        before.calls = vec![(1, 5)];
        before.pairs.0.insert((UNKNOWN, cell(2)), PairCounts { lines: 1, far: 1 });
        before.reads.insert(ObjectNumber::new(1), vec![1; PARTS]);
        (before.accesses, before.lost_words, before.in_blocks) = (1, 2, 3);
        // Its segments are 1, 2 and 0.
        let mut behind = counts(4, &[0, 1, 2], &[]);
        behind.blocks.iter_mut().zip([1, 2, 0]).for_each(|(block, segment)| block.1 = SegmentNumber::new(segment));
        behind.calls = vec![(1, 2), (4, 3)];
        behind.pairs.0.extend([
            ((UNKNOWN, cell(0)), PairCounts { lines: 2, far: 0 }),
            ((cell(1), cell(3)), PairCounts { lines: 1, far: 0 }),
        ]);
        behind.reads.insert(ObjectNumber::new(1), vec![2; PARTS]);
        (behind.accesses, behind.lost_words, behind.in_blocks, behind.roi_seen) = (10, 20, 30, true);
        let found = (0..4).map(|number| {
            let mut cell = CellCounters::default();
            cell.written = 1 << number;
            cell
        });
        let (both, numbers) = before.join(behind, found.collect()).expect("of one program");
        assert_eq!(numbers, [2, 3, 0, 1].map(cell));
        let both = Counts::new(both, false);
        assert_eq!(both.cells.iter().map(|cell| cell.written).collect::<Vec<_>>(), [4, 8, 1, 2]);
        assert_eq!(both.cells.iter().map(|cell| cell.executions).collect::<Vec<_>>(), [2, 2, 2, 1]);
        let blocks: Vec<_> = both.blocks.iter().map(|block| (block.1.index(), block.2, block.3.index())).collect();
        assert_eq!(blocks, [(0, 2, 0), (1, 2, 2), (2, 1, 3)]);
        assert_eq!(both.calls, [(1, 7), (4, 3)]);
        let pairs: Vec<_> = both.pairs.0.iter().map(|(pair, counts)| (*pair, counts.lines)).collect();
        assert_eq!(pairs, [((cell(3), cell(1)), 1), ((UNKNOWN, cell(2)), 3)]);
        assert_eq!(both.reads[&ObjectNumber::new(1)], vec![3; PARTS]);
        assert_eq!((both.accesses, both.lost_words, both.in_blocks, both.roi_seen), (11, 22, 33, true));
    }

    #[test]
    fn parts_that_count_other_items_of_a_segment_are_of_two_programs() {
        assert!(counts(3, &[0, 2], &[]).join(counts(4, &[0, 3], &[]), Vec::new()).is_none());
        assert!(counts(3, &[0, 2], &[]).join(counts(2, &[0], &[]), Vec::new()).is_some(), "one of the segments");
        assert!(Counts::default().join(counts(2, &[0], &[]), Vec::new()).is_some(), "nothing before");
        assert!(counts(2, &[0], &[]).join(Counts::default(), Vec::new()).is_some(), "nothing behind");
    }

    type Change<'a> = &'a dyn Fn(&mut Counts);

    #[test]
    fn counts_that_are_no_counts_are_not_sound() {
        let is_sound = |change: Change| {
            let mut counts = counts(3, &[0, 2], &[]);
            change(&mut counts);
            counts.is_sound(3, 2, None)
        };
        assert!(is_sound(&|_| ()));
        let cases: [(&str, bool, Change); 16] = [
            ("as many bytes as can be added up", true, &|counts| counts.cells[0].depths.add(0, MOST - 1)),
            ("more of them", false, &|counts| counts.cells[0].depths.add(0, MOST)),
            ("the greatest depth", true, &|counts| counts.cells[2].depths.add(MOST_BUCKET - 1, 1)),
            ("deeper than memory is large", false, &|counts| counts.cells[2].depths.add(MOST_BUCKET, 1)),
            ("lines that are too many", false, &|counts| {
                counts.cells[1].lines = vec![LineCounts { last_write_backs: MOST, ..LineCounts::default() }];
            }),
            ("lines that are too deep", false, &|counts| {
                let mut lines: LineCounts = LineCounts::default();
                lines.at_step.add(MOST_BUCKET, 1);
                counts.cells[1].lines = vec![lines];
            }),
            ("hazards of fewer kinds", false, &|counts| counts.cells[0].hazards = vec![0]),
            ("all kinds of hazards", true, &|counts| counts.cells[0].hazards = vec![1; hazards::NAMES.len()]),
            ("calls of the last context", true, &|counts| counts.calls.push((2, 1))),
            ("calls of one that is not there", false, &|counts| counts.calls.push((3, 1))),
            ("a segment that is not there", false, &|counts| counts.blocks[1].1 = SegmentNumber::new(2)),
            ("a context that is not there", false, &|counts| counts.blocks[1].0 = ContextNumber::new(3)),
            ("cells before the first block", false, &|counts| counts.blocks[0].3 = CellNumber::new(1)),
            ("a block behind the cells", false, &|counts| counts.blocks[1].3 = CellNumber::new(4)),
            ("a block before another one's cells", false, &|counts| {
                counts.blocks.push((ContextNumber::ROOT, SegmentNumber::new(0), 1, CellNumber::new(1)));
            }),
            ("a block without cells at the end", true, &|counts| counts.blocks[1].3 = CellNumber::new(3)),
        ];
        for (what, expected, change) in cases {
            assert_eq!(is_sound(change), expected, "{what}");
        }
    }

    #[test]
    fn pairs_are_of_cells_and_have_no_more_lines_from_farther() {
        let is_sound = |before: CellNumber, cell: CellNumber, lines, far| {
            let mut counts = counts(3, &[0, 2], &[]);
            counts.pairs.0.insert((before, cell), PairCounts { lines, far });
            counts.is_sound(1, 2, None)
        };
        let (first, last, none) = (CellNumber::new(0), CellNumber::new(2), CellNumber::new(3));
        assert!(is_sound(UNKNOWN, last, 2, 2) && is_sound(last, first, MOST - 1, 0));
        assert!(!is_sound(first, last, 2, 3) && !is_sound(first, last, MOST, 0));
        assert!(!is_sound(none, first, 1, 0) && !is_sound(first, none, 1, 0) && !is_sound(first, UNKNOWN, 1, 0));
    }

    #[test]
    fn lines_are_of_as_many_sizes_in_all_cells_that_have_some() {
        let mut counts = counts(3, &[0, 2], &[]);
        assert!(counts.has_sizes_of_lines(1) && counts.has_sizes_of_lines(0), "there are none");
        counts.cells[1].lines = vec![LineCounts::default(); 2];
        assert!(counts.has_sizes_of_lines(2) && !counts.has_sizes_of_lines(1));
        counts.cells[2].lines = vec![LineCounts::default(); 1];
        assert!(!counts.has_sizes_of_lines(2));
    }
}
