//! A part of a run on a stack of its own, and what it needs of the stack before it.
//!
//! A stack that begins in the middle of a run knows exactly what lies above the bytes that were touched since. Whatever
//! it does not know, it asks for: first touches, and ends of bytes that it has not seen, in their order and with the
//! number of bytes and of free places that lay on it then ([`Boundary`]). The stack before it answers by and by
//! (`resolve.rs`): bytes that are asked for lie below all of the part's, and are the part's from then on. In the end
//! the part's bytes go on top, in their order.
//!
//! The stack before may itself be that of a part. What it does not have either, it asks for in its turn, so that two
//! neighbouring parts become one.
//!
//! Takes what a part frees, moves and declares, and its end; gives boundaries. Refuses nothing.

use super::{
    boundary::{Between, Boundary},
    cell::{Cell, DEAD, FIRST, NEVER},
    free_and_move::Mover,
    shadow::page_room,
    stack::Stack,
};

impl<C: Cell> Mover<'_, C> {
    /// The bytes leave the stack, this one or that before it. Those that are marked as dead here are not on that before
    /// it.
    #[inline(never)]
    pub(super) fn remove_from_slice(&mut self, addr: u64, len: u64) {
        if len == 0 {
            return;
        }
        let cell = self.shadow.regions.find(addr);
        if len > page_room(addr) || !self.shadow.is_present(cell) {
            self.tell(|slice| slice.remove(addr, len));
            return self.remove_known(addr, len);
        }
        let mut runs = std::mem::take(self.runs);
        self.shadow.gather(addr, len, &mut runs);
        let mut at = addr;
        for run in runs.drain(..) {
            if run.value >= FIRST {
                self.order.end(run);
            } else if run.value == NEVER {
                self.tell(|slice| slice.remove(at, run.len));
            }
            at += run.len;
        }
        *self.runs = runs;
        self.shadow.end(addr, len, |_| DEAD);
    }

    pub(super) fn tell(&mut self, what: impl FnOnce(&mut Boundary)) {
        if let Some(slice) = &mut self.slice {
            what(slice);
        }
    }

    /// Bytes move, those of the stack before this one too.
    pub(super) fn relocate_in_slice(&mut self, from: u64, to: u64, len: u64) {
        let mut runs = Vec::new();
        self.shadow.gather(from, len, &mut runs);
        let live = |at: u64, what: fn(u64, u64) -> Between| {
            let starts = runs.iter().scan(at, |at, run| Some(std::mem::replace(at, at.wrapping_add(run.len))));
            let live = starts.zip(&runs).filter(|(_, run)| run.value >= FIRST);
            live.map(move |(at, run)| what(at, run.len))
        };
        let left = live(from, |addr, len| Between::Left { addr, len });
        let moved = std::iter::once(Between::Relocate { from, to, len });
        let arrived = live(to, |addr, len| Between::Arrived { addr, len });
        self.tell(|slice| left.chain(moved).chain(arrived).for_each(|what| slice.add_between(what)));
        self.relocate_known(from, to, len);
        self.shadow.forget(to, len, |value| value == DEAD);
    }

    /// Bytes enter below everything, unless they are on one of the stacks; so many are on that of a part behind.
    pub fn insert_below(&mut self, addr: u64, len: u64, behind: u64) {
        let mut runs = Vec::new();
        self.shadow.gather(addr, len, &mut runs);
        let (above, mut end) = (behind + self.order.live(), addr.wrapping_add(len));
        // Each goes below what is there, so the lowest is last.
        for run in runs.iter().rev() {
            end = end.wrapping_sub(run.len);
            if run.value < FIRST {
                self.tell(|slice| slice.add_between(Between::Input { addr: end, len: run.len, above }));
            }
        }
        self.shadow.forget(addr, len, |value| value == DEAD);
    }
}

/// Ends a part: gives what it asked and what is on its stack, and forgets everything. The next one begins.
#[inline(always)]
pub fn end_slice<C: Cell>(stack: &mut Stack<C>) -> Boundary {
    let mut boundary = stack.slice.replace(Box::default()).map_or_else(Boundary::default, |slice| *slice);
    stack.shadow.drain(&stack.order.packed(0), &mut boundary);
    stack.order.drain(&mut boundary.holes);
    boundary
}
