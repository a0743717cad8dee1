//! Against a list of lines, the last one first, for one capacity at a time.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{
    list::{Bringing, Memory, Traffic, above, traffic_at},
    *,
};
use crate::{
    abi::sample::Draws,
    counts::{Merge, lines::LineCounts, pairs::PairCounts},
    decode::block::CellNumber,
    engine::{Access, AccessTag, Kind, Stream},
    observe::observer::Observer,
    oplog::Op,
    tests::{held::tells_what_it_holds, random::cases},
};

/// Cells that the tests count for.
pub(super) const CELLS: usize = 4;

fn told_in_all(all: &[Option<Box<LineCounts>>], capacity: u64) -> Traffic {
    let mut sum = LineCounts::default();
    all.iter().flatten().for_each(|counts| sum.merge(counts));
    traffic_at(&sum, capacity)
}

/// A load that brought a line in a stream.
struct Streamed {
    cell: usize,
    at_step: bool,
    /// Lines above it; `None` if nothing had touched it.
    depth: Option<usize>,
}

/// All of them, by the lines that came before.
fn streams(accesses: &[(u64, bool, usize)], page_lines: i64) -> Vec<Streamed> {
    let mut order: Vec<u64> = Vec::new();
    let mut came: Vec<i64> = Vec::new();
    let mut found = Vec::new();
    for &(line, is_store, cell) in accesses {
        let depth = order.iter().position(|other| *other == line);
        depth.into_iter().for_each(|at| _ = order.remove(at));
        order.insert(0, line);
        if depth.is_some_and(|depth| depth < PLACES) {
            continue;
        }
        let line = line as i64;
        // The line of the page that came last before some moment, if that is not long ago.
        let before = |moment: usize| {
            let first = moment.saturating_sub(SOON as usize);
            let is_near = |other: &i64| other.div_euclid(page_lines) == line.div_euclid(page_lines);
            let at = first + came[first..moment].iter().rposition(is_near)?;
            Some((at, came[at]))
        };
        if let Some((at, last)) = before(came.len())
            && let Some((_, last_but_one)) = before(at)
        {
            let step = line - last;
            let is_stream = step != 0 && step == last - last_but_one && !is_store;
            if is_stream {
                found.push(Streamed { cell, at_step: step.abs() > 1, depth });
            }
        }
        came.push(line);
    }
    found
}

fn streams_told(counts: &LineCounts, capacity: u64) -> [u64; 2] {
    [above(&counts.in_order, capacity) + counts.first_in_order, above(&counts.at_step, capacity) + counts.first_at_step]
}

/// Everything that a cell counted.
pub(super) fn all_of(counts: Option<&LineCounts>) -> (Vec<Vec<(u16, u64)>>, [u64; 5]) {
    let all = |counts: &LineCounts| {
        let depths = [&counts.loads, &counts.stores, &counts.write_backs, &counts.in_order, &counts.at_step];
        let LineCounts { first_loads, first_stores, last_write_backs, first_in_order, first_at_step, .. } = *counts;
        let single = [first_loads, first_stores, last_write_backs, first_in_order, first_at_step];
        (depths.map(|depths| depths.iter().collect::<Vec<_>>()).to_vec(), single)
    };
    all(counts.unwrap_or(&LineCounts::default()))
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    One(Access),
    Run(Vec<Stream>, u64),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Load), Just(Kind::Load), Just(Kind::Store), Just(Kind::Remove)]
}

/// A stream of aligned words: neighbours of others, as in stencils, in rows and in columns.
fn word() -> impl Strategy<Value = Stream> {
    let near = || prop_oneof![4 => Just(0u64), 2 => 0u64..4, 1 => 0u64..40];
    let place = (prop::sample::select(vec![0u64, 1024, 4096, 16_384]), near());
    let step = prop_oneof![4 => Just(1i64), 1 => Just(0), 1 => Just(-1), 2 => 2i64..5, 2 => prop::sample::select(vec![8i64, 16, 37, 75, -8, 200])];
    (place, step, 0u32..6, kind()).prop_map(|((base, near), step, len, kind)| {
        let len = 1 << len;
        let addr = (1 << 20) + base + near * u64::from(len);
        Stream { addr, stride: step * i64::from(len), len, kind }
    })
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let address = || prop_oneof![4096u64..6000, 4096u64..40_000];
    let one = (address(), prop_oneof![1u32..17, 1u32..300], kind());
    let one = one.prop_map(|(addr, len, kind)| Step::One(Access { addr, len, kind }));
    let stream = (address(), -80i64..80, 1u32..40, kind());
    let stream = stream.prop_map(|(addr, stride, len, kind)| Stream { addr: addr + 8000, stride, len, kind });
    let run = (proptest::collection::vec(stream, 1..12), 1u64..90).prop_map(|(streams, n)| Step::Run(streams, n));
    let words = (proptest::collection::vec(word(), 1..12), 1u64..400).prop_map(|(streams, n)| Step::Run(streams, n));
    let walk = (proptest::collection::vec(word(), 1..4), 1u64..400).prop_map(|(streams, n)| Step::Run(streams, n));
    prop_oneof![8 => one, 1 => run, 1 => words, 1 => walk]
}

/// Does the step of a number; `label` gives the label of a cell.
pub(super) fn follow(lines: &mut Lines, number: usize, step: &Step, label: impl Fn(usize) -> AccessTag) {
    match step {
        Step::One(access) => lines.op(Op::accesses(&[*access], &[label(number % CELLS)])),
        Step::Run(streams, iterations) => {
            let labels: Vec<AccessTag> = (0..streams.len()).map(|cell| label(cell % CELLS)).collect();
            lines.op(Op::run(streams, &labels, *iterations));
        }
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn fetches_and_write_backs_are_those_of_a_list(steps in proptest::collection::vec(step(), 1..120), shift in 4u32..8) {
        let mut lines = Lines::new(1 << shift);
        lines.set_known(4);
        let (mut plain, mut plain_labels) = (Vec::new(), Vec::new());
        for (number, step) in steps.iter().enumerate() {
            follow(&mut lines, number, step, AccessTag::new);
            match step {
                Step::One(access) => {
                    plain.push(*access);
                    plain_labels.push(AccessTag::new(number % 4));
                }
                Step::Run(streams, iterations) => {
                    let labels: Vec<AccessTag> = (0..streams.len()).map(|cell| AccessTag::new(cell % 4)).collect();
                    for iteration in 0..*iterations {
                        let access = |s: &Stream| Access { addr: s.address_at(iteration), len: s.len, kind: s.kind };
                        plain.extend(streams.iter().map(access));
                        plain_labels.extend(&labels);
                    }
                }
            }
        }
        let (counts, pairs) = lines.counts();
        let mut singly = Lines::new(1 << shift);
        singly.set_known(4);
        singly.op(Op::accesses(&plain, &plain_labels));
        let (singly, pairs_singly) = singly.counts();
        for (cell, (counts, singly)) in counts.iter().zip(singly).enumerate() {
            prop_assert_eq!(all_of(counts.as_deref()), all_of(singly.as_deref()), "cell {}", cell);
        }
        let touches: Vec<(u64, bool, usize)> = plain
            .iter()
            .zip(&plain_labels)
            .filter(|(access, _)| access.kind != Kind::Remove)
            .flat_map(|(access, cell)| {
                let lines = access.addr >> shift..=(access.addr + u64::from(access.len) - 1) >> shift;
                lines.map(|line| (line, access.kind == Kind::Store, cell.index()))
            })
            .collect();
        let mut bringing = Bringing::new(shift);
        touches.iter().for_each(|&(line, _, cell)| bringing.access(line, CellNumber::new(cell)));
        prop_assert_eq!(&pairs.0, &bringing.pairs);
        prop_assert_eq!(pairs, pairs_singly);
        let streamed = streams(&touches, (4096i64 >> shift).min(128));
        for capacity in [PLACES, 32, 1024] {
            let mut expected = [[0; 2]; CELLS];
            for one in streamed.iter().filter(|one| one.depth.is_none_or(|depth| depth >= capacity)) {
                expected[one.cell][usize::from(one.at_step)] += 1;
            }
            let told = |counts: &Option<Box<LineCounts>>| counts.as_deref().map_or([0; 2], |c| streams_told(c, capacity as u64));
            let found: Vec<_> = counts.iter().map(told).collect();
            prop_assert_eq!(&found[..], &expected[..found.len()], "streams into {} lines", capacity);
        }
        for capacity in [FRONT as u64, 9, 12, 16, 31, 32, 64, 128, 1024] {
            let mut memory = Memory::new(capacity as usize);
            touches.iter().for_each(|&(line, is_store, cell)| memory.access(line, is_store, cell));
            let expected = memory.finish();
            for cell in 0..CELLS {
                let found = counts.get(cell).and_then(Option::as_deref).map_or(Traffic::default(), |c| traffic_at(c, capacity));
                let expected = expected.get(&cell).copied().unwrap_or_default();
                prop_assert_eq!(found, expected, "cell {} with {} lines", cell, capacity);
            }
        }
    }
}

fn stream(addr: u64, stride: i64, kind: Kind) -> Stream {
    Stream { addr, stride, len: 8, kind }
}

/// Copy and triad of doubles: 24 and 32 bytes per iteration, with the line that a store brings in.
#[test]
fn stream_kernels_move_what_they_are_known_to() {
    const N: u64 = 1 << 16;
    let arrays = [1u64 << 20, 1 << 24, 1 << 28];
    for (reads, expected) in [(1, 24), (2, 32)] {
        let mut lines = Lines::new(64);
        lines.set_known(3);
        let loads = arrays[..reads].iter().map(|&array| stream(array, 8, Kind::Load));
        let streams: Vec<Stream> = loads.chain([stream(arrays[2], 8, Kind::Store)]).collect();
        let labels: Vec<AccessTag> = (0..streams.len()).map(AccessTag::new).collect();
        for _ in 0..4 {
            lines.op(Op::run(&streams, &labels, N));
        }
        let traffic = told_in_all(&lines.counts().0, 512);
        assert_eq!((traffic.loads + traffic.stores + traffic.write_backs) * 64, expected * N * 4);
    }
}

/// A column walk of a matrix fetches a line for each element, a row walk one for eight.
#[test]
fn a_column_walk_fetches_a_line_for_each_element() {
    const N: u64 = 1024;
    let walk = |stride: i64, next: u64| {
        let mut lines = Lines::new(64);
        lines.set_known(1);
        for start in 0..N {
            lines.op(Op::run(&[stream((1 << 20) + start * next, stride, Kind::Load)], &[AccessTag::new(0)], N));
        }
        told_in_all(&lines.counts().0, 512).loads
    };
    assert_eq!(walk(8, 8 * N), N * N / 8);
    assert_eq!(walk(8 * N as i64, 8), N * N);
}

/// Lines in order are seen coming, but for the first two of each page; lines a page apart never are; lines at a step
/// within a page are.
#[test]
fn walks_are_streams_where_they_stay_in_a_page() {
    const N: u64 = 1 << 16;
    let walk = |stride: i64, count: u64| {
        let mut lines = Lines::new(64);
        lines.set_known(1);
        lines.op(Op::run(&[stream(1 << 30, stride, Kind::Load)], &[AccessTag::new(0)], count));
        let (counts, _) = lines.counts();
        let counts = counts[0].as_ref().expect("a cell");
        [counts.first_loads, counts.first_in_order, counts.first_at_step]
    };
    let pages = N * 8 / 4096;
    assert_eq!(walk(8, N), [pages * 64, pages * 62, 0]);
    assert_eq!(walk(-8, N)[1], pages * 62);
    assert_eq!(walk(512, 8 * pages), [8 * pages, 0, 6 * pages]);
    assert_eq!(walk(4096, N), [N, 0, 0]);
    assert_eq!(walk(2048 + 64, N)[2], 0);
}

/// As many walks at once as there may be lines between two of a stream are streams; one more, and none is.
#[test]
fn streams_that_take_turns_are_followed_up_to_a_number() {
    let walks = |number: u64| {
        let mut lines = Lines::new(64);
        lines.set_known(1);
        for line in 0..64 {
            for walk in 0..number {
                lines.op(Op::accesses(
                    &[Access { addr: (1 << 30) + (walk << 20) + line * 64, len: 8, kind: Kind::Load }],
                    &[AccessTag::new(0)],
                ));
            }
        }
        lines.counts().0[0].as_ref().expect("a cell").first_in_order
    };
    assert_eq!(walks(SOON), SOON * 62);
    assert_eq!(walks(SOON + 1), 0);
}

/// A walk over two arrays in turn: each line was brought in last by whoever went over it before; touches of lines that
/// are still among the last ones do not count.
#[test]
fn who_brought_a_line_in_is_known_when_it_comes_again() {
    let mut lines = Lines::new(64);
    lines.set_known(4);
    let count = 3 * FAR / 64;
    let walk = |lines: &mut Lines, cells: [usize; 2]| {
        let stream = stream(1 << 30, 64, Kind::Load);
        lines.op(Op::run(&[stream, stream], &cells.map(AccessTag::new), count));
    };
    [[0, 1], [2, 3], [2, 1], [0, 0]].into_iter().for_each(|cells| walk(&mut lines, cells));
    let (_, pairs) = lines.counts();
    let pair =
        |before, cell| ((CellNumber::new(before), CellNumber::new(cell)), PairCounts { lines: count, far: count });
    assert_eq!(pairs.0.into_iter().collect::<Vec<_>>(), [pair(0, 2), pair(2, 0), pair(2, 2)]);
}

/// What is not counted moves lines all the same.
#[test]
fn cells_that_are_not_counted_are_seen() {
    let mut lines = Lines::new(64);
    lines.set_known(1);
    let far: HashSet<u64> = (0..100).map(|line| line * 64).collect();
    let load = |addr| Access { addr, len: 1, kind: Kind::Load };
    lines.op(Op::accesses(&[load(1 << 20)], &[AccessTag::new(0)]));
    for &addr in &far {
        lines.op(Op::accesses(&[load(addr)], &[AccessTag::UNCOUNTED]));
    }
    lines.op(Op::accesses(&[load(1 << 20)], &[AccessTag::new(0)]));
    let (counts, _) = lines.counts();
    let counted = counts[0].as_ref().expect("a cell");
    assert_eq!(counts.len(), 1);
    assert_eq!((counted.first_loads, above(&counted.loads, 99)), (1, 1));
}

/// Loops that are followed in periods: each is accepted, and nests of them give what single accesses give.
#[test]
fn nests_of_regular_loops_are_followed_in_periods() {
    const N: i64 = 150;
    let (a, b, c) = (1u64 << 20, (1u64 << 24) + 16, (1u64 << 28) + 40);
    let load = |addr: u64, stride: i64| stream(addr, stride, Kind::Load);
    let store = |addr: u64, stride: i64| stream(addr, stride, Kind::Store);
    let row = 8 * N as u64;
    let product = |i: u64, j: u64| vec![load(a + i * row, 8), load(b + 8 * j, 8 * N)];
    let unrolled = |i: u64, j: u64| {
        let column = |k: u64| load(b + 8 * j + k * row, 16 * N);
        (0..2).flat_map(|k| [load(a + i * row + 8 * k, 16), column(k)]).collect::<Vec<_>>()
    };
    let stencil = |i: u64, _| {
        let at = a + 8 + i * row;
        vec![
            load(at, 8),
            load(at + row, 8),
            load(at - 8, 8),
            load(at + 8, 8),
            load(at + 2 * row, 8),
            store(c + i * row, 8),
        ]
    };
    let in_place = |i: u64, j: u64| {
        let at = a + 16 + (i * 8 + j) * 8;
        vec![load(at, 8), load(at - 8, 8), load(b + i * row, 8), store(at - 16, 8), store(c + j * row, -8 * N)]
    };
    type Loop<'a> = &'a dyn Fn(u64, u64) -> Vec<Stream>;
    let loops: [(&str, Loop<'_>, u64); 4] = [
        ("product", &product, 150),
        ("unrolled", &unrolled, 75),
        ("stencil", &stencil, 148),
        ("in place", &in_place, 140),
    ];
    for (name, streams, iterations) in loops {
        let (mut lines, mut singly) = (Lines::new(64), Lines::new(64));
        lines.set_known(8);
        singly.set_known(8);
        for (i, j) in (0..6).flat_map(|i| (0..20).map(move |j| (i, j))) {
            let streams = streams(i, j);
            let labels: Vec<AccessTag> = (0..streams.len()).map(AccessTag::new).collect();
            let mut groups = super::groups::Groups::default();
            let mut fresh = Lines::new(64);
            assert!(groups.find(&streams, &labels, 6, |cell| cell));
            fresh.whole_iteration(&mut groups.all, &streams, &labels, 0);
            assert!(fresh.follow_long_run(&mut groups, 1, iterations) > iterations - 20, "{name} {i} {j}");
            lines.op(Op::run(&streams, &labels, iterations));
            for iteration in 0..iterations {
                let access = |s: &Stream| Access { addr: s.address_at(iteration), len: s.len, kind: s.kind };
                singly.op(Op::accesses(&streams.iter().map(access).collect::<Vec<_>>(), &labels));
            }
        }
        let ((counts, pairs), (singly, pairs_singly)) = (lines.counts(), singly.counts());
        assert!(!pairs.0.is_empty() && pairs == pairs_singly, "{name}");
        for (cell, (counts, singly)) in counts.iter().zip(singly).enumerate() {
            assert_eq!(all_of(counts.as_deref()), all_of(singly.as_deref()), "{name}, cell {cell}");
        }
    }
}

fn one_of<T: Copy>(draws: &mut Draws, all: &[T]) -> T {
    all[draws.below(all.len() as u64) as usize]
}

/// Loops over about as many lines as need no depth, whose walks are alike, meet, or stand still.
#[test]
fn regular_loops_over_few_lines_are_their_accesses() {
    let mut draws = Draws::new(31);
    for case in 0..600 {
        let (size, step) =
            (one_of(&mut draws, &[64, 64, 32]), one_of(&mut draws, &[8, 8, 16, 32, 64, 4, -8, -64, 128]));
        let arrays = 1 + draws.below(6);
        let count = 1 + draws.below(3 * arrays);
        let mut streams: Vec<Stream> = (0..count)
            .map(|_| {
                let stride = one_of(&mut draws, &[step, step, step, step, step, 0, 8, -16, 24]);
                let kind = one_of(&mut draws, &[Kind::Load, Kind::Load, Kind::Store]);
                let array = draws.below(arrays) << 14;
                stream((1 << 20) + array + 8192 + 8 * draws.below(12), stride, kind)
            })
            .collect();
        let labels: Vec<AccessTag> = (0..streams.len()).map(|cell| AccessTag::new(cell % CELLS)).collect();
        let (mut lines, mut singly) = (Lines::new(size), Lines::new(size));
        lines.set_known(CELLS);
        singly.set_known(CELLS);
        for _ in 0..3 {
            let iterations = 20 + draws.below(150);
            lines.op(Op::run(&streams, &labels, iterations));
            for iteration in 0..iterations {
                let access = |s: &Stream| Access { addr: s.address_at(iteration), len: s.len, kind: s.kind };
                singly.op(Op::accesses(&streams.iter().map(access).collect::<Vec<_>>(), &labels));
            }
            let others: Vec<_> = (0..draws.below(12))
                .map(|_| Access { addr: (1 << 20) + 64 * draws.below(600), len: 8, kind: Kind::Load })
                .collect();
            lines.op(Op::accesses(&others, &vec![AccessTag::new(0); others.len()]));
            singly.op(Op::accesses(&others, &vec![AccessTag::new(0); others.len()]));
            let further = one_of(&mut draws, &[0, 8, 64]);
            streams.iter_mut().for_each(|stream| stream.addr += further);
        }
        let ((counts, pairs), (singly, pairs_singly)) = (lines.counts(), singly.counts());
        assert_eq!(pairs, pairs_singly, "case {case}: {streams:?}");
        for (cell, (counts, singly)) in counts.iter().zip(singly).enumerate() {
            assert_eq!(all_of(counts.as_deref()), all_of(singly.as_deref()), "case {case}, cell {cell}: {streams:?}");
        }
    }
}

#[test]
fn lines_tell_what_they_hold() {
    let make = || {
        let mut lines = Lines::new(64);
        lines.set_known(CELLS);
        for line in (0..2).flat_map(|_| 0..1 << 17) {
            let access = Access { addr: line * 64, len: 8, kind: Kind::Load };
            lines.op(Op::accesses(&[access], &[AccessTag::new(0)]));
        }
        lines
    };
    tells_what_it_holds(make, Lines::heap_bytes);
}
