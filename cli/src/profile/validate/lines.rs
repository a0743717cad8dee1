//! What readers may rely on of lines and caches: what was moved is of cells of the profile, and sums in bytes fit.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_runtime::observe::caches::MOST_LEVELS;

use super::check::{Check, Invalid, ensure, histogram_total, in_range};
use crate::profile::model::{
    CacheCell, LineCell, LineDetails, LineMoves, LineStreams, LineTraffic, ObjectLines, Profile, StreamCell,
};

/// Most bytes of a line.
const LARGEST_LINE: u32 = 1 << 20;

pub(super) fn lines(profile: &Profile) -> Check {
    let Some(lines) = &profile.lines else {
        let nothing = profile.line_details == LineDetails::default() && profile.other_lines.is_empty();
        return ensure(nothing, || "there are details of lines that were not measured".into());
    };
    lines_of_size(profile, lines, &profile.line_details)?;
    let mut sizes = BTreeSet::from([lines.size]);
    for other in &profile.other_lines {
        ensure(sizes.insert(other.traffic.size), || format!("lines of {} bytes come twice", other.traffic.size))?;
        lines_of_size(profile, &other.traffic, &other.details)?;
    }
    Ok(())
}

fn lines_of_size(profile: &Profile, lines: &LineTraffic, details: &LineDetails) -> Check {
    let of_sites = moved_in_cells(profile, lines)?;
    details.streams.iter().try_for_each(|streams| streams_of_cells(&lines.cells, streams))?;
    lines_of_objects(profile, &details.objects, of_sites)
}

/// What the cells of each site moved.
pub(super) fn moved_in_cells(profile: &Profile, lines: &LineTraffic) -> Result<Vec<[u128; 3]>, Invalid> {
    ensure(lines.size.is_power_of_two() && lines.size <= LARGEST_LINE, || format!("lines of {} bytes", lines.size))?;
    let key = |cell: &LineCell| (cell.context, cell.site);
    ensure(lines.cells.is_sorted_by(|a, b| key(a) < key(b)), || "the cells of lines are out of order".into())?;
    let (mut fetched, mut written) = (0u128, 0u128);
    let mut of_sites = vec![[0; 3]; profile.sites.len()];
    for (i, cell) in lines.cells.iter().enumerate() {
        let known = profile.cells.binary_search_by_key(&key(cell), |cell| (cell.context, cell.site));
        ensure(known.is_ok(), || format!("cell {i} of lines is no cell of the profile"))?;
        let moved = moved_lines(&cell.moved, || format!("cell {i} of lines"))?;
        fetched += moved[0] + moved[1];
        written += moved[2];
        of_sites[cell.site.index()].iter_mut().zip(moved).for_each(|(sum, lines)| *sum += lines);
    }
    // So that sums in bytes fit wherever they are made.
    ensure(fetched.max(written) <= u128::from(u64::MAX >> 21), || {
        format!("{fetched} lines fetched, {written} written back")
    })?;
    Ok(of_sites)
}

/// What came in streams was loaded, depth by depth.
pub(super) fn streams_of_cells(cells: &[LineCell], streams: &[StreamCell]) -> Check {
    let key = |cell: &StreamCell| (cell.context, cell.site);
    ensure(streams.is_sorted_by(|a, b| key(a) < key(b)), || "the streams of cells are out of order".into())?;
    for (i, cell) in streams.iter().enumerate() {
        let known = cells.binary_search_by_key(&key(cell), |cell| (cell.context, cell.site)).ok();
        let Some(known) = known.map(|at| &cells[at].moved) else {
            return Err(Invalid(format!("streams {i} are of no cell that moved lines")));
        };
        let LineStreams { in_order, at_step, first_in_order, first_at_step } = &cell.streams;
        histogram_total(in_order, || format!("streams {i} in order"))?;
        histogram_total(at_step, || format!("streams {i} at a step"))?;
        let loads: BTreeMap<u16, u64> = known.loads.depths.iter().copied().collect();
        let mut streamed: BTreeMap<u16, u128> = BTreeMap::new();
        for (bucket, lines) in in_order.depths.iter().chain(&at_step.depths) {
            *streamed.entry(*bucket).or_default() += u128::from(*lines);
        }
        let is_part = |(bucket, lines): (&u16, &u128)| *lines <= u128::from(loads.get(bucket).copied().unwrap_or(0));
        let first = u128::from(*first_in_order) + u128::from(*first_at_step);
        ensure(streamed.iter().all(is_part) && first <= u128::from(known.first_loads), || {
            format!("streams {i} are more than the cell loaded")
        })?;
    }
    Ok(())
}

/// Brought in by loads and by stores, and written back.
fn moved_lines(moved: &LineMoves, of: impl Fn() -> String) -> Result<[u128; 3], Invalid> {
    let name = |what: &str| format!("the {what} of {}", of());
    let loads = histogram_total(&moved.loads, || name("loads"))? + u128::from(moved.first_loads);
    let stores = histogram_total(&moved.stores, || name("stores"))? + u128::from(moved.first_stores);
    let written = histogram_total(&moved.write_backs, || name("write-backs"))? + u128::from(moved.last_write_backs);
    Ok([loads, stores, written])
}

/// Objects tell all lines of each site, or nothing is known of objects and lines.
fn lines_of_objects(profile: &Profile, objects: &[ObjectLines], mut left: Vec<[u128; 3]>) -> Check {
    let known = profile.objects.as_ref().map_or(0, |objects| objects.list.len());
    let key = |lines: &ObjectLines| (lines.object, lines.site);
    ensure(objects.is_sorted_by(|a, b| key(a) < key(b)), || "the lines of objects are out of order".into())?;
    for (i, lines) in objects.iter().enumerate() {
        in_range(lines.object.index(), known, || format!("the object of lines {i}"), "objects")?;
        in_range(lines.site.index(), profile.sites.len(), || format!("the site of lines {i}"), "sites")?;
        let moved = moved_lines(&lines.moved, || format!("lines {i} of objects"))?;
        for (rest, lines) in left[lines.site.index()].iter_mut().zip(moved) {
            *rest = rest
                .checked_sub(lines)
                .ok_or_else(|| Invalid(format!("lines {i} of objects are more than cells moved")))?;
        }
    }
    let is_whole = objects.is_empty() || left.iter().all(|rest| *rest == [0; 3]);
    ensure(is_whole, || "the lines of objects are less than cells moved".into())
}

/// Lines that add up over cells and levels, at most, so that sums in bytes fit wherever they are made.
const MOST_MOVED: u64 = u64::MAX >> 21;

pub(super) fn caches(profile: &Profile) -> Check {
    let Some(caches) = &profile.caches else { return Ok(()) };
    let levels = caches.levels.len();
    ensure((1..=MOST_LEVELS).contains(&levels), || format!("{levels} levels of caches"))?;
    let lines = profile.lines.as_ref().map(|lines| lines.size);
    for (i, level) in caches.levels.iter().enumerate() {
        ensure(Some(level.line) == lines, || format!("lines of {} bytes in level {i} of caches", level.line))?;
        ensure(level.bytes > 0 && level.ways > 0, || {
            format!("{} bytes in {} ways in level {i} of caches", level.bytes, level.ways)
        })?;
    }
    let key = |cell: &CacheCell| (cell.context, cell.site);
    ensure(caches.cells.is_sorted_by(|a, b| key(a) < key(b)), || "the cells of caches are out of order".into())?;
    let mut all = 0u64;
    for (i, cell) in caches.cells.iter().enumerate() {
        let known = profile.cells.binary_search_by_key(&key(cell), |cell| (cell.context, cell.site));
        ensure(known.is_ok(), || format!("cell {i} of caches is no cell of the profile"))?;
        let levels = (cell.moved.len(), caches.levels.len());
        ensure(levels.0 == levels.1, || format!("cell {i} of caches has {} of {} levels", levels.0, levels.1))?;
        for moves in &cell.moved {
            all = [moves.loads, moves.stores, moves.write_backs].into_iter().fold(all, u64::saturating_add);
        }
    }
    ensure(all <= MOST_MOVED, || format!("{all} lines moved by caches"))
}
