//! How threads wait for each other, as events say it ([`EventKind::Synchronise`](crate::EventKind::Synchronise)).
//!
//! Three kinds of objects: threads by their handles (`pthread_t`), locks and the like by their addresses, and
//! *tickets*. Each address has a counter of tickets in the process ([`ticket_counter`]). A release takes the next
//! ticket, right before it takes effect; an acquire notes how many were taken, right after it took effect. So whoever
//! acquires what somebody released has a number at least as large.
//!
//! An event has 5 words: the event's first word, what was done, an object, a value, another value. The 3rd release in
//! the process at the counter of 0x1000, and the acquire that comes after it:
//!
//! ```text
//!   de05000000000000 8 0000000000001000 3 0    Release, ticket 3
//!   de05000000000000 9 0000000000001000 3 0    Acquire, 3 tickets taken
//! ```

numbered! {
    /// What a thread did. Operands of the event: this, an object, a value, another value.
    pub enum Synchronise: u64 {
        /// The ring begins: handle of its thread, number of the event in the process, number in its team of OpenMP.
        Start = 1,
        /// A thread was made: its handle, number of the event in the process.
        Created = 2,
        /// Waits for the end of a thread: its handle, number of the event in the process.
        Joined = 3,
        /// Has got a lock, for itself.
        Lock = 4,
        /// Has got a lock together with others.
        LockShared = 5,
        /// Gives a lock back.
        Unlock = 6,
        /// Has waited for a condition: its address, tickets taken, the mutex that was given back meanwhile.
        Condition = 7,
        /// A release: address, ticket.
        Release = 8,
        /// An acquire: address, tickets taken.
        Acquire = 9,
        /// Has come to a barrier and waits for the others: its address, threads of the team of OpenMP, else 0.
        Barrier = 10,
        /// A barrier is for so many threads from now on.
        BarrierSize = 11,
        /// Adds a unit to a semaphore.
        Post = 12,
        /// Has taken a unit from a semaphore.
        Take = 13,
        /// A semaphore has so many units from now on.
        Units = 14,
    }
}

/// Counters of tickets; addresses that fall on one share it, and are ordered more than they need to be.
pub const TICKET_COUNTERS: usize = 1 << 14;

/// The counter of an address.
#[inline]
#[must_use]
pub const fn ticket_counter(address: u64) -> usize {
    // The upper bits of a product depend on all bits below.
    ((address >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as usize
}

const _: () = assert!(TICKET_COUNTERS == 1 << (64 - 50));

/// What the teams of OpenMP synchronise by, where no address of the program says so.
pub mod team {
    /// A team begins.
    pub const BEGINS: u64 = 8;
    /// A thread of a team has done its part.
    pub const PART_ENDS: u64 = 16;
}
