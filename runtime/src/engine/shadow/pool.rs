//! Values of cells whose bytes do not belong together: four each, one per byte.
//!
//! Takes the cells that point to them; gives numbers of entries. Refuses (by a panic) more than a cell can number.

use crate::engine::cell::{Cell, pooled};

pub struct Pool<C> {
    pub(super) entries: Vec<[C; 4]>,
    /// Entries that nothing points to, all zero.
    unused: Vec<u32>,
}

impl<C: Cell> Pool<C> {
    pub fn new() -> Self {
        Pool { entries: Vec::new(), unused: Vec::new() }
    }

    pub fn converted<D: Cell>(self, convert: impl Fn(C) -> D) -> Pool<D> {
        Pool { entries: self.entries.into_iter().map(|bytes| bytes.map(&convert)).collect(), unused: self.unused }
    }

    /// Number of an entry that nothing points to.
    #[inline(always)]
    pub fn spare(&mut self) -> u32 {
        self.unused.pop().unwrap_or_else(|| self.add())
    }

    #[cold]
    fn add(&mut self) -> u32 {
        let len = self.entries.len();
        assert!((len as u64) < C::POOLED, "two billion words are used by their bytes: more than dmdprof can follow");
        if len == self.entries.capacity() {
            // By an eighth: large arrays are remapped, not copied, and memory stays close to what is used.
            self.entries.reserve_exact((len / 8).max(256).next_multiple_of(64));
        }
        self.entries.push([C::default(); 4]);
        len as u32
    }

    /// Takes back the entry of a cell that is about to be overwritten, if it has one.
    #[inline(always)]
    pub fn release(&mut self, cell: C) {
        if let Some(entry) = pooled::<C>(cell.get()) {
            self.entries[entry] = [C::default(); 4];
            self.unused.push(entry as u32);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.unused.clear();
    }

    pub fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<[C; 4]>() + self.unused.capacity() * size_of::<u32>()
    }
}
