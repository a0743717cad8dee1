//! What each tile touches, byte by byte: for kernels that are small enough to be read.
//!
//! Takes the accesses and tiles that [`super::movement`] counts, gives the set of every tile of every level, up to a
//! limit.

use std::collections::{BTreeMap, BTreeSet};

use super::nest::{Level, LevelNumber, Nest};
use crate::objects::ObjectNumber;

/// A byte: number of the block in its array (in the order of their lives), offset in the block.
pub type ArrayByte = (u32, u64);
/// Block, first byte, byte after the last.
pub type ArrayRange = (u32, u64, u64);

/// What one tile touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileSet {
    /// The loop in its nest, whose tile it is.
    pub level: LevelNumber,
    /// Iterations of the running loops, outermost first.
    pub timestamp: Vec<u64>,
    /// It is the first of an invocation.
    pub first: bool,
    /// By array: what was touched.
    pub arrays: Vec<(ObjectNumber, Vec<ArrayRange>)>,
}

/// A tile at hand.
#[derive(Default)]
struct Open {
    timestamp: Vec<u64>,
    first: bool,
    touched: BTreeMap<ObjectNumber, BTreeSet<ArrayByte>>,
}

/// What tiles touch, byte by byte, up to a limit.
pub struct Elements {
    open: Vec<Open>,
    tiles: Vec<TileSet>,
    /// Bytes in sets that may still be written down.
    left: u64,
}

impl Elements {
    /// Nothing was touched; `limit` bytes can be written down.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { open: Vec::new(), tiles: Vec::new(), left: limit }
    }

    /// There was more than the limit allows.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.left == 0
    }

    /// A tile begins; call once per level, outermost first, when [`Nest::open`] has said so.
    pub fn begin(&mut self, number: LevelNumber, level: &Level, timestamp: Vec<u64>) {
        self.end(number);
        if self.open.len() <= number.index() {
            self.open.resize_with(number.index() + 1, Open::default);
        }
        self.open[number.index()] = Open { timestamp, first: level.first, touched: BTreeMap::new() };
    }

    /// The tiles at hand touch bytes of an array.
    pub fn touch(&mut self, nest: &Nest, array: ObjectNumber, (block, offset): ArrayByte, len: u64) {
        if self.is_cut() {
            return;
        }
        for level in nest.running() {
            let set = self.open[level.index()].touched.entry(array).or_default();
            let before = set.len();
            set.extend((offset..offset + len).map(|byte| (block, byte)));
            self.left = self.left.saturating_sub((set.len() - before) as u64);
        }
    }

    fn end(&mut self, number: LevelNumber) {
        let Some(open) = self.open.get_mut(number.index()).map(std::mem::take) else { return };
        if open.touched.is_empty() || self.is_cut() {
            return;
        }
        let arrays = open.touched.iter().map(|(array, places)| (*array, ranges(places))).collect();
        self.tiles.push(TileSet { level: number, timestamp: open.timestamp, first: open.first, arrays });
    }

    /// The tiles, by level and in the order of execution, and whether some are missing.
    #[must_use]
    pub fn finish(mut self) -> (Vec<TileSet>, bool) {
        (0..self.open.len()).for_each(|level| self.end(LevelNumber::new(level)));
        self.tiles.sort_by_key(|tile| tile.level);
        let cut = self.is_cut();
        (self.tiles, cut)
    }
}

fn ranges(places: &BTreeSet<ArrayByte>) -> Vec<ArrayRange> {
    let mut ranges: Vec<ArrayRange> = Vec::new();
    for &(block, byte) in places {
        match ranges.last_mut() {
            Some(last) if last.0 == block && last.2 == byte => last.2 += 1,
            _ => ranges.push((block, byte, byte + 1)),
        }
    }
    ranges
}
