//! Caches of sets and ways that were simulated.

use serde::{Deserialize, Serialize};

/// One cache of a hierarchy. The model: [`dmdprof_runtime::observe::caches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheLevel {
    /// How much it holds.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line: the first of `line_sizes`.
    pub line: u32,
    /// A tree of bits chooses the line that leaves; else it is the one used longest ago.
    pub plru: bool,
}
