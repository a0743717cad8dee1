//! The state of the values model: running functions with their registers, identities in memory, the log of the open
//! region.
//!
//! Takes segments' starts and ends; `steps`, `regions` and `events` say what else happens to it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    labels::Meaning,
    memory::Memory,
    options::ValueOptions,
    recorder::Recorder,
    region::{Filing, RegionTotals},
    tables::{ANY, Tables},
};
use crate::{
    abi::{Item, segment_flag},
    counts::cell::CellCounters,
    decode::{
        block::{BlockCounters, CellNumber},
        context::{ContextNumber, Contexts},
        locator::{FunctionNumber, Module, SegmentNumber},
        ring::RingTotals,
        roi::RegionOfInterest,
        sequences::Sequences,
    },
    hash::FastHash,
    shadow::ByteLabel,
    sites::{Segment, SiteTable},
};

/// A running function.
pub struct Frame {
    /// Where its registers start.
    pub(super) base: usize,
    /// It was called by code that waits for its results' identities.
    pub(super) answers: bool,
}

/// A call that has begun, until its callee starts or it returns.
pub struct Pending {
    pub(super) callee: u32,
    /// Running functions at the call.
    pub(super) depth: usize,
    /// It gets tracked values, or pointers to some.
    pub(super) shows_values: bool,
}

#[derive(Clone, Copy)]
pub struct Argument {
    pub(super) index: u16,
    pub(super) label: ByteLabel,
    pub(super) variable: bool,
}

#[derive(Clone, Copy)]
pub struct BytesArgument {
    pub(super) index: u16,
    pub(super) address: u64,
}

pub struct OpenRegion {
    pub(super) name: String,
    /// Regions inside it, which are part of it.
    pub(super) inner: Vec<String>,
}

pub struct Core {
    pub(super) options: ValueOptions,
    pub(super) contexts: Contexts,
    pub(super) sequences: Option<Box<Sequences>>,
    pub(super) frames: Vec<Frame>,
    pub(super) registers: Vec<ByteLabel>,
    pub(super) blocks: Vec<BlockCounters>,
    pub(super) block_of: HashMap<(ContextNumber, SegmentNumber), u32, FastHash>,
    pub(super) last_block: Option<(ContextNumber, SegmentNumber, u32)>,
    pub(super) cells: Vec<CellCounters>,
    pub(super) memory: Memory,
    pub(super) recorder: Recorder,
    pub(super) filing: Filing,
    pub(super) open: Option<OpenRegion>,
    /// Declarations wait here for the region to begin.
    pub(super) declarations: Vec<(u64, u64)>,
    pub(super) regions: BTreeMap<String, RegionTotals>,
    pub(super) pending: Option<Pending>,
    pub(super) arguments: Vec<Argument>,
    pub(super) bytes_arguments: Vec<BytesArgument>,
    /// Address and bytes of what arguments point to.
    pub(super) pointers: Vec<(u64, u64)>,
    /// Arguments of the next call are being gathered.
    pub(super) gathering: bool,
    /// The function that just started was called by code that follows values.
    pub(super) claimed: bool,
    /// Identities of results, and how many functions were running at the call they answer.
    pub(super) results: Vec<(u16, ByteLabel)>,
    pub(super) results_for: Option<usize>,
    /// Calls of code that does not follow values, with tracked arguments, by name.
    pub(super) unfollowed: BTreeMap<String, u64>,
    pub(super) problems: Vec<String>,
    /// Of the open region: [`RegionTotals::early_reads`].
    pub(super) early_reads: u64,
    pub(super) totals: RingTotals,
    pub(super) operands: Vec<u32>,
    pub(super) phis: Vec<(u32, ByteLabel)>,
    /// First segments of modules, for the places in listings.
    pub(super) listed: Vec<(SegmentNumber, Arc<SiteTable>)>,
}

/// The record at hand.
#[derive(Clone, Copy)]
pub struct Block {
    pub(super) segment: SegmentNumber,
    pub(super) function: FunctionNumber,
    pub(super) items: usize,
}

impl Core {
    pub fn new(options: ValueOptions, sequence: Option<Arc<dyn RegionOfInterest>>) -> Self {
        let recorder = Recorder::new(options.log_memory);
        Self {
            options,
            contexts: Contexts::default(),
            sequences: sequence.map(|chosen| Box::new(Sequences::new(chosen))),
            frames: Vec::new(),
            registers: Vec::new(),
            blocks: Vec::new(),
            block_of: HashMap::default(),
            last_block: None,
            cells: Vec::new(),
            memory: Memory::default(),
            recorder,
            filing: Filing::default(),
            open: None,
            declarations: Vec::new(),
            regions: BTreeMap::new(),
            pending: None,
            arguments: Vec::new(),
            bytes_arguments: Vec::new(),
            pointers: Vec::new(),
            early_reads: 0,
            gathering: false,
            claimed: false,
            results: Vec::new(),
            results_for: None,
            unfollowed: BTreeMap::new(),
            problems: Vec::new(),
            totals: RingTotals::default(),
            operands: Vec::new(),
            phis: Vec::new(),
            listed: Vec::new(),
        }
    }

    /// Takes note of a module.
    pub(super) fn add(&mut self, module: &Module, tables: &mut Tables) {
        tables.add(module);
        if self.options.listing.is_some() {
            self.listed.push((module.first_segment, module.placed.table.clone()));
        }
        if let Some(sequences) = &mut self.sequences {
            sequences.add_module(module);
        }
    }

    pub(super) fn segment(&mut self, segment: &Segment, items: &[Item], record: &[u64], place: Block, tables: &Tables) {
        let flags = segment.flags;
        let cookie = || record[record.len() - 1];
        let (name, registers) = tables.functions[place.function.index()];
        if flags & segment_flag::ENTER != 0 {
            let cookie = if flags & segment_flag::COOKIE != 0 { cookie() } else { 0 };
            let depth = self.contexts.depth();
            let node = self.contexts.enter(place.function, cookie, false);
            self.contexts.nodes[node.index()].calls += u64::from(self.open.is_some());
            if let Some(sequences) = &mut self.sequences {
                sequences.entered(self.contexts.caller(), place.function, self.open.is_some());
            }
            self.claimed = self.claim(depth, name, tables);
            self.frames.truncate(depth);
            self.push_frame(registers, self.claimed);
        } else if flags & segment_flag::LANDING != 0 {
            let _ = self.contexts.land(place.function, cookie());
            self.align_frames(registers);
        } else if self.contexts.function() != Some(place.function) {
            self.contexts.resume(place.function);
            self.align_frames(registers);
        }
        if self.open.is_some() {
            self.steps(items, record, place, tables);
        } else if !self.declarations.is_empty() {
            self.steps_before(items, record);
        }
        if flags & segment_flag::EXIT != 0 {
            self.contexts.exit(place.function);
            self.align_frames(0);
        }
    }

    /// Whether the function that starts is the one that the pending call named.
    fn claim(&mut self, depth: usize, name: u32, tables: &Tables) -> bool {
        let Some(pending) = self.pending.take_if(|p| p.depth == depth) else { return false };
        if pending.callee != ANY && pending.callee != name {
            // Code that follows no values calls back.
            self.not_followed(&pending, tables);
            return false;
        }
        if self.arguments.iter().any(|a| a.variable && self.is_tracked(a.label)) {
            let callee = tables.names.get(pending.callee as usize).map_or("a function", String::as_str);
            *self.unfollowed.entry(format!("{callee} (variable arguments)")).or_default() += 1;
        }
        (self.results_for, self.results) = (None, std::mem::take(&mut self.results));
        self.results.clear();
        true
    }

    fn push_frame(&mut self, registers: u32, answers: bool) {
        let base = self.frames.last().map_or(0, |_| self.registers.len());
        if self.frames.is_empty() {
            self.registers.clear();
        }
        self.registers.resize(base + registers as usize + 1, 0);
        self.frames.push(Frame { base, answers });
    }

    /// Drops frames whose functions have ended, and adds one for a function whose start was not seen.
    pub(super) fn align_frames(&mut self, registers: u32) {
        let depth = self.contexts.depth();
        if self.frames.len() > depth {
            let end = self.frames[depth].base;
            self.frames.truncate(depth);
            self.registers.truncate(end);
        }
        while self.frames.len() < depth {
            self.push_frame(registers, false);
        }
    }

    /// Cell of an item of the record at hand.
    #[inline]
    pub(super) fn cell(&mut self, place: Block, item: usize) -> u32 {
        let node = self.contexts.current();
        if let Some((last_node, last_segment, first)) = self.last_block
            && (last_node, last_segment) == (node, place.segment)
        {
            return first + item as u32;
        }
        let next = self.blocks.len() as u32;
        let block = *self.block_of.entry((node, place.segment)).or_insert(next);
        if block == next {
            let first_cell = CellNumber::new(self.cells.len());
            self.blocks.push(BlockCounters { node, segment: place.segment, executions: 0, first_cell, moved: 0 });
            self.cells.resize_with(self.cells.len() + place.items, CellCounters::default);
        }
        let first = self.blocks[block as usize].first_cell.index() as u32;
        self.last_block = Some((node, place.segment, first));
        first + item as u32
    }

    #[inline]
    pub(super) fn is_tracked(&self, label: ByteLabel) -> bool {
        !matches!(self.memory.labels.meaning(label), Meaning::Nothing)
    }
}
