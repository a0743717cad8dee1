//! The stack of all slices that were settled, and what slices found on it.
//!
//! Takes frontiers of slices in the order of the run; gives, by part and cell, what was found below them.

use super::super::{fast_paths::DepthHash, pipeline::batch::file_flows, ranked::Ranked};
use crate::{
    counts::{cell::CellCounters, depths::DepthCounts, many::Many},
    decode::block::CellNumber,
    engine::{Frontier, Reports},
    observe::{
        files::Files,
        flows::{AskedFlows, FlowCounters},
    },
};

pub struct Whole {
    pub ranked: Ranked,
    /// By number of the part.
    pub found: Vec<Below>,
    /// Depths of first touches.
    pub cold: DepthCounts,
    has_hash: bool,
    reports: Reports,
    many: Many<CellNumber>,
}

/// What one part's slices found below them, by cell of the part.
#[derive(Default)]
pub struct Below {
    pub cells: Vec<CellCounters>,
    /// By flow of the part, if these are followed.
    pub flows: FlowCounters,
    pub hash: Option<DepthHash>,
}

impl Whole {
    pub fn new(ranked: Ranked, has_hash: bool) -> Self {
        let (reports, many) = (Reports::default(), Many::default());
        Self { ranked, found: Vec::new(), cold: DepthCounts::default(), has_hash, reports, many }
    }

    /// Goes on behind a slice of a part that has so many cells by now.
    pub fn settle(&mut self, frontier: &Frontier, part: usize, cells: usize) {
        self.settle_flows(frontier, None, part, cells);
    }

    /// The same of a slice whose asks are of these flows, if they are followed.
    pub fn settle_flows(&mut self, frontier: &Frontier, mut flows: Option<AskedFlows>, part: usize, cells: usize) {
        if self.found.len() <= part {
            self.found.resize_with(part + 1, Below::default);
        }
        let below = &mut self.found[part];
        below.cells.resize_with(cells, CellCounters::default);
        if let Some(asked) = &flows {
            below.flows.grow(asked.flows);
        }
        if self.has_hash {
            below.hash.get_or_insert_default();
        }
        let (cold, many) = (&mut self.cold, &mut self.many);
        self.ranked.engine_mut().settle(frontier, &mut self.reports, |reports| {
            let mut files = Files { cells: &mut below.cells, cold };
            if let Some(asked) = &mut flows {
                file_flows(reports, asked, &mut below.flows, below.hash.as_mut(), many, &mut files);
            } else {
                if let Some(hash) = &mut below.hash {
                    reports.each(|label, found| hash.found(label, found));
                }
                files.file(reports, many);
            }
            reports.clear();
        });
    }
}
