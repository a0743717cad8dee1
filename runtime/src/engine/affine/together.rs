//! Does a block of iterations at once.
//!
//! Takes the streams of a run, their dependences and the first iteration; reports all depths, then moves the words to
//! the top. A block needs words that are on the stack already, at positions that are arithmetic per stream (they are if
//! the previous pass was as affine). Refuses blocks in which streams cross; the caller does them access by access.
//!
//! The stack is left as it is until all depths are known. The bytes above a word that was used before the block are
//! those above it at the start, one word more for each access of the block, one less for each word that an access has
//! taken away from above it. Accesses whose word this run had shortly before (loop-carried reuse) move it from near the
//! top to the top, which changes nothing for words below. What is left are pairs of other streams: how many words of
//! one lie above a word of the other is a piecewise linear function of the iteration ([`offsets`](super::offsets)).
//! Loads whose words die take away and put nothing back; stores of dead words put and take nothing. A block
//! that has words below holes is refused; of those that it makes itself [`holes`](super::holes) knows.
//!
//! What a block takes per word is kept small: words that lie side by side are compared and set by rows of cells, old
//! positions are taken away by masks of whole leaves that repeat, and depths that grow or shrink evenly are reported as
//! one row.

use super::{
    block::{Block, LEAST},
    dependence::Plan,
    holes::Places,
    normalise::Normalised,
    scratch::Room,
};
use crate::engine::{
    access::{Kind, Stream},
    cell::Cell,
    progression::Progression,
    report::Reports,
    stack::Stack,
    timeline::strided,
};

/// Most iterations of a block.
const BLOCK: usize = 512;

/// A block of a run on a stack, with what it needs.
pub struct BlockRun<'a, C> {
    pub(super) stack: &'a mut Stack<C>,
    pub(super) normalised: &'a Normalised,
    pub(super) plan: &'a Plan,
    /// The first iteration.
    pub(super) first: u64,
    /// Taken from the room to work in, and put back in the end.
    pub(super) block: Block,
    pub(super) streams: Vec<Stream>,
    pub(super) room: &'a mut Room,
    pub(super) out: &'a mut Reports,
}

impl<'a, C: Cell> BlockRun<'a, C> {
    /// The block that begins with an iteration.
    #[inline(always)]
    pub fn new(
        stack: &'a mut Stack<C>,
        normalised: &'a Normalised,
        plan: &'a Plan,
        first: u64,
        room: &'a mut Room,
        out: &'a mut Reports,
    ) -> Self {
        let (block, streams) = (std::mem::take(&mut room.block), std::mem::take(&mut room.streams));
        BlockRun { stack, normalised, plan, first, block, streams, room, out }
    }

    /// Does up to `most` iterations together; gives their number, 0 if that is not possible.
    #[inline(always)]
    pub fn run(mut self, most: usize) -> usize {
        let done = self.tried(most);
        (self.room.block, self.room.streams) = (self.block, self.streams);
        done
    }

    #[inline(always)]
    fn tried(&mut self, most: usize) -> usize {
        self.room.change = None;
        let size = most.min(BLOCK).min(self.plan.longest);
        let span = size as u64 * self.plan.step;
        let dies = |stream: &Stream| if stream.kind == Kind::Last { u64::from(stream.len) } else { 0 };
        let words = &self.normalised.words;
        // Words that die in the last iteration may need positions on the top.
        let on_top = if self.normalised.is_asked() { 0 } else { words.iter().map(dies).sum() };
        let needed = span + self.plan.widest + on_top;
        if size < LEAST || span + on_top > 0 && !self.stack.order.time.has_room(needed) {
            return 0;
        }
        self.room.above.resize(BLOCK, 0);
        self.block.start(words.len(), size);
        self.streams.clear();
        self.streams.extend_from_slice(words);
        if self.find() && self.has_words_above_holes() { self.together() } else { 0 }
    }

    /// Whether all words of the block are above the holes that there are, and nobody is told of new words in terms of
    /// holes.
    #[inline(always)]
    fn has_words_above_holes(&self) -> bool {
        let is_part = self.stack.slice.is_some();
        let tells = |(stream, word): (&Stream, &Stream)| match stream.kind {
            Kind::Fresh => is_part || word.kind == Kind::Load,
            Kind::Remove => true,
            Kind::Load | Kind::Store | Kind::Last => false,
        };
        let (block, holes) = (&self.block, &self.stack.order.holes);
        let far = || (0..self.streams.len()).filter(|&number| block.is_far(number));
        let lowest = || far().map(|number| block.ends(number, self.plan.len(number)).0).fold(block.floor, u64::min);
        let are_told = || self.streams.iter().zip(&self.normalised.words).any(tells);
        let has_holes = holes.count() > 0;
        !((has_holes || self.leaves_holes()) && are_told()) && !(has_holes && holes.is_above(lowest()))
    }

    /// Whether words die on the top. Those that a part of a run asks for do not, they only leave the stack.
    fn leaves_holes(&self) -> bool {
        !self.normalised.is_asked() && self.streams.iter().any(|stream| stream.kind == Kind::Last)
    }

    /// Follows the holes that the block makes itself, if it does; false if that cannot be done for all iterations
    /// alike.
    #[inline(always)]
    fn follow_holes(&mut self) -> bool {
        if !self.leaves_holes() {
            return true;
        }
        let Stack { shadow, order, .. } = &*self.stack;
        let (block, start) = (&self.block, order.time.next_aligned(self.plan.widest));
        let first_word = |stream: usize, iteration: usize| shadow.cells.cell(block.rows[stream].index_of(iteration));
        self.room.holes.follow(&Places { streams: &self.streams, plan: self.plan, block, start }, first_word)
    }

    /// Fills and leaves holes as the block does.
    #[inline(always)]
    fn move_holes(&mut self) {
        let (order, holes) = (&mut self.stack.order, &self.room.holes);
        if !self.streams.iter().any(|stream| stream.kind == Kind::Last) {
            let fresh = |stream: &Stream| if stream.kind == Kind::Fresh { u64::from(stream.len) } else { 0 };
            return order.enter_holes(self.block.size as u64 * self.streams.iter().map(fresh).sum::<u64>());
        }
        order.enter_holes(holes.filled);
        holes.placed().for_each(|(position, len)| order.leave_hole(position, len));
        if holes.on_top() > 0 {
            let top = order.time.pass_over(holes.on_top());
            order.leave_hole(top, holes.on_top());
        }
    }

    /// Does the iterations of the block, whose words are found; gives their number, 0 if the streams cross.
    #[inline(always)]
    fn together(&mut self) -> usize {
        // Which streams cross is found out first, as nothing may be reported in vain.
        while self.block.size >= LEAST {
            let crossed = self.room.offsets.find(&self.streams, self.plan, &self.block);
            if crossed == self.block.size {
                break;
            }
            self.block.size = crossed;
        }
        if self.block.size < LEAST || !self.follow_holes() {
            return 0;
        }
        // Only now the size is final, so that what is touched for the first time can be counted.
        let size = self.block.size;
        let mut untouched = 0;
        for (number, stream) in self.streams.iter().enumerate() {
            if matches!(stream.kind, Kind::Fresh | Kind::Remove) {
                let dead = self.plan.reborn(number).unwrap_or(size).min(size);
                untouched += self.block.rows[number].untouched(&self.stack.shadow.cells.values, dead);
            }
        }
        // All depths, before anything moves.
        self.block.find_sequences(self.plan, &self.stack.order.time);
        self.report();
        if self.normalised.is_asked() {
            self.answer(untouched);
        } else {
            if self.stack.slice.is_some() {
                self.ask_for_fresh();
            } else {
                self.report_fresh();
            }
            self.rise(untouched);
        }
        self.take_away();
        self.move_words();
        if !self.normalised.is_asked() {
            self.move_holes();
        }
        size
    }

    /// Reports the loads of words that are on the stack.
    #[inline(always)]
    fn report(&mut self) {
        let holes = self.leaves_holes().then_some(&self.room.holes);
        let (normalised, first, size) = (self.normalised, self.first, self.block.size);
        for (number, stream) in self.streams.iter().enumerate() {
            if !normalised.is_read(number, stream) {
                continue;
            }
            let len = self.plan.len(number);
            let mut report = |from: usize, row: Progression| match holes {
                None => normalised.row(number, first + from as u64, row, 0, self.out),
                Some(holes) => {
                    holes.pieces(number, from, row, |from, row, holes| {
                        normalised.row(number, first + from as u64, row, holes, self.out);
                    });
                }
            };
            match self.plan.carried(number) {
                Some(carried) => {
                    let first = carried.above.into();
                    report(0, Progression { count: size as u64, ..Progression::one(first, len) });
                }
                None => {
                    let (offset, above) = (self.room.offsets.get(number), &mut self.room.above[..size]);
                    self.block.report(&self.stack.order, offset, number, len, above, report);
                }
            }
        }
    }

    /// Reports the loads of words that are not on the stack.
    #[inline(always)]
    fn report_fresh(&mut self) {
        let (streams, words) = (&self.streams, &self.normalised.words);
        let is_found = |number: usize| streams[number].kind == Kind::Fresh && words[number].kind == Kind::Load;
        if !(0..streams.len()).any(is_found) {
            return;
        }
        let change: i64 = streams.iter().map(grows).sum();
        for (number, _, live) in with_live(streams, self.stack.order.live()).filter(|word| is_found(word.0)) {
            for iteration in 0..self.block.size as u64 {
                let above = live.wrapping_add_signed(change * iteration as i64);
                self.normalised.cold(number, self.first + iteration, above, self.plan.len(number), self.out);
            }
        }
    }

    /// Counts what the block puts on the stack: the most that is on it at a time, and bytes that are new.
    #[inline(always)]
    fn rise(&mut self, untouched: u64) {
        let (mut most, mut change) = (0i64, 0i64);
        for stream in &self.streams {
            change += grows(stream);
            most = most.max(change);
        }
        let rise = most + change.max(0) * (self.block.size as i64 - 1);
        self.stack.count_block(self.stack.order.live().wrapping_add_signed(rise), untouched);
    }

    /// Clears the positions that the block's words leave.
    #[inline(always)]
    fn take_away(&mut self) {
        let (block, Stack { shadow, order, .. }) = (&self.block, &mut *self.stack);
        for group in block.sequences.groups() {
            order.time.clear_sequences(group, block.size, &mut self.room.masks);
        }
        for number in 0..self.streams.len() {
            let Some(carried) = self.plan.carried(number) else { continue };
            for word in 0..usize::from(carried.distance).min(block.size) {
                order.time.clear(shadow.cells.cell(block.rows[number].index_of(word)), self.plan.len(number));
            }
        }
    }

    /// Marks words dead that are, and gives the others their new positions.
    #[inline(always)]
    fn move_words(&mut self) {
        let (size, step, plan, block) = (self.block.size, self.plan.step, self.plan, &self.block);
        let Stack { shadow, order, .. } = &mut *self.stack;
        for (number, stream) in self.streams.iter().enumerate() {
            if matches!(stream.kind, Kind::Last | Kind::Remove) {
                block.rows[number].set_dead(&mut shadow.cells.values, size);
            }
        }
        if step == 0 {
            return;
        }
        let start = order.time.aligned_end(plan.widest);
        let skew = start % 64;
        let Room { fresh, masks, kept, .. } = &mut *self.room;
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
        for (number, _) in self.streams.iter().enumerate().filter(|(_, stream)| stream.kind != Kind::Last) {
            let (row, from) = (block.rows[number], plan.kept_from(number, size));
            kept.push((from, skew + plan.slot(number), plan.len(number)));
            let position = start + plan.slot(number) + step * from as u64;
            debug_assert!(
                (from..size).all(|word| shadow.is_present(row.index_of(word))),
                "words are written to pages that are present"
            );
            row.skip(from).set(&mut shadow.cells.values, size - from, position, step);
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
        order.time.append_leaves(fresh, end - skew);
    }
}

/// The streams with their numbers and with the bytes on the stack before each one's access, of an iteration that begins
/// with so many.
pub(super) fn with_live(streams: &[Stream], mut live: u64) -> impl Iterator<Item = (usize, &Stream, u64)> {
    streams.iter().enumerate().map(move |(number, stream)| {
        let before = live;
        live = live.wrapping_add_signed(grows(stream));
        (number, stream, before)
    })
}

/// Bytes that an access of a stream adds to the stack.
pub(super) fn grows(stream: &Stream) -> i64 {
    match stream.kind {
        Kind::Fresh => i64::from(stream.len),
        Kind::Last => -i64::from(stream.len),
        Kind::Load | Kind::Store | Kind::Remove => 0,
    }
}
