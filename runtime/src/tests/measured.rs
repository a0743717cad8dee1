//! What was measured, by the names that a made-up program has.
//!
//! Takes a measurement; gives the numbers that `defined` has, so that the two can be compared as they are.

use std::collections::BTreeMap;

use super::{
    defined::{Cell, Counts, Dead, Flow, Hazards, Life, Looked, Objects, ReadTotals, Totals, Traffic},
    history::{Object, Path, Site},
    program::SegmentName,
};
use crate::{
    analysis::{Measurement, ObjectKey, ThreadTotals},
    counts::{
        caches::CacheCounts,
        cell::{CellCounters, capacities},
        depths::DepthCounts,
        least::LeastCounts,
    },
    decode::context::ContextNumber,
    observe::{hazards::NAMES, lines::list::traffic_at, window::What},
};

fn depths(counts: &DepthCounts) -> BTreeMap<u16, u64> {
    counts.iter().collect()
}

fn found(cell: &CellCounters) -> ReadTotals {
    ReadTotals {
        cold: cell.cold,
        cost: cell.cost,
        depths: depths(&cell.depths),
        capacities: depths(&cell.capacities()),
    }
}

fn cell(counters: &CellCounters) -> Cell {
    let mut counters = counters.clone();
    counters.flush();
    Cell { executions: counters.executions, written: counters.written, found: found(&counters) }
}

/// By number of the context.
fn paths(measurement: &Measurement) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    for context in &measurement.contexts {
        let path = context.function.map(|function| paths[context.parent.index()].iter().copied().chain([function]));
        paths.push(path.map_or_else(|| Path::from([]), Iterator::collect));
    }
    paths
}

/// All cells with their sites.
fn cells(measurement: &Measurement) -> impl Iterator<Item = (Site, &CellCounters)> {
    let paths = paths(measurement);
    measurement.blocks.iter().flat_map(move |block| {
        let (context, segment) = (paths[block.context.index()].clone(), (block.table, block.segment));
        (0..).zip(&block.cells).map(move |(item, cell)| (Site { context: context.clone(), segment, item }, cell))
    })
}

/// Cells that have something, by their sites.
fn with<T: Default + PartialEq>(measurement: &Measurement, of: impl Fn(&CellCounters) -> T) -> BTreeMap<Site, T> {
    cells(measurement).map(|(site, cell)| (site, of(cell))).filter(|(_, what)| *what != T::default()).collect()
}

/// What is counted whatever is measured beside it.
#[must_use]
pub fn counts(measurement: &Measurement) -> Counts {
    let paths = paths(measurement);
    let calls = measurement.contexts.iter().zip(&paths).filter(|(context, _)| context.calls > 0);
    let executions = measurement.blocks.iter().filter(|block| block.executions > 0);
    let name = |context: ContextNumber, segment: SegmentName| (paths[context.index()].clone(), segment);
    let mut threads: Vec<Totals> = measurement.threads.iter().map(totals).collect();
    threads.sort_unstable();
    Counts {
        calls: calls.map(|(context, path)| (path.clone(), context.calls)).collect(),
        executions: executions
            .map(|block| (name(block.context, (block.table, block.segment)), block.executions))
            .collect(),
        cells: with(measurement, cell),
        cold: depths(&measurement.cold),
        threads,
    }
}

fn totals(thread: &ThreadTotals) -> Totals {
    assert_eq!(thread.ring.lost_words, 0, "all words are records");
    assert!(thread.ring.active);
    Totals {
        accesses: thread.ring.accesses,
        read: thread.read,
        written: thread.written,
        cold: thread.cold,
        cost: thread.cost,
        peak_live: thread.ring.peak_live,
        footprint: thread.ring.footprint,
        unknown_frees: thread.ring.unknown_frees,
        is_interesting: thread.ring.roi_seen,
        start: thread.start,
    }
}

/// What each site found on the stack of its own thread, beside one that threads share.
#[must_use]
pub fn alone(measurement: &Measurement) -> BTreeMap<Site, ReadTotals> {
    let of = |cell: &CellCounters| {
        let alone = cell.alone.as_ref();
        alone
            .map(|alone| {
                let capacities = depths(&capacities(&alone.depths, cell.below_alone.as_deref()));
                ReadTotals { cold: alone.cold, cost: alone.cost, depths: depths(&alone.depths), capacities }
            })
            .unwrap_or_default()
    };
    with(measurement, of)
}

/// What each site moves in and out of a memory of so many lines, of a number among the sizes of lines.
#[must_use]
pub fn lines(measurement: &Measurement, size: usize, capacity: usize) -> BTreeMap<Site, Traffic> {
    let of = |cell: &CellCounters| {
        cell.lines.as_ref().map(|lines| traffic_at(&lines[size], capacity as u64)).unwrap_or_default()
    };
    with(measurement, of)
}

/// The same on the stack of its own thread, beside one that threads share.
#[must_use]
pub fn lines_alone(measurement: &Measurement, size: usize, capacity: usize) -> BTreeMap<Site, Traffic> {
    let lines = |cell: &CellCounters| Some(traffic_at(&cell.alone.as_ref()?.lines.as_ref()?[size], capacity as u64));
    with(measurement, |cell| lines(cell).unwrap_or_default())
}

/// What each site fetches at least, at a number among the capacities.
#[must_use]
pub fn least(measurement: &Measurement, capacity: usize) -> BTreeMap<Site, LeastCounts> {
    with(measurement, |cell| cell.least.as_ref().map(|least| least[capacity]).unwrap_or_default())
}

/// What each site moves in and out of each level of caches.
#[must_use]
pub fn caches(measurement: &Measurement) -> BTreeMap<Site, Vec<CacheCounts>> {
    let of = |cell: &CellCounters| {
        let moved = cell.caches.as_ref().map_or_else(Vec::new, |levels| levels.to_vec());
        if moved.iter().all(|level| *level == CacheCounts::default()) { Vec::new() } else { moved }
    };
    with(measurement, of)
}

/// Accesses that are hazards, by kind.
#[must_use]
pub fn hazards(measurement: &Measurement) -> Hazards {
    let of = |cell: &CellCounters| {
        let counts = NAMES.iter().zip(cell.hazards.iter().flatten());
        counts.filter(|(_, count)| **count > 0).map(|(name, count)| (*name, *count)).collect()
    };
    with(measurement, of)
}

/// What is found without dead bytes, and who left these.
#[must_use]
pub fn dead(measurement: &Measurement) -> BTreeMap<Site, Dead> {
    let of = |cell: &CellCounters| {
        let left = cell.dead.as_ref().map(|dead| dead.left).unwrap_or_default();
        Dead { found: found(cell), unread: left.unread, last_read: left.last_read }
    };
    with(measurement, of)
}

fn object(key: &ObjectKey, paths: &[Path]) -> Object {
    match key {
        ObjectKey::Unknown => Object::Unknown,
        &ObjectKey::Block { context, site } => Object::Block { context: paths[context.index()].clone(), site },
        ObjectKey::Mapping { context, site, file } => {
            Object::Mapping { context: paths[context.index()].clone(), site: *site, file: file.clone() }
        }
        // The section comes before the variables.
        &ObjectKey::Datum { table, datum } => Object::Variable(table, datum - 1),
        &ObjectKey::Slot { table, slot } => Object::Slot(table, slot),
    }
}

/// Flows that were measured.
#[must_use]
pub fn flows(measurement: &Measurement) -> BTreeMap<Flow, ReadTotals> {
    let paths = paths(measurement);
    let flows = measurement.flows.as_ref().expect("flows were measured").iter().map(|(key, flow)| {
        let place = |(table, segment, item)| ((table, segment), item);
        let name = Flow {
            writer: key.writer.map(place),
            toucher: key.toucher.map(place),
            reader: place(key.reader),
            contexts: key.contexts.map(|(toucher, reader)| {
                (toucher.map(|toucher| paths[toucher.index()].clone()), paths[reader.index()].clone())
            }),
            object: key.object.as_ref().map(|key| object(key, &paths)),
        };
        let mut counters = flow.found.clone();
        counters.flush();
        (name, found(&counters))
    });
    flows.filter(|(_, found)| *found != ReadTotals::default()).collect()
}

/// Objects that were measured.
#[must_use]
pub fn objects(measurement: &Measurement) -> Objects {
    let (paths, all) = (paths(measurement), measurement.objects.as_ref().expect("objects were measured"));
    let life = |life: &crate::objects::Life| Life { times: life.times, bytes: life.bytes, peak: life.peak };
    let uses = all.uses.iter().map(|((key, (table, segment, item)), counters)| {
        ((object(key, &paths), (*table, *segment), *item), Cell { executions: 0, ..cell(counters) })
    });
    let parts = all.parts.iter().filter(|(_, parts)| parts.iter().any(|bytes| *bytes > 0));
    Objects {
        lives: all.lives.iter().map(|(key, of)| (object(key, &paths), life(of))).collect(),
        uses: uses.collect(),
        parts: parts.map(|(key, parts)| (object(key, &paths), parts.to_vec())).collect(),
    }
}

/// The window of accesses, and whether it ended before the run did.
#[must_use]
pub fn window(measurement: &Measurement) -> (Vec<Looked>, bool) {
    let window = measurement.window.as_ref().expect("a window was measured");
    let events = window.events.iter().map(|event| {
        let (address, len) = (event.addr, event.len);
        let site = event.site.map(|(table, segment, item)| ((table, segment), item));
        match &event.what {
            What::Read { depths } => {
                let mut depths: Vec<u64> = depths.iter().flat_map(|(above, bytes)| above + 1..=above + bytes).collect();
                assert_eq!(depths.len() as u64, len);
                depths.sort_unstable();
                Looked::Read { address, depths, site }
            }
            What::Write => Looked::Write { address, len, site },
            What::Dies => Looked::Dies { address, len },
            &What::Moves { to } => Looked::Moves { from: address, to, len },
        }
    });
    (events.collect(), window.cut)
}
