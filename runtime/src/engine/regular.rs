//! Runs of iterations that access words at constant strides, a block of iterations at a time.
//!
//! Takes streams and a number of iterations, and does to the stack what the single accesses would. A block needs words
//! that are on the stack already, at places that are arithmetic per stream (they are if the previous pass was as regular);
//! what does not meet this is done access by access.
//!
//! In a block, the stack is left as it is until all depths are known. The bytes above a word that was used before the block
//! are those above it at the start, one word more for each access of the block, one less for each word that an access has
//! taken away from above it. Accesses whose word this run had shortly before (`Near`) move it from near the top to the
//! top, which changes nothing for words below; what is left are pairs of other streams, and how many words of one lie
//! above a word of the other is a linear function of the iteration. Loads whose words die take away and put nothing back;
//! stores of dead words put and take nothing.
//!
//! How loops are unrolled, and how wide their accesses are, is changed to what old places go by ([`Rolled`]).
//!
//! What a block takes per word is kept small: words that lie side by side are compared and set by rows of cells, old places are
//! taken away by masks of whole leaves that repeat, and depths that grow or shrink evenly are reported as one row.

use std::ops::Range;

use super::cell::{Cell, DEAD};
use super::isa;
use super::memory::{Luck, Plans};
use super::plan::{Plan, while_apart};
use super::rolled::{Rolled, Row};
use super::shadow::Spaced;
use super::slopes::Slopes;
use super::stack::Stack;
use super::timeline::{Rank, Repeat, strided};
use super::trails::{Trail, Trails, are_close};
use super::{Access, Kind, Reports, Stream};

/// Most iterations of a block.
const BLOCK: usize = 512;
/// Fewer are not worth it.
const LEAST: usize = 4;
/// Accesses done singly at a time.
const SINGLE: usize = 64;

/// Of the run at hand; kept to save allocations.
#[derive(Default)]
pub struct Scratch {
    rolled: Rolled,
    luck: Luck,
    plans: Plans,
    room: Room,
}

/// Where a block's words are and were.
#[derive(Default)]
struct Room {
    singles: Vec<Access>,
    labels: Vec<u32>,
    above: Vec<u64>,
    block: Block,
    /// The block's streams, some of them stores of words that are not on the stack.
    streams: Vec<Stream>,
    /// What may help, if the block could not be done.
    change: Option<Change>,
    /// New ones of the timeline, and masks of those that go.
    fresh: Vec<u64>,
    masks: Vec<u64>,
    /// By stream, the first iteration whose word stays where the block puts it; where the first iteration's word is, and its bytes.
    kept: Vec<(usize, u64, u64)>,
}

/// Old places of a stream's words: `first + iteration * step`.
#[derive(Clone, Copy, Default)]
pub struct Places {
    pub first: u64,
    pub step: i64,
}

impl Places {
    fn at(self, iteration: usize) -> u64 {
        self.first.wrapping_add_signed(self.step * iteration as i64)
    }
}

/// What a block knows of its streams; kept to save allocations.
#[derive(Default)]
pub struct Block {
    /// The words of a stream.
    rows: Vec<Spaced>,
    /// Streams whose words this run has not used shortly before, one bit each.
    far: u64,
    pub places: Vec<Places>,
    slopes: Slopes,
    trails: Trails,
    /// How the places of far streams repeat whose words lay among those of others.
    gaps: Vec<Option<Repeat>>,
    pub size: usize,
}

impl Block {
    fn start(&mut self, streams: usize, size: usize) {
        self.rows.clear();
        self.rows.resize(streams, Spaced::default());
        self.places.clear();
        self.places.resize(streams, Places::default());
        self.gaps.clear();
        self.gaps.resize(streams, None);
        (self.far, self.size) = (0, size);
    }

    pub fn is_far(&self, stream: usize) -> bool {
        self.far >> stream & 1 == 1
    }

    /// From the lowest place of a far stream's words, of `len` bytes, to the end of the highest.
    pub fn ends(&self, stream: usize, len: u64) -> (u64, u64) {
        self.ends_of(stream, len, self.size)
    }

    fn ends_of(&self, stream: usize, len: u64, iterations: usize) -> (u64, u64) {
        let places = self.places[stream];
        let last = places.at(iterations - 1);
        (places.first.min(last), places.first.max(last) + len)
    }

    /// Iterations before the words of two streams come to lie among each other.
    pub fn apart(&self, stream: usize, other: usize, plan: &Plan) -> usize {
        let are_apart = |iterations: u64| {
            let (low, high) = self.ends_of(stream, plan.len(stream), iterations as usize);
            let (other_low, other_high) = self.ends_of(other, plan.len(other), iterations as usize);
            high <= other_low || other_high <= low
        };
        while_apart(self.size as u64, are_apart) as usize
    }
}

/// What may help where a block could not be done.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    /// So many iterations at a time.
    Unroll(usize),
    /// Words of wide accesses apart.
    Split,
}

impl<C: Cell> Stack<C> {
    /// Does the iterations from access number `done` on; gives the number of accesses done in all, which is less than there
    /// are only if the cells are too narrow for the next one.
    #[inline(always)]
    pub fn regular_here(
        &mut self,
        streams: &[Stream],
        labels: &[u32],
        iterations: u64,
        mut done: u64,
        out: &mut Reports,
    ) -> u64 {
        let mut scratch = self.scratch.take().unwrap_or_default();
        let Scratch { rolled, luck, plans, room } = &mut *scratch;
        let all = streams.len() as u64 * iterations;
        let shape = Luck::shape(streams);
        let may_try = self.options.regular && done == 0 && luck.try_again(shape);
        if may_try && rolled.start(streams, labels) {
            let before = self.in_blocks;
            let mut left = iterations * rolled.factor as u64;
            loop {
                let (did, change) = self.iterations(rolled, left, plans, room, out);
                done += did;
                let Some(change) = change else { break };
                let first = did / rolled.accesses.len() as u64;
                left -= first;
                match change {
                    Change::Unroll(times) => {
                        left /= times as u64;
                        rolled.unroll(first, times);
                    }
                    Change::Split => rolled.split(first),
                }
            }
            luck.tried(shape, (self.in_blocks - before) * 4 > all);
        } else {
            done = self.singly(streams, |stream, _| labels[stream], done, all, room, out);
        }
        self.scratch = Some(scratch);
        done
    }

    /// Does iterations of a run, up to where a change may help; gives the number of accesses done, and that change. As many iterations as can
    /// be unrolled are left then.
    #[inline(always)]
    fn iterations(
        &mut self,
        rolled: &Rolled,
        iterations: u64,
        plans: &mut Plans,
        room: &mut Room,
        out: &mut Reports,
    ) -> (u64, Option<Change>) {
        let count = rolled.accesses.len() as u64;
        let all = count * iterations;
        let plan = plans.of(&rolled.words, &rolled.access_of, iterations);
        let may_change = !self.options.in_order;
        if plan.is_none() && may_change && rolled.can_split() {
            return (0, Some(Change::Split));
        }
        let (mut done, mut pause, mut change) = (0, LEAST as u64, None);
        let mut singles_until = plan.map_or(all, |plan| plan.warm_up * count).min(all);
        while done < all {
            let Some(plan) = plan.filter(|_| done >= singles_until) else {
                done = self.singly(&rolled.accesses, |s, i| rolled.label(s, i), done, singles_until, room, out);
                if done < singles_until {
                    return (done, None);
                }
                if change.is_some() {
                    break;
                }
                continue;
            };
            let (first, left) = (done / count, iterations - done / count);
            let block = self.block(rolled, plan, first, left as usize, room, out);
            done += block as u64 * count;
            self.in_blocks += block as u64 * count;
            if block == 0 {
                let may_help = |change: &Change| match *change {
                    _ if !may_change => false,
                    Change::Unroll(times) => rolled.can_unroll(times) && left >= (LEAST * times) as u64,
                    Change::Split => rolled.can_split(),
                };
                change = room.change.filter(may_help);
                let singly = match change {
                    None => pause,
                    Some(Change::Unroll(times)) => left % times as u64,
                    Some(Change::Split) => 0,
                };
                singles_until = (done + singly * count).min(all);
                if change.is_some() && singly == 0 {
                    break;
                }
                pause = (pause * 2).min(64);
            } else {
                pause = LEAST as u64;
            }
        }
        (done, change)
    }

    /// Accesses number `done .. until` one by one; gives the number of the first not done.
    #[inline(always)]
    fn singly(
        &mut self,
        streams: &[Stream],
        label: impl Fn(usize, u64) -> u32,
        mut done: u64,
        until: u64,
        room: &mut Room,
        out: &mut Reports,
    ) -> u64 {
        let count = streams.len() as u64;
        while done < until {
            let wanted = (until - done).min(SINGLE as u64);
            room.singles.clear();
            room.labels.clear();
            let (mut number, mut iteration) = ((done % count) as usize, done / count);
            for _ in 0..wanted {
                let Stream { len, kind, .. } = streams[number];
                room.singles.push(Access { addr: streams[number].at(iteration), len, kind });
                room.labels.push(label(number, iteration));
                number += 1;
                if number == streams.len() {
                    (number, iteration) = (0, iteration + 1);
                }
            }
            let did = isa::batch(self, &room.singles, &room.labels, out) as u64;
            done += did;
            if did < wanted {
                break;
            }
        }
        done
    }

    /// Does up to `most` iterations from `first` on together; gives their number, 0 if that is not possible.
    #[inline(always)]
    fn block(
        &mut self,
        rolled: &Rolled,
        plan: &Plan,
        first: u64,
        most: usize,
        room: &mut Room,
        out: &mut Reports,
    ) -> usize {
        room.change = None;
        let size = most.min(BLOCK).min(plan.longest);
        let span = size as u64 * plan.step;
        if size < LEAST || !self.time.has_room(span + plan.widest) {
            return 0;
        }
        room.above.resize(BLOCK, 0);
        let mut block = std::mem::take(&mut room.block);
        block.start(rolled.words.len(), size);
        let mut streams = std::mem::take(&mut room.streams);
        streams.clear();
        streams.extend_from_slice(&rolled.words);
        if self.find(&mut streams, plan, first, &mut block, &mut room.change) {
            block.size = self.together(&streams, rolled, plan, first, &mut block, room, out);
        } else {
            block.size = 0;
        }
        let size = block.size;
        room.streams = streams;
        room.block = block;
        size
    }

    /// Does the iterations of a block whose words are found; gives their number, 0 if the streams cross.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "what a block is")]
    fn together(
        &mut self,
        streams: &[Stream],
        rolled: &Rolled,
        plan: &Plan,
        first: u64,
        block: &mut Block,
        room: &mut Room,
        out: &mut Reports,
    ) -> usize {
        // Which streams cross is found out first, as nothing may be reported in vain.
        let mut slopes = std::mem::take(&mut block.slopes);
        while block.size >= LEAST {
            let crossed = slopes.find(streams, plan, block);
            if crossed == block.size {
                break;
            }
            block.size = crossed;
        }
        block.slopes = slopes;
        let size = block.size;
        if size < LEAST {
            return 0;
        }
        // Only now the size is final, so that what is touched for the first time can be counted.
        let mut untouched = 0;
        for (number, _) in streams.iter().enumerate().filter(|(_, s)| s.kind == Kind::Fresh) {
            let dead = plan.reborn(number).unwrap_or(size).min(size);
            untouched += self.shadow.untouched(block.rows[number], plan.width(number), dead);
        }
        // All depths, before anything moves.
        self.find_trails(plan, block);
        for (number, stream) in streams.iter().enumerate() {
            if !matches!(stream.kind, Kind::Load | Kind::Last) {
                continue;
            }
            let len = plan.len(number);
            let mut report = |from: usize, row: Row| rolled.row(number, first + from as u64, row, out);
            match plan.near(number) {
                Some(near) => report(0, Row { above: near.above.into(), step: 0, len, times: size }),
                None => self.report(block, number, len, &mut room.above[..size], report),
            }
        }
        self.report_fresh(streams, rolled, plan, first, size, out);
        self.rise(streams, size, untouched);
        self.take_away(streams, plan, block, room);
        self.move_words(streams, plan, block, room);
        size
    }

    /// Finds the words of a block and their old places, and how many iterations can be done together; false if none. Stores
    /// and loads of words that are not on the stack become fresh ones.
    #[inline(always)]
    fn find(
        &mut self,
        streams: &mut [Stream],
        plan: &Plan,
        first: u64,
        block: &mut Block,
        change: &mut Option<Change>,
    ) -> bool {
        // Places of words that this run used before the block; others must lie below.
        let mut floor = u64::MAX;
        for (number, stream) in streams.iter_mut().enumerate() {
            let (len, width, near) = (plan.len(number), plan.width(number), plan.near(number));
            let start = stream.at(first);
            let (row, words) = self.shadow.spaced(start, stream.stride, block.size);
            (block.rows[number], block.size) = (row, words);
            let may_be_fresh = matches!(stream.kind, Kind::Store | Kind::Load) && near.is_none() && len <= 8;
            if may_be_fresh && self.shadow.cell(row.cell) <= DEAD {
                stream.kind = Kind::Fresh;
            }
            if stream.kind == Kind::Fresh {
                if !self.find_fresh(stream, number, start, plan, block) {
                    if may_be_fresh {
                        *change = self.change(start, stream.stride, width);
                    }
                    return false;
                }
                continue;
            }
            let Some(near) = near else {
                block.far |= 1 << number;
                match self.shadow.arithmetic_spaced(row, width, block.size) {
                    Some((size, first, step)) if size >= LEAST => {
                        block.size = size;
                        block.places[number] = Places { first, step };
                    }
                    _ => {
                        *change = self.change(start, stream.stride, width);
                        return false;
                    }
                }
                continue;
            };
            for word in 0..usize::from(near.delay).min(block.size) {
                let Some(place) = self.shadow.word(row.at(word), width) else { return false };
                floor = floor.min(place);
            }
        }
        (0..streams.len()).filter(|&n| block.is_far(n)).all(|n| block.ends(n, plan.len(n)).1 <= floor)
    }

    /// Finds the words of a stream that are not on the stack.
    #[inline(always)]
    fn find_fresh(&mut self, stream: &Stream, number: usize, start: u64, plan: &Plan, block: &mut Block) -> bool {
        let (len, width) = (plan.len(number), plan.width(number));
        if !self.shadow.is_worth_pages(start, stream.stride, block.size) {
            return false;
        }
        let row = self.shadow.make_spaced(start, stream.stride, len, block.size);
        block.rows[number] = row;
        if let Some(reborn) = plan.reborn(number) {
            let dead = reborn.min(block.size);
            return self.shadow.dead_words(row, width, dead) == dead;
        }
        block.size = self.shadow.dead_words(row, width, block.size);
        block.size >= LEAST
    }

    /// Reports the loads of words that are not on the stack.
    #[inline(always)]
    fn report_fresh(
        &self,
        streams: &[Stream],
        rolled: &Rolled,
        plan: &Plan,
        first: u64,
        size: usize,
        out: &mut Reports,
    ) {
        let is_found = |number: usize| streams[number].kind == Kind::Fresh && rolled.words[number].kind == Kind::Load;
        if !(0..streams.len()).any(is_found) {
            return;
        }
        let change: i64 = streams.iter().map(grows).sum();
        let mut live = self.live();
        for (number, stream) in streams.iter().enumerate() {
            if is_found(number) {
                for iteration in 0..size as u64 {
                    let above = live.wrapping_add_signed(change * iteration as i64);
                    rolled.cold(number, first + iteration, above, plan.len(number), out);
                }
            }
            live = live.wrapping_add_signed(grows(stream));
        }
    }

    /// Counts what a block puts on the stack: the most that is on it at a time, and bytes that are new.
    #[inline(always)]
    fn rise(&mut self, streams: &[Stream], size: usize, untouched: u64) {
        let (mut most, mut change) = (0i64, 0i64);
        for stream in streams {
            change += grows(stream);
            most = most.max(change);
        }
        let rise = most + change.max(0) * (size as i64 - 1);
        self.note(self.live().wrapping_add_signed(rise), untouched);
    }

    /// Finds which far streams' words lay among each other, and whether their places repeat.
    #[inline(always)]
    fn find_trails(&self, plan: &Plan, block: &mut Block) {
        let mut trails = std::mem::take(&mut block.trails);
        let size = block.size as u64;
        trails.find((0..block.places.len()).filter(|&stream| block.is_far(stream)).map(|stream| {
            let (len, step) = (plan.len(stream), block.places[stream].step.unsigned_abs());
            Trail { step, low: block.ends(stream, len).0, len, stream }
        }));
        for group in trails.groups().filter(|group| group.len() > 1 && are_close(group)) {
            let step = group[0].step;
            let end = group.iter().map(|trail| trail.low + trail.len).max().unwrap_or(0) + step * (size - 1);
            let gap = self.time.repeating(group[0].low, end, step, block.size);
            group.iter().for_each(|trail| block.gaps[trail.stream] = gap);
        }
        block.trails = trails;
    }

    /// Reports a stream's depths, as rows from numbers of iterations of the block on.
    #[inline(always)]
    fn report(&self, block: &Block, stream: usize, len: u64, above: &mut [u64], mut report: impl FnMut(usize, Row)) {
        let (places, slope, size) = (block.places[stream], block.slopes.of(stream), above.len());
        let last = places.first + len - 1;
        if let Some(Repeat { even: (from, until), gap }) = block.gaps[stream] {
            let even = if places.step > 0 { from..until } else { size - until..size - from };
            let above = |iteration: usize| self.live() - self.time.rank(places.at(iteration) + len - 1);
            let singly = |iterations: Range<usize>, report: &mut dyn FnMut(usize, Row)| {
                for iteration in iterations {
                    let above = slope.at(above(iteration), iteration as i64);
                    report(iteration, Row { above, step: 0, len, times: 1 });
                }
            };
            let step = -places.step.signum() * gap as i64;
            let most = above(even.start).wrapping_add_signed(-step * even.start as i64);
            singly(0..even.start, &mut report);
            slope.rows(most, step, len, even.clone(), &mut report);
            singly(even.end..size, &mut report);
            return;
        }
        if let Some((most, step)) = self.time.evenly_above(last, places.step, size, len) {
            return slope.rows(most, step, len, 0..size, report);
        }
        self.time.above(last, places.step, above);
        for (above, iteration) in above.iter_mut().zip(0..) {
            *above = slope.at(*above, iteration);
        }
        let mut from = 0;
        for same in above.chunk_by(|a, b| a == b) {
            report(from, Row { above: same[0], step: 0, len, times: same.len() });
            from += same.len();
        }
    }

    /// Clears the places that a block's words leave.
    #[inline(always)]
    fn take_away(&mut self, streams: &[Stream], plan: &Plan, block: &Block, room: &mut Room) {
        for group in block.trails.groups() {
            self.time.clear_trails(group, block.size, &mut room.masks);
        }
        for number in 0..streams.len() {
            let Some(near) = plan.near(number) else { continue };
            for word in 0..usize::from(near.delay).min(block.size) {
                self.time.clear(self.shadow.cell(block.rows[number].at(word)), plan.len(number));
            }
        }
    }

    /// Marks words dead that are, and gives the others their new places.
    #[inline(always)]
    fn move_words(&mut self, streams: &[Stream], plan: &Plan, block: &mut Block, room: &mut Room) {
        for (number, _) in streams.iter().enumerate().filter(|(_, stream)| stream.kind == Kind::Last) {
            self.shadow.set_spaced_dead(block.rows[number], plan.width(number), block.size);
        }
        self.put_on_top(streams, plan, block, room);
    }

    /// Gives a block's words their new places.
    #[inline(always)]
    fn put_on_top(&mut self, streams: &[Stream], plan: &Plan, block: &Block, room: &mut Room) {
        let (size, step) = (block.size, plan.step);
        if step == 0 {
            return;
        }
        let start = self.time.aligned_end(plan.widest);
        let skew = start % 64;
        let Room { fresh, masks, kept, .. } = room;
        let end = skew + step * size as u64;
        fresh.clear();
        // Most words stay where the block puts them: without gaps, the ones of the others are taken back.
        fresh.resize(end.div_ceil(64) as usize, if plan.has_gaps { 0 } else { u64::MAX });
        if !plan.has_gaps {
            fresh[0] <<= skew;
            if let Some(last) = fresh.last_mut() {
                *last &= u64::MAX >> ((64 - end % 64) % 64);
            }
        }
        kept.clear();
        for (number, _) in streams.iter().enumerate().filter(|(_, stream)| stream.kind != Kind::Last) {
            let (width, from) = (plan.width(number), plan.kept_from(number, size));
            kept.push((from, skew + plan.slot(number), plan.len(number)));
            let place = start + plan.slot(number) + step * from as u64;
            self.shadow.set_spaced(block.rows[number], from, width, size - from, place, step);
        }
        kept.sort_unstable();
        for alike in kept.chunk_by(|a, b| a.0 == b.0) {
            let (from, lowest, _) = alike[0];
            if plan.has_gaps && from < size {
                let skip = (lowest + step * from as u64) & !63;
                let rows = alike.iter().map(|&(_, at, len)| (at + step * from as u64 - skip, len));
                strided(rows, step, size - from, masks);
                fresh[(skip / 64) as usize..].iter_mut().zip(&*masks).for_each(|(fresh, mask)| *fresh |= mask);
            } else if !plan.has_gaps && from > 0 {
                strided(alike.iter().map(|&(_, at, len)| (at, len)), step, from, masks);
                fresh.iter_mut().zip(&*masks).for_each(|(fresh, mask)| *fresh &= !mask);
            }
        }
        self.time.append_leaves(fresh, end - skew);
    }

    /// What may help where a stream's words are not at arithmetic places: every second or fourth of them is, as far as a few of them tell, or
    /// they are not whole.
    #[inline(always)]
    fn change(&mut self, addr: u64, stride: i64, width: usize) -> Option<Change> {
        let mut places = [None; 12];
        for (place, number) in places.iter_mut().zip(0..) {
            let cell = self.shadow.find(addr.wrapping_add_signed(stride.wrapping_mul(number)));
            *place = self.shadow.word(cell, width);
        }
        let step = |from: usize, to: usize| Some(places[to]?.wrapping_sub(places[from]?));
        let is_even = |times: &usize| {
            let first = step(0, *times);
            first.is_some() && (0..2 * times).all(|number| step(number, number + times) == first)
        };
        match [2, 4].into_iter().find(is_even) {
            Some(times) => Some(Change::Unroll(times)),
            None => places.iter().any(Option::is_none).then_some(Change::Split),
        }
    }
}

/// Bytes that an access of a stream adds to the stack.
fn grows(stream: &Stream) -> i64 {
    match stream.kind {
        Kind::Fresh => i64::from(stream.len),
        Kind::Last => -i64::from(stream.len),
        Kind::Load | Kind::Store | Kind::Remove => 0,
    }
}
