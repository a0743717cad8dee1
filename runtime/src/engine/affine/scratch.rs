//! What is kept from run to run: a run's words and room for a block, to save allocations, and what was learned of runs.
//!
//! The stack takes it out of its field when a run begins and puts it back when that is over, so that nobody else sees
//! it meanwhile, and nobody reads it in between.

use super::{
    block::Block,
    holes::HoleMoves,
    normalise::Normalised,
    offsets::DepthOffsets,
    reuse::{BackOff, Plans},
};
use crate::engine::{
    access::{Access, Stream},
    access_tag::AccessTag,
    boundary::MissRequest,
};

/// Of the run at hand, but for `back_off` and `plans`, which hold for all runs.
#[derive(Default)]
pub struct Scratch {
    /// The start of a run fills it; valid until that is over, if the start gave `true`.
    pub normalised: Normalised,
    /// Each run that may be tried writes to it, and all later ones go by it.
    pub back_off: BackOff,
    /// Each run that has a plan writes to it, and all later ones go by it.
    pub plans: Plans,
    /// Each block of the run fills it anew.
    pub room: Room,
    /// What is answered one by one: filled, answered and cleared in one loop over iterations; empty elsewhere.
    pub asks: Vec<MissRequest>,
}

/// Where a block's words are and were. Each field is filled by the step of a block that names it, and valid until the
/// next block begins; nothing is left for another run.
#[derive(Default)]
pub struct Room {
    /// Accesses that are done one by one, and their labels: filled and done a few at a time.
    pub singles: Vec<Access>,
    pub labels: Vec<AccessTag>,
    /// Bytes above the words of the load that is being reported, by iteration.
    pub above: Vec<u64>,
    pub block: Block,
    pub offsets: DepthOffsets,
    /// Of a block in which words die; of others it is an older one's.
    pub holes: HoleMoves,
    /// The block's streams, some of them stores of words that are not on the stack.
    pub streams: Vec<Stream>,
    /// What may help, if the block could not be done.
    pub change: Option<Change>,
    /// New ones of the timeline: filled and put on top in one step.
    pub fresh: Vec<u64>,
    /// Of the positions at hand: whoever clears or makes some fills it, and nobody reads it later.
    pub masks: Vec<u64>,
    /// Of each stream that stays on the stack, the first iteration whose word stays where the block puts it; where the
    /// first iteration's word is, and its bytes. Sorted and used in the step that fills it.
    pub kept: Vec<(usize, u64, u64)>,
}

/// What may help where a block could not be done.
#[derive(Clone, Copy, PartialEq)]
pub enum Change {
    /// So many iterations at a time.
    Unroll(usize),
    /// Words of wide accesses apart.
    Split,
}
