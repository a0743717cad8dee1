//! Counts what each tile brings in, array by array, at every running level.
//!
//! Takes accesses (address, length, array) and the tiles of [`Nest`]; gives one [`Row`] per level and array. A byte is
//! *filled* at a level when a tile touches it that the tile before it did not touch. Levels are looked at from the
//! inside: what the inner tile has touched before, the outer ones have too, so that an access costs as much as it
//! changes.

use std::collections::HashMap;

use super::{
    nest::{FIRST_TILE, LevelNumber, Nest},
    rows::RowResult,
    stamps::{BlockNumber, PageNumber, Piece, Stamps},
};
use crate::{hash::FastHash, numbers::niche_number, objects::ObjectNumber};

niche_number! {
    /// Number of a row.
    RowNumber
}

/// What one array did at one level.
#[derive(Clone, Debug)]
pub struct Row {
    /// Accesses and bytes accessed are those with this as the innermost level.
    pub counts: RowResult,
    /// The row of this array one level further out.
    pub(super) parent: Option<RowNumber>,
    /// Tile that `held` is of.
    pub(super) tile: u32,
    pub(super) held: u64,
    /// Page that was looked up last, and its block.
    block: Option<(PageNumber, BlockNumber)>,
}

/// What each tile of each level brings in, by array.
pub struct Movement {
    /// The running loops.
    pub nest: Nest,
    /// Counts by level and array.
    pub rows: Vec<Row>,
    row_of: HashMap<(LevelNumber, ObjectNumber), RowNumber, FastHash>,
    /// Which tile touched each granule last.
    pub stamps: Stamps,
    /// Levels whose tiles have begun last.
    begun: Vec<LevelNumber>,
}

impl Movement {
    /// Nothing was touched; stamps take up to `budget` bytes.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        Self {
            nest: Nest::new(),
            rows: Vec::new(),
            row_of: HashMap::default(),
            stamps: Stamps::new(budget),
            begun: Vec::new(),
        }
    }

    /// The row of an array at a level, made with those further out on first use.
    pub fn row(&mut self, level: LevelNumber, array: ObjectNumber) -> RowNumber {
        if let Some(&known) = self.row_of.get(&(level, array)) {
            return known;
        }
        let parent = self.nest.levels[level.index()].parent.map(|around| self.row(around, array));
        let number = RowNumber::new(self.rows.len());
        self.rows.push(Row { counts: RowResult::new(level, array), parent, tile: 0, held: 0, block: None });
        self.row_of.insert((level, array), number);
        number
    }

    /// Begins the tiles that have not begun, and gives their levels. To be called before an access when some have not.
    pub fn open_tiles(&mut self) -> &[LevelNumber] {
        let begun = &mut self.begun;
        begun.clear();
        let (stamps, rows) = (&mut self.stamps, &mut self.rows);
        self.nest.open(|number, level| {
            begun.push(number);
            if level.tile == u32::MAX {
                let tile = FIRST_TILE + 1;
                stamps.renumber(number, level.tile, tile);
                for row in rows.iter_mut().filter(|row| row.counts.level == number) {
                    row.tile = if row.tile == level.tile { tile } else { 0 };
                }
                level.tile = tile;
            }
        });
        &self.begun
    }

    /// An access at the innermost level, whose row this is. The tiles have begun.
    #[inline]
    pub fn touch(&mut self, row: RowNumber, address: u64, len: u64, accesses: u64) {
        let known = &mut self.rows[row.index()];
        known.counts.accesses += accesses;
        known.counts.accessed += if accesses > 0 { len } else { 0 };
        let array = known.counts.array;
        let (mut at, mut left) = (address, len);
        while left > 0 {
            let (piece, part) = self.stamps.piece(at, left, array);
            if let Some(piece) = piece {
                self.touch_piece(row, piece);
            }
            at = at.wrapping_add(part);
            left -= part;
        }
    }

    #[inline]
    fn touch_piece(&mut self, number: RowNumber, piece: Piece) {
        self.touch_levels(Some(number), &piece);
        if self.stamps.is_over_budget() {
            self.stamps.shed();
            self.forget_blocks();
        }
    }

    /// Goes from a row's level outwards, as far as that changes anything.
    #[inline]
    pub(super) fn touch_levels(&mut self, mut next: Option<RowNumber>, piece: &Piece) {
        while let Some(number) = next {
            let row = &mut self.rows[number.index()];
            let level = &mut self.nest.levels[row.counts.level.index()];
            let block = match row.block {
                Some((page, block)) if page == piece.page => block,
                _ => {
                    let block = self.stamps.block(row.counts.level, piece.page);
                    row.block = Some((piece.page, block));
                    block
                }
            };
            let tile = level.tile;
            let (mut new, mut filled, mut unknown) = (0, 0, 0);
            let mut stamp = |stamp: &mut u32| {
                let old = std::mem::replace(stamp, tile);
                new += u64::from(old != tile);
                filled += u64::from(old != tile && old != tile - 1);
                unknown += u64::from(old == 0);
            };
            let stamps = self.stamps.stamps(block);
            if piece.end == piece.first + 1 {
                stamp(&mut stamps[piece.first as usize]);
            } else {
                stamps[piece.range()].iter_mut().for_each(stamp);
            }
            if new == 0 {
                break;
            }
            row.counts.fills += filled * piece.unit;
            row.counts.footprint += unknown * piece.unit;
            if level.first {
                row.counts.kept += (new - filled) * piece.unit;
            }
            if row.tile != tile {
                row.tile = tile;
                row.held = 0;
            }
            row.held += new * piece.unit;
            row.counts.peak = row.counts.peak.max(row.held);
            level.bytes += new * piece.unit;
            next = row.parent;
        }
    }

    /// The bytes of a range are new ones.
    pub fn forget(&mut self, address: u64, len: u64) {
        self.stamps.forget(address, len);
    }

    /// Bytes are elsewhere from now on, in an array of that number.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64, array: ObjectNumber) {
        self.stamps.relocate(from, to, len, array);
        if self.stamps.is_over_budget() {
            self.stamps.shed();
            self.forget_blocks();
        }
    }

    fn forget_blocks(&mut self) {
        self.rows.iter_mut().for_each(|row| row.block = None);
    }

    /// The rows, with what was accessed in the loops inside.
    #[must_use]
    pub fn inclusive_rows(&self) -> Vec<RowResult> {
        let mut all: Vec<RowResult> = self.rows.iter().map(|row| row.counts.clone()).collect();
        // Rows further out were made first.
        for number in (0..all.len()).rev() {
            if let Some(parent) = self.rows[number].parent {
                all[parent.index()].accesses += all[number].accesses;
                all[parent.index()].accessed += all[number].accessed;
            }
        }
        all
    }

    /// Ends the last tiles.
    pub fn finish(&mut self) {
        for level in &mut self.nest.levels {
            level.capacity = level.capacity.max(level.bytes);
        }
    }
}
