//! Live bytes and holes without what is neither, in their order: for new positions, and for what a part of a run
//! leaves.
//!
//! Takes leaves of both, gives leaves again, and puts them at the end of a timeline. Refuses nothing.

use super::{
    bits::Bits,
    end::Timeline,
    holes::Holes,
    node::{LEAF, low_ones},
};

/// Places in a row, each with a byte or a hole.
pub struct Pattern {
    /// Bits of live bytes from the leaf of the first place on.
    leaves: Vec<u64>,
    /// Runs of holes: positions and lengths.
    holes: Vec<(u64, u64)>,
    start: u64,
    end: u64,
}

impl Pattern {
    /// The live bytes and the holes that there are, with the lowest at a position.
    pub fn of_live(live: &Bits, holes: &Holes, start: u64) -> Self {
        let mut pattern = Self { leaves: Vec::new(), holes: Vec::new(), start, end: start };
        let mut free = holes.leaves().filter(|leaf| leaf.1 != 0).peekable();
        let leaves = (0..live.leaf_end / LEAF).map(|leaf| (leaf, live.blocks[leaf >> 5].leaves[leaf % 32]));
        let mut live = leaves.filter(|leaf| leaf.1 != 0).peekable();
        while let Some(next) = [live.peek(), free.peek()].into_iter().flatten().map(|leaf| leaf.0).min() {
            let take = |leaf: Option<(usize, u64)>| leaf.map_or(0, |leaf| leaf.1);
            let bits = take(live.next_if(|leaf| leaf.0 == next));
            pattern.leaf(bits, take(free.next_if(|leaf| leaf.0 == next)));
        }
        pattern
    }

    /// So many places from a position on, of which some runs are holes; the runs are in order.
    pub fn with_holes(holes: &[(u64, u64)], places: u64, start: u64) -> Self {
        let mut pattern = Self { leaves: Vec::new(), holes: Vec::new(), start, end: start };
        for &(first, len) in holes {
            pattern.live(start + first - pattern.end);
            pattern.free(len);
        }
        pattern.live(start + places - pattern.end);
        pattern
    }

    /// Adds the places of a leaf.
    fn leaf(&mut self, live: u64, free: u64) {
        let mut at = 0;
        while (live | free) >> at != 0 {
            at += ((live | free) >> at).trailing_zeros();
            let (bits, is_live) = if live >> at & 1 == 1 { (live, true) } else { (free, false) };
            let len = (bits >> at).trailing_ones();
            if is_live {
                self.live(len.into())
            } else {
                self.free(len.into())
            }
            at += len;
            if at >= u64::BITS {
                break;
            }
        }
    }

    fn live(&mut self, mut len: u64) {
        while len > 0 {
            let p = self.end as usize;
            let part = len.min((LEAF - p % LEAF) as u64);
            let leaf = p / LEAF - self.start as usize / LEAF;
            if self.leaves.len() <= leaf {
                self.leaves.resize(leaf + 1, 0);
            }
            self.leaves[leaf] |= low_ones(part) << (p % LEAF);
            self.end += part;
            len -= part;
        }
    }

    fn free(&mut self, len: u64) {
        match self.holes.last_mut() {
            Some(last) if last.0 + last.1 == self.end => last.1 += len,
            _ => self.holes.push((self.end, len)),
        }
        self.end += len;
    }

    /// Runs of holes, counted from the first place.
    pub fn holes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.holes.iter().map(|&(first, len)| (first - self.start, len))
    }

    /// Puts the places at the end of a timeline, which must be at the first of them and have room.
    pub fn put_on(mut self, time: &mut Timeline, holes: &mut Holes) {
        debug_assert_eq!(time.next_aligned(1), self.start, "where the places were laid out for");
        self.leaves.resize((self.end.div_ceil(LEAF as u64) - self.start / LEAF as u64) as usize, 0);
        time.append_leaves(&self.leaves, self.end - self.start);
        self.holes.iter().for_each(|&(first, len)| holes.leave(first, len, time.limit()));
    }
}
