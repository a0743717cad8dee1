//! Where a clock found a program, as reports have it: no part of the profile's own file, which no clock changes.

use serde::{Deserialize, Serialize};

use super::{
    ids::{FunctionId, PositionId},
    outcome::Outcome,
};

/// Samples that are enough: half of the time is known to 3 points then.
pub const ENOUGH_SAMPLES: u64 = 1000;

/// The samples of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredClock {
    /// How they came about.
    pub runs: ClockRuns,
    /// Sorted by (function, position).
    pub places: Vec<ClockPlace>,
}

impl MeasuredClock {
    /// All samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.places.iter().map(|place| place.samples).sum()
    }
}

/// Samples of a function at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockPlace {
    /// Linked function.
    pub function: FunctionId,
    /// Its place in the source, if debug information says so.
    pub position: Option<PositionId>,
    /// Samples there.
    pub samples: u64,
}

/// The runs that samples are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRuns {
    /// How samples were taken.
    pub sampled_by: SampledBy,
    /// How often the program ran.
    pub runs: u64,
    /// Samples that could not be kept.
    pub lost: u64,
    /// The program without hooks ran, in place of that with hooks.
    pub is_twin: bool,
    /// How the last run ended.
    pub outcome: Outcome,
}

/// How samples are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampledBy {
    /// Events of the kernel.
    #[default]
    Events,
    /// Signals of a timer in the program.
    Timer,
}
