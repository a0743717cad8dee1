//! What parts of a run need of a shadow: all that is on the stack, and bytes that another stack has taken.
//!
//! Takes a range, or everything. Refuses nothing.

use super::cells::{MOST_FEW, PAGE_BITS, PAGE_CELLS, REGION_BITS, REGION_PAGES, Shadow, page_room};
use crate::engine::cell::{BYTES, Cell, DEAD, FIRST, pooled};

/// Pages whose memory is kept for the next part, about: 32 MiB of the program.
const MOST_KEPT: usize = 1 << 11;

/// Bytes on the stack, side by side in memory and there.
#[derive(Clone, Copy, Default)]
pub struct Live {
    pub position: u64,
    pub addr: u64,
    pub len: u64,
}

impl<C: Cell> Shadow<C> {
    /// Marks bytes dead, whether they were touched before or not.
    #[inline(always)]
    pub fn bury(&mut self, addr: u64, len: u64) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let part = left.min(page_room(at));
            let cell = self.find(at);
            let is_few = self.is_few(cell) || self.present.count() >= self.full_pages && part <= MOST_FEW;
            if self.is_present(cell) || !is_few {
                self.make(at);
                self.end(at, part, |_| DEAD);
            } else {
                let page = self.make_region(at) / PAGE_CELLS;
                self.end(at, part, |_| DEAD);
                if self.few.is_full(page) {
                    self.make_page(at);
                }
            }
            (at, left) = (at.wrapping_add(part), left - part);
        }
    }

    /// Tells all that is on the stack, and forgets everything.
    pub fn drain(&mut self, runs: &mut Vec<Live>) {
        let mut by_first = vec![0; self.regions.len() + 1];
        self.regions.iter().for_each(|&(region, first)| by_first[first / (REGION_PAGES * PAGE_CELLS)] = region);
        let start =
            |page: usize| (by_first[page / REGION_PAGES] << REGION_BITS) + ((page % REGION_PAGES) << PAGE_BITS) as u64;
        self.kept.grow((self.regions.len() + 1) * REGION_PAGES + 64);
        let pages: Vec<_> = self.present.runs().collect();
        for page in pages.into_iter().flatten() {
            if !self.kept.get(page) {
                self.kept.set(page);
            }
            let cells = &mut self.cells[page * PAGE_CELLS..(page + 1) * PAGE_CELLS];
            for (cell, addr) in cells.iter_mut().zip((start(page)..).step_by(BYTES as usize)) {
                live(&self.pool, std::mem::take(cell), addr, runs);
            }
        }
        for (page, at, cell) in self.few.drain() {
            live(&self.pool, cell, start(page) + BYTES * at as u64, runs);
        }
        self.pool.clear();
        self.unused.clear();
        // Their memory stays for the next part, unless it has become too much.
        if self.kept.count() > MOST_KEPT {
            *self = Shadow::new(self.full_pages);
        } else {
            self.present.clear_all();
        }
    }
}

/// Adds what is on the stack of a cell's bytes.
#[inline(always)]
fn live<C: Cell>(pool: &[[C; 4]], cell: C, addr: u64, runs: &mut Vec<Live>) {
    let value = cell.get();
    if value <= DEAD {
        return;
    }
    let Some(entry) = pooled::<C>(value) else { return push(value, addr, BYTES, runs) };
    for (byte, at) in pool[entry].iter().zip(addr..) {
        if byte.get() >= FIRST {
            push(byte.get(), at, 1, runs);
        }
    }
}

#[inline(always)]
fn push(position: u64, addr: u64, len: u64, runs: &mut Vec<Live>) {
    if let Some(last) = runs.last_mut()
        && last.position + last.len == position
        && last.addr + last.len == addr
    {
        last.len += len;
        return;
    }
    runs.push(Live { position, addr, len });
}
