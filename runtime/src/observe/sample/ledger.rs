//! The cells to which what was seen is charged.

use crate::counts::{
    reach::Reach,
    sampled::{Class, SampleCounts, Seen},
};
use crate::decode::block::CellNumber;

/// What a sample has.
#[derive(Debug, Default, PartialEq)]
pub struct Sampled {
    /// By cell.
    pub cells: Vec<Option<Box<SampleCounts>>>,
    /// Of all cells together, by depth.
    pub reach: Reach,
}

/// By cell.
#[derive(Default)]
pub struct Ledger {
    counts: Vec<Option<Box<SampleCounts>>>,
    /// Bytes read, seen or not. Apart, as every access adds to them.
    read: Vec<u64>,
    /// What all cells read, by depth.
    reach: Reach,
    /// Cells with higher numbers stand for what is not counted.
    known: usize,
}

impl Ledger {
    /// There are so many cells.
    pub fn set_known(&mut self, cells: usize) {
        self.known = cells;
        self.counts.resize(cells, None);
        self.read.resize(cells, 0);
    }

    fn cell(&mut self, cell: CellNumber) -> Option<&mut SampleCounts> {
        ((cell.index()) < self.known).then(|| &mut **self.counts[cell.index()].get_or_insert_default())
    }

    /// A cell reads so many bytes, seen or not.
    #[inline(always)]
    pub fn read(&mut self, cell: CellNumber, bytes: u64) {
        if let Some(read) = self.read.get_mut(cell.index()) {
            *read += bytes;
        }
    }

    pub fn add(&mut self, cell: CellNumber, seen: Seen) {
        if let Some(counts) = self.cell(cell) {
            counts.add(seen);
            self.reach.add(&seen);
        }
    }

    pub fn lean(&mut self, cell: CellNumber, class: Class, group: usize, cost: f64) {
        if let Some(counts) = self.cell(cell) {
            counts.lean(class, group, cost);
        }
    }

    pub fn finish(mut self) -> Sampled {
        for (counts, read) in self.counts.iter_mut().zip(self.read).filter(|(_, read)| *read > 0) {
            counts.get_or_insert_default().read = read;
        }
        Sampled { cells: self.counts, reach: self.reach }
    }

    /// Memory held, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        let used = self.counts.iter().flatten().count() * size_of::<SampleCounts>();
        (used + (self.counts.capacity() + self.read.capacity()) * 8) as u64
    }
}
