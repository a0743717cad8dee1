//! What an analysis is to measure, and how.

use std::{path::PathBuf, sync::Arc};

use super::{fast_paths::FastPaths, shared::Together};
use crate::{
    abi::sample::{STAGES, Stage},
    cycles::CycleOptions,
    decode::roi::RegionOfInterest,
    motion::options::MotionOptions,
    observe::{caches::Geometry, sample::Design},
    oplog::Spool,
    trace::TraceWriter,
    values::options::ValueOptions,
};

/// What the memory analysis is asked for.
#[derive(Clone, Default)]
pub struct Options {
    /// Bytes leave the stack when the program says so.
    pub hints: bool,
    /// A stack of lines of each of these sizes in bytes (powers of two), for what memories of lines fetch and write
    /// back.
    pub line_sizes: Vec<u32>,
    /// No stack of bytes: there are no costs and no depths of bytes, only what lines and caches tell, and what needs
    /// neither. For threads that have stacks of their own.
    pub lines_only: bool,
    /// Caches of sets and ways, the first nearest to the processor, that see the same accesses; none if there are none.
    pub caches: Vec<Geometry>,
    /// Count accesses that are slower than others of their kind, wherever their bytes are.
    pub hazards: bool,
    /// Cores that follow the instructions of emulated programs; none: there are no cycles.
    pub cycles: Option<Arc<CycleOptions>>,
    /// What is counted; none: everything.
    pub roi: Option<Arc<dyn RegionOfInterest>>,
    /// Rings are served by this many threads.
    pub workers: usize,
    /// Threads share stacks; else each has one of its own. Needs the memory model, and no flows, windows, caches,
    /// exact liveness or optimum.
    pub together: Option<Arc<Together>>,
    /// Accesses of a slice of a ring, if not the usual number; rings are cut from their first access on then.
    pub slice: Option<u64>,
    /// The values model, for programs that were instrumented for it, instead of the memory model.
    pub values: Option<ValueOptions>,
    /// Measure the motion of data through loops instead, of a program whose loops are marked.
    pub motion: Option<MotionOptions>,
    /// Where to write down what the engine is asked to do, for `exact` and `optimum`. Needs `hints`, and bytes.
    pub log: Option<Arc<Spool>>,
    /// Exact liveness. Needs a log.
    pub exact: bool,
    /// Capacities in bytes, ascending, whose least possible fetches are measured. Needs a log.
    pub optimum: Vec<u64>,
    /// Measure from which access to which bytes go. Needs bytes, and no log.
    pub flows: bool,
    /// Of flows, also the calling contexts of both ends.
    pub flow_contexts: bool,
    /// Estimate costs from a sample, in the place of exact ones. Of the memory model, by bytes, without a log, flows,
    /// lines, caches and windows.
    pub sample: Option<Design>,
    /// With a sample: it is the programs that draw it, so that rings have what they looked at only, and counters.
    pub filtered: bool,
    /// With a sample that programs draw: they also write down where functions begin and end, so that calling contexts
    /// are known.
    pub contexts: bool,
    /// What else to measure as long as the run is short, first what is best; of programs that draw a sample.
    pub early: Vec<Early>,
    /// Charge each access to the data object that it goes to.
    pub objects: bool,
    /// Write down the calls that these functions make.
    pub sequence: Option<Arc<dyn RegionOfInterest>>,
    /// Record so many accesses one by one, from where the region of interest begins.
    pub window: Option<u64>,
    /// Where the program saves the bytes of its declared outputs. Of no meaning for a recorded run.
    pub outputs: Option<PathBuf>,
    /// Where to write down what the rings carry.
    pub trace: Option<Arc<TraceWriter>>,
    /// Analyse what the rings carry; otherwise it is only written down.
    pub analyse: bool,
    /// Which fast ways to take; of meaning for speed only.
    pub ways: FastPaths,
}

/// An analysis for runs in which no thread does more than so many loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Early {
    /// A denser sample; nothing: an exact analysis.
    pub sample: Option<Design>,
    /// The loads and stores.
    pub until: u64,
}

impl Options {
    /// Whether anything goes by which blocks live, now or when what is written down is replayed.
    #[must_use]
    pub fn needs_lives(&self) -> bool {
        !self.lines_only || self.objects || self.trace.is_some() || self.sequence.is_some()
    }

    /// What programs must write down for its samples; nothing if they draw none.
    #[must_use]
    pub fn stages(&self) -> Option<[Stage; STAGES]> {
        let last = self.sample.filter(|_| self.filtered)?;
        let stage = |one_in, until| Stage { one_in, until, ..Stage::default() };
        let early = self.early.iter().map(|early| stage(early.sample.map_or(1, |design| design.one_in), early.until));
        let mut stages = [Stage::default(); STAGES];
        // The last one is for all runs, and in any case there.
        let room = stages.iter_mut().rev();
        for (slot, stage) in room.zip(std::iter::once(stage(last.one_in, u64::MAX)).chain(early.rev())) {
            *slot = stage;
        }
        Some(stages)
    }

    /// Whether nothing needs the sites of an emulated program whose rings have ended: threads that take turns are
    /// analysed later, and cycles are by the sites of each process.
    #[must_use]
    pub fn forgets_sites(&self) -> bool {
        self.together.is_none() && self.cycles.is_none()
    }

    /// Whether nobody but the counters needs to know of accesses that change nothing on the stack of bytes.
    pub(super) fn may_skip(&self) -> bool {
        // Flows, hazards and windows are about these accesses too.
        self.ways.skips
            && self.together.is_none()
            && self.log.is_none()
            // Time is the number of accesses.
            && self.sample.is_none()
            && !self.flows
            && !self.hazards
            && self.window.is_none()
    }

    /// What of it needs all accesses of a ring in order, so that the ring cannot be cut into slices, and why.
    #[must_use]
    pub fn in_one_piece(&self) -> Option<(&'static str, &'static str)> {
        let whole = [
            (self.sample.is_some(), "--sample", "which accesses are drawn depends on how many came before"),
            (self.flows && self.objects, "--flows --objects", "what lies between two uses is followed in order"),
            (!self.caches.is_empty(), "--cache", "which line leaves a set depends on all that came before"),
            (self.window.is_some(), "--window", "it takes down the depth of each access as it comes"),
            (!self.optimum.is_empty(), "--optimum", "what a memory evicts depends on all that it holds"),
            (self.values.is_some(), "--model values", "each value may be read anywhere behind"),
            (self.motion.is_some(), "motion", "tiles are those of all loops that run"),
            (self.together.is_some(), "--threads", "threads take turns from the first access on"),
        ];
        whole.into_iter().find(|(is_so, ..)| *is_so).map(|(_, option, why)| (option, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        observe::caches::Policy,
        tests::{
            random::REGION,
            run::{self, Named, spool},
        },
    };

    fn together() -> Option<Arc<Together>> {
        Some(Arc::new(run::together()))
    }

    fn design(one_in: u32) -> Design {
        Design::new(one_in, 1)
    }

    #[test]
    fn accesses_that_change_nothing_are_left_out_unless_somebody_needs_them() {
        assert!(Options::default().may_skip());
        let all = Options::default();
        let needing = [
            Options { ways: FastPaths { skips: false, ..all.ways }, ..all.clone() },
            Options { together: together(), ..all.clone() },
            Options { log: Some(spool()), ..all.clone() },
            Options { sample: Some(design(64)), ..all.clone() },
            Options { flows: true, ..all.clone() },
            Options { hazards: true, ..all.clone() },
            Options { window: Some(1), ..all.clone() },
        ];
        assert_eq!(needing.map(|options| options.may_skip()), [false; 7]);
        assert!(Options { objects: true, line_sizes: vec![64], ..all }.may_skip());
    }

    #[test]
    fn what_needs_a_whole_ring_is_named() {
        let all = Options::default();
        let cache = Geometry { bytes: 64, ways: 1, line: 64, policy: Policy::Lru };
        let whole = [
            Options { sample: Some(design(64)), ..all.clone() },
            Options { flows: true, objects: true, ..all.clone() },
            Options { caches: vec![cache], ..all.clone() },
            Options { window: Some(1), ..all.clone() },
            Options { optimum: vec![64], ..all.clone() },
            Options { together: together(), ..all.clone() },
        ];
        let named = whole.map(|options| options.in_one_piece().map(|(option, _)| option));
        let expected = ["--sample", "--flows --objects", "--cache", "--window", "--optimum", "--threads"];
        assert_eq!(named, expected.map(Some));
        for parts in [all.clone(), Options { flows: true, ..all.clone() }, Options { objects: true, ..all }] {
            assert_eq!(parts.in_one_piece(), None);
        }
    }

    #[test]
    fn lives_matter_to_bytes_objects_and_sequences_and_not_to_lines_alone() {
        let lines = Options { lines_only: true, ..Options::default() };
        assert!(Options::default().needs_lives() && !lines.needs_lives());
        assert!(Options { objects: true, ..lines.clone() }.needs_lives());
        assert!(Options { sequence: Some(Arc::new(Named(&[REGION]))), ..lines }.needs_lives());
    }

    #[test]
    fn sites_of_processes_that_have_ended_matter_to_threads_together() {
        assert!(Options::default().forgets_sites());
        assert!(!Options { together: together(), ..Options::default() }.forgets_sites());
    }

    #[test]
    fn programs_are_told_of_all_samples_the_one_for_all_runs_last() {
        let early = vec![Early { sample: None, until: 100 }, Early { sample: Some(design(4)), until: 1000 }];
        let options = Options { sample: Some(design(64)), filtered: true, early, ..Options::default() };
        let stages = options.stages().expect("programs draw it");
        let (none, told) = stages.split_at(STAGES - 3);
        let of = |stage: &Stage| (stage.one_in, stage.until);
        assert!(none.iter().all(|stage| *stage == Stage::default()));
        assert_eq!(told.iter().map(of).collect::<Vec<_>>(), [(1, 100), (4, 1000), (64, u64::MAX)]);
        assert_eq!(Options { filtered: false, ..options.clone() }.stages(), None);
        assert_eq!(Options { sample: None, ..options }.stages(), None);
    }
}
