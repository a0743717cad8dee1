//! Releases and acquires by one counter of tickets.
//!
//! Takes tickets in whatever order the model has them, gives when all up to one are there, and the largest clock of
//! those.

use std::collections::{BTreeMap, VecDeque};

use crate::analysis::shared::ThreadNumber;

/// Releases that are remembered one by one; older ones are taken together.
const REMEMBERED: usize = 4096;

/// The releases of one counter.
#[derive(Default)]
pub struct Tickets {
    /// All up to here are there.
    floor: u64,
    /// Those beyond it: who took them, and the clock.
    beyond: BTreeMap<u64, (ThreadNumber, u64)>,
    /// (Ticket, largest clock of all up to it, its thread), where the clock grows.
    history: VecDeque<(u64, u64, ThreadNumber)>,
    waiting: Vec<(ThreadNumber, u64)>,
}

/// What an acquire has to come after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    pub clock: u64,
    /// The last of the releases is another thread's.
    pub by_others: bool,
}

impl Tickets {
    /// A thread releases; gives the threads that have waited for that.
    pub fn release(&mut self, ticket: u64, by: ThreadNumber, clock: u64) -> Vec<ThreadNumber> {
        self.beyond.insert(ticket, (by, clock));
        while let Some((by, clock)) = self.beyond.remove(&(self.floor + 1)) {
            self.floor += 1;
            if self.history.back().is_none_or(|(_, most, _)| clock >= *most) {
                self.history.push_back((self.floor, clock, by));
            }
            if self.history.len() > REMEMBERED {
                self.history.pop_front();
            }
        }
        let floor = self.floor;
        let woken = self.waiting.extract_if(.., |(_, value)| *value <= floor);
        woken.map(|(number, _)| number).collect()
    }

    /// What an acquire that saw so many tickets comes after; `None` if the thread has to wait.
    pub fn acquire(&mut self, number: ThreadNumber, value: u64) -> Option<Acquired> {
        if value > self.floor {
            self.waiting.push((number, value));
            return None;
        }
        let up_to = self.history.partition_point(|(ticket, ..)| *ticket <= value);
        let last = up_to.checked_sub(1).and_then(|at| self.history.get(at));
        Some(last.map_or(Acquired { clock: 0, by_others: false }, |(_, clock, by)| Acquired {
            clock: *clock,
            by_others: *by != number,
        }))
    }

    /// A thread waits no more.
    pub fn forget(&mut self, number: ThreadNumber) {
        self.waiting.retain(|(waiting, _)| *waiting != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(clock: u64, by_others: bool) -> Option<Acquired> {
        Some(Acquired { clock, by_others })
    }

    #[test]
    fn an_acquire_comes_after_all_tickets_up_to_its_own() {
        let mut tickets = Tickets::default();
        assert_eq!(tickets.acquire(1, 0), found(0, false), "nothing was released before it");
        assert_eq!(tickets.acquire(1, 2), None);
        assert_eq!(tickets.acquire(2, 3), None);
        assert!(tickets.release(2, 7, 50).is_empty(), "the one before it is not there");
        assert_eq!(tickets.release(1, 3, 100), [1]);
        assert_eq!(tickets.acquire(1, 2), found(100, true), "the later one of the two");
        assert_eq!(tickets.acquire(3, 2), found(100, false));
        assert_eq!(tickets.release(3, 9, 100), [2]);
        assert_eq!(tickets.acquire(2, 3), found(100, true));
        assert_eq!(tickets.acquire(9, 3), found(100, false), "of two at one time the last");
        assert_eq!(tickets.acquire(9, 2), found(100, true));
    }

    #[test]
    fn who_waits_no_more_is_not_let_go_on() {
        let mut tickets = Tickets::default();
        assert_eq!([1, 2, 3].map(|thread| tickets.acquire(thread, 1)), [None; 3]);
        tickets.forget(2);
        assert_eq!(tickets.release(1, 0, 5), [1, 3]);
    }

    #[test]
    fn the_latest_releases_are_remembered() {
        let mut tickets = Tickets::default();
        let all = REMEMBERED as u64 + 10;
        (1..=all).for_each(|ticket| _ = tickets.release(ticket, 0, 10 * ticket));
        assert_eq!(tickets.acquire(0, 10), found(0, false));
        assert_eq!(tickets.acquire(0, 11), found(110, false));
        assert_eq!(tickets.acquire(0, all), found(10 * all, false));
    }
}
