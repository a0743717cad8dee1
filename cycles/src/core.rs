//! A core that follows a thread, and looks at a part of it closely.
//!
//! Takes blocks in the order in which they were executed; gives their cycles ([`Tally`]). The first instructions are
//! all looked at. Behind them, one window of every period is: the rest only changes what the core remembers, so that
//! windows begin as if all had been looked at. Caches and translations follow all accesses, the predictor the branches
//! before a window: of the rest, whoever gives blocks counts executions ([`Core::skips`]) and gives accesses alone
//! ([`Core::passes`]). Where windows are is a matter of how many instructions came before, and of nothing else. Blocks
//! that are given far from any window are looked at like those at the start: whoever gives them has not given some of
//! them before, and their estimates need something.

use crate::cause::{CAUSES, Cause, Cycles};
use crate::figures::Figures;
use crate::instruction::{Flow, Instruction};
use crate::memory::Memory;
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

/// An access of an instruction of a block.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Number of the instruction in its block.
    pub instruction: u16,
    /// It stores.
    pub is_store: bool,
    /// Bytes.
    pub bytes: u32,
    /// First byte.
    pub address: u64,
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
    pub const USUAL: Self = Self { whole: 2_000_000, window: 10_000, warm: 2_000, period: 400_000, near: 30_000 };

    /// Before which so many instructions were executed, so many of them without a gap.
    fn look(&self, before: u64, given: u64) -> Look {
        let Some(behind) = before.checked_sub(self.whole) else { return Look::Whole };
        let period = self.period.max(1);
        match behind % period {
            at if at < self.warm => Look::Warm,
            at if at < self.window => Look::Window,
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
    Window,
    Away,
}

/// What a block has taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Executions.
    pub executions: u64,
    /// Executions at the start, and of blocks that were given far from any window: all that were looked at there.
    pub whole: u64,
    /// Executions in windows.
    pub seen: u64,
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
    /// By place: pages touched for the first time, in all executions.
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
            faults: vec![0; places].into(),
            ..Self::default()
        }
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.whole += other.whole;
        self.seen += other.seen;
        self.foretold += other.foretold;
        self.mispredicted += other.mispredicted;
        for (own, other) in [(&mut self.first, &other.first), (&mut self.sampled, &other.sampled)] {
            for (own, other) in own.iter_mut().flatten().zip(other.iter().flatten()) {
                *own += other;
            }
        }
        for (own, other) in self.faults.iter_mut().zip(&other.faults) {
            *own += other;
        }
    }
}

/// What windows have in common, for how sure their sum is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Windows.
    pub windows: u64,
    /// Instructions in them.
    pub instructions: u64,
    /// Cycles.
    pub cycles: u64,
    /// Windows with one before them in the same thread, and sums of squares and products of how they differ from it.
    pairs: u64,
    instructions_squared: u128,
    cycles_squared: u128,
    product: i128,
    /// Instructions and cycles of the last window.
    last: Option<(u64, u64)>,
}

impl Spread {
    fn add_window(&mut self, (instructions, cycles): (u64, u64)) {
        if instructions == 0 {
            return;
        }
        if let Some((instructions_before, cycles_before)) = self.last {
            let more_instructions = i128::from(instructions) - i128::from(instructions_before);
            let more_cycles = i128::from(cycles) - i128::from(cycles_before);
            self.pairs += 1;
            self.instructions_squared += more_instructions.pow(2).unsigned_abs();
            self.cycles_squared += more_cycles.pow(2).unsigned_abs();
            self.product += more_instructions * more_cycles;
        }
        self.last = Some((instructions, cycles));
        self.windows += 1;
        self.instructions += instructions;
        self.cycles += cycles;
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Self) {
        self.windows += other.windows;
        self.instructions += other.instructions;
        self.cycles += other.cycles;
        self.pairs += other.pairs;
        self.instructions_squared += other.instructions_squared;
        self.cycles_squared += other.cycles_squared;
        self.product += other.product;
        self.last = None;
    }

    /// The standard error of the cycles per instruction, as a share of them; nothing where no window follows another.
    ///
    /// That of a ratio of two sums (Cochran, "Sampling techniques", 1977, 2.11), with the variance of what lies at equal
    /// distances: from how neighbours differ (Wolter, "Introduction to variance estimation", 2007, 8.2). Phases of a
    /// program that differ do not make it larger, as each has windows of its own.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        if self.pairs == 0 || self.cycles == 0 {
            return None;
        }
        let (n, ratio) = (self.windows as f64, self.cycles as f64 / self.instructions as f64);
        let squares = self.cycles_squared as f64 - 2.0 * ratio * self.product as f64
            + ratio * ratio * self.instructions_squared as f64;
        let variance = squares.max(0.0) / (2.0 * self.pairs as f64);
        Some((variance / n).sqrt() / (self.cycles as f64 / n))
    }
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
    /// Instructions and cycles of the window at hand.
    window: (u64, u64),
    /// Of all windows.
    pub spread: Spread,
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
            window: (0, 0),
            spread: Spread::default(),
        }
    }

    /// The system gives these bytes anew.
    pub fn is_new(&mut self, address: u64, bytes: u64) {
        self.memory.is_new(address, bytes);
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
        if look != Look::Window {
            self.end_window();
        }
        if look == Look::Away {
            return self.remember(block, accesses, tally);
        }
        let cycles = match look {
            Look::Whole => {
                tally.whole += 1;
                Some(&mut tally.first)
            }
            Look::Window => {
                tally.seen += 1;
                Some(&mut tally.sampled)
            }
            Look::Warm | Look::Away => None,
        };
        let passed = Self::execute(&mut self.pipeline, &mut self.memory, block, accesses, cycles, &mut tally.faults);
        let is_elsewhere = next != block.end();
        self.pipeline.branch(!is_right, is_elsewhere);
        if look == Look::Window {
            self.window.0 += block.instructions.len() as u64;
            self.window.1 += passed;
        }
    }

    /// So many instructions were executed that are not given.
    pub fn skips(&mut self, instructions: u64) {
        self.done += instructions;
        self.given = 0;
    }

    /// One of them accessed memory; how many pages that touched for the first time.
    #[inline]
    pub fn passes(&mut self, address: u64, bytes: u32) -> u64 {
        self.memory.pass(address, bytes)
    }

    /// Ends the window at hand, as when the thread ends.
    pub fn end_window(&mut self) {
        self.spread.add_window(std::mem::take(&mut self.window));
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

    fn execute(
        pipeline: &mut Pipeline,
        memory: &mut Memory,
        block: &Block,
        mut accesses: &[Access],
        mut cycles: Option<&mut Box<[Cycles]>>,
        faults: &mut [u64],
    ) -> u64 {
        let mut total = 0;
        for (number, (instruction, place)) in (0u16..).zip(block.instructions.iter().zip(&block.places)) {
            let own = accesses.iter().take_while(|access| access.instruction <= number).count();
            let (now, later) = accesses.split_at(own);
            accesses = later;
            let (passed, cause) = pipeline.instruction(instruction, now, memory);
            total += passed;
            let place = usize::from(*place);
            if let Some(cycles) = &mut cycles {
                cycles[place][cause as usize] += passed;
            }
            faults[place] += memory.take_faults();
        }
        total
    }
}

/// Cycles of the places of a block in all its executions, by cause: those of the start, and for the others the mean of
/// those that were seen, or, if none was, `usual` cycles per instruction for whatever cause.
#[must_use]
pub fn estimate(tally: &Tally, usual: f64, page_fault: u64) -> Vec<Cycles> {
    let others = tally.executions - tally.whole;
    let (seen, from) = match (tally.seen, tally.whole) {
        (0, 0) => (0, None),
        (0, whole) => (whole, Some(&tally.first)),
        (seen, _) => (seen, Some(&tally.sampled)),
    };
    let places = tally.first.len().max(1) as f64;
    let scale = |place: usize, cause: usize| match from {
        Some(cycles) => cycles[place][cause] as f64 * others as f64 / seen as f64,
        None if cause == Cause::Base as usize => others as f64 * tally.instructions as f64 * usual / places,
        None => 0.0,
    };
    let place = |place: usize| {
        let mut cycles: Cycles =
            std::array::from_fn(|cause| tally.first[place][cause] + scale(place, cause).round() as u64);
        cycles[Cause::Fault as usize] += tally.faults[place] * page_fault;
        cycles
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
        core.end_window();
        tally
    }

    #[test]
    fn windows_estimate_the_whole() {
        // mov rcx, [rbx]; imul rax, rcx; jnz
        let block = block(&[&[0x48, 0x8b, 0x0b], &[0x48, 0x0f, 0xaf, 0xc1], &[0x75, 0xf7]]);
        let total = |windows| {
            let mut core = Core::new(&round(), windows);
            let tally = run(&mut core, &block, 100_000, 24);
            (estimate(&tally, 0.0, 0).iter().flatten().sum::<u64>() as f64, core.spread)
        };
        let windows = Windows { whole: 6_000, window: 3_000, warm: 600, period: 15_000, near: 12_000 };
        let ((all, none), (some, spread)) = (total(Windows { whole: u64::MAX, ..windows }), total(windows));
        assert_eq!(none.error(), None);
        assert!((some / all - 1.0).abs() < 0.05, "{some} {all}");
        assert!(spread.windows == 20 && spread.error().is_some_and(|error| error < 0.05), "{spread:?}");
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
        core.end_window();
        assert_eq!((tally.executions, tally.whole, core.spread.windows), (100_000, 2_000, 10));
        let mut all = Core::new(&round(), Windows { whole: u64::MAX, ..windows });
        let mut expected = Tally::new(&block);
        for time in 0..100_000 {
            let access = Access { instruction: 0, is_store: false, bytes: 8, address: address(time) };
            all.block(&block, &[access], block.start(), &mut expected);
        }
        let [some, all] = [&tally, &expected].map(|tally| estimate(tally, 0.0, 0).iter().flatten().sum::<u64>() as f64);
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
        assert_eq!((tally.executions, tally.whole, tally.seen), (20, 15, 0), "five fill the core");
        core.skips(870);
        core.block(&block, &[], block.start(), &mut tally);
        assert_eq!((tally.whole, tally.foretold), (15, 21), "a window is near");
    }

    #[test]
    fn faults_are_counted_whether_looked_at_or_not() {
        let block = block(&[&[0x48, 0x8b, 0x0b], &[0x75, 0xf7]]);
        let windows = Windows { whole: 0, window: 10, warm: 0, period: 1000, near: 990 };
        let tally = run(&mut Core::new(&round(), windows), &block, 1000, 4096);
        assert_eq!(tally.faults[0], 1000);
        assert_eq!(estimate(&tally, 1.0, 50)[0][Cause::Fault as usize], 50_000);
    }

    #[test]
    fn what_was_never_seen_costs_the_usual() {
        let block = block(&[&[0x75, 0xf7]]);
        let tally = Tally { executions: 10, ..Tally::new(&block) };
        assert_eq!(estimate(&tally, 2.0, 0)[0][Cause::Base as usize], 20);
    }
}
