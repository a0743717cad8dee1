//! What memories of lines and caches of sets and ways moved.

use serde::{Deserialize, Serialize};

use super::{
    histogram::Histogram,
    ids::{ContextId, ObjectId, SiteId},
};

/// What memories of lines of one size fetch and write back, at every capacity. The model:
/// [`dmdprof_runtime::observe::lines`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineTraffic {
    /// Bytes of a line, a power of two.
    pub size: u32,
    /// Of cells that fetched or wrote a line; sorted by (context, site).
    pub cells: Vec<LineCell>,
}

/// Lines moved by one cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCell {
    /// The calling context of the accesses.
    pub context: ContextId,
    /// The static access.
    pub site: SiteId,
    /// The lines that they fetched, and those that they changed.
    pub moved: LineMoves,
}

/// What was measured beside [`LineTraffic`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineDetails {
    /// What sites moved of objects, in all contexts; sorted by (object, site). Those of a site add up to its cells.
    /// Empty unless objects were measured too.
    pub objects: Vec<ObjectLines>,
    /// Of cells that brought lines in streams; sorted by (context, site). `None` if that was not measured.
    pub streams: Option<Vec<StreamCell>>,
}

/// Lines of another size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherLines {
    /// By calling context and site.
    pub traffic: LineTraffic,
    /// By object, and in streams.
    pub details: LineDetails,
}

/// Loads of one cell that brought lines in streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCell {
    /// The calling context of the accesses.
    pub context: ContextId,
    /// The static access.
    pub site: SiteId,
    /// Their depths, by kind of stream.
    pub streams: LineStreams,
}

/// Of the loads of [`LineMoves`], those in streams of neighbours and in streams of another constant step, by depth in
/// lines and for the first time. The rule: `runtime/src/observe/lines/streams.rs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineStreams {
    /// In streams of neighbours.
    pub in_order: Histogram,
    /// In streams of another step.
    pub at_step: Histogram,
    /// In streams of neighbours, for the first time.
    pub first_in_order: u64,
    /// In streams of another step, for the first time.
    pub first_at_step: u64,
}

/// Lines that one site moved of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectLines {
    /// The object that the first byte of the access is part of.
    pub object: ObjectId,
    /// The static access.
    pub site: SiteId,
    /// In all contexts.
    pub moved: LineMoves,
}

/// Lines that were moved. Histograms are in lines, by depth in lines; depths up to
/// [`dmdprof_runtime::observe::lines::FRONT`] are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineMoves {
    /// Fetched again by loads.
    pub loads: Histogram,
    /// Fetched again by stores.
    pub stores: Histogram,
    /// Lines that were written here, by the greatest depth at which they were found before somebody wrote them again.
    pub write_backs: Histogram,
    /// Fetched for the first time by loads.
    pub first_loads: u64,
    /// Fetched for the first time by stores.
    pub first_stores: u64,
    /// Lines that were dirty at the end of the program: written back once by memories of every size.
    pub last_write_backs: u64,
}

/// What a hierarchy of caches moves. The model: [`dmdprof_runtime::observe::caches`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheTraffic {
    /// The first nearest to the processor; at least one.
    pub levels: Vec<CacheLevel>,
    /// Of cells that moved a line; sorted by (context, site).
    pub cells: Vec<CacheCell>,
}

/// One cache of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheLevel {
    /// How much it holds.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line: the size of [`Profile::lines`](super::Profile::lines).
    pub line: u32,
    /// A tree of bits chooses the line that leaves; else it is the one used longest ago.
    pub plru: bool,
}

/// Lines moved by one cell, by level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCell {
    /// The calling context of the accesses.
    pub context: ContextId,
    /// The static access.
    pub site: SiteId,
    /// The first nearest to the processor.
    pub moved: Vec<CacheMoves>,
}

/// Lines of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMoves {
    /// Brought in by loads.
    pub loads: u64,
    /// Brought in by stores.
    pub stores: u64,
    /// Lines that the cell was the last to write.
    pub write_backs: u64,
}
