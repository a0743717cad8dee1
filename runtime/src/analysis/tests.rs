//! Whole analyses of small made-up programs against the definitions of what they measure.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Debug,
    sync::Arc,
};

use proptest::prelude::*;

use super::{
    Measurement, Options,
    fast_paths::FastPaths,
    shared::{Member, SharedObject, Together},
};
use crate::{
    abi::{ItemKind, segment_flag, synchronise::Synchronise},
    counts::{least::LeastCounts, pairs::PairCounts},
    decode::event::{Event, Synchronised},
    histogram::bounds,
    observe::caches::{Geometry, Policy},
    tests::{
        defined::{self, Counts, Flow, Objects, ReadTotals, Totals, Traffic},
        history::{Happening, Object, Path, Site},
        measured,
        program::{Function, Image, Program, Segment, SegmentName, item},
        random::{self, Op, REGION, cases},
        run::{Named, Run, spool, together},
        steps::Step,
    },
};

/// Threads that do some operations, with code of a number; so many steps come at a time.
#[derive(Clone, Debug)]
struct Case {
    code: u64,
    threads: Vec<Vec<Op>>,
    steps: usize,
}

impl Case {
    fn run(&self) -> Run {
        let program = random::program(self.code);
        let threads = (0..).zip(&self.threads).map(|(thread, ops)| random::steps(&program, ops, thread));
        let threads: Vec<_> = threads.collect();
        Run::new(program, &threads, self.steps)
    }
}

fn any_case() -> impl Strategy<Value = Case> {
    let threads = prop::collection::vec(random::ops(60), 1..3);
    (0u64..1000, threads, 1usize..30).prop_map(|(code, threads, steps)| Case { code, threads, steps })
}

fn usual() -> Options {
    Options { hints: true, analyse: true, workers: 2, ..Options::default() }
}

/// The ways to analyse a run, by name.
fn ways(run: &Run, options: &Options) -> Vec<(&'static str, Measurement)> {
    let slowly = FastPaths {
        narrow: false,
        blocks: false,
        runs: false,
        batches: false,
        moves: false,
        skips: false,
        ..FastPaths::default()
    };
    let sliced = |accesses| Options { slice: Some(accesses), ..options.clone() };
    let mut all = vec![
        ("whole", run.replayed(options)),
        ("without fast paths", run.replayed(&Options { ways: slowly, ..options.clone() })),
        ("by workers", run.by_workers(options, false)),
        ("with threads for engines", run.by_workers(options, options.window.is_none())),
    ];
    if options.in_one_piece().is_none() {
        all.push(("in slices", run.replayed(&sliced(20))));
        all.push(("in slices by workers", run.by_workers(&sliced(90), false)));
    }
    all
}

/// The same, with the trace in parts.
fn all_ways(run: &Run, options: &Options) -> Vec<(&'static str, Measurement)> {
    let mut all = ways(run, options);
    all.push(("in parts", run.in_parts(options, 5)));
    all
}

/// What all threads count.
fn counts(run: &Run, options: &Options) -> Counts {
    let threads = run.histories(options);
    threads.iter().map(|thread| defined::counts(thread, options.hints)).fold(Counts::default(), Counts::with)
}

/// The same thing of all threads, by name.
fn sum<K: Ord + Clone, V: Default>(
    threads: &[Vec<Happening>],
    of: impl Fn(&[Happening]) -> BTreeMap<K, V>,
    add: impl Fn(&mut V, &V),
) -> BTreeMap<K, V> {
    let mut all = BTreeMap::new();
    for thread in threads {
        of(thread).iter().for_each(|(key, value)| add(all.entry(key.clone()).or_default(), value));
    }
    all
}

/// Where the two are not the same, some lines of it.
fn differ<T: Debug + PartialEq>(way: &str, found: &T, expected: &T) -> Result<(), TestCaseError> {
    if found == expected {
        return Ok(());
    }
    let (found, expected) = (format!("{found:#?}"), format!("{expected:#?}"));
    let lines = |text: &str, other: &str| -> String {
        let known: HashSet<&str> = other.lines().collect();
        text.lines().filter(|line| !known.contains(line)).take(12).map(|line| format!("{line}\n")).collect()
    };
    let (more, less) = (lines(&found, &expected), lines(&expected, &found));
    Err(TestCaseError::fail(format!("{way}: found\n{more}instead of\n{less}")))
}

fn add_traffic(all: &mut Traffic, more: &Traffic) {
    *all = Traffic {
        loads: all.loads + more.loads,
        stores: all.stores + more.stores,
        write_backs: all.write_backs + more.write_backs,
    };
}

/// A function that stores and loads words.
fn words() -> (Program, [SegmentName; 5]) {
    let word = |kind| Segment::block(1, vec![item(kind, 1, 0, 8)]);
    let segments = vec![
        Segment::block(0, Vec::new()).with(segment_flag::ENTER),
        word(ItemKind::Store),
        word(ItemKind::Load),
        Segment::call_site(),
        Segment::block(0, Vec::new()).with(segment_flag::EXIT),
    ];
    let image = Image { functions: vec![Function { name: "main".into(), segments }], variables: vec![16] };
    (Program { images: vec![image] }, [0, 1, 2, 3, 4].map(|segment| (0, segment)))
}

/// Numbers that anybody can work out: a word is stored to a block, which moves, and is loaded from there, twice.
#[test]
fn a_block_that_moves_keeps_its_writer_its_depths_and_its_name() {
    const BLOCK: u64 = 1 << 40;
    const ELSEWHERE: u64 = BLOCK + 4096;
    let (program, [enter, store, load, call, exit]) = words();
    let (variable, _) = program.variables(0)[0];
    let steps = vec![
        Step::Segment(enter, Vec::new()),
        Step::Event(Some(call), Event::Alloc { address: BLOCK, len: 16 }),
        Step::Segment(store, vec![BLOCK]),
        Step::Segment(store, vec![variable]),
        Step::Event(Some(call), Event::Relocate { from: BLOCK, from_len: 16, to: ELSEWHERE, to_len: 32 }),
        Step::Segment(load, vec![ELSEWHERE]),
        Step::Segment(load, vec![ELSEWHERE]),
        Step::Segment(exit, Vec::new()),
    ];
    let run = Run::new(program, &[steps], 3);
    let context: Path = Path::from([(0, 0)]);
    let site = |segment| Site { context: context.clone(), segment, item: 0 };
    // At depths 9 to 16, where a byte costs 3 or 4; then on the top, at 1 to 8.
    let (below, top) = (3 + 7 * 4, 1 + 3 * 2 + 4 * 3);
    for (way, measurement) in ways(&run, &Options { flows: true, objects: true, ..usual() }) {
        let counts = measured::counts(&measurement);
        assert_eq!(counts.cells[&site(store)].written, 16, "{way}");
        assert_eq!((counts.cells[&site(load)].found.cost, counts.cells[&site(load)].found.bytes()), (below + top, 16));
        assert_eq!(counts.executions[&(context.clone(), store)], 2);
        assert_eq!((counts.threads[0].peak_live, counts.threads[0].accesses), (16, 4));
        let block = Object::Block { context: context.clone(), site: Some(call) };
        let flow = |toucher| Flow {
            writer: Some((store, 0)),
            toucher: Some((toucher, 0)),
            reader: (load, 0),
            contexts: None,
            object: Some(block.clone()),
        };
        let flows = measured::flows(&measurement);
        assert_eq!(
            flows.iter().map(|(flow, found)| (flow, found.cost)).collect::<Vec<_>>(),
            [(&flow(store), below), (&flow(load), top)]
        );
        let life = measured::objects(&measurement).lives[&block].clone();
        assert_eq!((life.times, life.bytes, life.peak), (1, 32, 32), "{way}");
    }
}

/// Words that are no record take the rest of their chunk with them, which is told; the next chunk counts again.
#[test]
fn what_cannot_be_decoded_is_lost_up_to_the_end_of_its_chunk() {
    let (program, [enter, store, load, ..]) = words();
    let (variable, _) = program.variables(0)[0];
    let steps = vec![
        // Behind the start of the thread: three records, of which two are lost.
        Step::Segment(enter, Vec::new()),
        Step::Segment(store, vec![variable]),
        Step::Unknown(vec![7, 7, 7]),
        Step::Segment(store, vec![variable]),
        // A chunk.
        Step::Segment(load, vec![variable]),
        Step::Segment(load, vec![variable]),
    ];
    let run = Run::new(program, &[steps], 5);
    let options = usual();
    let mut all = ways(&run, &options);
    all.push(("in parts", run.in_parts(&options, 3)));
    for (way, measurement) in all {
        let totals = &measurement.threads[0];
        assert_eq!((totals.written, totals.read, totals.ring.accesses), (8, 16, 3), "{way}");
        assert_eq!(totals.ring.lost_words, 3 + 2, "{way}");
    }
}

/// A word that one thread stores and a thread that it makes loads and stores, in a line of a variable.
#[test]
fn threads_that_share_a_stack_are_named_with_what_they_do_to_each_other() {
    let (program, [enter, store, load, _, exit]) = words();
    let (variable, _) = program.variables(0)[0];
    // As the second thread says when it starts.
    let made = Synchronised { what: Synchronise::Created, object: 0x7f00_0002, value: 2, other: 0 };
    let step = |segment, words: &[u64]| Step::Segment(segment, words.to_vec());
    let first =
        vec![step(enter, &[]), step(store, &[variable]), Step::Event(None, Event::Synchronise(made)), step(exit, &[])];
    let second = vec![step(enter, &[]), step(load, &[variable]), step(store, &[variable]), step(exit, &[])];
    let run = Run::new(program, &[first, second], 100);
    let of = |member| {
        let (clusters, sharing) = (vec![vec![member]], Some(64));
        let together = Together { clusters, sharing, ..together() };
        let options = Options { together: Some(Arc::new(together)), objects: true, ..usual() };
        run.replayed(&options).shared.expect("threads together")
    };
    let all = of(Member::Named(Arc::new(Named(&["main"]))));
    assert_eq!((all.named, all.most_threads, all.unseen_starts), ([0].into(), 2, 0));
    let met = all.met.expect("it was asked for");
    assert_eq!((met.line, met.threads), (64, vec![Some((0, 0)); 2]));
    let moved: Vec<_> = met.moved.into_iter().collect();
    let [((writer, reader, SharedObject::Datum { table: 0, .. }), 8)] = moved[..] else { panic!("{moved:?}") };
    assert_eq!((writer, reader), ((0, Some((0, store.1, 0))), (1, Some((0, load.1, 0)))));
    let [line] = &met.lines[..] else { panic!("one line changes hands") };
    assert_eq!((line.line.changes, line.line.transfers, line.parts.len()), (1, 1, 2));
    let others = of(Member::Numbers(1..=1));
    assert_eq!((others.named, others.most_threads), ([0].into(), 1), "each has a stack of its own");
    assert_eq!(of(Member::Numbers(7..=9)).named, [].into());
}

// Memories of all sizes are tried byte by byte, which takes long.
proptest! {
    #![proptest_config(cases(4))]

    /// What memories that know the future fetch, whichever of two bytes leaves that are read at one time.
    #[test]
    fn the_optimum_evicts_what_is_read_farthest_in_the_future(
        case in any_case(),
        has_roi in any::<bool>(),
        exact in any::<bool>(),
        objects in any::<bool>(),
    ) {
        let run = case.run();
        let roi = has_roi.then(|| Arc::new(Named(&["work", REGION])) as _);
        let capacities = [8, 32, 128];
        let options = Options { log: Some(spool()), exact, optimum: capacities.into(), objects, roi, ..usual() };
        let threads = run.histories(&options);
        let measurements = ways(&run, &options);
        let places: Vec<_> = threads.iter().map(|thread| defined::places(thread, exact)).collect();
        for (number, capacity) in capacities.into_iter().enumerate() {
            let of = |tie| {
                let mut all = BTreeMap::<_, LeastCounts>::new();
                for (thread, places) in threads.iter().zip(&places) {
                    let least = defined::least(thread, places, capacity, tie);
                    least.iter().for_each(|(site, counts)| all.entry(site.clone()).or_default().merge(counts));
                }
                all
            };
            let expected = of(defined::Tie::Lowest);
            differ("any tie", &of(defined::Tie::Highest), &expected)?;
            for (way, measurement) in &measurements {
                differ(&format!("{way}: {capacity} B"), &measured::least(measurement, number), &expected)?;
                let deep = measurement.cold.iter().filter(|(bucket, _)| bounds(*bucket).0 > capacity).map(|(_, n)| n);
                let first = measurement.blocks.iter().flat_map(|block| &block.cells).flat_map(|cell| &cell.least);
                prop_assert!(first.map(|least| least[number].first).sum::<u64>() >= deep.sum::<u64>(), "{}", way);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    /// Calls, executions, bytes written, depths, first touches and totals.
    #[test]
    fn counts_are_those_of_the_definition(case in any_case(), hints in prop::bool::weighted(0.8)) {
        let run = case.run();
        let options = Options { hints, ..usual() };
        let expected = counts(&run, &options);
        for (way, measurement) in all_ways(&run, &options) {
            differ(way, &measured::counts(&measurement), &expected)?;
        }
    }

    /// Only what happens in a function or region of interest counts; everything else moves bytes all the same.
    #[test]
    fn a_region_of_interest_is_all_that_counts(case in any_case()) {
        let run = case.run();
        let options = Options { roi: Some(Arc::new(Named(&["work", REGION]))), ..usual() };
        let expected = counts(&run, &options);
        for (way, measurement) in all_ways(&run, &options) {
            differ(way, &measured::counts(&measurement), &expected)?;
        }
    }

    /// What memories of lines fetch and write back, at capacities of which counts know everything.
    #[test]
    fn lines_move_as_in_a_list(case in any_case(), has_roi in any::<bool>()) {
        let run = case.run();
        const SIZES: [u32; 2] = [16, 64];
        let roi = has_roi.then(|| Arc::new(Named(&["work", REGION])) as _);
        let options = Options { line_sizes: SIZES.to_vec(), roi, ..usual() };
        let (threads, expected) = (run.histories(&options), counts(&run, &options));
        let measurements = all_ways(&run, &options);
        for (size, bytes) in SIZES.into_iter().enumerate() {
            for capacity in [16, 32] {
                let expected = sum(&threads, |thread| defined::lines(thread, bytes.into(), capacity), add_traffic);
                for (way, measurement) in &measurements {
                    let found = measured::lines(measurement, size, capacity);
                    differ(&format!("{way}: {capacity} lines of {bytes}"), &found, &expected)?;
                }
            }
        }
        let pairs = sum(&threads, |thread| defined::pairs(thread, SIZES[0].into()), PairCounts::merge);
        for (way, measurement) in &measurements {
            differ(&format!("{way}: pairs"), &measurement.pairs, &pairs)?;
            differ(way, &measured::counts(measurement), &expected)?;
        }
    }

    /// What caches of sets and ways fetch and write back.
    #[test]
    fn caches_move_as_plain_ones(case in any_case(), has_roi in any::<bool>()) {
        let run = case.run();
        let level = |bytes, ways, policy| Geometry { bytes, ways, line: 16, policy };
        let levels = [level(64, 2, Policy::Lru), level(256, 4, Policy::TreePlru)];
        let roi = has_roi.then(|| Arc::new(Named(&["work", REGION])) as _);
        let options = Options { caches: levels.to_vec(), roi, ..usual() };
        let (threads, expected) = (run.histories(&options), counts(&run, &options));
        let moved = sum(&threads, |thread| defined::caches(thread, &levels), |all: &mut Vec<_>, more| {
            all.resize(levels.len(), Default::default());
            all.iter_mut().zip(more).for_each(|(all, more)| all.merge(more));
        });
        for (way, measurement) in ways(&run, &options) {
            differ(way, &measured::caches(&measurement), &moved)?;
            differ(way, &measured::counts(&measurement), &expected)?;
        }
    }

    /// Accesses that are slower than others of their kind.
    #[test]
    fn hazards_are_those_of_the_definition(case in any_case(), has_roi in any::<bool>(), lines_only in any::<bool>()) {
        let run = case.run();
        let roi = has_roi.then(|| Arc::new(Named(&["work", REGION])) as _);
        let options = Options { hazards: true, lines_only, roi, ..usual() };
        let found = sum(&run.histories(&options), defined::hazards, |all: &mut BTreeMap<_, _>, more| {
            more.iter().for_each(|(kind, count)| *all.entry(*kind).or_default() += count);
        });
        for (way, measurement) in all_ways(&run, &options) {
            differ(way, &measured::hazards(&measurement), &found)?;
        }
    }

    /// From where to where bytes go; a block that is moved keeps its writers.
    #[test]
    fn flows_are_those_of_the_definition(
        case in any_case(),
        hints in prop::bool::weighted(0.8),
        flow_contexts in any::<bool>(),
        has_roi in any::<bool>(),
    ) {
        let run = case.run();
        let roi = has_roi.then(|| Arc::new(Named(&["work", REGION])) as _);
        let options = Options { hints, flows: true, flow_contexts, roi, ..usual() };
        let (threads, expected) = (run.histories(&options), counts(&run, &options));
        let flows = sum(&threads, |thread| defined::flows(thread, hints, flow_contexts, |_| None), ReadTotals::add);
        for (way, measurement) in ways(&run, &options) {
            differ(way, &measured::flows(&measurement), &flows)?;
            differ(way, &measured::counts(&measurement), &expected)?;
        }
    }

    /// Lines without a stack of bytes: they move what they move beside one, and nothing has a depth.
    #[test]
    fn lines_without_bytes_move_what_they_move_beside_them(case in any_case(), objects in any::<bool>()) {
        let run = case.run();
        let options = Options { line_sizes: vec![16], lines_only: true, objects, ..usual() };
        let threads = run.histories(&options);
        let mut expected = counts(&run, &options);
        expected.cold.clear();
        expected.cells.values_mut().for_each(|cell| cell.found = ReadTotals::default());
        expected.cells.retain(|_, cell| (cell.executions, cell.written) != (0, 0));
        for totals in &mut expected.threads {
            let Totals { accesses, written, unknown_frees, is_interesting, start, .. } = *totals;
            *totals = Totals { accesses, written, unknown_frees, is_interesting, start, ..Totals::default() };
        }
        expected.threads.sort_unstable();
        let lines = sum(&threads, |thread| defined::lines(thread, 16, 16), add_traffic);
        let pairs = sum(&threads, |thread| defined::pairs(thread, 16), PairCounts::merge);
        for (way, measurement) in all_ways(&run, &options) {
            differ(&format!("lines, {way}"), &measured::lines(&measurement, 0, 16), &lines)?;
            differ(&format!("pairs, {way}"), &measurement.pairs, &pairs)?;
            differ(way, &measured::counts(&measurement), &expected)?;
        }
    }

    /// The hash of all depths tells that two ways find the same; with other depths it is another one.
    #[test]
    fn the_hash_of_depths_is_the_same_in_all_ways(case in any_case()) {
        let run = case.run();
        let hashes = |hints| -> Vec<_> {
            let options = Options { hints, ways: FastPaths { hash: true, ..FastPaths::default() }, ..usual() };
            let slowly = FastPaths { blocks: false, runs: false, moves: false, skips: false, ..options.ways };
            let sliced = Options { slice: Some(30), ..options.clone() };
            let slowly = Options { ways: slowly, ..options.clone() };
            let hashes = |measurement: &Measurement| -> Vec<_> {
                measurement.threads.iter().map(|thread| thread.ring.depth_hash).collect()
            };
            [options, slowly, sliced].iter().map(|options| hashes(&run.replayed(options))).collect()
        };
        let (with, without) = (hashes(true), hashes(false));
        prop_assert!(with[0].iter().all(Option::is_some));
        prop_assert!(with.iter().all(|hash| *hash == with[0]) && without.iter().all(|hash| *hash == without[0]));
        let all = |hints| -> BTreeMap<_, _> {
            let cells = counts(&run, &Options { hints, ..usual() }).cells.into_iter();
            cells.map(|(site, cell)| (site, cell.found.depths)).filter(|(_, depths)| !depths.is_empty()).collect()
        };
        // One hash of different depths is as good as impossible.
        prop_assert!(with != without || all(true) == all(false));
    }

    /// Single accesses of the thread with most, with the depths of their bytes.
    #[test]
    fn a_window_has_each_access(case in any_case(), limit in prop_oneof![60u64..100, Just(50_000)]) {
        let run = case.run();
        let options = Options { window: Some(limit), ..usual() };
        let windows: Vec<_> = run.histories(&options).iter().map(|thread| {
            let is_access = |looked: &&defined::Looked| {
                matches!(looked, defined::Looked::Read { .. } | defined::Looked::Write { .. })
            };
            let accesses = |limit| defined::window(thread, limit).iter().filter(is_access).count();
            let is_cut = accesses(usize::MAX) as u64 > limit;
            (accesses(limit as usize), (defined::window(thread, limit as usize), is_cut))
        }).collect();
        let most = windows.iter().map(|window| window.0).max();
        for (way, measurement) in ways(&run, &options) {
            let found = measured::window(&measurement);
            let expected = windows.iter().filter(|window| Some(window.0) == most);
            prop_assert!(expected.clone().any(|window| window.1 == found), "{}: {:?}\n{:?}", way, found, windows);
        }
    }

    /// Lives of objects, and what sites do to each.
    #[test]
    fn objects_are_those_of_the_definition(case in any_case(), has_roi in any::<bool>()) {
        let run = case.run();
        let roi = has_roi.then(|| Arc::new(Named(&["work", REGION])) as _);
        let options = Options { objects: true, roi, ..usual() };
        let (threads, expected) = (run.histories(&options), counts(&run, &options));
        let objects = threads.iter().map(|thread| defined::objects(thread, true)).fold(Objects::default(), Objects::with);
        for (way, measurement) in all_ways(&run, &options) {
            differ(way, &measured::objects(&measurement), &objects)?;
            differ(way, &measured::counts(&measurement), &expected)?;
        }
    }

    /// Both together: flows are told apart by object.
    #[test]
    fn flows_of_objects_are_those_of_the_definition(case in any_case()) {
        let run = case.run();
        let options = Options { objects: true, flows: true, ..usual() };
        let threads = run.histories(&options);
        let objects = threads.iter().map(|thread| defined::objects(thread, true)).fold(Objects::default(), Objects::with);
        let of_thread = |thread: &[Happening]| {
            let mut map = defined::Map::default();
            defined::flows(thread, true, false, |happening| {
                map.follow(happening);
                let Happening::Load(load) = happening else { return None };
                Some(map.object_at(load.address))
            })
        };
        let flows = sum(&threads, of_thread, ReadTotals::add);
        for (way, measurement) in ways(&run, &options) {
            differ(way, &measured::objects(&measurement), &objects)?;
            differ(way, &measured::flows(&measurement), &flows)?;
        }
    }

    /// What is found without bytes that nobody will read, and who left these; what the program says beside it.
    #[test]
    fn dead_bytes_are_those_of_the_definition(case in any_case(), has_roi in any::<bool>()) {
        let run = case.run();
        let roi = has_roi.then(|| Arc::new(Named(&["work", REGION])) as _);
        let options = Options { log: Some(spool()), exact: true, roi, ..usual() };
        let threads = run.histories(&options);
        let dead = sum(&threads, defined::dead, defined::Dead::add);
        let hints_cost: u128 = counts(&run, &options).threads.iter().map(|thread| thread.cost).sum();
        for (way, measurement) in ways(&run, &options) {
            differ(way, &measured::dead(&measurement), &dead)?;
            prop_assert_eq!(measurement.threads.iter().map(|thread| thread.hints_cost).sum::<u128>(), hints_cost, "{}", way);
        }
    }

    /// The calls of chosen functions, in order.
    #[test]
    fn sequences_are_the_calls_in_order(case in any_case(), has_roi in any::<bool>()) {
        let run = case.run();
        let roi = has_roi.then(|| Arc::new(Named(&["work", REGION])) as _);
        let options = Options { sequence: Some(Arc::new(Named(&["main", "leaf"]))), roi, ..usual() };
        let mut expected: Vec<_> = run.histories(&options).iter().flat_map(|thread| defined::sequences(thread, &[(0, 0), (0, 2)])).collect();
        expected.sort_unstable();
        for (way, measurement) in ways(&run, &options) {
            let mut found: Vec<_> = measurement.sequences.iter().map(|(function, calls)| (*function, calls.calls.clone())).collect();
            found.sort_unstable();
            differ(way, &found, &expected)?;
        }
    }

    /// Threads that share a stack and take turns of any length come one after the other; beside that, each has on a
    /// stack of its own what it has without the others.
    #[test]
    fn threads_together_are_one_after_the_other(case in any_case()) {
        let run = case.run();
        let together = Together { turn: 1 << 40, alone: true, ..together() };
        let options = Options { together: Some(Arc::new(together)), line_sizes: vec![64], ..usual() };
        let threads = run.histories(&options);
        let (private, shared) = (counts(&run, &options), defined::counts(&threads.concat(), true));
        let lines = sum(&threads, |thread| defined::lines(thread, 64, 16), add_traffic);
        let alone = private.cells.iter().map(|(site, cell)| (site.clone(), cell.found.clone()));
        let alone: BTreeMap<_, _> = alone.filter(|(_, found)| *found != ReadTotals::default()).collect();
        let measurement = run.replayed(&options);
        let found = measured::counts(&measurement);
        differ("cells", &found.cells, &shared.cells)?;
        prop_assert_eq!((&found.calls, &found.executions, &found.cold), (&shared.calls, &shared.executions, &shared.cold));
        differ("lines", &measured::lines(&measurement, 0, 16), &defined::lines(&threads.concat(), 64, 16))?;
        differ("alone", &measured::alone(&measurement), &alone)?;
        differ("lines alone", &measured::lines_alone(&measurement, 0, 16), &lines)?;
        let cold = measurement.cold_alone.as_ref().map(|cold| cold.iter().collect()).unwrap_or_default();
        prop_assert_eq!(private.cold, cold);
        let all = |of: fn(&defined::Totals) -> u64| private.threads.iter().map(of).sum::<u64>();
        let own = |of: fn(&super::AloneTotals) -> u64| measurement.threads.iter().map(|thread| of(&thread.alone)).sum::<u64>();
        prop_assert_eq!(all(|thread| thread.peak_live), own(|alone| alone.peak_live));
        prop_assert_eq!(all(|thread| thread.footprint), own(|alone| alone.footprint));
        prop_assert_eq!(all(|thread| thread.cold), own(|alone| alone.cold));
    }

    /// Threads of one process that share nothing are as if each were alone.
    #[test]
    fn threads_apart_are_private(case in any_case(), with_objects in any::<bool>()) {
        let run = case.run();
        let together = Together { apart: true, ..together() };
        let options = Options { together: Some(Arc::new(together)), objects: with_objects, ..usual() };
        let found = measured::counts(&run.replayed(&options));
        differ("apart", &found, &counts(&run, &options))?;
    }
}
