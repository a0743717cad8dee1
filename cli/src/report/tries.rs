//! What to try for a row, in a word.
//!
//! Takes what somebody else says of sites; gives of a row's sites what is said most often by weight, if that is worth
//! it. Where words are not weighed by cycles, there is none for a row whose cycles say that moving less gains nothing,
//! but for another order of loops where these cycles wait for chains of operations.

use std::collections::BTreeMap;

use dmdprof_runtime::cycles::Cause;

use super::{
    analysis::Row,
    cycles::{bound, gains_nothing},
};
use crate::profile::model::SiteId;

/// The word for another order of two loops.
pub const INTERCHANGE: &str = "interchange";

/// Part of the lines that are known of a row for which a word must speak: one in so many.
const OF_LINES: u128 = 4;
/// Part of a row's cycles that would not pass.
const OF_CYCLES: u128 = 5;

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
    pub fn for_row(&self, row: &Row) -> Option<&'static str> {
        let gains_nothing = !self.by_cycles && gains_nothing(&row.own.cycles).is_some();
        let is_chain = || matches!(bound(&row.own.cycles), Some((Cause::Dependence, _)));
        if gains_nothing && !is_chain() {
            return None;
        }
        let mut words: BTreeMap<&'static str, u128> = BTreeMap::new();
        let mut all = 0;
        for (word, weight) in row.sites.iter().filter_map(|site| self.words.get(site)).flatten() {
            *words.entry(word).or_default() += weight;
            all += weight;
        }
        // Steps of another loop do not wait for one another.
        words.retain(|word, _| *word == INTERCHANGE || !(gains_nothing || word.is_empty()));
        let (word, weight) = words.into_iter().max_by_key(|(_, weight)| *weight).filter(|(_, weight)| *weight > 0)?;
        let is_worth = match self.by_cycles {
            true => weight * OF_CYCLES >= row.own.cycles.total().into(),
            false => weight * OF_LINES >= all,
        };
        is_worth.then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_lines<const N: usize>(words: [(SiteId, Vec<(&'static str, u128)>); N]) -> Tries {
        Tries { words: words.into(), by_cycles: false }
    }

    #[test]
    fn a_word_speaks_for_a_row_if_it_is_of_a_quarter_of_its_lines() {
        let tries = of_lines([(SiteId(3), vec![("tile", 30), ("fuse", 20)]), (SiteId(4), vec![("", 70)])]);
        let row = |sites: &[u32]| Row { sites: sites.iter().map(|n| SiteId(*n)).collect(), ..Row::default() };
        let of = |sites: &[u32]| tries.for_row(&row(sites));
        assert_eq!((of(&[3]), of(&[3, 4]), of(&[4]), of(&[9])), (Some("tile"), Some("tile"), None, None));
        let seldom = of_lines([(SiteId(3), vec![("tile", 24), ("", 76)])]);
        assert_eq!(seldom.for_row(&row(&[3])), None);
    }

    #[test]
    fn beside_cycles_a_word_speaks_for_a_row_if_a_fifth_of_them_would_not_pass() {
        let tries = |waits| Tries { words: [(SiteId(3), vec![("tile", waits), ("", 20)])].into(), by_cycles: true };
        let row = |cause: Cause| {
            let mut row = Row { sites: vec![SiteId(3)], ..Row::default() };
            row.own.cycles.cycles[cause as usize] = 1000;
            row
        };
        let of = |waits, cause| tries(waits).for_row(&row(cause));
        assert_eq!((of(200, Cause::L2), of(199, Cause::L2)), (Some("tile"), None));
        let by_lines = |word| Tries { words: [(SiteId(3), vec![(word, 250)])].into(), by_cycles: false };
        let beside = |word, cause| by_lines(word).for_row(&row(cause));
        assert_eq!((beside("tile", Cause::L2), beside("tile", Cause::Branch)), (Some("tile"), None));
        assert_eq!((beside("tile", Cause::Dependence), beside(INTERCHANGE, Cause::Branch)), (None, None));
        assert_eq!(beside(INTERCHANGE, Cause::Dependence), Some(INTERCHANGE));
        assert_eq!(of(0, Cause::L2), None);
        assert_eq!(tries(0).for_row(&Row { sites: vec![SiteId(3)], ..Row::default() }), None);
    }
}
