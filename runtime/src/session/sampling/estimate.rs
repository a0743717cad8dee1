//! From what was priced to the whole: what the reads cost of which the depths were not looked at.
//!
//! How many bytes a cell read is known exactly, of old bytes and of others, so only the mean price of a byte is estimated: by the
//! cell's own reads of that kind that were priced; else by those of its site in all contexts, of its function, of the thread.
//! Depths are scaled alike. A ratio estimator has little to gain from where windows happened to be, as long as reads of one site
//! are alike (Cochran, *Sampling Techniques*, 1977, chapter 6). How much chance is left is told by random groups (Wolter,
//! *Introduction to Variance Estimation*, 2007, chapter 2); [`SiteSample`] has what that takes.

use std::collections::{BTreeMap, HashMap};

use super::{GROUPS, Place, Priced, Sample, Samples};
use crate::session::{
    counters::{CellCounters, DepthCounts},
    flows::RingSite,
};

/// Reads of one kind, and how many were estimated from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stratum {
    pub groups: [Priced; GROUPS],
    /// See [`Sample::slack`].
    pub slack: u128,
    /// Bytes read, priced or not.
    pub bytes: u64,
}

/// Student's t, 95 % of it between -t and t, for 1 to `GROUPS - 1` degrees of freedom.
pub const STUDENT: [f64; GROUPS - 1] =
    [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131];

/// How much more the deviations of so many groups (at least 2) have to count than if there were all.
fn few(groups: usize) -> f64 {
    let spread = |groups: usize| STUDENT[groups - 2] * (groups as f64 / (groups - 1) as f64).sqrt();
    spread(groups) / spread(GROUPS)
}

impl Stratum {
    /// All groups.
    fn priced(&self) -> Priced {
        self.groups.iter().fold(Priced::default(), |mut all, group| {
            all.add(*group);
            all
        })
    }

    /// By group: what its reads cost beyond what they would at the mean price of all, scaled to all bytes. Few groups say less about
    /// chance, so theirs count for more; reads that are all in one group count as if they could cost nothing or twice as much.
    fn deviations(&self) -> [i128; GROUPS] {
        let Priced { cost, bytes: priced } = self.priced();
        if priced == 0 {
            return [0; GROUPS];
        }
        let groups = self.groups.iter().filter(|group| group.bytes > 0).count();
        let alone = groups == 1;
        let scale = self.bytes as f64 / priced as f64 * if alone { 1.0 } else { few(groups) };
        let mean = if alone { 0.0 } else { cost as f64 / priced as f64 };
        self.groups.map(|group| (scale * (group.cost as f64 - mean * group.bytes as f64)) as i128)
    }

    /// The slack of all bytes.
    fn scaled_slack(&self) -> u128 {
        let priced = self.priced().bytes;
        if priced == 0 { 0 } else { (self.slack as f64 * self.bytes as f64 / priced as f64) as u128 }
    }
}

/// What was found of one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteSample {
    /// Of bytes touched lately, and of old ones.
    pub strata: [Stratum; 2],
    /// Bytes of cells of which nothing was priced, so that the price of others stands for theirs.
    pub borrowed: u64,
    /// What these would cost at the highest mean price that any of their kin has.
    pub borrowed_cost: u128,
}

impl SiteSample {
    /// By group of reads: the cost, in all reads, of its difference from the mean. Those of several sites add up.
    #[must_use]
    pub fn deviations(&self) -> [i128; GROUPS] {
        let [recent, old] = self.strata.each_ref().map(Stratum::deviations);
        std::array::from_fn(|group| recent[group] + old[group])
    }

    /// The most that it can matter to the cost where within their epochs bytes were, and what was borrowed, on both sides.
    #[must_use]
    pub fn slack(&self) -> u128 {
        self.strata.iter().map(Stratum::scaled_slack).sum::<u128>() + 2 * self.borrowed_cost
    }

    /// The cost of some bytes at the mean price of a sample, or of this site's old reads if that is higher.
    fn highest_price(&self, sample: &Sample, bytes: u64) -> u128 {
        let cost = |of: Priced| if of.bytes == 0 { 0 } else { of.cost * u128::from(bytes) / u128::from(of.bytes) };
        cost(sample.all).max(cost(self.strata[1].priced()))
    }

    /// Bytes read of which the depths are estimated.
    #[must_use]
    pub fn estimated(&self) -> u64 {
        self.strata.iter().map(|stratum| stratum.bytes).sum()
    }

    pub fn merge(&mut self, other: &Self) {
        for (mine, more) in self.strata.iter_mut().zip(&other.strata) {
            mine.groups.iter_mut().zip(&more.groups).for_each(|(sum, more)| sum.add(*more));
            mine.slack += more.slack;
            mine.bytes += more.bytes;
        }
        self.borrowed += other.borrowed;
        self.borrowed_cost += other.borrowed_cost;
    }
}

/// What was found of one thread, by site.
#[derive(Debug, Default)]
pub struct RingSample {
    /// One window in so many was measured.
    pub every: u32,
    pub windows: u64,
    pub sites: BTreeMap<RingSite, SiteSample>,
}

/// Adds to the counters of the cells, which read so many bytes each (those without a number none), what these cost. `site_of` gives the site of a cell, `function_of`
/// the function of a segment.
pub fn complete(
    samples: Samples,
    mut open: Vec<u64>,
    cells: &mut [CellCounters],
    cold: &mut DepthCounts,
    site_of: impl Fn(u32) -> RingSite,
    function_of: impl Fn(u32) -> u32,
) -> RingSample {
    let mut result = RingSample { every: samples.every, windows: samples.windows, sites: BTreeMap::new() };
    cold.merge(&samples.cold);
    let mut found: Vec<_> = samples.found.into_iter().collect();
    found.sort_unstable_by_key(|(cell, _)| *cell);
    let mut pools = Pools::default();
    // Of bytes that are neither known nor old.
    open.resize(open.len().max(cells.len()), 0);
    for (cell, found) in &mut found {
        let site = site_of(*cell);
        pools.add(site, function_of(site.0), &found.recent);
        let counters = &mut cells[*cell as usize];
        counters.merge(&mut found.known);
        let old_bytes = samples.old.get(*cell as usize).map_or(0, |old| old.bytes);
        scale(&found.old, old_bytes, counters);
        open[*cell as usize] -= found.known_bytes + old_bytes;
        let known = result.sites.entry(site).or_default();
        let stratum = |sample: &Sample, bytes| Stratum { groups: sample.groups, slack: sample.slack, bytes };
        let strata = [stratum(&found.recent, 0), stratum(&found.old, old_bytes)];
        known.merge(&SiteSample { strata, ..SiteSample::default() });
    }
    if pools.all.all.bytes == 0 {
        pools.all = of_start(cells, samples.peak_live);
    }
    let own: HashMap<u32, &Sample> =
        found.iter().filter(|(_, f)| f.recent.all.bytes > 0).map(|(cell, f)| (*cell, &f.recent)).collect();
    for (cell, bytes) in (0..).zip(&open).filter(|(_, bytes)| **bytes > 0) {
        let site = site_of(cell);
        let known = result.sites.entry(site).or_default();
        known.strata[0].bytes += bytes;
        let sample = own.get(&cell).copied().unwrap_or_else(|| {
            let sample = pools.nearest(site, function_of(site.0));
            known.borrowed += bytes;
            known.borrowed_cost += known.highest_price(sample, *bytes);
            sample
        });
        scale(sample, *bytes, &mut cells[cell as usize]);
    }
    result
}

/// Reads that were priced, for cells that have none of their own.
#[derive(Default)]
struct Pools {
    by_site: HashMap<RingSite, Sample>,
    by_function: HashMap<u32, Sample>,
    all: Sample,
}

impl Pools {
    fn add(&mut self, site: RingSite, function: u32, sample: &Sample) {
        if sample.all.bytes > 0 {
            self.by_site.entry(site).or_default().merge(sample);
            self.by_function.entry(function).or_default().merge(sample);
            self.all.merge(sample);
        }
    }

    fn nearest(&self, site: RingSite, function: u32) -> &Sample {
        self.by_site.get(&site).or_else(|| self.by_function.get(&function)).unwrap_or(&self.all)
    }
}

/// What is known of a thread that ended before its first window: the reads of its start; or, if it had none, that nothing lies below
/// the bottom of the stack.
fn of_start(cells: &mut [CellCounters], peak_live: u64) -> Sample {
    let mut start = Sample::default();
    for cell in cells {
        cell.flush();
        start.all.cost += cell.cost;
        start.all.bytes += cell.depths.iter().map(|(_, bytes)| bytes).sum::<u64>();
        start.depths.merge(&cell.depths);
    }
    if start.all.bytes == 0 {
        start.read(0, &Place { above: peak_live.saturating_sub(1), len: 1, slack: 0 }, 1);
    }
    start
}

/// Adds so many bytes with the depths and the mean price of a sample.
fn scale(sample: &Sample, bytes: u64, cell: &mut CellCounters) {
    let (whole, part) = (u128::from(bytes), u128::from(sample.all.bytes));
    if whole == 0 {
        return;
    }
    cell.cost += (sample.all.cost * whole + part / 2) / part;
    let (mut seen, mut given) = (0, 0);
    for (bucket, count) in sample.depths.iter() {
        // What all buckets up to this one get, rounded, so that nothing is lost.
        seen += u128::from(count);
        let due = (seen * whole / part) as u64;
        if due > given {
            cell.depths.add(bucket, due - given);
            given = due;
        }
    }
}
