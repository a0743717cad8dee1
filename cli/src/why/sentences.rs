//! A paragraph about a pair: who reads what, who touched it last, what lay between, and what would help.

use super::{
    cure::Cure,
    pairs::{Counted, Pair, Touch},
    places::Places,
    words::Words,
};
use crate::{document::Value, report::cycles::bound_by, shared::human};

/// A pair has a paragraph if it is this part of what was asked about, at least: a hundredth.
pub const WORTH: u128 = 100;

/// How a pair was touched before, at which line and in which function; with a word for what nobody is known to have
/// touched.
pub fn touched(places: &Places, pair: &Pair, never: &str) -> [Value; 3] {
    let (how, ends) = match pair.key.touch {
        Touch::Never => (never, None),
        Touch::Written { line, function } => ("write", Some((line, function))),
        Touch::Read { line, function } => ("read", Some((line, function))),
    };
    let place = ends.map(|(line, _)| places.show_line(line));
    let function = ends.map(|(_, function)| places.functions[function].clone());
    [Value::Text(how.into()), Value::or_empty(place, Value::Name), Value::or_empty(function, Value::Name)]
}

/// Lines that touched most between, with their parts of everything that was touched.
pub fn between(pair: &Pair, most: usize, name: impl Fn(usize) -> String) -> String {
    let mut lines: Vec<(&usize, &u64)> = pair.between.iter().collect();
    lines.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let text = |(line, bytes): (&usize, &u64)| {
        format!("{} {}", name(*line), human::percent((*bytes).into(), pair.between_all))
    };
    lines.into_iter().take(most).map(text).collect::<Vec<_>>().join(", ")
}

/// The paragraph of the pair with a number.
pub fn describe_pair(words: &Words, number: u128, pair: &Pair, cures: &[Cure], time: Option<f64>) -> String {
    let places = words.places;
    let object = pair.key.object.map_or(String::new(), |object| format!(" of {}", places.title(object)));
    let place = places.show_line(pair.key.line);
    let reader = &places.functions[pair.key.function];
    let (verb, line, function) = match pair.key.touch {
        Touch::Never => ("", pair.key.line, pair.key.function),
        Touch::Written { line, function } => ("written", line, function),
        Touch::Read { line, function } => ("read", line, function),
    };
    let verb = if pair.counted.is_some() { "fetched" } else { verb };
    let of_function = |function: usize| match function == pair.key.function {
        true => String::new(),
        false => format!(" ({})", places.functions[function]),
    };
    let touched = match pair.key.touch {
        Touch::Never if pair.counted.is_some() => "which code that is not counted fetched before".to_owned(),
        Touch::Never => "which nobody touched before".to_owned(),
        _ if line == pair.key.line => format!("last {verb} there{}", of_function(function)),
        _ => format!("last {verb} at {}{}", words.line(line), of_function(function)),
    };
    let bytes = human::bytes(pair.bytes.into());
    let what = match &pair.counted {
        None => format!("reads {bytes}{object}"),
        Some(counted) => fetched(counted, pair.bytes),
    };
    let mut text = format!("{number}. {place} ({reader}) {what}, {touched}\n");
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
    match time {
        _ if pair.counted.is_some_and(|counted| counted.is_library) => {
            text += &format!("     {place} calls a library for it, whose functions have its cycles and time\n");
        }
        Some(time) => text += &format!("     {place} takes {} of the time\n", human::share(time)),
        None => {}
    }
    for cure in cures {
        text += &format!("     {}: {}\n", cure.name, cure.because);
    }
    let bound = pair.counted.and_then(|counted| counted.bound);
    match bound {
        Some(bound) => text += &format!("     nothing to gain by moving less here: bound by {}\n", bound_by(bound)),
        None if cures.is_empty() => text += "     no cure: the counts support none\n",
        None => {}
    }
    text
}

/// What a pair of lines fetches.
fn fetched(counted: &Counted, bytes: u64) -> String {
    let used = counted.used.map_or(String::new(), |used| format!(", and uses {} of its lines", human::share(used)));
    let far = match counted.far {
        0 => String::new(),
        far => format!(" ({} of it from beyond 1 MiB)", human::percent(far.into(), counted.lines.into())),
    };
    format!("fetches {} again in lines{far}{used}", human::bytes(bytes.into()))
}
