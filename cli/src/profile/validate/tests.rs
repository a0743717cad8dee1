//! What contradicts itself is refused, and what does not is taken.

use super::*;
use crate::profile::model::{
    CacheTraffic, ContextId, Histogram, LineDetails, LineTraffic, Optimum, OtherLines, Sequence, StreamCell,
};
use crate::profile::sample;

fn refused(change: impl FnOnce(&mut Profile)) -> String {
    let mut profile = sample::small();
    validate(&profile).unwrap();
    change(&mut profile);
    validate(&profile).unwrap_err().to_string()
}

#[test]
fn lines_of_another_size_take_the_place_of_the_first() {
    let mut profile = sample::with_caches();
    let traffic = LineTraffic { size: 128, cells: Vec::new() };
    profile.other_lines = vec![OtherLines { traffic: traffic.clone(), details: LineDetails::default() }];
    validate(&profile).unwrap();
    let before = profile.clone();
    assert_eq!(profile.choose_lines(64), Ok(()));
    assert_eq!(profile, before, "they are the first already");
    assert!(profile.choose_lines(32).unwrap_err().contains("but of 64,128"));
    assert_eq!(profile.choose_lines(128), Ok(()));
    assert_eq!((profile.lines.as_ref(), profile.line_details.streams.as_ref()), (Some(&traffic), None));
    assert_eq!(profile.caches, None, "the caches had lines of 64 bytes");
    validate(&profile).unwrap();
    assert_eq!(profile.choose_lines(64), Ok(()));
    assert_eq!((profile.lines, profile.line_details), (before.lines, before.line_details));
    assert!(sample::small().choose_lines(64).unwrap_err().contains("dmdprof run --line-size 64"));
}

#[test]
fn contradictions_are_named() {
    let dead = |change: fn(&mut crate::profile::model::Dead)| {
        refused(|p| {
            *p = sample::exact();
            p.cells[1].dead.iter_mut().for_each(change);
        })
    };
    let lines = |change: fn(&mut LineTraffic)| {
        refused(|p| {
            *p = sample::with_lines();
            p.lines.iter_mut().for_each(change);
        })
    };
    let streams = |change: fn(&mut Vec<StreamCell>)| {
        refused(|p| {
            *p = sample::with_lines();
            p.line_details.streams.iter_mut().for_each(change);
        })
    };
    let optimum = |change: fn(&mut Optimum)| {
        refused(|p| {
            *p = sample::with_optimum();
            p.optimum.iter_mut().for_each(change);
        })
    };
    let caches = |change: fn(&mut CacheTraffic)| {
        refused(|p| {
            *p = sample::with_caches();
            p.caches.iter_mut().for_each(change);
        })
    };
    let flows = |change: fn(&mut Vec<Flow>)| {
        refused(|p| {
            *p = sample::flows();
            p.flows.iter_mut().for_each(change);
        })
    };
    let sequence = |change: fn(&mut Sequence)| {
        refused(|p| {
            *p = sample::flows();
            change(&mut p.sequences[0]);
        })
    };
    let messages = [
        refused(|p| p.functions[1].symbol = StringId(999)),
        refused(|p| p.positions[0].inlined_at = Some(PositionId(0))),
        refused(|p| p.contexts[1].parent = Some(ContextId(1))),
        refused(|p| p.cells[0].site = SiteId(999)),
        refused(|p| p.cells.swap(0, 1)),
        refused(|p| p.cells[1].histogram.depths[0].1 += 1),
        refused(|p| p.cells[1].histogram.depths[0].0 = u16::MAX),
        refused(|p| p.totals.cost += 1),
        refused(|p| p.cold_histogram.depths.clear()),
        refused(|p| p.cells = sample::exact().cells),
        dead(|dead| dead.hints_cost = 0),
        dead(|dead| dead.unread = u64::MAX),
        flows(|f| f[0].reader = SiteId(999)),
        flows(|f| f[2].toucher = None),
        flows(|f| f.swap(0, 1)),
        flows(|f| f[0].bytes += 1),
        flows(|f| f[0].cost -= 1),
        flows(|f| f[0].cost += 1),
        flows(Vec::clear),
        refused(|p| {
            *p = sample::exact();
            p.flows = sample::flows().flows;
        }),
        sequence(|s| s.function = FunctionId(999)),
        sequence(|s| s.calls[1].0 = FunctionId(999)),
        sequence(|s| s.calls[1].1 = 0),
        sequence(|s| s.calls[1].0 = s.calls[0].0),
        refused(|p| {
            *p = sample::flows();
            p.sequences.swap(0, 1);
        }),
        lines(|l| l.size = 48),
        lines(|l| l.cells.swap(0, 1)),
        lines(|l| l.cells[0].site = SiteId(999)),
        lines(|l| l.cells[0].moved.first_loads = u64::MAX),
        lines(|l| l.size = 1 << 21),
        refused(|p| {
            *p = sample::with_lines();
            let (traffic, details) = (p.lines.clone().unwrap(), p.line_details.clone());
            p.other_lines = vec![OtherLines { traffic, details }];
        }),
        refused(|p| {
            *p = sample::with_lines();
            let traffic = LineTraffic { size: 128, ..p.lines.clone().unwrap() };
            let mut details = p.line_details.clone();
            details.streams.iter_mut().for_each(|streams| streams.swap(0, 1));
            p.other_lines = vec![OtherLines { traffic, details }];
        }),
        streams(|s| s.swap(0, 1)),
        streams(|s| s[0].site = SiteId(999)),
        streams(|s| s[0].streams.first_at_step = 1 << 40),
        streams(|s| s[1].streams.at_step = Histogram::of(vec![(0, 1 << 40)])),
        optimum(|o| o.capacities.reverse()),
        optimum(|o| o.capacities[0] = 0),
        optimum(|o| o.cells.swap(0, 1)),
        optimum(|o| o.cells[0].site = SiteId(999)),
        optimum(|o| o.cells[0].least.truncate(1)),
        optimum(|o| o.cells[0].least[0].fetched = u64::MAX),
        optimum(|o| o.cells[0].least[1].first = 1 << 40),
        refused(|p| {
            *p = sample::with_optimum();
            p.meta.unit = Unit::Line(64);
        }),
        caches(|c| c.levels.clear()),
        caches(|c| c.levels[1].line = 32),
        caches(|c| c.levels[0].ways = 0),
        caches(|c| c.cells.swap(0, 1)),
        caches(|c| c.cells[0].site = SiteId(999)),
        caches(|c| c.cells[0].moved.truncate(1)),
        caches(|c| c.cells[0].moved[1].loads = u64::MAX),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn stacks_of_threads_alone_have_the_reads_of_the_common_one() {
    let good = sample::levels();
    assert_eq!(validate(&good), Ok(()));
    let bytes = crate::profile::file::to_bytes(&good);
    assert_eq!(crate::profile::file::from_bytes(std::path::Path::new("p.data"), &bytes).expect("it is right"), good);
    let changed = |change: fn(&mut Profile, &mut crate::profile::model::Alone)| {
        let mut profile = good.clone();
        let mut stacks = profile.stacks.take().expect("stacks");
        stacks.alone.iter_mut().for_each(|alone| change(&mut profile, alone));
        profile.stacks = Some(stacks);
        validate(&profile).expect_err("refused").0
    };
    assert!(changed(|_, alone| _ = alone.cells.pop()).contains("is none of threads alone"));
    assert!(changed(|_, alone| alone.cells[1].histogram.depths[0].1 += 1).contains("on the common stack"));
    assert!(changed(|_, alone| alone.totals.cost += 1).contains("the cost of threads alone"));
    assert!(changed(|_, alone| alone.lines.push(Default::default())).contains("sizes of lines"));
    assert!(changed(|profile, _| profile.sharing = None).contains("how they met"));
}
