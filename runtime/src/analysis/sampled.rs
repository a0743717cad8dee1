//! Accesses of a program that draws a sample: it writes down what it looked at, and when.
//!
//! Takes records with their times; gives accesses that are looked at. Those of fixed size are counted by executions,
//! not here.

use super::{
    charge::Charging,
    lengths::{Lengths, accesses_of, each, is_one_access},
};
use crate::{abi::Item, decode::locator::SegmentNumber};

/// What is known of the program's own sample.
pub(super) struct SampledRecords {
    /// The program draws a sample: there are records of what it looked at only.
    pub(super) filtered: bool,
    /// It also tells where functions begin and end.
    pub(super) follows: bool,
    /// The time that it has told last.
    pub(super) told_time: u64,
    /// How many accesses records of it stand for.
    lengths: Lengths,
}

impl SampledRecords {
    /// Nothing was told.
    pub(super) fn new(filtered: bool, follows: bool) -> Self {
        Self { filtered, follows, told_time: 0, lengths: Lengths::default() }
    }

    /// The program says how many accesses there were so far.
    pub(super) fn set_time(&mut self, time: u64, charging: &mut Charging) {
        if self.filtered {
            self.told_time = time;
            charging.engine.set_time(time, &mut charging.counters.files());
        }
    }

    /// Accesses of a record that is no loop's. If all can matter, none is left out.
    pub(super) fn items(
        &mut self,
        items: &[Item],
        record: &[u64],
        first: usize,
        (segment, all_matter): (SegmentNumber, bool),
        charging: &mut Charging,
    ) {
        if !self.follows && !all_matter && self.marked_items(items, record, first, segment, charging) {
            return;
        }
        for (item, cell) in items.iter().zip(first..) {
            let accesses = charging.totals.accesses;
            let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
            charging.item::<true>(item, record, address, cell);
            if each(item).is_some() {
                charging.totals.accesses = accesses;
            }
        }
    }

    /// Looks only at items in marked lines, where no burst runs and nothing changes meanwhile; false, and nothing done,
    /// if the record tells how much there is.
    fn marked_items(
        &mut self,
        items: &[Item],
        record: &[u64],
        first: usize,
        segment: SegmentNumber,
        charging: &mut Charging,
    ) -> bool {
        let quiet = |accesses| charging.engine.quiet_for(accesses);
        let Some((accesses, start)) = self.lengths.get(segment, items).and_then(|all| Some((all, quiet(all)?))) else {
            return false;
        };
        let before = charging.totals.accesses;
        // The time is asked for at few items only.
        let (mut time, mut counted) = (start, 0);
        for (number, item) in items.iter().enumerate() {
            let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
            if !is_one_access(item) || charging.engine.backend.marks(address, item.size.into()) {
                time += accesses_of(&items[counted..number]).unwrap_or(0);
                counted = number;
                charging.engine.set_time(time, &mut charging.counters.files());
                charging.item::<true>(item, record, address, first + number);
            }
        }
        charging.engine.set_time(start + accesses, &mut charging.counters.files());
        charging.totals.accesses = before;
        true
    }
}
