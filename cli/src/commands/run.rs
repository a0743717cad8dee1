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
    cores::{self, Cores},
    driver::Model,
    emulator::Emulator,
    measure::{
        analysis::{AnalysisArgs, Origin},
        follow::{Followed, SourceArgs, command_text, follow, would_be_emulated},
        progress::PriorRun,
        rules,
        trace_file::TraceFile,
        values::ModelArg,
    },
    profile::{
        Profile,
        model::{Outcome, Random},
    },
    sample::{Drawn, args::RunSampleArgs},
    shared::{human, printable},
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
    #[arg(long, conflicts_with = "clock")]
    pub discard: bool,

    /// Save what the program declares with dmdprof_output in FILE: for each call the number of bytes as 8 bytes, low
    /// first, then the bytes
    #[arg(long, value_name = "FILE")]
    pub save_outputs: Option<PathBuf>,

    #[command(flatten)]
    pub beside: BesideArgs,

    /// With --cycles or --clock: the same program built without hooks [default: the one made by --dmdprof-twin]
    #[arg(long, value_name = "PROGRAM")]
    pub native: Option<PathBuf>,

    #[command(flatten)]
    pub source: SourceArgs,

    /// The program and its arguments, or a source file (.c .cc .cpp .cxx .rs .ll .bc) and the program's arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// What the program without hooks says.
#[derive(Args, Clone, Copy, Debug)]
pub struct BesideArgs {
    /// Also say where the time goes, by samples of the program without hooks
    ///
    /// It runs natively besides, without emulator. The samples are in a file of their own, FILE.clock, as the profile
    /// is the same in every run.
    ///
    /// Of a source file, the same source without hooks is run after the one with hooks; of another program with hooks,
    /// --dmdprof-twin makes it, or --native names it. It runs until there are a thousand samples or ten seconds have
    /// passed, at least once; what it prints is thrown away. Where there is a twin for nothing (source files, programs
    /// built with --dmdprof-twin, programs without hooks that do nothing that lasts), a clock of about one second comes
    /// without this option.
    #[arg(long, conflicts_with_all = ["sample", "budget"])]
    pub clock: bool,

    /// Leave out the clock and the cycles that come by themselves: the program runs once
    #[arg(long)]
    pub no_twin: bool,
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
    let wishes = wishes(args);
    check(args, wishes.clock)?;
    let is_emulated = args.sample.are_given() && would_be_emulated(&args.command[0], &args.source);
    let drawn = if is_emulated { Drawn::FromRecording } else { Drawn::ByProgram };
    args.sample.apply(&mut options, drawn).map_err(rules::refuse)?;
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
    let followed = follow(&args.command, &args.source, mode, &options, model, &prior_run(args))?;
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
        finish(args, wishes, followed, trace, drawn, started)
    };
    Ok(Ran { code, result })
}

/// What takes less time than most of what a run may measure.
const FASTER: &str =
    "--lines-only takes two thirds of the time in the mean, and --sample three times as long as the program alone";

/// What is known of a run before it begins.
fn prior_run(args: &RunArgs) -> PriorRun {
    let AnalysisArgs { results, measure, .. } = &args.analysis;
    let is_whole = measure.stack.model == ModelArg::Memory && !args.discard && !args.sample.are_given();
    PriorRun {
        before: is_whole.then(|| (results.output.clone(), command_text(&args.command))),
        // Lines alone have no flows.
        advice: Some(FASTER).filter(|_| is_whole && !measure.stack.lines_only && !measure.flows),
    }
}

const NOT_OF_VALUES: &str = "--clock has no column in the values model, whose report is of instructions";
const NOT_OF_REGIONS: &str = "--clock samples the whole program; leave --roi out, and read its functions in the report";

/// What is wanted of the program without hooks.
#[derive(Clone, Copy)]
struct Wishes {
    clock: Wish,
    cycles: Wish,
}

impl Wishes {
    /// What is left of them when the program has been counted.
    fn after(self, command: &[OsString], followed: &Followed) -> Self {
        // What a signal ended would not end otherwise without hooks.
        let is_whole = matches!(followed.ending.outcome(), Outcome::Exited(_));
        if self.clock == Wish::Asked && !is_whole {
            eprintln!("dmdprof: note: --clock does not run a program again that a signal ended");
        }
        let unasked = [self.clock, self.cycles].into_iter().find(|wish| wish.is_unasked());
        let left = unasked
            .filter(|_| is_whole && !followed.is_interrupted)
            .map_or(Wish::No, |wish| wish.after(command, followed));
        let after = |wish: Wish| match wish {
            Wish::Asked if is_whole => wish,
            Wish::No | Wish::Asked => Wish::No,
            _ => left,
        };
        // Cores follow an emulated program while it is counted.
        Self { clock: after(self.clock), cycles: if followed.is_emulated { Wish::No } else { after(self.cycles) } }
    }
}

fn wishes(args: &RunArgs) -> Wishes {
    let RunArgs { analysis, sample, discard, beside: BesideArgs { clock, no_twin }, .. } = args;
    let measure = &analysis.measure;
    let is_part = measure.stack.model == ModelArg::Values || measure.stack.roi.is_some() || sample.are_given();
    let is_alone = is_part || measure.cycles_only || *discard || *no_twin;
    let has_both = *clock && measure.cycles.is_some();
    let unasked = if is_alone || has_both { Wish::No } else { Wish::unasked(&args.command, &args.source) };
    Wishes {
        clock: if *clock { Wish::Asked } else { unasked },
        cycles: match measure.cycles {
            Some(_) => Wish::Asked,
            // Who leaves out the bytes is in a hurry.
            None if measure.stack.lines_only => Wish::No,
            None => unasked,
        },
    }
}

/// Accesses of a longest run that cores follow without being asked: seconds.
const FEW: u64 = 50_000_000;

/// The core that follows the program, the same on all machines: if it is worth its while and there is an emulator.
fn core_unasked(followed: &Followed) -> Result<Cores, String> {
    let threads = &followed.measurement.threads;
    let accesses: u64 = threads.iter().map(|thread| thread.ring.accesses).sum();
    // How threads wait for each other differs from run to run.
    if threads.len() > 1 {
        return Err(format!("the program has {} threads; --cycles follows them", threads.len()));
    }
    if accesses > FEW {
        return Err(format!("a run of more than {} accesses; --cycles follows any", human::count(FEW.into())));
    }
    Emulator::of_this_machine().map_err(|why| why.to_string())?;
    cores::parse(cores::REFERENCE_CORE)
}

/// Whether the program without hooks, which cores and a clock go by, will be there.
fn check(args: &RunArgs, clock: Wish) -> anyhow::Result<()> {
    let measure = &args.analysis.measure;
    let refused = [
        (args.beside.clock && measure.stack.model == ModelArg::Values, NOT_OF_VALUES),
        (args.beside.clock && measure.stack.roi.is_some(), NOT_OF_REGIONS),
        (
            args.native.is_some() && !matches!(clock, Wish::Asked | Wish::Unasked) && measure.cycles.is_none(),
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
    wishes: Wishes,
    followed: Followed,
    trace: Option<TraceFile>,
    drawn: Drawn,
    started: Instant,
) -> anyhow::Result<PathBuf> {
    let recorded = trace.map_or(Ok(()), |trace| trace.finish(followed.ending, &followed.measurement));
    let (twin, clock) = without_hooks(args, wishes, &followed, started.elapsed())?;
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
        let run = Sampled { measurement, origin, design, drawn, started, engine_peak };
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

/// What cores and a clock say of the program without hooks. A clock that fails is an error of its own, and what nobody
/// asked for is none.
fn without_hooks(
    args: &RunArgs,
    wishes: Wishes,
    followed: &Followed,
    counted: Duration,
) -> anyhow::Result<(Option<Profile>, anyhow::Result<Option<Clock>>)> {
    let wishes = wishes.after(&args.command, followed);
    let (has_clock, has_cycles) = (wishes.clock != Wish::No, wishes.cycles != Wish::No);
    if !has_clock && !has_cycles {
        return Ok((None, Ok(None)));
    }
    let typed = typed(args, wishes.clock);
    let program = match Twin::find_or_build(typed, followed.is_emulated) {
        Ok(program) => program,
        Err(why) if has_cycles && wishes.cycles == Wish::Asked => return Err(why),
        Err(why) => return Ok((None, unasked("clock", wishes.clock, Err(why)))),
    };
    let clock = || unasked("clock", wishes.clock, program.clock(typed, counted).map(Some));
    let clock = if has_clock { clock() } else { Ok(None) };
    let on_cores = || match &args.analysis.measure.cycles {
        Some(cores) => program.cycles(typed, cores),
        None => program.cycles(typed, &core_unasked(followed).map_err(anyhow::Error::msg)?),
    };
    // A program that waits for something was ended by a clock, and would not end for a core; one that a signal ended
    // was interrupted by somebody who does not want to wait.
    let has_ended = matches!(&clock, Ok(Some(clock)) if matches!(clock.runs.outcome, Outcome::Exited(_)));
    let is_worth = has_cycles && (wishes.cycles == Wish::Asked || has_ended);
    let cycles = if is_worth { unasked("cycles", wishes.cycles, on_cores().map(Some))? } else { None };
    Ok((cycles, clock))
}

/// What failed is only told of if nobody asked for it.
fn unasked<T>(what: &str, wish: Wish, found: anyhow::Result<Option<T>>) -> anyhow::Result<Option<T>> {
    match found {
        Err(why) if wish == Wish::Unasked => {
            twin::note(what, format_args!("{why:#}"));
            Ok(None)
        }
        found => found,
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
