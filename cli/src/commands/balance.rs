//! `dmdprof balance`: whether machine and program suit each other.

use clap::Args;

use super::estimate::EstimateArgs;
use super::print::LookArgs;
use crate::estimate::balance::{self, MatmulTag, Options};
use crate::machine::find::{Places, all};

/// Compare work, traffic and longest chain with a machine's rates
///
/// Compare a program's work, traffic and longest chain with a machine's rates, latency and cores. Four factors side by
/// side, the largest obstacle, the number of cores from which the longest chain or memory binds, and, with growth
/// rates, when the program becomes memory-bound. The longest chain is known from profiles of `--model values`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct BalanceArgs {
    #[command(flatten)]
    pub of: EstimateArgs,

    /// FUNCTION=N or FUNCTION=M,N,K, and :BYTES per element: compare with the least traffic of a matrix product; may be
    /// repeated
    #[arg(long, value_name = "TAG")]
    pub matmul: Vec<MatmulTag>,

    /// Growth rates of this machine for those that state none
    #[arg(long, value_name = "NAME")]
    pub growth: Option<String>,

    #[command(flatten)]
    pub look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof balance --machine fermi-c2050
  dmdprof balance --machine local --growth fermi-c2050
  dmdprof balance --machine fermi-c2050 --matmul multiply=512:8";

/// Prints the comparison.
///
/// # Errors
/// Whatever cannot be read, found or estimated.
pub fn command(args: &BalanceArgs) -> anyhow::Result<()> {
    let profile = args.of.profile.read()?;
    let machines = args.of.machine.machines()?;
    let subjects = args.of.profile.subjects(&profile, false)?;
    let growth = match &args.growth {
        None => None,
        Some(name) => all(&Places::from_env(), std::slice::from_ref(name))?.pop(),
    };
    if let Some(machine) = growth.as_ref().filter(|m| m.growth.is_none()) {
        anyhow::bail!("machine {} states no growth rates", machine.name);
    }
    let options = Options {
        choice: args.of.machine.choice(),
        work: args.of.work.work,
        top: args.look.top(),
        matmuls: args.matmul.clone(),
        growth,
    };
    let document = balance::document(&profile, &subjects, &machines, &options)?;
    args.look.print(&document)
}
