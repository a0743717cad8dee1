//! How an address map differs from what it was earlier.
//!
//! Takes a map and an earlier copy of it; gives ranges that are filled one after the other, after which the copy says
//! the same of every address. Goes over the entries of all pages, but looks into no table that both still share.

use std::sync::Arc;

use super::{AddressMap, ByteTable, Entry, Filled, GRANULE, GRANULES, PAGE, TOGETHER, vast_number};

impl AddressMap {
    /// The ranges that make this map of an earlier one.
    #[must_use]
    pub fn since(&self, mut before: Self) -> Vec<Filled> {
        let mut changes = self.vast_since(&before);
        changes.iter().for_each(|&(address, len, number)| before.fill(address, len, number));
        let pages = self.directory.keys().chain(before.directory.keys()).copied();
        let mut pages: Vec<u64> = pages.filter(|page| !self.shares_page(&before, *page)).collect();
        pages.sort_unstable();
        pages.dedup();
        for page in pages {
            self.page_since(&before, page, &mut changes);
        }
        changes
    }

    /// Of rows of pages that are kept as ranges.
    fn vast_since(&self, before: &Self) -> Vec<Filled> {
        let edges = |map: &Self| map.vast.iter().flat_map(|(start, vast)| [*start, vast.end]).collect::<Vec<u64>>();
        let mut edges = [edges(self), edges(before)].concat();
        edges.sort_unstable();
        let mut changes = Vec::new();
        for pages in edges.windows(2) {
            let now = vast_number(&self.vast, pages[0]);
            if now != vast_number(&before.vast, pages[0]) {
                add(&mut changes, (pages[0] * PAGE, (pages[1] - pages[0]) * PAGE, now));
            }
        }
        changes
    }

    /// Whether a page has the same entry, and the same tables in memory.
    fn shares_page(&self, before: &Self, page: u64) -> bool {
        match (self.entry(page).get(), before.entry(page).get()) {
            (Ok(now), Ok(then)) => now == then,
            (Err(now), Err(then)) => {
                let shares_bytes = |table: usize| {
                    Arc::ptr_eq(&self.granules.all[table / TOGETHER], &before.granules.all[table / TOGETHER])
                };
                Arc::ptr_eq(&self.pages.all[now], &before.pages.all[then])
                    && self.pages.entry_at(now).iter().filter_map(|granule| granule.get().err()).all(shares_bytes)
            }
            _ => false,
        }
    }

    fn page_since(&self, before: &Self, page: u64, changes: &mut Vec<Filled>) {
        let (entry, old) = (self.entry(page), before.entry(page));
        for granule in 0..GRANULES {
            let (now, then) = (self.granule(entry, granule), before.granule(old, granule));
            if now != then {
                let first = page * PAGE + granule as u64 * GRANULE;
                let changed = (first..).zip(now.iter().zip(&then)).filter(|(_, (now, then))| now != then);
                changed.for_each(|(address, (now, _))| add(changes, (address, 1, *now)));
            }
        }
    }

    /// What the bytes of a granule of a page belong to.
    fn granule(&self, page: Entry, granule: usize) -> ByteTable {
        let of_bytes = |entry: Entry| entry.get().map_or_else(|table| *self.granules.entry_at(table), |one| [one; _]);
        page.get().map_or_else(|table| of_bytes(self.pages.entry_at(table)[granule]), |one| [one; _])
    }
}

/// Adds a range, to the last one if it only makes that longer.
fn add(changes: &mut Vec<Filled>, (address, len, number): Filled) {
    match changes.last_mut() {
        Some(last) if last.0 + last.1 == address && last.2 == number => last.1 += len,
        _ => changes.push((address, len, number)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::ObjectNumber, *};

    fn fills() -> impl Strategy<Value = Vec<Filled>> {
        let small = (0u64..6 * PAGE, 0u64..100);
        let pages = (0u64..40, 0u64..20).prop_map(|(start, pages)| (start * PAGE, pages * PAGE));
        let large = (0u64..30 * PAGE, 0u64..30 * PAGE);
        let range = prop_oneof![4 => small, 1 => pages, 1 => large];
        let fill = (range, 0usize..4).prop_map(|((start, len), number)| (start, len, ObjectNumber::new(number)));
        prop::collection::vec(fill, 0..40)
    }

    fn fill(map: &mut AddressMap, ranges: &[Filled]) {
        ranges.iter().for_each(|&(start, len, number)| map.fill(start, len, number));
    }

    proptest! {
        #[test]
        fn an_earlier_copy_becomes_the_map(before in fills(), after in fills()) {
            let mut map = AddressMap::default();
            fill(&mut map, &before);
            let mut copy = map.clone();
            fill(&mut map, &after);
            let changes = map.since(copy.clone());
            fill(&mut copy, &changes);
            let edges = before.iter().chain(&after).flat_map(|(start, len, _)| [*start, start + len]);
            for edge in edges {
                for address in edge.saturating_sub(1)..edge + 2 {
                    prop_assert_eq!(copy.number_at(address), map.number_at(address), "{}", address);
                }
            }
        }
    }

    #[test]
    fn a_block_is_one_range_and_what_did_not_change_is_none() {
        let (one, two) = (ObjectNumber::new(1), ObjectNumber::new(2));
        let mut map = AddressMap::default();
        map.fill(100, 3 * PAGE, one);
        map.fill(1 << 40, 1 << 30, two);
        let copy = map.clone();
        assert_eq!(map.since(AddressMap::default()), [(1 << 40, 1 << 30, two), (100, 3 * PAGE, one)]);
        map.fill(PAGE, 64, two);
        map.fill(PAGE, 64, one);
        map.fill((1 << 40) + 5, 8, one);
        assert_eq!(map.since(copy), [((1 << 40) + 5, 8, one)]);
    }
}
