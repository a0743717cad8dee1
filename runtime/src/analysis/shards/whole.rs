//! The stack of all slices that were resolved, those who observe beside it, and what slices found on it.
//!
//! Takes boundaries of slices in the order of the run; gives, by part and cell, what was found below them.

use super::super::{
    boundaries::Boundaries,
    engine_slot::EngineSlot,
    fast_paths::{DepthHash, FastPaths},
    pipeline::sinks::file_found,
};
use crate::{
    counts::{cell::CellCounters, depths::DepthCounts, many::Many},
    decode::block::CellNumber,
    engine::Reports,
    observe::{attribution::Files, beside::Observers, flows::FlowCounters},
};

pub struct Whole {
    pub engine_slot: EngineSlot,
    /// They go on behind a slice by themselves, as its cells have other numbers for them.
    pub beside: Observers,
    /// By number of the part.
    pub found: Vec<PrefixHits>,
    /// Depths of first touches.
    pub cold: DepthCounts,
    has_hash: bool,
    reports: Reports,
    many: Many<CellNumber>,
}

/// What one part's slices found below them, by cell of the part.
#[derive(Default)]
pub struct PrefixHits {
    pub cells: Vec<CellCounters>,
    /// By flow of the part, if these are followed.
    pub flows: FlowCounters,
    pub hash: Option<DepthHash>,
}

impl Whole {
    #[must_use]
    pub fn new(engine_slot: EngineSlot, beside: Observers, has_hash: bool) -> Self {
        let (reports, many) = (Reports::default(), Many::default());
        Self { engine_slot, beside, found: Vec::new(), cold: DepthCounts::default(), has_hash, reports, many }
    }

    /// Behind a slice that was not resolved: what this leaves, and asks, is of both.
    #[must_use]
    pub fn continuing(slice: Boundaries) -> Self {
        let mut engine_slot = EngineSlot::new(&FastPaths::default());
        engine_slot.engine_mut().go_on_with_slice(slice.bytes);
        Self::new(engine_slot, Observers::continuing(&slice.beside), false)
    }

    /// Ends that slice.
    pub fn cut(&mut self) -> Boundaries {
        Boundaries { bytes: self.engine_slot.engine_mut().end_slice(), beside: self.beside.cut(), flows: None }
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.engine_slot.engine().heap_bytes() + self.beside.heap_bytes()
    }

    /// Goes on behind a slice of a part that has so many cells by now; its flows, if they are followed, are taken.
    pub fn resolve(&mut self, slice: &mut Boundaries, part: usize, cells: usize) {
        let mut flows = slice.flows.take();
        if self.found.len() <= part {
            self.found.resize_with(part + 1, PrefixHits::default);
        }
        let below = &mut self.found[part];
        below.cells.resize_with(cells, CellCounters::default);
        if let Some(asked) = &flows {
            below.flows.grow(asked.flows);
        }
        if self.has_hash {
            below.hash.get_or_insert_default();
        }
        let (cold, many) = (&mut self.cold, &mut self.many);
        self.engine_slot.engine_mut().resolve(&slice.bytes, &mut self.reports, |reports| {
            let mut files = Files::new(&mut below.cells, cold);
            let flows = flows.as_mut().map(|asked| (asked, &mut below.flows));
            file_found(reports, flows, below.hash.as_mut(), many, &mut files);
            reports.clear();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::{Access, AccessTag, Kind},
        oplog::Op,
    };

    /// What a part leaves that did these accesses of 8 bytes, and asks.
    fn slice(accesses: &[(u64, Kind, usize)]) -> Boundaries {
        let mut slot = EngineSlot::new(&FastPaths::default());
        slot.engine_mut().start_slice();
        let labels: Vec<_> = accesses.iter().map(|&(.., cell)| AccessTag::new(cell)).collect();
        let accesses: Vec<_> = accesses.iter().map(|&(addr, kind, _)| Access { addr, len: 8, kind }).collect();
        slot.op(Op::accesses(&accesses, &labels), &mut Reports::default());
        Boundaries { bytes: slot.engine_mut().end_slice(), ..Boundaries::default() }
    }

    fn whole() -> Whole {
        Whole::new(EngineSlot::new(&FastPaths::default()), Observers::default(), false)
    }

    /// By cell of a part: bytes of first touches, and the price of all that was read.
    fn found(whole: &mut Whole, part: usize) -> Vec<(u64, u128)> {
        let cells = &mut whole.found[part].cells;
        cells.iter_mut().for_each(CellCounters::flush);
        cells.iter().map(|cell| (cell.cold, cell.cost)).collect()
    }

    fn first() -> Boundaries {
        slice(&[(0, Kind::Store, 0), (100, Kind::Load, 1)])
    }

    /// Reads what the first one wrote, then what nobody has touched.
    fn second() -> Boundaries {
        slice(&[(0, Kind::Load, 2), (200, Kind::Load, 0)])
    }

    /// Reads what the first one read, above which are 16 bytes of the second.
    fn third() -> Boundaries {
        slice(&[(100, Kind::Load, 1)])
    }

    /// ceil(sqrt(depth)) of 9 to 16, and of 17 to 24.
    const BELOW_8: u128 = 3 + 7 * 4;
    const BELOW_16: u128 = 8 * 5;

    #[test]
    fn what_slices_find_below_them_goes_to_the_cells_of_their_part() {
        let mut whole = whole();
        whole.resolve(&mut first(), 1, 2);
        assert_eq!(whole.found.len(), 2, "a part before it has nothing yet");
        assert_eq!(found(&mut whole, 1), [(0, 0), (8, BELOW_8)]);
        whole.resolve(&mut second(), 0, 3);
        assert_eq!(found(&mut whole, 0), [(8, BELOW_16), (0, 0), (0, BELOW_8)]);
        whole.resolve(&mut third(), 1, 4);
        assert_eq!(
            found(&mut whole, 1),
            [(0, 0), (8, BELOW_8 + BELOW_16), (0, 0), (0, 0)],
            "the part has more cells by now"
        );
        assert_eq!(whole.cold.iter().map(|(_, bytes)| bytes).sum::<u64>(), 16);
        assert_eq!(whole.engine_slot.engine().footprint(), 24);
    }

    #[test]
    fn two_neighbours_as_one_ask_and_leave_what_they_do_one_by_one() {
        let mut both = Whole::continuing(second());
        both.resolve(&mut third(), 0, 2);
        assert_eq!(found(&mut both, 0), [(0, 0), (0, 0)], "the second one does not know it either");
        let mut whole = whole();
        whole.resolve(&mut first(), 0, 2);
        whole.resolve(&mut both.cut(), 1, 3);
        assert_eq!(found(&mut whole, 1), [(8, BELOW_16), (0, BELOW_16), (0, BELOW_8)]);
        let mut behind = Whole::continuing(first());
        behind.resolve(&mut second(), 0, 3);
        assert_eq!(found(&mut behind, 0)[2], (0, BELOW_8), "the first one knows");
    }

    #[test]
    fn an_empty_slice_changes_nothing() {
        let mut whole = whole();
        whole.resolve(&mut slice(&[]), 0, 0);
        whole.resolve(&mut first(), 0, 2);
        whole.resolve(&mut slice(&[]), 0, 2);
        whole.resolve(&mut third(), 0, 2);
        assert_eq!(found(&mut whole, 0), [(0, 0), (8, BELOW_8 + 1 + 3 * 2 + 4 * 3)], "at the top");
    }
}
