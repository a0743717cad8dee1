//! How many bytes lay how deep, and how large a memory must be to still hold them.

use std::collections::BTreeMap;

use dmdprof_runtime::counts::{
    cell::{BelowHoles, capacities},
    depths::DepthCounts,
};
use serde::{Deserialize, Serialize};

/// Bytes by bucket, sorted, no zeros. Buckets: [`dmdprof_runtime::histogram`].
pub type Counts = Vec<(u16, u64)>;

/// Bytes read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// By depth.
    pub depths: Counts,
    /// By capacity: the fewest bytes that a memory with LRU replacement must have to still hold them. `None`: by depth
    /// and by capacity they are the same.
    pub capacities: Option<Counts>,
}

impl Histogram {
    /// Bytes by depth, with nothing that died above them.
    #[must_use]
    pub fn from_depths(depths: Counts) -> Self {
        Self { depths, capacities: None }
    }

    /// Of bytes by depth, some of which were below free places.
    #[must_use]
    pub fn below(depths: &DepthCounts, below: Option<&BelowHoles>) -> Self {
        // Holes within a bucket change nothing.
        let below = below.filter(|below| below.depths != below.capacities);
        let capacities = below.map(|below| capacities(depths, Some(below)).iter().collect());
        Self { depths: depths.iter().collect(), capacities }
    }

    /// How many bytes there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.depths.iter().map(|(_, bytes)| bytes).sum()
    }

    /// These bytes and others.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let capacities = [self, other].iter().any(|histogram| histogram.capacities.is_some());
        let capacities = capacities.then(|| added(self.by_capacity(), other.by_capacity()));
        Self { depths: added(&self.depths, &other.depths), capacities }
    }

    /// The bytes by capacity.
    #[must_use]
    pub fn by_capacity(&self) -> &Counts {
        self.capacities.as_ref().unwrap_or(&self.depths)
    }
}

fn added(a: &Counts, b: &Counts) -> Counts {
    let mut all: BTreeMap<u16, u64> = a.iter().copied().collect();
    for (bucket, bytes) in b {
        *all.entry(*bucket).or_default() += bytes;
    }
    all.into_iter().collect()
}
