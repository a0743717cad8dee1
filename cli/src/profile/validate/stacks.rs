//! What readers may rely on of stacks of threads alone: each cell read as much as it did on the common stack.

use super::{
    check::{Check, Invalid, ensure, histogram_total, same},
    lines::{moved_in_cells, streams_of_cells},
};
use crate::profile::model::{Alone, AloneCell, AloneLines, LineTraffic, Profile};

pub(super) fn stacks(profile: &Profile) -> Check {
    let Some(stacks) = &profile.stacks else { return Ok(()) };
    ensure(profile.sharing.is_some(), || "threads share stacks, but nothing is said of how they met".into())?;
    stacks.alone.as_ref().map_or(Ok(()), |alone| of_threads(profile, alone))
}

fn of_threads(profile: &Profile, alone: &Alone) -> Check {
    let key = |cell: &AloneCell| (cell.context, cell.site);
    ensure(alone.cells.is_sorted_by(|a, b| key(a) < key(b)), || "the cells of threads alone are out of order".into())?;
    let mut reading = profile.cells.iter().filter(|cell| cell.read > 0);
    let (mut cold, mut cost) = (0u128, 0u128);
    for (i, cell) in alone.cells.iter().enumerate() {
        let same_cell = reading.next().filter(|other| (other.context, other.site) == key(cell));
        let read = same_cell.map_or(0, |other| u128::from(other.read));
        let bytes = histogram_total(&cell.histogram, || format!("the histogram of cell {i} of threads alone"))?;
        ensure(bytes == read && u128::from(cell.cold) <= bytes, || {
            format!(
                "cell {i} of threads alone read {bytes}, {} of them cold, and {read} on the common stack",
                cell.cold
            )
        })?;
        cold += u128::from(cell.cold);
        cost = cost.checked_add(cell.cost).ok_or_else(|| Invalid("the cost of threads alone overflows".into()))?;
    }
    ensure(reading.next().is_none(), || "a cell that reads is none of threads alone".into())?;
    same("cold bytes of threads alone", cold, alone.totals.cold.into())?;
    same("the cost of threads alone", cost, alone.totals.cost)?;
    let first = histogram_total(&alone.cold_histogram, || "the cold histogram of threads alone".into())?;
    same("first touches of threads alone", first, alone.totals.cold.into())?;
    lines(profile, &alone.lines)
}

fn lines(profile: &Profile, alone: &[AloneLines]) -> Check {
    let others = profile.other_lines.iter().map(|other| &other.traffic);
    let sizes: Vec<u32> = profile.lines.iter().chain(others).map(|lines| lines.size).collect();
    ensure(sizes.len() == alone.len(), || {
        format!("{} sizes of lines, and {} of threads alone", sizes.len(), alone.len())
    })?;
    for (size, lines) in sizes.into_iter().zip(alone) {
        moved_in_cells(profile, &LineTraffic { size, cells: lines.cells.clone() })?;
        streams_of_cells(&lines.cells, &lines.streams)?;
    }
    Ok(())
}
