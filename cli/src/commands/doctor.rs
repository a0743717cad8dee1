//! `dmdprof doctor`: what this machine has and lacks, as a table or JSON.

use clap::Args;
use dmdprof_instrument::llvm;

use super::print::ToArgs;
use crate::{
    driver::doctor::{diagnose, table},
    emulator::Emulator,
};

/// Check that everything dmdprof needs is there
///
/// Exit code: 0 when programs can be built with hooks and run, 1 otherwise. What only some uses need is a note.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    /// Width of the table in columns [default: the terminal's; a line per check in files and pipes]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..))]
    pub width: Option<u16>,

    #[command(flatten)]
    pub to: ToArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof doctor
  dmdprof doctor --format json | jq '.checks[] | select(.status != \"ok\")'";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people: what was found, then what to do
    #[default]
    Table,
    /// For programs: every check with its status and advice
    Json,
}

/// Checks, prints, and gives the exit code.
///
/// # Errors
/// When it cannot be written.
pub fn command(args: &DoctorArgs) -> anyhow::Result<i32> {
    let found = llvm::load().map(|found| (found.path, found.version)).map_err(|e| e.to_string());
    let emulator =
        Emulator::of_this_machine().map(|found| format!("QEMU {}", found.version)).map_err(|e| e.to_string());
    let diagnosis = diagnose(found, emulator, llvm::major);
    let text = match args.format {
        Format::Table => table(&diagnosis, args.width.or(args.to.terminal().width)),
        Format::Json => serde_json::to_string_pretty(&diagnosis)?,
    };
    args.to.write(|out| writeln!(out, "{text}"))?;
    Ok(i32::from(!diagnosis.ok))
}
