//! What `run`, `replay` and `merge` have in common: what happens to the result of an analysis.
//!
//! Takes a measurement, writes the profile, prints the report. Refuses measurements without what was
//! asked for.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, bail};
use clap::Args;
use dmdprof_runtime::{
    analysis::{Measurement, Options},
    pricing::MODEL_VERSION,
};

use super::{
    options::{LivenessArg, MeasureArgs, WorkArgs},
    rules::{self, Driver},
    values::{ModelArg, check_measurement},
};
use crate::{
    clock::{self, Clock},
    convert::{self, Beside},
    cores::NamedCore,
    objects,
    profile::{
        self, Profile,
        model::{Liveness, Meta, Outcome, Random, Unit},
        unseen,
    },
    report::ReportArgs,
    shared::{names, output_file, printable, terminal::Terminal},
    view::{Content, page_file},
    why,
};

/// How to analyse, and where the results go.
#[derive(Args, Debug)]
pub struct AnalysisArgs {
    #[command(flatten)]
    pub results: ResultArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    #[command(flatten)]
    pub work: WorkArgs,

    #[command(flatten)]
    pub report: ReportArgs,
}

/// Where the results of an analysis go.
#[derive(Args, Clone, Debug)]
pub struct ResultArgs {
    /// Profile file to write; an existing one is kept as FILE.old
    #[arg(short, long, value_name = "FILE", default_value = "dmdprof.data")]
    pub output: PathBuf,

    /// Write the profile but print no report
    #[arg(short, long)]
    pub quiet: bool,

    /// Also write the page of `dmdprof view`, with the text of the sources
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// After the run, print on standard error what it took: accesses, seconds, memory of the engine
    #[arg(long)]
    pub stats: bool,
}

/// The hash of depths of all threads, if it was computed.
fn depth_hash(measurement: &Measurement) -> Option<u64> {
    let hashes = measurement.threads.iter().map(|thread| thread.ring.depth_hash);
    hashes.reduce(|all, one| Some(all?.wrapping_add(one?))).flatten()
}

/// Where a run came from and how it ended.
pub struct Origin {
    pub command: Vec<String>,
    pub outcome: Outcome,
    /// Why something is missing.
    pub incomplete: Option<String>,
    pub random: Random,
    /// Of the program without hooks, which cores followed in its place.
    pub twin: Option<Profile>,
    /// Samples of the program without hooks.
    pub clock: Option<Clock>,
}

impl AnalysisArgs {
    /// What the analysis needs to know.
    ///
    /// # Errors
    /// A bad pattern, or no place for the temporary file.
    pub fn options(&self, driver: Driver) -> anyhow::Result<Options> {
        self.check(driver);
        self.measure.options(rules::line_sizes(&self.measure, driver), &self.work, &self.results.output)
    }

    /// Ends with a message on options that do not go together.
    pub fn check(&self, driver: Driver) {
        let html = self.results.html.as_ref().map(|_| "--html");
        let (needs_profile, needs_bytes) = (self.report.needs_profile(), self.report.needs_bytes());
        rules::check(&self.measure, driver, html.or(needs_profile), html.or(needs_bytes));
    }

    /// Whether the profile could be written now: better to hear it before an hour's run.
    ///
    /// # Errors
    /// Why not.
    pub fn check_output(&self) -> anyhow::Result<()> {
        self.results.html.as_deref().map_or(Ok(()), page_file::check_output)?;
        let what = || format!("cannot write the profile to {}", self.results.output.display());
        profile::check_writable(&self.results.output).with_context(what)
    }

    fn meta(&self, origin: Origin) -> Meta {
        let stack = &self.measure.stack;
        Meta {
            tool_version: env!("CARGO_PKG_VERSION").into(),
            model: stack.model.name(&stack.values).into(),
            model_version: MODEL_VERSION,
            liveness: match stack.liveness() {
                _ if stack.model == ModelArg::Values => Liveness::Exact,
                _ if stack.lines_only => Liveness::None,
                LivenessArg::None => Liveness::None,
                LivenessArg::Hints => Liveness::Hints,
                LivenessArg::Exact => Liveness::Exact,
            },
            thread_mode: stack.threads.mode(),
            unit: if stack.lines_only { Unit::Lines } else { Unit::Byte },
            command: origin.command,
            roi: stack.roi.clone(),
            outcome: origin.outcome,
            incomplete: origin.incomplete,
            random: origin.random,
            values: (stack.model == ModelArg::Values).then(|| stack.values.meta()),
        }
    }

    /// What the numbers of a measurement are about, if it has what was asked for. Says what could not be read.
    ///
    /// # Errors
    /// A region of interest that never ran, a program of another model.
    pub fn checked(&self, measurement: &Measurement, origin: Origin) -> anyhow::Result<Meta> {
        let stack = &self.measure.stack;
        for problem in &measurement.unreadable {
            printable::say(format_args!("warning: {problem}"));
        }
        check_measurement(measurement, stack.model)?;
        stack.threads.check(measurement)?;
        if let Some(pattern) = stack.roi.as_deref().filter(|_| !measurement.threads.iter().any(|t| t.ring.roi_seen)) {
            bail!(NoRegion(no_roi_message(pattern, measurement)));
        }
        if let Some(pattern) = self.measure.sequence.as_deref().filter(|_| measurement.sequences.is_empty()) {
            bail!(no_sequence_message(pattern, measurement));
        }
        let mut meta = self.meta(origin);
        meta.misses(convert::coverage::before_constructors(measurement));
        if let Some(why) = &measurement.cut_short {
            meta.misses(Some(format!(
                "the analysis was cut short ({why}); the numbers are those up to there, without peak live and footprint"
            )));
        }
        Ok(meta)
    }

    /// Writes the profile and prints the report.
    ///
    /// # Errors
    /// A region of interest that never ran, a profile that cannot be written, and, after the profile is written, an
    /// exact analysis that failed.
    pub fn finish(
        &self,
        mut measurement: Measurement,
        mut origin: Origin,
        started: Instant,
        engine_peak: u64,
    ) -> anyhow::Result<()> {
        let (twin, clock) = (origin.twin.take(), origin.clock.take());
        let mut meta = self.checked(&measurement, origin)?;
        let failed = measurement.failures.exact.take();
        let cut_short = measurement.cut_short.take();
        if let Some(error) = &failed {
            if !measurement.blocks.iter().flat_map(|b| &b.cells).any(|cell| cell.dead.is_some()) {
                meta.liveness = Liveness::Hints;
            }
            let reason = format!("the search for dead bytes failed ({error}); these are the numbers with hints");
            meta.misses(Some(reason));
        }
        let no_optimum = measurement.failures.optimum.take();
        if let Some(error) = &no_optimum {
            meta.misses(Some(format!("the search for the least possible fetches failed ({error}); there are none")));
        }
        let optimum = if no_optimum.is_some() || cut_short.is_some() { &[] } else { self.measure.capacities() };
        // A sample of a run that was too short for one is the run, without lines.
        let mut cells = measurement.blocks.iter().flat_map(|b| &b.cells).peekable();
        let has_lines = cells.peek().is_none() || cells.any(|cell| cell.lines.is_some());
        let line_sizes = if has_lines { rules::line_sizes(&self.measure, Driver::Run) } else { Vec::new() };
        let cores = self.cores();
        let Self { measure, .. } = self;
        let (levels, hazards) = (measure.levels(), measure.hazards);
        let beside = Beside { line_sizes: &line_sizes, levels, optimum, hazards, cores };
        let mut profile = convert::to_profile(&mut measurement, meta, beside);
        self.join(&mut profile, twin.as_ref())?;
        if self.results.stats {
            eprintln!(
                "dmdprof: accesses={} seconds={:.3} engine_peak_bytes={engine_peak} footprint_bytes={} sweep_bytes={} \
                 in_blocks={}{}",
                profile.totals.accesses,
                started.elapsed().as_secs_f64(),
                profile.totals.footprint,
                measurement.threads.iter().map(|t| t.ring.sweep_bytes).max().unwrap_or(0),
                measurement.threads.iter().map(|t| t.ring.in_blocks).sum::<u64>(),
                depth_hash(&measurement).map_or_else(String::new, |hash| format!(" depths={hash:016x}")),
            );
        }
        self.tell_gaps(&profile);
        unseen::warn("", &unseen::sentences(&profile.coverage));
        let listing = self.listing(&measurement)?;
        self.publish(&mut profile, clock, listing)?;
        if let Some(why) = cut_short {
            bail!("the analysis was cut short, and the profile is marked incomplete: {why}");
        }
        let exact = failed.map(|error| failure(error, "--liveness exact", "the profile has the numbers with hints"));
        let optimum = no_optimum.map(|error| failure(error, "--optimum", "the profile has no least possible fetches"));
        exact.or(optimum).map_or(Ok(()), Err)
    }

    /// The cores that follow.
    #[must_use]
    pub fn cores(&self) -> &[NamedCore] {
        self.measure.cycles.as_ref().map_or(&[], |cores| &cores.0)
    }

    /// Joins what was measured of a twin to the profile of a run.
    ///
    /// # Errors
    /// A whole run has no cycles though they were asked for.
    pub fn join(&self, profile: &mut Profile, twin: Option<&Profile>) -> anyhow::Result<()> {
        if let Some(twin) = twin {
            convert::twin::join(profile, twin);
        }
        let has_ended = matches!(profile.meta.outcome, Outcome::Exited(_));
        if self.measure.cycles.is_some() && profile.cycles.is_none() && has_ended {
            bail!("there are no cycles: what was analysed does not say which code ran (`dmdprof run --cycles` has it)");
        }
        Ok(())
    }

    /// Says what is missing in numbers of which no report is printed.
    pub fn tell_gaps(&self, profile: &Profile) {
        let gaps = profile.gaps();
        gaps.iter().filter(|_| self.results.quiet).for_each(|why| printable::say(format_args!("INCOMPLETE: {why}")));
    }

    /// Writes the window of accesses, if there is one.
    fn listing(&self, measurement: &Measurement) -> anyhow::Result<Option<String>> {
        if self.measure.window.is_none() {
            return Ok(None);
        }
        let from = self
            .measure
            .stack
            .roi
            .as_deref()
            .map_or_else(|| "the start".to_owned(), |roi| format!("the start of {roi}"));
        let Some(text) = convert::window::listing(measurement, &from) else {
            bail!("the window has no accesses: the analysis ended before it began");
        };
        let mut path = self.results.output.clone().into_os_string();
        path.push(".window");
        output_file::write(Path::new(&path), &text)
            .with_context(|| format!("cannot write the window of accesses to {}", Path::new(&path).display()))?;
        eprintln!("dmdprof: wrote {}", Path::new(&path).display());
        Ok(Some(text))
    }

    fn publish(&self, profile: &mut Profile, clock: Option<Clock>, listing: Option<String>) -> anyhow::Result<()> {
        let written = profile::complete(&self.results.output, profile, convert::hash_sources).map_err(Into::into);
        let written = written.and_then(|()| clock::file::publish(profile, &self.results.output, clock));
        if !self.results.quiet {
            std::io::stdout().flush()?;
            let mut options = self.report.options(self.measure.subject, Terminal::stdout());
            options.profile.clone_from(&self.results.output);
            options.tries = why::tries(profile);
            objects::print(profile, &options)?;
        }
        written?;
        if let Some(path) = &self.results.html {
            let names = [String::new(), self.results.output.display().to_string()];
            let content = Content { profile: Some(profile), names, listing, ..Content::default() };
            page_file::write_page(path, &content, &page_file::PageArgs::default().options(None)?)?;
        }
        if !self.results.quiet && std::io::stderr().is_terminal() {
            eprintln!("dmdprof: profile written to {}", self.results.output.display());
        }
        Ok(())
    }
}

/// What to say of an option whose further passes failed.
fn failure(error: io::Error, option: &str, instead: &str) -> anyhow::Error {
    let (what, help) = match error.kind() {
        io::ErrorKind::OutOfMemory => ("memory for", ""),
        _ => ("the temporary file of", ". Set TMPDIR to a place with more room"),
    };
    let message = format!("{what} {option} failed; {instead} and is marked incomplete{help}");
    anyhow::Error::new(error).context(message)
}

/// The region of interest never ran.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoRegion(String);

fn no_roi_message(pattern: &str, measurement: &Measurement) -> String {
    format!(
        "--roi {pattern} matched no function that ran and no declared region, so nothing was counted.\n{}",
        functions_that_ran(measurement)
    )
}

fn no_sequence_message(pattern: &str, measurement: &Measurement) -> String {
    format!(
        "--sequence {pattern} matched no function that ran, so there are no calls to write down.\n{}",
        functions_that_ran(measurement)
    )
}

/// Some of them, and how to name them.
fn functions_that_ran(measurement: &Measurement) -> String {
    let mut calls: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    for context in &measurement.contexts {
        if let Some((table, function)) = context.function {
            let table = &measurement.tables[table as usize].1;
            let name = &table.strings[table.functions[function as usize].name as usize];
            *calls.entry(names::demangle(name)).or_default() += 1;
        }
    }
    let some: Vec<&str> = calls.keys().map(String::as_str).take(8).collect();
    format!(
        "Functions that ran include: {}.\nA pattern may use * and ?, as in '*::solve'; inlined functions are never on the stack",
        some.join(", ")
    )
}
