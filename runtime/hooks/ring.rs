//! The current ring of the thread, and room in it.
//!
//! A hook's fast path: load the thread's ring pointer, `cursor + bytes > limit` goes to [`reserve`], store the words,
//! store `cursor + bytes`. The pointer always names a [`RingHeader`], of one of three sorts told apart by `state`:
//!
//! | state | header | |
//! |---|---|---|
//! | `UNUSED` | the first one, or one that the consumer has wiped | cursor = limit = 0: the next hook claims a ring |
//! | [`SCRATCH`] | one of a few static buffers | overwritten in place; nobody reads it |
//! | `ACTIVE` | in the shared channel | |
//!
//! Every slow path may be left for good at any instruction, by a `longjmp` out of a signal handler: see [`advance`].

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, compiler_fence};

use crate::abi::protocol::{self, System, Woken};
use crate::abi::{
    CHUNK_BYTES, ChannelHeader, MAX_RECORD_WORDS, MAX_RINGS, RING_BYTES, RING_CHUNKS, RING_STRIDE, RingHeader,
    channel_mode, loss, ring_kind, ring_state,
};
use crate::sample::{self, Sample};
use crate::thread::{Private, SCRATCH, current, empty, is_active, private, private_of, set_current};
use crate::{attach, channel, module, process, synchronise, sys};

/// Room used before the cursor is set back. Small, so that inert hooks stay in the first-level cache.
const SCRATCH_ROOM: usize = 1024;

/// Where records go that no channel takes. Any thread may write to the data, at any time; nobody reads it, and no word
/// of it is ever valid.
///
/// Threads may share a buffer: every cursor value in it leaves room up to the limit, and a record that came to
/// [`reserve`] starts at the buffer's start, which has room for the longest.
#[repr(C, align(64))]
struct Scratch {
    header: RingHeader,
    data: [AtomicU64; MAX_RECORD_WORDS],
}

const SCRATCHES: usize = 64;
static SCRATCH_BUFFERS: [Scratch; SCRATCHES] =
    [const { Scratch { header: empty(), data: [const { AtomicU64::new(0) }; MAX_RECORD_WORDS] } }; SCRATCHES];
static NEXT_SCRATCH: AtomicU32 = AtomicU32::new(0);

/// Makes room for `bytes` (at most `MAX_RECORD_WORDS` words) in the thread's ring and returns the cursor. `from`: an
/// address in the code that asks, or 0.
pub extern "C" fn reserve(bytes: usize, from: usize) -> u64 {
    loop {
        let ring = current();
        // SAFETY: the thread's pointer always names a header.
        let header = unsafe { &*ring };
        match header.state.load(Relaxed) {
            ring_state::ACTIVE => {
                let cursor = header.cursor.load(Relaxed);
                if cursor + bytes as u64 <= header.limit.load(Relaxed) {
                    return cursor;
                }
                advance(header);
            }
            SCRATCH => {
                // The buffer's data follows its header.
                let start = ring as u64 + size_of::<RingHeader>() as u64;
                header.limit.store(start + SCRATCH_ROOM as u64, Relaxed);
                header.cursor.store(start, Relaxed);
                return start;
            }
            _ => first_record(from),
        }
    }
}

/// Before the first record of a thread. It may come before the constructor that tells of its module (`.preinit_array`,
/// a library that another one's constructor calls).
#[cold]
fn first_record(from: usize) {
    first_ring();
    if from != 0 {
        module::register(from);
    }
}

/// Sees to a ring before the first record of a thread, where that is of a library call at this site.
#[inline(always)]
pub fn ready_for(site: usize) {
    // SAFETY: the thread's pointer always names a header.
    if unsafe { (*current()).state.load(Relaxed) } == ring_state::UNUSED {
        first_record(site);
    }
}

/// Gives the thread that has none a ring: a claimed one, or scratch.
#[cold]
pub fn first_ring() -> *mut RingHeader {
    let Some(channel) = attach::get() else {
        let ring = scratch();
        set_current(ring);
        return ring;
    };
    let mask = sys::block_signals();
    let now = current();
    // The attach may have run code with hooks (registering the fork handler allocates), and so may a handler.
    // SAFETY: the thread's pointer always names a header.
    let ring = if unsafe { is_active(now) } {
        now
    } else {
        let (kind, parent) = process::first_kind();
        claim(channel, kind, parent).unwrap_or_else(scratch)
    };
    set_current(ring);
    sys::restore_signals(mask);
    ring
}

/// Gives the thread a ring of the sort that code needs which can be sampled, in the place of one of another sort: a
/// claimed one, or whatever there is.
#[cold]
pub fn first_sampled_ring() -> *mut RingHeader {
    let now = current();
    // SAFETY: the thread's pointer always names a header.
    if unsafe { (*now).state.load(Relaxed) } == ring_state::UNUSED {
        return first_ring();
    }
    // SAFETY: as above.
    let claimed = if unsafe { is_active(now) } {
        // SAFETY: as above; a ring of the channel.
        let (kind, parent) = unsafe { ((*now).kind, (*now).parent) };
        attach::get().and_then(|channel| claim(channel, kind, parent))
    } else {
        None
    };
    let Some(ring) = claimed else { return now };
    set_current(ring);
    ring
}

fn scratch() -> *mut RingHeader {
    let chosen = NEXT_SCRATCH.fetch_add(1, Relaxed) as usize % SCRATCHES;
    let buffer = &SCRATCH_BUFFERS[chosen];
    // Cursor and limit stay as they are: 0, or another thread's.
    buffer.header.state.store(SCRATCH, Relaxed);
    (&raw const buffer.header).cast_mut()
}

/// A fresh ring of the channel; `None` = refused, and counted.
pub fn claim(channel: &ChannelHeader, kind: u32, parent: u32) -> Option<*mut RingHeader> {
    // No handler may run in between: it could leave by longjmp with a lock held.
    let mask = sys::block_signals();
    let index = channel.rings_claimed.fetch_add(1, Relaxed);
    let bytes = if sample::is_wanted() { RING_STRIDE } else { RING_BYTES };
    let mapped = if (index as usize) < MAX_RINGS { channel::map_ring(channel, index as usize, bytes) } else { None };
    let ring = mapped.map(|start| {
        let tid = sys::tid();
        process::remember_mapping(start, bytes, tid, kind != ring_kind::SIGNAL);
        let ring = start as *mut RingHeader;
        let data = start as u64 + crate::abi::PAGE as u64;
        // SAFETY: the ring was mapped just now, is zero, and belongs to this thread alone until it is active.
        unsafe {
            (*ring).pid = sys::pid();
            (*ring).tid = tid;
            (*ring).kind = kind;
            (*ring).parent = parent;
            (*ring).data_address = data;
            (*ring).ancestors = process::ancestors();
            (*ring).process = process::number();
            (*ring).cursor.store(data, Relaxed);
            (*ring).limit.store(data + CHUNK_BYTES as u64, Relaxed);
            *private(ring) = Private {
                index,
                generation: process::generation(),
                inside: AtomicU32::new(0),
                handler: null_mut(),
                interrupted: null_mut(),
                frame: 0,
                alternate_low: 0,
                alternate_high: 0,
                sample: Sample::None,
            };
            if bytes == RING_STRIDE {
                private(ring).sample = sample::begin(channel, ring);
            } else {
                (*ring).left.store(sample::ALWAYS, Relaxed);
            }
            if kind != ring_kind::SIGNAL {
                synchronise::start(ring);
            }
            // Release: whoever sees the state sees the header.
            (*ring).state.store(ring_state::ACTIVE, Release);
        }
        ring
    });
    if ring.is_none() {
        channel::lost(channel, loss::RING);
    }
    sys::restore_signals(mask);
    ring
}

/// The system's side of the protocol. By pointers, as the object would export functions that an implementation of a
/// trait names; the compiler sees through them.
struct Kernel {
    wait: fn(*const u32, u32) -> isize,
    wake: fn(*const u32),
}

const KERNEL: Kernel = Kernel { wait: sys::futex_wait, wake: sys::futex_wake };

impl System for Kernel {
    type Word = AtomicU32;
    #[inline(always)]
    fn fence(&self) {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
    }
    #[inline(always)]
    fn wait(&self, word: &AtomicU32, expected: u32) -> Woken {
        if (self.wait)(word.as_ptr(), expected) == sys::ETIMEDOUT { Woken::TimedOut } else { Woken::Again }
    }
    #[inline(always)]
    fn wake(&self, word: &AtomicU32) {
        (self.wake)(word.as_ptr());
    }
}

/// Publishes the current chunk and waits for room for the next one, or leaves the ring.
///
/// A signal handler may interrupt this anywhere and leave by `longjmp`, so that the rest never runs. The limit is 0
/// from the first step to the last: the next hook then comes here again, and finds out how far it got from the cursor,
/// which lies in chunk `head` exactly if `head` was not advanced or the cursor was already moved. Every step may be
/// repeated.
#[cold]
fn advance(header: &RingHeader) {
    if process::forked_unseen() {
        process::enter_child(true);
        return;
    }
    let Some(channel) = attach::get() else {
        set_current(scratch());
        return;
    };
    let chunk = |head: u32| header.data_address + (head as usize % RING_CHUNKS * CHUNK_BYTES) as u64;
    let mut head = header.head.load(Relaxed);
    if channel.mode == channel_mode::DISCARD {
        header.cursor.store(chunk(head), Relaxed);
        header.limit.store(chunk(head) + CHUNK_BYTES as u64, Relaxed);
        return;
    }
    // SAFETY: an active ring has a private part.
    let inside = unsafe { &(*private_of(header)).inside };
    let task = sys::tid();
    // Whoever left this by longjmp comes again with the same number.
    if inside.compare_exchange(0, task, Relaxed, Relaxed).is_err_and(|other| other != task) {
        stop_shared(channel);
        return;
    }
    header.limit.store(0, Relaxed);
    compiler_fence(core::sync::atomic::Ordering::SeqCst);
    let used = header.cursor.load(Relaxed).wrapping_sub(chunk(head));
    if used != 0 && used <= CHUNK_BYTES as u64 {
        let Some(chunk_len) = header.chunk_len.get(head as usize % RING_CHUNKS) else { return };
        protocol::publish(&KERNEL, &header.head, chunk_len, used as u32, &channel.doorbell, &channel.consumer_sleeps);
        head = head.wrapping_add(1);
    }
    compiler_fence(core::sync::atomic::Ordering::SeqCst);
    header.cursor.store(chunk(head), Release);
    let is_left = || !core::ptr::eq(current(), header);
    let mut signals = 0u32;
    let room =
        protocol::await_space(&KERNEL, head, RING_CHUNKS as u32, &header.tail, &header.producer_waits, |woken| {
            // Frequent signals can keep the wait from ever timing out.
            signals = signals.wrapping_add(1);
            let look = woken == Woken::TimedOut || signals.is_multiple_of(64);
            !channel::is_inert() && !is_left() && (!look || channel::consumer_lives(channel))
        });
    if is_left() {
        // Another task of the same thread-local storage stopped recording.
    } else if !room {
        // Counted for a consumer that is not dead but out of sight (in another process namespace).
        channel::lost(channel, loss::CONSUMER);
        channel::give_up();
        set_current(scratch());
    } else {
        compiler_fence(core::sync::atomic::Ordering::SeqCst);
        header.limit.store(chunk(head) + CHUNK_BYTES as u64, Relaxed);
    }
    inside.store(0, Relaxed);
}

/// The thread's records end: it shares its thread-local storage, and so its ring, with a task that runs at the same
/// time.
pub fn stop_shared(channel: &ChannelHeader) {
    // SAFETY: the thread's pointer always names a header.
    if unsafe { is_active(current()) } {
        channel::lost(channel, loss::SHARED_THREAD);
        set_current(scratch());
    }
}

/// Writes one record.
#[inline(always)]
pub fn write<const WORDS: usize>(words: [u64; WORDS]) {
    write_with(WORDS, |cursor| {
        // SAFETY: room for the words was made.
        unsafe { cursor.cast::<[u64; WORDS]>().write(words) };
    });
}

/// Writes one record of `words` words with `fill`.
#[inline(always)]
pub fn write_with(words: usize, fill: impl FnOnce(*mut u64)) {
    let cursor = reserve(words * 8, 0);
    // As in the inline hooks: the pointer is loaded after room was made.
    let ring = current();
    fill(cursor as *mut u64);
    // SAFETY: the thread's pointer always names a header. Release: the words come before the cursor.
    unsafe { (*ring).cursor.store(cursor + words as u64 * 8, Release) };
}

/// [`stop_shared`] of this process's channel.
pub extern "C" fn shares_thread() {
    if let Some(channel) = channel::attached() {
        stop_shared(channel);
    }
}
