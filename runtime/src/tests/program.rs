//! The code of a made-up program: images (an executable and its libraries) of functions of segments.
//!
//! Takes functions as lists of segments; gives their descriptors as the instrumentation would write them, and a file
//! that has them. Says where each segment's descriptor and each variable lies once the image is loaded.

use std::{io::Write, path::Path};

use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
    write::{Object, StandardSection, Symbol, SymbolSection},
};
use tempfile::NamedTempFile;
use zerocopy::IntoBytes;

use crate::{
    abi::{
        self, BLOB_MAGIC, BlobHeader, BlobSection, Counters, Item, ItemKind, NONE, SegmentHeader, SegmentKind, Slot,
        Text, function_flag, segment_flag,
    },
    decode::{
        block::{BlockCounters, CellNumber},
        context::{ContextNode, ContextNumber, Contexts},
        locator::{FunctionNumber, Module, Placed, SegmentNumber},
        ring::{DecodedRing, RingTotals},
    },
    sites::SiteTable,
};

/// A segment of a program: image, and number of the segment in the image's table.
pub type SegmentName = (u32, u32);
/// A function of a program: image, and number of the function in the image's table.
pub type FunctionName = (u32, u32);

/// What the counters of an image's segments are known by, if it can be sampled; they are numbered as the segments are.
pub const UNIT: u64 = 0x75_6e_69_74;

/// Counters of a segment that was executed once, whose items' cells begin with one of this number.
#[must_use]
pub fn executed(segment: usize, first_cell: usize) -> BlockCounters {
    BlockCounters {
        node: ContextNumber::ROOT,
        segment: SegmentNumber::new(segment),
        executions: 1,
        first_cell: CellNumber::new(first_cell),
        moved: 0,
    }
}

/// Part of a function between two calls, a loop, or a call site.
#[derive(Clone, Debug)]
pub struct Segment {
    pub kind: SegmentKind,
    /// Bits of [`segment_flag`].
    pub flags: u8,
    /// Words of its record behind the first.
    pub operands: u16,
    pub items: Vec<Item>,
    /// Variables whose lives it begins, with the segment left out.
    pub slots: Vec<Slot>,
}

impl Segment {
    /// Part of a block.
    #[must_use]
    pub fn block(operands: u16, items: Vec<Item>) -> Self {
        Self { kind: SegmentKind::Block, flags: 0, operands, items, slots: Vec::new() }
    }

    /// A loop that has one record; word 1 is the number of iterations.
    #[must_use]
    pub fn of_loop(operands: u16, items: Vec<Item>) -> Self {
        Self { kind: SegmentKind::Loop, ..Self::block(operands, items) }
    }

    /// The call of a library function.
    #[must_use]
    pub fn call_site() -> Self {
        Self { kind: SegmentKind::CallSite, ..Self::block(0, vec![item(ItemKind::Load, 0, 0, 0)]) }
    }

    /// With these flags, and the word that they need.
    #[must_use]
    pub fn with(self, flags: u8) -> Self {
        let has_cookie = flags & (segment_flag::COOKIE | segment_flag::LANDING) != 0;
        Self { flags, operands: self.operands + u16::from(has_cookie), ..self }
    }
}

/// An access of `size` bytes at the address in a word of the record, and a constant.
#[must_use]
pub fn item(kind: ItemKind, word: u16, offset: i64, size: u32) -> Item {
    Item { kind: kind as u8, word, offset, size, frame: NONE, ..Item::default() }
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub segments: Vec<Segment>,
}

/// An executable or a library.
#[derive(Clone, Debug, Default)]
pub struct Image {
    pub functions: Vec<Function>,
    /// Sizes in bytes of its variables, which lie one behind the other.
    pub variables: Vec<u64>,
}

/// A program; its images lie at fixed places.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub images: Vec<Image>,
}

impl Program {
    /// What is added to the addresses in an image's file.
    #[must_use]
    pub fn bias(image: u32) -> u64 {
        0x5555_0000_0000 + (u64::from(image) << 32)
    }

    #[must_use]
    pub fn segment(&self, (image, number): SegmentName) -> &Segment {
        let segments = self.images[image as usize].functions.iter().flat_map(|function| &function.segments);
        segments.into_iter().nth(number as usize).expect("a segment of the program")
    }

    /// The function that a segment is of.
    #[must_use]
    pub fn function_of(&self, (image, number): SegmentName) -> FunctionName {
        let mut first = 0;
        for (function, at) in self.images[image as usize].functions.iter().zip(0..) {
            first += function.segments.len() as u32;
            if number < first {
                return (image, at);
            }
        }
        panic!("no segment {number} in image {image}")
    }

    #[must_use]
    pub fn name_of(&self, (image, function): FunctionName) -> &str {
        &self.images[image as usize].functions[function as usize].name
    }

    /// The name of a segment of a function by its number there.
    #[must_use]
    pub fn segment_of(&self, (image, function): FunctionName, number: usize) -> SegmentName {
        let before = &self.images[image as usize].functions[..function as usize];
        (image, (before.iter().map(|function| function.segments.len()).sum::<usize>() + number) as u32)
    }

    /// Where the descriptor of a segment lies.
    #[must_use]
    pub fn address(&self, (image, number): SegmentName) -> u64 {
        Self::bias(image) + self.images[image as usize].descriptors().1[number as usize]
    }

    /// The images as a ring numbers them that has met all.
    #[must_use]
    pub fn modules(&self) -> Vec<Module> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (mut first_segment, mut first_function) = (SegmentNumber::new(0), FunctionNumber::new(0));
        let module = |(id, image): (u32, &Image)| {
            let table = SiteTable::read(image.file(directory.path()).path()).expect("descriptors");
            let next = (first_segment.after(table.segments.len()), first_function.after(table.functions.len()));
            let (first_segment, first_function) =
                (std::mem::replace(&mut first_segment, next.0), std::mem::replace(&mut first_function, next.1));
            let placed = Placed { low: Self::bias(id), table: table.into(), id };
            Module { placed, first_segment, first_function, functions: Vec::new() }
        };
        (0..).zip(&self.images).map(module).collect()
    }

    /// A ring of a thread that has ended, by the parent and the function of each of its contexts.
    #[must_use]
    pub fn ring(&self, contexts: &[(usize, usize)]) -> DecodedRing {
        let mut known = Contexts::default();
        known.nodes.extend(contexts.iter().map(|&(parent, function)| ContextNode {
            parent: ContextNumber::new(parent),
            function: Some(FunctionNumber::new(function)),
            calls: 0,
        }));
        DecodedRing { modules: self.modules(), contexts: known, totals: RingTotals::default() }
    }

    /// Where the variables of an image lie: address and bytes, in the order of the table's data behind its sections.
    #[must_use]
    pub fn variables(&self, image: u32) -> Vec<(u64, u64)> {
        let sizes = &self.images[image as usize].variables;
        let starts = sizes.iter().scan(Self::bias(image), |next, size| Some(std::mem::replace(next, *next + size)));
        starts.zip(sizes.iter().copied()).collect()
    }
}

impl Image {
    /// The section of descriptors, and by segment where its descriptor lies in it.
    #[must_use]
    pub fn descriptors(&self) -> (Vec<u8>, Vec<u64>) {
        let (mut section, mut places) = (Vec::new(), Vec::new());
        for function in &self.functions {
            let (blob, segments) = function.blob(places.len() as u64);
            places.extend(segments.into_iter().map(|place| section.len() as u64 + place));
            section.extend(blob);
        }
        (section, places)
    }

    /// A file with the descriptors and the variables.
    #[must_use]
    pub fn file(&self, directory: &Path) -> NamedTempFile {
        let mut elf = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let sites = elf.add_section(Vec::new(), abi::SECTION.into(), SectionKind::ReadOnlyData);
        elf.set_section_data(sites, self.descriptors().0, 8);
        let bytes: u64 = self.variables.iter().sum();
        if bytes > 0 {
            let data = elf.section_id(StandardSection::Data);
            elf.append_section_data(data, &vec![0; bytes as usize], 8);
            let mut next = 0;
            for (size, number) in self.variables.iter().zip(0..) {
                let value = next;
                next += size;
                elf.add_symbol(Symbol {
                    name: format!("variable{number}").into_bytes(),
                    value,
                    size: *size,
                    kind: SymbolKind::Data,
                    scope: SymbolScope::Linkage,
                    weak: false,
                    section: SymbolSection::Section(data),
                    flags: SymbolFlags::None,
                });
            }
        }
        let mut file = NamedTempFile::new_in(directory).expect("a temporary file");
        file.write_all(&elf.write().expect("a small file")).expect("room for a small file");
        file
    }
}

impl Function {
    /// Its descriptors, and where its segments lie in them; the first has a counter of this number.
    fn blob(&self, first: u64) -> (Vec<u8>, Vec<u64>) {
        let mut bytes = vec![0; size_of::<BlobHeader>()];
        let mut places = Vec::new();
        for segment in &self.segments {
            pad(&mut bytes);
            places.push(bytes.len() as u64);
            let header = SegmentHeader {
                kind: segment.kind as u8,
                flags: segment.flags,
                words: segment.operands + 1,
                items: segment.items.len() as u16,
                op_counts: 0,
                callee: NONE,
                frame: NONE,
            };
            bytes.extend(header.as_bytes());
            bytes.extend(segment.items.as_bytes());
        }
        let slots: Vec<Slot> = (0..).zip(&self.segments).flat_map(|(segment, of)| slots(segment, of)).collect();
        let slots = add(&mut bytes, &slots);
        let name = Text { start: bytes.len() as u32, len: self.name.len() as u32 };
        bytes.extend(self.name.as_bytes());
        let strings = add(&mut bytes, &[name]);
        pad(&mut bytes);
        bytes.extend(Counters { unit: UNIT, first }.as_bytes());
        let header = BlobHeader {
            magic: BLOB_MAGIC,
            abi: abi::ABI_VERSION,
            flags: function_flag::SAMPLED,
            total_len: bytes.len() as u32,
            segments: BlobSection { count: self.segments.len() as u32, offset: places[0] as u32 },
            frames: BlobSection::default(),
            skips: BlobSection::default(),
            strings,
            name: 0,
            file: NONE,
            line: 0,
            slots,
            loops: BlobSection::default(),
            places: BlobSection::default(),
            calls: BlobSection::default(),
            fields: BlobSection::default(),
            notes: BlobSection::default(),
        };
        bytes[..size_of::<BlobHeader>()].copy_from_slice(header.as_bytes());
        (bytes, places)
    }
}

/// The variables of a segment of this number.
fn slots(segment: u32, of: &Segment) -> impl Iterator<Item = Slot> {
    of.slots.iter().map(move |slot| Slot { segment, name: NONE, function: NONE, file: NONE, ..*slot })
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

/// Adds the elements of a part.
fn add<T: IntoBytes + zerocopy::Immutable>(bytes: &mut Vec<u8>, elements: &[T]) -> BlobSection {
    pad(bytes);
    let part = BlobSection { count: elements.len() as u32, offset: bytes.len() as u32 };
    bytes.extend(elements.as_bytes());
    part
}
