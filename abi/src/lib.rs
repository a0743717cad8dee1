//! The binary interface: the one place that says what a record, a descriptor and the shared channel look like.
//!
//! Three parties use this crate and nothing else of each other: the instrumentation (writes descriptors and emits the
//! code that writes records), the hooks inside the program (own the rings' producer ends) and the analysis (reads
//! both). It contains numbers and plain structures only, beside the steps by which the two ends of a ring wake each
//! other.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | events, and what bounds a record |
//! | [`descriptor`], [`steps`] | what a segment's record stands for, in the models of memory and of values |
//! | [`call`] | what the instrumentation tells the hooks about library calls |
//! | [`synchronise`] | how threads wait for each other |
//! | [`sample`], [`drawing`] | what a program that is sampled looks at, and when |
//! | [`channel`], [`protocol`] | the shared memory; how the two ends of a ring wait for each other |
//! | [`emulated`] | sites of a program without descriptors, which runs under an emulator |
//! | [`lasting`] | which of its system calls have effects that last |
//!
//! Structures are read and written as they lie in memory; the size of each is asserted beside it. Enums come and go as
//! numbers; `from_number` gives the variant of a number, if it has one.
//!
//! # Records
//!
//! A ring carries 64-bit words, little-endian. A record is a segment record or an event record; its first word tells:
//!
//! ```text
//!            63       56 55       48 47                                  0
//!           +-----------+-----------+-------------------------------------+
//!   segment |     0     |     0     | address of a SegmentHeader          |  operands follow
//!           +-----------+-----------+-------------------------------------+
//!   event   | EventKind |   words   | address of the call site's, or 0    |  operands follow
//!           +-----------+-----------+-------------------------------------+
//! ```
//!
//! The words of an event record count its first one too. Of a segment record the [`SegmentHeader`], which lies in the
//! program, says how many words it has and what they mean. This is all that a thread writes whose `main` calls
//! `int f(int i) { return a[i]; }` with 1:
//!
//! ```text
//!   de05000000000000  event 0xde = EventKind::Synchronise, 5 words, no call site
//!   0000000000000001    Synchronise::Start
//!   00007ffff7cf0740    handle of the thread
//!   0000000000000000    number of the event in the process
//!   0000000000000000    number in a team of OpenMP
//!   0000555555563960  segment: main up to the call, 1 word
//!   0000555555563830  segment: f, whose header says 2 words; `descriptor` has its bytes
//!   0000555555611724    word 1: the address of a[1]
//!   0000555555563970  segment: main after the call, 1 word
//! ```
//!
//! A segment is a piece of a basic block without calls. Its record is written when all its addresses are known, at its
//! end, and holds one word per distinct base address. Sizes, offsets, kinds, source locations and operation counts are
//! static and live in the descriptor. A *loop* segment stands for `count` iterations at once, and its record is written
//! when the loop has ended: word 1 is the count, a base address is what it would be in the iteration after the last,
//! and iteration `i` of an item, counted from 0, accesses `base + offset - (count - i) * stride`.
//!
//! A function that can be sampled ([`function_flag::SAMPLED`]) has one word more in its records: the time before the
//! segment, in loads and stores of the thread. It is the last word, or the one before the cookie. In a run that is
//! sampled most records are left out, and a program says at which time a library call comes
//! ([`EventKind::Clock`]); how often segments were executed is in counters ([`RingSample`]).
//!
//! # Descriptors
//!
//! Each function's descriptors are one self-contained blob of bytes, without relocations, in the section [`SECTION`].
//! Blobs start at multiples of 8; zero padding between them is skipped. All offsets are from the blob's start.
//!
//! | part | what |
//! |---|---|
//! | [`BlobHeader`] | sizes and offsets of the rest |
//! | segments | each a [`SegmentHeader`], its [`Item`]s, its [`OpCount`]s; the header's address is what records name |
//! | frames | [`Frame`] array, a tree: source position, function, parent = where it was inlined |
//! | skips | [`Skip`] array: accesses that carry no hook, by reason |
//! | slots | [`Slot`] array, by segment: variables on the stack whose lives start with a record of the segment |
//! | loops | [`Loop`] array, outer loops before those inside them |
//! | places | `u32` per segment: the innermost loop that it is in; absent if there are no loops |
//! | calls | [`LoopCall`] array: direct calls, by the loop that they are in |
//! | fields | [`Field`] array |
//! | notes | [`Note`] array, by segment and item: what debug information and loops say about accesses |
//! | strings | `u32` offset and `u32` length per string, then the UTF-8 bytes |
//! | counters | of functions that can be sampled: a [`Counters`], the last bytes of the blob |

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[macro_use]
mod numbered;
pub mod call;
pub mod channel;
#[cfg(feature = "descriptors")]
pub mod descriptor;
pub mod drawing;
pub mod emulated;
pub mod lasting;
#[cfg(test)]
mod lasting_tests;
pub mod protocol;
pub mod record;
pub mod sample;
#[cfg(feature = "descriptors")]
pub mod steps;
pub mod synchronise;

pub use call::Call;
pub use channel::*;
#[cfg(feature = "descriptors")]
pub use descriptor::*;
pub use record::*;

/// Fields are read and written in the order in which this machine has their bytes.
const _: () = assert!(cfg!(target_endian = "little"));

/// Version of everything in this crate. Descriptors and channels name theirs, and those of another one are refused. The
/// hook symbols' names have the version since which calls of them are what they are, so that objects whose calls differ
/// do not link.
pub const ABI_VERSION: u16 = 8;

/// Section that holds the descriptor blobs.
pub const SECTION: &str = "dmdprof_sites";

/// Begins the line that an instrumented object has in its section `.comment`: its compiler, with options. Linkers keep
/// each different line once.
pub const COMPILER_MARK: &str = "dmdprof: ";

/// In the line of a compiler that was to optimise, and got code that nobody may optimise.
pub const NOT_OPTIMISED: &str = " optnone";

/// In the line of a compiler that was not to optimise, and got code that is optimised.
pub const OPTIMISED_BEFORE: &str = " (optimised before)";

/// Begins a line of that section that names an object or library that was linked without hooks although it could have
/// some.
pub const WITHOUT_HOOKS_MARK: &str = "dmdprof-without-hooks: ";

/// Symbols that instrumented objects import and the hooks export.
pub mod symbol {
    /// Thread-local pointer to the current [`super::RingHeader`] (initial-exec).
    pub const RING: &str = "__dmdprof_v5_ring__link_with_dmdprof_cc";
    /// `preserve_most` function: makes room for a record of the given number of bytes, returns the cursor.
    pub const RESERVE: &str = "__dmdprof_v5_reserve__link_with_dmdprof_cc";
    /// `void(const void *blob)`: called by a constructor of each instrumented object.
    pub const MODULE: &str = "__dmdprof_v5_module__link_with_dmdprof_cc";
    /// `void(const void *site, u64 call, u64 a, u64 b, u64 c, u64 d)`: a library call modelled by its meaning
    /// ([`super::Call`]).
    pub const CALL: &str = "__dmdprof_v5_call__link_with_dmdprof_cc";
    /// `void(void)`: called where `setjmp` returns, before the landing record: leaves a signal handler's ring if the
    /// jump left the handler.
    pub const LANDED: &str = "__dmdprof_v5_landed__link_with_dmdprof_cc";
    /// `preserve_most` function of programs that can be sampled: `ring(u64 accesses)`, called where the time of the
    /// next change has come or the thread has no ring for samples yet; returns the ring that it has then, on which so
    /// many accesses have passed.
    pub const SAMPLE_READY: &str = "__dmdprof_v5_sample_ready__link_with_dmdprof_cc";
    /// `preserve_most` function `void(void)`, called after a record that the time of a change came with.
    pub const SAMPLE_TICK: &str = "__dmdprof_v5_sample_tick__link_with_dmdprof_cc";
    /// `void(u64 unit, u64 counters, u64 *first)`: called by a constructor of each object that can be sampled; leaves
    /// where its counters begin.
    pub const SAMPLE_UNIT: &str = "__dmdprof_v5_sample_unit__link_with_dmdprof_cc";
    /// Replacement for `sigaction`, same signature.
    pub const SIGACTION: &str = "__dmdprof_v5_sigaction__link_with_dmdprof_cc";
    /// Replacement for `signal`, same signature.
    pub const SIGNAL: &str = "__dmdprof_v5_signal__link_with_dmdprof_cc";
}

/// Callees that name the call sites of markers in descriptors.
pub mod marker {
    /// Begins a region.
    pub const BEGIN: &str = "dmdprof_begin";
    /// Declares input.
    pub const INPUT: &str = "dmdprof_input";
}
