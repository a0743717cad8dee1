//! Iterations of the innermost loop that go on as the ones before, counted together.
//!
//! Takes the accesses of an iteration as streams, each within one array, and a number of iterations that follow ones
//! like them; counts for [`Movement`] what the single accesses would. Each iteration is a tile of the innermost level,
//! and all of them are in one tile of the levels around it. Where a word was touched a few iterations ago, the streams
//! tell that (`engine::dependence`); for all others the stamps are looked at, page by page where words lie side by
//! side.

use super::{
    movement::{Movement, RowNumber},
    nest::LevelNumber,
    stamps::{PAGE, Piece},
};
use crate::{
    engine::{Progression, Stream, dependence::Plan},
    objects::ObjectNumber,
};

/// One access of each iteration.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Its address and step.
    pub stream: Stream,
    /// The only array that it accesses.
    pub array: ObjectNumber,
    /// That array's row at the innermost level.
    pub row: RowNumber,
    /// Whether it counts as an access: the second half of an update does not.
    pub counts: bool,
}

/// Iterations that are alike but for their addresses.
pub struct Steady<'a> {
    /// Accesses of one iteration, in their order.
    pub lanes: &'a [Lane],
    /// Which of them follow which.
    pub plan: &'a Plan,
}

impl Steady<'_> {
    /// Whether a lane's words were not touched shortly before.
    fn is_far(&self, lane: usize) -> bool {
        self.plan.carried(lane).is_none()
    }
}

impl Movement {
    /// Whether the running levels' stamps of some pages are sure to fit into the budget, and no array is sampled.
    pub fn has_room_for(&self, pages: u64) -> bool {
        self.stamps.has_room_for(pages, self.nest.running().count() as u64)
    }

    /// Does iterations `first .. first + count`, each the next tile of the innermost level, which this is; no more than
    /// the plan's longest block. The plan's warm-up must have been done, and at least one iteration.
    pub fn go_on(&mut self, innermost: LevelNumber, steady: &Steady<'_>, first: u64, count: u64) {
        let tile = self.nest.levels[innermost.index()].tile;
        // Old stamps are looked at before other lanes overwrite them.
        for (number, lane) in steady.lanes.iter().enumerate().filter(|(number, _)| steady.is_far(*number)) {
            let is_last = steady.plan.next_user(number).is_none();
            each_piece(lane, first, count, self, |this, piece, before, words| {
                this.fill(lane.row, &piece, &Tiles { before: tile, first: tile + before as u32 + 1, words, is_last });
            });
        }
        for (number, lane) in steady.lanes.iter().enumerate() {
            if steady.is_far(number) && steady.plan.next_user(number).is_none() {
                continue;
            }
            // Of words that another lane takes over, the last ones are left.
            let start = steady.plan.kept_from(number, count as usize) as u64;
            each_piece(lane, first + start, count - start, self, |this, piece, before, words| {
                let block = this.stamps.block(innermost, piece.page);
                let stamps = &mut this.stamps.stamps(block)[piece.range()];
                stamp(stamps, words, tile + (start + before) as u32 + 1);
            });
        }
        self.count_tiles(innermost, steady, count);
    }

    /// Words that no iteration of these touched before: a page's part at the innermost level, and at those around it.
    #[inline]
    fn fill(&mut self, number: RowNumber, piece: &Piece, tiles: &Tiles) {
        let row = &mut self.rows[number.index()];
        let block = self.stamps.block(row.counts.level, piece.page);
        let stamps = &mut self.stamps.stamps(block)[piece.range()];
        let unknown = stamps.iter().map(|stamp| u64::from(*stamp == 0)).sum::<u64>();
        // Only the first of the tiles comes right after another.
        let first = if tiles.first == tiles.before + 1 { stamps.len() / tiles.words as usize } else { 0 };
        let held = stamps[..first].iter().map(|stamp| u64::from(*stamp == tiles.before)).sum::<u64>();
        row.counts.fills += (stamps.len() as u64 - held) * piece.unit;
        row.counts.footprint += unknown * piece.unit;
        if tiles.is_last {
            stamp(stamps, tiles.words, tiles.first);
        }
        let parent = row.parent;
        self.touch_levels(parent, piece);
    }

    /// What the lanes' tiles hold, and that they have been.
    fn count_tiles(&mut self, innermost: LevelNumber, steady: &Steady<'_>, count: u64) {
        let mut held: Vec<(RowNumber, u64)> = Vec::new();
        for (number, lane) in steady.lanes.iter().enumerate() {
            let len = u64::from(lane.stream.len);
            let counts = &mut self.rows[lane.row.index()].counts;
            if lane.counts {
                counts.accesses += count;
                counts.accessed += count * len;
            }
            let delay = steady.plan.carried(number).map(|carried| carried.distance);
            if delay.is_some_and(|delay| delay > 1) {
                counts.fills += count * len;
            }
            if delay != Some(0) {
                match held.iter_mut().find(|(row, _)| *row == lane.row) {
                    Some((_, bytes)) => *bytes += len,
                    None => held.push((lane.row, len)),
                }
            }
        }
        let tile = self.nest.go_on(innermost, count, held.iter().map(|(_, bytes)| bytes).sum());
        for &(number, bytes) in &held {
            let row = &mut self.rows[number.index()];
            (row.tile, row.held) = (tile, bytes);
            row.counts.peak = row.counts.peak.max(bytes);
        }
    }
}

/// The tiles that touch some words, one each.
struct Tiles {
    /// The one before all tiles.
    before: u32,
    first: u32,
    words: u64,
    /// No other lane touches the words.
    is_last: bool,
}

/// Stamps words with tiles from `first` on.
#[inline]
fn stamp(stamps: &mut [u32], words: u64, first: u32) {
    match stamps {
        [one] => *one = first,
        _ if stamps.len() as u64 == words => stamps.iter_mut().zip(first..).for_each(|(stamp, tile)| *stamp = tile),
        _ => {
            let granules = stamps.len() / words as usize;
            stamps.chunks_exact_mut(granules).zip(first..).for_each(|(word, tile)| word.fill(tile));
        }
    }
}

/// Hands over a lane's words in some iterations in pieces of pages, with the number of words before and in the piece.
fn each_piece(
    lane: &Lane,
    first: u64,
    count: u64,
    movement: &mut Movement,
    mut take: impl FnMut(&mut Movement, Piece, u64, u64),
) {
    let mut left = lane.stream.words(first, count);
    while left.count > 0 {
        let Progression { first, step, width, .. } = left;
        // Words are aligned, so that none lies in two pages.
        let (mut piece, mut part) = movement.stamps.piece(first, width, lane.array);
        if step == width as i64 {
            // The first word has seen to it that granules are not larger than words.
            (piece, part) = movement.stamps.piece(first, left.count * width, lane.array);
        }
        let words = part / width;
        if let Some(piece) = piece {
            take(movement, piece, count - left.count, words);
        }
        left = left.skip(words);
    }
}

/// Pages that a lane's words in some iterations lie in, at most.
pub fn pages(lane: &Stream, iterations: u64) -> u64 {
    let bytes = lane.stride.unsigned_abs().saturating_mul(iterations);
    (bytes / PAGE + 2).min(iterations.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::nest::RingLoopNumber, *};
    use crate::engine::Kind;

    const ARRAYS: u64 = 3;

    /// Array, element, stride in elements, whether it counts, which part of the element of how many.
    type Walk = (u64, u64, i64, bool, (u64, u64));

    #[derive(Clone, Debug)]
    struct Loop {
        /// Bytes of an element.
        len: u64,
        lanes: Vec<Walk>,
        iterations: u64,
    }

    fn a_loop() -> impl Strategy<Value = Loop> {
        let stride = prop_oneof![6 => Just(1i64), 3 => -2i64..4, 1 => 100i64..300];
        let part = prop_oneof![4 => Just((0u64, 1u64)), 1 => (0u64..2).prop_map(|part| (part, 2))];
        let lane = (0..ARRAYS, 0u64..20, stride, any::<bool>(), part);
        let lanes = prop::collection::vec(lane, 1..6);
        (prop_oneof![3 => Just(8u64), 1 => Just(4), 1 => Just(16)], lanes, 2u64..400, any::<bool>()).prop_map(
            |(len, mut lanes, iterations, alike)| {
                let stride = lanes[0].2;
                lanes.iter_mut().filter(|_| alike).for_each(|lane| lane.2 = stride);
                Loop { len, lanes, iterations }
            },
        )
    }

    fn streams(a_loop: &Loop) -> Vec<(ObjectNumber, Stream, bool)> {
        let stream = |&(array, element, stride, counts, (part, of)): &Walk| {
            let len = (a_loop.len / of).max(4);
            let addr = ((array + 1) << 24) + 8192 + element * a_loop.len + (part * len) % a_loop.len;
            let stride = stride * a_loop.len as i64;
            (ObjectNumber::new(array as usize), Stream { addr, stride, len: len as u32, kind: Kind::Load }, counts)
        };
        a_loop.lanes.iter().map(stream).collect()
    }

    fn iterate(movement: &mut Movement, streams: &[(ObjectNumber, Stream, bool)], iteration: u64) {
        movement.nest.record_loop(1, Some(RingLoopNumber::new(2)), true);
        for &(array, Stream { addr, stride, len, .. }, counts) in streams {
            if movement.nest.is_pending() {
                movement.open_tiles();
            }
            let row = movement.row(movement.nest.innermost().expect("a loop runs"), array);
            let addr = addr.wrapping_add_signed(stride * iteration as i64);
            movement.touch(row, addr, len.into(), counts.into());
        }
    }

    /// Outer loops around loops; gives the counts, and how many iterations were done together.
    fn run(loops: &[Loop], together: bool) -> (Movement, u64) {
        let mut movement = Movement::new(u64::MAX);
        movement.nest.add_loops([None, Some(RingLoopNumber::new(0)), Some(RingLoopNumber::new(1))].into_iter());
        let mut done_together = 0;
        for outer in 0..3 {
            movement.nest.record_loop(1, Some(RingLoopNumber::new(0)), true);
            for a_loop in loops.iter().skip(outer % 2) {
                movement.nest.record_loop(1, Some(RingLoopNumber::new(1)), true);
                let streams = streams(a_loop);
                let plain: Vec<Stream> = streams.iter().map(|s| s.1).collect();
                let plan = Plan::new(&plain, a_loop.iterations).filter(|_| together);
                let singly = plan.as_ref().map_or(a_loop.iterations, |plan| (1 + plan.warm_up).min(a_loop.iterations));
                (0..singly).for_each(|iteration| iterate(&mut movement, &streams, iteration));
                let Some(plan) = plan else { continue };
                let level = movement.nest.innermost().expect("a loop runs");
                let lane = |&(array, stream, counts)| Lane { stream, array, row: movement.row(level, array), counts };
                let lanes: Vec<Lane> = streams.iter().map(lane).collect();
                let mut first = singly;
                while first < a_loop.iterations {
                    let count = (a_loop.iterations - first).min(plan.longest as u64);
                    movement.go_on(level, &Steady { lanes: &lanes, plan: &plan }, first, count);
                    first += count;
                    done_together += count;
                }
            }
        }
        movement.finish();
        (movement, done_together)
    }

    fn check(loops: &[Loop]) -> Result<u64, TestCaseError> {
        let ((one, _), (other, together)) = (run(loops, false), run(loops, true));
        prop_assert_eq!(one.inclusive_rows(), other.inclusive_rows());
        for (one, other) in one.nest.levels.iter().zip(&other.nest.levels) {
            prop_assert_eq!((one.tiles, one.iteration, one.capacity), (other.tiles, other.iteration, other.capacity));
        }
        Ok(together)
    }

    proptest! {
        #[test]
        fn iterations_together_are_what_they_are_one_by_one(loops in prop::collection::vec(a_loop(), 1..6)) {
            check(&loops)?;
        }
    }

    #[test]
    fn a_stencil_is_done_together() {
        let row = |at: u64| Loop {
            len: 8,
            lanes: vec![
                (0, at, 1, true, (0, 1)),
                (0, at + 1, 1, true, (0, 1)),
                (0, at + 2, 1, true, (0, 1)),
                (0, at + 130, 1, true, (0, 1)),
                (1, at, 1, true, (1, 2)),
            ],
            iterations: 128,
        };
        let together = check(&[row(0), row(130), row(260)]).expect("alike");
        assert!(together > 900, "{together}");
    }
}
