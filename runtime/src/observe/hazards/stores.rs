//! Loads that the stores right before them hold up.
//!
//! A processor keeps stores in a buffer until they are in the first cache, and a load looks there first. It compares
//! the last 12 bits of addresses before all of them.

use std::collections::VecDeque;

use super::touch::{Hazard, Touch, WINDOW};

/// A load of bytes that recent stores wrote, but not the last of these alone: it waits until they are in the cache.
#[derive(Default)]
pub struct BlockedForwards(RecentStores);

/// A load that has the last 12 bits of a recent store's address, and none of its bytes: it looks like a load of these.
#[derive(Default)]
pub struct AliasedLoads(RecentStores);

/// The stores among the last [`WINDOW`] accesses, with how many accesses there were up to each.
#[derive(Default)]
struct RecentStores {
    stores: VecDeque<(u64, Touch)>,
    accesses: u64,
}

impl RecentStores {
    /// Takes down an access, unless it is a load: then gives the stores before it.
    fn before_load(&mut self, touch: Touch) -> Option<&VecDeque<(u64, Touch)>> {
        self.accesses += 1;
        let oldest = self.accesses.saturating_sub(WINDOW as u64);
        while self.stores.front().is_some_and(|(number, _)| *number < oldest) {
            self.stores.pop_front();
        }
        if touch.is_store {
            self.stores.push_back((self.accesses, touch));
            return None;
        }
        Some(&self.stores)
    }
}

fn overlap(a: Touch, b: Touch) -> bool {
    a.addr <= b.last() && b.addr <= a.last()
}

/// The same of the last 12 bits.
fn look_alike(load: Touch, store: Touch) -> bool {
    const PAGE: u64 = 1 << 12;
    let behind = load.addr.wrapping_sub(store.addr) % PAGE;
    behind < store.len.into() || PAGE - behind < load.len.into()
}

impl Hazard for BlockedForwards {
    const NAME: &'static str = "blocked_forwards";

    fn is_one(&mut self, load: Touch) -> bool {
        let Some(stores) = self.0.before_load(load) else { return false };
        let last = stores.iter().rev().find(|(_, store)| overlap(load, *store));
        last.is_some_and(|(_, store)| load.addr < store.addr || store.last() < load.last())
    }
}

impl Hazard for AliasedLoads {
    const NAME: &'static str = "aliased_loads";

    fn is_one(&mut self, load: Touch) -> bool {
        let Some(stores) = self.0.before_load(load) else { return false };
        stores.iter().any(|(_, store)| look_alike(load, *store) && !overlap(load, *store))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the last of some accesses is, of address, bytes, and whether it is a store.
    fn last(touches: &[(u64, u32, bool)]) -> [bool; 2] {
        let (mut blocked, mut aliased) = (BlockedForwards::default(), AliasedLoads::default());
        let each = touches.iter().map(|&(addr, len, is_store)| Touch { addr, len, is_store });
        each.map(|touch| [blocked.is_one(touch), aliased.is_one(touch)]).last().expect("an access")
    }

    #[test]
    fn loads_wait_for_stores_that_do_not_have_all_of_their_bytes() {
        let (word, half, byte) = ((0x1010, 8, true), (0x1010, 4, true), (0x1014, 1, true));
        assert_eq!(last(&[word, (0x1010, 8, false)]), [false; 2], "forwarded");
        assert_eq!(last(&[word, (0x1014, 4, false)]), [false; 2], "a part of it");
        assert_eq!(last(&[half, (0x1010, 8, false)]), [true, false]);
        assert_eq!(last(&[word, byte, (0x1010, 8, false)]), [true, false], "of two stores");
        assert_eq!(last(&[byte, word, (0x1010, 8, false)]), [false; 2], "the last one has all");
        assert_eq!(last(&[word, (0x1010, 8, true)]), [false; 2], "a store waits for nothing");
    }

    #[test]
    fn loads_that_look_like_those_of_other_bytes() {
        let store = (0x1ffc, 8, true);
        assert_eq!(last(&[store, (0x5ff8, 8, false)]), [false, true]);
        assert_eq!(last(&[store, (0x5ff8, 4, false)]), [false; 2], "right before it");
        assert_eq!(last(&[store, (0x5003, 1, false)]), [false, true], "its end is in the next page");
        assert_eq!(last(&[store, (0x5004, 1, false)]), [false; 2]);
    }

    #[test]
    fn stores_are_forgotten_in_time() {
        let load = (0x5010, 4, false);
        let after =
            |others: usize| last(&[&[(0x1010, 8, true)], &vec![(0x20, 8, false); others][..], &[load]].concat());
        assert_eq!([WINDOW - 1, WINDOW].map(after), [[false, true], [false, false]]);
    }
}
