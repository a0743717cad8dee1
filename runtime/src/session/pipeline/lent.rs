//! The engine in the hands of others: parts of a run, and slices of a ring.

use super::{Pipeline, Place, Ranked};
use crate::{engine::Frontier, observe::files::Files};

impl Pipeline {
    /// From now on, does parts of a run (nothing was queued yet).
    pub fn start_slices(&mut self) {
        if let Place::Here(ranked) = &mut self.place {
            ranked.engine_mut().start_slice();
        }
    }

    /// Ends a part of a run; the next one begins, and fills `empty`.
    pub fn end_slice(&mut self, empty: Frontier, files: &mut Files<'_>) -> Frontier {
        self.flush(files);
        match &mut self.place {
            Place::Here(ranked) => ranked.engine_mut().end_slice(empty),
            Place::Sampled(_) | Place::There { .. } | Place::Kept(_) => {
                unreachable!("parts of a run are done on one thread each")
            }
        }
    }

    /// The engine, for somebody else to go on with; it stays away until it is given back.
    pub fn lend(&mut self, files: &mut Files<'_>) -> Ranked {
        self.flush(files);
        match &mut self.place {
            Place::Here(ranked) => std::mem::take(ranked),
            Place::Sampled(_) | Place::There { .. } | Place::Kept(_) => {
                unreachable!("only an engine that is here is lent")
            }
        }
    }

    pub fn give_back(&mut self, ranked: Ranked) {
        self.place = Place::Here(ranked);
    }

    /// Accesses of affine runs that the engine, which is here, did in blocks.
    #[must_use]
    pub fn in_blocks(&self) -> u64 {
        match &self.place {
            Place::Here(ranked) => ranked.engine().in_blocks(),
            Place::Sampled(_) | Place::There { .. } | Place::Kept(_) => 0,
        }
    }
}
