//! Runs that are cut into parts at random places against the stack of lines that does the whole run.

use proptest::prelude::*;

use super::{
    tests::{CELLS, Step, all_of, step},
    *,
};
use crate::{counts::lines::LineCounts, decode::block::CellNumber, engine::Label, observe::follower::Follower};

/// What each cell counted.
type ByCell = Vec<Option<Box<LineCounts>>>;

/// Does a step; `label` gives the label of a cell.
fn follow(lines: &mut Lines, number: usize, step: &Step, label: impl Fn(usize) -> Label) {
    match step {
        Step::One(access) => lines.accesses(&[*access], &[label(number % CELLS)]),
        Step::Run(streams, iterations) => {
            let labels: Vec<Label> = (0..streams.len()).map(|cell| label(cell % CELLS)).collect();
            lines.run(streams, &labels, *iterations);
        }
    }
}

fn new(bytes: u32) -> Lines {
    let mut lines = Lines::new(bytes);
    lines.set_known(CELLS);
    lines
}

fn whole(steps: &[Step], bytes: u32) -> ByCell {
    let mut lines = new(bytes);
    steps.iter().enumerate().for_each(|(number, step)| follow(&mut lines, number, step, Label::new));
    lines.finish()
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
    part.start_slices();
    let mut frontiers = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if number < own {
            follow(&mut before, number, step, Label::new);
            continue;
        }
        follow(&mut part, number, step, |cell| Label::new(turned(cell)));
        if cuts.contains(&number) || number + 1 == steps.len() {
            frontiers.push(part.end_slice());
        }
    }
    let mut joined: Vec<ByCell> = Vec::new();
    for join in joins {
        if frontiers.len() > 1 {
            let at = join % (frontiers.len() - 1);
            let behind = frontiers.remove(at + 1);
            let mut both = Lines::new(bytes);
            both.start_slices();
            both.settle(&frontiers[at], |cell| cell);
            both.settle(&behind, |cell| cell);
            frontiers[at] = both.end_slice();
            joined.push(both.finish());
        }
    }
    frontiers.iter().for_each(|frontier| before.settle(frontier, back));
    let mut parts = part.finish();
    for counts in joined {
        add(&mut parts, &counts, |cell| cell);
    }
    [before.finish(), parts]
}

fn add(all: &mut ByCell, more: &ByCell, number: impl Fn(usize) -> usize) {
    for (cell, counts) in more.iter().enumerate() {
        if let Some(counts) = counts {
            all.resize_with(all.len().max(CELLS), || None);
            all[number(cell)].get_or_insert_default().merge(counts);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

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
            let of = |counts: &ByCell| all_of(counts.get(cell).and_then(|counts| counts.as_deref()));
            prop_assert_eq!(of(&found), of(&expected), "cell {}", cell);
        }
    }
}
