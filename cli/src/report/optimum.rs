//! What memories that know the future fetch, beside LRU at the same capacities.
//!
//! Takes the cells of [`Optimum`](crate::profile::model::Optimum) and depths; gives bytes by capacity. First touches
//! are left out on both sides: what nobody had touched before is in no memory, whatever it evicts.

use super::depths::Depths;
use crate::profile::Profile;
use crate::profile::model::{Cell, LeastReads, OptimumCell};

/// Bytes that add, by capacity; empty if no optimum was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptimumSums(Vec<LeastReads>);

impl OptimumSums {
    pub fn add(&mut self, cell: &OptimumCell) {
        self.add_all(&cell.least);
    }

    pub fn merge(&mut self, other: &Self) {
        self.add_all(&other.0);
    }

    fn add_all(&mut self, least: &[LeastReads]) {
        if self.0.len() < least.len() {
            self.0.resize(least.len(), LeastReads::default());
        }
        for (sum, least) in self.0.iter_mut().zip(least) {
            sum.fetched += least.fetched;
            sum.first += least.first;
        }
    }
}

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
    pub fn all(profile: &Profile, sums: &OptimumSums, depths: &Depths) -> Vec<Self> {
        let capacities = profile.optimum.as_ref().map_or(&[][..], |optimum| &optimum.capacities);
        let at = |(number, &capacity): (usize, &u64)| {
            let LeastReads { fetched, first } = sums.0.get(number).copied().unwrap_or_default();
            let lru = depths.traffic(capacity).saturating_sub(first);
            Self { capacity, least: fetched, lru, first }
        };
        capacities.iter().enumerate().map(at).collect()
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

/// What a cell fetches at least, if that was measured and it fetches anything.
#[must_use]
pub fn of_cell<'p>(profile: &'p Profile, cell: &Cell) -> Option<&'p OptimumCell> {
    let cells = &profile.optimum.as_ref()?.cells;
    let at = cells.binary_search_by_key(&(cell.context, cell.site), |least| (least.context, least.site)).ok()?;
    Some(&cells[at])
}
