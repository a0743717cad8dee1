//! Bytes that leave the stack or change their addresses.
//!
//! Takes ranges of any length; visits only pages in which something was touched. Refuses nothing.

use super::{
    boundary::Boundary,
    cell::{BYTES, Cell, DEAD, FIRST},
    order::Order,
    shadow::{Rest, Run, Shadow, arithmetic, page_room},
};

/// Bytes of an array that are worth removing as a row of words.
const LEAST_ROW: u64 = 256;
/// Bytes of such a row that are removed at a time, at most.
const LONGEST_ROW: u64 = 1 << 14;
/// Bytes moved at a time.
const PIECE: u64 = 1 << 16;

/// What frees and moves: the two structures of a stack, with room to work in.
pub struct Mover<'a, C> {
    pub shadow: &'a mut Shadow<C>,
    pub order: &'a mut Order,
    /// What is found of a range; nobody reads it later.
    pub runs: &'a mut Vec<Run>,
    /// If the stack is that of a part of a run.
    pub slice: Option<&'a mut Boundary>,
}

impl<C: Cell> Mover<'_, C> {
    /// The bytes leave the stack.
    pub fn remove(&mut self, addr: u64, len: u64) {
        if self.slice.is_some() { self.remove_from_slice(addr, len) } else { self.remove_known(addr, len) }
    }

    /// The bytes leave the stack, as far as they are on it.
    pub(super) fn remove_known(&mut self, addr: u64, len: u64) {
        if (1..=page_room(addr)).contains(&len) {
            let cell = self.shadow.regions.find(addr);
            if self.shadow.is_present(cell) {
                self.remove_present(addr, len);
            } else if self.shadow.is_few(cell) {
                self.remove_any(addr, len);
            }
            return;
        }
        let (mut present, mut few) = (Rest { addr, len }, Rest { addr, len });
        while let Some((addr, len)) = self.shadow.next_present(&mut present) {
            self.remove_present(addr, len);
        }
        while let Some((addr, len)) = self.shadow.next_few(&mut few) {
            self.remove_any(addr, len);
        }
    }

    #[inline(always)]
    fn remove_present(&mut self, mut addr: u64, mut len: u64) {
        // What is between two rows is mostly short.
        let mut part = LEAST_ROW;
        while len > 0 {
            let done = self.remove_row(addr, len);
            part = if done.is_some() { LEAST_ROW } else { (2 * part).min(LONGEST_ROW) };
            let done = done.unwrap_or_else(|| {
                self.remove_any(addr, part.min(len));
                part.min(len)
            });
            addr = addr.wrapping_add(done);
            len -= done;
        }
    }

    /// Removes the words of an array that was used in order, as far as it was; gives their bytes, if that is worth it.
    #[inline(always)]
    fn remove_row(&mut self, addr: u64, len: u64) -> Option<u64> {
        if len < LEAST_ROW || !addr.is_multiple_of(BYTES) {
            return None;
        }
        let cell = self.shadow.regions.find(addr);
        let cells = &mut self.shadow.cells.values[cell..][..2 * (len.min(LONGEST_ROW) / 8) as usize];
        let (words, first, step) = arithmetic(cells, 2)?;
        let bytes = 8 * words as u64;
        if bytes < LEAST_ROW {
            return None;
        }
        cells[..2 * words].fill(C::pack(DEAD));
        self.order.end_words(first, step, words);
        Some(bytes)
    }

    #[inline(always)]
    fn remove_any(&mut self, addr: u64, len: u64) {
        self.shadow.gather(addr, len, self.runs);
        for run in self.runs.drain(..).filter(|run| run.value >= FIRST) {
            self.order.end(run);
        }
        self.shadow.end(addr, len, |value| value.min(DEAD));
    }

    /// The bytes change their addresses and keep their positions. What was at the target before dies, and so does the
    /// source.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        if from == to || len == 0 {
            return;
        }
        if self.slice.is_some() { self.relocate_in_slice(from, to, len) } else { self.relocate_known(from, to, len) }
    }

    pub(super) fn relocate_known(&mut self, from: u64, to: u64, len: u64) {
        // In pieces, and in an order in which none of them ends where another still is.
        let pieces = len.div_ceil(PIECE);
        for piece in 0..pieces {
            let start = PIECE * if to < from { piece } else { pieces - 1 - piece };
            let len = PIECE.min(len - start);
            self.relocate_piece(from.wrapping_add(start), to.wrapping_add(start), len);
        }
    }

    fn relocate_piece(&mut self, from: u64, to: u64, len: u64) {
        let mut moved = std::mem::take(self.runs);
        self.shadow.gather(from, len, &mut moved);
        self.shadow.forget(from, len, |value| value >= FIRST);
        // With the source gone, what is left alive in the target is what dies there.
        self.remove_known(to, len);
        let mut at = to;
        for run in moved.drain(..) {
            if run.value >= FIRST {
                self.shadow.assign(at, run.len, run.value);
            }
            at = at.wrapping_add(run.len);
        }
        *self.runs = moved;
    }
}
