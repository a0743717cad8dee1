//! The ways that make an analysis fast, with a switch for each, and a hash that shows that none of them changes a
//! depth.

use crate::{
    decode::block::CellNumber,
    engine::{AccessTag, DepthRun, EngineOptions, Isa},
};

/// Which of the ways are taken; all by default.
#[derive(Clone, Copy, Debug)]
pub struct FastPaths {
    /// Widest vectors to use; the best that the processor has by default.
    pub isa: Option<Isa>,
    /// Cells of 32 bits while positions fit.
    pub narrow: bool,
    /// Blocks of iterations of affine runs.
    pub blocks: bool,
    /// Rows of records that advance by constants, and records of loops, as affine runs.
    pub runs: bool,
    /// Many accesses at a time through the engine.
    pub batches: bool,
    /// Records of plain segments by what was prepared for them.
    pub moves: bool,
    /// Nothing for the engine to do where an access is to the top of the stack.
    pub skips: bool,
    /// Compute the hash of depths.
    pub hash: bool,
}

impl Default for FastPaths {
    fn default() -> Self {
        FastPaths {
            isa: None,
            narrow: true,
            blocks: true,
            runs: true,
            batches: true,
            moves: true,
            skips: true,
            hash: false,
        }
    }
}

impl FastPaths {
    /// Those that are the engine's.
    #[must_use]
    pub fn engine(&self) -> EngineOptions {
        EngineOptions { isa: self.isa, wide: !self.narrow, affine: self.blocks, ..EngineOptions::default() }
    }
}

/// A hash over (cell, depth) of every byte read that neither the order of reads nor their grouping changes.
#[derive(Default)]
pub struct DepthHash {
    /// By cell: the sum of the hashes of depths.
    sums: Vec<u64>,
}

impl DepthHash {
    /// Adds what was found for an access, if it counts.
    pub fn hash_found(&mut self, label: AccessTag, found: DepthRun) {
        if label == AccessTag::UNCOUNTED {
            return;
        }
        let cell = label.cell();
        match found {
            DepthRun::Warm { above, len } | DepthRun::Cold { above, len } => self.reads(cell, above, len, 1),
            DepthRun::Row(row) => row.each().for_each(|above| self.reads(cell, above, row.width, 1)),
            DepthRun::Holes(..) => {}
        }
    }

    /// Adds a number of reads of `len` bytes right below `above` live ones.
    pub fn reads(&mut self, cell: CellNumber, above: u64, len: u64, times: u64) {
        let at = cell.index();
        if self.sums.len() <= at {
            self.sums.resize(at + 1, 0);
        }
        let sum = (above + 1..=above + len).fold(0, |sum: u64, depth| sum.wrapping_add(mixed(depth)));
        self.sums[at] = self.sums[at].wrapping_add(sum.wrapping_mul(times));
    }

    /// Adds what another hash has of cells, of which `cell` tells the numbers here.
    pub fn absorb(&mut self, other: &Self, cell: impl Fn(CellNumber) -> CellNumber) {
        for (number, sum) in other.sums.iter().enumerate().filter(|(_, sum)| **sum != 0) {
            let at = cell(CellNumber::new(number)).index();
            self.sums.resize(self.sums.len().max(at + 1), 0);
            self.sums[at] = self.sums[at].wrapping_add(*sum);
        }
    }

    /// The hash of all cells, where `name` names the site of each, whatever its number.
    #[must_use]
    pub fn finish(&self, name: impl Fn(CellNumber) -> u64) -> u64 {
        let cells = self.sums.iter().enumerate().filter(|(_, sum)| **sum != 0);
        cells.fold(0, |all: u64, (cell, sum)| all.wrapping_add(mixed(mixed(name(CellNumber::new(cell))) ^ sum)))
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
