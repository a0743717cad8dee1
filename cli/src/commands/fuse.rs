//! `dmdprof fuse`: pairs of functions that pass bytes to each other.

use clap::Args;

use super::estimate::{MachineArgs, ProfileArgs, WorkArgs};
use super::print::LookArgs;
use crate::estimate::fuse::{self, Options};

/// Rank pairs of functions by bytes that pass between them
///
/// Needs a profile made with `dmdprof run --flows`. With machines: the time that fusing the two would save.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct FuseArgs {
    #[command(flatten)]
    pub profile: ProfileArgs,

    #[command(flatten)]
    pub machine: MachineArgs,

    #[command(flatten)]
    pub work: WorkArgs,

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
    let profile = args.profile.read()?;
    let machines = args.machine.named()?;
    let only = args.profile.subjects(&profile, false)?;
    let options = Options {
        choice: args.machine.choice(),
        work: args.work.work,
        top: args.look.top(),
        only: (!args.profile.function.is_empty()).then(|| only.functions.into_iter().map(|s| s.name).collect()),
    };
    let document = fuse::document(&profile, args.profile.grouping(), &machines, &options)?;
    args.look.print(&document)
}
