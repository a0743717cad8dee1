//! What contradicts itself is refused, and what does not is taken.

use super::*;
use crate::profile::model::{AloneTotals, ContextId, Histogram, LineCounts, LinePair, Sequence};
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
    profile.line_sizes.push(128);
    for cell in &mut profile.cells {
        let of_64 = cell.lines.take().expect("it has lines")[0].clone();
        cell.lines = Some([of_64, LineCounts { first_stores: 7, ..LineCounts::default() }].into());
    }
    validate(&profile).unwrap();
    let before = profile.clone();
    assert_eq!(profile.choose_lines(64), Ok(()));
    assert_eq!(profile, before, "they are the first already");
    assert!(profile.choose_lines(32).unwrap_err().contains("but of 64,128"));
    assert_eq!(profile.choose_lines(128), Ok(()));
    assert_eq!((profile.line_size(), profile.caches.len()), (Some(128), 0), "the caches had lines of 64 bytes");
    assert_eq!(profile.cells[0].lines.as_ref().expect("it has lines")[0].first_stores, 7);
    validate(&profile).unwrap();
    assert_eq!(profile.choose_lines(64), Ok(()));
    assert!(profile.cells.iter().zip(&before.cells).all(|(cell, before)| cell.lines == before.lines));
    assert!(sample::small().choose_lines(64).unwrap_err().contains("dmdprof run --line-size 64"));
}

#[test]
fn contradictions_are_named() {
    let dead = |change: fn(&mut crate::profile::model::Dead)| {
        refused(|p| {
            *p = sample::exact();
            p.cells[1].dead.iter_mut().for_each(|dead| change(dead));
        })
    };
    let of = |mut profile: Profile, change: fn(&mut Profile)| {
        refused(|p| {
            change(&mut profile);
            *p = profile;
        })
    };
    let lines = |change: fn(&mut Profile)| of(sample::with_lines(), change);
    let moved = |change: fn(&mut LineCounts)| {
        refused(|p| {
            *p = sample::with_lines();
            p.cells[1].lines.iter_mut().for_each(|lines| change(&mut lines[0]));
        })
    };
    let pairs = |change: fn(&mut Vec<LinePair>)| {
        refused(|p| {
            *p = sample::with_pairs();
            change(&mut p.pairs);
        })
    };
    let optimum = |change: fn(&mut Profile)| of(sample::with_optimum(), change);
    let caches = |change: fn(&mut Profile)| of(sample::with_caches(), change);
    let hazards = |change: fn(&mut Profile)| of(sample::with_hazards(), change);
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
        refused(|p| p.cells[1].depths.depths[0].1 += 1),
        refused(|p| p.cells[1].depths.depths[0].0 = u16::MAX),
        refused(|p| p.totals.cost += 1),
        refused(|p| p.cold_histogram.depths.clear()),
        refused(|p| p.cells = sample::exact().cells),
        dead(|dead| dead.cost = u128::MAX),
        dead(|dead| dead.left.unread = u64::MAX),
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
        lines(|p| p.line_sizes[0] = 48),
        lines(|p| p.line_sizes[0] = 1 << 21),
        lines(|p| p.line_sizes.push(64)),
        lines(|p| p.line_sizes.push(128)),
        lines(|p| p.line_sizes.clear()),
        lines(|p| p.meta.unit = Unit::Lines),
        pairs(|p| p.swap(0, 1)),
        pairs(|p| p[0].site = SiteId(999)),
        pairs(|p| p[1].before = Some(SiteId(999))),
        pairs(|p| p[0].counts.far = p[0].counts.lines + 1),
        pairs(|p| p[1].counts.lines = 0),
        refused(|p| p.pairs = sample::with_pairs().pairs),
        moved(|lines| lines.first_loads = u64::MAX),
        moved(|lines| lines.first_at_step = 1 << 40),
        moved(|lines| lines.at_step = Histogram::from_depths(vec![(0, 1 << 40)])),
        optimum(|p| p.optimum.reverse()),
        optimum(|p| p.optimum[0] = 0),
        optimum(|p| p.optimum.truncate(1)),
        optimum(|p| {
            p.cells[1].least.iter_mut().for_each(|least| least[0].fetched = u64::MAX);
        }),
        optimum(|p| {
            let last = p.cells.last_mut().expect("a cell");
            last.least.iter_mut().for_each(|least| (least[0].first, least[1].first) = (0, 1));
        }),
        optimum(|p| p.meta.unit = Unit::Lines),
        caches(|p| p.caches.clear()),
        caches(|p| p.caches[1].line = 32),
        caches(|p| p.caches[0].ways = 0),
        caches(|p| p.caches.truncate(1)),
        caches(|p| {
            p.cells[0].caches.iter_mut().for_each(|levels| levels[1].loads = u64::MAX);
        }),
        hazards(|p| p.hazards.clear()),
        hazards(|p| {
            p.cells.iter_mut().flat_map(|cell| &mut cell.hazards).for_each(|kinds| kinds[1] = u64::MAX);
        }),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn stacks_of_threads_alone_have_the_reads_of_the_common_one() {
    let good = sample::levels();
    assert_eq!(validate(&good), Ok(()));
    let bytes = crate::profile::file::to_bytes(&good);
    assert_eq!(crate::profile::file::from_bytes(std::path::Path::new("p.data"), &bytes).expect("it is right"), good);
    let changed = |change: fn(&mut Profile, &mut AloneTotals)| {
        let mut profile = good.clone();
        let mut stacks = profile.stacks.take().expect("stacks");
        stacks.alone.iter_mut().for_each(|alone| change(&mut profile, alone));
        profile.stacks = Some(stacks);
        validate(&profile).expect_err("refused").0
    };
    assert!(changed(|profile, _| profile.cells[1].alone = None).contains("on the common stack"));
    let more = changed(|profile, _| {
        profile.cells[1].alone.iter_mut().for_each(|alone| alone.depths.depths[0].1 += 1);
    });
    assert!(more.contains("on the common stack"));
    assert!(changed(|_, alone| alone.totals.cost += 1).contains("the cost of threads alone"));
    let lines = changed(|profile, _| {
        profile.cells[1].alone.iter_mut().for_each(|alone| alone.lines = Some([LineCounts::default()].into()));
    });
    assert!(lines.contains("lines of 1 sizes"));
    assert!(changed(|profile, _| profile.sharing = None).contains("how they met"));
}
