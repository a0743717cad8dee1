//! What the loads of a batch read, by flow, to which the engine's reports are added when they come.
//!
//! Takes pieces of loads, and stretches of reads of streams, in the order of the accesses; gives the flow of each
//! report. Reports come with a label, which is the number of an access of the batch or, after those, of a stream of its
//! runs; of one access or stream, they come in order, and the bytes of a load in order of address.

use crate::{
    counts::cell::CellCounters,
    engine::{Found, Label, Progression},
};

/// Neighbouring bytes of a load that belong to one flow.
#[derive(Clone, Copy)]
pub struct Piece {
    pub flow: u32,
    pub bytes: u32,
}

/// Parts of accesses, one after the other, that belong to one flow.
#[derive(Clone, Copy)]
struct Stretch {
    flow: u32,
    /// Of each part.
    bytes: u64,
    times: u64,
}

/// What a stream's accesses read, in order, and how much of it was reported.
#[derive(Default)]
pub struct Readings {
    stretches: Vec<Stretch>,
    at: usize,
    /// Parts of the stretch, and bytes of the next part.
    times: u64,
    done: u64,
}

/// Where the reports of the load at hand go.
#[derive(Clone, Copy, Default)]
struct Cursor {
    number: Option<Label>,
    piece: usize,
    end: usize,
    /// Bytes of the piece that were reported.
    done: u64,
}

/// A batch's.
#[derive(Default)]
pub struct Parts {
    /// By number: what it was called before.
    labels: Vec<Label>,
    /// By access: its first piece. One more at the end.
    first: Vec<u32>,
    /// Pieces of accesses, each of one flow, in the order of accesses.
    pub pieces: Vec<Piece>,
    /// Reads of streams of affine runs, in blocks.
    pub readings: Vec<Readings>,
    cursor: Cursor,
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
    pub fn complete(&mut self, labels: &mut Vec<Label>, stream_labels: &mut Vec<Label>) {
        self.next_access();
        self.cursor = Cursor::default();
        self.labels.append(labels);
        let accesses = self.labels.len();
        labels.extend((0..accesses).map(Label::new));
        self.labels.append(stream_labels);
        stream_labels.extend((accesses..self.labels.len()).map(Label::new));
    }
}

/// Reports.
impl Parts {
    /// What an access or a stream was called before.
    #[must_use]
    pub fn label(&self, number: Label) -> Label {
        self.labels[number.index()]
    }

    /// Files a report.
    #[inline]
    pub fn found(&mut self, counters: &mut [CellCounters], number: Label, found: Found) {
        let accesses = self.first.len() - 1;
        match (self.readings.get_mut(number.index().wrapping_sub(accesses)), found) {
            (Some(readings), Found::Row(row)) => readings.row(counters, row),
            (Some(readings), Found::Warm { above, len }) => readings.warm(counters, above, len),
            (Some(readings), Found::Cold { above, len }) => cold(counters, above, len, |left| readings.take(left)),
            (None, found) => self.found_for_access(counters, number, found),
        }
    }

    #[inline]
    fn found_for_access(&mut self, counters: &mut [CellCounters], number: Label, found: Found) {
        if self.cursor.number != Some(number) {
            let at = number.index();
            let (piece, end) = (self.first[at] as usize, self.first[at + 1] as usize);
            self.cursor = Cursor { number: Some(number), piece, end, done: 0 };
        }
        match found {
            Found::Warm { above, len } => warm(counters, above, len, |left| self.take(left)),
            Found::Cold { above, len } => cold(counters, above, len, |left| self.take(left)),
            Found::Row(_) => unreachable!("single accesses have no rows"),
        }
    }

    /// The flow of the next bytes of the load at hand, and how many of up to `len` belong to it.
    #[inline]
    fn take(&mut self, len: u64) -> Option<(u32, u64)> {
        let cursor = &mut self.cursor;
        if len == 0 || cursor.piece == cursor.end {
            return None;
        }
        let Piece { flow, bytes } = self.pieces[cursor.piece];
        let part = len.min(u64::from(bytes) - cursor.done);
        cursor.done += part;
        if cursor.done == u64::from(bytes) {
            cursor.piece += 1;
            cursor.done = 0;
        }
        Some((flow, part))
    }
}

/// Bytes that lie together on the stack, the last on top; `take` gives the flow of the next bytes, and how many of
/// those that are left belong to it.
#[inline]
fn warm(counters: &mut [CellCounters], above: u64, len: u64, mut take: impl FnMut(u64) -> Option<(u32, u64)>) {
    let mut left = len;
    while let Some((flow, part)) = take(left) {
        left -= part;
        counters[flow as usize].read(above + left, part);
    }
}

/// As `warm`, of first touches, each below the one before.
#[inline]
fn cold(counters: &mut [CellCounters], above: u64, len: u64, mut take: impl FnMut(u64) -> Option<(u32, u64)>) {
    let mut done = 0;
    while let Some((flow, part)) = take(len - done) {
        counters[flow as usize].read(above + done, part);
        done += part;
    }
}

impl Readings {
    /// The next parts of accesses.
    pub fn add(&mut self, flow: u32, bytes: u64, times: u64) {
        match self.stretches.last_mut() {
            Some(last) if (last.flow, last.bytes) == (flow, bytes) => last.times += times,
            _ => self.stretches.push(Stretch { flow, bytes, times }),
        }
    }

    #[inline]
    fn warm(&mut self, counters: &mut [CellCounters], above: u64, len: u64) {
        warm(counters, above, len, |left| self.take(left));
    }

    fn row(&mut self, counters: &mut [CellCounters], mut row: Progression) {
        while row.count > 0 && self.at < self.stretches.len() {
            let many = match self.take_whole(row.width, row.count) {
                Some((flow, many)) => {
                    counters[flow as usize].read_row(row.take(many));
                    many
                }
                None => {
                    self.warm(counters, row.first, row.width);
                    1
                }
            };
            row = row.skip(many);
        }
    }

    /// The flow of the next bytes, and how many of up to `len` belong to it.
    #[inline]
    fn take(&mut self, len: u64) -> Option<(u32, u64)> {
        let &Stretch { flow, bytes, .. } = self.stretches.get(self.at).filter(|_| len > 0)?;
        let part = len.min(bytes - self.done);
        self.done += part;
        if self.done == bytes {
            self.done = 0;
            self.pass(1);
        }
        Some((flow, part))
    }

    /// The flow of the next whole accesses, and how many of up to `most` belong to it.
    #[inline]
    fn take_whole(&mut self, len: u64, most: u64) -> Option<(u32, u64)> {
        let &Stretch { flow, bytes, times } = self.stretches.get(self.at)?;
        if self.done > 0 || bytes != len {
            return None;
        }
        let many = most.min(times - self.times);
        self.pass(many);
        Some((flow, many))
    }

    #[inline]
    fn pass(&mut self, times: u64) {
        self.times += times;
        if self.times == self.stretches[self.at].times {
            self.at += 1;
            self.times = 0;
        }
    }
}
