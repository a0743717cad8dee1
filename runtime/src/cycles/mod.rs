//! Cycles of a thread that runs under the emulator: its instructions, followed by cores.
//!
//! Takes the words of a ring with records of code ([`crate::abi::emulated::BLOCKS`]), gives what each block took on
//! each core ([`MergedCycles`]). Cores see the same instructions and accesses, each with caches and a predictor of its
//! own. Where code is not told, its executions are counted, and accesses only change what caches hold. What the decoder
//! does not know counts as a simple operation, and is told.

mod blocks;
mod merged;

use dmdprof_cycles::{Access, Core, Paging};
pub use dmdprof_cycles::{
    CAUSES, Cause, Cycles, Deviations, Figures, GROUPS, Tally, Windows, add_cycles, core::estimate, standard_error,
};

use self::blocks::{Blocks, SegmentRole};
use self::merged::add_fault;
pub use self::merged::{CodeKey, MergedCode, MergedCycles, MergedFaults};
use crate::{
    abi,
    decode::{
        event::{Event, EventRecord},
        locator::{Locator, ModuleSource},
        records,
    },
};

/// Which cores follow, and how closely.
#[derive(Debug)]
pub struct CycleOptions {
    /// Numbers of the cores, of which the first is the one that is asked for.
    pub cores: Vec<Figures>,
    /// What they look at.
    pub windows: Windows,
}

impl CycleOptions {
    /// What has the same gives the same cycles.
    #[must_use]
    pub fn hashes(&self) -> Vec<u64> {
        self.cores.iter().map(Figures::hash).collect()
    }
}

/// Follows a thread.
pub struct Follower {
    locator: Locator,
    blocks: Blocks,
    cores: Vec<Core>,
    /// By core and block.
    tallies: Vec<Vec<Tally>>,
    /// The block that is executed, and its accesses so far.
    now: Option<usize>,
    accesses: Vec<Access>,
    /// Code is not told now.
    is_away: bool,
    /// First touches there.
    faults: MergedFaults,
}

impl Follower {
    /// Of a thread that begins, if cores are to follow.
    #[must_use]
    pub fn from_options(options: Option<&CycleOptions>) -> Option<Box<Self>> {
        let options = options?;
        Some(Box::new(Self {
            locator: Locator::default(),
            blocks: Blocks::default(),
            cores: options.cores.iter().map(|figures| Core::new(figures, options.windows)).collect(),
            tallies: vec![Vec::new(); options.cores.len()],
            now: None,
            accesses: Vec::new(),
            is_away: false,
            faults: MergedFaults::new(),
        }))
    }

    /// Follows what a chunk's words say. What cannot be decoded is counted as lost by the analysis of the same words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        records::each(words, |rest| {
            if rest[0] >> 48 != 0 {
                return self.event(rest, source);
            }
            let blocks = &mut self.blocks;
            let located = self.locator.record(rest, source, |module| blocks.add(module))?;
            let module = &self.locator.modules[located.module];
            match self.blocks.segment_role(module.segment_number(located.segment)) {
                SegmentRole::Code(number) => {
                    self.is_away = false;
                    self.begins(number);
                }
                SegmentRole::Accesses(first, end) if self.now.is_some() => {
                    for one in &self.blocks.accesses[first..end] {
                        let address = rest[usize::from(one.word).min(located.words - 1)];
                        self.accesses.push(Access { address, ..one.access });
                    }
                }
                SegmentRole::Accesses(first, end) if self.is_away => {
                    let key = (module.placed.id, located.segment);
                    for one in &self.blocks.accesses[first..end] {
                        let address = rest[usize::from(one.word).min(located.words - 1)];
                        for (number, core) in self.cores.iter_mut().enumerate() {
                            let cycles = core.passes(address, one.access.bytes);
                            if cycles > 0 {
                                add_fault(&mut self.faults, (key, one.frame), number, cycles);
                            }
                        }
                    }
                }
                SegmentRole::Accesses(..) | SegmentRole::Nothing => {}
            }
            Some(located.words)
        });
    }

    /// A block begins, so that the one before has ended.
    fn begins(&mut self, number: usize) {
        self.ends(self.blocks.list[number].block.start());
        self.now = Some(number);
    }

    /// The block at hand ends and goes to an address.
    fn ends(&mut self, next: u64) {
        let Some(now) = self.now.take() else { return };
        self.tally(now);
        let block = &self.blocks.list[now].block;
        for (core, tallies) in self.cores.iter_mut().zip(&mut self.tallies) {
            core.block(block, &self.accesses, next, &mut tallies[now]);
        }
        self.accesses.clear();
    }

    /// There are tallies for a block.
    fn tally(&mut self, number: usize) {
        for tallies in &mut self.tallies {
            for missing in tallies.len()..=number {
                tallies.push(Tally::new(&self.blocks.list[missing].block));
            }
        }
    }

    /// Code was executed so often that is not told; 0: it is now, and what follows is not told either.
    fn executed(&mut self, site: u64, times: u64, source: &mut impl ModuleSource) -> Option<()> {
        let blocks = &mut self.blocks;
        let site = self.locator.call_site(site, source, |module| blocks.add(module))??;
        let SegmentRole::Code(number) = self.blocks.segment_role(site.segment) else { return None };
        if times == 0 {
            self.ends(self.blocks.list[number].block.start());
            self.is_away = true;
        }
        self.tally(number);
        let instructions = self.blocks.list[number].block.instructions.len() as u64;
        for (core, tallies) in self.cores.iter_mut().zip(&mut self.tallies) {
            tallies[number].executions += times;
            core.skips(times.saturating_mul(instructions));
        }
        Some(())
    }

    fn event(&mut self, rest: &[u64], source: &mut impl ModuleSource) -> Option<usize> {
        let EventRecord { site, words, event } = EventRecord::from_words(rest)?;
        if let Event::Executed { times } = event {
            return self.executed(site, times, source).map(|()| words);
        }
        if let Event::Paged { what, address, len, from, from_len } = event {
            let what = asked(what, from, from_len);
            self.cores.iter_mut().for_each(|core| core.asks(what, address, len));
        }
        Some(words)
    }

    /// Gives up what was counted since that was last asked, by number of the table and of the segment in it.
    #[must_use]
    pub fn cut(&mut self) -> MergedCycles {
        let mut merged = MergedCycles {
            faults: std::mem::take(&mut self.faults),
            // They are where as many instructions came before, on each core.
            windows: self.cores.first().map_or(0, |core| core.seen),
            ..MergedCycles::default()
        };
        self.cores.iter_mut().for_each(|core| core.seen = 0);
        for (number, found) in self.blocks.list.iter().enumerate() {
            let is_executed = |all: &Vec<Tally>| all.get(number).is_some_and(|tally| tally.executions > 0);
            if self.tallies.first().is_some_and(is_executed) {
                let fresh = |all: &mut Vec<Tally>| std::mem::replace(&mut all[number], Tally::new(&found.block));
                let tallies = self.tallies.iter_mut().map(fresh).collect();
                merged.add_code(found.key, MergedCode { tallies, ..found.code.clone() });
            }
        }
        merged
    }

    /// The thread has ended: what is left of what was counted.
    #[must_use]
    pub fn finish(mut self) -> MergedCycles {
        let end = self.now.map_or(0, |now| self.blocks.list[now].block.end());
        self.ends(end);
        self.cut()
    }
}

fn asked(what: abi::Paging, from: u64, bytes: u64) -> Paging {
    match what {
        abi::Paging::Anonymous => Paging::Anonymous,
        abi::Paging::Huge => Paging::Huge,
        abi::Paging::Other => Paging::Other,
        abi::Paging::Wanted => Paging::Wanted,
        abi::Paging::Unwanted => Paging::Unwanted,
        abi::Paging::Dropped => Paging::Dropped,
        abi::Paging::Moved => Paging::Moved { from, bytes },
    }
}
