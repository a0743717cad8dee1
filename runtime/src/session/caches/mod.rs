//! Caches of sets and ways, one behind the other, as hardware has them.
//!
//! Takes the accesses of a ring in program order, with the cells that they belong to, and the geometry of each level;
//! gives, for each cell and level, the lines that its loads and its stores brought in and those of its lines that
//! were written back. A store brings its line in. Each level holds what the levels before it hold: a line that leaves
//! it leaves them too. What is dirty at the end of the program is written back then. A level sees only what the one
//! before it misses. Refuses geometries that no such cache has.

mod level;
#[cfg(test)]
mod tests;

use level::Level;

use super::pipeline::Follower;
use crate::engine::{Access, Kind, Stream};

/// How a set chooses the line that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The one used longest ago.
    Lru,
    /// A tree of bits, each pointing away from the half that was used last.
    TreePlru,
}

/// One level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub bytes: u64,
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
    pub policy: Policy,
}

/// Most levels.
pub const MOST_LEVELS: usize = 4;
/// Most lines of a level, as each takes memory here.
const MOST_LINES: u64 = 1 << 26;
/// Most ways of a tree of bits.
const MOST_PLRU: u32 = 64;

impl Geometry {
    /// The number of its sets.
    ///
    /// # Errors
    /// Why there is no such cache.
    pub fn sets(&self) -> Result<u64, String> {
        let Self { bytes, ways, line, policy } = *self;
        if !line.is_power_of_two() || line < 2 {
            return Err(format!("lines of {line} bytes: must be a power of two of at least 2"));
        }
        if ways == 0 {
            return Err("a cache needs at least one way".into());
        }
        if bytes == 0 || bytes / u64::from(line) > MOST_LINES {
            return Err(format!("{bytes} bytes in lines of {line}: must be from 1 to {MOST_LINES} lines"));
        }
        let way = u64::from(line) * u64::from(ways);
        if bytes % way != 0 {
            return Err(format!("{bytes} bytes cannot be divided into {ways} ways of lines of {line} bytes"));
        }
        let sets = bytes / way;
        if !sets.is_power_of_two() {
            return Err(format!(
                "{bytes} bytes in {ways} ways of lines of {line} bytes are {sets} sets: must be a power of two"
            ));
        }
        if policy == Policy::TreePlru && !(ways.is_power_of_two() && ways <= MOST_PLRU) {
            return Err(format!("plru with {ways} ways: must be a power of two up to {MOST_PLRU}"));
        }
        Ok(sets)
    }
}

/// Whether levels can be one behind the other, the first nearest to the processor.
///
/// # Errors
/// Why not.
pub fn check(levels: &[Geometry]) -> Result<(), String> {
    if levels.len() > MOST_LEVELS {
        return Err(format!("{} levels: at most {MOST_LEVELS} are simulated", levels.len()));
    }
    for level in levels {
        level.sets()?;
    }
    for (near, far) in levels.iter().zip(levels.iter().skip(1)) {
        if near.line != far.line {
            return Err(format!("levels with lines of {} and {} bytes: all must have the same", near.line, far.line));
        }
        if far.bytes <= near.bytes {
            return Err(format!(
                "a level of {} bytes behind one of {}: each must be larger, as it holds what those before it hold",
                far.bytes, near.bytes
            ));
        }
    }
    Ok(())
}

/// Lines that one site moved in and out of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Brought in.
    pub loads: u64,
    pub stores: u64,
    pub write_backs: u64,
}

impl CacheCounts {
    pub fn merge(&mut self, other: &Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.write_backs += other.write_backs;
    }
}

/// The counts of a cell, by level.
pub type ByLevel = Box<[CacheCounts]>;

/// Adds the counts of another cell at the same levels.
pub fn merge(counts: &mut Option<ByLevel>, other: &ByLevel) {
    match counts {
        Some(counts) => counts.iter_mut().zip(other).for_each(|(counts, other)| counts.merge(other)),
        None => *counts = Some(other.clone()),
    }
}

/// The caches of one ring.
pub struct Caches {
    shift: u32,
    levels: Vec<Level>,
    /// By cell, and by level in that.
    counts: Vec<Option<ByLevel>>,
}

impl Caches {
    /// Levels that [`check`] lets pass, the first nearest to the processor.
    #[must_use]
    pub fn new(levels: &[Geometry]) -> Self {
        let shift = levels.first().map_or(0, |level| level.line.trailing_zeros());
        Self { shift, levels: levels.iter().map(Level::new).collect(), counts: Vec::new() }
    }

    /// There are so many cells now; what follows for others is not counted.
    pub fn set_known(&mut self, cells: usize) {
        if cells > self.counts.len() {
            self.counts.resize_with(cells, || None);
        }
    }

    fn counts(&mut self, cell: u32, level: usize) -> Option<&mut CacheCounts> {
        let levels = self.levels.len();
        let counts = self.counts.get_mut(cell as usize)?;
        counts.get_or_insert_with(|| vec![CacheCounts::default(); levels].into()).get_mut(level)
    }

    #[inline]
    fn access(&mut self, access: Access, cell: u32) {
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
    fn line(&mut self, line: u64, is_store: bool, cell: u32) {
        if !self.levels.first_mut().is_some_and(|first| first.touch(line)) {
            self.bring(line, is_store, cell);
        }
        if is_store && let Some(first) = self.levels.first_mut() {
            // Whose it is stays unknown for ever if it is not known now.
            let writer = if (cell as usize) < self.counts.len() { cell } else { u32::MAX - 1 };
            first.write(line, writer);
        }
    }

    /// Brings a line in that the first level does not have.
    fn bring(&mut self, line: u64, is_store: bool, cell: u32) {
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
    fn leave(&mut self, level: usize, line: u64, writer: Option<u32>) {
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

    fn written_back(&mut self, level: usize, writer: u32) {
        if let Some(counts) = self.counts(writer, level) {
            counts.write_backs += 1;
        }
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.levels.iter().map(Level::heap_bytes).sum()
    }

    /// The counts by cell, and by level in that.
    #[must_use]
    pub fn finish(mut self) -> Vec<Option<ByLevel>> {
        for level in 0..self.levels.len() {
            for (line, writer) in self.levels[level].dirty() {
                self.written_back(level, writer);
                if let Some(behind) = self.levels.get_mut(level + 1) {
                    behind.write(line, writer);
                }
            }
        }
        self.counts
    }
}

impl Follower for Caches {
    fn accesses(&mut self, accesses: &[Access], cells: &[u32]) {
        for (access, &cell) in accesses.iter().zip(cells) {
            self.access(*access, cell);
        }
    }

    fn run(&mut self, streams: &[Stream], cells: &[u32], iterations: u64) {
        for iteration in 0..iterations {
            for (stream, &cell) in streams.iter().zip(cells) {
                self.access(Access { addr: stream.at(iteration), len: stream.len, kind: stream.kind }, cell);
            }
        }
    }
}
