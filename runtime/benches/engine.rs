//! Time per access and memory per touched byte of the depth engine, next to an Olken tree and Fenwick trees, in one
//! run.
//!
//!     cargo bench -p dmdprof-runtime --bench engine [-- --quick]
//!
//! Traces are taken in turn, and within a trace the implementations, several rounds each; the table gives medians.
//! Machines differ and are shared, so the ratios are what counts. Every implementation must find the same depths, or
//! the run stops. *As recorded* is how a profiled program's accesses come to the engine: loops as runs of accesses that
//! advance evenly, anything else in batches.

mod workloads;
mod yardsticks;

use std::hint::black_box;
use std::time::Instant;

use dmdprof_runtime::engine::{Access, BatchSink, DepthSink, Engine, EngineOptions, Isa, Kind, Stream};
use workloads::{Run, STORE, Trace};
use yardsticks::fenwick::Fenwick;
use yardsticks::olken::Olken;
use yardsticks::{Checksum, Hashed, Paged, Words};

const BASE: u64 = 0x7f12_3456_8000;
/// Accesses handed over at a time; making the batch is part of the time measured.
const BATCH: usize = 256;

impl DepthSink for Checksum {
    #[inline(always)]
    fn warm(&mut self, above: u64, len: u64) {
        Checksum::warm(self, above, len);
    }
    #[inline(always)]
    fn cold(&mut self, above: u64, len: u64) {
        Checksum::cold(self, above, len);
    }
}

impl BatchSink for Checksum {
    #[inline(always)]
    fn begin(&mut self, _number: usize) {}
}

#[inline(always)]
fn addr(access: u32) -> u64 {
    BASE + u64::from(access & !STORE) * 8
}

fn words<W: Words + Default>(trace: &[u32]) -> Checksum {
    let (mut machine, mut sum) = (W::default(), Checksum::default());
    for &access in trace {
        let word = u64::from(access & !STORE);
        if access & STORE == 0 { machine.load(word, &mut sum) } else { machine.store(word) }
    }
    black_box(machine);
    sum
}

fn plain(engine: &mut Engine, trace: &[u32]) -> Checksum {
    let mut sum = Checksum::default();
    for &access in trace {
        if access & STORE == 0 { engine.load(addr(access), 8, &mut sum) } else { engine.store(addr(access), 8) }
    }
    sum
}

fn kind(access: u32) -> Kind {
    if access & STORE == 0 { Kind::Load } else { Kind::Store }
}

fn batched(engine: &mut Engine, trace: &[u32]) -> Checksum {
    let mut sum = Checksum::default();
    let mut batch = Vec::with_capacity(BATCH);
    for part in trace.chunks(BATCH) {
        batch.clear();
        batch.extend(part.iter().map(|&access| Access { addr: addr(access), len: 8, kind: kind(access) }));
        engine.batch(&batch, &mut sum);
    }
    sum
}

fn as_recorded(engine: &mut Engine, trace: &Trace) -> Checksum {
    if trace.runs.is_empty() {
        return batched(engine, &trace.accesses);
    }
    let (mut sum, mut streams) = (Checksum::default(), Vec::new());
    for Run { streams: recorded, iterations } in &trace.runs {
        streams.clear();
        streams.extend(recorded.iter().map(|&(access, words)| Stream {
            addr: addr(access),
            stride: words * 8,
            len: 8,
            kind: kind(access),
        }));
        engine.affine(&streams, u64::from(*iterations), &mut sum);
    }
    sum
}

fn portable() -> Engine {
    Engine::with_options(EngineOptions { isa: Some(Isa::Portable), ..EngineOptions::default() })
}

/// A name and a way to process a trace.
type Contender = (&'static str, fn(&Trace) -> Checksum);

/// The yardsticks come first: Olken, then the Fenwick trees.
const CONTENDERS: [Contender; 7] = [
    ("Olken", |trace| words::<Olken>(&trace.accesses)),
    ("Fenwick, hash map", |trace| words::<Fenwick<Hashed>>(&trace.accesses)),
    ("Fenwick, pages", |trace| words::<Fenwick<Paged>>(&trace.accesses)),
    ("portable", |trace| plain(&mut portable(), &trace.accesses)),
    ("engine", |trace| plain(&mut Engine::new(), &trace.accesses)),
    ("engine, batches", |trace| batched(&mut Engine::new(), &trace.accesses)),
    ("engine, as recorded", |trace| as_recorded(&mut Engine::new(), trace)),
];
const OLKEN: usize = 0;
const FENWICKS: [usize; 2] = [1, 2];
const ENGINE: usize = 4;
const BATCHED: usize = 5;
const RECORDED: usize = 6;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn nanoseconds(run: impl FnOnce() -> Checksum, accesses: usize) -> (f64, Checksum) {
    let start = Instant::now();
    let sum = black_box(run());
    (start.elapsed().as_secs_f64() * 1e9 / accesses as f64, sum)
}

/// Median time per access of every contender.
fn measure(trace: &Trace, rounds: usize) -> Vec<f64> {
    let mut times = vec![Vec::new(); CONTENDERS.len()];
    let mut expected = None;
    for _ in 0..rounds {
        for (times, (name, run)) in times.iter_mut().zip(CONTENDERS) {
            let (time, sum) = nanoseconds(|| run(trace), trace.accesses.len());
            assert_eq!(*expected.get_or_insert(sum), sum, "{name} finds other depths on {}", trace.name);
            times.push(time);
        }
    }
    times.into_iter().map(median).collect()
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

fn speed(quick: bool) {
    let (rounds, most) = if quick { (1, 1_000_000) } else { (3, usize::MAX) };
    print!("{:<28}", "ns per 8-byte access");
    CONTENDERS.iter().for_each(|(name, _)| print!("{name:>20}"));
    println!("{:>12}{:>12}{:>12}{:>12}", "Olken/", "Fenwick/", "in batches", "as recorded");
    let (mut columns, mut ratios) = (vec![Vec::new(); CONTENDERS.len()], [const { Vec::new() }; 4]);
    let show = |name: &str, times: &[f64], ratios: [f64; 4]| {
        print!("{name:<28}");
        times.iter().for_each(|time| print!("{time:>20.1}"));
        ratios.iter().for_each(|ratio| print!("{:>12}", format!("{ratio:.1}x")));
        println!();
    };
    for trace in workloads::all(most) {
        let times = measure(&trace, rounds);
        let fenwick = FENWICKS.map(|at| times[at]).into_iter().fold(f64::MAX, f64::min);
        let ours = [ENGINE, BATCHED, RECORDED].map(|at| fenwick / times[at]);
        let row = [times[OLKEN] / times[ENGINE], ours[0], ours[1], ours[2]];
        show(trace.name, &times, row);
        columns.iter_mut().zip(&times).for_each(|(column, &time)| column.push(time));
        ratios.iter_mut().zip(row).for_each(|(ratios, ratio)| ratios.push(ratio));
    }
    let means: Vec<f64> = columns.iter().map(|column| geometric_mean(column)).collect();
    show("geometric mean", &means, ratios.each_ref().map(|ratios| geometric_mean(ratios)));
    let least = ratios[0].iter().copied().fold(f64::MAX, f64::min);
    println!(
        "ratios: Olken / engine (smallest {least:.1}x), the faster Fenwick tree / engine, the same in batches and as recorded\n"
    );
}

/// Zipf over more and more memory, all of it touched before the clock runs.
fn growth(quick: bool) {
    let (rounds, count) = if quick { (1, 1_000_000) } else { (3, 10_000_000) };
    println!("{:<28}{:>12}{:>12}{:>12}{:>12}", "Zipf(1), ns per access", "engine", "growth", "batches", "growth");
    let mut first = None;
    for (name, mib) in [("8 MB", 8), ("64 MB", 64), ("1 GB", 1024)] {
        if quick && mib > 64 {
            continue;
        }
        let words = mib << 17;
        let trace = workloads::zipf_words(words, count);
        let times = [plain, batched].map(|run| {
            let mut engine = Engine::new();
            (0..words).for_each(|word| engine.store(BASE + word * 8, 8));
            median((0..rounds).map(|_| nanoseconds(|| run(&mut engine, &trace), count).0).collect())
        });
        let base = *first.get_or_insert(times);
        println!(
            "{name:<28}{:>12.1}{:>12}{:>12.1}{:>12}",
            times[0],
            format!("{:.2}x", times[0] / base[0]),
            times[1],
            format!("{:.2}x", times[1] / base[1])
        );
    }
    println!();
}

/// Memory over touched bytes after many accesses.
fn memory(quick: bool) {
    println!("{:<40}{:>12}", "engine memory per touched byte", "bytes");
    let touched: u64 = if quick { 4 << 20 } else { 64 << 20 };
    for (name, size, stride) in [
        ("8-byte words, in order", 8, 1),
        ("8-byte words, scattered", 8, 0x9e37_79b1),
        ("4-byte words, scattered", 4, 0x9e37_79b1),
        ("2-byte words, scattered", 2, 0x9e37_79b1),
        ("bytes, in order", 1, 1),
        ("bytes, scattered", 1, 0x9e37_79b1),
    ] {
        let mut engine = Engine::new();
        let words = touched / size;
        for _ in 0..3 {
            (0u64..words).for_each(|at| engine.store(BASE + at.wrapping_mul(stride) % words * size, size));
        }
        assert_eq!(engine.footprint(), touched);
        println!("{name:<40}{:>12.2}", engine.heap_bytes() as f64 / touched as f64);
    }
    println!("{:<40}{:>12}", "a new engine, bytes in all", Engine::new().heap_bytes());
}

/// The processor, and how many of them.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {processors} processors", model.map_or("unknown processor", |(_, name)| name))
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    println!("{}\n", machine());
    speed(quick);
    growth(quick);
    memory(quick);
}
