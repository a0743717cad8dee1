//! What one site did to lines, at every capacity.

use super::depths::DepthCounts;

super::counted! {
    /// What one site did to lines in one context. Depths are in lines; those up to
    /// [`FRONT`](crate::observe::lines::FRONT) are left out.
    pub struct LineCounts<Held = DepthCounts> {
        /// Lines that loads came to, by depth.
        pub loads: Held,
        /// Lines that stores came to, by depth.
        pub stores: Held,
        /// By the greatest depth at which they were found before somebody wrote them again; without those below.
        pub write_backs: Held,
        /// Of `loads`, those in streams of neighbours: [`streams`](crate::observe::lines).
        pub in_order: Held,
        /// Of `loads`, those at another constant step.
        pub at_step: Held,
        /// Lines that nothing had touched before.
        pub first_loads: u64,
        /// Lines that a store was the first to touch.
        pub first_stores: u64,
        /// Lines that were dirty when the program ended. A memory of whatever size writes each of them back once.
        pub last_write_backs: u64,
        /// Of `first_loads`.
        pub first_in_order: u64,
        /// Of `first_loads`, those at another constant step.
        pub first_at_step: u64,
    }
}

/// The counts of a cell, by size of lines.
pub type BySize = Box<[LineCounts]>;
