//! The engine against the list of `oracle.rs` on random traces, and against what can be worked out by hand.

use super::oracle::{ByteDepth, Collect, Oracle};
use super::{Access, BatchSink, DepthSink, Engine, EngineOptions, Isa, Kind, Progression};
use crate::tests::random::cases;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
pub enum Op {
    Load(u64, u64),
    Store(u64, u64),
    Remove(u64, u64),
    Relocate(u64, u64, u64),
    InsertBottom(u64, u64),
}

/// What the comparison drives: the engine, or one that is broken on purpose.
pub trait Machine {
    fn step(&mut self, op: Op) -> Vec<ByteDepth>;
    fn totals(&self) -> [u64; 3];
}

impl Machine for Engine {
    fn step(&mut self, op: Op) -> Vec<ByteDepth> {
        let mut sink = Collect::default();
        match op {
            Op::Load(addr, len) => self.load(addr, len, &mut sink),
            Op::Store(addr, len) => self.store(addr, len),
            Op::Remove(addr, len) => self.remove(addr, len),
            Op::Relocate(from, to, len) => self.relocate(from, to, len),
            Op::InsertBottom(addr, len) => self.insert_bottom(addr, len),
        }
        sink.0
    }
    fn totals(&self) -> [u64; 3] {
        [self.live(), self.peak_live(), self.footprint()]
    }
}

impl Machine for Oracle {
    fn step(&mut self, op: Op) -> Vec<ByteDepth> {
        match op {
            Op::Load(addr, len) => return self.load(addr, len),
            Op::Store(addr, len) => self.store(addr, len),
            Op::Remove(addr, len) => self.remove(addr, len),
            Op::Relocate(from, to, len) => self.relocate(from, to, len),
            Op::InsertBottom(addr, len) => self.insert_bottom(addr, len),
        }
        Vec::new()
    }
    fn totals(&self) -> [u64; 3] {
        [self.live(), self.peak_live(), self.footprint()]
    }
}

/// What an operation found, in order of depth, and the totals after it.
fn outcomes(machine: &mut impl Machine, ops: &[Op]) -> Vec<(Vec<ByteDepth>, [u64; 3])> {
    ops.iter()
        .map(|&op| {
            let mut found = machine.step(op);
            found.sort_unstable();
            (found, machine.totals())
        })
        .collect()
}

/// First operation after which two machines differ.
fn difference(expected: &[(Vec<ByteDepth>, [u64; 3])], machine: &mut impl Machine, ops: &[Op]) -> Option<String> {
    let got = outcomes(machine, ops);
    let at = (0..ops.len()).find(|&at| expected[at] != got[at])?;
    Some(format!("operation {at}, {:?}: expected {:?}, got {:?}", ops[at], expected[at], got[at]))
}

/// Every way the engine can be set up that takes other paths through it.
pub fn set_ups() -> Vec<EngineOptions> {
    let usual = EngineOptions::default();
    let cramped = EngineOptions { min_positions: 0, growth: 1, spare: 0, per_cell: 0, ..usual };
    vec![
        usual,
        EngineOptions { isa: Some(Isa::Portable), ..usual },
        EngineOptions { wide: true, ..usual },
        cramped,
        EngineOptions { isa: Some(Isa::Portable), wide: true, ..cramped },
        EngineOptions { min_positions: 3000, growth: 2, spare: 0, per_cell: 0, ..usual },
        EngineOptions { affine: false, ..usual },
        EngineOptions { full_pages: 0, ..cramped },
        EngineOptions { full_pages: 1, ..cramped },
        // Runs out of 32-bit positions on the way.
        EngineOptions { narrow_limit: 600, full_pages: 0, ..cramped },
    ]
}

pub fn assert_all_agree(ops: &[Op]) {
    let expected = outcomes(&mut Oracle::default(), ops);
    for options in set_ups() {
        if let Some(difference) = difference(&expected, &mut Engine::with_options(options), ops) {
            panic!("{options:?}: {difference}\n{ops:?}");
        }
    }
}

/// What each load of a batch found.
struct Sorted {
    found: Vec<Vec<ByteDepth>>,
    current: Collect,
    number: usize,
}

impl Sorted {
    fn file(&mut self) {
        let mut found = std::mem::take(&mut self.current.0);
        found.sort_unstable();
        if !found.is_empty() {
            self.found[self.number] = found;
        }
    }
}

impl DepthSink for Sorted {
    fn warm(&mut self, above: u64, len: u64) {
        self.current.warm(above, len);
    }
    fn cold(&mut self, above: u64, len: u64) {
        self.current.cold(above, len);
    }
    fn below_holes(&mut self, runs: Progression, holes: u64) {
        self.current.below_holes(runs, holes);
    }
}

impl BatchSink for Sorted {
    fn begin(&mut self, number: usize) {
        self.file();
        self.number = number;
    }
}

/// The accesses among the operations, as one batch.
pub fn assert_batches_agree(ops: &[Op]) {
    let access = |addr, len, kind| Access { addr, len: len as u32, kind };
    let accesses: Vec<Access> = ops
        .iter()
        .filter_map(|&op| match op {
            Op::Load(addr, len) => Some(access(addr, len, Kind::Load)),
            Op::Store(addr, len) => Some(access(addr, len, Kind::Store)),
            Op::Remove(addr, len) => Some(access(addr, len, Kind::Remove)),
            Op::Relocate(..) | Op::InsertBottom(..) => None,
        })
        .collect();
    let ops: Vec<Op> =
        ops.iter().copied().filter(|op| !matches!(op, Op::Relocate(..) | Op::InsertBottom(..))).collect();
    let mut oracle = Oracle::default();
    let expected: Vec<Vec<ByteDepth>> = outcomes(&mut oracle, &ops).into_iter().map(|outcome| outcome.0).collect();
    for options in set_ups() {
        let mut engine = Engine::with_options(options);
        let mut sink = Sorted { found: vec![Vec::new(); ops.len()], current: Collect::default(), number: 0 };
        engine.batch(&accesses, &mut sink);
        sink.file();
        assert_eq!(sink.found, expected, "{options:?} {ops:?}");
        assert_eq!(Machine::totals(&engine), Machine::totals(&oracle), "{options:?} {ops:?}");
    }
}

/// Random operations on a few hundred bytes around `base`.
pub fn ops(base: u64) -> impl Strategy<Value = Vec<Op>> {
    let addr = move || (0u64..500).prop_map(move |at| base + at);
    let aligned = move || (0u64..64).prop_map(move |at| base / 8 * 8 + at * 8);
    let size =
        || prop_oneof![6 => prop::sample::select(vec![1u64, 2, 4, 8, 16, 32, 64]), 1 => 1u64..200, 1 => Just(0u64)];
    prop::collection::vec(
        prop_oneof![
            6 => (aligned(), prop::sample::select(vec![4u64, 8])).prop_map(|(at, len)| Op::Load(at, len)),
            4 => (aligned(), prop::sample::select(vec![4u64, 8])).prop_map(|(at, len)| Op::Store(at, len)),
            6 => (addr(), size()).prop_map(|(at, len)| Op::Load(at, len)),
            4 => (addr(), size()).prop_map(|(at, len)| Op::Store(at, len)),
            3 => (addr(), size()).prop_map(|(at, len)| Op::Remove(at, len)),
            2 => (addr(), addr(), 0u64..120).prop_map(|(from, to, len)| Op::Relocate(from, to, len)),
            1 => (addr(), size()).prop_map(|(at, len)| Op::InsertBottom(at, len)),
        ],
        1..150,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..cases(48) })]

    #[test]
    fn agrees_with_the_list(ops in ops(1 << 20)) {
        assert_all_agree(&ops);
        assert_batches_agree(&ops);
    }

    #[test]
    fn agrees_across_a_page_border(ops in ops((1 << 14) * 5 - 251)) {
        assert_all_agree(&ops);
        assert_batches_agree(&ops);
    }

    #[test]
    fn agrees_across_a_region_border(ops in ops((1 << 26) * 3 - 250)) {
        assert_all_agree(&ops);
    }

    #[test]
    fn agrees_at_small_and_huge_addresses(ops in ops(0), high in ops(u64::MAX - 800)) {
        assert_all_agree(&ops);
        assert_all_agree(&high);
    }
}

/// Off by one, where a cold byte is concerned.
struct OffByOne(Engine);

impl Machine for OffByOne {
    fn step(&mut self, op: Op) -> Vec<ByteDepth> {
        let mut found = self.0.step(op);
        if let Some(first) = found.iter_mut().find(|found| !found.cold) {
            first.depth += 1;
        }
        found
    }
    fn totals(&self) -> [u64; 3] {
        self.0.totals()
    }
}

/// Forgets that freed bytes leave the stack.
struct Immortal(Engine);

impl Machine for Immortal {
    fn step(&mut self, op: Op) -> Vec<ByteDepth> {
        if matches!(op, Op::Remove(..)) { Vec::new() } else { self.0.step(op) }
    }
    fn totals(&self) -> [u64; 3] {
        self.0.totals()
    }
}

#[test]
fn the_comparison_can_fail() {
    let ops = [Op::Store(0, 8), Op::Store(8, 8), Op::Load(0, 8), Op::Remove(8, 4), Op::Load(0, 16)];
    let expected = outcomes(&mut Oracle::default(), &ops);
    assert_eq!(difference(&expected, &mut Engine::new(), &ops), None);
    let found = difference(&expected, &mut OffByOne(Engine::new()), &ops).expect("one depth is wrong");
    assert!(found.starts_with("operation 2, Load(0, 8)"), "{found}");
    let found = difference(&expected, &mut Immortal(Engine::new()), &ops).expect("four bytes too many");
    assert!(found.starts_with("operation 3, Remove(8, 4)"), "{found}");
}

/// Depths of warm bytes, as (depth of the topmost byte, bytes), and the cold bytes.
#[derive(Default)]
struct Tally {
    warm: Vec<(u64, u64)>,
    cold: u64,
}

impl DepthSink for Tally {
    fn warm(&mut self, above: u64, len: u64) {
        self.warm.push((above + 1, len));
    }
    fn cold(&mut self, _above: u64, len: u64) {
        self.cold += len;
    }
}

/// Loads `count` words of `size` bytes, in the order given, and tells what was found.
fn scan(engine: &mut Engine, order: impl Iterator<Item = u64>, size: u64) -> Tally {
    let mut tally = Tally::default();
    for word in order {
        engine.load(0x7f00_0000_0000 + word * size, size, &mut tally);
    }
    tally
}

#[test]
fn cyclic_scan_finds_everything_at_the_bottom() {
    for size in [1, 2, 4, 8, 16, 64] {
        let mut engine = Engine::new();
        let n = 3000;
        assert_eq!(scan(&mut engine, 0..n, size).cold, n * size);
        for _ in 0..8 {
            let tally = scan(&mut engine, 0..n, size);
            assert_eq!(tally.cold, 0);
            assert_eq!(tally.warm.iter().map(|run| run.1).sum::<u64>(), n * size);
            assert!(tally.warm.iter().all(|&(top, len)| top + len - 1 <= n * size && top > (n - 1) * size), "{size}");
        }
        assert_eq!([engine.live(), engine.peak_live(), engine.footprint()], [n * size; 3]);
    }
}

#[test]
fn zigzag_scan_finds_word_k_at_k() {
    let mut engine = Engine::new();
    let n = 5000;
    scan(&mut engine, 0..n, 8);
    for _ in 0..4 {
        let back = scan(&mut engine, (0..n).rev(), 8);
        let forth = scan(&mut engine, 0..n, 8);
        for tally in [back, forth] {
            let expected: Vec<_> = (0..n).map(|k| (k * 8 + 1, 8)).collect();
            assert_eq!(tally.warm, expected);
        }
    }
}

#[test]
fn one_planted_reuse_is_found_once_at_its_depth() {
    for distance in [0, 1, 7, 100, 4096, 70_000] {
        let mut engine = Engine::new();
        engine.store(0x1000, 8);
        let strangers = scan(&mut engine, 0..distance, 8);
        assert!(strangers.warm.is_empty());
        let mut tally = Tally::default();
        engine.load(0x1000, 8, &mut tally);
        assert_eq!(tally.warm, [(distance * 8 + 1, 8)]);
        assert_eq!(tally.cold, 0);
    }
}

#[test]
fn long_copies_and_long_frees() {
    let mib = 1 << 20;
    let mut engine = Engine::new();
    engine.store(3, 3 * mib);
    let mut tally = Tally::default();
    engine.load(3 + mib, mib, &mut tally);
    assert_eq!(tally.warm, [(mib + 1, mib)]);
    engine.load(3, 3 * mib, &mut tally);
    assert_eq!(tally.warm[1..].iter().map(|run| run.1).sum::<u64>(), 3 * mib);
    // A free of nearly everything there is must not walk addresses nobody used.
    engine.remove(0, u64::MAX);
    assert_eq!(engine.live(), 0);
    assert_eq!(engine.footprint(), 3 * mib);
    let mut tally = Tally::default();
    engine.load(0, 8, &mut tally);
    assert_eq!(tally.cold, 8);
    assert_eq!(engine.footprint(), 3 * mib + 3);
}

#[test]
fn long_moves_may_overlap_themselves() {
    let (len, by) = (200_001, 70_003);
    for (from, to) in [(1 << 20, (1 << 20) + by), ((1 << 20) + by, 1 << 20)] {
        let mut engine = Engine::new();
        engine.store(to, len);
        // Every other byte of what moves; of the others, those in the target are live already.
        (0..len).step_by(2).for_each(|byte| engine.store(from + byte, 1));
        engine.relocate(from, to, len);
        assert_eq!(engine.live(), len.div_ceil(2) + (len - by) / 2);
        let mut tally = Tally::default();
        (0..len).rev().step_by(2).for_each(|byte| engine.load(to + byte, 1, &mut tally));
        assert_eq!((tally.warm.len() as u64, tally.cold), (len.div_ceil(2), 0));
        assert!(tally.warm.iter().zip(1..).all(|(&found, depth)| found == (depth, 1)));
    }
}

#[test]
fn the_last_address_exists_and_nothing_behind_it() {
    let mut engine = Engine::new();
    engine.store(u64::MAX, 1);
    engine.store(u64::MAX - 7, 100);
    assert_eq!(engine.live(), 8);
    let mut tally = Tally::default();
    engine.load(u64::MAX - 1, u64::MAX, &mut tally);
    assert_eq!(tally.warm, [(1, 2)]);
    engine.remove(u64::MAX - 3, u64::MAX);
    assert_eq!(engine.live(), 4);
}

#[test]
fn a_new_engine_is_small() {
    assert!(Engine::new().heap_bytes() < 16 << 10, "{}", Engine::new().heap_bytes());
}

#[test]
fn memory_stays_below_three_bytes_per_byte() {
    let mut engine = Engine::new();
    let n = 1u64 << 19;
    for round in 0..3u64 {
        for word in 0..n {
            engine.store((word.wrapping_mul(0x9e37_79b9_7f4a_7c15 + 2 * round) % n) * 8, 8);
        }
    }
    let per_byte = engine.heap_bytes() as f64 / engine.footprint() as f64;
    assert!(per_byte < 3.0, "{per_byte}");
}
