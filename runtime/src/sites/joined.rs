//! Code of emulated programs that several processes ran, or one process under several translations: as one.
//!
//! Takes tables of sites as they come, and says of each segment and function which one of any table so far is the same:
//! that of the same function, as many bytes behind its start, with the same accesses at the same places in the source.
//! Counts of the same are added up, so that a run's memory grows with its code and not with its processes. Joins no
//! code that a program has made, which may be other code at the same place, and no segments of instructions, whose
//! cycles are estimated by process.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    sync::Arc,
};

use super::{Same, Segment, SiteTable, is_access};
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
    /// Finds what a table that comes behind others has of them. Accesses that other tables have do not count for its
    /// functions any more.
    pub fn join(&mut self, table: &mut SiteTable, tables: &[(PathBuf, Arc<SiteTable>)]) {
        let id = tables.len() as u32;
        let functions: Vec<Key> = (0..table.functions.len() as u32).map(|n| self.function(table, (id, n))).collect();
        let mut segments = Vec::with_capacity(table.segments.len());
        for number in 0..table.segments.len() as u32 {
            let found = self.segment(table, (id, number), &functions, tables);
            if found != (id, number) {
                let Segment { function, items, .. } = table.segments[number as usize].clone();
                let items = &table.items[items.start as usize..items.end as usize];
                let accesses = items.iter().filter(|item| is_access(item)).count();
                table.functions[function as usize].accesses -= accesses as u64;
            }
            segments.push(found);
        }
        table.same = Some(Same { segments, functions });
    }

    fn function(&mut self, table: &SiteTable, own: Key) -> Key {
        let function = &table.functions[own.1 as usize];
        let (module, start) = table.parted[own.1 as usize];
        let text = |string: u32| table.strings.get(string as usize).cloned();
        match text(function.name) {
            Some(name) if module != 0 => {
                let start = start % PAGE as u64;
                let key = FunctionKey { name, file: text(function.file), line: function.line, start };
                *self.functions.entry(key).or_insert(own)
            }
            _ => own,
        }
    }

    fn segment(&mut self, table: &SiteTable, own: Key, functions: &[Key], tables: &[(PathBuf, Arc<SiteTable>)]) -> Key {
        let segment = &table.segments[own.1 as usize];
        let (module, _) = table.parted[segment.function as usize];
        if module == 0 || table.code.contains_key(&own.1) {
            return own;
        }
        let function = functions[segment.function as usize];
        let mut hash = DefaultHasher::new();
        (function, segment.kind, segment.flags, segment.words).hash(&mut hash);
        accesses(table, segment).for_each(|access| access.hash(&mut hash));
        let alike = self.segments.entry(hash.finish()).or_default();
        let is_same = |&&(id, number): &&Key| {
            let other = tables.get(id as usize).map_or(table, |(_, other)| other);
            let of = |other: &SiteTable, segment: &Segment| {
                other.same.as_ref().map_or(functions, |same| &same.functions)[segment.function as usize]
            };
            let found = &other.segments[number as usize];
            of(other, found) == function && are_alike((table, segment), (other, found))
        };
        match alike.iter().find(is_same) {
            Some(first) => *first,
            None => {
                alike.push(own);
                own
            }
        }
    }
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

/// Of the same function.
fn are_alike((a_table, a): (&SiteTable, &Segment), (b_table, b): (&SiteTable, &Segment)) -> bool {
    let shape = |segment: &Segment| (segment.kind, segment.flags, segment.words, segment.items.len());
    let mut frames = a.items.clone().zip(b.items.clone());
    shape(a) == shape(b)
        && accesses(a_table, a).eq(accesses(b_table, b))
        && frames.all(|(a, b)| {
            let frame = |table: &SiteTable, item: u32| table.items[item as usize].frame;
            are_one_place((a_table, frame(a_table, a)), (b_table, frame(b_table, b)))
        })
}

fn are_one_place((a_table, mut a): (&SiteTable, u32), (b_table, mut b): (&SiteTable, u32)) -> bool {
    while a != NONE && b != NONE {
        let (Frame { parent: above_a, .. }, Frame { parent: above_b, .. }) = (frame(a_table, a), frame(b_table, b));
        let place = |table, number| {
            let Frame { function, file, line, column, decl_file, decl_line, .. } = frame(table, number);
            let text = |string: u32| table.strings.get(string as usize);
            (text(function), text(file), line, column, text(decl_file), decl_line)
        };
        if place(a_table, a) != place(b_table, b) {
            return false;
        }
        (a, b) = (above_a, above_b);
    }
    a == b
}

fn frame(table: &SiteTable, number: u32) -> Frame {
    table.frames[number as usize]
}
