//! A ring that is replayed in slices.
//!
//! Takes words as a replay does, cuts them into slices of about a number of accesses, and has these done in `turns`; if
//! flows are followed, after a first pass over each (`first_pass`). Refuses what `turns` refuses.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    super::{
        analyzer::Analyzer,
        boundaries::Boundaries,
        charge::Charging,
        exact::{SliceLog, SlicedLog},
        options::Options,
        pipeline::detached::Detached,
        result::MemoryResult,
        scan::{Scanned, Stop},
    },
    common::{Shared, Slice},
    first_pass::FirstPass,
    owners::Owners,
    pool::Pool,
    slice_replayer::{SliceReplayer, Start},
    turns::{Slices, Turns},
    whole::{PrefixHits, Whole},
};
use crate::{
    decode::{block::CellNumber, locator::ModuleSource},
    oplog::Recorded,
};

/// Accesses of a slice, about, if nothing else is said.
const SLICE: u64 = 4 << 20;
/// Words of a slice, about, at most: 8 MiB.
const MOST_WORDS: usize = 1 << 20;

/// A ring that is replayed in slices.
pub struct SlicedRing {
    /// Knows what runs; has counted what came before the first slice, and has no engine.
    analyzer: Box<Analyzer>,
    /// What that asked of the engine, if that is needed again.
    first_log: Option<io::Result<Recorded>>,
    /// If flows are followed.
    first_pass: Option<Turns<FirstPass>>,
    turns: Turns<Replays>,
    limit: u64,
    /// The slice at hand.
    start: Start,
    words: Vec<u64>,
    work: u64,
}

/// Replays slices.
struct Replays {
    options: Options,
    shared: Arc<Mutex<Shared>>,
}

/// All slices that were resolved.
struct Resolved {
    whole: Whole,
    owners: Owners,
}

/// A slice that was replayed.
struct Replayed {
    boundaries: Boundaries,
    part: usize,
    cells: usize,
    log: Option<io::Result<SliceLog>>,
}

impl SlicedRing {
    /// Goes on with what an analyzer has done so far.
    #[must_use]
    pub fn new(mut analyzer: Box<Analyzer>, pool: &Arc<Pool>, options: &Options) -> Self {
        let Charging { engine, counters, .. } = &mut analyzer.core.charging;
        engine.flush(&mut counters.files());
        let first_log = engine.log.take().map(|log| log.finish());
        let Detached { engine_slot, beside, flows } = engine.lend(&mut counters.files());
        let owners = Owners::new(counters.cells.len());
        let resolved = Resolved { whole: Whole::new(engine_slot, beside, options.ways.hash), owners };
        let shared = Arc::<Mutex<Shared>>::default();
        let first_pass = flows.map(|flows| Turns::new(FirstPass::new(options, &shared), *flows, pool));
        let replays = Replays { options: options.clone(), shared };
        Self {
            start: Start::from_analyzer(&analyzer),
            analyzer,
            first_log,
            first_pass,
            turns: Turns::new(replays, resolved, pool),
            limit: options.slice.unwrap_or(SLICE),
            words: Vec::new(),
            work: 0,
        }
    }

    /// Takes a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &mut impl ModuleSource) {
        let (mut rest, mut lost) = (words, 0);
        while !rest.is_empty() {
            let Scanned { words, work, modules, stop } =
                self.analyzer.scan(rest, self.limit.saturating_sub(self.work), source);
            let (scanned, others) = rest.split_at(words);
            self.words.extend_from_slice(scanned);
            (rest, self.work, self.start.modules) = (others, self.work + work, modules);
            if stop == Stop::Lost {
                lost = rest.len();
                break;
            }
            if self.words.len() >= MOST_WORDS || matches!(stop, Stop::Full | Stop::NewModule) {
                self.submit();
            }
        }
        self.analyzer.core.charging.totals.replayed(words, lost as u64);
    }

    /// Hands the slice at hand over.
    fn submit(&mut self) {
        let next = Start::from_analyzer(&self.analyzer);
        let start = std::mem::replace(&mut self.start, next);
        if self.words.is_empty() {
            return;
        }
        match &self.first_pass {
            Some(first_pass) => first_pass.wait_for_room(),
            None => self.turns.wait_for_room(),
        }
        let mut shared = self.turns.slices().lock();
        shared.known.learn(&self.analyzer);
        let empty = shared.spare.pop().unwrap_or_default();
        drop(shared);
        self.work = 0;
        let slice = Slice { start, words: std::mem::replace(&mut self.words, empty), states: None };
        match &mut self.first_pass {
            Some(first_pass) => {
                first_pass.submit(slice);
                self.submit_seen();
            }
            None => self.turns.submit(slice),
        }
    }

    /// Hands over what the first pass is done with.
    fn submit_seen(&mut self) {
        let next = |turns: &Turns<Replays>| turns.slices().lock().seen.pop_front();
        while let Some(slice) = next(&self.turns) {
            self.turns.wait_for_room();
            self.turns.submit(slice);
        }
    }

    /// Waits until all slices are resolved.
    pub fn resolve(&mut self) {
        self.submit();
        if let Some(first_pass) = &self.first_pass {
            first_pass.wait();
        }
        self.submit_seen();
        self.turns.wait();
    }

    /// Ends the replay and gives up the counters, those without dead bytes if operations were written down.
    #[must_use]
    pub fn finish(mut self) -> MemoryResult {
        let pool = self.turns.pool().clone();
        let first_log = self.first_log.take();
        let logs = std::mem::take(&mut self.turns.slices().lock().logs);
        let (analyzer, numbers) = self.sum();
        analyzer.finish_with_exact(first_log.map(|first| {
            move |cells| {
                let log = SlicedLog { first: first?, slices: logs.into_iter().collect::<io::Result<_>>()?, numbers };
                log.analyse(cells, &pool)
            }
        }))
    }

    /// Ends a replay in whose middle the system refused something; see [`Analyzer::salvage`].
    #[must_use]
    pub fn salvage(self) -> MemoryResult {
        self.sum().0.salvage()
    }

    /// Adds everything up; what slices counted that are not resolved is in it, but not what they would have found below
    /// them. Gives, by part, the numbers of its cells too.
    fn sum(self) -> (Analyzer, Vec<Vec<CellNumber>>) {
        let Self { mut analyzer, mut turns, first_pass, .. } = self;
        let mut flows = first_pass.map(|mut first_pass| Box::new(first_pass.finish().1));
        let (mut parts, Resolved { whole, owners }) = turns.finish();
        let Whole { engine_slot, mut beside, mut found, cold, .. } = whole;
        let mut counters = owners.counters();
        let pairs = beside.finish(&mut counters);
        let below = |part: usize, cell: CellNumber, counted: &mut _| found[part].cells[cell.index()].merge(counted);
        owners.file(counters, &mut analyzer.core.charging.counters.cells, below);
        parts.sort_unstable_by_key(|part| part.number);
        let absorb = |SliceReplayer { number, analyzer: mut part }| {
            let PrefixHits { cells, hash, flows: below } =
                found.get_mut(number).map(std::mem::take).unwrap_or_default();
            if let (Some(all), Some(mut flows)) = (&mut flows, part.core.charging.engine.sinks.flows.take()) {
                flows.counters().add(below);
                all.others.extend(flows.finish().flows);
            }
            analyzer.absorb(part.into_counted(), cells, hash.as_ref())
        };
        let numbers: Vec<Vec<CellNumber>> = parts.into_iter().map(absorb).collect();
        let Charging { engine, counters, .. } = &mut analyzer.core.charging;
        counters.pairs.add(pairs, |cell| owners.resolved(cell, &numbers));
        counters.cold.merge(&cold);
        engine.give_back(engine_slot, flows);
        (*analyzer, numbers)
    }

    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.analyzer.accesses() + self.turns.slices().lock().accesses
    }

    /// Memory that engines hold, as last heard.
    #[must_use]
    pub fn engine_bytes(&self) -> u64 {
        self.analyzer.object_bytes() + self.turns.slices().lock().bytes
    }
}

impl Replays {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        Shared::lock(&self.shared)
    }
}

impl Slices for Replays {
    type Part = SliceReplayer;
    type Task = Slice;
    type Done = Replayed;
    type Whole = Resolved;

    fn part(&self, number: usize) -> SliceReplayer {
        SliceReplayer::new(number, &self.options)
    }

    fn go(&self, part: &mut SliceReplayer, Slice { start, mut words, states }: Slice) -> Replayed {
        let before = (part.analyzer.accesses(), part.analyzer.engine_bytes());
        part.prepare(start, &self.lock().known);
        if let Some(states) = states {
            part.begin_second_pass(&states);
        }
        part.go_on(&words);
        let boundaries = part.end();
        let log = part.log(&boundaries.bytes);
        words.clear();
        let mut shared = self.lock();
        shared.spare.push(words);
        shared.accesses += part.analyzer.accesses() - before.0;
        shared.holds(part.analyzer.engine_bytes(), before.1);
        Replayed { boundaries, part: part.number, cells: part.cells(), log }
    }

    fn resolve(
        &self,
        Resolved { whole, owners }: &mut Resolved,
        Replayed { mut boundaries, part, cells, log }: Replayed,
    ) {
        let before = whole.heap_bytes();
        whole.resolve(&mut boundaries, part, cells);
        whole.beside.resolve(&boundaries.beside, owners.numbers_for(part));
        let mut shared = self.lock();
        shared.holds(whole.heap_bytes(), before);
        shared.logs.extend(log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::ItemKind,
        counts::cell::CellCounters,
        tests::{
            program::{Function, Image, Program, Segment, item},
            run::Modules,
        },
    };

    /// A store and a load of 8 bytes.
    fn program() -> Program {
        let block = |kind| Segment::block(1, vec![item(kind, 1, 0, 8)]);
        let segments = vec![block(ItemKind::Store), block(ItemKind::Load)];
        let functions = vec![Function { name: "main".into(), segments }];
        Program { images: vec![Image { functions, variables: Vec::new() }] }
    }

    const STORE: u32 = 0;
    const LOAD: u32 = 1;

    /// A ring in slices of so many accesses, that has replayed these chunks.
    fn replayed(slice: u64, chunks: &[&[u64]]) -> SlicedRing {
        let options = Options { hints: true, workers: 2, slice: Some(slice), ..Options::default() };
        let mut modules = Modules::new(&program());
        let pool = Arc::new(Pool::new(2));
        let mut ring = SlicedRing::new(Box::new(Analyzer::new(options.clone())), &pool, &options);
        chunks.iter().for_each(|words| ring.replay(words, &mut modules));
        ring
    }

    fn words(steps: &[(u32, u64)]) -> Vec<u64> {
        steps.iter().flat_map(|&(segment, address)| [program().address((0, segment)), address]).collect()
    }

    /// Bytes written, bytes of first touches, and the price of all that was read.
    fn counted(result: &MemoryResult) -> (u64, u64, u128) {
        let sum = |(written, cold, cost), cell: &CellCounters| {
            let mut cell = cell.clone();
            cell.flush();
            (written + cell.written, cold + cell.cold, cost + cell.cost)
        };
        result.cells.iter().fold((0, 0, 0), sum)
    }

    /// ceil(sqrt(depth)) of the depths 9 to 16.
    const BELOW_8: u128 = 3 + 7 * 4;

    #[test]
    fn reads_find_bytes_of_earlier_slices_at_the_depths_that_they_have_in_the_whole() {
        let words = words(&[(STORE, 0), (LOAD, 800), (LOAD, 0), (STORE, 900), (LOAD, 0)]);
        for slice in 1..8 {
            let mut ring = replayed(slice, &[&words[..4], &[], &words[4..]]);
            ring.resolve();
            assert_eq!(ring.accesses(), 5);
            let result = ring.finish();
            assert_eq!(counted(&result), (16, 8, 3 * BELOW_8), "slices of {slice}");
            assert_eq!((result.ring.totals.peak_live, result.ring.totals.footprint), (24, 24));
            assert_eq!(result.cold.iter().map(|(_, bytes)| bytes).sum::<u64>(), 8);
            assert_eq!(result.blocks.iter().map(|block| block.executions).collect::<Vec<_>>(), [2, 3]);
        }
    }

    #[test]
    fn what_cannot_be_decoded_ends_its_chunk_and_no_other() {
        let (before, behind) = (words(&[(STORE, 0), (LOAD, 0)]), words(&[(LOAD, 0)]));
        let lost = [before.clone(), vec![7], behind.clone()].concat();
        for slice in [1, 100] {
            let mut ring = replayed(slice, &[&lost, &behind]);
            ring.resolve();
            let result = ring.finish();
            let totals = result.ring.totals;
            assert_eq!((totals.accesses, totals.lost_words, totals.active), (3, 3, true), "slices of {slice}");
            assert_eq!(counted(&result).0, 8);
        }
        let mut ring = replayed(4, &[&[7]]);
        ring.resolve();
        let totals = ring.finish().ring.totals;
        assert_eq!((totals.accesses, totals.lost_words, totals.active), (0, 1, false));
    }

    #[test]
    fn slices_go_on_behind_what_an_analyzer_has_counted() {
        let options = Options { hints: true, workers: 2, slice: Some(1), ..Options::default() };
        let mut modules = Modules::new(&program());
        let mut analyzer = Box::new(Analyzer::new(options.clone()));
        analyzer.replay(&words(&[(STORE, 0), (LOAD, 800)]), &mut modules);
        let mut ring = SlicedRing::new(analyzer, &Arc::new(Pool::new(2)), &options);
        ring.replay(&words(&[(LOAD, 0), (LOAD, 800)]), &mut modules);
        ring.resolve();
        assert_eq!(ring.accesses(), 4);
        assert_eq!(counted(&ring.finish()), (8, 8, 3 * BELOW_8));
    }

    #[test]
    fn what_slices_had_counted_by_then_is_salvaged() {
        let mut ring = replayed(2, &[&words(&[(STORE, 0), (STORE, 8), (LOAD, 0)])]);
        ring.resolve();
        assert_eq!(counted(&ring.salvage()), (16, 0, BELOW_8));
    }
}
