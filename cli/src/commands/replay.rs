//! `dmdprof replay`: analyses a recorded run as `dmdprof run` would have.

use std::{
    fs::File,
    io::{BufReader, ErrorKind},
    path::PathBuf,
    time::Instant,
};

use anyhow::Context;
use clap::Args;
use dmdprof_runtime::{
    session::{self, Replayed},
    trace::{End, TraceReader},
};

use super::record::DEFAULT_TRACE;
use crate::{
    analysis::{AnalysisArgs, Origin},
    profile::model::Outcome,
};

/// Analyse a trace of `dmdprof record`: writes the profile and the report that `dmdprof run` would have
///
/// The recorded program and its libraries must be where they were, unchanged: source positions are in them. A trace that was
/// cut off is analysed up to there, with a warning, and the profile says that it is incomplete.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub analysis: AnalysisArgs,

    /// The trace to analyse
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub trace: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof replay                                  analyse dmdprof.trace
  dmdprof replay --liveness none -o none.data     the same run with another liveness
  dmdprof replay -q --line 64 app.trace           64-byte lines, profile only";

/// Runs the command.
///
/// # Errors
/// When the trace cannot be read or does not fit the programs that are there, or as `dmdprof run`.
pub fn command(args: &ReplayArgs) -> anyhow::Result<()> {
    let options = args.analysis.options()?;
    args.analysis.check_output()?;
    let name = args.trace.display();
    let file = File::open(&args.trace).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::NotFound => "make one with `dmdprof record PROGRAM`, or name the file",
            _ => "name a readable trace",
        };
        anyhow::anyhow!("cannot open trace {name}: {error}\n  {advice}")
    })?;
    let started = Instant::now();
    let mut reader = TraceReader::new(BufReader::with_capacity(1 << 18, file)).with_context(|| name.to_string())?;
    let command = reader.start().command.clone();
    let Replayed { measurement, end, cut_at, engine_peak } =
        session::replay(&mut reader, &options).with_context(|| name.to_string())?;
    let incomplete = cut_at.map(|at| {
        eprintln!("dmdprof: warning: {name} was cut off at byte {at}; what follows is the run up to there");
        "the trace was cut off; the numbers are those up to there".to_string()
    });
    let origin = Origin {
        command,
        outcome: outcome(end.as_ref()),
        incomplete,
        random: crate::profile::model::Random::default(),
    };
    args.analysis.finish(measurement, origin, started, engine_peak)
}

fn outcome(end: Option<&End>) -> Outcome {
    match end {
        None => Outcome::Unknown,
        Some(End { signal: Some(signal), .. }) => Outcome::Signaled(*signal),
        Some(End { code, .. }) => Outcome::Exited(code.unwrap_or(0)),
    }
}
