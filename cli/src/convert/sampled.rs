//! What a sample has of the sites of a profile.

use std::collections::BTreeMap;

use dmdprof_runtime::counts::sampled::SampleCounts;

use super::{Builder, Sites};
use crate::profile::model::SiteId;

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
}
