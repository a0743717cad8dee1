//! The head of the memory file, in the consumer's memory.
//!
//! Takes its mapping; gives the header, all of which that changes are atomics, and [`Ticket`]s of its counters.

use memmap2::MmapRaw;

use crate::abi::ChannelHeader;

/// State of the doorbell, or of the counter of modules, at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub(super) u32);

/// The header of a channel in memory.
pub(super) fn header(map: &MmapRaw) -> &ChannelHeader {
    // SAFETY: the mapping is long enough and aligned; what changes are atomics.
    unsafe { &*map.as_ptr().cast::<ChannelHeader>() }
}
