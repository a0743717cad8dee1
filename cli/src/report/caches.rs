//! What caches of sets and ways moved, beside ideal memories of the same capacities.
//!
//! Takes the cells of [`CacheTraffic`](crate::profile::model::CacheTraffic) and sums of lines; gives bytes by level.
//! What a level fetches more than the ideal memory is because lines share its sets; it may also fetch less, as the
//! one used longest ago is not always the best to give up.

use dmdprof_runtime::observe::caches::MOST_LEVELS;

use super::lines::{LineSums, Moved};
use crate::profile::Profile;
use crate::profile::model::{CacheCell, CacheLevel, CacheMoves, Cell};

/// Names of levels, the nearest to the processor first.
pub const NAMES: [&str; MOST_LEVELS] = ["L1", "L2", "L3", "L4"];

/// Lines that add, by level; empty if caches were not simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSums(Vec<CacheMoves>);

impl CacheSums {
    pub fn add(&mut self, cell: &CacheCell) {
        self.add_all(&cell.moved);
    }

    pub fn merge(&mut self, other: &Self) {
        self.add_all(&other.0);
    }

    fn add_all(&mut self, moved: &[CacheMoves]) {
        if self.0.len() < moved.len() {
            self.0.resize(moved.len(), CacheMoves::default());
        }
        for (sum, moves) in self.0.iter_mut().zip(moved) {
            sum.loads += moves.loads;
            sum.stores += moves.stores;
            sum.write_backs += moves.write_backs;
        }
    }
}

/// Bytes that one level moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelMoved {
    pub level: CacheLevel,
    pub fetched: u64,
    /// Of what was fetched, what loads brought in.
    pub loaded: u64,
    pub written_back: u64,
    /// What a memory of that capacity without sets moves.
    pub ideal: Moved,
}

impl LevelMoved {
    /// Of all levels, by sums over cells.
    #[must_use]
    pub fn all(profile: &Profile, sums: &CacheSums, lines: &LineSums) -> Vec<Self> {
        let levels = profile.caches.as_ref().map_or(&[][..], |caches| &caches.levels);
        let moved = |(number, level): (usize, &CacheLevel)| {
            let moves = sums.0.get(number).copied().unwrap_or_default();
            let size = u64::from(level.line);
            Self {
                level: *level,
                fetched: (moves.loads + moves.stores) * size,
                loaded: moves.loads * size,
                written_back: moves.write_backs * size,
                ideal: Moved::of(lines, level.line, level.bytes),
            }
        };
        levels.iter().enumerate().map(moved).collect()
    }

    /// A quarter or more of what is fetched is conflicts, and it is more than a few lines.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.conflicts() > self.level.bytes && self.conflicts() >= self.fetched.div_ceil(4)
    }

    /// Bytes fetched because lines share sets.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        self.fetched.saturating_sub(self.ideal.fetched)
    }
}

/// What a cell did to caches, if that was simulated and it did anything.
#[must_use]
pub fn of_cell<'p>(profile: &'p Profile, cell: &Cell) -> Option<&'p CacheCell> {
    let cells = &profile.caches.as_ref()?.cells;
    let at = cells.binary_search_by_key(&(cell.context, cell.site), |moved| (moved.context, moved.site)).ok()?;
    Some(&cells[at])
}
