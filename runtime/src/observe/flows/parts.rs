//! What the loads of a batch read, by flow, to which the engine's reports are added when they come.
//!
//! Takes pieces of loads, and of reads of streams, in the order of the accesses; gives the flow of each report. Reports
//! come with a label, which is the number of an access of the batch or, after those, of a stream of its runs; of one
//! access or stream, they come in order, and the bytes of a load in order of address.

use super::counters::FlowCounters;
use crate::engine::{AccessTag, DepthRun, Progression};

/// With this bit, the number of a flow is that of bytes that a slice of a run has not touched before: the stack before
/// it tells how deep they lie, and not its own.
pub const ASKED: u32 = 1 << 31;

/// Bytes of a load, or of a stream's loads one after the other, that belong to one flow.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub flow: u32,
    pub bytes: u32,
}

/// Adds bytes of a stream to those before them.
#[inline]
pub(super) fn add(pieces: &mut Vec<Piece>, flow: u32, mut bytes: u64) {
    if let Some(last) = pieces.last_mut().filter(|last| last.flow == flow) {
        let more = bytes.min(u64::from(u32::MAX - last.bytes));
        last.bytes += more as u32;
        bytes -= more;
    }
    while bytes > 0 {
        let part = bytes.min(u64::from(u32::MAX));
        pieces.push(Piece { flow, bytes: part as u32 });
        bytes -= part;
    }
}

/// How far pieces were told of: those that were asked of the stack before a slice, or all others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    at: u32,
    /// Bytes of the piece at hand.
    done: u32,
    /// `at` and `done` before the last report, and whether that was of first touches.
    before: (u32, u32, bool),
}

/// What a stream's accesses read, in order.
#[derive(Default)]
pub struct Readings {
    pub pieces: Vec<Piece>,
    found: Cursor,
    asked: Cursor,
}

/// The pieces of the load at hand.
#[derive(Clone, Copy, Default)]
struct Load {
    number: Option<AccessTag>,
    first: usize,
    end: usize,
    at: Cursor,
}

/// A batch's.
#[derive(Default)]
pub struct Parts {
    /// By number: what it was called before.
    labels: Vec<AccessTag>,
    /// By access: its first piece. One more at the end.
    first: Vec<u32>,
    /// Pieces of accesses, each of one flow, in the order of accesses.
    pub pieces: Vec<Piece>,
    /// Reads of streams of affine runs, in blocks.
    pub readings: Vec<Readings>,
    found: Load,
    asked: Load,
}

/// Tells whose reports are.
pub trait Numbered {
    /// What an access or a stream was called before it had a number.
    fn label(&self, number: AccessTag) -> AccessTag;

    /// Files a report with the flows that it is of.
    fn file_found(&mut self, counters: &mut FlowCounters, number: AccessTag, found: DepthRun);
}

/// What is known before reports come.
impl Parts {
    /// Nothing waits.
    pub fn clear(&mut self) {
        self.labels.clear();
        self.first.clear();
        self.pieces.clear();
        self.readings.clear();
    }

    /// The pieces that follow are those of the next access.
    #[inline]
    pub fn next_access(&mut self) {
        self.first.push(self.pieces.len() as u32);
    }

    /// All accesses and runs are there. Takes their labels, and puts numbers in their places.
    pub fn complete(&mut self, labels: &mut Vec<AccessTag>, stream_labels: &mut Vec<AccessTag>) {
        self.next_access();
        (self.found, self.asked) = Default::default();
        self.labels.append(labels);
        let accesses = self.labels.len();
        labels.extend((0..accesses).map(AccessTag::new));
        self.labels.append(stream_labels);
        stream_labels.extend((accesses..self.labels.len()).map(AccessTag::new));
    }

    /// The flows of the next bytes that an access or a stream asks of the stack before a slice.
    pub fn asks(&mut self, number: AccessTag, mut len: u64, mut tell: impl FnMut(Piece)) {
        let stream = number.index().wrapping_sub(self.first.len() - 1);
        let (pieces, cursor) = match self.readings.get_mut(stream) {
            Some(readings) => (&readings.pieces[..], &mut readings.asked),
            None => self.asked.seek(number, &self.first, &self.pieces),
        };
        while let Some((flow, part)) = cursor.take(pieces, len, ASKED) {
            // Not more than the piece has.
            tell(Piece { flow, bytes: part as u32 });
            len -= part;
        }
    }
}

impl Numbered for Parts {
    fn label(&self, number: AccessTag) -> AccessTag {
        self.labels[number.index()]
    }

    #[inline]
    fn file_found(&mut self, counters: &mut FlowCounters, number: AccessTag, found: DepthRun) {
        let stream = number.index().wrapping_sub(self.first.len() - 1);
        match self.readings.get_mut(stream) {
            Some(Readings { pieces, found: cursor, .. }) => cursor.file_found(pieces, counters, found),
            None => {
                let (pieces, cursor) = self.found.seek(number, &self.first, &self.pieces);
                cursor.file_found(pieces, counters, found);
            }
        }
    }
}

impl Load {
    /// The pieces of an access, and how far they were told of.
    #[inline]
    fn seek<'a>(&'a mut self, number: AccessTag, first: &[u32], pieces: &'a [Piece]) -> (&'a [Piece], &'a mut Cursor) {
        if self.number != Some(number) {
            let at = number.index();
            let (first, end) = (first[at] as usize, first[at + 1] as usize);
            *self = Self { number: Some(number), first, end, at: Cursor::default() };
        }
        (&pieces[self.first..self.end], &mut self.at)
    }
}

impl Cursor {
    /// Files a report that is about the next bytes.
    #[inline]
    pub(super) fn file_found(&mut self, pieces: &[Piece], counters: &mut FlowCounters, found: DepthRun) {
        if matches!(found, DepthRun::Warm { .. } | DepthRun::Cold { .. } | DepthRun::Row(_)) {
            self.before = (self.at, self.done, matches!(found, DepthRun::Cold { .. }));
        }
        match found {
            DepthRun::Warm { above, len } => self.warm(pieces, counters, above, len),
            DepthRun::Cold { above, len } => self.cold(pieces, counters, above, len),
            DepthRun::Row(row) => self.row(pieces, counters, row),
            DepthRun::Holes(runs, holes) => self.below_holes(pieces, counters, runs, holes),
        }
    }

    /// Bytes of the last report had holes above them.
    fn below_holes(&self, pieces: &[Piece], counters: &mut FlowCounters, row: Progression, holes: u64) {
        let (at, done, is_cold) = self.before;
        let mut again = Self { at, done, ..*self };
        for above in row.each() {
            let mut told = 0;
            while let Some((flow, part)) = again.take(pieces, row.width - told, 0) {
                told += part;
                let here = if is_cold { told - part } else { row.width - told };
                counters.below_holes(flow, above + here, holes, part);
            }
        }
    }

    /// Bytes that lie together on the stack, the last on top.
    #[inline]
    fn warm(&mut self, pieces: &[Piece], counters: &mut FlowCounters, above: u64, len: u64) {
        let mut left = len;
        while let Some((flow, part)) = self.take(pieces, left, 0) {
            left -= part;
            counters.read(flow, above + left, part);
        }
    }

    /// Bytes that are touched for the first time, each below the one before.
    #[inline]
    fn cold(&mut self, pieces: &[Piece], counters: &mut FlowCounters, above: u64, len: u64) {
        let mut done = 0;
        while let Some((flow, part)) = self.take(pieces, len - done, 0) {
            counters.read(flow, above + done, part);
            done += part;
        }
    }

    fn row(&mut self, pieces: &[Piece], counters: &mut FlowCounters, mut row: Progression) {
        while row.count > 0 {
            let Some(Piece { flow, bytes }) = self.next(pieces, 0) else { return };
            let many = row.count.min(u64::from(bytes - self.done) / row.width);
            if many > 0 {
                counters.read_row(flow, row.take(many));
                self.pass((many * row.width) as u32, bytes);
            } else {
                self.warm(pieces, counters, row.first, row.width);
            }
            row = row.skip(many.max(1));
        }
    }

    /// The flow of the next bytes of one kind, `ASKED` or not, and how many of up to `len` belong to it.
    #[inline]
    fn take(&mut self, pieces: &[Piece], len: u64, kind: u32) -> Option<(u32, u64)> {
        if len == 0 {
            return None;
        }
        let Piece { flow, bytes } = self.next(pieces, kind)?;
        let part = len.min(u64::from(bytes - self.done));
        self.pass(part as u32, bytes);
        Some((flow & !ASKED, part))
    }

    /// The piece at hand or, behind pieces of the other kind, the next.
    #[inline]
    fn next(&mut self, pieces: &[Piece], kind: u32) -> Option<Piece> {
        loop {
            let piece = *pieces.get(self.at as usize)?;
            if piece.flow & ASKED == kind {
                return Some(piece);
            }
            self.at += 1;
        }
    }

    /// So many bytes of the piece at hand are done, which has `all`.
    #[inline]
    fn pass(&mut self, bytes: u32, all: u32) {
        self.done += bytes;
        if self.done == all {
            (self.at, self.done) = (self.at + 1, 0);
        }
    }
}
