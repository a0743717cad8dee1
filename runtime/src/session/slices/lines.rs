//! The stacks of lines of all slices that were settled.
//!
//! Who wrote a line last, or brought it in, is a cell of some part: here, each has a number of its own. Takes what
//! slices need in the order of the run; gives what was counted, by part and cell. Refuses nothing.

use crate::{
    counts::lines::OfCells,
    decode::block::CellNumber,
    observe::{
        lines::{LineFrontier, Lines},
        writer::WriterNumber,
    },
};

pub struct WholeLines {
    /// By size.
    all: Vec<Lines>,
    /// Cells of who had the stacks before, which have the first numbers.
    own: usize,
    /// By part: the numbers of its cells, of those that have one.
    numbers: Vec<Vec<Option<WriterNumber>>>,
    /// The part and the cell of each number behind the first ones.
    owners: Vec<(usize, CellNumber)>,
}

impl WholeLines {
    /// Goes on with the stacks of somebody who has so many cells.
    pub fn new(all: Vec<Lines>, own: usize) -> Self {
        Self { all, own, numbers: Vec::new(), owners: Vec::new() }
    }

    /// Goes on behind a slice of a part.
    pub fn settle(&mut self, frontiers: &[LineFrontier], part: usize) {
        let Self { all, own, numbers, owners } = self;
        if numbers.len() <= part {
            numbers.resize_with(part + 1, Vec::new);
        }
        let numbers = &mut numbers[part];
        let mut number = |cell: CellNumber| {
            if numbers.len() <= cell.index() {
                numbers.resize(cell.index() + 1, None);
            }
            let number = numbers[cell.index()].get_or_insert_with(|| {
                owners.push((part, cell));
                WriterNumber::new(*own + owners.len() - 1)
            });
            number.cell()
        };
        for (lines, frontier) in all.iter_mut().zip(frontiers) {
            lines.settle(frontier, &mut number);
        }
    }

    /// What the cells of who had the stacks before have counted, and those of each part.
    pub fn finish(self) -> (OfCells, Vec<OfCells>) {
        let Self { all, own, numbers, owners } = self;
        let sizes = all.len();
        let mut of_parts = vec![vec![Vec::new(); sizes]; numbers.len()];
        let mut of_own = Vec::with_capacity(sizes);
        for (size, lines) in all.into_iter().enumerate() {
            let mut counts = lines.finish();
            let later = counts.split_off(counts.len().min(own));
            of_own.push(counts);
            for (&(part, cell), counts) in owners.iter().zip(later) {
                let of_part: &mut Vec<_> = &mut of_parts[part][size];
                of_part.resize(of_part.len().max(cell.index() + 1), None);
                of_part[cell.index()] = counts;
            }
        }
        (of_own, of_parts)
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.all.iter().map(Lines::heap_bytes).sum()
    }
}
