//! Per level and byte of the program's memory: the tile that touched it last.
//!
//! Takes ranges, gives pieces of pages and, per level, their stamps. A page is kept in granules of 8 bytes until
//! something smaller or less aligned is accessed in it, then in smaller ones; a granule is always accessed as a whole.
//! Takes 4 bytes per granule and level. When that is more than the budget, whole pages of the array that takes most are
//! no longer followed (half of them each time, chosen by a hash of the page's number), and the rest of its pages count
//! twice as much.

use std::collections::HashMap;

use super::nest::LevelNumber;
use crate::{hash::FastHash, numbers::niche_number, objects::ObjectNumber};

/// Small, as most loops of large programs touch little of each page.
pub const PAGE: u64 = 1024;
const RECENT: usize = 2048;
/// Granules of 8 bytes, unless accesses say otherwise.
const COARSEST: u8 = 3;
const LEAF: usize = 64;
const MOST_WEIGHT: u8 = 30;

niche_number! {
    /// Number of a page that was touched.
    PageNumber
}

niche_number! {
    /// Place of a level's stamps of a page.
    BlockNumber
}

/// Blocks of as many pages.
type Leaf = Box<[Option<BlockNumber>; LEAF]>;

struct Page {
    address: u64,
    /// Granules have `1 << shift` bytes.
    shift: u8,
    /// Its bytes count `1 << weight` times.
    weight: u8,
    followed: bool,
    /// The array that touched it first.
    owner: ObjectNumber,
    /// Levels that have stamps of it.
    holders: Vec<LevelNumber>,
}

/// A piece of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The page of all its bytes.
    pub page: PageNumber,
    /// Granules from `first` up to and without `end`.
    pub first: u32,
    /// The granule behind its last one.
    pub end: u32,
    /// What a granule counts, in bytes.
    pub unit: u64,
}

/// By level and granule of memory: the tile that touched it last.
pub struct Stamps {
    index: HashMap<u64, PageNumber, FastHash>,
    recent: Box<[Option<(u64, PageNumber)>; RECENT]>,
    pages: Vec<Page>,
    /// By level: leaves of pages' blocks.
    blocks_of: Vec<Vec<Option<Leaf>>>,
    blocks: Vec<Box<[u32]>>,
    free: Vec<BlockNumber>,
    bytes: u64,
    budget: u64,
    /// By array: log2 of one over the sampling rate, and bytes of stamps.
    arrays: Vec<(u8, u64)>,
}

impl Piece {
    /// Granules in their block.
    #[inline]
    #[must_use]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.end as usize
    }
}

impl Stamps {
    /// Stamps that take about `budget` bytes at most.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        Self {
            index: HashMap::default(),
            recent: Box::new([None; RECENT]),
            pages: Vec::new(),
            blocks_of: Vec::new(),
            blocks: Vec::new(),
            free: Vec::new(),
            bytes: 0,
            budget,
            arrays: Vec::new(),
        }
    }

    /// Memory that the stamps hold, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all pages are followed and stay so if some levels' stamps of some pages are made.
    #[must_use]
    pub fn has_room_for(&self, pages: u64, levels: u64) -> bool {
        let bytes = pages.saturating_mul(levels).saturating_mul(4 * PAGE);
        self.arrays.iter().all(|array| array.0 == 0) && self.bytes.saturating_add(bytes) <= self.budget
    }

    /// One over the part of an array's pages that is followed, as a power of two.
    #[must_use]
    pub fn sampling(&self, array: ObjectNumber) -> u8 {
        self.arrays.get(array.index()).map_or(0, |a| a.0)
    }

    /// The piece of `address ..` in its page, and how many bytes it has; `None` if the page is not followed.
    #[inline]
    pub fn piece(&mut self, address: u64, len: u64, array: ObjectNumber) -> (Option<Piece>, u64) {
        let offset = address % PAGE;
        let part = len.min(PAGE - offset);
        let number = self.page(address / PAGE, array);
        let page = &self.pages[number.index()];
        if !page.followed {
            return (None, part);
        }
        if (offset | part) & ((1 << page.shift) - 1) != 0 {
            self.refine(number, (offset | part).trailing_zeros() as u8);
        }
        let page = &self.pages[number.index()];
        let piece = Piece {
            page: number,
            first: (offset >> page.shift) as u32,
            end: ((offset + part) >> page.shift) as u32,
            unit: 1 << (page.shift + page.weight),
        };
        (Some(piece), part)
    }

    #[inline]
    fn page(&mut self, address: u64, array: ObjectNumber) -> PageNumber {
        if let Some((known, number)) = self.recent[address as usize % RECENT]
            && known == address
        {
            return number;
        }
        let next = PageNumber::new(self.pages.len());
        let number = *self.index.entry(address).or_insert(next);
        if number == next {
            let weight = self.sampling(array);
            let followed = is_chosen(address, weight);
            self.pages.push(Page { address, shift: COARSEST, weight, followed, owner: array, holders: Vec::new() });
        }
        self.recent[address as usize % RECENT] = Some((address, number));
        number
    }

    /// The block with a level's stamps of a page.
    #[inline]
    pub fn block(&mut self, level: LevelNumber, page: PageNumber) -> BlockNumber {
        match self.known_block(level, page) {
            Some(block) => block,
            None => self.make_block(level, page),
        }
    }

    #[cold]
    fn make_block(&mut self, level: LevelNumber, page: PageNumber) -> BlockNumber {
        let (level_at, leaf_at) = (level.index(), page.index() / LEAF);
        if self.blocks_of.len() <= level_at {
            self.blocks_of.resize_with(level_at + 1, Vec::new);
        }
        let leaves = &mut self.blocks_of[level_at];
        if leaves.len() <= leaf_at {
            leaves.resize_with(leaf_at + 1, || None);
        }
        let known = &mut self.pages[page.index()];
        let granules = (PAGE >> known.shift) as usize;
        let stamps = vec![0; granules].into_boxed_slice();
        let block = match self.free.pop() {
            Some(free) => {
                self.blocks[free.index()] = stamps;
                free
            }
            None => {
                self.blocks.push(stamps);
                BlockNumber::new(self.blocks.len() - 1)
            }
        };
        leaves[leaf_at].get_or_insert_with(|| Box::new([None; LEAF]))[page.index() % LEAF] = Some(block);
        known.holders.push(level);
        let owner = known.owner.index();
        self.hold(owner, 4 * granules as u64);
        block
    }

    fn hold(&mut self, array: usize, bytes: u64) {
        if self.arrays.len() <= array {
            self.arrays.resize(array + 1, (0, 0));
        }
        self.arrays[array].1 += bytes;
        self.bytes += bytes;
    }

    /// The stamps of a block.
    #[inline]
    pub fn stamps(&mut self, block: BlockNumber) -> &mut [u32] {
        &mut self.blocks[block.index()]
    }

    /// Whether an array must give up pages before more are made.
    #[inline]
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        self.bytes > self.budget
    }

    /// Halves the number of followed pages of the array that takes most. Blocks that were looked up before are void.
    pub fn shed(&mut self) {
        let Some(most) = (0..self.arrays.len()).max_by_key(|a| self.arrays[*a].1) else { return };
        let before = self.bytes;
        self.arrays[most].0 += 1;
        let weight = self.arrays[most].0;
        for number in 0..self.pages.len() {
            let page = &mut self.pages[number];
            if page.owner.index() != most || !page.followed {
                continue;
            }
            page.weight = weight;
            page.followed = is_chosen(page.address, weight);
            if !page.followed {
                self.drop_blocks(number);
            }
        }
        if self.bytes == before || weight >= MOST_WEIGHT {
            // Many arrays of a page or two: there is nothing to choose from.
            self.budget = self.budget.max(self.bytes) * 2;
        }
    }

    fn drop_blocks(&mut self, number: usize) {
        let page = &mut self.pages[number];
        let owner = page.owner.index();
        let bytes = 4 * (PAGE >> page.shift);
        for level in std::mem::take(&mut page.holders) {
            let Some(Some(leaf)) = self.blocks_of[level.index()].get_mut(number / LEAF) else { continue };
            let Some(block) = leaf[number % LEAF].take() else { continue };
            self.blocks[block.index()] = Box::default();
            self.free.push(block);
            self.arrays[owner].1 -= bytes;
            self.bytes -= bytes;
        }
    }

    /// Makes a page's granules smaller. Each takes the stamp of the one that it was part of.
    #[cold]
    fn refine(&mut self, number: PageNumber, shift: u8) {
        let page = &mut self.pages[number.index()];
        let times = 1usize << (page.shift - shift);
        let added = 4 * ((PAGE >> shift) - (PAGE >> page.shift));
        page.shift = shift;
        let (owner, holders) = (page.owner.index(), page.holders.clone());
        for level in holders {
            let Some(block) = self.known_block(level, number) else { continue };
            let finer = self.blocks[block.index()].iter().flat_map(|s| std::iter::repeat_n(*s, times)).collect();
            self.blocks[block.index()] = finer;
            self.hold(owner, added);
        }
    }

    #[inline]
    fn known_block(&self, level: LevelNumber, page: PageNumber) -> Option<BlockNumber> {
        let leaf = self.blocks_of.get(level.index())?.get(page.index() / LEAF)?.as_ref()?;
        leaf[page.index() % LEAF]
    }

    /// The bytes of a range are new: no tile has touched them. What shares a granule with the ends is forgotten with
    /// them.
    pub fn forget(&mut self, address: u64, len: u64) {
        if len == 0 {
            return;
        }
        let (first, last) = (address / PAGE, address.saturating_add(len - 1) / PAGE);
        if last - first > self.index.len() as u64 {
            let known: Vec<u64> = self.index.keys().copied().filter(|p| (first..=last).contains(p)).collect();
            known.into_iter().for_each(|page| self.forget_in(page, address, len));
        } else {
            (first..=last).for_each(|page| self.forget_in(page, address, len));
        }
    }

    fn forget_in(&mut self, page_address: u64, address: u64, len: u64) {
        let Some(&number) = self.index.get(&page_address) else { return };
        let start = page_address * PAGE;
        let from = address.saturating_sub(start).min(PAGE);
        let to = address.saturating_add(len).saturating_sub(start).min(PAGE);
        let shift = self.pages[number.index()].shift;
        let range = (from >> shift) as usize..(to.div_ceil(1 << shift)) as usize;
        for holder in 0..self.pages[number.index()].holders.len() {
            let level = self.pages[number.index()].holders[holder];
            if let Some(block) = self.known_block(level, number) {
                self.blocks[block.index()][range.clone()].fill(0);
            }
        }
    }

    /// What is known of `from ..` is true of `to ..` now, and nothing of `from ..`.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64, array: ObjectNumber) {
        // Taken byte by byte before anything is changed: the ranges may overlap, and end anywhere in a granule.
        let mut moved: Vec<(u64, Vec<(LevelNumber, u32)>)> = Vec::new();
        let mut finest = if (from ^ to).is_multiple_of(1 << COARSEST) { COARSEST } else { 0 };
        let mut at = from;
        while at < from + len {
            let Some(&number) = self.index.get(&(at / PAGE)) else {
                at = (at / PAGE + 1) * PAGE;
                continue;
            };
            let page = &self.pages[number.index()];
            finest = finest.min(page.shift);
            let end = ((at | ((1 << page.shift) - 1)) + 1).min(from + len);
            let stamps = self.stamps_at(number, at);
            if !stamps.is_empty() {
                moved.extend((at..end).map(|byte| (byte - from + to, stamps.clone())));
            }
            at = end;
        }
        self.forget(from, len);
        self.forget(to, len);
        for (byte, stamps) in moved {
            let number = self.page(byte / PAGE, array);
            let page = &self.pages[number.index()];
            if !page.followed {
                continue;
            }
            if page.shift > finest {
                self.refine(number, finest);
            }
            let index = ((byte % PAGE) >> self.pages[number.index()].shift) as usize;
            for (level, stamp) in stamps {
                let block = self.block(level, number);
                self.blocks[block.index()][index] = stamp;
            }
        }
    }

    /// The levels that have touched a byte, each with its stamp.
    fn stamps_at(&self, number: PageNumber, address: u64) -> Vec<(LevelNumber, u32)> {
        let page = &self.pages[number.index()];
        let index = ((address % PAGE) >> page.shift) as usize;
        let stamp = |level: &LevelNumber| Some((*level, self.blocks[self.known_block(*level, number)?.index()][index]));
        page.holders.iter().filter_map(stamp).filter(|(_, stamp)| *stamp != 0).collect()
    }

    /// Before a level's tile numbers run out: the tile at hand becomes `tile`, the one before it `tile - 1`, all
    /// earlier ones 1.
    pub fn renumber(&mut self, level: LevelNumber, current: u32, tile: u32) {
        let leaves = self.blocks_of.get(level.index()).into_iter().flatten().flatten();
        let blocks: Vec<BlockNumber> = leaves.flat_map(|leaf| leaf.iter().copied().flatten()).collect();
        for block in blocks {
            for stamp in &mut *self.blocks[block.index()] {
                *stamp = match *stamp {
                    0 => 0,
                    s if s == current => tile,
                    s if s == current - 1 => tile - 1,
                    _ => 1,
                };
            }
        }
    }
}

/// Whether a page is among one in `1 << weight`.
fn is_chosen(address: u64, weight: u8) -> bool {
    weight == 0 || address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - u32::from(weight)) == 0
}
