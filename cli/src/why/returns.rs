//! Reuse pairs of a profile without flows: of lines that came from beyond fast memory, by who had brought them in.
//!
//! Takes pairs of sites; gives pairs of source lines with what the counts of both ends say of loops and cures.

use std::collections::BTreeMap;

use dmdprof_runtime::{counts::pairs::PairCounts, cycles::Cause};

use super::{
    bounds,
    cure::DEEP,
    deeds::Deeds,
    order,
    pairs::{self, Counted, Key, Pair, most},
    places::Places,
};
use crate::{
    profile::model::{
        AccessKind::{Call, Copy, Fill},
        CycleCounts, LinePair, LoopId, SiteId,
    },
    report::cycles::gains_nothing,
};

/// For so many lines that come over and over, one that comes once shows that a loop does not only repeat itself.
const NEWS: u64 = 4;
/// One in so many lines is much.
const MUCH: u128 = 5;
/// One in so many of a line's cycles is much of them.
const CHAINED: u64 = 4;
/// Cycles that a core waits for a line, at most.
const LONGEST: u64 = 1000;

/// Lines by who had brought them in and who brings them in.
type Ends = BTreeMap<(Option<SiteId>, SiteId), u64>;

/// Those that most cycles wait for first; without cycles, those of most lines.
pub fn of(places: &Places, chosen: &[&LinePair]) -> Vec<Pair> {
    let deeds = Deeds::of(places.profile, &places.loops);
    let mut found: BTreeMap<Key, (PairCounts, Ends)> = BTreeMap::new();
    for pair in chosen {
        let touch = pairs::touch(places, pair.before, pair.before.is_some_and(|site| places.writes(site)));
        let key = Key { touch, line: places.line(pair.site), function: places.function(pair.site), object: None };
        let (counts, ends) = found.entry(key).or_default();
        counts.merge(&pair.counts);
        *ends.entry((pair.before, pair.site)).or_default() += pair.counts.lines;
    }
    let cycles = bounds::by_line(places.profile);
    let mut all: BTreeMap<usize, PairCounts> = BTreeMap::new();
    for pair in &places.profile.pairs {
        all.entry(places.line(pair.site)).or_default().merge(&pair.counts);
    }
    let line = u64::from(places.profile.line_size().unwrap_or(1));
    let pair = |(key, (counts, ends)): (Key, (PairCounts, Ends))| {
        let ends: BTreeMap<_, u128> = ends.into_iter().map(|(ends, lines)| (ends, lines.into())).collect();
        let readers = ends.keys().map(|(_, site)| *site).collect();
        let ((before, site), _) = ends_of(&deeds, &ends).expect("a pair has ends");
        let here = cycles.get(&places.lines[key.line]);
        let waited = here.filter(|counts| gains_nothing(counts).is_none());
        let waits = waited.map_or(0, |cycles| waits(cycles, &counts, &all[&key.line]));
        // Cycles of what a call accesses are at lines of the library, unless the compiler has put code in its place.
        let is_call = matches!(places.profile.sites[site.index()].kind, Copy | Fill | Call);
        let is_library = is_call && here.is_some_and(|cycles| cycles.total() < counts.lines);
        let bound = here.filter(|_| !is_library).and_then(gains_nothing);
        let counted = Counted { lines: counts.lines, far: counts.far, waits, bound, is_library, ..Counted::default() };
        let mut counted = evidence(places, &deeds, counted, (before, site));
        let is_chain = counted.walk.is_across() && deeds.is_sum(deeds.access(site));
        if let Some(cycles) = here.filter(|_| is_chain && !counted.is_opposed) {
            counted.chain = chain(cycles, &counts, &all[&key.line]);
        }
        let reader_loops = places.loops.around(site);
        let across = counted.walk.is_across().then(|| reader_loops.get(1).copied()).flatten();
        Pair {
            bytes: counted.lines * line,
            around: across.or_else(|| before.and_then(|before| places.loops.both(before, site))),
            toucher_loops: before.map(|before| places.loops.around(before)).unwrap_or_default(),
            reader_loops,
            readers,
            counted: Some(counted),
            ..Pair::new(key)
        }
    };
    let mut pairs: Vec<Pair> = found.into_iter().map(pair).collect();
    let weight = |pair: &Pair| (pair.counted.map_or(0, |counted| counted.gain()), pair.bytes);
    pairs.sort_by(|a, b| weight(b).cmp(&weight(a)).then(a.key.cmp(&b.key)));
    pairs
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

/// Of the cycles of a line of the source in which operations wait for one another, those for some of its lines of
/// memory; nothing where they are not much of its cycles.
fn chain(cycles: &CycleCounts, some: &PairCounts, all: &PairCounts) -> u64 {
    let chained = cycles.cycles[Cause::Dependence as usize] + cycles.cycles[Cause::Forwarding as usize];
    if chained * CHAINED < cycles.total() { 0 } else { part(chained, some.lines, all.lines) }
}

fn part(whole: u64, some: u64, all: u64) -> u64 {
    (u128::from(whole) * u128::from(some) / u128::from(all.max(1))) as u64
}

/// The ends of most lines; of a pair's ends with many lines rather such as go from line to line, as that decides what
/// else may be done.
fn ends_of(deeds: &Deeds, ends: &BTreeMap<(Option<SiteId>, SiteId), u128>) -> Option<((Option<SiteId>, SiteId), u128)> {
    let all: u128 = ends.values().sum();
    let across = |((_, site), lines): &(&(Option<SiteId>, SiteId), &u128)| {
        **lines * MUCH >= all && deeds.walk(deeds.access(*site)).is_across()
    };
    let across = ends.iter().filter(across).map(|(ends, lines)| (*ends, *lines)).collect();
    most(&across).or_else(|| most(ends))
}

/// What speaks for cures, by the ends of most lines.
fn evidence(places: &Places, deeds: &Deeds, counted: Counted, (before, site): (Option<SiteId>, SiteId)) -> Counted {
    let access = deeds.access(site);
    Counted {
        used: deeds.utilisation(access),
        walk: deeds.walk(access),
        is_opposed: deeds.is_opposed(access),
        becomes_a_sum: deeds.becomes_a_sum(access),
        passes: before.filter(|_| deeds.is_far(access)).and_then(|before| passes(places, deeds, before, site)),
        is_awaited: deeds.is_awaited(access),
        two_loops: before
            .filter(|before| deeds.is_most(access, deeds.access(*before), counted.lines))
            .and_then(|before| two_loops(places, deeds, before, site)),
        ..counted
    }
}

/// Lines that the loop inside the one that comes back to them brings in, for each that it brings in first: times that
/// it goes over them. Nothing where the ends are in different loops inside that one, or where that one does nothing but
/// the same again, as steps in time do.
fn passes(places: &Places, deeds: &Deeds, before: SiteId, site: SiteId) -> Option<f64> {
    let loops = &places.loops;
    let same = loops.same(site)?;
    let around = loops.around(site);
    let inside = around.iter().copied().take_while(|at| *at != same).last()?;
    if !around.contains(&same) || !loops.is_in(before, inside) {
        return None;
    }
    let (mut again, mut others) = (0, deeds.first(site));
    for pair in deeds.pairs(site) {
        let is_inside = pair.before.is_some_and(|before| loops.is_in(before, inside));
        *(if is_inside { &mut again } else { &mut others }) += pair.counts.lines;
    }
    deeds.has_news(inside, others.div_ceil(NEWS)).then(|| 1.0 + again as f64 / others.max(1) as f64)
}

/// The outermost loops around one end that are not around the other, if the second may follow the first line by line:
/// it brings in what the first had brought in in the same order, and reads nothing else that was near.
fn two_loops(places: &Places, deeds: &Deeds, before: SiteId, site: SiteId) -> Option<[LoopId; 2]> {
    let loops = &places.loops;
    let (first, second) = (loops.around(before), loops.around(site));
    let common = second.iter().find(|at| first.contains(at)).copied();
    let inside = |all: &[LoopId]| all.iter().copied().take_while(|at| Some(*at) != common).last();
    let both = [inside(&first)?, inside(&second)?];
    let access = deeds.access(site);
    let is_in_order = order::in_order(places, both, [places.line(before), places.line(site)]);
    let is_next = places.function(before) == places.function(site);
    let far = second.first().is_some_and(|at| deeds.reads_only_far(*at, DEEP));
    (is_next && is_in_order && far && deeds.alike(access) >= order::ALIKE).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_that_no_line_of_their_kind_can_take_are_for_all_lines() {
        let lines = |lines, far| PairCounts { lines, far, ..PairCounts::default() };
        let mut cycles = CycleCounts::default();
        (cycles.cycles[Cause::L3 as usize], cycles.cycles[Cause::Bandwidth as usize]) = (1000, 9000);
        assert_eq!(waits(&cycles, &lines(300, 0), &lines(400, 0)), 7500, "none is from beyond 1 MiB");
        assert_eq!(waits(&cycles, &lines(100, 100), &lines(400, 100)), 10_000, "those that are take all");
        cycles.cycles[Cause::L3 as usize] = 0;
        assert_eq!(waits(&cycles, &lines(300, 0), &lines(400, 100)), 6750, "bandwidth alone");
    }
}
