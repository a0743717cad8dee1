//! What reads found on stacks of threads alone, beside those that they share.

use std::collections::BTreeMap;

use dmdprof_runtime::{
    counts::{
        cell::{self, CellCounters},
        depths::DepthCounts,
    },
    session::ThreadTotals,
};

use super::{
    Builder, lines,
    read::{histogram, with_holes},
};
use crate::profile::model::{Alone, AloneCell, AloneLines, ContextId, SiteId, Stacks, Totals};

impl Builder<'_> {
    /// Of a run in which threads share stacks. The cells are those of all blocks, in any order, with their (context,
    /// site).
    pub(super) fn stacks(&self, cells: &[(ContextId, SiteId, &CellCounters)], sizes: usize) -> Option<Stacks> {
        let measurement = self.measurement;
        let shared = measurement.shared.as_ref()?;
        // Of a run that was cut short, some reads may be known of one stack only.
        let cold = measurement.cold_alone.as_ref().filter(|_| measurement.cut_short.is_none());
        let threads = || self.threads_by(own_totals).1;
        Some(Stacks { threads: shared.most_threads, alone: cold.map(|cold| alone(threads(), cells, sizes, cold)) })
    }
}

fn alone(
    threads: Vec<Totals>,
    cells: &[(ContextId, SiteId, &CellCounters)],
    sizes: usize,
    cold: &DepthCounts,
) -> Alone {
    let mut found: BTreeMap<(ContextId, SiteId), cell::Alone> = BTreeMap::new();
    for (context, site, cell) in cells {
        if let Some(alone) = cell.alone.as_ref().filter(|alone| alone.cost > 0) {
            found.entry((*context, *site)).or_default().merge(alone);
        }
    }
    let cell = |((context, site), found): ((ContextId, SiteId), cell::Alone)| AloneCell {
        context,
        site,
        cold: found.cold,
        cost: found.cost,
        histogram: with_holes(&found.depths, found.below_holes.as_deref()),
    };
    let lines = (0..sizes).map(|number| {
        let of_cells = cells
            .iter()
            .map(|(context, site, cell)| (*context, *site, cell.alone.as_ref().and_then(|alone| alone.lines.as_ref())));
        let (cells, streams) = lines::of_cells(number, of_cells);
        AloneLines { cells, streams }
    });
    Alone {
        totals: super::all_of(threads.iter().cloned()),
        threads,
        cells: found.into_iter().map(cell).collect(),
        cold_histogram: histogram(cold),
        lines: lines.collect(),
    }
}

fn own_totals(thread: &ThreadTotals) -> Totals {
    Totals {
        accesses: thread.ring.accesses,
        read: thread.read,
        written: thread.written,
        cold: thread.alone.cold,
        cost: thread.alone.cost,
        peak_live: thread.alone.peak_live,
        footprint: thread.alone.footprint,
    }
}
