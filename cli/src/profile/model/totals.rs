//! Sums over a thread, or over all of them.

use serde::{Deserialize, Serialize};

/// What was done while counting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Accesses executed (loads, stores, lanes, blocks of copies).
    pub accesses: u64,
    /// Bytes (or lines, see [`Unit`](super::Unit)) read.
    pub read: u64,
    /// Bytes (or lines) written.
    pub written: u64,
    /// Read for the first time without having been written: inputs.
    pub cold: u64,
    /// ByteDMD of what was read.
    pub cost: u128,
    /// Most bytes live at once. For the program: of the thread with the largest.
    pub peak_live: u64,
    /// Distinct bytes touched. For the program: the sum over its threads, where shared bytes count for each.
    pub footprint: u64,
}
