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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A slice that may wait for others, and lets others go on.
    #[derive(Default)]
    struct Task {
        number: u64,
        waits: Option<Receiver<()>>,
        tells: Option<Sender<()>>,
    }

    fn task(number: u64) -> Task {
        Task { number, ..Task::default() }
    }

    #[derive(Default)]
    struct Failing {
        part: bool,
        go: Option<u64>,
        resolve: Option<u64>,
    }

    impl Slices for Failing {
        /// Its number, and the slices that it did.
        type Part = (usize, Vec<u64>);
        type Task = Task;
        type Done = u64;
        type Whole = Vec<u64>;

        fn part(&self, number: usize) -> Self::Part {
            assert!(!self.part, "no part");
            (number, Vec::new())
        }

        fn go(&self, part: &mut Self::Part, task: Task) -> u64 {
            assert_ne!(self.go, Some(task.number), "not done");
            if let Some(waits) = task.waits {
                waits.recv().expect("another slice goes on");
            }
            part.1.push(task.number);
            if let Some(tells) = task.tells {
                tells.send(()).expect("another slice waits");
            }
            task.number
        }

        fn resolve(&self, whole: &mut Vec<u64>, done: u64) {
            assert_ne!(self.resolve, Some(done), "not resolved");
            whole.push(done);
        }
    }

    fn turns(slices: Failing, workers: usize) -> Turns<Failing> {
        Turns::new(slices, Vec::new(), &Arc::new(Pool::new(workers)))
    }

    /// What a thread failed with that did or resolved slices.
    fn failure(turns: &Turns<Failing>) -> String {
        let failure = catch_unwind(AssertUnwindSafe(|| turns.wait())).expect_err("something failed");
        failure.downcast_ref::<String>().expect("a message").clone()
    }

    #[test]
    fn slices_are_resolved_in_order_whichever_is_done_first() {
        let mut turns = turns(Failing::default(), 2);
        let (tells, waits) = channel();
        turns.submit(Task { waits: Some(waits), ..task(0) });
        turns.submit(Task { tells: Some(tells), ..task(1) });
        for number in 2..20 {
            turns.wait_for_room();
            turns.submit(task(number));
        }
        turns.wait();
        let (parts, whole) = turns.finish();
        assert_eq!(whole, Vec::from_iter(0..20));
        let mut done: Vec<u64> = parts.iter().flat_map(|(_, slices)| slices.clone()).collect();
        done.sort_unstable();
        assert_eq!(done, whole, "each once");
        assert!(parts.iter().all(|(_, slices)| slices.is_sorted()));
    }

    #[test]
    fn a_part_does_only_slices_that_are_later_than_its_last() {
        let mut turns = turns(Failing::default(), 1);
        let shared = turns.shared.clone();
        let slice = |number| shared.slice(number, task(number));
        // A thread that had taken slice 1 was overtaken.
        [0, 2, 1, 3].into_iter().for_each(slice);
        turns.submitted = 4;
        turns.wait();
        let (parts, whole) = turns.finish();
        assert_eq!(whole, [0, 1, 2, 3]);
        let mut of_parts: Vec<_> = parts.into_iter().collect();
        of_parts.sort_unstable();
        assert_eq!(of_parts.len(), 2);
        assert!(of_parts[0].1.starts_with(&[0, 2]) && of_parts[1].1.starts_with(&[1]), "{of_parts:?}");
    }

    #[test]
    fn as_many_slices_are_on_their_way_as_there_are_threads_and_one_more() {
        let mut turns = turns(Failing::default(), 2);
        turns.submitted = 2;
        turns.wait_for_room();
        turns.shared.lock().resolved = 5;
        turns.submitted = 7;
        turns.wait_for_room();
        assert_eq!(turns.most, 3);
    }

    #[test]
    fn a_failure_is_told_to_who_waits_and_ends_everything() {
        let mut turns = turns(Failing { go: Some(1), ..Failing::default() }, 1);
        (0..3).for_each(|number| turns.shared.slice(number, task(number)));
        turns.submitted = 3;
        assert!(failure(&turns).contains("not done"));
        let (parts, whole) = turns.finish();
        assert_eq!(whole, [0], "what came before the slice that failed");
        assert_eq!(parts, [(0, vec![0])], "nobody does those behind it");
    }

    #[test]
    fn what_is_behind_a_slice_that_could_not_be_resolved_is_not_resolved_either() {
        let mut turns = turns(Failing { resolve: Some(1), ..Failing::default() }, 1);
        (0..3).for_each(|number| turns.shared.slice(number, task(number)));
        turns.submitted = 3;
        assert!(failure(&turns).contains("not resolved"));
        assert_eq!(turns.finish().1, [0]);
    }

    #[test]
    fn nobody_waits_for_a_part_that_could_not_be_made() {
        let mut turns = turns(Failing { part: true, ..Failing::default() }, 1);
        turns.submit(task(0));
        assert!(catch_unwind(AssertUnwindSafe(|| turns.wait())).is_err());
        assert_eq!(turns.finish(), (Vec::new(), Vec::new()));
    }
}
