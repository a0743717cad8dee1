//! Pages of which little was touched: their cells as short lists, where a page of its own would be mostly empty.
//!
//! Takes cells by page and place in it; gives their values, and the whole list of a page that has become too long to be
//! one. Refuses nothing, but says when a page should be moved.

use std::collections::HashMap;

use super::cell::Cell;
use super::marks::Marks;
use crate::hash::FastHash;

/// Cells of a page that are worth a list: an eighth to a sixteenth of the memory of a page then.
const MOST: usize = 128;
/// Cells side by side from which on a page is taken to be one that is filled in order.
const IN_ORDER: usize = 16;

/// A touched cell: its place in its page, and its value.
type Entry<C> = (u16, C);

/// The lists, by the number of their page.
pub struct SparsePages<C> {
    marks: Marks,
    pages: HashMap<u64, Vec<Entry<C>>, FastHash>,
}

impl<C: Cell> SparsePages<C> {
    pub fn new() -> Self {
        SparsePages { marks: Marks::default(), pages: HashMap::default() }
    }

    /// Makes room for pages below some multiple of 64.
    pub fn grow(&mut self, pages: usize) {
        self.marks.grow(pages);
    }

    #[inline(always)]
    pub fn has(&self, page: usize) -> bool {
        self.marks.get(page)
    }

    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    pub fn get(&self, page: usize, at: usize) -> C {
        let Some(entries) = self.pages.get(&(page as u64)) else { return C::default() };
        entries.binary_search_by_key(&(at as u16), |entry| entry.0).map_or_else(|_| C::default(), |at| entries[at].1)
    }

    /// Gives a cell a value.
    pub fn set(&mut self, page: usize, at: usize, value: C) {
        let entries = self.pages.entry(page as u64).or_insert_with(|| {
            self.marks.set(page);
            Vec::new()
        });
        match entries.binary_search_by_key(&(at as u16), |entry| entry.0) {
            Ok(found) => entries[found].1 = value,
            Err(place) => entries.insert(place, (at as u16, value)),
        }
    }

    /// Whether a page has more cells than a list is good for.
    pub fn is_full(&self, page: usize) -> bool {
        let Some(entries) = self.pages.get(&(page as u64)) else { return false };
        let [(first, _), .., (last, _)] = entries[..] else { return false };
        let in_order = entries.len() > IN_ORDER && usize::from(last - first) + 1 == entries.len();
        in_order || entries.len() > MOST
    }

    /// The cells of a page, which is not here any more.
    pub fn take(&mut self, page: usize) -> Vec<(usize, C)> {
        self.marks.clear(page);
        let entries = self.pages.remove(&(page as u64)).unwrap_or_default();
        entries.into_iter().map(|(at, value)| (usize::from(at), value)).collect()
    }

    /// All cells, as page, place in it and value; they are not here any more.
    pub fn drain(&mut self) -> impl Iterator<Item = (usize, usize, C)> {
        self.marks.clear_all();
        let pages = self.pages.drain();
        pages.flat_map(|(page, entries)| {
            entries.into_iter().map(move |(at, cell)| (page as usize, usize::from(at), cell))
        })
    }

    /// All cells.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut C> {
        self.pages.values_mut().flatten().map(|entry| &mut entry.1)
    }

    pub fn converted<D: Cell>(self, convert: impl Fn(C) -> D) -> SparsePages<D> {
        let convert = |entries: Vec<Entry<C>>| entries.into_iter().map(|(at, value)| (at, convert(value))).collect();
        let pages = self.pages.into_iter().map(|(page, entries)| (page, convert(entries))).collect();
        SparsePages { marks: self.marks, pages }
    }

    pub fn cell_count(&self) -> usize {
        self.pages.values().map(Vec::len).sum()
    }

    pub fn heap_bytes(&self) -> usize {
        let lists: usize = self.pages.values().map(Vec::capacity).sum();
        self.marks.heap_bytes()
            + lists * size_of::<Entry<C>>()
            + self.pages.capacity() * size_of::<(u64, Vec<Entry<C>>)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_full_with_many_cells_or_with_some_side_by_side() {
        let mut sparse = SparsePages::<u32>::new();
        sparse.grow(64);
        (0..MOST).for_each(|at| sparse.set(1, 3 * at, 70));
        (0..IN_ORDER).for_each(|at| sparse.set(2, 9 + at, 70));
        assert_eq!((sparse.is_full(0), sparse.is_full(1), sparse.is_full(2)), (false, false, false));
        sparse.set(1, 1, 70);
        sparse.set(2, 8, 71);
        assert_eq!((sparse.is_full(1), sparse.is_full(2)), (true, true));
        assert_eq!((sparse.get(2, 8), sparse.get(2, 7), sparse.get(3, 8)), (71, 0, 0));
        assert_eq!(sparse.take(2).len(), IN_ORDER + 1);
        assert_eq!((sparse.has(1), sparse.has(2), sparse.get(2, 8)), (true, false, 0));
    }
}
