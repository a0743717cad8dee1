//! What of a run is looked at.
//!
//! Takes every access with its cell, in order, or those that a program which draws the sample itself has written down,
//! with their times. Gives what was asked for at that time, in order, and counts what each cell reads, seen or not.
//! Decides as the hooks in such a program do.

use std::ops::Range;

use super::{runs::next_visit, stack::LINE};
use crate::{
    abi::{
        drawing::{Drawing, Phase, Plan},
        sample::{BUCKETS, Design, bucket},
    },
    decode::block::CellNumber,
    engine::{Access, AccessTag, Kind, Stream},
};

/// What becomes of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Read,
    Written,
    Removed,
}

/// An access or a removal that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    /// Loads and stores before it.
    pub time: u64,
    pub address: u64,
    pub len: u32,
    pub deed: Deed,
    pub cell: CellNumber,
}

/// What else happens to bytes, whether they are looked at or not, after so many loads and stores.
#[derive(Clone, Copy, Debug)]
pub enum Happened {
    /// They move with their places on the stack.
    Relocate { time: u64, from: u64, to: u64, len: u64 },
    /// They are declared input: read for the first time, whatever lay there.
    Input { time: u64, address: u64, len: u64 },
}

/// Decides, and says what is looked at.
pub struct Filter {
    now: u64,
    phase: Phase,
    drawing: Drawing,
    plans: Box<[Plan; BUCKETS]>,
    marks: Box<[bool; BUCKETS]>,
    /// Bytes read, by cell.
    read: Vec<u64>,
}

impl Filter {
    /// Nothing has happened yet.
    pub fn new(design: Design) -> Self {
        let mut plans = Box::new([Plan::default(); BUCKETS]);
        let drawing = Drawing::new(design, &mut plans);
        let phase = Phase { is_burst: false, until: 0 };
        let mut filter = Filter { now: 0, phase, drawing, plans, marks: Box::new([false; BUCKETS]), read: Vec::new() };
        filter.tick();
        filter
    }

    /// There are so many cells; those with higher numbers do not count.
    pub fn set_known(&mut self, cells: usize) {
        self.read.resize(cells, 0);
    }

    /// Loads and stores so far.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Bytes read, by cell.
    pub fn finish(self) -> Vec<u64> {
        self.read
    }

    /// So many loads and stores have passed. Time never goes back.
    pub fn set_time(&mut self, now: u64) {
        const MOST: u64 = 1 << 62;
        if (self.now..MOST).contains(&now) {
            self.now = now;
        }
    }

    /// The time, if so many accesses from now on only marked lines are looked at, and always the same ones.
    pub fn quiet_for(&self, accesses: u64) -> Option<u64> {
        (!self.phase.is_burst && self.now + accesses < self.phase.until).then_some(self.now)
    }

    /// Whether bytes are in marked lines.
    #[inline]
    pub fn marks(&self, address: u64, len: u64) -> bool {
        let (first, last) = (address / LINE, address.saturating_add(len.saturating_sub(1)) / LINE);
        self.marks[bucket(first)] || (first + 1..=last).any(|line| self.marks[bucket(line)])
    }

    #[cold]
    fn tick(&mut self) {
        self.phase = self.drawing.tick(self.now, &mut self.plans);
        self.marks.iter_mut().zip(self.plans.iter()).for_each(|(mark, plan)| *mark = plan.is_drawn());
    }

    /// An access or a removal; it is told if it is looked at.
    #[inline(always)]
    pub fn access(&mut self, access: Access, cell: CellNumber, tell: &mut impl FnMut(Looked)) {
        let Access { addr: address, len, kind } = access;
        if len == 0 {
            return;
        }
        if self.now >= self.phase.until {
            self.tick();
        }
        let deed = deed(kind);
        if deed == Deed::Read {
            self.reads(cell, len.into());
        }
        if self.phase.is_burst || self.marks(address, len.into()) {
            tell(Looked { time: self.now, address, len, deed, cell });
        }
        self.now += u64::from(deed != Deed::Removed);
    }

    #[inline(always)]
    fn reads(&mut self, cell: CellNumber, bytes: u64) {
        if let Some(read) = self.read.get_mut(cell.index()) {
            *read += bytes;
        }
    }

    /// An affine run, each stream with its label.
    pub fn run(&mut self, streams: &[Stream], labels: &[AccessTag], iterations: u64, mut tell: impl FnMut(Looked)) {
        let is_timed = |stream: &Stream| stream.len > 0 && stream.kind != Kind::Remove;
        let width = if streams.iter().all(is_timed) { streams.len() as u64 } else { 0 };
        let mut at = 0;
        while at < iterations {
            let quiet = if self.phase.is_burst { 0 } else { self.phase.until.saturating_sub(self.now) };
            let whole = quiet.checked_div(width).unwrap_or(0).min(iterations - at);
            if whole == 0 {
                for (stream, label) in streams.iter().zip(labels) {
                    self.access(stream.access(at), label.cell(), &mut tell);
                }
                at += 1;
                continue;
            }
            self.marked(streams, labels, at..at + whole, &mut tell);
            at += whole;
        }
    }

    /// Iterations of a run in which nothing changes and no burst runs: only what is marked need be looked at.
    fn marked(
        &mut self,
        streams: &[Stream],
        labels: &[AccessTag],
        iterations: Range<u64>,
        tell: &mut impl FnMut(Looked),
    ) {
        let (before, width) = (self.now, streams.len() as u64);
        for (stream, label) in streams.iter().zip(labels).filter(|(stream, _)| deed(stream.kind) == Deed::Read) {
            self.reads(label.cell(), u64::from(stream.len) * (iterations.end - iterations.start));
        }
        let visit = |stream: &Stream, from| next_visit(&self.marks, stream, from..iterations.end);
        let mut next: Vec<u64> = streams.iter().map(|stream| visit(stream, iterations.start)).collect();
        while let Some(&iteration) = next.iter().min().filter(|iteration| **iteration < iterations.end) {
            for (number, (stream, label)) in streams.iter().zip(labels).enumerate() {
                if next[number] == iteration {
                    let time = before + (iteration - iterations.start) * width + number as u64;
                    let Access { addr: address, len, kind } = stream.access(iteration);
                    tell(Looked { time, address, len, deed: deed(kind), cell: label.cell() });
                    next[number] = visit(stream, iteration + 1);
                }
            }
        }
        self.now = before + (iterations.end - iterations.start) * width;
    }
}

fn deed(kind: Kind) -> Deed {
    match kind {
        Kind::Load | Kind::Last => Deed::Read,
        Kind::Store | Kind::Fresh => Deed::Written,
        Kind::Remove => Deed::Removed,
    }
}
