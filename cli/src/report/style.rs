//! How the tables of the report look: the names of its unit, colours, cells.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, Table};

use crate::{
    profile::model::Unit,
    shared::{human, terminal::bare_table},
    sheet::Value,
};

pub(super) const GAP: usize = 2;

pub(super) struct Style {
    pub(super) unit: Unit,
    pub(super) color: bool,
}

impl Style {
    /// Bytes, or lines as plain counts.
    pub(super) fn size(&self, n: u64) -> String {
        match self.unit {
            Unit::Byte => human::bytes(u128::from(n)),
            Unit::Line(_) => human::count(u128::from(n)),
        }
    }

    /// The same in a table.
    pub(super) fn number(&self, n: u64) -> Value {
        match self.unit {
            Unit::Byte => Value::Bytes(n.into()),
            Unit::Line(_) => Value::Count(n.into()),
        }
    }

    /// What stands behind a size in a sentence.
    pub(super) fn lines(&self) -> &'static str {
        match self.unit {
            Unit::Byte => "",
            Unit::Line(_) => " lines",
        }
    }

    pub(super) fn cost_name(&self) -> &'static str {
        match self.unit {
            Unit::Byte => "ByteDMD",
            Unit::Line(_) => "line cost (not ByteDMD)",
        }
    }

    pub(super) fn per(&self) -> &'static str {
        match self.unit {
            Unit::Byte => "byte",
            Unit::Line(_) => "line",
        }
    }

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
