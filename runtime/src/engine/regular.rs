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

use super::cell::{BYTES, Cell, DEAD, is_position};
use super::plan::{Plan, STREAMS};
use super::shadow::{Pages, Shadow};
use super::stack::Stack;
use super::{Access, BatchSink, DepthSink, Kind, Stream};

/// Most iterations of a block.
const BLOCK: usize = 64;
/// Fewer are not worth it.
const LEAST: usize = 4;
/// Accesses done singly at a time.
const SINGLE: usize = 64;

/// Where a block's words are and were; kept to save allocations.
#[derive(Default)]
pub struct Scratch {
    singles: Vec<Access>,
    /// Cell of each access, `BLOCK` per stream.
    cells: Vec<usize>,
    above: Vec<u64>,
    /// New ones of the timeline.
    fresh: Vec<u64>,
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

impl<C: Cell> Stack<C> {
    /// Does the iterations from access number `done` on; gives the number of accesses done in all, which is less than there
    /// are only if the cells are too narrow for the next one.
    #[inline(always)]
    pub fn regular<S: BatchSink>(&mut self, streams: &[Stream], iterations: u64, mut done: u64, sink: &mut S) -> u64 {
        let count = streams.len() as u64;
        let all = count * iterations;
        let plan = if self.options.regular && done == 0 { Plan::new(streams, iterations) } else { None };
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut pause = LEAST as u64;
        let mut singles_until = plan.as_ref().map_or(all, |plan| plan.warm_up * count).min(all);
        while done < all {
            let Some(plan) = plan.as_ref().filter(|_| done >= singles_until) else {
                done = self.singly(streams, done, singles_until, sink);
                if done < singles_until {
                    break;
                }
                continue;
            };
            let first = done / count;
            let block = self.block(streams, plan, first, (iterations - first) as usize, &mut scratch, sink);
            done += block as u64 * count;
            self.in_blocks += block as u64 * count;
            if block == 0 {
                singles_until = (done + pause * count).min(all);
                pause = (pause * 2).min(BLOCK as u64);
            } else {
                pause = LEAST as u64;
            }
        }
        scratch.singles = std::mem::take(&mut self.scratch.singles);
        self.scratch = scratch;
        done
    }

    /// Accesses number `done .. until` one by one; gives the number of the first not done.
    #[inline(always)]
    fn singly<S: BatchSink>(&mut self, streams: &[Stream], mut done: u64, until: u64, sink: &mut S) -> u64 {
        let count = streams.len() as u64;
        let mut accesses = std::mem::take(&mut self.scratch.singles);
        while done < until {
            let wanted = (until - done).min(SINGLE as u64);
            accesses.clear();
            accesses.extend((done..done + wanted).map(|number| {
                let Stream { addr, stride, len, kind } = streams[(number % count) as usize];
                let moved = stride.wrapping_mul((number / count) as i64);
                Access { addr: addr.wrapping_add_signed(moved), len, kind }
            }));
            let did = self.batch(&accesses, &mut ByStream { sink, first: done, count });
            done += did as u64;
            if (did as u64) < wanted {
                break;
            }
        }
        self.scratch.singles = accesses;
        done
    }

    /// Does up to `most` iterations from `first` on together; gives their number, 0 if that is not possible.
    #[inline(always)]
    fn block<S: BatchSink>(
        &mut self,
        streams: &[Stream],
        plan: &Plan,
        first: u64,
        most: usize,
        scratch: &mut Scratch,
        sink: &mut S,
    ) -> usize {
        let len = plan.len;
        let mut size = most.min(BLOCK).min(plan.longest);
        let span = (size * streams.len()) as u64 * len;
        if size < LEAST || !self.time.has_room(span + len) {
            return 0;
        }
        scratch.cells.resize(STREAMS * BLOCK, 0);
        scratch.above.resize(BLOCK, 0);
        let mut places = [Places::default(); STREAMS];
        let mut far = 0u32;
        // Places of words that this run used before the block; others must lie below.
        let mut floor = u64::MAX;
        for (number, stream) in streams.iter().enumerate() {
            let start = stream.addr.wrapping_add_signed(stream.stride.wrapping_mul(first as i64));
            let cells = &mut scratch.cells[number * BLOCK..][..BLOCK];
            if stream.kind == Kind::Fresh {
                let dead = plan.reborn(number).unwrap_or(size).min(size);
                if !self.absent(start, stream.stride, len, &mut cells[..size], dead) {
                    return 0;
                }
                continue;
            }
            let Some(near) = plan.near(number) else {
                far |= 1 << number;
                let Some(found) = self.places(start, stream.stride, len, &mut cells[..size]) else { return 0 };
                (size, places[number]) = found;
                continue;
            };
            for (cell, iteration) in cells[..near.delay.min(size)].iter_mut().zip(0..) {
                *cell = self.shadow.find(start.wrapping_add_signed(stream.stride.wrapping_mul(iteration)));
                let Some(place) = self.place(*cell, len) else { return 0 };
                floor = floor.min(place);
            }
        }
        let is_far = |number: usize| far >> number & 1 == 1;
        let ends = |p: Places| (p.first.min(p.at(size - 1)), p.first.max(p.at(size - 1)) + len);
        for number in (0..streams.len()).filter(|&n| is_far(n)) {
            if ends(places[number]).1 > floor {
                return 0;
            }
        }
        // Only now the size is final, so that what is touched for the first time can be counted.
        let mut untouched = 0;
        for (number, _) in streams.iter().enumerate().filter(|(_, s)| s.kind == Kind::Fresh) {
            let dead = plan.reborn(number).unwrap_or(size).min(size);
            let cells = &scratch.cells[number * BLOCK..][..dead];
            untouched += cells.iter().map(|&cell| self.untouched(cell, len)).sum::<u64>();
        }
        // All depths, before anything moves. Which streams cross is found out first, as nothing may be reported in vain.
        let is_load = |number: usize| matches!(streams[number].kind, Kind::Load | Kind::Last);
        let dies = |number: usize| streams[number].kind == Kind::Last;
        let mut slopes = [Slope { start: 0, step: 0, bends: 0 }; STREAMS];
        let mut bends = [[0u8; STREAMS]; STREAMS];
        for number in (0..streams.len()).filter(|&n| is_far(n) && is_load(n)) {
            let mine = places[number];
            let (low, high) = ends(mine);
            let slope = &mut slopes[number];
            slope.step = i64::from(!dies(number)) - i64::from(mine.step < 0);
            for other in (0..streams.len()).filter(|&o| o != number) {
                let mut change = i64::from(!dies(other));
                if is_far(other) {
                    let theirs = places[other];
                    let (other_low, other_high) = ends(theirs);
                    if other_low >= high {
                        change -= 1;
                    } else if other_high > low {
                        if mine.step != theirs.step || mine.step < 0 {
                            return 0;
                        }
                        if theirs.first > mine.first {
                            let ahead = (theirs.first - mine.first).div_ceil(mine.step as u64);
                            bends[number][slope.bends] = ahead as u8;
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
        }
        for number in 0..streams.len() {
            if !is_load(number) {
                continue;
            }
            sink.begin(number);
            if let Some(near) = plan.near(number) {
                sink.warm_times(near.above, len, size as u64);
                continue;
            }
            let Places { first, step } = places[number];
            let above = &mut scratch.above[..size];
            self.time.above(first + len - 1, step, above);
            report(above, len, slopes[number], &bends[number], sink);
        }
        self.rise(streams, size, len, untouched);
        self.take_away(streams.len(), plan, &places, far, size, scratch);
        for (number, stream) in streams.iter().enumerate().filter(|&(n, _)| plan.near(n).is_some()) {
            let kept = if dies(number) { 0 } else { plan.kept_from(number, size) };
            let start = stream.addr.wrapping_add_signed(stream.stride.wrapping_mul(first as i64 + kept as i64));
            self.shadow.find_cells(start, stream.stride, &mut scratch.cells[number * BLOCK..][kept..size]);
        }
        for number in (0..streams.len()).filter(|&n| dies(n)) {
            for &cell in &scratch.cells[number * BLOCK..][..size] {
                if len == BYTES { self.shadow.set_cell(cell, DEAD) } else { self.shadow.set_pair_dead(cell) }
            }
        }
        self.put_on_top(streams, plan, size, scratch);
        size
    }

    /// Finds the cells of words; false unless the first `dead` of them are not on the stack and all have pages.
    #[inline(always)]
    fn absent(&mut self, addr: u64, stride: i64, len: u64, cells: &mut [usize], dead: usize) -> bool {
        self.shadow.find_cells(addr, stride, cells);
        let is_dead = |&cell: &usize| {
            let (first, second) = if len == BYTES { (self.shadow.cell(cell), DEAD) } else { self.shadow.pair(cell) };
            first <= DEAD && second <= DEAD
        };
        cells.iter().all(|&cell| Shadow::<C>::is_own(cell)) && cells[..dead].iter().all(is_dead)
    }

    /// Bytes of a dead word that nothing has touched before.
    #[inline(always)]
    fn untouched(&self, cell: usize, len: u64) -> u64 {
        if len == BYTES {
            return BYTES * (1 - self.shadow.cell(cell));
        }
        let (first, second) = self.shadow.pair(cell);
        BYTES * (2 - first - second)
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

    /// Clears the places that a block's words leave.
    #[inline(always)]
    fn take_away(
        &mut self,
        streams: usize,
        plan: &Plan,
        places: &[Places; STREAMS],
        far: u32,
        size: usize,
        scratch: &Scratch,
    ) {
        for (number, places) in places.iter().enumerate().take(streams) {
            if far >> number & 1 == 1 {
                let first = if places.step < 0 { places.at(size - 1) } else { places.first };
                self.time.clear_many(first, places.step.unsigned_abs(), size, plan.len);
            } else if let Some(near) = plan.near(number) {
                for &cell in &scratch.cells[number * BLOCK..][..near.delay.min(size)] {
                    self.time.clear(self.shadow.cell(cell), plan.len);
                }
            }
        }
    }

    /// Gives a block's words their new places.
    #[inline(always)]
    fn put_on_top(&mut self, streams: &[Stream], plan: &Plan, size: usize, scratch: &mut Scratch) {
        let len = plan.len;
        let put = || streams.iter().enumerate().filter(|(_, stream)| stream.kind != Kind::Last).map(|(n, _)| n);
        let puts = put().count();
        if puts == 0 {
            return;
        }
        let start = self.time.aligned_end(len);
        let step = puts as u64 * len;
        let skew = start % 64;
        let fresh = &mut scratch.fresh;
        let end = skew + step * size as u64;
        fresh.clear();
        // Most words stay where the block puts them; the ones of the others are taken back.
        fresh.resize(end.div_ceil(64) as usize, u64::MAX);
        fresh[0] <<= skew;
        if let Some(last) = fresh.last_mut() {
            *last &= u64::MAX >> ((64 - end % 64) % 64);
        }
        let ones = u64::MAX >> (64 - len);
        for (slot, number) in put().enumerate() {
            let kept = plan.kept_from(number, size);
            let cells = &scratch.cells[number * BLOCK..][..BLOCK];
            let mut at = skew + slot as u64 * len;
            for _ in 0..kept {
                fresh[(at / 64) as usize] &= !(ones << (at % 64));
                at += step;
            }
            let mut place = start - skew + at;
            for &cell in &cells[kept..size] {
                if len == BYTES {
                    self.shadow.set_cell(cell, place)
                } else {
                    self.shadow.set_pair(cell, place)
                }
                place += step;
            }
        }
        self.time.append_leaves(fresh, end - skew);
    }

    /// Place of a word on the stack, if all of it is there and together.
    #[inline(always)]
    fn place(&self, cell: usize, len: u64) -> Option<u64> {
        if len == BYTES {
            return Some(self.shadow.cell(cell)).filter(|&place| is_position::<C>(place));
        }
        let (place, second) = self.shadow.pair(cell);
        (second == place + BYTES && is_position::<C>(place)).then_some(place)
    }

    /// Finds the cells of a stream's words and how many of the words are at arithmetic places.
    #[inline(always)]
    fn places(&mut self, addr: u64, stride: i64, len: u64, cells: &mut [usize]) -> Option<(usize, Places)> {
        let mut pages = Pages::new();
        cells[0] = pages.find(&mut self.shadow, addr);
        let first = self.place(cells[0], len)?;
        cells[1] = pages.find(&mut self.shadow, addr.wrapping_add_signed(stride));
        let step = self.place(cells[1], len)?.wrapping_sub(first) as i64;
        let mut next = addr.wrapping_add_signed(stride.wrapping_mul(2));
        let mut expected = first.wrapping_add_signed(step.wrapping_mul(2));
        for (size, place) in cells.iter_mut().enumerate().skip(2) {
            let cell = pages.find(&mut self.shadow, next);
            if self.place(cell, len) != Some(expected) {
                return (size >= LEAST).then_some((size, Places { first, step }));
            }
            *place = cell;
            next = next.wrapping_add_signed(stride);
            expected = expected.wrapping_add_signed(step);
        }
        Some((cells.len(), Places { first, step }))
    }
}

/// Words that a block's accesses have put above a stream's words and not taken from there: `start + step * iteration`, and
/// from each bend on, one more per iteration.
#[derive(Clone, Copy)]
struct Slope {
    start: i64,
    step: i64,
    bends: usize,
}

/// Reports a stream's depths, equal neighbours at once. `above` holds the bytes above each word when the block began.
#[inline(always)]
fn report<S: DepthSink>(above: &mut [u64], len: u64, slope: Slope, bends: &[u8; STREAMS], sink: &mut S) {
    let (start, step) = (slope.start * len as i64, slope.step * len as i64);
    for (above, iteration) in above.iter_mut().zip(0..) {
        // The bends are still to come, so this may be below zero for a moment.
        *above = above.wrapping_add_signed(start + step * iteration);
    }
    for &bend in &bends[..slope.bends] {
        for (above, iteration) in above.iter_mut().skip(usize::from(bend)).zip(1..) {
            *above = above.wrapping_add(iteration * len);
        }
    }
    let (mut last, mut times) = (above[0], 0);
    for &mut above in above {
        if above != last {
            sink.warm_times(last, len, times);
            (last, times) = (above, 0);
        }
        times += 1;
    }
    sink.warm_times(last, len, times);
}

/// Tells a sink of streams what is reported for accesses.
struct ByStream<'a, S> {
    sink: &'a mut S,
    first: u64,
    count: u64,
}

impl<S: DepthSink> DepthSink for ByStream<'_, S> {
    #[inline(always)]
    fn warm(&mut self, above: u64, len: u64) {
        self.sink.warm(above, len);
    }
    #[inline(always)]
    fn cold(&mut self, above: u64, len: u64) {
        self.sink.cold(above, len);
    }
}

impl<S: BatchSink> BatchSink for ByStream<'_, S> {
    #[inline(always)]
    fn begin(&mut self, number: usize) {
        self.sink.begin(((self.first + number as u64) % self.count) as usize);
    }
}
