//! What to try for a row, in a word.
//!
//! Takes what somebody else says of sites; gives of a row's sites what is said most often by weight, if that is worth
//! it: where words are not weighed by cycles, if the row's do not say that moving less gains nothing.

use std::collections::BTreeMap;

use super::{analysis::Row, cycles::gains_nothing};
use crate::profile::model::SiteId;

/// Part of what is known of a row, or of its cycles, for which a word must speak.
const WORTH: u128 = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// By site: words, each with what it is worth; an empty one where there is nothing to try.
    pub words: BTreeMap<SiteId, Vec<(&'static str, u128)>>,
    /// What it is worth is the cycles that would not pass.
    pub by_cycles: bool,
}

impl Tries {
    /// For the accesses of a row together.
    #[must_use]
    pub fn of(&self, row: &Row) -> Option<&'static str> {
        if !self.by_cycles && gains_nothing(&row.own.cycles).is_some() {
            return None;
        }
        let mut words: BTreeMap<&'static str, u128> = BTreeMap::new();
        let mut all = 0;
        for (word, weight) in row.sites.iter().filter_map(|site| self.words.get(site)).flatten() {
            *words.entry(word).or_default() += weight;
            all += weight;
        }
        words.remove("");
        let (word, weight) = words.into_iter().max_by_key(|(_, weight)| *weight).filter(|(_, weight)| *weight > 0)?;
        let all = if self.by_cycles { row.own.cycles.total().into() } else { all };
        (weight * WORTH >= all).then_some(word)
    }
}
