//! Estimates against exact costs, over many seeds: their mean, and how often their intervals are right. Stacks of some
//! lines against the engine.
//!
//! `DMDPROF_SAMPLE_SEEDS=20000` tries so many seeds instead of a few.

use super::{
    Design, Sampler,
    above::Above,
    stack::{LINE, Piece, Stack, pieces},
};
use crate::{
    abi::sample::Draws,
    counts::sampled::{Estimate, SampleCounts},
    engine::{Access, AccessTag, DepthRun, Engine, Kind, Reports, Stream},
    oplog::Op,
    pricing::run_cost,
    tests::held::tells_what_it_holds,
};

/// Cells of the traces here.
const CELLS: usize = 5;

/// Accesses with their cells.
type Trace = Vec<(Access, AccessTag)>;

fn exact(trace: &Trace) -> [f64; CELLS] {
    let mut engine = Engine::default();
    let mut costs = [0.0; CELLS];
    for (access, cell) in trace {
        costs[cell.index()] += cost_of(&mut engine, *access);
    }
    costs
}

fn cost_of(engine: &mut Engine, access: Access) -> f64 {
    let mut found = Reports::default();
    engine.batch_to(&[access], &[AccessTag::new(0)], &mut found);
    let mut cost = 0;
    found.each(|_, found| match found {
        DepthRun::Warm { above, len } | DepthRun::Cold { above, len } => cost += run_cost(above, len),
        DepthRun::Row(_) => unreachable!("a batch of one"),
        DepthRun::Holes(..) => {}
    });
    cost as f64
}

/// A program in phases: a hot table, rows of a matrix, a hash table, a list that grows and ends, words that cross
/// lines.
fn trace(len: usize) -> Trace {
    let mut draws = Draws::new(17);
    let mut trace = Trace::new();
    let mut at =
        |cell: usize, addr: u64, len: u32, kind: Kind| trace.push((Access { addr, len, kind }, AccessTag::new(cell)));
    let mut steps = 0;
    while steps < len {
        let (phase, long) = (draws.below(5), 200 + draws.below(1500));
        for step in 0..long {
            let word = draws.below(1 << 11) * 8;
            match phase {
                0 => at(0, 0x1000 + word % 512, 8, Kind::Load),
                1 => at(1, 0x10_0000 + (steps as u64 + step) * 8 % 40_000, 8, Kind::Load),
                2 => at(2, 0x20_0000 + draws.below(1 << 12) * 16, 16, Kind::Load),
                3 => at(3, 0x30_0000 + step * 8, 8, if step.is_multiple_of(3) { Kind::Store } else { Kind::Load }),
                _ => at(4, 0x40_0000 + word * 5 % 30_000 + 61, 6, Kind::Load),
            }
            if phase != 0 && step.is_multiple_of(4) {
                at(0, 0x1000 + word % 512, 8, if word.is_multiple_of(64) { Kind::Store } else { Kind::Load });
            }
        }
        if phase == 3 {
            at(3, 0x30_0000, long as u32 * 8, Kind::Remove);
        }
        steps += long as usize;
    }
    trace
}

fn sampled(trace: &Trace, design: Design) -> Vec<SampleCounts> {
    let mut sampler = Sampler::new(design);
    sampler.set_known(CELLS);
    let (accesses, cells): (Vec<Access>, Vec<AccessTag>) = trace.iter().copied().unzip();
    sampler.op(Op::accesses(&accesses, &cells));
    sampler
        .finish()
        .cells
        .into_iter()
        .map(|counts| counts.map_or_else(SampleCounts::default, |counts| *counts))
        .collect()
}

/// Times that are as short as the traces here.
fn design(seed: u64) -> Design {
    Design { burst: 512, epoch: 1 << 11, slow_epoch: 1 << 13, ..Design::new(16, seed) }
}

/// By how many standard errors the mean of values is off.
fn off_by(values: &[f64], truth: f64) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean - truth) / (variance / n).sqrt()
}

#[test]
fn the_mean_of_many_samples_is_exact_and_intervals_are_right() {
    let seeds = std::env::var("DMDPROF_SAMPLE_SEEDS").map_or(300, |seeds| seeds.parse().expect("a number of seeds"));
    let trace = trace(30_000);
    let mut costs = exact(&trace).to_vec();
    costs.push(costs.iter().sum());
    let runs: Vec<Vec<SampleCounts>> = (0..seeds)
        .map(|seed| {
            let mut run = sampled(&trace, design(seed));
            let mut total = SampleCounts::default();
            run.iter().for_each(|counts| total.merge(counts));
            run.push(total);
            run
        })
        .collect();
    let (mut told, mut right) = (0, 0);
    for (cell, cost) in costs.iter().enumerate() {
        let read = runs[0][cell].read as f64;
        let bytes: Vec<f64> = runs.iter().map(|run| run[cell].bytes()).collect();
        let estimates: Vec<Estimate> = runs.iter().map(|run| run[cell].estimate(0)).collect();
        let values: Vec<f64> = estimates.iter().map(|estimate| estimate.cost).collect();
        // The whole within two standard errors, and each of its twelve parts within three.
        let most = if cell == CELLS { 2.0 } else { 3.0 };
        let (of_bytes, of_cost) = (off_by(&bytes, read), off_by(&values, *cost));
        assert!(of_bytes.abs() < most && of_cost.abs() < most, "cell {cell}: {of_bytes}, {of_cost} standard errors");
        for Estimate { cost: estimate, within } in estimates {
            told += usize::from(within.is_some());
            right += usize::from(within.is_some_and(|within| (estimate - cost).abs() <= within));
        }
    }
    assert!(told > seeds as usize * 2, "most have an interval: {told}");
    let part = right as f64 / told as f64;
    assert!((0.93..0.985).contains(&part), "{right} of {told} intervals are right");
}

#[test]
fn the_root_of_a_depth_that_is_estimated_has_no_bias() {
    // Each of so many lines is drawn with one chance in 16.
    let chance = 1.0 / 16.0;
    for lines in [8u32, 16, 24, 32, 64, 128, 512] {
        let mut expected = 0.0;
        let mut likely = (1.0f64 - chance).powi(lines as i32);
        for drawn in 0..=lines {
            let mut above = Above::exactly(0);
            (0..drawn).for_each(|_| above.bucket(LINE));
            (drawn..256).for_each(|_| above.bucket(0));
            expected += likely * above.price(1, 16.0, LINE as f64).cost;
            likely *= chance / (1.0 - chance) * f64::from(lines - drawn) / f64::from(drawn + 1);
        }
        let exact = f64::from(lines * LINE as u32).sqrt() + 0.5;
        let most = if lines < 16 { 0.07 } else { 0.01 };
        assert!((expected / exact - 1.0).abs() < most, "{lines} lines: {expected}, exact {exact}");
    }
}

fn touch(stack: &mut Stack, piece: Piece, lane: u16, now: u64) {
    let entry = stack.find(piece.line);
    stack.touch(entry, piece, lane, now);
}

#[test]
fn a_stack_of_all_lines_is_the_engine() {
    let (mut stack, mut engine) = (Stack::new(1), Engine::default());
    let mut draws = Draws::new(5);
    for now in 0..30_000u64 {
        let (addr, len) = (4000 + draws.below(6000), 1 + draws.below(16));
        match draws.below(8) {
            0 => {
                let len = 1 + draws.below(300);
                engine.batch_to(
                    &[Access { addr, len: len as u32, kind: Kind::Remove }],
                    &[AccessTag::new(0)],
                    &mut Reports::default(),
                );
                if now.is_multiple_of(2) {
                    stack.forget_range(addr, len);
                } else {
                    pieces(addr, len).for_each(|piece| stack.forget(piece));
                }
            }
            1 => {
                // Bytes that move by whole lines.
                let (to, len) = (320 * LINE + addr % LINE + draws.below(3) * LINE, 64 + draws.below(500));
                engine.relocate(addr, to, len);
                stack.relocate(addr, to, len, true, |_| true);
                engine.relocate(to, addr, len);
                stack.relocate(to, addr, len, true, |_| true);
            }
            kind => {
                let kind = if kind < 4 { Kind::Store } else { Kind::Load };
                let exact = cost_of(&mut engine, Access { addr, len: len as u32, kind });
                let (mut cost, mut cold) = (0, 0);
                for piece in pieces(addr, len).filter(|_| kind == Kind::Load) {
                    let entry = stack.find(piece.line);
                    stack.parts(entry, piece, |part| {
                        let mut above = [stack.total[0] + cold];
                        match part.slot {
                            Some(slot) => stack.above(slot, &mut above),
                            None => cold += u64::from(part.len),
                        }
                        cost += run_cost(above[0] + u64::from(part.beside), part.len.into());
                    });
                }
                assert_eq!(cost as f64, exact, "{addr} + {len} at {now}");
                pieces(addr, len).for_each(|piece| touch(&mut stack, piece, 0, now));
            }
        }
    }
}

#[test]
fn bytes_since_a_time_are_those_above_the_slot_of_that_time() {
    let mut stack = Stack::new(3);
    let mut draws = Draws::new(9);
    for now in 0..20_000u64 {
        let addr = draws.below(1 << 14);
        pieces(addr, 8).for_each(|piece| touch(&mut stack, piece, (piece.line % 3) as u16, now));
        let (mut above, mut since, mut checked) = ([0; 3], [0; 3], 0);
        let place = pieces(draws.below(1 << 14), 1).next().expect("a byte is in a line");
        let entry = stack.find(place.line);
        stack.parts(entry, place, |part| {
            let Some(slot) = part.slot else { return };
            stack.above(slot, &mut above);
            stack.since(stack.time(slot), &mut since);
            checked += 1;
        });
        // Of a touch across two lines, the second line's part is later at the same time.
        let apart: u64 = above.iter().zip(&since).map(|(above, since)| above - since).sum();
        assert!(checked == 0 || apart < 8, "{above:?} {since:?}");
    }
}

#[test]
fn the_same_seed_draws_the_same_and_runs_are_their_accesses() {
    let trace = trace(20_000);
    let one = sampled(&trace, design(1));
    assert_eq!(one, sampled(&trace, design(1)));
    assert_ne!(one, sampled(&trace, design(2)));
    let streams = [
        Stream { addr: 4096, stride: 24, len: 8, kind: Kind::Load },
        Stream { addr: 90_000, stride: 0, len: 4, kind: Kind::Store },
        Stream { addr: 500_000, stride: -8, len: 8, kind: Kind::Load },
        Stream { addr: 50_001, stride: 4000, len: 100, kind: Kind::Load },
        Stream { addr: 900_000, stride: -200, len: 1, kind: Kind::Store },
        Stream { addr: 4_000_024, stride: 4096, len: 8, kind: Kind::Load },
        Stream { addr: 40_000_060, stride: -128, len: 8, kind: Kind::Load },
    ];
    let cells = [1, 2, 0, 3, 2, 1, 0].map(AccessTag::new);
    let (mut as_run, mut singly) = (Sampler::new(design(3)), Sampler::new(design(3)));
    for sampler in [&mut as_run, &mut singly] {
        sampler.set_known(CELLS);
    }
    for _ in 0..20 {
        as_run.op(Op::run(&streams, &cells, 3000));
        for iteration in 0..3000 {
            let access =
                |stream: &Stream| Access { addr: stream.address_at(iteration), len: stream.len, kind: stream.kind };
            singly.op(Op::accesses(&streams.each_ref().map(access), &cells));
        }
    }
    assert_eq!(as_run.finish(), singly.finish());
}

#[test]
fn threads_of_its_own_change_no_number() {
    let trace = trace(40_000);
    let (accesses, cells): (Vec<Access>, Vec<AccessTag>) = trace.iter().copied().unzip();
    let streams = [Stream { addr: 0x50_0000, stride: 8, len: 8, kind: Kind::Load }];
    let draw = |threaded: bool| {
        let mut sampler = Sampler::new(design(4));
        sampler.set_known(2);
        for (round, (accesses, cells)) in accesses.chunks(5000).zip(cells.chunks(5000)).enumerate() {
            if threaded && round == 2 {
                sampler.start_threads();
                assert!(sampler.is_on_threads());
            }
            sampler.set_known(CELLS);
            sampler.op(Op::accesses(accesses, cells));
            sampler.op(Op::run(&streams, &[AccessTag::new(3)], 3000));
            let from = 0x30_0000 + round as u64 * 64;
            sampler.op(Op::Move { from, to: from + 0x8_0000, len: 4000 });
            sampler.op(Op::Input { addr: 0x20_0000, len: 20_000 });
        }
        sampler.finish()
    };
    assert_eq!(draw(true), draw(false));
}

#[test]
fn cells_that_do_not_count_and_ranges_at_the_end_of_memory_do_no_harm() {
    let mut sampler = Sampler::new(design(1));
    sampler.set_known(1);
    let access = |addr, len, kind| Access { addr, len, kind };
    for addr in [0, 63, u64::MAX - 3, u64::MAX] {
        for kind in [Kind::Load, Kind::Store, Kind::Remove] {
            sampler.op(Op::accesses(
                &[access(addr, 8, kind), access(addr, 0, kind)],
                &[AccessTag::UNCOUNTED, AccessTag::new(7)],
            ));
        }
        sampler.op(Op::Move { from: addr, to: 100, len: 3 });
    }
    sampler.op(Op::accesses(&[access(0, u32::MAX, Kind::Remove)], &[AccessTag::new(0)]));
    sampler.op(Op::Input { addr: u64::MAX - 10, len: 100 });
    assert_eq!(sampler.finish().cells, vec![None]);
}

/// A seed is one sample, however long ago it was drawn. Where it is meant to be another one, its number comes here.
#[test]
fn a_seed_draws_what_it_has_always_drawn() {
    let trace = trace(30_000);
    let mut sampler = Sampler::new(design(6));
    sampler.set_known(CELLS);
    let streams = [
        Stream { addr: 0x50_0000, stride: 8, len: 8, kind: Kind::Load },
        Stream { addr: 0x60_0030, stride: -72, len: 24, kind: Kind::Load },
        Stream { addr: 0x10_0000, stride: 64, len: 8, kind: Kind::Store },
    ];
    for (round, part) in trace.chunks(2500).enumerate() {
        let (accesses, cells): (Vec<Access>, Vec<AccessTag>) = part.iter().copied().unzip();
        sampler.op(Op::accesses(&accesses, &cells));
        sampler.op(Op::run(&streams, &[3, 4, 1].map(AccessTag::new), 1500));
        let from = 0x30_0000 + round as u64 * 64;
        sampler.op(Op::Move { from, to: from + 0x8_0000, len: 4000 });
        sampler.op(Op::Input { addr: 0x20_0000, len: 20_000 });
        if round % 5 == 4 {
            let rest = Access { addr: 0x50_0000, len: 1 << 20, kind: Kind::Remove };
            sampler.op(Op::accesses(&[rest], &[AccessTag::new(0)]));
        }
    }
    let cells = sampler.finish().cells;
    let read: Vec<u64> = cells.iter().flatten().map(|counts| counts.read).collect();
    let numbers = postcard::to_stdvec(&cells).expect("a few cells");
    assert_eq!((read, crc32fast::hash(&numbers)), (vec![97_400, 44_248, 128_800, 201_584, 574_350], 1_386_284_330));
}

#[test]
fn a_sample_tells_what_it_holds() {
    let sample = |one_in: u32, accesses: usize| {
        let make = move || {
            let mut sampler = Sampler::new(Design::new(one_in, 5));
            sampler.set_known(CELLS);
            let trace = trace(accesses);
            let (accesses, labels): (Vec<Access>, Vec<AccessTag>) = trace.into_iter().unzip();
            sampler.op(Op::accesses(&accesses, &labels));
            sampler
        };
        tells_what_it_holds(make, Sampler::heap_bytes);
    };
    sample(1, 10_000);
    sample(16, 200_000);
}
