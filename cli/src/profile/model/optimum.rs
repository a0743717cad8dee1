//! What memories that know the future fetch.

use serde::{Deserialize, Serialize};

use super::ids::{ContextId, SiteId};

/// The fewest bytes that memories of some capacities could fetch. The model: `docs/model.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Optimum {
    /// In bytes, ascending; at least one.
    pub capacities: Vec<u64>,
    /// Of cells that fetched, or read for the first time, a byte at one of them; sorted by (context, site).
    pub cells: Vec<OptimumCell>,
}

/// What one cell fetches at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptimumCell {
    /// The calling context of the accesses.
    pub context: ContextId,
    /// The static access.
    pub site: SiteId,
    /// By capacity.
    pub least: Vec<LeastReads>,
}

/// Bytes read at one capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeastReads {
    /// They were touched before, and fetched.
    pub fetched: u64,
    /// They were touched for the first time, deeper in the stack than the capacity.
    pub first: u64,
}
