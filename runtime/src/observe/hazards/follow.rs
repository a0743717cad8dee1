//! Counts hazards by cell, of a ring or of parts of it.
//!
//! Takes accesses with their cells. A part of a run counts from its [`WINDOW`]th access on, keeps those before as they
//! are, and leaves its last ones, so that whoever knows what came before counts the rest.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{
    kinds::{Kinds, NAMES},
    touch::{LONGEST, Touch, WINDOW},
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
    kinds: Kinds,
    /// By cell, and by kind in that.
    counts: Vec<Option<Box<[u64]>>>,
    part: Option<HazardBoundary>,
}

/// What a part of a run asks of the run before it, and leaves.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct HazardBoundary {
    /// The first accesses, which are not counted yet.
    first: Vec<PlainTouch>,
    /// Of which cells they are, or [`UNKNOWN`].
    cells: Vec<u32>,
    /// The last accesses, the first ones among them if there are no others.
    last: VecDeque<PlainTouch>,
}

/// Address, bytes, and whether it is a store.
type PlainTouch = (u64, u32, bool);

fn plain(Touch { addr, len, is_store }: Touch) -> PlainTouch {
    (addr, len, is_store)
}

fn touch((addr, len, is_store): PlainTouch) -> Touch {
    Touch { addr, len, is_store }
}

impl HazardBoundary {
    /// Takes down an access; false once it is to be counted.
    fn keeps(&mut self, touch: Touch, cell: CellNumber) -> bool {
        if self.last.len() == WINDOW {
            self.last.pop_front();
        }
        self.last.push_back(plain(touch));
        let is_first = self.first.len() < WINDOW;
        if is_first {
            self.first.push(plain(touch));
            self.cells.push(cell.index() as u32);
        }
        is_first
    }
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
        let is_kept = self.part.as_mut().is_some_and(|part| part.keeps(touch, cell));
        let counts = self.counts.get_mut(cell.index()).filter(|_| !is_kept);
        match counts {
            Some(counts) => self.kinds.each(touch, |kind| {
                counts.get_or_insert_with(|| vec![0; NAMES.len()].into())[kind] += 1;
            }),
            None => self.kinds.each(touch, |_| ()),
        }
    }
}

impl Observer for Hazards {
    type Part = HazardBoundary;

    fn op(&mut self, op: Op<'_>) {
        match op {
            Op::Accesses { accesses, labels } => {
                accesses.iter().zip(labels).for_each(|(access, label)| self.access(*access, label.cell()));
            }
            Op::Run { streams, labels, iterations } => {
                for iteration in 0..iterations {
                    for (stream, label) in streams.iter().zip(labels) {
                        self.access(stream.access(iteration), label.cell());
                    }
                }
            }
            _ => {}
        }
    }

    fn set_known(&mut self, cells: usize) {
        if cells > self.counts.len() {
            self.counts.resize_with(cells, || None);
        }
    }

    fn heap_bytes(&self) -> u64 {
        let some = self.counts.iter().flatten().count() * NAMES.len();
        (self.counts.capacity() * size_of::<Option<Box<[u64]>>>() + some * size_of::<u64>()) as u64
    }

    fn finish(self, cells: &mut [CellCounters], _: (usize, usize)) -> CellPairs {
        for (cell, counts) in cells.iter_mut().zip(self.counts) {
            cell.hazards.merge(&counts);
        }
        CellPairs::default()
    }

    fn start_parts(&mut self) {
        self.part = Some(HazardBoundary::default());
    }

    fn cut(&mut self) -> HazardBoundary {
        self.kinds = Kinds::default();
        self.part.replace(HazardBoundary::default()).unwrap_or_default()
    }

    fn continuing(part: &HazardBoundary) -> Self {
        let mut both = Self { part: Some(HazardBoundary::default()), ..Self::default() };
        both.resolve(part, |cell| cell);
        both
    }

    fn resolve(&mut self, part: &HazardBoundary, mut number: impl FnMut(CellNumber) -> CellNumber) {
        for (first, cell) in part.first.iter().zip(&part.cells) {
            let mut cell = CellNumber::new(*cell as usize);
            if cell != UNKNOWN {
                cell = number(cell);
                self.set_known(cell.index() + 1);
            }
            self.touch(touch(*first), cell);
        }
        // What was kept is known; the rest was counted, and goes before what comes.
        if part.first.len() == WINDOW {
            part.last.iter().for_each(|last| self.touch(touch(*last), UNKNOWN));
        }
    }

    fn is_sound(part: &HazardBoundary, cells: usize) -> bool {
        let is_cell = |cell: &u32| (*cell as usize) < cells || *cell as usize == UNKNOWN.index();
        let is_touch = |(_, len, _): &PlainTouch| (1..=LONGEST).contains(len);
        part.first.len() <= WINDOW
            && part.last.len() == part.first.len()
            && part.cells.len() == part.first.len()
            && part.cells.iter().all(is_cell)
            && part.first.iter().chain(&part.last).all(is_touch)
    }

    fn fits(&self, _: &HazardBoundary) -> bool {
        true
    }
}
