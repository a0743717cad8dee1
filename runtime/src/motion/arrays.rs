//! Which array an address belongs to: an array is a data object.
//!
//! Takes the lives of memory, gives numbers of [`Objects`]; says which bytes are new ones. A block of the heap or a
//! mapping is new whenever it starts. A variable on the stack is the same in its next life if it lies where it lay and
//! nothing else lay there meanwhile: a buffer that a loop's body declares is one buffer, not one per iteration.

use std::collections::BTreeMap;

use super::elements::ArrayByte;
use crate::{
    decode::locator::Module,
    objects::{AddressMap, ObjectNumber, Objects, Origin, announced},
    sites::Segment,
};

/// Sizes of elements are counted up to `1 << (SIZES - 1)` bytes.
pub const SIZES: usize = 8;

/// Which array an address belongs to, and the arrays' elements.
#[derive(Default)]
pub struct Arrays {
    /// What lies where.
    pub objects: Objects,
    /// Which variable of the stack lay somewhere last.
    slots: AddressMap,
    /// By array: bytes accessed in elements of `1 << n` bytes.
    sizes: Vec<[u64; SIZES]>,
    /// Starts of blocks and variables, with their numbers within their array, if places are asked for.
    starts: Option<BTreeMap<u64, u32>>,
    /// By array: blocks that have started.
    blocks: Vec<u32>,
}

impl Arrays {
    /// With places, if each byte's place in its array is going to be asked for.
    #[must_use]
    pub fn new(with_places: bool) -> Self {
        Self { starts: with_places.then(BTreeMap::new), ..Self::default() }
    }

    /// The array that an address belongs to.
    #[inline]
    pub fn array_at(&mut self, address: u64) -> ObjectNumber {
        self.objects.layout.object_at(address)
    }

    /// An access in elements of this size.
    #[inline]
    pub fn count(&mut self, array: ObjectNumber, element: u64, bytes: u64) {
        let at = array.index();
        if at >= self.sizes.len() {
            self.sizes.resize(at + 1, [0; SIZES]);
        }
        self.sizes[at][(element.trailing_zeros() as usize).min(SIZES - 1)] += bytes;
    }

    /// Bytes of the elements in which most of an array's bytes are accessed; 1 if there was no such access.
    #[must_use]
    pub fn element(&self, array: ObjectNumber) -> u64 {
        let Some(sizes) = self.sizes.get(array.index()) else { return 1 };
        // The smaller of two that are alike.
        let most = (0..SIZES).rev().max_by_key(|n| sizes[*n]).unwrap_or(0);
        if sizes[most] == 0 { 1 } else { 1 << most }
    }

    /// The data of a module is where its descriptors say.
    pub fn add_module(&mut self, module: &Module) {
        self.objects.add_module(module);
        if self.starts.is_some() {
            let table = &module.placed.table;
            let bias = module.placed.low.wrapping_sub(table.section_address);
            for datum in &table.data {
                self.start(bias.wrapping_add(datum.address));
            }
        }
    }

    /// A block starts its life.
    pub fn allocated(&mut self, address: u64, len: u64, origin: Origin) {
        self.objects.allocated(address, len, origin);
        self.start(address);
    }

    /// The block that has just started is a mapping of a file.
    pub fn mapped(&mut self, address: u64, len: u64, file: &str, origin: Origin) {
        self.objects.mapped(address, len, file, origin);
        self.start(address);
    }

    /// A block ends its life.
    pub fn ended(&mut self, address: u64, len: u64) {
        self.objects.ended(address, len);
        if let Some(starts) = &mut self.starts {
            starts.remove(&address);
        }
    }

    /// A block is elsewhere from now on.
    pub fn relocated(&mut self, from: u64, from_len: u64, to: u64, to_len: u64, origin: Origin) {
        self.objects.relocated(from, from_len, to, to_len, origin);
        if let Some(starts) = &mut self.starts
            && let Some(number) = starts.remove(&from)
        {
            starts.insert(to, number);
        }
    }

    /// Variables of the stack start their lives; `is_new` is told those whose bytes are new.
    pub fn slots_start(
        &mut self,
        module: &Module,
        segment: &Segment,
        record: &[u64],
        mut is_new: impl FnMut(u64, u64),
    ) {
        for (slot, address, len) in announced(module, segment, record) {
            self.objects.slot_starts(module.placed.id, slot, address, len);
        }
        for (_, address, len) in announced(module, segment, record) {
            let number = self.objects.layout.object_at(address);
            if self.slots.number_of(address, len) != Some(number) {
                self.slots.fill(address, len, number);
                is_new(address, len);
            }
            if self.starts.as_ref().is_some_and(|starts| !starts.contains_key(&address)) {
                self.start(address);
            }
        }
    }

    fn start(&mut self, address: u64) {
        let Some(starts) = &mut self.starts else { return };
        let array = self.objects.layout.object_at(address).index();
        if array >= self.blocks.len() {
            self.blocks.resize(array + 1, 0);
        }
        starts.insert(address, self.blocks[array]);
        self.blocks[array] += 1;
    }

    /// Where in its array a byte is; only with places.
    #[must_use]
    pub fn byte_in_array(&self, address: u64) -> ArrayByte {
        let start = self.starts.as_ref().and_then(|starts| starts.range(..=address).next_back());
        start.map_or((0, address), |(start, number)| (*number, address - start))
    }
}
