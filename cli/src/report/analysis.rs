//! From cells to rows: who moved how much.
//!
//! Takes a [`Profile`] that [`validate`](crate::profile::validate) accepts, gives one row per source function (or
//! linked symbol, or source line). Pure: no input or output, no text formatting.
//!
//! *Exclusive* numbers of all rows add up to the program's totals exactly, because every cell and every block goes to
//! one row. *Inclusive* numbers of a row are those of all cells with the row's function somewhere on their path: the
//! calling context from the thread's start, then the inline chain of the site. A function that is on a path several
//! times counts once.
//!
//! Limit: a calling context names linked functions, not the call sites in them. A function that was inlined everywhere
//! therefore includes what was inlined into it, and not what it calls.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Deref,
    sync::LazyLock,
};

use dmdprof_runtime::counts::{
    Merge,
    cell::{self, CellCounts, Left},
    sampled::SampleCounts,
};

use super::depths::{Depths, QuantileReader, Quantiles};
use super::lines::{self, LineSums};
use crate::profile::model::{
    self, Cell, ContextId, CycleCounts, FunctionId, Position, PositionId, Profile, SiteId, StringId,
};
use crate::shared::names::{self, is_library_file};

/// Sums over what was found on stacks of threads alone.
pub type AloneSums = cell::Alone<Depths>;

/// What makes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// The source function that contains the line, inlined or not; what was inlined from the standard library or system
    /// headers counts for the function of the user's that it was inlined into.
    Functions,
    /// The source function that contains the line, inlined or not; functions of libraries are rows of their own.
    AllFunctions,
    /// The symbol that the linker saw.
    Symbols,
    /// File and line.
    Lines(Inlined),
}

/// Which line inlined code counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inlined {
    /// The innermost line of the user's: neither the standard library's nor a system header's.
    Own,
    /// Its own line, wherever that is.
    All,
    /// The line of the linked function into which it was inlined.
    Linked,
}

/// What becomes of generic arguments in names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generics {
    #[default]
    Keep,
    Shorten,
}

/// Index of a class in [`Sums::ops`]: `runtime`'s `OpClass`.
pub const OP_NAMES: [&str; 7] = ["fp_add", "fp_mul", "fp_fma", "fp_div", "fp_special", "int", "compare"];
const FMA: usize = 2;
const FP_CLASSES: std::ops::Range<usize> = 0..5;
const INT: usize = 5;

/// Numbers that add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Bytes.
    pub read: u64,
    /// What else is known by site.
    pub counts: CellCounts<Depths>,
    pub ops: [u128; 7],
    /// Of a sample with calling contexts; large, and mostly missing.
    pub sampled: Option<Box<SampleCounts>>,
    /// What the code took on a core, if one followed.
    pub cycles: CycleCounts,
    /// Samples of a clock, if there is one.
    pub clock: u64,
}

impl Deref for Sums {
    type Target = CellCounts<Depths>;

    fn deref(&self) -> &CellCounts<Depths> {
        &self.counts
    }
}

/// What a sample has of sites in calling contexts.
pub type InContexts = BTreeMap<(ContextId, SiteId), SampleCounts>;

impl Sums {
    fn add_cell(&mut self, cell: &Cell, sample: Option<&InContexts>) {
        self.add(cell.read, &cell.counts);
        let sampled = sample.and_then(|sample| sample.get(&(cell.context, cell.site)));
        sampled.into_iter().for_each(|sampled| self.sampled.get_or_insert_default().merge(sampled));
    }

    /// Adds what was read, and what else was counted.
    pub fn add(&mut self, read: u64, counts: &model::CellCounts) {
        self.read += read;
        self.counts.merge(counts);
    }

    pub fn add_ops(&mut self, executions: u64, ops: &[u32; 7]) {
        for (sum, n) in self.ops.iter_mut().zip(ops) {
            *sum += u128::from(executions) * u128::from(*n);
        }
    }

    pub fn merge(&mut self, other: &Sums) {
        self.read += other.read;
        self.counts.merge(&other.counts);
        for (sum, n) in self.ops.iter_mut().zip(&other.ops) {
            *sum += n;
        }
        self.sampled.merge(&other.sampled);
        self.cycles.add(&other.cycles);
        self.clock += other.clock;
    }

    /// Executions of accesses.
    #[must_use]
    pub fn accesses(&self) -> u128 {
        self.executions.into()
    }

    /// Of the lines that are shown; nothing if lines were not measured.
    #[must_use]
    pub fn lines(&self) -> &LineSums {
        lines::first(self.counts.lines.as_deref())
    }

    /// What was found on stacks of threads alone; nothing where threads have only one stack.
    #[must_use]
    pub fn alone(&self) -> &AloneSums {
        static NONE: LazyLock<AloneSums> = LazyLock::new(AloneSums::default);
        self.counts.alone.as_deref().unwrap_or(&NONE)
    }

    /// Floating-point operations; a fused multiply-add counts as two.
    #[must_use]
    pub fn flops(&self) -> u128 {
        self.ops[FP_CLASSES].iter().sum::<u128>() + self.ops[FMA]
    }

    /// Operations of all classes; a fused multiply-add counts as two.
    #[must_use]
    pub fn all_ops(&self) -> u128 {
        self.ops.iter().sum::<u128>() + self.ops[FMA]
    }

    #[must_use]
    pub fn int_ops(&self) -> u128 {
        self.ops[INT]
    }

    /// Cost of dead bytes that lie on the stack until the program gives them up.
    #[must_use]
    pub fn dead_cost(&self) -> u128 {
        self.hints_cost() - self.cost
    }

    /// With exact liveness, bytes that were left behind.
    #[must_use]
    pub fn left(&self) -> Left {
        self.dead.as_ref().map_or_else(Left::default, |dead| dead.left)
    }

    /// Cost per byte read; `None` without reads.
    #[must_use]
    pub fn mean_cost(&self) -> Option<f64> {
        (self.read > 0).then(|| self.cost as f64 / self.read as f64)
    }

    /// Flops per byte read: infinite without reads, `None` without both.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        let flops = self.flops();
        match (flops, self.read) {
            (0, 0) => None,
            (_, 0) => Some(f64::INFINITY),
            (_, read) => Some(flops as f64 / read as f64),
        }
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.executions == 0
            && self.cost == 0
            && self.read == 0
            && self.written == 0
            && self.ops == [0; 7]
            && self.sampled.is_none()
            && self.cycles == CycleCounts::default()
            && self.clock == 0
    }
}

/// How often a row's functions were entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// `None` if nothing was linked under this name (or the row is a line): all of it was inlined.
    pub linked: Option<u128>,
    /// Some of it was inlined into other functions.
    pub inlined: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Demangled, sorted: one for a function, for a line those that have code there.
    pub names: Vec<String>,
    /// Linkage names, sorted; several if instances of one generic function share name and place.
    pub symbols: Vec<String>,
    pub file: Option<String>,
    /// 0 if not known.
    pub line: u32,
    pub calls: Calls,
    /// The accesses whose exclusive numbers are in this row, sorted.
    pub sites: Vec<SiteId>,
    /// Places with cycles whose numbers are in this row.
    pub places: Vec<u32>,
    /// Places with samples of a clock.
    pub clocked: Vec<u32>,
    pub own: Sums,
    pub quantiles: Quantiles,
    /// Only with [`Analysis::with_inclusive`].
    pub inclusive: Option<Sums>,
}

impl Row {
    /// The function's name; for a line the first of its functions' names.
    #[must_use]
    pub fn name(&self) -> &str {
        self.names.first().map_or(names::UNKNOWN, String::as_str)
    }
}

/// All rows of one profile, in no particular order that a person would like: see `ReportOptions::sort`.
#[derive(Clone, Debug)]
pub struct Analysis<'p> {
    pub profile: &'p Profile,
    pub grouping: Grouping,
    pub rows: Vec<Row>,
    /// Sum of all rows = the whole program.
    pub total: Sums,
    pub quantiles: Quantiles,
}

impl<'p> Analysis<'p> {
    /// Exclusive numbers.
    #[must_use]
    pub fn new(profile: &'p Profile, grouping: Grouping) -> Self {
        Analysis::build(profile, grouping, false, Generics::Keep)
    }

    /// Exclusive and inclusive numbers. Lines have no inclusive ones: a context does not say which line called.
    #[must_use]
    pub fn with_inclusive(profile: &'p Profile, grouping: Grouping) -> Self {
        Analysis::build(profile, grouping, true, Generics::Keep)
    }

    /// Exclusive and perhaps inclusive numbers. Without generic arguments, all instances of a function share a row.
    #[must_use]
    pub fn build(profile: &'p Profile, grouping: Grouping, inclusive: bool, generics: Generics) -> Self {
        Analysis::of_rows(Rows::new(profile, grouping, generics, None), inclusive)
    }

    /// Exclusive and perhaps inclusive numbers of a profile and of what a sample has in calling contexts.
    #[must_use]
    pub fn of_sample(
        profile: &'p Profile,
        sample: &'p InContexts,
        grouping: Grouping,
        inclusive: bool,
        generics: Generics,
    ) -> Self {
        Analysis::of_rows(Rows::new(profile, grouping, generics, Some(sample)), inclusive)
    }

    fn of_rows(mut rows: Rows<'p>, inclusive: bool) -> Self {
        let (profile, grouping) = (rows.profile, rows.grouping);
        let mut total = Sums::default();
        for cell in &profile.cells {
            let site = &profile.sites[cell.site.index()];
            let row = rows.of_code(site.function, site.position);
            rows.list[row].own.add_cell(cell, rows.sample);
            rows.list[row].sites.push(cell.site);
            total.add_cell(cell, rows.sample);
        }
        for count in &profile.block_counts {
            let block = &profile.blocks[count.block.index()];
            for (position, ops) in &block.ops {
                let row = rows.of_code(block.function, *position);
                rows.list[row].own.add_ops(count.executions, ops);
                total.add_ops(count.executions, ops);
            }
        }
        for (number, place) in (0..).zip(profile.cycles.iter().flat_map(|cycles| &cycles.places)) {
            let row = rows.of_code(place.function, place.position);
            rows.list[row].places.push(number);
            rows.list[row].own.cycles.add(&place.counts);
            total.cycles.add(&place.counts);
        }
        for (number, place) in (0..).zip(profile.clock.iter().flat_map(|clock| &clock.places)) {
            let row = rows.of_code(place.function, place.position);
            rows.list[row].clocked.push(number);
            rows.list[row].own.clock += place.samples;
            total.clock += place.samples;
        }
        rows.count_calls();
        if inclusive && !matches!(grouping, Grouping::Lines(_)) {
            rows.add_inclusive();
        }
        let mut rows = rows.list;
        let called = |row: &Row| row.calls.linked.is_some_and(|calls| calls > 0);
        rows.retain(|row| called(row) || row.inclusive.iter().chain([&row.own]).any(|sums| !sums.is_zero()));
        let mut reader = QuantileReader::new(profile.totals.peak_live);
        for row in &mut rows {
            row.quantiles = reader.read(&row.own.depths);
            row.sites.sort_unstable();
            row.sites.dedup();
        }
        Analysis { profile, grouping, rows, quantiles: reader.read(&total.depths), total }
    }
}

/// A position and those that it was inlined at.
fn chain<'p>(profile: &'p Profile, position: Option<&'p Position>) -> impl Iterator<Item = &'p Position> + Clone {
    std::iter::successors(position, |position| position.inlined_at.map(|id| &profile.positions[id.index()]))
}

/// The position of an inline chain that code counts for.
pub(super) fn shown(profile: &Profile, grouping: Grouping, position: Option<PositionId>) -> Option<&Position> {
    let mut chain = chain(profile, position.map(|id| &profile.positions[id.index()]));
    match grouping {
        Grouping::AllFunctions | Grouping::Lines(Inlined::All) => chain.next(),
        Grouping::Symbols | Grouping::Lines(Inlined::Linked) => chain.last(),
        Grouping::Functions | Grouping::Lines(Inlined::Own) => {
            let file = |p: &Position| p.file.map(|file| profile.strings[file.index()].as_str());
            let is_own = |p: &&Position| !file(p).is_some_and(is_library_file);
            // Library code that nobody inlined is a linked function, and a row, of its own.
            chain.clone().find(is_own).or_else(|| chain.last())
        }
    }
}

type RowIndex = usize;

/// Two instances of one generic function that look the same to a person share a row; so do all columns of a line.
#[derive(PartialEq, Eq, Hash)]
struct Key<'p> {
    /// Empty for a line, unless the line is not known.
    name: String,
    file: Option<&'p str>,
    line: u32,
}

struct Rows<'p> {
    profile: &'p Profile,
    grouping: Grouping,
    generics: Generics,
    sample: Option<&'p InContexts>,
    list: Vec<Row>,
    by_key: HashMap<Key<'p>, RowIndex>,
    by_function: HashMap<FunctionId, RowIndex>,
    names: HashMap<FunctionId, String>,
}

impl<'p> Rows<'p> {
    fn new(profile: &'p Profile, grouping: Grouping, generics: Generics, sample: Option<&'p InContexts>) -> Self {
        let (list, by_key, by_function, names) = Default::default();
        Rows { profile, grouping, generics, sample, list, by_key, by_function, names }
    }

    fn text(&self, id: Option<StringId>) -> Option<&'p str> {
        id.map(|id| self.profile.strings[id.index()].as_str())
    }

    fn name(&mut self, function: FunctionId) -> String {
        let symbol = self.profile.symbol(function);
        let generics = self.generics;
        let name = || match generics {
            Generics::Keep => names::demangle(symbol),
            Generics::Shorten => names::without_generics(&names::demangle(symbol)),
        };
        self.names.entry(function).or_insert_with(name).clone()
    }

    /// The one row that gets the exclusive numbers of code in a linked function at a position.
    fn of_code(&mut self, linked: FunctionId, position: Option<PositionId>) -> RowIndex {
        let shown = shown(self.profile, self.grouping, position);
        match self.grouping {
            Grouping::Symbols => self.of_function(linked),
            Grouping::Functions | Grouping::AllFunctions => self.of_function(shown.map_or(linked, |p| p.function)),
            Grouping::Lines(inlined) => match shown {
                Some(p) => {
                    let function = if inlined == Inlined::Linked { linked } else { p.function };
                    self.of_line(function, self.text(p.file), p.line)
                }
                None => self.of_line(linked, self.text(self.profile.functions[linked.index()].file), 0),
            },
        }
    }

    fn of_function(&mut self, function: FunctionId) -> RowIndex {
        if let Some(row) = self.by_function.get(&function) {
            return *row;
        }
        let f = &self.profile.functions[function.index()];
        let name = self.name(function);
        let key = Key { name: name.clone(), file: self.text(f.file), line: f.line };
        let row = self.of_key(key, &name, function);
        self.by_function.insert(function, row);
        row
    }

    fn of_line(&mut self, function: FunctionId, file: Option<&'p str>, line: u32) -> RowIndex {
        let name = self.name(function);
        let key = Key { name: if line == 0 { name.clone() } else { String::new() }, file, line };
        self.of_key(key, &name, function)
    }

    fn of_key(&mut self, key: Key<'p>, name: &str, function: FunctionId) -> RowIndex {
        let (file, line) = (key.file.map(str::to_string), key.line);
        let row = *self.by_key.entry(key).or_insert_with(|| {
            self.list.push(Row { file, line, ..Row::default() });
            self.list.len() - 1
        });
        let symbol = self.profile.symbol(function);
        insert_sorted(&mut self.list[row].names, name);
        insert_sorted(&mut self.list[row].symbols, symbol);
        row
    }

    fn count_calls(&mut self) {
        if matches!(self.grouping, Grouping::Lines(_)) {
            return;
        }
        let profile = self.profile;
        let linked = profile.sites.iter().map(|s| (s.function, 0));
        let linked = linked.chain(profile.blocks.iter().map(|b| (b.function, 0)));
        let linked = linked.chain(profile.contexts.iter().filter_map(|c| Some((c.function?, c.calls))));
        for (function, calls) in linked {
            let row = self.of_function(function);
            *self.list[row].calls.linked.get_or_insert(0) += u128::from(calls);
        }
        if matches!(self.grouping, Grouping::Functions | Grouping::AllFunctions) {
            for position in &profile.positions {
                let row = self.of_function(position.function);
                self.list[row].calls.inlined |= position.inlined_at.is_some();
            }
        }
    }

    /// Walks the tree of contexts once, with the set of rows on the current path.
    fn add_inclusive(&mut self) {
        let profile = self.profile;
        let mut children = vec![Vec::new(); profile.contexts.len()];
        let mut roots = Vec::new();
        for (i, context) in profile.contexts.iter().enumerate() {
            match context.parent {
                Some(parent) => children[parent.index()].push(i),
                None => roots.push(i),
            }
        }
        enum Step {
            Enter(usize),
            Leave,
        }
        let mut path = Path { times: vec![0; self.list.len()], active: Vec::new(), frames: Vec::new() };
        let mut steps: Vec<Step> = roots.into_iter().rev().map(Step::Enter).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Leave => path.leave(),
                Step::Enter(context) => {
                    let row = profile.contexts[context].function.map(|f| self.by_function[&f]);
                    path.enter(row);
                    self.add_context(context, &path);
                    steps.push(Step::Leave);
                    steps.extend(children[context].iter().rev().map(|c| Step::Enter(*c)));
                }
            }
        }
        for row in &mut self.list {
            row.inclusive.get_or_insert_default();
        }
    }

    /// Adds one context's own numbers to every row on the path, and to the rows of their inline chains.
    fn add_context(&mut self, context: usize, path: &Path) {
        let profile = self.profile;
        let mut all = Sums::default();
        let mut beside_path = Vec::new();
        for cell in in_context(&profile.cells, context, |c| c.context.index()) {
            let site = &profile.sites[cell.site.index()];
            all.add_cell(cell, self.sample);
            self.rows_beside(path, site.function, site.position, &mut beside_path);
            for row in &beside_path {
                self.list[*row].inclusive.get_or_insert_default().add_cell(cell, self.sample);
            }
        }
        for count in in_context(&profile.block_counts, context, |c| c.context.index()) {
            let block = &profile.blocks[count.block.index()];
            for (position, ops) in &block.ops {
                all.add_ops(count.executions, ops);
                self.rows_beside(path, block.function, *position, &mut beside_path);
                for row in &beside_path {
                    self.list[*row].inclusive.get_or_insert_default().add_ops(count.executions, ops);
                }
            }
        }
        for row in &path.active {
            self.list[*row].inclusive.get_or_insert_default().merge(&all);
        }
    }

    /// The rows of a site that are not on the path of its context, each once.
    fn rows_beside(&self, path: &Path, linked: FunctionId, position: Option<PositionId>, rows: &mut Vec<RowIndex>) {
        rows.clear();
        let position = position.filter(|_| matches!(self.grouping, Grouping::Functions | Grouping::AllFunctions));
        let position = shown(self.profile, self.grouping, position);
        let chain = chain(self.profile, position).map(|p| p.function);
        for function in chain.chain([linked]) {
            // Every function has a row by now: `count_calls` visited all positions and all linked functions.
            let row = self.by_function[&function];
            if path.times[row] == 0 && !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
}

/// The rows on the way from the thread's start to the current context.
struct Path {
    /// How often each row is on the path.
    times: Vec<u32>,
    /// Rows with `times > 0`, outermost first.
    active: Vec<RowIndex>,
    frames: Vec<Option<RowIndex>>,
}

impl Path {
    fn enter(&mut self, row: Option<RowIndex>) {
        if let Some(row) = row {
            self.times[row] += 1;
            if self.times[row] == 1 {
                self.active.push(row);
            }
        }
        self.frames.push(row);
    }

    fn leave(&mut self) {
        if let Some(Some(row)) = self.frames.pop() {
            self.times[row] -= 1;
            if self.times[row] == 0 {
                // Entered last, so it is the last active one.
                self.active.pop();
            }
        }
    }
}

/// The part of a list sorted by context that belongs to one context.
fn in_context<T>(list: &[T], context: usize, of: impl Fn(&T) -> usize) -> &[T] {
    let start = list.partition_point(|item| of(item) < context);
    let len = list[start..].partition_point(|item| of(item) == context);
    &list[start..start + len]
}

fn insert_sorted(list: &mut Vec<String>, item: &str) {
    if let Err(at) = list.binary_search_by(|x| x.as_str().cmp(item)) {
        list.insert(at, item.into());
    }
}

#[cfg(test)]
mod tests;
