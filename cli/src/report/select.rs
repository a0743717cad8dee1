//! Which rows are shown, in which order; the others become one line, so that shown sums stay whole.

use std::cmp::Ordering;

use super::analysis::{Analysis, Row, Sums};
use super::args::{ReportOptions, Sort};

/// Rows that are not shown one by one.
#[derive(Debug, Default)]
pub struct Folded {
    pub rows: usize,
    /// Exclusive numbers; inclusive ones of several rows overlap and have no sum.
    pub own: Sums,
}

#[derive(Debug)]
pub struct Selection<'a> {
    pub shown: Vec<&'a Row>,
    pub folded: Option<Folded>,
}

/// The numbers by which rows are ordered and folded.
fn weight<'a>(row: &'a Row, options: &ReportOptions) -> &'a Sums {
    row.inclusive.as_ref().filter(|_| options.inclusive).unwrap_or(&row.own)
}

/// Sorts and folds. Equal rows are ordered by cost, then name, file and line: the order never depends on the profile's.
#[must_use]
pub fn select<'a>(analysis: &'a Analysis, options: &ReportOptions) -> Selection<'a> {
    let mut shown: Vec<&Row> = analysis.rows.iter().collect();
    shown.sort_by(|a, b| {
        let (x, y) = (weight(a, options), weight(b, options));
        let first = match options.sort {
            Sort::Cost => Ordering::Equal,
            Sort::Read => y.read.cmp(&x.read),
            Sort::Written => y.written.cmp(&x.written),
            Sort::Calls => calls(b).cmp(&calls(a)),
            Sort::Flops => y.flops().cmp(&x.flops()),
            Sort::Mean => y.mean_cost().unwrap_or(0.0).total_cmp(&x.mean_cost().unwrap_or(0.0)),
            Sort::Depth => (b.quantiles.p90, b.quantiles.max).cmp(&(a.quantiles.p90, a.quantiles.max)),
            Sort::Name => place(a).cmp(&place(b)),
        };
        first.then(y.cost.cmp(&x.cost)).then_with(|| place(a).cmp(&place(b)))
    });

    // Rows are folded by the number that orders them, if shares of it make sense, else by cost.
    let amount = |sums: &Sums, calls: u128| match options.sort {
        Sort::Cost | Sort::Mean | Sort::Depth | Sort::Name => sums.cost,
        Sort::Read => u128::from(sums.read),
        Sort::Written => u128::from(sums.written),
        Sort::Flops => sums.flops(),
        Sort::Calls => calls,
    };
    let total = amount(&analysis.total, analysis.rows.iter().map(calls).sum());
    let mut folded = Folded::default();
    let mut fold = |row: &Row| {
        folded.rows += 1;
        folded.own.merge(&row.own);
    };
    if total > 0 && options.threshold > 0.0 {
        shown.retain(|row| {
            let keep = amount(weight(row, options), calls(row)) as f64 >= options.threshold * total as f64;
            if !keep {
                fold(row);
            }
            keep
        });
    }
    if let Some(top) = options.top {
        shown.iter().skip(top).for_each(|row| fold(row));
        shown.truncate(top);
    }
    Selection { shown, folded: (folded.rows > 0).then_some(folded) }
}

fn calls(row: &Row) -> u128 {
    row.calls.linked.unwrap_or(if row.calls.inlined { 0 } else { row.own.accesses() })
}

fn place(row: &Row) -> (&[String], Option<&str>, u32) {
    (&row.names, row.file.as_deref(), row.line)
}
