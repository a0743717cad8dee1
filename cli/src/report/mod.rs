//! The report: what a profile says, for people (table) and for programs (JSON, CSV).
//!
//! [`Analysis`] turns cells into rows and decides nothing about looks; `select` orders and folds rows; `table`, `json`
//! and `csv` write them. Columns and formulas: `docs/report.md`.

pub mod analysis;
mod args;
pub mod built;
pub mod caches;
pub mod clock;
pub mod csv;
pub mod cycles;
pub mod depths;
pub mod disagreement;
mod flows;
pub mod hazards;
mod hot;
mod json;
pub mod lines;
pub mod numbers;
mod opening;
pub mod optimum;
pub mod program;
mod regions;
mod select;
mod style;
mod table;
#[cfg(test)]
pub mod tests;
mod threads;
mod tries;

use std::{
    borrow::Cow,
    io::{self, Write},
};

pub use analysis::{Analysis, Grouping, Inlined, Row, Sums};
pub use args::{ReportArgs, ReportOptions, Sort, SubjectArgs, parse_percent};
pub use flows::functions as context_functions;
pub use json::liveness;
pub use opening::Opening;
pub use tries::{INTERCHANGE, Tries};

pub use crate::document::Format;
use crate::profile::{self, Profile};

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
        Format::Table => table::write(&analysis, selection, options, out),
        Format::Json => json::write(&analysis, &selection, options, out),
        Format::Csv => csv::write(&analysis, &selection, options, out),
    }
}
