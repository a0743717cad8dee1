//! A ring of a program that draws a sample while it runs: it has records of what was looked at, and counters.
//!
//! Takes records with their times, and how often each segment was executed; gives the sample what it would have taken
//! from a whole ring, and the cells what is exact: executions, and the bytes of all accesses of fixed size. Which
//! function called which is known if the program was asked to tell where functions begin and end: what is exact is then
//! of a segment wherever it was called from, in the context above all others. Else most records are left out, and each
//! function is a calling context of its own, below nothing. Of a region of interest no count is exact.

use super::{
    analyzer::{Analyzer, added},
    calls::RingSegment,
    charge::Charging,
    core::{Core, Executed},
    lengths::each,
    library::hold_slots,
};
use crate::{
    abi::{Item, SegmentKind, segment_flag},
    decode::{
        context::ContextNumber,
        locator::{Located, Locator, ModuleSource},
    },
    ring::Counted,
    sites::Segment,
};

impl Core {
    /// A record that a program wrote down because it looked at something in it, or always does.
    fn looked_at(&mut self, segment: &Segment, items: &[Item], record: &[u64], at: RingSegment) {
        if self.sampled.follows {
            self.enter(segment.flags, record, at);
        } else {
            self.be_in(at.function);
        }
        let behind = usize::from(segment.flags & (segment_flag::COOKIE | segment_flag::LANDING) != 0);
        if let Some(time) = record.len().checked_sub(1 + behind).and_then(|at| record.get(at)) {
            self.sampled.set_time(*time, &mut self.charging);
        }
        let is_loop = segment.kind == SegmentKind::Loop as u8;
        if self.calls.counting() {
            let Self { calls, charging, sampled, .. } = self;
            let first = charging.block(calls.contexts.current(), at.segment, items.len()).first_cell.index();
            if is_loop {
                // All of a loop's items are of fixed size.
                let accesses = charging.totals.accesses;
                charging.iterations::<true>(items, record, first);
                charging.totals.accesses = accesses;
            } else {
                let all_matter = calls.has_roi || charging.objects.is_some();
                sampled.items(items, record, first, (at.segment, all_matter), charging);
            }
        } else {
            self.uncounted(items, record, at.segment, is_loop);
        }
        if self.sampled.follows && segment.flags & segment_flag::EXIT != 0 {
            self.exit(at.function);
        }
    }

    /// Notes how often segments were executed, before anything is filed.
    fn executed(&mut self, all: &mut [Executed]) {
        if self.calls.has_roi {
            return;
        }
        for Executed { at, items, enters, times, first_cell } in all {
            let block = if self.sampled.follows {
                // The context above all others is of no function, so its segments are not looked up.
                self.charging.counters.add_block(ContextNumber::ROOT, at.segment, *items)
            } else {
                self.be_in(at.function);
                let node = self.calls.contexts.current();
                self.calls.contexts.nodes[node.index()].calls += if *enters { *times } else { 0 };
                self.charging.block(node, at.segment, *items)
            };
            block.executions = *times;
            *first_cell = Some(block.first_cell);
        }
    }

    /// Puts exact counts in the place of what records alone told.
    pub(super) fn count_executed(&mut self, all: &[Executed], locator: &Locator) {
        let Charging { counters, totals, .. } = &mut self.charging;
        if self.sampled.follows {
            // Of a region of interest the estimates of what was read stay.
            counters.leave_out_executed(locator, self.calls.has_roi);
        }
        for Executed { at, times, first_cell, .. } in all {
            let items = locator.items(at.segment);
            let accesses: u64 = items.iter().filter_map(each).map(|(_, _, accesses)| accesses).sum();
            totals.accesses += accesses * times;
            if let Some(first_cell) = first_cell {
                counters.set_executed(items, *first_cell, *times);
            }
        }
    }
}

impl Analyzer {
    /// Replays a record.
    pub(super) fn filtered_record(&mut self, located: &Located, rest: &[u64]) -> usize {
        let module = &self.locator.modules[located.module];
        let segment = module.segment(located.segment);
        let function = module.function_number(segment.function);
        let roi = self.core.calls.has_roi && self.tables.is_roi[function.index()];
        let at = RingSegment { segment: module.segment_number(located.segment), function, roi };
        let record = &rest[..located.words];
        self.core.looked_at(segment, module.items(segment), record, at);
        if self.core.sampled.follows && !segment.slots.is_empty() {
            hold_slots(&mut self.core.calls.contexts, module, segment, record);
        }
        located.words
    }

    /// Takes what the counters of a ring of the program say, once it has ended.
    pub fn count(&mut self, counted: &[Counted], source: &mut impl ModuleSource) {
        if !self.core.sampled.filtered {
            return;
        }
        self.locator.know_all(source, added(&mut self.tables, &mut self.core));
        let mut all = Vec::new();
        for Counted { unit, counter, times } in counted {
            let found = unit.and_then(|unit| self.locator.counted(unit, *counter));
            let Some((module, number)) = found else {
                self.core.charging.totals.lost_words += 1;
                continue;
            };
            let module = &self.locator.modules[module];
            let segment = module.segment(number);
            let function = module.function_number(segment.function);
            all.push(Executed {
                at: RingSegment { segment: module.segment_number(number), function, roi: false },
                items: module.items(segment).len(),
                enters: segment.flags & segment_flag::ENTER != 0,
                times: *times,
                first_cell: None,
            });
        }
        self.core.charging.totals.active |= !all.is_empty();
        self.core.executed(&mut all);
        self.executed = all;
    }
}
