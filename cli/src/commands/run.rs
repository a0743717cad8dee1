//! `dmdprof run`: profiles a program and reports.
//!
//! Builds the program first if it is a source file, starts it, lets the engine follow it, writes the profile, prints
//! the report, and ends with the program's own exit code.

use std::{ffi::OsString, path::PathBuf, time::Instant};

use clap::Args;
use dmdprof_runtime::abi::channel_mode;

use super::{
    sampled::{self, Sampled},
    twin::{self, Twin, Typed},
};
use crate::{
    clock::Clock,
    cores::Cores,
    driver::Model,
    measure::{
        analysis::{AnalysisArgs, Origin},
        follow::{Followed, SourceArgs, command_text, follow},
        rules,
        trace_file::TraceFile,
        values::ModelArg,
    },
    profile::{
        Profile,
        model::{Outcome, Random},
    },
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

    /// Also say where the time goes, by samples of the program without hooks
    ///
    /// It runs natively besides, without emulator. The samples are in a file of their own, FILE.clock, as the profile
    /// is the same in every run.
    ///
    /// Of a source file, the same source without hooks is run after the one with hooks; of another program with hooks,
    /// --native names it. It runs until there are a thousand samples or ten seconds have passed, at least once; what it
    /// prints is thrown away.
    #[arg(long, conflicts_with_all = ["discard", "sample", "budget"])]
    pub clock: bool,

    /// With --cycles or --clock: the same program built without hooks
    #[arg(long, value_name = "PROGRAM")]
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
  dmdprof run --clock kernel.c              where the time goes too: a column beside the counts
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
    check(args)?;
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

/// Whether the program without hooks, which cores and a clock go by, will be there.
fn check(args: &RunArgs) -> anyhow::Result<()> {
    let measure = &args.analysis.measure;
    let refused = [
        (
            args.clock && measure.stack.model == ModelArg::Values,
            "--clock has no column in the values model, whose report is of instructions",
        ),
        (
            args.clock && measure.stack.roi.is_some(),
            "--clock samples the whole program; leave --roi out, and read its functions in the report",
        ),
        (
            args.native.is_some() && !args.clock && measure.cycles.is_none(),
            "--native names the program that --cycles follows and --clock samples; add one of them",
        ),
    ];
    if let Some((_, why)) = refused.into_iter().find(|(is_so, _)| *is_so) {
        rules::refuse(why);
    }
    if args.clock || measure.cycles.is_some() { twin::check(typed(args)) } else { Ok(()) }
}

fn finish(args: &RunArgs, followed: Followed, trace: Option<TraceFile>, started: Instant) -> anyhow::Result<PathBuf> {
    let Followed { ending, measurement, engine_peak, outputs_lost, random_requests, missing, is_emulated } = followed;
    let recorded = trace.map_or(Ok(()), |trace| trace.finish(ending, &measurement));
    // What a signal ended would not end otherwise without hooks.
    let is_whole = matches!(ending.outcome(), Outcome::Exited(_));
    let cores = args.analysis.measure.cycles.as_ref().filter(|_| !is_emulated && is_whole);
    let (twin, clock) = without_hooks(args, cores, is_emulated, is_whole)?;
    // What was counted is worth keeping.
    let (clock, no_clock) = clock.map_or_else(|why| (None, Some(why)), |clock| (clock, None));
    let origin = Origin {
        command: command_text(&args.command),
        outcome: ending.outcome(),
        incomplete: missing,
        random: Random { requests: random_requests.into(), fixed: args.source.deterministic.deterministic },
        twin,
        clock,
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
    no_clock.map_or(Ok(written), Err)
}

fn typed(args: &RunArgs) -> Typed<'_> {
    let RunArgs { command, native, source, clock, .. } = args;
    Typed { command, native: native.as_deref(), source, has_clock: *clock }
}

/// What cores and a clock say of the program without hooks. A clock that fails is an error of its own.
fn without_hooks(
    args: &RunArgs,
    cores: Option<&Cores>,
    is_emulated: bool,
    is_whole: bool,
) -> anyhow::Result<(Option<Profile>, anyhow::Result<Option<Clock>>)> {
    if args.clock && !is_whole {
        eprintln!("dmdprof: note: --clock does not run a program again that a signal ended");
    }
    if !is_whole || cores.is_none() && !args.clock {
        return Ok((None, Ok(None)));
    }
    match Twin::of(typed(args), is_emulated) {
        Ok(program) => {
            let cycles = cores.map(|cores| program.cycles(typed(args), cores)).transpose()?;
            Ok((cycles, args.clock.then(|| program.clock(typed(args))).transpose()))
        }
        Err(why) if cores.is_none() => Ok((None, Err(why))),
        Err(why) => Err(why),
    }
}

fn outputs_saved(lost: u32) -> anyhow::Result<()> {
    anyhow::ensure!(
        lost == 0,
        "{lost} of the declared outputs could not be saved: the disk is full, the declared bytes cannot be read, or the program may \
         not open files any more"
    );
    Ok(())
}
