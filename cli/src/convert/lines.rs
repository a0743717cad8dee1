//! What lines and caches moved, from the numbers of the run to those of the profile.

use std::collections::BTreeMap;

use dmdprof_runtime::{
    counts::{
        caches::{ByLevel, CacheCounts, merge},
        cell::CellCounters,
        lines::LineCounts,
    },
    observe::caches::{Geometry, Policy},
};

use super::read::histogram;
use crate::profile::model::{
    CacheCell, CacheLevel, CacheMoves, ContextId, LineCell, LineMoves, ObjectId, ObjectLines, SiteId,
};

/// The traffic of lines by context and site, where there was any.
pub fn lines<'c>(cells: impl Iterator<Item = (ContextId, SiteId, &'c CellCounters)>) -> Vec<LineCell> {
    let mut sums: BTreeMap<(ContextId, SiteId), LineCounts> = BTreeMap::new();
    for (context, site, cell) in cells {
        if let Some(lines) = &cell.lines {
            sums.entry((context, site)).or_default().merge(lines);
        }
    }
    let cell = |((context, site), counts): ((ContextId, SiteId), LineCounts)| LineCell {
        context,
        site,
        moved: moves(&counts),
    };
    sums.into_iter().map(cell).collect()
}

/// The lines that a site moved of an object; nothing if lines were not measured, or nothing was moved.
pub fn of_object(object: ObjectId, site: SiteId, found: &CellCounters) -> Option<ObjectLines> {
    found.lines.as_deref().map(|counts| ObjectLines { object, site, moved: moves(counts) })
}

fn moves(counts: &LineCounts) -> LineMoves {
    LineMoves {
        loads: histogram(&counts.loads),
        stores: histogram(&counts.stores),
        write_backs: histogram(&counts.write_backs),
        first_loads: counts.first_loads,
        first_stores: counts.first_stores,
        last_write_backs: counts.last_write_backs,
    }
}

pub fn level(geometry: &Geometry) -> CacheLevel {
    let Geometry { bytes, ways, line, policy } = *geometry;
    CacheLevel { bytes, ways, line, plru: policy == Policy::TreePlru }
}

/// The traffic of caches by context and site, where there was any.
pub fn caches<'c>(cells: impl Iterator<Item = (ContextId, SiteId, &'c CellCounters)>) -> Vec<CacheCell> {
    let mut sums: BTreeMap<(ContextId, SiteId), Option<ByLevel>> = BTreeMap::new();
    for (context, site, cell) in cells {
        if let Some(moved) = &cell.caches {
            merge(sums.entry((context, site)).or_default(), moved);
        }
    }
    let moves = |counts: &CacheCounts| CacheMoves {
        loads: counts.loads,
        stores: counts.stores,
        write_backs: counts.write_backs,
    };
    let cell = |((context, site), counts): ((ContextId, SiteId), Option<ByLevel>)| CacheCell {
        context,
        site,
        moved: counts.iter().flatten().map(moves).collect(),
    };
    sums.into_iter().map(cell).collect()
}
