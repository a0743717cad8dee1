//! The pairs as a document: a table, and a few sentences for each.

use super::{
    bounds::{self, Bounds},
    clock::Shares,
    cures,
    idle::Idle,
    lines, pairs,
    places::{Options, Places},
    returns, sentences,
    words::Words,
};
use crate::{
    document::{Column, Document, Sheet, Value},
    estimate,
    profile::Profile,
    report::{depths::QuantileReader, disagreement::disagreement},
};

/// What columns are that not everybody knows.
const DEPTH: &str = "depth: LRU stack distance in bytes, from the last touch of the same byte";
const LINE_USE: &str = "line use: part of the bytes of lines fetched that is read or written";

/// # Errors
/// A profile without flows or objects, or a subject that nothing is called.
pub fn document(profile: &Profile, options: &Options) -> anyhow::Result<Document> {
    let clock = Shares::from_profile(profile);
    let bounds = bounds::find_bounds(profile, &clock, options);
    let mut document = Document {
        kind: "why",
        source: estimate::source(&profile.meta),
        heading: estimate::heading(profile),
        ..Document::default()
    };
    let bounds = bounds.map(|Bounds { sentences, sheet }| {
        document.heading.extend(sentences);
        sheet
    });
    let places = Places::new(profile, options)?;
    let subject = options.subject.as_deref();
    if !places.has_flows() {
        let chosen = match places.chosen_pairs(subject) {
            Err(_) if bounds.is_some() => Vec::new(),
            chosen => chosen?,
        };
        let pairs = returns::return_pairs(&places, &chosen);
        lines::add(&mut document, &places, options, &clock, &pairs);
        document.sheets.extend(bounds);
        return Ok(document);
    }
    let flows = match places.chosen_flows(subject) {
        Err(_) if bounds.is_some() => Vec::new(),
        flows => flows?,
    };
    let pairs = pairs::flow_pairs(&places, &flows);
    let idle = Idle::from_places(&places);
    let mut sheet = Sheet::new("pairs", "Reuse pairs", columns(clock.are_known()));
    let mut reader = QuantileReader::new(profile.totals.peak_live);
    let chosen: u128 = pairs.iter().map(|pair| pair.cost).sum();
    let line_name = |line: usize| Value::Name(places.show_line(line));
    for (number, pair) in (1..).zip(sheet.first(&pairs, options.top)) {
        let words = Words::for_pair(&places, pair);
        let cures = cures::find_cures(&words, pair, idle.between(pair));
        let depths = reader.read(&pair.depths);
        let cost = profile.totals.cost;
        let [how, place, function] = sentences::touched(&places, pair, "nobody");
        let object = pair.key.object.map(|object| places.title(object));
        let time = clock.line(&places.lines[pair.key.line]);
        let first = [Value::Count(number), Value::part(pair.cost as f64, cost as f64)];
        sheet.row(first.into_iter().chain(clock.cell(&places.lines[pair.key.line])).chain([
            Value::Count(pair.cost),
            Value::Bytes(pair.bytes.into()),
            Value::Bytes(depths.p50.into()),
            Value::Bytes(depths.p90.into()),
            line_name(pair.key.line),
            name(&places.functions[pair.key.function]),
            how,
            place,
            function,
            Value::or_empty(object, Value::Name),
            Value::or_empty(pair.around.map(|at| places.loop_name(at)), Value::Name),
            Value::or_empty(pair.contexts.and_then(|(at, ..)| at).map(|at| places.context_name(at)), Value::Name),
            Value::or_empty(pair.contexts.map(|(_, at, _)| places.context_name(at)), Value::Name),
            Value::or_empty(
                (!pair.between.is_empty()).then(|| sentences::between(pair, 3, |line| places.show_line(line))),
                Value::Name,
            ),
            Value::or_empty(pair.lines.utilisation(), Value::Share),
            Value::Text(cures.iter().map(|cure| cure.name).collect::<Vec<_>>().join(", ")),
        ]));
        if number == 1 || pair.cost * sentences::WORTH >= chosen {
            document.paragraphs.push(sentences::describe_pair(&words, number, pair, &cures, time));
        }
    }
    document.sheets.push(sheet);
    document.sheets.extend(bounds);
    document.notes.extend(disagreement(profile));
    Ok(document)
}

fn name(text: &str) -> Value {
    Value::Name(text.to_owned())
}

fn columns(has_clock: bool) -> Vec<Column> {
    let clock = has_clock.then_some(("clock", ["", "clock"], 0));
    let others = [
        ("cost", ["", "ByteDMD"], 0),
        ("read", ["", "read"], 0),
        ("depth_p50", ["depth", "p50"], 0),
        ("depth_p90", ["depth", "p90"], 3),
        ("line", ["", "read at"], 0),
        ("function", ["", "in"], 5),
        ("touch", ["last", "touch"], 1),
        ("touch_line", ["", "at"], 0),
        ("touch_function", ["", "in"], 6),
        ("object", ["", "object"], 2),
        ("loop", ["loop around", "both"], 1),
        ("touch_context", ["last touch", "called by"], 9),
        ("context", ["read", "called by"], 8),
        ("between", ["touched", "between"], 7),
        ("line_use", ["line", "use"], 4),
        ("cures", ["", "try"], 0),
    ];
    let explained = |column: Column| match column.key.as_str() {
        "depth_p50" | "depth_p90" => column.explained(DEPTH),
        "line_use" => column.explained(LINE_USE),
        _ => column,
    };
    let all = [("number", ["", "pair"], 0), ("share", ["", "share"], 0)].into_iter().chain(clock).chain(others);
    all.map(|(key, header, goes)| explained(Column::new(key, header, goes))).collect()
}
