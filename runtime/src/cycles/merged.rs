//! What blocks took, of all threads.

use std::collections::BTreeMap;

use dmdprof_cycles::{Core, Tally};

/// Number of a table, and of a segment in it.
pub type CodeKey = (u32, u32);

/// A block of code.
#[derive(Clone, Debug, Default)]
pub struct MergedCode {
    /// By place: frame of the table, or none.
    pub frames: Vec<u32>,
    /// By place: instructions.
    pub instructions: Vec<u64>,
    /// Place of the last instruction, which alone may branch.
    pub last: u16,
    /// Bytes of the instructions that the decoder does not know.
    pub unknown: Vec<Box<[u8]>>,
    /// By core.
    pub tallies: Vec<Tally>,
}

/// Pages that were touched for the first time where no code is told: by segment and frame of the table, and core.
pub type MergedFaults = BTreeMap<(CodeKey, u32), Vec<u64>>;

/// Adds first touches of a place on a core.
pub(super) fn add_fault(faults: &mut MergedFaults, place: (CodeKey, u32), core: usize, pages: u64) {
    let cores = faults.entry(place).or_default();
    cores.resize(cores.len().max(core + 1), 0);
    cores[core] += pages;
}

/// All blocks.
#[derive(Clone, Debug, Default)]
pub struct MergedCycles {
    /// What was executed.
    pub code: BTreeMap<CodeKey, MergedCode>,
    /// First touches that are in no tally.
    pub faults: MergedFaults,
    /// Windows that were looked at. They are where as many instructions came before, on each core.
    pub windows: u64,
}

impl MergedCycles {
    pub(super) fn new(cores: &[Core], faults: MergedFaults) -> Self {
        Self { code: BTreeMap::new(), faults, windows: cores.first().map_or(0, |core| core.seen) }
    }

    /// Adds a block of one thread.
    pub(super) fn add_code(&mut self, key: CodeKey, code: MergedCode) {
        match self.code.get_mut(&key) {
            Some(known) => known.tallies.iter_mut().zip(&code.tallies).for_each(|(known, more)| known.add(more)),
            None => _ = self.code.insert(key, code),
        }
    }

    /// What each block took on a core.
    pub fn tallies(&self, core: usize) -> impl Iterator<Item = &Tally> {
        self.code.values().filter_map(move |code| code.tallies.get(core))
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: Self) {
        other.code.into_iter().for_each(|(key, code)| self.add_code(key, code));
        for (place, cores) in other.faults {
            cores.into_iter().enumerate().for_each(|(core, pages)| add_fault(&mut self.faults, place, core, pages));
        }
        self.windows += other.windows;
    }
}
