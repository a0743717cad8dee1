//! What caches of sets and ways moved, beside ideal memories of the same capacities.
//!
//! Takes sums over cells; gives bytes by level.
//! What a level fetches more than the ideal memory is because lines share its sets; it may also fetch less, as the
//! one used longest ago is not always the best to give up.

use dmdprof_runtime::observe::caches::MOST_LEVELS;

use super::{analysis::Sums, lines::Moved};
use crate::profile::{
    Profile,
    model::{CacheCounts, CacheLevel},
};

/// Names of levels, the nearest to the processor first.
pub const NAMES: [&str; MOST_LEVELS] = ["L1", "L2", "L3", "L4"];

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
    pub fn all(profile: &Profile, sums: &Sums) -> Vec<Self> {
        let moved = |(number, level): (usize, &CacheLevel)| {
            let moves = sums.caches.as_ref().map_or_else(CacheCounts::default, |levels| levels[number]);
            let size = u64::from(level.line);
            Self {
                level: *level,
                fetched: (moves.loads + moves.stores) * size,
                loaded: moves.loads * size,
                written_back: moves.write_backs * size,
                ideal: Moved::from_sums(sums.lines(), level.line, level.bytes),
            }
        };
        profile.caches.iter().enumerate().map(moved).collect()
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
