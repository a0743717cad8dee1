//! Loads that the stores right before them hold up.
//!
//! A processor keeps stores in a buffer until they are in the first cache, and a load looks there first. It compares
//! the last 12 bits of addresses before all of them.

use super::touch::{RecentStores, Touch};

/// A load of bytes that recent stores wrote, but not the last of these alone: it waits until they are in the cache.
pub fn blocked_forward(load: Touch, before: &RecentStores) -> bool {
    let last = || before.newest_first().find(|store| overlap(load, *store));
    !load.is_store && last().is_some_and(|store| load.addr < store.addr || store.last() < load.last())
}

/// A load that has the last 12 bits of a recent store's address, and none of its bytes: it looks like a load of these.
pub fn aliased_load(load: Touch, before: &RecentStores) -> bool {
    !load.is_store && before.newest_first().any(|store| look_alike(load, store) && !overlap(load, store))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::hazards::touch::WINDOW;

    /// What the last of some accesses is, of address, bytes, and whether it is a store.
    fn last(touches: &[(u64, u32, bool)]) -> [bool; 2] {
        let mut before = RecentStores::default();
        let each = touches.iter().map(|&(addr, len, is_store)| Touch { addr, len, is_store });
        let found = each.map(|touch| {
            let is = [blocked_forward, aliased_load].map(|is_one| is_one(touch, &before));
            before.pass(touch);
            is
        });
        found.last().expect("an access")
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
