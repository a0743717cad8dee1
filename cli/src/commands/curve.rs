//! `dmdprof curve`: traffic at every capacity, and what is read deeper.

use clap::Args;

use super::estimate::{MachineArgs, PlotArgs, ProfileArgs};
use super::print::LookArgs;
use crate::estimate::curve;

/// Show the traffic at every capacity: the miss ratio curve
///
/// Of the program, or of each function that is named: what a memory of each size has to fetch, and what is read from
/// deeper than that. Below each table: whether ByteDMD is the sum over all k of what is read deeper than k^2, as it
/// must be.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CurveArgs {
    #[command(flatten)]
    pub profile: ProfileArgs,

    #[command(flatten)]
    pub machine: MachineArgs,

    #[command(flatten)]
    pub plot: PlotArgs,

    #[command(flatten)]
    pub look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof curve
  dmdprof curve --machine zen2-7452-core,skx-6148-core --plot
  dmdprof curve --function matmul --function transpose before.data
  dmdprof curve --format csv > curve.csv";

/// Prints the curve.
///
/// # Errors
/// Whatever cannot be read or found.
pub fn command(args: &CurveArgs) -> anyhow::Result<()> {
    let profile = args.profile.read()?;
    let machines = args.machine.named()?;
    let subjects = args.profile.subjects(&profile, false)?;
    let (mut document, chart) = curve::document(&profile, &subjects, !args.profile.function.is_empty(), &machines);
    args.plot.draw(&[chart], &[""], args.look.print.look(), &mut document)?;
    args.look.print(&document)
}
