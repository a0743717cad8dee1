//! Rows of words: cells at a constant distance, looked at and set many at a time, as affine loops need them.
//!
//! Takes the first cell or address, the pitch, and how many words there are; gives how many of them are alike.

use super::cells::{PAGE, PAGE_BITS, REGION, REGION_BITS, Shadow};
use crate::engine::{
    cell::{BYTES, Cell, DEAD, FIRST, NEVER, is_position},
    hint::prefetch,
    progression::Progression,
};

/// Words of a column are fetched so many ahead.
const AHEAD: isize = 8;
/// Cells compared at a time: words of 1, 2, 4, 8 or 16.
const GROUP: usize = 16;
/// Words whose cells are looked at together where what matters is their kind.
pub(super) const PIECE: usize = 32;

/// Words of one region: the cell of the first, and cells from one to the next.
#[derive(Clone, Copy, Default)]
pub struct Spaced {
    pub cell: usize,
    pub(super) pitch: isize,
}

impl Spaced {
    #[inline(always)]
    pub fn index_of(self, word: usize) -> usize {
        self.cell.wrapping_add_signed(self.pitch * word as isize)
    }
}

/// Compiles an expression once per number of cells that a word may have, with that number as a constant.
macro_rules! with_width {
    ($width:expr, $WIDTH:ident => $body:expr) => {
        with_width!($width, $WIDTH => $body, 1 2 4 8 16)
    };
    ($width:expr, $WIDTH:ident => $body:expr, $($known:literal)*) => {
        match $width {
            $($known => {
                const $WIDTH: usize = $known;
                $body
            })*
            _ => unreachable!("words have 1 to 16 cells"),
        }
    };
}

impl<C: Cell> Shadow<C> {
    /// The cells hold whole positions, which are gone.
    #[inline(always)]
    pub fn set_row_dead(&mut self, cell: usize, len: u64) {
        self.cells[cell..cell + (len / BYTES) as usize].fill(C::pack(DEAD));
    }

    /// Words of `width` cells, which hold whole positions, are gone.
    #[inline(always)]
    pub fn set_spaced_dead(&mut self, row: Spaced, width: usize, count: usize) {
        if row.pitch == width as isize {
            return self.cells[row.cell..][..width * count].fill(C::pack(DEAD));
        }
        (0..count).for_each(|word| self.cells[row.index_of(word)..][..width].fill(C::pack(DEAD)));
    }

    /// The first value of `len` bytes in whole cells of one page, if they are one run and none is pooled.
    #[inline(always)]
    pub fn row(&self, cell: usize, len: u64) -> Option<u64> {
        let row = &self.cells[cell..cell + (len / BYTES) as usize];
        let first = row[0].get();
        let step = if first >= FIRST { BYTES } else { 0 };
        let is_run = row.iter().zip(0..).all(|(value, at)| value.get() == first + at * step);
        (is_run && first & C::POOLED == 0).then_some(first)
    }

    #[inline(always)]
    pub fn set_row(&mut self, cell: usize, len: u64, position: u64) {
        set_word(&mut self.cells[cell..cell + (len / BYTES) as usize], position);
    }

    /// How many of `count` words of `width` cells, side by side, are on the stack at arithmetic positions; with the
    /// first position and the step between them. Nothing if the first two are not whole words on the stack.
    #[inline(always)]
    pub fn arithmetic(&self, cell: usize, width: usize, count: usize) -> Option<(usize, u64, i64)> {
        let (mut good, first, step) = self.arithmetic_groups(cell, width, count)?;
        let position = |at: usize| first.wrapping_add_signed(step.wrapping_mul(at as i64));
        let is_good = |at: &usize| self.word(cell + at * width, width) == Some(position(*at));
        good += (good..count.min(good + GROUP / width)).take_while(is_good).count();
        Some((good, first, step))
    }

    /// The row of words `stride` bytes apart, a multiple of the bytes of a cell, from an aligned address on; and how
    /// many of `count` are in its region.
    #[inline(always)]
    pub fn spaced(&mut self, addr: u64, stride: i64, count: usize) -> (Spaced, usize) {
        let row = Spaced { cell: self.find(addr), pitch: (stride / BYTES as i64) as isize };
        let last = addr.wrapping_add_signed(stride.wrapping_mul(count as i64 - 1));
        if addr >> REGION_BITS == last >> REGION_BITS {
            return (row, count);
        }
        let room = if stride < 0 { addr % REGION } else { REGION - 1 - addr % REGION };
        (row, (room / stride.unsigned_abs()) as usize + 1)
    }

    /// The row of words of `len` bytes that are to be written; they must be in one region.
    #[inline(always)]
    pub fn make_spaced(&mut self, addr: u64, stride: i64, len: u64, count: usize) -> Spaced {
        let far = stride.wrapping_mul(count as i64 - 1);
        let (low, high) = (addr.wrapping_add_signed(far.min(0)), addr.wrapping_add_signed(far.max(0)) + (len - 1));
        if stride.unsigned_abs() <= PAGE {
            (low >> PAGE_BITS..=high >> PAGE_BITS).for_each(|page| _ = self.make(page << PAGE_BITS));
        } else {
            (0..count as i64).for_each(|word| _ = self.make(addr.wrapping_add_signed(stride.wrapping_mul(word))));
        }
        self.spaced(addr, stride, count).0
    }

    /// How many of `count` words of a row are on the stack at arithmetic positions; with the first position and the
    /// step between them. Nothing if the first two are not whole words on the stack.
    #[inline(always)]
    pub fn arithmetic_spaced(&self, row: Spaced, width: usize, count: usize) -> Option<(usize, u64, i64)> {
        if row.pitch == width as isize {
            return self.arithmetic(row.cell, width, count);
        }
        if count < 2 {
            return None;
        }
        let first = self.word(row.cell, width)?;
        let step = self.word(row.index_of(1), width)?.wrapping_sub(first) as i64;
        let good = self.words_at(row, width, count, first, step);
        are_positions::<C>(first, step, good.max(1)).then_some((good, first, step))
    }

    /// How many words side by side are at arithmetic positions, by whole groups of cells: what is left at the end does
    /// not count.
    #[inline(always)]
    pub(super) fn arithmetic_groups(&self, cell: usize, width: usize, count: usize) -> Option<(usize, u64, i64)> {
        let cells = &self.cells[cell..cell + width * count];
        if count < 2 {
            return None;
        }
        let first = self.word(cell, width)?;
        let step = self.word(cell + width, width)?.wrapping_sub(first);
        let groups = with_width!(width, WIDTH => groups_at::<C, WIDTH>(cells, first, step));
        let good = groups * GROUP / width;
        let step = step as i64;
        are_positions::<C>(first, step, good.max(1)).then_some((good, first, step))
    }

    /// How many of `count` words of `width` cells come before the first that is on the stack in part or as a whole.
    #[inline(always)]
    pub fn dead_words(&self, row: Spaced, width: usize, count: usize) -> usize {
        let is_dead = |cell: &C| cell.get() <= DEAD;
        if row.pitch != width as isize {
            let is_word_dead = |&word: &usize| self.cells[row.index_of(word)..][..width].iter().all(is_dead);
            return (0..count).take_while(is_word_dead).count();
        }
        let cells = &self.cells[row.cell..][..width * count];
        let mut dead = 0;
        for piece in cells.chunks(PIECE) {
            // Without a branch per cell, as in `arithmetic`.
            if piece.iter().fold(true, |all, cell| all & is_dead(cell)) {
                dead += piece.len();
            } else {
                dead += piece.iter().take_while(|cell| is_dead(cell)).count();
                break;
            }
        }
        dead / width
    }

    /// Bytes of some dead words of `width` cells that nothing has touched before.
    #[inline(always)]
    pub fn untouched(&self, row: Spaced, width: usize, count: usize) -> u64 {
        let never = |cells: &[C]| cells.iter().map(|cell| u64::from(cell.get() == NEVER)).sum::<u64>();
        let never = if row.pitch == width as isize {
            never(&self.cells[row.cell..][..width * count])
        } else {
            (0..count).map(|word| never(&self.cells[row.index_of(word)..][..width])).sum()
        };
        never * BYTES
    }

    /// Position of a word, if all of it is on the stack and together.
    #[inline(always)]
    pub fn word(&self, cell: usize, width: usize) -> Option<u64> {
        let first = self.cells[cell].get();
        (is_position::<C>(first) && is_word_at(&self.cells[cell..cell + width], first)).then_some(first)
    }

    /// How many of `count` words of `width` cells are at `position` and so on, if these are positions.
    #[inline(always)]
    fn words_at(&self, row: Spaced, width: usize, count: usize, mut position: u64, step: i64) -> usize {
        assert!(self.has_row(row, width, count), "a row of cells that there are");
        let ahead = row.pitch * AHEAD;
        with_width!(width, WIDTH => {
            let (mut words, mut cell) = (0, row.cell);
            // SAFETY: all words of the row are cells that there are, and these are the first `count` of them.
            while words < count && is_word_at(unsafe { self.cells.get_unchecked(cell..cell + WIDTH) }, position) {
                if let Some(next) = self.cells.get(cell.wrapping_add_signed(ahead)) {
                    prefetch(next);
                }
                position = position.wrapping_add_signed(step);
                cell = cell.wrapping_add_signed(row.pitch);
                words += 1;
            }
            words
        })
    }

    /// Whether all of `count` words of `width` cells are cells that there are.
    #[inline(always)]
    fn has_row(&self, row: Spaced, width: usize, count: usize) -> bool {
        let Some(last) = count.checked_sub(1) else { return true };
        let far = row.pitch.checked_mul(last as isize);
        let last = far.and_then(|far| row.cell.checked_add_signed(far));
        let end = last.and_then(|last| row.cell.max(last).checked_add(width));
        end.is_some_and(|end| end <= self.cells.len())
    }

    /// Puts words of `width` cells, side by side, at `position` and so on. `step` may be negative.
    #[inline(always)]
    pub fn set_arithmetic(&mut self, cell: usize, width: usize, count: usize, mut position: u64, step: u64) {
        let cells = &mut self.cells[cell..cell + width * count];
        with_width!(width, WIDTH => for word in cells.chunks_exact_mut(WIDTH) {
            set_word(word, position);
            position = position.wrapping_add(step);
        });
    }

    /// Puts dead words, side by side, at some positions; does nothing if not all of them are dead.
    #[inline(always)]
    pub fn set_row_at(&mut self, cell: usize, to: Progression) -> bool {
        let (width, count) = ((to.width / BYTES) as usize, to.count as usize);
        let is_row = matches!(width, 1 | 2 | 4 | 8 | 16) && to.width.is_multiple_of(BYTES);
        let are_dead = is_row && self.dead_words(Spaced { cell, pitch: width as isize }, width, count) == count;
        if are_dead {
            self.set_arithmetic(cell, width, count, to.first, to.step as u64);
        }
        are_dead
    }

    /// Puts the words of a row from one on at `position` and so on.
    #[inline(always)]
    pub fn set_spaced(&mut self, row: Spaced, from: usize, width: usize, count: usize, mut position: u64, step: u64) {
        debug_assert!(
            (from..from + count).all(|word| self.is_present(row.index_of(word))),
            "words are written to pages that are present"
        );
        if row.pitch == width as isize {
            return self.set_arithmetic(row.index_of(from), width, count, position, step);
        }
        let mut cell = row.index_of(from);
        assert!(self.has_row(Spaced { cell, ..row }, width, count), "a row of cells that there are");
        with_width!(width, WIDTH => for _ in 0..count {
            // SAFETY: all words of the row are cells that there are, and these are `count` of them.
            set_word(unsafe { self.cells.get_unchecked_mut(cell..cell + WIDTH) }, position);
            position = position.wrapping_add(step);
            cell = cell.wrapping_add_signed(row.pitch);
        });
    }
}

/// Whether `count` values `step` apart are positions, the first of which is one. Beyond them, other kinds of values may
/// look like the next position.
#[inline(always)]
fn are_positions<C: Cell>(first: u64, step: i64, count: usize) -> bool {
    is_position::<C>(first.wrapping_add_signed(step.wrapping_mul(count as i64 - 1)))
}

/// How many groups of cells have words of `WIDTH` cells at `position` and so on. Cells are compared as they are, so
/// that of positions beyond the last position this tells nothing (`are_positions`).
#[inline(always)]
fn groups_at<C: Cell, const WIDTH: usize>(cells: &[C], position: u64, step: u64) -> usize {
    let mut expected = [C::default(); GROUP];
    for (cell, at) in expected.iter_mut().zip(0..) {
        let word = position.wrapping_add(step.wrapping_mul(at / WIDTH as u64));
        *cell = C::pack(word.wrapping_add(BYTES * (at % WIDTH as u64)));
    }
    let further = step.wrapping_mul((GROUP / WIDTH) as u64);
    let mut groups = 0;
    for group in cells.chunks_exact(GROUP) {
        // Without a branch per cell: compilers turn this into a vector instruction or two.
        if group.iter().zip(&expected).fold(false, |differ, (cell, at)| differ | (cell != at)) {
            break;
        }
        expected = expected.map(|at| C::pack(at.get().wrapping_add(further)));
        groups += 1;
    }
    groups
}

/// Puts a word at a position.
#[inline(always)]
fn set_word<C: Cell>(word: &mut [C], position: u64) {
    for (cell, at) in word.iter_mut().zip(0..) {
        *cell = C::pack(position + at * BYTES);
    }
}

/// Whether the cells of a word are at `position` and so on, if these are positions.
#[inline(always)]
fn is_word_at<C: Cell>(cells: &[C], position: u64) -> bool {
    match cells {
        [cell] => *cell == C::pack(position),
        [first, second] => *first == C::pack(position) && *second == C::pack(position.wrapping_add(BYTES)),
        _ => cells.iter().zip(0..).all(|(cell, at)| *cell == C::pack(position.wrapping_add(at * BYTES))),
    }
}
