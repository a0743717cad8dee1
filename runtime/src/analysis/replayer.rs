//! What replays a ring's records: one of the two models, or the motion of data through loops; or what keeps them until
//! the rings of all threads of the process have ended.

use std::{panic::resume_unwind, sync::Arc};

use super::{
    analyzer::Analyzer,
    deferred::DeferredRing,
    options::Options,
    result::{MemoryResult, RingResult},
    shards::{Pool, SlicedRing},
    shared::Together,
};
use crate::{
    decode::locator::ModuleSource, engine::AllocationFailure, motion::MotionMachine, ring::Counted, values::Machine,
};

/// Workers from which on slices are faster than an engine on a thread of its own, as cutting and adding up cost
/// something.
const WORTH_SLICES: usize = 4;
/// Accesses after which a ring has shown that it is not a short thread's.
const WORTH_A_THREAD: u64 = 1 << 20;

/// What a replay had counted when the system refused it something, and what that was.
pub struct CutShort {
    pub result: RingResult,
    pub why: String,
}

pub enum Replayer {
    Memory(Box<Analyzer>),
    Sliced(Box<SlicedRing>),
    Values(Box<Machine>),
    Motion(Box<MotionMachine>),
    /// Keeps the words until those of all threads are there.
    Keeps(Box<Keeper>),
}

impl Replayer {
    #[must_use]
    pub fn new(options: &Options, pool: &Arc<Pool>) -> Self {
        if let Some(motion) = &options.motion {
            return Self::Motion(Box::new(MotionMachine::new(motion)));
        }
        if let Some(together) = &options.together {
            return Self::Keeps(Box::new(Keeper::new(together, options, pool)));
        }
        match &options.values {
            None => {
                let analyzer = Box::new(Analyzer::new(options.clone()));
                if options.slice.is_some() && options.in_one_piece().is_none() {
                    return Self::Sliced(Box::new(SlicedRing::new(analyzer, pool, options)));
                }
                Self::Memory(analyzer)
            }
            Some(values) => Self::Values(Box::new(Machine::new(values.clone(), options.sequence.clone()))),
        }
    }

    /// Replays a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        match self {
            Self::Memory(analyzer) => analyzer.replay(words, source),
            Self::Sliced(ring) => ring.replay(words, source),
            Self::Values(machine) => machine.replay(words, source),
            Self::Motion(machine) => machine.replay(words, source),
            Self::Keeps(keeper) => keeper.replay(words, source),
        }
    }

    /// Does a part of the replay on what `slot` holds. Where the system refuses what it needs, the replay ends and
    /// leaves what it has.
    ///
    /// # Errors
    /// What it left.
    pub fn attempt(slot: &mut Option<Self>, part: impl FnOnce(&mut Self)) -> Result<(), Box<CutShort>> {
        let Some(replayer) = slot else { return Ok(()) };
        // What was in the middle of a change is only read by `salvage`, which knows what may be.
        let Err(refused) = AllocationFailure::catch(|| part(replayer)) else { return Ok(()) };
        let left = match slot.take() {
            Some(Self::Memory(analyzer)) => analyzer.salvage(),
            Some(Self::Sliced(ring)) => ring.salvage(),
            _ => resume_unwind(Box::new(refused)),
        };
        Err(Box::new(CutShort { result: RingResult::Memory(Box::new(left)), why: refused.0 }))
    }

    /// Takes what the counters of a program that draws a sample say.
    pub fn count(&mut self, counted: &[Counted], source: &mut impl ModuleSource) {
        if let Self::Memory(analyzer) = self {
            analyzer.count(counted, source);
        }
    }

    /// Waits for what other threads do; call before `finish`.
    pub fn resolve(&mut self) {
        match self {
            Self::Sliced(ring) => ring.resolve(),
            // Where that is refused, the words are there.
            Self::Keeps(keeper) => _ = Self::attempt(&mut keeper.first, Self::resolve),
            Self::Memory(_) | Self::Values(_) | Self::Motion(_) => {}
        }
    }

    #[must_use]
    pub fn finish(self) -> RingResult {
        match self {
            Self::Sliced(ring) => RingResult::Memory(Box::new(ring.finish())),
            Self::Memory(analyzer) => RingResult::Memory(Box::new(analyzer.finish())),
            Self::Values(machine) => RingResult::Values(Box::new(machine.finish())),
            Self::Motion(machine) => RingResult::Motion(Box::new(machine.finish())),
            Self::Keeps(keeper) => {
                let (part, alone) = keeper.finish();
                RingResult::Kept(Box::new(part), alone)
            }
        }
    }

    #[must_use]
    pub fn accesses(&self) -> u64 {
        match self {
            Self::Memory(analyzer) => analyzer.accesses(),
            Self::Sliced(ring) => ring.accesses(),
            Self::Values(machine) => machine.accesses(),
            Self::Motion(machine) => machine.accesses(),
            Self::Keeps(keeper) => keeper.accesses,
        }
    }

    /// The time that a program which draws a sample has told last.
    #[must_use]
    pub fn told_time(&self) -> u64 {
        match self {
            Self::Memory(analyzer) => analyzer.core.sampled.told_time,
            Self::Sliced(_) | Self::Values(_) | Self::Motion(_) | Self::Keeps(_) => 0,
        }
    }

    /// Memory that the engine holds, in bytes; 0 for the values model, whose engine lives only while a region is
    /// priced.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        match self {
            Self::Memory(analyzer) => analyzer.engine_bytes(),
            Self::Sliced(ring) => ring.engine_bytes(),
            Self::Values(_) => 0,
            Self::Keeps(keeper) => keeper.first.as_ref().map_or(0, Self::engine_bytes),
            Self::Motion(machine) => machine.heap_bytes(),
        }
    }

    /// Whether it would go on with more than this thread, if there are some.
    #[must_use]
    pub fn wants_threads(&self) -> bool {
        let analyzer = match self {
            Self::Memory(analyzer) => analyzer,
            Self::Keeps(keeper) => return keeper.first.as_ref().is_some_and(Self::wants_threads),
            Self::Sliced(_) | Self::Values(_) | Self::Motion(_) => return false,
        };
        let engine = &analyzer.core.charging.engine;
        let may = !engine.backend.is_threaded() && !engine.sinks.has_window();
        may && analyzer.accesses().max(analyzer.core.sampled.told_time) >= WORTH_A_THREAD
    }

    /// A long ring goes on in slices, or with its engine on a thread of its own, unless as many rings as is good do so
    /// already. False if it stays on this thread.
    pub fn spread(slot: &mut Option<Self>, options: &Options, pool: &Arc<Pool>, others: usize) -> bool {
        if let Some(Self::Keeps(keeper)) = slot {
            return Self::spread(&mut keeper.first, options, pool, others);
        }
        let Some(Self::Memory(analyzer)) = slot else { return false };
        let workers = options.workers;
        if workers >= WORTH_SLICES && others < workers && options.in_one_piece().is_none() {
            if let Some(Self::Memory(analyzer)) = slot.take() {
                *slot = Some(Self::Sliced(Box::new(SlicedRing::new(analyzer, pool, options))));
            }
            return true;
        }
        if others >= workers / 2 {
            return false;
        }
        analyzer.start_thread(workers > 2);
        true
    }

    /// Whether more than this thread work for it.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        match self {
            Self::Memory(analyzer) => analyzer.core.charging.engine.backend.is_threaded(),
            Self::Sliced(_) => true,
            Self::Keeps(keeper) => keeper.first.as_ref().is_some_and(Self::is_spread),
            Self::Values(_) | Self::Motion(_) => false,
        }
    }
}

/// What a ring carried, until the rings of all threads of its process have ended.
///
/// Meanwhile the first thread is analysed as long as it is the only one: on a stack that it shares with nobody it does
/// what it does on its own. Which stack a thread has, whose an object is, and what threads do to each other, is found
/// from the words in any case.
pub struct Keeper {
    part: DeferredRing,
    /// Nothing once it is known that others share its stack, or if that is not enough.
    first: Option<Replayer>,
    /// Accesses of that analysis, then words: what comes in only makes it more.
    accesses: u64,
}

impl Keeper {
    fn new(together: &Together, options: &Options, pool: &Arc<Pool>) -> Self {
        let is_enough = together.sharing.is_none() && together.clusters.is_empty() && !options.objects;
        let alone = Options { together: None, ..options.clone() };
        Self {
            part: DeferredRing::new(together.shelf.clone()),
            first: is_enough.then(|| Replayer::new(&alone, pool)),
            accesses: 0,
        }
    }

    /// Keeps a chunk's words.
    fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        self.part.replay(words, source);
        if !self.part.is_first() || !self.part.created.is_empty() {
            self.first = None;
        }
        // What the system refused leaves nothing here, and the words are there.
        let _ = Replayer::attempt(&mut self.first, |first| first.replay(words, source));
        match &self.first {
            Some(first) => self.accesses = first.accesses(),
            None => self.accesses += words.len() as u64,
        }
    }

    /// The words, and what the thread did if it made no other.
    fn finish(self) -> (DeferredRing, Option<Box<MemoryResult>>) {
        let Some(RingResult::Memory(mut result)) = self.first.map(Replayer::finish) else { return (self.part, None) };
        // Lines that come again are followed by thread, and a shared stack has none.
        result.pairs = Default::default();
        (self.part, Some(result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::{Item, ItemKind},
        tests::{
            program::{Function, Image, Program, Segment, item},
            run::{self, Modules},
            steps::Step,
        },
    };

    /// A loop that loads one word again and again.
    fn program() -> Program {
        let segments = vec![Segment::of_loop(2, vec![Item { stride: 0, ..item(ItemKind::Load, 2, 0, 8) }])];
        let functions = vec![Function { name: "main".into(), segments }];
        Program { images: vec![Image { functions, variables: Vec::new() }] }
    }

    /// Has replayed so many accesses.
    fn replayer(options: &Options, accesses: u64) -> Option<Replayer> {
        let program = program();
        let mut modules = Modules::new(&program);
        let mut replayer = Replayer::new(options, &Arc::new(Pool::new(1)));
        let mut words = Vec::new();
        Step::start(0).write(&program, &mut words);
        Step::Segment((0, 0), vec![accesses, 64]).write(&program, &mut words);
        replayer.replay(&words, &mut modules);
        Some(replayer)
    }

    fn options(workers: usize) -> Options {
        Options { hints: true, workers, ..Options::default() }
    }

    /// A thread that may share its stack.
    fn together(workers: usize) -> Options {
        Options { together: Some(Arc::new(run::together())), ..options(workers) }
    }

    #[test]
    fn a_ring_wants_threads_once_it_is_long_unless_it_has_some() {
        for options in [options(2), together(2)] {
            let wants = |accesses| replayer(&options, accesses).map(|ring| (ring.accesses(), ring.wants_threads()));
            assert_eq!(wants(WORTH_A_THREAD - 1), Some((WORTH_A_THREAD - 1, false)));
            assert_eq!(wants(WORTH_A_THREAD), Some((WORTH_A_THREAD, true)));
            let mut ring = replayer(&options, WORTH_A_THREAD);
            assert!(Replayer::spread(&mut ring, &options, &Arc::new(Pool::new(2)), 0));
            assert!(ring.is_some_and(|ring| ring.is_spread() && !ring.wants_threads()));
        }
        let sliced = Options { slice: Some(1 << 16), ..options(2) };
        assert!(replayer(&sliced, WORTH_A_THREAD).is_some_and(|ring| ring.is_spread() && !ring.wants_threads()));
    }

    #[test]
    fn long_rings_are_cut_where_many_work_and_else_get_a_thread_as_long_as_half_of_them_are_free() {
        // Whether it goes on in slices, or with its engine on a thread; nothing if it stays where it is.
        let goes_on = |options: &Options, others| {
            let mut ring = replayer(options, 100);
            let spread = Replayer::spread(&mut ring, options, &Arc::new(Pool::new(2)), others);
            let ring = ring.expect("it goes on");
            assert_eq!((ring.is_spread(), ring.accesses()), (spread, 100));
            let is_sliced = match &ring {
                Replayer::Keeps(keeper) => matches!(keeper.first, Some(Replayer::Sliced(_))),
                ring => matches!(ring, Replayer::Sliced(_)),
            };
            spread.then_some(is_sliced)
        };
        let goes_on_of = |options: Options| [0, 1, 2, 3, 4].map(|others| goes_on(&options, others));
        let (slices, thread) = (Some(true), Some(false));
        assert_eq!(goes_on_of(options(4)), [slices, slices, slices, slices, None]);
        assert_eq!(goes_on_of(options(3)), [thread, None, None, None, None]);
        assert_eq!(goes_on_of(options(2)), [thread, None, None, None, None]);
        assert_eq!(goes_on_of(options(1)), [None; 5]);
        assert_eq!(goes_on_of(together(4)), [thread, thread, None, None, None], "its words are needed in one piece");
        let whole = Options { optimum: vec![64], ..options(6) };
        assert_eq!(goes_on_of(whole.clone()), [thread, thread, thread, None, None]);
        assert!(!Replayer::spread(&mut None, &whole, &Arc::new(Pool::new(2)), 0));
    }

    #[test]
    fn what_was_counted_before_the_system_refused_something_is_left() {
        for options in [options(2), Options { slice: Some(64), ..options(2) }] {
            let mut ring = replayer(&options, 100);
            assert!(Replayer::attempt(&mut ring, Replayer::resolve).is_ok());
            let refuse = |_: &mut Replayer| std::panic::panic_any(AllocationFailure("no room".into()));
            let left = Replayer::attempt(&mut ring, refuse).map(drop).expect_err("it was refused");
            assert!(ring.is_none() && left.why == "no room");
            let RingResult::Memory(result) = left.result else { panic!("the memory model") };
            assert_eq!(result.ring.totals.accesses, 100);
            assert!(Replayer::attempt(&mut ring, refuse).is_ok(), "nobody is there any more");
        }
    }

    #[test]
    fn the_time_is_that_which_a_program_has_told_last() {
        let design = crate::observe::sample::Design::new(16, 1);
        let options = Options { sample: Some(design), filtered: true, ..options(1) };
        // The last word of a record.
        assert_eq!(replayer(&options, 1).map(|ring| ring.told_time()), Some(64));
        assert_eq!(replayer(&together(1), 1).map(|ring| ring.told_time()), Some(0));
    }
}
