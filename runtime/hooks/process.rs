//! Forks, and threads that are gone.
//!
//! *Fork*: the child may not write into its parent's rings. The C library's fork handlers tell the child first thing
//! ([`enter_child`]); a child that was made past the C library is recognised at its first full chunk by a page that the
//! kernel wipes on fork (not on vfork, where parent and child share the ring, one after the other). Module
//! registrations are inherited: every ring names the ancestors that have registered modules.
//!
//! *Threads that are gone* leave their ring mapped. Each claim looks at a few mappings and drops those of dead threads,
//! so that a program with a hundred thousand short threads does not run into the limit on mappings.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use crate::abi::{ChannelHeader, MAX_RINGS, PAGE, loss, ring_kind};
use crate::{arch, channel, synchronise, sys, thread};

const NO_RING: u32 = u32::MAX;

/// 1; 0 after a fork that nobody told us of.
static GUARD: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());
static GENERATION: AtomicU32 = AtomicU32::new(0);
static PID: AtomicU32 = AtomicU32::new(0);
/// This process has registered modules of its own.
static REGISTERED: AtomicU32 = AtomicU32::new(0);
/// The process's number in the run.
static NUMBER: AtomicU32 = AtomicU32::new(0);
static ANCESTORS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

/// 1 in a forked child until its first ring.
static FORK_PENDING: AtomicU32 = AtomicU32::new(0);
static FORK_PARENT: AtomicU32 = AtomicU32::new(NO_RING);

/// Called once by the thread that attached the channel.
pub fn attached(channel: &ChannelHeader) {
    channel::look_for_consumer(channel);
    PID.store(sys::pid(), Relaxed);
    NUMBER.store(channel.processes.fetch_add(1, Relaxed) + 1, Relaxed);
    if let Some(page) = sys::map_private(PAGE) {
        const WIPEONFORK: usize = 18;
        // SAFETY: a page of our own. Kernels without the advice refuse it, and then the page is never wiped.
        unsafe { sys::call(sys::MADVISE, page, PAGE, WIPEONFORK, 0, 0, 0) };
        let word = page as *mut AtomicU32;
        // SAFETY: as above.
        unsafe { (*word).store(1, Relaxed) };
        GUARD.store(word, Release);
    }
    at_fork(after_fork);
}

/// Has the C library of this copy of the hooks call a function in every child of a fork.
pub fn at_fork(child: extern "C" fn()) {
    // Weak: a static program has it exactly if it contains `fork`.
    let register = weak_address!("__register_atfork");
    if register != 0 {
        // The handle makes the C library forget the handler when a library that carries these hooks is closed.
        type Handler = Option<extern "C" fn()>;
        // SAFETY: glibc's signature.
        let register: extern "C" fn(Handler, Handler, Handler, usize) -> i32 =
            unsafe { core::mem::transmute::<usize, _>(register) };
        register(None, None, Some(child), arch::module_handle());
    }
}

extern "C" fn after_fork() {
    enter_child(false);
}

/// A fork of another C library than the one that calls [`after_fork`], or of the same one.
pub extern "C" fn after_unseen_fork() {
    if forked_unseen() {
        enter_child(false);
    }
}

/// True in a child of a fork that did not call the fork handlers.
#[inline(always)]
pub fn forked_unseen() -> bool {
    // SAFETY: null or a page that is never unmapped.
    unsafe { GUARD.load(Relaxed).as_ref() }.is_some_and(|word| word.load(Relaxed) == 0)
}

/// The child of a fork, on its only thread: leaves the parent's ring.
pub fn enter_child(unseen: bool) {
    let old = thread::current();
    // SAFETY: the thread's pointer always names a header, and an active one has a private part.
    if unsafe { thread::is_active(old) } {
        // SAFETY: as above.
        FORK_PARENT.store(unsafe { thread::private(old).index }, Relaxed);
    }
    GENERATION.fetch_add(1, Relaxed);
    synchronise::enter_child();
    FORK_PENDING.store(1, Relaxed);
    if REGISTERED.swap(0, Relaxed) != 0 {
        let mut number = NUMBER.load(Relaxed);
        for slot in &ANCESTORS {
            number = slot.swap(number, Relaxed);
        }
    }
    PID.store(sys::pid(), Relaxed);
    if let Some(channel) = channel::attached().filter(|_| !channel::is_inert()) {
        channel::look_for_consumer(channel);
        NUMBER.store(channel.processes.fetch_add(1, Relaxed) + 1, Relaxed);
        if unseen {
            channel::lost(channel, loss::UNSEEN_FORK);
        }
    }
    // The parent's rings stay mapped here, untouched and forgotten. Its other threads may have held the lock.
    MAPPINGS.store(null_mut(), Relaxed);
    MAPPING_COUNT.store(0, Relaxed);
    LOCK.store(0, Relaxed);
    // SAFETY: null or a page that is never unmapped.
    if let Some(word) = unsafe { GUARD.load(Relaxed).as_ref() } {
        word.store(1, Relaxed);
    }
    thread::set_current(thread::boot());
}

pub fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// Kind and parent of a thread's first ring.
pub fn first_kind() -> (u32, u32) {
    if FORK_PENDING.swap(0, Relaxed) != 0 {
        (ring_kind::FORK, FORK_PARENT.swap(NO_RING, Relaxed))
    } else {
        (ring_kind::THREAD, NO_RING)
    }
}

pub fn modules_registered() {
    REGISTERED.store(1, Relaxed);
}

/// The process's number in the run.
pub fn number() -> u32 {
    NUMBER.load(Relaxed)
}

pub fn ancestors() -> [u32; 4] {
    [0, 1, 2, 3].map(|i: usize| ANCESTORS.get(i).map_or(0, |slot| slot.load(Relaxed)))
}

/// A ring's mapping of this process.
#[repr(C)]
#[derive(Clone, Copy)]
struct Mapping {
    start: usize,
    bytes: usize,
    tid: u32,
}

/// Looked at per claim.
const LOOK: u32 = 4;

/// Held for a few instructions and system calls, with signals blocked.
static LOCK: AtomicU32 = AtomicU32::new(0);
static MAPPINGS: AtomicPtr<Mapping> = AtomicPtr::new(null_mut());
static MAPPING_COUNT: AtomicU32 = AtomicU32::new(0);
static HAND: AtomicU32 = AtomicU32::new(0);

/// Notes a new ring's mapping and drops some of dead threads. `fresh` = the thread had no ring before, so that older
/// mappings with its number are of a dead thread.
pub fn remember_mapping(start: usize, bytes: usize, tid: u32, fresh: bool) {
    while LOCK.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        sys::yield_now();
    }
    let mut list = MAPPINGS.load(Relaxed);
    if list.is_null() {
        list = sys::map_private(MAX_RINGS * size_of::<Mapping>()).unwrap_or(0) as *mut Mapping;
        MAPPINGS.store(list, Relaxed);
    }
    if !list.is_null() {
        let pid = PID.load(Relaxed);
        let mut count = MAPPING_COUNT.load(Relaxed);
        let mut hand = HAND.load(Relaxed);
        for _ in 0..LOOK {
            if count == 0 {
                break;
            }
            if hand >= count {
                hand = 0;
            }
            // SAFETY: below the count, which is below the list's length; the lock is held.
            unsafe {
                let entry = *list.add(hand as usize);
                let dead = if entry.tid == tid { fresh } else { !sys::thread_lives(pid, entry.tid) };
                if dead {
                    sys::unmap(entry.start, entry.bytes);
                    count -= 1;
                    *list.add(hand as usize) = *list.add(count as usize);
                } else {
                    hand += 1;
                }
            }
        }
        if (count as usize) < MAX_RINGS {
            // SAFETY: as above.
            unsafe { *list.add(count as usize) = Mapping { start, bytes, tid } };
            count += 1;
        }
        HAND.store(hand, Relaxed);
        MAPPING_COUNT.store(count, Relaxed);
    }
    LOCK.store(0, Release);
}
