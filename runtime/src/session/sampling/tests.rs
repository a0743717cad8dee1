//! Epochs against the list of all bytes in order of their last touch, and samples against the engine on whole traces.

use super::{estimate::complete, recency::*, *};
use crate::{
    engine::oracle::Oracle,
    session::{counters::DepthCounts, pipeline::Files, pipeline::Pipeline},
};

fn next(seed: &mut u64) -> u64 {
    below(seed, 1 << 40)
}

/// Every byte on the stack must lie where its epoch says.
fn check(recency: &mut Recency, oracle: &mut Oracle, addresses: u64) {
    for byte in 0..addresses {
        let mut last = None;
        recency.each_run(byte, 1, |found, _| last = Some(found));
        let depth = oracle.depth(byte);
        match last.expect("one run") {
            Last::Gone => assert_eq!(depth, None, "byte {byte}"),
            Last::Now => assert!(depth.is_some(), "byte {byte}"),
            Last::Then(epoch) | Last::Old(epoch) => {
                let (above, of_epoch) = recency.above(epoch);
                let depth = depth.expect("on the stack");
                assert!((above + 1..=above + of_epoch).contains(&depth), "byte {byte}: {depth}, {above} + {of_epoch}");
            }
        }
    }
    assert_eq!(
        [recency.live, recency.peak_live, recency.footprint],
        [oracle.live(), oracle.peak_live(), oracle.footprint()]
    );
}

#[test]
fn epochs_tell_where_bytes_are() {
    // More than a page, and accesses across its end.
    const ADDRESSES: u64 = 400;
    const BASE: u64 = 16384 - 150;
    let (mut recency, mut oracle, mut seed) = (Recency::default(), Oracle::default(), 5);
    for step in 0..6000u64 {
        let (at, len) = (next(&mut seed) % (ADDRESSES - 40), 1 + next(&mut seed) % 40);
        match next(&mut seed) % 20 {
            0 => {
                recency.remove(BASE + at, len);
                oracle.remove(BASE + at, len);
            }
            1 => {
                let to = next(&mut seed) % (ADDRESSES - 40);
                recency.relocate(BASE + at, BASE + to, len);
                oracle.relocate(BASE + at, BASE + to, len);
            }
            2 => {
                recency.insert_bottom(BASE + at, len);
                oracle.insert_bottom(BASE + at, len);
            }
            _ => {
                let len = if step % 3 == 0 { len } else { 1 << (len % 4) };
                match recency.touch_recent(BASE + at, len) {
                    Touched::Yes => {}
                    Touched::Old(_) => recency.touch(BASE + at, len),
                    Touched::No => recency.touch(BASE + at, len),
                }
                oracle.store(BASE + at, len);
            }
        }
        if next(&mut seed).is_multiple_of(5) {
            recency.advance(step, 50);
        }
        if step % 50 == 0 {
            check(&mut recency, &mut oracle, BASE + ADDRESSES);
        }
    }
}

#[test]
fn epochs_that_run_out_are_merged_where_it_matters_least() {
    let (mut recency, mut oracle, mut seed) = (Recency::default(), Oracle::default(), 9);
    for byte in 0..2000 {
        recency.advance(0, 1000);
        recency.touch(byte, 1);
        oracle.store(byte, 1);
    }
    // Far more than there are numbers; the last touches of most bytes are long ago at any time.
    for step in 0..150_000u64 {
        recency.advance(step, 1000);
        let at = next(&mut seed) % (1 + next(&mut seed) % 2000);
        recency.touch(at, 1);
        oracle.store(at, 1);
    }
    check(&mut recency, &mut oracle, 2000);
    for byte in 0..2000 {
        let mut last = None;
        recency.each_run(byte, 1, |found, _| last = Some(found));
        if let Some(Last::Then(epoch) | Last::Old(epoch)) = last {
            let (above, of_epoch) = recency.above(epoch);
            assert!(of_epoch <= 1 + above / 100, "byte {byte}: {of_epoch} of an epoch, below {above}");
        }
    }
}

/// A program of several phases: loops over arrays of some sizes, look-ups, a stack that comes and goes.
fn trace(accesses: usize) -> Vec<(Access, u32)> {
    let (mut list, mut seed) = (Vec::with_capacity(accesses), 3);
    let mut phase = 0u64;
    while list.len() < accesses {
        phase += 1;
        let size = [512, 4096, 60_000, 400][phase as usize % 4] * 8;
        let base = 0x10_0000 * (1 + phase % 4);
        for step in 0..40_000u64 {
            let frame = 0xff_0000 + (step / 100 % 7) * 64;
            let hot = Access {
                addr: frame + step % 8 * 8,
                len: 8,
                kind: if step % 3 == 0 { Kind::Store } else { Kind::Load },
            };
            let at = if phase.is_multiple_of(3) { (next(&mut seed) % size) & !7 } else { step * 8 % size };
            list.push((hot, 0));
            list.push((Access { addr: base + at, len: 8, kind: Kind::Load }, 1 + phase as u32 % 4));
            if step % 50 == 49 {
                list.push((Access { addr: frame, len: 16, kind: Kind::Remove }, UNCOUNTED));
            }
            if step % 10 == 0 {
                list.push((Access { addr: base + at, len: 8, kind: Kind::Store }, UNCOUNTED));
            }
        }
    }
    list.truncate(accesses);
    list
}

const CELLS: usize = 5;

fn exact(trace: &[(Access, u32)]) -> (Vec<CellCounters>, DepthCounts) {
    let (mut cells, mut cold) = (vec![CellCounters::default(); CELLS], DepthCounts::default());
    let mut pipeline = Pipeline::default();
    for (access, cell) in trace {
        pipeline.push(*access, *cell, &mut Files { cells: &mut cells, cold: &mut cold });
    }
    let _ = pipeline.finish(&mut Files { cells: &mut cells, cold: &mut cold });
    cells.iter_mut().for_each(CellCounters::flush);
    (cells, cold)
}

fn sampled(trace: &[(Access, u32)], every: u32) -> (Vec<CellCounters>, DepthCounts, estimate::RingSample) {
    let (mut cells, mut cold) = (vec![CellCounters::default(); CELLS], DepthCounts::default());
    let mut sampler = Sampler::new(every, &FastPaths::default());
    let mut reads = vec![0; CELLS];
    for chunk in trace.chunks(1000) {
        let (accesses, labels): (Vec<Access>, Vec<u32>) = chunk.iter().copied().unzip();
        sampler.accesses(&accesses, &labels);
        for (access, cell) in chunk.iter().filter(|(access, cell)| access.kind == Kind::Load && *cell != UNCOUNTED) {
            reads[*cell as usize] += u64::from(access.len);
        }
    }
    let sample = complete(sampler.finish(), reads, &mut cells, &mut cold, |cell| (cell, 0), |segment| segment);
    cells.iter_mut().for_each(CellCounters::flush);
    (cells, cold, sample)
}

fn read(cell: &CellCounters) -> u64 {
    cell.depths.iter().map(|(_, bytes)| bytes).sum()
}

#[test]
fn short_threads_are_exact() {
    let trace = trace(WHOLE as usize);
    let ((expected, expected_cold), (found, cold, sample)) = (exact(&trace), sampled(&trace, 100));
    for (expected, found) in expected.iter().zip(&found) {
        assert!(expected.cost > 0 || read(expected) == 0);
        assert_eq!(expected.cost, found.cost);
        assert_eq!(expected.depths.iter().collect::<Vec<_>>(), found.depths.iter().collect::<Vec<_>>());
    }
    assert_eq!(expected_cold.iter().collect::<Vec<_>>(), cold.iter().collect::<Vec<_>>());
    assert!(sample.sites.values().all(|site| site.estimated() == 0));
}

#[test]
fn long_threads_are_estimated_within_what_is_said() {
    let trace = trace(4_000_000);
    let ((expected, expected_cold), (found, cold, sample)) = (exact(&trace), sampled(&trace, 20));
    assert_eq!(expected_cold.iter().collect::<Vec<_>>(), cold.iter().collect::<Vec<_>>());
    assert!(sample.windows > 150, "{}", sample.windows);
    for (at, (expected, found)) in (0..).zip(expected.iter().zip(&found)) {
        assert_eq!((read(expected), expected.cold), (read(found), found.cold), "cell {at}: counts are exact");
        let site = &sample.sites[&(at, 0)];
        let squares: f64 = site.deviations().iter().map(|d| (*d as f64).powi(2)).sum();
        let said = 2.131 * (squares * 16.0 / 15.0).sqrt() + site.slack() as f64 / 2.0;
        let off = expected.cost.abs_diff(found.cost) as f64;
        assert!(said < 0.1 * expected.cost as f64, "cell {at}: {said} of {}", expected.cost);
        assert!(off <= said && off < 0.03 * expected.cost as f64, "cell {at}: {off} of {}, said {said}", expected.cost);
    }
    let (again, _, _) = sampled(&trace, 20);
    assert!(again.iter().zip(&found).all(|(a, b)| a.cost == b.cost), "the same accesses give the same numbers");
}

/// Bytes that were never read or written before, by depth, of streams that go over fresh memory: as runs, and access by access.
#[test]
fn fresh_memory_is_found_where_it_is() {
    let streams = [
        (0x10_0000, 16, 8, Kind::Store),
        (0x10_0008, 16, 8, Kind::Store),
        (0x20_0000, -8, 8, Kind::Store),
        (0x20_0008, -8, 8, Kind::Load),
        (0x1000, 0, 8, Kind::Load),
        (0x3000_0000, 4096, 16, Kind::Load),
        (0x40_0001, 3, 4, Kind::Store),
    ];
    let streams = streams.map(|(addr, stride, len, kind)| Stream { addr, stride, len, kind });
    let cells = [UNCOUNTED, UNCOUNTED, UNCOUNTED, 3, 1, 2, UNCOUNTED];
    let sampled = [true, false].map(|as_runs| {
        let mut sampler = Sampler::new(20, &FastPaths::default());
        // The first accesses are all measured. Others are of these streams, farther each time than before.
        for iteration in 0..WHOLE {
            sampler.accesses(&[Access { addr: 0x1000 + iteration % 64 * 8, len: 8, kind: Kind::Load }], &[0]);
        }
        for upto in [10, 400, 3000, 9000] {
            if as_runs {
                sampler.run(&streams, &cells, upto);
                continue;
            }
            for iteration in 0..upto {
                let access = |s: &Stream| Access { addr: s.at(iteration), len: s.len, kind: s.kind };
                sampler.accesses(&streams.each_ref().map(access), &cells);
            }
        }
        let stack = [sampler.peak_live(), sampler.footprint()];
        let samples = sampler.finish();
        (stack, samples.cold.iter().collect::<Vec<_>>())
    });
    assert_eq!(sampled[0], sampled[1]);
    assert_eq!(sampled[0].0, [512 + 18_000 * 8 + 9001 * 8 + 9000 * 16 + 9000 * 3 + 1; 2]);
}

#[test]
fn regular_runs_are_sampled_like_their_accesses() {
    let streams =
        [(0x1000, 8, Kind::Load), (0x1008, 8, Kind::Load), (0x90_0000, -800, Kind::Load), (0x1000, 8, Kind::Store)];
    let streams = streams.map(|(addr, stride, kind)| Stream { addr, stride, len: 8, kind });
    let mut cost = Vec::new();
    for as_runs in [true, false] {
        let mut sampler = Sampler::new(50, &FastPaths::default());
        for _ in 0..400 {
            if as_runs {
                sampler.run(&streams, &[0, 1, 2, UNCOUNTED], 5000);
                continue;
            }
            for iteration in 0..5000 {
                let at = |stream: &Stream| stream.addr.wrapping_add_signed(stream.stride * iteration);
                let accesses = streams.map(|stream| Access { addr: at(&stream), len: 8, kind: stream.kind });
                sampler.accesses(&accesses, &[0, 1, 2, UNCOUNTED]);
            }
        }
        assert_eq!([sampler.peak_live(), sampler.footprint()], [80_008, 80_008]);
        let (mut cells, mut cold) = (vec![CellCounters::default(); CELLS], DepthCounts::default());
        let reads = vec![16_000_000; 3];
        complete(sampler.finish(), reads, &mut cells, &mut cold, |cell| (cell, 0), |segment| segment);
        cells.iter_mut().for_each(CellCounters::flush);
        assert_eq!([0, 1, 2].map(|cell| read(&cells[cell])), [16_000_000; 3]);
        cost.push([0, 1, 2].map(|cell| cells[cell].cost as f64));
    }
    for cell in 0..3 {
        assert!((cost[0][cell] / cost[1][cell] - 1.0).abs() < 0.03, "{cost:?}");
    }
}
