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

use std::ops::Range;

use super::{
    block::{Block, LEAST},
    dependence::Plan,
    holes::{HoleMoves, Places},
    normalise::Normalised,
    offsets::DepthOffset,
    scratch::Room,
};
use crate::engine::{
    access::{Kind, Stream},
    cell::Cell,
    progression::Progression,
    report::Reports,
    sequences::{Sequence, are_close},
    stack::Stack,
    timeline::{Rank, Repeat, strided},
};

/// Most iterations of a block.
const BLOCK: usize = 512;

impl<C: Cell> Stack<C> {
    /// Does up to `most` iterations from `first` on together; gives their number, 0 if that is not possible.
    #[inline(always)]
    pub(super) fn block(
        &mut self,
        normalised: &Normalised,
        plan: &Plan,
        first: u64,
        most: usize,
        room: &mut Room,
        out: &mut Reports,
    ) -> usize {
        room.change = None;
        let size = most.min(BLOCK).min(plan.longest);
        let span = size as u64 * plan.step;
        let dies = |stream: &Stream| if stream.kind == Kind::Last { u64::from(stream.len) } else { 0 };
        // Words that die in the last iteration may need positions on the top.
        let on_top = if normalised.is_asked() { 0 } else { normalised.words.iter().map(dies).sum() };
        if size < LEAST || span + on_top > 0 && !self.order.time.has_room(span + plan.widest + on_top) {
            return 0;
        }
        room.above.resize(BLOCK, 0);
        let mut block = std::mem::take(&mut room.block);
        block.start(normalised.words.len(), size);
        let mut streams = std::mem::take(&mut room.streams);
        streams.clear();
        streams.extend_from_slice(&normalised.words);
        if self.find(&mut streams, normalised.is_asked(), plan, first, &mut block, &mut room.change)
            && self.has_words_above_holes(&streams, normalised, plan, &block)
        {
            block.size = self.together(&streams, normalised, plan, first, &mut block, room, out);
        } else {
            block.size = 0;
        }
        let size = block.size;
        room.streams = streams;
        room.block = block;
        size
    }

    /// Whether all words of a block are above the holes that there are, and nobody is told of new words in terms of
    /// holes.
    #[inline(always)]
    fn has_words_above_holes(&self, streams: &[Stream], normalised: &Normalised, plan: &Plan, block: &Block) -> bool {
        let is_part = self.slice.is_some();
        let tells = |(stream, word): (&Stream, &Stream)| match stream.kind {
            Kind::Fresh => is_part || word.kind == Kind::Load,
            Kind::Remove => true,
            Kind::Load | Kind::Store | Kind::Last => false,
        };
        let far = || (0..streams.len()).filter(|&number| block.is_far(number));
        let lowest = || far().map(|number| block.ends(number, plan.len(number)).0).fold(block.floor, u64::min);
        let are_told = || streams.iter().zip(&normalised.words).any(tells);
        let has_holes = self.order.holes.count() > 0;
        !((has_holes || leaves_holes(streams, normalised)) && are_told())
            && !(has_holes && self.order.holes.is_above(lowest()))
    }

    /// Follows the holes that a block makes itself, if it does; false if that cannot be done for all iterations alike.
    #[inline(always)]
    fn follow_holes(
        &self,
        streams: &[Stream],
        normalised: &Normalised,
        plan: &Plan,
        block: &Block,
        holes: &mut HoleMoves,
    ) -> bool {
        if !leaves_holes(streams, normalised) {
            return true;
        }
        let start = self.order.time.next_aligned(plan.widest);
        let first_word =
            |stream: usize, iteration: usize| self.shadow.cells.cell(block.rows[stream].index_of(iteration));
        holes.follow(&Places { streams, plan, block, start }, first_word)
    }

    /// Fills and leaves holes as a block does.
    #[inline(always)]
    fn move_holes(&mut self, streams: &[Stream], normalised: &Normalised, size: usize, holes: &HoleMoves) {
        if !leaves_holes(streams, normalised) {
            let fresh = |stream: &Stream| if stream.kind == Kind::Fresh { u64::from(stream.len) } else { 0 };
            return self.order.enter_holes(size as u64 * streams.iter().map(fresh).sum::<u64>());
        }
        self.order.enter_holes(holes.filled);
        holes.placed().for_each(|(position, len)| self.order.leave_hole(position, len));
        if holes.on_top() > 0 {
            let top = self.order.time.pass_over(holes.on_top());
            self.order.leave_hole(top, holes.on_top());
        }
    }

    /// Does the iterations of a block whose words are found; gives their number, 0 if the streams cross.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "what a block is")]
    fn together(
        &mut self,
        streams: &[Stream],
        normalised: &Normalised,
        plan: &Plan,
        first: u64,
        block: &mut Block,
        room: &mut Room,
        out: &mut Reports,
    ) -> usize {
        // Which streams cross is found out first, as nothing may be reported in vain.
        while block.size >= LEAST {
            let crossed = room.offsets.find(streams, plan, block);
            if crossed == block.size {
                break;
            }
            block.size = crossed;
        }
        let size = block.size;
        if size < LEAST || !self.follow_holes(streams, normalised, plan, block, &mut room.holes) {
            return 0;
        }
        // Only now the size is final, so that what is touched for the first time can be counted.
        let mut untouched = 0;
        for (number, _) in streams.iter().enumerate().filter(|(_, s)| matches!(s.kind, Kind::Fresh | Kind::Remove)) {
            let dead = plan.reborn(number).unwrap_or(size).min(size);
            untouched += block.rows[number].untouched(&self.shadow.cells.values, dead);
        }
        // All depths, before anything moves.
        self.find_sequences(plan, block);
        let holes = leaves_holes(streams, normalised).then_some(&room.holes);
        for (number, stream) in streams.iter().enumerate() {
            if !normalised.is_read(number, stream) {
                continue;
            }
            let len = plan.len(number);
            let mut report = |from: usize, row: Progression| match holes {
                None => normalised.row(number, first + from as u64, row, 0, out),
                Some(holes) => {
                    holes.pieces(number, from, row, |from, row, holes| {
                        normalised.row(number, first + from as u64, row, holes, out);
                    });
                }
            };
            match plan.carried(number) {
                Some(carried) => {
                    let first = carried.above.into();
                    report(0, Progression { count: size as u64, ..Progression::one(first, len) });
                }
                None => self.report(block, room.offsets.get(number), number, len, &mut room.above[..size], report),
            }
        }
        if normalised.is_asked() {
            self.answer(streams, normalised, first, size, untouched, out);
        } else {
            if self.slice.is_some() {
                self.ask_for_fresh(streams, normalised, first, size);
            } else {
                self.report_fresh(streams, normalised, plan, first, size, out);
            }
            self.rise(streams, size, untouched);
        }
        self.take_away(streams, plan, block, room);
        self.move_words(streams, plan, block, room);
        if !normalised.is_asked() {
            self.move_holes(streams, normalised, size, &room.holes);
        }
        size
    }

    /// Reports the loads of words that are not on the stack.
    #[inline(always)]
    fn report_fresh(
        &self,
        streams: &[Stream],
        normalised: &Normalised,
        plan: &Plan,
        first: u64,
        size: usize,
        out: &mut Reports,
    ) {
        let is_found =
            |number: usize| streams[number].kind == Kind::Fresh && normalised.words[number].kind == Kind::Load;
        if !(0..streams.len()).any(is_found) {
            return;
        }
        let change: i64 = streams.iter().map(grows).sum();
        for (number, _, live) in with_live(streams, self.order.live()).filter(|(number, ..)| is_found(*number)) {
            for iteration in 0..size as u64 {
                let above = live.wrapping_add_signed(change * iteration as i64);
                normalised.cold(number, first + iteration, above, plan.len(number), out);
            }
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
        self.count_block(self.order.live().wrapping_add_signed(rise), untouched);
    }

    /// Finds which far streams' words lay among each other, and whether their positions repeat.
    #[inline(always)]
    fn find_sequences(&self, plan: &Plan, block: &mut Block) {
        let mut sequences = std::mem::take(&mut block.sequences);
        let size = block.size as u64;
        sequences.find((0..block.positions.len()).filter(|&stream| block.is_far(stream)).map(|stream| {
            let (len, step) = (plan.len(stream), block.positions[stream].step.unsigned_abs());
            Sequence { step, low: block.ends(stream, len).0, len, stream }
        }));
        for group in sequences.groups().filter(|group| group.len() > 1 && are_close(group)) {
            let step = group[0].step;
            let end = group.iter().map(|sequence| sequence.low + sequence.len).max().unwrap_or(0) + step * (size - 1);
            let gap = self.order.time.repeating(group[0].low, end, step, block.size);
            group.iter().for_each(|sequence| block.gaps[sequence.stream] = gap);
        }
        block.sequences = sequences;
    }

    /// Reports a stream's depths, as rows from numbers of iterations of the block on.
    #[inline(always)]
    fn report(
        &self,
        block: &Block,
        offset: DepthOffset<'_>,
        stream: usize,
        len: u64,
        above: &mut [u64],
        mut report: impl FnMut(usize, Progression),
    ) {
        let (positions, size) = (block.positions[stream], above.len());
        let last = positions.first + len - 1;
        if let Some(Repeat { even: (from, until), gap }) = block.gaps[stream] {
            let even = if positions.step > 0 { from..until } else { size - until..size - from };
            let above =
                |iteration: usize| self.order.live() - self.order.time.rank(positions.position_at(iteration) + len - 1);
            let one_by_one = |iterations: Range<usize>, report: &mut dyn FnMut(usize, Progression)| {
                for iteration in iterations {
                    let above = offset.depth_at(above(iteration), iteration as i64);
                    report(iteration, Progression::one(above, len));
                }
            };
            let step = -positions.step.signum() * gap as i64;
            let most = above(even.start).wrapping_add_signed(-step * even.start as i64);
            one_by_one(0..even.start, &mut report);
            offset.rows(most, step, len, even.clone(), &mut report);
            one_by_one(even.end..size, &mut report);
            return;
        }
        if let Some((most, step)) = self.order.time.evenly_above(last, positions.step, size, len) {
            return offset.rows(most, step, len, 0..size, report);
        }
        self.order.time.above(last, positions.step, above);
        for (above, iteration) in above.iter_mut().zip(0..) {
            *above = offset.depth_at(*above, iteration);
        }
        let mut from = 0;
        for same in above.chunk_by(|a, b| a == b) {
            report(from, Progression { count: same.len() as u64, ..Progression::one(same[0], len) });
            from += same.len();
        }
    }

    /// Clears the positions that a block's words leave.
    #[inline(always)]
    fn take_away(&mut self, streams: &[Stream], plan: &Plan, block: &Block, room: &mut Room) {
        for group in block.sequences.groups() {
            self.order.time.clear_sequences(group, block.size, &mut room.masks);
        }
        for number in 0..streams.len() {
            let Some(carried) = plan.carried(number) else { continue };
            for word in 0..usize::from(carried.distance).min(block.size) {
                self.order.time.clear(self.shadow.cells.cell(block.rows[number].index_of(word)), plan.len(number));
            }
        }
    }

    /// Marks words dead that are, and gives the others their new positions.
    #[inline(always)]
    fn move_words(&mut self, streams: &[Stream], plan: &Plan, block: &mut Block, room: &mut Room) {
        for (number, _) in streams.iter().enumerate().filter(|(_, s)| matches!(s.kind, Kind::Last | Kind::Remove)) {
            block.rows[number].set_dead(&mut self.shadow.cells.values, block.size);
        }
        self.put_on_top(streams, plan, block, room);
    }

    /// Gives a block's words their new positions.
    #[inline(always)]
    fn put_on_top(&mut self, streams: &[Stream], plan: &Plan, block: &Block, room: &mut Room) {
        let (size, step) = (block.size, plan.step);
        if step == 0 {
            return;
        }
        let start = self.order.time.aligned_end(plan.widest);
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
            let (row, from) = (block.rows[number], plan.kept_from(number, size));
            kept.push((from, skew + plan.slot(number), plan.len(number)));
            let position = start + plan.slot(number) + step * from as u64;
            debug_assert!(
                (from..size).all(|word| self.shadow.is_present(row.index_of(word))),
                "words are written to pages that are present"
            );
            row.skip(from).set(&mut self.shadow.cells.values, size - from, position, step);
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
        self.order.time.append_leaves(fresh, end - skew);
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

/// Whether words die on the top. Those that a part of a run asks for do not, they only leave the stack.
fn leaves_holes(streams: &[Stream], normalised: &Normalised) -> bool {
    !normalised.is_asked() && streams.iter().any(|stream| stream.kind == Kind::Last)
}

/// Bytes that an access of a stream adds to the stack.
pub(super) fn grows(stream: &Stream) -> i64 {
    match stream.kind {
        Kind::Fresh => i64::from(stream.len),
        Kind::Last => -i64::from(stream.len),
        Kind::Load | Kind::Store | Kind::Remove => 0,
    }
}
