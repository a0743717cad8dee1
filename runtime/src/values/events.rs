//! What library calls and markers do to the identities of values.
//!
//! Refuses events about more bytes than any kernel has.

use super::{
    core::{Block, Core},
    tables::Tables,
};
use crate::decode::event::Event;

/// No kernel has a copy, a block or an output as large as that; a damaged or hostile record would take forever.
const MOST_BYTES: u64 = 1 << 28;

impl Core {
    /// What matters whether or not a region is open; gives back what is left to do.
    pub(super) fn event(&mut self, event: Event, tables: &Tables) -> Option<Event> {
        match event {
            Event::Input { address, len } => self.input(address, len),
            Event::RegionBegin { name } => self.begin(name, tables),
            Event::RegionEnd { name } => self.end(&name),
            Event::FreeUnknown => self.totals.unknown_frees += 1,
            Event::Restart => {
                let _ = self.contexts.restart();
                self.align_frames(0);
            }
            // Each thread is followed by itself.
            Event::Synchronise(_) | Event::Clock { .. } | Event::Executed { .. } | Event::Paged { .. } => {}
            Event::Output { .. }
            | Event::Read { .. }
            | Event::Write { .. }
            | Event::Copy { .. }
            | Event::Alloc { .. }
            | Event::Mapped { .. }
            | Event::Free { .. }
            | Event::Relocate { .. } => return Some(event),
        }
        None
    }

    /// No region is open: only which blocks there are matters.
    pub(super) fn event_outside(&mut self, event: Event, tables: &Tables) {
        match self.event(event, tables) {
            Some(Event::Alloc { address, len }) => self.memory.note_block(address, len, true),
            Some(Event::Free { address, len }) => self.memory.note_block(address, len, false),
            Some(Event::Relocate { from, from_len, to, to_len }) => {
                self.memory.note_block(from, from_len, false);
                self.memory.note_block(to, to_len, true);
            }
            Some(Event::Output { .. }) => {
                let text = "dmdprof_output outside any region has no effect; call it before dmdprof_end";
                self.problems.add(text.into());
            }
            _ => {}
        }
    }

    /// A region is open. `None`: the event is about more bytes than any kernel has.
    pub(super) fn event_inside(&mut self, event: Event, place: Option<Block>, tables: &Tables) -> Option<()> {
        if bytes_walked(&event) > MOST_BYTES {
            return None;
        }
        match self.event(event, tables) {
            Some(Event::Output { address, len }) => self.output(address, len, place, tables),
            Some(Event::Read { address, len }) => self.library_read(place, address, len, tables),
            Some(Event::Write { address, len }) => self.memory.deliver(address, len),
            Some(Event::Copy { to, from, len }) => self.memory.copy(to, from, len),
            Some(Event::Alloc { address, len }) => self.memory.forget(address, len, true),
            Some(Event::Free { address, len }) => self.memory.forget(address, len, false),
            Some(Event::Relocate { from, from_len, to, to_len }) => {
                self.memory.note_block(from, from_len, false);
                self.memory.note_block(to, to_len, true);
                if from != to {
                    self.memory.copy(to, from, from_len.min(to_len));
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// Most bytes of an event that are walked one by one.
fn bytes_walked(event: &Event) -> u64 {
    match *event {
        Event::Copy { len, .. } | Event::Output { len, .. } | Event::Read { len, .. } | Event::Write { len, .. } => len,
        Event::Relocate { from_len, to_len, .. } => from_len.max(to_len),
        Event::Alloc { .. }
        | Event::Mapped { .. }
        | Event::Free { .. }
        | Event::FreeUnknown
        | Event::Input { .. }
        | Event::RegionBegin { .. }
        | Event::RegionEnd { .. }
        | Event::Restart
        | Event::Clock { .. }
        | Event::Executed { .. }
        | Event::Paged { .. }
        | Event::Synchronise(_) => 0,
    }
}
