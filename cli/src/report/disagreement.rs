//! Where lines and bytes disagree about a program, in a sentence.

use super::{
    analysis::{Analysis, Grouping},
    lines::{Moved, SHOWN},
};
use crate::{
    profile::{Profile, model::Unit},
    shared::{human, names::demangle},
};

/// Of the bytes of lines that loads fetch, the part that is read; below it, lines and bytes disagree about the program.
const DISAGREE: f64 = 0.5;

/// In one sentence, where a profile's lines and bytes disagree; or which option measures lines, if that was not done
/// and could be.
#[must_use]
pub fn disagreement(profile: &Profile) -> Option<String> {
    let of_bytes = profile.meta.values.is_none() && profile.meta.unit == Unit::Byte;
    let Some(size) = profile.line_size() else {
        return of_bytes.then(|| {
            format!(
                "These numbers are of bytes; lines and write-backs, which machines move, are measured by: dmdprof run{} --line-size 64.",
                options(profile)
            )
        });
    };
    let total = Analysis::new(profile, Grouping::Functions).total;
    let wasted = SHOWN.into_iter().find_map(|capacity| {
        let moved = Moved::of(total.lines(), size, capacity);
        let read = total.depths.traffic(capacity);
        moved.used(read).filter(|part| *part < DISAGREE).map(|part| (moved, part))
    });
    wasted.map(|(moved, part)| {
        format!(
            "Lines and bytes disagree: of the {} in lines that loads bring into a memory of {}, {} is read; go by lines. What would help: {}.",
            human::bytes(moved.loaded.into()),
            human::bytes(moved.capacity.into()),
            human::share(part),
            cure_command(profile)
        )
    })
}

/// The command that names cures for a profile's waste.
#[must_use]
pub fn cure_command(profile: &Profile) -> &'static str {
    match (&profile.flows, &profile.objects) {
        (Some(_), Some(_)) => "dmdprof why",
        _ => "dmdprof run --flows --objects, then dmdprof why",
    }
}

/// What else was measured, as options of `dmdprof run`.
fn options(profile: &Profile) -> String {
    let flows = profile.flows.as_ref().map(|_| " --flows".to_owned());
    let objects = profile.objects.as_ref().map(|_| " --objects".to_owned());
    let sequences = profile.sequences.iter().map(|sequence| {
        let symbol = &profile.strings[profile.functions[sequence.function.index()].symbol.index()];
        format!(" --sequence {}", demangle(symbol))
    });
    flows.into_iter().chain(objects).chain(sequences).collect()
}
