//! A ring of a program that draws a sample while it runs: it has records of what was looked at, and counters.
//!
//! Takes records with their times, and how often each segment was executed; gives the sample what it would have taken
//! from a whole ring, and the cells what is exact: executions, and the bytes of all accesses of fixed size. Which
//! function called which is known if the program was asked to tell where functions begin and end: what is exact is then
//! of a segment wherever it was called from, in the context above all others. Else most records are left out, and each
//! function is a calling context of its own, below nothing. Of a region of interest no count is exact.

use super::{
    analyzer::{Analyzer, added},
    core::{Core, Dense, Executed, files},
    lengths::{accesses_of, each, is_one_access},
};
use crate::{
    abi::{Item, SegmentKind, segment_flag},
    decode::{
        block::CellNumber,
        context::ContextNumber,
        locator::{FunctionNumber, Located, Locator, ModuleSource, SegmentNumber},
    },
    ring::Counted,
    sites::Segment,
};

impl Core {
    /// The program says how many accesses there were so far.
    pub(super) fn set_time(&mut self, time: u64) {
        if self.filtered {
            self.told_time = time;
            self.engine.set_time(time, files!(self));
        }
    }

    /// A record of a function is at hand.
    #[inline]
    pub(super) fn be_in(&mut self, function: FunctionNumber) {
        if self.contexts.function() != Some(function) {
            if self.filtered && !self.follows {
                self.restart::<true>();
            }
            self.resume::<true>(function);
        }
    }

    /// A record that a program wrote down because it looked at something in it, or always does.
    pub(super) fn looked_at(&mut self, segment: &Segment, items: &[Item], record: &[u64], place: Dense) {
        if self.follows {
            self.enter(segment.flags, record, place);
        } else {
            self.be_in(place.function);
        }
        let behind = usize::from(segment.flags & (segment_flag::COOKIE | segment_flag::LANDING) != 0);
        if let Some(time) = record.len().checked_sub(1 + behind).and_then(|at| record.get(at)) {
            self.set_time(*time);
        }
        let is_loop = segment.kind == SegmentKind::Loop as u8;
        if self.counting() {
            let block = self.block(place.segment, items.len());
            let first = self.blocks[block as usize].first_cell.index();
            self.counted_elsewhere(items, record, first, (place.segment, is_loop));
        } else {
            self.uncounted(items, record, place, is_loop);
        }
        if self.follows && segment.flags & segment_flag::EXIT != 0 {
            self.exit::<true>(place.function);
        }
    }

    /// Accesses of a record, of which those of fixed size are counted by executions.
    fn counted_elsewhere(
        &mut self,
        items: &[Item],
        record: &[u64],
        first: usize,
        (segment, is_loop): (SegmentNumber, bool),
    ) {
        if is_loop {
            // All of a loop's items are of fixed size.
            let accesses = self.totals.accesses;
            self.iterations::<true>(items, record, first);
            self.totals.accesses = accesses;
            return;
        }
        if self.marked_items(items, record, first, segment) {
            return;
        }
        for (item, cell) in items.iter().zip(first..) {
            let accesses = self.totals.accesses;
            let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
            self.item::<true>(item, record, address, cell);
            if each(item).is_some() {
                self.totals.accesses = accesses;
            }
        }
    }

    /// Looks only at items in marked lines, where no burst runs and nothing changes meanwhile; false, and nothing done,
    /// if the record tells how much there is, or if what it tells of the others is needed.
    fn marked_items(&mut self, items: &[Item], record: &[u64], first: usize, segment: SegmentNumber) -> bool {
        if self.follows || self.has_roi || self.objects.is_some() {
            return false;
        }
        let quiet = |accesses| self.engine.quiet_for(accesses);
        let Some((accesses, start)) = self.lengths.get(segment, items).and_then(|all| Some((all, quiet(all)?))) else {
            return false;
        };
        let before = self.totals.accesses;
        // The time is asked for at few items only.
        let (mut time, mut counted) = (start, 0);
        for (number, item) in items.iter().enumerate() {
            let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
            if !is_one_access(item) || self.engine.marks(address, item.size.into()) {
                time += accesses_of(&items[counted..number]).unwrap_or(0);
                counted = number;
                self.engine.set_time(time, files!(self));
                self.item::<true>(item, record, address, first + number);
            }
        }
        self.engine.set_time(start + accesses, files!(self));
        self.totals.accesses = before;
        true
    }

    /// Notes how often segments were executed, before anything is filed.
    fn executed(&mut self, all: &mut [Executed]) {
        if self.has_roi {
            return;
        }
        for Executed { place, items, enters, times, block } in all {
            if self.follows {
                // The context above all others is of no function, so its segments are not looked up.
                *block = Some(self.blocks.len() as u32);
                self.add_block(ContextNumber::ROOT, place.segment, *items);
            } else {
                self.be_in(place.function);
                *block = Some(self.block(place.segment, *items));
                let node = self.contexts.current();
                self.contexts.nodes[node.index()].calls += if *enters { *times } else { 0 };
            }
            block.iter().for_each(|block| self.blocks[*block as usize].executions = *times);
        }
    }

    /// Of cells whose bytes are not known exactly, for they are only one object's part of a site: what the sample says.
    pub(super) fn estimate_reads(&mut self, locator: &Locator) {
        for cell in 0..self.cells.len() {
            let Some((segment, number)) = self.site(self.whole_cell(CellNumber::new(cell))) else { continue };
            let is_fixed = locator.items(segment).get(number as usize).is_some_and(|item| each(item).is_some());
            if let Some(counts) = self.cells[cell].sampled.as_mut().filter(|_| is_fixed) {
                counts.read = counts.bytes().round() as u64;
            }
        }
    }

    /// Puts exact counts in the place of what records alone told.
    pub(super) fn count_executed(&mut self, all: &[Executed], locator: &Locator) {
        if self.follows {
            self.leave_out_counted(locator);
        }
        for Executed { place, times, block, .. } in all {
            let items = locator.items(place.segment);
            let accesses: u64 = items.iter().filter_map(each).map(|(_, _, accesses)| accesses).sum();
            self.totals.accesses += accesses * times;
            let Some(block) = *block else { continue };
            let first = self.blocks[block as usize].first_cell.index();
            for (item, cell) in items.iter().zip(first..) {
                let Some((read, written, _)) = each(item) else { continue };
                let cell = &mut self.cells[cell];
                cell.written = written * times;
                if read > 0 {
                    cell.sampled.get_or_insert_default().read = read * times;
                }
            }
        }
    }

    /// Takes from the cells of contexts what only records told of accesses that are counted by executions. Of a region
    /// of interest the estimates of what was read stay.
    fn leave_out_counted(&mut self, locator: &Locator) {
        for block in &self.blocks {
            for (item, cell) in locator.items(block.segment).iter().zip(block.first_cell.index()..) {
                if each(item).is_none() {
                    continue;
                }
                let cell = &mut self.cells[cell];
                cell.written = 0;
                if let Some(counts) = cell.sampled.as_mut().filter(|_| !self.has_roi) {
                    counts.read = 0;
                }
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
        let roi = self.core.has_roi && self.tables.is_roi[function.index()];
        let place = Dense { segment: module.segment_number(located.segment), function, roi };
        let record = &rest[..located.words];
        self.core.looked_at(segment, module.items(segment), record, place);
        if self.core.follows && !segment.slots.is_empty() {
            self.core.slots_held(module, segment, record);
        }
        located.words
    }

    /// Takes what the counters of a ring of the program say, once it has ended.
    pub fn count(&mut self, counted: &[Counted], source: &mut impl ModuleSource) {
        if !self.core.filtered {
            return;
        }
        self.locator.know_all(source, added(&mut self.tables, &mut self.core));
        let mut all = Vec::new();
        for Counted { unit, counter, times } in counted {
            let found = unit.and_then(|unit| self.locator.counted(unit, *counter));
            let Some((module, number)) = found else {
                self.core.totals.lost_words += 1;
                continue;
            };
            let module = &self.locator.modules[module];
            let segment = module.segment(number);
            let function = module.function_number(segment.function);
            all.push(Executed {
                place: Dense { segment: module.segment_number(number), function, roi: false },
                items: module.items(segment).len(),
                enters: segment.flags & segment_flag::ENTER != 0,
                times: *times,
                block: None,
            });
        }
        self.core.totals.active |= !all.is_empty();
        self.core.executed(&mut all);
        self.executed = all;
    }
}
