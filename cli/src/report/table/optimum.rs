//! What memories that know the future fetch, beside LRU: a table below the rows of a report.

use std::io::{self, Write};

use comfy_table::Attribute;

use crate::{
    report::{
        analysis::{Analysis, Row, Sums},
        optimum::Fetched,
        style::{Style, left, plain_table, print, right},
    },
    shared::human,
};

/// Rows have a place in the table from one part in so many of what is fetched.
const SMALLEST: u64 = 100;

/// The program, and rows that fetch a part of it that matters, the most first.
pub fn write(
    analysis: &Analysis,
    title: &dyn Fn(&Row) -> String,
    style: &Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let of = |sums: &Sums| Fetched::all(analysis.profile, sums);
    let total = of(&analysis.total);
    if total.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<(&Row, Vec<Fetched>)> = analysis.rows.iter().map(|row| (row, of(&row.own))).collect();
    let matters = |of: u64, all: u64| of > 0 && of >= all / SMALLEST;
    rows.retain(|(_, fetched)| fetched.iter().zip(&total).any(|(row, all)| matters(row.most(), all.most())));
    rows.sort_by_cached_key(|(row, fetched)| {
        (std::cmp::Reverse(fetched.iter().map(Fetched::most).sum::<u64>()), title(row))
    });
    let mut table = plain_table(style);
    let header = total.iter().flat_map(|at| {
        let capacity = human::bytes(at.capacity.into());
        [format!("{capacity}\nleast"), "\nLRU".into(), "\ntimes".into()]
    });
    let header = header.map(|text| right(&text)).chain([left("")]);
    table.set_header(header.map(|cell| cell.add_attribute(Attribute::Bold)).collect::<Vec<_>>());
    let names = rows.iter().map(|(row, fetched)| (title(row), fetched));
    for (name, fetched) in names.chain([("total".to_owned(), &total)]) {
        let numbers = fetched.iter().flat_map(|at| {
            let times = at.times().map_or_else(|| "-".into(), |times| format!("{}x", human::ratio(times)));
            [human::bytes(at.least.into()), human::bytes(at.lru.into()), times]
        });
        table.add_row(numbers.map(|text| right(&text)).chain([left(&name)]).collect::<Vec<_>>());
    }
    let heading = "Fetched at least, by memories that evict what is read farthest in the future, and by LRU; without \
                   first touches";
    writeln!(out, "\n{}", style.heading(heading))?;
    print(&table, "  ", out)?;
    verdict(title, &total, &rows, out)
}

/// Where LRU fetches most that it need not, and who.
fn verdict(
    title: &dyn Fn(&Row) -> String,
    total: &[Fetched],
    rows: &[(&Row, Vec<Fetched>)],
    out: &mut impl Write,
) -> io::Result<()> {
    let Some((number, worst)) = total.iter().enumerate().max_by_key(|(_, at)| (at.surplus(), at.capacity)) else {
        return Ok(());
    };
    if worst.surplus() == 0 {
        let all = total.iter().all(|at| at.lru == at.least);
        let text = "  LRU fetches the least possible at each of these capacities\n";
        return write!(out, "{}", if all { text } else { "" });
    }
    let capacity = human::bytes(worst.capacity.into());
    match worst.times() {
        Some(times) => write!(out, "  LRU fetches {}x the least possible at {capacity}", human::ratio(times))?,
        None => write!(out, "  LRU fetches {} at {capacity}, and nothing need be", human::bytes(worst.lru.into()))?,
    }
    let most = rows.iter().max_by_key(|(_, fetched)| fetched[number].surplus());
    let part = |(row, fetched): &(&Row, Vec<Fetched>)| {
        let share = human::percent(fetched[number].surplus().into(), worst.surplus().into());
        format!("; {share} of what is too much is in {}", title(row))
    };
    writeln!(out, "{}", most.map_or_else(String::new, part))
}
