//! `dmdprof time`: how long programs without hooks take.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

use super::print::FormArgs;
use crate::estimate::times;
use crate::measure::follow::command_text;
use crate::measure::program::{LevelArg, Program};
use crate::profile;
use crate::timing::{sheet, stopwatch};

/// Measure how long programs take, without hooks
///
/// Runs each program several times, several in turn, after one turn that does not count. Standard output is thrown away
/// and standard input empty. A source file is built without hooks, by the same compiler and at the same level as
/// `dmdprof run` builds it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct TimeArgs {
    /// Runs of each program that count
    #[arg(short = 'n', long, value_name = "RUNS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// Write the medians to FILE, as CSV for --times: one program alone as (program), several by their names
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Give this file to each run as standard input
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,

    #[command(flatten)]
    pub level: LevelArg,

    #[command(flatten)]
    pub form: FormArgs,

    /// The programs, or source files (.c .cc .cpp .cxx .rs .ll .bc)
    #[arg(required = true, value_name = "PROGRAM")]
    pub programs: Vec<OsString>,

    /// Arguments of every program
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof time kernel.c -o times.csv -- 500
  dmdprof run kernel.c 500 && dmdprof roofline --machine local --times times.csv
  dmdprof time -n 11 ijk.c ikj.c tiled.c -o times.csv -- 500
  dmdprof rank --machine local --times times.csv ijk.c ikj.c tiled.c -- 500";

/// Measures and prints.
///
/// # Errors
/// What cannot be built, started or written, programs that fail, and programs with hooks.
pub fn command(args: &TimeArgs) -> anyhow::Result<()> {
    let names = super::variant_names(&args.programs)?;
    if let Some(path) = &args.output {
        profile::check_writable(path).with_context(|| format!("cannot write times to {}", path.display()))?;
    }
    let targets = args.programs.iter().map(|p| without_hooks(p, &args.level)).collect::<anyhow::Result<Vec<_>>>()?;
    let runner = |(name, target): (&String, &Program)| stopwatch::Runner {
        name: name.clone(),
        program: target.path.clone(),
        arguments: args.arguments.clone(),
        stdin: args.stdin.clone(),
    };
    let runners: Vec<stopwatch::Runner> = names.iter().zip(&targets).map(runner).collect();
    let laps = stopwatch::measure(&runners, args.runs as usize)?;
    let measured: Vec<sheet::Measured> = names.into_iter().zip(laps).collect();
    let command = command_line(args);
    for warning in sheet::warnings(&measured) {
        eprintln!("dmdprof: warning: {warning}");
    }
    if let Some(path) = &args.output {
        let text = times::to_csv(&sheet::times(&measured), &sheet::comments(&measured, &command))?;
        crate::shared::output_file::write(path, text)
            .with_context(|| format!("cannot write times to {}", path.display()))?;
    }
    Ok(sheet::document(&measured, &command).print(args.form.look())?)
}

/// Programs and arguments as typed.
fn command_line(args: &TimeArgs) -> String {
    let mut words = command_text(&args.programs);
    if !args.arguments.is_empty() {
        words.push("--".into());
        words.extend(command_text(&args.arguments));
    }
    words.join(" ")
}

/// Refuses a program that has hooks.
fn without_hooks(typed: &OsString, level: &LevelArg) -> anyhow::Result<Program> {
    let program = level.plain(typed)?;
    if program.has_hooks() {
        bail!(
            "{} has hooks, so its time says nothing; build it without them, or name the source file",
            typed.display()
        );
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    #[command(name = "dmdprof time")]
    struct Cli {
        #[command(flatten)]
        args: TimeArgs,
    }

    #[test]
    fn help() {
        insta::assert_snapshot!(Cli::command().term_width(110).render_long_help());
    }

    #[test]
    fn arguments_follow_two_dashes() {
        let args = Cli::try_parse_from(["time", "-n", "3", "./a", "b.c", "--", "-n", "9"]).expect("valid").args;
        assert_eq!((args.runs, args.programs.len(), args.arguments.len()), (3, 2, 2));
        assert_eq!(command_line(&args), "./a b.c -- -n 9");
        assert!(Cli::try_parse_from(["time", "-n", "0", "./a"]).is_err());
    }
}
