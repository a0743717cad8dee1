//! What a memory of lines would fetch and write back, at every capacity at once.
//!
//! Takes the accesses of a ring in program order, with the cells that they belong to; gives, for each cell, the depths
//! at which its loads and its stores found their lines in one LRU stack of lines (a store brings its line in, as a load
//! does), and of the lines that it wrote the greatest depth at which they were found before they were written again. A
//! memory of `Z` lines fetches what lies deeper than `Z`, and writes a line back if that greatest depth is more than
//! `Z` (Thompson and Smith, "Efficient (Stack) Algorithms for Analysis of Write-Back and Sector Memories", 1989). What
//! is still dirty at the end of the program is written back then.
//!
//! Lines have no liveness: hardware does not know that a block was freed. Depths up to [`FRONT`] are not told apart.

use super::{
    back::{Back, Entering},
    boundary::LineBoundary,
    front::{FRONT, Front},
    groups::Groups,
    ledger::{Filed, Ledger},
    long_runs::LongRun,
};
use crate::{
    counts::{
        cell::{CellCounters, file_lines},
        lines::LineCounts,
        pairs::CellPairs,
    },
    decode::block::CellNumber,
    engine::{AccessTag, Isa, Kind, Stream},
    histogram::bucket_of,
    observe::{
        observer::Observer,
        writer::{UNKNOWN, WriterNumber},
    },
    oplog::Op,
};

/// The lines of one ring.
pub struct Lines {
    pub(super) shift: u32,
    pub(super) isa: Isa,
    pub(super) front: Front,
    pub(super) back: Back,
    pub(super) ledger: Ledger,
    pub(super) groups: Groups,
    pub(super) long_run: LongRun,
}

impl Lines {
    /// Lines of `bytes` bytes, a power of two.
    #[must_use]
    pub fn new(bytes: u32) -> Self {
        Self {
            shift: bytes.trailing_zeros(),
            isa: Isa::detect(),
            front: Front::default(),
            back: Back::new(bytes.trailing_zeros()),
            ledger: Ledger::new(bytes.trailing_zeros()),
            groups: Groups::default(),
            long_run: LongRun::default(),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn op_avx2(&mut self, op: Op<'_>) {
        self.op_here(op);
    }

    #[inline(always)]
    fn op_here(&mut self, op: Op<'_>) {
        match op {
            Op::Accesses { accesses, labels } => {
                for (access, label) in accesses.iter().zip(labels) {
                    self.access(access.addr, access.len, access.kind, label.cell());
                }
            }
            Op::Run { streams, labels, iterations } => self.run_here(streams, labels, iterations),
            // Hardware knows of nothing else.
            _ => {}
        }
    }

    #[inline(always)]
    fn run_here(&mut self, streams: &[Stream], labels: &[AccessTag], iterations: u64) {
        if self.follow_groups(streams, labels, iterations) {
            return;
        }
        for iteration in 0..iterations {
            for (stream, &label) in streams.iter().zip(labels) {
                self.access(stream.address_at(iteration), stream.len, stream.kind, label.cell());
            }
        }
    }

    #[inline(always)]
    pub(super) fn access(&mut self, address: u64, len: u32, kind: Kind, cell: CellNumber) {
        if kind == Kind::Remove || len == 0 {
            return;
        }
        let is_store = matches!(kind, Kind::Store | Kind::Fresh);
        let last = address.saturating_add(u64::from(len) - 1) >> self.shift;
        let mut line = address >> self.shift;
        self.touch(line, is_store, cell);
        while line < last {
            line += 1;
            self.touch(line, is_store, cell);
        }
    }

    #[inline(always)]
    fn touch(&mut self, line: u64, is_store: bool, cell: CellNumber) {
        let place = self.come(line, is_store, cell);
        if is_store {
            self.write(place, WriterNumber::from_cell(self.ledger.countable(cell)));
        }
    }

    /// A line comes first; gives its place.
    #[inline(always)]
    pub(super) fn come(&mut self, line: u64, is_store: bool, cell: CellNumber) -> usize {
        let first = self.front.first();
        if self.front.line(first) == line {
            return first;
        }
        let Some(place) = self.front.find(line) else { return self.enter(line, is_store, cell) };
        let before = self.front.raise(place);
        if before >= FRONT {
            self.sank(place, before as u64 + 1, is_store, cell);
        }
        place
    }

    /// A line was in front, but at a depth that counts.
    #[inline(never)]
    fn sank(&mut self, place: usize, depth: u64, is_store: bool, cell: CellNumber) {
        let bucket = bucket_of(depth);
        self.front.sank(place, bucket);
        self.ledger.add(cell, Filed::for_access(is_store), bucket, 1);
    }

    /// A line comes in front, and another one leaves.
    #[inline(always)]
    pub(super) fn enter(&mut self, line: u64, is_store: bool, cell: CellNumber) -> usize {
        let (place, left) = self.front.enter(line);
        let cell = self.ledger.countable(cell);
        if self.back.queue(Entering { line, cell, is_store, place: place as u8, left }) {
            self.work();
        }
        place
    }

    #[inline(never)]
    fn work(&mut self) {
        match self.isa {
            Isa::Portable => self.back.work(&mut self.ledger),
            // SAFETY: `Isa::detect` has found these instructions.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { self.work_avx2() },
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 => self.back.work(&mut self.ledger),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn work_avx2(&mut self) {
        self.back.work(&mut self.ledger);
    }

    /// The line at a place, which was touched just now, is written (by a cell's number plus one).
    #[inline(always)]
    pub(super) fn write(&mut self, place: usize, writer: WriterNumber) {
        if let Some((cell, bucket)) = self.front.write(place, writer) {
            self.ledger.add(cell, Filed::WriteBack, bucket, 1);
        }
    }

    /// The counts by cell, and by pair of cells.
    #[must_use]
    pub fn counts(mut self) -> (Vec<Option<Box<LineCounts>>>, CellPairs) {
        self.back.finish(&self.front, &mut self.ledger);
        self.ledger.finish()
    }
}

impl Observer for Lines {
    type Part = LineBoundary;

    fn op(&mut self, op: Op<'_>) {
        match self.isa {
            // SAFETY: `Isa::detect` has found these instructions.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { self.op_avx2(op) },
            _ => self.op_here(op),
        }
    }

    fn set_known(&mut self, cells: usize) {
        self.ledger.set_known(cells);
    }

    fn heap_bytes(&self) -> u64 {
        self.back.heap_bytes() + self.ledger.heap_bytes()
    }

    fn finish(self, cells: &mut [CellCounters], of: (usize, usize)) -> CellPairs {
        let (counts, pairs) = self.counts();
        file_lines(cells, counts, of);
        // Of the lines that are shown.
        if of.0 == 0 { pairs } else { CellPairs::default() }
    }

    fn start_parts(&mut self) {
        self.back.slice = Some(Box::default());
    }

    fn cut(&mut self) -> LineBoundary {
        let mut boundary = self.back.end_slice(&self.front, &mut self.ledger);
        boundary.bytes = 1 << self.shift;
        self.front = Front::default();
        boundary
    }

    fn continuing(part: &LineBoundary) -> Self {
        let mut both = Self::new(part.bytes);
        both.start_parts();
        both.resolve(part, |cell| cell);
        both
    }

    fn resolve(&mut self, part: &LineBoundary, mut number: impl FnMut(CellNumber) -> CellNumber) {
        self.back.clear_front(&self.front, 0, &mut self.ledger);
        self.front = Front::default();
        let known = |cell| if cell == UNKNOWN { UNKNOWN } else { number(cell) };
        self.back.resolve(part, known, &mut self.ledger);
    }

    fn is_sound(part: &LineBoundary, cells: usize) -> bool {
        part.is_sound(cells)
    }

    fn fits(&self, part: &LineBoundary) -> bool {
        part.bytes == 1 << self.shift
    }
}
