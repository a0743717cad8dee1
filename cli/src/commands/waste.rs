//! `dmdprof waste`: bytes that were moved for nothing.

use clap::Args;

use super::{print::LookArgs, profile::ProfileArg};
use crate::{
    objects::waste::{self, Options},
    profile,
};

/// Show bytes moved for nothing: never read, or fetched and not used
///
/// Show bytes that were moved for nothing: written and never read, fetched and not used, copied from where nobody reads
/// again. Needs a profile made with `dmdprof run --flows --objects`. Lines are 64 bytes, and fetched into a fast memory
/// of 32 KiB.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct WasteArgs {
    #[command(flatten)]
    pub profile: ProfileArg,

    /// Heap blocks of different calling contexts are different objects
    #[arg(long)]
    pub contexts: bool,

    #[command(flatten)]
    pub look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof run --flows --objects ./app && dmdprof waste
  dmdprof waste --top 5 --format json ci.data";

/// Prints the tables.
///
/// # Errors
/// A profile that cannot be read or does not tell.
pub fn command(args: &WasteArgs) -> anyhow::Result<()> {
    let profile = profile::read(args.profile.path())?;
    let options = Options { top: args.look.top(), contexts: args.contexts };
    args.look.print(&waste::document(&profile, options)?)
}
