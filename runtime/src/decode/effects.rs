//! What an item of a segment does: one place that knows every kind.
//!
//! Takes an item with its record and its address, and tells an [`Effects`] of the bytes that are read and written and
//! of those that end, in order. Kinds that a descriptor cannot have are refused.

use crate::abi::{Item, ItemKind, item_flag};

/// Who wants to know what items do. Addresses and lengths are in bytes.
pub trait Effects {
    /// Bytes are read.
    fn load(&mut self, address: u64, len: u64);
    /// Bytes are written.
    fn store(&mut self, address: u64, len: u64);
    /// An atomic read-modify-write: a load, then a store, of the same bytes.
    fn update(&mut self, address: u64, len: u64);
    /// Bytes are read at `from` and written at `to`; the ranges may overlap.
    fn copy(&mut self, to: u64, from: u64, len: u64);
    /// Bytes are written without being read.
    fn fill(&mut self, address: u64, len: u64);
    /// The bytes end.
    fn kill(&mut self, address: u64, len: u64);
}

/// No item has this kind: the descriptor is not what the instrumentation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

/// Tells what an item of a record does.
///
/// # Errors
/// [`UnknownKind`]; nothing has been told then.
#[inline]
pub fn effects(item: &Item, record: &[u64], address: u64, to: &mut impl Effects) -> Result<(), UnknownKind> {
    let size = u64::from(item.size);
    let word = |index: u16| record[usize::from(index)];
    let dynamic = item.flags & item_flag::DYNAMIC != 0;
    let length_in = |index: u16| if dynamic { word(index) } else { size };
    let lanes = || active_lanes(word(item.word2), item.lanes);
    match ItemKind::from_number(item.kind).ok_or(UnknownKind)? {
        ItemKind::Load => to.load(address, size),
        ItemKind::Store => to.store(address, size),
        ItemKind::Update => to.update(address, size),
        ItemKind::MaskedLoad => {
            lane_runs(word(item.word2), item.lanes).for_each(|(first, n)| to.load(address + first * size, n * size));
        }
        ItemKind::MaskedStore => {
            lane_runs(word(item.word2), item.lanes).for_each(|(first, n)| to.store(address + first * size, n * size));
        }
        ItemKind::Gather => lanes().for_each(|lane| to.load(word(item.word + lane), size)),
        ItemKind::Scatter => lanes().for_each(|lane| to.store(word(item.word + lane), size)),
        ItemKind::ExpandLoad => to.load(address, size * lanes().count() as u64),
        ItemKind::CompressStore => to.store(address, size * lanes().count() as u64),
        ItemKind::Copy => to.copy(address, word(item.word2), length_in(item.lanes)),
        ItemKind::Fill => to.fill(address, length_in(item.word2)),
        ItemKind::Kill => to.kill(address, length_in(item.word2)),
        // Where the segment is, which matters to the analysis of data motion and is known before its items.
        ItemKind::Loop => {}
    }
    Ok(())
}

fn active_lanes(mask: u64, lanes: u16) -> impl Iterator<Item = u16> {
    (0..lanes.min(64)).filter(move |lane| mask >> lane & 1 == 1)
}

/// Runs of neighbouring active lanes, each one access: (first lane, lanes).
fn lane_runs(mask: u64, lanes: u16) -> impl Iterator<Item = (u64, u64)> {
    let mut rest = if lanes >= 64 { mask } else { mask & ((1 << lanes) - 1) };
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let first = rest.trailing_zeros();
        let count = (rest >> first).trailing_ones();
        rest &= (u64::MAX.checked_shl(first + count)).unwrap_or(0);
        Some((u64::from(first), u64::from(count)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_lanes_are_one_access() {
        assert_eq!(lane_runs(0b1101_1000, 8).collect::<Vec<_>>(), [(3, 2), (6, 2)]);
        assert_eq!(lane_runs(u64::MAX, 64).collect::<Vec<_>>(), [(0, 64)]);
        assert_eq!(lane_runs(0b1111, 2).collect::<Vec<_>>(), [(0, 2)]);
        assert_eq!(lane_runs(0, 16).count(), 0);
    }

    /// Writes down what it is told.
    #[derive(Default)]
    struct Told(Vec<(&'static str, u64, u64)>);

    impl Effects for Told {
        fn load(&mut self, address: u64, len: u64) {
            self.0.push(("load", address, len));
        }
        fn store(&mut self, address: u64, len: u64) {
            self.0.push(("store", address, len));
        }
        fn update(&mut self, address: u64, len: u64) {
            self.0.push(("update", address, len));
        }
        fn copy(&mut self, to: u64, from: u64, len: u64) {
            self.0.push(("copy", to, from));
            self.0.push(("bytes", to, len));
        }
        fn fill(&mut self, address: u64, len: u64) {
            self.0.push(("fill", address, len));
        }
        fn kill(&mut self, address: u64, len: u64) {
            self.0.push(("kill", address, len));
        }
    }

    #[test]
    fn what_each_kind_does() {
        let item = |kind: u8, flags: u8| Item {
            kind,
            flags,
            word: 1,
            word2: 2,
            lanes: 4,
            size: 8,
            frame: 0,
            offset: 0,
            stride: 0,
        };
        let told = |kind: u8, flags: u8, record: &[u64]| {
            let mut told = Told::default();
            effects(&item(kind, flags), record, 100, &mut told).map(|()| told.0)
        };
        let record = [0, 1000, 0b0110, 3000, 4000];
        assert_eq!(told(ItemKind::MaskedLoad as u8, 0, &record), Ok(vec![("load", 108, 16)]));
        assert_eq!(
            told(ItemKind::Scatter as u8, 0, &record),
            Ok(vec![("store", 0b0110, 8), ("store", 3000, 8)]),
            "lanes 1 and 2 have words 2 and 3"
        );
        assert_eq!(told(ItemKind::ExpandLoad as u8, 0, &record), Ok(vec![("load", 100, 16)]));
        assert_eq!(told(ItemKind::Fill as u8, item_flag::DYNAMIC, &record), Ok(vec![("fill", 100, 6)]));
        assert_eq!(
            told(ItemKind::Copy as u8, item_flag::DYNAMIC, &record),
            Ok(vec![("copy", 100, 6), ("bytes", 100, 4000)])
        );
        assert_eq!(told(ItemKind::Loop as u8, 0, &record), Ok(vec![]));
        assert_eq!(told(200, 0, &record), Err(UnknownKind));
    }
}
