//! The model of interleaving: whose turn it is, and who waits for whom. See `docs/threads.md`.
//!
//! Takes how far threads come and how they synchronise, gives the thread that goes on. Each thread has a clock of its
//! own accesses. Of those that may go on, the one with the least turn does, of several the one with the least number;
//! it goes on until its turn is over or it waits. Who was let go on by another thread has a clock at least as large as
//! that one's. Nothing in here depends on the clock of the machine. Refuses nothing: where what was written down cannot
//! have happened in this order, one thread is let go on, and counted.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::tickets::Tickets;
use crate::{
    abi::synchronise::{Synchronise, team, ticket_counter},
    analysis::shared::{ThreadNumber, Undefined},
    decode::event::Synchronised,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    For(Synchronise, u64),
    /// For tickets, then for a mutex if there is one.
    Tickets {
        counter: usize,
        value: u64,
        then: Option<u64>,
    },
}

#[derive(Clone, Debug, Default)]
struct Thread {
    clock: u64,
    waits: Option<Waits>,
    ended: bool,
}

#[derive(Default)]
struct Lock {
    owner: Option<ThreadNumber>,
    /// Times that the owner has it.
    depth: u64,
    readers: Vec<ThreadNumber>,
    /// In the order in which they came, and whether they share it.
    waiting: VecDeque<(ThreadNumber, bool)>,
    /// Clocks when it was last given back by an owner, and by a reader.
    written: u64,
    read: u64,
}

#[derive(Default)]
struct Barrier {
    size: u64,
    arrived: Vec<ThreadNumber>,
}

#[derive(Default)]
struct Semaphore {
    /// Its first units were seen.
    is_known: bool,
    /// Clocks when its units were added.
    units: VecDeque<u64>,
    waiting: VecDeque<ThreadNumber>,
}

/// The threads of a process.
pub struct Order {
    turn: u64,
    threads: Vec<Thread>,
    /// (Turn, number) of those that may go on.
    ready: BTreeSet<(u64, ThreadNumber)>,
    locks: HashMap<u64, Lock>,
    barriers: HashMap<u64, Barrier>,
    semaphores: HashMap<u64, Semaphore>,
    tickets: HashMap<usize, Tickets>,
    /// The thread that has a handle, or had it last.
    handles: HashMap<u64, ThreadNumber>,
    joiners: HashMap<ThreadNumber, Vec<ThreadNumber>>,
    pub undefined: Undefined,
}

impl Order {
    /// No threads yet; a turn is so many accesses.
    #[must_use]
    pub fn new(turn: u64) -> Self {
        Self {
            turn: turn.max(1),
            threads: Vec::new(),
            ready: BTreeSet::new(),
            locks: HashMap::new(),
            barriers: HashMap::new(),
            semaphores: HashMap::new(),
            tickets: HashMap::new(),
            handles: HashMap::new(),
            joiners: HashMap::new(),
            undefined: Undefined::default(),
        }
    }

    /// A thread begins, no earlier than `by` has come.
    pub fn begin(&mut self, by: Option<ThreadNumber>, handle: Option<u64>) -> ThreadNumber {
        let number = self.threads.len() as ThreadNumber;
        let clock = by.map_or(0, |by| self.threads[by as usize].clock);
        self.threads.push(Thread { clock, ..Thread::default() });
        if let Some(handle) = handle {
            self.handles.insert(handle, number);
        }
        self.make_ready(number);
        number
    }

    /// Whose turn it is; `None` if nobody can go on.
    #[must_use]
    pub fn next(&self) -> Option<ThreadNumber> {
        self.ready.first().map(|(_, number)| *number)
    }

    /// Accesses that the thread whose turn it is may do before another one's comes.
    #[must_use]
    pub fn room(&self, number: ThreadNumber) -> u64 {
        let clock = self.threads[number as usize].clock;
        match self.ready.iter().find(|(_, other)| *other != number) {
            None => u64::MAX,
            Some((turn, _)) => (clock / self.turn + 1).max(*turn) * self.turn - clock,
        }
    }

    /// The thread whose turn it is has done so many accesses.
    pub fn advance(&mut self, number: ThreadNumber, accesses: u64) {
        let thread = &mut self.threads[number as usize];
        let before = thread.clock / self.turn;
        thread.clock += accesses;
        let after = thread.clock / self.turn;
        if before != after {
            self.ready.remove(&(before, number));
            self.ready.insert((after, number));
        }
    }

    /// The thread has no more to do.
    pub fn end(&mut self, number: ThreadNumber) {
        self.not_ready(number);
        let thread = &mut self.threads[number as usize];
        thread.ended = true;
        let clock = thread.clock;
        for joiner in self.joiners.remove(&number).unwrap_or_default() {
            self.go_on(joiner, clock);
        }
    }

    /// The thread whose turn it is synchronises.
    pub fn event(&mut self, number: ThreadNumber, event: Synchronised) {
        let Synchronised { what, object, value, other } = event;
        let clock = self.threads[number as usize].clock;
        match what {
            Synchronise::Start | Synchronise::Created => {}
            Synchronise::Joined => self.join(number, object),
            Synchronise::Lock => self.lock(number, object, false),
            Synchronise::LockShared => self.lock(number, object, true),
            Synchronise::Unlock => self.unlock(number, object),
            Synchronise::Condition => {
                self.unlock(number, other);
                self.acquire(number, ticket_counter(object), value, Some(other));
            }
            Synchronise::Release => {
                let tickets = self.tickets.entry(ticket_counter(object)).or_default();
                for waiting in tickets.release(value, number, clock) {
                    self.acquired(waiting);
                }
            }
            Synchronise::Acquire => self.acquire(number, ticket_counter(object), value, None),
            Synchronise::BarrierSize => self.barriers.entry(object).or_default().size = value,
            Synchronise::Barrier => self.barrier(number, object, value),
            Synchronise::Units => {
                let units = VecDeque::from(vec![clock; value.min(1 << 20) as usize]);
                self.semaphores.insert(object, Semaphore { is_known: true, units, waiting: VecDeque::new() });
            }
            Synchronise::Post => {
                let semaphore = self.semaphores.entry(object).or_default();
                match semaphore.waiting.pop_front() {
                    Some(waiting) => self.go_on(waiting, clock),
                    None => semaphore.units.push_back(clock),
                }
            }
            Synchronise::Take => self.take(number, object),
        }
    }

    /// Lets one thread go on although what it waits for has not come; whether there was one.
    pub fn force(&mut self) -> bool {
        let waiting = self.threads.iter().zip(0..).filter(|(thread, _)| thread.waits.is_some() && !thread.ended);
        let Some((_, number)) = waiting.map(|(thread, number)| (thread.clock / self.turn, number)).min() else {
            return false;
        };
        self.undefined.unmet += 1;
        let Some(waits) = self.threads[number as usize].waits else { return false };
        match waits {
            Waits::For(Synchronise::Lock | Synchronise::LockShared, object) => {
                let lock = self.locks.entry(object).or_default();
                lock.waiting.retain(|(waiting, _)| *waiting != number);
                (lock.owner, lock.depth) = (Some(number), 1);
            }
            Waits::For(Synchronise::Barrier, object) => {
                let arrived = self.barriers.get_mut(&object).map(|barrier| std::mem::take(&mut barrier.arrived));
                for other in arrived.into_iter().flatten() {
                    self.go_on(other, 0);
                }
            }
            Waits::For(_, object) => {
                if let Some(semaphore) = self.semaphores.get_mut(&object) {
                    semaphore.waiting.retain(|waiting| *waiting != number);
                }
                self.joiners.values_mut().for_each(|joiners| joiners.retain(|joiner| *joiner != number));
            }
            Waits::Tickets { counter, then, .. } => {
                if let Some(tickets) = self.tickets.get_mut(&counter) {
                    tickets.forget(number);
                }
                self.go_on(number, 0);
                if let Some(mutex) = then {
                    self.lock(number, mutex, false);
                }
                return true;
            }
        }
        self.go_on(number, 0);
        true
    }

    fn key(&self, number: ThreadNumber) -> (u64, ThreadNumber) {
        (self.threads[number as usize].clock / self.turn, number)
    }

    fn make_ready(&mut self, number: ThreadNumber) {
        self.ready.insert(self.key(number));
    }

    fn not_ready(&mut self, number: ThreadNumber) {
        self.ready.remove(&self.key(number));
    }

    fn wait(&mut self, number: ThreadNumber, waits: Waits) {
        self.not_ready(number);
        self.threads[number as usize].waits = Some(waits);
    }

    /// The thread goes on, no earlier than at `clock`.
    fn go_on(&mut self, number: ThreadNumber, clock: u64) {
        self.not_ready(number);
        let thread = &mut self.threads[number as usize];
        thread.clock = thread.clock.max(clock);
        thread.waits = None;
        self.make_ready(number);
    }

    fn join(&mut self, number: ThreadNumber, handle: u64) {
        let Some(&ending) = self.handles.get(&handle) else { return };
        let thread = &self.threads[ending as usize];
        if thread.ended {
            return self.go_on(number, thread.clock);
        }
        if ending != number {
            self.joiners.entry(ending).or_default().push(number);
            self.wait(number, Waits::For(Synchronise::Joined, handle));
        }
    }

    fn lock(&mut self, number: ThreadNumber, object: u64, shared: bool) {
        let lock = self.locks.entry(object).or_default();
        if lock.owner == Some(number) {
            lock.depth += 1;
            return;
        }
        let is_free = lock.owner.is_none() && (shared || lock.readers.is_empty());
        if is_free && lock.waiting.is_empty() {
            let clock = grant(lock, number, shared);
            self.undefined.contended += u64::from(clock > self.threads[number as usize].clock);
            return self.go_on(number, clock);
        }
        self.undefined.contended += 1;
        lock.waiting.push_back((number, shared));
        let what = if shared { Synchronise::LockShared } else { Synchronise::Lock };
        self.wait(number, Waits::For(what, object));
    }

    fn unlock(&mut self, number: ThreadNumber, object: u64) {
        let clock = self.threads[number as usize].clock;
        let Some(lock) = self.locks.get_mut(&object) else { return };
        if lock.owner == Some(number) {
            lock.depth -= 1;
            if lock.depth > 0 {
                return;
            }
            lock.owner = None;
            lock.written = clock;
        } else if let Some(at) = lock.readers.iter().position(|reader| *reader == number) {
            lock.readers.swap_remove(at);
            lock.read = lock.read.max(clock);
        } else {
            // It was got before there were several threads.
            return;
        }
        let mut granted = Vec::new();
        while let Some(&(next, shared)) = lock.waiting.front() {
            if lock.owner.is_some() || (!shared && !lock.readers.is_empty()) {
                break;
            }
            lock.waiting.pop_front();
            granted.push((next, grant(lock, next, shared)));
        }
        for (next, clock) in granted {
            self.go_on(next, clock);
        }
    }

    fn acquire(&mut self, number: ThreadNumber, counter: usize, value: u64, then: Option<u64>) {
        let tickets = self.tickets.entry(counter).or_default();
        match tickets.acquire(number, value) {
            None => self.wait(number, Waits::Tickets { counter, value, then }),
            Some(found) => {
                self.undefined.by_run += u64::from(found.by_others && !is_team(counter));
                self.go_on(number, found.clock);
                if let Some(mutex) = then {
                    self.lock(number, mutex, false);
                }
            }
        }
    }

    /// Tickets that a thread waited for are there.
    fn acquired(&mut self, number: ThreadNumber) {
        if let Some(Waits::Tickets { counter, value, then }) = self.threads[number as usize].waits {
            self.acquire(number, counter, value, then);
        }
    }

    fn barrier(&mut self, number: ThreadNumber, object: u64, size: u64) {
        let barrier = self.barriers.entry(object).or_default();
        if size > 0 {
            barrier.size = size;
        }
        if barrier.size == 0 {
            self.undefined.unmet += 1;
            return;
        }
        barrier.arrived.push(number);
        if (barrier.arrived.len() as u64) < barrier.size {
            return self.wait(number, Waits::For(Synchronise::Barrier, object));
        }
        let arrived = std::mem::take(&mut barrier.arrived);
        let last = arrived.iter().map(|number| self.threads[*number as usize].clock).max().unwrap_or(0);
        arrived.into_iter().for_each(|number| self.go_on(number, last));
    }

    fn take(&mut self, number: ThreadNumber, object: u64) {
        let semaphore = self.semaphores.entry(object).or_default();
        match semaphore.units.pop_front() {
            Some(clock) => self.go_on(number, clock),
            None if semaphore.is_known => {
                semaphore.waiting.push_back(number);
                self.wait(number, Waits::For(Synchronise::Take, object));
            }
            // Nobody said how many it had.
            None => self.undefined.unmet += 1,
        }
    }
}

/// Whether a team of OpenMP begins or ends by this counter: that is the same in every run.
fn is_team(counter: usize) -> bool {
    [team::BEGINS, team::PART_ENDS].iter().any(|object| ticket_counter(*object) == counter)
}

/// Gives a free lock to a thread; the clock that it goes on at, at least.
fn grant(lock: &mut Lock, number: ThreadNumber, shared: bool) -> u64 {
    if shared {
        lock.readers.push(number);
        return lock.written;
    }
    (lock.owner, lock.depth) = (Some(number), 1);
    lock.written.max(lock.read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: u64 = 64;

    /// Threads from the start on, with turns of ten accesses.
    fn order(threads: usize) -> Order {
        let mut order = Order::new(10);
        (0..threads).for_each(|thread| assert_eq!(order.begin(None, None), thread as ThreadNumber));
        order
    }

    fn event(order: &mut Order, thread: ThreadNumber, what: Synchronise, object: u64, value: u64) {
        order.event(thread, Synchronised { what, object, value, other: 0 });
    }

    fn clock(order: &Order, thread: ThreadNumber) -> u64 {
        order.threads[thread as usize].clock
    }

    fn waits(order: &Order, thread: ThreadNumber) -> bool {
        order.threads[thread as usize].waits.is_some()
    }

    #[test]
    fn a_thread_goes_on_until_its_turn_is_over_and_catches_up_with_others() {
        let mut order = order(2);
        assert_eq!((order.next(), order.room(0)), (Some(0), 10));
        order.advance(0, 4);
        assert_eq!((order.next(), order.room(0)), (Some(0), 6));
        order.advance(0, 31);
        assert_eq!((order.next(), order.room(1)), (Some(1), 30), "the other one is in its fourth turn");
        order.advance(1, 30);
        assert_eq!((order.next(), order.room(0)), (Some(0), 5));
        order.advance(0, 5);
        assert_eq!((order.next(), order.room(1)), (Some(1), 10));
        let made = order.begin(Some(0), None);
        assert_eq!((made, clock(&order, made)), (2, 40), "no earlier than it was made");
        [0, 1].into_iter().for_each(|thread| order.end(thread));
        assert_eq!((order.next(), order.room(2)), (Some(2), u64::MAX), "nobody else is there");
    }

    #[test]
    fn a_lock_is_given_back_as_often_as_it_was_got_and_goes_to_who_came_first() {
        let mut order = order(3);
        let lock = |order: &mut Order, thread| event(order, thread, Synchronise::Lock, LOCK, 0);
        let unlock = |order: &mut Order, thread| event(order, thread, Synchronise::Unlock, LOCK, 0);
        [0, 0, 2, 1].into_iter().for_each(|thread| lock(&mut order, thread));
        assert_eq!(order.undefined.contended, 2, "two wait");
        order.advance(0, 7);
        unlock(&mut order, 0);
        assert!(waits(&order, 1) && waits(&order, 2), "its owner had it twice");
        unlock(&mut order, 1);
        unlock(&mut order, 0);
        assert!(waits(&order, 1) && !waits(&order, 2));
        assert_eq!(clock(&order, 2), 7);
        unlock(&mut order, 2);
        assert!(!waits(&order, 1));
        unlock(&mut order, 1);
        // At the time at which it was given back nobody had to wait; before it the model chose.
        lock(&mut order, 0);
        unlock(&mut order, 0);
        assert_eq!(order.undefined.contended, 2);
        order.advance(0, 20);
        lock(&mut order, 0);
        unlock(&mut order, 0);
        lock(&mut order, 1);
        assert_eq!((order.undefined.contended, clock(&order, 1)), (3, 27));
    }

    #[test]
    fn readers_share_a_lock_that_a_writer_waits_for_and_come_behind_it() {
        let mut order = order(4);
        let share = |order: &mut Order, thread| event(order, thread, Synchronise::LockShared, LOCK, 0);
        let unlock = |order: &mut Order, thread| event(order, thread, Synchronise::Unlock, LOCK, 0);
        [0, 1].into_iter().for_each(|thread| share(&mut order, thread));
        assert!(!waits(&order, 0) && !waits(&order, 1));
        event(&mut order, 2, Synchronise::Lock, LOCK, 0);
        share(&mut order, 3);
        assert!(waits(&order, 2) && waits(&order, 3));
        order.advance(0, 9);
        unlock(&mut order, 0);
        assert!(waits(&order, 2));
        unlock(&mut order, 1);
        assert!(!waits(&order, 2) && waits(&order, 3));
        assert_eq!(clock(&order, 2), 9, "the latest of the readers");
        unlock(&mut order, 2);
        assert!(!waits(&order, 3));
        share(&mut order, 0);
        assert!(!waits(&order, 0));
        event(&mut order, 1, Synchronise::Lock, LOCK, 0);
        assert!(waits(&order, 1), "readers have it");
    }

    #[test]
    fn what_others_release_is_in_the_order_of_the_run_unless_it_is_a_teams() {
        let by_run = |object, by| {
            let mut order = order(2);
            event(&mut order, by, Synchronise::Release, object, 1);
            event(&mut order, 1, Synchronise::Acquire, object, 1);
            order.undefined.by_run
        };
        assert_eq!([by_run(4096, 0), by_run(4096, 1)], [1, 0]);
        assert_eq!([by_run(team::BEGINS, 0), by_run(team::PART_ENDS, 0)], [0, 0]);
    }

    #[test]
    fn what_cannot_be_known_is_counted_and_nobody_waits_for_it() {
        let mut order = order(2);
        event(&mut order, 0, Synchronise::Barrier, 4096, 0);
        event(&mut order, 0, Synchronise::Take, 8192, 0);
        assert_eq!((order.undefined.unmet, waits(&order, 0)), (2, false), "nobody said how many there are");
        event(&mut order, 0, Synchronise::Units, 8192, 1);
        event(&mut order, 0, Synchronise::Take, 8192, 0);
        assert!(!waits(&order, 0));
        event(&mut order, 0, Synchronise::Take, 8192, 0);
        assert!(waits(&order, 0));
        event(&mut order, 1, Synchronise::Post, 8192, 0);
        assert!(!waits(&order, 0));
        event(&mut order, 0, Synchronise::Barrier, 4096, 2);
        assert!(waits(&order, 0));
        order.advance(1, 33);
        event(&mut order, 1, Synchronise::Barrier, 4096, 0);
        assert_eq!((waits(&order, 0), clock(&order, 0), order.undefined.unmet), (false, 33, 2));
    }

    #[test]
    fn of_those_that_wait_in_vain_the_first_in_turn_is_let_go_on() {
        let mut order = order(3);
        [(0, 25), (1, 12), (2, 19)].into_iter().for_each(|(thread, accesses)| order.advance(thread, accesses));
        (0..3).for_each(|thread| event(&mut order, thread, Synchronise::Acquire, 4096, 1));
        let forced: Vec<_> = (0..3)
            .map(|_| {
                assert!(order.next().is_none() && order.force());
                let next = order.next().expect("it goes on");
                order.end(next);
                next
            })
            .collect();
        assert_eq!((forced, order.force(), order.undefined.unmet), (vec![1, 2, 0], false, 3));
    }

    #[test]
    fn who_is_let_go_on_has_what_it_waited_for() {
        let mut order = order(3);
        (0..2).for_each(|thread| event(&mut order, thread, Synchronise::Lock, LOCK, 0));
        event(&mut order, 2, Synchronise::Lock, LOCK, 0);
        order.end(0);
        assert!(order.force());
        assert!(!waits(&order, 1) && waits(&order, 2));
        event(&mut order, 1, Synchronise::Unlock, LOCK, 0);
        assert!(!waits(&order, 2), "the one behind it has the lock now");
        // A condition whose mutex somebody else has: it waits for that next.
        let condition = Synchronised { what: Synchronise::Condition, object: 4096, value: 1, other: LOCK };
        order.event(1, condition);
        assert!(order.force() && waits(&order, 1));
        event(&mut order, 2, Synchronise::Unlock, LOCK, 0);
        assert!(!waits(&order, 1));
    }
}
