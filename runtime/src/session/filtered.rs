//! A ring of a program that draws a sample while it runs: it has records of what was looked at, and counters.
//!
//! Takes records with their times, and how often each segment was executed; gives the sample what it would have taken
//! from a whole ring, and the cells what is exact: executions, and the bytes of all accesses of fixed size. Which
//! function called which is not known, as most records are left out: each function is a calling context of its own,
//! below nothing.

use super::{
    analyzer::{Analyzer, added},
    core::{Core, Dense, Executed, files},
};
use crate::{
    abi::{COPY_BLOCK, Item, ItemKind, SegmentKind, item_flag, segment_flag},
    decode::locator::{FunctionNumber, Located, Locator, ModuleSource},
    ring::Counted,
    sites::Segment,
};

/// What each execution of an item reads and writes, and how many loads and stores that is; nothing for items whose
/// records tell.
fn each(item: &Item) -> Option<(u64, u64, u64)> {
    let size = u64::from(item.size);
    let blocks = size.div_ceil(COPY_BLOCK);
    let is_dynamic = item.flags & item_flag::DYNAMIC != 0;
    match ItemKind::of(item.kind)? {
        ItemKind::Kill | ItemKind::Loop => Some((0, 0, 0)),
        // A call site's, too: its events tell.
        _ if is_dynamic => None,
        ItemKind::Load => Some((size, 0, 1)),
        ItemKind::Store => Some((0, size, 1)),
        ItemKind::Update => Some((size, size, 2)),
        ItemKind::Fill => Some((0, size, blocks)),
        ItemKind::Copy => Some((size, size, 2 * blocks)),
        _ => None,
    }
}

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
            if self.filtered {
                self.contexts.restart();
            }
            self.contexts.resume(function);
        }
    }

    /// A record that a program wrote down because it looked at something in it, or always does.
    pub(super) fn looked_at(&mut self, segment: &Segment, items: &[Item], record: &[u64], place: Dense) {
        self.be_in(place.function);
        let behind = usize::from(segment.flags & (segment_flag::COOKIE | segment_flag::LANDING) != 0);
        if let Some(time) = record.len().checked_sub(1 + behind).and_then(|at| record.get(at)) {
            self.set_time(*time);
        }
        let block = self.block(place.segment, items.len());
        let first = self.blocks[block as usize].first_cell as usize;
        if segment.kind == SegmentKind::Loop as u8 {
            // All of a loop's items are of fixed size.
            let accesses = self.totals.accesses;
            self.iterations::<true>(items, record, first);
            self.totals.accesses = accesses;
            return;
        }
        for (item, cell) in items.iter().zip(first..) {
            let accesses = self.totals.accesses;
            let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
            self.item::<true>(item, record, address, cell);
            if each(item).is_some() {
                // They are counted by executions.
                self.totals.accesses = accesses;
            }
        }
    }

    /// Notes how often segments were executed, before anything is filed.
    fn executed(&mut self, all: &[Executed]) {
        for Executed { place, items, enters, times } in all {
            self.be_in(place.function);
            let block = self.block(place.segment, *items);
            self.blocks[block as usize].executions = *times;
            if *enters {
                let node = self.contexts.current();
                self.contexts.nodes[node.index()].calls += times;
            }
        }
    }

    /// Of cells whose bytes are not known exactly, for they are only one object's part of a site: what the sample says.
    pub(super) fn estimate_reads(&mut self, locator: &Locator) {
        let parts = self.objects.as_ref().map_or_else(Vec::new, |objects| objects.cells.parts().to_vec());
        for cell in 0..self.cells.len() {
            let whole = parts.get(cell).map_or(cell as u32, |(whole, _)| *whole);
            let Some((segment, number)) = self.site(whole) else { continue };
            let is_fixed = locator.items(segment).get(number as usize).is_some_and(|item| each(item).is_some());
            if let Some(counts) = self.cells[cell].sampled.as_mut().filter(|_| is_fixed) {
                counts.read = counts.bytes().round() as u64;
            }
        }
    }

    /// Puts exact counts in the place of what records alone told.
    pub(super) fn count_executed(&mut self, all: &[Executed], locator: &Locator) {
        for Executed { place, times, .. } in all {
            self.be_in(place.function);
            let items = locator.items(place.segment);
            let block = self.block(place.segment, items.len());
            let first = self.blocks[block as usize].first_cell as usize;
            for (item, cell) in items.iter().zip(first..) {
                let Some((read, written, accesses)) = each(item) else { continue };
                self.totals.accesses += accesses * times;
                let cell = &mut self.cells[cell];
                cell.written = written * times;
                if read > 0 {
                    cell.sampled.get_or_insert_default().read = read * times;
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
        let place = Dense { segment: module.segment_number(located.segment), function, roi: false };
        self.core.looked_at(segment, module.items(segment), &rest[..located.words], place);
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
            });
        }
        self.core.totals.active |= !all.is_empty();
        self.core.executed(&all);
        self.executed = all;
    }
}
