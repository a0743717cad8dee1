//! The report: what a profile says, for people (table) and for programs (JSON, CSV).
//!
//! [`Analysis`] turns cells into rows and decides nothing about looks; `select` orders and folds rows; `table`, `json`
//! and `csv` write them. Columns and formulas: `docs/report.md`.

pub mod analysis;
mod args;
pub mod caches;
mod csv;
pub mod depths;
mod flows;
pub mod human;
mod json;
pub mod lines;
pub mod names;
pub mod program;
mod regions;
mod select;
mod table;
#[cfg(test)]
mod tests;
mod threads;

use std::{
    borrow::Cow,
    io::{self, BufWriter, Write},
};

pub use analysis::{Analysis, Grouping, Inlined, Row, Sums};
pub use args::{CommandArgs, EXAMPLES, FILE_WIDTH, Format, ReportArgs, ReportOptions, Sort, Terminal, parse_percent};
pub use flows::functions as context_functions;
pub use json::{liveness, thread_mode};
pub use table::{bare_table, no_room};

use crate::profile::{self, Profile};
use crate::{objects, sheet};

/// Writes the report. The profile must be one that [`profile::validate`] accepts, as every profile from a file is.
pub fn render(profile: &Profile, options: &ReportOptions, out: &mut impl Write) -> io::Result<()> {
    // Programs get names as they are; JSON has escapes of its own.
    let printed = match options.format {
        Format::Json => Cow::Borrowed(profile),
        Format::Table | Format::Csv => profile::for_people(profile),
    };
    let analysis = Analysis::build(&printed, options.grouping, options.inclusive, options.generics);
    let selection = select::select(&analysis, options);
    match options.format {
        Format::Table => table::write(&analysis, &selection, options, out),
        Format::Json => json::write(&analysis, &selection, options, out),
        Format::Csv => csv::write(&analysis, &selection, options.by_thread, out),
    }
}

/// [`render`] to standard output. A reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// Those of standard output, and what the profile does not tell.
pub fn print(profile: &Profile, options: &ReportOptions) -> anyhow::Result<()> {
    if options.objects {
        let format = match options.format {
            Format::Table => sheet::Format::Table,
            Format::Json => sheet::Format::Json,
            Format::Csv => sheet::Format::Csv,
        };
        let look = sheet::Look { format, width: options.width, color: options.color };
        return Ok(objects::document(profile, options)?.print(look)?);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match render(profile, options, &mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// `dmdprof report`.
pub fn command(args: &CommandArgs) -> anyhow::Result<()> {
    let profile = profile::read(&args.profile)?;
    print(&profile, &args.report.options(Terminal::stdout()))?;
    Ok(())
}
