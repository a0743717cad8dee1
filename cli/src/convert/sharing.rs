//! How threads that share a stack met: names in the place of numbers, and an order that depends on nothing but the
//! content.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::session::{
    Measurement, SiteKey,
    shared::{Met as Found, SharedLine, SharedObject},
};

use super::{
    Builder, place,
    read::{item_of, text},
};
use crate::{
    profile::model::{Met, Moved, SharedLines, Sharing, UndefinedOrder},
    shared::names::demangle,
};

impl Builder<'_> {
    /// How threads that share a stack met; `None` if each has its own.
    pub(super) fn sharing(&self) -> Option<Sharing> {
        let shared = self.measurement.shared.as_ref()?;
        let undefined = shared.undefined;
        Some(Sharing {
            undefined: UndefinedOrder {
                contended: undefined.contended,
                by_run: undefined.by_run,
                unmet: undefined.unmet,
                unseen_starts: shared.unseen_starts,
            },
            met: shared.met.as_ref().map(|found| Names { measurement: self.measurement }.met(found)),
        })
    }
}

struct Names<'a> {
    measurement: &'a Measurement,
}

impl Names<'_> {
    fn met(&self, found: &Found) -> Met {
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
        Met { line: found.line, threads: threads.collect(), moved: moved.collect(), lines: self.lines(&found.lines) }
    }

    fn lines(&self, found: &[SharedLine]) -> Vec<SharedLines> {
        let mut all: BTreeMap<(String, Vec<String>, bool), SharedLines> = BTreeMap::new();
        for line in found {
            let places: BTreeSet<String> = line.writers.iter().map(|((_, site), _)| self.place(*site)).collect();
            let mut by_thread: BTreeMap<u32, u128> = BTreeMap::new();
            for ((thread, _), mask) in &line.writers {
                *by_thread.entry(*thread).or_default() |= mask;
            }
            let bytes: u32 = by_thread.values().map(|mask| mask.count_ones()).sum();
            let apart = by_thread.values().fold(0, |all, mask| all | mask).count_ones() == bytes;
            let (object, places) = (self.object(line.object), Vec::from_iter(places));
            let sum = all.entry((object.clone(), places.clone(), apart)).or_insert(SharedLines {
                object,
                places,
                lines: 0,
                threads: 0,
                changes: 0,
                false_changes: 0,
                invalidations: 0,
                transfers: 0,
                apart,
            });
            sum.lines += 1;
            sum.threads = sum.threads.max(by_thread.len() as u64);
            sum.changes += line.line.changes;
            sum.false_changes += line.line.false_changes;
            sum.invalidations += line.line.invalidations;
            sum.transfers += line.line.transfers;
        }
        let mut all: Vec<SharedLines> = all.into_values().collect();
        all.sort_by(|a, b| b.changes.cmp(&a.changes).then_with(|| a.cmp(b)));
        all
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
            SharedObject::Block { site: Some((table, segment)) } => {
                format!("block of {}", self.place(Some((table, segment, 0))))
            }
        }
    }
}
