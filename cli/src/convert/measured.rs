//! What a measurement names, as its tables know it: the sites, frames and functions that a profile needs.
//!
//! Takes a measurement; gives keys of its tables, which the profile's order and numbers are made of later. Refuses
//! nothing: what does not exist in a table is left out.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dmdprof_runtime::{
    abi::FLOAT_TYPES,
    analysis::{Measurement, SiteKey as RunSite},
    sites::SiteTable,
};

use super::read::{item_of, text};
use crate::shared::names::is_library_file;

/// Identity of a source function: symbol, file, line.
pub(super) type FunctionKey<'a> = (&'a str, Option<&'a str>, u32);
/// Identity of a position: the chain from the innermost to the linked function, as (function, file, line, column).
pub(super) type Chain<'a> = Vec<(FunctionKey<'a>, Option<&'a str>, u32, u32)>;

/// A loop by table and number in the table.
pub(super) type RunLoop = (u32, u32);

/// What a profile names beside what was counted.
pub(super) struct Named {
    /// Some did nothing that was counted: with a region of interest, or because they allocate.
    pub sites: BTreeSet<RunSite>,
    pub loops: BTreeSet<RunLoop>,
}

/// A run, and what its tables say of what it names: sites, frames, functions and loops.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    pub run: &'a Measurement,
}

impl<'a> Measured<'a> {
    pub(super) fn table(&self, id: u32) -> &'a SiteTable {
        &self.run.tables[id as usize].1
    }

    /// Sites that flows, lines from far and objects name, and the loops around sites and calls.
    pub(super) fn named(&self) -> Named {
        Named { sites: self.named_sites(), loops: self.loops() }
    }

    fn named_sites(&self) -> BTreeSet<RunSite> {
        let keys = self.run.flows.iter().flat_map(BTreeMap::keys);
        let of_flows = keys.flat_map(|key| [key.writer, key.toucher, Some(key.reader)]).flatten();
        let flows = self.run.flows.iter().flat_map(BTreeMap::values);
        // Of many flows the same sites.
        let between: HashSet<RunSite> =
            flows.flat_map(|flow| flow.between.largest.iter().map(|(site, _)| *site)).collect();
        let pairs = self.run.pairs.keys().flat_map(|(before, site)| before.iter().chain([site]).copied());
        of_flows.chain(between).chain(self.object_sites()).chain(pairs).collect()
    }

    /// The functions of sites that are named, by table.
    fn named_functions(&self, sites: &BTreeSet<RunSite>) -> impl Iterator<Item = FunctionKey<'a>> {
        sites.iter().map(|&(table, segment, _)| {
            let table = self.table(table);
            linked_key(table, table.segments[segment as usize].function)
        })
    }

    /// Frames that executed segments name, and sites that are named.
    pub(super) fn used_frames(&self, named: &Named) -> BTreeSet<(u32, u32)> {
        let mut used = BTreeSet::new();
        for &(id, segment, item) in &named.sites {
            let table = self.table(id);
            let frame = item_of(table, segment, item).frame;
            used.extend(((frame as usize) < table.frames.len()).then_some((id, frame)));
        }
        used.extend(self.loop_frames(&named.loops));
        used.extend(self.code_frames());
        for block in &self.run.blocks {
            let table = self.table(block.table);
            let segment = &table.segments[block.segment as usize];
            let items = table.items[segment.items.start as usize..segment.items.end as usize].iter().map(|i| i.frame);
            let ops = table.ops[segment.ops.start as usize..segment.ops.end as usize].iter().map(|o| o.frame);
            used.extend(items.chain(ops).filter(|f| (*f as usize) < table.frames.len()).map(|f| (block.table, f)));
        }
        used
    }

    /// Functions of contexts, segments, loops and code, and of all that the frames in use are inlined into.
    pub(super) fn used_functions(
        &self,
        named: &Named,
        used_frames: &BTreeSet<(u32, u32)>,
    ) -> BTreeSet<FunctionKey<'a>> {
        let mut used = BTreeSet::new();
        for (table, function) in self.run.contexts.iter().filter_map(|c| c.function) {
            used.insert(linked_key(self.table(table), function));
        }
        for block in &self.run.blocks {
            let table = self.table(block.table);
            used.insert(linked_key(table, table.segments[block.segment as usize].function));
        }
        used.extend(self.named_functions(&named.sites));
        used.extend(self.loop_functions(&named.loops));
        used.extend(self.code_functions());
        for &(table, frame) in used_frames {
            used.extend(chain(self.table(table), frame).into_iter().map(|(function, ..)| function));
        }
        used
    }

    /// Bytes from the start of the function to an access of an emulated program; 0 of others.
    pub(super) fn offset(&self, (id, segment, item): RunSite) -> u64 {
        let table = self.table(id);
        let segment = &table.segments[segment as usize];
        let start = table.parted.get(segment.function as usize).map_or(0, |(_, start)| *start);
        let address = table.addresses.get((segment.items.start + item) as usize);
        address.map_or(0, |address| address.wrapping_sub(start))
    }

    pub(super) fn flops_by_type(&self) -> [u128; FLOAT_TYPES] {
        let mut flops = [0; FLOAT_TYPES];
        for block in &self.run.blocks {
            let table = self.table(block.table);
            let ops = table.segments[block.segment as usize].ops.clone();
            for count in &table.ops[ops.start as usize..ops.end as usize] {
                for (sum, n) in flops.iter_mut().zip(count.flops) {
                    *sum += u128::from(block.executions) * u128::from(n);
                }
            }
        }
        flops
    }
}

pub(super) fn linked_key(table: &SiteTable, function: u32) -> FunctionKey<'_> {
    let function = &table.functions[function as usize];
    (text(table, function.name).unwrap_or("?"), text(table, function.file), function.line)
}

pub(super) fn chain(table: &SiteTable, frame: u32) -> Chain<'_> {
    let mut chain = Vec::new();
    let mut next = table.frames.get(frame as usize);
    while let Some(frame) = next {
        let function = (text(table, frame.function).unwrap_or("?"), text(table, frame.decl_file), frame.decl_line);
        chain.push((function, text(table, frame.file), frame.line, frame.column));
        next = table.frames.get(frame.parent as usize);
    }
    chain
}

/// The line that code of a frame counts for: that of the innermost frame that is no library's.
#[must_use]
pub fn place(table: &SiteTable, frame: u32) -> Option<String> {
    let chain = chain(table, frame);
    let is_own = |file: Option<&str>| !file.is_some_and(is_library_file);
    let (_, file, line, _) = chain.iter().find(|(_, file, ..)| is_own(*file)).or(chain.last())?;
    (*line > 0).then_some(())?;
    Some(format!("{}:{line}", (*file)?))
}
