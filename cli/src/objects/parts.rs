//! `report --objects --fields`: where in their large blocks the reads of objects go.
//!
//! Blocks of 4 KiB and more are cut into 64 parts; a read counts where it begins. Objects without such blocks have no
//! row.

use super::{
    groups::{Groups, word},
    numbers::Selected,
};
use crate::{
    document::{Column, Sheet, Value},
    report::Sums,
};

/// Eighths of the largest count, from nothing to all.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Parts per bar.
const TOGETHER: usize = 2;

/// The table, for objects in the order that the other tables have; `None` if none has a large block.
pub(super) fn sheet(selected: &Selected<usize>, groups: &Groups) -> Option<Sheet> {
    let mut sheet = Sheet::new(
        "offsets",
        "Where in large blocks (4 KiB and more)",
        vec![
            Column::new("read", ["", "read"], 0),
            Column::new("touched", ["parts", "read"], 2),
            Column::new("hot", ["parts with", "90 % of reads"], 1),
            Column::new("where", ["from the first to", "the last byte"], 0),
            Column::new("kind", ["", "kind"], 3),
            Column::new("object", ["", "object"], 0),
        ],
    );
    let rows: Vec<&(usize, Sums)> = selected.0.iter().filter(|(group, _)| read(groups, *group) > 0).collect();
    for (group, _) in &rows {
        let known = &groups.list[*group];
        let touched = known.parts.iter().filter(|bytes| **bytes > 0).count();
        let share = |parts: usize| Value::Share(parts as f64 / known.parts.len() as f64);
        sheet.row([
            Value::Bytes(read(groups, *group)),
            share(touched),
            share(hot(&known.parts)),
            Value::Text(bars(&known.parts)),
            Value::Text(word(known.kind).into()),
            Value::Name(known.name.clone()),
        ]);
    }
    (!rows.is_empty()).then_some(sheet)
}

fn read(groups: &Groups, group: usize) -> u128 {
    groups.list[group].parts.iter().sum()
}

/// The least number of parts with 90 % of the bytes.
fn hot(parts: &[u128]) -> usize {
    let mut sorted = parts.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let total: u128 = parts.iter().sum();
    let mut sum = 0;
    let needed = |bytes: &&u128| {
        let before = sum;
        sum += **bytes;
        before * 10 < total * 9
    };
    sorted.iter().take_while(needed).count()
}

/// One character per few parts, as high as their share of the largest; anything that was read is seen.
fn bars(parts: &[u128]) -> String {
    let sums: Vec<u128> = parts.chunks(TOGETHER).map(|parts| parts.iter().sum()).collect();
    let largest = sums.iter().copied().max().unwrap_or(0).max(1);
    sums.iter().map(|bytes| BARS[((bytes * 8).div_ceil(largest)) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_parts_are_the_fewest_that_suffice() {
        assert_eq!(hot(&[0, 90, 10, 0]), 1);
        assert_eq!(hot(&[0, 89, 10, 1]), 2);
        assert_eq!(hot(&[1; 64]), 58);
        assert_eq!(hot(&[]), 0);
    }

    #[test]
    fn bars_show_what_is_little_and_leave_out_what_is_nothing() {
        assert_eq!(bars(&[0, 0, 1, 0, 1000, 1000, 500, 500]), " ▁█▄");
    }
}
