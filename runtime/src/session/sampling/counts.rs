//! How many bytes there are of each epoch.
//!
//! Takes bytes that come to an epoch or leave it, in three steps; gives how many there are of all later epochs, in at most
//! 126. Whoever takes more from an epoch than came to it gets numbers that mean nothing.

use super::recency::Epoch;

const EPOCHS: usize = Epoch::MAX as usize + 1;
/// Epochs whose bytes are summed, and sums that are summed again.
const BLOCK: usize = 32;

pub struct Counts {
    each: Box<[u64]>,
    blocks: Box<[u64]>,
    blocks_of_blocks: Box<[u64]>,
}

impl Default for Counts {
    fn default() -> Self {
        let zeros = |len| vec![0; len].into();
        Self { each: zeros(EPOCHS), blocks: zeros(EPOCHS / BLOCK), blocks_of_blocks: zeros(EPOCHS / BLOCK / BLOCK) }
    }
}

impl Counts {
    #[inline(always)]
    pub fn add(&mut self, epoch: Epoch, bytes: u64) {
        let epoch = usize::from(epoch);
        self.each[epoch] += bytes;
        self.blocks[epoch / BLOCK] += bytes;
        self.blocks_of_blocks[epoch / BLOCK / BLOCK] += bytes;
    }

    #[inline(always)]
    pub fn take(&mut self, epoch: Epoch, bytes: u64) {
        let epoch = usize::from(epoch);
        self.each[epoch] -= bytes;
        self.blocks[epoch / BLOCK] -= bytes;
        self.blocks_of_blocks[epoch / BLOCK / BLOCK] -= bytes;
    }

    #[must_use]
    pub fn of(&self, epoch: Epoch) -> u64 {
        self.each[usize::from(epoch)]
    }

    /// Bytes of later epochs.
    #[must_use]
    pub fn later(&self, epoch: Epoch) -> u64 {
        let first = usize::from(epoch) + 1;
        let block = first.div_ceil(BLOCK);
        let beyond = block.div_ceil(BLOCK);
        sum(&self.each[first..block * BLOCK])
            + sum(&self.blocks[block..beyond * BLOCK])
            + sum(&self.blocks_of_blocks[beyond..])
    }

    /// By epoch.
    pub fn each(&self) -> &[u64] {
        &self.each
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.each) + size_of_val(&*self.blocks) + size_of_val(&*self.blocks_of_blocks)
    }
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().sum()
}
