//! Loops that begin on one line: which of them a site belongs to, so that line breaks do not change advice.
//!
//! Takes the sites of a profile with their loops; gives sites that belong to different loops of one line different
//! parts of it. A site belongs to the last loop that begins before it, by columns. Loops that begin in one column are
//! those of a macro if no access of one is in the other, told by column, object and direction; else the compiler has
//! made them of one (a vectorised one and its remainder). Loops of a macro that go over the same object in the same
//! direction are not told apart.

use std::collections::{BTreeMap, BTreeSet};

use super::loops::Loops;
use crate::{
    objects::groups::Groups,
    profile::{
        Profile,
        model::{AccessKind, DataObjects, FunctionId, LoopId, PositionId, SiteId, StringId},
    },
};

/// A loop of a line: its column, and which of those that begin there; none before all loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineLoop {
    pub column: u32,
    pub rank: u32,
}

/// A line of a source function.
type Line = (FunctionId, Option<StringId>, u32);
/// What an access does: column, group of objects, direction.
type Deed = (u32, usize, bool);
/// By linked function, place and outermost loop there: what is done in it.
type Deeds = BTreeMap<(FunctionId, PositionId), BTreeMap<LoopId, BTreeSet<Deed>>>;

struct Columns<'p> {
    profile: &'p Profile,
    objects: &'p DataObjects,
    loops: &'p Loops<'p>,
    /// Where loops begin.
    begin: BTreeMap<Line, BTreeSet<u32>>,
    /// By loop: which of those in its column it is.
    ranks: BTreeMap<LoopId, u32>,
}

/// By site: its part of the line, if several loops begin there.
pub fn parts(profile: &Profile, objects: &DataObjects, loops: &Loops, groups: &Groups) -> BTreeMap<SiteId, LineLoop> {
    let mut columns = Columns { profile, objects, loops, begin: BTreeMap::new(), ranks: BTreeMap::new() };
    for position in profile.known.loops.iter().filter_map(|at| at.position) {
        let (line, column) = columns.place(position);
        columns.begin.entry(line).or_default().insert(column);
    }
    columns.ranks = columns.deeds(groups).into_values().flat_map(ranks).collect();
    let mut by_line: BTreeMap<Line, BTreeMap<SiteId, LineLoop>> = BTreeMap::new();
    for site in (0..profile.sites.len() as u32).map(SiteId) {
        if let Some((line, part)) = columns.part(site) {
            by_line.entry(line).or_default().insert(site, part);
        }
    }
    // What comes before the only loop of a line stays with it.
    let is_apart = |parts: &BTreeMap<SiteId, LineLoop>| {
        let loops: BTreeSet<LineLoop> = parts.values().copied().filter(|part| *part != LineLoop::default()).collect();
        loops.len() > 1
    };
    by_line.into_values().filter(is_apart).flatten().collect()
}

impl Columns<'_> {
    fn place(&self, position: PositionId) -> (Line, u32) {
        let at = &self.profile.positions[position.index()];
        ((at.function, at.file, at.line), at.column)
    }

    /// The part of its line that a site belongs to; none on lines on which no loop begins.
    fn part(&self, site: SiteId) -> Option<(Line, LineLoop)> {
        let (line, column) = self.place(self.profile.sites[site.index()].position?);
        let begin = self.begin.get(&line).filter(|_| line.2 > 0)?;
        let Some(&column) = begin.range(..=column).next_back() else { return Some((line, LineLoop::default())) };
        let rank = self.outermost(site, (line, column)).and_then(|at| self.ranks.get(&at)).copied().unwrap_or(0);
        // Column 0 is a loop's too, if columns are not known.
        Some((line, LineLoop { column, rank: rank + 1 }))
    }

    /// The outermost loop around a site that begins there.
    fn outermost(&self, site: SiteId, there: (Line, u32)) -> Option<LoopId> {
        let begins =
            |at: &LoopId| self.profile.known.loops[at.index()].position.is_some_and(|p| self.place(p) == there);
        self.loops.around(site).into_iter().rfind(begins)
    }

    /// What sites do in loops that begin in their column.
    fn deeds(&self, groups: &Groups) -> Deeds {
        let mut deeds = Deeds::new();
        for used in &self.objects.uses {
            let site = &self.profile.sites[used.site.index()];
            let Some((line, LineLoop { column, rank: 1.. })) = self.part(used.site) else { continue };
            let Some(at) = self.outermost(used.site, (line, column)) else { continue };
            let known = &self.profile.known.loops[at.index()];
            let (Some(begins), Some(position)) = (known.position, site.position) else { continue };
            let deed = (self.place(position).1, groups.of_object(used.object), site.kind == AccessKind::Load);
            deeds.entry((known.function, begins)).or_default().entry(at).or_default().insert(deed);
        }
        deeds
    }
}

/// Numbers loops that begin in one place: those that do the same have the same number.
fn ranks(loops: BTreeMap<LoopId, BTreeSet<Deed>>) -> Vec<(LoopId, u32)> {
    let mut kinds: Vec<(BTreeSet<Deed>, Vec<LoopId>)> = Vec::new();
    for (at, deeds) in loops {
        let (mut alike, mut others) = ((deeds, vec![at]), Vec::new());
        for (known, members) in kinds {
            if known.is_disjoint(&alike.0) {
                others.push((known, members));
            } else {
                alike.0.extend(known);
                alike.1.extend(members);
            }
        }
        others.push(alike);
        kinds = others;
    }
    let mut members: Vec<Vec<LoopId>> = kinds.into_iter().map(|(_, members)| members).collect();
    members.sort_by_key(|loops| loops.iter().min().copied());
    (0..).zip(members).flat_map(|(rank, loops)| loops.into_iter().map(move |at| (at, rank))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(loops: &[&[Deed]]) -> Vec<u32> {
        let deeds = (0..).zip(loops).map(|(at, deeds)| (LoopId(at), deeds.iter().copied().collect())).collect();
        let ranks: BTreeMap<LoopId, u32> = ranks(deeds).into_iter().collect();
        ranks.into_values().collect()
    }

    #[test]
    fn loops_that_share_no_access_are_different_ones_of_a_macro() {
        let (writes, reads, other) = ((9, 0, false), (9, 0, true), (9, 1, true));
        assert_eq!(ranked(&[&[writes], &[reads], &[other]]), [0, 1, 2]);
        assert_eq!(ranked(&[&[writes, reads], &[reads]]), [0, 0], "a loop and its remainder");
        assert_eq!(ranked(&[&[other], &[writes], &[reads], &[writes, reads]]), [0, 1, 1, 1]);
    }
}
