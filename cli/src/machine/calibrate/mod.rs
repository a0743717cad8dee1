//! Measures this machine and describes it: peak rates, bandwidths of all levels, memory latency.
//!
//! Takes a [`Plan`], gives a [`Calibration`]: medians with their spread, and the [`Machine`] they make. All that is
//! measured is measured once per round, round after round, so that a disturbance meets one sample of everything and not
//! all samples of one number. Refuses machines that do not tell their caches. How each number is obtained:
//! `docs/machines.md`.

mod bench;
mod core;
mod kernels;
mod samples;
mod system;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

pub use self::bench::Plan;
use self::bench::{Results, Task};
pub use self::samples::SPREAD_LIMIT;
use self::samples::Samples;
use self::system::System;
use super::Threads;
use super::model::{Confidence, Figure, Level, Machine, Memory, OpType, Origin, Sharers, WritePolicy};
use crate::shared::quantity::{self, Kind};

/// One number with its spread.
#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    pub kind: Kind,
    pub samples: Samples,
    /// What was run.
    pub how: String,
    /// Whether the machine file has it as a number, not only in a note.
    pub in_file: bool,
}

/// What was measured, and on what.
pub struct Calibration {
    system: System,
    threads: usize,
    plan: Plan,
    results: Results,
}

/// Measures.
///
/// # Errors
/// When the system does not tell its caches, or has too little free memory.
pub fn measure(plan: Plan) -> anyhow::Result<Calibration> {
    let system = System::read(Path::new("/"))?;
    let threads = match plan.threads {
        Threads::One => 1,
        Threads::All => system.processors,
    };
    let results = bench::run(&system, threads, plan)?;
    Ok(Calibration { system, threads, plan, results })
}

impl Calibration {
    /// All numbers, those of the file first.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let best = [OpType::Fp64, OpType::Fp32].map(|kind| self.results.best(kind).0.clone());
        let row = |(task, samples): &(Task, Samples)| {
            let in_file = match task {
                Task::Flops { .. } => best.contains(task),
                Task::Read { level } => *level > 0,
                Task::Latency | Task::Cycle => true,
                _ => false,
            };
            Row { what: self.name(task), kind: task.kind(), samples: samples.clone(), how: self.how(task), in_file }
        };
        let mut rows: Vec<Row> = self.results.all().iter().map(row).collect();
        rows.sort_by_key(|row| !row.in_file);
        rows
    }

    /// What the system says of each level: its name, bytes, and who shares one part of it, in words.
    #[must_use]
    pub fn cache_levels(&self) -> Vec<(String, u64, String)> {
        let levels = self.system.caches.iter().enumerate();
        let found = levels.map(|(level, cache)| {
            let who = match cache.shared_by {
                Some(1) => "one core".into(),
                Some(cores) => format!("{cores} cores"),
                None => "not told, taken as one core".into(),
            };
            (self.level_name(level), cache.bytes, who)
        });
        found.collect()
    }

    /// Numbers of the file that do not repeat well enough.
    #[must_use]
    pub fn noisy(&self) -> Vec<Row> {
        let rows = self.rows().into_iter();
        rows.filter(|row| row.in_file && row.samples.spread() > SPREAD_LIMIT).collect()
    }

    /// The machine. Numbers that do not repeat well enough are marked as estimated.
    ///
    /// # Errors
    /// When nothing was measured of a level, which a plan without rounds would cause.
    pub fn machine(&self, name: &str, origin: PathBuf) -> anyhow::Result<Machine> {
        let reads = self.reads();
        let peak = [OpType::Fp64, OpType::Fp32].map(|kind| {
            let (task, samples) = self.results.best(kind);
            (kind, self.figure(task, samples))
        });
        let beyond = |level: usize| reads.get(level + 1).map(|(task, samples)| self.figure(task, samples));
        let levels: Vec<Level> = (0..self.system.caches.len())
            .map(|i| Level {
                name: self.level_name(i),
                capacity: self.capacity(i),
                bandwidth: beyond(i),
                energy: None,
                per_core: self.system.caches[i].per_core,
                shared_by: self.system.caches[i].shared_by.map(|cores| Sharers::Cores(self.told(cores as f64))),
                line: Some(self.told(self.system.caches[i].line as f64)),
                ways: self.system.caches[i].ways.map(|ways| self.told(f64::from(ways))),
                // So are the caches of x86-64 for all memory that programs get.
                write: Some(WritePolicy::Back),
            })
            .collect();
        let caches: Vec<u64> = self.system.caches.iter().map(|cache| cache.bytes).collect();
        let last = self.system.caches.len() - 1;
        let (latency_task, latency) = self.results.latency();
        let convention =
            |value, source: &str| Figure { value, confidence: Confidence::Convention, source: source.into() };
        Ok(Machine {
            name: name.into(),
            title: self.title(),
            origin: Origin::File(origin),
            notes: self.notes(),
            peak: peak.into_iter().collect(),
            default_type: OpType::Fp64,
            efficiency: Some(convention(1.0, "the peak is a measured rate")),
            memory: Memory {
                capacity: Some(self.told(self.system.memory as f64)),
                bandwidth: beyond(last),
                latency: Some(self.figure(latency_task, latency)),
                transfer: Some(self.told(self.system.caches[last].line as f64)),
                energy: None,
            },
            fast_memory: Some(convention(
                levels.last().context("no level")?.capacity.value,
                "the capacity of the last level",
            )),
            levels,
            cores: Some(self.cores()),
            floor: Some(convention(0.0, "a function on the same processor is not dispatched")),
            setup: None,
            launch: None,
            transfer_in: None,
            op_energy: Default::default(),
            addition_energy: Default::default(),
            power_max: None,
            power_idle: None,
            price: None,
            growth: None,
            core: self.core(&caches),
        })
    }

    fn core(&self, caches: &[u64]) -> BTreeMap<&'static str, Figure> {
        let mut numbers = core::numbers(&self.results, caches, self.threads == 1);
        numbers.insert("huge_pages", self.told(f64::from(self.system.huge_pages)));
        numbers
    }

    /// Reads from each level and from memory, from the cores outwards.
    fn reads(&self) -> Vec<&(Task, Samples)> {
        self.results.all().iter().filter(|(task, _)| matches!(task, Task::Read { .. })).collect()
    }

    fn cores(&self) -> Figure {
        match self.plan.threads {
            Threads::One => Figure { source: "one thread ran".into(), ..self.told(1.0) },
            Threads::All => self.told(self.system.cores as f64),
        }
    }

    fn title(&self) -> String {
        let cores = match self.plan.threads {
            Threads::One => "one core".into(),
            Threads::All => format!("all {} processors", self.threads),
        };
        format!("{}, {cores}, measured", self.system.model)
    }

    fn level_name(&self, level: usize) -> String {
        self.system.caches.get(level).map_or_else(|| "memory".into(), |cache| format!("L{}", cache.level))
    }

    fn capacity(&self, level: usize) -> Figure {
        let cache = &self.system.caches[level];
        let parts =
            if cache.per_core || self.threads == 1 { 1 } else { self.system.processors.div_ceil(cache.sharers) };
        let mut figure = self.told((cache.bytes * parts as u64) as f64);
        if parts > 1 {
            figure.source = format!("{}: {parts} parts", figure.source);
        }
        figure
    }

    fn told(&self, value: f64) -> Figure {
        Figure { value, confidence: Confidence::Measured, source: "as the system says".into() }
    }

    fn figure(&self, task: &Task, samples: &Samples) -> Figure {
        samples.figure(samples.median(), self.is_doubtful(task), &self.how(task))
    }

    /// Whether the number may be of another level than it says: too little was read to be sure that it came from beyond
    /// the last cache, or a cache was not faster than what lies beyond it.
    fn is_doubtful(&self, task: &Task) -> bool {
        let sizes = &self.results.sizes;
        let read = sizes.memory * self.threads as u64;
        match task {
            Task::Read { level } if *level < self.system.caches.len() => self.results.is_not_faster(*level),
            Task::Read { .. } => read < 2 * self.last_level(),
            Task::Latency => read + sizes.chain() < 2 * self.last_level(),
            _ => false,
        }
    }

    /// Caches that seem to be worth nothing.
    #[must_use]
    pub fn not_faster(&self) -> Vec<String> {
        let levels = (0..self.system.caches.len()).filter(|level| self.results.is_not_faster(*level));
        let say = |level: usize| {
            let (inner, outer) = (self.level_name(level), self.level_name(level + 1));
            format!(
                "{inner} was not faster than {outer}: what the system calls {inner} may not all be there for one program."
            )
        };
        levels.map(say).collect()
    }

    /// Bytes of the last level that the threads of this calibration can use.
    fn last_level(&self) -> u64 {
        self.capacity(self.system.caches.len() - 1).value as u64
    }

    fn name(&self, task: &Task) -> String {
        match task {
            Task::Flops { precision, isa } => format!("peak {} {}", precision.op_type(), isa.label()),
            Task::Read { level } => format!("read {}", self.level_name(*level)),
            Task::Latency => "memory latency".into(),
            Task::Cycle => "cycle".into(),
            Task::Pages => "latency in pages".into(),
            Task::FirstTouch => "first touch of a page".into(),
            Task::Branches { drawn: false } => "known branch".into(),
            Task::Branches { drawn: true } => "branch drawn by lot".into(),
            Task::Chain { bits } => {
                format!("latency in {}", quantity::rounded(((kernels::LINE as u64) << bits) as f64, Kind::Bytes))
            }
        }
    }

    fn how(&self, task: &Task) -> String {
        let bytes = |n: u64| quantity::rounded(n as f64, Kind::Bytes);
        match task {
            Task::Flops { isa, .. } => format!("{} loop", isa.label()),
            Task::Read { level } => {
                let each = if self.threads > 1 { " per thread" } else { "" };
                let (label, size) = (kernels::Isa::widest().label(), bytes(self.results.sizes.level(*level)));
                format!("{label} loads of {size}{each} in {}", self.level_name(*level))
            }
            Task::Cycle => "chain of additions".into(),
            Task::FirstTouch => "pages of new mappings in order".into(),
            Task::Branches { .. } => "chain of numbers, a branch by a bit of each".into(),
            Task::Chain { .. } => "chain of loads".into(),
            Task::Pages => "chain of loads, a page each".into(),
            Task::Latency => format!("chain of loads through {}", bytes(self.results.sizes.chain())),
        }
    }

    fn notes(&self) -> Vec<String> {
        let rounds = self.plan.rounds;
        let threads = if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) };
        let mut notes = vec![format!(
            "Measured by dmdprof {} with {threads}, {rounds} rounds; spread is the interquartile range over the median.",
            env!("CARGO_PKG_VERSION")
        )];
        let others = self.rows().into_iter().filter(|row| !row.in_file);
        notes.extend(others.map(|row| {
            let value = quantity::rounded(row.samples.median(), row.kind);
            format!("Also measured: {}: {value} ({}, {}).", row.what, row.samples, row.how)
        }));
        notes.extend(self.not_faster());
        let (read, last) = (self.results.sizes.memory * self.threads as u64, self.last_level());
        if read < 4 * last {
            notes.push(format!(
                "Memory was measured with buffers of {:.1} times the last level: part of it may have come from there.",
                read as f64 / last as f64
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::machine::{file::from_text, text};

    fn hasty(threads: Threads) -> Calibration {
        let plan = Plan { budget: Duration::from_millis(150), rounds: 3, threads, memory: 32 << 20 };
        measure(plan).expect("this machine tells its caches")
    }

    #[test]
    fn even_a_hasty_calibration_is_a_right_machine_file() {
        for threads in [Threads::One, Threads::All] {
            let calibration = hasty(threads);
            let machine = calibration.machine("local", "local.toml".into()).expect("measured");
            let path = Path::new("local.toml");
            let parsed = from_text(path, &text::to_toml(&machine), Origin::File(path.into()));
            assert_eq!(parsed.as_ref().map(|p| &p.machine), Ok(&machine));
            assert!(calibration.rows().iter().all(|row| row.samples.median() > 0.0 && row.samples.spread() >= 0.0));
            let last = machine.levels.last().expect("a cache");
            assert_eq!(last.bandwidth, machine.memory.bandwidth);
            assert!(machine.cores.is_some_and(|c| c.value >= 1.0));
        }
    }

    #[test]
    fn no_instructions_are_claimed_that_the_machine_lacks() {
        let rows = hasty(Threads::One).rows();
        let claims = |label: &str| rows.iter().any(|row| row.what.ends_with(label));
        assert!(claims("scalar") && claims("SSE2"));
        assert_eq!(claims("AVX2 FMA"), is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"));
        assert_eq!(claims("AVX-512"), is_x86_feature_detected!("avx512f"));
    }

    #[test]
    fn numbers_that_do_not_repeat_are_marked() {
        let calibration = hasty(Threads::One);
        let machine = calibration.machine("local", "local.toml".into()).expect("measured");
        let noisy = calibration.noisy();
        let of_peak = |kind: OpType| machine.peak[&kind].confidence == Confidence::Estimated;
        let is_noisy = |word: &str| noisy.iter().any(|row| row.what.starts_with(&format!("peak {word}")));
        assert_eq!(of_peak(OpType::Fp64), is_noisy("fp64"));
        assert_eq!(of_peak(OpType::Fp32), is_noisy("fp32"));
        for (i, level) in machine.levels.iter().enumerate().skip(1) {
            if calibration.results.is_not_faster(i) {
                let fill = machine.levels[i - 1].bandwidth.as_ref().expect("measured");
                assert_eq!(fill.confidence, Confidence::Estimated, "{}", level.name);
            }
        }
    }
}
