//! Descriptors as the analysis uses them: which function, source position and operations a record's first word stands for.
//!
//! Takes an ELF file with a [`SECTION`](abi::SECTION), gives a [`SiteTable`]; refuses files that are not ELF, blobs of
//! another version and blobs whose offsets leave their bounds. Strings and frames keep the indices of their blob; a table
//! makes them global by concatenation.

mod data;

use std::{collections::HashMap, path::Path, path::PathBuf};

use object::{Object, ObjectSection};
use sha2::{Digest, Sha256};

use crate::abi::{
    self, BLOB_MAGIC, BlobHeader, FLOAT_TYPES, Frame, Item, ItemKind, NONE, Note, OP_CLASSES, OpCount, SegmentHeader,
    Skip,
};
pub use crate::abi::{Field, LoopCall, Slot};
use crate::steps::{self, StepKind};
pub use data::Datum;

#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is not an ELF file: {message}")]
    NotElf { path: PathBuf, message: String },
    #[error("{path} was instrumented by another version of dmdprof (descriptor version {found}, this is {expected}); rebuild it with this version", expected = abi::ABI_VERSION)]
    Version { path: PathBuf, found: u16 },
    #[error("{path} has damaged descriptors at offset {offset}")]
    Damaged { path: PathBuf, offset: usize },
}

/// One segment, ready to be replayed.
#[derive(Debug, Default)]
pub struct Segment {
    pub kind: u8,
    pub flags: u8,
    pub words: u16,
    /// Index into [`SiteTable::functions`].
    pub function: u32,
    /// Range of [`SiteTable::items`].
    pub items: std::ops::Range<u32>,
    /// Range of [`SiteTable::ops`].
    pub ops: std::ops::Range<u32>,
    /// Range of [`SiteTable::slots`].
    pub slots: std::ops::Range<u32>,
    /// Index into [`SiteTable::strings`], or [`NONE`].
    pub callee: u32,
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

#[derive(Debug)]
pub struct Function {
    pub name: u32,
    pub file: u32,
    pub line: u32,
    pub skipped: bool,
    /// Accesses with hooks.
    pub accesses: u64,
    /// Instrumented for the values model.
    pub values: bool,
    /// Its loops are marked.
    pub loops: bool,
    /// The highest register that its steps name.
    pub registers: u32,
}

/// All descriptors of one executable or library.
#[derive(Debug, Default)]
pub struct SiteTable {
    /// Link-time address of the section and its size.
    pub section_address: u64,
    pub section_len: u64,
    /// Segment number by offset / 8 in the section, [`NONE`] elsewhere.
    index: Vec<u32>,
    pub segments: Vec<Segment>,
    pub items: Vec<Item>,
    pub ops: Vec<OpCount>,
    pub functions: Vec<Function>,
    pub frames: Vec<Frame>,
    pub strings: Vec<String>,
    /// (reason string, count).
    pub skips: Vec<(u32, u64)>,
    /// Variables on the stack; their segments are those of the table.
    pub slots: Vec<Slot>,
    /// Loops of functions with debug information, outer ones before those inside them.
    pub loops: Vec<Loop>,
    /// Direct calls of functions with loops: (index of the caller, call).
    pub calls: Vec<(u32, LoopCall)>,
    pub fields: Vec<Field>,
    /// What is known of accesses: (segment, item) to indices of the field and of the loop in which the address stays the same, or [`NONE`].
    pub notes: HashMap<(u32, u32), (u32, u32)>,
    /// Sections with data, then variables by symbol.
    pub data: Vec<Datum>,
    /// Link-time addresses of data that the program cannot change: (start, bytes).
    pub read_only: Vec<(u64, u64)>,
    /// Compilers of the code with hooks, with their options; none in a file without the section `.comment`.
    pub compilers: Vec<String>,
    /// Objects and libraries of the Rust compiler that were linked without hooks.
    pub without_hooks: Vec<String>,
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
            let variables = data::of(elf);
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
            if u32_at(bytes, 0) != Some(BLOB_MAGIC) {
                // Linkers pad between input sections with zeros.
                at += 8;
                continue;
            }
            let damaged = || SiteError::Damaged { path: path.to_path_buf(), offset: at };
            let found = (u32_at(bytes, 4).unwrap_or(0) & 0xffff) as u16;
            if found != abi::ABI_VERSION {
                return Err(SiteError::Version { path: path.to_path_buf(), found });
            }
            let len = u32_at(bytes, 8).ok_or_else(damaged)? as usize;
            let blob = bytes
                .get(..len)
                .filter(|_| len >= size_of::<BlobHeader>() && len.is_multiple_of(8))
                .ok_or_else(damaged)?;
            table.blob(blob, at).ok_or_else(damaged)?;
            at += len;
        }
        Ok(table)
    }

    fn blob(&mut self, blob: &[u8], at: usize) -> Option<()> {
        let field = |i: usize| u32_at(blob, i * 4);
        let flags = (field(1)? >> 16) as u16;
        let (segments, segments_offset) = (field(3)?, field(4)? as usize);
        let (frames, frames_offset) = (field(5)?, field(6)? as usize);
        let (skips, skips_offset) = (field(7)?, field(8)? as usize);
        let (strings, strings_offset) = (field(9)?, field(10)? as usize);
        let (slots, slots_offset) = (field(14)?, field(15)? as usize);
        let base = Base { string: self.strings.len() as u32, frame: self.frames.len() as u32 };

        self.read_strings(blob, strings, strings_offset)?;
        for i in 0..frames as usize {
            let f = |k: usize| u32_at(blob, frames_offset + i * size_of::<Frame>() + k * 4);
            let parent = base.frame(f(0)?);
            // A frame's parent comes before it, so that chains end.
            if parent != NONE && parent >= base.frame + i as u32 {
                return None;
            }
            self.frames.push(Frame {
                parent,
                function: base.string(f(1)?),
                file: base.string(f(2)?),
                line: f(3)?,
                column: f(4)?,
                decl_file: base.string(f(5)?),
                decl_line: f(6)?,
            });
        }
        for i in 0..skips as usize {
            let reason = base.string(u32_at(blob, skips_offset + i * size_of::<Skip>())?);
            let count = u32_at(blob, skips_offset + i * size_of::<Skip>() + 4)?;
            self.skips.push((reason, u64::from(count)));
        }
        let function = self.functions.len() as u32;
        self.functions.push(Function {
            name: base.string(field(11)?),
            file: base.string(field(12)?),
            line: field(13)?,
            skipped: flags & abi::function_flag::SKIPPED != 0,
            accesses: 0,
            values: flags & abi::function_flag::VALUES != 0,
            loops: flags & abi::function_flag::LOOPS != 0,
            registers: 0,
        });
        let mut offset = segments_offset;
        let first_segment = self.segments.len() as u32;
        let first_item = self.items.len();
        for _ in 0..segments {
            offset = self.segment(blob, at, offset, function, &base)?;
        }
        for i in 0..slots as usize {
            self.slot(blob, slots_offset + i * size_of::<Slot>(), first_segment, &base)?;
        }
        // Registers are numbered as they are defined, at most a vector's lanes by one item.
        const MOST_PER_ITEM: u64 = 128;
        let items = (self.items.len() - first_item) as u64;
        if u64::from(self.functions[function as usize].registers) > MOST_PER_ITEM * (items + 1) {
            return None;
        }
        self.known(blob, function, first_segment, &base)?;
        let indices_fit =
            self.frames.iter().skip(base.frame as usize).all(|f| self.has_strings(&[f.function, f.file, f.decl_file]))
                && self.has_strings(&[self.functions[function as usize].name, self.functions[function as usize].file]);
        indices_fit.then_some(())
    }

    /// Reads loops, what is in them, and what is known of accesses.
    fn known(&mut self, blob: &[u8], function: u32, first_segment: u32, base: &Base) -> Option<()> {
        let header = |i: usize| Some(u32_at(blob, i * 4)? as usize);
        let (loops, loops_offset) = (header(16)?, header(17)?);
        let (places, places_offset) = (header(18)?, header(19)?);
        let (calls, calls_offset) = (header(20)?, header(21)?);
        let (fields, fields_offset) = (header(22)?, header(23)?);
        let (notes, notes_offset) = (header(24)?, header(25)?);
        let (first_loop, first_field) = (self.loops.len() as u32, self.fields.len() as u32);
        // Indices of this blob's loops and fields, as those of the table.
        let index = |local: u32, first: u32, count: usize| match local {
            NONE => Some(NONE),
            _ => ((local as usize) < count).then(|| first + local),
        };
        for i in 0..loops {
            // A loop comes after the one around it, so that chains end.
            let parent = index(u32_at(blob, loops_offset + i * 8)?, first_loop, i)?;
            let frame = base.frame(u32_at(blob, loops_offset + i * 8 + 4)?);
            let frame = if (frame as usize) < self.frames.len() { frame } else { NONE };
            self.loops.push(Loop { function, parent, frame });
        }
        for i in 0..places {
            let around = index(u32_at(blob, places_offset + i * 4)?, first_loop, loops)?;
            self.segments.get_mut(first_segment as usize + i)?.around = around;
        }
        for i in 0..calls {
            let callee = base.string(u32_at(blob, calls_offset + i * 8)?);
            let around = index(u32_at(blob, calls_offset + i * 8 + 4)?, first_loop, loops)?;
            self.calls.push((function, LoopCall { callee, around }));
            self.has_strings(&[callee]).then_some(())?;
        }
        for i in 0..fields {
            let word = |k: usize| u32_at(blob, fields_offset + i * size_of::<Field>() + k * 4);
            let (type_name, name) = (base.string(word(0)?), base.string(word(2)?));
            self.fields.push(Field { type_name, type_size: word(1)?, name, offset: word(3)?, size: word(4)? });
            self.has_strings(&[type_name, name]).then_some(())?;
        }
        for i in 0..notes {
            let word = |k: usize| u32_at(blob, notes_offset + i * size_of::<Note>() + k * 4);
            let (segment, item) = (first_segment.checked_add(word(0)?)?, word(1)?);
            let found = (index(word(2)?, first_field, fields)?, index(word(3)?, first_loop, loops)?);
            self.notes.insert((segment, item), found);
        }
        Some(())
    }

    fn has_strings(&self, indices: &[u32]) -> bool {
        indices.iter().all(|&i| i == NONE || (i as usize) < self.strings.len())
    }

    fn read_strings(&mut self, blob: &[u8], count: u32, table: usize) -> Option<()> {
        for i in 0..count as usize {
            let start = u32_at(blob, table + i * 8)? as usize;
            let len = u32_at(blob, table + i * 8 + 4)? as usize;
            let bytes = blob.get(start..start.checked_add(len)?)?;
            self.strings.push(String::from_utf8_lossy(bytes).into_owned());
        }
        Some(())
    }

    /// Reads a stack slot; those of one segment come one after the other.
    fn slot(&mut self, blob: &[u8], at: usize, first_segment: u32, base: &Base) -> Option<()> {
        let field = |i: usize| u32_at(blob, at + i * 4);
        let string = |i: usize| Some(base.string(field(i)?));
        let slot = Slot {
            segment: first_segment.checked_add(field(0)?)?,
            size: field(1)?,
            name: string(2)?,
            function: string(3)?,
            file: string(4)?,
            line: field(5)?,
            offset: i64::from_le_bytes(blob.get(at + 24..at + 32)?.try_into().ok()?),
            word: u16_at(blob, at + 32)?,
            ..Slot::default()
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
        let half = |i: usize| u16_at(blob, offset + i * 2);
        let [kind, flags] = half(0)?.to_le_bytes();
        let (words, items, op_counts) = (half(1)?, half(2)?, half(3)?);
        let callee = base.string(u32_at(blob, offset + 8)?);
        let frame = base.frame(u32_at(blob, offset + 12)?);
        let mut next = offset + size_of::<SegmentHeader>();
        let first_item = self.items.len() as u32;
        // Word 1 counts the iterations.
        if kind == abi::SegmentKind::Loop as u8 && words < 2 {
            return None;
        }
        for _ in 0..items {
            let item = item(blob, next, words, base)?;
            let function = &mut self.functions[function as usize];
            if function.values {
                function.registers = function.registers.max(steps::highest_register(&item));
            }
            let before = self.items[first_item as usize..].last();
            let on_top = before.is_some_and(|before| is_again(before, &item));
            self.items.push(if on_top { Item { flags: item.flags | ON_TOP, ..item } } else { item });
            next += size_of::<Item>();
        }
        let first_op = self.ops.len() as u32;
        for _ in 0..op_counts {
            let mut ops = [0; OP_CLASSES];
            for (class, count) in ops.iter_mut().enumerate() {
                *count = u32_at(blob, next + 4 + class * 4)?;
            }
            let mut flops = [0; FLOAT_TYPES];
            for (float, count) in flops.iter_mut().enumerate() {
                *count = u32_at(blob, next + 4 + (OP_CLASSES + float) * 4)?;
            }
            self.ops.push(OpCount { frame: base.frame(u32_at(blob, next)?), ops, flops });
            next += size_of::<OpCount>();
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
            callee,
            frame,
            around: NONE,
        });
        Some(next)
    }
}

/// Flag of an item, made while reading: the access before it was to the very same bytes, so they are on the top of the stack. A
/// load finds them there, and nothing moves.
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
        && StepKind::of(item.kind)
            .is_none_or(|step| matches!(step, StepKind::Op | StepKind::Fma | StepKind::Convert | StepKind::Escape))
}

/// What to add to a blob's own indices.
struct Base {
    string: u32,
    frame: u32,
}

impl Base {
    fn string(&self, index: u32) -> u32 {
        if index == NONE { NONE } else { self.string + index }
    }

    fn frame(&self, index: u32) -> u32 {
        if index == NONE { NONE } else { self.frame + index }
    }
}

fn item(blob: &[u8], at: usize, words: u16, base: &Base) -> Option<Item> {
    let [kind, flags] = u16_at(blob, at)?.to_le_bytes();
    let item = Item {
        kind,
        flags,
        word: u16_at(blob, at + 2)?,
        word2: u16_at(blob, at + 4)?,
        lanes: u16_at(blob, at + 6)?,
        size: u32_at(blob, at + 8)?,
        frame: base.frame(u32_at(blob, at + 12)?),
        offset: i64::from_le_bytes(blob.get(at + 16..at + 24)?.try_into().ok()?),
        stride: i64::from_le_bytes(blob.get(at + 24..at + 32)?.try_into().ok()?),
    };
    // Word indices are checked here once, so that replaying a record need not. Steps have one at most.
    if StepKind::of(kind).is_some() {
        return (item.word < words.max(1)).then_some(item);
    }
    let (last_lane, length_word) = match ItemKind::of(kind) {
        Some(ItemKind::Gather | ItemKind::Scatter) => (item.lanes.max(1) - 1, 0),
        Some(ItemKind::Copy) => (0, item.lanes),
        _ => (0, 0),
    };
    let last = item.word.checked_add(last_lane)?.max(item.word2).max(length_word);
    (last < words.max(1)).then_some(item)
}

/// What tells one build of a program from another: a SHA-256 of its descriptors and of where they are linked to. It does not
/// change with `strip`, as records do not.
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

/// What the instrumentation left in the section `.comment`.
/// The lines of the section `.comment` that begin with this mark, without it.
fn comments(elf: &object::File<'_>, mark: &str) -> Vec<String> {
    let comment = elf.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
    let lines = comment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    lines.filter_map(|line| line.strip_prefix(mark).map(str::to_owned)).collect()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}
