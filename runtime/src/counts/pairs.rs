//! Who had brought lines in that others bring in again: counts by pairs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keys::SiteKey;
use crate::decode::{block::CellNumber, ring::RingSite};

super::counted! {
    /// Lines that came from far, of one pair.
    #[derive(Copy)]
    pub struct PairCounts {
        /// From beyond [`NEAR`](crate::observe::lines::NEAR) bytes of lines.
        pub lines: u64,
        /// Of these, from beyond [`FAR`](crate::observe::lines::FAR).
        pub far: u64,
    }
}

/// By the cell that brought a line in before, and the one that brings it in again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellPairs(pub BTreeMap<(CellNumber, CellNumber), PairCounts>);

impl CellPairs {
    /// Adds what was counted elsewhere for cells that have other numbers there.
    pub fn add(&mut self, other: Self, mut number: impl FnMut(CellNumber) -> CellNumber) {
        for ((before, cell), counts) in other.0 {
            self.0.entry((number(before), number(cell))).or_default().merge(&counts);
        }
    }
}

/// By the sites of these cells, in the numbers of their ring; none for one that does not count.
pub type RingPairs = BTreeMap<(Option<RingSite>, RingSite), PairCounts>;

/// By the sites of these cells; none for one that does not count.
pub type SitePairs = BTreeMap<(Option<SiteKey>, SiteKey), PairCounts>;
