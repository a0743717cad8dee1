//! Element lists of small kernels: what each iteration brings in and what is not needed after it.

use std::collections::BTreeSet;

use super::{
    counts::Policy,
    model::{Motion, Tile},
};
use crate::document::{Column, Sheet, Value};

/// An element: block of its array, index in the block.
type Element = (u32, u64);

/// One row per tile and array, in the order of execution.
#[must_use]
pub fn sheet(motion: &Motion, policy: Policy, levels: &[u32], label: impl Fn(u32) -> String) -> Sheet {
    let columns = vec![
        Column::new("iteration", ["", "iteration"], 0),
        Column::new("delta", ["", "brought in"], 0),
        Column::new("shrink", ["not needed", "after"], 0),
        Column::new("array", ["", "array"], 0),
        Column::new("loop", ["", "loop"], 0),
    ];
    let title = format!("Elements of each iteration (policy {})", policy.word());
    let mut sheet = Sheet::new("elements", title, columns);
    for (tiles, level) in motion.tiles.iter().flat_map(|thread| levels.iter().map(move |level| (thread, *level))) {
        let tiles: Vec<&Tile> = tiles.iter().filter(|tile| tile.level == level).collect();
        let arrays: BTreeSet<u32> = tiles.iter().flat_map(|tile| tile.arrays.iter().map(|(array, _)| *array)).collect();
        for array in arrays {
            let size = motion.arrays[array as usize].element.max(1);
            let sets: Vec<BTreeSet<Element>> = tiles.iter().map(|tile| elements(tile, array, size)).collect();
            for (at, tile) in tiles.iter().enumerate() {
                let before = neighbour(&sets, at.checked_sub(1), policy == Policy::Reset && tile.first);
                let next_is_first = tiles.get(at + 1).is_some_and(|next| next.first);
                let after = neighbour(&sets, Some(at + 1), policy == Policy::Reset && next_is_first);
                let (delta, shrink) = (difference(&sets[at], before), difference(&sets[at], after));
                if delta.is_empty() && shrink.is_empty() {
                    continue;
                }
                let timestamp: Vec<String> = tile.timestamp.iter().map(u64::to_string).collect();
                sheet.row([
                    Value::Text(timestamp.join(",")),
                    Value::Text(list(&delta)),
                    Value::Text(list(&shrink)),
                    Value::Name(motion.arrays[array as usize].name.clone()),
                    Value::Name(label(level)),
                ]);
            }
        }
    }
    sheet
}

fn neighbour(sets: &[BTreeSet<Element>], at: Option<usize>, is_apart: bool) -> Option<&BTreeSet<Element>> {
    at.filter(|_| !is_apart).and_then(|at| sets.get(at))
}

fn difference(set: &BTreeSet<Element>, from: Option<&BTreeSet<Element>>) -> BTreeSet<Element> {
    from.map_or_else(|| set.clone(), |from| set.difference(from).copied().collect())
}

fn elements(tile: &Tile, array: u32, size: u64) -> BTreeSet<Element> {
    let ranges = tile.arrays.iter().filter(|(known, _)| *known == array).flat_map(|(_, ranges)| ranges);
    ranges.flat_map(|(block, start, end)| (start / size..end.div_ceil(size)).map(|index| (*block, index))).collect()
}

/// `0,1,2,7`; elements of blocks after the first are `block:index`.
fn list(elements: &BTreeSet<Element>) -> String {
    let word = |(block, index): &Element| if *block == 0 { index.to_string() } else { format!("{block}:{index}") };
    elements.iter().map(word).collect::<Vec<_>>().join(",")
}
