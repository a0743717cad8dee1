//! The ring's hand-over protocol through every interleaving that the memory model allows (up to a bound on
//! preemptions).
//!
//! The code under test is the one that the hooks and the reader run; `loom` provides the atomics, and a futex is a lock
//! and a condition variable, as in the kernel: the comparison and going to sleep are one step. A lost wake-up shows as
//! a deadlock, since nothing here times out.

use dmdprof_runtime::ring::protocol::{self, System, Woken, Word};
use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicU32, fence};
use loom::sync::{Arc, Condvar, Mutex};

struct Modelled(AtomicU32);

impl Word for Modelled {
    fn load(&self) -> u32 {
        self.0.load(Relaxed)
    }
    fn load_acquire(&self) -> u32 {
        self.0.load(Acquire)
    }
    fn store(&self, value: u32) {
        self.0.store(value, Relaxed);
    }
    fn store_release(&self, value: u32) {
        self.0.store(value, Release);
    }
    fn add(&self, value: u32) {
        self.0.fetch_add(value, Relaxed);
    }
    fn add_release(&self, value: u32) {
        self.0.fetch_add(value, Release);
    }
}

fn word() -> Modelled {
    Modelled(AtomicU32::new(0))
}

/// One futex queue; each is used for one word only.
struct Queue {
    lock: Mutex<()>,
    sleepers: Condvar,
}

impl Queue {
    fn new() -> Self {
        Self { lock: Mutex::new(()), sleepers: Condvar::new() }
    }
}

impl System for Queue {
    type Word = Modelled;
    fn fence(&self) {
        fence(SeqCst);
    }
    fn wait(&self, word: &Modelled, expected: u32) -> Woken {
        let guard = self.lock.lock().unwrap();
        if word.load() == expected {
            drop(self.sleepers.wait(guard).unwrap());
        }
        Woken::Again
    }
    fn wake(&self, _: &Modelled) {
        let _guard = self.lock.lock().unwrap();
        self.sleepers.notify_all();
    }
}

const CHUNKS: usize = 1;

struct Ring {
    head: Modelled,
    tail: Modelled,
    waits: Modelled,
    doorbell: Modelled,
    sleeps: Modelled,
    lengths: [Modelled; CHUNKS],
    /// Checked by loom: an access that is not ordered with the other side's is an error.
    chunks: [UnsafeCell<u32>; CHUNKS],
    bell: Queue,
    space: Queue,
}

fn ring() -> Arc<Ring> {
    Arc::new(Ring {
        head: word(),
        tail: word(),
        waits: word(),
        doorbell: word(),
        sleeps: word(),
        lengths: [(); CHUNKS].map(|()| word()),
        chunks: [(); CHUNKS].map(|()| UnsafeCell::new(0)),
        bell: Queue::new(),
        space: Queue::new(),
    })
}

#[expect(clippy::modulo_one, reason = "the smallest ring shows every interleaving; the formula is the real one's")]
fn slot(number: u32) -> usize {
    number as usize % CHUNKS
}

fn produce(ring: &Ring, number: u32) {
    let slot = slot(number);
    assert!(protocol::await_space(&ring.space, number, CHUNKS as u32, &ring.tail, &ring.waits, |_| true));
    // SAFETY: loom checks that nobody else is there.
    ring.chunks[slot].with_mut(|chunk| unsafe { *chunk = number + 100 });
    protocol::publish(&ring.bell, &ring.head, &ring.lengths[slot], number + 8, &ring.doorbell, &ring.sleeps);
}

fn consume(ring: &Ring, number: u32) {
    let slot = slot(number);
    assert_eq!(ring.lengths[slot].load(), number + 8);
    // SAFETY: loom checks that nobody else is there.
    assert_eq!(ring.chunks[slot].with(|chunk| unsafe { *chunk }), number + 100);
    protocol::consume(&ring.space, &ring.tail, 1, &ring.waits);
}

fn model(bound: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(body);
}

#[test]
fn every_chunk_arrives_once_and_nobody_sleeps_for_ever() {
    const NUMBERS: u32 = 3;
    model(3, || {
        let ring = ring();
        let producer = Arc::clone(&ring);
        let thread = loom::thread::spawn(move || (0..NUMBERS).for_each(|number| produce(&producer, number)));
        let mut next = 0;
        while next < NUMBERS {
            let ticket = ring.doorbell.load_acquire();
            let mut found = false;
            while protocol::published::<Queue>(&ring.head, next) > 0 {
                consume(&ring, next);
                next += 1;
                found = true;
            }
            if !found {
                protocol::sleep(&ring.bell, &ring.doorbell, &ring.sleeps, ticket);
            }
        }
        thread.join().unwrap();
    });
}

#[test]
fn two_sleepers_are_both_woken() {
    model(2, || {
        let ring = ring();
        let threads = [(); 2].map(|()| {
            let ring = Arc::clone(&ring);
            loom::thread::spawn(move || {
                while ring.doorbell.load_acquire() == 0 {
                    protocol::sleep(&ring.bell, &ring.doorbell, &ring.sleeps, 0);
                }
                // The bell's release orders the head before it.
                assert_eq!(protocol::published::<Queue>(&ring.head, 0), 1);
            })
        });
        produce(&ring, 0);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// A wake-up with or without the fences of [`protocol::bump`] and [`protocol::sleep`].
struct Bell {
    queue: Queue,
    fenced: bool,
}

impl System for Bell {
    type Word = Modelled;
    fn fence(&self) {
        if self.fenced {
            self.queue.fence();
        }
    }
    fn wait(&self, word: &Modelled, expected: u32) -> Woken {
        self.queue.wait(word, expected)
    }
    fn wake(&self, word: &Modelled) {
        self.queue.wake(word);
    }
}

fn one_wake_up(fenced: bool) {
    model(3, move || {
        let bell = Arc::new((Bell { queue: Queue::new(), fenced }, word(), word()));
        let other = Arc::clone(&bell);
        let thread = loom::thread::spawn(move || protocol::bump(&other.0, &other.1, &other.2));
        while bell.1.load_acquire() == 0 {
            protocol::sleep(&bell.0, &bell.1, &bell.2, 0);
        }
        thread.join().unwrap();
    });
}

/// The model can fail: without the fences, a wake-up is lost.
#[test]
fn model_finds_a_missing_fence() {
    one_wake_up(true);
    let outcome = std::panic::catch_unwind(|| one_wake_up(false));
    assert!(outcome.is_err(), "loom did not see the lost wake-up");
}
