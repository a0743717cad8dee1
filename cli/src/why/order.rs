//! Which loops cannot be fused, as far as flows tell: the second needs of the first what that writes later.
//!
//! What round i of the first writes and round i of the second reads lies as deep as all bytes of a whole loop. What the
//! second reads at less depth was written in a later round: a sum, a counter, an array from back to front. Values that
//! stay in registers are not seen.

use super::{pairs::alike, places::Places};
use crate::{
    profile::model::{Flow, LoopId},
    report::depths::Depths,
};

/// Part of the bytes of a flow that must lie less deep for it to count.
const MOST: f64 = 0.9;
/// Part of a pair's bytes from which another flow out of order keeps its loops apart.
const MUCH: f64 = 0.05;
/// Part of the bytes that must lie about as deep as the median for two loops to go over them in the same order.
pub const ALIKE: f64 = 0.6;
/// Part that must lie about as deep where the reader takes no even steps: a list, or chance.
pub const EQUAL: f64 = 0.95;

/// Whether the second of two loops, which reads `bytes` of the first at the depth `middle`, needs more of it at once.
pub fn needs_all(places: &Places, [first, second]: [LoopId; 2], middle: u64, bytes: u64) -> bool {
    places.flows.iter().any(|flow| {
        let (Some(writer), Some(toucher)) = (flow.writer, flow.toucher) else { return false };
        let between = places.loops.is_in(writer, first)
            && places.loops.is_in(toucher, first)
            && places.loops.is_in(flow.reader, second);
        between && is_late(flow, middle, bytes)
    })
}

/// Whether the first loop ends before the second begins, as far as the source tells. Loops of one function whose reader
/// comes first meet only in the next round of something around them.
pub fn in_order(places: &Places, [toucher, reader]: [LoopId; 2], lines: [usize; 2]) -> bool {
    let same = places.loops.function(toucher) == places.loops.function(reader);
    match [toucher, reader].map(|at| places.loops.begins_in_function(at)) {
        [Some(first), Some(second)] if same => (first, places.parts[lines[0]]) < (second, places.parts[lines[1]]),
        _ => true,
    }
}

fn is_late(flow: &Flow, middle: u64, bytes: u64) -> bool {
    let mut depths = Depths::default();
    depths.add(&flow.histogram);
    let total = depths.total();
    let near = total - depths.beyond(middle / 2);
    let is_near = total > 0 && near as f64 >= MOST * total as f64;
    is_near || (flow.bytes as f64 >= MUCH * bytes as f64 && alike(&depths) < ALIKE)
}
