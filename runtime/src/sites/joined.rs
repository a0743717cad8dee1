//! Code of emulated programs that several processes ran, or one process under several translations: as one.
//!
//! Takes tables of sites as they come, and says of each segment and function what stands for it: the first that is the
//! same, of the same function, as many bytes behind its start, with the same accesses at the same places in the source.
//! What is new goes to a table of its own, which is of no process. So counts of the same code are added up, and memory
//! grows with the code of a run and not with its processes. Joins no code that a program has made, which may be other
//! code at the same place, and no segments of instructions, whose cycles are estimated by process.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    sync::Arc,
};

use super::{Emulated, Function, Same, Segment, SiteTable, is_access};
use crate::abi::{Frame, Item, NONE, PAGE};

/// Number of a table, and of a segment or function in it.
type Key = (u32, u32);

/// What tells a function from those of other files: name, file, line, and the place of its first instruction in a page,
/// which is where a file is mapped to in whole pages.
#[derive(PartialEq, Eq, Hash)]
struct FunctionKey {
    name: String,
    file: Option<String>,
    line: u32,
    start: u64,
}

impl SiteTable {
    /// Whether other tables than this one, which has a number, have all that is in it.
    #[must_use]
    pub fn is_spare(&self, id: u32) -> bool {
        let is_other = |(table, _): &Key| *table != id;
        self.same.as_ref().is_some_and(|same| same.segments.iter().chain(&same.functions).all(is_other))
    }

    /// What is known of the program beside its sites.
    #[must_use]
    pub fn without_sites(&self) -> Self {
        Self { section_address: self.section_address, emulated: self.emulated.clone(), ..Self::default() }
    }
}

/// All that is the first of its kind.
#[derive(Default)]
pub struct Joined {
    functions: HashMap<FunctionKey, Key>,
    /// By hash.
    segments: HashMap<u64, Vec<Key>>,
}

impl Joined {
    /// Finds what a process's table, which comes behind others, has of them, and gives a table of the rest, which is to
    /// come behind it. Accesses that other tables have do not count for its functions any more.
    pub fn join(&mut self, table: &mut SiteTable, tables: &[(PathBuf, Arc<SiteTable>)]) -> Option<SiteTable> {
        let own = tables.len() as u32;
        let mut rest = Rest::new(own + 1);
        let mut functions = Vec::with_capacity(table.functions.len());
        for number in 0..table.functions.len() as u32 {
            functions.push(match function_key(table, number) {
                None => (own, number),
                Some(key) => *self.functions.entry(key).or_insert_with(|| (rest.id, rest.function(table, number))),
            });
        }
        let mut segments = Vec::with_capacity(table.segments.len());
        for number in 0..table.segments.len() as u32 {
            let segment = &table.segments[number as usize];
            let (module, _) = table.parted[segment.function as usize];
            if module == 0 || table.code.contains_key(&number) {
                segments.push((own, number));
                continue;
            }
            let (function, accesses) = (segment.function, count(table, segment));
            segments.push(self.segment(table, segment, functions[function as usize], &mut rest, tables));
            table.functions[function as usize].accesses -= accesses;
        }
        let rest = rest.finish(table, &functions);
        table.same = Some(Same { segments, functions });
        rest
    }

    fn segment(
        &mut self,
        table: &SiteTable,
        segment: &Segment,
        function: Key,
        rest: &mut Rest,
        tables: &[(PathBuf, Arc<SiteTable>)],
    ) -> Key {
        let mut hash = DefaultHasher::new();
        (function, segment.kind, segment.flags, segment.words).hash(&mut hash);
        accesses(table, segment).for_each(|access| access.hash(&mut hash));
        let alike = self.segments.entry(hash.finish()).or_default();
        let is_same = |&&(id, number): &&Key| {
            let other = tables.get(id as usize).map_or(&rest.table, |(_, other)| other);
            are_alike((table, segment), (other, &other.segments[number as usize]))
        };
        if let Some(first) = alike.iter().find(is_same) {
            return *first;
        }
        let new = (rest.id, rest.segment(table, segment));
        alike.push(new);
        new
    }
}

/// Nothing of code that a program has made.
fn function_key(table: &SiteTable, number: u32) -> Option<FunctionKey> {
    let Function { name, file, line, .. } = table.functions[number as usize];
    let (module, start) = table.parted[number as usize];
    let name = text(table, name).filter(|_| module != 0)?.clone();
    Some(FunctionKey { name, file: text(table, file).cloned(), line, start: start % PAGE as u64 })
}

fn count(table: &SiteTable, segment: &Segment) -> u64 {
    let items = &table.items[segment.items.start as usize..segment.items.end as usize];
    items.iter().filter(|item| is_access(item)).count() as u64
}

/// What tells a segment's accesses from others, beside their places in the source: bytes behind the function's start,
/// number of the instruction in its block, kind, flags, words, and size.
fn accesses(table: &SiteTable, segment: &Segment) -> impl Iterator<Item = (u64, u16, u8, u8, u16, u16, u32)> {
    let (_, start) = table.parted[segment.function as usize];
    segment.items.clone().map(move |number| {
        let number = number as usize;
        let Item { kind, flags, word, word2, size, .. } = table.items[number];
        (table.addresses[number].wrapping_sub(start), table.instructions[number], kind, flags, word, word2, size)
    })
}

fn are_alike((a_table, a): (&SiteTable, &Segment), (b_table, b): (&SiteTable, &Segment)) -> bool {
    let shape = |segment: &Segment| (segment.kind, segment.flags, segment.words, segment.items.len());
    let mut frames = a.items.clone().zip(b.items.clone());
    shape(a) == shape(b)
        && named(a_table, a) == named(b_table, b)
        && accesses(a_table, a).eq(accesses(b_table, b))
        && frames.all(|(a, b)| {
            let frame = |table: &SiteTable, item: u32| table.items[item as usize].frame;
            are_one_place((a_table, frame(a_table, a)), (b_table, frame(b_table, b)))
        })
}

/// The function of a segment: name, file and line.
fn named<'t>(table: &'t SiteTable, segment: &Segment) -> (Option<&'t String>, Option<&'t String>, u32) {
    let Function { name, file, line, .. } = table.functions[segment.function as usize];
    (text(table, name), text(table, file), line)
}

fn are_one_place((a_table, mut a): (&SiteTable, u32), (b_table, mut b): (&SiteTable, u32)) -> bool {
    while a != NONE && b != NONE {
        let place = |table, number: u32| {
            let Frame { function, file, line, column, decl_file, decl_line, .. } = frame(table, number);
            (text(table, function), text(table, file), line, column, text(table, decl_file), decl_line)
        };
        if place(a_table, a) != place(b_table, b) {
            return false;
        }
        (a, b) = (frame(a_table, a).parent, frame(b_table, b).parent);
    }
    a == b
}

fn frame(table: &SiteTable, number: u32) -> Frame {
    table.frames[number as usize]
}

fn text(table: &SiteTable, string: u32) -> Option<&String> {
    table.strings.get(string as usize)
}

/// What a process's table has and no other, on its way into a table of its own. Numbers are those of the process's
/// table, and where they went.
struct Rest {
    id: u32,
    table: SiteTable,
    strings: HashMap<u32, u32>,
    frames: HashMap<u32, u32>,
    functions: HashMap<u32, u32>,
}

impl Rest {
    fn new(id: u32) -> Self {
        let table = SiteTable { emulated: Some(Emulated::default()), ..SiteTable::default() };
        Self { id, table, strings: HashMap::new(), frames: HashMap::new(), functions: HashMap::new() }
    }

    fn string(&mut self, from: &SiteTable, number: u32) -> u32 {
        let Some(text) = text(from, number) else { return NONE };
        *self.strings.entry(number).or_insert_with(|| {
            self.table.strings.push(text.clone());
            self.table.strings.len() as u32 - 1
        })
    }

    fn frame(&mut self, from: &SiteTable, number: u32) -> u32 {
        if number == NONE {
            return NONE;
        }
        if let Some(known) = self.frames.get(&number) {
            return *known;
        }
        let found = frame(from, number);
        let parent = self.frame(from, found.parent);
        let [function, file, decl_file] =
            [found.function, found.file, found.decl_file].map(|string| self.string(from, string));
        self.table.frames.push(Frame { parent, function, file, decl_file, ..found });
        let new = self.table.frames.len() as u32 - 1;
        self.frames.insert(number, new);
        new
    }

    fn function(&mut self, from: &SiteTable, number: u32) -> u32 {
        if let Some(known) = self.functions.get(&number) {
            return *known;
        }
        let found = &from.functions[number as usize];
        let [name, file] = [found.name, found.file].map(|string| self.string(from, string));
        self.table.functions.push(Function { name, file, accesses: 0, ..found.clone() });
        self.table.parted.push(from.parted[number as usize]);
        let new = self.table.functions.len() as u32 - 1;
        self.functions.insert(number, new);
        new
    }

    fn segment(&mut self, from: &SiteTable, segment: &Segment) -> u32 {
        let function = self.function(from, segment.function);
        self.table.functions[function as usize].accesses += count(from, segment);
        let first = self.table.items.len() as u32;
        for number in segment.items.clone() {
            let item = from.items[number as usize];
            let frame = self.frame(from, item.frame);
            self.table.items.push(Item { frame, ..item });
            self.table.addresses.push(from.addresses[number as usize]);
            self.table.instructions.push(from.instructions[number as usize]);
        }
        let frame = self.frame(from, segment.frame);
        let items = first..self.table.items.len() as u32;
        self.table.segments.push(Segment { function, items, frame, ..segment.clone() });
        self.table.segments.len() as u32 - 1
    }

    /// Nothing if the process's table had nothing new.
    fn finish(self, from: &SiteTable, functions: &[Key]) -> Option<SiteTable> {
        if self.table.segments.is_empty() && self.table.functions.is_empty() {
            return None;
        }
        debug_assert_eq!(from.functions.len(), functions.len(), "each has one that stands for it");
        let mut same = vec![(0, 0); self.table.functions.len()];
        for (number, new) in self.functions {
            same[new as usize] = functions[number as usize];
        }
        let segments = (0..self.table.segments.len() as u32).map(|number| (self.id, number)).collect();
        Some(SiteTable { same: Some(Same { segments, functions: same }), ..self.table })
    }
}
