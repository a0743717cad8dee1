//! What readers may rely on of cells: they are sorted, add up to the totals, and have what the profile says that was
//! measured, in numbers whose sums fit.

use std::collections::BTreeMap;

use dmdprof_runtime::observe::caches::MOST_LEVELS;

use super::check::{Check, Invalid, ensure, histogram_total, in_range, same};
use crate::profile::model::{
    CacheCounts, Cell, CellCounts, DataObjects, Dead, LeastCounts, LineCounts, Profile, Stacks, Unit,
};

/// Most bytes of a line.
const LARGEST_LINE: u32 = 1 << 20;
/// Lines that add up, at most, so that sums in bytes fit wherever they are made.
const MOST_MOVED: u128 = (u64::MAX >> 21) as u128;

pub(super) fn cells(profile: &Profile) -> Check {
    measured(profile)?;
    let mut sums = Sums::default();
    for (i, cell) in profile.cells.iter().enumerate() {
        let context = || format!("the context of cell {i}");
        in_range(cell.context.index(), profile.contexts.len(), context, "calling contexts")?;
        in_range(cell.site.index(), profile.sites.len(), || format!("the site of cell {i}"), "sites")?;
        let bytes = histogram_total(&cell.depths, || format!("the histogram of cell {i}"))?;
        ensure(bytes == u128::from(cell.read), || {
            format!("cell {i} read {}, but its histogram holds {bytes}", cell.read)
        })?;
        ensure(profile.meta.unit == Unit::Byte || cell.read == 0 && cell.cost == 0, || {
            format!("cell {i} has depths of bytes, and only lines were measured")
        })?;
        ensure(cell.cold <= cell.read, || format!("cell {i} read {}, of which {} cold", cell.read, cell.cold))?;
        cell.dead.as_ref().map_or(Ok(()), |dead| dead_bytes(profile, cell, dead, i))?;
        alone(profile, cell, i)?;
        sizes(profile, &cell.counts, || format!("cell {i}"))?;
        cell.least.as_ref().map_or(Ok(()), |least| optimum(profile, cell, least, i))?;
        cell.caches.as_ref().map_or(Ok(()), |caches| levels(profile, caches, i))?;
        kinds(profile, &cell.counts, || format!("cell {i}"))?;
        sums.add(cell)?;
    }
    let keys = |cell: &Cell| (cell.context, cell.site);
    let unsorted = profile.cells.windows(2).position(|pair| keys(&pair[0]) >= keys(&pair[1]));
    unsorted.map_or(Ok(()), |i| Err(Invalid(format!("cell {} is out of order", i + 1))))?;
    sums.are_those_of(profile)
}

/// What was measured can be.
fn measured(profile: &Profile) -> Check {
    let Profile { line_sizes, caches, optimum, meta, .. } = profile;
    ensure(!profile.has_capacities || meta.values.is_none(), || "there are capacities, but values have none".into())?;
    for (i, size) in line_sizes.iter().enumerate() {
        ensure(size.is_power_of_two() && *size <= LARGEST_LINE, || format!("lines of {size} bytes"))?;
        ensure(!line_sizes[..i].contains(size), || format!("lines of {size} bytes come twice"))?;
    }
    ensure(meta.unit == Unit::Byte || !line_sizes.is_empty(), || {
        "only lines were measured, and there are none".into()
    })?;
    ensure(caches.len() <= MOST_LEVELS, || format!("{} levels of caches", caches.len()))?;
    for (i, level) in caches.iter().enumerate() {
        ensure(Some(level.line) == profile.line_size(), || {
            format!("lines of {} bytes in level {i} of caches", level.line)
        })?;
        ensure(level.bytes > 0 && level.ways > 0, || {
            format!("{} bytes in {} ways in level {i} of caches", level.bytes, level.ways)
        })?;
    }
    let is_of_bytes = meta.values.is_none() && meta.unit == Unit::Byte;
    ensure(optimum.is_empty() || is_of_bytes, || {
        "there is an optimum, but it is measured of bytes of the memory model only".into()
    })?;
    ensure(optimum.first() != Some(&0) && optimum.is_sorted_by(|a, b| a < b), || {
        format!("an optimum at capacities {optimum:?}")
    })?;
    ensure(profile.stacks.is_none() || profile.sharing.is_some(), || {
        "threads share stacks, but nothing is said of how they met".into()
    })
}

fn dead_bytes(profile: &Profile, cell: &Cell, dead: &Dead, i: usize) -> Check {
    ensure(profile.meta.tells_dead_bytes(), || format!("cell {i} knows dead bytes, but the liveness is not exact"))?;
    ensure(dead.left.unread <= cell.written && dead.left.last_read <= cell.read, || {
        format!("cell {i} left more bytes behind than it had")
    })
}

/// A cell read as much on the stack of its thread alone as on the common one.
fn alone(profile: &Profile, cell: &Cell, i: usize) -> Check {
    if profile.alone().is_none() {
        return ensure(cell.alone.is_none(), || format!("cell {i} knows a stack that was not measured"));
    }
    let (mut bytes, mut cold) = (0, 0);
    if let Some(alone) = &cell.alone {
        bytes = histogram_total(&alone.depths, || format!("the histogram of cell {i} of threads alone"))?;
        cold = alone.cold.into();
    }
    ensure(bytes == u128::from(cell.read) && cold <= bytes, || {
        format!("cell {i} of threads alone read {bytes}, {cold} of them cold, and {} on the common stack", cell.read)
    })
}

/// Lines of each size, on the common stack and on that of the thread alone.
fn sizes(profile: &Profile, counts: &CellCounts, of: impl Fn() -> String) -> Check {
    let alone = counts.alone.iter().flat_map(|alone| &alone.lines);
    for lines in counts.lines.iter().chain(alone) {
        let (found, sizes) = (lines.len(), profile.line_sizes.len());
        ensure(found == sizes, || format!("{} has lines of {found} sizes, and {sizes} were measured", of()))?;
        lines.iter().try_for_each(|lines| moved(lines, &of).map(drop))?;
    }
    Ok(())
}

/// Lines brought in by loads and by stores, and written back.
fn moved(lines: &LineCounts, of: impl Fn() -> String) -> Result<[u128; 3], Invalid> {
    let total = |depths, always: u64, what: &str| {
        Ok(histogram_total(depths, || format!("the {what} of {}", of()))? + u128::from(always))
    };
    let loads = total(&lines.loads, lines.first_loads, "loads")?;
    let stores = total(&lines.stores, lines.first_stores, "stores")?;
    let written = total(&lines.write_backs, lines.last_write_backs, "write-backs")?;
    total(&lines.in_order, 0, "streams in order")?;
    total(&lines.at_step, 0, "streams at a step")?;
    let loaded: BTreeMap<u16, u64> = lines.loads.depths.iter().copied().collect();
    let mut streamed: BTreeMap<u16, u128> = BTreeMap::new();
    for (bucket, lines) in lines.in_order.depths.iter().chain(&lines.at_step.depths) {
        *streamed.entry(*bucket).or_default() += u128::from(*lines);
    }
    let is_part = |(bucket, lines): (&u16, &u128)| *lines <= u128::from(loaded.get(bucket).copied().unwrap_or(0));
    let first = u128::from(lines.first_in_order) + u128::from(lines.first_at_step);
    ensure(streamed.iter().all(is_part) && first <= u128::from(lines.first_loads), || {
        format!("the streams of {} are more than it loaded", of())
    })?;
    Ok([loads, stores, written])
}

/// No cell fetches more than it reads, and larger memories have no more first touches than smaller ones.
fn optimum(profile: &Profile, cell: &Cell, least: &[LeastCounts], i: usize) -> Check {
    let (found, capacities) = (least.len(), profile.optimum.len());
    ensure(found == capacities, || format!("cell {i} has an optimum at {found} of {capacities} capacities"))?;
    let warm = cell.read - cell.cold;
    ensure(least.iter().all(|least| least.fetched <= warm && least.first <= cell.cold), || {
        format!("cell {i} fetches more than it reads")
    })?;
    ensure(least.is_sorted_by(|less, more| less.first >= more.first), || {
        format!("cell {i} has more first touches at a larger capacity")
    })
}

fn levels(profile: &Profile, caches: &[CacheCounts], i: usize) -> Check {
    let (found, levels) = (caches.len(), profile.caches.len());
    ensure(found == levels, || format!("cell {i} has {found} of {levels} levels of caches"))
}

fn kinds(profile: &Profile, counts: &CellCounts, of: impl Fn() -> String) -> Check {
    let (found, kinds) = (counts.hazards.as_ref().map_or(0, |counts| counts.len()), profile.hazards.len());
    ensure(counts.hazards.is_none() || found == kinds, || format!("{} has {found} of {kinds} kinds of hazards", of()))
}

/// What all cells did.
#[derive(Default)]
struct Sums {
    read: u128,
    written: u128,
    cold: u128,
    executions: u128,
    span: u128,
    cost: u128,
    hints_cost: u128,
    cold_alone: u128,
    cost_alone: u128,
    fetched: u128,
    written_back: u128,
    by_caches: u128,
    hazards: u128,
}

impl Sums {
    fn add(&mut self, cell: &Cell) -> Check {
        let overflow = || Invalid("the costs of all cells overflow".into());
        let priced = |sum: u128, cost: u128| sum.checked_add(cost).ok_or_else(overflow);
        let dead = cell.dead.as_ref().map_or(0, |dead| dead.cost);
        self.cost = priced(self.cost, cell.cost)?;
        self.hints_cost = priced(priced(self.hints_cost, cell.cost)?, dead)?;
        self.read += u128::from(cell.read);
        self.written += u128::from(cell.written);
        self.cold += u128::from(cell.cold);
        self.executions += u128::from(cell.executions);
        self.span += u128::from(cell.span);
        let alone = cell.alone.as_ref();
        if let Some(alone) = alone {
            self.cold_alone += u128::from(alone.cold);
            self.cost_alone = priced(self.cost_alone, alone.cost)?;
        }
        for lines in cell.lines.iter().chain(alone.and_then(|alone| alone.lines.as_ref())).flatten() {
            let [loads, stores, written] = moved(lines, || "a cell".into())?;
            self.fetched += loads + stores;
            self.written_back += written;
        }
        for CacheCounts { loads, stores, write_backs } in cell.caches.iter().flatten() {
            self.by_caches += [loads, stores, write_backs].into_iter().map(|lines| u128::from(*lines)).sum::<u128>();
        }
        self.hazards += cell.hazards.iter().flatten().map(|accesses| u128::from(*accesses)).sum::<u128>();
        Ok(())
    }

    fn are_those_of(&self, profile: &Profile) -> Check {
        let totals = &profile.totals;
        same("bytes read", self.read, u128::from(totals.read))?;
        same("bytes written", self.written, u128::from(totals.written))?;
        same("first-touch bytes", self.cold, u128::from(totals.cold))?;
        same("costs", self.cost, totals.cost)?;
        let bytes = histogram_total(&profile.cold_histogram, || "the histogram of first touches".into())?;
        ensure(bytes == self.cold, || format!("{} bytes were cold, but their histogram holds {bytes}", self.cold))?;
        ensure(self.executions.max(self.span) <= u128::from(u64::MAX), || {
            "the executions of all cells overflow".into()
        })?;
        ensure(self.fetched.max(self.written_back) <= MOST_MOVED, || {
            format!("{} lines fetched, {} written back", self.fetched, self.written_back)
        })?;
        ensure(self.by_caches <= MOST_MOVED, || format!("{} lines moved by caches", self.by_caches))?;
        ensure(self.hazards <= u128::from(u64::MAX), || "the hazards of all cells overflow".into())?;
        let Some(Stacks { alone: Some(alone), .. }) = &profile.stacks else { return Ok(()) };
        same("cold bytes of threads alone", self.cold_alone, alone.totals.cold.into())?;
        same("the cost of threads alone", self.cost_alone, alone.totals.cost)?;
        let first = histogram_total(&alone.cold_histogram, || "the cold histogram of threads alone".into())?;
        same("first touches of threads alone", first, alone.totals.cold.into())
    }
}

/// Objects tell all lines of each site, or nothing is known of objects and lines.
pub(super) fn lines_of_objects(profile: &Profile, objects: &DataObjects) -> Check {
    let are_only_these = |counts: &CellCounts| {
        counts.dead.is_none() && counts.alone.is_none() && counts.caches.is_none() && counts.least.is_none()
    };
    ensure(objects.uses.iter().all(|used| are_only_these(&used.counts)), || {
        "uses of objects know what only cells do".into()
    })?;
    if objects.uses.iter().all(|used| used.lines.is_none()) {
        return Ok(());
    }
    // Of each size and site: loads, stores and write-backs of its cells, less those of its uses.
    let mut left = vec![[0u128; 3]; profile.line_sizes.len() * profile.sites.len()];
    let place = |site: usize, number: usize| number * profile.sites.len() + site;
    for cell in &profile.cells {
        for (number, lines) in cell.lines.iter().flatten().enumerate() {
            let sums = &mut left[place(cell.site.index(), number)];
            sums.iter_mut().zip(moved(lines, || "a cell".into())?).for_each(|(sum, lines)| *sum += lines);
        }
    }
    for (i, used) in objects.uses.iter().enumerate() {
        in_range(used.site.index(), profile.sites.len(), || format!("the site of use {i}"), "sites")?;
        sizes(profile, &used.counts, || format!("use {i}"))?;
        for (number, lines) in used.lines.iter().flatten().enumerate() {
            let moved = moved(lines, || format!("use {i}"))?;
            for (rest, lines) in left[place(used.site.index(), number)].iter_mut().zip(moved) {
                let more = || Invalid(format!("lines {i} of objects are more than cells moved"));
                *rest = rest.checked_sub(lines).ok_or_else(more)?;
            }
        }
    }
    ensure(left.iter().all(|rest| *rest == [0; 3]), || "the lines of objects are less than cells moved".into())
}
