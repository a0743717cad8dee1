//! Hazards of parts of a run are those of the run, and each kind is what it says.

use proptest::prelude::*;

use super::{Hazards, NAMES, WINDOW};
use crate::{
    counts::cell::CellCounters,
    decode::block::CellNumber,
    engine::{Access, AccessTag, Kind},
    observe::observer::Observer,
    oplog::Op,
    tests::held::tells_what_it_holds,
};

const CELLS: usize = 3;

fn follow(hazards: &mut Hazards, accesses: &[(Access, usize)]) {
    for (access, cell) in accesses {
        hazards.op(Op::accesses(&[*access], &[AccessTag::for_cell(CellNumber::new(*cell))]));
    }
}

fn new() -> Hazards {
    let mut hazards = Hazards::default();
    hazards.set_known(CELLS);
    hazards
}

fn finish(hazards: Hazards, into: &mut [CellCounters]) {
    let _ = hazards.finish(into, (0, 1));
}

fn counts(cells: &[CellCounters]) -> Vec<Vec<u64>> {
    let none = vec![0; NAMES.len()];
    cells.iter().map(|cell| cell.hazards.as_ref().map_or_else(|| none.clone(), |counts| counts.to_vec())).collect()
}

fn cells() -> Vec<CellCounters> {
    vec![CellCounters::default(); CELLS]
}

/// What accesses are, by cell and kind.
fn whole(accesses: &[(Access, usize)]) -> Vec<Vec<u64>> {
    let (mut hazards, mut cells) = (new(), cells());
    follow(&mut hazards, accesses);
    finish(hazards, &mut cells);
    counts(&cells)
}

/// Of one access: names of what it is.
fn named(addr: u64, len: u32) -> Vec<&'static str> {
    let found = whole(&[(Access { addr, len, kind: Kind::Load }, 1)]);
    NAMES.iter().zip(&found[1]).filter(|(_, count)| **count > 0).map(|(name, _)| *name).collect()
}

#[test]
fn accesses_of_two_lines_or_pages_are_split() {
    assert_eq!(named(0x1038, 8), [""; 0]);
    assert_eq!(named(0x1039, 8), ["split_lines"]);
    assert_eq!(named(0x1ffd, 4), ["split_lines", "split_pages"]);
    assert_eq!(named(0x1040, 64), [""; 0]);
    assert_eq!(named(0x1041, 64), ["split_lines"]);
    assert_eq!(named(0x1041, 65), [""; 0], "no instruction touches as much");
    assert_eq!(named(u64::MAX, 8), [""; 0], "memory ends");
}

prop_compose! {
    /// Near enough to be hazards of each other; now and then a call that touches much, or bytes that die.
    fn any_access()(
        page in 0..3u64, at in 0..300u64, len in prop_oneof![Just(1), Just(4), Just(8), Just(64), Just(200)],
        kind in prop_oneof![4 => Just(Kind::Load), 4 => Just(Kind::Store), 1 => Just(Kind::Remove),
            1 => Just(Kind::Last), 1 => Just(Kind::Fresh)],
        cell in 0..CELLS,
    ) -> (Access, usize) {
        (Access { addr: (page << 12) + 0xf80 + at, len, kind }, cell)
    }
}

/// Those of a part, whose cells have other numbers than the run's.
fn turned(cell: usize) -> usize {
    CELLS - 1 - cell
}

fn back(cell: CellNumber) -> CellNumber {
    CellNumber::new(turned(cell.index()))
}

proptest! {
    /// The first accesses are counted by who goes on behind the parts; neighbours among these may be joined before.
    #[test]
    fn parts_have_what_the_run_has(
        accesses in prop::collection::vec(any_access(), 0..4 * WINDOW),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        joins in any::<bool>(),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(accesses.len() + 1)).collect();
        cuts.sort_unstable();
        let own = cuts.remove(0);
        let mut before = if own == 0 { Hazards::default() } else { new() };
        follow(&mut before, &accesses[..own]);
        let (mut part, mut parts, mut done) = (new(), Vec::new(), own);
        part.start_parts();
        for cut in cuts.into_iter().chain([accesses.len()]) {
            let of_part: Vec<_> = accesses[done..cut].iter().map(|(access, cell)| (*access, turned(*cell))).collect();
            follow(&mut part, &of_part);
            parts.push(part.cut());
            done = cut;
        }
        let (mut found, mut of_parts) = (cells(), cells());
        if joins && parts.len() > 1 {
            let mut both = Hazards::continuing(&parts[0]);
            both.resolve(&parts[1], |cell| cell);
            parts.splice(..2, [both.cut()]);
            finish(both, &mut of_parts);
        }
        for part in &parts {
            prop_assert!(<Hazards as Observer>::is_sound(part, CELLS));
            before.resolve(part, back);
        }
        finish(before, &mut found);
        finish(part, &mut of_parts);
        of_parts.iter_mut().enumerate().for_each(|(cell, part)| found[turned(cell)].merge(part));
        prop_assert_eq!(counts(&found), whole(&accesses));
    }
}

#[test]
fn hazards_tell_what_they_hold() {
    let hazards = |cells: usize, with_hazard: usize| {
        let make = move || {
            let mut hazards = Hazards::default();
            hazards.set_known(cells);
            let access = |addr, len, kind| Access { addr, len, kind };
            for cell in 0..with_hazard {
                follow(&mut hazards, &[(access(64, 8, Kind::Store), cell), (access(62, 8, Kind::Load), cell)]);
            }
            hazards
        };
        tells_what_it_holds(make, Hazards::heap_bytes);
    };
    hazards(10_000, 10);
    hazards(1000, 1000);
}
