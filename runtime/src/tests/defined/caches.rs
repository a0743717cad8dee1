//! Caches of sets and ways: what each level fetches and writes back.

use std::collections::BTreeMap;

use crate::{
    counts::caches::CacheCounts,
    observe::caches::{Geometry, plain::simulate},
    tests::history::{Happening, Site},
};

/// What each site moves in and out of each level.
#[must_use]
pub fn caches(history: &[Happening], levels: &[Geometry]) -> BTreeMap<Site, Vec<CacheCounts>> {
    let accesses = history.iter().filter_map(|happening| match happening {
        Happening::Load(access) => Some((access.bytes(), false, access.charged())),
        Happening::Store(access) => Some((access.bytes(), true, access.charged())),
        _ => None,
    });
    let mut moved: BTreeMap<Site, Vec<CacheCounts>> = BTreeMap::new();
    let accesses = accesses.filter(|(bytes, ..)| !bytes.is_empty());
    for (level, counts) in simulate(levels, accesses).into_iter().enumerate() {
        for (site, counts) in counts {
            let Some(site) = site else { continue };
            moved.entry(site.clone()).or_insert_with(|| vec![CacheCounts::default(); levels.len()])[level] = counts;
        }
    }
    moved
}
