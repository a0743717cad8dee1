//! Sites of programs that run under an emulator: from the words that its plugin writes to functions, files and lines.
//!
//! Takes the words of site areas as they come ([`crate::abi::emulated`]), gives a [`Batch`] of what is new. What a
//! program wrote is not trusted: an entry that is not as it should be ends the batch, and what was before it counts.

#[cfg(test)]
mod allocators_tests;
mod declared;
#[cfg(test)]
mod entries_tests;
mod generated;
pub mod places;
#[cfg(test)]
mod places_tests;

use std::{collections::HashMap, ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

pub use self::generated::names;
use self::places::{Declared, Places, SourcePosition, name_of};
use crate::{
    abi::{
        NONE,
        emulated::{
            AREA_START, CODE_WORDS, ITEM_WORDS, MODULE_WORDS, SEGMENT_WORDS, Shape, area_of, entry, instruction_bytes,
        },
    },
    sites::{Batch, BatchFrame, BatchFunction, BatchInstruction, BatchItem, BatchSegment, IMPORTED},
};

/// Where a file is mapped.
#[derive(Clone, Debug)]
struct Mapped {
    bias: u64,
    path: PathBuf,
}

/// All files that emulated programs have mapped, and what is known of their code.
#[derive(Default)]
pub struct Files {
    /// By the addresses of their entries.
    mapped: HashMap<u64, Mapped>,
    places: HashMap<PathBuf, Places>,
    /// Accesses were imported, and not seen in an emulator.
    is_imported: bool,
}

/// An entry of an area.
struct Entry<'a> {
    address: u64,
    kind: u32,
    words: &'a [u64],
}

/// The entries that an area's words begin with, the first of which has this address.
fn entries(address: u64, words: &[u64]) -> impl Iterator<Item = Entry<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let head = *words.get(at)?;
        let len = (head >> 32) as usize;
        let words = words.get(at..at.checked_add(len)?).filter(|words| !words.is_empty())?;
        let entry = Entry { address: address + at as u64 * 8, kind: head as u32, words };
        at += len;
        Some(entry)
    })
}

/// Whether a program begins with these words: the first that it does is to map its file. What was forked begins with
/// code.
fn begins(address: u64, words: &[u64]) -> bool {
    let is_first = area_of(address).is_some_and(|(_, offset)| offset == AREA_START as u64);
    is_first && words.first().is_some_and(|head| *head as u32 == entry::MODULE)
}

impl Files {
    /// Of accesses that were imported.
    pub fn imported() -> Self {
        Self { is_imported: true, ..Self::default() }
    }

    /// Where the function of a module begins that an address is in, if it has a name there.
    pub fn function_start(&mut self, module: u64, address: u64) -> Option<u64> {
        let Mapped { bias, path } = self.mapped.get(&module)?;
        let places = self.places.entry(path.clone()).or_insert_with(|| Places::read_file(path));
        Some(places.start(address.checked_sub(*bias)?)?.wrapping_add(*bias))
    }

    /// What code is called that belongs to no file.
    fn unnamed(&self, start: u64) -> String {
        match (self.is_imported, start) {
            (false, _) => "(generated code)".into(),
            (true, 0) => "(unknown instructions)".into(),
            (true, start) => format!("{start:#x}"),
        }
    }

    /// Takes note of the files among new words of an area, the first of which has this address.
    pub fn learn(&mut self, address: u64, words: &[u64]) {
        for entry in entries(address, words).filter(|entry| entry.kind == entry::MODULE) {
            let Some((head, path)) = entry.words.split_at_checked(MODULE_WORDS) else { return };
            let len = usize::try_from(head[4]).unwrap_or(0);
            let bytes: Vec<u8> = path.iter().flat_map(|word| word.to_le_bytes()).take(len).collect();
            let path = PathBuf::from(OsStr::from_bytes(&bytes));
            self.mapped.insert(entry.address, Mapped { bias: head[1], path });
        }
    }

    /// The sites among new words of an area, the first of which has this address.
    pub fn batch(&mut self, address: u64, words: &[u64]) -> Batch {
        let mut making = Making {
            batch: Batch {
                low: address,
                bytes: words.len() as u32 * 8,
                begins: begins(address, words),
                ..Batch::default()
            },
            strings: HashMap::new(),
            frames: HashMap::new(),
            functions: HashMap::new(),
        };
        let files = entries(address, words).filter_map(|entry| self.mapped.get(&entry.address));
        making.batch.files = files.map(|file| name_of(&file.path)).collect();
        making.batch.files.extend(self.is_imported.then(|| IMPORTED.to_owned()));
        let has_sites = |entry: &Entry<'_>| matches!(entry.kind, entry::SEGMENT | entry::CODE);
        for entry in entries(address, words).filter(has_sites) {
            if self.segment(&entry, address, &mut making).is_none() {
                break;
            }
        }
        making.batch.missing = self.places.values_mut().filter_map(Places::missing).collect();
        making.batch.missing.sort_unstable();
        making.batch
    }

    fn segment(&mut self, entry: &Entry<'_>, low: u64, making: &mut Making) -> Option<()> {
        let (head, rest) = entry.words.split_at_checked(SEGMENT_WORDS)?;
        let [_, module, start, shape] = *head else { return None };
        let mapped = self.mapped.get(&module).cloned();
        let unnamed = self.unnamed(start);
        let mut places = mapped.map(|Mapped { bias, path }| {
            let places = self.places.entry(path.clone()).or_insert_with(|| Places::read_file(&path));
            (places, bias)
        });
        let function = making.function((module, start), |making| match &mut places {
            Some((places, bias)) => {
                let Declared { name, file, line } = places.function(start.wrapping_sub(*bias));
                (making.text(Some(&name)), making.text(file.as_deref()), line)
            }
            None => (making.text(Some(&unnamed)), NONE, 0),
        });
        let mut frame = |address: u64| {
            places.as_mut().map_or(NONE, |(places, bias)| {
                making.place_number(places, address.wrapping_sub(*bias), start.wrapping_sub(*bias))
            })
        };
        let (items, code) = match entry.kind {
            entry::CODE => (Vec::new(), code(rest, &mut frame)?),
            _ => (items(rest, Shape::from_word(shape).items, &mut frame)?, Vec::new()),
        };
        let offset = (entry.address - low) as u32;
        making.batch.segments.push(BatchSegment { offset, shape, function, items, code });
        Some(())
    }
}

/// Items of a segment.
fn items(words: &[u64], count: u16, frame: &mut impl FnMut(u64) -> u32) -> Option<Vec<BatchItem>> {
    let (items, rest) = words.as_chunks::<ITEM_WORDS>();
    (rest.is_empty() && items.len() == usize::from(count)).then_some(())?;
    let bytes = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let item = |&[address, what, size]: &[u64; ITEM_WORDS]| BatchItem {
        address,
        frame: frame(address),
        what,
        bytes: bytes(size),
    };
    Some(items.iter().map(item).collect())
}

/// Instructions, the first of which has the address that the words begin with.
fn code(words: &[u64], frame: &mut impl FnMut(u64) -> u32) -> Option<Vec<BatchInstruction>> {
    let (&start, words) = words.split_first()?;
    let (instructions, rest) = words.as_chunks::<CODE_WORDS>();
    rest.is_empty().then_some(())?;
    let mut address = start;
    let instruction = |words: &[u64; CODE_WORDS]| {
        let (bytes, count) = instruction_bytes(*words);
        let instruction = BatchInstruction { address, frame: frame(address), bytes: bytes[..count].to_vec() };
        address += count as u64;
        instruction
    };
    Some(instructions.iter().map(instruction).collect())
}

/// A batch, and where in it what is.
struct Making {
    batch: Batch,
    strings: HashMap<String, u32>,
    frames: HashMap<BatchFrame, u32>,
    functions: HashMap<(u64, u64), u32>,
}

impl Making {
    fn string(&mut self, text: &str) -> Option<u32> {
        if let Some(known) = self.strings.get(text) {
            return Some(*known);
        }
        let number = u32::try_from(self.batch.strings.len()).ok()?;
        self.batch.strings.push(text.to_owned());
        self.strings.insert(text.to_owned(), number);
        Some(number)
    }

    fn text(&mut self, text: Option<&str>) -> u32 {
        text.and_then(|text| self.string(text)).unwrap_or(NONE)
    }

    fn function(&mut self, identity: (u64, u64), named: impl FnOnce(&mut Self) -> (u32, u32, u32)) -> u32 {
        if let Some(known) = self.functions.get(&identity) {
            return *known;
        }
        let (name, file, line) = named(self);
        let number = self.batch.functions.len() as u32;
        self.batch.functions.push(BatchFunction { identity, name, file, line });
        self.functions.insert(identity, number);
        number
    }

    /// The place of an instruction of a file, whose linked function begins at `start`, or [`NONE`].
    fn place_number(&mut self, places: &mut Places, address: u64, start: u64) -> u32 {
        let mut parent = NONE;
        for SourcePosition { function, file, line, column } in places.chain(address, start) {
            let Declared { name, file: declared_in, line: declared_at } = function;
            let (function, file) = (self.text(Some(&name)), self.text(Some(&file)));
            let declared_in = self.text(declared_in.as_deref());
            let frame = BatchFrame { parent, function, file, line, column, declared_in, declared_at };
            parent = *self.frames.entry(frame).or_insert_with(|| {
                self.batch.frames.push(frame);
                self.batch.frames.len() as u32 - 1
            });
        }
        parent
    }
}
