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
