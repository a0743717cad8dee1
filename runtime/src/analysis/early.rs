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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode::locator::Placed, observe::sample::Design};

    struct Nothing;

    impl ModuleSource for Nothing {
        fn modules(&mut self, _: u64) -> Vec<Placed> {
            Vec::new()
        }
    }

    fn design(one_in: u32) -> Design {
        Design::new(one_in, 1)
    }

    /// An exact analysis of runs of 100 accesses, and a sample of those of 1,000.
    fn options() -> Options {
        let early = vec![Early { sample: None, until: 100 }, Early { sample: Some(design(4)), until: 1000 }];
        let sample = Some(design(64));
        Options { early, sample, filtered: true, contexts: true, analyse: true, ..Options::default() }
    }

    /// Which analyses give a result of two rings that have come to these times, and how many accesses one is in.
    fn left(times: [u64; 2]) -> (Vec<usize>, Option<Design>) {
        let (all, pool) = (Analyses::from_options(&options()), Arc::new(Pool::new(1)));
        let mut rings = times.map(|_| all.ring(&pool));
        rings.iter_mut().zip(times).for_each(|(ring, time)| ring.replay(&all, time, &[], &mut Nothing));
        let [first, mut second] = rings;
        second.end(&all, &[], &mut Nothing);
        let numbers = |ring: EarlyRing| ring.finish(&all).map(|(number, _)| number).collect::<Vec<_>>();
        let (first, second) = (numbers(first), numbers(second));
        assert_eq!(first, second, "what one ring has outlived is over for all");
        let whole = Measurement { notes: vec!["note".into()], processes: [3].into(), ..Measurement::default() };
        let chosen = all.choose(all.mergers(), whole, &options());
        assert_eq!((&chosen.notes[..], chosen.processes.len()), (&["note".to_owned()][..], 1), "these are of the run");
        (first, chosen.sample)
    }

    #[test]
    fn the_first_analysis_is_chosen_that_no_ring_has_outlived() {
        assert_eq!(left([100, 0]), (vec![0, 1], None), "just long enough");
        assert_eq!(left([101, 0]), (vec![1], Some(design(4))));
        assert_eq!(left([5, 1000]), (vec![1], Some(design(4))), "any ring may be the longest");
        assert_eq!(left([5, 1001]), (vec![], Some(design(64))), "the whole run's is left");
    }

    #[test]
    fn an_analysis_that_is_over_has_no_engine_and_no_result() {
        let (all, pool) = (Analyses::from_options(&options()), Arc::new(Pool::new(1)));
        let mut ring = all.ring(&pool);
        assert!(ring.engine_bytes() > 0);
        ring.give_up(&all);
        assert_eq!(ring.engine_bytes(), 0);
        assert_eq!(ring.finish(&all).count(), 0);
        let later = all.ring(&pool);
        assert_eq!(later.engine_bytes(), 0, "a ring that begins later does without it");
        assert_eq!(later.finish(&all).count(), 0);
    }

    #[test]
    fn an_exact_analysis_is_not_filtered_and_knows_no_contexts() {
        let all = Analyses::from_options(&options());
        let of = |one: &Analysis| (one.options.sample, one.options.filtered, one.options.contexts, one.until);
        let expected = [(None, false, false, 100), (Some(design(4)), true, true, 1000)];
        assert_eq!(all.0.iter().map(of).collect::<Vec<_>>(), expected);
        assert!(all.0.iter().all(|one| one.options.early.is_empty()), "they have none of their own");
        let only_written_down = Options { analyse: false, ..options() };
        assert!(Analyses::from_options(&only_written_down).0.is_empty());
    }
}
