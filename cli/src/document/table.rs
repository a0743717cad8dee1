//! A document for people: headings, aligned tables that fit the terminal, paragraphs, plots, notes.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell as TableCell, CellAlignment};
use serde::Serialize;

use super::model::{Cell, Column, Document, Look, Sheet, Value};
use crate::shared::{
    human, names, printable,
    terminal::{bare_table, no_room},
};

const GAP: usize = 2;
const INDENT: usize = 2;
/// Where further lines of a paragraph begin.
const PARAGRAPH: usize = 5;
/// Characters that a name and a place keep, with the gap behind them, before columns have to go for them: useful
/// columns, then those that are nice to have.
const LEAST_NAME: [usize; 2] = [24, 48];
const LEAST_PLACE: [usize; 2] = [18, 26];
/// [`Column::goes`] from here on: shown only if names and places have all the room they want.
pub const NICE_TO_HAVE: u8 = 9;
/// What is left of a name in any case.
const LEAST: usize = 8;

pub fn write(document: &Document, look: Look, out: &mut impl Write) -> io::Result<()> {
    let width = look.width.unwrap_or(usize::MAX);
    for line in &document.heading {
        write_line(line, "  ", width, out)?;
    }
    let mut first = document.heading.is_empty();
    let mut gap = |out: &mut dyn Write| if std::mem::take(&mut first) { Ok(()) } else { writeln!(out) };
    for sheet in &document.sheets {
        gap(out)?;
        write_sheet(sheet, look, out)?;
    }
    for paragraph in &document.paragraphs {
        gap(out)?;
        for line in paragraph.lines() {
            let indent = line.len() - line.trim_start().len();
            write_line(line, &" ".repeat(if indent == 0 { PARAGRAPH } else { indent + INDENT }), width, out)?;
        }
    }
    for plot in &document.plots {
        gap(out)?;
        write!(out, "{plot}")?;
    }
    if !document.notes.is_empty() {
        gap(out)?;
    }
    for note in &document.notes {
        write_wrapped(note, "- ", width, out)?;
    }
    Ok(())
}

/// Writes a sheet alone.
///
/// # Errors
/// Those of `out`.
pub fn write_sheet(sheet: &Sheet, look: Look, out: &mut impl Write) -> io::Result<()> {
    if !sheet.title.is_empty() {
        writeln!(out, "{}", bold(&printable::name(&sheet.title), look.color))?;
    }
    if !sheet.rows.is_empty() {
        write_rows(sheet, look, out)?;
    }
    let width = look.width.unwrap_or(usize::MAX);
    for remark in &sheet.remarks {
        write_wrapped(remark, "  ", width, out)?;
    }
    Ok(())
}

/// Breaks between words at `width`; later lines are indented by as much as the first is.
///
/// # Errors
/// Those of `out`.
pub fn write_wrapped(text: &str, lead: &str, width: usize, out: &mut impl Write) -> io::Result<()> {
    write_hanging(text, lead, &" ".repeat(lead.len()), width, out)
}

/// Writes a line as it is if it fits, else breaks it; later lines begin with `next`.
fn write_line(line: &str, next: &str, width: usize, out: &mut impl Write) -> io::Result<()> {
    if line.chars().count() <= width {
        return writeln!(out, "{}", printable::name(line));
    }
    write_hanging(line, &line[..line.len() - line.trim_start().len()], next, width, out)
}

/// Breaks between words at `width`; later lines begin with `next`.
fn write_hanging(text: &str, lead: &str, next: &str, width: usize, out: &mut impl Write) -> io::Result<()> {
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in text.split_whitespace().map(printable::name) {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            writeln!(out, "{line}")?;
            next.clone_into(&mut line);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(&word);
        empty = false;
    }
    writeln!(out, "{line}")
}

/// A column that has room in a table, with whole texts.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Fitting {
    pub key: String,
    pub header: String,
    pub note: Option<&'static str>,
    /// Whether it stands left: words, no numbers.
    pub left: bool,
    pub cells: Vec<String>,
}

/// The columns that a table of a width has.
#[must_use]
pub fn fitting(sheet: &Sheet, width: usize) -> Vec<Fitting> {
    let whole = |Texts { index, left, note, .. }| Fitting {
        key: sheet.columns[index].key.clone(),
        header: sheet.columns[index].header.join(" ").trim().to_owned(),
        note,
        left,
        cells: sheet.rows.iter().map(|row| text(&row[index])).collect(),
    };
    fit(texts(sheet), Some(width.saturating_sub(INDENT))).0.into_iter().map(whole).collect()
}

fn texts(sheet: &Sheet) -> Vec<Texts> {
    (0..sheet.columns.len()).map(|i| Texts::new(sheet, i)).collect()
}

fn write_rows(sheet: &Sheet, look: Look, out: &mut impl Write) -> io::Result<()> {
    let (mut columns, hidden) = fit(texts(sheet), look.width.map(|w| w.saturating_sub(INDENT)));
    let mut table = bare_table(look.color);
    // An empty first line above all columns says nothing.
    let from = usize::from(columns.iter().all(|c| c.header[0].is_empty()));
    table.set_header(columns.iter().map(|c| c.align(&c.header[from..].join("\n")).add_attribute(Attribute::Bold)));
    for row in 0..sheet.rows.len() {
        let is_total = sheet.total && row + 1 == sheet.rows.len();
        let cells = columns.iter_mut().map(|c| {
            let cell = c.align(&c.cells[row]);
            if is_total { cell.add_attribute(Attribute::Bold) } else { cell }
        });
        table.add_row(cells.collect::<Vec<_>>());
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP as u16));
    }
    for line in table.lines() {
        writeln!(out, "{}", format!("{}{line}", " ".repeat(INDENT)).trim_end())?;
    }
    if !hidden.is_empty() {
        let hidden = names_of(sheet, &hidden);
        let room = look.width.map(|width| width.saturating_sub(INDENT));
        writeln!(out, "{}{}", " ".repeat(INDENT), no_room(&hidden, "--format csv, --full-names", room))?;
    }
    let mut notes: Vec<&str> = columns.iter().filter_map(|column| column.note).collect();
    notes.dedup();
    notes.into_iter().try_for_each(|note| write_wrapped(note, "  ", look.width.unwrap_or(usize::MAX), out))
}

/// What columns are called by: their headers, and their names in JSON where those are alike.
fn names_of(sheet: &Sheet, columns: &[Texts]) -> Vec<String> {
    let headers: Vec<String> = columns.iter().map(|column| column.header.join(" ").trim().to_owned()).collect();
    let is_alone = |header: &String| headers.iter().filter(|other| *other == header).count() == 1;
    let name = |(column, header): (&Texts, &String)| {
        if is_alone(header) { header.clone() } else { sheet.columns[column.index].key.replace('_', " ") }
    };
    columns.iter().zip(&headers).map(name).collect()
}

/// How a text is made shorter, and what it keeps at least.
#[derive(Clone, Copy)]
struct Shortened {
    by: fn(&str, usize) -> String,
    least: [usize; 2],
}

/// A column as text.
struct Texts {
    /// In its sheet.
    index: usize,
    header: [String; 2],
    goes: u8,
    note: Option<&'static str>,
    /// Of names and places.
    shortened: Option<Shortened>,
    left: bool,
    cells: Vec<String>,
}

impl Texts {
    fn new(sheet: &Sheet, index: usize) -> Self {
        let Column { header, goes, note, .. } = sheet.columns[index].clone();
        let header = header.map(|text| printable::name(&text).into_owned());
        let values = || sheet.rows.iter().map(|row| &row[index].value);
        let shortened = values().find_map(|value| match value {
            Value::Name(_) => Some(Shortened { by: names::shorten, least: LEAST_NAME }),
            Value::Place(_) => Some(Shortened { by: names::shorten_path, least: LEAST_PLACE }),
            _ => None,
        });
        Texts {
            index,
            header,
            goes,
            note,
            shortened,
            left: values().all(|v| matches!(v, Value::Name(_) | Value::Place(_) | Value::Text(_) | Value::Empty))
                && values().any(|v| *v != Value::Empty),
            cells: sheet.rows.iter().map(|row| text(&row[index])).collect(),
        }
    }

    fn width(&self) -> usize {
        widest(self.cells.iter().chain(&self.header))
    }

    /// The least width; with room to spare if the columns that could go are only nice to have.
    fn least(&self, is_roomy: bool) -> usize {
        let width = self.width();
        self.shortened
            .map_or(width, |shortened| width.min(shortened.least[usize::from(is_roomy)]))
            .max(widest(&self.header))
    }

    fn shorten_to(&mut self, width: usize) {
        let Some(Shortened { by, .. }) = self.shortened else { return };
        self.cells.iter_mut().for_each(|cell| *cell = by(cell, width.saturating_sub(GAP).max(LEAST)));
    }

    fn align(&self, text: &str) -> TableCell {
        let side = if self.left { CellAlignment::Left } else { CellAlignment::Right };
        TableCell::new(text).set_alignment(side)
    }
}

fn widest<'t>(texts: impl IntoIterator<Item = &'t String>) -> usize {
    texts.into_iter().map(|text| text.chars().count()).max().unwrap_or(0) + GAP
}

/// Shortens names, then leaves columns out, until all fits. Gives those left out too.
fn fit(mut columns: Vec<Texts>, width: Option<usize>) -> (Vec<Texts>, Vec<Texts>) {
    let mut hidden = Vec::new();
    // No gap is printed behind the last column.
    let Some(width) = width.map(|width| width + GAP) else { return (columns, hidden) };
    loop {
        let next = columns.iter().enumerate().max_by_key(|(_, c)| c.goes).map(|(i, c)| (i, c.goes));
        let is_roomy = next.is_some_and(|(_, goes)| goes >= NICE_TO_HAVE);
        let needed: usize = columns.iter().map(|c| c.least(is_roomy)).sum();
        match next {
            Some((i, goes)) if goes > 0 && needed > width => {
                hidden.push(columns.remove(i));
            }
            _ if needed > width => {
                let (texts, numbers): (Vec<_>, Vec<_>) = columns.iter_mut().partition(|c| c.shortened.is_some());
                let room = width.saturating_sub(numbers.iter().map(|c| c.width()).sum()) / texts.len().max(1);
                texts.into_iter().for_each(|column| column.shorten_to(room));
                return (columns, hidden);
            }
            _ => {
                // What is left over goes to the first ones.
                let mut rest = width - needed;
                for column in columns.iter_mut().filter(|c| c.shortened.is_some()) {
                    let least = column.least(is_roomy);
                    let more = (column.width() - least).min(rest);
                    rest -= more;
                    column.shorten_to(least + more);
                }
                return (columns, hidden);
            }
        }
    }
}

/// How a value looks.
fn text(cell: &Cell) -> String {
    let text = match &cell.value {
        Value::Empty => "-".into(),
        Value::Text(text) | Value::Name(text) | Value::Place(text) => printable::name(text).into_owned(),
        Value::Count(n) => human::count(*n),
        Value::Bytes(n) => human::bytes(*n),
        Value::Ratio(x) => human::ratio(*x),
        Value::Share(x) => human::share(*x),
        Value::Seconds(x) => human::seconds(*x),
        Value::Year(x) => format!("{x:.1}"),
        Value::Flag(flag) => (if *flag { "yes" } else { "no" }).into(),
        Value::Shown(_, text) => text.clone(),
    };
    if cell.guess { format!("~{text}") } else { text }
}

fn bold(text: &str, color: bool) -> String {
    if color { format!("\x1b[1m{text}\x1b[0m") } else { text.into() }
}
