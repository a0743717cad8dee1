//! Pages of what is known of the program's memory, found by number.
//!
//! Takes numbers and what a page is; a page is made once and stays until all are given back. Those that were looked up
//! last are found without hashing.

use std::{collections::HashMap, ops::Range};

use crate::{hash::FastHash, pieces::pieces};

const RECENT: usize = 512;

pub struct Pages<P> {
    index: HashMap<u64, u32, FastHash>,
    pages: Vec<Box<P>>,
    /// Pages that were looked up last, by number modulo the length: (number plus one, page).
    recent: Box<[(u64, u32); RECENT]>,
}

impl<P> Default for Pages<P> {
    fn default() -> Self {
        Self { index: HashMap::default(), pages: Vec::new(), recent: Box::new([(0, 0); RECENT]) }
    }
}

impl<P> Pages<P> {
    #[inline]
    fn index_of(&mut self, number: u64) -> Option<usize> {
        let recent = &mut self.recent[number as usize % RECENT];
        if recent.0 != number + 1 {
            *recent = (number + 1, *self.index.get(&number)?);
        }
        Some(recent.1 as usize)
    }

    #[inline]
    pub fn find(&mut self, number: u64) -> Option<&mut P> {
        let at = self.index_of(number)?;
        Some(&mut self.pages[at])
    }

    /// The page of this number, made if there is none.
    #[inline]
    pub fn get_or_insert(&mut self, number: u64, new: impl FnOnce() -> Box<P>) -> &mut P {
        let at = self.index_of(number).unwrap_or_else(|| {
            let at = self.pages.len();
            self.pages.push(new());
            self.index.insert(number, at as u32);
            at
        });
        &mut self.pages[at]
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// All pages with their numbers, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &P)> {
        self.index.iter().map(|(&number, &at)| (number, &*self.pages[at as usize]))
    }

    /// The parts of pages of `unit` elements that are in a range of elements, each with its first element, in no
    /// particular order. Of a range that is larger than all pages, only those that there are are looked at.
    pub fn each_part(&mut self, first: u64, count: u64, unit: u64, mut take: impl FnMut(&mut P, u64, Range<usize>)) {
        if count / unit <= self.pages.len() as u64 {
            for (number, from, part) in pieces(first, count, unit) {
                if let Some(page) = self.find(number) {
                    take(page, number * unit + from, from as usize..(from + part) as usize);
                }
            }
            return;
        }
        let end = first.saturating_add(count);
        for (&number, &at) in &self.index {
            let in_page = |element: u64| element.saturating_sub(number * unit).min(unit) as usize;
            let (from, to) = (in_page(first), in_page(end));
            if from < to {
                take(&mut self.pages[at as usize], number * unit + from as u64, from..to);
            }
        }
    }

    /// Gives all pages back.
    pub fn drain(&mut self) -> impl Iterator<Item = Box<P>> {
        self.index.clear();
        self.recent.fill((0, 0));
        self.pages.drain(..)
    }
}
