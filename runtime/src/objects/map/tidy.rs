//! Gives up the tables of an address map that nobody needs any more.
//!
//! Takes a map, says of every address the same as before. A table whose objects have all ended is kept for a while: the
//! page of a stack or a heap soon has others. What is kept is less than half of the map's memory, or little.

use std::sync::Arc;

use super::{AddressMap, Entry, GRANULES, PageTable, RECENT, Tables, vast_number};

/// So many bytes may be without use in any case. Tests have maps of few pages.
const KEPT: usize = if cfg!(test) { 0 } else { 1 << 18 };

impl AddressMap {
    /// Gives up tables if that is worth the time: going over all pages takes as long as filling some.
    #[inline]
    pub(super) fn tidy(&mut self) {
        let unused = self.unused_bytes();
        if unused > KEPT && 2 * unused > self.heap_bytes() as usize {
            self.give_up();
        }
    }

    fn unused_bytes(&self) -> usize {
        self.idle * size_of::<PageTable>() + self.pages.unused_bytes() + self.granules.unused_bytes()
    }

    #[cold]
    fn give_up(&mut self) {
        let nothing = Arc::new([[Entry::NOTHING; GRANULES]]);
        let mut pages = std::mem::take(&mut self.pages);
        let (granules, used) = (std::mem::take(&mut self.granules), std::mem::take(&mut self.used));
        self.directory.retain(|page, entry| {
            if let Err(place) = entry.get() {
                let table = std::mem::replace(&mut pages.all[place], nothing.clone());
                *entry = Entry::NOTHING;
                if used[place] > 0 {
                    *entry = Entry::of_table(self.pages.all.len());
                    self.pages.all.push(with_granules(table, &granules, &mut self.granules));
                    self.used.push(used[place]);
                }
            }
            *entry != Entry::for_object(vast_number(&self.vast, *page))
        });
        self.directory.shrink_to_fit();
        self.recent = [(0, Entry::NOTHING); RECENT];
        self.idle = 0;
    }
}

/// A page's table with those of its granules in another place. One that has none stays shared with copies of the map.
fn with_granules<const EACH: usize>(
    mut table: Arc<[PageTable; 1]>,
    from: &Tables<super::ByteTable, EACH>,
    to: &mut Tables<super::ByteTable, EACH>,
) -> Arc<[PageTable; 1]> {
    if table[0].iter().any(|granule| granule.get().is_err()) {
        for granule in &mut Arc::make_mut(&mut table)[0] {
            if let Err(place) = granule.get() {
                *granule = Entry::of_table(to.add(*from.entry_at(place)));
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::{GRANULE, NOTHING, ObjectNumber, PAGE};
    use super::*;

    const FIVE: ObjectNumber = ObjectNumber::new(5);
    const PAGES: u64 = 100_000;

    #[test]
    fn nothing_is_kept_when_everything_has_ended() {
        let mut map = AddressMap::default();
        (0..PAGES).for_each(|page| map.fill(page * PAGE + 40, 24, FIVE));
        assert!(map.heap_bytes() > PAGES * size_of::<PageTable>() as u64);
        assert_eq!(map.number_at(777 * PAGE + 63), FIVE);
        (0..PAGES).for_each(|page| map.fill(page * PAGE + 40, 24, NOTHING));
        assert!(map.heap_bytes() < 4096, "{}", map.heap_bytes());
        assert_eq!(map.number_at(777 * PAGE + 63), NOTHING);
    }

    #[test]
    fn tables_of_granules_end_though_their_pages_live() {
        let (mut map, pages) = (AddressMap::default(), 1000);
        let halves = (0..pages * PAGE).step_by(GRANULE as usize);
        halves.clone().for_each(|address| map.fill(address, GRANULE / 2, FIVE));
        let full = map.heap_bytes();
        halves.filter(|address| address % PAGE != 0).for_each(|address| map.fill(address, GRANULE / 2, NOTHING));
        assert!(map.heap_bytes() * 5 < full, "{} of {full}", map.heap_bytes());
        assert!(
            (0..pages).all(|page| map.number_at(page * PAGE + 7) == FIVE && map.number_at(page * PAGE + 8) == NOTHING)
        );
    }

    #[test]
    fn within_a_row_of_pages_of_one_object_ended_pages_stay_ended() {
        let mut map = AddressMap::default();
        map.fill(0, 64 * PAGE, FIVE);
        (0..64).for_each(|page| map.fill(page * PAGE, 100, NOTHING));
        (0..64).for_each(|page| map.fill(page * PAGE + 100, PAGE - 100, NOTHING));
        assert!((0..64 * PAGE).step_by(50).all(|address| map.number_at(address) == NOTHING));
        assert!(map.heap_bytes() < 4096 + 64 * 32, "{}", map.heap_bytes());
    }
}
