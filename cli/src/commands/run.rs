//! `dmdprof run`: profiles a program and reports.
//!
//! Builds the program first if it is a source file, starts it, lets the engine follow it, writes the profile, prints the
//! report, and ends with the program's own exit code.

use std::{
    ffi::OsString,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use dmdprof_instrument::Model;
use dmdprof_runtime::{
    abi::channel_mode,
    pricing::MODEL_VERSION,
    ring::Channel,
    session::{self, Measurement, Options, Progress},
    sites::SiteTable,
};

use super::{
    ModelArg,
    values::{ValuesArgs, check_model},
};
use crate::{
    convert,
    driver::source::{BuiltSource, SourceOptions, build_source, language_of},
    launch::{self, Ending, StartError},
    profile::{
        self, Profile,
        model::{Liveness, Meta, ThreadMode, Unit},
    },
    progress::Display,
    report::{self, ReportArgs, Terminal},
    roi::Roi,
    toolbox,
};

/// Profile a program: build it if it is a source file, run it, report
///
/// The program keeps its standard input, output and error, its directory and its environment. Everything after its name
/// belongs to it. The exit code is the program's own (128 + N if signal N ended it; 127 if it is not found, 126 if it cannot
/// be executed).
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// Profile file to write; an existing one is kept as FILE.old
    #[arg(short, long, value_name = "FILE", default_value = "dmdprof.data")]
    pub output: PathBuf,

    /// What is on the stack
    #[arg(long, value_enum, default_value_t = ModelArg::Memory, value_name = "MODEL")]
    pub model: ModelArg,

    #[command(flatten)]
    pub values: ValuesArgs,

    /// When bytes leave the stack [default: hints; the values model is always exact]
    #[arg(long, value_enum, value_name = "KIND")]
    pub liveness: Option<LivenessArg>,

    /// Use a stack of lines of N bytes without liveness, to compare with caches (a power of two)
    #[arg(long, value_name = "N", value_parser = parse_line)]
    pub line: Option<u32>,

    /// Count only while a function matching GLOB is on the stack, or a region of that name is open
    #[arg(long, value_name = "GLOB")]
    pub roi: Option<String>,

    /// Write the profile but print no report
    #[arg(short, long)]
    pub quiet: bool,

    /// Run with hooks but throw the records away: what the hooks alone cost. Writes no profile
    #[arg(long)]
    pub discard: bool,

    /// After the run, print on standard error what it took: accesses, seconds, memory of the engine
    #[arg(long)]
    pub stats: bool,

    /// Threads that follow the program [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub workers: Option<u16>,

    /// With a source file: optimisation level [default: 2 for C and C++, 3 for Rust]
    #[arg(short = 'O', long = "opt", value_name = "LEVEL")]
    pub opt: Option<String>,

    /// With a source file: write the IR before and after instrumentation into this directory
    #[arg(long, value_name = "DIR")]
    pub dump_ir: Option<PathBuf>,

    #[command(flatten)]
    pub report: ReportArgs,

    /// The program and its arguments, or a source file (.c .cc .cpp .cxx .rs .ll .bc) and the program's arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof run examples/matmul.rs            build a source file with hooks, run it, report
  dmdprof cc -O2 kernel.c -o kernel && dmdprof run ./kernel 500
  dmdprof run --roi 'solve*' ./app input    count only below functions named solve...
  dmdprof run --line 64 ./app               64-byte lines, to compare with a cache
  dmdprof run -q -o new.data ./app && dmdprof report new.data --lines";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LivenessArg {
    /// Never: the classical stack distance
    None,
    /// On free, scope end and return
    Hints,
}

fn parse_line(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(n) if n.is_power_of_two() && (2..=1 << 20).contains(&n) => Ok(n),
        _ => Err("must be a power of two from 2 to 1048576".into()),
    }
}

/// Runs the command and returns the exit code.
///
/// # Errors
/// When the program cannot be built, followed or reported; problems of starting it have exit codes of their own.
pub fn command(args: &RunArgs) -> anyhow::Result<i32> {
    check_options(args)?;
    let roi = args.roi.as_deref().map(Roi::new).transpose().context("--roi: not a valid pattern")?;
    if !args.discard {
        // Better to hear it now than after an hour's run.
        check_writable(&args.output)?;
    }
    let model = args.model.into();
    let target = match prepare(&args.command[0], args.opt.as_deref(), args.dump_ir.as_deref(), model)? {
        Ok(target) => target,
        Err(error) => {
            eprintln!("dmdprof: {error}");
            return Ok(error.exit_code());
        }
    };
    let channel = Channel::create(if args.discard { channel_mode::DISCARD } else { channel_mode::ANALYSE })
        .context("cannot create the shared memory through which the program talks to dmdprof")?;
    let options = Options {
        hints: args.liveness != Some(LivenessArg::None),
        line: args.line,
        roi: roi.map(|r| r as Arc<dyn session::RegionOfInterest>),
        workers: args.workers.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from),
        values: (model == Model::Values).then(|| args.values.options()),
    };
    let started = Instant::now();
    let (ending, measurement, engine_peak) = match follow(&target, &args.command[1..], &channel, &options)? {
        Ok(done) => done,
        Err(error) => {
            eprintln!("dmdprof: {error}");
            return Ok(error.exit_code());
        }
    };
    check_hooks_ran(&channel, &target)?;
    if args.discard {
        return Ok(ending.exit_code());
    }
    for problem in &measurement.unreadable {
        eprintln!("dmdprof: warning: {problem}");
    }
    if let Some(pattern) = args.roi.as_deref().filter(|_| !measurement.threads.iter().any(|t| t.ring.roi_seen)) {
        bail!(no_roi_message(pattern, &measurement));
    }
    if model == Model::Values {
        super::values::check_measurement(&measurement)?;
    }
    let profile = convert::to_profile(&measurement, meta(args, ending));
    if args.stats {
        eprintln!(
            "dmdprof: accesses={} seconds={:.3} engine_peak_bytes={engine_peak} footprint_bytes={}",
            profile.totals.accesses,
            started.elapsed().as_secs_f64(),
            profile.totals.footprint,
        );
    }
    finish(args, &profile)?;
    Ok(ending.exit_code())
}

/// Refuses options that do not go together.
fn check_options(args: &RunArgs) -> anyhow::Result<()> {
    if args.model == ModelArg::Memory {
        if args.values.is_given() {
            bail!("--bytes-per-element and --fma are about values; add --model values");
        }
        return Ok(());
    }
    if args.liveness.is_some() {
        bail!("--liveness is about the memory model; in the values model every value leaves right after its last read");
    }
    if args.line.is_some() {
        bail!("--line is about memory; values have no addresses");
    }
    if args.roi.is_some() {
        bail!("--roi is about the memory model; in the values model declare regions (dmdprof_begin, dmdprof_end)");
    }
    if args.opt.is_some() {
        bail!("-O is about the memory model; in the values model instructions are priced as the source has them");
    }
    Ok(())
}

/// Stops a run in which no hook fired.
///
/// # Errors
/// What to do about it.
pub fn check_hooks_ran(channel: &Channel, target: &Target) -> anyhow::Result<()> {
    if channel.rings_claimed() == 0 {
        bail!(no_hooks_message(&target.program));
    }
    Ok(())
}

/// The executable to start.
pub struct Target {
    program: PathBuf,
    /// Keeps a built program's directory until the run is over.
    _built: Option<BuiltSource>,
    /// The program itself has no hooks; libraries that it loads may.
    preload: bool,
}

/// Finds the program, or builds it from its source.
///
/// # Errors
/// When it cannot be built, or was built for the other model.
pub fn prepare(
    first: &OsString,
    opt: Option<&str>,
    dump_ir: Option<&Path>,
    model: Model,
) -> anyhow::Result<Result<Target, StartError>> {
    let path = Path::new(first);
    if language_of(path).is_some() && path.is_file() {
        let options = SourceOptions { opt: opt.map(str::to_owned), ..SourceOptions::default() };
        let built = build_source(path, &options, &toolbox::toolbox(dump_ir, model))?;
        let program = built.program.clone();
        return Ok(Ok(Target { program, _built: Some(built), preload: false }));
    }
    let program = match launch::find_program(first) {
        Ok(program) => program,
        Err(error) => return Ok(Err(error)),
    };
    check_model(&program, model)?;
    Ok(Ok({
        let has_hooks = SiteTable::read(&program).is_ok_and(|t| !t.functions.is_empty());
        Target { program, _built: None, preload: !has_hooks }
    }))
}

/// Starts the program and follows it to its end; gives what was measured and the most memory that the engines held.
///
/// # Errors
/// When the program is lost track of.
pub fn follow(
    target: &Target,
    arguments: &[OsString],
    channel: &Channel,
    options: &Options,
) -> anyhow::Result<Result<(Ending, Measurement, u64), StartError>> {
    // Ctrl-C reaches the program too; dmdprof stays to report what was measured until then.
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGQUIT] {
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    let (name, value) = channel.env();
    let mut environment = vec![(OsString::from(name), OsString::from(value))];
    let preload = if target.preload { Some(toolbox::preload_library()?) } else { None };
    if let Some(library) = &preload {
        let mut list = library.as_os_str().to_owned();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|o| !o.is_empty()) {
            list.push(":");
            list.push(others);
        }
        environment.push(("LD_PRELOAD".into(), list));
    }
    let running = match launch::start(&target.program, arguments, &environment) {
        Ok(running) => running,
        Err(error) => return Ok(Err(error)),
    };
    let progress = Progress::default();
    let (ending, measurement) = std::thread::scope(|scope| {
        let measured = scope.spawn(|| session::serve(channel, options, &progress));
        let display = Display::start(scope, &progress);
        let ending = running.wait(|| display.program_ended(), || interrupted.load(Ordering::Relaxed));
        progress.end(channel);
        let measured = measured.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        display.finish();
        ending.map(|ending| (ending, measured))
    })
    .context("lost track of the program")?;
    Ok(Ok((ending, measurement, progress.engine_peak.load(Ordering::Relaxed))))
}

fn meta(args: &RunArgs, ending: Ending) -> Meta {
    Meta {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        model: if args.model == ModelArg::Values { "values" } else { "memory" }.into(),
        model_version: MODEL_VERSION,
        liveness: match args.liveness {
            _ if args.model == ModelArg::Values => Liveness::Exact,
            Some(LivenessArg::None) => Liveness::None,
            _ if args.line.is_some() => Liveness::None,
            _ => Liveness::Hints,
        },
        thread_mode: ThreadMode::Private,
        unit: args.line.map_or(Unit::Byte, Unit::Line),
        command: args.command.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
        roi: args.roi.clone(),
        outcome: ending.outcome(),
        values: (args.model == ModelArg::Values).then(|| args.values.meta()),
    }
}

fn finish(args: &RunArgs, profile: &Profile) -> anyhow::Result<()> {
    let written = profile::write(&args.output, profile);
    if !args.quiet {
        std::io::stdout().flush()?;
        report::print(profile, &args.report.options(Terminal::stdout()))?;
    }
    written?;
    if !args.quiet && std::io::stderr().is_terminal() {
        eprintln!("dmdprof: profile written to {}", args.output.display());
    }
    Ok(())
}

/// Whether the profile could be written now.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    anyhow::ensure!(!path.is_dir(), "{} is a directory; name a file with -o", path.display());
    tempfile::tempfile_in(directory)
        .map(drop)
        .with_context(|| format!("cannot write the profile to {}; name another place with -o", path.display()))
}

fn no_hooks_message(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let what = match kind_of(program) {
        Kind::Script => format!("{name} is a script; nothing that it started has hooks"),
        Kind::Builder => format!("{name} builds programs; profile the program that it builds"),
        Kind::Program => format!("{name} has no hooks, and neither has any library that it loaded"),
    };
    format!(
        "{what}, so there is nothing to profile.\nThree ways to put hooks into a program:\n  \
         dmdprof run FILE.c|.cpp|.rs            build one source file and run it\n  \
         dmdprof cc -O2 -g FILES -o PROGRAM     in place of clang (dmdprof c++ for C++)\n  \
         CC='dmdprof cc' CXX='dmdprof c++'      in place of the compiler in make, ./configure and CMake"
    )
}

enum Kind {
    Script,
    Builder,
    Program,
}

fn kind_of(program: &Path) -> Kind {
    let starts_with_interpreter = {
        let mut head = [0; 2];
        use std::io::Read;
        std::fs::File::open(program).and_then(|mut f| f.read_exact(&mut head)).is_ok() && head == *b"#!"
    };
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    if matches!(name.as_ref(), "cargo" | "make" | "gmake" | "ninja" | "cmake" | "rustc" | "gcc" | "clang" | "cc") {
        Kind::Builder
    } else if starts_with_interpreter {
        Kind::Script
    } else {
        Kind::Program
    }
}

/// Names some of the functions that did run, the most called first.
fn no_roi_message(pattern: &str, measurement: &Measurement) -> String {
    let mut calls: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    for context in &measurement.contexts {
        if let Some((table, function)) = context.function {
            let table = &measurement.tables[table as usize].1;
            let name = &table.strings[table.functions[function as usize].name as usize];
            *calls.entry(report::names::demangle(name)).or_default() += 1;
        }
    }
    let some: Vec<&str> = calls.keys().map(String::as_str).take(8).collect();
    format!(
        "--roi {pattern} matched no function that ran and no declared region, so nothing was counted.\n\
         Functions that ran include: {}.\nA pattern may use * and ?, as in '*::solve'; inlined functions are never on the stack",
        some.join(", ")
    )
}
