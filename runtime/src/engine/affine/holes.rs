//! What a block of iterations in which words die does to the holes of the stack.
//!
//! Takes the streams, their plan and where their words are; gives for each access the holes above its word, and the
//! holes in the end. All holes of before the block lie below its words, so that only those count that it makes itself.
//! They are followed iteration by iteration, until an iteration leaves them as the one before did: from there on all
//! iterations are alike, as words that have one step keep their order, and others are not among each other. Refuses
//! blocks in which that takes long, and holes for which there is no position in the end.

use std::ops::Range;

use super::{block::Block, dependence::Plan};
use crate::engine::{
    access::{Kind, Stream},
    progression::Progression,
};

/// Iterations that are followed one by one at most.
const MOST: usize = 16;

/// Whose place was freed, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Origin {
    /// A word went to the top from where it was before the block.
    Old(usize),
    /// A word went to the top that the run used shortly before the block, from where that had left it.
    Early,
    /// From where the block had put it.
    New(usize),
    /// A word died on the top.
    Top,
}

#[derive(Clone, Copy, Debug)]
struct Hole {
    /// Twice the position; one less for what is below that position and above those before it.
    key: u64,
    len: u64,
    origin: Origin,
    iteration: usize,
}

/// The holes that a block makes, fills and leaves. Following a block fills it, if words die in that; its reports and
/// its moves read it: valid until the next block is followed.
#[derive(Default)]
pub struct HoleMoves {
    /// Holes above the word of each access of the iterations that were followed, one after the other.
    above: Vec<u64>,
    followed: usize,
    streams: usize,
    /// Holes in the order of the stack, the newest last.
    holes: Vec<Hole>,
    before: Vec<Hole>,
    /// Words of an access, as the holes that they may leave.
    sinking: Vec<Hole>,
    /// Holes that are below all words of what is left of the block.
    settled: Vec<Hole>,
    /// Holes of before the block that are filled, in all.
    pub filled: u64,
}

/// Where the words of a block are.
pub struct Places<'a> {
    pub streams: &'a [Stream],
    pub plan: &'a Plan,
    pub block: &'a Block,
    /// Where the block puts its first word.
    pub start: u64,
}

impl Places<'_> {
    /// Where the block puts a stream's word.
    fn new_position(&self, stream: usize, iteration: usize) -> u64 {
        self.start + self.plan.slot(stream) + self.plan.step * iteration as u64
    }

    /// The lowest position at which a word is that the block uses for the first time from an iteration on.
    fn lowest_from(&self, iteration: usize) -> u64 {
        let far = (0..self.streams.len()).filter(|&stream| self.block.is_far(stream));
        let lowest = far.map(|stream| {
            let positions = self.block.positions[stream];
            positions.position_at(iteration).min(positions.position_at(self.block.size - 1))
        });
        lowest.min().unwrap_or(u64::MAX)
    }

    /// Whether words of far streams keep their order from iteration to iteration.
    fn keep_order(&self) -> bool {
        let far = || (0..self.streams.len()).filter(|&stream| self.block.is_far(stream));
        let ends = |stream| self.block.ends(stream, self.plan.len(stream));
        far().all(|stream| {
            far().take_while(|&other| other < stream).all(|other| {
                let ((low, high), (other_low, other_high)) = (ends(stream), ends(other));
                let steps = self.block.positions[stream].step == self.block.positions[other].step;
                steps || high <= other_low || other_high <= low
            })
        })
    }
}

impl HoleMoves {
    /// Follows a block; `first_words` gives the position of a word that the run used shortly before the block, by
    /// stream and iteration. False if the block must be done otherwise.
    pub fn follow(&mut self, places: &Places<'_>, first_words: impl Fn(usize, usize) -> u64) -> bool {
        let (count, size) = (places.streams.len(), places.block.size);
        self.above.clear();
        self.holes.clear();
        self.settled.clear();
        (self.streams, self.filled) = (count, 0);
        let carried = |stream: usize| places.plan.carried(stream).map_or(0, |carried| usize::from(carried.distance));
        let irregular = (0..count).map(carried).max().unwrap_or(0);
        if !places.keep_order() {
            return false;
        }
        for iteration in 0..size {
            if iteration == MOST {
                return false;
            }
            let (settled, filled) = (self.settled.len(), self.filled);
            self.before.clone_from(&self.holes);
            if !self.iteration(places, iteration, &first_words) {
                return false;
            }
            self.followed = iteration + 1;
            if iteration >= irregular && self.is_as_before() {
                let left = (size - self.followed) as u64;
                self.filled += (self.filled - filled) * left;
                self.go_on(places, settled);
                break;
            }
        }
        true
    }

    /// Whether the holes are those of one iteration before, one iteration further.
    fn is_as_before(&self) -> bool {
        self.holes.len() == self.before.len()
            && self.holes.iter().zip(&self.before).all(|(hole, before)| {
                hole.origin != Origin::Early
                    && (hole.len, hole.origin, hole.iteration) == (before.len, before.origin, before.iteration + 1)
            })
    }

    /// Follows one iteration; false if it leaves a hole for which there is no position.
    fn iteration(&mut self, places: &Places<'_>, iteration: usize, first_words: &impl Fn(usize, usize) -> u64) -> bool {
        let mut start = 0;
        while start < places.streams.len() {
            let is_other = |&stream: &usize| places.plan.is_before(start, stream);
            let end = (start + 1..places.streams.len()).find(is_other).unwrap_or(places.streams.len());
            if !self.access(places, start..end, iteration, first_words) {
                return false;
            }
            start = end;
        }
        self.settle(places, iteration);
        // What is not on the very top would have no position.
        let top = 2 * (places.start + places.plan.step * (iteration as u64 + 1)) - 1;
        self.holes.iter().all(|hole| hole.origin != Origin::Top || hole.key == top)
    }

    /// Follows an access, whose words are some streams': all are looked up before any moves, the topmost moves first.
    fn access(
        &mut self,
        places: &Places<'_>,
        words: Range<usize>,
        iteration: usize,
        first_words: &impl Fn(usize, usize) -> u64,
    ) -> bool {
        let len = |stream: usize| places.plan.len(stream);
        let kind = |stream: usize| places.streams[stream].kind;
        self.sinking.clear();
        for stream in words.clone() {
            if kind(stream) == Kind::Fresh {
                self.above.push(0);
                continue;
            }
            let (position, origin, from) = match places.plan.carried(stream) {
                None => (places.block.positions[stream].position_at(iteration), Origin::Old(stream), iteration),
                Some(carried) => match iteration.checked_sub(carried.distance.into()) {
                    None => (first_words(stream, iteration), Origin::Early, iteration),
                    Some(then) => {
                        let source = usize::from(carried.source);
                        (places.new_position(source, then), Origin::New(source), then)
                    }
                },
            };
            let key = 2 * position;
            self.above.push(self.above_key(key));
            self.sinking.push(Hole { key, len: len(stream), origin, iteration: from });
        }
        let mut sinking = std::mem::take(&mut self.sinking);
        sinking.sort_unstable_by_key(|word| std::cmp::Reverse(word.key));
        for word in &sinking {
            let filled = self.fill(word.len.min(self.above_key(word.key)));
            if filled > 0 {
                self.leave(Hole { len: filled, ..*word });
            }
        }
        self.sinking = sinking;
        for stream in words.clone().filter(|&stream| kind(stream) == Kind::Fresh) {
            let missing = len(stream) - self.fill(len(stream));
            // Which of the two would be filled depends on the iteration.
            if missing > 0 && !self.settled.is_empty() {
                return false;
            }
            self.filled += missing;
        }
        for stream in words.clone().filter(|&stream| kind(stream) == Kind::Last) {
            let key = self.next_key(places, words.end - 1, iteration);
            self.leave(Hole { key, len: len(stream), origin: Origin::Top, iteration });
        }
        true
    }

    /// Holes above a key.
    fn above_key(&self, key: u64) -> u64 {
        self.holes.iter().rev().take_while(|hole| hole.key > key).map(|hole| hole.len).sum()
    }

    /// Key of what is on the top when a stream has had its turn.
    fn next_key(&self, places: &Places<'_>, stream: usize, iteration: usize) -> u64 {
        let puts = |&later: &usize| places.streams[later].kind != Kind::Last;
        let next = (stream + 1..places.streams.len()).find(puts);
        let end = places.start + places.plan.step * (iteration as u64 + 1);
        2 * next.map_or(end, |next| places.new_position(next, iteration)) - 1
    }

    fn leave(&mut self, hole: Hole) {
        let at = self.holes.partition_point(|other| other.key < hole.key);
        match self.holes.get_mut(at).filter(|other| other.key == hole.key) {
            Some(other) => other.len += hole.len,
            None => self.holes.insert(at, hole),
        }
    }

    /// Fills the newest holes; gives how many of so many bytes had one.
    fn fill(&mut self, len: u64) -> u64 {
        let mut left = len;
        while let Some(newest) = self.holes.last_mut().filter(|_| left > 0) {
            let part = left.min(newest.len);
            (newest.len, left) = (newest.len - part, left - part);
            if newest.len == 0 {
                self.holes.pop();
            }
        }
        len - left
    }

    /// Sets aside what is below all that is left of the block.
    fn settle(&mut self, places: &Places<'_>, iteration: usize) {
        if iteration + 1 == places.block.size || places.streams.iter().any(|stream| stream.kind == Kind::Fresh) {
            return;
        }
        let lowest = 2 * places.lowest_from(iteration + 1);
        let is_old = |hole: &Hole| matches!(hole.origin, Origin::Old(_));
        let settled = self.holes.iter().take_while(|hole| is_old(hole) && hole.key < lowest).count();
        self.settled.extend(self.holes.drain(..settled));
    }

    /// Puts the holes where they are after the last iteration, if all from here on do as the last one did, which has
    /// added the settled ones from a number on.
    fn go_on(&mut self, places: &Places<'_>, first: usize) {
        let further = places.block.size - self.followed;
        let each = first..self.settled.len();
        for turn in 1..=further {
            for at in each.clone() {
                let hole = self.settled[at].later(places, turn);
                self.settled.push(hole);
            }
        }
        self.holes.iter_mut().for_each(|hole| *hole = hole.later(places, further));
    }

    /// Pieces of a row of a stream's words, each with the holes above all of its words.
    pub fn pieces(&self, stream: usize, from: usize, row: Progression, mut tell: impl FnMut(usize, Progression, u64)) {
        let mut done = 0;
        while done < row.count as usize {
            let at = from + done;
            let count = if at + 1 < self.followed { 1 } else { row.count as usize - done };
            tell(at, row.skip(done as u64).take(count as u64), self.above(stream, at));
            done += count;
        }
    }

    /// Holes above a stream's word in an iteration.
    fn above(&self, stream: usize, iteration: usize) -> u64 {
        self.above[iteration.min(self.followed - 1) * self.streams + stream]
    }

    /// Holes in the end that have positions: those and lengths.
    pub fn placed(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = self.settled.iter().chain(&self.holes);
        all.filter(|hole| hole.origin != Origin::Top).map(|hole| (hole.key / 2, hole.len))
    }

    /// Holes in the end that are above all words.
    pub fn on_top(&self) -> u64 {
        self.holes.iter().filter(|hole| hole.origin == Origin::Top).map(|hole| hole.len).sum()
    }
}

impl Hole {
    /// The hole that takes this one's part so many iterations later.
    fn later(self, places: &Places<'_>, iterations: usize) -> Hole {
        let iteration = self.iteration + iterations;
        let key = match self.origin {
            Origin::Old(stream) => 2 * places.block.positions[stream].position_at(iteration),
            Origin::New(stream) => 2 * places.new_position(stream, iteration),
            Origin::Early | Origin::Top => self.key + 2 * places.plan.step * iterations as u64,
        };
        Hole { key, iteration, ..self }
    }
}
