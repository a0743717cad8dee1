//! Numbers of the whole program: what is read deeper than each capacity, and what a memory of it has to fetch.

use serde::Serialize;

use super::analysis::Analysis;
use super::depths::{Depths, Octave};
use crate::profile::{Profile, model::Unit};

/// One power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// Bytes, or lines with `Unit::Line`.
    pub capacity: u64,
    pub capacity_bytes: u128,
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
    /// Lines only: `deeper` and the first touches at depth <= `capacity`, which miss in a cache of any size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misses: Option<u64>,
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
    let cold = first_touches(profile);
    let (total, total_cold) = (analysis.total.read, cold.total());
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
            let traffic = profile.has_capacities.then(|| depths.traffic(octave.capacity));
            let (size, misses) = match profile.meta.unit {
                Unit::Byte => (1, None),
                Unit::Line(size) => {
                    let cold_within = total_cold.saturating_sub(cold.beyond(octave.capacity));
                    (size, Some(deeper.saturating_add(cold_within)))
                }
            };
            let capacity_bytes = u128::from(octave.capacity) * u128::from(size);
            Capacity { capacity: octave.capacity, capacity_bytes, reads: octave.reads, within, deeper, traffic, misses }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::analysis::Grouping;
    use super::*;
    use crate::profile::model::AccessKind;
    use crate::profile::sample::Builder;

    #[test]
    fn misses_are_deep_reads_and_cold_ones_above() {
        let mut b = Builder::new(&["p"]);
        let f = b.function("f", None, 0);
        let site = b.site(f, None, AccessKind::Load, 8);
        let context = b.context(Builder::ROOT, f, 1);
        b.cell(context, site, &[(1, 10), (4, 20), (4, 5), (100, 7)], &[(4, 5), (100, 2)], 0);
        let profile = b.finish(|p| p.meta.unit = Unit::Line(64));
        let all = capacities(&Analysis::new(&profile, Grouping::Functions));
        let at = |lines: u64| all.iter().find(|c| c.capacity == lines).copied().unwrap();
        // 4 lines: 7 deeper (2 of them cold), and 5 cold ones above.
        assert_eq!((at(4).deeper, at(4).misses, at(4).capacity_bytes), (7, Some(12), 256));
        // Everything fits: only first touches miss.
        assert_eq!((at(128).deeper, at(128).misses), (0, Some(7)));
        assert_eq!((at(1).reads, at(1).within, at(2).reads), (10, 10, 0));
    }
}
