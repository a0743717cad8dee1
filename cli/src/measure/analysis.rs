//! What `run` and `replay` have in common: the options of an analysis, and what happens to its result.
//!
//! Takes a measurement, writes the profile, prints the report. Refuses combinations of options that mean nothing.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use dmdprof_runtime::{
    decode::roi::RegionOfInterest,
    engine::Isa,
    observe::{caches::Geometry, window},
    oplog::Spool,
    pricing::MODEL_VERSION,
    session::{Measurement, Options, fast_paths::FastPaths},
};

use super::{
    hierarchy::{self, Hierarchy},
    optimum::{self, Capacities},
    roi::Roi,
    threads::ThreadsArgs,
    values::{ModelArg, ValuesArgs, check_measurement},
};
use crate::{
    convert::{self, Beside},
    objects,
    profile::{
        self, Profile,
        model::{Liveness, Meta, Outcome, Random, Unit},
        unseen,
    },
    report::ReportArgs,
    shared::{names, output_file, printable, quantity::parse_small_size, terminal::Terminal},
    view::{Content, page_file},
};

/// How to analyse, and where the results go.
#[derive(Args, Debug)]
pub struct AnalysisArgs {
    /// Profile file to write; an existing one is kept as FILE.old
    #[arg(short, long, value_name = "FILE", default_value = "dmdprof.data")]
    pub output: PathBuf,

    /// What is on the stack
    #[arg(long, value_enum, default_value_t = ModelArg::Memory, value_name = "MODEL")]
    pub model: ModelArg,

    /// When bytes leave the stack [default: hints; the values model is always exact]
    ///
    /// `exact` needs a temporary file while it works: in $TMPDIR if that is set, else beside the profile.
    #[arg(long, value_enum, value_name = "KIND")]
    pub liveness: Option<LivenessArg>,

    #[command(flatten)]
    pub values: ValuesArgs,

    /// Use a stack of lines of N bytes without liveness, to compare with caches (a power of two)
    #[arg(long, value_name = "N", value_parser = parse_line)]
    pub line: Option<u32>,

    /// Also keep a stack of lines of N bytes beside that of bytes: what memories of such lines fetch and write back, at
    /// every capacity (64 is what most processors have); up to four sizes, as in 64,128, of which reports show the
    /// first
    #[arg(long, value_name = "N,...", value_parser = parse_line, value_delimiter = ',', conflicts_with = "line")]
    pub line_size: Vec<u32>,

    /// Also simulate caches of sets and ways: SIZE,WAYS,LINE of the first level, then of those behind it, each with
    /// `,plru` if a tree of bits chooses the line that leaves (else the one used longest ago does); or a machine whose
    /// file states ways, as zen2-7452-core, or zen2-7452-core,plru. Each level holds what those before it hold. Keeps
    /// the stack of lines too, to show what such memories without sets would fetch
    #[arg(long, value_name = "LEVELS|MACHINE", value_parser = hierarchy::parse, conflicts_with = "line")]
    pub cache: Option<Hierarchy>,

    /// Also find the fewest bytes that memories of these capacities could fetch, beside what LRU fetches: sizes, as in
    /// 32KiB,1MiB, or the levels of a machine, as in zen2-7452-core [without a value: 32KiB,1MiB,32MiB]
    ///
    /// Goes back over the whole run after its end, and forth again. Needs a temporary file while it works: in $TMPDIR
    /// if that is set, else beside the profile.
    #[arg(long, value_name = "SIZE,...|MACHINE", value_parser = optimum::parse, num_args = 0..=1,
          require_equals = true, default_missing_value = optimum::USUAL)]
    pub optimum: Option<Capacities>,

    /// Count only while a function matching GLOB is on the stack, or a region of that name is open
    #[arg(long, value_name = "GLOB")]
    pub roi: Option<String>,

    /// Also measure flows: of every byte read, which access wrote it and which touched it last. Takes 4 bytes of memory
    /// per byte that the program touches
    #[arg(long)]
    pub flows: bool,

    /// With --flows: also keep apart in which calling contexts both ends are. Takes time and memory for each context
    #[arg(long, requires = "flows")]
    pub flow_contexts: bool,

    /// Also list N accesses one by one, from where --roi begins, else from the start, to FILE.window beside the
    /// profile: for the walk on the stack of `dmdprof view --events`. At most 100,000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=window::MOST))]
    pub window: Option<u64>,

    /// Also write down what functions matching GLOB call, in order
    #[arg(long, value_name = "GLOB")]
    pub sequence: Option<String>,

    /// Write the profile but print no report
    #[arg(short, long)]
    pub quiet: bool,

    /// Also write the profile as a page for the browser, with the text of the sources (see `dmdprof view`)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// After the run, print on standard error what it took: accesses, seconds, memory of the engine
    #[arg(long)]
    pub stats: bool,

    /// Analyse without some of the ways that make it fast, and compute a hash over site and depth that none of them
    /// changes; `--stats` prints it
    #[arg(long, value_name = "WAY", value_delimiter = ',', hide = true)]
    pub without: Vec<WayArg>,

    /// Threads that do the analysis [default: the number of processors]
    ///
    /// A long thread of the program is cut into slices, which they analyse side by side; no number depends on that.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub workers: Option<u16>,

    /// Cut each thread of the program into slices of about N accesses, from its first one on, to try that out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), hide = true)]
    pub slice: Option<u64>,

    #[command(flatten)]
    pub threads: ThreadsArgs,

    #[command(flatten)]
    pub report: ReportArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LivenessArg {
    /// Never: the classical stack distance
    None,
    /// On free, scope end and return
    Hints,
    /// When nobody will read them again: sweeps back over the whole run after its end
    Exact,
}

/// A fast way of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WayArg {
    /// Leave out nothing, and compute the hash
    Nothing,
    /// Blocks of iterations of affine runs
    Blocks,
    /// Affine runs
    Runs,
    /// Prepared accesses of plain segments
    Moves,
    /// No work for accesses to the top of the stack
    Skips,
    /// Many accesses at a time
    Batches,
    /// Vectors beyond what every processor has
    Vectors,
    /// Cells of 32 bits
    Narrow,
}

fn fast_paths(without: &[WayArg]) -> FastPaths {
    let has = |way| !without.contains(&way);
    FastPaths {
        isa: (!has(WayArg::Vectors)).then_some(Isa::Portable),
        narrow: has(WayArg::Narrow),
        blocks: has(WayArg::Blocks),
        runs: has(WayArg::Runs),
        batches: has(WayArg::Batches),
        moves: has(WayArg::Moves),
        skips: has(WayArg::Skips),
        hash: !without.is_empty(),
    }
}

/// The hash of depths of all threads, if it was computed.
fn depth_hash(measurement: &Measurement) -> Option<u64> {
    let hashes = measurement.threads.iter().map(|thread| thread.ring.depth_hash);
    hashes.reduce(|all, one| Some(all?.wrapping_add(one?))).flatten()
}

/// The size of a line.
///
/// # Errors
/// What it must be.
pub fn parse_line(text: &str) -> Result<u32, String> {
    match parse_small_size(text) {
        Ok(n) if n.is_power_of_two() && (2..=1 << 20).contains(&n) => Ok(n),
        _ => Err("must be a power of two from 2 to 1048576, as in 64 or 64B".into()),
    }
}

/// Where a run came from and how it ended.
pub struct Origin {
    pub command: Vec<String>,
    pub outcome: Outcome,
    /// Why something is missing.
    pub incomplete: Option<String>,
    pub random: Random,
}

/// The options of an analysis alone.
#[derive(clap::Parser)]
struct Alone {
    #[command(flatten)]
    analysis: AnalysisArgs,
}

impl AnalysisArgs {
    /// What these options mean; they were checked before they were written down.
    #[must_use]
    pub fn of(options: &[String]) -> Self {
        let words = std::iter::once("dmdprof").chain(options.iter().map(String::as_str));
        <Alone as clap::Parser>::parse_from(words).analysis
    }

    /// What the session needs to know.
    ///
    /// # Errors
    /// Options that contradict each other, a bad pattern, or no place for the temporary file.
    pub fn options(&self) -> anyhow::Result<Options> {
        self.check();
        if let Some(note) = self.cache.as_ref().and_then(|cache| cache.note.as_ref()) {
            eprintln!("dmdprof: note: {note}");
        }
        let roi = self.roi.as_deref().map(Roi::new).transpose().context("--roi: not a valid pattern")?;
        let sequence = self.sequence.as_deref().map(Roi::new).transpose().context("--sequence: not a valid pattern")?;
        let is_exact = self.liveness() == LivenessArg::Exact;
        let options = Options {
            hints: self.liveness() != LivenessArg::None,
            line: self.line,
            line_sizes: self.line_sizes(),
            caches: self.levels().to_vec(),
            roi: roi.map(|roi| roi as Arc<dyn RegionOfInterest>),
            together: self.threads.together(self.report.sharing, || self.spool())?,
            workers: self.workers.map_or_else(crate::shared::processors, usize::from),
            slice: self.slice,
            log: if is_exact || self.optimum.is_some() { Some(self.spool()?) } else { None },
            exact: is_exact,
            optimum: self.capacities().to_vec(),
            flows: self.flows,
            flow_contexts: self.flow_contexts,
            sample: None,
            filtered: false,
            contexts: false,
            early: Vec::new(),
            objects: self.report.objects,
            sequence: sequence.map(|chosen| chosen as Arc<dyn RegionOfInterest>),
            window: self.window,
            outputs: None,
            trace: None,
            analyse: true,
            ways: fast_paths(&self.without),
            values: (self.model == ModelArg::Values).then(|| self.values.options()),
            motion: None,
        };
        self.tell_of_one_piece(&options);
        Ok(options)
    }

    /// Says why more workers than one change little, where somebody asked for them.
    fn tell_of_one_piece(&self, options: &Options) {
        let asked = self.workers.is_some_and(|workers| workers > 1) || self.slice.is_some();
        if let Some(option) = options.in_one_piece().filter(|_| asked) {
            eprintln!(
                "dmdprof: note: {option} needs all accesses of a thread in order: that is analysed in one piece, on two \
                 processors at most"
            );
        }
    }

    /// The lines that a stack is kept of: those asked for, else those of the caches.
    fn line_sizes(&self) -> Vec<u32> {
        match &self.cache {
            Some(cache) if self.line_size.is_empty() => vec![cache.line()],
            _ => self.line_size.clone(),
        }
    }

    fn levels(&self) -> &[Geometry] {
        self.cache.as_ref().map_or(&[], |cache| &cache.levels)
    }

    fn capacities(&self) -> &[u64] {
        self.optimum.as_ref().map_or(&[], |capacities| &capacities.0)
    }

    pub fn liveness(&self) -> LivenessArg {
        self.liveness.unwrap_or(LivenessArg::Hints)
    }

    /// Whether the profile could be written now: better to hear it before an hour's run.
    ///
    /// # Errors
    /// Why not.
    pub fn check_output(&self) -> anyhow::Result<()> {
        self.html.as_deref().map_or(Ok(()), page_file::check_output)?;
        let what = || format!("cannot write the profile to {}", self.output.display());
        profile::check_writable(&self.output).with_context(what)
    }

    fn spool(&self) -> anyhow::Result<Arc<Spool>> {
        let directory = std::env::var_os("TMPDIR").filter(|d| !d.is_empty()).map(PathBuf::from);
        let directory = directory.unwrap_or_else(|| directory_of(&self.output).to_path_buf());
        let spool = Spool::create(&directory).with_context(|| {
            format!("cannot make a temporary file in {}; set TMPDIR to another place", directory.display())
        })?;
        Ok(Arc::new(spool))
    }

    fn meta(&self, origin: Origin) -> Meta {
        Meta {
            tool_version: env!("CARGO_PKG_VERSION").into(),
            model: self.model.name(&self.values).into(),
            model_version: MODEL_VERSION,
            liveness: match self.liveness() {
                _ if self.model == ModelArg::Values => Liveness::Exact,
                _ if self.line.is_some() => Liveness::None,
                LivenessArg::None => Liveness::None,
                LivenessArg::Hints => Liveness::Hints,
                LivenessArg::Exact => Liveness::Exact,
            },
            thread_mode: self.threads.mode(),
            unit: self.line.map_or(Unit::Byte, Unit::Line),
            command: origin.command,
            roi: self.roi.clone(),
            outcome: origin.outcome,
            incomplete: origin.incomplete,
            random: origin.random,
            values: (self.model == ModelArg::Values).then(|| self.values.meta()),
        }
    }

    /// What the numbers of a measurement are about, if it has what was asked for. Says what could not be read.
    ///
    /// # Errors
    /// A region of interest that never ran, a program of another model.
    pub fn checked(&self, measurement: &Measurement, origin: Origin) -> anyhow::Result<Meta> {
        for problem in &measurement.unreadable {
            printable::say(format_args!("warning: {problem}"));
        }
        check_measurement(measurement, self.model)?;
        self.threads.check(measurement)?;
        if let Some(pattern) = self.roi.as_deref().filter(|_| !measurement.threads.iter().any(|t| t.ring.roi_seen)) {
            bail!(NoRegion(no_roi_message(pattern, measurement)));
        }
        if let Some(pattern) = self.sequence.as_deref().filter(|_| measurement.sequences.is_empty()) {
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
        origin: Origin,
        started: Instant,
        engine_peak: u64,
    ) -> anyhow::Result<()> {
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
        let optimum = if no_optimum.is_some() || cut_short.is_some() { &[] } else { self.capacities() };
        let beside = Beside { line_sizes: &self.line_sizes(), levels: self.levels(), optimum };
        let mut profile = convert::to_profile(&measurement, meta, beside);
        if self.stats {
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
        self.publish(&mut profile, listing)?;
        if let Some(why) = cut_short {
            bail!("the analysis was cut short, and the profile is marked incomplete: {why}");
        }
        let exact = failed.map(|error| failure(error, "--liveness exact", "the profile has the numbers with hints"));
        let optimum = no_optimum.map(|error| failure(error, "--optimum", "the profile has no least possible fetches"));
        exact.or(optimum).map_or(Ok(()), Err)
    }

    /// Says what is missing in numbers of which no report is printed.
    pub fn tell_gaps(&self, profile: &Profile) {
        let gaps = profile.gaps();
        gaps.iter().filter(|_| self.quiet).for_each(|why| printable::say(format_args!("INCOMPLETE: {why}")));
    }

    /// Writes the window of accesses, if there is one.
    fn listing(&self, measurement: &Measurement) -> anyhow::Result<Option<String>> {
        if self.window.is_none() {
            return Ok(None);
        }
        let from = self.roi.as_deref().map_or_else(|| "the start".to_owned(), |roi| format!("the start of {roi}"));
        let Some(text) = convert::window::listing(measurement, &from) else {
            bail!("the window has no accesses: the analysis ended before it began");
        };
        let mut path = self.output.clone().into_os_string();
        path.push(".window");
        output_file::write(Path::new(&path), &text)
            .with_context(|| format!("cannot write the window of accesses to {}", Path::new(&path).display()))?;
        eprintln!("dmdprof: wrote {}", Path::new(&path).display());
        Ok(Some(text))
    }

    fn publish(&self, profile: &mut Profile, listing: Option<String>) -> anyhow::Result<()> {
        let written = profile::complete(&self.output, profile, convert::hash_sources);
        if !self.quiet {
            std::io::stdout().flush()?;
            objects::print(profile, &self.report.options(Terminal::stdout()))?;
        }
        written?;
        if let Some(path) = &self.html {
            let names = [String::new(), self.output.display().to_string()];
            let content = Content { profile: Some(profile), names, listing, ..Content::default() };
            page_file::write_page(path, &content, &page_file::PageArgs::default().options(None)?)?;
        }
        if !self.quiet && std::io::stderr().is_terminal() {
            eprintln!("dmdprof: profile written to {}", self.output.display());
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

/// The directory that a file is in.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
