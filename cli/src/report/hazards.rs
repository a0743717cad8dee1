//! Accesses that a processor handles slower than others of their kind, wherever their bytes are.

use crate::{profile::Profile, report::analysis::Sums, shared::human};

/// Hazards of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HazardCount<'p> {
    /// The kind, as in `split_lines`.
    pub name: &'p str,
    pub accesses: u64,
}

impl<'p> HazardCount<'p> {
    /// Of all kinds that were counted, in their order.
    pub fn all(profile: &'p Profile, sums: &Sums) -> Vec<Self> {
        (0..).zip(&profile.hazards).map(|(kind, name)| Self { name, accesses: accesses(sums, kind) }).collect()
    }

    /// For people: `split lines`.
    #[must_use]
    pub fn title(&self) -> String {
        self.name.replace('_', " ")
    }
}

/// How many are of a kind.
#[must_use]
pub fn accesses(sums: &Sums, kind: usize) -> u64 {
    sums.hazards.as_ref().map_or(0, |counts| counts[kind])
}

/// All kinds in a line, most accesses first; nothing if they were not counted.
#[must_use]
pub fn in_short(profile: &Profile, sums: &Sums) -> Option<String> {
    let mut all = HazardCount::all(profile, sums);
    all.sort_by_key(|hazard| std::cmp::Reverse(hazard.accesses));
    let say = |hazard: &HazardCount| {
        let part = human::percent(hazard.accesses.into(), sums.accesses());
        format!("{} {} ({part})", hazard.title(), human::grouped(hazard.accesses.into()))
    };
    let says = all.iter().map(say).collect::<Vec<_>>().join(", ");
    (!all.is_empty()).then(|| format!("hazards, of all accesses: {says}"))
}
