//! What is known of each line that was ever touched, by its number.
//!
//! Takes line numbers; gives places of entries, which stay. Entries lie together by pages of neighbours, and pages in
//! the order in which they were touched first; those that were looked up last are found without the directory.

use super::{
    front::Visit,
    ledger::{Filed, Ledger},
};
use crate::{engine::boxed, observe::writer::WriterNumber, pages::Pages};

/// Lines whose entries lie together.
pub const LINES: u64 = 128;
/// Such pages in one directory.
const PAGES: usize = 1 << 13;
/// Pages that were looked up last.
const RECENT: usize = 256;
/// Pages whose entries are all in the nearest cache.
const FEW: usize = if cfg!(test) { 2 } else { 16 };

/// A line that is not in front.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// When it left the front, as a position; 0 if it never did, or is there.
    pub position: u32,
    /// Who wrote it last, plus one; 0 if nobody did.
    pub writer: Option<WriterNumber>,
    /// Bucket of the greatest depth since it was written, plus one.
    pub deepest: u16,
    /// Bucket of the greatest depth before it was written for the first time, plus one.
    pub before: u16,
    /// Who brought it in last; nobody that a part knows of if it may have been somebody before that.
    pub brought: Option<WriterNumber>,
}

impl Entry {
    /// The line leaves the front, or whatever it was in, after a visit there.
    #[inline(always)]
    pub fn leave(&mut self, visit: Visit, ledger: &mut Ledger) {
        if visit.writer.is_none() {
            self.deepest = self.deepest.max(visit.deepest);
            return;
        }
        let deepest = self.deepest.max(visit.before);
        if let Some(writer) = self.writer
            && deepest > 0
        {
            ledger.add(writer.cell(), Filed::WriteBack, deepest - 1, 1);
        }
        if self.writer.is_none() {
            self.before = deepest;
        }
        (self.writer, self.deepest) = (visit.writer, visit.deepest);
    }

    /// All visits so far as one.
    #[must_use]
    pub fn visit(&self) -> Visit {
        Visit { writer: self.writer, deepest: self.deepest, before: self.before }
    }
}

/// Where the entry of a line is. Those of [`LINES`] neighbours, the first a multiple of that, follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryId(pub u32);

pub struct Table {
    /// Numbers of pages, plus one.
    directories: Pages<[u32; PAGES]>,
    entries: Vec<Entry>,
    /// Which page each [`LINES`] of them are.
    pages: Vec<u64>,
    /// By the last bits of a page's number among all: that number, and its own.
    recent: Box<[(u64, u32); RECENT]>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            directories: Pages::default(),
            entries: Vec::new(),
            pages: Vec::new(),
            recent: Box::new([(u64::MAX, 0); RECENT]),
        }
    }
}

impl Table {
    /// Where the entry of a line is; made if there is none.
    #[inline(always)]
    pub fn find_or_add(&mut self, line: u64) -> EntryId {
        let page = line / LINES;
        let recent = self.recent[page as usize % RECENT];
        let number = if recent.0 == page { recent.1 } else { self.look_up(page) };
        EntryId(number * LINES as u32 + (line % LINES) as u32)
    }

    #[inline(never)]
    fn look_up(&mut self, page: u64) -> u32 {
        let directory = self.directories.get_or_insert(page / PAGES as u64, || boxed([0; PAGES]));
        let number = &mut directory[page as usize % PAGES];
        if *number == 0 {
            self.entries.resize(self.entries.len() + LINES as usize, Entry::default());
            self.pages.push(page);
            *number = (self.entries.len() as u64 / LINES) as u32;
        }
        self.recent[page as usize % RECENT] = (page, *number - 1);
        *number - 1
    }

    #[inline(always)]
    pub fn entry_at(&mut self, place: EntryId) -> &mut Entry {
        &mut self.entries[place.0 as usize]
    }

    /// Whether everything is in the caches.
    #[inline(always)]
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.entries.len() < FEW * LINES as usize
    }

    pub fn entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// The line at a place.
    #[must_use]
    pub fn line(&self, place: EntryId) -> u64 {
        self.pages[(place.0 / LINES as u32) as usize] * LINES + u64::from(place.0) % LINES
    }

    /// Every entry with its line.
    pub fn each(&self) -> impl Iterator<Item = (u64, &Entry)> {
        let lines = self.pages.iter().flat_map(|page| (0..LINES).map(move |line| page * LINES + line));
        lines.zip(&self.entries)
    }

    /// Forgets all lines.
    pub fn clear(&mut self) {
        drop(self.directories.drain());
        self.entries.clear();
        self.pages.clear();
        self.recent.fill((u64::MAX, 0));
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let directories = self.directories.len() * size_of::<[u32; PAGES]>();
        let pages = self.pages.len() * size_of::<u64>();
        (directories + pages + self.entries.len() * size_of::<Entry>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    #[test]
    fn a_table_tells_what_it_holds() {
        let table = |lines: u64, step: u64| {
            let make = move || {
                let mut table = Table::default();
                (0..lines).for_each(|line| _ = table.find_or_add(line * step));
                table
            };
            tells_what_it_holds(make, Table::heap_bytes);
        };
        table(1 << 16, 1);
        table(64, LINES * PAGES as u64);
    }
}
