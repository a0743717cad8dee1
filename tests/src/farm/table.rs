//! Outcomes as a table in Markdown, a row each, and what the list explains; and that table in a document, between two
//! marks.

use std::time::Duration;

use super::installed::{Numbers, Seen, WAYS};
use super::manifest::Program;
use super::outcome::{Measured, Outcome};
use super::ran::Spent;

const HEAD: &str = "\
| program | | workload | output | two profiles | accesses seen | misses, ours / Cachegrind | slowdown | build | date |
|---|---|---|---|---|--:|--:|--:|--:|---|
";
const HEAD_OF_INSTALLED: &str = "\
| program | | version | accesses | alone | lines only | bytes and lines | Cachegrind | two profiles | lines | its | apart | most lines | date |
|---|---|---|--:|--:|--:|--:|--:|---|--:|--:|--:|---|---|
";
/// What stands before the tables in their documents.
pub const BEGIN: &str = "<!-- made by .ci/farm --document -->\n";
pub const BEGIN_INSTALLED: &str = "<!-- made by .ci/farm --installed --document -->\n";
const END: &str = "<!-- end -->\n";

/// The table, what it explains, and which programs of the list are not in it.
#[must_use]
pub fn table(outcomes: &[Outcome], list: &[&Program]) -> String {
    let (good, bad): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.measured.is_some());
    let mut text = format!("{} of {} programs measured.\n\n{HEAD}", good.len(), list.len());
    good.iter().for_each(|outcome| text += &row(outcome));
    let notes: Vec<_> = good.iter().filter_map(|outcome| note(outcome)).collect();
    if !notes.is_empty() {
        text += &format!("\nWhat differs, and why:\n\n{}", notes.concat());
    }
    let unseen = list.iter().filter(|program| outcomes.iter().all(|outcome| outcome.name != program.name));
    let mut missing: Vec<_> = bad.iter().map(|outcome| format!("{} (failed)", outcome.name)).collect();
    missing.extend(unseen.map(|program| program.name.clone()));
    if !missing.is_empty() {
        text += &format!("\nNot measured: {}.\n", missing.join(", "));
    }
    text
}

/// The same for programs that are installed, of which the list has these.
#[must_use]
pub fn table_of_installed(seen: &[Seen], list: &[&str]) -> String {
    let good = seen.iter().filter(|one| one.numbers.is_some() && one.faults.is_empty()).count();
    let mut text = format!("{good} of {} programs as they should be.\n\n{HEAD_OF_INSTALLED}", list.len());
    for Seen { name, language, version, date, numbers, .. } in seen {
        let cells = numbers.as_ref().map_or_else(|| "failed | | | | | | | | | |".to_owned(), cells_of_installed);
        text += &format!("| {name} | {language} | {version} | {cells} | {date} |\n");
    }
    text += &format!("\n{}", ratios(seen.iter().filter_map(|one| one.numbers.as_ref())));
    let note = |one: &Seen| {
        let faults = one.faults.iter().map(|fault| format!("NOT EXPLAINED: {}", first_line(fault)));
        let mut all: Vec<_> = one.explained.iter().cloned().chain(faults).collect();
        all.dedup();
        (!all.is_empty()).then(|| format!("- {}: {}\n", one.name, all.join("; ")))
    };
    let notes: Vec<_> = seen.iter().filter_map(note).collect();
    if !notes.is_empty() {
        text += &format!("\nWhat differs, and why:\n\n{}", notes.concat());
    }
    let is_missing = |name: &&&str| seen.iter().all(|one| one.name != **name);
    let missing: Vec<_> = list.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        text += &format!("\nNot measured: {}.\n", missing.join(", "));
    }
    text
}

fn cells_of_installed(numbers: &Numbers) -> String {
    let Numbers { accesses, alone, spent, is_repeated, ours, theirs, functions } = numbers;
    let two = |spent: &Spent| format!("{:.2} s, {:.2} s", spent.processor.as_secs_f64(), spent.wall.as_secs_f64());
    let (alone, spent) = (alone.as_secs_f64(), spent.each_ref().map(two).join(" | "));
    let repeated = if *is_repeated { "same" } else { "differ" };
    let millions = *accesses as f64 / 1e6;
    let theirs = theirs.map_or_else(
        || "- | -".to_owned(),
        |theirs| format!("{theirs} | {:+.2} %", 100.0 * (*ours as f64 - theirs as f64) / theirs as f64),
    );
    let share = |(name, share): &(String, u64)| {
        let name = name.replace('|', "\\|");
        format!("`{name}` {}.{} %", share / 10, share % 10)
    };
    let functions = functions.iter().map(share).collect::<Vec<_>>().join(", ");
    format!("{millions:.2} M | {alone:.3} s | {spent} | {repeated} | {ours} | {theirs} | {functions}")
}

/// What the ways of dmdprof take of what Cachegrind takes: means and worst.
fn ratios<'a>(all: impl Iterator<Item = &'a Numbers> + Clone) -> String {
    let mut text = String::new();
    for (way, name) in WAYS[..2].iter().enumerate() {
        let says = |what: &str, time: fn(&Spent) -> Duration| {
            let ratio = |one: &Numbers| time(&one.spent[way]).as_secs_f64() / time(&one.spent[2]).as_secs_f64();
            let ratios: Vec<f64> = all.clone().map(ratio).filter(|ratio| ratio.is_finite()).collect();
            let worst = ratios.iter().copied().fold(0.0, f64::max);
            format!(
                "{what} {:.2} in the mean and {worst:.2} at worst",
                ratios.iter().sum::<f64>() / ratios.len() as f64
            )
        };
        let (processor, wall) = (says("CPU", |s| s.processor), says("wall", |s| s.wall));
        text += &format!("{name}, over Cachegrind: {processor}; {wall}.\n");
    }
    text
}

/// A document with another table between its marks.
///
/// # Errors
/// That the marks are not there.
pub fn document(document: &str, begin: &str, table: &str) -> Result<String, String> {
    let missing = || format!("the document lacks {} or {}", begin.trim(), END.trim());
    let (before, rest) = document.split_once(begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n{table}\n{END}{after}"))
}

fn row(outcome: &Outcome) -> String {
    let Outcome { name, language, about, date, measured, .. } = outcome;
    let cells = measured.as_ref().map_or_else(|| "failed | | | | |".to_owned(), cells);
    format!("| {name} | {language} | {about} | {cells} | {date} |\n")
}

/// Why something is not as it would be for most programs, if anything is not.
fn note(outcome: &Outcome) -> Option<String> {
    let explained = &outcome.measured.as_ref()?.explained;
    let unexplained = outcome.faults.iter().map(|fault| format!("NOT EXPLAINED: {}", first_line(fault)));
    let all: Vec<_> = explained.iter().cloned().chain(unexplained).collect();
    (!all.is_empty()).then(|| format!("- {}: {}\n", outcome.name, all.join("; ")))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::farm::Manifest;

    fn outcome(name: &str, faults: &[&str], explained: &[&str]) -> Outcome {
        let second = Duration::from_secs(1);
        let measured = Measured {
            build: [second, 2 * second],
            native: second,
            profiled: 30 * second,
            same_output: true,
            same_profile: explained.is_empty(),
            complete: true,
            accesses: 40,
            references: 80,
            misses: [99, 100],
            explained: explained.iter().map(|&text| text.to_owned()).collect(),
        };
        Outcome {
            name: name.to_owned(),
            language: "C".to_owned(),
            about: "do something".to_owned(),
            date: "2026-01-02".to_owned(),
            faults: faults.iter().map(|&text| text.to_owned()).collect(),
            measured: (name != "broken").then_some(measured),
        }
    }

    #[test]
    fn a_table_has_rows_reasons_and_what_is_missing() {
        let manifest = Manifest::read();
        let list: Vec<_> = manifest.program.iter().collect();
        let outcomes = [outcome("one", &[], &[]), outcome("two", &["the output differs\nmore"], &["it has threads"])];
        let text = table(&outcomes, &list[..1]);
        assert!(text.contains("| one | C | do something | same | same | 50 % | 0.990 | 30x | 2.0x | 2026-01-02 |"));
        assert!(text.contains("- two: it has threads; NOT EXPLAINED: the output differs\n"), "{text}");
        assert!(!text.contains("- one"), "{text}");
        assert!(text.contains(&format!("Not measured: {}.", list[0].name)), "{text}");
        let text = table(&[outcome("broken", &["the build failed"], &[])], &[]);
        assert!(text.contains("Not measured: broken (failed)."), "{text}");
    }

    #[test]
    fn programs_that_are_installed_have_rows_too() {
        let numbers = Numbers {
            accesses: 12_345_678,
            alone: Duration::from_millis(12),
            spent: [3456, 4000, 2000].map(|ms| Spent {
                processor: Duration::from_millis(ms),
                wall: Duration::from_millis(ms / 2 + 10),
                ..Spent::default()
            }),
            is_repeated: true,
            ours: 1001,
            theirs: Some(1000),
            functions: vec![("deflate".to_owned(), 615), ("a|b".to_owned(), 20)],
        };
        let seen = |name: &str, numbers| Seen {
            name: name.to_owned(),
            language: "C".to_owned(),
            version: "1.2-3".to_owned(),
            date: "2026-01-02".to_owned(),
            faults: if name == "bad" { vec!["it fails\nmore".to_owned()] } else { Vec::new() },
            numbers,
            explained: if name == "good" { vec!["it has threads".to_owned()] } else { Vec::new() },
        };
        let text = table_of_installed(&[seen("good", Some(numbers)), seen("bad", None)], &["good", "bad", "other"]);
        assert!(text.starts_with("1 of 3 programs as they should be.\n"), "{text}");
        let row = "| good | C | 1.2-3 | 12.35 M | 0.012 s | 3.46 s, 1.74 s | 4.00 s, 2.01 s | 2.00 s, 1.01 s | same | \
                   1001 | 1000 | +0.10 % | `deflate` 61.5 %, `a\\|b` 2.0 % | 2026-01-02 |\n";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| bad | C | 1.2-3 | failed |"), "{text}");
        let ratios = "lines only, over Cachegrind: CPU 1.73 in the mean and 1.73 at worst; \
                      wall 1.72 in the mean and 1.72 at worst.\n";
        assert!(text.contains(ratios), "{text}");
        assert!(text.contains("Not measured: other.\n"), "{text}");
        assert!(text.contains("- good: it has threads\n- bad: NOT EXPLAINED: it fails\n"), "{text}");
    }

    #[test]
    fn only_what_is_between_the_marks_of_a_document_changes() {
        let before = format!("a\n{BEGIN}old\n{END}b\n");
        assert_eq!(document(&before, BEGIN, "new").as_deref(), Ok(format!("a\n{BEGIN}\nnew\n{END}b\n").as_str()));
        assert!(document(&before, BEGIN_INSTALLED, "new").is_err());
    }
}
