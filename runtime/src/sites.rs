//! Descriptors as the analysis uses them: which function, source position and operations a record's first word stands
//! for.
//!
//! Takes an ELF file with a [`SECTION`](abi::SECTION), gives a [`SiteTable`]; refuses files that are not ELF, blobs of
//! another version and blobs whose offsets leave their bounds. Strings and frames keep the indices of their blob; a
//! table makes them global by concatenation.

mod batch;
mod batched;
mod data;
mod generated;
pub mod joined;
#[cfg(test)]
mod joined_tests;
mod named;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use object::{Object, ObjectSection};
use sha2::{Digest, Sha256};
use zerocopy::{FromBytes, IntoBytes};

use crate::abi::{
    self, BLOB_MAGIC, BlobHeader, BlobSection, Frame, Item, ItemKind, NONE, Note, OpCount, SegmentHeader, Skip, Text,
};
pub use crate::abi::{Field, LoopCall, Slot};
use crate::steps::{self, StepKind};
pub use batch::{Batch, BatchCode, BatchFrame, BatchFunction, BatchInstruction, BatchItem, BatchSegment, Emulated};
pub use data::Datum;
pub use generated::{Generated, GeneratedCode, last};

/// Why descriptors cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{path} is not an ELF file: {message}")]
    NotElf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The file is of another version.
    #[error("{path} was instrumented by another version of dmdprof (descriptor version {found}, this is {expected}); rebuild it with this version", expected = abi::ABI_VERSION)]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version of descriptors.
        found: u16,
    },
    /// Descriptors that the instrumentation does not write.
    #[error("{path} has damaged descriptors at offset {offset}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in its section.
        offset: usize,
    },
}

/// Stands for the file of descriptors of a program that is emulated, which has none.
pub const EMULATED: &str = "(emulated)";

/// Stands for the file of descriptors of accesses that were imported, which have none.
pub const IMPORTED: &str = "(imported)";

/// One segment, ready to be replayed.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// A number of [`abi::SegmentKind`].
    pub kind: u8,
    /// Bits of [`abi::segment_flag`].
    pub flags: u8,
    /// Words of its record.
    pub words: u16,
    /// Index into [`SiteTable::functions`].
    pub function: u32,
    /// Range of [`SiteTable::items`].
    pub items: std::ops::Range<u32>,
    /// Range of [`SiteTable::ops`].
    pub ops: std::ops::Range<u32>,
    /// Range of [`SiteTable::slots`].
    pub slots: std::ops::Range<u32>,
    /// Bytes end in it.
    pub kills: bool,
    /// Index into [`SiteTable::strings`], or [`NONE`].
    pub callee: u32,
    /// Index into [`SiteTable::frames`], or [`NONE`].
    pub frame: u32,
    /// The innermost loop that it is in: index into [`SiteTable::loops`], or [`NONE`].
    pub around: u32,
}

/// A natural loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Index into [`SiteTable::functions`].
    pub function: u32,
    /// Index into [`SiteTable::loops`], or [`NONE`].
    pub parent: u32,
    /// Index into [`SiteTable::frames`], or [`NONE`].
    pub frame: u32,
}

/// A function, as it is linked.
#[derive(Clone, Debug)]
pub struct Function {
    /// Index into [`SiteTable::strings`].
    pub name: u32,
    /// Index into [`SiteTable::strings`].
    pub file: u32,
    /// Its first line; 0: not known.
    pub line: u32,
    /// Its accesses have no records.
    pub skipped: bool,
    /// Accesses with hooks.
    pub accesses: u64,
    /// Instrumented for the values model.
    pub values: bool,
    /// Its loops are marked.
    pub loops: bool,
    /// The highest register that its steps name.
    pub registers: u32,
    /// If it can be sampled: where the counters of its segments are.
    pub counters: Option<abi::Counters>,
    /// Its segments: range of [`SiteTable::segments`].
    pub segments: std::ops::Range<u32>,
}

/// By number in a table: what stands for it, as number of a table and number there; itself if it is the first.
#[derive(Clone, Debug, Default)]
pub struct Same {
    /// Segments.
    pub segments: Vec<(u32, u32)>,
    /// Functions.
    pub functions: Vec<(u32, u32)>,
}

/// All descriptors of one executable or library.
#[derive(Clone, Debug, Default)]
pub struct SiteTable {
    /// Link-time address of the section and its size.
    pub section_address: u64,
    /// Bytes of the section.
    pub section_len: u64,
    /// Segment number by offset / 8 in the section, [`NONE`] elsewhere.
    index: Vec<u32>,
    /// Segments, in the order of their addresses.
    pub segments: Vec<Segment>,
    /// Items of all segments.
    pub items: Vec<Item>,
    /// Operations of all segments.
    pub ops: Vec<OpCount>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Source positions; an inlined one names the one that it was inlined to.
    pub frames: Vec<Frame>,
    /// Names of functions, files, objects and types.
    pub strings: Vec<String>,
    /// (reason string, count).
    pub skips: Vec<(u32, u64)>,
    /// Variables on the stack; their segments are those of the table.
    pub slots: Vec<Slot>,
    /// Loops of functions with debug information, outer ones before those inside them.
    pub loops: Vec<Loop>,
    /// Direct calls of functions with loops: (index of the caller, call).
    pub calls: Vec<(u32, LoopCall)>,
    /// Fields that accesses name.
    pub fields: Vec<Field>,
    /// What is known of accesses, by segment and item: as in their descriptors, with indices of this table.
    pub notes: HashMap<(u32, u32), Note>,
    /// Sections with data, then variables by symbol.
    pub data: Vec<Datum>,
    /// Link-time addresses of data that the program cannot change: (start, bytes).
    pub read_only: Vec<(u64, u64)>,
    /// Compilers of the code with hooks, with their options; none in a file without the section `.comment`.
    pub compilers: Vec<String>,
    /// Objects and libraries of the Rust compiler that were linked without hooks.
    pub without_hooks: Vec<String>,
    /// Of an emulated program: what is known of it.
    pub emulated: Option<Emulated>,
    /// Of an emulated program whose functions have parts in several tables: what tells each function from others, its
    /// module and its first instruction.
    pub parted: Vec<(u64, u64)>,
    /// Of an emulated program: instructions of segments that are code.
    pub code: HashMap<u32, BatchCode>,
    /// Of an emulated program, by item: the number of its instruction in its block.
    pub instructions: Vec<u16>,
    /// Of an emulated program, by item: where its instruction is in the program's memory.
    pub addresses: Vec<u64>,
    /// Of an emulated program: what is the same in tables of any process.
    pub same: Option<Same>,
    /// Functions by the first of their counters.
    counted: BTreeMap<(u64, u64), u32>,
}

impl SiteTable {
    /// Segment whose header lies at this offset of the section.
    #[inline]
    #[must_use]
    pub fn segment_at(&self, offset: u64) -> Option<u32> {
        if offset & 7 != 0 {
            return None;
        }
        self.index.get((offset >> 3) as usize).copied().filter(|s| *s != NONE)
    }

    /// Whether anything in it was instrumented for the values model.
    #[must_use]
    pub fn has_values(&self) -> bool {
        self.functions.iter().any(|f| f.values && !f.skipped)
    }

    /// Whether loops are marked in anything in it.
    #[must_use]
    pub fn has_loops(&self) -> bool {
        self.functions.iter().any(|f| f.loops && !f.skipped)
    }

    /// Whether everything in it that has hooks can be sampled.
    #[must_use]
    pub fn can_be_sampled(&self) -> bool {
        self.functions.iter().all(|f| f.counters.is_some() || f.skipped)
    }

    /// The segment of a counter of an object.
    #[must_use]
    pub fn counted(&self, unit: u64, counter: u64) -> Option<u32> {
        let (_, function) = self.counted.range((unit, 0)..=(unit, counter)).next_back()?;
        let Function { counters, segments, .. } = self.functions.get(*function as usize)?;
        let behind = u32::try_from(counter - counters.as_ref()?.first).ok()?;
        segments.start.checked_add(behind).filter(|segment| segments.contains(segment))
    }

    /// Whether the program has a call site of this marker ([`abi::marker`]).
    #[must_use]
    pub fn has_marker(&self, name: &str) -> bool {
        let is_site = |s: &&Segment| s.kind == abi::SegmentKind::CallSite as u8 && s.callee != NONE;
        self.segments.iter().filter(is_site).any(|s| self.strings.get(s.callee as usize).is_some_and(|n| n == name))
    }

    /// Reads the descriptors of a file; an ELF file without any gives an empty table.
    ///
    /// # Errors
    /// See [`SiteError`].
    pub fn read(path: &Path) -> Result<Self, SiteError> {
        let table = with_section(path, |elf, address, data| {
            let compilers = comments(elf, abi::COMPILER_MARK);
            let without_hooks = comments(elf, abi::WITHOUT_HOOKS_MARK);
            let read_only = elf.sections().filter(is_read_only).map(|s| (s.address(), s.size())).collect();
            let variables = data::data_of(elf);
            Self::parse(data, path).map(|table| Self {
                section_address: address,
                compilers,
                without_hooks,
                read_only,
                data: variables,
                ..table
            })
        })?;
        table.unwrap_or_else(|| Ok(Self::default()))
    }

    /// Reads a section of descriptors; `path` is for messages.
    ///
    /// # Errors
    /// Another version, or damage.
    pub fn parse(data: &[u8], path: &Path) -> Result<Self, SiteError> {
        let mut table =
            Self { section_len: data.len() as u64, index: vec![NONE; data.len() / 8 + 1], ..Self::default() };
        let mut at = 0;
        while at + size_of::<BlobHeader>() <= data.len() {
            let bytes = &data[at..];
            if !bytes.starts_with(BLOB_MAGIC.as_bytes()) {
                // Linkers pad between input sections with zeros.
                at += 8;
                continue;
            }
            let damaged = || SiteError::Damaged { path: path.to_path_buf(), offset: at };
            let header = BlobHeader::read_from_prefix(bytes).map_err(|_| damaged())?.0;
            if header.abi != abi::ABI_VERSION {
                return Err(SiteError::Version { path: path.to_path_buf(), found: header.abi });
            }
            let len = header.total_len as usize;
            let blob = bytes
                .get(..len)
                .filter(|_| len >= size_of::<BlobHeader>() && len.is_multiple_of(8))
                .ok_or_else(damaged)?;
            table.blob(&header, blob, at).ok_or_else(damaged)?;
            at += len;
        }
        Ok(table)
    }

    fn blob(&mut self, header: &BlobHeader, blob: &[u8], at: usize) -> Option<()> {
        let base = Base { string: self.strings.len() as u32, frame: self.frames.len() as u32 };
        self.read_strings(blob, header.strings)?;
        for (number, frame) in (base.frame..).zip(part::<Frame>(blob, header.frames)?) {
            let parent = base.frame(frame.parent)?;
            // A frame's parent comes before it, so that chains end.
            if parent != NONE && parent >= number {
                return None;
            }
            let (function, file) = (base.string(frame.function)?, base.string(frame.file)?);
            self.frames.push(Frame { parent, function, file, decl_file: base.string(frame.decl_file)?, ..frame });
        }
        let counters = match header.flags & abi::function_flag::SAMPLED {
            0 => None,
            _ => Some(abi::Counters::read_from_suffix(blob).ok()?.1),
        };
        let first_segment = self.segments.len() as u32;
        for skip in part::<Skip>(blob, header.skips)? {
            self.skips.push((base.string(skip.reason)?, u64::from(skip.count)));
        }
        let function = self.functions.len() as u32;
        self.functions.push(Function {
            name: base.string(header.name)?,
            file: base.string(header.file)?,
            line: header.line,
            skipped: header.flags & abi::function_flag::SKIPPED != 0,
            accesses: 0,
            values: header.flags & abi::function_flag::VALUES != 0,
            loops: header.flags & abi::function_flag::LOOPS != 0,
            registers: 0,
            counters,
            segments: first_segment..first_segment,
        });
        let mut offset = header.segments.offset as usize;
        let first_item = self.items.len();
        for _ in 0..header.segments.count {
            offset = self.segment(blob, at, offset, function, &base)?;
        }
        self.functions[function as usize].segments.end = self.segments.len() as u32;
        if let Some(counters) = counters {
            self.counted.insert((counters.unit, counters.first), function);
        }
        for slot in part::<Slot>(blob, header.slots)? {
            self.slot(slot, first_segment, &base)?;
        }
        // Registers are numbered as they are defined, at most a vector's lanes by one item.
        const MOST_PER_ITEM: u64 = 128;
        let items = (self.items.len() - first_item) as u64;
        if u64::from(self.functions[function as usize].registers) > MOST_PER_ITEM * (items + 1) {
            return None;
        }
        self.read_metadata(header, blob, function, first_segment, &base)?;
        let indices_fit =
            self.frames.iter().skip(base.frame as usize).all(|f| self.has_strings(&[f.function, f.file, f.decl_file]))
                && self.has_strings(&[self.functions[function as usize].name, self.functions[function as usize].file]);
        indices_fit.then_some(())
    }

    /// Reads loops, what is in them, and what is known of accesses.
    fn read_metadata(
        &mut self,
        header: &BlobHeader,
        blob: &[u8],
        function: u32,
        first_segment: u32,
        base: &Base,
    ) -> Option<()> {
        let (first_loop, first_field) = (self.loops.len() as u32, self.fields.len() as u32);
        // Indices of this blob's loops and fields, as those of the table.
        let index = |local: u32, first: u32, count: u32| match local {
            NONE => Some(NONE),
            _ => (local < count).then(|| first + local),
        };
        for (number, found) in (0..).zip(part::<abi::Loop>(blob, header.loops)?) {
            // A loop comes after the one around it, so that chains end.
            let parent = index(found.parent, first_loop, number)?;
            let frame = base.frame(found.frame)?;
            let frame = if (frame as usize) < self.frames.len() { frame } else { NONE };
            self.loops.push(Loop { function, parent, frame });
        }
        for (segment, around) in (first_segment as usize..).zip(part::<u32>(blob, header.places)?) {
            self.segments.get_mut(segment)?.around = index(around, first_loop, header.loops.count)?;
        }
        for call in part::<LoopCall>(blob, header.calls)? {
            let callee = base.string(call.callee)?;
            let around = index(call.around, first_loop, header.loops.count)?;
            self.calls.push((function, LoopCall { callee, around }));
            self.has_strings(&[callee]).then_some(())?;
        }
        for field in part::<Field>(blob, header.fields)? {
            let (type_name, name) = (base.string(field.type_name)?, base.string(field.name)?);
            self.fields.push(Field { type_name, name, ..field });
            self.has_strings(&[type_name, name]).then_some(())?;
        }
        for note in part::<Note>(blob, header.notes)? {
            let field = index(note.field, first_field, header.fields.count)?;
            let same = index(note.same, first_loop, header.loops.count)?;
            let segment = first_segment.checked_add(note.segment)?;
            self.notes.insert((segment, note.item), Note { segment, field, same, ..note });
        }
        Some(())
    }

    fn has_strings(&self, indices: &[u32]) -> bool {
        indices.iter().all(|&i| i == NONE || (i as usize) < self.strings.len())
    }

    fn read_strings(&mut self, blob: &[u8], strings: BlobSection) -> Option<()> {
        for text in part::<Text>(blob, strings)? {
            let start = text.start as usize;
            let bytes = blob.get(start..start.checked_add(text.len as usize)?)?;
            self.strings.push(String::from_utf8_lossy(bytes).into_owned());
        }
        Some(())
    }

    /// Adds a stack slot; those of one segment come one after the other.
    fn slot(&mut self, slot: Slot, first_segment: u32, base: &Base) -> Option<()> {
        let slot = Slot {
            segment: first_segment.checked_add(slot.segment)?,
            name: base.string(slot.name)?,
            function: base.string(slot.function)?,
            file: base.string(slot.file)?,
            ..slot
        };
        let number = self.slots.len() as u32;
        let segment = self.segments.get_mut(slot.segment as usize)?;
        if segment.slots.is_empty() {
            segment.slots = number..number;
        }
        if slot.word >= segment.words || segment.slots.end != number {
            return None;
        }
        segment.slots.end = number + 1;
        self.slots.push(slot);
        self.has_strings(&[slot.name, slot.function, slot.file]).then_some(())
    }

    /// Reads one segment and returns the offset of the next.
    fn segment(&mut self, blob: &[u8], at: usize, offset: usize, function: u32, base: &Base) -> Option<usize> {
        let offset = offset.next_multiple_of(8);
        let (header, mut rest) = SegmentHeader::read_from_prefix(blob.get(offset..)?).ok()?;
        let SegmentHeader { kind, flags, words, .. } = header;
        let callee = base.string(header.callee)?;
        let frame = base.frame(header.frame)?;
        let (first_item, mut kills) = (self.items.len() as u32, false);
        // Word 1 counts the iterations.
        if kind == abi::SegmentKind::Loop as u8 && words < 2 {
            return None;
        }
        for _ in 0..header.items {
            let (item, behind) = Item::read_from_prefix(rest).ok()?;
            rest = behind;
            let item = checked(Item { frame: base.frame(item.frame)?, ..item }, words)?;
            let is_kill = item.kind == ItemKind::Kill as u8;
            if is_kill && kind == abi::SegmentKind::Loop as u8 {
                return None;
            }
            kills |= is_kill;
            let function = &mut self.functions[function as usize];
            if function.values {
                function.registers = function.registers.max(steps::highest_register(&item));
            }
            let before = self.items[first_item as usize..].last();
            let on_top = before.is_some_and(|before| is_again(before, &item));
            self.items.push(if on_top { Item { flags: item.flags | ON_TOP, ..item } } else { item });
        }
        let first_op = self.ops.len() as u32;
        for _ in 0..header.op_counts {
            let (count, behind) = OpCount::read_from_prefix(rest).ok()?;
            rest = behind;
            self.ops.push(OpCount { frame: base.frame(count.frame)?, ..count });
        }
        let number = self.segments.len() as u32;
        *self.index.get_mut((at + offset) / 8)? = number;
        if kind != abi::SegmentKind::CallSite as u8 {
            let counted = self.items[first_item as usize..].iter().filter(|i| is_access(i)).count();
            self.functions[function as usize].accesses += counted as u64;
        }
        self.segments.push(Segment {
            kind,
            flags,
            words,
            function,
            items: first_item..self.items.len() as u32,
            ops: first_op..self.ops.len() as u32,
            slots: 0..0,
            kills,
            callee,
            frame,
            around: NONE,
        });
        Some(blob.len() - rest.len())
    }
}

/// Flag of an item, made while reading: the access before it was to the very same bytes, so they are on the top of the
/// stack. A load finds them there, and nothing moves.
pub const ON_TOP: u8 = 1 << 7;

/// Whether an access is to the bytes of the one right before it.
fn is_again(before: &Item, item: &Item) -> bool {
    let is_plain = |item: &Item| [ItemKind::Load, ItemKind::Store].iter().any(|kind| *kind as u8 == item.kind);
    let place = |item: &Item| (item.word, item.offset, item.size, item.stride, item.word2);
    is_plain(before) && is_plain(item) && place(before) == place(item) && item.size > 0
}

/// Constants, and what the loader alone writes.
fn is_read_only(section: &object::Section<'_, '_>) -> bool {
    let in_memory = section.address() != 0 && section.size() > 0;
    let constant = matches!(section.kind(), object::SectionKind::ReadOnlyData | object::SectionKind::ReadOnlyString);
    in_memory && (constant || section.name().is_ok_and(|name| name.starts_with(".data.rel.ro")))
}

/// Whether an item is an access, or in the values model a read.
fn is_access(item: &Item) -> bool {
    item.kind != ItemKind::Loop as u8
        && StepKind::from_number(item.kind)
            .is_none_or(|step| matches!(step, StepKind::Op | StepKind::Fma | StepKind::Convert | StepKind::Escape))
}

/// What to add to a blob's own indices.
struct Base {
    string: u32,
    frame: u32,
}

impl Base {
    /// `None` if there is no such number.
    fn string(&self, index: u32) -> Option<u32> {
        if index == NONE { Some(NONE) } else { self.string.checked_add(index) }
    }

    fn frame(&self, index: u32) -> Option<u32> {
        if index == NONE { Some(NONE) } else { self.frame.checked_add(index) }
    }
}

/// The elements of a part of a blob; `None` if it leaves the blob.
fn part<T: FromBytes>(blob: &[u8], part: BlobSection) -> Option<impl Iterator<Item = T>> {
    let start = part.offset as usize;
    let bytes = blob.get(start..start.checked_add((part.count as usize).checked_mul(size_of::<T>())?)?)?;
    Some(bytes.chunks_exact(size_of::<T>()).filter_map(|element| T::read_from_bytes(element).ok()))
}

fn checked(item: Item, words: u16) -> Option<Item> {
    let kind = item.kind;
    // Word indices are checked here once, so that replaying a record need not. Steps have one at most.
    if StepKind::from_number(kind).is_some() {
        return (item.word < words.max(1)).then_some(item);
    }
    let (last_lane, length_word) = match ItemKind::from_number(kind) {
        Some(ItemKind::Gather | ItemKind::Scatter) => (item.lanes.max(1) - 1, 0),
        Some(ItemKind::Copy) => (0, item.lanes),
        _ => (0, 0),
    };
    let last = item.word.checked_add(last_lane)?.max(item.word2).max(length_word);
    (last < words.max(1)).then_some(item)
}

/// What tells one build of a program from another: a SHA-256 of its descriptors and of where they are linked to. It
/// does not change with `strip`, as records do not.
///
/// # Errors
/// As [`SiteTable::read`].
pub fn identity(path: &Path) -> Result<[u8; 32], SiteError> {
    let mut hash = Sha256::new();
    with_section(path, |_, address, data| {
        hash.update(address.to_le_bytes());
        hash.update(data);
    })?;
    Ok(hash.finalize().into())
}

/// Gives the descriptors' section of a file and its link-time address to a function, if there is one.
fn with_section<T>(
    path: &Path,
    use_it: impl FnOnce(&object::File<'_>, u64, &[u8]) -> T,
) -> Result<Option<T>, SiteError> {
    let fail = |source| SiteError::Read { path: path.to_path_buf(), source };
    let not_elf = |message| SiteError::NotElf { path: path.to_path_buf(), message };
    let file = std::fs::File::open(path).map_err(fail)?;
    let map = crate::map::map_file(&file).map_err(fail)?;
    let elf = object::File::parse(&*map).map_err(|e| not_elf(e.to_string()))?;
    let Some(section) = elf.section_by_name(abi::SECTION) else { return Ok(None) };
    let data = section.data().map_err(|e| not_elf(e.to_string()))?;
    Ok(Some(use_it(&elf, section.address(), data)))
}

/// The lines of the section `.comment` that begin with this mark, without it.
fn comments(elf: &object::File<'_>, mark: &str) -> Vec<String> {
    let comment = elf.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
    let lines = comment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    lines.filter_map(|line| line.strip_prefix(mark).map(str::to_owned)).collect()
}
