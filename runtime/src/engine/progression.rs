//! Ranges of bytes at even distances: the words that a loop touches, or the depths at which it finds them.
//!
//! Takes where the first begins, the step, their number and their width. Addresses wrap around as the program's do.

use serde::{Deserialize, Serialize};

/// `count` ranges of `width` bytes, the first at `first` and each `step` further than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progression {
    /// Where the first begins: an address, or the bytes above it.
    pub first: u64,
    /// From one to the next; may be 0.
    pub step: i64,
    /// How many there are.
    pub count: u64,
    /// Bytes of each.
    pub width: u64,
}

impl Progression {
    /// One range.
    #[inline(always)]
    #[must_use]
    pub fn one(first: u64, width: u64) -> Self {
        Self { first, step: 0, count: 1, width }
    }

    /// Where a range begins; also of those that are not there.
    #[inline(always)]
    #[must_use]
    pub fn start_of(&self, number: u64) -> u64 {
        self.first.wrapping_add_signed(self.step.wrapping_mul(number as i64))
    }

    /// Where each begins, in order.
    #[inline(always)]
    pub fn each(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |number| self.start_of(number))
    }

    /// The first `count` of them.
    #[inline(always)]
    #[must_use]
    pub fn take(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// All but the first `count`.
    #[inline(always)]
    #[must_use]
    pub fn skip(self, count: u64) -> Self {
        Self { first: self.start_of(count), count: self.count - count, ..self }
    }

    /// Turns the ranges around: the last comes first.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { first: self.start_of(self.count.wrapping_sub(1)), step: self.step.wrapping_neg(), ..self }
    }

    /// Parts that lie side by side in one page: ranges of which none lies in two pages, as (address, ranges).
    pub fn by_page(self, page: u64) -> impl Iterator<Item = (u64, u64)> {
        let mut left = self;
        std::iter::from_fn(move || {
            if left.count == 0 {
                return None;
            }
            let in_page = (page - left.first % page) / left.width;
            let count = if left.step == left.width as i64 { in_page.min(left.count) } else { 1 };
            let part = (left.first, count);
            left = left.skip(count);
            Some(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_pages_have_every_range_once() {
        let words = Progression { first: 4080, step: 8, count: 5, width: 8 };
        assert_eq!(words.each().collect::<Vec<_>>(), [4080, 4088, 4096, 4104, 4112]);
        assert_eq!(words.reversed().each().collect::<Vec<_>>(), [4112, 4104, 4096, 4088, 4080]);
        assert_eq!(words.by_page(4096).collect::<Vec<_>>(), [(4080, 2), (4096, 3)]);
        assert_eq!((words.take(2), words.skip(2).first), (Progression { count: 2, ..words }, 4096));
        let columns = Progression { step: -4096, ..words };
        assert_eq!(columns.by_page(4096).map(|(_, count)| count).sum::<u64>(), 5);
    }
}
