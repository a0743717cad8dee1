//! The engine on this thread and on one of its own.

use super::*;
use crate::{
    counts::{cell::CellCounters, depths::DepthCounts},
    engine::Kind,
};

fn run(threaded_after: Option<usize>) -> (Vec<(u128, u64)>, u64) {
    let mut pipeline = Pipeline::default();
    let mut cells = vec![CellCounters::default(); 7];
    let mut cold = DepthCounts::default();
    let mut seed = 1u64;
    for step in 0..200_000usize {
        let mut files = Files::new(&mut cells, &mut cold);
        if threaded_after == Some(step) {
            pipeline.start_thread(true, &mut files);
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let address = 4096 + (seed >> 40) % 9000;
        let kind = [Kind::Load, Kind::Load, Kind::Store, Kind::Remove][(seed >> 20) as usize % 4];
        if step % 50 == 3 {
            let stream = |addr: u64, kind| Stream { addr: 40_000 + addr * 8, stride: 8, len: 8, kind };
            let streams = [stream(0, Kind::Load), stream(1, Kind::Load), stream(900, Kind::Store)];
            pipeline.push_run(
                &streams,
                &[AccessTag::new(1), AccessTag::new(3), AccessTag::UNCOUNTED],
                20 + seed % 100,
                &mut files,
            );
        }
        let access = Access { addr: address, len: 1 + (seed >> 8) as u32 % 16, kind };
        pipeline.push(access, AccessTag::new((seed >> 30) as usize % 7), &mut files);
        if step % 5000 == 77 {
            pipeline.op(Op::Move { from: 4096, to: 10_000, len: 500 }, &mut files);
        }
        if step % 7000 == 99 {
            pipeline.op(Op::Input { addr: 20_000, len: 64 }, &mut files);
        }
    }
    let (engine, ..) = pipeline.finish(&mut Files::new(&mut cells, &mut cold));
    cells.iter_mut().for_each(CellCounters::flush);
    (cells.iter().map(|c| (c.cost, c.cold)).collect(), engine.engine().peak_live())
}

#[test]
fn a_thread_of_its_own_changes_no_number() {
    let here = run(None);
    assert!(here.0.iter().all(|c| c.0 > 0));
    assert_eq!(here, run(Some(0)));
    assert_eq!(here, run(Some(123_456)));
}
