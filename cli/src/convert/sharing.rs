//! How threads that share a stack met: names in the place of numbers, and an order that depends on nothing but the
//! content.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::analysis::{
    Measurement, SiteKey,
    shared::{Met as Found, SharedLine, SharedObject, SharedPart},
};

use super::{
    Builder, place,
    read::{item_of, text},
};
use crate::{
    profile::model::{Met, Moved, SharedLines, Sharing, SharingDetails, UndefinedOrder, Written},
    shared::names::demangle,
};

impl Builder<'_> {
    /// How threads met; `None` if each has a stack of its own, and nobody asked.
    pub(super) fn sharing(&self) -> Option<(Sharing, Option<SharingDetails>)> {
        let shared = self.measurement.shared.as_ref()?;
        let undefined = shared.undefined;
        let found = shared.met.as_ref().map(|found| Names { measurement: self.measurement }.met(found));
        let (met, details) = found.unzip();
        let sharing = Sharing {
            undefined: UndefinedOrder {
                contended: undefined.contended,
                by_run: undefined.by_run,
                unmet: undefined.unmet,
                unseen_starts: shared.unseen_starts,
            },
            met,
        };
        Some((sharing, details))
    }
}

/// Objects of a line that are named.
const MOST_OBJECTS: usize = 3;
/// Ranges of bytes that are listed.
const MOST_RANGES: usize = 16;

/// What is told apart of what was written.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct WrittenKey {
    object: String,
    of_line: bool,
    field: String,
    thread: u32,
    place: String,
}

impl WrittenKey {
    fn written(self, ranges: Ranges) -> Written {
        let Self { object, of_line, field, thread, place } = self;
        let (mut ranges, mut more) = (ranges.joined(), 0);
        if ranges.len() > MOST_RANGES {
            more = (ranges.len() - MOST_RANGES) as u64;
            ranges.truncate(MOST_RANGES);
        }
        Written { object, ranges, more, of_line, field, thread, place }
    }
}

/// Ranges of bytes: first ones, with the ones behind the last.
#[derive(Default)]
struct Ranges(BTreeSet<(u64, u64)>);

impl Ranges {
    /// Adds the bytes of a line that begins somewhere in an object.
    fn extend(&mut self, line: i64, mut mask: u128) {
        while mask != 0 {
            let first = mask.trailing_zeros();
            let len = (!(mask >> first)).trailing_zeros().min(128 - first);
            let at = |bit: u32| line.saturating_add(bit.into()).max(0).unsigned_abs();
            self.0.insert((at(first), at(first + len)));
            mask = if first + len < 128 { mask >> (first + len) << (first + len) } else { 0 };
        }
    }

    /// Those that touch or overlap as one.
    fn joined(self) -> Vec<(u64, u64)> {
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in self.0 {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        joined
    }
}

struct Names<'a> {
    measurement: &'a Measurement,
}

impl Names<'_> {
    fn met(&self, found: &Found) -> (Met, SharingDetails) {
        let thread = |start: &Option<(u32, u32)>| {
            start.and_then(|(id, function)| {
                let table = &self.measurement.tables.get(id as usize)?.1;
                text(table, table.functions.get(function as usize)?.name).map(demangle)
            })
        };
        let threads = found.threads.iter().map(|start| thread(start).unwrap_or_else(|| "(not known)".into()));
        let mut moved: BTreeMap<(u32, u32, String, String, String), u64> = BTreeMap::new();
        for ((writer, reader, object), bytes) in &found.moved {
            let key = (writer.0, reader.0, self.place(writer.1), self.place(reader.1), self.object(*object));
            *moved.entry(key).or_default() += bytes;
        }
        let moved = moved.into_iter().map(|((writer, reader, writer_place, reader_place, object), bytes)| Moved {
            writer,
            reader,
            writer_place,
            reader_place,
            object,
            bytes,
        });
        let (lines, written) = self.lines(&found.lines).into_iter().unzip();
        let met = Met { line: found.line, threads: threads.collect(), moved: moved.collect(), lines };
        (met, SharingDetails { written, handed: found.handed.clone() })
    }

    /// Lines by what they are of and where they are written, with what threads wrote of them.
    fn lines(&self, found: &[SharedLine]) -> Vec<(SharedLines, Vec<Written>)> {
        // Objects, places, and whether threads write apart.
        type Key = (String, Vec<String>, bool);
        let mut all: BTreeMap<Key, (SharedLines, BTreeMap<WrittenKey, Ranges>)> = BTreeMap::new();
        for line in found {
            let places: BTreeSet<String> = line.parts.iter().map(|part| self.place(part.site.1)).collect();
            let mut by_thread: BTreeMap<u32, u128> = BTreeMap::new();
            for part in &line.parts {
                *by_thread.entry(part.site.0).or_default() |= part.since;
            }
            let bytes: u32 = by_thread.values().map(|mask| mask.count_ones()).sum();
            let apart = by_thread.values().fold(0, |all, mask| all | mask).count_ones() == bytes;
            let (object, places) = (self.objects(&line.parts), Vec::from_iter(places));
            let (sum, written) = all.entry((object.clone(), places.clone(), apart)).or_insert_with(|| {
                let none = SharedLines {
                    object,
                    places,
                    lines: 0,
                    threads: 0,
                    changes: 0,
                    false_changes: 0,
                    invalidations: 0,
                    transfers: 0,
                    apart,
                };
                (none, BTreeMap::new())
            });
            sum.lines += 1;
            let threads: BTreeSet<u32> = line.parts.iter().map(|part| part.site.0).collect();
            sum.threads = sum.threads.max(threads.len() as u64);
            sum.changes += line.line.changes;
            sum.false_changes += line.line.false_changes;
            sum.invalidations += line.line.invalidations;
            sum.transfers += line.line.transfers;
            for part in &line.parts {
                written.entry(self.part(part)).or_default().extend(part.offset.unwrap_or(0), part.mask);
            }
        }
        let all = all.into_values().map(|(lines, written)| {
            let written = written.into_iter().map(|(part, ranges)| part.written(ranges));
            let mut written: Vec<Written> = written.collect();
            written.sort();
            (lines, written)
        });
        let mut all: Vec<(SharedLines, Vec<Written>)> = all.collect();
        all.sort_by(|(a, _), (b, _)| b.changes.cmp(&a.changes).then_with(|| a.cmp(b)));
        all
    }

    /// The objects that parts of a line are of.
    fn objects(&self, parts: &[SharedPart]) -> String {
        let names: BTreeSet<String> = parts.iter().map(|part| self.object(part.object)).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        match known.len().checked_sub(MOST_OBJECTS) {
            None | Some(0) => known.join(", "),
            Some(more) => format!("{}, {more} more", known[..MOST_OBJECTS].join(", ")),
        }
    }

    fn part(&self, part: &SharedPart) -> WrittenKey {
        let SharedPart { site: (thread, site), object, offset, .. } = part;
        WrittenKey {
            object: self.object(*object),
            of_line: offset.is_none(),
            field: self.field(*site).unwrap_or_default(),
            thread: *thread,
            place: self.place(*site),
        }
    }

    /// The type and field that debug information gives a site.
    fn field(&self, site: Option<SiteKey>) -> Option<String> {
        let (id, segment, item) = site?;
        let table = &self.measurement.tables[id as usize].1;
        let field = table.fields.get(table.notes.get(&(segment, item))?.field as usize)?;
        let (of, name) = (demangle(text(table, field.type_name)?), text(table, field.name).unwrap_or_default());
        Some(if name.is_empty() { of } else { format!("{of}.{name}") })
    }

    fn place(&self, site: Option<SiteKey>) -> String {
        let Some((id, segment, item)) = site else { return "(not counted)".into() };
        let table = &self.measurement.tables[id as usize].1;
        let function = || {
            let function = table.segments[segment as usize].function;
            demangle(text(table, table.functions[function as usize].name).unwrap_or("?"))
        };
        place(table, item_of(table, segment, item).frame).unwrap_or_else(function)
    }

    fn object(&self, object: SharedObject) -> String {
        match object {
            SharedObject::Unknown => String::new(),
            SharedObject::Datum { table, datum } => {
                let table = &self.measurement.tables[table as usize].1;
                demangle(&table.data[datum as usize].name)
            }
            SharedObject::Block { site: None } => "heap block".into(),
            SharedObject::Mapping { site: None } => "mapping".into(),
            SharedObject::Block { site: Some((table, segment)) } => {
                format!("block of {}", self.place(Some((table, segment, 0))))
            }
            SharedObject::Mapping { site: Some((table, segment)) } => {
                format!("mapping of {}", self.place(Some((table, segment, 0))))
            }
            SharedObject::Slot { table, slot } => {
                let table = &self.measurement.tables[table as usize].1;
                let slot = &table.slots[slot as usize];
                let (name, function) = (text(table, slot.name), text(table, slot.function));
                format!("{} of {}", name.unwrap_or("(unnamed)"), demangle(function.unwrap_or("?")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_lines_are_bytes_of_the_object() {
        let mut ranges = Ranges::default();
        ranges.extend(-8, 0xff00);
        ranges.extend(-8, 0xf0_0000);
        ranges.extend(56, 0b1001);
        ranges.extend(64, u128::MAX);
        assert_eq!(ranges.joined(), [(0, 8), (12, 16), (56, 57), (59, 60), (64, 192)]);
    }
}
