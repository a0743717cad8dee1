//! `report --objects --fields`: which fields of which type the accesses to each object go to.
//!
//! Fields are those that debug information gives the sites. What it does not tell (library calls, copies, code without
//! it, casts) is one row per object, `(not known)`, so that the rows add up to the objects.

use std::collections::{BTreeMap, HashMap};

use super::{
    groups::{Groups, word},
    numbers::Numbers,
};
use crate::{
    document::{Sheet, Value},
    profile::{
        Profile,
        model::{DataObjects, FieldId, SiteId, SiteMetadata},
    },
    report::Sums,
    shared::names::demangle,
};

/// The field of each site that has one.
#[must_use]
pub fn of_sites(known: &SiteMetadata) -> HashMap<SiteId, FieldId> {
    known.notes.iter().filter_map(|note| Some((note.site, note.field?))).collect()
}

/// The table.
pub(super) fn sheet(profile: &Profile, objects: &DataObjects, groups: &Groups, numbers: &Numbers) -> Sheet {
    let field_of = of_sites(&profile.known);
    let mut rows: BTreeMap<(usize, Option<FieldId>), Sums> = BTreeMap::new();
    for used in &objects.uses {
        let key = (groups.of_object(used.object), field_of.get(&used.site).copied());
        rows.entry(key).or_default().add(used.read, &used.counts);
    }
    let mut sheet = Sheet::new(
        "fields",
        "Fields",
        numbers.columns(&[
            ("offset", ["", "offset"], 3),
            ("size", ["", "size"], 4),
            ("field", ["", "field"], 0),
            ("type", ["", "type"], 0),
            ("type_size", ["type", "size"], 6),
            ("kind", ["", "kind"], 2),
            ("object", ["", "object"], 0),
        ]),
    );
    let text = |id: crate::profile::model::StringId| profile.strings[id.index()].clone();
    let (shown, folded) = numbers.select(rows);
    for ((group, field), sums) in shown {
        let group = &groups.list[group];
        let field = field.map(|field| &profile.known.fields[field.index()]);
        let name = match field {
            None => Value::Text("(not known)".into()),
            Some(field) if text(field.name).is_empty() => Value::Text("(scalar)".into()),
            Some(field) => Value::Name(text(field.name)),
        };
        let rest = [
            Value::or_empty(field.map(|field| u128::from(field.offset)), Value::Count),
            Value::or_empty(field.map(|field| u128::from(field.size)), Value::Count),
            name,
            Value::or_empty(field.map(|field| demangle(&text(field.type_name))), Value::Name),
            Value::or_empty(field.map(|field| u128::from(field.type_size)), Value::Count),
            Value::Text(word(group.kind).into()),
            Value::Name(group.name.clone()),
        ];
        sheet.row(numbers.row(&sums).into_iter().chain(rest));
    }
    let sum = |name: String| {
        let empty = || Value::Empty;
        [empty(), empty(), Value::Text(name), empty(), empty(), empty(), empty()]
    };
    if let Some((count, sums)) = folded {
        sheet.row(numbers.row(&sums).into_iter().chain(sum(format!("({count} more)"))));
    }
    sheet.row(numbers.row(&numbers.total).into_iter().chain(sum("total".into())));
    sheet.total = true;
    sheet
}
