//! What is read out of the tables and counts of a measurement.

use dmdprof_runtime::{
    abi::{Item, NONE},
    counts::depths::DepthCounts,
    sites::SiteTable,
};

use crate::profile::model::Histogram;

pub(super) fn histogram(counts: &DepthCounts) -> Histogram {
    Histogram(counts.iter().collect())
}

pub(super) fn text(table: &SiteTable, index: u32) -> Option<&str> {
    if index == NONE { None } else { table.strings.get(index as usize).map(String::as_str) }
}

pub(super) fn item_of(table: &SiteTable, segment: u32, item: u32) -> &Item {
    &table.items[table.segments[segment as usize].items.start as usize + item as usize]
}
