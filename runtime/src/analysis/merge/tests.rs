//! Rings of small programs, added up in any order.

use super::*;
use crate::{
    abi::ItemKind,
    counts::{
        keys::ObjectKey,
        pairs::{PairCounts, RingPairs},
    },
    decode::{block::CellNumber, locator::SegmentNumber},
    objects::{Life, Object, PARTS},
    observe::window::{Event, What},
    oplog::Shelf,
    tests::{
        program::{Function, Image, Program, Segment, item},
        run::spool,
    },
};

/// Two functions: one with segments of two items, of none and of one, and one with a segment of one item.
fn program() -> Program {
    let block = |items: usize| Segment::block(1, vec![item(ItemKind::Load, 1, 0, 8); items]);
    let function = |name: &str, segments| Function { name: name.into(), segments };
    let functions = vec![function("main", vec![block(2), block(0), block(1)]), function("work", vec![block(1)])];
    Program { images: vec![Image { functions, variables: Vec::new() }] }
}

const MAIN: usize = 0;
const WORK: usize = 1;

/// Context, segment, executions and first cell.
type Block = (usize, usize, u64, usize);

/// A ring by the parents and functions of its contexts, its blocks, and the bytes that each cell wrote.
fn result(contexts: &[(usize, usize)], blocks: &[Block], written: &[u64]) -> MemoryResult {
    let cell = |written: &u64| {
        let mut cell = CellCounters::default();
        cell.written = *written;
        cell
    };
    let block = |&(node, segment, executions, first): &Block| BlockCounters {
        node: ContextNumber::new(node),
        segment: SegmentNumber::new(segment),
        executions,
        first_cell: CellNumber::new(first),
        moved: 0,
    };
    let mut ring = program().ring(contexts);
    ring.contexts.nodes.iter_mut().zip(0..).skip(1).for_each(|(node, number)| node.calls = 10 + number);
    MemoryResult {
        ring,
        blocks: blocks.iter().map(block).collect(),
        cells: written.iter().map(cell).collect(),
        cold: DepthCounts::default(),
        pairs: RingPairs::default(),
        own: None,
        followed: None,
        objects: None,
        window: None,
        sequences: RingSequences::default(),
        failures: Failures::default(),
        miss_curve: MissCurve::default(),
    }
}

fn items(_: u32, segment: u32) -> usize {
    [2, 0, 1, 1][segment as usize]
}

fn merged(results: Vec<MemoryResult>) -> Merger {
    let mut merger = Merger::default();
    results.into_iter().for_each(|result| merger.add(RingResult::Memory(Box::new(result)), items));
    merger
}

/// Functions from the outermost to the innermost.
fn path(measurement: &Measurement, context: ContextNumber) -> Vec<u32> {
    let context = &measurement.contexts[context.index()];
    let Some((_, function)) = context.function else { return Vec::new() };
    [path(measurement, context.parent), vec![function]].concat()
}

/// Calls by path.
fn calls(measurement: &Measurement) -> BTreeMap<Vec<u32>, u64> {
    let contexts = measurement.contexts.iter().enumerate();
    contexts.map(|(number, of)| (path(measurement, ContextNumber::new(number)), of.calls)).collect()
}

/// By path and segment: executions, and the bytes that each cell wrote.
type Blocks = BTreeMap<(Vec<u32>, u32), (u64, Vec<u64>)>;

fn blocks(measurement: &Measurement) -> Blocks {
    let found = measurement.blocks.iter().map(|block| {
        let written = block.cells.iter().map(|cell| cell.written).collect();
        ((path(measurement, block.context), block.segment), (block.executions, written))
    });
    found.collect()
}

/// Two threads that met the same functions in another order.
fn first() -> MemoryResult {
    result(&[(0, MAIN), (1, WORK)], &[(1, 1, 5, 0), (1, 0, 6, 0), (2, 3, 7, 2)], &[1, 2, 4])
}

fn second() -> MemoryResult {
    let contexts = [(0, WORK), (0, MAIN), (2, WORK)];
    result(&contexts, &[(3, 3, 1, 0), (1, 3, 2, 1), (2, 0, 3, 2)], &[10, 20, 40, 80])
}

fn both() -> Blocks {
    BTreeMap::from([
        ((vec![0], 0), (9, vec![41, 82])),
        ((vec![0], 1), (5, vec![])),
        ((vec![0, 1], 3), (8, vec![14])),
        ((vec![1], 3), (2, vec![20])),
    ])
}

#[test]
fn a_context_is_its_functions_whatever_numbers_rings_give_it() {
    let expected = BTreeMap::from([(vec![], 0), (vec![0], 11 + 12), (vec![0, 1], 12 + 13), (vec![1], 11)]);
    for results in [vec![first(), second()], vec![second(), first()]] {
        let measurement = merged(results).measurement;
        assert_eq!(calls(&measurement), expected);
        assert_eq!(blocks(&measurement), both());
        assert_eq!(measurement.contexts.len(), 4);
    }
}

#[test]
fn what_another_worker_has_merged_has_other_numbers() {
    for results in [[first(), second()], [second(), first()]] {
        let [mut one, other] = results.map(|result| merged(vec![result]));
        one.absorb(other);
        assert_eq!(blocks(&one.measurement), both());
        assert_eq!(calls(&one.measurement)[&vec![0, 1]], 12 + 13);
        let mut none = Merger::default();
        none.absorb(one);
        none.absorb(Merger::default());
        assert_eq!(blocks(&none.measurement), both(), "behind a worker that had nothing, and before one");
    }
}

#[test]
fn the_totals_of_a_thread_are_the_sums_of_its_cells() {
    let mut result = first();
    for (cell, above) in result.cells.iter_mut().zip([0, 3, 8]) {
        cell.read(above, 8);
        cell.cold = 1 + above;
    }
    // So many that they are not filed one by one.
    (0..300).for_each(|_| result.cells[0].read(0, 8));
    // Roots of 1 to 8, of 4 to 11, and of 9 to 16, rounded up.
    let costs = [301 * (1 + 3 * 2 + 4 * 3), 2 + 5 * 3 + 2 * 4, 3 + 7 * 4];
    let measurement = merged(vec![result, second()]).measurement;
    let [thread, other] = &measurement.threads[..] else { panic!("two threads") };
    assert_eq!((thread.read, thread.written, thread.cold), (24 + 2400, 7, 1 + 4 + 9));
    assert_eq!((thread.cost, thread.hints_cost), (costs.iter().sum(), costs.iter().sum()));
    assert_eq!((other.read, other.written, other.start), (0, 150, Some((0, 0))), "most ran below `main`");
}

#[test]
fn stacks_of_threads_alone_are_of_the_thread_that_was_added_last() {
    let own = |peak_live, footprint| {
        let mut cold = DepthCounts::default();
        cold.add(3, peak_live);
        Some(OwnStack { peak_live, footprint, cold })
    };
    let mut results = vec![MemoryResult { own: own(5, 6), ..first() }, MemoryResult { own: own(7, 8), ..second() }];
    results.iter_mut().zip(1..).for_each(|(result, bytes)| result.cold.add(2, bytes));
    let measurement = merged(results).measurement;
    assert_eq!(measurement.cold.iter().collect::<Vec<_>>(), [(2, 3)], "on the stacks that they share");
    let alone = measurement.threads.iter().map(|thread| (thread.alone.peak_live, thread.alone.footprint));
    assert_eq!(alone.collect::<Vec<_>>(), [(5, 6), (7, 8)]);
    let cold = measurement.cold_alone.expect("both have one");
    assert_eq!(cold.iter().collect::<Vec<_>>(), [(3, 12)]);
}

/// A block of the heap that code of a context allocated, and one use of it.
fn with_object(context: usize, peak: u64, result: MemoryResult) -> MemoryResult {
    let context = ContextNumber::new(context);
    let mut found = CellCounters::default();
    found.written = peak;
    let site = (SegmentNumber::new(3), 0);
    let objects = RingObjects {
        list: vec![Object::Unknown, Object::Block { context, segment: None }],
        lives: vec![Life::default(), Life { times: 1, bytes: 2 * peak, live: 0, peak }],
        parts: vec![None, Some(Box::new([1; PARTS]))],
        files: Vec::new(),
        uses: vec![ObjectUse { object: ObjectNumber::new(1), site, found }],
    };
    MemoryResult { objects: Some(objects), ..result }
}

#[test]
fn objects_of_all_rings_are_added_up_by_the_context_that_allocated_them() {
    // `work` below `main` in both.
    let results = || [with_object(2, 3, first()), with_object(3, 4, second())];
    let [mut one, other] = results().map(|result| merged(vec![result]));
    one.absorb(other);
    for merger in [merged(results().into()), one] {
        let measurement = merger.measurement;
        let objects = measurement.objects.as_ref().expect("they were measured");
        let lives: Vec<_> = objects.lives.iter().collect();
        let [(key @ ObjectKey::Block { context, site: None }, life)] = lives[..] else { panic!("one: {lives:?}") };
        assert_eq!(path(&measurement, *context), [0, 1]);
        assert_eq!((life.times, life.bytes, life.peak), (2, 14, 7), "peaks are added up");
        assert_eq!(objects.uses[&(key.clone(), (0, 3, 0))].written, 7);
        assert!(objects.parts[key].iter().all(|bytes| *bytes == 2));
        assert!(!objects.lives.contains_key(&ObjectKey::Unknown), "nobody used it");
    }
}

/// A flow from a context to another one.
fn flow(toucher: usize, reader: usize, bytes: u64) -> (FlowKey, MergedFlow) {
    let contexts = Some((Some(ContextNumber::new(toucher)), ContextNumber::new(reader)));
    let site = (0, 3, 0);
    let mut found = MergedFlow::default();
    found.found.written = bytes;
    (FlowKey { writer: None, toucher: Some(site), reader: site, contexts, object: None }, found)
}

#[test]
fn flows_and_windows_of_another_worker_get_the_numbers_of_this_one() {
    let (mut one, mut other) = (merged(vec![first()]), merged(vec![second()]));
    // From `main` to `work` below it, in the numbers of each.
    one.measurement.flows = Some(BTreeMap::from([flow(1, 2, 5)]));
    other.measurement.flows = Some(BTreeMap::from([flow(2, 3, 6), flow(1, 2, 7)]));
    let object = ObjectKey::Block { context: ContextNumber::new(3), site: None };
    let event = Event { what: What::Write, addr: 0, len: 8, site: None, object: Some(object) };
    other.measurement.window = Some(Window { accesses: 1, cut: false, events: vec![event] });
    one.absorb(other);
    let measurement = &one.measurement;
    let flows = measurement.flows.iter().flatten().map(|(key, flow)| {
        let (toucher, reader) = key.contexts.expect("they are measured");
        ((path(measurement, toucher.expect("there is one")), path(measurement, reader)), flow.found.written)
    });
    let flows: BTreeMap<_, _> = flows.collect();
    assert_eq!(flows, BTreeMap::from([((vec![0], vec![0, 1]), 11), ((vec![1], vec![0]), 7)]));
    let window = measurement.window.as_ref().expect("there is one");
    let Some(ObjectKey::Block { context, .. }) = window.events[0].object else { panic!("{window:?}") };
    assert_eq!(path(measurement, context), [0, 1]);
}

#[test]
fn of_another_worker_nothing_is_left_out() {
    let region = |times| RegionTotals { name: "kernel".into(), times, ..RegionTotals::default() };
    let with = |number: u64| {
        let mut merger = merged(vec![if number == 1 { first() } else { second() }]);
        let all = &mut merger.measurement;
        all.unreadable.push(format!("unreadable {number}"));
        all.notes.push(format!("note {number}"));
        all.problems.push(format!("problem {number}"));
        all.processes.insert(number as u32);
        all.cut_short = Some(format!("cut {number}"));
        all.regions.insert("kernel".into(), region(number));
        all.unfollowed.insert("memcpy".into(), number);
        all.cold.add(2, number);
        all.cold_alone.get_or_insert_default().add(3, number);
        all.pairs.insert((None, (0, 3, 0)), PairCounts { lines: number, far: 1 });
        all.sequences.push(((0, number as u32), Calls::default()));
        all.failures.exact = Some(std::io::Error::other(format!("failure {number}")));
        merger.kept.push((DeferredRing::new(Arc::new(Shelf::new(spool()))), None));
        merger
    };
    let (mut one, other) = (with(1), with(2));
    one.absorb(other);
    assert_eq!(one.kept.len(), 2);
    let all = one.measurement;
    assert_eq!(all.failures.exact.map(|error| error.to_string()).as_deref(), Some("failure 1"), "the first one stays");
    assert_eq!(all.unreadable, ["unreadable 1", "unreadable 2"]);
    assert_eq!(all.notes, ["note 1", "note 2"]);
    assert_eq!(all.problems, ["problem 1", "problem 2"]);
    assert_eq!(all.processes, BTreeSet::from([1, 2]));
    assert_eq!(all.cut_short.as_deref(), Some("cut 1"), "the first one stays");
    assert_eq!(all.regions["kernel"].times, 3);
    assert_eq!(all.unfollowed, BTreeMap::from([("memcpy".into(), 3)]));
    assert_eq!(all.cold.iter().collect::<Vec<_>>(), [(2, 3)]);
    assert_eq!(all.cold_alone.map(|cold| cold.iter().collect()), Some(vec![(3, 3)]));
    assert_eq!(all.pairs.values().map(|pair| (pair.lines, pair.far)).collect::<Vec<_>>(), [(3, 2)]);
    assert_eq!(all.sequences.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [(0, 1), (0, 2)]);
    assert_eq!(all.threads.iter().map(|thread| thread.written).collect::<Vec<_>>(), [7, 150]);
}

#[test]
fn calls_in_order_are_by_the_functions_of_the_measurement() {
    let calls = Calls { calls: vec![(FunctionNumber::new(WORK), 2), (FunctionNumber::new(MAIN), 1)], omitted: 4 };
    let mut result = first();
    result.sequences.extend([(FunctionNumber::new(WORK), calls)]);
    let measurement = merged(vec![result]).measurement;
    let expected = Calls { calls: vec![((0, 1), 2), ((0, 0), 1)], omitted: 4 };
    assert_eq!(measurement.sequences, [((0, 1), expected)]);
}

#[test]
fn rings_that_share_objects_are_added_with_one_list_of_them() {
    // Object 1 was allocated by the second ring, in its context 3.
    let used = |object: usize, written| {
        let mut found = CellCounters::default();
        found.written = written;
        ObjectUse { object: ObjectNumber::new(object), site: (SegmentNumber::new(3), 0), found }
    };
    let uses = |uses| Some(RingObjects { uses, ..RingObjects::default() });
    let results = vec![
        MemoryResult { objects: uses(vec![used(1, 2)]), ..first() },
        MemoryResult { objects: uses(vec![used(1, 3)]), ..second() },
    ];
    let block = |context| Object::Block { context: ContextNumber::new(context), segment: None };
    let life = |times| Life { times, bytes: 8, live: 0, peak: 8 };
    let ended = Ended {
        list: vec![(0, Object::Unknown), (1, block(3)), (0, block(1))],
        lives: vec![Life::default(), life(2), life(1)],
        parts: Vec::new(),
        files: Vec::new(),
    };
    let mut merger = Merger::default();
    merger.add_process(results, Some(ended), items);
    let measurement = merger.measurement;
    let objects = measurement.objects.as_ref().expect("they are measured");
    let uses: Vec<_> = objects.uses.iter().map(|((key, site), found)| (key, *site, found.written)).collect();
    let [(key @ ObjectKey::Block { context, .. }, (0, 3, 0), 5)] = uses[..] else { panic!("one use: {uses:?}") };
    assert_eq!(path(&measurement, *context), [0, 1], "in the contexts of the ring that allocated it");
    assert_eq!(objects.lives.iter().map(|(key, life)| (key, life.times)).collect::<Vec<_>>(), [(key, 2)]);
    assert_eq!(blocks(&measurement), both());
}
