//! Where in large blocks the reads go: bytes read of each part of them, by object.
//!
//! Takes lives of memory and reads, gives 64 counts per object: the bytes read by accesses that begin in each 64th of a
//! block. Blocks below 4 KiB are left out; what their parts are, fields tell better. An access counts where it begins.

use std::{collections::BTreeMap, sync::Arc};

use super::map::ObjectNumber;
use crate::engine::Stream;

/// Parts of a block.
pub const PARTS: usize = 64;
/// Bytes of the smallest block that is taken apart.
const LEAST: u64 = 4096;

/// Bytes that a block takes in the tree of all, about: its nodes are half to quite full.
const TREE_ENTRY: usize = 30;

/// Bytes read of each part.
pub type Parts = Box<[u64; PARTS]>;

/// Where a block begins, and its bytes; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    start: u64,
    len: u64,
}

impl Extent {
    #[inline]
    fn has(self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.len
    }

    /// The part in which an address lies. Blocks are far below 2^58 bytes.
    #[inline]
    fn part_index(self, address: u64) -> usize {
        ((address - self.start) * PARTS as u64 / self.len) as usize
    }
}

/// First addresses and bytes of the large blocks that live now. A copy is shared until one of the two changes.
pub type LargeBlocks = Arc<BTreeMap<u64, u64>>;

/// The large blocks that live now, and what was read of them.
#[derive(Default)]
pub struct Extents {
    live: LargeBlocks,
    /// By object: the block of the last read, and how many had ended then.
    recent: Vec<(Extent, u64)>,
    ended: u64,
    /// By object; those that ever had a large block have counts.
    parts: Vec<Option<Parts>>,
    /// These, in the order in which they had one first.
    large: Vec<ObjectNumber>,
}

impl Extents {
    /// A block starts, in the place of whatever was there.
    pub fn start(&mut self, address: u64, len: u64, object: ObjectNumber) {
        self.end(address, len);
        if len < LEAST {
            return;
        }
        self.counts(object);
        Arc::make_mut(&mut self.live).insert(address, len);
    }

    /// What was read of each part of the blocks of an object that has a large one.
    fn counts(&mut self, object: ObjectNumber) -> &mut Parts {
        let at = object.index();
        if self.parts.len() <= at {
            self.parts.resize_with(at + 1, || None);
            self.recent.resize(at + 1, Default::default());
        }
        self.parts[at].get_or_insert_with(|| {
            self.large.push(object);
            Box::new([0; PARTS])
        })
    }

    /// Bytes end. A block of which some do is no longer taken apart.
    pub fn end(&mut self, address: u64, len: u64) {
        let end = address.saturating_add(len);
        while let Some((&start, &size)) = self.live.range(..end).next_back()
            && start.saturating_add(size) > address
        {
            Arc::make_mut(&mut self.live).remove(&start);
            self.ended += 1;
        }
    }

    /// The large blocks that live now.
    #[must_use]
    pub fn live(&self) -> LargeBlocks {
        self.live.clone()
    }

    /// These live now, and no others.
    pub fn set_live(&mut self, live: LargeBlocks) {
        self.live = live;
        self.ended += 1;
    }

    /// Objects that ever had a large block, in the order in which they had one first.
    #[must_use]
    pub fn large(&self) -> &[ObjectNumber] {
        &self.large
    }

    /// These have, or had, large blocks too.
    pub fn add_large(&mut self, objects: &[ObjectNumber]) {
        objects.iter().for_each(|object| _ = self.counts(*object));
    }

    /// These begin, and those without bytes have ended.
    pub fn change(&mut self, blocks: &[(u64, u64)]) {
        if blocks.is_empty() {
            return;
        }
        let live = Arc::make_mut(&mut self.live);
        for &(start, len) in blocks {
            match len {
                0 => live.remove(&start),
                _ => live.insert(start, len),
            };
        }
        self.ended += 1;
    }

    /// Adds what was read elsewhere of the same objects.
    pub fn add(&mut self, reads: &[(ObjectNumber, Parts)]) {
        for (object, more) in reads {
            self.counts(*object).iter_mut().zip(more.iter()).for_each(|(all, more)| *all += more);
        }
    }

    /// What was read of each part, of objects of which something was.
    #[must_use]
    pub fn into_reads(self) -> Vec<(ObjectNumber, Parts)> {
        let Self { mut parts, large, .. } = self;
        let reads = large.into_iter().filter_map(|object| Some((object, parts[object.index()].take()?)));
        reads.filter(|(_, parts)| parts.iter().any(|bytes| *bytes > 0)).collect()
    }

    /// Counts a read.
    #[inline]
    pub fn read(&mut self, object: ObjectNumber, address: u64, len: u64) {
        let Some(Some(parts)) = self.parts.get_mut(object.index()) else { return };
        let (recent, ended) = &mut self.recent[object.index()];
        if !recent.has(address) || *ended != self.ended {
            (*recent, *ended) = (find(&self.live, address), self.ended);
        }
        if recent.has(address) {
            parts[recent.part_index(address)] += len;
        }
    }

    /// Counts a number of reads of one object whose addresses advance by a constant.
    pub fn reads(&mut self, object: ObjectNumber, stream: &Stream, times: u64) {
        let Some(Some(parts)) = self.parts.get_mut(object.index()) else { return };
        let (mut address, mut left) = (stream.addr, times);
        let step = stream.stride.unsigned_abs();
        let mut block = Extent::default();
        while left > 0 {
            if !block.has(address) {
                block = find(&self.live, address);
            }
            let part = if block.has(address) { Some(block.part_index(address)) } else { None };
            // Reads that begin in the same part as this one.
            let here = match part {
                _ if step == 0 => left,
                None => 1,
                Some(part) => {
                    // The first and last addresses of the part.
                    let edge = |part: usize| block.start + (part as u64 * block.len).div_ceil(PARTS as u64);
                    let room = if stream.stride > 0 { edge(part + 1) - 1 - address } else { address - edge(part) };
                    (room / step + 1).min(left)
                }
            };
            if let Some(part) = part {
                parts[part] += here * u64::from(stream.len);
            }
            address = address.wrapping_add_signed(stream.stride.wrapping_mul(here as i64));
            left -= here;
        }
    }

    /// What was read of each part, by object; objects without large blocks have nothing.
    #[must_use]
    pub fn into_parts(self) -> Vec<Option<Parts>> {
        self.parts
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let counted = self.parts.iter().flatten().count() * size_of::<[u64; PARTS]>();
        let tables =
            self.recent.capacity() * size_of::<(Extent, u64)>() + self.parts.capacity() * size_of::<Option<Parts>>();
        (counted + tables + self.live.len() * TREE_ENTRY) as u64
    }
}

/// The live block around an address.
fn find(live: &BTreeMap<u64, u64>, address: u64) -> Extent {
    let found = live.range(..=address).next_back().map(|(&start, &len)| Extent { start, len });
    found.filter(|extent| extent.has(address)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::Kind, tests::held::tells_what_it_holds};

    const ONE: ObjectNumber = ObjectNumber::new(1);

    fn counts(extents: Extents) -> Vec<u64> {
        extents.into_parts()[1].as_ref().expect("a large block").to_vec()
    }

    #[test]
    fn reads_count_where_they_begin() {
        let mut extents = Extents::default();
        extents.start(0x10000, 6400, ONE);
        extents.read(ONE, 0x10000, 8);
        extents.read(ONE, 0x10000 + 99, 8);
        extents.read(ONE, 0x10000 + 100, 4);
        extents.read(ONE, 0x10000 + 6399, 1);
        extents.read(ONE, 0x10000 + 6400, 50);
        let found = counts(extents);
        assert_eq!((found[0], found[1], found[63]), (16, 4, 1));
        assert_eq!(found.iter().sum::<u64>(), 21);
    }

    #[test]
    fn rows_of_reads_count_like_single_ones() {
        for (len, stride, times) in
            [(4096, 8, 512), (5000, 24, 208), (9001, -7, 1200), (70_000, 0, 33), (4097, 4096, 2)]
        {
            let first = if stride < 0 { 0x20000 + len - 8 } else { 0x20000 };
            let stream = Stream { addr: first, stride, len: 8, kind: Kind::Load };
            let (mut row, mut single) = (Extents::default(), Extents::default());
            row.start(0x20000, len, ONE);
            single.start(0x20000, len, ONE);
            row.reads(ONE, &stream, times);
            for time in 0..times as i64 {
                single.read(ONE, first.wrapping_add_signed(stride * time), 8);
            }
            assert_eq!(counts(row), counts(single), "{len} {stride} {times}");
        }
    }

    #[test]
    fn a_block_ends_with_its_memory_and_small_ones_do_not_count() {
        let mut extents = Extents::default();
        extents.start(0x10000, 4096, ONE);
        extents.read(ONE, 0x10000, 1);
        extents.end(0x10800, 16);
        extents.read(ONE, 0x10000, 1);
        extents.start(0x10000, 4095, ONE);
        extents.read(ONE, 0x10000, 1);
        extents.start(0x12000, 8192, ONE);
        extents.read(ONE, 0x12000 + 8191, 2);
        let found = counts(extents);
        assert_eq!((found[0], found[63]), (1, 2));
        assert_eq!(found.iter().sum::<u64>(), 3);
    }

    #[test]
    fn extents_tell_what_they_hold() {
        let blocks = |objects: usize, blocks: u64, step: usize| {
            let make = move || {
                let mut extents = Extents::default();
                for block in 0..blocks {
                    extents.start(block << 20, LEAST, ObjectNumber::new(block as usize % objects * step));
                }
                extents
            };
            tells_what_it_holds(make, Extents::heap_bytes);
        };
        blocks(1000, 1000, 1);
        blocks(1, 100_000, 1);
        blocks(1000, 1000, 100);
    }
}
