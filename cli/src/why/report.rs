//! The pairs as a document: a table, and a few sentences for each.

use std::collections::{BTreeMap, HashMap};

use super::{
    bounds::{self, Bounds},
    clock::Shares,
    cure, cures,
    pairs::{self, Pair, Touch},
    places::{Options, Places},
    words::Words,
};
use crate::{
    estimate,
    profile::{Profile, model::ObjectPattern},
    report::{depths::QuantileReader, disagreement::disagreement},
    shared::human,
    sheet::{Column, Document, Sheet, Value},
};

/// A pair has a paragraph if it is this part of what was asked about, at least: a hundredth.
const WORTH: u128 = 100;
/// What columns are that not everybody knows.
const DEPTH: &str = "depth: LRU stack distance in bytes, from the last touch of the same byte";
const LINE_USE: &str = "line use: part of the bytes of lines fetched that is read or written";

/// # Errors
/// A profile without flows or objects, or a subject that nothing is called.
pub fn document(profile: &Profile, options: &Options) -> anyhow::Result<Document> {
    let clock = Shares::of(profile);
    let bounds = bounds::of(profile, &clock, options);
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
    let is_measured = profile.flows.is_some() && profile.objects.is_some();
    if let Some(bounds) = bounds.clone().filter(|_| !is_measured) {
        document.sheets.push(bounds);
        let how = "Who touched which bytes last is measured by: dmdprof run --cycles --flows --objects";
        document.notes.push(how.into());
        return Ok(document);
    }
    let places = Places::new(profile, options)?;
    let flows = match places.chosen(options.subject.as_deref()) {
        Err(_) if bounds.is_some() => Vec::new(),
        flows => flows?,
    };
    let pairs = pairs::of(&places, &flows);
    let idle = Idle::of(&places);
    let mut sheet = Sheet::new("pairs", "Reuse pairs", columns(clock.are_known()));
    let mut reader = QuantileReader::new(profile.totals.peak_live);
    let chosen: u128 = pairs.iter().map(|pair| pair.cost).sum();
    let line_name = |line: usize| Value::Name(places.show_line(line));
    for (number, pair) in (1..).zip(sheet.first(&pairs, options.top)) {
        let words = Words::of(&places, pair);
        let cures = cures::of(&words, pair, idle.between(pair));
        let depths = reader.read(&pair.depths);
        let cost = profile.totals.cost;
        let (how, place, function) = match pair.key.touch {
            Touch::Never => ("nobody", Value::Empty, Value::Empty),
            Touch::Written { line, function } => ("write", line_name(line), name(&places.functions[function])),
            Touch::Read { line, function } => ("read", line_name(line), name(&places.functions[function])),
        };
        let object = pair.key.object.map(|object| places.title(object));
        let time = clock.line(&places.lines[pair.key.line]);
        let first = [Value::Count(number), Value::part(pair.cost as f64, cost as f64)];
        sheet.row(first.into_iter().chain(time.map(Value::Share)).chain([
            Value::Count(pair.cost),
            Value::Bytes(pair.bytes.into()),
            Value::Bytes(depths.p50.into()),
            Value::Bytes(depths.p90.into()),
            line_name(pair.key.line),
            name(&places.functions[pair.key.function]),
            Value::Text(how.into()),
            place,
            function,
            Value::or_empty(object, Value::Name),
            Value::or_empty(pair.around.map(|at| places.loop_name(at)), Value::Name),
            Value::or_empty(pair.contexts.and_then(|(at, ..)| at).map(|at| places.context_name(at)), Value::Name),
            Value::or_empty(pair.contexts.map(|(_, at, _)| places.context_name(at)), Value::Name),
            Value::or_empty(
                (!pair.between.is_empty()).then(|| between(pair, 3, |line| places.show_line(line))),
                Value::Name,
            ),
            Value::or_empty(pair.lines.utilisation(), Value::Share),
            Value::Text(cures.iter().map(|cure| cure.name).collect::<Vec<_>>().join(", ")),
        ]));
        if number == 1 || pair.cost * WORTH >= chosen {
            document.plots.push(sentences(&words, number, pair, &cures, time));
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

/// Lines that touched most between, with their parts of everything that was touched.
fn between(pair: &Pair, most: usize, name: impl Fn(usize) -> String) -> String {
    let mut lines: Vec<(&usize, &u64)> = pair.between.iter().collect();
    lines.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let text = |(line, bytes): (&usize, &u64)| {
        format!("{} {}", name(*line), human::percent((*bytes).into(), pair.between_all))
    };
    lines.into_iter().take(most).map(text).collect::<Vec<_>>().join(", ")
}

fn sentences(words: &Words, number: u128, pair: &Pair, cures: &[cure::Cure], time: Option<f64>) -> String {
    let places = words.places;
    let object = pair.key.object.map_or(String::new(), |object| format!(" of {}", places.title(object)));
    let place = places.show_line(pair.key.line);
    let reader = &places.functions[pair.key.function];
    let (verb, line, function) = match pair.key.touch {
        Touch::Never => ("", pair.key.line, pair.key.function),
        Touch::Written { line, function } => ("written", line, function),
        Touch::Read { line, function } => ("read", line, function),
    };
    let of_function = |function: usize| match function == pair.key.function {
        true => String::new(),
        false => format!(" ({})", places.functions[function]),
    };
    let touched = match pair.key.touch {
        Touch::Never => "which nobody touched before".to_owned(),
        _ if line == pair.key.line => format!("last {verb} there{}", of_function(function)),
        _ => format!("last {verb} at {}{}", words.line(line), of_function(function)),
    };
    let mut text =
        format!("{number}. {place} ({reader}) reads {}{object}, {touched}\n", human::bytes(pair.bytes.into()));
    if !pair.between.is_empty() {
        text += &format!("     touched between: {}\n", between(pair, 4, |line| words.line(line)));
    }
    if let Some(around) = pair.around {
        text += &format!("     both {}\n", words.of_loop(around));
    }
    if let Some((toucher, reader, cost)) = pair.contexts {
        let part = human::percent(cost, pair.cost);
        let touched = toucher.map_or("nothing".into(), |at| places.context_name(at));
        text += &format!("     {part} of it read in {}, last touched in {touched}\n", places.context_name(reader));
    }
    if let Some(time) = time {
        text += &format!("     {place} takes {} of the time\n", human::share(time));
    }
    for cure in cures {
        text += &format!("     {}: {}\n", cure.name, cure.because);
    }
    if cures.is_empty() {
        text += "     no cure: the counts support none\n";
    }
    text
}

/// How much of what lines touch is never read again.
struct Idle {
    /// By line and group of objects: (bytes never read again, bytes touched).
    lines: HashMap<usize, BTreeMap<usize, (u64, u64)>>,
}

/// Bytes of one group of objects that were touched between, and how many of them nobody reads again.
#[derive(Default)]
struct Stretch {
    /// By the line that touched most: several lines that go over an object touch the same bytes.
    distinct: f64,
    dead: f64,
    /// The line that leaves most, and how much.
    last: Option<(f64, usize)>,
}

impl Idle {
    fn of(places: &Places) -> Self {
        let mut lines: HashMap<usize, BTreeMap<usize, (u64, u64)>> = HashMap::new();
        let mut add = |site, object, (idle, touched): (u64, u64)| {
            let groups = lines.entry(places.line(site)).or_default();
            let sums = groups.entry(places.groups.of_object(object)).or_default();
            *sums = (sums.0 + idle, sums.1 + touched);
        };
        for used in &places.objects.uses {
            add(used.site, used.object, (0, used.read + used.written));
        }
        for ObjectPattern { object, site, pattern } in &places.objects.patterns {
            add(*site, *object, (pattern.unread + pattern.last_read, 0));
        }
        Self { lines }
    }

    /// Part of the bytes between the touches of a pair that is never read again, as far as it is known who touched
    /// them, and the line that leaves most of it. Bytes count once per group of objects, however many lines touch them.
    fn between(&self, pair: &Pair) -> Option<(f64, usize)> {
        let mut stretches: BTreeMap<usize, Stretch> = BTreeMap::new();
        for (line, bytes) in &pair.between {
            let Some(groups) = self.lines.get(line) else { continue };
            let all: u64 = groups.values().map(|(_, touched)| touched).sum();
            for (group, (idle, touched)) in groups.iter().filter(|(_, (_, touched))| *touched > 0) {
                let here = *bytes as f64 * *touched as f64 / all as f64;
                let dead = (*idle as f64 / *touched as f64 * here).min(here);
                let stretch = stretches.entry(*group).or_default();
                stretch.distinct = stretch.distinct.max(here);
                if pair.key.object != Some(*group) || *line != pair.key.line {
                    stretch.dead += dead;
                    stretch.last = stretch.last.filter(|(most, _)| *most >= dead).or(Some((dead, *line)));
                }
            }
        }
        let distinct: f64 = stretches.values().map(|s| s.distinct).sum();
        let dead: f64 = stretches.values().map(|s| s.dead.min(s.distinct)).sum();
        let lasts = stretches.values().filter_map(|s| s.last);
        let (most, line) = lasts.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        (most > 0.0 && distinct > 0.0).then(|| (dead / distinct, line))
    }
}
