//! What the accesses of each place in the source did to lines and bytes, and how they go through memory.
//!
//! Takes cells of a profile and what is known of its sites; gives, of copies of one access that a compiler made in one
//! loop, sums and ratios. Refuses nothing: what is not known of an access supports nothing.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::observe::patterns::FAST;

use super::{cure::POOR_USE, loops::Loops};
use crate::{
    profile::{
        Profile,
        model::{AccessKind, FieldId, LinePair, LoopId, PositionId, SiteId, SiteNote},
    },
    report::{
        Sums,
        lines::{AtCapacity, Moved},
    },
};

/// Bytes of lines that an access comes to, for each of its bytes: so many are steps from line to line.
const SPARSE: f64 = 4.0;
/// Bytes of lines that an access comes to, for each of its bytes: so few are steps along lines; fewer, and another
/// access was there before.
const DENSE: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// Of the lines that an access comes to, or of the bytes that it accesses, the part that comes from far in lines up to
/// which the rest is kept.
const KEPT: f64 = 0.5;
/// Of the lines that loads bring in, the part that comes in order, up to which a processor waits for them.
const SEEN: f64 = 0.5;
/// Of an access's lines from far, the part that makes them those of one pair.
const MOST: f64 = 0.75;
/// Times that an access brings in lines again that it had brought in itself, for each that it had not.
const AGAIN: u64 = 3;
/// Lines that come again from a depth so much smaller than that of their bytes come for other bytes.
const OTHER: f64 = 0.25;
/// Lines that come again from a depth so much greater than that of their bytes come for the same few bytes of each.
const SAME: f64 = 2.0;

/// Copies of one access: direction, place and innermost loop; what has no place is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    is_load: bool,
    place: Result<PositionId, SiteId>,
    around: Option<LoopId>,
}

impl Access {
    /// This access in whatever loop: compilers make several of one.
    fn of_any_loop(self) -> Self {
        Self { around: None, ..self }
    }
}

/// What they did.
#[derive(Default)]
pub struct Deed {
    sums: Sums,
    /// Bytes loaded or stored.
    bytes: u64,
    /// The loops around them, the innermost first; the first of these in which the address stays the same.
    pub loops: Vec<LoopId>,
    pub same: Option<LoopId>,
    /// Lines from far that accesses of the same loop had brought in before, and that others had.
    again: u64,
    others: u64,
    /// They go to a part of a structure.
    is_of_record: bool,
    /// Their address depends on data that the innermost loop loads.
    is_irregular: bool,
    is_load: bool,
}

/// How an access goes through memory, if that can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walk {
    /// From line to line, and back to each for other bytes; `is_kept`: before a small memory has lost it.
    Across { is_kept: bool },
    /// It comes back to the same part of each line.
    Apart,
    #[default]
    Other,
}

impl Walk {
    pub fn is_across(self) -> bool {
        matches!(self, Walk::Across { .. })
    }
}

/// All accesses of a profile.
pub struct Deeds<'p> {
    /// Loops without loops inside them.
    innermost: BTreeSet<LoopId>,
    access_of: Vec<Access>,
    all: BTreeMap<Access, Deed>,
    /// By innermost loop.
    by_loop: BTreeMap<LoopId, Vec<Access>>,
    /// By each loop around them, those that load.
    loads: BTreeMap<LoopId, Vec<Access>>,
    /// Lines from far, in whatever loop.
    lines: BTreeMap<Access, u64>,
    /// By site: lines that it touches first, and pairs in which it brings lines in.
    first: Vec<u64>,
    pairs: BTreeMap<SiteId, Vec<&'p LinePair>>,
    line: u64,
}

impl Deed {
    /// How deep its lines from far lie, in bytes, by how deep the bytes do that it reads from far.
    fn depth_ratio(&self, line: u64) -> Option<f64> {
        let (_, by_line) = self.sums.lines().loads.middle_beyond(FAST / line)?;
        let (_, by_byte) = self.sums.depths.middle_beyond(FAST)?;
        Some((by_line * line) as f64 / by_byte as f64)
    }

    /// Lines that it brought in from beyond a small memory, or touched first.
    pub fn lines(&self, line: u64) -> u64 {
        AtCapacity(self.sums.lines()).fetched(FAST / line)
    }

    /// All lines that it came to, but for those that were among the last few.
    fn all_lines(&self) -> u64 {
        AtCapacity(self.sums.lines()).fetched(0)
    }

    /// Bytes of the lines that it comes to, for each of its bytes.
    fn spread(&self, line: u64) -> f64 {
        (self.all_lines() * line) as f64 / self.bytes.max(1) as f64
    }

    /// Bytes read from beyond a small memory, and those of the lines that came from there for it.
    fn used(&self, line: u64) -> (u64, u64) {
        let lines = if self.is_load { self.lines(line) * line } else { 0 };
        (self.sums.depths.traffic(FAST).min(lines), lines)
    }

    /// Part of the bytes read that lie beyond a small memory.
    fn deep(&self) -> f64 {
        self.sums.depths.traffic(FAST) as f64 / self.sums.read.max(1) as f64
    }

    /// Whether it comes to a line for about as many bytes as it accesses, at addresses that no data decides.
    fn goes_along_lines(&self, line: u64) -> bool {
        !self.is_irregular && DENSE.contains(&self.spread(line))
    }

    /// Whether its address changes with a loop; not known of accesses of which nothing is.
    fn changes_in(&self, at: LoopId) -> bool {
        self.loops.contains(&at) && self.same != Some(at)
    }
}

impl<'p> Deeds<'p> {
    pub fn from_profile(profile: &'p Profile, loops: &Loops) -> Self {
        let line = profile.line_size().map_or(1, u64::from);
        let access = |number: usize| {
            let site = &profile.sites[number];
            let id = SiteId(number as u32);
            let place = site.position.filter(|at| profile.positions[at.index()].line > 0).ok_or(id);
            Access { is_load: site.kind == AccessKind::Load, place, around: loops.around(id).first().copied() }
        };
        let is_part =
            |field: FieldId| profile.known.fields[field.index()].size < profile.known.fields[field.index()].type_size;
        let of_record = |note: &SiteNote| note.field.is_some_and(is_part).then_some(note.site);
        let records: BTreeSet<SiteId> = profile.known.notes.iter().filter_map(of_record).collect();
        let access_of: Vec<Access> = (0..profile.sites.len()).map(access).collect();
        let mut all: BTreeMap<Access, Deed> = BTreeMap::new();
        let mut first = vec![0; profile.sites.len()];
        for cell in &profile.cells {
            let access = access_of[cell.site.index()];
            let deed = all.entry(access).or_default();
            deed.sums.add(cell.read, &cell.counts);
            deed.bytes += cell.executions * u64::from(profile.sites[cell.site.index()].size);
            (deed.loops, deed.same) = (loops.around(cell.site), loops.same(cell.site));
            deed.is_load = access.is_load;
            deed.is_of_record |= records.contains(&cell.site);
            deed.is_irregular |= profile.irregular.binary_search(&cell.site).is_ok();
            let lines = cell.lines.as_ref().and_then(|sizes| sizes.first());
            first[cell.site.index()] += lines.map_or(0, |lines| lines.first_loads + lines.first_stores);
        }
        let mut pairs: BTreeMap<SiteId, Vec<&LinePair>> = BTreeMap::new();
        for pair in &profile.pairs {
            pairs.entry(pair.site).or_default().push(pair);
            let access = access_of[pair.site.index()];
            let is_own = pair.before.is_some_and(|before| access_of[before.index()].around == access.around);
            let deed = all.entry(access).or_default();
            *(if is_own { &mut deed.again } else { &mut deed.others }) += pair.counts.lines;
        }
        let all_loops = || &profile.known.loops;
        let outer: BTreeSet<LoopId> = all_loops().iter().filter_map(|at| at.parent).collect();
        let innermost = (0..all_loops().len() as u32).map(LoopId).filter(|at| !outer.contains(at)).collect();
        let mut by_loop: BTreeMap<LoopId, Vec<Access>> = BTreeMap::new();
        let mut loads: BTreeMap<LoopId, Vec<Access>> = BTreeMap::new();
        let mut lines: BTreeMap<Access, u64> = BTreeMap::new();
        for (access, deed) in &all {
            access.around.into_iter().for_each(|at| by_loop.entry(at).or_default().push(*access));
            let around = deed.loops.iter().filter(|_| deed.is_load);
            around.for_each(|at| loads.entry(*at).or_default().push(*access));
            *lines.entry(access.of_any_loop()).or_default() += deed.lines(line);
        }
        Self { innermost, access_of, all, by_loop, loads, lines, first, pairs, line }
    }

    /// Lines that a site touches first.
    pub fn first(&self, site: SiteId) -> u64 {
        self.first[site.index()]
    }

    /// Lines that an access comes to at least, whatever the order in which it does: all bytes of each are used then.
    pub fn once(&self, access: Access) -> u64 {
        self.get(access).map_or(0, |deed| deed.bytes.div_ceil(self.line))
    }

    /// The pairs in which a site brings lines in.
    pub fn pairs(&self, site: SiteId) -> &[&'p LinePair] {
        self.pairs.get(&site).map_or(&[], Vec::as_slice)
    }

    pub fn access(&self, site: SiteId) -> Access {
        self.access_of[site.index()]
    }

    /// Nothing of one that was not executed where it counts.
    pub fn get(&self, access: Access) -> Option<&Deed> {
        self.all.get(&access)
    }

    /// Those whose innermost loop it is.
    fn in_loop(&self, at: LoopId) -> impl Iterator<Item = (&Access, &Deed)> {
        self.by_loop.get(&at).into_iter().flatten().filter_map(|access| self.all.get_key_value(access))
    }

    /// Of the lines that came from beyond a small memory for loads of the same loop, the part that was read; of those
    /// of this access alone if that is more. Nothing where none came.
    pub fn utilisation(&self, access: Access) -> Option<f64> {
        let own = self.get(access)?.used(self.line);
        let part = |(used, lines): (u64, u64)| (lines > 0).then(|| used as f64 / lines as f64);
        let all = self.in_loop(access.around?).filter(|(other, _)| other.is_load);
        let all = all.map(|(_, deed)| deed.used(self.line)).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        part(own).map(|own| part(all).map_or(own, |all| all.max(own)))
    }

    /// How an access goes through memory.
    pub fn walk(&self, access: Access) -> Walk {
        let Some(deed) = self.get(access) else { return Walk::Other };
        let dimensions = deed.loops.iter().filter(|at| deed.changes_in(**at)).count();
        let is_inner =
            !deed.is_irregular && access.around.is_some_and(|at| self.innermost.contains(&at) && deed.changes_in(at));
        let is_across = is_inner && dimensions > 1 && !deed.is_of_record && deed.spread(self.line) >= SPARSE;
        let is_kept = deed.lines(self.line) as f64 <= KEPT * deed.all_lines() as f64;
        if is_across && (is_kept || self.is_for_other_bytes(access, deed)) {
            return Walk::Across { is_kept };
        }
        let is_apart = access.is_load && (dimensions == 1 || deed.is_of_record);
        if is_apart && deed.depth_ratio(self.line).is_some_and(|ratio| ratio >= SAME) {
            return Walk::Apart;
        }
        Walk::Other
    }

    /// Whether lines come again for bytes that were not used when they came before.
    fn is_for_other_bytes(&self, access: Access, deed: &Deed) -> bool {
        let first = deed.others + AtCapacity(deed.sums.lines()).first();
        let is_poor = self.utilisation(access).is_none_or(|used| used <= POOR_USE);
        let is_other = deed.depth_ratio(self.line).is_none_or(|ratio| ratio <= OTHER || is_poor);
        is_other && deed.again >= AGAIN * first
    }

    /// Whether an access has its lines come from far each time that it goes over them: else what brings it back to them
    /// has them there still, and somebody further out takes them away.
    pub fn is_far(&self, access: Access) -> bool {
        self.get(access).is_some_and(|deed| (deed.lines(self.line) * self.line) as f64 >= KEPT * deed.bytes as f64)
    }

    /// Whether so many lines are most of those that an access comes to from far, and not few of those that the other
    /// one had come to.
    pub fn is_most(&self, access: Access, before: Access, lines: u64) -> bool {
        let of = |access: Access| self.lines.get(&access.of_any_loop()).copied().unwrap_or(0);
        lines as f64 >= MOST * of(access) as f64 && lines as f64 >= KEPT * of(before) as f64
    }

    /// Whether a processor waits for the lines that come from beyond a small memory: they are loaded, and most are not
    /// seen coming.
    pub fn is_awaited(&self, access: Access) -> bool {
        self.get(access).is_some_and(|deed| {
            let moved = Moved::from_sums(deed.sums.lines(), self.line as u32, FAST);
            deed.is_load && moved.in_order as f64 <= SEEN * moved.loaded as f64
        })
    }

    /// Whether an exchange of its two innermost loops would have another access go from line to line that goes along
    /// lines now.
    pub fn is_opposed(&self, access: Access) -> bool {
        let Some([inner, outer]) = self.two_innermost(access) else { return false };
        self.in_loop(inner)
            .any(|(_, other)| other.changes_in(inner) && other.changes_in(outer) && other.goes_along_lines(self.line))
    }

    /// Whether it would have the inner loop add up what it stores: such a loop is done one element after the other.
    pub fn becomes_a_sum(&self, access: Access) -> bool {
        let Some([inner, outer]) = self.two_innermost(access) else { return false };
        self.in_loop(inner).any(|(other, deed)| !other.is_load && deed.same == Some(outer))
    }

    /// Whether the innermost loop stores nothing that changes with it: it makes one value of what it reads.
    pub fn is_sum(&self, access: Access) -> bool {
        access.around.is_some_and(|at| self.in_loop(at).all(|(_, deed)| deed.is_load || !deed.changes_in(at)))
    }

    fn two_innermost(&self, access: Access) -> Option<[LoopId; 2]> {
        match self.get(access)?.loops[..] {
            [inner, outer, ..] => Some([inner, outer]),
            _ => None,
        }
    }

    /// Whether some load in a loop brings so many lines in about once, while others are brought in over and over: else
    /// the loop around does nothing but the same again.
    pub fn has_news(&self, at: LoopId, lines: u64) -> bool {
        let mut loads = self.loads.get(&at).into_iter().flatten().filter_map(|access| self.get(*access));
        loads.any(|deed| {
            let once = deed.others + AtCapacity(deed.sums.lines()).first();
            once >= lines && deed.again < once
        })
    }

    /// Whether all loads of a loop read much from beyond a small memory: what does not, was made a moment ago, and a
    /// loop that needs it may need all of the one before it.
    pub fn reads_only_far(&self, at: LoopId, least: f64) -> bool {
        self.in_loop(at)
            .filter(|(access, deed)| access.is_load && deed.sums.read > 0)
            .all(|(_, deed)| deed.deep() >= least)
    }

    /// Part of an access's lines from beyond a small memory whose depth is near the median.
    pub fn alike(&self, access: Access) -> f64 {
        let Some(deed) = self.get(access) else { return 0.0 };
        let lines = if access.is_load { &deed.sums.lines().loads } else { &deed.sums.lines().stores };
        let Some((_, middle)) = lines.middle_beyond(FAST / self.line) else { return 0.0 };
        let far = || lines.buckets().filter(|(low, ..)| *low > FAST / self.line);
        let near: u64 = far().filter(|(low, ..)| low.abs_diff(middle) <= middle / 4).map(|(.., n)| n).sum();
        near as f64 / far().map(|(.., n)| n).sum::<u64>().max(1) as f64
    }
}
