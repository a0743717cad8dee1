//! Which object each byte of the program's memory belongs to.
//!
//! Takes ranges and the numbers of objects; gives the number at an address, or of a range if all its bytes have one.
//! Later ranges lie over earlier ones. Memory of number [`NOTHING`] costs nothing; a page of one object costs one
//! entry, a row of [`VAST_PAGES`] pages or more one entry in all, and a page of several objects 1 KiB, and 64 bytes
//! more for each 16 bytes that several objects share. Tables of pages whose objects have all ended are given up once
//! they are half of the memory (`tidy`).
//!
//! A copy shares the tables with what it is a copy of, until one of the two changes them. `changes` says how the two
//! differ then.

mod changes;
mod tidy;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{hash::FastHash, numbers::niche_number, pieces::pieces};

niche_number! {
    /// Number of an object in one ring.
    ObjectNumber
}

/// The number of memory that no object is known of.
pub const NOTHING: ObjectNumber = ObjectNumber::new(0);

impl Default for ObjectNumber {
    fn default() -> Self {
        NOTHING
    }
}

/// First address of a range, its bytes, and what these belong to.
pub type Filled = (u64, u64, ObjectNumber);

const PAGE: u64 = 4096;
/// Allocators align blocks to 16 bytes, so that most granules belong to one object.
const GRANULE: u64 = 16;
const GRANULES: usize = (PAGE / GRANULE) as usize;
/// Rows of at least this many whole pages are kept as ranges.
const VAST_PAGES: u64 = 16;
const RECENT: usize = 256;

/// What a page or a granule has: one number for all its bytes, or a table.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u32);

impl Entry {
    /// With this bit, the place of a table.
    const TABLE: u32 = 1 << 31;
    const NOTHING: Self = Self::for_object(NOTHING);

    const fn for_object(number: ObjectNumber) -> Self {
        Self(number.index() as u32)
    }

    fn of_table(place: usize) -> Self {
        Self(Self::TABLE | place as u32)
    }

    /// The number of all bytes, or the place of the table.
    #[inline(always)]
    fn get(self) -> Result<ObjectNumber, usize> {
        match self.0 & Self::TABLE {
            0 => Ok(ObjectNumber::new(self.0 as usize)),
            _ => Err((self.0 & !Self::TABLE) as usize),
        }
    }
}

type PageTable = [Entry; GRANULES];
type ByteTable = [ObjectNumber; GRANULE as usize];

/// Tables of bytes that are copied together: as much memory as a page's table.
const TOGETHER: usize = size_of::<PageTable>() / size_of::<ByteTable>();

/// A row of pages of one object, by its first page.
#[derive(Clone, Copy, Debug)]
struct Vast {
    end: u64,
    number: ObjectNumber,
    /// The directory has entries for some of its pages, which count.
    overlaid: bool,
}

/// The address space, as ranges of object numbers.
#[derive(Clone)]
pub struct AddressMap {
    /// By page: the number of all its bytes, or the place of its table. Where it has nothing, `vast` decides.
    directory: HashMap<u64, Entry, FastHash>,
    vast: BTreeMap<u64, Vast>,
    pages: Tables<PageTable, 1>,
    granules: Tables<ByteTable, TOGETHER>,
    /// By table of a page: granules that have something.
    used: Vec<u16>,
    /// Tables of pages that have nothing.
    idle: usize,
    /// Entries looked up last, by page modulo the length: (page plus one, entry).
    recent: [(u64, Entry); RECENT],
}

impl Default for AddressMap {
    fn default() -> Self {
        Self {
            directory: HashMap::default(),
            vast: BTreeMap::new(),
            pages: Tables::default(),
            granules: Tables::default(),
            used: Vec::new(),
            idle: 0,
            recent: [(0, Entry::NOTHING); RECENT],
        }
    }
}

/// Tables with places. As many as `EACH` are shared, or copied, as one.
#[derive(Clone)]
struct Tables<T, const EACH: usize> {
    all: Vec<Arc<[T; EACH]>>,
    /// Places that no entry names. What lies there is an old table, which [`Self::add`] overwrites and nobody reads.
    free: Vec<u32>,
}

impl<T, const EACH: usize> Default for Tables<T, EACH> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy, const EACH: usize> Tables<T, EACH> {
    #[inline(always)]
    fn entry_at(&self, place: usize) -> &T {
        &self.all[place / EACH][place % EACH]
    }

    #[inline]
    fn of_mut(&mut self, place: usize) -> &mut T {
        &mut Arc::make_mut(&mut self.all[place / EACH])[place % EACH]
    }

    /// The place that the table has from now on.
    fn add(&mut self, table: T) -> usize {
        let Some(place) = self.free.pop() else {
            let place = self.all.len() * EACH;
            self.all.push(Arc::new([table; EACH]));
            self.free.extend((place + 1..place + EACH).rev().map(|place| place as u32));
            return place;
        };
        let place = place as usize;
        *self.of_mut(place) = table;
        place
    }

    /// Gives up the table of an entry, if it has one.
    fn release(&mut self, entry: Entry) {
        if let Err(place) = entry.get() {
            self.free.push(place as u32);
        }
    }

    /// Memory held, in bytes.
    fn heap_bytes(&self) -> usize {
        self.all.len() * size_of::<[T; EACH]>() + size_of_val(&*self.all) + size_of_val(&*self.free)
    }

    /// Of that, what nobody uses.
    fn unused_bytes(&self) -> usize {
        self.free.len() * size_of::<T>()
    }
}

/// Looking up.
impl AddressMap {
    /// The number at an address.
    #[inline]
    pub fn number_at(&mut self, address: u64) -> ObjectNumber {
        let page = address / PAGE;
        let recent = self.recent[page as usize % RECENT];
        let entry = if recent.0 == page + 1 { recent.1 } else { self.page(page) };
        entry.get().unwrap_or_else(|table| self.in_page(table, address))
    }

    #[inline]
    fn in_page(&self, table: usize, address: u64) -> ObjectNumber {
        let granule = self.pages.entry_at(table)[(address % PAGE / GRANULE) as usize];
        granule.get().unwrap_or_else(|table| self.granules.entry_at(table)[(address % GRANULE) as usize])
    }

    /// The number that all bytes of a range have; `None` if they differ, or the range is empty.
    pub fn number_of(&mut self, address: u64, len: u64) -> Option<ObjectNumber> {
        if len == 0 || address.checked_add(len - 1).is_none() {
            return None;
        }
        let last = (address + (len - 1)) / PAGE;
        if last - address / PAGE >= VAST_PAGES
            && let Some((_, vast)) = self.vast.range(..=address / PAGE).next_back()
            && last < vast.end
            && !vast.overlaid
        {
            return Some(vast.number);
        }
        let number = self.number_at(address);
        pieces(address, len, PAGE).all(|piece| self.has(piece, number)).then_some(number)
    }

    /// Whether all bytes of a piece of a page have a number.
    fn has(&mut self, (page, offset, part): (u64, u64, u64), number: ObjectNumber) -> bool {
        let table = match self.page(page).get() {
            Ok(one) => return one == number,
            Err(table) => self.pages.entry_at(table),
        };
        pieces(offset, part, GRANULE).all(|(granule, within, bytes)| match table[granule as usize].get() {
            Ok(one) => one == number,
            Err(mixed) => {
                self.granules.entry_at(mixed)[within as usize..(within + bytes) as usize].iter().all(|n| *n == number)
            }
        })
    }

    fn page(&mut self, page: u64) -> Entry {
        let recent = page as usize % RECENT;
        if self.recent[recent].0 != page + 1 {
            self.recent[recent] = (page + 1, self.entry(page));
        }
        self.recent[recent].1
    }

    fn entry(&self, page: u64) -> Entry {
        let entry = self.directory.get(&page).copied();
        entry.unwrap_or_else(|| Entry::for_object(vast_number(&self.vast, page)))
    }
}

fn vast_number(vast: &BTreeMap<u64, Vast>, page: u64) -> ObjectNumber {
    let before = vast.range(..=page).next_back();
    before.filter(|(_, vast)| page < vast.end).map_or(NOTHING, |(_, vast)| vast.number)
}

/// Changing.
impl AddressMap {
    /// The bytes belong to an object, or to none ([`NOTHING`]), from now on.
    pub fn fill(&mut self, address: u64, len: u64, number: ObjectNumber) {
        let len = len.min(u64::MAX - address);
        let first_whole = address.div_ceil(PAGE);
        let end_whole = (address + len) / PAGE;
        if end_whole >= first_whole + VAST_PAGES {
            self.fill_vast(first_whole, end_whole, number);
            self.fill_pages(address, first_whole * PAGE - address, number);
            self.fill_pages(end_whole * PAGE, address + len - end_whole * PAGE, number);
        } else {
            self.fill_pages(address, len, number);
        }
        self.tidy();
    }

    fn fill_pages(&mut self, address: u64, len: u64, number: ObjectNumber) {
        for (page, offset, part) in pieces(address, len, PAGE) {
            if part == PAGE {
                let old = self.page(page);
                self.pages_granules_release(old);
                self.set(page, Entry::for_object(number));
            } else {
                self.fill_part(page, offset, part, number);
            }
        }
    }

    fn fill_part(&mut self, page: u64, offset: u64, part: u64, number: ObjectNumber) {
        let (entry, whole) = (self.page(page), Entry::for_object(number));
        if entry == whole {
            return;
        }
        let table = match entry.get() {
            Err(table) => table,
            Ok(_) => {
                let table = self.add_table(entry);
                self.set(page, Entry::of_table(table));
                table
            }
        };
        let granules = self.pages.of_mut(table);
        let (before, mut used) = (self.used[table], self.used[table]);
        for (granule, within, bytes) in pieces(offset, part, GRANULE) {
            let place = &mut granules[granule as usize];
            used -= u16::from(*place != Entry::NOTHING);
            if bytes == GRANULE {
                self.granules.release(*place);
                *place = whole;
            } else if *place != whole {
                let at = match place.get() {
                    Err(table) => table,
                    Ok(one) => self.granules.add([one; GRANULE as usize]),
                };
                *place = Entry::of_table(at);
                let table = self.granules.of_mut(at);
                table[within as usize..(within + bytes) as usize].fill(number);
                if table.iter().all(|n| *n == number) {
                    self.granules.release(*place);
                    *place = whole;
                }
            }
            used += u16::from(*place != Entry::NOTHING);
        }
        self.used[table] = used;
        self.idle = self.idle + usize::from(used == 0) - usize::from(before == 0);
    }

    /// The table of a page that had one number for all its bytes.
    fn add_table(&mut self, entry: Entry) -> usize {
        let table = self.pages.add([entry; GRANULES]);
        self.used.resize(self.used.len().max(table + 1), 0);
        let has_nothing = entry == Entry::NOTHING;
        self.used[table] = if has_nothing { 0 } else { GRANULES as u16 };
        self.idle += usize::from(has_nothing);
        table
    }

    /// Gives up the tables of a page.
    fn pages_granules_release(&mut self, entry: Entry) {
        if let Err(table) = entry.get() {
            self.idle -= usize::from(self.used[table] == 0);
            self.pages.entry_at(table).iter().for_each(|granule| self.granules.release(*granule));
            self.pages.release(entry);
        }
    }

    /// Changes a page's entry.
    fn set(&mut self, page: u64, entry: Entry) {
        self.recent[page as usize % RECENT] = (page + 1, entry);
        if entry == Entry::for_object(vast_number(&self.vast, page)) {
            self.directory.remove(&page);
            return;
        }
        if let Some((_, vast)) = self.vast.range_mut(..=page).next_back()
            && page < vast.end
        {
            vast.overlaid = true;
        }
        self.directory.insert(page, entry);
    }

    fn fill_vast(&mut self, first: u64, end: u64, number: ObjectNumber) {
        self.clear_directory(first, end);
        self.cut_vast(first, end);
        if number != NOTHING {
            self.vast.insert(first, Vast { end, number, overlaid: false });
        }
        self.recent = [(0, Entry::NOTHING); RECENT];
    }

    fn clear_directory(&mut self, first: u64, end: u64) {
        let gone: Vec<(u64, Entry)> = if end - first <= self.directory.len() as u64 {
            (first..end).filter_map(|page| self.directory.remove_entry(&page)).collect()
        } else {
            self.directory.extract_if(|page, _| (first..end).contains(page)).collect()
        };
        for (_, entry) in gone {
            self.pages_granules_release(entry);
        }
    }

    /// Leaves of the ranges what is outside.
    fn cut_vast(&mut self, first: u64, end: u64) {
        let before = self.vast.range(..first).next_back().map(|(start, vast)| (*start, *vast));
        let inside = self.vast.range(first..end).map(|(start, vast)| (*start, *vast));
        let touched: Vec<(u64, Vast)> = before.into_iter().chain(inside).filter(|(_, vast)| vast.end > first).collect();
        for (start, vast) in touched {
            self.vast.remove(&start);
            if start < first {
                self.vast.insert(start, Vast { end: first, ..vast });
            }
            if vast.end > end {
                self.vast.insert(end, vast);
            }
        }
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let tables = self.pages.heap_bytes() + self.granules.heap_bytes() + size_of_val(&*self.used);
        (tables + self.directory.capacity() * size_of::<(u64, Entry)>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::held::tells_what_it_holds;

    const FIVE: ObjectNumber = ObjectNumber::new(5);
    const SIX: ObjectNumber = ObjectNumber::new(6);
    const SPAN: usize = 60 * PAGE as usize;

    fn any_range() -> impl Strategy<Value = (u64, u64)> {
        let small = (0u64..6 * PAGE, 0u64..100);
        let pages = (0u64..40, 0u64..20).prop_map(|(start, pages)| (start * PAGE, pages * PAGE));
        let large = (0u64..30 * PAGE, 0u64..30 * PAGE);
        prop_oneof![4 => small, 1 => pages, 1 => large]
    }

    proptest! {
        /// Against a list of all bytes: what was filled last is what is there.
        #[test]
        fn the_last_range_counts(ops in prop::collection::vec((any_range(), (0usize..4).prop_map(ObjectNumber::new), any_range()), 1..60)) {
            let mut map = AddressMap::default();
            let mut list = vec![NOTHING; SPAN];
            let base = 7 * PAGE;
            for ((start, len), number, (asked, asked_len)) in ops {
                map.fill(base + start, len, number);
                list[start as usize..(start + len) as usize].fill(number);
                let bytes = &list[asked as usize..(asked + asked_len) as usize];
                let whole = bytes.first().copied().filter(|first| bytes.iter().all(|n| n == first));
                prop_assert_eq!(map.number_of(base + asked, asked_len), whole);
                for at in [start, asked, start + len, asked + asked_len / 2] {
                    let there = list.get(at as usize).copied().unwrap_or(NOTHING);
                    prop_assert_eq!(map.number_at(base + at), there);
                }
            }
            for (at, number) in list.iter().enumerate() {
                prop_assert_eq!(map.number_at(base + at as u64), *number);
            }
        }
    }

    #[test]
    fn a_terabyte_costs_nothing_and_can_be_written_over() {
        let mut map = AddressMap::default();
        map.fill(1 << 44, 1 << 40, FIVE);
        assert_eq!(map.number_at((1 << 44) + (1 << 39)), FIVE);
        assert_eq!(map.number_of(1 << 44, 1 << 40), Some(FIVE));
        map.fill((1 << 44) + (1 << 39), 8, SIX);
        assert_eq!(map.number_of(1 << 44, (1 << 20) + 1), Some(FIVE));
        assert_eq!(map.number_at((1 << 44) + (1 << 39) + 7), SIX);
        assert_eq!(map.number_at((1 << 44) + (1 << 39) + 8), FIVE);
        map.fill(1 << 44, 1 << 40, NOTHING);
        assert_eq!(map.number_at((1 << 44) + (1 << 39)), NOTHING);
        assert!(map.heap_bytes() < 1 << 16);
    }

    #[test]
    fn the_tables_of_a_stack_slot_are_used_again() {
        let mut map = AddressMap::default();
        for _ in 0..1000 {
            map.fill(5000, 4, FIVE);
            map.fill(5004, 4, SIX);
            map.fill(5000, 8, NOTHING);
        }
        assert!(map.heap_bytes() < 4096);
    }

    #[test]
    fn a_map_tells_what_it_holds() {
        let pages = |len: u64| {
            let make = move || {
                let mut map = AddressMap::default();
                (0..5000).for_each(|page| map.fill(page << 12, len, FIVE));
                map
            };
            tells_what_it_holds(make, AddressMap::heap_bytes);
        };
        [1 << 12, 24, 4].into_iter().for_each(pages);
    }
}
