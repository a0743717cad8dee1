//! The pairs of a profile without flows, as a table and a paragraph for each.
//!
//! Takes pairs of lines, the most promising first. Says what flows would tell in addition.

use super::{
    clock::Shares,
    cures,
    pairs::{Counted, Pair},
    places::{Options, Places},
    sentences,
    words::Words,
};
use crate::{
    document::{Column, Document, Sheet, Value},
    profile::Profile,
    report::{
        analysis::{Analysis, Grouping},
        disagreement::wasted,
        lines::SHOWN,
    },
    shared::human,
};

/// What a profile with flows has.
const MORE: &str =
    "Bytes instead of lines, data objects, and what lay between, for more cures: dmdprof run --flows --objects";

/// Adds them to a document.
pub fn add(document: &mut Document, places: &Places, options: &Options, clock: &Shares, pairs: &[Pair]) {
    let profile = places.profile;
    let line = u64::from(profile.line_size().unwrap_or(1));
    let all: u64 = profile.pairs.iter().map(|pair| pair.counts.lines * line).sum();
    let chosen: u64 = pairs.iter().map(|pair| pair.bytes).sum();
    let has_cycles = profile.cycles.is_some();
    let mut sheet =
        Sheet::new("pairs", "Lines that come again from beyond 32 KiB", columns(has_cycles, clock.are_known()));
    let name = |text: &str| Value::Name(text.to_owned());
    let line_name = |line: usize| Value::Name(places.show_line(line));
    for (number, pair) in (1..).zip(sheet.first(pairs, options.top)) {
        let words = Words::for_pair(places, pair);
        let Some(counted) = pair.counted else { continue };
        let Counted { far, used, waits, .. } = counted;
        let cures = cures::find_cures(&words, pair, None);
        let [how, place, function] = sentences::touched(places, pair, "uncounted");
        let names = if cures.is_empty() { vec!["-"] } else { cures.iter().map(|cure| cure.name).collect() };
        let waits = has_cycles.then(|| Value::Count(waits.into()));
        let time = clock.line(&places.lines[pair.key.line]);
        let first = [Value::Count(number), Value::part(pair.bytes as f64, all as f64)];
        let numbers = first.into_iter().chain(clock.cell(&places.lines[pair.key.line])).chain(waits);
        let texts = [
            Value::Bytes(pair.bytes.into()),
            Value::Bytes((far * line).into()),
            line_name(pair.key.line),
            name(&places.functions[pair.key.function]),
            how,
            place,
            function,
            Value::or_empty(pair.around.map(|at| places.loop_name(at)), Value::Name),
            Value::or_empty(used, Value::Share),
            Value::Text(names.join(", ")),
        ];
        sheet.row(numbers.chain(texts));
        if number == 1 || u128::from(pair.bytes) * sentences::WORTH >= chosen.into() {
            document.paragraphs.push(sentences::describe_pair(&words, number, pair, &cures, time));
        }
    }
    document.sheets.push(sheet);
    if pairs.is_empty() {
        document.notes.push(without_pairs(places.profile));
    }
    document.notes.push(MORE.into());
}

/// What there is to gain where no line comes again.
fn without_pairs(profile: &Profile) -> String {
    let none = format!("No line comes again here from beyond {}", human::bytes(SHOWN[0].into()));
    match wasted(profile, &Analysis::new(profile, Grouping::Functions).total, SHOWN[0]) {
        Some((moved, part)) => format!(
            "{none}, but of the {} in lines that loads fetch once, {} is read at most: packing what is read together \
             would fetch less",
            human::bytes(moved.loaded.into()),
            human::share(part)
        ),
        None => format!("{none}: another order or layout of its data gains nothing"),
    }
}

fn columns(has_cycles: bool, has_clock: bool) -> Vec<Column> {
    [
        ("number", ["", "pair"], 0),
        ("share", ["", "share"], 0),
        ("clock", ["", "clock"], 0),
        ("waits", ["cycles", "waiting"], 0),
        ("lines", ["beyond", "32 KiB"], 0),
        ("far_lines", ["beyond", "1 MiB"], 2),
        ("line", ["", "needed at"], 0),
        ("function", ["", "in"], 5),
        ("touch", ["fetched", "by a"], 3),
        ("touch_line", ["before", "at"], 0),
        ("touch_function", ["", "in"], 6),
        ("loop", ["loop around", "both"], 1),
        ("line_use", ["line", "use"], 4),
        ("cures", ["", "try"], 0),
    ]
    .into_iter()
    .filter(|(key, ..)| (has_cycles || *key != "waits") && (has_clock || *key != "clock"))
    .map(|(key, header, goes)| Column::new(key, header, goes))
    .collect()
}
