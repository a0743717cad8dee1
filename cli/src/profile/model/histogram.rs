//! How many bytes lay how deep, and how large a memory must be to still hold them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bytes by bucket, sorted, no zeros. Buckets: [`dmdprof_runtime::histogram`].
pub type Counts = Vec<(u16, u64)>;

/// Bytes read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// By depth.
    pub depths: Counts,
    /// By capacity: the fewest bytes that a memory with LRU replacement must have to still hold them. `None`: by depth
    /// and by capacity they are the same. A file has these in [`Capacities`].
    #[serde(skip)]
    pub capacities: Option<Counts>,
}

impl Histogram {
    /// Bytes by depth, with nothing that died above them.
    #[must_use]
    pub fn of(depths: Counts) -> Self {
        Self { depths, capacities: None }
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

/// Of the histograms of one list, those whose capacities are not their depths, by index; sorted.
pub type Raised = Vec<(u32, Counts)>;

/// The capacities of a profile's histograms as they lie in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacities {
    /// Of [`Profile::cells`](super::Profile::cells).
    pub cells: Raised,
    /// Of [`Profile::flows`](super::Profile::flows).
    pub flows: Raised,
    /// Of [`DataObjects::uses`](super::DataObjects::uses).
    pub uses: Raised,
    /// Of [`Alone::cells`](super::Alone::cells).
    pub alone: Raised,
}

fn raised<'p>(histograms: impl Iterator<Item = &'p Histogram>) -> Raised {
    (0..).zip(histograms).filter_map(|(at, histogram)| Some((at, histogram.capacities.clone()?))).collect()
}

/// Puts capacities back; false if they are of histograms that there are not.
fn raise<'p>(histograms: impl Iterator<Item = &'p mut Histogram>, raised: Raised) -> bool {
    let mut all = raised.into_iter().peekable();
    for (at, histogram) in (0u32..).zip(histograms) {
        if let Some((_, capacities)) = all.next_if(|(index, _)| *index == at) {
            histogram.capacities = Some(capacities);
        }
    }
    all.next().is_none()
}

impl super::Profile {
    /// Why traffic is not known, and what stands in its place; `None` if it is known.
    #[must_use]
    pub fn without_traffic(&self) -> Option<&'static str> {
        match (self.has_capacities, &self.meta.values) {
            (true, _) => None,
            (false, Some(_)) => Some(
                "traffic is not known in the values model: what is read deeper than a size stands in its place, and is at most as much",
            ),
            (false, None) => Some(
                "traffic is not in this profile, which an older dmdprof made: what is read deeper than a size stands in its place, and is \
                 at most as much; run again",
            ),
        }
    }

    /// The short name of what [`Self::has_capacities`] decides on.
    #[must_use]
    pub fn traffic_name(&self) -> &'static str {
        if self.has_capacities { "traffic at" } else { "deeper than" }
    }

    /// The capacities, if they are known.
    #[must_use]
    pub fn capacities(&self) -> Option<Capacities> {
        let alone = self.stacks.iter().filter_map(|stacks| stacks.alone.as_ref()).flat_map(|alone| &alone.cells);
        self.has_capacities.then(|| Capacities {
            cells: raised(self.cells.iter().map(|cell| &cell.histogram)),
            flows: raised(self.flows.iter().flatten().map(|flow| &flow.histogram)),
            uses: raised(self.objects.iter().flat_map(|all| &all.uses).map(|used| &used.histogram)),
            alone: raised(alone.map(|cell| &cell.histogram)),
        })
    }

    /// Takes capacities that a file had, if it had any; false if they are of other lists.
    #[must_use]
    pub fn with_capacities(&mut self, capacities: Option<Capacities>) -> bool {
        let is_byte_model = self.meta.values.is_none();
        // Where nothing dies, depths tell.
        self.has_capacities = is_byte_model && (capacities.is_some() || self.meta.liveness == super::Liveness::None);
        let Capacities { cells, flows, uses, alone } = capacities.unwrap_or_default();
        let of_threads = self.stacks.iter_mut().filter_map(|stacks| stacks.alone.as_mut());
        raise(self.cells.iter_mut().map(|cell| &mut cell.histogram), cells)
            && raise(self.flows.iter_mut().flatten().map(|flow| &mut flow.histogram), flows)
            && raise(self.objects.iter_mut().flat_map(|all| &mut all.uses).map(|used| &mut used.histogram), uses)
            && raise(of_threads.flat_map(|alone| &mut alone.cells).map(|cell| &mut cell.histogram), alone)
    }
}
