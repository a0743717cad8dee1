//! What may be read of a run while it goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crossbeam::utils::CachePadded;

use crate::ring::Channel;

/// What an observer may read while the run goes on.
#[derive(Default)]
pub struct Progress {
    /// Accesses replayed.
    pub accesses: CachePadded<AtomicU64>,
    /// Bytes of records written by the program and not yet replayed.
    pub backlog: CachePadded<AtomicU64>,
    /// Memory held by the engines of live rings, and the most it has been.
    pub engine_bytes: CachePadded<AtomicU64>,
    /// Most bytes that the engines held.
    pub engine_peak: CachePadded<AtomicU64>,
    /// Rings for which several threads work.
    pub(super) spread_rings: AtomicUsize,
    pub(super) ended: AtomicBool,
}

impl Progress {
    /// Whether the run has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The program and all its descendants have ended: what is in the rings is all there is.
    pub fn end(&self, channel: &Channel) {
        self.ended.store(true, Ordering::Release);
        channel.wake();
    }
}
