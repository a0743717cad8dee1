//! Which of the usual cures the counts of a pair support, the most promising first.
//!
//! | cure | when |
//! |---|---|
//! | interchange | it uses at most half of its lines, and comes back to them in even steps for other bytes; or it steps far and uses all |
//! | pack | it uses at most half of them, and the same part each time |
//! | align | elements that would fit into one line are met in more |
//! | stream stores | its lines were fetched to be written whole, and left the last level before they are read |
//! | drop the copy | the bytes were put there by a copy, and are read about once |
//! | tile | the bytes were read before in the same function, lie beyond fast memory, and the reader goes over its object several times, in even steps |
//! | fuse | a loop before the reader's touched them last, in the same order (alike deep), they lie beyond fast memory, and no flow shows that the reader's needs all of it first |
//! | free earlier | most of what lies between is never read again |
//! | shrink the type | the reader uses its lines whole, element by element, and nothing else helps |
//!
//! Each has a *promise*: the part of the pair's movement that it can avoid, as far as the counts tell. It orders the
//! cures and is not shown. Of a loop order that is wrong and blocks that are missing only the order is named: put
//! right, a naive matrix product is 2.5 times as fast as in blocks, and what is then left to do, the counts of the new
//! program say.

use dmdprof_runtime::observe::patterns::FAST;

use super::{
    counted,
    cure::{Cure, DEEP, PASSES},
    layout, order,
    pairs::{Pair, Touch, alike},
    words::Words,
};
use crate::{profile::model::LoopId, report::INTERCHANGE, shared::human};

/// Bytes of the widest vectors; more at a time are copies and fills, not elements.
const WIDEST: u32 = 64;

/// Cures of a pair. `dead` is the part of what lies between that is never read again, and the line that leaves most of
/// it.
pub fn find_cures(words: &Words, pair: &Pair, dead: Option<(f64, usize)>) -> Vec<Cure> {
    if let Some(counted) = &pair.counted {
        return counted::find_cures(words, pair, counted);
    }
    let layout = layout::find_cures(words, pair);
    let is_order = layout.iter().any(|cure| cure.name == INTERCHANGE);
    let tile = tile(pair, dead).filter(|_| !is_order);
    let mut cures: Vec<Cure> = layout
        .into_iter()
        .chain(copy(pair))
        .chain(tile)
        .chain(fuse(words, pair))
        .chain(free(words, pair, dead))
        .collect();
    if cures.is_empty() {
        cures.extend(shrink(pair));
    }
    cures.sort_by(|a, b| b.promise.total_cmp(&a.promise));
    cures
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

fn tile(pair: &Pair, dead: Option<(f64, usize)>) -> Option<Cure> {
    let same = match pair.key.touch {
        Touch::Never => false,
        Touch::Written { line, .. } => line == pair.key.line,
        Touch::Read { function, .. } => function == pair.key.function,
    };
    let passes = if pair.object_bytes > 0 { pair.read as f64 / pair.object_bytes as f64 } else { 0.0 };
    // Blocks bring the reader's own touches together; what is dead between them they do not take away.
    let dead = dead.map_or(0.0, |(part, _)| part.min(1.0));
    (same && pair.is_regular() && pair.deep() >= DEEP && passes >= PASSES).then(|| Cure {
        name: "tile",
        because: format!(
            "it is read {} times over, and {} of the bytes lie beyond {}: work on a block until it is done",
            human::ratio(passes),
            human::share(pair.deep()),
            human::bytes(FAST.into())
        ),
        promise: 0.7 * pair.deep() * (1.0 - dead),
    })
}

fn fuse(words: &Words, pair: &Pair) -> Option<Cure> {
    let places = words.places;
    let (verb, line) = match pair.key.touch {
        Touch::Written { line, .. } => ("written", line),
        Touch::Read { line, .. } => ("read", line),
        Touch::Never => return None,
    };
    // Of loops around one end the outermost that is not around the other.
    let inside = |loops: &[LoopId]| loops.iter().copied().take_while(|at| Some(*at) != pair.around).last();
    let (toucher, reader) = (inside(&pair.toucher_loops)?, inside(&pair.reader_loops)?);
    let alike = alike(&pair.depths);
    let ordered = order::in_order(places, [toucher, reader], [line, pair.key.line])
        && (alike >= if pair.is_regular() { order::ALIKE } else { order::EQUAL });
    if line == pair.key.line || pair.deep() < DEEP || !ordered {
        return None;
    }
    if order::needs_all(places, [toucher, reader], pair.depths.middle().0, pair.bytes) {
        return None;
    }
    Some(Cure {
        name: "fuse",
        because: format!(
            "{} of the bytes lie beyond {} since they were {verb} at {}: use them there and then, if nothing needs all of them first{}",
            human::share(pair.deep()),
            human::bytes(FAST.into()),
            words.line(line),
            words.two_loops([Some(toucher), Some(reader)])
        ),
        promise: 0.6 * pair.deep(),
    })
}

fn free(words: &Words, pair: &Pair, dead: Option<(f64, usize)>) -> Option<Cure> {
    let (part, line) = dead.filter(|(part, _)| *part >= 0.5)?;
    // A read at depth d costs its root; without what is dead the depth is smaller by that part.
    let promise = 1.0 - (1.0 - part.min(1.0)).sqrt();
    (pair.deep() >= DEEP).then(|| Cure {
        name: "free earlier",
        because: format!(
            "about {} of what lies between is never read again, most of it touched at {}: end its life, or use its memory again; these reads \
             then cost about {} less",
            human::share(part),
            words.line(line),
            human::share(promise)
        ),
        promise,
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
