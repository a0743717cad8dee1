//! What is kept from run to run, to save allocations: a run's words, its dependences, and room for a block.

use super::{
    block::Block,
    holes::HoleMoves,
    normalise::Normalised,
    offsets::DepthOffsets,
    reuse::{BackOff, Plans},
};
use crate::engine::{
    access::{Access, Stream},
    boundary::MissRequest,
    label::Label,
};

/// Of the run at hand; kept to save allocations.
#[derive(Default)]
pub struct Scratch {
    pub normalised: Normalised,
    pub back_off: BackOff,
    pub plans: Plans,
    pub room: Room,
    /// What is answered one by one.
    pub asks: Vec<MissRequest>,
}

/// Where a block's words are and were.
#[derive(Default)]
pub struct Room {
    pub singles: Vec<Access>,
    pub labels: Vec<Label>,
    pub above: Vec<u64>,
    pub block: Block,
    pub offsets: DepthOffsets,
    /// Of a block in which words die.
    pub holes: HoleMoves,
    /// The block's streams, some of them stores of words that are not on the stack.
    pub streams: Vec<Stream>,
    /// What may help, if the block could not be done.
    pub change: Option<Change>,
    /// New ones of the timeline, and masks of those that go.
    pub fresh: Vec<u64>,
    pub masks: Vec<u64>,
    /// By stream, the first iteration whose word stays where the block puts it; where the first iteration's word is,
    /// and its bytes.
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
