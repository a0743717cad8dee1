//! The state of the values model: running functions with their registers, identities in memory, the log of the open
//! region.
//!
//! Takes segments' starts and ends; `steps`, `regions` and `events` say what else happens to it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    early::{Phis, follow_early},
    handover::Handover,
    memory::Memory,
    options::ValueOptions,
    problems::Problems,
    recorder::Recorder,
    region::{Filing, RegionTotals},
    tables::Tables,
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
    pub(super) handover: Handover,
    pub(super) problems: Problems,
    /// Of the open region: [`RegionTotals::early_reads`].
    pub(super) early_reads: u64,
    pub(super) totals: RingTotals,
    pub(super) operands: Vec<u32>,
    pub(super) phis: Phis,
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
            handover: Handover::default(),
            problems: Problems::default(),
            early_reads: 0,
            totals: RingTotals::default(),
            operands: Vec::new(),
            phis: Phis::default(),
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
            let labels = &self.memory.labels;
            self.handover.claimed = self.handover.claim(depth, name, tables, |label| labels.is_tracked(label));
            self.frames.truncate(depth);
            self.push_frame(registers, self.handover.claimed);
        } else if flags & segment_flag::LANDING != 0 {
            let _ = self.contexts.land(place.function, cookie());
            self.align_frames(registers);
        } else if self.contexts.function() != Some(place.function) {
            self.contexts.resume(place.function);
            self.align_frames(registers);
        }
        if self.open.is_some() {
            self.steps(items, record, place, tables);
        } else if !self.declarations.is_empty()
            && let Some(frame) = self.frames.last()
        {
            follow_early(&self.declarations, items, record, &mut self.phis, &mut self.registers[frame.base..]);
        }
        if flags & segment_flag::EXIT != 0 {
            self.contexts.exit(place.function);
            self.align_frames(0);
        }
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
}
