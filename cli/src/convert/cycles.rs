//! What code took on cores: by function and position in place of blocks of instructions.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::cycles::{Cause, CodeKey, Cycles, MergedCode, MergedCycles, Tally, estimate};

use super::{Builder, FunctionKey, Measured, linked_key};
use crate::{
    cores::NamedCore,
    profile::model::{CycleCore, CycleCounts, CyclePlace, FunctionId, MeasuredCycles, PositionId},
    shared::hash::hexadecimal,
};

impl<'a> Measured<'a> {
    fn code(&self) -> impl Iterator<Item = (CodeKey, &'a MergedCode)> + use<'a> {
        self.run.cycles.iter().flat_map(|cycles| cycles.code.iter().map(|(key, code)| (*key, code)))
    }

    /// First touches of pages where no code is told.
    fn touched(&self) -> impl Iterator<Item = (&'a (CodeKey, u32), &'a Vec<u64>)> + use<'a> {
        self.run.cycles.iter().flat_map(|cycles| &cycles.faults)
    }

    /// Frames of code that cores followed.
    pub(super) fn code_frames(&self) -> BTreeSet<(u32, u32)> {
        let frames = self.code().flat_map(|((table, _), code)| code.frames.iter().map(move |frame| (table, *frame)));
        let touched = self.touched().map(|(((table, _), frame), _)| (*table, *frame));
        frames.chain(touched).filter(|(table, frame)| (*frame as usize) < self.table(*table).frames.len()).collect()
    }

    /// The functions of it.
    pub(super) fn code_functions(&self) -> impl Iterator<Item = FunctionKey<'a>> {
        let touched = self.touched().map(|((key, _), _)| *key);
        self.code().map(|(key, _)| key).chain(touched).map(|(table, segment)| {
            let table = self.table(table);
            linked_key(table, table.segments[segment as usize].function)
        })
    }
}

impl Builder<'_> {
    /// Cycles on these cores, if they followed any code.
    pub(super) fn cycles(&self, cores: &[NamedCore]) -> Option<MeasuredCycles> {
        let measured = self.measured.run.cycles.as_ref().filter(|cycles| !cycles.code.is_empty())?;
        let on = |number| self.on_core(measured, number);
        let found: Vec<BTreeMap<_, CycleCounts>> = (0..cores.len()).map(on).collect();
        let named = |(number, core): (usize, &NamedCore)| {
            let mut all = CycleCounts::default();
            found[number].values().for_each(|counts| all.add(counts));
            CycleCore {
                name: core.name.clone(),
                figures: core.figures.hash(),
                frequency: core.figures.frequency,
                is_estimated: !core.not_its_own.is_empty(),
                cycles: all.total(),
                error: all.error(),
                windows: measured.windows,
            }
        };
        let cores = cores.iter().enumerate().map(named).collect();
        let places = found.into_iter().next().unwrap_or_default();
        let places = places.into_iter().map(|((function, position), counts)| CyclePlace { function, position, counts });
        Some(MeasuredCycles { cores, places: places.collect(), unknown: unknown(measured), is_twin: false })
    }

    fn on_core(&self, measured: &MergedCycles, core: usize) -> BTreeMap<(FunctionId, Option<PositionId>), CycleCounts> {
        let cpi = mean_cpi(measured, core);
        let mut found: BTreeMap<_, CycleCounts> = BTreeMap::new();
        let function = |table, segment: u32| {
            let table = self.measured.table(table);
            self.function_ids[&linked_key(table, table.segments[segment as usize].function)]
        };
        for (((id, segment), frame), faults) in self.measured.touched() {
            let mut counts = CycleCounts::default();
            counts.cycles[Cause::Fault as usize] = faults.get(core).copied().unwrap_or(0);
            found.entry((function(*id, *segment), self.position(*id, *frame))).or_default().add(&counts);
        }
        for ((id, segment), code) in self.measured.code() {
            let Some(tally) = code.tallies.get(core) else { continue };
            let function = function(id, segment);
            let cycles = estimate(tally, cpi);
            for (place, (frame, (cycles, deviations))) in code.frames.iter().zip(cycles).enumerate() {
                let is_last = place == usize::from(code.last);
                let instructions = code.instructions[place] * tally.executions;
                let mispredicted = if is_last { mispredicted(tally) } else { 0 };
                let counts = CycleCounts { instructions, mispredicted, cycles, deviations };
                found.entry((function, self.position(id, *frame))).or_default().add(&counts);
            }
        }
        found
    }
}

/// Mispredicted branches of a block, if those that were not foretold were as the others.
fn mispredicted(tally: &Tally) -> u64 {
    let all = u128::from(tally.mispredicted) * u128::from(tally.executions);
    u64::try_from(all / u128::from(tally.foretold.max(1))).unwrap_or(u64::MAX)
}

/// Cycles per instruction of all that was looked at.
fn mean_cpi(measured: &MergedCycles, core: usize) -> f64 {
    let sum = |cycles: &[Cycles]| cycles.iter().flatten().sum::<u64>();
    let (cycles, instructions) = measured.tallies(core).fold((0, 0), |(cycles, instructions), tally| {
        let looked_at = tally.instructions * tally.looked_at();
        (cycles + sum(&tally.first) + sum(&tally.sampled), instructions + looked_at)
    });
    if instructions == 0 { 1.0 } else { cycles as f64 / instructions as f64 }
}

fn unknown(measured: &MergedCycles) -> Vec<(String, u64)> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for code in measured.code.values() {
        let executions = code.tallies.first().map_or(0, |tally| tally.executions);
        for bytes in &code.unknown {
            *found.entry(hexadecimal(bytes)).or_default() += executions;
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_that_were_not_foretold_are_taken_to_be_as_the_others() {
        let of = |executions, foretold, found| {
            mispredicted(&Tally { executions, foretold, mispredicted: found, ..Tally::default() })
        };
        assert_eq!(of(10, 4, 1), 2);
        assert_eq!(of(10, 10, 3), 3);
        assert_eq!(of(10, 0, 0), 0, "none was");
        assert_eq!(of(u64::MAX, 2, 4), u64::MAX, "more than can be");
    }

    /// One block of two places on two cores, the second of which took twice as long.
    fn measured(executions: u64) -> MergedCycles {
        let tally = |factor| Tally {
            executions,
            whole: 3,
            instructions: 4,
            first: vec![[factor; _]; 2].into(),
            sampled: vec![[0; _]; 2].into(),
            ..Tally::default()
        };
        let code = MergedCode {
            tallies: vec![tally(1), tally(2)],
            unknown: vec![[0x0f, 0x0b].into()],
            ..MergedCode::default()
        };
        MergedCycles { code: [((0, 0), code.clone()), ((0, 1), code)].into(), ..MergedCycles::default() }
    }

    #[test]
    fn cycles_per_instruction_are_those_of_what_was_looked_at() {
        let causes = Cycles::default().len() as f64;
        // Of each of two blocks 3 executions of 4 instructions.
        assert_eq!(mean_cpi(&measured(30), 0), 2.0 * causes / 12.0);
        assert_eq!(mean_cpi(&measured(30), 1), 4.0 * causes / 12.0);
        assert_eq!(mean_cpi(&MergedCycles::default(), 0), 1.0, "nothing was");
        assert_eq!(mean_cpi(&measured(30), 2), 1.0, "another core");
    }

    #[test]
    fn instructions_that_nobody_knows_are_counted_by_their_bytes() {
        assert_eq!(unknown(&measured(7)), [("0f0b".to_owned(), 14)]);
    }
}
