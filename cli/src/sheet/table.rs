//! A document for people: headings, aligned tables that fit the terminal, plots, notes.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell as TableCell, CellAlignment};

use super::document::{Cell, Column, Document, Look, Sheet, Value};
use crate::shared::{
    human, names, printable,
    terminal::{bare_table, no_room},
};

const GAP: usize = 2;
const INDENT: usize = 2;
/// Characters that a name keeps before columns have to go for it.
const LEAST_NAME: usize = 24;

pub fn write(document: &Document, look: Look, out: &mut impl Write) -> io::Result<()> {
    for line in &document.heading {
        writeln!(out, "{}", printable::name(line))?;
    }
    let mut first = document.heading.is_empty();
    let mut gap = |out: &mut dyn Write| if std::mem::take(&mut first) { Ok(()) } else { writeln!(out) };
    for sheet in &document.sheets {
        gap(out)?;
        write_sheet(sheet, look, out)?;
    }
    for plot in &document.plots {
        gap(out)?;
        write!(out, "{plot}")?;
    }
    if !document.notes.is_empty() {
        gap(out)?;
    }
    let width = look.width.unwrap_or(usize::MAX);
    for note in &document.notes {
        write_wrapped(note, "- ", width, out)?;
    }
    Ok(())
}

fn write_sheet(sheet: &Sheet, look: Look, out: &mut impl Write) -> io::Result<()> {
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

/// Breaks between words at `width`; later lines are indented by as much as `lead` takes.
fn write_wrapped(text: &str, lead: &str, width: usize, out: &mut impl Write) -> io::Result<()> {
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in text.split_whitespace().map(printable::name) {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            writeln!(out, "{line}")?;
            line = " ".repeat(lead.len());
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

fn write_rows(sheet: &Sheet, look: Look, out: &mut impl Write) -> io::Result<()> {
    let columns: Vec<Texts> = (0..sheet.columns.len()).map(|i| Texts::new(sheet, i)).collect();
    let (mut columns, hidden) = fit(columns, look.width.map(|w| w.saturating_sub(INDENT)));
    let mut table = bare_table(look.color);
    table.set_header(columns.iter().map(|c| c.align(&c.header.join("\n")).add_attribute(Attribute::Bold)));
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
        let room = look.width.map(|width| width.saturating_sub(INDENT));
        writeln!(out, "{}{}", " ".repeat(INDENT), no_room(&hidden, "--format csv, --full-names", room))?;
    }
    Ok(())
}

/// A column as text.
struct Texts {
    header: [String; 2],
    goes: u8,
    is_name: bool,
    left: bool,
    cells: Vec<String>,
}

impl Texts {
    fn new(sheet: &Sheet, index: usize) -> Self {
        let Column { header, goes, .. } = sheet.columns[index].clone();
        let header = header.map(|text| printable::name(&text).into_owned());
        let values = || sheet.rows.iter().map(|row| &row[index].value);
        Texts {
            header,
            goes,
            is_name: values().any(|v| matches!(v, Value::Name(_))),
            left: values().all(|v| matches!(v, Value::Name(_) | Value::Text(_) | Value::Empty))
                && values().any(|v| *v != Value::Empty),
            cells: sheet.rows.iter().map(|row| text(&row[index])).collect(),
        }
    }

    fn width(&self) -> usize {
        let all = self.cells.iter().chain(&self.header).map(|s| s.chars().count());
        all.max().unwrap_or(0) + GAP
    }

    fn align(&self, text: &str) -> TableCell {
        let side = if self.left { CellAlignment::Left } else { CellAlignment::Right };
        TableCell::new(text).set_alignment(side)
    }
}

/// Shortens names, then leaves columns out, until all fits. Gives the headers of those left out.
fn fit(mut columns: Vec<Texts>, width: Option<usize>) -> (Vec<Texts>, Vec<String>) {
    let mut hidden = Vec::new();
    let Some(width) = width else { return (columns, hidden) };
    loop {
        let names = columns.iter().filter(|c| c.is_name).count().max(1);
        let others: usize = columns.iter().filter(|c| !c.is_name).map(Texts::width).sum();
        let room = width.saturating_sub(others) / names;
        let wanted = columns.iter().filter(|c| c.is_name).map(Texts::width).max().unwrap_or(0);
        let next = columns.iter().enumerate().max_by_key(|(_, c)| c.goes).map(|(i, c)| (i, c.goes));
        // Without a name to shorten, columns are all that can go.
        let is_full = if wanted == 0 { others > width } else { room < wanted.min(LEAST_NAME) };
        match next {
            Some((i, goes)) if goes > 0 && is_full => {
                let column = columns.remove(i);
                hidden.push(column.header.join(" ").trim().to_owned());
            }
            _ => {
                for cell in columns.iter_mut().filter(|c| c.is_name).flat_map(|c| &mut c.cells) {
                    *cell = names::shorten(cell, room.saturating_sub(GAP).max(8));
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
        Value::Text(text) | Value::Name(text) => printable::name(text).into_owned(),
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
