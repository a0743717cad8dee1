//! Call stacks with a number per metric.
//!
//! Takes a [`Profile`], gives each distinct stack once: the calling context from the thread's start, then the chain of
//! inlined functions, then the line of the access. The values of all stacks add up to the program's totals exactly.
//!
//! Code that was inlined from the standard library or system headers counts for the innermost frame of the user's, as
//! in reports, unless [`Inlined::All`] is asked for.
//!
//! Limit: a calling context names linked functions and not the lines that called, so a frame that is not the innermost
//! linked function has no line, except where code was inlined.

use std::collections::{BTreeMap, HashMap};

use crate::profile::Profile;
use crate::profile::model::{Block, Cell, ContextId, FunctionId, PositionId, Site, StringId};
use crate::{
    gate::{metric::Metric, summary::Numbers},
    report::{Inlined, Sums, numbers::SumsContext},
    shared::names::{self, is_library_file},
};

/// Index into [`Stacks::functions`].
pub type FunctionIndex = usize;

/// A function as a person sees it; instances that look the same are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Demangled.
    pub name: String,
    /// Where it is defined.
    pub file: Option<String>,
    pub line: u32,
    /// The linkage name, of the first instance.
    pub symbol: String,
}

/// One level of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    pub function: FunctionIndex,
    /// The line that is executed, in [`Frame::file`]; 0 if it is not known.
    pub line: u32,
    /// The file of that line, where it is known.
    pub file: Option<StringId>,
    /// The frame below the next one because that was inlined here, and not because it was called.
    pub inlines_next: bool,
}

/// One stack and what it cost.
#[derive(Clone, Debug)]
pub struct Stack {
    /// Outermost first; never empty.
    pub frames: Vec<Frame>,
    /// In the order of [`Stacks::metrics`].
    pub values: Vec<u128>,
}

/// How often a linked function was called by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    pub caller: FunctionIndex,
    pub callee: FunctionIndex,
}

pub struct Stacks<'p> {
    pub profile: &'p Profile,
    pub metrics: Vec<Metric>,
    pub functions: Vec<Function>,
    /// Sorted by frames.
    pub list: Vec<Stack>,
    /// Sums over all stacks.
    pub totals: Vec<u128>,
    pub calls: BTreeMap<Edge, u128>,
}

impl<'p> Stacks<'p> {
    /// All stacks with at least one number that is not zero.
    #[must_use]
    pub fn from_profile(profile: &'p Profile, metrics: &[Metric], inlined: Inlined) -> Stacks<'p> {
        let mut builder = Builder::new(profile, metrics, inlined);
        for cell in &profile.cells {
            builder.add_cell(cell, &profile.sites[cell.site.index()]);
        }
        for count in &profile.block_counts {
            builder.add_block(count.context, &profile.blocks[count.block.index()], count.executions);
        }
        builder.finish()
    }

    #[must_use]
    pub fn text(&self, id: Option<StringId>) -> Option<&'p str> {
        id.map(|id| self.profile.strings[id.index()].as_str())
    }

    /// The file of a frame's line: its own, else its function's.
    #[must_use]
    pub fn file(&self, frame: &Frame) -> Option<&str> {
        self.text(frame.file).or(self.functions[frame.function].file.as_deref())
    }

    /// A frame's line, else the one where its function is defined; 0 if neither is known.
    #[must_use]
    pub fn line(&self, frame: &Frame) -> u32 {
        if frame.line > 0 { frame.line } else { self.functions[frame.function].line }
    }
}

struct Builder<'p> {
    profile: &'p Profile,
    metrics: Vec<Metric>,
    inlined: Inlined,
    functions: Vec<Function>,
    by_look: HashMap<(String, Option<String>, u32), FunctionIndex>,
    by_id: HashMap<FunctionId, FunctionIndex>,
    stacks: BTreeMap<Vec<Frame>, Sums>,
}

impl<'p> Builder<'p> {
    fn new(profile: &'p Profile, metrics: &[Metric], inlined: Inlined) -> Self {
        let (functions, by_look, by_id, stacks) = Default::default();
        Builder { profile, metrics: metrics.to_vec(), inlined, functions, by_look, by_id, stacks }
    }

    fn add_cell(&mut self, cell: &Cell, site: &Site) {
        let frames = self.frames(cell.context, site.function, site.position);
        self.stacks.entry(frames).or_default().add(cell.read, &cell.counts);
    }

    fn add_block(&mut self, context: ContextId, block: &Block, executions: u64) {
        for (position, ops) in &block.ops {
            let frames = self.frames(context, block.function, *position);
            self.stacks.entry(frames).or_default().add_ops(executions, ops);
        }
    }

    /// The stack of code in a linked function at a position, in a calling context.
    fn frames(&mut self, context: ContextId, linked: FunctionId, position: Option<PositionId>) -> Vec<Frame> {
        let mut frames = self.callers(context, linked);
        let chain = self.chain(position);
        if chain.is_empty() {
            let function = self.function(linked);
            frames.push(Frame { function, line: 0, file: None, inlines_next: false });
        }
        let last = chain.len().saturating_sub(1);
        for (at, id) in chain.into_iter().enumerate() {
            let position = &self.profile.positions[id.index()];
            let function = self.function(position.function);
            frames.push(Frame { function, line: position.line, file: position.file, inlines_next: at < last });
        }
        frames
    }

    /// The positions of an inline chain that become frames, outermost first.
    fn chain(&self, position: Option<PositionId>) -> Vec<PositionId> {
        let positions = &self.profile.positions;
        let mut chain: Vec<PositionId> = std::iter::successors(position, |p| positions[p.index()].inlined_at).collect();
        let file = |p: &PositionId| positions[p.index()].file.map(|id| self.profile.strings[id.index()].as_str());
        let innermost = match self.inlined {
            Inlined::All => 0,
            Inlined::Linked => chain.len().saturating_sub(1),
            Inlined::Own => {
                let own = chain.iter().position(|p| !file(p).is_some_and(is_library_file));
                own.unwrap_or(chain.len().saturating_sub(1))
            }
        };
        chain.drain(..innermost);
        chain.reverse();
        chain
    }

    /// The linked functions above the one that holds the code.
    fn callers(&mut self, context: ContextId, linked: FunctionId) -> Vec<Frame> {
        let contexts = &self.profile.contexts;
        let up = std::iter::successors(Some(context), |at| contexts[at.index()].parent);
        let mut chain: Vec<FunctionId> = up.filter_map(|at| contexts[at.index()].function).collect();
        // The innermost linked function has a frame of its own, with its line.
        if chain.first() == Some(&linked) {
            chain.remove(0);
        }
        chain.reverse();
        let frame = |function| Frame { function, line: 0, file: None, inlines_next: false };
        chain.into_iter().map(|id| frame(self.function(id))).collect()
    }

    fn function(&mut self, id: FunctionId) -> FunctionIndex {
        if let Some(index) = self.by_id.get(&id) {
            return *index;
        }
        let function = &self.profile.functions[id.index()];
        let symbol = self.profile.symbol(id);
        let name = names::demangle(symbol);
        let file = function.file.map(|file| self.profile.strings[file.index()].clone());
        let functions = &mut self.functions;
        let index = *self.by_look.entry((name.clone(), file.clone(), function.line)).or_insert_with(|| {
            functions.push(Function { name, file, line: function.line, symbol: symbol.into() });
            functions.len() - 1
        });
        self.by_id.insert(id, index);
        index
    }

    fn calls(&mut self) -> BTreeMap<Edge, u128> {
        let mut calls = BTreeMap::new();
        let profile = self.profile;
        for context in &profile.contexts {
            let caller = context.parent.and_then(|parent| profile.contexts[parent.index()].function);
            if let (Some(caller), Some(callee)) = (caller, context.function) {
                let edge = Edge { caller: self.function(caller), callee: self.function(callee) };
                *calls.entry(edge).or_insert(0) += u128::from(context.calls);
            }
        }
        calls
    }

    fn finish(mut self) -> Stacks<'p> {
        let calls = self.calls();
        let none = Sums::default();
        let of = SumsContext { profile: self.profile, total: &none };
        let stack = |(frames, sums): (Vec<Frame>, Sums)| {
            let numbers = Numbers::from_sums(&sums, of);
            Stack { frames, values: self.metrics.iter().map(|metric| numbers.of(*metric)).collect() }
        };
        let list: Vec<Stack> =
            self.stacks.into_iter().map(stack).filter(|stack| stack.values.iter().any(|n| *n > 0)).collect();
        let mut totals = vec![0u128; self.metrics.len()];
        for stack in &list {
            totals.iter_mut().zip(&stack.values).for_each(|(total, value)| *total += value);
        }
        Stacks { profile: self.profile, metrics: self.metrics, functions: self.functions, list, totals, calls }
    }
}
