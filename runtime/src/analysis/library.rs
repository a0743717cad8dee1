//! What library calls and markers do: bytes that they read and write, blocks that begin, end and move.
//!
//! Takes the operands of events, with the call site where there is one.

use super::core::{Core, Dense, files};
use crate::{
    abi::{COPY_BLOCK, segment_flag},
    decode::{context::ContextNumber, locator::Module},
    engine::{AccessTag, Kind},
    objects::{Origin, announced, change::Change},
    oplog::Op,
    sites::Segment,
};

impl Core {
    /// Where an allocation is called. Its function runs, whether somebody wants to know of objects or not.
    fn origin(&mut self, place: Option<Dense>) -> Origin {
        let Some(place) = place else { return Origin { context: ContextNumber::ROOT, segment: None } };
        self.be_in(place.function);
        Origin { context: self.contexts.current(), segment: Some(place.segment) }
    }

    /// Tells who wants to know what becomes of memory.
    #[inline]
    fn life(&mut self, what: Change) {
        if self.engine.wants_lives() {
            self.engine.op(Op::Life(&what), files!(self));
        } else if let Some(own) = &mut self.objects {
            own.objects.change(&what);
        }
    }

    pub(super) fn allocated(&mut self, place: Option<Dense>, address: u64, len: u64) {
        self.end(address, len);
        self.life_begins(place, address, len);
    }

    /// Of an allocated block.
    pub(super) fn life_begins(&mut self, place: Option<Dense>, address: u64, len: u64) {
        let origin = self.origin(place);
        self.life(Change::Begins { address, len, origin });
    }

    pub(super) fn mapped(&mut self, place: Option<Dense>, address: u64, len: u64, file: &str) {
        let origin = self.origin(place);
        self.life(Change::Maps { address, len, file: file.into(), origin });
    }

    /// The stack slots that a segment announces start their lives.
    pub(super) fn slots_start(&mut self, module: &Module, segment: &Segment, record: &[u64]) {
        let table = module.placed.id;
        for (slot, address, len) in announced(module, segment, record) {
            self.life(Change::Slot { address, len, table, slot });
        }
    }

    /// They end with their function, however that is left.
    pub(super) fn slots_held(&mut self, module: &Module, segment: &Segment, record: &[u64]) {
        // Of a function that has ended, they have too.
        if segment.flags & segment_flag::EXIT == 0 {
            for (_, address, len) in announced(module, segment, record) {
                self.contexts.hold(address, len);
            }
        }
    }

    /// What lies there ends.
    pub(super) fn end(&mut self, address: u64, len: u64) {
        self.life_ends(address, len);
        self.forget(address, len);
    }

    /// Of whatever lies there.
    pub(super) fn life_ends(&mut self, address: u64, len: u64) {
        self.life(Change::Ends { address, len });
    }

    /// The bytes leave the stack.
    pub(super) fn forget(&mut self, address: u64, len: u64) {
        if self.hints && len > 0 {
            self.enqueue(address, len, Kind::Remove, AccessTag::UNCOUNTED);
        }
    }

    /// Of a block that moves or changes its size.
    pub(super) fn life_moves(&mut self, place: Option<Dense>, from: u64, from_len: u64, to: u64, to_len: u64) {
        let origin = self.origin(place);
        self.life(Change::Moves { from, from_len, to, to_len, origin });
    }

    pub(super) fn relocate(&mut self, place: Option<Dense>, from: u64, from_len: u64, to: u64, to_len: u64) {
        self.life_moves(place, from, from_len, to, to_len);
        let kept = from_len.min(to_len);
        if from != to {
            self.forget(to, to_len);
            self.engine.op(Op::Move { from, to, len: kept }, files!(self));
        }
        let rest = from.saturating_add(kept);
        self.forget(rest, if from == to { from_len - kept } else { 0 });
        if from != to {
            // The old block's bytes beyond the new length die with it.
            self.kill_outside(rest, from_len - kept, to, to_len);
        }
    }

    /// Removes a range except where it overlaps another.
    fn kill_outside(&mut self, start: u64, len: u64, keep: u64, keep_len: u64) {
        let (end, keep_end) = (start.saturating_add(len), keep.saturating_add(keep_len));
        let before = start..end.min(keep.max(start));
        let after = keep_end.clamp(start, end)..end;
        for range in [before, after] {
            if range.start < range.end {
                self.forget(range.start, range.end - range.start);
            }
        }
    }

    pub(super) fn input(&mut self, addr: u64, len: u64) {
        self.engine.op(Op::Input { addr, len }, files!(self));
    }

    /// Cell of a call site in the current context, counted as executed once; `None` outside the region of interest.
    fn event_cell(&mut self, place: Option<Dense>) -> Option<usize> {
        self.hidden = AccessTag::UNCOUNTED;
        let place = place?;
        self.be_in(place.function);
        if !self.counting() {
            self.hidden = self.engine.sinks.hidden(place.segment, self.contexts.current(), 1);
            return None;
        }
        let block = self.block(place.segment, 1);
        let cell = self.blocks[block as usize].first_cell.index();
        self.cells[cell].executions += 1;
        Some(cell)
    }

    pub(super) fn event_read(&mut self, place: Option<Dense>, address: u64, len: u64) {
        let cell = self.event_cell(place);
        for start in (0..len).step_by(COPY_BLOCK as usize) {
            let block = (len - start).min(COPY_BLOCK);
            match cell {
                Some(cell) => self.load::<true>(address.wrapping_add(start), block, cell),
                None => self.load::<false>(address.wrapping_add(start), block, 0),
            }
        }
    }

    pub(super) fn event_write(&mut self, place: Option<Dense>, address: u64, len: u64) {
        match self.event_cell(place) {
            Some(cell) => self.fill::<true>(address, len, cell),
            None => self.fill::<false>(address, len, 0),
        }
    }

    pub(super) fn event_copy(&mut self, place: Option<Dense>, to: u64, from: u64, len: u64) {
        match self.event_cell(place) {
            Some(cell) => self.copy::<true>(to, from, len, cell),
            None => self.copy::<false>(to, from, len, 0),
        }
    }
}
