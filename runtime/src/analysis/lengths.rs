//! What items of fixed size stand for, whenever they are executed: bytes, loads and stores.
//!
//! Takes items and segments; gives what an execution reads and writes, and nothing for items whose records tell.

use crate::{
    abi::{COPY_BLOCK, Item, ItemKind, item_flag},
    decode::locator::SegmentNumber,
};

/// What each execution of an item reads and writes, and how many loads and stores that is; nothing for items whose
/// records tell.
pub(super) fn each(item: &Item) -> Option<(u64, u64, u64)> {
    let size = u64::from(item.size);
    let blocks = size.div_ceil(COPY_BLOCK);
    let is_dynamic = item.flags & item_flag::DYNAMIC != 0;
    match ItemKind::from_number(item.kind)? {
        ItemKind::Kill | ItemKind::Loop => Some((0, 0, 0)),
        // A call site's, too: its events tell.
        _ if is_dynamic => None,
        ItemKind::Load => Some((size, 0, 1)),
        ItemKind::Store => Some((0, size, 1)),
        ItemKind::Update => Some((size, size, 2)),
        ItemKind::Fill => Some((0, size, blocks)),
        ItemKind::Copy => Some((size, size, 2 * blocks)),
        _ => None,
    }
}

/// Loads and stores of items; nothing if records tell how many there are.
pub(super) fn accesses_of(items: &[Item]) -> Option<u64> {
    items.iter().try_fold(0, |sum, item| Some(sum + each(item)?.2))
}

/// Loads and stores of segments, as far as they were asked for.
#[derive(Default)]
pub(super) struct Lengths(Vec<Length>);

#[derive(Clone, Copy, Default)]
enum Length {
    #[default]
    Unknown,
    Known(u64),
    /// Records tell.
    Told,
}

impl Lengths {
    #[inline]
    pub(super) fn get(&mut self, segment: SegmentNumber, items: &[Item]) -> Option<u64> {
        match self.0.get(segment.index()) {
            Some(Length::Known(accesses)) => Some(*accesses),
            Some(Length::Told) => None,
            Some(Length::Unknown) | None => self.learn(segment, items),
        }
    }

    #[cold]
    fn learn(&mut self, segment: SegmentNumber, items: &[Item]) -> Option<u64> {
        if self.0.len() <= segment.index() {
            self.0.resize(segment.index() + 1, Length::Unknown);
        }
        let accesses = accesses_of(items);
        self.0[segment.index()] = accesses.map_or(Length::Told, Length::Known);
        accesses
    }
}

/// Whether an item of fixed size is a load, a store, or both, of one place.
pub(super) fn is_one_access(item: &Item) -> bool {
    [ItemKind::Load, ItemKind::Store, ItemKind::Update].into_iter().any(|kind| item.kind == kind as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::program::item;

    #[test]
    fn an_execution_reads_and_writes_what_its_kind_says() {
        let of = |kind, size| each(&item(kind, 1, 0, size));
        assert_eq!(of(ItemKind::Load, 8), Some((8, 0, 1)));
        assert_eq!(of(ItemKind::Store, 8), Some((0, 8, 1)));
        assert_eq!(of(ItemKind::Update, 4), Some((4, 4, 2)));
        assert_eq!(of(ItemKind::Kill, 100), Some((0, 0, 0)), "nothing is accessed");
        assert_eq!(of(ItemKind::Gather, 8), None, "its mask tells");
    }

    #[test]
    fn copies_and_fills_are_accesses_of_blocks_and_of_a_rest() {
        let blocks = |kind, size| each(&item(kind, 1, 0, size)).map(|(.., accesses)| accesses);
        let block = COPY_BLOCK as u32;
        for (size, count) in [(0, 0), (1, 1), (block, 1), (block + 1, 2), (3 * block, 3)] {
            assert_eq!(blocks(ItemKind::Fill, size), Some(count), "{size} B are written");
            assert_eq!(blocks(ItemKind::Copy, size), Some(2 * count), "{size} B are read and written");
        }
        assert_eq!(each(&item(ItemKind::Copy, 1, 0, 65)).map(|(read, written, _)| (read, written)), Some((65, 65)));
    }

    #[test]
    fn one_item_whose_records_tell_is_enough_for_nothing_to_be_known() {
        let known = [item(ItemKind::Load, 1, 0, 8), item(ItemKind::Update, 1, 8, 8)];
        assert_eq!(accesses_of(&known), Some(3));
        let dynamic = Item { flags: item_flag::DYNAMIC, ..item(ItemKind::Copy, 1, 0, 0) };
        assert_eq!(accesses_of(&[known[0], dynamic, known[1]]), None);
        let mut lengths = Lengths::default();
        // A segment is asked for before those with lower numbers; the second time nobody looks at its items.
        for items in [&known[..], &[]] {
            assert_eq!(lengths.get(SegmentNumber::new(3), items), Some(3));
        }
        for items in [&[dynamic][..], &[]] {
            assert_eq!(lengths.get(SegmentNumber::new(1), items), None);
        }
        assert_eq!(lengths.get(SegmentNumber::new(2), &known[..1]), Some(1), "between known ones");
    }

    #[test]
    fn loads_stores_and_updates_are_of_one_place() {
        let is_one = |kind| is_one_access(&item(kind, 1, 0, 8));
        assert!([ItemKind::Load, ItemKind::Store, ItemKind::Update].into_iter().all(is_one));
        assert!(![ItemKind::Copy, ItemKind::Fill, ItemKind::Kill, ItemKind::Gather].into_iter().any(is_one));
    }
}
