//! The steps by which the two ends of a ring hand chunks over and wake each other.
//!
//! This file is compiled three times: into the hooks (producer), into the reader (consumer), and into the tests, where
//! `loom` runs both against each other through every interleaving. It is therefore generic over the atomic word and the
//! futex, and says nothing about addresses or memory maps.
//!
//! Two hand-overs exist, both of the same shape (one side changes a counter, the other sleeps on it):
//!
//! | who changes | counter | flag of the sleeper | who sleeps |
//! |---|---|---|---|
//! | producer publishes a chunk | `doorbell` | `consumer_sleeps` | consumer, without work |
//! | consumer frees a chunk | `tail` | `producer_waits` | producer, ring full |
//!
//! The sleeper raises its flag, then reads the counter; the changer changes the counter, then reads the flag. A
//! sequentially consistent fence between the two steps on both sides makes it impossible that both miss each other's
//! store: either the sleeper sees the new counter, or the changer sees the flag and wakes. A wake that comes before the
//! sleep itself is not lost either, because the futex compares the counter once more.

/// An atomic `u32`, real or modelled. Plain names are relaxed.
pub trait Word {
    /// Reads.
    fn load(&self) -> u32;
    /// Reads; what the other side did before its release is visible after it.
    fn load_acquire(&self) -> u32;
    /// Writes.
    fn store(&self, value: u32);
    /// Writes; what was done before is visible to who acquires it.
    fn store_release(&self, value: u32);
    /// Adds, wrapping.
    fn add(&self, value: u32);
    /// Adds, wrapping, with release order.
    fn add_release(&self, value: u32);
}

/// How a futex wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken, or the word was another already, or a signal came: look again.
    Again,
    /// The time is over.
    TimedOut,
}

/// What the operating system gives.
pub trait System {
    /// Its atomic words.
    type Word: Word;
    /// `atomic::fence(SeqCst)`.
    fn fence(&self);
    /// Sleeps on the word if it has the expected value.
    fn wait(&self, word: &Self::Word, expected: u32) -> Woken;
    /// Wakes whoever sleeps on the word.
    fn wake(&self, word: &Self::Word);
}

/// Producer: chunk `head` is complete with `bytes` bytes.
pub fn publish<S: System>(
    system: &S,
    head: &S::Word,
    chunk_len: &S::Word,
    bytes: u32,
    doorbell: &S::Word,
    sleeps: &S::Word,
) {
    chunk_len.store(bytes);
    // Release: whoever sees the new head sees the chunk's words and its length.
    head.store_release(head.load().wrapping_add(1));
    bump(system, doorbell, sleeps);
}

/// Changes the doorbell and wakes the consumer if it sleeps.
pub fn bump<S: System>(system: &S, doorbell: &S::Word, sleeps: &S::Word) {
    // Release: a consumer whose ticket has this ring of the bell sees the head stored before it.
    doorbell.add_release(1);
    system.fence();
    if sleeps.load() != 0 {
        system.wake(doorbell);
    }
}

/// Producer: waits until chunk `head` of a ring of `chunks` may be written. False when `consumer_lives` says no.
pub fn await_space<S: System>(
    system: &S,
    head: u32,
    chunks: u32,
    tail: &S::Word,
    waits: &S::Word,
    mut consumer_lives: impl FnMut(Woken) -> bool,
) -> bool {
    // The consumer is ahead only of a producer that shares its ring with another, and then there is nothing to wait
    // for.
    let has_room = |tail: u32| head.wrapping_sub(tail).cast_signed() < chunks.cast_signed();
    loop {
        // Acquire: the consumer's last reads of the chunk come before our first writes to it.
        if has_room(tail.load_acquire()) {
            return true;
        }
        waits.store(1);
        system.fence();
        let seen = tail.load_acquire();
        let woken = if has_room(seen) { Woken::Again } else { system.wait(tail, seen) };
        waits.store(0);
        if has_room(tail.load_acquire()) {
            return true;
        }
        if !consumer_lives(woken) {
            return false;
        }
    }
}

/// Consumer: the number of published chunks not yet consumed.
pub fn published<S: System>(head: &S::Word, tail: u32) -> u32 {
    // Acquire: pairs with `publish`.
    head.load_acquire().wrapping_sub(tail)
}

/// Consumer: `count` chunks from `tail` on have been read; `tail + count` is the new count.
pub fn consume<S: System>(system: &S, tail: &S::Word, count: u32, waits: &S::Word) {
    // Release: our reads of the chunk come before the producer's next writes to it.
    tail.store_release(tail.load().wrapping_add(count));
    system.fence();
    if waits.load() != 0 {
        system.wake(tail);
    }
}

/// Consumer: sleeps unless the doorbell has rung since `ticket` was read from it.
pub fn sleep<S: System>(system: &S, doorbell: &S::Word, sleeps: &S::Word, ticket: u32) -> Woken {
    // A count, not a flag, so that several threads of the consumer may sleep.
    sleeps.add(1);
    system.fence();
    let woken = if doorbell.load_acquire() == ticket { system.wait(doorbell, ticket) } else { Woken::Again };
    sleeps.add(u32::MAX);
    woken
}

/// The machine's own atomics.
impl Word for core::sync::atomic::AtomicU32 {
    #[inline]
    fn load(&self) -> u32 {
        self.load(core::sync::atomic::Ordering::Relaxed)
    }
    #[inline]
    fn load_acquire(&self) -> u32 {
        self.load(core::sync::atomic::Ordering::Acquire)
    }
    #[inline]
    fn store(&self, value: u32) {
        self.store(value, core::sync::atomic::Ordering::Relaxed);
    }
    #[inline]
    fn store_release(&self, value: u32) {
        self.store(value, core::sync::atomic::Ordering::Release);
    }
    #[inline]
    fn add(&self, value: u32) {
        self.fetch_add(value, core::sync::atomic::Ordering::Relaxed);
    }
    #[inline]
    fn add_release(&self, value: u32) {
        self.fetch_add(value, core::sync::atomic::Ordering::Release);
    }
}
