//! Slices that are done side by side, and resolved in their order.
//!
//! Takes tasks, one per slice and in order. Whichever thread of the pool is free does one with a part; who is done with
//! the slice whose turn it is resolves it, and those behind it that wait. Refuses what the system refuses to a thread:
//! who brings the next task, or waits for the end, panics with that.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use super::pool::Pool;

/// How slices are done and resolved.
pub trait Slices: Send + Sync + 'static {
    /// Does slices, one after the other.
    type Part: Send;
    /// What is to be done.
    type Task: Send;
    /// What is to be resolved.
    type Done: Send;
    /// What all slices are resolved on.
    type Whole: Send;

    /// A part with a number.
    fn part(&self, number: usize) -> Self::Part;

    /// Does a slice; those of a part are in order.
    fn go(&self, part: &mut Self::Part, task: Self::Task) -> Self::Done;

    /// Goes on behind a slice; all of them are in order.
    fn resolve(&self, whole: &mut Self::Whole, done: Self::Done);
}

/// Slices that are done side by side, and resolved in their order.
pub struct Turns<S: Slices> {
    shared: Arc<Shared<S>>,
    pool: Arc<Pool>,
    /// Slices on their way, at most.
    most: u64,
    submitted: u64,
}

struct Shared<S: Slices> {
    slices: S,
    state: Mutex<State<S>>,
    changed: Condvar,
}

struct State<S: Slices> {
    /// Parts that nobody works with, each with its last slice, and how many parts there are in all.
    idle: Vec<(Option<u64>, S::Part)>,
    parts: usize,
    /// Slices that wait for their turn.
    waiting: BTreeMap<u64, S::Done>,
    /// Slices that are resolved.
    resolved: u64,
    /// Nobody resolves now.
    whole: Option<Box<S::Whole>>,
    has_failed: bool,
    failure: Option<Box<dyn Any + Send>>,
}

impl<S: Slices> State<S> {
    fn fail(&mut self, failure: Box<dyn Any + Send>) {
        self.has_failed = true;
        self.failure.get_or_insert(failure);
    }
}

impl<S: Slices> Turns<S> {
    /// No slice was done.
    pub fn new(slices: S, whole: S::Whole, pool: &Arc<Pool>) -> Self {
        let state = State {
            idle: Vec::new(),
            parts: 0,
            waiting: BTreeMap::new(),
            resolved: 0,
            whole: Some(Box::new(whole)),
            has_failed: false,
            failure: None,
        };
        let shared = Shared { slices, state: Mutex::new(state), changed: Condvar::new() };
        Self { shared: Arc::new(shared), pool: pool.clone(), most: pool.workers() as u64 + 1, submitted: 0 }
    }

    pub fn slices(&self) -> &S {
        &self.shared.slices
    }

    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Waits until not too many slices are on their way.
    pub fn wait_for_room(&self) {
        drop(self.shared.wait_until(|state| self.submitted - state.resolved < self.most));
    }

    /// Hands the next slice over; wait for room before.
    pub fn submit(&mut self, task: S::Task) {
        let (number, shared) = (self.submitted, self.shared.clone());
        self.submitted += 1;
        self.pool.submit(Box::new(move || shared.slice(number, task)));
    }

    /// Waits until all slices are resolved.
    pub fn wait(&self) {
        drop(self.shared.wait_until(|state| state.resolved == self.submitted));
    }

    /// The parts, and what slices were resolved on; waits for who is still at work after a failure elsewhere. Call
    /// once.
    pub fn finish(&mut self) -> (Vec<S::Part>, S::Whole) {
        let mut state = self.shared.lock();
        loop {
            if state.idle.len() == state.parts
                && let Some(whole) = state.whole.take()
            {
                let parts = std::mem::take(&mut state.idle).into_iter().map(|(_, part)| part).collect();
                return (parts, *whole);
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<S: Slices> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, State<S>> {
        // Nobody panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something; panics with what another thread has failed with.
    fn wait_until(&self, is_so: impl Fn(&State<S>) -> bool) -> MutexGuard<'_, State<S>> {
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

    fn fail(&self, failure: Box<dyn Any + Send>) {
        self.lock().fail(failure);
        self.changed.notify_all();
    }

    /// A part for a slice that nobody works with; nothing after a failure. Slices of a part are in order, as it knows
    /// by each no more than the run had met by then.
    fn part(&self, slice: u64) -> Option<S::Part> {
        let mut state = self.lock();
        if state.has_failed {
            return None;
        }
        if let Some(at) = state.idle.iter().position(|(last, _)| last.is_none_or(|last| last < slice)) {
            return Some(state.idle.swap_remove(at).1);
        }
        let number = state.parts;
        state.parts += 1;
        drop(state);
        let made = catch_unwind(AssertUnwindSafe(|| self.slices.part(number)));
        let failed = |failure| {
            self.lock().parts -= 1;
            self.fail(failure);
        };
        made.map_err(failed).ok()
    }

    /// Does a slice, and resolves what can be resolved.
    fn slice(&self, number: u64, task: S::Task) {
        let Some(mut part) = self.part(number) else { return };
        let done = catch_unwind(AssertUnwindSafe(|| self.slices.go(&mut part, task)));
        let mut state = self.lock();
        match done {
            Ok(done) => _ = state.waiting.insert(number, done),
            Err(failure) => state.fail(failure),
        }
        state.idle.push((Some(number), part));
        self.changed.notify_all();
        drop(state);
        self.resolve();
    }

    /// Settles slices whose turn it is, unless somebody does.
    fn resolve(&self) {
        loop {
            let mut state = self.lock();
            let next = state.resolved;
            if state.has_failed || state.whole.is_none() || !state.waiting.contains_key(&next) {
                return;
            }
            let (Some(mut whole), Some(slice)) = (state.whole.take(), state.waiting.remove(&next)) else { return };
            drop(state);
            let done = catch_unwind(AssertUnwindSafe(|| self.slices.resolve(&mut whole, slice)));
            let mut state = self.lock();
            match done {
                Ok(()) => state.resolved += 1,
                Err(failure) => state.fail(failure),
            }
            state.whole = Some(whole);
            self.changed.notify_all();
        }
    }
}
