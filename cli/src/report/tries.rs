//! What to try for a row, in a word.
//!
//! Takes what somebody else says of sites; gives of a row's sites what is said most often by weight, if that is worth
//! it.

use std::collections::BTreeMap;

use crate::profile::model::SiteId;

/// Part of what is known of a row for which a word must speak.
const WORTH: u128 = 4;

/// By site: words, each with what it is worth; an empty one where there is nothing to try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries(pub BTreeMap<SiteId, Vec<(&'static str, u128)>>);

impl Tries {
    /// For the accesses of these sites together.
    #[must_use]
    pub fn of(&self, sites: &[SiteId]) -> Option<&'static str> {
        let mut words: BTreeMap<&'static str, u128> = BTreeMap::new();
        let mut all = 0;
        for (word, weight) in sites.iter().filter_map(|site| self.0.get(site)).flatten() {
            *words.entry(word).or_default() += weight;
            all += weight;
        }
        words.remove("");
        let (word, weight) = words.into_iter().max_by_key(|(_, weight)| *weight)?;
        (weight * WORTH >= all).then_some(word)
    }
}
