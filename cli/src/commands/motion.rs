//! `dmdprof motion`: what the iterations of loops bring in, array by array, and the buffers that would help.
//!
//! Builds a source file with marked loops, or takes a program that was compiled with them; or prints again what an
//! earlier run wrote.

use std::{ffi::OsString, path::Path, path::PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use dmdprof_instrument::Model;
use dmdprof_runtime::{
    abi::channel_mode,
    analysis::{Measurement, Options},
    motion::MotionOptions,
    sites::SiteTable,
};

use super::{
    print::{FormArgs, TopArgs},
    replay::{Recorded, analyse, is_trace, outcome},
};
use crate::{
    document::{Document, Format},
    driver::source::{Language, SourceOptions, build_source, language_of},
    measure::follow::{Followed, SourceArgs, command_text, follow},
    measure::progress::PriorRun,
    measure::values,
    motion::{
        convert,
        counts::Policy,
        file,
        model::Motion,
        removed,
        select::select,
        sheet::{self, document},
    },
    profile::{check_writable, model::Outcome},
    shared::{printable, quantity::parse_size},
    toolbox,
    view::{Content, page_file},
};

/// Show what each loop brings in again, and the buffer that ends it
///
/// Show what the iterations of each loop bring in and bring in again, and which buffers would end that. Runs a program
/// whose loops are marked: a source file, which is built for it, or a program compiled with
/// `dmdprof cc --dmdprof-loops`; or analyses a recorded run of one. The result is kept in dmdprof.motion; without a
/// program, that file is printed again. What is measured are the loops of the optimised code, called by their places in
/// the source.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct MotionArgs {
    /// Only this loop: its number (#3), variable (j), line (12), place (kernel.c:12) or function; may be given several
    /// times
    #[arg(short = 'l', long = "loop", value_name = "LOOP")]
    pub loops: Vec<String>,

    /// What is in the buffer when a loop is entered again
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub policy: Policy,

    /// List the elements that each iteration brings in and gives up; for small kernels
    #[arg(long)]
    pub elements: bool,

    /// File to write; an existing one is kept as FILE.old
    #[arg(short, long, value_name = "FILE", default_value = file::DEFAULT_FILE)]
    pub output: PathBuf,

    /// Memory that the analysis of a thread may take for what iterations touched; beyond it, pages of the largest
    /// arrays are sampled
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    pub memory: u64,

    /// Also write all loops as a page for the browser (see `dmdprof view`)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub form: FormArgs,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub source: SourceArgs,

    /// The program and its arguments, or a source file (.c .cc .cpp .cxx .rs .ll .bc) and the program's arguments, or a
    /// file that this command or `dmdprof record` wrote [default: dmdprof.motion]
    #[arg(trailing_var_arg = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof motion kernel.c 100                  build with marked loops, run, report
  dmdprof motion -O 1 --elements conv.c         every iteration of a small kernel
  dmdprof motion -l j --policy reset           loop j of the last run again
  dmdprof cc --dmdprof-loops -O2 -g a.c b.c -o app && dmdprof motion ./app
  dmdprof build --loops kernel.c && dmdprof record ./kernel && dmdprof motion dmdprof.trace
  dmdprof motion --format json > loops.json";

/// Loops that a table shows unless told otherwise.
const MOST_LOOPS: usize = 20;
/// Share of a loop's accesses that an array has that is in the table.
const LEAST_SHARE: f64 = 0.01;
/// Bytes in sets of iterations that are written down with `--elements`.
const MOST_ELEMENT_BYTES: u64 = 1 << 22;

/// Runs the command and returns the exit code: the program's own, if one was run.
///
/// # Errors
/// When the program cannot be built or followed or has no marked loops, when the file cannot be read or written, or
/// when no loop is of a name.
pub fn command(args: &MotionArgs) -> anyhow::Result<i32> {
    args.html.as_deref().map_or(Ok(()), page_file::check_output)?;
    let (motion, code, removed) = match &args.command[..] {
        [] => (file::read(Path::new(file::DEFAULT_FILE))?, 0, None),
        [only] if file::is_motion(Path::new(only)) => (file::read(Path::new(only))?, 0, None),
        [only] if is_trace(Path::new(only)) => (replay(args, Path::new(only))?, 0, None),
        command => match measure(args, command)? {
            Ok(measured) => (measured.motion, measured.code, measured.removed),
            Err(code) => return Ok(code),
        },
    };
    let mut levels: Vec<u32> = Vec::new();
    for word in &args.loops {
        levels.extend(select(&motion, word)?);
    }
    levels.sort_unstable();
    levels.dedup();
    // Whoever names loops wants all of them, and programs that read want everything.
    let brief = args.loops.is_empty() && args.form.format == Format::Table;
    let options = sheet::Options {
        policy: args.policy,
        levels: (!args.loops.is_empty()).then_some(levels),
        top: args.top.rows(args.form.format).or(brief.then_some(MOST_LOOPS)),
        threshold: if brief { LEAST_SHARE } else { 0.0 },
        elements: args.elements,
    };
    let mut found = document(&motion, &options);
    found.notes.extend(removed);
    found.print(args.form.look())?;
    if let Some(path) = &args.html {
        let whole = document(&motion, &whole(args.policy));
        let names = [String::new(), motion.command.join(" ")];
        let content = Content { motion: Some(whole), names, ..Content::default() };
        page_file::write_page(path, &content, &page_file::PageArgs::default().options(Some("motion"))?)?;
    }
    Ok(code)
}

/// What a file that this command wrote says of all loops.
///
/// # Errors
/// When it cannot be read.
pub fn document_of(path: &Path) -> anyhow::Result<Document> {
    Ok(document(&file::read(path)?, &whole(Policy::default())))
}

/// Every loop and array.
fn whole(policy: Policy) -> sheet::Options {
    sheet::Options { policy, levels: None, top: None, threshold: 0.0, elements: false }
}

/// A run that was measured.
struct Measured {
    motion: Motion,
    /// The program's exit code.
    code: i32,
    /// What the optimiser took away.
    removed: Option<String>,
}

/// Runs a program and writes the file; else the exit code of what could not be started, which has been said.
fn measure(args: &MotionArgs, command: &[OsString]) -> anyhow::Result<Result<Measured, i32>> {
    let options = prepare(args)?;
    let followed = follow(command, &args.source, channel_mode::ANALYSE, &options, Model::Loops, &PriorRun::default())?;
    let Followed { ending, measurement, missing, .. } = match followed {
        Ok(followed) => followed,
        Err(error) => {
            printable::say(&error);
            return Ok(Err(error.exit_code()));
        }
    };
    if let Some(missing) = missing {
        printable::say(format_args!("INCOMPLETE: {missing}"));
    }
    let motion = found(args, &measurement, command_text(command), ending.outcome())?;
    let removed = removed_from(Path::new(&command[0]), &args.source, &measurement);
    Ok(Ok(Measured { motion, code: ending.exit_code(), removed }))
}

/// What a C or C++ source has and its optimised program has not. Of Rust, whose loops are iterators until they are
/// optimised, nothing is said.
fn removed_from(source: &Path, args: &SourceArgs, measurement: &Measurement) -> Option<String> {
    let is_c = language_of(source).is_some_and(|language| matches!(language, Language::C | Language::Cxx));
    if !is_c || !source.is_file() || args.build.level.opt.as_deref() == Some("0") {
        return None;
    }
    let options = SourceOptions { opt: Some("0".into()), ..SourceOptions::default() };
    let plain =
        build_source(source, &options, &toolbox::toolbox(None, Model::Loops)).map_err(|error| error.to_string());
    let table = plain.and_then(|built| SiteTable::read(&built.program).map_err(|error| error.to_string()));
    match table {
        Ok(table) => removed::sentence(measurement.tables.iter().map(|(_, table)| &**table), &table),
        Err(why) => Some(format!("What the optimiser took away is not known: {why}.")),
    }
}

/// Analyses a recorded run and writes the file.
fn replay(args: &MotionArgs, trace: &Path) -> anyhow::Result<Motion> {
    let Recorded { command, replayed } = analyse(trace, &prepare(args)?)?;
    found(args, &replayed.measurement, command, outcome(replayed.end.as_ref()))
}

/// What to measure. The file must be writable, so that nobody waits for nothing.
fn prepare(args: &MotionArgs) -> anyhow::Result<Options> {
    check_writable(&args.output).with_context(|| format!("cannot write {}", args.output.display()))?;
    Ok(Options {
        workers: crate::shared::processors(),
        analyse: true,
        motion: Some(MotionOptions { memory: args.memory, elements: args.elements.then_some(MOST_ELEMENT_BYTES) }),
        ..Options::default()
    })
}

/// Writes what was found.
fn found(
    args: &MotionArgs,
    measurement: &Measurement,
    command: Vec<String>,
    outcome: Outcome,
) -> anyhow::Result<Motion> {
    for problem in &measurement.unreadable {
        printable::say(format_args!("warning: {problem}"));
    }
    if !measurement.tables.iter().any(|(_, table)| table.has_loops()) {
        bail!(values::no_loops_message(Path::new(command.first().map_or("the program", String::as_str))));
    }
    let motion = convert::to_motion(measurement, command, outcome);
    file::write(&args.output, &motion)?;
    Ok(motion)
}
