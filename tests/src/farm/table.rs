//! Outcomes as a table in Markdown, a row each, and what the list explains below it.

use std::fmt::Write;

use super::outcome::{Measured, Outcome};

const HEAD: &str = "\
| program | | workload | output | two profiles | loads and stores seen | misses, ours / Cachegrind | slowdown | build |
|---|---|---|---|---|--:|--:|--:|--:|
";

#[must_use]
pub fn markdown(outcomes: &[Outcome]) -> String {
    let mut text = HEAD.to_owned();
    for outcome in outcomes {
        let Outcome { name, language, about, .. } = outcome;
        let cells = match &outcome.measured {
            Some(measured) => row(measured),
            None => "failed | | | | | ".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {language} | {about} | {cells} |");
    }
    let notes = outcomes.iter().filter_map(|outcome| Some((&outcome.name, &outcome.measured.as_ref()?.explained)));
    let mut notes = notes.filter(|(_, explained)| !explained.is_empty()).peekable();
    if notes.peek().is_some() {
        text.push('\n');
    }
    for (name, explained) in notes {
        let _ = writeln!(text, "- {name}: {}", explained.join("; "));
    }
    text
}

fn row(measured: &Measured) -> String {
    let yes = |same: bool| if same { "same" } else { "differ" };
    let seen = 100.0 * measured.accesses as f64 / measured.references as f64;
    let [ours, theirs] = measured.misses;
    let ratio = ours as f64 / theirs as f64;
    let slowdown = measured.profiled.as_secs_f64() / measured.native.as_secs_f64();
    let [native, hooked] = measured.build.map(|took| took.as_secs_f64());
    let profiles = if measured.complete { yes(measured.same_profile).to_owned() } else { "incomplete".to_owned() };
    let output = yes(measured.same_output);
    format!("{output} | {profiles} | {seen:.0} % | {ratio:.3} | {slowdown:.0}x | {:.1}x", hooked / native)
}
