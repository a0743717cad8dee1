//! `dmdprof record`: runs a program and writes down what its rings carry, to be analysed later.

use std::{ffi::OsString, io::IsTerminal, path::PathBuf, time::Instant};

use clap::Args;
use dmdprof_runtime::{abi::channel_mode, analysis::Options};

use crate::{
    measure::{
        follow::{Followed, SourceArgs, follow},
        progress::PriorRun,
        rules,
        trace_file::TraceFile,
        values::ModelArg,
    },
    shared::{human, printable},
};

/// Where `record` writes and `replay` reads unless told otherwise.
pub const DEFAULT_TRACE: &str = "dmdprof.trace";

/// Write down what a program does, to analyse it later
///
/// The program keeps its standard input, output and error, its directory and its environment. Everything after its name
/// belongs to it. The exit code is the program's own, as with `dmdprof run`; 1 if the trace could not be written. A
/// trace that was cut off (by a full disk, or with dmdprof itself) can be replayed up to there.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RecordArgs {
    /// Trace file to write
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_TRACE)]
    pub output: PathBuf,

    /// After the run, print on standard error what it took: seconds, bytes of the trace
    #[arg(long)]
    pub stats: bool,

    /// The model that the trace is for
    #[arg(long, value_enum, default_value_t = ModelArg::Memory, value_name = "MODEL")]
    pub model: ModelArg,

    /// Refused, with what to do instead
    #[arg(long, value_name = "1/N", num_args = 0..=1, require_equals = true, default_missing_value = "", hide = true)]
    pub sample: Option<String>,

    #[command(flatten)]
    pub source: SourceArgs,

    /// The program and its arguments. A source file must be built first (dmdprof build): the trace is of no use without
    /// its program
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof record ./app input                      record once,
  dmdprof replay                                  report as `dmdprof run` would have,
  dmdprof replay --liveness exact                 or without bytes that nobody reads again
  dmdprof build --loops kernel.c && dmdprof record ./kernel && dmdprof motion dmdprof.trace
  dmdprof record -o big.trace ./app big.txt && dmdprof replay --roi 'solve*' big.trace";

/// Runs the command and returns the exit code.
///
/// # Errors
/// When the program cannot be built or followed, or the trace cannot be written.
pub fn command(args: &RecordArgs) -> anyhow::Result<i32> {
    if args.sample.is_some() {
        rules::refuse(
            "record writes down all that a program does, so that any analysis can be made of it later. Draw a sample of \
             a recording with `dmdprof replay --sample`, or while the program runs with `dmdprof run --sample`, which \
             keeps the estimates in a file",
        );
    }
    let trace = TraceFile::create(&args.output, &args.command)?;
    let options =
        Options { hints: true, workers: crate::shared::processors(), trace: Some(trace.sink()), ..Options::default() };
    let started = Instant::now();
    match follow(&args.command, &args.source, channel_mode::ANALYSE, &options, args.model.into(), &PriorRun::default())?
    {
        Ok(Followed { ending, measurement, missing, .. }) => {
            for problem in &measurement.unreadable {
                printable::say(format_args!("warning: {problem}"));
            }
            if let Some(missing) = missing {
                printable::say(format_args!("INCOMPLETE: {missing}"));
            }
            trace.finish(ending, &measurement)?;
            if std::io::stderr().is_terminal() {
                let (size, path) = (human::bytes(trace.bytes().into()), args.output.display());
                eprintln!("dmdprof: trace written to {path} ({size}); `dmdprof replay {path}` analyses it");
            }
            if args.stats {
                let seconds = started.elapsed().as_secs_f64();
                eprintln!("dmdprof: trace_bytes={} seconds={seconds:.3}", trace.bytes());
            }
            Ok(ending.exit_code())
        }
        Err(error) => {
            printable::say(&error);
            Ok(error.exit_code())
        }
    }
}
