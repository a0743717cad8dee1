//! `dmdprof waste`: bytes that were moved for nothing, by object and by line.
//!
//! | column | is |
//! |---|---|
//! | never read | bytes that were written and overwritten, ended or left at the end of the run before anybody read them |
//! | lines, line use | lines of 64 bytes fetched into a fast memory of 32 KiB (LRU, fully associative), and the part of them that was used before they left |
//! | not used | the bytes of these lines that were not |
//! | source dead | of a copy: the part of the bytes read whose source nobody read again |

use std::collections::BTreeMap;

use anyhow::bail;
use dmdprof_runtime::observe::patterns::LINE;

use super::groups::{Groups, word};
use crate::{
    document::{Column, Document, Sheet, Value},
    estimate,
    profile::{
        Profile,
        model::{AccessKind, DataObjects, SiteId},
    },
    report::{Analysis, Grouping, Inlined, disagreement::disagreement},
    shared::names,
};

/// What to show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub top: Option<usize>,
    /// Heap blocks of different calling contexts are different objects.
    pub contexts: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waste {
    read: u64,
    written: u64,
    unread: u64,
    last_read: u64,
    lines: u64,
    used: u64,
}

impl Waste {
    fn merge(&mut self, other: &Waste) {
        self.read += other.read;
        self.written += other.written;
        self.unread += other.unread;
        self.last_read += other.last_read;
        self.lines += other.lines;
        self.used += other.used;
    }

    fn not_used(&self) -> u64 {
        self.lines * LINE - self.used
    }

    /// Bytes moved for nothing, by which rows are ordered.
    fn bytes(&self) -> u64 {
        self.unread + self.not_used()
    }
}

/// # Errors
/// A profile that does not tell.
pub fn document(profile: &Profile, options: Options) -> anyhow::Result<Document> {
    let objects = profile.objects.as_ref().filter(|objects| !objects.patterns.is_empty());
    let Some(objects) = objects else {
        bail!("the profile does not say what became of the bytes; that is measured by: dmdprof run --flows --objects");
    };
    let groups = Groups::from_profile(profile, options.contexts);
    let lines = Analysis::new(profile, Grouping::Lines(Inlined::Own)).rows;
    let mut line_of = vec![None; profile.sites.len()];
    for (number, row) in lines.iter().enumerate() {
        row.sites.iter().for_each(|site| line_of[site.index()] = Some(number));
    }
    let by_use = by_use(objects);
    let mut by_object: BTreeMap<usize, Waste> = BTreeMap::new();
    let mut by_line: BTreeMap<(usize, usize), Waste> = BTreeMap::new();
    let mut copies: BTreeMap<(usize, usize), Waste> = BTreeMap::new();
    let mut total = Waste::default();
    for ((group, site), waste) in
        by_use.iter().map(|((object, site), waste)| ((groups.of_object(*object), *site), waste))
    {
        by_object.entry(group).or_default().merge(waste);
        total.merge(waste);
        let Some(line) = line_of[site.index()] else { continue };
        by_line.entry((line, group)).or_default().merge(waste);
        if profile.sites[site.index()].kind == AccessKind::Copy && waste.read > 0 {
            copies.entry((line, group)).or_default().merge(waste);
        }
    }
    let object = |group: usize| {
        let group = &groups.list[group];
        [Value::Text(word(group.kind).into()), Value::Name(group.name.clone())]
    };
    let place = |line: usize| {
        let row = &lines[line];
        let text = row.file.as_ref().map(|file| names::place(file, row.line));
        [Value::Name(text.unwrap_or_else(|| row.name().into())), Value::Name(row.name().into())]
    };
    let mut document = Document {
        kind: "waste",
        source: estimate::source(&profile.meta),
        heading: estimate::heading(profile),
        ..Document::default()
    };
    let names = [("kind", "kind"), ("object", "object")];
    let mut sheet = Sheet::new("objects", "By object", columns(&names));
    fill(&mut sheet, by_object, options.top, |group| object(group).to_vec());
    sheet.row(numbers(&total).into_iter().chain([Value::Text("total".into()), Value::Empty]));
    sheet.total = true;
    document.sheets.push(sheet);
    let names = [("line", "line"), ("function", "function"), ("kind", "kind"), ("object", "object")];
    let mut sheet = Sheet::new("lines", "By line", columns(&names));
    fill(&mut sheet, by_line, options.top, |(line, group)| place(line).into_iter().chain(object(group)).collect());
    document.sheets.push(sheet);
    if !copies.is_empty() {
        document.sheets.push(copies_sheet(copies, options.top, |(line, group)| {
            place(line).into_iter().chain(object(group)).collect()
        }));
    }
    document.notes.extend(disagreement(profile));
    Ok(document)
}

fn by_use(objects: &DataObjects) -> BTreeMap<(crate::profile::model::ObjectId, SiteId), Waste> {
    let mut by_use: BTreeMap<_, Waste> = BTreeMap::new();
    for used in &objects.uses {
        let waste = by_use.entry((used.object, used.site)).or_default();
        waste.read += used.read;
        waste.written += used.written;
    }
    for pattern in &objects.patterns {
        let waste = by_use.entry((pattern.object, pattern.site)).or_default();
        waste.unread += pattern.unread;
        waste.last_read += pattern.last_read;
        waste.lines += pattern.lines;
        waste.used += pattern.used;
    }
    by_use
}

fn columns(names: &[(&str, &str)]) -> Vec<Column> {
    let numbers = [
        ("written", ["", "written"], 2),
        ("never_read", ["never", "read"], 0),
        ("never_read_share", ["", "share"], 1),
        ("lines", ["lines", "fetched"], 2),
        ("line_use", ["line", "use"], 0),
        ("not_used", ["fetched,", "not used"], 0),
    ];
    let numbers = numbers.map(|(key, header, goes)| Column::new(key, header, goes));
    numbers.into_iter().chain(names.iter().map(|(key, name)| Column::new(*key, ["", name], 0))).collect()
}

fn part(part: u64, whole: u64) -> Value {
    Value::part(part as f64, whole as f64)
}

fn numbers(waste: &Waste) -> Vec<Value> {
    vec![
        Value::Bytes(waste.written.into()),
        Value::Bytes(waste.unread.into()),
        part(waste.unread, waste.written),
        Value::Count(waste.lines.into()),
        part(waste.used, waste.lines * LINE),
        Value::Bytes(waste.not_used().into()),
    ]
}

fn fill<K: Ord + Copy>(
    sheet: &mut Sheet,
    all: BTreeMap<K, Waste>,
    top: Option<usize>,
    names: impl Fn(K) -> Vec<Value>,
) {
    let mut rows: Vec<(K, Waste)> = all.into_iter().filter(|(_, waste)| waste.bytes() > 0).collect();
    rows.sort_by(|a, b| b.1.bytes().cmp(&a.1.bytes()).then(a.0.cmp(&b.0)));
    for (key, waste) in sheet.first(&rows, top) {
        sheet.row(numbers(waste).into_iter().chain(names(*key)));
    }
}

fn copies_sheet<K: Ord + Copy>(all: BTreeMap<K, Waste>, top: Option<usize>, names: impl Fn(K) -> Vec<Value>) -> Sheet {
    let columns = [
        ("copied", ["", "copied"]),
        ("source_dead", ["source", "dead"]),
        ("source_dead_share", ["", "share"]),
        ("line", ["", "line"]),
        ("function", ["", "function"]),
        ("kind", ["", "kind"]),
        ("object", ["", "copied from"]),
    ];
    let columns = columns.map(|(key, header)| Column::new(key, header, 0)).to_vec();
    let mut sheet = Sheet::new("copies", "Copies", columns);
    let mut rows: Vec<(K, Waste)> = all.into_iter().collect();
    rows.sort_by(|a, b| b.1.last_read.cmp(&a.1.last_read).then(b.1.read.cmp(&a.1.read)).then(a.0.cmp(&b.0)));
    for (key, waste) in sheet.first(&rows, top) {
        let numbers =
            [Value::Bytes(waste.read.into()), Value::Bytes(waste.last_read.into()), part(waste.last_read, waste.read)];
        sheet.row(numbers.into_iter().chain(names(*key)));
    }
    sheet
}
