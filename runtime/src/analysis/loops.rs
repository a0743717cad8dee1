//! What affine loops do to the counters: all iterations at once where the engine can take them so.
//!
//! Takes records of loops, and rows of records that advance evenly; gives the engine an affine run, or single accesses
//! where a stream goes from one object to another, or there are too many streams.

use super::{
    core::{Core, files},
    rows::{MOST_STREAMS, Turn},
};
use crate::{
    abi::{Item, ItemKind},
    decode::{locator::Module, records},
    engine::{AccessTag, Kind, Stream},
};

impl Core {
    /// Iterations of `len` words, of which some records are the turns, whose words advance by constants.
    pub(super) fn run(&mut self, module: &Module, turns: &[Turn], rest: &[u64], len: usize, iterations: usize) {
        let table = &module.placed.table;
        let Some(function) = turns.first().map(|turn| table.segments[turn.segment as usize].function) else { return };
        let function = module.function_number(function);
        if self.contexts.function() != Some(function) {
            self.resume::<true>(function);
        }
        let counting = self.counting();
        self.streams.clear();
        self.stream_labels.clear();
        for turn in turns {
            let (segment, items) = (module.segment_number(turn.segment), &table.items[turn.items.clone()]);
            let mut first = 0;
            if counting {
                let block = self.block(segment, items.len());
                self.blocks[block as usize].executions += iterations as u64;
                first = self.blocks[block as usize].first_cell.index();
            } else {
                self.hidden = self.engine.sinks.hidden(segment, self.contexts.current(), items.len());
            }
            for (item, number) in items.iter().zip(first..) {
                self.streams.push(records::stream(item, &rest[turn.words.start..], len));
                self.stream_labels.push(if counting {
                    self.label::<true>(number)
                } else {
                    self.label::<false>(number)
                });
            }
        }
        if counting {
            if !self.streams_have_objects(iterations as u64) {
                return self.run_singly(module, turns, &rest[..len * iterations], len);
            }
            self.totals.accesses += (self.streams.len() * iterations) as u64;
            self.count_written(iterations as u64);
        }
        if !self.streams.is_empty() {
            self.engine.push_run(&self.streams, &self.stream_labels, iterations as u64, files!(self));
        }
    }

    /// Replays records of an affine run access by access, where some streams go from one object to another.
    fn run_singly(&mut self, module: &Module, turns: &[Turn], words: &[u64], len: usize) {
        for iteration in words.chunks(len) {
            for turn in turns {
                let (segment, items) =
                    (module.segment_number(turn.segment), &module.placed.table.items[turn.items.clone()]);
                let block = self.block(segment, items.len());
                let first_cell = self.blocks[block as usize].first_cell.index();
                self.items::<true>(items, &iteration[turn.words.clone()], first_cell);
            }
        }
    }

    /// Puts the cells of the objects in the place of the streams' cells, if each stream stays within one object.
    fn streams_have_objects(&mut self, records: u64) -> bool {
        for index in 0..self.streams.len() {
            let (stream, cell) = (self.streams[index], self.stream_labels[index].cell());
            let Some(objects) = &mut self.objects else { return true };
            let Some(object) = objects.objects.whole_stream(&stream, records) else { return false };
            self.stream_labels[index] = AccessTag::for_cell(self.cell_of(cell, object));
        }
        if let Some(objects) = &mut self.objects {
            objects.objects.read_rows(&self.streams, records);
        }
        true
    }

    /// Replays the iterations of a loop segment access by access.
    fn one_by_one<const COUNT: bool>(&mut self, items: &[Item], record: &[u64], first_cell: usize) {
        for iteration in 0..record[1] {
            for (item, cell) in items.iter().zip(first_cell..) {
                self.item::<COUNT>(item, record, records::address_in(item, record, iteration), cell);
            }
        }
    }

    /// Counts what the streams of a run write.
    fn count_written(&mut self, iterations: u64) {
        for (stream, label) in self.streams.iter().zip(&self.stream_labels) {
            if stream.kind == Kind::Store {
                self.cells[label.cell().index()].written += u64::from(stream.len) * iterations;
            }
        }
    }

    /// All iterations of a loop that has one record.
    pub(super) fn iterations<const COUNT: bool>(&mut self, items: &[Item], record: &[u64], first_cell: usize) {
        let iterations = record[1];
        let streams = items.iter().map(|item| 1 + usize::from(item.kind == ItemKind::Update as u8)).sum::<usize>();
        if !self.may_run || streams > MOST_STREAMS {
            return self.one_by_one::<COUNT>(items, record, first_cell);
        }
        self.streams.clear();
        self.stream_labels.clear();
        for (item, cell) in items.iter().zip(first_cell..) {
            let label = self.label::<COUNT>(cell);
            let (addr, stride) = (records::address_in(item, record, 0), records::stride(item, record));
            let stream = |kind| Stream { addr, stride, len: item.size, kind };
            if item.kind != ItemKind::Store as u8 {
                self.streams.push(stream(Kind::Load));
                self.stream_labels.push(label);
            }
            if item.kind != ItemKind::Load as u8 {
                self.streams.push(stream(Kind::Store));
                self.stream_labels.push(label);
            }
        }
        if COUNT {
            if !self.streams_have_objects(iterations) {
                return self.one_by_one::<COUNT>(items, record, first_cell);
            }
            self.totals.accesses += self.streams.len() as u64 * iterations;
            self.count_written(iterations);
        }
        if !self.streams.is_empty() {
            self.engine.push_long_run(&mut self.streams, &self.stream_labels, iterations, files!(self));
        }
    }
}
