//! Parts of a small trace: what they come to together, and what is refused.

use std::io::Cursor;

use super::*;
use crate::{
    abi::{ItemKind, segment_flag},
    analysis::{Measurement, Options, replay},
    decode::event::Event,
    tests::{
        defined::{Counts, Objects, Traffic},
        history::Site,
        measured,
        program::{Function, Image, Program, Segment, item},
        run::Run,
        steps::Step,
    },
    trace::TraceReader,
};

fn options() -> Options {
    Options { hints: true, analyse: true, workers: 1, objects: true, line_sizes: vec![64], ..Options::default() }
}

/// Functions of a program and a library that begin with a store, load as often as is said, and return.
fn program(loads: usize) -> Program {
    let of = |kind, count: usize| Segment::block(1, vec![item(kind, 1, 0, 8); count]);
    let function = |name: &str| Function {
        name: name.into(),
        segments: vec![
            of(ItemKind::Store, 1).with(segment_flag::ENTER),
            of(ItemKind::Load, loads),
            of(ItemKind::Load, 1).with(segment_flag::EXIT),
        ],
    };
    let image =
        |names: &[&str]| Image { functions: names.iter().map(|name| function(name)).collect(), variables: vec![24] };
    Program { images: vec![image(&["main", "work"]), image(&["plugin"])] }
}

/// Two threads, in chunks of one record. Blocks of the heap live across any cut.
fn run(loads: usize) -> Run {
    let segment = |number, address| Step::Segment((0, number), vec![address]);
    let event = |event| Step::Event(None, event);
    let steps = |heap: u64| {
        vec![
            segment(0, 0x1000),
            event(Event::Alloc { address: heap, len: 64 }),
            segment(1, heap),
            segment(3, heap + 8),
            segment(4, 0x1000),
            segment(5, heap),
            segment(3, heap + 16),
            event(Event::Free { address: heap, len: 64 }),
            segment(5, heap + 8),
            Step::Segment((1, 0), vec![0x1008]),
            Step::Segment((1, 2), vec![heap + 24]),
            segment(1, 0x1000),
            segment(2, heap + 16),
        ]
    };
    Run::new(program(loads), &[steps(0x10_0000), steps(0x20_0000)], 1)
}

type Found = (Counts, Objects, std::collections::BTreeMap<Site, Traffic>);

fn found(measurement: &Measurement) -> Found {
    (measured::counts(measurement), measured::objects(measurement), measured::lines(measurement, 0, 2))
}

/// The trace in parts that end at these places.
fn parts(run: &Run, ends: &[u64]) -> Vec<Summary> {
    parts_with(run, ends, &options())
}

fn parts_with(run: &Run, ends: &[u64], options: &Options) -> Vec<Summary> {
    let starts = [0].iter().chain(ends);
    let ends = ends.iter().chain(&[u64::MAX]);
    starts.zip(ends).map(|(start, end)| run.part(options, *start..*end)).collect()
}

fn joined(parts: Vec<Summary>) -> Result<Measurement, JoinError> {
    joined_with(parts, &options())
}

fn joined_with(parts: Vec<Summary>, options: &Options) -> Result<Measurement, JoinError> {
    let mut joined = Joined::new(options);
    parts.into_iter().try_for_each(|part| joined.add(part))?;
    Ok(joined.finish().measurement)
}

#[test]
fn parts_of_any_cut_and_an_empty_one_come_to_the_whole() {
    let run = run(2);
    let whole = found(&run.replayed(&options()));
    for block in run.blocks() {
        // A block is of the part in which it begins.
        for cut in [*block, block + 1] {
            let three = || parts(&run, &[cut, cut]);
            assert_eq!(found(&joined(three()).expect("neighbours")), whole, "cut at {cut}");
            let both = three().into_iter().reduce(|before, behind| before.join(behind).expect("neighbours"));
            assert_eq!(found(&joined(Vec::from_iter(both)).expect("all")), whole, "joined before, cut at {cut}");
        }
    }
}

#[test]
fn a_block_is_of_the_part_in_which_it_begins() {
    let run = run(2);
    let accesses = |cut: u64| {
        let mut summaries = parts(&run, &[cut]);
        let behind = joined_accesses(summaries.pop());
        (joined_accesses(summaries.pop()), behind)
    };
    let all = accesses(0).1;
    let mut before = 0;
    for block in run.blocks() {
        let (first, second) = accesses(*block);
        assert_eq!(first + second, all, "each once");
        assert!(first >= before);
        assert!(accesses(block + 1).0 >= first, "the block at {block} is of the first part then");
        before = first;
    }
    assert_eq!(before, all);
}

/// Accesses that a part has counted.
fn joined_accesses(part: Option<Summary>) -> u64 {
    let rings = part.expect("a part").rings;
    rings.into_iter().map(|ring| ring.counts.counted().totals.accesses).sum()
}

/// Where to cut so that each of three parts has contexts that those before it do not have.
fn two_cuts(run: &Run) -> [u64; 2] {
    let blocks = parts(run, run.blocks());
    let has_new = |part: &Summary| part.rings.iter().any(|ring| !ring.contexts.is_empty());
    let mut begins = run.blocks().iter().zip(&blocks[1..]).filter(|(_, part)| has_new(part)).map(|(place, _)| *place);
    let mut next = || begins.next().expect("functions begin one after the other");
    next();
    [next(), next()]
}

#[test]
fn parts_that_are_no_neighbours_are_refused() {
    let run = run(2);
    let cuts = two_cuts(&run);
    for objects in [true, false] {
        let options = Options { objects, ..options() };
        // Each is made again, as a part cannot be copied.
        let part = |number: &usize| parts_with(&run, &cuts, &options).swap_remove(*number);
        assert!(joined_with([0, 1, 2].iter().map(part).collect(), &options).is_ok());
        for order in [&[1, 0, 2][..], &[0, 2], &[0, 0], &[1], &[0, 1, 1], &[0, 1, 2, 0]] {
            let error = joined_with(order.iter().map(part).collect(), &options).expect_err("no neighbours").to_string();
            assert!(error.contains("does not fit the slice before it"), "{order:?}: {error}");
        }
        assert!(part(&1).join(part(&0)).is_err(), "the wrong way round");
        assert!(part(&0).join(part(&2)).is_err(), "one is left out");
    }
}

#[test]
fn a_part_with_numbers_of_nothing_is_refused() {
    let run = run(2);
    let cut = two_cuts(&run)[0];
    let changes: [fn(&mut Summary); 3] = [
        |part| part.rings[0].contexts[0].0 = crate::decode::context::ContextNumber::new(1000),
        |part| part.rings[0].placed[0].0 = 1000,
        |part| part.modules_before += 1,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut both = parts(&run, &[cut]);
        change(&mut both[1]);
        assert!(joined(both).is_err(), "change {number}");
        let mut both = parts(&run, &[cut]);
        change(&mut both[1]);
        let behind = both.pop().expect("two parts");
        assert!(both.swap_remove(0).join(behind).is_err(), "change {number}");
    }
    let mut both = parts(&run, &[cut]);
    let behind = both.pop().expect("two parts");
    both[0].rings.iter_mut().for_each(|ring| ring.is_ended = true);
    assert!(both.swap_remove(0).join(behind).is_err(), "its threads had ended");
}

#[test]
fn a_part_of_another_program_is_refused() {
    let (run, other) = (run(2), run(3));
    let places = |run: &Run| run.blocks()[run.blocks().len() / 2];
    for join_before in [false, true] {
        let mut before = parts(&run, &[places(&run)]);
        before.truncate(1);
        let behind = parts(&other, &[places(&other)]).pop().expect("two parts");
        let refused = match join_before {
            true => before.pop().expect("a part").join(behind).is_err(),
            false => joined(before.into_iter().chain([behind]).collect()).is_err(),
        };
        assert!(refused, "joined before: {join_before}");
    }
}

#[test]
fn parts_with_objects_and_without_do_not_fit() {
    let run = run(2);
    let cut = run.blocks()[run.blocks().len() / 2];
    let without = Options { objects: false, ..options() };
    let (before, behind) = (run.part(&options(), 0..cut), run.part(&without, cut..u64::MAX));
    assert!(before.join(behind).is_err());
    assert!(joined(vec![run.part(&without, 0..u64::MAX)]).is_err());
    let other_lines = Options { line_sizes: vec![64, 128], ..options() };
    assert!(joined(vec![run.part(&other_lines, 0..u64::MAX)]).is_err(), "another number of sizes of lines");
    let before = run.part(&options(), 0..cut);
    assert!(before.join(run.part(&other_lines, cut..u64::MAX)).is_err());
}

#[test]
fn a_trace_that_was_cut_off_gives_what_a_replay_of_it_gives() {
    let run = run(2);
    for end in run.blocks().iter().flat_map(|block| [*block, block + 3]).filter(|end| *end < run.trace().len() as u64) {
        let trace = &run.trace()[..end as usize];
        let reader = || TraceReader::new(Cursor::new(trace)).expect("a trace");
        let whole = replay(&mut reader(), &options()).expect("all that is there");
        let part = |range| slice(&mut reader(), &options(), &range, None).expect("a part");
        let both = part(0..end / 2).join(part(end / 2..u64::MAX)).expect("neighbours");
        let mut joined = Joined::new(&options());
        joined.add(both).expect("all");
        let joined = joined.finish();
        assert!(joined.end.is_none() && whole.end.is_none());
        assert_eq!(joined.cut_at, whole.cut_at, "cut off at {end}");
        assert_eq!(joined.measurement.processes, whole.measurement.processes);
        let accesses =
            |measurement: &Measurement| -> u64 { measurement.threads.iter().map(|thread| thread.ring.accesses).sum() };
        assert_eq!(accesses(&joined.measurement), accesses(&whole.measurement));
        assert_eq!(joined.measurement.threads.len(), whole.measurement.threads.len());
    }
}

#[test]
fn the_end_of_a_run_and_of_its_threads_is_told_by_the_part_that_has_it() {
    let run = run(2);
    let end = run.trace().len() as u64;
    assert!(run.part(&options(), end..u64::MAX).end.is_none(), "it was before");
    let mut both = parts(&run, &[run.blocks()[run.blocks().len() / 2]]);
    assert!(both[0].end.is_none() && both[1].end.is_some());
    assert!(both[0].rings.iter().all(|ring| !ring.is_ended) && both[1].rings.iter().all(|ring| ring.is_ended));
    let behind = both.pop().expect("two parts");
    let joined = both.swap_remove(0).join(behind).expect("neighbours");
    assert!(joined.end.is_some() && joined.rings.iter().all(|ring| ring.is_ended));
    let mut whole = Joined::new(&options());
    whole.add(joined).expect("all");
    let whole = whole.finish();
    assert_eq!((whole.cut_at, whole.end.is_some()), (None, true));
}

#[test]
fn words_that_cannot_be_decoded_are_lost_in_the_part_that_has_them() {
    let segment = |number, address| Step::Segment((0, number), vec![address]);
    let steps = vec![segment(0, 0x1000), segment(1, 0x1000), Step::Unknown(vec![7, 7, 7]), segment(1, 0x1000)];
    let run = Run::new(program(2), &[steps], 1);
    for block in run.blocks() {
        let lost: u64 = parts(&run, &[*block])
            .into_iter()
            .flat_map(|part| part.rings)
            .map(|ring| ring.counts.counted().totals.lost_words)
            .sum();
        assert_eq!(lost, 3, "cut at {block}");
    }
}

#[test]
fn a_trace_without_its_programs_or_of_another_one_gives_no_part() {
    let run = run(2);
    let mut trace = run.trace().to_vec();
    let middle = run.blocks()[run.blocks().len() / 2] as usize;
    trace[middle + 1] ^= 1;
    let mut reader = TraceReader::new(Cursor::new(&trace[..])).expect("a trace");
    assert!(slice(&mut reader, &options(), &(0..u64::MAX), None).is_err(), "damaged in the middle");
    let mut reader = TraceReader::new(Cursor::new(&trace[..])).expect("a trace");
    assert!(slice(&mut reader, &options(), &(0..middle as u64), None).is_ok(), "nobody has looked there");
}
