//! Measurements made by hand, and what profiles say of them.

use std::{path::PathBuf, sync::Arc};

use dmdprof_runtime::{
    abi::{FLOAT_TYPES, Frame, Item, ItemKind, NONE, OP_CLASSES, OpCount, SegmentKind},
    analysis::{MergedBlock, MergedContext, MergedFlow, MergedObjects, ObjectKey, shared::Shared},
    counts::{depths::DepthCounts, pairs::PairCounts as RunPairs},
    decode::context::ContextNumber,
    objects::Life,
    observe::window::{Event, What, Window},
    sites::{Datum, Function as RunFunctionEntry, Loop, LoopCall, Segment, SiteTable},
    steps::{StepKind, ValueOp},
};

use super::*;
use crate::profile::model::{AccessKind, BlockCount, ObjectKind};

const MAIN: u32 = 0;
const WORK: u32 = 1;

/// Strings of every table.
const STRINGS: [&str; 9] =
    ["main", "work", "main.c", "work.c", "/usr/include/c++/12/vector", "memcpy", "at", "reserve", "the array"];

fn item(kind: ItemKind, size: u32, frame: u32) -> Item {
    Item { kind: kind as u8, size, frame, ..Item::default() }
}

fn segment(kind: SegmentKind, function: u32, items: std::ops::Range<u32>) -> Segment {
    Segment { kind: kind as u8, function, items, callee: NONE, frame: NONE, around: NONE, ..Segment::default() }
}

/// A function named by its strings.
pub(super) fn function(name: u32, file: u32, line: u32) -> RunFunctionEntry {
    RunFunctionEntry {
        name,
        file,
        line,
        skipped: false,
        accesses: 3,
        values: false,
        loops: false,
        registers: 0,
        counters: None,
        segments: 0..0,
    }
}

/// `main` with a load, with a store in `work` that was inlined into it, and with a call; `work` with a load in a
/// vector.
pub(super) fn table() -> SiteTable {
    let frame = |parent, function, file, line, decl_file, decl_line| Frame {
        parent,
        function,
        file,
        line,
        column: 1,
        decl_file,
        decl_line,
    };
    let ops = |n| OpCount { frame: 0, ops: [n; OP_CLASSES], flops: [n; FLOAT_TYPES] };
    let mut table = SiteTable::default();
    table.strings = STRINGS.map(str::to_owned).into();
    table.functions = vec![function(0, 2, 1), function(1, 3, 10)];
    table.frames = vec![
        frame(NONE, 0, 2, 4, 2, 1),
        frame(0, 1, 3, 12, 3, 10),
        frame(NONE, 1, 3, 14, 3, 10),
        frame(2, 6, 4, 900, 4, 890),
        frame(NONE, 0, 2, 0, 2, 1),
    ];
    table.items = vec![
        item(ItemKind::Load, 8, 0),
        item(ItemKind::Store, 8, 1),
        item(ItemKind::Load, 8, 0),
        item(ItemKind::Load, 4, 3),
        item(ItemKind::Kill, 4, 3),
    ];
    table.ops = vec![ops(2), ops(5)];
    table.segments = vec![
        Segment { ops: 0..1, ..segment(SegmentKind::Block, MAIN, 0..2) },
        segment(SegmentKind::CallSite, MAIN, 2..3),
        Segment { ops: 1..2, ..segment(SegmentKind::Block, WORK, 3..5) },
    ];
    table.data = vec![
        Datum { name: ".data".into(), is_section: true, address: 0, size: 64 },
        Datum { name: "array".into(), is_section: false, address: 0, size: 64 },
    ];
    table
}

/// Of a program and a library that is built of the same files.
fn tables() -> Vec<(PathBuf, Arc<SiteTable>)> {
    ["/bin/program", "/lib/library.so"].map(|path| (PathBuf::from(path), Arc::new(table()))).into()
}

fn context(parent: usize, function: Option<(u32, u32)>, calls: u64) -> MergedContext {
    MergedContext { parent: ContextNumber::new(parent), function, calls }
}

/// A block whose cells read so many bytes at depth 1, and write as many.
pub(super) fn block(context: usize, table: u32, segment: u32, executions: u64, bytes: &[u64]) -> MergedBlock {
    let cell = |bytes: &u64| {
        let mut cell = CellCounters::default();
        cell.written = *bytes;
        (0..*bytes).for_each(|_| cell.read(0, 1));
        cell.flush();
        cell
    };
    let cells = bytes.iter().map(cell).collect();
    MergedBlock { context: ContextNumber::new(context), table, segment, executions, cells }
}

/// `main` of the program and `main` of the library, each of which calls the program's `work`.
pub(super) fn measurement() -> Measurement {
    Measurement {
        tables: tables(),
        contexts: vec![
            context(0, None, 0),
            context(0, Some((0, MAIN)), 1),
            context(0, Some((1, MAIN)), 2),
            context(1, Some((0, WORK)), 4),
            context(2, Some((0, WORK)), 8),
        ],
        blocks: vec![
            block(1, 0, 0, 1, &[1, 2]),
            block(2, 1, 0, 10, &[4, 8]),
            block(3, 0, 2, 100, &[16, 0]),
            block(4, 0, 2, 1000, &[32, 0]),
            block(1, 0, 1, 0, &[0]),
        ],
        ..Measurement::default()
    }
}

fn profile(mut measurement: Measurement) -> Profile {
    to_profile(&mut measurement, Meta::default(), Beside::default())
}

fn symbol(profile: &Profile, function: FunctionId) -> &str {
    profile.symbol(function)
}

/// Symbols of the functions of a context, the innermost first, and how often it was called.
fn contexts(profile: &Profile) -> Vec<(Vec<&str>, u64)> {
    let path = |of: &Context| {
        let mut names = Vec::new();
        let mut next = Some(of);
        while let Some(context) = next {
            names.extend(context.function.map(|function| symbol(profile, function)));
            next = context.parent.map(|parent| &profile.contexts[parent.index()]);
        }
        names
    };
    profile.contexts.iter().map(|context| (path(context), context.calls)).collect()
}

#[test]
fn contexts_of_the_same_functions_are_one_whichever_file_these_are_in() {
    let profile = profile(measurement());
    assert_eq!(contexts(&profile), [(vec![], 0), (vec!["main"], 3), (vec!["work", "main"], 12)]);
    // The load in `work` was counted in two contexts that are one now.
    let work: Vec<_> = profile.cells.iter().filter(|cell| cell.context == ContextId(2)).collect();
    let [cell] = work[..] else { panic!("one: {work:?}") };
    assert_eq!((cell.read, cell.counts.executions, cell.counts.written), (48, 1100, 48));
}

#[test]
fn sites_are_those_that_did_something_in_the_order_of_the_source() {
    let profile = profile(measurement());
    let position = |id: PositionId| profile.positions[id.index()].line;
    let sites = profile
        .sites
        .iter()
        .map(|site| (symbol(&profile, site.function), site.position.map(position), site.kind, site.size));
    // What ends bytes is no site, and neither is the call that was never made.
    let expected = [
        ("main", Some(4), AccessKind::Load, 8),
        ("main", Some(4), AccessKind::Load, 8),
        ("main", Some(12), AccessKind::Store, 8),
        ("main", Some(12), AccessKind::Store, 8),
        ("work", Some(900), AccessKind::Load, 4),
    ];
    assert_eq!(sites.collect::<Vec<_>>(), expected);
    let read: Vec<u64> = profile.cells.iter().map(|cell| cell.read).collect();
    assert_eq!(read, [1, 4, 2, 8, 48], "of two that are alike, that of the first file is first");
}

#[test]
fn a_position_comes_behind_the_one_that_it_was_inlined_to() {
    let profile = profile(measurement());
    let of = |position: &Position| {
        let outer = position.inlined_at.map(|outer| profile.positions[outer.index()].line);
        (symbol(&profile, position.function), position.line, outer)
    };
    let positions: Vec<_> = profile.positions.iter().map(of).collect();
    assert_eq!(positions, [("main", 4, None), ("work", 12, Some(4)), ("work", 14, None), ("at", 900, Some(14))]);
    let before = |(at, position): (usize, &Position)| position.inlined_at.is_none_or(|outer| outer.index() < at);
    assert!(profile.positions.iter().enumerate().all(before));
}

#[test]
fn equal_runs_give_equal_profiles_in_whichever_order_things_were_found() {
    let mut other = measurement();
    other.blocks.reverse();
    // `main` of the library was found first.
    other.contexts.swap(1, 2);
    for context in &mut other.contexts {
        context.parent = ContextNumber::new([0, 2, 1][context.parent.index()]);
    }
    for block in &mut other.blocks {
        block.context = ContextNumber::new([0, 2, 1, 3, 4][block.context.index()]);
    }
    assert_eq!(profile(other), profile(measurement()));
}

#[test]
fn pieces_of_code_have_their_executions_by_context() {
    let profile = profile(measurement());
    let ops = |count: &BlockCount| profile.blocks[count.block.index()].ops[0].1[0];
    let counts = profile.block_counts.iter().map(|count| (count.context, ops(count), count.executions));
    assert_eq!(counts.collect::<Vec<_>>(), [(ContextId(1), 2, 1), (ContextId(1), 2, 10), (ContextId(2), 5, 1100)]);
    // 2 operations of each type in 11 executions, 5 in 1,100.
    assert_eq!(profile.flops_by_type, [22 + 5500; FLOAT_TYPES]);
}

#[test]
fn instructions_of_the_values_model_are_pieces_of_their_own() {
    let mut table = table();
    let step = |kind: StepKind, op: ValueOp| Item { kind: kind as u8, flags: op as u8, frame: 0, ..Item::default() };
    table.items.extend([step(StepKind::Op, ValueOp::FpAdd), step(StepKind::Escape, ValueOp::FpAdd)]);
    table.segments.push(Segment { ops: 0..1, ..segment(SegmentKind::Block, MAIN, 5..7) });
    let mut counted = block(1, 0, 3, 4, &[0, 0]);
    counted.cells.iter_mut().for_each(|cell| cell.executions = 7);
    let measurement = Measurement {
        tables: vec![(PathBuf::from("program"), Arc::new(table))],
        contexts: vec![context(0, None, 0), context(0, Some((0, MAIN)), 1)],
        blocks: vec![counted],
        ..Measurement::default()
    };
    let profile = profile(measurement);
    let executions: Vec<u64> = profile.block_counts.iter().map(|count| count.executions).collect();
    assert_eq!(executions, [4, 7], "the other operations of the segment, and one of these");
    let ops = profile.blocks[1].ops[0].1;
    assert_eq!((ops[ValueOp::FpAdd.class() as usize], ops.iter().sum::<u32>()), (1, 1));
    let kinds: Vec<AccessKind> = profile.sites.iter().map(|site| site.kind).collect();
    assert_eq!(kinds, [AccessKind::Instruction, AccessKind::Escape]);
}

#[test]
fn accesses_are_named_by_what_they_do() {
    let of = |kind| access_kind(&item(kind, 8, 0), SegmentKind::Block as u8);
    assert_eq!([ItemKind::Load, ItemKind::Gather, ItemKind::MaskedLoad].map(of), [Some(AccessKind::Load); 3]);
    assert_eq!([ItemKind::Store, ItemKind::Scatter, ItemKind::CompressStore].map(of), [Some(AccessKind::Store); 3]);
    let others = [ItemKind::Update, ItemKind::Copy, ItemKind::Fill].map(of);
    assert_eq!(others, [AccessKind::Update, AccessKind::Copy, AccessKind::Fill].map(Some));
    assert_eq!([ItemKind::Kill, ItemKind::Loop].map(of), [None; 2]);
    assert_eq!(access_kind(&item(ItemKind::Load, 8, 0), SegmentKind::CallSite as u8), Some(AccessKind::Call));
    assert_eq!(text(&table(), 1), Some("work"));
    assert_eq!((text(&table(), NONE), text(&table(), 9)), (None, None));
    assert_eq!(item_of(&table(), 2, 1).kind, ItemKind::Kill as u8);
}

#[test]
fn a_place_is_the_innermost_line_that_is_no_librarys() {
    let of = |frame| place(&table(), frame);
    assert_eq!(of(1).as_deref(), Some("work.c:12"), "what was inlined");
    assert_eq!(of(3).as_deref(), Some("work.c:14"), "where the library was called");
    assert_eq!((of(4), of(NONE)), (None, None), "no line, and no frame");
    let mut all_of_a_library = table();
    all_of_a_library.frames[2].file = 4;
    assert_eq!(place(&all_of_a_library, 3).as_deref(), Some("/usr/include/c++/12/vector:14"), "the outermost");
}

fn thread(cost: u128, peak_live: u64, start: Option<(u32, u32)>) -> ThreadTotals {
    let mut thread = ThreadTotals { read: 1, written: 2, cold: 3, cost, start, ..ThreadTotals::default() };
    (thread.ring.accesses, thread.ring.peak_live, thread.ring.footprint) = (4, peak_live, 5);
    (thread.alone.cold, thread.alone.cost, thread.alone.peak_live, thread.alone.footprint) = (30, 100 - cost, 6, 7);
    thread
}

#[test]
fn threads_are_added_up_and_the_most_costly_is_first() {
    let threads = vec![thread(10, 20, Some((1, MAIN))), thread(30, 10, Some((0, WORK))), thread(10, 20, None)];
    let profile = profile(Measurement { threads, ..measurement() });
    let Totals { accesses, read, written, cold, cost, peak_live, footprint } = profile.totals;
    assert_eq!((accesses, read, written, cold, cost, peak_live, footprint), (12, 3, 6, 9, 50, 20, 15));
    let starts: Vec<_> = profile.thread_starts.iter().map(|start| start.map(|id| symbol(&profile, id))).collect();
    assert_eq!(starts, [Some("work"), None, Some("main")]);
    assert_eq!(profile.threads.iter().map(|thread| thread.cost).collect::<Vec<_>>(), [30, 10, 10]);
}

#[test]
fn stacks_of_threads_alone_are_told_unless_the_run_was_cut_short() {
    let mut cold = DepthCounts::default();
    cold.add(3, 9);
    let shared = || Some(Shared { most_threads: 2, ..Shared::default() });
    let with = |cut_short: Option<String>, cold_alone| {
        let threads = vec![thread(10, 20, None), thread(30, 10, None)];
        profile(Measurement { threads, shared: shared(), cold_alone, cut_short, ..measurement() })
    };
    let stacks = with(None, Some(cold.clone())).stacks.expect("they are shared");
    let alone = stacks.alone.expect("they were asked for");
    assert_eq!((stacks.threads, alone.totals.cost, alone.totals.cold, alone.totals.read), (2, 90 + 70, 60, 2));
    assert_eq!(alone.threads.iter().map(|thread| thread.cost).collect::<Vec<_>>(), [90, 70], "by these costs");
    assert_eq!((alone.totals.peak_live, alone.totals.footprint, alone.cold_histogram.total()), (6, 14, 9));
    let cut = with(Some("no memory".into()), Some(cold)).stacks.expect("they are shared");
    assert!(cut.alone.is_none() && with(None, None).stacks.expect("they are shared").alone.is_none());
    assert!(profile(measurement()).stacks.is_none(), "each has one of its own");
}

#[test]
fn pairs_of_lines_are_by_sites_that_may_have_done_nothing_else() {
    let pair = |lines, far| RunPairs { lines, far };
    let pairs = [((None, (0, 0, 0)), pair(1, 1)), ((Some((0, 1, 0)), (0, 0, 0)), pair(3, 2))];
    let profile = profile(Measurement { pairs: pairs.into(), ..measurement() });
    let kind = |site: SiteId| profile.sites[site.index()].kind;
    let found = profile.pairs.iter().map(|pair| (pair.before.map(kind), kind(pair.site), pair.counts.lines));
    let expected = [(None, AccessKind::Load, 1), (Some(AccessKind::Call), AccessKind::Load, 3)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn calls_in_order_are_those_of_functions_by_name() {
    let calls = |calls: &[((u32, u32), u64)], omitted| Calls { calls: calls.into(), omitted };
    // The same function of two files, in a row.
    let first = calls(&[((0, WORK), 2), ((1, WORK), 3), ((0, MAIN), 1)], 4);
    let sequences = vec![((0, WORK), calls(&[], 0)), ((1, MAIN), first)];
    let mut measurement = Measurement { sequences, ..measurement() };
    measurement.contexts.push(context(0, Some((1, WORK)), 1));
    let profile = profile(measurement);
    let named = |sequence: &Sequence| {
        let calls = sequence.calls.iter().map(|(function, times)| (symbol(&profile, *function).to_owned(), *times));
        (symbol(&profile, sequence.function).to_owned(), calls.collect::<Vec<_>>(), sequence.omitted)
    };
    let expected = [("main".into(), vec![("work".into(), 5), ("main".into(), 1)], 4), ("work".into(), vec![], 0)];
    assert_eq!(profile.sequences.iter().map(named).collect::<Vec<_>>(), expected);
}

#[test]
fn hazards_and_levels_are_named_if_they_were_counted() {
    let levels = [Geometry { bytes: 1024, ways: 4, line: 64, policy: Policy::TreePlru }];
    let beside = Beside { hazards: true, levels: &levels, line_sizes: &[64], optimum: &[512], ..Beside::default() };
    let profile = to_profile(&mut measurement(), Meta::default(), beside);
    assert_eq!(profile.hazards, hazards::NAMES);
    assert_eq!((&profile.line_sizes[..], &profile.optimum[..]), (&[64][..], &[512][..]));
    let [level] = &profile.caches[..] else { panic!("one") };
    assert_eq!((level.bytes, level.ways, level.line, level.plru), (1024, 4, 64, true));
    assert!(super::level(&Geometry { policy: Policy::Lru, ..levels[0] }).plru != level.plru);
}

/// Blocks of the heap by context and call, and one use of each.
fn objects(keys: &[(ObjectKey, u64)]) -> MergedObjects {
    let mut objects = MergedObjects::default();
    for (key, bytes) in keys {
        objects.lives.insert(key.clone(), Life { times: 1, bytes: *bytes, live: 0, peak: *bytes });
        let mut parts: dmdprof_runtime::objects::Parts = Box::new([0; dmdprof_runtime::objects::PARTS]);
        parts[0] = *bytes;
        objects.parts.insert(key.clone(), parts);
        let mut counters = CellCounters::default();
        counters.written = *bytes;
        objects.uses.insert((key.clone(), (0, 0, 1)), counters);
    }
    objects
}

#[test]
fn objects_that_cannot_be_told_apart_by_name_are_one() {
    let heap = |context: usize| ObjectKey::Block { context: ContextNumber::new(context), site: Some((0, 1)) };
    let datum = |table, datum| ObjectKey::Datum { table, datum };
    // The contexts 3 and 4 are one of the profile, and 0 stands for any.
    let keys = [(heap(3), 1), (heap(4), 2), (heap(0), 4), (datum(0, 1), 8), (datum(1, 1), 16), (datum(0, 0), 32)];
    let profile = profile(Measurement { objects: Some(objects(&keys)), ..measurement() });
    let objects = profile.objects.as_ref().expect("they were measured");
    let name = |id: Option<StringId>| id.map(|id| profile.strings[id.index()].as_str());
    let found = objects.list.iter().map(|object| {
        (object.kind, name(object.name), name(object.module), object.context, object.times, object.bytes, object.peak)
    });
    let variable = |module, bytes| (ObjectKind::Static, Some("array"), Some(module), None, 1, bytes, bytes);
    let mut expected = vec![
        (ObjectKind::Heap, None, None, None, 1, 4, 4),
        (ObjectKind::Heap, None, None, Some(ContextId(2)), 2, 3, 3),
        variable("library.so", 16),
        variable("program", 8),
        (ObjectKind::Section, Some(".data"), Some("program"), None, 1, 32, 32),
    ];
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|object| object.5);
    expected.sort_by_key(|object| object.5);
    assert_eq!(found, expected);
    let in_use = |used: &crate::profile::model::ObjectUse| {
        let object = &objects.list[used.object.index()];
        (object.bytes, object.parts[0], used.counts.written)
    };
    let mut uses: Vec<_> = objects.uses.iter().map(in_use).collect();
    uses.sort_unstable();
    assert_eq!(uses, [(3, 3, 3), (4, 4, 4), (8, 8, 8), (16, 16, 16), (32, 32, 32)]);
}

#[test]
fn flows_are_by_sites_contexts_and_objects_of_the_profile() {
    let flow = |bytes: u64| {
        let mut flow = MergedFlow::default();
        flow.found.read(0, bytes);
        flow.found.flush();
        flow.between.all = bytes;
        flow.between.largest = vec![((0, 0, 0), bytes), ((0, 0, 1), 2 * bytes)];
        flow
    };
    let key = |context: usize| dmdprof_runtime::analysis::FlowKey {
        writer: Some((0, 0, 1)),
        toucher: None,
        reader: (0, 2, 0),
        contexts: Some((None, ContextNumber::new(context))),
        object: None,
    };
    let flows = BTreeMap::from([(key(3), flow(3)), (key(4), flow(4)), (key(1), flow(1))]);
    let profile = profile(Measurement { flows: Some(flows), ..measurement() });
    let flows = profile.flows.as_ref().expect("they were measured");
    let found: Vec<_> = flows.iter().map(|flow| (flow.reader_context, flow.bytes, flow.between_all)).collect();
    assert_eq!(found, [(Some(ContextId(1)), 1, 1), (Some(ContextId(2)), 7, 7)], "two contexts of the run are one");
    let kind = |site: SiteId| profile.sites[site.index()].kind;
    let between: Vec<_> = flows[1].between.iter().map(|(site, bytes)| (kind(*site), *bytes)).collect();
    assert_eq!(between, [(AccessKind::Store, 14), (AccessKind::Load, 7)], "most first");
    assert_eq!((flows[0].writer.map(kind), flows[0].toucher), (Some(AccessKind::Store), None));
}

#[test]
fn loops_come_behind_those_around_them_and_calls_say_in_which_they_are() {
    let mut program = table();
    let of = |function, parent, frame| Loop { function, parent, frame };
    program.loops = vec![of(MAIN, NONE, 0), of(MAIN, 0, 4), of(WORK, NONE, 2), of(WORK, NONE, 2)];
    program.segments[0].around = 1;
    program.calls = vec![(MAIN, LoopCall { callee: 1, around: 2 }), (MAIN, LoopCall { callee: 5, around: 3 })];
    let mut measurement = measurement();
    measurement.tables[0].1 = Arc::new(program);
    measurement.objects = Some(objects(&[(ObjectKey::Unknown, 8)]));
    let profile = profile(measurement);
    let line = |position: Option<PositionId>| position.map(|position| profile.positions[position.index()].line);
    let loops: Vec<_> =
        profile.known.loops.iter().map(|of| (line(of.position), of.parent.map(|p| p.index()))).collect();
    // The last one is around a call of what did not run.
    assert_eq!(loops, [(Some(4), None), (Some(0), Some(0)), (Some(14), None)]);
    let calls = profile.known.calls.iter().map(|call| {
        (symbol(&profile, call.caller), symbol(&profile, call.callee), call.around.map(|around| around.index()))
    });
    let calls: Vec<_> = calls.collect();
    assert_eq!(calls, [("main", "work", Some(2))]);
    let notes: Vec<_> = profile.known.notes.iter().map(|note| note.around.map(|around| around.index())).collect();
    assert_eq!(notes, [Some(1)], "the store, which used the object");
}

#[test]
fn a_window_is_listed_access_by_access() {
    let event = |what, site, object| Event { what, addr: 0x10, len: 8, site, object };
    let read = What::Read { depths: vec![(0, 4), (8, 1), (19, 3)] };
    let datum = Some(ObjectKey::Datum { table: 0, datum: 1 });
    let heap = Some(ObjectKey::Block { context: ContextNumber::ROOT, site: Some((0, 1)) });
    let events = vec![
        event(read.clone(), Some((0, 0, 1)), datum),
        event(What::Write, Some((0, 2, 0)), heap),
        event(read, None, None),
        event(What::Dies, None, None),
        event(What::Moves { to: 0x200 }, None, None),
    ];
    let window = |cut| Some(Window { accesses: 3, cut, events: events.clone() });
    let listing = |cut| window::listing(&Measurement { window: window(cut), ..measurement() }, "`main`");
    // Roots of 1 to 4, of 9, and of 20 to 22, rounded up; what does not count is not in the sum.
    let cost = (1 + 3 * 2) + 3 + 3 * 5;
    let expected = format!(
        "window of 3 accesses from `main`\n\
         read 10:8 depth 1-4,9,20-22 cost {cost} of array at work.c:12\n\
         write 10:8 of heap of main.c:4 at work.c:14\n\
         read 10:8 depth 1-4,9,20-22 cost {cost} not counted\n\
         dies 10:8\n\
         moves 10 200:8\n\
         total {cost} (1 reads); the run ends here\n"
    );
    assert_eq!(listing(false).as_deref(), Some(&*expected));
    assert!(listing(true).is_some_and(|text| text.ends_with("; the window ends here\n")));
    assert_eq!(window::listing(&measurement(), "`main`"), None);
}

#[test]
fn what_is_nothing_is_forgotten() {
    let mut counts = CellCounts { lines: Some(vec![LineCounts::default()].into()), ..CellCounts::default() };
    tidy(&mut counts, true);
    assert!(counts.lines.is_none());
    let lines = LineCounts { first_loads: 1, ..LineCounts::default() };
    let mut counts = CellCounts { lines: Some(vec![LineCounts::default(), lines].into()), ..CellCounts::default() };
    counts.alone.get_or_insert_default().cost = 1;
    tidy(&mut counts, true);
    assert!(counts.lines.is_some() && counts.alone.is_some());
    tidy(&mut counts, false);
    assert!(counts.alone.is_none(), "not all of them are known");
    counts.alone = Some(Box::default());
    tidy(&mut counts, true);
    assert!(counts.alone.is_none());
}
