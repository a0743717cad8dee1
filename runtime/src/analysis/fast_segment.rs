//! What is to be known of a segment to replay a record of it, in one place of memory.

use super::segment_template::Moves;
use crate::{
    abi::segment_flag,
    decode::locator::{FunctionNumber, SegmentNumber},
    sites::Segment,
};

/// What is to be known of a segment, together.
#[derive(Clone, Copy)]
pub struct FastSegment {
    pub moves: u32,
    pub function: FunctionNumber,
    pub words: u16,
    pub move_count: u16,
    pub items: u16,
    pub flags: u8,
    pub is_plain: bool,
    /// Variables start their lives with it that may outlive its record.
    pub holds: bool,
    /// Its records can be part of an affine run.
    pub repeats: bool,
    /// Records that are not looked at for that.
    pub quiet: u16,
}

impl FastSegment {
    pub fn new(
        segment: &Segment,
        number: SegmentNumber,
        function: FunctionNumber,
        moves: &Moves,
        repeats: bool,
    ) -> Self {
        let is_small = |len: usize| u16::try_from(len).is_ok();
        let range = moves
            .range(number)
            .filter(|moves| segment.words > 0 && is_small(segment.items.len()) && is_small(moves.len()));
        let moves = range.clone().unwrap_or_default();
        FastSegment {
            moves: moves.start,
            function,
            words: segment.words,
            move_count: moves.len() as u16,
            items: segment.items.len() as u16,
            flags: segment.flags,
            is_plain: range.is_some(),
            holds: !segment.slots.is_empty() && segment.flags & segment_flag::EXIT == 0,
            repeats,
            quiet: 0,
        }
    }
}
