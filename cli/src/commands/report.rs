//! `dmdprof report`: the report of a profile again.

use anyhow::{bail, ensure};
use clap::Args;

use super::{
    print::ToArgs,
    profile::{LinesArg, ProfileArg},
    sampled,
};
use crate::{
    clock, objects,
    profile::Profile,
    report::{ReportArgs, Sort, SubjectArgs},
    sample::{Measured, file},
    why,
};

const EXAMPLES: &str = "\
Examples:
  dmdprof report                                  the functions that move data most expensively
  dmdprof report --inclusive --top 20             the 20 most expensive call trees
  dmdprof report --lines --sort depth old.data    source lines that reach furthest, of another profile
  dmdprof report --objects                        which data the bytes belong to
  dmdprof report --objects --fields               and which fields of structures are read
  dmdprof report --hist --threshold 5%            depth histograms of the heaviest functions
  dmdprof report dmdprof.estimate                 the estimates of a sample
  dmdprof report --format json | jq '.functions[0]'";

/// Print the report of a profile
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ReportCommand {
    #[command(flatten)]
    pub lines: LinesArg,

    #[command(flatten)]
    pub profile: ProfileArg,

    #[command(flatten, next_help_heading = "Report options")]
    pub subject: SubjectArgs,

    #[command(flatten)]
    pub report: ReportArgs,

    #[command(flatten)]
    pub to: ToArgs,
}

/// Prints the report.
///
/// # Errors
/// A profile that cannot be read, what was not measured, and those of writing.
pub fn command(args: &ReportCommand) -> anyhow::Result<()> {
    let mut profile = match file::read(args.profile.path())? {
        Measured::Exact(profile) => *profile,
        Measured::Estimated(estimates) => {
            sampled::check_report(&args.report, args.subject, args.lines.line_size)?;
            return sampled::tables(&estimates, &args.report, args.subject, &args.to);
        }
    };
    clock::file::add(&mut profile, args.profile.path());
    args.lines.choose(&mut profile)?;
    check(&args.report, &profile)?;
    let mut options = args.report.options(args.subject, args.to.terminal());
    options.profile = args.profile.path().to_owned();
    options.tries = why::tries(&profile);
    args.to.write(objects::writer(&profile, &options)?)
}

/// Whether what is asked for was measured.
fn check(args: &ReportArgs, profile: &Profile) -> anyhow::Result<()> {
    if let Some(option) = args.needs_table() {
        bail!("{option} is for tables; JSON has all of it, and CSV what belongs to rows: leave it out");
    }
    let by_cycles = args.causes || args.sort == Some(Sort::Cycles);
    ensure!(!by_cycles || profile.cycles.is_some(), "no cycles were measured: `dmdprof run --cycles` has them");
    let by_clock = args.sort == Some(Sort::Clock);
    ensure!(!by_clock || profile.clock.is_some(), "no clock was beside this run: `dmdprof run --clock` has one");
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        report: ReportCommand,
    }

    #[test]
    fn help() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
        insta::assert_snapshot!(Cli::command().name("dmdprof report").term_width(110).render_help());
    }
}
