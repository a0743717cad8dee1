//! Which rows are shown, in which order; the others become one line, so that shown sums stay whole.

use super::analysis::{Analysis, Row, Sums};
use super::args::{ReportOptions, Sort};
use super::lines;
use crate::{document::Format, profile::Profile};

/// Part of the time below which code that was not counted has no row, as the dynamic linker's functions in a short run:
/// of a thousand samples, ten are as good as none.
const FEW: f64 = 0.01;

/// Rows that are not shown one by one.
#[derive(Debug, Default)]
pub struct Folded {
    pub rows: usize,
    /// Some are only too many, and not too small.
    pub cut: bool,
    /// Exclusive numbers; inclusive ones of several rows overlap and have no sum.
    pub own: Sums,
}

#[derive(Debug, Default)]
pub struct Selection<'a> {
    pub shown: Vec<&'a Row>,
    pub folded: Option<Folded>,
}

/// The number that orders rows, if nobody says: in tables samples of a clock, if there is one, else cycles, if a core
/// followed, else, where lines were measured, the lines that a memory like a first level of caches moves. What is
/// fetched and written back is nearer to the clock than what is read from how far.
#[must_use]
pub fn order(analysis: &Analysis, options: &ReportOptions) -> Sort {
    let profile = analysis.profile;
    options.sort.unwrap_or(match options.format {
        Format::Table if profile.clock.is_some() => Sort::Clock,
        Format::Table => nearest(profile),
        _ => Sort::Cost,
    })
}

/// The counted number that is nearest to the clock.
pub(super) fn nearest(profile: &Profile) -> Sort {
    if profile.cycles.is_some() {
        Sort::Cycles
    } else if profile.line_size().is_some() {
        Sort::Moved
    } else {
        Sort::Cost
    }
}

/// The amount of which a row has a share: the number that orders rows, if shares of it make sense, else the cost.
pub(super) fn amount(profile: &Profile, sort: Sort, sums: &Sums, calls: u128) -> u128 {
    match sort {
        Sort::Clock => sums.clock.into(),
        Sort::Cycles => sums.cycles.total().into(),
        Sort::Cost | Sort::Mean | Sort::Depth | Sort::Name => sums.cost,
        Sort::Moved => lines::shown(profile, sums.lines(), 0).into(),
        Sort::Read => sums.read.into(),
        Sort::Written => sums.written.into(),
        Sort::Flops => sums.flops(),
        Sort::Calls => calls,
    }
}

/// Sorts and folds. Equal rows are ordered by cost, then name, file and line: the order never depends on the profile's.
#[must_use]
pub fn select<'a>(analysis: &'a Analysis, options: &ReportOptions) -> Selection<'a> {
    let sort = order(analysis, options);
    let weighed = |row: &'a Row| {
        let sums = row.inclusive.as_ref().filter(|_| options.inclusive).unwrap_or(&row.own);
        (amount(analysis.profile, sort, sums, calls(row)), sums, row)
    };
    let mut rows: Vec<(u128, &Sums, &Row)> = analysis.rows.iter().map(weighed).collect();
    rows.sort_by(|(amount_a, x, a), (amount_b, y, b)| {
        let first = match sort {
            Sort::Mean => y.mean_cost().unwrap_or(0.0).total_cmp(&x.mean_cost().unwrap_or(0.0)),
            Sort::Depth => (b.quantiles.p90, b.quantiles.max).cmp(&(a.quantiles.p90, a.quantiles.max)),
            Sort::Name => place(a).cmp(&place(b)),
            _ => amount_b.cmp(amount_a),
        };
        first.then(y.cost.cmp(&x.cost)).then_with(|| place(a).cmp(&place(b)))
    });

    let total = amount(analysis.profile, sort, &analysis.total, analysis.rows.iter().map(calls).sum());
    let reaches = |part: u128, whole: u128| part as f64 >= options.threshold * whole as f64;
    // Whatever takes no time may be what moves most.
    let counted = |sums: &Sums| amount(analysis.profile, nearest(analysis.profile), sums, 0);
    let is_large = |(amount, sums, _): &(u128, &Sums, &Row)| {
        let moves = sort == Sort::Clock && counted(sums) > 0 && reaches(counted(sums), counted(&analysis.total));
        reaches(*amount, total) || moves
    };
    let (large, small): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_large);
    let is_noise = |sums: &Sums| {
        let is_only_sampled = Sums { clock: 0, ..sums.clone() }.is_zero();
        options.sort.is_none() && sort == Sort::Clock && is_only_sampled && sums.clock as f64 <= FEW * total as f64
    };
    let mut selection = Selection::default();
    for (_, sums, row) in large {
        if options.threshold > 0.0 && is_noise(sums) {
            selection.fold(row).cut = true;
        } else {
            selection.shown.push(row);
        }
    }
    for (.., row) in small {
        selection.fold(row);
    }
    selection.keep(options.top.unwrap_or(usize::MAX));
    selection
}

impl Selection<'_> {
    fn fold(&mut self, row: &Row) -> &mut Folded {
        let folded = self.folded.get_or_insert_default();
        folded.rows += 1;
        folded.own.merge(&row.own);
        folded
    }

    /// Folds all but the first rows.
    pub fn keep(&mut self, most: usize) {
        for row in self.shown.split_off(self.shown.len().min(most)) {
            self.fold(row).cut = true;
        }
    }
}

fn calls(row: &Row) -> u128 {
    row.calls.linked.unwrap_or(if row.calls.inlined { 0 } else { row.own.accesses() })
}

fn place(row: &Row) -> (&[String], Option<&str>, u32) {
    (&row.names, row.file.as_deref(), row.line)
}
