//! What code took on cores, as a profile has it.

use dmdprof_runtime::cycles::{Cycles, Deviations, add_cycles, standard_error};
use serde::{Deserialize, Serialize};

use super::ids::{FunctionId, PositionId};

/// Cycles of all code of a run; those of places are of the first core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredCycles {
    /// Cores that followed, the one that was asked for first.
    pub cores: Vec<CycleCore>,
    /// Sorted by (function, position).
    pub places: Vec<CyclePlace>,
    /// Instructions that the decoder does not know, as hexadecimal bytes, and how often they were executed. They count
    /// as simple operations.
    pub unknown: Vec<(String, u64)>,
    /// The program without hooks was followed, as that with hooks ran.
    pub is_twin: bool,
}

/// A core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleCore {
    /// Of the machine.
    pub name: String,
    /// A hash of its numbers and of the rules that it goes by.
    pub figures: u64,
    /// MHz.
    pub frequency: u64,
    /// The machine's file does not state all numbers of the core.
    pub is_estimated: bool,
    /// All cycles of the run.
    pub cycles: u64,
    /// Standard error that windows leave in `cycles`; 0 if all instructions were looked at.
    pub error: u64,
    /// Windows that were looked at.
    pub windows: u64,
}

/// Code of a function at a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CyclePlace {
    /// Linked function.
    pub function: FunctionId,
    /// Its place in the source, if debug information says so.
    pub position: Option<PositionId>,
    /// What it did and took.
    pub counts: CycleCounts,
}

/// What code did and took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleCounts {
    /// Instructions that were executed.
    pub instructions: u64,
    /// Branches that went another way than foretold.
    pub mispredicted: u64,
    /// Cycles by cause.
    pub cycles: Cycles,
    /// How much all of them change without each group of windows.
    pub deviations: Deviations,
}

impl CycleCounts {
    /// All cycles.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.cycles.iter().sum()
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.mispredicted += other.mispredicted;
        add_cycles(&mut self.cycles, &other.cycles);
        self.deviations.iter_mut().zip(&other.deviations).for_each(|(own, more)| *own += more);
    }

    /// The standard error that windows leave in all cycles; 0 if all instructions were looked at.
    #[must_use]
    pub fn error(&self) -> u64 {
        standard_error(&self.deviations).ceil() as u64
    }
}
