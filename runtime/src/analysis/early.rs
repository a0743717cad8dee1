//! Analyses that are made beside the one of the whole run, as long as the run is short.
//!
//! A program that draws a sample writes down at first what several analyses need: everything, for an exact one, or what
//! denser samples look at. Takes the words of each ring and the time that the ring tells; gives, at the end of the run,
//! the result of the first analysis that no ring has outlived. That depends on counts of accesses alone. Each analysis
//! gives what it would have given alone.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    merge::{Measurement, Merger},
    options::{Early, Options},
    replayer::Replayer,
    result::RingResult,
    shards::Pool,
};
use crate::{decode::locator::ModuleSource, ring::Counted};

/// One of the analyses.
struct Analysis {
    options: Options,
    until: u64,
    /// A ring has outlived it, or it met something that it cannot do without.
    over: AtomicBool,
}

/// All of them.
pub struct Analyses(Vec<Analysis>);

impl Analyses {
    /// Those that are asked for beside the one of the whole run.
    pub fn from_options(options: &Options) -> Self {
        let analysis = |early: &Early| {
            let (sample, filtered) = (early.sample, early.sample.is_some());
            let contexts = options.contexts && filtered;
            let options = Options { sample, filtered, contexts, early: Vec::new(), trace: None, ..options.clone() };
            Analysis { options, until: early.until, over: AtomicBool::new(false) }
        };
        Self(options.early.iter().filter(|_| options.analyse).map(analysis).collect())
    }

    /// Of a ring that begins.
    pub fn ring(&self, pool: &Arc<Pool>) -> EarlyRing {
        EarlyRing(self.0.iter().map(|one| one.is_on().then(|| Replayer::new(&one.options, pool))).collect())
    }

    /// A merger for each.
    pub fn mergers(&self) -> Vec<Merger> {
        self.0.iter().map(|_| Merger::default()).collect()
    }

    /// The measurement of the run: that of the first analysis which is still right, else the last one's, which is
    /// `whole`.
    pub fn choose(&self, early: Vec<Merger>, whole: Measurement, options: &Options) -> Measurement {
        let right = self.0.iter().zip(early).find(|(one, _)| one.is_on());
        match right {
            None => Measurement { sample: options.sample, ..whole },
            Some((one, merger)) => Measurement {
                sample: one.options.sample,
                processes: whole.processes,
                unreadable: whole.unreadable,
                notes: whole.notes,
                ..merger.measurement
            },
        }
    }
}

impl Analysis {
    fn is_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The analyses of one ring; those that are over are gone.
pub struct EarlyRing(Vec<Option<Replayer>>);

impl EarlyRing {
    /// Replays words, at whose end the ring has told this time.
    pub fn replay(&mut self, all: &Analyses, time: u64, words: &[u64], source: &mut impl ModuleSource) {
        for (one, slot) in all.0.iter().zip(&mut self.0) {
            if time > one.until {
                one.end();
            }
            attempt(one, slot, |replayer| replayer.replay(words, source));
        }
    }

    /// The ring has ended, with this in its counters.
    pub fn end(&mut self, all: &Analyses, counted: &[Counted], source: &mut impl ModuleSource) {
        for (one, slot) in all.0.iter().zip(&mut self.0) {
            attempt(one, slot, |replayer| {
                replayer.count(counted, source);
                replayer.resolve();
            });
        }
    }

    /// Gives up the results of analyses that are not over, each with the number of its analysis.
    pub fn finish(self, all: &Analyses) -> impl Iterator<Item = (usize, RingResult)> + use<> {
        let on: Vec<bool> = all.0.iter().map(Analysis::is_on).collect();
        let left = self.0.into_iter().zip(on).enumerate();
        left.filter_map(|(number, (slot, is_on))| Some((number, slot.filter(|_| is_on)?.finish())))
    }

    /// The program is not followed any more.
    pub fn give_up(&mut self, all: &Analyses) {
        all.0.iter().for_each(Analysis::end);
        self.0.fill_with(|| None);
    }

    /// Memory that the engines hold, in bytes.
    pub fn engine_bytes(&self) -> u64 {
        self.0.iter().flatten().map(Replayer::engine_bytes).sum()
    }
}

/// A part of an analysis that is not over. One for which there is no memory is: a later one needs less.
fn attempt(one: &Analysis, slot: &mut Option<Replayer>, part: impl FnOnce(&mut Replayer)) {
    if !one.is_on() {
        *slot = None;
    } else if Replayer::attempt(slot, part).is_err() {
        one.end();
    }
}
