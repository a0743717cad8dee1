//! The lines behind those in front: which were used when, and which are dirty.
//!
//! Takes lines that go in front, each with the one that leaves its place there; files, for who touched it, the depth at
//! which the first was found, and for who wrote it last, that it would have been written back. Nothing in front depends
//! on it, so that many are done together and memory is fetched ahead.

use super::{
    boundary::Slice,
    front::{FRONT, Front, PLACES, Visit},
    ledger::{Filed, Ledger},
    streams::{Coming, Streams},
    table::{EntryId, Table},
};
use crate::{
    decode::block::CellNumber,
    engine::{
        AllocationFailure,
        hint::prefetch,
        timeline::{FIRST, Rank, Timeline},
    },
    histogram::bucket_of,
    observe::writer::WriterNumber,
};

/// Lines that are done together.
const TOGETHER: usize = 1024;
/// How far ahead entries and positions are fetched.
const FAR: usize = 12;
const NEAR: usize = 5;
/// Positions that there are at least; few where tests want them to run out.
const LEAST_ROOM: u64 = if cfg!(test) { 511 } else { (1 << 16) - 1 };
/// Positions over lines.
const GROWTH: u64 = 4;
/// Positions that a timeline wants free beside those that it is asked for.
const SLACK: u64 = 256;
/// Most lines.
const MOST: u64 = 1 << 29;

/// A line that goes in front.
#[derive(Clone, Copy, Default)]
pub struct Entering {
    pub line: u64,
    /// Who touched it.
    pub cell: CellNumber,
    pub is_store: bool,
    /// Its place in front.
    pub place: u8,
    /// What happened to the line that was there.
    pub left: Visit,
}

/// Who touches a line.
#[derive(Clone, Copy)]
pub struct Touch {
    pub cell: CellNumber,
    pub is_store: bool,
}

pub struct Back {
    pub(super) table: Table,
    pub(super) timeline: Timeline,
    pub(super) streams: Streams,
    /// Of a part of a run: what it does not know.
    pub(super) slice: Option<Box<Slice>>,
    waiting: Box<[Entering; TOGETHER]>,
    waiting_now: usize,
    places: Vec<EntryId>,
    /// Of each place in front, where the entry of its line is.
    in_front: [Option<EntryId>; PLACES],
    /// Lines in front.
    lines_in_front: usize,
}

impl Back {
    /// Of lines of `1 << shift` bytes.
    #[must_use]
    pub fn new(shift: u32) -> Self {
        Self {
            table: Table::default(),
            timeline: Timeline::new(LEAST_ROOM),
            streams: Streams::new(shift),
            slice: None,
            waiting: Box::new([Entering::default(); TOGETHER]),
            waiting_now: 0,
            places: Vec::with_capacity(TOGETHER),
            in_front: [None; PLACES],
            lines_in_front: 0,
        }
    }

    /// A line goes in front; true if it is time for [`Back::work`].
    #[inline(always)]
    pub fn queue(&mut self, entering: Entering) -> bool {
        self.waiting[self.waiting_now % TOGETHER] = entering;
        self.waiting_now += 1;
        self.waiting_now == TOGETHER
    }

    /// Does what waits.
    #[inline(always)]
    pub fn work(&mut self, ledger: &mut Ledger) {
        let waiting = std::mem::take(&mut self.waiting_now);
        if self.table.is_small() {
            for now in 0..waiting {
                let place = self.table.find_or_add(self.waiting[now].line);
                self.enter(self.waiting[now], place, ledger);
            }
            return;
        }
        self.places.clear();
        for ahead in 0..waiting + FAR {
            if ahead < waiting {
                let place = self.table.find_or_add(self.waiting[ahead].line);
                self.places.push(place);
                prefetch(self.table.entry_at(place));
            }
            if let Some(&place) = ahead.checked_sub(FAR - NEAR).and_then(|near| self.places.get(near)) {
                self.timeline.prefetch(self.table.entry_at(place).position.into());
            }
            if let Some(now) = ahead.checked_sub(FAR) {
                self.enter(self.waiting[now], self.places[now], ledger);
            }
        }
    }

    #[inline(always)]
    fn enter(&mut self, entering: Entering, place: EntryId, ledger: &mut Ledger) {
        let Entering { cell, is_store, left, .. } = entering;
        self.come(place, self.lines_in_front as u64, Touch { cell, is_store }, None, ledger);
        match self.in_front[usize::from(entering.place)].replace(place) {
            Some(gone) => self.leave(gone, left, ledger),
            None => self.lines_in_front += 1,
        }
    }

    /// A line that is not in front is touched, where so many are. `told` is the stream in which it comes, if that was
    /// found out elsewhere.
    #[inline(always)]
    pub(super) fn come(
        &mut self,
        place: EntryId,
        front: u64,
        touch: Touch,
        told: Option<Option<Filed>>,
        ledger: &mut Ledger,
    ) {
        let entry = self.table.entry_at(place);
        if entry.position == 0 {
            return self.first(place, front + self.timeline.ones(), touch, told, ledger);
        }
        let above = self.timeline.lift(entry.position.into(), 1);
        entry.position = 0;
        let depth = front + above + 1;
        if depth > FRONT as u64 {
            let bucket = bucket_of(depth);
            entry.deepest = entry.deepest.max(bucket + 1);
            ledger.add(touch.cell, Filed::for_access(touch.is_store), bucket, 1);
            if depth > PLACES as u64 {
                self.again(place, touch, bucket, ledger);
                let streamed = match told {
                    Some(told) => told,
                    None => self.streamed(place, touch, bucket),
                };
                if let Some(streamed) = streamed {
                    ledger.add(touch.cell, streamed, bucket, 1);
                }
            }
        }
    }

    /// A cell brings a line in, from a depth of this bucket.
    #[inline(always)]
    pub(super) fn again(&mut self, place: EntryId, touch: Touch, bucket: u16, ledger: &mut Ledger) {
        match self.brought(place, touch.cell) {
            Some(before) => ledger.again(before.cell(), touch.cell, bucket, 1),
            None => self.leave_pair_open(place, touch.cell, bucket),
        }
    }

    /// A cell brings a line in; who had before.
    #[inline(always)]
    pub(super) fn brought(&mut self, place: EntryId, cell: CellNumber) -> Option<WriterNumber> {
        self.table.entry_at(place).brought.replace(WriterNumber::from_cell(cell))
    }

    /// Nothing has touched a line before, of so many: a part asks for it.
    #[inline(always)]
    pub(super) fn first(
        &mut self,
        place: EntryId,
        above: u64,
        touch: Touch,
        told: Option<Option<Filed>>,
        ledger: &mut Ledger,
    ) {
        if self.slice.is_some() {
            return self.request_line(place, above, touch, told);
        }
        self.brought(place, touch.cell);
        ledger.first(touch.cell, Filed::for_access(touch.is_store));
        let streamed = told.unwrap_or_else(|| self.streams_of(place, touch.is_store));
        streamed.into_iter().for_each(|streamed| ledger.first(touch.cell, streamed));
    }

    /// A line comes that is not among the last [`PLACES`], from a depth of this bucket; the stream in which it comes,
    /// if that is known.
    #[inline(always)]
    pub(super) fn streamed(&mut self, place: EntryId, touch: Touch, bucket: u16) -> Option<Filed> {
        if self.slice.is_some() {
            return self.streamed_in_slice(place, touch, bucket);
        }
        self.streams_of(place, touch.is_store)
    }

    /// A line comes; the stream in which it does. What waits for a line is a load.
    #[inline(always)]
    pub(super) fn streams_of(&mut self, place: EntryId, is_store: bool) -> Option<Filed> {
        match self.streams.come(place) {
            Coming::InOrder if !is_store => Some(Filed::InOrder),
            Coming::AtStep if !is_store => Some(Filed::AtStep),
            _ => None,
        }
    }

    /// A line leaves the front.
    #[inline(always)]
    pub(super) fn leave(&mut self, place: EntryId, visit: Visit, ledger: &mut Ledger) {
        self.make_room(1);
        let position = self.timeline.append(1);
        let entry = self.table.entry_at(place);
        entry.position = position as u32;
        entry.leave(visit, ledger);
    }

    /// All lines leave the front but those in some places; gives where the entries of these are.
    pub(super) fn clear_front(&mut self, front: &Front, stay: u16, ledger: &mut Ledger) -> [Option<EntryId>; PLACES] {
        self.work(ledger);
        for place in front.last_to_first().filter(|place| stay >> place & 1 == 0) {
            if let Some(gone) = self.in_front[place].take() {
                self.leave(gone, front.visit(place), ledger);
            }
        }
        self.lines_in_front = 0;
        std::mem::take(&mut self.in_front)
    }

    /// The line of an entry is in front, at a place where none was.
    pub(super) fn put_in_front(&mut self, entry: EntryId, place: usize) {
        self.in_front[place] = Some(entry);
        self.lines_in_front += 1;
    }

    /// Sees to it that there is room for so many positions.
    #[inline(always)]
    pub(super) fn make_room(&mut self, positions: u64) {
        if !self.timeline.has_room(positions) {
            self.renumber(positions);
        }
    }

    /// Gives all lines positions without gaps, and makes room.
    #[cold]
    fn renumber(&mut self, positions: u64) {
        let lines = self.timeline.ones();
        if lines >= MOST {
            std::panic::panic_any(AllocationFailure(format!(
                "the program touches more than {MOST} lines, which is more than are followed; use larger lines (--line-size), or leave --line-size out"
            )));
        }
        let ranks = self.timeline.ranks();
        for entry in self.table.entries().filter(|entry| entry.position > 0) {
            entry.position = (FIRST + ranks.rank(entry.position.into()) - 1) as u32;
        }
        let room = (lines * GROWTH).max(LEAST_ROOM).max(FIRST + lines + positions + SLACK);
        self.timeline.reset(room, 0, lines);
    }

    /// The program has ended: with what happened to the lines in front, what is dirty is written back.
    pub fn finish(&mut self, front: &Front, ledger: &mut Ledger) {
        self.clear_front(front, 0, ledger);
        for writer in self.table.entries().filter_map(|entry| entry.writer) {
            ledger.dirty(writer.cell());
        }
    }

    /// Forgets all lines, none of which is in front.
    pub(super) fn forget(&mut self) {
        self.table.clear();
        self.timeline.reset(LEAST_ROOM, 0, 0);
        self.streams.clear();
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.table.heap_bytes() + self.timeline.heap_bytes() + self.streams.heap_bytes()
    }
}
