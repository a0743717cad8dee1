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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::{
        abi::{Item, ItemKind, item_flag, synchronise::Synchronise},
        decode::event::Synchronised,
        tests::{
            program::{Function, Image, Program, Segment, item},
            run::{Run, imported},
            steps::Step,
        },
    };

    const A: u64 = 1 << 20;
    const B: u64 = 1 << 30;

    /// A run of threads that execute segments of one function, all steps at once.
    fn run(segments: Vec<Segment>, threads: &[Vec<Step>]) -> Run {
        let functions = vec![Function { name: "main".into(), segments }];
        Run::new(Program { images: vec![Image { functions, variables: Vec::new() }] }, threads, 100)
    }

    /// All accesses, as (what, address, bytes, thread), and what else there was.
    fn all(run: &Run) -> (Vec<(What, u64, u32, u64)>, LeftOut) {
        let mut all = Vec::new();
        let each = |Access { address, bytes, what, instruction, thread }: Access| {
            assert_eq!(instruction, None, "programs that were built have sites, and no addresses");
            all.push((what, address, bytes, thread));
            true
        };
        let listed = accesses(&mut run.reader(), each).expect("a whole trace");
        assert_eq!(listed.cut_at, None);
        (all, listed.left_out)
    }

    #[test]
    fn items_are_their_accesses_in_order_and_long_ones_come_in_blocks() {
        use What::{Modify, Read, Write};
        let dynamic = Item { word2: 3, flags: item_flag::DYNAMIC, ..item(ItemKind::Fill, 1, 512, 0) };
        let items = vec![
            item(ItemKind::Load, 1, 0, 8),
            item(ItemKind::Store, 2, 16, 4),
            item(ItemKind::Update, 1, -8, 2),
            Item { word2: 2, ..item(ItemKind::Copy, 1, 128, 72) },
            item(ItemKind::Kill, 1, 0, 24),
            dynamic,
            item(ItemKind::Load, 2, 0, 5000),
        ];
        let steps = vec![Step::Segment((0, 0), vec![A, B, 65])];
        let (found, left_out) = all(&run(vec![Segment::block(3, items)], &[steps]));
        let expected = [
            (Read, A, 8),
            (Write, B + 16, 4),
            (Modify, A - 8, 2),
            (Read, B, 64),
            (Write, A + 128, 64),
            (Read, B + 64, 8),
            (Write, A + 192, 8),
            (Write, A + 512, 64),
            (Write, A + 576, 1),
            (Read, B, 4096),
            (Read, B + 4096, 904),
        ];
        assert_eq!(found, expected.map(|(what, address, bytes)| (what, address, bytes, 0)));
        assert_eq!(left_out, LeftOut { lives: 1, waits: 1, ..LeftOut::default() });
    }

    #[test]
    fn the_accesses_of_a_loop_are_those_of_each_iteration() {
        let items = vec![Item { stride: 8, ..item(ItemKind::Load, 2, 0, 8) }, item(ItemKind::Store, 3, 0, 1)];
        // Word 2 is where it would go on.
        let steps = vec![Step::Segment((0, 0), vec![3, A, B]), Step::Segment((0, 0), vec![0, A, B])];
        let (found, _) = all(&run(vec![Segment::of_loop(3, items)], &[steps]));
        let (read, write) = (|address| (What::Read, address, 8, 0), (What::Write, B, 1, 0));
        assert_eq!(found, [read(A - 24), write, read(A - 16), write, read(A - 8), write]);
    }

    #[test]
    fn library_calls_access_and_everything_else_is_counted() {
        use What::{Read, Write};
        let (address, len, name) = (A, 16, "a region".to_owned());
        let waits = Synchronised { what: Synchronise::Joined, object: 1, value: 0, other: 0 };
        let moves = Event::Relocate { from: A, from_len: 16, to: B, to_len: 16 };
        let events = [
            Event::Read { address, len: 65 },
            Event::Write { address, len: 66 },
            Event::Copy { to: A, from: B, len: 67 },
            Event::Alloc { address, len },
            Event::Mapped { address, len, file: "a file".into() },
            Event::Free { address, len },
            Event::FreeUnknown,
            moves.clone(),
            moves,
            Event::Input { address, len },
            Event::Output { address, len },
            Event::Input { address, len },
            Event::Output { address, len },
            Event::RegionBegin { name: name.clone() },
            Event::RegionEnd { name: name.clone() },
            Event::RegionBegin { name: name.clone() },
            Event::RegionEnd { name: name.clone() },
            Event::RegionBegin { name },
            Event::Synchronise(waits),
            Event::Restart,
            Event::Clock { time: 5 },
        ];
        let mut steps: Vec<_> = events.into_iter().map(|event| Step::Event(None, event)).collect();
        steps.push(Step::Unknown(vec![7, 7, 7]));
        let (found, left_out) = all(&run(vec![Segment::block(0, Vec::new())], &[steps]));
        let expected = [
            (Read, A, 64),
            (Read, A + 64, 1),
            (Write, A, 64),
            (Write, A + 64, 2),
            (Read, B, 64),
            (Write, A, 64),
            (Read, B + 64, 3),
            (Write, A + 64, 3),
        ];
        assert_eq!(found, expected.map(|(what, address, bytes)| (what, address, bytes, 0)));
        // The thread has begun, too.
        let expected = LeftOut { lives: 3, moves: 2, declared: 4, regions: 5, waits: 2, beyond: 0, lost_words: 3 };
        assert_eq!(left_out, expected);
    }

    #[test]
    fn no_access_is_beyond_the_addresses_of_programs() {
        let segments = vec![Segment::block(1, vec![item(ItemKind::Load, 1, 0, 8)])];
        let steps = [ADDRESSES - 8, ADDRESSES - 7, u64::MAX - 3].map(|at| Step::Segment((0, 0), vec![at]));
        let (found, left_out) = all(&run(segments, &[steps.to_vec()]));
        assert_eq!((found, left_out.beyond), (vec![(What::Read, ADDRESSES - 8, 8, 0)], 2));
    }

    #[test]
    fn threads_have_numbers_and_nothing_comes_once_somebody_has_enough() {
        let looped = Segment::of_loop(2, vec![Item { stride: 1, ..item(ItemKind::Load, 2, 0, 1) }]);
        let twice = Segment::block(1, vec![item(ItemKind::Load, 1, 0, 5000)]);
        let steps = |at| vec![Step::Segment((0, 0), vec![4, at]), Step::Segment((0, 1), vec![at])];
        let run = run(vec![looped, twice], &[steps(A), steps(B)]);
        let (found, _) = all(&run);
        assert_eq!(found.iter().map(|access| access.3).collect::<Vec<_>>(), [[0; 6], [1; 6]].concat());
        for most in 1..=found.len() {
            let mut told = 0;
            let each = |_| {
                told += 1;
                told < most
            };
            accesses(&mut run.reader(), each).expect("a whole trace");
            assert_eq!(told, most);
        }
    }

    #[test]
    fn a_trace_that_was_cut_off_gives_what_it_has() {
        let run =
            run(vec![Segment::block(1, vec![item(ItemKind::Load, 1, 0, 8)])], &[vec![Step::Segment((0, 0), vec![A])]]);
        let trace = run.trace();
        let mut found = 0;
        let mut reader = TraceReader::new(&trace[..trace.len() - 1]).expect("a trace");
        let listed = accesses(&mut reader, |_| {
            found += 1;
            true
        });
        assert!(listed.expect("most of a trace").cut_at.is_some_and(|at| at < trace.len() as u64));
        assert_eq!(found, 1);
    }

    #[test]
    fn what_was_imported_comes_back_with_its_instructions() {
        let text = "R 0x1000 8 0x401136 0\nW 0x2000 4 0x401140 0\nM 0x1000 8 0x401136 0\nR 0x3000 1 0x401140 0\n";
        let (imported, mut reader) = imported(text);
        assert_eq!(imported.accesses, 4);
        let mut found = Vec::new();
        accesses(&mut reader, |access| access.write(&mut found).is_ok()).expect("a whole trace");
        found.flush().expect("memory");
        // Instructions that do both read first.
        let text = text.replace("M 0x1000 8 0x401136 0\n", "R 0x1000 8 0x401136 0\nW 0x1000 8 0x401136 0\n");
        assert_eq!(String::from_utf8(found).expect("text"), text);
    }
}
