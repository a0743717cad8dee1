//! What `run --sample` and `replay --sample` have in common: what a sample cannot tell, and how it is printed.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, bail};
use dmdprof_runtime::{observe::sample::Design, session::Measurement};

use super::print::ToArgs;
use crate::{
    convert,
    measure::{
        analysis::{AnalysisArgs, LivenessArg, Origin},
        values::{ModelArg, no_sample_message},
    },
    objects::look,
    profile,
    report::{ReportArgs, Sort},
    sample::{self, Drawn, Estimates, budget, file},
    shared::terminal::Terminal,
};

/// Ends with a message on options that contradict each other.
pub fn refuse(what: &str) -> ! {
    clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, format!("{what}\n")).exit();
}

/// Refuses what a sample cannot tell.
pub fn check(analysis: &AnalysisArgs) {
    if analysis.model != ModelArg::Memory {
        refuse("--sample is about the memory model; values have no addresses");
    }
    if analysis.threads.are_together() || analysis.report.sharing {
        refuse("--sample keeps each thread to itself; leave --threads and --sharing out");
    }
    if analysis.liveness() == LivenessArg::Exact {
        refuse("--sample cannot be combined with --liveness exact: which bytes are dead is known only of whole runs");
    }
    if analysis.optimum.is_some() {
        refuse("--sample cannot be combined with --optimum: what is read next is known only of whole runs");
    }
}

/// Whether a program that draws a sample must tell where functions begin and end.
#[must_use]
pub fn needs_contexts(analysis: &AnalysisArgs) -> bool {
    analysis.roi.is_some() || analysis.report.contexts || analysis.report.inclusive
}

/// Says that a run was too short for a sample.
pub fn note_exact(measurement: &Measurement) {
    let accesses = measurement.threads.iter().map(|thread| thread.ring.accesses).sum();
    eprintln!("dmdprof: note: {}", budget::exact_note(accesses));
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

/// Writes the estimates to their file, prints them, and gives the path.
///
/// # Errors
/// A program that cannot be sampled, or what cannot be written.
pub fn finish(analysis: &AnalysisArgs, run: Sampled<'_>) -> anyhow::Result<PathBuf> {
    let Sampled { measurement, origin, design, drawn, started, engine_peak } = run;
    if drawn == Drawn::ByProgram {
        let other = measurement.tables.iter().find(|(_, table)| !table.can_be_sampled());
        if let Some((path, _)) = other {
            bail!(no_sample_message(path));
        }
    }
    let meta = analysis.checked(measurement, origin)?;
    let (mut profile, mut cells) = convert::with_sample(measurement, meta, convert::Beside::default());
    // What was not drawn was on no stack.
    profile.has_capacities = false;
    if drawn == Drawn::ByProgram && !needs_contexts(analysis) {
        // Each function stands for itself.
        cells.contexts.clear();
    }
    if analysis.stats {
        let (accesses, seconds) = (profile.totals.accesses, started.elapsed().as_secs_f64());
        eprintln!("dmdprof: accesses={accesses} seconds={seconds:.3} engine_peak_bytes={engine_peak}");
    }
    analysis.tell_gaps(&profile);
    let estimates = Estimates { profile, cells, design, drawn };
    let path = file::beside(&analysis.output);
    profile::replace(&path, &file::to_bytes(&estimates))
        .with_context(|| format!("the estimates in {}", path.display()))?;
    if !analysis.quiet {
        tables(&estimates, &analysis.report, &ToArgs::default())?;
    }
    Ok(path)
}

/// Prints the tables of estimates.
///
/// # Errors
/// Objects that were not measured, and those of writing.
pub fn tables(estimates: &Estimates, report: &ReportArgs, to: &ToArgs) -> anyhow::Result<()> {
    let terminal = if to.output.is_some() { Terminal::default() } else { Terminal::stdout() };
    let options = report.options(terminal);
    if options.objects && estimates.profile.objects.is_none() {
        bail!("the estimates are not by data object: draw the sample with --objects");
    }
    let asked = if options.inclusive { "--inclusive" } else { "--contexts" };
    if (options.inclusive || options.contexts) && estimates.cells.contexts.is_empty() {
        bail!("the estimates do not know which function called which: draw the sample with {asked}");
    }
    let document = sample::document(estimates, &options);
    to.write(|mut out| document.write(look(&options), &mut out))
}

/// Refuses what reports of estimates do not have.
///
/// # Errors
/// What it is.
pub fn check_report(report: &ReportArgs, line_size: Option<u32>) -> anyhow::Result<()> {
    let needs_all = [
        (report.hist, "--hist"),
        (report.by_thread, "--by-thread"),
        (report.fields, "--fields"),
        (report.sharing, "--sharing"),
        (report.sort != Sort::Cost, "--sort"),
        (line_size.is_some(), "--line-size"),
    ];
    let given = needs_all.into_iter().find(|(is_given, _)| *is_given);
    given.map_or(Ok(()), |(_, option)| bail!("{option} needs a profile, and these are the estimates of a sample"))
}
