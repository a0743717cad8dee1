//! The shared channel: one memory file per run.
//!
//! ```text
//!         0 +--------------------------------+
//!           | ChannelHeader                  |  a page
//!    0x1000 +--------------------------------+  MODULES_OFFSET
//!           | ModuleEntry, 1,023 of a page   |  each is free again once it is read
//!  0x400000 +--------------------------------+  UNITS_OFFSET
//!           | UnitEntry, 131,072 of 32 bytes |  objects that can be sampled
//!  0x800000 +--------------------------------+  RINGS_OFFSET
//!           | ring 0                         |
//! 0x490e000 +--------------------------------+  + RING_STRIDE, 0x410e000
//!           | ring 1 ...                     |
//!
//!   a ring: 0 +-------------------------+
//!             | RingHeader              |  a page; the producer's own notes lie in its second half
//!      0x1000 +-------------------------+
//!             | 16 chunks of 64 KiB     |
//!    0x101000 +-------------------------+  RING_BYTES: programs that cannot be sampled map up to here
//!             | RingSample or site area |
//! ```
//!
//! So the third chunk of ring 1 begins at 0x800000 + 0x410e000 + 0x1000 + 2 * 0x10000 = 0x492f000. It is written while
//! [`RingHeader::head`] is 2, 18, 34 and so on, and may be written at 18 once [`RingHeader::tail`] is 3.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

use crate::drawing::Plan;
use crate::sample::{BUCKETS, STAGES, Stage};

/// Environment variable that names the shared channel: a path that the program can open, `/proc/<process>/fd/<number>`.
/// The program may also have inherited it as a descriptor of that number.
pub const CHANNEL_ENV: &str = "DMDPROF_CHANNEL";

/// The least number of that descriptor: far from those that programs expect to get, and not so large that a fork copies
/// large tables.
pub const INHERITED_FROM: u32 = 1000;

/// Socket (of Linux's abstract sort) on which a run gives the channel to processes that the variable does not lead to
/// it: this and the number of the process that runs them.
pub const BROKER_NAME: &str = "dmdprof-run-";
/// Where a socket of the same name lies that has a place in the file system: other network namespaces reach it.
pub const BROKER_DIRECTORY: &str = "/var/tmp/";
/// Asks for the channel.
pub const BROKER_ASK: u8 = b'A';
/// Says that the process that sends it will not be measured.
pub const BROKER_REPORT: u8 = b'M';
/// Says that a program that the process starts will not be measured. Behind it: a byte of [`unmeasured`], a byte with
/// the length of the program's name, and the name.
pub const BROKER_STARTED: u8 = b'S';

/// Why a program that an emulated one starts runs without the emulator.
pub mod unmeasured {
    /// It has more rights than its user.
    pub const RIGHTS: u8 = b'r';
    /// There is no emulator of its processor.
    pub const PROCESSOR: u8 = b'p';
    /// Its file has no name that another process could open.
    pub const NO_FILE: u8 = b'f';
}

/// `b"DMDCHANL"`: start of the channel.
pub const CHANNEL_MAGIC: u64 = u64::from_le_bytes(*b"DMDCHANL");
/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Where the module entries start.
pub const MODULES_OFFSET: usize = PAGE;
/// Bytes of a module entry.
pub const MODULE_ENTRY: usize = PAGE;
/// Modules that may wait to be read at once.
pub const MODULE_SLOTS: usize = 1023;
/// Where the entries of objects that can be sampled start.
pub const UNITS_OFFSET: usize = MODULES_OFFSET + MODULE_SLOTS * MODULE_ENTRY;
/// Objects that can be sampled, of all processes of a run.
pub const UNIT_SLOTS: usize = 1 << 17;
/// Where the rings start.
pub const RINGS_OFFSET: usize = UNITS_OFFSET + UNIT_SLOTS * size_of::<UnitEntry>();
/// Bytes of a chunk, which is handed over as a whole.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Chunks of a ring.
pub const RING_CHUNKS: usize = 16;
/// Bytes of a ring without its [`RingSample`].
pub const RING_BYTES: usize = PAGE + RING_CHUNKS * CHUNK_BYTES;
/// Bytes from one ring to the next.
pub const RING_STRIDE: usize = RING_BYTES + size_of::<RingSample>();
/// Threads (and signal contexts and forked children) of one run. The memory file is sparse.
pub const MAX_RINGS: usize = 1 << 20;
/// Bytes of the memory file.
pub const CHANNEL_BYTES: u64 = RINGS_OFFSET as u64 + MAX_RINGS as u64 * RING_STRIDE as u64;

/// The number of no process: Linux has none above 2^22.
pub const NOBODY: u32 = i32::MAX as u32;

/// First page of the channel, a column for 4 bytes:
///
/// ```text
///   0 | magic                             | abi              | mode            |
///  16 | consumer_pid    | rings_claimed   | modules_used     | modules_written |
///  32 | processes       | consumer_beat   | silent_producers | doorbell        |
///  48 | consumer_sleeps | losses, 6 ...   |                  |                 |
///  64 |                 |                 |                  | fixed_random    |
///  80 | random_requests | outputs_lost    | outputs_end                        |
///  96 | outputs: a path of 64 bytes ...                                        |
/// 160 | units_used      | contexts        | sample_seed                        |
/// 176 | stages, 4 of 16 bytes ...                                              |
/// 240 | not_emulated    | lasting         |
/// ```
///
/// A channel of this version begins `44 4d 44 43 48 41 4e 4c | 08 00 00 00 | 00 00 00 00`: `DMDCHANL`, version 8,
/// [`channel_mode::ANALYSE`].
#[repr(C)]
pub struct ChannelHeader {
    /// [`CHANNEL_MAGIC`].
    pub magic: u64,
    /// [`ABI_VERSION`](crate::ABI_VERSION).
    pub abi: u32,
    /// [`channel_mode`].
    pub mode: u32,
    /// Process that reads the rings, or [`NOBODY`]. Producers that wait for space check now and then that it still
    /// lives.
    pub consumer_pid: AtomicU32,
    /// Rings `0..rings_claimed` have been taken by threads.
    pub rings_claimed: AtomicU32,
    /// Module entries `0..modules_used` have been used at some time.
    pub modules_used: AtomicU32,
    /// Bumped with every module entry written; whoever reads them sleeps on it (futex).
    pub modules_written: AtomicU32,
    /// Processes so far. Each takes the next number: unlike the system's, such a number comes once in a run.
    pub processes: AtomicU32,
    /// Changes all the time while the consumer lives, for producers that may not ask the system.
    pub consumer_beat: AtomicU32,
    /// Processes that may not wake the consumer, because they forbade themselves the system call.
    pub silent_producers: AtomicU32,
    /// Bumped with every published chunk; the consumer sleeps on it (futex).
    pub doorbell: AtomicU32,
    /// 1 while the consumer sleeps: producers then wake the doorbell.
    pub consumer_sleeps: AtomicU32,
    /// What has no records or not all, by [`loss`]; each is a loss that the report must name.
    pub losses: [AtomicU32; loss::KINDS],
    /// 1: the system's random numbers are the same in each run.
    pub fixed_random: u32,
    /// Requests for random numbers from the system.
    pub random_requests: AtomicU32,
    /// Declared outputs whose bytes were to be saved and could not be.
    pub outputs_lost: AtomicU32,
    /// Length of the whole records in the file of declared outputs. Changed by the holder of the file's lock.
    pub outputs_end: AtomicU64,
    /// Where the bytes of declared outputs are saved: a path that ends in a zero byte; empty = nowhere.
    pub outputs: [u8; OUTPUTS_PATH],
    /// Entries of objects that have been used.
    pub units_used: AtomicU32,
    /// 1: programs that can be sampled write down where functions begin and end, whatever they look at.
    pub contexts: u32,
    /// Which sample.
    pub sample_seed: u64,
    /// What programs that can be sampled write down: what any of these needs; without one, everything.
    pub stages: [Stage; STAGES],
    /// Programs that an emulated program has started and that the emulator cannot run, or must not: a loss too.
    pub not_emulated: AtomicU32,
    /// The first system call of an emulated program whose effect lasts, by its number plus one; 0 = there was none.
    pub lasting: AtomicU32,
}

const _: () = assert!(size_of::<ChannelHeader>() == 248 && size_of::<ChannelHeader>() <= PAGE);

/// An object of a process, compiled to be sampled, and where its counters are in each ring of the process.
///
/// ```text
///   0 | process | _pad    | unit              |
///  16 | first             | count             |
/// ```
///
/// `03 00 00 00 | 00 00 00 00 | unit | 00 00 80 00 00 00 00 00 | 02 00 00 00 00 00 00 00`: in each ring of process 3
/// the two counters of the unit begin 0x800000 bytes behind the start of [`RingSample::counters`].
#[repr(C)]
pub struct UnitEntry {
    /// The process's [`RingHeader::process`]; 0 as long as the entry is not whole.
    pub process: AtomicU32,
    /// Unused.
    pub _pad: u32,
    /// Names it, as descriptors do.
    pub unit: u64,
    /// Bytes from the start of [`RingSample::counters`] to its first counter.
    pub first: u64,
    /// How many it has.
    pub count: u64,
}

const _: () = assert!(size_of::<UnitEntry>() == 32);

/// Counters of a ring.
pub const COUNTERS: usize = 8 << 20;
/// Those before this are of objects that have not been announced: most that an object can have.
pub const FIRST_COUNTER: usize = 1 << 20;

/// What a ring of a program that can be sampled has behind its chunks.
///
/// ```text
///        0 | marks, a byte for each of 4,096 buckets |
///   0x1000 | plans, 4 stages of 4,096 of 3 bytes     |
///   0xd000 | counters, 8,388,608 of 8 bytes          |
/// ```
///
/// So counter 5 lies at 0xd028. What the bytes of a plan say: [`Plan`].
#[repr(C)]
pub struct RingSample {
    /// Whether the lines of a bucket are looked at.
    pub marks: [u8; BUCKETS],
    /// Which sets have them, by stage.
    pub plans: [[Plan; BUCKETS]; STAGES],
    /// How often segments were executed; of loops, their iterations.
    pub counters: [u64; COUNTERS],
}

const _: () = assert!(size_of::<RingSample>().is_multiple_of(PAGE));

/// Room for `/proc/<pid>/fd/<number>` and its end.
pub const OUTPUTS_PATH: usize = 64;

/// Why records are missing.
pub mod loss {
    /// A thread, signal handler or process got no ring: no room, or the system refused the memory.
    pub const RING: usize = 0;
    /// A module could not be announced, or lies where another one lay that went unnoticed.
    pub const MODULE: usize = 1;
    /// A child was made past the C library; its first records are in its parent's ring.
    pub const UNSEEN_FORK: usize = 2;
    /// Two tasks share one thread's ring, because they share its thread-local storage.
    pub const SHARED_THREAD: usize = 3;
    /// The consumer seemed to be gone.
    pub const CONSUMER: usize = 4;
    /// An object that can be sampled got no counters: there are too many.
    pub const COUNTERS: usize = 5;
    /// How many reasons there are.
    pub const KINDS: usize = 6;
}

/// A module entry's life. The producer takes a free one and writes it; the consumer reads it and frees it.
pub mod entry_state {
    /// May be taken.
    pub const FREE: u32 = 0;
    /// A producer writes it.
    pub const TAKEN: u32 = 1;
    /// Whole, and not read yet.
    pub const WRITTEN: u32 = 2;
}

/// Bytes at a module's start that tell its file from others ([`ModuleEntry::print`]).
pub const PRINT_BYTES: usize = 1024;

/// The hash of a module's first [`PRINT_BYTES`] bytes, by words; what the file does not have is zero.
pub fn print_of(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    })
}

/// What happens with records.
pub mod channel_mode {
    /// Records go to the engine; producers wait when it is behind.
    pub const ANALYSE: u32 = 0;
    /// Records are overwritten in place (benchmark of the hooks alone).
    pub const DISCARD: u32 = 1;
}

/// A loaded module that a process announces.
///
/// ```text
///   0 | state   | process | pid     | path_len |
///  16 | bias              | low                |
///  32 | high              | print              |
///  48 | path: bytes up to the end of the page    |
/// ```
///
/// Of `/bin/app`, whole and not read yet, in the first process of a run:
/// `02 00 00 00 | 01 00 00 00 | pid | 08 00 00 00 | ... | 2f 62 69 6e 2f 61 70 70`.
#[repr(C)]
pub struct ModuleEntry {
    /// [`entry_state`].
    pub state: AtomicU32,
    /// The process's [`RingHeader::process`], and the system's number for it.
    pub process: u32,
    /// The system's number of the process.
    pub pid: u32,
    /// Bytes of [`Self::path`] that are used.
    pub path_len: u32,
    /// Load bias: run-time address minus link-time address.
    pub bias: u64,
    /// Mapped range.
    pub low: u64,
    /// End of the mapped range.
    pub high: u64,
    /// [`print_of`] its first bytes.
    pub print: u64,
    /// UTF-8 path bytes follow, cut at the entry's end.
    pub path: [u8; MODULE_ENTRY - 48],
}

const _: () = assert!(size_of::<ModuleEntry>() == MODULE_ENTRY);

/// First page of a ring. The producer's, the published and the consumer's fields have a cache line each:
///
/// ```text
///   0 | cursor  | limit   | left    | next    | contexts | unused, 24 bytes            |
///  64 | head, state | pid, tid | kind, parent | data_address | ancestors, 4 of 4 bytes |
/// 112 | process, has_sites | unused, 8 bytes                                           |
/// 128 | tail, producer_waits | unused, 56 bytes                                        |
/// 192 | chunk_len, 16 of 4 bytes                                                       |
/// ```
///
/// A ring begins with `cursor` = `data_address` and `limit` = `cursor` + 0x10000. A record of 5 words moves `cursor` on
/// by 40. When the next record has no room, `chunk_len[0]` is set to the bytes used, `head` becomes 1, and `cursor` is
/// `data_address` + 0x10000.
#[repr(C, align(64))]
pub struct RingHeader {
    /// Producer: address (in the program) where the next record goes. Stored with release order after the record's
    /// words, so whatever lies between the chunk's start and here is whole, whenever and however the program ends.
    pub cursor: AtomicU64,
    /// Producer: end of the current chunk (address in the program). `cursor + bytes > limit` sends the hook to
    /// `RESERVE`.
    pub limit: AtomicU64,
    /// Producer, if it can be sampled: loads and stores before the next change of what is looked at. Negative where
    /// that has passed, or the hooks must be asked for another reason.
    pub left: AtomicI64,
    /// Time of that change.
    pub next: AtomicU64,
    /// [`ChannelHeader::contexts`].
    pub contexts: u64,
    /// Unused: a cache line of its own for the producer.
    pub _pad0: [u64; 3],
    /// Chunks published so far; chunk `head % RING_CHUNKS` is being written.
    pub head: AtomicU32,
    /// [`ring_state`].
    pub state: AtomicU32,
    /// The system's number of the process.
    pub pid: u32,
    /// The system's number of the thread.
    pub tid: u32,
    /// [`ring_kind`].
    pub kind: u32,
    /// Ring of the thread that a signal handler interrupted, or of the process that forked; else `u32::MAX`.
    pub parent: u32,
    /// Address in the program of the first chunk, to turn `cursor` into an offset.
    pub data_address: u64,
    /// Ancestors that registered modules before they forked, by [`Self::process`], nearest first, 0 = none: the process
    /// has those modules too.
    pub ancestors: [u32; 4],
    /// The process's number in the run, from 1.
    pub process: u32,
    /// 1: the ring has a site area ([`crate::emulated`]).
    pub has_sites: AtomicU32,
    /// Processes that were forked from one whose site area this ring has; [`FORKS_UNKNOWN`] and more: it has threads.
    pub forks: AtomicU32,
    /// Unused: a cache line of its own for what is published.
    pub _pad1: u32,
    /// Chunks consumed so far.
    pub tail: AtomicU32,
    /// 1 while the producer sleeps on `tail`.
    pub producer_waits: AtomicU32,
    /// Unused: a cache line of its own for the consumer.
    pub _pad2: [u64; 7],
    /// Bytes used in each published chunk.
    pub chunk_len: [AtomicU32; RING_CHUNKS],
}

const _: () = assert!(size_of::<RingHeader>() == 256 && size_of::<RingHeader>() <= PAGE);

/// A number of forks from which on nobody knows who may still name the sites of a process.
pub const FORKS_UNKNOWN: u32 = 1 << 16;

/// Whether a ring is in use.
pub mod ring_state {
    /// Nothing may be read.
    pub const UNUSED: u32 = 0;
    /// Header filled in; records may follow.
    pub const ACTIVE: u32 = 1;
}

/// Whose records a ring has.
pub mod ring_kind {
    /// Those of a thread.
    pub const THREAD: u32 = 0;
    /// Those of a signal handler.
    pub const SIGNAL: u32 = 1;
    /// Those of a forked child.
    pub const FORK: u32 = 2;
}
