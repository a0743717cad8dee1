//! Affine runs in the backward sweep, many iterations at a time.
//!
//! Takes the streams of a run and the bits as they are after it; gives the fates of iterations, the last first, and
//! brings the bits back to where they were before these. What the run itself does next to a word is known from the
//! streams alone (`engine::dependence`); the other words are looked up in whole rows of bits. Refuses runs that the
//! plan refuses; those are done access by access.

use super::{
    bits::{Bits, low_ones},
    marks::{Fate, Segment},
};
use crate::engine::{Kind, Progression, Stream, dependence::Plan, timeline::strided};

/// Words further apart are looked up one by one.
const FAR: i64 = 256;

/// A run on its way back.
pub struct Run<'a> {
    streams: &'a [Stream],
    plan: Plan,
    /// Per stream, whether it is another access of this run, some iterations later, that has the word next; and if so,
    /// whether that needs it.
    next: Vec<Option<Fate>>,
    /// Streams of the last segment whose bits already are as its accesses want them.
    unchanged: u64,
    /// Room for the masks of the row at hand: it fills them, and nobody reads them later.
    masks: &'a mut Vec<u64>,
}

impl<'a> Run<'a> {
    /// `None` for runs that must be done access by access.
    pub fn new(streams: &'a [Stream], iterations: u64, masks: &'a mut Vec<u64>) -> Option<Self> {
        if streams.iter().any(|stream| !matches!(stream.kind, Kind::Load | Kind::Store)) {
            return None;
        }
        let plan = Plan::new(streams, iterations)?;
        let next = (0..streams.len())
            .map(|stream| {
                let (taker, _) = plan.next_user(stream)?;
                Some(if streams[taker].kind == Kind::Load { Fate::Kept } else { Fate::Dead })
            })
            .collect();
        Some(Self { streams, plan, next, unchanged: 0, masks })
    }

    /// Iterations at the end of the run that must be done singly, because the access that would have a word next comes
    /// after the run.
    pub fn tail(&self) -> u64 {
        (0..self.streams.len())
            .filter_map(|stream| self.plan.next_user(stream))
            .map(|(_, delay)| delay as u64)
            .max()
            .unwrap_or(0)
    }

    /// The longest segment, up to a length, of iterations that end before number `end` and in which each stream's words
    /// fare alike; nothing if those of iteration `end - 1` fare differently byte by byte. The `tail` and all iterations
    /// from `end` on must have been done.
    pub fn segment(&mut self, bits: &mut Bits, end: u64, longest: u64) -> Option<Segment> {
        let mut segment = Segment { iterations: longest.min(end).min(self.plan.longest as u64), dead: 0, mixed: 0 };
        self.unchanged = 0;
        for (number, stream) in self.streams.iter().enumerate() {
            let fate = match self.next[number] {
                Some(fate) => fate,
                None => {
                    let row = Row::from_stream(stream, end - segment.iterations, segment.iterations);
                    let (fate, words) = row.alike_at_end(bits, self.masks);
                    segment.iterations = words;
                    self.unchanged |= u64::from((stream.kind == Kind::Load) == (fate == Fate::Kept)) << number;
                    fate
                }
            };
            match fate {
                Fate::Kept => {}
                Fate::Dead => segment.dead |= 1 << number,
                Fate::Mixed => return None,
            }
        }
        Some(segment)
    }

    /// Undoes the segment that was found last, iterations `start .. end` of the run.
    pub fn undo(&mut self, bits: &mut Bits, start: u64, end: u64) {
        let changed = |number: &usize| self.unchanged >> number & 1 == 0;
        for (number, stream) in self.streams.iter().enumerate().filter(|(number, _)| changed(number)) {
            // What counts is the first access to each word, which is another stream's where that had it shortly before.
            let first =
                self.plan.carried(number).map_or(end - start, |carried| u64::from(carried.distance).min(end - start));
            if first > 0 {
                let row = Row::from_stream(stream, start, first);
                if stream.kind == Kind::Load {
                    row.set::<true>(bits, self.masks)
                } else {
                    row.set::<false>(bits, self.masks)
                }
            }
        }
    }
}

/// Words of one stream, from the lowest upwards.
struct Row {
    words: Progression,
    /// Whether the last iteration has the highest word.
    ascends: bool,
}

impl Row {
    fn from_stream(stream: &Stream, start: u64, iterations: u64) -> Self {
        // One word again and again is the same as once.
        let words = stream.words(start, if stream.stride == 0 { 1 } else { iterations });
        let ascends = words.step >= 0;
        Self { words: if ascends { words } else { words.reversed() }, ascends }
    }

    /// The word with a number, counted from the last iteration back.
    fn back_from_end(&self, number: u64) -> u64 {
        self.words.start_of(if self.ascends { self.words.count - 1 - number } else { number })
    }

    /// One bit per byte, for each word of 64 addresses from the lowest on.
    fn masks(&self, masks: &mut Vec<u64>) {
        let Progression { first, step, count, width } = self.words;
        strided(std::iter::once((first % 64, width)), step as u64, count as usize, masks);
    }

    /// The fate of the last iteration's word, and how many in a row, up to there, have the same.
    fn alike_at_end(&self, bits: &mut Bits, masks: &mut Vec<u64>) -> (Fate, u64) {
        let (first, width) = (self.words.first & !63, self.words.width);
        let fate_of = |live| Fate::of_live(live, low_ones(width));
        let fate = fate_of(bits.get(self.back_from_end(0), width));
        if fate == Fate::Mixed {
            return (fate, 0);
        }
        if self.words.step > FAR {
            let same = |number: &u64| fate_of(bits.get(self.back_from_end(*number), width)) == fate;
            return (fate, 1 + (1..self.words.count).take_while(same).count() as u64);
        }
        self.masks(masks);
        let mut words = 0;
        for number in 0..masks.len() {
            let at = if self.ascends { masks.len() - 1 - number } else { number };
            let live = bits.get(first + 64 * at as u64, 64);
            let wanted = if fate == Fate::Kept { masks[at] } else { 0 };
            let wrong = (live & masks[at]) ^ wanted;
            if wrong != 0 {
                // Words before the first wrong one.
                let good = if self.ascends {
                    u64::MAX.checked_shl(64 - wrong.leading_zeros()).unwrap_or(0)
                } else {
                    (wrong & wrong.wrapping_neg()) - 1
                };
                return (fate, words + u64::from((masks[at] & good).count_ones()) / width);
            }
            words += u64::from(masks[at].count_ones()) / width;
        }
        (fate, words)
    }

    fn set<const LIVE: bool>(&self, bits: &mut Bits, masks: &mut Vec<u64>) {
        let Progression { first, step, count, width } = self.words;
        if step > FAR || count == 1 {
            return self.words.each().for_each(|address| {
                bits.exchange::<LIVE>(address, width);
            });
        }
        self.masks(masks);
        for (mask, addr) in masks.iter().zip((first & !63..).step_by(64)) {
            bits.exchange_in_word::<LIVE>(addr, *mask);
        }
    }
}
