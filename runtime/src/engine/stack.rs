//! The LRU stack: what a load, a store, a death and a move do to shadow and timeline.
//!
//! Takes byte ranges, reports depths to a list. Refuses an operation (`Full`) before changing anything when its cells
//! are too narrow for the positions it needs; the caller then widens them and asks again.

use super::affine::scratch::Scratch;
use super::cell::{BYTES, Cell, DEAD, FIRST, NEVER, is_position};
use super::free_and_move::Mover;
use super::hint::prefetch;
use super::isa::Present;
use super::order::Order;
use super::shadow::{Run, Shadow, page_room};
use super::{boundary::Boundary, options::EngineOptions, report::Reports};

/// Accesses of a batch whose memory is fetched together.
pub(super) const WINDOW: usize = 64;

/// The cells cannot hold the positions that are needed.
#[derive(Debug)]
pub struct Full;

/// Whether the short way was enough for an access; if not, nothing has happened yet.
#[derive(PartialEq)]
pub enum Short {
    Done,
    NotEnough,
}

pub struct Stack<C> {
    pub(super) shadow: Shadow<C>,
    pub(super) order: Order,
    pub(super) peak: u64,
    pub(super) footprint: u64,
    pub(super) options: EngineOptions,
    pub(super) isa: Present,
    /// What the access at hand found; kept to save allocations. Whoever does an access takes it out, fills it and puts
    /// it back; nobody reads it later.
    pub(super) runs: Vec<Run>,
    /// Of the affine run at hand, which takes it out and puts it back; nothing before the first run, and in one.
    pub(super) scratch: Option<Box<Scratch>>,
    /// Accesses done in blocks of an affine run.
    pub(super) in_blocks: u64,
    /// What a part of a run asks of the stack before it; nothing if the stack is a whole run's.
    pub(super) slice: Option<Box<Boundary>>,
}

impl<C: Cell> Stack<C> {
    pub fn new(options: EngineOptions) -> Self {
        let isa = Present::new(options.isa);
        Stack {
            shadow: Shadow::new(options.full_pages),
            order: Order::new(FIRST + options.min_positions + 192, isa),
            peak: 0,
            footprint: 0,
            options,
            isa,
            runs: Vec::new(),
            scratch: None,
            in_blocks: 0,
            slice: None,
        }
    }

    pub fn converted<D: Cell>(self) -> Stack<D> {
        Stack {
            shadow: self.shadow.converted(),
            order: self.order,
            peak: self.peak,
            footprint: self.footprint,
            options: self.options,
            isa: self.isa,
            runs: self.runs,
            scratch: self.scratch,
            in_blocks: self.in_blocks,
            slice: self.slice,
        }
    }

    /// Counts what a block of accesses does without going through `access`.
    #[inline(always)]
    pub(super) fn count_block(&mut self, live: u64, untouched: u64) {
        self.peak = self.peak.max(live);
        self.footprint += untouched;
    }

    /// What frees and moves bytes of this stack.
    #[inline(always)]
    pub fn mover(&mut self) -> Mover<'_, C> {
        let Stack { shadow, order, runs, slice, .. } = self;
        Mover { shadow, order, runs, slice: slice.as_deref_mut() }
    }

    pub fn heap_bytes(&self) -> u64 {
        self.shadow.heap_bytes() + self.order.heap_bytes() + (self.runs.capacity() * size_of::<Run>()) as u64
    }

    /// The common accesses: 8 or 4 aligned bytes, 2 or 1, that were last used together. A load if `LOAD`, else a store.
    #[inline(always)]
    pub fn short_access_here<const LOAD: bool>(&mut self, addr: u64, len: u64, out: &mut Reports) -> Short {
        let cell = self.shadow.regions.find(addr);
        self.short_access_at::<LOAD>(cell, addr, len, out)
    }

    /// `short_access_here` where the cell is known. The cell may be that of the shared empty page.
    #[inline(always)]
    pub fn short_access_at<const LOAD: bool>(&mut self, cell: usize, addr: u64, len: u64, out: &mut Reports) -> Short {
        if !self.order.time.leaf_has(8) {
            if !self.order.time.has_room(8) {
                return Short::NotEnough;
            }
            self.order.time.open_leaf();
        }
        if len == 8 && addr.is_multiple_of(BYTES) && page_room(addr) >= 8 {
            let (first, second) = self.shadow.cells.pair(cell);
            if second == first + BYTES && is_position::<C>(first) && first % 64 <= 56 {
                let position = self.order.renew::<LOAD>(first, 8, out);
                self.shadow.cells.set_pair(cell, position);
                return Short::Done;
            }
            if first | second <= DEAD && self.shadow.is_present(cell) {
                let fresh = BYTES * (2 - first - second);
                let position = self.enter::<LOAD>(addr, 8, fresh, out);
                self.shadow.cells.set_pair(cell, position);
                return Short::Done;
            }
        } else if len == 4 && addr.is_multiple_of(BYTES) {
            let first = self.shadow.cells.cell(cell);
            if is_position::<C>(first) && first % 64 <= 60 {
                let position = self.order.renew::<LOAD>(first, 4, out);
                self.shadow.cells.set_cell(cell, position);
                return Short::Done;
            }
            if first <= DEAD && self.shadow.is_present(cell) {
                let position = self.enter::<LOAD>(addr, 4, BYTES * (1 - first), out);
                self.shadow.cells.set_cell(cell, position);
                return Short::Done;
            }
        } else if len == 1 {
            return self.part_access_at::<LOAD>(cell, addr, 1, out);
        } else if len == 2 {
            return self.part_access_at::<LOAD>(cell, addr, 2, out);
        }
        Short::NotEnough
    }

    /// One or two bytes of one cell that were last used together; the open leaf must have room.
    #[inline(always)]
    fn part_access_at<const LOAD: bool>(&mut self, cell: usize, addr: u64, len: u64, out: &mut Reports) -> Short {
        let skip = addr % BYTES;
        if skip + len > BYTES {
            return Short::NotEnough;
        }
        let position = match self.shadow.cells.run_in(cell, skip, len) {
            Some(first) if first >= FIRST && first % 64 + len <= 64 => self.order.renew::<LOAD>(first, len, out),
            Some(first @ (NEVER | DEAD)) if self.shadow.is_present(cell) => {
                self.enter::<LOAD>(addr, len, len * (1 - first), out)
            }
            _ => return Short::NotEnough,
        };
        self.shadow.cells.set_run(cell, skip, len, position);
        Short::Done
    }

    /// Finds the cells of addresses, and asks the processor to fetch what doing them needs.
    #[inline(always)]
    pub(super) fn fetch(&mut self, window: impl ExactSizeIterator<Item = u64>, cells: &mut [usize; WINDOW]) {
        let count = window.len();
        for (cell, addr) in cells.iter_mut().zip(window) {
            *cell = self.shadow.regions.find(addr);
            prefetch(&self.shadow.cells.values[*cell]);
        }
        for &cell in &cells[..count] {
            let value = self.shadow.cells.cell(cell);
            self.order.time.prefetch(value);
            self.shadow.cells.prefetch_bytes(value);
        }
    }

    /// Bytes that are not on the stack are accessed: a part of a run asks for them, or a load is told. So many others
    /// of the access were not there either.
    #[inline(always)]
    fn miss<const LOAD: bool>(&mut self, addr: u64, len: u64, before: u64, out: &mut Reports) {
        let holes = self.order.holes.count();
        if let Some(slice) = &mut self.slice {
            slice.ask_part::<LOAD>(addr, len, [self.order.live(), holes], out.label(), before > 0);
        } else if LOAD {
            out.cold(self.order.live() + before, len);
            out.below_holes(holes, len);
        }
    }

    /// Puts bytes on the top that were not on the stack; the open leaf must have room.
    #[inline(always)]
    fn enter<const LOAD: bool>(&mut self, addr: u64, len: u64, fresh: u64, out: &mut Reports) -> u64 {
        self.miss::<LOAD>(addr, len, 0, out);
        self.order.enter_holes(len);
        self.footprint += fresh;
        let position = self.order.time.append_short(len);
        self.peak = self.peak.max(self.order.live());
        position
    }

    /// Any access. `len` must not reach beyond the last address.
    #[inline(always)]
    pub fn access_here<const LOAD: bool>(&mut self, addr: u64, len: u64, out: &mut Reports) -> Result<(), Full> {
        if len == 0 {
            return Ok(());
        }
        self.make_room(len)?;
        if !self.one_run_access::<LOAD>(addr, len, out) {
            self.any_access::<LOAD>(addr, len, out);
        }
        Ok(())
    }

    /// An access to up to 64 bytes that were last used together, if that is what it is: parts of a cell, and whole
    /// cells. There must be room.
    #[inline(always)]
    fn one_run_access<const LOAD: bool>(&mut self, addr: u64, len: u64, out: &mut Reports) -> bool {
        let cell = self.shadow.regions.find(addr);
        let Some((span, first)) = self.shadow.short_run(cell, addr, len) else { return false };
        if first < FIRST {
            self.miss::<LOAD>(addr, len, 0, out);
            self.order.enter_holes(len);
            if first == NEVER {
                self.footprint += len;
            }
        } else {
            let above = self.order.take(first, len);
            if LOAD {
                out.warm(above, len);
            }
            self.order.sink::<LOAD>(first, len, out);
        }
        let position = self.order.time.append(len);
        self.peak = self.peak.max(self.order.live());
        self.shadow.cells.set_run_of(span, position);
        true
    }

    /// An access without assumptions, but that there is room.
    #[inline(always)]
    fn any_access<const LOAD: bool>(&mut self, addr: u64, len: u64, out: &mut Reports) {
        let mut runs = std::mem::take(&mut self.runs);
        self.shadow.gather(addr, len, &mut runs);
        let (mut at, mut cold) = (addr, 0);
        for run in &runs {
            if run.value >= FIRST {
                if LOAD {
                    out.warm(self.order.above(run.value + run.len - 1), run.len);
                    out.below_holes(self.order.holes.above(run.value), run.len);
                }
            } else {
                self.miss::<LOAD>(at, run.len, cold, out);
                cold += run.len;
                if run.value == NEVER {
                    self.footprint += run.len;
                }
            }
            at = at.wrapping_add(run.len);
        }
        runs.retain(|run| run.value >= FIRST);
        runs.iter().for_each(|run| self.order.time.clear(run.value, run.len));
        self.order.sink_runs(&mut runs, cold, 0);
        self.runs = runs;
        let position = self.order.time.append(len);
        self.peak = self.peak.max(self.order.live());
        self.shadow.assign(addr, len, position);
    }

    /// Bytes that are not live enter below everything, the highest address nearest to the top.
    pub fn insert_bottom(&mut self, addr: u64, len: u64) -> Result<(), Full> {
        if self.slice.is_some() {
            self.mover().insert_below(addr, len, 0);
            return Ok(());
        }
        let mut found = Vec::new();
        self.shadow.gather(addr, len, &mut found);
        let new: u64 = found.iter().filter(|run| run.value < FIRST).map(|run| run.len).sum();
        if new == 0 {
            return Ok(());
        }
        if self.order.gap < new {
            // As much again in reserve, so that many small declarations cost a constant each.
            self.renumber(new + new.max(self.order.live()), 0)?;
        }
        self.order.gap -= new;
        let bottom = FIRST + self.order.gap;
        self.order.time.fill(bottom, new);
        self.peak = self.peak.max(self.order.live());
        let (mut at, mut position) = (addr, bottom);
        for run in found {
            if run.value < FIRST {
                if run.value == NEVER {
                    self.footprint += run.len;
                }
                self.shadow.assign(at, run.len, position);
                position += run.len;
            }
            at = at.wrapping_add(run.len);
        }
        Ok(())
    }

    /// Renumbers if `len` more bytes do not fit on the timeline.
    #[inline(always)]
    pub(super) fn make_room(&mut self, len: u64) -> Result<(), Full> {
        if self.order.time.has_room(len) { Ok(()) } else { self.renumber(0, len) }
    }

    /// Packs the live bytes and the holes among them together: a byte's new position is their number below it. Leaves
    /// `gap` positions free below and at least `len` above.
    #[inline(always)]
    pub fn renumber_here(&mut self, gap: u64, len: u64) -> Result<(), Full> {
        let places = self.order.live() + self.order.holes.count();
        let used = (FIRST + gap).saturating_add(places);
        let needed = used.saturating_add(len).saturating_add(192);
        // The walk below visits every cell, so there must be work enough between two walks to pay for it.
        let pays = (places + gap).max(self.shadow.cell_count() * self.options.per_cell);
        let room = pays * (self.options.growth - 1) + (pays * self.options.growth).min(self.options.spare);
        let wanted = needed.saturating_add(room.max(self.options.min_positions));
        let most = C::POOLED.min(self.options.narrow_limit_for::<C>());
        let least = needed.saturating_add(places / 2);
        if least > most {
            return Err(Full);
        }
        self.shadow.renumber(&self.order.packed(FIRST + gap));
        self.order.pack(wanted.min(most), gap);
        Ok(())
    }
}
