//! What one site did to lines, at every capacity.

use super::depths::DepthCounts;

/// What one site did to lines in one context. Depths are in lines.
#[derive(Clone, Debug, Default)]
pub struct LineCounts {
    /// Lines that loads came to, by depth.
    pub loads: DepthCounts,
    /// Lines that stores came to, by depth.
    pub stores: DepthCounts,
    /// By the greatest depth since the store; without those below.
    pub write_backs: DepthCounts,
    /// Lines that nothing had touched before.
    pub first_loads: u64,
    /// Lines that a store was the first to touch.
    pub first_stores: u64,
    /// Lines that were dirty when the program ended. A memory of whatever size writes each of them back once.
    pub last_write_backs: u64,
    /// Of `loads`, those in streams of neighbours, and at another constant step: [`streams`](crate::observe::lines).
    pub in_order: DepthCounts,
    /// Of `loads`, those at another constant step.
    pub at_step: DepthCounts,
    /// Of `first_loads`.
    pub first_in_order: u64,
    /// Of `first_loads`, those at another constant step.
    pub first_at_step: u64,
}

/// The counts of a cell, by size of lines.
pub type BySize = Box<[LineCounts]>;

/// What cells counted, by size of lines and cell; nothing of those that touched none.
pub type OfCells = Vec<Vec<Option<Box<LineCounts>>>>;

impl LineCounts {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.loads.merge(&other.loads);
        self.stores.merge(&other.stores);
        self.write_backs.merge(&other.write_backs);
        self.first_loads += other.first_loads;
        self.first_stores += other.first_stores;
        self.last_write_backs += other.last_write_backs;
        self.in_order.merge(&other.in_order);
        self.at_step.merge(&other.at_step);
        self.first_in_order += other.first_in_order;
        self.first_at_step += other.first_at_step;
    }
}
