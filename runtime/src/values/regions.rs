//! Declared regions, inputs and outputs of the values model: when they begin and end, and what a region cost.

use std::sync::Arc;

use super::{
    core::{Block, Core, OpenRegion},
    listing::{Lister, PlaceOf},
    options::InputPlaces,
    price::{self, Priced, Values},
    region::RegionTotals,
    tables::Tables,
};
use crate::{
    decode::{block::BlockCounters, locator::SegmentNumber},
    sites::SiteTable,
};

/// Name of the region that a program without markers is.
pub const WHOLE_RUN: &str = "whole run";
/// Of outputs that nothing reads.
const NO_CELL: u32 = u32::MAX;

impl Core {
    /// The first record: a program without markers is one region.
    pub(super) fn start(&mut self, tables: &Tables) {
        self.totals.active = true;
        if !tables.declares_regions {
            self.begin(WHOLE_RUN.to_owned(), tables);
        }
    }

    pub(super) fn input(&mut self, address: u64, len: u64) {
        if self.open.is_none() {
            self.declarations.push((address, len));
        } else {
            self.declare(address, len);
        }
    }

    pub(super) fn declare(&mut self, address: u64, len: u64) {
        if !self.memory.declare(address, len) {
            self.problems.add(format!(
                "dmdprof_input({address:#x}, {len}) overlaps an input declared before; declare each byte once"
            ));
        }
    }

    pub(super) fn begin(&mut self, name: String, tables: &Tables) {
        self.totals.roi_seen = true;
        if let Some(open) = &mut self.open {
            open.inner.push(name);
            return;
        }
        self.memory.start_region(!tables.declares_inputs);
        self.memory.read_only.clone_from(&tables.read_only);
        self.open = Some(OpenRegion { name, inner: Vec::new() });
        for (address, len) in std::mem::take(&mut self.declarations) {
            self.declare(address, len);
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        let Some(open) = &mut self.open else {
            return self.problems.add(format!("region {name} ended but had not begun"));
        };
        if open.inner.last().is_some_and(|inner| inner == name) {
            open.inner.pop();
        } else if open.name == name {
            let crossed = open.inner.last().cloned();
            self.close(0);
            if let Some(inner) = crossed {
                self.problems.add(format!("region {name} ended while {inner} was open; regions must nest"));
            }
        } else {
            let open = open.name.clone();
            self.problems.add(format!("region {name} ended while {open} was open; regions must nest"));
        }
    }

    /// The values of a range are outputs. With inputs at places of their own they are read here when the region ends.
    pub(super) fn output(&mut self, address: u64, len: u64, place: Option<Block>, tables: &Tables) {
        let are_read = self.options.inputs == InputPlaces::Fixed;
        let cell = match place {
            Some(place) if are_read => {
                self.resume(place, tables);
                self.cell(place, 0)
            }
            None if are_read => {
                return self
                    .problems
                    .add("dmdprof_output was called by code without hooks: its reads have no place".into());
            }
            _ => NO_CELL,
        };
        for value in self.memory.values(address, len, &mut self.recorder) {
            if self.recorder.output(value, cell) && are_read {
                self.cells[cell as usize].executions += 1;
            }
        }
    }

    /// Prices the open region.
    pub(super) fn close(&mut self, unfinished: u64) {
        let Some(region) = self.open.take() else { return };
        let mut totals = RegionTotals {
            name: region.name,
            times: 1,
            escapes: self.recorder.escapes,
            instructions: self.recorder.instructions,
            ops: self.recorder.ops,
            span_outputs: u64::from(self.recorder.deepest_output),
            first_use_inputs: self.memory.first_use,
            unfinished,
            early_reads: std::mem::take(&mut self.early_reads),
            ..RegionTotals::default()
        };
        match self.price(&mut totals) {
            Ok(priced) => {
                totals.peak_live = priced.peak_live;
                totals.input_bytes = priced.input_bytes;
                for (_, bytes) in self.memory.declared_without(&priced.used_declarations) {
                    totals.unread_inputs += 1;
                    totals.unread_bytes += bytes;
                }
            }
            Err(error) => self.problems.note(format!("cannot read the log of region {}: {error}", totals.name)),
        }
        if let Some(failed) = self.recorder.failed.take() {
            self.problems.note(format!("region {}: {failed}", totals.name));
        }
        self.totals.accesses += totals.instructions + totals.escapes;
        self.totals.peak_live = self.totals.peak_live.max(totals.peak_live);
        self.totals.footprint += totals.input_bytes;
        match self.regions.get_mut(&totals.name) {
            Some(known) => known.merge(&totals),
            None => {
                self.regions.insert(totals.name.clone(), totals);
            }
        }
        self.recorder.clear();
        self.memory.end_region();
        self.registers.fill(0);
        self.handover.drop_pending();
    }

    pub(super) fn price(&mut self, totals: &mut RegionTotals) -> std::io::Result<Priced> {
        let recorder = &mut self.recorder;
        let next = recorder.next();
        let mut chain: Vec<u32> = Vec::new();
        let input_places = (self.options.inputs == InputPlaces::Fixed)
            .then(|| self.memory.places(&recorder.inputs, self.options.element));
        let mut values = Values {
            next,
            depths: &recorder.depths,
            places: input_places,
            inputs: &mut recorder.inputs,
            outputs: &recorder.outputs,
            one_size: self.options.element,
            deepest: recorder.deepest,
        };
        self.filing.start(self.cells.len(), self.options.element);
        let priced = match self.options.listing.clone() {
            None => price::price(&mut recorder.log, &mut values, &mut self.filing, |cell| chain.push(cell)),
            Some(listing) => {
                let places = listing
                    .place
                    .as_deref()
                    .map_or_else(Vec::new, |place| places(&self.blocks, &self.listed, self.cells.len(), place));
                let mut lister = Lister::start(&listing, &totals.name, places, &mut self.filing);
                let priced = price::price(&mut recorder.log, &mut values, &mut lister, |cell| chain.push(cell));
                lister.finish();
                priced
            }
        };
        self.filing.finish(&mut self.cells, totals);
        totals.span = chain.len() as u64;
        chain.into_iter().for_each(|cell| self.cells[cell as usize].span += 1);
        priced
    }

    pub(super) fn finish(&mut self) {
        let is_whole = self.open.as_ref().is_some_and(|r| r.name == WHOLE_RUN);
        self.close(u64::from(!is_whole));
    }
}

/// Where each cell's code is: ` at FILE:LINE`, or nothing.
fn places(
    blocks: &[BlockCounters],
    modules: &[(SegmentNumber, Arc<SiteTable>)],
    cells: usize,
    place: &PlaceOf,
) -> Vec<String> {
    let mut places = vec![String::new(); cells];
    for block in blocks {
        let Some((first, table)) = modules.iter().rfind(|(first, _)| *first <= block.segment) else { continue };
        let items = table.segments[block.segment.index() - first.index()].items.clone();
        let items = &table.items[items.start as usize..items.end as usize];
        for (item, text) in items.iter().zip(&mut places[block.first_cell.index()..]) {
            if let Some(known) = place(table, item.frame) {
                *text = format!(" at {known}");
            }
        }
    }
    places
}
