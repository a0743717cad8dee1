//! The definition of what memories of lines move, written down as a list, for tests only.
//!
//! Takes touches of lines with who is charged for them; gives what a memory of some capacity fetched and wrote back for
//! each, and who brings in what others had brought in. Says the same of what the stacks of lines counted.

use std::collections::BTreeMap;

use super::{FAR, NEAR, PLACES};
use crate::{
    counts::{depths::DepthCounts, lines::LineCounts, pairs::PairCounts},
    histogram::bounds,
};

/// Fetches by loads and by stores, and lines written back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub loads: u64,
    pub stores: u64,
    pub write_backs: u64,
}

/// A memory of so many lines.
pub struct Memory<C> {
    capacity: usize,
    /// Numbers of lines, the last one first, and who has written to them last since they came.
    lines: Vec<(u64, Option<C>)>,
    traffic: BTreeMap<C, Traffic>,
}

impl<C: Copy + Ord> Memory<C> {
    pub fn new(capacity: usize) -> Self {
        Self { capacity, lines: Vec::new(), traffic: BTreeMap::new() }
    }

    pub fn access(&mut self, line: u64, is_store: bool, cell: C) {
        let at = self.lines.iter().position(|(number, _)| *number == line);
        let before = match at {
            Some(at) => self.lines.remove(at).1,
            None => {
                let traffic = self.traffic.entry(cell).or_default();
                *(if is_store { &mut traffic.stores } else { &mut traffic.loads }) += 1;
                None
            }
        };
        self.lines.insert(0, (line, if is_store { Some(cell) } else { before }));
        if self.lines.len() > self.capacity
            && let Some((_, Some(writer))) = self.lines.pop()
        {
            self.traffic.entry(writer).or_default().write_backs += 1;
        }
    }

    /// By whom it was caused; lines that are still there are written back.
    pub fn finish(self) -> BTreeMap<C, Traffic> {
        let Self { lines, mut traffic, .. } = self;
        let writers = lines.into_iter().filter_map(|(_, writer)| writer);
        writers.for_each(|writer| traffic.entry(writer).or_default().write_backs += 1);
        traffic
    }
}

/// Who brings in again what others had brought in, from beyond `NEAR` bytes of lines and from beyond `FAR`.
pub struct Bringing<C> {
    shift: u32,
    /// Numbers of lines, the last one first, and who has brought them in last.
    lines: Vec<(u64, C)>,
    pub pairs: BTreeMap<(C, C), PairCounts>,
}

impl<C: Clone + Ord> Bringing<C> {
    pub fn new(shift: u32) -> Self {
        Self { shift, lines: Vec::new(), pairs: BTreeMap::new() }
    }

    pub fn access(&mut self, line: u64, cell: C) {
        let Some(above) = self.lines.iter().position(|(number, _)| *number == line) else {
            return self.lines.insert(0, (line, cell));
        };
        let (_, before) = self.lines.remove(above);
        if above < PLACES {
            return self.lines.insert(0, (line, before));
        }
        let is_beyond = |bytes: u64| above >= (bytes as usize >> self.shift).max(PLACES);
        if is_beyond(NEAR) {
            let counts = self.pairs.entry((before, cell.clone())).or_default();
            counts.lines += 1;
            counts.far += u64::from(is_beyond(FAR));
        }
        self.lines.insert(0, (line, cell));
    }
}

/// Lines that were deeper than a capacity.
pub fn above(counts: &DepthCounts, capacity: u64) -> u64 {
    counts.iter().filter(|(bucket, _)| bounds(*bucket).0 > capacity).map(|(_, lines)| lines).sum()
}

/// What counts say of a memory of some capacity.
pub fn traffic_at(counts: &LineCounts, capacity: u64) -> Traffic {
    Traffic {
        loads: above(&counts.loads, capacity) + counts.first_loads,
        stores: above(&counts.stores, capacity) + counts.first_stores,
        write_backs: above(&counts.write_backs, capacity) + counts.last_write_backs,
    }
}
