//! Sites of a program that runs under an emulator: made while it runs, as its code is translated.
//!
//! Such a program has no descriptors in its files. What watches it in the emulator writes them into the channel, where
//! a ring that is not sampled has nothing ([`RingSample`](crate::RingSample)): the ring's *site area*. One ring of a
//! process has it. Records name a site by its address, which is no address of the program: it tells the ring, and the
//! bytes from the area's start.
//!
//! An area is a list of entries of whole words, each whole before [`AreaHeader::used`] says so, and never changed. Word
//! 0 is the entry's kind in the low half, and its words in all in the high one. What follows:
//!
//! | word | [`entry::MODULE`] | [`entry::SEGMENT`] | [`entry::CODE`] |
//! |---|---|---|---|
//! | 1 | load bias | address of its module's entry, 0 = none | address of its module's entry, 0 = none |
//! | 2 | first address | address of its function's first instruction | address of its function's first instruction |
//! | 3 | behind the last address | [`Shape`] | [`Shape`], whose items are the [`instruction_set`] |
//! | 4 | bytes of the path | items, each [`ITEM_WORDS`]: address of the instruction, [`Shape::item`], bytes | address of its first instruction |
//! | 5.. | the path | | its instructions, each [`CODE_WORDS`]: [`instruction`] |
//!
//! The bits of three words:
//!
//! ```text
//!                63         48 47      46                26 25                  0
//!               +-------------+---------+------------------+---------------------+
//!   a site      | 0           | 1       | number of a ring | offset in the area  |
//!               +-------------+---------+------------------+---------------------+
//!
//!                63         48 47     32 31              16 15       8 7        0
//!               +-------------+---------+------------------+----------+----------+
//!   Shape       | 0           | items   | words            | flags    | kind     |
//!   Shape::item | instruction | word2   | word             | flags    | kind     |
//!               +-------------+---------+------------------+----------+----------+
//! ```
//!
//! The area of ring 3, which a program begins that loads 8 bytes with the second instruction of a block:
//!
//! ```text
//!     0: 0000000000000070  112 bytes are whole
//!     8: 0000000600000001  MODULE, 6 words
//!          0 400000 500000 8 7070612f6e69622f    no bias, from 0x400000 up to 0x500000, "/bin/app"
//!    56: 0000000700000002  SEGMENT, 7 words; its address is 0000_8000_0c00_0038
//!          0000_8000_0c00_0008                   its module
//!          401000                                its function
//!          0000_0001_0002_0000                   a block, 2 words in a record, 1 item:
//!          401004 0001_0000_0001_0001 8          at 0x401004, instruction 1, a load at word 1, 8 bytes
//! ```
//!
//! A record of this segment is `0000_8000_0c00_0038` and the address that was loaded.
//!
//! A record of code says that its instructions are executed now: those of its accesses follow. It is there if the
//! plugin is asked for it, for the parts of a thread that the question names ([`ToldInstructions`]). Elsewhere
//! executions are counted: an event [`Executed`](crate::EventKind::Executed) with 0 executions says that a block
//! begins, and that accesses are of no code that is told from there on; those with more say how often each block was
//! executed, before code is told again and before each system call.

use core::{fmt, sync::atomic::AtomicU64};

/// The least address of a site. Programs have none that is so high.
pub const SITES_BASE: u64 = 1 << 47;
/// Bits of an address of a site that are an offset in an area; those above are the number of a ring.
pub const AREA_BITS: u32 = 26;
/// Bytes of a site area.
pub const AREA_BYTES: usize = 1 << AREA_BITS;

const _: () = assert!(AREA_BYTES <= size_of::<crate::RingSample>());
const _: () = assert!((crate::MAX_RINGS as u64) << AREA_BITS <= SITES_BASE);

/// Start of a site area; entries follow.
#[repr(C)]
pub struct AreaHeader {
    /// Bytes of the area that are whole, this header included; 0 as long as there is no area.
    pub used: AtomicU64,
}

/// Where the first entry is.
pub const AREA_START: usize = size_of::<AreaHeader>();

/// Words of an item of a segment.
pub const ITEM_WORDS: usize = 3;
/// Words of a segment before its items.
pub const SEGMENT_WORDS: usize = 4;
/// Words of a module before its path.
pub const MODULE_WORDS: usize = 5;
/// Words of an instruction of code.
pub const CODE_WORDS: usize = 2;
/// Most bytes of an instruction.
pub const INSTRUCTION_BYTES: usize = 15;
/// The plugin's argument that asks for records of code, before the numbers of a [`ToldInstructions`].
pub const BLOCKS: &str = "blocks=";
/// The one that has it leave out lives of blocks, where nothing goes by them.
pub const NO_LIVES: &str = "lives=off";

/// Which instructions of a thread are told: those at its start, and of each period behind them the first and the last.
/// So are some thousands that begin with a block which was never told, as long as those are few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldInstructions {
    /// Instructions at the start.
    pub whole: u64,
    /// Instructions of a period.
    pub period: u64,
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
}

impl ToldInstructions {
    /// Whether a block is told before which so many instructions were executed, and up to which number that is so.
    #[must_use]
    pub const fn told_at(&self, before: u64) -> (bool, u64) {
        if before < self.whole {
            return (true, self.whole);
        }
        let period = if self.period == 0 { 1 } else { self.period };
        let at = (before - self.whole) % period;
        let (first, last) = (self.first, period.saturating_sub(self.last));
        let (is_told, end) = if at < first {
            (true, if first < period { first } else { period })
        } else if at < last {
            (false, last)
        } else {
            (true, period)
        };
        (is_told, before - at + end)
    }

    /// What a plugin's argument says; nothing of one that asks for something else.
    #[must_use]
    pub fn from_argument(argument: &str) -> Option<Self> {
        let mut numbers = argument.strip_prefix(BLOCKS)?.split(':').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        let told = Self { whole: next()?, period: next()?, first: next()?, last: next()? };
        numbers.next().is_none().then_some(told)
    }
}

/// The plugin's argument: `blocks=100:50:10:5` has 100 instructions at the start, then of each 50 the first 10 and the
/// last 5.
impl fmt::Display for ToldInstructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whole, period, first, last } = self;
        write!(f, "{BLOCKS}{whole}:{period}:{first}:{last}")
    }
}

/// Kinds of entries.
pub mod entry {
    /// A file that is mapped.
    pub const MODULE: u32 = 1;
    /// A segment.
    pub const SEGMENT: u32 = 2;
    /// Code.
    pub const CODE: u32 = 3;
}

/// Instruction sets of code.
pub mod instruction_set {
    /// x86-64.
    pub const X86: u16 = 0;
    /// A64, of 64-bit Arm processors.
    pub const AARCH64: u16 = 1;
    /// RV64GC.
    pub const RISCV64: u16 = 2;
}

/// What descriptors are made of, for whoever writes entries: as numbers, since the crate without its dependencies has
/// no more.
pub mod segment {
    /// [`SegmentKind::Block`](crate::SegmentKind::Block).
    pub const BLOCK: u8 = 0;
    /// [`SegmentKind::CallSite`](crate::SegmentKind::CallSite).
    pub const CALL_SITE: u8 = 2;
    /// [`segment_flag::ENTER`](crate::segment_flag::ENTER).
    pub const ENTER: u8 = 1;
    /// [`segment_flag::EXIT`](crate::segment_flag::EXIT).
    pub const EXIT: u8 = 2;
    /// [`ItemKind::Load`](crate::ItemKind::Load).
    pub const LOAD: u8 = 1;
    /// [`ItemKind::Store`](crate::ItemKind::Store).
    pub const STORE: u8 = 2;
    /// [`ItemKind::Kill`](crate::ItemKind::Kill).
    pub const KILL: u8 = 12;
    /// [`item_flag::DYNAMIC`](crate::item_flag::DYNAMIC).
    pub const DYNAMIC: u8 = 1;
}

/// First word of an entry.
#[must_use]
pub const fn head(kind: u32, words: usize) -> u64 {
    kind as u64 | (words as u64) << 32
}

/// The words of a module behind its first one.
pub fn module(bias: u64, low: u64, high: u64, path: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let word = |part: &[u8]| (0u32..).step_by(8).zip(part).fold(0, |word, (at, byte)| word | u64::from(*byte) << at);
    [bias, low, high, path.len() as u64].into_iter().chain(path.chunks(8).map(word))
}

/// The words of a segment behind its first one.
pub fn segment(
    module: u64,
    function: u64,
    shape: Shape,
    items: &[[u64; ITEM_WORDS]],
) -> impl Iterator<Item = u64> + '_ {
    [module, function, shape.word()].into_iter().chain(items.iter().flatten().copied())
}

/// The words of code behind its first one, whose first instruction has an address.
pub fn code<'a>(
    module: u64,
    function: u64,
    shape: Shape,
    start: u64,
    instructions: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = u64> {
    [module, function, shape.word(), start].into_iter().chain(instructions.flat_map(instruction))
}

/// An instruction in words: its bytes, and in the last byte how many they are. `ret` (`c3`) is 0x00000000000000c3,
/// 0x0100000000000000.
#[must_use]
pub fn instruction(bytes: &[u8]) -> [u64; CODE_WORDS] {
    let mut all = [0; INSTRUCTION_BYTES + 1];
    let count = bytes.len().min(INSTRUCTION_BYTES);
    all[..count].copy_from_slice(&bytes[..count]);
    all[INSTRUCTION_BYTES] = count as u8;
    let [low, high] = [0, 8].map(|at| core::array::from_fn(|byte| all[at + byte]));
    [u64::from_le_bytes(low), u64::from_le_bytes(high)]
}

/// The bytes of an instruction in words, and how many they are.
#[must_use]
pub fn instruction_bytes(words: [u64; CODE_WORDS]) -> ([u8; INSTRUCTION_BYTES], usize) {
    let [low, high] = words.map(u64::to_le_bytes);
    let bytes = core::array::from_fn(|at| if at < 8 { low[at] } else { high[at - 8] });
    (bytes, usize::from(high[7]).min(INSTRUCTION_BYTES))
}

/// Address of what lies in the area of a ring.
#[must_use]
pub const fn address(ring: u32, offset: u64) -> u64 {
    SITES_BASE | (ring as u64) << AREA_BITS | offset
}

/// Ring, and offset in its area, of an address; `None` = it is no address of a site.
#[must_use]
pub const fn area_of(address: u64) -> Option<(u32, u64)> {
    let behind = address.wrapping_sub(SITES_BASE);
    if behind >> 47 != 0 {
        return None;
    }
    Some(((behind >> AREA_BITS) as u32, behind & (AREA_BYTES as u64 - 1)))
}

/// What a segment is, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// [`SegmentKind`](crate::SegmentKind).
    pub kind: u8,
    /// [`segment_flag`](crate::segment_flag) bits.
    pub flags: u8,
    /// Words of its record.
    pub words: u16,
    /// Items.
    pub items: u16,
}

impl Shape {
    /// The shape in one word.
    #[must_use]
    pub const fn word(self) -> u64 {
        self.kind as u64 | (self.flags as u64) << 8 | (self.words as u64) << 16 | (self.items as u64) << 32
    }

    /// From a word.
    #[must_use]
    pub const fn from_word(word: u64) -> Self {
        Self { kind: word as u8, flags: (word >> 8) as u8, words: (word >> 16) as u16, items: (word >> 32) as u16 }
    }

    /// Kind, flags, `word` and `word2` of an item, in one word. Its highest 16 bits are [`of_instruction`].
    #[must_use]
    pub const fn item(kind: u8, flags: u8, word: u16, word2: u16) -> u64 {
        kind as u64 | (flags as u64) << 8 | (word as u64) << 16 | (word2 as u64) << 32
    }
}

/// An item, with the number of its instruction in the block.
#[must_use]
pub const fn of_instruction(item: u64, number: u32) -> u64 {
    item | (number as u64) << 48
}

/// Asks the system for nothing: what the library that is loaded into an emulated program says is an operand of this
/// system call, which no kernel has.
pub const SYSTEM_CALL: i64 = 0x0044_4d44;

#[cfg(all(test, feature = "descriptors"))]
mod tests {
    extern crate std;

    use std::{string::ToString, vec::Vec};

    use super::*;
    use crate::{ItemKind, SegmentKind, item_flag, segment_flag};

    #[test]
    fn the_numbers_are_those_of_descriptors() {
        assert_eq!([segment::BLOCK, segment::CALL_SITE], [SegmentKind::Block as u8, SegmentKind::CallSite as u8]);
        assert_eq!([segment::ENTER, segment::EXIT], [segment_flag::ENTER, segment_flag::EXIT]);
        let items = [ItemKind::Load, ItemKind::Store, ItemKind::Kill].map(|kind| kind as u8);
        assert_eq!([segment::LOAD, segment::STORE, segment::KILL], items);
        assert_eq!(segment::DYNAMIC, item_flag::DYNAMIC);
    }

    #[test]
    fn told_are_the_start_and_both_ends_of_each_period() {
        let told = ToldInstructions { whole: 100, period: 50, first: 10, last: 5 };
        let changes: Vec<u64> = (1..220).filter(|at| told.told_at(*at).0 != told.told_at(at - 1).0).collect();
        assert_eq!(changes, [110, 145, 160, 195, 210]);
        for before in 0..220 {
            let (is_told, end) = told.told_at(before);
            assert!(end > before && (before..end).all(|at| told.told_at(at).0 == is_told), "{before}");
        }
        assert_eq!(ToldInstructions { period: 0, ..told }.told_at(1000), (true, 1001));
        assert_eq!(ToldInstructions::from_argument(&told.to_string()), Some(told));
        assert_eq!(
            ["blocks=1:2:3", "blocks=1:2:3:4:5", "blocks=1:2:3:x", "other=1"].map(ToldInstructions::from_argument),
            [None; 4]
        );
    }

    #[test]
    fn addresses_and_shapes_come_back() {
        assert_eq!(area_of(address(0x000f_ffff, 0x03ff_fff8)), Some((0x000f_ffff, 0x03ff_fff8)));
        assert_eq!([area_of(0x7fff_ffff_ffff), area_of(1 << 48), area_of(0)], [None; 3]);
        let shape = Shape { kind: 2, flags: 17, words: 65, items: 64 };
        assert_eq!(Shape::from_word(shape.word()), shape);
        let bytes: [u8; 15] = core::array::from_fn(|at| at as u8 + 1);
        for count in [1, 8, 9, 15] {
            let (found, found_count) = instruction_bytes(instruction(&bytes[..count]));
            assert_eq!(found[..found_count], bytes[..count]);
        }
    }
}
