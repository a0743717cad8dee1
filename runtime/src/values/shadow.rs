//! Which value lies in each byte of the program's memory.
//!
//! Takes addresses and labels; gives, for a range, one label if all its bytes have it. A byte that nothing has touched since
//! the last [`Shadow::reset`] has the label [`UNTOUCHED`].

use std::collections::HashMap;

use crate::session::hash::FastHash;

/// Identity of what a byte or register holds: [`UNTOUCHED`], [`CONSTANT`], [`OUTSIDE`], the number of a value, or one of those that
/// [`super::labels`] gives out.
pub type Label = u32;

pub const UNTOUCHED: Label = 0;
/// Written, but by nothing that is tracked.
pub const CONSTANT: Label = 1;
/// Written by the system: read from a file, received.
pub const OUTSIDE: Label = 2;

const PAGE: usize = 4096;
const RECENT: usize = 64;
/// Freed pages kept for the next region.
const SPARE: usize = 256;

pub struct Shadow {
    index: HashMap<u64, u32, FastHash>,
    pages: Vec<Box<[Label; PAGE]>>,
    /// Pages that were looked up last, by number modulo the length: (number plus one, page).
    recent: [(u64, u32); RECENT],
    spare: Vec<Box<[Label; PAGE]>>,
}

/// Pieces of a range, each within one page: (page number, offset in it, bytes).
fn pieces(address: u64, len: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut at = address;
    let mut left = len;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let offset = (at % PAGE as u64) as usize;
        let part = left.min((PAGE - offset) as u64);
        let piece = (at / PAGE as u64, offset, part as usize);
        at = at.wrapping_add(part);
        left -= part;
        Some(piece)
    })
}

impl Default for Shadow {
    fn default() -> Self {
        Self { index: HashMap::default(), pages: Vec::new(), recent: [(0, 0); RECENT], spare: Vec::new() }
    }
}

impl Shadow {
    /// Forgets everything.
    pub fn reset(&mut self) {
        self.index.clear();
        self.recent = [(0, 0); RECENT];
        for mut page in self.pages.drain(..) {
            if self.spare.len() < SPARE {
                page.fill(UNTOUCHED);
                self.spare.push(page);
            }
        }
    }

    #[inline]
    fn page(&mut self, number: u64) -> Option<u32> {
        let recent = self.recent[number as usize % RECENT];
        if recent.0 == number + 1 {
            return Some(recent.1);
        }
        let page = self.index.get(&number).copied()?;
        self.recent[number as usize % RECENT] = (number + 1, page);
        Some(page)
    }

    fn page_made(&mut self, number: u64) -> &mut [Label; PAGE] {
        let page = match self.page(number) {
            Some(page) => page,
            None => {
                let page = self.pages.len() as u32;
                self.pages.push(self.spare.pop().unwrap_or_else(|| Box::new([UNTOUCHED; PAGE])));
                self.index.insert(number, page);
                self.recent[number as usize % RECENT] = (number + 1, page);
                page
            }
        };
        &mut self.pages[page as usize]
    }

    /// The label that all bytes of a range have, or `None` if they differ.
    #[inline]
    pub fn uniform(&mut self, address: u64, len: u64) -> Option<Label> {
        let offset = (address % PAGE as u64) as usize;
        if offset + len as usize <= PAGE {
            let Some(page) = self.page(address / PAGE as u64) else { return Some(UNTOUCHED) };
            let labels = &self.pages[page as usize][offset..offset + len as usize];
            let first = labels[0];
            return labels.iter().all(|l| *l == first).then_some(first);
        }
        let first = self.label(address);
        (1..len).all(|i| self.label(address.wrapping_add(i)) == first).then_some(first)
    }

    pub fn label(&mut self, address: u64) -> Label {
        let Some(page) = self.page(address / PAGE as u64) else { return UNTOUCHED };
        self.pages[page as usize][(address % PAGE as u64) as usize]
    }

    #[inline]
    pub fn fill(&mut self, address: u64, len: u64, label: Label) {
        for (number, offset, part) in pieces(address, len) {
            if label == UNTOUCHED && self.page(number).is_none() {
                continue;
            }
            self.page_made(number)[offset..offset + part].fill(label);
        }
    }

    /// The labels of a range.
    pub fn read(&mut self, address: u64, len: u64) -> Vec<Label> {
        (0..len).map(|i| self.label(address.wrapping_add(i))).collect()
    }

    /// Labels a range byte by byte.
    pub fn write(&mut self, address: u64, labels: &[Label]) {
        let mut done = 0;
        for (number, offset, part) in pieces(address, labels.len() as u64) {
            self.page_made(number)[offset..offset + part].copy_from_slice(&labels[done..done + part]);
            done += part;
        }
    }
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
        shadow.reset();
        assert_eq!(shadow.uniform(4090, 16), Some(UNTOUCHED));
    }
}
