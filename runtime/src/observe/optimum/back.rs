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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::AccessTag;
    use crate::tests::held::tells_what_it_holds;

    fn load(addr: u64, len: u32) -> Access {
        Access { addr, len, kind: Kind::Load }
    }

    fn store(addr: u64, len: u32) -> Access {
        Access { addr, len, kind: Kind::Store }
    }

    fn ops(accesses: &[Access]) -> Ops {
        let mut ops = Ops::default();
        ops.add(Op::accesses(accesses, &vec![AccessTag::new(0); accesses.len()]));
        ops
    }

    /// What the way forward reads.
    fn records(ops: &Ops, outputs: &[(u64, u64)]) -> Vec<u64> {
        let (mut back, mut lists) = (Back::new(outputs), Vec::new());
        let mut take = |list: &[u64]| {
            lists.push(list.to_vec());
            Ok(())
        };
        back.block(ops, &mut take).and_then(|()| back.finish(&mut take)).expect("nothing fails");
        lists.reverse();
        lists.concat()
    }

    fn alike(distance: u64) -> u64 {
        distance << 1 | ALIKE
    }

    #[test]
    fn a_record_is_the_distance_to_the_end_of_the_next_read() {
        let ops = ops(&[load(0, 8), load(8, 8), load(0, 16)]);
        assert_eq!(records(&ops, &[]), [alike(24), alike(16), 0]);
    }

    #[test]
    fn parts_that_are_read_at_other_times_are_told_one_by_one() {
        let each = ops(&[store(0, 16), load(4, 4), load(8, 8)]);
        assert_eq!(records(&each, &[]), [2 << 1, 4, 4, 12, 8, 0, 0]);
        let half = ops(&[store(0, 16), load(8, 8)]);
        assert_eq!(records(&half, &[]), [1 << 1, 8, 8, 0], "one part, which is not all");
    }

    #[test]
    fn what_is_written_over_or_dies_is_not_read_any_more() {
        let over = ops(&[load(0, 8), store(0, 8), load(0, 8)]);
        assert_eq!(records(&over, &[]), [0, alike(8), 0]);
        let dies = ops(&[load(0, 8), Access { addr: 0, len: 4, kind: Kind::Remove }, load(0, 8)]);
        assert_eq!(records(&dies, &[]), [1 << 1, 8, 4, 0], "a death has no record and takes no time");
    }

    #[test]
    fn declared_outputs_are_kept_until_the_end_unless_they_are_written_again() {
        let twice = ops(&[store(0, 8), store(0, 8)]);
        assert_eq!(records(&twice, &[(0, 8)]), [0, alike(0)]);
        let read = ops(&[store(0, 8), load(0, 8)]);
        assert_eq!(records(&read, &[(0, 8)]), [alike(8), alike(0)]);
        let mut in_between = ops(&[store(0, 8)]);
        in_between.add(Op::Output { addr: 0, len: 16 });
        in_between.add(Op::accesses(&[load(8, 8)], &[AccessTag::new(0)]));
        assert_eq!(records(&in_between, &[]), [alike(0), 1 << 1, 8, 8, 8, 0]);
    }

    #[test]
    fn inputs_tell_where_they_are_needed() {
        let mut ops = Ops::default();
        ops.add(Op::Input { addr: 0, len: 24 });
        ops.add(Op::accesses(&[load(8, 8)], &[AccessTag::new(0)]));
        assert_eq!(records(&ops, &[(20, 4)]), [2 << 1, 8, 8, 8, 20, 4, 0, 0]);
    }

    #[test]
    fn bytes_that_move_are_read_at_their_new_place() {
        let mut ops = ops(&[store(0, 8), store(100, 8)]);
        ops.add(Op::Move { from: 0, to: 100, len: 8 });
        ops.add(Op::accesses(&[load(100, 8)], &[AccessTag::new(0)]));
        assert_eq!(records(&ops, &[]), [alike(16), 0, 0], "what was there is gone");
    }

    #[test]
    fn a_run_is_its_accesses_in_their_order() {
        let stream = |addr, kind| Stream { addr, stride: 8, len: 8, kind };
        let mut ops = Ops::default();
        ops.add(Op::run(&[stream(0, Kind::Load), stream(8, Kind::Store)], &[AccessTag::new(0); 2], 3));
        // Each store is read in the next iteration.
        assert_eq!(records(&ops, &[]), [0, alike(8), 0, alike(8), 0, 0]);
    }

    #[test]
    fn accesses_of_nothing_have_no_record_and_those_beyond_the_last_address_end_there() {
        let ops = ops(&[load(u64::MAX - 3, 8), load(50, 0), load(u64::MAX - 3, 4)]);
        assert_eq!(records(&ops, &[]), [alike(4), 0]);
    }

    #[test]
    fn lists_are_given_when_they_are_full() {
        let (mut back, mut lists) = (Back::with_lists_of(2, &[]), Vec::new());
        let mut take = |list: &[u64]| {
            lists.push(list.to_vec());
            Ok(())
        };
        // From the end on: 0, 0, and then 5 numbers at once.
        let ops = ops(&[load(4, 4), store(0, 16), load(4, 4), load(8, 8)]);
        back.block(&ops, &mut take).and_then(|()| back.finish(&mut take)).expect("nothing fails");
        assert_eq!(lists, [vec![0, 0], vec![2 << 1, 4, 4, 12, 8], vec![0]]);
        assert_eq!(
            back.block(&ops, &mut |_| Err(io::Error::other("full"))).map_err(|e| e.to_string()),
            Err("full".into())
        );
    }

    #[test]
    fn the_way_back_tells_what_it_holds() {
        let make = || {
            let mut back = Back::new(&[]);
            let loads: Vec<Access> = (0..10_000).map(|page| load(page << 13, 8)).collect();
            back.block(&ops(&loads), &mut |_| Ok(())).expect("nothing fails");
            back
        };
        tells_what_it_holds(make, Back::heap_bytes);
    }
}
