//! Starts a program and follows it to its end, for `run` and `record`.
//!
//! Takes a command line, gives what was measured. Builds the program first if it is a source file. Refuses programs
//! without hooks, with the ways to put some in.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use dmdprof_instrument::Model;
use dmdprof_runtime::{
    analysis::{self, Measurement, Options, Progress},
    ring::{Channel, Loss, Missing, Unmeasured},
    sites::SiteTable,
};

use super::{
    program::{CompileArgs, Program},
    progress::{Display, PriorRun},
    values::check_model,
};
use crate::{
    driver::{scratch::stop_watching, source::is_source},
    emulator::{self, NoEmulator, Start, Tells},
    launch::{self, Ending, StartError},
    shared::{output_file, signals},
    toolbox,
};

/// How to build a program that is a source file, and how to start it.
#[derive(Args, Clone, Debug, Default)]
pub struct SourceArgs {
    #[command(flatten)]
    pub deterministic: DeterministicArgs,

    #[command(flatten)]
    pub build: CompileArgs,

    /// Run the program under QEMU's user emulator, whether it has hooks or not
    ///
    /// It sees every access of any program: of shells and make too, with all that they start. Other programs without
    /// hooks run so by themselves.
    #[arg(long)]
    pub binary: bool,

    /// Run a program without hooks as it is: libraries that it opens and programs that it starts have hooks
    #[arg(long, conflicts_with = "binary")]
    pub no_binary: bool,
}

/// What the system tells programs that differs from run to run.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DeterministicArgs {
    /// Give the program fixed numbers when it asks the system for random ones (getrandom), such as the hash seeds of
    /// Rust's HashMap: the same in every run and every thread
    #[arg(long, env = "DMDPROF_DETERMINISTIC", value_parser = clap::builder::FalseyValueParser::new())]
    pub deterministic: bool,
}

/// A program that has ended.
pub struct Followed {
    pub ending: Ending,
    pub measurement: Measurement,
    /// Most memory that the engines held.
    pub engine_peak: u64,
    /// Declared outputs that were to be saved and could not be.
    pub outputs_lost: u32,
    /// Requests for random numbers from the system.
    pub random_requests: u32,
    /// What is missing in the measurement.
    pub missing: Option<String>,
    /// It ran under the emulator.
    pub is_emulated: bool,
    /// Its first system call with an effect that lasts; known of emulated programs.
    pub lasting: Option<u32>,
    /// Somebody wanted it to end.
    pub is_interrupted: bool,
}

/// Builds if need be, starts, and follows.
///
/// # Errors
/// When the program cannot be built or followed, or has no hooks; problems of starting it are the inner error.
pub fn follow(
    command: &[OsString],
    source: &SourceArgs,
    mode: u32,
    options: &Options,
    model: Model,
    known: &PriorRun,
) -> anyhow::Result<Result<Followed, StartError>> {
    let target = match prepare(&command[0], source, model, options)? {
        Ok(target) => target,
        Err(error) => return Ok(Err(error)),
    };
    let mut channel =
        Channel::create(mode).context("cannot create the shared memory through which the program talks to dmdprof")?;
    if source.deterministic.deterministic {
        channel.fix_random();
    }
    if let (Some(stages), Some(design)) = (options.stages(), options.sample) {
        channel.draw_samples(stages, design.seed, options.contexts);
    }
    if let Some(path) = &options.outputs {
        let file = output_file::create(path).with_context(|| format!("cannot save outputs in {}", path.display()))?;
        channel.save_outputs(file);
    }
    // Without it, only processes that the environment leads to the channel are measured.
    let broker = channel.broker();
    let (ending, is_interrupted, mut measurement, engine_peak) =
        match follow_target(&target, &command[1..], &channel, options, known)? {
            Ok(done) => done,
            Err(error) => return Ok(Err(error)),
        };
    let unmeasured = broker.map(|broker| broker.missing()).unwrap_or_default();
    let missing = missing(&channel.losses(), &unmeasured);
    if channel.rings_claimed() == 0 {
        bail!(nothing_measured(&target, &channel, missing));
    }
    let outputs_lost = channel.finish_outputs().context("cannot end the file of saved outputs")?;
    // As other losses are: the file of a trace or of loops keeps their number, where it has no room for names.
    measurement.refused += unmeasured.values().sum::<u64>();
    let (random_requests, is_emulated) = (channel.random_requests(), matches!(target.how, How::Emulated(_)));
    Ok(Ok(Followed {
        ending,
        measurement,
        engine_peak,
        outputs_lost,
        random_requests,
        missing,
        is_emulated,
        lasting: channel.lasting(),
        is_interrupted,
    }))
}

/// What to start.
struct Target {
    program: Program,
    how: How,
}

/// How the program is run.
enum How {
    /// It has hooks.
    Hooks,
    /// The program itself has no hooks; libraries that it loads and programs that it starts may. Why it is not
    /// emulated.
    Preloaded(Option<NoEmulator>),
    /// Under an emulator.
    Emulated(Start),
}

fn prepare(
    first: &OsString,
    source: &SourceArgs,
    model: Model,
    options: &Options,
) -> anyhow::Result<Result<Target, StartError>> {
    let build = |path: &Path| {
        let built = source.build.build(path, &[], model);
        // While the program runs, an interruption means something else than the end of everything.
        stop_watching();
        built
    };
    let program = match Program::find(first, build) {
        Ok(program) => program,
        Err(error) => return error.downcast().map(Err),
    };
    if program.is_built() {
        return Ok(Ok(Target { program, how: How::Hooks }));
    }
    let table = if source.binary { SiteTable::default() } else { program.sites()? };
    let how = if !table.functions.is_empty() {
        check_model(&program.path, &table, model)?;
        How::Hooks
    } else {
        without_hooks(&program.path, first, source, model, options)?
    };
    Ok(Ok(Target { program, how }))
}

/// Whether a library that a program is linked with has hooks: the dynamic linker says which those are, and does not
/// start the program.
fn libraries_have_hooks(program: &Path) -> bool {
    if emulator::interpreter(program).is_none() || emulator::is_foreign(program) {
        return false;
    }
    let path = std::path::absolute(program).unwrap_or_else(|_| program.to_path_buf());
    let listed = std::process::Command::new(path).env("LD_TRACE_LOADED_OBJECTS", "1").output();
    let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let files = text.lines().filter_map(|line| line.split_once("=> ")?.1.split_once(" (").map(|(file, _)| file));
    files.map(|file| Program::from_path(file.into())).any(|library| library.has_hooks())
}

/// Whether what was typed would run under the emulator, which tells everything.
#[must_use]
pub fn would_be_emulated(first: &OsString, source: &SourceArgs) -> bool {
    let is_program = !is_source(Path::new(first));
    let is_without_hooks =
        |path: PathBuf| !Program::from_path(path.clone()).has_hooks() && is_emulated_unasked(&path, source);
    is_program && (source.binary || launch::find_program(first).is_ok_and(is_without_hooks))
}

/// Whether a program without hooks runs under the emulator though nobody asks for it: not if it is there to start
/// others.
fn is_emulated_unasked(program: &Path, source: &SourceArgs) -> bool {
    let starts_others = match kind_of(program) {
        Kind::Script(interpreter) => launch::is_shell(&interpreter),
        Kind::Builder => true,
        Kind::Program => program.file_name().is_some_and(|name| launch::starts_others(&name.to_string_lossy())),
    };
    !source.no_binary && (!starts_others || emulator::is_foreign(program)) && !libraries_have_hooks(program)
}

/// How a program without hooks is run: under the emulator if there is one, or with the hooks of what it loads.
fn without_hooks(
    program: &Path,
    name: &OsString,
    source: &SourceArgs,
    model: Model,
    options: &Options,
) -> anyhow::Result<How> {
    let asked = source.binary;
    let can_be_emulated = model == Model::Memory;
    if asked && !can_be_emulated {
        bail!("--binary is for the memory model: values and loops need hooks, which only a build puts in");
    }
    let is_emulated = asked || can_be_emulated && is_emulated_unasked(program, source);
    if !is_emulated {
        return Ok(How::Preloaded(None));
    }
    let asked_for = Tells { code: options.cycles.is_some(), lives: options.needs_lives() };
    match emulator::start(program, name, asked_for) {
        Ok(start) => Ok(How::Emulated(start)),
        // What it loads may have hooks.
        Err(error) if !asked && !emulator::is_foreign(program) => Ok(How::Preloaded(error.downcast().ok())),
        Err(error) => Err(error),
    }
}

/// Starts the program and follows it to its end; gives whether somebody wanted that, what was measured and the most
/// memory that the engines held.
fn follow_target(
    target: &Target,
    arguments: &[OsString],
    channel: &Channel,
    options: &Options,
    known: &PriorRun,
) -> anyhow::Result<Result<(Ending, bool, Measurement, u64), StartError>> {
    // Ctrl-C reaches the program too; dmdprof stays to report what was measured until then.
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT] {
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    let (name, value) = channel.env();
    let mut environment = vec![(OsString::from(name), Some(OsString::from(value)))];
    let is_preloaded = matches!(target.how, How::Preloaded(_));
    let preload = if is_preloaded { Some(toolbox::preload_library()?) } else { None };
    let (program, arguments) = match &target.how {
        How::Emulated(start) => (&start.program, &[&start.arguments[..], arguments].concat()[..]),
        _ => (&target.program.path, arguments),
    };
    if let Some(library) = &preload {
        environment.push(("LD_PRELOAD".into(), Some(launch::preload(library))));
    }
    if matches!(target.how, How::Emulated(_)) {
        environment.extend(emulator::own_variables().map(|name| (name, None)));
    }
    let progress = Progress::default();
    let followed = std::thread::scope(|scope| {
        // Before the program starts, which would run for nothing without it.
        let spawned = std::thread::Builder::new().spawn_scoped(scope, || analysis::serve(channel, options, &progress));
        let measured = spawned.context(
            "cannot start the analysis: the system gives dmdprof no thread. Raise the limit on processes (`ulimit -u`, or that of the \
             container)",
        )?;
        let join = || {
            progress.end(channel);
            measured.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let running = match launch::start(program, arguments, &environment, channel.inherited()) {
            Ok(running) => running,
            Err(error) => {
                drop(join());
                return Ok(Err(error));
            }
        };
        let display = Display::start(scope, &progress, known);
        let ending = running.wait(|| display.program_ended(), || interrupted.load(Ordering::Relaxed));
        let measured = join();
        display.finish();
        let ending = ending.context("lost track of the program")?;
        anyhow::Ok(Ok((ending, measured)))
    })?;
    let peak = progress.engine_peak.load(Ordering::Relaxed);
    let is_interrupted = interrupted.load(Ordering::Relaxed) || signals::received().is_some();
    Ok(followed.map(|(ending, measurement)| (ending, is_interrupted, measurement, peak)))
}

/// Says what the measurement does not have; `None` = it is complete.
fn missing(losses: &[Loss], unmeasured: &Missing) -> Option<String> {
    let lost = losses.iter().map(|loss| format!("{} ({} times)", loss.what, loss.times));
    let whys = [Unmeasured::Rights, Unmeasured::Processor, Unmeasured::NoFile];
    let parts: Vec<String> = lost.chain(whys.iter().filter_map(|why| not_measured(*why, unmeasured))).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Programs that were not measured for a reason.
fn not_measured(reason: Unmeasured, unmeasured: &Missing) -> Option<String> {
    let these = unmeasured.iter().filter(|((why, _), _)| *why == reason);
    let names: Vec<String> = these.map(|((_, name), times)| format!("{name} ({times} times)")).collect();
    let what = match reason {
        Unmeasured::Rights => {
            "programs with more rights than their user are not measured, because they must not trust whoever started them"
        }
        Unmeasured::Processor => "programs of processors without an emulator are not measured",
        Unmeasured::NoFile => "programs whose file has no name are not measured",
    };
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}

/// What was run, as text.
pub fn command_text(command: &[OsString]) -> Vec<String> {
    command.iter().map(|a| a.to_string_lossy().into_owned()).collect()
}

/// Why nothing at all was measured.
fn nothing_measured(target: &Target, channel: &Channel, missing: Option<String>) -> anyhow::Error {
    let name = target.program.path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(missing) = missing {
        anyhow!("nothing of {name} was measured: {missing}")
    } else if let How::Preloaded(why) = &target.how {
        let emulated = why.as_ref().map_or_else(String::new, |why| format!("{why}.\n"));
        NoHooks(emulated + &no_hooks_message(&target.program.path)).into()
    } else if matches!(target.how, How::Emulated(_)) {
        anyhow!("the emulator of {name} ended before any instruction of it was seen, so there is nothing to profile")
    } else if channel.processes() > 0 {
        anyhow!("{name} has hooks, but it ended before any function with hooks ran, so there is nothing to profile")
    } else {
        anyhow!(
            "{name} has hooks, but did not reach dmdprof: it ended before its constructors ran, or it can neither open {} nor use \
             descriptor {} (`/proc` is not there, or whatever started it closed its descriptors and put it into namespaces of its \
             own). Keep the descriptor open, give it `/proc`, or start dmdprof inside (`unshare ... dmdprof run ...`)",
            channel.env().1,
            channel.inherited().map_or_else(|| "1000 (`ulimit -n` is below)".to_owned(), |fd| fd.to_string()),
        )
    }
}

/// The program has no hooks.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoHooks(String);

fn no_hooks_message(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let what = match kind_of(program) {
        Kind::Script(interpreter) if launch::is_shell(&interpreter) => {
            format!("{name} is a script; nothing that it started has hooks")
        }
        Kind::Script(interpreter) => {
            format!("{name} is {}; neither {interpreter} nor what it loaded has hooks", launch::a_script(&interpreter))
        }
        Kind::Builder => format!("{name} builds programs; profile the program that it builds"),
        Kind::Program => format!("{name} has no hooks, and neither has any library that it loaded"),
    };
    format!(
        "{what}, so there is nothing to profile.\nFour ways to put hooks into a program:\n  \
         dmdprof run FILE.c|.cpp|.rs            build one source file and run it\n  \
         dmdprof cc -O2 -g FILES -o PROGRAM     in place of clang (dmdprof c++ for C++)\n  \
         CC='dmdprof cc' CXX='dmdprof c++'      in place of the compiler in make, ./configure and CMake\n  \
         dmdprof cargo run|test|bench|build     in place of cargo: whole Rust programs\n\
         Or without any, emulated, with all that it starts:\n  \
         dmdprof run --binary {name}"
    )
}

enum Kind {
    Script(String),
    Builder,
    Program,
}

fn kind_of(program: &Path) -> Kind {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    if matches!(name.as_ref(), "cargo" | "make" | "gmake" | "ninja" | "cmake" | "rustc" | "gcc" | "clang" | "cc") {
        Kind::Builder
    } else if let Some(interpreter) = launch::interpreter(program) {
        Kind::Script(interpreter)
    } else {
        Kind::Program
    }
}
