//! A label for each byte of the program's memory.
//!
//! Takes addresses and labels; gives, for a range, one label if all its bytes have it. A byte that nothing has touched
//! since the last [`Shadow::reset`] has the label [`UNTOUCHED`]. Holds 16 KiB per page of 4096 addresses with another
//! label.

use crate::{
    engine::{Progression, boxed, hint::prefetch},
    pages::Pages,
};

/// What is known of a byte: the values model keeps the identity of what it holds there, flows who touched it.
pub type ByteLabel = u32;

pub const UNTOUCHED: ByteLabel = 0;

/// Addresses of a page.
pub const PAGE: usize = 4096;
/// Labels compared at a time.
const GROUP: usize = 32;
/// Labels of words further apart are fetched so many words ahead.
const WIDE_STRIDE: u64 = 256;
const AHEAD: i64 = 8;
/// Freed pages kept for the next region, at most.
const SPARE: usize = 256;

#[derive(Default)]
pub struct Shadow {
    pages: Pages<[ByteLabel; PAGE]>,
    /// Pages that nothing names. [`Self::reset`] fills them with [`UNTOUCHED`], so that whoever takes one may use it as
    /// it is.
    spare: Vec<Box<[ByteLabel; PAGE]>>,
}

/// Pieces of a range, each within one page: (page number, offset in it, bytes).
fn pieces(address: u64, len: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    crate::pieces::pieces(address, len, PAGE as u64).map(|(page, offset, part)| (page, offset as usize, part as usize))
}

impl Shadow {
    /// Forgets everything.
    pub fn reset(&mut self) {
        for mut page in self.pages.drain() {
            if self.spare.len() < SPARE {
                page.fill(UNTOUCHED);
                self.spare.push(page);
            }
        }
    }

    fn page_made(&mut self, number: u64) -> &mut [ByteLabel; PAGE] {
        self.pages.get_or_insert(number, || self.spare.pop().unwrap_or_else(|| boxed([UNTOUCHED; PAGE])))
    }

    /// The label that all bytes of a range have, or `None` if they differ.
    #[inline]
    pub fn uniform(&mut self, address: u64, len: u64) -> Option<ByteLabel> {
        let offset = (address % PAGE as u64) as usize;
        if offset + len as usize <= PAGE {
            let Some(page) = self.pages.find(address / PAGE as u64) else { return Some(UNTOUCHED) };
            let labels = &page[offset..offset + len as usize];
            let Some(&first) = labels.first() else { return Some(UNTOUCHED) };
            return labels.iter().all(|l| *l == first).then_some(first);
        }
        let first = self.label(address);
        (1..len).all(|i| self.label(address.wrapping_add(i)) == first).then_some(first)
    }

    pub fn label(&mut self, address: u64) -> ByteLabel {
        let page = self.pages.find(address / PAGE as u64);
        page.map_or(UNTOUCHED, |page| page[(address % PAGE as u64) as usize])
    }

    #[inline]
    pub fn fill(&mut self, address: u64, len: u64, label: ByteLabel) {
        for (number, offset, part) in pieces(address, len) {
            if label == UNTOUCHED && self.pages.find(number).is_none() {
                continue;
            }
            self.page_made(number)[offset..offset + part].fill(label);
        }
    }

    /// Tells runs of one label within a range, without bytes that nothing has touched: label, first byte and bytes, at
    /// most those of a page.
    pub fn each_run(&mut self, address: u64, len: u64, mut tell: impl FnMut(ByteLabel, u64, u64)) {
        self.pages.each_part(address, len, PAGE as u64, |page, mut first, part| {
            for run in page[part].chunk_by(|a, b| a == b) {
                if run[0] != UNTOUCHED {
                    tell(run[0], first, run.len() as u64);
                }
                first = first.wrapping_add(run.len() as u64);
            }
        });
    }

    /// Address and length of each page that has labels.
    #[must_use]
    pub fn touched(&self) -> Vec<(u64, u64)> {
        self.pages.iter().map(|(number, _)| (number * PAGE as u64, PAGE as u64)).collect()
    }

    /// Makes a range as if nothing had touched it.
    pub fn forget(&mut self, address: u64, len: u64) {
        self.pages.each_part(address, len, PAGE as u64, |page, _, part| page[part].fill(UNTOUCHED));
    }

    /// The labels of `from ..` go to `to ..`, as memmove would take them, and are forgotten where they were.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        const PIECE: u64 = PAGE as u64;
        let mut buffer = vec![UNTOUCHED; len.min(PIECE) as usize];
        let pieces = len.div_ceil(PIECE);
        for number in 0..pieces {
            // Backwards if the target begins inside the source.
            let start = PIECE * if to > from { pieces - 1 - number } else { number };
            let labels = &mut buffer[..(len - start).min(PIECE) as usize];
            let bytes = labels.len() as u64;
            if self.uniform(from + start, bytes) == Some(UNTOUCHED) {
                self.fill(to + start, bytes, UNTOUCHED);
            } else {
                for (label, at) in labels.iter_mut().zip(from + start..) {
                    *label = self.label(at);
                }
                self.write(to + start, labels);
            }
        }
        let (left, right) =
            if to > from { (from, to.min(from + len)) } else { (from.max(to.saturating_add(len)), from + len) };
        self.fill(left, right - left, UNTOUCHED);
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        ((self.pages.len() + self.spare.len()) * size_of::<[ByteLabel; PAGE]>()) as u64
    }

    /// The labels of a range: (label, bytes that have it one after the other).
    pub fn runs(&mut self, address: u64, len: u64, labels: &mut Vec<(ByteLabel, u64)>) {
        for (number, offset, part) in pieces(address, len) {
            match self.pages.find(number) {
                None => add_words(labels, UNTOUCHED, part as u64),
                Some(page) => page[offset..offset + part]
                    .chunk_by(|a, b| a == b)
                    .for_each(|run| add_words(labels, run[0], run.len() as u64)),
            }
        }
    }

    /// The labels of a range, byte by byte.
    pub fn read(&mut self, address: u64, len: u64) -> Vec<ByteLabel> {
        (0..len).map(|i| self.label(address.wrapping_add(i))).collect()
    }

    /// Labels of words of `len` bytes, a power of two up to 64, which divides address and stride: (label, words that
    /// have it one after the other). False if the bytes of a word have different labels.
    pub fn words(&mut self, words: Progression, labels: &mut Vec<(ByteLabel, u64)>) -> bool {
        let len = words.width;
        let is_wide = words.step.unsigned_abs() > WIDE_STRIDE;
        for (address, count) in words.by_page(PAGE as u64) {
            if is_wide {
                self.fetch(address.wrapping_add_signed(words.step.wrapping_mul(AHEAD)));
            }
            let Some(page) = self.pages.find(address / PAGE as u64) else {
                add_words(labels, UNTOUCHED, count);
                continue;
            };
            let offset = (address % PAGE as u64) as usize;
            let mut row = &page[offset..offset + (count * len) as usize];
            while let Some(&label) = row.first() {
                let same = same(row, label);
                if !same.is_multiple_of(len as usize) {
                    return false;
                }
                add_words(labels, label, (same / len as usize) as u64);
                row = &row[same..];
            }
        }
        true
    }

    /// Asks the processor to fetch the label of an address.
    #[inline]
    fn fetch(&mut self, address: u64) {
        if let Some(page) = self.pages.find(address / PAGE as u64) {
            prefetch(&page[(address % PAGE as u64) as usize]);
        }
    }

    /// Labels words, as `words` gives labels.
    pub fn fill_words(&mut self, words: Progression, labels: impl Iterator<Item = (ByteLabel, u64)>) {
        let mut left = words;
        for (label, count) in labels {
            for (address, count) in left.take(count).by_page(PAGE as u64) {
                self.fill(address, count * words.width, label);
            }
            left = left.skip(count);
        }
    }

    /// Labels a range byte by byte.
    pub fn write(&mut self, address: u64, labels: &[ByteLabel]) {
        let mut done = 0;
        for (number, offset, part) in pieces(address, labels.len() as u64) {
            self.page_made(number)[offset..offset + part].copy_from_slice(&labels[done..done + part]);
            done += part;
        }
    }
}

/// Adds words with a label to those before them.
#[inline]
fn add_words(labels: &mut Vec<(ByteLabel, u64)>, label: ByteLabel, count: u64) {
    match labels.last_mut() {
        Some((last, words)) if *last == label => *words += count,
        _ => labels.push((label, count)),
    }
}

/// How many labels from the first on are `label`.
#[inline]
fn same(labels: &[ByteLabel], label: ByteLabel) -> usize {
    // Without a branch per label within a group: compilers turn this into vector instructions.
    let differs = |group: &&[ByteLabel]| group.iter().fold(false, |differs, other| differs | (*other != label));
    let groups = labels.chunks_exact(GROUP).take_while(|group| !differs(group)).count();
    let rest = labels[groups * GROUP..].iter().take_while(|other| **other == label).count();
    groups * GROUP + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_their_labels_across_pages() {
        let mut shadow = Shadow::default();
        shadow.fill(4090, 12, 7);
        assert_eq!(shadow.uniform(4090, 12), Some(7));
        assert_eq!(shadow.uniform(4089, 2), None);
        assert_eq!(shadow.uniform(9000, 8), Some(UNTOUCHED));
        let labels = shadow.read(4088, 4);
        assert_eq!(labels, [UNTOUCHED, UNTOUCHED, 7, 7]);
        shadow.write(8190, &labels);
        assert_eq!(shadow.uniform(8192, 2), Some(7));
        shadow.forget(8192, 1 << 60);
        assert_eq!(shadow.read(8190, 4), [UNTOUCHED; 4]);
        assert_eq!(shadow.uniform(4090, 12), Some(7));
        shadow.reset();
        assert_eq!(shadow.uniform(4090, 16), Some(UNTOUCHED));
    }

    #[test]
    fn ranges_move_as_memmove_would_move_them() {
        for (from, to, len) in
            [(100, 9000, 5000), (9000, 100, 9000), (5000, 5003, 8200), (5003, 5000, 8200), (0, 4096, 4096)]
        {
            let mut shadow = Shadow::default();
            let mut list = vec![UNTOUCHED; 20_000];
            for at in (0..20_000).step_by(3) {
                shadow.fill(at as u64, 2, at as ByteLabel + 1);
                list[at..at + 2].fill(at as ByteLabel + 1);
            }
            shadow.relocate(from, to, len);
            let (from, to, len) = (from as usize, to as usize, len as usize);
            let moved = list[from..from + len].to_vec();
            list[from..from + len].fill(UNTOUCHED);
            list[to..to + len].copy_from_slice(&moved);
            assert!(shadow.read(0, 20_000) == list, "{len} bytes from {from} to {to}");
        }
    }
}
