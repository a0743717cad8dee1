//! A window of accesses as a text, in the manner of `dmdprof ir`: for people, and for the walk on the stack of the
//! page.
//!
//! Takes a measurement with a window, gives a line per event:
//! `read ADDRESS:BYTES depth 1-8 cost 16 of DATA at FILE:LINE`, `write`, `dies`, and `moves FROM TO:BYTES`; addresses
//! are hexadecimal. The depths of a read are in the order of its addresses; of a row of bytes, the first is the
//! deepest. What is outside the region of interest is `not counted`.

use std::fmt::Write;

use dmdprof_runtime::{
    analysis::{Measurement, ObjectKey, SiteKey},
    observe::window::{Event, What},
    pricing::run_cost,
};

use super::{item_of, place, text};
use crate::objects::groups;
use crate::profile::model::ObjectKind;
use crate::shared::printable;

/// `from`: where it begins, in words. `None` without a window.
#[must_use]
pub fn listing(measurement: &Measurement, from: &str) -> Option<String> {
    let window = measurement.window.as_ref()?;
    let mut out = format!("window of {} accesses from {from}\n", window.accesses);
    let (mut cost, mut reads) = (0, 0);
    for event in &window.events {
        if let (What::Read { depths }, Some(_)) = (&event.what, event.site) {
            cost += depths.iter().map(|(above, len)| run_cost(*above, *len)).sum::<u128>();
            reads += 1;
        }
        line(measurement, event, &mut out);
    }
    let end = if window.cut { "the window ends here" } else { "the run ends here" };
    let _ = writeln!(out, "total {cost} ({reads} reads); {end}");
    Some(out)
}

fn line(measurement: &Measurement, event: &Event<SiteKey, ObjectKey>, out: &mut String) {
    let Event { what, addr, len, site, object } = event;
    // A string takes everything.
    let _ = match what {
        What::Read { depths } => {
            let cost: u128 = depths.iter().map(|(above, len)| run_cost(*above, *len)).sum();
            write!(out, "read {addr:x}:{len} depth {} cost {cost}", Depths(depths))
        }
        What::Write => write!(out, "write {addr:x}:{len}"),
        What::Dies => write!(out, "dies {addr:x}:{len}"),
        What::Moves { to } => write!(out, "moves {addr:x} {to:x}:{len}"),
    };
    match (what, site) {
        (What::Read { .. } | What::Write, Some(site)) => {
            let name = object.as_ref().map(|object| name(measurement, object));
            let _ = name.map_or(Ok(()), |name| write!(out, " of {}", printable::name(&name)));
            let (table, segment, item) = *site;
            let table = &measurement.tables[table as usize].1;
            let place = place(table, item_of(table, segment, item).frame);
            let _ = place.map_or(Ok(()), |place| write!(out, " at {}", printable::name(&place)));
        }
        (What::Read { .. } | What::Write, None) => out.push_str(" not counted"),
        _ => {}
    }
    out.push('\n');
}

/// What a block of data is called.
fn name(measurement: &Measurement, object: &ObjectKey) -> String {
    let allocated = |kind, site: &Option<(u32, u32)>| {
        let at = site.and_then(|(table, segment)| {
            let table = &measurement.tables[table as usize].1;
            place(table, item_of(table, segment, 0).frame)
        });
        let short = at.as_deref().map(|at| at.rsplit('/').next().unwrap_or(at));
        short.map_or_else(|| groups::word(kind).to_owned(), |at| format!("{} of {at}", groups::word(kind)))
    };
    let known = |table: u32, name: u32| {
        let table = &measurement.tables[table as usize].1;
        text(table, name).unwrap_or("a variable without a name").to_owned()
    };
    let table = |table: u32| &measurement.tables[table as usize].1;
    match object {
        ObjectKey::Unknown => "unknown".into(),
        ObjectKey::Block { site, .. } => allocated(ObjectKind::Heap, site),
        ObjectKey::Mapping { site, file, .. } => file.clone().unwrap_or_else(|| allocated(ObjectKind::Mapping, site)),
        ObjectKey::Datum { table: of, datum } => table(*of).data[*datum as usize].name.clone(),
        ObjectKey::Slot { table: of, slot } => known(*of, table(*of).slots[*slot as usize].name),
    }
}

/// `1-8`, `9-12,20-23`.
struct Depths<'a>(&'a [(u64, u64)]);

impl std::fmt::Display for Depths<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, (above, len)) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match len {
                1 => write!(out, "{comma}{}", above + 1)?,
                _ => write!(out, "{comma}{}-{}", above + 1, above + len)?,
            }
        }
        Ok(())
    }
}
