//! What to try for the accesses of each site, in a word: for tables that have no room for more.

use std::collections::{BTreeMap, BTreeSet};

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
    report::{INTERCHANGE, Tries},
};

/// Nothing of a profile that does not say who touched what last.
#[must_use]
pub fn tries(profile: &Profile) -> Tries {
    let options = Options::default();
    let Ok(places) = Places::new(profile, &options) else { return Tries::default() };
    let idle = places.has_flows().then(|| Idle::from_places(&places));
    let pairs = match idle {
        Some(_) => pairs::flow_pairs(&places, &places.flows.iter().collect::<Vec<_>>()),
        None => returns::return_pairs(&places, &profile.pairs.iter().collect::<Vec<_>>()),
    };
    let by_cycles = idle.is_none() && profile.cycles.is_some();
    let weight = |pair: &Pair| match pair.counted {
        Some(counted) if by_cycles => counted.gain().into(),
        Some(_) => pair.bytes.into(),
        None => pair.cost,
    };
    let word = |pair: &Pair| {
        let dead = idle.as_ref().and_then(|idle| idle.between(pair));
        cures::find_cures(&Words::for_pair(&places, pair), pair, dead).first().map_or("", |cure| cure.name)
    };
    let words: Vec<&'static str> = pairs.iter().map(word).collect();
    let interchanged: BTreeSet<usize> =
        pairs.iter().zip(&words).filter(|(_, word)| **word == INTERCHANGE).map(|(pair, _)| pair.key.line).collect();
    let mut all: BTreeMap<SiteId, Vec<(&'static str, u128)>> = BTreeMap::new();
    for (pair, word) in pairs.iter().zip(words) {
        let Some(site) = pair.readers.first() else { continue };
        let is_across = pair.counted.is_some_and(|counted| counted.walk.is_across());
        // Lines that have to come, whatever the order, come in order then, and are waited for less.
        let is_for_order = by_cycles && word.is_empty() && is_across && interchanged.contains(&pair.key.line);
        all.entry(*site).or_default().push((if is_for_order { INTERCHANGE } else { word }, weight(pair)));
    }
    Tries { words: all, by_cycles }
}
