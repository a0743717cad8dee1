//! How deep reads reached: the histogram of a report, with what is read deeper than each size, and the traffic at it.

use std::io::{self, Write};

use crate::report::analysis::Analysis;
use crate::report::depths::Depths;
use crate::report::style::{Style, bytes, left, plain_table, print, right};
use crate::{
    report::program::{self, Capacity},
    shared::human,
};

/// Characters of the longest bar.
const BAR: usize = 30;
/// First touches are worth a line if they cost at least one part in so many.
const MUCH: u128 = 20;

pub fn depth(analysis: &Analysis, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let total = analysis.total.read;
    if total == 0 {
        return Ok(());
    }
    let capacities = program::capacities(analysis);
    let largest = capacities.iter().map(|c| c.reads).max().unwrap_or(0);
    let percent = |n: u64| human::percent(u128::from(n), u128::from(total));
    let mut table = plain_table(style);
    let has_traffic = analysis.profile.has_capacities;
    let traffic = has_traffic.then_some("traffic at");
    let header = ["depth <=", "read", "share", "so far", "deeper than"].into_iter().chain(traffic).map(right);
    table.set_header(header.chain([left("")]).collect::<Vec<_>>());
    let title = match has_traffic {
        true => "Reads by depth; traffic = what a memory of that size with LRU replacement has to fetch",
        false => "Reads by depth",
    };
    for c in &capacities {
        let mut cells = vec![right(&bytes(c.capacity))];
        cells.extend(some_reads(c.reads, percent).iter().map(|s| right(s)));
        cells.push(right(&percent(c.within)));
        cells.extend([c.deeper].into_iter().chain(c.traffic).map(|n| right(&bytes(n))));
        cells.push(left(&bar(c.reads, largest)));
        table.add_row(cells);
    }
    writeln!(out, "\n{}", style.heading(title))?;
    print(&table, "  ", out)?;
    let cost = analysis.total.cost;
    let (least, most) = analysis.total.depths.cost_bounds();
    let (least_text, most_text) = (human::count(least), human::count(most));
    let verdict = if least <= cost && cost <= most { "as measured" } else { "NOT AS MEASURED: please report this" };
    writeln!(
        out,
        "  ByteDMD = sum over k of the reads deeper than k^2: {least_text} to {most_text} by this table, {verdict}"
    )?;
    match analysis.profile.without_traffic() {
        None if differ(&capacities, total) => {
            writeln!(
                out,
                "  traffic is more than what is read deeper: what dies frees its place in a memory, and nothing comes back for it"
            )?;
        }
        None => {}
        Some(why) => writeln!(out, "  {why}")?,
    }
    let first = program::cost_of_first_touches(analysis.profile);
    if first > 0 && first >= cost / MUCH {
        let part = human::percent(first, cost);
        let others = if analysis.profile.coverage.threads > 1 { ", what other threads wrote" } else { "" };
        writeln!(out, "  first touches cost about {part} of that: inputs{others}, and bytes that have no value")?;
    }
    Ok(())
}

/// Whether deaths tell traffic from what is read deeper, by one part in a hundred of all reads at least.
fn differ(capacities: &[Capacity], total: u64) -> bool {
    capacities.iter().any(|c| c.traffic.is_some_and(|traffic| (traffic - c.deeper) / total.div_ceil(100) > 0))
}

pub fn octaves(depths: &Depths, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let octaves = depths.octaves();
    if octaves.is_empty() {
        return writeln!(out, "  no reads");
    }
    let total = depths.total();
    let largest = octaves.iter().map(|o| o.reads).max().unwrap_or(0);
    let mut table = plain_table(style);
    let mut within = 0u64;
    for octave in octaves {
        within += octave.reads;
        let percent = |n: u64| human::percent(u128::from(n), u128::from(total));
        let mut cells = vec![right(&format!("<= {}", bytes(octave.capacity)))];
        cells.extend(some_reads(octave.reads, percent).iter().map(|s| right(s)));
        cells.push(right(&percent(within)));
        cells.push(left(&bar(octave.reads, largest)));
        table.add_row(cells);
    }
    print(&table, "  ", out)
}

/// Reads and their share; nothing is left blank, so that the eye finds what is there.
fn some_reads(reads: u64, percent: impl Fn(u64) -> String) -> [String; 2] {
    if reads == 0 { [String::new(), String::new()] } else { [bytes(reads), percent(reads)] }
}

/// Up to [`BAR`] characters; whatever is not nothing shows.
fn bar(n: u64, largest: u64) -> String {
    if n == 0 || largest == 0 {
        return String::new();
    }
    let eighths = (u128::from(n) * BAR as u128 * 8 / u128::from(largest)).max(1) as usize;
    let part = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let mut bar = "█".repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).map(|i| part[i]));
    bar
}
