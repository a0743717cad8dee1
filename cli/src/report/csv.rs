//! The report as CSV: one line per row, exact integers, empty where there is no value.

use std::io::{self, Write};

use super::analysis::{Analysis, Grouping, Row, Sums};
use super::depths::{QuantileReader, Quantiles};
use super::select::Selection;
use super::threads;
use crate::profile::model::Totals;
use crate::shared::printable::csv_cell;

const COLUMNS: [&str; 29] = [
    "kind",
    "name",
    "symbols",
    "file",
    "line",
    "calls",
    "inlined",
    "accesses",
    "read",
    "written",
    "cold",
    "cost",
    "share",
    "mean_cost",
    "depth_p50",
    "depth_p90",
    "depth_p99",
    "depth_max",
    "flops",
    "int_ops",
    "flops_per_read",
    "inclusive_read",
    "inclusive_written",
    "inclusive_cost",
    "inclusive_flops",
    "hints_cost",
    "unread",
    "last_read",
    "span",
];

pub fn write(analysis: &Analysis, selection: &Selection, by_thread: bool, out: &mut impl Write) -> io::Result<()> {
    // The crate's own conversion hides which error it was.
    records(analysis, selection, by_thread, out).map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })
}

fn records(analysis: &Analysis, selection: &Selection, by_thread: bool, out: &mut impl Write) -> csv::Result<()> {
    let kind = match analysis.grouping {
        Grouping::Lines(_) => "line",
        Grouping::Functions | Grouping::AllFunctions | Grouping::Symbols => "function",
    };
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    for row in &selection.shown {
        csv.write_record(record(kind, row, analysis))?;
    }
    if let Some(folded) = &selection.folded {
        let quantiles = QuantileReader::new(analysis.profile.totals.peak_live).read(&folded.own.depths);
        let row =
            Row { names: vec![format!("{} more", folded.rows)], own: folded.own.clone(), quantiles, ..Row::default() };
        csv.write_record(record("folded", &row, analysis))?;
    }
    for (name, totals) in threads::named(analysis.profile).iter().filter(|_| by_thread) {
        csv.write_record(thread(name, totals))?;
    }
    Ok(csv.flush()?)
}

/// A thread has no more than totals.
fn thread(name: &str, totals: &Totals) -> [String; COLUMNS.len()] {
    COLUMNS.map(|column| match column {
        "kind" => "thread".into(),
        "name" => csv_cell(name).into_owned(),
        "accesses" => totals.accesses.to_string(),
        "read" => totals.read.to_string(),
        "written" => totals.written.to_string(),
        "cold" => totals.cold.to_string(),
        "cost" => totals.cost.to_string(),
        _ => String::new(),
    })
}

fn record(kind: &str, row: &Row, analysis: &Analysis) -> [String; COLUMNS.len()] {
    let real = |x: Option<f64>| x.filter(|x| x.is_finite()).map_or_else(String::new, |x| x.to_string());
    let integer = |x: Option<u128>| x.map_or_else(String::new, |x| x.to_string());
    let text = |text: &str| csv_cell(text).into_owned();
    let own = &row.own;
    let Quantiles { p50, p90, p99, max } = row.quantiles;
    let share = (analysis.total.cost > 0).then(|| own.cost as f64 / analysis.total.cost as f64);
    let is_exact = analysis.profile.meta.tells_dead_bytes();
    let dead = |n: u128| integer(is_exact.then_some(n));
    let inclusive = |get: fn(&Sums) -> u128| integer(row.inclusive.as_ref().map(get));
    [
        kind.into(),
        text(&row.names.join("; ")),
        text(&row.symbols.join("; ")),
        text(row.file.as_deref().unwrap_or_default()),
        if row.line == 0 { String::new() } else { row.line.to_string() },
        integer(row.calls.linked),
        row.calls.inlined.to_string(),
        own.accesses().to_string(),
        own.read.to_string(),
        own.written.to_string(),
        own.cold.to_string(),
        own.cost.to_string(),
        real(share),
        real(own.mean_cost()),
        p50.to_string(),
        p90.to_string(),
        p99.to_string(),
        max.to_string(),
        own.flops().to_string(),
        own.int_ops().to_string(),
        real(own.intensity()),
        inclusive(|s| u128::from(s.read)),
        inclusive(|s| u128::from(s.written)),
        inclusive(|s| s.cost),
        inclusive(Sums::flops),
        dead(own.hints_cost()),
        dead(own.left().unread.into()),
        dead(own.left().last_read.into()),
        integer(analysis.profile.meta.values.as_ref().map(|_| own.span.into())),
    ]
}
