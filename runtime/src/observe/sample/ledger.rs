//! The cells to which what was seen is charged.

use crate::counts::{
    miss_curve::MissCurve,
    sampled::{Class, SampleCounts, Seen},
};
use crate::decode::block::CellNumber;

/// What a sample has.
#[derive(Debug, Default, PartialEq)]
pub struct Sampled {
    /// By cell.
    pub cells: Vec<Option<Box<SampleCounts>>>,
    /// Of all cells together, by depth.
    pub miss_curve: MissCurve,
}

impl Sampled {
    /// Adds what others have seen of the same cells.
    pub fn merge(&mut self, other: Self) {
        for (counts, more) in self.cells.iter_mut().zip(other.cells) {
            match (counts.as_mut(), more) {
                (Some(counts), Some(more)) => counts.merge(&more),
                (None, more) => *counts = more,
                (Some(_), None) => {}
            }
        }
        self.miss_curve.merge(&other.miss_curve);
    }

    /// Adds what each cell read, seen or not.
    pub fn count_reads(&mut self, read: Vec<u64>) {
        for (counts, read) in self.cells.iter_mut().zip(read).filter(|(_, read)| *read > 0) {
            counts.get_or_insert_default().read = read;
        }
    }
}

/// By cell.
#[derive(Default)]
pub struct Ledger {
    counts: Vec<Option<Box<SampleCounts>>>,
    /// What all cells read, by depth.
    miss_curve: MissCurve,
    /// Cells with higher numbers stand for what is not counted.
    known: usize,
    /// Bytes that counts of cells hold.
    held: usize,
}

impl Ledger {
    /// There are so many cells.
    pub fn set_known(&mut self, cells: usize) {
        self.known = cells;
        self.counts.resize(cells, None);
    }

    fn cell(&mut self, cell: CellNumber) -> Option<&mut SampleCounts> {
        if cell.index() >= self.known {
            return None;
        }
        let slot = &mut self.counts[cell.index()];
        self.held += if slot.is_none() { size_of::<SampleCounts>() } else { 0 };
        Some(slot.get_or_insert_default())
    }

    pub fn add(&mut self, cell: CellNumber, seen: Seen) {
        if let Some(counts) = self.cell(cell) {
            let more = counts.add(seen);
            self.held += more;
            self.miss_curve.add(&seen);
        }
    }

    pub fn lean(&mut self, cell: CellNumber, class: Class, group: usize, cost: f64) {
        if let Some(counts) = self.cell(cell) {
            let more = counts.lean(class, group, cost);
            self.held += more;
        }
    }

    pub fn finish(self) -> Sampled {
        Sampled { cells: self.counts, miss_curve: self.miss_curve }
    }

    /// Memory held, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        (self.held + self.counts.capacity() * 8) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    #[test]
    fn a_ledger_tells_what_it_holds() {
        let ledger = |cells: usize, charged: usize| {
            let make = move || {
                let mut ledger = Ledger::default();
                ledger.set_known(cells);
                (0..charged).for_each(|cell| _ = ledger.cell(CellNumber::new(cell)));
                ledger
            };
            tells_what_it_holds(make, Ledger::heap_bytes);
        };
        ledger(100_000, 10);
        ledger(1000, 1000);
    }
}
