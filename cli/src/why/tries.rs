//! What to try for the accesses of each site, in a word: for tables that have no room for more.

use std::collections::BTreeMap;

use super::{
    cures,
    idle::Idle,
    pairs::{self, Pair},
    places::{Options, Places},
    returns,
    words::Words,
};
use crate::{
    profile::{Profile, model::SiteId},
    report::Tries,
};

/// Nothing of a profile that does not say who touched what last.
#[must_use]
pub fn tries(profile: &Profile) -> Tries {
    let options = Options::default();
    let Ok(places) = Places::new(profile, &options) else { return Tries::default() };
    let idle = places.has_flows().then(|| Idle::of(&places));
    let pairs = match idle {
        Some(_) => pairs::of(&places, &places.flows.iter().collect::<Vec<_>>()),
        None => returns::of(&places, &profile.pairs.iter().collect::<Vec<_>>()),
    };
    let by_cycles = idle.is_none() && profile.cycles.is_some();
    let weight = |pair: &Pair| match pair.counted {
        Some(counted) if by_cycles => counted.gain().into(),
        Some(_) => pair.bytes.into(),
        None => pair.cost,
    };
    let mut all: BTreeMap<SiteId, Vec<(&'static str, u128)>> = BTreeMap::new();
    for pair in &pairs {
        let dead = idle.as_ref().and_then(|idle| idle.between(pair));
        let cures = cures::of(&Words::of(&places, pair), pair, dead);
        let Some(site) = pair.readers.first() else { continue };
        all.entry(*site).or_default().push((cures.first().map_or("", |cure| cure.name), weight(pair)));
    }
    Tries { words: all, by_cycles }
}
