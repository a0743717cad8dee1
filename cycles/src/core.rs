//! A core that follows a thread, and looks at a part of it closely.
//!
//! Takes blocks in the order in which they were executed; gives their cycles ([`Tally`]). The first instructions are
//! all looked at. Behind them, one window of every period is: the rest only changes what the core remembers, so that
//! windows begin as if all had been looked at. Caches and translations follow all accesses, the predictor the branches
//! before a window: of the rest, whoever gives blocks counts executions ([`Core::skips`]) and gives accesses alone
//! ([`Core::passes`]). Where windows are is a matter of how many instructions came before, and of nothing else. Blocks
//! that are given far from any window are looked at like those at the start: whoever gives them has not given some of
//! them before, and their estimates need something.

use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::cause::{CAUSES, Cause, Cycles, add_cycles};
use crate::figures::Figures;
use crate::instruction::{Flow, Instruction};
use crate::memory::{Memory, Paging};
use crate::pipeline::Pipeline;
use crate::predictor::Predictor;

/// Instructions that are executed one after the other, of which only the last may go elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// In their order.
    pub instructions: Box<[Instruction]>,
    /// The place of each, below [`Self::count`].
    pub places: Box<[u16]>,
    /// Places: what cycles are counted for.
    pub count: u16,
}

impl Block {
    /// Where it begins.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.instructions.first().map_or(0, |first| first.address)
    }

    /// Behind its last instruction.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.instructions.last().map_or(0, |last| last.address + u64::from(last.bytes))
    }
}

/// Which instructions are looked at closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Instructions at a thread's start.
    pub whole: u64,
    /// Instructions of a window.
    pub window: u64,
    /// Of them, those at its start that are not counted.
    pub warm: u64,
    /// Instructions from the start of a window to that of the next.
    pub period: u64,
    /// Of them, those before the next window whose branches are followed.
    pub near: u64,
}

impl Windows {
    /// The usual ones: 2.5 % of what is behind the first two million.
    pub const DEFAULT: Self = Self { whole: 2_000_000, window: 10_000, warm: 2_000, period: 400_000, near: 30_000 };

    /// Before which so many instructions were executed, so many of them without a gap.
    fn look(&self, before: u64, given: u64) -> Look {
        let Some(behind) = before.checked_sub(self.whole) else { return Look::Whole };
        let period = self.period.max(1);
        match behind % period {
            at if at < self.warm => Look::Warm,
            at if at < self.window => Look::Window((behind / period) as usize % GROUPS),
            at if period - at <= self.near => Look::Away,
            _ if given < self.warm => Look::Warm,
            _ => Look::Whole,
        }
    }
}

/// How closely.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Whole,
    Warm,
    /// In a window of this group.
    Window(usize),
    Away,
}

/// Groups of windows, each of every eighth. How sums without one of them differ tells how sure they are.
pub const GROUPS: usize = 8;

/// By group: how much an estimate changes without it.
pub type Deviations = [i64; GROUPS];

/// The standard error that windows leave in a sum of cycles: a jackknife (Wolter, "Introduction to variance
/// estimation", 2007, 4.2 and 8.2). Each phase of a program has windows of all groups, so that phases that differ do
/// not make it larger. Of fewer windows than groups, the error is at most twice as large as it should be.
#[must_use]
pub fn standard_error(deviations: &Deviations) -> f64 {
    let squares: f64 = deviations.iter().map(|one| (*one as f64).powi(2)).sum();
    (squares * (GROUPS - 1) as f64 / GROUPS as f64).sqrt()
}

/// Numbers of files that are below this can be added up a million times.
pub const MOST: u64 = 1 << 44;

/// What a block has taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Executions.
    pub executions: u64,
    /// Executions at the start, and of blocks that were given far from any window: all that were looked at there.
    pub whole: u64,
    /// Executions in windows, by group.
    pub seen: [u64; GROUPS],
    /// Executions whose last instruction was foretold.
    pub foretold: u64,
    /// Of them, those in which it was mispredicted.
    pub mispredicted: u64,
    /// Instructions of the block.
    pub instructions: u64,
    /// By place: cycles of the start.
    pub first: Box<[Cycles]>,
    /// By place: cycles in windows.
    pub sampled: Box<[Cycles]>,
    /// By place: the same for whatever cause, by group.
    pub sampled_by: Box<[[u64; GROUPS]]>,
    /// By place: cycles that the system took to give pages on their first use, in all executions.
    pub faults: Box<[u64]>,
}

impl Tally {
    /// Of a block that was not executed yet.
    #[must_use]
    pub fn new(block: &Block) -> Self {
        let places = usize::from(block.count);
        Self {
            instructions: block.instructions.len() as u64,
            first: vec![[0; CAUSES]; places].into(),
            sampled: vec![[0; CAUSES]; places].into(),
            sampled_by: vec![[0; GROUPS]; places].into(),
            faults: vec![0; places].into(),
            ..Self::default()
        }
    }

    /// Whether this can be of a block with so many places, and can be added up a million times.
    #[must_use]
    pub fn is_sound(&self, places: usize) -> bool {
        let Self { executions, whole, seen, foretold, mispredicted, instructions, .. } = self;
        let Self { first, sampled, sampled_by, faults, .. } = self;
        let lengths = [first.len(), sampled.len(), sampled_by.len(), faults.len()];
        let cycles = first.iter().chain(sampled).flatten().chain(sampled_by.iter().flatten()).chain(faults);
        let counts = [executions, whole, foretold, mispredicted, instructions].into_iter().chain(seen);
        lengths.iter().all(|length| *length == places)
            && cycles.chain(counts).all(|number| *number < MOST)
            && self.looked_at() <= *executions
            && mispredicted <= foretold
            && foretold <= executions
    }

    /// Executions that were looked at.
    #[must_use]
    pub fn looked_at(&self) -> u64 {
        self.whole + self.seen.iter().sum::<u64>()
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.whole += other.whole;
        add_each(&mut self.seen, &other.seen);
        self.foretold += other.foretold;
        self.mispredicted += other.mispredicted;
        self.first.iter_mut().zip(&other.first).for_each(|(own, more)| add_cycles(own, more));
        self.sampled.iter_mut().zip(&other.sampled).for_each(|(own, more)| add_cycles(own, more));
        self.sampled_by.iter_mut().zip(&other.sampled_by).for_each(|(own, more)| add_each(own, more));
        add_each(&mut self.faults, &other.faults);
    }

    /// Cycles of an execution of a place, of those in windows of all groups but one; if there are none, of those at the
    /// start; else `usual` ones per instruction.
    fn mean_without(&self, group: Option<usize>, place: usize, cpi: f64) -> f64 {
        let others = || (0..GROUPS).filter(|other| Some(*other) != group);
        let seen: u64 = others().map(|other| self.seen[other]).sum();
        let cycles: u64 = others().map(|other| self.sampled_by[place][other]).sum();
        match (seen, self.whole) {
            (0, 0) => self.instructions as f64 * cpi / self.first.len().max(1) as f64,
            (0, whole) => self.first[place].iter().sum::<u64>() as f64 / whole as f64,
            (seen, _) => cycles as f64 / seen as f64,
        }
    }

    /// How much the estimate of a place changes without each group.
    fn deviations(&self, place: usize, cpi: f64) -> Deviations {
        let sampled = (self.executions - self.whole) as f64;
        let mean = self.mean_without(None, place, cpi);
        let without = |group| self.mean_without(Some(group), place, cpi);
        std::array::from_fn(|group| match self.seen[group] {
            0 => 0,
            _ => (sampled * (without(group) - mean)).round() as i64,
        })
    }
}

fn add_each(own: &mut [u64], more: &[u64]) {
    own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
}

/// A core, and what it remembers of the thread that it follows.
pub struct Core {
    pipeline: Pipeline,
    memory: Memory,
    predictor: Predictor,
    windows: Windows,
    /// Instructions so far, and those since some were skipped.
    done: u64,
    given: u64,
    is_in_window: bool,
    /// Windows so far.
    pub seen: u64,
}

impl Core {
    /// Nothing was executed.
    #[must_use]
    pub fn new(figures: &Figures, windows: Windows) -> Self {
        Self {
            pipeline: Pipeline::new(figures),
            memory: Memory::new(figures),
            predictor: Predictor::default(),
            windows,
            done: 0,
            given: 0,
            is_in_window: false,
            seen: 0,
        }
    }

    /// The program asked something of the system about these bytes.
    pub fn asks(&mut self, paging: Paging, address: u64, bytes: u64) {
        self.memory.apply_paging(paging, address, bytes);
    }

    /// A block was executed, made these accesses in the order of its instructions, and went to an address.
    pub fn block(&mut self, block: &Block, accesses: &[Access], next: u64, tally: &mut Tally) {
        let look = self.windows.look(self.done, self.given);
        self.done += block.instructions.len() as u64;
        self.given += block.instructions.len() as u64;
        tally.executions += 1;
        let is_right = self.foretold(block, next);
        tally.foretold += 1;
        tally.mispredicted += u64::from(!is_right);
        let is_in_window = matches!(look, Look::Window(_));
        self.seen += u64::from(is_in_window && !self.is_in_window);
        self.is_in_window = is_in_window;
        match look {
            Look::Away => return self.remember(block, accesses, tally),
            Look::Whole => tally.whole += 1,
            Look::Window(group) => tally.seen[group] += 1,
            Look::Warm => {}
        }
        self.execute(block, accesses, look, tally);
        self.pipeline.branch(!is_right, next != block.end());
    }

    /// So many instructions were executed that are not given.
    pub fn skips(&mut self, instructions: u64) {
        self.done += instructions;
        self.given = 0;
    }

    /// One of them accessed memory; cycles that the system took for pages on their first use.
    #[inline]
    pub fn passes(&mut self, address: u64, bytes: u32) -> u64 {
        self.memory.pass(address, bytes)
    }

    /// Whether it was foretold where a block goes.
    fn foretold(&mut self, block: &Block, next: u64) -> bool {
        let Some(last) = block.instructions.last() else { return true };
        let behind = block.end();
        match last.flow {
            Flow::Next | Flow::Jump => true,
            Flow::Conditional => self.predictor.conditional(last.address, next != behind),
            Flow::Indirect => self.predictor.indirect(last.address, next),
            Flow::Return => self.predictor.returns(next),
            Flow::Call | Flow::IndirectCall => {
                let is_right = last.flow == Flow::Call || self.predictor.indirect(last.address, next);
                // What was called may not be seen, as what the analysis brought along.
                if next != behind {
                    self.predictor.call(behind);
                }
                is_right
            }
        }
    }

    fn remember(&mut self, block: &Block, accesses: &[Access], tally: &mut Tally) {
        let time = self.pipeline.time();
        self.memory.warms(true);
        for access in accesses {
            let Some(instruction) = block.instructions.get(usize::from(access.instruction)) else { continue };
            self.memory.access(instruction.address, access, time);
            let faults = self.memory.take_faults();
            if faults > 0 {
                tally.faults[usize::from(block.places[usize::from(access.instruction)])] += faults;
            }
        }
        self.memory.warms(false);
    }

    fn execute(&mut self, block: &Block, mut accesses: &[Access], look: Look, tally: &mut Tally) {
        for (number, (instruction, place)) in (0u16..).zip(block.instructions.iter().zip(&block.places)) {
            let own = accesses.iter().take_while(|access| access.instruction <= number).count();
            let (now, later) = accesses.split_at(own);
            accesses = later;
            let (passed, cause) = self.pipeline.instruction(instruction, now, &mut self.memory);
            let place = usize::from(*place);
            match look {
                Look::Whole => tally.first[place][cause as usize] += passed,
                Look::Window(group) => {
                    tally.sampled[place][cause as usize] += passed;
                    tally.sampled_by[place][group] += passed;
                }
                Look::Warm | Look::Away => {}
            }
            tally.faults[place] += self.memory.take_faults();
        }
    }
}

/// Of the places of a block in all its executions: cycles by cause, and how much their sum changes without a group of
/// windows. Cycles are those of the start, and for the others the mean of those that were seen, or, if none was,
/// `usual` cycles per instruction for whatever cause.
#[must_use]
pub fn estimate(tally: &Tally, cpi: f64) -> Vec<(Cycles, Deviations)> {
    let others = tally.executions - tally.whole;
    let (seen, from) = match (tally.seen.iter().sum(), tally.whole) {
        (0, 0) => (0, None),
        (0, whole) => (whole, Some(&tally.first)),
        (seen, _) => (seen, Some(&tally.sampled)),
    };
    let places = tally.first.len().max(1) as f64;
    let scale = |place: usize, cause: usize| match from {
        Some(cycles) => cycles[place][cause] as f64 * others as f64 / seen as f64,
        None if cause == Cause::Base as usize => others as f64 * tally.instructions as f64 * cpi / places,
        None => 0.0,
    };
    let place = |place: usize| {
        let mut cycles: Cycles =
            std::array::from_fn(|cause| tally.first[place][cause].saturating_add(scale(place, cause).round() as u64));
        let fault = &mut cycles[Cause::Fault as usize];
        *fault = fault.saturating_add(tally.faults[place]);
        (cycles, tally.deviations(place, cpi))
    };
    (0..tally.first.len()).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::round;
    use crate::x86::decode;

    /// One place of these instructions.
    fn block(code: &[&[u8]]) -> Block {
        let mut address = 0x1000;
        let instructions: Box<[Instruction]> = code
            .iter()
            .map(|bytes| {
                let instruction = decode(address, bytes).expect("it is one");
                address += bytes.len() as u64;
                instruction
            })
            .collect();
        Block { places: vec![0; instructions.len()].into(), count: 1, instructions }
    }

    fn run(core: &mut Core, block: &Block, times: u64, stride: u64) -> Tally {
        let mut tally = Tally::new(block);
        for time in 0..times {
            let access = Access { instruction: 0, is_store: false, bytes: 8, address: 0x10_0000 + time * stride };
            core.block(block, &[access], block.start(), &mut tally);
        }
        tally
    }

    #[test]
    fn windows_estimate_the_whole() {
        // mov rcx, [rbx]; imul rax, rcx; jnz
        let block = block(&[&[0x48, 0x8b, 0x0b], &[0x48, 0x0f, 0xaf, 0xc1], &[0x75, 0xf7]]);
        let total = |windows| {
            let mut core = Core::new(&round(), windows);
            let tally = run(&mut core, &block, 100_000, 24);
            let [(cycles, deviations)] = estimate(&tally, 0.0)[..] else { panic!("one place") };
            (cycles.iter().sum::<u64>() as f64, standard_error(&deviations), core.seen)
        };
        let windows = Windows { whole: 6_000, window: 3_000, warm: 600, period: 15_000, near: 12_000 };
        let ((all, none, _), (some, error, seen)) = (total(Windows { whole: u64::MAX, ..windows }), total(windows));
        assert_eq!(none, 0.0);
        assert!((some / all - 1.0).abs() < 0.05, "{some} {all}");
        assert!(seen == 20 && error > 0.0 && error / all < 0.05, "{seen} windows, {error} of {all}");
    }

    #[test]
    fn what_is_skipped_changes_caches_alone() {
        // mov rcx, [rbx]; imul rax, rcx; jnz
        let block = block(&[&[0x48, 0x8b, 0x0b], &[0x48, 0x0f, 0xaf, 0xc1], &[0x75, 0xf7]]);
        let windows = Windows { whole: 6_000, window: 3_000, warm: 600, period: 30_000, near: 3_000 };
        // Round a ring that the second level holds.
        let address = |time: u64| 0x10_0000 + time % 1024 * 64;
        let mut core = Core::new(&round(), windows);
        let mut tally = Tally::new(&block);
        for time in 0..100_000 {
            let access = Access { instruction: 0, is_store: false, bytes: 8, address: address(time) };
            let at = (time * 3).checked_sub(6_000).map_or(0, |behind| behind % 30_000);
            if !(3_000..27_000).contains(&at) {
                core.block(&block, &[access], block.start(), &mut tally);
            } else {
                assert_eq!(core.passes(access.address, 8), 0, "its pages are known");
                core.skips(3);
                tally.executions += 1;
            }
        }
        assert_eq!((tally.executions, tally.whole, core.seen), (100_000, 2_000, 10));
        let mut all = Core::new(&round(), Windows { whole: u64::MAX, ..windows });
        let mut expected = Tally::new(&block);
        for time in 0..100_000 {
            let access = Access { instruction: 0, is_store: false, bytes: 8, address: address(time) };
            all.block(&block, &[access], block.start(), &mut expected);
        }
        let all_of = |tally| estimate(tally, 0.0)[0].0.iter().sum::<u64>() as f64;
        let (some, all) = (all_of(&tally), all_of(&expected));
        assert!((some / all - 1.0).abs() < 0.03, "{some} {all}");
    }

    #[test]
    fn what_is_given_far_from_windows_is_looked_at() {
        let block = block(&[&[0x75, 0xf7]]);
        let windows = Windows { whole: 0, window: 10, warm: 5, period: 1000, near: 10 };
        let mut core = Core::new(&round(), windows);
        let mut tally = Tally::new(&block);
        core.skips(100);
        for _ in 0..20 {
            core.block(&block, &[], block.start(), &mut tally);
        }
        assert_eq!((tally.executions, tally.looked_at()), (20, 15), "five fill the core");
        core.skips(870);
        core.block(&block, &[], block.start(), &mut tally);
        assert_eq!((tally.whole, tally.foretold), (15, 21), "a window is near");
    }

    #[test]
    fn faults_are_counted_whether_looked_at_or_not() {
        let block = block(&[&[0x48, 0x8b, 0x0b], &[0x75, 0xf7]]);
        let windows = Windows { whole: 0, window: 10, warm: 0, period: 1000, near: 990 };
        let tally = run(&mut Core::new(&round(), windows), &block, 1000, 4096);
        assert_eq!(tally.faults[0], 1000 * 2000);
        assert_eq!(estimate(&tally, 1.0)[0].0[Cause::Fault as usize], 2_000_000);
    }

    #[test]
    fn what_was_never_seen_costs_the_usual() {
        let block = block(&[&[0x75, 0xf7]]);
        let tally = Tally { executions: 10, ..Tally::new(&block) };
        assert_eq!(estimate(&tally, 2.0)[0].0[Cause::Base as usize], 20);
    }

    #[test]
    fn groups_that_differ_leave_an_error() {
        let block = block(&[&[0x75, 0xf7]]);
        let mut tally = Tally { executions: 800, seen: [10; GROUPS], ..Tally::new(&block) };
        tally.sampled_by[0] = [100; GROUPS];
        tally.sampled[0][0] = 800;
        assert_eq!(estimate(&tally, 0.0), [(tally.sampled[0].map(|cycles| cycles * 10), [0; GROUPS])]);
        tally.sampled_by[0] = [170, 30, 170, 30, 170, 30, 170, 30];
        let [(_, deviations)] = estimate(&tally, 0.0)[..] else { panic!("one place") };
        // Without one group of 170 the mean is 9, without one of 30 it is 11, and with all 10.
        assert_eq!(deviations, [-800, 800, -800, 800, -800, 800, -800, 800]);
        // The standard error of a mean of eight that lie 7 from it, of 800 executions: 800 * 7 / sqrt(7).
        assert!((standard_error(&deviations) - 800.0 * 7.0_f64.sqrt()).abs() < 1e-9);
        let other = Tally { seen: [10; GROUPS], ..Tally::new(&block) };
        tally.add(&other);
        assert_eq!((tally.seen, tally.looked_at()), ([20; GROUPS], 160));
    }
}
