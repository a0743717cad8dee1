//! What a program that is sampled asks before it writes the record of a segment.
//!
//! Takes a planned segment; gives the points of its addresses whose lines must be looked up, so that no line which the
//! segment touches goes unasked, and how many loads and stores it is. Segments that touch what only runs tell, or very
//! much, are always written down.

use dmdprof_abi::{
    COPY_BLOCK, ItemKind, SegmentKind, item_flag,
    sample::{LINE, blocks},
    segment_flag,
};

use crate::function_plan::{PlannedItem, Segment};

/// Points that are worth asking for.
const MOST_POINTS: usize = 32;
/// Streams of a loop that are worth asking for.
const MOST_SPANS: usize = 8;
/// Streams of a loop that are closer than this are looked up together.
const CLOSE: i64 = 4 * LINE as i64;

/// A byte of a line that is looked up: so many behind a word of the record, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub word: u16,
    pub offset: i64,
}

/// Loads and stores that depend on words of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varying {
    /// The lanes of a mask, neighbours as one.
    Runs { mask: u16, lanes: u16 },
    /// The lanes of a mask.
    Lanes { mask: u16, lanes: u16 },
    /// One, if the mask has any.
    Any { mask: u16, lanes: u16 },
    /// The blocks of so many bytes, so many times.
    Blocks { bytes: u16, times: u64 },
}

/// How far an address advances in an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    Bytes(i64),
    /// By a word of the record.
    Word(u16),
}

/// What a stream of a loop touches: so many bytes per iteration, `offset` behind a word of the record, which is where
/// the iteration after the last would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub word: u16,
    pub offset: i64,
    pub bytes: u64,
    pub advance: Advance,
}

/// What is looked up before a record is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Nothing: it is always written.
    #[default]
    Always,
    /// Lines of single bytes.
    Points(Vec<Point>),
    /// All lines of a loop.
    Spans(Vec<Span>),
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// Loads and stores of one execution, or iteration, that are known.
    pub accesses: u64,
    /// Loads and stores whose number is not known.
    pub varying: Vec<Varying>,
    /// What is looked up.
    pub look: Look,
    /// A function begins or ends with it, or control arrives there: written down if calling contexts are wanted.
    pub is_border: bool,
}

/// Bytes behind a word that are touched, and what is known of the place.
struct Range {
    word: u16,
    first: i64,
    last: i64,
}

/// The address `word + offset` is a multiple of this.
struct Known {
    word: u16,
    offset: i64,
    align: u64,
}

impl Gate {
    /// Of a segment that has a record.
    #[must_use]
    pub fn for_segment(segment: &Segment<'_>) -> Self {
        let mut gate = Gate { is_border: segment.flags & segment_flag::BORDERS != 0, ..Gate::default() };
        let (mut ranges, mut known) = (Vec::new(), Vec::new());
        let mut is_static = true;
        for planned in &segment.items {
            is_static &= gate.item(planned, &mut ranges, &mut known);
        }
        if segment.kind == SegmentKind::Loop {
            let spans = spans(&segment.items);
            gate.look = if spans.len() <= MOST_SPANS { Look::Spans(spans) } else { Look::Always };
        } else if is_static {
            let points = points(ranges, &known);
            gate.look = if points.len() <= MOST_POINTS { Look::Points(points) } else { Look::Always };
        }
        gate
    }

    /// Counts the accesses of an item, and adds what it touches; whether that is known.
    fn item(&mut self, planned: &PlannedItem, ranges: &mut Vec<Range>, known: &mut Vec<Known>) -> bool {
        let item = &planned.item;
        let (word, mask, lanes) = (item.word, item.word2, item.lanes);
        let is_dynamic = item.flags & item_flag::DYNAMIC != 0;
        let size = u64::from(item.size);
        let mut touch = |word, offset: i64| {
            if size > 0 {
                ranges.push(Range { word, first: offset, last: offset.wrapping_add(size as i64 - 1) });
            }
        };
        let Some(kind) = ItemKind::from_number(item.kind) else { return false };
        match kind {
            ItemKind::Load | ItemKind::Store | ItemKind::Update => {
                self.accesses += if kind == ItemKind::Update { 2 } else { 1 };
                touch(word, item.offset);
                known.push(Known { word, offset: item.offset, align: planned.align });
            }
            ItemKind::Kill if is_dynamic => return false,
            ItemKind::Kill => touch(word, item.offset),
            ItemKind::Fill if is_dynamic => {
                self.varying.push(Varying::Blocks { bytes: mask, times: 1 });
                return false;
            }
            ItemKind::Fill => {
                self.accesses += blocks(size);
                touch(word, item.offset);
            }
            ItemKind::Copy if is_dynamic => {
                self.varying.push(Varying::Blocks { bytes: lanes, times: 2 });
                return false;
            }
            ItemKind::Copy => {
                self.accesses += 2 * blocks(size);
                touch(word, item.offset);
                touch(mask, 0);
            }
            ItemKind::MaskedLoad | ItemKind::MaskedStore => {
                self.varying.push(Varying::Runs { mask, lanes });
                return false;
            }
            ItemKind::Gather | ItemKind::Scatter => {
                self.varying.push(Varying::Lanes { mask, lanes });
                return false;
            }
            ItemKind::ExpandLoad | ItemKind::CompressStore => {
                self.varying.push(Varying::Any { mask, lanes });
                return false;
            }
            ItemKind::Loop => {}
        }
        true
    }
}

/// Points such that each line which the ranges touch has one.
fn points(mut ranges: Vec<Range>, known: &[Known]) -> Vec<Point> {
    let line = LINE as i64;
    ranges.sort_by_key(|range| (range.word, range.first));
    let mut merged: Vec<Range> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            // What is between them is at most a line; the record may be written for nothing.
            Some(before) if before.word == range.word && range.first.saturating_sub(before.last) <= line / 2 => {
                before.last = before.last.max(range.last);
            }
            _ => merged.push(range),
        }
    }
    let mut points: Vec<Point> = Vec::new();
    for Range { word, first, last } in merged {
        if last.saturating_sub(first) / line > MOST_POINTS as i64 {
            return vec![Point { word, offset: 0 }; MOST_POINTS + 1];
        }
        let best = known.iter().filter(|known| known.word == word).max_by_key(|known| known.align);
        // Which of the pieces that are as long as what the address is a multiple of; they are in one line each.
        let piece = |offset: i64| {
            best.map(|best| offset.wrapping_sub(best.offset).div_euclid(best.align.clamp(1, LINE) as i64))
        };
        let starts = (first..=last).step_by(LINE as usize).chain([last]);
        for offset in starts {
            let is_asked = |point: &&Point| point.word == word && piece(point.offset) == piece(offset);
            if best.is_none() || points.last().filter(is_asked).is_none() {
                points.push(Point { word, offset });
            }
        }
    }
    points.dedup();
    points
}

/// The streams of a loop's items; those that stay beside each other are one.
fn spans(items: &[PlannedItem]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for PlannedItem { item, .. } in items {
        let is_word = item.flags & item_flag::STRIDE_WORD != 0;
        let advance = if is_word { Advance::Word(item.word2) } else { Advance::Bytes(item.stride) };
        let (first, end) = (item.offset, item.offset.wrapping_add(i64::from(item.size)));
        let together = spans.iter_mut().find(|span| {
            let (start, stop) = (span.offset, span.offset.wrapping_add(span.bytes as i64));
            let is_close = first.saturating_sub(stop) <= CLOSE && start.saturating_sub(end) <= CLOSE;
            span.word == item.word && span.advance == advance && is_close
        });
        match together {
            Some(span) => {
                let stop = end.max(span.offset.wrapping_add(span.bytes as i64));
                span.offset = span.offset.min(first);
                span.bytes = stop.wrapping_sub(span.offset) as u64;
            }
            None => spans.push(Span { word: item.word, offset: first, bytes: item.size.into(), advance }),
        }
    }
    spans
}

const _: () = assert!(COPY_BLOCK == LINE);

#[cfg(test)]
mod tests {
    use dmdprof_abi::Item;

    use super::*;

    fn range(word: u16, first: i64, len: i64) -> Range {
        Range { word, first, last: first + len - 1 }
    }

    /// Whether each line that a range touches has a point, wherever the words are.
    fn is_covered(ranges: &[(i64, i64, u64)], step: u64) {
        let known = |(first, _, align): &(i64, i64, u64)| Known { word: 1, offset: *first, align: *align };
        let known: Vec<Known> = ranges.iter().map(known).collect();
        let points = points(ranges.iter().map(|(first, len, _)| range(1, *first, *len)).collect(), &known);
        for base in (0..4096u64).step_by(step as usize) {
            let at = |offset: i64| (1 << 20) + base as i64 + offset;
            if known.iter().any(|known| !(at(known.offset) as u64).is_multiple_of(known.align)) {
                continue;
            }
            for (first, len, _) in ranges {
                for byte in *first..first + len {
                    let has = points.iter().any(|point| at(point.offset) / 64 == at(byte) / 64);
                    assert!(has, "{ranges:?} at {base}: byte {byte} has no point of {points:?}");
                }
            }
        }
    }

    #[test]
    fn each_line_has_a_point_wherever_addresses_are() {
        is_covered(&[(0, 8, 8)], 1);
        is_covered(&[(3, 8, 1)], 1);
        is_covered(&[(0, 8, 8), (8, 8, 8), (40, 4, 4)], 1);
        is_covered(&[(-16, 8, 8), (0, 8, 8), (100, 16, 16), (1000, 1, 1)], 1);
        is_covered(&[(0, 200, 1)], 1);
        is_covered(&[(0, 32, 32), (32, 32, 32), (64, 32, 32), (96, 32, 32)], 1);
        is_covered(&[(4, 64, 4)], 1);
        is_covered(&[(0, 1, 1), (70, 1, 1), (90, 1, 1), (130, 2, 2)], 1);
    }

    #[test]
    fn an_access_that_cannot_cross_a_line_has_one_point() {
        let known = [Known { word: 1, offset: 0, align: 8 }];
        assert_eq!(points(vec![range(1, 0, 8)], &known), [Point { word: 1, offset: 0 }]);
        let known = [Known { word: 1, offset: 16, align: 16 }];
        assert_eq!(points(vec![range(1, 16, 8), range(1, 24, 8)], &known).len(), 1);
        assert_eq!(points(vec![range(1, 8, 8), range(1, 16, 8)], &known).len(), 2);
        assert_eq!(points(vec![range(1, 0, 8)], &[]).len(), 2, "nothing is known");
    }

    #[test]
    fn streams_that_stay_beside_each_other_are_looked_up_together() {
        let item = |word, offset, stride, flags| {
            let kind = ItemKind::Load as u8;
            PlannedItem::from(Item { kind, word, offset, size: 8, stride, flags, word2: 5, ..Item::default() })
        };
        let found = spans(&[item(2, 8, 8, 0), item(2, 0, 8, 0), item(2, 4000, 8, 0), item(2, 0, 16, 0)]);
        let span = |offset, bytes, advance| Span { word: 2, offset, bytes, advance: Advance::Bytes(advance) };
        assert_eq!(found, [span(0, 16, 8), span(4000, 8, 8), span(0, 8, 16)]);
        let varying = spans(&[item(2, 0, 0, item_flag::STRIDE_WORD)]);
        assert_eq!(varying, [Span { word: 2, offset: 0, bytes: 8, advance: Advance::Word(5) }]);
    }

    #[test]
    fn what_is_too_long_has_too_many_points() {
        assert!(points(vec![range(1, 0, 1 << 40)], &[]).len() > MOST_POINTS);
        assert!(points(vec![range(1, 0, 64 * 40)], &[]).len() > MOST_POINTS);
    }
}
