//! Results in rows and columns, written for people, for programs and for spreadsheets from one description.
//!
//! A [`Document`] is what one command says: lines, [`Sheet`]s, plots, notes. Each value has a kind ([`Value`]) that
//! decides how it looks; machine formats get it unrounded, in base units (bytes, seconds, operations per second). A
//! value that rests on a guess is marked: `~` for people, named under `guesses` in JSON, a column `guesses` in CSV.
//! Nothing is computed here.

mod csv;
mod json;
mod model;
#[cfg(test)]
pub mod schema;
mod table;

use std::io::{self, BufWriter, Write};

pub use model::{Cell, Column, Document, Format, Look, Sheet, Value};
pub use table::{Fitting, NICE_TO_HAVE, fitting, write_sheet, write_wrapped};

impl Document {
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, look: Look, out: &mut impl Write) -> io::Result<()> {
        match look.format {
            Format::Table => table::write(self, look, out),
            Format::Json => json::write(self, out),
            Format::Csv => csv::write(self, out),
        }
    }

    /// [`Document::write`] to standard output. A reader that has seen enough (`| head`) is no error.
    ///
    /// # Errors
    /// Those of standard output.
    pub fn print(&self, look: Look) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        match self.write(look, &mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }
}
