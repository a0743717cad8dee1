//! The line of each function that moves most, and what it accesses.
//!
//! Takes rows of functions, gives of each the line of its code with the largest amount of what orders the rows; nothing
//! of functions whose code has no lines. A variable is named if the profile has data objects and the line's largest
//! part is one that has a name: blocks of an allocator have none.

use std::collections::{BTreeMap, HashMap};

use super::{
    analysis::{Analysis, Row, Sums, shown},
    args::Sort,
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
pub struct Place<'p> {
    pub file: &'p str,
    pub line: u32,
    pub variable: Option<String>,
}

/// What a place, or an object, did. What has no share of the first number is told apart by the others.
type Weight = (u128, u128, u64, u128);

/// A line of a row: its weight, file, number and sites.
type Found = (Weight, StringId, u32, Vec<SiteId>);

/// The hot line of each row, in the rows' order.
#[must_use]
pub fn lines<'p>(analysis: &Analysis<'p>, rows: &[&Row], sort: Sort) -> Vec<Option<Place<'p>>> {
    let profile = analysis.profile;
    // A clock's samples slip to the instruction behind the one that waits, which may be of another line; cycles stay.
    let sort = if sort == Sort::Clock && profile.cycles.is_some() { Sort::Cycles } else { sort };
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
    let mut most = vec![None; rows.len()];
    for ((number, file, line), (sums, sites)) in by_line {
        let weight = weight(profile, sort, &sums);
        // Of equal lines the first one.
        let is_less = |(largest, ..): &Found| weight > *largest;
        if most[number].as_ref().is_none_or(is_less) {
            most[number] = Some((weight, file, line, sites));
        }
    }
    let place = |(_, file, line, sites): Found| Place {
        file: &profile.strings[file.index()],
        line,
        variable: variable(profile, sort, &sites),
    };
    most.into_iter().map(|found| found.map(place)).collect()
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
