//! Where an affine run touches lines that are marked, without going through its accesses one by one.

use std::ops::Range;

use super::stack::LINE;
use crate::{
    abi::sample::{BUCKET_SHIFT, BUCKETS, HASH},
    engine::Stream,
};

/// Lines that are looked up together.
const ROW: u64 = 8;

/// The first of some iterations in which a stream touches a line that is marked; their end if there is none.
pub fn next_visit(marks: &[bool; BUCKETS], stream: &Stream, iterations: Range<u64>) -> u64 {
    let Some(more) = (iterations.end - iterations.start).checked_sub(1) else { return iterations.end };
    let (stride, step, len) = (stream.stride, stream.stride.unsigned_abs(), u64::from(stream.len));
    let address = stream.address_at(iterations.start);
    let distance = step.saturating_mul(more);
    let (low, high) = if stride >= 0 {
        (Some(address), address.checked_add(distance.saturating_add(len - 1)))
    } else {
        (address.checked_sub(distance), address.checked_add(len - 1))
    };
    let is_one_line = step > 0 && step.is_multiple_of(LINE) && address % LINE + len <= LINE;
    if is_one_line && low.is_some() && high.is_some() {
        let by = stride / LINE as i64;
        let found = first_marked(marks, address / LINE, by, more);
        return found.map_or(iterations.end, |steps| iterations.start + steps);
    }
    let (true, Some(low), Some(high)) = (step < LINE, low, high) else {
        let is_marked = |at: &u64| {
            let address = stream.address_at(*at);
            let line = address / LINE;
            first_marked(marks, line, 1, address.saturating_add(len - 1) / LINE - line).is_some()
        };
        return iterations.clone().find(is_marked).unwrap_or(iterations.end);
    };
    // It touches every line from its first to its last.
    let (low, high) = (low / LINE, high / LINE);
    let (first, by) = if stride >= 0 { (low, 1) } else { (high, -1) };
    let Some(steps) = first_marked(marks, first, by, high - low) else { return iterations.end };
    let line = first.wrapping_add_signed(by * steps as i64);
    // The stream comes there when what it touches first of a line has gone so far.
    let away = if stride >= 0 {
        (line * LINE).saturating_sub(address + (len - 1))
    } else {
        address.saturating_sub(line * LINE + (LINE - 1))
    };
    iterations.start + if step == 0 { 0 } else { away.div_ceil(step) }
}

/// How many steps from a line on, of so many lines each, the first one that is marked is; nothing if there is none
/// within `most` steps.
#[inline]
fn first_marked(marks: &[bool; BUCKETS], line: u64, by: i64, most: u64) -> Option<u64> {
    // Steps of the hash are as long as each other, too.
    let (hash, step) = (line.wrapping_mul(HASH), by.cast_unsigned().wrapping_mul(HASH));
    let is_marked = |at: u64| marks[(hash.wrapping_add(step.wrapping_mul(at)) >> BUCKET_SHIFT) as usize];
    let mut at = 0;
    // Few are: most rows have none, and are gone over without a question for each line.
    while most - at >= ROW && !(at..at + ROW).fold(false, |any, at| any | is_marked(at)) {
        at += ROW;
    }
    (at..=most).find(|at| is_marked(*at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::sample::{Draws, bucket},
        engine::Kind,
    };

    #[test]
    fn the_next_visit_is_the_first_iteration_with_a_byte_in_a_marked_line() {
        let mut draws = Draws::new(11);
        let strides = [0, 1, 8, -8, 24, -24, 63, 64, -64, 100, -100, 128, -192, 4096, -4160];
        for rarity in [4, 64, 400] {
            let mut marks = Box::new([false; BUCKETS]);
            marks.iter_mut().for_each(|mark| *mark = draws.below(rarity) == 0);
            for _ in 0..4000 {
                let addr = match draws.below(4) {
                    0 => draws.below(20_000),
                    1 => u64::MAX - draws.below(20_000),
                    _ => (1 << 40) + draws.below(1 << 20),
                };
                let stride = strides[draws.below(strides.len() as u64) as usize];
                let len = [1, 8, 8, 64, 100][draws.below(5) as usize];
                let stream = Stream { addr, stride, len, kind: Kind::Load };
                let start = draws.below(20);
                let iterations = start..start + draws.below(if rarity == 4 { 8 } else { 150 });
                let is_marked = |at: &u64| {
                    let address = stream.address_at(*at);
                    let last = address.saturating_add(u64::from(len) - 1);
                    (address / LINE..=last / LINE).any(|line| marks[bucket(line)])
                };
                let expected = iterations.clone().find(is_marked).unwrap_or(iterations.end);
                assert_eq!(next_visit(&marks, &stream, iterations.clone()), expected, "{stream:?}, {iterations:?}");
            }
        }
    }
}
