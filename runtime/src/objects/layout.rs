//! Which object lies where, and where in large blocks the reads go.
//!
//! Takes the numbers of objects with the memory that they begin to fill or leave, and reads; gives the object at an
//! address. Memory that was freed is of [`NOTHING`] until it is handed out again. Refuses nothing.

use super::{
    extents::{Extents, LargeBlocks, Parts},
    map::{AddressMap, NOTHING, ObjectNumber},
    starts::Starts,
};
use crate::engine::{Kind, Stream};

/// What lies where.
#[derive(Default)]
pub struct Layout {
    pub(super) map: AddressMap,
    pub(super) extents: Extents,
    /// Where blocks begin, if that is to be known.
    starts: Option<Box<Starts>>,
}

/// What lies where, at one place of a run. It shares its memory with what it is a copy of.
#[derive(Clone, Default)]
pub struct LayoutSnapshot {
    pub(super) map: AddressMap,
    pub(super) large: LargeBlocks,
}

impl Layout {
    /// Keeps where blocks begin, from now on.
    pub fn keep_starts(&mut self) {
        self.starts = Some(Box::default());
    }

    /// Where the block, mapping or variable around an address begins, if that is kept and known.
    #[must_use]
    pub fn start_of(&self, address: u64) -> Option<u64> {
        self.starts.as_ref()?.start_of(address)
    }

    /// Number of the object at an address.
    #[inline]
    pub fn object_at(&mut self, address: u64) -> ObjectNumber {
        self.map.number_at(address)
    }

    /// Number of the object that a whole range belongs to, if it is one.
    pub fn object_of(&mut self, address: u64, len: u64) -> Option<ObjectNumber> {
        self.map.number_of(address, len)
    }

    /// Number of the object that a row of accesses goes to, if it is one.
    pub fn whole_stream(&mut self, stream: &Stream, accesses: u64) -> Option<ObjectNumber> {
        let travelled = stream.stride.unsigned_abs().checked_mul(accesses.checked_sub(1)?)?;
        let low = if stream.stride < 0 { stream.addr.checked_sub(travelled)? } else { stream.addr };
        self.object_of(low, travelled + u64::from(stream.len))
    }

    /// Memory belongs to an object from now on, as one block; to [`NOTHING`] when it ends.
    pub(super) fn fill(&mut self, address: u64, len: u64, number: ObjectNumber) {
        self.map.fill(address, len, number);
        if number == NOTHING {
            self.extents.end(address, len);
        } else {
            self.extents.start(address, len, number);
        }
        match &mut self.starts {
            Some(starts) if number == NOTHING => starts.end(address, len),
            Some(starts) => starts.begin(address, len),
            None => {}
        }
    }

    /// Counts a read of an object by its place in its block.
    #[inline]
    pub fn read(&mut self, object: ObjectNumber, address: u64, len: u64) {
        self.extents.read(object, address, len);
    }

    /// Counts a row of reads of an object by their places in its block.
    pub fn reads(&mut self, object: ObjectNumber, stream: &Stream, times: u64) {
        self.extents.reads(object, stream, times);
    }

    /// Counts the reads of rows of accesses, of which each row goes to one object, by their places in its block.
    pub fn read_rows(&mut self, streams: &[Stream], times: u64) {
        for stream in streams.iter().filter(|stream| stream.kind == Kind::Load && times > 0) {
            let object = self.object_at(stream.addr);
            self.reads(object, stream, times);
        }
    }

    /// What lies where now.
    #[must_use]
    pub fn snapshot(&self) -> LayoutSnapshot {
        LayoutSnapshot { map: self.map.clone(), large: self.extents.live() }
    }

    /// Goes on from a snapshot.
    pub fn restore(&mut self, snapshot: LayoutSnapshot) {
        let LayoutSnapshot { map, large } = snapshot;
        self.map = map;
        self.extents.set_live(large);
    }

    /// What was read of parts of large blocks.
    #[must_use]
    pub fn into_reads(self) -> Vec<(ObjectNumber, Parts)> {
        self.extents.into_reads()
    }

    /// Adds what was read of them in a slice.
    pub fn add_reads(&mut self, reads: &[(ObjectNumber, Parts)]) {
        self.extents.add(reads);
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.map.heap_bytes() + self.extents.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    const BLOCK: ObjectNumber = ObjectNumber::new(3);
    const OTHER: ObjectNumber = ObjectNumber::new(5);

    /// A block of 64 KiB at 1 MiB, and another right behind it.
    fn two_blocks() -> Layout {
        let mut layout = Layout::default();
        layout.fill(1 << 20, 1 << 16, BLOCK);
        layout.fill((1 << 20) + (1 << 16), 1 << 16, OTHER);
        layout
    }

    fn loads(addr: u64, stride: i64, len: u32) -> Stream {
        Stream { addr, stride, len, kind: Kind::Load }
    }

    /// By part of a 64th: bytes read of the block.
    fn reads(layout: Layout) -> Vec<(usize, u64)> {
        let reads = layout.into_reads();
        let found = reads.iter().filter(|(object, _)| *object == BLOCK).flat_map(|(_, parts)| parts.iter().enumerate());
        found.filter(|(_, bytes)| **bytes > 0).map(|(part, bytes)| (part, *bytes)).collect()
    }

    #[test]
    fn a_stream_is_of_one_object_if_its_first_and_last_byte_are() {
        let mut layout = two_blocks();
        let end = (1 << 20) + (1 << 16);
        let whole = |layout: &mut Layout, stream, accesses| layout.whole_stream(&stream, accesses);
        assert_eq!(whole(&mut layout, loads(1 << 20, 8, 8), 8192), Some(BLOCK));
        assert_eq!(whole(&mut layout, loads(1 << 20, 8, 8), 8193), None, "the last one is in the other block");
        assert_eq!(whole(&mut layout, loads(1 << 20, 8, 16), 8192), None, "the last one reaches into it");
        assert_eq!(whole(&mut layout, loads(end - 8, -8, 8), 8192), Some(BLOCK), "downwards");
        assert_eq!(whole(&mut layout, loads(end - 8, -8, 8), 8193), None);
        assert_eq!(whole(&mut layout, loads(end, 8, 8), 1), Some(OTHER));
        assert_eq!(whole(&mut layout, loads(end - 8, 0, 8), 1000), Some(BLOCK), "always the same bytes");
    }

    #[test]
    fn reads_of_rows_go_to_the_parts_of_their_blocks() {
        let mut layout = two_blocks();
        let store = Stream { kind: Kind::Store, ..loads(1 << 20, 8, 8) };
        layout.read_rows(&[loads(1 << 20, 1024, 4), store], 3);
        layout.read_rows(&[loads((1 << 20) + 4096, 8, 8)], 0);
        layout.read(BLOCK, (1 << 20) + 63 * 1024, 2);
        layout.read(OTHER, (1 << 20) + (1 << 16), 2);
        let mut elsewhere = two_blocks();
        elsewhere.add_reads(&layout.into_reads());
        assert_eq!(reads(elsewhere), [(0, 4), (1, 4), (2, 4), (63, 2)]);
    }

    #[test]
    fn what_ends_is_nothing_and_is_not_read_any_more() {
        let mut layout = two_blocks();
        layout.read(BLOCK, 1 << 20, 8);
        layout.fill(1 << 20, 1 << 16, NOTHING);
        layout.read(BLOCK, 1 << 20, 8);
        assert_eq!(layout.object_at(1 << 20), NOTHING);
        assert_eq!(reads(layout), [(0, 8)]);
    }

    #[test]
    fn a_snapshot_has_what_lies_where() {
        let mut layout = two_blocks();
        let snapshot = layout.snapshot();
        layout.fill(1 << 20, 1 << 17, NOTHING);
        layout.restore(snapshot);
        layout.read(BLOCK, 1 << 20, 8);
        assert_eq!((layout.object_at(1 << 20), layout.object_of(1 << 20, 1 << 17)), (BLOCK, None));
        assert_eq!(reads(layout), [(0, 8)]);
    }

    #[test]
    fn a_layout_tells_what_it_holds() {
        let layout = |len: u64| {
            let make = move || {
                let mut layout = Layout::default();
                (0..3000).for_each(|block| layout.fill(block << 16, len, BLOCK));
                layout
            };
            tells_what_it_holds(make, Layout::heap_bytes);
        };
        [8, 1 << 13].into_iter().for_each(layout);
    }
}
