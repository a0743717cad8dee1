//! Who sees reads of bytes that were touched long ago, or never: the set of lines for the whole run.
//!
//! Takes what is looked at, in order, with the reads that those of recent touches have met before it and cannot price;
//! gives what each cell read, estimated.

use super::{
    filter::{Deed, Happened, Looked},
    fixed::{First, Fixed},
    ledger::{Ledger, Sampled},
    recent::LONG_RANGE,
    stack::{LINE, pieces},
};
use crate::abi::sample::{Design, bucket};

/// The set, and what it has seen.
pub struct Long {
    fixed: Fixed,
    ledger: Ledger,
}

impl Long {
    /// Nothing has happened yet.
    pub fn new(design: Design) -> Self {
        Long { fixed: Fixed::new(design), ledger: Ledger::default() }
    }

    /// There are so many cells; those with higher numbers do not count.
    pub fn set_known(&mut self, cells: usize) {
        self.ledger.set_known(cells);
    }

    /// A read that those of recent touches have met, at the access that comes next.
    pub fn first(&mut self, first: First) {
        self.fixed.read_first(first, &mut self.ledger);
    }

    /// Something is looked at. Everything is priced before anything moves.
    #[inline]
    pub fn look(&mut self, looked: Looked) {
        let Looked { time, address, len, deed, cell } = looked;
        let (len, is_read) = (u64::from(len), deed == Deed::Read);
        if deed == Deed::Removed {
            return self.remove(time, address, len);
        }
        let Self { fixed, ledger } = self;
        if is_read {
            for piece in pieces(address, len) {
                let place = (piece, bucket(piece.line));
                if fixed.has_bucket(place.1) {
                    let entry = fixed.find(piece.line);
                    fixed.read(entry, place, time, (cell, ledger));
                }
            }
        }
        for piece in pieces(address, len) {
            let place = (piece, bucket(piece.line));
            if fixed.has_bucket(place.1) {
                let entry = fixed.find(piece.line);
                fixed.touch(entry, place, time);
            }
        }
    }

    /// Bytes leave. Of long ranges, nobody remembers when.
    fn remove(&mut self, time: u64, address: u64, len: u64) {
        if len / LINE > LONG_RANGE {
            return self.fixed.stack().forget_range(address, len);
        }
        for piece in pieces(address, len) {
            if self.fixed.has_bucket(bucket(piece.line)) {
                self.fixed.stack().leave(piece, time);
            }
        }
    }

    /// Something happens to bytes.
    pub fn happens(&mut self, what: Happened) {
        match what {
            Happened::Relocate { from, to, len, .. } => self.fixed.relocate(from, to, len, bucket),
            Happened::Input { time, address, len } => self.remove(time, address, len),
        }
    }

    /// What was seen.
    pub fn finish(self) -> Sampled {
        self.ledger.finish()
    }

    /// Memory held, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        self.fixed.heap_bytes() + self.ledger.heap_bytes()
    }
}
