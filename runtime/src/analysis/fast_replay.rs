//! The short way through records of plain segments: those that have nothing but moves.
//!
//! Takes the words of a chunk, does records from its start as long as they are of that kind, and tells how many words
//! these had; any other record, and rows of records that may be an affine run, are left to the analyzer. What is to be
//! known of a segment lies together, so that a record costs few looks at memory. Needs that everything counts, and that
//! nobody wants to know of objects or calls.

use super::{analyzer::Analyzer, calls::RingSegment, core::Core, library::hold_slots};
use crate::{abi::segment_flag, engine::hint::prefetch};

impl Analyzer {
    /// Does records from the start of `words`, the first of which is at a place in the ring; how many words they had.
    pub(super) fn plain_records(&mut self, words: &[u64], place: u64) -> usize {
        let mut done = 0;
        loop {
            done += self.plain_records_of_module(&words[done..], place + done as u64);
            // Those of an emulated program are of many modules.
            if words.get(done).is_none_or(|head| !self.locator.go_to(*head)) {
                return done;
            }
        }
    }

    /// Does records from the start of `words` as long as their segments are of the module that the last was of; how
    /// many words they had.
    #[inline(always)]
    fn plain_records_of_module(&mut self, words: &[u64], place: u64) -> usize {
        let Some(module) = self.locator.last() else { return 0 };
        let (Some(moves), table) = (&self.tables.moves, &module.placed.table) else { return 0 };
        let core = &mut self.core;
        let all = &mut self.tables.fast_segments[module.first_segment.index()..];
        let detectors = &mut self.tables.detectors[module.first_segment.index()..];
        let singly = self.singly_until.saturating_sub(place) as usize;
        let segment_at = |at: usize| table.segment_at(words.get(at)?.wrapping_sub(module.placed.low));
        let mut at = 0;
        let mut next = segment_at(at);
        while let Some(number) = next {
            let fast = all[number as usize];
            let end = at + usize::from(fast.words);
            if !fast.is_plain || end > words.len() {
                break;
            }
            // In large programs, what is known of the next record's segment is far away by now.
            next = segment_at(end);
            if let Some(fast) = next.and_then(|next| all.get(next as usize)) {
                prefetch(fast);
            }
            if fast.quiet > 0 {
                all[number as usize].quiet -= 1;
            } else if fast.repeats && at >= singly {
                let detector = &mut detectors[number as usize];
                if detector.period(place + at as u64, &words[at..], end - at).is_some() {
                    break;
                }
                all[number as usize].quiet = detector.missed();
            }
            let record = &words[at..end];
            let segment = module.segment_number(number);
            if fast.flags != 0 || Some(fast.function) != core.calls.contexts.function() {
                core.enter(fast.flags, record, RingSegment { segment, function: fast.function, roi: false });
            }
            let Core { calls, charging, .. } = core;
            let block = charging.block(calls.contexts.current(), segment, usize::from(fast.items));
            block.executions += 1;
            block.moved += 1;
            let first = block.first_cell;
            charging.totals.accesses += u64::from(fast.items);
            let moves = moves.range_at(fast.moves, fast.move_count);
            charging.engine.push_moves(moves, record, first, &mut charging.counters.files());
            if fast.flags & segment_flag::EXIT != 0 {
                core.exit(fast.function);
            }
            if fast.holds {
                hold_slots(&mut core.calls.contexts, module, module.segment(number), record);
            }
            at = end;
        }
        at
    }
}
