//! Hazards: what an access is by itself, and with the accesses before it.

use std::collections::BTreeMap;

use crate::{
    observe::hazards::{NAMES, WINDOW},
    tests::history::{Access, Happening, Site},
};

/// How many accesses of each site are hazards, by kind.
pub type Hazards = BTreeMap<Site, BTreeMap<&'static str, u64>>;

/// Whether an access is a hazard of a kind, by those before it.
type IsOne = fn(&[(&Access, bool)], &Access, bool) -> bool;

const KINDS: [(&str, IsOne); NAMES.len()] = [
    ("split_lines", |_, access, _| crosses(access, 64)),
    ("split_pages", |_, access, _| crosses(access, 4096)),
    ("blocked_forwards", |before, access, is_store| {
        let last = before.iter().rev().find(|(other, writes)| *writes && has_some(access, other, u64::MAX));
        last.is_some_and(|(other, _)| !is_store && access.bytes().any(|byte| !other.bytes().contains(&byte)))
    }),
    ("aliased_loads", |before, access, is_store| {
        let looks_alike = |other| has_some(access, other, 0xfff) && !has_some(access, other, u64::MAX);
        !is_store && before.iter().any(|(other, writes)| *writes && looks_alike(other))
    }),
];

/// Whether two have a byte in common, as far as these bits of addresses tell.
fn has_some(access: &Access, other: &Access, bits: u64) -> bool {
    access.bytes().any(|byte| other.bytes().any(|written| (written ^ byte) & bits == 0))
}

fn crosses(access: &Access, border: u64) -> bool {
    access.bytes().skip(1).any(|address| address % border == 0)
}

/// What each site's accesses are.
#[must_use]
pub fn hazards(history: &[Happening]) -> Hazards {
    let accesses: Vec<(&Access, bool)> = history
        .iter()
        .filter_map(|happening| match happening {
            Happening::Load(access) => Some((access, false)),
            Happening::Store(access) => Some((access, true)),
            _ => None,
        })
        .filter(|(access, _)| (1..=64).contains(&access.len))
        .collect();
    let mut found = Hazards::new();
    for (at, (access, is_store)) in accesses.iter().enumerate() {
        let Some(site) = access.charged() else { continue };
        let before = &accesses[at.saturating_sub(WINDOW)..at];
        for (name, _) in KINDS.iter().filter(|(_, is_one)| is_one(before, access, *is_store)) {
            *found.entry(site.clone()).or_default().entry(name).or_default() += 1;
        }
    }
    found
}
