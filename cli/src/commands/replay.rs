//! `dmdprof replay`: analyses a recorded run as `dmdprof run` would have.

use std::{
    fs::File,
    io::{BufReader, ErrorKind, Read},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;
use clap::Args;
use dmdprof_runtime::{
    analysis::{self, Options, Replayed},
    trace::{End, MAGIC, TraceReader},
};

use super::{
    record::DEFAULT_TRACE,
    sampled::{self, Sampled},
};
use crate::{
    measure::analysis::{AnalysisArgs, Origin},
    profile::model::{Outcome, Random},
    sample::{Drawn, args::SampleArgs},
};

/// Analyse a trace of `dmdprof record`: profile and report
///
/// Analyse a trace of `dmdprof record`: writes the profile and the report that `dmdprof run` would have. The recorded
/// program and its libraries must be where they were, unchanged: source positions are in them. A trace that was cut off
/// is analysed up to there, with a warning, and the profile says that it is incomplete.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub analysis: AnalysisArgs,

    #[command(flatten)]
    pub sample: SampleArgs,

    /// The trace to analyse
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub trace: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof replay                                  analyse dmdprof.trace
  dmdprof replay --liveness none -o none.data     the same run with another liveness
  dmdprof replay --optimum=48KiB,2MiB             the least that memories of these sizes could fetch, beside LRU
  dmdprof replay -q --lines-only app.trace        what lines move, profile only
  dmdprof replay --sample app.trace               estimates with intervals, about twice as fast
  dmdprof replay --sample=1/16 --seed 7 --lines   by line, from another and larger sample";

/// Runs the command.
///
/// # Errors
/// When the trace cannot be read or does not fit the programs that are there, or as `dmdprof run`.
pub fn command(args: &ReplayArgs) -> anyhow::Result<()> {
    let design = args.sample.design();
    let options = Options { sample: design, ..args.analysis.options(sampled::driver(design.is_some()))? };
    args.analysis.check_output()?;
    let started = Instant::now();
    let Recorded { command, replayed } = analyse(&args.trace, &options)?;
    let Replayed { measurement, end, cut_at, engine_peak } = replayed;
    let origin = origin(command, end.as_ref(), cut_at);
    match design {
        None => args.analysis.finish(measurement, origin, started, engine_peak),
        Some(design) => {
            let drawn = Drawn::FromRecording;
            let run = Sampled { measurement: &measurement, origin, design, drawn, started, engine_peak };
            sampled::finish(&args.analysis, run).map(drop)
        }
    }
}

/// A recorded run and what its analysis found.
pub struct Recorded {
    /// The program and its arguments.
    pub command: Vec<String>,
    pub replayed: Replayed,
}

/// Analyses a trace; says so if it was cut off.
///
/// # Errors
/// When the trace cannot be read or does not fit the programs that are there.
pub fn analyse(trace: &Path, options: &Options) -> anyhow::Result<Recorded> {
    let name = trace.display();
    let file = File::open(trace).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::NotFound => "make one with `dmdprof record PROGRAM`, or name the file",
            _ => "name a readable trace",
        };
        anyhow::anyhow!("cannot open trace {name}: {error}\n  {advice}")
    })?;
    let mut reader = TraceReader::new(BufReader::with_capacity(1 << 18, file)).with_context(|| name.to_string())?;
    let command = reader.start().command.clone();
    let replayed = analysis::replay(&mut reader, options).with_context(|| name.to_string())?;
    warn_of_cut(&name.to_string(), replayed.cut_at);
    Ok(Recorded { command, replayed })
}

/// Says that a trace was cut off, if it was.
pub fn warn_of_cut(trace: &str, cut_at: Option<u64>) {
    if let Some(at) = cut_at {
        eprintln!("dmdprof: warning: {trace} was cut off at byte {at}; what follows is the run up to there");
    }
}

/// Whether a file begins as a trace does.
#[must_use]
pub fn is_trace(path: &Path) -> bool {
    let mut head = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == MAGIC
}

/// What the numbers of a trace are about, which may have been cut off.
#[must_use]
pub fn origin(command: Vec<String>, end: Option<&End>, cut_at: Option<u64>) -> Origin {
    let incomplete = cut_at.map(|_| "the trace was cut off; the numbers are those up to there".to_string());
    Origin { command, outcome: outcome(end), incomplete, random: Random::default(), twin: None, clock: None }
}

/// How the recorded program ended.
#[must_use]
pub fn outcome(end: Option<&End>) -> Outcome {
    match end {
        None => Outcome::Unknown,
        Some(End { signal: Some(signal), .. }) => Outcome::Signaled(*signal),
        Some(End { code, .. }) => Outcome::Exited(code.unwrap_or(0)),
    }
}
