//! Counts hazards by cell, of a ring or of parts of it.
//!
//! Takes accesses with their cells. A part of a run counts from its [`WINDOW`]th access on, keeps those before as they
//! are, and leaves its last stores, so that whoever knows what came before counts the rest.

use serde::{Deserialize, Serialize};

use super::{
    kinds::KINDS,
    touch::{RecentStores, Touch, WINDOW},
};
use crate::{
    counts::{Merge, cell::CellCounters, pairs::CellPairs},
    decode::block::CellNumber,
    engine::Access,
    observe::{observer::Observer, writer::UNKNOWN},
    oplog::Op,
};

/// The hazards of one ring.
#[derive(Default)]
pub struct Hazards {
    before: RecentStores,
    /// By cell, and by kind in that.
    counts: Vec<Option<Box<[u64]>>>,
    /// Of a part of a run: its first accesses.
    first: Option<Vec<Uncounted>>,
}

/// An access, and its cell or [`UNKNOWN`].
type Uncounted = (Touch, CellNumber);

/// What a part of a run asks of the run before it, and leaves.
#[derive(Debug, Serialize, Deserialize)]
pub struct HazardBoundary {
    /// The first accesses, which are not counted yet.
    first: Vec<Uncounted>,
    last: RecentStores,
}

impl Hazards {
    #[inline]
    fn access(&mut self, access: Access, cell: CellNumber) {
        if let Some(touch) = Touch::from_access(access) {
            self.touch(touch, if cell.index() < self.counts.len() { cell } else { UNKNOWN });
        }
    }

    #[inline]
    fn touch(&mut self, touch: Touch, cell: CellNumber) {
        match &mut self.first {
            Some(first) if first.len() < WINDOW => first.push((touch, cell)),
            _ => self.count(touch, cell),
        }
        self.before.pass(touch);
    }

    #[inline]
    fn count(&mut self, touch: Touch, cell: CellNumber) {
        let Some(counts) = self.counts.get_mut(cell.index()) else { return };
        for (kind, (_, is_one)) in KINDS.iter().enumerate() {
            if is_one(touch, &self.before) {
                counts.get_or_insert_with(|| [0; KINDS.len()].into())[kind] += 1;
            }
        }
    }
}

impl Observer for Hazards {
    type Part = HazardBoundary;

    fn op(&mut self, op: Op<'_>) {
        op.each_access(|access, label| self.access(access, label.cell()));
    }

    fn set_known(&mut self, cells: usize) {
        if cells > self.counts.len() {
            self.counts.resize_with(cells, || None);
        }
    }

    fn heap_bytes(&self) -> u64 {
        let some = self.counts.iter().flatten().count() * KINDS.len();
        (self.counts.capacity() * size_of::<Option<Box<[u64]>>>() + some * size_of::<u64>()) as u64
    }

    fn finish(self, cells: &mut [CellCounters], _: (usize, usize)) -> CellPairs {
        for (cell, counts) in cells.iter_mut().zip(self.counts) {
            cell.hazards.merge(&counts);
        }
        CellPairs::default()
    }

    fn start_parts(&mut self) {
        self.first = Some(Vec::new());
    }

    fn cut(&mut self) -> HazardBoundary {
        let first = self.first.replace(Vec::new()).unwrap_or_default();
        HazardBoundary { first, last: std::mem::take(&mut self.before) }
    }

    fn continuing(part: &HazardBoundary) -> Self {
        let mut both = Self { first: Some(Vec::new()), ..Self::default() };
        both.resolve(part, |cell| cell);
        both
    }

    fn resolve(&mut self, part: &HazardBoundary, mut number: impl FnMut(CellNumber) -> CellNumber) {
        for (touch, cell) in &part.first {
            let mut cell = *cell;
            if cell != UNKNOWN {
                cell = number(cell);
                self.set_known(cell.index() + 1);
            }
            self.touch(*touch, cell);
        }
        // Those behind the first were counted, and there are enough to know all that comes before the next.
        if part.first.len() == WINDOW {
            self.before.clone_from(&part.last);
        }
    }

    fn is_sound(part: &HazardBoundary, cells: usize) -> bool {
        let is_sound = |(touch, cell): &Uncounted| touch.is_sound() && (cell.index() < cells || *cell == UNKNOWN);
        part.first.len() <= WINDOW && part.first.iter().all(is_sound) && part.last.are_sound()
    }

    fn fits(&self, _: &HazardBoundary) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_part_asks_is_sound_if_its_accesses_and_cells_can_be_there() {
        let touch = |len| Touch { addr: 64, len, is_store: true };
        let sound = |first: Vec<Uncounted>, last: &RecentStores| {
            Hazards::is_sound(&HazardBoundary { first, last: last.clone() }, 2)
        };
        let none = RecentStores::default();
        let cell = CellNumber::new;
        assert!(sound(vec![], &none) && sound(vec![(touch(8), cell(1)), (touch(1), UNKNOWN)], &none));
        assert!(sound(vec![(touch(8), cell(0)); WINDOW], &none));
        assert!(!sound(vec![(touch(8), cell(0)); WINDOW + 1], &none), "more than wait");
        assert!(!sound(vec![(touch(8), cell(2))], &none), "there is no such cell");
        assert!(!sound(vec![(touch(0), cell(0))], &none) && !sound(vec![(touch(0), UNKNOWN)], &none));
        // Stores without accesses.
        let stores = postcard::from_bytes(&postcard::to_stdvec(&(vec![(5u64, touch(8))], 0u64)).expect("bytes"));
        assert!(!sound(vec![], &stores.expect("stores")));
    }
}
