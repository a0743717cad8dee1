//! Which of many things in a row are marked: a bit each.
//!
//! Takes numbers; gives whether they are marked, and runs of those that are, in order. Refuses (by a panic) numbers
//! there is no room for.

use std::ops::Range;

#[derive(Default)]
pub struct Marks {
    words: Vec<u64>,
    count: usize,
}

impl Marks {
    /// Makes room for numbers below some multiple of 64.
    pub fn grow(&mut self, len: usize) {
        self.words.resize(len / 64, 0);
    }

    /// Marks what was not marked.
    pub fn set(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
        self.count += 1;
    }

    /// The opposite, for what was marked.
    pub fn clear(&mut self, number: usize) {
        self.words[number / 64] &= !(1 << (number % 64));
        self.count -= 1;
    }

    /// The opposite, for all.
    pub fn clear_all(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    #[inline(always)]
    pub fn get(&self, number: usize) -> bool {
        self.words[number / 64] >> (number % 64) & 1 == 1
    }

    /// How many are marked.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// The first run of marked numbers in a range.
    pub fn next_run(&self, range: Range<usize>) -> Option<Range<usize>> {
        let start = self.next(range.start, range.end, 0)?;
        Some(start..self.next(start, range.end, u64::MAX).unwrap_or(range.end))
    }

    /// The first number of a range that is marked, or is not with `flip` all ones.
    fn next(&self, mut number: usize, end: usize, flip: u64) -> Option<usize> {
        while number < end {
            let rest = (self.words[number / 64] ^ flip) >> (number % 64);
            if rest != 0 {
                let found = number + rest.trailing_zeros() as usize;
                return (found < end).then_some(found);
            }
            number = (number / 64 + 1) * 64;
        }
        None
    }

    /// All runs.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let all = self.words.len() * 64;
        std::iter::successors(self.next_run(0..all), move |last| self.next_run(last.end..all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_what_is_marked(numbers in prop::collection::btree_set(0usize..320, 0..200), from in 0usize..320) {
            let mut marks = Marks::default();
            marks.grow(320);
            numbers.iter().for_each(|&number| marks.set(number));
            let marked = |runs: Vec<Range<usize>>| runs.into_iter().flatten().collect::<Vec<_>>();
            prop_assert_eq!(marked(marks.runs().collect()), numbers.iter().copied().collect::<Vec<_>>());
            prop_assert!((0..320).all(|number| marks.get(number) == numbers.contains(&number)));
            let run = marks.next_run(from..320);
            let first = numbers.range(from..).next().copied();
            prop_assert_eq!(run.clone().map(|run| run.start), first);
            if let Some(first) = first {
                let others = numbers.iter().copied().filter(|&number| number != first).collect::<Vec<_>>();
                marks.clear(first);
                prop_assert_eq!((marks.count(), marked(marks.runs().collect())), (others.len(), others));
                marks.set(first);
            }
            if let Some(run) = run {
                prop_assert!(run.clone().all(|number| marks.get(number)) && (run.end == 320 || !marks.get(run.end)));
            }
        }
    }
}
