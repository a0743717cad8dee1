//! The filter, and who is told of what passes.
//!
//! Takes every access with its cell, in order; gives what each cell read, estimated.

use std::ops::Range;

use super::{
    bursts::Bursts,
    fixed::Fixed,
    ledger::{Ledger, Sampled},
    stack::{LINE, Piece, pieces},
    turns::Turns,
};
use crate::{
    abi::sample::{BUCKET_SHIFT, BUCKETS, Design, HASH, Pace, bucket},
    decode::block::CellNumber,
    engine::{Access, Kind, Label, Stream},
    observe::follower::Follower,
};

/// Marks of a bucket.
const FIXED: u8 = 1;
const QUICK: u8 = 2;
const SLOW: u8 = 4;
/// Marks of sets that take turns, in the order of their paces.
const TURNS: [u8; 2] = [QUICK, SLOW];

/// Lines beyond which a range that ends is looked for in the stacks, not line by line.
const LONG: u64 = 4096;

/// Draws a sample of what a thread does.
pub struct Sampler {
    /// Loads and stores so far.
    now: u64,
    /// When bursts or sets change.
    next: u64,
    bursts: Bursts,
    /// Quick and slow ones.
    turns: [Turns; 2],
    fixed: Fixed,
    marks: Box<[u8; BUCKETS]>,
    ledger: Ledger,
}

impl Sampler {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(design: Design) -> Self {
        let mut sampler = Sampler {
            now: 0,
            next: 0,
            bursts: Bursts::new(design),
            turns: Pace::ALL.map(|pace| Turns::new(design, pace)),
            fixed: Fixed::new(design),
            marks: Box::new([0; BUCKETS]),
            ledger: Ledger::default(),
        };
        sampler.tick();
        sampler
    }

    /// There are so many cells; those with higher numbers do not count.
    pub fn set_known(&mut self, cells: usize) {
        self.ledger.set_known(cells);
    }

    /// So many loads and stores have passed. Time never goes back.
    pub fn set_time(&mut self, now: u64) {
        const MOST: u64 = 1 << 62;
        if (self.now..MOST).contains(&now) {
            self.now = now;
        }
    }

    /// The time, if so many accesses from now on only marked lines are looked at, and always the same ones.
    #[must_use]
    pub fn quiet_for(&self, accesses: u64) -> Option<u64> {
        (!self.bursts.are_running() && self.now + accesses < self.next).then_some(self.now)
    }

    /// Whether bytes are in marked lines.
    #[inline]
    #[must_use]
    pub fn marks(&self, address: u64, len: u64) -> bool {
        let (first, last) = (address / LINE, address.saturating_add(len.saturating_sub(1)) / LINE);
        self.marks[bucket(first)] != 0 || (first + 1..=last).any(|line| self.marks[bucket(line)] != 0)
    }

    #[cold]
    fn tick(&mut self) {
        self.next =
            self.turns.iter_mut().fold(self.bursts.tick(self.now), |next, turns| next.min(turns.tick(self.now)));
        for (bucket, mark) in self.marks.iter_mut().enumerate() {
            let fixed = if self.fixed.has(bucket) { FIXED } else { 0 };
            let turns = self.turns.iter().zip(TURNS).filter(|(turns, _)| turns.has(bucket));
            *mark = turns.fold(fixed, |all, (_, mark)| all | mark);
        }
    }

    #[inline(always)]
    fn access(&mut self, access: Access, cell: CellNumber) {
        let Access { addr, len, kind } = access;
        let is_read = match kind {
            Kind::Load | Kind::Last => true,
            Kind::Store | Kind::Fresh => false,
            Kind::Remove => return self.remove(addr, len.into()),
        };
        if len == 0 {
            return;
        }
        if self.now >= self.next {
            self.tick();
        }
        if is_read {
            self.ledger.read(cell, len.into());
        }
        if self.marks(addr, len.into()) || self.bursts.are_running() {
            self.look(addr, len.into(), is_read, cell);
        }
        self.now += 1;
    }

    /// An access of which something passes. Everything is priced before anything moves.
    #[inline(never)]
    fn look(&mut self, address: u64, len: u64, is_read: bool, cell: CellNumber) {
        let from = address % LINE;
        if from + len <= LINE {
            let (line, to) = (address / LINE, (from + len) as usize);
            let piece = Piece { line, from: from as usize, to };
            return self.visit(piece, is_read, true, cell);
        }
        if is_read {
            pieces(address, len).for_each(|piece| self.visit(piece, true, false, cell));
        }
        pieces(address, len).for_each(|piece| self.visit(piece, false, true, cell));
    }

    /// A part of an access is read, moves to the top, or both.
    #[inline(always)]
    fn visit(&mut self, piece: Piece, is_read: bool, moves: bool, cell: CellNumber) {
        let Self { now, bursts, turns, fixed, marks, ledger, .. } = self;
        let (bucket, now) = (bucket(piece.line), *now);
        let (place, mark) = ((piece, bucket), marks[bucket]);
        if bursts.are_running() {
            let entry = bursts.find(piece.line);
            if is_read {
                bursts.read(entry, piece, now, fixed, (cell, ledger));
            }
            if moves {
                bursts.touch(entry, piece, now);
            }
        }
        for turns in drawn(turns, mark) {
            let entry = turns.find(piece.line, bucket);
            if is_read {
                turns.read(entry, place, now, fixed, (cell, ledger));
            }
            if moves {
                turns.touch(entry, place, now);
            }
        }
        if mark & FIXED != 0 {
            let entry = fixed.find(piece.line);
            if is_read {
                fixed.read(entry, place, now, (cell, ledger));
            }
            if moves {
                fixed.touch(entry, place, now);
            }
        }
    }

    /// Bytes leave. Of long ranges, nobody remembers when.
    fn remove(&mut self, address: u64, len: u64) {
        if len == 0 {
            return;
        }
        let bursting = self.bursts.are_running();
        if len / LINE > LONG {
            self.turns.iter_mut().for_each(|turns| turns.forget_range(address, len));
            self.fixed.stack().forget_range(address, len);
            if bursting {
                self.bursts.stack().forget_range(address, len);
            }
            return;
        }
        for piece in pieces(address, len) {
            let bucket = bucket(piece.line);
            let mark = self.marks[bucket];
            if bursting {
                self.bursts.stack().leave(piece, self.now);
            }
            for turns in drawn(&mut self.turns, mark) {
                turns.stack(bucket).leave(piece, self.now);
            }
            if mark & FIXED != 0 {
                self.fixed.stack().leave(piece, self.now);
            }
        }
    }

    /// Bytes move with their places on the stack.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        if len == 0 || from == to {
            return;
        }
        self.turns.iter_mut().for_each(|turns| turns.relocate(from, to, len, bucket));
        self.fixed.relocate(from, to, len, bucket);
        if self.bursts.are_running() {
            self.bursts.stack().relocate(from, to, len, true, |_| true);
        }
    }

    /// Declared input: bytes that are read for the first time, whatever lay there.
    pub fn input(&mut self, address: u64, len: u64) {
        self.remove(address, len);
    }

    /// What was seen.
    #[must_use]
    pub fn finish(self) -> Sampled {
        self.ledger.finish()
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let stacks = self.bursts.heap_bytes() + self.fixed.heap_bytes();
        let turns: u64 = self.turns.iter().map(Turns::heap_bytes).sum();
        stacks + turns + self.ledger.heap_bytes()
    }
}

impl Follower for Sampler {
    fn accesses(&mut self, accesses: &[Access], labels: &[Label]) {
        for (access, label) in accesses.iter().zip(labels) {
            self.access(*access, label.cell());
        }
    }

    fn run(&mut self, streams: &[Stream], labels: &[Label], iterations: u64) {
        let is_timed = |stream: &Stream| stream.len > 0 && stream.kind != Kind::Remove;
        let width = if streams.iter().all(is_timed) { streams.len() as u64 } else { 0 };
        let mut at = 0;
        while at < iterations {
            let quiet = if self.bursts.are_running() { 0 } else { self.next.saturating_sub(self.now) };
            let whole = quiet.checked_div(width).unwrap_or(0).min(iterations - at);
            if whole == 0 {
                for (stream, label) in streams.iter().zip(labels) {
                    self.access(stream.access(at), label.cell());
                }
                at += 1;
                continue;
            }
            self.marked(streams, labels, at..at + whole);
            at += whole;
        }
    }
}

impl Sampler {
    /// Iterations of a run in which nothing changes and no burst runs: only what is marked need be looked at.
    fn marked(&mut self, streams: &[Stream], labels: &[Label], iterations: Range<u64>) {
        let (before, width) = (self.now, streams.len() as u64);
        for (stream, label) in streams.iter().zip(labels).filter(|(stream, _)| is_read(stream.kind)) {
            self.ledger.read(label.cell(), u64::from(stream.len) * (iterations.end - iterations.start));
        }
        let visit = |marks: &[u8; BUCKETS], stream: &Stream, from| next_visit(marks, stream, from..iterations.end);
        let mut next: Vec<u64> = streams.iter().map(|stream| visit(&self.marks, stream, iterations.start)).collect();
        while let Some(&iteration) = next.iter().min().filter(|iteration| **iteration < iterations.end) {
            for (number, (stream, label)) in streams.iter().zip(labels).enumerate() {
                if next[number] == iteration {
                    self.now = before + (iteration - iterations.start) * width + number as u64;
                    let Access { addr, len, .. } = stream.access(iteration);
                    self.look(addr, len.into(), is_read(stream.kind), label.cell());
                    next[number] = visit(&self.marks, stream, iteration + 1);
                }
            }
        }
        self.now = before + (iterations.end - iterations.start) * width;
    }
}

/// Sets that take turns, of the paces that a bucket's marks name.
fn drawn(turns: &mut [Turns; 2], marks: u8) -> impl Iterator<Item = &mut Turns> {
    turns.iter_mut().zip(TURNS).filter(move |(_, own)| marks & own != 0).map(|(turns, _)| turns)
}

fn is_read(kind: Kind) -> bool {
    matches!(kind, Kind::Load | Kind::Last)
}

/// The first of some iterations in which a stream touches a line that is marked; their end if there is none.
fn next_visit(marks: &[u8; BUCKETS], stream: &Stream, iterations: Range<u64>) -> u64 {
    let Some(more) = (iterations.end - iterations.start).checked_sub(1) else { return iterations.end };
    let (stride, step, len) = (stream.stride, stream.stride.unsigned_abs(), u64::from(stream.len));
    let address = stream.at(iterations.start);
    let distance = step.saturating_mul(more);
    let (low, high) = if stride >= 0 {
        (Some(address), address.checked_add(distance.saturating_add(len - 1)))
    } else {
        (address.checked_sub(distance), address.checked_add(len - 1))
    };
    let is_one_line = step > 0 && step.is_multiple_of(LINE) && address % LINE + len <= LINE;
    if is_one_line && low.is_some() && high.is_some() {
        let by = stride / LINE as i64;
        let found = first_marked(marks, address / LINE, by, more);
        return found.map_or(iterations.end, |steps| iterations.start + steps);
    }
    let (true, Some(low), Some(high)) = (step < LINE, low, high) else {
        let is_marked = |at: &u64| {
            let address = stream.at(*at);
            let line = address / LINE;
            first_marked(marks, line, 1, address.saturating_add(len - 1) / LINE - line).is_some()
        };
        return iterations.clone().find(is_marked).unwrap_or(iterations.end);
    };
    // It touches every line from its first to its last.
    let (low, high) = (low / LINE, high / LINE);
    let (first, by) = if stride >= 0 { (low, 1) } else { (high, -1) };
    let Some(steps) = first_marked(marks, first, by, high - low) else { return iterations.end };
    let line = first.wrapping_add_signed(by * steps as i64);
    // The stream comes there when what it touches first of a line has gone so far.
    let away = if stride >= 0 {
        (line * LINE).saturating_sub(address + (len - 1))
    } else {
        address.saturating_sub(line * LINE + (LINE - 1))
    };
    iterations.start + if step == 0 { 0 } else { away.div_ceil(step) }
}

/// How many steps from a line on, of so many lines each, the first one that is marked is; nothing if there is none
/// within `most` steps.
#[inline]
fn first_marked(marks: &[u8; BUCKETS], line: u64, by: i64, most: u64) -> Option<u64> {
    // Steps of the hash are as long as each other, too.
    let (mut hash, step) = (line.wrapping_mul(HASH), by.cast_unsigned().wrapping_mul(HASH));
    (0..=most).find(|_| {
        let is_marked = marks[(hash >> BUCKET_SHIFT) as usize] != 0;
        hash = hash.wrapping_add(step);
        is_marked
    })
}
