//! What the engine found, in a list: one entry per run of depths, with the label that the caller gave the access.
//!
//! The inner loops write to this one type and to nothing else, so they are compiled once per instruction set, whoever
//! wants to know. Takes what the stack reports, gives it back in the same order.

use super::{access_tag::AccessTag, progression::Progression, sink::BatchSink};

/// One entry, or the first of the two that a row takes.
#[derive(Clone, Copy)]
struct Entry {
    /// Of the second entry of a row: what is added to it from one to the next.
    above: u64,
    label: AccessTag,
    /// Of the second entry of a row: how many there are.
    len: u32,
}

const COLD: u64 = 1 << 63;
const ROW: u64 = 1 << 62;
const HOLES: u64 = 1 << 61;

/// A run of depths `above + 1 ..= above + len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthRun {
    /// Bytes that were on the stack.
    Warm {
        /// Bytes above the first one.
        above: u64,
        /// Bytes.
        len: u64,
    },
    /// First touch or dead; see [`super::DepthSink::cold`].
    Cold {
        /// Bytes on the stack.
        above: u64,
        /// Bytes.
        len: u64,
    },
    /// Runs of bytes that were on the stack, by the bytes above each.
    Row(Progression),
    /// The runs of the last report, by the bytes above each, were below so many free places as well.
    Holes(Progression, u64),
}

/// The list.
#[derive(Default)]
pub struct Reports {
    list: Vec<Entry>,
    label: AccessTag,
}

/// Longer runs are several entries.
const LONGEST: u64 = 1 << 31;

impl Reports {
    /// What follows belongs to this label.
    #[inline(always)]
    pub(super) fn begin(&mut self, label: AccessTag) {
        self.label = label;
    }

    /// What is reported now belongs to this one.
    #[inline(always)]
    pub(super) fn label(&self) -> AccessTag {
        self.label
    }

    #[inline(always)]
    pub(super) fn warm(&mut self, above: u64, len: u64) {
        if len > LONGEST {
            return self.pieces(above, len, 0);
        }
        self.list.push(Entry { above, label: self.label, len: len as u32 });
    }

    #[inline(always)]
    pub(super) fn cold(&mut self, above: u64, len: u64) {
        if len > LONGEST {
            return self.pieces(above, len, COLD);
        }
        self.list.push(Entry { above: above | COLD, label: self.label, len: len as u32 });
    }

    /// The bytes of the last report, `len` of them, were below so many holes as well, if any.
    #[inline(always)]
    pub(super) fn below_holes(&mut self, holes: u64, len: u64) {
        if holes > 0 {
            self.push_holes(holes, len);
        }
    }

    #[inline(never)]
    fn push_holes(&mut self, holes: u64, len: u64) {
        let pieces = len.div_ceil(LONGEST) as usize;
        let last = self.list.len() - pieces;
        for number in 0..pieces {
            let Entry { above, label, len } = self.list[last + number];
            self.list.push(Entry { above: above & !COLD | HOLES, label, len });
            self.list.push(Entry { above: holes, label, len });
        }
    }

    /// Each run of the last row was below so many holes as well, if any.
    pub(super) fn row_below_holes(&mut self, row: Progression, holes: u64) {
        let Progression { first, step, count, width } = row;
        if count == 1 || holes == 0 {
            return self.below_holes(holes, width);
        }
        let label = self.label;
        self.list.push(Entry { above: first | ROW | HOLES, label, len: width as u32 });
        self.list.push(Entry { above: step as u64, label, len: count as u32 });
        self.list.push(Entry { above: holes, label, len: 0 });
    }

    #[cold]
    fn pieces(&mut self, above: u64, len: u64, mark: u64) {
        for start in (0..len).step_by(LONGEST as usize) {
            let piece = (len - start).min(LONGEST) as u32;
            self.list.push(Entry { above: (above + start) | mark, label: self.label, len: piece });
        }
    }

    #[inline(always)]
    pub(super) fn row(&mut self, row: Progression) {
        let Progression { first, step, count, width } = row;
        if count == 1 {
            return self.warm(first, width);
        }
        self.list.push(Entry { above: first | ROW, label: self.label, len: width as u32 });
        self.list.push(Entry { above: step as u64, label: self.label, len: count as u32 });
    }

    /// Hands out every entry with its label, in order.
    #[inline(always)]
    pub fn each(&self, mut take: impl FnMut(AccessTag, DepthRun)) {
        let mut entries = self.list.iter();
        while let Some(&Entry { above, label, len }) = entries.next() {
            let len = u64::from(len);
            let found = if above & (COLD | ROW | HOLES) == 0 {
                DepthRun::Warm { above, len }
            } else if above & COLD != 0 {
                DepthRun::Cold { above: above & !COLD, len }
            } else if above & HOLES != 0 && above & ROW != 0 {
                let (Some(row), Some(holes)) = (entries.next(), entries.next()) else { return };
                let (first, step, count) = (above & !(ROW | HOLES), row.above as i64, row.len.into());
                DepthRun::Holes(Progression { first, step, count, width: len }, holes.above)
            } else if above & HOLES != 0 {
                let Some(Entry { above: holes, .. }) = entries.next() else { return };
                DepthRun::Holes(Progression::one(above & !HOLES, len), *holes)
            } else if let Some(row) = entries.next() {
                let (first, step, count) = (above & !ROW, row.above as i64, row.len.into());
                DepthRun::Row(Progression { first, step, count, width: len })
            } else {
                return;
            };
            // The only call, so that it is inlined.
            take(label, found);
        }
    }

    /// Hands everything to a sink and forgets it. The sink is told of a label where it changes.
    pub fn drain<S: BatchSink>(&mut self, sink: &mut S) {
        let mut last = None;
        self.each(|label, found| {
            if last != Some(label) {
                sink.begin(label.index());
                last = Some(label);
            }
            match found {
                DepthRun::Warm { above, len } => sink.warm(above, len),
                DepthRun::Cold { above, len } => sink.cold(above, len),
                DepthRun::Row(row) => row.each().for_each(|above| sink.warm(above, row.width)),
                DepthRun::Holes(row, holes) => sink.below_holes(row, holes),
            }
        });
        self.clear();
    }

    /// Nothing has been reported.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Adds what another list has, and empties it.
    pub fn append(&mut self, other: &mut Self) {
        self.list.append(&mut other.list);
    }
}
