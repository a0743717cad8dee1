//! Executions of segments by calling context, and the numbers of their cells.

use super::context::Node;

/// Number of no cell: the access is replayed but not counted.
pub const UNCOUNTED: u32 = u32::MAX;

/// Executions of one segment in one context, and where its cells start.
#[derive(Clone, Copy, Debug)]
pub struct BlockCounters {
    pub node: Node,
    /// Analyzer-wide segment number.
    pub segment: u32,
    pub executions: u64,
    pub(crate) first_cell: u32,
    /// Executions of which only the moves were looked at; see `session::moves`.
    pub(crate) moved: u64,
}
