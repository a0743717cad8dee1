//! Caches of sets and ways, one behind the other, as hardware has them.
//!
//! Takes the accesses of a ring in program order, with the cells that they belong to, and the geometry of each level;
//! gives, for each cell and level, the lines that its loads and its stores brought in and those of its lines that
//! were written back. A store brings its line in. Each level holds what the levels before it hold: a line that leaves
//! it leaves them too. What is dirty at the end of the program is written back then. A level sees only what the one
//! before it misses.

use super::{geometry::Geometry, level::Level};
use crate::{
    counts::{
        caches::{ByLevel, CacheCounts},
        cell::CellCounters,
        pairs::CellPairs,
    },
    decode::block::CellNumber,
    engine::{Access, Kind},
    observe::{
        observer::Observer,
        writer::{UNKNOWN, WriterNumber},
    },
    oplog::Op,
};

/// The caches of one ring.
pub struct Caches {
    shift: u32,
    levels: Vec<Level>,
    /// By cell, and by level in that.
    counts: Vec<Option<ByLevel>>,
}

impl Caches {
    /// Levels that [`check`](super::check) lets pass, the first nearest to the processor.
    #[must_use]
    pub fn new(levels: &[Geometry]) -> Self {
        let shift = levels.first().map_or(0, |level| level.line.trailing_zeros());
        Self { shift, levels: levels.iter().map(Level::new).collect(), counts: Vec::new() }
    }

    fn counts(&mut self, cell: CellNumber, level: usize) -> Option<&mut CacheCounts> {
        let levels = self.levels.len();
        let counts = self.counts.get_mut(cell.index())?;
        counts.get_or_insert_with(|| vec![CacheCounts::default(); levels].into()).get_mut(level)
    }

    #[inline]
    fn access(&mut self, access: Access, cell: CellNumber) {
        let Access { addr, len, kind } = access;
        if kind == Kind::Remove || len == 0 {
            return;
        }
        let is_store = matches!(kind, Kind::Store | Kind::Fresh);
        let last = addr.saturating_add(u64::from(len) - 1) >> self.shift;
        for line in addr >> self.shift..=last {
            self.line(line, is_store, cell);
        }
    }

    #[inline]
    fn line(&mut self, line: u64, is_store: bool, cell: CellNumber) {
        if !self.levels.first_mut().is_some_and(|first| first.touch(line)) {
            self.bring(line, is_store, cell);
        }
        if is_store && let Some(first) = self.levels.first_mut() {
            // Whose it is stays unknown for ever if it is not known now.
            let known = if cell.index() < self.counts.len() { cell } else { UNKNOWN };
            first.write(line, WriterNumber::from_cell(known));
        }
    }

    /// Brings a line in that the first level does not have.
    fn bring(&mut self, line: u64, is_store: bool, cell: CellNumber) {
        let missing = (1..self.levels.len()).find(|&level| self.levels[level].touch(line)).unwrap_or(self.levels.len());
        for level in (0..missing).rev() {
            if let Some(counts) = self.counts(cell, level) {
                *(if is_store { &mut counts.stores } else { &mut counts.loads }) += 1;
            }
            if let Some((gone, writer)) = self.levels[level].insert(line) {
                self.leave(level, gone, writer);
            }
        }
    }

    /// A line has left a level, with who wrote it last there: it leaves those before it, and is written to the one
    /// behind it.
    fn leave(&mut self, level: usize, line: u64, writer: Option<WriterNumber>) {
        let mut last = writer;
        for before in (0..level).rev() {
            if let Some(writer) = self.levels[before].remove(line).flatten() {
                self.written_back(before, writer);
                last = Some(writer);
            }
        }
        if let Some(writer) = last {
            self.written_back(level, writer);
            if let Some(behind) = self.levels.get_mut(level + 1) {
                behind.write(line, writer);
            }
        }
    }

    fn written_back(&mut self, level: usize, writer: WriterNumber) {
        if let Some(counts) = self.counts(writer.cell(), level) {
            counts.write_backs += 1;
        }
    }
}

impl Observer for Caches {
    type Part = ();

    fn op(&mut self, op: Op<'_>) {
        // Hardware knows of nothing else.
        op.each_access(|access, label| self.access(access, label.cell()));
    }

    fn set_known(&mut self, cells: usize) {
        if cells > self.counts.len() {
            self.counts.resize_with(cells, || None);
        }
    }

    fn heap_bytes(&self) -> u64 {
        self.levels.iter().map(Level::heap_bytes).sum()
    }

    fn finish(mut self, cells: &mut [CellCounters], _: (usize, usize)) -> CellPairs {
        for level in 0..self.levels.len() {
            for (line, writer) in self.levels[level].dirty() {
                self.written_back(level, writer);
                if let Some(behind) = self.levels.get_mut(level + 1) {
                    behind.write(line, writer);
                }
            }
        }
        cells.iter_mut().zip(self.counts).for_each(|(cell, counts)| cell.caches = counts);
        CellPairs::default()
    }
}
