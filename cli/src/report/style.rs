//! How the tables of the report look: colours, cells.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, Table};

use crate::shared::{human, terminal::bare_table};

pub(super) const GAP: usize = 2;

pub(super) struct Style {
    pub(super) color: bool,
}

impl Style {
    pub(super) fn paint(&self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    pub(super) fn heading(&self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn alarm(&self, text: &str) -> String {
        self.paint("1;31", text)
    }
}

pub(super) fn plain_table(style: &Style) -> Table {
    bare_table(style.color)
}

pub(super) fn bytes(n: u64) -> String {
    human::bytes(n.into())
}

pub(super) fn left(s: &str) -> Cell {
    Cell::new(s)
}

pub(super) fn right(s: &str) -> Cell {
    Cell::new(s).set_alignment(CellAlignment::Right)
}

pub(super) fn print(table: &Table, indent: &str, out: &mut impl Write) -> io::Result<()> {
    let mut table = table.clone();
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP as u16));
    }
    for line in table.lines() {
        writeln!(out, "{indent}{}", line.trim_end())?;
    }
    Ok(())
}
