//! A part of a run on a stack of lines of its own, and what it needs of the stack before it.
//!
//! A stack of lines that begins in the middle of a run knows how many lines lie above those that it has seen. For all
//! others it asks, in order ([`LineBoundary`]). The stack before it answers (`resolve`): lines that are asked for lie
//! below all of the part's. In the end the part's lines go on top, each with what happened to it, as if it left the
//! front.
//!
//! Who brought a line in last may be somebody before the part only as long as the part has asked for few lines
//! (`may_be_near`): the stack before it learns with the question who brought the line in next.
//!
//! Whether a line comes in a stream depends on no more than the last lines before it ([`TOLD`]). So a part leaves that
//! open for its first ones, and tells which lines were its last.
//!
//! The stack before may itself be that of a part. What it does not have either, it asks for in its turn, so that two
//! neighbouring parts become one.
//!
//! Takes and gives boundaries. Refuses nothing.

use super::{
    back::{Back, Touch},
    boundary::{KnownLine, LeftLine, LineBoundary, LineMissRequest, OpenLine, Slice, TOLD, may_be_near},
    front::{Front, Visit},
    ledger::{Filed, Ledger},
    table::EntryId,
};
use crate::{
    decode::block::CellNumber,
    engine::{hint::prefetch, timeline::Rank},
    observe::writer::WriterNumber,
};

/// How far ahead entries are fetched.
const AHEAD: usize = 16;

/// A part's side.
impl Back {
    /// A line of a part comes that is not among the last [`PLACES`]; the stream in which it comes, unless that is open.
    #[inline(never)]
    pub(super) fn streamed_in_slice(&mut self, place: EntryId, touch: Touch, bucket: u16) -> Option<Filed> {
        let streamed = self.streams_of(place, touch.is_store);
        let slice = self.slice.as_mut()?;
        let is_open = slice.is_open();
        slice.come(place);
        if !is_open {
            return streamed;
        }
        let (Touch { cell, is_store }, line) = (touch, self.table.line(place));
        slice.leave_open(Some(KnownLine { line, cell, is_store, bucket }));
        None
    }

    /// A part has not seen a line, with so many of its own above it. `told` is the stream in which it comes, if a part
    /// behind this one knows.
    #[inline(never)]
    pub(super) fn request_line(&mut self, place: EntryId, above: u64, touch: Touch, told: Option<Option<Filed>>) {
        // Elsewhere, it may be among the last lines before the part.
        let is_far = !may_be_near(above);
        let comes = told.is_none() && is_far;
        let streamed = if comes { self.streams_of(place, touch.is_store) } else { None };
        let line = self.table.line(place);
        if is_far {
            self.brought(place, touch.cell);
        }
        let Some(slice) = &mut self.slice else { return };
        let is_open = told.is_none() && slice.is_open();
        if is_open {
            slice.leave_open(None);
        }
        if comes {
            slice.come(place);
        }
        let Touch { cell, is_store } = touch;
        let streamed = told.unwrap_or(if is_open { None } else { streamed });
        slice.boundary.asks.push(LineMissRequest { line, above: above as u32, cell, is_store, streamed, next: None });
    }

    /// A line of a part is brought in, and the part cannot tell by whom it had been before.
    #[cold]
    pub(super) fn leave_pair_open(&mut self, place: EntryId, cell: CellNumber, bucket: u16) {
        let line = self.table.line(place);
        let asks = self.slice.iter_mut().flat_map(|slice| &mut slice.boundary.asks);
        // Those of which that is open were asked for first.
        if let Some(ask) = asks.take_while(|ask| may_be_near(ask.above.into())).find(|ask| ask.line == line) {
            ask.next = Some((cell, bucket));
        }
    }

    /// Ends a part: gives what it asked and which lines it has, and forgets everything. The next one begins.
    pub(super) fn end_slice(&mut self, front: &Front, ledger: &mut Ledger) -> LineBoundary {
        self.clear_front(front, 0, ledger);
        let Slice { mut boundary, came, last } = *self.slice.replace(Box::default()).unwrap_or_default();
        let later = came.saturating_sub(TOLD as u64);
        let told = later.min(TOLD as u64);
        boundary.between = later - told;
        let place = |number: u64| last[(number % TOLD as u64) as usize];
        boundary.last = (came - told..came).map(|number| self.table.line(place(number))).collect();
        let ranks = self.timeline.ranks();
        let nothing = LeftLine { line: 0, visit: Visit::default(), brought: None };
        boundary.left = vec![nothing; self.timeline.ones() as usize];
        for (line, entry) in self.table.each().filter(|(_, entry)| entry.position > 0) {
            let rank = ranks.rank(entry.position.into());
            boundary.left[rank as usize - 1] = LeftLine { line, visit: entry.visit(), brought: entry.brought };
        }
        self.forget();
        boundary
    }
}

/// The side of the stack before a part.
impl Back {
    /// Answers what a part asked, in order, and takes its lines over. Its cells have other numbers here.
    pub(super) fn resolve(
        &mut self,
        part: &LineBoundary,
        mut number: impl FnMut(CellNumber) -> CellNumber,
        ledger: &mut Ledger,
    ) {
        let mut open = part.open.iter().peekable();
        for (at, ask) in part.asks.iter().enumerate() {
            while let Some(known) = open.next_if(|open| open.asks <= at && open.known.is_some()) {
                self.come_open(known, &mut number, ledger);
            }
            if let Some(ahead) = part.asks.get(at + AHEAD) {
                let place = self.table.find_or_add(ahead.line);
                prefetch(self.table.entry_at(place));
            }
            let is_open = open.next_if(|open| open.asks <= at).is_some();
            let touch = Touch { cell: ledger.made_known(number(ask.cell)), is_store: ask.is_store };
            let place = self.table.find_or_add(ask.line);
            let told = if is_open { None } else { Some(ask.streamed) };
            self.come(place, u64::from(ask.above), touch, told, ledger);
            if let Some((cell, bucket)) = ask.next {
                let touch = Touch { cell: ledger.made_known(number(cell)), ..touch };
                self.again(place, touch, bucket, ledger);
            }
        }
        for known in open {
            self.come_open(known, &mut number, ledger);
        }
        self.pass(part);
        for left in &part.left {
            let writer = left.visit.writer.map(|writer| ledger.made_known(number(writer.cell())));
            let writer = writer.map(WriterNumber::from_cell);
            let place = self.table.find_or_add(left.line);
            if let Some(by) = left.brought {
                self.brought(place, ledger.made_known(number(by.cell())));
            }
            self.leave(place, Visit { writer, ..left.visit }, ledger);
        }
    }

    /// A line of a part came that the part knew, but not its stream.
    fn come_open(&mut self, open: &OpenLine, number: &mut impl FnMut(CellNumber) -> CellNumber, ledger: &mut Ledger) {
        let Some(KnownLine { line, cell, is_store, bucket }) = open.known else { return };
        let touch = Touch { cell: ledger.made_known(number(cell)), is_store };
        let place = self.table.find_or_add(line);
        let streamed = self.streamed(place, touch, bucket);
        streamed.into_iter().for_each(|streamed| ledger.add(touch.cell, streamed, bucket, 1));
    }

    /// Lines of a part came whose streams are told.
    fn pass(&mut self, part: &LineBoundary) {
        self.streams.skip(part.between);
        if let Some(slice) = &mut self.slice {
            slice.came += part.between;
        }
        for &line in &part.last {
            let place = self.table.find_or_add(line);
            self.streams.come(place);
            self.slice.iter_mut().for_each(|slice| slice.come(place));
        }
    }
}
