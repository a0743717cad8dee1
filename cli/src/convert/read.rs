//! What is read out of the tables and counts of a measurement.

use dmdprof_runtime::{
    abi::{Item, ItemKind, NONE, SegmentKind},
    counts::depths::DepthCounts,
    sites::SiteTable,
    steps::StepKind,
};

use crate::profile::model::{AccessKind, Histogram};

pub(super) fn histogram(counts: &DepthCounts) -> Histogram {
    Histogram::from_depths(counts.iter().collect())
}

pub(super) fn text(table: &SiteTable, index: u32) -> Option<&str> {
    if index == NONE { None } else { table.strings.get(index as usize).map(String::as_str) }
}

pub(super) fn item_of(table: &SiteTable, segment: u32, item: u32) -> &Item {
    &table.items[table.segments[segment as usize].items.start as usize + item as usize]
}

/// How a report names an item; `None` for effects that are not accesses.
pub(super) fn access_kind(item: &Item, segment_kind: u8) -> Option<AccessKind> {
    if segment_kind == SegmentKind::CallSite as u8 {
        return Some(AccessKind::Call);
    }
    if let Some(step) = StepKind::from_number(item.kind) {
        return match step {
            StepKind::Op | StepKind::Fma | StepKind::Convert => Some(AccessKind::Instruction),
            StepKind::Escape => Some(AccessKind::Escape),
            _ => None,
        };
    }
    match ItemKind::from_number(item.kind)? {
        ItemKind::Load | ItemKind::MaskedLoad | ItemKind::Gather | ItemKind::ExpandLoad => Some(AccessKind::Load),
        ItemKind::Store | ItemKind::MaskedStore | ItemKind::Scatter | ItemKind::CompressStore => {
            Some(AccessKind::Store)
        }
        ItemKind::Update => Some(AccessKind::Update),
        ItemKind::Copy => Some(AccessKind::Copy),
        ItemKind::Fill => Some(AccessKind::Fill),
        ItemKind::Kill | ItemKind::Loop => None,
    }
}
