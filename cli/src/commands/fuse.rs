//! `dmdprof fuse`: pairs of functions that pass bytes to each other.

use clap::Args;

use super::estimate::EstimateArgs;
use super::print::LookArgs;
use crate::estimate::fuse::{self, Options};

/// Rank pairs of functions by bytes that pass between them
///
/// Needs a profile made with `dmdprof run --flows`. With machines: the time that fusing the two would save.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct FuseArgs {
    #[command(flatten)]
    pub of: EstimateArgs,

    #[command(flatten)]
    pub look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof run --flows ./pipeline && dmdprof fuse
  dmdprof fuse --machine skx-6148-core --top 5
  dmdprof fuse --function normalise                 only pairs that this function is part of";

/// Prints the pairs.
///
/// # Errors
/// Whatever cannot be read, found or estimated.
pub fn command(args: &FuseArgs) -> anyhow::Result<()> {
    let profile = args.of.profile.read()?;
    let machines = args.of.machine.named()?;
    let only = args.of.profile.subjects(&profile, false)?;
    let options = Options {
        choice: args.of.machine.choice(),
        work: args.of.work.work,
        top: args.look.top(),
        only: (!args.of.profile.function.is_empty()).then(|| only.functions.into_iter().map(|s| s.name).collect()),
    };
    let document = fuse::document(&profile, args.of.profile.grouping(), &machines, &options)?;
    args.look.print(&document)
}
