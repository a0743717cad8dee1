//! What a replayed ring gave, by what it was replayed for.

use std::io;

use super::kept::Part;
use crate::{
    counts::{cell::CellCounters, depths::DepthCounts, reach::Reach},
    decode::{block::BlockCounters, ring::DecodedRing, sequences::RingSequences},
    motion::result::MotionResult,
    observe::{
        flows::Followed,
        objects::{PartOf, RingObjects},
        window::Recorder,
    },
    values::ValuesResult,
};

/// The stack of a thread alone, beside one that it shares.
#[derive(Debug, Default)]
pub struct OwnStack {
    pub peak_live: u64,
    pub footprint: u64,
    /// Depths of first touches.
    pub cold: DepthCounts,
}

/// The memory model's, still in the ring's numbering.
pub struct MemoryResult {
    pub ring: DecodedRing,
    pub blocks: Vec<BlockCounters>,
    pub cells: Vec<CellCounters>,
    /// Depths of first touches.
    pub cold: DepthCounts,
    /// If that was asked for.
    pub(crate) own: Option<OwnStack>,
    /// From which access to which bytes went, if that was measured.
    pub(crate) followed: Option<Followed>,
    /// What was done to which object, if that was measured.
    pub(crate) objects: Option<RingObjects>,
    /// Accesses to look at, with the whole cell and the object of each part, if that was asked for.
    pub(crate) window: Option<(Recorder, Vec<PartOf>)>,
    /// Calls made by chosen functions, by number of the function.
    pub sequences: RingSequences,
    /// Why there are no numbers without dead bytes although they were asked for.
    pub exact_error: Option<io::Error>,
    /// Why there is no optimum although it was asked for.
    pub optimum_error: Option<io::Error>,
    /// Bytes read by depth, of a sample.
    pub reach: Reach,
}

impl MemoryResult {
    /// The stack that was counted is the thread's own too.
    pub(super) fn is_alone(&mut self) {
        self.cells.iter_mut().for_each(CellCounters::is_alone);
        let (peak_live, footprint) = (self.ring.totals.peak_live, self.ring.totals.footprint);
        self.own = Some(OwnStack { peak_live, footprint, cold: self.cold.clone() });
    }
}

/// Of a ring.
pub enum RingResult {
    Memory(Box<MemoryResult>),
    Values(Box<ValuesResult>),
    Motion(Box<MotionResult>),
    /// Not analysed yet: that begins when all rings of the process have ended.
    Kept(Box<Part>),
}
