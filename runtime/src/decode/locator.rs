//! Finds the descriptor that a record's first word names, in the modules of one ring's process.
//!
//! Takes the words of a record and a [`ModuleSource`] to ask about descriptors that are not known yet. Refuses
//! addresses that no module has, and records that are cut off or say what no loop can do.

use std::{collections::HashMap, sync::Arc};

use super::records::is_endless;
use crate::{
    abi::{Item, emulated},
    hash::FastHash,
    numbers::number,
    sites::{Segment, SiteTable},
};

number! {
    /// Number of a segment in one ring, over all its modules.
    SegmentNumber
}

number! {
    /// Number of a function in one ring, over all its modules.
    FunctionNumber
}

/// A table at its place in one process.
#[derive(Clone)]
pub struct Placed {
    /// Run-time address of the descriptors.
    pub low: u64,
    /// The descriptors.
    pub table: Arc<SiteTable>,
    /// Number of the table in the analysis.
    pub id: u32,
}

/// Gives modules to an analysis that meets an unknown descriptor.
pub trait ModuleSource {
    /// Modules of this ring's process, as far as known by now, for the descriptor at an address.
    fn modules(&mut self, address: u64) -> Vec<Placed>;

    /// The ring's process, then those that it was forked from.
    fn processes(&self) -> &[u32] {
        &[]
    }
}

/// A module as one ring numbers it.
pub struct Module {
    /// Its descriptors, and where they lie.
    pub placed: Placed,
    /// The ring's number of its first segment.
    pub first_segment: SegmentNumber,
    /// The ring's number of its first function.
    pub first_function: FunctionNumber,
    /// Of a module whose functions other modules have parts of: their numbers.
    pub functions: Vec<FunctionNumber>,
}

impl Module {
    /// A segment by its number in the table.
    #[inline]
    #[must_use]
    pub fn segment(&self, number: u32) -> &Segment {
        &self.placed.table.segments[number as usize]
    }

    /// The ring's number of a segment of the table.
    #[inline(always)]
    #[must_use]
    pub fn segment_number(&self, number: u32) -> SegmentNumber {
        self.first_segment.after(number as usize)
    }

    /// The ring's number of a function of the table.
    #[inline(always)]
    #[must_use]
    pub fn function_number(&self, number: u32) -> FunctionNumber {
        match self.functions.get(number as usize) {
            Some(known) => *known,
            None => self.first_function.after(number as usize),
        }
    }

    /// Its items.
    #[inline]
    #[must_use]
    pub fn items(&self, segment: &Segment) -> &[Item] {
        &self.placed.table.items[segment.items.start as usize..segment.items.end as usize]
    }
}

/// The segment that a record is of.
#[derive(Clone, Copy, Debug)]
pub struct Located {
    /// Number of the module in the ring.
    pub module: usize,
    /// Number of the segment in the module's table.
    pub segment: u32,
    /// Words of the record.
    pub words: usize,
}

/// Where an event was called, as the ring numbers it.
#[derive(Clone, Copy, Debug)]
pub struct CallSite {
    /// Number of the segment.
    pub segment: SegmentNumber,
    /// Number of the function.
    pub function: FunctionNumber,
}

/// Table, and number in it, of a segment by its number in the ring, or of the one that stands for it; nothing if no
/// module has it.
#[must_use]
pub(crate) fn segment_key(modules: &[Module], dense: SegmentNumber) -> Option<(u32, u32)> {
    let module = modules.iter().rfind(|module| module.first_segment <= dense)?;
    let number = dense.index() - module.first_segment.index();
    let Placed { table, id, .. } = &module.placed;
    Some(table.same.as_ref().map_or((*id, number as u32), |same| same.segments[number]))
}

/// Module of a function by its number in the ring, and its number there; nothing if no module has it.
#[must_use]
pub(crate) fn function_of(modules: &[Module], dense: FunctionNumber) -> Option<(&Module, usize)> {
    let module = modules.iter().rfind(|module| module.first_function <= dense)?;
    Some((module, dense.index() - module.first_function.index()))
}

/// Table, and number in it, of a function by its number in the ring, or of the one that stands for it; nothing if no
/// module has it.
#[must_use]
pub(crate) fn function_key(modules: &[Module], dense: FunctionNumber) -> Option<(u32, u32)> {
    let (Module { placed: Placed { table, id, .. }, .. }, number) = function_of(modules, dense)?;
    Some(table.same.as_ref().map_or((*id, number as u32), |same| same.functions[number]))
}

/// Finds the segment of a record by the address of its descriptor.
#[derive(Default)]
pub struct Locator {
    /// The modules of the ring, in the order of their numbers.
    pub modules: Vec<Module>,
    last: usize,
    segments: SegmentNumber,
    functions: FunctionNumber,
    /// Modules of programs that are emulated, of which there are many: by area, the number of the module plus one at
    /// each of its words.
    emulated: HashMap<u32, Vec<u32>, FastHash>,
    /// Their functions, of which several modules have parts.
    parted: HashMap<(u64, u64), FunctionNumber, FastHash>,
}

impl Locator {
    /// Module and segment of a descriptor address. `added` is called with each module that the source newly tells.
    #[inline]
    fn locate(
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

    /// The call site whose descriptor is at an address; `Some(None)` for 0, which stands for none.
    pub fn call_site(
        &mut self,
        address: u64,
        source: &mut impl ModuleSource,
        added: impl FnMut(&Module),
    ) -> Option<Option<CallSite>> {
        if address == 0 {
            return Some(None);
        }
        let (module, segment) = self.locate(address, source, added)?;
        let module = &self.modules[module];
        let function = module.function_number(module.segment(segment).function);
        Some(Some(CallSite { segment: module.segment_number(segment), function }))
    }

    /// The segment of the record that `rest` begins with.
    #[inline]
    pub fn record(
        &mut self,
        rest: &[u64],
        source: &mut impl ModuleSource,
        added: impl FnMut(&Module),
    ) -> Option<Located> {
        let (module, segment) = self.locate(rest[0], source, added)?;
        let found = self.modules[module].segment(segment);
        let words = usize::from(found.words);
        let is_whole = words > 0 && words <= rest.len();
        let is_good = is_whole && !is_endless(found.kind, self.modules[module].items(found), rest);
        is_good.then_some(Located { module, segment, words })
    }

    /// Knows all modules that the source tells.
    pub fn know_all(&mut self, source: &mut impl ModuleSource, mut added: impl FnMut(&Module)) {
        for placed in source.modules(0) {
            if self.add(placed) {
                self.modules.last().into_iter().for_each(&mut added);
            }
        }
    }

    /// Module, and segment in it, of a counter of an object.
    #[must_use]
    pub fn counted(&self, unit: u64, counter: u64) -> Option<(usize, u32)> {
        let of_module =
            |(number, module): (usize, &Module)| Some((number, module.placed.table.counted(unit, counter)?));
        self.modules.iter().enumerate().rev().find_map(of_module)
    }

    /// Number of the module in which the last descriptor was.
    #[must_use]
    pub fn last_module(&self) -> usize {
        self.last
    }

    /// Knows the first modules of another locator, and goes on where that was.
    pub fn go_on(&mut self, modules: &[Placed], place: usize, mut added: impl FnMut(&Module)) {
        for placed in &modules[self.modules.len().min(modules.len())..] {
            if self.add(placed.clone()) {
                self.modules.last().into_iter().for_each(&mut added);
            }
        }
        self.last = place;
    }

    /// The module in which the last descriptor was.
    #[must_use]
    pub fn last(&self) -> Option<&Module> {
        self.modules.get(self.last)
    }

    /// The items of a segment by its number in the ring; none if no module has it.
    #[must_use]
    pub fn items(&self, segment: SegmentNumber) -> &[Item] {
        let Some(module) = self.modules.iter().rfind(|module| module.first_segment <= segment) else { return &[] };
        module.items(&module.placed.table.segments[segment.index() - module.first_segment.index()])
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

    fn locate_elsewhere(
        &mut self,
        address: u64,
        source: &mut impl ModuleSource,
        mut added: impl FnMut(&Module),
    ) -> Option<(usize, u32)> {
        for pass in 0..2 {
            if let Some(found) = self.look_up(address) {
                self.last = found.0;
                return Some(found);
            }
            if pass == 0 {
                for placed in source.modules(address) {
                    if self.add(placed) {
                        self.modules.last().into_iter().for_each(&mut added);
                    }
                }
            }
        }
        None
    }

    /// Module and segment of a descriptor address, of what is known.
    fn look_up(&self, address: u64) -> Option<(usize, u32)> {
        if let Some((ring, offset)) = emulated::area_of(address) {
            let module = *self.emulated.get(&ring)?.get(offset as usize / 8)?;
            let module = module.checked_sub(1)? as usize;
            return Some((module, self.find(module, address)?));
        }
        (0..self.modules.len()).rev().find_map(|m| Some((m, self.find(m, address)?)))
    }

    /// Goes to the module of a descriptor of an emulated program, if it is known and another one than the last; false
    /// if it is not.
    #[inline]
    pub fn go_to(&mut self, address: u64) -> bool {
        let found = emulated::area_of(address).and_then(|_| self.look_up(address)).filter(|found| found.0 != self.last);
        self.last = found.map_or(self.last, |found| found.0);
        found.is_some()
    }

    /// Takes note of where an emulated program's module is, which begins at a word of an area; false if it is known.
    fn take_place(&mut self, ring: u32, first: usize, table: &SiteTable) -> bool {
        let number = self.modules.len() as u32 + 1;
        let area = self.emulated.entry(ring).or_default();
        let end = first + (table.section_len as usize).div_ceil(8);
        if area.get(first).is_some_and(|known| *known > 0) {
            return false;
        }
        area.resize(area.len().max(end), 0);
        area[first..end].fill(number);
        true
    }

    fn add(&mut self, placed: Placed) -> bool {
        let is_known = match emulated::area_of(placed.low) {
            Some((ring, offset)) => !self.take_place(ring, offset as usize / 8, &placed.table),
            None => self.modules.iter().any(|m| m.placed.id == placed.id && m.placed.low == placed.low),
        };
        if is_known {
            return false;
        }
        let (first_segment, first_function) = (self.segments, self.functions);
        let number = |(number, identity): (usize, &(u64, u64))| {
            *self.parted.entry(*identity).or_insert_with(|| first_function.after(number))
        };
        let functions = placed.table.parted.iter().enumerate().map(number).collect();
        self.segments = self.segments.after(placed.table.segments.len());
        self.functions = self.functions.after(placed.table.functions.len());
        self.modules.push(Module { placed, first_segment, first_function, functions });
        true
    }
}
