//! What is measured: the options of `run`, `replay`, `cargo`, `slice`, `check`, `bisect` and `rank`, each declared
//! once.
//!
//! Takes words, gives what the analysis needs to know and what the profile says of it. Which of them go together is
//! said in `rules`; refuses bad patterns, and places without room for a temporary file.

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use clap::{Args, ValueEnum};
use dmdprof_runtime::{
    analysis::{Options, fast_paths::FastPaths},
    cycles::{CycleOptions, Windows},
    decode::roi::RegionOfInterest,
    engine::Isa,
    observe::{caches::Geometry, sharing::MOST_LINE, window},
    oplog::Spool,
};

use super::{
    hierarchy::{self, Hierarchy},
    optimum::{self, Capacities},
    roi::Roi,
    threads::ThreadsArgs,
    values::{ModelArg, ValuesArgs},
};
use crate::{
    cores::{self, Cores},
    report::SubjectArgs,
    shared::quantity::parse_small_size,
};

/// The stack: what is on it, when that leaves it, which threads share it, and when it counts.
#[derive(Args, Clone, Debug)]
pub struct StackArgs {
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

    /// Leave out the stack of bytes: no ByteDMD and no depths, in a fraction of the time
    ///
    /// What memories of lines fetch and write back is the same (lines of 64 bytes, unless --line-size says others).
    #[arg(long)]
    pub lines_only: bool,

    /// Keep a stack of lines of N bytes beside that of bytes: what memories of such lines fetch and write back, at
    /// every capacity; up to four sizes, as in 64,128, of which reports show the first [default: 64, where lines can
    /// be measured]
    #[arg(long, value_name = "N,...", value_parser = parse_line, value_delimiter = ',')]
    pub line_size: Vec<u32>,

    /// Keep no stack of lines: bytes alone, in less time
    #[arg(long, conflicts_with_all = ["line_size", "lines_only"])]
    pub no_lines: bool,

    /// Count only below functions that match GLOB, and in regions of that name
    #[arg(long, value_name = "GLOB")]
    pub roi: Option<String>,

    #[command(flatten)]
    pub threads: ThreadsArgs,
}

/// What is measured.
#[derive(Args, Clone, Debug)]
pub struct MeasureArgs {
    #[command(flatten)]
    pub stack: StackArgs,

    /// Also simulate caches of sets and ways: SIZE,WAYS,LINE of each level, or a machine
    ///
    /// The first level comes first, each with `,plru` if a tree of bits chooses the line that leaves (else the one used
    /// longest ago does). A machine is one whose file states ways, as zen2-7452-core, or zen2-7452-core,plru. Each
    /// level holds what those before it hold. Keeps the stack of lines too, to show what such memories without sets
    /// would fetch.
    #[arg(long, value_name = "LEVELS|MACHINE", value_parser = hierarchy::parse)]
    pub cache: Option<Hierarchy>,

    /// Also count hazards: accesses that a processor handles slower than others of their kind, wherever their bytes
    /// are, as those that cross a line or a page
    #[arg(long)]
    pub hazards: bool,

    /// Also say how many cycles the code would take on the core of a machine, and why
    ///
    /// Of several machines, the first is shown. Without a value it is `local` if that was calibrated with a core, else
    /// zen4-9654-core.
    ///
    /// The core follows the program without hooks under QEMU's user emulator: of a source file, that is built beside
    /// the one with hooks, and runs after it; of another program with hooks, --native names it.
    #[arg(long, value_name = "MACHINE,...", value_parser = cores::parse, num_args = 0..=1, require_equals = true,
          default_missing_value = "")]
    pub cycles: Option<Cores>,

    /// With --cycles: nothing else
    #[arg(long, requires = "cycles", hide = true)]
    pub cycles_only: bool,

    /// Also find the fewest bytes that memories of these capacities could fetch, beside what LRU fetches: sizes, as in
    /// 32KiB,1MiB, or the levels of a machine, as in zen2-7452-core [without a value: 32KiB,1MiB,32MiB]
    ///
    /// Goes back over the whole run after its end, and forth again. Needs a temporary file while it works: in $TMPDIR
    /// if that is set, else beside the profile.
    #[arg(long, value_name = "SIZE,...|MACHINE", value_parser = optimum::parse, num_args = 0..=1,
          require_equals = true, default_missing_value = optimum::DEFAULT_CAPACITIES)]
    pub optimum: Option<Capacities>,

    /// Also measure flows: of every byte read, which access wrote it and which touched it last
    ///
    /// Takes 4 bytes of memory per byte that the program touches.
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

    #[command(flatten)]
    pub subject: SubjectArgs,

    /// With --sharing: bytes of a line, a power of two from 16 to 128
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = parse_sharing_line)]
    pub sharing_line: u32,
}

/// How the work is done; no number depends on it.
#[derive(Args, Clone, Debug, Default)]
pub struct WorkArgs {
    /// Analyse without some of the ways that make it fast, and compute a hash over site and depth that none of them
    /// changes; `--stats` prints it
    #[arg(long, value_name = "WAY", value_parser = parse_way, value_delimiter = ',', hide = true)]
    pub without: Vec<Way>,

    /// Threads that do the analysis [default: the number of processors]
    ///
    /// A long thread of the program is cut into slices, which they analyse side by side; no number depends on that.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub workers: Option<u16>,

    /// Cut each thread of the program into slices of about N accesses, from its first one on, to try that out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), hide = true)]
    pub slice: Option<u64>,
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

/// Takes a fast way out of an analysis.
type Way = fn(&mut FastPaths);

const WAYS: [(&str, Way); 8] = [
    ("nothing", |_| {}),
    ("blocks", |ways| ways.blocks = false),
    ("runs", |ways| ways.runs = false),
    ("moves", |ways| ways.moves = false),
    ("skips", |ways| ways.skips = false),
    ("batches", |ways| ways.batches = false),
    ("vectors", |ways| ways.isa = Some(Isa::Portable)),
    ("narrow", |ways| ways.narrow = false),
];

/// # Errors
/// What ways there are.
fn parse_way(text: &str) -> Result<Way, String> {
    let found = WAYS.iter().find(|(name, _)| *name == text).map(|(_, way)| *way);
    found.ok_or_else(|| format!("expected one of {}", WAYS.map(|(name, _)| name).join(", ")))
}

/// # Errors
/// What a line must be.
fn parse_line(text: &str) -> Result<u32, String> {
    power_of_two(text, 2..=1 << 20)
}

/// # Errors
/// What a line that threads share must be.
fn parse_sharing_line(text: &str) -> Result<u32, String> {
    power_of_two(text, 16..=MOST_LINE)
}

fn power_of_two(text: &str, sizes: RangeInclusive<u32>) -> Result<u32, String> {
    let size = parse_small_size(text).ok().filter(|n| n.is_power_of_two() && sizes.contains(n));
    size.ok_or_else(|| format!("must be a power of two from {} to {}, as in 64 or 64B", sizes.start(), sizes.end()))
}

impl StackArgs {
    #[must_use]
    pub fn liveness(&self) -> LivenessArg {
        self.liveness.unwrap_or(LivenessArg::Hints)
    }
}

impl MeasureArgs {
    /// What the analysis needs to know, with the lines that a stack is kept of; temporary files are beside the output
    /// unless TMPDIR is set.
    ///
    /// # Errors
    /// A bad pattern, or no place for the temporary file.
    pub fn options(&self, line_sizes: Vec<u32>, work: &WorkArgs, output: &Path) -> anyhow::Result<Options> {
        let stack = &self.stack;
        if let Some(note) = self.cache.as_ref().and_then(|cache| cache.note.as_ref()) {
            eprintln!("dmdprof: note: {note}");
        }
        let pattern = |given: &Option<String>, option| {
            let pattern = given.as_deref().map(Roi::new).transpose();
            let pattern = pattern.with_context(|| format!("{option}: not a valid pattern"))?;
            anyhow::Ok(pattern.map(|pattern| pattern as Arc<dyn RegionOfInterest>))
        };
        let is_exact = stack.liveness() == LivenessArg::Exact;
        let sharing = self.subject.sharing.then_some(self.sharing_line);
        let mut ways = FastPaths { hash: !work.without.is_empty(), ..FastPaths::default() };
        work.without.iter().for_each(|without| without(&mut ways));
        let options = Options {
            hints: stack.liveness() != LivenessArg::None,
            lines_only: stack.lines_only,
            line_sizes,
            caches: self.levels().to_vec(),
            hazards: self.hazards,
            roi: pattern(&stack.roi, "--roi")?,
            cycles: self.cycles.as_ref().map(follow),
            together: stack.threads.together(sharing, || spool(output))?,
            workers: work.workers.map_or_else(crate::shared::processors, usize::from),
            slice: work.slice,
            log: if is_exact || self.optimum.is_some() { Some(spool(output)?) } else { None },
            exact: is_exact,
            optimum: self.capacities().to_vec(),
            flows: self.flows,
            flow_contexts: self.flow_contexts,
            objects: self.subject.objects,
            sequence: pattern(&self.sequence, "--sequence")?,
            window: self.window,
            analyse: !self.cycles_only,
            ways,
            values: (stack.model == ModelArg::Values).then(|| stack.values.options()),
            ..Options::default()
        };
        work.tell_of_one_piece(&options);
        Ok(options)
    }

    #[must_use]
    pub fn levels(&self) -> &[Geometry] {
        self.cache.as_ref().map_or(&[], |cache| &cache.levels)
    }

    #[must_use]
    pub fn capacities(&self) -> &[u64] {
        self.optimum.as_ref().map_or(&[], |capacities| &capacities.0)
    }
}

/// What cores look at.
fn follow(cores: &Cores) -> Arc<CycleOptions> {
    let cores = cores.0.iter().map(|core| core.figures.clone()).collect();
    Arc::new(CycleOptions { cores, windows: Windows::DEFAULT })
}

impl WorkArgs {
    /// Says why more workers than one change little, where somebody asked for them.
    fn tell_of_one_piece(&self, options: &Options) {
        let asked = self.workers.is_some_and(|workers| workers > 1) || self.slice.is_some();
        if let Some((option, why)) = options.in_one_piece().filter(|_| asked) {
            eprintln!(
                "dmdprof: note: {option} needs all accesses of a thread in order ({why}): that is analysed in one \
                 piece, on two processors at most"
            );
        }
    }
}

fn spool(output: &Path) -> anyhow::Result<Arc<Spool>> {
    let directory = std::env::var_os("TMPDIR").filter(|d| !d.is_empty()).map(PathBuf::from);
    let beside = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = directory.unwrap_or_else(|| beside.to_path_buf());
    let spool = Spool::create(&directory).with_context(|| {
        format!("cannot make a temporary file in {}; set TMPDIR to another place", directory.display())
    })?;
    Ok(Arc::new(spool))
}
