//! `report --objects`: what the accesses of each loop cost, and which lines they moved.
//!
//! Takes the innermost loop of each access from the profile; the rows add up to the program. Loops of one function that
//! begin at one place (a vectorised one and its remainder) are one row. Refuses nothing: without debug information
//! there are no loops, and no table.

use std::collections::BTreeMap;

use super::numbers::Numbers;
use crate::{
    document::{Sheet, Value},
    profile::{
        Profile,
        model::{DataObjects, LoopId, PositionId, SiteId},
    },
    report::Sums,
    shared::names,
    shared::names::is_library_file,
};

/// `FILE:LINE` of where a loop begins; of one in library code that was inlined, where that was called from.
#[must_use]
pub fn place(profile: &Profile, at: LoopId) -> Option<String> {
    let position = |id: PositionId| &profile.positions[id.index()];
    let file = |id: &PositionId| position(*id).file.map(|file| profile.strings[file.index()].as_str());
    let chain = || std::iter::successors(profile.known.loops[at.index()].position, |id| position(*id).inlined_at);
    let own = chain().find(|id| file(id).is_some_and(|file| !is_library_file(file))).or_else(|| chain().next())?;
    let line = position(own).line;
    file(&own).filter(|_| line > 0).map(|file| format!("{file}:{line}"))
}

/// What a row is about; nothing of accesses in no loop.
type Key = Option<(String, String, Option<String>)>;

/// The table.
pub(super) fn sheet(profile: &Profile, objects: &DataObjects, numbers: &Numbers) -> Option<Sheet> {
    let known = &profile.known;
    if known.loops.is_empty() {
        return None;
    }
    let innermost: BTreeMap<SiteId, LoopId> =
        known.notes.iter().filter_map(|note| Some((note.site, note.around?))).collect();
    let shown = |at: LoopId| place(profile, at);
    let key = |at: LoopId| {
        let place = shown(at);
        let at = &known.loops[at.index()];
        let name = names::demangle(profile.symbol(at.function));
        (place.unwrap_or_else(|| names::UNKNOWN.into()), name, at.parent.and_then(shown))
    };
    let keys: Vec<_> = (0..known.loops.len()).map(|at| key(LoopId(at as u32))).collect();
    let mut rows: BTreeMap<Key, Sums> = BTreeMap::new();
    for used in &objects.uses {
        let key = innermost.get(&used.site).map(|at| keys[at.index()].clone());
        rows.entry(key).or_default().add(used.read, &used.counts);
    }
    let columns = [("loop", ["", "loop"], 0), ("around", ["", "inside"], 3), ("function", ["", "function"], 0)];
    let mut sheet = Sheet::new("loops", "Innermost loops", numbers.columns(&columns));
    let by_number: Vec<(&Key, Sums)> = rows.iter().map(|(key, sums)| (key, sums.clone())).collect();
    let (rows, folded) = numbers.select(by_number);
    for (key, sums) in rows {
        let names = match key {
            None => [Value::Text("(no loop)".into()), Value::Empty, Value::Empty],
            Some((place, function, around)) => [
                Value::Name(place.clone()),
                Value::or_empty(around.clone(), Value::Name),
                Value::Name(function.clone()),
            ],
        };
        sheet.row(numbers.row(&sums).into_iter().chain(names));
    }
    let sum = |name: String| [Value::Text(name), Value::Empty, Value::Empty];
    if let Some((count, sums)) = folded {
        sheet.row(numbers.row(&sums).into_iter().chain(sum(format!("({count} more)"))));
    }
    sheet.row(numbers.row(&numbers.total).into_iter().chain(sum("total".into())));
    sheet.total = true;
    Some(sheet)
}
