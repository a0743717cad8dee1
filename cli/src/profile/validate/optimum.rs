//! What readers may rely on of the optimum: it is of cells of the profile, no cell fetches more than it reads, and
//! larger memories fetch no more than smaller ones.

use super::check::{Check, ensure};
use crate::profile::model::{OptimumCell, Profile, Unit};

pub(super) fn optimum(profile: &Profile) -> Check {
    let Some(optimum) = &profile.optimum else { return Ok(()) };
    let is_of_bytes = profile.meta.values.is_none() && profile.meta.unit == Unit::Byte;
    ensure(is_of_bytes, || "there is an optimum, but it is measured of bytes of the memory model only".into())?;
    let capacities = &optimum.capacities;
    ensure(!capacities.is_empty() && capacities[0] > 0 && capacities.is_sorted_by(|a, b| a < b), || {
        format!("an optimum at capacities {capacities:?}")
    })?;
    let key = |cell: &OptimumCell| (cell.context, cell.site);
    ensure(optimum.cells.is_sorted_by(|a, b| key(a) < key(b)), || "the cells of the optimum are out of order".into())?;
    for (i, cell) in optimum.cells.iter().enumerate() {
        let known = profile.cells.binary_search_by_key(&key(cell), |cell| (cell.context, cell.site));
        let Some(known) = known.ok().map(|at| &profile.cells[at]) else {
            return ensure(false, || format!("cell {i} of the optimum is no cell of the profile"));
        };
        let count = (cell.least.len(), capacities.len());
        ensure(count.0 == count.1, || format!("cell {i} of the optimum has {} of {} capacities", count.0, count.1))?;
        let warm = known.read - known.cold;
        ensure(cell.least.iter().all(|least| least.fetched <= warm && least.first <= known.cold), || {
            format!("cell {i} of the optimum fetches more than it reads")
        })?;
        let first = |cell: &OptimumCell| cell.least.is_sorted_by(|less, more| less.first >= more.first);
        ensure(first(cell), || format!("cell {i} of the optimum has more first touches at a larger capacity"))?;
    }
    Ok(())
}
