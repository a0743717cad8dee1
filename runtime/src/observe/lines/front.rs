//! The lines that were used last, in order, and what has happened to each since it came here.
//!
//! Takes line numbers; gives the depth of a line that is here, and of one that leaves its *visit*: whether it was
//! written, and how deep it had sunk. Most accesses are to one of these lines. The stack behind does not hold them, so
//! that an access to one of them does not concern it. The order is a permutation of the places in one word, so that a
//! line comes first without a branch or a copy.

use serde::{Deserialize, Serialize};

use crate::{decode::block::CellNumber, observe::writer::WriterNumber};

/// Lines in front.
pub const PLACES: usize = 16;
/// Depths up to this one are not told apart.
pub const FRONT: usize = 8;

/// No line has this number: addresses are shifted.
pub const NONE: u64 = u64::MAX;
/// Times a half byte: that half byte in all places of a permutation.
const EACH: u64 = 0x1111_1111_1111_1111;

/// What happened to a line since it came in front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// Who wrote it last.
    pub writer: Option<WriterNumber>,
    /// Bucket of the greatest depth since it was written, or came, plus one; 0 if it was never deep enough to tell.
    pub deepest: u16,
    /// Bucket of the greatest depth from when it came until it was written for the first time, plus one; or 0.
    pub before: u16,
}

impl Visit {
    /// Found at a depth of this bucket.
    fn sank(&mut self, bucket: u16) {
        self.deepest = self.deepest.max(bucket + 1);
    }

    /// Written by somebody; gives who has it written back, and from which depth on, if that is
    /// known here.
    #[inline(always)]
    pub fn write(&mut self, writer: Option<WriterNumber>) -> Option<(CellNumber, u16)> {
        let before = std::mem::replace(self, Self { writer, deepest: 0, before: self.before });
        if before.deepest == 0 {
            return None;
        }
        let Some(writer) = before.writer else {
            self.before = before.deepest;
            return None;
        };
        Some((writer.cell(), before.deepest - 1))
    }
}

/// The places of a tag, as bits: all at once, without a branch for each.
#[inline(always)]
fn equal(tags: &[u16; PLACES], tag: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{
            _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16,
        };
        // SAFETY: what is loaded are 16 bytes each, and every processor of the target has these instructions.
        unsafe {
            let half = |from: usize| _mm_loadu_si128(tags[from..from + PLACES / 2].as_ptr().cast());
            let same = |from: usize| _mm_cmpeq_epi16(half(from), _mm_set1_epi16(tag as i16));
            _mm_movemask_epi8(_mm_packs_epi16(same(0), same(PLACES / 2))) as u32
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    tags.iter().zip(0..).fold(0, |equal, (other, place)| equal | u32::from(*other == tag) << place)
}

pub struct Front {
    lines: [u64; PLACES],
    /// The low bits of each line number, by places.
    tags: [u16; PLACES],
    visits: [Visit; PLACES],
    /// Places, the last one used in the lowest half byte.
    order: u64,
}

impl Default for Front {
    fn default() -> Self {
        Self {
            lines: [NONE; PLACES],
            tags: [u16::MAX; PLACES],
            visits: [Visit::default(); PLACES],
            order: 0xfedc_ba98_7654_3210,
        }
    }
}

impl Front {
    /// The place of the line that was used last.
    #[inline(always)]
    pub fn first(&self) -> usize {
        (self.order & 15) as usize
    }

    /// The place of a line.
    #[inline(always)]
    pub fn find(&self, line: u64) -> Option<usize> {
        let mut equal = equal(&self.tags, line as u16);
        while equal != 0 {
            let place = equal.trailing_zeros() as usize % PLACES;
            if self.lines[place] == line {
                return Some(place);
            }
            equal &= equal - 1;
        }
        None
    }

    /// The line at a place comes first; gives how many were before it.
    #[inline(always)]
    pub fn raise(&mut self, place: usize) -> usize {
        let other = self.order ^ (place as u64).wrapping_mul(EACH);
        // The lowest half byte that is zero; borrows only reach those above it.
        let at = (other.wrapping_sub(EACH) & !other & (EACH << 3)).trailing_zeros() & !3;
        let (before, after) = (self.order & ((1 << at) - 1), self.order & (!15 << at));
        self.order = after | before << 4 | place as u64;
        at as usize / 4
    }

    /// A line was found at a depth of this bucket.
    #[inline]
    pub fn sank(&mut self, place: usize, bucket: u16) {
        self.visits[place].sank(bucket);
    }

    /// The line at a place is written; see [`Visit`].
    #[inline(always)]
    pub fn write(&mut self, place: usize, writer: WriterNumber) -> Option<(CellNumber, u16)> {
        self.visits[place].write(Some(writer))
    }

    /// The line at a place, which is written, was last written by somebody.
    #[inline(always)]
    pub fn written_by(&mut self, place: usize, writer: Option<WriterNumber>) {
        self.visits[place].writer = writer;
    }

    /// Puts a line first, in the place of the last one; gives the place, and what happened to the one that was there.
    #[inline(always)]
    pub fn enter(&mut self, line: u64) -> (usize, Visit) {
        let place = (self.order >> 60) as usize;
        self.order = self.order << 4 | place as u64;
        self.lines[place] = line;
        self.tags[place] = line as u16;
        (place, std::mem::take(&mut self.visits[place]))
    }

    /// The places, that of the line that was used last at the end.
    pub fn last_to_first(&self) -> impl Iterator<Item = usize> {
        let order = self.order;
        (0..PLACES).rev().map(move |number| (order >> (4 * number) & 15) as usize)
    }

    /// A line comes first that was elsewhere before; there is a place without a line.
    pub fn insert_line(&mut self, line: u64, visit: Visit) -> usize {
        let (place, _) = self.enter(line);
        self.visits[place] = visit;
        place
    }

    /// The line at a place.
    pub fn line(&self, place: usize) -> u64 {
        self.lines[place]
    }

    /// What happened to the line at a place.
    pub fn visit(&self, place: usize) -> Visit {
        self.visits[place]
    }
}
