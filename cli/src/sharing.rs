//! `report --sharing`: which threads write what others read, and lines that change hands between threads.
//!
//! Takes a profile, gives tables. Refuses profiles of runs without `--sharing`. A cure is named only where most changes
//! of hands moved no byte, and there were many.

use std::collections::BTreeMap;

use anyhow::bail;

use crate::{
    estimate,
    profile::{
        Profile,
        model::{Met, SharedLines},
    },
    report::ReportOptions,
    shared::{names, printable},
    sheet::{Column, Document, Sheet, Value},
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
    for line in sheet.first(&met.lines, Some(options.top.unwrap_or(SHOWN))) {
        let places: Vec<String> = line.places.iter().map(|p| names::shorten_path(&printable::name(p), 40)).collect();
        sheet.row([
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
    if object.is_empty() {
        Value::Text("(stack, or not known)".into())
    } else {
        Value::Name(printable::name(object).into())
    }
}

fn place(place: &str) -> Value {
    Value::Name(printable::name(place).into())
}
