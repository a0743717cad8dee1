//! Runs that are cut into parts at random places against the list of `oracle.rs`, which does the whole run.

use crate::tests::random::cases;
use proptest::prelude::*;

use super::{
    Access, AccessTag, Boundary, DepthRun, DepthSink, Engine, EngineOptions, Kind, Reports, Stream,
    boundary::{Between, Piece},
    oracle::{self, Collect, Oracle},
    tests::{Op, ops, set_ups},
};

#[derive(Clone, Debug)]
enum Step {
    One(Op),
    Run(Vec<Stream>, u64),
}

/// What each label's loads found, in order of depth.
type ByLabel = Vec<Vec<oracle::ByteDepth>>;

/// Labels of a step, of which the first is given: one, or one per stream.
fn labels(step: &Step) -> u32 {
    match step {
        Step::One(_) => 1,
        Step::Run(streams, _) => streams.len() as u32,
    }
}

fn by_list(steps: &[Step]) -> (ByLabel, [u64; 3]) {
    let mut list = Oracle::default();
    let mut found = ByLabel::new();
    for step in steps {
        match step {
            Step::One(op) => {
                let mut own = Vec::new();
                match *op {
                    Op::Load(addr, len) => own = list.load(addr, len),
                    Op::Store(addr, len) => list.store(addr, len),
                    Op::Remove(addr, len) => list.remove(addr, len),
                    Op::Relocate(from, to, len) => list.relocate(from, to, len),
                    Op::InsertBottom(addr, len) => list.insert_bottom(addr, len),
                }
                found.push(own);
            }
            Step::Run(streams, iterations) => {
                let first = found.len();
                found.resize(first + streams.len(), Vec::new());
                for iteration in 0..*iterations {
                    for (number, stream) in streams.iter().enumerate() {
                        let (addr, len) = (stream.address_at(iteration), u64::from(stream.len));
                        match stream.kind {
                            Kind::Load => found[first + number].extend(list.load(addr, len)),
                            _ => list.store(addr, len),
                        }
                    }
                }
            }
        }
    }
    found.iter_mut().for_each(|found| found.sort_unstable());
    (found, [list.live(), list.peak_live(), list.footprint()])
}

fn file(reports: &mut Reports, found: &mut ByLabel) {
    reports.each(|label, report| {
        let mut sink = Collect::default();
        match report {
            DepthRun::Warm { above, len } => sink.warm(above, len),
            DepthRun::Cold { above, len } => sink.cold(above, len),
            DepthRun::Row(row) => row.each().for_each(|above| sink.warm(above, row.width)),
            DepthRun::Holes(runs, holes) => {
                oracle::ByteDepth::below_holes(&mut found[label.index()], holes, runs.count * runs.width);
            }
        }
        found[label.index()].append(&mut sink.0);
    });
    reports.clear();
}

/// Which two neighbours become one next, until the whole is done from what is left.
type Joins = Vec<usize>;

fn in_parts(
    steps: &[Step],
    cuts: &[usize],
    joins: &Joins,
    part: EngineOptions,
    whole: EngineOptions,
) -> (ByLabel, [u64; 3]) {
    let options = part;
    let (mut part, mut whole) = (Engine::with_options(part), Engine::with_options(whole));
    let mut boundaries = Vec::new();
    part.start_slice();
    let mut reports = Reports::default();
    let mut found = vec![Vec::new(); steps.iter().map(labels).sum::<u32>() as usize];
    let mut label = AccessTag::default();
    for (number, step) in steps.iter().enumerate() {
        let access = |addr, len: u64, kind| [Access { addr, len: len as u32, kind }];
        match step {
            Step::One(op) => match *op {
                Op::Load(addr, len) => part.batch_to(&access(addr, len, Kind::Load), &[label], &mut reports),
                Op::Store(addr, len) => part.batch_to(&access(addr, len, Kind::Store), &[label], &mut reports),
                Op::Remove(addr, len) => part.batch_to(&access(addr, len, Kind::Remove), &[label], &mut reports),
                Op::Relocate(from, to, len) => part.relocate(from, to, len),
                Op::InsertBottom(addr, len) => part.insert_bottom(addr, len),
            },
            Step::Run(streams, iterations) => {
                let labels: Vec<AccessTag> = (0..streams.len()).map(|stream| label.after(stream)).collect();
                part.affine_to(streams, &labels, *iterations, &mut reports);
            }
        }
        label = label.after(labels(step) as usize);
        if cuts.contains(&number) || number + 1 == steps.len() {
            boundaries.push(part.end_slice());
            file(&mut reports, &mut found);
        }
    }
    for join in joins {
        if boundaries.len() > 1 {
            let at = join % (boundaries.len() - 1);
            let behind = boundaries.remove(at + 1);
            let mut both = Engine::with_options(options);
            both.go_on_with_slice(std::mem::take(&mut boundaries[at]));
            both.resolve(&behind, &mut reports, |reports| file(reports, &mut found));
            boundaries[at] = both.end_slice();
        }
    }
    for boundary in boundaries {
        whole.resolve(&boundary, &mut reports, |reports| file(reports, &mut found));
    }
    file(&mut reports, &mut found);
    found.iter_mut().for_each(|found| found.sort_unstable());
    (found, [whole.live(), whole.peak_live(), whole.footprint()])
}

fn assert_parts_agree(steps: &[Step], cuts: &[usize], joins: &Joins) {
    let expected = by_list(steps);
    for options in set_ups() {
        for (part, whole) in [(options, EngineOptions::default()), (EngineOptions::default(), options)] {
            let got = in_parts(steps, cuts, joins, part, whole);
            assert_eq!(got, expected, "{part:?} {whole:?} {cuts:?} {joins:?}\n{steps:?}");
        }
    }
}

/// A run over some of the words that `ops` uses.
fn runs(base: u64) -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(vec![Kind::Load, Kind::Load, Kind::Store]);
    // Also words that are cut, and wide accesses that overlap.
    let (stride, len) =
        (prop::sample::select(vec![8i64, 8, 16, -8, 0, 32]), prop::sample::select(vec![8u32, 8, 4, 16]));
    let stream = (0u64..80, stride, len, kind).prop_map(move |(at, stride, len, kind)| Stream {
        addr: base / 8 * 8 + 160 + 4 * at,
        stride,
        len,
        kind,
    });
    (prop::collection::vec(stream, 1..4), 1u64..20).prop_map(|(streams, iterations)| Step::Run(streams, iterations))
}

fn steps(base: u64) -> impl Strategy<Value = Vec<Step>> {
    (ops(base), prop::collection::vec((any::<prop::sample::Index>(), runs(base)), 0..6)).prop_map(|(ops, runs)| {
        let mut steps: Vec<Step> = ops.into_iter().map(Step::One).collect();
        for (at, run) in runs {
            let at = at.index(steps.len());
            // As loops come again and again.
            steps.insert(at, run.clone());
            steps.insert(at, run);
        }
        steps
    })
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        4 => prop::collection::vec(0usize..150, 0..8),
        1 => (1usize..4).prop_map(|every| (0..160).step_by(every).collect()),
    ]
}

fn joins() -> impl Strategy<Value = Joins> {
    prop_oneof![Just(Vec::new()), prop::collection::vec(0usize..60, 1..10)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..cases(96) })]

    #[test]
    fn parts_agree_with_the_list(steps in steps(1 << 20), cuts in cuts(), joins in joins()) {
        assert_parts_agree(&steps, &cuts, &joins);
    }

    #[test]
    fn parts_agree_across_a_page_border(steps in steps((1 << 14) * 5 - 251), cuts in cuts(), joins in joins()) {
        assert_parts_agree(&steps, &cuts, &joins);
    }

    #[test]
    fn parts_agree_across_a_region_border(steps in steps((1 << 26) * 3 - 250), cuts in cuts(), joins in joins()) {
        assert_parts_agree(&steps, &cuts, &joins);
    }
}

#[test]
fn an_access_that_is_asked_for_in_parts_is_one_access() {
    let one = |op| Step::One(op);
    // The middle of the second load is known to its part, both ends are not and lie apart.
    let steps = [
        one(Op::Load(1000, 3)),
        one(Op::Load(2000, 64)),
        one(Op::Load(1005, 3)),
        one(Op::Load(1003, 2)),
        one(Op::Load(1000, 12)),
    ];
    assert_parts_agree(&steps, &[2], &Vec::new());
}

#[test]
fn loops_ask_once_for_all_their_iterations() {
    // Two arrays that the part before has gone through, one backwards, and one that nobody has touched.
    let stream = |addr, stride, kind| Stream { addr, stride, len: 8, kind };
    let first = [stream(1 << 20, 8, Kind::Store), stream((1 << 21) + 8 * 199, -8, Kind::Store)];
    let then = [first[0], stream(1 << 21, 8, Kind::Load), stream(1 << 22, 8, Kind::Load)];
    let then = then.map(|stream| Stream { kind: Kind::Load, ..stream });
    let step = |streams: &[Stream]| Step::Run(streams.to_vec(), 200);
    let steps = [step(&first), step(&then), step(&then[1..]), step(&first)];
    assert_parts_agree(&steps, &[0, 1, 2], &Vec::new());
    assert_parts_agree(&steps, &[0, 1, 2], &vec![0, 1]);

    let mut part = Engine::new();
    part.start_slice();
    part.affine_to(&then, &[0, 1, 2].map(AccessTag::new), 5000, &mut Reports::default());
    let boundary = part.end_slice();
    assert!(boundary.is_sound());
    let size = boundary.asks.len() + boundary.left.len() + boundary.rows.len();
    // Words that are asked for and left one by one are few of the 15,000.
    assert!(size < 3000, "{} asks, {} and {} are left", boundary.asks.len(), boundary.left.len(), boundary.rows.len());
}

/// One that lies further up and is longer.
fn piece(piece: Piece, up: u64, longer: u64) -> Piece {
    let (addr, below, len) = piece.into();
    (addr, below + up, len + longer).try_into().expect("a piece")
}

#[test]
fn more_bytes_side_by_side_than_a_piece_has_are_several() {
    let mut part = Engine::new();
    part.start_slice();
    part.store(1 << 30, 5 << 20);
    let part = part.end_slice();
    assert!(part.is_sound() && part.left.len() > 1, "{:?}", part.left);
    let (mut whole, mut direct) = (Engine::new(), Engine::new());
    whole.resolve(&part, &mut Reports::default(), |_| {});
    direct.store(1 << 30, 5 << 20);
    for at in [0, 1 << 20, (1 << 20) - 2, 4_000_000] {
        let load = |engine: &mut Engine| {
            let mut found = Collect::default();
            engine.load((1 << 30) + at, 4, &mut found);
            (found.0, engine.live(), engine.footprint())
        };
        assert_eq!(load(&mut whole), load(&mut direct), "at {at}");
    }
    assert!(Piece::try_from((0, 0, 1 << 20)).is_err() && Piece::try_from((0, 1 << 44, 1)).is_err());
}

#[test]
fn what_cannot_be_of_a_run_is_not_sound() {
    let mut part = Engine::new();
    part.start_slice();
    let streams = [8, 16].map(|stride| Stream { addr: 1 << 20, stride, len: 8, kind: Kind::Store });
    part.affine_to(&streams[..1], &[AccessTag::new(0)], 100, &mut Reports::default());
    part.affine_to(&[Stream { addr: 1 << 21, ..streams[1] }], &[AccessTag::new(0)], 100, &mut Reports::default());
    part.store(1 << 22, 3);
    let good = part.end_slice();
    assert!(good.is_sound() && !good.loops.is_empty() && !good.left.is_empty());
    type Damage = fn(&mut Boundary);
    let damages: [Damage; 9] = [
        |bad| bad.asks[0].addr = u64::MAX,
        |bad| bad.asks[0].above = 1 << 60,
        |bad| bad.loops[0].first = 5000,
        |bad| bad.loops[0].iterations = u64::MAX,
        |bad| _ = bad.strides.pop(),
        |bad| bad.left[0] = piece(bad.left[0], 1, 0),
        |bad| bad.left[0] = piece(bad.left[0], 0, 1 << 19),
        |bad| bad.left.push(bad.left[0]),
        |bad| bad.between.push((1 << 20, Between::Left { addr: 0, len: 1 })),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let mut bad = good.clone();
        damage(&mut bad);
        assert!(!bad.is_sound(), "damage {number}: {bad:?}");
    }
}

#[test]
fn blocks_of_moved_bytes_count_once() {
    let one = |op| Step::One(op);
    let steps = [
        one(Op::Store(1000, 40)),
        one(Op::Load(1016, 8)),
        one(Op::Relocate(1000, 3000, 40)),
        one(Op::Remove(3016, 8)),
        one(Op::Load(3000, 40)),
        one(Op::Load(1000, 8)),
    ];
    for cut in 0..steps.len() {
        assert_parts_agree(&steps, &[cut], &Vec::new());
        assert_parts_agree(&steps, &[0, cut], &vec![0]);
    }
}
