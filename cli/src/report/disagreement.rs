//! Where lines and bytes disagree about a program, in a sentence.

use super::{
    analysis::{Analysis, Grouping, Sums},
    cycles::gains_nothing,
    lines::{Moved, SHOWN},
};
use crate::{profile::Profile, shared::human};

/// Of the bytes of lines that loads fetch, the part that is read; below it, lines and bytes disagree about the program.
const DISAGREE: f64 = 0.5;

/// In one sentence, where a profile's lines and bytes disagree.
#[must_use]
pub fn disagreement(profile: &Profile) -> Option<String> {
    profile.line_size()?;
    about(profile, &Analysis::new(profile, Grouping::Functions).total, None)
}

/// In one sentence, where lines and bytes disagree of what one function, or the whole program, moved; nothing where
/// cycles say that moving less gains nothing.
#[must_use]
pub fn about(profile: &Profile, sums: &Sums, name: Option<&str>) -> Option<String> {
    if gains_nothing(&sums.cycles).is_some() {
        return None;
    }
    // Of a function those memories that tables have; the largest one holds what most functions touch.
    let memories = if name.is_some() { &SHOWN[..2] } else { &SHOWN[..] };
    let wasted = memories.iter().find_map(|capacity| wasted(profile, sums, *capacity));
    wasted.map(|(moved, part)| {
        format!(
            "Lines and bytes disagree{}: of the {} in lines that loads bring into a memory of {}, {} is read; go by lines. What would help: {}.",
            name.map_or_else(String::new, |name| format!(" about {name}")),
            human::bytes(moved.loaded.into()),
            human::bytes(moved.capacity.into()),
            human::share(part),
            cure_command(profile)
        )
    })
}

/// What a memory moves of which loads read a small part at most, and that part.
#[must_use]
pub fn wasted(profile: &Profile, sums: &Sums, capacity: u64) -> Option<(Moved, f64)> {
    let size = profile.line_size().filter(|_| profile.meta.has_bytes())?;
    let moved = Moved::from_sums(sums.lines(), size, capacity);
    let part = moved.used(sums.depths.traffic(capacity), sums.cold)?;
    (part < DISAGREE).then_some((moved, part))
}

/// The command that names cures for a profile's waste.
fn cure_command(profile: &Profile) -> &'static str {
    match (&profile.flows, &profile.objects) {
        (Some(_), Some(_)) => "dmdprof why",
        _ if !profile.pairs.is_empty() => "dmdprof why",
        _ => "dmdprof run --flows --objects, then dmdprof why",
    }
}
