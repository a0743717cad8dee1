//! Data objects and fields for the page, with depths, so that every number that the page knows can be asked of them.
//!
//! Takes a profile with objects; gives groups as `dmdprof report --objects` has them, the fields that sites access of
//! each, and who uses them. The uses of all groups add up to the program's totals; of a group, what no field is known
//! of is a field without a name.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::objects::fields::of_sites;
use crate::objects::groups::{Groups, word};
use crate::profile::Profile;
use crate::profile::model::{DataObjects, FieldId, ObjectUse};
use crate::report::depths::Depths;
use crate::report::{Analysis, Grouping};
use crate::shared::names::demangle;
use crate::why;

#[derive(Serialize)]
pub struct Described {
    groups: Vec<Group>,
    fields: Vec<Field>,
    uses: Vec<Use>,
}

#[derive(Serialize)]
struct Group {
    kind: &'static str,
    name: String,
    /// That blocks of an allocator go to, as far as the source tells.
    variable: Option<String>,
    place: Option<String>,
    times: u128,
    peak: u128,
    /// Bytes read of each 64th of large blocks.
    parts: Vec<u128>,
    #[serde(flatten)]
    numbers: Numbers,
}

#[derive(Serialize)]
struct Field {
    group: usize,
    /// `None`: not known.
    of: Option<Named>,
    #[serde(flatten)]
    numbers: Numbers,
}

#[derive(Serialize)]
struct Named {
    type_name: String,
    type_size: u32,
    /// Empty of scalars.
    name: String,
    offset: u32,
    size: u32,
}

/// By one function.
#[derive(Serialize)]
struct Use {
    group: usize,
    function: String,
    #[serde(flatten)]
    numbers: Numbers,
}

#[derive(Default)]
struct Sums {
    read: u64,
    written: u64,
    cold: u64,
    cost: u128,
    depths: Depths,
}

#[derive(Serialize)]
struct Numbers {
    read: u64,
    written: u64,
    cold: u64,
    /// Decimal.
    cost: String,
    /// [depth that the reads lie beyond, reads].
    depths: Vec<(u64, u64)>,
    /// [capacity that the reads lie beyond, reads]; nothing where that is no different.
    #[serde(skip_serializing_if = "Option::is_none")]
    capacities: Option<Vec<(u64, u64)>>,
}

impl Sums {
    fn add(&mut self, used: &ObjectUse) {
        self.read += used.read;
        self.written += used.written;
        self.cold += used.cold;
        self.cost += used.cost;
        self.depths.add(&used.depths);
    }
}

impl From<&Sums> for Numbers {
    fn from(sums: &Sums) -> Self {
        let Sums { read, written, cold, .. } = *sums;
        let floors = |depths: &Depths| depths.buckets().map(|(low, _, reads)| (low - 1, reads)).collect();
        let capacities = sums.depths.has_holes().then(|| floors(&sums.depths.by_capacity()));
        Numbers { read, written, cold, cost: sums.cost.to_string(), depths: floors(&sums.depths), capacities }
    }
}

/// `None` if objects were not measured.
pub fn describe(profile: &Profile) -> Option<Described> {
    let objects = profile.objects.as_ref()?;
    let groups = Groups::from_profile(profile, false);
    let mut by_group: Vec<Sums> = groups.list.iter().map(|_| Sums::default()).collect();
    for used in &objects.uses {
        by_group[groups.of_object(used.object)].add(used);
    }
    let numbered = groups.list.iter().zip(&by_group).zip(why::variables(&groups));
    let list = numbered.map(|((group, sums), variable)| Group {
        kind: word(group.kind),
        name: group.name.clone(),
        variable,
        place: group.place.clone(),
        times: group.times,
        peak: group.peak,
        parts: group.parts.clone(),
        numbers: sums.into(),
    });
    Some(Described {
        groups: list.collect(),
        fields: fields(profile, objects, &groups),
        uses: uses(profile, objects, &groups),
    })
}

fn fields(profile: &Profile, objects: &DataObjects, groups: &Groups) -> Vec<Field> {
    let field_of = of_sites(&profile.known);
    let mut sums: BTreeMap<(usize, Option<FieldId>), Sums> = BTreeMap::new();
    for used in &objects.uses {
        let key = (groups.of_object(used.object), field_of.get(&used.site).copied());
        sums.entry(key).or_default().add(used);
    }
    let text = |id: crate::profile::model::StringId| profile.strings[id.index()].clone();
    let named = |id: FieldId| {
        let field = &profile.known.fields[id.index()];
        Named {
            type_name: demangle(&text(field.type_name)),
            type_size: field.type_size,
            name: text(field.name),
            offset: field.offset,
            size: field.size,
        }
    };
    sums.iter()
        .map(|((group, field), sums)| Field { group: *group, of: field.map(named), numbers: sums.into() })
        .collect()
}

fn uses(profile: &Profile, objects: &DataObjects, groups: &Groups) -> Vec<Use> {
    let rows = Analysis::new(profile, Grouping::Functions).rows;
    let mut row_of = vec![rows.len(); profile.sites.len()];
    for (number, row) in rows.iter().enumerate() {
        row.sites.iter().for_each(|site| row_of[site.index()] = number);
    }
    let mut sums: BTreeMap<(usize, usize), Sums> = BTreeMap::new();
    for used in &objects.uses {
        sums.entry((groups.of_object(used.object), row_of[used.site.index()])).or_default().add(used);
    }
    let name = |row: usize| rows.get(row).map_or(crate::shared::names::UNKNOWN, |row| row.name()).to_owned();
    sums.iter().map(|((group, row), sums)| Use { group: *group, function: name(*row), numbers: sums.into() }).collect()
}
