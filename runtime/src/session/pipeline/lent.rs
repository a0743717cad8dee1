//! The engine and the stacks of lines in the hands of others: parts of a run, and slices of a ring.

use super::{Lines, Pipeline, Place, Ranked};
use crate::{observe::files::Files, session::frontiers::Frontiers};

impl Pipeline {
    /// From now on, does parts of a run (nothing was queued yet).
    pub fn start_slices(&mut self) {
        if let Place::Here(ranked) = &mut self.place {
            ranked.engine_mut().start_slice();
        }
        self.lines.iter_mut().for_each(Lines::start_slices);
    }

    /// Ends a part of a run; the next one begins.
    pub fn end_slice(&mut self, files: &mut Files<'_>) -> Frontiers {
        self.flush(files);
        let bytes = match &mut self.place {
            Place::Here(ranked) => ranked.engine_mut().end_slice(),
            Place::Sampled(_) | Place::There { .. } | Place::Kept(_) => {
                unreachable!("parts of a run are done on one thread each")
            }
        };
        Frontiers { bytes, lines: self.lines.iter_mut().map(Lines::end_slice).collect() }
    }

    /// The engine and the stacks of lines, for somebody else to go on with; the engine stays away until it is given
    /// back, the stacks of lines for ever.
    pub fn lend(&mut self, files: &mut Files<'_>) -> (Ranked, Vec<Lines>) {
        self.flush(files);
        let lines = std::mem::take(&mut self.lines);
        match &mut self.place {
            Place::Here(ranked) => (std::mem::take(ranked), lines),
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
