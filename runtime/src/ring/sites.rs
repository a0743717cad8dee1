//! The site areas of emulated programs, as the consumer reads them. [`crate::abi::emulated`] draws their words.
//!
//! Takes the number of a ring and how much of its area is known, gives the words that have come since. What a program
//! writes is not trusted: no word is looked at here.

use std::{fs::File, mem::offset_of, os::unix::fs::FileExt, sync::Arc};

use rustix::fs::FallocateFlags;

use crate::abi::{
    RING_BYTES, RING_STRIDE, RINGS_OFFSET, RingHeader,
    emulated::{AREA_BYTES, AREA_START},
};

/// The areas of all rings.
#[derive(Debug)]
pub struct SiteAreas(Arc<File>);

impl SiteAreas {
    pub(super) fn new(channel: Arc<File>) -> Self {
        Self(channel)
    }

    /// The system's number of the process that has a ring which is not given up; else 0.
    #[must_use]
    pub fn pid(&self, ring: u32) -> u32 {
        let at = RINGS_OFFSET + ring as usize * RING_STRIDE + offset_of!(RingHeader, pid);
        let mut pid = [0; 4];
        self.0.read_exact_at(&mut pid, at as u64).map_or(0, |()| u32::from_le_bytes(pid))
    }

    /// Gives an area's memory back to the system. Only when nobody will read it any more.
    pub fn release(&self, ring: u32) {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let start = RINGS_OFFSET + ring as usize * RING_STRIDE + RING_BYTES;
        // If it is refused, only memory is lost, and only until the run ends.
        let _ = rustix::fs::fallocate(&*self.0, flags, start as u64, AREA_BYTES as u64);
    }

    /// The words of a ring's area from `known` bytes on, or from its start if that is 0, and where they begin; none if
    /// there are no more.
    #[must_use]
    pub fn words_since(&self, ring: u32, known: u64) -> Option<(u64, Vec<u64>)> {
        let start = (RINGS_OFFSET + ring as usize * RING_STRIDE + RING_BYTES) as u64;
        let mut used = [0; 8];
        self.0.read_exact_at(&mut used, start).ok()?;
        let used = u64::from_le_bytes(used).min(AREA_BYTES as u64) & !7;
        let from = known.max(AREA_START as u64);
        let mut bytes = vec![0; usize::try_from(used.checked_sub(from).filter(|new| *new > 0)?).ok()?];
        self.0.read_exact_at(&mut bytes, start + from).ok()?;
        Some((from, bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()))
    }
}
