//! What a sample has of the sites of a profile.

use std::collections::BTreeMap;

use dmdprof_runtime::{counts::sampled::SampleCounts, decode::context::ContextNumber};

use super::{Contexts, Measured, Sites};
use crate::profile::model::{ContextId, SiteId};

impl Measured<'_> {
    pub(super) fn sampled(&self, sites: &Sites) -> BTreeMap<SiteId, SampleCounts> {
        let mut sampled: BTreeMap<SiteId, SampleCounts> = BTreeMap::new();
        for (_, site, counts) in self.sampled_cells(sites) {
            sampled.entry(site).or_default().merge(counts);
        }
        sampled
    }

    /// What a sample has, by calling context and site. What was read is estimated where it is counted by place in the
    /// code only.
    pub(super) fn sampled_in_contexts(
        &self,
        sites: &Sites,
        contexts: &Contexts,
    ) -> BTreeMap<(ContextId, SiteId), SampleCounts> {
        let mut sampled: BTreeMap<(ContextId, SiteId), SampleCounts> = BTreeMap::new();
        for (context, site, counts) in self.sampled_cells(sites).filter(|(context, ..)| *context != ContextNumber::ROOT)
        {
            let sum = sampled.entry((contexts.id_of[context.index()], site)).or_default();
            sum.merge(counts);
            if counts.read == 0 {
                sum.read += counts.bytes().round() as u64;
            }
        }
        sampled
    }

    /// Cells of which a sample has something, with their contexts and sites.
    fn sampled_cells(&self, sites: &Sites) -> impl Iterator<Item = (ContextNumber, SiteId, &SampleCounts)> {
        let blocks = self.run.blocks.iter();
        let cells = blocks.flat_map(|block| (0..).zip(&block.cells).map(move |(item, cell)| (block, item, cell)));
        cells.filter_map(|(block, item, cell)| {
            let counts = cell.sampled.as_deref()?;
            let site = sites.ids.get(&(block.table, block.segment, item))?;
            Some((block.context, *site, counts))
        })
    }
}
