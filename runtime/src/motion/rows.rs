//! What an array moved at a level of a loop nest.

use super::nest::LevelNumber;
use crate::objects::ObjectNumber;

/// An array at a level, all in bytes but the accesses. Loops inside are included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowResult {
    /// Number of the level, of a ring or of a sum.
    pub level: LevelNumber,
    /// Number of the array, of a ring or of a sum.
    pub array: ObjectNumber,
    /// Accesses.
    pub accesses: u64,
    /// Bytes that they accessed.
    pub accessed: u64,
    /// In a tile and not in the one before: brought in under the policy `wrap`. As many bytes are drained.
    pub fills: u64,
    /// In the first tile of an invocation and in the last of the one before: so many more under the policy `reset`.
    pub kept: u64,
    /// In any tile.
    pub footprint: u64,
    /// Most in one tile.
    pub peak: u64,
}

impl RowResult {
    /// Nothing was accessed.
    #[must_use]
    pub fn new(level: LevelNumber, array: ObjectNumber) -> Self {
        Self { level, array, accesses: 0, accessed: 0, fills: 0, kept: 0, footprint: 0, peak: 0 }
    }
}
