//! Numbers of the whole program: what is read deeper than each capacity, and what a memory of it has to fetch.

use serde::Serialize;

use super::analysis::Analysis;
use super::depths::{Depths, Octave};
use crate::profile::Profile;

/// One power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// In bytes.
    pub capacity: u64,
    /// In bytes too: `capacity` under a name that says so.
    pub capacity_bytes: u64,
    /// Reads with depth in `(capacity / 2, capacity]`.
    pub reads: u64,
    /// Reads with depth at most `capacity`.
    #[serde(skip)]
    pub within: u64,
    /// Reads at depth > `capacity`.
    pub deeper: u64,
    /// What a memory of `capacity` with LRU replacement fetches; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<u64>,
}

/// Depths of first touches.
fn first_touches(profile: &Profile) -> Depths {
    let mut cold = Depths::default();
    cold.add(&profile.cold_histogram);
    cold
}

/// What first touches cost, up to 1/32.
#[must_use]
pub fn cost_of_first_touches(profile: &Profile) -> u128 {
    let (least, most) = first_touches(profile).cost_bounds();
    (least + most) / 2
}

/// Every power of two from the first depth that was read to the last capacity that holds all.
#[must_use]
pub fn capacities(analysis: &Analysis) -> Vec<Capacity> {
    let profile = analysis.profile;
    let total = analysis.total.read;
    let mut within = 0;
    let depths = &analysis.total.depths;
    let octaves = depths.octaves();
    let last = octaves.last().map_or(0, |octave| octave.capacity);
    let by_capacity = depths.by_capacity().octaves().into_iter().filter(|octave| octave.capacity > last);
    let emptied = by_capacity.map(|octave| Octave { reads: 0, ..octave });
    octaves
        .iter()
        .copied()
        .chain(emptied)
        .map(|octave| {
            within += octave.reads;
            let deeper = total - within;
            let capacity = octave.capacity;
            let traffic = profile.has_capacities.then(|| depths.traffic(capacity));
            Capacity { capacity, capacity_bytes: capacity, reads: octave.reads, within, deeper, traffic }
        })
        .collect()
}
