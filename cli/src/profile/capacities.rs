//! Capacities of a profile's histograms: how a file has them, and whether they are known.
//!
//! Takes a profile, gives the capacities that are not depths, by index; and puts them back. Refuses those of lists that
//! the profile does not have.

use serde::{Deserialize, Serialize};

use super::model::{Counts, Histogram, Liveness, Profile};

/// Of the histograms of one list, those whose capacities are not their depths, by index; sorted.
pub type Raised = Vec<(u32, Counts)>;

/// The capacities of a profile's histograms as they lie in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacities {
    /// Of [`Profile::cells`].
    pub cells: Raised,
    /// Of [`Profile::flows`].
    pub flows: Raised,
    /// Of [`DataObjects::uses`](crate::profile::model::DataObjects::uses).
    pub uses: Raised,
    /// Of [`Alone::cells`](crate::profile::model::Alone::cells).
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

impl Profile {
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
        self.has_capacities = is_byte_model && (capacities.is_some() || self.meta.liveness == Liveness::None);
        let Capacities { cells, flows, uses, alone } = capacities.unwrap_or_default();
        let of_threads = self.stacks.iter_mut().filter_map(|stacks| stacks.alone.as_mut());
        raise(self.cells.iter_mut().map(|cell| &mut cell.histogram), cells)
            && raise(self.flows.iter_mut().flatten().map(|flow| &mut flow.histogram), flows)
            && raise(self.objects.iter_mut().flat_map(|all| &mut all.uses).map(|used| &mut used.histogram), uses)
            && raise(of_threads.flat_map(|alone| &mut alone.cells).map(|cell| &mut cell.histogram), alone)
    }
}
