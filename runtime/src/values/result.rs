//! What a ring's values gave.

use std::collections::BTreeMap;

use super::region::RegionTotals;
use crate::{
    counts::cell::CellCounters,
    decode::{block::BlockCounters, ring::DecodedRing, sequences::RingSequences},
};

/// Counters per calling context and instruction, and totals per region, in the ring's numbering.
pub struct ValuesResult {
    /// The program's side of the ring.
    pub ring: DecodedRing,
    /// Counters by context and instruction.
    pub blocks: Vec<BlockCounters>,
    pub(crate) cells: Vec<CellCounters>,
    /// Totals by region.
    pub regions: Vec<RegionTotals>,
    /// Calls with tracked values of code that does not follow them, by name.
    pub unfollowed: BTreeMap<String, u64>,
    /// What is wrong with the program's declarations; the numbers are not what they should be.
    pub problems: Vec<String>,
    /// Calls made by chosen functions, by number of the function.
    pub sequences: RingSequences,
}
