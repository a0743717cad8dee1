//! What one profile holds, independent of how it is stored or shown.
//!
//! All counts are exact integers. A *cell* is one (calling context, site) pair; exclusive costs of all cells add up to
//! the program's total. Functions here are *linked symbols*; the source function of a site is the function of its
//! innermost [`Position`], reached through the chain of `inlined_at`.

mod histogram;
mod ids;
mod lines;
mod sharing;
mod stacks;
mod totals;

pub use histogram::Histogram;
pub use ids::{BlockId, ContextId, FieldId, FunctionId, LoopId, ObjectId, PositionId, SiteId, StringId};
pub use lines::{
    CacheCell, CacheLevel, CacheMoves, CacheTraffic, LineCell, LineDetails, LineMoves, LineStreams, LineTraffic,
    ObjectLines, OtherLines, StreamCell,
};

pub use sharing::{Met, Moved, SharedLines, Sharing, SharingDetails, UndefinedOrder, Written};
pub use stacks::{Alone, AloneCell, AloneLines, Stacks};
pub use totals::Totals;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub meta: Meta,
    pub coverage: Coverage,
    pub totals: Totals,
    /// One entry per thread, signal context and forked process, in canonical order (never in order of arrival).
    pub threads: Vec<Totals>,
    pub strings: Vec<String>,
    pub functions: Vec<Function>,
    pub positions: Vec<Position>,
    pub sites: Vec<Site>,
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
    /// Always `None`; see [`RetiredSampling`].
    pub sampling: Option<RetiredSampling>,
    /// Calls made by chosen functions, in order; empty if none was chosen. One entry per thread and function, sorted by
    /// (function, calls, omitted).
    pub sequences: Vec<Sequence>,
    /// Depths of first-touch (cold) reads of the whole program, same buckets as the cells' histograms. These bytes are
    /// also in the cells' histograms.
    pub cold_histogram: Histogram,
    pub sources: Vec<SourceFile>,
    /// Compilers of the code with hooks, each with its options, as in `clang version 19.1.7 -O2`; sorted. Empty if the
    /// modules were stripped of their section `.comment`.
    pub compilers: Vec<String>,
    /// What each of `threads` began with: `main`, or the function that it was started with. Empty in profiles of format
    /// 8.
    pub thread_starts: Vec<Option<FunctionId>>,
    /// Floating-point operations by type of their operands (order of `abi::FloatType`), a fused multiply-add as two.
    /// All zero where that is not known: in format 8 and in the values model.
    pub flops_by_type: [u128; 4],
    /// Of each of `regions`. Empty in profiles of format 8.
    pub input_uses: Vec<InputUse>,
    /// What memories of lines fetch and write back; `None` if that was not measured, and in formats before 10.
    pub lines: Option<LineTraffic>,
    /// What caches of sets and ways fetch and write back; `None` if that was not measured, and in formats before 11.
    pub caches: Option<CacheTraffic>,
    /// What else is known of `lines`. Empty in formats before 12.
    pub line_details: LineDetails,
    /// Of lines of further sizes, each size once. Empty in formats before 12.
    pub other_lines: Vec<OtherLines>,
    /// How threads met; `None` if each has a stack of its own and it was not measured, and in formats before 13.
    pub sharing: Option<Sharing>,
    /// What else is known of `sharing`; `None` unless that has what threads did to each other, and in formats before
    /// 14.
    pub sharing_details: Option<SharingDetails>,
    /// Of threads that share a stack; `None` if each has its own, and in formats before 14.
    pub stacks: Option<Stacks>,
}

impl Profile {
    /// Puts lines of a size in the place of those that are shown. Caches go by the lines that they have.
    ///
    /// # Errors
    /// Which sizes were measured, if that is none of them.
    pub fn choose_lines(&mut self, size: u32) -> Result<(), String> {
        let Some(lines) = &mut self.lines else {
            return Err(format!("lines were not measured; that is done by: dmdprof run --line-size {size}"));
        };
        if lines.size == size {
            return Ok(());
        }
        let Some(at) = self.other_lines.iter().position(|other| other.traffic.size == size) else {
            let measured = std::iter::once(lines.size).chain(self.other_lines.iter().map(|other| other.traffic.size));
            let measured = measured.map(|size| size.to_string()).collect::<Vec<_>>().join(",");
            return Err(format!(
                "lines of {size} B were not measured, but of {measured}; measure them with: dmdprof run --line-size {measured},{size}"
            ));
        };
        let chosen = &mut self.other_lines[at];
        std::mem::swap(lines, &mut chosen.traffic);
        std::mem::swap(&mut self.line_details, &mut chosen.details);
        if let Some(alone) = self.stacks.as_mut().and_then(|stacks| stacks.alone.as_mut()) {
            alone.lines.swap(0, at + 1);
        }
        self.caches = None;
        Ok(())
    }

    /// The linkage name of a function, as in the object file.
    #[must_use]
    pub fn symbol(&self, function: FunctionId) -> &str {
        &self.strings[self.functions[function.index()].symbol.index()]
    }
}

/// How the numbers were made. Two profiles compare only if `model`, `model_version`, `liveness`, `thread_mode` and
/// `unit` agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub tool_version: String,
    /// `"memory"` or `"values"`.
    pub model: String,
    pub model_version: u32,
    pub liveness: Liveness,
    pub thread_mode: ThreadMode,
    pub unit: Unit,
    /// The program and its arguments, as given.
    pub command: Vec<String>,
    pub roi: Option<String>,
    pub outcome: Outcome,
    /// Why the numbers are not those of the whole run, if something other than the program's end made them so.
    pub incomplete: Option<String>,
    pub random: Random,
    /// What only the values model knows.
    pub values: Option<ValuesMeta>,
}

impl Meta {
    /// Whether cells tell what dead bytes cost: exact liveness of the memory model.
    #[must_use]
    pub fn tells_dead_bytes(&self) -> bool {
        self.liveness == Liveness::Exact && self.values.is_none()
    }
}

/// Random numbers that the program asked the system for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random {
    pub requests: u64,
    /// They were the same as in any other run.
    pub fixed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValuesMeta {
    /// Every value has this many bytes; `None`: each the size of its type.
    pub bytes_per_element: Option<u8>,
    /// A fused multiply-add is one instruction with three reads; else it is two.
    pub fma_is_one: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Liveness {
    None,
    Hints,
    /// Bytes, or values, leave the stack when nobody reads them any more.
    Exact,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadMode {
    /// One stack per thread, summed.
    Private,
    /// One per process; threads take turns of so many accesses.
    Shared { turn: u64 },
    /// One per group of threads, as they were given.
    Clusters { members: String, turn: u64 },
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Depths and sizes in bytes.
    Byte,
    /// Depths and counts in lines of this many bytes.
    Line(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Exit code.
    Exited(i32),
    /// Killed by this signal; the profile holds everything up to that point and is marked incomplete.
    Signaled(i32),
    /// The recording ends before the program did.
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    pub modules: Vec<ModuleCoverage>,
    pub functions_instrumented: u64,
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
    pub processes: u64,
    pub threads: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleCoverage {
    /// File name without directories.
    pub name: String,
    pub functions: u64,
    pub accesses: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Linked symbol or source function's linkage name, as in the object file (mangled).
    pub symbol: StringId,
    pub file: Option<StringId>,
    pub line: u32,
}

/// A source position inside a source function, possibly inlined at another position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Source function that contains the line.
    pub function: FunctionId,
    pub file: Option<StringId>,
    pub line: u32,
    pub column: u32,
    /// Where `function` was inlined; `None` when `function` is the linked function itself.
    pub inlined_at: Option<PositionId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessKind {
    Load,
    Store,
    /// Load, then store.
    Update,
    Copy,
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
    pub position: Option<PositionId>,
    pub kind: AccessKind,
    /// Bytes per access; 0 if it varies.
    pub size: u32,
}

/// A piece of straight code with its operations, to be multiplied by executions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub function: FunctionId,
    /// Operations by class (order of `abi::OpClass`) at each position.
    pub ops: Vec<(Option<PositionId>, [u32; 7])>,
}

/// A calling context: the chain of linked functions from the thread's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub parent: Option<ContextId>,
    /// `None` for the root only.
    pub function: Option<FunctionId>,
    pub calls: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    pub context: ContextId,
    pub site: SiteId,
    pub executions: u64,
    pub read: u64,
    pub written: u64,
    pub cold: u64,
    pub cost: u128,
    /// Executions on one longest chain of dependent instructions; of the values model.
    pub span: u64,
    pub histogram: Histogram,
    /// Only with [`Liveness::Exact`] in the memory model.
    pub dead: Option<Dead>,
}

/// What a run with `--sample` rested on, in formats up to 10, whose readers need it to find what follows. Nothing
/// writes it, and a profile that has it is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredSampling {
    every: u32,
    windows: u64,
    /// Site, bytes estimated and borrowed, deviations of 16 groups, slack.
    sites: Vec<(SiteId, u64, u64, [i128; 16], u128)>,
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
    pub reader: SiteId,
    /// What the bytes are part of; `None` unless objects were measured too.
    pub object: Option<ObjectId>,
    pub bytes: u64,
    pub cost: u128,
    pub histogram: Histogram,
    /// Calling contexts of the toucher and of the reader; `None` unless they were measured too, or there is no toucher.
    pub toucher_context: Option<ContextId>,
    pub reader_context: Option<ContextId>,
    /// Bytes (not distinct ones) touched between the last touch and the read, for some of the reads; 0 unless objects
    /// were measured too.
    pub between_all: u64,
    /// Of these, bytes by the sites that touched most: up to [`MAX_BETWEEN`], largest first.
    pub between: Vec<(SiteId, u64)>,
}

/// Most entries of [`Flow::between`].
pub const MAX_BETWEEN: usize = 24;

/// Data objects and what was done to them. Of each site, the reads, writes and costs of its uses add up to those of its
/// cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataObjects {
    /// Those that were accessed, sorted by content.
    pub list: Vec<DataObject>,
    /// Sorted by (object, site).
    pub uses: Vec<ObjectUse>,
    /// How sites used objects; empty unless flows were measured too. Sorted by (object, site).
    pub patterns: Vec<ObjectPattern>,
    /// Fields that sites access, sorted by names.
    pub fields: Vec<Field>,
    /// Loops around sites and calls, parents first.
    pub loops: Vec<SourceLoop>,
    /// Which loops of a function call which others, of functions that did; sorted.
    pub calls: Vec<LoopCall>,
    /// What is known of sites, by site.
    pub notes: Vec<SiteNote>,
}

/// A field of a type, or a scalar that is no field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Field {
    /// The structure, or the scalar's type.
    pub type_name: StringId,
    pub type_size: u32,
    /// Path, or `first..last` of several fields that are accessed at once; empty for scalars.
    pub name: StringId,
    /// Bytes from the start of the type, and bytes.
    pub offset: u32,
    pub size: u32,
}

/// A natural loop of a linked function with debug information.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLoop {
    pub function: FunctionId,
    /// Where it begins.
    pub position: Option<PositionId>,
    pub parent: Option<LoopId>,
}

/// A direct call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoopCall {
    pub caller: FunctionId,
    pub callee: FunctionId,
    /// The innermost loop of the caller that the call is in.
    pub around: Option<LoopId>,
}

/// What is known of a site without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteNote {
    pub site: SiteId,
    pub field: Option<FieldId>,
    /// The innermost loop that it is in.
    pub around: Option<LoopId>,
    /// The innermost loop in whose iterations it accesses the same bytes.
    pub same: Option<LoopId>,
}

/// How one site used one object. Fast memory and its lines: [`dmdprof_runtime::observe::patterns`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectPattern {
    pub object: ObjectId,
    pub site: SiteId,
    pub reads: u64,
    /// Bytes from one read to the next that are seen most, and about how many reads make this step.
    pub stride: i64,
    pub strided: u64,
    /// Lines that the site fetched, bytes of them that were used before they were fetched again, and fetches that used
    /// other bytes than those before by the same site.
    pub lines: u64,
    pub used: u64,
    pub renewed: u64,
    /// Bytes that it wrote and nobody read, and that it was the last to read.
    pub unread: u64,
    pub last_read: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// Memory of which no object is known.
    Unknown,
    /// Blocks that one call in one calling context allocated.
    Heap,
    /// Mappings by one call in one calling context, of one file.
    Mapping,
    /// A global or static variable.
    Static,
    /// Data without a symbol, by section.
    Section,
    /// A variable on the stack, of all activations.
    Stack,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataObject {
    pub kind: ObjectKind,
    /// Variable (linked symbol or source name), section, or path of the mapped file.
    pub name: Option<StringId>,
    /// File name of the program or library that a static or a section is of.
    pub module: Option<StringId>,
    /// Linkage name of the source function that declares a variable on the stack.
    pub function: Option<StringId>,
    /// Declaration of a variable on the stack, if known.
    pub file: Option<StringId>,
    pub line: u32,
    /// The call that allocates.
    pub site: Option<SiteId>,
    /// The calling context of that call; `None`: any, or nothing is allocated.
    pub context: Option<ContextId>,
    /// Blocks, mappings or activations that began, and their bytes.
    pub times: u64,
    pub bytes: u64,
    /// Most bytes at once. Of variables on the stack, whose ends are not followed one by one: an upper bound.
    pub peak: u64,
    /// Bytes read of each 64th of its blocks of 4 KiB and more, by accesses that begin there; empty if it has no such
    /// block.
    pub parts: Vec<u64>,
}

/// What one site did to one object, in all contexts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectUse {
    pub object: ObjectId,
    pub site: SiteId,
    pub read: u64,
    pub written: u64,
    pub cold: u64,
    pub cost: u128,
    pub histogram: Histogram,
}

/// What the activations of one function called in one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    pub function: FunctionId,
    /// In order: callee, and how often it was called in a row. At most [`MAX_SEQUENCE`] entries.
    pub calls: Vec<(FunctionId, u64)>,
    /// Calls after those.
    pub omitted: u64,
}

/// Most entries of a [`Sequence`].
pub const MAX_SEQUENCE: usize = dmdprof_runtime::decode::sequences::MAX_CALLS;

/// All executions of the regions of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    pub name: String,
    pub times: u64,
    /// Values read.
    pub reads: u64,
    pub bytes_read: u64,
    pub escapes: u64,
    /// Instructions with at least one tracked operand, and the same by class (order of `abi::OpClass`).
    pub instructions: u64,
    pub ops: [u64; 7],
    pub cost: u128,
    /// Longest chain of dependent instructions, and the longest that ends in an output. Summed over executions.
    pub span: u64,
    pub span_outputs: u64,
    /// Most bytes live at once; of all executions the largest.
    pub peak_live: u64,
    /// Bytes of inputs that were used.
    pub input_bytes: u64,
    /// No inputs were declared: they entered in order of their first use.
    pub first_use_inputs: bool,
    /// Executions that the end of the program cut short.
    pub unfinished: u64,
    pub histogram: Histogram,
}

/// How well a region's declared inputs fit what it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputUse {
    /// Declared inputs of which nothing was used, and their bytes. Summed over executions.
    pub unread_inputs: u64,
    pub unread_bytes: u64,
    /// Reads of what had been loaded from an input before the region began, and so counted as a constant.
    pub early_reads: u64,
}

/// What bytes that nobody reads any more are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead {
    /// The cost with [`Liveness::Hints`], where they lie on the stack until the program gives them up.
    pub hints_cost: u128,
    /// Bytes that the cell wrote and nobody ever read.
    pub unread: u64,
    /// Bytes that the cell was the last to read.
    pub last_read: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCount {
    pub context: ContextId,
    pub block: BlockId,
    pub executions: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    pub path: StringId,
    /// SHA-256 of the file when the profile was made, if it could be read.
    pub sha256: Option<[u8; 32]>,
}
