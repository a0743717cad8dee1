//! `dmdprof machine`: machines to estimate for. Looks them up and prints them; [`crate::machine`] does the work.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::calibrate;
use super::print::{PrintArgs, ToArgs, WidthArgs};
use crate::machine::report::{self, Look};
use crate::machine::{Places, file, text};
use crate::shared::standard::is_closed_pipe;
use crate::shared::terminal::{FILE_WIDTH, Terminal};

/// Machines to estimate for: list, show, check and measure them
///
/// A machine is a text file with peak rates, caches, bandwidths, floors and energies, each number with its source and
/// how far to trust it. dmdprof ships some; yours are in ~/.config/dmdprof/machines and go before shipped ones of the
/// same name. Fields: docs/machines.md.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct MachineArgs {
    #[command(subcommand)]
    pub command: MachineCommand,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof machine list                           all machines
  dmdprof machine show h100-sxm                  every number with its source, and ridge points
  dmdprof machine show skx-6148 --toml > my.toml a copy to change
  dmdprof machine check my.toml                  is it right?
  dmdprof machine calibrate                      measure this machine; it is then called local";

#[derive(Subcommand, Debug)]
pub enum MachineCommand {
    List(ListArgs),
    Show(ShowArgs),
    Check(CheckArgs),
    Calibrate(calibrate::CalibrateArgs),
}

/// List all machines, shipped and yours
#[derive(Args, Debug)]
#[command(after_help = LIST_EXAMPLES)]
pub struct ListArgs {
    #[command(flatten)]
    pub print: PrintArgs,

    /// Show at most so many machines
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
}

const LIST_EXAMPLES: &str = "\
Examples:
  dmdprof machine list
  dmdprof machine list --format csv -o machines.csv
  dmdprof machine list --format json | jq '.sheets[0].rows[].machine'";

/// Show every number of a machine with its source, and its ridge points
#[derive(Args, Debug)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ShowArgs {
    /// A name, or a file: a path with / or .toml
    #[arg(value_name = "NAME")]
    pub machine: String,

    /// Print a machine file, to copy and change
    #[arg(long, conflicts_with = "format")]
    pub toml: bool,

    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    #[command(flatten)]
    pub width: WidthArgs,

    #[command(flatten)]
    pub to: ToArgs,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  dmdprof machine show h100-sxm
  dmdprof machine show ./my.toml
  dmdprof machine show skx-6148 --toml > my.toml
  dmdprof machine show h200 --format json | jq '.memory.bandwidth.value'";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people: rounded numbers with units
    #[default]
    Table,
    /// For programs: SI units, schema in docs/machine-schema.json
    Json,
}

/// Check machine files
///
/// Prints what is wrong, with file, line and field. Exit code: 0 all files are right (there may be warnings), 1 one is
/// not.
#[derive(Args, Debug)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  dmdprof machine check my.toml
  dmdprof machine check ~/.config/dmdprof/machines/*.toml";

/// Runs the command and returns the exit code.
///
/// # Errors
/// When a machine is not there or its file is wrong, or results cannot be written.
pub fn command(args: &MachineArgs) -> anyhow::Result<i32> {
    let places = Places::from_env();
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match &args.command {
        MachineCommand::List(args) => list(&places, args),
        MachineCommand::Show(args) => show(&places, args),
        MachineCommand::Check(args) => check(args, &mut out),
        MachineCommand::Calibrate(args) => calibrate::command(&places, args, look(), &mut out),
    };
    let flushed = done.and_then(|code| out.flush().map(|()| code).map_err(anyhow::Error::from));
    match flushed {
        Err(error) if is_closed_pipe(&error) => Ok(0),
        result => result,
    }
}

fn look() -> Look {
    let terminal = Terminal::stdout();
    Look { width: terminal.width.unwrap_or(FILE_WIDTH), color: terminal.color }
}

fn list(places: &Places, args: &ListArgs) -> anyhow::Result<i32> {
    let listing = places.all();
    let machines = listing.machines.iter().map(|found| &found.machine);
    args.print.print(&report::list(machines, args.top.map(|n| n as usize)))?;
    for problems in &listing.broken {
        eprintln!("dmdprof: not listed:\n{problems}");
    }
    Ok(0)
}

fn show(places: &Places, args: &ShowArgs) -> anyhow::Result<i32> {
    let found = places.find(&args.machine)?;
    for note in &found.notes {
        eprintln!("dmdprof: note: {note}");
    }
    args.to.write(|out| match args.format {
        _ if args.toml => out.write_all(text::to_toml(&found.machine).as_bytes()),
        Format::Json => writeln!(out, "{:#}", report::to_json(&found.machine)),
        Format::Table => {
            let terminal = args.to.terminal();
            let width = args.width.columns(&terminal).unwrap_or(usize::from(u16::MAX)) as u16;
            report::show(&found.machine, Look { width, color: terminal.color }, out)
        }
    })?;
    Ok(0)
}

fn check(args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<i32> {
    let mut code = 0;
    for path in &args.files {
        match file::read(path) {
            Ok(parsed) => {
                for warning in &parsed.warnings {
                    writeln!(out, "{warning} (warning)")?;
                }
                writeln!(out, "{}: right: machine {}", path.display(), parsed.machine.name)?;
            }
            Err(problems) => {
                writeln!(out, "{problems}")?;
                code = 1;
            }
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    #[command(name = "dmdprof machine")]
    struct Cli {
        #[command(flatten)]
        args: MachineArgs,
    }

    #[test]
    fn help() {
        let mut command = Cli::command().term_width(110);
        command.build();
        let mut texts = vec![command.render_help().to_string()];
        texts.extend(
            command.get_subcommands_mut().filter(|c| c.get_name() != "help").map(|c| c.render_long_help().to_string()),
        );
        insta::assert_snapshot!(texts.join("\n==========\n"));
    }

    #[test]
    fn a_check_says_what_is_wrong_in_each_file_and_fails_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let toy = text::to_toml(&crate::machine::zoo::machine("toy3").expect("shipped"));
        let run = |files: Vec<PathBuf>| {
            let mut out = Vec::new();
            let code = check(&CheckArgs { files }, &mut out).expect("memory");
            (code, String::from_utf8(out).expect("text").replace(&folder.path().display().to_string(), "DIR"))
        };
        let good = write("toy3.toml", &toy);
        assert_eq!(run(vec![good.clone()]), (0, "DIR/toy3.toml: right: machine toy3\n".into()));
        let odd = write("odd.toml", &toy);
        let (code, text) = run(vec![odd]);
        assert!(code == 0 && text.contains("DIR/odd.toml:2: name:") && text.contains("(warning)"), "{text}");
        let bad = write("bad.toml", &toy.replace("512 B", "512 W"));
        let (code, text) = run(vec![bad, good]);
        assert!(
            code == 1 && text.contains("level[2].capacity: \"512 W\" is a power") && text.contains("right"),
            "{text}"
        );
        assert_eq!(run(vec![folder.path().join("none.toml")]).0, 1);
    }
}
