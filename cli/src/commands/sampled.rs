//! What `run --sample` and `replay --sample` have in common: what a sample cannot tell, and how it is printed.

use std::time::Instant;

use anyhow::bail;
use dmdprof_runtime::{observe::sample::Design, session::Measurement};

use super::print::ToArgs;
use crate::{
    convert,
    measure::{
        analysis::{AnalysisArgs, LivenessArg, Origin},
        values::{ModelArg, no_sample_message},
    },
    objects::look,
    sample::{self, Drawn},
    shared::terminal::Terminal,
};

fn refuse(what: &str) -> ! {
    clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, format!("{what}\n")).exit();
}

/// Refuses what a sample cannot tell.
pub fn check(analysis: &AnalysisArgs, drawn: Drawn) {
    if analysis.model != ModelArg::Memory {
        refuse("--sample is about the memory model; values have no addresses");
    }
    if analysis.threads.are_together() || analysis.report.sharing {
        refuse("--sample keeps each thread to itself; leave --threads and --sharing out");
    }
    if analysis.liveness() == LivenessArg::Exact {
        refuse("--sample cannot be combined with --liveness exact: which bytes are dead is known only of whole runs");
    }
    if drawn == Drawn::ByProgram && analysis.roi.is_some() {
        refuse(
            "--sample cannot be combined with --roi: a program that draws a sample does not tell which function called \
             which. Record the run, and sample the recording: dmdprof record ..., dmdprof replay --sample --roi ...",
        );
    }
    if drawn == Drawn::ByProgram && analysis.report.contexts {
        refuse(
            "--sample cannot be combined with --contexts: a program that draws a sample does not tell which function called which",
        );
    }
}

/// A run that was sampled, and how.
pub struct Sampled<'a> {
    pub measurement: &'a Measurement,
    pub origin: Origin,
    pub design: Design,
    pub drawn: Drawn,
    pub started: Instant,
    pub engine_peak: u64,
}

/// Prints the estimates.
///
/// # Errors
/// A program that cannot be sampled, or standard output that cannot be written.
pub fn print(analysis: &AnalysisArgs, run: Sampled<'_>) -> anyhow::Result<()> {
    let Sampled { measurement, origin, design, drawn, started, engine_peak } = run;
    if drawn == Drawn::ByProgram {
        let other = measurement.tables.iter().find(|(_, table)| !table.can_be_sampled());
        if let Some((path, _)) = other {
            bail!(no_sample_message(path));
        }
    }
    let meta = analysis.checked(measurement, origin)?;
    let (profile, cells) = convert::with_sample(measurement, meta, &[], &[]);
    if analysis.stats {
        let (accesses, seconds) = (profile.totals.accesses, started.elapsed().as_secs_f64());
        eprintln!("dmdprof: accesses={accesses} seconds={seconds:.3} engine_peak_bytes={engine_peak}");
    }
    let options = analysis.report.options(Terminal::stdout());
    let document = sample::document(&profile, &cells, (design, drawn), &options);
    ToArgs::default().write(|mut out| document.write(look(&options), &mut out))
}
