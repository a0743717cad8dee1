//! Outcomes as a table in Markdown, a row each, and what the list explains.

use super::outcome::{Measured, Outcome};

pub const HEAD: &str = "\
| program | | workload | output | two profiles | accesses seen | misses, ours / Cachegrind | slowdown | build |
|---|---|---|---|---|--:|--:|--:|--:|";

#[must_use]
pub fn row(outcome: &Outcome) -> String {
    let Outcome { name, language, about, .. } = outcome;
    let cells = outcome.measured.as_ref().map_or_else(|| "failed | | | | | ".to_owned(), cells);
    format!("| {name} | {language} | {about} | {cells} |")
}

/// Why something is not as it would be for most programs, if anything is not.
#[must_use]
pub fn note(outcome: &Outcome) -> Option<String> {
    let explained = &outcome.measured.as_ref()?.explained;
    (!explained.is_empty()).then(|| format!("- {}: {}", outcome.name, explained.join("; ")))
}

fn cells(measured: &Measured) -> String {
    let yes = |same: bool| if same { "same" } else { "differ" };
    let seen = 100.0 * measured.accesses as f64 / measured.references as f64;
    let [ours, theirs] = measured.misses;
    let ratio = ours as f64 / theirs as f64;
    let slowdown = measured.profiled.as_secs_f64() / measured.native.as_secs_f64();
    let [native, hooked] = measured.build.map(|took| took.as_secs_f64());
    let profiles = if measured.complete { yes(measured.same_profile) } else { "incomplete" };
    let output = yes(measured.same_output);
    format!("{output} | {profiles} | {seen:.0} % | {ratio:.3} | {slowdown:.0}x | {:.1}x", hooked / native)
}
