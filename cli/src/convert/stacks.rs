//! What reads found on stacks of threads alone, beside those that they share.

use dmdprof_runtime::analysis::ThreadTotals;

use super::{Builder, read::histogram};
use crate::profile::model::{AloneTotals, Stacks, Totals};

impl Builder<'_> {
    /// Of a run in which threads share stacks.
    pub(super) fn stacks(&self) -> Option<Stacks> {
        let measurement = self.measured.run;
        let shared = measurement.shared.as_ref()?;
        // Of a run that was cut short, some reads may be known of one stack only.
        let cold = measurement.cold_alone.as_ref().filter(|_| measurement.cut_short.is_none());
        let alone = cold.map(|cold| {
            let threads = self.threads_by(own_totals).1;
            let totals = super::all_of(threads.iter().cloned());
            AloneTotals { totals, threads, cold_histogram: histogram(cold) }
        });
        Some(Stacks { threads: shared.most_threads, alone })
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
