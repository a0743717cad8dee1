//! The report as what writes it: of functions, or of data objects if these are asked for.

use std::io::{self, BufWriter, Write};

use super::report::document;
use crate::{
    document,
    profile::Profile,
    report::{self, ReportOptions},
    sharing,
};

/// Writes a report.
pub type Writer<'p> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'p>;

/// What writes the report; with `--objects` that of the data.
///
/// # Errors
/// What the profile does not tell.
pub fn writer<'p>(profile: &'p Profile, options: &'p ReportOptions) -> anyhow::Result<Writer<'p>> {
    if !options.objects && !options.sharing {
        return Ok(Box::new(|mut out| report::render(profile, options, &mut out)));
    }
    let look = look(options);
    let document = if options.sharing { sharing::document(profile, options)? } else { document(profile, options)? };
    Ok(Box::new(move |mut out| document.write(look, &mut out)))
}

/// How the tables of a report look.
#[must_use]
pub fn look(options: &ReportOptions) -> document::Look {
    document::Look { format: options.format, width: options.width, color: options.color }
}

/// The report on standard output. A reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// Those of standard output, and what the profile does not tell.
pub fn print(profile: &Profile, options: &ReportOptions) -> anyhow::Result<()> {
    let write = writer(profile, options)?;
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
