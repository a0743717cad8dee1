//! What one site fetches at least: by memories that evict what is needed farthest in the future, by capacity.

/// Bytes that one site reads, at one capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeastCounts {
    /// They had been touched before, and the memory could not keep them.
    pub fetched: u64,
    /// They are touched for the first time, and deeper in the stack than the capacity.
    pub first: u64,
}

impl LeastCounts {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.fetched += other.fetched;
        self.first += other.first;
    }
}

/// The counts of a cell, by capacity.
pub type ByCapacity = Box<[LeastCounts]>;
