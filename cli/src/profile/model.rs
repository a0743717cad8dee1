//! What one profile holds, independent of how it is stored or shown.
//!
//! All counts are exact integers. A *cell* is one (calling context, site) pair; exclusive costs of all cells add up to
//! the program's total. Functions here are *linked symbols*; the source function of a site is the function of its
//! innermost [`Position`], reached through the chain of `inlined_at`.

mod caches;
mod cells;
mod clock;
mod cycles;
mod histogram;
mod ids;
mod objects;
mod outcome;
mod section;
mod sharing;
mod stacks;
mod totals;

pub use caches::CacheLevel;
pub use cells::{Alone, Cell, CellCounts, LineCounts, ObjectUse, counts_of};
pub use clock::{ClockPlace, ClockRuns, ENOUGH_SAMPLES, MeasuredClock, SampledBy};
pub use cycles::{CycleCore, CycleCounts, CyclePlace, MeasuredCycles};
pub use dmdprof_runtime::{
    counts::{
        Merge,
        caches::CacheCounts,
        cell::{Dead, Left},
        least::LeastCounts,
        pairs::PairCounts,
    },
    histogram::bounds,
    observe::patterns::Pattern,
};
pub use histogram::{Counts, Histogram};
pub use ids::{BlockId, ContextId, FieldId, FunctionId, LoopId, ObjectId, PositionId, SiteId, StringId};
pub use objects::{
    DataObject, DataObjects, Field, LinePair, LoopCall, ObjectKind, ObjectPattern, SiteMetadata, SiteNote, SourceLoop,
};
pub use outcome::Outcome;
pub use section::Section;
pub use sharing::{Met, Moved, SharedLines, Sharing, SharingDetails, UndefinedOrder, Written};
pub use stacks::{AloneTotals, Stacks};
pub use totals::Totals;

use dmdprof_runtime::values::RegionTotals;
use serde::{Deserialize, Serialize};

/// What one run did, as the profile file holds it. Numbers (`SiteId` and the like) index the lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// How the numbers were made.
    pub meta: Meta,
    /// What has hooks, and what was not seen.
    pub coverage: Coverage,
    /// Sums over all threads.
    pub totals: Totals,
    /// One entry per thread, signal context and forked process, in canonical order (never in order of arrival).
    pub threads: Vec<Totals>,
    /// Every name and path, each once.
    pub strings: Vec<String>,
    /// Linked functions, and source functions that were inlined into them.
    pub functions: Vec<Function>,
    /// Lines of source that sites, operations and loops are at.
    pub positions: Vec<Position>,
    /// Static accesses that were executed, or that a flow, an object or a thread names.
    pub sites: Vec<Site>,
    /// Pieces of straight code that have operations.
    pub blocks: Vec<Block>,
    /// Parents come before children.
    pub contexts: Vec<Context>,
    /// Sorted by (context, site).
    pub cells: Vec<Cell>,
    /// Sorted by (context, block).
    pub block_counts: Vec<BlockCount>,
    /// Declared regions, by name; of the values model.
    pub regions: Vec<Region>,
    /// From which access to which the bytes read went; `None` if that was not measured. Sorted by (writer, toucher,
    /// reader, object, contexts of toucher and reader). The flows of a reader add up to what its cells read and to what
    /// that cost. Only of bytes of the memory model.
    pub flows: Option<Vec<Flow>>,
    /// Which data the accesses went to; `None` if that was not measured.
    pub objects: Option<DataObjects>,
    /// What is known of sites without running them; nothing unless objects or lines were measured.
    pub known: SiteMetadata,
    /// Sites whose addresses depend on data that the innermost loop loads; nothing where `known` is nothing. Sorted.
    pub irregular: Vec<SiteId>,
    /// Lines that came from far, of the first size of lines as it was measured; none of threads that share a stack.
    /// Sorted by (before, site).
    pub pairs: Vec<LinePair>,
    /// Calls made by chosen functions, in order; empty if none was chosen. One entry per thread and function, sorted by
    /// (function, calls, omitted).
    pub sequences: Vec<Sequence>,
    /// Depths of first-touch (cold) reads of the whole program, same buckets as the cells' histograms. These bytes are
    /// also in the cells' histograms.
    pub cold_histogram: Histogram,
    /// The files that positions name, each once.
    pub sources: Vec<SourceFile>,
    /// Compilers of the code with hooks, each with its options, as in `clang version 19.1.7 -O2`; sorted. Empty if the
    /// modules were stripped of their section `.comment`.
    pub compilers: Vec<String>,
    /// What each of `threads` began with: `main`, or the function that it was started with.
    pub thread_starts: Vec<Option<FunctionId>>,
    /// Floating-point operations by type of their operands (order of `abi::FloatType`), a fused multiply-add as two.
    /// All zero in the values model.
    pub flops_by_type: [u128; 4],
    /// Bytes of a line, powers of two, that [`CellCounts::lines`] are of; the first is shown. Empty: not measured.
    pub line_sizes: Vec<u32>,
    /// The levels that [`CellCounts::caches`] are of, the first nearest to the processor. Empty: not simulated.
    pub caches: Vec<CacheLevel>,
    /// The kinds that [`CellCounts::hazards`] are of. Empty: not counted.
    pub hazards: Vec<String>,
    /// Bytes, ascending, that [`CellCounts::least`] is of. Empty: not measured. The model: `docs/model.md`.
    pub optimum: Vec<u64>,
    /// What code took on cores; `None` if none followed.
    pub cycles: Option<MeasuredCycles>,
    /// Where a clock found the program; `None` if there is none beside the profile's file, in which it is not.
    pub clock: Option<MeasuredClock>,
    /// How threads met; `None` if each has a stack of its own and it was not measured.
    pub sharing: Option<Sharing>,
    /// What else is known of `sharing`; `None` unless that has what threads did to each other.
    pub sharing_details: Option<SharingDetails>,
    /// Of threads that share a stack; `None` if each has its own.
    pub stacks: Option<Stacks>,
    /// Whether histograms tell capacities. They do not in the values model and with a sample.
    pub has_capacities: bool,
    /// Sections of its file that this dmdprof does not know; they are written again.
    pub unknown: Vec<Section>,
}

impl Profile {
    /// Puts lines of a size in the place of those that are shown. Caches go by the lines that they have.
    ///
    /// # Errors
    /// Which sizes were measured, if that is none of them.
    pub fn choose_lines(&mut self, size: u32) -> Result<(), String> {
        if self.line_sizes.is_empty() {
            return Err(format!("lines were not measured; that is done by: dmdprof run --line-size {size}"));
        }
        let Some(at) = self.line_sizes.iter().position(|other| *other == size) else {
            let measured = self.line_sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            return Err(format!(
                "lines of {size} B were not measured, but of {measured}; measure them with: dmdprof run --line-size {measured},{size}"
            ));
        };
        if at == 0 {
            return Ok(());
        }
        self.line_sizes.swap(0, at);
        self.pairs.clear();
        self.caches.clear();
        for counts in self.all_counts_mut() {
            counts.caches = None;
            let alone = counts.alone.iter_mut().flat_map(|alone| &mut alone.lines);
            counts.lines.iter_mut().chain(alone).for_each(|lines| lines.swap(0, at));
        }
        Ok(())
    }

    /// What cells did, and what uses of objects are.
    pub(crate) fn all_counts_mut(&mut self) -> impl Iterator<Item = &mut CellCounts> {
        let uses = self.objects.iter_mut().flat_map(|objects| &mut objects.uses);
        self.cells.iter_mut().map(|cell| &mut cell.counts).chain(uses.map(|used| &mut used.counts))
    }

    /// Bytes of the lines that are shown, if lines were measured.
    #[must_use]
    pub fn line_size(&self) -> Option<u32> {
        self.line_sizes.first().copied()
    }

    /// What reads found on stacks of threads alone, in all, if that was measured.
    #[must_use]
    pub fn alone(&self) -> Option<&AloneTotals> {
        self.stacks.as_ref()?.alone.as_ref()
    }

    /// Why traffic is not known, and what stands in its place; `None` if it is known.
    #[must_use]
    pub fn without_traffic(&self) -> Option<&'static str> {
        match (self.has_capacities, &self.meta.values) {
            (true, _) => None,
            (false, Some(_)) => Some(
                "traffic is not known in the values model: what is read deeper than a size stands in its place, and is at most as much",
            ),
            (false, None) => Some(
                "traffic is not known of a sample: what is read deeper than a size stands in its place, and is at most as much",
            ),
        }
    }

    /// The short name of what [`Self::has_capacities`] decides on.
    #[must_use]
    pub fn traffic_name(&self) -> &'static str {
        if self.has_capacities { "traffic at" } else { "deeper than" }
    }

    /// The linkage name of a function, as in the object file.
    #[must_use]
    pub fn symbol(&self, function: FunctionId) -> &str {
        &self.strings[self.functions[function.index()].symbol.index()]
    }
}

/// How the numbers were made. Two profiles compare only if `model`, `model_version`, `liveness`, `thread_mode` and
/// `unit` agree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the dmdprof that wrote the profile.
    pub tool_version: String,
    /// `"memory"`, `"values"` or `"values with fixed inputs"`.
    pub model: String,
    /// Raised when a change of the model gives other numbers for the same run.
    pub model_version: u32,
    /// What takes bytes off the stack.
    pub liveness: Liveness,
    /// Which threads share a stack.
    pub thread_mode: ThreadMode,
    /// What depths and counts are in.
    pub unit: Unit,
    /// The program and its arguments, as given.
    pub command: Vec<String>,
    /// Pattern of the functions or regions that alone were counted.
    pub roi: Option<String>,
    /// How the program ended.
    pub outcome: Outcome,
    /// Why the numbers are not those of the whole run, if something other than the program's end made them so.
    pub incomplete: Option<String>,
    /// Which makes runs differ, unless it was fixed.
    pub random: Random,
    /// What only the values model knows.
    pub values: Option<ValuesMeta>,
}

impl Meta {
    /// Whether bytes have depths, and with them a cost.
    #[must_use]
    pub fn has_bytes(&self) -> bool {
        self.unit == Unit::Byte
    }

    /// Whether cells tell what dead bytes cost: exact liveness of the memory model.
    #[must_use]
    pub fn tells_dead_bytes(&self) -> bool {
        self.liveness == Liveness::Exact && self.values.is_none()
    }
}

/// Random numbers that the program asked the system for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random {
    /// How often it asked.
    pub requests: u64,
    /// They were the same as in any other run.
    pub fixed: bool,
}

/// How values are sized and counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValuesMeta {
    /// Every value has this many bytes; `None`: each the size of its type.
    pub bytes_per_element: Option<u8>,
    /// A fused multiply-add is one instruction with three reads; else it is two.
    pub fma_is_one: bool,
}

/// What decides when a byte leaves the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Liveness {
    /// Nothing: bytes stay.
    #[default]
    None,
    /// The program: frees, and ends of scopes.
    Hints,
    /// Bytes, or values, leave the stack when nobody reads them any more.
    Exact,
}

/// Which threads have a stack together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadMode {
    /// One stack per thread, summed.
    #[default]
    Private,
    /// One per process; threads take turns of so many accesses.
    Shared {
        /// Accesses of a turn.
        turn: u64,
    },
    /// One per group of threads, as they were given.
    Clusters {
        /// The groups, as given.
        members: String,
        /// Accesses of a turn.
        turn: u64,
    },
}

impl std::fmt::Display for ThreadMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Private => f.write_str("private"),
            Self::Shared { turn } => write!(f, "shared, turns of {turn}"),
            Self::Clusters { members, turn } => write!(f, "clusters {members}, turns of {turn}"),
        }
    }
}

/// What has depths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Depths and sizes in bytes.
    #[default]
    Byte,
    /// Lines alone: bytes have no depths and no cost.
    Lines,
}

/// What of the program has hooks, and what happened that was not seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The program and its libraries that have hooks.
    pub modules: Vec<ModuleCoverage>,
    /// Functions with hooks, of all modules.
    pub functions_instrumented: u64,
    /// Functions that were compiled with dmdprof and left without hooks.
    pub functions_skipped: u64,
    /// Static accesses (loads, stores, ...) that carry hooks.
    pub accesses_instrumented: u64,
    /// Static accesses and functions without hooks: (reason, count), sorted.
    pub skipped: Vec<(String, u64)>,
    /// Calls made into code without hooks: (symbol, calls executed), most calls first, ties by name.
    pub unseen_calls: Vec<(String, u64)>,
    /// Objects and libraries of the Rust compiler that were linked without hooks, in order of their names.
    pub without_hooks: Vec<String>,
    /// `free` of blocks whose allocation was not seen.
    pub unknown_frees: u64,
    /// Records that could not be decoded, and threads or modules refused for lack of room. 0 in every good run.
    pub lost_events: u64,
    /// Processes that wrote records: the program, and those that it forked.
    pub processes: u64,
    /// Threads of all processes that wrote records.
    pub threads: u64,
}

/// What of one executable or library has hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleCoverage {
    /// File name without directories.
    pub name: String,
    /// Functions with hooks.
    pub functions: u64,
    /// Static accesses with hooks.
    pub accesses: u64,
}

/// A linked function, or a source function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Linked symbol or source function's linkage name, as in the object file (mangled).
    pub symbol: StringId,
    /// Where it is defined, if debug information says so.
    pub file: Option<StringId>,
    /// First line of the definition; 0 if that is not known.
    pub line: u32,
}

/// A source position inside a source function, possibly inlined at another position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Source function that contains the line.
    pub function: FunctionId,
    /// The file of the line, which a macro or an include may put outside that of the function.
    pub file: Option<StringId>,
    /// Counted from 1; 0 where the compiler made the code.
    pub line: u32,
    /// Counted from 1; 0 if that is not known.
    pub column: u32,
    /// Where `function` was inlined; `None` when `function` is the linked function itself.
    pub inlined_at: Option<PositionId>,
}

/// What a static access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads a scalar or a vector.
    Load,
    /// Writes a scalar or a vector.
    Store,
    /// Load, then store.
    Update,
    /// Reads one block of memory and writes another.
    Copy,
    /// Writes a block of memory.
    Fill,
    /// A library call priced by its meaning.
    Call,
    /// An instruction of the values model.
    Instruction,
    /// A read of the values model that has no result: a condition, an index, an address.
    Escape,
}

/// One static access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Linked function that holds the instruction.
    pub function: FunctionId,
    /// Its place in the source, if debug information says so.
    pub position: Option<PositionId>,
    /// What it does.
    pub kind: AccessKind,
    /// Bytes per access; 0 if it varies.
    pub size: u32,
}

/// A piece of straight code with its operations, to be multiplied by executions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Linked function that holds the code.
    pub function: FunctionId,
    /// Operations by class (order of `abi::OpClass`) at each position.
    pub ops: Vec<(Option<PositionId>, [u32; 7])>,
}

/// A calling context: the chain of linked functions from the thread's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The context of the caller; `None` for the root only.
    pub parent: Option<ContextId>,
    /// `None` for the root only.
    pub function: Option<FunctionId>,
    /// How often it was entered while counting.
    pub calls: u64,
}

/// All reads by one site of bytes of one object that were last written by one site and last touched by one site.
///
/// A byte's life starts and ends with its place on the stack. One that was not written in this life has no writer: an
/// input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Wrote the byte last before the read; `None`: nothing wrote it.
    pub writer: Option<SiteId>,
    /// Read or wrote the byte last before the read; `None`: nothing did.
    pub toucher: Option<SiteId>,
    /// The site that reads.
    pub reader: SiteId,
    /// What the bytes are part of; `None` unless objects were measured too.
    pub object: Option<ObjectId>,
    /// Bytes read.
    pub bytes: u64,
    /// ByteDMD of these reads.
    pub cost: u128,
    /// The bytes by depth.
    pub histogram: Histogram,
    /// Calling context of the toucher; `None` unless contexts were measured too, or there is no toucher.
    pub toucher_context: Option<ContextId>,
    /// Calling context of the reader, if they were measured too.
    pub reader_context: Option<ContextId>,
    /// Bytes (not distinct ones) touched between the last touch and the read, for some of the reads; 0 unless objects
    /// were measured too.
    pub between_all: u64,
    /// Of these, bytes by the sites that touched most: up to [`MAX_BETWEEN`], largest first.
    pub between: Vec<(SiteId, u64)>,
}

/// Most entries of [`Flow::between`].
pub const MAX_BETWEEN: usize = 24;

/// What the activations of one function called in one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Who called.
    pub function: FunctionId,
    /// In order: callee, and how often it was called in a row. At most [`MAX_SEQUENCE`] entries.
    pub calls: Vec<(FunctionId, u64)>,
    /// Calls after those.
    pub omitted: u64,
}

/// Most entries of a [`Sequence`].
pub const MAX_SEQUENCE: usize = dmdprof_runtime::decode::sequences::MAX_CALLS;

/// All executions of the regions of one name.
pub type Region = RegionTotals<Histogram>;

/// How often one piece of code ran in one calling context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCount {
    /// Where it was called from.
    pub context: ContextId,
    /// Which code.
    pub block: BlockId,
    /// How often it ran while counting.
    pub executions: u64,
}

/// A file with source that positions name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// As the compiler was given it.
    pub path: StringId,
    /// SHA-256 of the file when the profile was made, if it could be read.
    pub sha256: Option<[u8; 32]>,
}
