//! The report for people: what it cost, who spent it, which line, what was not seen, and what to type next.
//!
//! It fits one screen unless somebody asked for more. What it leaves out then has options of its own.

mod coverage;
mod depths;
mod moved;
mod next;
mod optimum;
pub mod rows;

use std::io::{self, Write};

use comfy_table::Attribute;

use super::analysis::{Analysis, Row, Sums};
use super::args::ReportOptions;
use super::built;
use super::caches::LevelMoved;
use super::clock;
use super::cycles;
use super::disagreement::about;
use super::hazards;
use super::regions;
use super::select::Selection;
use super::style::{Style, bytes, left, plain_table, print, right};
use super::threads;
use crate::document::{Look, write_sheet, write_wrapped};
use crate::profile::model::Outcome;
use crate::profile::unseen;
use crate::shared::human;

/// Lines of the smallest terminal.
const SCREEN: usize = 24;
/// Of these, what is around the rows: an empty line, two of headers, folded rows, the total, columns without room, and
/// the prompt of the shell.
const AROUND_ROWS: usize = 7;
/// Rows that are shown in any case.
const LEAST_ROWS: usize = 3;

pub fn write(
    analysis: &Analysis,
    mut selection: Selection,
    options: &ReportOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let style = Style { color: options.color };
    let [head, foot] = around(analysis, &mut selection, options)?;
    out.write_all(&head)?;
    regions::write(analysis.profile, &style, out)?;
    if options.by_thread {
        by_thread(analysis, &style, out)?;
    }
    if options.verbose || !(options.depths || options.coverage) {
        writeln!(out)?;
        let look = Look { format: options.format, width: options.width, color: options.color };
        write_sheet(&rows::sheet(analysis, &selection, options), look, out)?;
        out.write_all(&foot)?;
    }
    let title = |row: &Row| rows::title(row, analysis.grouping);
    if options.hist {
        for row in &selection.shown {
            writeln!(out, "\n{}", style.heading(&format!("Reads by depth: {}", title(row))))?;
            depths::octaves(&row.own.depths, &style, out)?;
        }
    }
    optimum::write(analysis, &title, &style, out)?;
    if options.verbose || options.depths {
        depths::depth(analysis, &style, out)?;
    }
    if options.verbose || options.coverage {
        coverage::coverage(analysis, &style, out)?;
    }
    Ok(())
}

/// What stands above and below the rows. Of them, those stay for which there is room.
pub fn around(analysis: &Analysis, selection: &mut Selection, options: &ReportOptions) -> io::Result<[Vec<u8>; 2]> {
    let mut head = Vec::new();
    header(analysis, options, &Style { color: options.color }, &mut head)?;
    let foot = foot(analysis, selection, options)?;
    if options.one_screen {
        // Without lines, columns of depths have room, and a footnote.
        let note = usize::from(analysis.profile.line_size().is_none() && analysis.profile.meta.has_bytes());
        selection.keep(room([&head, &foot], options.width).saturating_sub(note).max(LEAST_ROWS));
    }
    Ok([head, foot])
}

/// Rows for which there is room between what stands above and below them.
fn room(around: [&[u8]; 2], width: Option<usize>) -> usize {
    let width = width.unwrap_or(usize::MAX);
    let texts = around.map(String::from_utf8_lossy);
    // A terminal breaks lines that are too long.
    let taken = texts.iter().flat_map(|text| text.lines()).map(|line| line.chars().count().div_ceil(width).max(1));
    LEAST_ROWS.max(SCREEN.saturating_sub(taken.sum::<usize>() + AROUND_ROWS))
}

/// What stands below the rows: what columns are, where they disagree, and what to type next.
fn foot(analysis: &Analysis, selection: &Selection, options: &ReportOptions) -> io::Result<Vec<u8>> {
    let mut foot = Vec::new();
    let width = options.width.unwrap_or(usize::MAX);
    for sentence in sentences(analysis, selection, options) {
        write_wrapped(&sentence, "  ", width, &mut foot)?;
    }
    write_wrapped(&next::commands(analysis, options), "next: ", width, &mut foot)?;
    writeln!(foot, "words: {}", next::GLOSSARY)?;
    Ok(foot)
}

/// What columns are, what bounds the first row, and where columns disagree.
pub fn sentences(analysis: &Analysis, selection: &Selection, options: &ReportOptions) -> Vec<String> {
    let profile = analysis.profile;
    let size = profile.line_size().filter(|_| !options.causes);
    let beyond =
        size.map(|size| format!("beyond: what a cache of that size fetches and writes back, in lines of {size} B"));
    let title = |row: &Row| rows::short_title(row, analysis.grouping);
    let first = selection.shown.first();
    let bounds = first.and_then(|row| cycles::bounds(&title(row), &row.own.cycles));
    let lines = first.and_then(|row| about(profile, &row.own, Some(&title(row))));
    [beyond, bounds, lines, clock::disagreement(analysis, title)].into_iter().flatten().collect()
}

fn header(analysis: &Analysis, options: &ReportOptions, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let profile = analysis.profile;
    let (meta, sums) = (&profile.meta, &analysis.total);
    let mut command = meta.command.join(" ");
    if let Some(how) = coverage::how_seen(&profile.coverage) {
        command.push_str(&format!("   (without hooks: {how})"));
    }
    match meta.outcome {
        Outcome::Exited(0) => writeln!(out, "{command}")?,
        Outcome::Exited(code) => writeln!(out, "{command}   (exited with {code})")?,
        Outcome::Signaled(_) => writeln!(out, "{command}")?,
        Outcome::Unknown => writeln!(out, "{command}   (how it ended was not recorded)")?,
    }
    for why in profile.gaps() {
        writeln!(out, "{}", style.alarm(&format!("INCOMPLETE: {why}")))?;
    }
    for sentence in unseen::sentences(&profile.coverage) {
        writeln!(out, "{}", style.alarm(&sentence))?;
    }
    if let Some(warning) = threads::warning(profile) {
        writeln!(out, "{warning}")?;
    }
    for note in built::notes(profile) {
        writeln!(out, "{note}")?;
    }
    if !(options.verbose || options.coverage) {
        let width = options.width.unwrap_or(usize::MAX);
        if let Some(unseen) = coverage::in_short(profile) {
            write_wrapped(&unseen, "not seen: ", width, out)?;
        }
        if let Some(random) = coverage::random(meta.random).filter(|_| !meta.random.fixed) {
            writeln!(out, "{random}")?;
        }
    }
    if let Some(measured) = &profile.cycles {
        let width = options.width.unwrap_or(usize::MAX);
        if let Some(total) = cycles::total(measured, &sums.cycles) {
            write_wrapped(&total, "", width, out)?;
        }
        for (sentence, before) in
            [(cycles::others(measured), "other cores: "), (cycles::unknown(measured), "not seen: ")]
        {
            sentence.map_or(Ok(()), |sentence| write_wrapped(&sentence, before, width, out))?;
        }
    }
    if let Some(runs) = clock::runs(profile) {
        write_wrapped(&runs, "", options.width.unwrap_or(usize::MAX), out)?;
    }
    if let Some(roi) = &meta.roi {
        writeln!(out, "only inside region \"{roi}\"")?;
    }
    if meta.has_bytes() {
        cost(sums, style, out)?;
    } else {
        writeln!(out, "lines only: no ByteDMD and no depths of bytes; without --lines-only a run has them")?;
    }
    if meta.tells_dead_bytes() {
        dead(sums, out)?;
    }
    if options.verbose {
        totals(analysis, style, out)?;
        if let Some(size) = profile.line_size() {
            moved::moved(profile, sums, size, style, out)?;
        }
    } else {
        in_short(analysis, out)?;
    }
    if let Some(hazards) = hazards::in_short(profile, sums) {
        write_wrapped(&hazards, "", options.width.unwrap_or(usize::MAX), out)?;
    }
    if profile.caches.is_empty() {
        return Ok(());
    }
    moved::by_level(&LevelMoved::all(profile, sums), style, out)
}

fn cost(sums: &Sums, style: &Style, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{}", style.heading(&format!("ByteDMD {}", human::grouped(sums.cost))))?;
    if sums.cost >= 1_000_000 {
        write!(out, " ({})", human::count(sums.cost))?;
    }
    match sums.mean_cost() {
        Some(mean) => writeln!(out, ", {} per byte read", human::ratio(mean)),
        None => writeln!(out, "; nothing was read"),
    }
}

/// The totals that matter most, in a line.
fn in_short(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let (sums, profile) = (&analysis.total, analysis.profile);
    let (written, accesses) = (bytes(sums.written), human::count(sums.accesses()));
    if profile.meta.values.is_some() {
        return writeln!(out, "read {}, inputs {}", bytes(sums.read), bytes(profile.totals.footprint));
    }
    if !profile.meta.has_bytes() {
        return writeln!(out, "written {written}, accesses {accesses}");
    }
    let (read, first) = (bytes(sums.read), bytes(sums.cold));
    writeln!(out, "read {read}, written {written}, first touch {first}, accesses {accesses}")
}

fn totals(analysis: &Analysis, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let profile = analysis.profile;
    let (meta, totals, sums) = (&profile.meta, &profile.totals, &analysis.total);
    let ratio = sums.intensity().map_or_else(|| "-".into(), human::ratio);
    let per = "flops/byte";
    let mut table = plain_table(style);
    let (flops, int_ops) = (human::count(sums.flops()), human::count(sums.int_ops()));
    let (read, peak) = (bytes(sums.read), bytes(totals.peak_live));
    // Of several threads one number is the largest and one is the sum.
    let (peak_live, footprint) =
        if profile.coverage.threads > 1 { ("largest peak", "all footprints") } else { ("peak live", "footprint") };
    let escapes: u64 = profile.regions.iter().map(|r| r.escapes).sum();
    let instructions: u64 = profile.regions.iter().map(|r| r.instructions).sum();
    let lines = if !meta.has_bytes() {
        let (written, accesses) = (bytes(sums.written), human::count(sums.accesses()));
        vec![
            [("written", written), ("accesses", accesses), ("flops", flops)],
            [("", String::new()), ("", String::new()), ("int ops", int_ops)],
        ]
    } else if meta.values.is_some() {
        vec![
            [("read", read), ("peak live", peak), ("flops", flops)],
            [
                ("inputs", bytes(totals.footprint)),
                ("instructions", human::count(instructions.into())),
                ("int ops", int_ops),
            ],
            [("span", human::count(sums.span.into())), ("escapes", human::count(escapes.into())), (per, ratio)],
        ]
    } else {
        vec![
            [("read", read), (peak_live, peak), ("flops", flops)],
            [("written", bytes(sums.written)), (footprint, bytes(totals.footprint)), ("int ops", int_ops)],
            [("first touch", bytes(sums.cold)), ("accesses", human::count(sums.accesses())), (per, ratio)],
        ]
    };
    for line in lines {
        let cells = line.into_iter().flat_map(|(name, value)| [left(name), right(&value), left("")]);
        table.add_row(cells.collect::<Vec<_>>());
    }
    writeln!(out)?;
    print(&table, "  ", out)
}

/// A row per thread.
fn by_thread(analysis: &Analysis, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let mut table = plain_table(style);
    let header = ["share", "ByteDMD", "read", "written", "first touch", "peak live", "footprint"];
    let header = header.iter().map(|title| right(title)).chain([left("thread began with")]);
    table.set_header(header.map(|cell| cell.add_attribute(Attribute::Bold)).collect::<Vec<_>>());
    for (name, t) in threads::named(analysis.profile) {
        let numbers = [
            human::percent(t.cost, analysis.total.cost),
            human::count(t.cost),
            bytes(t.read),
            bytes(t.written),
            bytes(t.cold),
            bytes(t.peak_live),
            bytes(t.footprint),
        ];
        table.add_row(numbers.iter().map(|text| right(text)).chain([left(&name)]).collect::<Vec<_>>());
    }
    writeln!(out)?;
    print(&table, "", out)?;
    writeln!(out, "{}", rows::FIRST_TOUCH)
}

/// The cost beside the one with dead bytes.
fn dead(sums: &Sums, out: &mut impl Write) -> io::Result<()> {
    let share = human::percent(sums.dead_cost(), sums.hints_cost());
    writeln!(
        out,
        "  with hints only {}: {} of that ({share}) is for bytes kept although nobody reads them again",
        human::grouped(sums.hints_cost()),
        human::count(sums.dead_cost()),
    )?;
    writeln!(out, "  of {} written, {} were never read", bytes(sums.written), bytes(sums.left().unread),)
}
