//! What a segment has the engine do, if that is the same each time but for addresses.
//!
//! Most segments are loads and stores of fixed sizes. Everything but their addresses is known when the descriptors are
//! read, so that a record only adds words and offsets; what segments write, and reads on the top of the stack, follow
//! from the number of executions. Takes tables of descriptors in the order of their numbers; segments with anything
//! else have no moves.

use std::ops::Range;

use crate::{
    abi::{Item, ItemKind, SegmentKind},
    decode::{block::CellNumber, locator::SegmentNumber},
    engine::{Access, AccessTag, Kind},
    sites::{ON_TOP, Segment, SiteTable},
};

/// Which accesses to the top of the stack, which change nothing there, are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Skips {
    pub loads: bool,
    pub stores: bool,
}

impl Skips {
    #[inline]
    #[must_use]
    pub fn over(self, item: &Item) -> bool {
        item.flags & ON_TOP != 0 && if item.kind == ItemKind::Load as u8 { self.loads } else { self.stores }
    }
}

/// One access of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    offset: i64,
    len: u32,
    word: u16,
    /// Number of the item in its segment.
    item: u16,
    /// That of the last store to the same bytes right after it, which is left out, plus one; 0 if there is none.
    again: u16,
    kind: Kind,
}

impl Move {
    #[inline(always)]
    pub fn access(&self, record: &[u64]) -> Access {
        let addr = record[usize::from(self.word)].wrapping_add_signed(self.offset);
        Access { addr, len: self.len, kind: self.kind }
    }

    /// Its label, where the segment's first item has this cell.
    #[inline(always)]
    pub fn label(&self, first: CellNumber) -> AccessTag {
        AccessTag::for_cell(first.after(self.item.into()))
    }

    /// The label of the last store to the same bytes right after it, if there is one that is left out.
    #[inline(always)]
    pub fn stored_again(&self, first: CellNumber) -> Option<AccessTag> {
        Some(AccessTag::for_cell(first.after(self.again.checked_sub(1)?.into())))
    }
}

/// The moves of all segments of a ring, by the ring's numbers of segments.
pub struct Moves {
    list: Vec<Move>,
    ranges: Vec<Option<Range<u32>>>,
    skips: Skips,
}

impl Moves {
    #[must_use]
    pub fn new(skips: Skips) -> Self {
        Moves { list: Vec::new(), ranges: Vec::new(), skips }
    }

    /// Adds the segments of the next module.
    pub fn add(&mut self, table: &SiteTable) {
        for segment in &table.segments {
            let moves = self.segment(segment, table);
            self.ranges.push(moves);
        }
    }

    fn segment(&mut self, segment: &Segment, table: &SiteTable) -> Option<Range<u32>> {
        let items = &table.items[segment.items.start as usize..segment.items.end as usize];
        let is_plain = |item: &Item| item.kind == ItemKind::Load as u8 || item.kind == ItemKind::Store as u8;
        if segment.kind != SegmentKind::Block as u8 || !items.iter().all(is_plain) {
            return None;
        }
        let start = self.list.len() as u32;
        for (item, number) in items.iter().zip(0..) {
            if self.leaves_out(item) {
                if let Some(before) = self.list.last_mut().filter(|_| item.kind == ItemKind::Store as u8) {
                    before.again = number + 1;
                }
                continue;
            }
            let kind = if item.kind == ItemKind::Load as u8 { Kind::Load } else { Kind::Store };
            self.list.push(Move { offset: item.offset, len: item.size, word: item.word, item: number, again: 0, kind });
        }
        Some(start..self.list.len() as u32)
    }

    /// The moves of a segment, if it has nothing else.
    #[inline]
    #[must_use]
    pub fn moves_of(&self, segment: SegmentNumber) -> Option<&[Move]> {
        let range = self.ranges[segment.index()].clone()?;
        Some(&self.list[range.start as usize..range.end as usize])
    }

    /// Where these are in the list of all.
    #[must_use]
    pub fn range(&self, segment: SegmentNumber) -> Option<Range<u32>> {
        self.ranges[segment.index()].clone()
    }

    /// What is there.
    #[inline(always)]
    #[must_use]
    pub fn range_at(&self, first: u32, count: u16) -> &[Move] {
        &self.list[first as usize..first as usize + usize::from(count)]
    }

    /// Whether an item of a segment with moves is none of them.
    #[inline]
    #[must_use]
    pub fn leaves_out(&self, item: &Item) -> bool {
        self.skips.over(item)
    }
}
