//! What one site moved in and out of each level of caches of sets and ways.

/// Lines that one site moved in and out of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Brought in by loads.
    pub loads: u64,
    /// Brought in by stores.
    pub stores: u64,
    /// Lines that left the level after they had been written.
    pub write_backs: u64,
}

impl CacheCounts {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.write_backs += other.write_backs;
    }
}

/// The counts of a cell, by level.
pub type ByLevel = Box<[CacheCounts]>;
