//! Rows of records that come again and again but for constant steps of their words: the iterations of a loop.
//!
//! A loop whose body has branches writes several records per iteration, which take turns. Takes the words of a chunk
//! from a record on, and where records of its segment were before, which tells how long an iteration may be; gives the
//! records of an iteration and the number of iterations that are alike. Refuses iterations with anything but loads and
//! stores of whole words, with calls and returns, and with more accesses than the engine's blocks have.

use std::ops::Range;

use crate::decode::{locator::Module, records};
use crate::{
    abi::{Item, ItemKind, SegmentKind},
    engine::dependence::is_word,
    sites::{Segment, SiteTable},
};

/// Accesses of an iteration of an affine run, at most.
pub const MOST_STREAMS: usize = 32;
/// Words of an iteration, at most.
const LONGEST: u32 = 512;
/// Words of iterations that are compared before anything else is.
const SEEMING: usize = 4;
/// Records of a segment without a run until only some are looked at: after so many that are not, the next few.
const BACK_OFF_AFTER: u16 = 1024;
const QUIET: u16 = 2048;
const RETRIES: u16 = 64;
/// No number of words after which a record comes again.
const UNKNOWN: u32 = u32::MAX;

/// When the records of a segment come. Places are counted in words of the ring; that they wrap around is no harm.
#[derive(Clone, Copy)]
pub struct PeriodDetector {
    repeats: bool,
    last: u32,
    /// Words between the last two records.
    apart: u32,
    /// Words of an iteration of the last run that began with a record of the segment.
    period: u32,
    /// Words of the last iteration that could not be in a run, whatever came after it.
    refused: u32,
    /// Records since the last run.
    misses: u16,
}

impl PeriodDetector {
    /// Of a segment, by whether its records can be part of a run.
    pub fn new(repeats: bool) -> Self {
        Self { repeats, last: 0, apart: UNKNOWN, period: UNKNOWN, refused: UNKNOWN, misses: 0 }
    }

    /// Whether records can be part of a run.
    #[inline(always)]
    pub fn repeats(self) -> bool {
        self.repeats
    }

    /// A run with iterations of so many words began with a record of the segment.
    pub fn ran(&mut self, words: usize) {
        (self.period, self.misses) = (words as u32, 0);
    }

    /// An iteration of so many words can be in no run.
    pub fn refuse(&mut self, words: usize) {
        self.refused = words as u32;
    }

    /// A record began no run; gives the number of records of the segment that need not be looked at, as there has been
    /// none for long.
    #[inline(always)]
    pub fn missed(&mut self) -> u16 {
        self.misses += 1;
        if self.misses < BACK_OFF_AFTER {
            return 0;
        }
        self.misses = BACK_OFF_AFTER - RETRIES;
        self.refused = UNKNOWN;
        QUIET
    }

    /// The next record, of `len` words, is at a place and the first of `rest`; gives the length in words of an
    /// iteration that begins with it and seems to come again and again.
    #[inline(always)]
    pub fn period(&mut self, place: u64, rest: &[u64], len: usize) -> Option<usize> {
        let place = place as u32;
        if place != self.last {
            self.apart = place.wrapping_sub(self.last);
            self.last = place;
        }
        let refused = self.refused;
        let comes_again =
            |apart: &u32| *apart <= LONGEST && *apart != refused && rest.get(*apart as usize) == rest.first();
        let apart = [len as u32, self.period, self.apart].into_iter().find(comes_again)?;
        goes_on(rest, apart as usize).then_some(apart as usize)
    }
}

/// Whether the third iteration, of `len` words, begins as the first two do: most that seem to come again do not.
#[inline(always)]
fn goes_on(rest: &[u64], len: usize) -> bool {
    let Some(third) = rest.get(2 * len..3 * len) else { return false };
    let step = |word: usize| rest[len + word].wrapping_sub(rest[word]);
    third[0] == rest[0] && (1..len.min(SEEMING)).all(|word| third[word].wrapping_sub(rest[len + word]) == step(word))
}

/// One record of an iteration.
pub struct Turn {
    /// Number of its segment in the module.
    pub segment: u32,
    /// Its accesses, in the module's table.
    pub items: Range<usize>,
    /// Where it is in the words of an iteration.
    pub words: Range<usize>,
}

/// The records of the iteration at hand.
#[derive(Default)]
pub struct Row {
    pub turns: Vec<Turn>,
}

impl Row {
    /// The number of iterations of `len` words from the start of `rest` on that are alike; nothing if they cannot be in
    /// a run.
    pub fn iterations(
        &mut self,
        rest: &[u64],
        len: usize,
        module: &Module,
        detectors: &[PeriodDetector],
    ) -> Option<usize> {
        self.find(rest, len, module, detectors).then(|| records::alike(rest, len))
    }

    /// Takes the words of an iteration apart; false if not all of it can be in a run.
    fn find(&mut self, rest: &[u64], len: usize, module: &Module, detectors: &[PeriodDetector]) -> bool {
        let table = &module.placed.table;
        self.turns.clear();
        let (mut at, mut accesses, mut function) = (0, 0, None);
        while at < len {
            let head = rest[at];
            let Some(number) = table.segment_at(head.wrapping_sub(module.placed.low)) else { return false };
            let segment = &table.segments[number as usize];
            let end = at + usize::from(segment.words);
            accesses += segment.items.len();
            let is_known = detectors[module.segment_number(number).index()].repeats && rest[len + at] == head;
            if !is_known
                || end > len
                || accesses > MOST_STREAMS
                || *function.get_or_insert(segment.function) != segment.function
            {
                return false;
            }
            let items = segment.items.start as usize..segment.items.end as usize;
            self.turns.push(Turn { segment: number, items, words: at..end });
            at = end;
        }
        true
    }
}

/// Whether each record of a segment does the same, but for addresses: accesses of sizes that the engine's blocks take,
/// and no change of context.
pub fn repeats(segment: &Segment, table: &SiteTable) -> bool {
    let items = &table.items[segment.items.start as usize..segment.items.end as usize];
    let is_plain = |item: &Item| {
        let kind = item.kind == ItemKind::Load as u8 || item.kind == ItemKind::Store as u8;
        kind && is_word(item.size.into())
    };
    segment.kind == SegmentKind::Block as u8
        && segment.flags == 0
        && segment.words > 0
        && segment.slots.is_empty()
        && items.len() <= MOST_STREAMS
        && items.iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::{Slot, segment_flag},
        tests::program::{Function, Image, Program, Segment as Part, item},
    };

    /// Records of two segments that take turns, each of a head and a word that grows.
    fn turns() -> Vec<u64> {
        (0..8).flat_map(|n| [7, 800 + 8 * n, 9, 900 + 8 * n]).collect()
    }

    #[test]
    fn an_iteration_is_a_record_or_all_up_to_the_next_of_its_segment() {
        let words = turns();
        let mut detector = PeriodDetector::new(true);
        assert_eq!(detector.period(100, &words, 2), None, "the first record");
        assert_eq!(detector.period(104, &words, 2), Some(4), "as far as from the last one");
        assert_eq!(detector.period(104, &words, 2), Some(4), "of the same record");
        assert_eq!(detector.period(1000, &words, 2), None, "far from the last one");
        detector.ran(4);
        assert_eq!(detector.period(2000, &words, 2), Some(4), "as in the last run");
        let alone: Vec<u64> = (0..8).flat_map(|n| [7, 800 + 8 * n]).collect();
        assert_eq!(detector.period(3000, &alone, 2), Some(2), "the shortest first");
        detector.refuse(4);
        assert_eq!(detector.period(4000, &words, 2), None, "it can be in no run");
    }

    #[test]
    fn an_iteration_seems_to_come_again_if_the_third_goes_on_as_the_second() {
        let words = turns();
        assert!(goes_on(&words, 4));
        assert!(goes_on(&words[..12], 4), "three of them are enough");
        assert!(!goes_on(&words[..11], 4), "two are not");
        for changed in [8, 9, 10, 11] {
            let mut words = words.clone();
            words[changed] += 1;
            assert!(!goes_on(&words, 4), "word {changed}");
        }
        assert!(goes_on(&[7, u64::MAX, 7, 7, 7, 15], 2), "addresses wrap around");
    }

    #[test]
    fn iterations_of_512_words_are_looked_at_and_longer_ones_are_not() {
        let row = |len: usize| -> Vec<u64> { (0..3 * len).map(|word| u64::from(word % len == 0)).collect() };
        for (len, found) in [(512, Some(512)), (513, None)] {
            let mut detector = PeriodDetector::new(true);
            assert_eq!(detector.period(5000, &row(len), 2), None);
            assert_eq!(detector.period(5000 + len as u64, &row(len), 2), found);
        }
    }

    #[test]
    fn a_segment_without_runs_is_left_alone_for_long_and_then_tried_a_few_times() {
        let mut detector = PeriodDetector::new(true);
        let until_quiet = |detector: &mut PeriodDetector| (1..2000).find(|_| detector.missed() > 0);
        detector.refuse(4);
        assert_eq!(until_quiet(&mut detector), Some(1024));
        assert_eq!(until_quiet(&mut detector), Some(64));
        detector.period(0, &turns(), 2);
        assert_eq!(detector.period(4, &turns(), 2), Some(4), "what was refused may do by now");
        detector.ran(4);
        assert_eq!(until_quiet(&mut detector), Some(1024), "a run is a new start");
    }

    /// Two functions: one with blocks of 1, 1 and 31 loads and of a return, one with a block of one store.
    fn program() -> Program {
        let load = || item(ItemKind::Load, 1, 0, 8);
        let block = |items| Part::block(1, items);
        let segments = vec![
            block(vec![load()]),
            block(vec![load()]),
            block(vec![load(); 31]),
            block(vec![load()]).with(segment_flag::EXIT),
        ];
        let other = vec![block(vec![item(ItemKind::Store, 1, 0, 8)])];
        let function = |name: &str, segments| Function { name: name.into(), segments };
        let functions = vec![function("main", segments), function("work", other)];
        Program { images: vec![Image { functions, variables: Vec::new() }] }
    }

    #[test]
    fn a_row_is_of_known_records_of_one_function_with_32_accesses_at_most() {
        let program = program();
        let module = &program.modules()[0];
        let table = &module.placed.table;
        let detectors: Vec<_> = table.segments.iter().map(|of| PeriodDetector::new(repeats(of, table))).collect();
        let words = |segments: &[u32], times: u64| -> Vec<u64> {
            let record = |n: u64, segment: u32| [program.address((0, segment)), 800 + 8 * n];
            let iteration = |n| segments.iter().flat_map(move |segment| record(n, *segment));
            (0..times).flat_map(iteration).collect()
        };
        let mut row = Row::default();
        let mut iterations = |segments: &[u32]| {
            let found = row.iterations(&words(segments, 5), 2 * segments.len(), module, &detectors);
            let turn = |turn: &Turn| (turn.segment, turn.items.clone(), turn.words.clone());
            found.map(|iterations| (iterations, row.turns.iter().map(turn).collect::<Vec<_>>()))
        };
        assert_eq!(iterations(&[0, 1]), Some((5, vec![(0, 0..1, 0..2), (1, 1..2, 2..4)])));
        assert_eq!(iterations(&[1, 2]), Some((5, vec![(1, 1..2, 0..2), (2, 2..33, 2..4)])), "32 accesses");
        assert_eq!(iterations(&[0, 1, 2]), None, "33 accesses");
        assert_eq!(iterations(&[0, 3]), None, "one returns");
        assert_eq!(iterations(&[0, 4]), None, "of two functions");
        let records = words(&[0, 1], 5);
        assert!(row.iterations(&records, 3, module, &detectors).is_none(), "no record begins at the fourth word");
        let own_address = [records[0]; 6];
        assert!(row.iterations(&own_address, 1, module, &detectors).is_none(), "a record is longer than the iteration");
        let mut others = records.clone();
        others[6] = program.address((0, 0));
        assert!(row.iterations(&others, 4, module, &detectors).is_none(), "the second iteration has another record");
        others[2] = 8;
        assert!(row.iterations(&others, 4, module, &detectors).is_none(), "of no segment");
    }

    #[test]
    fn records_repeat_that_are_plain_loads_and_stores_of_words() {
        let slot = Slot { word: 1, size: 8, ..Slot::default() };
        let block = |items| Part::block(1, items);
        let load = |size| block(vec![item(ItemKind::Load, 1, 0, size)]);
        let parts = [
            (load(8), true),
            (load(3), false),
            (block(vec![item(ItemKind::Store, 1, 0, 4), item(ItemKind::Load, 1, 8, 16)]), true),
            (block(vec![item(ItemKind::Load, 1, 0, 8), item(ItemKind::Update, 1, 8, 8)]), false),
            (block(vec![item(ItemKind::Load, 1, 0, 8); 33]), false),
            (load(8).with(segment_flag::ENTER), false),
            (Part { slots: vec![slot], ..load(8) }, false),
            (Part::of_loop(1, vec![item(ItemKind::Load, 0, 0, 8)]), false),
        ];
        let (segments, expected): (Vec<Part>, Vec<bool>) = parts.into_iter().unzip();
        let functions = vec![Function { name: "main".into(), segments }];
        let program = Program { images: vec![Image { functions, variables: Vec::new() }] };
        let table = &program.modules()[0].placed.table;
        assert_eq!(table.segments.iter().map(|of| repeats(of, table)).collect::<Vec<_>>(), expected);
    }
}
