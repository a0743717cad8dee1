//! `dmdprof run`: profiles a program and reports.
//!
//! Builds the program first if it is a source file, starts it, lets the engine follow it, writes the profile, prints
//! the report, and ends with the program's own exit code.

use std::{
    ffi::OsString,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use dmdprof_runtime::abi::channel_mode;

use super::{
    sampled::{self, Sampled},
    twin::{self, Twin, Typed, Wish},
};
use crate::{
    clock::Clock,
    driver::Model,
    measure::{
        analysis::{AnalysisArgs, Origin},
        follow::{Followed, SourceArgs, command_text, follow},
        progress::Known,
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
    /// --dmdprof-twin makes it, or --native names it. It runs until there are a thousand samples or ten seconds have
    /// passed, at least once; what it prints is thrown away. Where there is a twin for nothing (source files, programs
    /// built with --dmdprof-twin), a clock of about one second comes without this option.
    #[arg(long, conflicts_with_all = ["discard", "sample", "budget"])]
    pub clock: bool,

    /// Leave out the clock that comes by itself: the program runs once
    #[arg(long, conflicts_with = "clock")]
    pub no_clock: bool,

    /// With --cycles or --clock: the same program built without hooks [default: the one made by --dmdprof-twin]
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
    let clock = wish(args);
    check(args, clock)?;
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
    let followed = follow(&args.command, &args.source, mode, &options, model, &known(args))?;
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
        finish(args, clock, followed, trace, started)
    };
    Ok(Ran { code, result })
}

/// What takes less time than most of what a run may measure.
const FASTER: &str =
    "--lines-only takes two thirds of the time in the mean, and --sample three times as long as the program alone";

/// What is known of a run before it begins.
fn known(args: &RunArgs) -> Known {
    let AnalysisArgs { results, measure, .. } = &args.analysis;
    let is_whole = measure.stack.model == ModelArg::Memory && !args.discard && !args.sample.are_given();
    Known {
        before: is_whole.then(|| (results.output.clone(), command_text(&args.command))),
        // Lines alone have no flows.
        advice: Some(FASTER).filter(|_| is_whole && !measure.stack.lines_only && !measure.flows),
    }
}

const NOT_OF_VALUES: &str = "--clock has no column in the values model, whose report is of instructions";
const NOT_OF_REGIONS: &str = "--clock samples the whole program; leave --roi out, and read its functions in the report";

/// Whether a clock is wanted.
fn wish(args: &RunArgs) -> Wish {
    let stack = &args.analysis.measure.stack;
    let is_excluded = stack.model == ModelArg::Values || stack.roi.is_some();
    match args {
        RunArgs { clock: true, .. } => Wish::Asked,
        RunArgs { no_clock: true, .. } | RunArgs { discard: true, .. } => Wish::No,
        _ if is_excluded || args.sample.are_given() || args.analysis.measure.cycles_only => Wish::No,
        _ => Wish::unasked(&args.command, &args.source),
    }
}

/// Whether the program without hooks, which cores and a clock go by, will be there.
fn check(args: &RunArgs, clock: Wish) -> anyhow::Result<()> {
    let measure = &args.analysis.measure;
    let refused = [
        (args.clock && measure.stack.model == ModelArg::Values, NOT_OF_VALUES),
        (args.clock && measure.stack.roi.is_some(), NOT_OF_REGIONS),
        (
            args.native.is_some() && clock == Wish::No && measure.cycles.is_none(),
            "--native names the program that --cycles follows and --clock samples; add one of them",
        ),
    ];
    if let Some((_, why)) = refused.into_iter().find(|(is_so, _)| *is_so) {
        rules::refuse(why);
    }
    let is_needed = clock == Wish::Asked || measure.cycles.is_some();
    if is_needed { twin::check(typed(args, clock)) } else { Ok(()) }
}

fn finish(
    args: &RunArgs,
    clock: Wish,
    followed: Followed,
    trace: Option<TraceFile>,
    started: Instant,
) -> anyhow::Result<PathBuf> {
    let recorded = trace.map_or(Ok(()), |trace| trace.finish(followed.ending, &followed.measurement));
    let (twin, clock) = without_hooks(args, clock, &followed, started.elapsed())?;
    let Followed { ending, measurement, engine_peak, outputs_lost, random_requests, missing, .. } = followed;
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

fn typed(args: &RunArgs, clock: Wish) -> Typed<'_> {
    let RunArgs { command, native, source, .. } = args;
    Typed { command, native: native.as_deref(), source, clock }
}

/// What cores and a clock say of the program without hooks. A clock that fails is an error of its own, and none if
/// nobody asked for it.
fn without_hooks(
    args: &RunArgs,
    clock: Wish,
    followed: &Followed,
    counted: Duration,
) -> anyhow::Result<(Option<Profile>, anyhow::Result<Option<Clock>>)> {
    // What a signal ended would not end otherwise without hooks.
    let is_whole = matches!(followed.ending.outcome(), Outcome::Exited(_));
    let cores = args.analysis.measure.cycles.as_ref().filter(|_| !followed.is_emulated && is_whole);
    if clock == Wish::Asked && !is_whole {
        eprintln!("dmdprof: note: --clock does not run a program again that a signal ended");
    }
    let is_wanted = is_whole && (clock == Wish::Asked || clock == Wish::Unasked && !followed.is_interrupted);
    if cores.is_none() && !is_wanted {
        return Ok((None, Ok(None)));
    }
    let typed = typed(args, clock);
    let sampled = |program: &Twin| if is_wanted { program.clock(typed, counted).map(Some) } else { Ok(None) };
    let (cycles, clocked) = match Twin::of(typed, followed.is_emulated) {
        Ok(program) => (cores.map(|cores| program.cycles(typed, cores)).transpose()?, sampled(&program)),
        Err(why) if cores.is_none() => (None, Err(why)),
        Err(why) => return Err(why),
    };
    match clocked {
        Err(why) if clock == Wish::Unasked => {
            twin::note(format_args!("{why:#}"));
            Ok((cycles, Ok(None)))
        }
        clocked => Ok((cycles, clocked)),
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
