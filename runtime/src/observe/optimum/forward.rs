//! The way forward: what memories that know the future fetch, by cell.
//!
//! Takes the blocks of one ring in order, with the records of the way back; gives fetches by capacity. Beside them it
//! counts first touches as the stack of bytes does, which enter at its bottom: those that it finds deeper than a
//! capacity are in the traffic of that capacity, although no memory had held them. Refuses records that are none.

use std::io;

use super::{
    memories::{Memories, Next},
    records::{ALIKE, Records},
};
use crate::{
    counts::least::{ByCapacity, LeastCounts},
    engine::{AccessTag, Kind, clamped},
    observe::liveness::bits::{Bits, low_ones, pieces},
    oplog::{Op, Ops, spool::damaged},
};

/// What was found by cell.
struct CellsByCapacity {
    capacities: Vec<u64>,
    cells: Vec<Option<ByCapacity>>,
}

impl CellsByCapacity {
    fn counts_of(&mut self, label: AccessTag) -> Option<&mut ByCapacity> {
        let capacities = self.capacities.len();
        let cell = self.cells.get_mut(label.cell().index())?;
        Some(cell.get_or_insert_with(|| vec![LeastCounts::default(); capacities].into()))
    }
}

pub struct Forward {
    memories: Memories,
    found: CellsByCapacity,
    /// Bytes that have a value.
    valued: Bits,
    /// Bytes on the stack.
    live: u64,
    /// Bytes on the stack and holes that the dead left: as many as were live at a time, and inputs.
    places: u64,
    /// Bytes leave the stack when nobody reads them again.
    exact: bool,
    next: Vec<Next>,
}

impl Forward {
    /// A pass over a ring with so many cells, for ascending capacities, beside a stack with exact liveness or hints.
    #[must_use]
    pub fn new(cells: usize, capacities: &[u64], exact: bool) -> Self {
        Self {
            memories: Memories::new(capacities),
            found: CellsByCapacity { capacities: capacities.into(), cells: vec![None; cells] },
            valued: Bits::default(),
            live: 0,
            places: 0,
            exact,
            next: Vec::new(),
        }
    }

    /// What was found, by cell.
    #[must_use]
    pub fn finish(self) -> Vec<Option<ByCapacity>> {
        self.found.cells
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.memories.heap_bytes() + self.valued.heap_bytes()
    }

    /// Does a block.
    ///
    /// # Errors
    /// Those of the records.
    pub fn block(&mut self, ops: &Ops, records: &mut impl Records) -> io::Result<()> {
        for op in ops.each() {
            match op {
                Op::Accesses { accesses, labels } => {
                    for (access, &label) in accesses.iter().zip(labels) {
                        if access.kind == Kind::Remove {
                            self.remove(access.addr, access.len.into());
                        } else {
                            self.access(access.addr, access.len, access.kind, label, records)?;
                        }
                    }
                }
                Op::Run { streams, labels, iterations } => {
                    for iteration in 0..iterations {
                        for (stream, &label) in streams.iter().zip(labels) {
                            self.access(stream.address_at(iteration), stream.len, stream.kind, label, records)?;
                        }
                    }
                }
                Op::Move { from, to, len } => self.relocate(from, to, len),
                Op::Input { addr, len } => self.input(addr, len, records)?,
                Op::Output { addr, len } => self.output(addr, len, records)?,
                Op::Life(_) | Op::Sync(_) => {}
            }
        }
        Ok(())
    }

    #[inline]
    fn access(
        &mut self,
        addr: u64,
        len: u32,
        kind: Kind,
        label: AccessTag,
        records: &mut impl Records,
    ) -> io::Result<()> {
        let len = clamped(addr, len.into());
        if len == 0 {
            return Ok(());
        }
        self.next.clear();
        let head = records.next()?;
        if head & ALIKE == ALIKE {
            self.next.push(Next { distance: head >> 1, bytes: len });
        } else {
            for _ in 0..head >> 1 {
                self.next.push(Next { distance: records.next()?, bytes: records.next()? });
            }
        }
        let kept: u64 = self.next.iter().map(|next| next.bytes).sum();
        if kept > len {
            return Err(damaged());
        }
        if self.next.iter().any(|next| next.distance == 0) {
            self.next.retain(|next| next.distance > 0);
        }
        let new = self.touch(addr, len);
        let warm = if kind == Kind::Load { len - new } else { 0 };
        if kind == Kind::Load && new > 0 {
            self.first_touches(label, new);
        }
        let stays = if self.exact && kind != Kind::Load { kept } else { new };
        self.places = self.places.max(self.live + stays);
        if self.exact {
            self.live = self.live + kept - warm;
        } else {
            self.live += new;
        }
        if kind != Kind::Load {
            self.memories.store(len, &self.next);
            return Ok(());
        }
        let found = &mut self.found;
        self.memories.load(len, warm, &self.next, |number, missed| {
            if let Some(counts) = found.counts_of(label) {
                counts[number].fetched += missed;
            }
        });
        Ok(())
    }

    /// Gives a range a value; how many bytes had none.
    #[inline]
    fn touch(&mut self, addr: u64, len: u64) -> u64 {
        if len <= 64 {
            return u64::from((!self.valued.exchange::<true>(addr, len) & low_ones(len)).count_ones());
        }
        let new = |(addr, len)| u64::from((!self.valued.exchange::<true>(addr, len) & low_ones(len)).count_ones());
        pieces(addr, len).map(new).sum()
    }

    #[cold]
    fn first_touches(&mut self, label: AccessTag, bytes: u64) {
        let above = self.places;
        let CellsByCapacity { capacities, .. } = &self.found;
        if capacities.iter().all(|&capacity| above + bytes <= capacity) {
            return;
        }
        let deeper = |capacity: u64| (above + bytes).saturating_sub(capacity.max(above));
        let capacities = capacities.clone();
        if let Some(counts) = self.found.counts_of(label) {
            counts.iter_mut().zip(capacities).for_each(|(counts, capacity)| counts.first += deeper(capacity));
        }
    }

    /// Bytes that the program gives up were not going to be read: memories have dropped them.
    fn remove(&mut self, addr: u64, len: u64) {
        let known = self.known_bytes(addr, len);
        self.valued.clear(addr, len);
        self.live -= if self.exact { 0 } else { known };
    }

    fn relocate(&mut self, from: u64, to: u64, len: u64) {
        let len = clamped(from, len).min(clamped(to, len));
        if from == to || len == 0 {
            return;
        }
        let moved = self.valued.runs(from, len);
        self.remove(from, len);
        self.remove(to, len);
        for (start, len) in moved {
            self.valued.set(start - from + to, len);
            self.live += if self.exact { 0 } else { len };
        }
    }

    /// What has a value already stays where it is.
    fn input(&mut self, addr: u64, len: u64, records: &mut impl Records) -> io::Result<()> {
        let needed = self.declared(records, |len, known| len - known)?;
        let all = clamped(addr, len);
        let enters = if self.exact { needed } else { all - self.known_bytes(addr, all) };
        (self.live, self.places) = (self.live + enters, self.places + enters);
        self.valued.set(addr, all);
        self.memories.arrive(&self.next);
        Ok(())
    }

    /// What was needed up to here only leaves a stack with exact liveness.
    fn output(&mut self, addr: u64, len: u64, records: &mut impl Records) -> io::Result<()> {
        let needed = self.declared(records, |_, known| known)?;
        let known = self.known_bytes(addr, len);
        self.live -= if self.exact { known - needed } else { 0 };
        Ok(())
    }

    /// Parts of a declared range that are needed: reads go to `next`, all are added up. `of`: which bytes of a part,
    /// of all and of those that have a value.
    fn declared(&mut self, records: &mut impl Records, of: fn(u64, u64) -> u64) -> io::Result<u64> {
        self.next.clear();
        let mut needed = 0;
        for _ in 0..records.next()? >> 1 {
            let (start, len, distance) = (records.next()?, records.next()?, records.next()?);
            if clamped(start, len) != len {
                return Err(damaged());
            }
            let bytes = of(len, self.known_bytes(start, len));
            needed += bytes;
            if bytes > 0 && distance > 0 {
                self.next.push(Next { distance, bytes });
            }
        }
        Ok(needed)
    }

    /// Bytes of a range that have a value.
    fn known_bytes(&mut self, addr: u64, len: u64) -> u64 {
        self.valued.runs(addr, len).iter().map(|&(_, len)| len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        decode::block::CellNumber,
        engine::{Access, Stream},
        observe::optimum::Back,
    };

    /// Numbers that are still to be read.
    struct Listed<'a>(&'a [u64]);

    impl Records for Listed<'_> {
        fn next(&mut self) -> io::Result<u64> {
            let (first, rest) = self.0.split_first().ok_or_else(damaged)?;
            self.0 = rest;
            Ok(*first)
        }
    }

    /// Accesses of 8 bytes, each of a cell or of none.
    fn ops(accesses: &[(u64, Kind, Option<usize>)]) -> Ops {
        let mut ops = Ops::default();
        for &(addr, kind, cell) in accesses {
            let label = cell.map_or(AccessTag::UNCOUNTED, |cell| AccessTag::for_cell(CellNumber::new(cell)));
            ops.push(Access { addr, len: 8, kind }, label);
        }
        ops
    }

    /// By cell, at a capacity: bytes fetched, and first touches that are deeper.
    fn found(ops: &Ops, capacity: u64, exact: bool) -> Vec<(u64, u64)> {
        let (mut back, mut lists) = (Back::new(&[]), Vec::new());
        let mut take = |list: &[u64]| {
            lists.push(list.to_vec());
            Ok(())
        };
        back.block(ops, &mut take).and_then(|()| back.finish(&mut take)).expect("nothing fails");
        lists.reverse();
        let mut forward = Forward::new(3, &[capacity], exact);
        let lists = lists.concat();
        let mut records = Listed(&lists);
        forward.block(ops, &mut records).expect("all records are there");
        assert_eq!(records.0.len(), 0, "and read");
        let of = |cell: &Option<ByCapacity>| cell.as_ref().map_or((0, 0), |all| (all[0].fetched, all[0].first));
        forward.finish().iter().map(of).collect()
    }

    #[test]
    fn fetches_are_those_of_the_cell_that_reads() {
        let steps = [
            (0, Kind::Store, Some(0)),
            (8, Kind::Store, Some(0)),
            (0, Kind::Load, Some(1)),
            (8, Kind::Load, Some(2)),
            (0, Kind::Load, None),
        ];
        // What is read soonest stays: the first word, then again the first one, as the second is not needed any more.
        assert_eq!(found(&ops(&steps), 8, false), [(0, 0), (0, 0), (8, 0)]);
        assert_eq!(found(&ops(&steps), 16, false), [(0, 0); 3]);
        assert_eq!(found(&ops(&steps), 4, false)[1], (4, 0), "half of it was kept");
        let mut uncounted = steps;
        uncounted[3].2 = None;
        assert_eq!(found(&ops(&uncounted), 8, false), [(0, 0); 3], "nobody counts it");
    }

    #[test]
    fn runs_and_single_accesses_are_alike() {
        let stream = |addr, kind| Stream { addr, stride: 8, len: 8, kind };
        let (streams, labels) = (
            [stream(0, Kind::Store), stream(64, Kind::Load)],
            [1, 2].map(|cell| AccessTag::for_cell(CellNumber::new(cell))),
        );
        let (mut run, mut single) = (Ops::default(), Ops::default());
        for (stream, kind) in
            [(&streams, Kind::Store), (&streams.map(|of| Stream { kind: Kind::Load, ..of }), Kind::Load)]
        {
            run.add(Op::run(stream, &labels, 4));
            for iteration in 0..4 {
                single.add(Op::accesses(&stream.map(|of| of.access(iteration)), &labels));
            }
            assert!(stream.iter().any(|of| of.kind == kind));
        }
        for (capacity, exact) in [(8, false), (24, false), (24, true), (40, true)] {
            assert_eq!(found(&run, capacity, exact), found(&single, capacity, exact), "{capacity} B");
        }
        assert_ne!(found(&run, 24, false), [(0, 0); 3]);
    }

    #[test]
    fn bytes_that_died_leave_their_place_to_who_comes_next() {
        let steps = |first| {
            ops(&[(0, Kind::Store, Some(0)), (8, Kind::Store, Some(0)), (0, first, Some(0)), (16, Kind::Load, Some(1))])
        };
        // The first touch of the third word enters below what there is, and what has been left free.
        assert_eq!(found(&steps(Kind::Store), 16, false)[1], (0, 8), "16 bytes are above it");
        let at = |capacity| found(&steps(Kind::Store), capacity, false)[1].1;
        assert_eq!([8, 17, 23, 24].map(at), [8, 7, 1, 0], "of its bytes only those that are deeper");
        let one_more = |first| {
            let mut ops = steps(first);
            ops.push(Access { addr: 24, len: 8, kind: Kind::Load }, AccessTag::for_cell(CellNumber::new(2)));
            found(&ops, 24, false)[2].1
        };
        assert_eq!((one_more(Kind::Store), one_more(Kind::Remove)), (8, 0), "the third word took the free place");
        assert_eq!(found(&steps(Kind::Remove), 16, false)[1], (0, 8), "a free place is one");
        assert_eq!(found(&steps(Kind::Remove), 24, false)[1], (0, 0));
        assert_eq!(found(&steps(Kind::Store), 16, true)[1], (0, 0), "nobody needs them");
    }

    #[test]
    fn records_that_are_none_are_refused() {
        let ops = ops(&[(0, Kind::Store, Some(0))]);
        let read = |records: &[u64]| Forward::new(1, &[8], false).block(&ops, &mut Listed(records));
        assert!(read(&[2 << 1, 8, 4, 16, 4]).is_ok());
        assert!(read(&[2 << 1, 8, 4, 16, 5]).is_err(), "more bytes than the access has");
        assert!(read(&[2 << 1, 8, 4, 16]).is_err(), "it ends too early");
        assert!(read(&[]).is_err());
        for declared in [Op::Input { addr: 0, len: 8 }, Op::Output { addr: 0, len: 8 }] {
            let mut ops = Ops::default();
            ops.add(declared);
            let read = |records: &[u64]| Forward::new(1, &[8], false).block(&ops, &mut Listed(records));
            assert!(read(&[1 << 1, u64::MAX - 7, 8, 5]).is_ok());
            assert!(read(&[1 << 1, u64::MAX - 7, 9, 5]).is_err(), "beyond the last address");
        }
    }
}
