//! What all who work on slices of a ring share.
//!
//! Takes and gives what grows while a ring is gone over, and what waits. Refuses nothing.

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    super::exact::SliceLog,
    slice_replayer::{LearnedTables, Start},
};
use crate::observe::flows::States;

/// What is to be replayed.
pub struct Slice {
    pub start: Start,
    pub words: Vec<u64>,
    /// If flows are followed: in which states it finds the bytes that it touches.
    pub states: Option<States>,
}

/// What all who work on a ring share.
#[derive(Default)]
pub struct Shared {
    pub known: LearnedTables,
    /// Empty lists whose memory is used again: whoever has replayed a slice clears its words and leaves them here, and
    /// the ring takes one for the words of its next slice.
    pub spare: Vec<Vec<u64>>,
    /// Slices that the first pass is done with, in order, if there is one.
    pub seen: VecDeque<Slice>,
    /// Of slices that were resolved.
    pub logs: Vec<io::Result<SliceLog>>,
    pub accesses: u64,
    /// Memory that engines hold, and those who follow beside them.
    pub bytes: u64,
}

impl Shared {
    pub fn lock(shared: &Mutex<Self>) -> MutexGuard<'_, Self> {
        shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody holds so many bytes, in the place of so many before.
    pub fn holds(&mut self, bytes: u64, before: u64) {
        self.bytes = self.bytes.wrapping_add(bytes).wrapping_sub(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_given_up_is_not_held_any_more() {
        let mut shared = Shared::default();
        shared.holds(100, 0);
        shared.holds(30, 0);
        shared.holds(20, 100);
        assert_eq!(shared.bytes, 50);
    }
}
