//! `report --objects`: what each data object costs and which lines of it are moved, by which function and in which
//! loop.

use std::collections::{BTreeMap, HashMap};

use anyhow::bail;

use super::{
    fields,
    groups::{Groups, word},
    loops,
    numbers::{Numbers, Selected},
    parts,
};
use crate::{
    document::{Document, Sheet, Value},
    estimate,
    profile::{Profile, model::ObjectKind},
    report::{Analysis, Grouping, ReportOptions, Sums, depths::QuantileReader},
    shared::names,
};

/// What to do about a profile without objects.
pub const NOT_MEASURED: &str =
    "the profile does not say which data was accessed; that is measured by: dmdprof run --objects";

/// The tables: objects; functions and objects; loops.
///
/// # Errors
/// A profile without objects.
pub fn document(profile: &Profile, options: &ReportOptions) -> anyhow::Result<Document> {
    let Some(objects) = &profile.objects else { bail!("{NOT_MEASURED}") };
    let groups = Groups::from_profile(profile, options.contexts);
    let rows = Analysis::new(profile, options.grouping).rows;
    let mut row_of = HashMap::new();
    for (row, sites) in rows.iter().map(|row| &row.sites).enumerate() {
        row_of.extend(sites.iter().map(|site| (*site, row)));
    }
    let numbers = Numbers::from_uses(profile, &objects.uses, options);
    let mut by_object: BTreeMap<usize, Sums> = BTreeMap::new();
    let mut by_pair: BTreeMap<(usize, usize), Sums> = BTreeMap::new();
    for used in &objects.uses {
        let group = groups.of_object(used.object);
        by_object.entry(group).or_default().add(used.read, &used.counts);
        by_pair.entry((row_of[&used.site], group)).or_default().add(used.read, &used.counts);
    }
    let mut document = Document {
        kind: "objects",
        source: estimate::source(&profile.meta),
        heading: estimate::heading(profile),
        ..Document::default()
    };
    let selected = numbers.select(by_object);
    let offsets = parts::sheet(&selected, &groups);
    document.sheets.push(objects_sheet(profile, selected, &numbers, &groups));
    let code = |row: usize| match options.grouping {
        Grouping::Lines(_) => place(rows[row].file.as_deref(), rows[row].line).unwrap_or_default(),
        _ => rows[row].name().to_owned(),
    };
    document.sheets.push(pairs_sheet(by_pair, &numbers, &groups, code));
    document.sheets.extend(loops::sheet(profile, objects, &numbers));
    if options.fields {
        document.sheets.push(fields::sheet(profile, objects, &groups, &numbers));
        document.sheets.extend(offsets);
    }
    document.notes = notes(&groups, numbers.has_lines());
    Ok(document)
}

fn place(file: Option<&str>, line: u32) -> Option<String> {
    file.map(|file| names::place(file, line))
}

fn objects_sheet(profile: &Profile, (shown, folded): Selected<usize>, numbers: &Numbers, groups: &Groups) -> Sheet {
    let mut sheet = Sheet::new(
        "objects",
        "Data objects",
        numbers.columns(&[
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
        numbers.row(sums).into_iter().chain(depths).chain(rest).collect::<Vec<_>>()
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
    sheet.row(row(&numbers.total, sum("total".into())));
    sheet.total = true;
    sheet
}

fn pairs_sheet(
    all: BTreeMap<(usize, usize), Sums>,
    numbers: &Numbers,
    groups: &Groups,
    code: impl Fn(usize) -> String,
) -> Sheet {
    let (key, title) = match numbers.options.grouping {
        Grouping::Lines(_) => ("line", "Lines and objects"),
        _ => ("function", "Functions and objects"),
    };
    let rest = [(key, ["", key], 0), ("kind", ["", "kind"], 0), ("object", ["", "object"], 0)];
    let mut sheet = Sheet::new("uses", title, numbers.columns(&rest));
    let (shown, folded) = numbers.select(all);
    for ((row, group), sums) in shown {
        let group = &groups.list[group];
        let kind = Value::Text(word(group.kind).into());
        let rest = [Value::Name(code(row)), kind, Value::Name(group.name.clone())];
        sheet.row(numbers.row(&sums).into_iter().chain(rest));
    }
    let sum = |name: String| [Value::Text(name), Value::Empty, Value::Empty];
    if let Some((count, sums)) = folded {
        sheet.row(numbers.row(&sums).into_iter().chain(sum(format!("({count} more)"))));
    }
    sheet.row(numbers.row(&numbers.total).into_iter().chain(sum("total".into())));
    sheet.total = true;
    sheet
}

fn notes(groups: &Groups, lines: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if lines {
        notes.push(
            "fetched, written back: bytes of lines, by memories of that size. line use: read from beyond it, of what loads fetch, where that is more \
             than fits. A line that several objects share is of the one that was accessed."
                .into(),
        );
    }
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
