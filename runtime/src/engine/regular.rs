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
//! Loops are often unrolled: streams that are a group of streams several times over, each time one step further, are taken for
//! that group with as many more iterations.
//!
//! What a block takes per word is kept small: words that lie side by side are compared and set by rows of cells, old places are
//! taken away by masks of whole leaves that repeat, and depths that grow or shrink evenly are reported as one row.

use super::cell::{BYTES, Cell, DEAD};
use super::isa;
use super::plan::{Plan, STREAMS};
use super::shadow::{Shadow, are_positions, page_room};
use super::stack::Stack;
use super::timeline::strided;
use super::{Access, Kind, Reports, Stream};

/// Most iterations of a block.
const BLOCK: usize = 512;
/// Fewer are not worth it.
const LEAST: usize = 4;
/// Words side by side that are worth doing as a row of cells.
const LEAST_ROW: usize = 16;
/// Words that are not side by side are found and compared so many at a time, so that few are found in vain.
const FOUND: usize = 32;
/// Accesses done singly at a time.
const SINGLE: usize = 64;

/// Where a block's words are and were; kept to save allocations.
#[derive(Default)]
pub struct Scratch {
    singles: Vec<Access>,
    labels: Vec<u32>,
    /// Cell of each access, `BLOCK` per stream, of streams whose words are not side by side.
    cells: Vec<usize>,
    above: Vec<u64>,
    /// New ones of the timeline, and masks of those that go.
    fresh: Vec<u64>,
    pub(super) masks: Vec<u64>,
}

/// Old places of a stream's words: `first + iteration * step`.
#[derive(Clone, Copy, Default)]
struct Places {
    first: u64,
    step: i64,
}

impl Places {
    fn at(self, iteration: usize) -> u64 {
        self.first.wrapping_add_signed(self.step * iteration as i64)
    }
}

/// What a block knows of its streams.
#[derive(Default)]
struct Block {
    /// First cell of a stream whose words are side by side in one page.
    rows: [Option<usize>; STREAMS],
    /// Streams whose words this run has not used shortly before, one bit each.
    far: u32,
    places: [Places; STREAMS],
    size: usize,
}

impl Block {
    fn is_far(&self, stream: usize) -> bool {
        self.far >> stream & 1 == 1
    }

    /// From the lowest place of a far stream's words to the end of the highest.
    fn ends(&self, stream: usize, len: u64) -> (u64, u64) {
        let places = self.places[stream];
        let last = places.at(self.size - 1);
        (places.first.min(last), places.first.max(last) + len)
    }
}

/// The streams of a loop, as it was before it was unrolled.
struct Rolled<'a> {
    streams: [Stream; STREAMS],
    count: usize,
    /// Iterations that were made one.
    factor: usize,
    /// Of the streams as they were given.
    labels: &'a [u32],
}

impl<'a> Rolled<'a> {
    /// `None` for more streams than a plan can have.
    fn new(streams: &[Stream], labels: &'a [u32]) -> Option<Self> {
        let nothing = Stream { addr: 0, stride: 0, len: 0, kind: Kind::Load };
        let mut rolled = Rolled { streams: [nothing; STREAMS], count: streams.len(), factor: 1, labels };
        rolled.streams.get_mut(..streams.len())?.copy_from_slice(streams);
        let unrolled = |factor: &usize| streams.len().is_multiple_of(*factor) && is_unrolled(streams, *factor);
        if let Some(factor) = (2..=streams.len()).rev().find(unrolled) {
            rolled.count = streams.len() / factor;
            rolled.factor = factor;
            rolled.streams[..rolled.count].iter_mut().for_each(|stream| stream.stride /= factor as i64);
        }
        Some(rolled)
    }

    fn streams(&self) -> &[Stream] {
        &self.streams[..self.count]
    }

    fn label(&self, stream: usize, iteration: u64) -> u32 {
        self.labels[(iteration % self.factor as u64) as usize * self.count + stream]
    }

    /// Reports loads of a number of iterations from `first` on.
    #[inline(always)]
    fn row(&self, stream: usize, first: u64, row: Row, out: &mut Reports) {
        for (skip, number) in (0..self.factor.min(row.times)).zip(0i64..) {
            out.begin(self.label(stream, first + skip as u64));
            let times = (row.times - skip).div_ceil(self.factor) as u32;
            out.row(row.above.wrapping_add_signed(row.step * number), row.step * self.factor as i64, row.len, times);
        }
    }
}

/// Whether streams are `factor` times the same group, each time one step further.
fn is_unrolled(streams: &[Stream], factor: usize) -> bool {
    let count = streams.len() / factor;
    (count..streams.len()).all(|number| {
        let (first, this, steps) = (streams[number % count], streams[number], (number / count) as i64);
        let is_alike = (first.stride, first.len, first.kind) == (this.stride, this.len, this.kind);
        let step = first.stride / factor as i64;
        is_alike && step * factor as i64 == first.stride && this.addr == first.addr.wrapping_add_signed(step * steps)
    })
}

/// Depths that grow evenly from one iteration to the next.
#[derive(Clone, Copy)]
struct Row {
    above: u64,
    step: i64,
    len: u64,
    times: usize,
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
        let all = streams.len() as u64 * iterations;
        let rolled = if self.options.regular && done == 0 { Rolled::new(streams, labels) } else { None };
        let Some(rolled) = rolled else {
            let mut scratch = std::mem::take(&mut self.scratch);
            done = self.singly(streams, |stream, _| labels[stream], done, all, &mut scratch, out);
            self.scratch = scratch;
            return done;
        };
        let (streams, iterations) = (rolled.streams(), iterations * rolled.factor as u64);
        let count = streams.len() as u64;
        let plan = Plan::new(streams, iterations);
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut pause = LEAST as u64;
        let mut singles_until = plan.as_ref().map_or(all, |plan| plan.warm_up * count).min(all);
        while done < all {
            let Some(plan) = plan.as_ref().filter(|_| done >= singles_until) else {
                done = self.singly(streams, |s, i| rolled.label(s, i), done, singles_until, &mut scratch, out);
                if done < singles_until {
                    break;
                }
                continue;
            };
            let first = done / count;
            let block = self.block(&rolled, plan, first, (iterations - first) as usize, &mut scratch, out);
            done += block as u64 * count;
            self.in_blocks += block as u64 * count;
            if block == 0 {
                singles_until = (done + pause * count).min(all);
                pause = (pause * 2).min(64);
            } else {
                pause = LEAST as u64;
            }
        }
        self.scratch = scratch;
        done
    }

    /// Accesses number `done .. until` one by one; gives the number of the first not done.
    #[inline(always)]
    fn singly(
        &mut self,
        streams: &[Stream],
        label: impl Fn(usize, u64) -> u32,
        mut done: u64,
        until: u64,
        scratch: &mut Scratch,
        out: &mut Reports,
    ) -> u64 {
        let count = streams.len() as u64;
        while done < until {
            let wanted = (until - done).min(SINGLE as u64);
            scratch.singles.clear();
            scratch.labels.clear();
            let (mut number, mut iteration) = ((done % count) as usize, done / count);
            for _ in 0..wanted {
                let Stream { len, kind, .. } = streams[number];
                scratch.singles.push(Access { addr: streams[number].at(iteration), len, kind });
                scratch.labels.push(label(number, iteration));
                number += 1;
                if number == streams.len() {
                    (number, iteration) = (0, iteration + 1);
                }
            }
            let did = isa::batch(self, &scratch.singles, &scratch.labels, out) as u64;
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
        rolled: &Rolled<'_>,
        plan: &Plan,
        first: u64,
        most: usize,
        scratch: &mut Scratch,
        out: &mut Reports,
    ) -> usize {
        let len = plan.len;
        let mut streams = rolled.streams;
        let streams = &mut streams[..rolled.count];
        let mut block = Block { size: most.min(BLOCK).min(plan.longest), ..Block::default() };
        let span = (block.size * streams.len()) as u64 * len;
        if block.size < LEAST || !self.time.has_room(span + len) {
            return 0;
        }
        scratch.cells.resize(STREAMS * BLOCK, 0);
        scratch.above.resize(BLOCK, 0);
        if !self.find(streams, plan, first, &mut block, scratch) {
            return 0;
        }
        let size = block.size;
        // Only now the size is final, so that what is touched for the first time can be counted.
        let mut untouched = 0;
        for (number, _) in streams.iter().enumerate().filter(|(_, s)| s.kind == Kind::Fresh) {
            if let Some(cell) = block.rows[number] {
                untouched += self.shadow.untouched(cell, size * plan.width());
                continue;
            }
            let dead = plan.reborn(number).unwrap_or(size).min(size);
            let cells = &scratch.cells[number * BLOCK..][..dead];
            untouched += cells.iter().map(|&cell| self.shadow.untouched(cell, plan.width())).sum::<u64>();
        }
        // All depths, before anything moves. Which streams cross is found out first, as nothing may be reported in vain.
        let Some(slopes) = slopes(streams, plan, &block) else { return 0 };
        for (number, stream) in streams.iter().enumerate() {
            if !matches!(stream.kind, Kind::Load | Kind::Last) {
                continue;
            }
            let mut report = |from: usize, row: Row| rolled.row(number, first + from as u64, row, out);
            match plan.near(number) {
                Some(near) => report(0, Row { above: near.above, step: 0, len, times: size }),
                None => self.report(block.places[number], &slopes[number], len, &mut scratch.above[..size], report),
            }
        }
        self.rise(streams, size, len, untouched);
        self.take_away(streams, plan, &block, scratch);
        self.move_words(streams, plan, first, &mut block, scratch);
        size
    }

    /// Finds the words of a block and their old places, and how many iterations can be done together; false if none. Stores
    /// of words that are not on the stack become fresh ones.
    #[inline(always)]
    fn find(
        &mut self,
        streams: &mut [Stream],
        plan: &Plan,
        first: u64,
        block: &mut Block,
        scratch: &mut Scratch,
    ) -> bool {
        let (len, width) = (plan.len, plan.width());
        // Places of words that this run used before the block; others must lie below.
        let mut floor = u64::MAX;
        for (number, stream) in streams.iter_mut().enumerate() {
            let start = stream.at(first);
            let cells = &mut scratch.cells[number * BLOCK..][..BLOCK];
            let near = plan.near(number);
            if stream.kind == Kind::Store && near.is_none() && len <= 8 {
                let cell = self.shadow.find(start);
                if self.shadow.cell(cell) <= DEAD {
                    stream.kind = Kind::Fresh;
                }
            }
            if stream.kind == Kind::Fresh {
                if !self.find_fresh(stream, number, start, plan, block, cells) {
                    return false;
                }
                continue;
            }
            if stream.stride == len as i64 && stream.kind != Kind::Last {
                let room = (page_room(start) / len) as usize;
                let cell = self.shadow.find(start);
                // Where the page ends soon, the words are found one by one, so that blocks do not become short.
                if room >= LEAST_ROW.min(block.size) && Shadow::<C>::is_own(cell) {
                    block.rows[number] = Some(cell);
                    block.size = block.size.min(room);
                }
            }
            let Some(near) = near else {
                block.far |= 1 << number;
                let found = match block.rows[number] {
                    Some(cell) => self.shadow.arithmetic(cell, width, block.size),
                    None => self.places(start, stream.stride, width, &mut cells[..block.size]),
                };
                match found {
                    Some((size, first, step)) if size >= LEAST => {
                        block.size = size;
                        block.places[number] = Places { first, step };
                    }
                    _ => return false,
                }
                continue;
            };
            for (cell, iteration) in cells[..near.delay.min(block.size)].iter_mut().zip(0..) {
                *cell = self.shadow.find(start.wrapping_add_signed(stream.stride.wrapping_mul(iteration)));
                let Some(place) = self.shadow.word(*cell, width) else { return false };
                floor = floor.min(place);
            }
        }
        (0..streams.len()).filter(|&n| block.is_far(n)).all(|n| block.ends(n, len).1 <= floor)
    }

    /// Finds the words of a stream of stores that are not on the stack.
    #[inline(always)]
    fn find_fresh(
        &mut self,
        stream: &Stream,
        number: usize,
        start: u64,
        plan: &Plan,
        block: &mut Block,
        cells: &mut [usize],
    ) -> bool {
        let (len, width) = (plan.len, plan.width());
        let room = (page_room(start) / len) as usize;
        if stream.stride == len as i64 && plan.reborn(number).is_none() && room >= LEAST_ROW.min(block.size) {
            let cell = self.shadow.make(start);
            let dead = self.shadow.dead_words(cell, width, block.size.min(room));
            block.rows[number] = Some(cell);
            block.size = dead;
            return dead >= LEAST;
        }
        let cells = &mut cells[..block.size];
        let mut addr = start;
        for cell in &mut *cells {
            *cell = self.shadow.make(addr);
            addr = addr.wrapping_add_signed(stream.stride);
        }
        let dead = plan.reborn(number).unwrap_or(block.size).min(block.size);
        cells[..dead].iter().all(|&cell| self.shadow.dead_words(cell, width, 1) == 1)
    }

    /// Counts what a block puts on the stack: the most that is on it at a time, and bytes that are new.
    #[inline(always)]
    fn rise(&mut self, streams: &[Stream], size: usize, len: u64, untouched: u64) {
        let (mut most, mut change) = (0i64, 0i64);
        for stream in streams {
            change += i64::from(stream.kind == Kind::Fresh) - i64::from(stream.kind == Kind::Last);
            most = most.max(change);
        }
        let words = most + change.max(0) * (size as i64 - 1);
        self.note(self.live().wrapping_add_signed(words * len as i64), untouched);
    }

    /// Reports a stream's depths, as rows from numbers of iterations of the block on.
    #[inline(always)]
    fn report(&self, places: Places, slope: &Slope, len: u64, above: &mut [u64], mut report: impl FnMut(usize, Row)) {
        let (last, size) = (places.first + len - 1, above.len());
        if let Some((most, step)) = self.time.evenly_above(last, places.step, size, len) {
            return slope.rows(most, step, len, size, report);
        }
        self.time.above(last, places.step, above);
        for (above, iteration) in above.iter_mut().zip(0..) {
            *above = slope.at(*above, iteration, len);
        }
        let mut from = 0;
        for same in above.chunk_by(|a, b| a == b) {
            report(from, Row { above: same[0], step: 0, len, times: same.len() });
            from += same.len();
        }
    }

    /// Clears the places that a block's words leave.
    #[inline(always)]
    fn take_away(&mut self, streams: &[Stream], plan: &Plan, block: &Block, scratch: &mut Scratch) {
        for number in 0..streams.len() {
            if block.is_far(number) {
                let Places { first, step } = block.places[number];
                self.time.clear_many(first, step, block.size, plan.len, &mut scratch.masks);
            } else if let Some(near) = plan.near(number) {
                for &cell in &scratch.cells[number * BLOCK..][..near.delay.min(block.size)] {
                    self.time.clear(self.shadow.cell(cell), plan.len);
                }
            }
        }
    }

    /// Marks words dead that are, and gives the others their new places.
    #[inline(always)]
    fn move_words(&mut self, streams: &[Stream], plan: &Plan, first: u64, block: &mut Block, scratch: &mut Scratch) {
        let (len, size) = (plan.len, block.size);
        let dies = |number: usize| streams[number].kind == Kind::Last;
        for (number, stream) in streams.iter().enumerate().filter(|&(n, _)| plan.near(n).is_some()) {
            let kept = if dies(number) { 0 } else { plan.kept_from(number, size) };
            if block.rows[number].is_none() || kept > 0 {
                let start = stream.at(first + kept as u64);
                self.shadow.find_cells(start, stream.stride, &mut scratch.cells[number * BLOCK..][kept..size]);
                block.rows[number] = None;
            }
        }
        for number in (0..streams.len()).filter(|&n| dies(n)) {
            for &cell in &scratch.cells[number * BLOCK..][..size] {
                if len == BYTES { self.shadow.set_cell(cell, DEAD) } else { self.shadow.set_pair_dead(cell) }
            }
        }
        self.put_on_top(streams, plan, block, scratch);
    }

    /// Gives a block's words their new places.
    #[inline(always)]
    fn put_on_top(&mut self, streams: &[Stream], plan: &Plan, block: &Block, scratch: &mut Scratch) {
        let (len, width, size) = (plan.len, plan.width(), block.size);
        let put = || streams.iter().enumerate().filter(|(_, stream)| stream.kind != Kind::Last).map(|(n, _)| n);
        let puts = put().count();
        if puts == 0 {
            return;
        }
        let start = self.time.aligned_end(len);
        let step = puts as u64 * len;
        let skew = start % 64;
        let Scratch { fresh, masks, cells, .. } = scratch;
        let end = skew + step * size as u64;
        fresh.clear();
        // Most words stay where the block puts them; the ones of the others are taken back.
        fresh.resize(end.div_ceil(64) as usize, u64::MAX);
        fresh[0] <<= skew;
        if let Some(last) = fresh.last_mut() {
            *last &= u64::MAX >> ((64 - end % 64) % 64);
        }
        for (slot, number) in put().enumerate() {
            let kept = plan.kept_from(number, size);
            let at = skew + slot as u64 * len;
            if kept > 0 {
                strided(at, step, kept, len, masks);
                fresh.iter_mut().zip(&*masks).for_each(|(fresh, mask)| *fresh &= !mask);
            }
            let place = start - skew + at + step * kept as u64;
            match block.rows[number] {
                Some(cell) => self.shadow.set_arithmetic(cell + kept * width, width, size - kept, place, step),
                None => self.shadow.set_words(&cells[number * BLOCK..][kept..size], width, place, step),
            }
        }
        self.time.append_leaves(fresh, end - skew);
    }

    /// Finds the cells of a stream's words and how many of the words are at arithmetic places: that number, the first
    /// place, and the step.
    #[inline(always)]
    fn places(&mut self, addr: u64, stride: i64, width: usize, cells: &mut [usize]) -> Option<(usize, u64, i64)> {
        let (mut size, mut first, mut step) = (0, 0, 0);
        for some in cells.chunks_mut(FOUND) {
            self.shadow.find_cells(addr.wrapping_add_signed(stride.wrapping_mul(size as i64)), stride, some);
            if size == 0 {
                first = self.shadow.word(some[0], width)?;
                step = self.shadow.word(some[1], width)?.wrapping_sub(first) as i64;
            }
            let next = first.wrapping_add_signed(step.wrapping_mul(size as i64));
            let good = self.shadow.words_at(some, width, next, step);
            size += good;
            if good < some.len() {
                break;
            }
        }
        (size >= LEAST && are_positions::<C>(first, step, size)).then_some((size, first, step))
    }
}

/// Words that a block's accesses have put above a stream's words and not taken from there: `start + step * iteration`, and
/// from each bend on, one more per iteration.
#[derive(Clone, Copy, Default)]
struct Slope {
    start: i64,
    step: i64,
    bends: usize,
    /// In order.
    bend: [u16; STREAMS],
}

impl Slope {
    fn bends(&self) -> &[u16] {
        &self.bend[..self.bends]
    }

    /// Bytes above a word in its iteration, of which there were `above` when the block began.
    #[inline(always)]
    fn at(&self, above: u64, iteration: i64, len: u64) -> u64 {
        let bent: i64 = self.bends().iter().map(|&bend| (iteration - i64::from(bend) + 1).max(0)).sum();
        above.wrapping_add_signed((self.start + self.step * iteration + bent) * len as i64)
    }

    /// Reports depths where the bytes above the words were `above + step * iteration` when the block began.
    #[inline(always)]
    fn rows(&self, above: u64, step: i64, len: u64, size: usize, mut report: impl FnMut(usize, Row)) {
        let (mut from, mut grows) = (0, step + self.step * len as i64);
        for &bend in self.bends().iter().chain([&(size as u16)]) {
            let until = usize::from(bend).min(size);
            if until > from {
                let before = above.wrapping_add_signed(step * from as i64);
                report(from, Row { above: self.at(before, from as i64, len), step: grows, len, times: until - from });
                from = until;
            }
            grows += len as i64;
        }
    }
}

/// How much each far load's words sink; nothing if streams cross in a way that is not linear.
#[inline(always)]
fn slopes(streams: &[Stream], plan: &Plan, block: &Block) -> Option<[Slope; STREAMS]> {
    let len = plan.len;
    let is_load = |number: usize| matches!(streams[number].kind, Kind::Load | Kind::Last);
    let dies = |number: usize| streams[number].kind == Kind::Last;
    let mut slopes = [Slope::default(); STREAMS];
    for number in (0..streams.len()).filter(|&n| block.is_far(n) && is_load(n)) {
        let mine = block.places[number];
        let (low, high) = block.ends(number, len);
        let slope = &mut slopes[number];
        slope.step = i64::from(!dies(number)) - i64::from(mine.step < 0);
        for other in (0..streams.len()).filter(|&o| o != number) {
            let mut change = i64::from(!dies(other));
            if block.is_far(other) {
                let theirs = block.places[other];
                let (other_low, other_high) = block.ends(other, len);
                if other_low >= high {
                    change -= 1;
                } else if other_high > low {
                    if mine.step != theirs.step || mine.step < 0 {
                        return None;
                    }
                    if theirs.first > mine.first {
                        let ahead = (theirs.first - mine.first).div_ceil(mine.step as u64);
                        slope.bend[slope.bends] = ahead as u16;
                        slope.bends += 1;
                        change -= 1;
                    }
                }
            } else if streams[other].kind != Kind::Fresh {
                // From near the top.
                change -= 1;
            }
            slope.step += change;
            slope.start += change * i64::from(other < number);
        }
        slope.bend[..slope.bends].sort_unstable();
    }
    Some(slopes)
}
