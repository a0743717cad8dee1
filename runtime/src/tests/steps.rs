//! What a thread of a made-up program writes down, step by step, and the words of that.
//!
//! Takes steps as a person would say them; gives the words that hooks would have written into the thread's ring.

use super::program::{Program, SegmentName};
use crate::{
    abi::{EventKind, synchronise::Synchronise},
    decode::event::{Event, Synchronised},
};

/// One record.
#[derive(Clone, Debug)]
pub enum Step {
    /// A segment was executed; the words behind the first.
    Segment(SegmentName, Vec<u64>),
    /// A library call or a marker, with its call site if that has hooks.
    Event(Option<SegmentName>, Event),
    /// Words that no hooks write: nobody knows where the next record begins, so the rest of the chunk is lost.
    Unknown(Vec<u64>),
}

impl Step {
    /// How the ring of a thread begins.
    #[must_use]
    pub fn start(thread: u64) -> Self {
        let what = Synchronised { what: Synchronise::Start, object: 0x7f00_0000 + thread, value: thread, other: 0 };
        Self::Event(None, Event::Synchronise(what))
    }

    /// The image that has its descriptor.
    #[must_use]
    pub fn image(&self) -> Option<u32> {
        match self {
            Self::Segment((image, _), _) | Self::Event(Some((image, _)), _) => Some(*image),
            Self::Event(None, _) | Self::Unknown(_) => None,
        }
    }

    /// Adds the words of the record.
    pub fn write(&self, program: &Program, words: &mut Vec<u64>) {
        match self {
            Self::Segment(segment, operands) => {
                words.push(program.address(*segment));
                words.extend(operands);
            }
            Self::Event(site, event) => {
                let (kind, operands) = operands(event);
                let site = site.map_or(0, |site| program.address(site));
                words.push((kind as u64) << 56 | (1 + operands.len() as u64) << 48 | site);
                words.extend(operands);
            }
            Self::Unknown(unknown) => words.extend(unknown),
        }
    }
}

fn operands(event: &Event) -> (EventKind, Vec<u64>) {
    match event {
        &Event::Read { address, len } => (EventKind::Read, vec![address, len]),
        &Event::Write { address, len } => (EventKind::Write, vec![address, len]),
        &Event::Copy { to, from, len } => (EventKind::Copy, vec![to, from, len]),
        &Event::Alloc { address, len } => (EventKind::Alloc, vec![address, len]),
        Event::Mapped { address, len, file } => (EventKind::Mapped, [vec![*address, *len], name(file)].concat()),
        &Event::Free { address, len } => (EventKind::Free, vec![address, len]),
        Event::FreeUnknown => (EventKind::FreeUnknown, vec![0]),
        &Event::Relocate { from, from_len, to, to_len } => (EventKind::Relocate, vec![from, from_len, to, to_len]),
        &Event::Input { address, len } => (EventKind::Input, vec![address, len]),
        &Event::Output { address, len } => (EventKind::Output, vec![address, len]),
        Event::RegionBegin { name: region } => (EventKind::RegionBegin, name(region)),
        Event::RegionEnd { name: region } => (EventKind::RegionEnd, name(region)),
        Event::Restart => (EventKind::Restart, Vec::new()),
        Event::Synchronise(Synchronised { what, object, value, other }) => {
            (EventKind::Synchronise, vec![*what as u64, *object, *value, *other])
        }
        &Event::Clock { time } => (EventKind::Clock, vec![time]),
        &Event::Executed { times } => (EventKind::Executed, vec![times]),
        &Event::Paged { what, address, len, from, from_len } => {
            (EventKind::Paged, vec![address, len, what as u64, from, from_len])
        }
    }
}

/// Its length, and its bytes in whole words.
fn name(text: &str) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    std::iter::once(text.len() as u64).chain(text.as_bytes().chunks(8).map(word)).collect()
}
