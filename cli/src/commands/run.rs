//! `dmdprof run`: profiles a program and reports.
//!
//! Builds the program first if it is a source file, starts it, lets the engine follow it, writes the profile, prints
//! the report, and ends with the program's own exit code.

use std::{ffi::OsString, path::PathBuf, time::Instant};

use clap::Args;
use dmdprof_runtime::abi::channel_mode;

use super::{
    sampled::{self, Sampled},
    twin,
};
use crate::{
    driver::Model,
    measure::{
        analysis::{AnalysisArgs, Origin},
        follow::{Followed, SourceArgs, command_text, follow},
        rules,
        trace_file::TraceFile,
    },
    profile::model::{Outcome, Random},
    sample::{Drawn, args::RunSampleArgs},
    shared::printable,
};

/// Profile a program, or a source file that it builds first
///
/// The program keeps its standard input, output and error, its directory and its environment. Everything after its name
/// belongs to it. The exit code is the program's own (128 + N if signal N ended it; 127 if it is not found, 126 if it
/// cannot be executed).
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    #[command(flatten)]
    pub analysis: AnalysisArgs,

    #[command(flatten)]
    pub sample: RunSampleArgs,

    /// Also write what the program did to FILE, for `dmdprof replay`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["discard", "sample", "budget"])]
    pub keep_trace: Option<PathBuf>,

    /// Run with hooks but throw the records away: what the hooks alone cost. Writes no profile
    #[arg(long)]
    pub discard: bool,

    /// Save what the program declares with dmdprof_output in FILE: for each call the number of bytes as 8 bytes, low
    /// first, then the bytes
    #[arg(long, value_name = "FILE")]
    pub save_outputs: Option<PathBuf>,

    /// With --cycles: the program as it is without hooks, which the core follows
    #[arg(long, value_name = "PROGRAM", requires = "cycles")]
    pub native: Option<PathBuf>,

    #[command(flatten)]
    pub source: SourceArgs,

    /// The program and its arguments, or a source file (.c .cc .cpp .cxx .rs .ll .bc) and the program's arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof run examples/matmul.rs            build a source file with hooks, run it, report
  dmdprof cc -O2 kernel.c -o kernel && dmdprof run ./kernel 500
  dmdprof run --roi 'solve*' ./app input    count only below functions named solve...
  dmdprof run --lines-only ./app            what lines move, without ByteDMD, much faster
  dmdprof run --cache 32KiB,8,64 ./app      a cache of 8 ways, and what it loses by conflicts
  dmdprof run --cache zen2-7452-core ./app  the caches of a machine whose file states ways
  dmdprof run --sample ./app                fast: estimates with intervals, of a program built with --dmdprof-sample
  dmdprof run --budget 6x ./app             the same from a denser sample, for six times as long as a native run
  dmdprof run --threads shared --levels ./app    one stack for all threads, and one of each alone: then dmdprof roofline
  dmdprof run --liveness exact ./app        without bytes that nobody reads again, and what those cost
  dmdprof run --optimum ./app               the least that memories could fetch, beside LRU, by function
  dmdprof run -q -o new.data ./app && dmdprof report new.data --lines";

/// Runs the command and returns the exit code.
///
/// # Errors
/// When the program cannot be built, followed or reported; problems of starting it have exit codes of their own.
pub fn command(args: &RunArgs) -> anyhow::Result<i32> {
    let Ran { code, result } = run(args)?;
    result.map(|_| code)
}

/// A program that was run.
pub struct Ran {
    pub code: i32,
    /// Where the result was written, if all could be made and written.
    pub result: anyhow::Result<PathBuf>,
}

/// Runs the program.
///
/// # Errors
/// As [`command`], up to the end of the program.
pub fn run(args: &RunArgs) -> anyhow::Result<Ran> {
    let mut options = args.analysis.options(sampled::driver(args.sample.are_given()))?;
    args.sample.apply(&mut options).map_err(rules::refuse)?;
    if options.filtered {
        options.contexts = sampled::needs_contexts(&args.analysis);
    }
    if !args.discard {
        args.analysis.check_output()?;
    }
    let trace = args.keep_trace.as_deref().map(|path| TraceFile::create(path, &args.command)).transpose()?;
    options.trace = trace.as_ref().map(TraceFile::sink);
    options.outputs.clone_from(&args.save_outputs);
    let started = Instant::now();
    options.analyse &= !args.discard;
    let mode = if args.discard { channel_mode::DISCARD } else { channel_mode::ANALYSE };
    let model = if options.filtered { Model::Sampled } else { args.analysis.measure.stack.model.into() };
    let followed = follow(&args.command, &args.source, mode, &options, model)?;
    let followed = match followed {
        Ok(followed) => followed,
        Err(error) => {
            printable::say(&error);
            return Ok(Ran { code: error.exit_code(), result: Ok(args.analysis.results.output.clone()) });
        }
    };
    let code = followed.ending.exit_code();
    let result = if args.discard {
        outputs_saved(followed.outputs_lost).map(|()| args.analysis.results.output.clone())
    } else {
        finish(args, followed, trace, started)
    };
    Ok(Ran { code, result })
}

fn finish(args: &RunArgs, followed: Followed, trace: Option<TraceFile>, started: Instant) -> anyhow::Result<PathBuf> {
    let Followed { ending, measurement, engine_peak, outputs_lost, random_requests, missing, is_emulated } = followed;
    let recorded = trace.map_or(Ok(()), |trace| trace.finish(ending, &measurement));
    // What a signal ended would not end otherwise without hooks.
    let is_whole = matches!(ending.outcome(), Outcome::Exited(_));
    let cores = args.analysis.measure.cycles.as_ref().filter(|_| !is_emulated && is_whole);
    let twin = cores
        .map(|cores| twin::measure(&args.command, args.native.as_deref(), &args.source.build.level, cores))
        .transpose()?;
    let origin = Origin {
        command: command_text(&args.command),
        outcome: ending.outcome(),
        incomplete: missing,
        random: Random { requests: random_requests.into(), fixed: args.source.deterministic.deterministic },
        twin,
    };
    let written = if let Some(design) = measurement.sample {
        let measurement = &measurement;
        let run = Sampled { measurement, origin, design, drawn: Drawn::ByProgram, started, engine_peak };
        sampled::finish(&args.analysis, run)?
    } else {
        if args.sample.are_given() {
            sampled::note_exact(&measurement);
        }
        args.analysis.finish(measurement, origin, started, engine_peak)?;
        args.analysis.results.output.clone()
    };
    recorded?;
    outputs_saved(outputs_lost)?;
    Ok(written)
}

fn outputs_saved(lost: u32) -> anyhow::Result<()> {
    anyhow::ensure!(
        lost == 0,
        "{lost} of the declared outputs could not be saved: the disk is full, the declared bytes cannot be read, or the program may \
         not open files any more"
    );
    Ok(())
}
