//! Which pages were touched before.

use std::collections::HashMap;

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
}
