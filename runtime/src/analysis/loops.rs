//! What affine loops do to the counters: all iterations at once where the engine can take them so.
//!
//! Takes records of loops, and rows of records that advance evenly; gives the engine an affine run, or single accesses
//! where a stream goes from one object to another, or there are too many streams.

use super::{
    charge::Charging,
    rows::{MOST_STREAMS, Turn},
    streams::RunStreams,
};
use crate::{
    abi::{Item, ItemKind},
    decode::{context::ContextNumber, locator::Module, records},
    engine::{Kind, Stream},
};

/// Rows of records whose words advance by constants.
pub(super) struct RecordRows<'a> {
    pub module: &'a Module,
    /// Some records of an iteration.
    pub turns: &'a [Turn],
    /// Words of all records.
    pub words: &'a [u64],
    /// Words of an iteration.
    pub len: usize,
}

impl RecordRows<'_> {
    fn iterations(&self) -> u64 {
        (self.words.len() / self.len) as u64
    }

    fn items(&self, turn: &Turn) -> &[Item] {
        &self.module.placed.table.items[turn.items.clone()]
    }
}

impl Charging {
    /// All iterations of rows of records, in a context of their function, counted if there is one that counts.
    pub(super) fn rows(&mut self, rows: &RecordRows<'_>, node: ContextNumber, counts: bool) {
        let iterations = rows.iterations();
        self.run.clear();
        for turn in rows.turns {
            let (segment, items) = (rows.module.segment_number(turn.segment), rows.items(turn));
            let mut first = 0;
            if counts {
                let block = self.block(node, segment, items.len());
                block.executions += iterations;
                first = block.first_cell.index();
            } else {
                self.hide(node, segment, items.len());
            }
            for (item, number) in items.iter().zip(first..) {
                let label = if counts { self.label::<true>(number) } else { self.label::<false>(number) };
                self.run.push(records::stream(item, &rows.words[turn.words.start..], rows.len), label);
            }
        }
        if counts && !self.count_run(iterations) {
            return self.rows_singly(rows, node);
        }
        if !self.run.streams.is_empty() {
            self.engine.push_run(&self.run.streams, &self.run.labels, iterations, &mut self.counters.files());
        }
    }

    /// Replays rows of records access by access, where some streams go from one object to another.
    fn rows_singly(&mut self, rows: &RecordRows<'_>, node: ContextNumber) {
        for iteration in rows.words.chunks(rows.len) {
            for turn in rows.turns {
                let items = rows.items(turn);
                let block = self.block(node, rows.module.segment_number(turn.segment), items.len());
                let first_cell = block.first_cell.index();
                self.items::<true>(items, &iteration[turn.words.clone()], first_cell);
            }
        }
    }

    /// Counts the accesses of a run by the cells of their objects; false, and nothing counted, if a stream goes from
    /// one object to another.
    fn count_run(&mut self, iterations: u64) -> bool {
        let Self { objects, counters, run, .. } = self;
        if let Some(objects) = objects
            && !run.take_cells_of(objects, counters, iterations)
        {
            return false;
        }
        self.totals.accesses += run.streams.len() as u64 * iterations;
        run.count_written(counters, iterations);
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

    /// All iterations of a loop that has one record.
    pub(super) fn iterations<const COUNT: bool>(&mut self, items: &[Item], record: &[u64], first_cell: usize) {
        let iterations = record[1];
        let streams = items.iter().map(|item| 1 + usize::from(item.kind == ItemKind::Update as u8)).sum::<usize>();
        if !self.may_run || streams > MOST_STREAMS {
            return self.one_by_one::<COUNT>(items, record, first_cell);
        }
        self.run.clear();
        for (item, cell) in items.iter().zip(first_cell..) {
            let label = self.label::<COUNT>(cell);
            let (addr, stride) = (records::address_in(item, record, 0), records::stride(item, record));
            let stream = |kind| Stream { addr, stride, len: item.size, kind };
            if item.kind != ItemKind::Store as u8 {
                self.run.push(stream(Kind::Load), label);
            }
            if item.kind != ItemKind::Load as u8 {
                self.run.push(stream(Kind::Store), label);
            }
        }
        if COUNT && !self.count_run(iterations) {
            return self.one_by_one::<COUNT>(items, record, first_cell);
        }
        let Self { engine, counters, run: RunStreams { streams, labels }, .. } = self;
        if !streams.is_empty() {
            engine.push_long_run(streams, labels, iterations, &mut counters.files());
        }
    }
}
