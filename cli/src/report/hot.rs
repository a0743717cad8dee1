//! The line of each function that moves most, and what it accesses.
//!
//! Takes rows of functions, gives of each the line of its code with the largest amount of what orders the rows; nothing
//! of functions whose code has no lines. A variable is named if the profile has data objects and the line's largest
//! part is one that has a name: blocks of an allocator have none.
//!
//! Of rows that a clock orders, the line is that of most cycles: a clock's samples slip to the instruction behind the
//! one that waits, which may be of another line. Cycles are a model's, though. Where samples are surely more elsewhere
//! in the function, it is the line of most cycles there.

use std::collections::{BTreeMap, HashMap};

use super::{
    analysis::{Analysis, Row, Sums, shown},
    args::Sort,
    clock::interval,
    select::amount,
};
use crate::{
    profile::{
        Profile,
        model::{ObjectId, ObjectKind, PositionId, SiteId, StringId},
    },
    shared::names::demangle,
};

/// A line of a file, and the variable that it accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotLine<'p> {
    pub file: &'p str,
    pub line: u32,
    pub variable: Option<String>,
}

/// What a place, or an object, did. What has no share of the first number is told apart by the others.
type Weight = (u128, u128, u64, u128);

/// Lines that a sample slips by, at most, as it is taken for those of this distance.
const SLIP: u32 = 3;

/// A line of a row.
struct Line {
    weight: Weight,
    samples: u64,
    file: StringId,
    number: u32,
    sites: Vec<SiteId>,
}

impl Line {
    fn is_near(&self, other: &Line) -> bool {
        self.file == other.file && self.number.abs_diff(other.number) <= SLIP
    }
}

/// The hot line of each row, in the rows' order.
#[must_use]
pub fn lines<'p>(analysis: &Analysis<'p>, rows: &[&Row], sort: Sort) -> Vec<Option<HotLine<'p>>> {
    let profile = analysis.profile;
    let by_clock = sort == Sort::Clock && profile.cycles.is_some();
    let sort = if by_clock { Sort::Cycles } else { sort };
    let all = rows.iter().enumerate().flat_map(|(number, row)| row.sites.iter().map(move |site| (*site, number)));
    let row_of: HashMap<SiteId, usize> = all.collect();
    let line_of = |position: Option<PositionId>| {
        let at = shown(profile, analysis.grouping, position)?;
        Some((at.file?, at.line)).filter(|(_, line)| *line > 0)
    };
    let mut by_line: BTreeMap<(usize, StringId, u32), (Sums, Vec<SiteId>)> = BTreeMap::new();
    for cell in &profile.cells {
        let Some(number) = row_of.get(&cell.site) else { continue };
        let Some((file, line)) = line_of(profile.sites[cell.site.index()].position) else { continue };
        let (sums, sites) = by_line.entry((*number, file, line)).or_default();
        sums.add(cell.read, &cell.counts);
        sites.push(cell.site);
    }
    let mut add = |number: usize, position: Option<PositionId>, add: &dyn Fn(&mut Sums)| {
        if let Some((file, line)) = line_of(position) {
            add(&mut by_line.entry((number, file, line)).or_default().0);
        }
    };
    let followed = profile.cycles.as_ref().map_or(&[][..], |cycles| &cycles.places);
    let sampled = profile.clock.as_ref().map_or(&[][..], |clock| &clock.places);
    for (number, row) in rows.iter().enumerate() {
        for place in row.places.iter().map(|place| &followed[*place as usize]) {
            add(number, place.position, &|sums| sums.cycles.add(&place.counts));
        }
        for place in row.clocked.iter().map(|place| &sampled[*place as usize]) {
            add(number, place.position, &|sums| sums.clock += place.samples);
        }
    }
    let mut lines: Vec<Vec<Line>> = rows.iter().map(|_| Vec::new()).collect();
    for ((row, file, number), (sums, sites)) in by_line {
        let weight = weight(profile, sort, &sums);
        lines[row].push(Line { weight, samples: sums.clock, file, number, sites });
    }
    let place = |line: &Line| HotLine {
        file: &profile.strings[line.file.index()],
        line: line.number,
        variable: variable(profile, sort, &line.sites),
    };
    let hottest = |lines: &Vec<Line>| {
        let first = heaviest(lines, |_| true)?;
        Some(place(if by_clock { sampled_elsewhere(lines, first).unwrap_or(first) } else { first }))
    };
    lines.iter().map(hottest).collect()
}

/// Of equal lines the first one.
fn heaviest(lines: &[Line], counts: impl Fn(&Line) -> bool) -> Option<&Line> {
    lines.iter().filter(|line| counts(line)).reduce(|most, line| if line.weight > most.weight { line } else { most })
}

/// The heaviest line where most samples are, if these are surely more than around another line.
fn sampled_elsewhere<'l>(lines: &'l [Line], than: &Line) -> Option<&'l Line> {
    let around = |of: &Line| lines.iter().filter(|line| line.is_near(of)).map(|line| line.samples).sum();
    let all = lines.iter().map(|line| line.samples).sum();
    let most = lines.iter().max_by_key(|line| (around(line), line.samples))?;
    let ([_, high], [low, _]) = (interval(around(than), all)?, interval(around(most), all)?);
    let is_elsewhere = low > high && !most.is_near(than);
    is_elsewhere.then(|| heaviest(lines, |line| line.is_near(most))).flatten()
}

fn weight(profile: &Profile, sort: Sort, sums: &Sums) -> Weight {
    (amount(profile, sort, sums, sums.accesses()), sums.cost, sums.written, sums.accesses())
}

/// What sites access most, if it is a variable.
fn variable(profile: &Profile, sort: Sort, sites: &[SiteId]) -> Option<String> {
    let objects = profile.objects.as_ref()?;
    let mut by_object: BTreeMap<ObjectId, Sums> = BTreeMap::new();
    for used in objects.uses.iter().filter(|used| sites.contains(&used.site)) {
        by_object.entry(used.object).or_default().add(used.read, &used.counts);
    }
    let (object, _) = by_object.iter().max_by_key(|(_, sums)| weight(profile, sort, sums))?;
    let object = &objects.list[object.index()];
    let name = object.name.filter(|_| matches!(object.kind, ObjectKind::Static | ObjectKind::Stack))?;
    Some(demangle(&profile.strings[name.index()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_says_in_which_part_of_a_function_the_hot_line_is() {
        // Of a loop from line 10 to 12, the load takes most cycles, and the samples slip to the sum behind it.
        let lines = |samples: [u64; 4]| -> Vec<Line> {
            let line = |(number, weight), samples| Line {
                weight: (weight, 0, 0, 0),
                samples,
                file: StringId(0),
                number,
                sites: Vec::new(),
            };
            [(4, 500), (10, 90), (11, 300), (12, 20)].into_iter().zip(samples).map(|(at, n)| line(at, n)).collect()
        };
        let chosen = |samples| {
            let lines = lines(samples);
            let first = heaviest(&lines, |_| true).expect("a line");
            sampled_elsewhere(&lines, first).unwrap_or(first).number
        };
        assert_eq!(chosen([30, 5, 10, 230]), 11, "the clock is in the loop, and the cycles are of the load");
        assert_eq!(chosen([100, 5, 10, 100]), 4, "samples cannot tell");
        assert_eq!(chosen([300, 0, 0, 0]), 4);
        assert_eq!(chosen([0, 0, 0, 0]), 4, "no sample is of the row");
    }
}
