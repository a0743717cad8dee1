//! Runs that are cut into parts at random places against the stack of lines that does the whole run.

use proptest::prelude::*;

use super::{
    tests::{CELLS, Step, all_of, follow, step},
    *,
};
use crate::{
    counts::{Merge, lines::LineCounts, pairs::CellPairs},
    decode::block::CellNumber,
    engine::{Access, AccessTag, Kind},
    observe::{observer::Observer, writer::WriterNumber},
    tests::random::cases,
};

/// What each cell counted, and each pair.
type ByCell = (Vec<Option<Box<LineCounts>>>, CellPairs);

fn new(bytes: u32) -> Lines {
    let mut lines = Lines::new(bytes);
    lines.set_known(CELLS);
    lines
}

fn whole(steps: &[Step], bytes: u32) -> ByCell {
    let mut lines = new(bytes);
    steps.iter().enumerate().for_each(|(number, step)| follow(&mut lines, number, step, AccessTag::new));
    lines.counts()
}

/// A part's cells have other numbers than the whole run's.
fn turned(cell: usize) -> usize {
    CELLS - 1 - cell
}

fn back(cell: CellNumber) -> CellNumber {
    CellNumber::new(turned(cell.index()))
}

/// The first steps are done by the stack of the whole, the others by parts. Neighbours become one by `joins`.
fn in_parts(steps: &[Step], own: usize, cuts: &[usize], joins: &[usize], bytes: u32) -> [ByCell; 2] {
    // Who goes on behind parts learns of their cells from these.
    let (mut before, mut part) = (if own == 0 { Lines::new(bytes) } else { new(bytes) }, new(bytes));
    part.start_parts();
    let mut boundaries = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if number < own {
            follow(&mut before, number, step, AccessTag::new);
            continue;
        }
        follow(&mut part, number, step, |cell| AccessTag::new(turned(cell)));
        if cuts.contains(&number) || number + 1 == steps.len() {
            boundaries.push(part.cut());
        }
    }
    let mut joined: Vec<ByCell> = Vec::new();
    for join in joins {
        if boundaries.len() > 1 {
            let at = join % (boundaries.len() - 1);
            let behind = boundaries.remove(at + 1);
            let mut both = Lines::new(bytes);
            both.start_parts();
            both.resolve(&boundaries[at], |cell| cell);
            both.resolve(&behind, |cell| cell);
            boundaries[at] = both.cut();
            joined.push(both.counts());
        }
    }
    for boundary in &boundaries {
        assert!(boundary.is_sound(CELLS));
        before.resolve(boundary, back);
    }
    let mut parts = part.counts();
    for counts in joined {
        add(&mut parts, &counts, |cell| cell);
    }
    [before.counts(), parts]
}

fn add(all: &mut ByCell, more: &ByCell, number: impl Fn(usize) -> usize) {
    for (cell, counts) in more.0.iter().enumerate() {
        if let Some(counts) = counts {
            all.0.resize_with(all.0.len().max(CELLS), || None);
            all.0[number(cell)].get_or_insert_default().merge(counts);
        }
    }
    all.1.add(more.1.clone(), |cell| CellNumber::new(number(cell.index())));
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn parts_count_what_the_whole_run_does(
        steps in proptest::collection::vec(step(), 1..120),
        shift in 4u32..8,
        own in prop_oneof![Just(0usize), 0usize..60],
        cuts in proptest::collection::vec(0usize..120, 0..12),
        joins in proptest::collection::vec(0usize..12, 0..12),
    ) {
        let expected = whole(&steps, 1 << shift);
        let [mut found, parts] = in_parts(&steps, own, &cuts, &joins, 1 << shift);
        add(&mut found, &parts, turned);
        for cell in 0..CELLS {
            let of = |counts: &ByCell| all_of(counts.0.get(cell).and_then(|counts| counts.as_deref()));
            prop_assert_eq!(of(&found), of(&expected), "cell {}", cell);
        }
        prop_assert_eq!(found.1, expected.1);
    }
}

#[test]
fn what_cannot_be_of_a_run_is_not_sound() {
    let mut part = new(64);
    part.start_parts();
    for line in [1u64, 2, 3, 1] {
        let access = Access { addr: line << 6, len: 8, kind: Kind::Store };
        follow(&mut part, 2, &Step::One(access), AccessTag::new);
    }
    let good = part.cut();
    assert!(good.is_sound(3) && good.asks.len() == 3 && good.open.len() == 3 && good.left.len() == 3);
    type Damage = fn(&mut LineBoundary);
    let damages: [Damage; 11] = [
        |bad| bad.asks[0].above = u32::MAX,
        |bad| bad.asks[1].line = 1,
        |bad| bad.asks[2].cell = CellNumber::new(3),
        |bad| bad.open[0].asks = 4,
        |bad| bad.open.reverse(),
        |bad| bad.left[0].visit.deepest = u16::MAX,
        |bad| bad.left[1].line = bad.left[0].line,
        |bad| bad.left[0].brought = Some(WriterNumber::from_cell(CellNumber::new(3))),
        |bad| bad.asks[0].next = Some((CellNumber::new(3), 20)),
        |bad| bad.between = 1,
        |bad| bad.last = vec![0; 65],
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let mut bad = good.clone();
        damage(&mut bad);
        assert!(!bad.is_sound(3), "damage {number}: {bad:?}");
    }
}
