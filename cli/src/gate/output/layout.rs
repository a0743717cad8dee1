//! Plain columns of text.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, CellAlignment};

use crate::{
    printable,
    report::{bare_table, names},
};

const GAP: u16 = 2;

/// A column: its header, and which side it is aligned to.
#[derive(Clone, Copy)]
pub enum Column {
    Number(&'static str),
    Text(&'static str),
}

/// Writes rows under a header, the last column shortened to fit the width.
pub fn columns(
    header: &[Column],
    rows: Vec<Vec<String>>,
    width: Option<usize>,
    color: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut table = bare_table(color);
    let cell = |column: &Column, text: &str| match column {
        Column::Number(_) => Cell::new(text).set_alignment(CellAlignment::Right),
        Column::Text(_) => Cell::new(text),
    };
    let title = |column: &Column| match column {
        Column::Number(title) | Column::Text(title) => *title,
    };
    let printed = |row: Vec<String>| row.iter().map(|text| printable::name(text).into_owned()).collect();
    let rows = rows.into_iter().map(printed).collect();
    let rows = fitted(header.iter().map(title), rows, width);
    table.set_header(header.iter().map(|c| cell(c, title(c)).add_attribute(Attribute::Bold)).collect::<Vec<_>>());
    for row in &rows {
        table.add_row(header.iter().zip(row).map(|(c, text)| cell(c, text)).collect::<Vec<_>>());
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    for line in table.lines() {
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}

/// The last two columns are a name and a place: each gets what the others leave over, the name two thirds of it.
fn fitted<'t>(
    titles: impl Iterator<Item = &'t str>,
    mut rows: Vec<Vec<String>>,
    width: Option<usize>,
) -> Vec<Vec<String>> {
    let mut widths: Vec<usize> = titles.map(|t| t.chars().count()).collect();
    for row in &rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }
    let (Some(width), Some(numbers)) = (width, widths.len().checked_sub(2)) else { return rows };
    let taken: usize = widths[..numbers].iter().map(|w| w + usize::from(GAP)).sum();
    let room = width.saturating_sub(taken + 2 + usize::from(GAP)).max(40);
    let place = widths[numbers + 1].min((room / 3).max(room.saturating_sub(widths[numbers])));
    for row in &mut rows {
        row[numbers] = names::shorten(&row[numbers], room - place);
        row[numbers + 1] = names::shorten_path(&row[numbers + 1], place);
    }
    rows
}
