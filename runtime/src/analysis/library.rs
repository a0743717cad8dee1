//! What library calls and markers do: bytes that they read and write, blocks that begin, end and move.
//!
//! Takes the operands of events, with the call site where there is one.

use std::ops::Range;

use super::{calls::RingSegment, charge::Charging, core::Core};
use crate::{
    abi::{COPY_BLOCK, segment_flag},
    decode::{
        context::{ContextNumber, Contexts},
        locator::Module,
    },
    engine::AccessTag,
    objects::{Origin, announced, change::Change},
    oplog::Op,
    sites::Segment,
};

impl Core {
    /// Where an allocation is called. Its function runs, whether somebody wants to know of objects or not.
    fn origin(&mut self, site: Option<RingSegment>) -> Origin {
        let Some(site) = site else { return Origin { context: ContextNumber::ROOT, segment: None } };
        self.be_in(site.function);
        Origin { context: self.calls.contexts.current(), segment: Some(site.segment) }
    }

    pub(super) fn allocated(&mut self, site: Option<RingSegment>, address: u64, len: u64) {
        self.charging.end(address, len);
        self.life_begins(site, address, len);
    }

    /// Of an allocated block.
    pub(super) fn life_begins(&mut self, site: Option<RingSegment>, address: u64, len: u64) {
        let origin = self.origin(site);
        self.charging.life(Change::Begins { address, len, origin });
    }

    pub(super) fn mapped(&mut self, site: Option<RingSegment>, address: u64, len: u64, file: &str) {
        let origin = self.origin(site);
        self.charging.life(Change::Maps { address, len, file: file.into(), origin });
    }

    /// Of a block that moves or changes its size.
    pub(super) fn life_moves(&mut self, site: Option<RingSegment>, from: u64, from_len: u64, to: u64, to_len: u64) {
        let origin = self.origin(site);
        self.charging.life(Change::Moves { from, from_len, to, to_len, origin });
    }

    pub(super) fn relocate(&mut self, site: Option<RingSegment>, from: u64, from_len: u64, to: u64, to_len: u64) {
        self.life_moves(site, from, from_len, to, to_len);
        let kept = from_len.min(to_len);
        let rest = from.saturating_add(kept);
        let charging = &mut self.charging;
        if from == to {
            return charging.forget(rest, from_len - kept);
        }
        charging.forget(to, to_len);
        charging.op(Op::Move { from, to, len: kept });
        // The old block's bytes beyond the new length die with it.
        for range in outside(rest, from_len - kept, to, to_len) {
            charging.forget(range.start, range.end.saturating_sub(range.start));
        }
    }

    /// Cell of a call site in the current context, counted as executed once; `None` outside the region of interest.
    fn event_cell(&mut self, site: Option<RingSegment>) -> Option<usize> {
        self.charging.hidden = AccessTag::UNCOUNTED;
        let site = site?;
        self.be_in(site.function);
        let node = self.calls.contexts.current();
        if !self.calls.counting() {
            self.charging.hide(node, site.segment, 1);
            return None;
        }
        let cell = self.charging.block(node, site.segment, 1).first_cell.index();
        self.charging.counters.cells[cell].executions += 1;
        Some(cell)
    }

    pub(super) fn event_read(&mut self, site: Option<RingSegment>, address: u64, len: u64) {
        let cell = self.event_cell(site);
        for start in (0..len).step_by(COPY_BLOCK as usize) {
            let block = (len - start).min(COPY_BLOCK);
            match cell {
                Some(cell) => self.charging.load::<true>(address.wrapping_add(start), block, cell),
                None => self.charging.load::<false>(address.wrapping_add(start), block, 0),
            }
        }
    }

    pub(super) fn event_write(&mut self, site: Option<RingSegment>, address: u64, len: u64) {
        match self.event_cell(site) {
            Some(cell) => self.charging.fill::<true>(address, len, cell),
            None => self.charging.fill::<false>(address, len, 0),
        }
    }

    pub(super) fn event_copy(&mut self, site: Option<RingSegment>, to: u64, from: u64, len: u64) {
        match self.event_cell(site) {
            Some(cell) => self.charging.copy::<true>(to, from, len, cell),
            None => self.charging.copy::<false>(to, from, len, 0),
        }
    }
}

/// The stack slots that a segment announces start their lives.
pub(super) fn start_slots(charging: &mut Charging, module: &Module, segment: &Segment, record: &[u64]) {
    let table = module.placed.id;
    for (slot, address, len) in announced(module, segment, record) {
        charging.life(Change::Slot { address, len, table, slot });
    }
}

/// They end with their function, however that is left.
pub(super) fn hold_slots(contexts: &mut Contexts, module: &Module, segment: &Segment, record: &[u64]) {
    // Of a function that has ended, they have too.
    if segment.flags & segment_flag::EXIT == 0 {
        for (_, address, len) in announced(module, segment, record) {
            contexts.hold(address, len);
        }
    }
}

/// A range without what of another one lies in it; parts may be empty.
fn outside(start: u64, len: u64, keep: u64, keep_len: u64) -> [Range<u64>; 2] {
    let (end, keep_end) = (start.saturating_add(len), keep.saturating_add(keep_len));
    [start..end.min(keep.max(start)), keep_end.clamp(start, end)..end]
}
