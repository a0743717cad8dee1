//! Those who see reads of bytes that were touched not long ago: bursts, and sets of lines that take turns.
//!
//! Takes what is looked at, in order, and removals and moves of bytes; gives what each cell read, estimated, and the
//! reads of bytes that are on no stack, which only the set for the whole run can price.

use super::{
    bursts::Bursts,
    filter::{Deed, Happened, Looked},
    fixed::First,
    ledger::{Ledger, Sampled},
    stack::{LINE, Piece, pieces},
    turns::Turns,
};
use crate::{
    abi::sample::{Design, Pace, bucket},
    decode::block::CellNumber,
};

/// Lines beyond which a range that ends is looked for in the stacks, not line by line.
pub const LONG_RANGE: u64 = 4096;

/// All of them.
pub struct Recent {
    now: u64,
    /// When bursts or sets change.
    next: u64,
    bursts: Bursts,
    /// Quick and slow ones.
    turns: [Turns; 2],
    ledger: Ledger,
}

impl Recent {
    /// Nothing has happened yet.
    pub fn new(design: Design) -> Self {
        let turns = Pace::ALL.map(|pace| Turns::new(design, pace));
        let mut recent = Recent { now: 0, next: 0, bursts: Bursts::new(design), turns, ledger: Ledger::default() };
        recent.tick();
        recent
    }

    /// There are so many cells; those with higher numbers do not count.
    pub fn set_known(&mut self, cells: usize) {
        self.ledger.set_known(cells);
    }

    #[inline]
    fn go_to(&mut self, time: u64) {
        self.now = time;
        if time >= self.next {
            self.tick();
        }
    }

    #[cold]
    fn tick(&mut self) {
        let turns = self.turns.iter_mut().map(|turns| turns.tick(self.now));
        self.next = turns.fold(self.bursts.tick(self.now), u64::min);
    }

    /// Something is looked at. Everything is priced before anything moves.
    #[inline]
    pub fn look(&mut self, looked: Looked, firsts: &mut Vec<First>) {
        let Looked { time, address, len, deed, cell } = looked;
        self.go_to(time);
        let (from, len, is_read) = (address % LINE, u64::from(len), deed == Deed::Read);
        if deed == Deed::Removed {
            return self.remove(address, len);
        }
        if from + len <= LINE {
            let (line, to) = (address / LINE, (from + len) as usize);
            let piece = Piece { line, from: from as usize, to };
            return self.visit(piece, (is_read, true), cell, firsts);
        }
        if is_read {
            pieces(address, len).for_each(|piece| self.visit(piece, (true, false), cell, firsts));
        }
        pieces(address, len).for_each(|piece| self.visit(piece, (false, true), cell, firsts));
    }

    /// A part of an access is read, moves to the top, or both.
    #[inline(always)]
    fn visit(&mut self, piece: Piece, (is_read, moves): (bool, bool), cell: CellNumber, firsts: &mut Vec<First>) {
        let Self { now, bursts, turns, ledger, .. } = self;
        let (bucket, now) = (bucket(piece.line), *now);
        let place = (piece, bucket);
        if bursts.are_running() {
            let entry = bursts.find(piece.line);
            if is_read {
                bursts.read(entry, piece, now, firsts, (cell, ledger));
            }
            if moves {
                bursts.touch(entry, piece, now);
            }
        }
        for turns in turns.iter_mut().filter(|turns| turns.has_bucket(bucket)) {
            let entry = turns.find(piece.line, bucket);
            if is_read {
                turns.read(entry, place, now, firsts, (cell, ledger));
            }
            if moves {
                turns.touch(entry, place, now);
            }
        }
    }

    /// Bytes leave. Of long ranges, nobody remembers when.
    fn remove(&mut self, address: u64, len: u64) {
        let bursting = self.bursts.are_running();
        if len / LINE > LONG_RANGE {
            self.turns.iter_mut().for_each(|turns| turns.forget_range(address, len));
            if bursting {
                self.bursts.stack().forget_range(address, len);
            }
            return;
        }
        for piece in pieces(address, len) {
            let bucket = bucket(piece.line);
            if bursting {
                self.bursts.stack().leave(piece, self.now);
            }
            for turns in self.turns.iter_mut().filter(|turns| turns.has_bucket(bucket)) {
                turns.stack(bucket).leave(piece, self.now);
            }
        }
    }

    /// Something happens to bytes.
    pub fn happens(&mut self, what: Happened) {
        match what {
            Happened::Relocate { time, from, to, len } => {
                self.go_to(time);
                self.turns.iter_mut().for_each(|turns| turns.relocate(from, to, len, bucket));
                if self.bursts.are_running() {
                    self.bursts.stack().relocate(from, to, len, true, |_| true);
                }
            }
            Happened::Input { time, address, len } => {
                self.go_to(time);
                self.remove(address, len);
            }
        }
    }

    /// What was seen.
    pub fn finish(self) -> Sampled {
        self.ledger.finish()
    }

    /// Memory held, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        let turns: u64 = self.turns.iter().map(Turns::heap_bytes).sum();
        self.bursts.heap_bytes() + turns + self.ledger.heap_bytes()
    }
}
