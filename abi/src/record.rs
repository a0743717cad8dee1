//! Records beside those of segments: events, and what bounds a record.
//!
//! An event is its first word (drawn in the head of this crate), then operands. Names are a length in bytes, then the
//! bytes in whole words, the first byte lowest, with zeros behind the last. The begin of a region `kernel`:
//!
//! ```text
//!   d903000000001234  0xd9 = RegionBegin, 3 words, of the call site 0x1234
//!   0000000000000006  6 bytes of a name
//!   00006c656e72656b  "kernel" and two zeros
//! ```
//!
//! The tests of `runtime/src/decode/event.rs` read these words.

/// Copies and fills are priced in blocks of at most this many bytes, in address order.
pub const COPY_BLOCK: u64 = 64;

/// Most words of one record; longer segments are cut by the instrumentation.
pub const MAX_RECORD_WORDS: usize = 1024;
const _: () = assert!(MAX_RECORD_WORDS * 8 <= crate::CHUNK_BYTES);
/// Most accesses of one segment.
pub const MAX_SEGMENT_ITEMS: usize = 256;

numbered! {
    /// Kinds of event records (top byte of the first word). Operands are the following words.
    pub enum EventKind: u8 {
        /// `addr, len`: bytes read, by the meaning of a library call.
        Read = 0xd1,
        /// `addr, len`: bytes written.
        Write = 0xd2,
        /// `dst, src, len`: blocks of [`COPY_BLOCK`] bytes read and written in address order.
        Copy = 0xd3,
        /// `addr, len`: a block starts its life; whatever lay there before is dead.
        Alloc = 0xd4,
        /// `addr, len`: the bytes leave the stack.
        Free = 0xd5,
        /// `addr`: a block of unknown size was freed (counted; its bytes stay).
        FreeUnknown = 0xd6,
        /// `from, from_len, to, to_len`: identity travels, the tail dies, free of charge.
        Relocate = 0xd7,
        /// `addr, len`: declared input, enters at the bottom of the stack.
        Input = 0xd8,
        /// `name_len`, then the name's bytes in whole words.
        RegionBegin = 0xd9,
        /// `name_len`, then the name's bytes in whole words.
        RegionEnd = 0xda,
        /// `addr, len`: declared output, alive to the end.
        Output = 0xdb,
        /// `addr, len, name_len`, then the name's bytes in whole words: the block that has just started is a mapping,
        /// of a file unless the name is empty.
        Mapped = 0xdc,
        /// A signal handler starts on a ring whose last one was left by `longjmp`: no function of this ring runs any
        /// more.
        Restart = 0xdd,
        /// `what, object, value, other`: threads wait for each other; see [`crate::synchronise`].
        Synchronise = 0xde,
        /// `time`: of a run that is sampled, loads and stores of the thread before what follows.
        Clock = 0xdf,
        /// `times`: of a program under the emulator, the site's code was executed so often, or 0; see
        /// [`crate::emulated`].
        Executed = 0xe0,
        /// `addr, len, what, from, from_len`: of a program under the emulator, what it asked the system about its
        /// pages; `what` is a [`Paging`], the last two are 0 unless something moved.
        Paged = 0xe1,
    }
}

numbered! {
    /// What a program asked the system about its pages.
    pub enum Paging: u64 {
        /// New memory without a file (`mmap`, `brk`).
        Anonymous = 1,
        /// New memory of huge pages that are set aside (`MAP_HUGETLB`).
        Huge = 2,
        /// New memory of another kind: of a file, or reserved only.
        Other = 3,
        /// Huge pages are wanted (`MADV_HUGEPAGE`).
        Wanted = 4,
        /// They are not (`MADV_NOHUGEPAGE`).
        Unwanted = 5,
        /// What is there is given back (`MADV_DONTNEED`).
        Dropped = 6,
        /// What was at `from` is here from now on (`mremap`).
        Moved = 7,
    }
}
