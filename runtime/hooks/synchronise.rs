//! How threads wait for each other: calls that synchronise, and atomics with acquire and release, as event records.
//!
//! What orders threads is written down where it takes effect: what lets others go on right before, what waits right
//! after. While the process has one thread, only what makes threads and sizes barriers and semaphores is.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::abi::synchronise::{Synchronise, TICKET_COUNTERS, team, ticket_counter};
use crate::abi::{Call, EventKind, RingHeader};
use crate::arch;

/// 1 once there are, or are about to be, several threads.
static SEVERAL: AtomicU32 = AtomicU32::new(0);
/// 1 once a team of OpenMP has begun.
static TEAMS: AtomicU32 = AtomicU32::new(0);
/// Rings of threads so far.
static THREADS: AtomicU32 = AtomicU32::new(0);
/// Starts, creations and joins so far.
static EVENTS: AtomicU64 = AtomicU64::new(0);
static TICKETS: [AtomicU64; TICKET_COUNTERS] = [const { AtomicU64::new(0) }; TICKET_COUNTERS];

pub const WORDS: usize = 5;

fn words(site: u64, what: Synchronise, object: u64, value: u64, other: u64) -> [u64; WORDS] {
    let head = (EventKind::Synchronise as u64) << 56 | (WORDS as u64) << 48 | (site & ((1 << 48) - 1));
    [head, what as u64, object, value, other]
}

/// Begins a thread's ring, which nobody else has yet.
///
/// # Safety
/// `ring` has room and is this thread's.
pub unsafe fn start(ring: *mut RingHeader) {
    if THREADS.fetch_add(1, AcqRel) > 0 {
        SEVERAL.store(1, Relaxed);
    }
    let member = if TEAMS.load(Relaxed) == 0 { 0 } else { team_number(weak_address!("omp_get_thread_num"), 0) };
    let words = words(0, Synchronise::Start, arch::thread_address(), EVENTS.fetch_add(1, AcqRel), member);
    // SAFETY: as the caller says.
    unsafe {
        let cursor = (*ring).cursor.load(Relaxed);
        (cursor as *mut [u64; WORDS]).write(words);
        (*ring).cursor.store(cursor + WORDS as u64 * 8, Relaxed);
    }
}

/// The next ticket of an address.
fn taken(address: u64) -> u64 {
    TICKETS.get(ticket_counter(address)).map_or(0, |counter| counter.fetch_add(1, AcqRel) + 1)
}

/// Tickets of an address that were taken.
fn seen(address: u64) -> u64 {
    TICKETS.get(ticket_counter(address)).map_or(0, |counter| counter.load(Acquire))
}

/// The child of a fork, on its only thread: what was counted was its parent's.
pub fn enter_child() {
    if SEVERAL.swap(0, Relaxed) != 0 {
        TICKETS.iter().for_each(|counter| counter.store(0, Relaxed));
    }
    TEAMS.store(0, Relaxed);
    THREADS.store(0, Relaxed);
    EVENTS.store(0, Relaxed);
}

/// What stands at an address of the program's.
fn word_at(address: u64) -> u64 {
    // SAFETY: the program hands it to the function that is modelled, which reads it too.
    if address == 0 { 0 } else { unsafe { (address as *const u64).read_unaligned() } }
}

/// What one of OpenMP's functions says of the team at hand; at least so much.
fn team_number(function: usize, least: i32) -> u64 {
    if function == 0 {
        return least as u64;
    }
    // SAFETY: OpenMP's functions of the names that are asked for have this type.
    let function: extern "C" fn() -> i32 = unsafe { core::mem::transmute(function) };
    function().max(least) as u64
}

/// Has a call that synchronises written down.
pub fn meaning(site: u64, call: Call, [a, b, c]: [u64; 3], write: impl Fn([u64; WORDS])) {
    let write = |what, object, value, other| write(words(site, what, object, value, other));
    let succeeded = a as u32 == 0;
    match call {
        Call::ThreadCreated if succeeded => {
            SEVERAL.store(1, Relaxed);
            write(Synchronise::Created, word_at(b), EVENTS.fetch_add(1, AcqRel), 0);
        }
        Call::BarrierSize if succeeded => write(Synchronise::BarrierSize, b, c, 0),
        Call::SemaphoreUnits if succeeded => write(Synchronise::Units, b, c, 0),
        Call::Release if a == team::BEGINS => {
            TEAMS.store(1, Relaxed);
            SEVERAL.store(1, Relaxed);
            write(Synchronise::Release, a, taken(a), 0);
        }
        _ if SEVERAL.load(Relaxed) == 0 => {}
        Call::ThreadJoined => write(Synchronise::Joined, a, EVENTS.fetch_add(1, AcqRel), 0),
        Call::ThreadJoinedAt => write(Synchronise::Joined, word_at(a), EVENTS.fetch_add(1, AcqRel), 0),
        Call::Lock if succeeded => write(Synchronise::Lock, b, 0, 0),
        Call::LockShared if succeeded => write(Synchronise::LockShared, b, 0, 0),
        Call::SemaphoreTake if succeeded => write(Synchronise::Take, b, 0, 0),
        Call::LockIfOne if a as u32 == 1 => write(Synchronise::Lock, b, 0, 0),
        Call::Unlock => write(Synchronise::Unlock, a, 0, 0),
        Call::ConditionWait => write(Synchronise::Condition, a, seen(a), b),
        Call::ConditionWaitAt => write(Synchronise::Condition, a, seen(a), word_at(b)),
        Call::Release => write(Synchronise::Release, a, taken(a), 0),
        Call::Acquire => write(Synchronise::Acquire, a, seen(a), 0),
        Call::Once => {
            write(Synchronise::Acquire, a, seen(a), 0);
            write(Synchronise::Release, a, taken(a), 0);
        }
        Call::Barrier => write(Synchronise::Barrier, a, 0, 0),
        Call::TeamBarrier => {
            let threads = team_number(weak_address!("omp_get_num_threads"), 1);
            if threads > 1 {
                write(Synchronise::Barrier, a, threads, 0);
            }
        }
        Call::SemaphorePost => write(Synchronise::Post, a, 0, 0),
        _ => {}
    }
}
