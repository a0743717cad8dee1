//! What memories that know the future fetch, beside LRU at the same capacities.
//!
//! Takes sums over cells; gives bytes by capacity. First touches
//! are left out on both sides: what nobody had touched before is in no memory, whatever it evicts.

use super::analysis::Sums;
use crate::profile::{Profile, model::LeastCounts};

/// Bytes that memories of one capacity fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub capacity: u64,
    /// By one that evicts what is needed farthest in the future.
    pub least: u64,
    /// By one that evicts what was used longest ago.
    pub lru: u64,
    /// First touches in the traffic at the capacity; neither has them.
    pub first: u64,
}

impl Fetched {
    /// At all capacities, by sums over cells; empty if no optimum was measured.
    #[must_use]
    pub fn all(profile: &Profile, sums: &Sums) -> Vec<Self> {
        let at = |(number, &capacity): (usize, &u64)| {
            let least = sums.least.as_ref().map_or_else(LeastCounts::default, |least| least[number]);
            let LeastCounts { fetched, first } = least;
            let lru = sums.depths.traffic(capacity).saturating_sub(first);
            Self { capacity, least: fetched, lru, first }
        };
        profile.optimum.iter().enumerate().map(at).collect()
    }

    /// How many times the least LRU fetches; none if nothing need be fetched.
    #[must_use]
    pub fn times(&self) -> Option<f64> {
        (self.least > 0).then(|| self.lru as f64 / self.least as f64)
    }

    /// What one of the two fetches.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.lru.max(self.least)
    }

    /// What LRU fetches too much.
    #[must_use]
    pub fn surplus(&self) -> u64 {
        self.lru.saturating_sub(self.least)
    }
}
