//! What one site fetches at least: by memories that evict what is needed farthest in the future, by capacity.

super::counted! {
    /// Bytes that one site reads, at one capacity.
    #[derive(Copy)]
    pub struct LeastCounts {
        /// They had been touched before, and the memory could not keep them.
        pub fetched: u64,
        /// They are touched for the first time, and deeper in the stack than the capacity.
        pub first: u64,
    }
}

/// The counts of a cell, by capacity.
pub type ByCapacity = Box<[LeastCounts]>;
