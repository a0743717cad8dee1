//! From an address to what the stack knows about that byte: cells, by regions of the address space.
//!
//! Takes addresses, gives cell numbers; refuses nothing (any 64-bit address works). A region is 64 MiB of address space
//! in which something was touched. Its cells lie side by side, so that words at a constant distance have cells at a
//! constant distance; those of untouched pages take no memory, and pages of 16 KiB in which something was touched are
//! marked as present. The cells of region 0 are shared and stay zero, so that looking up an absent address needs no
//! test: it reads "never touched".
//!
//! Once there are many pages, others begin as lists of their touched cells (`sparse_page`), as a program that touches a
//! byte in each of a million pages would take as many of these. Such pages are not present: whoever finds a cell "never
//! touched" in a page that is not has to go by `gather` and `assign`, which know the lists.

use crate::engine::{
    cell::{BYTES, Cell, DEAD, FIRST, joined, pooled},
    hint::prefetch,
    marks::Marks,
    reserve::Reserve,
    sparse_page::SparsePages,
};

pub(super) const PAGE_BITS: u32 = 14;
pub(super) const REGION_BITS: u32 = 26;
/// Bytes of address space per page.
pub(super) const PAGE: u64 = 1 << PAGE_BITS;
pub(super) const PAGE_CELLS: usize = (PAGE / BYTES) as usize;
pub(super) const REGION: u64 = 1 << REGION_BITS;
pub(super) const REGION_CELLS: usize = (REGION / BYTES) as usize;
pub(super) const REGION_PAGES: usize = 1 << (REGION_BITS - PAGE_BITS);
/// Bytes that are put into a list at a time, at most; and words in a row that are at least so far apart may end in
/// lists.
pub(super) const MOST_FEW: u64 = 256;
pub(super) const FEW_APART: u64 = PAGE / 32;
/// Recently used regions, direct mapped.
const RECENT: usize = 32;
pub(super) const NO_REGION: u64 = u64::MAX;

pub struct Shadow<C> {
    pub(super) cells: Reserve<C>,
    /// Pages in which something was touched, as their cells lie.
    pub(super) present: Marks,
    /// Pages that are not present, but of which some cells were touched.
    pub(super) sparse: SparsePages<C>,
    /// So many pages are present from the first touch on.
    pub(super) full_pages: usize,
    /// (region number, its first cell), sorted by region.
    pub(super) regions: Vec<(u64, usize)>,
    pub(super) recent: [(u64, usize); RECENT],
    /// Per-byte values of cells whose bytes do not belong together, and the unused ones among them (all zero).
    pub(super) pool: Vec<[C; 4]>,
    pub(super) unused: Vec<u32>,
    /// Pages that were present in an earlier part, and have memory. Draining leaves them without a touched byte, so
    /// that a page becomes present again as it is.
    pub(super) kept: Marks,
}

impl<C: Cell> Shadow<C> {
    /// Nothing was touched.
    pub fn new(full_pages: usize) -> Self {
        let (mut present, mut sparse) = (Marks::default(), SparsePages::new());
        present.grow(REGION_PAGES);
        sparse.grow(REGION_PAGES);
        Shadow {
            cells: Reserve::new(REGION_CELLS),
            present,
            sparse,
            full_pages,
            regions: Vec::new(),
            recent: [(NO_REGION, 0); RECENT],
            pool: Vec::new(),
            unused: Vec::new(),
            kept: Marks::default(),
        }
    }

    /// Puts the contents into cells of another width.
    pub fn converted<D: Cell>(self) -> Shadow<D> {
        let convert = |cell: C| {
            let value = cell.get();
            D::pack(pooled::<C>(value).map_or(value, |entry| entry as u64 | D::POOLED))
        };
        let mut cells = Reserve::new(self.cells.len());
        for pages in self.present.runs() {
            let part = pages.start * PAGE_CELLS..pages.end * PAGE_CELLS;
            cells[part.clone()].iter_mut().zip(&self.cells[part]).for_each(|(new, &old)| *new = convert(old));
        }
        Shadow {
            cells,
            present: self.present,
            sparse: self.sparse.converted(convert),
            full_pages: self.full_pages,
            regions: self.regions,
            recent: self.recent,
            pool: self.pool.into_iter().map(|bytes| bytes.map(convert)).collect(),
            unused: self.unused,
            kept: self.kept,
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        let bytes = self.present.count() * PAGE_CELLS * size_of::<C>()
            + self.present.heap_bytes()
            + self.sparse.heap_bytes()
            + self.regions.capacity() * size_of::<(u64, usize)>()
            + self.pool.capacity() * size_of::<[C; 4]>()
            + self.unused.capacity() * size_of::<u32>();
        bytes as u64
    }

    /// Number of cells a walk over everything visits.
    pub fn cell_count(&self) -> u64 {
        (self.present.count() * PAGE_CELLS + self.sparse.cell_count()) as u64
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
    pub fn run_in(&self, cell: usize, skip: u64, len: u64) -> Option<u64> {
        let value = self.cells[cell].get();
        if value & C::POOLED == 0 {
            return Some(if value < FIRST { value } else { value + skip });
        }
        // Byte by byte, as they were written: a wide load of what was just stored narrowly cannot be forwarded.
        let bytes = &self.pool[(value & !C::POOLED) as usize];
        let first = bytes[skip as usize].get();
        let step = u64::from(first >= FIRST);
        (1..len).all(|byte| bytes[(skip + byte) as usize].get() == first + byte * step).then_some(first)
    }

    /// Gives `len` bytes of a cell from `skip` on the positions `position ..`, which are above all others.
    #[inline(always)]
    pub fn set_run(&mut self, cell: usize, skip: u64, len: u64, position: u64) {
        let value = self.cells[cell].get();
        let Some(entry) = pooled::<C>(value) else {
            if len < BYTES {
                let step = u64::from(value >= FIRST);
                let is_put = |byte: u64| byte.wrapping_sub(skip) < len;
                let at = |byte: u64| if is_put(byte) { position + byte - skip } else { value + byte * step };
                self.change_to(cell, [0, 1, 2, 3].map(|byte| C::pack(at(byte))));
            } else {
                self.cells[cell] = C::pack(position);
            }
            return;
        };
        let bytes = &mut self.pool[entry];
        for byte in 0..len {
            bytes[(skip + byte) as usize] = C::pack(position + byte);
        }
        // The newest bytes are the end of a run or a run of their own, so the four can be one only if the last is among
        // them.
        if skip + len == BYTES && (0..skip).all(|byte| bytes[byte as usize].get() + skip - byte == position) {
            self.release(cell);
            self.cells[cell] = C::pack(position - skip);
        }
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
    pub(super) fn slot(region: u64) -> usize {
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
    pub(super) fn make_page(&mut self, addr: u64) -> usize {
        let cell = self.make_region(addr);
        let page = cell / PAGE_CELLS;
        // A page without neighbours may be all that is ever touched around here, and of it a byte. Memory that is read
        // before it is written would be mapped twice, and the second time interrupt the processors that do other parts.
        let has_neighbours = self.present.get(page - 1) || self.present.get(page + 1);
        self.cells.populate(if has_neighbours { page * PAGE_CELLS..(page + 1) * PAGE_CELLS } else { cell..cell + 1 });
        self.present.set(page);
        if self.sparse.has(page) {
            for (at, value) in self.sparse.take(page) {
                self.cells[page * PAGE_CELLS + at] = value;
            }
        }
        cell
    }

    /// Cell of an address in a region that there is.
    pub(super) fn make_region(&mut self, addr: u64) -> usize {
        let region = addr >> REGION_BITS;
        if let Err(at) = self.regions.binary_search_by_key(&region, |entry| entry.0) {
            let regions = self.regions.len() + 1;
            self.regions.insert(at, (region, regions * REGION_CELLS));
            // And some that are never marked, behind the last page.
            let pages = (regions + 1) * REGION_PAGES + 64;
            self.present.grow(pages);
            self.sparse.grow(pages);
            self.cells.grow((regions + 1) * REGION_CELLS);
        }
        self.find_region(region) + cell_in_region(addr)
    }

    /// Whether some cells were touched in the page of the cell, which is not present.
    #[inline(always)]
    pub fn is_few(&self, cell: usize) -> bool {
        self.sparse.has(cell / PAGE_CELLS)
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

    /// The four values of a cell.
    #[inline(always)]
    pub fn bytes(&self, cell: usize) -> [C; 4] {
        let value = self.cells[cell].get();
        if let Some(entry) = pooled::<C>(value) {
            self.pool[entry]
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
            self.release(cell);
            self.cells[cell] = one;
        } else {
            self.change_to(cell, bytes);
        }
    }

    /// Gives the bytes of a cell values that do not belong together.
    #[inline(always)]
    pub(super) fn change_to(&mut self, cell: usize, bytes: [C; 4]) {
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
        assert!((len as u64) < C::POOLED, "two billion words are used by their bytes: more than dmdprof can follow");
        if len == self.pool.capacity() {
            // By an eighth: large arrays are remapped, not copied, and memory stays close to what is used.
            self.pool.reserve_exact((len / 8).max(256).next_multiple_of(64));
        }
        self.pool.push([C::default(); 4]);
        len as u32
    }

    /// Gives back the pooled entry of a cell that is about to be overwritten.
    #[inline(always)]
    pub(super) fn release(&mut self, cell: usize) {
        if let Some(entry) = pooled::<C>(self.cells[cell].get()) {
            self.pool[entry] = [C::default(); 4];
            self.unused.push(entry as u32);
        }
    }
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
