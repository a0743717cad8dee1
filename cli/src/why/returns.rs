//! Reuse pairs of a profile without flows: of lines that came from beyond fast memory, by who had brought them in.
//!
//! Takes pairs of sites; gives pairs of source lines with what the counts of both ends say of loops and cures.

use std::collections::BTreeMap;

use dmdprof_runtime::counts::pairs::PairCounts;

use super::{
    cure::DEEP,
    deeds::Deeds,
    order,
    pairs::{self, Counted, Key, Pair, most},
    places::Places,
    spent::Spent,
};
use crate::profile::model::{LinePair, LoopId, SiteId};

/// For so many lines that come over and over, one that comes once shows that a loop does not only repeat itself.
const NEWS: u64 = 4;
/// One in so many lines is much.
const MUCH: u128 = 5;

/// Lines by who had brought them in and who brings them in.
type Ends = BTreeMap<(Option<SiteId>, SiteId), u64>;

/// Those that most cycles wait for first; without cycles, those of most lines.
pub fn return_pairs(places: &Places, chosen: &[&LinePair]) -> Vec<Pair> {
    let deeds = Deeds::from_profile(places.profile, &places.loops);
    let mut found: BTreeMap<Key, (PairCounts, Ends)> = BTreeMap::new();
    for pair in chosen {
        let touch = pairs::touch(places, pair.before, pair.before.is_some_and(|site| places.writes(site)));
        let key = Key { touch, line: places.line(pair.site), function: places.function(pair.site), object: None };
        let (counts, ends) = found.entry(key).or_default();
        counts.merge(&pair.counts);
        *ends.entry((pair.before, pair.site)).or_default() += pair.counts.lines;
    }
    let spent = Spent::from_places(places);
    let line = u64::from(places.profile.line_size().unwrap_or(1));
    let pair = |(key, (counts, ends)): (Key, (PairCounts, Ends))| {
        let ends: BTreeMap<_, u128> = ends.into_iter().map(|(ends, lines)| (ends, lines.into())).collect();
        let readers = ends.keys().map(|(_, site)| *site).collect();
        let ((before, site), _) = ends_of(&deeds, &ends).expect("a pair has ends");
        let counted = Counted { lines: counts.lines, far: counts.far, ..Counted::default() };
        let mut counted = evidence(places, &deeds, counted, (before, site));
        counted.is_library = spent.is_library(key.line, site, &counts);
        counted.waits = spent.waits(key.line, &counts);
        counted.bound = spent.bound(key.line, site).filter(|_| !counted.is_library);
        if counted.walk.is_across() {
            let access = deeds.access(site);
            if counted.is_opposed {
                counted.blocks = spent.blocks(key.line, site, &counts, deeds.once(access));
            } else if deeds.is_sum(access) {
                counted.chain = spent.chain(key.line, site, &counts);
            }
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
