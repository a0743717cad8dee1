//! What replays a ring's records: one of the two models, or the motion of data through loops.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{analyzer::Analyzer, kept::Part, options::Options, result::RingResult};
use crate::{decode::locator::ModuleSource, engine::AllocationFailure, motion::MotionMachine, values::Machine};

/// Accesses after which a ring has shown that it is not a short thread's.
pub const WORTH_A_THREAD: u64 = 1 << 20;

/// What a replay had counted when the system refused it something, and what that was.
pub struct CutShort {
    pub result: RingResult,
    pub why: String,
}

pub enum Replayer {
    Memory(Box<Analyzer>),
    Values(Box<Machine>),
    Motion(Box<MotionMachine>),
    /// Keeps the words until those of all threads are there.
    Keeps(Box<Part>),
}

impl Replayer {
    #[must_use]
    pub fn new(options: &Options) -> Self {
        if let Some(motion) = &options.motion {
            return Self::Motion(Box::new(MotionMachine::new(motion)));
        }
        if let Some(together) = &options.together {
            return Self::Keeps(Box::new(Part::new(together.spool.clone())));
        }
        match &options.values {
            None => Self::Memory(Box::new(Analyzer::new(options.clone()))),
            Some(values) => Self::Values(Box::new(Machine::new(values.clone(), options.sequence.clone()))),
        }
    }

    /// Replays a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        match self {
            Self::Memory(analyzer) => analyzer.replay(words, source),
            Self::Values(machine) => machine.replay(words, source),
            Self::Motion(machine) => machine.replay(words, source),
            Self::Keeps(part) => part.replay(words, source),
        }
    }

    /// Does a part of the replay on what `slot` holds. Where the system refuses what it needs, the replay ends and leaves what it has.
    ///
    /// # Errors
    /// What it left.
    pub fn attempt(slot: &mut Option<Self>, part: impl FnOnce(&mut Self)) -> Result<(), Box<CutShort>> {
        let Some(replayer) = slot else { return Ok(()) };
        // What was in the middle of a change is only read by `salvage`, which knows what may be.
        let Err(payload) = catch_unwind(AssertUnwindSafe(|| part(replayer))) else { return Ok(()) };
        match (payload.downcast::<AllocationFailure>(), slot.take()) {
            (Ok(refused), Some(Self::Memory(analyzer))) => {
                Err(Box::new(CutShort { result: RingResult::Memory(Box::new(analyzer.salvage())), why: refused.0 }))
            }
            (Ok(refused), _) => resume_unwind(refused),
            (Err(mistake), _) => resume_unwind(mistake),
        }
    }

    #[must_use]
    pub fn finish(self) -> RingResult {
        match self {
            Self::Memory(analyzer) => RingResult::Memory(Box::new(analyzer.finish())),
            Self::Values(machine) => RingResult::Values(Box::new(machine.finish())),
            Self::Motion(machine) => RingResult::Motion(Box::new(machine.finish())),
            Self::Keeps(part) => RingResult::Kept(part),
        }
    }

    #[must_use]
    pub fn accesses(&self) -> u64 {
        match self {
            Self::Memory(analyzer) => analyzer.accesses(),
            Self::Values(machine) => machine.accesses(),
            Self::Motion(machine) => machine.accesses(),
            Self::Keeps(part) => part.words,
        }
    }

    /// Memory that the engine holds, in bytes; 0 for the values model, whose engine lives only while a region is priced.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        match self {
            Self::Memory(analyzer) => analyzer.engine_bytes(),
            Self::Values(_) | Self::Keeps(_) => 0,
            Self::Motion(machine) => machine.heap_bytes(),
        }
    }

    /// Gives the engine a thread of its own, if that helps.
    pub fn start_thread(&mut self) {
        if let Self::Memory(analyzer) = self {
            analyzer.start_thread();
        }
    }

    /// Whether the engine has a thread of its own.
    #[must_use]
    pub fn is_threaded(&self) -> bool {
        match self {
            Self::Memory(analyzer) => analyzer.is_threaded(),
            Self::Values(_) | Self::Motion(_) | Self::Keeps(_) => false,
        }
    }

    /// Whether its engine could use a thread of its own.
    #[must_use]
    pub fn may_use_thread(&self) -> bool {
        matches!(self, Self::Memory(analyzer) if !analyzer.is_threaded() && !analyzer.has_window())
    }
}
