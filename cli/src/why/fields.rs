//! Which fields of a structure a pair's reader uses, and which others lie beside them unused by it.

use std::collections::BTreeSet;

use super::{pairs::Pair, places::Places};
use crate::profile::model::{Field, FieldId, StringId};

/// Names in a list.
const MOST: usize = 5;

/// `of particle (64 bytes) it reads mass, but not charge, position[], velocity[]`; `None` if that is not known of all
/// reads, or no other field of the object is.
pub fn describe(places: &Places, pair: &Pair) -> Option<String> {
    let field = |id: FieldId| &places.profile.known.fields[id.index()];
    let text = |id: StringId| places.profile.strings[id.index()].as_str();
    let read: BTreeSet<FieldId> =
        pair.readers.iter().map(|site| places.field_of.get(site).copied()).collect::<Option<_>>()?;
    let ty = |field: &Field| (field.type_name, field.type_size);
    let of_type = ty(field(*read.first()?));
    if read.iter().any(|id| ty(field(*id)) != of_type) {
        return None;
    }
    let group = pair.key.object?;
    let uses = places.objects.uses.iter().filter(|used| places.groups.of_object(used.object) == group);
    let all: BTreeSet<FieldId> = uses.filter_map(|used| places.field_of.get(&used.site).copied()).collect();
    let apart = |other: &Field| {
        let overlaps = |own: &Field| own.offset < other.offset + other.size && other.offset < own.offset + own.size;
        !read.iter().any(|id| overlaps(field(*id)))
    };
    let others = all.iter().map(|id| field(*id)).filter(|other| ty(other) == of_type && apart(other));
    let names = |fields: BTreeSet<(u32, &str)>| {
        let mut names: Vec<&str> = fields.into_iter().map(|(_, name)| name).collect();
        // Parts of a union have one name at several offsets.
        names.dedup();
        let count = names.len();
        names.truncate(MOST);
        let rest = if count > MOST { format!(" and {} more", count - MOST) } else { String::new() };
        format!("{}{rest}", names.join(", "))
    };
    let named = |field: &Field| (field.offset, text(field.name));
    let others: BTreeSet<(u32, &str)> = others.map(|f| (f.offset, text(f.name))).collect();
    if others.is_empty() || text(of_type.0).is_empty() {
        return None;
    }
    let read = names(read.iter().map(|id| named(field(*id))).collect());
    Some(format!("of {} ({} bytes) it reads {read}, but not {}", text(of_type.0), of_type.1, names(others)))
}
