//! Which cures counts of lines support, of a pair without flows.
//!
//! | cure | when |
//! |---|---|
//! | interchange | the same loops had brought its lines in, it goes from line to line, its address changes with an outer loop too and not with data that the loop loads, it comes back to lines for other bytes, and no access that goes along lines now would go from line to line then; where moving less gains nothing, if the inner loop makes one value and its steps wait for one another |
//! | tile | the same, if one would, and if much of what it waits for are not the lines that have to come once; or a loop that does not change its address comes back to lines at least three times, and these are waited for: most come from beyond 1 MiB, or are loaded out of order |
//! | fuse | a loop before had brought the lines in, in the same order, and the second reads nothing that was near |
//! | pack | it uses at most half of its lines, and comes back to the same part of each |

use super::{
    cure::{Cure, PASSES, POOR_USE},
    deeds::Walk,
    fields,
    pairs::{Counted, Pair, Touch},
    words::Words,
};
use crate::{report::INTERCHANGE, shared::human};

/// The most promising first.
pub fn find_cures(words: &Words, pair: &Pair, counted: &Counted) -> Vec<Cure> {
    if pair.key.touch == Touch::Never {
        return Vec::new();
    }
    let across = across(words, pair, counted);
    if counted.bound.is_some() {
        return across.into_iter().filter(|_| counted.chain > 0).collect();
    }
    let own = across.or_else(|| again(words, pair, counted));
    let mut cures: Vec<Cure> =
        own.into_iter().chain(fuse(words, pair, counted)).chain(pack(words, pair, counted)).collect();
    cures.sort_by(|a, b| b.promise.total_cmp(&a.promise));
    cures
}

/// Steps from line to line.
fn across(words: &Words, pair: &Pair, counted: &Counted) -> Option<Cure> {
    let Walk::Across { is_kept } = counted.walk else { return None };
    // What brings a line in before these loops has to, whatever their order.
    if !pair.reader_loops.iter().take(2).any(|at| pair.toucher_loops.contains(at)) {
        return None;
    }
    let [inner, outer] = pair.inner_loops();
    // Of three and more, which one goes along lines is not known.
    let loops =
        if pair.reader_loops.len() == 2 || is_kept { words.two_loops([outer, inner]) } else { words.inner(inner) };
    if counted.is_opposed {
        // Blocks would have them kept, too.
        return (!is_kept && counted.blocks.is_some()).then(|| Cure {
            name: "tile",
            because: format!(
                "the inner loop goes from line to line here, and along the lines of another array: whichever loop is inside, one of them goes \
                 across; work on square blocks whose lines stay{loops}"
            ),
            promise: 0.7,
        });
    }
    if is_kept && counted.becomes_a_sum {
        return None;
    }
    let why = if counted.chain > counted.waits {
        "all of it goes into one value, each step after the one before, and steps of the loop around would not wait for one another"
    } else if is_kept {
        "its lines are used only because they stay until the next pass"
    } else {
        "each line is fetched again for its other bytes"
    };
    let because = format!("the inner loop goes from line to line; {why}{loops}");
    Some(Cure { name: INTERCHANGE, because, promise: if is_kept { 0.75 } else { 0.9 } })
}

/// A loop comes back to lines that it has lost.
fn again(words: &Words, pair: &Pair, counted: &Counted) -> Option<Cure> {
    let is_slow = counted.is_awaited || counted.far * 2 >= counted.lines;
    let passes = counted.passes.filter(|passes| is_slow && *passes >= PASSES)?;
    let around = pair.around.map_or(String::new(), |at| format!(" {}", words.of_loop(at)));
    Some(Cure {
        name: "tile",
        because: format!(
            "its lines are fetched {} times over{around}: work on a block until it is done",
            human::ratio(passes)
        ),
        promise: 0.7,
    })
}

fn fuse(words: &Words, pair: &Pair, counted: &Counted) -> Option<Cure> {
    let [first, second] = counted.two_loops?;
    let (verb, line) = match pair.key.touch {
        Touch::Written { line, .. } => ("written", line),
        Touch::Read { line, .. } => ("read", line),
        Touch::Never => return None,
    };
    Some(Cure {
        name: "fuse",
        because: format!(
            "its lines were {verb} at {} in the same order, by a loop that is over: use them there and then, if nothing needs all of them first{}",
            words.line(line),
            words.two_loops([Some(first), Some(second)])
        ),
        promise: 0.6,
    })
}

/// Puts the few bytes of each line together that are used of it.
fn pack(words: &Words, pair: &Pair, counted: &Counted) -> Option<Cure> {
    let used = counted.used.filter(|used| *used <= POOR_USE && counted.walk == Walk::Apart)?;
    let fields = fields::describe(words.places, pair).map_or(String::new(), |fields| format!(" ({fields})"));
    Some(Cure {
        name: "pack",
        because: format!(
            "{} of its lines is used, the same part each time: keep what is read together in an array of its own{fields}",
            human::share(used)
        ),
        promise: 1.0 - used,
    })
}
