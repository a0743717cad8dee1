//! What `run --sample` and `replay --sample` have in common: how estimates are made and printed.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, bail};
use dmdprof_runtime::{analysis::Measurement, observe::sample::Design};

use super::print::ToArgs;
use crate::{
    convert,
    measure::{
        analysis::{AnalysisArgs, Origin},
        rules::Driver,
        values::no_sample_message,
    },
    objects::look,
    profile,
    report::{ReportArgs, SubjectArgs},
    sample::{self, Drawn, Estimates, budget, file},
};

/// Who analyses, by whether a sample was asked for.
#[must_use]
pub fn driver(is_sampled: bool) -> Driver {
    if is_sampled { Driver::Sample } else { Driver::Run }
}

/// Whether a program that draws a sample must tell where functions begin and end.
#[must_use]
pub fn needs_contexts(analysis: &AnalysisArgs) -> bool {
    let report = &analysis.report;
    analysis.measure.stack.roi.is_some() || report.contexts || report.inclusive
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
    let Sampled { measurement, mut origin, design, drawn, started, engine_peak } = run;
    if drawn == Drawn::ByProgram {
        let other = measurement.tables.iter().find(|(_, table)| !table.can_be_sampled());
        if let Some((path, _)) = other {
            bail!(no_sample_message(path));
        }
    }
    let twin = origin.twin.take();
    let meta = analysis.checked(measurement, origin)?;
    let beside = convert::Beside { cores: analysis.cores(), ..convert::Beside::default() };
    let (mut profile, mut cells) = convert::with_sample(measurement, meta, beside);
    analysis.join(&mut profile, twin.as_ref())?;
    // What was not drawn was on no stack.
    profile.has_capacities = false;
    if drawn == Drawn::ByProgram && !needs_contexts(analysis) {
        // Each function stands for itself.
        cells.contexts.clear();
    }
    if analysis.results.stats {
        let (accesses, seconds) = (profile.totals.accesses, started.elapsed().as_secs_f64());
        eprintln!("dmdprof: accesses={accesses} seconds={seconds:.3} engine_peak_bytes={engine_peak}");
    }
    analysis.tell_gaps(&profile);
    let estimates = Estimates { profile, cells, design, drawn };
    let path = file::beside(&analysis.results.output);
    profile::replace(&path, &file::to_bytes(&estimates))
        .with_context(|| format!("the estimates in {}", path.display()))?;
    if !analysis.results.quiet {
        tables(&estimates, &analysis.report, analysis.measure.subject, &ToArgs::default())?;
    }
    Ok(path)
}

/// Prints the tables of estimates.
///
/// # Errors
/// Objects that were not measured, and those of writing.
pub fn tables(estimates: &Estimates, report: &ReportArgs, subject: SubjectArgs, to: &ToArgs) -> anyhow::Result<()> {
    let options = report.options(subject, to.terminal());
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
pub fn check_report(report: &ReportArgs, subject: SubjectArgs, line_size: Option<u32>) -> anyhow::Result<()> {
    let given = report.needs_profile().or(subject.sharing.then_some("--sharing"));
    let given = given.or(line_size.map(|_| "--line-size"));
    given.map_or(Ok(()), |option| bail!("{option} needs a profile, and these are the estimates of a sample"))
}
