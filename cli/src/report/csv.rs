//! The report as CSV: one line per row, exact integers, empty where there is no value.
//!
//! First the columns that every report has, then one for each other number of [`Numbers`] that was measured.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::analysis::{Analysis, Grouping, Row};
use super::args::ReportOptions;
use super::depths::QuantileReader;
use super::numbers::{Numbers, SumsContext};
use super::select::Selection;
use super::threads;
use crate::document::Value;
use crate::profile::model::Totals;
use crate::shared::printable::csv_cell;

/// Columns that every report has, and the numbers that are in them; those of the row have none.
const COLUMNS: [(&str, &str); 30] = [
    ("kind", ""),
    ("name", ""),
    ("symbols", ""),
    ("file", ""),
    ("line", ""),
    ("calls", ""),
    ("inlined", ""),
    ("accesses", "accesses"),
    ("read", "read"),
    ("written", "written"),
    ("cold", "cold"),
    ("cost", "cost"),
    ("share", "share"),
    ("mean_cost", "mean_cost"),
    ("depth_p50", ""),
    ("depth_p90", ""),
    ("depth_p99", ""),
    ("depth_max", ""),
    ("flops", "flops"),
    ("int_ops", "ops_int"),
    ("flops_per_read", "flops_per_read"),
    ("inclusive_read", "inclusive_read"),
    ("inclusive_written", "inclusive_written"),
    ("inclusive_cost", "inclusive_cost"),
    ("inclusive_flops", "inclusive_flops"),
    ("hints_cost", "dead_hints_cost"),
    ("unread", "dead_unread"),
    ("last_read", "dead_last_read"),
    ("span", "span"),
    ("try", ""),
];

/// What the column of a number is called.
#[must_use]
pub fn column_of(path: &str) -> &str {
    COLUMNS.iter().find(|(_, of)| *of == path).map_or(path, |(name, _)| name)
}

pub fn write(
    analysis: &Analysis,
    selection: &Selection,
    options: &ReportOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    // The crate's own conversion hides which error it was.
    records(analysis, selection, options, out).map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })
}

fn records(
    analysis: &Analysis,
    selection: &Selection,
    options: &ReportOptions,
    out: &mut impl Write,
) -> csv::Result<()> {
    let kind = match analysis.grouping {
        Grouping::Lines(_) => "line",
        Grouping::Functions | Grouping::AllFunctions | Grouping::Symbols => "function",
    };
    let of = SumsContext { profile: analysis.profile, total: &analysis.total };
    let measured = Numbers::from_sums(&analysis.total, of).flat();
    let further = measured.into_iter().map(|(path, _)| path).filter(|path| COLUMNS.iter().all(|(_, of)| of != path));
    let columns: Vec<(String, String)> = COLUMNS
        .map(|(name, of)| (name.to_owned(), of.to_owned()))
        .into_iter()
        .chain(further.map(|path| (path.clone(), path)))
        .collect();
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns.iter().map(|(name, _)| name))?;
    let line = |kind: &str, row: &Row| {
        let numbers = numbers(row, of);
        let cells = columns.iter().map(|(name, path)| match numbers.get(path) {
            Some(value) => number(value),
            None if name == "try" => options.tries.for_row(row).unwrap_or_default().into(),
            None => of_row(kind, row, name),
        });
        cells.collect::<Vec<_>>()
    };
    for row in &selection.shown {
        csv.write_record(line(kind, row))?;
    }
    if let Some(folded) = &selection.folded {
        let quantiles = QuantileReader::new(analysis.profile.totals.peak_live).read(&folded.own.depths);
        let row =
            Row { names: vec![format!("{} more", folded.rows)], own: folded.own.clone(), quantiles, ..Row::default() };
        csv.write_record(line("folded", &row))?;
    }
    for (name, totals) in threads::named(analysis.profile).iter().filter(|_| options.by_thread) {
        csv.write_record(columns.iter().map(|(column, _)| of_thread(name, totals, column)))?;
    }
    Ok(csv.flush()?)
}

/// The numbers of a row by their paths.
fn numbers(row: &Row, of: SumsContext) -> BTreeMap<String, Value> {
    let mut numbers = Numbers::from_sums(&row.own, of).by_path();
    let inclusive = row.inclusive.iter().flat_map(|sums| Numbers::from_sums(sums, of).by_path());
    numbers.extend(inclusive.map(|(path, value)| (format!("inclusive_{path}"), value)));
    numbers
}

fn number(value: &Value) -> String {
    match value {
        Value::Count(n) => n.to_string(),
        Value::Share(x) | Value::Ratio(x) => x.to_string(),
        _ => String::new(),
    }
}

/// What a row has beside its numbers.
fn of_row(kind: &str, row: &Row, column: &str) -> String {
    let text = |text: &str| csv_cell(text).into_owned();
    match column {
        "kind" => kind.into(),
        "name" => text(&row.names.join("; ")),
        "symbols" => text(&row.symbols.join("; ")),
        "file" => text(row.file.as_deref().unwrap_or_default()),
        "line" if row.line > 0 => row.line.to_string(),
        "calls" => row.calls.linked.map_or_else(String::new, |calls| calls.to_string()),
        "inlined" => row.calls.inlined.to_string(),
        "depth_p50" => row.quantiles.p50.to_string(),
        "depth_p90" => row.quantiles.p90.to_string(),
        "depth_p99" => row.quantiles.p99.to_string(),
        "depth_max" => row.quantiles.max.to_string(),
        _ => String::new(),
    }
}

/// A thread has no more than totals.
fn of_thread(name: &str, totals: &Totals, column: &str) -> String {
    match column {
        "kind" => "thread".into(),
        "name" => csv_cell(name).into_owned(),
        "accesses" => totals.accesses.to_string(),
        "read" => totals.read.to_string(),
        "written" => totals.written.to_string(),
        "cold" => totals.cold.to_string(),
        "cost" => totals.cost.to_string(),
        _ => String::new(),
    }
}
