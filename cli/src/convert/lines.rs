//! What lines and caches moved, and what had to be fetched, from the numbers of the run to those of the profile.

use std::collections::BTreeMap;

use dmdprof_runtime::{
    counts::{
        caches::CacheCounts,
        cell::CellCounters,
        least::LeastCounts,
        lines::{BySize, LineCounts},
        merge_each,
    },
    observe::caches::{Geometry, Policy},
};

use super::read::histogram;
use crate::profile::model::{
    CacheCell, CacheLevel, CacheMoves, ContextId, LeastReads, LineCell, LineMoves, LineStreams, ObjectId, ObjectLines,
    OptimumCell, SiteId, StreamCell,
};

/// The traffic of the lines of one of the sizes that were measured, and what of it came in streams.
pub fn lines<'c>(
    number: usize,
    cells: impl Iterator<Item = (ContextId, SiteId, &'c CellCounters)>,
) -> (Vec<LineCell>, Vec<StreamCell>) {
    of_cells(number, cells.map(|(context, site, cell)| (context, site, cell.lines.as_ref())))
}

/// The same, where cells have them.
pub fn of_cells<'c>(
    number: usize,
    cells: impl Iterator<Item = (ContextId, SiteId, Option<&'c BySize>)>,
) -> (Vec<LineCell>, Vec<StreamCell>) {
    let mut sums: BTreeMap<(ContextId, SiteId), LineCounts> = BTreeMap::new();
    for (context, site, lines) in cells {
        if let Some(lines) = lines {
            sums.entry((context, site)).or_default().merge(&lines[number]);
        }
    }
    let cell = |((context, site), counts): (&(ContextId, SiteId), &LineCounts)| {
        Some(LineCell { context: *context, site: *site, moved: moves(counts)? })
    };
    let streams = sums.iter().filter_map(|((context, site), counts)| {
        let streams = LineStreams {
            in_order: histogram(&counts.in_order),
            at_step: histogram(&counts.at_step),
            first_in_order: counts.first_in_order,
            first_at_step: counts.first_at_step,
        };
        (streams != LineStreams::default()).then_some(StreamCell { context: *context, site: *site, streams })
    });
    (sums.iter().filter_map(cell).collect(), streams.collect())
}

/// The lines of one of the sizes that a site moved of an object; nothing if that was not measured, or nothing was
/// moved.
pub fn of_object(number: usize, object: ObjectId, site: SiteId, found: &CellCounters) -> Option<ObjectLines> {
    Some(ObjectLines { object, site, moved: moves(&found.lines.as_ref()?[number])? })
}

/// Nothing if nothing was moved.
fn moves(counts: &LineCounts) -> Option<LineMoves> {
    let moves = LineMoves {
        loads: histogram(&counts.loads),
        stores: histogram(&counts.stores),
        write_backs: histogram(&counts.write_backs),
        first_loads: counts.first_loads,
        first_stores: counts.first_stores,
        last_write_backs: counts.last_write_backs,
    };
    (moves != LineMoves::default()).then_some(moves)
}

pub fn level(geometry: &Geometry) -> CacheLevel {
    let Geometry { bytes, ways, line, policy } = *geometry;
    CacheLevel { bytes, ways, line, plru: policy == Policy::TreePlru }
}

/// What cells have of each size, level or capacity, added up by context and site, where there is anything.
fn by_site<'c, T: Clone + 'c, R>(
    cells: impl Iterator<Item = (ContextId, SiteId, &'c CellCounters)>,
    of: impl Fn(&'c CellCounters) -> Option<&'c [T]>,
    merge: impl Fn(&mut T, &T),
    row: impl Fn(ContextId, SiteId, &[T]) -> R,
) -> Vec<R> {
    let mut sums: BTreeMap<(ContextId, SiteId), Option<Box<[T]>>> = BTreeMap::new();
    for (context, site, cell) in cells {
        if let Some(counts) = of(cell) {
            merge_each(sums.entry((context, site)).or_default(), Some(counts), &merge);
        }
    }
    let rows = sums.into_iter().map(|((context, site), counts)| row(context, site, &counts.unwrap_or_default()));
    rows.collect()
}

/// The traffic of caches by context and site, where there was any.
pub fn caches<'c>(cells: impl Iterator<Item = (ContextId, SiteId, &'c CellCounters)>) -> Vec<CacheCell> {
    let moves = |counts: &CacheCounts| CacheMoves {
        loads: counts.loads,
        stores: counts.stores,
        write_backs: counts.write_backs,
    };
    let row =
        |context, site, counts: &[CacheCounts]| CacheCell { context, site, moved: counts.iter().map(moves).collect() };
    by_site(cells, |cell| cell.caches.as_deref(), CacheCounts::merge, row)
}

/// What memories that know the future fetch, by context and site, where there is anything.
pub fn optimum<'c>(cells: impl Iterator<Item = (ContextId, SiteId, &'c CellCounters)>) -> Vec<OptimumCell> {
    let reads = |counts: &LeastCounts| LeastReads { fetched: counts.fetched, first: counts.first };
    let row = |context, site, counts: &[LeastCounts]| OptimumCell {
        context,
        site,
        least: counts.iter().map(reads).collect(),
    };
    by_site(cells, |cell| cell.least.as_deref(), LeastCounts::merge, row)
}
