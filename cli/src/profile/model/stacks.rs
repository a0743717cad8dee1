//! Stacks that threads share, and those of threads alone beside them.

use serde::{Deserialize, Serialize};

use super::{
    histogram::Histogram,
    ids::{ContextId, SiteId},
    lines::{LineCell, StreamCell},
    totals::Totals,
};

/// Of a run whose threads share a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks {
    /// Threads of the stack that most of them share.
    pub threads: u64,
    /// What reads found on the stack of each thread alone; `None` if that was not measured.
    pub alone: Option<Alone>,
}

/// What `--threads private` would have found in the same run. Executions, bytes read and bytes written are those of the
/// profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alone {
    /// Sums over all threads.
    pub totals: Totals,
    /// In canonical order of their own, as [`Profile::threads`](super::Profile::threads).
    pub threads: Vec<Totals>,
    /// Of cells that read something; sorted by (context, site).
    pub cells: Vec<AloneCell>,
    /// As [`Profile::cold_histogram`](super::Profile::cold_histogram).
    pub cold_histogram: Histogram,
    /// For each size of lines of the profile, in its order.
    pub lines: Vec<AloneLines>,
}

/// What the reads of a cell found on the stack of their own thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AloneCell {
    /// The calling context of the reads.
    pub context: ContextId,
    /// The static access.
    pub site: SiteId,
    /// Bytes that were not on it.
    pub cold: u64,
    /// ByteDMD of the reads.
    pub cost: u128,
    /// The bytes by depth.
    pub histogram: Histogram,
}

/// Lines of one size, as [`LineTraffic::cells`](super::LineTraffic::cells) and
/// [`LineDetails::streams`](super::LineDetails::streams).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AloneLines {
    /// Lines moved, by calling context and site.
    pub cells: Vec<LineCell>,
    /// Loads in streams, if they were measured.
    pub streams: Vec<StreamCell>,
}
