//! What the loads of a batch read, by flow, to which the engine's reports are added when they come.
//!
//! Takes pieces of loads, and stretches of reads of streams, in the order of the accesses; gives the flow of each
//! report. Reports come by label, which is the number of an access of the batch or, after those, of a stream of its
//! runs; of one access or stream, they come in order, and the bytes of a load in order of address.

use crate::{
    counts::cell::CellCounters,
    engine::{Found, Progression},
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
    label: u32,
    piece: usize,
    end: usize,
    /// Bytes of the piece that were reported.
    done: u64,
}

/// A batch's.
#[derive(Default)]
pub struct Parts {
    /// By label.
    cells: Vec<u32>,
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
        self.cells.clear();
        self.first.clear();
        self.pieces.clear();
        self.readings.clear();
    }

    /// The pieces that follow are those of the next access.
    #[inline]
    pub fn next_access(&mut self) {
        self.first.push(self.pieces.len() as u32);
    }

    /// All accesses and runs are there. Takes their cells, and puts labels in their places.
    pub fn complete(&mut self, cells: &mut Vec<u32>, stream_cells: &mut Vec<u32>) {
        self.next_access();
        self.cursor = Cursor { label: u32::MAX, ..Cursor::default() };
        self.cells.append(cells);
        let accesses = self.cells.len() as u32;
        cells.extend(0..accesses);
        self.cells.append(stream_cells);
        stream_cells.extend(accesses..self.cells.len() as u32);
    }
}

/// Reports.
impl Parts {
    /// The cell of an access or a stream.
    #[must_use]
    pub fn cell(&self, label: u32) -> u32 {
        self.cells[label as usize]
    }

    /// Files a report.
    #[inline]
    pub fn found(&mut self, counters: &mut [CellCounters], label: u32, found: Found) {
        let accesses = self.first.len() - 1;
        match (self.readings.get_mut((label as usize).wrapping_sub(accesses)), found) {
            (Some(readings), Found::Row(row)) => readings.row(counters, row),
            (Some(readings), Found::Warm { above, len }) => readings.warm(counters, above, len),
            (Some(readings), Found::Cold { above, len }) => cold(counters, above, len, |left| readings.take(left)),
            (None, found) => self.found_for_access(counters, label, found),
        }
    }

    #[inline]
    fn found_for_access(&mut self, counters: &mut [CellCounters], label: u32, found: Found) {
        if self.cursor.label != label {
            let (piece, end) = (self.first[label as usize] as usize, self.first[label as usize + 1] as usize);
            self.cursor = Cursor { label, piece, end, done: 0 };
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
