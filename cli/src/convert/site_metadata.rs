//! What descriptors know of the sites that used data: fields, and loops around sites and calls.
//!
//! Only of measurements of data objects, and of lines. Loops are in the order of their functions, outer ones before
//! those inside them.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::{abi::NONE, analysis::FunctionKey as RunFunction, sites::LoopCall as RunCall};

use super::{Builder, FunctionKey, Measured, RunLoop, RunSite, Sites, linked_key, text};
use crate::profile::model::{Field, FieldId, FunctionId, LoopCall, LoopId, SiteId, SiteMetadata, SiteNote, SourceLoop};

impl<'a> Measured<'a> {
    /// Sites that used objects; all that were executed if lines were followed.
    fn users(&self) -> BTreeSet<RunSite> {
        let objects = self.run.objects.iter();
        let used = objects.flat_map(|objects| {
            objects.uses.keys().map(|(_, site)| *site).chain(objects.patterns.keys().map(|(_, site)| *site))
        });
        let blocks = self.run.blocks.iter().filter(|_| self.follows_lines());
        let executed = blocks.filter(|block| block.executions > 0).flat_map(|block| {
            let items = &self.table(block.table).segments[block.segment as usize].items;
            (0..items.len() as u32).map(|item| (block.table, block.segment, item))
        });
        used.chain(executed).collect()
    }

    /// Whether there are lines from far to say something of.
    fn follows_lines(&self) -> bool {
        !self.run.pairs.is_empty()
    }

    /// The loop around a site and the one in which its address stays the same; its field.
    fn loops_and_field(&self, site: RunSite) -> (Option<RunLoop>, Option<RunLoop>, Option<u32>) {
        let (table, segment, item) = site;
        let at = self.table(table);
        let is = |index: u32| (index != NONE).then_some(index);
        let (field, same) = at.notes.get(&(segment, item)).map_or((NONE, NONE), |note| (note.field, note.same));
        let loop_of = |index: u32| is(index).map(|index| (table, index));
        (loop_of(at.segments[segment as usize].around), loop_of(same), is(field))
    }

    /// Calls between functions that called each other, by table.
    fn calls(&self) -> Vec<(u32, RunFunction, RunFunction, RunCall)> {
        if self.run.objects.is_none() && !self.follows_lines() {
            return Vec::new();
        }
        let contexts = &self.run.contexts;
        let mut callees: BTreeMap<RunFunction, BTreeMap<&str, RunFunction>> = BTreeMap::new();
        for context in contexts {
            let (Some(callee), Some(caller)) = (context.function, contexts[context.parent.index()].function) else {
                continue;
            };
            let name = linked_key(self.table(callee.0), callee.1).0;
            callees.entry(caller).or_default().insert(name, callee);
        }
        let mut calls = Vec::new();
        for (number, (_, table)) in (0..).zip(&self.run.tables) {
            for (function, call) in &table.calls {
                let caller = (number, *function);
                let callee = text(table, call.callee).and_then(|name| callees.get(&caller)?.get(name));
                calls.extend(callee.map(|callee| (number, caller, *callee, *call)));
            }
        }
        calls
    }

    /// Loops around sites and calls, and those around them.
    pub(super) fn loops(&self) -> BTreeSet<RunLoop> {
        let around_sites = self.users().into_iter().flat_map(|site| {
            let (around, same, _) = self.loops_and_field(site);
            [around, same]
        });
        let calls = self.calls();
        let around_calls =
            calls.iter().map(|(table, _, _, call)| (call.around != NONE).then_some((*table, call.around)));
        let mut found = BTreeSet::new();
        for start in around_sites.chain(around_calls).flatten() {
            let parent = |at: &RunLoop| {
                let parent = self.table(at.0).loops[at.1 as usize].parent;
                (parent != NONE).then_some((at.0, parent))
            };
            found.extend(std::iter::successors(Some(start), parent));
        }
        found
    }

    /// Frames of the loops.
    pub(super) fn loop_frames(&self, loops: &BTreeSet<RunLoop>) -> impl Iterator<Item = (u32, u32)> {
        let frame = |&(table, number): &RunLoop| (table, self.table(table).loops[number as usize].frame);
        loops.iter().map(frame).filter(|(_, frame)| *frame != NONE)
    }

    /// Functions of the loops.
    pub(super) fn loop_functions(&self, loops: &BTreeSet<RunLoop>) -> impl Iterator<Item = FunctionKey<'a>> {
        loops.iter().map(|&(table, number)| {
            let table = self.table(table);
            linked_key(table, table.loops[number as usize].function)
        })
    }

    /// Whether a site's address depends on data that the innermost loop loads.
    fn is_irregular(&self, (table, segment, item): RunSite) -> bool {
        self.table(table).notes.get(&(segment, item)).is_some_and(|note| note.is_irregular == 1)
    }
}

impl<'a> Builder<'a> {
    fn function_of_loop(&self, (table, number): RunLoop) -> FunctionId {
        let table = self.measured.table(table);
        self.function_ids[&linked_key(table, table.loops[number as usize].function)]
    }

    /// Adds what is known of the sites; and those whose addresses depend on data.
    pub(super) fn known_of_sites(&mut self, sites: &Sites) -> (SiteMetadata, Vec<SiteId>) {
        let mut known = SiteMetadata::default();
        let mut order: Vec<(FunctionId, RunLoop)> =
            self.named.loops.iter().map(|at| (self.function_of_loop(*at), *at)).collect();
        order.sort_unstable();
        let ids: BTreeMap<RunLoop, LoopId> = (0..).zip(&order).map(|(number, (_, at))| (*at, LoopId(number))).collect();
        known.loops = order
            .iter()
            .map(|(function, at)| {
                let found = self.measured.table(at.0).loops[at.1 as usize];
                let parent = (found.parent != NONE).then(|| ids[&(at.0, found.parent)]);
                SourceLoop { function: *function, position: self.position(at.0, found.frame), parent }
            })
            .collect();
        let id = |(table, function): RunFunction| self.function_ids[&linked_key(self.measured.table(table), function)];
        let calls: BTreeSet<LoopCall> = self
            .measured
            .calls()
            .into_iter()
            .map(|(table, caller, callee, call)| LoopCall {
                caller: id(caller),
                callee: id(callee),
                around: ids.get(&(table, call.around)).copied(),
            })
            .collect();
        known.calls = calls.into_iter().collect();
        let users: BTreeSet<RunSite> =
            self.measured.users().into_iter().filter(|site| sites.ids.contains_key(site)).collect();
        let mut fields: BTreeMap<(&'a str, &'a str, u32, u32, u32), FieldId> = BTreeMap::new();
        let key = |table: u32, field: u32| {
            let table = self.measured.table(table);
            let field = table.fields[field as usize];
            let name = |index| text(table, index).unwrap_or_default();
            (name(field.type_name), name(field.name), field.offset, field.size, field.type_size)
        };
        for site in &users {
            let field = self.measured.loops_and_field(*site).2;
            fields.extend(field.map(|field| (key(site.0, field), FieldId(0))));
        }
        (0..).zip(fields.values_mut()).for_each(|(number, id)| *id = FieldId(number));
        let note = |site: RunSite| {
            let (around, same, field) = self.measured.loops_and_field(site);
            SiteNote {
                site: sites.ids[&site],
                field: field.map(|field| fields[&key(site.0, field)]),
                around: around.map(|at| ids[&at]),
                same: same.map(|at| ids[&at]),
            }
        };
        known.notes = users.iter().map(|site| note(*site)).collect();
        known.notes.retain(|note| note.field.is_some() || note.around.is_some());
        known.notes.sort_by_key(|note| note.site);
        let strings = &mut self.strings;
        known.fields = fields
            .keys()
            .map(|&(type_name, name, offset, size, type_size)| Field {
                type_name: strings.id(type_name),
                type_size,
                name: strings.id(name),
                offset,
                size,
            })
            .collect();
        let irregular = users.iter().filter(|site| self.measured.is_irregular(**site)).map(|site| sites.ids[site]);
        let irregular: BTreeSet<SiteId> = irregular.collect();
        (known, irregular.into_iter().collect())
    }
}
