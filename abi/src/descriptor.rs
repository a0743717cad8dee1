//! Descriptors: what a segment's record stands for. Written by the instrumentation, read by the analysis.
//!
//! All are structures without padding, so their bytes in the file are their bytes in memory. Numbers are
//! little-endian. A blob, with the offsets of `int f(int i) { return a[i]; }`:
//!
//! ```text
//!   0x00 | BlobHeader                                    | 104 bytes
//!   0x68 | SegmentHeader | Item ... | OpCount ... |  ... | segments: 16 + 32 per item + 48 per count
//!   0x98 | Frame ...                                     | the other parts, each at a multiple of 8
//!   0xf8 | Text ...                                      | last of them the strings: 8 bytes each,
//!  0x118 | bytes of the texts                            | then their bytes
//!        | Counters, if the function can be sampled      | the blob's last 16 bytes
//! ```
//!
//! The header begins `44 4d 44 53 | 08 00 | 00 00 | 30 01 00 00 | 01 00 00 00 68 00 00 00`: `DMDS`, version 8, no
//! flags, 0x130 bytes in all, 1 segment at 0x68. There lie the segment and its one item:
//!
//! ```text
//!   68: 00 03 02 00 01 00 00 00 ff ff ff ff 00 00 00 00
//!       |  |  |     |     |     |           frame 0
//!       |  |  |     |     |     no callee
//!       |  |  |     |     no operation counts
//!       |  |  |     1 item
//!       |  |  2 words in a record
//!       |  ENTER and EXIT: all of the function
//!       SegmentKind::Block
//!
//!   78: 01 00 01 00 00 00 00 00 04 00 00 00 00 00 00 00   offset 0 and stride 0, 8 bytes each, follow
//!       |  |  |     |     |     |           frame 0
//!       |  |  |     |     |     4 bytes
//!       |  |  |     |     no lanes
//!       |  |  |     no second operand
//!       |  |  the address is word 1 of the record
//!       |  no flags
//!       ItemKind::Load
//! ```

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// `b"DMDS"`: start of a blob.
pub const BLOB_MAGIC: u32 = u32::from_le_bytes(*b"DMDS");

/// Where one part of a blob is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct BlobSection {
    /// How many there are.
    pub count: u32,
    /// Bytes from the blob's start to the first.
    pub offset: u32,
}

const _: () = assert!(size_of::<BlobSection>() == 8);

/// Start of a blob, which describes one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct BlobHeader {
    /// [`BLOB_MAGIC`].
    pub magic: u32,
    /// [`ABI_VERSION`](crate::ABI_VERSION).
    pub abi: u16,
    /// [`function_flag`] bits.
    pub flags: u16,
    /// Bytes in all, a multiple of 8.
    pub total_len: u32,
    /// Segments, one after the other.
    pub segments: BlobSection,
    /// [`Frame`]s.
    pub frames: BlobSection,
    /// [`Skip`]s.
    pub skips: BlobSection,
    /// [`Text`]s.
    pub strings: BlobSection,
    /// String: the linked symbol.
    pub name: u32,
    /// String: source file of the definition, or [`NONE`].
    pub file: u32,
    /// Line of the definition.
    pub line: u32,
    /// [`Slot`]s.
    pub slots: BlobSection,
    /// [`Loop`]s.
    pub loops: BlobSection,
    /// A `u32` per segment, or none.
    pub places: BlobSection,
    /// [`LoopCall`]s.
    pub calls: BlobSection,
    /// [`Field`]s.
    pub fields: BlobSection,
    /// [`Note`]s.
    pub notes: BlobSection,
}

const _: () = assert!(size_of::<BlobHeader>() == 104);

/// "No such index" in descriptor fields.
pub const NONE: u32 = u32::MAX;

/// Bits of [`BlobHeader::flags`].
pub mod function_flag {
    /// The function carries no hooks at all; its skips say why.
    pub const SKIPPED: u16 = 1;
    /// Instrumented for the values model: items are the steps of [`steps`](crate::steps) beside
    /// [`super::ItemKind::Copy`] and [`super::ItemKind::Fill`].
    pub const VALUES: u16 = 2;
    /// Loops are marked: segments inside loops begin with an item [`super::ItemKind::Loop`].
    pub const LOOPS: u16 = 4;
    /// The function can be sampled: its records have a time, its segments counters, and the blob ends with
    /// [`super::Counters`].
    pub const SAMPLED: u16 = 8;
}

/// Where the counters of a function's segments are: one per segment, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Counters {
    /// Names the object that the function is compiled in.
    pub unit: u64,
    /// Number in the object of the first segment's counter.
    pub first: u64,
}

const _: () = assert!(size_of::<Counters>() == 16);

/// Start of a segment; its items and operation counts follow. Records name it by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct SegmentHeader {
    /// [`SegmentKind`].
    pub kind: u8,
    /// [`segment_flag`] bits.
    pub flags: u8,
    /// Words of one record, word 0 included.
    pub words: u16,
    /// How many [`Item`]s follow.
    pub items: u16,
    /// How many [`OpCount`]s follow them.
    pub op_counts: u16,
    /// String: function that the segment ends by calling, if it is a direct call to a function not defined in this
    /// object; else [`NONE`].
    pub callee: u32,
    /// Frame of the segment's first located instruction, or [`NONE`].
    pub frame: u32,
}

const _: () = assert!(size_of::<SegmentHeader>() == 16);

numbered! {
    /// What a segment is.
    pub enum SegmentKind: u8 {
        /// Part of a basic block.
        Block = 0,
        /// Word 1 is the iteration count; items have strides.
        Loop = 1,
        /// Never the first word of a segment record: names the call site of event records. Its item 0 is the site.
        CallSite = 2,
    }
}

/// Bits of [`SegmentHeader::flags`].
pub mod segment_flag {
    /// The segment opens its function: a new frame of the calling context starts before the items.
    pub const ENTER: u8 = 1;
    /// The segment ends its function: the frame ends after the items.
    pub const EXIT: u8 = 2;
    /// Control arrived here by unwinding or `longjmp`: frames above the one with this cookie are gone. The cookie is
    /// the last word.
    pub const LANDING: u8 = 4;
    /// With `ENTER`: the frame may be landed in; the last word is its cookie.
    pub const COOKIE: u8 = 8;
    /// Where calling contexts change.
    pub const BORDERS: u8 = ENTER | EXIT | LANDING;
}

/// One access (or other effect) of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Item {
    /// [`ItemKind`].
    pub kind: u8,
    /// [`item_flag`] bits.
    pub flags: u8,
    /// Index in the record of the word with the base address.
    pub word: u16,
    /// Second operand word: mask, or length of a dynamic [`ItemKind::Fill`], [`ItemKind::Kill`], or source of a
    /// [`ItemKind::Copy`]; the stride with [`item_flag::STRIDE_WORD`].
    pub word2: u16,
    /// Lanes of a masked, gathered or packed access (at most 64); length word of a dynamic [`ItemKind::Copy`]. Where
    /// loops are marked, also lanes of a plain load or store of a vector, which are for information only.
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

const _: () = assert!(size_of::<Item>() == 32);

numbered! {
    /// What an item is.
    pub enum ItemKind: u8 {
        /// Reads `size` bytes.
        Load = 1,
        /// Writes `size` bytes.
        Store = 2,
        /// Atomic read-modify-write: a load, then a store.
        Update = 3,
        /// Lane `i` is at `base + offset + i * size`, accessed if bit `i` of the mask is set.
        MaskedLoad = 4,
        /// Writes the lanes that a [`Self::MaskedLoad`] reads.
        MaskedStore = 5,
        /// Lane `i`'s address is word `word + i`.
        Gather = 6,
        /// Writes the lanes that a [`Self::Gather`] reads.
        Scatter = 7,
        /// `popcount(mask) * size` contiguous bytes.
        ExpandLoad = 8,
        /// Writes the bytes that an [`Self::ExpandLoad`] reads.
        CompressStore = 9,
        /// Reads `word2`, writes `word`, `size` bytes or the number in word `lanes`; in blocks of
        /// [`COPY_BLOCK`](crate::COPY_BLOCK) bytes.
        Copy = 10,
        /// Writes `size` bytes or the number in `word2`.
        Fill = 11,
        /// Bytes leave the stack: scope end, stack slot of a returning function. `size` bytes or the number in `word2`.
        Kill = 12,
        /// No access: the natural loop that the segment is in. `size` is the loop's number in its function, `offset`
        /// that of the loop around it (-1: none), `frame` its place in the source; its flags are [`loop_flag`]s.
        Loop = 13,
    }
}

/// Bits of [`Item::flags`].
pub mod item_flag {
    /// The length is in a word of the record.
    pub const DYNAMIC: u8 = 1;
    /// An atomic access.
    pub const ATOMIC: u8 = 2;
    /// A volatile access.
    pub const VOLATILE: u8 = 4;
    /// In a loop segment: the stride is word `word2`.
    pub const STRIDE_WORD: u8 = 8;
}

/// Bits of the flags of an [`ItemKind::Loop`].
pub mod loop_flag {
    /// The segment is the first of the loop's header: an iteration begins.
    pub const ITERATION: u8 = 1;
}

/// Operations of a segment (of one iteration, for a loop) at one source position. Vector operations count once per
/// lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct OpCount {
    /// Source position, or [`NONE`].
    pub frame: u32,
    /// By [`OpClass`].
    pub ops: [u32; OP_CLASSES],
    /// Floating-point operations by [`FloatType`], a fused multiply-add as two.
    pub flops: [u32; FLOAT_TYPES],
}

const _: () = assert!(size_of::<OpCount>() == 48);

/// Number of [`OpClass`]es.
pub const OP_CLASSES: usize = 7;
/// Number of [`FloatType`]s.
pub const FLOAT_TYPES: usize = 4;

numbered! {
    /// Type of a floating-point operation's operands.
    pub enum FloatType: u8 {
        /// `bfloat`: 16 bits, 8 of exponent.
        Bf16 = 0,
        /// `half`: IEEE 754 binary16.
        Fp16 = 1,
        /// `float`: IEEE 754 binary32.
        Fp32 = 2,
        /// `double`: IEEE 754 binary64, and wider types.
        Fp64 = 3,
    }
}

numbered! {
    /// Kinds of operations.
    #[derive(PartialOrd, Ord)]
    pub enum OpClass: u8 {
        /// Floating-point add and subtract.
        FpAdd = 0,
        /// Floating-point multiply.
        FpMul = 1,
        /// Fused multiply-add, counted once here and as two flops in W_flop.
        FpFma = 2,
        /// Floating-point divide and remainder.
        FpDiv = 3,
        /// Square root and the functions of the mathematics library.
        FpSpecial = 4,
        /// Integer arithmetic, logic and shifts; not address computation folded into accesses.
        Int = 5,
        /// Integer and floating-point comparisons, minimum and maximum.
        Compare = 6,
    }
}

/// One node of the tree of inline frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Frame {
    /// Frame of the call that was inlined, or [`NONE`] for a position in the function itself.
    pub parent: u32,
    /// String: symbol of the source function that contains the position (linkage name when there is one).
    pub function: u32,
    /// String: source file of the position, or [`NONE`].
    pub file: u32,
    /// Line of the position.
    pub line: u32,
    /// Column of the position, or 0.
    pub column: u32,
    /// String: file of that function's declaration, or [`NONE`].
    pub decl_file: u32,
    /// Line of that declaration.
    pub decl_line: u32,
}

const _: () = assert!(size_of::<Frame>() == 28);

/// A string of a blob: UTF-8, without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Text {
    /// Bytes from the blob's start.
    pub start: u32,
    /// Bytes.
    pub len: u32,
}

const _: () = assert!(size_of::<Text>() == 8);

/// Accesses that carry no hook, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Skip {
    /// String: the reason's name.
    pub reason: u32,
    /// How many accesses.
    pub count: u32,
}

const _: () = assert!(size_of::<Skip>() == 8);

/// A variable on the stack whose life starts with each record of a segment. It ends with an [`ItemKind::Kill`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
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
    /// Line of the declaration.
    pub line: u32,
    /// Added to the base address.
    pub offset: i64,
    /// Index in the record of the word with the base address.
    pub word: u16,
    /// Unused.
    pub _pad: [u16; 3],
}

const _: () = assert!(size_of::<Slot>() == 40);

/// A natural loop of a function with debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Loop {
    /// The loop around it, or [`NONE`].
    pub parent: u32,
    /// Frame of its place in the source, or [`NONE`].
    pub frame: u32,
}

const _: () = assert!(size_of::<Loop>() == 8);

/// Direct calls of one function in one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct LoopCall {
    /// String: linked symbol of the called function.
    pub callee: u32,
    /// The innermost loop around the calls, or [`NONE`].
    pub around: u32,
}

const _: () = assert!(size_of::<LoopCall>() == 8);

/// A field of a type, as debug information has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable)]
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
    /// Bytes of the field.
    pub size: u32,
}

const _: () = assert!(size_of::<Field>() == 20);

/// What is known of an access without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
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
    /// 1 if the address depends on data that the innermost loop loads, as in `a[index[i]]` and lists; else 0.
    pub is_irregular: u32,
}

const _: () = assert!(size_of::<Note>() == 20);
