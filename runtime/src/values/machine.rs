//! Replays the records of one ring for the values model: follows identities through registers, memory, calls and returns.
//!
//! Takes words in the layout of [`crate::abi`] with the steps of [`crate::steps`], gives a [`RingResult`]. Nothing is tracked while
//! no region is open. A program without region markers is one region as a whole.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    CONSTANT, EARLY, FmaRule, RegionTotals, ValueOptions,
    labels::Meaning,
    listing::{Lister, PlaceOf},
    memory::Memory,
    price::{self, Priced, Values},
    recorder::Recorder,
    region::Filing,
};
use crate::{
    abi::{EventKind, Item, ItemKind, NONE, item_flag, marker, segment_flag},
    session::{
        RegionOfInterest,
        analyzer::{BlockCounters, ModuleSource, RingResult, RingTotals},
        context::{Contexts, Node},
        counters::{CellCounters, DepthCounts},
        hash::FastHash,
        locator::{Locator, Module},
        records::{self, Event},
        sequences::Sequences,
    },
    shadow::Label,
    sites::{Segment, SiteTable},
    steps::{Registers, StepKind, ValueOp, accessed_register},
};

/// Name of the region that a program without markers is.
pub const WHOLE_RUN: &str = "whole run";
/// A callee that is only known when the program runs.
const ANY: u32 = u32::MAX;

pub struct Machine {
    locator: Locator,
    tables: Tables,
    core: Core,
}

/// What is static, by numbers that are unique in the ring.
#[derive(Default)]
struct Tables {
    names: Vec<String>,
    name_of: HashMap<String, u32>,
    /// By segment: name of the callee, or [`ANY`].
    callees: Vec<u32>,
    /// By function: its name, and registers of an activation.
    functions: Vec<(u32, u32)>,
    declares_regions: bool,
    declares_inputs: bool,
    /// Constants of the modules: (address, bytes).
    read_only: Vec<(u64, u64)>,
}

impl Tables {
    fn name(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.name_of.get(text) {
            return known;
        }
        let new = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.name_of.insert(text.to_owned(), new);
        new
    }

    fn add(&mut self, module: &Module) {
        let table = &module.placed.table;
        for segment in &table.segments {
            let callee = table.strings.get(segment.callee as usize).filter(|_| segment.callee != NONE);
            let name = callee.map_or(ANY, |text| self.name(text));
            self.callees.push(name);
        }
        for function in &table.functions {
            let name = self.name(table.strings.get(function.name as usize).map_or("?", String::as_str));
            self.functions.push((name, function.registers));
        }
        let bias = module.placed.low.wrapping_sub(table.section_address);
        self.read_only.extend(table.read_only.iter().map(|(start, len)| (start.wrapping_add(bias), *len)));
        self.declares_regions |= table.has_marker(marker::BEGIN);
        self.declares_inputs |= table.has_marker(marker::INPUT);
    }
}

/// A running function.
struct Frame {
    /// Where its registers start.
    base: usize,
    /// It was called by code that waits for its results' identities.
    answers: bool,
}

/// A call that has begun, until its callee starts or it returns.
struct Pending {
    callee: u32,
    /// Running functions at the call.
    depth: usize,
    /// It gets tracked values, or pointers to some.
    shows_values: bool,
}

#[derive(Clone, Copy)]
struct Argument {
    index: u16,
    label: Label,
    variable: bool,
}

#[derive(Clone, Copy)]
struct BytesArgument {
    index: u16,
    address: u64,
}

struct OpenRegion {
    name: String,
    /// Regions inside it, which are part of it.
    inner: Vec<String>,
}

struct Core {
    options: ValueOptions,
    contexts: Contexts,
    sequences: Option<Box<Sequences>>,
    frames: Vec<Frame>,
    registers: Vec<Label>,
    blocks: Vec<BlockCounters>,
    block_of: HashMap<(Node, u32), u32, FastHash>,
    last_block: (Node, u32, u32),
    cells: Vec<CellCounters>,
    memory: Memory,
    recorder: Recorder,
    filing: Filing,
    open: Option<OpenRegion>,
    /// Declarations wait here for the region to begin.
    declarations: Vec<(u64, u64)>,
    regions: BTreeMap<String, RegionTotals>,
    pending: Option<Pending>,
    arguments: Vec<Argument>,
    bytes_arguments: Vec<BytesArgument>,
    /// Address and bytes of what arguments point to.
    pointers: Vec<(u64, u64)>,
    /// Arguments of the next call are being gathered.
    gathering: bool,
    /// The function that just started was called by code that follows values.
    claimed: bool,
    /// Identities of results, and how many functions were running at the call they answer.
    results: Vec<(u16, Label)>,
    results_for: Option<usize>,
    /// Calls of code that does not follow values, with tracked arguments, by name.
    unfollowed: BTreeMap<String, u64>,
    problems: Vec<String>,
    /// Of the open region: [`RegionTotals::early_reads`].
    early_reads: u64,
    totals: RingTotals,
    operands: Vec<u32>,
    phis: Vec<(u32, Label)>,
    /// First segments of modules, for the places in listings.
    listed: Vec<(u32, Arc<SiteTable>)>,
}

/// Where a step stands.
#[derive(Clone, Copy)]
struct At<'a> {
    index: usize,
    place: Place,
    record: &'a [u64],
}

/// The record at hand.
#[derive(Clone, Copy)]
struct Place {
    segment: u32,
    function: u32,
    items: usize,
}

/// Where each cell's code is: ` at FILE:LINE`, or nothing.
fn places(blocks: &[BlockCounters], modules: &[(u32, Arc<SiteTable>)], cells: usize, place: &PlaceOf) -> Vec<String> {
    let mut places = vec![String::new(); cells];
    for block in blocks {
        let Some((first, table)) = modules.iter().rfind(|(first, _)| *first <= block.segment) else { continue };
        let items = table.segments[(block.segment - first) as usize].items.clone();
        let items = &table.items[items.start as usize..items.end as usize];
        for (item, text) in items.iter().zip(&mut places[block.first_cell as usize..]) {
            if let Some(known) = place(table, item.frame) {
                *text = format!(" at {known}");
            }
        }
    }
    places
}

/// No kernel has a copy, a block or an output as large as that; a damaged or hostile record would take forever.
const MOST_BYTES: u64 = 1 << 28;

impl Machine {
    #[must_use]
    pub fn new(options: ValueOptions, sequence: Option<Arc<dyn RegionOfInterest>>) -> Self {
        let recorder = Recorder::new(options.log_memory);
        let core = Core {
            options,
            contexts: Contexts::default(),
            sequences: sequence.map(|chosen| Box::new(Sequences::new(chosen))),
            frames: Vec::new(),
            registers: Vec::new(),
            blocks: Vec::new(),
            block_of: HashMap::default(),
            last_block: (0, u32::MAX, 0),
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
        };
        Self { locator: Locator::default(), tables: Tables::default(), core }
    }

    /// Replays a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        let lost = records::each(words, |rest| self.record(rest, source));
        self.core.totals.replayed(words, lost);
    }

    fn record(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let head = rest[0];
        if head >> 48 != 0 {
            return self.event(rest, source);
        }
        let (module, number) = self.locator.locate(head, source, |m| self.core.add(m, &mut self.tables))?;
        if !self.core.totals.active {
            self.core.start(&self.tables);
        }
        let module = &self.locator.modules[module];
        let table = &module.placed.table;
        let segment = &table.segments[number as usize];
        let len = usize::from(segment.words);
        if len > rest.len() || len == 0 {
            return None;
        }
        let items = if table.functions[segment.function as usize].values {
            &table.items[segment.items.start as usize..segment.items.end as usize]
        } else {
            // Code that was instrumented for the memory model follows no values.
            &[]
        };
        let place = Place {
            segment: module.first_segment + number,
            function: module.first_function + segment.function,
            items: items.len(),
        };
        self.core.segment(segment, items, &rest[..len], place, &self.tables);
        Some(len)
    }

    fn event(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let event = Event::of(rest)?;
        let mut place = None;
        if event.site != 0 {
            let (module, number) = self.locator.locate(event.site, source, |m| self.core.add(m, &mut self.tables))?;
            let module = &self.locator.modules[module];
            let function = module.first_function + module.placed.table.segments[number as usize].function;
            place = Some(Place { segment: module.first_segment + number, function, items: 1 });
        }
        let operand = |i| event.operand(i);
        let core_is_open = self.core.open.is_some();
        // Lengths of what is walked byte by byte.
        let walked: &[usize] = match event.kind {
            k if k == EventKind::Copy as u8 => &[3],
            k if k == EventKind::Relocate as u8 => &[2, 4],
            k if [EventKind::Output, EventKind::Read, EventKind::Write].map(|k| k as u8).contains(&k) => &[2],
            _ => &[],
        };
        if core_is_open && walked.iter().any(|&at| operand(at).is_some_and(|len| len > MOST_BYTES)) {
            return None;
        }
        let core = &mut self.core;
        match event.kind {
            k if k == EventKind::Input as u8 => core.input(operand(1)?, operand(2)?),
            k if k == EventKind::RegionBegin as u8 => core.begin(event.name(1)?, &self.tables),
            k if k == EventKind::RegionEnd as u8 => core.end(&event.name(1)?),
            k if k == EventKind::FreeUnknown as u8 => core.totals.unknown_frees += 1,
            k if k == EventKind::Output as u8 => core.output(operand(1)?, operand(2)?),
            k if k == EventKind::Restart as u8 => {
                core.contexts.restart();
                core.align_frames(0);
            }
            k if core.open.is_none() && k == EventKind::Alloc as u8 => {
                core.memory.note_block(operand(1)?, operand(2)?, true);
            }
            k if core.open.is_none() && k == EventKind::Free as u8 => {
                core.memory.note_block(operand(1)?, operand(2)?, false);
            }
            k if core.open.is_none() && k == EventKind::Relocate as u8 => {
                core.memory.note_block(operand(1)?, operand(2)?, false);
                core.memory.note_block(operand(3)?, operand(4)?, true);
            }
            _ if core.open.is_none() => {}
            k if k == EventKind::Read as u8 => core.library_read(place, operand(1)?, operand(2)?, &self.tables),
            k if k == EventKind::Write as u8 => core.memory.deliver(operand(1)?, operand(2)?),
            k if k == EventKind::Copy as u8 => core.memory.copy(operand(1)?, operand(2)?, operand(3)?),
            k if k == EventKind::Mapped as u8 => {}
            k if k == EventKind::Alloc as u8 => core.memory.forget(operand(1)?, operand(2)?, true),
            k if k == EventKind::Free as u8 => core.memory.forget(operand(1)?, operand(2)?, false),
            k if k == EventKind::Relocate as u8 => {
                let (from, from_len, to, to_len) = (operand(1)?, operand(2)?, operand(3)?, operand(4)?);
                core.memory.note_block(from, from_len, false);
                core.memory.note_block(to, to_len, true);
                if from != to {
                    core.memory.copy(to, from, from_len.min(to_len));
                }
            }
            _ => return None,
        }
        Some(event.len())
    }

    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.core.totals.accesses + self.core.recorder.instructions + self.core.recorder.escapes
    }

    /// Ends the replay and gives up the counters.
    #[must_use]
    pub fn finish(mut self) -> RingResult {
        self.core.finish();
        self.core.cells.iter_mut().for_each(CellCounters::flush);
        let core = self.core;
        RingResult {
            modules: self.locator.modules,
            contexts: core.contexts,
            blocks: core.blocks,
            cells: core.cells,
            cold: DepthCounts::default(),
            totals: core.totals,
            regions: core.regions.into_values().collect(),
            unfollowed: core.unfollowed,
            problems: core.problems,
            followed: None,
            window: None,
            objects: None,
            motion: None,
            sequences: core.sequences.map_or_else(BTreeMap::new, |sequences| sequences.finish()),
            exact_error: None,
        }
    }
}

/// Regions, inputs and outputs.
impl Core {
    /// The first record: a program without markers is one region.
    fn start(&mut self, tables: &Tables) {
        self.totals.active = true;
        if !tables.declares_regions {
            self.begin(WHOLE_RUN.to_owned(), tables);
        }
    }

    fn input(&mut self, address: u64, len: u64) {
        if self.open.is_none() {
            self.declarations.push((address, len));
        } else {
            self.declare(address, len);
        }
    }

    fn declare(&mut self, address: u64, len: u64) {
        if !self.memory.declare(address, len) {
            self.problem(format!(
                "dmdprof_input({address:#x}, {len}) overlaps an input declared before; declare each byte once"
            ));
        }
    }

    fn problem(&mut self, text: String) {
        if self.problems.len() < 20 && !self.problems.contains(&text) {
            self.problems.push(text);
        }
    }

    fn begin(&mut self, name: String, tables: &Tables) {
        self.totals.roi_seen = true;
        if let Some(open) = &mut self.open {
            open.inner.push(name);
            return;
        }
        self.memory.start_region(!tables.declares_inputs);
        self.memory.read_only.clone_from(&tables.read_only);
        self.open = Some(OpenRegion { name, inner: Vec::new() });
        for (address, len) in std::mem::take(&mut self.declarations) {
            self.declare(address, len);
        }
    }

    fn end(&mut self, name: &str) {
        let Some(open) = &mut self.open else {
            return self.problem(format!("region {name} ended but had not begun"));
        };
        if open.inner.last().is_some_and(|inner| inner == name) {
            open.inner.pop();
        } else if open.name == name {
            let crossed = open.inner.last().cloned();
            self.close(0);
            if let Some(inner) = crossed {
                self.problem(format!("region {name} ended while {inner} was open; regions must nest"));
            }
        } else {
            let open = open.name.clone();
            self.problem(format!("region {name} ended while {open} was open; regions must nest"));
        }
    }

    fn output(&mut self, address: u64, len: u64) {
        if self.open.is_none() {
            return self.problem("dmdprof_output outside any region has no effect; call it before dmdprof_end".into());
        }
        let values = self.memory.values(address, len, &mut self.recorder);
        self.recorder.keep(&values);
    }

    /// Prices the open region.
    fn close(&mut self, unfinished: u64) {
        let Some(region) = self.open.take() else { return };
        let mut totals = RegionTotals {
            name: region.name,
            times: 1,
            escapes: self.recorder.escapes,
            instructions: self.recorder.instructions,
            ops: self.recorder.ops,
            span_outputs: u64::from(self.recorder.deepest_output),
            first_use_inputs: self.memory.first_use,
            unfinished,
            early_reads: std::mem::take(&mut self.early_reads),
            ..RegionTotals::default()
        };
        match self.price(&mut totals) {
            Ok(priced) => {
                totals.peak_live = priced.peak_live;
                totals.input_bytes = priced.input_bytes;
                for (_, bytes) in self.memory.declared_without(&priced.used_declarations) {
                    totals.unread_inputs += 1;
                    totals.unread_bytes += bytes;
                }
            }
            Err(error) => self.problems.push(format!("cannot read the log of region {}: {error}", totals.name)),
        }
        if let Some(failed) = self.recorder.failed.take() {
            self.problems.push(format!("region {}: {failed}", totals.name));
        }
        self.totals.accesses += totals.instructions + totals.escapes;
        self.totals.peak_live = self.totals.peak_live.max(totals.peak_live);
        self.totals.footprint += totals.input_bytes;
        match self.regions.get_mut(&totals.name) {
            Some(known) => known.merge(&totals),
            None => {
                self.regions.insert(totals.name.clone(), totals);
            }
        }
        self.recorder.clear();
        self.memory.end_region();
        self.registers.fill(0);
        (self.pending, self.results_for) = (None, None);
    }

    fn price(&mut self, totals: &mut RegionTotals) -> std::io::Result<Priced> {
        let recorder = &mut self.recorder;
        let next = recorder.next();
        let mut chain: Vec<u32> = Vec::new();
        let mut values = Values {
            next,
            depths: &recorder.depths,
            inputs: &mut recorder.inputs,
            one_size: self.options.element,
            deepest: recorder.deepest,
        };
        self.filing.start(self.cells.len(), self.options.element);
        let priced = match self.options.listing.clone() {
            None => price::price(&mut recorder.log, &mut values, &mut self.filing, |cell| chain.push(cell)),
            Some(listing) => {
                let places = listing
                    .place
                    .as_deref()
                    .map_or_else(Vec::new, |place| places(&self.blocks, &self.listed, self.cells.len(), place));
                let mut lister = Lister::start(&listing, &totals.name, places, &mut self.filing);
                let priced = price::price(&mut recorder.log, &mut values, &mut lister, |cell| chain.push(cell));
                lister.finish();
                priced
            }
        };
        self.filing.finish(&mut self.cells, totals);
        totals.span = chain.len() as u64;
        chain.into_iter().for_each(|cell| self.cells[cell as usize].span += 1);
        priced
    }

    fn finish(&mut self) {
        let is_whole = self.open.as_ref().is_some_and(|r| r.name == WHOLE_RUN);
        self.close(u64::from(!is_whole));
    }
}

/// Running functions.
impl Core {
    /// Takes note of a module.
    fn add(&mut self, module: &Module, tables: &mut Tables) {
        tables.add(module);
        if self.options.listing.is_some() {
            self.listed.push((module.first_segment, module.placed.table.clone()));
        }
        if let Some(sequences) = &mut self.sequences {
            sequences.add_module(module);
        }
    }

    fn segment(&mut self, segment: &Segment, items: &[Item], record: &[u64], place: Place, tables: &Tables) {
        let flags = segment.flags;
        let cookie = || record[record.len() - 1];
        let (name, registers) = tables.functions[place.function as usize];
        if flags & segment_flag::ENTER != 0 {
            let cookie = if flags & segment_flag::COOKIE != 0 { cookie() } else { 0 };
            let depth = self.contexts.depth();
            let node = self.contexts.enter(place.function, cookie, false);
            self.contexts.nodes[node as usize].calls += u64::from(self.open.is_some());
            if let Some(sequences) = &mut self.sequences {
                sequences.entered(self.contexts.caller(), place.function, self.open.is_some());
            }
            self.claimed = self.claim(depth, name, tables);
            self.frames.truncate(depth);
            self.push_frame(registers, self.claimed);
        } else if flags & segment_flag::LANDING != 0 {
            self.contexts.land(place.function, cookie());
            self.align_frames(registers);
        } else if self.contexts.function() != place.function {
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
    fn align_frames(&mut self, registers: u32) {
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
    fn cell(&mut self, place: Place, item: usize) -> u32 {
        let node = self.contexts.current();
        let (last_node, last_segment, first) = self.last_block;
        if (last_node, last_segment) == (node, place.segment) {
            return first + item as u32;
        }
        let next = self.blocks.len() as u32;
        let block = *self.block_of.entry((node, place.segment)).or_insert(next);
        if block == next {
            let first_cell = self.cells.len() as u32;
            self.blocks.push(BlockCounters { node, segment: place.segment, executions: 0, first_cell, moved: 0 });
            self.cells.resize_with(self.cells.len() + place.items, CellCounters::default);
        }
        let first = self.blocks[block as usize].first_cell;
        self.last_block = (node, place.segment, first);
        first + item as u32
    }

    #[inline]
    fn is_tracked(&self, label: Label) -> bool {
        !matches!(self.memory.labels.meaning(label), Meaning::Nothing)
    }
}

/// Steps.
impl Core {
    fn steps(&mut self, items: &[Item], record: &[u64], place: Place, tables: &Tables) {
        let Some(base) = self.frames.last().map(|f| f.base) else { return };
        let mut all = std::mem::take(&mut self.registers);
        let registers = &mut all[base..];
        let mut index = 0;
        while index < items.len() {
            let item = &items[index];
            match StepKind::of(item.kind) {
                Some(StepKind::PhiMove) => index = self.phi_moves(items, index, record, registers),
                Some(StepKind::Fma) => {
                    if self.options.fma == FmaRule::One {
                        self.op(item, index, place, registers, ValueOp::Fma);
                        // The two steps behind it are the same, expanded.
                        index += 2;
                    }
                }
                Some(kind) => self.step(kind, item, At { index, place, record }, registers, tables),
                None => self.memory_item(item, record),
            }
            index += 1;
        }
        self.registers = all;
    }

    /// The same before the region begins, where all that matters is what has been loaded from its inputs too early.
    fn steps_before(&mut self, items: &[Item], record: &[u64]) {
        let Some(base) = self.frames.last().map(|f| f.base) else { return };
        let mut all = std::mem::take(&mut self.registers);
        let registers = &mut all[base..];
        let mut index = 0;
        while index < items.len() {
            let item = &items[index];
            let Registers { dst, a, b, c } = Registers::of(item);
            let (dst, a, b, c) = (dst as usize, a as usize, b as usize, c as usize);
            match StepKind::of(item.kind) {
                Some(StepKind::PhiMove) => index = self.phi_moves(items, index, record, registers),
                Some(StepKind::Load) => {
                    let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
                    let is_input = self.declarations.iter().any(|(start, len)| address.wrapping_sub(*start) < *len);
                    registers[accessed_register(item) as usize] = if is_input { EARLY } else { 0 };
                }
                Some(StepKind::Op | StepKind::Fma | StepKind::Convert | StepKind::Move) => {
                    registers[dst] = registers[a].max(registers[b]).max(registers[c]);
                    if item.lanes == 2 {
                        registers[dst + 1] = registers[dst];
                    }
                }
                Some(StepKind::Select) => {
                    let taken = record[usize::from(item.word)] >> (item.lanes & 63) & 1 == 1;
                    registers[dst] = registers[if taken { a } else { b }];
                }
                Some(StepKind::Result | StepKind::Parameter) => registers[dst] = 0,
                _ => {}
            }
            registers[0] = 0;
            index += 1;
        }
        self.registers = all;
    }

    /// Neighbouring phis read before any of them writes; gives the index of the last.
    fn phi_moves(&mut self, items: &[Item], first: usize, record: &[u64], registers: &mut [Label]) -> usize {
        self.phis.clear();
        let mut last = first;
        for (index, item) in items.iter().enumerate().skip(first) {
            if item.kind != StepKind::PhiMove as u8 {
                break;
            }
            last = index;
            if record[usize::from(item.word)] == u64::from(item.lanes) {
                let Registers { dst, a, .. } = Registers::of(item);
                self.phis.push((dst, registers[a as usize]));
            }
        }
        for &(dst, label) in &self.phis {
            registers[dst as usize] = label;
        }
        last
    }

    #[inline(always)]
    fn step(&mut self, kind: StepKind, item: &Item, at: At<'_>, registers: &mut [Label], tables: &Tables) {
        let address = || at.record[usize::from(item.word)].wrapping_add_signed(item.offset);
        let Registers { dst, a, b, c } = Registers::of(item);
        let (dst, a, b, c) = (dst as usize, a as usize, b as usize, c as usize);
        match kind {
            StepKind::Load => {
                let label = self.memory.load(address(), u64::from(item.size), &mut self.recorder);
                registers[accessed_register(item) as usize] = label;
            }
            StepKind::Store => {
                let label = registers[accessed_register(item) as usize];
                self.memory.store(address(), u64::from(item.size), label);
            }
            // Most instructions of a kernel compute addresses and count loops.
            StepKind::Op if registers[a] | registers[b] | registers[c] <= CONSTANT => {
                registers[dst] = 0;
                if item.lanes == 2 {
                    registers[dst + 1] = 0;
                }
            }
            StepKind::Op => {
                let op = ValueOp::of(item.flags).unwrap_or(ValueOp::Special);
                self.op(item, at.index, at.place, registers, op);
            }
            StepKind::Convert if self.options.element.is_none() => {
                self.op(item, at.index, at.place, registers, ValueOp::Convert);
            }
            StepKind::Convert | StepKind::Move => registers[dst] = registers[a],
            StepKind::Escape => {
                if registers[a] > CONSTANT {
                    self.escape(registers[a], at.index, at.place);
                }
            }
            StepKind::Select => {
                let taken = at.record[usize::from(item.word)] >> (item.lanes & 63) & 1 == 1;
                registers[dst] = registers[if taken { a } else { b }];
            }
            _ => self.rare_step(kind, item, at, registers, tables),
        }
    }

    fn rare_step(&mut self, kind: StepKind, item: &Item, at: At<'_>, registers: &mut [Label], tables: &Tables) {
        let word = at.record[usize::from(item.word)];
        let Registers { dst, a, b, .. } = Registers::of(item);
        let (dst, a, b) = (dst as usize, a as usize, b as usize);
        match kind {
            StepKind::Join => {
                let pieces = [(registers[a], item.size), (registers[b], u32::from(item.lanes))];
                registers[dst] = self.memory.labels.join(&pieces);
            }
            StepKind::Part => {
                registers[dst] = self.memory.labels.part(registers[a], u32::from(item.lanes), item.size);
            }
            StepKind::Pick => {
                let in_range = a > 0 && word < u64::from(item.lanes);
                registers[dst] = if in_range { registers[a + word as usize] } else { 0 };
            }
            StepKind::Put if dst > 0 && word < u64::from(item.lanes) => registers[dst + word as usize] = registers[a],
            StepKind::Argument => {
                self.start_gathering();
                let variable = item.flags == 1;
                self.arguments.push(Argument { index: item.lanes, label: registers[a], variable });
            }
            StepKind::BytesArgument => {
                self.start_gathering();
                let address = word.wrapping_add_signed(item.offset);
                self.bytes_arguments.push(BytesArgument { index: item.lanes, address });
            }
            StepKind::PointerArgument => {
                self.start_gathering();
                self.pointers.push((word.wrapping_add_signed(item.offset), u64::from(item.size)));
            }
            StepKind::Call => {
                self.start_gathering();
                self.gathering = false;
                self.results_for = None;
                let callee = tables.callees[at.place.segment as usize];
                let mut shows_values = self.arguments.iter().any(|a| self.is_tracked(a.label));
                for &(address, len) in &self.pointers {
                    shows_values = shows_values || self.memory.shows_values(address, len);
                }
                self.pending = Some(Pending { callee, depth: self.contexts.depth(), shows_values });
            }
            StepKind::Returned => self.returned(tables),
            StepKind::Result => registers[dst] = self.result(item.lanes),
            StepKind::Parameter => {
                let found = self.arguments.iter().find(|p| p.index == item.lanes && !p.variable);
                registers[dst] = found.filter(|_| self.claimed).map_or(0, |p| p.label);
            }
            StepKind::BytesParameter => {
                let to = word.wrapping_add_signed(item.offset);
                let found = self.bytes_arguments.iter().find(|p| p.index == item.lanes);
                if let Some(from) = found.filter(|_| self.claimed).map(|p| p.address)
                    && from != to
                {
                    self.memory.copy(to, from, u64::from(item.size));
                }
            }
            StepKind::Return => self.answer(item.lanes, registers[a]),
            _ => {}
        }
    }

    /// The running function gives a result to a caller that waits for its identity.
    fn answer(&mut self, slot: u16, label: Label) {
        if !self.frames.last().is_some_and(|f| f.answers) {
            return;
        }
        let depth = self.contexts.depth() - 1;
        if self.results_for != Some(depth) {
            self.results.clear();
            self.results_for = Some(depth);
        }
        self.results.push((slot, label));
    }

    /// Counts a call of code that follows no values if that mattered.
    fn not_followed(&mut self, pending: &Pending, tables: &Tables) {
        if pending.shows_values {
            let name = tables.names.get(pending.callee as usize).map_or("(through a pointer)", String::as_str);
            *self.unfollowed.entry(name.to_owned()).or_default() += 1;
        }
    }

    fn start_gathering(&mut self) {
        if !self.gathering {
            self.pointers.clear();
            self.arguments.clear();
            self.bytes_arguments.clear();
            self.gathering = true;
        }
    }

    /// A call has returned. If no function claimed it, the callee follows no values.
    fn returned(&mut self, tables: &Tables) {
        let depth = self.contexts.depth();
        if let Some(pending) = self.pending.take_if(|p| p.depth == depth) {
            self.not_followed(&pending, tables);
            self.results_for = None;
        }
        if self.results_for != Some(depth) {
            self.results.clear();
        }
    }

    fn result(&self, slot: u16) -> Label {
        self.results.iter().find(|(index, _)| *index == slot).map_or(0, |(_, label)| *label)
    }

    #[inline]
    fn op(&mut self, item: &Item, index: usize, place: Place, registers: &mut [Label], op: ValueOp) {
        let Registers { dst, a, b, c } = Registers::of(item);
        let labels = [registers[a as usize], registers[b as usize], registers[c as usize]];
        let second = item.lanes == 2;
        let mut result = 0;
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        for label in labels {
            if label > CONSTANT {
                self.early_reads += u64::from(label == EARLY);
                self.memory.add_values(label, &mut operands);
            }
        }
        if !operands.is_empty() {
            let sizes = match self.options.element {
                Some(size) => [size, size],
                None => [item.size as u8, item.word2 as u8],
            };
            let cell = self.cell(place, index);
            let sizes = &sizes[..1 + usize::from(second)];
            if let Some(first) = self.recorder.instruction(cell, op, &operands, sizes) {
                self.cells[cell as usize].executions += 1;
                result = first;
            }
        }
        self.operands = operands;
        if dst > 0 {
            registers[dst as usize] = result;
            if second {
                registers[dst as usize + 1] = if result > 0 { result + 1 } else { 0 };
            }
        }
    }

    fn escape(&mut self, label: Label, index: usize, place: Place) {
        self.early_reads += u64::from(label == EARLY);
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        self.memory.add_values(label, &mut operands);
        for &operand in &operands {
            let cell = self.cell(place, index);
            self.cells[cell as usize].executions += u64::from(self.recorder.escape(cell, operand));
        }
        self.operands = operands;
    }

    /// Copies and fills that the instrumentation describes as in the memory model.
    fn memory_item(&mut self, item: &Item, record: &[u64]) {
        let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
        let dynamic = item.flags & item_flag::DYNAMIC != 0;
        let word = |i: u16| record[usize::from(i)];
        if item.kind == ItemKind::Copy as u8 {
            let len = if dynamic { word(item.lanes) } else { u64::from(item.size) };
            self.memory.copy(address, word(item.word2), len);
        } else if item.kind == ItemKind::Fill as u8 {
            let len = if dynamic { word(item.word2) } else { u64::from(item.size) };
            self.memory.store(address, len, CONSTANT);
        }
    }

    /// A library function looked at bytes: one read of each value among them.
    fn library_read(&mut self, place: Option<Place>, address: u64, len: u64, tables: &Tables) {
        let Some(place) = place else { return };
        if self.contexts.function() != place.function {
            self.contexts.resume(place.function);
            self.align_frames(tables.functions[place.function as usize].1);
        }
        for value in self.memory.values(address, len, &mut self.recorder) {
            let cell = self.cell(place, 0);
            self.cells[cell as usize].executions += u64::from(self.recorder.escape(cell, value));
        }
    }
}
