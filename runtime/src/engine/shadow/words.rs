//! Rows of words: cells at a constant distance, looked at and set many at a time, as affine loops need them.
//!
//! Takes cells, of which none is pooled where something is set, and how many words there are; gives how many of them
//! are alike.

use crate::engine::{
    cell::{BYTES, Cell, DEAD, NEVER, is_position},
    hint::prefetch,
    progression::Progression,
};

/// Words of a column are fetched so many ahead.
const AHEAD: isize = 8;
/// Cells compared at a time: words of 1, 2, 4, 8 or 16.
const GROUP: usize = 16;
/// Cells that are looked at together where what matters is their kind.
pub(super) const PIECE: usize = 32;

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

/// Words of one region: the cell of the first, cells from one to the next, and cells of each.
#[derive(Clone, Copy, Default)]
pub struct Spaced {
    pub cell: usize,
    pub(super) pitch: isize,
    pub(super) width: usize,
}

impl Spaced {
    #[inline(always)]
    pub fn index_of(self, word: usize) -> usize {
        self.cell.wrapping_add_signed(self.pitch * word as isize)
    }

    /// Whether the words lie side by side.
    #[inline(always)]
    fn is_dense(self) -> bool {
        self.pitch == self.width as isize
    }

    /// The cells of a word.
    #[inline(always)]
    pub fn word<C>(self, cells: &[C], word: usize) -> &[C] {
        &cells[self.index_of(word)..][..self.width]
    }

    /// The words hold whole positions, which are gone.
    #[inline(always)]
    pub fn set_dead<C: Cell>(self, cells: &mut [C], count: usize) {
        if self.is_dense() {
            return cells[self.cell..][..self.width * count].fill(C::pack(DEAD));
        }
        (0..count).for_each(|word| cells[self.index_of(word)..][..self.width].fill(C::pack(DEAD)));
    }

    /// How many of `count` words are on the stack at arithmetic positions; with the first position and the step between
    /// them. Nothing if the first two are not whole words on the stack.
    #[inline(always)]
    pub fn arithmetic<C: Cell>(self, cells: &[C], count: usize) -> Option<(usize, u64, i64)> {
        if self.is_dense() {
            return arithmetic(&cells[self.cell..][..self.width * count], self.width);
        }
        if count < 2 {
            return None;
        }
        let first = position_of(self.word(cells, 0))?;
        let step = position_of(self.word(cells, 1))?.wrapping_sub(first) as i64;
        let good = self.words_at(cells, count, first, step);
        are_positions::<C>(first, step, good.max(1)).then_some((good, first, step))
    }

    /// How many of `count` words come before the first that is on the stack in part or as a whole.
    #[inline(always)]
    pub fn dead_words<C: Cell>(self, cells: &[C], count: usize) -> usize {
        let is_dead = |cell: &C| cell.get() <= DEAD;
        if !self.is_dense() {
            return (0..count).take_while(|&word| self.word(cells, word).iter().all(is_dead)).count();
        }
        let mut dead = 0;
        for piece in cells[self.cell..][..self.width * count].chunks(PIECE) {
            // Without a branch per cell, as in `arithmetic`.
            if piece.iter().fold(true, |all, cell| all & is_dead(cell)) {
                dead += piece.len();
            } else {
                dead += piece.iter().take_while(|cell| is_dead(cell)).count();
                break;
            }
        }
        dead / self.width
    }

    /// Bytes of some dead words that nothing has touched before.
    #[inline(always)]
    pub fn untouched<C: Cell>(self, cells: &[C], count: usize) -> u64 {
        let never = |cells: &[C]| cells.iter().map(|cell| u64::from(cell.get() == NEVER)).sum::<u64>();
        let never = if self.is_dense() {
            never(&cells[self.cell..][..self.width * count])
        } else {
            (0..count).map(|word| never(self.word(cells, word))).sum()
        };
        never * BYTES
    }

    /// How many of `count` words are at `position` and so on, if these are positions.
    #[inline(always)]
    fn words_at<C: Cell>(self, cells: &[C], count: usize, mut position: u64, step: i64) -> usize {
        assert!(self.is_within(cells.len(), count), "a row of cells that there are");
        let ahead = self.pitch * AHEAD;
        with_width!(self.width, WIDTH => {
            let (mut words, mut cell) = (0, self.cell);
            // SAFETY: all words of the row are cells that there are, and these are the first `count` of them.
            while words < count && is_word_at(unsafe { cells.get_unchecked(cell..cell + WIDTH) }, position) {
                if let Some(next) = cells.get(cell.wrapping_add_signed(ahead)) {
                    prefetch(next);
                }
                position = position.wrapping_add_signed(step);
                cell = cell.wrapping_add_signed(self.pitch);
                words += 1;
            }
            words
        })
    }

    /// Whether all of `count` words are among so many cells.
    #[inline(always)]
    fn is_within(self, cells: usize, count: usize) -> bool {
        let Some(last) = count.checked_sub(1) else { return true };
        let far = self.pitch.checked_mul(last as isize);
        let last = far.and_then(|far| self.cell.checked_add_signed(far));
        let end = last.and_then(|last| self.cell.max(last).checked_add(self.width));
        end.is_some_and(|end| end <= cells)
    }

    /// The row from a word on.
    #[inline(always)]
    pub fn skip(self, words: usize) -> Self {
        Spaced { cell: self.index_of(words), ..self }
    }

    /// Puts `count` words at `position` and so on.
    #[inline(always)]
    pub fn set<C: Cell>(self, cells: &mut [C], count: usize, mut position: u64, step: u64) {
        if self.is_dense() {
            return set_arithmetic(&mut cells[self.cell..][..self.width * count], self.width, position, step);
        }
        let mut cell = self.cell;
        assert!(self.is_within(cells.len(), count), "a row of cells that there are");
        with_width!(self.width, WIDTH => for _ in 0..count {
            // SAFETY: all words of the row are cells that there are, and these are `count` of them.
            set_word(unsafe { cells.get_unchecked_mut(cell..cell + WIDTH) }, position);
            position = position.wrapping_add(step);
            cell = cell.wrapping_add_signed(self.pitch);
        });
    }
}

/// Position of a word, if all of it is on the stack and together.
#[inline(always)]
pub fn position_of<C: Cell>(word: &[C]) -> Option<u64> {
    let first = word[0].get();
    (is_position::<C>(first) && is_word_at(word, first)).then_some(first)
}

/// How many words of `width` cells, side by side, are on the stack at arithmetic positions; with the first position and
/// the step between them. Nothing if the first two are not whole words on the stack.
#[inline(always)]
pub fn arithmetic<C: Cell>(cells: &[C], width: usize) -> Option<(usize, u64, i64)> {
    let (mut good, first, step) = arithmetic_groups(cells, width)?;
    let position = |at: usize| first.wrapping_add_signed(step.wrapping_mul(at as i64));
    let is_good = |at: &usize| position_of(&cells[at * width..][..width]) == Some(position(*at));
    good += (good..(cells.len() / width).min(good + GROUP / width)).take_while(is_good).count();
    Some((good, first, step))
}

/// `arithmetic` by whole groups of cells: what is left at the end does not count.
#[inline(always)]
pub fn arithmetic_groups<C: Cell>(cells: &[C], width: usize) -> Option<(usize, u64, i64)> {
    if cells.len() < 2 * width {
        return None;
    }
    let first = position_of(&cells[..width])?;
    let step = position_of(&cells[width..][..width])?.wrapping_sub(first);
    let groups = with_width!(width, WIDTH => groups_at::<C, WIDTH>(cells, first, step));
    let good = groups * GROUP / width;
    let step = step as i64;
    are_positions::<C>(first, step, good.max(1)).then_some((good, first, step))
}

/// Puts words of `width` cells, side by side, at `position` and so on. `step` may be negative.
#[inline(always)]
pub fn set_arithmetic<C: Cell>(cells: &mut [C], width: usize, mut position: u64, step: u64) {
    with_width!(width, WIDTH => for word in cells.chunks_exact_mut(WIDTH) {
        set_word(word, position);
        position = position.wrapping_add(step);
    });
}

/// Puts dead words, side by side from a cell on, at some positions; does nothing if not all of them are dead.
#[inline(always)]
pub fn set_row_at<C: Cell>(cells: &mut [C], cell: usize, to: Progression) -> bool {
    let (width, count) = ((to.width / BYTES) as usize, to.count as usize);
    let row = Spaced { cell, pitch: width as isize, width };
    let is_row = matches!(width, 1 | 2 | 4 | 8 | 16) && to.width.is_multiple_of(BYTES);
    let are_dead = is_row && row.dead_words(cells, count) == count;
    if are_dead {
        row.set(cells, count, to.first, to.step as u64);
    }
    are_dead
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
pub fn set_word<C: Cell>(word: &mut [C], position: u64) {
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
