//! The two passes of exact liveness over a ring that was cut into slices, each on many processors.
//!
//! First a sweep goes back over what slices asked (`asked`), which is little, and marks what each slice has to know of
//! what comes after it. Then slices are swept and replayed side by side, and resolved in order, as in the pass before.
//!
//! Takes operations and what was asked, slice by slice; gives depths without dead bytes. Refuses a temporary file that
//! cannot be written or read.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    super::{
        boundaries::Boundaries,
        shards::{
            pool::Pool,
            turns::{Slices, Turns},
            whole::{PrefixHits, Whole},
        },
    },
    analyse::{go_back, go_both_ways, sweep_back},
    asked::{asked, known},
    forward::Forward,
    result::Exact,
};
use crate::{
    decode::block::CellNumber,
    engine::{AccessTag, Boundary},
    observe::{
        beside::Observers,
        liveness::{marks::Marks, sweep::Sweep},
    },
    oplog::{BlockLocation, Ops, Recorded},
};

/// What a slice did, with the numbers that its part gave cells, and what it asked and knows.
pub struct SliceLog {
    ops: Recorded,
    asked: Recorded,
    known: Recorded,
    part: usize,
}

impl SliceLog {
    /// Writes down what a slice of a part asked and knows.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn new(ops: Recorded, boundary: &Boundary, part: usize) -> io::Result<Self> {
        let (asked, known) = (asked(boundary, &ops.spool)?, known(boundary, &ops.spool)?);
        Ok(Self { ops, asked, known, part })
    }
}

/// A whole ring.
pub struct SlicedLog {
    /// What came before the first slice.
    pub first: Recorded,
    pub slices: Vec<SliceLog>,
    /// By part: the numbers that its cells have in the ring.
    pub numbers: Vec<Vec<CellNumber>>,
}

impl SlicedLog {
    /// Sweeps back and replays.
    ///
    /// # Errors
    /// When the temporary file cannot be written (a full disk, for instance) or read.
    pub fn analyse(self, cells: usize, pool: &Arc<Pool>) -> io::Result<Exact> {
        let all = self.slices.iter().map(|slice| &slice.ops).chain([&self.first]);
        let outputs: Vec<(u64, u64)> = all.flat_map(|ops| &ops.outputs).copied().collect();
        let mut sweep = Sweep::new(&outputs);
        let futures = self.futures(&mut sweep)?;
        let mut first = Forward::new(cells);
        go_both_ways(&self.first, &mut sweep, &mut first, false, |_| {})?;

        let whole = Whole::new(first.lend(), Observers::default(), false);
        let (count, passes) = (self.slices.len(), Passes { log: self, futures, cells, error: Mutex::default() });
        let mut turns = Turns::new(passes, whole, pool);
        for slice in 0..count {
            turns.wait_for_room();
            turns.submit(slice);
        }
        turns.wait();
        let (parts, Whole { engine_slot, found, cold, .. }) = turns.finish();
        if let Some(error) = turns.slices().error().take() {
            return Err(error);
        }
        first.give_back(engine_slot);
        let mut exact = first.finish();
        for (forward, swept) in parts {
            exact.absorb(Exact { sweep_bytes: swept, ..forward.finish() });
        }
        for PrefixHits { cells, .. } in found {
            exact.absorb(Exact { cells, ..Exact::default() });
        }
        exact.cold.merge(&cold);
        exact.sweep_bytes += sweep.heap_bytes();
        Ok(exact)
    }

    /// Goes back over what slices asked; gives marks of what each has to know of what comes after it.
    fn futures(&self, sweep: &mut Sweep) -> io::Result<Vec<Vec<BlockLocation>>> {
        let mut futures = Vec::with_capacity(self.slices.len());
        for slice in self.slices.iter().rev() {
            futures.push(sweep_back(&slice.known, sweep, false)?);
            go_back(&slice.asked, sweep, false, |_| Ok(()))?;
        }
        futures.reverse();
        Ok(futures)
    }
}

/// Both passes over slices. A part is a forward pass, and the most memory that its sweeps took.
struct Passes {
    log: SlicedLog,
    /// By slice; see [`SlicedLog::futures`].
    futures: Vec<Vec<BlockLocation>>,
    cells: usize,
    error: Mutex<Option<io::Error>>,
}

impl Passes {
    fn error(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives cells the numbers that they have in the ring.
fn number_cells(ops: &mut Ops, numbers: &[CellNumber]) {
    let labels = ops.labels.iter_mut().chain(&mut ops.stream_labels);
    for label in labels.filter(|label| **label != AccessTag::UNCOUNTED) {
        *label = numbers.get(label.index()).map_or(AccessTag::UNCOUNTED, |&cell| AccessTag::for_cell(cell));
    }
}

impl Slices for Passes {
    type Part = (Forward, u64);
    type Task = usize;
    type Done = io::Result<Boundaries>;
    type Whole = Whole;

    fn part(&self, _: usize) -> Self::Part {
        (Forward::over_slices(self.cells), 0)
    }

    fn go(&self, (forward, swept): &mut Self::Part, number: usize) -> Self::Done {
        let SliceLog { ops, part, .. } = &self.log.slices[number];
        let mut marks = Marks::default();
        let mut needed = Vec::new();
        for &place in &self.futures[number] {
            marks.decode_from(&ops.spool.read(place)?)?;
            needed.append(&mut marks.ranges);
        }
        let mut sweep = Sweep::new(&needed);
        let numbers = &self.log.numbers[*part];
        go_both_ways(ops, &mut sweep, forward, false, |ops| number_cells(ops, numbers))?;
        *swept = (*swept).max(sweep.heap_bytes());
        Ok(forward.end_slice())
    }

    fn resolve(&self, whole: &mut Whole, done: Self::Done) {
        match done {
            Ok(mut slice) => whole.resolve(&mut slice, 0, self.cells),
            Err(error) => _ = self.error().get_or_insert(error),
        }
    }
}
