//! Exact liveness against its definition: the future of every byte, looked up one event at a time, and the list of
//! `engine/oracle.rs` from which dead bytes are removed.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Exact, SliceLog, SlicedLog, analyse, attempt};
use crate::{
    analysis::{pipeline::Pipeline, shards::pool::Pool},
    counts::{cell::CellCounters, depths::DepthCounts},
    decode::block::CellNumber,
    engine::{
        Access, AccessTag, AllocationFailure, DepthSink, Engine, Kind, Stream,
        oracle::{ByteDepth, Oracle},
    },
    observe::{
        attribution::Files,
        liveness::{marks::Marks, sweep::Sweep},
    },
    oplog::{Op, OpLog, Ops, Recorded, Spool},
    pricing::run_cost,
    tests::run::spool,
};

#[derive(Clone, Debug)]
enum Step {
    Access(Access),
    Run(Vec<Stream>, u64),
    Relocate(u64, u64, u64),
    Input(u64, u64),
    Output(u64, u64),
}

/// One event of one byte range: runs taken apart.
#[derive(Clone, Copy, Debug)]
enum Event {
    Load(u64, u64, u32),
    Store(u64, u64, u32),
    Remove(u64, u64),
    Relocate(u64, u64, u64),
    Input(u64, u64),
    Output(u64, u64),
}

fn covers(start: u64, len: u64, byte: u64) -> bool {
    byte.wrapping_sub(start) < len
}

/// The events, and the number of cells: each access and each stream has its own.
fn events(ops: &[Step]) -> (Vec<Event>, u32) {
    let mut events = Vec::new();
    let mut cell = 0;
    let event = |addr, len: u32, kind, cell| match kind {
        Kind::Load | Kind::Last => Event::Load(addr, len.into(), cell),
        Kind::Store | Kind::Fresh => Event::Store(addr, len.into(), cell),
        Kind::Remove => Event::Remove(addr, len.into()),
    };
    for op in ops {
        match op {
            &Step::Access(Access { addr, len, kind }) => {
                events.push(event(addr, len, kind, cell));
                cell += 1;
            }
            Step::Run(streams, iterations) => {
                for iteration in 0..*iterations as i64 {
                    for (number, s) in streams.iter().enumerate() {
                        let addr = s.addr.wrapping_add_signed(s.stride * iteration);
                        events.push(event(addr, s.len, s.kind, cell + number as u32));
                    }
                }
                cell += streams.len() as u32;
            }
            &Step::Relocate(from, to, len) => events.push(Event::Relocate(from, to, len)),
            &Step::Input(addr, len) => events.push(Event::Input(addr, len)),
            &Step::Output(addr, len) => events.push(Event::Output(addr, len)),
        }
    }
    (events, cell)
}

/// Whether what lies at `byte` will be read.
fn is_needed(mut byte: u64, future: &[Event], all: &[Event]) -> bool {
    for &event in future {
        match event {
            Event::Load(addr, len, _) | Event::Output(addr, len) if covers(addr, len, byte) => return true,
            Event::Store(addr, len, _) | Event::Remove(addr, len) if covers(addr, len, byte) => return false,
            Event::Relocate(from, to, len) if from != to => {
                if covers(from, len, byte) {
                    byte = byte - from + to;
                } else if covers(to, len, byte) {
                    return false;
                }
            }
            _ => {}
        }
    }
    all.iter().any(|event| matches!(*event, Event::Output(addr, len) if covers(addr, len, byte)))
}

/// By cell: what its loads found, sorted, and the bytes that it left to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcome {
    found: Vec<ByteDepth>,
    unread: u64,
    last_read: u64,
}

fn by_definition(events: &[Event], cells: u32) -> (Vec<Outcome>, u64) {
    let mut oracle = Oracle::default();
    let mut outcomes = vec![Outcome::default(); cells as usize];
    for (at, &event) in events.iter().enumerate() {
        let future = &events[at + 1..];
        let dead = |addr: u64, len: u64| {
            (addr..addr + len).filter(|&byte| !is_needed(byte, future, events)).collect::<Vec<u64>>()
        };
        match event {
            Event::Load(addr, len, cell) => {
                let outcome = &mut outcomes[cell as usize];
                outcome.found.extend(oracle.load(addr, len));
                let dead = dead(addr, len);
                outcome.last_read += dead.len() as u64;
                dead.into_iter().for_each(|byte| oracle.remove(byte, 1));
            }
            Event::Store(addr, len, cell) => {
                let dead = dead(addr, len);
                outcomes[cell as usize].unread += dead.len() as u64;
                oracle.remove(addr, len);
                (addr..addr + len).filter(|byte| !dead.contains(byte)).for_each(|byte| oracle.store(byte, 1));
            }
            Event::Remove(addr, len) => oracle.remove(addr, len),
            Event::Relocate(from, to, len) => {
                if from != to {
                    oracle.relocate(from, to, len);
                }
            }
            Event::Input(addr, len) => {
                let dead = dead(addr, len);
                // Downwards, as each goes below what is there.
                let needed = (addr..addr + len).rev().filter(|byte| !dead.contains(byte));
                needed.for_each(|byte| oracle.insert_bottom(byte, 1));
            }
            Event::Output(addr, len) => dead(addr, len).into_iter().for_each(|byte| oracle.remove(byte, 1)),
        }
    }
    outcomes.iter_mut().for_each(|outcome| outcome.found.sort_unstable());
    (outcomes, oracle.peak_live())
}

/// What is written down of the operations.
fn recorded(ops: &[Step], block: usize, cells: u32) -> Recorded {
    sliced(ops, block, &[], cells).first
}

/// The same, where operations are cut before some of them; what comes before the first cut is not a slice.
fn sliced(ops: &[Step], block: usize, cuts: &[usize], cells: u32) -> SlicedLog {
    let cells = cells as usize;
    let spool = spool();
    let (mut counters, mut cold) = (vec![CellCounters::default(); cells], DepthCounts::default());
    let files = &mut Files::new(&mut counters, &mut cold);
    let (mut pipeline, mut label, mut first, mut slices) =
        (Pipeline::default(), AccessTag::default(), None, Vec::new());
    pipeline.log = Some(Box::new(OpLog::with_blocks_of(spool.clone(), block)));
    for (number, op) in ops.iter().enumerate() {
        if cuts.contains(&number) {
            if first.is_some() {
                slices.push(end_slice(&mut pipeline, files));
            } else {
                first = pipeline.cut_log(files).map(|log| log.expect("room for the log"));
                pipeline = Pipeline::default();
                pipeline.log = Some(Box::new(OpLog::with_blocks_of(spool.clone(), block)));
                pipeline.start_slices();
            }
        }
        match op {
            &Step::Access(access) => {
                let own = if access.kind == Kind::Remove { AccessTag::UNCOUNTED } else { label };
                pipeline.push(access, own, files);
                label = label.after(1);
            }
            Step::Run(streams, iterations) => {
                let labels: Vec<AccessTag> = (0..streams.len()).map(|stream| label.after(stream)).collect();
                pipeline.op(Op::run(streams, &labels, *iterations), files);
                label = label.after(streams.len());
            }
            &Step::Relocate(from, to, len) => pipeline.op(Op::Move { from, to, len }, files),
            &Step::Input(addr, len) => pipeline.op(Op::Input { addr, len }, files),
            &Step::Output(addr, len) => pipeline.op(Op::Output { addr, len }, files),
        }
        // So that blocks are as short as they should be.
        pipeline.flush(files);
    }
    let first = match first {
        Some(first) => {
            slices.push(end_slice(&mut pipeline, files));
            first
        }
        None => pipeline.cut_log(files).expect("a log").expect("room for the log"),
    };
    SlicedLog { first, slices, numbers: vec![(0..cells).map(CellNumber::new).collect()] }
}

fn end_slice(pipeline: &mut Pipeline, files: &mut Files<'_>) -> SliceLog {
    let asked = pipeline.end_slice(files).bytes;
    let ops = pipeline.cut_log(files).expect("a log").expect("room for the log");
    SliceLog::new(ops, &asked, 0).expect("room for what was asked")
}

fn cost(found: &[ByteDepth]) -> u128 {
    found.iter().map(|found| run_cost(found.depth - 1, 1)).sum()
}

fn check(ops: &[Step], block: usize, cuts: &[usize]) -> Result<(), TestCaseError> {
    let (events, cells) = events(ops);
    let (expected, peak) = by_definition(&events, cells);
    let whole = analyse(&recorded(ops, block, cells), cells as usize).expect("readable");
    assert_is(&expected, peak, &whole)?;
    let (sliced, pool) = (sliced(ops, block, cuts, cells), Arc::new(Pool::new(2)));
    let sliced = sliced.analyse(cells as usize, &pool).expect("readable");
    assert_is(&expected, peak, &sliced)?;
    prop_assert_eq!(whole.peak_live, sliced.peak_live);
    prop_assert!(whole.cold.iter().eq(sliced.cold.iter()));
    Ok(())
}

fn assert_is(expected: &[Outcome], peak: u64, exact: &Exact) -> Result<(), TestCaseError> {
    for (number, (outcome, (cell, left))) in expected.iter().zip(exact.cells.iter().zip(&exact.left)).enumerate() {
        prop_assert_eq!((outcome.unread, outcome.last_read), (left.unread, left.last_read), "cell {}", number);
        prop_assert_eq!(cost(&outcome.found), cell.cost, "cell {}", number);
        let mut depths = std::collections::BTreeMap::new();
        for found in &outcome.found {
            *depths.entry(crate::histogram::bucket_of(found.depth)).or_insert(0) += 1;
        }
        prop_assert_eq!(depths.into_iter().collect::<Vec<(u16, u64)>>(), cell.depths.iter().collect::<Vec<_>>());
        prop_assert_eq!(outcome.found.iter().filter(|found| found.cold).count() as u64, cell.cold);
    }
    prop_assert!(exact.peak_live >= peak, "bytes that die on their first touch are there for a moment");
    Ok(())
}

fn check_rows(ops: &[Step], block: usize) -> Result<(), TestCaseError> {
    let recorded = recorded(ops, block, events(ops).1);
    let (mut rows, mut accesses) = (Sweep::new(&recorded.outputs), Sweep::access_by_access(&recorded.outputs));
    let mut ops = Ops::default();
    for &place in recorded.blocks.iter().rev() {
        ops.read(&recorded.spool, place).expect("readable");
        let (mut by_rows, mut by_accesses) = (Marks::default(), Marks::default());
        rows.block(&ops, &mut by_rows);
        accesses.block(&ops, &mut by_accesses);
        prop_assert_eq!(by_rows, by_accesses);
    }
    Ok(())
}

#[derive(Default)]
struct Costs {
    cost: u128,
    cold: u64,
}

impl DepthSink for Costs {
    fn warm(&mut self, above: u64, len: u64) {
        self.cost += run_cost(above, len);
    }
    fn cold(&mut self, above: u64, len: u64) {
        self.cost += run_cost(above, len);
        self.cold += len;
    }
}

/// Cost and first touches of every load with the program's own deaths, or with none.
fn costs(events: &[Event], hints: bool) -> Vec<Costs> {
    let mut engine = Engine::new();
    let mut costs = Vec::new();
    for &event in events {
        match event {
            Event::Load(addr, len, _) => {
                let mut sink = Costs::default();
                engine.load(addr, len, &mut sink);
                costs.push(sink);
            }
            Event::Store(addr, len, _) => engine.store(addr, len),
            Event::Remove(addr, len) if hints => engine.remove(addr, len),
            Event::Relocate(from, to, len) => engine.relocate(from, to, len),
            Event::Input(addr, len) => engine.insert_bottom(addr, len),
            Event::Remove(..) | Event::Output(..) => {}
        }
    }
    costs
}

fn check_order(ops: &[Step]) -> Result<(), TestCaseError> {
    let single: Vec<Step> = ops.iter().filter(|op| !matches!(op, Step::Run(..))).cloned().collect();
    let (events, cells) = events(&single);
    let exact = analyse(&recorded(&single, 100, cells), cells as usize).expect("readable");
    let (hints, none) = (costs(&events, true), costs(&events, false));
    // A declared input that was freed enters at the bottom; where nothing leaves, it still lies where it was.
    let reborn = events.iter().any(|event| matches!(event, Event::Input(..)));
    let loads = events.iter().filter_map(|event| match event {
        Event::Load(_, _, cell) => Some(*cell as usize),
        _ => None,
    });
    for ((cell, hints), none) in loads.zip(hints).zip(none) {
        prop_assert!(exact.cells[cell].cost <= hints.cost);
        prop_assert_eq!(exact.cells[cell].cold, hints.cold);
        // Where nothing ever leaves, a byte that was freed and not written since is still found.
        prop_assert!(reborn || hints.cost <= none.cost || hints.cold > none.cold);
    }
    Ok(())
}

/// Where runs begin; far enough up for those that go down.
const RUNS: u64 = (1 << 22) - 160;

/// A few places, some of them across pages and words of the bitmap, so that ranges meet.
fn place() -> impl Strategy<Value = u64> {
    prop_oneof![4 => RUNS - 100..RUNS + 300, 2 => 8u64..100, 1 => (1u64 << 40)..(1 << 40) + 50]
}

fn access() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![4 => Just(Kind::Load), 4 => Just(Kind::Store), 1 => Just(Kind::Remove)];
    let aligned = (place(), prop_oneof![Just(4u32), Just(8)]).prop_map(|(at, len)| (at & !7, len));
    let any = (place(), prop_oneof![4 => 1u32..10, 1 => 1u32..100, 1 => Just(64u32), 1 => 60u32..300]);
    (prop_oneof![2 => aligned, 2 => any], kind).prop_map(|((addr, len), kind)| Step::Access(Access { addr, len, kind }))
}

fn run(longest: u64) -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(Kind::Load), Just(Kind::Store)];
    let stride = prop_oneof![8 => -2i64..3, 1 => 30i64..50, 1 => -50i64..-30];
    let stream = (0u64..40, stride, kind);
    let size = prop_oneof![2 => Just(4u32), 2 => Just(8), 1 => Just(16)];
    (prop::collection::vec(stream, 1..5), size, 1..longest, any::<bool>()).prop_map(|(streams, len, count, alike)| {
        let stride = streams[0].1;
        let stream = |(at, own, kind): (u64, i64, Kind)| Stream {
            addr: RUNS + at * u64::from(len),
            stride: if alike { stride } else { own } * i64::from(len),
            len,
            kind,
        };
        Step::Run(streams.into_iter().map(stream).collect(), count)
    })
}

fn op() -> impl Strategy<Value = Step> {
    prop_oneof![
        30 => access(),
        4 => run(40),
        2 => (place(), place(), 1u64..80).prop_map(|(from, to, len)| Step::Relocate(from, to, len)),
        2 => (place(), 1u64..100).prop_map(|(addr, len)| Step::Input(addr, len)),
        1 => (place(), 1u64..100).prop_map(|(addr, len)| Step::Output(addr, len)),
    ]
}

proptest! {
    #[test]
    fn follows_the_definition(
        ops in prop::collection::vec(op(), 1..120),
        block in 1usize..60,
        cuts in prop::collection::vec(0usize..120, 0..6),
    ) {
        check(&ops, block, &cuts)?;
    }

    #[test]
    fn runs_in_rows_have_the_marks_of_their_accesses(
        ops in prop::collection::vec(prop_oneof![1 => access(), 2 => run(40), 2 => run(3000)], 1..40),
        block in 1usize..60,
    ) {
        check_rows(&ops, block)?;
    }

    #[test]
    fn exact_is_at_most_hints_is_at_most_none(ops in prop::collection::vec(op(), 1..200)) {
        check_order(&ops)?;
    }
}

#[test]
fn a_full_disk_is_an_error_and_not_a_panic() {
    let full = Spool::over(std::fs::OpenOptions::new().read(true).write(true).open("/dev/full").expect("Linux"));
    let mut log = OpLog::with_blocks_of(Arc::new(full), 1);
    for _ in 0..10 {
        log.op(Op::accesses(&[Access { addr: 8, len: 8, kind: Kind::Load }], &[AccessTag::new(0)]));
    }
    let error = log.finish().err().expect("no room");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn memory_that_is_refused_is_an_error_and_a_mistake_a_panic() {
    let refuse = || -> std::io::Result<Exact> { std::panic::panic_any(AllocationFailure("cannot reserve it".into())) };
    let error = attempt(refuse).err().expect("refused");
    assert_eq!((error.kind(), error.to_string().as_str()), (std::io::ErrorKind::OutOfMemory, "cannot reserve it"));
    assert!(std::panic::catch_unwind(|| attempt(|| -> std::io::Result<Exact> { panic!("a mistake") })).is_err());
}
