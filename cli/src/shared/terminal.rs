//! Where tables go: what the output can show, and tables without lines.

use std::io::IsTerminal;

use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};

/// Width of tables in files and pipes.
pub const FILE_WIDTH: u16 = 160;

/// What the output is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// `None` if it is not a terminal.
    pub width: Option<u16>,
    pub color: bool,
}

impl Terminal {
    /// Standard output. `NO_COLOR` (not empty) and `TERM=dumb` switch colours off.
    #[must_use]
    pub fn stdout() -> Terminal {
        if !std::io::stdout().is_terminal() {
            return Terminal::default();
        }
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Terminal { width: comfy_table::Table::new().width(), color: !no_color && !dumb }
    }
}

/// How wide a table may be.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WidthArgs {
    /// Never shorten names, however wide the table gets
    #[arg(long)]
    pub full_names: bool,

    /// Width of tables in columns [default: the terminal's; 160 in files and pipes]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..))]
    pub width: Option<u16>,
}

impl WidthArgs {
    /// Columns of what goes there, if names are shortened.
    #[must_use]
    pub fn columns(&self, terminal: &Terminal) -> Option<usize> {
        let columns = self.width.or(terminal.width).unwrap_or(FILE_WIDTH);
        (!self.full_names).then_some(columns.into())
    }
}

/// No lines, no wrapping, styles only with `color`.
#[must_use]
pub fn bare_table(color: bool) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).force_no_tty();
    if color {
        table.enforce_styling();
    }
    table
}

/// Which columns were left out, in one line: as many names as fit.
#[must_use]
pub fn no_room(hidden: &[String], instead: &str, width: Option<usize>) -> String {
    let line = |shown: usize| {
        let names = hidden[..shown].join(", ");
        match hidden.len() - shown {
            0 => format!("(no room for {names}; see {instead})"),
            more if shown == 0 => format!("(no room for {more} columns; see {instead})"),
            more => format!("(no room for {names} and {more} more; see {instead})"),
        }
    };
    let fits = |shown: &usize| line(*shown).chars().count() <= width.unwrap_or(usize::MAX);
    (0..=hidden.len()).rev().find(fits).map_or_else(|| line(0), line)
}
