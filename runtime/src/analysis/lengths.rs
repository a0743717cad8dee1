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
