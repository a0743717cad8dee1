//! Which of the usual cures the counts of a pair support, the most promising first.
//!
//! | cure | when |
//! |---|---|
//! | interchange | the reader uses at most half of the lines that it fetches, and comes back to the same lines for other bytes; or it steps from line to line, uses them whole all the same, and the bytes lie beyond fast memory |
//! | pack | it uses at most half of them, and the same part each time |
//! | drop the copy | the bytes were put there by a copy, and are read about once |
//! | tile | the bytes were read before in the same function, lie beyond fast memory, and the reader goes over its object several times |
//! | fuse | another line wrote or read them last, in a loop that comes before the reader's, and they lie beyond fast memory, all alike deep: in the order in which they were touched |
//! | free earlier | most of what lies between is never read again |
//! | shrink the type | the reader uses its lines whole, element by element, and nothing else helps |
//!
//! Each has a *promise*: the part of the pair's movement that it can avoid, as far as the counts tell. It orders the cures and is not shown.

use dmdprof_runtime::session::habits::LINE;

use super::{
    Places, fields,
    pairs::{Pair, Touch},
};
use crate::{profile::model::LoopId, report::human};

/// Bytes of the widest vectors; more at a time are copies and fills, not elements.
const WIDEST: u32 = 64;
/// Half of the lines and less is a waste.
const POOR_USE: f64 = 0.5;
/// Part of the pair's bytes that must lie beyond fast memory for a cure that brings touches together.
const DEEP: f64 = 0.25;
/// Times that a reader goes over its object before blocks of it are worth their loops.
const PASSES: f64 = 3.0;
/// Part of the bytes that must lie about as deep as the median for two loops to go over them in the same order.
const ALIKE: f64 = 0.6;

#[derive(Clone, Debug, PartialEq)]
pub struct Cure {
    pub name: &'static str,
    /// The counts that speak for it.
    pub because: String,
    promise: f64,
}

/// Cures of a pair. `dead` is the part of what lies between that is never read again, and the line that leaves most of it.
pub fn of(places: &Places, pair: &Pair, dead: Option<(f64, usize)>) -> Vec<Cure> {
    let line_use = lines(places, pair);
    let helped = line_use.is_some();
    let mut cures: Vec<Cure> = line_use
        .into_iter()
        .chain(copy(pair))
        .chain(tile(pair))
        .chain(fuse(places, pair))
        .chain(fitting(places, pair))
        .collect();
    cures.extend(free(places, pair, dead));
    if !helped && cures.is_empty() {
        cures.extend(shrink(pair));
    }
    cures.sort_by(|a, b| b.promise.total_cmp(&a.promise));
    cures
}

/// `: the loops at a.c:3 and a.c:4`, if both are known.
fn two_loops(places: &Places, loops: [Option<LoopId>; 2]) -> String {
    let names = loops.map(|at| at.and_then(|at| places.loops.place(at)));
    match names {
        [Some(a), Some(b)] if a != b => format!(": the loops at {a} and {b}"),
        _ => String::new(),
    }
}

fn lines(places: &Places, pair: &Pair) -> Option<Cure> {
    let lines = &pair.lines;
    let used = lines.utilisation().filter(|used| *used <= POOR_USE)?;
    let part = human::share(used);
    let promise = 1.0 - used;
    if lines.renewed * 4 >= lines.lines {
        let step = if lines.strided * 2 >= lines.reads {
            format!("steps of {} bytes", human::grouped(lines.stride.unsigned_abs().into()))
        } else {
            "changing steps".into()
        };
        let (inner, outer) = (pair.reader_loops.first().copied(), pair.reader_loops.get(1).copied());
        let loops = two_loops(places, [outer, inner]);
        let because =
            format!("{step}: {part} of each line is used before it leaves, and the rest is fetched again later{loops}");
        return Some(Cure { name: "interchange", because, promise });
    }
    let fields = fields::of(places, pair).map_or(String::new(), |fields| format!(" ({fields})"));
    let because = if lines.strided * 2 >= lines.reads {
        format!(
            "{part} of each line is used, the same part each time, in steps of {} bytes: keep what is read together in an array of its own{fields}",
            human::grouped(lines.stride.unsigned_abs().into())
        )
    } else {
        format!(
            "{part} of each line is used, in no order: keep the elements in an array, in the order in which they are read{fields}"
        )
    };
    Some(Cure { name: "pack", because, promise })
}

/// Steps from line to line that use the lines whole: as many lines as one pass of the inner loop takes still fit into fast memory, if nothing else
/// is there and its sets are used evenly.
fn fitting(places: &Places, pair: &Pair) -> Option<Cure> {
    let lines = &pair.lines;
    let used = lines.utilisation().filter(|used| *used > POOR_USE)?;
    let far = lines.stride.unsigned_abs() >= LINE && lines.strided * 2 >= lines.reads;
    let [inner, outer] = [pair.reader_loops.first(), pair.reader_loops.get(1)].map(|at| at.copied());
    (far && outer.is_some() && pair.deep() >= DEEP).then(|| Cure {
        name: "interchange",
        because: format!(
            "the inner loop steps {} bytes, from line to line; its lines are used ({}) only because they stay until the next pass{}",
            human::grouped(lines.stride.unsigned_abs().into()),
            human::share(used),
            two_loops(places, [outer, inner])
        ),
        promise: 0.5 * pair.deep(),
    })
}

fn copy(pair: &Pair) -> Option<Cure> {
    let copied = pair.copied.filter(|copied| *copied > 0)?;
    let times = pair.bytes as f64 / copied as f64;
    (0.5..=1.5).contains(&times).then(|| Cure {
        name: "drop the copy",
        because: format!("{} are copied there and read about once: read the original", human::bytes(copied.into())),
        promise: 0.95,
    })
}

fn tile(pair: &Pair) -> Option<Cure> {
    let same = match pair.key.touch {
        Touch::Never => false,
        Touch::Written { line, .. } => line == pair.key.line,
        Touch::Read { function, .. } => function == pair.key.function,
    };
    let passes = if pair.object_bytes > 0 { pair.read as f64 / pair.object_bytes as f64 } else { 0.0 };
    (same && pair.deep() >= DEEP && passes >= PASSES).then(|| Cure {
        name: "tile",
        because: format!(
            "it is read {} times over, and {} of the bytes lie beyond {}: work on a block until it is done",
            human::ratio(passes),
            human::share(pair.deep()),
            human::bytes(dmdprof_runtime::session::habits::FAST.into())
        ),
        promise: 0.7 * pair.deep(),
    })
}

fn fuse(places: &Places, pair: &Pair) -> Option<Cure> {
    let (verb, line) = match pair.key.touch {
        Touch::Written { line, .. } => ("written", line),
        Touch::Read { line, .. } => ("read", line),
        Touch::Never => return None,
    };
    // Of loops around one end the outermost that is not around the other.
    let inside = |loops: &[LoopId]| loops.iter().copied().take_while(|at| Some(*at) != pair.around).last();
    let ends = [inside(&pair.toucher_loops), inside(&pair.reader_loops)];
    (line != pair.key.line && pair.deep() >= DEEP && pair.alike() >= ALIKE && in_order(places, ends)).then(|| Cure {
        name: "fuse",
        because: format!(
            "{} of the bytes lie beyond {} since they were {verb} at {}: use them there and then, if nothing needs all of them first{}",
            human::share(pair.deep()),
            human::bytes(dmdprof_runtime::session::habits::FAST.into()),
            places.lines[line],
            two_loops(places, ends)
        ),
        promise: 0.6 * pair.deep(),
    })
}

/// Whether the first loop ends before the second begins, as far as their lines tell; what is in no loop cannot be fused. Loops of one function whose
/// reader comes first meet only in the next round of something around them.
fn in_order(places: &Places, [toucher, reader]: [Option<LoopId>; 2]) -> bool {
    let (Some(toucher), Some(reader)) = (toucher, reader) else { return false };
    let same = places.loops.function(toucher) == places.loops.function(reader);
    match (places.loops.line(toucher), places.loops.line(reader)) {
        (Some(first), Some(second)) if same => first < second,
        _ => true,
    }
}

fn free(places: &Places, pair: &Pair, dead: Option<(f64, usize)>) -> Option<Cure> {
    let (part, line) = dead.filter(|(part, _)| *part >= 0.5)?;
    (pair.deep() >= DEEP).then(|| Cure {
        name: "free earlier",
        because: format!(
            "about {} of what lies between is never read again, most of it touched at {}: end its life, or use its memory again",
            human::share(part),
            places.lines[line]
        ),
        // A read at depth d costs its root; without what is dead the depth is smaller by that part.
        promise: 1.0 - (1.0 - part.min(1.0)).sqrt(),
    })
}

fn shrink(pair: &Pair) -> Option<Cure> {
    let width = pair.width.filter(|width| (4..=WIDEST).contains(width))?;
    let whole = pair.lines.utilisation().is_some_and(|used| used >= 0.9);
    (whole && pair.deep() >= DEEP).then(|| Cure {
        name: "shrink the type",
        because: format!(
            "all bytes of its lines are used, in accesses of {width} bytes: smaller elements move less, if the values allow it"
        ),
        promise: 0.1,
    })
}
