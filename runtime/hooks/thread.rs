//! The thread's pointer to its ring, and what the producer keeps about a ring.
//!
//! Each copy of the hooks has a pointer of its own (see `copies`); the one that does the work changes all of them at
//! once.
//!
//! ```text
//!   pointer -> 0 | RingHeader, 256 bytes |    known to the consumer
//!            256 | unused                |
//!           2048 | Private               |    the producer's alone
//!           4096 | chunk 0 ...           |
//! ```
//!
//! The pointer 0x7ffff7a00000 has its [`Private`] at 0x7ffff7a00800. It leads to no such page as long as the state is
//! not `ACTIVE`: then there is a header alone, or one with a buffer right behind it.

use core::sync::atomic::Ordering::{AcqRel, Relaxed};
use core::sync::atomic::{AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize};

use crate::abi::{RING_CHUNKS, RingHeader, ring_state};
use crate::arch;
pub use crate::arch::{ring as current, set_ring as set_own};
use crate::sample::{self, Sample};

pub const fn empty() -> RingHeader {
    RingHeader {
        cursor: AtomicU64::new(0),
        limit: AtomicU64::new(0),
        left: AtomicI64::new(sample::ALWAYS),
        next: AtomicU64::new(0),
        contexts: 0,
        _pad0: [0; 3],
        head: AtomicU32::new(0),
        state: AtomicU32::new(ring_state::UNUSED),
        pid: 0,
        tid: 0,
        kind: 0,
        parent: 0,
        data_address: 0,
        ancestors: [0; 4],
        process: 0,
        has_sites: AtomicU32::new(0),
        forks: AtomicU32::new(0),
        _pad1: 0,
        tail: AtomicU32::new(0),
        producer_waits: AtomicU32::new(0),
        _pad2: [0; 7],
        chunk_len: [const { AtomicU32::new(0) }; RING_CHUNKS],
    }
}

/// Every thread's first ring: full, so that the first hook comes to `ring::reserve`.
pub static BOOT: RingHeader = empty();

/// State of a scratch buffer's header. Never seen outside the process.
pub const SCRATCH: u32 = 0x5c;

/// What the producer keeps about a ring, in the part of the header's page that the layout leaves free.
#[repr(C)]
pub struct Private {
    /// Index in the channel.
    pub index: u32,
    /// The process's [`crate::process::generation`] that claimed it.
    pub generation: u32,
    /// The task that is in `ring::advance`, 0 = none.
    pub inside: AtomicU32,
    /// Ring for handlers that interrupt this one's code.
    pub handler: *mut RingHeader,
    /// For a signal ring: the ring of the interrupted code.
    pub interrupted: *mut RingHeader,
    /// For a signal ring: address in the running handler's frame, and the alternate stack at its start.
    pub frame: usize,
    pub alternate_low: usize,
    pub alternate_high: usize,
    /// What a program that can be sampled looks at.
    pub sample: Sample,
}

const PRIVATE_OFFSET: usize = 2048;
const _: () = assert!(size_of::<RingHeader>() <= PRIVATE_OFFSET);
const _: () = assert!(PRIVATE_OFFSET + size_of::<Private>() <= crate::abi::PAGE);

/// # Safety
/// `ring` must be a ring of the channel, claimed by this process.
pub unsafe fn private<'a>(ring: *mut RingHeader) -> &'a mut Private {
    // SAFETY: inside the header's page; only the thread that owns the ring comes here.
    unsafe { &mut *private_of(ring).cast_mut() }
}

pub fn private_of(ring: *const RingHeader) -> *const Private {
    ring.wrapping_byte_add(PRIVATE_OFFSET).cast()
}

/// [`current`], for other copies.
pub extern "C" fn of_copy() -> *mut RingHeader {
    current()
}

/// Changes the thread's ring, also for the other copies of the hooks.
#[inline(always)]
pub fn set_current(ring: *mut RingHeader) {
    set_own(ring);
    mirror(ring);
}

pub fn boot() -> *mut RingHeader {
    (&raw const BOOT).cast_mut()
}

/// The ring lies in the channel.
///
/// # Safety
/// `ring` must be a value of the thread's ring pointer.
#[inline(always)]
pub unsafe fn is_active(ring: *mut RingHeader) -> bool {
    // SAFETY: always a header.
    unsafe { (*ring).state.load(Relaxed) == ring_state::ACTIVE }
}

/// Makes a ring that nobody reads of a header with room behind it.
///
/// # Safety
/// `ring` is the caller's.
pub unsafe fn make_scratch(ring: *mut RingHeader) {
    // SAFETY: as demanded from the caller.
    unsafe { (*ring).state.store(SCRATCH, Relaxed) };
}

/// Copies that may join.
const MOST: usize = 64;
/// Where their pointers to the thread's ring are, from the thread's own address; 0 = none.
static POINTERS: [AtomicIsize; MOST] = [const { AtomicIsize::new(0) }; MOST];
/// Those behind it were never used.
static POINTERS_END: AtomicUsize = AtomicUsize::new(0);

/// Notes where another copy's pointer is; false = it is one too many.
pub fn join(offset: isize) -> bool {
    let free = |slot: &&AtomicIsize| slot.compare_exchange(0, offset, AcqRel, Relaxed).is_ok();
    let Some(index) = POINTERS.iter().position(|slot| free(&slot)) else { return false };
    POINTERS_END.fetch_max(index + 1, AcqRel);
    true
}

pub extern "C" fn leave(offset: isize) {
    for slot in &POINTERS {
        let _ = slot.compare_exchange(offset, 0, AcqRel, Relaxed);
    }
}

/// The thread's ring is another one now, for all copies.
#[inline(always)]
fn mirror(ring: *mut RingHeader) {
    for slot in POINTERS.iter().take(POINTERS_END.load(Relaxed)) {
        let offset = slot.load(Relaxed);
        if offset != 0 {
            // SAFETY: a pointer of a copy that has joined, which every thread has.
            unsafe { arch::set_ring_at(offset, ring) };
        }
    }
}
