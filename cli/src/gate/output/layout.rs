//! Plain columns of text.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, CellAlignment};

use crate::shared::{
    names, printable,
    terminal::{bare_table, no_room},
};

const GAP: u16 = 2;
/// Characters that names and places keep together.
const LEAST_NAMES: usize = 40;

/// A column: its header, and which side it is aligned to.
#[derive(Clone, Copy)]
pub enum Column<'a> {
    Number(&'a str),
    Text(&'a str),
}

impl<'a> Column<'a> {
    fn title(&self) -> &'a str {
        match self {
            Column::Number(title) | Column::Text(title) => title,
        }
    }
}

/// How rows are laid out.
#[derive(Clone, Copy, Default)]
pub struct Look<'a> {
    /// Characters in a line, if not any number.
    pub width: Option<usize>,
    /// Titles of columns that go when names have no room, the least important first.
    pub go: &'a [&'a str],
    /// Where they can be seen.
    pub instead: &'a str,
    pub color: bool,
}

/// Writes rows under a header, the last two columns shortened to fit the width.
pub fn columns(header: &[Column], rows: Vec<Vec<String>>, look: Look, out: &mut impl Write) -> io::Result<()> {
    let color = look.color;
    let mut table = bare_table(color);
    let cell = |column: &Column, text: &str| match column {
        Column::Number(_) => Cell::new(text).set_alignment(CellAlignment::Right),
        Column::Text(_) => Cell::new(text),
    };
    let printed = |row: Vec<String>| row.iter().map(|text| printable::name(text).into_owned()).collect();
    let mut rows: Vec<Vec<String>> = rows.into_iter().map(printed).collect();
    let mut header = header.to_vec();
    let hidden = fit(&mut header, &mut rows, look);
    table.set_header(header.iter().map(|c| cell(c, c.title()).add_attribute(Attribute::Bold)).collect::<Vec<_>>());
    for row in &rows {
        table.add_row(header.iter().zip(row).map(|(c, text)| cell(c, text)).collect::<Vec<_>>());
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    for line in table.lines() {
        writeln!(out, "  {}", line.trim_end())?;
    }
    if hidden.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {}", no_room(&hidden, look.instead, look.width.map(|width| width.saturating_sub(2))))
}

/// The last two columns are a name and a place: each gets what the others leave over, the name two thirds of it.
/// Columns go until that is enough; gives their titles.
fn fit(header: &mut Vec<Column>, rows: &mut [Vec<String>], look: Look) -> Vec<String> {
    let Some(width) = look.width.filter(|_| header.len() >= 2) else { return Vec::new() };
    let mut go = look.go.iter();
    let mut hidden = Vec::new();
    loop {
        let widths = widths(header, rows);
        let numbers = widths.len() - 2;
        let taken: usize = widths[..numbers].iter().map(|w| w + usize::from(GAP)).sum();
        let room = width.saturating_sub(taken + 2 + usize::from(GAP));
        let wanted = (widths[numbers] + widths[numbers + 1]).min(LEAST_NAMES);
        if room < wanted
            && let Some(title) = go.next()
        {
            if let Some(at) = header[..numbers].iter().position(|column| column.title() == *title) {
                header.remove(at);
                rows.iter_mut().for_each(|row| drop(row.remove(at)));
                hidden.push((*title).to_owned());
            }
            continue;
        }
        let room = room.max(wanted.min(LEAST_NAMES / 2));
        let place = widths[numbers + 1].min((room / 3).max(room.saturating_sub(widths[numbers])));
        for row in rows {
            row[numbers] = names::shorten(&row[numbers], room - place);
            row[numbers + 1] = names::shorten_path(&row[numbers + 1], place);
        }
        return hidden;
    }
}

fn widths(header: &[Column], rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = header.iter().map(|column| column.title().chars().count()).collect();
    for row in rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }
    widths
}
