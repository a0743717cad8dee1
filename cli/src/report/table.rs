//! The report for people: what it cost, who spent it, how deep it reached, what was and was not seen.

mod coverage;
mod depths;
mod moved;
mod optimum;

use std::io::{self, Write};

use comfy_table::{Attribute, Cell};

use super::analysis::{Analysis, Calls, Grouping, Row, Sums};
use super::args::ReportOptions;
use super::built;
use super::caches::{self, LevelMoved};
use super::depths::{QuantileReader, Quantiles};
use super::lines::{self, Moved};
use super::regions;
use super::select::{Folded, Selection};
use super::style::{GAP, Style, left, plain_table, print, right};
use super::threads;
use crate::profile::model::{Outcome, Unit};
use crate::profile::unseen;
use crate::shared::{human, names, terminal::no_room};

/// Characters that a name or a place keeps even if columns have to go for it: useful columns, then those that are nice
/// to have.
const NAME_MIN: [usize; 2] = [28, 48];
const PLACE_MIN: [usize; 2] = [18, 24];

pub fn write(
    analysis: &Analysis,
    selection: &Selection,
    options: &ReportOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let style = Style { unit: analysis.profile.meta.unit, color: options.color };
    header(analysis, &style, out)?;
    regions::write(analysis.profile, &style, out)?;
    if options.by_thread {
        by_thread(analysis, &style, out)?;
    }
    rows(analysis, selection, options, &style, out)?;
    if options.hist {
        for row in &selection.shown {
            writeln!(out, "\n{}", style.heading(&format!("Reads by depth: {}", title(row, analysis.grouping))))?;
            depths::octaves(&row.own.depths, &style, out)?;
        }
    }
    optimum::write(analysis, &|row| title(row, analysis.grouping), &style, out)?;
    depths::depth(analysis, &style, out)?;
    coverage::coverage(analysis, &style, out)
}

fn header(analysis: &Analysis, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let profile = analysis.profile;
    let (meta, totals, sums) = (&profile.meta, &profile.totals, &analysis.total);
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
    if let Some(roi) = &meta.roi {
        writeln!(out, "only inside region \"{roi}\"")?;
    }
    let cost = format!("{} {}", style.cost_name(), human::grouped(sums.cost));
    write!(out, "\n{}", style.heading(&cost))?;
    if sums.cost >= 1_000_000 {
        write!(out, " ({})", human::count(sums.cost))?;
    }
    match sums.mean_cost() {
        Some(mean) => writeln!(out, ", {} per {} read\n", human::ratio(mean), style.per())?,
        None => writeln!(out, "; nothing was read\n")?,
    }
    if meta.tells_dead_bytes() {
        dead(sums, style, out)?;
    }
    let lines = match style.unit {
        Unit::Byte => "",
        Unit::Line(_) => " lines",
    };
    let size = |n: u64| format!("{}{lines}", style.size(n));
    let ratio = sums.intensity().map_or_else(|| "-".into(), human::ratio);
    let per = format!("flops/{}", style.per());
    let mut table = plain_table(style);
    let (flops, int_ops) = (human::count(sums.flops()), human::count(sums.int_ops()));
    let (read, peak) = (size(sums.read), size(totals.peak_live));
    // Of several threads one number is the largest and one is the sum.
    let (peak_live, footprint) =
        if profile.coverage.threads > 1 { ("largest peak", "all footprints") } else { ("peak live", "footprint") };
    let escapes: u64 = profile.regions.iter().map(|r| r.escapes).sum();
    let instructions: u64 = profile.regions.iter().map(|r| r.instructions).sum();
    let lines = if meta.values.is_some() {
        [
            [("read", read), ("peak live", peak), ("flops", flops)],
            [
                ("inputs", size(totals.footprint)),
                ("instructions", human::count(instructions.into())),
                ("int ops", int_ops),
            ],
            [("span", human::count(sums.span.into())), ("escapes", human::count(escapes.into())), (&per, ratio)],
        ]
    } else {
        [
            [("read", read), (peak_live, peak), ("flops", flops)],
            [("written", size(sums.written)), (footprint, size(totals.footprint)), ("int ops", int_ops)],
            [("first touch", size(sums.cold)), ("accesses", human::count(sums.accesses())), (&per, ratio)],
        ]
    };
    for line in lines {
        let cells = line.into_iter().flat_map(|(name, value)| [left(name), right(&value), left("")]);
        table.add_row(cells.collect::<Vec<_>>());
    }
    print(&table, "  ", out)?;
    if let Some(size) = profile.line_size() {
        moved::moved(profile, sums, size, style, out)?;
    }
    if profile.caches.is_empty() {
        return Ok(());
    }
    moved::by_level(&LevelMoved::all(profile, sums), style, out)
}

/// A row per thread.
fn by_thread(analysis: &Analysis, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let mut table = plain_table(style);
    let header = ["share", style.cost_name(), "read", "written", "first touch", "peak live", "footprint"];
    let header = header.iter().map(|title| right(title)).chain([left("thread began with")]);
    table.set_header(header.map(|cell| cell.add_attribute(Attribute::Bold)).collect::<Vec<_>>());
    for (name, t) in threads::named(analysis.profile) {
        let numbers = [
            human::percent(t.cost, analysis.total.cost),
            human::count(t.cost),
            style.size(t.read),
            style.size(t.written),
            style.size(t.cold),
            style.size(t.peak_live),
            style.size(t.footprint),
        ];
        table.add_row(numbers.iter().map(|text| right(text)).chain([left(&name)]).collect::<Vec<_>>());
    }
    writeln!(out)?;
    print(&table, "", out)
}

/// The cost beside the one with dead bytes.
fn dead(sums: &Sums, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let share = human::percent(sums.dead_cost(), sums.hints_cost());
    writeln!(
        out,
        "  with hints only {}: {} of that ({share}) is for bytes kept although nobody reads them again",
        human::grouped(sums.hints_cost()),
        human::count(sums.dead_cost()),
    )?;
    writeln!(out, "  of {} written, {} were never read\n", style.size(sums.written), style.size(sums.left().unread),)
}

/// A column of numbers: two lines of header, how soon it goes when the table is too wide (0 = never), its cells.
struct Column {
    header: [&'static str; 2],
    goes: u32,
    cells: Vec<String>,
}

/// [`Column::goes`] from here on: shown only if names and places have all the room they want.
const NICE_TO_HAVE: u32 = 9;

/// One line of the table.
struct Line<'a> {
    row: &'a Row,
    /// In place of the name: a summary of rows, which has no place, calls or inclusive numbers.
    label: Option<String>,
}

fn number_columns(lines: &[Line], analysis: &Analysis, options: &ReportOptions, style: &Style) -> Vec<Column> {
    let total = analysis.total.cost;
    let by_line = matches!(analysis.grouping, Grouping::Lines(_));
    let column = |header: [&'static str; 2], goes: u32, cell: &dyn Fn(&Line) -> String| Column {
        header,
        goes,
        cells: lines.iter().map(cell).collect(),
    };
    let own = |f: &dyn Fn(&Sums) -> String| {
        let f: Box<dyn Fn(&Line) -> String + '_> = Box::new(move |line: &Line| f(&line.row.own));
        lines.iter().map(f).collect::<Vec<_>>()
    };
    let dash = || "-".to_string();
    let depth = |get: fn(&Quantiles) -> u64| {
        move |line: &Line| {
            if line.row.own.read == 0 { dash() } else { style.size(get(&line.row.quantiles)) }
        }
    };
    let per = if style.unit == Unit::Byte { "/byte" } else { "/line" };
    let cost_header = if style.unit == Unit::Byte { ["", "ByteDMD"] } else { ["line", "cost"] };

    let mut columns = Vec::new();
    if options.inclusive {
        columns.push(column(["incl.", "share"], 0, &|l| {
            l.row.inclusive.as_ref().map_or_else(String::new, |s| human::percent(s.cost, total))
        }));
        columns.push(column(["incl.", cost_header[1]], 0, &|l| {
            l.row.inclusive.as_ref().map_or_else(String::new, |s| human::count(s.cost))
        }));
    }
    let plain = |header, goes, cells| Column { header, goes, cells };
    columns.push(plain(["", "share"], 0, own(&|s| human::percent(s.cost, total))));
    columns.push(plain(cost_header, 0, own(&|s| human::count(s.cost))));
    if analysis.profile.meta.tells_dead_bytes() {
        columns.push(plain(["with", "hints"], 0, own(&|s| human::count(s.hints_cost()))));
        columns.push(plain(["dead", "share"], 0, own(&|s| human::percent(s.dead_cost(), s.hints_cost()))));
        columns.push(plain(["never", "read"], 3, own(&|s| style.size(s.left().unread))));
        columns.push(plain(["last", "read"], NICE_TO_HAVE + 2, own(&|s| style.size(s.left().last_read))));
    }
    columns.push(plain(["cost", per], 1, own(&|s| s.mean_cost().map_or_else(dash, human::ratio))));
    columns.push(plain(["", "read"], 0, own(&|s| style.size(s.read))));
    let values = analysis.profile.meta.values.is_some();
    if values {
        columns.push(plain(["", "span"], 3, own(&|s| human::count(s.span.into()))));
    } else {
        columns.push(plain(["", "written"], 3, own(&|s| style.size(s.written))));
    }
    if !values {
        columns.push(plain(["first", "touch"], NICE_TO_HAVE, own(&|s| style.size(s.cold))));
    }
    if let Some(line) = analysis.profile.line_size() {
        let moved = |capacity| move |s: &Sums| style.size(Moved::of(s.lines(), line, capacity).all());
        let goes = if analysis.profile.caches.is_empty() { 0 } else { 3 };
        columns.push(plain(["moved", "32 KiB"], goes, own(&moved(lines::SHOWN[0]))));
        columns.push(plain(["moved", "1 MiB"], goes + 2, own(&moved(lines::SHOWN[1]))));
    }
    let levels = analysis.profile.caches.len();
    for (level, name) in caches::NAMES.into_iter().enumerate().take(levels) {
        let moved = |s: &Sums| LevelMoved::all(analysis.profile, s)[level];
        let goes = level as u32;
        columns.push(plain([name, "fetched"], goes, own(&|s| style.size(moved(s).fetched))));
        let share = |moved: LevelMoved| human::percent(moved.conflicts().into(), moved.fetched.into());
        columns.push(plain([name, "conflicts"], goes + 1, own(&|s| share(moved(s)))));
    }
    columns.push(column(["depth", "p50"], 6, &depth(|q| q.p50)));
    columns.push(column(["depth", "p90"], 1, &depth(|q| q.p90)));
    columns.push(column(["depth", "p99"], 7, &depth(|q| q.p99)));
    columns.push(column(["depth", "max"], 2, &depth(|q| q.max)));
    if by_line {
        columns.push(plain(["", "accesses"], 4, own(&|s| human::count(s.accesses()))));
    } else {
        columns.push(column(["", "calls"], 4, &|l| {
            l.label.as_ref().map_or_else(|| calls(l.row.calls), |_| String::new())
        }));
    }
    columns.push(plain(["", "flops"], 4, own(&|s| human::count(s.flops()))));
    columns.push(plain(["flops", per], 5, own(&|s| s.intensity().map_or_else(dash, human::ratio))));
    columns.push(plain(["int", "ops"], NICE_TO_HAVE + 1, own(&|s| human::count(s.int_ops()))));
    columns
}

fn calls(calls: Calls) -> String {
    match calls {
        Calls { linked: None, .. } => "inlined".into(),
        Calls { linked: Some(0), inlined: true } => "inlined".into(),
        Calls { linked: Some(n), inlined: false } => human::count(n),
        Calls { linked: Some(n), inlined: true } => format!("{}+", human::count(n)),
    }
}

fn rows(
    analysis: &Analysis,
    selection: &Selection,
    options: &ReportOptions,
    style: &Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let by_line = matches!(analysis.grouping, Grouping::Lines(_));
    let mut reader = QuantileReader::new(analysis.profile.totals.peak_live);
    let mut summary = |own: &Sums| Row { quantiles: reader.read(&own.depths), own: own.clone(), ..Row::default() };
    let folded = selection.folded.as_ref().map(|folded| (summary(&folded.own), fold_label(folded, options)));
    let total = summary(&analysis.total);
    let mut lines: Vec<Line> = selection.shown.iter().map(|row| Line { row, label: None }).collect();
    lines.extend(folded.as_ref().map(|(row, label)| Line { row, label: Some(label.clone()) }));
    lines.push(Line { row: &total, label: Some("total".into()) });

    let mut columns = number_columns(&lines, analysis, options, style);
    let mut key = Texts::new(if by_line { "line" } else { "function" }, &lines, by_line);
    let mut detail = Texts::new(if by_line { "function" } else { "defined at" }, &lines, !by_line);
    for (i, label) in lines.iter().enumerate().filter_map(|(i, line)| Some((i, line.label.as_ref()?))) {
        key.cells[i].clone_from(label);
        detail.cells[i].clear();
    }
    let hidden = options.width.map_or_else(Vec::new, |width| fit(width, &mut columns, &mut key, &mut detail));

    let mut table = plain_table(style);
    let shown: Vec<&Texts> = [&key, &detail].into_iter().filter(|t| width_of(&t.cells) > 0).collect();
    let header = columns.iter().map(|c| right(&c.header.join("\n")));
    let header = header.chain(shown.iter().map(|t| left(&format!("\n{}", t.header))));
    table.set_header(header.map(|c| c.add_attribute(Attribute::Bold)).collect::<Vec<_>>());
    for i in 0..lines.len() {
        let cells = columns.iter().map(|c| right(&c.cells[i]));
        let mut cells: Vec<Cell> = cells.chain(shown.iter().map(|t| left(&t.cells[i]))).collect();
        if i + 1 == lines.len() {
            cells = cells.into_iter().map(|c| c.add_attribute(Attribute::Bold)).collect();
        }
        table.add_row(cells);
    }
    writeln!(out)?;
    print(&table, "", out)?;
    if !hidden.is_empty() {
        writeln!(out, "{}", no_room(&hidden, "--width, --format csv", options.width))?;
    }
    Ok(())
}

fn fold_label(folded: &Folded, options: &ReportOptions) -> String {
    if options.top.is_some() {
        format!("({} more)", folded.rows)
    } else {
        let percent = (options.threshold * 1e6).round() / 1e4;
        format!("({} more below {percent}%)", folded.rows)
    }
}

fn joined(row: &Row) -> String {
    match row.names.len() {
        0 | 1 => row.name().into(),
        n => format!("{} (+{})", row.name(), n - 1),
    }
}

fn place(row: &Row) -> String {
    match (&row.file, row.line) {
        (None, 0) => "?".into(),
        (None, line) => format!("?:{line}"),
        (Some(file), line) => names::place(file, line),
    }
}

fn title(row: &Row, grouping: Grouping) -> String {
    match grouping {
        Grouping::Lines(_) => place(row),
        Grouping::Functions | Grouping::AllFunctions | Grouping::Symbols => row.name().into(),
    }
}

/// A column of names or places.
struct Texts {
    header: &'static str,
    cells: Vec<String>,
    shorten: fn(&str, usize) -> String,
    min: [usize; 2],
}

impl Texts {
    fn new(header: &'static str, lines: &[Line], places: bool) -> Self {
        let cell: fn(&Line) -> String = if places { |l| place(l.row) } else { |l| joined(l.row) };
        let shorten = if places { names::shorten_path } else { names::shorten };
        let min = if places { PLACE_MIN } else { NAME_MIN };
        Texts { header, cells: lines.iter().map(cell).collect(), shorten, min }
    }

    fn width(&self) -> usize {
        match width_of(&self.cells) {
            0 => 0,
            n => n.max(self.header.len()),
        }
    }

    fn shorten_to(&mut self, width: usize) {
        for cell in &mut self.cells {
            *cell = if width == 0 { String::new() } else { (self.shorten)(cell, width) };
        }
    }
}

fn width_of(cells: &[String]) -> usize {
    cells.iter().map(|c| c.chars().count()).max().unwrap_or(0)
}

/// Makes everything fit: shortens texts, then takes out columns, the least useful first. Returns what it took out.
fn fit(width: usize, columns: &mut Vec<Column>, key: &mut Texts, detail: &mut Texts) -> Vec<String> {
    let mut hidden = Vec::new();
    loop {
        let numbers: usize = columns
            .iter()
            .map(|c| width_of(&c.cells).max(c.header.iter().map(|h| h.len()).max().unwrap_or(0)) + GAP)
            .sum();
        let rest = width.saturating_sub(numbers);
        let next = columns.iter().enumerate().max_by_key(|(_, c)| c.goes).map(|(i, c)| (i, c.goes));
        let min = usize::from(next.is_some_and(|(_, goes)| goes >= NICE_TO_HAVE));
        let key_min = key.width().min(key.min[min]);
        let detail_min = detail.width().min(detail.min[min]);
        let gap = if detail.width() > 0 { GAP } else { 0 };
        if rest >= key_min + gap + detail_min {
            // The detail gets a third, and what the key leaves over.
            let room = rest - gap;
            let wanted = detail.width().min((room / 3).max(detail_min));
            let key_width = key.width().min(room - wanted.min(room - key_min));
            key.shorten_to(key_width);
            detail.shorten_to(room - key_width);
            return hidden;
        }
        match next {
            // The detail goes when only the essential columns are left beside it.
            Some((_, goes)) if detail.width() > 0 && goes <= 5 => {
                hidden.push(detail.header.into());
                detail.shorten_to(0);
            }
            Some((i, goes)) if goes > 0 => {
                let column = columns.remove(i);
                hidden.push(column.header.join(" ").trim().replace(" /", "/"));
            }
            _ => {
                key.shorten_to(key.min[0].max(rest));
                detail.shorten_to(0);
                return hidden;
            }
        }
    }
}
