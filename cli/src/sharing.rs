//! `report --sharing`: which threads write what others read, and lines that change hands between threads, with the
//! bytes that each thread writes of them.
//!
//! Takes a profile, gives tables. Refuses profiles of runs without `--sharing`. A cure is named only where most changes
//! of hands moved no byte, and there were many.

use std::collections::BTreeMap;

use anyhow::bail;

use crate::{
    document::{Column, Document, Sheet, Value},
    estimate,
    profile::{
        Profile,
        model::{Met, SharedLines, SharingDetails, Written},
    },
    report::ReportOptions,
    shared::{names, printable},
};

/// Rows of a table, unless `--top` says otherwise.
const SHOWN: usize = 20;
/// False changes of hands of a line from which on it is worth changing the program.
const MANY: u64 = 16;

/// # Errors
/// A profile that does not tell.
pub fn document(profile: &Profile, options: &ReportOptions) -> anyhow::Result<Document> {
    let Some(met) = profile.sharing.as_ref().and_then(|sharing| sharing.met.as_ref()) else {
        bail!(
            "the profile does not say what threads share; that is measured by: dmdprof run --threads shared --sharing"
        );
    };
    let names = thread_names(met, options.group_threads);
    let mut document = Document {
        kind: "sharing",
        source: estimate::source(&profile.meta),
        heading: estimate::heading(profile),
        ..Document::default()
    };
    document.sheets.push(matrix(met, &names));
    document.sheets.push(flows(met, &names, options));
    document.sheets.push(lines(met, options));
    if let Some(details) = &profile.sharing_details {
        document.sheets.extend((!met.lines.is_empty()).then(|| written(details, &names, options)));
        document.sheets.extend(handed(details, &names));
    }
    document.notes.push(
        "bytes count each read of what another thread wrote last; lines change hands as in the order of the model, which \
         is not that of any run (docs/threads.md)"
            .into(),
    );
    Ok(document)
}

/// A name for each thread: its function, and its number unless those of one function are grouped.
fn thread_names(met: &Met, grouped: bool) -> Vec<String> {
    let name = |(number, function): (usize, &String)| {
        let function = printable::name(function);
        if grouped { function.into_owned() } else { format!("{number} {function}") }
    };
    met.threads.iter().enumerate().map(name).collect()
}

fn name(names: &[String], thread: u32) -> String {
    names.get(thread as usize).cloned().unwrap_or_default()
}

/// Bytes by writer and reader.
fn matrix(met: &Met, names: &[String]) -> Sheet {
    let mut bytes: BTreeMap<(String, String), u64> = BTreeMap::new();
    for moved in &met.moved {
        *bytes.entry((name(names, moved.writer), name(names, moved.reader))).or_default() += moved.bytes;
    }
    let columns = [("bytes", ["", "bytes"]), ("writer", ["", "written by"]), ("reader", ["", "read by"])];
    let columns = columns.map(|(key, header)| Column::new(key, header, 0));
    let mut sheet = Sheet::new("threads", "Bytes that one thread read and another wrote last", columns.into());
    for ((writer, reader), bytes) in bytes {
        sheet.row([Value::Bytes(bytes.into()), Value::Name(writer), Value::Name(reader)]);
    }
    sheet
}

/// Bytes by places and object.
fn flows(met: &Met, names: &[String], options: &ReportOptions) -> Sheet {
    let mut all: BTreeMap<(String, String, &str, &str, &str), u64> = BTreeMap::new();
    for moved in &met.moved {
        let key = (
            name(names, moved.writer),
            name(names, moved.reader),
            &*moved.writer_place,
            &*moved.reader_place,
            &*moved.object,
        );
        *all.entry(key).or_default() += moved.bytes;
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let columns = vec![
        Column::new("bytes", ["", "bytes"], 0),
        Column::new("object", ["", "object"], 0),
        Column::new("writer_place", ["", "written at"], 0),
        Column::new("reader_place", ["", "read at"], 0),
        Column::new("writer", ["", "written by"], 3),
        Column::new("reader", ["", "read by"], 3),
    ];
    let mut sheet = Sheet::new("flows", "The same by place and object", columns);
    for ((writer, reader, from, to, object), bytes) in sheet.first(&all, Some(options.top.unwrap_or(SHOWN))) {
        sheet.row([
            Value::Bytes(u128::from(*bytes)),
            object_name(object),
            place(from),
            place(to),
            Value::Name(writer.clone()),
            Value::Name(reader.clone()),
        ]);
    }
    sheet
}

/// Lines that several threads wrote.
fn lines(met: &Met, options: &ReportOptions) -> Sheet {
    let columns = vec![
        Column::new("number", ["", "#"], 0),
        Column::new("changes", ["owner", "changes"], 0),
        Column::new("false_changes", ["for", "nothing"], 0),
        Column::new("invalidations", ["copies", "taken"], 2),
        Column::new("transfers", ["copies", "fetched"], 2),
        Column::new("lines", ["", "lines"], 1),
        Column::new("writers", ["", "threads"], 1),
        Column::new("object", ["", "object"], 0),
        Column::new("places", ["", "written at"], 0),
        Column::new("cure", ["", "cure"], 0),
    ];
    let title = format!("Lines of {} bytes that several threads write", met.line);
    let mut sheet = Sheet::new("lines", title, columns);
    for (line, number) in sheet.first(&met.lines, Some(options.top.unwrap_or(SHOWN))).iter().zip(1..) {
        let places: Vec<String> = line.places.iter().map(|p| names::shorten_path(&printable::name(p), 40)).collect();
        sheet.row([
            Value::Count(number),
            Value::Count(line.changes.into()),
            Value::Count(line.false_changes.into()),
            Value::Count(line.invalidations.into()),
            Value::Count(line.transfers.into()),
            Value::Count(line.lines.into()),
            Value::Count(line.threads.into()),
            object_name(&line.object),
            Value::Name(places.join(", ")),
            cure(line, met.line).map_or(Value::Empty, Value::Text),
        ]);
    }
    sheet
}

/// Which bytes of these lines threads write.
fn written(details: &SharingDetails, names: &[String], options: &ReportOptions) -> Sheet {
    let columns = vec![
        Column::new("line", ["", "of #"], 0),
        Column::new("bytes", ["", "bytes"], 0),
        Column::new("object", ["", "object"], 0),
        Column::new("field", ["", "field"], 1),
        Column::new("writer", ["", "written by"], 0),
        Column::new("place", ["", "written at"], 0),
    ];
    let mut sheet = Sheet::new("written", "Bytes of these lines that each thread writes", columns);
    let mut rows = Vec::new();
    // Those of the lines above, in their order.
    let shown = options.top.unwrap_or(SHOWN);
    for (parts, number) in details.written.iter().take(shown).zip(1u128..) {
        let mut of_names: BTreeMap<(&str, bool, &str, String, &str), Ranges> = BTreeMap::new();
        for part in parts {
            let key = (&*part.object, part.of_line, &*part.field, name(names, part.thread), &*part.place);
            of_names.entry(key).or_default().add(part);
        }
        let parts = of_names.into_iter().map(|(key, ranges)| (number, key, ranges.joined()));
        let mut parts: Vec<_> = parts.collect();
        parts.sort_by(|a, b| (a.1.0, &a.2).cmp(&(b.1.0, &b.2)));
        rows.extend(parts);
    }
    for (number, (object, of_line, field, writer, at), ranges) in sheet.first(&rows, Some(2 * shown)) {
        let ranges = ranges.text();
        sheet.row([
            Value::Count(*number),
            Value::Text(if *of_line { format!("{ranges} of the line") } else { ranges }),
            object_name(object),
            if field.is_empty() { Value::Empty } else { Value::Name(printable::name(field).into()) },
            Value::Name(writer.clone()),
            place(at),
        ]);
    }
    sheet
}

/// Ranges that are shown of a row.
const RANGES: usize = 3;

#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Ranges {
    list: Vec<(u64, u64)>,
    /// Further ones, of the thread that has most.
    more: u64,
}

impl Ranges {
    fn add(&mut self, part: &Written) {
        self.list.extend(&part.ranges);
        self.more = self.more.max(part.more);
    }

    /// Those that touch or overlap as one.
    fn joined(mut self) -> Self {
        self.list.sort_unstable();
        self.list.dedup_by(|next, last| {
            let touches = next.0 <= last.1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
        self
    }

    fn text(&self) -> String {
        let shown: Vec<String> = self.list.iter().take(RANGES).map(|(from, to)| format!("+{from}..{to}")).collect();
        let more = self.more + self.list.len().saturating_sub(RANGES) as u64;
        if more > 0 { format!("{}, {more} more", shown.join(", ")) } else { shown.join(", ") }
    }
}

/// Of threads with stacks of their own, what of their first touches others had written.
fn handed(details: &SharingDetails, names: &[String]) -> Option<Sheet> {
    if details.handed.is_empty() {
        return None;
    }
    let mut bytes: BTreeMap<&String, u64> = BTreeMap::new();
    for (name, handed) in names.iter().zip(&details.handed) {
        *bytes.entry(name).or_default() += handed;
    }
    let columns = [("bytes", ["", "bytes"]), ("reader", ["", "read by"])];
    let columns = columns.map(|(key, header)| Column::new(key, header, 0));
    let mut sheet =
        Sheet::new("first_touches", "First touches of what another thread had written before", columns.into());
    for (name, bytes) in bytes.into_iter().filter(|(_, bytes)| *bytes > 0) {
        sheet.row([Value::Bytes(bytes.into()), Value::Name(name.clone())]);
    }
    Some(sheet)
}

/// What would keep the lines where they are, if the counts say so.
fn cure(line: &SharedLines, bytes: u32) -> Option<String> {
    let is_worth = 2 * line.false_changes > line.changes && line.false_changes >= MANY * line.lines;
    is_worth.then(|| {
        if line.apart {
            format!("pad: give what each thread writes {bytes} bytes of its own, or a private copy")
        } else {
            "split: keep what one thread writes away from what several do".into()
        }
    })
}

fn object_name(object: &str) -> Value {
    if object.is_empty() { Value::Text("(not known)".into()) } else { Value::Name(printable::name(object).into()) }
}

fn place(place: &str) -> Value {
    Value::Name(printable::name(place).into())
}
