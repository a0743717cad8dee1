//! What code takes on cores, as times.
//!
//! Takes the cycles of a profile, gives for the program a time on each core that followed, and for functions on the
//! first, of which causes are known too. There it stands in place of what a roof knows.

use crate::{
    profile::model::{CycleCore, CycleCounts, MeasuredCycles},
    report::cycles::{bound_in_short, gains_nothing},
};

/// A time on a core.
#[derive(Clone, Debug)]
pub struct OnCore {
    /// Of the core.
    pub machine: String,
    pub seconds: f64,
    /// The machine's file does not state all numbers of its core.
    pub guess: bool,
    /// Known of the first core only.
    pub causes: Option<CycleCounts>,
}

impl OnCore {
    fn new(core: &CycleCore, cycles: u64, causes: Option<CycleCounts>) -> Option<Self> {
        let seconds = cycles as f64 / (core.frequency as f64 * 1e6);
        (core.frequency > 0).then(|| Self { machine: core.name.clone(), seconds, guess: core.is_estimated, causes })
    }

    /// What most of it passes for.
    #[must_use]
    pub fn bound(&self) -> String {
        self.causes.as_ref().map_or_else(|| "core".into(), bound_in_short)
    }

    /// Whether it would be faster if less was moved, as far as causes are known.
    #[must_use]
    pub fn gains_by_moving_less(&self) -> bool {
        self.causes.as_ref().is_none_or(|causes| gains_nothing(causes).is_none())
    }

    /// What the program takes on each core.
    #[must_use]
    pub fn program(measured: Option<&MeasuredCycles>, all: &CycleCounts) -> Vec<Self> {
        let cores = measured.iter().flat_map(|measured| &measured.cores).enumerate();
        cores.filter_map(|(number, core)| Self::new(core, core.cycles, (number == 0).then(|| all.clone()))).collect()
    }

    /// What a function takes.
    #[must_use]
    pub fn function(measured: Option<&MeasuredCycles>, own: &CycleCounts) -> Vec<Self> {
        let first = measured.and_then(|measured| measured.cores.first());
        first.and_then(|core| Self::new(core, own.total(), Some(own.clone()))).into_iter().collect()
    }
}
