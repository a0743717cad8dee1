//! `report --objects`: what each data object costs, and which function reads it.

use std::collections::{BTreeMap, HashMap};

use anyhow::bail;

use super::{
    fields,
    groups::{Groups, word},
    parts,
};
use crate::{
    estimate,
    profile::{
        Profile,
        model::{ObjectKind, ObjectUse},
    },
    report::{
        Analysis, Grouping, ReportOptions, Sort,
        depths::{Depths, QuantileReader},
    },
    shared::names,
    sheet::{Column, Document, Sheet, Value},
};

/// What to do about a profile without objects.
pub const NOT_MEASURED: &str =
    "the profile does not say which data was accessed; that is measured by: dmdprof run --objects";

/// Numbers of some uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    read: u64,
    written: u64,
    cold: u64,
    cost: u128,
    depths: Depths,
}

impl Sums {
    pub(super) fn add(&mut self, used: &ObjectUse) {
        self.read += used.read;
        self.written += used.written;
        self.cold += used.cold;
        self.cost += used.cost;
        self.depths.add(&used.histogram);
    }

    fn merge(&mut self, other: &Sums) {
        self.read += other.read;
        self.written += other.written;
        self.cold += other.cold;
        self.cost += other.cost;
        self.depths.merge(&other.depths);
    }

    fn weight(&self, sort: Sort) -> u128 {
        match sort {
            Sort::Read => self.read.into(),
            Sort::Written => self.written.into(),
            _ => self.cost,
        }
    }
}

/// The tables: objects; functions and objects.
///
/// # Errors
/// A profile without objects.
pub fn document(profile: &Profile, options: &ReportOptions) -> anyhow::Result<Document> {
    let Some(objects) = &profile.objects else { bail!("{NOT_MEASURED}") };
    let groups = Groups::of(profile, options.contexts);
    let rows = Analysis::new(profile, options.grouping).rows;
    let mut row_of = HashMap::new();
    for (row, sites) in rows.iter().map(|row| &row.sites).enumerate() {
        row_of.extend(sites.iter().map(|site| (*site, row)));
    }
    let mut by_object: BTreeMap<usize, Sums> = BTreeMap::new();
    let mut by_pair: BTreeMap<(usize, usize), Sums> = BTreeMap::new();
    let mut total = Sums::default();
    for used in &objects.uses {
        let group = groups.of_object(used.object);
        by_object.entry(group).or_default().add(used);
        by_pair.entry((row_of[&used.site], group)).or_default().add(used);
        total.add(used);
    }
    let mut document = Document {
        kind: "objects",
        source: estimate::source(&profile.meta),
        heading: estimate::heading(profile),
        ..Document::default()
    };
    let selected = select(by_object, &total, options);
    let offsets = parts::sheet(&selected, &groups);
    document.sheets.push(objects_sheet(profile, selected, &total, &groups));
    let code = |row: usize| match options.grouping {
        Grouping::Lines(_) => place(rows[row].file.as_deref(), rows[row].line).unwrap_or_default(),
        _ => rows[row].name().to_owned(),
    };
    document.sheets.push(pairs_sheet(by_pair, &total, &groups, code, options));
    if options.fields {
        document.sheets.push(fields::sheet(profile, objects, &groups, &total, options));
        document.sheets.extend(offsets);
    }
    document.notes = notes(&groups);
    Ok(document)
}

fn place(file: Option<&str>, line: u32) -> Option<String> {
    file.map(|file| names::place(file, line))
}

/// Rows with their keys, and the number of those that are not shown, with their sum.
pub(super) type Selected<K> = (Vec<(K, Sums)>, Option<(usize, Sums)>);

/// Largest first; those that are not shown as one sum with their number.
pub(super) fn select<K: Ord + Copy>(all: BTreeMap<K, Sums>, total: &Sums, options: &ReportOptions) -> Selected<K> {
    let mut rows: Vec<(K, Sums)> = all.into_iter().collect();
    rows.sort_by(|a, b| (b.1.weight(options.sort), b.1.cost, a.0).cmp(&(a.1.weight(options.sort), a.1.cost, b.0)));
    let least = options.threshold * total.weight(options.sort) as f64;
    let large = rows.iter().take_while(|(_, sums)| sums.weight(options.sort) as f64 >= least).count();
    let folded = rows.split_off(large.min(options.top.unwrap_or(usize::MAX)));
    let mut sum = Sums::default();
    folded.iter().for_each(|(_, sums)| sum.merge(sums));
    let count = folded.len();
    (rows, (count > 0).then_some((count, sum)))
}

const NUMBERS: [(&str, [&str; 2], u8); 6] = [
    ("share", ["", "share"], 0),
    ("cost", ["", "ByteDMD"], 0),
    ("cost_per_byte", ["cost", "/byte"], 2),
    ("read", ["", "read"], 0),
    ("written", ["", "written"], 1),
    ("cold", ["first", "touch"], 5),
];

pub(super) fn columns(rest: &[(&str, [&str; 2], u8)]) -> Vec<Column> {
    NUMBERS.iter().chain(rest).map(|(key, header, goes)| Column::new(*key, *header, *goes)).collect()
}

pub(super) fn numbers(sums: &Sums, total: &Sums) -> Vec<Value> {
    let share = (total.cost > 0).then(|| sums.cost as f64 / total.cost as f64);
    let mean = (sums.read > 0).then(|| sums.cost as f64 / sums.read as f64);
    vec![
        Value::or_empty(share, Value::Share),
        Value::Count(sums.cost),
        Value::or_empty(mean, Value::Ratio),
        Value::Bytes(sums.read.into()),
        Value::Bytes(sums.written.into()),
        Value::Bytes(sums.cold.into()),
    ]
}

fn objects_sheet(profile: &Profile, (shown, folded): Selected<usize>, total: &Sums, groups: &Groups) -> Sheet {
    let mut sheet = Sheet::new(
        "objects",
        "Data objects",
        columns(&[
            ("depth_p50", ["depth", "p50"], 4),
            ("depth_p90", ["depth", "p90"], 3),
            ("times", ["", "times"], 2),
            ("peak", ["most", "at once"], 1),
            ("kind", ["", "kind"], 0),
            ("object", ["", "object"], 0),
            ("place", ["declared, or", "allocated at"], 6),
        ]),
    );
    let mut reader = QuantileReader::new(profile.totals.peak_live);
    let mut row = |sums: &Sums, rest: [Value; 5]| {
        let depths = reader.read(&sums.depths);
        let read = (sums.read > 0).then_some(depths);
        let quantile = |depth: Option<u64>| Value::or_empty(depth, |d| Value::Bytes(d.into()));
        let depths = [quantile(read.map(|d| d.p50)), quantile(read.map(|d| d.p90))];
        numbers(sums, total).into_iter().chain(depths).chain(rest).collect::<Vec<_>>()
    };
    for (group, sums) in shown {
        let group = &groups.list[group];
        let known = group.times > 0;
        let rest = [
            Value::or_empty(known.then_some(group.times), Value::Count),
            Value::or_empty(known.then_some(group.peak), Value::Bytes),
            Value::Text(word(group.kind).into()),
            Value::Name(group.name.clone()),
            Value::or_empty(group.place.clone(), Value::Name),
        ];
        sheet.row(row(&sums, rest));
    }
    let sum = |name: String| [Value::Empty, Value::Empty, Value::Empty, Value::Text(name), Value::Empty];
    if let Some((count, sums)) = folded {
        sheet.row(row(&sums, sum(format!("({count} more)"))));
    }
    sheet.row(row(total, sum("total".into())));
    sheet.total = true;
    sheet
}

fn pairs_sheet(
    all: BTreeMap<(usize, usize), Sums>,
    total: &Sums,
    groups: &Groups,
    code: impl Fn(usize) -> String,
    options: &ReportOptions,
) -> Sheet {
    let (key, title) = match options.grouping {
        Grouping::Lines(_) => ("line", "Lines and objects"),
        _ => ("function", "Functions and objects"),
    };
    let rest = [(key, ["", key], 0), ("kind", ["", "kind"], 0), ("object", ["", "object"], 0)];
    let mut sheet = Sheet::new("uses", title, columns(&rest));
    let (shown, folded) = select(all, total, options);
    for ((row, group), sums) in shown {
        let group = &groups.list[group];
        let kind = Value::Text(word(group.kind).into());
        let rest = [Value::Name(code(row)), kind, Value::Name(group.name.clone())];
        sheet.row(numbers(&sums, total).into_iter().chain(rest));
    }
    let sum = |name: String| [Value::Text(name), Value::Empty, Value::Empty];
    if let Some((count, sums)) = folded {
        sheet.row(numbers(&sums, total).into_iter().chain(sum(format!("({count} more)"))));
    }
    sheet.row(numbers(total, total).into_iter().chain(sum("total".into())));
    sheet.total = true;
    sheet
}

fn notes(groups: &Groups) -> Vec<String> {
    let mut notes = Vec::new();
    if groups.list.iter().any(|group| group.kind == ObjectKind::Unknown) {
        notes.push(
            "(not known): memory of code without hooks and of the system, thread-local variables, and blocks that another thread or the \
             parent process allocated."
                .into(),
        );
    }
    if groups.list.iter().any(|group| group.kind == ObjectKind::Stack && group.name.starts_with("(unnamed)")) {
        notes.push("(unnamed): names of variables on the stack need debug information: compile with -g.".into());
    }
    notes
}
