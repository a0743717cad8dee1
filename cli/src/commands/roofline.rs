//! `dmdprof roofline`: estimated times on machines, and what binds.

use std::path::PathBuf;

use clap::Args;

use super::estimate::{EstimateArgs, PlotArgs};
use super::print::LookArgs;
use crate::estimate::fidelity::Calibration;
use crate::estimate::roofline::{self, Options};
use crate::estimate::times::Times;
use crate::view::{
    Content,
    page_file::{self, PageArgs},
};

/// Estimate times on machines, and say what binds each function
///
/// For each function and the whole program: work by class, traffic on the link into each level of memory, the time of
/// each, the longest of them, and the traffic below which something else binds. Machines with a dispatch floor also get
/// the latency of a call and the least batch; machines with energies the shares of energy.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RooflineArgs {
    #[command(flatten)]
    pub of: EstimateArgs,

    /// Functions with all that they call
    #[arg(long)]
    pub inclusive: bool,

    /// Inputs are not resident: what a function has not touched itself last comes over every link
    ///
    /// What other functions left is known from profiles of `dmdprof run --flows`; else only first touches are fetched.
    #[arg(long, conflicts_with = "inclusive")]
    pub cold: bool,

    /// Measured times to compare with: CSV with the columns name,seconds (see `dmdprof time`)
    #[arg(long, value_name = "FILE")]
    pub times: Option<PathBuf>,

    /// Also correct the estimates by the measured times
    #[arg(long, value_enum, value_name = "HOW", requires = "times")]
    pub calibrate: Option<Calibration>,

    #[command(flatten)]
    pub plot: PlotArgs,

    /// Also write the profile as a page for the browser, with these machines and all others (see `dmdprof view`)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof roofline --machine skx-6148-core
  dmdprof roofline before.data --machine zen2-7452-core,clx-6248-core --function 'solve*'
  dmdprof roofline --machine skx-6148-core --plot --svg roofline.svg
  dmdprof roofline --machine h100-sxm --type fp32 --inclusive
  dmdprof run --flows ./app && dmdprof roofline --machine v100 --cold
  dmdprof run --threads shared --levels ./app && dmdprof roofline --machine zen2-7452
  dmdprof roofline --machine local --times times.csv --calibrate isotonic
  dmdprof roofline --machine skx-6148-core --format json | jq '.sheets[0].rows[0]'";

/// Prints the estimates.
///
/// # Errors
/// Whatever cannot be read, found or estimated.
pub fn command(args: &RooflineArgs) -> anyhow::Result<()> {
    args.html.as_deref().map_or(Ok(()), page_file::check_output)?;
    let profile = args.of.profile.read()?;
    let machines = args.of.machine.machines()?;
    let subjects = args.of.profile.subjects(&profile, args.inclusive)?;
    let subjects = if args.cold { subjects.cold(&profile) } else { subjects };
    let options = Options {
        choice: args.of.machine.choice(),
        work: args.of.work.work,
        inclusive: args.inclusive,
        cold: args.cold,
        top: args.look.top(),
        times: args.times.as_deref().map(Times::read).transpose()?,
        calibration: args.calibrate,
    };
    let (mut document, charts) = roofline::document(&profile, &subjects, &machines, &options)?;
    let names: Vec<&str> = machines.iter().map(|m| m.name.as_str()).collect();
    args.plot.draw(&charts, &names, args.look.print.look(), &mut document)?;
    args.look.print(&document)?;
    let Some(path) = &args.html else { return Ok(()) };
    let names = [String::new(), args.of.profile.profile.path().display().to_string()];
    let content = Content { profile: Some(&profile), names, ..Content::default() };
    let page = PageArgs { machine: args.of.machine.machine.first().cloned(), ..PageArgs::default() };
    page_file::write_page(path, &content, &page.options(Some("roofline"))?)
}
