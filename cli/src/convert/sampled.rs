//! What a sample has of the sites of a profile.

use std::collections::BTreeMap;

use dmdprof_runtime::{counts::sampled::SampleCounts, decode::context::ContextNumber};

use super::{Builder, Contexts, Sites};
use crate::profile::model::{ContextId, SiteId};

impl Builder<'_> {
    pub(super) fn sampled(&self, sites: &Sites) -> BTreeMap<SiteId, SampleCounts> {
        let mut sampled: BTreeMap<SiteId, SampleCounts> = BTreeMap::new();
        for block in &self.measurement.blocks {
            for (item, cell) in (0..).zip(&block.cells) {
                let site = sites.ids.get(&(block.table, block.segment, item));
                if let (Some(site), Some(counts)) = (site, &cell.sampled) {
                    sampled.entry(*site).or_default().merge(counts);
                }
            }
        }
        sampled
    }

    /// The same by calling context. What was read is estimated where it is counted by place in the code only.
    pub(super) fn sampled_in_contexts(
        &self,
        sites: &Sites,
        contexts: &Contexts,
    ) -> BTreeMap<(ContextId, SiteId), SampleCounts> {
        let mut sampled: BTreeMap<(ContextId, SiteId), SampleCounts> = BTreeMap::new();
        for block in self.measurement.blocks.iter().filter(|block| block.context != ContextNumber::ROOT) {
            let context = contexts.id_of[block.context.index()];
            for (item, cell) in (0..).zip(&block.cells) {
                let site = sites.ids.get(&(block.table, block.segment, item));
                let (Some(site), Some(counts)) = (site, &cell.sampled) else { continue };
                let mut counts = (**counts).clone();
                if counts.read == 0 {
                    counts.read = counts.bytes().round() as u64;
                }
                sampled.entry((context, *site)).or_default().merge(&counts);
            }
        }
        sampled
    }
}
