//! Finds the descriptor that a record's first word names, in the modules of one ring's process.

use super::analyzer::{ModuleSource, Placed};
use crate::abi::Item;

/// A module as one ring numbers it.
pub struct Module {
    pub placed: Placed,
    /// Added to the table's segment and function numbers to make them unique in the ring.
    pub first_segment: u32,
    pub first_function: u32,
}

#[derive(Default)]
pub struct Locator {
    pub modules: Vec<Module>,
    last: usize,
    segments: u32,
    functions: u32,
}

impl Locator {
    /// Module and segment of a descriptor address. `added` is called with each module that the source newly tells.
    #[inline]
    pub fn locate(
        &mut self,
        address: u64,
        source: &mut impl ModuleSource,
        added: impl FnMut(&Module),
    ) -> Option<(usize, u32)> {
        if let Some(found) = self.find(self.last, address) {
            return Some((self.last, found));
        }
        self.locate_elsewhere(address, source, added)
    }

    /// The module in which the last descriptor was.
    #[must_use]
    pub fn last(&self) -> Option<&Module> {
        self.modules.get(self.last)
    }

    /// The items of a segment by its number in the ring; none if no module has it.
    #[must_use]
    pub fn items(&self, segment: u32) -> &[Item] {
        let Some(module) = self.modules.iter().rfind(|module| module.first_segment <= segment) else { return &[] };
        let table = &module.placed.table;
        let items = &table.segments[(segment - module.first_segment) as usize].items;
        &table.items[items.start as usize..items.end as usize]
    }

    #[inline]
    fn find(&self, module: usize, address: u64) -> Option<u32> {
        let module = self.modules.get(module)?;
        let offset = address.wrapping_sub(module.placed.low);
        if offset >= module.placed.table.section_len {
            return None;
        }
        module.placed.table.segment_at(offset)
    }

    #[cold]
    fn locate_elsewhere(
        &mut self,
        address: u64,
        source: &mut impl ModuleSource,
        mut added: impl FnMut(&Module),
    ) -> Option<(usize, u32)> {
        for pass in 0..2 {
            if let Some(found) = (0..self.modules.len()).rev().find_map(|m| Some((m, self.find(m, address)?))) {
                self.last = found.0;
                return Some(found);
            }
            if pass == 0 {
                for placed in source.modules() {
                    if self.add(placed) {
                        self.modules.last().into_iter().for_each(&mut added);
                    }
                }
            }
        }
        None
    }

    fn add(&mut self, placed: Placed) -> bool {
        if self.modules.iter().any(|m| m.placed.id == placed.id && m.placed.low == placed.low) {
            return false;
        }
        let (first_segment, first_function) = (self.segments, self.functions);
        self.segments += placed.table.segments.len() as u32;
        self.functions += placed.table.functions.len() as u32;
        self.modules.push(Module { placed, first_segment, first_function });
        true
    }
}
