//! What parts of a run need of a shadow: all that is on the stack, and bytes that another stack has taken.
//!
//! Takes a range, or everything. Refuses nothing.

use super::cells::{MOST_FEW, PAGE_BITS, PAGE_CELLS, REGION_BITS, REGION_PAGES, Shadow, page_room};
use crate::engine::cell::{BYTES, Cell, DEAD, FIRST, NEVER, pooled};

/// Pages whose memory is kept for the next part, at most.
const MOST_KEPT: usize = 1 << 14;

impl<C: Cell> Shadow<C> {
    /// Marks bytes dead, whether they were touched before or not; gives the number of those that were not.
    pub fn bury(&mut self, addr: u64, len: u64) -> u64 {
        let (mut at, mut left, mut untouched) = (addr, len, 0);
        while left > 0 {
            let part = left.min(page_room(at));
            let cell = self.find(at);
            let is_few = self.is_few(cell) || self.present.count() >= self.full_pages && part <= MOST_FEW;
            if !self.is_present(cell) && is_few {
                self.make_region(at);
                untouched += self.bury_part(at, part);
                let page = self.find(at) / PAGE_CELLS;
                if self.few.is_full(page) {
                    self.make_page(at);
                }
            } else {
                self.make(at);
                untouched += self.bury_part(at, part);
            }
            (at, left) = (at.wrapping_add(part), left - part);
        }
        untouched
    }

    /// The same within a page that is present or may be a list.
    fn bury_part(&mut self, addr: u64, len: u64) -> u64 {
        let mut runs = Vec::new();
        self.gather(addr, len, &mut runs);
        self.end(addr, len, |_| DEAD);
        runs.iter().filter(|run| run.value == NEVER).map(|run| run.len).sum()
    }

    /// Tells all that is on the stack as (position, address, bytes), and forgets everything.
    pub fn drain(&mut self, runs: &mut Vec<(u64, u64, u64)>) {
        let mut by_first = vec![0; self.regions.len() + 1];
        self.regions.iter().for_each(|&(region, first)| by_first[first / (REGION_PAGES * PAGE_CELLS)] = region);
        let start = |page: usize| {
            (by_first[page / REGION_PAGES] << REGION_BITS) + ((page % REGION_PAGES) << PAGE_BITS) as u64
        };
        let pages: Vec<_> = self.present.runs().collect();
        for page in pages.into_iter().flatten() {
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
        self.drained += self.present.count();
        if self.drained > MOST_KEPT {
            *self = Shadow::new(self.full_pages);
        } else {
            self.present.clear_all();
        }
    }
}

/// Adds what is on the stack of a cell's bytes.
#[inline(always)]
fn live<C: Cell>(pool: &[[C; 4]], cell: C, addr: u64, runs: &mut Vec<(u64, u64, u64)>) {
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
fn push(position: u64, addr: u64, len: u64, runs: &mut Vec<(u64, u64, u64)>) {
    if let Some(last) = runs.last_mut()
        && last.0 + last.2 == position
        && last.1 + last.2 == addr
    {
        last.2 += len;
        return;
    }
    runs.push((position, addr, len));
}
