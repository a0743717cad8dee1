//! A profile as the page needs it: the tree of calls with inlined code, and what each line did in each node of it.
//!
//! Takes a profile that [`validate`](crate::profile::validate) accepts; gives functions, files, lines and nodes as
//! lists, and a *cell* per (node, line) with its numbers. Which function and which line code counts for is as in
//! reports: code inlined from libraries counts for the innermost frame of the user's. Everything else (sums by
//! function, by line, with callees; traffic; times) the page adds up from the cells.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dmdprof_runtime::{cycles::add_cycles, histogram::bounds};
use serde::Serialize;

use super::pack::Pack;
use super::{clock, cycles};
use crate::profile::Profile;
use crate::profile::model::{Cell, ContextId, Counts, FunctionId, LineCounts, Liveness, Outcome, PositionId, StringId};
use crate::report::lines::SMALLEST;
use crate::{
    report::{self, Sums},
    shared::names::{self, is_library_file},
};

/// A profile without its columns.
#[derive(Serialize)]
pub struct Described {
    command: Vec<String>,
    model: String,
    liveness: &'static str,
    roi: Option<String>,
    incomplete: Vec<String>,
    outcome: Option<String>,
    threads: u64,
    peak_live: u64,
    footprint: u64,
    /// Decimal, as it may be larger than what the page's numbers hold exactly.
    cost: String,
    has_flows: bool,
    has_traffic: bool,
    has_objects: bool,
    /// Bytes of the lines of which fetches and write-backs were measured, and of how many lines the smallest memory is.
    line_size: Option<u32>,
    smallest: u64,
    functions: Vec<Function>,
    pub files: Vec<String>,
    regions: Vec<Region>,
    /// If a core followed.
    cycles: Option<cycles::Described>,
    /// If there is one.
    clock: Option<clock::Described>,
    /// Kinds of hazards, each a column of cells.
    hazards: Vec<String>,
    /// Prefix of its columns.
    prefix: &'static str,
    /// Of each of `functions`, one that the profile has of it.
    #[serde(skip)]
    pub ids: Vec<FunctionId>,
    /// Of each of `files`, what its lines cost, and which they are.
    #[serde(skip)]
    pub costs: Vec<u128>,
    #[serde(skip)]
    pub numbered: Vec<BTreeSet<u32>>,
}

#[derive(Serialize)]
struct Region {
    name: String,
    times: u64,
    reads: u64,
    cost: String,
    instructions: u64,
    span: u64,
    peak_live: u64,
    input_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
struct Function {
    name: String,
    file: Option<u32>,
    line: u32,
}

/// A node of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    parent: u32,
    function: u32,
    /// Inlined into its parent.
    inlined: bool,
}

/// Where code counts. Code of a file that has no line is one line, with the number 0, and so is code without a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Line {
    file: Option<u32>,
    line: u32,
    function: u32,
}

/// Sums of a cell.
#[derive(Default)]
struct Numbers {
    executions: u128,
    read: u128,
    written: u128,
    cold: u128,
    cost: u128,
    flops: u128,
    ops: u128,
    depths: BTreeMap<u16, u64>,
    capacities: BTreeMap<u16, u64>,
    /// Lines fetched and written back by depth, and those that move whatever the capacity.
    moved: BTreeMap<u16, u64>,
    always: u128,
    /// Accesses that are hazards, by kind; none if there are none.
    hazards: Vec<u64>,
}

struct Builder<'p> {
    profile: &'p Profile,
    functions: Vec<Function>,
    ids: Vec<FunctionId>,
    by_function: HashMap<Function, u32>,
    by_id: HashMap<FunctionId, u32>,
    files: Vec<String>,
    by_file: HashMap<StringId, u32>,
    nodes: Vec<Node>,
    by_node: HashMap<Node, u32>,
    calls: Vec<u64>,
    /// By context.
    contexts: Vec<u32>,
    lines: Vec<Line>,
    by_line: HashMap<Line, u32>,
    cells: HashMap<(u32, u32), Numbers>,
    cycles: cycles::Found,
    clock: clock::Found,
}

const ROOT: u32 = 0;

/// Puts the columns into `pack`, with `prefix` before their names.
pub fn describe(profile: &Profile, prefix: &'static str, pack: &mut Pack) -> Described {
    let mut builder = Builder::new(profile);
    builder.add_contexts();
    builder.add_cells();
    builder.add_blocks();
    builder.add_cycles();
    builder.add_clock();
    builder.finish(prefix, pack)
}

impl<'p> Builder<'p> {
    fn new(profile: &'p Profile) -> Self {
        let root = Node { parent: ROOT, function: 0, inlined: false };
        Builder {
            profile,
            functions: Vec::new(),
            ids: Vec::new(),
            by_function: HashMap::new(),
            by_id: HashMap::new(),
            files: Vec::new(),
            by_file: HashMap::new(),
            nodes: vec![root],
            by_node: HashMap::new(),
            calls: vec![0],
            contexts: Vec::with_capacity(profile.contexts.len()),
            lines: Vec::new(),
            by_line: HashMap::new(),
            cells: HashMap::new(),
            cycles: cycles::Found::new(),
            clock: clock::Found::new(),
        }
    }

    fn file(&mut self, id: Option<StringId>) -> Option<u32> {
        let id = id?;
        let (files, profile) = (&mut self.files, self.profile);
        Some(*self.by_file.entry(id).or_insert_with(|| {
            files.push(profile.strings[id.index()].clone());
            files.len() as u32 - 1
        }))
    }

    fn function(&mut self, id: FunctionId) -> u32 {
        if let Some(number) = self.by_id.get(&id) {
            return *number;
        }
        let known = &self.profile.functions[id.index()];
        let (name, line) = (names::demangle(self.profile.symbol(id)), known.line);
        let function = Function { name, file: self.file(known.file), line };
        let (functions, ids) = (&mut self.functions, &mut self.ids);
        let number = *self.by_function.entry(function).or_insert_with_key(|function| {
            ids.push(id);
            functions.push(function.clone());
            functions.len() as u32 - 1
        });
        self.by_id.insert(id, number);
        number
    }

    fn node(&mut self, parent: u32, function: u32, inlined: bool) -> u32 {
        let node = Node { parent, function, inlined };
        let (nodes, calls) = (&mut self.nodes, &mut self.calls);
        *self.by_node.entry(node).or_insert_with(|| {
            nodes.push(node);
            calls.push(0);
            nodes.len() as u32 - 1
        })
    }

    /// Parents come before children.
    fn add_contexts(&mut self) {
        for context in &self.profile.contexts {
            let parent = context.parent.map_or(ROOT, |parent: ContextId| self.contexts[parent.index()]);
            let node = match context.function {
                None => parent,
                Some(id) => {
                    let function = self.function(id);
                    self.node(parent, function, false)
                }
            };
            self.calls[node as usize] += if context.function.is_some() { context.calls } else { 0 };
            self.contexts.push(node);
        }
    }

    fn add_cells(&mut self) {
        let profile = self.profile;
        for cell in &profile.cells {
            let site = &profile.sites[cell.site.index()];
            let key = self.place(cell.context, site.function, site.position);
            let numbers = self.cells.entry(key).or_default();
            numbers.add(cell);
            cell.lines.iter().flat_map(|lines| lines.first()).for_each(|moved| numbers.add_lines(moved));
        }
    }

    fn add_blocks(&mut self) {
        let profile = self.profile;
        for count in &profile.block_counts {
            let block = &profile.blocks[count.block.index()];
            for (position, ops) in &block.ops {
                let mut sums = Sums::default();
                sums.add_ops(count.executions, ops);
                if sums.all_ops() == 0 {
                    continue;
                }
                let key = self.place(count.context, block.function, *position);
                let numbers = self.cells.entry(key).or_default();
                numbers.flops += sums.flops();
                numbers.ops += sums.all_ops();
            }
        }
    }

    fn add_cycles(&mut self) {
        let profile = self.profile;
        for place in profile.cycles.iter().flat_map(|cycles| &cycles.places) {
            let key = self.code(place.function, place.position);
            add_cycles(self.cycles.entry(key).or_default(), &place.counts.cycles);
        }
    }

    fn add_clock(&mut self) {
        let profile = self.profile;
        for place in profile.clock.iter().flat_map(|clock| &clock.places) {
            let key = self.code(place.function, place.position);
            *self.clock.entry(key).or_default() += place.samples;
        }
    }

    /// Function and line that code in a linked function at a position counts for, in any calling context.
    fn code(&mut self, linked: FunctionId, position: Option<PositionId>) -> (u32, u32) {
        let chain = self.chain(position);
        let shown = self.shown(&chain);
        let function = chain.get(shown).map_or(linked, |p| self.profile.positions[p.index()].function);
        (self.function(function), self.line_of(linked, chain.get(shown).copied()))
    }

    /// A position, and those that it was inlined at.
    fn chain(&self, position: Option<PositionId>) -> Vec<PositionId> {
        std::iter::successors(position, |p| self.profile.positions[p.index()].inlined_at).collect()
    }

    /// Which of them code counts for: the innermost of the user's.
    fn shown(&self, chain: &[PositionId]) -> usize {
        let is_own = |p: &PositionId| {
            let file = self.profile.positions[p.index()].file.map(|id| self.profile.strings[id.index()].as_str());
            !file.is_some_and(is_library_file)
        };
        chain.iter().position(is_own).unwrap_or(chain.len().saturating_sub(1))
    }

    /// Node and line that code in a linked function at a position counts for, in a calling context.
    fn place(&mut self, context: ContextId, linked: FunctionId, position: Option<PositionId>) -> (u32, u32) {
        let mut node = self.contexts[context.index()];
        let here = &self.profile.contexts[context.index()];
        let chain = self.chain(position);
        let shown = self.shown(&chain);
        let outermost = chain.last().map_or(linked, |p| self.profile.positions[p.index()].function);
        let outermost = self.function(outermost);
        // The node of the linked function itself stands for the outermost frame, as its names are the same.
        if here.function.map(|function| self.function(function)) != Some(outermost) {
            if here.function == Some(linked) {
                node = self.nodes[node as usize].parent;
            }
            node = self.node(node, outermost, false);
        }
        for at in (shown..chain.len().saturating_sub(1)).rev() {
            let function = self.function(self.profile.positions[chain[at].index()].function);
            node = self.node(node, function, true);
        }
        (node, self.line_of(linked, chain.get(shown).copied()))
    }

    /// The line of a position, or that of code of a linked function that has none.
    fn line_of(&mut self, linked: FunctionId, position: Option<PositionId>) -> u32 {
        let line = match position.map(|p| &self.profile.positions[p.index()]) {
            Some(position) => {
                let function = self.function(position.function);
                Line { file: self.file(position.file), line: position.line, function }
            }
            None => {
                let file = self.file(self.profile.functions[linked.index()].file);
                Line { file, line: 0, function: self.function(linked) }
            }
        };
        self.line(line)
    }

    /// Lines of a file are one, whichever function is there.
    fn line(&mut self, line: Line) -> u32 {
        let key = Line { function: 0, ..line };
        let lines = &mut self.lines;
        *self.by_line.entry(key).or_insert_with(|| {
            lines.push(line);
            lines.len() as u32 - 1
        })
    }

    /// Lines in the order of functions, files and numbers, and cells by node and line: neighbours are alike then, and
    /// compress well.
    fn sorted(&mut self) -> Vec<((u32, u32), Numbers)> {
        let mut order: Vec<u32> = (0..self.lines.len() as u32).collect();
        order.sort_unstable_by_key(|&number| {
            let Line { file, line, function } = self.lines[number as usize];
            (function, file, line)
        });
        let mut place = vec![0; order.len()];
        for (at, &number) in order.iter().enumerate() {
            place[number as usize] = at as u32;
        }
        self.lines = order.iter().map(|&number| self.lines[number as usize]).collect();
        let found = std::mem::take(&mut self.cycles).into_iter();
        self.cycles = found.map(|((function, line), cycles)| ((function, place[line as usize]), cycles)).collect();
        let found = std::mem::take(&mut self.clock).into_iter();
        self.clock = found.map(|((function, line), samples)| ((function, place[line as usize]), samples)).collect();
        let cells = std::mem::take(&mut self.cells).into_iter();
        let mut cells: Vec<_> = cells.map(|((node, line), numbers)| ((node, place[line as usize]), numbers)).collect();
        cells.sort_unstable_by_key(|(key, _)| *key);
        cells
    }

    fn finish(mut self, prefix: &'static str, pack: &mut Pack) -> Described {
        let cells = self.sorted();
        let name = |column: &str| format!("{prefix}.{column}");
        pack.differences(name("node.parent"), self.nodes.iter().map(|node| node.parent));
        pack.differences(name("node.function"), self.nodes.iter().map(|node| node.function));
        pack.numbers(name("node.inlined"), self.nodes.iter().map(|node| node.inlined.into()));
        pack.numbers(name("node.calls"), self.calls.iter().map(|calls| (*calls).into()));
        let no_file = self.files.len() as u32;
        pack.differences(name("line.file"), self.lines.iter().map(|line| line.file.unwrap_or(no_file)));
        pack.differences(name("line.line"), self.lines.iter().map(|line| line.line));
        pack.differences(name("line.function"), self.lines.iter().map(|line| line.function));
        pack.differences(name("cell.node"), cells.iter().map(|((node, _), _)| *node));
        // Most lines of a node are of its function.
        let mut first = vec![0; self.functions.len()];
        for (number, line) in self.lines.iter().enumerate().rev() {
            first[line.function as usize] = number as u32;
        }
        let first_of = |node: u32| first.get(self.nodes[node as usize].function as usize).copied().unwrap_or(0);
        let lines = cells.iter().map(|((node, line), _)| i128::from(*line) - i128::from(first_of(*node)));
        pack.signed(name("cell.line"), lines);
        type Column = (&'static str, fn(&Numbers) -> u128);
        const COLUMNS: [Column; 10] = [
            ("cell.scale", |n| n.scale().into()),
            ("cell.executions", |n| if n.executions << n.scale() == n.read { 0 } else { n.executions + 1 }),
            ("cell.written", |n| match n.written {
                0 => 0,
                written if written == n.executions << n.scale() => 1,
                written => written + 2,
            }),
            ("cell.cold", |n| n.cold),
            ("cell.flops", |n| n.flops),
            ("cell.ops", |n| n.ops),
            ("cell.always", |n| n.always),
            ("depth.len", |n| n.depths.len() as u128),
            ("moved.len", |n| n.moved.len() as u128),
            // None: capacities are the depths.
            ("raised.len", |n| n.raised().map_or(0, BTreeMap::len) as u128),
        ];
        for (column, of) in COLUMNS {
            pack.numbers(name(column), cells.iter().map(|(_, numbers)| of(numbers)));
        }
        for (kind, hazard) in self.profile.hazards.iter().enumerate() {
            let of = |numbers: &Numbers| numbers.hazards.get(kind).copied().unwrap_or(0).into();
            pack.numbers(name(&format!("cell.{hazard}")), cells.iter().map(|(_, numbers)| of(numbers)));
        }
        // Read and cost are nearly what the depths say.
        pack.signed(name("cell.read"), cells.iter().map(|(_, n)| n.read as i128 - n.over_depths(|_| 1)));
        pack.signed(name("cell.cost"), cells.iter().map(|(_, n)| n.cost as i128 - n.over_depths(least_price)));
        let depths = || cells.iter().map(|(_, numbers)| &numbers.depths);
        let moved = || cells.iter().map(|(_, numbers)| &numbers.moved);
        pack.numbers(name("depth.bucket"), depths().flat_map(gaps));
        let scaled = |n: &'_ Numbers| {
            let scale = n.scale();
            n.depths.values().map(move |count| u128::from(count >> scale)).collect::<Vec<_>>()
        };
        pack.numbers(name("depth.count"), cells.iter().flat_map(|(_, numbers)| scaled(numbers)));
        let raised = || cells.iter().filter_map(|(_, numbers)| numbers.raised());
        pack.numbers(name("raised.bucket"), raised().flat_map(gaps));
        pack.numbers(name("raised.count"), raised().flat_map(BTreeMap::values).map(|count| (*count).into()));
        pack.numbers(name("moved.bucket"), moved().flat_map(gaps));
        pack.numbers(name("moved.count"), moved().flat_map(BTreeMap::values).map(|count| (*count).into()));
        let mut costs = vec![0; self.files.len()];
        for ((_, line), numbers) in &cells {
            if let Some(file) = self.lines[*line as usize].file {
                costs[file as usize] += numbers.cost;
            }
        }
        let mut numbered = vec![BTreeSet::new(); self.files.len()];
        for line in &self.lines {
            if let Some(file) = line.file {
                numbered[file as usize].insert(line.line);
            }
        }
        let cycles = self.profile.cycles.as_ref().and_then(|measured| cycles::describe(measured, &self.cycles));
        let describe = |measured| clock::describe(measured, report::clock::runs(self.profile), &self.clock);
        let clock = self.profile.clock.as_ref().map(describe);
        Described {
            ids: self.ids,
            costs,
            numbered,
            cycles,
            clock,
            ..described(self.profile, self.functions, self.files, prefix)
        }
    }
}

/// What a read from the smallest depth of a bucket costs. Beyond 2^52 the page's square root is not exact, and nothing
/// is as deep.
fn least_price(bucket: u16) -> i128 {
    match bounds(bucket).0 - 1 {
        before if before < 1 << 52 => i128::from(before.isqrt() + 1),
        _ => 0,
    }
}

/// The first bucket, and by how many buckets each one is further from the one before than it has to be.
fn gaps(histogram: &BTreeMap<u16, u64>) -> impl Iterator<Item = u128> {
    let mut next = 0;
    histogram.keys().map(move |bucket| {
        let gap = bucket - next;
        next = bucket + 1;
        gap.into()
    })
}

fn described(profile: &Profile, functions: Vec<Function>, files: Vec<String>, prefix: &'static str) -> Described {
    let (meta, totals) = (&profile.meta, &profile.totals);
    let region = |region: &crate::profile::model::Region| Region {
        name: region.name.clone(),
        times: region.times,
        reads: region.reads,
        cost: region.cost.to_string(),
        instructions: region.instructions,
        span: region.span,
        peak_live: region.peak_live,
        input_bytes: region.input_bytes,
    };
    Described {
        command: meta.command.clone(),
        model: meta.model.clone(),
        liveness: match meta.liveness {
            Liveness::None => "none",
            Liveness::Hints => "hints",
            Liveness::Exact => "exact",
        },
        roi: meta.roi.clone(),
        incomplete: profile.gaps(),
        outcome: match meta.outcome {
            Outcome::Exited(code) if code != 0 => Some(format!("the program ended with exit code {code}")),
            // Said by the gaps.
            _ => None,
        },
        threads: profile.coverage.threads,
        peak_live: totals.peak_live,
        footprint: totals.footprint,
        cost: totals.cost.to_string(),
        has_flows: profile.flows.is_some(),
        has_traffic: profile.has_capacities,
        has_objects: profile.objects.is_some(),
        line_size: profile.line_size(),
        smallest: SMALLEST,
        functions,
        files,
        regions: profile.regions.iter().map(region).collect(),
        cycles: None,
        clock: None,
        hazards: profile.hazards.clone(),
        prefix,
        ids: Vec::new(),
        costs: Vec::new(),
        numbered: Vec::new(),
    }
}

impl Numbers {
    fn add(&mut self, cell: &Cell) {
        self.executions += u128::from(cell.executions);
        self.read += u128::from(cell.read);
        self.written += u128::from(cell.written);
        self.cold += u128::from(cell.cold);
        self.cost += cell.cost;
        if let Some(hazards) = &cell.hazards {
            self.hazards.resize(hazards.len(), 0);
            self.hazards.iter_mut().zip(hazards).for_each(|(own, more)| *own += more);
        }
        add(&mut self.depths, &cell.depths.depths);
        add(&mut self.capacities, cell.depths.by_capacity());
    }

    /// Bytes by capacity, unless they are the same as by depth.
    fn raised(&self) -> Option<&BTreeMap<u16, u64>> {
        Some(&self.capacities).filter(|capacities| **capacities != self.depths)
    }

    /// A power of two that all counts of its depths have: mostly the bytes of an access, so that executions and what is
    /// written follow.
    fn scale(&self) -> u32 {
        const MOST: u32 = 6;
        let common = self.depths.values().map(|count| count.trailing_zeros()).min().unwrap_or(MOST).min(MOST);
        let moved = if self.read > 0 { self.read } else { self.written };
        (0..=common).find(|scale| self.executions << scale == moved).unwrap_or(common)
    }

    /// The sum over reads of a number that their bucket gives.
    fn over_depths(&self, of: impl Fn(u16) -> i128) -> i128 {
        self.depths.iter().map(|(bucket, count)| of(*bucket) * i128::from(*count)).sum()
    }

    fn add_lines(&mut self, lines: &LineCounts) {
        let LineCounts { loads, stores, write_backs, first_loads, first_stores, last_write_backs, .. } = lines;
        [loads, stores, write_backs].into_iter().for_each(|histogram| add(&mut self.moved, &histogram.depths));
        self.always += [first_loads, first_stores, last_write_backs].into_iter().map(|n| u128::from(*n)).sum::<u128>();
    }
}

fn add(sums: &mut BTreeMap<u16, u64>, counts: &Counts) {
    for (bucket, count) in counts {
        *sums.entry(*bucket).or_insert(0) += count;
    }
}
