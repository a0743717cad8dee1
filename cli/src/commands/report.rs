//! `dmdprof report`: the report of a profile again.

use crate::{objects, profile, report::CommandArgs, shared::terminal::Terminal};

/// Prints the report.
///
/// # Errors
/// A profile that cannot be read, and those of standard output.
pub fn command(args: &CommandArgs) -> anyhow::Result<()> {
    let profile = profile::read(&args.profile)?;
    objects::print(&profile, &args.report.options(Terminal::stdout()))?;
    Ok(())
}
