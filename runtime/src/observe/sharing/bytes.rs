//! Who wrote each byte last: a number per byte, by pages.

use std::collections::HashMap;

use crate::hash::FastHash;

const PAGE: u64 = 4096;

/// Nobody.
const NONE: u32 = 0;

/// The last writers.
#[derive(Default)]
pub struct Writers {
    pages: Vec<Box<[u32; PAGE as usize]>>,
    numbers: HashMap<u64, u32, FastHash>,
    /// The page that was asked for last, and its number.
    last: Option<(u64, u32)>,
}

impl Writers {
    fn page(&mut self, page: u64) -> Option<&mut [u32; PAGE as usize]> {
        let number = match self.last {
            Some((last, number)) if last == page => number,
            _ => *self.numbers.get(&page)?,
        };
        self.last = Some((page, number));
        Some(&mut self.pages[number as usize])
    }

    fn page_or_new(&mut self, page: u64) -> &mut [u32; PAGE as usize] {
        let next = self.pages.len() as u32;
        let number = *self.numbers.entry(page).or_insert(next);
        if number == next {
            self.pages.push(Box::new([NONE; PAGE as usize]));
        }
        self.last = Some((page, number));
        &mut self.pages[number as usize]
    }

    /// Hands out (first address, writer, bytes) of parts of a range that somebody wrote.
    pub fn each(&mut self, address: u64, len: u32, mut take: impl FnMut(u64, u32, u64)) {
        for (page, from, to) in parts(address, u64::from(len)) {
            let Some(bytes) = self.page(page) else { continue };
            let mut at = from;
            for same in bytes[from..to].chunk_by(|a, b| a == b) {
                if same[0] != NONE {
                    take(page * PAGE + at as u64, same[0] - 1, same.len() as u64);
                }
                at += same.len();
            }
        }
    }

    /// Somebody writes a range.
    pub fn set(&mut self, address: u64, len: u32, writer: u32) {
        for (page, from, to) in parts(address, u64::from(len)) {
            self.page_or_new(page)[from..to].fill(writer + 1);
        }
    }

    /// Nobody has written a range.
    pub fn forget(&mut self, address: u64, len: u32) {
        for (page, from, to) in parts(address, u64::from(len)) {
            if let Some(bytes) = self.page(page) {
                bytes[from..to].fill(NONE);
            }
        }
    }

    /// Bytes go to another place.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        let mut found = Vec::with_capacity(len as usize);
        for (page, start, end) in parts(from, len) {
            match self.page(page) {
                Some(bytes) => found.extend_from_slice(&bytes[start..end]),
                None => found.resize(found.len() + end - start, NONE),
            }
        }
        for (page, start, end) in parts(to, found.len() as u64) {
            let rest = found.split_off(end - start);
            self.page_or_new(page)[start..end].copy_from_slice(&found);
            found = rest;
        }
    }
}

/// The parts of a range by page: page, and where in it.
fn parts(address: u64, len: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = address.saturating_add(len);
    let pages = if len == 0 { 1..1 } else { address / PAGE..(end - 1) / PAGE + 1 };
    pages.map(move |page| {
        let start = page * PAGE;
        let from = address.saturating_sub(start) as usize;
        (page, from, (end - start).min(PAGE) as usize)
    })
}
