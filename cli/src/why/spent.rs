//! What cycles say of a pair of lines: which wait for it, which its chains take, and what bounds its reader.
//!
//! Takes the places, pairs and cycles of a profile; gives cycles of a part of a source line's lines. Cycles of one line
//! are shared by the lines of memory that come there, those of lines without accesses by the lines of the loop around
//! them (`beside`). Without a core that followed there are none.

use std::collections::{BTreeMap, HashMap};

use dmdprof_runtime::{counts::pairs::PairCounts, cycles::Cause};

use super::{
    beside,
    places::{Places, place},
};
use crate::{
    profile::model::{
        AccessKind::{Call, Copy, Fill},
        CycleCounts, SiteId,
    },
    report::{Analysis, Grouping, Inlined, cycles::gains_nothing},
};

/// One in so many of the cycles of a line, and of those beside it, is much of them.
const CHAINED: u64 = 4;
/// One in so many of the cycles of a line is worth blocks.
const SAVED: u64 = 5;
/// Without cycles, one in so many of its lines from beyond 1 MiB.
const FAR: u64 = 2;
/// Cycles that a core waits for a line of memory, at most.
const LONGEST: u64 = 1000;

/// Cycles of a profile, and the lines of memory that share them.
pub struct Spent<'a> {
    places: &'a Places<'a>,
    /// By source line.
    here: HashMap<String, CycleCounts>,
    lines: BTreeMap<usize, PairCounts>,
    /// By the place where a loop begins.
    beside: HashMap<String, CycleCounts>,
    loops: HashMap<String, PairCounts>,
}

impl<'a> Spent<'a> {
    pub fn from_places(places: &'a Places<'a>) -> Self {
        let rows = match places.profile.cycles {
            Some(_) => Analysis::new(places.profile, Grouping::Lines(Inlined::Own)).rows,
            None => Vec::new(),
        };
        let mut here: HashMap<String, CycleCounts> = HashMap::new();
        rows.iter().for_each(|row| here.entry(place(row)).or_default().add(&row.own.cycles));
        let beside = beside::cycles_by_loop(places, &rows);
        let (mut lines, mut loops): (BTreeMap<usize, PairCounts>, HashMap<String, PairCounts>) = Default::default();
        for pair in &places.profile.pairs {
            lines.entry(places.line(pair.site)).or_default().merge(&pair.counts);
            if let Some(begins) = beside::begins(places, pair.site).filter(|begins| beside.contains_key(begins)) {
                loops.entry(begins).or_default().merge(&pair.counts);
            }
        }
        Self { places, here, lines, beside, loops }
    }

    fn here(&self, line: usize) -> Option<&CycleCounts> {
        self.here.get(&self.places.lines[line])
    }

    /// Cycles of a source line, and of those beside it.
    fn both(&self, line: usize, site: SiteId) -> CycleCounts {
        let beside = beside::begins(self.places, site).and_then(|begins| self.beside.get(&begins));
        let mut both = self.here(line).cloned().unwrap_or_default();
        beside.into_iter().for_each(|beside| both.add(beside));
        both
    }

    /// Whether the site is a call whose cycles are at lines of a library, as the compiler has put no code in its place.
    pub fn is_library(&self, line: usize, site: SiteId, some: &PairCounts) -> bool {
        let is_call = matches!(self.places.profile.sites[site.index()].kind, Copy | Fill | Call);
        is_call && self.here(line).is_some_and(|cycles| cycles.total() < some.lines)
    }

    /// What bounds the reader, if moving less gains nothing.
    pub fn bound(&self, line: usize, site: SiteId) -> Option<Cause> {
        gains_nothing(&self.both(line, site))
    }

    /// Cycles that wait for some of the lines of memory of a source line.
    pub fn waits(&self, line: usize, some: &PairCounts) -> u64 {
        let here = self.here(line).filter(|cycles| gains_nothing(cycles).is_none());
        here.map_or(0, |cycles| waits(cycles, some, &self.lines[&line]))
    }

    /// Cycles that blocks would save for some of the lines of a source line, which goes across them, if `once` have to
    /// come from afar in any order; nothing where that is little. Without cycles, how far lines come from decides.
    pub fn blocks(&self, line: usize, site: SiteId, some: &PairCounts, once: u64) -> Option<u64> {
        let have_to = once.min(some.far);
        let others = PairCounts { lines: some.lines - have_to, far: some.far - have_to };
        let Some(cycles) = self.here(line) else { return (others.far * FAR >= some.lines).then_some(0) };
        let saved = blocks(cycles, &others, &self.lines[&line]);
        (saved * SAVED >= self.both(line, site).total()).then_some(saved)
    }

    /// Cycles of operations that wait for one another, for some of the lines of memory; none where they are not much of
    /// all.
    pub fn chain(&self, line: usize, site: SiteId, some: &PairCounts) -> u64 {
        let both = self.both(line, site);
        if chained(&both) * CHAINED < both.total() {
            return 0;
        }
        let begins = beside::begins(self.places, site).unwrap_or_default();
        let own = self.here(line).map_or(0, |cycles| part(chained(cycles), some.lines, self.lines[&line].lines));
        let beside = self.beside.get(&begins).map_or(0, chained);
        own + self.loops.get(&begins).map_or(0, |all| part(beside, some.lines, all.lines))
    }
}

/// Of the cycles that a line of the source waits for lines of memory, those for some of these: the second level's for
/// what comes from it, others for what comes from farther, and what goes with both as those do. What a core waits for
/// beyond what the lines of a kind can take, or without any, it waits for all of them. First touches of pages are in no
/// pair.
fn waits(cycles: &CycleCounts, some: &PairCounts, all: &PairCounts) -> u64 {
    let of = |causes: &[Cause]| causes.iter().map(|cause| cycles.cycles[*cause as usize]).sum::<u64>();
    let [second, farther] = [of(&[Cause::L2]), of(&[Cause::L3, Cause::Memory])];
    let shared = |waited: u64, some_of: u64, all_of: u64| {
        let by_kind = waited.min(all_of.saturating_mul(LONGEST));
        part(by_kind, some_of, all_of) + part(waited - by_kind, some.lines, all.lines)
    };
    let own = shared(second, some.lines - some.far, all.lines - all.far) + shared(farther, some.far, all.far);
    let others = of(&[Cause::Bandwidth, Cause::Pages]);
    own + if second + farther == 0 { part(others, some.lines, all.lines) } else { part(others, own, second + farther) }
}

/// Of the cycles that a line of the source waits, those for some of its lines of memory, each of which is in another
/// page than the one before.
fn blocks(cycles: &CycleCounts, some: &PairCounts, all: &PairCounts) -> u64 {
    let mut others = cycles.clone();
    let pages = std::mem::take(&mut others.cycles[Cause::Pages as usize]);
    waits(&others, some, all) + part(pages, some.lines, all.lines)
}

/// Cycles in which operations wait for one another.
fn chained(cycles: &CycleCounts) -> u64 {
    cycles.cycles[Cause::Dependence as usize] + cycles.cycles[Cause::Forwarding as usize]
}

fn part(whole: u64, some: u64, all: u64) -> u64 {
    (u128::from(whole) * u128::from(some) / u128::from(all.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_that_no_line_of_their_kind_can_take_are_for_all_lines() {
        let lines = |lines, far| PairCounts { lines, far };
        let mut cycles = CycleCounts::default();
        (cycles.cycles[Cause::L3 as usize], cycles.cycles[Cause::Bandwidth as usize]) = (1000, 9000);
        assert_eq!(waits(&cycles, &lines(300, 0), &lines(400, 0)), 7500, "none is from beyond 1 MiB");
        assert_eq!(waits(&cycles, &lines(100, 100), &lines(400, 100)), 10_000, "those that are take all");
        cycles.cycles[Cause::L3 as usize] = 0;
        assert_eq!(waits(&cycles, &lines(300, 0), &lines(400, 100)), 6750, "bandwidth alone");
    }
}
