//! A ring that is replayed in slices.
//!
//! Takes words as a replay does, and cuts them into slices of about a number of accesses. Whichever thread of the pool
//! is free replays one with a part; who is done with the slice whose turn it is settles it, and those behind it that
//! wait. Refuses what the system refuses to a thread: who brings the next words, or waits for the end, panics with
//! that.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use super::{
    super::{
        analyzer::Analyzer,
        core::files,
        frontiers::Frontiers,
        options::Options,
        scan::{Scanned, Stop},
    },
    lines::WholeLines,
    part::{Known, Part, Start},
    pool::Pool,
    whole::{Below, Whole},
};
use crate::{counts::cell::file_lines, decode::locator::ModuleSource, engine::Frontier};

/// Accesses of a slice, about, if nothing else is said.
const SLICE: u64 = 4 << 20;
/// Words of a slice, about, at most: 8 MiB.
const MOST_WORDS: usize = 1 << 20;

/// See the top of this file.
pub struct SlicedRing {
    /// Knows what runs; has counted what came before the first slice, and has no engine.
    analyzer: Box<Analyzer>,
    pool: Arc<Pool>,
    shared: Arc<Shared>,
    limit: u64,
    /// The slice at hand.
    start: Start,
    words: Vec<u64>,
    work: u64,
    submitted: u64,
}

struct Shared {
    options: Options,
    /// Slices on their way, at most.
    most: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    known: Known,
    /// Parts that nobody works with, and how many there are in all.
    idle: Vec<Part>,
    parts: usize,
    /// Slices that wait for their turn.
    waiting: BTreeMap<u64, Waiting>,
    /// Slices that are settled.
    settled: u64,
    /// Nobody settles now.
    whole: Option<Box<Stacks>>,
    has_failed: bool,
    failure: Option<Box<dyn Any + Send>>,
    /// Words and frontiers of slices that are done, whose memory is used again.
    spare: Vec<Vec<u64>>,
    spare_frontiers: Vec<Frontier>,
    accesses: u64,
    bytes: u64,
}

impl State {
    fn fail(&mut self, failure: Box<dyn Any + Send>) {
        self.has_failed = true;
        self.failure.get_or_insert(failure);
    }
}

/// All stacks of slices that were settled.
struct Stacks {
    bytes: Whole,
    lines: WholeLines,
}

impl Stacks {
    fn heap_bytes(&self) -> u64 {
        self.bytes.ranked.engine().heap_bytes() + self.lines.heap_bytes()
    }
}

struct Waiting {
    frontiers: Frontiers,
    part: usize,
    cells: usize,
}

impl SlicedRing {
    /// Goes on with what an analyzer has done so far.
    #[must_use]
    pub fn new(mut analyzer: Box<Analyzer>, pool: &Arc<Pool>, options: &Options) -> Self {
        let (ranked, lines) = analyzer.core.engine.lend(files!(analyzer.core));
        let lines = WholeLines::new(lines, analyzer.core.cells.len());
        let whole = Stacks { bytes: Whole::new(ranked, options.ways.hash), lines };
        let state = State { whole: Some(Box::new(whole)), ..State::default() };
        let shared = Shared {
            options: options.clone(),
            most: pool.workers() as u64 + 1,
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        Self {
            start: Start::of(&analyzer),
            analyzer,
            pool: pool.clone(),
            shared: Arc::new(shared),
            limit: options.slice.unwrap_or(SLICE),
            words: Vec::new(),
            work: 0,
            submitted: 0,
        }
    }

    /// Takes a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        let (mut rest, mut lost) = (words, 0);
        while !rest.is_empty() {
            let Scanned { words, work, stop } = self.analyzer.scan(rest, self.limit.saturating_sub(self.work), source);
            let (scanned, others) = rest.split_at(words);
            self.words.extend_from_slice(scanned);
            (rest, self.work) = (others, self.work + work);
            if stop == Stop::Lost {
                lost = rest.len();
                break;
            }
            if self.words.len() >= MOST_WORDS || matches!(stop, Stop::Full | Stop::NewModule) {
                self.submit();
            }
        }
        self.analyzer.core.totals.replayed(words, lost as u64);
    }

    /// Hands the slice at hand over.
    fn submit(&mut self) {
        let next = Start::of(&self.analyzer);
        let start = std::mem::replace(&mut self.start, next);
        if self.words.is_empty() {
            return;
        }
        let mut state = self.shared.wait_until(|state| self.submitted - state.settled < self.shared.most);
        state.known.learn(&self.analyzer);
        let empty = state.spare.pop().unwrap_or_default();
        drop(state);
        let (words, number) = (std::mem::replace(&mut self.words, empty), self.submitted);
        (self.submitted, self.work) = (number + 1, 0);
        let shared = self.shared.clone();
        self.pool.submit(Box::new(move || shared.slice(number, start, words)));
    }

    /// Waits until all slices are settled.
    pub fn settle(&mut self) {
        self.submit();
        drop(self.shared.wait_until(|state| state.settled == self.submitted));
    }

    /// Adds everything up; what slices counted that are not settled is in it, but not what they would have found below
    /// them.
    #[must_use]
    pub fn finish(self) -> Analyzer {
        let Self { mut analyzer, shared, .. } = self;
        let mut state = shared.lock();
        // Somebody may still be at work after a failure elsewhere.
        while state.idle.len() < state.parts || state.whole.is_none() {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let parts = std::mem::take(&mut state.idle);
        let whole = state.whole.take();
        drop(state);
        let Some(whole) = whole else { return *analyzer };
        let Stacks { bytes: Whole { ranked, mut found, cold, .. }, lines } = *whole;
        let (own, of_parts) = lines.finish();
        file_lines(&mut analyzer.core.cells, own);
        for (below, lines) in found.iter_mut().zip(of_parts) {
            file_lines(&mut below.cells, lines);
        }
        for Part { number, analyzer: part, .. } in parts {
            let below = found.get_mut(number).map(std::mem::take).unwrap_or_default();
            let Below { cells, hash } = below;
            _ = analyzer.absorb(part.into_counted(), cells, hash.as_ref());
        }
        analyzer.core.cold.merge(&cold);
        analyzer.core.engine.give_back(ranked);
        *analyzer
    }

    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.analyzer.accesses() + self.shared.lock().accesses
    }

    /// Memory that engines hold, as last heard.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        self.analyzer.object_bytes() + self.shared.lock().bytes
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nobody panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something; panics with what another thread has failed with.
    fn wait_until(&self, is_so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.failure.is_none() && !is_so(&state) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(failure) = state.failure.take() {
            drop(state);
            resume_unwind(failure);
        }
        state
    }

    /// A part for a slice that nobody works with; nothing after a failure. Slices of a part are in order, as it knows
    /// by each no more than the run had met by then.
    fn part(&self, slice: u64) -> Option<Part> {
        let mut state = self.lock();
        if state.has_failed {
            return None;
        }
        if let Some(at) = state.idle.iter().position(|part| part.last.is_none_or(|last| last < slice)) {
            return Some(state.idle.swap_remove(at));
        }
        let number = state.parts;
        state.parts += 1;
        drop(state);
        let made = catch_unwind(AssertUnwindSafe(|| Part::new(number, &self.options)));
        let failed = |failure| {
            let mut state = self.lock();
            state.parts -= 1;
            state.fail(failure);
            self.changed.notify_all();
        };
        made.map_err(failed).ok()
    }

    /// Replays a slice, and settles what can be settled.
    fn slice(&self, number: u64, start: Start, mut words: Vec<u64>) {
        let Some(mut part) = self.part(number) else { return };
        part.last = Some(number);
        let before = (part.analyzer.accesses(), part.analyzer.engine_bytes());
        let done = catch_unwind(AssertUnwindSafe(|| {
            let empty = {
                let mut state = self.lock();
                part.prepare(start, &state.known);
                state.spare_frontiers.pop().unwrap_or_default()
            };
            part.go_on(&words);
            part.end(empty)
        }));
        words.clear();
        let mut state = self.lock();
        state.spare.push(words);
        state.accesses += part.analyzer.accesses() - before.0;
        state.bytes = state.bytes.wrapping_add(part.analyzer.engine_bytes()).wrapping_sub(before.1);
        match done {
            Ok(frontiers) => {
                _ = state.waiting.insert(number, Waiting { frontiers, part: part.number, cells: part.cells() });
            }
            Err(failure) => state.fail(failure),
        }
        state.idle.push(part);
        self.changed.notify_all();
        drop(state);
        self.settle();
    }

    /// Settles slices whose turn it is, unless somebody does.
    fn settle(&self) {
        loop {
            let mut state = self.lock();
            let next = state.settled;
            if state.has_failed || state.whole.is_none() || !state.waiting.contains_key(&next) {
                return;
            }
            let (Some(mut whole), Some(mut slice)) = (state.whole.take(), state.waiting.remove(&next)) else { return };
            drop(state);
            let before = whole.heap_bytes();
            let done = catch_unwind(AssertUnwindSafe(|| {
                whole.bytes.settle(&slice.frontiers.bytes, slice.part, slice.cells);
                whole.lines.settle(&slice.frontiers.lines, slice.part);
            }));
            let after = whole.heap_bytes();
            let mut state = self.lock();
            state.bytes = state.bytes.wrapping_add(after).wrapping_sub(before);
            match done {
                Ok(()) => {
                    state.settled += 1;
                    slice.frontiers.bytes.clear();
                    state.spare_frontiers.push(slice.frontiers.bytes);
                }
                Err(failure) => state.fail(failure),
            }
            state.whole = Some(whole);
            self.changed.notify_all();
        }
    }
}
