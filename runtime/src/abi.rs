//! The binary interface: the one place that says what a record, a descriptor and the shared channel look like.
//!
//! Three parties import this file and nothing else of each other: the instrumentation (writes descriptors and emits the
//! code that writes records), the hooks inside the program (own the rings' producer ends) and the engine (reads both).
//! It is `no_std`, free of dependencies, and contains numbers and plain structures only.
//!
//! # Records
//!
//! A ring carries 64-bit words, little-endian. A record starts with one word and is one of two things:
//!
//! | first word | record |
//! |---|---|
//! | bits 48..64 = 0 | *segment record*: the address of a [`SegmentHeader`] in the program; the header says how many words follow and what they mean |
//! | bits 56..64 = [`EventKind`] | *event record*: bits 48..56 = words in all, bits 0..48 = address of the call site's [`SegmentHeader`] (0 = none); operands follow |
//!
//! A segment is a piece of a basic block without calls. Its record is written when all its addresses are known, at its
//! end, and holds one word per distinct base address. Sizes, offsets, kinds, source locations and operation counts are
//! static and live in the descriptor. A *loop* segment stands for `count` iterations at once, and its record is written when
//! the loop has ended: word 1 is the count, a base address is what it would be in the iteration after the last, and
//! iteration `i` of an item, counted from 0, accesses `base + offset - (count - i) * stride`.
//!
//! # Descriptors
//!
//! Each function's descriptors are one self-contained blob of bytes, without relocations, in the section
//! [`SECTION`]. Blobs start at multiples of 8; zero padding between them is skipped. All offsets are from the blob's start.
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

/// Version of everything in this file. It is part of the hook symbols' names, so that objects of different versions do not link.
pub const ABI_VERSION: u16 = 4;

/// Section that holds the descriptor blobs.
pub const SECTION: &str = "dmdprof_sites";

/// Begins the line that an instrumented object has in its section `.comment`: its compiler, with options. Linkers keep each
/// different line once.
pub const COMPILER_MARK: &str = "dmdprof: ";

/// Begins a line of that section that names an object or library of the Rust compiler that was linked without hooks.
pub const WITHOUT_HOOKS_MARK: &str = "dmdprof-without-hooks: ";

/// Symbols that instrumented objects import and the hooks export.
pub mod symbol {
    /// Thread-local pointer to the current [`super::RingHeader`] (initial-exec).
    pub const RING: &str = "__dmdprof_v4_ring";
    /// `preserve_most` function: makes room for a record of the given number of bytes, returns the cursor.
    pub const RESERVE: &str = "__dmdprof_v4_reserve";
    /// `void(const void *blob)`: called by a constructor of each instrumented object.
    pub const MODULE: &str = "__dmdprof_v4_module";
    /// `void(const void *site, u64 call, u64 a, u64 b, u64 c, u64 d)`: a library call modelled by its meaning ([`super::Call`]).
    pub const CALL: &str = "__dmdprof_v4_call";
    /// `void(void)`: called where `setjmp` returns, before the landing record: leaves a signal handler's ring if the jump left the handler.
    pub const LANDED: &str = "__dmdprof_v4_landed";
    /// Replacement for `sigaction`, same signature.
    pub const SIGACTION: &str = "__dmdprof_v4_sigaction";
    /// Replacement for `signal`, same signature.
    pub const SIGNAL: &str = "__dmdprof_v4_signal";
}

/// Callees that name the call sites of markers in descriptors.
pub mod marker {
    pub const BEGIN: &str = "dmdprof_begin";
    pub const INPUT: &str = "dmdprof_input";
}

/// Environment variable that names the shared channel (a path that the program can open).
pub const CHANNEL_ENV: &str = "DMDPROF_CHANNEL";

/// Socket (of Linux's abstract sort) on which a run gives the channel to processes that the variable does not lead to it: this
/// and the number of the process that runs them.
pub const BROKER_NAME: &str = "dmdprof-run-";
/// Asks for the channel.
pub const BROKER_ASK: u8 = b'A';
/// Says that the process that sends it will not be measured.
pub const BROKER_REPORT: u8 = b'M';

/// `b"DMDS"`: start of a blob.
pub const BLOB_MAGIC: u32 = u32::from_le_bytes(*b"DMDS");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlobHeader {
    pub magic: u32,
    pub abi: u16,
    /// [`function_flag`] bits.
    pub flags: u16,
    /// Bytes in all, a multiple of 8.
    pub total_len: u32,
    pub segments: u32,
    pub segments_offset: u32,
    pub frames: u32,
    pub frames_offset: u32,
    pub skips: u32,
    pub skips_offset: u32,
    pub strings: u32,
    pub strings_offset: u32,
    /// String: the linked symbol.
    pub name: u32,
    /// String: source file of the definition, or [`NONE`].
    pub file: u32,
    pub line: u32,
    pub slots: u32,
    pub slots_offset: u32,
    pub loops: u32,
    pub loops_offset: u32,
    pub places: u32,
    pub places_offset: u32,
    pub calls: u32,
    pub calls_offset: u32,
    pub fields: u32,
    pub fields_offset: u32,
    pub notes: u32,
    pub notes_offset: u32,
}

/// "No such index" in descriptor fields.
pub const NONE: u32 = u32::MAX;

pub mod function_flag {
    /// The function carries no hooks at all; its skips say why.
    pub const SKIPPED: u16 = 1;
    /// Instrumented for the values model: items are the steps of [`crate::steps`] beside [`super::ItemKind::Copy`] and
    /// [`super::ItemKind::Fill`].
    pub const VALUES: u16 = 2;
    /// Loops are marked: segments inside loops begin with an item [`super::ItemKind::Loop`].
    pub const LOOPS: u16 = 4;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SegmentHeader {
    /// [`SegmentKind`].
    pub kind: u8,
    /// [`segment_flag`] bits.
    pub flags: u8,
    /// Words of one record, word 0 included.
    pub words: u16,
    pub items: u16,
    pub op_counts: u16,
    /// String: function that the segment ends by calling, if it is a direct call to a function not defined in this object; else [`NONE`].
    pub callee: u32,
    /// Frame of the segment's first located instruction, or [`NONE`].
    pub frame: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SegmentKind {
    Block = 0,
    /// Word 1 is the iteration count; items have strides.
    Loop = 1,
    /// Never the first word of a segment record: names the call site of event records. Its item 0 is the site.
    CallSite = 2,
}

pub mod segment_flag {
    /// The segment opens its function: a new frame of the calling context starts before the items.
    pub const ENTER: u8 = 1;
    /// The segment ends its function: the frame ends after the items.
    pub const EXIT: u8 = 2;
    /// Control arrived here by unwinding or `longjmp`: frames above the one with this cookie are gone. The cookie is the last word.
    pub const LANDING: u8 = 4;
    /// With `ENTER`: the frame may be landed in; the last word is its cookie.
    pub const COOKIE: u8 = 8;
}

/// One access (or other effect) of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Item {
    /// [`ItemKind`].
    pub kind: u8,
    /// [`item_flag`] bits.
    pub flags: u8,
    /// Index in the record of the word with the base address.
    pub word: u16,
    /// Second operand word: mask, or length of a dynamic [`ItemKind::Fill`], [`ItemKind::Kill`], or source of a [`ItemKind::Copy`]; the
    /// stride with [`item_flag::STRIDE_WORD`].
    pub word2: u16,
    /// Lanes of a masked, gathered or packed access (at most 64); length word of a dynamic [`ItemKind::Copy`]. Where loops are marked, also lanes
    /// of a plain load or store of a vector, which are for information only.
    pub lanes: u16,
    /// Bytes of the access; of one lane for masked kinds. 0 with [`item_flag::DYNAMIC`].
    pub size: u32,
    /// Source position, or [`NONE`].
    pub frame: u32,
    /// Added to the base address.
    pub offset: i64,
    /// Added per iteration in a loop segment.
    pub stride: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ItemKind {
    Load = 1,
    Store = 2,
    /// Atomic read-modify-write: a load, then a store.
    Update = 3,
    /// Lane `i` is at `base + offset + i * size`, accessed if bit `i` of the mask is set.
    MaskedLoad = 4,
    MaskedStore = 5,
    /// Lane `i`'s address is word `word + i`.
    Gather = 6,
    Scatter = 7,
    /// `popcount(mask) * size` contiguous bytes.
    ExpandLoad = 8,
    CompressStore = 9,
    /// Reads `word2`, writes `word`, `size` bytes or the number in word `lanes`; in blocks of [`COPY_BLOCK`] bytes.
    Copy = 10,
    /// Writes `size` bytes or the number in `word2`.
    Fill = 11,
    /// Bytes leave the stack: scope end, stack slot of a returning function. `size` bytes or the number in `word2`.
    Kill = 12,
    /// No access: the natural loop that the segment is in. `size` is the loop's number in its function, `offset` that of the loop around
    /// it (-1: none), `frame` its place in the source; its flags are [`loop_flag`]s.
    Loop = 13,
}

impl ItemKind {
    /// The kind with this number.
    #[inline]
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Some(match number {
            x if x == Self::Load as u8 => Self::Load,
            x if x == Self::Store as u8 => Self::Store,
            x if x == Self::Update as u8 => Self::Update,
            x if x == Self::MaskedLoad as u8 => Self::MaskedLoad,
            x if x == Self::MaskedStore as u8 => Self::MaskedStore,
            x if x == Self::Gather as u8 => Self::Gather,
            x if x == Self::Scatter as u8 => Self::Scatter,
            x if x == Self::ExpandLoad as u8 => Self::ExpandLoad,
            x if x == Self::CompressStore as u8 => Self::CompressStore,
            x if x == Self::Copy as u8 => Self::Copy,
            x if x == Self::Fill as u8 => Self::Fill,
            x if x == Self::Kill as u8 => Self::Kill,
            x if x == Self::Loop as u8 => Self::Loop,
            _ => return None,
        })
    }
}

pub mod item_flag {
    /// The length is in a word of the record.
    pub const DYNAMIC: u8 = 1;
    pub const ATOMIC: u8 = 2;
    pub const VOLATILE: u8 = 4;
    /// In a loop segment: the stride is word `word2`.
    pub const STRIDE_WORD: u8 = 8;
}

pub mod loop_flag {
    /// The segment is the first of the loop's header: an iteration begins.
    pub const ITERATION: u8 = 1;
}

/// Copies and fills are priced in blocks of at most this many bytes, in address order.
pub const COPY_BLOCK: u64 = 64;

/// Operations of a segment (of one iteration, for a loop) at one source position. Vector operations count once per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OpCount {
    pub frame: u32,
    /// By [`OpClass`].
    pub ops: [u32; OP_CLASSES],
    /// Floating-point operations by [`FloatType`], a fused multiply-add as two.
    pub flops: [u32; FLOAT_TYPES],
}

pub const OP_CLASSES: usize = 7;
pub const FLOAT_TYPES: usize = 4;

/// Type of a floating-point operation's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FloatType {
    Bf16 = 0,
    Fp16 = 1,
    Fp32 = 2,
    /// And what is wider.
    Fp64 = 3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum OpClass {
    /// Floating-point add and subtract.
    FpAdd = 0,
    FpMul = 1,
    /// Fused multiply-add, counted once here and as two flops in W_flop.
    FpFma = 2,
    FpDiv = 3,
    /// Square root and the functions of the mathematics library.
    FpSpecial = 4,
    /// Integer arithmetic, logic and shifts; not address computation folded into accesses.
    Int = 5,
    /// Integer and floating-point comparisons, minimum and maximum.
    Compare = 6,
}

/// One node of the tree of inline frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Frame {
    /// Frame of the call that was inlined, or [`NONE`] for a position in the function itself.
    pub parent: u32,
    /// String: symbol of the source function that contains the position (linkage name when there is one).
    pub function: u32,
    /// String: source file of the position, or [`NONE`].
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// String: file of that function's declaration, or [`NONE`].
    pub decl_file: u32,
    pub decl_line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Skip {
    /// String: the reason's name.
    pub reason: u32,
    pub count: u32,
}

/// A variable on the stack whose life starts with each record of a segment. It ends with an [`ItemKind::Kill`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Slot {
    /// Number of the segment in the blob.
    pub segment: u32,
    /// Bytes.
    pub size: u32,
    /// String: the variable's name, or [`NONE`] if debug information does not say it.
    pub name: u32,
    /// String: symbol of the source function that declares it.
    pub function: u32,
    /// String: source file of the declaration, or [`NONE`].
    pub file: u32,
    pub line: u32,
    /// Added to the base address.
    pub offset: i64,
    /// Index in the record of the word with the base address.
    pub word: u16,
    pub _pad: [u16; 3],
}

/// A natural loop of a function with debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Loop {
    /// The loop around it, or [`NONE`].
    pub parent: u32,
    /// Frame of its place in the source, or [`NONE`].
    pub frame: u32,
}

/// Direct calls of one function in one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LoopCall {
    /// String: linked symbol of the called function.
    pub callee: u32,
    /// The innermost loop around the calls, or [`NONE`].
    pub around: u32,
}

/// A field of a type, as debug information has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct Field {
    /// String: name of the structure, or of the scalar type that lies there by itself.
    pub type_name: u32,
    /// Bytes of that type.
    pub type_size: u32,
    /// String: path of the field, or of several (`first..last`); empty for scalars.
    pub name: u32,
    /// Bytes from the start of the type, and bytes.
    pub offset: u32,
    pub size: u32,
}

/// What is known of an access without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Note {
    /// Number of the segment in the blob.
    pub segment: u32,
    /// Of the segment.
    pub item: u32,
    /// The field that it goes to, or [`NONE`].
    pub field: u32,
    /// The innermost loop in whose iterations the address is the same, or [`NONE`].
    pub same: u32,
}

/// Most words of one record; longer segments are cut by the instrumentation.
pub const MAX_RECORD_WORDS: usize = 1024;
/// Most accesses of one segment.
pub const MAX_SEGMENT_ITEMS: usize = 256;

/// Kinds of event records (top byte of the first word). Operands are the following words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
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
    /// `addr, len, name_len`, then the name's bytes in whole words: the block that has just started is a mapping, of a file unless the name is
    /// empty.
    Mapped = 0xdc,
    /// A signal handler starts on a ring whose last one was left by `longjmp`: no function of this ring runs any more.
    Restart = 0xdd,
}

impl EventKind {
    /// The kind with this number.
    #[inline]
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Some(match number {
            x if x == Self::Read as u8 => Self::Read,
            x if x == Self::Write as u8 => Self::Write,
            x if x == Self::Copy as u8 => Self::Copy,
            x if x == Self::Alloc as u8 => Self::Alloc,
            x if x == Self::Free as u8 => Self::Free,
            x if x == Self::FreeUnknown as u8 => Self::FreeUnknown,
            x if x == Self::Relocate as u8 => Self::Relocate,
            x if x == Self::Input as u8 => Self::Input,
            x if x == Self::RegionBegin as u8 => Self::RegionBegin,
            x if x == Self::RegionEnd as u8 => Self::RegionEnd,
            x if x == Self::Output as u8 => Self::Output,
            x if x == Self::Mapped as u8 => Self::Mapped,
            x if x == Self::Restart as u8 => Self::Restart,
            _ => return None,
        })
    }
}

/// What the instrumentation tells the hooks about a modelled library call: the call's meaning and which operands to pass
/// to [`symbol::CALL`] as `a, b, c, d`. `before` = the hook runs before the call, else after it with the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Call {
    /// after: result, size.
    Alloc = 1,
    /// after: result, count, size of one.
    AllocArray = 2,
    /// before: pointer. The size comes from the hooks' own block table.
    Free = 3,
    /// after: old pointer, result, new size. Old size from the block table.
    Realloc = 4,
    /// after: status (0 = done), address of the pointer, size.
    AllocOut = 5,
    /// after: result, length, file descriptor, flags. Mapped bytes are unknown inputs: as `Alloc`, but not in the block table.
    Map = 6,
    /// after: status, address, length.
    Unmap = 7,
    /// before: pointer, size (sized deallocation; the block table entry is dropped too).
    FreeSized = 8,
    /// after: old pointer, old size, result, new size (Rust's `__rust_realloc`).
    ReallocSized = 9,
    /// after: old pointer, result, count, size of one.
    ReallocArray = 10,
    /// after: old address, old length, result, new length.
    Remap = 11,

    /// before: dst, src, n.
    Copy = 20,
    /// before: dst, n.
    Fill = 21,
    /// after: s, result (`strlen`): reads result + 1.
    StrLen = 22,
    /// after: s, limit, result (`strnlen`).
    StrNLen = 23,
    /// before: a, b, n (`memcmp`, `bcmp`): reads both up to the first difference.
    MemCmp = 24,
    /// before: a, b.
    StrCmp = 25,
    /// before: a, b, n.
    StrNCmp = 26,
    /// after: s, c, n, result: reads up to the match, or all n.
    MemChr = 27,
    /// after: s, c, result: reads up to the match or the terminator (`strchr`, `index`).
    StrChr = 28,
    /// before: s (`strrchr`, `atoi`-like whole-string readers): reads all with the terminator.
    StrWhole = 29,
    /// before: dst, src (`strcpy`, `stpcpy`).
    StrCpy = 30,
    /// before: dst, src, n (`strncpy`): reads up to n or the terminator, writes n.
    StrNCpy = 31,
    /// before: dst, src (`strcat`).
    StrCat = 32,
    /// before: dst, src, n.
    StrNCat = 33,
    /// after: source, limit, result (`strdup`, `strndup`): a new block, copied.
    StrDup = 34,
    /// after: buffer, result (`read`, `recv`, `pread`): writes result bytes if positive.
    Delivered = 35,
    /// after: buffer, size of one, result (`fread`).
    DeliveredItems = 36,
    /// after: result (`fgets`, `gets`): the buffer, written with its terminator, if not null.
    DeliveredLine = 37,
    /// before: a, b (`strcasecmp`).
    StrCaseCmp = 38,
    /// before: a, b, n.
    StrNCaseCmp = 39,
    /// after: haystack, needle, result (`strstr`): reads the haystack up to the match's end (or all), the needle whole.
    StrStr = 40,
    /// before: buffer, n (`write`, `send`, `fwrite` with n = size * count): reads n bytes.
    Consumed = 41,
    /// before: buffer, size of one, count.
    ConsumedItems = 42,
    /// before: s, reject or accept set (`strspn`, `strcspn`) with result after: s, set, result.
    StrSpan = 43,
    /// after: buffer, limit, result (`snprintf`; `sprintf` has no limit): writes result + 1 bytes, up to the limit, unless the result is negative.
    Formatted = 44,
    /// after: address of the buffer's pointer, result (`getline`): writes result + 1 bytes, unless the result is negative.
    DeliveredLineOut = 45,

    /// `dmdprof_input(ptr, len)`.
    Input = 60,
    /// `dmdprof_begin(name)`.
    RegionBegin = 61,
    /// `dmdprof_end(name)`.
    RegionEnd = 62,
    /// `dmdprof_output(ptr, len)`.
    Output = 63,
}

// ---------------------------------------------------------------------------------------------------------------------
// Shared channel: one memory file per run.
//
//   0                     ChannelHeader (one page)
//   MODULES_OFFSET        MODULE_SLOTS module entries of MODULE_ENTRY bytes, each used again once it is read
//   RINGS_OFFSET          rings, each RING_STRIDE bytes: one page of RingHeader, then RING_CHUNKS chunks

pub const CHANNEL_MAGIC: u64 = u64::from_le_bytes(*b"DMDCHANL");
pub const PAGE: usize = 4096;
pub const MODULES_OFFSET: usize = PAGE;
pub const MODULE_ENTRY: usize = PAGE;
/// Modules that may wait to be read at once.
pub const MODULE_SLOTS: usize = 1023;
pub const RINGS_OFFSET: usize = MODULES_OFFSET + MODULE_SLOTS * MODULE_ENTRY;
pub const CHUNK_BYTES: usize = 64 << 10;
pub const RING_CHUNKS: usize = 16;
pub const RING_STRIDE: usize = PAGE + RING_CHUNKS * CHUNK_BYTES;
/// Threads (and signal contexts and forked children) of one run. The memory file is sparse.
pub const MAX_RINGS: usize = 1 << 20;
pub const CHANNEL_BYTES: u64 = RINGS_OFFSET as u64 + MAX_RINGS as u64 * RING_STRIDE as u64;

use core::sync::atomic::{AtomicU32, AtomicU64};

/// The number of no process: Linux has none above 2^22.
pub const NOBODY: u32 = i32::MAX as u32;

#[repr(C)]
pub struct ChannelHeader {
    pub magic: u64,
    pub abi: u32,
    /// [`channel_mode`].
    pub mode: u32,
    /// Process that reads the rings, or [`NOBODY`]. Producers that wait for space check now and then that it still lives.
    pub consumer_pid: AtomicU32,
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
}

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
    pub const KINDS: usize = 5;
}

/// A module entry's life. The producer takes a free one and writes it; the consumer reads it and frees it.
pub mod entry_state {
    pub const FREE: u32 = 0;
    pub const TAKEN: u32 = 1;
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

pub mod channel_mode {
    /// Records go to the engine; producers wait when it is behind.
    pub const ANALYSE: u32 = 0;
    /// Records are overwritten in place (benchmark of the hooks alone).
    pub const DISCARD: u32 = 1;
}

#[repr(C)]
pub struct ModuleEntry {
    /// [`entry_state`].
    pub state: AtomicU32,
    /// The process's [`RingHeader::process`], and the system's number for it.
    pub process: u32,
    pub pid: u32,
    pub path_len: u32,
    /// Load bias: run-time address minus link-time address.
    pub bias: u64,
    /// Mapped range.
    pub low: u64,
    pub high: u64,
    /// [`print_of`] its first bytes.
    pub print: u64,
    /// UTF-8 path bytes follow, cut at the entry's end.
    pub path: [u8; MODULE_ENTRY - 48],
}

/// First page of a ring. The producer's, the published and the consumer's fields have a cache line each.
#[repr(C, align(64))]
pub struct RingHeader {
    /// Producer: address (in the program) where the next record goes. Stored with release order after the record's words,
    /// so whatever lies between the chunk's start and here is whole, whenever and however the program ends.
    pub cursor: AtomicU64,
    /// Producer: end of the current chunk (address in the program). `cursor + bytes > limit` sends the hook to `RESERVE`.
    pub limit: AtomicU64,
    pub _pad0: [u64; 6],
    /// Chunks published so far; chunk `head % RING_CHUNKS` is being written.
    pub head: AtomicU32,
    /// [`ring_state`].
    pub state: AtomicU32,
    pub pid: u32,
    pub tid: u32,
    /// [`ring_kind`].
    pub kind: u32,
    /// Ring of the thread that a signal handler interrupted, or of the process that forked; else `u32::MAX`.
    pub parent: u32,
    /// Address in the program of the first chunk, to turn `cursor` into an offset.
    pub data_address: u64,
    /// Ancestors that registered modules before they forked, by [`Self::process`], nearest first, 0 = none: the process has
    /// those modules too.
    pub ancestors: [u32; 4],
    /// The process's number in the run, from 1.
    pub process: u32,
    pub _pad1: [u32; 3],
    /// Chunks consumed so far.
    pub tail: AtomicU32,
    /// 1 while the producer sleeps on `tail`.
    pub producer_waits: AtomicU32,
    pub _pad2: [u64; 7],
    /// Bytes used in each published chunk.
    pub chunk_len: [AtomicU32; RING_CHUNKS],
}

pub mod ring_state {
    pub const UNUSED: u32 = 0;
    /// Header filled in; records may follow.
    pub const ACTIVE: u32 = 1;
}

pub mod ring_kind {
    pub const THREAD: u32 = 0;
    pub const SIGNAL: u32 = 1;
    pub const FORK: u32 = 2;
}

const _: () = {
    assert!(size_of::<BlobHeader>() == 104);
    assert!(size_of::<Slot>() == 40);
    assert!(size_of::<SegmentHeader>() == 16);
    assert!(size_of::<Item>() == 32);
    assert!(size_of::<OpCount>() == 48);
    assert!(size_of::<Frame>() == 28);
    assert!(size_of::<Skip>() == 8);
    assert!(size_of::<ModuleEntry>() == MODULE_ENTRY);
    assert!(size_of::<RingHeader>() <= PAGE);
    assert!(size_of::<ChannelHeader>() <= PAGE);
    assert!(MAX_RECORD_WORDS * 8 <= CHUNK_BYTES);
};
