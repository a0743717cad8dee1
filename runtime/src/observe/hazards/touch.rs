//! What a kind of hazard goes by, and what it is.
//!
//! Takes accesses; gives those that are an instruction's, and the stores before one.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::engine::{Access, Kind};

/// So many accesses before one may make it a hazard.
pub const WINDOW: usize = 64;

/// Bytes of the largest access of an instruction. What is longer is a call that touches many bytes.
const LONGEST: u32 = 64;

/// What an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// First byte.
    pub addr: u64,
    /// Bytes, from 1 on.
    pub len: u32,
    /// It writes.
    pub is_store: bool,
}

impl Touch {
    /// Nothing of what is no access of an instruction.
    #[must_use]
    pub fn from_access(access: Access) -> Option<Self> {
        let Access { addr, len, kind } = access;
        let touch = Self { addr, len, is_store: matches!(kind, Kind::Store | Kind::Fresh) };
        (kind != Kind::Remove && touch.is_sound()).then_some(touch)
    }

    /// Whether an instruction can touch as much.
    #[must_use]
    pub fn is_sound(self) -> bool {
        (1..=LONGEST).contains(&self.len)
    }

    /// Last byte.
    #[must_use]
    pub fn last(self) -> u64 {
        self.addr.saturating_add(u64::from(self.len) - 1)
    }
}

/// The stores among the last [`WINDOW`] accesses.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecentStores {
    /// Oldest first, each with how many accesses there were up to it.
    stores: VecDeque<(u64, Touch)>,
    accesses: u64,
}

impl RecentStores {
    /// Goes on behind an access.
    #[inline]
    pub fn pass(&mut self, touch: Touch) {
        self.accesses += 1;
        if touch.is_store {
            self.stores.push_back((self.accesses, touch));
        }
        let oldest = (self.accesses + 1).saturating_sub(WINDOW as u64);
        while self.stores.front().is_some_and(|(number, _)| *number < oldest) {
            self.stores.pop_front();
        }
    }

    /// Those before the next access.
    #[inline]
    pub fn newest_first(&self) -> impl Iterator<Item = Touch> + '_ {
        self.stores.iter().rev().map(|(_, store)| *store)
    }

    /// Whether they can be of a run.
    #[must_use]
    pub fn are_sound(&self) -> bool {
        const MOST: u64 = 1 << 56;
        let last = self.stores.back().map_or(0, |(number, _)| *number);
        self.stores.len() <= WINDOW
            && self.stores.iter().is_sorted_by(|(a, _), (b, _)| a < b)
            && (last..MOST).contains(&self.accesses)
            && self.stores.iter().all(|(_, store)| store.is_store && store.is_sound())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_that_no_run_leaves_are_not_sound() {
        let touch = |len, is_store| Touch { addr: 64, len, is_store };
        let store = |number| (number, touch(8, true));
        let sound = |stores: Vec<_>, accesses| RecentStores { stores: stores.into(), accesses }.are_sound();
        assert!(RecentStores::default().are_sound() && sound(vec![], (1 << 56) - 1));
        assert!(sound(vec![store(1), store(2)], 2) && sound((1..65).map(store).collect(), 64));
        assert!(!sound((1..66).map(store).collect(), 65), "more than are remembered");
        assert!(!sound(vec![store(2), store(2)], 3) && !sound(vec![store(3), store(2)], 3), "out of order");
        assert!(!sound(vec![store(2)], 1) && !sound(vec![], 1 << 56), "so many accesses there were not");
        assert!(!sound(vec![(1, touch(8, false))], 1) && !sound(vec![(1, touch(65, true))], 1));
    }
}
