//! What a block of iterations knows of its streams.
//!
//! Takes the number of streams and of iterations; is filled by what finds the words, and tells where they were.

use super::{
    dependence::{Plan, while_apart},
    positions::Positions,
};
use crate::engine::{sequences::Sequences, shadow::Spaced, timeline::Repeat};

/// Fewest iterations of a block; fewer are not worth it.
pub const LEAST: usize = 4;

/// What a block knows of its streams; kept to save allocations. [`Self::start`] empties it, what finds the words fills
/// it, and what does the block reads it: valid until the next start.
#[derive(Default)]
pub struct Block {
    /// The words of a stream.
    pub rows: Vec<Spaced>,
    /// Streams whose words this run has not used shortly before, one bit each.
    pub far: u64,
    /// The lowest position of a word that this run has used before the block.
    pub floor: u64,
    pub positions: Vec<Positions>,
    pub sequences: Sequences,
    /// How the positions of far streams repeat whose words lay among those of others.
    pub gaps: Vec<Option<Repeat>>,
    pub size: usize,
}

impl Block {
    pub fn start(&mut self, streams: usize, size: usize) {
        self.rows.clear();
        self.rows.resize(streams, Spaced::default());
        self.positions.clear();
        self.positions.resize(streams, Positions::default());
        self.gaps.clear();
        self.gaps.resize(streams, None);
        (self.far, self.size) = (0, size);
    }

    pub fn is_far(&self, stream: usize) -> bool {
        self.far >> stream & 1 == 1
    }

    /// From the lowest position of a far stream's words, of `len` bytes, to the end of the highest.
    pub fn ends(&self, stream: usize, len: u64) -> (u64, u64) {
        self.ends_of(stream, len, self.size)
    }

    fn ends_of(&self, stream: usize, len: u64, iterations: usize) -> (u64, u64) {
        let positions = self.positions[stream];
        let last = positions.position_at(iterations - 1);
        (positions.first.min(last), positions.first.max(last) + len)
    }

    /// Iterations before the words of two streams come to lie among each other.
    pub fn apart(&self, stream: usize, other: usize, plan: &Plan) -> usize {
        let are_apart = |iterations: u64| {
            let (low, high) = self.ends_of(stream, plan.len(stream), iterations as usize);
            let (other_low, other_high) = self.ends_of(other, plan.len(other), iterations as usize);
            high <= other_low || other_high <= low
        };
        while_apart(self.size as u64, are_apart) as usize
    }
}
