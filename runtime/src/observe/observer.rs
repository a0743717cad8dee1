//! Who is told of everything that happens in a ring, beside the engine.

use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    counts::{cell::CellCounters, pairs::CellPairs},
    decode::block::CellNumber,
    oplog::Op,
};

const WHOLE: &str = "who needs all of a run is not asked for parts";

/// What follows beside the engine, as caches do, and files what it counted with the cells of what did it. What says
/// nothing of parts of a run needs all of it; analyses with it are not cut (`Options::in_one_piece`).
pub trait Observer: Send + Sized {
    /// What a part of a run asks of the run before it, and what it leaves.
    type Part: Debug + Send + Serialize + DeserializeOwned;

    /// What happens next.
    fn op(&mut self, op: Op<'_>);

    /// There are so many cells now; what others do is not counted.
    fn set_known(&mut self, cells: usize);

    /// Memory held, in bytes.
    fn heap_bytes(&self) -> u64;

    /// Files what was counted by one of several of a kind: its number, and how many there are. Gives what is of pairs
    /// of cells.
    fn finish(self, cells: &mut [CellCounters], of: (usize, usize)) -> CellPairs;

    /// From now on observes parts of a run (nothing has happened yet).
    fn start_parts(&mut self) {
        unreachable!("{WHOLE}")
    }

    /// Ends a part of a run; the next one begins.
    fn cut(&mut self) -> Self::Part {
        unreachable!("{WHOLE}")
    }

    /// Observes what is behind a part, from its end on: what this leaves is a part of both.
    fn continuing(_: &Self::Part) -> Self {
        unreachable!("{WHOLE}")
    }

    /// Goes on behind a part, whose cells have other numbers here.
    fn resolve(&mut self, _: &Self::Part, _: impl FnMut(CellNumber) -> CellNumber) {
        unreachable!("{WHOLE}")
    }

    /// Whether a part, which a file may have, can be of a run of which so many cells are known.
    fn is_sound(_: &Self::Part, _: usize) -> bool {
        false
    }

    /// Whether a part is of the same observer.
    fn fits(&self, _: &Self::Part) -> bool {
        false
    }
}
