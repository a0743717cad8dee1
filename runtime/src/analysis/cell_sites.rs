//! The sites of a ring's cells; pairs of cells, and recorded windows, by them.
//!
//! Takes blocks of counters; gives the segment and item of each cell that is of no object. Refuses nothing.

use crate::{
    counts::pairs::{CellPairs, SitePairs},
    decode::{
        block::{BlockCounters, CellNumber},
        context::ContextNumber,
        locator::SegmentNumber,
        ring::{DecodedRing, RingSite},
    },
    observe::{
        objects::{PartOf, RingObjects},
        window::{Recorder, Window},
        writer::UNKNOWN,
    },
};

pub(super) struct CellSites {
    /// In the order of their cells; of blocks without items, the next one has the same first cell.
    firsts: Vec<(CellNumber, SegmentNumber)>,
}

impl CellSites {
    pub fn from_blocks(blocks: &[BlockCounters]) -> Self {
        Self { firsts: blocks.iter().map(|block| (block.first_cell, block.segment)).collect() }
    }

    pub fn of_cell(&self, cell: CellNumber) -> RingSite {
        let (first, segment) = self.firsts[self.firsts.partition_point(|(first, _)| *first <= cell).max(1) - 1];
        (segment, (cell.index() - first.index()) as u32)
    }

    /// Pairs of cells by their sites.
    pub fn pairs(&self, pairs: CellPairs, ring: &DecodedRing) -> SitePairs {
        let site = |cell| ring.site(self.of_cell(cell));
        let mut all = SitePairs::new();
        for ((before, cell), counts) in pairs.0 {
            let before = (before != UNKNOWN).then(|| site(before));
            all.entry((before, site(cell))).or_default().merge(&counts);
        }
        all
    }
}

/// Adds what was counted elsewhere.
pub(super) fn add_pairs(all: &mut SitePairs, more: SitePairs) {
    more.into_iter().for_each(|(pair, counts)| all.entry(pair).or_default().merge(&counts));
}

/// A recorded window with names of the measurement, of which `nodes` are the ring's contexts.
pub(super) fn named(
    (recorder, parts): (Recorder, Vec<PartOf>),
    ring: &DecodedRing,
    blocks: &[BlockCounters],
    objects: Option<&RingObjects>,
    nodes: &[ContextNumber],
) -> Option<Window> {
    let sites = CellSites::from_blocks(blocks);
    recorder.finish(|cell| {
        let part = parts.get(cell.index()).copied();
        let whole = part.map_or(cell, |(whole, _)| whole);
        let object = part.and_then(|(_, object)| objects?.list.get(object?.index()).copied());
        let files = objects.map_or(&[][..], |objects| &objects.files);
        let object = object.map(|object| ring.object_key(object, files, nodes));
        (ring.site(sites.of_cell(whole)), object)
    })
}
