//! Threads of their own for those who observe beside the engine, and for the engine.
//!
//! Takes batches, which go from one to the next in order; gives them back with what was found, in that order, so that
//! not one number depends on who has a thread. Those who have one are given back in the end. Where the system gives no
//! thread, somebody stays where he was.

use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded};

use super::{super::engine_slot::EngineSlot, sinks::Batch};
use crate::observe::beside::Observers;

/// Batches on their way.
const IN_FLIGHT: usize = 8;

pub struct There {
    work: Sender<Batch>,
    done: Receiver<Batch>,
    beside: Option<JoinHandle<Observers>>,
    /// None if nobody asks for depths of bytes.
    engine: Option<JoinHandle<EngineSlot>>,
    in_flight: usize,
    /// Memory that they hold, as last heard.
    held: u64,
}

impl There {
    /// Gives threads to those that are named; nothing if nobody got one.
    pub fn start(mut engine: Option<&mut EngineSlot>, beside: Option<&mut Observers>) -> Option<Self> {
        let held = engine.as_ref().map_or(0, |engine_slot| engine_slot.engine().heap_bytes());
        let (done_end, done) = bounded(IN_FLIGHT + 1);
        let (last_work, last_end) = bounded(IN_FLIGHT);
        let asks = |engine_slot: &mut EngineSlot, batch: &mut Batch| {
            batch.run_on(engine_slot);
            batch.held += engine_slot.engine().heap_bytes();
        };
        let follow = |beside: &mut Observers, batch: &mut Batch| {
            beside.follow(&batch.ops, batch.cells);
            batch.held += beside.heap_bytes();
        };
        let none = Self { work: last_work.clone(), done, beside: None, engine: None, in_flight: 0, held };
        let Some(engine_slot) = engine.take() else {
            let beside = spawn(beside?, last_end, done_end, follow)?;
            return Some(Self { beside: Some(beside), ..none });
        };
        let engine = Some(spawn(engine_slot, last_end, done_end, asks)?);
        let (work, work_end) = bounded(IN_FLIGHT);
        match beside.and_then(|beside| spawn(beside, work_end, last_work, follow)) {
            Some(beside) => Some(Self { work, engine, beside: Some(beside), ..none }),
            None => Some(Self { engine, ..none }),
        }
    }

    /// Whether those beside the engine have a thread.
    pub fn has_beside(&self) -> bool {
        self.beside.is_some()
    }

    /// Memory that is held there, in bytes.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// A batch that all are done with, if so many are on their way that one must come back first.
    pub fn come_back(&mut self) -> Option<Batch> {
        if self.in_flight < IN_FLIGHT {
            return None;
        }
        let batch = self.done.recv().ok()?;
        self.in_flight -= 1;
        self.held = batch.held;
        Some(batch)
    }

    /// Hands a batch over.
    pub fn hand_over(&mut self, batch: Batch) {
        self.in_flight += 1;
        // A thread ends early only by a panic, which `finish` passes on when it joins.
        let _ = self.work.send(batch);
    }

    /// Waits for all batches, and gives back whoever had a thread.
    pub fn finish(self, mut file: impl FnMut(Batch)) -> (Option<EngineSlot>, Option<Observers>) {
        let Self { work, done, beside, engine, .. } = self;
        drop(work);
        done.into_iter().for_each(&mut file);
        (engine.map(joined), beside.map(joined))
    }

    /// Waits for all batches where somebody may have failed: gives back those beside the engine, as far as they came.
    pub fn abandon(self) -> Option<Observers> {
        let Self { work, done, beside, .. } = self;
        drop(work);
        done.into_iter().for_each(drop);
        beside?.join().ok()
    }
}

fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Somebody does batches on a thread of his own; he follows when the thread is there.
fn spawn<Worker: Default + Send + 'static>(
    worker: &mut Worker,
    work: Receiver<Batch>,
    next: Sender<Batch>,
    does: fn(&mut Worker, &mut Batch),
) -> Option<JoinHandle<Worker>> {
    let (hand_over, handed) = bounded(1);
    let spawned = std::thread::Builder::new().spawn(move || {
        let mut worker: Worker = handed.recv().expect("it is sent as soon as the thread is there");
        for mut batch in work {
            does(&mut worker, &mut batch);
            // Whoever is behind has failed, or waits for all.
            let _ = next.send(batch);
        }
        worker
    });
    let thread = spawned.ok()?;
    assert!(hand_over.send(std::mem::take(worker)).is_ok(), "there is room for one");
    Some(thread)
}
