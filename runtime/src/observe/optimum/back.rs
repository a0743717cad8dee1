//! The way back: for the bytes of every access, when they are read next.
//!
//! Takes the blocks of one ring from the last to the first, gives records in the order of the program's end to its
//! start, in lists that are turned around before they are read. A byte whose next event is a store, a death or the end
//! of the run has no next read: no memory is better for holding it. An output is not read when it is declared, or at
//! the end; that it is kept until then matters for the depth of first touches only.
//!
//! The record of an access is one number if all its bytes are read next at one time, twice the distance plus
//! [`ALIKE`]; else twice the number of parts, and of each the distance and the bytes. A distance is from the end of the
//! access to the end of the one that reads; it is 0 for declared outputs that nobody reads. The record of a declared
//! input or output is of parts, of each the first byte, the bytes and the distance.

use std::io;

use super::{
    next_use::{KEPT, NEVER, NextUse, TimedRange},
    records::ALIKE,
};
use crate::{
    engine::{Access, Kind, Stream, clamped},
    oplog::{Op, Ops},
};

/// Numbers of a list, about.
const LIST: usize = 1 << 16;
/// The clock at the end of the run.
const END: u64 = 1 << 62;

pub struct Back {
    next: NextUse,
    /// When what comes next in the program begins.
    clock: u64,
    /// The list at hand.
    list: Vec<u64>,
    /// Numbers of a list.
    limit: usize,
    parts: Vec<TimedRange>,
}

impl Back {
    /// At the end of a run with such outputs.
    #[must_use]
    pub fn new(outputs: &[(u64, u64)]) -> Self {
        Self::with_lists_of(LIST, outputs)
    }

    /// With lists of another length than the usual, for tests.
    #[must_use]
    pub fn with_lists_of(limit: usize, outputs: &[(u64, u64)]) -> Self {
        let mut next = NextUse::default();
        outputs.iter().for_each(|&(addr, len)| next.keep(addr, len));
        Self { next, clock: END, list: Vec::new(), limit, parts: Vec::new() }
    }

    /// From now to the next read; 0 if none comes of an output.
    fn distance(&self, part: &TimedRange) -> u64 {
        if part.time == KEPT { 0 } else { part.time - self.clock }
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.next.heap_bytes()
    }

    /// Goes back over a block. `take` is given lists that are full, turned around.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn block(&mut self, ops: &Ops, take: &mut impl FnMut(&[u64]) -> io::Result<()>) -> io::Result<()> {
        for op in ops.each().rev() {
            match op {
                Op::Accesses { accesses, .. } => self.accesses(accesses, take)?,
                Op::Run { streams, iterations, .. } => self.run(streams, iterations, take)?,
                Op::Move { from, to, len } => self.next.unmove(from, to, len),
                Op::Input { addr, len } => self.declared(addr, len),
                Op::Output { addr, len } => {
                    self.declared(addr, len);
                    self.next.keep(addr, len);
                }
                Op::Life(_) | Op::Sync(_) => {}
            }
        }
        Ok(())
    }

    /// Gives the last list.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn finish(&mut self, take: &mut impl FnMut(&[u64]) -> io::Result<()>) -> io::Result<()> {
        self.list.reverse();
        take(&self.list)?;
        self.list.clear();
        Ok(())
    }

    fn accesses(&mut self, accesses: &[Access], take: &mut impl FnMut(&[u64]) -> io::Result<()>) -> io::Result<()> {
        for access in accesses.iter().rev() {
            if access.kind == Kind::Remove {
                self.next.clear(access.addr, access.len.into());
            } else {
                self.access(access.addr, access.len, access.kind);
                self.give_if_full(take)?;
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        streams: &[Stream],
        iterations: u64,
        take: &mut impl FnMut(&[u64]) -> io::Result<()>,
    ) -> io::Result<()> {
        for iteration in (0..iterations).rev() {
            for stream in streams.iter().rev() {
                self.access(stream.address_at(iteration), stream.len, stream.kind);
            }
            self.give_if_full(take)?;
        }
        Ok(())
    }

    #[inline]
    fn access(&mut self, addr: u64, len: u32, kind: Kind) {
        let len = clamped(addr, len.into());
        if len == 0 {
            return;
        }
        let time = if kind == Kind::Load { self.clock } else { NEVER };
        self.parts.clear();
        self.next.exchange(addr, len, time, &mut self.parts);
        match *self.parts.as_slice() {
            [part] if part.len == len => self.list.push(self.distance(&part) << 1 | ALIKE),
            _ => {
                for part in self.parts.iter().rev() {
                    self.list.extend([part.len, self.distance(part)]);
                }
                self.list.push((self.parts.len() as u64) << 1);
            }
        }
        self.clock -= len;
    }

    fn declared(&mut self, addr: u64, len: u64) {
        let parts = self.next.known_ranges(addr, len);
        for part in parts.iter().rev() {
            self.list.extend([self.distance(part), part.len, part.start]);
        }
        self.list.push((parts.len() as u64) << 1);
    }

    #[inline]
    fn give_if_full(&mut self, take: &mut impl FnMut(&[u64]) -> io::Result<()>) -> io::Result<()> {
        if self.list.len() < self.limit { Ok(()) } else { self.finish(take) }
    }
}
