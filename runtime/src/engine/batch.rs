//! Many accesses in order, of which some bytes leave the stack.
//!
//! Takes accesses with labels; reports what loads find. Refuses, by stopping early, an access whose positions do not
//! fit the cells.

use super::{
    access::{Access, Kind, clamped},
    access_tag::AccessTag,
    cell::{Cell, FIRST},
    report::Reports,
    stack::{Full, Short, Stack, WINDOW},
};

/// What does a batch on a stack.
pub struct Batch<'a, C> {
    pub stack: &'a mut Stack<C>,
    pub out: &'a mut Reports,
}

impl<C: Cell> Batch<'_, C> {
    /// Accesses in order; gives the number of those done, which is all unless the cells are too narrow for the next
    /// one.
    ///
    /// It takes a window of accesses at a time: first all cells are found, then all positions on the timeline, then the
    /// work is done. What one access waits for, the others fetch meanwhile.
    #[inline(always)]
    pub fn run(&mut self, accesses: &[Access], labels: &[AccessTag]) -> usize {
        let mut cells = [0; WINDOW];
        let mut start = 0;
        for (window, labels) in accesses.chunks(WINDOW).zip(labels.chunks(WINDOW)) {
            self.stack.fetch(window.iter().map(|access| access.addr), &mut cells);
            for (at, ((&cell, access), &label)) in cells.iter().zip(window).zip(labels).enumerate() {
                if self.one(cell, access, label).is_err() {
                    return start + at;
                }
            }
            start += window.len();
        }
        accesses.len()
    }

    #[inline(always)]
    fn one(&mut self, cell: usize, access: &Access, label: AccessTag) -> Result<(), Full> {
        let &Access { addr, len, kind } = access;
        let len = u64::from(len);
        match kind {
            Kind::Load => {
                self.out.begin(label);
                if self.stack.short_access_at::<true>(cell, addr, len, self.out) == Short::NotEnough {
                    self.stack.access::<true>(addr, clamped(addr, len), self.out)?;
                }
            }
            Kind::Last => {
                self.out.begin(label);
                self.last(cell, addr, clamped(addr, len))?;
            }
            Kind::Store | Kind::Fresh => {
                if self.stack.short_access_at::<false>(cell, addr, len, self.out) == Short::NotEnough {
                    self.stack.access::<false>(addr, clamped(addr, len), self.out)?;
                }
            }
            Kind::Remove => self.stack.mover().remove(addr, clamped(addr, len)),
        }
        Ok(())
    }

    /// A load whose bytes then leave the stack.
    #[inline(always)]
    fn last(&mut self, cell: usize, addr: u64, len: u64) -> Result<(), Full> {
        self.stack.make_room(len)?;
        if !self.short_last(cell, addr, len) {
            // First touches are on the stack for a moment, as everywhere.
            self.stack.access::<true>(addr, len, self.out)?;
            self.stack.mover().remove(addr, len);
        }
        Ok(())
    }

    /// `last` for up to 64 bytes that were last used together, if that is what they are: parts of a cell, and whole
    /// cells.
    #[inline(always)]
    fn short_last(&mut self, cell: usize, addr: u64, len: u64) -> bool {
        let found = self.stack.shadow.short_run(cell, addr, len);
        let Some((span, first)) = found.filter(|found| found.1 >= FIRST) else { return false };
        self.out.warm(self.stack.order.take(first, len), len);
        self.stack.order.die_on_top(first, len, self.out);
        self.stack.shadow.cells.set_dead(span);
        true
    }
}
