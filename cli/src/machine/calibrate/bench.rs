//! Runs every measurement once per round.
//!
//! Each thread has a buffer for caches, of which each level reads the beginning, and one for memory; one chain of loads
//! is for the latency. They are apart, so that what one measurement leaves in the caches does not help another. Walks
//! through the last two go on where they stopped: nothing is met again until all of it was met. A measurement runs for
//! its slice of time.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::kernels::{self, Isa, LINE, Line, Precision};
use super::samples::Samples;
use super::system::{Cache, System};
use crate::{
    machine::{Threads, model::OpType},
    shared::quantity::Kind,
};

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub budget: Duration,
    pub rounds: u32,
    pub threads: Threads,
    /// Bytes that all buffers together may take.
    pub memory: u64,
}

impl Plan {
    /// Nine rounds and at most two GiB.
    #[must_use]
    pub fn new(budget: Duration, threads: Threads) -> Self {
        Plan { budget, rounds: 9, threads, memory: 2 << 30 }
    }
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// op/s.
    Flops { isa: Isa, precision: Precision },
    /// B/s from a level; the number of levels stands for the memory.
    Read { level: usize },
    /// s per load that waits for the one before.
    Latency,
    /// s per load that waits for the one before, through two to the power of so many lines.
    Chain { bits: u32 },
    /// s per load that waits for the one before, each of a page of its own.
    Pages,
    /// s per addition that waits for the one before: a cycle.
    Cycle,
    /// s per page that is touched for the first time.
    FirstTouch,
    /// s per branch whose direction is known, or drawn by lot.
    Branches { drawn: bool },
}

impl Task {
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Task::Flops { .. } => Kind::OpsPerSecond,
            Task::Read { .. } => Kind::BytesPerSecond,
            Task::Latency
            | Task::Chain { .. }
            | Task::Pages
            | Task::Cycle
            | Task::FirstTouch
            | Task::Branches { .. } => Kind::Seconds,
        }
    }
}

/// All samples, and the buffers they were taken with.
pub struct Results {
    samples: Vec<(Task, Samples)>,
    pub sizes: Sizes,
}

impl Results {
    #[must_use]
    pub fn all(&self) -> &[(Task, Samples)] {
        &self.samples
    }

    /// The fastest instructions of a type: scalar ones are always there.
    #[must_use]
    pub fn best(&self, kind: OpType) -> &(Task, Samples) {
        let of_type = |task: &Task| matches!(task, Task::Flops { precision, .. } if precision.op_type() == kind);
        let candidates = self.samples.iter().filter(|(task, _)| of_type(task));
        candidates.max_by(|a, b| a.1.median().total_cmp(&b.1.median())).expect("scalar code was measured")
    }

    #[must_use]
    pub fn latency(&self) -> &(Task, Samples) {
        self.samples.iter().find(|(task, _)| *task == Task::Latency).expect("latency was measured")
    }

    fn samples_of(&self, task: &Task) -> &Samples {
        &self.samples.iter().find(|(other, _)| other == task).expect("it was measured").1
    }

    #[must_use]
    pub fn cycle(&self) -> &Samples {
        self.samples_of(&Task::Cycle)
    }

    #[must_use]
    pub fn pages(&self) -> &Samples {
        self.samples_of(&Task::Pages)
    }

    #[must_use]
    pub fn first_touch(&self) -> &Samples {
        self.samples_of(&Task::FirstTouch)
    }

    /// Of a direction that is known, and of one that is drawn by lot.
    #[must_use]
    pub fn branches(&self) -> [&Samples; 2] {
        [false, true].map(|drawn| self.samples_of(&Task::Branches { drawn }))
    }

    /// B/s from a level, the number of levels standing for the memory.
    #[must_use]
    pub fn read(&self, level: usize) -> &Samples {
        self.samples_of(&Task::Read { level })
    }

    /// Whether a cache was read no faster than the next level.
    #[must_use]
    pub fn is_not_faster(&self, cache: usize) -> bool {
        self.read(cache).median() <= self.read(cache + 1).median()
    }

    /// Chains by their bytes, the shortest first.
    pub fn chains(&self) -> impl Iterator<Item = (u64, &Samples)> {
        self.samples.iter().filter_map(|(task, samples)| match task {
            Task::Chain { bits } => Some(((LINE as u64) << bits, samples)),
            _ => None,
        })
    }
}

/// Measures everything, in rounds.
///
/// # Errors
/// When memory is short.
pub fn run(system: &System, threads: usize, plan: Plan) -> anyhow::Result<Results> {
    let sizes = Sizes::for_system(system, threads, plan.memory);
    let tasks = tasks(system, sizes.chain_bits);
    if sizes.memory < MIN_BUFFER {
        bail!("too little free memory to measure memory with: {} MiB", system.available >> 20);
    }
    let mut chain = Chain { lines: kernels::cycle(sizes.chain_bits), at: 0 };
    let mut pages = Chain { lines: kernels::page_cycle(sizes.chain_bits.saturating_sub(6).min(PAGES)), at: 0 };
    let mut number = 1;
    let mut shorter: BTreeMap<u32, Chain> = BTreeMap::new();
    let mut workers = on_all_threads(threads, || Worker::new(&sizes));
    let rounds = plan.rounds.max(1);
    let slice = plan.budget / (rounds * tasks.len() as u32);
    let mut samples = vec![Vec::new(); tasks.len()];
    for _ in 0..rounds {
        for (task, samples) in tasks.iter().zip(&mut samples) {
            samples.push(match task {
                Task::Latency => 1.0 / chain.hops_per_second(slice),
                Task::Chain { bits } => {
                    let new = || Chain { lines: kernels::cycle(*bits), at: 0 };
                    1.0 / shorter.entry(*bits).or_insert_with(new).hops_per_second(slice)
                }
                Task::Pages => 1.0 / pages.hops_per_second(slice),
                Task::Cycle => 1.0 / timed(slice, || kernels::additions(ADDITIONS)),
                Task::FirstTouch => 1.0 / timed(slice, kernels::first_touches),
                Task::Branches { drawn } => 1.0 / timed(slice, || kernels::branches(&mut number, BRANCHES, *drawn)),
                _ => together(&mut workers, |worker| worker.rate(task, slice)),
            });
        }
    }
    let samples = samples.into_iter().filter_map(Samples::from_values);
    Ok(Results { samples: tasks.into_iter().zip(samples).collect(), sizes })
}

/// Pages, as a power of two: more than translations are kept of, with no more lines than a second level has.
const PAGES: u32 = 14;
/// Lines of the shortest chain, as a power of two: 16 KiB, which a first level has.
const SHORTEST_CHAIN: u32 = 8;
/// Lines of the longest chain, as a power of two, which none may be as long as: 128 MiB.
const LONGEST_CHAIN: u32 = 21;

const MIN_BUFFER: u64 = 1 << 20;

fn tasks(system: &System, most_bits: u32) -> Vec<Task> {
    let precisions = [Precision::Double, Precision::Single];
    let flops = precisions
        .into_iter()
        .flat_map(|precision| Isa::present().into_iter().map(move |isa| Task::Flops { isa, precision }));
    let reads = (0..=system.caches.len()).map(|level| Task::Read { level });
    let chains = (SHORTEST_CHAIN..most_bits.min(LONGEST_CHAIN)).map(|bits| Task::Chain { bits });
    let branches = [false, true].map(|drawn| Task::Branches { drawn });
    let others = [Task::Latency, Task::Pages, Task::Cycle, Task::FirstTouch].into_iter().chain(branches);
    flops.chain(reads).chain(others).chain(chains).collect()
}

/// Bytes that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Per thread, of each cache.
    pub caches: Vec<u64>,
    /// Per thread.
    pub memory: u64,
    /// The chain has two to the power of this many lines.
    chain_bits: u32,
}

impl Sizes {
    /// Half a thread's share of each cache; of memory four times its share of the last cache; all within the limit.
    fn for_system(system: &System, threads: usize, limit: u64) -> Self {
        let limit = limit.min(system.available / 4);
        let chain_bits = (CHAIN.min(limit / 4) / LINE as u64).max(1).ilog2();
        let limit = (limit - limit / 4) / threads as u64;
        let share = |cache: &Cache| cache.bytes / cache.sharers.min(threads) as u64;
        let whole_blocks = |bytes: u64| (bytes / BLOCK * BLOCK).max(BLOCK);
        let half = |cache: &Cache| whole_blocks((share(cache) / 2).min(limit / 3));
        let caches: Vec<u64> = system.caches.iter().map(half).collect();
        let largest = caches.iter().copied().max().unwrap_or(0);
        let wanted = 4 * system.caches.last().map_or(0, share);
        Sizes {
            memory: whole_blocks(wanted.max(SMALLEST_MEMORY).min(limit.saturating_sub(largest))),
            caches,
            chain_bits,
        }
    }

    /// Bytes of the chain of loads.
    #[must_use]
    pub fn chain(&self) -> u64 {
        (LINE as u64) << self.chain_bits
    }

    /// Bytes of a cache, or of the memory beyond them.
    #[must_use]
    pub fn level(&self, level: usize) -> u64 {
        self.caches.get(level).copied().unwrap_or(self.memory)
    }
}

/// More lines than are met in a calibration of a few seconds.
const CHAIN: u64 = 256 << 20;
const SMALLEST_MEMORY: u64 = 64 << 20;

/// Loops read whole blocks.
const BLOCK: u64 = (kernels::UNROLL * LINE) as u64;

/// Lines that are read between looks at the clock.
const CHUNK: usize = (1 << 20) / LINE;

/// One thread's buffers.
struct Worker {
    caches: Vec<Line>,
    sizes: Sizes,
    memory: Vec<Line>,
    /// Where the walk through `memory` has come to.
    next: usize,
}

impl Worker {
    fn new(sizes: &Sizes) -> Self {
        let lines = |bytes: u64| kernels::touched(bytes as usize / LINE);
        let caches = lines(sizes.caches.iter().copied().max().unwrap_or(0));
        Worker { caches, sizes: sizes.clone(), memory: lines(sizes.memory), next: 0 }
    }

    /// Work per second.
    fn rate(&mut self, task: &Task, slice: Duration) -> f64 {
        match task {
            Task::Flops { isa, precision } => timed(slice, || kernels::flops(*isa, *precision, FLOP_ITERATIONS)),
            Task::Read { level } if *level < self.sizes.caches.len() => self.read_cache(*level, slice),
            Task::Read { .. } => self.read_memory(slice),
            _ => unreachable!("what is not measured on all threads has no worker"),
        }
    }

    fn read_cache(&self, level: usize, slice: Duration) -> f64 {
        let area = &self.caches[..self.sizes.caches[level] as usize / LINE];
        // Now it is in the cache.
        kernels::read(Isa::widest(), area, 1);
        read_on(area, &mut 0, slice)
    }

    fn read_memory(&mut self, slice: Duration) -> f64 {
        read_on(&self.memory, &mut self.next, slice)
    }
}

/// Bytes per second of a walk through the lines, again and again, from where it had come to.
fn read_on(lines: &[Line], next: &mut usize, slice: Duration) -> f64 {
    let isa = Isa::widest();
    let passes = (CHUNK / lines.len()).max(1);
    timed(slice, || {
        let from = if *next < lines.len() { *next } else { 0 };
        *next = lines.len().min(from + CHUNK);
        kernels::read(isa, &lines[from..*next], passes);
        ((*next - from) * passes * LINE) as f64
    })
}

/// Loads that wait for one another.
struct Chain {
    lines: Vec<Line>,
    at: usize,
}

impl Chain {
    fn hops_per_second(&mut self, slice: Duration) -> f64 {
        timed(slice, || {
            self.at = kernels::chase(&self.lines, self.at, HOPS);
            HOPS as f64
        })
    }
}

const ADDITIONS: u64 = 16_384;
const BRANCHES: u64 = 4096;
const FLOP_ITERATIONS: u64 = 16_384;
const HOPS: usize = 1024;

/// Repeats a step of some microseconds until the time is over; gives what the median step does per second, so that
/// steps in which another program had the processor do not count.
fn timed(slice: Duration, mut step: impl FnMut() -> f64) -> f64 {
    let start = Instant::now();
    let mut rates = Vec::new();
    let mut before = Duration::ZERO;
    while rates.is_empty() || before < slice {
        let done = step();
        let now = start.elapsed();
        rates.push(done / (now - before).as_secs_f64());
        before = now;
    }
    Samples::from_values(rates).expect("at least one step").median()
}

/// The sum of what all threads do at the same time.
fn together(workers: &mut [Worker], rate: impl Fn(&mut Worker) -> f64 + Sync) -> f64 {
    if let [only] = workers {
        return rate(only);
    }
    let (start, rate) = (&Barrier::new(workers.len()), &rate);
    std::thread::scope(|scope| {
        let begin = |worker| {
            scope.spawn(move || {
                start.wait();
                rate(worker)
            })
        };
        let running: Vec<_> = workers.iter_mut().map(begin).collect();
        running.into_iter().map(|thread| thread.join().expect("a measurement does not panic")).sum()
    })
}

/// Buffers are first touched all at once, each by a thread of its own.
fn on_all_threads<T: Send>(threads: usize, make: impl Fn() -> T + Sync) -> Vec<T> {
    let make = &make;
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(make)).collect();
        running.into_iter().map(|thread| thread.join().expect("a buffer is made without panic")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system() -> System {
        let cache = Cache::of_paired_threads;
        System {
            model: "test".into(),
            processors: 8,
            cores: 4,
            caches: vec![cache(1, 48 << 10, 2, true), cache(2, 1 << 20, 2, true), cache(3, 32 << 20, 8, false)],
            memory: 16 << 30,
            available: 8 << 30,
            huge_pages: 1,
        }
    }

    fn sizes(system: &System, threads: usize, limit: u64) -> [u64; 5] {
        let sizes = Sizes::for_system(system, threads, limit);
        [sizes.level(0), sizes.level(1), sizes.level(2), sizes.level(3), sizes.chain()]
    }

    #[test]
    fn each_cache_is_read_by_half_and_memory_by_four_times_the_last() {
        assert_eq!(sizes(&system(), 1, 2 << 30), [24 << 10, 512 << 10, 16 << 20, 128 << 20, 256 << 20]);
        assert_eq!(sizes(&system(), 8, 2 << 30), [12 << 10, 256 << 10, 2 << 20, 64 << 20, 256 << 20]);
        assert_eq!(sizes(&system(), 1, 32 << 20), [24 << 10, 512 << 10, 8 << 20, 16 << 20, 8 << 20]);
        let small = System { available: 128 << 20, ..system() };
        assert_eq!(sizes(&small, 1, 2 << 30), sizes(&system(), 1, 32 << 20));
    }
}
