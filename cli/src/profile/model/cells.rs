//! Who did how much: the cells of a profile, and the uses of its objects.
//!
//! What they have is the table of metrics, [`CellCounts`], with amounts by depth as [`Histogram`]s.

use std::ops::{Deref, DerefMut};

use dmdprof_runtime::counts::{Merge, cell, cell::CellCounters, depths::DepthCounts, lines};
use serde::{Deserialize, Serialize};

use super::{
    histogram::Histogram,
    ids::{ContextId, ObjectId, SiteId},
};

/// Every metric of one site.
pub type CellCounts = cell::CellCounts<Histogram>;
/// Lines moved.
pub type LineCounts = lines::LineCounts<Histogram>;
/// What was found on the stack of the thread alone.
pub type Alone = cell::Alone<Histogram>;

/// What one site did in one calling context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Where it was called from.
    pub context: ContextId,
    /// The static access.
    pub site: SiteId,
    /// Bytes (or lines) read.
    pub read: u64,
    /// What else it did.
    pub counts: CellCounts,
}

/// What one site did to one object, in all contexts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectUse {
    /// What was used.
    pub object: ObjectId,
    /// Who used it.
    pub site: SiteId,
    /// Bytes read.
    pub read: u64,
    /// What else it did.
    pub counts: CellCounts,
}

macro_rules! counts_of {
    ($name:ident) => {
        impl Deref for $name {
            type Target = CellCounts;

            fn deref(&self) -> &CellCounts {
                &self.counts
            }
        }

        impl DerefMut for $name {
            fn deref_mut(&mut self) -> &mut CellCounts {
                &mut self.counts
            }
        }
    };
}

counts_of!(Cell);
counts_of!(ObjectUse);

impl Merge<DepthCounts> for Histogram {
    fn merge(&mut self, other: &DepthCounts) {
        *self = self.with(&Histogram::from_depths(other.iter().collect()));
    }
}

impl Merge for Histogram {
    fn merge(&mut self, other: &Self) {
        *self = self.with(other);
    }
}

/// What was counted of a cell, which must be flushed, with capacities.
#[must_use]
pub fn counts_of(cell: &CellCounters) -> CellCounts {
    let mut counts = CellCounts::default();
    counts.merge(cell);
    counts.depths = Histogram::below(&cell.depths, cell.below_holes.as_deref());
    if let (Some(alone), Some(found)) = (&mut counts.alone, &cell.alone) {
        alone.depths = Histogram::below(&found.depths, cell.below_alone.as_deref());
    }
    counts
}
