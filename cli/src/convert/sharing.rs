//! How threads that share a stack met: names in the place of numbers, and an order that depends on nothing but the
//! content.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::analysis::{
    SiteKey,
    shared::{Met as Found, SharedLine, SharedObject, SharedPart},
};

use super::{
    Measured, place,
    read::{item_of, text},
};
use crate::{
    profile::model::{Met, Moved, SharedLines, Sharing, SharingDetails, UndefinedOrder, Written},
    shared::names::demangle,
};

impl Measured<'_> {
    /// How threads met; `None` if each has a stack of its own, and nobody asked.
    pub(super) fn sharing(&self) -> Option<(Sharing, Option<SharingDetails>)> {
        let shared = self.run.shared.as_ref()?;
        let undefined = shared.undefined;
        let found = shared.met.as_ref().map(|found| self.met(found));
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

impl Measured<'_> {
    fn met(&self, found: &Found) -> (Met, SharingDetails) {
        let thread = |start: &Option<(u32, u32)>| {
            start.and_then(|(id, function)| {
                let table = &self.run.tables.get(id as usize)?.1;
                text(table, table.functions.get(function as usize)?.name).map(demangle)
            })
        };
        let threads = found.threads.iter().map(|start| thread(start).unwrap_or_else(|| "(not known)".into()));
        let mut moved: BTreeMap<(u32, u32, String, String, String), u64> = BTreeMap::new();
        for ((writer, reader, object), bytes) in &found.moved {
            let key =
                (writer.0, reader.0, self.place_name(writer.1), self.place_name(reader.1), self.object_name(*object));
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
        let (lines, written) = self.shared_lines(&found.lines).into_iter().unzip();
        let met = Met { line: found.line, threads: threads.collect(), moved: moved.collect(), lines };
        (met, SharingDetails { written, handed: found.handed.clone() })
    }

    /// Lines by what they are of and where they are written, with what threads wrote of them.
    fn shared_lines(&self, found: &[SharedLine]) -> Vec<(SharedLines, Vec<Written>)> {
        // Objects, places, and whether threads write apart.
        type Key = (String, Vec<String>, bool);
        let mut all: BTreeMap<Key, (SharedLines, BTreeMap<WrittenKey, Ranges>)> = BTreeMap::new();
        for line in found {
            let places: BTreeSet<String> = line.parts.iter().map(|part| self.place_name(part.site.1)).collect();
            let mut by_thread: BTreeMap<u32, u128> = BTreeMap::new();
            for part in &line.parts {
                *by_thread.entry(part.site.0).or_default() |= part.since;
            }
            let bytes: u32 = by_thread.values().map(|mask| mask.count_ones()).sum();
            let apart = by_thread.values().fold(0, |all, mask| all | mask).count_ones() == bytes;
            let (object, places) = (self.object_names(&line.parts), Vec::from_iter(places));
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
                written.entry(self.written_key(part)).or_default().extend(part.offset.unwrap_or(0), part.mask);
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
    fn object_names(&self, parts: &[SharedPart]) -> String {
        let names: BTreeSet<String> = parts.iter().map(|part| self.object_name(part.object)).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        match known.len().checked_sub(MOST_OBJECTS) {
            None | Some(0) => known.join(", "),
            Some(more) => format!("{}, {more} more", known[..MOST_OBJECTS].join(", ")),
        }
    }

    fn written_key(&self, part: &SharedPart) -> WrittenKey {
        let SharedPart { site: (thread, site), object, offset, .. } = part;
        WrittenKey {
            object: self.object_name(*object),
            of_line: offset.is_none(),
            field: self.field_name(*site).unwrap_or_default(),
            thread: *thread,
            place: self.place_name(*site),
        }
    }

    /// The type and field that debug information gives a site.
    fn field_name(&self, site: Option<SiteKey>) -> Option<String> {
        let (id, segment, item) = site?;
        let table = self.table(id);
        let field = table.fields.get(table.notes.get(&(segment, item))?.field as usize)?;
        let (of, name) = (demangle(text(table, field.type_name)?), text(table, field.name).unwrap_or_default());
        Some(if name.is_empty() { of } else { format!("{of}.{name}") })
    }

    fn place_name(&self, site: Option<SiteKey>) -> String {
        let Some((id, segment, item)) = site else { return "(not counted)".into() };
        let table = self.table(id);
        let function = || {
            let function = table.segments[segment as usize].function;
            demangle(text(table, table.functions[function as usize].name).unwrap_or("?"))
        };
        place(table, item_of(table, segment, item).frame).unwrap_or_else(function)
    }

    fn object_name(&self, object: SharedObject) -> String {
        match object {
            SharedObject::Unknown => String::new(),
            SharedObject::Datum { table, datum } => {
                let table = self.table(table);
                demangle(&table.data[datum as usize].name)
            }
            SharedObject::Block { site: None } => "heap block".into(),
            SharedObject::Mapping { site: None } => "mapping".into(),
            SharedObject::Block { site: Some((table, segment)) } => {
                format!("block of {}", self.place_name(Some((table, segment, 0))))
            }
            SharedObject::Mapping { site: Some((table, segment)) } => {
                format!("mapping of {}", self.place_name(Some((table, segment, 0))))
            }
            SharedObject::Slot { table, slot } => {
                let table = self.table(table);
                let slot = &table.slots[slot as usize];
                let (name, function) = (text(table, slot.name), text(table, slot.function));
                format!("{} of {}", name.unwrap_or("(unnamed)"), demangle(function.unwrap_or("?")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dmdprof_runtime::{analysis::Measurement, observe::sharing::Line, sites::Datum};

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

    #[test]
    fn a_list_of_many_ranges_says_how_many_are_left_out() {
        let written = |count: u64| {
            let ranges = Ranges((0..count).map(|number| (3 * number, 3 * number + 1)).collect());
            let (object, field, place) = Default::default();
            WrittenKey { object, of_line: false, field, thread: 0, place }.written(ranges)
        };
        assert_eq!((written(16).ranges.len(), written(16).more), (16, 0));
        assert_eq!((written(17).ranges.len(), written(17).more), (16, 1));
        assert_eq!((written(18).ranges.len(), written(18).more), (16, 2));
    }

    /// Variables of these names.
    fn measurement(names: &[&str]) -> Measurement {
        let mut table = super::super::tests::table();
        let variable = |name: &&str| Datum { address: 0, size: 8, name: (*name).into(), is_section: false };
        table.data = names.iter().map(variable).collect();
        Measurement { tables: vec![("program".into(), Arc::new(table))], ..Measurement::default() }
    }

    /// A part of a line that a thread wrote.
    fn part(thread: u32, datum: u32, bytes: u128) -> SharedPart {
        let object = SharedObject::Datum { table: 0, datum };
        SharedPart { site: (thread, Some((0, 0, 0))), object, offset: Some(0), mask: bytes, since: bytes }
    }

    #[test]
    fn a_line_is_of_three_objects_and_of_more() {
        let measurement = measurement(&["d", "c", "b", "a"]);
        let names = Measured { run: &measurement };
        let of = |data: &[u32]| names.object_names(&data.iter().map(|datum| part(0, *datum, 1)).collect::<Vec<_>>());
        assert_eq!([of(&[0]), of(&[2, 0, 1, 2]), of(&[0, 1, 2, 3])], ["d", "b, c, d", "a, b, c, 1 more"]);
        let unknown = SharedPart { object: SharedObject::Unknown, ..part(0, 0, 1) };
        assert_eq!(names.object_names(&[unknown, part(0, 3, 1)]), "a", "what is not known has no name");
    }

    #[test]
    fn lines_of_one_object_are_one_if_threads_write_apart_in_all_or_in_none() {
        let measurement = measurement(&["array", "other"]);
        let names = Measured { run: &measurement };
        let line = |changes, parts| {
            let line = Line { changes, false_changes: 1, invalidations: 2, transfers: 3 };
            SharedLine { parts, line }
        };
        let found = names.shared_lines(&[
            line(5, vec![part(0, 0, 0b0011), part(1, 0, 0b1100)]),
            line(9, vec![part(0, 0, 0b0111), part(1, 0, 0b1100)]),
            line(6, vec![part(0, 0, 0b0001), part(0, 0, 0b0001), part(1, 0, 0b0010), part(2, 0, 0b0100)]),
            line(1, vec![part(0, 1, 1)]),
        ]);
        let of = |(lines, _): &(SharedLines, Vec<Written>)| {
            (lines.object.clone(), lines.lines, lines.threads, lines.changes, lines.apart)
        };
        let expected = [("array", 2, 3, 11, true), ("array", 1, 2, 9, false), ("other", 1, 1, 1, true)];
        let expected = expected
            .map(|(object, lines, threads, changes, apart)| (object.to_owned(), lines, threads, changes, apart));
        assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected, "most changes first");
        let (lines, written) = &found[0];
        assert_eq!((lines.false_changes, lines.invalidations, lines.transfers), (2, 4, 6));
        let threads: Vec<_> = written.iter().map(|written| (written.thread, written.ranges.clone())).collect();
        assert_eq!(threads, [(0, vec![(0, 2)]), (1, vec![(1, 4)]), (2, vec![(2, 3)])]);
        assert_eq!(lines.places, ["main.c:4"]);
    }

    #[test]
    fn what_went_from_thread_to_thread_is_added_up_by_places() {
        let measurement = measurement(&["array"]);
        let site = |thread, item| (thread, Some((0, 0, item)));
        let array = SharedObject::Datum { table: 0, datum: 0 };
        let none = (1, None);
        let moved = [
            // Two sites of one line.
            ((site(0, 0), site(1, 0), array), 1),
            ((site(0, 0), site(1, 1), array), 2),
            ((site(0, 1), none, SharedObject::Unknown), 4),
            ((site(2, 0), site(1, 0), array), 8),
        ];
        let found = Found {
            line: 64,
            threads: vec![Some((0, 0)), None],
            moved: moved.into(),
            lines: Vec::new(),
            handed: vec![3],
        };
        let (met, details) = Measured { run: &measurement }.met(&found);
        assert_eq!(met.threads, ["main", "(not known)"]);
        let of =
            |moved: &Moved| (moved.writer, moved.reader, moved.reader_place.clone(), moved.object.clone(), moved.bytes);
        let expected = [
            (0, 1, "main.c:4", "array", 1),
            (0, 1, "work.c:12", "array", 2),
            (0, 1, "(not counted)", "", 4),
            (2, 1, "main.c:4", "array", 8),
        ];
        let mut found: Vec<_> = met.moved.iter().map(of).collect();
        found.sort_by_key(|moved| moved.4);
        assert_eq!(found, expected.map(|(a, b, place, object, n)| (a, b, place.to_owned(), object.to_owned(), n)));
        assert_eq!(details.handed, [3]);
    }
}
