//! Affine runs against the list of `oracle.rs`: random loop nests, among irregular accesses and deaths.

use crate::engine::{
    BatchSink, DepthSink, Engine, Kind, Progression, Stream,
    oracle::{ByteDepth, Collect, Oracle},
    tests::set_ups,
};
use crate::tests::random::cases;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

#[derive(Clone, Debug)]
enum Step {
    Run { streams: Vec<Stream>, iterations: u64, times: u64 },
    Load(u64, u64),
    Store(u64, u64),
    Remove(u64, u64),
}

/// What each stream's loads found, all iterations together and sorted: the order among equals is not promised.
struct PerStream {
    found: Vec<Collect>,
    current: usize,
}

impl PerStream {
    fn sorted(self) -> Vec<Vec<ByteDepth>> {
        self.found.into_iter().map(Collect::sorted).collect()
    }
}

impl DepthSink for PerStream {
    fn warm(&mut self, above: u64, len: u64) {
        self.found[self.current].warm(above, len);
    }
    fn cold(&mut self, above: u64, len: u64) {
        self.found[self.current].cold(above, len);
    }
    fn below_holes(&mut self, runs: Progression, holes: u64) {
        self.found[self.current].below_holes(runs, holes);
    }
}

impl BatchSink for PerStream {
    fn begin(&mut self, number: usize) {
        self.current = number;
    }
}

fn empty(streams: usize) -> PerStream {
    PerStream { found: (0..streams).map(|_| Collect::default()).collect(), current: 0 }
}

type Outcome = (Vec<Vec<ByteDepth>>, [u64; 3]);

fn by_list(steps: &[Step]) -> Vec<Outcome> {
    let mut oracle = Oracle::default();
    let mut outcomes = Vec::new();
    for step in steps {
        let (mut sink, mut repeats) = (empty(1), 1);
        match step {
            Step::Run { streams, iterations, times } => {
                repeats = *times;
                for round in 0..*times {
                    sink = empty(streams.len());
                    for iteration in 0..*iterations {
                        for (number, s) in streams.iter().enumerate() {
                            let addr = s.addr.wrapping_add_signed(s.stride * iteration as i64);
                            match s.kind {
                                Kind::Load => sink.found[number].0.extend(oracle.load(addr, s.len.into())),
                                Kind::Store => oracle.store(addr, s.len.into()),
                                Kind::Remove => oracle.remove(addr, s.len.into()),
                                Kind::Last => {
                                    sink.found[number].0.extend(oracle.load(addr, s.len.into()));
                                    oracle.remove(addr, s.len.into());
                                }
                                Kind::Fresh => oracle.store(addr, s.len.into()),
                            }
                        }
                    }
                    if round + 1 < *times {
                        outcomes.push((sink.sorted(), totals(&oracle)));
                        sink = empty(0);
                    }
                }
            }
            &Step::Load(addr, len) => sink.found[0].0.extend(oracle.load(addr, len)),
            &Step::Store(addr, len) => oracle.store(addr, len),
            &Step::Remove(addr, len) => oracle.remove(addr, len),
        }
        if repeats > 0 {
            outcomes.push((sink.sorted(), totals(&oracle)));
        }
    }
    outcomes
}

fn totals(oracle: &Oracle) -> [u64; 3] {
    [oracle.live(), oracle.peak_live(), oracle.footprint()]
}

fn by_engine(engine: &mut Engine, steps: &[Step]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for step in steps {
        let mut sink = empty(1);
        match step {
            Step::Run { streams, iterations, times } => {
                for _ in 0..*times {
                    let mut sink = empty(streams.len());
                    engine.affine(streams, *iterations, &mut sink);
                    outcomes.push((sink.sorted(), [engine.live(), engine.peak_live(), engine.footprint()]));
                }
                continue;
            }
            &Step::Load(addr, len) => engine.load(addr, len, &mut sink.found[0]),
            &Step::Store(addr, len) => engine.store(addr, len),
            &Step::Remove(addr, len) => engine.remove(addr, len),
        }
        outcomes.push((sink.sorted(), [engine.live(), engine.peak_live(), engine.footprint()]));
    }
    outcomes
}

/// Compares all set-ups with the list; gives the accesses done in blocks by the usual set-up, and those in runs.
fn compare(steps: &[Step]) -> (u64, u64) {
    let expected = by_list(steps);
    let mut in_blocks = None;
    for options in set_ups() {
        let mut engine = Engine::with_options(options);
        let got = by_engine(&mut engine, steps);
        if let Some(at) = (0..expected.len()).find(|&at| expected[at] != got[at]) {
            panic!("{options:?}: outcome {at}\nexpected {:?}\ngot {:?}\n{steps:?}", expected[at], got[at]);
        }
        assert!(options.affine || engine.in_blocks() == 0);
        in_blocks.get_or_insert(engine.in_blocks());
    }
    (in_blocks.unwrap_or(0), in_runs(steps))
}

/// Accesses in runs.
fn in_runs(steps: &[Step]) -> u64 {
    let of_step = |step: &Step| match step {
        Step::Run { streams, iterations, times } => streams.len() as u64 * iterations * times,
        _ => 0,
    };
    steps.iter().map(of_step).sum()
}

fn kind(dying: u32) -> impl Strategy<Value = Kind> {
    prop_oneof![
        30 => Just(Kind::Load),
        12 => Just(Kind::Store),
        1 => Just(Kind::Remove),
        dying => Just(Kind::Last),
        dying => Just(Kind::Fresh),
    ]
}

/// Streams of one size over two arrays, with strides that often agree; sometimes of a loop that was unrolled.
fn usual_streams(base: u64, dying: u32) -> impl Strategy<Value = Vec<Stream>> {
    let stride = || prop::sample::select(vec![1i64, 1, 1, 2, -1, 0, 3, 9]);
    let place = || (prop::sample::select(vec![0u64, 0, 70, 140]), 0u64..12);
    (
        stride(),
        prop::sample::select(vec![8u32, 8, 8, 4, 4, 16, 32]),
        prop::collection::vec((place(), kind(dying), 0u8..8, stride()), 1..7),
        prop::sample::select(vec![1i64, 1, 1, 2, 3, 4]),
    )
        .prop_map(move |(common, len, list, factor)| {
            let stream = |((array, at), kind, own, stride): ((u64, u64), Kind, u8, i64)| Stream {
                addr: base + (300 + array + at) * u64::from(len),
                stride: (if own == 0 { stride } else { common }) * i64::from(len),
                len,
                kind,
            };
            let group: Vec<Stream> = list.into_iter().map(stream).collect();
            let part = |number: i64| {
                let later = move |s: &Stream| Stream {
                    addr: s.addr.wrapping_add_signed(s.stride * number),
                    stride: s.stride * factor,
                    ..*s
                };
                group.iter().map(later).collect::<Vec<_>>()
            };
            (0..factor).flat_map(part).collect()
        })
}

/// Streams of several sizes: fields of an array of structures, and arrays beside it, of which some lie in each other's
/// way.
fn mixed_streams(base: u64, dying: u32) -> impl Strategy<Value = Vec<Stream>> {
    let stride = || prop::sample::select(vec![1i64, 1, 1, 2, -1, 0]);
    let sizes = prop::sample::select(vec![4u64, 8, 8, 16, 32]);
    let off = prop::sample::select(vec![0u64, 0, 0, 8, 4]);
    let stream = (prop::bool::weighted(0.7), 0u64..4, 0i64..3, sizes, kind(dying), 0u8..12, stride(), off);
    (stride(), prop::sample::select(vec![32i64, 32, 64]), prop::collection::vec(stream, 1..8)).prop_map(
        move |(common, structure, list)| {
            let mut field = 0;
            type Given = (bool, u64, i64, u64, Kind, u8, i64, u64);
            let stream = |(is_field, array, ahead, len, kind, own, stride, off): Given| {
                let step = structure * if own == 0 { stride } else { common };
                // The next field of the structure, or an array that may overlap with those of other sizes.
                let place = if is_field { field / len * len } else { 400 * array };
                field = (field + len) % structure as u64;
                let addr = (base + 1280 + place).next_multiple_of(len).wrapping_add_signed(step * ahead);
                if is_field {
                    Stream { addr, stride: step, len: len as u32, kind }
                } else {
                    Stream { addr: addr + off, stride: len as i64 * common, len: len as u32, kind }
                }
            };
            list.into_iter().map(stream).collect()
        },
    )
}

/// Streams without order.
fn odd_streams(base: u64) -> impl Strategy<Value = Vec<Stream>> {
    let stream = (0u64..400, -40i64..40, 1u32..33, kind(1));
    prop::collection::vec(stream, 1..5).prop_map(move |list| {
        let stream = |(at, stride, len, kind)| Stream { addr: base + 1300 + at, stride, len, kind };
        list.into_iter().map(stream).collect()
    })
}

/// How the inner loops of a nest change from one round to the next: where their streams are, but for one perhaps, and
/// how long they are.
#[derive(Clone, Copy, Debug)]
struct Travel {
    bytes: i64,
    stays: usize,
    longer: i64,
}

impl Travel {
    fn after(self, rounds: i64, runs: &[Step]) -> Vec<Step> {
        let travelled = |step: &Step| {
            let Step::Run { streams, iterations, times } = step else { return step.clone() };
            let moved = |(number, stream): (usize, &Stream)| {
                let bytes = if number == self.stays { 0 } else { self.bytes * rounds };
                Stream { addr: stream.addr.wrapping_add_signed(bytes), ..*stream }
            };
            let iterations = iterations.saturating_add_signed(self.longer * rounds).max(1);
            Step::Run { streams: streams.iter().enumerate().map(moved).collect(), iterations, times: *times }
        };
        runs.iter().map(travelled).collect()
    }
}

fn travel() -> impl Strategy<Value = Travel> {
    let bytes = prop::sample::select(vec![0, 0, 8, 32, 32, 256, 1024]);
    let longer = prop::sample::select(vec![0, 0, 0, 1, -1, 30]);
    (bytes, 0usize..8, longer).prop_map(|(bytes, stays, longer)| Travel { bytes, stays, longer })
}

fn steps(base: u64, dying: u32) -> impl Strategy<Value = Vec<Step>> {
    let run = move || {
        let streams =
            prop_oneof![8 => usual_streams(base, dying), 5 => mixed_streams(base, dying), 1 => odd_streams(base)];
        (streams, prop_oneof![16 => 1u64..33, 4 => 60u64..140, 1 => 260u64..300], 1u64..4)
            .prop_map(|(streams, iterations, times)| Step::Run { streams, iterations, times })
    };
    let range = move || ((2000u64..3500).prop_map(move |at| base + at), 1u64..40);
    let other = prop_oneof![
        3 => range().prop_map(|(addr, len)| Step::Load(addr, len)),
        2 => range().prop_map(|(addr, len)| Step::Store(addr, len)),
        1 => range().prop_map(|(addr, len)| Step::Remove(addr, len)),
    ];
    // A row of runs in the order of a loop nest: later ones find what earlier ones left.
    let nest = (prop::collection::vec(run(), 1..3), 1usize..4, travel())
        .prop_map(|(runs, rounds, travel)| (0..rounds).flat_map(|round| travel.after(round as i64, &runs)).collect());
    prop::collection::vec(prop_oneof![3 => nest, 1 => other.prop_map(|step| vec![step])], 1..5)
        .prop_map(|parts| parts.into_iter().flatten().collect())
}

/// The accesses done in blocks are at least one of `share`.
fn check_many(base: u64, of_256: u32, dying: u32, share: u64) {
    let mut runner = TestRunner::new(ProptestConfig { failure_persistence: None, ..cases(of_256) });
    let agree = |steps: Vec<Step>| {
        compare(&steps);
        Ok(())
    };
    runner.run(&steps(base, dying), agree).unwrap_or_else(|failure| panic!("{failure}"));
    let (in_blocks, all) = in_blocks(base, dying);
    assert!(in_blocks * share > all, "only {in_blocks} of {all} accesses were done in blocks");
}

/// The accesses done in blocks by the usual set-up, and those in runs, of cases that are always the same: a few long
/// runs have most accesses, so that few random cases may have nearly any share.
fn in_blocks(base: u64, dying: u32) -> (u64, u64) {
    let (strategy, mut runner) = (steps(base, dying), TestRunner::deterministic());
    let of_case = |_| {
        let steps = strategy.new_tree(&mut runner).expect("nothing is filtered").current();
        let mut engine = Engine::default();
        by_engine(&mut engine, &steps);
        (engine.in_blocks(), in_runs(&steps))
    };
    (0..200).map(of_case).fold((0, 0), |sum, case| (sum.0 + case.0, sum.1 + case.1))
}

#[test]
fn random_runs_agree_with_the_list() {
    check_many(1 << 20, 24, 0, 10);
}

#[test]
fn random_runs_in_which_words_die_agree_with_the_list() {
    check_many(1 << 20, 40, 6, 100);
    check_many(1 << 20, 20, 20, 100);
}

#[test]
fn random_runs_agree_across_a_page_border() {
    check_many((1 << 14) * 5 - 2800, 16, 0, 10);
    check_many((1 << 14) * 5 - 2800, 16, 6, 100);
}

#[test]
fn random_runs_agree_across_a_region_border() {
    check_many((1 << 26) * 3 - 2800, 12, 0, 10);
}

/// Sums of what was found, for programs too long for the list.
#[derive(Default, PartialEq, Debug)]
struct Sums {
    current: usize,
    sums: [[u64; 4]; 8],
}

impl DepthSink for Sums {
    fn warm(&mut self, above: u64, len: u64) {
        let sums = &mut self.sums[self.current];
        for (sum, more) in sums.iter_mut().zip([above.wrapping_mul(len), above.wrapping_mul(above), len, 0]) {
            *sum = sum.wrapping_add(more);
        }
    }
    fn cold(&mut self, above: u64, len: u64) {
        self.warm(above, len << 40);
    }
    fn below_holes(&mut self, runs: Progression, holes: u64) {
        let sum = &mut self.sums[self.current][3];
        let of = |above: u64| (above + 7).wrapping_mul(holes).wrapping_mul(runs.width);
        *sum = runs.each().fold(*sum, |sum, above| sum.wrapping_add(of(above)));
    }
}

impl BatchSink for Sums {
    fn begin(&mut self, number: usize) {
        self.current = number;
    }
}

/// Words that die and come back, in the patterns of loops that update in place, copy, and pass values on.
#[test]
fn dying_words_are_done_in_blocks() {
    use Kind::{Fresh, Last, Load};
    let stream = |at: i64, kind| Stream { addr: (1 << 20) + (at * 8) as u64, stride: 8, len: 8, kind };
    let run = |streams: &[Stream], times| Step::Run { streams: streams.to_vec(), iterations: 130, times };
    let fill = |at: i64| Step::Store((1 << 20) + (at * 8) as u64, 900 * 8);
    let update = [stream(0, Last), stream(0, Fresh)];
    let shift = [stream(5, Last), stream(1, Fresh)];
    let copy = [stream(0, Last), stream(1000, Fresh)];
    let back = [stream(1000, Last), stream(0, Fresh)];
    let through = [stream(0, Load), stream(2000, Fresh), stream(1998, Last), stream(0, Last), stream(0, Fresh)];
    let rows = [stream(0, Load), stream(300, Load), stream(600, Load)];
    let offsets = [(300, Load), (0, Last), (299, Load), (301, Load), (600, Load), (3000, Fresh)];
    let stencil = offsets.map(|(at, kind)| stream(at, kind));
    let (in_blocks, all) = compare(&[
        fill(0),
        run(&rows, 2),
        run(&update, 3),
        run(&rows[..1], 1),
        fill(1000),
        run(&[stream(1000, Last)], 1),
        run(&copy, 1),
        run(&back, 1),
        run(&copy, 1),
        run(&back, 1),
        fill(2000),
        run(&[stream(2000, Last)], 1),
        run(&through, 2),
        fill(3000),
        run(&[stream(3000, Last)], 1),
        run(&rows, 2),
        run(&stencil, 1),
        run(&shift, 1),
    ]);
    assert!(in_blocks * 2 > all, "only {in_blocks} of {all} accesses were done in blocks");
}

/// Lists of indices beside values, structures with fields of several sizes, and vectors beside single words.
#[test]
fn streams_of_several_sizes_are_done_in_blocks() {
    use Kind::{Load, Store};
    let base = 1u64 << 20;
    let stream = |at: u64, stride: i64, len: u32, kind| Stream { addr: base + at, stride, len, kind };
    let run = |streams: &[Stream], times| Step::Run { streams: streams.to_vec(), iterations: 130, times };
    let fill = Step::Store(base, 16384);
    let indices = [stream(0, 4, 4, Load), stream(1024, 8, 8, Load), stream(4096, 8, 8, Store)];
    let fields = [stream(0, 16, 8, Load), stream(8, 16, 4, Load), stream(12, 16, 4, Store), stream(8192, 8, 8, Store)];
    let vectors =
        [stream(0, 32, 32, Load), stream(8192, 0, 8, Load), stream(8192, 0, 8, Store), stream(9216, 4, 4, Load)];
    let behind =
        [stream(1040, 8, 8, Load), stream(0, 4, 4, Load), stream(1024, 8, 8, Load), stream(6400, 16, 16, Store)];
    let down = [stream(4096 + 1032, -8, 8, Load), stream(516, -4, 4, Load), stream(6400 + 129 * 16, -16, 16, Store)];
    let unrolled = [0u64, 1, 2, 3].map(|n| [stream(4 * n, 16, 4, Load), stream(1024 + 8 * n, 32, 8, Store)]).concat();
    for streams in [&indices[..], &fields, &vectors, &behind, &down, &unrolled[..]] {
        let iterations = if streams.len() == 8 { 60 } else { 130 };
        let warm = Step::Run { streams: streams.to_vec(), iterations, times: 1 };
        let (in_blocks, all) =
            compare(&[fill.clone(), warm.clone(), warm, run(&indices[..1], 2), Step::Load(base, 40)]);
        assert!(in_blocks * 5 > all * 4, "only {in_blocks} of {all} accesses were done in blocks: {streams:?}");
    }
    // Every stream finds what the others left.
    let all = [fill, run(&indices, 2), run(&fields, 2), run(&behind, 2), run(&down, 2), run(&unrolled[..], 2)];
    compare(&all);
}

/// The same arrays in words one by one, in vectors that are aligned or not and overlap, and several words at a time.
#[test]
fn vectors_and_single_words_take_turns_in_blocks() {
    use Kind::{Load, Store};
    let base = 1u64 << 20;
    let stream = |at: u64, stride: i64, len: u32, kind| Stream { addr: base + at, stride, len, kind };
    let run = |streams: &[Stream], iterations| Step::Run { streams: streams.to_vec(), iterations, times: 1 };
    let words = [stream(0, 8, 8, Load), stream(4096, 8, 8, Store)];
    let vectors = [stream(0, 16, 16, Load), stream(4096, 16, 16, Store)];
    let unaligned =
        [stream(0, 16, 16, Load), stream(8, 16, 16, Load), stream(16, 16, 16, Load), stream(8192, 16, 16, Store)];
    let floats = [stream(0, 16, 16, Load), stream(4, 16, 16, Load), stream(8192, 16, 16, Store)];
    let wide = [stream(0, 32, 32, Load), stream(24, 32, 32, Load), stream(4096, 32, 32, Store)];
    let window = [stream(0, 8, 16, Load), stream(4096, 8, 8, Store)];
    let pairs = [stream(0, 16, 8, Load), stream(8, 16, 8, Load), stream(4096, 16, 8, Store), stream(12288, 4, 4, Load)];
    let fours = [0, 8, 16, 24].map(|at| stream(at, 32, 8, Load));
    let fours = [&fours[..], &[stream(4096, 32, 32, Store)]].concat();
    let all: [(&[Stream], u64); 8] = [
        (&words, 256),
        (&vectors, 128),
        (&unaligned, 120),
        (&floats, 120),
        (&wide, 60),
        (&window, 240),
        (&pairs, 120),
        (&fours, 64),
    ];
    let fill = Step::Store(base, 16384);
    for (number, &(streams, iterations)) in all.iter().enumerate() {
        // Each comes after the other one, as both come twice.
        for &(others, other_iterations) in &all[number..] {
            let both = [run(others, other_iterations), run(streams, iterations)];
            let steps = [std::slice::from_ref(&fill), &both[..], &both[..], &[Step::Load(base + 100, 40)]].concat();
            let (in_blocks, of) = compare(&steps);
            // Halves of what are words to others are only done together if they are that to both.
            let share = if (streams == floats) == (others == floats) { 3 } else { 1000 };
            assert!(in_blocks * share > of * 2, "only {in_blocks} of {of} in blocks: {streams:?} after {others:?}");
        }
    }
    // What was never touched is done one by one the first time; stores of it are not.
    for &(streams, iterations) in &all {
        compare(&[
            run(streams, iterations),
            run(streams, iterations),
            Step::Remove(base, 9000),
            run(streams, iterations),
        ]);
    }
}

/// Every second word up to the end of the last region that there is, and down to its start, read and written in one
/// iteration.
#[test]
fn rows_end_where_regions_do() {
    let region = 3u64 << 26;
    let stream = |addr, stride, kind| Stream { addr, stride, len: 8, kind };
    for (low, first, stride) in [(region - 40 * 16, region - 39 * 16 - 8, 16), (region, region + 39 * 16, -16)] {
        let streams = vec![stream(first, stride, Kind::Load), stream(first, stride, Kind::Store)];
        let run = Step::Run { streams, iterations: 40, times: 3 };
        compare(&[Step::Store(low, 40 * 16), run.clone(), Step::Load(low, 100), run]);
    }
}

/// Arrays that are freed as a whole and in part after loops over them: in order, backwards, with words of others
/// between theirs, and by columns.
#[test]
fn arrays_that_loops_went_over_are_freed() {
    let base = (1u64 << 20) + 24;
    let word = |at: u64| base + at * 8;
    let stream = |at: u64, step: i64| Stream { addr: word(at), stride: step * 8, len: 8, kind: Kind::Load };
    let run = |streams: &[Stream], iterations| Step::Run { streams: streams.to_vec(), iterations, times: 2 };
    let loops = [
        run(&[stream(0, 1)], 400),
        run(&[stream(399, -1)], 400),
        run(&[stream(0, 1), stream(500, 1)], 400),
        run(&[stream(0, 16)], 25),
        run(&[stream(399, -1), stream(500, 2)], 150),
        // So many others between two that their positions are far apart.
        run(&[0, 50, 100, 150, 200, 250, 300, 350].map(|at| stream(at, 1)), 50),
    ];
    for steps in &loops {
        for (first, last) in [(0, 400), (3, 390), (100, 140), (0, 1000), (200, 460)] {
            let store = Step::Store(word(0), 1000 * 8);
            let free = Step::Remove(word(first) + first % 2, (last - first) * 8);
            compare(&[store.clone(), steps.clone(), free, run(&[stream(0, 1)], 900), Step::Load(word(390), 80)]);
        }
    }
}

/// The loops of a five-point stencil and of a matrix product, at sizes that use every level of the timeline.
#[test]
fn blocks_change_nothing_in_long_programs() {
    let stream = |addr, stride, kind| Stream { addr, stride, len: 8, kind };
    for options in set_ups() {
        let run = |affine| {
            let mut engine = Engine::with_options(crate::engine::EngineOptions { affine, ..options });
            let mut sums = Sums::default();
            let n = if options.growth > 1 { 160i64 } else { 20 };
            let (u, v) = (1u64 << 32, (1u64 << 32) + 8 * (n * n) as u64 + 64);
            for step in 0..4 {
                let (from, to) = if step % 2 == 0 { (u, v) } else { (v, u) };
                for i in 1..n - 1 {
                    let at = from + 8 * (i * n + 1) as u64;
                    let offsets = [0, -8 * n, -8, 8, 8 * n];
                    let mut streams = offsets.map(|o| stream(at.wrapping_add_signed(o), 8, Kind::Load)).to_vec();
                    streams.push(stream(to + 8 * (i * n + 1) as u64, 8, Kind::Store));
                    engine.affine(&streams, n as u64 - 2, &mut sums);
                }
            }
            for i in 0..n / 4 {
                for j in 0..n {
                    let streams =
                        [stream(u + 8 * (i * n) as u64, 8, Kind::Load), stream(v + 8 * j as u64, 8 * n, Kind::Load)];
                    engine.affine(&streams, n as u64, &mut sums);
                    engine.store(v + 8 * (n * n + i * n + j) as u64, 8);
                }
            }
            sums.current = 0;
            (sums, engine.live(), engine.peak_live(), engine.footprint(), engine.in_blocks())
        };
        let (on, off) = (run(true), run(false));
        assert_eq!((&on.0, on.1, on.2, on.3), (&off.0, off.1, off.2, off.3), "{options:?}");
        assert_eq!(off.4, 0);
        // Constant renumbering leaves less room than a block needs.
        assert!(on.4 > 1_000_000 || options.growth == 1, "{} in blocks, {options:?}", on.4);
    }
}
