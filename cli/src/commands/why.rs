//! `dmdprof why`: reuse pairs and cures.

use std::borrow::Cow;

use clap::Args;

use super::{print::PrintArgs, profile::ProfileOption};
use crate::{
    clock,
    document::Format,
    profile,
    why::{self, Options},
};

/// Say who had fetched what is fetched again, and what would help
///
/// Say who had fetched what is fetched again, and what would help. Of lines of memory that come from beyond 32 KiB: the
/// source line that needs them, the one that had fetched them before, the loop around both, and the cures that the
/// counts support (interchange, tile, fuse, pack), the most promising first. Any profile with lines tells that (not
/// `--no-lines`).
///
/// A profile made with `dmdprof run --flows --objects` tells more. For the reads that cost most: the line that touched
/// the same bytes last, the line that reads them now, the data object, which lines touched other bytes in the meantime,
/// and more cures (align, stream stores, drop the copy, free earlier, shrink the type).
///
/// Of a profile with cycles (`dmdprof run --cycles`) also what bounds each line, the line of most cycles first, and
/// where there is nothing to gain by moving less. With a clock beside the profile, each line has its share of the time.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct WhyArgs {
    /// Only reads in this function, at this line (FILE:LINE or a number), or of this object [default: all]
    #[arg(value_name = "FUNCTION|LINE|OBJECT")]
    pub subject: Option<String>,

    #[command(flatten)]
    pub profile: ProfileOption,

    /// Heap blocks of different calling contexts are different objects
    #[arg(long)]
    pub contexts: bool,

    /// Show at most so many pairs [default: 5 in tables, all elsewhere]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,

    #[command(flatten)]
    pub print: PrintArgs,
}

/// Pairs in tables, if nobody says how many.
const TABLE_TOP: usize = 5;

const EXAMPLES: &str = "\
Examples:
  dmdprof run ./app && dmdprof why           which lines are fetched again, and what to try
  dmdprof run --flows --objects ./app && dmdprof why
  dmdprof run --cycles kernel.c && dmdprof why     what each line waits for
  dmdprof why solve                          the reads of one function
  dmdprof why kernel.c:42                    of one line
  dmdprof why table --top 3                  of one variable";

/// Prints the pairs.
///
/// # Errors
/// A profile that cannot be read or does not tell, or a subject that nothing is called.
pub fn command(args: &WhyArgs) -> anyhow::Result<()> {
    args.profile.check_subject(args.subject.as_deref())?;
    let path = args.profile.path();
    let mut profile = profile::file::from_bytes(path, &profile::file::bytes_of(path)?)?;
    clock::file::add(&mut profile, path);
    // What is said in sentences is not escaped later.
    let profile = match args.print.form.format {
        Format::Json => Cow::Borrowed(&profile),
        Format::Table | Format::Csv => profile::for_people(&profile),
    };
    let top = args.top.map(|n| n as usize).or((args.print.form.format == Format::Table).then_some(TABLE_TOP));
    // For programs paths are as they were recorded.
    let here = std::env::current_dir().ok().filter(|_| args.print.form.format == Format::Table);
    let home = here.map(|here| here.to_string_lossy().into_owned());
    let options =
        Options { subject: args.subject.clone(), top, contexts: args.contexts, variables: home.is_some(), home };
    args.print.print(&why::document(&profile, &options)?)
}
