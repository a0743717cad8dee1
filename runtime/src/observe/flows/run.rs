//! The affine run that flows are followed through; kept to save allocations.
//!
//! Whoever follows a run takes it out of the flows and puts it back; nobody else reads it, and nothing of it is left
//! for the next run.

use super::parts::{Piece, Readings};
use crate::{observe::patterns::Lane, shadow::ByteLabel};

/// Accesses of a stream to words in one state, one after the other.
#[derive(Clone, Copy)]
pub struct Seen {
    pub state: ByteLabel,
    /// The state that they leave.
    pub next: ByteLabel,
    /// Of loads.
    pub flow: u32,
    pub count: u64,
}

/// The run at hand, valid until it is over.
#[derive(Default)]
pub struct Run {
    pub lanes: Vec<Lane>,
    pub counted: Vec<bool>,
    /// The part of `Parts` that is about the streams, while they are followed.
    pub readings: Vec<Readings>,
    pub pieces: Vec<Piece>,
    pub seen: Vec<Vec<Seen>>,
    pub labels: Vec<(ByteLabel, u64)>,
    /// By flow: reads in the block at hand, 0 between blocks; and the flows of which there are.
    pub reads: Vec<u64>,
    pub flows: Vec<u32>,
}
