//! A sample of one ring: what it looks at is decided on this thread, and looked at here or on two others.
//!
//! Takes every access with its cell, in order; gives what each cell read, estimated. Order is kept, so that not one
//! number depends on where things are looked at.

use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded};

use super::{
    filter::{Filter, Happened, Looked},
    fixed::First,
    ledger::Sampled,
    long::Long,
    recent::Recent,
};
use crate::{abi::sample::Design, oplog::Op};

/// What is handed over at once.
const BATCH: usize = 2048;
/// Batches on their way from one thread to the next.
const IN_FLIGHT: usize = 4;

/// What is looked at, on its way through the threads.
#[derive(Default)]
struct Batch {
    looked: Vec<Looked>,
    /// Reads that those of recent touches have met, each with the number of the access.
    firsts: Vec<(usize, First)>,
    /// The number of cells.
    known: usize,
    /// Memory of those who have had it.
    heap_bytes: u64,
}

enum Work {
    Batch(Batch),
    Happened(Happened),
}

/// Those who look.
enum WatchBackend {
    Here(Box<Watch>),
    There(There),
}

struct Watch {
    recent: Recent,
    long: Long,
    firsts: Vec<First>,
}

struct There {
    work: Sender<Work>,
    /// Empty batches.
    done: Receiver<Batch>,
    recent: JoinHandle<Option<Recent>>,
    long: JoinHandle<Option<Long>>,
    open: Batch,
    heap_bytes: u64,
}

/// Draws a sample of what a thread does.
pub struct Sampler {
    filter: Filter,
    known: usize,
    place: WatchBackend,
}

impl Sampler {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(design: Design) -> Self {
        let watch = Watch { recent: Recent::new(design), long: Long::new(design), firsts: Vec::new() };
        Sampler { filter: Filter::new(design), known: 0, place: WatchBackend::Here(Box::new(watch)) }
    }

    /// Looks on threads of its own from now on, if it has none and the system gives them.
    pub fn start_threads(&mut self) {
        if self.is_on_threads() {
            return;
        }
        let heap_bytes = self.heap_bytes();
        let (work, work_end) = bounded(IN_FLIGHT);
        let (seen, seen_end) = bounded(IN_FLIGHT);
        let (done_end, done) = bounded(4 * IN_FLIGHT);
        // Those who look follow when the threads are there; if the system gives none, they stay here.
        let (recent_there, recent) = bounded(1);
        let (long_there, long) = bounded(1);
        let spawned = std::thread::Builder::new().spawn(move || look_recent(recent.recv().ok()?, &work_end, &seen));
        let Ok(recent) = spawned else { return };
        let spawned = std::thread::Builder::new().spawn(move || look_long(long.recv().ok()?, &seen_end, &done_end));
        let Ok(long) = spawned else { return };
        let there = There { work, done, recent, long, open: Batch::default(), heap_bytes };
        if let WatchBackend::Here(watch) = std::mem::replace(&mut self.place, WatchBackend::There(there)) {
            assert!(
                recent_there.send(watch.recent).is_ok() && long_there.send(watch.long).is_ok(),
                "there is room for one"
            );
        }
    }

    /// Whether it has threads of its own.
    #[must_use]
    pub fn is_on_threads(&self) -> bool {
        matches!(self.place, WatchBackend::There(_))
    }

    /// There are so many cells; those with higher numbers do not count.
    pub fn set_known(&mut self, cells: usize) {
        self.known = cells;
        self.filter.set_known(cells);
        if let WatchBackend::Here(watch) = &mut self.place {
            watch.recent.set_known(cells);
            watch.long.set_known(cells);
        }
    }

    /// So many loads and stores have passed. Time never goes back.
    pub fn set_time(&mut self, now: u64) {
        self.filter.set_time(now);
    }

    /// The time, if so many accesses from now on only marked lines are looked at, and always the same ones.
    #[must_use]
    pub fn quiet_for(&self, accesses: u64) -> Option<u64> {
        self.filter.quiet_for(accesses)
    }

    /// Whether bytes are in marked lines.
    #[inline]
    #[must_use]
    pub fn marks(&self, address: u64, len: u64) -> bool {
        self.filter.marks(address, len)
    }

    fn happens(&mut self, what: Happened) {
        match &mut self.place {
            WatchBackend::Here(watch) => {
                watch.recent.happens(what);
                watch.long.happens(what);
            }
            WatchBackend::There(there) => {
                there.hand_over(self.known);
                there.put(Work::Happened(what));
            }
        }
    }

    /// What was seen.
    #[must_use]
    pub fn finish(self) -> Sampled {
        let (recent, long) = match self.place {
            WatchBackend::Here(watch) => (watch.recent, watch.long),
            WatchBackend::There(there) => there.finish(self.known),
        };
        let mut sampled = recent.finish();
        sampled.merge(long.finish());
        sampled.count_reads(self.filter.finish());
        sampled
    }

    /// Memory held, in bytes, as last heard.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        match &self.place {
            WatchBackend::Here(watch) => watch.recent.heap_bytes() + watch.long.heap_bytes(),
            WatchBackend::There(there) => there.heap_bytes,
        }
    }

    /// What happens next.
    pub fn op(&mut self, op: Op<'_>) {
        match op {
            Op::Accesses { accesses, labels } => self.filtered(|filter, mut tell| {
                for (access, label) in accesses.iter().zip(labels) {
                    filter.access(*access, label.cell(), &mut tell);
                }
            }),
            Op::Run { streams, labels, iterations } => {
                self.filtered(|filter, tell| filter.run(streams, labels, iterations, tell));
            }
            Op::Move { from, to, len } if len > 0 && from != to => {
                self.happens(Happened::Relocate { time: self.filter.now(), from, to, len });
            }
            // Bytes that are read for the first time, whatever lay there.
            Op::Input { addr, len } if len > 0 => {
                self.happens(Happened::Input { time: self.filter.now(), address: addr, len });
            }
            _ => {}
        }
    }

    /// What the filter tells goes to where it is looked at.
    fn filtered(&mut self, part: impl FnOnce(&mut Filter, &mut dyn FnMut(Looked))) {
        let Self { filter, known, place } = self;
        match place {
            WatchBackend::Here(watch) => part(filter, &mut |looked| watch.look(looked)),
            WatchBackend::There(there) => part(filter, &mut |looked| there.look(looked, *known)),
        }
    }
}

impl Watch {
    fn look(&mut self, looked: Looked) {
        let Self { recent, long, firsts } = self;
        recent.look(looked, firsts);
        firsts.drain(..).for_each(|first| long.first(first));
        long.look(looked);
    }
}

impl There {
    #[inline]
    fn look(&mut self, looked: Looked, known: usize) {
        self.open.looked.push(looked);
        if self.open.looked.len() == BATCH {
            self.hand_over(known);
        }
    }

    /// Hands over what waits.
    fn hand_over(&mut self, known: usize) {
        let empty = self.done.try_recv().unwrap_or_default();
        if empty.heap_bytes > 0 {
            self.heap_bytes = empty.heap_bytes;
        }
        let full = std::mem::replace(&mut self.open, empty);
        self.put(Work::Batch(Batch { known, ..full }));
    }

    /// The other threads end early only by a panic, which `finish` passes on when it joins.
    fn put(&self, what: Work) {
        let _ = self.work.send(what);
    }

    fn finish(mut self, known: usize) -> (Recent, Long) {
        self.hand_over(known);
        let Self { work, recent, long, .. } = self;
        drop(work);
        (join(recent), join(long))
    }
}

/// What a thread has; its panic is passed on.
fn join<T>(thread: JoinHandle<Option<T>>) -> T {
    let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    ended.expect("it was sent as soon as the threads were there")
}

/// The first of the other threads.
fn look_recent(mut recent: Recent, work: &Receiver<Work>, seen: &Sender<Work>) -> Option<Recent> {
    let mut firsts = Vec::new();
    for mut item in work {
        match &mut item {
            Work::Batch(Batch { looked, firsts: all, known, heap_bytes }) => {
                recent.set_known(*known);
                for (number, looked) in looked.iter().enumerate() {
                    recent.look(*looked, &mut firsts);
                    all.extend(firsts.drain(..).map(|first| (number, first)));
                }
                *heap_bytes = recent.heap_bytes();
            }
            Work::Happened(what) => recent.happens(*what),
        }
        // It ends early only by a panic.
        let _ = seen.send(item);
    }
    Some(recent)
}

/// The last of them.
fn look_long(mut long: Long, seen: &Receiver<Work>, done: &Sender<Batch>) -> Option<Long> {
    for item in seen {
        match item {
            Work::Batch(mut batch) => {
                long.set_known(batch.known);
                let mut firsts = batch.firsts.drain(..).peekable();
                for (number, looked) in batch.looked.drain(..).enumerate() {
                    while let Some((_, first)) = firsts.next_if(|(at, _)| *at == number) {
                        long.first(first);
                    }
                    long.look(looked);
                }
                drop(firsts);
                batch.heap_bytes += long.heap_bytes();
                // If nobody takes it, it is not used again.
                let _ = done.try_send(batch);
            }
            Work::Happened(what) => long.happens(what),
        }
    }
    Some(long)
}
