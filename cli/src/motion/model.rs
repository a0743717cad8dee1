//! What one run's loops moved, independent of how it is stored or shown. Bytes are bytes; elements are made of them in
//! [`super::counts`].

use serde::{Deserialize, Serialize};

use crate::profile::model::Outcome;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    pub tool_version: String,
    pub command: Vec<String>,
    pub outcome: Outcome,
    pub threads: u64,
    /// In and outside of loops.
    pub accesses: u64,
    pub lost_events: u64,
    /// Loops in their nests, parents first, each nest from the outside in and in the order of the source.
    pub levels: Vec<Level>,
    pub arrays: Vec<Array>,
    /// Sorted by (level, array).
    pub rows: Vec<Row>,
    /// What each tile touched, if that was written down: by thread, then by level, in the order of execution.
    pub tiles: Vec<Vec<Tile>>,
    /// There was more than could be written down.
    pub tiles_cut: bool,
    /// Some loops were not kept apart from those around them.
    pub levels_cut: bool,
}

/// A loop in its nest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    pub parent: Option<u32>,
    /// The variable that the loop counts with, as far as the source tells.
    pub variable: Option<String>,
    /// Source function that contains it.
    pub function: String,
    pub place: Option<Position>,
    /// Loops of the machine code that it is.
    pub parts: u32,
    /// Iterations in which something was accessed.
    pub iterations: u64,
    /// Times that the loop was entered.
    pub entries: u64,
    /// Most bytes that one iteration touched.
    pub capacity: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ArrayKind {
    Global,
    Heap,
    Stack,
    Mapping,
    Other,
}

impl ArrayKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Heap => "heap",
            Self::Stack => "stack",
            Self::Mapping => "mapping",
            Self::Other => "other",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Unique.
    pub name: String,
    pub kind: ArrayKind,
    /// Of the allocation, or of the variable's declaration.
    pub place: Option<Position>,
    /// Bytes of the accesses that read and write most of it; of one lane of vector accesses.
    pub element: u64,
    /// One in so many pages was followed.
    pub sampling: u64,
}

/// An array at a level: bytes, but for the accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub level: u32,
    pub array: u32,
    pub accesses: u64,
    pub accessed: u64,
    /// Under the policy `wrap`.
    pub fills: u64,
    /// Fills under the policy `reset` beyond those.
    pub kept: u64,
    pub footprint: u64,
    pub peak: u64,
}

/// Block of the array, first byte, byte after the last.
pub type PlaceRange = (u32, u64, u64);

/// What one iteration touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tile {
    pub level: u32,
    /// Iterations of the running loops, outermost first.
    pub timestamp: Vec<u64>,
    /// The first of its entry into the loop.
    pub first: bool,
    /// By array.
    pub arrays: Vec<(u32, Vec<PlaceRange>)>,
}
