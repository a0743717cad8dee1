//! Stacks that threads share, and those of threads alone beside them.

use serde::{Deserialize, Serialize};

use super::{histogram::Histogram, totals::Totals};

/// Of a run whose threads share a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks {
    /// Threads of the stack that most of them share.
    pub threads: u64,
    /// What reads found on the stack of each thread alone; `None` if that was not measured.
    pub alone: Option<AloneTotals>,
}

/// What `--threads private` would have found in the same run; of cells: [`CellCounts::alone`](super::CellCounts).
/// Executions, bytes read and bytes written are those of the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AloneTotals {
    /// Sums over all threads.
    pub totals: Totals,
    /// In canonical order of their own, as [`Profile::threads`](super::Profile::threads).
    pub threads: Vec<Totals>,
    /// As [`Profile::cold_histogram`](super::Profile::cold_histogram).
    pub cold_histogram: Histogram,
}
