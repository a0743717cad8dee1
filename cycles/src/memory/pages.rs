//! Pages: the first level of translations, and which pages were touched before.

use std::collections::HashMap;

/// Translations of the first level, of which any may leave for any other.
pub struct First {
    /// The newest first.
    pages: Box<[u64]>,
}

const NONE: u64 = u64::MAX;

impl First {
    pub fn new(entries: u64) -> Self {
        Self { pages: vec![NONE; entries.clamp(1, 4096) as usize].into() }
    }

    /// Whether a page's translation is known; it is from now on.
    #[inline(always)]
    pub fn find(&mut self, page: u64) -> bool {
        if self.pages[0] == page {
            return true;
        }
        self.find_behind(page)
    }

    fn find_behind(&mut self, page: u64) -> bool {
        let found = self.pages.iter().position(|known| *known == page);
        let last = found.unwrap_or(self.pages.len() - 1);
        self.pages[..=last].rotate_right(1);
        self.pages[0] = page;
        found.is_some()
    }
}

/// Pages that were touched, as bits.
#[derive(Default)]
pub struct Touched {
    pages: HashMap<u64, [u64; 8]>,
}

impl Touched {
    /// Whether a page is touched for the first time.
    pub fn touch(&mut self, page: u64) -> bool {
        let bits = &mut self.pages.entry(page >> 9).or_default()[((page >> 6) & 7) as usize];
        let is_first = (*bits >> (page & 63)) & 1 == 0;
        *bits |= 1 << (page & 63);
        is_first
    }

    /// Pages from `first` up to before `end` are as if they had not been touched.
    pub fn forget(&mut self, first: u64, end: u64) {
        for page in first..end.max(first + 1) {
            if let Some(bits) = self.pages.get_mut(&(page >> 9)) {
                bits[((page >> 6) & 7) as usize] &= !(1 << (page & 63));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_touched_once() {
        let mut touched = Touched::default();
        assert!(touched.touch(700) && !touched.touch(700) && touched.touch(701));
        touched.forget(700, 701);
        assert!(touched.touch(700) && !touched.touch(701));
    }

    #[test]
    fn the_oldest_translation_leaves() {
        let mut first = First::new(2);
        assert_eq!([1, 2, 1, 3, 1, 2].map(|page| first.find(page)), [false, false, true, false, true, false]);
    }
}
