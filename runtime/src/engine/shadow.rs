//! From an address to what the stack knows about that byte: cells, by regions of the address space.
//!
//! Takes addresses, gives cell numbers; refuses nothing (any 64-bit address works). A region is 64 MiB of address space in which something was
//! touched. Its cells lie side by side, so that words at a constant distance have cells at a constant distance; those of untouched pages take
//! no memory, and pages of 16 KiB in which something was touched are marked as present. The cells of region 0 are shared and stay zero, so that looking up
//! an absent address needs no test: it reads "never touched".
//!
//! Once there are many pages, others begin as lists of their touched cells (`few`), as a program that touches a byte in each of a million
//! pages would take as many of these. Such pages are not present: whoever finds a cell "never touched" in a page that is not has to go by
//! `gather` and `assign`, which know the lists.

use super::cell::{BYTES, Cell, DEAD, FIRST, NEVER, is_position, joined, lone, pooled};
use super::few::Few;
use super::hint::prefetch;
use super::marks::Marks;
use super::reserve::Reserve;

const PAGE_BITS: u32 = 14;
const REGION_BITS: u32 = 26;
/// Bytes of address space per page.
const PAGE: u64 = 1 << PAGE_BITS;
const PAGE_CELLS: usize = (PAGE / BYTES) as usize;
const REGION: u64 = 1 << REGION_BITS;
const REGION_CELLS: usize = (REGION / BYTES) as usize;
const REGION_PAGES: usize = 1 << (REGION_BITS - PAGE_BITS);
/// Bytes that are put into a list at a time, at most; and words in a row that are at least so far apart may end in lists.
const MOST_FEW: u64 = 256;
const FEW_APART: u64 = PAGE / 32;
/// Recently used regions, direct mapped.
const RECENT: usize = 32;
const NO_REGION: u64 = u64::MAX;

/// Consecutive bytes in one state: at the positions `value ..`, or `NEVER`, or `DEAD`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    pub value: u64,
    pub len: u64,
}

/// Words of one region: the cell of the first, and cells from one to the next.
#[derive(Clone, Copy, Default)]
pub struct Spaced {
    pub cell: usize,
    pitch: isize,
}

impl Spaced {
    #[inline(always)]
    pub fn at(self, word: usize) -> usize {
        self.cell.wrapping_add_signed(self.pitch * word as isize)
    }
}

/// A part of a page, in cells: `skip` bytes of the first cell do not belong to it.
#[derive(Clone, Copy)]
struct Span {
    cell: usize,
    skip: u64,
    len: u64,
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

/// Where positions go when all of them change.
pub trait NewPositions {
    /// Must keep consecutive live positions consecutive.
    fn of(&self, position: u64) -> u64;
    /// Where `count` live words of `len` bytes go, `step` apart, as the first place and the step between them; nothing if they do not go to
    /// such places or that is not easily told.
    fn of_words(&self, first: u64, step: i64, count: usize, len: u64) -> Option<(u64, i64)>;
}

pub struct Shadow<C> {
    cells: Reserve<C>,
    /// Pages in which something was touched, as their cells lie.
    present: Marks,
    /// Pages that are not present, but of which some cells were touched.
    few: Few<C>,
    /// So many pages are present from the first touch on.
    full_pages: usize,
    /// (region number, its first cell), sorted by region.
    regions: Vec<(u64, usize)>,
    recent: [(u64, usize); RECENT],
    /// Per-byte values of cells whose bytes do not belong together, and the unused ones among them (all zero).
    pool: Vec<[C; 4]>,
    unused: Vec<u32>,
    /// Positions from here on do not fit into a cell for the first byte alone.
    lone_limit: u64,
}

impl<C: Cell> Shadow<C> {
    /// Positions of lone bytes that cells are to hold are below `lone_limit`.
    pub fn new(lone_limit: u64, full_pages: usize) -> Self {
        let (mut present, mut few) = (Marks::default(), Few::new());
        present.grow(REGION_PAGES);
        few.grow(REGION_PAGES);
        Shadow {
            cells: Reserve::new(REGION_CELLS),
            present,
            few,
            full_pages,
            regions: Vec::new(),
            recent: [(NO_REGION, 0); RECENT],
            pool: Vec::new(),
            unused: Vec::new(),
            lone_limit,
        }
    }

    /// The same contents in cells of another width; `lone_limit` as for `new`.
    pub fn converted<D: Cell>(self, lone_limit: u64) -> Shadow<D> {
        let convert = |cell: C| {
            let value = cell.get();
            let (from, to) = match value {
                _ if value >= C::LONE => (C::LONE, D::LONE),
                _ if value >= C::POOLED => (C::POOLED, D::POOLED),
                _ => (0, 0),
            };
            D::pack(value - from + to)
        };
        let mut cells = Reserve::new(self.cells.len());
        for pages in self.present.runs() {
            let part = pages.start * PAGE_CELLS..pages.end * PAGE_CELLS;
            cells[part.clone()].iter_mut().zip(&self.cells[part]).for_each(|(new, &old)| *new = convert(old));
        }
        Shadow {
            cells,
            present: self.present,
            few: self.few.converted(convert),
            full_pages: self.full_pages,
            regions: self.regions,
            recent: self.recent,
            pool: self.pool.into_iter().map(|bytes| bytes.map(convert)).collect(),
            unused: self.unused,
            lone_limit,
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        let bytes = self.present.count() * PAGE_CELLS * size_of::<C>()
            + self.present.heap_bytes()
            + self.few.heap_bytes()
            + self.regions.capacity() * size_of::<(u64, usize)>()
            + self.pool.capacity() * size_of::<[C; 4]>()
            + self.unused.capacity() * size_of::<u32>();
        bytes as u64
    }

    /// Number of cells a walk over everything visits.
    pub fn cell_count(&self) -> u64 {
        (self.present.count() * PAGE_CELLS + self.few.cell_count()) as u64
    }

    /// Two neighbouring cells; `cell` must come from `find` and not be the last of its page.
    #[inline(always)]
    pub fn pair(&self, cell: usize) -> (u64, u64) {
        let pair = &self.cells[cell..cell + 2];
        (pair[0].get(), pair[1].get())
    }

    #[inline(always)]
    pub fn set_pair(&mut self, cell: usize, position: u64) {
        let pair = &mut self.cells[cell..cell + 2];
        pair[0] = C::pack(position);
        pair[1] = C::pack(position + BYTES);
    }

    /// The cells hold whole positions, which are gone.
    #[inline(always)]
    pub fn set_row_dead(&mut self, cell: usize, len: u64) {
        self.cells[cell..cell + (len / BYTES) as usize].fill(C::pack(DEAD));
    }

    /// Words of `width` cells, which hold whole positions, are gone.
    #[inline(always)]
    pub fn set_spaced_dead(&mut self, row: Spaced, width: usize, count: usize) {
        (0..count).for_each(|word| self.cells[row.at(word)..][..width].fill(C::pack(DEAD)));
    }

    /// Both cells hold whole positions, which are gone.
    #[inline(always)]
    pub fn set_pair_dead(&mut self, cell: usize) {
        self.cells[cell..cell + 2].fill(C::pack(DEAD));
    }

    #[inline(always)]
    pub fn cell(&self, cell: usize) -> u64 {
        self.cells[cell].get()
    }

    #[inline(always)]
    pub fn set_cell(&mut self, cell: usize, position: u64) {
        self.cells[cell] = C::pack(position);
    }

    /// The first value of `len` bytes of a cell from `skip` on, if they are one run.
    #[inline(always)]
    pub fn part(&self, cell: usize, skip: u64, len: u64) -> Option<u64> {
        let value = self.cells[cell].get();
        if value & C::POOLED == 0 {
            return Some(if value < FIRST { value } else { value + skip });
        }
        if let Some(first) = lone::<C>(value) {
            return match (skip, len) {
                (0, 1) => Some(first),
                (0, _) => None,
                _ => Some(NEVER),
            };
        }
        // Byte by byte, as they were written: a wide load of what was just stored narrowly cannot be forwarded.
        let bytes = &self.pool[(value & !C::POOLED) as usize];
        let first = bytes[skip as usize].get();
        let step = u64::from(first >= FIRST);
        (1..len).all(|byte| bytes[(skip + byte) as usize].get() == first + byte * step).then_some(first)
    }

    /// Gives `len` bytes of a cell from `skip` on the places `position ..`, which are above all others.
    #[inline(always)]
    pub fn put(&mut self, cell: usize, skip: u64, len: u64, position: u64) {
        let value = self.cells[cell].get();
        let is_lone = value == NEVER || value >= C::LONE;
        if is_lone && skip == 0 && len == 1 && position < self.lone_limit {
            self.cells[cell] = C::pack(C::LONE | position);
            return;
        }
        if value & C::POOLED == 0 {
            if len < BYTES {
                let step = u64::from(value >= FIRST);
                let is_put = |byte: u64| byte.wrapping_sub(skip) < len;
                let place = |byte: u64| if is_put(byte) { position + byte - skip } else { value + byte * step };
                self.change_to(cell, [0, 1, 2, 3].map(|byte| C::pack(place(byte))));
            } else {
                self.cells[cell] = C::pack(position);
            }
            return;
        }
        let Some(entry) = pooled::<C>(value) else {
            let mut bytes = self.bytes(cell);
            for (byte, at) in bytes[skip as usize..(skip + len) as usize].iter_mut().zip(position..) {
                *byte = C::pack(at);
            }
            return self.set_bytes(cell, bytes);
        };
        let bytes = &mut self.pool[entry];
        for byte in 0..len {
            bytes[(skip + byte) as usize] = C::pack(position + byte);
        }
        // The newest bytes are the end of a run or a run of their own, so the four can be one only if the last is among them.
        if skip + len == BYTES && (0..skip).all(|byte| bytes[byte as usize].get() + skip - byte == position) {
            self.release(cell);
            self.cells[cell] = C::pack(position - skip);
        }
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

    /// How many of `count` words of `width` cells, side by side, are on the stack at arithmetic places; with the first place and
    /// the step between them. Nothing if the first two are not whole words on the stack.
    #[inline(always)]
    pub fn arithmetic(&self, cell: usize, width: usize, count: usize) -> Option<(usize, u64, i64)> {
        let (mut good, first, step) = self.arithmetic_groups(cell, width, count)?;
        let place = |at: usize| first.wrapping_add_signed(step.wrapping_mul(at as i64));
        let is_good = |at: &usize| self.word(cell + at * width, width) == Some(place(*at));
        good += (good..count.min(good + GROUP / width)).take_while(is_good).count();
        Some((good, first, step))
    }

    /// The row of words `stride` bytes apart, a multiple of the bytes of a cell, from an aligned address on; and how many of `count` are in its region.
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

    /// As `arithmetic` for a row.
    #[inline(always)]
    pub fn arithmetic_spaced(&self, row: Spaced, width: usize, count: usize) -> Option<(usize, u64, i64)> {
        if row.pitch == width as isize {
            return self.arithmetic(row.cell, width, count);
        }
        if count < 2 {
            return None;
        }
        let first = self.word(row.cell, width)?;
        let step = self.word(row.at(1), width)?.wrapping_sub(first) as i64;
        let good = self.words_at(row, width, count, first, step);
        are_positions::<C>(first, step, good.max(1)).then_some((good, first, step))
    }

    /// As `arithmetic`, by whole groups of cells: what is left at the end does not count.
    #[inline(always)]
    fn arithmetic_groups(&self, cell: usize, width: usize, count: usize) -> Option<(usize, u64, i64)> {
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
            let is_word_dead = |&word: &usize| self.cells[row.at(word)..][..width].iter().all(is_dead);
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
            (0..count).map(|word| never(&self.cells[row.at(word)..][..width])).sum()
        };
        never * BYTES
    }

    /// Place of a word, if all of it is on the stack and together.
    #[inline(always)]
    pub fn word(&self, cell: usize, width: usize) -> Option<u64> {
        let first = self.cells[cell].get();
        (is_position::<C>(first) && is_word_at(&self.cells[cell..cell + width], first)).then_some(first)
    }

    /// How many of `count` words of `width` cells are at `place` and so on, if these are positions.
    #[inline(always)]
    fn words_at(&self, row: Spaced, width: usize, count: usize, mut place: u64, step: i64) -> usize {
        assert!(self.has_row(row, width, count), "a row of cells that there are");
        let ahead = row.pitch * AHEAD;
        with_width!(width, WIDTH => {
            let (mut words, mut cell) = (0, row.cell);
            // SAFETY: all words of the row are cells that there are, and these are the first `count` of them.
            while words < count && is_word_at(unsafe { self.cells.get_unchecked(cell..cell + WIDTH) }, place) {
                if let Some(next) = self.cells.get(cell.wrapping_add_signed(ahead)) {
                    prefetch(next);
                }
                place = place.wrapping_add_signed(step);
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

    /// Puts words of `width` cells, side by side, at `place` and so on. `step` may be negative.
    #[inline(always)]
    pub fn set_arithmetic(&mut self, cell: usize, width: usize, count: usize, mut place: u64, step: u64) {
        let cells = &mut self.cells[cell..cell + width * count];
        with_width!(width, WIDTH => for word in cells.chunks_exact_mut(WIDTH) {
            set_word(word, place);
            place = place.wrapping_add(step);
        });
    }

    /// As `set_arithmetic` for the words of a row from one on.
    #[inline(always)]
    pub fn set_spaced(&mut self, row: Spaced, from: usize, width: usize, count: usize, mut place: u64, step: u64) {
        debug_assert!(
            (from..from + count).all(|word| self.is_present(row.at(word))),
            "words are written to pages that are present"
        );
        if row.pitch == width as isize {
            return self.set_arithmetic(row.at(from), width, count, place, step);
        }
        let mut cell = row.at(from);
        assert!(self.has_row(Spaced { cell, ..row }, width, count), "a row of cells that there are");
        with_width!(width, WIDTH => for _ in 0..count {
            // SAFETY: all words of the row are cells that there are, and these are `count` of them.
            set_word(unsafe { self.cells.get_unchecked_mut(cell..cell + WIDTH) }, place);
            place = place.wrapping_add(step);
            cell = cell.wrapping_add_signed(row.pitch);
        });
    }

    /// Whether something was touched in the page of the cell, so that it may be written.
    #[inline(always)]
    pub fn is_present(&self, cell: usize) -> bool {
        self.present.get(cell / PAGE_CELLS)
    }

    /// Cell of an address; among the shared empty ones if nothing was stored in its region.
    #[inline(always)]
    pub fn find(&mut self, addr: u64) -> usize {
        let region = addr >> REGION_BITS;
        let (tag, mut first) = self.recent[Self::slot(region)];
        if tag != region {
            first = self.find_region(region);
        }
        first + cell_in_region(addr)
    }

    /// Asks the processor to fetch the bytes of a cell, if they are not all in it.
    #[inline(always)]
    pub fn prefetch_bytes(&self, value: u64) {
        if let Some(entry) = pooled::<C>(value) {
            prefetch(&self.pool[entry]);
        }
    }

    /// Asks the processor to fetch a cell.
    #[inline(always)]
    pub fn prefetch(&self, cell: usize) {
        prefetch(&self.cells[cell]);
    }

    #[inline(always)]
    fn slot(region: u64) -> usize {
        (region ^ (region >> 7)) as usize % RECENT
    }

    #[cold]
    #[inline(never)]
    fn find_region(&mut self, region: u64) -> usize {
        match self.regions.binary_search_by_key(&region, |entry| entry.0) {
            Ok(at) => {
                self.recent[Self::slot(region)] = self.regions[at];
                self.regions[at].1
            }
            Err(_) => 0,
        }
    }

    /// Cell of an address, in a page that is present.
    #[inline(always)]
    pub fn make(&mut self, addr: u64) -> usize {
        let cell = self.find(addr);
        if self.is_present(cell) { cell } else { self.make_page(addr) }
    }

    #[cold]
    fn make_page(&mut self, addr: u64) -> usize {
        let cell = self.make_region(addr);
        let page = cell / PAGE_CELLS;
        // A page without neighbours may be all that is ever touched around here, and of it a byte.
        if self.present.get(page - 1) || self.present.get(page + 1) {
            self.cells.populate(page * PAGE_CELLS..(page + 1) * PAGE_CELLS);
        }
        self.present.set(page);
        if self.few.has(page) {
            for (at, value) in self.few.take(page) {
                self.cells[page * PAGE_CELLS + at] = value;
            }
        }
        cell
    }

    /// Cell of an address in a region that there is.
    fn make_region(&mut self, addr: u64) -> usize {
        let region = addr >> REGION_BITS;
        if let Err(at) = self.regions.binary_search_by_key(&region, |entry| entry.0) {
            let regions = self.regions.len() + 1;
            self.regions.insert(at, (region, regions * REGION_CELLS));
            // And some that are never marked, behind the last page.
            let pages = (regions + 1) * REGION_PAGES + 64;
            self.present.grow(pages);
            self.few.grow(pages);
            self.cells.grow((regions + 1) * REGION_CELLS);
        }
        self.find_region(region) + cell_in_region(addr)
    }

    /// Whether some cells were touched in the page of the cell, which is not present.
    #[inline(always)]
    pub fn is_few(&self, cell: usize) -> bool {
        self.few.has(cell / PAGE_CELLS)
    }

    /// Whether words that are to be written in a row fill so much of their pages that these are worth their memory.
    #[inline(always)]
    pub fn is_worth_pages(&mut self, addr: u64, stride: i64, count: usize) -> bool {
        self.present.count() < self.full_pages
            || stride.unsigned_abs() < FEW_APART
            || (0..count as i64).all(|word| {
                let cell = self.find(addr.wrapping_add_signed(stride.wrapping_mul(word)));
                self.is_present(cell)
            })
    }

    /// Does something with the cell of a page of which little was touched, as if it were an own cell.
    #[inline(always)]
    fn with_few<R>(&mut self, cell: usize, act: impl FnOnce(&mut Self, usize) -> R) -> R {
        let (page, at) = (cell / PAGE_CELLS, cell % PAGE_CELLS);
        let before = self.few.get(page, at);
        // The first of the shared empty cells lends itself: it is empty again before anybody looks.
        self.cells[0] = before;
        let result = act(self, 0);
        let after = std::mem::take(&mut self.cells[0]);
        if after != before {
            self.few.set(page, at, after);
        }
        result
    }

    /// Puts bytes of one page that is not present at `position ..`, if not more than a list is good for; the page is present afterwards
    /// if they are too many with what is there.
    #[cold]
    fn assign_few(&mut self, addr: u64, len: u64, mut position: u64) -> bool {
        if self.present.count() < self.full_pages || len > MOST_FEW {
            return false;
        }
        let mut cell = self.make_region(addr);
        let (mut skip, mut left) = (addr % BYTES, len);
        while left > 0 {
            let part = left.min(BYTES - skip);
            self.with_few(cell, |shadow, own| {
                if part < BYTES {
                    shadow.put(own, skip, part, position);
                } else {
                    shadow.release(own);
                    shadow.cells[own] = C::pack(position);
                }
            });
            (cell, skip, left, position) = (cell + 1, 0, left - part, position + part);
        }
        if self.few.is_full((cell - 1) / PAGE_CELLS) {
            self.make_page(addr);
        }
        true
    }

    /// The first addresses of `addr .. addr + len` that lie in pages that are present, as the first of them and their number.
    pub fn next_present(&self, addr: u64, len: u64) -> Option<(u64, u64)> {
        self.next_marked(&self.present, addr, len)
    }

    /// The same for pages that are not present, but in which some cells were touched.
    pub fn next_few(&self, addr: u64, len: u64) -> Option<(u64, u64)> {
        if self.few.marks().count() == 0 {
            return None;
        }
        self.next_marked(self.few.marks(), addr, len)
    }

    fn next_marked(&self, marks: &Marks, mut addr: u64, len: u64) -> Option<(u64, u64)> {
        let last = addr + (len - 1);
        let from = self.regions.partition_point(|entry| entry.0 < addr >> REGION_BITS);
        for &(region, first) in &self.regions[from..] {
            let start = region << REGION_BITS;
            if start > last {
                return None;
            }
            addr = addr.max(start);
            let page = first / PAGE_CELLS;
            let number = |addr: u64| page + ((addr - start) >> PAGE_BITS) as usize;
            let end = number(last).min(page + REGION_PAGES - 1) + 1;
            if let Some(run) = marks.next_run(number(addr)..end) {
                addr = addr.max(start + ((run.start - page) << PAGE_BITS) as u64);
                let room = start + (((run.end - page) << PAGE_BITS) as u64 - 1) - addr;
                return Some((addr, room.min(last - addr) + 1));
            }
        }
        None
    }

    /// Appends the states of the bytes to `runs`, neighbours that belong together as one.
    #[inline(always)]
    pub fn gather(&mut self, addr: u64, len: u64, runs: &mut Vec<Run>) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let part = left.min(page_room(at));
            let cell = self.find(at);
            if self.is_present(cell) {
                self.gather_span(Span { cell, skip: at % BYTES, len: part }, runs);
            } else if self.is_few(cell) {
                self.gather_few(Span { cell, skip: at % BYTES, len: part }, runs);
            } else {
                push(runs, NEVER, part);
            }
            at = at.wrapping_add(part);
            left -= part;
        }
    }

    #[inline(always)]
    fn gather_span(&self, span: Span, runs: &mut Vec<Run>) {
        let Span { mut cell, mut skip, mut len } = span;
        while len > 0 {
            let part = len.min(BYTES - skip);
            let value = self.cells[cell].get();
            if value & C::POOLED != 0 {
                for byte in &self.bytes(cell)[skip as usize..(skip + part) as usize] {
                    push(runs, byte.get(), 1);
                }
            } else {
                push(runs, if value < FIRST { value } else { value + skip }, part);
            }
            cell += 1;
            skip = 0;
            len -= part;
        }
    }

    /// The same for a page of which little was touched.
    #[cold]
    fn gather_few(&mut self, span: Span, runs: &mut Vec<Run>) {
        let Span { mut cell, mut skip, mut len } = span;
        while len > 0 {
            let part = len.min(BYTES - skip);
            self.with_few(cell, |shadow, own| shadow.gather_span(Span { cell: own, skip, len: part }, runs));
            (cell, skip, len) = (cell + 1, 0, len - part);
        }
    }

    /// Puts the bytes at `position ..`, in address order.
    #[inline(always)]
    pub fn assign(&mut self, addr: u64, len: u64, mut position: u64) {
        let (mut at, mut left) = (addr, len);
        while left > 0 {
            let (cell, room) = (self.find(at), left.min(page_room(at)));
            if !self.is_present(cell) && self.assign_few(at, room, position) {
                at = at.wrapping_add(room);
                left -= room;
                position += room;
                continue;
            }
            let part = left.min(BYTES - at % BYTES);
            let cell = self.make(at);
            if part < BYTES {
                self.put(cell, at % BYTES, part, position);
                at = at.wrapping_add(part);
                left -= part;
                position += part;
                continue;
            }
            let whole = left.min(page_room(at)) & !(BYTES - 1);
            for (cell, base) in (cell..).zip((position..position + whole).step_by(BYTES as usize)) {
                self.release(cell);
                self.cells[cell] = C::pack(base);
            }
            at = at.wrapping_add(whole);
            left -= whole;
            position += whole;
        }
    }

    /// Marks the touched bytes of a part of pages that are present, or of one page of which little was touched, dead; they must be in one
    /// region.
    pub fn kill(&mut self, addr: u64, len: u64) {
        self.end(addr, len, |value| value.min(DEAD));
    }

    /// The same for bytes that go on living elsewhere: where they were is as if it had never been touched.
    pub fn forget(&mut self, addr: u64, len: u64) {
        self.end(addr, len, |value| if value >= FIRST { NEVER } else { value });
    }

    #[inline(always)]
    fn end(&mut self, addr: u64, len: u64, after: impl Fn(u64) -> u64) {
        let mut cell = self.find(addr);
        let is_few = self.is_few(cell);
        let (mut skip, mut left) = (addr % BYTES, len);
        while left > 0 {
            let part = left.min(BYTES - skip);
            if is_few {
                self.with_few(cell, |shadow, own| shadow.end_part(own, skip, part, &after));
            } else {
                let value = self.cells[cell].get();
                if part == BYTES && value & C::POOLED == 0 {
                    self.cells[cell] = C::pack(after(value));
                } else {
                    self.end_part(cell, skip, part, &after);
                }
            }
            cell += 1;
            skip = 0;
            left -= part;
        }
    }

    /// The four values of a cell.
    #[inline(always)]
    pub fn bytes(&self, cell: usize) -> [C; 4] {
        let value = self.cells[cell].get();
        if let Some(entry) = pooled::<C>(value) {
            self.pool[entry]
        } else if let Some(first) = lone::<C>(value) {
            [first, NEVER, NEVER, NEVER].map(C::pack)
        } else {
            let step = u64::from(value >= FIRST);
            [value, value + step, value + 2 * step, value + 3 * step].map(C::pack)
        }
    }

    /// The bytes of a cell from `skip` on die, as far as they were touched.
    #[inline(always)]
    pub fn kill_part(&mut self, cell: usize, skip: u64, len: u64) {
        self.end_part(cell, skip, len, |value| value.min(DEAD));
    }

    #[inline(always)]
    fn end_part(&mut self, cell: usize, skip: u64, len: u64, after: impl Fn(u64) -> u64) {
        let mut bytes = self.bytes(cell);
        for byte in &mut bytes[skip as usize..(skip + len) as usize] {
            *byte = C::pack(after(byte.get()));
        }
        self.set_bytes(cell, bytes);
    }

    /// Gives the bytes of a cell any values.
    #[inline(always)]
    fn set_bytes(&mut self, cell: usize, bytes: [C; 4]) {
        let first = bytes[0].get();
        if let Some(one) = joined(bytes) {
            self.release(cell);
            self.cells[cell] = one;
        } else if bytes[1..] == [C::default(); 3] && first < self.lone_limit {
            self.release(cell);
            self.cells[cell] = C::pack(C::LONE | first);
        } else {
            self.change_to(cell, bytes);
        }
    }

    /// Gives the bytes of a cell values that do not belong together, and are not those of a lone byte either.
    #[inline(always)]
    fn change_to(&mut self, cell: usize, bytes: [C; 4]) {
        let entry = pooled::<C>(self.cells[cell].get()).unwrap_or_else(|| {
            let entry = self.unused.pop().unwrap_or_else(|| self.new_entry());
            self.cells[cell] = C::pack(u64::from(entry) | C::POOLED);
            entry as usize
        });
        self.pool[entry] = bytes;
    }

    #[cold]
    fn new_entry(&mut self) -> u32 {
        let len = self.pool.len();
        assert!(
            (len as u64) < C::LONE - C::POOLED,
            "a billion words are used by their bytes: more than dmdprof can follow"
        );
        if len == self.pool.capacity() {
            // By an eighth: large arrays are remapped, not copied, and memory stays close to what is used.
            self.pool.reserve_exact((len / 8).max(256).next_multiple_of(64));
        }
        self.pool.push([C::default(); 4]);
        len as u32
    }

    /// Gives back the pooled entry of a cell that is about to be overwritten.
    #[inline(always)]
    fn release(&mut self, cell: usize) {
        if let Some(entry) = pooled::<C>(self.cells[cell].get()) {
            self.pool[entry] = [C::default(); 4];
            self.unused.push(entry as u32);
        }
    }

    /// Replaces every position, in cells and entries alike.
    #[inline(always)]
    pub fn renumber(&mut self, to: &impl NewPositions) {
        // Lone bytes that a gap below them has moved beyond the limit.
        let mut outgrown = Vec::new();
        let runs: Vec<_> = self.present.runs().collect();
        for pages in runs {
            let (mut cell, end) = (pages.start * PAGE_CELLS, pages.end * PAGE_CELLS);
            while cell < end {
                let words = ((end - cell) / 2).min(ROW);
                let row = self.arithmetic_groups(cell, 2, words).filter(|&(words, ..)| words >= LEAST_ROW);
                let words = row.map_or(words.min(PIECE), |(words, ..)| words);
                match row.and_then(|(words, first, step)| to.of_words(first, step, words, 2 * BYTES)) {
                    Some((first, step)) => self.set_arithmetic(cell, 2, words, first, step as u64),
                    None => self.renumber_words(cell, words, to, &mut outgrown),
                }
                cell += 2 * words;
            }
        }
        for byte in self.pool.iter_mut().flatten() {
            if byte.get() >= FIRST {
                *byte = C::pack(to.of(byte.get()));
            }
        }
        for (cell, new) in outgrown {
            self.cells[cell] = C::pack(NEVER);
            self.change_to(cell, [new, NEVER, NEVER, NEVER].map(C::pack));
        }
        self.renumber_few(to);
    }

    /// Replaces the positions in the lists; those in pooled entries were replaced.
    #[inline(always)]
    fn renumber_few(&mut self, to: &impl NewPositions) {
        let mut few = std::mem::replace(&mut self.few, Few::new());
        for cell in few.values_mut() {
            let value = cell.get();
            if is_position::<C>(value) {
                *cell = C::pack(to.of(value));
            } else if let Some(first) = lone::<C>(value).filter(|&first| first >= FIRST) {
                let new = to.of(first);
                *cell = if new < self.lone_limit {
                    C::pack(C::LONE | new)
                } else {
                    self.change_to(0, [new, NEVER, NEVER, NEVER].map(C::pack));
                    std::mem::take(&mut self.cells[0])
                };
            }
        }
        self.few = few;
    }

    /// Replaces the positions in some cells; `outgrown` takes those of lone bytes that must be pooled now.
    #[inline(always)]
    fn renumber_words(&mut self, cell: usize, words: usize, to: &impl NewPositions, outgrown: &mut Vec<(usize, u64)>) {
        let limit = self.lone_limit;
        let mut of_lone = |cell: usize, first: u64| {
            let new = if first >= FIRST { to.of(first) } else { first };
            if new >= limit {
                outgrown.push((cell, new));
            }
            C::pack(C::LONE | new)
        };
        for (pair, cell) in self.cells[cell..cell + 2 * words].chunks_exact_mut(2).zip((cell..).step_by(2)) {
            let (a, b) = (pair[0].get(), pair[1].get());
            if is_position::<C>(a) {
                let new = to.of(a);
                pair[0] = C::pack(new);
                if b == a + BYTES {
                    pair[1] = C::pack(new + BYTES);
                    continue;
                }
            } else if let Some(first) = lone::<C>(a) {
                pair[0] = of_lone(cell, first);
            }
            if is_position::<C>(b) {
                pair[1] = C::pack(to.of(b));
            } else if let Some(first) = lone::<C>(b) {
                pair[1] = of_lone(cell + 1, first);
            }
        }
    }
}

/// Words of a column are fetched so many ahead.
const AHEAD: isize = 8;
/// Cells compared at a time: words of 1, 2, 4, 8 or 16.
const GROUP: usize = 16;
/// Words whose cells are looked at together where what matters is their kind.
const PIECE: usize = 32;
/// Most words renumbered at a time, and fewest for which their places are worth being told together.
const ROW: usize = 256;
const LEAST_ROW: usize = 64;

/// Whether `count` places `step` apart are positions, the first of which is one. Beyond them, other kinds of values may look like the next place.
#[inline(always)]
fn are_positions<C: Cell>(first: u64, step: i64, count: usize) -> bool {
    is_position::<C>(first.wrapping_add_signed(step.wrapping_mul(count as i64 - 1)))
}

/// How many groups of cells have words of `WIDTH` cells at `place` and so on. Cells are compared as they are, so that of places beyond the last
/// position this tells nothing (`are_positions`).
#[inline(always)]
fn groups_at<C: Cell, const WIDTH: usize>(cells: &[C], place: u64, step: u64) -> usize {
    let mut expected = [C::default(); GROUP];
    for (cell, at) in expected.iter_mut().zip(0..) {
        let word = place.wrapping_add(step.wrapping_mul(at / WIDTH as u64));
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

/// Puts a word at a place.
#[inline(always)]
fn set_word<C: Cell>(word: &mut [C], place: u64) {
    for (cell, at) in word.iter_mut().zip(0..) {
        *cell = C::pack(place + at * BYTES);
    }
}

/// Whether the cells of a word are at `place` and so on, if these are positions.
#[inline(always)]
fn is_word_at<C: Cell>(cells: &[C], place: u64) -> bool {
    match cells {
        [cell] => *cell == C::pack(place),
        [first, second] => *first == C::pack(place) && *second == C::pack(place.wrapping_add(BYTES)),
        _ => cells.iter().zip(0..).all(|(cell, at)| *cell == C::pack(place.wrapping_add(at * BYTES))),
    }
}

/// Adds bytes to the last run if they continue it.
#[inline(always)]
fn push(runs: &mut Vec<Run>, value: u64, len: u64) {
    if let Some(last) = runs.last_mut() {
        let next = if last.value < FIRST { last.value } else { last.value + last.len };
        if next == value {
            last.len += len;
            return;
        }
    }
    runs.push(Run { value, len });
}

/// Bytes from here to the end of the page.
#[inline(always)]
pub fn page_room(addr: u64) -> u64 {
    PAGE - addr % PAGE
}

#[inline(always)]
fn cell_in_region(addr: u64) -> usize {
    (addr % REGION / BYTES) as usize
}
