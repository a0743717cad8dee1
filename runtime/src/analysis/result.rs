//! What a replayed ring gave, by what it was replayed for.

use std::io;

use super::deferred::DeferredRing;
use crate::{
    counts::{cell::CellCounters, depths::DepthCounts, miss_curve::MissCurve, pairs::RingPairs},
    decode::{
        block::BlockCounters,
        ring::{DecodedRing, RingSite},
        sequences::RingSequences,
    },
    motion::result::MotionResult,
    objects::ObjectNumber,
    observe::{flows::Followed, objects::RingObjects, window::Window},
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

/// Why there are no results of further passes, although they were asked for.
#[derive(Debug, Default)]
pub struct Failures {
    /// Of exact liveness: numbers have dead bytes in them.
    pub exact: Option<io::Error>,
    /// Of the optimum.
    pub optimum: Option<io::Error>,
}

impl Failures {
    /// Adds those of another ring; the first of each kind stays.
    pub(super) fn merge(&mut self, other: Self) {
        self.exact = self.exact.take().or(other.exact);
        self.optimum = self.optimum.take().or(other.optimum);
    }
}

/// The memory model's, still in the ring's numbering.
pub struct MemoryResult {
    pub ring: DecodedRing,
    pub blocks: Vec<BlockCounters>,
    pub cells: Vec<CellCounters>,
    /// Depths of first touches.
    pub cold: DepthCounts,
    /// Lines from far by who brought them in.
    pub pairs: RingPairs,
    /// If that was asked for.
    pub(crate) own: Option<OwnStack>,
    /// From which access to which bytes went, if that was measured.
    pub(crate) followed: Option<Followed>,
    /// What was done to which object, if that was measured.
    pub(crate) objects: Option<RingObjects>,
    /// Accesses to look at, if that was asked for.
    pub(crate) window: Option<Window<RingSite, ObjectNumber>>,
    /// Calls made by chosen functions, by number of the function.
    pub sequences: RingSequences,
    /// Of what was asked for.
    pub failures: Failures,
    /// Bytes read by depth, of a sample.
    pub miss_curve: MissCurve,
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
    /// Analysed when all rings of the process have ended; and what its thread did, if it is the only one.
    Kept(Box<DeferredRing>, Option<Box<MemoryResult>>),
}
