//! Which lines come in order, so that a processor can see them coming.
//!
//! Takes the lines that come in front, in order of time, by the places of their entries; tells whether each is in a
//! *stream*: its page's lines come at a constant step, it is the third of them or a later one, and it came soon after
//! the one before. That is what hardware prefetchers are documented to do: they need a few misses to start, follow one
//! stream per page of 4 KiB and about 32 of them, and stop where a page ends (Intel 64 and IA-32 Architectures
//! Optimization Reference Manual, "Hardware Prefetch").

use super::table::{EntryId, LINES};

/// Bytes of a page, which no stream leaves.
const PAGE_SHIFT: u32 = 12;
/// Lines that may come between two lines of a stream, and one.
pub const SOON: u64 = 32;

/// How a line comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coming {
    Alone,
    /// After its neighbour, upwards or downwards.
    InOrder,
    /// At another constant step.
    AtStep,
}

/// The stream of a page.
#[derive(Clone, Copy, Default)]
struct Page {
    /// When its last line came; 0 if none did.
    last: u64,
    line: u16,
    /// From the line before to that one; 0 if they do not belong together.
    step: i16,
}

pub struct Streams {
    pages: Vec<Page>,
    /// Lines of a page, as a power of two.
    page_bits: u32,
    /// Lines that came.
    now: u64,
}

impl Streams {
    /// Lines of `1 << shift` bytes.
    pub fn new(shift: u32) -> Self {
        Self { pages: Vec::new(), page_bits: PAGE_SHIFT.saturating_sub(shift).min(LINES.ilog2()), now: 0 }
    }

    /// A line comes.
    #[inline(always)]
    pub fn come(&mut self, place: EntryId) -> Coming {
        let (page, line) = ((place.0 >> self.page_bits) as usize, (place.0 & ((1 << self.page_bits) - 1)) as u16);
        if page >= self.pages.len() {
            self.grow(page);
        }
        self.now += 1;
        let page = &mut self.pages[page];
        let is_soon = page.last > 0 && self.now - page.last <= SOON;
        let step = if is_soon { line as i16 - page.line as i16 } else { 0 };
        let coming = match step {
            _ if step == 0 || step != page.step => Coming::Alone,
            1 | -1 => Coming::InOrder,
            _ => Coming::AtStep,
        };
        *page = Page { last: self.now, line, step };
        coming
    }

    /// So many lines come that are not told.
    pub fn skip(&mut self, lines: u64) {
        self.now += lines;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.now = 0;
    }

    #[cold]
    fn grow(&mut self, page: usize) {
        self.pages.resize((page + 1).next_power_of_two(), Page::default());
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        (self.pages.len() * size_of::<Page>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    #[test]
    fn streams_tell_what_they_hold() {
        let make = || {
            let mut streams = Streams::new(6);
            (0..10_000).for_each(|page| _ = streams.come(EntryId(page * 64)));
            streams
        };
        tells_what_it_holds(make, Streams::heap_bytes);
    }
}
