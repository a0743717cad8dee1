//! What one site moved in and out of each level of caches of sets and ways.

super::counted! {
    /// Lines that one site moved in and out of one level.
    #[derive(Copy)]
    pub struct CacheCounts {
        /// Brought in by loads.
        pub loads: u64,
        /// Brought in by stores.
        pub stores: u64,
        /// Lines that left the level after they had been written; the site was the last to write them.
        pub write_backs: u64,
    }
}

/// The counts of a cell, by level.
pub type ByLevel = Box<[CacheCounts]>;
