//! The accesses of a trace, one by one: what simulators take.
//!
//! Takes a trace, gives each access to a function that says whether it wants more, in the order of the trace: of a
//! thread that of the run, of several as their words were written down. Copies and fills are cut into blocks as the
//! analysis does. Counts what a list of accesses has no words for ([`LeftOut`]). Refuses what a replay refuses, and
//! programs of the values model, whose records are steps.

use std::{collections::HashMap, io::Read};

use super::{
    modules::{ModuleTable, Source},
    replay::{ReplayError, register},
};
use crate::{
    abi::{COPY_BLOCK, SegmentKind},
    decode::{
        effects::{Effects, effects},
        event::{Event, EventRecord},
        locator::{Located, Locator, ModuleSource},
        records,
    },
    imported::{ADDRESSES, Access, MOST_BYTES, What},
    trace::{Block, Ring, TraceError, TraceReader},
};

/// How often there was something that is no access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Memory began or ended to live.
    pub lives: u64,
    /// Blocks were elsewhere with their contents.
    pub moves: u64,
    /// Inputs and outputs were declared.
    pub declared: u64,
    /// Regions began or ended.
    pub regions: u64,
    /// Threads began, ended or waited for each other.
    pub waits: u64,
    /// Accesses at addresses that no program has.
    pub beyond: u64,
    /// Words that could not be decoded.
    pub lost_words: u64,
}

/// What there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// What is not among the accesses.
    pub left_out: LeftOut,
    /// Where the trace was cut off.
    pub cut_at: Option<u64>,
}

/// Why accesses cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The trace, or the recorded programs.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Its records are no accesses.
    #[error(
        "the trace is of a program built for the values model, which has steps in the place of accesses; record a build without --dmdprof-model=values"
    )]
    Values,
}

/// Gives all accesses of a trace until `each` wants no more.
///
/// # Errors
/// [`ListError`].
pub fn accesses<R: Read>(reader: &mut TraceReader<R>, each: impl FnMut(Access) -> bool) -> Result<Listed, ListError> {
    let table = ModuleTable::default();
    let mut threads: HashMap<u32, Thread> = HashMap::new();
    let mut telling = Telling { each, wants_more: true, now: Access::NONE, left_out: LeftOut::default() };
    let mut cut_at = None;
    while telling.wants_more {
        match reader.next_block() {
            Ok(Some(Block::Module(module))) => register(&table, &module)?,
            Ok(Some(Block::Sites(batch))) => table.add_batch(&batch),
            Ok(Some(Block::Ring(number, ring))) => _ = threads.insert(number, Thread::new(&ring)),
            Ok(Some(Block::Words(number, words))) => {
                let Some(thread) = threads.get_mut(&number) else { continue };
                telling.now.thread = number.into();
                thread.words(&words, &table, &mut telling)?;
            }
            Ok(Some(Block::RingEnd(number, _))) => _ = threads.remove(&number),
            Ok(Some(Block::Generated(_) | Block::End(_))) => {}
            Ok(None) => break,
            Err(TraceError::Cut { at }) => {
                cut_at = Some(at);
                break;
            }
            Err(error) => return Err(ReplayError::from(error).into()),
        }
    }
    Ok(Listed { left_out: telling.left_out, cut_at })
}

/// A ring up to a place.
struct Thread {
    processes: Vec<u32>,
    locator: Locator,
    has_values: bool,
}

impl Thread {
    fn new(ring: &Ring) -> Self {
        Self { processes: ring.processes(), locator: Locator::default(), has_values: false }
    }

    fn words(
        &mut self,
        words: &[u64],
        table: &ModuleTable,
        to: &mut Telling<impl FnMut(Access) -> bool>,
    ) -> Result<(), ListError> {
        let mut source = Source { processes: &self.processes, table };
        let (locator, has_values) = (&mut self.locator, &mut self.has_values);
        let lost = records::each(words, |rest| {
            if !to.wants_more {
                return Some(rest.len());
            }
            record(locator, has_values, rest, &mut source, to)
        });
        to.left_out.lost_words += lost;
        if self.has_values { Err(ListError::Values) } else { Ok(()) }
    }
}

/// Tells of the first record of `rest`, and gives its length.
fn record(
    locator: &mut Locator,
    has_values: &mut bool,
    rest: &[u64],
    source: &mut impl ModuleSource,
    to: &mut Telling<impl FnMut(Access) -> bool>,
) -> Option<usize> {
    to.now.instruction = None;
    if rest[0] >> 48 != 0 {
        let EventRecord { words, event, .. } = EventRecord::from_words(rest)?;
        to.event(&event);
        return Some(words);
    }
    let located = locator.record(rest, source, |module| *has_values |= module.placed.table.has_values())?;
    let Located { module, segment, words } = located;
    let module = &locator.modules[module];
    let segment = module.segment(segment);
    let is_loop = segment.kind == SegmentKind::Loop as u8;
    let instructions = module.placed.table.addresses.get(segment.items.start as usize..).unwrap_or_default();
    for iteration in 0..if is_loop { rest[1] } else { 1 } {
        for (number, item) in module.items(segment).iter().enumerate() {
            let address = match is_loop {
                true => records::address_in(item, &rest[..words], iteration),
                false => rest[usize::from(item.word)].wrapping_add_signed(item.offset),
            };
            to.now.instruction = instructions.get(number).copied();
            // What no descriptor can have was refused when it was read.
            effects(item, &rest[..words], address, to).ok()?;
        }
        if !to.wants_more {
            break;
        }
    }
    Some(words)
}

impl Access {
    const NONE: Self = Self { address: 0, bytes: 0, what: What::Read, instruction: None, thread: 0 };
}

/// Tells of accesses.
struct Telling<F> {
    each: F,
    wants_more: bool,
    /// Of the access at hand: its thread, and its instruction if that is known.
    now: Access,
    left_out: LeftOut,
}

impl<F: FnMut(Access) -> bool> Telling<F> {
    fn access(&mut self, what: What, address: u64, len: u64) {
        if address.checked_add(len).is_none_or(|end| end > ADDRESSES) {
            self.left_out.beyond += 1;
            return;
        }
        for start in (0..len).step_by(MOST_BYTES as usize) {
            let bytes = (len - start).min(MOST_BYTES) as u32;
            self.wants_more =
                self.wants_more && (self.each)(Access { what, address: address + start, bytes, ..self.now });
        }
    }

    fn event(&mut self, event: &Event) {
        let left_out = &mut self.left_out;
        match *event {
            Event::Read { address, len } => blocks(len, |at, len| self.load(address.wrapping_add(at), len)),
            Event::Write { address, len } => self.fill(address, len),
            Event::Copy { to, from, len } => self.copy(to, from, len),
            Event::Alloc { .. } | Event::Free { .. } | Event::FreeUnknown => left_out.lives += 1,
            Event::Relocate { .. } => left_out.moves += 1,
            Event::Input { .. } | Event::Output { .. } => left_out.declared += 1,
            Event::RegionBegin { .. } | Event::RegionEnd { .. } => left_out.regions += 1,
            Event::Synchronise(_) => left_out.waits += 1,
            // More of what has just begun; no function runs; what a sample is drawn by; what cores go by.
            Event::Mapped { .. }
            | Event::Restart
            | Event::Clock { .. }
            | Event::Executed { .. }
            | Event::Paged { .. } => {}
        }
    }
}

/// The blocks that many bytes are accessed in: where each begins, and its bytes.
fn blocks(len: u64, mut each: impl FnMut(u64, u64)) {
    (0..len).step_by(COPY_BLOCK as usize).for_each(|start| each(start, (len - start).min(COPY_BLOCK)));
}

impl<F: FnMut(Access) -> bool> Effects for Telling<F> {
    fn load(&mut self, address: u64, len: u64) {
        self.access(What::Read, address, len);
    }

    fn store(&mut self, address: u64, len: u64) {
        self.access(What::Write, address, len);
    }

    fn update(&mut self, address: u64, len: u64) {
        self.access(What::Modify, address, len);
    }

    fn copy(&mut self, to: u64, from: u64, len: u64) {
        blocks(len, |at, len| {
            self.load(from.wrapping_add(at), len);
            self.store(to.wrapping_add(at), len);
        });
    }

    fn fill(&mut self, address: u64, len: u64) {
        blocks(len, |at, len| self.store(address.wrapping_add(at), len));
    }

    fn kill(&mut self, _: u64, _: u64) {
        self.left_out.lives += 1;
    }
}
