//! The report on standard output: of functions, or of data objects if these are asked for.

use std::io::{self, BufWriter, Write};

use super::report::document;
use crate::{
    profile::Profile,
    report::{self, Format, ReportOptions},
    sheet,
};

/// The report on standard output; with `--objects` that of the data. A reader that has seen enough (`| head`) is no error.
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
        return Ok(document(profile, options)?.print(look)?);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match report::render(profile, options, &mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
