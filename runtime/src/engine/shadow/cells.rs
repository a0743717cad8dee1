//! What the stack knows of bytes, by the number of their cell: the last position at which each was touched.
//!
//! Takes numbers of cells, which others find, and parts of pages; gives positions and states. Refuses nothing. The
//! values of a cell whose bytes do not belong together are in the pool, and come and go with what is done to the cell.

use super::{
    layout::Span,
    pool::Pool,
    words::{PIECE, arithmetic_groups, set_arithmetic, set_word},
};
use crate::engine::{
    cell::{BYTES, Cell, DEAD, FIRST, is_position, joined, pooled},
    hint::prefetch,
    reserve::Reserve,
};

/// Most words renumbered at a time, and fewest for which their positions are worth being told together.
const ROW: usize = 256;
const LEAST_ROW: usize = 64;

/// Consecutive bytes in one state: at the positions `value ..`, or `NEVER`, or `DEAD`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    pub value: u64,
    pub len: u64,
}

/// Where positions go when all of them change.
pub trait NewPositions {
    /// Must keep consecutive live positions consecutive.
    fn new_position(&self, position: u64) -> u64;
    /// Where `count` live words of `len` bytes go, `step` apart, as the first position and the step between them;
    /// nothing if they do not go to such positions or that is not easily told.
    fn of_words(&self, first: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)>;
}

pub struct Cells<C> {
    pub values: Reserve<C>,
    pub(super) pool: Pool<C>,
}

impl<C: Cell> Cells<C> {
    /// So many cells, nothing of which was touched.
    pub fn new(len: usize) -> Self {
        Cells { values: Reserve::new(len), pool: Pool::new() }
    }

    /// Two neighbouring cells; `cell` must come from `find` and not be the last of its page.
    #[inline(always)]
    pub fn pair(&self, cell: usize) -> (u64, u64) {
        let pair = &self.values[cell..cell + 2];
        (pair[0].get(), pair[1].get())
    }

    #[inline(always)]
    pub fn set_pair(&mut self, cell: usize, position: u64) {
        let pair = &mut self.values[cell..cell + 2];
        pair[0] = C::pack(position);
        pair[1] = C::pack(position + BYTES);
    }

    #[inline(always)]
    pub fn cell(&self, cell: usize) -> u64 {
        self.values[cell].get()
    }

    #[inline(always)]
    pub fn set_cell(&mut self, cell: usize, position: u64) {
        self.values[cell] = C::pack(position);
    }

    /// The first value of `len` bytes of a cell from `skip` on, if they are one run.
    #[inline(always)]
    pub fn run_in(&self, cell: usize, skip: u64, len: u64) -> Option<u64> {
        let value = self.values[cell].get();
        if value & C::POOLED == 0 {
            return Some(if value < FIRST { value } else { value + skip });
        }
        // Byte by byte, as they were written: a wide load of what was just stored narrowly cannot be forwarded.
        let bytes = &self.pool.entries[(value & !C::POOLED) as usize];
        let first = bytes[skip as usize].get();
        let step = u64::from(first >= FIRST);
        (1..len).all(|byte| bytes[(skip + byte) as usize].get() == first + byte * step).then_some(first)
    }

    /// Gives `len` bytes of a cell from `skip` on the positions `position ..`, which are above all others.
    #[inline(always)]
    pub fn set_run(&mut self, cell: usize, skip: u64, len: u64, position: u64) {
        let value = self.values[cell].get();
        let Some(entry) = pooled::<C>(value) else {
            if len < BYTES {
                let step = u64::from(value >= FIRST);
                let is_put = |byte: u64| byte.wrapping_sub(skip) < len;
                let at = |byte: u64| if is_put(byte) { position + byte - skip } else { value + byte * step };
                self.change_to(cell, [0, 1, 2, 3].map(|byte| C::pack(at(byte))));
            } else {
                self.values[cell] = C::pack(position);
            }
            return;
        };
        let bytes = &mut self.pool.entries[entry];
        for byte in 0..len {
            bytes[(skip + byte) as usize] = C::pack(position + byte);
        }
        // The newest bytes are the end of a run or a run of their own, so the four can be one only if the last is among
        // them.
        if skip + len == BYTES && (0..skip).all(|byte| bytes[byte as usize].get() + skip - byte == position) {
            self.pool.release(self.values[cell]);
            self.values[cell] = C::pack(position - skip);
        }
    }

    /// Asks the processor to fetch the bytes of a cell, if they are not all in it.
    #[inline(always)]
    pub fn prefetch_bytes(&self, value: u64) {
        if let Some(entry) = pooled::<C>(value) {
            prefetch(&self.pool.entries[entry]);
        }
    }

    /// The four values of a cell.
    #[inline(always)]
    pub fn bytes(&self, cell: usize) -> [C; 4] {
        let value = self.values[cell].get();
        if let Some(entry) = pooled::<C>(value) {
            self.pool.entries[entry]
        } else {
            let step = u64::from(value >= FIRST);
            [value, value + step, value + 2 * step, value + 3 * step].map(C::pack)
        }
    }

    /// Gives the bytes of a cell from `skip` on the values that `after` gives for theirs.
    #[inline(always)]
    pub fn end_part(&mut self, cell: usize, skip: u64, len: u64, after: impl Fn(u64) -> u64) {
        let mut bytes = self.bytes(cell);
        for byte in &mut bytes[skip as usize..(skip + len) as usize] {
            *byte = C::pack(after(byte.get()));
        }
        self.set_bytes(cell, bytes);
    }

    /// Gives the bytes of a cell any values.
    #[inline(always)]
    fn set_bytes(&mut self, cell: usize, bytes: [C; 4]) {
        if let Some(one) = joined(bytes) {
            self.pool.release(self.values[cell]);
            self.values[cell] = one;
        } else {
            self.change_to(cell, bytes);
        }
    }

    /// Gives the bytes of a cell values that do not belong together.
    #[inline(always)]
    fn change_to(&mut self, cell: usize, bytes: [C; 4]) {
        let entry = pooled::<C>(self.values[cell].get()).unwrap_or_else(|| {
            let entry = self.pool.spare();
            self.values[cell] = C::pack(u64::from(entry) | C::POOLED);
            entry as usize
        });
        self.pool.entries[entry] = bytes;
    }

    /// Puts a span's bytes at `position ..`, which are above all others.
    #[inline(always)]
    pub fn assign(&mut self, span: Span, mut position: u64) {
        for Span { cell, skip, len } in span.parts() {
            if len < BYTES {
                self.set_run(cell, skip, len, position);
            } else {
                self.pool.release(self.values[cell]);
                self.values[cell] = C::pack(position);
            }
            position += len;
        }
    }

    /// The first value of a short span, if its bytes are one run, and none of whole cells is pooled.
    #[inline(always)]
    pub fn run_of(&self, span: Span) -> Option<u64> {
        if span.is_in_cell() {
            return self.run_in(span.cell, span.skip, span.len);
        }
        let row = &self.values[span.cells()];
        let first = row[0].get();
        let step = if first >= FIRST { BYTES } else { 0 };
        let is_run = row.iter().zip(0..).all(|(value, at)| value.get() == first + at * step);
        (is_run && first & C::POOLED == 0).then_some(first)
    }

    /// Gives a short span, which is one run, the positions `position ..`, which are above all others.
    #[inline(always)]
    pub fn set_run_of(&mut self, span: Span, position: u64) {
        if span.is_in_cell() {
            self.set_run(span.cell, span.skip, span.len, position);
        } else {
            set_word(&mut self.values[span.cells()], position);
        }
    }

    /// A short span, which is one run, is dead.
    #[inline(always)]
    pub fn set_dead(&mut self, span: Span) {
        if span.is_in_cell() {
            self.end_part(span.cell, span.skip, span.len, |_| DEAD);
        } else {
            self.values[span.cells()].fill(C::pack(DEAD));
        }
    }

    /// Appends the states of a span's bytes to `runs`, neighbours that belong together as one.
    #[inline(always)]
    pub fn gather(&self, span: Span, runs: &mut Vec<Run>) {
        for Span { cell, skip, len } in span.parts() {
            let value = self.values[cell].get();
            if value & C::POOLED != 0 {
                for byte in &self.bytes(cell)[skip as usize..(skip + len) as usize] {
                    push(runs, byte.get(), 1);
                }
            } else {
                push(runs, if value < FIRST { value } else { value + skip }, len);
            }
        }
    }

    /// Gives a span's bytes the values that `after` gives for theirs, none of which is a new position.
    #[inline(always)]
    pub fn end(&mut self, span: Span, after: impl Fn(u64) -> u64) {
        for Span { cell, skip, len } in span.parts() {
            let value = self.values[cell].get();
            if len == BYTES && value & C::POOLED == 0 {
                self.values[cell] = C::pack(after(value));
            } else {
                self.end_part(cell, skip, len, &after);
            }
        }
    }

    /// Replaces every position in some cells, but none in the pool.
    #[inline(always)]
    pub fn renumber(&mut self, cells: std::ops::Range<usize>, to: &impl NewPositions) {
        let mut left = &mut self.values[cells];
        while !left.is_empty() {
            let words = (left.len() / 2).min(ROW);
            let row = arithmetic_groups(&left[..2 * words], 2).filter(|&(words, ..)| words >= LEAST_ROW);
            let words = row.map_or(words.min(PIECE), |(words, ..)| words);
            let (here, rest) = left.split_at_mut(2 * words);
            match row.and_then(|(words, first, step)| to.of_words(first, step, words, 2 * BYTES)) {
                Some((first, step)) => set_arithmetic(here, 2, first, step as u64),
                None => renumber_words(here, to),
            }
            left = rest;
        }
    }
}

/// Replaces the positions in some cells.
#[inline(always)]
fn renumber_words<C: Cell>(cells: &mut [C], to: &impl NewPositions) {
    for pair in cells.chunks_exact_mut(2) {
        let (a, b) = (pair[0].get(), pair[1].get());
        if is_position::<C>(a) {
            let new = to.new_position(a);
            pair[0] = C::pack(new);
            if b == a + BYTES {
                pair[1] = C::pack(new + BYTES);
                continue;
            }
        }
        if is_position::<C>(b) {
            pair[1] = C::pack(to.new_position(b));
        }
    }
}

/// Adds bytes to the last run if they continue it.
#[inline(always)]
pub(super) fn push(runs: &mut Vec<Run>, value: u64, len: u64) {
    if let Some(last) = runs.last_mut() {
        let next = if last.value < FIRST { last.value } else { last.value + last.len };
        if next == value {
            last.len += len;
            return;
        }
    }
    runs.push(Run { value, len });
}
