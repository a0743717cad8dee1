//! `dmdprof place`: which call of a sequence should run on which machine.

use clap::Args;

use super::estimate::{MachineArgs, WorkArgs};
use super::{print::LookArgs, profile::ProfileArg};
use crate::estimate::place::{self, Allow, Options};
use crate::profile;

/// Place a function's calls on the machines where they take least
///
/// Needs a profile made with `dmdprof run --sequence FUNCTION`, and machines that state what launching and moving data
/// in cost ([placement] in their files).
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PlaceArgs {
    #[command(flatten)]
    pub profile: ProfileArg,

    /// Whose calls, if the profile has the sequences of several functions
    #[arg(long, value_name = "FUNCTION")]
    pub sequence: Option<String>,

    /// FUNCTION=NAME[,NAME...]: the only machines that a function may run on; may be repeated
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<Allow>,

    #[command(flatten)]
    pub machine: MachineArgs,

    #[command(flatten)]
    pub work: WorkArgs,

    #[command(flatten)]
    pub look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof run --sequence main ./pipeline
  dmdprof place --machine place-engine,place-gpu,place-cpu --assume-capacity '1 MiB'
  dmdprof place --machine place-engine,place-gpu --assume-capacity '1 MiB' --allow gather=place-gpu";

/// Prints the placement.
///
/// # Errors
/// Whatever cannot be read, found or placed.
pub fn command(args: &PlaceArgs) -> anyhow::Result<()> {
    let profile = profile::read(args.profile.path())?;
    let machines = args.machine.machines()?;
    let options = Options {
        choice: args.machine.choice(),
        work: args.work.work,
        top: args.look.top(),
        sequence: args.sequence.clone(),
        allow: args.allow.clone(),
    };
    let document = place::document(&profile, &machines, &options)?;
    args.look.print(&document)
}
