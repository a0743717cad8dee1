//! What blocks took, of all threads.

use std::collections::BTreeMap;

use dmdprof_cycles::{Tally, core::MOST};
use serde::{Deserialize, Serialize};

use crate::abi::NONE;

/// Number of a table, and of a segment in it.
pub type CodeKey = (u32, u32);

/// A block of code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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

/// Cycles that the system took for pages on their first use where no code is told: by segment and frame of the table,
/// and core.
pub type MergedFaults = BTreeMap<(CodeKey, u32), Vec<u64>>;

/// Adds what first uses of pages took at a place on a core.
pub(super) fn add_fault(faults: &mut MergedFaults, place: (CodeKey, u32), core: usize, cycles: u64) {
    let cores = faults.entry(place).or_default();
    cores.resize(cores.len().max(core + 1), 0);
    cores[core] += cycles;
}

/// All blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MergedCycles {
    /// What was executed.
    pub code: BTreeMap<CodeKey, MergedCode>,
    /// First uses that are in no tally.
    pub faults: MergedFaults,
    /// Windows that were looked at. They are where as many instructions came before, on each core.
    pub windows: u64,
}

impl MergedCycles {
    /// Whether this can be of so many cores.
    pub(crate) fn is_sound(&self, cores: usize) -> bool {
        let is_code = |code: &MergedCode| {
            let places = code.frames.len();
            code.instructions.len() == places
                && code.instructions.iter().all(|instructions| *instructions < 1 << 16)
                && code.tallies.len() == cores
                && code.tallies.iter().all(|tally| tally.is_sound(places))
        };
        let is_fault = |cycles: &Vec<u64>| cycles.len() <= cores && cycles.iter().all(|cycles| *cycles < MOST);
        self.code.values().all(is_code) && self.faults.values().all(is_fault) && self.windows < MOST
    }

    /// Whether it is of code of these tables: their segments and frames.
    pub(crate) fn is_of(&self, table: impl Fn(u32) -> Option<(usize, usize)>) -> bool {
        let is_in = |(id, segment): CodeKey, frames: &[u32]| {
            table(id).is_some_and(|(segments, all)| {
                (segment as usize) < segments && frames.iter().all(|frame| *frame == NONE || (*frame as usize) < all)
            })
        };
        self.code.iter().all(|(key, code)| is_in(*key, &code.frames))
            && self.faults.keys().all(|(key, frame)| is_in(*key, &[*frame]))
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
            cores.into_iter().enumerate().for_each(|(core, cycles)| add_fault(&mut self.faults, place, core, cycles));
        }
        self.windows += other.windows;
    }
}
