//! What a part of a run needs of the stack of lines before it, in the order of the part.
//!
//! Takes lines that a part does not know; gives them back in that order. Refuses nothing.

use serde::{Deserialize, Serialize};

use super::{
    front::{PLACES, Visit},
    ledger::Filed,
    streams::SOON,
    table::EntryId,
};
use crate::{
    decode::block::CellNumber,
    histogram::bucket_of,
    observe::writer::{UNKNOWN, WriterNumber},
};

/// Lines that come before one, of those that are not in front, on which its stream may depend: the line before it in
/// its page came so soon, and the one before that.
pub const TOLD: usize = 2 * SOON as usize;
/// What is not below these cannot be of a program.
const MOST_LINES: u32 = 1 << 29;
const MOST_BETWEEN: u64 = 1 << 48;
const MOST_BUCKET: u16 = bucket_of(1 << 32);

/// A line that a part did not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineMissRequest {
    pub line: u64,
    /// Lines of the part that were on its stack before.
    pub above: u32,
    pub cell: CellNumber,
    pub is_store: bool,
    /// The stream in which it came, unless that is open.
    pub streamed: Option<Filed>,
    /// Who brought it in next, and the bucket of its depth, if the part cannot tell who had before: of a line that may
    /// have been among the last ones when it was asked for.
    pub next: Option<(CellNumber, u16)>,
}

/// A line that came before the part could tell whether in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenLine {
    /// What was asked before.
    pub asks: usize,
    /// What is known of it; nothing of one that is asked for next.
    pub known: Option<KnownLine>,
}

/// A line that a part had seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLine {
    pub line: u64,
    pub cell: CellNumber,
    pub is_store: bool,
    /// Bucket of its depth.
    pub bucket: u16,
}

/// A line of a part in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftLine {
    pub line: u64,
    pub visit: Visit,
    /// Who brought it in last, if that was in the part for sure.
    pub brought: Option<WriterNumber>,
}

/// All that the stack of lines before a part of a run needs to know of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineBoundary {
    /// Bytes of a line.
    pub bytes: u32,
    /// What the part did not know, in order.
    pub asks: Vec<LineMissRequest>,
    /// Lines whose streams are open, in order.
    pub open: Vec<OpenLine>,
    /// Lines that came after these and before the last ones.
    pub between: u64,
    /// Lines that came last, the very last at the end.
    pub last: Vec<u64>,
    /// The part's lines, that on top at the end.
    pub left: Vec<LeftLine>,
}

impl LineBoundary {
    /// Whether it can be of a run, of which so many cells are known.
    #[must_use]
    pub fn is_sound(&self, cells: usize) -> bool {
        let is_cell = |cell: CellNumber| cell == UNKNOWN || cell.index() < cells;
        let is_stream = |filed: &Filed| matches!(filed, Filed::InOrder | Filed::AtStep);
        let is_next = |ask: &LineMissRequest| {
            let is_sound = |(cell, bucket)| is_cell(cell) && bucket < MOST_BUCKET && may_be_near(ask.above.into());
            ask.next.is_none_or(is_sound)
        };
        let is_ask = |ask: &LineMissRequest| {
            ask.above < MOST_LINES && is_cell(ask.cell) && ask.streamed.as_ref().is_none_or(is_stream) && is_next(ask)
        };
        let is_open = |open: &OpenLine| {
            open.asks <= self.asks.len()
                && open.known.as_ref().is_none_or(|known| is_cell(known.cell) && known.bucket < MOST_BUCKET)
        };
        let is_visit = |visit: &Visit| {
            visit.writer.is_none_or(|writer| is_cell(writer.cell())) && visit.deepest.max(visit.before) < MOST_BUCKET
        };
        self.asks.iter().all(is_ask)
            && self.open.iter().all(is_open)
            && self.open.is_sorted_by_key(|open| open.asks)
            && self.between < MOST_BETWEEN
            && (self.last.len() == TOLD || self.between == 0 && self.last.len() < TOLD)
            && self.left.iter().all(|left| is_visit(&left.visit) && left.brought.is_none_or(|by| is_cell(by.cell())))
            && is_each_once(self.asks.iter().map(|ask| ask.line))
            && is_each_once(self.left.iter().map(|left| left.line))
    }
}

/// Whether a line that a part asks for, with so many of its own above it, may be among the last ones of the run.
pub fn may_be_near(above: u64) -> bool {
    above < PLACES as u64
}

fn is_each_once(lines: impl Iterator<Item = u64>) -> bool {
    let mut lines: Vec<u64> = lines.collect();
    lines.sort_unstable();
    lines.windows(2).all(|two| two[0] < two[1])
}

/// What a part has for the stack before it, so far.
pub struct Slice {
    pub boundary: LineBoundary,
    /// Lines that came, but for those that may be among the last ones before the part.
    pub came: u64,
    /// The last of them, by their number.
    pub last: [EntryId; TOLD],
}

impl Default for Slice {
    fn default() -> Self {
        Self { boundary: LineBoundary::default(), came: 0, last: [EntryId::default(); TOLD] }
    }
}

impl Slice {
    /// Whether streams are open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.came < TOLD as u64
    }

    /// A line comes.
    pub fn come(&mut self, place: EntryId) {
        self.last[(self.came % TOLD as u64) as usize] = place;
        self.came += 1;
    }

    /// A line comes whose stream is open.
    pub fn leave_open(&mut self, known: Option<KnownLine>) {
        self.boundary.open.push(OpenLine { asks: self.boundary.asks.len(), known });
    }
}
